"""Reading what an instance stores, without leaving a trace in it."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import pytest

from gpuadvise.observe.holders import elements_of, signature_of, size_of
from gpuadvise.observe.instances import own_attribute, stored
from gpuadvise.observe.lookup import MISSING, attribute
from gpuadvise.observe.values import describe


def tables_with(*names: str) -> int:
    """How many dictionaries with exactly these keys there are in the process."""
    found = [t for t in gc.get_objects() if type(t) is dict and t.keys() == set(names)]
    return len(found)


class Particle:
    mass = 1.0
    parent: Particle | None = None

    def __init__(self) -> None:
        # Lists, so that the collector knows of a dictionary that holds them.
        self.place_of_particle: list[float] = [0.0]
        self.speed_of_particle: list[float] = [1.0]

    def step(self) -> None:
        self.place_of_particle[0] += self.speed_of_particle[0]


LOOKS: tuple[Callable[[Particle], object], ...] = (
    stored,
    describe,
    lambda particle: describe([particle]),
    lambda particle: attribute(particle, "place_of_particle"),
    lambda particle: attribute(particle, "step"),
    lambda particle: attribute(particle, "mass"),
    lambda particle: attribute(particle, "nothing"),
    lambda particle: signature_of({"particle": particle}),
    lambda particle: size_of({"particle": particle}) + elements_of({"particle": particle}),
)


@pytest.mark.parametrize("look", LOOKS)
def test_looking_makes_no_dictionary(look: Callable[[Particle], object]) -> None:
    # It would stay, and make every later access of the program to an attribute slow.
    names = ("place_of_particle", "speed_of_particle")
    particle = Particle()
    before = tables_with(*names)
    kept = look(particle)
    del kept
    assert tables_with(*names) == before
    table = particle.__dict__
    assert tables_with(*names) == before + 1, "the test would not see one"
    assert table is particle.__dict__


# ------------------------------------------------------------- equal to __dict__
class Plain:
    def __init__(self, **more: object) -> None:
        self.x, self.y = 1, [2]
        for name, value in more.items():
            setattr(self, name, value)


class Defaults:
    limit = 10
    owner: object = None
    rows: tuple[()] = ()

    def __init__(self, *, store: bool) -> None:
        self.size = 3
        if store:
            self.owner, self.limit = None, 11  # the same object as the default, and another


class Slotted:
    __slots__ = ("a", "b")


class Mixed(Slotted):
    def __init__(self) -> None:
        self.a, self.c = 1, 2


class Growing(list[int]):
    def __init__(self) -> None:
        super().__init__([5, 6])
        self.name = "growing"


class Computing:
    def __init__(self) -> None:
        self._n = 3
        self.step = 4  # type: ignore[method-assign, assignment]

    @property
    def n(self) -> int:
        raise AssertionError("a property was called")

    def step(self) -> int:
        return self._n

    @cached_property
    def total(self) -> int:
        return 7

    def __getattr__(self, name: str) -> int:
        raise AssertionError("__getattr__ was called")

    def __getattribute__(self, name: str) -> Any:
        if name == "_n":
            raise AssertionError("__getattribute__ was called")
        return object.__getattribute__(self, name)


class Strict(type):
    def __hash__(cls) -> int:
        raise AssertionError("a class was hashed")

    def __eq__(cls, other: object) -> bool:
        raise AssertionError("a class was compared")

    def __getattribute__(cls, name: str) -> Any:
        if not name.startswith("__"):
            raise AssertionError("a metaclass was asked")
        return type.__getattribute__(cls, name)


class OfStrict(metaclass=Strict):
    def __init__(self) -> None:
        self.x = 1


@dataclass
class Record:
    name: str = "r"
    values: list[int] = field(default_factory=list)


class Colour(Enum):
    RED = 1


class Failure(Exception):
    def __init__(self) -> None:
        super().__init__("failed")
        self.code = 5


def emptied() -> Plain:
    thing = Plain()
    del thing.x, thing.y
    return thing


def looked_at() -> Plain:
    thing = Plain(z={1: 2})
    assert thing.__dict__
    return thing


def cached() -> Computing:
    thing = Computing()
    assert thing.total == 7
    return thing


THINGS: tuple[Callable[[], object], ...] = (
    Plain,
    lambda: Plain(z=None),
    lambda: Plain(table={}, z=Plain()),
    lambda: Plain(**{f"n{k}": k for k in range(300)}),
    emptied,
    looked_at,
    lambda: Defaults(store=False),
    lambda: Defaults(store=True),
    Mixed,
    Growing,
    Computing,
    cached,
    OfStrict,
    Record,
    Failure,
    lambda: Colour.RED,
    lambda: SimpleNamespace(a=1, b=[2]),
    lambda: Plain().__class__,
    lambda: stored,
)


@pytest.mark.parametrize("make", THINGS)
def test_what_is_stored_is_what_the_dictionary_holds(make: Callable[[], object]) -> None:
    for _ in range(3):  # with what is known of the class by then
        thing = make()
        found = stored(thing)
        own = object.__getattribute__(thing, "__dict__")
        if type(own) is dict:
            assert found is not None
            assert found.keys() == own.keys()
            assert all(found[name] is own[name] for name in own)
        else:
            assert found is None


def test_layouts_that_change_from_object_to_object() -> None:
    for number in range(20):
        more: dict[str, object] = {f"m{k}": k for k in range(number % 5)}
        thing = Plain(**more)
        assert stored(thing) == {"x": 1, "y": [2], **more}


def test_objects_without_a_dictionary_store_nothing() -> None:
    things = (Slotted(), 5, [1], "text", None, object(), Counter)
    assert [stored(thing) for thing in things] == [None] * len(things)


def test_one_attribute_of_the_instance_itself() -> None:
    thing = Plain(z=3)
    assert own_attribute(thing, "z") == 3
    assert own_attribute(thing, "__wrapped__") is None
    assert own_attribute(Defaults(store=False), "limit") is None
    assert own_attribute(Defaults(store=True), "limit") == 11
    assert own_attribute(Computing(), "n") is None


def test_attributes_as_the_program_finds_them() -> None:
    particle = Particle()
    assert attribute(particle, "step") is Particle.step
    assert attribute(particle, "mass") == 1.0
    particle.mass = 2.0
    assert attribute(particle, "mass") == 2.0
    assert attribute(particle, "nothing") is MISSING
    # Computed by code of the class: not looked for at all.
    assert attribute(Computing(), "_n") is MISSING
    particle.step = particle.place_of_particle  # type: ignore[method-assign, assignment]
    assert attribute(particle, "step") == [0.0]
