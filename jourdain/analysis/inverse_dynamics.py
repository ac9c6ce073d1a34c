"""Inverse dynamics along motions, and static forces: what actuators must supply, with loops and reactions.

    E τ + Jᵀλ = M v̇ + c − Q        projected on the free motions: Zᵀ E τ = Zᵀ(M v̇ + c − Q)      (Robotran manual, eqs. 57–59)

Actuators may sit in any joint or be inputs of the model.  More actuators than freedoms: the forces of least norm.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SolverError, short
from ..formalisms.functions.drive_forces import drive_force_names
from ..reals import reals
from ..shown import Shown
from ..systems.outputs.reactions import multiplier_channel
from ..systems.pushed import pushed_system, touches_rigidly
from ..systems.state import State
from ..systems.tree.partition import null_space
from .equations.balance import coordinate_label, coordinate_unit
from .equations.residual import Point, Residual, closed_state, least_multipliers
from .kinematics import Motion, kinematics
from .tables import File, bars, write_record
from .touching.pushes import ContactPushes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..results.solution import Solution
    from ..systems.system import System

#: Largest part of the needed force (relative) that may be left over before a motion counts as impossible.
LEFT_OVER = 1e-6


@dataclass(frozen=True)
class Actuator:
    """A joint's coordinate (index of its velocity) or an input of the model (index of the input)."""

    name: str
    index: int
    is_input: bool
    unit: str


@dataclass(frozen=True)
class ActuatorForces(Shown):
    """Forces of actuators and multipliers of constraints along a motion."""

    motion: Motion = field(repr=False)
    actuators: list[Actuator]
    #: (times, actuators): N, N m, or the unit of an input
    forces: np.ndarray
    multipliers: dict[str, np.ndarray]
    #: forces of the model's own drives and locks by name (N, N m)
    drive_forces: dict[str, np.ndarray]
    #: net forces of rigid contacts on bodies by ``contact.body.force`` (times, 3); of least norm where several would do
    contact_forces: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def t(self) -> np.ndarray:
        """Times, s."""
        return self.motion.t

    def __getitem__(self, name: str) -> np.ndarray:
        for k, x in enumerate(self.actuators):
            if name in (x.name, x.name.rsplit(".", 1)[0]):
                return np.asarray(self.forces[:, k])
        for table in (self.multipliers, self.drive_forces, self.contact_forces):
            if name in table:
                return table[name]
        known = ", ".join([*(x.name for x in self.actuators), *self.multipliers, *self.drive_forces, *self.contact_forces])
        raise InputError(f"there is no actuator, multiplier or drive '{name}'; there are {known}")

    @property
    def power(self) -> np.ndarray:
        """Power of each joint actuator, W (an input has none of its own: nan)."""
        columns = [
            np.full(len(self.t), np.nan) if x.is_input else self.forces[:, k] * self.motion.v[:, x.index]
            for k, x in enumerate(self.actuators)
        ]
        return np.column_stack(columns) if columns else np.zeros((len(self.t), 0))

    @property
    def solution(self) -> Solution:
        """The motion with the forces as channels ``name.actuator``, ``row.multiplier`` and ``joint.drive_force``."""
        from ..results.channel import Channel

        extra = {f"{x.name}.actuator": Channel(self.forces[:, k], x.unit, "actuator") for k, x in enumerate(self.actuators)}
        extra |= {multiplier_channel(n): Channel(x, "", "multiplier") for n, x in self.multipliers.items()}
        units = dict(drive_force_names(self.motion.system.equations_of_motion))
        extra |= {n: Channel(x, units[n], "force that keeps the prescribed motion") for n, x in self.drive_forces.items()}
        extra |= {n: Channel(x, "N", "contact force") for n, x in self.contact_forces.items()}
        return self.motion.solution.with_channels(**extra)

    def plot(self, **options: Any) -> Figure:
        """Actuator forces over time."""
        return self.solution.plot(*(f"{x.name}.actuator" for x in self.actuators), **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Motion, forces and multipliers as a file of results."""
        self.solution.save(path)

    def __str__(self) -> str:
        lines = [f"actuator forces of {self.motion.system.model.name} over {len(self.t)} times (largest size, root of mean square)"]
        width = max((len(x.name) for x in self.actuators), default=1)
        for k, x in enumerate(self.actuators):
            f = self.forces[:, k]
            lines.append(f"  {x.name:<{width}} {np.abs(f).max():.6g}  {np.sqrt(np.mean(f**2)):.6g} {x.unit}")
        lines += [f"  {n} {np.abs(f).max():.6g}  {np.sqrt(np.mean(f**2)):.6g}  (drive)" for n, f in self.drive_forces.items()]
        for n, f in self.contact_forces.items():
            size = np.linalg.norm(f, axis=1)
            lines.append(f"  {n} {size.max():.6g}  {np.sqrt(np.mean(size**2)):.6g} N (contact)")
        return "\n".join(lines)


@dataclass(frozen=True)
class StaticForces(Shown):
    """Forces that hold a state at rest, and the multipliers of the constraints there."""

    state: State
    actuators: dict[str, float]
    units: dict[str, str]
    multipliers: dict[str, float]
    #: forces of the model's own drives and locks (N, N m)
    drive_forces: dict[str, float]
    #: loads of the model (springs, gravity not included) projected on the coordinates
    loads: dict[str, float]
    #: net forces (N) of rigid contacts on bodies by ``contact.body.force``; of least norm where several would do
    contact_forces: dict[str, np.ndarray] = field(default_factory=dict)

    def __getitem__(self, name: str) -> float:
        if name in self.drive_forces:
            return self.drive_forces[name]
        for key, value in {**self.multipliers, **self.actuators}.items():
            if name in (key, key.rsplit(".", 1)[0]):
                return value
        known = ", ".join([*self.actuators, *self.multipliers, *self.drive_forces])
        raise InputError(f"there is no actuator, multiplier or drive '{name}'; there are {known}")

    def plot(self, file: File | None = None, show: bool = False) -> Figure:
        """Actuator forces and forces of drives as bars."""
        return bars({**self.actuators, **self.drive_forces}, "force [N] or torque [N m]", file, show)

    def save(self, path: File) -> None:
        """Position, forces, multipliers and loads as JSON."""
        position = dict(zip(self.state.system.coordinate_names, self.state.q.tolist(), strict=True))
        tables = {"actuators": self.actuators, "units": self.units, "drive_forces": self.drive_forces, "loads": self.loads}
        tables["contact_forces"] = {n: f.tolist() for n, f in self.contact_forces.items()}
        write_record(path, {"model": self.state.system.model.name, "position": position, **tables, "multipliers": self.multipliers})

    def __str__(self) -> str:
        width = max((len(n) for n in [*self.actuators, *self.multipliers]), default=1)
        lines = [f"static forces of {self.state.system.model.name}"]
        lines += [f"  {n:<{width}} {x: .6g} {self.units[n]}" for n, x in self.actuators.items()]
        lines += [f"  {n:<{width}} {x: .6g}  (constraint)" for n, x in self.multipliers.items()]
        lines += [f"  {n:<{width}} {x: .6g}  (drive)" for n, x in self.drive_forces.items()]
        lines += [f"  {n} ({', '.join(f'{x:.6g}' for x in f)}) N (contact)" for n, f in self.contact_forces.items()]
        return "\n".join(lines)


def find_actuators(system: System, names: Sequence[str] | None) -> list[Actuator]:
    """Actuators by name; by default the model's inputs, or every joint where it has none."""
    if names is None:
        names = system.model.outer_inputs or held_columns(system)
    found = []
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"actuators hold {short(name)}; give names of inputs or joints")
        if name in system.model.inputs:
            system.check_inputs([name])
            item = system.model.inputs[name]
            found.append(Actuator(name, list(system.model.inputs).index(name), True, item.unit))
        else:
            j = _joint_column(system, name)
            found.append(Actuator(coordinate_label(system, j), j, False, "N" if coordinate_unit(system, j) == "m" else "N m"))
    if len({(x.index, x.is_input) for x in found}) < len(found):
        raise InputError("inverse dynamics: an actuator is named twice")
    return found


def held_columns(system: System) -> list[str]:
    """Coordinates at which joints may push: all, but for free joints where rigid contacts carry what they move."""
    names = [coordinate_label(system, j) for j in range(system.nv)]
    if not touches_rigidly(system.model):
        return names
    free = {n for joint in system.model.joints.values() if joint.kind == "free" for c in joint.coordinates for n in c.velocity_names}
    return [n for n, v in zip(names, system.velocity_names, strict=True) if v not in free]


def _joint_column(system: System, name: str) -> int:
    labels = [coordinate_label(system, j) for j in range(system.nv)]
    if name in labels:
        return labels.index(name)
    if name in system.velocity_names:
        return system.velocity_names.index(name)
    return system.configuration.index(name, labels, "actuated coordinate or input")


def inverse_dynamics_along(
    system: System,
    motion: Any,
    actuators: Sequence[str] | None = None,
    times: Any = None,
    x0: Any = None,
    inputs: Mapping[str, float] | None = None,
) -> ActuatorForces:
    """Actuator forces and multipliers for a motion.

    ``motion`` is a :class:`~jourdain.analysis.kinematics.Motion`, a solution, arrays (t, q, v, a), or drivers by coordinate
    (with ``times`` and a start ``x0``, see :func:`~jourdain.analysis.kinematics.kinematics`).  ``actuators`` name joints or inputs;
    more than the freedoms share the load with least norm, fewer are an error unless the motion needs no more.
    """
    path = as_motion(system, motion, times, x0)
    items = find_actuators(system, actuators)
    residual, pushes = Residual(pushed_system(system)), ContactPushes.of(system)
    u = inputs_along(system, motion, path, inputs)
    forces, multipliers = np.zeros((len(path.t), len(items))), np.zeros((len(path.t), len(residual.rows)))
    drives = np.zeros((len(path.t), residual.sizes["c"]))
    tau, touching = np.zeros(len(items)), dict[str, np.ndarray]()
    for k in range(len(path.t)):
        wide = np.r_[u[k], np.zeros(residual.system.nu - u.shape[1])]
        point = Point(float(path.t[k]), path.q[k], path.v[k], path.a[k], path.z, wide, np.zeros(len(residual.rows)))
        if pushes is not None:
            point = pushes.at(residual, point, items)
            for name, force in pushes.net().items():
                touching.setdefault(name, np.zeros((len(path.t), 3)))[k] = force
        tau, lam = needed_forces(residual, point, items, tau)
        forces[k], multipliers[k] = tau, lam
        drives[k] = list(residual.drive_forces(_acted_on(point, items, tau, lam)).values())
    rows = {n: multipliers[:, i] for i, n in enumerate(residual.rows)}
    names = [n for n, _ in drive_force_names(system.equations_of_motion)]
    return ActuatorForces(path, items, forces, rows, {n: drives[:, i] for i, n in enumerate(names)}, touching)


def inputs_along(system: System, motion: Any, path: Motion, inputs: Mapping[str, float] | None) -> np.ndarray:
    """Inputs at the instants of a motion, in rows: as given, memories as they were where the motion is a solution."""
    u = np.tile(system.input_values(inputs), (len(path.t), 1))
    for i, name in enumerate(system.model.inputs):
        if name in system.model.memories and hasattr(motion, "channel"):
            u[:, i] = motion[name]
    return u


def _acted_on(point: Point, items: Sequence[Actuator], tau: np.ndarray, lam: np.ndarray) -> Point:
    """The point with multipliers, and with the forces of actuators that are inputs."""
    u = point.u.copy()
    for x, force in zip(items, tau, strict=True):
        if x.is_input:
            u[x.index] = force
    return point.with_values(u=u, lam=lam)


def static_forces(
    system: System,
    state: State | Mapping[str, Any] | None = None,
    actuators: Sequence[str] | None = None,
    inputs: Mapping[str, float] | None = None,
) -> StaticForces:
    """Forces of actuators (every joint by default) that hold a state at rest, with the multipliers of the constraints."""
    start = closed_state(system, state)
    items = find_actuators(system, held_columns(system) if actuators is None else actuators)
    residual, pushes = Residual(pushed_system(system)), ContactPushes.of(system)
    own = system.inputs_at(start, inputs)
    rest = residual.point(start.with_values(v=np.zeros(system.nv)), np.r_[own, np.zeros(residual.system.nu - len(own))])
    if pushes is not None:
        rest = pushes.at(residual, rest, items)
    tau, lam = needed_forces(residual, rest, items, np.zeros(len(items)))
    f = system.function("loads")
    arrays = rest.arrays() | {"u": own}
    loads = f(*(arrays[n] for n in f.inputs))
    names = [x.name for x in items]
    return StaticForces(
        start.with_values(v=np.zeros(system.nv)),
        dict(zip(names, tau.tolist(), strict=True)),
        {x.name: x.unit for x in items},
        dict(zip(residual.rows, lam.tolist(), strict=True)),
        residual.drive_forces(_acted_on(rest, items, tau, lam)),
        {coordinate_label(system, j): float(loads[j]) for j in range(system.nv)},
        {} if pushes is None else pushes.net(),
    )


def needed_forces(residual: Residual, point: Point, items: Sequence[Actuator], start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Actuator forces of least norm and multipliers at a point; inputs may act nonlinearly (Newton from ``start``)."""
    system = residual.system
    J = residual.jacobian(point)
    Z = null_space(J)
    driven = [k for k, x in enumerate(items) if x.is_input]
    tau = np.array(start, dtype=float) if driven else np.zeros(len(items))
    for _ in range(20 if driven else 1):
        u = point.u.copy()
        u[[items[k].index for k in driven]] = tau[driven]
        at = point.with_values(u=u)
        need = residual.values(at)["r"]
        E = np.zeros((system.nv, len(items)))
        slope = residual.derivatives(at, "u")["ru"] if driven else None
        for k, x in enumerate(items):
            if slope is not None and x.is_input:
                E[:, k] = -slope[:, x.index]
            else:
                E[x.index, k] = 1.0
                need[x.index] -= tau[k]
        A, b = Z.T @ E, Z.T @ need
        # the whole force is of least norm, not its last correction
        total = np.linalg.lstsq(A, b + A @ tau, rcond=1e-10)[0] if len(items) else np.zeros(0)
        step = total - tau
        tau = total
        if np.abs(step).max(initial=0.0) <= 1e-13 * (1.0 + np.abs(tau).max(initial=0.0)):
            break
    left = b - A @ step
    limit = LEFT_OVER * (1.0 + np.abs(need).max(initial=0.0) + np.abs(tau).max(initial=0.0))
    if np.abs(left).max(initial=0.0) > limit:
        raise SolverError(underactuated(system, point, Z, A, left, items))
    return tau, least_multipliers(J, need - E @ step)


def underactuated(system: System, point: Point, Z: np.ndarray, A: np.ndarray, left: np.ndarray, items: Sequence[Actuator]) -> str:
    """What is wrong with a motion that actuators cannot bring about."""
    rank = int(np.linalg.matrix_rank(A)) if A.size else 0
    motion = Z @ left
    j = int(np.argmax(np.abs(motion)))
    names = ", ".join(x.name for x in items) or "none"
    return (
        f"inverse dynamics '{system.model.name}' at t = {point.t:g} s: under-actuated, the actuators ({names}) act on {rank} of {Z.shape[1]} degrees of "
        f"freedom and this motion needs a force of {np.linalg.norm(left):.4g} along '{coordinate_label(system, j)}' that none supplies; add an actuator"
    )


def as_motion(system: System, given: Any, times: Any = None, x0: Any = None) -> Motion:
    """A motion from what the user gave."""
    if isinstance(given, Motion):
        return given
    if isinstance(given, tuple) and len(given) == 4:
        t, q, v, a = (reals(x, f"inverse dynamics: {n}") for n, x in zip("tqva", given, strict=True))
        shapes = [(len(t), n) for n in (system.nq, system.nv, system.nv)]
        for name, x, shape in zip("qva", (q, v, a), shapes, strict=True):
            if x.shape != shape:
                raise InputError(f"inverse dynamics: {name} must have the shape {shape} (times, coordinates), got {x.shape}")
        return Motion(system, t, q, v, a, system.state().z)
    if hasattr(given, "channel"):
        return _from_solution(system, given)
    if isinstance(given, Mapping):
        if times is None:
            raise InputError("inverse dynamics: give times= with a motion by functions of time")
        return kinematics(system, times, given, x0)
    raise InputError(
        f"inverse dynamics: {type(given).__name__} is not a motion; give a Motion, a solution, (t, q, v, a), or functions of time with times="
    )


def _from_solution(system: System, solution: Solution) -> Motion:
    """Positions and velocities of a solution; accelerations from its channels, or else from a spline through the velocities."""
    from scipy.interpolate import make_interp_spline

    c = system.configuration
    q = np.column_stack([solution[n] for n in c.position_names]) if c.nq else np.zeros((len(solution.t), 0))
    v = np.column_stack([solution[n] for n in c.velocity_names]) if c.nv else np.zeros((len(solution.t), 0))
    names = [n.removesuffix("_rate") + "_acc" for n in c.velocity_names]
    if all(n in solution for n in names):
        a = np.column_stack([solution[n] for n in names])
    else:
        t, keep = np.unique(solution.t, return_index=True)
        a = make_interp_spline(t, v[keep], k=min(5, len(t) - 1)).derivative()(solution.t)
    z = np.array([solution[n][0] for n in system.model.states])
    return Motion(system, np.asarray(solution.t), q, v, a, z)
