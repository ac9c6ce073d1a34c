"""Static answers of a structure that is held by linear conditions: one factor, many loads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from numpy.typing import NDArray

from ..errors import InputError
from .parts.dofs import Array
from .parts.ordering import dissection

#: Above so many rows the places of nodes order the elimination.
LARGE = 1500
#: The largest error of a displacement of size one that a factor may give back.
LOST = 1e-3


#: The node of each row of K, and the places of nodes.
Where = tuple[NDArray[np.int64], Array]


class Held:
    """K u = f with some degrees of freedom held, which must stop all motions without strain; `where` orders large systems."""

    def __init__(
        self,
        K: sp.csc_array,
        rows: NDArray[np.int64],
        name: str = "structure",
        label: Callable[[int], str] = str,
        where: Where | None = None,
    ) -> None:
        self.K, self.rows, self.name, self.label, self.where = K, rows, name, label, where
        self.B = selection(rows, K.shape[0])
        self.free = np.setdiff1d(np.arange(K.shape[0]), rows)
        self.factor = symmetric_factor(sp.csc_array(K[self.free][:, self.free]), self)

    def solve(self, loads: Array) -> Array:
        """Displacements under loads (n, …)."""
        u = np.zeros_like(loads, dtype=float)
        u[self.free] = self.factor.solve(np.ascontiguousarray(loads[self.free]))
        return u

    def prescribed(self, values: Array) -> Array:
        """Displacements without loads for given ones (c, …) of what is held."""
        u = np.zeros((self.K.shape[0], *values.shape[1:]))
        u[self.rows] = values
        u[self.free] = -self.factor.solve(np.ascontiguousarray((self.K @ u)[self.free]))
        return u

    def refuse(self, row: int) -> InputError:
        return InputError(
            f"{self.name}: K lets {self.label(row)} move without any force (a loose node or a mechanism), so that shapes are not defined; "
            "connect the node, or look at print(part)"
        )


class Conditioned:
    """K u + Bᵀ λ = f with conditions B u = g that combine degrees of freedom, such as averages.

    K has the null space R.  With G the flexibility of the body held at as many degrees of freedom as R has columns, u = G (f − Bᵀ λ) + R a, and λ, a
    follow from the conditions and from the balance Rᵀ (f − Bᵀ λ) = 0: the factor stays sparse and definite.
    """

    def __init__(
        self,
        K: sp.csc_array,
        B: sp.csr_array,
        R: Array,
        name: str = "structure",
        label: Callable[[int], str] = str,
        where: Where | None = None,
    ) -> None:
        self.B, self.R = B, R
        self.held = Held(K, isostatic(R), name, label, where)
        self.GB = self.held.solve(B.T.toarray())
        compliance, rigid = np.asarray(B @ self.GB), np.asarray(B @ R)
        self.size = float(np.abs(np.diag(compliance)).max()) or 1.0
        null = np.zeros((R.shape[1], R.shape[1]))
        self.small = sl.lu_factor(np.block([[compliance / self.size, -rigid], [-rigid.T, null]]))

    def solve(self, loads: Array) -> Array:
        """Displacements under loads (n, …) with B u = 0."""
        u = self.held.solve(loads)
        return u + self.answer(np.asarray(self.B @ u), self.R.T @ loads)

    def prescribed(self, values: Array) -> Array:
        """Displacements without loads for given B u = values (c, …)."""
        return self.answer(-values, np.zeros((self.R.shape[1], *values.shape[1:])))

    def answer(self, gap: Array, unbalanced: Array) -> Array:
        """−G Bᵀ λ + R a that closes a gap of the conditions and balances a load."""
        found = sl.lu_solve(self.small, np.concatenate([gap, -self.size * unbalanced]))
        return np.asarray(self.R @ found[len(gap) :] - self.GB @ (found[: len(gap)] / self.size))


def picked_rows(B: sp.csr_array) -> NDArray[np.int64] | None:
    """The degrees of freedom that B picks one by one, or None if it combines some."""
    B.eliminate_zeros()
    if (np.diff(B.indptr) != 1).any() or len(np.unique(B.indices)) < B.shape[0]:
        return None
    return B.indices.astype(np.int64)


class Reordered:
    """A factor of a matrix whose rows were put in another order."""

    def __init__(self, factor: Any, order: NDArray[np.int64]) -> None:
        self.factor, self.order = factor, order

    def solve(self, loads: Array) -> Array:
        u = np.empty_like(loads)
        u[self.order] = self.factor.solve(np.ascontiguousarray(loads[self.order]))
        return u


class NoFactor:
    """The factor of nothing."""

    def solve(self, loads: Array) -> Array:
        return loads


def symmetric_factor(K: sp.csc_array, held: Held) -> Any:
    """A factor of a positive definite matrix: symmetric ordering, pivots on the diagonal."""
    if not K.shape[0]:
        return NoFactor()
    symmetric = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    try:
        if held.where is not None and K.shape[0] > LARGE:
            nodes, places = held.where
            order = dissection(K, nodes[held.free], places)
            factor: Any = Reordered(sla.splu(sp.csc_array(K[order][:, order]), permc_spec="NATURAL", **symmetric), order)
        else:
            factor = sla.splu(K, permc_spec="MMD_AT_PLUS_A", **symmetric)
    except RuntimeError:
        raise held.refuse(int(held.free[loosest(K)])) from None
    if singular(K, factor):
        raise held.refuse(int(held.free[loosest(K)]))
    return factor


def singular(K: sp.csc_array, factor: Any) -> bool:
    """Whether a factor has lost all digits: it does not give back a displacement from its forces."""
    known = np.random.default_rng(2).standard_normal(K.shape[0])
    return not float(np.abs(factor.solve(K @ known) - known).max()) < LOST


def loosest(K: sp.csc_array) -> int:
    """The degree of freedom that moves most in the softest motion, by an inverse iteration with a small shift."""
    shift = 1e-10 * float(np.abs(K.diagonal()).max() or 1.0)
    factor = sla.splu(sp.csc_array(K + shift * sp.eye_array(K.shape[0])))
    motion = np.random.default_rng(1).standard_normal(K.shape[0])
    for _ in range(3):
        motion = factor.solve(motion)
        motion /= np.abs(motion).max()
    return int(np.argmax(np.abs(motion)))


def isostatic(R: Array) -> NDArray[np.int64]:
    """As many degrees of freedom as there are rigid motions R (n, r), such that holding them holds the body and strains nothing."""
    scaled = R / np.maximum(np.linalg.norm(R, axis=0), 1e-300)
    _, _, order = sl.qr(scaled.T, pivoting=True, mode="economic")
    return np.sort(order[: R.shape[1]]).astype(np.int64)


def selection(rows: NDArray[np.int64], size: int) -> sp.csr_array:
    """The matrix that picks the given rows."""
    return sp.csr_array((np.ones(len(rows)), (np.arange(len(rows)), rows)), shape=(len(rows), size))


class Relieved:
    """Flexibility of a free body by inertia relief: loads are balanced by its own inertia, and its rigid motions are taken out.

    u = P G Pᵀ f with P = I − R (Rᵀ M R)⁻¹ Rᵀ M, whatever six degrees of freedom G holds (Craig 1981, ch. 19).
    """

    def __init__(
        self,
        K: sp.csc_array,
        M: sp.csc_array,
        R: Array,
        name: str = "structure",
        label: Callable[[int], str] = str,
        where: Where | None = None,
    ) -> None:
        self.R, self.MR = R, np.asarray(M @ R)
        self.inertia = sl.cho_factor(R.T @ self.MR)
        self.held = Held(K, isostatic(R), name, label, where)

    def balanced(self, loads: Array) -> Array:
        """Pᵀ f: the loads with the inertia forces that they cause."""
        return loads - self.MR @ sl.cho_solve(self.inertia, self.R.T @ loads)

    def elastic(self, u: Array) -> Array:
        """P u: the displacement seen from mean axes."""
        return u - self.R @ sl.cho_solve(self.inertia, self.MR.T @ u)

    def solve(self, loads: Array) -> Array:
        return self.elastic(self.held.solve(self.balanced(loads)))
