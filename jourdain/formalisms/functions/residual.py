"""The equations as implicit integrators take them: residuals at a point, and their exact change along a direction.

    r = M v̇ + c − Q − Jᵀλ,   e = (h(q, t); w(q, v, t)),   ρ = ż − f(t, q, v, z, u)

An implicit scheme turns a change of its unknowns into a change (δq, δv, δz, δv̇) of the point; one call of the tangent
then gives a column of its iteration matrix.  The tangent costs a small multiple of the residual whatever the number of
coordinates, so it compiles as fast and never grows with the square of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...symbolic.derivatives import jvp
from ...symbolic.expr import Expr, symbol
from ...symbolic.function import Argument, SymbolicFunction
from ..equations import Equations
from .linearisation import implicit_terms
from .registry import Signals, along_time, assemble, builder, jacobian_result, vector_result
from .touching import found_symbols
from .tree import multiplier_symbols

#: Residuals by name (see :func:`.linearisation.constrained_terms`).
Terms = Mapping[str, Sequence[Expr]]


def _constraints(eq: Equations, terms: Terms) -> list[Expr]:
    """Holonomic constraints at position level, then nonholonomic ones at velocity level."""
    return [*terms["h"], *terms["w"][eq.holonomic :]]


def _point(eq: Equations) -> tuple[Argument, ...]:
    """t, x, u, v̇ and λ, then the parameters."""
    inputs = assemble(eq, "", "t x u a", [], optional="").inputs
    return (*inputs[:4], Argument("lam", multiplier_symbols(eq), "constraint multipliers"), *inputs[4:])


def _directions(eq: Equations, signals: Signals) -> tuple[tuple[Argument, ...], dict[Expr, Expr]]:
    """Inputs that hold a direction (in the state itself, quaternions not turned into rotations) and what they stand for."""
    state = (*eq.q, *eq.v, *eq.z)
    dx = tuple(symbol(f"dx[{i}]", "input") for i in range(len(state)))
    da = tuple(symbol(f"da[{i}]", "input") for i in range(len(eq.a)))
    dt = symbol("dt", "input")
    arguments: tuple[Argument, ...] = (
        Argument("dx", dx, "change of the state"),
        Argument("da", da, "change of the accelerations"),
        Argument("dt", (dt,), "change of time"),
    )
    along = {**dict(zip(state, dx, strict=True)), **dict(zip(eq.a, da, strict=True)), **along_time(eq, signals, dt)}
    found = found_symbols(eq.model)
    if found:
        dw = tuple(symbol(f"dw[{i}]", "input") for i in range(len(found)))
        arguments += (Argument("dw", dw, "change of the wrenches of contacts"),)
        along |= zip(found, dw, strict=True)
    return arguments, along


def _changes(eq: Equations, name: str, terms: Terms, signals: Signals) -> SymbolicFunction:
    """The directional derivatives of several arrays in one sweep."""
    arguments, direction = _directions(eq, signals)
    flat = jvp([e for term in terms.values() for e in term], direction)
    results, at = [], 0
    for label, term in terms.items():
        results.append(vector_result(f"d{label}", flat[at : at + len(term)]))
        at += len(term)
    point = _point(eq)
    return SymbolicFunction(name, (*point[:5], *arguments, *point[5:]), tuple(results), title=eq.model.name)


def equations_function(eq: Equations, terms: Terms) -> SymbolicFunction:
    """r, e, f and the constraint Jacobian J at (t, x, v̇, λ), from the terms of equations in any coordinates."""
    results = (
        vector_result("r", terms["r"], "M a + c - Q - J^T lambda"), vector_result("e", _constraints(eq, terms), "constraints"),
        vector_result("f", terms["f"], "rates of the user states"), jacobian_result(eq),
    )  # fmt: skip
    return SymbolicFunction("implicit_equations", _point(eq), results, title=eq.model.name)


def tangent_function(eq: Equations, terms: Terms, signals: Signals = ()) -> SymbolicFunction:
    """Change of r, e and f along a direction."""
    return _changes(eq, "implicit_tangent", {"r": terms["r"], "e": _constraints(eq, terms), "f": terms["f"]}, signals)


def acceleration_tangent_function(eq: Equations, terms: Terms, signals: Signals = ()) -> SymbolicFunction:
    """Change of r, g, q̇ and ż along a direction."""
    return _changes(eq, "acceleration_tangent", {"r": terms["r"], "g": terms["g"], "rates": [*eq.position_rates, *terms["f"]]}, signals)


def _terms(eq: Equations) -> Terms:
    return implicit_terms(eq, multiplier_symbols(eq))


@builder
def implicit_equations(eq: Equations) -> SymbolicFunction:
    """r, e, f and the constraint Jacobian J at (t, x, v̇, λ): what a scheme on the differential-algebraic equations needs."""
    return equations_function(eq, _terms(eq))


@builder
def implicit_tangent(eq: Equations, signals: Signals = ()) -> SymbolicFunction:
    """Change of r, e and f along a direction (δx, δv̇, δt) at constant λ."""
    return tangent_function(eq, _terms(eq), signals)


@builder
def acceleration_tangent(eq: Equations, signals: Signals = ()) -> SymbolicFunction:
    """Change of r, of the constraints' acceleration g = J v̇ + J̇v + … and of q̇ and ż along a direction (δx, δv̇, δt)."""
    return acceleration_tangent_function(eq, _terms(eq), signals)


@builder
def constraint_tangent(eq: Equations, signals: Signals = ()) -> SymbolicFunction:
    """Change of the holonomic constraints h and of all velocity constraints w along a direction (δx, δv̇, δt)."""
    terms = _terms(eq)
    return _changes(eq, "constraint_tangent", {"h": terms["h"], "w": terms["w"]}, signals)


__all__ = [
    "acceleration_tangent", "acceleration_tangent_function", "constraint_tangent", "equations_function", "implicit_equations",
    "implicit_tangent", "tangent_function",
]  # fmt: skip
