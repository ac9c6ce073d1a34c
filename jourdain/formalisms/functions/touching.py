"""What contacts by penalty need of the equations: the motion of bodies that touch, the power of contact forces, and laws as functions of numbers."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.bodies import Frame
from ...model.contact.laws import SPEED, Rigid
from ...model.contact.loads import TouchLoad
from ...model.contact.penalty_laws import Penalty, Point
from ...model.model import Model
from ...symbolic.expr import ZERO, Expr, add, symbol
from ...symbolic.function import Argument, SymbolicFunction
from ...symbolic.graph import substitute
from ..equations import Equations
from ..loads import power
from ..tree.acceleration_loads import symmetric_mass_matrix
from .registry import assemble, builder, matrix_result, vector_result

#: What a law reads of a point, in order.
READ = ("depth", "rate", "approach", "curvature", "slide_1", "slide_2", "bent_1", "bent_2", "spin", "roll_1", "roll_2")


def touching_frames(model: Model, gives_way: bool = True) -> dict[str, Frame]:
    """Frames of all contacts whose surfaces give way, or of those that do not, by name."""
    found = {name: frame for c in model.contacts.values() if c.gives_way == gives_way for name, frame in c.carriers.items()}
    for rope in model.ropes.values() if not gives_way else ():
        found |= {p.body.name: p.body.origin for p in (rope.a, rope.b) if not p.body.is_ground}
    return found


def found_symbols(model: Model) -> list[Expr]:
    """The inputs that are wrenches of contacts."""
    return [model.inputs[n].symbol for c in model.contacts.values() for n in c.input_names]


@builder
def touching_motion(eq: Equations) -> SymbolicFunction:
    """Rotation matrix, origin, velocity and angular velocity of every body (or node) that may touch another, in the world's axes."""
    k = eq.kinematics
    found: list[Expr] = []
    for b in touching_frames(eq.model).values():
        found += [*k.rotation(b).entries, *k.position(b), *k.velocity(b), *k.angular_velocity(b)]
    return assemble(eq, "touching_motion", "t x u", [vector_result("motion", found)])


@builder
def rigid_poses(eq: Equations, frames: tuple[str, ...]) -> SymbolicFunction:
    """Rotation matrix and origin of bodies (or nodes) with rigid contacts, in the world's axes."""
    k, known = eq.kinematics, touching_frames(eq.model, gives_way=False)
    found = [e for b in (known[name] for name in frames) for e in (*k.rotation(b).entries, *k.position(b))]
    return assemble(eq, "rigid_poses", "t x", [vector_result("poses", found)])


@builder
def rigid_motion(eq: Equations, frames: tuple[str, ...]) -> SymbolicFunction:
    """The mass matrix, and what velocities do to bodies (or nodes) with rigid contacts: ∂(v, ω)/∂(rates) and (v, ω) of drives alone, six rows each."""
    k, known, still = eq.kinematics, touching_frames(eq.model, gives_way=False), dict.fromkeys(eq.v, ZERO)
    rows: list[Expr] = []
    driven: list[Expr] = []
    for b in (known[name] for name in frames):
        for columns in k.jacobian(b):
            rows += [c[i] for i in range(3) for c in columns]
        driven += substitute([*k.velocity(b), *k.angular_velocity(b)], still)
    results = [vector_result("J", rows), vector_result("drift", driven), matrix_result("M", symmetric_mass_matrix(eq), eq.tree.nv)]
    return assemble(eq, "rigid_motion", "t x", results)


@builder
def touching_power(eq: Equations) -> SymbolicFunction:
    """The power (W) of all forces of contacts by penalty."""
    total = ZERO
    for load in eq.model.loads.values():
        if isinstance(load, TouchLoad):
            total = add(total, power(load, eq, load.laws))
    return assemble(eq, "touching_power", "t x u", [vector_result("P", [total])])


def law_function(law: Penalty, parameters: Sequence[Expr]) -> SymbolicFunction:
    """A law of contact: from what it reads to normal force, friction, torques about normal and tangents, energy, and bristles afterwards."""
    read = tuple(symbol(name, "input") for name in READ)
    depth, rate, approach, curvature, s1, s2, b1, b2, spin, r1, r2 = read
    f = law.forces(Point(depth, rate, approach, curvature), (s1, s2), (b1, b2), spin, (r1, r2))
    given = [f.normal, *f.friction, f.spin, *f.roll, f.energy, *f.stretch]
    arguments = [Argument("y", read, "what the law reads")]
    if parameters:
        arguments.append(Argument("p", tuple(parameters), "parameters"))
    return SymbolicFunction("contact_law", tuple(arguments), (vector_result("f", given),), title=law.kind)


def restitution_function(law: Rigid, parameters: Sequence[Expr]) -> SymbolicFunction:
    """The coefficient of restitution of a speed."""
    arguments = [Argument("speed", (SPEED,), "m/s")]
    if parameters:
        arguments.append(Argument("p", tuple(parameters), "parameters"))
    return SymbolicFunction("restitution", tuple(arguments), (vector_result("e", [law.restitution]),), title="restitution")


__all__ = ["READ", "found_symbols", "law_function", "restitution_function", "touching_frames", "touching_motion", "touching_power"]
