"""Rolling rows: contact vectors at the mean configuration, ranks, and agreement with velocities of rolling bodies."""

from __future__ import annotations

import numpy as np
import pytest

from jourdain.elements.pairs import Cylindrical, Revolute
from jourdain.elements.rigid import DirectorBody
from jourdain.elements.rolling import BallOnPlate, KnifeEdge, PlanarWheel, RollingDisk, RollingSphere
from jourdain.errors import ModelError
from tests.elements.readings import Reading, director_coordinates, rotations, turn

UP = [0.0, 0.0, 1.0]


def rows(r: Reading) -> np.ndarray:
    """Ā (rows, coordinates)."""
    return np.array([r.forces(row) for _, row in r.element.rolling(r.s)])


def rates(q: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
    return np.concatenate([v, np.cross(w, q[3:].reshape(3, 3)).ravel()])


@pytest.mark.parametrize("form", ["momentum", "midpoint"])
def test_a_rolling_ball_meets_the_rows(form: str) -> None:
    rng = np.random.default_rng(61)
    q = director_coordinates(np.array([1.0, 2.0, 0.3]), rotations(rng, 1)[0])
    w = rng.normal(size=3)
    A = rows(Reading(RollingSphere(form), q, q, {"radius": 0.3, "normal": UP}))
    assert A @ rates(q, np.cross(w, [0, 0, 0.3]), w) == pytest.approx(np.zeros(3), abs=1e-14)
    assert np.abs(A @ rates(q, np.cross(w, [0, 0, 0.31]), w)).max() > 1e-3


def test_contact_vector_is_exact_at_the_mean_in_the_momentum_form_only() -> None:
    rng = np.random.default_rng(62)
    q0, q1 = (director_coordinates(rng.normal(size=3), R) for R in (np.eye(3), turn(0, 1.1)))
    mid = 0.5 * (q0 + q1)
    for form, exact in (("momentum", True), ("midpoint", False)):
        A = rows(Reading(RollingSphere(form), q0, q1, {"radius": 0.5, "normal": UP}))
        places = [A[0, 3 + 3 * k] for k in range(3)]
        contact = np.einsum("k,ki->i", places, mid[3:].reshape(3, 3))
        assert (np.abs(contact - [0, 0, -0.5]).max() < 1e-14) == exact


def test_ball_and_plate_have_equal_velocities_and_no_net_moment() -> None:
    rng = np.random.default_rng(63)
    ball, plate = (
        director_coordinates(x, R) for x, R in zip(([0.3, 0.2, 0.5], [0, 0, -0.1]), (rotations(rng, 1)[0], turn(2, 0.4)), strict=True)
    )
    q0 = np.concatenate([ball, plate])
    A = rows(Reading(BallOnPlate(), q0, q0, {"radius": 0.5, "normal": UP}))
    spin, w = rng.normal(size=3), np.array([0, 0, 2.0])
    contact = np.array([0.3, 0.2, 0.0])
    v = np.cross(w, contact - plate[:3]) - np.cross(spin, [0, 0, -0.5])
    assert A @ np.concatenate([rates(ball, v, spin), rates(plate, np.zeros(3), w)]) == pytest.approx(np.zeros(3), abs=1e-14)
    # contact forces at a finite step: equal, opposite, one point of action
    q1 = np.concatenate(
        [director_coordinates(np.array([0.4, 0.1, 0.5]), rotations(rng, 1)[0]), director_coordinates(plate[:3], turn(2, 1.2))]
    )
    A = rows(Reading(BallOnPlate(), q0, q1, {"radius": 0.5, "normal": UP}))
    mid = 0.5 * (q0 + q1)
    force = A.T @ rng.normal(size=3)
    moment = np.cross(mid.reshape(8, 3), force.reshape(8, 3)).sum(axis=0)
    assert np.abs(moment).max() < 1e-13
    assert np.abs(force[:3] + force[12:15]).max() < 1e-14


def test_disk() -> None:
    """A tilted disk that spins and precesses about the vertical through its contact point."""
    R, tilt, radius = turn(2, 0.7) @ turn(0, 0.9), 0.9, 0.4
    axis = R[:, 2]
    height = radius * np.sqrt(1 - axis[2] ** 2)
    assert height == pytest.approx(radius * np.sin(tilt))
    q = director_coordinates(np.array([0.1, 0.2, height]), R)
    r = Reading(RollingDisk(), q, q, {"radius": radius})
    assert abs(r.constraint_values()[0]) < 1e-15
    down = -(np.array(UP) - axis[2] * axis)
    contact = radius * down / np.linalg.norm(down)
    w = np.random.default_rng(64).normal(size=3)
    v = -np.cross(w, contact)
    motion = rates(q, v, w)
    assert np.abs(rows(r) @ motion).max() < 1e-14
    assert abs(r.constraint_rows()[0] @ motion) < 1e-14


def test_planar_wheel_and_blade() -> None:
    q = np.array([0.0, 0.5, np.cos(0.3), np.sin(0.3), -np.sin(0.3), np.cos(0.3)])
    motion = np.array([-0.5 * 2.0, 0.0, -2.0 * q[3], 2.0 * q[2], -2.0 * q[5], 2.0 * q[4]])
    assert np.abs(rows(Reading(PlanarWheel(), q, q, {"radius": 0.5})) @ motion).max() < 1e-15
    blade = Reading(KnifeEdge(), q, q, {"point": [0.2, 0.1], "normal": [0.0, 1.0]})
    forward = np.concatenate([q[2:4], np.zeros(4)])
    sideways = np.concatenate([q[4:6], np.zeros(4)])
    assert rows(blade) @ forward == pytest.approx(0.0, abs=1e-15)
    assert rows(blade) @ sideways == pytest.approx(1.0)


@pytest.mark.parametrize(("joint", "count"), [(Cylindrical, 22), (Revolute, 23)])
def test_two_wheels_on_an_axle(joint: type, count: int) -> None:
    """The rolling rows already hold the wheels together along the axle: a hinge between them is one row too many."""
    a, b = (director_coordinates(np.array([0.0, y, 0.0]), turn(1, angle)) for y, angle in ((0.358, 0.3), (-0.358, -0.5)))
    q = np.concatenate([a, b])
    element = joint()
    made = [Reading(element, q, q, element.place((0, 0, 0), (0, 1, 0), a, b)).constraint_rows()]
    for offset in (0, 12):
        part = q[offset : offset + 12]
        body = Reading(DirectorBody(), part, part, DirectorBody.numbers(1.0, (1, 1, 1))).constraint_rows()
        slip = rows(Reading(RollingSphere(), part, part, {"radius": 0.55, "normal": UP}))
        for block in (body, slip):
            wide = np.zeros((len(block), 24))
            wide[:, offset : offset + 12] = block
            made.append(wide)
    G = np.concatenate(made)
    assert len(G) == count
    assert np.linalg.matrix_rank(G, tol=1e-9) == 22


def test_forms_are_checked() -> None:
    with pytest.raises(ModelError, match="momentum, midpoint"):
        RollingSphere("transpose")
