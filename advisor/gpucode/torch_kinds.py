"""The words of PyTorch code: its layers, functions and methods, and what a value can be."""

from __future__ import annotations

import ast
from dataclasses import dataclass

LAYERS = frozenset(
    [
        "Linear",
        "Bilinear",
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "ConvTranspose1d",
        "ConvTranspose2d",
        "ReLU",
        "ReLU6",
        "GELU",
        "SiLU",
        "Tanh",
        "Sigmoid",
        "ELU",
        "SELU",
        "CELU",
        "LeakyReLU",
        "Softplus",
        "Softsign",
        "Mish",
        "Hardswish",
        "Hardsigmoid",
        "Hardtanh",
        "Softmax",
        "LogSoftmax",
        "Identity",
        "Flatten",
        "Unflatten",
        "BatchNorm1d",
        "BatchNorm2d",
        "BatchNorm3d",
        "LayerNorm",
        "GroupNorm",
        "MaxPool1d",
        "MaxPool2d",
        "AvgPool1d",
        "AvgPool2d",
        "AdaptiveAvgPool2d",
        "Dropout",
        "Upsample",
    ]
)
"""Layers that compute the same whether or not gradients are recorded, tensor in, tensor out."""
POINTWISE = frozenset(
    [
        "Linear",
        "ReLU",
        "ReLU6",
        "GELU",
        "SiLU",
        "Tanh",
        "Sigmoid",
        "ELU",
        "SELU",
        "CELU",
        "LeakyReLU",
        "Softplus",
        "Softsign",
        "Mish",
        "Hardswish",
        "Hardsigmoid",
        "Hardtanh",
        "Identity",
    ]
)
"""Layers that treat each sample along all but the last axis alone, whatever their number."""
LOSSES = frozenset(
    [
        "MSELoss",
        "L1Loss",
        "SmoothL1Loss",
        "HuberLoss",
        "CrossEntropyLoss",
        "NLLLoss",
        "BCELoss",
        "BCEWithLogitsLoss",
        "KLDivLoss",
        "PoissonNLLLoss",
    ]
)
CONSTRUCTORS = {
    **dict.fromkeys(["zeros", "ones", "empty", "eye", "rand", "randn", "linspace", "normal"], "f"),
    **dict.fromkeys(["randint", "randperm"], "i"),
    **dict.fromkeys(["full", "arange", "tensor", "as_tensor", "from_numpy"], ""),
}
"""Functions that make a tensor, and the kind of its elements where no ``dtype`` is given."""
SAME = frozenset(
    [
        "detach",
        "clone",
        "contiguous",
        "to",
        "cuda",
        "cpu",
        "view",
        "reshape",
        "flatten",
        "squeeze",
        "unsqueeze",
        "t",
        "transpose",
        "permute",
        "expand",
        "repeat",
        "abs",
        "neg",
        "clamp",
        "clip",
        "relu",
        "flip",
        "roll",
        "sort",
        "cumsum",
        "requires_grad_",
        "mul_",
        "add_",
        "sub_",
        "div_",
        "zero_",
        "pin_memory",
        "max",
        "min",
        "median",
        "pow",
    ]
)
"""Methods whose result holds elements of the same kind."""
FLOATING = frozenset(
    [
        "mean",
        "std",
        "var",
        "norm",
        "sqrt",
        "exp",
        "log",
        "sin",
        "cos",
        "tan",
        "tanh",
        "sigmoid",
        "softmax",
        "log_softmax",
        "float",
        "double",
        "half",
        "bfloat16",
    ]
)
INTEGER = frozenset(["argmax", "argmin", "count_nonzero", "long", "int", "numel", "size", "dim"])
BOOLEAN = frozenset(
    [
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "isnan",
        "isinf",
        "isfinite",
        "any",
        "all",
        "bool",
        "logical_and",
    ]
)
FUNCTIONS = {
    **dict.fromkeys(
        [
            "sin",
            "cos",
            "tan",
            "exp",
            "log",
            "sqrt",
            "tanh",
            "sigmoid",
            "softmax",
            "log_softmax",
            "relu",
        ],
        "f",
    ),
    **dict.fromkeys(["mean", "std", "var", "norm"], "f"),
    **dict.fromkeys(["argmax", "argmin", "count_nonzero"], "i"),
    **dict.fromkeys(["eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite"], "b"),
    **dict.fromkeys(["mse_loss", "l1_loss", "smooth_l1_loss", "cross_entropy", "nll_loss"], "f"),
    **dict.fromkeys(
        ["abs", "clamp", "where", "sum", "matmul", "mm", "cat", "stack", "max", "min"], ""
    ),
}
DEPTH = 40
"""Expressions followed one from the other: deeper ones are not known."""
MODULE_METHODS = frozenset(
    ["to", "cuda", "cpu", "eval", "train", "half", "double", "float", "requires_grad_"]
)


@dataclass(frozen=True)
class Kind:
    """What an expression is."""

    what: str
    """tensor, module, optimizer, dataset, loader, device, number, list, other."""
    elements: str = ""
    """Of tensors and numbers: f, i, b; empty: not known (or complex)."""
    parts: tuple[Kind, ...] = ()
    """Of datasets and loaders: what each sample, or batch, consists of."""
    plain: bool = False
    """Modules: the same arithmetic with and without gradients, nothing but the result."""
    place: str = ""
    """Tensors: cpu; empty: not known."""
    axes: int | None = None
    """Tensors: the number of axes, where the text says it."""
    node: ast.Call | None = None
    """Loaders, optimizers: the call that made it."""
    pointwise: bool = False
    """Modules: each sample alone, along the last axis."""


OTHER = Kind("other")


def joined(one: Kind | None, two: Kind | None) -> Kind | None:
    """What is true of both; None is no value yet."""
    if one is None or two is None or one == two:
        return one or two
    if one.what != two.what:
        return OTHER
    return Kind(
        one.what,
        one.elements if one.elements == two.elements else "",
        one.parts if one.parts == two.parts else (),
        one.plain and two.plain,
        one.place if one.place == two.place else "",
        one.axes if one.axes == two.axes else None,
        one.node if one.node is two.node else None,
        one.pointwise and two.pointwise,
    )
