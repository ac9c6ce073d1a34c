"""Small symbolic functions for the tests of native code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import jourdain.symbolic as S
from jourdain.native import Function, compile_function
from jourdain.symbolic.function import Argument, Result, SymbolicFunction


def symbolic(
    inputs: dict[str, Sequence[S.Expr]], outputs: dict[str, Any], name: str = "f", parameters: Sequence[S.Expr] | None = None
) -> SymbolicFunction:
    """A symbolic function from arrays of symbols and arrays (of any shape) of expressions."""
    arguments = [Argument(n, tuple(s)) for n, s in inputs.items()]
    if parameters is not None:
        arguments.append(Argument("p", tuple(parameters)))
    results = []
    for n, given in outputs.items():
        array = np.asarray(given, dtype=object)
        results.append(Result(n, tuple(S.as_expr(e) for e in array.ravel()), array.shape))
    return SymbolicFunction(name, tuple(arguments), tuple(results))


def compiled(
    inputs: dict[str, Sequence[S.Expr]], outputs: dict[str, Any], name: str = "f", parameters: Sequence[S.Expr] | None = None
) -> Function:
    """The same, compiled; parameters have no values yet."""
    return compile_function(symbolic(inputs, outputs, name, parameters))


def positions(n: int, name: str = "x") -> list[S.Expr]:
    """n symbols that change at every call."""
    return S.symbols([f"{name}{i}" for i in range(n)], "position")


def chain(x: Sequence[S.Expr], length: int) -> list[S.Expr]:
    """Nodes of a computation of exactly ``length`` operations, each on the one before; values stay moderate."""
    steps = [
        lambda e: e * x[0], lambda e: e + x[1], S.sin, lambda e: e + x[2], S.cos, lambda e: e * x[1],
        lambda e: S.maximum(e, x[2]), S.tanh, lambda e: e * x[2], S.atan,
    ]  # fmt: skip
    e = x[0] + x[1]
    nodes = [e]
    while len(nodes) < length:
        e = steps[(len(nodes) - 1) % len(steps)](e)
        nodes.append(e)
    return nodes
