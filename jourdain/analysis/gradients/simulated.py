"""Gradients of simulations: exact derivatives of the discrete run, its steps as they were taken, by two methods.

*Forward* carries a change for every variable along the steps; *adjoint* walks the weights of every criterion back.  The equations that the
adjoint solves are those of Bestle and Eberhard (W. Schiehlen, *Symbolic Computations in Multibody Systems*, eqs. 48–53) for the steps of the
method instead of the differential equations, so that both methods agree to rounding, with each other and with the run.

An event ends a leg of steps at an instant τ with g(τ, x(τ)) = 0.  Since the last step of a leg and the first of the next have τ as an end,
dτ = −(g_x δx + g_p δp)/(g_t + g_x ∂x/∂τ) is all that is needed: saltation, also where nothing jumps but the rates.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, SolverError
from ...results.solution import Solution
from ...solvers.ode.frame import EPS
from ...solvers.ode.guards import APPROACH
from ...solvers.sensitivity.implicit import NOT_FOUND
from ...solvers.sensitivity.walk import AT_END, INSIDE, Leg, backwards, forwards
from ...symbolic.expr import brief
from ...systems.run import SimulationError
from .blocks import Blocks, run_within
from .measure import Motion
from .prepared import compiled_for
from .primitives import Primitive, locate
from .runs import NotCarried
from .switches import Switch

if TYPE_CHECKING:
    from ..criteria import Criterion
    from ..planned import Analysis

#: Weights that have grown by more than this on the way back are told of.
GROWTH = 1e8
#: States found anew that differ from the run by more than this part of their size are told of.
FAR = 1e-2
#: A guard that crosses zero slower than this part of what its terms could do is called grazing.
GRAZING = 1e-6
#: Events nearer to each other than this part of the run happen at once: rounding decides which of them comes first.
AT_ONCE = 1e-9


class GradientWarning(UserWarning):
    """A derivative that should not be trusted without a look: grazing events, growth, switches."""


@dataclass(eq=False)
class Piece:
    """Steps without an event inside, and the event at their end."""

    first: int
    last: int
    event: str | None = None
    #: State after the event, where the next piece begins.
    after: np.ndarray | None = None
    #: What happens at the same instant besides.
    others: tuple[str, ...] = ()


class Simulated:
    """One simulation with its criteria, ready to be differentiated."""

    def __init__(
        self, analysis: Analysis, criteria: Mapping[str, Criterion], wrt: Sequence[str], values: Mapping[str, float],
        solution: Solution | None = None, again: bool = False, memory: float | None = None,
    ) -> None:  # fmt: skip
        """``again`` takes only the instants of a solution: states are found anew from the start that belongs to the values; a run whose steps do not fit
        the ``memory`` (bytes) is walked along in blocks."""
        self.analysis, self.criteria, self.wrt = analysis, criteria, list(wrt)
        plan = analysis.keeping_steps()
        begun = time.perf_counter()
        self.blocks: Blocks | None = None
        if solution is None and memory is not None:
            solution, self.blocks = run_within(plan, values, memory)
        self.solution: Solution = plan.run(values) if solution is None else solution
        self.seconds = time.perf_counter() - begun
        given = plan._changed(values) if again else self.solution.system
        self.code = compiled_for(plan, given, self.solution, values, criteria, self.wrt)
        self.system = given.reference
        self.code.begin(plan, values, criteria)
        self.run, self.leg, self.symbols = self.code.run, self.code.leg, self.code.symbols
        self.rate = self.code.leg.field
        self.columns, self.initial = self.code.columns, self.code.initial
        self.rate_slopes, self.integrand_slopes, self.value_slopes = self.code.slopes
        self.primitives = self.code.primitives
        #: What should be known of the derivatives.
        self.notes: list[str] = []
        self.switches: list[Switch] = []
        self.pieces: list[Piece] = []
        self.run.watched = {}
        if self.blocks is not None:
            self._in_blocks(self.blocks)
            return
        self._rows_of(self.solution)
        if self.wrt:
            self._locate_switches(plan, values)
        self.motion = Motion(self.solution, self.code.expressions)
        locate(self.primitives, self.motion)
        self._read_steps()
        if again:
            self.x[0] = self.run.first()
        if again or not self.run.own or self.run.scheme.implicit:
            self._replay(told=not again)

    def _in_blocks(self, blocks: Blocks) -> None:
        """Takes blocks of steps for the pieces of the run; their states are found again when they are needed."""
        head = f"gradient of '{self.system.model.name}': its steps do not fit the memory, and"
        if not self.run.own or self.run.scheme.implicit:
            raise NotCarried(f"{head} runs by '{self.solution.metadata['method']}' are not walked along in blocks; give more memory=")

        def look(t: np.ndarray, x: np.ndarray) -> None:
            if self.code.surfaces.jumping(t, x):
                raise NotCarried(f"{head} a law that jumps must be met by steps of a run that has all of them; give more memory=")

        blocks.look = look if self.wrt else None
        self.t, self.x, self.terminal = blocks.t, np.zeros((0, self.rate.n)), False
        self.span = float(self.t[0]), float(self.t[-1])
        for item in self.primitives.items:
            if item.value >= 0 and item.criterion.kind in ("largest", "smallest"):
                raise NotCarried(
                    f"{head} criterion '{item.name}' ({item.criterion}) is sought among all of them; use smooth=, or give more memory="
                )
        locate(self.primitives, self)
        self.pieces = [Piece(a, b) for a, b in itertools.pairwise(blocks.ends)]
        self.notes.append(f"{len(self.t) - 1} steps in {len(self.pieces)} blocks of at most {blocks.length}, whose states were found twice")
        self._place_points()

    def _replay(self, told: bool) -> None:
        """States at the instants of the run, found anew: implicit stages to rounding, and those of other coordinates or methods by the steps of this one."""
        if self.run.scheme.implicit:
            self.code.need("push")
        before = self.x.copy()
        self.leg.anew = 1
        try:
            self.found()
        finally:
            self.leg.anew = 0
        if self.run.own or not told:
            return
        gap = float(
            (np.abs(self.x - before).max(axis=0) / np.maximum(np.abs(before).max(axis=0), 1e-12 + 1e-6 * np.abs(before).max())).max()
        )
        note = (
            f"derivatives of the run ({self.solution.metadata['method']}, {self.solution.metadata['run']}) are those of steps of '{self.run.method}' in joint "
            f"coordinates at its instants, whose states differ from it by at most {gap:.1e} of their size"
        )
        self.notes.append(note)
        if gap > FAR:
            warnings.warn(f"gradient of '{self.system.model.name}': {note}", GradientWarning, stacklevel=5)

    def _rows_of(self, solution: Solution) -> None:
        """Times and states of all steps."""
        s = self.system
        self.t = np.array(solution.t, dtype=float)
        names = [*s.coordinate_names, *s.velocity_names, *s.model.states, *(x.name for x in self.run.held)]
        self.x = np.column_stack([np.asarray(solution[n], dtype=float) for n in names])
        if self.run.inputs.controllers:
            self._between_samples()

    def _between_samples(self) -> None:
        """Sampled inputs in rows at whose instants a piece begins: those of the rest of the piece; the first row is the first of a piece."""
        if self.run.acting(self.t[0]):
            early = int(np.count_nonzero(self.t == self.t[0])) - 1
            self.t, self.x = self.t[early:].copy(), self.x[early:].copy()
        held = self.x.shape[1] - len(self.run.held)
        for i in np.flatnonzero(np.diff(self.t) == 0)[::-1] + 1:
            if i + 1 < len(self.t):
                self.x[i, held:] = self.x[i + 1, held:]

    def _locate_switches(self, plan: Analysis, values: Mapping[str, float]) -> None:
        """Runs again with steps that end on surfaces where laws jump, until there is none left inside a step."""
        surfaces, watched = self.code.surfaces, []
        for _ in range(4):
            new = [j for j in surfaces.jumping(self.t, self.x) if j not in watched]
            if not new:
                break
            watched += new
            items = [surfaces.items[j] for j in watched]
            try:
                self.solution = plan.keeping_steps(
                    watch=[(e, surfaces.directions.get(j, 0)) for j, e in zip(watched, items, strict=True)]
                ).run(values)
            except SimulationError as error:
                raise NotCarried(
                    f"gradient of '{self.system.model.name}': a law jumps where {brief(items[-1])} is zero, and a run that ends its steps there does not "
                    f"come to its end ({error}); smooth the law, or give the model an event that ends the switching"
                ) from None
            self.run.watched = {f"switch {k}": e for k, e in enumerate(items)}
            self._rows_of(self.solution)

    def _at_instants(self) -> dict[float, list[str]]:
        """What happened when: events of the model, those that make something jump first, and then switches."""
        found: dict[float, list[str]] = {}
        known = self.system.model.events
        for e in list(self.solution.events) if known else []:
            found.setdefault(e.t, []).append(e.name)
        for names in found.values():
            names.sort(key=lambda n: not known[n].jump)
        for t, k in self.solution.metadata.get("watched", ()):
            found.setdefault(t, []).append(f"switch {k}")
        if self.run.inputs.controllers:
            for t in np.unique(self.t[:-1][np.diff(self.t) == 0]).tolist():
                acting = self.run.acting(t)
                if acting:
                    found.setdefault(t, []).insert(0, acting)
        return found

    # -- steps ----------------------------------------------------------------------------------------------------

    def _read_steps(self) -> None:
        """Times, states and pieces of the run."""
        solution, s = self.solution, self.system
        jumps = np.flatnonzero(np.diff(self.t) == 0).tolist()
        self.terminal = solution.metadata["status"] == "event"
        last = list(solution.events)[-1].name if self.terminal else None
        happened = self._at_instants()
        self.pieces = []
        first = 0
        for i in jumps:
            names = happened.pop(float(self.t[i]), [])
            acting = [n for n in names if self.run.timed(n) or (n not in self.run.watched and s.model.events[n].jump)]
            if len(acting) > 1 or not (names or (i == first and self.pieces)):
                raise self._apart(names, self.t[i])
            if i == first:  # what follows an event at the same instant without anything that jumps
                self.pieces[-1].after = self.x[i + 1]
            else:
                self.pieces.append(Piece(first, i, names[0], self.x[i + 1], tuple(names[1:])))
                if names[0] in self.run.watched:
                    self.switches.append(Switch(float(self.t[i]), brief(self.run.watched[names[0]])))
            first = i + 1
        for t, names in happened.items():
            if t < self.t[-1]:
                raise self._apart(names, t)
        self.pieces.append(Piece(first, len(self.t) - 1, last))
        self.span = float(self.t[0]), float(self.t[-1])
        self._place_points()

    def _apart(self, names: Sequence[str], t: float) -> NotCarried:
        told = f"events of one instant cannot be told apart ({', '.join(names) or 'a restart without one'} at t = {t:.9g} s)"
        return NotCarried(f"gradient of '{self.system.model.name}': {told}; let one event do what several do")

    def _place_points(self) -> None:
        """The steps in which values are read; an instant at the end of a piece belongs to it."""
        self.points: list[list[tuple[int, int, float, int, int]]] = []
        wanted = [(t, i, k) for i, item in enumerate(self.primitives.items) for k, t in enumerate(item.times)]
        left = sorted(wanted)
        for piece in self.pieces:
            last = piece is self.pieces[-1]
            here = [w for w in left if w[0] <= self.t[piece.last] or last]
            left = left[len(here) :]
            rows = []
            for t, i, k in here:
                step = int(
                    np.clip(np.searchsorted(self.t[piece.first : piece.last + 1], t, side="left") - 1, 0, piece.last - piece.first - 1)
                )
                kind = AT_END if t == self.t[piece.first + step + 1] else INSIDE
                rows.append((step, kind, float(t), i, k))
            self.points.append(sorted(rows))
        self._look_at_corners()

    def _look_at_corners(self) -> None:
        """Tells of values read where several events happen at once: changes of the design put either of them first."""
        near = AT_ONCE * (self.span[1] - self.span[0])
        ends = [(self.t[p.last], n) for p in self.pieces for n in (p.event, *p.others) if n is not None]
        read: dict[tuple[str, ...], list[str]] = {}
        for item in self.primitives.items:
            for t in item.times:
                events = tuple(n for end, n in ends if abs(end - t) <= near)
                if len(events) > 1:
                    read.setdefault(events, []).append(item.name)
        for events, criteria in read.items():
            both, t = ", ".join(map(self._told, events)), next(end for end, n in ends if n == events[0])
            told = f"{', '.join(map(repr, criteria))}: read at t = {t:.9g} s, where {both} happen at once; derivatives follow one of them"
            self.notes.append(told)
            warnings.warn(f"gradient of '{self.system.model.name}': {told}", GradientWarning, stacklevel=6)

    def _told(self, event: str) -> str:
        return f"a zero of {brief(self.run.watched[event])}" if event in self.run.watched else f"'{event}'"

    def _leg(self, index: int, directions: int = 0, criteria: int = 0, only_last: bool = False) -> Leg:
        """The record of a piece, with room for what is carried."""
        piece, leg, n = self.pieces[index], self.leg, self.rate.n
        first = piece.last - 1 if only_last else piece.first
        rows = [p for p in self.points[index] if not only_last or (p[0] == piece.last - piece.first - 1 and p[1] == AT_END)]
        shift = first - piece.first
        x = self.x[first : piece.last + 1] if self.blocks is None else self.blocks.states(index)
        leg.count, leg.t, leg.x = piece.last - first, self.t[first : piece.last + 1], x
        leg.margin, leg.renews = 0.0, int(piece.event is None)
        if piece.event is not None and not self.run.timed(piece.event):
            t, width = self.t[piece.last], self.t[piece.last] - self.t[piece.last - 1]
            leg.margin = min(max(APPROACH * width, 8.0 * EPS * abs(t)), 0.5 * width)
        leg.point_step = np.array([p[0] - shift for p in rows], dtype=np.int64)
        leg.point_kind = np.array([p[1] for p in rows], dtype=np.int64)
        leg.point_t = np.array([p[2] for p in rows], dtype=float)
        count, integrals = leg.values.count, leg.integrands.count
        leg.point_y = np.zeros((len(rows), max(1, count)))
        leg.total = np.zeros(max(1, integrals))
        leg.directions, leg.criteria = directions, criteria
        d = max(1, directions)
        leg.dta, leg.dtb, leg.dx = np.zeros(d), np.zeros(d), np.zeros((d, n))
        leg.dc, leg.dr, leg.dv = (np.zeros((d, max(1, c))) for c in (leg.field.nc, leg.integrands.nc, leg.values.nc))
        leg.dtotal, leg.point_dy = np.zeros((d, max(1, integrals))), np.zeros((len(rows), max(1, d * count)))
        r = max(1, criteria)
        leg.xbar, leg.weights, leg.tabar, leg.tbbar = np.zeros((r, n)), np.zeros((r, max(1, integrals))), np.zeros(r), np.zeros(r)
        leg.point_weights = np.zeros((len(rows), max(1, r * count)))
        leg.cbar, leg.rbar, leg.vbar = (np.zeros((r, max(1, c))) for c in (leg.field.nc, leg.integrands.nc, leg.values.nc))
        self._rows = rows
        return leg

    def _walk(self, kernel: Any) -> None:
        status = kernel.call(self.leg.address)
        if status == NOT_FOUND:
            raise NotCarried(
                f"gradient of '{self.system.model.name}': the stages of a step of '{self.run.method}' cannot be found at the instants of the run; use "
                "smaller steps (max_step=), or method='differences'"
            )
        if status != 0:
            raise SolverError(f"gradient of '{self.system.model.name}': the equations returned status {status} on the way along the steps")

    # -- values ---------------------------------------------------------------------------------------------------

    def found(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """Integrals and values at instants, by a walk without directions."""
        total = np.zeros(max(1, self.leg.integrands.count))
        values = [np.zeros(len(item.times)) for item in self.primitives.items]
        for index in range(len(self.pieces)):
            leg = self._leg(index)
            leg.total[:] = total
            self._walk(forwards)
            total = leg.total.copy()
            self._note_values(leg, values)
        return total, values

    def _note_values(self, leg: Leg, values: list[np.ndarray]) -> None:
        for row, (_, _, _, i, k) in enumerate(self._rows):
            values[i][k] = leg.point_y[row, self.primitives.items[i].value]

    def results(self, total: np.ndarray, values: list[np.ndarray]) -> dict[str, float]:
        """The criteria."""
        T = self.span[1] - self.span[0]
        return {
            item.name: item.of(float(total[item.integrand]) if item.integrand >= 0 else 0.0, values[i], T, self._when(item))
            for i, item in enumerate(self.primitives.items)
        }

    def _when(self, item: Primitive) -> float:
        piece = self._piece_of(item)
        return self.span[1] if piece is None else float(self.t[self.pieces[piece].last])

    def _piece_of(self, item: Primitive) -> int | None:
        """The piece at whose end is the time that a criterion asks for; None where it is fixed."""
        c = item.criterion
        if c.kind == "end_time":
            return len(self.pieces) - 1 if self.terminal else None
        if c.kind != "event_time":
            return None
        event, count = c.options["event"], c.options["count"]
        if event not in self.system.model.events:
            raise InputError(f"criterion '{item.name}': there is no event '{event}'; there are {', '.join(self.system.model.events)}")
        found = [i for i, piece in enumerate(self.pieces) if piece.event == event]
        if len(found) < count:
            raise InputError(f"criterion '{item.name}': event '{event}' happened {len(found)} times in the run, not {count}")
        return found[count - 1]

    # -- forward --------------------------------------------------------------------------------------------------

    def forward(self) -> tuple[dict[str, float], np.ndarray]:
        """Values and derivatives, a change for every variable carried along."""
        self.code.need("push")
        d, items = len(self.wrt), self.primitives.items
        dx, dtau = self.run.start_changes(self.wrt, self.initial, self._symbol_changes(), self.symbols), np.zeros(d)
        total, dtotal = np.zeros(max(1, self.leg.integrands.count)), np.zeros((d, max(1, self.leg.integrands.count)))
        values = [np.zeros(len(item.times)) for item in items]
        dvalues = [np.zeros((len(item.times), d)) for item in items]
        times: dict[int, np.ndarray] = {}
        by = self._symbol_changes()
        for index, piece in enumerate(self.pieces):
            moving = piece.event is not None and not self.run.timed(piece.event)
            slopes = self._end_slopes(index) if moving else None
            leg = self._leg(index, d)
            leg.dta[:], leg.dx[:], leg.total[:], leg.dtotal[:] = dtau, dx, total, dtotal
            for changes, table in ((leg.dc, self.rate_slopes), (leg.dr, self.integrand_slopes), (leg.dv, self.value_slopes)):
                changes[:, : len(table)] = by @ table.T
            self._walk(forwards)
            dx, total, dtotal = leg.dx.copy(), leg.total.copy(), leg.dtotal.copy()
            self._note_values(leg, values)
            count = leg.values.count
            for row, (_, _, _, i, k) in enumerate(self._rows):
                dvalues[i][k] = leg.point_dy[row].reshape(-1, count)[:, items[i].value]
            dtau = np.zeros(d)
            if piece.event is not None and slopes is not None:
                rows = self._rows
                gt, gx, gp = self.run.guard(piece.event, self.t[piece.last], self.x[piece.last], self.symbols)
                speed = gt + gx @ slopes.x
                self._look_at(piece, speed, gt, gx, slopes.x)
                dtau = -(dx @ gx + by @ gp) / speed
                dx += np.outer(dtau, slopes.x)
                dtotal += np.outer(dtau, slopes.total)
                for step, kind, _, i, k in rows:
                    if kind == AT_END and step == piece.last - piece.first - 1:
                        dvalues[i][k] += dtau * slopes.values[items[i].value]
                times[index] = dtau.copy()
            if piece.event is not None:
                if piece.after is not None:
                    dx = self.run.push_jump(piece.event, self.t[piece.last], self.x[piece.last], piece.after, dtau, dx, by, self.symbols)
        T, dT = self.span[1] - self.span[0], dtau if self.terminal else np.zeros(d)
        #: Values at instants with their derivatives, an entry a criterion: residuals of fits are made of these.
        self.sampled = values, dvalues
        matrix = np.zeros((len(items), d))
        for i, item in enumerate(items):
            k = item.integrand
            bi, bv, bt = item.slopes(float(total[k]) if k >= 0 else 0.0, values[i], T)
            matrix[i] = bt * dT + bv @ dvalues[i] + (bi * dtotal[:, k] if k >= 0 else 0.0)
            at = self._piece_of(item)
            if at is not None:
                matrix[i] += times[at]
        found = self.results(total, values)
        self._tell_norms(found)
        return found, matrix

    def _symbol_changes(self) -> np.ndarray:
        """Which symbol each variable changes (variables × symbols)."""
        found = np.zeros((len(self.wrt), len(self.symbols)))
        for k, j in enumerate(self.columns):
            found[j, k] = 1.0
        return found

    def _end_slopes(self, index: int) -> EndSlopes:
        """How state, integrals and values at the end of a piece change with its last instant."""
        self.code.need("push")
        leg = self._leg(index, 1, only_last=True)
        leg.dtb[0] = 1.0
        self._walk(forwards)
        count = max(1, leg.values.count)
        values = leg.point_dy[0][:count].copy() if len(self._rows) else np.zeros(count)
        return EndSlopes(leg.dx[0].copy(), leg.dtotal[0].copy(), values)

    def _look_at(self, piece: Piece, speed: float, gt: float, gx: np.ndarray, rate: np.ndarray) -> None:
        """Tells of events that graze, and refuses those whose guards do not move."""
        scale = abs(gt) + float(np.abs(gx) @ np.abs(rate))
        t = self.t[piece.last]
        if not abs(speed) > 1e-13 * scale:
            raise InputError(
                f"gradient of '{self.system.model.name}': the guard of event '{piece.event}' touches zero at t = {t:.9g} s without crossing it: "
                "the time of the event has no derivative there"
            )
        if abs(speed) < GRAZING * scale:
            warnings.warn(
                f"gradient of '{self.system.model.name}': event '{piece.event}' at t = {t:.9g} s grazes (its guard moves at {speed:.2g}, its terms at "
                f"{scale:.2g}): derivatives beyond it are large and hold in a small neighbourhood only",
                GradientWarning,
                stacklevel=5,
            )

    # -- adjoint --------------------------------------------------------------------------------------------------

    def adjoint(self) -> tuple[dict[str, float], np.ndarray]:
        """Values and derivatives, weights of every criterion walked back."""
        self.code.need("pull")
        items, r, n = self.primitives.items, len(self.criteria), self.rate.n
        T = self.span[1] - self.span[0]
        scaled = not self.terminal and all(item.integrand >= 0 or not item.needs_values for item in items)
        known = None if scaled or not any(i.needs_values or (self.terminal and i.criterion.kind == "mean") for i in items) else self.found()
        weights, point_weights, bt = self._seeds(known, T)
        xbar, tau = np.zeros((r, n)), bt if self.terminal else np.zeros(r)
        total = np.zeros(max(1, self.leg.integrands.count))
        values = [np.zeros(len(item.times)) for item in items]
        pbar = np.zeros((r, len(self.symbols)))
        bars: tuple[np.ndarray, ...] | None = None
        largest = np.zeros((r, n))
        for index in range(len(self.pieces) - 1, -1, -1):
            piece = self.pieces[index]
            if piece.event is not None:
                if piece.after is not None:
                    xbar, more, by_p = self.run.pull_jump(
                        piece.event, self.t[piece.last], self.x[piece.last], piece.after, xbar, self.symbols
                    )
                    tau = tau + more
                    pbar += by_p
            if piece.event is not None and not self.run.timed(piece.event):
                tau = tau + self._time_weights(index)
                slopes = self._end_slopes(index)
                gt, gx, gp = self.run.guard(piece.event, self.t[piece.last], self.x[piece.last], self.symbols)
                speed = gt + gx @ slopes.x
                self._look_at(piece, speed, gt, gx, slopes.x)
                direct = tau + xbar @ slopes.x + weights @ slopes.total + self._end_values(index, point_weights) @ slopes.values
                rho = direct / speed
                xbar = xbar - np.outer(rho, gx)
                pbar -= np.outer(rho, gp)
            leg = self._leg(index, 0, r)
            leg.xbar[:], leg.weights[:], leg.total[:] = xbar, weights, total
            if bars is not None:
                leg.cbar[:], leg.rbar[:], leg.vbar[:] = bars
            count = leg.values.count
            for row, (_, _, _, i, k) in enumerate(self._rows):
                leg.point_weights[row, i * count + items[i].value] = point_weights[i][k]
            leg.largest = np.zeros((r, n))
            self._walk(backwards)
            largest = np.maximum(largest, leg.largest)
            xbar, tau = leg.xbar.copy(), leg.tabar.copy()
            total, bars = leg.total.copy(), (leg.cbar.copy(), leg.rbar.copy(), leg.vbar.copy())
            self._note_values(leg, values)
        assert bars is not None
        for bar, table in zip(bars, (self.rate_slopes, self.integrand_slopes, self.value_slopes), strict=True):
            pbar += bar[:, : len(table)] @ table
        matrix = np.zeros((r, len(self.wrt)))
        matrix[:, self.columns] = pbar
        matrix += xbar @ self.run.start_changes(self.wrt, self.initial, self._symbol_changes(), self.symbols).T
        if scaled:  # functions of one integral: their slope is known now
            for i, item in enumerate(items):
                if item.integrand >= 0:
                    matrix[i] *= item.slopes(float(total[item.integrand]), values[i], T)[0]
        found = self.results(total, values)
        self._look_at_growth(largest, found)
        self._tell_norms(found)
        return found, matrix

    def _tell_norms(self, found: Mapping[str, float]) -> None:
        """Says how far norms are from the largest values that they stand for."""
        for item in self.primitives.items:
            power = item.criterion.options.get("smooth")
            if item.criterion.kind == "largest" and power and self.blocks is None:
                peak = float(np.abs(self.motion.read(item.name, np.unique(self.t))).max())
                if peak > 0.0:
                    gap = 1.0 - found[item.name] / peak
                    self.notes.append(
                        f"'{item.name}': the norm of power {power:g} is {found[item.name]:.6g}, {gap:.1%} below the largest value {peak:.6g} at the steps"
                    )

    def _look_at_growth(self, largest: np.ndarray, found: Mapping[str, float]) -> None:
        """Tells of criteria that change by far more than themselves with the whole of a state on the way."""
        sizes = np.abs(self.x).max(axis=0) if self.blocks is None else self.blocks.sizes
        for weights, (name, value) in zip(largest, found.items(), strict=True):
            growth = float((weights * sizes).max()) / abs(value) if value else 0.0
            if growth > GROWTH:
                told = (
                    f"a small part of a state on the way changes '{name}' by {growth:.1e} of that part: the gradient holds in a tiny neighbourhood only; "
                    "where it is no chaos, steps were too long for what the system could do (it was at rest, or is stiff): use max_step=, or method='radau'"
                )
                self.notes.append(told)
                warnings.warn(f"gradient of '{self.system.model.name}': {told}", GradientWarning, stacklevel=5)

    def _seeds(self, known: Any, T: float) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
        """Weights of integrals, of values at instants and of the duration, a row a criterion."""
        items = self.primitives.items
        weights = np.zeros((len(items), max(1, self.leg.integrands.count)))
        by_time, points = np.zeros(len(items)), []
        for i, item in enumerate(items):
            k = item.integrand
            if known is not None:
                bi, bv, by_time[i] = item.slopes(float(known[0][k]) if k >= 0 else 0.0, known[1][i], T)
            elif k >= 0:
                bi, bv = 1.0, np.zeros(0)
                if self.terminal:
                    bi = item.slopes(0.0, bv, T)[0]
            else:
                bi, bv, _ = item.slopes(0.0, np.zeros(len(item.times)), T)
            if k >= 0:
                weights[i, k] = bi
            points.append(bv)
        return weights, points, by_time

    def _time_weights(self, index: int) -> np.ndarray:
        """Weights of the time at the end of a piece."""
        return np.array([float(self._piece_of(item) == index) for item in self.primitives.items])

    def _end_values(self, index: int, point_weights: list[np.ndarray]) -> np.ndarray:
        """Weights of the values that are read at the end of a piece (criteria × values)."""
        piece, count = self.pieces[index], max(1, self.leg.values.count)
        found = np.zeros((len(self.criteria), count))
        for step, kind, _, i, k in self.points[index]:
            if kind == AT_END and step == piece.last - piece.first - 1:
                found[i, self.primitives.items[i].value] += point_weights[i][k]
        return found


@dataclass(frozen=True, eq=False)
class EndSlopes:
    """∂/∂τ of state, integrals and values at the end of a piece."""

    x: np.ndarray
    total: np.ndarray
    values: np.ndarray


__all__ = ["GradientWarning", "NotCarried", "Simulated"]
