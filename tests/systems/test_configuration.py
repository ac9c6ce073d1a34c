"""The configuration space: round trips, geodesics, q̇ = N v against finite rotations, names and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

import jourdain as jd
from jourdain.errors import InputError, ModelError
from jourdain.solvers.ode.integrate import integrate
from jourdain.systems.configuration import Configuration, quaternion_exponential, quaternion_logarithm, quaternion_product
from jourdain.systems.tree.projected import NativeSystem


def make() -> Configuration:
    """Numbers and quaternions mixed: slider, ball, hinge, free body, screw."""
    m = jd.Model("m")
    bodies = [m.body(f"b{i}", mass=1.0, inertia=(1, 1, 1)) for i in range(5)]
    m.prismatic("slider", m.ground, bodies[0])
    m.spherical("ball", bodies[0], bodies[1])
    m.revolute("hinge", bodies[1], bodies[2])
    m.free("flying", m.ground, bodies[3])
    m.helical("screw", bodies[3], bodies[4], pitch=0.01)
    return Configuration([c for j in m.joints.values() for c in j.coordinates])


SPACE = make()
seeds = st.integers(0, 2**32 - 1)


def scipy_rotation(q: np.ndarray, i: int) -> Rotation:
    return Rotation.from_quat(q[..., [i + 1, i + 2, i + 3, i]])


def same(a: np.ndarray, b: np.ndarray, atol: float = 1e-12) -> None:
    """Equal configurations: a quaternion and its opposite are one rotation."""
    a, b = np.array(a), np.array(b)
    for i, _ in SPACE.quaternions:
        sign = np.sign(np.sum(a[..., i : i + 4] * b[..., i : i + 4], axis=-1, keepdims=True))
        b[..., i : i + 4] *= sign
    np.testing.assert_allclose(a, b, atol=atol)


def displacement(rng: np.random.Generator, angle: float) -> np.ndarray:
    """A random displacement whose rotations stay below π."""
    dv = rng.normal(size=SPACE.nv)
    for _, j in SPACE.quaternions:
        dv[j : j + 3] *= angle / np.linalg.norm(dv[j : j + 3])
    return dv


def test_layout() -> None:
    assert (SPACE.nq, SPACE.nv) == (1 + 4 + 1 + 7 + 1, 1 + 3 + 1 + 6 + 1)
    assert SPACE.quaternions == [(1, 1), (9, 8)]
    assert SPACE.position_names[:3] == ["slider.displacement", "ball.orientation.e0", "ball.orientation.e1"]
    assert SPACE.velocity_names[:3] == ["slider.displacement_rate", "ball.orientation.omega_x", "ball.orientation.omega_y"]
    np.testing.assert_array_equal(SPACE.neutral(), [0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0])


@given(seeds, st.floats(0.0, np.pi - 1e-6))
def test_difference_undoes_integrate(seed: int, angle: float) -> None:
    rng = np.random.default_rng(seed)
    q, dv = SPACE.random(rng), displacement(rng, angle)
    q1 = SPACE.integrate(q, dv)
    np.testing.assert_allclose(SPACE.difference(q, q1), dv, atol=1e-7 if angle > 3.1 else 1e-12)
    for i, _ in SPACE.quaternions:
        assert abs(np.linalg.norm(q1[i : i + 4]) - 1.0) < 1e-14


@given(seeds)
def test_integrate_undoes_difference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q0, q1 = SPACE.random(rng), SPACE.random(rng)
    dv = SPACE.difference(q0, q1)
    same(SPACE.integrate(q0, dv), q1)
    for i, j in SPACE.quaternions:
        expected = (scipy_rotation(q0, i).inv() * scipy_rotation(q1, i)).as_rotvec()
        np.testing.assert_allclose(dv[j : j + 3], expected, atol=1e-12)
        assert np.linalg.norm(dv[j : j + 3]) <= np.pi + 1e-12


@given(seeds)
def test_the_opposite_quaternion_is_the_same_place(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q0, q1 = SPACE.random(rng), SPACE.random(rng)
    flipped = q1.copy()
    for i, _ in SPACE.quaternions:
        flipped[i : i + 4] *= -1
    np.testing.assert_allclose(SPACE.difference(q0, flipped), SPACE.difference(q0, q1), atol=1e-12)
    np.testing.assert_allclose(SPACE.difference(q1, flipped), 0.0, atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-20, 1e-13, 1e-12, 1e-11, 1e-8, 1e-4, 1.0, 3.0, np.pi - 1e-9])
def test_logarithm_of_small_and_large_rotations(angle: float, rng: np.random.Generator) -> None:
    axis = rng.normal(size=3)
    w = angle * axis / np.linalg.norm(axis)
    np.testing.assert_allclose(quaternion_logarithm(quaternion_exponential(w)), w, rtol=1e-6 if angle > 3.1 else 1e-12, atol=0)


def test_logarithm_at_half_a_turn() -> None:
    for e in ([0.0, 1.0, 0.0, 0.0], [-0.0, 0.6, 0.0, -0.8]):
        w = quaternion_logarithm(np.array(e))
        assert np.linalg.norm(w) == pytest.approx(np.pi)
        np.testing.assert_allclose(np.abs(w), np.pi * np.abs(e[1:]), atol=1e-15)


@given(seeds, st.floats(-0.5, 1.5))
def test_interpolation_is_geodesic(seed: int, s: float) -> None:
    rng = np.random.default_rng(seed)
    q0 = SPACE.random(rng)
    q1 = SPACE.integrate(q0, displacement(rng, 2.0))
    q = SPACE.interpolate(q0, q1, s)
    scalar = [i for i in range(SPACE.nq) if not any(k <= i < k + 4 for k, _ in SPACE.quaternions)]
    np.testing.assert_allclose(q[scalar], (1 - s) * q0[scalar] + s * q1[scalar], atol=1e-13)
    same(SPACE.interpolate(q0, q1, 0.0), q0)
    same(SPACE.interpolate(q0, q1, 1.0), q1)
    for i, j in SPACE.quaternions:
        if 0.0 <= s <= 1.0:
            path = Slerp([0.0, 1.0], Rotation.concatenate([scipy_rotation(q0, i), scipy_rotation(q1, i)]))
            np.testing.assert_allclose(scipy_rotation(q, i).as_matrix(), path(s).as_matrix(), atol=1e-12)
        covered = np.linalg.norm(SPACE.difference(q0, q)[j : j + 3])
        assert covered == pytest.approx(2.0 * abs(s), abs=1e-9)


@given(seeds)
def test_rate_is_the_derivative_of_a_finite_motion(seed: int) -> None:
    """q(h) of constant v by the exponential; fourth-order central differences."""
    rng = np.random.default_rng(seed)
    q, v, h = SPACE.random(rng), rng.normal(size=SPACE.nv), 1e-3
    at = {k: SPACE.integrate(q, k * h * v) for k in (-2, -1, 1, 2)}
    numeric = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
    np.testing.assert_allclose(SPACE.rate(q, v), numeric, atol=2e-10)


@given(seeds)
def test_rate_is_linear_and_tangent(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, v, w = SPACE.random(rng), rng.normal(size=SPACE.nv), rng.normal(size=SPACE.nv)
    np.testing.assert_allclose(SPACE.rate(q, 2 * v - w), 2 * SPACE.rate(q, v) - SPACE.rate(q, w), atol=1e-13)
    for i, _ in SPACE.quaternions:
        assert abs(q[i : i + 4] @ SPACE.rate(q, v)[i : i + 4]) < 1e-14


def test_rate_is_that_of_the_compiled_equations() -> None:
    m = jd.Model("m", gravity=(0, 0, 0))
    body = m.body("b", mass=1.0, inertia=(1, 2, 2.5))
    m.free("j", m.ground, body)
    s = m.compile()
    rng = np.random.default_rng(3)
    q, v = s.configuration.random(rng), rng.normal(size=6)
    x = np.concatenate([q, v])
    got = s.function("state_derivative")(
        *(np.zeros(1) if n == "t" else x if k == 13 else np.zeros(k) for n, k in s.function("state_derivative").inputs.items())
    )
    np.testing.assert_allclose(got[:7], s.configuration.rate(q, v), atol=1e-15)


@given(seeds)
def test_quaternion_product_against_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (SPACE.normalise(SPACE.random(rng))[1:5] for _ in range(2))
    expected = (Rotation.from_quat(np.roll(a, -1)) * Rotation.from_quat(np.roll(b, -1))).as_matrix()
    product = quaternion_product(a, b)
    np.testing.assert_allclose(Rotation.from_quat(np.roll(product, -1)).as_matrix(), expected, atol=1e-14)


def test_batches_and_broadcasting(rng: np.random.Generator) -> None:
    q, dv = SPACE.random(rng, size=5), rng.normal(size=(4, 1, SPACE.nv))
    moved = SPACE.integrate(q, dv)
    assert moved.shape == (4, 5, SPACE.nq)
    rates, back = SPACE.rate(q, dv), SPACE.difference(q, moved)
    for i in range(4):
        for k in range(5):
            np.testing.assert_allclose(moved[i, k], SPACE.integrate(q[k], dv[i, 0]), atol=1e-15)
            np.testing.assert_allclose(rates[i, k], SPACE.rate(q[k], dv[i, 0]), atol=1e-15)
            np.testing.assert_allclose(back[i, k], SPACE.difference(q[k], moved[i, k]), atol=1e-15)
    np.testing.assert_allclose(SPACE.rate(q[0].tolist(), dv[0, 0].tolist()), rates[0, 0], atol=1e-15)


def test_arguments_are_not_changed(rng: np.random.Generator) -> None:
    q, q1, dv = 3.0 * SPACE.random(rng), SPACE.random(rng), rng.normal(size=SPACE.nv)
    before = [a.copy() for a in (q, q1, dv)]
    SPACE.integrate(q, dv), SPACE.difference(q, q1), SPACE.normalise(q), SPACE.rate(q, dv), SPACE.interpolate(q, q1, 0.3)
    SPACE.pack({"hinge": 1.0}, q), SPACE.pack_velocities({"hinge": 1.0}, dv)
    for a, b in zip((q, q1, dv), before, strict=True):
        np.testing.assert_array_equal(a, b)


def test_random_is_uniform_and_repeatable() -> None:
    q = SPACE.random(np.random.default_rng(1), size=4000)
    np.testing.assert_array_equal(q, SPACE.random(np.random.default_rng(1), size=4000))
    hinge, slider = q[:, SPACE.index("hinge")], q[:, SPACE.index("slider")]
    assert np.abs(hinge).max() <= np.pi
    assert np.abs(hinge).max() > 3.1
    assert 0.99 < np.abs(slider).max() <= 1.0
    for i, _ in SPACE.quaternions:
        e = q[:, i : i + 4]
        np.testing.assert_allclose(np.linalg.norm(e, axis=1), 1.0, atol=1e-14)
        np.testing.assert_allclose(e.T @ e / len(e), np.eye(4) / 4, atol=0.02)
        np.testing.assert_allclose(scipy_rotation(q, i).as_matrix().mean(0), 0.0, atol=0.05)
    assert SPACE.random().shape == (SPACE.nq,)


def test_normalise() -> None:
    q = 7.0 * SPACE.neutral() + 0.5
    n = SPACE.normalise(q)
    for i, _ in SPACE.quaternions:
        np.testing.assert_allclose(n[i : i + 4], q[i : i + 4] / np.linalg.norm(q[i : i + 4]))
    assert n[0] == 0.5
    np.testing.assert_allclose(SPACE.normalise(n), n, atol=1e-16)
    for bad in (0.0, np.nan):
        q[1:5] = bad
        with pytest.raises(InputError, match=r"the quaternion 'ball.orientation.e0' … has no direction .* give \(1, 0, 0, 0\)"):
            SPACE.normalise(q)
    with pytest.raises(InputError, match=r"'ball.orientation.e0' … has no direction"):
        SPACE.pack({"ball.orientation.e0": 0.0})


def test_names_and_units() -> None:
    q = SPACE.pack({"slider": "5 mm", "hinge.angle": "30 deg", "flying.z": 2, "screw": "2 rev"})
    expected = SPACE.neutral()
    expected[[SPACE.index(n) for n in ("slider", "hinge", "flying.z", "screw.angle")]] = 0.005, np.pi / 6, 2.0, 4 * np.pi
    np.testing.assert_allclose(q, expected, atol=1e-16)
    kept = SPACE.pack({"slider": 1.0}, q)
    assert kept[0] == 1.0
    np.testing.assert_array_equal(kept[1:], q[1:])
    v = SPACE.pack_velocities(
        {"hinge": "60 rpm", "slider.displacement": "3 km/h", "flying.x_rate": 2.0, "flying.orientation.omega_y": "10 deg/s"}
    )
    expected = np.zeros(SPACE.nv)
    names = ("hinge.angle_rate", "slider.displacement_rate", "flying.x_rate", "flying.orientation.omega_y")
    expected[[SPACE.velocity_names.index(n) for n in names]] = 2 * np.pi, 3 / 3.6, 2.0, np.deg2rad(10)
    np.testing.assert_allclose(v, expected)
    assert SPACE.pack_velocities({"hinge": 1.0}, v)[SPACE.velocity_names.index("flying.x_rate")] == 2.0


ERRORS: dict[str, tuple[Any, str]] = {
    "typing error": (lambda: SPACE.pack({"hinge.angel": 1}), r"there is no coordinate 'hinge.angel'; did you mean hinge.angle"),
    "several": (lambda: SPACE.pack({"flying": 1}), r"there is no coordinate 'flying'; did you mean flying.x, flying.y, flying.z"),
    "of a joint": (lambda: SPACE.pack({"slider.velocity": 1}), r"there is no coordinate 'slider.velocity'; did you mean slider.displacement, slider.displacement_rate\?"),
    "unlike any": (lambda: SPACE.pack({"zzz": 1}), "there is no coordinate 'zzz'; did you mean slider.displacement"),
    "a rate among positions": (lambda: SPACE.pack({"hinge.angle_rate": 1}), r"'hinge.angle_rate' is a velocity, and a position is asked for here; give it among velocities="),
    "velocity": (lambda: SPACE.pack_velocities({"hinge.angle_rat": 1}), r"there is no velocity 'hinge.angle_rat'; did you mean hinge.angle_rate"),
    "quaternion rate": (lambda: SPACE.pack_velocities({"ball": 1}), r"there is no velocity 'ball'; did you mean ball.orientation.omega_x"),
    "length for an angle": (lambda: SPACE.pack({"hinge": "3 mm"}), "coordinate 'hinge': quantity '3 mm' should be in 'rad'"),
    "angle for a rate": (lambda: SPACE.pack_velocities({"hinge": "3 deg"}), "velocity 'hinge': quantity '3 deg' should be in 'rad/s'"),
    "nan": (lambda: SPACE.pack({"hinge": np.nan}), "coordinate 'hinge': nan is not a finite number"),
    "text": (lambda: SPACE.pack({"hinge": "fast"}), "coordinate 'hinge': 'fast' is not a number"),
    "short q": (lambda: SPACE.integrate(np.zeros(3), np.zeros(SPACE.nv)), r"q must have 14 entries in its last dimension, got shape \(3,\)"),
    "short v": (lambda: SPACE.rate(SPACE.neutral(), np.zeros(3)), r"v must have 12 entries in its last dimension, got shape \(3,\)"),
    "dv": (lambda: SPACE.integrate(SPACE.neutral(), np.zeros(14)), r"dv must have 12 entries"),
    "q1": (lambda: SPACE.difference(SPACE.neutral(), np.zeros(12)), r"q1 must have 14 entries"),
    "base": (lambda: SPACE.pack({}, np.zeros(3)), r"q must have 14 entries"),
    "number": (lambda: SPACE.normalise(1.0), r"q must have 14 entries in its last dimension, got shape \(\)"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case: str) -> None:
    attempt, message = ERRORS[case]
    with pytest.raises((InputError, ModelError), match=message):
        attempt()


def test_no_coordinates() -> None:
    empty = Configuration([])
    assert (empty.nq, empty.nv) == (0, 0)
    assert empty.random().shape == (0,)
    assert empty.integrate(np.zeros(0), np.zeros(0)).shape == (0,)
    assert empty.rate(np.zeros((3, 0)), np.zeros((3, 0))).shape == (3, 0)


@pytest.mark.parametrize("method", ["velocity-verlet", "semi-implicit-euler"])
def test_methods_of_second_order_read_rates_where_they_are_velocities(method: str) -> None:
    """One evaluation a step where q̇ = v.  The motion is that of the same method told to ask."""
    s = jd.library.double_pendulum().compile()
    state = s.state(None)
    x0 = np.concatenate([state.q + 0.3, state.v])
    assert s.configuration.rates_are_velocities
    sol = s.simulate(s.state(dict(zip(s.coordinate_names, x0, strict=False))), 0.1, method, step=1e-3)
    assert sol.statistics["steps"] == 100 and abs(sol.statistics["rhs"] - 100) <= 1
    asked = NativeSystem(s.reference)
    found = integrate(asked.rhs, (0.0, 0.1), x0, method, step=1e-3, positions=s.nq, project=asked.project)
    names = s.coordinate_names
    np.testing.assert_allclose([sol[n][-1] for n in names], found.x[-1, : len(names)], rtol=0, atol=1e-13)


@pytest.mark.parametrize(("method", "order"), [("velocity-verlet", 2), ("semi-implicit-euler", 1)])
def test_methods_of_second_order_turn_quaternions_without_an_evaluation(method: str, order: int) -> None:
    """One evaluation a step with quaternions and numbers mixed, user states too: unit quaternions to rounding, the order of the method, and the limit of the one that asks for q̇."""
    m = jd.Model("mixed")
    arm, top, load = (m.body(f"b{i}", mass=1.0 + i, inertia=(0.01, 0.02, 0.025)) for i in range(3))
    m.prismatic("slider", m.ground, arm, axis="x")
    m.spherical("ball", arm, top.at(0.0, 0.0, -0.2))
    m.free("flying", m.ground, load)
    m.derivative("filtered", jd.sin(3.0 * m.time), 5.0)
    s = m.compile()
    start = {"slider.displacement_rate": 0.2, "ball.orientation.omega_x": 3.0, "ball.orientation.omega_z": 9.0,
             "flying.orientation.omega_y": 7.0, "flying.orientation.omega_x": 0.4, "flying.x_rate": 1.0}  # fmt: skip
    names = s.coordinate_names
    end = lambda by, **how: (sol := s.simulate(start, 0.5, by, **how), np.array([sol[n][-1] for n in names]))
    exact = end("dop853", rtol=1e-12, atol=1e-12)[1]
    errors = []
    for h in (2e-3, 1e-3):
        sol, found = end(method, step=h)
        assert abs(sol.statistics["rhs"] - round(0.5 / h)) <= 1
        errors.append(np.abs(found - exact).max())
        for i, _ in s.configuration.quaternions:
            assert abs(np.linalg.norm(found[i : i + 4]) - 1.0) < 1e-14
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)
