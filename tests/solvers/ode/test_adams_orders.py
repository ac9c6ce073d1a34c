"""Orders of the Adams method (T5 of the hexapod's specification): one step from an exact past, whose error falls with h^(k+2) at order k; then step and order as it chooses them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import brentq

from jourdain.solvers import integrate
from jourdain.solvers.native_function import NativeFunction
from jourdain.solvers.ode.frame import Clock, Count
from jourdain.solvers.ode.methods.adams import PAST_ROOM, ROOM, History
from tests.solvers.native import native

Motion = Callable[[float], np.ndarray]
ECCENTRICITY = 0.4
DECAY = native("f[0]=-x[0]")
ORBIT = native("r=(x[0]**2+x[1]**2)**1.5\nf[0]=x[2]\nf[1]=x[3]\nf[2]=-x[0]/r\nf[3]=-x[1]/r")


def decay(t: float) -> np.ndarray:
    return np.array([np.exp(-t)])


def orbit(t: float) -> np.ndarray:
    """Kepler's ellipse of period 2π, by its equation E − e sin E = t."""
    e = ECCENTRICITY
    E = brentq(lambda E: E - e * np.sin(E) - t, t - 1.0, t + 1.0, xtol=1e-15)
    c, s, b = np.cos(E), np.sin(E), np.sqrt(1.0 - e * e)
    return np.array([c - e, b * s, -s / (1 - e * c), b * c / (1 - e * c)])


def slope_of(x: np.ndarray) -> np.ndarray:
    return -x if len(x) == 1 else np.array([x[2], x[3], *(-x[:2] / (x[0] ** 2 + x[1] ** 2) ** 1.5)])


def error_of_a_step(rhs: NativeFunction, motion: Motion, order: int, h: float, t: float) -> float:
    """The error after one step at a given order, the past being points of the exact motion at equal steps."""
    seed = integrate(rhs, (t - 1.0, t), motion(t - 1.0), "adams", rtol=1e-6, atol=1e-6).restart
    place = lambda record, name: list(record.__annotations__).index(name)
    number = lambda name: seed.part(name).view(np.float64)
    times, x = t - h * np.arange(PAST_ROOM)[::-1], motion(t)
    past = np.array([motion(s) for s in times])
    number("past_t")[:], number("past_x")[:] = times, past.ravel()
    number("past_f")[:] = np.concatenate([slope_of(p) for p in past])
    number("x")[:], number("f")[:], seed.x[:] = x, slope_of(x), x
    number("work")[len(x) * (ROOM + 1) :][:ROOM] = h * np.arange(ROOM)  # ψ of the steps before
    for name, value in (("order", order), ("last_order", order), ("equal", 0), ("starting", 0), ("newest", PAST_ROOM - 1)):
        seed.part("ints")[place(History, name)] = value
    for name, value in (("fresh", 0), ("past", PAST_ROOM), ("remapped", 1)):
        seed.part("count")[place(Count, name)] = value
    number("clock")[place(Clock, "h")], number("clock")[place(Clock, "h_used")] = h, 0.0
    run = integrate(rhs, (t, t + h), seed, "adams", rtol=0.9, atol=1e3)
    assert len(run.t) == 2
    return float(np.abs(run.x[-1] - motion(t + h)).max())


@pytest.mark.parametrize("order", range(1, 12))
def test_orders(order: int) -> None:
    """P_k E C_(k+1) E: the local error is of order k + 2; the order seen at 2h and h is extrapolated to h → 0."""
    cases: list[tuple[NativeFunction, Motion, tuple[float, ...], float]] = [(DECAY, decay, (0.4, 0.2, 0.1), 0.0)]
    if order <= 6:  # beyond, the error on the orbit is rounding before it is asymptotic
        cases.append((ORBIT, orbit, (0.12, 0.06, 0.03), 3.5))
    for rhs, motion, steps, t in cases:
        e = [error_of_a_step(rhs, motion, order, h, t) for h in steps]
        seen = np.log2(np.array(e[:-1]) / np.array(e[1:]))
        assert 2.0 * seen[1] - seen[0] == pytest.approx(order + 2, abs=0.3), (seen, e)


def test_step_and_order_follow_the_motion() -> None:
    """On an orbit of eccentricity 0.4 errors fall with the tolerance, and orders and steps go up and down; as the Runge–Kutta method of order 8."""
    ends, start = {}, orbit(0.0)
    for rtol in (1e-4, 1e-7, 1e-10):
        run = integrate(ORBIT, (0, 4 * np.pi), start, "adams", rtol=rtol, atol=rtol)
        ends[rtol] = np.abs(run.x[-1] - start).max()
        assert ends[rtol] < 1000 * rtol
    steps = np.diff(run.t)
    far = np.linalg.norm(run.x[1:, :2], axis=1) > 1.2
    assert np.median(steps[far]) > 1.5 * np.median(steps[~far]) and run.restart.part("ints")[0] >= 7
    other = integrate(ORBIT, (0, 4 * np.pi), start, "dop853", rtol=1e-12, atol=1e-12)
    assert np.abs(run.x[-1] - other.x[-1]).max() < 1000e-10
    low = integrate(ORBIT, (0, 4 * np.pi), start, "adams", rtol=1e-2, atol=1e-2)
    assert low.restart.part("ints")[0] < run.restart.part("ints")[0]
