"""Why a simulation failed: which law gave no number, which body or joint has no inertia, where a mechanism locks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ..model.elastic.bending import flexible_bodies
from ..solvers import STIFF_BY
from ..solvers.ode.trajectory import Trajectory
from ..symbolic.graph import evaluate

if TYPE_CHECKING:
    from .dynamics import Dynamics
    from .inputs import Inputs
    from .tree.projected import NativeSystem

#: How far beyond the last good state, in units of the failed look-ahead, laws are tried.
LOOK_AHEAD = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)

#: A state beyond this is no motion but a numerical instability.
BLOWN_UP = 1e30


def explain_failure(native: NativeSystem, trajectory: Trajectory, inputs: Inputs, step: float = 0.0, stiff_by: str = STIFF_BY) -> str:
    """The solver's message in the words of the model, with the cause when it can be found."""
    system = native.system
    message = named(system, trajectory.message)
    t, x = trajectory.restart.t, trajectory.restart.x[: native.n]
    if "returned status 3" in message:
        return lock_up(system, t, x)
    if "not finite" in message and np.abs(x).max() > BLOWN_UP:
        return f"{message.split(';')[0]}: the motion grew without bounds, as a stiff system does when the step is too long; use {stiff_by}, or a smaller step"
    cause = singular_mass(system, t, x, native._parameters)
    if cause is None:
        cause = bad_law(native, inputs, t, x, max(_time_of(trajectory.message, t), t + step))
    if cause is None and "status 2" in message:
        cause = "the mechanism locks there: its constraints leave a motion without inertia"
    return f"{message}: {cause}" if cause else message


def lock_up(system: Dynamics, t: float, x: np.ndarray) -> str:
    """Where and in which joint the loops can no longer be closed."""
    v = x[system.nq : system.nq + system.nv]
    joint = system.velocity_names[int(np.argmax(np.abs(v)))].removesuffix("_rate")
    return (
        f"the loops cannot be kept closed at t = {t:.9g} s: the mechanism locks at a dead point, where '{joint}' would have to jump "
        f"({_state_text(system, x)}); drive or start it so that it does not get there"
    )


def named(system: Dynamics, message: str) -> str:
    """The solver's message with state numbers replaced by names."""
    names = system.coordinate_names + system.velocity_names + list(system.model.states)
    for i, name in reversed(list(enumerate(names))):
        message = message.replace(f"component {i} ", f"'{name}' ")
    return message


def _time_of(message: str, default: float) -> float:
    found = re.search(r"t = (-?[\d.]+(?:e[-+]?\d+)?) s", message)
    return float(found[1]) if found else default


def bad_law(native: NativeSystem, inputs: Inputs, t: float, x: np.ndarray, bad: float) -> str | None:
    """The first law that has no finite value near the failure, with its name, time and value."""
    system = native.system
    eq = system.equations_of_motion
    laws = {f"law '{name}'": list(load.laws) for name, load in eq.model.loads.items()}
    laws |= {f"rate of state '{n}'": [s.rate] for n, s in eq.model.states.items() if s.rate is not None}
    laws |= {f"constraint '{row.name}'": [row.expression] for row in eq.rows}
    flat = eq.resolve([e for group in laws.values() for e in group])
    slopes = np.zeros(native.n)
    if native.rhs(t, np.ascontiguousarray(x), slopes) != 0 or not np.isfinite(slopes).all():
        slopes[:] = 0.0
        slopes[: system.nq] = system.configuration.rate(x[: system.nq], x[system.nq : system.nq + system.nv])
    ahead = bad - t if bad > t else max(1e-6, 1e-9 * abs(t))
    for part in LOOK_AHEAD:
        now, state = t + part * ahead, x + part * ahead * slopes
        values = dict(zip((*eq.q, *eq.v, *eq.z), state, strict=True)) | dict(zip(eq.p, native.parameters, strict=True)) | {eq.t: now}
        values |= dict(zip(eq.u, inputs.at(np.array([now]), state[None, :])[0], strict=True))
        with np.errstate(all="ignore"):
            numbers = [float(e) for e in evaluate(flat, values, check=False)]
        at = 0
        for name, group in laws.items():
            found = numbers[at : at + len(group)]
            at += len(group)
            wrong = [value for value in found if not np.isfinite(value)]
            if wrong:
                return f"{name} gives {wrong[0]} at t = {now:.9g} s with {_state_text(system, state)}"
    return None


def _state_text(system: Dynamics, x: np.ndarray) -> str:
    names = system.coordinate_names + system.velocity_names + list(system.model.states)
    shown = ", ".join(f"{n} = {value:.6g}" for n, value in list(zip(names, x, strict=True))[:8])
    return shown + (", …" if len(names) > 8 else "")


def allowed_inertia(M: np.ndarray, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a mass matrix on the motions (columns) that constraints J v = 0 allow, the smallest first."""
    _, sizes, rows = np.linalg.svd(np.vstack([J, np.zeros((1, M.shape[0]))]))
    rank = int((sizes > 1e-9 * max(1.0, sizes[0])).sum())
    Z = rows[rank:].T
    values, vectors = np.linalg.eigh(Z.T @ M @ Z) if Z.shape[1] else (np.zeros(0), np.zeros((0, 0)))
    return values, Z @ vectors


def singular_mass(system: Dynamics, t: float, x: np.ndarray, parameters: np.ndarray | None = None) -> str | None:
    """Names the joint that moves no mass, and its body, when the mass matrix (on the constraints) is singular."""
    if not system.nv:
        return None
    eq = system.equations_of_motion
    before = system.parameter_vector
    try:
        if parameters is not None:
            system.function("descriptor").set_parameters(parameters)
        M, _, J, *_ = system.function("descriptor")(np.array([t]), x, system.input_values())
    finally:
        if parameters is not None:
            system.function("descriptor").set_parameters(before)
    if not (np.isfinite(M).all() and np.isfinite(J).all()):
        return None
    values, vectors = allowed_inertia(M, J)
    if not len(values) or values[0] > 1e-13 * np.abs(M).max():
        return None
    for flexible in flexible_bodies(eq.model):
        told = flexible.overbent(np.array([x[system.coordinate_names.index(c.names[0])] for c in flexible.modes]))
        if told:
            return f"the mass matrix is not positive: {told}"
    motion = vectors[:, 0]
    index = int(np.argmax(np.abs(motion)))
    name = system.velocity_names[index]
    for joint in eq.model.joints.values():
        if any(name in c.velocity_names for c in joint.coordinates):
            body = joint.child.body
            return (
                f"the mass matrix is singular: joint '{joint.name}' moves body '{body.name}' without inertia "
                f"(its '{name}' meets no mass); give '{body.name}' mass or inertia, or lock the joint"
            )
    return f"the mass matrix is singular along '{name}'; give what moves there mass or inertia"
