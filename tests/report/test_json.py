"""The JSON report: complete, strict, versioned, and readable again."""

from __future__ import annotations

import copy
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from sample import ROOT, failed_report, full_report, nothing_report

from gpuadvise.cases import chain_for
from gpuadvise.loopnest.ir import Nest
from gpuadvise.model import Finding, Report
from gpuadvise.report.codec import FormatError
from gpuadvise.report.json import SCHEMA_VERSION, from_json, schema, to_json
from gpuadvise.report.terminal import render

REPORTS = [full_report(), nothing_report(), failed_report()]
SCHEMA_FILE = Path(__file__).parents[2] / "docs" / "report.schema.json"


def through_text(report: Report) -> dict[str, Any]:
    text = json.dumps(to_json(report), allow_nan=False)
    value = json.loads(text)
    assert isinstance(value, dict)
    return value


def rendered(report: Report) -> str:
    console = Console(file=io.StringIO(), width=100, color_system=None)
    render(report, console, verbose=True)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("report", REPORTS, ids=["advice", "nothing", "failed"])
def test_round_trip(report: Report) -> None:
    data = through_text(report)
    again = from_json(data)
    assert to_json(again) == data
    assert rendered(again) == rendered(report)
    assert again.profile == report.profile
    assert again.patched == report.patched and again.sources == report.sources
    assert again.script_verdict == report.script_verdict


def test_regions_find_their_loops_again() -> None:
    before, after = full_report(), from_json(through_text(full_report()))
    for old, new in zip(before.refused, after.refused, strict=True):
        assert new.region.source.text(new.region.loop) == old.region.source.text(old.region.loop)
        assert new.region.loop in list(_walk(new.region.source.tree))
        assert new.region.function is not None and old.region.function is not None
        assert new.region.function.name == old.region.function.name
        assert new.region.nest == old.region.nest


def _walk(tree: Any) -> Any:
    import ast

    return ast.walk(tree)


TEXT = """import numpy as np


def scaled(v, k):
    return v * k


def fill(a, out, k):
    for i in range(len(a)):
        out[i] = scaled(a[i], k)
    return out
"""


def test_lowered_loops_are_lowered_again() -> None:
    path = ROOT / "fill.py"
    (region,) = chain_for(TEXT, "fill", (np.ones(4), np.zeros(4), 2.0), path=path)
    assert isinstance(region.nest, Nest)
    full = full_report()
    report = replace(
        full, findings=(Finding(region, None, ()),), sources={**full.sources, path: region.source}
    )
    again = from_json(through_text(report)).findings[0].region
    assert isinstance(again.nest, Nest)
    assert again.nest == region.nest
    assert again.functions["scaled"].lineno == 4
    assert again.observation == region.observation


def test_what_readers_look_for_first() -> None:
    data = through_text(full_report())
    assert data["schema_version"] == SCHEMA_VERSION == "2"
    assert data["outcome"] == "advice found"
    assert data["patch"].startswith("--- a/life.py\n+++ b/life.py\n")
    finding = data["findings"][0]
    assert finding["region"]["lines"] == [11, 14]
    assert finding["region"]["site"]["file"] == "/work/project/life.py"
    assert round(finding["region"]["max_speedup"]) == 67
    winner = finding["winner"]
    assert winner["candidate"]["rule"] == "ZZ201"
    assert winner["candidate"]["match"]["safe"] is False
    assert winner["region_verdict"]["type"] == "Verified"
    assert winner["region_verdict"]["speedup"]["low"] < winner["region_verdict"]["speedup"]["high"]
    assert [o["region_verdict"]["type"] for o in finding["others"]] == [
        "Verified", "Mismatch", "NotFaster", "Inconclusive", "Crashed", "TimedOut", "Unavailable",
        "Verified",
    ]  # fmt: skip


def test_numbers_that_json_lacks() -> None:
    data = through_text(full_report())
    values = data["findings"][0]["region"]["observation"]["values"]
    assert values["scale"]["minimum"] == "-Infinity"
    again = from_json(data).findings[0].region.observation
    assert again is not None
    assert again.values["scale"].minimum == float("-inf")
    assert again.values["big"].maximum == 2**70
    assert type(again.values["state"].minimum) is int
    assert type(again.values["rows"].element.minimum) is float  # type: ignore[union-attr]


def test_nan_ratios() -> None:
    full = full_report()
    assert full.script_verdict is not None
    nan = replace(full.script_verdict.speedup, value=float("nan"), high=float("inf"))  # type: ignore[union-attr]
    report = replace(full, script_verdict=replace(full.script_verdict, speedup=nan))  # type: ignore[call-arg]
    data = through_text(report)
    assert data["script_verdict"]["speedup"]["value"] == "NaN"
    assert to_json(from_json(data)) == data


def test_streams_that_are_no_text() -> None:
    data = through_text(full_report())
    assert set(data["profile"]["bare"]["stdout"]) == {"base64"}
    assert from_json(data).profile.bare.stdout == b"ok\xff\n"  # type: ignore[union-attr]


def _at(data: Any, *path: Any) -> Any:
    for step in path:
        data = data[step]
    return data


@pytest.mark.parametrize(
    ("path", "key", "value", "words"),
    [
        ((), "schema_version", "1", "schema version '1'"),
        ((), "outcome", "great", "'great'"),
        ((), "machine", None, "report.machine"),
        (("machine",), "cores", "two", r"report\.machine\.cores: 'two' is not"),
        (("machine",), "cores", True, r"report\.machine\.cores: True is not"),
        (("machine",), "memory", ..., r"report\.machine: memory is missing"),
        (("script_verdict",), "type", "Perfect", "'Perfect' is none of Verified, Mismatch"),
        (("findings", 0, "region"), "loop", [999, 0], "no .* in line 999"),
        (("findings", 0, "region"), "site", ..., "a region is damaged"),
        ((), "sources", ..., "sources is missing"),
        (("costs", 0), "seconds", "soon", r"report\.costs\[0\]\.seconds"),
    ],
)
def test_damaged_reports_are_refused_with_the_place(
    path: tuple[Any, ...], key: str, value: Any, words: str
) -> None:
    data = through_text(full_report())
    if value is ...:
        del _at(data, *path)[key]
    else:
        _at(data, *path)[key] = value
    with pytest.raises(FormatError, match=words):
        from_json(data)


def test_unknown_keys_are_passed_over() -> None:
    data = through_text(full_report())
    plain = copy.deepcopy(data)
    data["machine"]["colour"] = "grey"
    assert to_json(from_json(data)) == plain


# --------------------------------------------------------------------- schema
def test_the_schema_file_is_up_to_date() -> None:
    """Written by python -m gpuadvise.report.json > docs/report.schema.json."""
    assert json.loads(SCHEMA_FILE.read_text(encoding="utf-8")) == schema()


@pytest.mark.parametrize("report", REPORTS, ids=["advice", "nothing", "failed"])
def test_reports_keep_the_schema(report: Report) -> None:
    rules = schema()
    assert violations(through_text(report), rules, rules["$defs"]) == []


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        ((), "outcome", "great"),
        (("machine",), "cores", "two"),
        (("script_verdict",), "type", "Perfect"),
        (("findings", 0, "region"), "lines", [1]),
        (("findings", 0, "winner", "candidate", "match"), "safe", "yes"),
        (("profile", "bare"), "stdout", "text"),
    ],
)
def test_the_schema_says_no(path: tuple[Any, ...], key: str, value: Any) -> None:
    data, rules = through_text(full_report()), schema()
    _at(data, *path)[key] = value
    assert violations(data, rules, rules["$defs"])


TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}


def violations(data: Any, rule: dict[str, Any], defs: dict[str, Any], at: str = "$") -> list[str]:
    """The part of JSON Schema that our schema uses, from its specification."""
    if "$ref" in rule:
        return violations(data, defs[rule["$ref"].rpartition("/")[2]], defs, at)
    found: list[str] = []
    if "anyOf" in rule:
        options = [violations(data, option, defs, at) for option in rule["anyOf"]]
        found += [] if [] in options else min(options, key=len)
    for part in rule.get("allOf", ()):
        found += violations(data, part, defs, at)
    if "const" in rule and data != rule["const"]:
        found.append(f"{at}: {data!r} is not {rule['const']!r}")
    if "enum" in rule and data not in rule["enum"]:
        found.append(f"{at}: {data!r} is none of {rule['enum']}")
    if "type" in rule:
        fits = isinstance(data, TYPES[rule["type"]])  # type: ignore[arg-type]
        if not fits or (isinstance(data, bool) and rule["type"] != "boolean"):
            return [*found, f"{at}: {data!r:.40} is no {rule['type']}"]
    if isinstance(data, dict):
        found += [f"{at}: no {name}" for name in rule.get("required", ()) if name not in data]
        known = rule.get("properties", {})
        for name, value in data.items():
            inner = known.get(name, rule.get("additionalProperties", {}))
            found += violations(value, inner, defs, f"{at}.{name}")
    if isinstance(data, list):
        if not rule.get("minItems", 0) <= len(data) <= rule.get("maxItems", len(data)):
            found.append(f"{at}: {len(data)} items")
        for number, value in enumerate(data):
            prefix = rule.get("prefixItems", [])
            inner = prefix[number] if number < len(prefix) else rule.get("items", {})
            found += violations(value, inner, defs, f"{at}[{number}]")
    return found
