"""S and R between joint and Cartesian velocities (spec 17, T1, T3): R S = I, and S is what velocities follow from."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain.symbolic.graph import evaluate
from tests.formalisms.flexible.clouds import chain, cloud

KINDS = ("revolute", "prismatic", "cylindrical", "helical", "universal", "planar", "spherical", "free", "fixed")


def every_joint() -> jd.Model:
    """Flexible bodies and rigid ones in turn, each joint once, some reached from their child."""
    rng = np.random.default_rng(5)
    m = jd.Model("every joint")
    before = m.ground.at(0.1, 0.2, 0.3)
    for i, kind in enumerate(KINDS):
        options = {"pitch": 0.3} if kind == "helical" else {"orientation": "xyz"} if kind in ("spherical", "free") else {}
        if i % 3 == 1:
            body = m.flexible_body(f"b{i}", cloud(3, 2, rng)[0])
            here, there = body.node("n0"), body.node("n1")
        else:
            body = m.body(f"b{i}", mass=1.0, inertia=(1, 2, 3))
            here, there = body.at(*rng.normal(size=3), rotation=("x", 0.3)), body.at(*rng.normal(size=3))
        ends = (here, before) if kind == "universal" else (before, here)
        m.joint(kind, kind, *ends, **options)
        before = there
    return m


@pytest.mark.parametrize("model", [every_joint, lambda: chain(3)[0]], ids=["every joint", "clouds"])
def test_17_T1_velocities_go_to_and_fro(model: object) -> None:
    s = model().compile()  # type: ignore[operator]
    rng = np.random.default_rng(2)
    q, v = 0.5 * rng.normal(size=s.nq), rng.normal(size=s.nv)
    c = s.configuration
    x = s.state(dict(zip(c.position_names, q, strict=True)), dict(zip(c.velocity_names, v, strict=True)))
    found = s.velocity_transformation(x)
    assert found.S.shape == (len(found.rows), len(found.columns)) and found.columns == tuple(c.velocity_names)
    np.testing.assert_allclose(found.R @ found.S, np.eye(s.nv), atol=1e-12)
    eq, rates = s.equations_of_motion, dict(zip(found.rows, found.S @ v, strict=True))
    known = dict(zip((*eq.q, *eq.v), (*x.q, *x.v), strict=True)) | dict(zip(eq.p, s.parameter_vector, strict=True))
    for body in s.model.bodies.values():
        expected = evaluate([*eq.kinematics.velocity(body), *eq.kinematics.angular_velocity(body)], known)
        np.testing.assert_allclose([rates[f"{body.name}.{k}"] for k in ("vx", "vy", "vz", "wx", "wy", "wz")], expected, atol=1e-11)
    assert all(rates[n] == v[i] for i, n in enumerate(found.columns) if ".mode" in n)


def test_17_T3_a_torque_at_a_joint_acts_on_two_bodies() -> None:
    s = chain(3)[0].compile()
    found = s.velocity_transformation()
    Q = np.zeros(s.nv)
    Q[found.columns.index("j3.angle_rate")] = 2.0
    F = dict(zip(found.rows, found.R.T @ Q, strict=True))
    inner, outer = (np.array([F[f"{b}.w{k}"] for k in "xyz"]) for b in ("b", "r"))
    np.testing.assert_allclose(outer, [np.sqrt(2.0), np.sqrt(2.0), 0.0], atol=1e-12)
    np.testing.assert_allclose(inner, -outer, atol=1e-12)
    np.testing.assert_allclose(found.S.T @ np.array(list(F.values())), Q, atol=1e-11)
