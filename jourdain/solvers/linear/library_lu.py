"""Factors by SciPy's SuperLU behind the interface of the native loops: the way out where pivots chosen once do not serve.

Each factorisation equilibrates, orders and pivots anew (partial pivoting; Demmel et al. 1999) and each solution is refined once.  Native
loops call Python for it, so it is slow; :class:`.sparse_lu.SparseLU` is the rule.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .sparse_lu import OK, SINGULAR, Factors, equilibrate

_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_ssize_t)


class LibraryLU:
    """Factors of the matrix given by columns (starts ``ap``, rows ``ai``) whose values stand in ``ax`` when native code asks.

    >>> lu = LibraryLU(np.array([0, 1, 2]), np.array([1, 0]), np.array([2.0, 4.0]))
    >>> lu.factorise()
    0
    >>> lu.solve(np.array([8.0, 2.0]))
    array([1., 2.])
    """

    def __init__(self, ap: np.ndarray, ai: np.ndarray, ax: np.ndarray) -> None:
        self.ap, self.ai, self.values = ap, ai, ax
        self.size = ap.size - 1
        self.factorisations = 0
        self.frame = Factors(size=self.size, ax=ax, cost=0.0)  # factors are made where own pivots failed, and not kept
        self._factors: Any = None
        self._callbacks = _SIGNATURE(lambda _: self.factorise()), _SIGNATURE(lambda _: self._solve_in_place())

    @property
    def functions(self) -> tuple[int, int]:
        """Addresses of the functions that factorise and solve, as native code calls them with the frame."""
        first, second = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in self._callbacks)
        return first, second

    def factorise(self) -> int:
        """Factors of the present values: OK, or SINGULAR, also when a value is not finite."""
        from scipy.sparse import csc_matrix
        from scipy.sparse.linalg import splu

        self.factorisations += 1
        if not np.all(np.isfinite(self.values)):
            return SINGULAR
        self._matrix = csc_matrix((self.values.copy(), self.ai, self.ap), shape=(self.size, self.size))
        self._row, self._column = equilibrate(self.ap, self.ai, self.values)
        scaled = self.values * self._row[self.ai] * np.repeat(self._column, np.diff(self.ap))
        try:
            self._factors = splu(csc_matrix((scaled, self.ai, self.ap), shape=self._matrix.shape))
        except (RuntimeError, MemoryError):  # "Factor is exactly singular"
            return SINGULAR
        return OK

    def solve(self, b: np.ndarray) -> np.ndarray:
        """x of A x = b, refined once."""
        x = self._column * self._factors.solve(self._row * b)
        return x + self._column * self._factors.solve(self._row * (b - self._matrix @ x))

    def _solve_in_place(self) -> int:
        b = self.frame.rhs
        b[:] = self.solve(b)
        return OK
