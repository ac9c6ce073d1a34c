"""The named functions a compiled system offers, each derived from the equations when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from ...errors import InputError, ModelError
from ...symbolic.expr import KINDS, ZERO, Expr, add, neg, sub, symbol
from ...symbolic.function import Argument, Result, SymbolicFunction
from ...symbolic.vectors import Vector
from ..equations import Equations
from ..loops.elimination import solve_dense
from ..tree.acceleration_loads import added_mass, effective_mass_matrix, explicit_forces, symmetric_mass_matrix, with_accelerations
from ..tree.articulated_blocks import accelerations as articulated_accelerations
from ..tree.composite_body import mass_matrix
from ..tree.kinematics import GROUND
from ..tree.mass_factor import accelerations_by_factor
from ..tree.newton_euler import inverse_dynamics

#: Above this average depth of the tree articulated bodies need fewer operations than the factored mass matrix.
DEEP = 7.0

#: Above so many operations loops over links take the place of straight-line code (compile time and instruction cache).
STRAIGHT_LINE_LIMIT = 50_000
#: Additions and multiplications that recursive Newton–Euler spends on a spatial link, for estimates.
OPERATIONS_OF_A_LINK = 110

MEANING = {
    "t": "time, s",
    "q": "positions",
    "v": "velocities",
    "a": "accelerations",
    "tau": "generalised forces",
    "z": "user states",
    "u": "inputs",
    "x": "state: positions, velocities, user states",
    "p": "parameters",
}

Builder = Callable[..., SymbolicFunction]
BUILDERS: dict[str, Builder] = {}


def builder(function: Builder) -> Builder:
    """Registers a builder under its name without the ending."""
    BUILDERS[function.__name__.removesuffix("_function")] = function
    return function


#: Modules with builders that are not loaded with this one.
HOMES = (
    "functions.tree", "functions.linearisation", "functions.state_jacobian", "functions.residual", "functions.reduced",
    "functions.drive_forces", "functions.flexible", "functions.semi_recursive", "functions.touching", "tree.power", "coordinates.descriptor",
)  # fmt: skip


def derive(eq: Equations, name: str, **options: Any) -> SymbolicFunction:
    """The symbolic function of a name."""
    if name not in BUILDERS:
        for module in HOMES:
            import_module(f"jourdain.formalisms.{module}")
    if name not in BUILDERS:
        raise InputError(f"there is no function '{name}'; there are {', '.join(sorted(BUILDERS))}")
    return BUILDERS[name](eq, **options)


def assemble(eq: Equations, name: str, inputs: str, results: Sequence[Result], optional: str = "t z u") -> SymbolicFunction:
    """A function of the named inputs; optional ones join only when the results depend on them."""
    deps = 0
    for r in results:
        for e in r.expressions:
            deps |= e.deps
    needed = {"t": KINDS["time"], "z": KINDS["state"], "u": KINDS["input"], "a": KINDS["acceleration"]}
    given = inputs.split() + (["z"] if "x" in inputs.split() else [])  # the state x holds z
    names = inputs.split() + [o for o in optional.split() if deps & needed[o] and o not in given]
    arguments = [Argument(n, _symbols(eq, n), MEANING[n]) for n in names]
    if eq.p:
        arguments.append(Argument("p", eq.p, MEANING["p"]))
    return SymbolicFunction(name, tuple(arguments), tuple(results), title=eq.model.name)


def _symbols(eq: Equations, name: str) -> tuple[Expr, ...]:
    if name == "t":
        return (eq.t,)
    if name == "x":
        return (*eq.q, *eq.v, *eq.z)
    if name == "tau":
        return joint_force_symbols(eq)
    found: tuple[Expr, ...] = getattr(eq, name)
    return found


def joint_force_symbols(eq: Equations) -> tuple[Expr, ...]:
    """Symbols of generalised forces given from outside, one for each velocity."""
    if not hasattr(eq, "_tau"):
        names = [n for c in eq.tree.coordinates for n in c.velocity_names]
        eq._tau = tuple(symbol(f"tau_{n}", "input") for n in names)  # type: ignore[attr-defined]
    return eq._tau  # type: ignore[attr-defined,no-any-return]


def vector_result(name: str, values: Sequence[Expr], description: str = "") -> Result:
    """A result of one dimension."""
    return Result(name, tuple(values), (len(values),), description)


def matrix_result(name: str, rows: Sequence[Sequence[Expr]], columns: int, description: str = "") -> Result:
    """A result of two dimensions."""
    return Result(name, tuple(e for row in rows for e in row), (len(rows), columns), description)


# --- tree dynamics -----------------------------------------------------------------------------------------------


@builder
def inverse_dynamics_function(eq: Equations) -> SymbolicFunction:
    """φ(q, v, a) = M a + c by recursive Newton–Euler, loads not included."""
    return assemble(eq, "inverse_dynamics", "q v a", [vector_result("tau", inverse_dynamics(eq.tree), "generalised forces")])


@builder
def mass_matrix_function(eq: Equations) -> SymbolicFunction:
    """M(q) by composite bodies."""
    return assemble(eq, "mass_matrix", "q", [matrix_result("M", mass_matrix(eq.tree), eq.tree.nv, "mass matrix")])


@builder
def bias_function(eq: Equations) -> SymbolicFunction:
    """c(q, v): Coriolis, centrifugal and gravity forces."""
    return assemble(eq, "bias", "q v", [vector_result("c", inverse_dynamics(eq.tree, acceleration=False), "bias forces")])


@builder
def mass_and_bias_function(eq: Equations) -> SymbolicFunction:
    """M(q) and c(q, v) together, sharing what they have in common."""
    c = inverse_dynamics(eq.tree, acceleration=False)
    return assemble(eq, "mass_and_bias", "q v", [matrix_result("M", mass_matrix(eq.tree), eq.tree.nv), vector_result("c", c)])


@builder
def forward_dynamics_function(eq: Equations) -> SymbolicFunction:
    """v̇ = M⁻¹(τ − c) for generalised forces τ, loads not included."""
    a = tree_accelerations(eq, list(joint_force_symbols(eq)), loads=False)
    return assemble(eq, "forward_dynamics", "q v tau", [vector_result("a", a, "accelerations")], optional="t z")


def tree_accelerations(eq: Equations, forces: Sequence[Expr], loads: bool) -> list[Expr]:
    """Accelerations by the cheaper of two ways: articulated bodies for deep trees, factored mass matrix for flat ones."""
    check_inertia(eq)
    if loads and added_mass(eq):
        return [row[0] for row in solve_dense(effective_mass_matrix(eq), [[e] for e in explicit_forces(eq)])]
    wrenches = eq.wrenches if loads else None
    solve = articulated_accelerations if is_deep(eq) else accelerations_by_factor
    return solve(eq.tree, forces, wrenches)


def is_deep(eq: Equations) -> bool:
    """Whether articulated bodies need fewer operations than the factored mass matrix; rods with mass they do not know at all."""
    if eq.tree.couplings:
        return False
    return flexible_in_series(eq) > 1 if eq.tree.flexible else average_depth(eq) >= DEEP


def flexible_in_series(eq: Equations) -> int:
    """The largest number of flexible bodies on the way from a link to the ground."""
    bent = {link.index for link in eq.tree.flexible.values()}
    return max((len(bent.intersection(eq.tree.ancestors(i))) for i in bent), default=0)


def choose_form(eq: Equations, wanted: str) -> str:
    """ "straight" (line) or "looped" code for the tree's dynamics; "auto" decides by the estimated size.

    Loops over links serve trees of rigid bodies without constraints and user states; others are always written out.
    """
    if wanted not in ("auto", "straight", "looped"):
        raise InputError(f"form '{wanted}' is unknown; use 'auto', 'straight' or 'looped'")
    possible = not eq.rows and not eq.z and not eq.tree.flexible
    if wanted == "looped" and not possible:
        raise InputError(
            f"model '{eq.model.name}': the looped form serves trees of rigid bodies without constraints and user states; use form='straight'"
        )
    large = len(eq.tree.links) * OPERATIONS_OF_A_LINK > STRAIGHT_LINE_LIMIT
    return wanted if wanted != "auto" else ("looped" if large and possible else "straight")


def check_inertia(eq: Equations) -> None:
    """Refuses a joint that moves no inertia at all: its acceleration would be 0/0."""
    massive = [False] * len(eq.tree.links)
    driven = {id(c) for j in eq.model.joints.values() if j.drive.reflected_inertia is not ZERO for c in j.coordinates}
    for link in reversed(eq.tree.links):
        own = link.mass is not ZERO or any(e is not ZERO for e in link.inertia.entries)
        massive[link.index] |= own
        if link.parent >= 0:
            massive[link.parent] |= massive[link.index]
    for joint in eq.model.joints.values():
        for c in joint.coordinates:
            index = eq.tree._velocity_index.get(id(c))
            moved = [k for k in eq.tree.links if any(f.index == index for f in k.freedoms)]
            if index is not None and moved and id(c) not in driven and not any(massive[k.index] for k in moved):
                body = joint.child.body.name
                lacks = "mass" if joint.child.body.mass is ZERO else "inertia"
                hold = "" if lacks == "mass" else " (for a point mass: m.sequence(name, a, b, ['Tx', 'Ty', 'Tz']) does not turn it)"
                raise ModelError(
                    f"the mass matrix is singular: joint '{joint.name}' moves body '{body}' without {lacks} (its '{c.names[0]}' meets no inertia); "
                    f"give '{body}' {'mass or inertia' if lacks == 'mass' else 'inertia='}, or lock the joint{hold}"
                )


def average_depth(eq: Equations) -> float:
    """Mean number of freedoms on the way from a link to the ground."""
    depth: list[int] = []
    for link in eq.tree.links:
        depth.append((depth[link.parent] if link.parent >= 0 else 0) + len(link.freedoms))
    return sum(depth) / max(1, len(depth))


@builder
def loads_function(eq: Equations) -> SymbolicFunction:
    """Q(t, q, v, z, u): all loads of the model projected on the coordinates."""
    return assemble(eq, "loads", "q v", [vector_result("Q", eq.generalised_forces, "generalised forces of all loads")])


@builder
def applied_forces_function(eq: Equations) -> SymbolicFunction:
    """Q as a function of time and state, as native loops take it."""
    return assemble(eq, "applied_forces", "t x", [vector_result("Q", eq.generalised_forces)], optional="u")


@builder
def net_force_function(eq: Equations) -> SymbolicFunction:
    """M a + c − Q: what drives, reactions and constraints must still supply."""
    phi = inverse_dynamics(eq.tree, eq.wrenches)
    return assemble(eq, "net_force", "q v a", [vector_result("tau", [sub(f, g) for f, g in zip(phi, eq.joint_forces, strict=True)])])


# --- systems -----------------------------------------------------------------------------------------------------


@builder
def state_derivative_function(eq: Equations) -> SymbolicFunction:
    """ẋ = f(t, x, u) of a system without constraints; x = (q, v, z)."""
    return assemble(eq, "state_derivative", "t x", [vector_result("xdot", state_rates(eq))], optional="u")


def state_rates(eq: Equations) -> list[Expr]:
    """q̇, v̇ and ż of a system without constraints."""
    a = tree_accelerations(eq, eq.joint_forces, loads=True)
    return [*eq.position_rates, *a, *with_accelerations(eq, eq.state_rates, a)]


@builder
def descriptor_function(eq: Equations) -> SymbolicFunction:
    """Terms of the constrained equations M v̇ = f + Jᵀλ, J v̇ = g, with q̇ and ż: what a constrained solver needs."""
    M = symmetric_mass_matrix(eq) if eq.rows else effective_mass_matrix(eq)
    if eq.rows or not any(e.deps & KINDS["acceleration"] for e in eq.state_rates):
        rates = eq.explicit_state_rates
    else:
        rates = with_accelerations(eq, eq.state_rates, tree_accelerations(eq, eq.joint_forces, loads=True))
    results = [
        matrix_result("M", M, eq.tree.nv), vector_result("f", explicit_forces(eq)), jacobian_result(eq),
        vector_result("g", [neg(e) for e in eq.constraint_accelerations]), vector_result("rates", [*eq.position_rates, *rates]),
    ]  # fmt: skip
    return assemble(eq, "descriptor", "t x u", results)


def jacobian_result(eq: Equations, rows: int | None = None) -> Result:
    """The dense constraint Jacobian (first rows only if asked)."""
    m = len(eq.rows) if rows is None else rows
    table = [[ZERO] * eq.tree.nv for _ in range(m)]
    for (i, j), e in eq.constraint_jacobian.items():
        if i < m:
            table[i][j] = e
    return matrix_result("J", table, eq.tree.nv, "constraint Jacobian")


@builder
def constraints_function(eq: Equations) -> SymbolicFunction:
    """h(q, t) of the holonomic constraints with their Jacobian."""
    n = eq.holonomic
    h = [r.expression for r in eq.rows[:n]]
    return assemble(eq, "constraints", "t q", [vector_result("h", h), jacobian_result(eq, n)], optional="")


@builder
def constraint_velocities_function(eq: Equations) -> SymbolicFunction:
    """Jacobian of all constraints and the velocity residual J v + ∂h/∂t."""
    return assemble(
        eq, "constraint_velocities", "t q v", [vector_result("w", eq.constraint_velocities), jacobian_result(eq)], optional="z u"
    )


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
