"""Bodies by points and natural coordinates: mass matrices, weight, linear revolute joint, products of axes."""

from __future__ import annotations

import numpy as np
import pytest

from jourdain.elements.carriers import Bar, Tetrahedron, Triangle
from jourdain.elements.points import ParallelAxes, PointBody, natural_map, natural_mass, point_masses
from jourdain.errors import ModelError
from jourdain.symbolic import evaluate
from tests.elements.readings import Reading, director_coordinates, rotations


def random_body(rng: np.random.Generator) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """Points, mass, inertia about the centre, centre: the inertia that of a cloud of masses."""
    cloud, weights = rng.normal(size=(9, 3)), rng.uniform(0.1, 1.0, 9)
    mass = weights.sum()
    centre = weights @ cloud / mass
    r = cloud - centre
    inertia = np.einsum("k,ki,ki->", weights, r, r) * np.eye(3) - np.einsum("k,ki,kj->ij", weights, r, r)
    return rng.normal(size=(4, 3)), mass, inertia, centre


def test_kinetic_energy_of_a_rigid_velocity_field() -> None:
    rng = np.random.default_rng(31)
    for _ in range(20):
        x, mass, inertia, centre = random_body(rng)
        m = point_masses(x, mass, inertia, centre)
        v, w = rng.normal(size=(2, 3))
        rates = v + np.cross(w, x - centre)
        energy = 0.5 * np.einsum("ij,ik,jk->", m, rates, rates)
        assert energy == pytest.approx(0.5 * mass * v @ v + 0.5 * w @ inertia @ w, rel=1e-11)
        assert m.sum() == pytest.approx(mass, rel=1e-10)
        assert np.linalg.eigvalsh(m).min() > 0.0
        R = rotations(rng, 1)[0]
        turned = point_masses(x @ R.T, mass, R @ inertia @ R.T, R @ centre)
        assert turned == pytest.approx(m, rel=1e-8, abs=1e-10)


def test_bar_and_triangle() -> None:
    assert point_masses([[0, 0, 0], [0, 3.0, 0]], 2.0, 2.0 * 9 / 12) == pytest.approx(np.array([[2, 1], [1, 2]]) / 3.0)
    # a bar whose centre is at a quarter of its length
    m = point_masses([[0, 0, 0], [2.0, 0, 0]], 3.0, 0.4, [0.5, 0, 0])
    assert m[1, 1] == pytest.approx((0.4 + 3.0 * 0.25) / 4.0)
    assert m.sum() == pytest.approx(3.0)
    rng = np.random.default_rng(32)
    x, centre = rng.normal(size=(3, 2)), rng.normal(size=2)
    m = point_masses(x, 1.7, 0.6, centre)
    v, w = rng.normal(size=2), 1.3
    arm = x - centre
    rates = v + w * np.stack([-arm[:, 1], arm[:, 0]], axis=1)
    assert 0.5 * np.einsum("ij,ik,jk->", m, rates, rates) == pytest.approx(0.5 * 1.7 * v @ v + 0.5 * 0.6 * w * w, rel=1e-12)


def test_degenerate_points_are_refused() -> None:
    with pytest.raises(ModelError, match="too specially"):
        point_masses([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], 1.0, (1, 1, 1))


@pytest.mark.parametrize("body", [Tetrahedron(), Triangle(), Bar(), Bar(2)], ids=["tetrahedron", "triangle", "bar", "planar bar"])
def test_weight_acts_at_the_centre(body) -> None:
    rng = np.random.default_rng(33)
    x = rng.normal(size=(body.vectors, body.dimension))
    element = PointBody(body, "none")
    centre = x.mean(axis=0)
    inertia = {4: np.diag([1.0, 1.2, 1.4]), 3: 0.9, 2: 0.7}[body.vectors]
    g = rng.normal(size=body.dimension)
    r = Reading(element, x.ravel(), x.ravel() + 1.0, element.numbers(x, 2.0, inertia, centre, g))
    force = -r.potential_gradient().reshape(x.shape)
    assert force.sum(axis=0) == pytest.approx(2.0 * g, rel=1e-11)
    arm = x - centre
    moment = np.einsum("ki,kj->ij", arm, force)
    assert np.abs(moment - moment.T).max() < 1e-10


def test_momenta_and_distances() -> None:
    rng = np.random.default_rng(34)
    x, mass, inertia, centre = random_body(rng)
    element = PointBody()
    r = Reading(element, x.ravel(), x.ravel(), element.numbers(x, mass, inertia, centre))
    v, w = rng.normal(size=(2, 3))
    rates = v + np.cross(w, x - centre)
    linear, angular = element.momenta(r.s)
    values = r.values | dict(zip(r.x, x.ravel(), strict=True)) | dict(zip(r.flat(r.s.velocity), rates.ravel(), strict=True))
    assert np.array(evaluate(list(linear), values)) == pytest.approx(mass * v, rel=1e-10)
    assert np.array(evaluate(list(angular), values)) == pytest.approx(np.cross(centre, mass * v) + inertia @ w, rel=1e-9)
    assert np.abs(r.constraint_values()).max() < 1e-15 * 10
    assert np.abs(r.constraint_rows() @ rates.ravel()).max() < 1e-13


def test_linear_revolute_joint() -> None:
    """C q = 0 for any rotation about the axis; with the printed signs (a sum of the axes) it is not."""
    rng = np.random.default_rng(35)
    a, b = rng.normal(size=(2, 4, 3))
    b[0] = a[0]
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    joint = ParallelAxes(Tetrahedron(), Tetrahedron())
    constants = joint.place(a[0], axis, a, b)
    K = np.cross(np.eye(3), axis).T
    for angle in (0.7, 2.9):
        turned = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
        R, t = rotations(rng, 1)[0], rng.normal(size=3)
        qa = (a - a[0]) @ R.T + t
        qb = (b - b[0]) @ (R @ turned).T + t
        q = np.concatenate([qa.ravel(), qb.ravel()])
        r = Reading(joint, q, q, constants)
        assert np.abs(r.constraint_values()).max() < 1e-12
        v = joint.vectors(r.s, r.s)
        assert np.abs(r.numbers(v.a[2] + v.b[2])).max() > 0.1
        # constant gradient: linear in the coordinates
        other = Reading(joint, rng.normal(size=24), rng.normal(size=24), constants)
        assert other.constraint_rows() == pytest.approx(r.constraint_rows(), abs=1e-14)


def test_natural_coordinates() -> None:
    rng = np.random.default_rng(36)
    T = natural_map(*rng.normal(size=(4, 3)))
    M = np.kron(np.diag([2.0, 0.3, 0.4, 0.5]), np.eye(3))
    for _ in range(10):
        rates = rng.normal(size=12)
        natural = T @ rates
        assert 0.5 * natural @ natural_mass(M, T) @ natural == pytest.approx(0.5 * rates @ M @ rates, rel=1e-12)
    q = director_coordinates(rng.normal(size=3), rotations(rng, 1)[0])
    points = natural_map((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)) @ q
    assert points[:3] == pytest.approx(q[:3] + q[3:6])
    assert points[6:9] == pytest.approx(q[9:])
    with pytest.raises(ModelError, match="do not span"):
        natural_map((1, 0, 0), (0, 1, 0), (1, -1, 0), (2, -2, 0))
