"""Dynamics and kinematics of every example robot, fixed and free, against Pinocchio."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jourdain.formalisms.equations import Equations
from jourdain.formalisms.functions.registry import derive
from jourdain.io import read_urdf
from jourdain.symbolic.graph import evaluate
from tests.io.robots import robot_files

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.peers


def name(path: Path) -> str:
    return f"{path.parent.parent.name.removesuffix('_description')}-{path.stem}"


class Translation:
    """States of ours in Pinocchio's layout: order of joints, quaternion scalar last, base velocity in child axes."""

    def __init__(self, eq: Equations, theirs: Any, q: np.ndarray, base: str) -> None:
        self.q = np.zeros(theirs.nq)
        places = np.zeros(eq.tree.nv, dtype=int)
        i = j = 0
        for c in eq.tree.coordinates:
            joint_name = c.names[0].split(".orientation")[0].rsplit(".", 1)[0]
            if joint_name == "root":
                k = {"root.x": 0, "root.y": 1, "root.z": 2}.get(c.names[0], 3)
                self.q[k : k + len(c.q)] = np.roll(q[i : i + 4], -1) if k == 3 else q[i]
                places[j : j + len(c.v)] = np.arange(k, k + len(c.v))
            else:
                joint = theirs.joints[theirs.getJointId(joint_name)]
                self.q[joint.idx_q : joint.idx_q + joint.nq] = [q[i]] if joint.nq == 1 else [np.cos(q[i]), np.sin(q[i])]
                places[j] = joint.idx_v
            i, j = i + len(c.q), j + len(c.v)
        self.order = np.argsort(places)
        self.turn = np.eye(eq.tree.nv)
        self.free = base == "free"
        if self.free:
            self.turn[:3, :3] = pin.Quaternion(self.q[3:7]).matrix().T

    def velocity(self, v: np.ndarray) -> np.ndarray:
        return self.turn @ v[self.order]

    def acceleration(self, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        a_pin = self.turn @ a[self.order]
        if self.free:
            v_pin = self.velocity(v)
            a_pin[:3] -= np.cross(v_pin[3:6], v_pin[:3])
        return a_pin

    def force(self, tau: np.ndarray) -> np.ndarray:
        """Ours (in Pinocchio's order) from theirs."""
        return self.turn.T @ tau


@pytest.mark.parametrize("path", robot_files(), ids=name)
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_every_robot(path: Path, base: str, rng: np.random.Generator) -> None:
    ours = read_urdf(path, base=base, meshes=False, mimic=False)
    theirs = pin.buildModelFromUrdf(str(path), *((pin.JointModelFreeFlyer(),) if base == "free" else ()))
    eq = Equations(ours)
    assert eq.tree.nv == theirs.nv
    if theirs.nv == 0:
        return
    data = theirs.createData()
    q = rng.uniform(-1.0, 1.0, len(eq.q))
    if base == "free":
        q[3:7] /= np.linalg.norm(q[3:7])
    v, a = rng.normal(size=eq.tree.nv), rng.normal(size=eq.tree.nv)
    to = Translation(eq, theirs, q, base)
    values = {
        **dict(zip(eq.q, q, strict=True)), **dict(zip(eq.v, v, strict=True)), **dict(zip(eq.a, a, strict=True)),
        **dict(zip(eq.p, ours.parameter_set.values(), strict=True)),
    }  # fmt: skip
    q_pin, v_pin, a_pin = to.q, to.velocity(v), to.acceleration(v, a)

    phi = np.array(evaluate(derive(eq, "inverse_dynamics").expressions, values))
    tau = to.force(pin.rnea(theirs, data, q_pin, v_pin, a_pin))
    scale = np.abs(tau).max() + 1e-9
    np.testing.assert_allclose(phi[to.order], tau, atol=1e-10 * scale)

    n = eq.tree.nv
    M = np.array(evaluate(derive(eq, "mass_matrix").expressions, values)).reshape(n, n)[np.ix_(to.order, to.order)]
    M_pin = pin.crba(theirs, data, q_pin)
    M_pin = to.turn.T @ (np.triu(M_pin) + np.triu(M_pin, 1).T) @ to.turn
    np.testing.assert_allclose(M, M_pin, atol=1e-10 * (np.abs(M_pin).max() + 1e-9))

    c = np.array(evaluate(derive(eq, "bias").expressions, values))[to.order]
    zero = to.acceleration(v, np.zeros(n))
    np.testing.assert_allclose(c, to.force(pin.rnea(theirs, data, q_pin, v_pin, zero)), atol=1e-10 * scale)

    if np.linalg.cond(M_pin) < 1e8:
        f = derive(eq, "forward_dynamics")
        forces = dict(zip(f.inputs[2].symbols, phi, strict=True))
        got = np.array(evaluate(f.expressions, {**values, **forces}))
        np.testing.assert_allclose(got, a, atol=1e-9 * np.linalg.cond(M_pin) ** 0.5)

    moving = [f for f in theirs.frames if f.type == pin.FrameType.BODY and f.name in ours.bodies][-3:]
    pin.forwardKinematics(theirs, data, q_pin, v_pin, a_pin)
    pin.computeJointJacobians(theirs, data, q_pin)
    pin.updateFramePlacements(theirs, data)
    aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    for frame in moving:
        index = theirs.getFrameId(frame.name, pin.FrameType.BODY)
        f = derive(eq, "frame", path=frame.name)
        flat = np.array(evaluate(f.expressions, values))
        p, R, velocity, acceleration = flat[:3], flat[3:12].reshape(3, 3), flat[12:18], flat[18:24]
        J = flat[24 : 24 + 6 * n].reshape(6, n)
        np.testing.assert_allclose(p, data.oMf[index].translation, atol=1e-10)
        np.testing.assert_allclose(R, data.oMf[index].rotation, atol=1e-10)
        np.testing.assert_allclose(
            velocity, pin.getFrameVelocity(theirs, data, index, aligned).vector, atol=1e-10 * (1 + np.abs(velocity).max())
        )
        classical = pin.getFrameClassicalAcceleration(theirs, data, index, aligned).vector
        np.testing.assert_allclose(acceleration, classical, atol=1e-10 * (1 + np.abs(classical).max()))
        J_pin = pin.getFrameJacobian(theirs, data, index, aligned) @ to.turn
        np.testing.assert_allclose(J[:, to.order], J_pin, atol=1e-10 * (1 + np.abs(J_pin).max()))
