"""Laws that depend on accelerations: Q = Q₀ − M_a v̇, so that (M + M_a) v̇ = Q₀ − c.

Added mass of a fluid, inertia of a machine behind a joint, a controller that feeds an acceleration back (Robotran manual,
App. B).  A law must be linear in the accelerations for v̇ to be given explicitly; analyses of the implicit equations take any.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import ModelError
from ...symbolic.derivatives import sparse_jacobian
from ...symbolic.expr import KINDS, ZERO, Expr, add, neg, sub
from ...symbolic.graph import evaluate, free_symbols, substitute
from ...symbolic.vectors import Vector
from ..equations import Equations
from .composite_body import mass_entries, mass_matrix
from .links import Wrench
from .newton_euler import inverse_dynamics

_ACCELERATION = KINDS["acceleration"]


def loads_need_acceleration(eq: Equations) -> bool:
    """Whether a law of the model depends on accelerations."""
    laws = [*eq.joint_forces, *(e for f, n in eq.wrenches.values() for e in (*f, *n))]
    return any(e.deps & _ACCELERATION for e in laws)


def added_mass(eq: Equations) -> dict[tuple[int, int], Expr]:
    """Entries of M_a = −∂Q/∂v̇, empty where no law depends on accelerations."""
    known: dict[tuple[int, int], Expr] | None = eq.__dict__.get("_added_mass")
    if known is None:
        known = {}
        if loads_need_acceleration(eq):
            known = {k: neg(e) for k, e in sparse_jacobian(eq.generalised_forces, eq.a).items()}
        for (i, _), e in known.items():
            if e.deps & _ACCELERATION:
                raise ModelError(
                    f"model '{eq.model.name}': a force on '{_rate_name(eq, i)}' depends on accelerations in a way that is not linear; "
                    "they cannot be given explicitly"
                )
        eq.__dict__["_added_mass"] = known
    return known


def effective_mass_matrix(eq: Equations) -> list[list[Expr]]:
    """M + M_a."""
    M = mass_matrix(eq.tree)
    for (i, j), e in added_mass(eq).items():
        M[i][j] = add(M[i][j], e)
    return M


def symmetric_mass_matrix(eq: Equations) -> list[list[Expr]]:
    """M + M_a for solvers that factor it as a symmetric matrix."""
    _check_symmetry(eq)
    return effective_mass_matrix(eq)


def symmetric_mass_entries(eq: Equations) -> dict[tuple[int, int], Expr]:
    """The same by its entries."""
    _check_symmetry(eq)
    M = mass_entries(eq.tree)
    for key, e in added_mass(eq).items():
        M[key] = add(M.get(key, ZERO), e)
    return M


def _check_symmetry(eq: Equations) -> None:
    """Refuses laws of accelerations that are not symmetric."""
    for (i, j), e in added_mass(eq).items():
        other = added_mass(eq).get((j, i), ZERO)
        if e is not other and not _equal(e, other):
            raise ModelError(
                f"model '{eq.model.name}': the forces that depend on accelerations couple '{_rate_name(eq, i)}' and '{_rate_name(eq, j)}' "
                "without symmetry; systems with constraints are simulated with symmetric added mass only"
            )


def _equal(a: Expr, b: Expr) -> bool:
    """Whether two expressions have the same value at an arbitrary point."""
    values = {s: 0.3 + 0.37 * ((7 * k) % 11) / 11 for k, s in enumerate(free_symbols([a, b]))}
    x, y = (float(v) for v in evaluate([a, b], values))
    return abs(x - y) <= 1e-12 * (abs(x) + abs(y))


def explicit_loads(eq: Equations) -> tuple[list[Expr], dict[int, Wrench]]:
    """Joint forces and wrenches on links without their part in the accelerations."""
    if not added_mass(eq):
        return eq.joint_forces, eq.wrenches
    still = dict.fromkeys(eq.a, ZERO)
    wrenches = {i: (Vector(*substitute(list(f), still)), Vector(*substitute(list(n), still))) for i, (f, n) in eq.wrenches.items()}
    return substitute(eq.joint_forces, still), wrenches


def explicit_forces(eq: Equations) -> list[Expr]:
    """f = Q₀ − c: what M + M_a times the accelerations equals, constraint forces apart."""
    forces, wrenches = explicit_loads(eq)
    phi = inverse_dynamics(eq.tree, wrenches, acceleration=False)
    return [sub(g, c) for g, c in zip(forces, phi, strict=True)]


def with_accelerations(eq: Equations, expressions: Sequence[Expr], a: Sequence[Expr]) -> list[Expr]:
    """Expressions with the accelerations they read replaced."""
    if not any(e.deps & _ACCELERATION for e in expressions):
        return list(expressions)
    return substitute(expressions, dict(zip(eq.a, a, strict=True)))


def _rate_name(eq: Equations, column: int) -> str:
    return [n for c in eq.tree.coordinates for n in c.velocity_names][column].removesuffix("_rate")


__all__ = [
    "added_mass",
    "effective_mass_matrix",
    "explicit_forces",
    "explicit_loads",
    "loads_need_acceleration",
    "symmetric_mass_entries",
    "symmetric_mass_matrix",
    "with_accelerations",
]
