"""States of an assembled system that meet its equations together with their derivatives.

Equations of higher index hide conditions: of M q̈ + f + Gᵀλ + Bᵀu = 0 with Φ(q) = 0 and b(q) = γ(t) the derivatives of the constraints up to
order k + 2 and of the balance up to order k are taken symbolically, and solved for the Taylor coefficients of q(t), λ(t) and u(t) at one
instant; what they leave open stays near what was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb
from typing import Any

import numpy as np
from scipy.linalg import svd
from scipy.sparse import coo_matrix

from ...elements.discrete.stepping import ElementStep
from ...elements.element import Element
from ...errors import InputError, SolverError
from ...symbolic.derivatives import jvp, sparse_jacobian
from ...symbolic.expr import ONE, ZERO, Expr, add, as_expr, mul, sub, symbol
from ...symbolic.graph import evaluate, substitute
from .instant import MOMENT, Equations

#: Singular values below this part of the largest count as zero.
RANK = 1e-11


@dataclass(frozen=True)
class _Derived:
    """Derivatives of one type: ``residuals[k][i]`` are those of order k of equation i, ``slopes[m]`` those of order m of the equations'
    derivatives by coordinates, rates, accelerations (n each) and multipliers, at ``places`` (equation, variable); ``last`` is the highest
    order of each equation, ``jets`` the symbols of the derivatives of coordinates and of multipliers."""

    step: ElementStep
    residuals: list[list[Expr]]
    slopes: list[list[Expr]]
    places: list[tuple[int, int]]
    last: list[int]
    jets: tuple[list[list[Expr]], list[list[Expr]]]
    time: Expr


_DERIVED: dict[Any, _Derived] = {}


def _derived(element: Element, order: int) -> _Derived:
    """The derivatives of a type, made once in a process."""
    key = (element.key, order)
    if key not in _DERIVED:
        _DERIVED[key] = _derive(ElementStep(element, "end"), order)
    return _DERIVED[key]


def _derive(step: ElementStep, order: int) -> _Derived:
    n, m = step.element.size, len(step.row_names)
    q = [[symbol(f"q{k}[{i}]", "position") for i in range(n)] for k in range(order + 3)]
    lam = [[symbol(f"lambda{k}[{i}]", "acceleration") for i in range(m)] for k in range(order + 1)]
    time = symbol("time", "time")
    along: dict[Expr, Expr] = {time: ONE}
    for jets in (q, lam):
        for now, then in pairwise(jets):
            along |= dict(zip(now, then, strict=True))
    equations = _equations(step, q, lam[0], time)
    # the balance is derived twice less than constraints, rows on rates once less
    rolling = range(len(step.holonomic), len(step.holonomic) + len(step.rolling))
    last = [order] * n + [order + 1 if i in rolling else order + 2 for i in range(m)]
    entries = sparse_jacobian(equations, [*q[0], *q[1], *q[2], *lam[0]])
    residuals, slopes = [equations], [list(entries.values())]
    for k in range(1, order + 3):
        residuals.append([d if k <= top else ZERO for d, top in zip(jvp(residuals[-1], along), last, strict=True)])
        slopes.append([d if k <= last[i] else ZERO for d, (i, _) in zip(jvp(slopes[-1], along), entries, strict=True)])
    return _Derived(step, residuals, slopes, list(entries), last, (q, lam), time)


class Jets:
    """The equations of a system with their time derivatives up to ``order`` (constraints: two more).

    Unknowns are x = (q, q̇, … , q^(order+2), λ, … , λ^(order)), λ in the order of ``equations.row_names`` and with the inputs among them.
    """

    def __init__(self, equations: Equations, order: int) -> None:
        if equations.native:
            raise InputError(
                f"time derivatives of equations are not known for solids and beams ('{equations.native[0].members[0].name}'); take servo='direct'"
            )
        self.equations, self.order = equations, order
        self.nq, self.m = equations.nq, len(equations.row_names)
        self.size = (order + 3) * self.nq + (order + 1) * self.m
        self._groups = [(_derived(step.element, order), members) for step, members in equations.groups]

    # -- numbers -----------------------------------------------------------------------------------------------------------

    def evaluate(self, x: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Residuals and their (dense) derivatives by x: balances of orders 0 … k, then rows of orders 0 … k + 2.

        ∂F^(k)/∂y^(j) of an equation F that depends on y^(b) is Σ C(k, m) (∂F/∂y^(b))^(m) with j = k − m + b.
        """
        nq, m, order = self.nq, self.m, self.order
        rows_at, lam_at = (order + 1) * nq, (order + 3) * nq
        r = np.zeros(rows_at + (order + 3) * m)
        parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        first, still = 0, np.zeros(nq)
        for g, members in self._groups:
            index = self.equations.local_coordinates(g.step, members)
            count, n, own = len(members), g.step.element.size, len(g.step.row_names)
            local = first + np.arange(count)[:, None] * own + np.arange(own)
            first += count * own
            known: dict[Any, Any] = {**self.equations.packed_values(g.step, members, index, x[:nq], still, t), g.time: t}
            for jets, at, width, places in ((g.jets[0], 0, nq, index), (g.jets[1], lam_at, m, local)):
                known |= {e: x[at + k * width + places[:, i]] for k, symbols in enumerate(jets) for i, e in enumerate(symbols)}
            flat = evaluate([e for level in (*g.residuals, *g.slopes) for e in level], known)
            values = np.array([np.broadcast_to(v, (count,)) for v in flat]).reshape(len(flat), count)
            size = n + own
            of_slopes = values[size * (order + 3) :].reshape(order + 3, len(g.places), count)

            def row(i: int, k: int, index: np.ndarray = index, local: np.ndarray = local, n: int = n) -> np.ndarray:
                return k * nq + index[:, i] if i < n else rows_at + k * m + local[:, i - n]

            def column(c: int, j: int, index: np.ndarray = index, local: np.ndarray = local, n: int = n) -> np.ndarray:
                return (j + c // n) * nq + index[:, c % n] if c < 3 * n else lam_at + j * m + local[:, c - 3 * n]

            for i, top in enumerate(g.last):
                for k in range(top + 1):
                    np.add.at(r, row(i, k), values[k * size + i])
            for e, (i, c) in enumerate(g.places):
                changing = [d for d in range(g.last[i] + 1) if g.slopes[d][e] is not ZERO]
                for k in range(g.last[i] + 1):
                    parts += [(comb(k, d) * of_slopes[d, e], row(i, k), column(c, k - d)) for d in changing if d <= k]
        value, at_row, at_column = (np.concatenate(p) for p in zip(*parts, strict=True))
        return r, coo_matrix((value, (at_row, at_column)), shape=(r.size, self.size)).toarray()

    def consistent(self, q: np.ndarray, v: np.ndarray, t: float, name: str) -> np.ndarray:
        """The x nearest to given positions and rates: Gauss–Newton steps that change these as little as they can, then the rest."""
        free = np.tile(self.equations.free, self.order + 3)
        nq, total = self.nq, (self.order + 3) * self.nq
        kept = np.concatenate([np.flatnonzero(free), total + np.arange((self.order + 1) * self.m)])
        state, rest = kept[kept < 2 * nq], kept[kept >= 2 * nq]
        balances = np.tile(self.equations.free, self.order + 1)
        rows = np.concatenate([np.flatnonzero(balances), np.arange(balances.size, balances.size + (self.order + 3) * self.m)])
        x = np.zeros(self.size)
        x[:nq], x[nq : 2 * nq] = q, np.where(self.equations.free, v, 0.0)
        last = np.inf
        for _ in range(25):
            r, J = (a[rows] for a in self.evaluate(x, t))
            size = np.linalg.norm(J, axis=1)
            scale = 1.0 / np.where(size > 0.0, size, 1.0)
            r, J = scale * r, scale[:, None] * J
            error = float(np.abs(r).max(initial=0.0))
            if not np.isfinite(error):
                break
            moved = _solve(J[:, state], J[:, rest], r)
            x[state] += moved[: state.size]
            x[rest] += moved[state.size :]
            change = float((np.abs(moved) / (1.0 + np.abs(x[kept]))).max(initial=0.0))
            if error <= 1e-9 and (change <= 1e-13 or change > 0.3 * last):
                return x
            last = change
        raise SolverError(
            f"system '{name}': no state near the given one meets the servo constraints and their derivatives at t = {t:g} s; "
            "give a start near the motion wanted, and motions that are smooth there"
        )


def _equations(step: ElementStep, q: Sequence[Sequence[Expr]], lam: Sequence[Expr], time: Expr) -> list[Expr]:
    """Balance and rows of an element at an instant, of coordinates, rates, accelerations, multipliers and time."""
    p = step.packing
    moment = as_expr(MOMENT)
    before = [sub(a, mul(moment, b)) for a, b in zip(q[0], q[1], strict=True)] if step.element.internal(step.s) else q[0]
    known: dict[Expr, Expr] = dict(zip(p.scalars, (moment, sub(time, moment), ONE, ONE, ZERO), strict=True))
    for symbols, entries in ((p.q0, before), (p.q1, q[0]), (p.offset, q[1]), (p.multipliers, lam)):
        known |= dict(zip(symbols, entries, strict=True))
    acting = step.acting_rows
    balance = [add(a, b) for a, b in zip(step.slopes(step.potential, "potential", "end"), step.other_forces, strict=True)]
    for row, multiplier in zip(acting, p.multipliers, strict=True):
        balance = [add(b, mul(g, multiplier)) for b, g in zip(balance, row, strict=True)]
    balance = [add(a, b) for a, b in zip(substitute(balance, known), step.mass_times(q[2]), strict=True)]
    values = substitute(step.row_residuals, known)
    for k in range(len(step.holonomic), len(step.holonomic) + len(step.rolling)):
        values[k] = ZERO
        for g, rate in zip(substitute(acting[k], known), q[1], strict=True):
            values[k] = add(values[k], mul(g, rate))
    return balance + values


def _solve(A: np.ndarray, B: np.ndarray, r: np.ndarray) -> np.ndarray:
    """The smallest x, and with it the smallest y, of A x + B y + r = 0."""
    U, values, _ = svd(B)
    left = U[:, int((values > RANK * values[0]).sum()) :]  # what no y can change
    x = np.linalg.lstsq(left.T @ A, -left.T @ r, rcond=RANK)[0]
    return np.concatenate([x, np.linalg.lstsq(B, -r - A @ x, rcond=RANK)[0]])


__all__ = ["Jets"]
