"""Angles, displacements and lengths as coordinates: constraints between finite steps, mirror branch and its audit."""

from __future__ import annotations

import numpy as np
import pytest

from jourdain.elements.augmentation import JointAngle, JointDisplacement, Length, PlanarJointAngle, Screw, WheelSpin, Yaw  # fmt: skip
from jourdain.elements.carriers import Ground
from jourdain.errors import ModelError
from jourdain.symbolic import evaluate
from tests.elements.readings import Reading, director_coordinates, rotations, turn


def about(axis: np.ndarray, angle: float) -> np.ndarray:
    K = np.cross(axis / np.linalg.norm(axis), np.eye(3)).T
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def two_bodies(rng: np.random.Generator, angle: float, axis: np.ndarray, relative: np.ndarray) -> np.ndarray:
    R, x = rotations(rng, 1)[0], rng.normal(size=(2, 3))
    return np.concatenate([director_coordinates(x[0], R), director_coordinates(x[1], R @ about(axis, angle) @ relative)])


@pytest.mark.parametrize("form", ["robust", "thesis"])
def test_joint_angle(form: str) -> None:
    rng = np.random.default_rng(51)
    axis, relative = rng.normal(size=3), rotations(rng, 1)[0]
    element = JointAngle(form=form)
    at_zero = np.concatenate([director_coordinates(np.zeros(3), np.eye(3)), director_coordinates(np.zeros(3), relative)])
    constants = element.place(axis, at_zero[:12], at_zero[12:])
    for start, step in ((0.3, 0.9), (4.0, -1.2), (25.0, 1.4)):
        q0, q1 = (np.append(two_bodies(rng, a, axis, relative), a) for a in (start, start + step))
        r = Reading(element, q0, q1, constants)
        assert abs(r.constraint_values()[0]) < 1e-13
        assert abs(r.constraint_values(q0)[0]) < 1e-13
        assert abs(r.constraint_rows()[0] @ (q1 - q0)) < 1e-13
        assert float(r.numbers([element.audit(r.s)[0][1]])[0]) < 1e-12


def test_mirror_branch_is_a_solution_of_the_thesis_form_and_seen_by_the_audit() -> None:
    rng = np.random.default_rng(52)
    axis, angle = np.array([0.0, 0.0, 1.0]), 2.2
    q = two_bodies(rng, angle, axis, np.eye(3))
    thesis, robust = JointAngle(form="thesis"), JointAngle()
    identity = director_coordinates(np.zeros(3), np.eye(3))
    constants = thesis.place(axis, identity, identity)
    wrong = np.append(q, 1.5 * np.pi - angle)
    r = Reading(thesis, np.append(q, angle), wrong, constants)
    assert abs(r.constraint_values()[0]) < 1e-13
    assert float(r.numbers([thesis.audit(r.s)[0][1]])[0]) > 0.1
    r = Reading(robust, np.append(q, angle), wrong, constants)
    assert abs(r.constraint_values()[0]) > 0.1


def test_starting_angle() -> None:
    rng = np.random.default_rng(53)
    a, b = (director_coordinates(x, R) for x, R in zip(rng.normal(size=(2, 3)), rotations(rng, 2), strict=True))
    element = JointAngle()
    constants = element.place((1, 2, 3), a, b, angle=0.8)
    q = np.concatenate([a, b, [0.8]])
    r = Reading(element, q, q, constants)
    assert abs(r.constraint_values()[0]) < 1e-14
    assert float(r.numbers([element.audit(r.s)[0][1]])[0]) < 1e-14


def test_planar_angle_is_that_of_the_thesis() -> None:
    element = PlanarJointAngle(form="thesis")
    directors = [0, 0, 1, 0, 0, 1]
    constants = element.place(None, directors, directors)
    angle = 0.6
    turned = [0, 0, np.cos(angle), np.sin(angle), -np.sin(angle), np.cos(angle)]
    q = np.array([*directors, *turned, angle])
    r = Reading(element, q, q, constants)
    assert abs(r.constraint_values()[0]) < 1e-15
    row = r.constraint_rows()[0]
    d2, sum1 = turned[4:6], np.array([1.0, 1.0])
    assert row == pytest.approx([0, 0, *d2, *d2, 0, 0, 0, 0, *sum1, np.sin(angle) + np.cos(angle)], abs=1e-15)


def test_displacement_and_length() -> None:
    rng = np.random.default_rng(54)
    a, b = (director_coordinates(x, R) for x, R in zip(rng.normal(size=(2, 3)), rotations(rng, 2), strict=True))
    slide = JointDisplacement()
    constants = slide.place(rng.normal(size=3), rng.normal(size=3), a, b)
    q = np.concatenate([a, b, [0.0]])
    assert abs(Reading(slide, q, q, constants).constraint_values()[0]) < 1e-14
    strut = Length(compression=True)
    points = {"point_a": rng.normal(size=3), "point_b": rng.normal(size=3)}
    ends = [x[:3] + x[3:].reshape(3, 3).T @ p for x, p in zip((a, b), points.values(), strict=True)]
    length = np.linalg.norm(ends[1] - ends[0])
    q = np.concatenate([a, b, [0.2]])
    r = Reading(strut, q, q, {**points, "free_length": length + 0.2})
    assert abs(r.constraint_values()[0]) < 1e-13
    q[-1] = length
    assert abs(Reading(Length(), q, q, points).constraint_values()[0]) < 1e-13


def test_wheel_spin_and_yaw() -> None:
    """Wheel with axle d₂: turned by θ about its axle and by ψ about the vertical."""
    spin, yaw = WheelSpin(), Yaw()
    for theta, psi in ((0.4, 0.0), (2.9, 1.1), (-7.0, 2.0)):
        R = turn(2, psi) @ turn(1, theta)
        q = director_coordinates(np.zeros(3), R)
        r = Reading(spin, np.append(q, theta), np.append(q, theta), {"spoke": [1, 0, 0], "axle": [0, 1, 0], "vertical": [0, 0, 1]})
        assert abs(r.constraint_values()[0]) < 1e-14
        assert float(r.numbers([spin.audit(r.s)[0][1]])[0]) < 1e-14
        r = Reading(yaw, np.append(q, psi), np.append(q, psi), {"direction": [0, 1, 0], "zero": [0, 1, 0], "quarter": [-1, 0, 0]})
        assert abs(r.constraint_values()[0]) < 1e-14


def test_screw_without_pitch_turns_like_a_hinge() -> None:
    screw = Screw(a=Ground())
    identity = director_coordinates(np.zeros(3), np.eye(3))
    constants = screw.place((0, 0, 0), (0, 0, 1), b=identity, pitch_per_radian=0.0)
    q1 = np.append(director_coordinates(np.zeros(3), turn(2, 1.1)), [0.0, 1.1])
    r = Reading(screw, np.append(identity, [0.0, 0.0]), q1, constants)
    assert np.abs(r.constraint_values()).max() < 1e-14
    angular, linear = screw.freedoms(r.s)[0]
    assert np.abs(r.numbers(linear)).max() == 0.0
    assert r.numbers(angular) == pytest.approx([0, 0, 1])
    # the mean of two unit vectors is shorter than one: Γ = (Δ/2)/tan(Δ/2), 1 for small steps
    assert float(evaluate(screw.angle_rate(r.s), r.values)) == pytest.approx(0.55 / np.tan(0.55), rel=1e-14)


def test_pitch_units() -> None:
    screw = Screw(a=Ground())
    body = director_coordinates(np.zeros(3), np.eye(3))
    per_turn = screw.place((0, 0, 0), (0, 0, 1), b=body, pitch_per_turn=20.0)["pitch"]
    assert per_turn[0] == pytest.approx(3.183098861837907, rel=1e-15)
    with pytest.raises(ModelError, match="either"):
        screw.place((0, 0, 0), (0, 0, 1), b=body)
    with pytest.raises(ModelError, match="choose one of robust, thesis"):
        JointAngle(form="quick")
