"""Full states between the steps of a run in independent coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...solvers.ode.trajectory import Segments
from .independent import Choice

if TYPE_CHECKING:
    from .system import TreeSystem

#: Newton steps that close the loops between steps, from a cubic through the states at both ends.
CLOSING = 8


class BetweenSteps:
    """Full states at any times: the independent ones from the method's interpolant, the others by closing the loops."""

    def __init__(self, system: TreeSystem, t: np.ndarray, x: np.ndarray, pieces: Sequence[tuple[Segments, list[Choice]]]) -> None:
        self.system, self.t, self.x, self.pieces = system, t, x, pieces

    def __call__(self, times: np.ndarray) -> np.ndarray:
        """Full states, one row for each time (in one more dimension than the times)."""
        shape, t = times.shape, np.atleast_1d(times).ravel()
        lo, hi = float(self.t[0]), float(self.t[-1])
        slack = 1e-12 * max(abs(lo), abs(hi))
        if t.size and (t.min() < lo - slack or t.max() > hi + slack):
            raise InputError(f"trajectory: t from {t.min():g} to {t.max():g} s leaves [{lo:g}, {hi:g}] s")
        X = self._guess(t)
        for i, (segments, choices) in enumerate(self.pieces):
            until = self.pieces[i + 1][0].start[0] if i + 1 < len(self.pieces) else np.inf
            begins = [c[0] for c in choices]
            here = np.flatnonzero((t < until) & ((t >= segments.start[0]) | (i == 0)))
            if not len(here):
                continue
            # a choice holds from the beginning of a step
            step = np.clip(np.searchsorted(segments.start, t[here], side="right") - 1, 0, len(segments.start) - 1)
            which = np.clip(np.searchsorted(begins, segments.start[step], side="right") - 1, 0, None)
            values = segments.at(t[here])
            for k in np.unique(which):
                rows = here[which == k]
                X[rows] = self._closed(t[rows], X[rows], values[which == k], choices[k])
        return X.reshape(*shape, -1)

    def _guess(self, t: np.ndarray) -> np.ndarray:
        """Cubics through positions and velocities at both ends of a step."""
        c, nq, nv = self.system.configuration, self.system.nq, self.system.nv
        if len(self.t) < 2:
            return np.repeat(self.x[:1], len(t), axis=0)
        k = np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.t) - 2)
        h = self.t[k + 1] - self.t[k]
        s = ((t - self.t[k]) / np.where(h > 0, h, 1.0))[:, None]
        a, b = self.x[k], self.x[k + 1]
        da, db = (h[:, None] * c.rate(r[:, :nq], r[:, nq : nq + nv]) for r in (a, b))
        X = (1 - s) * a + s * b
        X[:, :nq] += s * (1 - s) * ((1 - s) * (da - (b - a)[:, :nq]) - s * (db - (b - a)[:, :nq]))
        X[:, :nq] = c.normalise(X[:, :nq])
        return X

    def _closed(self, t: np.ndarray, X: np.ndarray, x: np.ndarray, choice: Choice) -> np.ndarray:
        """Rows with given independent values: dependent positions by Newton, then dependent velocities."""
        s, eq = self.system, self.system.equations_of_motion
        _, positions, velocities = choice
        nq, nv, clock = s.nq, s.nv, t[:, None]
        q, v = X[:, :nq].copy(), np.zeros((len(t), nv))
        q[:, positions] = x[:, : len(positions)]
        q = s.configuration.normalise(q)
        v[:, velocities] = x[:, len(positions) : len(positions) + len(velocities)]
        place = dict(zip(s.configuration._scalar_v.tolist(), s.configuration._scalar_q.tolist(), strict=True))
        dependent = [j for j in range(nv) if j not in set(velocities)]
        whole = len(positions) == nq  # dependent velocities close positions that are all carried along
        columns = dependent if whole else [j for j in range(nv) if j in place and place[j] not in set(positions)]
        for _ in range(CLOSING if columns and eq.holonomic else 0):
            h, J = s.function("constraints")(clock, q)
            step = (np.linalg.pinv(J[:, :, columns]) @ h[..., None])[..., 0]
            turn = np.zeros((len(t), nv))
            turn[:, columns] = -step
            q = s.configuration.integrate(q, turn)
            if np.abs(step).max(initial=0.0) < 1e-13:
                break
        f = s.function("constraint_velocities")
        extra = [np.zeros(n) if name != "u" else s.input_values() for name, n in list(f.inputs.items())[3:]]
        columns = dependent
        for _ in range(1 if eq.holonomic == len(eq.rows) else 2):
            w, J = f(clock, q, v, *extra)
            v[:, columns] -= (np.linalg.pinv(J[:, :, columns]) @ w[..., None])[..., 0]
        return np.hstack([q, v, x[:, len(positions) + len(velocities) :]])


__all__ = ["BetweenSteps"]
