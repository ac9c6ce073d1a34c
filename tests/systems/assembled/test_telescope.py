"""Closed loops of the thesis (E4, E5) against Lagrange's equations in minimal coordinates: inverse dynamics, inputs, sizes, momenta."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jourdain.elements.pairs import PlanarRevolute
from jourdain.elements.rigid import PlanarBody
from jourdain.library.manipulators import planar_manipulator, radio_telescope
from jourdain.systems.assembled.system import AssembledSystem

# E5: the telescope with two freedoms --------------------------------------------------------------------------------------------

PITCH = 20.0 / (2.0 * math.pi)
BASE, CHORD, START = 13.11623124, 35.0, math.pi / 6.0
#: Mass, Euler tensor along d₁, d₂, d₃ (d₃ is the hinges' axis) of dish, spindle and nut.
DISH, SPINDLE, NUT = (
    (m, m * np.square(sides) / 12.0) for m, sides in ((4.0, (35.0, 1.0, 35.0)), (1.0, (60.0, 1.0, 1.0)), (1.0, (10.0, 10.0, 10.0)))
)
PLATFORM = 3.0 * (35.0**2 + 35.0**2) / 12.0
SPEED = 2.0 * math.pi * 0.22


def configuration(turn: float) -> np.ndarray:
    """Abscissa and height of the centres of dish, spindle and nut, and angles of dish and spindle, from the triangle of the mechanism."""
    first = CHORD * np.array([math.cos(START), math.sin(START)]) - [BASE, 0.0]
    reach = math.hypot(*first) + PITCH * turn
    lift = math.acos((BASE**2 + CHORD**2 - reach**2) / (2.0 * BASE * CHORD))
    A, B = np.array([-17.5, 0.0]), np.array([BASE - 17.5, 0.0])
    C = A + CHORD * np.array([math.cos(lift), math.sin(lift)])
    along = (C - B) / reach
    return np.array([*(0.5 * (A + C)), *(C - 30.0 * along), *B, lift, math.atan2(along[1], along[0])])


def five_point(f: Callable[[float], Any], x: float, d: float = 2e-3) -> Any:
    return (8.0 * (f(x + d) - f(x - d)) - f(x + 2 * d) + f(x - 2 * d)) / (12.0 * d)


def terms(turn: float) -> np.ndarray:
    """J, c, m and V of L = ½ J θ̇² + c θ̇ γ̇ + ½ m γ̇² − V, θ the azimuth and γ the turn of the screw."""
    x, y = configuration(turn), five_point(configuration, turn)
    J, c, m, V = PLATFORM, 0.0, 0.0, 0.0
    for k, (mass, euler) in enumerate((DISH, SPINDLE, NUT)):
        angle, rate = (x[6], y[6]) if k == 0 else (x[7], y[7])
        inertia = euler.sum() - euler
        J += mass * x[2 * k] ** 2 + inertia[0] * math.sin(angle) ** 2 + inertia[1] * math.cos(angle) ** 2
        m += mass * (y[2 * k] ** 2 + y[2 * k + 1] ** 2) + inertia[2] * rate**2
        V += mass * 9.81 * x[2 * k + 1]
    spin = NUT[1].sum() - NUT[1][0]
    return np.array([J, c - spin * math.sin(x[7]), m + spin, V])


def poly(x: float) -> tuple[float, float, float]:
    x = min(max(x, 0.0), 1.0)
    return x**5 * (126 - 420 * x + 540 * x**2 - 315 * x**3 + 70 * x**4), 630 * x**4 * (1 - x) ** 4, 2520 * (x * (1 - x)) ** 3 * (1 - 2 * x)


def motion(t: float, stroke: float) -> tuple[float, float, float, float, float]:
    """Turn of the screw with two derivatives, speed and acceleration of the azimuth."""
    s, v, a = poly(0.5 * t)
    up, fast, _ = poly(0.5 * t)
    down, slow, _ = poly(t - 3.0)
    return stroke * s, stroke * v / 2.0, stroke * a / 4.0, SPEED * (up - down), SPEED * (fast / 2.0 - slow)


def exact_inputs(t: float, stroke: float) -> tuple[float, float]:
    """−(torque) of azimuth and screw by Lagrange's equations."""
    g, gd, gdd, w, wd = motion(t, stroke)
    (J, c, m, _), (dJ, dc, dm, dV) = terms(g), five_point(terms, g)
    azimuth = J * wd + dJ * gd * w + c * gdd + dc * gd * gd
    screw = m * gdd + 0.5 * dm * gd * gd + c * wd - 0.5 * dJ * w * w + dV
    return -azimuth, -screw


@pytest.mark.parametrize("stroke", [math.pi, 2.0 * math.pi], ids=["half", "full"])
def test_inputs_of_the_telescope_tend_to_those_of_lagrange(stroke: float) -> None:
    """Differences of second order in the step; extrapolated they vanish to 1e-6 of the largest input."""
    times = (0.5, 1.0, 1.4, 2.5, 3.4)
    exact = np.array([exact_inputs(t, stroke) for t in times])
    values = []
    for h in (0.02, 0.01, 0.005):
        sol = radio_telescope(stroke).simulate(3.6, h, reduction="joints")
        u = np.stack([sol["drive.platform.input"], sol["drive.spindle.input"]], axis=1)
        at = [round(t / h) for t in times]
        # inputs are means over steps and alternate about their curve: the mean of two neighbours (1 2 1)/4 of the midpoints' means
        values.append([0.25 * (u[k - 1] + u[k] + u[k + 1] + u[k + 2]) for k in at])
    v = np.array(values)
    scale = np.abs(v[-1]).max(axis=0)
    errors = np.abs(v - exact).max(axis=1) / scale
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.3)
    assert errors[1] / errors[2] == pytest.approx(4.0, abs=0.15)
    once = (4.0 * v[1:] - v[:-1]) / 3.0
    twice = (16.0 * once[1] - once[0]) / 15.0
    assert np.abs((twice - exact) / scale).max() < 1e-6


def test_cruise_of_the_telescope() -> None:
    """Between 2 and 3 s energy and L₃ stay to the fourth order of the step, the azimuth needs no torque, the screw holds weight and spin."""
    spread = []
    for h in (0.02, 0.01, 0.005):
        sol = radio_telescope().simulate(4.0, h)
        k = (sol.t > 2.0 - 1e-9) & (sol.t < 3.0 + 1e-9)
        steps = (sol.t > 2.0 + 1e-9) & (sol.t < 3.0 + 1e-9)
        E, L = sol["energy.total"][k], sol["momentum.angular"][k, 2]
        spread.append((np.ptp(E) / E[0], np.ptp(L) / L[0]))
        if h == 0.01:
            u = np.abs(sol["drive.platform.input"])
            assert u[steps].max() < 1e-5 * u.max()
            lift = sol["drive.spindle.input"][steps]
            assert np.ptp(lift) < 1e-4 * np.abs(lift).max()
            dJ, _, _, dV = five_point(terms, 2.0 * math.pi)
            assert lift.mean() == pytest.approx(0.5 * dJ * SPEED**2 - dV, rel=3e-5)
            assert sol["drive.spindle.input"][-1] == pytest.approx(-dV, rel=1e-4)
            assert -dV == pytest.approx(191.897, abs=2e-3)
            power = -sol["drive.platform.input"][1:] * np.diff(sol["platform.angle"]) - sol["drive.spindle.input"][1:] * np.diff(
                sol["spindle.angle"]
            )
            assert np.diff(sol["energy.total"]) == pytest.approx(power, abs=1e-10 * np.abs(E).max())
    assert max(spread[1]) < 1e-7
    orders = np.log2(np.divide(spread[:-1], spread[1:]))
    assert orders == pytest.approx(np.full((2, 2), 4.0), abs=0.2)


def test_telescope_driven_by_its_inputs_makes_the_prescribed_motion() -> None:
    """Lagrange's equations with the torques found, piecewise linear between the steps' middles: errors of second order."""
    stroke, end = math.pi, 1.6

    def error(h: float) -> float:
        sol = radio_telescope(stroke).simulate(end + 2 * h, h)
        mid = np.concatenate([[0.0], sol.t[1:] - 0.5 * h])
        torques = [-np.concatenate([[0.0], sol[n][1:]]) for n in ("drive.platform.input", "drive.spindle.input")]
        torques[1][0] = -exact_inputs(0.0, stroke)[1]

        def rates(t: float, y: np.ndarray) -> np.ndarray:
            g, w, gd = y[1:]
            (J, c, m, _), (dJ, dc, dm, dV) = terms(g), five_point(terms, g)
            f = [np.interp(t, mid, q) for q in torques]
            rhs = [f[0] - dJ * gd * w - dc * gd * gd, f[1] - 0.5 * dm * gd * gd + 0.5 * dJ * w * w - dV]
            return np.array([w, gd, *np.linalg.solve([[J, c], [c, m]], rhs)])

        y = solve_ivp(rates, (0.0, end), [0.0, 0.0, 0.0, 0.0], rtol=1e-9, atol=1e-11, max_step=0.05).y[:, -1]
        return abs(y[1] - motion(end, stroke)[0]) + abs(y[0] - sol["platform.angle"][round(end / h)])

    coarse, fine = error(0.02), error(0.01)
    assert fine < 2e-3
    assert coarse / fine == pytest.approx(4.0, abs=1.0)


# E4: sizes of tree and loop, centre of mass -----------------------------------------------------------------------------------------


def manipulator_without(names: tuple[str, ...]) -> AssembledSystem:
    """The 3-RRR manipulator without some of its elements (and without coordinates that nothing uses then)."""
    full = planar_manipulator()
    s = AssembledSystem("part of the manipulator")
    kept = [i for i in full.instances if not i.name.startswith(names)]
    used = {h.name for i in kept for h in i.blocks.values()}
    handles = {h.name: s.coordinates(h.name, h.size, full.q0[h.offset : h.offset + h.size]) for h in full.handles if h.name in used}
    for i in kept:
        at = np.cumsum([0, *i.element.constants.values()])
        constants = {n: i.numbers[at[k] : at[k + 1]] for k, n in enumerate(i.element.constants)}
        s.add(i.element, i.name, {b: handles[h.name] for b, h in i.blocks.items()}, constants)
    return s


@pytest.mark.parametrize(
    ("without", "full", "reduced"),
    [(("turn", "motor", "hinge8", "hinge9"), 86, 10), (("turn", "motor"), 90, 10), ((), 96, 10)],
    ids=["tree", "closed", "closed with angles"],
)
def test_sizes_of_the_manipulator(without: tuple[str, ...], full: int, reduced: int) -> None:
    s = manipulator_without(without) if without else planar_manipulator()
    assert s.report(0.01)["unknowns"] == full
    assert s.report(0.01, reduction="joints")["unknowns"] == reduced


def test_centre_of_mass_of_the_manipulator_rests() -> None:
    masses = {"base": 4.0, "platform": 8.0, **{f"link{k}": 3.0 if k < 4 else 4.0 for k in range(1, 7)}}
    for reduction in ("none", "joints"):
        sol = planar_manipulator().simulate(1.0, 0.01, reduction=reduction)
        centre = sum(m * sol[f"{n}.position"] for n, m in masses.items()) / sum(masses.values())
        assert np.ptp(centre, axis=0).max() < 1e-12
        assert np.abs(sol["momentum.angular"]).max() < 1e-11
        assert max(np.ptp(sol[f"{n}.position"], axis=0).max() for n in masses) > 0.05  # though its bodies move


# open chains: recursive null space ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 6])
def test_null_space_of_a_chain_is_the_derivative_of_its_kinematics(n: int) -> None:
    """Planar chain: P of the reduction (product form) against differenced forward kinematics, and BEM 11N − 2, REM N + 2 unknowns."""
    rng = np.random.default_rng(n)
    arms = rng.uniform(0.2, 0.5, (n, 2))  # from each centre back to the inner and on to the outer hinge

    def kinematics(w: np.ndarray) -> np.ndarray:
        place, angle, poses = w[:2].copy(), w[2], []
        poses.append([*place, angle])
        for k in range(1, n):
            place = place + arms[k - 1, 1] * np.array([math.cos(angle), math.sin(angle)])
            angle = angle + w[2 + k]
            place = place + arms[k, 0] * np.array([math.cos(angle), math.sin(angle)])
            poses.append([*place, angle])
        return np.ravel(poses)

    w = np.concatenate([rng.normal(size=2), rng.uniform(-2, 2, n)])
    poses = kinematics(w).reshape(n, 3)
    s = AssembledSystem("chain")
    last: Any = None
    for k, (x, y, angle) in enumerate(poses):
        q = PlanarBody.coordinates_of((x, y), angle)
        body = s.coordinates(f"link{k}", 6, q)
        s.add(PlanarBody(), f"inertia{k}", {"body": body}, PlanarBody.numbers(1.0 + k, 0.1))
        if last is not None:
            hinge = PlanarRevolute()
            place = np.array([x, y]) - arms[k, 0] * np.array([math.cos(angle), math.sin(angle)])
            s.add(hinge, f"hinge{k}", {"a": last[0], "b": body}, hinge.place(place, None, last[1], q))
        last = body, q
    assert s.report(0.01)["unknowns"] == 11 * n - 2
    assert s.report(0.01, reduction="joints")["unknowns"] == n + 2
    from tests.systems.assembled.test_joints import joints_of

    run, joints = joints_of(s, 1e-3)
    joints.build(run, predicted=False)
    P = joints.null_space(mean=False)
    d = 1e-6
    differences = np.stack([(kinematics(w + d * e) - kinematics(w - d * e)) / (2 * d) for e in np.eye(n + 2)], axis=1)
    # both span the same space of twists: P = D·A with a regular A
    A, residual = np.linalg.lstsq(differences, P[: 3 * n], rcond=None)[:2]
    assert np.abs(differences @ A - P[: 3 * n]).max() < 1e-8
    assert np.linalg.matrix_rank(A) == n + 2
    assert residual.max(initial=0.0) < 1e-14
