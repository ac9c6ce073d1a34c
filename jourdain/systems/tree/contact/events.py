"""Runs of trees with set-valued contacts between events: every impact, lift-off, slip and stop is an event of the time loop."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import InputError, SolverError
from ....results.channel import Channel
from ....results.touches import Touch, Touches
from ....solvers import AUTO, EXPLICIT, METHODS, STIFF
from ....solvers.complementarity.build import dense_problem
from ....solvers.complementarity.solve import solution as solved
from ....solvers.native_function import NativeFunction
from ....solvers.nonsmooth import closed
from ....solvers.nonsmooth.contact_set import DRY, ROLL, SPIN
from ....solvers.nonsmooth.impacts import NEWTON, STICKING
from ....solvers.ode.events import Event, Samples
from ....solvers.ode.integrate import integrate
from ....solvers.ode.trajectory import Trajectory
from ...inputs import Inputs
from ...outputs.driven_books import supplied_between
from ...run import DEFAULTS, Outcome, Restart, Settings
from ..crossing import joined
from ..runs import ProjectedRun
from .contacts import SWEEPS, TOLERANCE, TreeContacts
from .instant import rows_of
from .numbers import passable
from .table import Active, EventContacts, Impact, Struck

if TYPE_CHECKING:
    from ....model.model import Model
    from ....symbolic.expr import Expr
    from ...state import State
    from ..system import TreeSystem

#: Most contacts that are closed at once.
MOST = 64
#: Contact points of a pair of shapes, and of all pairs, that there is room for.
POINTS, MOST_ROOM = 8, 20_000
#: Gaps up to this part of the smallest size are closed; speeds up to this part of the largest are none.
TOUCHING, SLOW = 1e-9, 1e-11
#: Faces whose heights differ by up to this part of the smallest size are one.
LEVEL = 1e-7
#: Rebounds up to this part of the smallest size end in rest at once: the time in which they would have is told.
LOW = 1e-12
#: To what part of accelerations forces are found that carry what others bounce on: their size alone matters.
CARRIED = 1e-4
#: Most times that gaps are taken away where others come to overlap by that.
CLOSINGS = 5
#: Speeds in parts of the scale and of the tolerance below which contacts begin or end to slide.
LAYER = 100.0
#: The part of that speed at which what ends to slide rests.
ENDED = 0.05
#: Contacts that hardly slide begin to where the cosine between their speed and its change is larger.
ALIGNED = 0.99
#: Rounds in which an active set must settle.
ROUNDS = 20
#: Most rounds in which bounds of couples follow normal impulses.
COUPLED = 60
#: Contacts are in one place where their rows differ by no more than this part.
BESIDE = 1e-4
#: Seconds of force that stand for an impact without collision.
SHOCK = 1e-11
#: Energy by which velocities may be put right in a run: in parts of what was there and taken, and in J.
AMISS, SMALL = 1e-4, 1e-9
EVENT = "contacts"


class ContactEventRun(ProjectedRun):
    """Adaptive steps from event to event: rows are (q, v, z, energy taken by contacts)."""

    kind = "contact events"
    honours = frozenset(DEFAULTS) - {"steps"}

    def __init__(
        self, system: TreeSystem, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, *,
        watch: Sequence[Expr | tuple[Expr, int]] = (),
    ) -> None:  # fmt: skip
        """Of methods in turns the explicit one does it all: implicit ones do not know these laws."""
        explicit = replace(settings, method=EXPLICIT) if settings.method == AUTO else settings
        super().__init__(system, start, span, inputs, explicit, watch=watch)

    def begin(self) -> Any:
        """Makes the native functions, and the active set of the start."""
        first = super().begin()
        self._make_ready()
        self._refuse_laws()
        return self._switch(self.span[0], first)

    def instant(self) -> np.ndarray:
        """The state with the active set that belongs to it, whatever the laws of impact."""
        first = super().begin()
        self._make_ready()
        return self._switch(self.span[0], first)

    def _check_method(self) -> None:
        method, name = self.settings.method, self.system.model.name
        if method in STIFF or method not in METHODS:
            told = ", ".join(m for m in METHODS if m not in STIFF)
            raise InputError(
                f"simulate '{name}': {set_valued(self.system.model)} has a set-valued law, which method '{method}' does not know; "
                f"use method='moreau' with step=, or one of {told}, which go from event to event"
            )

    @property
    def stiff_by(self) -> str:
        """Steps that know set-valued laws: implicit ones, or where the model has events of its own, which these do not know, Moreau's."""
        if self.system.model.events:
            return "method='moreau' with a short step= (with rigid contacts, implicit steps know no events of the model)"
        return "method='nonsmooth-generalized-alpha' with step=, whose implicit steps carry rigid contacts"

    def _make_ready(self) -> None:
        s, native = self.system, self.native
        self.contacts = contacts = TreeContacts.of(s)
        contacts.begin(TOLERANCE, SWEEPS)
        shapes = len(contacts.scene.native.solids.array)
        if (room := min(POINTS * shapes * (shapes - 1) // 2, MOST_ROOM)) > contacts.room:  # all pairs are looked at, however far apart
            contacts.raise_room(room)
        contacts.close(native)
        contacts.refuse_overlaps(self.start, ", or let overlap='push apart' do it")
        rows = contacts.rows
        self._size = contacts.slack / 0.01
        reach = max(contacts.reaches.max(initial=0.0), self._size)
        rows.slack, rows.level, rows.h = 2.0 * reach, LEVEL * self._size, 0.0
        self.record = closed.make_closed(
            MOST, s.nq, s.nv, s.nz, contacts.booked, base=_called(native.rhs), projection=_called(native.project), rows=contacts.record.rows,
            rows_args=contacts.record.rows_args, turns=contacts.record.turns, contacts=rows.contacts, parts=contacts.parts,
            closures=rows.closures, laws=contacts.record.impacts, scale=max(1.0, float(np.abs(self.start.v).max(initial=0.0))),
            layer=max(LAYER * self.settings.rtol, 10.0 * closed.AT_REST),
        )  # fmt: skip
        self._base, self.impacts, self._history = native.rhs, list[Impact](), list[Active]()
        self._struck: Struck | None = None
        #: When impacts that follow ever faster have come to an end, and between whom.
        self.rests: list[tuple[float, str]] = []
        if not contacts.only_planes:
            self.record.reach = min(0.9 * self._size, passable(contacts.scene.native.solids.array))

    def _refuse_laws(self) -> None:
        """Laws that Moreau's steps know and events do not."""
        name, laws = self.system.model.name, self.contacts.record.impacts
        soft = next((c.name for c in self.contacts.contacts if c.gives_way), None)
        if soft is not None:
            raise InputError(f"simulate '{name}': contact '{soft}' gives way among rigid ones; use method='moreau' with step=")
        for k, told in enumerate(self.contacts.law_names):
            if laws.law[k] != NEWTON or self.contacts.record.laws.problem.relaxed:
                raise InputError(
                    f"simulate '{name}': {told} has a law that runs from event to event do not know (they take exact cones and Newton's "
                    "restitution); use method='moreau' with step="
                )
            if (laws.friction[k] == 0.0) != (laws.across[k] == 0.0):
                raise InputError(
                    f"simulate '{name}': {told} has no friction in one direction, which runs from event to event do not know; use method='moreau' with step="
                )

    # -- the instant ----------------------------------------------------------------------------------------------

    def _native(self, kernel: Any) -> NativeFunction:
        return NativeFunction.of(kernel.address, closed.Arguments(closed=self.record), self, self.native)

    def _look(self, t: float, x: np.ndarray) -> np.ndarray:
        """Numbers of the contacts that touch at an instant; their rows stay in memory."""
        status = self._native(closed.found)(t, x, x)
        if status != 0:
            raise SolverError(f"the contacts cannot be found at t = {t:.9g} s (status {status}); method='moreau' has room for many")
        s = self.record.contacts
        return np.flatnonzero(s.gap[: s.count] <= TOUCHING * self._size)

    def _rows(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """J and M⁻¹Jᵀ of contacts, three rows each."""
        s, parts, nv = self.record.contacts, self.record.parts, self.record.nv
        return rows_of(s, parts, s.J, which, nv), rows_of(s, parts, s.Y, which, nv)

    def _switch(self, t: float, x: np.ndarray, jams: bool = False) -> np.ndarray:
        """Impacts at an instant, and the active set after them; where sliding ``jams``, an impulse ends it first."""
        c, x = self.record, np.array(x, dtype=float)
        touching = self._close(t, x)
        c.from_[: len(x)] = x
        self._struck = None
        x = self._impact(t, x, touching)
        low = self._low_speeds(t, x, touching)
        for i in range(ROUNDS):
            if not (jams and i == 0) and self._settle(t, x, touching, low):
                self._keep_active(t, i > 0)
                return x
            x = self._shock(t, x, touching)
        raise SolverError(
            f"no forces of contact fit the laws at t = {t:.9g} s, even after impacts without collision (Painlevé); {self._pairs(touching)}"
        )

    def _keep_active(self, t: float, shocked: bool) -> None:
        """Keeps the active set with the places of its contacts."""
        c, s = self.record, self.record.contacts
        which = c.place[: c.count].copy()
        point, axes = s.point[: 3 * s.count].reshape(-1, 3)[which], s.axes[: 9 * s.count].reshape(-1, 3, 3)[which]
        key, along = c.key[: 3 * c.count].copy(), c.along[: 3 * c.count].copy()
        self._history.append(Active(t, key, c.slides[: c.count].copy(), along, point, axes, self._struck, shocked))

    def _close(self, t: float, x: np.ndarray) -> np.ndarray:
        """Takes what is left of gaps from the positions, in place; the contacts that touch then, which count as closed."""
        s = self.record.contacts
        which = self._hold(self._look(t, x), t)
        for _ in range(CLOSINGS):
            self._native(closed.close_gaps)(t, x, x)
            which = self._hold(self._look(t, x), t)
            if s.gap[which].min(initial=0.0) >= -TOUCHING * self._size:  # nothing else has come to overlap
                break
        return which

    def _hold(self, which: np.ndarray, t: float) -> np.ndarray:
        """Counts contacts as closed."""
        c, s = self.record, self.record.contacts
        if len(which) > MOST:
            raise SolverError(f"{len(which)} contacts are closed at t = {t:.9g} s; method='moreau' is made for so many")
        c.count = len(which)
        c.key[: 3 * len(which)] = s.key[: 3 * s.count].reshape(-1, 3)[which].ravel()
        return which

    def _speeds(self, x: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        J, Y = self._rows(which)
        s, r = self.record.contacts, self.record
        drift = s.drift[: 3 * s.count].reshape(-1, 3)[which].ravel()
        return J @ x[r.nq : r.nq + r.nv] + drift, J, Y

    def _slow(self, u: np.ndarray) -> float:
        self.record.scale = max(self.record.scale, float(np.abs(u).max(initial=0.0)))
        return SLOW * self.record.scale

    def _impact(self, t: float, x: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Newton's law for all contacts that close at the instant, together."""
        u, J, Y = self._speeds(x, which)
        slow, sort = self._slow(u), self.record.contacts.sort[which]
        normal = np.where(sort < DRY, u[::3], 0.0)
        if not len(which) or normal.min() >= -slow:
            return x
        law = self.record.contacts.law[which]
        e = self.contacts.record.impacts.restitution[law].copy()
        before = np.minimum(normal, 0.0)
        for k in np.flatnonzero(before < 0.0):
            if int(law[k]) in self.contacts.by_speed:
                e[k] = self._restitution(t, int(law[k]), -float(before[k]), which[k : k + 1])
        back = -np.minimum(self._pull(t, x, which, np.abs(normal) <= slow, np.where(e < 1.0, -e * before, 0.0)), 0.0)
        ends = (e < 1.0) & (e > 0.0) & (before < 0.0) & ((e * before) ** 2 < 2.0 * LOW * self._size * back)
        for k in np.flatnonzero(ends):
            self.rests.append((t - 2.0 * e[k] * before[k] / (back[k] * (1.0 - e[k])), self._pairs(which[k : k + 1])))
        e[ends] = 0.0
        w = u.copy()
        w[::3] += np.where(sort < DRY, e * before, 0.0)
        p, s = self._impulses(which, u, w, J, Y, float(np.abs(u).max())), self.record.contacts
        key, point, axes = (a[: n * s.count].reshape(-1, n)[which] for a, n in ((s.key, 3), (s.point, 3), (s.axes, 9)))
        self._struck = Struck(key, point, axes.reshape(-1, 3, 3), u, p, e)
        return self._push(t, x, which, u, J, Y, p)

    def _restitution(self, t: float, law: int, speed: float, which: np.ndarray) -> float:
        """e at the speed at which bodies meet."""
        e = float(np.asarray(self.contacts.by_speed[law](np.array([speed]))).ravel()[0])
        if not np.isfinite(e):
            raise SolverError(
                f"the restitution of {self._pairs(which)} is not a number at {speed:.6g} m/s (t = {t:.6g} s); give a restitution= that has a value at every speed"
            )
        return e

    def _impulses(self, which: np.ndarray, u: np.ndarray, w: np.ndarray, J: np.ndarray, Y: np.ndarray, size: float) -> np.ndarray:
        """Impulses of contacts and of couples at them by their laws, for velocities w without any; of points that lie beside each other one takes them where
        all together meet no laws: to rounding they would have to tell the velocities of one place from each other."""
        try:
            return self._solve_impulses(which, np.arange(len(which)), u, w, J, Y, size)
        except SolverError:
            alone = alone_in_place(J, w)
            if len(alone) == len(which):
                raise
            return self._solve_impulses(which, alone, u, w, J, Y, size)

    def _solve_impulses(
        self, which: np.ndarray, some: np.ndarray, u: np.ndarray, w: np.ndarray, J: np.ndarray, Y: np.ndarray, size: float
    ) -> np.ndarray:
        """The same for ``some`` of them; dry friction in joints has none."""
        s, laws, p = self.record.contacts, self.contacts.record.impacts, np.zeros(3 * len(which))
        sort, law, number = s.sort[which], s.law[which], {int(k): i for i, k in enumerate(which)}
        moves = np.hypot(u[1::3], u[2::3]) > STICKING
        mu = np.where(moves, [laws.friction[law], laws.across[law]], [laws.static[law], laws.static_across[law]]).T
        parent = [number.get(int(s.parent[k]), -1) for k in which]
        kept = [i for i in some.tolist() if sort[i] < DRY or parent[i] >= 0]
        for _ in range(COUPLED):
            before, blocks, rows, coefficients, tied = p.copy(), list[str](), list[int](), list[np.ndarray](), list[tuple[int, float]]()
            for i in kept:
                arm = 0.0 if sort[i] < DRY else (laws.rolling if sort[i] == ROLL else laws.spinning)[law[i]]
                bound = arm * max(p[3 * parent[i]], 0.0)
                if sort[i] == ROLL:
                    tied.append((len(rows), bound))
                coefficients.append(mu[i] if sort[i] < DRY else np.ones(2) if sort[i] == ROLL else np.full(2, bound))
                blocks.append("friction" if sort[i] == SPIN else "contact")
                rows += [3 * i] if sort[i] == SPIN else [3 * i, 3 * i + 1, 3 * i + 2]
            W, right, soft = J[rows] @ Y[rows].T, w[rows].copy(), np.zeros(len(rows))
            for r, bound in tied:  # a normal impulse that is given
                soft[r], right[r] = W[r + 1, r + 1], -W[r + 1, r + 1] * bound
            found = solved(
                dense_problem(W, right, blocks, coefficients, soft if tied else None),
                p[rows],
                tolerance=max(1e-13 * size, 1e-16 * self.record.scale),
            )
            p[rows] = found
            if not any(parent[i] >= 0 for i in kept) or np.abs(p - before).max() <= 1e-14 * np.abs(p).max():
                break
        p[[3 * i for i in kept if sort[i] == ROLL]] = 0.0
        return p

    def _pull(self, t: float, x: np.ndarray, which: np.ndarray, rests: np.ndarray, leave: np.ndarray) -> np.ndarray:
        """Normal accelerations that contacts, which :meth:`_close` has taken for closed, would have under the forces of those that ``rests`` marks alone:
        what bounces on a body falls back onto it where that body is carried.  Forces are found where something may ``leave`` so slowly that it matters."""
        J, Y = self._rows(which)
        change, free = self._unforced(t, x, which)
        a, carry = change + J @ free, np.flatnonzero(rests & (self.record.contacts.sort[which] < DRY))
        most = 2.0 * LOW * self._size * (np.abs(change) + np.abs(J) @ np.abs(free))[::3]
        if len(carry) and np.any((leave > 0.0) & (leave**2 < most)):
            laws, law = self.contacts.record.impacts, self.record.contacts.law[which[carry]]
            rows = (3 * carry[:, None] + np.arange(3)).ravel()
            W, mu = J[rows] @ Y[rows].T, np.c_[laws.static[law], laws.static_across[law]]
            soft = np.full(len(rows), CARRIED * float(np.trace(W)) / len(rows))
            with suppress(SolverError):
                p = solved(dense_problem(W, a[rows], ["contact"] * len(carry), mu, soft, True), tolerance=CARRIED * float(np.abs(a).max()))
                a += J @ (Y[rows].T @ p)
        return np.asarray(a[::3])

    def _unforced(self, t: float, x: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """J̇ v, three rows each, of contacts that :meth:`_hold` has counted as closed, and v̇ without their forces."""
        rates, r = np.zeros(len(x)), self.record
        self._base(t, x, rates)
        self._native(closed.changes)(t, x, x)
        normal, vector = np.split(r.change[: 4 * len(which)].reshape(-1, 4).copy(), [1], axis=1)
        tangents = r.contacts.axes[: 9 * r.contacts.count].reshape(-1, 3, 3)[which, 1:]
        return np.c_[normal, np.einsum("kij,kj->ki", tangents, vector)].ravel(), rates[r.nq :][: r.nv]

    def _push(
        self, t: float, x: np.ndarray, which: np.ndarray, u: np.ndarray, J: np.ndarray, Y: np.ndarray, p: np.ndarray
    ) -> np.ndarray:  # fmt: skip
        r, s, new = self.record, self.record.contacts, x.copy()
        new[r.nq : r.nq + r.nv] += Y.T @ p
        after = u + J @ (Y.T @ p)
        new[-1] -= float(p @ (0.5 * (u + after)))
        for i, k in enumerate(which.tolist()):
            if p[3 * i] > 0.0 and s.sort[k] < DRY:
                axes = s.axes[9 * k : 9 * k + 9].reshape(3, 3)
                a, b = (self.contacts.body_of(int(s.key[3 * k + j])) for j in (0, 1))
                contact = self.contacts.law_name(int(s.law[k]))
                self.impacts.append(
                    Impact(
                        t,
                        contact,
                        a,
                        b,
                        p[3 * i : 3 * i + 3] @ axes,
                        s.point[3 * k : 3 * k + 3].copy(),
                        float(u[3 * i]),
                        float(after[3 * i]),
                    )
                )
        return new

    def _low_speeds(self, t: float, x: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Speeds of contacts up to which what leaves does not come far enough to count: it would be back at once, as one of two feet that strike in turns."""
        if not len(which):
            return np.zeros(0)
        law, sort, u = self.record.contacts.law[which].copy(), self.record.contacts.sort[which].copy(), self._speeds(x, which)[0]
        ends = (self.contacts.record.impacts.restitution[law] < 1.0) & (sort < DRY)
        back = np.maximum(-self._pull(t, x, which, np.abs(u[::3]) <= self._slow(u), u[::3]), 0.0)
        return np.where(ends, np.sqrt(2.0 * LOW * self._size * back), 0.0)

    def _settle(self, t: float, x: np.ndarray, touching: np.ndarray, low: np.ndarray) -> bool:
        """Finds which contacts stay closed, and which of them slide; False where no forces fit the laws."""
        c, s = self.record, self.record.contacts
        u, *_ = self._speeds(x, touching)
        slow, sort = self._slow(u), s.sort[touching].copy()
        number = {int(k): i for i, k in enumerate(touching)}
        parent = np.array([number.get(int(s.parent[k]), -1) for k in touching], dtype=int)
        axes = s.axes[: 9 * s.count].reshape(-1, 3, 3)[touching].copy()
        single = (sort == DRY) | (sort == SPIN)
        axes[single, 1], axes[single, 2] = axes[single, 0], 0.0  # they move along the first row
        keys, u = s.key[: 3 * s.count].reshape(-1, 3)[touching].copy(), u.reshape(-1, 3)
        ways = np.where(single[:, None], np.c_[u[:, 0], np.zeros(len(u))], u[:, 1:])
        stays = (u[:, 0] <= np.maximum(10.0 * slow, low)) | (sort >= DRY)
        law = s.law[touching].copy()
        mu = np.c_[c.laws.friction[law], c.laws.across[law]]
        along = np.einsum("ki,kij->kj", ways, axes[:, 1:])
        speed, smooth = np.where(self._have_ended(keys, along), 0.0, np.hypot(*ways.T)), (mu[:, 0] == 0.0) & (sort < DRY)
        sliding = np.where((speed > closed.AT_REST * c.scale) | smooth, closed.SLIDES, closed.STICKS)
        sliding[(sliding == closed.SLIDES) & (speed < 0.5 * c.layer * c.scale) & ~smooth & (sort < DRY)] = closed.BEGINS
        slope, rates = self._native(closed.slope), np.zeros(len(x))
        for _ in range(ROUNDS):
            stays[parent >= 0] = stays[parent[parent >= 0]]
            kept = np.flatnonzero(stays)
            c.count = len(kept)
            c.key[: 3 * len(kept)], c.slides[: len(kept)] = keys[kept].ravel(), sliding[kept]
            lengths = np.linalg.norm(along[kept], axis=1, keepdims=True)
            c.along[: 3 * len(kept)] = (along[kept] / np.where(lengths > 0.0, lengths, 1.0)).ravel()
            c.known[: 3 * len(kept)] = c.force[: 3 * len(kept)] = 0.0
            status = slope(t, x, rates)
            if status == closed.NO_FORCES:
                return False
            if status != 0:
                raise SolverError(f"accelerations cannot be had at t = {t:.9g} s (status {status}), where {self._pairs(touching)} touch")
            force, moving = (a[: 3 * len(kept)].reshape(-1, 3) for a in (c.force, c.moving))
            small = 0.5 * closed.ROUNDING * c.scale  # guards end a step twice as far beyond their zero
            leaves = c.lift[: len(kept)] < -small
            begins = ~leaves & (c.slip[: len(kept)] < -small) & (sliding[kept] == closed.STICKS)
            drags = np.einsum("ki,ki->k", moving[:, 1:], ways[kept]) < ALIGNED * np.hypot(*moving[:, 1:].T) * speed[kept]
            slows = (
                ~leaves
                & (sliding[kept] == closed.BEGINS)
                & (drags & (speed[kept] > closed.AT_REST * c.scale) | (c.slip[: len(kept)] >= 0.0))
            )
            if not leaves.any() and not begins.any() and not slows.any():
                return True
            stays[kept[leaves]], sliding[kept[slows]] = False, closed.ENDS
            for i in np.flatnonzero(begins):
                k, first = kept[i], 0 if single[kept[i]] else 1
                sliding[k] = closed.BEGINS if sort[k] < DRY else closed.SLIDES
                way, pull = (np.r_[row[first], 0.0 if single[k] else row[2]] for row in (moving[i], force[i]))
                if np.hypot(*way) <= small:  # against the force, by the rule that friction takes most energy
                    way = -pull / (np.maximum(mu[k], 1e-300) / mu[k].max()) ** 2 if sort[k] < DRY else -pull
                along[k] = way @ axes[k, 1:]
        return True

    def _have_ended(self, keys: np.ndarray, sliding: np.ndarray) -> np.ndarray:
        """Which contacts ended to slide until now, and have come to rest along the way they took."""
        if not self._history:
            return np.zeros(len(keys), dtype=bool)
        last = self._history[-1]
        ways = {
            tuple(k): way
            for k, way, how in zip(last.key.reshape(-1, 3).tolist(), last.along.reshape(-1, 3), last.slides, strict=True)
            if how == closed.ENDS
        }
        return np.array(
            [
                tuple(k) in ways and u @ ways[tuple(k)] <= ENDED * self.record.layer * self.record.scale
                for k, u in zip(keys.tolist(), sliding, strict=True)
            ],
            dtype=bool,
        )

    def _shock(self, t: float, x: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Painlevé: no finite forces hold the contacts; the impulses of a vanishing time do, and end the sliding (impact without collision)."""
        self._look(t, x)
        self._hold(which, t)
        u, J, Y = self._speeds(x, which)
        change, free = self._unforced(t, x, which)
        w = u + SHOCK * (change + J @ free)
        return self._push(t, x, which, u, J, Y, self._impulses(which, u, w, J, Y, max(1.0, float(np.abs(u).max()))))

    def _pairs(self, which: np.ndarray) -> str:
        s = self.record.contacts
        named = {tuple(self.contacts.name_of(int(s.key[3 * k + j])) for j in (0, 1)) for k in which.tolist()}
        return ", ".join(f"'{a}' on '{b}'" if a != b else f"'{a}'" for a, b in sorted(named))

    # -- the run --------------------------------------------------------------------------------------------------

    def first(self) -> np.ndarray:
        """The state, with nothing taken yet."""
        return np.r_[self.start.x, 0.0]

    def resumed(self, restart: Restart) -> Any:
        """Goes on with what contacts took so far."""
        return self._switch(self.span[0], np.r_[self.start.x, restart.memory["taken"]])

    def memory(self, u: np.ndarray) -> dict[str, Any]:
        """Also the energy that contacts took."""
        return super().memory(u) | {"taken": self._taken}

    def events(self) -> list[Event]:
        """The model's events; the active set is found anew after their jumps."""
        return [replace(e, action=self._then_switch(e.action)) if e.action is not None else e for e in super().events()]

    def _then_switch(self, action: Any) -> Callable[[float, np.ndarray], np.ndarray]:
        def act(t: float, x: np.ndarray) -> np.ndarray:
            new = x.copy()
            if isinstance(action, NativeFunction):
                action(t, new, new)
            else:
                given = action(t, x)
                if given is not None:
                    new[: len(given)] = given
            return self._switch(t, new)

        return act

    def _samples(self, span: tuple[float, float]) -> Sequence[Samples]:
        given = self.inputs.samples(span, self.native.u, self.model_state)
        return [replace(s, action=self._then_switch(s.action)) for s in given]

    def march(
        self, first: Any, span: tuple[float, float], by: Callable[..., Any] = integrate, more: Sequence[Event] = (), **changes: Any
    ) -> Any:
        """The integration with the events of contacts; where forces fail in between, impulses are tried."""
        done: list[Trajectory] = []
        while True:
            found = self._march(first, span, by, more, **changes)
            if not isinstance(found, Trajectory) or found.status != "failed" or f"status {closed.NO_FORCES} " not in found.message:
                break
            t = found.restart.t
            stopped = [d.restart.t for d in done].count(t)
            if stopped > 1:
                break
            done.append(found)
            first, span = self._switch(t, found.restart.x, jams=stopped == 1), (t, span[1])
        return joined([*done, found]) if done else found

    def _march(self, first: Any, span: tuple[float, float], by: Callable[..., Any], more: Sequence[Event], **changes: Any) -> Any:
        control = self.control() | changes
        control.pop("steps")
        if control["t_eval"] is not None:
            control["t_eval"] = [t for t in control["t_eval"] if t >= span[0]]
        clear = 0.5 * TOUCHING * self._size  # open gaps beyond those of contacts that rebound are larger
        touch = Event(self._native(closed.guards), -1, False, self._switch, True, EVENT, closed.GUARDS, patient=True, clear=clear)
        return by(
            self._native(closed.slope), span, first, self.settings.method, project=self._native(closed.project), events=[touch, *self.acting_events(), *more],
            samples=self._samples(span), output=self._native(closed.forces), output_size=self.record.values.size + 1,
            stiff_by=self.stiff_by, **self.inputs.renewing(self.native, self.renewed), **control,
        )  # fmt: skip

    def outcome(self, trajectory: Trajectory) -> Outcome:
        """Forces, energy and impacts of contacts are told."""
        self._taken = float(trajectory.restart.x[-1])
        self.give_back()
        return replace(
            self._audited(super().outcome(trajectory)), channels=partial(_channels, self.contacts, trajectory), contacts=lambda solution: EventContacts(solution, self),
            driven=supplied_between(self._pushes),
        )  # fmt: skip

    def _audited(self, found: Outcome) -> Outcome:
        """The outcome, doubtful where closed contacts held only because their velocities were put right again and again."""
        given, M = self.record.amiss, self.system.mass_matrix(self.start.q)
        if found.status != "finished" or given <= max(AMISS * max(self._taken, 0.5 * float(self.start.v @ M @ self.start.v)), SMALL):
            return found
        told = (
            f"velocities of closed contacts had to be put right by {given:.3g} J, which no law says (as where a corner slides over an edge); "
            "do not trust this run: take method='moreau' with step="
        )
        return replace(found, status="doubtful", message=told)

    def give_back(self) -> None:
        """Keeps what was made for contacts for another run."""
        if hasattr(self, "contacts"):
            self.contacts.rows.slack, self.contacts.rows.level = self.contacts.slack, self.contacts.level
            self.contacts.release()

    def _take(self, then: Active) -> None:
        """Lets an active set of the run hold again."""
        c = self.record
        c.count = len(then.slides)
        c.key[: then.key.size], c.slides[: c.count], c.along[: then.along.size] = then.key, then.slides, then.along
        c.known[: 3 * c.count] = 0.0

    def _pushes(self, times: np.ndarray, rows: np.ndarray) -> dict[str, Channel]:
        """Forces of contacts at instants of the run."""
        out, since = np.zeros((len(times), self.record.values.size + 1)), [a.t for a in self._history]
        for row, (t, x) in enumerate(zip(times.tolist(), rows, strict=True)):
            self._take(self._history[max(0, bisect_right(since, t) - 1)])
            status = self._native(closed.forces)(t, np.r_[x, 0.0], out[row])
            if status != 0:
                raise SolverError(f"'{self.system.model.name}': forces of contact cannot be had at t = {t:.9g} s (status {status})")
        return self.contacts.wrench_channels(out, 0)

    def touches(self, t: float, x: np.ndarray) -> Touches:
        """The contacts that are closed at an instant of the run."""
        c = self.record
        then = [a for a in self._history if a.t <= t][-1]
        self._take(then)
        rates, found = np.zeros(len(x)), []
        c.from_[: len(x)] = x
        self._native(closed.slope)(t, x, rates)
        s = c.contacts
        for i in range(c.count):
            k = int(c.place[i])
            if k >= 0 and s.sort[k] < DRY:
                axes = s.axes[9 * k : 9 * k + 9].reshape(3, 3)
                a, b = (self.contacts.body_of(int(s.key[3 * k + j])) for j in (0, 1))
                contact = self.contacts.law_name(int(s.law[k]))
                found.append(
                    Touch(contact, a, b, s.point[3 * k : 3 * k + 3].copy(), axes[0].copy(), float(s.gap[k]), c.force[3 * i : 3 * i + 3] @ axes,
                          "slip" if then.slides[i] else "stick")
                )  # fmt: skip
        return Touches(found)


def _channels(contacts: TreeContacts, trajectory: Trajectory) -> dict[str, Channel]:
    found = contacts.wrench_channels(trajectory.y, 0)
    found["contacts.dissipated"] = Channel(trajectory.x[:, -1].copy(), "J", "energy taken by contacts")
    found["contacts.acting"] = Channel(trajectory.y[:, -1].copy(), "", "contacts that are closed")
    return found


def forces_at(system: TreeSystem, state: State, inputs: Mapping[str, float] | None) -> dict[str, Channel]:
    """Channels (of one row) of what rigid contacts and stops do at a state, by the laws in accelerations."""
    run = ContactEventRun(system, state, (state.t, state.t), Inputs(system, inputs, state.memory), Settings(method="dopri5"))
    try:
        x = run.instant()
        if run.impacts:
            raise InputError(
                f"'{system.model.name}': bodies meet in this state, so that velocities jump: {run.impacts[0]}; simulate a run, or give velocities after the impact"
            )
        out = np.zeros(run.record.values.size + 1)
        status = run._native(closed.forces)(state.t, x, out)
        if status != 0:
            raise SolverError(f"'{system.model.name}': forces of contact cannot be had at t = {state.t:.9g} s (status {status})")
        return run.contacts.wrench_channels(out[None], 0)
    finally:
        run.give_back()


def alone_in_place(J: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Of contacts whose three rows are the same but for a little the one that closes fastest, with all that have no like."""
    rows, size = J.reshape(-1, 3 * J.shape[1]), np.abs(J).max(initial=0.0)
    found: list[int] = []
    for i in np.argsort(w[::3], kind="stable").tolist():
        if all(np.abs(rows[i] - rows[j]).max() > BESIDE * size for j in found):
            found.append(i)
    return np.array(sorted(found), dtype=int)


def set_valued(model: Model) -> str:
    """What in a model has a set-valued law, in words."""
    name = next((c.name for c in model.contacts.values() if not c.gives_way), None)
    if name is not None:
        return f"contact '{name}'"
    for names, what in (
        (model.rigid_stops, "the stop of joint"),
        (model.ropes, "rope"),
        (model.dry_friction, "the friction of joint"),
    ):
        for name in names:
            return f"{what} '{name}'"
    raise ValueError("nothing has a set-valued law")


def _called(f: NativeFunction | None) -> closed.Called:
    if f is None:
        return closed.Called()
    words = np.zeros(max(3, f.args.size), np.int64)
    words[: f.args.size] = f.args.view(np.int64)
    return closed.Called(function=f.address, args=words)


__all__ = ["ContactEventRun", "EventContacts", "Impact"]
