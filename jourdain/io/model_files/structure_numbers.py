"""Exported functions of models with flexible bodies: the numbers of structures become constants of the text."""

from __future__ import annotations

from dataclasses import replace

from ...symbolic.expr import Expr
from ...symbolic.function import Argument, SymbolicFunction
from ...symbolic.graph import substitute
from ...systems.system import System


def with_structures(system: System, f: SymbolicFunction) -> SymbolicFunction:
    """A function whose parameters are the user's alone, those that ``system.parameters`` lists."""
    numbers = {p.symbol: x for p, x in zip(system.model.parameter_set, system.parameter_vector.tolist(), strict=True) if p.data}
    if not numbers:
        return f
    outputs = tuple(replace(r, expressions=tuple(substitute(r.expressions, numbers))) for r in f.outputs)
    inputs = (_without(a, numbers) for a in f.inputs)
    return replace(f, inputs=tuple(a for a in inputs if a is not None), outputs=outputs)


def _without(argument: Argument, numbers: dict[Expr, float]) -> Argument | None:
    kept = tuple(s for s in argument.symbols if s not in numbers)
    if len(kept) == len(argument.symbols):
        return argument
    return replace(argument, symbols=kept) if kept else None


__all__ = ["with_structures"]
