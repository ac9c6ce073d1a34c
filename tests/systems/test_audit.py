"""A run that has broken its constraints or lost energy does not end in "finished"."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import library
from jourdain.library import mechanisms
from jourdain.systems.audit import audited, conservative
from jourdain.systems.inputs import Inputs
from jourdain.systems.run import Settings
from jourdain.systems.tree.runs import ReducedRun


def ended(reduction: str) -> tuple[Any, Any, Any]:
    s = library.four_bar().compile(reduction=reduction)
    x = s.assemble({"crank.angle": 0.9}, velocities={"crank.angle_rate": 3.0})
    run = s.run(x, (0.0, 0.3), Inputs(s), Settings("dopri5"), {})
    return s, run, run.go()


@pytest.mark.parametrize("reduction", ["reduced", "closed"])
def test_a_good_run_passes_and_an_opened_loop_is_told(reduction: str) -> None:
    s, run, outcome = ended(reduction)
    assert audited(s, run, outcome) is outcome
    states = outcome.states.copy()
    states[-1, 0] += 1e-3
    told = audited(s, run, replace(outcome, states=states))
    assert told.status == "doubtful" and "the constraint" in told.message and "is broken by" in told.message


@pytest.mark.parametrize("reduction", ["reduced", "closed"])
def test_lost_energy_is_told(reduction: str) -> None:
    s, run, outcome = ended(reduction)
    states = outcome.states.copy()
    states[-1, s.nq :] *= 0.9
    told = audited(s, run, replace(outcome, states=states))
    assert told.status == "doubtful" and "energy has changed by -" in told.message


def test_the_user_is_warned_and_the_status_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    go = ReducedRun.go

    def slowed(self: ReducedRun, restart: Any = None) -> Any:
        outcome = go(self, restart)
        states = np.array(outcome.states)
        states[len(states) // 2 :, self.system.nq :] *= 0.5
        return replace(outcome, states=states)

    monkeypatch.setattr(ReducedRun, "go", slowed)
    s = library.four_bar().compile(reduction="reduced")
    with pytest.warns(RuntimeWarning, match="may have changed its branch"):
        sol = s.simulate(s.assemble({"crank.angle": 0.9}, velocities={"crank.angle_rate": 3.0}), 0.3)
    assert sol.metadata["status"] == "doubtful" and "energy has changed" in sol.metadata["message"]


def test_what_takes_energy_is_known() -> None:
    assert conservative(library.four_bar().compile())
    m = library.four_bar()
    m.joint_spring(m.joints["crank"], 2.0)
    assert conservative(m.compile())
    m = library.four_bar()
    m.joint_spring(m.joints["crank"], 2.0, damping=0.1)
    assert not conservative(m.compile())
    assert not conservative(mechanisms.rssr(speed=5.0).compile())


def spinning(kind: str = "revolute") -> jd.System:
    m = jd.Model("spinning")
    getattr(m, kind)("axle", m.ground, m.body("rotor", mass=1.0, com=(0, 0, -0.1), inertia=(0.1, 0.1, 0.1)), axis="y")
    return m.compile()


@pytest.mark.parametrize(
    ("speed", "how"),
    [(1e150, {"method": "rk4", "step": 1e-3}), (1e17, {"method": "rk4", "step": 1e-3}), (1e10, {}), (1e10, {"method": "radau"})],
)
def test_an_angle_without_digits_within_a_turn_is_told(speed: float, how: dict[str, Any]) -> None:
    s = spinning()
    for _ in range(2):  # at first, and by what the first run leaves for others
        with pytest.warns(RuntimeWarning, match=r"'axle.angle' is .* rad at t = 0.1 s and known to .* rad there"):
            s.simulate(s.state(velocities={"axle.angle": speed}), 0.1, **how)


@pytest.mark.parametrize(
    ("kind", "speed", "how"), [("revolute", 1e8, {}), ("revolute", 1e14, {"method": "rk4", "step": 1e-3}), ("prismatic", 1e20, {})]
)
def test_angles_that_are_known_and_lengths_have_no_note(kind: str, speed: float, how: dict[str, Any]) -> None:
    s = spinning(kind)
    for _ in range(2):
        s.simulate(s.state(velocities={s.coordinate_names[0]: speed}), 0.1, **how)
