"""How a metric is asked of a Prometheus server: the query, and the labels that name an entity.

A `PrometheusQuery` is the nested table `[METRIC.prometheus]` of the catalogue.
Metrics themselves are in `schemas.metrics`; how queries are sent and answers
become series is in `tasks.prometheus`.

A template of an entity is text with labels in braces, and parts in brackets
that are left out where a series has none of their labels:
`{Hostname}-{gpu}[:{GPU_I_ID}]` gives `node-7-0`, and `node-7-0:3` for a MIG
instance. `{instance}` stands without its port.
"""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict, Field, field_validator

STEP, WINDOW = "{step}", "{window}"

# Hostname is dcgm-exporter's own. Where a scrape has dropped it, `instance`, which every series
# has, is often the address of a pod: the labels of the node come before it.
GPU_ENTITY = (
    "{Hostname}-{gpu}[:{GPU_I_ID}]",
    "{node}-{gpu}[:{GPU_I_ID}]",
    "{kubernetes_node}-{gpu}[:{GPU_I_ID}]",
    "{instance}-{gpu}[:{GPU_I_ID}]",
)
NODE_ENTITY = ("{instance}", "{node}", "{kubernetes_node}", "{nodename}")

_LABEL = r"\{[A-Za-z_][A-Za-z0-9_]*\}"
_TEXT = r"[^{}\[\]]"
_TEMPLATE = re.compile(rf"(?:{_TEXT}|{_LABEL}|\[(?:{_TEXT}|{_LABEL})*{_LABEL}(?:{_TEXT}|{_LABEL})*\])+")
_PLACEHOLDER = re.compile(r"\{\s*[A-Za-z_][A-Za-z0-9_]*\s*\}")


class PrometheusQuery(BaseModel):
    """One PromQL query and how its series become columns.

    `query` may hold `{step}` and `{window}`, durations of the export's step and rate
    window. `entity` lists templates; the first one whose labels a series has names
    its column, and without any the usual ones of GPUs or nodes do. Values are
    multiplied by `scale`, from the unit of the server to the raw unit of the metric.
    `unit` is that of the exported values where the metric's own does not say it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: str = Field(min_length=1)
    entity: tuple[str, ...] = ()
    scale: float = Field(default=1.0, allow_inf_nan=False)
    unit: str = ""

    @field_validator("entity", mode="before")
    @classmethod
    def _one_or_several(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    @field_validator("entity")
    @classmethod
    def _templates(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for template in value:
            if not _TEMPLATE.fullmatch(template) or not re.search(_LABEL, template):
                raise ValueError(f"'{template}' is no template of labels; write {{Hostname}}-{{gpu}}")
        return value

    @field_validator("query")
    @classmethod
    def _placeholders(cls, value: str) -> str:
        for found in _PLACEHOLDER.findall(value):
            if found not in (STEP, WINDOW):
                raise ValueError(f"'{found}' is no placeholder; there are {STEP} and {WINDOW}")
        return value.strip()

    def text(self, step_s: int, window_s: int) -> str:
        """The query for a step and a rate window, both in s."""
        return self.query.replace(STEP, f"{step_s}s").replace(WINDOW, f"{window_s}s")
