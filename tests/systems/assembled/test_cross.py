"""The thesis' rigid examples in other formulations: differences are of second order and vanish to 1e-6 when extrapolated."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jourdain as jd
from jourdain.elements.servo import hat
from jourdain.library import conserving, conserving_loops
from jourdain.library.manipulators import planar_manipulator
from tests.systems.assembled.test_loops import base_turn_from_momenta, wishbone_model
from tests.systems.assembled.test_thesis import minimal_pair


def assert_limit(run: Callable[[float], Any], exact: Any, h: float, tolerance: float = 1e-6, spread: float = 0.35) -> None:
    """run(h) tends to ``exact`` with the second order; extrapolated from h, h/2, h/4 the difference is below ``tolerance`` of its size."""
    exact = np.atleast_1d(np.asarray(exact, float))
    values = np.array([np.atleast_1d(run(h / 2**k)) for k in range(3)], float)
    size = max(1.0, np.abs(exact).max())
    errors = np.abs(values - exact).max(axis=1)
    assert errors[1] / errors[2] == pytest.approx(4.0, abs=spread), errors
    once = (4.0 * values[1:] - values[:-1]) / 3.0
    limit = (16.0 * once[1] - once[0]) / 15.0
    assert np.abs(limit - exact).max() < tolerance * size, (limit, exact)


def test_pair_with_motor() -> None:
    assert_limit(lambda h: conserving.pair_with_motor().simulate(0.75, h)["angle"][-1], minimal_pair(0.75), 0.0025)


def test_screw_pair_in_joint_coordinates() -> None:
    """E3 against the tree engine: spindle with six freedoms, nut on a helical joint."""
    m = jd.Model("screw pair", gravity=(0, 0, 0))
    spindle = m.body("spindle", mass=3.0, inertia=(1636.0, 1636.0, 72.0))
    nut = m.body("nut", mass=4.0, inertia=(96.0, 96.0, 96.0))
    m.free("flight", m.ground, spindle)
    m.helical("screw", spindle.at(0, 0, -30), nut, pitch=20.0)
    rate = 2.0 * math.pi
    system = m.compile()
    start = system.state({
        "flight.x_rate": 150.0, "flight.y_rate": 10.0, "flight.orientation.omega_x": 0.2 * rate, "flight.orientation.omega_y": 0.2 * rate,
        "screw.angle_rate": 3.5 * rate,
    })  # fmt: skip
    end = 0.4
    exact = system.simulate(start, t=end, rtol=1e-11, atol=1e-12)
    final = np.concatenate([[exact["screw.angle"][-1]], exact.frame("nut").position[-1], exact.frame("spindle").rotation[-1].ravel()])

    def run(h: float) -> np.ndarray:
        sol = conserving.screw_pair().simulate(end, h, reduction="joints")
        return np.concatenate([sol["angle"][-1:], sol["nut.position"][-1], sol["spindle.rotation"][-1].ravel()])

    assert_limit(run, final, 0.005)


def manipulator_model(factor: float) -> tuple[jd.System, Any]:
    """E4 in joint coordinates with two cut hinges."""
    m = jd.Model("3-RRR", gravity=(0, 0, 0))
    make = lambda name, mass, J: m.body(name, mass=mass, inertia=(1.0, 1.0, J))
    base, platform = make("base", 4.0, 0.12), make("platform", 8.0, 0.0816)
    m.planar("float", m.ground, base, plane="xy")
    angles = {"hip": (-1.34004032, 0.75435478, 2.84874988), "knee": 3 * (2.55590711,)}
    for k, peak in enumerate((-36.0, -24.0, 20.0)):
        a = math.radians((210.0, 330.0, 90.0)[k])
        out = np.array([math.cos(a), math.sin(a), 0.0]) / math.sqrt(3.0)
        thigh, shin = make(f"thigh{k + 1}", 3.0, 0.04), make(f"shin{k + 1}", 4.0, 0.12)
        hip = m.revolute(f"hip{k + 1}", base.at(*out), thigh.at(-0.2, 0, 0), axis="z")
        m.revolute(f"knee{k + 1}", thigh.at(0.2, 0, 0), shin.at(-0.3, 0, 0), axis="z")
        if k == 0:
            m.revolute("ankle1", shin.at(0.3, 0, 0), platform.at(*(0.4 * out)), axis="z")
        else:
            m.close(f"ankle{k + 1}", shin.at(0.3, 0, 0), platform.at(*(0.4 * out)))
        m.force(hip, factor * peak * hat(m.time, 0.25, 0.5))
    system = m.compile()
    start = {f"{joint}{k + 1}.angle": v[k] for joint, v in angles.items() for k in range(3)}
    return system, system.assemble({**start, "ankle1.angle": -1.21586679})


def test_parallel_manipulator_in_joint_coordinates() -> None:
    """E4 with a tenth of the torques, until 0.25 s, where the load has its kink."""
    system, start = manipulator_model(0.1)
    exact = system.simulate(start, t=0.25, rtol=1e-11, atol=1e-12)
    final = [exact[f"hip{k}.angle"][-1] for k in (1, 2, 3)]
    assert abs(final[0] + 1.34004032) > 0.02

    def run(h: float) -> list[float]:
        sol = planar_manipulator(0.1).simulate(0.25, h, reduction="joints")
        return [sol[f"angle{k}"][-1] for k in (1, 2, 3)]

    assert_limit(run, final, 0.0125)


def test_pendulum_with_viscous_joint() -> None:
    inertia = 0.015 + 5e-5 + 2.0 * 0.15**2
    law = lambda t, y: [y[1], (-2.0 * 9.81 * 0.15 * math.sin(y[0]) - 0.1 * y[1]) / inertia]
    exact = solve_ivp(law, (0.0, 1.0), [0.5 * math.pi, 0.0], "DOP853", rtol=1e-12, atol=1e-13).y[0, -1]
    assert_limit(lambda h: conserving.pendulum_with_viscous_joint().simulate(1.0, h)["angle"][-1], exact, 0.02)


@pytest.mark.parametrize("damping", [0.0, 150.0])
def test_pendulum_with_plastic_joint(damping: float) -> None:
    """Until the first reversal the joint is elastic, then slips; return mapping is locally of first order, so the limit is met by a small step."""
    inertia, mass, arm = 0.0104 + 1.0417 + 50.0 * 0.2**2, 50.0, 0.2

    def swing(friction: Callable[[np.ndarray], float]) -> Callable[[float, np.ndarray], list[float]]:
        return lambda t, y: [y[1], (-mass * 9.81 * arm * math.sin(y[0]) - friction(y)) / inertia]

    elastic = lambda y: 50000.0 * (y[0] - 0.5 * math.pi) + damping * y[1]
    yields = lambda t, y: y[0] - 0.5 * math.pi + 45.0 / 50000.0
    yields.terminal = True
    first = solve_ivp(swing(elastic), (0.0, 0.5), [0.5 * math.pi, 0.0], "DOP853", rtol=1e-11, atol=1e-13, events=yields)
    slipping = solve_ivp(swing(lambda y: -45.0), (first.t[-1], 0.5), first.y[:, -1], "DOP853", rtol=1e-11, atol=1e-13)
    runs = [conserving.pendulum_with_plastic_joint(damping).simulate(0.5, h)["angle"][-1] for h in (0.001, 0.0001)]
    errors = np.abs(np.array(runs) - slipping.y[0, -1])
    assert errors[1] < (5e-6 if damping == 0.0 else 5e-5)
    assert errors[1] < 0.2 * errors[0]


def test_suspension() -> None:
    exact = wishbone_model().compile().simulate({}, t=0.6, rtol=1e-11, atol=1e-13)
    final = [exact["height"][-1], exact["stretch"][-1]]

    def run(h: float) -> list[float]:
        sol = conserving_loops.double_wishbone().simulate(0.6, h, reduction="joints")
        return [sol["wheel.position"][-1, 2], -sol["compression"][-1]]

    assert_limit(run, final, 0.02)


def test_figure_eight() -> None:
    exact = base_turn_from_momenta(1.2)
    assert abs(exact) > 1e-3
    assert_limit(lambda h: conserving_loops.rpr_manipulator(False).simulate(1.2, h)["base.angle"][-1], exact, 0.02)


def test_ball_on_plate() -> None:
    assert_limit(
        lambda h: conserving.ball_on_plate().simulate(3.0, h)["ball.position"][-1, :2], conserving.plate_path(3.0), 0.05, tolerance=1e-6
    )


def test_two_wheeled_robot() -> None:
    """Turning and driving at once by the polynomial S: heading 0.8 S, path by quadrature."""
    S = lambda x: x**5 * (126 - 420 * x + 540 * x**2 - 315 * x**3 + 70 * x**4)
    x, w = np.polynomial.legendre.leggauss(40)
    x = 0.5 * (x + 1.0)
    speed = 1.2 * 630.0 * x**4 * (1 - x) ** 4
    path = [float(0.5 * w @ (speed * f(0.8 * S(x)))) for f in (np.cos, np.sin)]

    def run(h: float) -> list[float]:
        sol = conserving.two_wheeled_robot([1.2], [0.8]).simulate(2.0, h)
        middle = 0.5 * (sol["left.position"][-1] + sol["right.position"][-1])
        return [middle[0], middle[1], sol["yaw"][-1]]

    assert_limit(run, [*path, 0.8], 0.05)
