"""Plain runs done again: the same system and settings, another start.

Whatever depends on model and settings alone is found out by the first run and kept with its native functions.  The runs that follow meet one object that
looks at the start, integrates in native code, looks at what came out, and gives a solution whose parts are made when they are first read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...results.solution import Solution
from ...solvers import ADAPTIVE
from ...solvers.native_function import is_finite
from ...solvers.ode.ended import Ended
from ...systems.audit import KNOWN, Limits
from ...systems.callbacks import ended
from ...systems.constraints import Start, look_at_start
from ...systems.inputs import Inputs
from ...systems.outputs.solution import Then
from ...systems.run import Outcome, Run
from ...systems.state import State
from ...systems.tree.runs import ProjectedRun
from ...systems.tree.system import TreeSystem
from .outcome import looked_at, told_of

if TYPE_CHECKING:
    from ...solvers.ode.trajectory import Trajectory
    from ...systems.system import System
    from ...systems.tree.projected import NativeSystem

#: What plain options are.
PLAIN = frozenset((float, int, str, bool))
#: How instants may be written besides as an array; whole numbers within these bounds are floats without rounding.
ROWS, NUMBERS, EXACT = frozenset((list, tuple)), frozenset((float, int)), 2**53
#: How far from closed a run may start.
CLOSED = 1e-6
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
        elif name == "times" and x.__class__ in ROWS and all(y.__class__ in NUMBERS and -EXACT <= y <= EXACT for y in x):
            key += (name, (len(x),), np.array(x, float).tobytes())
        elif x.__class__ in PLAIN:
            key += (name, x, x.__class__)
        else:
            return None
    if "times" in options or "outputs" in options:  # instants belong to a span
        key += (x0.t if x0.__class__ is State else 0.0, t)
    return tuple(key)


class PlainRun:
    """What an ended run leaves for others with its settings; it is kept with native functions, which one run uses at a time."""

    def __init__(self, run: ProjectedRun) -> None:
        system = run.system
        self.asked, self._u, self._constrained = run.asked, system.input_values(), bool(system.equations_of_motion.rows)
        limits = Limits(system)
        self._limits, self._watched = limits if limits.joints else None, bool(system.model.events)
        #: Settings, and what integrations are known by.
        self._settings, self._control = run.settings, run.settings.control
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

    def _is_closed(self, system: TreeSystem, state: State) -> bool:
        """Whether constraints are met by a state, and independent."""
        if not self._constrained:
            return True
        independent, (h, w, v) = look_at_start(system, state) if self._start is None else self._start.at(system, state)
        return independent and h <= CLOSED and w <= CLOSED * (1.0 + v)

    def go(self, system: TreeSystem, native: NativeSystem, start: State, span: tuple[float, float]) -> Ended | Trajectory | None:
        """What a run gives, if everything is ready for it and there is nothing to look at more closely; its trajectory may be put together later."""
        settings, drive = self._settings, native.drives.get(self._control)
        if drive is None or start.memory or not -math.inf < span[0] < span[1] < math.inf:
            return None
        x = start.x
        if self._u.size:
            native.u[: self._u.size] = self._u
        if x.size != drive.session.n or not is_finite(x) or not self._is_closed(system, start):
            return None
        drive.again(x, *span, settings.times, settings.keeps_interpolant, settings.max_steps)
        found = drive.run_short()
        if not drive.session.is_small:  # it has grown on the way
            del native.drives[self._control]
        return found

    def is_well(self, native: NativeSystem, found: Ended | Trajectory) -> bool:
        """Whether a run has reached its end, and there is nothing to tell."""
        if not isinstance(found, Ended) and found.status != "finished":
            return False
        if self._limits is not None and self._limits.left(found.x):
            return False
        last = found.x[-1] if len(found.x) else None
        if last is not None and not last.dot(last) < KNOWN * KNOWN:
            return False
        return not (self._watched and found.segments is not None and native.guards_cross_inside(found.segments))

    def as_run(
        self, system: TreeSystem, start: State, span: tuple[float, float], found: Ended | Trajectory, native: NativeSystem | None = None
    ) -> tuple[Run, Outcome]:
        """It as other runs are, and what it gave; with ``native`` it is looked at more closely."""
        run = ProjectedRun(system, start, span, Inputs(system, None), self._settings)
        run.asked = self.asked
        whole = found.trajectory() if isinstance(found, Ended) else found
        if native is None:
            return run, run.gave(whole, whole.status, whole.message, self._u)
        run.native = native
        return run, run.outcome(ended(native, whole))


class Whole:
    """The solution of a plain run, made when it is asked for, with the parameters that it had."""

    __slots__ = ("_found", "_parameters", "_plain", "_span", "_start", "_system")

    def __init__(self, plain: PlainRun, system: TreeSystem, start: State, span: tuple[float, float], found: Ended | Trajectory) -> None:
        self._plain, self._system, self._start, self._span, self._found = plain, system, start, span, found
        self._parameters = system.parameter_vector

    def __call__(self) -> Solution:
        return Then(self._system, self._parameters)(self._made)()

    def _made(self) -> Solution:
        return told_of(self._system, *self._plain.as_run(self._system, self._start, self._span, self._found))


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
        span = start.t, start.t + t
        found = plain.go(system, native, start, span)
    except BaseException:
        idle.append(native)  # all that changes in it is set back before it runs
        raise
    if found is None:
        idle.append(native)
        return None
    if plain.is_well(native, found):
        idle.append(native)
        return Solution.later(found.t, Whole(plain, system, start, span, found), system)
    return looked_at(system, *plain.as_run(system, start, span, found, native))


def keep(key: tuple[Any, ...], run: Run) -> None:
    """Keeps what an ended run leaves for others with its settings, if it is plain."""
    if run.status != "finished" or not PlainRun.fits(run):
        return
    kept = run.native.plain  # type: ignore[attr-defined]
    if len(kept) >= MOST_PLAIN:
        kept.clear()
    kept[key] = PlainRun(run)  # type: ignore[arg-type]


__all__ = ["again", "keep", "key_of"]
