"""Bodies by points, penalties and clearances on the energy-consistent engine (García Orden & Goicolea, cases 7.1 and 7.2)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from benchmarks.problems import reference
from jourdain.analysis.simulate import SimulationError
from jourdain.elements.carriers import Bar, Directors, Ground, Particle, Tetrahedron
from jourdain.elements.clearance import Cavity, RevoluteClearance, SphericalClearance, blob
from jourdain.elements.pairs import Revolute
from jourdain.elements.points import PointBody
from jourdain.elements.potentials import AugmentedLagrangian, Penalty, PointMass, PointPotential
from jourdain.elements.rigid import DirectorBody
from jourdain.errors import ModelError, SolverError
from jourdain.library import conserving
from jourdain.systems.assembled.augmented_lagrangian import simulate_augmented
from jourdain.systems.assembled.system import AssembledSystem

TIGHT = 1e-15
"""Contact walls of 4e8 N/m ask for coordinates to the last digit."""


def drift(sol) -> float:
    return float(np.abs(sol["energy.total"] - sol["energy.total"][0]).max())


# central forces and free bodies -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stiffness", [1e2, 1e6])
def test_stiff_central_force(stiffness: float) -> None:
    s = AssembledSystem("particle")
    x = s.coordinates("x", 3, (1.0, 0.0, 0.0), (0.3, 1.0, 0.2))
    s.add(PointMass(3), "mass", {"x": x}, {"mass": 1.0})
    s.add(PointPotential(Ground(), Particle()), "spring", {"b": x}, {"point_a": np.zeros(3), "stiffness": stiffness, "length": 1.0})
    sol = s.simulate(100.0, 0.05, every=20, tolerance=TIGHT)
    assert drift(sol) < 1e-11 + 2e-16 * stiffness
    assert np.ptp(sol["momentum.angular"], axis=0).max() < 1e-11
    others = s.simulate(100.0, 0.05, method="midpoint", every=20)
    assert drift(others) > 1e-3


def free_body(rigidity: str, alpha: float = 1e10) -> AssembledSystem:
    """The body of the unstable-axis benchmark by four points."""
    s = AssembledSystem("free body")
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.2, 0.0], [0.1, 1.0, 0.3], [0.0, 0.3, 1.0]])
    body = PointBody(rigidity=rigidity)
    inertia = np.diag([0.1, 0.2, 0.27])
    w = np.array([0.01, 5.0, 0.02])
    centre = np.zeros(3)
    handles = {f"p{i}": s.coordinates(f"p{i}", 3, x, np.cross(w, x - centre)) for i, x in enumerate(points)}
    s.add(body, "body", handles, body.numbers(points, 2.0, inertia, centre, alpha=alpha))
    return s


@pytest.mark.parametrize("rigidity", ["constraint", "penalty"])
def test_free_body_by_points(rigidity: str) -> None:
    """Energy and momenta, and the tumbling of the known solution, with second order."""
    r = reference("B04_free_body")
    end = 2.0
    k = int(np.argmin(np.abs(r["t"] - end)))
    w, x, y, z = (r[c][k] for c in ("q0", "q1", "q2", "q3"))
    R = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    start = np.array([1.0, 0.2, 0.0])
    errors = []
    for h in (0.004, 0.002):
        sol = free_body(rigidity).simulate(end, h, tolerance=TIGHT)
        assert drift(sol) < 1e-10
        for momentum in ("momentum.linear", "momentum.angular"):
            assert np.ptp(sol[momentum], axis=0).max() < 1e-10
        errors.append(np.linalg.norm(sol["p1"][-1] - sol["p0"][-1] - R @ start))
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


def test_penalty_violation_falls_with_alpha() -> None:
    worst = []
    for alpha in (1e7, 1e8, 1e9):
        sol = free_body("penalty", alpha).simulate(0.5, 0.002)
        worst.append(np.abs(np.linalg.norm(sol["p1"] - sol["p0"], axis=1) - math.hypot(1.0, 0.2)).max())
    assert math.log10(worst[0] / worst[1]) == pytest.approx(1.0, abs=0.05)
    assert math.log10(worst[1] / worst[2]) == pytest.approx(1.0, abs=0.05)


# case 7.1 --------------------------------------------------------------------------------------------------------------------

IDEAL = {0.25: (1.039135, 0.991510, -0.274725), 0.5: (1.107277, 0.473601, -1.410710), 1.0: (-1.403113, -0.446979, -1.149422)}


def test_ideal_double_pendulum() -> None:
    def error(h: float) -> float:
        sol = conserving.cavity_pendulum(clearance=False).simulate(1.0, h, tolerance=TIGHT)
        assert drift(sol) < 1e-10
        return max(np.abs(sol["B"][round(t / h)] - b).max() for t, b in IDEAL.items())

    coarse, fine = error(0.002), error(0.001)
    assert fine < 1e-4
    assert coarse / fine == pytest.approx(4.0, rel=0.15)


def test_cavity_pendulum_with_a_blob() -> None:
    sol = conserving.cavity_pendulum().simulate(5.0, 1e-3, tolerance=TIGHT)
    assert drift(sol) < 1e-8
    assert 19.0 < sol["energy.kinetic"].max() < 21.5
    y = sol["O"][:, 1]
    assert y.min() < -0.03 < 0.03 < y.max()  # both lobes
    assert np.abs(sol["O"]).max() < 0.045
    assert sol.statistics["halvings"] < 10


def test_two_spheres_at_large_steps() -> None:
    sol = conserving.cavity_pendulum(two_spheres=True).simulate(5.0, 7e-3, tolerance=TIGHT)
    assert drift(sol) < 1e-9
    assert sol.statistics["halvings"] < 10
    assert np.linalg.norm(sol["A2"] - sol["A"], axis=1).max() < 0.05


def test_trapezoidal_rule_fails_where_the_conserving_scheme_does_not() -> None:
    s = conserving.cavity_pendulum()
    try:
        energy = s.simulate(2.0, 5e-4, method="trapezoidal")["energy.total"]
    except SimulationError as failure:
        energy = failure.solution["energy.total"]
        assert failure.solution.t[-1] < 2.0
    assert np.abs(energy).max() > 1.0
    assert drift(s.simulate(2.0, 1e-3, tolerance=TIGHT)) < 1e-8


def test_backward_euler_loses_energy() -> None:
    sol = conserving.cavity_pendulum().simulate(10.0, 3e-3, method="backward-euler")
    assert sol["energy.total"][-1] == pytest.approx(-13.5, abs=0.5)


def test_contact_with_loss_never_gains() -> None:
    sol = conserving.cavity_pendulum(two_spheres=True, damping=0.2).simulate(2.0, 1e-3, tolerance=TIGHT)
    assert np.diff(sol["energy.dissipated"]).min() >= 0.0
    assert sol["energy.dissipated"][-1] > 0.1
    assert np.abs(sol["energy.residual"]).max() < 1e-7


# moving cavities and play between free bodies: both momenta -----------------------------------------------------------------


def free_pair(element, blocks_b: str, **constants: object) -> AssembledSystem:
    """A spinning body with a cavity, or a hinge with play, and what is inside, flying free."""
    s = AssembledSystem("free pair")
    qa = DirectorBody.coordinates_of()
    a = s.coordinates("a", 12, qa, DirectorBody.rates_of(qa, (0.1, 0.0, 0.0), (0.5, 1.0, 2.0)))
    s.add(DirectorBody(), "inertia.a", {"body": a}, DirectorBody.numbers(2.0, (0.3, 0.4, 0.5)))
    if blocks_b == "point":
        b = s.coordinates("b", 3, (0.0, 0.0, 0.0), (0.8, -0.5, 0.3))
        s.add(PointMass(3), "inertia.b", {"x": b}, {"mass": 0.5})
    else:
        qb = DirectorBody.coordinates_of((0.0, 0.0, 0.6))
        b = s.coordinates("b", 12, qb, DirectorBody.rates_of(qb, (0.0, 0.3, 0.1), (0.1, -0.4, 5.0)))
        s.add(DirectorBody(), "inertia.b", {"body": b}, DirectorBody.numbers(1.0, (0.1, 0.2, 0.25)))
    s.add(element, "joint", {"a": a, "b": b}, constants)
    return s


def test_momenta_with_a_moving_sphere() -> None:
    element = SphericalClearance(Directors(), Particle())
    sol = free_pair(element, "point", point_a=(0.1, 0.0, 0.0), radius=0.2, stiffness=1e5).simulate(3.0, 5e-3, tolerance=1e-14)
    check_free_flight(sol)


@pytest.mark.parametrize("form", ["gonzalez", "rules"])
def test_momenta_with_a_moving_blob(form: str) -> None:
    element = Cavity(blob, {"scale": 3, "offset": 1}, Directors(), Particle(), form=form)
    shape = {"point_a": (0.0, 0.0, 0.0), "frame_a": np.eye(3).ravel(), "scale": (8.0, 8.0, 8.0), "offset": 1.1, "stiffness": 1e4}
    check_free_flight(free_pair(element, "point", **shape).simulate(3.0, 2e-3, tolerance=1e-14))


def test_momenta_with_play_in_a_hinge() -> None:
    element = RevoluteClearance(angular=2.0, axial=1.5, radial=1.5)
    numbers = element.place((0.0, 0.0, 0.3), (0, 0, 1), DirectorBody.coordinates_of(), DirectorBody.coordinates_of((0.0, 0.0, 0.6)))
    play = {
        "angular_play": 0.1,
        "angular_stiffness": 1e5,
        "axial_play": 0.01,
        "axial_stiffness": 1e5,
        "radial_play": 0.005,
        "radial_stiffness": 1e5,
    }
    sol = free_pair(element, "body", **numbers, **play).simulate(3.0, 2e-3, tolerance=1e-14)
    check_free_flight(sol)
    axes = sol["a.rotation"][:, :, 2], sol["b.rotation"][:, :, 2]
    angle = np.arccos(np.clip(np.einsum("ni,ni->n", *axes), -1.0, 1.0))
    assert 0.1 < angle.max() < 0.3


def check_free_flight(sol) -> None:
    assert sol["energy.potential"].max() > 1e-3  # there was contact
    assert drift(sol) < 1e-9
    assert np.ptp(sol["momentum.linear"], axis=0).max() < 1e-11
    assert np.ptp(sol["momentum.angular"], axis=0).max() < 1e-11


# case 7.2 --------------------------------------------------------------------------------------------------------------------


def two_dof(t_end: float) -> np.ndarray:
    """Centre of the second prism with perfect joints, by Lagrange's equations in θ and ψ."""
    length, width, thick = 0.0104 / 12.0, 1.0004 / 12.0, 1.01 / 12.0

    def rates(t: float, y: np.ndarray) -> list[float]:
        theta, psi, u, w = y
        c, s = math.cos(psi), math.sin(psi)
        A = 0.25 + width + (1 + c / 2) ** 2 + length * s * s + width * c * c
        dA = -(1 + c / 2) * s + 2 * (length - width) * s * c
        return [
            u,
            w,
            (10 * math.cos(theta) * (1.5 + 0.5 * c) - dA * w * u) / A,
            (0.5 * dA * u * u - 5 * math.sin(theta) * s) / (0.25 + thick),
        ]

    theta, psi = solve_ivp(rates, (0.0, t_end), [0.0, math.pi / 2, 0.0, 0.0], "DOP853", rtol=1e-11, atol=1e-12).y[:2, -1]
    reach = 1 + math.cos(psi) / 2
    return np.array([math.cos(theta) * reach, math.sin(psi) / 2, -math.sin(theta) * reach])


def test_prisms_with_perfect_joints() -> None:
    exact = two_dof(1.0)
    assert exact == pytest.approx([-1.243297, -0.337830, -0.572098], abs=1e-6)
    errors = []
    for h in (4e-3, 2e-3):
        sol = conserving.prism_pendulum(None).simulate(1.0, h)
        assert drift(sol) < 1e-9
        errors.append(np.linalg.norm(0.5 * (sol["A"][-1] + sol["B"][-1]) - exact))
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


def test_hinge_of_bodies_by_points_as_a_penalty() -> None:
    """The joint at A realised by the general revolute pair (penalty) instead of parallel axes moves alike."""
    s = conserving.prism_pendulum(None)
    t = conserving.prism_pendulum(None)
    kept = [i for i in t.instances if i.name != "joint"]
    joint = next(i for i in t.instances if i.name == "joint")
    other = AssembledSystem("by a hinge")
    handles = {h.name: other.coordinates(h.name, h.size, t.q0[h.offset : h.offset + h.size], fixed=h.fixed) for h in t.handles}
    for i in kept:
        flat, at, constants = i.numbers, 0, {}
        for name, size in i.element.constants.items():
            constants[name] = flat[at : at + size]
            at += size
        other.add(i.element, i.name, {b: handles[h.name] for b, h in i.blocks.items()}, constants)
    hinge = Revolute(Tetrahedron(), Tetrahedron())
    ends = [np.array([[*t.q0[joint.blocks[f"{side}{k}"].offset :][:3]] for k in range(4)]) for side in "ab"]
    constants = {**hinge.place((1.0, 0.0, 0.0), (0, 0, 1), *ends), "alpha": 1e12}
    other.add(Penalty(hinge), "joint", {b: handles[h.name] for b, h in joint.blocks.items()}, constants)
    one, two = s.simulate(0.5, 2e-3), other.simulate(0.5, 2e-3)
    assert np.abs(one["B"] - two["B"]).max() < 1e-6


def test_prisms_with_angular_play() -> None:
    s = conserving.prism_pendulum()
    sol = s.simulate(1.0, 4e-3, tolerance=1e-14)
    assert drift(sol) < 1e-9
    centre = 0.5 * (sol["A"] + sol["B"])
    assert centre[125] == pytest.approx([0.6754, 0.2594, -1.2521], abs=2e-3)
    first, second = (np.cross(sol[p] - sol["A"], sol[q] - sol["A"]) for p, q in (("O", "O2"), ("S", "B")))
    axes = [x / np.linalg.norm(x, axis=1)[:, None] for x in (first, second)]
    angle = np.arccos(np.clip(np.abs(np.einsum("ni,ni->n", *axes)), 0.0, 1.0))
    assert 0.2 < angle.max() < 0.27


# augmented Lagrangian ----------------------------------------------------------------------------------------------------------


def bars(wrap, **more: float) -> AssembledSystem:
    """The ideal double pendulum with the lengths of its bars held in some way."""
    s = AssembledSystem("bars")
    x = {"O": np.zeros(3), "A": np.array([1.0, 0.0, 0.0]), "B": np.array([1.0, 1.0, 0.0])}
    p = {k: s.coordinates(k, 3, v, fixed=k == "O") for k, v in x.items()}
    bar = PointBody(Bar())
    for a, b in ("OA", "AB"):
        numbers = bar.numbers((x[a], x[b]), 1.0, 1.0 / 12.0, gravity=(0.0, 0.0, -10.0))
        s.add(wrap(bar), a + b, {"p0": p[a], "p1": p[b]}, {**numbers, **more})
    return s


def test_augmented_lagrangian_moves_as_multipliers_and_stiff_penalties_do() -> None:
    exact = bars(lambda element: element).simulate(1.0, 2e-3)
    penalty = bars(Penalty, alpha=1e12).simulate(1.0, 2e-3)
    augmented = simulate_augmented(bars(AugmentedLagrangian, alpha=1e6), 1.0, 2e-3)
    assert len(augmented.t) == len(exact.t)
    assert np.abs(penalty["B"] - exact["B"]).max() < 1e-8
    assert np.abs(augmented["B"] - exact["B"]).max() < 1e-8
    assert np.abs(np.linalg.norm(augmented["A"], axis=1) - 1.0).max() < 1e-9
    assert drift(augmented) < 1e-7
    soft = bars(Penalty, alpha=1e6).simulate(1.0, 2e-3)
    assert np.abs(soft["B"] - exact["B"]).max() > 1e-6


def test_augmented_lagrangian_says_what_is_missing() -> None:
    with pytest.raises(ModelError, match="no augmented Lagrangian"):
        simulate_augmented(bars(Penalty, alpha=1e6), 0.1, 1e-2)
    with pytest.raises(SolverError, match="after 2 sweeps"):
        simulate_augmented(bars(AugmentedLagrangian, alpha=1e3), 0.1, 1e-2, sweeps=2)
