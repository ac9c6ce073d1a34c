"""A run held open and driven from step to step: real time, co-simulation, control in a loop of one's own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, ModelError, SolverError, short
from ..reals import reals
from ..results.channel import UnknownChannelError
from ..solvers.ode import frame as fr
from ..solvers.ode.advance import OpenMarch, advance, read
from ..solvers.ode.drive import explain
from ..solvers.ode.integrate import prepare
from ..solvers.ode.march import march
from ..solvers.ode.trajectory import Checkpoint, Statistics, Trajectory
from ..told import told
from .outputs.energy_balance import BOOKS
from .outputs.solution import solution_of
from .state import State, split_state
from .tokens import Snapshot, Token

if TYPE_CHECKING:
    from .ode_run import OdeRun
    from .run import Run
    from .system import System

#: Steps of a method within one advance, unless ``max_steps`` says otherwise.
MAX_STEPS = 100_000


class Engine(ABC):
    """What a stepper drives: a run held open, with the arrays through which inputs, outputs and steps are exchanged.

    ``given`` holds the inputs for the next step, ``step`` how far it goes, ``t`` the time reached.
    """

    run: Run
    #: The system that was asked for a stepper.
    system: System
    given: np.ndarray
    step: np.ndarray
    t: np.ndarray
    #: Events of the last step, (time, name).
    events: list[tuple[float, str]]
    #: The terminal event that has ended the motion, and why it cannot go on.
    ended: str | None
    stopped: str | None

    def end(self, event: str) -> None:
        """Takes note of a terminal event."""
        self.ended, self.stopped = event, f"event '{event}' has ended the motion"

    @abstractmethod
    def advance(self) -> np.ndarray:
        """Goes on by ``step`` with the inputs ``given``; the outputs there."""

    @abstractmethod
    def read(self) -> np.ndarray:
        """The outputs at the present instant."""

    @abstractmethod
    def state(self) -> State:
        """The model's state at the present instant."""

    @abstractmethod
    def save(self) -> Any:
        """Copies of all that it remembers."""

    @abstractmethod
    def restore(self, memory: Any) -> None:
        """Goes back to what was saved."""

    def portable(self, memory: Any) -> dict[str, Any]:
        """What was saved as plain data, for another process."""
        raise InputError(
            f"stepper '{self.run.system.model.name}': tokens of {self.run.kind} runs live in their process; start a stepper there from "
            "stepper.state"
        )

    def take(self, data: dict[str, Any]) -> None:
        """Goes on from plain data of an engine like this one."""
        raise NotImplementedError

    @property
    def native(self) -> tuple[int, int]:
        """Address of the native function that does a step, and of its arguments."""
        raise InputError(
            f"stepper '{self.run.system.model.name}': {self.run.kind} runs are stepped from Python; native callers need a tree"
        )


class Readings:
    """Channels of a solution at one instant, in Python: those that are no functions of the state alone."""

    def __init__(self, run: Run, names: Sequence[str]) -> None:
        self.run, self.names = run, tuple(names)
        for name in self.names:
            if name in BOOKS:
                raise InputError(f"stepper '{run.system.model.name}': '{name}' is an integral over a run, not an output of a step")

    def at(self, state: State, u: np.ndarray) -> list[float]:
        """Their values at a state under inputs."""
        inputs, system = self.run.inputs, self.run.system
        inputs.initial[:] = u
        inputs.forget()
        solution = solution_of(system, np.array([state.t]), state.x[None], {}, inputs_at=inputs.at)
        found = []
        for name in self.names:
            try:
                values = solution[name]
            except UnknownChannelError as error:
                if system.model.released:  # a channel of what has let go, as in solutions
                    found.append(0.0)
                    continue
                raise InputError(f"stepper '{system.model.name}': {error}") from None
            if values.ndim != 1:
                raise InputError(
                    f"stepper '{system.model.name}': output '{name}' has {values[0].size} numbers; name one of them, as '{name}.x'"
                )
            found.append(float(values[0]))
        return found


class OdeEngine(Engine):
    """A run by a method of :mod:`jourdain.solvers.ode`: the marching loop, its end moved on from step to step."""

    run: OdeRun

    def __init__(self, run: OdeRun, step: float, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self.run, self.system, self._outputs = run, run.system, tuple(outputs)
        self._size = step
        self._limit = run.settings.max_steps if "max_steps" in run.settings.given else MAX_STEPS
        names = list(run.system.model.inputs)
        self._places = np.array([names.index(n) for n in inputs], dtype=np.int64)
        self._advance, self._read = advance.call, read.call
        first = run.begin()
        self._sort_outputs()
        self._open = OpenMarch(run.start.t, run.native.u[self._places], self._places, len(self._compiled), self._size, self._limit)
        self.given, self.step, self.t, self.events = self._open.given, self._open.step, self._open.t, []
        self.ended = self.stopped = None
        self._where, self._y = self._open.address, self._open.y[: len(self._compiled)]
        self._renews, self._ready = run.renews, not self._later.names
        self._enter(first, run.start.t)
        self._read(self._where)
        self.read()  # refuses unknown outputs

    def _sort_outputs(self) -> None:
        """Which outputs native code reads, and which Python."""
        run = self.run
        known = set() if run.system.model.callbacks else run.compiled_channels()
        compiled = [n for n in self._outputs if n in known]
        if not self._readable(compiled):
            compiled = [n for n in compiled if self._readable([n])]
        self._compiled = tuple(compiled)
        self._later = Readings(run, [n for n in self._outputs if n not in compiled])
        order = {n: i for i, n in enumerate((*self._compiled, *self._later.names))}
        self._order = [order[n] for n in self._outputs]

    def _readable(self, names: Sequence[str]) -> bool:
        try:
            self.run.native.reading(tuple(names))
        except (InputError, ModelError):
            return False
        return True

    def _enter(self, first: Any, t: float) -> None:
        """Opens the march in the run's present coordinates."""
        drive = self.run.march(first, (t, t + self._size), _prepared, t_eval=None, dense=False)
        self._method, self._session = drive.method, drive.session
        native = self.run.native
        self._open.enter(drive.session, native.u, native.reading(self._compiled) if self._compiled else None)
        self._attentive = bool(drive.session.events) or self.run.follows
        self._begin(t)

    def _begin(self, t: float) -> None:
        """Guards armed and the first row written, as every run does."""
        session = self._session
        session.stops[0], session.progress.steps_left = t, 1
        reason = march.call(session.address)
        if reason != fr.FINISHED:
            self._go_on(reason)
        session.count.begin = session.clock.h == 0.0  # no first step was found for a span of no length

    # -- going on -------------------------------------------------------------------------------------------------

    def advance(self) -> np.ndarray:
        """One native call; what that leaves to Python follows."""
        if self._renews:
            self._renew()
        status = self._advance(self._where)
        if status or self._attentive:
            self._after(status)
        return self._y.copy() if self._ready else self.read()

    def _after(self, status: int) -> None:
        """What is left to Python after a native step."""
        if status:
            self._attend(status)
        if self._session.events:
            self._note_events()
        if self.run.follows:
            self.run.follow(float(self.t[0]), self._session.x)

    def _renew(self) -> None:
        """New inputs where the method's state speaks of accelerations."""
        u, places = self.run.native.u, self._places
        if (u[places] != self.given[: len(places)]).any():
            u[places] = self.given[: len(places)]
            self._session.jump(self.run.renewed, "inputs")

    def _attend(self, reason: int) -> None:
        """Acts where native code cannot, until the instant is reached or the motion has ended."""
        while reason not in (fr.FINISHED, fr.TERMINAL):
            session = self._session
            session.collect_events()
            if reason == fr.EVENT:
                self.run.inputs.initial[:] = self.run.native.u[: self.run.system.nu]
                if session.act_at_event():
                    self._write_row()
                    reason = fr.TERMINAL
                    break
            elif reason == fr.RENEWED:
                session.act_at_renewal()
            elif reason != fr.PAUSED:
                self._go_on(reason)
            session = self._session
            session.progress.rows = 0
            if session.memories is not None:
                session.memories.record.log.used = 0
            if session.unknowns is not None:
                session.unknowns.record.log.used = 0
            session.progress.steps_left = session.progress.max_steps = session.count.steps + self._limit
            reason = march.call(session.address)
        self._session.collect_events()
        if reason == fr.TERMINAL:
            self.end(self._session.records[-1].name)
        self._read(self._where)

    def _write_row(self) -> None:
        """The full state of the present point, where x is only part of it and no step has written it."""
        session, native = self._session, self.run.native
        if session.n_y:
            session.row_y[0] = native.expand(session.clock.t, session.x)  # type: ignore[attr-defined]
            session.progress.rows = 1

    def _go_on(self, reason: int) -> None:
        """Goes on in other coordinates where the run can, or says why it cannot."""
        self._raise_error()
        trajectory = self._end(reason)
        target = float(self._session.stops[0])
        if not self.run.goes_on(trajectory):
            message = self._explained(trajectory)
            self.stopped = f"a step has failed ({message})"
            raise SolverError(f"stepper '{self.run.system.model.name}': {message}")
        self._enter(self.run.begin(), trajectory.restart.t)
        self._session.stops[0] = target

    def _raise_error(self) -> None:
        """Raises what a callback raised."""
        called = self.run.native.callbacks
        if called is not None and called.error is not None:
            error, called.error = called.error, None
            self.stopped = f"a step has failed ({error!r})"
            raise error

    def _explained(self, trajectory: Trajectory) -> str:
        """Why a step cannot be done, in the words of the model."""
        try:
            return self.run.told(trajectory)
        except SolverError as error:  # the state there cannot even be looked at
            return str(error).removeprefix(f"simulate '{self.run.system.model.name}': ")

    def _end(self, reason: int) -> Trajectory:
        """The present point as the end of a run."""
        s = self._session
        status, message = explain(s, reason, self._method)
        t, x = s.clock.t, s.x.copy()
        return Trajectory(np.array([t]), x[None], x[None], status, message, Statistics(), (), Checkpoint(self._method.name, t, x))

    def _note_events(self) -> None:
        session = self._session
        session.collect_events()
        self.events = [(r.t, r.name) for r in session.records]
        session.records.clear()

    # -- what there is --------------------------------------------------------------------------------------------

    def read(self) -> np.ndarray:
        """The outputs: of native code as they are, the others by the channels of a solution."""
        if self._ready:
            return self._y.copy()
        later = self._later.at(self.state(), self.run.native.u[: self.run.system.nu])
        return np.array([*self._y, *later])[self._order]

    def state(self) -> State:
        """The model's state."""
        session, t = self._session, float(self.t[0])
        if session.n_y:
            found = split_state(self.run.system, session.row_y[session.progress.rows - 1], t)
        else:
            found = self.run.model_state(t, session.x.copy())
        return self.run.inputs.remembering(found, self.run.native.u)

    def save(self) -> Any:
        """The march's memory, the native side's and the run's own."""
        return Snapshot([self, self.run, self.run.inputs]), {name: a.copy() for name, a in self._arrays().items()}

    def restore(self, memory: Any) -> None:
        """Everything as it was."""
        own, copies = memory
        own.restore()
        for name, array in self._arrays().items():
            array[...] = copies[name]

    def portable(self, memory: Any) -> dict[str, Any]:
        """Numbers alone: what the frame and the arguments refer to is where another process has it."""
        own, copies = memory
        block, parts = copies["block"].view(np.int64), self._session.parts
        arrays = {name: a for name, a in copies.items() if name != "block" and not name.startswith("bound ")}
        march = {name: block[part] for name, part in parts.items() if name != "frame"}
        events, ended, stopped = (own.attribute(self, name) for name in ("events", "ended", "stopped"))
        inputs = {name: own.attribute(self.run.inputs, name) for name in ("initial", "history", "begun", "acted")}
        run = self.run.portable(lambda name: own.attribute(self.run, name))
        return {"arrays": arrays, "march": march, "events": events, "ended": ended, "stopped": stopped, "inputs": inputs, "run": run}

    def take(self, data: dict[str, Any]) -> None:
        """The numbers of another process in this one's memory."""
        first = self.run.take(data["run"])
        if first is not None:
            self._enter(first, float(data["arrays"]["t"][0]))
        block, parts = self._session.block.view(np.int64), self._session.parts
        for name, words in data["march"].items():
            block[parts[name]] = words
        arrays = self._arrays()
        for name, values in data["arrays"].items():
            arrays[name][...] = values
        self.events, self.ended, self.stopped = list(data["events"]), data["ended"], data["stopped"]
        inputs, given = self.run.inputs, data["inputs"]
        inputs.initial[:], inputs.history[:], inputs.begun, inputs.acted = (
            given["initial"],
            given["history"],
            given["begun"],
            dict(given["acted"]),
        )

    def _arrays(self) -> dict[str, np.ndarray]:
        """All memory that changes from step to step; arguments of bound functions hold addresses."""
        session, native, found = self._session, self.run.native, {"block": self._session.block, "row": self._session.row_y}
        found |= {f"bound {i}": a for i, a in enumerate(session.kept) if isinstance(a, np.ndarray)}
        found |= {f"guards {i}": a for i, a in enumerate(session.guarded)}
        found |= {f"native {name}": a for name, a in native.memory().items()}
        watch = getattr(native, "watch", None)
        found |= {f"watch {i}": a for i, a in enumerate([] if watch is None else watch.memory())}
        found |= {f"search {i}": a for i, a in enumerate([] if native.search is None else native.search.memory())}
        return found | self._open.memory() | {"bound arguments": self._open.words}

    @property
    def native(self) -> tuple[int, int]:
        """The function :func:`jourdain.solvers.ode.advance.advance` and its arguments."""
        name = self.run.system.model.name
        acting = [e.name for e in self._session.events if e.action is not None]
        if acting:
            raise InputError(f"stepper '{name}': event '{acting[0]}' changes the state in Python; native callers need events without jumps")
        if self._later.names:
            raise InputError(
                f"stepper '{name}': output '{self._later.names[0]}' is computed in Python; native callers need outputs of the state"
            )
        if self.run.renews or self.run.follows:
            return super().native
        return advance.address, self._where


def _prepared(*arguments: Any, progress: bool, **options: Any) -> Any:
    """An integration that is not run."""
    return prepare(*arguments, **options)


@told
class Stepper:
    """A system in motion, step by step, as :meth:`.System.stepper` makes it.

    >>> import jourdain as jd
    >>> m = jd.Model("cart")
    >>> push = m.input("push", unit="N")
    >>> slide = m.prismatic("slide", m.ground, m.body("cart", mass=2.0), axis="x")
    >>> m.force(slide, lambda x, v, t: push).name
    'slide.force'
    >>> st = m.compile().stepper({}, step=0.01, inputs=["push"], outputs=["slide.displacement_rate"])
    >>> for k in range(100):
    ...     y = st.advance([4.0])
    >>> round(st.t, 12), y.round(12).tolist()
    (1.0, [2.0])
    """

    def __init__(self, engine: Engine, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self._engine = engine
        #: Names of the inputs and outputs in order.
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        #: How far an advance goes (s) unless it says otherwise.
        self.step = float(engine.step[0])
        self._count, self._given, self._go = len(self.inputs), engine.given[: len(inputs)], engine.advance

    def advance(self, u: Sequence[float] | np.ndarray | None = None, step: float | None = None) -> np.ndarray:
        """Goes on by ``step`` seconds (by default :attr:`step`) with the inputs ``u`` held; the outputs at the end.

        Without ``u`` the inputs stay as they are.  A terminal event ends the step, and the motion: see :attr:`ended`.  A step that cannot be done
        raises :class:`jourdain.SolverError`; then :meth:`restore` is the way back.
        """
        if self._engine.stopped is not None:
            raise InputError(f"{self}: {self._engine.stopped}; restore() an earlier state")
        if u is not None:
            given = reals(u, "u")
            if given.shape != (self._count,) or not isfinite(given.sum()):
                names = ", ".join(map(repr, self.inputs)) or "none"
                raise InputError(f"{self}: u = {short(u)} must give one finite number for each input, which are {names}")
            self._given[:] = given
        return self._go() if step is None else self._partial(step)

    def _partial(self, step: float) -> np.ndarray:
        if not (isinstance(step, (int, float, np.number)) and 0.0 < step < np.inf):
            raise InputError(f"{self}: step = {step!r} must be a positive number of seconds")
        how_far = self._engine.step
        how_far[0] = step
        try:
            return self._go()
        finally:
            how_far[0] = self.step

    # -- where it is ----------------------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """Time (s)."""
        return float(self._engine.t[0])

    @property
    def y(self) -> np.ndarray:
        """The outputs as they are."""
        return self._engine.read()

    @property
    def state(self) -> State:
        """The model's state."""
        if self._engine.stopped is not None and self.ended is None:
            raise InputError(f"{self}: {self._engine.stopped}; restore() an earlier state")
        return self._engine.state()

    @property
    def events(self) -> list[tuple[float, str]]:
        """Events of the last step: (time, name)."""
        return list(self._engine.events)

    @property
    def ended(self) -> str | None:
        """The terminal event that has ended the motion, or None."""
        return self._engine.ended

    def save(self) -> Token:
        """Everything it remembers; as many tokens as you like may be kept and gone back to, pickled ones in another process."""
        return Token(self, self.t, self._engine.save())

    def restore(self, token: Token) -> None:
        """Goes back to a saved instant: what follows is the same, bit for bit.

        A token that was pickled is taken by every stepper that was made in the same way.
        """
        if not isinstance(token, Token) or token.owner not in (self, None):
            raise InputError(f"{self}: restore() takes what save() of this stepper gave, not {token!r}")
        if token.owner is self:
            return self._engine.restore(token.memory)
        if token.made_by != self.made:
            different = ", ".join(
                f"{k} {a!r} and not {b!r}" for (k, a), b in zip(self.made.items(), token.made_by.values(), strict=True) if a != b
            )
            raise InputError(f"{self}: restore() takes what save() of a stepper like this one gave; this one has {different}")
        self._engine.take(token.memory)

    @property
    def made(self) -> dict[str, Any]:
        """How it was made: what a pickled token must agree with."""
        run = self._engine.run
        return {
            "model": self._engine.system.reference.fingerprint, "formulation": run.system.formulation, "run": run.kind, "method": run.settings.method,
            "inputs": self.inputs, "outputs": self.outputs,
        }  # fmt: skip

    def portable(self, memory: Any) -> dict[str, Any]:
        """What was saved as plain data."""
        return self._engine.portable(memory)

    # -- for native callers ---------------------------------------------------------------------------------------

    @property
    def address(self) -> int:
        """Address of ``int32_t advance(void** arguments)``, for loops in C, Rust or other native code.

        ``arguments`` (:attr:`arguments`) begins with four pointers: ``double t[1]`` (written), ``double u[]`` (the inputs, read at the start
        of the step), ``double y[]`` (the outputs at its end, written) and ``double step[1]`` (s, read).  It returns 0 when the instant is
        reached, 14 when a terminal event has ended the motion, and other numbers when it cannot go on.  The stepper must live as long as the address is used.
        """
        return self._engine.native[0]

    @property
    def arguments(self) -> int:
        """Address of the arguments of :attr:`address`."""
        return self._engine.native[1]

    def __str__(self) -> str:
        return f"stepper of '{self._engine.run.system.model.name}' at t = {self.t:.9g} s"

    def __repr__(self) -> str:
        return f"<Stepper {self._engine.run.system.model.name}: {self._engine.run.kind}, {self._engine.run.settings.method}, t = {self.t:.9g} s>"


def checked_names(name: str, given: Sequence[str] | None, known: Iterable[str], what: str) -> tuple[str, ...]:
    """Names in order without repetition, or what there is."""
    if given is None:
        return tuple(known)
    if isinstance(given, str) or len(set(given)) != len(list(given)):
        raise InputError(f"stepper '{name}': {what} = {given!r} must be a list of different names")
    return tuple(given)


__all__ = ["Engine", "OdeEngine", "Readings", "Stepper", "Token", "checked_names"]
