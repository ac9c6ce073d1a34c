"""Sweeps: rows equal single simulations whatever the threads; failures, grids, stores and interruptions."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

import jourdain as jd
from jourdain.library.mechanisms import andrews, bouncing_ball, pendulum

OPTIONS = {"method": "dop853", "rtol": 1e-10, "atol": 1e-12}


@pytest.fixture(scope="module")
def swing():
    return pendulum().compile()


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_equal_single_simulations(swing, threads):
    lengths = np.linspace(0.5, 2.0, 13)
    r = swing.sweep(
        {"hinge.angle": 1.0}, 1.0, parameters={"length": lengths}, threads=threads, outputs=["hinge.angle", "energy.total"], **OPTIONS
    )
    assert r.done.all()
    assert r["length"] == pytest.approx(lengths)
    for i in (0, 6, 12):
        own = pendulum(length=lengths[i]).compile().simulate({"hinge.angle": 1.0}, 1.0, **OPTIONS)
        assert r["hinge.angle"][i] == pytest.approx(own["hinge.angle"][-1], abs=1e-12)
        assert r["energy.total"][i] == pytest.approx(own["energy.total"][-1], rel=1e-12)  # computed with the run's own parameters
    assert swing.parameters["length"] == 1.0


def test_constrained_system_with_input_signal_and_functions():
    s = andrews().compile()
    x0 = s.assemble({"beta.angle": -0.062})

    def fastest(sol):
        return np.abs(sol["beta.angle_rate"]).max()

    torques = [0.02, 0.033, 0.05]
    r = s.sweep(
        x0, 0.01, parameters={"m1": [0.04, 0.043, 0.05]}, inputs=[{"torque": u} for u in torques], threads=2,
        outputs={"top": fastest, "path": lambda sol: sol["beta.angle"][[0, -1]]}, **OPTIONS,
    )  # fmt: skip
    assert r["path"].shape == (3, 2)
    for i, m1 in enumerate((0.04, 0.043, 0.05)):
        s.set_parameters(m1=m1)
        own = s.simulate(x0, 0.01, inputs={"torque": torques[i]}, **OPTIONS)
        assert r["top"][i] == pytest.approx(fastest(own), rel=1e-12)
    assert list(r.to_pandas().columns) == ["run", "m1", "top", "path[0]", "path[1]", "status"]


def test_signals_are_compiled_once(swing):
    m = jd.Model("pushed", gravity=(0, 0, 0))
    x = m.prismatic("x", m.ground, m.body("b", mass=m.parameter("mass", 1.0)), axis="x")
    m.force(x, m.input("f"))
    s = m.compile()
    r = s.sweep({}, 1.0, parameters={"mass": [1.0, 2.0, 4.0]}, inputs={"f": lambda t: 6 * t}, threads=2, outputs=["x.displacement"])
    assert r["x.displacement"] == pytest.approx([1.0, 0.5, 0.25], abs=1e-9)


def test_initial_states_and_grid(swing):
    angles = [0.1, 0.2, 0.3]
    r = swing.sweep(None, 0.5, initial=[{"hinge.angle": a} for a in angles], **OPTIONS)
    assert r.outputs == ["hinge.angle", "hinge.angle_rate"]
    assert [abs(x) < a for x, a in zip(r["hinge.angle"], angles, strict=True)] == [True] * 3
    g = swing.sweep({"hinge.angle": 0.1}, 0.1, parameters={"length": [1.0, 2.0], "mass": [1.0, 2.0, 3.0]}, grid=True)
    assert len(g) == 6
    assert g["mass"].tolist() == [1, 2, 3, 1, 2, 3]


def test_events_use_the_parameters_of_their_run():
    ball = bouncing_ball().compile()
    r = ball.sweep({"height.displacement": 1.0}, 0.9, parameters={"restitution": [0.5, 0.8, 1.0]}, threads=2, outputs=["energy.total"])
    assert r["energy.total"] == pytest.approx(9.81 * np.array([0.5**2 if 0.5 else 0, 0.64, 1.0]) ** 1.0, rel=1e-6)


def test_failures_are_recorded_and_not_fatal():
    m = jd.Model("root", gravity=(0, 0, 0))
    x = m.prismatic("x", m.ground, m.body("b", mass=1.0), axis="x")
    end = m.parameter("end", 5.0)
    m.force(x, lambda q, v, t: jd.sqrt(end - t), name="fading")
    r = m.compile().sweep({}, 1.0, parameters={"end": [2.0, 0.5, 3.0]}, outputs=["x.displacement"], threads=2)
    assert r.table["status"].tolist() == ["done", "failed", "done"]
    assert "law 'fading'" in r.failures[1]
    assert np.isnan(r["x.displacement"][1])
    assert "1 failed" in str(r)


def test_bad_requests_name_what_is_wrong(swing):
    with pytest.raises(jd.InputError, match="there is no parameter 'lenght'; did you mean length"):
        swing.sweep({}, 1.0, parameters={"lenght": [1.0]})
    with pytest.raises(jd.InputError, match="different numbers of values"):
        swing.sweep({}, 1.0, parameters={"length": [1.0, 2.0], "mass": [1.0, 2.0, 3.0]})
    with pytest.raises(jd.InputError, match="do not match"):
        swing.sweep({}, 1.0, parameters={"length": [1.0, 2.0]}, initial=[{}, {}, {}])
    with pytest.raises(jd.InputError, match="no column"):
        _ = swing.sweep({}, 0.1)["speed"]


def test_a_store_lets_a_sweep_go_on(swing, tmp_path):
    store = jd.Store(tmp_path / "sweep.db")
    calls = []

    def angle(sol):
        calls.append(1)
        return sol["hinge.angle"][-1]

    request = {"outputs": [angle], "store": store, "threads": 1}
    first = swing.sweep({"hinge.angle": 1.0}, 1.0, parameters={"length": [0.5, 1.0]}, **request)
    again = swing.sweep({"hinge.angle": 1.0}, 1.0, parameters={"length": [0.5, 1.0, 2.0]}, **request)
    assert len(calls) == 3  # two were there already
    assert again["angle"][:2].tolist() == first["angle"].tolist()
    swing.sweep({"hinge.angle": 0.9}, 1.0, parameters={"length": [0.5]}, **request)
    assert len(calls) == 4  # another start is another run


def test_interruption_returns_the_rows_done(swing):
    timer = threading.Timer(0.4, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        r = swing.sweep(
            {"hinge.angle": 1.0}, 200.0, parameters={"length": np.linspace(1, 2, 4000)}, threads=2, outputs=["hinge.angle"], times=[200.0],
            method="dop853", rtol=1e-11,
        )  # fmt: skip
    finally:
        timer.cancel()
    states = r.table["status"]
    assert (states == "pending").any()
    assert np.isnan(r["hinge.angle"][states == "pending"]).all()
