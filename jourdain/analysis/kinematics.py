"""Kinematics: the motion of a mechanism whose drivers are given, through its constraints.

    h(q, t) = 0,   J v = −∂h/∂t,   J v̇ = −(J v)˙ at constant v      (Robotran manual, §5.6, eq. 60)

Positions by Newton's method from a prediction; where the mechanism locks the time, the position and the joint are reported.
Rolling and other constraints of velocities alone do not give positions: there q̇ = N v(q, t), with v from all constraints and the
drivers, is integrated from one time to the next, and loops are closed at each.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SolverError, short
from ..reals import reals
from ..shown import Shown
from ..systems.constraints import velocity_column
from ..systems.state import State
from ..systems.tree.partition import partition
from .assemble import close_positions
from .equations.drivers import Driver, driver
from .equations.residual import Point, Residual

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..results.solution import Solution
    from ..systems.system import System

#: Ratio of singular values of the constraints' Jacobian below which a position counts as a dead point.
DEAD = 1e-8
#: Relative and absolute tolerance of positions that follow from constrained velocities.
ROLLING = (1e-10, 1e-12)


@dataclass(frozen=True)
class DeadPoint:
    """A position at which the drivers do not determine the motion (the mechanism may branch or lock)."""

    t: float
    joint: str
    position: dict[str, float]


@dataclass(frozen=True)
class Motion(Shown):
    """Positions, velocities and accelerations at times, with the dead points that were met."""

    system: System = field(repr=False)
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    z: np.ndarray
    dead_points: list[DeadPoint] = field(default_factory=list)

    def __getitem__(self, name: str) -> np.ndarray:
        c = self.system.configuration
        if name in c.velocity_names:
            return np.asarray(self.v[:, c.velocity_names.index(name)])
        accelerations = [n.removesuffix("_rate") + "_acc" for n in c.velocity_names]
        if name in accelerations:
            return np.asarray(self.a[:, accelerations.index(name)])
        return np.asarray(self.q[:, c.index(name)])

    def state(self, index: int) -> State:
        """The state at one of the times."""
        return State(self.system, self.q[index], self.v[index], self.z, float(self.t[index]))

    @cached_property
    def solution(self) -> Solution:
        """The same as a solution with named channels (accelerations end in ``_acc``)."""
        from ..results.channel import Channel
        from ..systems.outputs.solution import solution_of

        x = np.hstack([self.q, self.v, np.broadcast_to(self.z, (len(self.t), len(self.z)))])
        plain = solution_of(self.system, self.t, x, {"model": self.system.model.name, "method": "kinematics"})
        units = {"rad": "rad/s²", "m": "m/s²", "": "rad/s²"}
        extra, column = {}, 0
        for c in self.system.configuration.coordinates:
            for name in c.velocity_names:
                extra[name.removesuffix("_rate") + "_acc"] = Channel(self.a[:, column], units[c.unit], "acceleration")
                column += 1
        return plain.with_channels(**extra)

    def plot(self, *names: str, **options: Any) -> Figure:
        """Channels over time."""
        return self.solution.plot(*names, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """The motion as a file of results."""
        self.solution.save(path)

    def __str__(self) -> str:
        lines = [f"motion of {self.system.model.name}: {len(self.t)} times from {self.t[0]:g} to {self.t[-1]:g} s"]
        lines += [f"  dead point at t = {d.t:.6g} s (joint '{d.joint}')" for d in self.dead_points]
        return "\n".join(lines)


def kinematics(
    system: System,
    times: Any,
    motion: Mapping[str, Any] | None = None,
    x0: State | Mapping[str, Any] | None = None,
    guess: Mapping[str, Any] | None = None,
) -> Motion:
    """Motion at ``times`` with coordinates driven by ``motion`` (name → expression of time, function, values or constant).

    With rolling constraints the motion starts from the position of ``x0`` at the first time.  Prescribed joints of the model (``m.drive``) are taken as they are.  ``x0`` or ``guess`` says near which position the
    loops are to be closed at the first time.

    >>> import jourdain as jd
    >>> m = jd.Model("arm")
    >>> hinge = m.revolute("hinge", m.ground, m.body("arm", mass=1.0, com=(1, 0, 0)), axis="z")
    >>> found = m.compile().kinematics([0.0, 0.5], {"hinge": lambda t: 3.0 * t**2})
    >>> found["hinge.angle_rate"].tolist()
    [0.0, 3.0]
    """
    try:
        grid = np.atleast_1d(reals(times, "kinematics: the times"))
    except InputError as error:
        raise InputError(f"{error}; give times first, then the motion: kinematics(times, {{…}})") from None
    if grid.ndim != 1 or not len(grid) or np.any(np.diff(grid) <= 0):
        raise InputError("kinematics: the times must be a list of increasing numbers")
    for given, name in ((x0, "x0"), (guess, "guess")):
        if not isinstance(given, (State, Mapping, NoneType)):
            raise InputError(f"kinematics: {name} = {short(given)} must be values by name")
    start = x0 if isinstance(x0, State) else system.state({**(x0 or {}), **(guess or {})})
    drivers = {velocity_column(system, n): driver(system, n, given, grid) for n, given in (motion or {}).items()}
    march = _March(system, drivers, start, float(grid[-1] - grid[0]))
    point = march.first(start, float(grid[0]))
    points = [point]
    for t in grid[1:].tolist():
        point = march.advance(point, t)
        points.append(point)
    return Motion(
        system, grid, np.array([p.q for p in points]), np.array([p.v for p in points]), np.array([p.a for p in points]), start.z, march.dead
    )


class _March:
    """Steps from one position to the next."""

    def __init__(self, system: System, drivers: Mapping[int, Driver], start: State, span: float) -> None:
        self.system, self.drivers, self.span = system, drivers, max(span, 1e-300)
        self.residual = Residual(system)
        self.held = sorted(drivers)
        self.free = [j for j in range(system.nv) if j not in drivers]
        self.scalar = dict(zip(system.configuration._scalar_v.tolist(), system.configuration._scalar_q.tolist(), strict=True))
        self.dead: list[DeadPoint] = []
        self.rolls = len(system.equations_of_motion.rows) > system.equations_of_motion.holonomic

    def first(self, start: State, t: float) -> Point:
        """The position at the first time, and whether the drivers determine the motion."""
        point = self.residual.point(start).with_values(t=t)
        point = self._positioned(point, point.q, t)
        J = self.residual.jacobian(point)
        parts = partition(J, fixed=self.held)
        undetermined = [j for j in parts.independent if j not in self.drivers]
        if undetermined:
            names = ", ".join(self.system.velocity_names[j].removesuffix("_rate") for j in undetermined)
            raise InputError(
                f"kinematics '{self.system.model.name}': the drivers do not determine the motion; "
                f"{len(undetermined)} more must be given, for example of {names} (or the first position is a dead point)"
            )
        return self._rates(point, np.zeros(self.system.nv), np.zeros(self.system.nv))

    def advance(self, point: Point, t: float) -> Point:
        """The position at a later time, in smaller steps where the prediction is poor."""
        if self.rolls:
            return self._rolled(point, t)
        step, shortest = t - point.t, 1e-11 * self.span
        while True:
            target = t if point.t + 1.01 * step >= t else point.t + step
            found = self._step(point, target)
            if found is None:
                step = 0.5 * (target - point.t)
                if step < shortest:
                    raise SolverError(self._lockup(point))
            elif target >= t:
                return found
            else:
                point, step = found, 2.0 * step

    def _rolled(self, point: Point, t: float) -> Point:
        """The position at a later time where velocities are constrained: the velocities integrated, then the loops closed."""
        from scipy.integrate import solve_ivp

        c = self.system.configuration
        last = point

        def rates(time: float, q: np.ndarray) -> np.ndarray:
            nonlocal last
            driven = self._driven(c.normalise(q), time)
            last = self._rates(point.with_values(t=time, q=driven), last.v, last.a)
            return c.rate(last.q, last.v)

        run = solve_ivp(rates, (point.t, t), point.q, method="DOP853", rtol=ROLLING[0], atol=ROLLING[1])
        if not run.success:
            raise SolverError(self._lockup(last))
        found = self._positioned(point, c.normalise(run.y[:, -1]), t)
        return self._rates(found, last.v, last.a)

    def _step(self, point: Point, t: float) -> Point | None:
        dt = t - point.t
        move = dt * point.v + 0.5 * dt * dt * point.a
        predicted = self.system.configuration.integrate(point.q, move)
        try:
            found = self._positioned(point, predicted, t)
            off = np.abs(self.system.configuration.difference(predicted, found.q)).max(initial=0.0)
            if off > 0.05 + 0.1 * np.abs(move).max(initial=0.0) or not self._same_branch(point, found):
                return None
            rated = self._rates(found, point.v + dt * point.a, point.a)
        except SolverError:
            return None
        return rated

    def _same_branch(self, before: Point, after: Point) -> bool:
        """Whether no dead point lies between: the determinant of the dependent part keeps its sign."""
        if not self.free or (self.dead and self.dead[-1].t in (before.t, after.t)):
            return True
        parts = partition(self.residual.jacobian(before), fixed=self.held)
        if not parts.dependent:
            return True
        rows = np.ix_(parts.active, parts.dependent)
        signs = [np.linalg.slogdet(self.residual.jacobian(p)[rows])[0] for p in (before, after)]
        return bool(signs[0] * signs[1] > 0) or self._crossing_is_smooth(before, after)

    def _crossing_is_smooth(self, before: Point, after: Point) -> bool:
        """A dead point may be crossed where velocities stay as predicted (the motion goes straight on)."""
        dt = after.t - before.t
        rated = self._rates(after, before.v + dt * before.a, before.a)
        change = np.abs(rated.v - before.v - dt * before.a).max(initial=0.0)
        return bool(change <= 0.05 * (1e-9 + np.abs(before.v).max(initial=0.0)))

    def _positioned(self, point: Point, q: np.ndarray, t: float) -> Point:
        q, *_ = close_positions(self.system, self._driven(q, t), self.held, np.ones(self.system.nv), t)
        return point.with_values(t=t, q=q)

    def _driven(self, q: np.ndarray, t: float) -> np.ndarray:
        q = q.copy()
        for j, at in self.drivers.items():
            q[self.scalar[j]] = at(t)[0]
        return q

    def _rates(self, point: Point, v: np.ndarray, a: np.ndarray) -> Point:
        """Velocities and accelerations that keep the constraints, as near as possible to predicted ones."""
        v, a = v.copy(), a.copy()
        for j, at in self.drivers.items():
            _, v[j], a[j] = at(point.t)
        J = self.residual.jacobian(point)[:, self.free]
        if not J.size:
            return point.with_values(v=v, a=a)
        v[self.free] -= self._least(J, self.residual.values(point.with_values(v=v))["w"], point)
        a[self.free] -= self._least(J, self.residual.values(point.with_values(v=v, a=a))["g"], point)
        self._watch(point, J)
        return point.with_values(v=v, a=a)

    def _least(self, J: np.ndarray, error: np.ndarray, point: Point) -> np.ndarray:
        x = np.linalg.lstsq(J, error, rcond=DEAD)[0]
        if np.abs(J @ x - error).max() > 1e-6 * (1.0 + np.abs(error).max()):
            raise SolverError(self._lockup(point))
        return np.asarray(x)

    def _watch(self, point: Point, J: np.ndarray) -> None:
        s = np.linalg.svd(J, compute_uv=False)
        if len(s) and s[min(J.shape) - 1] < DEAD * s[0] and not any(d.t == point.t for d in self.dead):
            self.dead.append(DeadPoint(point.t, self._joint(J), self._position(point)))

    def _joint(self, J: np.ndarray) -> str:
        """The joint that moves most in the motion that the drivers do not determine."""
        _, _, vt = np.linalg.svd(J)
        name = self.system.velocity_names[self.free[int(np.argmax(np.abs(vt[-1])))]]
        return name.rsplit(".", 1)[0]

    def _position(self, point: Point) -> dict[str, float]:
        return dict(zip(self.system.coordinate_names, point.q.tolist(), strict=True))

    def _lockup(self, point: Point) -> str:
        J = self.residual.jacobian(point)[:, self.free]
        driven = ", ".join(f"{self.system.velocity_names[j].removesuffix('_rate')} = {point.q[self.scalar[j]]:.6g}" for j in self.held)
        joint = self._joint(J) if J.size else "none"
        where = ", ".join(f"{n} = {x:.6g}" for n, x in list(self._position(point).items())[:8])
        return (
            f"kinematics '{self.system.model.name}': the mechanism locks at t = {point.t:.9g} s ({driven or 'driven joints of the model'}): "
            f"joint '{joint}' is at a dead point; position {where}. Change the drivers, or drive another joint"
        )
