"""What the text alone proves about names, star imports included."""

from __future__ import annotations

import textwrap
from pathlib import Path

from gpuadvise.loopnest.scope import Module
from gpuadvise.model import Source


def module(text: str) -> Module:
    return Module(Source(Path("case.py"), textwrap.dedent(text).encode()))


def test_a_star_import_of_a_known_module_binds_its_names() -> None:
    facts = module("from math import *\nN = 60\n")
    assert facts.imports["sin"] == "math.sin" and facts.imports["pi"] == "math.pi"
    assert facts.bound("sqrt") and not facts.bound("sum")
    assert facts.constant("N") == 60


def test_the_built_ins_that_numpy_replaces_are_bound() -> None:
    facts = module("from numpy import *\n")
    assert facts.bound("sum") and facts.imports["sum"] == "numpy.sum"


def test_a_name_that_is_bound_twice_is_no_import() -> None:
    """``e`` is a field here, and ``sqrt`` comes from the module that was imported last."""
    facts = module("from math import *\nfrom numpy import *\ne = 1.6e-19\n")
    assert not {"e", "sqrt"} & set(facts.imports)
    assert facts.imports["lgamma"] == "math.lgamma"
    assert facts.constant("e") is None


def test_a_star_import_of_another_module_may_bind_anything() -> None:
    facts = module("from settings import *\nN = 60\n")
    assert facts.constant("N") is None and not facts.imports
    relative = module("from .math import *\nN = 60\n")
    assert relative.constant("N") is None and not relative.imports
