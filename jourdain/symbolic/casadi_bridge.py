"""Functions of a system for CasADi (loaded when first used): the same operations as CasADi's own graph, to be differentiated and solved there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import InputError
from .expr import Expr, halves
from .function import SymbolicFunction
from .graph import topological

_SAME = ("exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sign", "floor", "sqrt", "atan2")


def to_casadi(function: SymbolicFunction) -> Any:
    """A ``casadi.Function`` with the inputs and results of a symbolic one, parameters included, by the same names.

    Results of several dimensions come row by row.  Tables of one variable become sums of cubic pieces; of two variables they are refused.
    """
    try:
        import casadi
    except ImportError:
        raise InputError("to_casadi() needs the package 'casadi': pip install casadi") from None
    known: dict[int, Any] = {}
    inputs = []
    for a in function.inputs:
        vector = casadi.SX.sym(a.name, len(a.symbols))
        inputs.append(vector)
        known |= {s.id: vector[i] for i, s in enumerate(a.symbols)}
    roots = [e for r in function.outputs for e in r.expressions]
    for e in topological(roots):
        if e.id not in known:
            known[e.id] = casadi.SX(e.data) if e.op == "const" else _node(casadi, e, [known[a.id] for a in e.args])
    results = [casadi.vertcat(*(known[e.id] for e in r.expressions)) for r in function.outputs]
    name = "".join(c if c.isalnum() else "_" for c in function.name)
    return casadi.Function(name, inputs, results, [_word(a.name) for a in function.inputs], [_word(r.name) for r in function.outputs])


def _word(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


def _node(casadi: Any, e: Expr, args: list[Any]) -> Any:
    if e.op in _SAME:
        return getattr(casadi, e.op)(*args)
    if e.op == "table":
        return _table(casadi, e, args)
    operations: dict[str, Callable[..., Any]] = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "neg": lambda a: -a,
        "pow": lambda a, b: a**b, "abs": casadi.fabs, "min": casadi.fmin, "max": casadi.fmax, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
        "and": casadi.logic_and, "or": casadi.logic_or, "not": casadi.logic_not, "where": lambda c, a, b: casadi.if_else(c, a, b),
        "dot": lambda *rows: sum(a * b for a, b in zip(*halves(rows), strict=True)),
    }  # fmt: skip
    if e.op not in operations:
        raise InputError(f"to_casadi: the operation '{e.op}' has no counterpart in CasADi")
    return operations[e.op](*args)


def _table(casadi: Any, e: Expr, args: list[Any]) -> Any:
    """A table, or one of its derivatives, in nested choices of its pieces."""
    table, orders = e.data
    if len(args) > 1:
        raise InputError(f"to_casadi: table '{table.name}' has two variables, which is not carried over")
    grid, order = table.breaks[0], orders[0]
    held = table.extrapolate == "hold"
    x = casadi.fmin(casadi.fmax(args[0], float(grid[0])), float(grid[-1])) if held else args[0]
    found = None
    for i in range(len(grid) - 2, -1, -1):
        s, c = x - float(grid[i]), [float(v) for v in table.coefficients[i]]
        for _ in range(order):
            c = [k * v for k, v in enumerate(c)][1:]
        value = casadi.SX(0)
        for v in reversed(c):
            value = value * s + v
        found = value if found is None else casadi.if_else(x < float(grid[i + 1]), value, found)
    if order and held:
        found = casadi.if_else(casadi.logic_or(args[0] < float(grid[0]), args[0] > float(grid[-1])), 0.0, found)
    return found


__all__ = ["to_casadi"]
