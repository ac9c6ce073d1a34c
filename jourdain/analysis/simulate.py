"""Motion in time: the native right-hand side integrated by a method chosen by name, wrapped as a solution."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SolverError
from ..model.values import number
from ..results.channel import Channel
from ..results.solution import Dense, Solution
from ..solvers import METHODS, STIFF
from ..solvers.ode.events import Samples
from ..solvers.ode.integrate import integrate
from ..symbolic.expr import Expr, as_expr
from ..symbolic.tables import table
from ..systems.state import State
from ..systems.tree.alpha import ALPHA_METHODS, alpha_channels, integrate_alpha
from ..systems.tree.projected import NativeSystem
from .assemble import check_closed
from .diagnose import explain_failure
from .energy_balance import BOOKS, energy_channels
from .reactions import constrained_accelerations, reaction_channels, with_redundant

if TYPE_CHECKING:
    from ..systems.tree.system import System


def simulate(
    system: System, x0: State | Solution | Mapping[str, Any] | None, t: float | Sequence[float], method: str = "dopri5",
    rtol: float = 1e-8, atol: float = 1e-10, step: float | None = None, times: Any = None, outputs: int | None = None,
    progress: bool = False, inputs: Mapping[str, Any] | None = None, max_steps: int = 10_000_000, max_step: float = np.inf,
    rho: float = 0.8,
    dense: bool | None = None, parameters: np.ndarray | None = None, formulation: str = "projected",
    independent: Sequence[str] | None = None, criterion: str | None = None, repartition: bool | int | None = None,
) -> Solution:  # fmt: skip
    """Simulates from a state for ``t`` seconds (or from t[0] to t[1]).

    ``x0`` is a state, named values, or a solution to go on from (with the same method: as if it had never stopped).
    ``times`` asks for output at given instants, ``outputs`` for that many equal ones; by default every step is kept.
    ``inputs`` gives the model's inputs: numbers, functions of time, tables of time (``jd.table`` or (times, values)), or a :class:`Controller`.
    ``rho`` is the spectral radius at infinite frequency of "generalized_alpha", "hht" and "newmark" (1: no numerical
    damping); these and "trapezoidal" take fixed steps of ``step`` seconds, or adapt it to ``rtol`` and ``atol`` without it.
    ``max_step`` (s) bounds the step of methods that adapt it, so that no short pulse of an input is stepped over.
    ``dense`` keeps the method's interpolant for ``solution.at`` (default: when every step is kept); ``parameters`` (a vector
    in the order of ``system.parameter_vector``) replaces the system's for this run.
    ``formulation`` of a system with loops: "projected" (all coordinates, put back onto the constraints after each step),
    "reduced" (independent coordinates, loops closed by Newton; they change in flight where ``repartition`` is not False) or
    "closed" (loops solved in closed form as far as they have one, the others by Newton).  ``independent`` names the coordinates to integrate, else they are chosen by
    ``criterion`` ("pivoting" or "projective").

    A run that cannot go on raises :class:`SimulationError`; what was done is its ``solution``.
    """
    if isinstance(method, str) and method not in METHODS and method not in ALPHA_METHODS:
        raise InputError(
            f"simulate '{system.model.name}': method '{method}' is unknown; choose one of {', '.join([*METHODS, *ALPHA_METHODS])}"
        )
    if parameters is not None:
        system = system.copy(parameters)
    restart = x0.restart if isinstance(x0, Solution) else None
    start: State = end_of(system, x0) if isinstance(x0, Solution) else system.state(x0)
    span = span_of(system.model.name, start.t, t)
    check_closed(system, start)
    times = instants_of(system.model.name, span, times, outputs)
    if formulation != "projected":
        from ..systems.tree.runs import simulate_independent

        chosen = {"independent": independent, "criterion": criterion, "repartition": repartition, "parameters": parameters}
        return simulate_independent(
            system, start, span, method, formulation, inputs or {}, chosen, rtol=rtol, atol=atol, step=step, t_eval=times,
            progress=progress, max_steps=max_steps, max_step=max_step, dense=times is None if dense is None else dense, restart=restart,
        )  # fmt: skip
    constants, signals, controllers = sort_inputs(system, inputs or {})
    u, steady = system.input_values(constants), not (signals or controllers or system.model.callbacks)
    native = NativeSystem.with_constant_inputs(system, u, start) if steady else NativeSystem(system, u, signals=signals, start=start)
    samples = [c.samples(system, native, name, span) for name, c in controllers.items()]
    options: dict[str, Any] = {
        "rtol": rtol, "atol": atol, "step": step, "t_eval": times, "events": native.events(), "samples": samples,
        "progress": progress, "max_steps": max_steps, "max_step": max_step, "dense": times is None if dense is None else dense,
    }  # fmt: skip
    resumed = restart is not None and restart.method == method and restart.t == span[0]
    first: Any = restart if resumed else start.x
    if method in ALPHA_METHODS:
        trajectory = integrate_alpha(native, span, first, method, rho, **options)
    else:
        derivatives: dict[str, Any] = native.derivatives() if method in STIFF else {}
        trajectory = integrate(native.rhs, span, first, method, project=native.project, positions=system.nq, **derivatives, **options)
    if native.callbacks is not None and native.callbacks.error is not None:
        raise native.callbacks.error
    values = system.parameter_vector  # as they are now
    about = lambda: {
        "model": system.model.name, "method": method, "rtol": rtol, "atol": atol,
        "parameters": dict(zip(system.model.parameter_set.names, values.tolist(), strict=True)),
        "status": trajectory.status, "message": trajectory.message,
    }  # fmt: skip
    inputs_at = (lambda times, rows: np.tile(u, (len(times), 1))) if steady else native.inputs_at
    solution = solution_of(system, trajectory.t, trajectory.x, about, trajectory, inputs_at)
    solution.restart = trajectory.restart
    if trajectory.status in ("failed", "max_steps"):
        message = explain_failure(native, trajectory, step or 0.0) if trajectory.status == "failed" else trajectory.message
        raise SimulationError(f"simulate '{system.model.name}': {message}", solution)
    if steady:
        native.release()
    return solution


def end_of(system: System, solution: Solution) -> State:
    """The state at the end of a run, whichever samples of it were kept."""
    if solution.restart is None:
        state: State = solution.final_state()
        return state
    q, v, z = np.split(solution.restart.x[: system.nq + system.nv + system.nz], [system.nq, system.nq + system.nv])
    return State(system, q.copy(), v.copy(), z.copy(), solution.restart.t)


def span_of(name: str, begun: float, t: Any) -> tuple[float, float]:
    """First and last instant of a run over ``t`` seconds, or from t[0] to t[1]."""
    try:
        first, last = (begun, begun + float(t)) if np.ndim(t) == 0 else map(float, t)
    except (TypeError, ValueError):
        raise InputError(f"simulate '{name}': the time {t!r} is neither a number of seconds nor a pair (start, end)") from None
    if not (last > first and np.isfinite(last - first)):
        raise InputError(f"simulate '{name}': the end {last:g} s is not after the start {first:g} s, or not finite")
    return first, last


def instants_of(name: str, span: tuple[float, float], times: Any, outputs: int | None) -> Any:
    """The instants to keep: those given, ``outputs`` equal ones, or None."""
    if outputs is None:
        return times
    if not isinstance(outputs, (int, np.integer)) or outputs < 2:
        raise InputError(f"simulate '{name}': outputs = {outputs!r} must be a whole number of at least 2")
    return np.linspace(*span, outputs)


class SimulationError(SolverError):
    """A simulation that could not reach its end; ``solution`` holds what was done."""

    def __init__(self, message: str, solution: Solution) -> None:
        super().__init__(message)
        self.solution = solution


@dataclass(frozen=True)
class Controller:
    """A discrete-time controller: every ``period`` seconds ``law(state)`` gives the input's new value, held in between."""

    law: Callable[[State], float]
    period: float

    def samples(self, system: System, native: NativeSystem, name: str, span: tuple[float, float]) -> Samples:
        """The sample times and the action that sets the input."""
        if not self.period > 0:
            raise InputError(f"controller of '{name}': the period {self.period} s must be positive")
        index = list(system.model.inputs).index(name)
        nq, nv = system.nq, system.nv

        def action(t: float, x: np.ndarray) -> None:
            state = State(system, x[:nq].copy(), x[nq : nq + nv].copy(), x[nq + nv :].copy(), t)
            value = float(self.law(state))
            if not np.isfinite(value):
                raise SolverError(f"controller of '{name}' gave {value} at t = {t:g} s")
            native.u[index] = value
            native.held.append((t, native.u[: system.nu].copy()))

        return Samples(np.arange(span[0], span[1], self.period), action, name)


def sort_inputs(system: System, given: Mapping[str, Any]) -> tuple[dict[str, float], dict[Expr, Expr], dict[str, Controller]]:
    """Inputs by their kind: numbers, signals (expressions of time), controllers."""
    if given:
        system.input_values({n: 0.0 for n in given})  # refuses unknown names
    constants: dict[str, float] = {}
    signals: dict[Expr, Expr] = {}
    controllers: dict[str, Controller] = {}
    for name, item in given.items():
        if isinstance(item, Controller):
            controllers[name] = item
        elif isinstance(item, tuple):
            signals[system.model.inputs[name].symbol] = as_expr(table(*item, name=name)(system.model.time))
        elif callable(item):
            signals[system.model.inputs[name].symbol] = as_expr(item(system.model.time))
        else:
            constants[name] = number(item, f"input '{name}'")
    return constants, signals, controllers


def solution_of(
    system: System, t: np.ndarray, x: np.ndarray, metadata: dict[str, Any] | Callable[[], dict[str, Any]], trajectory: Any = None,
    inputs_at: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> Solution:  # fmt: skip
    """A solution with named channels from states in rows; the table of channels is made, and energies, poses and outputs are computed,
    when asked for."""
    nq, nv = system.nq, system.nv
    rows = x[:, : nq + nv + system.nz]
    states = trajectory.at if trajectory is not None and trajectory.segments is not None else None
    acting = inputs_at if inputs_at is not None else lambda times, rows: np.tile(system.input_values(), (len(times), 1))

    # inputs of a run may come from a controller or a callback: they are read now
    inputs = acting(t, rows) if system.nu else np.zeros((len(t), 0))

    def channels() -> dict[str, Channel]:
        made = _state_channels(system, rows)
        for i, (name, item) in enumerate(system.model.inputs.items()):
            made[name] = Channel(inputs[:, i], item.unit, "input")
        made |= _lazy_channels(system, t, rows, inputs)
        made |= energy_channels(system, t, rows, inputs, lambda: made["energy.total"].values, states, acting)
        return made | (alpha_channels(system, x) if x.shape[1] > rows.shape[1] else {})

    return Solution(
        t, channels, with_redundant(system, t, rows, metadata), lambda: _statistics(trajectory), system, derivatives=lambda: _rates(system),
        frame_provider=FrameProvider(system, t, rows[:, :nq], rows[:, nq : nq + nv]),
        dense=None if states is None else _dense(system, states, acting),
    )  # fmt: skip


def _state_channels(system: System, x: np.ndarray) -> dict[str, Channel]:
    """Positions, velocities and user states."""
    rate_units = {"rad": "rad/s", "m": "m/s", "": "rad/s"}
    c = system.configuration
    columns = [(name, unit, "position") for name, unit in zip(c.position_names, c.units, strict=True)]
    units = {name: rate_units[coordinate.unit] for coordinate in c.coordinates for name in coordinate.velocity_names}
    columns += [(name, units[name], "velocity") for name in c.velocity_names]
    columns += [(name, state.unit, "user state") for name, state in system.model.states.items()]
    return {name: Channel(x[:, i], unit, kind) for i, (name, unit, kind) in enumerate(columns)}


def _rates(system: System) -> dict[str, str]:
    """Names of positions whose derivative is a velocity, with that velocity's."""
    return {c.names[0]: c.velocity_names[0] for c in system.configuration.coordinates if not c.is_quaternion}


def _dense(system: System, states: Callable[[np.ndarray], np.ndarray], inputs_at: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Dense:
    """Every channel at any times from the method's interpolant."""

    def dense(times: np.ndarray) -> Mapping[str, np.ndarray]:
        order = np.argsort(times, kind="stable")
        x = states(times[order])
        x[:, : system.nq] = system.configuration.normalise(x[:, : system.nq])
        return DenseSample(solution_of(system, times[order], x, {}, None, inputs_at), np.argsort(order))

    return dense


class DenseSample(Mapping[str, np.ndarray]):
    """Channels at given times, computed when read; iteration gives those of the state only."""

    def __init__(self, solution: Solution, order: np.ndarray) -> None:
        self._solution, self._order = solution, order
        c, model = solution.system.configuration, solution.system.model
        self._states = [*c.position_names, *c.velocity_names, *model.states, *model.inputs]

    def __getitem__(self, name: str) -> np.ndarray:
        return np.asarray(self._solution[name])[self._order]

    def __contains__(self, name: object) -> bool:
        return name in self._solution and name not in BOOKS

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)


def _statistics(trajectory: Any) -> dict[str, Any]:
    return {} if trajectory is None else dict(vars(trajectory.stats))


def _lazy_channels(system: System, t: np.ndarray, x: np.ndarray, inputs: np.ndarray) -> dict[str, Channel]:
    nq, nv = system.nq, system.nv
    q, v = x[:, :nq], x[:, nq : nq + nv]
    cache: dict[str, np.ndarray] = {}

    def energy(index: int) -> Any:
        def compute() -> np.ndarray:
            if "energy" not in cache:
                f = system.function("energy")
                extra = {"z": x[:, nq + nv :], "u": inputs}
                cache["energy"] = f(t[:, None], q, v, *(extra[n] for n in list(f.inputs)[3:]))
            e = cache["energy"]
            return e[:, index] if index < 2 else e[:, 0] + e[:, 1]

        return compute

    channels = {
        "energy.kinetic": Channel(energy(0), "J", "kinetic energy"),
        "energy.potential": Channel(energy(1), "J", "potential energy of gravity and springs"),
        "energy.total": Channel(energy(2), "J", "kinetic and potential energy"),
    }

    def output(index: int) -> Any:
        def compute() -> np.ndarray:
            if "outputs" not in cache:
                f = system.function("outputs")
                accelerations = [constrained_accelerations(system, t, x, inputs)[0]] if "a" in f.inputs else []
                cache["outputs"] = f(t[:, None], x, inputs, *accelerations)
            return cache["outputs"][:, index]

        return compute

    for i, item in enumerate(system.model.outputs.values()):
        channels[item.name] = Channel(output(i), item.unit, "output")
    return channels | reaction_channels(system, t, x, inputs)


class FrameProvider:
    """Motion of any frame along a solution, computed when asked for."""

    def __init__(self, system: System, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        self.system, self.t, self.q, self.v = system, t, q, v

    def __call__(self, path: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Position, rotation, velocity and angular velocity of a frame at all times."""
        f = self.system.function("frame", path=path)
        arrays = [self.q, self.v, np.zeros(self.system.nv)]
        extra = {"t": self.t[:, None], "z": np.zeros(self.system.nz), "u": self.system.input_values()}
        p, R, velocity, *_ = f(*arrays, *(extra[n] for n in list(f.inputs)[3:]))
        return p, R, velocity[:, :3], velocity[:, 3:]

    def rebind(self, solution: Solution) -> FrameProvider:
        """The same for another table of states (after resampling)."""
        c = self.system.configuration
        q = np.column_stack([solution[n] for n in c.position_names]) if c.nq else np.zeros((len(solution.t), 0))
        v = np.column_stack([solution[n] for n in c.velocity_names]) if c.nv else np.zeros((len(solution.t), 0))
        return FrameProvider(self.system, solution.t, q, v)
