"""Tyres: contact geometry by sampling, the Magic Formula written out a second time, limits, symmetry, power, relaxation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.library import road as roads
from jourdain.model import tyres as T
from jourdain.symbolic.expr import symbol

SYMBOLS = tuple(symbol(n, "velocity") for n in ("load", "kappa", "tan_alpha", "camber"))
BOOK = T.PASSENGER_205_60R15


class Law:
    """A law as a function of numbers."""

    def __init__(self, make, **options) -> None:
        self.model = jd.Model("law")
        self.law = make(self.model, **options)
        self.expressions = list(self.law.forces(T.Slip(*SYMBOLS)))

    def __call__(self, load, kappa=0.0, tan_alpha=0.0, camber=0.0, **changes):
        known = dict(zip(self.model.parameter_set.symbols, self.model.parameter_set.values(changes), strict=True))
        known |= dict(zip(SYMBOLS, np.broadcast_arrays(load, kappa, tan_alpha, camber), strict=True))
        return tuple(np.asarray(x) for x in jd.evaluate(self.expressions, known))


WHOLE, MAGIC, LINEAR = Law(T.magic_formula, symmetric=False), Law(T.magic_formula), Law(T.linear_tyre, camber=4e3)


def magic_by_hand(Fz, k, a, g, c):
    """The equations of the book with plain numbers, in the order in which they stand there."""
    df = (Fz - c["Fz0"]) / c["Fz0"]
    curve = lambda B, C, D, E, x: D * math.sin(C * math.atan(B * x - E * (B * x - math.atan(B * x))))
    sgn = lambda x: (x > 0) - (x < 0)
    kx = k + c["pHx1"] + c["pHx2"] * df
    mux = c["pDx1"] + c["pDx2"] * df
    Kx = Fz * (c["pKx1"] + c["pKx2"] * df) * math.exp(c["pKx3"] * df)
    Ex = (c["pEx1"] + c["pEx2"] * df + c["pEx3"] * df**2) * (1 - c["pEx4"] * sgn(kx))
    Fx0 = curve(Kx / (c["pCx1"] * mux * Fz), c["pCx1"], mux * Fz, Ex, kx) + Fz * (c["pVx1"] + c["pVx2"] * df)
    Ky = c["pKy1"] * c["Fz0"] * math.sin(c["pKy4"] * math.atan(Fz / (c["pKy2"] * c["Fz0"]))) / (1 + c["pKy3"] * g**2)
    Svg = Fz * (c["pVy3"] + c["pVy4"] * df) * g
    Svy = Fz * (c["pVy1"] + c["pVy2"] * df) + Svg
    Kg = Fz * (c["pKy6"] + c["pKy7"] * df)
    Shy = c["pHy1"] + c["pHy2"] * df + (Kg * g - Svg) / Ky
    ay = a + Shy
    muy = (c["pDy1"] + c["pDy2"] * df) * (1 - c["pDy3"] * g**2)
    Ey = (c["pEy1"] + c["pEy2"] * df) * (1 - (c["pEy3"] + c["pEy4"] * g) * sgn(ay))
    Fy0 = curve(Ky / (c["pCy1"] * muy * Fz), c["pCy1"], muy * Fz, Ey, ay) + Svy
    Bxa = c["rBx1"] * math.cos(math.atan(c["rBx2"] * k))
    Gx = math.cos(c["rCx1"] * math.atan(Bxa * (a + c["rHx1"]))) / math.cos(c["rCx1"] * math.atan(Bxa * c["rHx1"]))
    Byk = c["rBy1"] * math.cos(math.atan(c["rBy2"] * (a - c["rBy3"])))
    Gy = math.cos(c["rCy1"] * math.atan(Byk * (k + c["rHy1"]))) / math.cos(c["rCy1"] * math.atan(Byk * c["rHy1"]))
    Dv = muy * Fz * (c["rVy1"] + c["rVy2"] * df + c["rVy3"] * g) * math.cos(math.atan(c["rVy4"] * a))
    Fx, Fy = Gx * Fx0, Gy * Fy0 + Dv * math.sin(c["rVy5"] * math.atan(c["rVy6"] * k))
    at = a + c["qHz1"] + c["qHz2"] * df + (c["qHz3"] + c["qHz4"] * df) * g
    Bt = (c["qBz1"] + c["qBz2"] * df + c["qBz3"] * df**2) * (1 + c["qBz5"] * abs(g))
    Dt = Fz * c["R0"] / c["Fz0"] * (c["qDz1"] + c["qDz2"] * df) * (1 + c["qDz3"] * g + c["qDz4"] * g**2)
    Et = (c["qEz1"] + c["qEz2"] * df) * (1 + (c["qEz4"] + c["qEz5"] * g) * 2 / math.pi * math.atan(Bt * c["qCz1"] * at))
    atq = math.sqrt(at**2 + (Kx / Ky * k) ** 2)
    trail = Dt * math.cos(c["qCz1"] * math.atan(Bt * atq - Et * (Bt * atq - math.atan(Bt * atq)))) * math.cos(math.atan(a))
    ar = a + Shy + Svy / Ky
    arq = math.sqrt(ar**2 + (Kx / Ky * k) ** 2)
    Dr = Fz * c["R0"] * (c["qDz6"] + c["qDz7"] * df + (c["qDz8"] + c["qDz9"] * df) * g)
    Mzr = Dr * math.cos(math.atan(c["qBz9"] * arq)) * math.cos(math.atan(a))
    s = c["R0"] * (c["ssz1"] + c["ssz2"] * Fy / c["Fz0"] + (c["ssz3"] + c["ssz4"] * df) * g)
    return Fx, Fy, -trail * Gy * Fy0 + Mzr + s * Fx


slips = st.tuples(st.floats(500, 9000), st.floats(-0.9, 0.9), st.floats(-0.6, 0.6), st.floats(-0.15, 0.15))


@given(slips)
@settings(max_examples=80, deadline=None)
def test_magic_formula_equals_the_book_written_out(slip):
    np.testing.assert_allclose(WHOLE(*slip), magic_by_hand(*slip, BOOK), rtol=1e-9, atol=1e-6)
    symmetric = {n: 0.0 if n in T.ASYMMETRIES else x for n, x in BOOK.items()}
    np.testing.assert_allclose(MAGIC(*slip), magic_by_hand(*slip, symmetric), rtol=1e-9, atol=1e-6)


def test_stiffnesses_at_zero_slip_are_those_of_the_coefficients():
    Fz, d = BOOK["Fz0"], 1e-6
    Fx, Fy, Mz = (np.asarray(x) for x in MAGIC(Fz, kappa=[d, -d, 0, 0, 0, 0], tan_alpha=[0, 0, d, -d, 0, 0], camber=[0, 0, 0, 0, d, -d]))
    assert (Fx[0] - Fx[1]) / (2 * d) == pytest.approx(BOOK["pKx1"] * Fz, rel=1e-6)
    assert (Fy[2] - Fy[3]) / (2 * d) == pytest.approx(BOOK["pKy1"] * Fz * math.sin(2 * math.atan(1 / BOOK["pKy2"])), rel=1e-6)
    assert (Fy[4] - Fy[5]) / (2 * d) == pytest.approx(BOOK["pKy6"] * Fz, rel=1e-4)
    # to the left of the heading the force points to the right and turns the wheel into its path
    assert Fy[2] < 0 < Mz[2]


@given(slips)
@settings(max_examples=60, deadline=None)
def test_symmetric_laws_are_odd(slip):
    load, kappa, alpha, camber = slip
    for law in (MAGIC, LINEAR):
        Fx, Fy, Mz = law(load, kappa, alpha, camber)
        Fx2, Fy2, Mz2 = law(load, kappa, -alpha, -camber)
        np.testing.assert_allclose([Fx2, Fy2, Mz2], [Fx, -Fy, -Mz], rtol=1e-9, atol=1e-6)
    Fx, Fy, _ = MAGIC(load, kappa, 0.0, 0.0)
    assert MAGIC(load, -kappa)[0] == pytest.approx(-Fx, rel=1e-9) and abs(Fy) < 1e-6


def test_peaks_are_the_friction_coefficients():
    fine = np.linspace(-1.5, 1.5, 20001)
    Fz = BOOK["Fz0"]
    assert np.abs(MAGIC(Fz, kappa=fine)[0]).max() / Fz == pytest.approx(BOOK["pDx1"], rel=1e-6)
    assert np.abs(MAGIC(Fz, tan_alpha=fine)[1]).max() / Fz == pytest.approx(-BOOK["pDy1"], rel=1e-6)
    assert np.abs(MAGIC(Fz, kappa=fine, **{"tyre.grip": 0.3})[0]).max() / Fz == pytest.approx(0.3 * BOOK["pDx1"], rel=1e-6)


@given(slips)
@settings(max_examples=100, deadline=None)
def test_combined_slip_stays_within_friction(slip):
    load, kappa, alpha, _ = slip
    Fx, Fy, _ = LINEAR(load, kappa, alpha)
    assert math.hypot(Fx, Fy) <= load * (1 + 1e-12)
    Fx, Fy, _ = MAGIC(load, kappa, alpha)
    df = load / BOOK["Fz0"] - 1
    ellipse = (Fx / load / (BOOK["pDx1"] + BOOK["pDx2"] * df)) ** 2 + (Fy / load / (BOOK["pDy1"] + BOOK["pDy2"] * df)) ** 2
    assert ellipse < 1.1  # the weights are fitted, not derived from an ellipse
    for law in (MAGIC, LINEAR):
        alone = law(load, kappa), law(load, 0.0, alpha)
        both = law(load, kappa, alpha)
        assert abs(both[0]) <= abs(alone[0][0]) * (1 + 1e-9) + 1e-9 and abs(both[1]) <= abs(alone[1][1]) * (1 + 1e-9) + 1e-9
        # friction takes energy: κ = −V_sx/V and tan α = V_sy/V
        assert -both[0] * kappa <= 1e-9 and both[1] * alpha <= 1e-9


def test_linear_tyre_has_its_slopes_and_no_load_gives_no_force():
    Fx, Fy, Mz = LINEAR(3000.0, 1e-6, 1e-6)
    np.testing.assert_allclose([Fx, Fy, Mz], [0.08, -0.06, 0.03 * 0.06], rtol=1e-6)
    for law in (WHOLE, MAGIC, LINEAR):
        np.testing.assert_array_equal(law(0.0, 0.1, 0.1, 0.05), (0.0, 0.0, 0.0))
        forces = np.array(law(np.array([1e-3, 0.5, 1.0, 2.0]), 0.1, 0.1, 0.05))
        assert np.all(np.isfinite(forces)) and np.all(np.abs(forces) < 3.0)


# -- contact ----------------------------------------------------------------------------------------------------------


def wheel(law="magic", sequence=("Tx", "Ty", "Tz", "Rz", "Rx", "Ry"), **options):
    m = jd.Model("wheel")
    hub = m.body("wheel", mass=400.0, inertia=(8.0, 1.0, 8.0))
    j = m.sequence("hub", m.ground, hub, sequence)
    made = {"magic": T.magic_formula, "linear": T.linear_tyre, None: lambda m: None}[law](m)
    t = T.tyre(m, "tyre", hub, **{"radius": 0.313, "stiffness": 2e5, "law": made, **options})
    return m, j, t


def reading(m, j, expressions, q, v):
    """Values of expressions of a tree for positions and velocities in order."""
    for i, e in enumerate(expressions):
        m.output(f"e{i}", e)
    s = m.compile()
    return s.function("outputs")(np.array([0.0]), np.array([*q, *v, *np.zeros(s.nz)], dtype=float), s.input_values())


@given(
    st.floats(-3, 3), st.floats(-0.25, 0.25), st.floats(0.25, 0.35), st.floats(-0.2, 0.2), st.floats(-0.2, 0.2), st.sampled_from([0.0, 0.05])
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_deflection_is_the_deepest_point_of_the_wheel_below_the_plane(yaw, lean, z, slope, bank, crown):
    m, j, t = wheel(None, road=roads.flat(0.02, slope, bank), crown=crown)
    c = t.contact
    depth, camber, *point = reading(m, j, [c.deflection, c.camber, *c.point], [1.0, 2.0, z, yaw, lean, 0.7], [0.0] * 6)
    n = np.array([-slope, -bank, 1.0]) / math.sqrt(1 + slope**2 + bank**2)
    Rz = np.array([[math.cos(yaw), -math.sin(yaw), 0], [math.sin(yaw), math.cos(yaw), 0], [0, 0, 1]])
    Rx = np.array([[1, 0, 0], [0, math.cos(lean), -math.sin(lean)], [0, math.sin(lean), math.cos(lean)]])
    R = Rz @ Rx
    angle = np.linspace(0, 2 * math.pi, 200_001)
    ring = np.array([1.0, 2.0, z]) + (0.313 - crown) * (np.outer(np.cos(angle), R[:, 0]) + np.outer(np.sin(angle), R[:, 2]))
    height = (ring - np.array([1.0, 2.0, 0.02 + slope + 2 * bank])) @ n
    assert depth == pytest.approx(crown - height.min(), abs=1e-9)
    assert camber == pytest.approx(R[:, 1] @ n, abs=1e-12)
    lowest = ring[height.argmin()] - height.min() * n
    np.testing.assert_allclose(point, lowest, atol=2e-5)


def test_rolling_sliding_and_turning_give_the_slips_of_their_definition():
    m, j, t = wheel(roll=1 / 3)
    z, V, yaw = 0.295, 20.0, 0.1
    Re = 0.313 - (0.313 - z) / 3
    rate = 1.05 * V * math.cos(yaw) / Re
    found = reading(
        m, j, [t.slip.kappa, t.slip.tan_alpha, t.slip.load, t.contact.effective_radius], [0, 0, z, yaw, 0, 3.0], [V, 0, 0, 0, 0, rate]
    )
    np.testing.assert_allclose(found, [0.05, -math.tan(yaw), 2e5 * (0.313 - z), Re], rtol=1e-3)
    still = wheel()
    found = reading(*still[:2], [still[2].slip.kappa, still[2].slip.tan_alpha], [0, 0, z, 0, 0, 0], [0] * 6)
    np.testing.assert_array_equal(found, [0.0, 0.0])


states = st.tuples(
    st.floats(-3, 3), st.just(0.0) | st.floats(-0.15, 0.15), st.floats(0.25, 0.33), st.floats(-30, 30), st.floats(-5, 5), st.floats(-1, 1), st.floats(-2, 2),
    st.floats(-3, 3), st.floats(-100, 100),
)  # fmt: skip


@given(states, st.sampled_from(["magic", "linear"]))
@settings(max_examples=25, deadline=None)
def test_power_of_the_wrench_is_slip_power_and_work_of_the_normal_force(state, law):
    """F·v + M·ω of the wrench on the wheel's centre against forces times slip velocities at the contact."""
    yaw, lean, z, vx, vy, vz, yaw_rate, lean_rate, spin = state
    m, j, t = wheel(law, damping=500.0, rolling_resistance=0.02, progression=1e5)
    s = m.sensors["tyre.wheel"]
    c, w = t.contact, s.angular_velocity
    power = t.load.force.dot(s.velocity) + t.load.torque.dot(w)
    normal = -t.slip.load * c.deflection_rate
    aligning = t.forces.Mz * (w.dot(c.normal) - c.spin * c.camber)
    q, v = [0.3, -0.2, z, yaw, lean, 0.4], [vx, vy, vz, yaw_rate, lean_rate, spin]
    total, slip, vertical, turning, load = reading(m, j, [power, t.slip_power, normal, aligning, t.slip.load], q, v)
    assert total == pytest.approx(slip + vertical + turning, rel=1e-9, abs=1e-6)
    assert load >= 0.0
    if lean == 0.0:
        assert slip <= 1e-9


def test_normal_force_never_pulls_and_ends_with_contact():
    m, _, t = wheel(None, damping=3000.0)
    m.output("load", t.slip.load)
    s = m.compile()
    f = s.function("outputs")
    at = lambda z, vz: f(np.array([0.0]), np.array([0, 0, z, 0, 0, 0, 0, 0, vz, 0, 0, 0], dtype=float), s.input_values())[0]
    assert at(0.30, 0.0) == pytest.approx(2600.0) and at(0.30, -0.5) == pytest.approx(2600 + 1500)
    assert at(0.30, 2.0) == 0.0 and at(0.32, -5.0) == 0.0


def test_a_wheel_at_rest_stays_at_rest_and_a_rolling_one_slows_down_by_its_resistance():
    m, _, _ = wheel("magic", ("Tx", "Tz", "Ry"), rolling_resistance=0.015)
    s = m.compile()
    e = s.equilibrium({"hub.z": 0.3})
    assert set(e.held) == {"hub.x", "hub.ry"} and e["hub.z"] == pytest.approx(0.313 - 400 * 9.81 / 2e5, abs=1e-12)
    Re = 0.313 - (0.313 - e["hub.z"]) / 3
    sol = s.simulate({"hub.z": e["hub.z"], "hub.x_rate": 15.0, "hub.ry_rate": 15.0 / Re}, 2.0, rtol=1e-9)
    late = sol.t > 0.5
    slope = np.polyfit(sol.t[late], sol["hub.x_rate"][late], 1)[0]
    assert slope == pytest.approx(-0.015 * 400 * 9.81 / (400 + 1.0 / Re**2), rel=2e-3)


def test_relaxation_is_an_exponential_in_the_distance():
    m, j, _ = wheel("linear", ("Tx", "Ty", "Tz", "Ry"), relaxation=(0.2, 0.6))
    m.body("mass", mass=1.0)
    m.fixed("together", m.bodies["wheel"], m.bodies["mass"])
    for name, law in (("x", lambda t: 12.0 * t), ("y", lambda t: 0.3 * t), ("z", lambda t: 0.3 + 0.0 * t)):
        m.drive(j, law, coordinate=name)
    s = m.compile()
    sol = s.simulate({"hub.ry_rate": 12.0 / 0.3}, 0.2, rtol=1e-10, atol=1e-12)
    expected = 0.3 / 12.0 * (1 - np.exp(-12.0 * sol.t / 0.6))
    np.testing.assert_allclose(sol["tyre.tan_alpha"], expected, atol=1e-9)


@pytest.mark.parametrize(
    ("road", "x", "y", "z"),
    [
        (roads.bump(0.08, 1.0, 0.5), 1.25, 0.3, 0.08),
        (roads.bump(0.08, 1.0, 0.5), 2.0, 0.0, 0.0),
        (roads.bump(0.08, 1.0, 0.5, lower=0.0), 1.25, -0.5, 0.0),
        (roads.sinusoidal(0.03, 2.0), 0.5, 0.0, 0.03),
        (roads.profile([0, 1, 2, 3], [0, 0.1, 0.1, 0], kind="linear"), 0.5, 0.0, 0.05),
        (roads.profile([0, 1, 2], [0, 0.1, 0.2], [0, 0.0, 0.0], kind="linear"), 2.0, -1.0, 0.0),
        (roads.flat(0.1, slope=0.2, bank=0.1), 1.0, 2.0, 0.5),
    ],
)
def test_roads(road, x, y, z):
    px, py = symbol("x", "position"), symbol("y", "position")
    assert float(jd.evaluate([road(px, py)], {px: x, py: y})[0]) == pytest.approx(z, abs=1e-12)


def test_bad_input_is_named():
    m = jd.Model("bad")
    hub = m.body("wheel", mass=1.0)
    with pytest.raises(jd.ModelError, match="tyre 't': low_speed 0 m/s must be positive"):
        T.tyre(m, "t", hub, radius=0.3, stiffness=1e5, low_speed=0.0)
    with pytest.raises(jd.ModelError, match="relaxation length -1 m must be positive"):
        T.tyre(m, "r", hub, radius=0.3, stiffness=1e5, relaxation=(-1.0, 0.5))
    with pytest.raises(jd.ModelError, match="coefficient 'pCx1' is missing"):
        T.magic_formula(m, data={n: x for n, x in BOOK.items() if n != "pCx1"})
    with pytest.raises(jd.ModelError, match="bump: length 0 m must be positive"):
        roads.bump(0.1, 0.0, 0.0)
