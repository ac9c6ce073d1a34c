"""Sweeps: rows equal single simulations whatever the threads; failures, grids, stores and interruptions."""

from __future__ import annotations

import json
import os
import signal
import threading
from functools import partial

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


def runs_of(store):
    """How many runs were made: what is found in the store is not written again."""
    return len(store.query("status = 'done'"))


def test_a_store_lets_a_sweep_go_on(swing, tmp_path):
    store = jd.Store(tmp_path / "sweep.db")

    def angle(sol):
        return sol["hinge.angle"][-1]

    request = {"outputs": [angle], "store": store, "threads": 1}
    first = swing.sweep({"hinge.angle": 1.0}, 1.0, parameters={"length": [0.5, 1.0]}, **request)
    again = swing.sweep({"hinge.angle": 1.0}, 1.0, parameters={"length": [0.5, 1.0, 2.0]}, **request)
    assert runs_of(store) == 3  # two were there already
    assert again["angle"][:2].tolist() == first["angle"].tolist()
    swing.sweep({"hinge.angle": 0.9}, 1.0, parameters={"length": [0.5]}, **request)
    assert runs_of(store) == 4  # another start is another run


class Peak:
    """An output with a setting of its own."""

    def __init__(self, factor):
        self.factor = factor

    def of(self, sol):
        return self.factor * np.max(sol["hinge.angle"])

    __call__ = of


def scaled(factor):
    return lambda sol: factor * sol["hinge.angle"][-1]


def by_default(factor):
    return lambda sol, factor=factor: factor * sol["hinge.angle"][-1]


def times(factor, sol):
    return factor * sol["hinge.angle"][-1]


@pytest.mark.parametrize(
    "make",
    [scaled, by_default, lambda f: partial(times, f), lambda f: Peak(f).of, Peak, lambda f: scaled(np.array(f))],
    ids=["closure", "default", "partial", "method", "object", "array"],
)
def test_outputs_of_one_name_are_told_apart(swing, tmp_path, make):
    """Two functions under one name, in one store: each gets its own results, and finds them again."""
    store = jd.Store(tmp_path / "sweep.db")
    for _ in range(2):
        for factor in (1.0, 2.0, 5.0):
            r = swing.sweep({"hinge.angle": 1.0}, 0.2, outputs={"y": make(factor)}, store=store, threads=1)
            own = swing.sweep({"hinge.angle": 1.0}, 0.2, outputs={"y": make(factor)}, threads=1)
            assert r["y"].tolist() == own["y"].tolist()
    assert runs_of(store) == 3


def test_lambdas_are_told_apart(swing, tmp_path):
    store = jd.Store(tmp_path / "sweep.db")
    request = {"store": store, "threads": 1}
    a = swing.sweep({"hinge.angle": 1.0}, 0.2, outputs=[lambda sol: sol["hinge.angle"][-1]], **request)
    b = swing.sweep({"hinge.angle": 1.0}, 0.2, outputs=[lambda sol: sol["hinge.angle_rate"][-1]], **request)
    assert a["<lambda>"][0] != b["<lambda>"][0] and runs_of(store) == 2


def pushed(law=None):
    m = jd.Model("pushed", gravity=(0, 0, 0))
    x = m.prismatic("x", m.ground, m.body("b", mass=1.0), axis="x")
    f = m.input("f", 1.0)
    m.force(x, f if law is None else m.callback("law", law, [x.position]))
    return m


def test_inputs_options_and_defaults_are_told_apart(tmp_path):
    store = jd.Store(tmp_path / "sweep.db")
    s = pushed().compile()
    t = np.linspace(0.0, 1.0, 3001)
    late = np.where(np.arange(3001) > 1500, 3.0, 2.0)  # the middle of a long array is not in its text
    signals = [lambda t: 6 * t, lambda t: 12 * t, (t, 2.0 + 0.0 * t), (t, late), 2.0]
    expected = [s.simulate({}, 1.0, inputs={"f": u})["x.displacement"][-1] for u in signals]
    for _ in range(2):
        for u, x in zip(signals, expected, strict=True):
            r = s.sweep({}, 1.0, inputs={"f": u}, outputs=["x.displacement"], store=store, threads=1)
            assert r["x.displacement"][0] == pytest.approx(x, rel=1e-12)
    assert runs_of(store) == 5
    assert s.sweep({}, 1.0, outputs=["x.displacement"], store=store)["x.displacement"][0] == pytest.approx(0.5)
    s.model.inputs["f"].value = 4.0
    assert s.sweep({}, 1.0, outputs=["x.displacement"], store=store)["x.displacement"][0] == pytest.approx(2.0)


@pytest.mark.filterwarnings("ignore:.*run in Python at every evaluation")
def test_callbacks_of_the_model_are_told_apart(tmp_path):
    store = jd.Store(tmp_path / "sweep.db")
    found = [
        pushed(law).compile().sweep({}, 1.0, outputs=["x.displacement"], store=store, threads=1)["x.displacement"][0]
        for law in (lambda x: 2.0, lambda x: 4.0, lambda x: 2.0)
    ]
    assert found == pytest.approx([1.0, 2.0, 1.0], rel=1e-9) and runs_of(store) == 2


def test_what_cannot_be_identified_is_run_again(swing, tmp_path):
    store = jd.Store(tmp_path / "sweep.db")
    lock = threading.Lock()

    def angle(sol):
        with lock:
            return sol["hinge.angle"][-1]

    for _ in range(2):
        with pytest.warns(UserWarning, match="its runs are kept but not found again .*lock"):
            swing.sweep({"hinge.angle": 1.0}, 0.2, outputs=[angle], store=store, threads=1)
    assert runs_of(store) == 2


def test_interruption_returns_the_rows_done(swing):
    options = {"outputs": ["hinge.angle"], "method": "dop853", "rtol": 1e-11}
    swing.sweep({"hinge.angle": 1.0}, 2.0, parameters={"length": [1.0, 1.5]}, threads=2, times=[2.0], **options)  # compiles
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.warns(UserWarning, match=r"interrupted; \d+ of 4000 runs are done and kept"):
        r = swing.sweep(
            {"hinge.angle": 1.0}, 200.0, parameters={"length": np.linspace(1, 2, 4000)}, threads=2, times=[200.0], **options,
        )  # fmt: skip
    timer.cancel()
    states = r.table["status"]
    assert (states == "pending").any()
    assert np.isnan(r["hinge.angle"][states == "pending"]).all()


@pytest.mark.parametrize("workers", [None, 2])
def test_a_watched_sweep_tells_every_run(swing, tmp_path, workers):
    """Rows of the page are those of the table, found in the store or run; what is not one number is left out."""
    urls = []
    outputs = {"end": "hinge.angle", "path": lambda sol: sol["hinge.angle"][:2], "never": lambda sol: np.nan}
    ask = {"parameters": {"length": [0.5, -1.0, 2.0, 1.0]}, "outputs": outputs, "store": tmp_path / "runs.db", "workers": workers}
    swing.sweep({"hinge.angle": 0.1}, 0.2, **{**ask, "parameters": {"length": [0.5, 2.0]}})
    r = swing.sweep({"hinge.angle": 0.1}, 0.2, watch=urls.append, **ask)
    with r.page as page:
        news = [json.loads(e.split("data: ", 1)[1]) for e in page.events() if e.startswith("id:")]
        assert urls == [page.url] and news[-1]["end"] == "done"
    assert (news[-1]["done"], news[-1]["total"], news[-1]["runs"], news[-1]["failed"]) == (4, 4, 2, len(r.failures))
    rows = {row["n"]: row for message in news for row in message["new"]}
    assert sorted([*rows, *r.failures]) == [0, 1, 2, 3]
    assert all(row["x"] == [r["length"][i]] and row["y"] == [r["end"][i], None, None] for i, row in rows.items())
    assert swing.sweep({"hinge.angle": 0.1}, 0.2, **ask).page is None
    with pytest.raises(jd.InputError, match="watch = 'yes' must be True"):
        swing.sweep({"hinge.angle": 0.1}, 0.2, watch="yes")


def single(monkeypatch, sweep):
    """The same sweep run by run."""
    from jourdain.analysis import sweep as module

    with monkeypatch.context() as patched:
        patched.setattr(module._Simulations, "many", lambda self, jobs: None)
        return sweep()


def bumpy() -> jd.Model:
    """A pendulum with a jump, an end, a user state, and a force that is singular where a gap is passed."""
    m = jd.Model("bumpy")
    hinge = m.revolute("hinge", m.ground, m.body("bob", mass=m.parameter("mass", 1.0, bounds=(0.2, 5.0)), com=(0, 0, -0.5)), axis="y")
    m.rate(m.state("lag", 0.1), hinge.position)
    m.force(hinge, -m.parameter("d", 0.1) * hinge.velocity + 1e-3 / (m.parameter("gap", 3.0) - hinge.position))
    m.event("low", hinge.position, jump={hinge.velocity: m.parameter("kept", 0.9) * hinge.velocity})
    return m


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("options", [{}, {"method": "dop853", "rtol": 1e-9}, {"method": "radau"}])
def test_native_loops_have_the_rows_of_single_runs(monkeypatch, workers, options):
    s = bumpy().compile()
    rng = np.random.default_rng(4)
    ask = {
        "parameters": {"mass": rng.uniform(0.5, 2.0, 24), "d": rng.uniform(0.0, 0.3, 24), "gap": np.where(np.arange(24) % 6 == 5, 0.4, 3.0)},
        "initial": [{"hinge": float(a), "lag": 0.2} for a in rng.uniform(0.5, 1.5, 24)], "workers": workers, "progress": False, "max_steps": 400,
    }  # fmt: skip
    several = s.sweep(None, 0.8, **ask, **options)
    one = single(monkeypatch, lambda: s.sweep(None, 0.8, **ask, **options))
    assert several.alone == "" and several.table.tobytes() == one.table.tobytes() and several.failures == one.failures
    assert set(several.outputs) == {"hinge.angle", "hinge.angle_rate", "lag"} and 2 < len(several.done.nonzero()[0]) < 24


def test_native_loops_of_closed_loops(monkeypatch):
    from jourdain import library

    m = library.four_bar()
    crank = m.joints["crank"]
    m.force(crank, -m.parameter("k", 3.0) * crank.position - m.parameter("c", 0.2) * crank.velocity)
    s = m.compile()
    start = s.assemble({"crank.angle": 1.0})
    ask = {"parameters": {"k": np.linspace(1.0, 4.0, 8), "c": np.linspace(0.1, 0.6, 8)}, "workers": 1, "progress": False}
    several = s.sweep(start, 0.3, **ask)
    assert several.table.tobytes() == single(monkeypatch, lambda: s.sweep(start, 0.3, **ask)).table.tobytes()
    long = s.sweep(start, 0.3, parameters={"coupler": [0.8, 0.81]}, workers=1, progress=False)  # whose start is open for the second
    assert long.failures.keys() == {1} and "loop" in long.failures[1]


def test_a_sweep_says_why_runs_are_done_one_by_one(swing):
    ask = {"parameters": {"length": [0.5, 0.6]}, "progress": False, "workers": 1}
    assert swing.sweep({"hinge": 0.1}, 0.1, **ask).alone == ""
    assert (
        "output 'last' is no final value of a state" in swing.sweep({"hinge": 0.1}, 0.1, outputs={"last": lambda r: r.t[-1]}, **ask).alone
    )
    assert "option 'step'" in swing.sweep({"hinge": 0.1}, 0.1, method="rk4", step=0.01, **ask).alone
    m = pendulum()
    m.memory("most", 0.0, update=lambda most: jd.maximum(most, m.joints["hinge"].position))
    assert m.compile().sweep({"hinge": 0.1}, 0.1, **ask).alone == "memories"


def test_values_outside_their_bounds_are_told_of_in_native_loops(monkeypatch):
    s = bumpy().compile()
    with pytest.warns(RuntimeWarning, match="outside its bounds"):
        several = s.sweep({"hinge": 0.5}, 0.2, parameters={"mass": [1.0, 2.0, 3.0, 9.0]}, workers=1, progress=False)
    assert several.done.all()


def test_sweeps_of_runs_of_thousands_of_steps_have_the_bits_of_single_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """They stay in the native loop beyond the 2 000 steps after which a run by an explicit method says whether it is stiff."""
    s, lengths, options = pendulum().compile(), [0.5, 1.0, 1.5], {"method": "dopri5", "max_step": 0.002}
    runs = [s.simulate({"hinge": 0.7}, 6.0, parameters={"length": x}, **options) for x in lengths]

    def by_itself(self, job):
        raise AssertionError("a run was done alone")

    monkeypatch.setattr("jourdain.analysis.sweep._Simulations.__call__", by_itself)
    found = s.sweep({"hinge": 0.7}, 6.0, parameters={"length": lengths}, outputs=["hinge.angle"], workers=1, progress=False, **options)
    assert len(runs[0].t) > 2500 and found["hinge.angle"].tolist() == [r["hinge.angle"][-1] for r in runs]


def test_failed_runs_are_told(swing):
    with pytest.warns(RuntimeWarning, match=r"2 of 2 runs failed.*run 0: .*'3 kg' should be in 's'"):
        r = swing.sweep({}, "3 kg", parameters={"length": [1.0, 2.0]}, progress=False)
    assert len(r.failures) == 2
