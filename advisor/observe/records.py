"""The instrumented run's results as JSON, written in its process and read by the tool."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..model import SiteObservation, ValueInfo

_DEFAULTS = {field.name: field.default for field in dataclasses.fields(ValueInfo)}
_TUPLES = ("shape", "min_shape", "max_shape")


def value_to_json(info: ValueInfo) -> dict[str, Any]:
    """Only the fields that differ from their defaults."""
    data: dict[str, Any] = {}
    for name, default in _DEFAULTS.items():
        value = getattr(info, name)
        if value is default:
            continue
        if isinstance(value, ValueInfo):
            value = value_to_json(value)
        elif isinstance(value, Path):
            value = str(value)
        elif name == "members":
            value = [[member, value_to_json(seen)] for member, seen in value]
        data[name] = value
    return data


def value_from_json(data: Mapping[str, Any]) -> ValueInfo:
    """Inverse of ``value_to_json``. Raises TypeError on unknown fields."""
    fields = dict(data)
    for name in _TUPLES:
        if fields.get(name) is not None:
            fields[name] = tuple(fields[name])
    if fields.get("columns") is not None:
        fields["columns"] = tuple((label, dtype) for label, dtype in fields["columns"])
    if fields.get("members") is not None:
        fields["members"] = tuple((name, value_from_json(seen)) for name, seen in fields["members"])
    if fields.get("element") is not None:
        fields["element"] = value_from_json(fields["element"])
    if fields.get("target_file") is not None:
        fields["target_file"] = Path(fields["target_file"])
    return ValueInfo(**fields)


def observation_to_json(observation: SiteObservation) -> dict[str, Any]:
    """A site's observation as plain values."""
    return {
        "entries": observation.entries,
        "observed": observation.observed,
        "values": {name: value_to_json(info) for name, info in observation.values.items()},
        "aliases": [list(pair) for pair in observation.aliases],
        "signatures": [observation_to_json(part) for part in observation.signatures],
        "others": observation.others,
        "kinds": observation.kinds,
        "work": observation.work,
    }


def observation_from_json(data: Mapping[str, Any]) -> SiteObservation:
    """Inverse of ``observation_to_json``."""
    return SiteObservation(
        entries=data["entries"],
        observed=data["observed"],
        values={name: value_from_json(info) for name, info in data["values"].items()},
        aliases=tuple((first, second) for first, second in data["aliases"]),
        signatures=tuple(observation_from_json(part) for part in data["signatures"]),
        others=data["others"],
        kinds=data["kinds"],
        work=data["work"],
    )
