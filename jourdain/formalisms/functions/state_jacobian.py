"""Exact derivatives of ẋ = f(t, x, u) of a system without constraints, for implicit integrators: ∂f/∂x and ∂f/∂t."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import InputError
from ...symbolic.derivatives import jvp, sparse_jacobian
from ...symbolic.expr import ZERO, Expr
from ...symbolic.function import SymbolicFunction
from ..equations import Equations
from .dynamics import state_rates
from .registry import Signals, along_time, assemble, builder, matrix_result, vector_result


def _state_rates(eq: Equations) -> list[Expr]:
    if eq.rows:
        raise InputError(f"'{eq.model.name}' has {len(eq.rows)} constraints: ẋ is not an expression of the state there")
    return state_rates(eq)


def _state(eq: Equations) -> Sequence[Expr]:
    return (*eq.q, *eq.v, *eq.z)


def jacobian_function(eq: Equations, rates: Sequence[Expr]) -> SymbolicFunction:
    """∂ẋ/∂x, row by row, of given rates of the state x = (q, v, z)."""
    x = _state(eq)
    table = [[ZERO] * len(x) for _ in x]
    for (i, j), e in sparse_jacobian(rates, x).items():
        table[i][j] = e
    return assemble(eq, "state_jacobian", "t x", [matrix_result("dxdot", table, len(x))], optional="u")


def time_derivative_function(eq: Equations, rates: Sequence[Expr], signals: Signals = ()) -> SymbolicFunction:
    """∂ẋ/∂t of given rates at a constant state, with the change of inputs that are signals of time."""
    return assemble(eq, "state_time_derivative", "t x", [vector_result("dxdot", jvp(rates, along_time(eq, signals)))], optional="u")


@builder
def state_jacobian(eq: Equations) -> SymbolicFunction:
    """∂ẋ/∂x, row by row; x = (q, v, z)."""
    return jacobian_function(eq, _state_rates(eq))


@builder
def state_time_derivative(eq: Equations, signals: Signals = ()) -> SymbolicFunction:
    """∂ẋ/∂t at a constant state."""
    return time_derivative_function(eq, _state_rates(eq), signals)


__all__ = ["jacobian_function", "state_jacobian", "state_time_derivative", "time_derivative_function"]
