"""Walks over events and in SIMD lanes: any number of directions, repeated questions, jumps on loops, units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain import library
from jourdain.analysis.gradients.runs import NotCarried


def bouncing(bars: int) -> jd.Model:
    """A ball with a moving guard and restitution, and springs that make many variables."""
    m = jd.Model("ball")
    ball = m.body("ball", mass=m.parameter("m", 1.3, "kg"), inertia=(1, 1, 1))
    z = m.prismatic("z", m.ground, ball, axis="z")
    e, lift = m.parameter("e", 0.7), m.parameter("lift", 0.1, "m")
    for i in range(bars):
        m.force(z, -m.parameter(f"k{i}", 0.1 + 0.05 * i, "N/m") * z.position ** (1 + i % 3), name=f"k{i}")
    m.event("bounce", z.position - lift * m.time, direction=-1, jump={z.velocity: lift - e * (z.velocity - lift)})
    return m


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 9, 17])
def test_any_number_of_directions_over_events(count: int) -> None:
    """Groups of four and of eight, with idle lanes, agree with the adjoint; values inside, at and beyond events."""
    s = bouncing(15).compile()
    run = jd.Analysis(s, "simulate", {"z.displacement": 1.0}, t=2.0, rtol=1e-9, atol=1e-11)
    names = ["e", "lift", "m", "z.displacement", "z.displacement_rate", *(f"k{i}" for i in range(15))][:count]
    criteria = {
        "end": cr.final("z.displacement"), "path": cr.integral("z.displacement_rate^2"), "when": cr.event_time("bounce", 2),
        "top": cr.largest("z.displacement_rate"), "inside": cr.at(0.77, "z.displacement"),
    }  # fmt: skip
    forward, adjoint = (run.gradient(criteria, names, method=m) for m in ("forward", "adjoint"))
    assert len(run.run().events) > 2
    assert adjoint.matrix == pytest.approx(forward.matrix, rel=1e-11, abs=1e-13)
    forward.check()


def test_a_repeated_question_gives_the_same_bits() -> None:
    """Memory that is used again forgets the run before: other parameters, other numbers of events, and back."""
    run = jd.Analysis(bouncing(3).compile(), "simulate", {"z.displacement": 1.0}, t=2.0)
    criteria, names = (
        {"end": cr.final("z.displacement"), "path": cr.rms("z.displacement_rate")},
        ["e", "lift", "k0", "k1", "z.displacement"],
    )
    for method in ("forward", "adjoint"):
        first = run.gradient(criteria, names, method=method)
        other = run.gradient(criteria, names, method=method, values={"e": 0.4, "z.displacement": 0.3})
        again = run.gradient(criteria, names, method=method)
        fresh = jd.Analysis(run.system, "simulate", {"z.displacement": 1.0}, t=2.0).gradient(criteria, names, method=method)
        assert not np.array_equal(first.matrix, other.matrix)
        assert np.array_equal(first.matrix, again.matrix) and np.array_equal(first.matrix, fresh.matrix)


@pytest.mark.parametrize("options", [{}, {"method": "radau"}, {"method": "rk4", "step": 0.002}])
@pytest.mark.parametrize("joints", [("crank",), ("rocker",), ("crank", "coupler", "rocker")])
def test_jumps_on_loops(joints: tuple[str, ...], options: dict[str, Any]) -> None:
    """Jumps of velocities of a loop: one whose others follow by an impulse, and one that all follow; directions alone and side by side."""
    m = library.four_bar()
    kick = m.parameter("kick", 0.7)
    m.event("hit", m.joints["crank"].position - 0.3, jump={m.joints[n].velocity: kick * m.joints[n].velocity for n in joints})
    run = jd.Analysis(m.compile(), "simulate", {"crank.angle": 0.5}, t=0.5, rtol=1e-9, atol=1e-11, **options)
    criteria = {"x": cr.final("crank.angle"), "i": cr.integral("rocker.angle^2"), "v": cr.final("coupler.angle_rate")}
    wrt = ["kick", "crank", "coupler", "ground", "crank.angle"]
    forward, adjoint = (run.gradient(criteria, wrt, method=method) for method in ("forward", "adjoint"))
    alone = run.gradient(criteria, ["coupler"], method="forward")
    assert np.abs(adjoint.matrix - forward.matrix).max() < 1e-10 * np.abs(forward.matrix).max()
    assert alone.matrix[:, 0] == pytest.approx(forward.matrix[:, 2], rel=1e-11)
    forward.check(3e-6)


def test_a_jump_that_opens_a_loop_is_refused() -> None:
    m = library.four_bar()
    crank = m.joints["crank"]
    m.event("hit", crank.position - 0.3, jump={crank.position: m.parameter("there", 0.2)})
    run = jd.Analysis(m.compile(), "simulate", {"crank.angle": 0.5}, t=0.5)
    with pytest.raises(NotCarried, match="jump of event 'hit' sets coordinates so that loops are open"):
        run.gradient({"x": cr.final("crank.angle")}, ["there"])


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize(
    ("compiled", "options"),
    [
        ({"formulation": "directors"}, {"step": 2e-3}),
        ({"formulation": "cartesian"}, {"rtol": 1e-10}),
        ({}, {"method": "adams", "rtol": 1e-10}),
    ],
)
def test_events_of_runs_in_other_coordinates(compiled: dict[str, Any], options: dict[str, Any], ends: bool) -> None:
    """Walks at the instants of other runs meet the guards themselves, and go on from their own states behind jumps: derivatives are exact for the walk
    (before that, 3e-6 off for these with differences 6e-5 off, at any step), and those of a finely resolved run in joint coordinates."""
    m = library.slider_crank()
    crank = m.joints["crank"]
    m.event("knock", crank.position - m.parameter("when", 0.8), jump={crank.velocity: m.parameter("e", 0.7) * crank.velocity})
    if ends:
        m.event("over", crank.position - m.parameter("far", 0.9), terminal=True)
    start, wrt = {"crank.angle": 0.5, "crank.angle_rate": 3.0}, ["when", "e", "crank_length", "piston_mass", "crank.angle"]
    criteria = {
        "end": cr.final("piston.displacement"), "way": cr.integral("crank.angle_rate^2"), "mid": cr.at(0.04, "crank.angle"), "first": cr.event_time("knock"), "last": cr.end_time(),
    }  # fmt: skip
    fine = jd.Analysis(m.compile(), "simulate", start, t=0.2, rtol=1e-11, atol=1e-13)
    run = jd.Analysis(m.compile(**compiled), "simulate", start, t=0.2, **options)
    exact = fine.gradient(criteria, wrt, method="forward").matrix
    forward, adjoint = (run.gradient(criteria, wrt, method=method) for method in ("forward", "adjoint"))
    size = np.abs(exact).max(axis=1, keepdims=True) + 1e-12
    assert np.abs((adjoint.matrix - forward.matrix) / size).max() < 1e-11
    assert np.abs((forward.matrix - exact) / size).max() < 2e-8
    assert (forward.result.metadata["status"] == "event") is ends
    forward.check(2e-6)


def test_an_event_next_to_a_step_of_another_run() -> None:
    """Where the walk meets a guard before the last instant of the run, the empty step is joined with its neighbour."""
    m = library.slider_crank()
    crank = m.joints["crank"]
    when = m.parameter("when", 0.8)
    m.event("knock", crank.position - when, jump={crank.velocity: 0.7 * crank.velocity})
    run = jd.Analysis(m.compile(formulation="directors"), "simulate", {"crank.angle": 0.5, "crank.angle_rate": 3.0}, t=0.2, step=4e-3)
    free = jd.Analysis(library.slider_crank().compile(formulation="directors"), "simulate", run.args[0], t=0.2, step=4e-3).run()
    k = int(np.searchsorted(free["crank.angle"], 0.8))
    fine = jd.Analysis(m.compile(), "simulate", run.args[0], t=0.2, rtol=1e-11, atol=1e-13)
    for shift in (-3e-6, 1.5e-6):  # the walk is there 1e-6 s before the run: across an instant of the second
        at = {"when": float(free["crank.angle"][k]) + shift}
        found, exact = (a.gradient({"end": cr.final("crank.angle")}, ["when", "crank_length"], values=at).matrix for a in (run, fine))
        assert found == pytest.approx(exact, rel=1e-7)


def test_loops_in_lanes() -> None:
    """Directions side by side through elimination and projection, with reactions in a criterion."""
    run = jd.Analysis(library.four_bar().compile(), "simulate", {"crank.angle": 0.5}, t=0.4)
    names = [n for n in run.system.parameters if "gravity" not in n][:8]
    criteria = {"a": cr.final("rocker.angle"), "b": cr.rms("crank.reaction.x"), "c": cr.at(0.123, "crank.angle_rate")}
    forward, adjoint = (run.gradient(criteria, names, method=m) for m in ("forward", "adjoint"))
    assert len(names) > 4
    assert adjoint.matrix == pytest.approx(forward.matrix, rel=1e-10, abs=1e-12)


def test_every_entry_has_its_unit() -> None:
    run = jd.Analysis(bouncing(2).compile(), "simulate", {"z.displacement": 1.0}, t=0.3)
    criteria = {
        "path": cr.integral("t*z.displacement_rate^2"), "end": cr.final("abs(z.displacement) + 1"), "when": cr.end_time(),
        "mixed": cr.final("z.displacement + t"), "scaled": cr.rms("s*z.displacement", s=2.0), "fit": cr.least_squares("z.displacement", [0.1], [0.9]),
    }  # fmt: skip
    g = run.gradient(criteria, ["k0", "m", "z.displacement", "z.displacement_rate"])
    assert g.value_units == {"path": "m^2", "end": "m", "when": "s", "mixed": None, "scaled": None, "fit": "m^2"}
    assert g.units["path"] == {"k0": "m^2 s^2/kg", "m": "m^2/kg", "z.displacement": "m", "z.displacement_rate": "m s"}
    assert g.units["end"]["z.displacement"] == "1" and g.units["when"]["m"] == "s/kg" and g.units["mixed"]["m"] is None
    assert "m^2 s^2/kg" in str(g) and "m s" in str(g)


def test_an_extremum_behind_a_jump_is_the_value_there() -> None:
    """The fastest way up of a ball dropped from h is e √(2gh), just behind its impact; its highest kinetic energy just before it: m g h."""
    m = jd.Model("ball")
    e, h = m.parameter("e", 0.8), 1.3
    z = m.prismatic("z", m.ground, m.body("ball", mass=2.0), axis="z")
    m.event("hit", z.position, direction=-1, jump={z.velocity: -e * z.velocity})
    g = 9.81
    fall = jd.Analysis(m.compile(), "simulate", {"z.displacement": h}, t=0.9, rtol=1e-10, atol=1e-12)
    criteria = {
        "up": cr.largest("z.displacement_rate"), "down": cr.smallest("z.displacement_rate"), "energy": cr.largest("z.displacement_rate^2"),
        "rest": cr.smallest("z.displacement_rate^2 + 1e3*(z.displacement_rate < 0)"),
    }  # fmt: skip
    found = fall.evaluate(criteria)
    v = np.sqrt(2 * g * h)
    assert found["up"] == pytest.approx(0.8 * v, rel=1e-12) and found["down"] == pytest.approx(-v, rel=1e-12)
    assert found["energy"] == pytest.approx(v**2, rel=1e-12)
    by = fall.gradient({n: criteria[n] for n in ("up", "down", "energy")}, ["e", "z.displacement"], "forward")
    back = fall.gradient({n: criteria[n] for n in ("up", "down", "energy")}, ["e", "z.displacement"], "adjoint")
    exact = [[v, 0.8 * g / v], [0.0, -g / v], [0.0, 2 * g]]
    assert by.matrix == pytest.approx(np.array(exact), rel=1e-9, abs=1e-9) and back.matrix == pytest.approx(by.matrix, rel=1e-12, abs=1e-12)
    by.check()
