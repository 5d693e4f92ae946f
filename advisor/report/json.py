"""The report as JSON, schema version 2, and back.

A region is stored as the place of its loop; reading finds the loop in the stored source text and
lowers it again, so that a report that was read can be rendered like one that was just made.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..diff import unified_diff
from ..model import Match, Refusal, Region, Report, Site, SiteObservation, Source, Verified
from ..roofline.fullness import fullness
from ..roofline.outlook import Outlook, outlooks
from ..rowcalls import as_loop
from .codec import (
    FormatError,
    Json,
    Schemas,
    Special,
    Specials,
    decode,
    decode_fields,
    encode,
    encode_fields,
)

SCHEMA_VERSION = "2"
"""Changes when a reader of the old form would misread the new one; keys may be added."""

_AST_FIELDS = frozenset(
    {
        *("source", "loop", "function", "nest", "functions", "gpu", "inside", "calls"),
        *("beside", "until", "around"),
    }
)


def to_json(report: Report) -> dict[str, Any]:
    """The report as JSON values, for ``json.dump``; no NaN, no infinity, no bytes.

    ``"patch"`` is the whole change as a unified diff, ``"gpu_outlook"`` what the roofline model
    says of each rewrite for a GPU; they and other derived entries (a region's ``lines`` and
    ``max_speedup``, a match's ``safe``, a verdict's ``break_even``) are not read back.
    """
    body = encode_fields(report, _specials(report.sources))
    assert isinstance(body, dict)
    patch = unified_diff(report.sources, report.patched, report.target.cwd)
    gpu = [_outlook(outlook) for outlook in outlooks(report)]
    return {"schema_version": SCHEMA_VERSION} | body | {"patch": patch, "gpu_outlook": gpu}


def from_json(data: Mapping[str, Any]) -> Report:
    """The report that `to_json` made ``data`` of. Raises FormatError."""
    if data.get("schema_version") != SCHEMA_VERSION:
        found = data.get("schema_version")
        raise FormatError(f"schema version {found!r}; this gpuadvise reads {SCHEMA_VERSION!r}")
    if "sources" not in data:
        raise FormatError("report: sources is missing")
    sources = decode(data["sources"], Mapping[Path, Source], {}, "report.sources")
    report = decode_fields(data, Report, _specials(sources), "report", {"sources": sources})
    assert isinstance(report, Report)
    return report


def schema() -> dict[str, Any]:
    """The JSON Schema of what `to_json` writes."""
    schemas = Schemas({}, _specials({}))
    body = schemas.fields(Report)
    body["properties"] = (
        {"schema_version": {"const": SCHEMA_VERSION}}
        | body["properties"]
        | {"patch": {"type": "string"}, "gpu_outlook": _outlooks_schema()}
    )
    body["required"] = ["schema_version", *body["required"], "patch", "gpu_outlook"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gpuadvise report",
        **body,
        "$defs": dict(sorted(schemas.definitions.items())),
    }


# ------------------------------------------------------ rewrites for a GPU
def _outlook(outlook: Outlook) -> Json:
    predicted = outlook.prediction
    return {
        "candidate": outlook.trial.candidate.id,
        "measured_seconds": outlook.measured,
        "predicted_seconds": None if predicted is None else predicted.seconds,
        "likely_seconds": None if predicted is None else predicted.expected,
        "work_seconds": None if predicted is None else predicted.work,
        "launch_seconds": None if predicted is None else predicted.launches,
        "copy_seconds": None if predicted is None else predicted.copies,
        "device": None if predicted is None else predicted.roof.device,
        "best_on_cpu": None if outlook.rival is None else outlook.rival.name,
        "best_on_cpu_seconds": None if outlook.rival is None else outlook.rival.seconds,
        "gain_at_most": outlook.gain,
        "why_not": outlook.why,
        "occupancy": [
            {
                "kernel": one.kernel.name,
                "registers": one.kernel.registers,
                "block_threads": one.threads,
                "share": one.occupancy.share,
                "limited_by": [str(limiter) for limiter in one.occupancy.limiters],
            }
            for one in fullness(outlook.trial)
        ],
    }


def _outlooks_schema() -> dict[str, Any]:
    number = {"anyOf": [{"type": "number"}, {"type": "null"}]}
    text = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    seconds = ("measured", "predicted", "likely", "work", "launch", "copy", "best_on_cpu")
    properties: dict[str, Any] = {"candidate": {"type": "string"}}
    properties |= {f"{name}_seconds": number for name in seconds}
    properties |= {"device": text, "best_on_cpu": text, "gain_at_most": number}
    properties |= {"why_not": {"type": "string"}, "occupancy": _occupancy_schema()}
    entry = {"type": "object", "properties": properties, "required": list(properties)}
    return {
        "type": "array",
        "items": entry,
        "description": "the roofline model's floor for each rewrite for a GPU; seconds of one "
        "entry of the loop",
    }


def _occupancy_schema() -> dict[str, Any]:
    whole, text = {"type": "integer"}, {"type": "string"}
    properties: dict[str, Any] = {"kernel": text, "registers": whole, "block_threads": whole}
    properties |= {"share": {"type": "number"}, "limited_by": {"type": "array", "items": text}}
    kernel = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "array", "items": kernel, "description": "of kernels that were compiled here"}


# ------------------------------------------------------ regions and matches
def _specials(sources: Mapping[Path, Source]) -> Specials:
    match = Special(
        _encode_match, lambda data: decode_fields(data, Match, {}, "match"), _match_schema
    )
    region = Special(
        lambda value: _encode_region(value, sources),
        lambda data: _decode_region(data, sources),
        _region_schema,
    )
    verified = Special(
        _encode_verified,
        lambda data: decode_fields(data, Verified, {}, "verdict"),
        _verified_schema,
    )
    return {Region: region, Match: match, Verified: verified}


def _encode_verified(verdict: Verified) -> Json:
    body = encode_fields(verdict, {})
    assert isinstance(body, dict)
    return body | {"break_even": verdict.break_even}


def _verified_schema(schemas: Schemas) -> dict[str, Any]:
    body = schemas.fields(Verified)
    calls = {"anyOf": [{"type": "number"}, {"type": "null"}]}
    said = "calls after which the first call's extra cost is earned back"
    body["properties"]["break_even"] = calls | {"description": said}
    return body


def _encode_match(match: Match) -> Json:
    body = encode_fields(match, {})
    assert isinstance(body, dict)
    return body | {"safe": match.safe}


def _match_schema(schemas: Schemas) -> dict[str, Any]:
    body = schemas.fields(Match)
    body["properties"]["safe"] = {"type": "boolean"}
    return body


def _encode_region(region: Region, sources: Mapping[Path, Source]) -> Json:
    body = encode_fields(region, {}, _AST_FIELDS)
    assert isinstance(body, dict)
    refusal = encode(region.nest, Refusal, {}) if isinstance(region.nest, Refusal) else None
    return body | {
        "loop": [region.loop.lineno, region.loop.col_offset],
        "function_line": region.function.lineno if region.function else None,
        "helpers": _encode_helpers(region, sources),
        "not_lowered": refusal,
        "lines": list(region.lines),
        "max_speedup": region.max_speedup,
    }


def _encode_helpers(region: Region, sources: Mapping[Path, Source]) -> dict[str, Any]:
    """Where the helpers are defined; those in files that the report does not hold are dropped."""
    known = {region.source.path: region.source, **sources}
    homes = {id(node): path for path, source in known.items() for node in source.nodes}
    return {
        name: {"file": str(homes[id(node)]), "line": node.lineno}
        for name, node in region.functions.items()
        if id(node) in homes
    }


def _decode_region(data: Any, sources: Mapping[Path, Source]) -> Region:
    try:
        site = decode(data["site"], Site, {}, "site")
        observation = decode(data["observation"], SiteObservation | None, {}, "observation")
        source = sources[site.file]
        loop = _loop_at(source, tuple(data["loop"]))
        until = _last_loop(source, loop, data["lines"][1])
        line = data["function_line"]
        function = None if line is None else _node_at(source, (line, None), ast.FunctionDef)
        functions = {
            name: _node_at(sources[Path(home["file"])], (home["line"], None), ast.FunctionDef)
            for name, home in data["helpers"].items()
        }
        refusal = decode(data["not_lowered"], Refusal | None, {}, "not_lowered")
    except (KeyError, TypeError) as error:
        raise FormatError(f"a region is damaged: {error!r}") from error
    given = {
        "site": site,
        "source": source,
        "loop": loop,
        "function": function,
        "observation": observation,
        "functions": functions,
        "gpu": None,  # the report has it for all lines
        "inside": (),
        "calls": None,
        "beside": (),
        "around": None,
        "until": until,
        "nest": refusal or _lowered(loop, source, function, observation, functions),
    }
    region = decode_fields(data, Region, {}, "region", given)
    assert isinstance(region, Region)
    return region


def _last_loop(source: Source, first: ast.stmt, line: int) -> ast.stmt | None:
    """The loop that ends on the line, beside the first; None if that is the first one itself."""
    if line == first.end_lineno:
        return None
    loops = (n for n in source.nodes if isinstance(n, ast.For | ast.While))
    ends = (n for n in loops if n.end_lineno == line and n.col_offset == first.col_offset)
    return next(ends, None)


def _loop_at(source: Source, place: tuple[int, int | None]) -> ast.For | ast.While:
    node = _node_at(source, place, ast.For | ast.While | ast.stmt)
    assert isinstance(node, ast.stmt)
    return node if isinstance(node, ast.For | ast.While) else as_loop(node)


def _lowered(
    loop: ast.For | ast.While,
    source: Source,
    function: ast.FunctionDef | None,
    observation: SiteObservation | None,
    functions: Mapping[str, ast.FunctionDef],
) -> Any:
    from ..loopnest.lower import lower  # only reports with lowered loops pay for the import

    if observation is None:
        return Refusal("the report holds no observation of the loop")
    return lower(
        loop, source=source, function=function, observation=observation, functions=functions
    )


def _node_at(source: Source, place: tuple[int, int | None], kind: Any) -> Any:
    for node in source.nodes:
        if (
            isinstance(node, kind)
            and node.lineno == place[0]
            and place[1] in (None, node.col_offset)
        ):
            return node
    raise FormatError(f"{source.path}: no {kind} in line {place[0]}")


def _region_schema(schemas: Schemas) -> dict[str, Any]:
    body = schemas.fields(Region, _AST_FIELDS)
    line = {"type": "integer"}
    pair = {"type": "array", "items": line, "minItems": 2, "maxItems": 2}
    helper = {
        "type": "object",
        "properties": {"file": {"type": "string"}, "line": line},
        "required": ["file", "line"],
    }
    added = {
        "loop": pair | {"description": "line and column of the loop statement"},
        "function_line": {"anyOf": [line, {"type": "null"}]},
        "helpers": {"type": "object", "additionalProperties": helper},
        "not_lowered": {"anyOf": [schemas.of(Refusal), {"type": "null"}]},
        "lines": pair | {"description": "first and last line"},
        "max_speedup": {"type": "number", "description": "of the whole script, by Amdahl"},
    }
    body["properties"] |= added
    body["required"] += list(added)
    return body


if __name__ == "__main__":  # python -m gpuadvise.report.json > docs/report.schema.json
    json.dump(schema(), sys.stdout, indent=2)
    print()
