"""Plain runs done again: the same system and settings, another start.

Whatever depends on model and settings alone is found out by the first run and kept with its native functions.  The runs that follow meet one object that
looks at the start, integrates in native code, looks at what came out, and gives a solution whose parts are made when they are first read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...results.solution import Solution
from ...solvers import ADAPTIVE, AUTO
from ...solvers.native_function import is_finite
from ...solvers.ode.ended import Ended
from ...systems.audit import Limits
from ...systems.callbacks import ended
from ...systems.constraints import Start, look_at_start
from ...systems.inputs import Inputs
from ...systems.outputs.solution import Then
from ...systems.run import LEAST_EXPLICIT, Outcome, Run, Settings
from ...systems.state import State, split_state
from ...systems.tree.runs import ProjectedRun
from ...systems.tree.system import TreeSystem
from .outcome import looked_at, told_of

if TYPE_CHECKING:
    from ...solvers.ode.trajectory import Trajectory
    from ...systems.system import System
    from ...systems.tree.projected import NativeSystem

#: What plain options are.
PLAIN = frozenset((float, int, str, bool))
#: How far from closed a run may start, and how far one that goes on by another method.
CLOSED, LEFT_OPEN = 1e-6, 1e-4
#: Ways to write settings that one native system remembers.
MOST_PLAIN = 64


def key_of(system: System, x0: Any, t: Any, method: Any, options: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """What the settings of a plain run are known by as they are written; None where it cannot be plain."""
    if system.__class__ is not TreeSystem or t.__class__ is not float or not (method is None or method.__class__ is str):
        return None
    if not options:
        return (method,)
    key: list[Any] = [method]
    for name, x in options.items():
        if name == "times" and x.__class__ is np.ndarray and x.dtype == np.float64:
            key += (name, x.shape, x.tobytes())
        elif x.__class__ in PLAIN:
            key += (name, x, x.__class__)
        else:
            return None
    if "times" in options or "outputs" in options:  # instants belong to a span
        key += (x0.t if x0.__class__ is State else 0.0, t)
    return tuple(key)


class Piece(NamedTuple):
    """A part of a run by one method, from where to where; the trajectory of one that has reached its end may be put together later."""

    settings: Settings
    start: State
    span: tuple[float, float]
    found: Trajectory | Ended


class PlainRun:
    """What an ended run leaves for others with its settings; it is kept with native functions, which one run uses at a time."""

    def __init__(self, run: ProjectedRun, rest: Mapping[str, Any]) -> None:
        system = run.system
        self.rest, self._u, self._constrained = rest, system.input_values(), bool(system.equations_of_motion.rows)
        limits = Limits(system)
        self._limits, self._watched = limits if limits.joints else None, bool(system.model.events)
        #: Settings of the pieces by the number of pieces and of instants before them, and what integrations of the first are known by.
        self._settings = {(0, 0): run.settings}
        self._control = run.settings.control
        self._start = Start(system) if self._constrained and not system.packed else None

    @staticmethod
    def fits(run: Run) -> bool:
        """Whether nothing acts in a run but equations, constraints and events, and nothing is looked at afterwards but what is looked at here."""
        if run.__class__ is not ProjectedRun or run.inputs.given or run.start.memory or not run.inputs.steady or run.watch:
            return False
        m, s = run.system.model, run.settings
        acting = m.switches or m.contacts or m.callbacks or m.memories or m.unknowns or m.rigid_stops or m.dry_friction or m.ropes
        fixed = s.steps is not None or (s.step is not None and s.method not in ADAPTIVE)
        return not (acting or fixed or s.progress or any(b.bends for b in m.bodies.values()))

    def _of_piece(self, done: Sequence[Piece], t: float) -> Settings:
        """The settings of the next piece, which begins at an instant."""
        first = self._settings[0, 0]
        passed = 0 if not done or first.times is None else int(np.searchsorted(first.times, t, side="right"))
        found = self._settings.get((len(done), passed))
        if found is None:
            found = self._settings[len(done), passed] = done[-1].settings.turned(LEAST_EXPLICIT << (len(done) // 2))
            if first.times is not None:
                found = self._settings[len(done), passed] = replace(found, times=first.times[passed:])
        return found

    def _is_closed(self, system: TreeSystem, state: State, tolerance: float) -> bool:
        """Whether constraints are met by a state, and independent."""
        if not self._constrained:
            return True
        independent, (h, w, v) = look_at_start(system, state) if self._start is None else self._start.at(system, state)
        return independent and h <= tolerance and w <= tolerance * (1.0 + v)

    def go(self, system: TreeSystem, native: NativeSystem, start: State, span: tuple[float, float]) -> list[Piece]:
        """The pieces of a run, as far as everything is ready for them and there is nothing to look at more closely."""
        done: list[Piece] = []
        if start.memory or not -math.inf < span[0] < span[1] < math.inf:
            return done
        x, tolerance, most = start.x, CLOSED, self._settings[0, 0].max_steps
        if self._u.size:
            native.u[: self._u.size] = self._u
        while True:
            settings = self._of_piece(done, span[0]) if done else self._settings[0, 0]
            control = settings.control if done else self._control
            drive = native.drives.get(control)
            if drive is None or x.size != drive.session.n or not is_finite(x) or not self._is_closed(system, start, tolerance):
                return done
            drive.again(x, *span, settings.times, settings.keeps_interpolant, most)
            found = drive.run_short()
            if not drive.session.is_small:  # it has grown on the way
                del native.drives[control]
            done.append(Piece(settings, start, span, found))
            if isinstance(found, Ended) or found.status != "left" or not found.restart.t < span[1]:
                return done
            x, span, tolerance = found.restart.x, (found.restart.t, span[1]), LEFT_OPEN
            start, most = split_state(system, x, span[0]), max(1, most - found.stats.steps)

    def is_well(self, native: NativeSystem, done: Sequence[Piece]) -> bool:
        """Whether a run has reached its end, and there is nothing to tell."""
        last = done[-1].found
        if not isinstance(last, Ended) and last.status != "finished":
            return False
        if self._limits is not None and any(self._limits.left(piece.found.x) for piece in done):
            return False
        return not (self._watched and any(p.found.segments is not None and native.guards_cross_inside(p.found.segments) for p in done))

    def as_run(self, system: TreeSystem, piece: Piece, native: NativeSystem | None = None) -> tuple[Run, Outcome]:
        """A piece as other runs are, and what it gave; with ``native`` it is looked at more closely."""
        run = ProjectedRun(system, piece.start, piece.span, Inputs(system, None), piece.settings)
        found = piece.found.trajectory() if isinstance(piece.found, Ended) else piece.found
        if native is None:
            return run, run.gave(found, found.status, found.message, self._u)
        run.native = native
        return run, run.outcome(ended(native, found))

    def whole(self, system: TreeSystem, runs: Sequence[tuple[Run, Outcome]]) -> Solution:
        """The solution of pieces that follow each other; where they do not reach the end, it goes on."""
        from .pieces import Pieces

        (run, outcome), *later = runs
        return Pieces(system, AUTO, None, later).go_on(looked_at(system, run, outcome), run.settings, self.rest, run.span)


class Whole:
    """The solution of a plain run, made when it is asked for, with the parameters that it had."""

    __slots__ = ("_done", "_parameters", "_plain", "_system")

    def __init__(self, plain: PlainRun, system: TreeSystem, done: Sequence[Piece]) -> None:
        self._plain, self._system, self._done, self._parameters = plain, system, done, system.parameter_vector

    def __call__(self) -> Solution:
        return Then(self._system, self._parameters)(self._made)()

    def _made(self) -> Solution:
        plain, system = self._plain, self._system
        runs = [plain.as_run(system, piece) for piece in self._done]
        return told_of(system, *runs[0]) if len(runs) == 1 else plain.whole(system, runs)


def again(system: System, x0: Any, t: Any, key: tuple[Any, ...]) -> Solution | None:
    """The solution of a plain run, where an earlier one with the same settings has made everything ready."""
    assert isinstance(system, TreeSystem)  # by its key
    idle: list[NativeSystem] | None = system._idle.get("native")
    if not idle or isinstance(x0, Solution):
        return None
    try:  # another thread may have taken the last one
        native = idle.pop()
    except IndexError:
        return None
    plain: PlainRun | None = native.plain.get(key)
    if plain is None or native._made_for is not system.parameter_vector or native._redundant:
        idle.append(native)
        return None
    try:
        start = system.state(x0)
        done = plain.go(system, native, start, (start.t, start.t + t))
    except BaseException:
        idle.append(native)  # all that changes in it is set back before it runs
        raise
    if not done:
        idle.append(native)
        return None
    if plain.is_well(native, done):
        idle.append(native)
        times = done[0].found.t if len(done) == 1 else np.concatenate([piece.found.t for piece in done])
        return Solution.later(times, Whole(plain, system, done), system)
    runs = [*(plain.as_run(system, piece) for piece in done[:-1]), plain.as_run(system, done[-1], native)]
    if len(runs) > 1 or runs[0][1].status == "left":
        return plain.whole(system, runs)
    return looked_at(system, *runs[0])


def keep(key: tuple[Any, ...], run: Run, rest: Mapping[str, Any]) -> None:
    """Keeps what an ended run leaves for others with its settings, if it is plain."""
    if run.status not in ("finished", "left") or not PlainRun.fits(run):
        return
    kept = run.native.plain  # type: ignore[attr-defined]
    if len(kept) >= MOST_PLAIN:
        kept.clear()
    kept[key] = PlainRun(run, rest)  # type: ignore[arg-type]


__all__ = ["again", "keep", "key_of"]
