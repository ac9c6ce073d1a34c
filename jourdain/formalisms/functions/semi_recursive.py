"""Named functions of the semi-recursive formulation (see :mod:`jourdain.formalisms.coordinates.semi_recursive`)."""

from __future__ import annotations

from ...errors import InputError
from ...symbolic.derivatives import sparse_jacobian
from ...symbolic.expr import KINDS, ZERO, Expr, add, neg, sub
from ...symbolic.function import SymbolicFunction
from ...symbolic.graph import substitute
from ...symbolic.vectors import scalar_product
from ..coordinates.semi_recursive import SemiRecursive
from ..equations import Equations
from ..loops.elimination import Block, NullSpace
from ..tree.acceleration_loads import added_mass, with_accelerations
from ..tree.derivatives import along_velocities
from ..tree.mass_factor import SparseFactor
from .registry import assemble, builder, jacobian_result, matrix_result, vector_result


def semi_recursive(eq: Equations, reference: str) -> SemiRecursive:
    """The formulation of the same model, derived once."""
    known: dict[str, SemiRecursive] = eq.__dict__.setdefault("_semi_recursive", {})
    if reference not in known:
        known[reference] = SemiRecursive(eq.model, reference)
    return known[reference]


def _terms(s: SemiRecursive) -> tuple[list[list[Expr]], list[Expr]]:
    """Mz and Qz, the former with the added mass of laws that depend on accelerations."""
    M, f = s.mass_matrix, s.forces
    extra = added_mass(s)
    if extra:
        M = [list(row) for row in M]
        for (i, j), e in extra.items():
            M[i][j] = add(M[i][j], e)
        f = substitute(f, dict.fromkeys(s.a, ZERO))
    return M, f


def _state_rates(s: SemiRecursive, M: list[list[Expr]], f: list[Expr]) -> list[Expr]:
    """ż of the user's states; accelerations that it reads are known before in an open chain only."""
    if s.rows or not any(e.deps & KINDS["acceleration"] for e in s.state_rates):
        return s.explicit_state_rates
    return with_accelerations(s, s.state_rates, SparseFactor(M).solve(f))


@builder
def semi_recursive_mass_matrix_function(eq: Equations, reference: str = "origin") -> SymbolicFunction:
    """Mz(z) (32)."""
    s = semi_recursive(eq, reference)
    return assemble(s, "semi_recursive_mass_matrix", "q", [matrix_result("M", s.mass_matrix, s.tree.nv)])


@builder
def semi_recursive_descriptor_function(eq: Equations, reference: str = "origin") -> SymbolicFunction:
    """Mz, Qz, Φ_z, −Φ̇_z ż − Φ̇_t, q̇ and ż, as :func:`jourdain.formalisms.functions.registry.descriptor_function` gives them."""
    s = semi_recursive(eq, reference)
    M, f = _terms(s)
    results = [
        matrix_result("M", M, s.tree.nv), vector_result("f", f), jacobian_result(s),
        vector_result("g", [neg(e) for e in s.constraint_accelerations]), vector_result("rates", [*s.position_rates, *_state_rates(s, M, f)]),
    ]  # fmt: skip
    return assemble(s, "semi_recursive_descriptor", "t x u", results)


@builder
def semi_recursive_reduced_terms_function(eq: Equations, reference: str = "origin") -> SymbolicFunction:
    """Mz, Qz, −Φ̇_z ż − Φ̇_t, q̇ and ż."""
    s = semi_recursive(eq, reference)
    M, f = _terms(s)
    results = [
        matrix_result("M", M, s.tree.nv), vector_result("f", f), vector_result("g", [neg(e) for e in s.constraint_accelerations]),
        vector_result("rates", [*s.position_rates, *_state_rates(s, M, f)]),
    ]  # fmt: skip
    return assemble(s, "semi_recursive_reduced_terms", "t x u", results)


@builder
def semi_recursive_constraint_drift_function(eq: Equations, reference: str = "origin") -> SymbolicFunction:
    """−Φ̇_z ż − Φ̇_t (51)–(52)."""
    s = semi_recursive(eq, reference)
    return assemble(s, "semi_recursive_constraint_drift", "t x u", [vector_result("g", [neg(e) for e in s.constraint_accelerations])])


@builder
def semi_recursive_constraints_function(eq: Equations, reference: str = "origin") -> SymbolicFunction:
    """Φ(z, t) of the holonomic constraints and Φ_z by unit joint velocities (36)–(41)."""
    s = semi_recursive(eq, reference)
    n = s.holonomic
    h = [r.expression for r in s.rows[:n]]
    return assemble(s, "semi_recursive_constraints", "t q", [vector_result("h", h), jacobian_result(s, n)], optional="")


@builder
def semi_recursive_state_derivative_function(eq: Equations, reference: str = "origin") -> SymbolicFunction:
    """ẋ of an open chain: Mz factored from the leaves to the root without fill-in."""
    s = semi_recursive(eq, reference)
    M, f = _terms(s)
    a = SparseFactor(M).solve(f)
    rates = [*s.position_rates, *a, *with_accelerations(s, s.state_rates, a)]
    return assemble(s, "semi_recursive_state_derivative", "t x", [vector_result("xdot", rates)], optional="u")


# --- closed loops ------------------------------------------------------------------------------------------------


@builder
def semi_recursive_accelerations_function(eq: Equations, reference: str = "origin", order: tuple[Block, ...] = ()) -> SymbolicFunction:
    """z̈ by the second velocity transformation (42)–(50), for dependent coordinates chosen by full pivoting (``order``).

    R_zᵀ Mz R_z z̈ⁱ = R_zᵀ(Qz − Mz z̈₀), z̈ = R_z z̈ⁱ + z̈₀, in one straight line.
    """
    s = semi_recursive(eq, reference)
    if s.rows and not order:
        raise InputError("function 'semi_recursive_accelerations' needs order=: the rows that give the dependent coordinates, in blocks")
    M, Q = _terms(s)
    dependent = {j for _, columns in order for j in columns}
    independent = [j for j in range(s.tree.nv) if j not in dependent]
    space = NullSpace(s.constraint_jacobian, order, independent, s.tree.nv)
    z0 = space.particular({i: neg(e) for i, e in enumerate(s.constraint_accelerations)})
    right = [sub(q, scalar_product(row, z0)) for q, row in zip(Q, M, strict=True)]
    zi = SparseFactor(space.reduce(M)).solve(space.project(right))
    return assemble(s, "semi_recursive_accelerations", "t x u", [vector_result("a", space.extend(zi, z0), "accelerations")])


@builder
def semi_recursive_range_space_function(eq: Equations, reference: str = "origin") -> SymbolicFunction:
    """ẋ with multipliers by the range space: (Φ M⁻¹ Φᵀ) λ = c − Φ M⁻¹ Q, both factors without pivoting."""
    s = semi_recursive(eq, reference)
    M, Q = _terms(s)
    m = len(s.rows)
    rows = [[s.constraint_jacobian.get((i, j), ZERO) for j in range(s.tree.nv)] for i in range(m)]
    factor = SparseFactor(M)
    inner = [factor.solve(row) for row in rows]  # rows of Φ M⁻¹
    schur = [[scalar_product(rows[i], inner[j]) for j in range(m)] for i in range(m)]
    right = [sub(neg(s.constraint_accelerations[i]), scalar_product(inner[i], Q)) for i in range(m)]
    lam = SparseFactor(schur).solve(right)
    a = [add(x, scalar_product([row[j] for row in inner], lam)) for j, x in enumerate(factor.solve(Q))]
    rates = [*s.position_rates, *a, *with_accelerations(s, s.state_rates, a)]
    return assemble(s, "semi_recursive_range_space", "t x", [vector_result("xdot", rates)], optional="u")


@builder
def semi_recursive_tangents_function(eq: Equations, reference: str = "origin") -> SymbolicFunction:
    """K = −∂Q/∂z (along velocities) and C = −∂Q/∂ż for implicit integration."""
    s = semi_recursive(eq, reference)
    _, Q = _terms(s)
    n = s.tree.nv
    K = [[neg(e) for e in row] for row in along_velocities(s.tree, Q)]
    C = [[ZERO] * n for _ in range(n)]
    for (i, j), e in sparse_jacobian(Q, s.v).items():
        C[i][j] = neg(e)
    return assemble(s, "semi_recursive_tangents", "t x u", [matrix_result("K", K, n), matrix_result("C", C, n)])


__all__ = ["semi_recursive"]
