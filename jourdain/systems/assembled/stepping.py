"""A march of the energy-consistent engine held open, for steppers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import SolverError
from ...solvers.stepping import frame as ap
from ..state import State
from ..stepper import Engine, Readings
from ..tokens import Snapshot
from .march import March

if TYPE_CHECKING:
    from .runs import DirectorRun

#: Points noted before the joint coordinates are found along them.
LONGEST_TRAIL = 256


class DirectorEngine(Engine):
    """The march of a model's elements, its end moved on from step to step; inputs are coordinates that it holds."""

    run: DirectorRun

    def __init__(self, run: DirectorRun, step: float, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self.run, self.system, self._inputs, self._outputs = run, run.system, tuple(inputs), Readings(run, outputs)
        self._built, self._acting = run.built(inputs)
        start = run.span[0]
        march = March(self._built.system, run.span[1], step, run.settings.method, start=start, **run.options)
        self._march, self._program, self._watch = march.run, march.program, march.events
        self._acting.attach(march.run)
        self._acting.begin(march.run, start)
        names = list(run.system.model.inputs)
        self._places = [names.index(n) for n in inputs]
        self.given, self.step, self.t = self._acting.values[self._places], np.array([step]), np.array([start])
        #: Instants base + k step, of which the k-th was the last.
        self._grid = np.array([start, 0.0, step])
        self._trail: list[tuple[float, np.ndarray, np.ndarray]] = []
        self.events, self.ended, self.stopped = [], None, None
        self._outputs.at(self.state(), self._acting.values)  # refuses unknown ones

    # -- going on -------------------------------------------------------------------------------------------------

    def advance(self) -> np.ndarray:
        """Marches to the next instant."""
        march, now, step = self._march, float(self.t[0]), float(self.step[0])
        changed = self._take_inputs(now)
        fresh = self._grid[2] != step
        if fresh:
            self._grid[:] = now, 0.0, step
        self._grid[1] += 1.0
        target, noted = float(self._grid[0] + self._grid[1] * step), len(self._watch.records) if self._watch else 0
        size = march.clock.step
        if self._acting.callbacks:
            reason = self._by_callbacks(now, target, size)
        else:
            if changed or fresh:
                march.set_time(now, target, size)
                march.count.grid = 0
            else:
                march.clock.t_end = march.clock.t_grid = target
            reason = self._marched()
        self.t[0] = march.clock.t
        self._acting.remember(march)
        if march.memories is not None:
            march.memories.used = 0
        self.events = list(self._watch.records[noted:]) if self._watch else []
        self._check(reason)
        self._note()
        return self.read()

    def _take_inputs(self, now: float) -> bool:
        """New inputs are held from here on; whether one of them jumps."""
        values = self._acting.values
        new = {n: float(x) for n, x, k in zip(self._inputs, self.given, self._places, strict=True) if x != values[k]}
        if new:
            self._acting.jump(self._march, new, now)
        self.run.inputs.initial[:] = values
        return bool(new)

    def _marched(self) -> int:
        return int(self._march.march()[1])

    def _by_callbacks(self, now: float, target: float, size: float) -> int:
        """Steps in which values of callbacks and motion are made to agree."""
        reason = ap.FINISHED
        while now < target - 1e-9 * size and reason == ap.FINISHED:
            reason = self._acting.agreed(self._march, now, min(target, now + size), size)[1]
            now = self._march.clock.t
        self.run.inputs.history.clear()
        return reason

    def _check(self, reason: int) -> None:
        """Takes note of a terminal event, or says why the instant was not reached."""
        told = self._watch.failure if self._watch is not None else ""
        if reason == ap.EVENT and not told:
            return self.end(self.events[-1][1])
        if reason != ap.FINISHED and not told:
            from .report import failure

            told = "interrupted" if reason == 0 else failure(self.run.system.model.name, self._march, self._program)
        if told:
            self.stopped = f"a step has failed ({told})"
            raise SolverError(told.replace("simulate", "stepper", 1))

    # -- what there is --------------------------------------------------------------------------------------------

    def _note(self) -> None:
        """Keeps the point, so that turns of joints are counted along all of them."""
        self._trail.append((float(self.t[0]), self._march.vec.q0.copy(), self._march.vec.v0.copy()))
        if len(self._trail) >= LONGEST_TRAIL:
            self.state()

    def state(self) -> State:
        """The model's state, by continuation along the points passed."""
        if self._trail:
            points, self._trail = self._trail, []
            self._acting.tree_state_along(*(np.array(part) for part in zip(*points, strict=True)))
        return self.run.inputs.remembering(self._acting.state, self._acting.values)

    def read(self) -> np.ndarray:
        """The outputs, by the channels of a solution."""
        return np.array(self._outputs.at(self.state(), self._acting.values)) if self._outputs.names else np.zeros(0)

    def save(self) -> Any:
        """The memory of the march with its factors, of what acts, and of the events."""
        march = self._march
        parts = [
            self,
            march,
            self._acting,
            self.run.inputs,
            *(p for p in (march.lu, march.library, march.joints, self._watch) if p is not None),
        ]
        return Snapshot(parts)

    def restore(self, memory: Any) -> None:
        """Everything as it was."""
        memory.restore()


__all__ = ["DirectorEngine"]
