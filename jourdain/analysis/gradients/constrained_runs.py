"""Runs with loops, nonholonomic constraints or quaternions that can be differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...formalisms.functions.dynamics import state_rates
from ...solvers.sensitivity.field import Field, map_of
from ...symbolic.expr import Expr
from ...systems.constraints import velocity_column
from ...systems.sensitivity import Derived, field
from ...systems.tree.linkage import Linked
from ..start_values import independent_names
from .runs import Differentiable, NotCarried


class Constrained(Differentiable):
    """The same with loops, nonholonomic constraints or quaternions: states are put back onto them after each step."""

    def field(self, symbols: Sequence[Expr], keep: list[Any]) -> Field:
        """The rate with its maps."""
        s, eq, known = self.system, self.eq, {p.id for p in self.eq.p}
        own = [e for e in symbols if e.id in known]
        n, m = s.nq + s.nv + s.nz, len(eq.rows)
        rates = [] if m else state_rates(eq)
        self.linked = Linked(eq, self.inputs.signals, s.parameter_vector, own, rates)
        self.laws: list[Expr] = self.linked.motion.linear.outputs
        if not m:
            super().field(symbols, keep)
            shared = self.linked.motion.linear.constants
            self.rates = self._derived("rates", rates, symbols, shared)
        self.record, self.keep = field(self.native.rhs, n, s.nq, s.nv, m, self.linked.motion.nc), keep
        self._attach()
        return self.record

    @property
    def _functions(self) -> tuple[Derived, ...]:
        return self.linked.functions if self.eq.rows else (self.rates, *self.linked.functions)

    def _attach(self) -> None:
        self.record.value = map_of(self.native.rhs, 3)
        self.linked.attach(self.native, self.record, self.u)
        for word in self._needed:
            self.linked.need(word)
        self._slopes()

    def _slopes(self) -> None:
        self.slopes = self.linked.motion.slopes

    @cached_property
    def _needed(self) -> set[str]:
        return set()

    def need(self, word: str) -> None:
        """Compiles pushes or pulls, if they are not yet."""
        if not self.eq.rows:
            super().need(word)
        self._needed.add(word)
        self.linked.need(word)

    def widen(self, wide: Field, lanes: int) -> list[Any]:
        """The same with constraints."""
        kept = self._widened(wide, lanes, {} if self.eq.rows else {"push": self.rates})
        self.linked.widen(wide)
        return kept

    def bent_constants(self, cbar: np.ndarray, dp: np.ndarray) -> np.ndarray:
        """The same of the equations with constraints."""
        return self.linked.motion.curvature(cbar, dp) if self.eq.rows else super().bent_constants(cbar, dp)

    def start_changes(self, wrt: Sequence[str], initial: Sequence[tuple[int, int]], by: np.ndarray, symbols: Sequence[Expr]) -> np.ndarray:
        """Independent coordinates and velocities are as they are given; dependent ones follow by closing the loops."""
        found = super().start_changes(wrt, initial, by, symbols)
        s, mh = self.system, self.eq.holonomic
        if not self.eq.rows:
            return found
        if s.configuration.quaternions:
            raise NotCarried(
                f"gradient of '{s.model.name}': starts with quaternions and constraints are not carried; use method='differences'"
            )
        nq, nv, c = s.nq, s.nv, self.linked.closure
        slopes, by_constants = self._closure_slopes()
        drive = by_constants @ self.wide_slopes(c, symbols) @ by.T  # how the constraints move with the variables alone
        dependent = self._dependent()
        for first, level in ((0, slice(0, mh)), (nq, slice(mh, len(slopes)))):
            if not len(drive[level]):
                continue
            J = slopes[level][:, first : first + nv]
            others = slopes[level] @ found.T + drive[level] - J[:, dependent] @ found[:, [first + j for j in dependent]].T
            found[:, [first + j for j in dependent]] = -np.linalg.lstsq(J[:, dependent], others, rcond=1e-9)[0].T
        return found

    def _dependent(self) -> list[int]:
        """Velocities that follow from the others at the start."""
        chosen = {velocity_column(self.system, n) for n in independent_names(self.system, self.start)}
        return [j for j in range(self.system.nv) if j not in chosen]

    def _closure_slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the constraints (h, w) at the start by the state and by their constants."""
        c = self.linked.closure
        rows = [self._pulled(c, self.start.t, self.start.x, w) for w in np.eye(len(c.linear.outputs))]
        return np.array([bar[1:] for bar, _ in rows]), np.array([cbar for _, cbar in rows]).reshape(len(rows), c.nc)

    def start_bends(
        self, xbar: np.ndarray, changes: np.ndarray, dx: np.ndarray, dp: np.ndarray, by: np.ndarray, symbols: Sequence[Expr]
    ) -> np.ndarray:  # fmt: skip
        """Of C(x, c) = 0 with dependent x_d: C_dᵀy = −x̄_d gives C_iᵀy and C_cᵀy of what is given; their changes are those of y and the bend of C."""
        if not self.eq.rows:
            return super().start_bends(xbar, changes, dx, dp, by, symbols)
        nq, mh, c = self.system.nq, self.eq.holonomic, self.linked.closure
        slopes, by_constants = self._closure_slopes()
        dependent = self._dependent()
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
