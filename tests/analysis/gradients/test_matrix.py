"""Every feature of a model × formulation × method: a gradient is exact for the run, by both methods, or refused in words that say what can be done."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain import library
from jourdain.analysis.gradients.simulated import GradientWarning

Case = tuple[jd.Model, dict[str, float], dict[str, Any], list[str]]
START = {"crank.angle": 0.5, "crank.angle_rate": 3.0}
LOOP = ["crank_length", "piston_mass", "crank.angle"]


def _crank() -> tuple[jd.Model, Any, Any]:
    m = library.slider_crank()
    return m, m.joints["crank"], m.joints["piston"]


def loops() -> Case:
    return _crank()[0], START, {}, LOOP


def user_states() -> Case:
    m, crank, piston = _crank()
    z = m.state("lag", 0.1)
    m.rate(z, m.parameter("g", 5.0) * (piston.position - z))
    m.force(crank, -0.3 * z)
    return m, START, {}, ["g", *LOOP]


def nonholonomic() -> Case:
    return library.chaplygin_sleigh(), {"sleigh.x_rate": 0.7, "sleigh.angle_rate": 1.5}, {}, ["mass", "inertia", "distance"]


def drives() -> Case:
    m, crank, piston = _crank()
    m.drive(crank, 0.5 + m.parameter("w", 3.0) * m.time)
    z = m.state("wear", 0.0)
    m.rate(z, piston.velocity**2)
    return m, {}, {}, ["w", "crank_length"]


def signals() -> Case:
    m, crank, _ = _crank()
    m.force(crank, m.input("F"))
    ordinates = [m.parameter(f"f{i}", 1.0 - 0.7 * i) for i in range(3)]
    return m, START, {"inputs": {"F": ([0.0, 0.1, 0.2], ordinates)}}, ["f0", "f1", *LOOP]


def controllers() -> Case:
    m, crank, piston = _crank()
    m.force(crank, m.input("F"))
    law = -m.parameter("k", 0.2) * piston.position - m.parameter("d", 0.005) * crank.velocity
    return m, START, {"inputs": {"F": jd.Controller(law, 0.03)}}, ["k", "d", *LOOP]


def memories() -> Case:
    m, crank, piston = _crank()
    mean = m.memory("mean", m.parameter("first", 0.2))
    m.update(mean, 0.9 * mean + m.parameter("gain", 0.05) * piston.velocity)
    m.force(crank, -2.0 * mean)
    return m, START, {"max_step": 0.01}, ["gain", "first", *LOOP]


def memories_and_controllers() -> Case:
    m, crank, piston = _crank()
    mean = m.memory("mean", m.parameter("first", 0.2))
    m.update(mean, 0.9 * mean + m.parameter("gain", 0.05) * piston.velocity)
    m.force(crank, m.input("F") - mean)
    law = -m.parameter("k", 0.5) * piston.position * mean
    return m, START, {"max_step": 0.01, "inputs": {"F": jd.Controller(law, 0.03)}}, ["gain", "first", "k", *LOOP]


def tyres() -> Case:
    return library.plane_vehicle(damper="cubic", active=400.0), {}, {"t": 1.5}, ["d_F", "c_F"]


def events() -> Case:
    m, crank, piston = _crank()
    load = m.memory("load", 0.0)
    m.update(load, load)
    m.force(crank, -load)
    m.event("late", crank.position - m.parameter("when", 0.8), jump={load: m.parameter("brake", 1.5)})
    return m, START, {"max_step": 0.01}, ["when", "brake", *LOOP]


def jumps() -> Case:
    m, crank, _ = _crank()
    m.event("knock", crank.position - m.parameter("when", 0.8), jump={crank.velocity: m.parameter("e", 0.7) * crank.velocity})
    return m, START, {}, ["when", "e", *LOOP]


def _foot(law: Any, shape: Any = None) -> tuple[jd.Model, dict[str, float]]:
    """A leg on a slider that hops: a foot on a floor."""
    m = jd.Model("hopper", gravity=(0, 0, -9.81))
    hip = m.body("hip", mass=m.parameter("m_hip", 2.0), inertia=(0.01, 0.01, 0.01))
    shin = m.body("shin", mass=0.4, inertia=(4e-3, 4e-3, 4e-4), com=(0, 0, -0.15))
    sledge = m.body("sledge", mass=0.05)
    m.prismatic("x", m.ground, sledge, axis="x")
    m.prismatic("z", sledge, hip, axis="z")
    knee = m.revolute("knee", hip, shin, axis="y")
    m.joint_spring(knee, m.parameter("c", 30.0), damping=0.3)
    shin.add_collision((shape or jd.sphere(0.03)).at(0, 0, -0.3))
    m.ground.add_collision(jd.plane())
    m.contact("floor", shin, m.ground, law=law(m))
    return m, {"z.displacement": 0.335, "x.displacement_rate": 0.6, "knee.angle": 0.15}


def penalty_contacts() -> Case:
    rub = lambda m: jd.contact.regularised(m.parameter("mu", 0.5), 0.05)
    m, start = _foot(
        lambda m: jd.contact.hunt_crossley(stiffness=m.parameter("K", 8e4), damping=m.parameter("loss", 0.4), friction=rub(m), rolling=0.01)
    )
    start["z.displacement"] = 0.3245  # in touch from the first step to the last, so that runs with the same steps see no bend
    return m, start, {"t": 0.05}, ["K", "loss", "mu", "m_hip", "c", "x.displacement_rate", "knee.angle"]


def rigid_contacts() -> Case:
    m, start = _foot(lambda m: jd.contact.rigid(friction=m.parameter("mu", 0.5)))
    return m, start, {"t": 0.12}, ["m_hip", "c"]


def phases() -> Case:
    m, crank, _ = _crank()
    m.event("part", crank.position - 0.8, direction=1, release=m.joints["pin"] if "pin" in m.joints else m.constraints["pin"])
    return m, START, {}, LOOP


def unknowns() -> Case:
    m, crank, piston = _crank()
    g = m.parameter("g", 0.05)
    y = m.unknown("y", 0.1, lambda y: y + 0.2 * y**3 - g * piston.position)
    m.force(crank, -y)
    return m, START, {}, ["g", *LOOP]


FEATURES: dict[str, Callable[[], Case]] = {
    f.__name__: f
    for f in (
        loops, user_states, nonholonomic, drives, signals, controllers, memories, memories_and_controllers, tyres, events, jumps, penalty_contacts,
        rigid_contacts, phases, unknowns,
    )
}  # fmt: skip

#: Options of compile and of simulate.
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "recursive dopri5": ({}, {"rtol": 1e-9, "atol": 1e-11}),
    "recursive rk4": ({}, {"method": "rk4", "step": 1e-3}),
    "recursive radau": ({}, {"method": "radau", "rtol": 1e-9, "atol": 1e-11}),
    "recursive rosenbrock": ({}, {"method": "rosenbrock", "rtol": 1e-9, "atol": 1e-11}),
    "cartesian": ({"formulation": "cartesian"}, {"rtol": 1e-9, "atol": 1e-11}),
    "natural": ({"formulation": "natural"}, {"rtol": 1e-9, "atol": 1e-11}),
    "directors": ({"formulation": "directors"}, {"step": 1e-3}),
}


def seen(m: jd.Model) -> dict[str, Any]:
    """Criteria of every sort of reading."""
    if "driver" in m.sensors:
        return {
            "end": cr.final("front.travel"),
            "way": cr.integral("front.travel^2"),
            "push": cr.integral("driver.acceleration.z^2"),
            "mid": cr.at(0.4, "front.travel"),
        }
    angle = next(f"{j}.angle" for j in ("crank", "knee", "sleigh") if j in m.joints)
    return {
        "end": cr.final(angle),
        "way": cr.integral(f"'{angle}_rate'^2"),
        "push": cr.integral(f"t*'{angle}_acc'"),
        "mid": cr.at(0.04, angle),
    }


def judged(feature: str, way: str) -> str:
    """What became of a cell: "exact", or the words of the refusal."""
    compiled, given = WAYS[way]
    m, start, options, wrt = FEATURES[feature]()
    span = {"t": 0.2} | {n: x for n, x in options.items() if not ("step" in given and n == "max_step")}
    try:
        run = jd.Analysis(m.compile(**compiled), "simulate", start, **span, **given)
        criteria = seen(m)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            forward, adjoint = (run.gradient(criteria, wrt, method=n) for n in ("forward", "adjoint"))
            others = run.gradient(criteria, wrt, method="differences")
    except jd.InputError as error:
        return str(error)
    size = np.maximum(np.abs(forward.matrix), 1e-2 * np.abs(forward.matrix).max(axis=1, keepdims=True)) + 1e-12
    apart, wrong = (float((np.abs(g.matrix - forward.matrix) / size).max()) for g in (adjoint, others))
    assert apart < 1e-11, (apart, forward.matrix, adjoint.matrix)
    assert wrong < 2e-6, (wrong, forward.matrix, others.matrix)
    return f"exact {apart:.0e} {wrong:.0e}"


#: Cells that are refused, and what their words say.
REFUSED = {
    "unknowns": "algebraic unknown 'y' is not carried",
}


@pytest.mark.parametrize("feature", FEATURES)
def test_every_feature(feature: str) -> None:
    found = judged(feature, "recursive dopri5")
    assert re.search(REFUSED[feature], found) if feature in REFUSED else found.startswith("exact"), found


@pytest.mark.slow
@pytest.mark.parametrize("way", [w for w in WAYS if w != "recursive dopri5"])
@pytest.mark.parametrize("feature", FEATURES)
def test_every_feature_in_every_way(feature: str, way: str) -> None:
    found = judged(feature, way)
    if not found.startswith("exact"):
        assert "'" in found and len(found) > 30, found
        stiff = feature == "rigid_contacts" and way in ("recursive radau", "recursive rosenbrock")  # which set-valued laws do not go with
        assert feature in REFUSED or stiff or way in ("natural", "directors", "cartesian"), found


@pytest.mark.parametrize("feature", ["jumps", "events"])
def test_events_of_directors(feature: str) -> None:
    assert judged(feature, "directors").startswith("exact")


@pytest.mark.parametrize("way", ["recursive radau", "cartesian"])
@pytest.mark.parametrize("feature", ["controllers", "memories_and_controllers", "penalty_contacts"])
def test_new_features_elsewhere(feature: str, way: str) -> None:
    assert judged(feature, way).startswith("exact")


@pytest.mark.parametrize("method", ["forward", "adjoint"])
@pytest.mark.parametrize("law", ["contact", "maximum"])
def test_a_ball_on_a_spring(law: str, method: str) -> None:
    """A ball falls onto a floor of stiffness K and leaves it: closed form of every phase, by K, its mass and its height; slopes at the very bends had been those before them."""

    def closed(K: float, mass: float, high: float, g: float = 9.81, T: float = 0.3) -> float:
        w, d = np.sqrt(K / mass), mass * g / K
        v, t = np.sqrt(2 * g * high), np.sqrt(2 * high / g)
        stay = (2 * np.pi - 2 * np.arctan2(v / w, d)) / w  # δ = d + A cos(w t + φ) from 0 back to 0 with the speed turned round
        rest = T - t - stay
        return float(v * rest - g * rest**2 / 2)

    m = jd.Model("ball", gravity=(0, 0, -9.81))
    b = m.body("ball", mass=m.parameter("mass", 0.5))
    z, K = m.prismatic("z", m.ground, b, axis="z"), m.parameter("K", 2e4)
    if law == "contact":
        b.add_collision(jd.sphere(0.1))
        m.ground.add_collision(jd.plane())
        m.contact("floor", b, m.ground, law=jd.contact.linear(stiffness=K))
    else:
        m.force(z, K * jd.maximum(0.1 - z.position, 0.0))
    run = jd.Analysis(m.compile(), "simulate", {"z.displacement": 0.15}, t=0.3, rtol=1e-10, atol=1e-12)
    g = run.gradient({"end": cr.final("z.displacement - 0.1")}, ["K", "mass", "z.displacement"], method=method)
    at = np.array([2e4, 0.5, 0.05])
    assert g.values["end"] == pytest.approx(closed(*at), rel=1e-6)
    for j in range(3):
        h = 1e-6 * at[j] * np.eye(3)[j]
        assert g.matrix[0, j] == pytest.approx((closed(*(at + h)) - closed(*(at - h))) / (2 * h[j]), rel=1e-6), j


def test_a_force_that_jumps_at_touch_is_told() -> None:
    m, start = _foot(lambda m: jd.contact.kelvin_voigt(stiffness=8e4, damping=m.parameter("D", 50.0)))
    run = jd.Analysis(m.compile(), "simulate", start, t=0.05)
    with pytest.warns(GradientWarning, match="force of contact 'floor' jumps where bodies meet"):
        assert run.gradient({"x": cr.final("knee.angle")}, ["D"]).notes


@pytest.mark.parametrize(("width", "jumps"), [(0.06, True), (1.0, False)])
def test_points_that_come_and_go_at_a_depth_are_told(width: float, jumps: bool) -> None:
    """A rim that crosses the corner of a face gains a second point there at once; on a wide face it does not."""
    m = jd.Model("rod on a block", gravity=(0, 0, -9.81))
    guide, rod = m.body("guide", mass=0.1), m.body("rod", mass=m.parameter("mass", 1.0), inertia=(0.01, 0.012, 0.008))
    m.prismatic("z", m.ground, guide, axis="z")
    m.joint_spring(m.revolute("r", guide, rod, axis=(0.3, 1, 0.1)), 2.0)
    rod.add_collision(jd.cylinder(0.05, 0.2))
    m.ground.add_collision(jd.box(width, width, 0.2).at(0.02, 0.01, -0.1))
    m.contact("block", rod, m.ground, law=jd.contact.hunt_crossley(stiffness=1e5, damping=0.2, friction=jd.contact.regularised(0.3, 0.05)))
    run = jd.Analysis(m.compile(), "simulate", {"z.displacement": 0.098, "r.angle": 0.15}, t=0.01, rtol=1e-9, atol=1e-11)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run.gradient({"z": cr.final("z.displacement")}, ["mass"])
    assert any("'rod' and 'ground' touch come and go at a depth" in str(w.message) for w in told) == jumps


def test_what_contacts_do_not_carry_is_told() -> None:
    def told(law: Any, criterion: Any = None, wrt: str = "m_hip", **more: Any) -> str:
        m, start = _foot(law, **more)
        run = jd.Analysis(m.compile(), "simulate", start, t=0.05)
        with pytest.raises(jd.InputError) as caught:
            run.gradient({"x": criterion or cr.final("knee.angle")}, [wrt], method="adjoint")
        return str(caught.value)

    assert "damping= instead of restitution=" in told(lambda m: jd.contact.hunt_crossley(stiffness=8e4, restitution=0.5))
    assert "regularised" in told(lambda m: jd.contact.hunt_crossley(stiffness=8e4, damping=0.1, friction=jd.contact.bristle(0.5, 1e4)))
    plain = lambda m: jd.contact.hunt_crossley(stiffness=8e4, damping=m.parameter("loss", 0.1))
    assert "reads forces of contact" in told(plain, cr.integral("floor.shin.Fz"))
    m, start = _foot(plain)
    with pytest.raises(jd.InputError, match="contacts .'floor'. are not carried"):
        jd.Analysis(m.compile(), "simulate", start, t=0.05).hessian({"x": cr.final("knee.angle")}, ["loss"])
