"""Denavit–Hartenberg chains: the slider-crank's loop equations, Bennett's linkage, models against transforms, screws."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jourdain as jd
from jourdain.errors import InputError
from jourdain.formalisms.denavit_hartenberg import DHLink, chain_transform, closure_equations, dh_model, homogeneous, screw
from jourdain.symbolic import evaluate

QUARTER = np.pi / 2


def test_dual_loop_of_the_slider_crank_gives_its_two_closure_equations():
    t1, t3, s4, a1, a2 = jd.symbols("t1 t3 s4 a1 a2")
    loop = [DHLink(a1, 0, t1, 0), DHLink(a2, 0, -t1 - t3, 0), DHLink(0, QUARTER, t3, 0), DHLink(0, -QUARTER, 0, s4, "prismatic")]
    rng = np.random.default_rng(2)
    for _ in range(10):
        values = dict(zip((t1, t3, s4, a1, a2), rng.uniform(0.2, 1.5, 5), strict=True))
        x = {k: float(v) for k, v in values.items()}
        first = x[a1] * np.sin(x[t1]) - x[a2] * np.sin(x[t3]) - x[s4]
        second = x[a1] * np.cos(x[t1]) + x[a2] * np.cos(x[t3])
        rotation, translation = np.split(np.array(evaluate(closure_equations(loop), x), dtype=float), 2)
        assert np.allclose(rotation, 0, atol=1e-15)
        assert np.allclose(translation, [second, first, 0], atol=1e-14)


def test_bennett_linkage_closes():
    alpha, beta, a, theta1 = np.deg2rad(30), np.deg2rad(70), 1.0, np.deg2rad(50)
    b = a * np.sin(beta) / np.sin(alpha)
    ratio = np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2)
    assert ratio == pytest.approx(2.23976411, abs=1e-8)
    theta2 = 2 * np.arctan(ratio / np.tan(theta1 / 2))
    assert np.rad2deg(theta2) == pytest.approx(156.478616536, abs=1e-9)
    loop = [DHLink(a, alpha, theta1, 0), DHLink(b, beta, theta2, 0), DHLink(a, alpha, -theta1, 0), DHLink(b, beta, -theta2, 0)]
    assert np.allclose(homogeneous(chain_transform(loop)), np.eye(4), atol=1e-14)
    assert np.allclose(np.array(evaluate(closure_equations(loop), {}), dtype=float), 0, atol=1e-14)


def test_model_of_a_table_moves_as_its_transforms_say():
    rng = np.random.default_rng(3)
    kinds = ["revolute", "prismatic", "revolute", "revolute", "prismatic", "revolute"]
    table = [DHLink(*rng.uniform(-1, 1, 4), kind) for kind in kinds]
    system = dh_model(table).compile()
    for _ in range(5):
        q = rng.uniform(-1, 1, 6)
        moved = [
            DHLink(x.a, x.alpha, x.theta + dq, x.s, x.kind) if x.kind == "revolute" else DHLink(x.a, x.alpha, x.theta, x.s + dq, x.kind)
            for x, dq in zip(table, q, strict=True)
        ]
        expected = homogeneous(chain_transform(moved))
        position, rotation = system.function("frame", path="link6")(q, np.zeros(6), np.zeros(6))[:2]
        assert np.allclose(position, expected[:3, 3], atol=1e-13)
        assert np.allclose(rotation, expected[:3, :3], atol=1e-13)


def test_screw_of_a_displacement_and_back():
    rng = np.random.default_rng(4)
    for _ in range(50):
        R, d = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix(), rng.normal(size=3)
        found = screw(R, d)
        back = found.displacement()
        assert np.allclose(back[0], R, atol=1e-12) and np.allclose(back[1], d, atol=1e-12)
        assert abs(found.point @ found.axis) < 1e-12
        on_axis = found.point + 0.7 * found.axis
        assert np.allclose(R @ on_axis + d, on_axis + found.slide * found.axis, atol=1e-11)
    assert screw(np.eye(3), (0, 3, 0)).slide == 3.0


def test_bad_tables_and_matrices_are_refused():
    with pytest.raises(InputError, match="kind 'helical'"):
        DHLink(0, 0, 0, 0, "helical")
    with pytest.raises(InputError, match="mass properties for 1"):
        dh_model([DHLink(1, 0, 0, 0), DHLink(1, 0, 0, 0)], bodies=[{"mass": 1}])
    with pytest.raises(InputError, match="not a rotation"):
        screw(np.diag([1, 1, -1]), (0, 0, 0))
