"""What an integration has left behind: copies of its rows, interpolants and memory, put together when they are asked for."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from jourdain.solvers.ode import frame as fr
from jourdain.solvers.ode.method import Method
from jourdain.solvers.ode.session import Session
from jourdain.solvers.ode.trajectory import Checkpoint, Statistics, Trajectory

#: Steps in a row at the limit of stability that make a problem stiff (Hairer and Wanner II, IV.2).
STIFF = 15
#: The counters of the work done, in the order of :class:`Statistics`.
WORK = slice(fr.Count.struct.fields["steps"][0], fr.Count.struct.fields["n_events"][0] + 1)
#: Why a method was left for the other, in words.
REASONS = {fr.STIFF: "stiff", fr.SOFT: "no longer stiff", fr.DEARER: "it took more work", fr.FAILED: "it could not go on"}
TIME = fr.Clock.struct.fields["t"][0]
STUCK = fr.Count.struct.fields["stiff"][0]


class Ended:
    """An integration that has ended; its session may be used by another one."""

    __slots__ = ("_begun", "_ended", "_first", "_parts", "_records", "_stiff_by", "memory", "method", "segments", "t", "x", "y")

    def __init__(self, session: Session, begun: float) -> None:
        self.t, self.x, self.y = session.output()
        self.segments, self._parts = session.segments(), session.remembered
        self.memory = session.memory.copy() if session.is_small else session.memory  # large ones serve one run
        self.method, self._records, self._begun, self._ended = session.method, session.records, begun, time.perf_counter()
        self._first, self._stiff_by = (session.begun, session.refused), session.stiff_by

    def trajectory(self, status: str = "finished", message: str | None = None, cause: BaseException | None = None) -> Trajectory:
        """All of it; one that has finished says whether it looks stiff."""
        memory, parts, name = self.memory, self._parts, self.method.name
        count, t = memory[parts["count"]], memory.view(np.float64)[parts["clock"].start + TIME]
        steps, rejected, rhs, jacobians, factorizations, events = count[WORK].tolist()
        statistics = Statistics(steps, rejected, rhs, jacobians, factorizations, events, self._ended - self._begun)
        restart = Checkpoint(name, float(t), memory[parts["x"]].view(np.float64), memory, parts)
        told = stiffness(int(count[STUCK]), self.method, self._stiff_by) if message is None else message
        return Trajectory(
            self.t, self.x, self.y, status, told, statistics, tuple(self._records), restart, self.segments, cause, self._turns()
        )

    def _turns(self) -> list[dict[str, Any]]:
        """When which of two methods began, and why it was left; none where the first of them did it all."""
        if self.method.pair is None:
            return []
        (begun, refused), words, parts = self._first, self.memory, self._parts
        turns, names = fr.Turns.at(words[parts["turns"]]), [method.name for method in self.method.pair]
        if not turns.number and not turns.begun:
            return []
        told, which = REASONS | {fr.REFUSED: refused}, turns.begun
        found: list[dict[str, Any]] = [{"t": begun, "method": names[which]}]
        instants, reasons = words[parts["turn_t"]].view(np.float64).tolist(), words[parts["turn_why"]].tolist()
        for t, why in list(zip(instants, reasons, strict=True))[: turns.number]:
            which = 1 - which
            found[-1]["left"] = told[why]
            found.append({"t": t, "method": names[which]})
        return found


def stiffness(steps: int, method: Method, remedy: str) -> str:
    """What to try where so many steps in a row were at the limit of stability."""
    name = method.name if method.pair is None else method.pair[0].name
    return f"the problem looks stiff to '{name}': try {remedy}" if steps >= STIFF else ""


__all__ = ["STIFF", "Ended", "stiffness"]
