"""What cannot work is refused in words that name the object, the place and the remedy."""

from __future__ import annotations

from typing import Any

import pytest

import jourdain as jd
from jourdain.errors import ModelError, SolverError
from jourdain.library import andrews, benchmark_bicycle, four_bar, n_four_bar, pendulum, spring_pendulum

GUESS = {"coupler": 0.3, "rocker": 2.0}


def test_contradictory_constraints_are_named() -> None:
    """Two pins that would have to hold at different points."""
    m = four_bar()
    m.close("second", m.bodies["coupler"].at(0.8, 0.1, 0), m.bodies["rocker"].at(0.7, 0, 0), "ball")
    with pytest.raises(SolverError, match=r"cannot be closed: .*(loop|second)\[\d\] \(off by .*contradict"):
        m.compile().assemble({"crank": 0.5}, guess=GUESS)


def test_doubled_constraints_are_dropped_and_named() -> None:
    """The same pin twice changes nothing but the report."""
    m = four_bar()
    m.close("again", m.bodies["coupler"].at(0.8, 0, 0), m.bodies["rocker"].at(0.7, 0, 0), "ball")
    doubled, single = m.compile(), four_bar().compile()
    ends = []
    for system in (doubled, single):
        state = system.assemble({"crank": 0.5}, guess=GUESS, velocities={"crank": 6.0})
        ends.append(system.simulate(state, 1.0, method="dop853", rtol=1e-10, atol=1e-12)["crank.angle"][-1])
        across = ["loop[3]"]  # holds by itself in a plane mechanism
        assert state.report.redundant == ([*across, "again[1]", "again[2]", "again[3]"] if system is doubled else across)
        assert state.report.freedoms == 1
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)


def test_impossible_assembly() -> None:
    """Links too short to meet."""
    with pytest.raises(SolverError, match=r"loop\[1\] \(off by .*cannot reach this position"):
        four_bar(coupler=0.1, rocker=0.2).compile().assemble({"crank": 0.5}, guess=GUESS)


def test_contradictory_velocities() -> None:
    """One freedom cannot have two given rates."""
    with pytest.raises(SolverError, match=r"velocities \(crank, rocker\) contradict the constraint loop"):
        four_bar().compile().assemble({"crank": 0.5}, guess=GUESS, velocities={"crank": 1.0, "rocker": 5.0})


def test_lock_up_is_reported_with_time_place_and_joint() -> None:
    """A rocker driven beyond its turning point: the run ends at the dead point instead of crawling."""
    m = four_bar()
    m.drive(m.joints["rocker"], lambda t: 2.0 - t)
    system = m.compile()
    with pytest.raises(
        SolverError, match=r"t = 0\.309\d* s.*dead point, where '(crank|coupler)\.angle' would have to jump \(crank\.angle = "
    ):
        system.simulate(system.assemble({}, guess={"crank": 0.5, "coupler": 0.3}), 3.0)


def massless_tip(loop: bool) -> jd.Model:
    """A body without mass at the end of a tree, or beside a loop."""
    m = four_bar() if loop else pendulum()
    m.revolute("swivel", m.bodies["rocker" if loop else "bob"], m.body("flag"), axis="x")
    return m


@pytest.mark.parametrize("loop", [False, True])
def test_massless_body_is_named(loop: bool) -> None:
    """Its acceleration would be 0/0."""
    system = massless_tip(loop).compile()
    with pytest.raises((ModelError, SolverError), match=r"mass matrix is singular: joint 'swivel' moves body 'flag' without"):
        system.simulate(system.assemble({"crank": 0.5}, guess=GUESS) if loop else None, 1.0)


@pytest.mark.parametrize("model", [pendulum, four_bar])
def test_law_without_a_number_is_named(model: Any) -> None:
    """A root of a negative number at 0.5 s."""
    m = model()
    joint = next(iter(m.joints.values()))
    m.force(joint, lambda x, v, t: jd.sqrt(0.5 - t), name="failing motor")
    system = m.compile()
    start = system.assemble({"crank": 0.5}, guess=GUESS) if model is four_bar else {"hinge": 0.1}
    with pytest.raises(SolverError, match=r"law 'failing motor' gives nan at t = 0\.5"):
        system.simulate(start, 1.0)


def test_blow_up_names_a_method() -> None:
    """A fixed explicit step far too long for the spring."""
    with pytest.raises(SolverError, match=r"grew without bounds.*method='radau'"):
        spring_pendulum(stiffness=1e8).compile().simulate({"mass.x": 1.0}, 10.0, method="rk4", step=0.01)


def test_unknown_data_of_the_library() -> None:
    """Names of data are checked."""
    with pytest.raises(ModelError, match="andrews: there is no datum 'mass1'"):
        andrews(mass1=2.0)
    with pytest.raises(ModelError, match="benchmark_bicycle: there is no datum 'wheelbase'"):
        benchmark_bicycle(wheelbase=1.0)
    with pytest.raises(ModelError, match="0 loops"):
        n_four_bar(0)
