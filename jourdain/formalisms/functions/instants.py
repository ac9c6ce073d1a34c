"""Functions of one instant: energies, outputs and other readings, events, memories, poses and frames."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import InputError
from ...symbolic.expr import Expr, add
from ...symbolic.function import Result, SymbolicFunction
from ...symbolic.vectors import Vector
from ..equations import Equations
from ..tree.kinematics import GROUND
from .registry import assemble, builder, matrix_result, vector_result


@builder
def energy_function(eq: Equations) -> SymbolicFunction:
    """Kinetic energy and potential energy (gravity and springs), J."""
    from ..tree.energy import kinetic_energy, potential_energy

    kinetic = kinetic_energy(eq.kinematics)
    potential = add(potential_energy(eq.kinematics), eq.potential)
    return assemble(eq, "energy", "t q v", [vector_result("E", [kinetic, potential], "kinetic, potential")], optional="z u")


@builder
def outputs_function(eq: Equations) -> SymbolicFunction:
    """The user's outputs."""
    e = eq.resolve([o.expression for o in eq.model.outputs.values()])
    return assemble(eq, "outputs", "t x u", [vector_result("y", e)], optional="a")


def readable(eq: Equations) -> dict[str, Callable[[], Expr]]:
    """Scalar channels that are expressions of (t, x, u, a), by name: time, states, accelerations, inputs, outputs, energies."""
    from ..tree.energy import kinetic_energy, potential_energy

    known: dict[str, Callable[[], Expr]] = {"t": lambda: eq.t}
    model = eq.model

    def resolved(e: Expr) -> Callable[[], Expr]:
        return lambda: eq.resolve([e])[0]

    for c in eq.tree.coordinates:
        known |= {n: resolved(e) for n, e in zip((*c.names, *c.velocity_names), (*c.q, *c.v), strict=True)}
        known |= {e.name: resolved(e) for e in c.a}
    kinetic, potential = lambda: kinetic_energy(eq.kinematics), lambda: add(potential_energy(eq.kinematics), eq.potential)
    known |= {"energy.kinetic": kinetic, "energy.potential": potential, "energy.total": lambda: add(kinetic(), potential())}
    known |= {n: resolved(e) for n, e in zip(model.states, eq.z, strict=True)}
    known |= {n: resolved(item.symbol) for n, item in model.inputs.items()}
    return known | {n: resolved(o.expression) for n, o in model.outputs.items()}


@builder
def readings_function(eq: Equations, channels: tuple[str, ...]) -> SymbolicFunction:
    """Some channels of a solution at one instant; an error where one of them needs more than state, inputs and accelerations."""
    known = readable(eq)
    missing = [n for n in channels if n not in known]
    if missing:
        raise InputError(f"channel '{missing[0]}' is not a function of time, state, inputs and accelerations alone")
    return assemble(eq, "readings", "t x u", [vector_result("y", [known[n]() for n in channels])], optional="a")


@builder
def guard_function(eq: Equations, event: str) -> SymbolicFunction:
    """The guard of an event."""
    return assemble(eq, "guard", "t x u", [vector_result("g", eq.resolve([eq.model.events[event].guard]))], optional="a")


@builder
def guards_function(eq: Equations, events: tuple[str, ...]) -> SymbolicFunction:
    """The guards of some events, one value each: what they share is computed once."""
    return assemble(eq, "guards", "t x u", [vector_result("g", eq.resolve([eq.model.events[e].guard for e in events]))], optional="a")


@builder
def jump_function(eq: Equations, event: str) -> SymbolicFunction:
    """The state after an event."""
    state = (*eq.q, *eq.v, *eq.z)
    jump = eq.model.events[event].jump
    known = {s.id for s in (*state, *(m.symbol for m in eq.model.memories.values()))}
    missing = [s.name for s in jump if s.id not in known]
    if missing:
        raise InputError(
            f"event '{event}' sets '{missing[0]}', which is not part of the state (its joint is driven, locked or closes a loop)"
        )
    return assemble(eq, "jump", "t x u", [vector_result("x", eq.resolve([jump.get(s, s) for s in state]))])


@builder
def renewal_function(eq: Equations) -> SymbolicFunction:
    """The memories after a step that was accepted."""
    return assemble(eq, "renewal", "t x u", [vector_result("m", eq.memory_updates)])


@builder
def event_memories_function(eq: Equations, event: str) -> SymbolicFunction:
    """The memories after an event."""
    jump, memories = eq.model.events[event].jump, eq.model.memories.values()
    return assemble(eq, "event_memories", "t x u", [vector_result("m", eq.resolve([jump.get(m.symbol, m.symbol) for m in memories]))])


@builder
def unknowns_function(eq: Equations) -> SymbolicFunction:
    """The algebraic unknowns: those eliminated as they are, the others one step of Newton's method on; then residuals of these and their sizes."""
    values, found = eq.resolve([w.symbol for w in eq.model.unknowns.values()]), eq.elimination
    return assemble(eq, "unknowns", "t x u", [vector_result("w", [*values, *found.residuals.values(), *found.sizes.values()])])


@builder
def callback_arguments_function(eq: Equations, callback: str) -> SymbolicFunction:
    """What a Python callback is called with."""
    return assemble(eq, "callback_arguments", "t x u", [vector_result("y", eq.resolve(eq.model.callbacks[callback].arguments))])


@builder
def poses_function(eq: Equations) -> SymbolicFunction:
    """Position and rotation matrix of every body."""
    k = eq.kinematics
    bodies = list(eq.model.bodies.values())
    positions = [list(k.position(b)) for b in bodies]
    rotations = [e for b in bodies for e in k.rotation(b).entries]
    n = len(bodies)
    return assemble(eq, "poses", "t q", [matrix_result("p", positions, 3), Result("R", tuple(rotations), (n, 3, 3))], optional="")


@builder
def frame_function(eq: Equations, path: str, relative_to: str | None = None, axes: str = "aligned") -> SymbolicFunction:
    """Pose, velocity, acceleration, Jacobian and J̇v of a frame relative to another (the world by default).

    ``axes`` says how the twist (linear, then angular) is written: "aligned", of the frame's origin in the axes of the
    reference; "local", of the origin in the frame's own axes; "world", of the body's point that passes through the
    reference's origin, in its axes.  Accelerations are the time derivatives of exactly these components for "aligned" and
    "world"; for "local" they are the aligned ones turned into the frame's axes.
    """
    if axes not in ("aligned", "local", "world"):
        raise InputError(f"frame '{path}': axes '{axes}' are unknown; use 'aligned', 'local' or 'world'")
    k = eq.kinematics
    frame = eq.model.frame(path)
    base, place = GROUND, None
    if relative_to is not None:
        place = k.place(eq.model.frame(relative_to))
        base = place.link
        if base >= 0 and base not in eq.tree.ancestors(k.place(frame).link):
            raise InputError(
                f"frame '{path}' is not carried by '{relative_to}'; its Jacobian is offered relative to bodies before it in the tree"
            )

    def turned(w: Vector) -> Vector:
        return w if place is None else place.rotation.T @ w

    p = turned(k.position(frame, base) if place is None else k.position(frame, base) - place.position)
    R = k.rotation(frame, base) if place is None else place.rotation.T @ k.rotation(frame, base)
    v, omega = turned(k.velocity(frame, base)), turned(k.angular_velocity(frame, base))

    def twist(linear: Vector, angular: Vector) -> list[Expr]:
        if axes == "local":
            linear, angular = R.T @ linear, R.T @ angular
        elif axes == "world":
            linear = linear + p.cross(angular)
        return [*linear, *angular]

    def twist_rate(acceleration: bool) -> list[Expr]:
        linear, angular = turned(k.acceleration(frame, base, acceleration)), turned(k.angular_acceleration(frame, base, acceleration))
        return twist(linear + v.cross(omega) if axes == "world" else linear, angular)

    columns = [twist(turned(a), turned(b)) for a, b in zip(*k.jacobian(frame, base), strict=True)]
    results = [
        vector_result("position", list(p)), matrix_result("rotation", [list(r) for r in R.rows], 3),
        vector_result("velocity", twist(v, omega)), vector_result("acceleration", twist_rate(True)),
        matrix_result("jacobian", [[column[i] for column in columns] for i in range(6)], eq.tree.nv),
        vector_result("drift", twist_rate(False)),
    ]  # fmt: skip
    return assemble(eq, "frame", "q v a", results)
