"""Methods among the functions of vectors: ``model.step(state)``, whose attributes are numbers."""

from __future__ import annotations

import ast

from ...loopnest.scope import dotted, module_of, own_nodes, stored_names
from ..nb_helpers import may_be_replaced
from ..nb_values import Unsupported
from .draft import Draft
from .vector_values import Number, Object, seen_number

_TAKING_OVER = frozenset({"__getattribute__", "__getattr__", "__setattr__", "__slots__"})


class Methods:
    """What is known of objects whose methods the loop calls."""

    draft: Draft

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.classes: dict[str, str] = {}
        """Objects whose methods are copied -> their classes."""

    def object_named(self, name: str) -> Object | None:
        """The object of a class of this file that a variable of the loop's scope stands for."""
        info = self.draft.values.get(name)
        if info is None or info.kind != "object" or name in stored_names(self.draft.loop):
            return None
        return Object(name)

    def method(self, owner: Object, name: str, line: int) -> ast.FunctionDef | None:
        """The method of an object; None if it is none of this file's. Raises Unsupported."""
        info = self.draft.values.get(f"{owner.path}.{name}")
        source = self.draft.source
        if info is None or info.kind != "function" or info.target_file != source.path:
            return None
        for node in source.tree.body:
            if not isinstance(node, ast.ClassDef):
                continue
            for function in node.body:
                if isinstance(function, ast.FunctionDef) and function.lineno == info.target_line:
                    self._check(owner, node, function, line)
                    self.classes[owner.path] = node.name
                    return function
        return None

    def _check(
        self, owner: Object, class_: ast.ClassDef, function: ast.FunctionDef, line: int
    ) -> None:
        """The method is the one that is called, attributes are plain. Raises Unsupported."""
        odd = class_.bases or class_.keywords or class_.decorator_list
        names = {n.name for n in class_.body if isinstance(n, ast.FunctionDef)}
        names |= stored_names(class_)
        if odd or names & _TAKING_OVER or function.decorator_list or not function.args.args:
            raise Unsupported(f"{class_.name} is no plain class", line)
        if may_be_replaced(self.draft.source.tree, class_, function.name):
            raise Unsupported(f"{function.name}() may be replaced", line)
        stores = (n for n in own_nodes(self.draft.loop) if isinstance(n, ast.Attribute))
        if any(isinstance(n.ctx, ast.Store) and dotted(n.value) == owner.path for n in stores):
            raise Unsupported(f"the loop sets attributes of {owner.path}", line)

    def number_of(self, owner: Object, name: str, line: int) -> str:
        """The type of an attribute that must be a number. Raises Unsupported."""
        info = self.draft.values.get(f"{owner.path}.{name}")
        number = seen_number(info) if info is not None else None
        computed = name in module_of(self.draft.source).computed_attributes
        if number is None or computed:
            raise Unsupported(f"{owner.path}.{name} is no number", line)
        return number

    def attribute(self, owner: Object, name: str, part: str, line: int) -> Number:
        """An attribute as a method's copy has it: one of its parameters."""
        return Number(ast.Name(part, ast.Load()), self.number_of(owner, name, line))

    def class_tests(self) -> list[str]:
        """That the objects are of the classes whose methods were copied."""
        return [f"type({path}) is {name}" for path, name in self.classes.items()]
