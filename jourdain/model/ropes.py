"""Ropes that do not give way: they pull and never push, and an impact makes them taut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..symbolic.expr import KINDS, Expr
from .bodies import Frame
from .contact_laws import Rigid
from .values import value

if TYPE_CHECKING:
    from .model import Model


@dataclass(frozen=True)
class Rope:
    """A rope of constant length ℓ between two points: 0 ≤ ℓ − ‖r_b − r_a‖ ⟂ T ≥ 0, with a law of impact where it becomes taut."""

    name: str
    a: Frame
    b: Frame
    length: Expr
    law: Rigid


def declare_rope(model: Model, name: str, points: tuple[Frame, ...], length: Any, law: Any) -> Rope:
    """A rope of a model that does not give way (:meth:`Model.rope` tells the arguments)."""
    what = f"rope '{name}'"
    if not isinstance(law, Rigid):
        raise ModelError(f"{what}: law = {law!r} must be jd.contact.rigid(restitution=…); elastic ropes have stiffness= instead")
    if len(points) != 2:
        raise ModelError(
            f"{what}: a rope that does not give way has two points, not {len(points)}; over pulleys give stiffness= in the place of law="
        )
    bends = next((p.body.name for p in points if p.body.modes), None)
    if bends is not None:
        raise ModelError(f"{what}: '{bends}' bends, where a rope must give way; give stiffness= in the place of law=")
    if points[0].body is points[1].body:
        raise ModelError(f"{what}: both its points are of '{points[0].body.name}'")
    if str(law.friction) != "0" or law.resists:
        raise ModelError(f"{what}: a rope has no friction; give jd.contact.rigid(restitution=…) alone")
    z = value(length, f"{what}: length", "m")
    if z.deps & ~KINDS["parameter"]:
        raise ModelError(f"{what}: length = {z} must be a number or depend on parameters alone")
    if z.is_number and not float(z) > 0.0:
        raise ModelError(f"{what}: length = {float(z):g} must be positive")
    return Rope(name, points[0], points[1], z, law)


__all__ = ["Rope", "declare_rope"]
