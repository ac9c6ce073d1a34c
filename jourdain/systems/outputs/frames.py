"""Motion of frames and readings of sensors along a solution, computed when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from ...results.frames import FrameMotion
from ...symbolic.expr import Expr
from ...symbolic.graph import evaluate
from .reactions import constrained_accelerations

if TYPE_CHECKING:
    from ...model.bodies import Frame
    from ...results.solution import Solution
    from .solution import StateTable


class FrameProvider:
    """Motion of any frame, or of a sensor's frame as seen from its reference, along a solution."""

    def __init__(self, table: StateTable) -> None:
        self.table = table

    def knows(self, path: str) -> bool:
        """Whether there is a sensor, body or frame of that path."""
        model = self.table.system.model
        if path in model.sensors:
            return True
        try:
            model.frame(path)
        except ModelError:
            return False
        return True

    def paths(self) -> list[str]:
        """Bodies, their frames, and sensors that were declared as such."""
        model = self.table.system.model
        bodies = [p for b in model.bodies.values() for p in (b.name, *(f.path for f in b.frames.values()))]
        return [*bodies, *(n for n in model.sensors if not n.endswith(".sensor"))]

    def __call__(self, path: str) -> FrameMotion:
        """Position, rotation, velocity and angular velocity at all times."""
        return self._motion(path, False)

    def accelerated(self, path: str) -> FrameMotion:
        """The same with accelerations."""
        return self._motion(path, True)

    def _motion(self, path: str, accelerated: bool) -> FrameMotion:
        model = self.table.system.model
        sensor = model.sensors.get(path)
        if sensor is None:
            return self.table.then(self._absolute)(path, accelerated)
        frame, reference = (self.table.then(self._of)(f, accelerated) for f in (sensor.frame, sensor.reference))
        return relative(frame, reference)

    def _of(self, frame: Frame, accelerated: bool) -> FrameMotion:
        """The motion of a frame that may have no name: by the one from which it is displaced."""
        if frame.name is not None or frame.base is None:
            return self._absolute(frame.path, accelerated)
        base, step, _ = frame.base
        turn = base.rotation.T @ frame.rotation
        s = self.table.system
        known: dict[Expr, Any] = dict(zip(s.equations_of_motion.p, s.parameter_vector, strict=True))
        numbers = np.array(evaluate([*step, *(e for row in turn.rows for e in row)], known), dtype=float)
        return displaced(self._of(base, accelerated), numbers[:3], numbers[3:].reshape(3, 3))

    def _absolute(self, path: str, accelerated: bool) -> FrameMotion:
        s, rows, t, u = self.table.system, self.table.rows, self.table.t, self.table.inputs
        f = s.function("frame", path=path)
        a = constrained_accelerations(s, t, rows, u)[0] if accelerated and s.nv else np.zeros(s.nv)
        extra = {"t": t[:, None], "z": rows[:, s.nq + s.nv :], "u": u}
        p, R, v, rate, *_ = f(rows[:, : s.nq], rows[:, s.nq : s.nq + s.nv], a, *(extra[n] for n in list(f.inputs)[3:]))
        p, R, v, rate = (np.broadcast_to(x, (len(t), *x.shape[-k:])) for x, k in ((p, 1), (R, 2), (v, 1), (rate, 1)))
        accelerations = (rate[:, :3], rate[:, 3:]) if accelerated else (None, None)
        return FrameMotion(p, R, v[:, :3], v[:, 3:], *accelerations)

    def rebind(self, solution: Solution) -> FrameProvider:
        """The same for another table of states (after resampling)."""
        from .solution import StateTable

        s = self.table.system
        names = [*s.coordinate_names, *s.velocity_names, *s.model.states]
        rows = np.column_stack([solution[n] for n in names]) if names else np.zeros((len(solution.t), 0))
        table = StateTable(s, solution.t, rows, self.table.inputs_at)
        table.then = self.table.then
        return FrameProvider(table)


def displaced(base: FrameMotion, step: np.ndarray, turn: np.ndarray) -> FrameMotion:
    """The motion of a frame fixed on another one, ``step`` (m) away along its axes and turned."""
    assert base.velocity is not None and base.angular_velocity is not None
    r, w = base.rotation @ step, base.angular_velocity
    acceleration = base.acceleration
    if acceleration is not None:
        assert base.angular_acceleration is not None
        acceleration = acceleration + np.cross(base.angular_acceleration, r) + np.cross(w, np.cross(w, r))
    return FrameMotion(base.position + r, base.rotation @ turn, base.velocity + np.cross(w, r), w, acceleration, base.angular_acceleration)


def relative(frame: FrameMotion, reference: FrameMotion) -> FrameMotion:
    """The motion of a frame as seen from another one, in that one's axes: each quantity is the derivative of the components before it."""
    seen = lambda x: np.einsum("tji,tj->ti", reference.rotation, x)
    assert frame.velocity is not None and reference.velocity is not None
    assert frame.angular_velocity is not None and reference.angular_velocity is not None
    r, w = frame.position - reference.position, reference.angular_velocity
    v = frame.velocity - reference.velocity - np.cross(w, r)
    turning = frame.angular_velocity - w
    rotation = np.einsum("tji,tjk->tik", reference.rotation, frame.rotation)
    acceleration = angular_acceleration = None
    if frame.acceleration is not None and reference.acceleration is not None:
        assert frame.angular_acceleration is not None and reference.angular_acceleration is not None
        alpha = reference.angular_acceleration
        acceleration = seen(frame.acceleration - reference.acceleration - np.cross(alpha, r) - np.cross(w, np.cross(w, r) + 2.0 * v))
        angular_acceleration = seen(frame.angular_acceleration - alpha - np.cross(w, turning))
    return FrameMotion(seen(r), rotation, seen(v), seen(turning), acceleration, angular_acceleration)


__all__ = ["FrameProvider", "displaced", "relative"]
