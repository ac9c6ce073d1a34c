"""Given steps: a method goes from instant to instant of another run, whatever its error, so that what it gives is smooth in its parameters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jourdain.errors import InputError
from jourdain.native.call import call
from jourdain.native.kernel import kernel
from jourdain.solvers import METHODS
from jourdain.solvers.ode.frame import EPS, view
from jourdain.solvers.ode.method import Method
from jourdain.solvers.ode.session import Session

#: Methods whose steps depend on more than where they end: orders and Newton iterations that follow the error.
FOLLOW_THEIR_ERROR = ("adams", "radau")


@kernel
def step(address: int) -> int:
    """Take a step of the method to the next given instant, or to T_BOUND where that comes first (an event, the end)."""
    frame, clock, _ = view(address)
    instants, n = frame.instants, len(frame.instants)
    t, way, bound = clock.t, clock.direction, clock.t_bound
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if (instants[middle] - t) * way > 4.0 * EPS * abs(t):
            high = middle
        else:
            low = middle + 1
    if low < n and (bound - instants[low]) * way > 0.0:
        clock.t_bound = instants[low]
    clock.h = clock.t_bound - t
    status = call(frame.given_step, frame)
    clock.t_bound = bound
    return status


def given_steps(method: Method, steps: ArrayLike, t0: float, t1: float) -> NDArray[np.float64]:
    """The instants after t0 to which a run steps; they end with t1."""
    if method.name in FOLLOW_THEIR_ERROR:
        others = ", ".join(name for name in METHODS if name not in FOLLOW_THEIR_ERROR)
        raise InputError(
            f"steps: method '{method.name}' cannot take given steps, its orders or iterations follow its error; use one of {others}"
        )
    found = np.array(steps, dtype=np.float64).ravel()
    way, slack = np.sign(t1 - t0), 1e-12 * max(abs(t0), abs(t1))
    if found.size < 2 or not np.isfinite(found).all() or (way * np.diff(found) < 0).any():
        raise InputError(f"steps: {found.size} instants must be finite, at least two, and in the order in which they are reached")
    if way * (found[0] - t0) > slack or way * (found[-1] - t1) < -slack:
        raise InputError(f"steps: instants from {found[0]:g} to {found[-1]:g} s do not cover the run from {t0:g} to {t1:g} s")
    inside = found[(way * (found - t0) > slack) & (way * (t1 - found) > slack)]
    return np.append(inside, t1)


def follow(session: Session, instants: NDArray[np.float64]) -> None:
    """Let a session take given steps; no error refuses them."""
    session.tol[1:] = np.inf
    session.clock.h = float(instants[0]) - session.clock.t
    session.kept.append(instants)
    session.frame.given_step, session.frame.step = session.frame.step, step.address
    session.frame.instants = instants
