"""Direct collocation by the schemes of :mod:`.schemes`, three points an interval.

Every row of the program is a sum of numbers times variables, and of numbers times y of a point, where y holds rates, integrands and
path constraints; those that are integrated are multiplied by the duration T.  Derivatives need nothing but those of y at one point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .points import Points
from .schemes import HERMITE_SIMPSON, Scheme


@dataclass(eq=False)
class Terms:
    """Rows of the program: number × y[output] at a point (times T where ``timed``), and number × variable."""

    row: list[np.ndarray]
    point: list[np.ndarray]
    output: list[np.ndarray]
    number: list[np.ndarray]
    timed: list[np.ndarray]
    linear: list[tuple[np.ndarray, np.ndarray, np.ndarray]]

    def add(self, row: np.ndarray, point: np.ndarray, output: np.ndarray, number: np.ndarray | float, timed: bool) -> None:
        """Some more, broadcast together."""
        parts = np.broadcast_arrays(row, point, output, np.asarray(number, dtype=float), np.array(float(timed)))
        for target, part in zip((self.row, self.point, self.output, self.number, self.timed), parts, strict=True):
            target.append(part.ravel())

    def add_linear(self, row: np.ndarray, variable: np.ndarray, number: np.ndarray | float) -> None:
        """Numbers times variables."""
        parts = np.broadcast_arrays(row, variable, np.asarray(number, dtype=float))
        self.linear.append((parts[0].ravel(), parts[1].ravel(), parts[2].ravel()))


class Collocation:
    """The program of one mesh, in rows: those of the scheme, joined controls, equations, path constraints, integrals, values at the end, the duration.

    ``mesh`` are fractions 0 … 1 of the duration.  States at nodes are shared by neighbours; controls too, unless they may have ``jumps``, by rows where no point is
    shared; unknowns of loops follow from states and controls and are never shared.
    """

    def __init__(
        self, points: Points, mesh: np.ndarray, t0: float, jumps: bool, path: int, integrals: int, finals: int, scheme: Scheme = HERMITE_SIMPSON
    ) -> None:  # fmt: skip
        self.points, self.mesh, self.t0, self.jumps, self.scheme = points, mesh, t0, jumps, scheme
        n, nc, nk, N = points.n, len(points.controls), len(points.unknowns), len(mesh) - 1
        self.N, self.inner = N, len(scheme.nodes)
        count = self.inner * N + 1
        states = np.arange(count * n).reshape(count, n)
        at = self.inner * np.arange(N)[:, None] + np.array(scheme.at)
        first = states.size
        self._joins = not jumps and not scheme.shares
        if jumps or self._joins:
            controls = first + np.arange(3 * N * nc).reshape(N, 3, nc)
            first += 3 * N * nc
        else:
            controls = (first + np.arange(count * nc).reshape(count, nc))[at]
            first += count * nc
        unknowns = first + np.arange(3 * N * nk).reshape(N, 3, nk)
        #: Place of every variable of every point, and of T.
        self.places = np.concatenate([states[at], controls, unknowns], axis=2).reshape(3 * N, n + nc + nk)
        self.states, self.T = states, first + 3 * N * nk
        self.size = self.T + 1
        self.tau = (mesh[:-1, None] + np.diff(mesh)[:, None] * np.array(scheme.points)).ravel()
        #: Fractions of the duration at which states are.
        self.nodes = np.append((mesh[:-1, None] + np.diff(mesh)[:, None] * np.array(scheme.nodes)).ravel(), mesh[-1])
        self._write(path, integrals, finals)
        self._index()

    # -- rows -----------------------------------------------------------------------------------------------------

    def _write(self, path: int, integrals: int, finals: int) -> None:
        """All rows; ``path``, ``integrals`` and ``finals`` count the outputs of the points behind rates and equations."""
        p, N, n = self.points, self.N, self.points.n
        terms = self.terms = Terms([], [], [], [], [], [])
        h = np.diff(self.mesh)[:, None]
        k, i = np.arange(N)[:, None], np.arange(n)[None]
        point = 3 * np.arange(N)[:, None]
        for r, (states, rates) in enumerate(self.scheme.rows):
            row = (r * N + k) * n + i
            for place, number in rates.items():
                terms.add(row, point + place, i, -number * h, True)
            for node, number in states.items():
                terms.add_linear(row, self.states[self.inner * k + node, i], number)
        rows = self._join(len(self.scheme.rows) * N * n)
        every = np.arange(3 * N)[:, None]
        self.held = slice(rows, rows + 3 * N * p.equations)
        terms.add(rows + every * p.equations + np.arange(p.equations), every, n + np.arange(p.equations)[None], 1.0, False)
        rows = self.held.stop
        self.along = slice(rows, rows + 3 * N * path)
        terms.add(rows + every * path + np.arange(path), every, n + p.equations + np.arange(path)[None], 1.0, False)
        rows = self.along.stop
        output = n + p.equations + path
        weights = (h * np.array(self.scheme.weights)).ravel()
        #: Rows of integrals and of values at the end.
        self.integrals, self.finals = np.arange(rows, rows + integrals), np.arange(rows + integrals, rows + integrals + finals)
        for j in range(integrals):
            terms.add(self.integrals[j], np.arange(3 * N), np.array(output + j), weights, True)
        for j in range(finals):
            terms.add(self.finals[j], np.array(3 * N - 1), np.array(output + integrals + j), 1.0, False)
        self.duration = rows + integrals + finals
        terms.add_linear(np.array(self.duration), np.array(self.T), 1.0)
        self.rows = self.duration + 1

    def _join(self, rows: int) -> int:
        """Controls that begin in each interval where they have ended in that before; the number of the next row."""
        n, nc, N = self.points.n, len(self.points.controls), self.N
        if not self._joins or N < 2:
            return rows
        k, j = np.arange(N - 1)[:, None], np.arange(nc)[None]
        row = rows + k * nc + j
        self.terms.add_linear(row, self.places[3 * k + 2, n + j], -1.0)
        for point, part in enumerate(self.scheme.inputs(0.0).tolist()):
            self.terms.add_linear(row, self.places[3 * k + 3 + point, n + j], part)
        return rows + (N - 1) * nc

    # -- structure ------------------------------------------------------------------------------------------------

    def _index(self) -> None:
        """Slots of all derivatives, found once."""
        t, p = self.terms, self.points
        row, point, output, number, timed = (np.concatenate(x) for x in (t.row, t.point, t.output, t.number, t.timed))
        self._row, self._point, self._output, self._number, self._timed = row, point, output, number, timed.astype(bool)
        lrow, lvar, lnum = (np.concatenate([x[k] for x in t.linear]) for k in range(3))
        self._linear = lrow, lvar, lnum
        jr, jc = p.pattern
        by_output = [np.flatnonzero(jr == i) for i in range(len(p.outputs))]
        counts = np.array([len(by_output[i]) for i in output], dtype=int)
        term = np.repeat(np.arange(len(row)), counts)
        entry = np.concatenate([by_output[i] for i in output]) if len(output) else np.zeros(0, int)
        column = jc[entry]
        moving = column > 0
        var = np.where(moving, self.places[point[term], np.maximum(column - 1, 0)], self.T)
        self._term, self._entry, self._moving = term, entry, moving
        timed_terms = np.flatnonzero(self._timed)
        self._timed_terms = timed_terms
        all_rows = np.concatenate([row[term], row[timed_terms], lrow])
        all_vars = np.concatenate([var, np.full(len(timed_terms), self.T), lvar])
        keys = all_rows * self.size + all_vars
        unique, self._slot = np.unique(keys, return_inverse=True)
        self.jac_rows, self.jac_columns = np.divmod(unique, self.size)
        self._index_second()

    def _index_second(self) -> None:
        hr, hc = self.points.second_pattern
        count = len(self.tau)
        full = np.concatenate([np.full((count, 1), self.T), self.places], axis=1)
        a, b = full[:, hr].ravel(), full[:, hc].ravel()
        _, jc = self.points.pattern
        self._cross = np.flatnonzero(jc > 0)
        c = full[:, jc[self._cross]].ravel()
        rows = np.concatenate([np.maximum(a, b), np.full(c.size, self.T), [self.T]])
        columns = np.concatenate([np.minimum(a, b), c, [self.T]])
        keys = rows * self.size + columns
        unique, self._second_slot = np.unique(keys, return_inverse=True)
        self.hess_rows, self.hess_columns = np.divmod(unique, self.size)
        # an entry off the diagonal of (t, z) that falls on the diagonal of the program counts twice
        self._double = np.where((a == b) & (np.tile(hr, count) != np.tile(hc, count)), 2.0, 1.0)

    # -- numbers --------------------------------------------------------------------------------------------------

    def times(self, v: np.ndarray) -> np.ndarray:
        """Instants of the points."""
        return self.t0 + v[self.T] * self.tau

    def all_rows(self, v: np.ndarray) -> np.ndarray:
        """Values of all rows."""
        y = self.points.values(self.times(v), v[self.places])
        factor = np.where(self._timed, v[self.T], 1.0) * self._number
        found = np.bincount(self._row, weights=factor * y[self._point, self._output], minlength=self.rows)
        lrow, lvar, lnum = self._linear
        return found + np.bincount(lrow, weights=lnum * v[lvar], minlength=self.rows)

    def all_slopes(self, v: np.ndarray) -> np.ndarray:
        """Derivatives of all rows, in the slots of ``jac_rows`` and ``jac_columns``."""
        t, z, T = self.times(v), v[self.places], v[self.T]
        s = self.points.slopes(t, z)
        factor = (np.where(self._timed, T, 1.0) * self._number)[self._term]
        entries = factor * s[self._point[self._term], self._entry] * np.where(self._moving, 1.0, self.tau[self._point[self._term]])
        y = self.points.values(t, z)
        k = self._timed_terms
        by_time = self._number[k] * y[self._point[k], self._output[k]]
        return np.bincount(self._slot, weights=np.concatenate([entries, by_time, self._linear[2]]), minlength=len(self.jac_rows))

    def all_curvatures(self, v: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Second derivatives of the weighted sum of all rows, in the slots of ``hess_rows`` and ``hess_columns``."""
        t, z, T = self.times(v), v[self.places], v[self.T]
        count, width = len(t), len(self.points.outputs)
        part = weights[self._row] * self._number
        place = self._point * width + self._output
        timed = np.bincount(place, weights=part * self._timed, minlength=count * width).reshape(count, width)
        plain = np.bincount(place, weights=part * ~self._timed, minlength=count * width).reshape(count, width)
        hr, hc = self.points.second_pattern
        H = self.points.curvatures(t, z, T * timed + plain)
        s = self.points.slopes(t, z)
        jr, jc = self.points.pattern
        tau = self.tau[:, None]
        H = H * np.where(hr == 0, tau, 1.0) * np.where(hc == 0, tau, 1.0)
        cross = timed[:, jr[self._cross]] * s[:, self._cross]
        still = np.flatnonzero(jc == 0)
        both = 2.0 * float(np.sum(timed[:, jr[still]] * s[:, still] * tau))
        entries = np.concatenate([H.ravel() * self._double, cross.ravel(), [both]])
        return np.bincount(self._second_slot, weights=entries, minlength=len(self.hess_rows))


__all__ = ["Collocation"]
