"""Optimal control: closed forms, derivatives of the program, simulations back, loops, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import jourdain as jd
from jourdain import criteria as cr
from jourdain import library

pytest.importorskip("ipyopt")
by_scheme = pytest.mark.parametrize("scheme", ["hermite-simpson", "radau"])


def slide() -> jd.Model:
    m = jd.Model("slide")
    x = m.prismatic("x", m.ground, m.body("block", mass=2.0), axis="x")
    m.force(x, m.input("force", 0.0))
    return m


def cart() -> jd.Model:
    m = jd.Model("cart")
    body, pole = m.body("cart", mass=1.0), m.body("rod", mass=0.3, com=(0, 0, -0.5))
    x = m.prismatic("x", m.ground, body, axis="x")
    m.revolute("pole", body, pole, axis="y")
    m.force(x, m.input("force", 0.0))
    return m


def four_bar() -> jd.Model:
    m = library.four_bar()
    m.force(m.joints["crank"], m.input("torque", 0.0), name="torque")
    return m


@pytest.fixture(scope="module")
def block() -> jd.System:
    return slide().compile()


REST = {"x": "300 cm", "x.displacement_rate": 0.0}


@by_scheme
@pytest.mark.parametrize("jumps", [False, True])
def test_the_fastest_way_to_rest(block: jd.System, jumps: bool, scheme: str) -> None:
    """T = 2 √(d/a), full force there and back; joined quadratics of Radau's points do not turn at once."""
    best = block.optimal_control(
        {}, REST, t=(0.5, 10), inputs={"force": (-4, 4)}, minimise=cr.end_time(), intervals=20, jumps=jumps, scheme=scheme
    )
    assert best.converged and best.duration == pytest.approx(2 * np.sqrt(3.0 / 2.0), rel=1e-7 if jumps or scheme != "radau" else 1e-5)
    u = best["force"][:, 1]
    full = np.isclose(np.abs(u), 4.0, rtol=1e-4)
    assert (~full).sum() <= (0 if jumps or scheme != "radau" else 2) and (np.diff(np.sign(u)) != 0).sum() == 1


@by_scheme
def test_least_effort_to_rest(block: jd.System, scheme: str) -> None:
    """∫F² dt = 12 m² d²/T³ with a force linear in time."""
    best = block.optimal_control({}, REST, t=2.0, inputs={"force": None}, minimise=cr.integral("force^2"), intervals=10, scheme=scheme)
    assert best.cost == pytest.approx(12 * 4 * 9 / 8, rel=1e-12)
    assert best.simulate(rtol=1e-11, atol=1e-12)["x.displacement"][-1] == pytest.approx(3.0, abs=1e-10)


@by_scheme
def test_a_linear_regulator_is_riccatis(block: jd.System, scheme: str) -> None:
    """min ∫ (x² + 0.1 F²) dt: cost xᵀ P(0) x with Ṗ = −AᵀP − PA + PBR⁻¹BᵀP − Q."""
    A, B, Q, R, T = np.array([[0, 1], [0, 0.0]]), np.array([[0], [0.5]]), np.diag([1.0, 0.0]), 0.1, 1.5

    def back(_: float, p: np.ndarray) -> np.ndarray:
        P = p.reshape(2, 2)
        return (A.T @ P + P @ A - P @ B @ B.T @ P / R + Q).ravel()

    P = solve_ivp(back, (0, T), np.zeros(4), rtol=1e-11, atol=1e-12).y[:, -1].reshape(2, 2)
    x0 = np.array([1.0, -0.5])
    best = block.optimal_control(
        {"x.displacement": 1.0, "x.displacement_rate": -0.5}, {}, t=T, inputs={"force": None}, minimise=cr.integral("x.displacement^2 + w*force^2", w=0.1),
        intervals=30, scheme=scheme,
    )  # fmt: skip
    assert best.cost == pytest.approx(x0 @ P @ x0, rel=1e-7)


@by_scheme
def test_the_brachistochrone(scheme: str) -> None:
    """Time along the cycloid R (θ − sin θ), R (1 − cos θ): θ √(R/g)."""
    m = jd.Model("bead")
    m.prismatic("idle", m.ground, m.body("idle", mass=1.0), axis="x")
    u, x, y, v = m.input("slope", 0.0), m.state("x", 0.0), m.state("y", 0.0), m.state("v", 0.0)
    m.rate(x, v * jd.sin(u))
    m.rate(y, v * jd.cos(u))
    m.rate(v, 9.81 * jd.cos(u))
    theta = brentq(lambda a: (a - np.sin(a)) / (1 - np.cos(a)) - 2.0, 0.1, 6.2)
    R = 1.0 / (1 - np.cos(theta))
    best = m.compile().optimal_control(
        {}, {"x": 2.0, "y": 1.0}, t=(0.1, 3), inputs={"slope": (-0.1, 3.0)}, minimise=cr.end_time(), intervals=30, scheme=scheme
    )
    assert best.duration == pytest.approx(theta * np.sqrt(R / 9.81), rel=1e-7)
    along = np.linspace(0, theta, 2001)
    assert np.interp(best["x"], R * (along - np.sin(along)), R * (1 - np.cos(along))) == pytest.approx(best["y"], abs=1e-4)


UP = {"x.displacement": 1.0, "x.displacement_rate": 0.0, "pole.angle": np.pi, "pole.angle_rate": 0.0}


@by_scheme
def test_a_pole_swings_up_and_simulates_back(scheme: str, tmp_path: Path) -> None:
    s = cart().compile()
    best = s.optimal_control(
        {}, UP, t=2.0, inputs={"force": (-20, 20)}, minimise=cr.integral("force^2"), bounds={"x.displacement": (-2, 2)}, intervals=30, scheme=scheme,
    )  # fmt: skip
    assert best.converged and best.error < 1e-6
    back = best.simulate(rtol=1e-10, atol=1e-12)
    assert [back[n][-1] for n in UP] == pytest.approx(list(UP.values()), abs=1e-4)
    finer = s.optimal_control(
        {}, UP, t=2.0, inputs={"force": (-20, 20)}, minimise=cr.integral("force^2"), guess=best, intervals=60, tolerance=1e-8, scheme=scheme
    )
    assert finer.cost == pytest.approx(best.cost, rel=1e-5) and finer.error < best.error
    shown = [axes.get_ylabel() for axes in best.plot(file=tmp_path / "plan.png").axes]  # an axis for each unit
    assert shown == ["x.displacement [m]", "pole.angle [rad]", "x.displacement_rate [m/s]", "pole.angle_rate [rad/s]", "force"]


def test_a_path_constraint_holds_and_costs() -> None:
    s = cart().compile()
    ask: Callable[..., Any] = lambda **more: s.optimal_control(
        {}, UP, t=2.0, inputs={"force": (-20, 20)}, minimise=cr.integral("force^2"), intervals=30, **more
    )
    free = ask()
    assert free["x.displacement_rate"].max() > 2.0
    held = ask(subject_to={"speed": cr.largest("x.displacement_rate") <= 2.0, "effort": cr.integral("force^2") <= 500.0}, guess=free)
    assert (
        held.converged
        and held.criteria["speed"] <= 2.0 + 1e-6
        and held.cost > free.cost
        and held.criteria["effort"] == pytest.approx(held.cost)
    )


@by_scheme
def test_a_loop_stays_closed(scheme: str) -> None:
    s = four_bar().compile()
    best = s.optimal_control(
        {"crank.angle": 0.5},
        {"crank.angle": 2.0, "crank.angle_rate": 0.0},
        t=1.0,
        inputs={"torque": None},
        minimise=cr.integral("torque^2"),
        intervals=15,
        tolerance=1e-8,
        scheme=scheme,
    )
    assert best.converged
    back = best.simulate(rtol=1e-12, atol=1e-14)
    for name in (*s.coordinate_names, *s.velocity_names):
        assert back[name][-1] == pytest.approx(best[name][-1], abs=1e-5)
    assert np.abs(s.assemble(best.end).q - best.end.q).max() < 1e-6


@by_scheme
@pytest.mark.parametrize(("make", "controls", "jumps"), [(cart, ["force"], False), (cart, ["force"], True), (four_bar, ["torque"], False)])
def test_derivatives_of_the_program(make: Callable[[], jd.Model], controls: list[str], jumps: bool, scheme: str) -> None:
    """First and second derivatives by all variables, the duration too, against differences; the laws speak of time."""
    from jourdain.analysis.optimal.collocation import Collocation
    from jourdain.analysis.optimal.points import Points
    from jourdain.analysis.optimal.schemes import SCHEMES

    m = make()
    s = m.compile()
    eq = s.equations_of_motion
    more = [eq.q[0] ** 2 * eq.t, eq.v[0] * jd.sin(3.0 * eq.t) + eq.u[0] ** 2, eq.q[0] * eq.v[0]]
    points = Points(s, s.assemble({}), controls, more)
    p = Collocation(points, np.array([0.0, 0.4, 1.0]), 0.3, jumps, 1, 1, 1, SCHEMES[scheme])
    rng = np.random.default_rng(2)
    v = rng.normal(size=p.size) * 0.5
    v[p.T] = 1.3
    w = rng.normal(size=p.rows)
    h = 1e-6

    def dense(x: np.ndarray) -> np.ndarray:
        found = np.zeros((p.rows, p.size))
        found[p.jac_rows, p.jac_columns] = p.all_slopes(x)
        return found

    J, H = dense(v), np.zeros((p.size, p.size))
    H[p.hess_rows, p.hess_columns] = p.all_curvatures(v, w)
    H = H + np.tril(H, -1).T
    for j in range(p.size):
        e = np.zeros(p.size)
        e[j] = h
        assert J[:, j] == pytest.approx((p.all_rows(v + e) - p.all_rows(v - e)) / (2 * h), abs=1e-5 * np.abs(J).max())
        assert H[:, j] == pytest.approx((dense(v + e) - dense(v - e)).T @ w / (2 * h), abs=1e-5 * np.abs(H).max())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"end": {"x.displacment": 1.0}}, "did you mean x.displacement"),
        ({"inputs": {"push": (-1, 1)}}, "there is no input 'push'"),
        ({"inputs": {"force": (2, 1)}}, "crossed"),
        ({"t": (-1.0, 2.0)}, "must be positive"),
        ({"minimise": cr.largest("force")}, "must be an integral"),
        ({"subject_to": {"low": cr.largest("force") >= 1.0}}, "does not hold all along"),
        ({"intervals": 1}, "intervals"),
        ({"tolerance": 0.0}, "tolerance = 0.0 must be positive"),
        ({"refinements": -1}, "refinements = -1 must be a whole number from 0 on"),
        ({"max_iterations": 0}, "max_iterations = 0 must be a whole number from 1 on"),
        ({"end": {"x": "1 kg"}}, "'x.displacement' at the end"),
        ({"bounds": {"x.displacement_rate": (None, "3 kg")}}, "bound of 'x.displacement_rate'"),
        ({"bounds": {"x": (0.5, 3.0)}}, "begins with 0, outside of its bounds"),
        ({"subject_to": {"path": cr.largest("2*x.displacement") <= "3 kg"}}, "constraint 'path'"),
        ({"subject_to": {"minimise": cr.largest("force") <= 3.0}}, "cannot be called 'minimise'"),
        ({"scheme": "gauss"}, "use one of 'hermite-simpson', 'radau'"),
        ({"bounds": {"x.displacement": (-1.0, 1.0)}}, "outside of its bounds"),
    ],
)
def test_bad_problems_are_named(block: jd.System, change: dict[str, Any], told: str) -> None:
    good: dict[str, Any] = {"start": {}, "end": REST, "t": 2.0, "inputs": {"force": (-4, 4)}, "minimise": cr.integral("force^2")}
    with pytest.raises((jd.InputError, jd.ModelError), match=told):
        block.optimal_control(**{**good, **change})


@pytest.mark.parametrize(("scheme", "order"), [("hermite-simpson", 4), ("radau", 5)])
def test_the_order_of_a_scheme(scheme: str, order: int) -> None:
    """A pendulum that swings freely, since its torque costs: errors at the end fall with h to the order of the scheme."""
    m = jd.Model("pendulum")
    hinge = m.revolute("hinge", m.ground, m.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.02, 0.02, 0.02)), axis="y")
    m.force(hinge, m.input("torque", 0.0))
    s = m.compile()
    exact = s.simulate({"hinge.angle": 1.0}, t=2.0, rtol=1e-12, atol=1e-13)["hinge.angle"][-1]

    def error(n: int) -> float:
        options = {"intervals": n, "refinements": 0, "scheme": scheme}
        best = s.optimal_control({"hinge.angle": 1.0}, {}, t=2.0, inputs={"torque": None}, minimise=cr.integral("torque^2"), **options)
        return abs(best["hinge.angle"][-1] - exact)

    found = np.log2(error(24) / error(48))
    assert found > order - 0.3, found


def test_what_cannot_be_reached_is_told(block: jd.System) -> None:
    best = block.optimal_control({}, REST, t=0.5, inputs={"force": (-4, 4)}, minimise=cr.integral("force^2"), intervals=10)
    assert not best.converged and "NOT CONVERGED" in str(best) and "constraints" in best.message


def test_events_are_refused() -> None:
    m = slide()
    m.event("wall", m.joints["x"].position - 1.0)
    with pytest.raises(jd.InputError, match="event 'wall'"):
        m.compile().optimal_control({}, REST, t=2.0, inputs={"force": None}, minimise=cr.integral("force^2"))
