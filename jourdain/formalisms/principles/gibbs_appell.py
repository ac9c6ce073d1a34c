"""Jourdain's principle of virtual power, and the Gibbs–Appell equations ∂S/∂u̇ = Q, with quasi-velocities.

Jourdain varies velocities while position and time stand still: Σ δṙ·(m r̈ − f) + δω·(I ω̇ + ω × I ω − τ) = 0 for all velocities allowed.
Constraints on velocities that no position can express are met as easily as others, because u is chosen so that they hold by themselves.
Appell gathers the inertial terms in one function, S = ½ Σ m r̈·r̈ + ½ ω̇·I ω̇ + ω̇·(ω × I ω), the energy of acceleration.
"""

from __future__ import annotations

from ...symbolic.derivatives import gradient, jacobian
from ...symbolic.expr import HALF, ZERO, Expr, add, mul, sub
from ...symbolic.graph import substitute
from ...symbolic.vectors import Vector
from .derivation import Derivation, balances, differences, minimal, short_velocity_names, speeds_step
from .free_bodies import FreeBody, Mechanics, total
from .printing import Formula, Line, ModelNotation, Step, equals, indexed, name
from .speeds import Speeds


def partial_vectors(speeds: Speeds, v: Vector) -> list[Vector]:
    """∂v/∂u for every independent velocity."""
    columns = list(zip(*jacobian(speeds.motion(list(v)), speeds.u), strict=True))
    return [Vector(*c) for c in columns]


def world_omega(body: FreeBody) -> Vector:
    """Angular velocity in world axes."""
    return body.rotation @ body.omega if not body.omega.is_zero else body.omega


# --- Jourdain --------------------------------------------------------------------------------------------------------


def jourdain(mechanics: Mechanics, speeds: Speeds, notation: ModelNotation) -> Derivation:
    """Velocities of the bodies, their variations, and the power that vanishes for each of them."""
    m = mechanics
    inertia = speeds.project(speeds.motion(m.rotor_forces()))
    weight, applied = [ZERO] * len(speeds.u), speeds.project(m.joint_forces)
    for body in m.bodies:
        moment = body.world_spin_moment
        for r, (t, w) in enumerate(zip(partial_vectors(speeds, body.velocity), partial_vectors(speeds, world_omega(body)), strict=True)):
            inertia[r] = add(inertia[r], add(mul(body.mass, t.dot(body.acceleration)), w.dot(moment)))
            weight[r] = add(weight[r], t.dot(body.weight))
            applied[r] = add(applied[r], add(t.dot(body.force), w.dot(body.torque)))
    inertia, applied = speeds.motion(inertia), speeds.motion(applied)

    def steps() -> list[Step]:
        words = "The variations δu are arbitrary, so the factor of each of them vanishes."
        last = Step("Equations of motion", words, balances(speeds, inertia, weight, applied))
        return [*speeds_step(speeds), _velocities_step(m, speeds), _power_step(), last]

    return minimal("jourdain", m, speeds, notation, steps, differences(inertia, weight, applied))


def _velocities_step(m: Mechanics, speeds: Speeds) -> Step:
    lines = []
    for body in m.bodies:
        for letter, latex, vector in (("v", "v", body.velocity), ("ω", r"\omega", world_omega(body))):
            for x, e in zip("xyz", speeds.motion(list(vector)), strict=True):
                if e is not ZERO:
                    lines.append(Line([indexed(letter, latex, body.name, x)], [e]))
    words = "Velocities of the centres of mass and angular velocities (world axes), linear in the independent velocities."
    return Step("Velocities of the bodies", words, lines)


def _power_step() -> Step:
    principle = Line(
        [Formula("sum over bodies of δv·(m v' - weight - f) + δω·(I ω' + ω × I ω - τ)",
                 r"\sum \delta v \cdot (m \dot{v} - m g - f) + \delta\omega \cdot (I \dot{\omega} + \omega \times I \omega - \tau)")],
        [ZERO],
    )  # fmt: skip
    words = (
        "At a given position and time the velocities are varied as the joints and constraints allow. Reactions have no power in such variations, "
        "so the power of inertial and applied forces together vanishes."
    )
    return Step("Virtual power", words, [principle])


# --- Gibbs and Appell ------------------------------------------------------------------------------------------------


def energy_of_acceleration(body: FreeBody) -> Expr:
    """S of one body, without terms that hold no acceleration; vectors in the body's own axes."""
    a, alpha, omega = body.own_acceleration, body.alpha, body.omega
    squares = mul(HALF, add(mul(body.mass, a.dot(a)), alpha.dot(body.inertia @ alpha)))
    return add(squares, alpha.dot(omega.cross(body.inertia @ omega)))


def gibbs_appell(mechanics: Mechanics, speeds: Speeds, notation: ModelNotation) -> Derivation:
    """Accelerations of the bodies, the function S, generalised forces, and ∂S/∂u̇ = Q."""
    m = mechanics
    parts = [speeds.motion([energy_of_acceleration(b)])[0] for b in m.bodies]
    rotor = speeds.motion([total(mul(HALF, mul(n2J, mul(m.a[k], m.a[k]))) for k, n2J in m.rotors.items())])[0]
    S = add(total(parts), rotor)
    inertia = gradient(S, speeds.u_dot)
    weight, applied = generalised_forces(m, speeds)

    def steps() -> list[Step]:
        last = Step("Equations of motion", "∂S/∂u̇ = Q for each independent velocity u.", balances(speeds, inertia, weight, applied))
        energy = _energy_step(m, speeds, parts, rotor)
        return [*speeds_step(speeds), _accelerations_step(m, speeds), energy, forces_step(speeds, weight, applied), last]

    return minimal("gibbs-appell", m, speeds, notation, steps, differences(inertia, weight, applied))


def generalised_forces(m: Mechanics, speeds: Speeds) -> tuple[list[Expr], list[Expr]]:
    """Q = Σ f·∂v/∂u + τ·∂ω/∂u of weights, and of applied forces, in the bodies' own axes."""
    weight, applied = [ZERO] * len(speeds.u), speeds.project(m.joint_forces)
    for body in m.bodies:
        force, torque, heavy = body.own(body.force), body.own(body.torque), body.own(body.weight)
        for r, (t, w) in enumerate(zip(partial_vectors(speeds, body.own(body.velocity)), partial_vectors(speeds, body.omega), strict=True)):
            weight[r] = add(weight[r], t.dot(heavy))
            applied[r] = add(applied[r], add(t.dot(force), w.dot(torque)))
    return weight, speeds.motion(applied)


def _accelerations_step(m: Mechanics, speeds: Speeds) -> Step:
    lines = []
    for body in m.bodies:
        kinds = (("a", "a", body.own_acceleration), ("ω", r"\omega", body.omega), ("ω'", r"\dot{\omega}", body.alpha))
        for letter, latex, vector in kinds:
            for x, e in zip("xyz", speeds.motion(list(vector)), strict=True):
                if e is not ZERO:
                    lines.append(Line([indexed(letter, latex, body.name, x)], [e]))
    return Step("Accelerations of the bodies", "Acceleration a of the centre of mass, ω and ω' of each body, along its own axes.", lines)


def _energy_step(m: Mechanics, speeds: Speeds, parts: list[Expr], rotor: Expr) -> Step:
    moving = [sub(e, rest) for e, rest in zip(parts, substitute(parts, dict.fromkeys(speeds.u_dot, ZERO)), strict=True)]
    lines = [equals(f"S_{b.name}", e) for b, e in zip(m.bodies, moving, strict=True) if e is not ZERO]
    if rotor is not ZERO:
        lines.append(equals("S_rotors", rotor))
    words = "S = ½ m a·a + ½ ω̇·I ω̇ + ω̇·(ω × I ω) of each body; terms without accelerations do not matter and are left out."
    return Step("Energy of acceleration", words, lines)


def forces_step(speeds: Speeds, weight: list[Expr], applied: list[Expr]) -> Step:
    """Generalised forces by name."""
    lines = [equals(name(f"Q_{n}"), w, q) for n, w, q in zip(short_velocity_names(speeds), weight, applied, strict=True)]
    return Step(
        "Generalised forces",
        "The power of the applied forces is Σ Q u: each force times the velocity that a unit of u gives its point.",
        lines,
    )


__all__ = ["energy_of_acceleration", "generalised_forces", "gibbs_appell", "jourdain", "partial_vectors"]
