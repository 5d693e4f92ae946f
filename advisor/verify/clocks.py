"""What trial runs find in place of chance: other clocks in one run, one order of sets in all."""

from __future__ import annotations

import os
from pathlib import Path


def hashing() -> dict[str, str]:
    """Environment under which sets of text are gone through in one order, to be compared.

    No program can rely on any order; where the user has chosen one, it is kept.
    """
    return {} if "PYTHONHASHSEED" in os.environ else {"PYTHONHASHSEED": "0"}


def skewing(own: Path) -> dict[str, str]:
    """Environment under which a run has other clocks; ``own``: a folder for the text."""
    folder = own / "clocks"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(CLOCKS, encoding="utf-8")
    search = filter(None, (str(folder), os.environ.get("PYTHONPATH")))
    return {"PYTHONPATH": os.pathsep.join(search)}


CLOCKS = '''\
"""Clocks that run faster than the real ones, and show another day."""
import sys
import time

_FACTOR, _SHIFT = 7.37, 40 * 86400 + 4321.0


def _skew(name, unit):
    real = getattr(time, name, None)
    if real is None:
        return None
    start = real()
    shift = type(start)(_SHIFT * unit)

    def clock():
        now = real()
        return now + type(now)((now - start) * _FACTOR) + shift

    clock.__name__ = clock.__qualname__ = name
    clock.__module__ = "time"
    setattr(time, name, clock)
    return clock


for _name in ("time", "perf_counter", "monotonic", "process_time", "thread_time"):
    _skew(_name, 1.0)
    _skew(_name + "_ns", 1e9)


def _told(name, position):
    """localtime() and the like: without an argument they ask the real clock."""
    real = getattr(time, name)

    def told(*args):
        if len(args) > position and args[position] is not None:
            return real(*args)
        now = time.time() if name != "strftime" and name != "asctime" else time.localtime()
        return real(*args[:position], now)

    told.__name__ = told.__qualname__ = name
    told.__module__ = "time"
    setattr(time, name, told)


for _name, _position in (
    ("localtime", 0), ("gmtime", 0), ("ctime", 0), ("asctime", 0), ("strftime", 1)
):
    _told(_name, _position)


def _dates():
    import datetime

    real = datetime.datetime

    class Meta(type):
        def __instancecheck__(cls, thing):
            return isinstance(thing, real)

        def __subclasscheck__(cls, other):
            return issubclass(other, real)

    class Later(real, metaclass=Meta):
        __slots__ = ()

        @classmethod
        def now(cls, tz=None):
            return real.fromtimestamp(time.time(), tz)

        today = classmethod(lambda cls: real.fromtimestamp(time.time()))

        @classmethod
        def utcnow(cls):
            return real.fromtimestamp(time.time(), datetime.timezone.utc).replace(tzinfo=None)

        def __new__(cls, *args, **named):
            return real(*args, **named)

    real_date = datetime.date

    class DateMeta(type):
        def __instancecheck__(cls, thing):
            return isinstance(thing, real_date)

        def __subclasscheck__(cls, other):
            return issubclass(other, real_date)

    class Date(real_date, metaclass=DateMeta):
        __slots__ = ()
        today = classmethod(lambda cls: real_date.fromtimestamp(time.time()))

        def __new__(cls, *args, **named):
            return real_date(*args, **named)

    for name, kind in (("datetime", Later), ("date", Date)):
        kind.__name__ = kind.__qualname__ = name
        kind.__module__ = "datetime"
        setattr(datetime, name, kind)


_dates()
_folder = __file__.rpartition("/")[0]
sys.path[:] = [path for path in sys.path if path != _folder]
sys.path_importer_cache.pop(_folder, None)
_ours = sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize
except ImportError:
    sys.modules["sitecustomize"] = type(sys)("sitecustomize")
'''
"""Text of a ``sitecustomize`` module; it hands over to the one it hides."""
