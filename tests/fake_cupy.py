"""CuPy's part that the back end's text uses, over NumPy: for machines without a GPU.

Arrays of the host and of the "device" do not mix here either, and copies are counted.
"""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np

copies: dict[str, int] = {"there": 0, "back": 0}


class ndarray(np.ndarray[Any, Any]):  # noqa: N801 - CuPy's name
    """An array "on the device"."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        for each in (*inputs, *kwargs.get("out", ())):
            if type(each) is np.ndarray and each.ndim:
                raise TypeError("an array of the host in an operation on the device")
        plain = [np.asarray(i) if isinstance(i, ndarray) else i for i in inputs]
        if "out" in kwargs:
            kwargs["out"] = tuple(np.asarray(o) for o in kwargs["out"])
        done = getattr(ufunc, method)(*plain, **kwargs)
        if "out" in kwargs:
            return self if self.ndim and np.shares_memory(done, self) else done.view(ndarray)
        return np.asarray(done).view(ndarray)

    def get(self, out: Any = None) -> Any:
        copies["back"] += 1
        if out is None:
            return np.array(self, copy=True, order="C", subok=False)
        assert type(out) is np.ndarray and out.flags.c_contiguous and out.flags.writeable
        out[...] = np.asarray(self)
        return out

    def __setitem__(self, index: Any, value: Any) -> None:
        if type(value) is np.ndarray and value.ndim:
            raise TypeError("an array of the host is stored on the device")
        np.asarray(self)[index] = np.asarray(value) if isinstance(value, ndarray) else value


def asarray(array: Any) -> ndarray:
    copies["there"] += 1
    return np.array(array, copy=True).view(ndarray)


FUNCTIONS = ("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "atan")
FUNCTIONS += ("floor", "ceil", "fabs")


class ElementwiseKernel:
    """CUDA C of one element, read as NumPy of whole arrays."""

    def __init__(self, given: str, made: str, operation: str, name: str) -> None:
        self.given = [tuple(one.split()) for one in given.split(",")]
        self.kind = made.split()[0]
        self.lines = [" ".join(line.split()) for line in operation.split(";") if line.strip()]

    def __call__(self, *args: Any) -> ndarray:
        names: dict[str, Any] = {"where": np.where, "float32": np.float32}
        names |= {f"{name}{f}": getattr(np, name) for name in FUNCTIONS for f in ("", "f")}
        names |= {f"__{kind}mul_rn": np.multiply for kind in "df"}
        names |= {f"__{kind}div_rn": np.divide for kind in "df"}
        names |= {f"__{kind}sqrt_rn": np.sqrt for kind in "df"}
        for (kind, name), value in zip(self.given, args, strict=True):
            if isinstance(value, np.ndarray) and (type(value), value.dtype) != (ndarray, kind):
                raise TypeError(f"{name}: {type(value)} of {value.dtype}, not of {kind}")
            names[name] = (
                np.asarray(value) if isinstance(value, ndarray) else np.dtype(kind).type(value)
            )
        for line in self.lines:
            left, _, right = line.partition(" = ")
            names[left.split()[-1]] = eval(_in_python(right), names)
        return np.array(names["result"], dtype=self.kind, order="C").view(ndarray)


def _in_python(text: str) -> str:
    """An expression of C: constants, ``!`` and ``a ? b : c`` are spelled otherwise there."""
    text = re.sub(r"(\d)LL", r"\1", text).replace("!(", "~(")
    text = re.sub(r"\(float\)([-+.\de]+)", r"float32@\1@", text)
    groups: list[str] = []
    text = f"({text})"
    while found := re.search(r"\(([^()]*)\)", text):
        inside = found[1]
        if "?" in inside:
            test, _, values = inside.partition(" ? ")
            inside = f"where({test}, {', '.join(values.split(' : '))})"
        groups.append(f"({inside})")
        text = f"{text[: found.start()]}<{len(groups) - 1}>{text[found.end() :]}"
    while found := re.search(r"<(\d+)>", text):
        text = f"{text[: found.start()]}{groups[int(found[1])]}{text[found.end() :]}"
    return re.sub(r"@(.*?)@", r"(\1)", text)


def asnumpy(array: Any) -> Any:
    copies["back"] += 1
    return np.array(array, copy=True, subok=False)


def is_available() -> bool:
    return True


cuda = SimpleNamespace(
    is_available=is_available, runtime=SimpleNamespace(memGetInfo=lambda: (10**12, 10**12))
)


def __getattr__(name: str) -> Any:
    function = getattr(np, name)
    if isinstance(function, type):  # np.int64
        return function

    def on_device(*args: Any, **kwargs: Any) -> Any:
        done = function(*(np.asarray(a) if isinstance(a, ndarray) else a for a in args), **kwargs)
        return np.asarray(done).view(ndarray)

    return on_device
