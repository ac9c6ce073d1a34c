"""Named functions of the reduced equations: v̇_u from the mass matrix reduced to the independent velocities.

With v = Z v_u + v₀ and v̇ = Z v̇_u + a₀ (J Z = 0) the equations are ZᵀM Z v̇_u = Zᵀ(f − M a₀) (ROBOTRAN, eqs. 18–24).
*reduced_…* functions take closed positions and velocities; *closed_…* functions take the independent ones alone and hold
the closed-form solution of the loops.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InputError
from ..symbolic.derivatives import sparse_jacobian
from ..symbolic.expr import ZERO, Expr, neg, sub
from ..symbolic.function import Argument, Result, SymbolicFunction
from ..symbolic.graph import substitute
from .closed_form import ClosedForm
from .composite_body import mass_matrix
from .elimination import Block, NullSpace
from .equations import Equations
from .functions import assemble, builder, matrix_result, vector_result
from .mass_factor import SparseFactor
from .newton_euler import inverse_dynamics


def coordinate_indices(eq: Equations, names: Sequence[str]) -> list[int]:
    """Velocity columns of coordinates named by position or velocity."""
    rates = [n for c in eq.tree.coordinates for n in c.velocity_names]
    columns = {name: j for j, name in enumerate(rates)}
    for c in eq.tree.coordinates:
        if not c.is_quaternion:
            columns[c.names[0]] = columns[c.velocity_names[0]]
    unknown = [n for n in names if n not in columns]
    if unknown:
        raise InputError(f"'{unknown[0]}' is not a coordinate of '{eq.model.name}'; there are {', '.join(columns)}")
    return sorted({columns[n] for n in names})


def closed_form(eq: Equations, independent: Sequence[str]) -> ClosedForm:
    """The closed form for independent coordinates given by name, solved once."""
    known: dict[tuple[int, ...], ClosedForm] = eq.__dict__.setdefault("_closed_forms", {})
    key = tuple(coordinate_indices(eq, independent))
    if key not in known:
        known[key] = ClosedForm(eq, key)
    return known[key]


def applied_forces(eq: Equations) -> list[Expr]:
    """f = Q − c: loads less Coriolis, centrifugal and gravity forces."""
    phi = inverse_dynamics(eq.tree, eq.wrenches, acceleration=False)
    return [sub(g, c) for g, c in zip(eq.joint_forces, phi, strict=True)]


def _null_space(eq: Equations, order: Sequence[Block]) -> NullSpace:
    dependent = {j for _, columns in order for j in columns}
    independent = [j for j in range(eq.tree.nv) if j not in dependent]
    return NullSpace(eq.constraint_jacobian, order, independent, eq.tree.nv)


def _accelerations(space: NullSpace, M: Sequence[Sequence[Expr]], f: Sequence[Expr], a0: Sequence[Expr]) -> list[Expr]:
    """v̇_u of the reduced equations."""
    rest = list(f)
    for i, row in enumerate(M):
        for entry, a in zip(row, a0, strict=True):
            if entry is not ZERO and a is not ZERO:
                rest[i] = sub(rest[i], entry * a)
    return SparseFactor(space.reduce(M)).solve(space.project(rest))


@builder
def reduced_accelerations_function(eq: Equations, order: tuple[Block, ...] = ()) -> SymbolicFunction:
    """v̇ of all coordinates from closed positions and velocities; ``order`` says which rows give which dependent columns."""
    _check_order(eq, order, "reduced_accelerations")
    space = _null_space(eq, order)
    a0 = space.particular({i: neg(e) for i, e in enumerate(eq.constraint_accelerations)})
    au = _accelerations(space, mass_matrix(eq.tree), applied_forces(eq), a0)
    return assemble(eq, "reduced_accelerations", "t q v z u", [vector_result("a", space.extend(au, a0), "accelerations")], optional="")


@builder
def reduced_inverse_dynamics_function(eq: Equations, order: tuple[Block, ...] = ()) -> SymbolicFunction:
    """Zᵀ(M v̇ + c − Q): forces on the independent coordinates that give the independent accelerations in ``a`` (others are ignored)."""
    _check_order(eq, order, "reduced_inverse_dynamics")
    space = _null_space(eq, order)
    a0 = space.particular({i: neg(e) for i, e in enumerate(eq.constraint_accelerations)})
    a = space.extend([eq.a[j] for j in space.independent], a0)
    phi = inverse_dynamics(eq.tree, eq.wrenches)
    net = [sub(x, q) for x, q in zip(phi, eq.joint_forces, strict=True)]
    dependent = {eq.a[j]: a[j] for j in range(eq.tree.nv) if j not in space.independent}
    tau = substitute(space.project(net), dependent)
    return assemble(eq, "reduced_inverse_dynamics", "t q v a z u", [vector_result("tau", tau, "reduced generalised forces")], optional="")


def _check_order(eq: Equations, order: Sequence[Block], name: str) -> None:
    if not order and eq.rows:
        raise InputError(f"function '{name}' needs order=: use jourdain.analysis.reduced.reduced_function(system, '{name}', state)")


@builder
def reduced_terms_function(eq: Equations) -> SymbolicFunction:
    """M, f = Q − c, g (of J v̇ = g) and q̇, ż: what remains to be known once J has been factored."""
    results = [
        matrix_result("M", mass_matrix(eq.tree), eq.tree.nv), vector_result("f", applied_forces(eq)),
        vector_result("g", [neg(e) for e in eq.constraint_accelerations]), vector_result("rates", [*eq.position_rates, *eq.state_rates]),
    ]  # fmt: skip
    return assemble(eq, "reduced_terms", "t x u", results)


@builder
def constraint_drift_function(eq: Equations) -> SymbolicFunction:
    """g of J v̇ = g."""
    return assemble(eq, "constraint_drift", "t x u", [vector_result("g", [neg(e) for e in eq.constraint_accelerations])])


# --- loops closed in closed form ---------------------------------------------------------------------------------


class ClosedSystem:
    """All quantities of a system written in its independent coordinates."""

    def __init__(self, eq: Equations, independent: Sequence[str]) -> None:
        self.eq = eq
        self.form = form = closed_form(eq, independent)
        self.known = form.explicit() if form.complete else {}
        entries = eq.constraint_jacobian
        J = dict(zip(entries, form.apply(list(entries.values()), self.known), strict=True))
        order = [(s.rows, s.coordinates) for s in form.steps]
        self.space = NullSpace(J, order, form.independent, eq.tree.nv)
        free = [eq.v[j] for j in form.independent]
        still = dict.fromkeys(eq.v, ZERO)
        w0 = form.apply(substitute(eq.constraint_velocities, still), self.known)
        self.v = self.space.extend(free, self.space.particular({i: neg(e) for i, e in enumerate(w0)}))
        self.dependent_rates = {eq.v[j]: self.v[j] for j in form.dependent}

    @property
    def q(self) -> list[Expr]:
        """All positions."""
        return self.form.apply(list(self.eq.q), self.known)

    def apply(self, expressions: Sequence[Expr]) -> list[Expr]:
        """Expressions of q and v in the independent ones."""
        return substitute(self.form.apply(expressions, self.known), self.dependent_rates)

    @property
    def state(self) -> tuple[Expr, ...]:
        """The independent state x = (q_u, v_u, z)."""
        eq, form = self.eq, self.form
        held = {c.q[0].id for c in eq.tree.coordinates if not c.is_quaternion and c.v[0].id in {eq.v[j].id for j in form.dependent}}
        return (*(q for q in eq.q if q.id not in held), *(eq.v[j] for j in form.independent), *eq.z)

    def derivative(self) -> list[Expr]:
        """ẋ of the independent state."""
        eq = self.eq
        state = {s.id for s in self.state}
        M = [self.apply(row) for row in mass_matrix(eq.tree)]
        g = self.apply([neg(e) for e in eq.constraint_accelerations])
        a0 = self.space.particular(dict(enumerate(g)))
        a = _accelerations(self.space, M, self.apply(applied_forces(eq)), a0)
        rates = [r for q, r in zip(eq.q, eq.position_rates, strict=True) if q.id in state]
        return [*rates, *a, *self.apply(eq.state_rates)]

    def function(self, name: str, results: Sequence[Result]) -> SymbolicFunction:
        """A function of t, the independent state, and u: inputs, then branches and references of the closed form."""
        eq = self.eq
        inputs = [
            Argument("t", (eq.t,), "time, s"), Argument("x", self.state, "independent positions and velocities, user states"),
            Argument("u", (*eq.u, *self.form.choices), "inputs; branches and reference angles of the closed form"),
        ]  # fmt: skip
        if eq.p:
            inputs.append(Argument("p", eq.p, "parameters"))
        return SymbolicFunction(name, tuple(inputs), tuple(results), title=eq.model.name)


def closed_system(eq: Equations, independent: Sequence[str]) -> ClosedSystem:
    """The system in independent coordinates, derived once."""
    known: dict[tuple[int, ...], ClosedSystem] = eq.__dict__.setdefault("_closed_systems", {})
    key = tuple(coordinate_indices(eq, independent))
    if key not in known:
        known[key] = ClosedSystem(eq, independent)
    return known[key]


@builder
def closed_state_derivative_function(eq: Equations, independent: tuple[str, ...]) -> SymbolicFunction:
    """ẋ of x = (q_u, v_u, z) with all loops closed in closed form: no iteration and no elimination at run time."""
    system = closed_system(eq, independent)
    return system.function("closed_state_derivative", [vector_result("xdot", system.derivative())])


@builder
def closed_state_jacobian_function(eq: Equations, independent: tuple[str, ...]) -> SymbolicFunction:
    """∂ẋ/∂x of the closed form."""
    system = closed_system(eq, independent)
    n = len(system.state)
    table = [[ZERO] * n for _ in range(n)]
    for (i, j), e in sparse_jacobian(system.derivative(), system.state).items():
        table[i][j] = e
    return system.function("closed_state_jacobian", [matrix_result("J", table, n)])


@builder
def closed_state_time_derivative_function(eq: Equations, independent: tuple[str, ...]) -> SymbolicFunction:
    """∂ẋ/∂t of the closed form."""
    system = closed_system(eq, independent)
    rates = [ZERO] * len(system.state)
    for (i, _), e in sparse_jacobian(system.derivative(), (eq.t,)).items():
        rates[i] = e
    return system.function("closed_state_time_derivative", [vector_result("xdot_t", rates)])


@builder
def closed_full_state_function(eq: Equations, independent: tuple[str, ...]) -> SymbolicFunction:
    """The whole state (q, v, z) from the independent one."""
    system = closed_system(eq, independent)
    return system.function("closed_full_state", [vector_result("X", [*system.q, *system.v, *eq.z], "positions, velocities, user states")])


@builder
def closed_angles_function(eq: Equations, independent: tuple[str, ...]) -> SymbolicFunction:
    """The solved angles (to follow them over whole turns) and the margins of all roots."""
    system = closed_system(eq, independent)
    angles = system.form.apply([angle for angle, _ in system.form.solved_angles], system.known)
    return system.function("closed_angles", [vector_result("phi", angles), vector_result("margin", system.form.margins())])
