"""Cartesian coordinates: charts of rotation, planar models, mass matrices, counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import ModelError
from jourdain.formalisms.coordinates.absolute import Quaternion
from jourdain.formalisms.coordinates.cartesian import (
    body_rate_matrix,
    cartesian,
    euler_parameters,
    find_plane,
    quaternion_of,
    rotation_vector,
    rotation_vector_of,
)
from jourdain.formalisms.coordinates.descriptor import BodyMotion
from jourdain.library import mechanisms
from jourdain.library.nonholonomic import chaplygin_sleigh
from jourdain.solvers.constraints.rotation_chart import complement
from jourdain.symbolic.derivatives import jvp
from jourdain.symbolic.expr import symbol
from jourdain.symbolic.graph import evaluate


def symbols(n: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return tuple(symbol(f"x{i}", "position") for i in range(n)), tuple(symbol(f"x{i}_rate", "velocity") for i in range(n))


def check_chart(chart: Any, x: Any, xd: Any, values: dict[Any, float]) -> np.ndarray:
    """R is a rotation and Ṙ = R ω̃′ = ω̃ R with the chart's rates; Ḣẋ is its bias."""
    R = np.array(evaluate(chart.rotation.entries, values)).reshape(3, 3)
    rate = np.array(evaluate(jvp(chart.rotation.entries, dict(zip(x, xd, strict=True))), values)).reshape(3, 3)
    w, local = (np.array(evaluate(list(v), values), dtype=float) for v in (chart.world_rate, chart.body_rate))
    assert np.abs(R @ R.T - np.eye(3)).max() < 1e-14 and np.linalg.det(R) > 0
    assert np.abs(rate - np.cross(w, R.T).T).max() < 1e-12
    assert np.abs(R @ local - w).max() < 1e-12
    columns = np.array([evaluate(list(c), values) for c in chart.columns], dtype=float).T
    assert np.abs(columns @ [values[s] for s in xd] - local).max() < 1e-13
    bias = np.zeros(3) if chart.bias is None else np.array(evaluate(list(chart.bias), values), dtype=float)
    exact = np.array(evaluate(jvp(list(chart.body_rate), dict(zip(x, xd, strict=True))), values), dtype=float)
    assert np.abs(bias - exact).max() < 1e-12
    return R


def test_euler_parameters() -> None:
    x, xd = symbols(4)
    rng = np.random.default_rng(0)
    e = rng.normal(size=4)
    e /= np.linalg.norm(e)
    ed = rng.normal(size=4)
    ed -= (e @ ed) * e
    R = check_chart(euler_parameters(x, xd), x, xd, dict(zip((*x, *xd), (*e, *ed), strict=True)))
    assert np.abs(np.array(quaternion_of(R)) * np.sign(quaternion_of(R)[0] * e[0]) - e).max() < 1e-14
    back = evaluate(list(Quaternion.of(x).body_rate(Quaternion.of(xd))), dict(zip((*x, *xd), (*e, *ed), strict=True)))
    assert np.linalg.norm(np.array(back, dtype=float)) == pytest.approx(2 * np.linalg.norm(ed))


@pytest.mark.parametrize("length", [0.0, 1e-6, 0.05, 0.0999, 0.1001, 1.0, 3.0, 5.0])
def test_rotation_vectors(length: float) -> None:
    x, xd = symbols(3)
    rng = np.random.default_rng(1)
    n = rng.normal(size=3)
    psi, rate = length * n / np.linalg.norm(n), rng.normal(size=3)
    R = check_chart(rotation_vector(x, xd), x, xd, dict(zip((*x, *xd), (*psi, *rate), strict=True)))
    T = body_rate_matrix(psi)
    chart = rotation_vector(x, xd)
    local = np.array(evaluate(list(chart.body_rate), dict(zip((*x, *xd), (*psi, *rate), strict=True))), dtype=float)
    assert np.abs(T @ rate - local).max() < 1e-10
    if length < np.pi:
        assert np.abs(np.array(rotation_vector_of(quaternion_of(R))) - psi).max() < 1e-12


def test_complement_is_the_same_motion() -> None:
    """ψ − 2πψ/|ψ| gives the same rotation, angular velocity and acceleration."""
    x, xd = symbols(3)
    chart = rotation_vector(x, xd)
    acc = tuple(symbol(f"x{i}_acc", "acceleration") for i in range(3))
    alpha = jvp(list(chart.body_rate), dict(zip((*x, *xd), (*xd, *acc), strict=True)))
    rng = np.random.default_rng(2)
    psi, rate, second = np.array([2.0, -2.5, 1.5]), rng.normal(size=3), rng.normal(size=3)
    read = lambda: np.array(
        evaluate([*chart.rotation.entries, *chart.body_rate, *alpha], dict(zip((*x, *xd, *acc), (*psi, *rate, *second), strict=True))),
        dtype=float,
    )
    before = read()
    complement(psi, rate, np.zeros(3), second)
    assert np.linalg.norm(psi) < np.pi
    assert np.abs(read() - before).max() < 1e-12


def test_planes() -> None:
    assert find_plane(mechanisms.four_bar()).normal == 2  # type: ignore[union-attr]
    m = jd.Model("pendulum about y")
    m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1)), axis="y")
    assert find_plane(m).normal == 1  # type: ignore[union-attr]
    assert find_plane(chaplygin_sleigh()).normal == 2  # type: ignore[union-attr]
    assert find_plane(mechanisms.rssr()) is None
    assert find_plane(mechanisms.heavy_top()) is None
    with pytest.raises(ModelError, match="does not move in a coordinate plane"):
        cartesian(mechanisms.rssr(), "planar")


@pytest.mark.parametrize(("rotation", "counts"), [("planar", (9, 8)), ("euler-parameters", (21, 21)), ("rotation-vector", (18, 18))])
def test_counts_of_the_slider_crank(rotation: str, counts: tuple[int, int]) -> None:
    """Three moving bodies: 9 − 8 in the plane (specification 14), 6 or 7 coordinates for each in space."""
    d = cartesian(mechanisms.slider_crank(), rotation)
    assert (len(d.x), len(d.constraints)) == counts


@pytest.mark.parametrize("rotation", ["euler-parameters", "rotation-vector"])
def test_mass_matrix_is_the_kinetic_energy(rotation: str) -> None:
    m = jd.Model("body")
    m.free("free", m.ground, m.body("b", mass=2.0, com=(0.1, 0.2, -0.3), inertia=(0.3, 0.4, 0.5, 0.01, 0.02, -0.03)))
    d = cartesian(m, rotation)
    rng = np.random.default_rng(4)
    e = rng.normal(size=4)
    e /= np.linalg.norm(e)
    from jourdain.systems.configuration import quaternion_product

    R = np.column_stack([quaternion_product(quaternion_product(e, np.array([0.0, *a])), e * [1, -1, -1, -1])[1:] for a in np.eye(3)])
    v, w = rng.normal(size=3), rng.normal(size=3)
    x, xd = d.coordinates_of(BodyMotion(rng.normal(size=(1, 3)), R[None], v[None], w[None]))
    values = dict(zip(d.x, x, strict=True)) | dict(zip(d.xd, xd, strict=True))
    double = sum(float(evaluate([entry], values)[0]) * xd[i] * xd[j] for (i, j), entry in d.mass.items())
    local, c = R.T @ w, np.array([0.1, 0.2, -0.3])
    J = np.array([[0.3, 0.01, 0.02], [0.01, 0.4, -0.03], [0.02, -0.03, 0.5]])
    vc = v + np.cross(w, R @ c)
    assert double == pytest.approx(2.0 * vc @ vc + local @ J @ local, rel=1e-12)
    assert all(d.mass.get((j, i)) is e for (i, j), e in d.mass.items())


def test_joint_coordinates_are_kept_only_where_laws_need_them() -> None:
    m = jd.Model("arm")
    a, b = (m.body(n, mass=1.0, inertia=(1, 1, 1)) for n in "ab")
    first, second = m.revolute("first", m.ground, a), m.revolute("second", a.at(1, 0, 0), b, axis="x")
    assert len(cartesian(m).x) == 14
    m.torque(second, lambda x, v, t: -x)
    d = cartesian(m)
    assert d.labels[14:] == ("second.angle",)
    assert d.constraints[-1].name == "second[6]" and first.name == "first"
