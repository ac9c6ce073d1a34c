"""Solving with the mass matrix: M = Lᵀ D L without fill-in, following the branches of the tree (Featherstone)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import ModelError
from ...symbolic.expr import ONE, ZERO, Expr, div, mul, sub
from .composite_body import mass_matrix
from .links import Wrench
from .newton_euler import inverse_dynamics
from .tree import Tree


class SparseFactor:
    """M = Lᵀ D L of a symmetric matrix of expressions; zeros of the pattern are never touched."""

    def __init__(self, M: Sequence[Sequence[Expr]]) -> None:
        n = len(M)
        H = [list(row) for row in M]
        self.inverse: list[Expr] = [ONE] * n
        self.rows: list[dict[int, Expr]] = [{} for _ in range(n)]
        for k in range(n - 1, -1, -1):
            self.inverse[k] = div(ONE, H[k][k])
            columns = [j for j in range(k) if H[k][j] is not ZERO]
            for j in columns:
                self.rows[k][j] = mul(H[k][j], self.inverse[k])
            for x, i in enumerate(columns):
                for j in columns[: x + 1]:
                    H[i][j] = sub(H[i][j], mul(self.rows[k][i], H[k][j]))

    def solve(self, b: Sequence[Expr]) -> list[Expr]:
        """M⁻¹ b."""
        x = list(b)
        n = len(x)
        for k in range(n - 1, -1, -1):
            for j, value in self.rows[k].items():
                x[j] = sub(x[j], mul(value, x[k]))
        x = [mul(v, d) for v, d in zip(x, self.inverse, strict=True)]
        for k in range(n):
            for j, value in self.rows[k].items():
                x[k] = sub(x[k], mul(value, x[j]))
        return x


def accelerations_by_factor(tree: Tree, forces: Sequence[Expr], external: Mapping[int, Wrench] | None = None) -> list[Expr]:
    """v̇ = M⁻¹(τ − c) through the factored mass matrix."""
    bias = inverse_dynamics(tree, external, acceleration=False)
    right = [sub(f, c) for f, c in zip(forces, bias, strict=True)]
    M = mass_matrix(tree)
    for c in tree.coordinates:
        i = tree._velocity_index[id(c)]
        if M[i][i] is ZERO:
            raise ModelError(
                f"the mass matrix is singular: '{c.names[0]}' meets no inertia; give the body it moves inertia about its axis, or lock it"
            )
    return SparseFactor(M).solve(right)
