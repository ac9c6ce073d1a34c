"""Algebraic unknowns: scalars that an equation determines at every instant, beside coordinates and states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..symbolic.expr import KINDS, Expr
from .values import number, traced, value

if TYPE_CHECKING:
    from .loads import Input


@dataclass
class Unknown:
    """A scalar w with g(t, q, v, z, u, w) = 0; ``guess`` is where its search begins at the start of a run.

    Its symbol is that of the input of the same name, which is found at every evaluation.
    """

    name: str
    symbol: Expr
    guess: float
    equation: Expr | None = None
    unit: str = ""


class UnknownMethods:
    """The part of a model that declares algebraic unknowns."""

    name: str
    inputs: dict[str, Input]
    unknowns: dict[str, Unknown]

    if TYPE_CHECKING:

        def _unlocked(self, what: str) -> None: ...
        def _new_name(self, name: str, kind: str, existing: dict[str, Any]) -> None: ...
        def input(self, name: str, value: Any = 0.0, unit: str = "") -> Expr: ...

    def unknown(self, name: str, guess: Any = 0.0, equation: Callable[[Expr], Any] | Any = None, unit: str = "") -> Expr:
        """A scalar found from ``equation = 0`` at every evaluation; laws, rates, outputs, events and memories may read it.

        ``equation`` is an expression, or a function of the unknown: ``equation=lambda i: R * i + drop(i) - supply``; where unknowns speak of
        each other it is given later by :meth:`equation`.  The search begins at the last accepted value, first at ``guess``.
        """
        self._new_name(name, "unknown", self.unknowns)
        first = number(guess, f"unknown '{name}': guess", unit or None)
        symbol = self.input(name, first, unit)
        self.unknowns[name] = Unknown(name, symbol, first, None, unit)
        if equation is not None:
            try:
                self.equation(symbol, equation)
            except Exception:  # what is refused leaves nothing behind
                del self.unknowns[name], self.inputs[name]
                raise
        return symbol

    def equation(self, unknown: Expr, expression: Callable[[Expr], Any] | Any) -> None:
        """What vanishes for an unknown; it may speak of everything but accelerations, which depend on the unknowns themselves."""
        for item in self.unknowns.values():
            if item.symbol is unknown:
                what = f"equation of unknown '{item.name}'"
                self._unlocked(what)
                new = value(traced(expression, what, unknown) if callable(expression) else expression, what)
                if new.deps & KINDS["acceleration"]:
                    raise ModelError(
                        f"{what}: it speaks of accelerations, which depend on the unknown itself; use positions, velocities, states"
                    )
                item.equation = new
                return
        raise ModelError(f"{unknown!r} is not an unknown of the model '{self.name}'; declare it with m.unknown(name, …)")


__all__ = ["Unknown", "UnknownMethods"]
