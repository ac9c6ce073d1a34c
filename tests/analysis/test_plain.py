"""Plain runs done again with what an earlier one has made ready: the same bits, the same checks, the same words."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import jourdain as jd
from jourdain import library
from jourdain.analysis.runs import plain


@pytest.fixture
def shortcuts(monkeypatch):
    """Solutions of runs that were done again with what was ready."""
    found = []

    def counted(*args):
        solution = plain.again(*args)
        if solution is not None:
            found.append(solution)
        return solution

    monkeypatch.setattr("jourdain.analysis.simulate.again", counted)
    return found


def hard_spring() -> jd.Model:
    m = jd.Model("hard spring", gravity=(0, 0, 0))
    rail = m.prismatic("rail", m.ground, m.body("mass", mass=1.0), axis="x")
    m.joint_spring(rail, stiffness=1e8, damping=3e4)
    m.force(rail, lambda x, v, t: 1e3 * jd.sin(2.0 * t))
    return m


def same(a, b) -> None:
    assert a.metadata == b.metadata
    assert {n: x for n, x in a.statistics.items() if n != "wall_time"} == {n: x for n, x in b.statistics.items() if n != "wall_time"}
    np.testing.assert_array_equal(a.t, b.t)
    for name in a.names:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)
    assert list(a.events) == list(b.events)
    np.testing.assert_array_equal(a.restart.x, b.restart.x)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"times": np.array([0.0, 0.2, 0.6])},
        {"times": [0, 0.2, 0.6]},
        {"outputs": 5},
        {"method": "dop853", "rtol": 1e-6},
        {"method": "radau"},
        {"dense": False},
    ],
)
@pytest.mark.parametrize("build", [library.pendulum, library.four_bar, library.half_car, hard_spring])
def test_bits_of_a_first_run(build, options, shortcuts):
    s = build().compile()
    start = s.assemble({"crank.angle": 0.9}, velocities={"crank.angle_rate": 3.0}) if build is library.four_bar else s.state()
    other = s.copy().simulate(start, 0.6, **options)
    runs = [s.simulate(start, 0.6, **options) for _ in range(3)]
    assert len(shortcuts) == 2
    for run in runs:
        same(run, other)
    if options.get("dense", True) and "times" not in options and "outputs" not in options:
        name = s.coordinate_names[0]
        np.testing.assert_array_equal(runs[-1].at(0.123)[name], other.at(0.123)[name])


def test_whole_numbers_of_seconds_are_the_same_run(shortcuts):
    s = library.pendulum().compile()
    first, again, listed = (s.simulate(s.state({"hinge.angle": 0.3}), *span) for span in ((1.0,), (1,), (1, None)))
    assert len(shortcuts) == 2
    same(again, first)
    same(listed, first)
    for wrong in ([0, "x"], [0, 10**400], [0, float("nan")]):
        with pytest.raises(jd.InputError):
            s.simulate(s.state(), 1, times=wrong)


def test_turns_of_methods_are_joined_when_they_are_read(shortcuts):
    s = hard_spring().compile()
    fresh = s.copy().simulate(t=1.0)
    runs = [s.simulate(t=1.0) for _ in range(3)]
    methods = [turn["method"] for turn in fresh.statistics["turns"]]
    assert len(methods) % 2 == 0 and methods == ["dopri5", "radau"] * (len(methods) // 2)
    assert len(shortcuts) == 2
    for run in runs:
        same(run, fresh)
    onward = [s.simulate(run, 0.5) for run in (runs[-1], fresh)]
    np.testing.assert_array_equal(onward[0].t, onward[1].t)


def test_starts_are_looked_at_every_time():
    s = library.four_bar().compile()
    good = s.assemble({"crank.angle": 0.9}, velocities={"crank.angle_rate": 3.0})
    for _ in range(2):
        s.simulate(good, 0.1)
    with pytest.raises(jd.InputError, match="does not meet the constraint"):
        s.simulate(good.with_values(q=good.q + [0.1, 0.0, 0.0]), 0.1)
    with pytest.raises(jd.InputError, match="velocities break the constraint"):
        s.simulate(good.with_values(v=good.v + [0.1, 0.0, 0.0]), 0.1)
    with pytest.raises(jd.InputError, match="is one of"):
        s.simulate(library.pendulum().compile().state(), 0.1)
    bad = good.with_values(v=good.v.copy())
    bad.v[0] = np.nan  # after it was checked
    with pytest.raises(jd.InputError, match=r"not finite|nan"):
        s.simulate(bad, 0.1)
    for t in (-1.0, 0.0, float("nan"), float("inf")):
        with pytest.raises(jd.InputError, match="the end"):
            s.simulate(good, t)
    with pytest.raises(jd.InputError, match="output times"):
        s.simulate(good, 0.1, times=np.array([0.0, 0.2]))
    assert s.simulate(good, 0.1).t[-1] == 0.1


def test_what_is_to_be_told_is_told_again(shortcuts):
    m = library.pendulum()
    m.joints["hinge"].limits = (-0.5, 0.5)
    s = m.compile()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            s.simulate({"hinge.angle": 0.3}, 1.0)
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="leaves its limits"):
            s.simulate({"hinge.angle": 0.9}, 1.0)
    assert len(shortcuts) == 3


def test_warnings_point_to_who_asked():
    m = library.pendulum()
    m.joints["hinge"].limits = (-0.5, 0.5)
    s = m.compile()
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="leaves its limits") as told:
            s.simulate({"hinge.angle": 0.9}, 1.0)
        assert told[0].filename == __file__


def test_events_that_are_passed_over_are_told_again(shortcuts):
    m = library.pendulum()
    m.event("tick", jd.sin(1e4 * m.time) - 0.3)
    s, start = m.compile(), {"hinge.angle": 1.0}
    for _ in range(2):
        assert s.simulate(start, 1e-5).metadata["status"] == "finished"
    for system in (s, s.copy()):
        with pytest.warns(RuntimeWarning, match="'tick' was passed over"):
            assert system.simulate(start, 0.5).metadata["status"] == "doubtful"
    assert len(shortcuts) == 2


def test_runs_that_do_not_reach_their_end(shortcuts):
    m = library.pendulum()
    m.event("bottom", m.joints["hinge"].position, terminal=True)
    s = m.compile()
    s.simulate({"hinge.angle": 0.3}, 0.1)
    same(s.simulate({"hinge.angle": 0.3}, 2.0), s.copy().simulate({"hinge.angle": 0.3}, 2.0))
    s.simulate({"hinge.angle": 0.3}, 0.1, max_steps=8)
    with pytest.raises(jd.SimulationError, match="8 steps") as failed:
        s.simulate({"hinge.angle": 1.5}, 0.4, max_steps=8)
    assert len(failed.value.solution) == 9
    assert len(shortcuts) == 1  # the other one raised in it


def test_a_solution_is_of_its_run_whatever_happens_before_it_is_read():
    s = library.pendulum().compile()
    expected = s.copy().simulate({"hinge.angle": 0.3}, 1.0)
    s.simulate({"hinge.angle": 0.3}, 1.0)
    late, sent = (s.simulate({"hinge.angle": 0.3}, 1.0) for _ in range(2))
    s.simulate({"hinge.angle": -1.2}, 1.0)
    s.set_parameters(length=2.0)
    s.simulate({"hinge.angle": 0.3}, 1.0)
    same(late, expected)
    np.testing.assert_array_equal(late["energy.total"], expected["energy.total"])
    assert s.parameters["length"] == 2.0
    received = pickle.loads(pickle.dumps(sent))
    np.testing.assert_array_equal(received["hinge.angle"], expected["hinge.angle"])
    with pytest.raises(AttributeError, match="nonsense"):
        _ = s.simulate({"hinge.angle": 0.3}, 1.0).nonsense
    with pytest.raises(ValueError, match="read-only"):
        s.simulate({"hinge.angle": 0.3}, 1.0).t[0] = 1.0
