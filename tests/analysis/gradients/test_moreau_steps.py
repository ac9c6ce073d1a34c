"""Gradients along Moreau's steps, with what contacts did held: forwards, by adjoint, against runs of changed models and closed forms."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain.analysis.gradients.moreau.turning import moved
from jourdain.analysis.gradients.runs import GradientWarning, NotCarried

G = 9.81
Case = tuple[jd.Model, dict[str, float], float, list[str], dict[str, Any]]


def rolling_ball() -> Case:
    """A ball falls, slides and rolls: quaternions, an impact without rebound, friction of a direction that turns, its own size."""
    m = jd.Model("ball", gravity=(0, 0, -G))
    b = m.body("b", mass=m.parameter("mass", 1.0), inertia=(m.parameter("I", 0.004),) * 3)
    m.free("j", m.ground, b)
    b.add_collision(jd.sphere(m.parameter("r", 0.1)))
    m.ground.add_collision(jd.plane())
    m.contact("floor", b, m.ground, law=jd.contact.rigid(friction=m.parameter("mu", 0.2)))
    start = {"j.z": 0.15, "j.x_rate": 1.0, "j.y_rate": 0.3, "j.orientation.omega_z": 2.0}
    criteria = {
        "x": cr.final("j.x"), "spin": cr.integral("j.x_rate*j.orientation.omega_y"), "mid": cr.at(0.21, "j.x_rate"), "size": cr.rms("j.z"),
        "own": cr.integral("(j.x/s)^4", s=0.3), "norm": cr.largest("j.x", smooth=8),
    }  # fmt: skip
    return m, start, 0.4, ["mass", "I", "r", "mu", "j.x_rate", "j.z", "own.s"], criteria


def sliding_block() -> Case:
    """Four corners, whose normal forces are redundant, slide down a slope and stop."""
    m = jd.Model("block", gravity=(2.0, 0, -G))
    s, b = m.body("s", mass=1e-3), m.body("b", mass=m.parameter("mass", 1.0), inertia=(0.01,) * 3)
    m.prismatic("x", m.ground, s, axis="x")
    m.prismatic("z", s, b, axis="z")
    b.add_collision(jd.box(0.4, 0.3, 0.2))
    m.ground.add_collision(jd.plane())
    m.contact("floor", b, m.ground, law=jd.contact.rigid(friction=m.parameter("mu", 0.4), static=0.5))
    criteria = {"x": cr.final("x.displacement"), "way": cr.integral("x.displacement_rate^2")}
    return m, {"z.displacement": 0.1, "x.displacement_rate": 2.0}, 1.2, ["mu", "x.displacement_rate"], criteria


def falling_chain() -> Case:
    """Three links whose ends land on a floor: masses that depend on positions, springs, a state of its own and an input."""
    m, before = jd.Model("chain", gravity=(0, 0, -G)), None
    for i in range(3):
        b = m.body(f"b{i}", mass=m.parameter(f"m{i}", 1.0 + 0.2 * i), inertia=(0.02,) * 3, com=(0, 0, -0.25))
        j = m.revolute(f"r{i}", m.ground if before is None else before.at(0, 0, -0.5), b, axis="y")
        m.joint_spring(j, 0.5, damping=0.05)
        b.add_collision(jd.sphere(0.05).at(0, 0, -0.5))
        before = b
    m.ground.add_collision(jd.plane().at(0, 0, m.parameter("floor", -1.2)))
    for i in range(3):
        m.contact(f"f{i}", m.bodies[f"b{i}"], m.ground, law=jd.contact.rigid(friction=m.parameter(f"mu{i}", 0.3)))
    lag = m.state("lag", 0.0)
    m.rate(lag, m.parameter("g", 4.0) * (m.joints["r1"].position - lag))
    m.force(m.joints["r2"], -0.5 * lag)
    criteria = {"a": cr.final("r2.angle"), "w": cr.integral("r0.angle_rate^2"), "lag": cr.at(0.7, "lag")}
    return m, {"r0.angle": 1.2, "r1.angle": 0.3, "r2.angle": -0.4}, 0.9, ["m0", "m1", "mu2", "g", "floor", "r0.angle"], criteria


def damped_leg() -> Case:
    """A trunk on a foot that stays on the floor, between them a spring and a damper so strong that steps look at their contacts more than twice."""
    m = jd.Model("leg", gravity=(0, 0, -G))
    foot = m.body("foot", shape=jd.sphere(0.05, density=400.0))
    trunk = m.body("trunk", mass=m.parameter("mass", 5.0), inertia=(0.1,) * 3)
    m.prismatic("slide", m.ground, foot, axis="z")
    knee = m.prismatic("knee", foot, trunk, axis="z")
    m.force(knee, -m.parameter("k", 8e3) * knee.position - m.parameter("c", 300.0) * knee.velocity)
    m.ground.shapes.append(jd.plane())
    m.contact("floor", law=jd.contact.rigid(friction=0.5))
    criteria = {"down": cr.at(0.021, "knee.displacement"), "work": cr.integral("knee.displacement_rate^2")}
    return m, {"slide": 0.05, "knee.displacement_rate": -0.2}, 0.1, ["mass", "k", "c", "knee.displacement_rate"], criteria


def thrown_box() -> Case:
    """A box lands on one corner, then on an edge."""
    m = jd.Model("box", gravity=(0, 0, -G))
    b = m.body("b", mass=m.parameter("mass", 1.0), inertia=(0.004, 0.005, m.parameter("I", 0.006)))
    m.free("j", m.ground, b)
    b.add_collision(jd.box(0.2, 0.16, m.parameter("c", 0.1)))
    m.ground.add_collision(jd.plane())
    m.contact("floor", b, m.ground, law=jd.contact.rigid(friction=m.parameter("mu", 0.3)))
    start = {"j.z": 0.3, "j.x_rate": 0.7, "j.orientation.omega_x": 3.0, "j.orientation.omega_y": 1.0}
    criteria = {"x": cr.final("j.x"), "y": cr.final("j.y"), "spin": cr.integral("j.orientation.omega_z^2")}
    return m, start, 0.288, ["mass", "I", "c", "mu", "j.x_rate", "j.orientation.omega_x"], criteria


def two_balls_and_a_stop() -> Case:
    """A ball strikes another, which reaches the end of its slide."""
    m = jd.Model("two", gravity=(0, 0, 0))
    balls = []
    for i, mass in enumerate((1.0, 2.0)):
        b = m.body(f"b{i}", mass=m.parameter(f"m{i}", mass))
        m.prismatic(f"x{i}", m.ground.at(0, 0.03 * i, 0), b, axis="x", limits=(None, 0.8) if i else (None, None))
        b.add_collision(jd.sphere(0.1))
        balls.append(b)
    m.contact("hit", *balls, law=jd.contact.rigid())
    m.stops(joints=[m.joints["x1"]], law=jd.contact.rigid())
    m.joint_spring(m.joints["x1"], m.parameter("k", 4.0), rest=0.5)
    start = {"x0.displacement_rate": 1.5, "x1.displacement": 0.5}
    return (
        m,
        start,
        0.9,
        ["m0", "m1", "k", "x0.displacement_rate"],
        {"first": cr.final("x0.displacement"), "way": cr.integral("x1.displacement^2")},
    )


def turning_rod() -> Case:
    """A rod turns over its tip, which slides on the floor from the start: J̇ v of the first of few steps counts."""
    m = jd.Model("rod", gravity=(0, 0, -G))
    b = m.body("b", mass=m.parameter("mass", 1.0), inertia=(0.1, m.parameter("I", 0.08), 0.1))
    b.add_collision(jd.sphere(0.01).at(0, 0, -0.5))
    m.ground.add_collision(jd.plane())
    m.sequence("j", m.ground, b, ["Tx", "Tz", "Ry"])
    m.contact("tip", b, m.ground, law=jd.contact.rigid(friction=m.parameter("mu", 0.3)))
    start = {"j.z": 0.51, "j.x_rate": 3.0, "j.ry_rate": 1.0}
    criteria = {"x": cr.final("j.x_rate"), "z": cr.at(0.004, "j.z_rate"), "spin": cr.at(0.004, "j.ry_rate")}
    return m, start, 0.012, ["mass", "I", "mu", "j.x_rate", "j.ry_rate"], criteria


def _elsewhere(run: Any, criteria: Any, wrt: Any) -> Any:
    """Another value of the first variable, at which laws leave no forces open (of which a warning tells), and the gradient there."""
    for part in (1.001, 1.0005, 1.002, 0.999):
        values = {wrt[0]: part * run.value_of(wrt[0])}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            g = run.gradient(criteria, wrt, values=values)
        if not told:
            return values, g
    raise AssertionError("laws leave forces open everywhere")


@pytest.mark.parametrize("case", [rolling_ball, sliding_block, falling_chain, damped_leg, thrown_box, two_balls_and_a_stop, turning_rod])
def test_the_discrete_run_is_differentiated(case: Any) -> None:
    """Forward = adjoint = differences of runs whose contacts do the same; and at other values of the variables."""
    m, start, t, wrt, criteria = case()
    run = jd.Analysis(m.compile(), "simulate", start, t=t, method="moreau", step=0.004)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forward, adjoint = (run.gradient(criteria, wrt, method=n) for n in ("forward", "adjoint"))
    assert forward.values == pytest.approx(run.evaluate(criteria), rel=1e-12)
    size = np.abs(forward.matrix).max(axis=1, keepdims=True)
    assert (np.abs(adjoint.matrix - forward.matrix) / size).max() < 1e-12
    for values, g in (({}, forward), _elsewhere(run, criteria, wrt)):
        for j, variable in enumerate(wrt):
            x = g.variables[variable]
            best = np.full(len(criteria), np.inf)
            for part in (1e-5, 1e-6, 1e-7):  # where the smallest changes nothing but rounding, and the largest may change who touches
                h = part * max(abs(x), 0.1)
                up, down = (run.evaluate(criteria, {**values, variable: x + way * h}) for way in (1, -1))
                slopes = np.array([(up[n] - down[n]) / (2 * h) for n in criteria])
                best = np.minimum(best, np.abs(slopes - g.matrix[:, j]))
            assert (best < 1e-6 * size[:, 0]).all(), (variable, best / size[:, 0])


def test_a_block_that_stops() -> None:
    """x = v₀²/(2 (μ g − 2)) as steps grow short."""
    m, start, _, wrt, _ = sliding_block()
    run = jd.Analysis(m.compile(), "simulate", start, t=1.2, method="moreau", step=1e-3)
    g = run.gradient({"x": cr.final("x.displacement")}, wrt)
    brake = 0.4 * G - 2.0
    assert g.matrix[0] == pytest.approx([-4.0 * G / (2 * brake**2), 2.0 / brake], rel=3e-3)


def test_the_same_run_from_event_to_event() -> None:
    """Without rebound derivatives of the steps tend to those of the motion."""
    m, start, t, wrt, _ = rolling_ball()
    criteria, wrt = {"x": cr.final("j.x"), "way": cr.integral("j.x_rate^2")}, [*wrt[:-1]]
    s = m.compile()
    exact = jd.Analysis(s, "simulate", start, t=t, rtol=1e-9, atol=1e-11).gradient(criteria, wrt).matrix
    apart = []
    for step in (4e-3, 1e-3):
        g = jd.Analysis(s, "simulate", start, t=t, method="moreau", step=step).gradient(criteria, wrt)
        apart.append(float((np.abs(g.matrix - exact) / np.abs(exact).max(axis=1, keepdims=True)).max()))
    assert apart[1] < 0.5 * apart[0] < 0.02


def test_rebounds_are_told() -> None:
    """A step does not move with its impact: the derivative by the height is that of the steps, and a warning says so."""
    m = jd.Model("ball", gravity=(0, 0, -G))
    b = m.body("b", mass=1.0)
    m.prismatic("z", m.ground, b, axis="z")
    b.add_collision(jd.sphere(0.1))
    m.ground.add_collision(jd.plane())
    m.contact("floor", b, m.ground, law=jd.contact.rigid(restitution=m.parameter("e", 0.6)))
    run = jd.Analysis(m.compile(), "simulate", {"z.displacement": 0.4}, t=0.4, method="moreau", step=0.004)
    with pytest.warns(GradientWarning, match="rebound in 1 steps"):
        g = run.gradient({"z": cr.final("z.displacement")}, ["e", "z.displacement"])
    h = 1e-6
    up, down = (run.evaluate({"z": cr.final("z.displacement")}, {"e": 0.6 + way * h})["z"] for way in (1, -1))
    assert g["z", "e"] == pytest.approx((up - down) / (2 * h), rel=1e-7)
    assert g["z", "z.displacement"] == pytest.approx(1.0)


def test_forces_that_laws_leave_open_are_told() -> None:
    """A face that turns while it slides: who carries how much is open, and friction depends on it."""
    m, start, _, wrt, criteria = thrown_box()
    run = jd.Analysis(m.compile(), "simulate", start, t=0.36, method="moreau", step=0.004)
    with pytest.warns(GradientWarning, match="share normal forces that their laws leave open"):
        run.gradient(criteria, wrt)


def _refused(m: jd.Model, start: dict[str, float], **more: Any) -> str:
    criterion = more.pop("criterion", cr.final("z.displacement"))
    run = jd.Analysis(m.compile(**more.pop("compiled", {})), "simulate", start, t=0.1, method="moreau", step=0.004, **more)
    with pytest.raises(NotCarried) as caught:
        run.gradient({"z": criterion}, ["mass"], method="adjoint")
    return str(caught.value)


def test_what_is_not_carried_is_told() -> None:
    def ball(law: Any = None, shape: Any = None, **more: Any) -> jd.Model:
        m = jd.Model("ball", gravity=(0, 0, -G))
        b = m.body("b", mass=m.parameter("mass", 1.0), inertia=(0.01,) * 3)
        m.prismatic("z", m.ground, b, axis="z")
        b.add_collision(shape or jd.sphere(0.1))
        m.ground.add_collision(jd.plane())
        m.contact("floor", b, m.ground, law=law or jd.contact.rigid())
        return m

    start = {"z.displacement": 0.12}
    assert "a cylinder on a plane, which is not carried yet" in _refused(ball(shape=jd.cylinder(0.1, 0.2)), start)
    assert "impact law 'poisson'" in _refused(ball(jd.contact.rigid(restitution=0.5, law="poisson")), start)
    assert "reads 'z.displacement_acc'" in _refused(ball(), start, criterion=cr.integral("z.displacement_acc"))
    assert "cartesian moreau runs" in _refused(ball(), start, compiled={"formulation": "cartesian"})
    m = ball()
    kept = m.memory("kept", 0.0)
    m.update(kept, kept)
    assert "memory 'kept'" in _refused(m, start)
    m = ball()
    m.event("late", m.time - 0.05, jump={m.joints["z"].velocity: 0.0})
    assert "event 'late'" in _refused(m, start)
    m = ball()
    other = m.prismatic("x", m.ground, m.body("other", mass=1.0), axis="x")
    m.constraint("tie", other.position - m.joints["z"].position)
    assert "constraints ('tie')" in _refused(m, start | {"x.displacement": 0.12})
    m = ball()
    run = jd.Analysis(m.compile(), "simulate", start, t=2.0, method="moreau", step=0.004)
    with pytest.raises(NotCarried, match="do not fit the memory"):
        run.gradient({"z": cr.final("z.displacement")}, ["mass"], memory=1000)
    s = m.compile()
    first = s.simulate(start, t=0.1, method="moreau", step=0.004)
    with pytest.raises(jd.InputError, match="starts where another run ended|goes on from another"):
        jd.Analysis(s, "simulate", first, t=0.2, method="moreau", step=0.004).gradient({"z": cr.final("z.displacement")}, ["mass"])


def test_laws_that_jump_are_refused() -> None:
    """Coulomb's friction by ``where`` in a joint: the plain derivative of the steps would not see the surface move."""

    def model(law: Any) -> jd.Model:
        m = jd.Model("ball", gravity=(0, 0, -G))
        b = m.body("b", mass=m.parameter("mass", 1.0))
        z = m.prismatic("z", m.ground, b, axis="z")
        m.force(z, law(z))
        b.add_collision(jd.sphere(0.1))
        m.ground.add_collision(jd.plane())
        m.contact("floor", b, m.ground, law=jd.contact.rigid())
        return m

    start = {"z.displacement": 0.2}
    assert "a law jumps where" in _refused(model(lambda z: jd.where(z.position > 0.18, 3.0, -3.0)), start)
    assert "a law jumps where" in _refused(
        model(lambda z: 0.0 * z.position), start, criterion=cr.integral("where(z.displacement > 0.18, 1, 0)")
    )
    run = jd.Analysis(
        model(lambda z: 30.0 * jd.maximum(0.15 - z.position, 0.0)).compile(), "simulate", start, t=0.3, method="moreau", step=0.004
    )
    g = run.gradient({"z": cr.at(0.13, "z.displacement")}, ["mass"])
    assert any("a law bends" in n for n in g.notes)
    g.check()


def test_turning() -> None:
    """q ∘ exp(d) and its derivatives, small and large turns."""
    rng = np.random.default_rng(3)
    q = rng.normal(size=(4, 6))
    q[:, 1:5] /= np.linalg.norm(q[:, 1:5], axis=1, keepdims=True)
    d = rng.normal(size=(4, 5)) * np.array([1.0, 1e-3, 1e-6, 0.0])[:, None]
    _, by_q, by_d = moved(q, d, [(1, 1)])
    for given, slopes, way in ((q, by_q, 0), (d, by_d, 1)):
        for j in range(given.shape[1]):
            h = 1e-6 * np.eye(given.shape[1])[j]
            up, down = (moved(*((q + s * h, d) if way == 0 else (q, d + s * h)), [(1, 1)])[0] for s in (1, -1))
            assert slopes[:, :, j] == pytest.approx((up - down) / 2e-6, abs=1e-8)
