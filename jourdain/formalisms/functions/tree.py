"""Further named functions of the tree: derivatives, Coriolis matrix, momentum, regressor, reactions, outside wrenches."""

from __future__ import annotations

from ...model.bodies import Body
from ...model.constraints import Equation
from ...symbolic.derivatives import sparse_jacobian
from ...symbolic.expr import ZERO, Expr, symbol
from ...symbolic.function import Argument, SymbolicFunction
from ...symbolic.vectors import NULL, Vector
from ..equations import Equations
from ..loops.equation_wrenches import equation_wrenches
from ..tree.coriolis import coriolis_matrix, gravity_vector
from ..tree.derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives, mass_matrix_inverse
from ..tree.momentum import (
    angular_momentum,
    centre_of_mass_acceleration,
    centre_of_mass_position,
    centre_of_mass_velocity,
    centroidal_bias,
    centroidal_momentum_matrix,
    linear_momentum,
)
from ..tree.newton_euler import inverse_dynamics
from ..tree.reactions import joint_reactions
from ..tree.regressor import regressor
from ..tree.rods import rod_end_forces
from ..tree.tree import Tree
from .registry import assemble, builder, joint_force_symbols, matrix_result, vector_result


@builder
def inverse_dynamics_derivatives_function(eq: Equations) -> SymbolicFunction:
    """∂φ/∂q, ∂φ/∂v and ∂φ/∂a = M (columns of a quaternion: rotation increments in child axes)."""
    dq, dv, M = inverse_dynamics_derivatives(eq.tree)
    n = eq.tree.nv
    return assemble(
        eq, "inverse_dynamics_derivatives", "q v a", [matrix_result("dq", dq, n), matrix_result("dv", dv, n), matrix_result("da", M, n)]
    )


@builder
def forward_dynamics_derivatives_function(eq: Equations) -> SymbolicFunction:
    """∂a/∂q, ∂a/∂v and ∂a/∂τ = M⁻¹ of the tree's accelerations."""
    dq, dv, dtau = forward_dynamics_derivatives(eq.tree, list(joint_force_symbols(eq)))
    n = eq.tree.nv
    results = [matrix_result("dq", dq, n), matrix_result("dv", dv, n), matrix_result("dtau", dtau, n)]
    return assemble(eq, "forward_dynamics_derivatives", "q v tau", results, optional="t z")


@builder
def mass_matrix_inverse_function(eq: Equations) -> SymbolicFunction:
    """M⁻¹(q)."""
    return assemble(eq, "mass_matrix_inverse", "q", [matrix_result("Minv", mass_matrix_inverse(eq.tree), eq.tree.nv)])


@builder
def coriolis_function(eq: Equations) -> SymbolicFunction:
    """C(q, v) with Ṁ − 2C skew-symmetric, and the gravity forces g(q)."""
    results = [matrix_result("C", coriolis_matrix(eq.tree), eq.tree.nv), vector_result("g", gravity_vector(eq.tree))]
    return assemble(eq, "coriolis", "q v", results)


@builder
def momentum_function(eq: Equations) -> SymbolicFunction:
    """Linear momentum, angular momentum about the origin and about the centre of mass (world axes)."""
    k = eq.kinematics
    results = [
        vector_result("linear", list(linear_momentum(k))), vector_result("angular", list(angular_momentum(k))),
        vector_result("angular_com", list(angular_momentum(k, "com"))),
    ]  # fmt: skip
    return assemble(eq, "momentum", "q v", results)


@builder
def centre_of_mass_function(eq: Equations) -> SymbolicFunction:
    """Position, velocity and acceleration of the centre of mass."""
    k = eq.kinematics
    parts = {"position": centre_of_mass_position(k), "velocity": centre_of_mass_velocity(k), "acceleration": centre_of_mass_acceleration(k)}
    return assemble(eq, "centre_of_mass", "q v a", [vector_result(n, list(p)) for n, p in parts.items()])


@builder
def centroidal_function(eq: Equations) -> SymbolicFunction:
    """Centroidal momentum matrix A (linear, then angular about the centre of mass) and the bias Ȧv."""
    k = eq.kinematics
    results = [matrix_result("A", centroidal_momentum_matrix(k), eq.tree.nv), vector_result("bias", centroidal_bias(k))]
    return assemble(eq, "centroidal", "q v", results)


@builder
def regressor_function(eq: Equations) -> SymbolicFunction:
    """Y(q, v, a) with Y π = φ for the ten inertial parameters of every body."""
    table = regressor(Tree(eq.model, regroup=False))
    return assemble(eq, "regressor", "q v a", [matrix_result("Y", table, 10 * len(eq.model.bodies))])


@builder
def inverse_dynamics_external_function(eq: Equations, frames: tuple[str, ...]) -> SymbolicFunction:
    """φ with outside wrenches: for each frame a force at its origin and a torque (world axes) in the input ``w``."""
    symbols: list[Expr] = []
    wrenches: dict[int, tuple[Vector, Vector]] = {}
    for path in frames:
        w = [symbol(f"{path}.{n}", "input") for n in ("fx", "fy", "fz", "tx", "ty", "tz")]
        symbols += w
        eq.add_wrench(eq.model.frame(path), Vector(*w[:3]), Vector(*w[3:]), -1, wrenches)
    f = assemble(eq, "inverse_dynamics_external", "q v a", [], optional="")
    tau = vector_result("tau", inverse_dynamics(eq.tree, wrenches))
    inputs = [*f.inputs[:3], Argument("w", tuple(symbols), "wrenches: force and torque at each frame, world axes"), *f.inputs[3:]]
    return SymbolicFunction("inverse_dynamics_external", tuple(inputs), (tau,), title=eq.model.name)


def multiplier_symbols(eq: Equations) -> tuple[Expr, ...]:
    """Symbols of the constraint multipliers, one for each row."""
    if not hasattr(eq, "_lam"):
        eq._lam = tuple(symbol(f"lambda_{r.name}", "input") for r in eq.rows)  # type: ignore[attr-defined]
    return eq._lam  # type: ignore[attr-defined,no-any-return]


def every_multiplier(eq: Equations) -> tuple[Expr, ...]:
    """Symbols of the multipliers of all rows, then of those that hold by themselves."""
    return (*multiplier_symbols(eq), *(symbol(f"lambda_{name}", "input") for name in eq.idle_rows))


@builder
def reactions_function(eq: Equations, axes: str = "world") -> SymbolicFunction:
    """Force and torque on the child that every joint transmits at its frame (child's side), from q, v, a and λ.

    Rows: joints of the tree, then closures (the wrench on their second frame); force then torque.
    """
    lam = multiplier_symbols(eq)
    result = matrix_result("reactions", _reaction_table(eq, {r.name: s for r, s in zip(eq.rows, lam, strict=True)}, axes), 6)
    inputs = assemble(eq, "reactions", "t q v a z u", [], optional="").inputs
    named = [*inputs[:6], Argument("lam", lam, "constraint multipliers"), *inputs[6:]]
    return SymbolicFunction("reactions", tuple(named), (result,), title=eq.model.name)


@builder
def reaction_slopes_function(eq: Equations, axes: str = "world") -> SymbolicFunction:
    """∂(reactions)/∂λ, for the multipliers of all rows and of those that hold by themselves (columns in this order)."""
    lam = every_multiplier(eq)
    names = [*(r.name for r in eq.rows), *eq.idle_rows]
    table = _reaction_table(eq, dict(zip(names, lam, strict=True)), axes, inertia=False)
    flat = [e for row in table for e in row]
    slopes = [[ZERO] * len(lam) for _ in flat]
    for (i, j), e in sparse_jacobian(flat, lam).items():
        slopes[i][j] = e
    return assemble(eq, "reaction_slopes", "t q", [matrix_result("slopes", slopes, len(lam))], optional="")


def _reaction_table(eq: Equations, by_row: dict[str, Expr], axes: str, inertia: bool = True) -> list[list[Expr]]:
    """Wrenches of the joints of the tree and of the closures for multipliers by row; without ``inertia`` those at rest and unloaded."""
    k = eq.kinematics
    external: dict[str, tuple[Vector, Vector]] = {}
    closing: list[list[Expr]] = []
    for closure in eq.closures:
        base, force, torque = eq.closure_wrench(closure, by_row)
        f, n = k.turned(base, force) if base >= 0 else force, k.turned(base, torque) if base >= 0 else torque
        # a rod with mass pulls at its two ends with different forces
        own = f if closure.inertia is None or not inertia else f - rod_end_forces(k, closure)[1]
        closing.append([*own, *n])
        for frame, sign in ((closure.b, 1.0), (closure.a, -1.0)):
            _add(external, frame.body, f * sign, n * sign, k.position(closure.b) - k.position(frame.body))
    for item in eq.model.constraints.values():
        if isinstance(item, Equation) and item.name in by_row:
            for w in equation_wrenches(eq, item, by_row[item.name]):
                _add(external, w.on.body, w.force, w.torque, k.position(w.at) - k.position(w.on.body))
    found = joint_reactions(eq.model, axes, external, acceleration=inertia, loads=inertia)  # type: ignore[arg-type]
    return [[*r.force, *r.torque] for r in found.values()] + closing


def _add(external: dict[str, tuple[Vector, Vector]], body: Body, force: Vector, torque: Vector, arm: Vector) -> None:
    """Adds a wrench given at a point to a body's total about its own origin."""
    if body.is_ground:
        return
    before = external.get(body.name, (NULL, NULL))
    external[body.name] = (before[0] + force, before[1] + torque + arm.cross(force))


def reaction_names(eq: Equations) -> list[str]:
    """Names of the rows of the reactions function."""
    cut = {j.name for j in eq.tree.cuts}
    return [n for n in eq.model.joints if n not in cut] + [c.name for c in eq.closures]


__all__ = ["every_multiplier", "multiplier_symbols", "reaction_names"]
