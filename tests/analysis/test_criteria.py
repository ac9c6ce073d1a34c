"""Planned analyses and criteria: values against closed forms, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain.library import plane_vehicle


def oscillator(mass: float = 2.0, stiffness: float = 50.0, damping: float = 0.0) -> jd.Model:
    m = jd.Model("oscillator", gravity=(0, 0, 0))
    k, c = m.parameter("k", stiffness, "N/m"), m.parameter("c", damping, "N s/m")
    joint = m.prismatic("x", m.ground, m.body("mass", mass=m.parameter("m", mass, "kg")), axis="x")
    m.joint_spring(joint, k, damping=c)
    m.output("force", -k * joint.position, unit="N")
    return m


@pytest.fixture(scope="module")
def swing() -> jd.Analysis:
    return jd.Analysis(oscillator().compile(), "simulate", {"x.displacement": 0.3}, t=2.0, rtol=1e-11, atol=1e-13)


def test_values_of_an_oscillator(swing: jd.Analysis) -> None:
    w, A, T = 5.0, 0.3, 2.0
    found = swing.evaluate(
        {
            "integral": cr.integral("x.displacement^2"),
            "mean": cr.mean("t*x.displacement_acc"),
            "rms": cr.rms("force"),
            "final": cr.final("x.displacement_rate"),
            "at": cr.at(0.7, "x.displacement"),
            "largest": cr.largest("x.displacement_rate"),
            "smallest": cr.smallest("x.displacement - d", d=0.1),
            "reaction": cr.final("x.reaction.x + 2*energy.total"),
            "data": cr.least_squares("x.displacement", [0.2, 0.4], [0.0, 0.0], weights=[1.0, 4.0]),
        }
    )
    square = A**2 * (T / 2 + np.sin(2 * w * T) / (4 * w))
    wanted = {
        "integral": square,
        "mean": -A * w**2 * (T * np.sin(w * T) / w + (np.cos(w * T) - 1) / w**2) / T,
        "rms": 50.0 * np.sqrt(square / T),
        "final": -A * w * np.sin(w * T),
        "at": A * np.cos(w * 0.7),
        "largest": A * w,
        "smallest": -A - 0.1,
        "data": 0.5 * A**2 * (np.cos(1.0) ** 2 + 4 * np.cos(2.0) ** 2),
        "reaction": 2 * 0.5 * 50.0 * A**2 - 50.0 * A * np.cos(w * T),
    }
    for name, value in wanted.items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name


def test_times_of_events() -> None:
    m = oscillator()
    joint = m.joints["x"]
    m.event("middle", joint.position)
    m.event("stop", joint.position + 0.15, direction=-1, terminal=True)
    run = jd.Analysis(m.compile(), "simulate", {"x.displacement": 0.3}, t=2.0, rtol=1e-11)
    found = run.evaluate({"middle": cr.event_time("middle"), "end": cr.end_time()})
    assert found["middle"] == pytest.approx(np.pi / 10, rel=1e-9)
    assert found["end"] == pytest.approx(np.arccos(-0.5) / 5, rel=1e-9)
    with pytest.raises(jd.InputError, match="happened 1 times"):
        run.evaluate(cr.event_time("middle", 2))


def test_other_values_of_variables_leave_the_system_alone(swing: jd.Analysis) -> None:
    far = swing.evaluate({"x": cr.final("x.displacement")}, {"k": 200.0, "initial:x.displacement": 0.1})
    assert far["x"] == pytest.approx(0.1 * np.cos(20.0), rel=1e-8)
    assert swing.system.parameters["k"] == 50.0
    assert swing.run()["x.displacement"][0] == 0.3
    assert swing.value_of("k") == 50.0 and swing.value_of("x.displacement") == 0.3


def test_pickled_analyses_give_the_same(swing: jd.Analysis) -> None:
    other = pickle.loads(pickle.dumps(swing))
    c = {
        "c": cr.integral(
            "x.displacement^2",
        )
    }
    assert other.evaluate(c) == swing.evaluate(c)


def test_constraints() -> None:
    c = cr.largest("abs(x.displacement)")
    assert (c <= "120 mm").upper == 0.12 and (c >= 0.1).lower == 0.1
    assert c.between("1 cm", "2 cm").violation(0.03) == pytest.approx(0.01)
    assert str(c.equals(0.5)) == "largest abs(x.displacement) = 0.5"
    with pytest.raises(jd.InputError, match="crossed"):
        c.between(2.0, 1.0)


def test_other_verbs() -> None:
    s = oscillator(damping=2.0).compile()
    found = jd.Analysis(s, "modal", {}).evaluate({"f": cr.frequency(0), "d": cr.damping_ratio(0), "re": cr.eigenvalue(0)})
    assert found["f"] == pytest.approx(5 / (2 * np.pi)) and found["d"] == pytest.approx(0.1) and found["re"] == pytest.approx(-0.5)
    rest = jd.Analysis(s, "equilibrium", {"x.displacement": 0.2})
    assert rest.evaluate(cr.value("x.displacement + 1")) == {"value x.displacement + 1": pytest.approx(1.0)}


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda a: a.evaluate(cr.final("x.displacment")), "did you mean x.displacement"),
        (lambda a: a.evaluate(cr.eigenvalue(0)), "none of a motion"),
        (lambda a: a.evaluate(cr.at(9.0, "x.displacement")), "goes from 0 to 2 s"),
        (lambda a: a.evaluate("force"), "no criterion"),
        (lambda a: a.evaluate({"f": 3.0}), "'f': 3.0 is none"),
        (lambda a: a.run({"kk": 1.0}), "no variable 'kk'"),
        (lambda a: jd.Analysis(a.system, "simulat"), "did you mean simulate"),
        (lambda a: cr.integral(3.0), "neither a text nor an expression"),
        (lambda a: cr.moving_average("x.displacement", 0.0), "must be positive"),
        (lambda a: cr.sustained("x.displacement", "-3 ms"), "criterion sustained: the window -0.003 s must be positive"),
        (lambda a: cr.least_squares("x.displacement", [1.0], [1.0, 2.0]), "must be as many"),
        (lambda a: a.gradient(cr.end_time(), []), "list of names"),
        (lambda a: a.gradient(cr.end_time(), ["k", "k"]), "named twice"),
        (lambda a: a.gradient(cr.end_time(), ["k"], method="magic"), "'magic' is unknown"),
    ],
)
def test_refusals(swing: jd.Analysis, make: object, told: str) -> None:
    with pytest.raises(jd.InputError, match=told):
        make(swing)  # type: ignore[operator]


def test_the_plane_vehicle_rests_without_a_bump() -> None:
    for damper in ("linear", "cubic"):
        s = plane_vehicle(damper, height=0.0).compile()
        solution = s.simulate({}, t=1.0)
        assert s.dof() == 6
        for name in ("front.travel", "rear.travel", "front.tyre", "rear.tyre", "body.ry", "seat.displacement"):
            assert np.abs(solution[name]).max() < 1e-9, name
    with pytest.raises(jd.ModelError, match="damper 'quadratic'"):
        plane_vehicle("quadratic")


def test_differences_of_the_oscillator(swing: jd.Analysis) -> None:
    g = swing.gradient({"x": cr.final("x.displacement")}, ["k", "m", "x.displacement"], method="differences")
    w = 5.0
    by_w = -0.3 * 2.0 * np.sin(2 * w)
    assert g["x"] == pytest.approx([by_w * w / 100, -by_w * w / 4, np.cos(2 * w)], rel=1e-6)
    assert g.elasticities[0, 2] == pytest.approx(1.0, rel=1e-6)
    assert "x.displacement" in str(g)


@pytest.mark.parametrize("count", [0, -1, 1.5])
def test_times_of_events_are_counted_from_one(count: float) -> None:
    with pytest.raises(jd.InputError, match="must be a whole number from 1 on"):
        cr.event_time("hit", count=count)  # type: ignore[arg-type]


@pytest.mark.parametrize("power", [0, 1.0, -2.0, "x", float("nan")])
def test_norms_have_powers_above_one(power: object) -> None:
    with pytest.raises(jd.InputError, match="smooth"):
        cr.largest("x.displacement", smooth=power)  # type: ignore[arg-type]
