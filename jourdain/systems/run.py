"""One run of a system: from a state over a span of time, with inputs, events, step control, output and restart.

A system chooses the kind of run (:meth:`.System.run`); :func:`jourdain.analysis.simulate.simulate` is the only front.  A kind of run says
what it takes beyond the common options by the keywords of its constructor, and which of the common ones it honours by ``honours``; anything
else is refused by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from inspect import Parameter, signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from ..errors import InputError, SolverError, short
from ..reals import NotReal, real
from ..results.channel import Channel
from .outputs.solution import Between, Rows

if TYPE_CHECKING:
    from ..results.solution import Solution
    from ..solvers.ode.trajectory import Checkpoint
    from .inputs import Inputs
    from .outputs.driven_books import Driven
    from .state import State
    from .stepper import Engine
    from .system import System


class SimulationError(SolverError):
    """A simulation that could not reach its end; ``solution`` holds what was done."""

    def __init__(self, message: str, solution: Solution) -> None:
        super().__init__(message)
        self.solution = solution


class SimulationInterrupted(KeyboardInterrupt):
    """Ctrl-C during a simulation; ``solution`` holds what was done, and another run goes on from it."""

    def __init__(self, message: str, solution: Solution) -> None:
        super().__init__(message)
        self.solution = solution


@dataclass(frozen=True)
class Settings:
    """Method, step control and output of a run; ``given`` names the options that the user wrote."""

    method: str
    rtol: float = 1e-8
    atol: float = 1e-10
    step: float | None = None
    max_step: float = np.inf
    max_steps: int = 10_000_000
    #: Instants to step to; None: as the method chooses.
    steps: Any = None
    #: Instants to keep; None: every step.
    times: Any = None
    dense: bool | None = None
    progress: bool = False
    given: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name in ("rtol", "atol", "step", "max_step"):
            given = getattr(self, name)
            if given.__class__ is not float or not given >= 0:
                object.__setattr__(self, name, DEFAULTS[name] if given is None else _not_negative(name, given))
        if not (isinstance(self.max_steps, (int, np.integer)) and 0 < self.max_steps < 2**63):
            raise InputError(f"simulate: max_steps = {short(self.max_steps)} must be a whole number from 1 to 2⁶³ − 1")

    @property
    def keeps_interpolant(self) -> bool:
        """Whether states between steps are asked for (by default when every step is kept)."""
        return self.times is None if self.dense is None else self.dense

    @property
    def control(self) -> tuple[Any, ...]:
        """Method and step control, by which integrations are told apart that are kept for other runs."""
        return self.method, self.rtol, self.atol, self.step, self.max_step


def _not_negative(name: str, given: Any) -> float:
    """A number of seconds, or an error that is allowed."""
    try:
        found = real(given)
    except NotReal as error:
        raise InputError(f"simulate: {name} = {short(given)} is no number ({error})") from None
    if not found >= 0 or (name == "atol" and found == np.inf):
        raise InputError(f"simulate: {name} = {short(given)} must be finite and not negative")
    return found


#: Common options and what they are without being given.
DEFAULTS: dict[str, Any] = {f.name: f.default for f in fields(Settings) if f.name not in ("method", "given")} | {"outputs": None}


@dataclass(eq=False)
class Restart:
    """The end of a run: another one of the same ``kind`` and method goes on from it as if it had never stopped.

    ``inner`` is what the method remembers, ``memory`` what else the run does: inputs that are held, the instant from which samples are
    counted, and what its kind adds.
    """

    kind: str
    method: str
    t: float
    #: The state (q, v, z) of the model, or a function that finds it.
    final: np.ndarray | Callable[[], np.ndarray] = field(repr=False)
    inner: Checkpoint | None = field(default=None, repr=False)
    memory: Mapping[str, Any] = field(default_factory=dict, repr=False)
    #: Formulation, method and its options as the user wrote them, with which a run goes on that names no method.
    asked: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def x(self) -> np.ndarray:
        """The state (q, v, z) of the model."""
        return self.final() if callable(self.final) else self.final

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"final": self.x}  # a function of the run stays behind


@dataclass(eq=False)
class Happened:
    """Events of the model that happened: instants (s), names, and states (q, v, z) of the model before and after, found when read."""

    t: Sequence[float]
    names: Sequence[str]
    states: Callable[[], tuple[np.ndarray, np.ndarray]]


def among_steps(t: np.ndarray, at: Sequence[float], *rows: tuple[np.ndarray, Any, Any]) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Times and rows of a run with those before and after events put in, and the places of both; ``rows`` are (run, before, after)."""
    order = np.argsort(np.concatenate([t, np.repeat(at, 2)]), kind="stable")
    tables = [(t, at, at), *rows]
    joined = [np.concatenate([x, np.stack([before, after], axis=1).reshape(-1, *x.shape[1:])])[order] for x, before, after in tables]
    places = np.argsort(order)[len(t) :]
    return joined, places[::2], places[1::2]


@dataclass(eq=False)
class Outcome:
    """What a run gave: times, states of the model (found when read, where that takes work), and how it ended."""

    t: np.ndarray
    states: Rows
    #: "finished", "event", "interrupted", "max_steps", "failed" or "doubtful" (finished, but its books do not fit).
    status: str
    message: str = ""
    statistics: Callable[[], Mapping[str, Any]] = dict
    #: States at any times.
    between: Between | None = None
    restart: Restart | None = None
    #: Channels of the scheme's own.
    channels: Callable[[], Mapping[str, Channel]] | None = None
    #: Further facts for the metadata.
    about: Mapping[str, Any] = field(default_factory=dict)
    #: Channels of a run whose states turn out to have no joint coordinates.
    instead: Callable[[], Mapping[str, Channel]] | None = None
    #: The run in the words of the engine, where these are others, when it is asked for.
    raw: Callable[[], Solution] | None = None
    #: The contacts of the run by its solution, where it knows them.
    contacts: Callable[[Solution], Any] | None = None
    #: What a user's function raised, if that is why the run ended.
    cause: BaseException | None = None
    events: Happened | None = None
    #: What drives supplied, where set-valued laws let velocities jump.
    driven: Driven | None = None


class Run(ABC):
    """One run in the coordinates in which it is integrated."""

    #: The word for this way to run, for messages, metadata and restarts.
    kind: str
    #: Which of the common options it honours.
    honours: ClassVar[frozenset[str]] = frozenset(DEFAULTS)

    #: Whether a run says nothing of constraints that it must have kept at every step, and of energy within the tolerance, so that both are
    #: looked at when it has ended (see :mod:`.audit`; a projection that fails says so itself).
    keeps_constraints: bool = False
    keeps_energy: bool = False
    #: How it has ended.
    status: str = ""
    #: Steps in which what follows velocities did not settle (steps with rigid contacts tell), so that books are looked at.
    unsettled: int = 0
    #: What :attr:`Restart.asked` keeps of it.
    asked: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, system: System, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings) -> None:
        self.system, self.start, self.span, self.inputs, self.settings = system, start, span, inputs, settings
        if inputs.begun is None:  # a run may go on in legs, and samples are counted from its beginning
            inputs.begun = span[0]

    @abstractmethod
    def go(self, restart: Restart | None = None) -> Outcome:
        """Runs to the end, or as far as it goes; from the memory of an earlier run where that fits."""

    def open(self, step: float, inputs: Sequence[str], outputs: Sequence[str]) -> Engine:
        """The run held open, to go on by steps of ``step`` seconds with new inputs, if there is an engine for this kind of run."""
        raise InputError(
            f"stepper '{self.system.model.name}': {self.kind} runs go to their end in one piece; choose another method or reduction"
        )

    def with_every_step(self, outcome: Outcome) -> Outcome | None:
        """What the run that gave this gives where every step is kept, if it may be done once more."""
        return None

    def fits(self, restart: Restart | None) -> bool:
        """Whether the memory of an earlier run belongs to this kind of run, method and instant."""
        return restart is not None and (restart.kind, restart.method, restart.t) == (self.kind, self.settings.method, self.span[0])

    def memory(self, u: np.ndarray) -> dict[str, Any]:
        """What every run hands over: inputs as they are, and from when on samples are counted."""
        return {"u": u[: self.system.nu].copy(), "begun": self.inputs.begun}

    def resume_inputs(self, restart: Restart) -> None:
        """Lets sampled inputs and memories go on as they were held."""
        held = dict(zip(self.system.model.inputs, restart.memory["u"], strict=True))
        self.inputs.begun = restart.memory["begun"]
        places = list(self.system.model.inputs)
        for name in (*self.inputs.controllers, *self.inputs.memories, *self.inputs.unknowns):
            self.inputs.initial[places.index(name)] = held[name]
        if self.inputs.controllers:
            self.inputs.history.append((self.span[0], {n: float(held[n]) for n in self.inputs.controllers}))


R = TypeVar("R", bound=Run)


@cache
def _keywords(kind: type[Run]) -> frozenset[str]:
    """What the constructor of a kind of run takes by name."""
    return frozenset(n for n, p in signature(kind.__init__).parameters.items() if p.kind is Parameter.KEYWORD_ONLY)


def make_run(
    kind: type[R], system: System, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, options: Mapping[str, Any],
    **own: Any,
) -> R:  # fmt: skip
    """A run of a kind; options that it does not take are refused with those that it does.

    ``own`` are arguments of the constructor that are not the user's.
    """
    takes = _keywords(kind) - own.keys() if own else _keywords(kind)
    if not (options.keys() <= takes and settings.given <= kind.honours):
        for name in sorted((options.keys() - takes) | (settings.given - kind.honours)):
            there = ", ".join(["inputs", "parameters", *sorted(kind.honours), *sorted(takes)])
            raise InputError(f"simulate '{system.model.name}': {kind.kind} runs take no option '{name}'; they take {there}")
    return kind(system, start, span, inputs, settings, **options, **own)


__all__ = [
    "DEFAULTS",
    "Happened",
    "Outcome",
    "Restart",
    "Run",
    "Settings",
    "SimulationError",
    "SimulationInterrupted",
    "among_steps",
    "make_run",
]
