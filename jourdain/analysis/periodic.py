"""A motion that repeats itself: the start from which all independent coordinates come back after a period, by shooting."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SolverError, short
from ..model.values import instant
from ..shown import Shown
from ..systems.modes import mode_names
from ..systems.pushed import touches_rigidly
from ..systems.state import State
from .equations.closed_states import ClosedStates, slopes
from .touching.resting import along_contacts

if TYPE_CHECKING:
    from ..systems.system import System

ITERATIONS = 12
#: Methods of contacts in fixed steps.
STEPPED = ("moreau", "nonsmooth-generalized-alpha")
#: Differences for slopes, as part of the size of the motion; the largest gap after a period, as part of it.
DIFFERENCE, GAP = 1e-3, 1e-8


@dataclass(frozen=True)
class PeriodicMotion(Shown):
    """Where a periodic motion starts, its period and its Floquet multipliers: it attracts its neighbours where all are less than one."""

    state: State
    period: float
    gap: float  #: what is left after a period, as part of the motion's size
    multipliers: np.ndarray = field(repr=False)
    names: tuple[str, ...] = ()  #: independent velocities

    @property
    def stable(self) -> bool:
        """Whether no multiplier is larger than one, as far as differences can tell (1e-3)."""
        return bool(np.abs(self.multipliers).max(initial=0.0) <= 1.001)

    def __str__(self) -> str:
        largest = np.abs(self.multipliers).max(initial=0.0)
        return f"period {self.period:g} s, closed to {self.gap:.1e}; largest Floquet multiplier {largest:.6f}"


def periodic(system: System, state: Any = None, period: Any = None, rtol: float = 1e-10, **options: Any) -> PeriodicMotion:
    """The start near a state from which the motion repeats itself after ``period`` seconds, such as that of the drives.

    All independent coordinates and velocities are sought (modes of flexible bodies and free joints); further options are those of ``simulate``.  Rigid
    contacts that rest closed at the start stay so: what is sought moves along them.  They hold a set of starts where friction sticks, and the one next to the
    given state is told then.
    """
    what = f"periodic '{system.model.name}'"
    period = instant(period, f"{what}: period")
    if not (isinstance(period, int | float | np.number) and 0 < period <= sys.float_info.max):
        raise InputError(f"{what}: period = {short(period)} must be a positive number of seconds, such as that of the drives")
    given = system.state(state)
    if options.get("method") in STEPPED:
        raise InputError(
            f"{what}: method '{options['method']}' puts impacts on its grid of steps, so that a motion repeats no better than that; leave method= out, which goes "
            "from event to event"
        )
    options = {"rtol": rtol, "atol": 0.01 * rtol} | options
    states = ClosedStates(system, given, [f"{n}_rate" for n in mode_names(system.model)], what)
    n, c = len(states.columns), system.reference.configuration
    if not n:
        raise InputError(f"{what}: every coordinate is driven, so that there is nothing to seek")

    rigid = touches_rigidly(system.model)
    along = along_contacts(system.reference, given)[states.columns] if rigid else np.eye(n)
    along, n = np.linalg.qr(along)[0], along.shape[1]
    kept = given.v[states.columns] - along @ (along.T @ given.v[states.columns])

    def at(y: np.ndarray) -> State:
        return states.at(along @ y[:n], kept + along @ y[n:])

    def gap(y: np.ndarray) -> np.ndarray:
        start = at(y)
        end = system.simulate(start, t=float(period), times=[given.t, given.t + float(period)], **options).final_state()
        left = c.difference(start.q, end.q)[states.columns], (end.v - start.v)[states.columns]
        return np.concatenate([x @ along for x in left])

    y = np.concatenate([np.zeros(n), given.v[states.columns] @ along])
    left = gap(y)
    pace = 2.0 * np.pi / period
    size = max(float(np.abs(x).max()) for x in (left[:n], left[n:] / pace, y[n:] / pace, np.array([1e-9])))
    scale = np.concatenate([np.full(n, size), np.full(n, size * pace)])
    for _ in range(ITERATIONS):
        if np.abs(left / scale).max() <= GAP:
            break
        J = slopes(gap, y, left, DIFFERENCE * scale)
        step, _, rank, _ = np.linalg.lstsq(J / scale[:, None] * scale, left / scale, rcond=1e-10)
        if rank < 2 * n and not rigid:
            raise SolverError(
                f"{what}: after {period:g} s a motion comes back whatever its start, or grows in proportion to it: the period is a multiple of that "
                "of a vibration without damping; change the period, or give the body damping"
            )
        y = y - step * scale
        left = gap(y)
    closed = float(np.abs(left / scale).max())
    if closed > GAP:
        raise SolverError(f"{what}: no start is found from which the motion repeats after {period:g} s (a gap of {closed:.2g} is left)")
    multipliers = np.linalg.eigvals(slopes(gap, y, left, DIFFERENCE * scale) + np.eye(2 * n))
    start = at(y)
    _check_repeats(system, start, float(period), what)
    return PeriodicMotion(start, float(period), closed, multipliers, tuple(states.names))


def _check_repeats(system: System, start: State, period: float, what: str) -> None:
    """Refuses a period that is not one of the drives and laws."""
    reference = system.reference
    later = start.with_values(t=start.t + period)
    if reference.equations_of_motion.holonomic:
        h, _ = reference.function("constraints")(np.array([later.t]), later.q)
        if np.abs(h).max(initial=0.0) > 1e-7:
            raise SolverError(
                f"{what}: after {period:g} s the drives or loops are elsewhere than at the start; {period:g} s is not their period"
            )
    a, b = reference.accelerations(start), reference.accelerations(later)
    if np.abs(a - b).max(initial=0.0) > 1e-5 * max(1.0, float(np.abs(a).max(initial=0.0))):
        raise SolverError(
            f"{what}: after {period:g} s the drives and laws are not what they were at the start; {period:g} s is not their period"
        )


__all__ = ["PeriodicMotion", "periodic"]
