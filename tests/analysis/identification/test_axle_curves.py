"""The characteristic of axles, lateral force against slip angle, from step steers of a single-track model (spec 02, C25, T15)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd

MASS, INERTIA, FRONT, REAR, SPEED = 1500.0, 2500.0, 1.2, 1.5, 25.0
LENGTH = FRONT + REAR
TRUTH = {"Cf": 9.0e4, "Cr": 1.1e5, "mu": 0.85}
LOADS = {"f": MASS * 9.81 * REAR / LENGTH, "r": MASS * 9.81 * FRONT / LENGTH}


def dugoff(alpha: Any, C: Any, mu: Any, load: float, absolute: Any = abs, tan: Any = np.tan, where: Any = np.where) -> Any:
    """Pure side slip: F = C tan α f(λ), λ = μ F_z/(2 C |tan α|), f = λ (2 − λ) below 1."""
    slope = tan(alpha)
    lam = mu * load / (2.0 * C * absolute(slope) + 1e-9)
    return C * slope * where(lam < 1.0, lam * (2.0 - lam), 1.0)


def single_track() -> jd.Model:
    """v_y and r as states: m (v̇_y + v r) = F_f + F_r, J ṙ = l_f F_f − l_r F_r."""
    m = jd.Model("single track", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("car", mass=MASS), axis="x")
    p = {n: m.parameter(n, 0.8 * x, bounds=(0.3 * x, 2.0 * x)) for n, x in TRUTH.items()}
    steer = m.parameter("delta", 0.02, "rad")
    v, r = m.state("v", 0.0), m.state("r", 0.0)
    shapes = {"absolute": jd.absolute, "tan": jd.tan, "where": jd.where}
    front = dugoff(steer - jd.atan((v + FRONT * r) / SPEED), p["Cf"], p["mu"], LOADS["f"], **shapes)
    rear = dugoff(-jd.atan((v - REAR * r) / SPEED), p["Cr"], p["mu"], LOADS["r"], **shapes)
    dv, dr = (front + rear) / MASS - SPEED * r, (FRONT * front - REAR * rear) / INERTIA
    m.rate(v, dv)
    m.rate(r, dr)
    m.output("ay", dv + SPEED * r)
    m.output("turning", dr)
    return m


def test_recovered_curves_are_those_put_in() -> None:
    """F_f = (m l_r a_y + J ṙ)/L over α_f, and the rear alike, for steps up to 7 m/s²: the curves of the axles to 1e-6."""
    s = single_track().compile()
    s.set_parameters(**TRUTH)
    most = 0.0
    for steer in (0.01, 0.03, 0.05):
        s.set_parameters(delta=steer)
        run = s.simulate({}, 3.0, rtol=1e-9, atol=1e-12)
        ay, dr, v, r = (run[n] for n in ("ay", "turning", "v", "r"))
        most = max(most, float(np.abs(ay).max()))
        for own, other, force in (
            (FRONT, REAR, (MASS * REAR * ay + INERTIA * dr) / LENGTH),
            (REAR, FRONT, (MASS * FRONT * ay - INERTIA * dr) / LENGTH),
        ):
            ahead = own == FRONT
            slip = (steer - np.arctan((v + FRONT * r) / SPEED)) if ahead else -np.arctan((v - REAR * r) / SPEED)
            expected = dugoff(slip, TRUTH["Cf" if ahead else "Cr"], TRUTH["mu"], LOADS["f" if ahead else "r"])
            assert other != own and np.abs(force - expected).max() < 1e-6 * np.abs(expected).max()
    assert 6.0 < most < 8.0


def test_the_curves_are_identified_from_yaw_rate_and_acceleration() -> None:
    """Both stiffnesses and the friction from three steps without noise: 1e-6."""
    s = single_track().compile()
    t = np.linspace(0.0, 2.0, 81)
    records = []
    for steer in (0.01, 0.03, 0.05):
        own = jd.Analysis(s, "simulate", {}, t=2.0, times=t, rtol=1e-9, atol=1e-12).run({**TRUTH, "delta": steer})
        records.append({"t": t, "yaw": own["r"], "side": own["ay"], "delta": steer})
    fits = []
    for record in records[1:]:
        s.set_parameters(delta=record.pop("delta"))
        fits.append(s.identify(record, {"yaw": "r", "side": "ay"}, list(TRUTH), rtol=1e-9, atol=1e-12))
    best = fits[-1]
    assert best.rank == 3 and best.values == pytest.approx(TRUTH, rel=1e-6)


@pytest.mark.slow  # three cars in space
def test_the_curves_of_a_car_in_space() -> None:
    """Forces of its axles from lateral acceleration alone, over the slip of its motion: slopes within 5 % of what its tyres give over the same slip, and as much bent up to 7 m/s²."""
    from jourdain.library import car as lib

    points = []
    for rack in (0.0005, 0.004, 0.01):
        s = lib.car(steering=lambda t, rack=rack: jd.step(t, 0.5, 0.6, 0.0, rack), cruise=True).compile()
        sol = s.simulate(s.assemble({}, velocities=lib.rolling(20.0)), 6.0, rtol=1e-6, atol=1e-8)
        assert np.ptp(sol["chassis.rz_rate"][sol.t > 5.5]) < 1e-4
        end = {n: float(sol[n][-1]) for n in (*s.model.outputs, "chassis.rz_rate")}
        tyres = {a: {n: sum(end[f"{a}{c}.tyre.{n}"] for c in "LR") for n in ("Fy", "Fz", "alpha")} for a in "FR"}
        mass, length = float(s.model.parameter_set.evaluate(s.model.mass)), 2.7
        back = length * tyres["F"]["Fz"] / (tyres["F"]["Fz"] + tyres["R"]["Fz"])
        speed, rate = end["speed"], end["chassis.rz_rate"]
        side = speed * rate
        slip = (
            0.5 * tyres["F"]["alpha"],
            np.arctan(np.tan(end["sideslip"]) - back * rate / speed),
        )  # wheels that are steered, and the axle behind
        force = mass * back * side / length, mass * (length - back) * side / length
        points.append((side, [(-f / a, -tyres[w]["Fy"] / a) for f, a, w in zip(force, slip, "FR", strict=True)]))
    assert points[0][0] < 0.6 and points[-1][0] > 7.0
    for axle in (0, 1):
        single, effective = (np.array([p[1][axle][k] for p in points]) for k in (0, 1))
        assert single[0] == pytest.approx(effective[0], rel=0.05)
        assert single / single[0] == pytest.approx(effective / effective[0], rel=0.03)
        assert single[-1] < 0.85 * single[0]
