"""Forces of drives and locks: what keeps a prescribed coordinate on its motion (λ_c; Robotran manual, eqs. 32 and 33).

    λ_c = (M v̇ + c − Q − Jᵀλ)_c

for the coordinate c taken as free, at its prescribed position, velocity and acceleration.  It acts as a motor between
parent and child would: positive along the positive coordinate on the child.  Laws at the same joint (springs, dampers)
act beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...symbolic.derivatives import jvp
from ...symbolic.expr import ONE, ZERO, Expr, add, mul, neg, sub
from ...symbolic.function import Argument, SymbolicFunction
from ...symbolic.graph import substitute
from ..equations import Equations
from ..tree.newton_euler import inverse_dynamics
from ..tree.tree import prescribed_rates
from .registry import assemble, builder, vector_result
from .tree import every_multiplier, multiplier_symbols


def drive_force_names(eq: Equations) -> list[tuple[str, str]]:
    """Name and unit of each drive's force: the joint's name where it has one coordinate, else the coordinate's."""
    single = {j.coordinates[0].names[0]: j.name for j in reversed(eq.model.joints.values()) if len(j.coordinates) == 1}
    names = [c.names[0] for c in eq.tree.prescribed]
    units = ["N" if c.unit == "m" else "N m" for c in eq.tree.prescribed]
    return [(f"{single.get(n, n)}.drive_force", u) for n, u in zip(names, units, strict=True)]


def drive_force_terms(eq: Equations, lam: Sequence[Expr]) -> list[Expr]:
    """λ_c of every prescribed coordinate from q, v, v̇, z, u and the multipliers of the constraints."""
    if not eq.tree.prescribed:
        return []
    freed = Equations(eq.model, freed=True)
    columns = [freed.tree._velocity_index[id(c)] for c in eq.tree.prescribed]
    phi = inverse_dynamics(freed.tree, freed.wrenches)
    r = {j: sub(phi[j], freed.joint_forces[j]) for j in columns}
    # without a multiplier a row that holds by itself while the coordinate is prescribed carries nothing
    by_name = dict(zip([*(row.name for row in eq.rows), *eq.idle_rows], lam, strict=False))
    for (i, j), e in freed.constraint_jacobian.items():
        if j in r and freed.rows[i].name in by_name:
            r[j] = sub(r[j], mul(e, by_name[freed.rows[i].name]))
    return substitute([r[j] for j in columns], _motion(eq))


def _motion(eq: Equations) -> dict[Expr, Expr]:
    """Position, velocity and acceleration of every prescribed coordinate."""
    motion: dict[Expr, Expr] = {}
    for c in eq.tree.prescribed:
        assert c.motion is not None
        motion |= dict(zip((c.q[0], c.v[0], c.a[0]), prescribed_rates(eq.t, c.motion), strict=True))
    return motion


def constraint_power(eq: Equations, lam: Sequence[Expr]) -> Expr:
    """λᵀJ v over all coordinates, prescribed ones included: −λ ∂h/∂t, zero unless a constraint itself moves."""
    freed = Equations(eq.model, freed=True) if eq.tree.prescribed else eq
    by_name = {row.name: s for row, s in zip(eq.rows, lam, strict=True)}
    power = ZERO
    for i, row in enumerate(freed.rows):
        if row.name not in by_name:
            continue
        if row.nonholonomic:
            rate = ZERO
            for j, v in enumerate(freed.v):
                rate = add(rate, mul(freed.constraint_jacobian.get((i, j), ZERO), v))
        else:
            rate = neg(jvp([row.expression], {freed.t: ONE})[0])
        power = add(power, mul(by_name[row.name], rate))
    return substitute([power], _motion(eq))[0]


@builder
def supplied_power_function(eq: Equations) -> SymbolicFunction:
    """Power (W) that drives and moving constraints supply, as a function of the motion and the multipliers."""
    lam = multiplier_symbols(eq)
    motion = _motion(eq)
    power = constraint_power(eq, lam)
    for c, force in zip(eq.tree.prescribed, drive_force_terms(eq, lam), strict=True):
        power = add(power, mul(force, motion[c.v[0]]))
    return SymbolicFunction("supplied_power", _inputs(eq, lam), (vector_result("P", [power], "power"),), title=eq.model.name)


@builder
def drive_forces_function(eq: Equations) -> SymbolicFunction:
    """Forces of all drives and locks as a function of the motion and all multipliers (rows that hold by themselves last)."""
    lam = every_multiplier(eq)
    result = vector_result("f", drive_force_terms(eq, lam), "forces of drives and locks")
    return SymbolicFunction("drive_forces", _inputs(eq, lam), (result,), title=eq.model.name)


def _inputs(eq: Equations, lam: tuple[Expr, ...]) -> tuple[Argument, ...]:
    inputs = assemble(eq, "drive_forces", "t q v a z u", [], optional="").inputs
    return (*inputs[:6], Argument("lam", lam, "constraint multipliers"), *inputs[6:])


__all__ = ["constraint_power", "drive_force_names", "drive_force_terms"]
