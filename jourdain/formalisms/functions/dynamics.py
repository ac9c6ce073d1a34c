"""Functions of the equations of motion: inertia, loads, accelerations and constraints."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import ModelError
from ...symbolic.expr import KINDS, ZERO, Expr, neg, sub
from ...symbolic.function import SymbolicFunction
from ..equations import Equations
from ..loops.elimination import solve_dense
from ..tree.acceleration_loads import (
    added_mass,
    effective_mass_matrix,
    explicit_forces,
    symmetric_mass_entries,
    symmetric_mass_matrix,
    with_accelerations,
)
from ..tree.articulated_blocks import accelerations as articulated_accelerations
from ..tree.composite_body import mass_entries, mass_matrix
from ..tree.mass_factor import accelerations_by_factor
from ..tree.newton_euler import inverse_dynamics
from .registry import assemble, builder, jacobian_result, joint_force_symbols, matrix_result, packed_result, vector_result

#: Above this average depth of the tree articulated bodies need fewer operations than the factored mass matrix.
DEEP = 7.0


@builder
def inverse_dynamics_function(eq: Equations) -> SymbolicFunction:
    """φ(q, v, a) = M a + c by recursive Newton–Euler, loads not included."""
    return assemble(eq, "inverse_dynamics", "q v a", [vector_result("tau", inverse_dynamics(eq.tree), "generalised forces")])


@builder
def mass_matrix_function(eq: Equations, packed: bool = False) -> SymbolicFunction:
    """M(q) by composite bodies; if ``packed`` its lower triangle by those entries that may differ from zero."""
    if packed:
        entries = {(i, j): e for (i, j), e in mass_entries(eq.tree).items() if j <= i}
        return assemble(eq, "mass_matrix", "q", [packed_result("M", entries, eq.tree.nv, "entries of the mass matrix's lower triangle")])
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


def check_inertia(eq: Equations) -> None:
    """Refuses a joint that moves no inertia at all: its acceleration would be 0/0."""
    massive = [False] * len(eq.tree.links)
    driven = {id(c) for j in eq.model.joints.values() if j.rotors for c in j.coordinates}
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


@builder
def state_derivative_function(eq: Equations) -> SymbolicFunction:
    """ẋ = f(t, x, u) of a system without constraints; x = (q, v, z)."""
    return assemble(eq, "state_derivative", "t x", [vector_result("xdot", state_rates(eq))], optional="u")


def state_rates(eq: Equations) -> list[Expr]:
    """q̇, v̇ and ż of a system without constraints."""
    a = tree_accelerations(eq, eq.joint_forces, loads=True)
    return [*eq.position_rates, *a, *with_accelerations(eq, eq.state_rates, a)]


@builder
def descriptor_function(eq: Equations, packed: bool = False) -> SymbolicFunction:
    """Terms of the constrained equations M v̇ = f + Jᵀλ, J v̇ = g, with q̇ and ż: what a constrained solver needs.

    M and J are given by their entries if ``packed``.
    """
    if packed:
        mass = packed_result("M", symmetric_mass_entries(eq), eq.tree.nv)
    else:
        mass = matrix_result("M", symmetric_mass_matrix(eq) if eq.rows else effective_mass_matrix(eq), eq.tree.nv)
    if eq.rows or not any(e.deps & KINDS["acceleration"] for e in eq.state_rates):
        rates = eq.explicit_state_rates
    else:
        rates = with_accelerations(eq, eq.state_rates, tree_accelerations(eq, eq.joint_forces, loads=True))
    results = [
        mass, vector_result("f", explicit_forces(eq)), jacobian_result(eq, packed=packed),
        vector_result("g", [neg(e) for e in eq.constraint_accelerations]), vector_result("rates", [*eq.position_rates, *rates]),
    ]  # fmt: skip
    return assemble(eq, "descriptor", "t x u", results)


@builder
def constraints_function(eq: Equations, packed: bool = False) -> SymbolicFunction:
    """h(q, t) of the holonomic constraints with their Jacobian, by its entries if ``packed``."""
    n = eq.holonomic
    h = [r.expression for r in eq.rows[:n]]
    return assemble(eq, "constraints", "t q", [vector_result("h", h), jacobian_result(eq, n, packed)], optional="")


@builder
def constraint_velocities_function(eq: Equations, packed: bool = False) -> SymbolicFunction:
    """Jacobian of all constraints, by its entries if ``packed``, and the velocity residual J v + ∂h/∂t."""
    results = [vector_result("w", eq.constraint_velocities), jacobian_result(eq, packed=packed)]
    return assemble(eq, "constraint_velocities", "t q v", results, optional="z u")
