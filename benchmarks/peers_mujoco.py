"""Pendulum and chains in MuJoCo: hinges in minimal coordinates with every constraint, contact and sensor switched off.

The steps run inside the library (``mj_step`` with ``nstep``).  Closed loops are left out: its constraints are soft.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

Columns = dict[str, float]
_OFF = ("constraint", "equality", "frictionloss", "limit", "contact", "actuation", "warmstart", "sensor", "filterparent")


@dataclass
class MujocoModel:
    """A compiled model, its first joint angle at the start and what to read from (q, v) at the end."""

    model: Any
    data: Any
    angle: float
    end: float
    read: Callable[[np.ndarray, np.ndarray], Columns]
    form: str = "tree"

    def prepare(self, method: str, setting: float) -> tuple[Callable[[], Any], Callable[[], Columns]]:
        """The time loop alone with ``setting`` equal steps, and a reader of the final state."""
        steps = int(setting)
        integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{method.upper()}")

        def loop() -> None:
            self.model.opt.integrator, self.model.opt.timestep = integrator, self.end / steps
            mujoco.mj_resetData(self.model, self.data)
            self.data.qpos[0] = self.angle
            mujoco.mj_step(self.model, self.data, nstep=steps)

        return loop, lambda: self.read(self.data.qpos.copy(), self.data.qvel.copy())


def _chain(n: int, length: float, mass: float, com: float, inertia: float) -> Any:
    """n hinged links along −y; only the inertia about z matters in the plane."""
    bodies = "".join(
        f'<body pos="0 {-length if i else 0.0!r} 0"><joint type="hinge" axis="0 0 1"/>'
        f'<inertial pos="0 {-com!r} 0" mass="{mass!r}" diaginertia="{inertia!r} {inertia!r} {inertia!r}"/>'
        for i in range(n)
    )
    flags = " ".join(f'{name}="disable"' for name in _OFF)
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option gravity="0 -9.81 0"><flag {flags}/></option><worldbody>{bodies}{"</body>" * n}</worldbody></mujoco>'
    )


def pendulum() -> MujocoModel:
    """A01; the point mass has an inertia that is lost in rounding."""
    model = _chain(1, 1.0, 1.0, 1.0, 1e-14)

    def read(q: np.ndarray, v: np.ndarray) -> Columns:
        s, c = np.sin(q[0]), np.cos(q[0])
        return {"x": s, "y": -c, "vx": v[0] * c, "vy": v[0] * s}

    return MujocoModel(model, mujoco.MjData(model), -np.pi / 2, 10.0, read)


def chain(n: int, length: float, mass: float, angle: float, end: float) -> MujocoModel:
    """The chain of uniform rods, straight at the start."""
    model = _chain(n, length, mass, length / 2, mass * length**2 / 12)

    def read(q: np.ndarray, v: np.ndarray) -> Columns:
        angles, rates = np.cumsum(q), np.cumsum(v)
        return {f"angle{i}": x for i, x in enumerate(angles)} | {f"rate{i}": x for i, x in enumerate(rates)}

    return MujocoModel(model, mujoco.MjData(model), angle, end, read)
