"""The front door of the ODE methods: x' = f(t, x) by a method chosen by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jourdain.errors import InputError, short
from jourdain.reals import reals
from jourdain.solvers import STIFF_BY, load_method
from jourdain.solvers.kept import ROOM
from jourdain.solvers.native_function import NativeFunction, is_finite
from jourdain.solvers.ode.events import Event, Samples, Switch
from jourdain.solvers.ode.method import Method
from jourdain.solvers.ode.methods.tableaus import Tableau
from jourdain.solvers.ode.trajectory import Checkpoint, Trajectory

if TYPE_CHECKING:
    from jourdain.solvers.ode.drive import Drive
    from jourdain.solvers.ode.memories import Renewals
    from jourdain.solvers.unknowns import Search

Array = NDArray[np.float64]
MAX_STEPS = 10_000_000
#: Tolerances below half of the distance between two numbers ask for what arithmetic cannot give.
LEAST_RTOL = 1e-16
#: What the shortest way does not do.
PARTS = {"steps", "t_eval", "jacobian", "time_derivative", "events", "project", "samples", "switch", "memories", "unknowns", "output"}


def integrate(
    rhs: NativeFunction, t_span: tuple[float, float], x0: ArrayLike | Checkpoint, method: str | Tableau | Method = "dopri5", *,
    progress: bool = False, **options: Any,
) -> Trajectory:  # fmt: skip
    """Integrate x' = f(t, x) from t_span[0] to t_span[1] (s) in native code; forwards or backwards.

    All options are told by :func:`prepare`; `progress` shows a bar.
    """
    found = ready(rhs, t_span, x0, method, **options)
    return found if isinstance(found, Trajectory) else found.run(progress)


def ready(
    rhs: NativeFunction, t_span: tuple[float, float], x0: ArrayLike | Checkpoint, method: str | Tableau | Method = "dopri5", *,
    progress: bool = False, **options: Any,
) -> Drive | Trajectory:  # fmt: skip
    """An integration ready to run (`progress` is asked for when it does); where the shortest way is possible, its trajectory."""
    given = {name for name, option in options.items() if not (option is None or (name in ("events", "samples") and not option))}
    if method == "rk4" and "step" in given and not given & PARTS and _fits(t_span, x0, options["step"]):
        return _plain(rhs, t_span, x0, options["step"], options.get("max_steps", MAX_STEPS), options.get("dense"))
    return prepare(rhs, t_span, x0, method, **options)


def again(
    drive: Drive, t_span: tuple[float, float], x0: Array | Checkpoint, t_eval: ArrayLike | None, dense: bool, max_steps: int
) -> Drive:
    """A drive that has run once made ready for another run, with the same functions, tolerances and events."""
    t0, t1 = t_span
    start = x0.x if isinstance(x0, Checkpoint) else x0
    _check_start(drive.method, t0, t1, x0, start)
    if start.size != drive.session.n:
        raise InputError(f"integrate: initial state of {start.size} components where the integration has {drive.session.n}")
    drive.again(x0, t0, t1, None if t_eval is None else _check_times(t_eval, t0, t1), dense, max_steps)
    return drive


def _fits(t_span: tuple[float, float], x0: ArrayLike | Checkpoint, step: float) -> bool:
    """Whether all steps have room in memory."""
    size = x0.x.size if isinstance(x0, Checkpoint) else np.size(x0)
    return not step > 0 or abs(t_span[1] - t_span[0]) / step * (2 * size + 1) * 8 < ROOM


def prepare(
    rhs: NativeFunction,
    t_span: tuple[float, float],
    x0: ArrayLike | Checkpoint,
    method: str | Tableau | Method = "dopri5",
    *,
    rtol: float = 1e-6,
    atol: ArrayLike = 1e-9,
    step: float | None = None,
    max_step: float = np.inf,
    steps: ArrayLike | None = None,
    t_eval: ArrayLike | None = None,
    jacobian: NativeFunction | None = None,
    time_derivative: NativeFunction | None = None,
    events: Sequence[Event] = (),
    event_probes: int = 0,
    project: NativeFunction | None = None,
    samples: Sequence[Samples] = (),
    switch: Switch | None = None,
    memories: Renewals | None = None,
    unknowns: Search | None = None,
    output: NativeFunction | None = None,
    output_size: int = 0,
    positions: int | None = None,
    quaternions: NDArray[np.int64] | None = None,
    dense: bool | None = None,
    max_steps: int = MAX_STEPS,
    later: Callable[[], NativeFunction] | None = None,
    native_actions: bool = False,
    stiff_by: str = STIFF_BY,
) -> Drive:
    """An integration ready to run, or to be driven from instant to instant.

    rhs: native f(t, x); `jacobian` is df/dx (row-major n by n) and `time_derivative` df/dt, for stiff methods.
    x0: the initial state, or the `restart` of an earlier trajectory to go on exactly.
    method: a name in `jourdain.solvers.METHODS` or a `Tableau`; rtol, atol: error allowed in a step (atol may differ
    by state); step: size (s) of fixed steps, or of the first one; max_step: the largest (s).
    steps: instants (s) to step to, one after the other, whatever the error; by methods that take single steps without iteration.
    t_eval: times (s) of the rows wanted; every step and both sides of every jump without it.
    events, samples, switch, memories (`Renewals`), unknowns (`Search`): see those classes; event_probes: points inside each step where guards are looked at too.
    project: native, puts x back onto its manifold in place after each step. output: native y(t, x) of `output_size`.
    positions: number of positions in x = [q, v] when dq/dt is not v, for the second-order methods.
    quaternions: first position and first velocity of each quaternion, in order, where dq/dt differs from v by these alone and no constraint is to be projected on.
    dense: keep the interpolants for `Trajectory.at` (default: when t_eval is not given).
    native_actions: leave no action that has a native form to Python (what is not finite then ends the run with a status alone).
    stiff_by: what to try, in words, where the problem looks stiff (by default the stiff methods).
    later: of methods in turns ("auto"), what gives the Jacobian when it is needed, or raises `InputError` where there is none.
    """
    from jourdain.solvers.ode.drive import Drive

    chosen = load_method(method)
    start = x0.x if isinstance(x0, Checkpoint) else np.array(x0, dtype=np.float64).ravel()
    t0, t1 = float(t_span[0]), float(t_span[1])
    if not max_step > 0:
        raise InputError(f"integrate: max_step {max_step} s must be positive")
    if steps is not None:
        from jourdain.solvers.ode.replay import given_steps

        instants = given_steps(chosen, steps, t0, t1)
        step = abs(float(instants[0]) - t0)
    _check_start(chosen, t0, t1, x0, start)
    _check_input(chosen, x0, rtol, step, jacobian, output, output_size, later)
    times = None if t_eval is None else _check_times(t_eval, t0, t1)
    if chosen.needs_time_derivative and time_derivative is None:
        _check_autonomous(chosen, rhs, start, t0, t1)
    drive = Drive(chosen, start.size, _positions(chosen, start.size, positions), quaternions)
    drive.later = later
    drive.start(x0 if isinstance(x0, Checkpoint) else start, t0, t1, step)
    drive.tolerances(rtol, _check_atol(atol), max_step)
    drive.session.progress.max_steps = max_steps
    drive.session.stiff_by = stiff_by
    turned = chosen.second_order and quaternions is not None  # they stay of length one, and x that nothing changes has its slope already
    drive.functions(rhs, jacobian, time_derivative, None if turned else project, output)
    session = drive.session
    session.set_switch(switch)
    session.set_events(events, event_probes, native_actions)
    if memories is not None:
        session.set_memories(memories)
    if unknowns is not None:
        session.set_unknowns(unknowns)
    session.set_samples(samples, t0, t1)
    session.set_output(times, times is None if dense is None else dense, output_size)
    if steps is not None:
        from jourdain.solvers.ode.replay import follow

        follow(session, instants)
    return drive


def _plain(
    rhs: NativeFunction, t_span: tuple[float, float], x0: ArrayLike | Checkpoint, step: float, max_steps: int, dense: bool | None
) -> Trajectory:
    """The shortest way: fixed steps of order 4 and nothing else."""
    from jourdain.solvers.ode.methods.plain_rk4 import plain_rk4

    start = x0.x if isinstance(x0, Checkpoint) else np.array(x0, dtype=np.float64).ravel()
    t0, t1 = float(t_span[0]), float(t_span[1])
    if not is_finite(start) or not math.isfinite(t1 - t0) or t0 == t1:
        raise InputError(f"integrate: the span {t_span} and the initial state must be finite, and the span not empty")
    if not step > 0 or abs(t1 - t0) / step > max_steps:
        raise InputError(f"integrate: step = {step} s must be positive and give at most {max_steps} steps over {t1 - t0:g} s")
    return plain_rk4(rhs, (t0, t1), start, step, dense is not False)


def _check_start(method: Method, t0: float, t1: float, x0: Any, start: Array) -> None:
    """Refuses instants and states that are not finite, and the memory of another method or instant."""
    if not math.isfinite(t0) or not math.isfinite(t1):
        raise InputError(f"integrate: t_span ({t0}, {t1}) must be finite")
    if start.size == 0 or not is_finite(start):
        where = f"component {int(np.argmin(np.isfinite(start)))} is not finite" if start.size else "it is empty"
        raise InputError(f"integrate: initial state of {start.size} components: {where}")
    if isinstance(x0, Checkpoint) and (x0.method != method.name or x0.t != t0):
        raise InputError(
            f"integrate: the restart is of method '{x0.method}' at t = {x0.t!r} s, not of '{method.name}' "
            f"at {t0!r} s; start from restart.x to change the method"
        )


def _check_input(
    method: Method,
    x0: Any,
    rtol: float,
    step: float | None,
    jacobian: NativeFunction | None,
    output: NativeFunction | None,
    output_size: int,
    later: Callable[[], NativeFunction] | None = None,
) -> None:
    if step is not None and not step > 0:
        raise InputError(f"integrate: step {step} s must be positive")
    if not method.adaptive and step is None and not isinstance(x0, Checkpoint):
        raise InputError(f"method '{method.name}' has a fixed step: give step= in seconds")
    if method.adaptive and not (isinstance(rtol, Real) and LEAST_RTOL <= rtol < 1):
        raise InputError(f"integrate: rtol = {rtol!r} must be a number between {LEAST_RTOL:g} (rounding) and 1")
    if method.pair is not None and later is None:
        raise InputError(f"method '{method.name}' may become implicit: give later=, which makes the Jacobian")
    if method.needs_jacobian and jacobian is None:
        raise InputError(f"method '{method.name}' is implicit: give jacobian= (native, n by n, row-major)")
    if output is not None and output_size < 1:
        raise InputError("integrate: output needs output_size=, the number of values it writes")


def _check_atol(given: ArrayLike) -> Array:
    atol = reals(given, "integrate: atol")
    if not (atol >= 0).all():
        raise InputError(f"integrate: atol = {short(given)} must not be negative")
    return atol


def _check_times(t_eval: ArrayLike, t0: float, t1: float) -> Array:
    times = np.ascontiguousarray(t_eval, dtype=np.float64)
    direction = 1.0 if t1 >= t0 else -1.0
    early, late = (times[:-1], times[1:]) if direction > 0 else (times[1:], times[:-1])
    if (late < early).any():
        raise InputError("integrate: t_eval must go from t_span[0] to t_span[1] without turning back")
    if times.size and (direction * (times[0] - t0) < 0 or direction * (times[-1] - t1) > 0):
        raise InputError(f"integrate: t_eval from {times[0]:g} to {times[-1]:g} s leaves t_span ({t0:g}, {t1:g}) s")
    return times


def _positions(method: Method, n: int, positions: int | None) -> int:
    """Return the number of positions if dq/dt must be evaluated, or 0 if the halves of x are q and dq/dt."""
    if not method.second_order:
        return 0
    if positions is None and n % 2:
        raise InputError(f"method '{method.name}': {n} states are not [q, dq/dt]; give positions=, how many are q")
    if positions is not None and not 0 < positions < n:
        raise InputError(f"method '{method.name}': positions = {positions} must lie between 1 and {n - 1}")
    return positions or 0


def _check_autonomous(method: Method, rhs: NativeFunction, x: Array, t0: float, t1: float) -> None:
    """Refuse a right-hand side that visibly depends on time when its time derivative is missing."""
    values = np.zeros((3, x.size))
    for value, part in zip(values, (0.0, 0.37, 0.71), strict=True):
        if rhs(t0 + part * (t1 - t0), x.copy(), value) != 0:
            return
    if (values != values[0]).any() and np.isfinite(values).all():
        raise InputError(f"method '{method.name}': the right-hand side depends on t; give time_derivative= (df/dt)")
