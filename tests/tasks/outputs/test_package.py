"""The data package and the JSON Schemas: valid by their own rules, true to the files."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pyarrow.parquet as pq
import pytest

from schemas.findings import EXAMPLES_KEPT, Example, Finding
from schemas.manifest import OutputFile
from tasks.outputs.package import data_package, record_schemas
from tasks.series.summary import SeriesSummary

# The structural rules of the Frictionless specifications, version 1: Data Package,
# Data Resource and Table Schema. https://specs.frictionlessdata.io
NAME = {"type": "string", "pattern": r"^[a-z0-9._/\-]+$"}
FIELD = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "type": {
            "enum": [
                "string",
                "number",
                "integer",
                "boolean",
                "object",
                "array",
                "date",
                "time",
                "datetime",
                "year",
                "yearmonth",
                "duration",
                "geopoint",
                "geojson",
                "any",
            ]
        },
        "description": {"type": "string", "minLength": 1},
        "constraints": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "required": {"type": "boolean"},
                "minimum": {"type": ["number", "string"]},
                "maximum": {"type": ["number", "string"]},
            },
        },
    },
}
RESOURCE = {
    "type": "object",
    "required": ["name", "path"],
    "not": {"required": ["data"]},
    "properties": {
        "profile": {"enum": ["data-resource", "tabular-data-resource"]},
        "name": NAME,
        "path": {"type": "string", "pattern": r"^(?!/)(?!.*\.\.)(?!~)[^\\]+$"},
        "format": {"type": "string"},
        "mediatype": {"type": "string", "pattern": r"^[^/]+/[^/]+$"},
        "encoding": {"type": "string"},
        "bytes": {"type": "integer", "minimum": 0},
        "hash": {"type": "string", "pattern": r"^sha256:[0-9a-f]{64}$"},
        "schema": {
            "type": "object",
            "required": ["fields"],
            "properties": {"fields": {"type": "array", "minItems": 1, "items": FIELD}},
        },
    },
}
PACKAGE = {
    "type": "object",
    "required": ["resources"],
    "properties": {
        "profile": {"enum": ["data-package", "tabular-data-package"]},
        "name": NAME,
        "title": {"type": "string"},
        "sources": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}},
        },
        "resources": {"type": "array", "minItems": 1, "items": RESOURCE},
    },
}
ARROW_NAMES = {
    "string": "string",
    "int64": "integer",
    "double": "number",
    "timestamp[ms, tz=UTC]": "datetime",
}


@pytest.fixture
def out(tmp_path: Path, publish: Callable[..., Any], summaries: list[SeriesSummary]) -> Path:
    publish(tmp_path, summaries)
    return tmp_path


def resources(out: Path) -> dict[str, dict[str, Any]]:
    package = json.loads((out / "datapackage.json").read_bytes())
    return {resource["name"]: resource for resource in package["resources"]}


def test_the_data_package_follows_the_frictionless_rules(out: Path) -> None:
    package = json.loads((out / "datapackage.json").read_bytes())
    jsonschema.Draft202012Validator(PACKAGE).validate(package)
    assert len(resources(out)) == len(package["resources"])


def test_every_resource_is_the_file_it_describes(out: Path) -> None:
    described = resources(out)
    assert {"curves", "entities", "hourly", "util_pkl/gpu_power_seren.pkl"} <= set(described)
    for resource in described.values():
        data = (out / resource["path"]).read_bytes()
        assert resource["bytes"] == len(data)
        assert resource["hash"] == f"sha256:{OutputFile.of('x', data).sha256}"


def test_the_fields_are_the_columns_of_the_tables(out: Path) -> None:
    for name in ("curves", "entities", "hourly"):
        resource = resources(out)[name]
        columns = pq.read_schema(out / resource["path"])
        described = [(field["name"], field["type"]) for field in resource["schema"]["fields"]]
        assert described == [(column.name, ARROW_NAMES[str(column.type)]) for column in columns]


def test_the_rows_keep_the_constraints_of_the_fields(out: Path) -> None:
    checked = 0
    for name in ("curves", "entities", "hourly"):
        resource = resources(out)[name]
        rows = pd.read_parquet(io.BytesIO((out / resource["path"]).read_bytes()))
        for field in resource["schema"]["fields"]:
            column, rules = rows[field["name"]], field.get("constraints", {})
            assert not (rules.get("required") and column.isna().any())
            assert "minimum" not in rules or column.min() >= rules["minimum"]
            assert "maximum" not in rules or column.max() <= rules["maximum"]
            checked += len(rules)
    assert checked > 15


def test_fields_have_units_where_there_is_one(out: Path) -> None:
    units = {field["name"]: field.get("unit") for field in resources(out)["curves"]["schema"]["fields"]}
    assert units == {
        "cluster": None,
        "metric": None,
        "period": None,
        "level_pct": "%",
        "value": "unit of the metric",
    }


def test_only_text_has_an_encoding() -> None:
    files = [OutputFile.of("summaries/curves.parquet", b""), OutputFile.of("jobs/table.csv", b"")]
    csv, parquet = data_package(files, source="x")["resources"]
    assert csv["encoding"] == "utf-8"
    assert csv["mediatype"] == "text/csv"
    assert "encoding" not in parquet


def test_names_that_differ_only_in_case_stay_apart() -> None:
    files = [OutputFile.of(f"jobs/{name}.csv", b"") for name in ("A", "a", "ü", "ö")]
    package = data_package(files, source="x")
    jsonschema.Draft202012Validator(PACKAGE).validate(package)
    assert len({resource["name"] for resource in package["resources"]}) == 4


@pytest.mark.parametrize("name", ["series.schema.json", "finding.schema.json", "manifest.schema.json"])
def test_the_exported_schemas_are_schemas_and_are_published(out: Path, name: str) -> None:
    schema = record_schemas()[name]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert json.loads((out / "schemas" / name).read_bytes()) == schema


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(
        record_schemas()[name], format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )


def test_published_records_and_manifest_keep_their_schemas(out: Path) -> None:
    records = list(out.glob("schemas/*/*.json"))
    assert len(records) == 5
    for path in records:
        validator("series.schema.json").validate(json.loads(path.read_bytes()))
    validator("manifest.schema.json").validate(json.loads((out / "manifest.json").read_bytes()))


def test_a_finding_keeps_its_schema_and_a_made_up_field_does_not() -> None:
    place = Example(file="a.csv", row=1, column="n-0", byte_offset=17, value="x")
    finding = Finding(
        rule="bad-cell",
        severity="warning",
        cluster="seren",
        metric="GPU_UTIL",
        count=9,
        message="9 cells are no numbers",
        examples=(place,) * EXAMPLES_KEPT,
    )
    document = json.loads(finding.model_dump_json())
    validator("finding.schema.json").validate(document)
    for wrong in ({**document, "extra": 1}, {**document, "count": -1}, {**document, "severity": "grave"}):
        with pytest.raises(jsonschema.ValidationError):
            validator("finding.schema.json").validate(wrong)


def test_a_manifest_time_without_a_zone_breaks_the_schema(out: Path) -> None:
    document = json.loads((out / "manifest.json").read_bytes())
    document["started"] = datetime(2024, 1, 1, tzinfo=UTC).replace(tzinfo=None).isoformat()
    with pytest.raises(jsonschema.ValidationError, match="date-time"):
        validator("manifest.schema.json").validate(document)
