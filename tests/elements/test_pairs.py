"""Kinematic pairs between finitely different configurations: discrete gradients, null spaces, ranks, updates."""

from __future__ import annotations

import numpy as np
import pytest

from jourdain.elements.augmentation import JointAngle, Screw
from jourdain.elements.carriers import Ground, Particle, Tetrahedron
from jourdain.elements.pairs import (  # fmt: skip
    Cylindrical,
    Planar,
    PlanarPrismatic,
    PlanarRevolute,
    PlanarRigid,
    Prismatic,
    Revolute,
    Rigid,
    Spherical,
    Universal,
)
from jourdain.elements.rigid import DirectorBody
from jourdain.errors import ModelError
from tests.elements.readings import Reading, director_coordinates, rotations, turn

SAMPLES = 100
PITCH = 0.7


def relative_motion(pair: type, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Rotation, translation (in the joint's frame) and angle of a random admissible position."""
    u, angle = rng.normal(size=3), rng.uniform(-1.5, 1.5)
    e = np.eye(3)
    if pair is Spherical:
        return rotations(rng, 1)[0], np.zeros(3), 0.0
    if pair is Revolute:
        return turn(2, angle), np.zeros(3), angle
    if pair is Prismatic:
        return e, u[0] * e[2], 0.0
    if pair is Cylindrical:
        return turn(2, angle), u[0] * e[2], angle
    if pair is Planar:
        return turn(2, angle), u * [1.0, 1.0, 0.0], angle
    if pair is Universal:
        return turn(0, angle) @ turn(1, u[0]), np.zeros(3), 0.0
    if pair is Screw:
        return turn(2, angle), PITCH * angle * e[2], angle
    return e, np.zeros(3), 0.0


def samples(pair: type, ground: bool, seed: int = 3) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Constants, and start and end coordinates (coordinates, samples) with increments of the order of 1 rad."""
    rng = np.random.default_rng(seed)
    Fa, Fb = rotations(rng, 2)
    pa, pb = rng.normal(size=(2, 3))
    constants = {
        "point_a": pa,
        "point_b": pb,
        "frame_a": Fa.T.ravel(),
        "frame_b": Fb.T.ravel(),
        "pitch": np.array([PITCH]),
        "cosine": np.zeros(1),
    }
    both = []
    for _ in range(2):
        columns = []
        for _ in range(SAMPLES):
            R, x = (np.eye(3), np.zeros(3)) if ground else (rotations(rng, 1)[0], rng.normal(size=3))
            Rj, tj, angle = relative_motion(pair, rng)
            Rb = R @ Fa @ Rj @ Fb.T
            xb = x + R @ (pa + Fa @ tj) - Rb @ pb
            q = [director_coordinates(xb, Rb)] if ground else [director_coordinates(x, R), director_coordinates(xb, Rb)]
            columns.append(np.concatenate([*q, [PITCH * angle, angle]] if pair is Screw else q))
        both.append(np.array(columns).T)
    return constants, both[0], both[1]


def made(pair: type, ground: bool, seed: int = 3) -> Reading:
    element = pair(a=Ground()) if ground else pair()
    constants, q0, q1 = samples(pair, ground, seed)
    return Reading(element, q0, q1, {k: constants[k] for k in element.constants})


def internal_rows(q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    body = DirectorBody()
    numbers = DirectorBody.numbers(1.0, (1.0, 1.0, 1.0))
    return Reading(body, q0, q1, numbers).constraint_rows()


def null_space(reading: Reading, ground: bool, freedoms: list | None = None) -> np.ndarray:
    """P̄ (samples, coordinates, freedoms) from the freedoms of the pair and the rigid motion of body a."""
    element, s = reading.element, reading.s
    mid = 0.5 * (reading.q0 + reading.q1)
    offset = 0 if ground else 12
    b = mid[offset : offset + 12].T.reshape(-1, 4, 3)
    rho = np.einsum("k,nki->ni", [reading.values[e] for e in s.point_b], b[:, 1:])
    columns = []
    if not ground:
        a = mid[:12].T.reshape(-1, 4, 3)
        for i in range(6):
            v, w = (np.eye(3)[i], np.zeros(3)) if i < 3 else (np.zeros(3), np.eye(3)[i - 3])
            body_a = np.concatenate([np.broadcast_to(v, (SAMPLES, 1, 3)), np.cross(w, a[:, 1:])], axis=1)
            if isinstance(element, Spherical) and i >= 3:  # body b turns with its own angular velocity
                rho_a = np.einsum("k,nki->ni", [reading.values[e] for e in s.point_a], a[:, 1:])
                first = np.cross(w, rho_a)[:, None]
                body_b = np.concatenate([first, np.zeros((SAMPLES, 3, 3))], axis=1)
            else:
                first = (v + np.cross(w, b[:, 0] - a[:, 0]))[:, None]
                body_b = np.concatenate([first, np.cross(w, b[:, 1:])], axis=1)
            columns.append(np.concatenate([body_a.reshape(SAMPLES, -1), body_b.reshape(SAMPLES, -1)], axis=1))
    for angular, linear in element.freedoms(s) if freedoms is None else freedoms:
        w, v = reading.numbers(angular).T, reading.numbers(linear).T
        body_b = np.concatenate([(v - np.cross(w, rho))[:, None], np.cross(w[:, None], b[:, 1:])], axis=1).reshape(SAMPLES, -1)
        columns.append(np.concatenate([np.zeros((SAMPLES, offset)), body_b], axis=1))
    P = np.array(columns).transpose(1, 2, 0) if columns else np.zeros((SAMPLES, offset + 12, 0))
    if isinstance(element, Screw):
        rate = reading.numbers([element.angle_rate(s)])[0]
        extra = np.zeros((SAMPLES, 2, P.shape[2]))
        extra[:, 0, -1], extra[:, 1, -1] = PITCH * rate, rate
        P = np.concatenate([P, extra], axis=1)
    return P


def all_rows(reading: Reading, ground: bool) -> np.ndarray:
    """Ḡ (samples, rows, coordinates) with the internal constraints of the bodies."""
    n = len(reading.q0)
    rows = [reading.constraint_rows()]
    for offset in (0,) if ground else (0, 12):
        part = internal_rows(reading.q0[offset : offset + 12], reading.q1[offset : offset + 12])
        padded = np.zeros((6, n, SAMPLES))
        padded[:, offset : offset + 12] = part
        rows.append(padded)
    return np.concatenate(rows).transpose(2, 0, 1)


PAIRS = [Spherical, Revolute, Prismatic, Cylindrical, Planar, Universal, Rigid, Screw]
FREEDOMS = {Spherical: 3, Revolute: 1, Prismatic: 1, Cylindrical: 2, Planar: 3, Universal: 2, Rigid: 0, Screw: 1}


@pytest.mark.parametrize("ground", [False, True], ids=["two bodies", "ground"])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.__name__)
def test_discrete_null_space(pair: type, ground: bool) -> None:
    reading = made(pair, ground)
    G, P = all_rows(reading, ground), null_space(reading, ground)
    assert np.abs(reading.constraint_values()).max() < 1e-13
    assert np.abs(reading.constraint_values(reading.q0)).max() < 1e-13
    assert P.shape[2] == FREEDOMS[pair] + (0 if ground else 6)
    if P.shape[2]:
        assert np.abs(G @ P).max() < 2e-13
        assert np.linalg.matrix_rank(P, tol=1e-8).min() == P.shape[2]
    assert np.linalg.matrix_rank(G, tol=1e-8).min() == G.shape[1]
    assert G.shape[1] + P.shape[2] == G.shape[2]
    step = (reading.q1 - reading.q0).T
    assert np.abs(np.einsum("nij,nj->ni", G, step)).max() < 1e-13


def test_planar_pair_needs_corrected_columns() -> None:
    reading = made(Planar, False)
    m1, m2, _ = reading.element.vectors(reading.s, reading.s.mid).a
    zero = m1 * 0.0
    defect = np.abs(all_rows(reading, False) @ null_space(reading, False, [(zero, m1), (zero, m2)])).max()
    assert defect > 1e-2


def test_slider_needs_cross_product() -> None:
    reading = made(Prismatic, False)
    n = reading.element.vectors(reading.s, reading.s.mid).a[2]
    assert np.abs(all_rows(reading, False) @ null_space(reading, False, [(n * 0.0, n)])).max() > 1e-2


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.__name__)
def test_gradients_against_complex_steps(pair: type) -> None:
    reading = made(pair, False)
    q = reading.q1
    # read from q to q: the discrete gradient is the gradient
    reading.values |= dict(zip(reading.x0, q, strict=True)) | dict(zip(reading.flat(reading.s.mid), q, strict=True))
    G = reading.constraint_rows()
    for j in range(len(q)):
        moved = q.astype(complex)
        moved[j] += 1e-30j
        assert np.abs(reading.constraint_values(moved).imag / 1e-30 - G[:, j]).max() < 2e-14 * max(1.0, np.abs(G).max())


@pytest.mark.parametrize("pair", [PlanarRevolute, PlanarPrismatic, PlanarRigid], ids=lambda p: p.__name__)
def test_planar_pairs(pair: type) -> None:
    rng = np.random.default_rng(5)
    fa, fb = rng.uniform(-3, 3, 2)
    pa, pb = rng.normal(size=(2, 2))

    def R(a: float) -> np.ndarray:
        return np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])

    def configuration() -> np.ndarray:
        x, angle = rng.normal(size=2), rng.uniform(-3, 3)
        turned = rng.uniform(-1.5, 1.5) if pair is PlanarRevolute else 0.0
        slid = rng.normal() if pair is PlanarPrismatic else 0.0
        A, B = R(angle), R(angle + fa + turned - fb)
        xb = x + A @ (pa + R(fa) @ [slid, 0.0]) - B @ pb
        return np.concatenate([x, A.T.ravel(), xb, B.T.ravel()])

    element = pair()
    q0, q1 = (np.array([configuration() for _ in range(SAMPLES)]).T for _ in range(2))
    constants = {"point_a": pa, "point_b": pb, "frame_a": R(fa).T.ravel(), "frame_b": R(fb).T.ravel()}
    reading = Reading(element, q0, q1, {k: constants[k] for k in element.constants})
    assert np.abs(reading.constraint_values()).max() < 1e-13
    G, mid = reading.constraint_rows().transpose(2, 0, 1), 0.5 * (q0 + q1)
    assert np.abs(np.einsum("nij,nj->ni", G, (q1 - q0).T)).max() < 1e-13
    for angular, linear in element.freedoms(reading.s):
        w, v = reading.numbers(angular)[2], reading.numbers(linear)[:2]
        d1, d2 = mid[8:10], mid[10:12]
        turned1, turned2 = np.array([-d1[1], d1[0]]) * w, np.array([-d2[1], d2[0]]) * w
        velocity = np.concatenate([np.zeros((6, SAMPLES)), v - pb[0] * turned1 - pb[1] * turned2, turned1, turned2])
        assert np.abs(np.einsum("nij,jn->ni", G, velocity)).max() < 1e-13


def test_placing_meets_the_constraints() -> None:
    rng = np.random.default_rng(7)
    a, b = (director_coordinates(x, R) for x, R in zip(rng.normal(size=(2, 3)), rotations(rng, 2), strict=True))
    for pair in PAIRS[:-1]:
        element = pair()
        constants = element.place(rng.normal(size=3), rng.normal(size=3), a, b, normal=rng.normal(size=3))
        q = np.concatenate([a, b])
        reading = Reading(element, q, q, constants)
        assert np.abs(reading.constraint_values()).max() < 2e-15 * 10


def test_bodies_by_points_take_the_same_pairs() -> None:
    rng = np.random.default_rng(8)
    points = rng.normal(size=(2, 4, 3))
    hinge = Revolute(a=Tetrahedron(), b=Tetrahedron())
    constants = hinge.place((0.1, 0.2, 0.3), (1, 2, 3), points[0], points[1])
    q = points.ravel()
    assert np.abs(Reading(hinge, q, q, constants).constraint_values()).max() < 1e-12
    assert list(hinge.blocks) == ["a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3"]


def test_what_cannot_be_joined_is_refused() -> None:
    with pytest.raises(ModelError, match="carries no directions"):
        Revolute(b=Particle())
    with pytest.raises(ModelError, match="dimensions"):
        PlanarRevolute(a=Ground())
    upright = director_coordinates(np.zeros(3), np.eye(3))
    with pytest.raises(ModelError, match="has no direction"):
        Revolute(a=Ground()).place((0, 0, 0), (0, 0, 0), b=upright)
    with pytest.raises(ModelError, match="span no volume"):
        Revolute(a=Ground()).place((0, 0, 0), (0, 0, 1), b=np.zeros(12))
    with pytest.raises(ModelError, match="start coordinates of body b"):
        Revolute(a=Ground()).place((0, 0, 0), (0, 0, 1))
    with pytest.raises(ModelError, match="parallel"):
        Revolute(a=Ground()).place((0, 0, 0), (0, 0, 1), b=upright, normal=(0, 0, 2))


def test_equal_options_are_one_type() -> None:
    assert Revolute().key == Revolute().key
    assert Revolute().key != Revolute(a=Ground()).key
    assert JointAngle(form="thesis").key != JointAngle().key
    assert hash(Revolute(a=Ground()).key) == hash(Revolute(a=Ground()).key)
