"""The three ways to write a frame's twist, against each other, the reference tree and Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from tests.reference import ReferenceTree


def arm() -> jd.Model:
    m = jd.Model("arm")
    rng = np.random.default_rng(3)
    before: jd.Body | jd.Frame = m.ground.at(0.1, -0.2, 0.3, rotation=[("x", 0.4), ("z", -0.7)])
    for i, kind in enumerate(("revolute", "prismatic", "spherical", "revolute")):
        body = m.body(f"b{i}", mass=1.0, com=rng.normal(size=3), inertia=(2.0, 2.5, 3.0))
        options = {} if kind == "spherical" else {"axis": rng.normal(size=3)}
        m.joint(kind, f"j{i}", before, body.at(*rng.normal(size=3)), **options)
        before = body.at(*rng.normal(size=3), rotation=("y", 0.3 * i))
    m.bodies["b3"].frame("tool", (0.3, 0.1, -0.2), rotation=("x", 0.5))
    return m


@pytest.mark.parametrize("axes", ["aligned", "local", "world"])
def test_jacobian_and_drift_give_velocity_and_acceleration(axes: str, rng: np.random.Generator) -> None:
    s = arm().compile()
    q, v, a = s.configuration.random(rng), rng.normal(size=s.nv), rng.normal(size=s.nv)
    _, _, velocity, acceleration, J, drift = s.function("frame", path="b3.tool", axes=axes)(q, v, a)
    np.testing.assert_allclose(J @ v, velocity, atol=1e-12)
    np.testing.assert_allclose(J @ a + drift, acceleration, atol=1e-11)


def test_the_three_forms_say_the_same(rng: np.random.Generator) -> None:
    model = arm()
    s, reference = model.compile(), ReferenceTree(model)
    q, v, a = s.configuration.random(rng), rng.normal(size=s.nv), np.zeros(s.nv)
    forms = {n: s.function("frame", path="b3.tool", axes=n)(q, v, a) for n in ("aligned", "local", "world")}
    p, R, twist = forms["aligned"][:3]
    omega, velocity = np.split(np.ravel(reference.frame_velocity("b3.tool", q, v)), 2)
    np.testing.assert_allclose(twist, [*velocity, *omega], atol=1e-12)
    np.testing.assert_allclose(forms["local"][2], np.concatenate([R.T @ twist[:3], R.T @ twist[3:]]), atol=1e-12)
    np.testing.assert_allclose(forms["world"][2], np.concatenate([twist[:3] + np.cross(p, twist[3:]), twist[3:]]), atol=1e-12)


@pytest.mark.parametrize("axes", ["aligned", "world"])
def test_acceleration_is_the_derivative_of_the_velocity(axes: str, rng: np.random.Generator) -> None:
    s = arm().compile()
    f = s.function("frame", path="b3.tool", axes=axes)
    q, v, a = s.configuration.random(rng), rng.normal(size=s.nv), rng.normal(size=s.nv)
    h = 1e-4
    steps = np.array([-2, -1, 1, 2])
    twists = [f(s.configuration.integrate(q, k * h * v + 0.5 * (k * h) ** 2 * a), v + k * h * a, a)[2] for k in steps]
    derivative = (twists[0] - 8 * twists[1] + 8 * twists[2] - twists[3]) / (12 * h)
    np.testing.assert_allclose(f(q, v, a)[3], derivative, atol=1e-7)


def test_relative_to_a_body_before_it(rng: np.random.Generator) -> None:
    s = arm().compile()
    q, v, a = s.configuration.random(rng), rng.normal(size=s.nv), rng.normal(size=s.nv)
    p0, R0, *_ = s.function("frame", path="b1")(q, v, a)
    p1, R1, *_ = s.function("frame", path="b3.tool")(q, v, a)
    p, R, velocity, _, J, _ = s.function("frame", path="b3.tool", relative_to="b1")(q, v, a)
    np.testing.assert_allclose(p, R0.T @ (p1 - p0), atol=1e-12)
    np.testing.assert_allclose(R, R0.T @ R1, atol=1e-12)
    np.testing.assert_allclose(J @ v, velocity, atol=1e-12)
    assert not J[:, :2].any()


def test_bad_requests() -> None:
    s = arm().compile()
    with pytest.raises(jd.InputError, match=r"frame 'b3': axes 'body' are unknown; use 'aligned', 'local' or 'world'"):
        s.function("frame", path="b3", axes="body")
    with pytest.raises(jd.InputError, match=r"frame 'b0' is not carried by 'b2'"):
        s.function("frame", path="b0", relative_to="b2")
    with pytest.raises(jd.ModelError, match=r"there is no body or frame 'b3.tol'; did you mean b3.tool"):
        s.function("frame", path="b3.tol")
