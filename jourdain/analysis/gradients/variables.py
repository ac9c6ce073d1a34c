"""Variables of a gradient by what they change: symbols of the equations and of criteria, or places of the first state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...symbolic.expr import Expr

if TYPE_CHECKING:
    from ...systems.system import System
    from ..design.planned import Analysis
    from .expressions import Expressions


def sorted_variables(
    analysis: Analysis, system: System, wrt: Sequence[str], expressions: Expressions
) -> tuple[list[Expr], list[int], list[tuple[int, int]]]:  # fmt: skip
    """Symbols of the chosen parameters and constants with their columns, and (column, place) of initial values."""
    known = {p.name: p.symbol for p in system.model.parameter_set}
    starts = [*system.coordinate_names, *system.velocity_names, *system.model.states]
    symbols, columns, initial = list[Expr](), list[int](), list[tuple[int, int]]()
    for j, name in enumerate(wrt):
        kind, own = ("constant", name) if name in expressions.constants else analysis.variable(name)
        if kind == "initial":
            initial.append((j, starts.index(own)))
        else:
            symbols.append(expressions.constants[name][0] if kind == "constant" else known[own])
            columns.append(j)
    return symbols, columns, initial


__all__ = ["sorted_variables"]
