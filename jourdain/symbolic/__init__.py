"""The expression kernel: scalar expressions, functions, derivatives, evaluation and printing."""

from .derivatives import gradient, jacobian, jvp, second_directional, sparse_jacobian, vjp
from .expr import Expr, as_expr, constant, symbol, symbols, where
from .functions import (  # fmt: skip
    absolute,
    acos,
    asin,
    atan,
    atan2,
    clip,
    cos,
    cosh,
    exp,
    floor,
    log,
    maximum,
    minimum,
    positive_part,
    sign,
    sin,
    sinh,
    sqrt,
    step,
    tan,
    tanh,
)
from .graph import Operations, evaluate, free_symbols, operations, operations_by_layer, substitute, topological
from .tables import Table, table

__all__ = [
    "Expr", "Operations", "Table", "absolute", "acos", "as_expr", "asin", "atan", "atan2", "clip", "constant", "cos",
    "cosh", "evaluate", "exp", "floor", "free_symbols", "gradient", "jacobian", "jvp", "log", "maximum", "minimum",
    "operations", "operations_by_layer", "positive_part", "second_directional", "sign", "sin", "sinh",
    "sparse_jacobian", "sqrt", "step", "substitute", "symbol", "symbols", "table", "tan", "tanh", "topological", "vjp",
    "where",
]  # fmt: skip
