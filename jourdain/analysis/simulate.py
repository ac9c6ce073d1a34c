"""Motion in time: the native right-hand side integrated by a method chosen by name, wrapped as a solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SolverError
from ..model.values import number
from ..results.channel import Channel
from ..results.solution import Solution
from ..solvers import STIFF
from ..solvers.events import Samples
from ..solvers.ode import integrate
from ..symbolic.expr import Expr, as_expr
from .native_system import NativeSystem
from .reactions import reaction_channels
from .state import State

if TYPE_CHECKING:
    from .system import System


def simulate(
    system: System, x0: State | Mapping[str, Any] | None, t: float | Sequence[float], method: str = "dopri5", rtol: float = 1e-8,
    atol: float = 1e-10, step: float | None = None, times: Any = None, outputs: int | None = None, progress: bool = False,
    inputs: Mapping[str, Any] | None = None, max_steps: int = 10_000_000,
) -> Solution:  # fmt: skip
    """Simulates from a state for ``t`` seconds (or from t[0] to t[1]).

    ``times`` asks for output at given instants, ``outputs`` for that many equal ones; by default every step is kept.
    ``inputs`` gives the model's inputs: numbers, functions of time, tables of time, or a :class:`Controller`.
    """
    start = system.state(x0)
    span = (start.t, start.t + float(t)) if np.ndim(t) == 0 else (float(t[0]), float(t[1]))  # type: ignore[index,arg-type]
    if not span[1] > span[0]:
        raise InputError(f"simulate '{system.model.name}': the end {span[1]:g} s is not after the start {span[0]:g} s")
    if outputs is not None:
        times = np.linspace(span[0], span[1], outputs)
    constants, signals, controllers = sort_inputs(system, inputs or {})
    native = NativeSystem(system, system.input_values(constants), signals=signals, start=start)
    samples = [c.samples(system, native, name, span) for name, c in controllers.items()]
    derivatives: dict[str, Any] = native.derivatives() if method in STIFF else {}
    trajectory = integrate(
        native.rhs, span, start.x, method, rtol=rtol, atol=atol, step=step, t_eval=times, project=native.project, **derivatives,
        events=native.events(), samples=samples, progress=progress, max_steps=max_steps, positions=system.nq,
    )  # fmt: skip
    if native.callbacks is not None and native.callbacks.error is not None:
        raise native.callbacks.error
    if trajectory.status == "failed":
        raise SolverError(f"simulate '{system.model.name}': {explain(system, trajectory.message)}")
    metadata = {
        "model": system.model.name, "method": method, "rtol": rtol, "atol": atol, "parameters": system.parameters,
        "status": trajectory.status, "message": trajectory.message,
    }  # fmt: skip
    return solution_of(system, trajectory.t, trajectory.x, metadata, trajectory, native.inputs_at)


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
    system.input_values({n: 0.0 for n in given})
    constants: dict[str, float] = {}
    signals: dict[Expr, Expr] = {}
    controllers: dict[str, Controller] = {}
    for name, item in given.items():
        if isinstance(item, Controller):
            controllers[name] = item
        elif callable(item):
            signals[system.model.inputs[name].symbol] = as_expr(item(system.model.time))
        else:
            constants[name] = number(item, f"input '{name}'")
    return constants, signals, controllers


def explain(system: System, message: str) -> str:
    """The solver's message with state numbers replaced by names."""
    names = system.coordinate_names + system.velocity_names + list(system.model.states)
    for i, name in reversed(list(enumerate(names))):
        message = message.replace(f"component {i} ", f"'{name}' ")
    return message


def solution_of(
    system: System, t: np.ndarray, x: np.ndarray, metadata: dict[str, Any], trajectory: Any = None,
    inputs_at: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> Solution:  # fmt: skip
    """A solution with named channels from states in rows; energies, poses and outputs are computed when asked for."""
    nq, nv = system.nq, system.nv
    q, v, z = x[:, :nq], x[:, nq : nq + nv], x[:, nq + nv :]
    c = system.configuration
    channels: dict[str, Any] = {}
    derivatives: dict[str, str] = {}
    rate_units = {"rad": "rad/s", "m": "m/s", "": "rad/s"}
    for i, name in enumerate(c.position_names):
        channels[name] = Channel(q[:, i], c.units[i], "position")
    for coordinate in c.coordinates:
        for name in coordinate.velocity_names:
            j = c.velocity_names.index(name)
            channels[name] = Channel(v[:, j], rate_units[coordinate.unit], "velocity")
        if not coordinate.is_quaternion:
            derivatives[coordinate.names[0]] = coordinate.velocity_names[0]
    for i, (name, state) in enumerate(system.model.states.items()):
        channels[name] = Channel(z[:, i], state.unit, "user state")
    inputs = inputs_at(t, x) if inputs_at is not None else np.tile(system.input_values(), (len(t), 1))
    for i, (name, item) in enumerate(system.model.inputs.items()):
        channels[name] = Channel(inputs[:, i], item.unit, "input")
    channels |= _lazy_channels(system, t, x, inputs)
    return Solution(
        t, channels, metadata, _statistics(trajectory), system, derivatives=derivatives,
        frame_provider=FrameProvider(system, t, q, v),
    )  # fmt: skip


def _statistics(trajectory: Any) -> dict[str, Any]:
    if trajectory is None:
        return {}
    return asdict(trajectory.stats)


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
                cache["outputs"] = system.function("outputs")(t[:, None], x, inputs)
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
