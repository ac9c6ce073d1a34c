"""Where runs of an assembled system start: positions and rates on the constraints, and the rows that follow from others there.

Constraints are evaluated natively, and patterns and orders of elimination are kept, because short runs are mostly this.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...elements.instant import ElementInstant
from ...errors import InputError
from ...forking import lock
from ...native import engine
from ...native.function import Function, compile_function
from ...solvers.linear.saddle import ConstraintRows
from ...solvers.stepping.frame import SCALARS
from ...solvers.stepping.rows import RowFrame, RowType, rows_at
from ...symbolic.graph import evaluate
from .instant import constants_of
from .program import initial_history, prepared

if TYPE_CHECKING:
    from .instant import Equations
    from .program import Instance

#: Violations of the initial state below this part of the coordinates are removed, larger ones refused.
TOLERATED = 1e-6
#: Part of the coordinates to which positions are brought, and the most corrections.
EXACT, CORRECTIONS = 4e-16, 5
#: Difference from a motion of massless coordinates, of size 1, from which on they are looked at more closely.
PROBED = 1e-3
#: Rates that miss constraints by less than this part are left as an impact has made them.
MET = 1e-13


class InconsistentState(InputError):
    """A state that is too far from the constraints to start from."""


_ROWS: dict[Any, Function] = {}


def _rows_of(step: ElementInstant) -> Function:
    """The compiled rows of an element type, kept: tables hold their address."""
    key = step.element.key
    with engine.lock:
        if key not in _ROWS:
            _ROWS[key] = compile_function(step.rows())
    return _ROWS[key]


class Start:
    """Constraints of an assembled system, evaluated and met; rows of ``preferred`` instances are kept before those of others."""

    def __init__(self, equations: Equations, preferred: Callable[[], set[str]]) -> None:
        self.equations, self._preferred = equations, preferred
        self._lock = lock()
        self.place = np.cumsum(equations.free) - 1  # of free coordinates among themselves
        self._tabulate()

    def _tabulate(self) -> None:
        """One table for all types that have rows or first-order rates."""
        nq, free, names = self.equations.nq, self.equations.free, self.equations.row_names
        types: list[tuple[int, ...]] = []
        gather, keys, constants = [np.zeros(0, np.int64)], [np.full(1, -1)], [np.zeros(1)]
        rate_of: list[int] = []
        #: Instances with internal variables.
        self._remembering: list[Instance] = []
        at = {"constant": 1, "gather": 0, "row": 0, "slot": 0, "history": 0}
        work = size = result = 1
        for step, members in self.equations.groups:
            m, pattern, rates = len(step.row_names), list(step.row_entries), list(step.first_order_rates)
            n, k, count = step.element.size, len(step.packing.history), len(members)
            if m or rates:
                f = _rows_of(step)
                block, index = prepared(f, [i.numbers for i in members]), self.equations.local_coordinates(step, members)
                types.append((count, n, m, k, len(pattern), len(rates), f.address, at["constant"], block.shape[1], at["gather"], at["row"],
                              at["slot"], at["history"], len(rate_of)))  # fmt: skip
                i, j = np.array(pattern, np.int64).reshape(-1, 2).T
                row, column = at["row"] + np.arange(count)[:, None] * m + i, index[:, j]
                keys.append(np.where(free[column], row * nq + column, -1).ravel())
                gather.append(index.ravel())
                constants.append(block.ravel())
                rate_of += rates
                self._remembering += members if k else []
                for name, added in zip(at, (block.size, index.size, 0, keys[-1].size, count * k), strict=True):
                    at[name] += added
                work, size, result = (
                    max(work, f.signature.workspace),
                    max(size, 4 * n + m + k),
                    max(result, 2 * m + len(pattern) + len(rates)),
                )
            at["row"] += count * m
        found, slots = np.unique(np.concatenate(keys), return_inverse=True)
        row, column = np.divmod(found[1:], max(1, nq))
        self._places = row, self.place[column]
        self._frame = RowFrame(
            types=RowType.table(types), gather=np.concatenate(gather), slots=(slots[1:] - 1).astype(np.int64), rate_of=np.array(rate_of, np.int64),
            constants=np.concatenate(constants), value=np.zeros(len(names)), drift=np.zeros(len(names)), entries=np.zeros(row.size),
            rates=np.zeros(nq), args=np.zeros(8, np.int64), x=np.zeros(SCALARS + size), y=np.zeros(result), work=np.zeros(work),
            history=np.zeros(at["history"]),
        )  # fmt: skip

    @cached_property
    def rows(self) -> ConstraintRows:
        """The pattern of G over the free coordinates."""
        e, names = self.equations, self._preferred()
        rank = np.where(e.inside_bodies, 2, [instance in names for instance, _ in e.row_names])
        return ConstraintRows(*self._places, (len(e.row_names), int(e.free.sum())), rank, e.owner[e.free], e.row_owner)

    @cached_property
    def massless(self) -> np.ndarray:
        """Free coordinates without mass."""
        e = self.equations
        mass = np.zeros(e.nq)
        for step, members in e.groups:
            if step.masses:
                index, known = e.local_coordinates(step, members), constants_of(step, members)
                for (b, i, _, _), m in zip(step.masses, evaluate(list(step.masses.values()), known), strict=True):
                    np.add.at(mass, index[:, step.index[b, i]], np.abs(m))
        for part in e.native:
            np.add.at(mass, part.index, np.abs(part.masses).sum(axis=2))
        return e.free & ~e.first & (mass == 0.0)

    # -- evaluation ---------------------------------------------------------------------------------------------------

    def at(self, q: np.ndarray, v: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Φ, what is prescribed of G v, and the entries of G at a state."""
        f = self._frame
        f.q, f.v, f.t = np.ascontiguousarray(q), np.ascontiguousarray(v), t
        if self._remembering:
            f.history[:] = np.concatenate([initial_history(i, q) for i in self._remembering])
        rows_at.call(f.address)
        return f.value, f.drift, f.entries

    def _defect(self, entries: np.ndarray, v: np.ndarray, drift: np.ndarray) -> np.ndarray:
        return self.rows.times(entries, v[self.equations.free]) + drift

    # -- consistent states --------------------------------------------------------------------------------------------

    def consistent(self, q: np.ndarray, v: np.ndarray, t: float, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Positions and rates that meet the constraints to rounding; refuses those that are far from it.

        Coordinates without mass that no constraint determines are put into their balance.
        """
        with self._lock:
            q = self._on_constraints(q, v, t, "position", name)
            drift, entries = self._frame.drift, self._frame.entries  # there
            determined = not self.massless.any()
            if drift.size:
                v, determined = self._completed(entries, v, drift)
                defect = self._defect(entries, v, drift)
                self._refuse(defect, 10.0 * TOLERATED * max(1.0, float(np.abs(v).max(initial=0.0))), "velocity", name)
                if defect.any():
                    nearest, v = self.rows.least(entries), v.copy()
                    for _ in range(2):
                        v[self.equations.free] -= nearest(self._defect(entries, v, drift))
            if not determined:
                from .massless import balanced

                q, v = balanced(self.equations, q, v, t, name)
            return q, self._with_first_order(q, v, t)

    def _on_constraints(self, q: np.ndarray, v: np.ndarray, t: float, what: str, name: str) -> np.ndarray:
        """Positions by Newton's method, until rounding is left; the frame has been evaluated there."""
        span, last = max(1.0, float(np.abs(q).max(initial=0.0))), np.inf
        for k in range(CORRECTIONS + 1):
            value, _, entries = self.at(q, v, t)
            worst = float(np.abs(value).max(initial=0.0))
            if k == 0:
                self._refuse(value, TOLERATED * span, what, name)
            if worst <= EXACT * span or not worst < 0.5 * last or k == CORRECTIONS:
                break
            q, last = q.copy(), worst
            q[self.equations.free] -= self.rows.least(entries)(value)
        return q

    def _completed(self, entries: np.ndarray, v: np.ndarray, drift: np.ndarray) -> tuple[np.ndarray, bool]:
        """Rates with those of massless coordinates (angles, lengths) from those of the bodies, and whether constraints determine all of them.

        They do where any motion of massless coordinates is the smallest one with its effect on the rows.
        """
        free = self.equations.free
        massless = self.massless[free]
        if not massless.any():
            return v, True
        alone = np.where(massless[self.rows.column], entries, 0.0)
        probe = np.where(massless, np.cos(np.arange(massless.size)), 0.0)
        nearest, v = self.rows.least(alone), v.copy()
        v[free] -= np.where(massless, nearest(self._defect(entries, v, drift)), 0.0)
        return v, float(np.abs(nearest(self.rows.times(alone, probe)) - probe).max()) < PROBED

    def _with_first_order(self, q: np.ndarray, v: np.ndarray, t: float) -> np.ndarray:
        """Rates with those of first-order coordinates."""
        first = self.equations.first
        if not first.any():
            return v
        self.at(q, v, t)
        return np.where(first, self._frame.rates, v)

    def after_impact(
        self, v0: np.ndarray, q: np.ndarray, v: np.ndarray, t: float, old: set[tuple[str, str]], name: str
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """State after an impact at which rates were to jump from v₀ to v: the nearest ones, in the metric of the masses, that constraints admit.

        M (v₁ − v) + Ḡᵀι = 0 with G v₁ + rate = 0 for new rows; rows that were there (``old``) keep what the scheme left of them.
        """
        from scipy.sparse import bmat, csc_matrix, identity
        from scipy.sparse.linalg import splu

        with self._lock:
            e, q = self.equations, self._on_constraints(q, v, t, "position after an event", name)
            drift, entries = self._frame.drift, self._frame.entries
            there = np.array([r in old for r in e.row_names], bool)
            defect = self._defect(entries, v, drift) - np.where(there, self._defect(entries, v0, drift), 0.0)
            if np.abs(defect).max(initial=0.0) > MET * max(1.0, float(np.abs(v).max(initial=0.0))):
                now, f = e.at(q, v, t), np.flatnonzero(e.free)
                mass, scale = now.mass[f][:, f], max(1e-300, float(abs(now.mass).max()))
                K = csc_matrix(bmat([[mass, now.acting[:, f].T], [now.rows[:, f], -1e-13 / scale * identity(len(defect))]]))
                v = v.copy()
                v[f] += splu(K).solve(np.concatenate([np.zeros(f.size), -defect]))[: f.size]
            return q, self._with_first_order(q, v, t)

    def _refuse(self, defect: np.ndarray, limit: float, what: str, name: str) -> None:
        if defect.size and not np.abs(defect).max() <= limit:
            k = int(np.argmax(np.abs(defect)))
            instance, row = self.equations.row_names[k]
            raise InconsistentState(
                f"system '{name}': the initial {what} violates '{row}' of element '{instance}' by {abs(defect[k]):.3g}; "
                "give coordinates and rates that meet the constraints"
            )

    def redundant(self, q: np.ndarray, v: np.ndarray, t: float) -> frozenset[tuple[str, str]]:
        """Rows that depend on others at a state; those inside a body are kept first, then those of preferred instances."""
        if not self._frame.entries.size:
            return frozenset()
        with self._lock:
            return frozenset(self.equations.row_names[i] for i in self.rows.dependent(self.at(q, v, t)[2]).tolist())


__all__ = ["InconsistentState", "Start"]
