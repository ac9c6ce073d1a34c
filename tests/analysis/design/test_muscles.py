"""Muscles that share the moments of joints, by the costs of spec 07 (17) to (22): its closed forms and its table of nine muscles (C22, T14), and muscles that move."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr

#: Specific strength (N/cm²): stress is F/PCSA with PCSA = F₀/s̄.
STRENGTH = 31.39
ARMS, STRONGEST, MOMENT = np.array([[0.04, 0.03, 0.05]]), np.array([1000.0, 500.0, 800.0]), [40.0]
#: Costs by their sizes of force: F, F/PCSA, F/F₀, F/(F₀ r).
SIZES = {
    17: lambda F, r: np.ones(len(F)) * F.max(),
    18: lambda F, r: F,
    19: lambda F, r: F,
    20: lambda F, r: F * np.abs(r).max(axis=0) / np.abs(r).max(),
}


def power_sum(power: int, cost: int, strongest: np.ndarray, arms: np.ndarray) -> str:
    """Σ (F/size)ᵖ in activations a = F/F₀."""
    sizes = strongest / SIZES[cost](strongest, arms)
    return " + ".join(f"({float(s)!r}*a{i})^{power}" for i, s in enumerate(sizes))


def shared(
    cost: str, arms: np.ndarray, strongest: np.ndarray, moments: Sequence[float], method: str = "slsqp", tolerance: float = 1e-14
) -> jd.Optimum:
    """Activations in [0, 1] whose forces have the moments and the least cost."""
    m = jd.Model("joint", gravity=(0, 0, 0))
    for i in range(len(strongest)):
        m.parameter(f"a{i}", 0.2, bounds=(0.0, 1.0))
    m.prismatic("x", m.ground, m.body("mass", mass=1.0), axis="x")
    still = jd.Analysis(m.compile(), "simulate", {}, t=0.01)
    size = max(map(abs, moments))
    rows = {}
    for j, (row, moment) in enumerate(zip(arms, moments, strict=True)):
        terms = " + ".join(f"{float(r * f / size)!r}*a{i}" for i, (r, f) in enumerate(zip(row, strongest, strict=True)) if r)
        rows[f"moment{j}"] = cr.final(terms).equals(moment / size) if method != "mma" else cr.final(terms) >= moment / size
    names = [f"a{i}" for i in range(len(strongest))]
    return jd.Problem(still, names, {"cost": cr.final(cost)}, rows).optimise(method=method, tolerance=tolerance, limit=1000)


def forces(best: jd.Optimum, strongest: np.ndarray) -> np.ndarray:
    return np.array(list(best.values.values())) * strongest


HINGE = [
    (17, 2, (320.0, 240.0, 400.0)), (18, 3, (448.503, 137.325, 358.802)), (19, 2, (467.153, 87.591, 373.723)), (20, 2, (378.558, 39.926, 473.198)),
    (18, 5, (436.024, 170.603, 348.819)),
]  # fmt: skip


@pytest.mark.parametrize(("cost", "power", "expected"), HINGE)
@pytest.mark.parametrize("method", ["slsqp", "ipopt", "trust-constr", "mma"])
def test_one_hinge_by_every_cost(cost: int, power: int, expected: tuple[float, ...], method: str) -> None:
    pytest.importorskip({"ipopt": "ipyopt", "mma": "nlopt"}.get(method, "scipy"))
    best = shared(power_sum(power, cost, STRONGEST, ARMS), ARMS, STRONGEST, MOMENT, method, 1e-8 if method == "mma" else 1e-14)
    assert best.feasible and best.kkt < 1e-3
    assert np.abs(forces(best, STRONGEST) - expected).max() < (1e-4 if method == "mma" else 1e-5) * STRONGEST.max()


def test_soft_saturation_is_maximised() -> None:
    """(21) printed as a minimum drives muscles into saturation: its roots are maximised."""
    roots = " - ".join(f"sqrt(1 - 0.999999999*a{i}^2)" for i in range(3))
    best = shared(f"3 - {roots}", ARMS, STRONGEST, MOMENT)
    assert forces(best, STRONGEST) == pytest.approx([463.873, 96.339, 371.098], rel=1e-5)
    assert 3.0 - best.criteria["cost"] == pytest.approx(2.753066, rel=1e-6)


def test_an_antagonist_rests() -> None:
    arms, strongest = np.append(ARMS, [[-0.03]], axis=1), np.append(STRONGEST, 700.0)
    best = shared(power_sum(2, 19, strongest, arms), arms, strongest, MOMENT)
    assert forces(best, strongest) == pytest.approx([467.153, 87.591, 373.723, 0.0], abs=5e-3)
    assert "a3" in best.active


TWO = np.array([[0.06, 0.05, 0.0, 0.0], [0.0, -0.03, -0.025, 0.045]]), np.array([1500.0, 1200.0, 800.0, 3000.0]), [30.0, 10.0]


@pytest.mark.parametrize(
    ("cost", "power", "expected"),
    [(17, 2, (395.382, 125.541, 0, 305.916)), (18, 3, (330.789, 203.053, 0, 357.591)), (19, 2, (366.406, 160.313, 0, 329.097))],
)
def test_a_muscle_over_two_joints(cost: int, power: int, expected: tuple[float, ...]) -> None:
    arms, strongest, moments = TWO
    assert forces(shared(power_sum(power, cost, strongest, arms), arms, strongest, moments), strongest) == pytest.approx(expected, abs=2e-2)


LEG = np.array([2186.0, 1944, 2594, 1169, 4530, 804, 2241, 3549, 905])
LEG_ARMS = np.array(
    [
        [0, 0, 0, 0, 0, 0, -0.047, -0.047, 0.040],
        [0, 0, -0.035, 0.042, 0.042, -0.035, -0.020, 0, 0],
        [0.045, -0.060, -0.065, 0.045, 0, 0, 0, 0, 0],
    ]
)
#: Moments of ankle, knee and hip (N m) at parts of a stride.
STRIDE = {15: (-17.603, 30.798, -56.940), 50: (-138.699, -50.382, 10.592), 90: (1.754, -13.576, -10.902)}
#: Forces (N) of iliopsoas, glutei, hamstrings, rectus, vasti, short biceps, gastrocnemius, soleus, tibialis.
NINE = {
    (15, 17): (0, 812.79, 237.73, 161.76, 771.35, 0, 3.61, 370.92, 0), (15, 18): (0, 416.35, 491.68, 0, 1143.02, 0, 0, 374.54, 0),
    (15, 19): (0, 417.12, 490.97, 0, 1147.73, 0, 11.14, 363.40, 0), (50, 17): (298.57, 0, 43.76, 0, 0, 475.03, 1611.24, 1339.79, 0),
    (50, 18): (913.20, 0, 469.27, 0, 0, 257.85, 1246.65, 1704.39, 0), (50, 19): (815.68, 0, 401.75, 0, 0, 197.97, 1469.59, 1481.44, 0),
    (90, 17): (13.39, 0, 176.99, 0, 0, 196.34, 25.48, 0, 73.80), (90, 19): (213.60, 0, 315.60, 0, 0, 72.06, 0.41, 0, 44.34),
}  # fmt: skip


@pytest.mark.parametrize(("part", "cost"), NINE)
def test_nine_muscles_of_a_leg(part: int, cost: int) -> None:
    """Moments are printed to 1e-3 N m, forces to 0.01 N: met to 0.05 N."""
    pytest.importorskip("ipyopt")
    best = shared(power_sum(3 if cost == 18 else 2, cost, LEG, LEG_ARMS), LEG_ARMS, LEG, STRIDE[part], "ipopt", 1e-12)
    assert best.feasible and np.abs(forces(best, LEG) - NINE[part, cost]).max() < 0.05


# -- muscles that move (11) to (13), (22) ------------------------------------------------------------------------------

REST, RATE = np.array([0.10, 0.12, 0.15]), 0.8
ANGLE = 0.35


def capacity(angle: float) -> np.ndarray:
    """F_l F_v/F₀ of muscles that a joint shortens with its arms."""
    x = -2.25 * (1.0 - ARMS[0] * angle / REST - 0.95)
    shortening = -ARMS[0] * RATE / (10.0 * REST)
    return np.asarray(np.exp(-(x**4 - x**2 / 4)) * (1.0 - np.arctan(-5.0 * shortening) / np.arctan(5.0)))


@pytest.mark.parametrize("form", ["forces", "stresses", "activations"])
def test_muscles_that_move(form: str) -> None:
    """Costs of (22) in activations: those of forces are (18) and (19) whatever the muscles can at this length and speed, that of activations is Σ a²."""
    m = jd.Model("elbow", gravity=(0, 0, 0))
    names = [m.parameter(f"a{i}", 0.5, bounds=(0.0, 1.0)).name for i in range(3)]
    m.revolute("joint", m.ground, m.body("arm", mass=1.0, inertia=(1, 1, 1)), axis="y")
    turn = jd.Analysis(m.compile(), "simulate", {"joint.angle": 0.0, "joint.angle_rate": RATE}, t=0.6)
    q, v, at = "joint.angle", "joint.angle_rate", ANGLE / RATE
    can = []
    for r, rest in zip(ARMS[0].tolist(), REST.tolist(), strict=True):
        x = f"(-2.25*(0.05 - {r / rest!r}*{q}))"
        can.append(f"exp({x}^2/4 - {x}^4)*(1 - atan({0.5 * r / rest!r}*{v})/atan(5))")
    terms = {"forces": "({c}*a{i})^2", "stresses": "({c}*a{i})^3", "activations": "a{i}^2"}[form]
    cost = " + ".join(terms.format(c=c, i=i) for i, c in enumerate(can))
    moment = " + ".join(f"{float(r * f / MOMENT[0])!r}*({c})*a{i}" for i, (r, f, c) in enumerate(zip(ARMS[0], STRONGEST, can, strict=True)))
    best = jd.Problem(turn, names, {"cost": cr.at(at, cost)}, {"moment": cr.at(at, moment).equals(1.0)}).optimise(tolerance=1e-14)
    c = capacity(ANGLE)
    gain = ARMS[0] * STRONGEST * c
    share = {"forces": gain / c**2, "stresses": np.sqrt(gain / c**3), "activations": gain}[form]
    expected = share * MOMENT[0] / (gain @ share)
    assert expected.max() < 1.0 and best.feasible
    assert list(best.values.values()) == pytest.approx(expected, rel=1e-5)
    if form != "activations":
        still = {"forces": (467.153, 87.591, 373.723), "stresses": (448.503, 137.325, 358.802)}[form]
        assert forces(best, STRONGEST) * c == pytest.approx(still, rel=2e-5)
