"""Director bodies and pairs on the energy-consistent engine against rotation matrices, quaternions and the motion of their centre of mass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from jourdain.elements.element import symbols_of
from jourdain.elements.pairs import Pair, Revolute
from jourdain.elements.rigid import DirectorBody, PlanarBody, euler_tensor
from jourdain.library import conserving
from jourdain.symbolic import constant, evaluate
from jourdain.systems.assembled.system import AssembledSystem
from tests.systems.assembled.test_joints import PLANAR, SPATIAL, flying_pair

# rigid body ------------------------------------------------------------------------------------------------------------------


def null_space(q: np.ndarray) -> np.ndarray:
    """P of q̇ = P (v, ω) as the element gives it."""
    return np.array([[float(e) for e in row] for row in DirectorBody.reduction.basis([constant(float(x)) for x in q])])


def mass_matrix(numbers: dict[str, Any]) -> np.ndarray:
    body = DirectorBody()
    s = symbols_of(body)
    known = {s.mass: numbers["mass"]}
    known |= dict(zip((*s.moment, *s.euler), (*numbers["moment"], *numbers["euler"]), strict=True))
    M = np.zeros((12, 12))
    for (_, i, _, j), e in body.mass(s).items():
        M[i, j] = evaluate(e, known)
    return M


def random_inertia(rng: np.random.Generator) -> np.ndarray:
    cloud = rng.normal(size=(6, 3))
    return np.einsum("ki,ki->", cloud, cloud) * np.eye(3) - cloud.T @ cloud


def test_reduction_to_newton_and_euler() -> None:
    """PᵀMP = diag(m 1, R J Rᵀ) and PᵀMṖt = (0, ω × Jω) for a body given in any axes at its centre of mass."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        J, mass = random_inertia(rng), rng.uniform(1, 3)
        R = Rotation.random(random_state=rng).as_matrix()
        M, q = mass_matrix(DirectorBody.numbers(mass, J)), DirectorBody.coordinates_of(rng.normal(size=3), R)
        P, spatial = null_space(q), R @ J @ R.T
        expected = np.zeros((6, 6))
        expected[:3, :3], expected[3:, 3:] = mass * np.eye(3), spatial
        assert np.abs(P.T @ M @ P - expected).max() < 1e-14 * np.abs(spatial).max() * 4
        v, w = rng.normal(size=(2, 3))
        rates = DirectorBody.rates_of(q, v, w)
        assert rates == pytest.approx(P @ [*v, *w], abs=1e-14)
        moved = null_space(rates)  # P is linear in q but for the constant block of the velocity
        moved[:3] = 0.0
        gyroscopic = P.T @ M @ moved @ [*v, *w]
        assert gyroscopic == pytest.approx([0, 0, 0, *np.cross(w, spatial @ w)], abs=1e-12)


def test_euler_tensors_of_boxes_and_cylinders() -> None:
    """A box of sides a has E = M a²/12, a cylinder M R²/4 across its axis."""
    M, a, R, length = 3.0, np.array([0.2, 0.5, 0.7]), 0.3, 0.8
    box = M / 12.0 * np.array([a[1] ** 2 + a[2] ** 2, a[0] ** 2 + a[2] ** 2, a[0] ** 2 + a[1] ** 2])
    assert np.diag(euler_tensor(box)) == pytest.approx(M * a**2 / 12.0, rel=1e-14)
    across = M * (R**2 / 4.0 + length**2 / 12.0)
    assert np.diag(euler_tensor((across, across, M * R**2 / 2.0))) == pytest.approx([M * R**2 / 4.0] * 2 + [M * length**2 / 12.0])


def euler_top(inertia: np.ndarray, omega: np.ndarray, end: float) -> np.ndarray:
    """Rotation matrix of a free body by quaternions and Euler's equations in body axes."""

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        e, w = y[:4], y[4:]
        spin = 0.5 * np.array([-e[1:] @ w, *(e[0] * w + np.cross(e[1:], w))])
        return np.concatenate([spin, np.cross(inertia * w, w) / inertia])

    y = solve_ivp(rates, (0.0, end), [1, 0, 0, 0, *omega], "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return Rotation.from_quat([*y[1:4], y[0]]).as_matrix()


def free_body(inertia: np.ndarray, omega: np.ndarray) -> AssembledSystem:
    s = AssembledSystem("free body")
    q = DirectorBody.coordinates_of()
    body = s.coordinates("body", 12, q, DirectorBody.rates_of(q, (0.3, -0.2, 0.1), omega))
    s.add(DirectorBody(), "inertia", {"body": body}, DirectorBody.numbers(2.0, inertia))
    return s


@pytest.mark.parametrize("reduction", ["none", "bodies", "joints"])
def test_second_order_against_quaternions(reduction: str) -> None:
    inertia, omega = np.array([1.0, 2.0, 2.5]), np.array([1.0, 2.0, 3.0])
    exact = euler_top(inertia, omega, 2.0)
    errors = []
    for h in (0.02, 0.01, 0.005):
        sol = free_body(inertia, omega).simulate(2.0, h, reduction=reduction)
        errors.append(np.abs(sol["body.rotation"][-1] - exact).max())
        assert sol["body.position"][-1] == pytest.approx([0.6, -0.4, 0.2], abs=1e-13)
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx([2.0, 2.0], abs=0.03)
    assert errors[-1] < 1e-3


def test_directors_are_orthonormal_at_the_ends_of_steps_only() -> None:
    """Mean directors of a step are shorter by 1 − cos(θ/2): normalising them anywhere would break the scheme."""
    sol = free_body(np.array([1.0, 2.0, 2.5]), np.array([1.0, 2.0, 3.0])).simulate(2.0, 0.1)
    R = sol["body.rotation"]
    gram = R.swapaxes(1, 2) @ R
    assert np.abs(gram - np.eye(3)).max() < 1e-13
    mean = 0.5 * (R[1:] + R[:-1])
    lost = np.abs(mean.swapaxes(1, 2) @ mean - np.eye(3)).max(axis=(1, 2))
    angle = Rotation.from_matrix(R[:-1].swapaxes(1, 2) @ R[1:]).magnitude()
    assert lost.min() > 0.01
    assert lost == pytest.approx(np.sin(0.5 * angle) ** 2, rel=0.2)  # 1 − cos²(θ/2) for directors across the axis


# pairs in free flight ---------------------------------------------------------------------------------------------------------

PARTS = ("position", "rotation", "angle")


def centre_of_mass(s: AssembledSystem, sol: Any) -> np.ndarray:
    """From the bodies' constants: Σ (m φ + Σ m X_G d) / Σ m."""
    total, moment = 0.0, np.zeros(1)
    for instance in s.instances:
        if not isinstance(instance.element, (DirectorBody, PlanarBody)):
            continue
        n = 3 if isinstance(instance.element, DirectorBody) else 2
        name = instance.blocks["body"].name
        if n == 3:
            R = sol[f"{name}.rotation"]
        else:
            c, d = np.cos(sol[f"{name}.angle"]), np.sin(sol[f"{name}.angle"])
            R = np.stack([np.stack([c, -d], -1), np.stack([d, c], -1)], 1)
        mass = instance.numbers[0]
        total += mass
        moment = moment + mass * sol[f"{name}.position"] + np.einsum("nij,j->ni", R, instance.numbers[1 : 1 + n])
    return moment / total


@pytest.mark.parametrize("kind", SPATIAL + PLANAR, ids=lambda k: k.__name__)
def test_pairs_in_free_flight(kind: type[Pair]) -> None:
    """200 steps: the scheme with all constraints and that in joint coordinates agree, and the common centre of mass flies straight."""
    s = flying_pair(kind, 8)
    runs = [s.simulate(4.0, 0.02, reduction=r) for r in ("none", "joints")]
    names = [f"{body}.{part}" for body in ("one", "two") for part in PARTS if f"{body}.{part}" in runs[0]]
    assert len(runs[0].t) == 201
    assert len(names) == 4
    for name in names:
        scale = max(1.0, np.abs(runs[0][name]).max())
        assert np.abs(runs[0][name] - runs[1][name]).max() < 1e-10 * scale, name
    for sol in runs:
        centre = centre_of_mass(s, sol)
        mass = sum(i.numbers[0] for i in s.instances if isinstance(i.element, (DirectorBody, PlanarBody)))
        velocity = sol["momentum.linear"][0][: centre.shape[1]] / mass
        assert np.abs(centre - centre[0] - np.outer(sol.t, velocity)).max() < 1e-11 * max(1.0, np.abs(centre).max())
        assert np.ptp(sol["energy.total"]) < 1e-11 * sol["energy.total"][0]
        assert np.ptp(sol["momentum.angular"], axis=0).max() < 1e-11 * max(1.0, np.abs(sol["momentum.angular"]).max())


# screw pair ---------------------------------------------------------------------------------------------------------------------


def test_screw_without_pitch_steps_like_a_hinge() -> None:
    """p = 0 makes the screw pair a revolute pair, step by step."""
    screw = conserving.screw_pair(0.0)
    s = AssembledSystem("hinge")
    q = dict(zip(("spindle", "nut"), np.split(screw.q0[:24], 2), strict=True))
    v = dict(zip(("spindle", "nut"), np.split(screw.v0[:24], 2), strict=True))
    h = {n: s.coordinates(n, 12, q[n], v[n]) for n in q}
    s.add(DirectorBody(), "inertia.spindle", {"body": h["spindle"]}, DirectorBody.numbers(3.0, (1636.0, 1636.0, 72.0)))
    s.add(DirectorBody(), "inertia.nut", {"body": h["nut"]}, DirectorBody.numbers(4.0, (96.0, 96.0, 96.0)))
    pair = Revolute()
    s.add(pair, "hinge", {"a": h["spindle"], "b": h["nut"]}, pair.place((0.0, 0.0, -30.0), (0.0, 0.0, 1.0), q["spindle"], q["nut"]))
    for reduction in ("none", "joints"):
        one, two = (x.simulate(1.0, 0.02, reduction=reduction) for x in (screw, s))
        for name in ("spindle.position", "spindle.rotation", "nut.position", "nut.rotation", "nut.velocity"):
            assert np.abs(one[name] - two[name]).max() < 1e-10 * max(1.0, np.abs(two[name]).max()), name


def test_screw_pair_at_a_small_step_and_with_the_pitch_per_radian() -> None:
    sol = conserving.screw_pair().simulate(1.0, 0.005)
    assert (sol["angle"][-1], sol["displacement"][-1]) == pytest.approx((19.780162, 62.962211), abs=1e-6)
    assert sol["spindle.position"][-1] == pytest.approx([116.5325, 26.7425, 36.6241], abs=6e-5)
    assert sol["nut.position"][-1] == pytest.approx([137.4015, 35.1423, 12.5319], abs=6e-5)
    steep = conserving.screw_pair(20.0 * 2.0 * np.pi).simulate(0.1, 0.005)
    assert steep["energy.total"][0] == pytest.approx(476510.256349, abs=1e-6)
    assert steep["momentum.linear"][0][2] == pytest.approx(1759.291886, abs=1e-6)
    assert steep["momentum.angular"][0] == pytest.approx([7900.388812, -11299.611188, 2111.150263], abs=1e-6)


def test_angle_of_the_screw_pair_counts_turns_through_singular_places_of_the_printed_constraint() -> None:
    """Three turns cross 3π/4 + kπ six times; the angle is that of the directors at every step, modulo 2π."""
    sol = conserving.screw_pair().simulate(1.0, 0.02)
    relative = sol["spindle.rotation"].swapaxes(1, 2) @ sol["nut.rotation"]
    angle = np.arctan2(relative[:, 1, 0], relative[:, 0, 0])
    assert np.abs(np.angle(np.exp(1j * (sol["angle"] - angle)))).max() < 1e-11
    crossed = np.floor((sol["angle"] - 0.75 * np.pi) / np.pi)
    assert np.ptp(crossed) == 6
    assert np.diff(sol["angle"]).min() > 0.2
    assert np.abs(sol["displacement"] - 20.0 / (2.0 * np.pi) * sol["angle"]).max() < 1e-11
