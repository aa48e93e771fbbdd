"""What tells other programs how to read a run: the data package and the JSON Schemas.

`datapackage.json` is a Frictionless Data Package (specification version 1): the
tables and pickles with size and digest, and every column of the tables, taken
from the models they are checked against. JSON documents are not in it: readers of
data packages take JSON for tables. They have JSON Schemas, made from their models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from schemas.findings import Finding
from schemas.manifest import OutputFile, RunManifest
from schemas.series import SeriesRecord
from tasks.outputs.tables import TABLES
from tasks.outputs.typed import Model

PACKAGE_NAME = "datapackage.json"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_RECORDS: dict[str, type[BaseModel]] = {
    "series.schema.json": SeriesRecord,
    "finding.schema.json": Finding,
    "manifest.schema.json": RunManifest,
}
# The forms of data files: media type, and encoding where the form is text.
_MEDIA = {
    "parquet": ("application/vnd.apache.parquet", None),
    "pkl": ("application/octet-stream", None),
    "csv": ("text/csv", "utf-8"),
}
_FIELD_TYPES = {
    "string": "string",
    "int64": "integer",
    "float64": "number",
    "Int64": "integer",
    "bool": "boolean",
    "datetime64[ms, UTC]": "datetime",
}


@dataclass(frozen=True)
class Package:
    """What a data package is called, the folder it stands in, and the models of its tables by path."""

    name: str
    title: str
    description: str
    folder: str
    model_of: Callable[[str], Model | None]


SUMMARIES = Package(
    name="acmetrace-summaries",
    title="Distributions of GPU-cluster telemetry",
    description="Quantile curves, statistics of each entity and hour, and pickles of the curves.",
    folder="",
    model_of=TABLES.get,
)


def data_package(
    outputs: Iterable[OutputFile], *, source: str, package: Package = SUMMARIES
) -> dict[str, Any]:
    """The content of `datapackage.json`: a resource for each data file among `outputs`, by path.

    It holds no time and no version, so that equal data gives an equal package; those are in the manifest.
    """
    data = [output for output in outputs if _suffix(output.path) in _MEDIA]
    ordered = sorted(data, key=lambda output: output.path)
    names = _resource_names([output.path.removeprefix(package.folder) for output in ordered])
    return {
        "profile": "data-package",
        "name": package.name,
        "title": package.title,
        "description": package.description,
        "sources": [{"title": source}],
        "resources": [_resource(name, output, package) for name, output in zip(names, ordered, strict=True)],
    }


def record_schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schemas (2020-12) of the documents of a run, by the file name they are published under."""
    return {
        name: {"$schema": _DIALECT, **model.model_json_schema(mode="serialization")}
        for name, model in _RECORDS.items()
    }


def table_schema(model: Model) -> dict[str, Any]:
    """The Table Schema of a table: name, type, unit, description and constraints of each column."""
    return {"fields": [_field(name, column) for name, column in model.to_schema().columns.items()]}


def _resource(name: str, output: OutputFile, package: Package) -> dict[str, Any]:
    suffix = _suffix(output.path)
    mediatype, encoding = _MEDIA[suffix]
    resource: dict[str, Any] = {
        "profile": "data-resource",
        "name": name,
        "path": output.path.removeprefix(package.folder),
        "format": suffix,
        "mediatype": mediatype,
        "bytes": output.size,
        "hash": f"sha256:{output.sha256}",
    }
    if encoding:
        resource["encoding"] = encoding
    model = package.model_of(output.path)
    if model:
        resource["description"] = str(model.__doc__)
        resource["schema"] = table_schema(model)
    return resource


def _suffix(path: str) -> str:
    return path.rpartition(".")[2]


def _resource_names(paths: Sequence[str]) -> list[str]:
    # The specification allows lower case, digits and . _ - / only, and each name once.
    names: list[str] = []
    for path in paths:
        plain = (
            re.sub(r"[^a-z0-9._/\-]", "-", path.lower()).removeprefix("summaries/").removesuffix(".parquet")
        )
        name, number = plain, 1
        while name in names:
            number += 1
            name = f"{plain}-{number}"
        names.append(name)
    return names


def _field(name: str, column: Any) -> dict[str, Any]:
    kind = str(column.dtype)
    field: dict[str, Any] = {
        "name": name,
        "type": _FIELD_TYPES.get(kind, "string"),
        "description": column.description,
    }
    unit = (column.metadata or {}).get("unit")
    if unit:
        field["unit"] = unit
    constraints: dict[str, Any] = {} if column.nullable else {"required": True}
    for check in column.checks:
        if "min_value" in check.statistics:
            constraints["minimum"] = check.statistics["min_value"]
        if "max_value" in check.statistics:
            constraints["maximum"] = check.statistics["max_value"]
    if constraints:
        field["constraints"] = constraints
    return field
