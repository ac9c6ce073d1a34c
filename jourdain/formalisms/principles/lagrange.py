"""Lagrange's equations with multipliers: d/dt ∂T/∂q̇ − ∂T/∂q + ∂V/∂q = Q + Jᵀλ.

Energies are scalars: no acceleration and no reaction of a joint is ever written down.  Constraints beyond the joints enter with one
multiplier each; λ is the force that the constraint exerts along its own equation.
"""

from __future__ import annotations

from ...errors import InputError
from ...symbolic.derivatives import gradient, jvp
from ...symbolic.expr import HALF, ZERO, Expr, add, mul, neg, sub
from ..tree.energy import kinetic_energy, potential_energy
from .derivation import Derivation, balance, combined, coordinate_names, reduced, speeds_step
from .free_bodies import FreeBody, Mechanics, total
from .newton_euler_steps import acceleration_constraints
from .printing import Formula, Line, ModelNotation, Step, equals
from .speeds import Speeds, velocity_names
from .virtual_work import works


def lagrange(mechanics: Mechanics, speeds: Speeds, notation: ModelNotation) -> Derivation:
    """Energies, momenta, constraints with multipliers, and the equations of motion."""
    m = mechanics
    check_coordinates(m)
    T, V = kinetic_energy(m.kinematics), potential_energy(m.kinematics)
    momenta = gradient(T, m.v)
    rates = jvp(momenta, {**m.eq.flow, **dict(zip(m.v, m.a, strict=True))})
    inertia = [sub(r, s) for r, s in zip(rates, gradient(T, m.q), strict=True)]
    weight = [neg(e) for e in gradient(V, m.q)]
    applied = works(m)[2]
    forces = m.constraint_forces(speeds.rows)

    def steps() -> list[Step]:
        lines = [balance(i, w, q, m.a, f) for i, w, q, f in zip(inertia, weight, applied, forces, strict=True)]
        lines += [Line([m.rows[i].expression], [ZERO], m.constraint_names[i]) for i in speeds.rows]
        words = "d/dt ∂T/∂q̇ − ∂T/∂q + ∂V/∂q on the left; on the right the applied forces Q"
        result = Step("Equations of motion", f"{words} and the constraint forces Jᵀλ." if speeds.rows else f"{words}.", lines)
        energies = [_coordinates_step(m), _energy_step(m, T, V), _momentum_step(m, notation, momenta, T)]
        elimination = [] if speeds.is_trivial else _elimination(speeds, inertia, weight, applied)
        return [*energies, *_constraints_step(m, speeds), result, *elimination]

    residuals = reduced(speeds, inertia, weight, applied)
    stated = [sub(i, total([w, q, f])) for i, w, q, f in zip(inertia, weight, applied, forces, strict=True)]
    stated += acceleration_constraints(m, speeds.rows)
    unknowns = [*m.a, *(m.multipliers[i] for i in speeds.rows)]
    names = [f"{n}_dot" for n in velocity_names(m)] + [f"lambda_{m.constraint_names[i]}" for i in speeds.rows]
    return Derivation("lagrange", m, speeds, notation, steps, residuals, stated, unknowns, names)


def check_coordinates(m: Mechanics) -> None:
    """Lagrange's equations need velocities that are derivatives of coordinates."""
    for c in m.tree.coordinates:
        if c.is_quaternion:
            raise InputError(
                f"Lagrange's equations need q' = v, but '{c.names[0].rpartition('.')[0]}' is a quaternion whose velocities are quasi-velocities; "
                "use an orientation sequence such as 'zxz', or the principle 'gibbs-appell' or 'kane'"
            )


def _coordinates_step(m: Mechanics) -> Step:
    names = ", ".join(n for c in m.tree.coordinates for n in c.names)
    return Step("Coordinates", f"The position is described by {names}; velocities are their derivatives.")


def body_energy(m: Mechanics, body: FreeBody) -> Expr:
    """½ m ṙ·ṙ + ½ ω·I ω of one body."""
    v = body.velocity
    return mul(HALF, add(mul(body.mass, v.dot(v)), body.omega.dot(body.inertia @ body.omega)))


def _energy_step(m: Mechanics, T: Expr, V: Expr) -> Step:
    lines = [equals(f"T_{b.name}", body_energy(m, b)) for b in m.bodies if b.has_mass]
    if len(lines) > 1 or m.rotors:
        lines.append(equals("T", T))
    if V is not ZERO:
        lines.append(equals("V", V))
    words = "The kinetic energy of each body is that of its mass at the centre and that of its rotation; the potential energy is that of the weight."
    return Step("Energies", words, lines)


def _momentum_step(m: Mechanics, notation: ModelNotation, momenta: list[Expr], T: Expr) -> Step:
    lines = []
    slopes = gradient(T, m.q)
    for q, v, p, s in zip(m.q, m.v, momenta, slopes, strict=True):
        x, xd = notation.text(q), notation.text(v)
        lx, lxd = notation.latex(q), notation.latex(v)
        lines.append(Line([Formula(f"∂T/∂{xd}", rf"\frac{{\partial T}}{{\partial {lxd}}}")], [p]))
        if notation.shown(s) is not ZERO:
            lines.append(Line([Formula(f"∂T/∂{x}", rf"\frac{{\partial T}}{{\partial {lx}}}")], [s]))
    return Step(
        "Momenta",
        "The derivatives of T by the velocities are the momenta; those by the coordinates are what T's dependence on position adds.",
        lines,
    )


def _constraints_step(m: Mechanics, speeds: Speeds) -> list[Step]:
    if not m.rows:
        return []
    lines = [Line([m.eq.constraint_velocities[i]], [ZERO], m.constraint_names[i]) for i in speeds.rows]
    words = (
        "The constraints, as equations of velocity J v + b = 0. Virtual displacements obey J δq = 0; the work of the other terms vanishes for "
        "these only, and a multiplier for each constraint, with its row of J, makes up the rest: Jᵀλ."
    )
    if speeds.redundant:
        words += f" Redundant, without multiplier of their own: {', '.join(speeds.redundant)}."
    return [Step("Constraints and multipliers", words, lines)]


def _elimination(speeds: Speeds, *parts: list[Expr]) -> list[Step]:
    lines = combined(speeds, coordinate_names(speeds.mechanics), *parts)
    words = (
        "With v = B u + b the constraints are met by themselves. Bᵀ from the left combines the equations E of the coordinates and removes the multipliers, because J B = 0; "
        "as many equations are left as there are independent velocities."
    )
    return [*speeds_step(speeds), Step("Multipliers eliminated", words, lines)]


__all__ = ["body_energy", "check_coordinates", "lagrange"]
