"""Moreau's steps remember the step before: a restart goes on as if the run had never stopped, and a step that is looked at again is the one that was taken."""

import numpy as np
import pytest

import jourdain as jd


def tumbling(formulation: str = "recursive") -> jd.System:
    """A cylinder that comes to slide on a box, both free in space: rows of contacts turn fast."""
    m = jd.Model("tumbling", gravity=(0, 0, 0))
    a, b = m.body("a", shape=jd.cylinder(0.1, 0.3, density=1000.0)), m.body("b", shape=jd.box(0.2, 0.3, 0.25, density=1000.0))
    m.free("fa", m.ground, a)
    m.free("fb", m.ground, b)
    m.contact("c", law=jd.contact.rigid(friction=0.3))
    return m.compile(formulation=formulation)


def start() -> dict[str, float]:
    """A random one, in which the rim slides on a face from 0.07 s on."""
    rng, given = np.random.default_rng(58), dict[str, float]()
    way = rng.normal(size=3)
    way /= np.linalg.norm(way)
    offset = 0.03 * rng.normal(size=3)
    speed = -2 * way + 0.3 * rng.normal(size=3)
    for i, x in enumerate("xyz"):
        given |= {f"fa.{x}": 0.5 * way[i] + offset[i], f"fa.{x}_rate": speed[i]}
        given |= {f"fa.orientation.omega_{x}": rng.normal(), f"fb.orientation.omega_{x}": rng.normal()}
    for body in ("fa", "fb"):
        e = rng.normal(size=4)
        given |= {f"{body}.orientation.e{k}": v for k, v in enumerate(e / np.linalg.norm(e))}
    return given


@pytest.mark.parametrize("formulation", ["recursive", "cartesian", "natural", "directors"])
def test_forces_of_points_are_those_of_the_channels(formulation: str) -> None:
    run = tumbling(formulation).simulate(start(), t=0.1, method="moreau", step=5e-4)
    force = run["c.a.force"]
    rows = [k for k in range(150, 200, 7) if np.abs(force[k]).max() > 0.0]
    assert len(rows) > 5
    for k in rows:
        total = sum((c.force for c in run.contacts.at(run.t[k])), np.zeros(3))
        np.testing.assert_allclose(total, force[k], atol=1e-6 * np.abs(force[k]).max())


def test_a_restart_goes_on_as_if_the_run_had_never_stopped() -> None:
    s = tumbling()
    whole = s.simulate(start(), t=0.12, method="moreau", step=5e-4)
    half = s.simulate(start(), t=0.09, method="moreau", step=5e-4)
    rest = s.simulate(half, t=0.03, method="moreau", step=5e-4)
    n = len(half.t) - 1
    for name in ("fa.x", "fa.x_rate", "fa.orientation.omega_x", "fb.orientation.omega_z", "c.a.force"):
        np.testing.assert_allclose(rest[name][1:], whole[name][n + 1 :], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", ["moreau", "nonsmooth-generalized-alpha"])
@pytest.mark.parametrize("given", ["signal", "controller", "odd periods"])
def test_steps_are_looked_at_again_with_the_inputs_that_they_had(method: str, given: str) -> None:
    """A ball that is pushed: signals at their own instants, controllers held, and forces of contacts of every step where steps end with samples, too."""
    m = jd.Model("pushed")
    m.ground.shapes.append(jd.plane())
    ball = m.body("ball", shape=jd.sphere(0.05, density=1000.0))
    free = m.free("f", m.ground, ball)
    m.contact("floor", ball, m.ground, law=jd.contact.rigid(friction=0.5))
    m.load("push", ball, force=(m.input("F", unit="N"), 0, 0))
    wave = 0.3 * jd.sin(300.0 * m.time) - 2.0 * free.coordinates[0].v[0]
    inputs = {
        "signal": 2.0 * jd.sin(300.0 * m.time), "controller": jd.Controller(wave, period=4e-3), "odd periods": jd.Controller(wave, period=3e-3),
    }  # fmt: skip
    sol = m.compile().simulate({"f.z": 0.05}, t=0.1, method=method, step=2e-3, inputs={"F": inputs[given]})
    force = sol["floor.ball.force"]
    near = (
        0.02 if method != "moreau" and given == "signal" else 1e-9
    )  # generalised-α begins a single step with accelerations of the instant
    assert len({f"{x:.9f}" for x in force[:, 0]}) > 20  # pushed otherwise in every period, up to the end
    for k in np.flatnonzero(np.diff(sol.t) > 0.0) + 1:
        total = sum((c.force if c.body_a == "ball" else -c.force for c in sol.contacts.at(float(sol.t[k]))), np.zeros(3))
        np.testing.assert_allclose(total, force[k], atol=near)


def test_what_a_run_has_left_is_no_overlap_at_the_start() -> None:
    """Balls that roll off each other leave a micrometre of depth, from which the next piece goes on."""
    m = jd.Model("pile")
    m.ground.shapes.append(jd.plane())
    start = {}
    for i in range(12):
        m.free(f"f{i}", m.ground, m.body(f"b{i}", shape=jd.sphere(0.05, density=1000.0)))
        start |= {f"f{i}.x": 0.11 * (i % 4) + 0.003 * i, f"f{i}.z": 0.06 + 0.11 * (i // 4)}
    m.contact("all", law=jd.contact.rigid(friction=0.5))
    s = m.compile()
    whole = s.simulate(start, t=0.5, method="moreau", step=2e-3)
    sol = s.simulate(start, t=0.1, method="moreau", step=2e-3)
    for k in (2, 3, 4, 5):
        sol = s.simulate(sol, t=(0.1 * (k - 1), 0.1 * k), method="moreau", step=2e-3)
    np.testing.assert_allclose(sol["f3.x"][-1], whole["f3.x"][-1], atol=1e-6)
    with pytest.raises(jd.InputError, match="overlap at the start"):
        s.simulate(start | {"f0.z": 0.04}, t=0.1, method="moreau", step=2e-3)
