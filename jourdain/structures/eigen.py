"""The lowest natural modes of a structure, from its flexibility: low frequencies stay exact however stiff the part is elsewhere."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
import scipy.sparse.linalg as sla

from ..errors import InputError, SolverError
from .parts.dofs import Array

#: Up to so many degrees of freedom, or where a third of all modes is asked for, the eigenproblem is solved by dense matrices.
DENSE = 150


class Flexible(Protocol):
    def solve(self, loads: Array) -> Array: ...


def lowest_modes(flexible: Flexible, K: sp.csc_array, M: sp.csc_array, count: int, most: int, name: str) -> tuple[Array, Array]:
    """Squared frequencies (count,) and mass-normalised modes (n, count) of K φ = ω² M φ on the motions that `flexible` admits.

    `most` is the number of these motions.
    """
    if isinstance(count, bool) or count != int(count) or count < 0:
        raise InputError(f"{name}: modes = {count} must be a whole number that is not negative")
    count = int(count)
    if count > most:
        raise InputError(
            f"{name}: modes = {count} are asked for, but it has only {most} elastic degrees of freedom that carry mass; ask for at most {most}"
        )
    if count == 0:
        return np.zeros(0), np.zeros((K.shape[0], 0))
    n = K.shape[0]
    if n <= DENSE or 3 * count >= n:
        square, modes = dense_modes(flexible, M, count, name)
    else:
        start = flexible.solve(M @ np.random.default_rng(0).standard_normal(n))
        inverse = sla.LinearOperator((n, n), matvec=flexible.solve, dtype=float)
        try:
            square, modes = sla.eigsh(K, count, M, sigma=0.0, OPinv=inverse, v0=start)
        except sla.ArpackError as error:
            raise SolverError(f"{name}: {count} modes were not found ({error}); ask for fewer or more") from None
    order = np.argsort(square)
    return square[order], signed(modes[:, order])


def dense_modes(flexible: Flexible, M: sp.csc_array, count: int, name: str) -> tuple[Array, Array]:
    """1/ω² are the eigenvalues of Sᵀ G S with M = S Sᵀ."""
    d, U = np.linalg.eigh(M.toarray())
    carries = d > 1e-14 * d[-1]
    S = U[:, carries] * np.sqrt(d[carries])
    GS = flexible.solve(S)
    product = S.T @ GS
    theta, y = sl.eigh(0.5 * (product + product.T))
    theta, y = theta[::-1][:count], y[:, ::-1][:, :count]
    if theta[-1] <= 0:
        count = int((theta > 0).sum())
        raise InputError(f"{name}: only {count} modes carry mass; ask for at most {count}")
    return 1.0 / theta, GS @ y / theta


def signed(modes: Array) -> Array:
    """Modes with their largest component positive, so that runs on other machines have the same signs."""
    if not modes.size:
        return modes
    largest = modes[np.argmax(np.abs(modes) > 0.999999 * np.abs(modes).max(axis=0), axis=0), np.arange(modes.shape[1])]
    return np.asarray(modes * np.where(largest < 0, -1.0, 1.0))
