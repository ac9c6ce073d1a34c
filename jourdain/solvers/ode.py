"""The front door of the ODE methods: x' = f(t, x) by a method chosen by name."""

from __future__ import annotations

import ctypes
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jourdain.errors import InputError
from jourdain.solvers import load_method
from jourdain.solvers.events import Event, Samples, Switch
from jourdain.solvers.method import Method
from jourdain.solvers.native_function import NativeFunction
from jourdain.solvers.tableaus import Tableau
from jourdain.solvers.trajectory import Checkpoint, Trajectory

CHUNK_TIME = 0.1
Array = NDArray[np.float64]


def integrate(
    rhs: NativeFunction,
    t_span: tuple[float, float],
    x0: ArrayLike | Checkpoint,
    method: str | Tableau | Method = "dopri5",
    *,
    rtol: float = 1e-6,
    atol: ArrayLike = 1e-9,
    step: float | None = None,
    max_step: float = np.inf,
    t_eval: ArrayLike | None = None,
    jacobian: NativeFunction | None = None,
    time_derivative: NativeFunction | None = None,
    events: Sequence[Event] = (),
    event_probes: int = 0,
    project: NativeFunction | None = None,
    samples: Sequence[Samples] = (),
    switch: Switch | None = None,
    output: NativeFunction | None = None,
    output_size: int = 0,
    positions: int | None = None,
    dense: bool | None = None,
    max_steps: int = 10_000_000,
    progress: bool = False,
) -> Trajectory:
    """Integrate x' = f(t, x) from t_span[0] to t_span[1] (s) in native code; forwards or backwards.

    rhs: native f(t, x); `jacobian` is df/dx (row-major n by n) and `time_derivative` df/dt, for stiff methods.
    x0: the initial state, or the `restart` of an earlier trajectory to go on exactly.
    method: a name in `jourdain.solvers.METHODS` or a `Tableau`; rtol, atol: error allowed in a step (atol may differ
    by state); step: size (s) of fixed steps, or of the first one; max_step: the largest (s).
    t_eval: times (s) of the rows wanted; every step and both sides of every jump without it.
    events, samples, switch: see those classes; event_probes: points inside each step where guards are looked at too.
    project: native, puts x back onto its manifold in place after each step. output: native y(t, x) of `output_size`.
    positions: number of positions in x = [q, v] when dq/dt is not v, for the second-order methods.
    dense: keep the interpolants for `Trajectory.at` (default: when t_eval is not given).
    """
    extras = (jacobian, time_derivative, project, switch, output, t_eval)
    if method == "rk4" and step is not None and not events and not samples and all(e is None for e in extras):
        return _plain(rhs, t_span, x0, step, max_steps, dense)
    from jourdain.solvers import frame as fr
    from jourdain.solvers import progress as pr
    from jourdain.solvers.session import Session
    from jourdain.solvers.start import first_step

    chosen = load_method(method)
    start = x0.x if isinstance(x0, Checkpoint) else np.array(x0, dtype=np.float64).ravel()
    t0, t1 = float(t_span[0]), float(t_span[1])
    _check_input(chosen, t0, t1, x0, start, rtol, step, jacobian, output, output_size)
    times = None if t_eval is None else _check_times(t_eval, t0, t1)
    session = Session(chosen, start.size)
    if isinstance(x0, Checkpoint):
        session.load(x0)
    else:
        session.x[:], session.clock[fr.T] = start, t0
    session.tol[0], session.tol[1:] = rtol, np.broadcast_to(np.asarray(atol, dtype=np.float64), start.shape)
    session.clock[fr.H_MAX] = max_step
    if step is not None and not isinstance(x0, Checkpoint):
        session.clock[fr.H] = np.copysign(step, t1 - t0)
    session.count[fr.POSITIONS] = _positions(chosen, start.size, positions)
    for slot, function in ((fr.RHS, rhs), (fr.JAC, jacobian), (fr.DFDT, time_derivative), (fr.PROJECT, project), (fr.OUTPUT, output)):
        session.set_hook(slot, function)
    if chosen.needs_time_derivative and time_derivative is None:
        _check_autonomous(chosen, rhs, start, t0, t1)
    session.set_switch(switch)
    session.set_events(events, event_probes)
    session.set_stops(samples, t0, t1)
    session.set_output(times, times is None if dense is None else dense, output_size)
    session.progress[pr.MAX_STEPS] = max_steps
    session.frame[fr.FIRST] = first_step.address
    begun = time.perf_counter()
    with _interruptible() as interrupted, _bar(progress, t0, t1) as show:
        reason = _run(session, interrupted, show)
    status, message = _explain(session, reason, chosen)
    t, x, y = session.output()
    return Trajectory(
        t,
        x,
        y,
        status,
        message,
        session.statistics(time.perf_counter() - begun),
        tuple(session.records),
        session.save(),
        session.segments(),
    )


def _plain(
    rhs: NativeFunction, t_span: tuple[float, float], x0: ArrayLike | Checkpoint, step: float, max_steps: int, dense: bool | None
) -> Trajectory:
    """The shortest way: fixed steps of order 4 and nothing else."""
    from jourdain.solvers.plain_rk4 import plain_rk4

    start = x0.x if isinstance(x0, Checkpoint) else np.array(x0, dtype=np.float64).ravel()
    t0, t1 = float(t_span[0]), float(t_span[1])
    if not np.isfinite(start).all() or not np.isfinite([t0, t1]).all() or t0 == t1:
        raise InputError(f"integrate: the span {t_span} and the initial state must be finite, and the span not empty")
    if not step > 0 or abs(t1 - t0) / step > max_steps:
        raise InputError(f"integrate: step = {step} s must be positive and give at most {max_steps} steps over {t1 - t0:g} s")
    return plain_rk4(rhs, (t0, t1), start, step, dense is not False)


def _run(session: Any, interrupted: list[bool], show: Any) -> int:
    """March in chunks of about a tenth of a second until done; return the reason of the end (0: interrupted)."""
    from jourdain.solvers import frame as fr
    from jourdain.solvers import progress as pr
    from jourdain.solvers.march import march as kernel

    march = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(kernel.address)
    chunk = 64
    try:
        while True:
            session.progress[pr.STEPS_LEFT] = granted = min(chunk, session.step_room)
            begun = time.perf_counter()
            reason = march(session.frame.ctypes.data)
            spent = time.perf_counter() - begun
            session.collect()
            show(session.clock[fr.T])
            if interrupted[0]:
                return 0
            if reason == fr.PAUSED:
                if granted == chunk and session.progress[pr.STEPS_LEFT] <= 0:
                    chunk = max(1, int(chunk * min(8.0, CHUNK_TIME / max(spent, 1e-9))))
            elif reason == fr.SAMPLE:
                session.act_at_sample()
            elif reason == fr.EVENT:
                if session.act_at_event():
                    return fr.TERMINAL
            else:
                return int(reason)
    except KeyboardInterrupt:
        return 0


def _explain(session: Any, reason: int, method: Method) -> tuple[str, str]:
    """Return status and message for the reason that ended the march."""
    from jourdain.solvers import frame as fr

    clock, count = session.clock, session.count
    t, bad_t = float(clock[fr.T]), float(clock[fr.T_BAD])
    hint = ""
    if count[fr.STIFF] >= 15:
        hint = f"the problem looks stiff to '{method.name}': try method='radau' or 'rosenbrock'"
    if reason in (0, fr.FINISHED):
        return ("finished" if reason else "interrupted"), hint
    if reason == fr.TERMINAL:
        return "event", f"terminal event '{session.records[-1].name}' at t = {t:.12g} s. {hint}".rstrip()
    if reason == fr.EXHAUSTED:
        advice = hint or "raise max_steps or go on from `restart`"
        return "max_steps", f"{count[fr.STEPS]} steps reached t = {t:.9g} s only; {advice}"
    remedy = hint or (
        "a discontinuity without an event, or tolerances too tight"
        if method.stiff
        else "stiff? try method='radau'; or a singularity, or tolerances too tight"
    )
    messages = {
        fr.RHS_FAILED: f"the right-hand side returned status {count[fr.BAD_STATUS]} at t = {bad_t:.9g} s",
        fr.NOT_FINITE: f"component {count[fr.BAD]} of the right-hand side is not finite at t = {bad_t:.9g} s; "
        "look for a division by zero, a root or a logarithm of a negative number in that law",
        fr.UNDERFLOW: f"the step size fell below rounding at t = {t:.9g} s: {remedy}",
        fr.JAC_FAILED: f"the Jacobian returned status {count[fr.BAD_STATUS]} or is not finite at t = {bad_t:.9g} s",
        fr.SINGULAR: f"the iteration matrix stays singular at t = {t:.9g} s: {remedy}",
        fr.NO_CONVERGENCE: f"Newton does not converge at t = {t:.9g} s at any step: check the Jacobian, or {remedy}",
        fr.HOOK_FAILED: f"a guard, projection, output or action returned status {count[fr.BAD_STATUS]} at t = {bad_t:.9g} s",
        fr.ZENO: "events accumulate: "
        f"'{session.records[-1].name if session.records else ''}' fires again and again at t = {t:.12g} s "
        "(Zeno); let its action put the system to rest, or make it terminal",
    }
    return "failed", messages[reason]


def _check_input(
    method: Method,
    t0: float,
    t1: float,
    x0: Any,
    start: Array,
    rtol: float,
    step: float | None,
    jacobian: NativeFunction | None,
    output: NativeFunction | None,
    output_size: int,
) -> None:
    if not np.isfinite([t0, t1]).all():
        raise InputError(f"integrate: t_span ({t0}, {t1}) must be finite")
    if start.size == 0 or not np.isfinite(start).all():
        where = f"component {int(np.argmin(np.isfinite(start)))} is not finite" if start.size else "it is empty"
        raise InputError(f"integrate: initial state of {start.size} components: {where}")
    if isinstance(x0, Checkpoint) and (x0.method != method.name or x0.t != t0):
        raise InputError(
            f"integrate: the restart is of method '{x0.method}' at t = {x0.t!r} s, not of '{method.name}' "
            f"at {t0!r} s; start from restart.x to change the method"
        )
    if step is not None and not step > 0:
        raise InputError(f"integrate: step {step} s must be positive")
    if not method.adaptive and step is None and not isinstance(x0, Checkpoint):
        raise InputError(f"method '{method.name}' has a fixed step: give step= in seconds")
    if method.adaptive and not 0 < rtol < 1:
        raise InputError(f"integrate: rtol {rtol} must lie between 0 and 1")
    if method.needs_jacobian and jacobian is None:
        raise InputError(f"method '{method.name}' is implicit: give jacobian= (native, n by n, row-major)")
    if output is not None and output_size < 1:
        raise InputError("integrate: output needs output_size=, the number of values it writes")


def _check_times(t_eval: ArrayLike, t0: float, t1: float) -> Array:
    times = np.atleast_1d(np.asarray(t_eval, dtype=np.float64))
    direction = 1.0 if t1 >= t0 else -1.0
    if (np.diff(times) * direction < 0).any():
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


@contextmanager
def _interruptible() -> Iterator[list[bool]]:
    """Turn the first Ctrl-C into a flag that is read between chunks; a second one raises at once."""
    flag = [False]
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return

    def note(number: int, where: Any) -> None:
        if flag[0]:
            raise KeyboardInterrupt
        flag[0] = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.default_int_handler)


@contextmanager
def _bar(wanted: bool, t0: float, t1: float) -> Iterator[Any]:
    """Show a progress bar in simulated time."""
    if not wanted:
        yield lambda t: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("t = {task.fields[t]:.4g} s"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns) as bars:
        task = bars.add_task("", total=abs(t1 - t0) or 1.0, t=t0)
        yield lambda t: bars.update(task, completed=abs(t - t0), t=t)
