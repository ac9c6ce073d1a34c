"""Set-valued laws against closed forms: ropes, friction by direction, couples against rolling and spinning, dry joints, static friction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import jourdain as jd

G = 9.81
EXACT: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13}


def on_the_floor(shape: Any, **law: Any) -> jd.System:
    m = jd.Model("floor")
    m.ground.shapes.append(jd.plane())
    body = m.body("body", shape=shape)
    m.free("f", m.ground, body)
    m.contact("floor", body, m.ground, law=jd.contact.rigid(**law))
    return m.compile()


def first(sol: Any, name: str, below: float = 1e-10) -> float:
    """When the size of a channel is first below a bound."""
    return float(sol.t[int(np.argmax(np.abs(sol[name]) < below))])


@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_a_pendulum_on_a_slack_rope(e: float) -> None:
    """From (a, 0) it falls freely to depth √(ℓ² − a²); there the speed along the rope becomes −e times what it was, that across stays."""
    a, length, mass = 0.6, 1.0, 2.0
    m = jd.Model("rope")
    bob = m.body("bob", mass=mass, inertia=(1e-3, 1e-3, 1e-3))
    m.free("f", m.ground, bob)
    m.rope("line", m.ground, bob, length=length, law=jd.contact.rigid(restitution=e))
    sol = m.compile().simulate({"f.x": a}, 0.45, **EXACT)
    depth = math.sqrt(length**2 - a**2)
    when, v = math.sqrt(2.0 * depth / G), math.sqrt(2.0 * G * depth)
    impact = sol.contacts.impacts[0]
    np.testing.assert_allclose([impact.t, impact.before, impact.after], [when, -v * depth, e * v * depth], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(impact.impulse), (1.0 + e) * mass * v * depth, rtol=1e-12)
    np.testing.assert_allclose(sol["contacts.dissipated"][-1], 0.5 * mass * (v * depth) ** 2 * (1.0 - e**2), atol=1e-9)
    if e == 0.0:  # it swings on a circle: T = m (v²/ℓ + g cos φ)
        x, z, vx, vz = (sol[n][-1] for n in ("f.x", "f.z", "f.x_rate", "f.z_rate"))
        np.testing.assert_allclose(math.hypot(x, z), length, atol=1e-12)
        np.testing.assert_allclose(sol["line.tension"][-1], mass * (vx**2 + vz**2 - G * z), rtol=1e-9)


def test_a_weight_that_bounces_on_a_rope_comes_to_rest() -> None:
    """Thrown from h above its lowest place: impacts accumulate at √(2h/g) (1 + e)/(1 − e)."""
    e, h = 0.5, 0.5
    m = jd.Model("weight")
    body = m.body("body", mass=2.0)
    m.prismatic("j", m.ground, body, axis="z")
    m.rope("line", m.ground.at(0, 0, 1), body, length=1.0, law=jd.contact.rigid(restitution=e))
    sol = m.compile().simulate({"j": h}, 2.0, **EXACT)
    np.testing.assert_allclose(sol.contacts.rests[0][0], math.sqrt(2.0 * h / G) * (1.0 + e) / (1.0 - e), rtol=1e-10)
    np.testing.assert_allclose(sol["line.tension"][-1], 2.0 * G, rtol=1e-12)


@pytest.mark.parametrize("turn", [0.0, 0.7])
@pytest.mark.parametrize("of", ["a", "b"])
def test_a_block_slides_obliquely_where_friction_differs_by_direction(of: str, turn: float) -> None:
    """With most dissipation dv₁/dv₂ = (μ₁²v₁)/(μ₂²v₂): v₁^(μ₂²)/v₂^(μ₁²) is constant while it slides, in the axes of whose friction it is."""
    m1, m2 = 0.2, 0.6
    m = jd.Model("floor")
    m.ground.shapes.append(jd.plane())
    along = (math.cos(turn), math.sin(turn), 0.0)
    body = m.body("body", shape=jd.box(0.2, 0.2, 0.1, density=1000.0))
    m.free("f", m.ground, body)
    m.contact("floor", body, m.ground, law=jd.contact.rigid(friction=(m1, m2), along=along if of == "b" else "x", of=of))
    heading = turn if of == "a" else 0.0  # the block has the direction, and does not turn
    start = {"f.z": 0.05, "f.orientation.e0": math.cos(heading / 2), "f.orientation.e3": math.sin(heading / 2)}
    v = np.array([math.cos(turn) - math.sin(turn), math.sin(turn) + math.cos(turn)])  # (1, 1) along the two directions
    sol = m.compile().simulate(start | {"f.x_rate": v[0], "f.y_rate": v[1]}, 0.15, **EXACT)
    c, s = math.cos(turn), math.sin(turn)
    v1, v2 = c * sol["f.x_rate"] + s * sol["f.y_rate"], -s * sol["f.x_rate"] + c * sol["f.y_rate"]
    assert v2[-1] < 0.5 < v1[-1]
    np.testing.assert_allclose(v1 ** (m2**2) / v2 ** (m1**2), 1.0, atol=1e-8)
    force = sol["floor.body.force"][-1]
    np.testing.assert_allclose(math.hypot((c * force[0] + s * force[1]) / m1, (-s * force[0] + c * force[1]) / m2), force[2], rtol=1e-8)


def test_a_ball_with_rolling_resistance_comes_to_rest() -> None:
    """Rolling with a = (5/7) g ρ/r: it stops after v/a and v²/2a, and stays."""
    r, rho, v = 0.1, 0.002, 1.0
    s = on_the_floor(jd.sphere(r, density=1000.0), friction=0.5, rolling=rho)
    a = 5.0 / 7.0 * G * rho / r
    sol = s.simulate({"f.z": r, "f.x_rate": v, "f.orientation.omega_y": v / r}, 8.0, **EXACT)
    np.testing.assert_allclose([first(sol, "f.x_rate"), sol["f.x"][-1]], [v / a, v**2 / (2.0 * a)], rtol=1e-9)
    assert abs(sol["f.x_rate"][-1]) < 1e-14
    for h in (8e-3, 4e-3, 2e-3):
        steps = s.simulate({"f.z": r, "f.x_rate": v, "f.orientation.omega_y": v / r}, 8.0, "moreau", step=h)
        assert abs(steps["f.x"][-1] - v**2 / (2.0 * a)) < 3.0 * h**2
        assert abs(steps["f.x_rate"][-1]) < 1e-12


def test_a_ball_rests_on_a_slope_up_to_the_lever_arm() -> None:
    """tan α = ρ/r holds it; above it rolls with (5/7) g (sin α − (ρ/r) cos α)."""
    r, rho = 0.1, 0.005
    for side in (1.0 - 1e-9, 1.2):
        alpha = math.atan(side * rho / r)
        m = jd.Model("slope", gravity=(G * math.sin(alpha), 0, -G * math.cos(alpha)))
        m.ground.shapes.append(jd.plane())
        ball = m.body("ball", shape=jd.sphere(r, density=1000.0))
        m.free("f", m.ground, ball)
        m.contact("floor", law=jd.contact.rigid(friction=0.5, rolling=rho))
        for way in (EXACT, {"method": "moreau", "step": 1e-3}):
            sol = m.compile().simulate({"f.z": r}, 1.0, **way)
            expected = 0.0 if side < 1.0 else 5.0 / 7.0 * G * (math.sin(alpha) - rho / r * math.cos(alpha))
            np.testing.assert_allclose(sol["f.x_rate"][-1], expected, atol=1e-10)


def test_a_top_that_spins_on_its_point_is_stopped_by_drilling_friction() -> None:
    """C ω̇ = −s m g: from ω it rests after C ω/(s m g)."""
    r, arm, omega = 0.1, 0.003, 10.0
    s = on_the_floor(jd.sphere(r, density=1000.0), friction=0.5, spinning=arm)
    sol = s.simulate({"f.z": r, "f.orientation.omega_z": omega}, 2.0, **EXACT)
    when = 0.4 * r**2 * omega / (arm * G)
    np.testing.assert_allclose(first(sol, "f.orientation.omega_z"), when, rtol=1e-9)
    turned = 2.0 * math.atan2(sol["f.orientation.e3"][-1], sol["f.orientation.e0"][-1]) % (4.0 * math.pi)
    np.testing.assert_allclose(turned, 0.5 * omega * when % (4.0 * math.pi), rtol=1e-9)
    np.testing.assert_allclose(sol["floor.body.torque"][1, 2], -arm * sol["floor.body.force"][1, 2], rtol=1e-9)


def test_a_block_on_a_spring_loses_two_f_over_k_in_each_half_swing() -> None:
    k, mass, bound, x0 = 50.0, 2.0, 3.0, 1.0
    m = jd.Model("block")
    block = m.body("block", mass=mass)
    slide = m.prismatic("slide", m.ground, block, axis="x")
    m.joint_spring(slide, stiffness=k)
    m.friction(slide, coulomb=bound, smoothing=0)
    half = math.pi / math.sqrt(k / mass)
    times = np.arange(12) * half
    sol = m.compile().simulate({"slide": x0}, float(times[-1]), times=times, **EXACT)
    swings = [x0 - 2.0 * n * bound / k for n in range(12)]
    last = next(n for n, x in enumerate(swings) if x * k <= bound)  # where the spring no longer moves it
    expected = [(-1) ** min(n, last) * swings[min(n, last)] for n in range(12)]
    np.testing.assert_allclose(sol["slide.displacement"], expected, atol=1e-9)
    np.testing.assert_allclose(sol["slide.dry_friction"][-1], k * expected[-1], rtol=1e-9)
    np.testing.assert_allclose(sol["contacts.dissipated"][-1], 0.5 * k * (x0**2 - expected[-1] ** 2), rtol=1e-9)


def test_the_period_of_stick_and_slip_from_event_to_event() -> None:
    """μ₀ > μ on a belt of speed V: slides (2π − 2 arctan(Δω/V))/ω, sticks 2Δ/V with Δ = (μ₀ − μ) m g/k."""
    v, mu, held, k = 0.1, 0.2, 0.3, 50.0
    m = jd.Model("belt")
    belt = m.body("belt", mass=1.0, inertia=(1, 1, 1))
    belt.shapes.append(jd.plane())
    m.drive(m.prismatic("roll", m.ground, belt, axis="x"), lambda t: v * t)
    mass = m.body("mass", shape=jd.box(0.1, 0.1, 0.1, density=1000.0))
    m.free("f", m.ground, mass)
    m.spring("spring", m.ground.at(-1.0, 0, 0.05), mass, stiffness=k, length=1.0)
    m.contact("grip", belt, mass, law=jd.contact.rigid(friction=mu, static=held))
    delta, omega = (held - mu) * G / k, math.sqrt(k)
    period = (2.0 * math.pi - 2.0 * math.atan(delta * omega / v)) / omega + 2.0 * delta / v
    sol = m.compile().simulate({"f.z": 0.05, "f.x": 0.0, "f.x_rate": v}, 5.0, **EXACT)
    sticks = np.abs(sol["f.x_rate"] - v) < 1e-11
    begins = [i - 1 for i in range(1, len(sol.t)) if sticks[i - 1] and not sticks[i]]
    np.testing.assert_allclose(np.diff(sol.t[begins]), period, atol=1e-9)
    np.testing.assert_allclose(sol["f.x"][begins], held * G / k, atol=1e-9)
