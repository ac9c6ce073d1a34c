"""Events that happened are told alike by every formulation and method: name, time, state before and after, what they did."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest

import jourdain as jd
from jourdain.elements.rigid import DirectorBody
from jourdain.results.events import EventTable
from jourdain.solvers.ode.events import EventRecord
from jourdain.solvers.ode.trajectory import Checkpoint, Statistics, Trajectory
from jourdain.systems.assembled.events import Moment
from jourdain.systems.assembled.system import AssembledSystem
from jourdain.systems.tree.crossing import until_time
from tests.systems.test_every_way import WAYS, Way, compiled, start

EVENTS = {"terminal": "end of the run", "recorded": "", "jump": "jump", "memory set": "jump"}


def table(way: Way | None, event: str, **options: object) -> EventTable:
    system = compiled(way, event)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        run = {"rtol": 1e-9, "atol": 1e-11} if way is None else way.run
        return system.simulate(start(system), 0.3, **(run | options)).events


@functools.cache
def expected(event: str) -> EventTable:
    return table(None, event)


@pytest.mark.parametrize("times", [False, True], ids=["every step", "times"])
@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("way", [w for w in WAYS if "augmented-lagrangian" not in str(w)], ids=str)
def test_the_table_is_that_of_the_default(way: Way, event: str, times: bool) -> None:
    found, exact = table(way, event, **({"times": [0.0, 0.11, 0.23]} if times else {})), expected(event)
    if event == "memory set":  # where the largest angle turns belongs to the steps
        found, exact = found["slip"], exact["slip"]
    assert found.names == exact.names and len(exact)
    assert found.t == pytest.approx(exact.t, abs=10 * way.near)
    for e, x in zip(found, exact, strict=True):
        assert e.did == x.did == EVENTS[event]
        assert e.before.keys() == x.before.keys() == e.after.keys()
        for side in ("before", "after"):
            near = [n for n in x.before if n != "top"]  # a memory has the value of the end of the step before
            values, right = (np.array([getattr(y, side)[n] for n in near]) for y in (e, x))
            assert values == pytest.approx(right, abs=30 * way.near), side
    last = found[-1]
    if event == "jump":
        assert last.after["crank.angle_rate"] < 0.9 * last.before["crank.angle_rate"]
        assert last.after["crank.angle"] == pytest.approx(last.before["crank.angle"], abs=1e-9)
    elif event == "memory set":
        assert last.after["top"] - last.before["top"] == pytest.approx(0.1, abs=0.02)
    else:
        assert last.before == last.after


def test_events_of_a_piece_that_is_done_again_are_told_once() -> None:
    """A run that comes near a singular position is cut a little earlier, and goes on from there in other coordinates."""
    x = np.zeros((3, 2))
    events = tuple(EventRecord(t, "pass", 0, x[0], x[0], x[0], x[0]) for t in (0.5, 1.5))
    run = Trajectory(np.arange(3.0), x, x, "finished", "", Statistics(steps=2, events=2), events, Checkpoint("dopri5", 2.0, x[0]))
    cut = until_time(run, 1.0)
    assert [e.t for e in cut.events] == [0.5] and cut.stats.events == 1


def bouncing(terminal: bool = False) -> jd.System:
    m = jd.Model("ball")
    slide = m.prismatic("slide", m.ground, m.body("ball", mass=1.0), axis="z")
    m.event("bounce", slide.position, direction=-1, jump={slide.velocity: -0.8 * slide.velocity}, terminal=terminal)
    m.event("top", slide.velocity, direction=-1)
    return m.compile()


def test_a_bouncing_ball_by_the_textbook() -> None:
    """Falls from h, bounces with e: t₁ = √(2h/g), then 2 e vₖ/g between bounces."""
    h, g, e = 1.0, 9.81, 0.8
    sol = bouncing().simulate({"slide": h}, 2.0)
    fall = np.sqrt(2 * h / g)
    bounces = sol.events["bounce"]
    exact = fall + np.concatenate([[0.0], np.cumsum(2 * fall * e ** np.arange(1, len(bounces)))])
    assert bounces.t == pytest.approx(exact, abs=1e-9) and len(bounces) == 3
    speeds = g * fall * e ** np.arange(4)
    for k, b in enumerate(bounces):
        assert b.before["slide.displacement_rate"] == pytest.approx(-speeds[k], abs=1e-8)
        assert b.after["slide.displacement_rate"] == pytest.approx(speeds[k + 1], abs=1e-8)
        assert list(b.changes) == ["slide.displacement_rate"]
    assert sol.events["top"].t[:2] == pytest.approx((exact[1:] + exact[:-1]) / 2, abs=1e-9)
    assert sol.statistics["events"] == len(sol.events)


def test_tables_of_derived_and_continued_runs() -> None:
    s = bouncing()
    whole = s.simulate({"slide": 1.0}, 2.0)
    first = s.simulate({"slide": 1.0}, 1.0)
    joined = first + s.simulate(first, (1.0, 2.0))
    assert joined.events.names == whole.events.names and joined.events.t == pytest.approx(whole.events.t, abs=1e-9)
    assert whole.resample(50).events == whole.select("slide.*").events == whole.with_channels(a=np.zeros(len(whole))).events == whole.events
    t = whole.events[1].t
    parts = whole.between(0.0, t), whole.between(t, 2.0)
    assert parts[0].events + parts[1].events == whole.events and len(parts[0].events) == 2


def test_a_name_that_did_not_happen_is_no_error_but_one_that_cannot_is() -> None:
    sol = bouncing().simulate({"slide": 1.0}, 0.1)
    assert len(sol.events) == len(sol.events["bounce"]) == 0 and str(sol.events) == "no events: bounce, top did not happen"
    with pytest.raises(jd.JourdainError, match="event 'bounc' is not in the solution; did you mean 'bounce'"):
        sol.events["bounc"]
    with pytest.raises(IndexError, match="no event number 0"):
        sol.events[0]


def test_an_assembled_system_has_a_table_too() -> None:
    s = AssembledSystem("fall")
    ball = s.coordinates("ball", 12, DirectorBody.coordinates_of((0, 0, 1.0)))
    s.add(DirectorBody(), "inertia", {"body": ball}, DirectorBody.numbers(1.0, (0.1, 0.1, 0.1), gravity=(0, 0, -9.81)))

    def turned(moment: Moment) -> None:
        moment.of("ball")[1][2] *= -0.5

    s.event("floor", lambda s: s.ball[2], {"ball": ball}, -1, action=turned)
    (found,) = s.simulate(0.6, 0.01).events
    speed = (2 * 9.81) ** 0.5
    assert found.name == "floor" and found.t == pytest.approx((2 / 9.81) ** 0.5, abs=1e-9) and found.did == "action"
    assert (found.before["ball.rate"][2], found.after["ball.rate"][2]) == pytest.approx((-speed, 0.5 * speed), abs=1e-8)
