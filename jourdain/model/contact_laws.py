"""Laws of contact of surfaces that do not give way: set-valued, with impulses for impacts and forces for rest in one.

A law speaks of one contact: its gap g (m), its normal speed u_N = ġ and its sliding velocity u_T (m/s).  How it is met is the business of the run (see
:mod:`jourdain.solvers.complementarity`); surfaces that give way are in :mod:`.penalty_laws`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..errors import InputError
from ..symbolic.expr import KINDS, Expr, as_expr, symbol
from ..symbolic.functions import maximum, minimum, where
from ..symbolic.graph import free_symbols
from .values import traced, value

#: The speed (m/s) at which bodies meet, in coefficients of restitution that depend on it.
SPEED = symbol("speed", "velocity")
#: Laws of impact, and cones of friction.
IMPACTS = ("newton", "poisson", "stronge")
CONES = ("exact", "convex")


@dataclass(frozen=True)
class Rigid:
    """Surfaces that do not give way: Signorini's condition 0 ≤ g ⟂ λ_N ≥ 0 with Coulomb's cone ‖λ_T‖ ≤ μ λ_N and an impact law.

    Newton: u_N⁺ = −e u_N⁻ where the bodies are pressed together (Moreau, "Unilateral contact and dry friction in finite freedom dynamics", 1988).
    Poisson: the impulse after the largest compression is e times that before.  Stronge: the work of the normal force after it is −e² times that
    before.  ``static`` μ₀ holds what rests, ``friction`` what slides.
    """

    friction: Expr
    restitution: Expr
    law: str = "newton"
    static: Expr | None = None
    cone: str = "exact"

    @property
    def by_speed(self) -> bool:
        """Whether restitution depends on the speed at which bodies meet."""
        return SPEED in free_symbols([self.restitution])

    def mapped(self, f: Callable[[Expr], Expr]) -> Rigid:
        """The same law with other expressions."""
        static = None if self.static is None else f(self.static)
        return replace(self, friction=f(self.friction), restitution=f(self.restitution), static=static)

    def __str__(self) -> str:
        more = "" if self.static is None else f", μ₀ = {self.static}"
        words = "".join(f", {word}" for word, usual in ((self.law, "newton"), (self.cone, "exact")) if word != usual)
        return f"rigid, μ = {self.friction}{more}, e = {'e(speed)' if self.by_speed else self.restitution}{words}"


def rigid(friction: Any = 0.0, restitution: Any = 0.0, law: str = "newton", static: Any = None, cone: str = "exact") -> Rigid:
    """A rigid contact with Coulomb friction μ ≥ 0 and a coefficient of restitution 0 ≤ e ≤ 1; both may be parameters of the model.

    ``restitution`` may be a function of the approach speed, such as a table of :func:`jd.restitution`, ``law`` is Newton's, Poisson's or Stronge's,
    ``static`` ≥ μ the coefficient of what rests.  ``cone="convex"`` solves a convex problem instead: sliding contacts open by μ‖u_T‖, which the
    channel ``contacts.opening`` tells.

    >>> print(rigid(friction=0.5))
    rigid, μ = 0.5, e = 0
    """
    for word, known, what in ((law, IMPACTS, "law"), (cone, CONES, "cone")):
        if word not in known:
            raise InputError(f"contact law: {what} = {word!r} is unknown; use one of {', '.join(map(repr, known))}")
    if callable(restitution) and not isinstance(restitution, Expr):
        given = as_expr(traced(restitution, "contact law: restitution", maximum(SPEED, 1e-9)))
        restitution = where(given > -1e300, minimum(maximum(given, 0.0), 1.0), given)  # what is no number stays so, and is told
    held = None if static is None else value(static, "contact law: static")
    found = Rigid(value(friction, "contact law: friction"), value(restitution, "contact law: restitution"), law, held, cone)
    for word, e, most in (
        ("friction", found.friction, float("inf")),
        ("static", held, float("inf")),
        ("restitution", found.restitution, 1.0),
    ):
        if e is None:
            continue
        if any(s is not SPEED and s.deps & ~KINDS["parameter"] for s in free_symbols([e])):
            raise InputError(f"contact law: {word} = {e} must be a number or depend on parameters alone")
        if e.is_number:
            check_coefficient(word, float(e), most)
    if held is not None and held.is_number and found.friction.is_number and float(held) < float(found.friction):
        raise InputError(f"contact law: static = {held} must not be smaller than friction = {found.friction}")
    return found


def check_coefficient(word: str, x: float, most: float, what: str = "contact law") -> None:
    """Refuses μ < 0 and e outside of 0 … 1."""
    if not 0.0 <= x <= most:
        told = "must not be negative" if most > 1.0 else "must lie between 0 (no rebound) and 1 (no loss)"
        raise InputError(f"{what}: {word} = {x:g} {told}")


__all__ = ["SPEED", "Rigid", "check_coefficient", "rigid"]
