"""The generalised-α family: order on mechanisms with constraints and quaternions, damping, conditioning, events, adaptation."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import jourdain as jd
from jourdain.library.mechanisms import bouncing_ball, bricard, heavy_top
from jourdain.solvers.ode.methods.generalized_alpha import coefficients

REFERENCE = {"method": "dop853", "rtol": 1e-12, "atol": 1e-13}


def orders(system, x0, end, names, reference, steps, method="generalized-alpha", **options):
    """Observed order of every channel's final error between the last two of the steps."""
    errors = []
    for h in steps:
        sol = system.simulate(x0, end, method=method, step=h, **options)
        assert len(sol) == round(end / h) + 1
        errors.append([abs(sol[n][-1] - reference[n]) for n in names])
    return np.log2(np.array(errors[-2]) / np.array(errors[-1])), np.array(errors[-1])


@cache
def cartesian_pendulum():
    """Benchmark A01 in Cartesian coordinates: λ is the bar's tension per unit length, −3 m g y / L²."""
    m = jd.Model("cartesian pendulum", gravity=(0, -9.81, 0))
    slide, bob = m.body("slide"), m.body("bob", mass=1.0)
    x = m.prismatic("x", m.ground, slide, axis="x")
    y = m.prismatic("y", slide, bob, axis="y")
    m.constraint("rod", (x.position**2 + y.position**2 - 1.0) / 2)
    return m.compile()


A01 = {
    "x.displacement": 0.986291751131875, "y.displacement": -0.165010853125541, "x.displacement_rate": 0.296905515916316,
    "y.displacement_rate": 1.77464364111266, "rod.multiplier": 3 * 9.81 * -0.165010853125541,
}  # fmt: skip


@pytest.mark.parametrize(("method", "rho"), [("generalized-alpha", 0.8), ("generalized-alpha", 0.0), ("hht", 0.7)])
def test_second_order_with_multiplier_on_the_pendulum(method, rho):
    found, _ = orders(cartesian_pendulum(), {"x.displacement": -1.0}, 1.0, list(A01), A01, (0.004, 0.002), method, rho=rho)
    assert found.min() > 1.9


def test_constraints_hold_and_small_steps_stay_well_conditioned():
    s = cartesian_pendulum()
    sol = s.simulate({"x.displacement": -1.0}, 0.02, method="generalized-alpha", step=1e-5)
    assert np.abs(sol["x.displacement"] ** 2 + sol["y.displacement"] ** 2 - 1).max() < 1e-12
    assert np.abs(sol["rod.multiplier"] - 3 * 9.81 * sol["y.displacement"]).max() < 1e-3
    assert sol.statistics["rejected"] == 0


@cache
def slider_crank():
    m = jd.Model("slider crank", gravity=(0, -9.81, 0))
    crank = m.body("crank", mass=1.0, com=(0.1, 0, 0), inertia=(0, 0.01, 0.01))
    rod = m.body("rod", mass=1.0, com=(0.25, 0, 0), inertia=(0, 0.02, 0.02))
    piston = m.body("piston", mass=2.0)
    A = m.revolute("A", m.ground, crank, axis="z")
    m.revolute("B", crank.at(0.2, 0, 0), rod, axis="z")
    m.prismatic("S", m.ground, piston, axis="x")
    m.close("pin", rod.at(0.5, 0, 0), piston, "ball")
    m.spring("k", m.ground.at(1, 0, 0), piston, stiffness=300, length=0.4, damping=5)
    lag = m.state("lag", 0.1)
    m.rate(lag, -3 * lag + A.velocity)
    m.force(A, lambda x, v, t: 0.5 * jd.sin(3 * t) - 0.1 * lag)
    s = m.compile()
    x0 = s.assemble({"A.angle": 0.7})
    names = [*s.coordinate_names, *s.velocity_names, "lag", "A.angle_acc", "pin.1.multiplier", "pin.2.multiplier"]
    sol = s.simulate(x0, 1.0, **REFERENCE)
    return s, x0, names, {n: sol[n][-1] for n in names}


def test_second_order_on_a_loop_with_user_state_and_multipliers():
    s, x0, names, reference = slider_crank()
    found, _ = orders(s, x0, 1.0, names, reference, (0.005, 0.0025))
    assert found.min() > 1.95


def test_newmark_with_damping_is_of_first_order():
    s, x0, _, reference = slider_crank()
    found, _ = orders(s, x0, 1.0, ["A.angle", "lag"], reference, (0.002, 0.001), "newmark", rho=0.5)
    assert (np.abs(found - 1.0) < 0.15).all()


@pytest.mark.parametrize(("method", "rho"), [("generalized-alpha", 0.8), ("trapezoidal", 1.0)])
def test_second_order_on_the_heavy_top_with_a_quaternion(method, rho):
    s = heavy_top().compile()
    x0 = s.state({}, {"pivot.orientation.omega_z": 12.0, "pivot.orientation.omega_x": 1.0})
    x0 = x0.with_values(q=np.array([np.cos(0.3), np.sin(0.3), 0.0, 0.0]))
    reference = s.simulate(x0, 1.0, **REFERENCE).final
    names = [*s.coordinate_names, "pivot.orientation.omega_x", "pivot.orientation.omega_y", "pivot.orientation.alpha_x"]
    found, errors = orders(s, x0, 1.0, names, reference, (0.002, 0.001), method, rho=rho)
    assert found.min() > 1.9
    assert errors[:4].max() < 5e-4
    sol = s.simulate(x0, 1.0, method=method, step=0.01, rho=rho)
    assert np.abs(sum(sol[n] ** 2 for n in s.coordinate_names) - 1).max() < 1e-14


# -- benchmark B10 ----------------------------------------------------------------------------------------------------

STEP, STEPS = 0.2618, 38
K = np.array([[1e7 + 1.0, -1.0], [-1.0, 1.0]])


def drive(t):
    return np.array([1e7 * np.sin(1.2 * t), 0.0])


def slow_solution(t):
    """First mode with its transient, particular part of the second: u, v and a, each (2, nt)."""
    squares, V = np.linalg.eigh(K)
    c = (V.T @ np.array([1e7, 0.0])) / (squares - 1.44)
    w, W = np.sqrt(squares[0]), 1.2
    s, ds, dds = np.sin(W * t), W * np.cos(W * t), -W * W * np.sin(W * t)
    first = [s - W / w * np.sin(w * t), ds - W * np.cos(w * t), dds + W * w * np.sin(w * t)]
    return [V @ np.stack([c[0] * a, c[1] * b]) for a, b in zip(first, (s, ds, dds), strict=True)]


def chung_hulbert(alpha_m, alpha_f, beta, gamma, midpoint):
    """Independent linear code; ``midpoint``: the load is taken at t₁ − α_f h, not as a weighted mean of both ends."""
    u, v, a = np.zeros(2), np.zeros(2), np.zeros(2)
    rows = [(u, v, a)]
    A = (1 - alpha_m) * np.eye(2) + (1 - alpha_f) * beta * STEP**2 * K
    for i in range(STEPS):
        t = i * STEP
        load = drive(t + (1 - alpha_f) * STEP) if midpoint else (1 - alpha_f) * drive(t + STEP) + alpha_f * drive(t)
        guess = u + STEP * v + STEP**2 * (0.5 - beta) * a
        new = np.linalg.solve(A, load - alpha_m * a - K @ ((1 - alpha_f) * guess + alpha_f * u))
        u, v, a = guess + STEP**2 * beta * new, v + STEP * ((1 - gamma) * a + gamma * new), new
        rows.append((u, v, a))
    return [np.array(x) for x in zip(*rows, strict=True)]


def window_errors(t, u, v, a):
    """Largest errors of u₂, u₃, v₂, a₂ against the slow solution for 2.3 < t < 10."""
    U, V, A = slow_solution(t)
    inside = (t > 2.3) & (t < 10)
    return [np.abs(e[inside]).max() for e in (u[:, 0] - U[0], u[:, 1] - U[1], v[:, 0] - V[0], a[:, 0] - A[0])]


@cache
def stiff_oscillator():
    m = jd.Model("stiff oscillator", gravity=(0, 0, 0))
    b2, b3 = m.body("b2", mass=1.0), m.body("b3", mass=1.0)
    x2, x3 = m.prismatic("x2", m.ground, b2, axis="x"), m.prismatic("x3", m.ground, b3, axis="x")
    m.force(x2, lambda x, v, t: 1e7 * (jd.sin(1.2 * t) - x) + (x3.position - x))
    m.force(x3, lambda x, v, t: x2.position - x)
    return m.compile()


TABLE = {  # spec of benchmark B10, loads at the generalised midpoint: u₂, u₃, v₂, a₂
    ("generalized-alpha", 1.0): (1.3e-2, 0.12, 1.25, 707), ("generalized-alpha", 0.6): (1.2e-2, 0.15, 7.2e-2, 1.65),
    ("generalized-alpha", 0.0): (6.0e-8, 0.56, 3.9e-2, 0.45),
}  # fmt: skip


@pytest.mark.parametrize(("method", "rho"), list(TABLE))
def test_stiff_oscillator_table(method, rho):
    t = STEP * np.arange(STEPS + 1)
    scheme = coefficients(method, rho)
    # the table of the benchmark by the independent code
    assert window_errors(t, *chung_hulbert(*scheme, midpoint=True)) == pytest.approx(TABLE[method, rho], rel=0.05)
    # our scheme weights the forces of both ends instead: the same filter, and u₂ never leaves the driven node
    u, v, a = chung_hulbert(*scheme, midpoint=False)
    sol = stiff_oscillator().simulate({}, STEP * STEPS, method=method, step=STEP, rho=rho)
    assert np.allclose(sol.t, t)
    assert np.allclose(np.column_stack([sol["x2.displacement"], sol["x3.displacement"]]), u, atol=1e-9)
    assert np.allclose(np.column_stack([sol["x2.displacement_rate"], sol["x3.displacement_rate"]]), v, atol=1e-7)
    errors = window_errors(t, u, v, a)
    assert errors[0] < 1e-4
    assert errors[1:3] == pytest.approx(TABLE[method, rho][1:3], rel=0.2)


def test_trapezoidal_rule_is_the_undamped_limit():
    t = STEP * np.arange(STEPS + 1)
    sol = stiff_oscillator().simulate({}, STEP * STEPS, method="trapezoidal", step=STEP)
    u, v, a = chung_hulbert(*coefficients("trapezoidal"), midpoint=False)
    assert np.allclose(sol["x2.displacement_acc"], a[:, 0], rtol=1e-6, atol=1e-3)
    assert window_errors(t, u, v, a) == pytest.approx([7e-5, 0.12, 1.22, 699], rel=0.05)


@pytest.mark.parametrize("method", ["generalized-alpha", "hht", "newmark"])
def test_spectral_radius_at_infinity(method):
    """One step of a very stiff oscillator multiplies the slowest-decaying part by rho."""
    rho = 0.6
    _, af, beta, gamma = coefficients(method, rho)
    # displacement vanishes: rows (h v, h² a, h² v̇) → next, with q₁ = 0 and the weighted accelerations
    T = np.array([[1 - gamma / beta, (1 - gamma) - gamma * (0.5 - beta) / beta], [-1 / beta, -(0.5 - beta) / beta]])
    roots = [*np.abs(np.linalg.eigvals(T)), af / (1 - af)]
    assert max(roots) == pytest.approx(rho, abs=1e-6)


# -- further behaviour ------------------------------------------------------------------------------------------------


def test_energy_decays_with_damping_and_stays_without():
    s = jd.Model("oscillator", gravity=(0, 0, 0))
    x = s.prismatic("x", s.ground, s.body("b", mass=1.0), axis="x")
    s.joint_spring(x, stiffness=100.0)
    system = s.compile()
    kept = system.simulate({"x.displacement": 1.0}, 5.0, method="trapezoidal", step=0.05)["energy.total"]
    lost = system.simulate({"x.displacement": 1.0}, 5.0, method="generalized-alpha", step=0.05, rho=0.2)["energy.total"]
    assert np.abs(kept / kept[0] - 1).max() < 1e-10
    assert lost[-1] < 0.9 * lost[0]


def test_adaptive_step_follows_the_tolerance():
    s, x0, _, reference = slider_crank()
    runs = [s.simulate(x0, 1.0, method="generalized-alpha", rtol=tol, atol=1e-2 * tol) for tol in (1e-4, 1e-6)]
    errors = [abs(sol["A.angle"][-1] - reference["A.angle"]) for sol in runs]
    assert errors[0] < 1e-3
    assert errors[1] < 0.1 * errors[0]
    assert len(runs[1]) > 2 * len(runs[0])
    assert np.abs(np.diff(runs[0].t)).max() > 3 * np.diff(runs[0].t)[1:].min()


def test_redundant_constraints_keep_the_motion():
    s = bricard().compile()
    x0 = s.assemble()
    reference = s.simulate(x0, 0.5, **REFERENCE)
    runs = [s.simulate(x0, 0.5, method="generalized-alpha", step=h) for h in (0.01, 0.005)]
    errors = [max(abs(r[n][-1] - reference[n][-1]) for n in s.coordinate_names) for r in runs]
    assert errors[1] < 1e-2
    assert errors[0] / errors[1] > 3.0
    assert np.isfinite([runs[1][n][-1] for n in runs[1].names("*multiplier")]).all()


def test_nonholonomic_constraint_is_met_at_every_step():
    """Benchmark B5, the sleigh, with the blade's constraint at velocity level."""
    from jourdain.library.nonholonomic import chaplygin_sleigh

    s = chaplygin_sleigh().compile()
    start = s.state({}, dict(zip(s.velocity_names, (-1.0, 0.0, 0.1), strict=True)))
    reference = s.simulate(start, 2.0, **REFERENCE)
    errors = []
    for h in (0.02, 0.01):
        sol = s.simulate(start, 2.0, method="generalized-alpha", step=h)
        w, _ = s.function("constraint_velocities")(
            sol.t[:, None], *(np.column_stack([sol[n] for n in ns]) for ns in (s.coordinate_names, s.velocity_names))
        )
        assert np.abs(w).max() < 1e-10
        errors.append(max(abs(sol[n][-1] - reference[n][-1]) for n in s.coordinate_names))
    assert errors[0] / errors[1] > 3.5


def test_events_and_dense_output():
    ball = bouncing_ball().compile()
    sol = ball.simulate({"height.displacement": 1.0}, 2.0, method="generalized-alpha", step=0.01)
    impacts = sol.t[:-1][np.diff(sol.t) == 0]
    assert impacts == pytest.approx([0.4515236409857309, 1.1739614665629004, 1.7519117270246359], abs=1e-9)
    assert sol.at(1.0)["height.displacement"] == pytest.approx(0.468004452526036, abs=1e-9)


def test_impossible_damping_is_refused():
    with pytest.raises(jd.InputError, match=r"rho = 0\.2"):
        stiff_oscillator().simulate({}, 1.0, method="hht", step=0.1, rho=0.2)


def test_a_step_that_does_not_converge_is_halved():
    m = jd.Model("stop", gravity=(0, 0, -9.81))
    x = m.prismatic("x", m.ground, m.body("b", mass=1.0), axis="z")
    m.force(x, lambda q, v, t: 1e6 * jd.maximum(-q, 0.0) ** 1.5)
    s = m.compile()
    sol = s.simulate({"x.displacement": 0.5}, 1.0, method="generalized-alpha", step=0.01, rho=0.5)
    assert sol.t[-1] == 1.0
    assert sol["x.displacement"].min() > -0.2
