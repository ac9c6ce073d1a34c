"""One integration from its first step to its end: the native loop in chunks, interruption, progress, and what to say at the end."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jourdain.progress import TimeBar
from jourdain.solvers.interruption import CHUNK_TIME, Interruption
from jourdain.solvers.memory_log import not_renewed
from jourdain.solvers.native_function import NativeFunction
from jourdain.solvers.ode import frame as fr
from jourdain.solvers.ode.ended import STIFF, Ended, stiffness
from jourdain.solvers.ode.march import march
from jourdain.solvers.ode.method import Method
from jourdain.solvers.ode.session import Session
from jourdain.solvers.ode.start import first_step
from jourdain.solvers.ode.trajectory import Checkpoint, Trajectory
from jourdain.told import outside

#: Steps after which a stiff problem is told of, steps that are many, and so many in all that a word is due.
SLOW_STEPS, LONG_STEPS, VERY_LONG = 2_000, 100_000, 1_000_000


class Drive:
    """A session with its method, from the start to the trajectory."""

    def __init__(self, method: Method, n: int, positions: int, quaternions: NDArray[np.int64] | None = None) -> None:
        self.method = method
        self.session = session = Session(method, n)
        session.count.positions = positions
        if quaternions is not None:
            session.frame.turning = np.concatenate([[0], quaternions])
        session.frame.first = first_step.address
        self._chunk = self._granted = 64
        #: The number of steps after which a word is said about their number; None: not any more.
        self.to_tell: int | None = None
        #: What gives the Jacobian when it is needed.
        self.later: Callable[[], NativeFunction] | None = None

    def start(self, x0: NDArray[np.float64] | Checkpoint, t0: float, t1: float, step: float | None) -> None:
        """Where the run begins and ends, and its (first) step."""
        self.span, self.step = (t0, t1), step
        early = SLOW_STEPS if self.method.pair is None else LONG_STEPS  # stiffness is no news to methods in turns
        self.to_tell = early if self.method.adaptive and not self.method.stiff else None
        self.session.start(x0, t0, t1, step)
        self.session.clock.h_min = 4.0 * fr.EPS * abs(t1 - t0)

    def again(
        self, x0: NDArray[np.float64] | Checkpoint, t0: float, t1: float, t_eval: NDArray[np.float64] | None, dense: bool, max_steps: int
    ) -> None:
        """Sets everything back for another run with the same method, functions, tolerances and events."""
        session = self.session
        session.renew()
        if t_eval is not session.times or dense != session.dense:
            session.set_output(t_eval, dense, session.n_y)
            session.keep()
        session.progress.max_steps = max_steps
        self.start(x0, t0, t1, self.step)

    def tolerances(self, rtol: float, atol: ArrayLike, max_step: float) -> None:
        """Error allowed in a step, and the largest step (s)."""
        session = self.session
        session.tol[0], session.tol[1:] = rtol, atol
        session.clock.h_max = max_step

    def functions(
        self, rhs: NativeFunction, jacobian: NativeFunction | None, time_derivative: NativeFunction | None,
        project: NativeFunction | None, output: NativeFunction | None,
    ) -> None:  # fmt: skip
        """The native functions of the problem."""
        names = ("rhs", "jac", "dfdt", "project", "output")
        for name, function in zip(names, (rhs, jacobian, time_derivative, project, output), strict=True):
            self.session.set_hook(name, function)
        self.session.output_function = output

    def run(self, progress: bool) -> Trajectory:
        """Integrate to the end, or as far as it goes."""
        begun = time.perf_counter()
        found = self._done(fr.PAUSED if progress else self._at_once(), begun, progress)
        return found.trajectory() if found.__class__ is Ended else found

    def run_short(self) -> Ended | Trajectory:
        """The same of a run that may well finish with its first chunk; its trajectory is put together later then."""
        begun = time.perf_counter()
        return self._done(self._at_once(), begun, False)

    def _done(self, reason: int, begun: float, progress: bool) -> Any:
        """What is left to do after a first chunk that has ended for a reason."""
        session = self.session
        if reason == fr.FINISHED:
            return Ended(session, begun)
        if reason != 0:
            with Interruption() as interruption:
                if progress:
                    with TimeBar(*self.span) as bar:
                        reason = self._run(interruption, bar.at, 0, begun)
                else:
                    reason = self._run(interruption, None, reason, begun)
        status, message = explain(session, reason, self.method)
        return Ended(session, begun).trajectory(status, message, session.error)

    def _grant(self, room: int) -> None:
        """Let the march take so many steps before Python is asked."""
        self.session.progress.steps_left = self._granted = min(self._chunk, room)

    def _at_once(self) -> int:
        """The first chunk, with which short runs end; nobody listens to Ctrl-C before it is over, and then it is Python's own."""
        session, run = self.session, march.call  # what is compiled here is no part of the run
        self._grant(session.step_room)
        try:
            reason = run(session.address)
        except KeyboardInterrupt:
            reason = 0
        if reason in (fr.FINISHED, 0):
            session.collect_noted()
        return reason

    def _run(self, interruption: Interruption, show: Callable[[float], None] | None, reason: int, begun: float) -> int:
        """March in chunks of about a tenth of a second until done; return the reason of the end (0: interrupted).

        A `reason` is that of a first chunk, begun then, which has been done.
        """
        session = self.session
        room = session.step_room
        try:
            while True:
                if not reason:
                    self._grant(room)
                    begun = time.perf_counter()
                    reason = march.call(session.address)
                spent = time.perf_counter() - begun
                room = session.room_left if reason == fr.SAMPLE else 0  # the buffers fill from sample to sample
                if room < session.step_room // 2 and reason in (fr.SAMPLE, fr.EVENT, fr.PAUSED, fr.RENEWED, fr.WANTED):
                    session.collect()
                    room = session.step_room
                if show is not None:
                    show(session.clock.t)
                if interruption.heard:
                    return 0
                if self.to_tell is not None and session.count.steps >= self.to_tell:
                    self._tell()
                if reason == fr.PAUSED:
                    if self._granted == self._chunk and session.progress.steps_left <= 0:
                        self._chunk = max(1, int(self._chunk * min(8.0, CHUNK_TIME / max(spent, 1e-9))))
                elif reason == fr.SAMPLE:
                    session.act_at_sample()
                elif reason == fr.WANTED:
                    assert self.later is not None
                    session.provide(self.later)
                elif reason == fr.RENEWED:
                    session.act_at_renewal()
                elif reason == fr.EVENT:
                    if session.act_at_event():
                        return fr.TERMINAL
                else:
                    return int(reason)
                reason = 0
        except KeyboardInterrupt:
            return 0
        except Exception as error:  # of an action in Python: what was done before it is kept
            session.error = error
            return fr.HOOK_FAILED
        finally:
            session.collect_noted()

    def _tell(self) -> None:
        """Says once, early, that a run will take far more steps than another method would."""
        session, (start, end) = self.session, self.span
        steps, done = session.count.steps, abs(session.clock.t - start)
        if self.method.pair is None and session.count.stiff >= STIFF:
            told = f"the steps are as short as the stability of '{self.method.name}' demands, not its accuracy"
            remedy = f"for stiff problems there is {session.stiff_by}"
        elif steps >= LONG_STEPS and steps * abs(end - start) > VERY_LONG * done:
            told = f"the motion asks for steps of about {done / steps:.2g} s at this accuracy"
            remedy = f"end the run earlier or raise rtol; what is fast, damped and need not be seen is stepped over by {session.stiff_by}"
        else:
            self.to_tell = LONG_STEPS if steps < LONG_STEPS else None
            return
        self.to_tell = None
        about = f"; at this pace it takes {steps * abs(end - start) / done:.2g}" if done > 0.0 else ""
        warnings.warn(
            f"{steps} steps have reached t = {session.clock.t:.4g} of {end:.4g} s{about}: {told}; {remedy}",
            RuntimeWarning,
            stacklevel=outside(),
        )


def explain(session: Session, reason: int, method: Method) -> tuple[str, str]:
    """Return status and message for the reason that ended the march."""
    clock, count = session.clock, session.count
    if session.error is not None:
        return "failed", str(session.error)
    hint = stiffness(count.stiff, method, session.stiff_by)
    if reason in (0, fr.FINISHED):
        return ("finished" if reason else "interrupted"), hint
    t, bad_t = clock.t, clock.t_bad
    if reason == fr.TERMINAL:
        return "event", f"terminal event '{session.records[-1].name}' at t = {t:.12g} s. {hint}".rstrip()
    if reason == fr.EXHAUSTED:
        advice = hint or "raise max_steps or go on from `restart`"
        return "max_steps", f"{count.steps} steps reached t = {t:.9g} s only; {advice}"
    remedy = hint or (
        "a discontinuity without an event, or tolerances too tight"
        if method.stiff
        else f"stiff? try {session.stiff_by}; or a singularity, or tolerances too tight"
    )
    if reason == fr.NOT_RENEWED:
        assert session.memories is not None
        return "failed", not_renewed(session.memories.record.log, session.memories.names, bad_t)
    messages = {
        fr.RHS_FAILED: f"the right-hand side returned status {count.bad_status} at t = {bad_t:.9g} s",
        fr.NOT_FINITE: f"component {count.bad} of the right-hand side is not finite at t = {bad_t:.9g} s; "
        "look for a division by zero, a root or a logarithm of a negative number in that law",
        fr.UNDERFLOW: f"the step size fell below rounding at t = {t:.9g} s: {remedy}",
        fr.JAC_FAILED: f"the Jacobian returned status {count.bad_status} or is not finite at t = {bad_t:.9g} s",
        fr.SINGULAR: f"the iteration matrix stays singular at t = {t:.9g} s: {remedy}",
        fr.NO_CONVERGENCE: f"Newton does not converge at t = {t:.9g} s at any step: check the Jacobian, or {remedy}",
        fr.HOOK_FAILED: f"a guard, projection, output or action returned status {count.bad_status} at t = {bad_t:.9g} s",
        fr.GUARD_NAN: f"the guard of event '{session.events[count.bad].name if reason == fr.GUARD_NAN else ''}' is not a number "
        f"at t = {bad_t:.9g} s; make it one everywhere",
        fr.ZENO: "events accumulate: "
        f"'{session.records[-1].name if session.records else ''}' fires again and again at t = {t:.12g} s "
        "(Zeno); let its action put the system to rest, or make it terminal",
    }
    return "failed", messages[reason]
