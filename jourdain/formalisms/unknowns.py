"""Algebraic unknowns in the equations: linear ones are eliminated, the others stand for one step of Newton's method from their value.

With g(x, w) = 0 the expression w̃ = w − (∂g/∂w)⁻¹ g(x, w), in which w is a number that solves the equation, has the value w and, because
g vanishes there, the derivative dw̃/dx = −(∂g/∂w)⁻¹ ∂g/∂x of the implicit-function theorem.  So every function that is derived from the
equations is exact to first order: Jacobians of implicit methods, linear systems, equilibria.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from ..errors import ModelError
from ..model.model import Model
from ..model.unknowns import Unknown
from ..symbolic.derivatives import sparse_jacobian
from ..symbolic.expr import KINDS, ZERO, Expr, add, mul, neg, sub
from ..symbolic.functions import absolute
from ..symbolic.graph import free_symbols, substitute
from .loops.elimination import solve_dense


@dataclass(frozen=True)
class Elimination:
    """What each unknown stands for; by the names of those that Newton's method must find, what is to vanish and the size of the
    terms by which that changes over a step, Σ |∂g/∂wⱼ Δwⱼ|."""

    values: dict[Expr, Expr]
    residuals: dict[str, Expr]
    sizes: dict[str, Expr]


def eliminate(model: Model, readings: Mapping[Expr, Expr]) -> Elimination:
    """The unknowns of a model, block by block of those that speak of each other."""
    items = list(model.unknowns.values())
    equations = _equations(model, readings)
    symbols = [w.symbol for w in items]
    read = [set(free_symbols([g])) for g in equations]
    found = Elimination({}, {}, {})
    for block in _blocks([[j for j, s in enumerate(symbols) if s in heard] for heard in read]):
        _solve(model, [items[k] for k in block], substitute([equations[k] for k in block], found.values), found)
    _refuse_callbacks(model, found.residuals)
    return found


def _equations(model: Model, readings: Mapping[Expr, Expr]) -> list[Expr]:
    """What is to vanish, in order."""
    items = list(model.unknowns.values())
    missing = [w.name for w in items if w.equation is None]
    if missing:
        raise ModelError(f"unknown '{missing[0]}' has no equation; give it with m.equation(unknown, expression)")
    equations = substitute([w.equation for w in items if w.equation is not None], readings)
    for w, g in zip(items, equations, strict=True):
        if g.deps & KINDS["acceleration"]:
            raise ModelError(
                f"equation of unknown '{w.name}': it speaks of accelerations through a sensor or a prescribed motion; use velocities"
            )
    return equations


def _solve(model: Model, block: Sequence[Unknown], equations: Sequence[Expr], found: Elimination) -> None:
    """Adds what the unknowns of a block stand for; ``equations`` speak of no other unknowns."""
    own = [w.symbol for w in block]
    slopes = sparse_jacobian(equations, own)
    A = [[slopes.get((i, j), ZERO) for j in range(len(own))] for i in range(len(own))]
    _check(model, [w.name for w in block], A)
    linear = not {s.id for s in free_symbols([e for row in A for e in row])} & {s.id for s in own}
    right = substitute(equations, dict.fromkeys(own, ZERO)) if linear else equations
    rows = _ordered(A, right)
    change = [r[0] for r in solve_dense([list(a) for a, _ in rows], [[b] for _, b in rows])]
    for w, d in zip(block, change, strict=True):
        found.values[w.symbol] = neg(d) if linear else sub(w.symbol, d)
    if not linear:
        for w, g, row in zip(block, equations, A, strict=True):
            found.residuals[w.name] = g
            found.sizes[w.name] = reduce(add, (absolute(mul(a, d)) for a, d in zip(row, change, strict=True)), ZERO)


def _refuse_callbacks(model: Model, sought: Mapping[str, Expr]) -> None:
    """Python is called before unknowns are found."""
    own = {model.unknowns[name].symbol: name for name in sought}
    for callback in model.callbacks.values():
        named = [own[s] for s in free_symbols(list(callback.arguments)) if s in own]
        if named:
            raise ModelError(
                f"callback '{callback.name}' reads the unknown '{named[0]}', which is found after it is called; give it what the equation reads"
            )


def _check(model: Model, names: Sequence[str], A: Sequence[Sequence[Expr]]) -> None:
    """Refuses equations that do not determine their unknowns, whatever the values."""
    for k, name in enumerate(names):
        if all(e is ZERO for e in A[k]) or all(row[k] is ZERO for row in A):
            raise ModelError(
                f"unknown '{name}' of the model '{model.name}' is not determined: none of the equations of {', '.join(names)} depends on it, or its "
                "own depends on none of them"
            )


def _ordered(A: list[list[Expr]], b: Sequence[Expr]) -> list[tuple[list[Expr], Expr]]:
    """Rows in an order that has no zeros on the diagonal, so that elimination needs no exchanges (a matching of rows and columns)."""
    n = len(A)
    owner = [-1] * n

    def place(i: int, seen: set[int]) -> bool:
        for j in sorted(range(n), key=lambda j: j != i):  # its own column first
            if A[i][j] is not ZERO and j not in seen:
                seen.add(j)
                if owner[j] < 0 or place(owner[j], seen):
                    owner[j] = i
                    return True
        return False

    matched = all(place(i, set()) for i in range(n))
    return [(A[i], b[i]) for i in owner] if matched else list(zip(A, b, strict=True))


def _blocks(speaks: Sequence[Sequence[int]]) -> list[list[int]]:
    """Groups that speak of each other, each after those it speaks of (Tarjan 1972)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    found: list[list[int]] = []

    def visit(k: int) -> None:
        index[k] = low[k] = len(index)
        stack.append(k)
        for j in speaks[k]:
            if j not in index:
                visit(j)
                low[k] = min(low[k], low[j])
            elif j in stack:
                low[k] = min(low[k], index[j])
        if low[k] == index[k]:
            at = stack.index(k)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for k in range(len(speaks)):
        if k not in index:
            visit(k)
    return found


__all__ = ["Elimination", "eliminate"]
