"""Runs with loops, nonholonomic constraints or quaternions that can be differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...formalisms.functions.dynamics import state_rates
from ...solvers.sensitivity.field import Field, map_of
from ...symbolic.expr import ZERO, Expr
from ...systems.constraints import velocity_column
from ...systems.sensitivity import Derived, give
from ...systems.tree.linkage import Linked
from ..equations.start_values import independent_names
from .runs import Differentiable, NotCarried


class Constrained(Differentiable):
    """The same with loops, nonholonomic constraints or quaternions: states are put back onto them after each step."""

    #: The constants of its functions, where it shares them with other rates.
    shared: Sequence[Expr] | None = None
    #: Velocities that follow from the others at the start.
    _dependent: Sequence[int] = ()

    def field(self, symbols: Sequence[Expr], keep: list[Any]) -> Field:
        """The rate with its maps."""
        eq, known = self.eq, {p.id for p in self.eq.p}
        own = [e for e in symbols if e.id in known]
        rates = [] if eq.rows else self.rates_alone()
        self.linked = Linked(
            eq, self.inputs.signals, self.system.parameter_vector, own, [*rates, *self._expressions_beside()], self.arrays, self.held_places, self.active, self.shared
        )  # fmt: skip
        self.laws: list[Expr] = self.linked.motion.linear.outputs
        self._derive(rates, symbols, self.linked.motion.linear.constants)
        self._new_record(len(eq.rows), self.linked.motion.nc, keep)
        self._attach()
        return self.record

    def rates_alone(self) -> list[Expr]:
        """ẋ without constraints."""
        return [*state_rates(self.eq), *([ZERO] * len(self.held))]

    @property
    def _functions(self) -> tuple[Derived, ...]:
        return (*(() if self.eq.rows else (self.rates,)), *self.linked.functions, *self._beside)

    def _attach(self) -> None:
        self._take_native()
        self.linked.attach(self.native, self.record, self.u, self._kept_stages())
        project = self.native.project
        self._project = None if project is None else self.with_held(project)
        self.record.project = map_of(self._project, 3)
        self._touch()
        for word in self._needed:
            self.need(word)
        self._slopes()

    def _kept_stages(self) -> int:
        """Stages whose rates are those of the mechanism alone, so that their factors serve their pulls, too."""
        return 0 if self.scheme.implicit or self.touched is not None else self.scheme.s

    def _slopes(self) -> None:
        self.slopes = self.linked.motion.slopes

    def need(self, word: str) -> None:
        """Compiles pushes or pulls, if they are not yet."""
        self._needed.add(word)
        if not self.eq.rows:
            give(self.record, self.rates, word, self.u, self.keep)
        if self.touched is None or not self.touched.around(word):
            self.linked.need(word)
        self._need_beside(word)

    def widen(self, wide: Field, lanes: int) -> list[Any]:
        """The same with constraints."""
        kept = self._widened(wide, lanes, None if self.eq.rows else self.rates)
        self.linked.widen(wide)
        if self.touched is not None:
            self.touched.widen(wide)
        return kept

    def bent_constants(self, cbar: np.ndarray, dp: np.ndarray) -> np.ndarray:
        """The same of the equations with constraints."""
        return self.linked.motion.curvature(cbar, dp) if self.eq.rows else super().bent_constants(cbar, dp)

    def _given_changes(self, wrt: Sequence[str], initial: Sequence[tuple[int, int]], by: np.ndarray, symbols: Sequence[Expr]) -> np.ndarray:
        """Independent coordinates and velocities are as they are given; dependent ones follow by closing the loops."""
        found = super()._given_changes(wrt, initial, by, symbols)
        s, mh = self.system, self.eq.holonomic
        if not self.eq.rows:
            return found
        nq, nv, c = s.nq, s.nv, self.linked.closure
        slopes, by_constants = self._closure_slopes()
        drive = by_constants @ self.wide_slopes(c, symbols) @ by.T  # how the constraints move with the variables alone
        self._dependent = self._dependent_with({self._column(place) for _, place in initial if place < nq + nv})
        for level, along in zip((slice(0, mh), slice(mh, len(slopes))), self._dependent_changes(), strict=True):
            if not len(drive[level]):
                continue
            others = slopes[level] @ found.T + drive[level]
            found += -np.linalg.lstsq(slopes[level] @ along, others, rcond=1e-9)[0].T @ along.T
        return found

    def _column(self, place: int) -> int:
        """The velocity that belongs to a place in the state."""
        s = self.system
        return velocity_column(s, s.coordinate_names[place]) if place < s.nq else place - s.nq

    def _dependent_changes(self) -> tuple[np.ndarray, np.ndarray]:
        """What dependent displacements, and dependent velocities, change in the state (a column each)."""
        s, n = self.system, len(self._dependent)
        moves, units = np.zeros((2, self.record.n, n)), np.eye(s.nv)[self._dependent]
        for k, unit in enumerate(units):
            moves[0, : s.nq, k] = s.configuration.rate(self.start.q, unit)
        moves[1, s.nq + np.array(self._dependent, dtype=int), range(n)] = 1.0
        return moves[0], moves[1]

    def _dependent_with(self, given: set[int]) -> list[int]:
        """Velocities that follow from the others at the start, where some are ``given``."""
        names = [n.removesuffix("_rate") for n in self.system.velocity_names]
        chosen = {velocity_column(self.system, n) for n in independent_names(self.system, self.start, {names[j] for j in given})}
        if not given <= chosen:
            told = ", ".join(f"'{names[j]}'" for j in sorted(given))
            raise InputError(
                f"gradient of '{self.system.model.name}': the starts of {told} cannot all change on their own; its loops leave {len(chosen)} independent"
            )
        return [j for j in range(self.system.nv) if j not in chosen]

    def _closure_slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the constraints (h, w) at the start by the state and by their constants."""
        c = self.linked.closure
        x = self._unsampled()
        rows = [self.pulled(c, self.start.t, x, w) for w in np.eye(len(c.linear.outputs))]
        return np.array([bar[1:] for bar, _ in rows]), np.array([cbar for _, cbar in rows]).reshape(len(rows), c.nc)

    def start_bends(
        self, xbar: np.ndarray, changes: np.ndarray, dx: np.ndarray, dp: np.ndarray, by: np.ndarray, symbols: Sequence[Expr]
    ) -> np.ndarray:  # fmt: skip
        """Of C(x, c) = 0 with dependent x_d: C_dᵀy = −x̄_d gives C_iᵀy and C_cᵀy of what is given; their changes are those of y and the bend of C."""
        if not self.eq.rows:
            return super().start_bends(xbar, changes, dx, dp, by, symbols)
        if self.system.configuration.quaternions:
            if changes[:, : self.system.nq + self.system.nv].any():
                raise NotCarried(
                    f"Hessian of '{self.system.model.name}': variables that move the start of a loop with quaternions are not carried; use spherical(…, "
                    "orientation='xyz'), or method='differences'"
                )
            return np.zeros((len(xbar), len(changes)))
        nq, mh, c = self.system.nq, self.eq.holonomic, self.linked.closure
        slopes, by_constants = self._closure_slopes()
        dependent = self._dependent
        levels = [
            (np.array([first + j for j in dependent], dtype=int), rows) for first, rows in ((0, slice(0, mh)), (nq, slice(mh, len(slopes))))
        ]
        table = self.wide_slopes(c, symbols)
        own = [j for j, s in enumerate(symbols) if s.id in {p.id for p in c.linear.wrt}]

        def weights(of: np.ndarray) -> np.ndarray:
            y, rest = np.zeros(len(slopes)), of.copy()
            for places, rows in levels[::-1]:  # velocities, and then the positions on which they depend
                if slopes[rows].size and len(places):
                    y[rows] = -np.linalg.lstsq(slopes[rows][:, places].T, rest[places], rcond=1e-9)[0]
                    rest = rest + y[rows] @ slopes[rows]
            return y

        given = changes.copy()
        given[:, [j for places, _ in levels for j in places]] = 0.0
        found = np.zeros((len(xbar), len(changes)))
        for r, w in enumerate(xbar):
            y = weights(w)
            bar, cbar = c.bend(np.array([self.start.t]), self.start.x, self.u[: len(self.eq.u)], y, np.concatenate([[0.0], dx]), table @ dp)
            bent = np.atleast_1d(bar)[1:]
            dy = weights(bent)
            by_symbols = (np.atleast_1d(cbar) + dy @ by_constants) @ table
            by_symbols[own] += c.curvature(y @ by_constants, dp[own])
            found[r] = given @ (bent + dy @ slopes) + by @ by_symbols
        return found


__all__ = ["Constrained"]
