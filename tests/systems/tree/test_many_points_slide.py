"""A face that slides and turns on four points, whose normal forces the laws leave open: forces are a function of the state, which methods can follow."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd

START = {"fa.z": 0.13, "fa.x_rate": 1.0, "fa.orientation.omega_z": 2.0}


def sliding() -> jd.System:
    m = jd.Model("slides")
    m.ground.shapes.append(jd.plane())
    m.free("fa", m.ground, m.body("a", shape=jd.box(0.2, 0.3, 0.25, density=1000.0)))
    m.contact("c", law=jd.contact.rigid(friction=0.3))
    return m.compile()


def test_few_steps_follow_a_box_that_slides_and_turns() -> None:
    s = sliding()
    run = s.simulate(START, t=0.5, method="dop853", rtol=1e-10, atol=1e-12)
    assert run.statistics["steps"] < 300  # 31 000 while forces of the four points jumped from evaluation to evaluation
    taken = run["energy.total"] + run["contacts.dissipated"]
    assert np.ptp(taken) < 1e-9 * taken[0]
    assert np.abs(run["fa.x_rate"][-1]) < 1e-12


def test_what_is_asked_besides_changes_no_digit() -> None:
    s = sliding()
    whole = s.simulate(START, t=0.5, method="dop853", rtol=1e-9, atol=1e-11)
    some = s.simulate(START, t=0.5, method="dop853", rtol=1e-9, atol=1e-11, times=np.linspace(0.0, 0.5, 11))
    for name in ("fa.x", "fa.orientation.e3"):
        assert some[name][-1] == whole[name][-1]


def test_events_are_where_steps_of_moreau_tend_to() -> None:
    s = sliding()
    exact = s.simulate(START, t=0.5, method="dop853", rtol=1e-9, atol=1e-11)
    stepped = s.simulate(START, t=0.5, method="moreau", step=2.5e-4)
    assert stepped["fa.x"][-1] == pytest.approx(exact["fa.x"][-1], abs=2e-4)
