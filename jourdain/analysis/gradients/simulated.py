"""Gradients of simulations: exact derivatives of the discrete run, its steps as they were taken, by two methods.

*Forward* carries a change for every variable along the steps; *adjoint* walks the weights of every criterion back.  The equations that the
adjoint solves are those of Bestle and Eberhard (W. Schiehlen, *Symbolic Computations in Multibody Systems*, eqs. 48–53) for the steps of the
method instead of the differential equations, so that both methods agree to rounding, with each other and with the run.

All that follows a run is one native walk along its pieces, over the events between them (:mod:`jourdain.solvers.sensitivity.path`).
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, SolverError
from ...results.solution import Solution
from ...solvers.sensitivity.extrema import find_extrema, new_sought
from ...solvers.sensitivity.implicit import NOT_FOUND
from ...solvers.sensitivity.path import AT_REST, Path, backwards, forwards
from ...solvers.sensitivity.touched import NO_ROOM, NO_SLOPE
from ...systems.run import SimulationError
from .blocks import Blocks, look_for_surfaces, run_within
from .carried import refuse_moved
from .contact.meetings import restless
from .doubtful import AT_ONCE, tell_of_guards, tell_of_order
from .located import Located
from .measure import Motion
from .moved_events import settle, thin, with_restarts
from .prepared import compiled_for, with_fixed
from .primitives import Primitive, locate
from .runs import GradientWarning, NotCarried
from .switches import Switch, surface_text
from .walks import Piece, apart, placed, side_by_side

if TYPE_CHECKING:
    from ..design.criteria import Criterion
    from ..design.planned import Analysis

#: Weights that have grown by more than this on the way back are told of.
GROWTH = 1e8
#: States found anew that differ from the run by more than this part of their size are told of.
FAR = 1e-2
#: A jump that leaves constraints by less than this keeps them.
CLOSED = 1e-7


class Simulated:
    """One simulation with its criteria, ready to be differentiated."""

    def __init__(
        self, analysis: Analysis, criteria: Mapping[str, Criterion], wrt: Sequence[str], values: Mapping[str, float],
        solution: Solution | None = None, again: bool = False, memory: float | None = None, to_bends: bool = True,
    ) -> None:  # fmt: skip
        """``again`` takes only the instants of a solution: states are found anew from the start that belongs to the values; a run whose steps do not fit
        the ``memory`` (bytes) is walked along in blocks; steps end where laws jump and, with ``to_bends``, where they bend."""
        self.analysis, self.criteria, self.wrt = analysis, criteria, list(wrt)
        plan = analysis.keeping_steps()
        begun = time.perf_counter()
        self.blocks: Blocks | None = None
        fixed = with_fixed(plan, values, criteria, wrt) if solution is None and memory is not None and to_bends else None
        if fixed is not None and memory is not None:
            try:
                solution, self.blocks = run_within(plan, values, memory, [fixed.surfaces.items[j] for j in fixed.fixed])
            except (SimulationError, InputError):  # told of the run that does not end its steps there, if at all
                fixed = None
        if solution is None and memory is not None:
            solution, self.blocks = run_within(plan, values, memory)
        self.solution: Solution = plan.run(values) if solution is None else solution
        refuse_moved(plan, self.solution, values)
        self.seconds = time.perf_counter() - begun
        given = plan._changed(values) if again else self.solution.system
        self.code = compiled_for(plan, given, self.solution, values, criteria, self.wrt)
        self.system = given.reference
        self.code.begin(plan, values, criteria)
        self.run, self.walks, self.symbols = self.code.run, self.code.walks, self.code.symbols
        self.columns, self.initial = self.code.columns, self.code.initial
        self.rate_slopes, self.integrand_slopes, self.value_slopes = self.code.slopes
        self.primitives = self.code.primitives
        #: What should be known of the derivatives.
        self.notes: list[str] = []
        self.switches: list[Switch] = []
        self.located = Located(self, fixed is not None and fixed is self.code)
        self.pieces: list[Piece] = []
        self.run.watched, self.run.bends, self.run.steep = {}, set(), set()
        self.run.follow(self.solution)
        if self.blocks is not None:
            self._in_blocks(self.blocks)
            return
        self._rows_of(self.solution)
        if self.wrt:
            self.located.find(plan, values, to_bends)
            self._look_at_contacts()
            self.notes += self.run.told()
        self._read_steps()
        if self.wrt:
            tell_of_order(self)
        self.located.tell_renewals()
        self.located.approach()
        replayed = again or not self.run.own or bool(self.run.scheme.implicit) or bool(self.located.added)
        twice = replayed and bool(self.primitives.sought)
        locate(self.primitives, self, seek=not twice)
        if not twice:
            self._place_points()
        else:
            self.lay_out()
        self._look_at_jumps()
        if again:
            self.x[0] = self.run.first()
        if replayed:
            self._replay(told=not again)
        if twice:  # extrema are those of the motion that is walked along
            impulses = self.walks.impulses.copy()
            locate(self.primitives, self)
            self._place_points()
            self.walks.impulses[:] = impulses

    def _in_blocks(self, blocks: Blocks) -> None:
        """Takes blocks of steps for the pieces of the run; their states are found again when they are needed."""
        head = f"gradient of '{self.system.model.name}': its steps do not fit the memory, and"
        if not self.run.own or self.run.scheme.implicit:
            raise NotCarried(f"{head} runs by '{self.solution.metadata['method']}' are not walked along in blocks; give more memory=")

        blocks.look = partial(look_for_surfaces, self, head) if self.wrt else None
        self.t, self.x, self.terminal = blocks.t, np.zeros((0, self.walks.field.n)), False
        self.span = float(self.t[0]), float(self.t[-1])
        for item in self.primitives.items:
            if item in self.primitives.sought:
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
            self.walks.need("push")
        thin(self)
        rows = ~np.isin(self.t, [t for t, _ in self.located.instants]) if self.located.own else np.ones(len(self.t), bool)
        rows &= ~np.isin(self.t, self.located.added)
        rows[[p.last for p in self.pieces if p.goes_on]] = False  # which side of an event the rows there are differs from run to run
        before = self.x[rows]
        leg = self.walks.path.leg
        leg.anew = 1
        try:
            self.found()
            found = self.x[rows]
            settle(self)
        finally:
            leg.anew = 0
        if self.run.own or not told:
            return
        n = found.shape[1] - len(self.run.held)  # what is held follows from the states
        found, before = found[:, :n], before[:, :n]
        gap = float(
            (np.abs(found - before).max(axis=0) / np.maximum(np.abs(before).max(axis=0), 1e-12 + 1e-6 * np.abs(before).max())).max()
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
        rows = solution.states
        if rows is None:
            rows = np.column_stack(
                [np.asarray(solution[n], dtype=float) for n in (*s.coordinate_names, *s.velocity_names, *s.model.states)]
            )
        self.x = np.column_stack([rows, self._held_of(solution)]) if self.run.held else np.array(rows, dtype=float)
        if self.system.model.switches:  # between what a jump and what an impulse leave there may be a row of its own
            between = 1 + np.flatnonzero((self.t[:-2] == self.t[1:-1]) & (self.t[1:-1] == self.t[2:]))
            self.t, self.x = np.delete(self.t, between), np.delete(self.x, between, axis=0)
        if self.run.renews and not self.run.own:
            self._renewed_once(solution)
        if self.run.moves_events and self.run.events:
            self.t, self.x = with_restarts(self.t, self.x, np.asarray(solution.events.t))
        if self.run.inputs.controllers:
            self._at_samples()
            self._between_samples()

    def _renewed_once(self, solution: Solution) -> None:
        """Rows in which what renewed memories alone have changed stands once: methods with a past begin anew there, from a row of its own."""
        happened = [*np.asarray(solution.events.t), *(t for t, _ in solution.metadata.get("watched", ()))]
        twice = np.flatnonzero((np.diff(self.t) == 0) & ~np.isin(self.t[:-1], happened)).tolist()
        before = [i for i in twice if not self.run.acting(float(self.t[i]))]
        self.t, self.x = np.delete(self.t, before), np.delete(self.x, before, axis=0)

    def _held_of(self, solution: Solution) -> np.ndarray:
        """Memories and sampled inputs of all steps."""
        table = getattr(solution.frame_provider, "table", None)
        if table is not None and len(table.t) == len(solution.t):
            return np.asarray(table.inputs)[:, self.run.held_places]
        return np.column_stack([np.asarray(solution[x.name], dtype=float) for x in self.run.held])

    def _at_samples(self) -> None:
        """Rows in which all instants stand twice at which sampled laws act; runs of some formulations have them once."""
        if self.run.own:
            return
        begun, end = float(self.t[0]), float(self.t[-1])
        for name, c in self.run.inputs.controllers.items():
            wanted = begun + c.period * np.arange(1, int((end - begun) / c.period + 1e-9) + 1)
            away = np.abs(self.t[np.minimum(np.searchsorted(self.t, wanted - 1e-9 * c.period), len(self.t) - 1)] - wanted)
            if (away > 1e-8 * c.period).any():
                raise NotCarried(
                    f"gradient of '{self.system.model.name}': steps of this run do not end where the controller of '{name}' acts (every {c.period:g} s); use a "
                    "step that divides its period, or method='differences'"
                )
        acting = [t for t in np.unique(self.t[1:-1]).tolist() if self.run.acting(t)]
        self.t, self.x = with_restarts(self.t, self.x, np.array(acting))

    def _between_samples(self) -> None:
        """Sampled inputs in rows at whose instants a piece begins: those of the rest of the piece; the first row is the first of a piece."""
        if self.run.acting(self.t[0]):
            early = int(np.count_nonzero(self.t == self.t[0])) - 1
            self.t, self.x = self.t[early:].copy(), self.x[early:].copy()
        first = self.x.shape[1] - len(self.run.held)
        sampled = slice(first, first + len(self.run.sampled))
        for i in np.flatnonzero(np.diff(self.t) == 0)[::-1] + 1:
            if i + 1 < len(self.t):
                self.x[i, sampled] = self.x[i + 1, sampled]

    def _look_at_contacts(self) -> None:
        """Tells of contacts whose forces jump where bodies meet: the instant of that has no part in the derivatives."""
        for name in self.run.touched.jumping() if self.run.touched is not None else ():
            told = (
                f"the force of contact '{name}' jumps where bodies meet and part, and what moving these instants does is not in the derivatives; use a law whose damping "
                "grows with the depth (jd.contact.hunt_crossley)"
            )
            self.notes.append(told)
            warnings.warn(f"gradient of '{self.system.model.name}': {told}", GradientWarning, stacklevel=5)
        touching, n = self.run.native.touching, self.x.shape[1] - len(self.run.held)
        for a, b in restless(touching, self.t, self.x[:, :n]) if touching is not None else ():
            told = (
                f"points at which '{a}' and '{b}' touch come and go at a depth, where their force jumps, and what moving these instants does is not in the "
                "derivatives; let balls or capsules touch, or faces that lie within each other"
            )
            self.notes.append(told)
            warnings.warn(f"gradient of '{self.system.model.name}': {told}", GradientWarning, stacklevel=5)

    def _at_instants(self) -> dict[float, list[str]]:
        """What happened when: events of the model, those that make something jump first, and then switches."""
        found: dict[float, list[str]] = {}
        known = self.run.events
        events = self.solution.events
        for t, name in zip(events.t.tolist(), events.names, strict=True) if known else ():
            found.setdefault(t, []).append(name)
        for names in found.values():
            names.sort(key=lambda n: not known[n].jump)
        for t, k in sorted(self.located.instants, key=lambda item: f"switch {item[1]}" in self.run.bends):
            found.setdefault(t, []).append(self.located.name(t, k))
        if self.run.inputs.controllers:
            for t in np.unique(self.t[:-1][np.diff(self.t) == 0]).tolist():
                acting = self.run.acting(t)
                if acting:
                    found.setdefault(t, []).insert(0, acting)
        for t, name, changed in self.run.instants():
            if changed or t not in found:
                found.setdefault(t, []).insert(0, name)
        return found

    # -- steps ----------------------------------------------------------------------------------------------------

    def _read_steps(self) -> None:
        """Times, states and pieces of the run."""
        solution = self.solution
        jumps = np.flatnonzero(np.diff(self.t) == 0).tolist()
        self.terminal = solution.metadata["status"] == "event"
        last = solution.events.names[-1] if self.terminal else None
        happened = self._at_instants()
        self.pieces = []
        first = 0
        for i in jumps:
            names = happened.pop(float(self.t[i]), [])
            acting = [n for n in names if self.run.acts(n)]
            if len(acting) > 1 or not (names or (i == first and self.pieces)):
                raise self._apart(names, self.t[i])
            if i > first:  # else it follows an event at the same instant without anything that jumps
                self.pieces.append(Piece(first, i, names[0], True, tuple(names[1:])))
                if names[0] in self.run.watched and names[0] not in self.run.bends:
                    self.switches.append(Switch(float(self.t[i]), surface_text(self.run.watched[names[0]])))
            first = i + 1
        for t, names in happened.items():
            if t < self.t[-1]:
                raise self._apart(names, t)
        self.pieces.append(Piece(first, len(self.t) - 1, last))
        for piece in self.pieces:
            piece.mode = self.run.mode_at(float(self.t[piece.first]))
        for before, after in itertools.pairwise(self.pieces):
            if {before.event, *before.others} & self.run.steep:
                before.stretched = after.stretched = True
        self.span = float(self.t[0]), float(self.t[-1])

    def extrema(self, values: list[int], signs: list[float]) -> tuple[list[float], list[int]]:
        """When values are largest (sign 1) or smallest (−1), and whether behind the event at that instant."""
        if self.run.scheme.implicit:
            self.walks.need("push")
        self.walks.lay(self.pieces, placed(self.t, self.pieces, []), self.t, self.symbols)
        path = self.walks.path
        sought = new_sought(path, values, signs, len(self.t))
        self.walks.begin(path)
        self.walks.put(path, self.t, self.x)
        self._looked_at(path, find_extrema.call(sought.address))
        return sought.t.tolist(), sought.behind.tolist()

    def _look_at_jumps(self) -> None:
        """Impulses by which the run has closed constraints again after jumps; jumps of coordinates that open loops are refused."""
        if not self.run.record.m or not self.wrt:
            return
        nq, nv = self.system.nq, self.system.nv
        for i, piece in enumerate(self.pieces):
            if piece.event is None or not piece.goes_on:
                continue
            f = self.run.jump(piece.event, self.symbols)
            if f is None:
                continue
            after = self.x[piece.last + 1]
            gap = after - f.value(self.t[piece.last : piece.last + 1], self.x[piece.last], self.run.given(piece.event))
            if np.abs(gap[:nq]).max() > CLOSED * max(1.0, float(np.abs(after).max())):
                raise NotCarried(
                    f"gradient of '{self.system.model.name}': the jump of event '{piece.event}' sets coordinates so that loops are open, which the run closes again; that "
                    "is not carried: let the jump set all coordinates as the loops demand, or use method='differences'"
                )
            self.walks.impulses[i] = gap[nq : nq + nv]

    def _apart(self, names: Sequence[str], t: float) -> NotCarried:
        told = f"events of one instant cannot be told apart ({', '.join(names) or 'a restart without one'} at t = {t:.9g} s)"
        return NotCarried(f"gradient of '{self.system.model.name}': {told}; let one event do what several do")

    def _place_points(self) -> None:
        """The steps in which values are read."""
        self.lay_out()
        self._look_at_corners()

    def lay_out(self) -> None:
        """Gives the walks their pieces, and the points in them."""
        items = self.primitives.items
        self.points = placed(self.t, self.pieces, [item.times for item in items], [item.behind for item in items])
        self.walks.lay(self.pieces, self.points, self.t, self.symbols)

    def _look_at_corners(self) -> None:
        """Tells of values read where several events happen at once: changes of the design put either of them first."""
        near = AT_ONCE * (self.span[1] - self.span[0])
        ends = [(self.t[p.last], n) for p in self.pieces for n in (p.event, *p.others) if n is not None and n not in self.run.bends]
        read: dict[tuple[str, ...], list[str]] = {}
        for item in self.primitives.items:
            for t in item.times:
                events = tuple(n for end, n in ends if abs(end - t) <= near)
                if len(events) > 1:
                    read.setdefault(events, []).append(item.name)
        for events, criteria in read.items():
            both, t = ", ".join(map(self.told_of, events)), next(end for end, n in ends if n == events[0])
            told = f"{', '.join(map(repr, criteria))}: read at t = {t:.9g} s, where {both} happen at once; derivatives follow one of them"
            self.notes.append(told)
            warnings.warn(f"gradient of '{self.system.model.name}': {told}", GradientWarning, stacklevel=6)

    def told_of(self, event: str) -> str:
        return f"a zero of {surface_text(self.run.watched[event])}" if event in self.run.watched else f"'{event}'"

    def _walk(self, path: Path, kernel: Any, back: bool = False) -> None:
        """One walk along all pieces, or block by block."""
        if self.blocks is None:
            self.walks.put(path, self.t, self.x)
            self._looked_at(path, kernel.call(path.address))
            return
        for i in range(len(self.pieces))[:: -1 if back else 1]:
            piece = self.pieces[i]
            self.walks.put(path, self.t[piece.first : piece.last + 1], self.blocks.states(i), i)
            self._looked_at(path, kernel.call(path.address))

    def _looked_at(self, path: Path, status: int) -> None:
        head = f"gradient of '{self.system.model.name}':"
        if status == NOT_FOUND:
            raise NotCarried(
                f"{head} the stages of a step of '{self.run.method}' cannot be found at the instants of the run; use "
                "smaller steps (max_step=), or method='differences'"
            )
        if status == AT_REST:
            piece = self.pieces[path.begin]
            raise InputError(
                f"{head} the guard of event '{piece.event}' touches zero at t = {self.t[piece.last]:.9g} s without crossing it: "
                "the time of the event has no derivative there"
            )
        if status in (NO_ROOM, NO_SLOPE):
            told = (
                "too many points touch at once"
                if status == NO_ROOM
                else "a contact is lost as its shapes move a little, so that its forces have no slope"
            )
            raise NotCarried(f"{head} {told}; use method='differences'")
        if status != 0:
            raise SolverError(f"{head} the equations returned status {status} on the way along the steps")

    # -- values ---------------------------------------------------------------------------------------------------

    def found(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """Integrals and values at instants, by a walk without directions."""
        path = self.walks.path
        self.walks.begin(path)
        self._walk(path, forwards)
        return path.leg.total.copy(), self._values(path)

    def _values(self, path: Path) -> list[np.ndarray]:
        """Values at the instants of all criteria."""
        y, points = path.leg.point_y, self.points
        values = [np.zeros(len(item.times)) for item in self.primitives.items]
        for i, item in enumerate(self.primitives.items):
            if len(item.times):
                rows = points.item == i
                values[i][points.number[rows]] = y[rows, item.value]
        return values

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
        if event not in self.run.events:
            raise InputError(f"criterion '{item.name}': there is no event '{event}'; there are {', '.join(self.run.events)}")
        found = [i for i, piece in enumerate(self.pieces) if piece.event == event]
        if len(found) < count:
            raise InputError(f"criterion '{item.name}': event '{event}' happened {len(found)} times in the run, not {count}")
        return found[count - 1]

    # -- forward --------------------------------------------------------------------------------------------------

    def forward(self) -> tuple[dict[str, float], np.ndarray]:
        """Values and derivatives, a change for every variable carried along."""
        self.walks.need("push")
        d, items, by = len(self.wrt), self.primitives.items, self._symbol_changes()
        path = self.walks.begin_forwards(d)
        leg = path.leg
        lanes = leg.field.lanes
        tables = (self.rate_slopes, self.integrand_slopes, self.value_slopes)
        changes = [self.run.start_changes(self.wrt, self.initial, by, self.symbols), *(by @ table.T for table in tables)]
        for array, given in zip((leg.dx, leg.dc, leg.dr, leg.dv), changes, strict=True):
            array[:, : given.shape[1] * lanes] = side_by_side(given, lanes)
        path.de[:d, : len(self.walks.slopes)] = by @ self.walks.slopes.T
        self._walk(path, forwards)
        tell_of_guards(self, path)
        total, dtotal = leg.total.copy(), apart(leg.dtotal, lanes, d)
        values, dvalues = self._values(path), self._changed_values(path, d)
        T, dT = self.span[1] - self.span[0], path.dtimes[-1, :d] if self.terminal else np.zeros(d)
        #: Values at instants with their derivatives, an entry a criterion: residuals of fits are made of these.
        self.sampled = values, dvalues
        matrix = np.zeros((len(items), d))
        for i, item in enumerate(items):
            k = item.integrand
            bi, bv, bt = item.slopes(float(total[k]) if k >= 0 else 0.0, values[i], T)
            matrix[i] = bt * dT + bv @ dvalues[i] + (bi * dtotal[:, k] if k >= 0 else 0.0)
            at = self._piece_of(item)
            if at is not None:
                matrix[i] += path.dtimes[at, :d]
        found = self.results(total, values)
        self._tell_norms(found)
        return found, matrix

    def _changed_values(self, path: Path, d: int) -> list[np.ndarray]:
        """Changes of the values at the instants of all criteria (instants × directions)."""
        leg, points, found = path.leg, self.points, []
        dy = leg.point_dy.reshape(len(points.t), leg.groups, leg.values.count, leg.field.lanes) if len(points.t) else leg.point_dy
        for i, item in enumerate(self.primitives.items):
            rows = points.item == i
            changes = np.zeros((len(item.times), d))
            if len(changes):
                changes[points.number[rows]] = dy[rows, :, item.value].reshape(len(changes), -1)[:, :d]
            found.append(changes)
        return found

    def _symbol_changes(self) -> np.ndarray:
        """Which symbol each variable changes (variables × symbols)."""
        found = np.zeros((len(self.wrt), len(self.symbols)))
        for k, j in enumerate(self.columns):
            found[j, k] = 1.0
        return found

    # -- adjoint --------------------------------------------------------------------------------------------------

    def adjoint(self) -> tuple[dict[str, float], np.ndarray]:
        """Values and derivatives, weights of every criterion walked back."""
        self.walks.need("pull")
        if self.walks.ends_move:
            self.walks.need("push")
        items, r = self.primitives.items, len(self.criteria)
        T = self.span[1] - self.span[0]
        scaled = not self.terminal and all(item.integrand >= 0 or not item.needs_values for item in items)
        known = None if scaled or not any(i.needs_values or (self.terminal and i.criterion.kind == "mean") for i in items) else self.found()
        weights, point_weights, bt = self._seeds(known, T)
        path = self.walks.begin_back(r)
        leg = path.leg
        leg.weights[:] = weights
        if self.terminal:
            path.tau[:] = bt
        for i, item in enumerate(items):
            at = self._piece_of(item)
            if at is not None:
                path.time_weights[at, i] = 1.0
            if len(item.times):
                rows = self.points.item == i
                leg.point_weights[rows, i * leg.values.count + item.value] = point_weights[i][self.points.number[rows]]
        self._walk(path, backwards, back=True)
        tell_of_guards(self, path)
        pbar = path.ebar[:, : len(self.walks.slopes)] @ self.walks.slopes
        for bar, table in zip((leg.cbar, leg.rbar, leg.vbar), self.code.slopes, strict=True):
            pbar += bar[:, : len(table)] @ table
        matrix = np.zeros((r, len(self.wrt)))
        matrix[:, self.columns] = pbar
        matrix += leg.xbar @ self.run.start_changes(self.wrt, self.initial, self._symbol_changes(), self.symbols).T
        total, values = leg.total.copy(), self._values(path)
        if scaled:  # functions of one integral: their slope is known now
            for i, item in enumerate(items):
                if item.integrand >= 0:
                    matrix[i] *= item.slopes(float(total[item.integrand]), values[i], T)[0]
        found = self.results(total, values)
        self._look_at_growth(leg.largest, found)
        self._tell_norms(found)
        return found, matrix

    def _tell_norms(self, found: Mapping[str, float]) -> None:
        """Says how far norms are from the largest values that they stand for."""
        for item in self.primitives.items:
            power = item.criterion.options.get("smooth")
            if item.criterion.kind == "largest" and power and self.blocks is None:
                peak = float(np.abs(Motion(self.solution, self.code.expressions).read(item.name, np.unique(self.t))).max())
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
        weights = np.zeros((len(items), max(1, self.walks.path.leg.integrands.count)))
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


__all__ = ["GradientWarning", "NotCarried", "Simulated"]
