"""Forces of rigid contacts that balance given ones: unilateral statics with Coulomb's cone, and the forces of least norm among all that do.

Contacts can hold generalised forces b where λ in the cones and free y exist with Jᵀλ + E y = b.  With E projected out (Z) and ZᵀMZ = L Lᵀ, G = L⁻¹ZᵀJᵀ and
c = L⁻¹Zᵀb, the convex problem min ½‖G λ − c‖² over the cones tells: what is left of it is the acceleration with which nothing can do less than fall.
The forces of least norm follow by multipliers: min ½ε‖λ‖² + ½‖G λ − c − y‖², y + c − G λ for y (Rockafellar 1976).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import SolverError
from ...solvers.complementarity.build import dense_problem
from ...solvers.complementarity.solve import solution as solved
from ...systems.tree.partition import null_space

#: What may be left of forces, in parts of the largest, where they are held; to what part impulses are found; and rounds of multipliers for each ε.
LEFT, EXACT, ROUNDS = 1e-11, 1e-14, 12
#: ε in parts of the mean of GᵀG, one after the other.
SOFT = (1e-2, 1e-5, 1e-8, 1e-11)
#: The same for the beginning of a fall, and to what part of the largest acceleration its laws are met in a round.
FALLING, ROUGH = 1e-6, (1e-11, 1e-6)


@dataclass(frozen=True)
class Held:
    """λ (n, 3) of contacts, y of what else holds, and the acceleration that is left (zero where all is held)."""

    force: np.ndarray
    free: np.ndarray
    left: np.ndarray

    @property
    def stands(self) -> bool:
        """Whether nothing accelerates."""
        return not self.left.any()


class Cones:
    """Contacts as columns of a balance: directions of their forces J (n, 3, nv) with coefficients μ, what else may push freely (E, nv × m), and M.

    Contacts of ``slides`` push along the first of their directions alone, ``brakes`` along it in both senses, up to a bound in the place of μ.
    """

    def __init__(
        self, J: np.ndarray, friction: np.ndarray, E: np.ndarray, M: np.ndarray, slides: np.ndarray | None = None, brakes: np.ndarray | None = None
    ) -> None:  # fmt: skip
        self.n, nv = len(J), M.shape[0]
        self.laws = ["friction" if brake else "contact" for brake in (np.zeros(self.n, bool) if brakes is None else brakes)]
        #: Which of three rows a contact has.
        self.own = np.array([row == 0 or law == "contact" for law in self.laws for row in (0, 1, 2)], bool)
        directions = J.copy()
        if slides is not None:
            directions[slides, 1:] = 0.0
        self.rows, self.E, self.friction = directions.reshape(3 * self.n, nv), E, friction
        self.Z = null_space(E.T)
        self.L = np.linalg.cholesky(self.Z.T @ M @ self.Z) if self.Z.shape[1] else np.zeros((0, 0))
        self.G = np.linalg.solve(self.L, self.Z.T @ self.rows.T) if self.L.size else np.zeros((0, 3 * self.n))
        self.W = self.G.T @ self.G

    def _forces(
        self, c: np.ndarray, soft: float, start: np.ndarray | None, relaxed: bool = True, exact: float = EXACT, given: np.ndarray | float = 0.0
    ) -> np.ndarray:  # fmt: skip
        if not self.n:
            return np.zeros(0)
        wanted = self.G.T @ c
        size = float(np.abs(wanted).max(initial=0.0))
        own, p = self.own, np.zeros(3 * self.n)
        problem = dense_problem(
            self.W[np.ix_(own, own)], -(wanted + given)[own], self.laws, self.friction, np.full(own.sum(), soft) if soft else None, relaxed
        )
        p[own] = solved(problem, None if start is None else start[own], tolerance=exact * max(size, 1e-300), limit=20000)
        return p

    def hold(self, b: np.ndarray, least: float = 0.0, left: float = LEFT) -> Held:
        """Forces of least norm that balance b, or what is left where none do; ``least`` is an acceleration that is large enough to be told from rounding,
        ``left`` the part of the largest forces that may be left over."""
        c = np.linalg.solve(self.L, self.Z.T @ b) if self.L.size else np.zeros(0)
        heaviest = float(np.sqrt(np.square(self.L).sum(axis=1).max(initial=0.0)))
        scale, mean = max(float(np.linalg.norm(c)), least * heaviest), float(np.trace(self.W)) / max(1, 3 * self.n)
        if np.linalg.norm(c) <= left * scale or not scale:
            return self._held(np.zeros(3 * self.n), b, np.zeros(len(b)))
        if not self.n or not mean:
            return self._held(np.zeros(3 * self.n), b, self.Z @ np.linalg.solve(self.L.T, -c))
        y, p = np.zeros(len(c)), np.zeros(3 * self.n)
        over = c
        for k, soft in enumerate(SOFT):
            for _ in range(ROUNDS):
                try:
                    before, p = p, self._forces(c + y, soft * mean, p)
                except SolverError:  # y grows without bounds where nothing holds
                    return self._held(p, b, self.Z @ np.linalg.solve(self.L.T, -over))
                over = c - self.G @ p
                y += over
                if np.linalg.norm(over) <= left * scale and np.abs(p - before).max() <= 1e-12 * np.abs(p).max():
                    return self._held(p, b, np.zeros(len(b)))
            if k + 1 < len(SOFT):
                y *= SOFT[k + 1] / soft
        if np.linalg.norm(over) <= left * scale:
            return self._held(p, b, np.zeros(len(b)))
        return self._held(p, b, self.Z @ np.linalg.solve(self.L.T, -over))

    def fall(self, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How it begins to move under −b by Coulomb's law: accelerations, and forces (n, 3).

        Every round starts from the forces of the one before, p ← the law's of G p − c and ε (p − p₋), so that nothing of ε is left: what tips by a billionth
        of its weight does not seem to slide.
        """
        c = np.linalg.solve(self.L, self.Z.T @ b)
        p = np.zeros(3 * self.n)
        for exact, relaxed in ((ROUGH[0], False), (ROUGH[1], False), (ROUGH[1], True)):
            try:
                p = self._without_compliance(c, relaxed, exact)
                break
            except SolverError:
                continue
        return self.Z @ np.linalg.solve(self.L.T, self.G @ p - c), p.reshape(self.n, 3)

    def _without_compliance(self, c: np.ndarray, relaxed: bool, exact: float) -> np.ndarray:
        soft, p = FALLING * float(np.trace(self.W)) / max(1, 3 * self.n), np.zeros(3 * self.n)
        for k in range(ROUNDS):
            before = p
            try:
                p = self._forces(c, soft, p, relaxed, exact, soft * p)
            except SolverError:
                if not k:
                    raise
                break
            if np.abs(p - before).max(initial=0.0) <= EXACT * np.abs(p).max(initial=0.0):
                break
        return p

    def _held(self, p: np.ndarray, b: np.ndarray, left: np.ndarray) -> Held:
        rest = b - self.rows.T @ p
        free = np.linalg.lstsq(self.E, rest, rcond=1e-12)[0] if self.E.shape[1] else np.zeros(0)
        return Held(p.reshape(self.n, 3), free, left)


__all__ = ["Cones", "Held"]
