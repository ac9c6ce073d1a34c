"""Named functions of the reduced equations: v̇_u from the mass matrix reduced to the independent velocities.

With v = Z v_u + v₀ and v̇ = Z v̇_u + a₀ (J Z = 0) the equations are ZᵀM Z v̇_u = Zᵀ(f − M a₀) (ROBOTRAN, eqs. 18–24).
*reduced_…* functions take closed positions and velocities; *closed_…* functions take the independent ones alone and hold
the closed-form solution of the loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...errors import InputError
from ...symbolic.derivatives import jvp, sparse_jacobian
from ...symbolic.expr import ZERO, Expr, neg, sub
from ...symbolic.function import Argument, Result, SymbolicFunction
from ...symbolic.graph import substitute
from ..equations import Equations
from ..loops.closed_form import ClosedForm
from ..loops.elimination import Block, NullSpace
from ..tree.acceleration_loads import explicit_forces, symmetric_mass_matrix
from ..tree.mass_factor import SparseFactor
from ..tree.newton_euler import inverse_dynamics
from .registry import Signals, along_time, assemble, builder, matrix_result, vector_result


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


def closed_form(eq: Equations, independent: Sequence[str], rows: tuple[int, ...] | None = None) -> ClosedForm:
    """The closed form for independent coordinates given by name (from some rows alone), solved once."""
    known: dict[Any, ClosedForm] = eq.__dict__.setdefault("_closed_forms", {})
    columns = tuple(coordinate_indices(eq, independent))
    if (columns, rows) not in known:
        known[columns, rows] = ClosedForm(eq, columns, rows)
    return known[columns, rows]


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
    au = _accelerations(space, symmetric_mass_matrix(eq), explicit_forces(eq), a0)
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
        raise InputError(f"function '{name}' needs order=: use jourdain.systems.tree.closure.reduced_function(system, '{name}', state)")


@builder
def reduced_terms_function(eq: Equations) -> SymbolicFunction:
    """M, f = Q − c, g (of J v̇ = g) and q̇, ż: what remains to be known once J has been factored."""
    results = [
        matrix_result("M", symmetric_mass_matrix(eq), eq.tree.nv), vector_result("f", explicit_forces(eq)),
        vector_result("g", [neg(e) for e in eq.constraint_accelerations]), vector_result("rates", [*eq.position_rates, *eq.explicit_state_rates]),
    ]  # fmt: skip
    return assemble(eq, "reduced_terms", "t x u", results)


@builder
def constraint_drift_function(eq: Equations) -> SymbolicFunction:
    """g of J v̇ = g."""
    return assemble(eq, "constraint_drift", "t x u", [vector_result("g", [neg(e) for e in eq.constraint_accelerations])])


# --- loops closed in closed form ---------------------------------------------------------------------------------


class ClosedSystem:
    """All quantities of a system written in its independent coordinates."""

    def __init__(self, eq: Equations, independent: Sequence[str], rows: tuple[int, ...] | None = None) -> None:
        self.eq = eq
        self.form = form = closed_form(eq, independent, rows)
        self.known = form.explicit if form.complete else {}
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
        M = [self.apply(row) for row in symmetric_mass_matrix(self.eq)]
        a = _accelerations(self.space, M, self.apply(explicit_forces(self.eq)), self.drift())
        return [*self.position_rates, *a, *self.apply(self.eq.explicit_state_rates)]

    def drift(self) -> list[Expr]:
        """a₀ of v̇ = Z v̇_u + a₀."""
        g = self.apply([neg(e) for e in self.eq.constraint_accelerations])
        return self.space.particular(dict(enumerate(g)))

    @property
    def position_rates(self) -> list[Expr]:
        """q̇_u."""
        state = {s.id for s in self.state}
        return [r for q, r in zip(self.eq.q, self.eq.position_rates, strict=True) if q.id in state]

    def function(self, name: str, results: Sequence[Result], split: bool = False) -> SymbolicFunction:
        """A function of t, the independent state (or q_u and v_u), and u: inputs, then branches and references of the closed form."""
        eq, n = self.eq, len(self.form.independent)
        state = self.state[: len(self.state) - len(eq.z)]
        parts = [Argument("q", state[:-n]), Argument("v", state[-n:])] if split else [
            Argument("x", self.state, "independent positions and velocities, user states")
        ]  # fmt: skip
        inputs = [
            Argument("t", (eq.t,), "time, s"), *parts,
            Argument("u", (*eq.u, *self.form.choices), "inputs; branches and reference angles of the closed form"),
        ]  # fmt: skip
        if eq.p:
            inputs.append(Argument("p", eq.p, "parameters"))
        return SymbolicFunction(name, tuple(inputs), tuple(results), title=eq.model.name)


def closed_system(eq: Equations, independent: Sequence[str], rows: tuple[int, ...] | None = None) -> ClosedSystem:
    """The system in independent coordinates, derived once."""
    known: dict[Any, ClosedSystem] = eq.__dict__.setdefault("_closed_systems", {})
    key = tuple(coordinate_indices(eq, independent)), rows
    if key not in known:
        known[key] = ClosedSystem(eq, independent, rows)
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
def closed_state_time_derivative_function(eq: Equations, independent: tuple[str, ...], signals: Signals = ()) -> SymbolicFunction:
    """∂ẋ/∂t of the closed form."""
    system = closed_system(eq, independent)
    rates = jvp(system.derivative(), along_time(eq, signals))
    return system.function("closed_state_time_derivative", [vector_result("xdot_t", rates)])


@builder
def closed_full_state_function(eq: Equations, independent: tuple[str, ...], rows: tuple[int, ...] | None = None) -> SymbolicFunction:
    """The whole state (q, v, z) from the independent one, the solved angles (to follow them over whole turns) and the margins of all roots."""
    system = closed_system(eq, independent, rows)
    angles = system.form.apply([angle for angle, _ in system.form.solved_angles], system.known)
    results = [
        vector_result("X", [*system.q, *system.v, *eq.z], "positions, velocities, user states"), vector_result("phi", angles),
        vector_result("margin", system.form.margins),
    ]  # fmt: skip
    return system.function("closed_full_state", results)


# --- some loops in closed form, the others by Newton ---------------------------------------------------------------


class MixedSystem(ClosedSystem):
    """The coordinates that a closed form of some rows leaves, with the constraints between them that remain."""

    @property
    def remaining(self) -> list[int]:
        """Rows that are not solved in closed form."""
        return self.form.redundant

    def jacobian(self) -> list[list[Expr]]:
        """J Z of the remaining rows."""
        J, Z = self.space.J, self.space.Z
        table = []
        for i in self.remaining:
            row = [ZERO] * len(self.form.independent)
            for j in range(self.eq.tree.nv):
                if (i, j) in J:
                    for k, e in Z[j].items():
                        row[k] = row[k] + J[i, j] * e
            table.append(row)
        return table

    def accelerations(self) -> list[Expr]:
        """g of the remaining rows: J Z v̇ = g."""
        J, a0 = self.space.J, self.drift()
        found = []
        for i, e in zip(self.remaining, self.apply([self.eq.constraint_accelerations[i] for i in self.remaining]), strict=True):
            for j, a in enumerate(a0):
                if (i, j) in J and a is not ZERO:
                    e = e + J[i, j] * a
            found.append(neg(e))
        return found

    def jacobian_result(self) -> Result:
        """J Z as a result."""
        return matrix_result("J", self.jacobian(), len(self.form.independent))


def mixed_system(eq: Equations, independent: Sequence[str], rows: tuple[int, ...]) -> MixedSystem:
    """The system with some rows solved in closed form, derived once."""
    known: dict[Any, MixedSystem] = eq.__dict__.setdefault("_mixed_systems", {})
    key = tuple(coordinate_indices(eq, independent)), rows
    if key not in known:
        known[key] = MixedSystem(eq, independent, rows)
    return known[key]


@builder
def mixed_constraints_function(eq: Equations, independent: tuple[str, ...], rows: tuple[int, ...]) -> SymbolicFunction:
    """h and J of the rows that remain, in the coordinates that remain."""
    system = mixed_system(eq, independent, rows)
    h = system.form.apply([eq.rows[i].expression for i in system.remaining], system.known)
    f = system.function("mixed_constraints", [vector_result("h", h), system.jacobian_result()], split=True)
    return replace(f, inputs=tuple(a for a in f.inputs if a.name != "v"))


@builder
def mixed_constraint_velocities_function(eq: Equations, independent: tuple[str, ...], rows: tuple[int, ...]) -> SymbolicFunction:
    """w and J of the rows that remain."""
    system = mixed_system(eq, independent, rows)
    w = system.apply([eq.constraint_velocities[i] for i in system.remaining])
    return system.function("mixed_constraint_velocities", [vector_result("w", w), system.jacobian_result()], split=True)


@builder
def mixed_terms_function(eq: Equations, independent: tuple[str, ...], rows: tuple[int, ...]) -> SymbolicFunction:
    """ZᵀM Z, Zᵀ(f − M a₀), g of the remaining rows, and q̇, ż."""
    system = mixed_system(eq, independent, rows)
    M = [system.apply(row) for row in symmetric_mass_matrix(eq)]
    rest, a0 = system.apply(explicit_forces(eq)), system.drift()
    for i, row in enumerate(M):
        for entry, a in zip(row, a0, strict=True):
            if entry is not ZERO and a is not ZERO:
                rest[i] = sub(rest[i], entry * a)
    results = [
        matrix_result("M", system.space.reduce(M), len(system.form.independent)), vector_result("f", system.space.project(rest)),
        vector_result("g", system.accelerations()), vector_result("rates", [*system.position_rates, *system.apply(eq.explicit_state_rates)]),
    ]  # fmt: skip
    return system.function("mixed_terms", results)


@builder
def mixed_drift_function(eq: Equations, independent: tuple[str, ...], rows: tuple[int, ...]) -> SymbolicFunction:
    """g of the remaining rows."""
    system = mixed_system(eq, independent, rows)
    return system.function("mixed_drift", [vector_result("g", system.accelerations())])
