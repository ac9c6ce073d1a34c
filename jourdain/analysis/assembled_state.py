"""The equations of an assembled system at an instant: mass, constraints, forces; consistent positions, rates and accelerations.

They are needed once for a run and are evaluated without compiling, for all instances of a type at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import bmat, coo_matrix, csc_matrix, csr_matrix, diags, identity

from ..errors import InputError
from ..formalisms.elements.stepping import ElementStep
from ..symbolic.graph import evaluate
from .assembled_program import Handle, Instance

#: Violations of the initial state below this part of the coordinates are removed, larger ones refused.
TOLERATED = 1e-6


@dataclass
class Instant:
    """M, rows G (rates: G v + rate = 0) and the rows Ḡ through which multipliers act, Φ, force ∇V + F − Q, and G a + bias = 0."""

    mass: csr_matrix
    rows: csr_matrix
    acting: csr_matrix
    value: np.ndarray
    rate: np.ndarray
    force: np.ndarray
    bias: np.ndarray


class Equations:
    """Evaluates :class:`Instant` for the instances of an assembled system."""

    def __init__(self, handles: Sequence[Handle], instances: Sequence[Instance]) -> None:
        self.nq = sum(h.size for h in handles)
        self.free = np.concatenate([np.full(h.size, not h.fixed) for h in handles]) if handles else np.zeros(0, bool)
        self.coordinate_names = [f"{h.name}[{i}]" for h in handles for i in range(h.size)]
        groups: dict[Any, list[int]] = {}
        for k, instance in enumerate(instances):
            groups.setdefault(instance.element.key, []).append(k)
        self._groups = [(ElementStep(instances[m[0]].element, "end"), [instances[i] for i in m]) for m in groups.values()]
        self.row_names = [(i.name, row) for step, members in self._groups for i in members for row in step.row_names]
        self._internal = np.array([r is not None and row in r.rows for step, members in self._groups for r in (step.element.reduction,)
                                   for _ in members for row in step.row_names], bool)  # fmt: skip

    def at(self, q: np.ndarray, v: np.ndarray, t: float, z: np.ndarray | None = None) -> Instant:
        """The equations at a state."""
        nothing: list[Any] = [[np.zeros(0)], [np.zeros(0, int)], [np.zeros(0, int)]]
        mass, rows, acting = ([list(x) for x in nothing] for _ in range(3))
        force = np.zeros(self.nq)
        values: list[np.ndarray] = [np.zeros(0)]
        rates, biases = [np.zeros(0)], [np.zeros(0)]
        first = 0
        for step, members in self._groups:
            index = self.local_coordinates(step, members)
            known = self._values(step, members, index, q, v, t)
            n, m, count = step.element.size, len(step.row_names), len(members)
            local = first + np.arange(count)[:, None] * m + np.arange(m)
            first += count * m
            residual, entries = step._acceleration
            computed = evaluate([*residual, *entries.values(), *step._row_residuals, *(rest for _, rest in step._rate_rows())], known)
            out = [np.broadcast_to(x, (count,)) for x in computed]
            for i in range(n):
                np.add.at(force, index[:, i], out[i])
            biases.append(np.column_stack(out[n : n + m]).ravel() if m else np.zeros(0))
            at = n + m
            for (i, j), x in zip(entries, out[at : at + len(entries)], strict=True):
                if i < n and j < n:
                    _append(mass, x, index[:, i], index[:, j])
                elif i < n:
                    _append(acting, x, local[:, j - n], index[:, i])
                else:
                    _append(rows, x, local[:, i - n], index[:, j])
            at += len(entries)
            values.append(np.column_stack(out[at : at + m]).ravel() if m else np.zeros(0))
            rates.append(np.column_stack(out[at + m :]).ravel() if m else np.zeros(0))
        shape = (first, self.nq)
        return Instant(
            _sparse(mass, (self.nq, self.nq)), _sparse(rows, shape), _sparse(acting, shape), np.concatenate(values),
            np.concatenate(rates), force, np.concatenate(biases),
        )  # fmt: skip

    def local_coordinates(self, step: ElementStep, members: Sequence[Instance]) -> np.ndarray:
        """Coordinates of every instance of a type, one row each."""
        return np.array([[h.offset + i for b in step.element.blocks for h in (m.blocks[b],) for i in range(h.size)] for m in members])

    def _values(
        self, step: ElementStep, members: Sequence[Instance], index: np.ndarray, q: np.ndarray, v: np.ndarray, t: float
    ) -> dict[Any, Any]:
        """Numbers for the packed input; the start of the step is a moment ago, along the motion."""
        p, moment = step.packing, 1e-7
        known: dict[Any, Any] = dict(zip(p.scalars, (moment, t - moment, 1.0, 1.0, 0.0), strict=True))
        for k in range(step.element.size):
            qk, vk = q[index[:, k]], v[index[:, k]]
            known |= {p.q0[k]: qk - moment * vk, p.q1[k]: qk, p.excess[k]: vk, p.offset[k]: vk}
        known |= {s: 0.0 for s in p.multipliers} | {s: 0.0 for s in p.history}
        numbers = np.array([m.numbers for m in members]).reshape(len(members), -1)
        at = 0
        for c in step.element.constants:
            entries = getattr(step.s, c)
            for e in entries if isinstance(entries, tuple) else (entries,):
                known[e] = numbers[:, at]
                at += 1
        return known

    # -- consistent states ----------------------------------------------------------------------------------------------

    def consistent(self, q: np.ndarray, v: np.ndarray, t: float, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Positions and rates that meet the constraints to rounding; refuses those that are far from it."""
        span = max(1.0, float(np.abs(q).max(initial=0.0)))
        for k in range(6):
            now = self.at(q, v, t)
            if k == 0:
                self._refuse(now.value, TOLERATED * span, "position", name)
            if np.abs(now.value).max(initial=0.0) <= 4e-16 * span:
                break
            q = q + self._least(now.rows, -now.value)
        now = self.at(q, v, t)
        v = self._complete(now, v)
        defect = now.rows @ v + now.rate
        self._refuse(defect, 10.0 * TOLERATED * max(1.0, float(np.abs(v).max(initial=0.0))), "velocity", name)
        for _ in range(2):
            v = v + self._least(now.rows, -(now.rows @ v + now.rate))
        return q, v

    def _complete(self, now: Instant, v: np.ndarray) -> np.ndarray:
        """Rates of massless coordinates (angles, lengths) from those of the bodies."""
        massless = self.free & (np.asarray(abs(now.mass).sum(axis=1)).ravel() == 0.0)
        if not massless.any() or now.rows.shape[0] == 0:
            return v
        only = diags(massless.astype(float)).tocsr()
        correction = self._least(csr_matrix(now.rows @ only), -(now.rows @ v + now.rate))
        return v + np.where(massless, correction, 0.0)

    def _refuse(self, defect: np.ndarray, limit: float, what: str, name: str) -> None:
        if defect.size and np.abs(defect).max() > limit:
            k = int(np.argmax(np.abs(defect)))
            instance, row = self.row_names[k]
            raise InputError(
                f"system '{name}': the initial {what} violates '{row}' of element '{instance}' by {abs(defect[k]):.3g}; "
                "give coordinates and rates that meet the constraints"
            )

    def _least(self, rows: csr_matrix, target: np.ndarray) -> np.ndarray:
        """The smallest change of the free coordinates that meets rows · x = target."""
        from scipy.sparse.linalg import splu

        m = rows.shape[0]
        if m == 0:
            return np.zeros(self.nq)
        G = csr_matrix(rows @ diags(self.free.astype(float)))
        n = self.nq
        K = csc_matrix(bmat([[identity(n), G.T], [G, -1e-12 * identity(m)]]))
        x = splu(K).solve(np.concatenate([np.zeros(n), target]))[:n]
        return np.where(self.free, x, 0.0)

    def accelerations(self, q: np.ndarray, v: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        """a and λ of M a + force + Ḡᵀλ = 0, G a + bias = 0 (least squares where constraints are redundant)."""
        from scipy.sparse.linalg import spsolve

        now = self.at(q, v, t)
        f, m = np.flatnonzero(self.free), now.rows.shape[0]
        mass, acting, rows = now.mass[f][:, f], now.acting[:, f], now.rows[:, f]
        scale = max(1e-300, float(abs(mass).max()) if mass.nnz else 1.0)
        K = csc_matrix(bmat([[mass, acting.T], [rows, -1e-13 / scale * identity(m)]])) if m else csc_matrix(mass)
        x = spsolve(K, -np.concatenate([now.force[f], now.bias]))
        a = np.zeros(self.nq)
        a[f] = x[: f.size]
        return a, x[f.size :]

    def redundant(self, q: np.ndarray, v: np.ndarray, t: float, preferred: Callable[[], set[str]] = set) -> frozenset[tuple[str, str]]:
        """Rows that depend on others, by rank-revealing QR at a state; those inside a body are kept first, then those of preferred instances."""
        from scipy.linalg import qr

        rows = csr_matrix(self.at(q, v, t).rows[:, np.flatnonzero(self.free)])
        if rows.nnz == 0 or not _suspicious(rows):
            return frozenset()
        size = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        names = preferred()
        weight = np.where(self._internal, 1e6, np.where([instance in names for instance, _ in self.row_names], 1e3, 1.0))
        G = rows.toarray() * (weight / np.where(size > 0.0, size, 1.0))[:, None]
        _, R, order = qr(G.T, mode="economic", pivoting=True)
        d = np.abs(np.diag(R))
        rank = int((d > 1e-8).sum())
        return frozenset(self.row_names[i] for i in order[rank:])


def _suspicious(rows: csr_matrix) -> bool:
    """Whether some rows may depend on others: a pivot of [1 Gᵀ; G 0] vanishes or nearly so."""
    from ..solvers.sparse_lu import SingularMatrix, SparseLU

    n = rows.shape[1]
    K = csc_matrix(bmat([[identity(n), rows.T], [rows, None]]))
    K.sort_indices()
    try:
        lu = SparseLU(K.indptr, K.indices, K.data)
    except SingularMatrix:
        return True
    lu.factorise(K.data)
    return bool(np.abs(lu.pivots).min() < 1e-6)


def _append(target: list[Any], x: np.ndarray, i: np.ndarray, j: np.ndarray) -> None:
    for part, new in zip(target, (x, i, j), strict=True):
        part.append(new)


def _sparse(parts: list[Any], shape: tuple[int, int]) -> csr_matrix:
    x, i, j = (np.concatenate(p) for p in parts)
    return csr_matrix(coo_matrix((x, (i, j)), shape=shape))
