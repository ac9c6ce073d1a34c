"""Laws of contact of surfaces that do not give way: set-valued, with impulses for impacts and forces for rest in one.

A law speaks of one contact: its gap g (m), its normal speed u_N = ġ and its sliding velocity u_T (m/s).  How it is met is the business of the run (see
:mod:`jourdain.solvers.complementarity`); surfaces that give way are in :mod:`.penalty_laws`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ...errors import InputError
from ...symbolic.expr import KINDS, ZERO, Expr, as_expr, symbol
from ...symbolic.functions import maximum, minimum, where
from ...symbolic.graph import free_symbols
from ..values import traced, unit_axis, value

#: The speed (m/s) at which bodies meet, in coefficients of restitution that depend on it.
SPEED = symbol("speed", "velocity")
#: The same for functions of it, which may divide by it.
MET = maximum(SPEED, 1e-9)
#: Laws of impact, and cones of friction.
IMPACTS = ("newton", "poisson", "stronge")
CONES = ("exact", "convex")
#: Numbers of a law.
COEFFICIENTS = ("friction", "across", "static", "static_across", "restitution", "rolling", "spinning")


@dataclass(frozen=True)
class Rigid:
    """Surfaces that do not give way: Signorini's condition 0 ≤ g ⟂ λ_N ≥ 0 with Coulomb's cone ‖λ_T‖ ≤ μ λ_N and an impact law.

    Newton: u_N⁺ = −e u_N⁻ where the bodies are pressed together (Moreau, "Unilateral contact and dry friction in finite freedom dynamics", 1988).
    Poisson: the impulse after the largest compression is e times that before.  Stronge: the work of the normal force after it is −e² times that
    before.  ``static`` μ₀ holds what rests, ``friction`` what slides.

    Friction that differs by direction has the elliptic cone (λ₁/μ₁)² + (λ₂/μ₂)² ≤ λ_N² and takes most energy: ``friction`` along a direction ``along`` of
    the bodies of side ``of``, ``across`` at right angles to it.  Resistance against rolling and spinning is a couple of at most ``rolling`` λ_N about the
    tangents and ``spinning`` λ_N about the normal (lever arms in m), which ends these motions.
    """

    friction: Expr
    restitution: Expr
    law: str = "newton"
    static: Expr | None = None
    cone: str = "exact"
    across: Expr | None = None
    static_across: Expr | None = None
    along: tuple[float, float, float] | None = None
    of: str = "b"
    rolling: Expr = ZERO
    spinning: Expr = ZERO

    @property
    def by_speed(self) -> bool:
        """Whether restitution depends on the speed at which bodies meet."""
        return SPEED in free_symbols([self.restitution])

    @property
    def unbounded(self) -> Expr:
        """Restitution as the user wrote it, before it is kept between 0 and 1."""
        return self.restitution.args[2] if self.by_speed and self.restitution.op == "where" else self.restitution

    def mapped(self, f: Callable[[Expr], Expr]) -> Rigid:
        """The same law with other expressions."""
        changed = {word: f(e) for word in COEFFICIENTS if (e := getattr(self, word)) is not None}
        return replace(self, **changed)  # type: ignore[arg-type]

    @property
    def resists(self) -> bool:
        """Whether rolling or spinning meets a resistance."""
        return self.rolling is not ZERO or self.spinning is not ZERO

    def __str__(self) -> str:
        more = "" if self.static is None else f", μ₀ = {self.static}"
        more += "" if self.across is None else f" ({self.across} across)"
        more += "".join(f", {word} {e} m" for word, e in (("rolling", self.rolling), ("spinning", self.spinning)) if e is not ZERO)
        words = "".join(f", {word}" for word, usual in ((self.law, "newton"), (self.cone, "exact")) if word != usual)
        return f"rigid, μ = {self.friction}{more}, e = {'e(speed)' if self.by_speed else self.restitution}{words}"


def rigid(
    friction: Any = 0.0, restitution: Any = 0.0, law: str = "newton", static: Any = None, cone: str = "exact", along: Any = None, of: str = "b",
    rolling: Any = 0.0, spinning: Any = 0.0,
) -> Rigid:  # fmt: skip
    """A rigid contact with Coulomb friction μ ≥ 0 and a coefficient of restitution 0 ≤ e ≤ 1; both may be parameters of the model.

    ``restitution`` may be a function of the approach speed, such as a table of :func:`jd.restitution`, ``law`` is Newton's, Poisson's or Stronge's,
    ``static`` ≥ μ the coefficient of what rests.  ``cone="convex"`` solves a convex problem instead: sliding contacts open by μ‖u_T‖, which the
    channel ``contacts.opening`` tells.

    ``friction=(μ₁, μ₂)`` (and ``static`` likewise) differs by direction: μ₁ acts ``along`` an axis of the bodies of side ``of`` ("a" or "b") of the contact,
    μ₂ at right angles to it.  ``rolling`` and ``spinning`` are lever arms (m) of set-valued couples against rolling and spinning.

    >>> print(rigid(friction=0.5))
    rigid, μ = 0.5, e = 0
    >>> print(rigid(friction=(0.2, 0.6), along="x", rolling="0.5 mm"))
    rigid, μ = 0.2 (0.6 across), rolling 0.0005 m, e = 0
    """
    for word, known, what in ((law, IMPACTS, "law"), (cone, CONES, "cone"), (of, ("a", "b"), "of")):
        if word not in known:
            raise InputError(f"contact law: {what} = {word!r} is unknown; use one of {', '.join(map(repr, known))}")
    if callable(restitution) and not isinstance(restitution, Expr):
        given = as_expr(traced(restitution, "contact law: restitution", MET))
        restitution = where(given > -1e300, minimum(maximum(given, 0.0), 1.0), given)  # what is no number stays so, and is told
    (mu, across), (held, held_across) = _by_direction("friction", friction, along), _by_direction("static", static, along)
    if mu is None:
        raise InputError("contact law: friction = None is no coefficient; give a number (0: no friction)")
    axis = None if along is None else _axis(along)
    arms = [value(x, f"contact law: {word}", "m") for word, x in (("rolling", rolling), ("spinning", spinning))]
    found = Rigid(mu, value(restitution, "contact law: restitution", "1"), law, held, cone, across, held_across, axis, of, *arms)
    for word in COEFFICIENTS:
        e = getattr(found, word)
        if e is None:
            continue
        if any(s is not SPEED and s.deps & ~KINDS["parameter"] for s in free_symbols([e])):
            raise InputError(f"contact law: {word} = {e} must be a number or depend on parameters alone")
        if e.is_number:
            check_coefficient(word, float(e), 1.0 if word == "restitution" else float("inf"))
    for rest, slide in ((held, mu), (held_across, across)):
        if rest is not None and slide is not None and rest.is_number and slide.is_number and float(rest) < float(slide):
            raise InputError(f"contact law: static = {rest} must not be smaller than friction = {slide}")
    if found.resists and (law != "newton" or cone != "exact"):
        raise InputError(f"contact law: rolling and spinning go with law='newton' and cone='exact', not with {law!r} and {cone!r}")
    return found


def _by_direction(word: str, given: Any, along: Any) -> tuple[Expr | None, Expr | None]:
    """A coefficient, or two of them by direction."""
    if given is None:
        return None, None
    if not isinstance(given, (tuple, list)):
        if along is not None:
            raise InputError(f"contact law: {word} = {given} with along = {along!r} must be two coefficients: {word}=(0.2, 0.6)")
        return value(given, f"contact law: {word}", "1"), None
    if len(given) != 2:
        raise InputError(f"contact law: {word} = {given!r} must be one coefficient, or two: along a direction and across it")
    if along is None:
        raise InputError(f"contact law: {word} = {given!r} differs by direction; say along= which axis of side of= the first one acts")
    first, second = (value(x, f"contact law: {word}", "1") for x in given)
    return first, second


def _axis(given: Any) -> tuple[float, float, float]:
    x, y, z = (float(e) for e in unit_axis(given, "contact law: along"))
    return x, y, z


def check_coefficient(word: str, x: float, most: float, what: str = "contact law") -> None:
    """Refuses μ < 0 and e outside of 0 … 1."""
    if not 0.0 <= x <= most:
        told = "must not be negative" if most > 1.0 else "must lie between 0 (no rebound) and 1 (no loss)"
        raise InputError(f"{what}: {word} = {x:g} {told}")


__all__ = ["SPEED", "Rigid", "check_coefficient", "rigid"]
