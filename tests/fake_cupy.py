"""CuPy's part that the back end's text uses, over NumPy: for machines without a GPU.

Arrays of the host and of the "device" do not mix here either, and copies are counted.
"""

from __future__ import annotations

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
