"""What is seen inside of lists of objects and tuples, and of dictionaries."""

from __future__ import annotations

from dataclasses import dataclass

from gpuadvise.observe.records import value_from_json, value_to_json
from gpuadvise.observe.values import describe, merge, same_kind


class Body:
    """Counts how often its property is asked."""

    asked = 0

    def __init__(self, x: float, n: int) -> None:
        self.x = x
        self.n = n

    @property
    def size(self) -> float:
        Body.asked += 1
        return self.x

    def __getattr__(self, name: str) -> float:
        Body.asked += 1
        raise AttributeError(name)


@dataclass(slots=True)
class Slotted:
    x: float
    row: list[float]


def test_attributes() -> None:
    info = describe([Body(1.0, 2), Body(3.0, 4)])
    assert info.element is not None
    members = dict(info.element.members)
    assert list(members) == ["x", "n"]
    assert (members["x"].minimum, members["x"].maximum) == (1.0, 3.0)
    assert members["n"].element is not None and members["n"].element.kind == "int"
    assert Body.asked == 0


def test_slots_and_rows() -> None:
    info = describe([Slotted(1.0, [1.0, 2.0]), Slotted(2.0, [3.0, 4.0])])
    assert info.element is not None
    assert dict(info.element.members)["row"].shape == (2, 2)


def test_an_attribute_that_one_lacks() -> None:
    lacking = Body(1.0, 2)
    del lacking.n
    info = describe([Body(1.0, 2), lacking])
    assert info.element is not None and [name for name, _ in info.element.members] == ["x"]


def test_places_of_tuples() -> None:
    info = describe([(1, 2.0), (3, 4.0)])
    assert info.element is not None and info.element.kind == "mixed"
    kinds = [seen.element.kind for _, seen in info.element.members if seen.element is not None]
    assert kinds == ["int", "float"]


def test_dictionary() -> None:
    members = dict(describe({0: [1], 1: [2, 3]}).members)
    assert members["keys"].maximum == 1
    assert members["values"].shape == (2, None)


def test_merged_and_sent() -> None:
    one, two = describe([Body(1.0, 2)]), describe([Body(5.0, 2), Body(7.0, 2)])
    merged = merge(one, two)
    assert merged.element is not None
    assert dict(merged.element.members)["x"].maximum == 7.0
    assert value_from_json(value_to_json(merged)) == merged
    assert same_kind(one, two)
    assert not same_kind(one, describe([Body(1, 2)]))  # type: ignore[arg-type]
