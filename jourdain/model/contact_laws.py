"""Laws of contact: what two surfaces that touch do to each other.

A law speaks of one contact: its gap g (m), its normal speed u_N = ġ and its sliding velocity u_T (m/s).  Set-valued laws have impulses for
impacts and forces for rest in one; how they are met is the business of the run (see :mod:`jourdain.solvers.complementarity`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..errors import InputError
from ..symbolic.expr import KINDS, Expr
from .values import value


@dataclass(frozen=True)
class Rigid:
    """Surfaces that do not give way: Signorini's condition 0 ≤ g ⟂ λ_N ≥ 0 with Coulomb's cone ‖λ_T‖ ≤ μ λ_N and an impact law.

    Newton: u_N⁺ = −e u_N⁻ where the bodies are pressed together.  Moreau, "Unilateral contact and dry friction in finite freedom
    dynamics" (1988).
    """

    friction: Expr
    restitution: Expr

    def mapped(self, f: Callable[[Expr], Expr]) -> Rigid:
        """The same law with other expressions."""
        return replace(self, friction=f(self.friction), restitution=f(self.restitution))

    def __str__(self) -> str:
        return f"rigid, μ = {self.friction}, e = {self.restitution}"


def rigid(friction: Any = 0.0, restitution: Any = 0.0) -> Rigid:
    """A rigid contact with Coulomb friction μ ≥ 0 and Newton's coefficient of restitution 0 ≤ e ≤ 1; both may be parameters of the model.

    >>> print(rigid(friction=0.5))
    rigid, μ = 0.5, e = 0
    """
    found = Rigid(value(friction, "contact law: friction"), value(restitution, "contact law: restitution"))
    for word, e, most in (("friction", found.friction, float("inf")), ("restitution", found.restitution, 1.0)):
        if e.deps & ~KINDS["parameter"]:
            raise InputError(f"contact law: {word} = {e} must be a number or depend on parameters alone")
        if e.is_number:
            check_coefficient(word, float(e), most)
    return found


def check_coefficient(word: str, x: float, most: float) -> None:
    """Refuses μ < 0 and e outside of 0 … 1."""
    if not 0.0 <= x <= most:
        told = "must not be negative" if most > 1.0 else "must lie between 0 (no rebound) and 1 (no loss)"
        raise InputError(f"contact law: {word} = {x:g} {told}")


__all__ = ["Rigid", "rigid"]
