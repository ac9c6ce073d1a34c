"""Derivatives of the steps of Moreau's time-stepping, with what its contacts did held: who acts, sticks, slides and strikes.

A step finds v⁺ and the impulses p of all contacts that act from

    M (v⁺ − v_f) = Jᵀp,    û = J v⁺ + d + s:   û = 0 (sticks),   û_N = 0, p_T ‖û_T‖ + μ p_N û_T = 0 (slides),   p = 0 (open),

where s holds what closes gaps, J̇ v and restitution (:mod:`jourdain.solvers.nonsmooth.moreau`).  Changes of positions, velocities and variables lead to those of v⁺ and p by one
linear system a round.  All steps of a run are known, so that these systems are those of all steps at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ....solvers.nonsmooth.admission import RESTING, TOUCHING
from ....solvers.nonsmooth.impulses import CLOSING
from ....solvers.nonsmooth.moreau import EXPECTED, ROUNDS
from ....solvers.nonsmooth.notes import FRICTION, HEAD, KEY, PUSHED, ROUND, STEP
from .functions import Functions, Taken, least_changes, taken
from .turning import moved

#: Impulses of friction up to this part of their bound stick.
FULL = 1.0 - 1e-7
#: Parts of what forces bring about in a step below which speeds and impulses are none: there the active set is about to change.
EDGE = 1e-7


@dataclass(eq=False)
class Rows:
    """Contacts of a round: J, û with all of its changes but those by v⁺, changes of Jᵀp by those of J, impulses, and friction with its changes."""

    J: np.ndarray
    u: np.ndarray
    du: np.ndarray
    dforce: np.ndarray
    p: np.ndarray
    friction: np.ndarray
    dfriction: np.ndarray
    bounces: np.ndarray


class Steps:
    """Steps of a run: changes of what each leaves by those of what it begins with (positions, velocities, states; the middle of the step before, and what contacts did to velocities in it) and by variables."""

    def __init__(self, functions: Functions, turns: Sequence[tuple[int, int]], slack: float, t: np.ndarray, x: np.ndarray, u: np.ndarray, rows: np.ndarray) -> None:  # fmt: skip
        self.f, self.turns, self.slack, self.t, self.u = functions, turns, slack, t, u
        eq = functions.eq
        self.nq, self.nv, self.nz = len(eq.q), len(eq.v), len(eq.z)
        a, b = self.nq, self.nq + self.nv
        self.q, self.v, self.z = x[:, :a], x[:, a:b], x[:, b : b + self.nz]
        self.h = np.diff(t)
        #: The last round of each step.
        self.last = np.zeros(len(self.h), int)
        head = rows[rows[:, KEY] == HEAD]
        np.maximum.at(self.last, head[:, STEP].astype(int), head[:, ROUND].astype(int))
        self.part = np.zeros(len(self.h))
        first = head[head[:, ROUND] == 0.0]
        self.part[first[:, STEP].astype(int)] = first[:, FRICTION]
        self.half = t[:-1] + 0.5 * self.h
        self.middle = moved(self.q[:-1], 0.5 * self.h[:, None] * self.v[:-1], turns)
        #: The middle of the step before, and its time; of the first step its start.
        self.before = np.concatenate([self.q[:1], self.middle[0][:-1]])
        self.before_t = np.concatenate([t[:1], self.half[:-1]])
        #: Steps in which something rebounds, and those in which the active set is about to change.
        self.rebounds: set[int] = set()
        self.edges: set[int] = set()
        #: Steps in which laws leave forces of friction open, so that velocities behind them are undetermined to first order.
        self.loose: set[int] = set()
        #: The largest part of velocities, and of positions, by which the steps of the run are not those that are differentiated.
        self.missed = 0.0
        #: What contacts did to velocities in the step before those at hand.
        self.pushed = np.zeros(self.nv)

    def meet(self, rows: np.ndarray, numbers: np.ndarray) -> None:
        """Takes what contacts did, with the numbers of their places."""
        self.rounds = [taken(rows, k, numbers) for k in range(ROUNDS)]
        self.apart = taken(rows, PUSHED, numbers)

    # -- one part of the steps -----------------------------------------------------------------------------------

    def tangents(self, k: slice) -> tuple[np.ndarray, np.ndarray]:
        """Changes (q, v, z, middle, pushed) behind the steps of a slice by those before them, and by the symbols."""
        self.k, self.first = k, k.start
        n, nq, nv, nz = len(self.h[k]), self.nq, self.nv, self.nz
        size, count = 2 * nq + 2 * nv + nz, len(self.f.symbols)
        self.size, self.n = size, n
        one = np.zeros((n, size, size + count))
        one[:, np.arange(size), np.arange(size)] = 1.0
        dq, dv, dz, self.dbefore, dpushed = np.split(one, [nq, nq + nv, nq + nv + nz, 2 * nq + nv + nz], axis=1)
        if self.first == 0:
            self.dbefore[0] = dq[0]
        self.dv = dv
        h = self.h[k][:, None]
        q, v, z = self.q[:-1][k], self.v[:-1][k], self.z[:-1][k]
        rate, drate = self._rate(self.t[:-1][k], q, v, z, dq, dv, dz)
        self.qm, by_q, by_d = (a[k] for a in self.middle)
        self.dqm = by_q @ dq + by_d @ (0.5 * h[:, :, None] * dv)
        self.M = self._masses()
        pushed, again = self._expected(rate[:, :nv])
        vm, dvm = v + 0.5 * h * rate[:, :nv] + again * pushed, dv + 0.5 * h[:, :, None] * drate[:, :nv] + again[:, :, None] * dpushed
        zm, dzm = z + 0.5 * h * rate[:, nv:], dz + 0.5 * h[:, :, None] * drate[:, nv:]
        rate, drate = self._rate(self.half[k], self.qm, vm, zm, self.dqm, dvm, dzm)
        dfree = dv + h[:, :, None] * drate[:, :nv]
        after, dafter = self._round(0, v + h * rate[:, :nv], dfree)
        acts = np.isin(np.arange(n) + self.first, self.rounds[0].step)
        for number in range(1, ROUNDS):
            going = self.last[k] >= number
            seen = acts if number == 1 else going
            if not seen.any():
                break
            again, dagain = self._rate(self.half[k], self.qm, 0.5 * (v + after), zm, self.dqm, 0.5 * (dv + dafter), dzm)
            rate, drate = np.where(seen[:, None], again, rate), np.where(seen[:, None, None], dagain, drate)
            if going.any():
                dfound = dv + h[:, :, None] * dagain[:, :nv]
                dfree = np.where(going[:, None, None], dfound, dfree)
                found, dfound = self._round(number, v + h * again[:, :nv], dfound)
                after, dafter = np.where(going[:, None], found, after), np.where(going[:, None, None], dfound, dafter)
        self._compare(after, self.v[1:][k])
        mean, dmean = 0.5 * (v + after), 0.5 * (dv + dafter)
        end, by_q, by_d = moved(q, h * mean, self.turns)
        dend = by_q @ dq + by_d @ (h[:, :, None] * dmean)
        push, dpush = self._push(after, dafter)
        end, by_q, by_d = moved(end, push, self.turns)
        dend = by_q @ dend + by_d @ dpush
        self._compare(end, self.q[1:][k])
        changes = np.concatenate([dend, dafter, dz + h[:, :, None] * drate[:, nv:], self.dqm, dafter - dfree], axis=1)
        return changes[:, :, :size], changes[:, :, size:]

    def _expected(self, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What contacts did to velocities in the step before each, and the part of it that steps expect until their middle."""
        own = np.zeros((self.n, self.nv))
        for number, every in enumerate(self.rounds):
            of = self._own(every)
            of = of.only(np.flatnonzero(self.last[self.k][of.step] == number))
            if len(of):
                value, _ = self._looked(of, self.v[:-1][self.k][of.step], self._in_axes(of))
                own += self._pushes(of.step, value[:, 4 : 4 + self.nv])
        pushed = np.concatenate([self.pushed[None], own[:-1]])
        self.pushed, part = own[-1], np.where(self.part[self.k] < 1.0, self.part[self.k], 0.0)  # that of the first step is one
        again = 0.5 * part / (1.0 - part)  # of a step that follows another
        before = self.h[self.k] * (1.0 - part) / np.where(part > 0.0, part, 1.0)
        struck = np.abs(pushed).max(axis=1) > EXPECTED * before * np.abs(slope).max(axis=1)
        return pushed, np.where(struck, 0.0, again)[:, None]

    def _compare(self, found: np.ndarray, run: np.ndarray) -> None:
        scale = 1e-3 * float(np.abs(run).max(initial=0.0)) + 1e-12
        self.missed = max(self.missed, float((np.abs(found - run) / np.maximum(np.abs(run), scale)).max(initial=0.0)))

    def _rate(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, z: np.ndarray, dq: np.ndarray, dv: np.ndarray, dz: np.ndarray) -> Any:
        """v̇ and ż with their changes."""
        n = len(t)
        value, slope = self.f.tangent(self.f.rate, (t[:, None].copy(), q, v, z, np.tile(self.u, (n, 1))), self.nq + self.nv + self.nz)
        change = slope[:, :, : self.nq + self.nv + self.nz] @ np.concatenate([dq, dv, dz], axis=1)
        change[:, :, self.size :] += slope[:, :, self.nq + self.nv + self.nz :]
        return value, change

    def _at_middle(self, rows: np.ndarray, q: np.ndarray, v: np.ndarray) -> list[np.ndarray]:
        steps = self.first + rows
        return [self.half[steps][:, None].copy(), q, v, self.z[:-1][steps], np.tile(self.u, (len(rows), 1))]

    def _masses(self) -> np.ndarray:
        """M at the middles."""
        n, nv, rows = self.n, self.nv, np.arange(self.n)
        given = [np.repeat(a, nv, axis=0) for a in self._at_middle(rows, self.qm, np.zeros((n, nv)))]
        return np.asarray(self.f.momentum.value(*given, np.tile(np.eye(nv), (n, 1)))).reshape(n, nv, nv).transpose(0, 2, 1)

    def _momentum(self, rows: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Changes of M w for fixed w."""
        given = self._at_middle(rows, self.qm[rows], np.zeros((len(rows), self.nv)))
        _, slope = self.f.tangent(self.f.momentum, (*given, w), self.nq)
        return self._along(slope, rows)

    def _along(self, slope: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Changes along the directions of steps, from derivatives by the middle and by the symbols."""
        found = slope[:, :, : self.nq] @ self.dqm[rows]
        found[:, :, self.size :] += slope[:, :, slope.shape[2] - len(self.f.symbols) :]
        return found

    # -- contacts ------------------------------------------------------------------------------------------------

    def _own(self, of: Taken) -> Taken:
        """Contacts of the steps at hand, counted from the first of them."""
        found = of.only(np.flatnonzero((of.step >= self.first) & (of.step < self.first + self.n)))
        found.step = found.step - self.first
        return found

    def _looked(self, of: Taken, v: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The functions of contacts at the middles of their steps, with their derivatives by positions, velocities and symbols."""
        return self._looked_at(of, self._at_middle(of.step, self.qm[of.step], v), p)

    def _looked_at(self, of: Taken, given: Sequence[np.ndarray], p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        outputs, active = 7 + self.nv, self.nq + self.nv
        value, slope = np.zeros((len(of), outputs)), np.zeros((len(of), outputs, active + len(self.f.symbols)))
        for number in np.unique(of.place).tolist():
            own = np.flatnonzero(of.place == number)
            value[own], slope[own] = self.f.tangent(self.f.contact(number), (*(a[own] for a in given), p[own]), active)
        return value, slope

    def _in_axes(self, of: Taken) -> np.ndarray:
        """Impulses (normal, tangents) as the first body of each place feels them."""
        found = np.zeros((len(of), 3))
        for number in np.unique(of.place).tolist():
            own = np.flatnonzero(of.place == number)
            steps = of.step[own]
            given = self._at_middle(steps, self.qm[steps], np.zeros((len(own), self.nv)))
            tangents = np.asarray(self.f.axes(number).value(*given)).reshape(len(own), 2, 3)
            found[own, 1:] = self.f.places.turned[number] * np.einsum("kij,kj->ki", tangents, of.impulse[own])
            rest = of.impulse[own] - self.f.places.turned[number] * np.einsum("kij,ki->kj", tangents, found[own, 1:])
            found[own, 0] = np.linalg.norm(rest, axis=1)
        return found

    def _looks(self, of: Taken, free: np.ndarray) -> tuple[Rows, np.ndarray]:
        """Contacts of a round, and the velocities behind it."""
        nq, nv, rows, p = self.nq, self.nv, of.step, self._in_axes(of)
        h, v = self.h[self.k][rows], self.v[:-1][self.k][rows]
        value, slope = self._looked(of, v, p)
        after = free + self._pushes(of.step, value[:, 4 : 4 + nv])
        J, change = slope[:, 1:4, nq : nq + nv], self._along(slope, rows)
        old, dold = value[:, 1:4], change[:, 1:4] + J @ self.dv[rows]
        gap, rub, rest, e = value[:, 0], value[:, 4 + nv], value[:, 5 + nv], value[:, 6 + nv]
        de = change[:, 6 + nv] + (slope[:, 6 + nv :, nq : nq + nv] @ self.dv[rows])[:, 0]
        ended, by_end = self._looked(of, after[rows], p)
        u, du = ended[:, 1:4].copy(), self._along(by_end[:, 1:4], rows)
        gained = np.einsum("kj,kj->k", J[:, 0], free[rows] - v)
        bounces = (e > 0.0) & (gap + 0.5 * h * old[:, 0] < 0.0) & (-old[:, 0] > RESTING * np.abs(gained))
        turned, dturned = self._turning(of, v, old, dold, p)
        u[~bounces] += turned[~bounces]
        du[~bounces] += dturned[~bounces]
        u[bounces, 0] += (e * old[:, 0])[bounces]
        du[bounces, 0] += (e[:, None] * dold[:, 0] + old[:, :1] * de)[bounces]
        near = ~bounces & ~of.strikes
        u[near, 0] += np.maximum(0.0, gap / h)[near]
        closes = near & (gap > -EDGE * self.slack)  # what rests in touch has a gap of rounding, of either sign
        du[closes, 0] += (change[:, 0] / h[:, None])[closes]
        static = np.abs(of.friction - rub) > np.abs(of.friction - rest)
        dfriction = np.where(static[:, None], change[:, 5 + nv], change[:, 4 + nv])
        return Rows(J, u, du, change[:, 4 : 4 + nv], p, of.friction, dfriction, bounces & (p[:, 0] > 0.0)), after

    def _pushes(self, step: np.ndarray, force: np.ndarray) -> np.ndarray:
        """M⁻¹ times what contacts of steps push with."""
        total, rows = np.zeros((self.n, self.nv)), np.unique(step)
        np.add.at(total, step, force)
        total[rows] = np.linalg.solve(self.M[rows], total[rows, :, None])[:, :, 0]
        return total

    def _turning(self, of: Taken, v: np.ndarray, old: np.ndarray, dold: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What J̇ v adds until the end of a step: of contacts that acted in the step before, or are closed at the start of the first."""
        found, changes = np.zeros_like(old), np.zeros_like(dold)
        part = self.part[self.k][of.step]
        follows = np.array(
            [(int(s) - 1, *key) in self._acted for s, key in zip(of.step + self.first, of.key.astype(int).tolist(), strict=True)], bool
        )
        k = np.flatnonzero((part > 0.0) & (follows | (part == 1.0)))
        if not len(k):
            return found, changes
        rows, nq, nv, own = of.step[k], self.nq, self.nv, of.only(k)
        given = self._at_middle(rows, self.before[self.k][rows], v[k])
        given[0] = self.before_t[rows + self.first][:, None].copy()
        value, slope = self._looked_at(own, given, p[k])
        closed = TOUCHING * self.slack
        open_ = (part[k] == 1.0) & ((value[:, 0] > closed) | (self.h[self.k][rows] * np.abs(value[:, 1]) > closed))
        if open_.any():
            k, rows, value, slope = (a[~open_] for a in (k, rows, value, slope))
        change = slope[:, 1:4, :nq] @ self.dbefore[rows] + slope[:, 1:4, nq : nq + nv] @ self.dv[rows]
        change[:, :, self.size :] += slope[:, 1:4, nq + nv :]
        found[k] = part[k, None] * (old[k] - value[:, 1:4])
        changes[k] = part[k, None, None] * (dold[k] - change)
        return found, changes

    @cached_property
    def _acted(self) -> set[tuple[int, ...]]:
        """Steps and keys of contacts that had an impulse at the end of the step."""
        found: set[tuple[int, ...]] = set()
        for number, of in enumerate(self.rounds):
            acts = (self.last[of.step] == number) & (np.abs(of.impulse).max(axis=1, initial=0.0) > 0.0)
            found |= {(int(s), *k) for s, k in zip(of.step[acts], of.key[acts].astype(int).tolist(), strict=True)}
        return found

    def _round(self, number: int, free: np.ndarray, dfree: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Velocities after the contacts of a round, with their changes."""
        of = self._own(self.rounds[number])
        if not len(of):
            return free, dfree
        r, after = self._looks(of, free)
        self.rebounds |= set((of.step[r.bounces] + self.first).tolist())
        S, R, right = self._laws(of, r, free)
        rows, moves, dafter = np.unique(of.step), np.zeros_like(dfree), dfree.copy()
        np.add.at(moves, of.step, r.dforce)
        moves[rows] += self.M[rows] @ dfree[rows] - self._momentum(rows, (after - free)[rows])
        dafter[rows] = self._solved(of.step, rows, r.J, S, R, moves, right)
        return after, dafter

    def _laws(self, of: Taken, r: Rows, free: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """S δû + R δp = right of every contact, after what it does."""
        n, D = len(of), r.du.shape[2]
        S, R, right = np.zeros((n, 3, 3)), np.zeros((n, 3, 3)), np.zeros((n, 3, D))
        alive = np.abs(r.J).max(axis=2) > 0.0
        acts = r.p[:, 0] > 0.0
        bound, size = r.friction * r.p[:, 0], np.hypot(r.p[:, 1], r.p[:, 2])
        speed = np.hypot(r.u[:, 1], r.u[:, 2])
        sticks = acts & (bound > 0.0) & (size < FULL * bound)
        none = EDGE * np.abs(np.einsum("kij,kj->ki", r.J, free[of.step])).max(initial=0.0)
        slides = acts & (bound > 0.0) & ~sticks & (speed > 0.0)
        sticks |= acts & (bound > 0.0) & ~sticks & ~slides
        edge = (acts & (bound > 0.0) & (np.abs(size - bound) < EDGE * bound) & (speed < none)) | (~acts & (r.u[:, 0] < none))
        self.edges |= set((of.step[edge] + self.first).tolist())
        S[acts, 0, 0] = 1.0
        R[~acts, 0, 0] = 1.0
        for i in (1, 2):
            held = sticks & alive[:, i]
            S[held, i, i] = 1.0
            R[~held & ~slides, i, i] = 1.0
        k = np.flatnonzero(slides)
        way = r.u[k, 1:] / speed[k, None]
        across = np.eye(2) - way[:, :, None] * way[:, None, :]
        S[k, 1:, 1:] = (bound[k] / speed[k])[:, None, None] * across
        R[k, 1:, 1:] = np.eye(2)
        R[k, 1:, 0] = r.friction[k, None] * way
        right[k, 1:] = -(r.p[k, :1] * way)[:, :, None] * r.dfriction[k][:, None, :]
        return S, R, right - S @ r.du

    def _solved(
        self, step: np.ndarray, rows: np.ndarray, J: np.ndarray, S: np.ndarray, R: np.ndarray, moves: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        """δv of M δv − Jᵀδp = moves, S J δv + R δp = right: steps with as many contacts together."""
        nv, m = self.nv, J.shape[1]
        count = np.bincount(step, minlength=self.n)
        begin = np.concatenate([[0], np.cumsum(count)])
        order = np.argsort(step, kind="stable")
        found = np.zeros((self.n, nv, moves.shape[2]))
        for c in np.unique(count[rows]).tolist():
            own = rows[count[rows] == c]
            which = order[begin[own][:, None] + np.arange(c)]
            K, b = np.zeros((len(own), nv + m * c, nv + m * c)), np.zeros((len(own), nv + m * c, moves.shape[2]))
            mass = np.abs(self.M[own]).max(axis=(1, 2))[:, None, None]
            K[:, :nv, :nv], b[:, :nv] = self.M[own] / mass, moves[own] / mass
            for i in range(c):
                at, j = slice(nv + m * i, nv + m * (i + 1)), which[:, i]
                K[:, :nv, at] = -J[j].transpose(0, 2, 1)
                K[:, at, :nv], K[:, at, at], b[:, at] = S[j] @ J[j], mass * R[j], right[j]
            size = np.maximum(np.abs(K).max(axis=2, keepdims=True), 1e-300)
            found[own], loose = least_changes(K / size, b / size, nv)
            self.loose |= set((own[loose] + self.first).tolist())
        return found[rows]

    # -- positions -----------------------------------------------------------------------------------------------

    def _push(self, after: np.ndarray, dafter: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By how much positions are corrected along d = M⁻¹J_Nᵀr, where penetrations and gaps of impacts end, with its changes: J_N d = −w."""
        of = self._own(self.apart)
        if not len(of):
            return np.zeros_like(after), np.zeros_like(dafter)
        nq, nv, rows, h = self.nq, self.nv, of.step, self.h[self.k][of.step]
        p = np.column_stack([of.friction, np.zeros((len(of), 2))])  # r
        value, slope = self._looked(of, after[rows], p)
        J, change = slope[:, 1:2, nq : nq + nv], self._along(slope, rows)
        d = self._pushes(of.step, value[:, 4 : 4 + nv])
        v = self.v[:-1][self.k][rows]
        old, by_old = self._looked(of, v, p)
        dold = self._along(by_old[:, 1:4], rows) + slope[:, 1:4, nq : nq + nv] @ self.dv[rows]
        turned, dturned = self._turning(of, v, old[:, 1:4], dold, p)
        speed, dspeed = value[:, 1], change[:, 1] + (J @ dafter[rows])[:, 0]
        end = value[:, 0] + 0.5 * h * (speed + turned[:, 0])
        dw = change[:, 0] + 0.5 * h[:, None] * (dspeed + dturned[:, 0])
        ahead = (end > 0.0) & ~of.strikes  # of what approaches
        dw[ahead & (speed < 0.0)] += (0.5 * h[:, None] * dspeed)[ahead & (speed < 0.0)]
        dw[ahead & (end + 0.5 * h * np.minimum(0.0, speed) <= 0.0)] = 0.0
        by_still, by_along = (self._looked(of, w, p)[1][:, 1:2] for w in (np.zeros_like(v), d[rows]))
        right = -dw[:, None, :] - self._along(by_along - by_still, rows)
        R = np.where(of.strikes, CLOSING, 0.0)[:, None, None] * (J @ np.linalg.solve(self.M[rows], J.transpose(0, 2, 1)))
        every, moves, dd = np.unique(rows), np.zeros_like(dafter), np.zeros_like(dafter)
        np.add.at(moves, rows, change[:, 4 : 4 + nv])
        moves[every] -= self._momentum(every, d[every])
        dd[every] = self._solved(rows, every, J, np.ones((len(of), 1, 1)), R, moves, right)
        return d, dd


__all__ = ["Steps"]
