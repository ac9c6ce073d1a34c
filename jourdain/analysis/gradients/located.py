"""Steps of a run that end where laws jump or bend.

The run is done again with steps that end on such surfaces, or, where laws only bend, its kind cannot do that and its motion is walked along in joint coordinates anyway, that
walk gets further instants, which it moves to the zeros of its own guards (:mod:`.moved_events`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...symbolic.expr import KINDS
from ...systems.run import SimulationError
from ...systems.touching import PairOfShapes
from .contact.meetings import meeting_at
from .prepared import keep_fixed
from .runs import GradientWarning, NotCarried
from .switches import surface_text

if TYPE_CHECKING:
    from ...results.solution import Solution
    from ..design.planned import Analysis
    from .simulated import Simulated

#: Parts of the last step before a bend at which it is divided: the rest of it is so short that what its stages miss the bend by does not count.
APPROACH = (0.05, 2.5e-3, 1.25e-4, 6.25e-6)
#: Memories that a second renewal changes by less than this part of them do not count steps.
STEADY = 1e-9
#: A surface by its number, or a pair of shapes by itself.
Surface = int | PairOfShapes


class Located:
    """What has been found on the way: instants with the number of what is zero there, and names of those at which shapes meet."""

    def __init__(self, walk: Simulated, begun: bool = False) -> None:
        """``begun``: the run has ended its steps at fixed instants already."""
        self.walk, self._begun = walk, begun
        self.watched: list[Surface] = []
        self.bends: set[Surface] = set()
        self.instants: list[tuple[float, int]] = []
        #: Whether the walk has instants that the run has not.
        self.own = False
        #: Instants before bends at which the run has no states.
        self.added: list[float] = []
        #: The last state of the run that was planned.
        self.planned = np.zeros(0)
        self._meetings: dict[tuple[float, int], str] = {}

    def name(self, t: float, k: int) -> str:
        """What happens at an instant."""
        return self._meetings.get((t, k), f"switch {k}")

    def find(self, plan: Analysis, values: Mapping[str, float], to_bends: bool) -> None:
        """Lets steps end on surfaces where laws jump or, with ``to_bends``, bend, until there is none left inside a step."""
        walk, surfaces = self.walk, self.walk.code.surfaces
        self.planned = walk.x[-1].copy()
        fixed = self._end_at_fixed(plan, values) if to_bends else []
        for _ in range(4):
            jumps, bent = surfaces.crossed(*self._without(fixed))
            pairs = self._met()
            crossed: list[Surface] = [*jumps, *bent, *pairs] if to_bends else [*jumps]
            new = [j for j in crossed if j not in self.watched]
            if fixed:
                self.bends -= {*jumps}
                self._name()
            if not new:
                break
            self.watched += new
            self.bends |= {*bent, *pairs}
            self.bends -= {*jumps}
            if not self._run_again(plan, values):
                break
        if walk.run.touched is not None and (walk.run.touched.steep() or self.own):
            self._name_meetings()

    def _end_at_fixed(self, plan: Analysis, values: Mapping[str, float]) -> list[int]:
        """Lets steps end at instants that nothing moves, whether or not that matters for this design: so the next run can do so from the beginning."""
        code, walk = self.walk.code, self.walk
        if not code.fixed:
            return []
        found = walk.solution
        if not self._begun:
            try:
                found = plan.keeping_steps(watch=[(code.surfaces.items[j], 0) for j in code.fixed]).run(values)
            except (SimulationError, InputError):
                return []
            keep_fixed(plan, values, walk.criteria, walk.wrt, code)
        self.watched, self.bends = list(code.fixed), set(code.fixed)
        self._take(found)
        return code.fixed

    def _without(self, fixed: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Rows without those at fixed instants, so that laws are looked at on both sides of these, too."""
        t, x = self.walk.t, self.walk.x
        if not fixed:
            return t, x
        alone, others = ({at for at, k in self.instants if (self.watched[k] in fixed) == own} for own in (True, False))
        rows = ~np.isin(t, list(alone - others - {*np.asarray(self.walk.solution.events.t).tolist()}))
        return t[rows], x[rows]

    def _run_again(self, plan: Analysis, values: Mapping[str, float]) -> bool:
        """Takes the steps of a run that end on all surfaces; whether there is one, or the instants are put into the walk instead."""
        walk, surfaces = self.walk, self.walk.code.surfaces
        items = [surfaces.items[j] if isinstance(j, int) else j for j in self.watched]
        directions = [surfaces.directions.get(j, 0) if isinstance(j, int) else 0 for j in self.watched]
        found = None
        try:
            found = plan.keeping_steps(watch=[*zip(items, directions, strict=True)]).run(values)
        except (SimulationError, InputError) as error:
            if isinstance(error, SimulationError) or walk.run.own or walk.run.renews or not self.bends.issuperset(self.watched):
                self._tell(surface_text(items[-1]), error)
                return False
        if found is None:
            self._name(put=True)
            self._put()
        else:
            self._take(found)
        return True

    def tell_renewals(self) -> None:
        """Tells of memories that change again when they are renewed once more, where steps end at instants that move: such a run depends on its steps."""
        walk, run = self.walk, self.walk.run
        moving = [p for p in walk.pieces if p.event is not None and self._moves(p.event)]
        if not run.renews or not moving:
            return
        t, x, first = walk.t[-1:], walk.x[-1].copy(), walk.x.shape[1] - len(run.memories)
        once, twice = np.zeros(len(run.memories)), np.zeros(len(run.memories))
        for new in (once, twice):
            new[:] = run.renewal.value(t, x, run.u[: len(run.eq.u)])
            x[first:] = new
        most = np.maximum(np.abs(walk.x).max(axis=0), 1e-12)
        counted = [m.name for m, a, b, size in zip(run.memories, once, twice, most[first:], strict=True) if abs(a - b) > STEADY * size]
        if not counted:
            return
        told = f"{', '.join(map(repr, counted))} changes at the end of every step, also of those that end at events and surfaces of laws ({len(moving)})"
        if self.instants:
            apart = float((np.abs(walk.x[-1] - self.planned) / most).max())
            told += f", with which this run ends {apart:.1e} (of the largest values) from the one without them"
        told += ": the motion depends on its steps, and derivatives hold them; let events set such memories, or a jd.Controller, which acts at given times"
        walk.notes.append(told)
        warnings.warn(f"gradient of '{walk.system.model.name}': {told}", GradientWarning, stacklevel=6)

    def _moves(self, event: str) -> bool:
        """Whether what happens there may happen earlier or later with the design."""
        run = self.walk.run
        return not run.timed(event) and (event not in run.events or bool(run.events[event].guard.deps & ~KINDS["time"]))

    def approach(self) -> None:
        """Divides the last step before each bend.

        Stages of a long step, those at its end first of all, lie as far beyond the surface as their own error is, and have the slope of the other side; in a step
        that is 160 000 times shorter they have next to no weight.
        """
        walk, run = self.walk, self.walk.run
        if run.renews:  # memories would be renewed at these instants, too
            return
        for i, piece in enumerate(walk.pieces):
            if piece.event not in run.bends or piece.event in run.steep:
                continue
            k = piece.last
            begin, end = float(walk.t[k - 1]), float(walk.t[k])
            times = end - (end - begin) * np.array(APPROACH)
            if not (np.diff([begin, *times, end]) > 0.0).all():
                continue
            part = (times - begin)[:, None] / (end - begin)
            walk.t = np.insert(walk.t, k, times)
            walk.x = np.insert(walk.x, k, walk.x[k - 1] + part * (walk.x[k] - walk.x[k - 1]), axis=0)
            piece.last += len(times)
            for later in walk.pieces[i + 1 :]:
                later.first += len(times)
                later.last += len(times)
            self.added += times.tolist()

    def _name(self, put: bool = False) -> None:
        """Gives the walk all surfaces by their names, and what happens on them."""
        run, surfaces = self.walk.run, self.walk.code.surfaces
        run.watched = {f"switch {k}": surfaces.items[j] if isinstance(j, int) else j for k, j in enumerate(self.watched)}
        run.bends = {f"switch {k}" for k, j in enumerate(self.watched) if j in self.bends}
        run.steep = {f"switch {k}" for k, j in enumerate(self.watched) if j in self.bends and (put or j in surfaces.steep)}

    def _take(self, found: Solution) -> None:
        """Takes a run whose steps end on all surfaces."""
        self._name()
        self.walk.solution = found
        self.walk.run.follow(found)
        self.walk._rows_of(found)
        self.instants = [(float(t), int(k)) for t, k in found.metadata.get("watched", ())]

    def _tell(self, surface: str, error: Exception) -> None:
        name = self.walk.system.model.name
        if not self.bends.issuperset(self.watched):
            raise NotCarried(
                f"gradient of '{name}': a law jumps where {surface} is zero, and a run that ends its steps there does not "
                f"come to its end ({error}); smooth the law, or give the model an event that ends the switching"
            ) from None
        told = f"a law bends where {surface} is zero, and steps cannot end there ({error}): slopes of the step over it may be wrong by per cents"
        self.walk.notes.append(told)
        warnings.warn(f"gradient of '{name}': {told}", GradientWarning, stacklevel=7)

    # -- shapes that meet -----------------------------------------------------------------------------------------

    def _met(self) -> list[PairOfShapes]:
        """Pairs of shapes that meet or part within steps."""
        walk, touching = self.walk, self.walk.run.native.touching
        if touching is None:
            return []
        inside, n = np.diff(walk.t) > 0, walk.x.shape[1] - len(walk.run.held)
        found = touching.pairs_that_touch(walk.t, np.ascontiguousarray(walk.x[:, :n]))
        ended = {t for t, _ in self.instants}
        at_end = np.array([float(t) in ended for t in walk.t])
        free = inside & ~at_end[1:] & ~at_end[:-1]
        return [pair for pair, touches in found.items() if (np.diff(touches.astype(int)) != 0)[free].any()]

    def _name_meetings(self) -> None:
        """Gives all instants at which shapes meet or part names of their own, with what touches there."""
        walk, run = self.walk, self.walk.run
        touching, n = run.native.touching, walk.x.shape[1] - len(run.held)
        for i, (t, k) in enumerate(self.instants):
            pair, row = run.watched[f"switch {k}"], int(np.searchsorted(walk.t, t))
            if isinstance(pair, PairOfShapes) and touching is not None and row < len(walk.t) and walk.t[row] == t:
                meeting = meeting_at(touching, pair, t, walk.x[row, :n])
                if meeting is not None:
                    name = self._meetings[t, k] = f"meeting {i}"
                    run.watched[name] = meeting
                    run.bends.add(name)
                    run.steep.add(name)

    # -- instants of a walk of its own ----------------------------------------------------------------------------

    def _put(self) -> None:
        """Puts the instants at which lines between rows meet surfaces into the rows, twice: before and behind them."""
        walk, self.own = self.walk, True
        old = {t for t, _ in self.instants}
        keep = ~np.isin(walk.t, list(old)) if old else np.ones(len(walk.t), bool)
        t, x = walk.t[keep], walk.x[keep]
        self.instants = sorted(self._crossings(t, x))
        for when in dict.fromkeys(at for at, _ in self.instants):
            i = int(np.searchsorted(t, when))
            part = (when - t[i - 1]) / (t[i] - t[i - 1])
            t, x = np.insert(t, i, [when, when]), np.insert(x, i, [x[i - 1] + part * (x[i] - x[i - 1])] * 2, axis=0)
        walk.t, walk.x = t, np.ascontiguousarray(x)

    def _crossings(self, t: np.ndarray, x: np.ndarray) -> list[tuple[float, int]]:
        surfaces, found = self.walk.code.surfaces, list[tuple[float, int]]()
        crossings = surfaces.crossings(t, x)
        if crossings is not None:
            times = crossings.at(0.5 * (crossings.low + crossings.high))[0]
            found += [
                (float(when), self.watched.index(j)) for when, j in zip(times, crossings.which.tolist(), strict=True) if j in self.watched
            ]
        for k, pair in enumerate(self.watched):
            if isinstance(pair, PairOfShapes):
                found += [(when, k) for when in self._gaps(pair, t, x)]
        return found

    def _gaps(self, pair: PairOfShapes, t: np.ndarray, x: np.ndarray) -> list[float]:
        """Instants at which the gap of a pair is zero on the lines between rows, by halving."""
        run = self.walk.run
        assert run.native.touching is not None
        gap, out, n = run.native.touching.gap(pair), np.zeros(1), x.shape[1] - len(run.held)

        def closed(part: float, i: int) -> bool:
            gap(float(t[i] + part * (t[i + 1] - t[i])), np.ascontiguousarray((x[i] + part * (x[i + 1] - x[i]))[:n]), out)
            return bool(out[0] < 0.0)

        touches = [closed(0.0, i) for i in range(len(t) - 1)]
        touches.append(closed(1.0, len(t) - 2))
        found = []
        for i in np.flatnonzero(np.diff(np.array(touches, int)) != 0).tolist():
            low, high = 0.0, 1.0
            while t[i + 1] > t[i] and high - low > 1e-12:
                middle = 0.5 * (low + high)
                low, high = (middle, high) if closed(middle, i) == touches[i] else (low, middle)
            if 0.0 < low < 1.0:
                found.append(float(t[i] + high * (t[i + 1] - t[i])))
        return found


__all__ = ["Located"]
