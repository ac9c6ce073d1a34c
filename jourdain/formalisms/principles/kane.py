"""Kane's form: generalised active and inertia forces, F + F* = 0, from partial velocities.

The partial velocity of a point is the velocity that a unit of one generalised speed gives it.  Forces are multiplied with partial
velocities one by one, so nothing is ever differentiated but kinematics.
"""

from __future__ import annotations

from ...symbolic.expr import ZERO, Expr, add, mul, neg
from .derivation import Derivation, balances, differences, minimal, short_velocity_names, speeds_step
from .free_bodies import Mechanics
from .gibbs_appell import generalised_forces, partial_vectors
from .printing import Formula, Line, ModelNotation, Step, equals, indexed, name
from .speeds import Speeds, tidy


def kane(mechanics: Mechanics, speeds: Speeds, notation: ModelNotation) -> Derivation:
    """Partial velocities, active forces, inertia forces, and their sum."""
    m = mechanics
    weight, applied = generalised_forces(m, speeds)
    inertia = inertia_forces(m, speeds)

    def steps() -> list[Step]:
        words = "F + F* = 0 for each generalised speed; inertial terms on the left, applied forces on the right."
        last = Step("Equations of motion", words, balances(speeds, inertia, weight, applied))
        return [*speeds_step(speeds), _partials_step(m, speeds), _forces_step(speeds, weight, applied, inertia), last]

    return minimal("kane", m, speeds, notation, steps, differences(inertia, weight, applied))


def inertia_forces(m: Mechanics, speeds: Speeds) -> list[Expr]:
    """−F*: Σ m a·∂v/∂u + (I ω̇ + ω × I ω)·∂ω/∂u, in the bodies' own axes."""
    found = speeds.project(speeds.motion(m.rotor_forces()))
    for body in m.bodies:
        a, moment = body.own_acceleration, body.spin_moment
        for r, (t, w) in enumerate(zip(partial_vectors(speeds, body.own(body.velocity)), partial_vectors(speeds, body.omega), strict=True)):
            found[r] = add(found[r], add(mul(body.mass, t.dot(a)), w.dot(moment)))
    return speeds.motion(found)


def _partials_step(m: Mechanics, speeds: Speeds) -> Step:
    lines = []
    names = short_velocity_names(speeds)
    for body in m.bodies:
        for letter, latex, vector in (("v", "v", body.own(body.velocity)), ("ω", r"\omega", body.omega)):
            for n, partial in zip(names, partial_vectors(speeds, vector), strict=True):
                for x, e in zip("xyz", partial, strict=True):
                    if tidy(e) is not ZERO:
                        v = indexed(letter, latex, body.name, x)
                        lines.append(Line([Formula(f"∂{v.text}/∂{n}", rf"\partial {v.latex} / \partial {name(n).latex}")], [e]))
    words = "The partial velocities of the centres of mass and the partial angular velocities, along the bodies' own axes; what is not listed is zero."
    return Step("Partial velocities", words, lines)


def _forces_step(speeds: Speeds, weight: list[Expr], applied: list[Expr], inertia: list[Expr]) -> Step:
    lines = []
    for n, w, q, i in zip(short_velocity_names(speeds), weight, applied, inertia, strict=True):
        lines.append(equals(name(f"F_{n}"), w, q))
        lines.append(Line([indexed("F*", "F^{*}", n)], [neg(i)]))
    words = "Active forces F: weights and loads times partial velocities. Inertia forces F*: −m a and −(I ω̇ + ω × I ω) times partial velocities."
    return Step("Generalised active and inertia forces", words, lines)


__all__ = ["inertia_forces", "kane"]
