"""From the labels of a series to the name of its entity, and who may share one.

Templates are those of `schemas.prometheus`. A name becomes a column of a CSV
file, so it holds no control characters and is not endless.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from schemas.errors import EntityUnclear

MOST_NAME_CHARS = 500

# What changes while the thing that is measured stays: the workload, the process that scrapes it, a
# driver, the text of an error. Series that differ in nothing else are one entity.
PASSING_LABELS = frozenset(
    {
        "pod",
        "namespace",
        "container",
        "exported_pod",
        "exported_namespace",
        "exported_container",
        "pod_uid",
        "hpc_job",
        "instance",
        "DCGM_FI_DRIVER_VERSION",
        "err_code",
        "err_msg",
    }
)

_PART = re.compile(r"\[([^\]]*)\]|\{([^}]*)\}|([^\[\]{}]+)")
_LABEL = re.compile(r"\{([^}]*)\}")
_PORT = re.compile(r":\d+$")


def entity_of(labels: Mapping[str, str], templates: Sequence[str]) -> str:
    """The name that the first fitting template gives.

    Raises:
        EntityUnclear: no template fits, or the name cannot be that of a column.
    """
    for template in templates:
        name = _filled(template, labels)
        if name is not None:
            return _checked(name, labels)
    raise EntityUnclear(
        f"A series has none of the labels that name its entity: {label_text(labels)}; "
        f"expected those of {' or '.join(templates)}.",
        hint="Give a template of your labels in --catalogue: [METRIC.prometheus] entity = ['{label}-{gpu}'].",
    )


def label_text(labels: Mapping[str, str]) -> str:
    """Labels as PromQL writes them, sorted by name."""
    return "{" + ", ".join(f'{name}="{labels[name]}"' for name in sorted(labels)) + "}"


def differ_in_passing(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether two label sets differ only in labels that change while the entity stays."""
    names = {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
    return names <= PASSING_LABELS


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts names as people do: `node-2-0` before `node-10-0`."""
    parts = re.findall(r"\d+|\D+", name)
    return tuple((0, int(part), part) if part.isdecimal() else (1, 0, part) for part in parts)


def _filled(template: str, labels: Mapping[str, str]) -> str | None:
    text = []
    for optional, label, plain in _PART.findall(template):
        if optional:
            filled = _values(optional, labels)
            text.append(filled or "")
        elif label:
            value = _value(label, labels)
            if not value:
                return None
            text.append(value)
        else:
            text.append(plain)
    return "".join(text)


def _values(part: str, labels: Mapping[str, str]) -> str | None:
    """A bracketed part with its labels filled in; None unless all are there."""
    if not all(_value(label, labels) for label in _LABEL.findall(part)):
        return None
    return _LABEL.sub(lambda match: _value(match[1], labels), part)


def _value(label: str, labels: Mapping[str, str]) -> str:
    value = labels.get(label, "")
    if label != "instance":
        return value
    # 10.0.0.1:9400 and [fd00::1]:9400 have a port, a bare fd00::1 has none.
    if value.startswith("["):
        return value[1:].partition("]")[0]
    return _PORT.sub("", value) if value.count(":") == 1 else value


def _checked(name: str, labels: Mapping[str, str]) -> str:
    if len(name) > MOST_NAME_CHARS or any(ord(c) < 32 or ord(c) == 127 for c in name) or not name.strip():
        raise EntityUnclear(
            f"The labels {label_text(labels)[:MOST_NAME_CHARS]!r} give a name that no column can have.",
            hint="Give a template of other labels in --catalogue.",
        )
    return name
