"""The principle of virtual work in d'Alembert's form: Σ δr·(m r̈ − f) + δπ·(I ω̇ + ω × I ω − τ) = 0 for all displacements allowed.

Reactions of ideal joints do no work in displacements that the joints allow; so they never appear.
"""

from __future__ import annotations

from ...symbolic.expr import ONE, ZERO, Expr, add, mul
from ...symbolic.vectors import Vector
from .derivation import Derivation, balance, combined, coordinate_names, minimal, reduced, speeds_step
from .free_bodies import Mechanics
from .printing import Formula, Line, ModelNotation, Step, Term, indexed
from .speeds import Speeds

Parts = tuple[list[Expr], list[Expr], list[Expr]]


def virtual_work(mechanics: Mechanics, speeds: Speeds, notation: ModelNotation) -> Derivation:
    """Virtual displacements, their work, and the coefficients of those that are independent."""
    inertia, weight, applied = works(mechanics)

    def steps() -> list[Step]:
        found = [_displacements_step(mechanics, notation), _work_step(mechanics, inertia, weight, applied)]
        if speeds.is_trivial:
            words = "The virtual displacements of the coordinates are independent, so each coefficient vanishes by itself."
        else:
            found += speeds_step(speeds)
            words = (
                "Virtual displacements obey the constraints with time held still, J δq = 0, hence δq = B δw with the same B as in v = B u + b; "
                "the δw are independent and their coefficients, the factors E above combined with B, vanish."
            )
        lines = combined(speeds, coordinate_names(mechanics), inertia, weight, applied)
        return [*found, Step("Equations of motion", words, lines)]

    return minimal("virtual-work", mechanics, speeds, notation, steps, reduced(speeds, inertia, weight, applied))


def works(mechanics: Mechanics) -> Parts:
    """Inertial forces, weights and applied forces projected on the coordinates by the geometric Jacobians of the bodies."""
    m = mechanics
    inertia, weight, applied = m.rotor_forces(), [ZERO] * len(m.v), list(m.joint_forces)
    for body in m.bodies:
        translation, rotation = m.kinematics.jacobian(body.centre)
        moment = body.world_spin_moment
        for k, (t, r) in enumerate(zip(translation, rotation, strict=True)):
            inertia[k] = add(inertia[k], add(mul(body.mass, t.dot(body.acceleration)), r.dot(moment)))
            weight[k] = add(weight[k], t.dot(body.weight))
            applied[k] = add(applied[k], add(t.dot(body.force), r.dot(body.torque)))
    return inertia, weight, applied


def _displacements_step(m: Mechanics, notation: ModelNotation) -> Step:
    lines = []
    for body in m.bodies:
        translation, rotation = m.kinematics.jacobian(body.centre)
        for symbol, latex, columns in (("δr", r"\delta r", translation), ("δπ", r"\delta \pi", rotation)):
            for i, x in enumerate("xyz"):
                terms = _variation(m, notation, columns, i)
                if terms:
                    lines.append(Line([indexed(symbol, latex, body.name, x)], terms))
    words = (
        "A virtual displacement is a small displacement that the joints allow with time held still. The centre of mass of a body moves by δr, "
        "the body turns by δπ (world axes)."
    )
    return Step("Virtual displacements", words, lines)


def _variation(m: Mechanics, notation: ModelNotation, columns: list[Vector], i: int) -> list[Term]:
    terms: list[Term] = []
    for coordinate, column in zip(_coordinates(m), columns, strict=True):
        e = notation.shown(column[i])
        if e is not ZERO:
            text, latex = (write(e) for write in (notation.text, notation.latex))
            wrap = e.op in ("add", "sub")
            d_text, d_latex = f"δ{notation.text(coordinate)}", rf"\delta {notation.latex(coordinate)}"
            terms.append(_product(text, latex, d_text, d_latex, wrap, e is ONE))
    return terms


def _product(text: str, latex: str, d_text: str, d_latex: str, wrap: bool, is_one: bool) -> Formula:
    if is_one:
        return Formula(d_text, d_latex)
    return Formula(f"({text})*{d_text}", rf"\left({latex}\right) {d_latex}") if wrap else Formula(f"{text}*{d_text}", f"{latex} {d_latex}")


def _coordinates(m: Mechanics) -> list[Expr]:
    """A symbol for the displacement along each velocity: the coordinate, or the angular velocity of a quaternion."""
    found: list[Expr] = []
    for c in m.tree.coordinates:
        found += list(c.v) if c.is_quaternion else list(c.q)
    return found


def _work_step(m: Mechanics, inertia: list[Expr], weight: list[Expr], applied: list[Expr]) -> Step:
    principle = Line(
        [Formula("sum over bodies of δr·(m r'' - weight - f) + δπ·(I ω' + ω × I ω - τ)",
                 r"\sum \delta r \cdot (m \ddot{r} - m g - f) + \delta\pi \cdot (I \dot{\omega} + \omega \times I \omega - \tau)")],
        [ZERO],
    )  # fmt: skip
    lines = [principle, *(balance(i, w, q, m.a, note=n) for i, w, q, n in zip(inertia, weight, applied, _factors(m), strict=True))]
    words = (
        "Inertial forces −m r̈ and the inertial torque act like applied ones; together they do no work in any displacement allowed. Reactions "
        "do none by themselves. Ordered by the displacements of the coordinates, their factors are:"
    )
    return Step("Virtual work", words, lines)


def _factors(m: Mechanics) -> list[str]:
    return [f"factor of δ({n.removesuffix('_rate')})" for c in m.tree.coordinates for n in c.velocity_names]


__all__ = ["virtual_work", "works"]
