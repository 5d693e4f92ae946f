"""Frozen dataclasses to JSON values and back, driven by their type annotations.

``float`` NaN and infinities become ``"NaN"``, ``"Infinity"``, ``"-Infinity"``; paths and enum
members strings; bytes ``{"text": ..}`` or, where they are not UTF-8, ``{"base64": ..}``; members
of a union of dataclasses carry their class name under ``"type"``. One class may be handled by
functions of its own (`Special`).
"""

from __future__ import annotations

import base64
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

Json = None | bool | int | float | str | list[Any] | dict[str, Any]


class FormatError(ValueError):
    """The JSON is not what the schema says; the text names the place."""


@dataclass(frozen=True)
class Special:
    """How values of one class are written, read and described, instead of field by field."""

    encode: Callable[[Any], Json]
    decode: Callable[[Any], Any]
    schema: Callable[[Schemas], dict[str, Any]]


Specials = Mapping[type, Special]


# ----------------------------------------------------------------- encoding
def encode(value: Any, hint: Any, specials: Specials) -> Json:
    """The JSON value of ``value``, which is of the annotated type ``hint``."""
    if hint in specials:
        return specials[hint].encode(value)
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _encode_union(value, args, specials)
    if origin in (tuple, frozenset):
        items = value if origin is tuple else sorted(value)
        return [encode(item, inner, specials) for item, inner in _zipped(items, args)]
    if origin is not None and issubclass(origin, Mapping):
        return {str(key): encode(item, args[1], specials) for key, item in value.items()}
    if is_dataclass(hint):
        return encode_fields(value, specials)
    return _encode_plain(value)


def encode_fields(value: Any, specials: Specials, leave_out: frozenset[str] = frozenset()) -> Json:
    """A dataclass field by field."""
    kind: Any = type(value)
    hints = _hints(kind)
    return {
        field.name: encode(getattr(value, field.name), hints[field.name], specials)
        for field in fields(value)
        if field.name not in leave_out
    }


def _encode_union(value: Any, members: tuple[Any, ...], specials: Specials) -> Json:
    if value is None:
        return None
    classes = _tagged(members)
    if len(classes) > 1:
        body = encode(value, type(value), specials)
        assert isinstance(body, dict)
        return {"type": type(value).__name__} | body
    others = [m for m in members if m is not types.NoneType]
    if all(isinstance(m, type) and not is_dataclass(m) and get_origin(m) is None for m in others):
        return _encode_plain(value)
    (only,) = others
    return encode(value, only, specials)


def _tagged(members: tuple[Any, ...]) -> dict[str, Any]:
    return {m.__name__: m for m in members if isinstance(m, type) and is_dataclass(m)}


def _encode_plain(value: Any) -> Json:
    if isinstance(value, StrEnum | Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bytes):
        try:
            return {"text": value.decode("utf-8")}
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode("ascii")}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _zipped(items: Any, args: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """Each item with its type: ``tuple[T, ...]`` and ``frozenset[T]``, or ``tuple[A, B]``."""
    if len(args) == 1 or args[-1] is Ellipsis:
        return [(item, args[0]) for item in items]
    return list(zip(items, args, strict=True))


# ----------------------------------------------------------------- decoding
def decode(data: Any, hint: Any, specials: Specials, where: str = "report") -> Any:
    """The value of type ``hint`` that ``encode`` made ``data`` of. Raises FormatError."""
    if hint in specials:
        return specials[hint].decode(data)
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _decode_union(data, args, specials, where)
    if origin in (tuple, frozenset):
        _expect(data, list, where)
        pairs = _zipped(data, args)
        items = (decode(d, h, specials, f"{where}[{n}]") for n, (d, h) in enumerate(pairs))
        return origin(items)
    if origin is not None and issubclass(origin, Mapping):
        _expect(data, dict, where)
        return {
            args[0](key): decode(item, args[1], specials, f"{where}[{key!r}]")
            for key, item in data.items()
        }
    if is_dataclass(hint):
        assert isinstance(hint, type)
        return decode_fields(data, hint, specials, where)
    return _decode_plain(data, hint, where)


def decode_fields(
    data: Any, kind: type, specials: Specials, where: str, given: Mapping[str, Any] | None = None
) -> Any:
    """A dataclass from its fields; unknown keys are passed over, ``given`` fields are set."""
    _expect(data, dict, where)
    hints = _hints(kind)
    values = dict(given or {})
    for field in fields(kind):
        if field.name in values:
            continue
        if field.name not in data:
            raise FormatError(f"{where}: {field.name} is missing")
        inner = f"{where}.{field.name}"
        values[field.name] = decode(data[field.name], hints[field.name], specials, inner)
    return kind(**values)


def _decode_union(data: Any, members: tuple[Any, ...], specials: Specials, where: str) -> Any:
    if data is None and types.NoneType in members:
        return None
    classes = _tagged(members)
    if len(classes) > 1:
        _expect(data, dict, where)
        if data.get("type") not in classes:
            raise FormatError(f"{where}: type {data.get('type')!r} is none of {', '.join(classes)}")
        return decode(data, classes[data["type"]], specials, where)
    others = [m for m in members if m is not types.NoneType]
    if set(others) == {int, float}:
        return data if isinstance(data, int) else _decode_plain(data, float, where)
    (only,) = others
    return decode(data, only, specials, where)


def _decode_plain(data: Any, hint: Any, where: str) -> Any:
    if hint is float:
        if isinstance(data, str) and data in ("NaN", "Infinity", "-Infinity"):
            return float(data)
        _expect(data, int | float, where)
        return float(data)
    if hint is bytes:
        _expect(data, dict, where)
        if "text" in data:
            return str(data["text"]).encode("utf-8")
        return base64.b64decode(data["base64"])
    if issubclass(hint, StrEnum | Path):
        _expect(data, str, where)
        try:
            return hint(data)
        except ValueError as error:
            raise FormatError(f"{where}: {error}") from error
    _expect(data, hint, where)
    return data


def _expect(data: Any, kind: Any, where: str) -> None:
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        raise FormatError(f"{where}: {data!r:.60} is not what belongs here")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    # The loop nest is a name for type checkers only in gpuadvise.model; Special handles its owner.
    return get_type_hints(kind, localns={"Nest": object})


# ------------------------------------------------------------------- schema
@dataclass(frozen=True)
class Schemas:
    """JSON Schemas of the classes met so far, by name."""

    definitions: dict[str, Any]
    specials: Specials

    def of(self, hint: Any) -> dict[str, Any]:
        """The schema of one type."""
        if hint in self.specials:
            return self._reference(hint, lambda: self.specials[hint].schema(self))
        origin, args = get_origin(hint), get_args(hint)
        if origin in (Union, types.UnionType):
            return self._union(args)
        if origin in (tuple, frozenset):
            if len(args) == 1 or args[-1] is Ellipsis:
                return {"type": "array", "items": self.of(args[0])}
            return {
                "type": "array",
                "prefixItems": [self.of(a) for a in args],
                "minItems": len(args),
            }
        if origin is not None and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(args[1])}
        if is_dataclass(hint):
            assert isinstance(hint, type)
            return self._reference(hint, lambda: self.fields(hint))
        return _plain_schema(hint)

    def fields(self, kind: type, leave_out: frozenset[str] = frozenset()) -> dict[str, Any]:
        """The schema of a dataclass field by field."""
        hints = _hints(kind)
        names = [field.name for field in fields(kind) if field.name not in leave_out]
        return {
            "description": (kind.__doc__ or "").partition("\n")[0],
            "type": "object",
            "properties": {name: self.of(hints[name]) for name in names},
            "required": names,
        }

    def _reference(self, hint: type, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        name = hint.__name__
        if name not in self.definitions:
            self.definitions[name] = {}  # ends the recursion of ValueInfo.element
            self.definitions[name] = make()
        return {"$ref": f"#/$defs/{name}"}

    def _union(self, members: tuple[Any, ...]) -> dict[str, Any]:
        tagged = _tagged(members)
        choices: list[dict[str, Any]] = []
        for member in members:
            if len(tagged) > 1 and is_dataclass(member):
                assert isinstance(member, type)
                tag = {"properties": {"type": {"const": member.__name__}}, "required": ["type"]}
                choices.append({"allOf": [self.of(member), tag]})
            elif member is types.NoneType:
                choices.append({"type": "null"})
            else:
                choices.append(self.of(member))
        return {"anyOf": choices}


def _plain_schema(hint: Any) -> dict[str, Any]:
    if hint is float:
        special = {"enum": ["NaN", "Infinity", "-Infinity"]}
        return {"anyOf": [{"type": "number"}, special]}
    if hint is bytes:
        text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        coded = {
            "type": "object",
            "properties": {"base64": {"type": "string", "contentEncoding": "base64"}},
            "required": ["base64"],
        }
        return {"anyOf": [text, coded]}
    if issubclass(hint, StrEnum):
        return {"enum": [str(member) for member in hint]}
    names = {bool: "boolean", int: "integer", str: "string", Path: "string"}
    return {"type": names[hint]}
