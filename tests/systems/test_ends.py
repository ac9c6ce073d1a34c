"""Runs that end early: by Ctrl-C, by laws in Python that raise or give no number.  One behaviour of all formulations and methods: what was
done is kept, and the message names what ended the run, and when."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.results import load_solution
from tests.systems.test_every_way import WAYS, Way, four_bar, refused, start


def wrong(t: float, value: str) -> float:
    """A value until 0.1 s; then an error, or something that is no number."""
    if t < 0.1:
        return 0.1
    return {"nan": lambda: float("nan"), "raises": lambda: {}["broken"], "complex": lambda: 1.0 + 1.0j}[value]()  # type: ignore[return-value]


def linkage(damping: float = 0.05) -> tuple[jd.Model, Any]:
    """A four-bar linkage and the joint of its crank, which nothing drives yet."""
    m = jd.Model("four-bar", gravity=(0, 0, -9.81))
    crank = m.body("crank", mass=1.0, com=(0.1, 0, 0), inertia=(0.002, 0.01, 0.01))
    coupler = m.body("coupler", mass=1.5, com=(0.25, 0, 0), inertia=(0.002, 0.05, 0.05))
    rocker = m.body("rocker", mass=1.2, com=(0.2, 0, 0), inertia=(0.002, 0.03, 0.03))
    hinge = m.revolute("crank", m.ground, crank, axis="-y", damping=damping)
    m.revolute("coupler", crank.at(0.2, 0, 0), coupler, axis="-y")
    m.revolute("rocker", m.ground.at(0.5, 0, 0), rocker, axis="-y")
    m.revolute("closing", coupler.at(0.5, 0, 0), rocker.at(0.4, 0, 0), axis="-y")
    return m, hinge


def model_of(kind: str, value: str) -> tuple[jd.Model, dict[str, Any]]:
    if kind == "controller":
        return four_bar(), {"inputs": {"motor": jd.Controller(lambda x: wrong(x.t, value), 0.05)}}
    m, hinge = linkage()
    m.force(hinge, m.callback("motor", lambda t: wrong(t, value), [m.time]))
    return m, {}


@pytest.mark.filterwarnings("ignore:model 'four-bar'")
@pytest.mark.parametrize("value", ["nan", "raises", "complex"])
@pytest.mark.parametrize(
    ("way", "kind"), [(way, kind) for way in WAYS for kind in ("callback", "controller") if not refused(way, kind)], ids=str
)
def test_a_law_that_gives_no_number_ends_the_run_with_what_was_done(way: Way, kind: str, value: str) -> None:
    model, options = model_of(kind, value)
    s = model.compile(formulation=way.formulation, **way.compiled)
    with pytest.raises(jd.SimulationError) as told:
        s.simulate(start(s), 0.3, **way.run, **options)
    what = "callback 'motor'" if kind == "callback" else "controller of 'motor'"
    ended = {"nan": f"{what} gave .*nan.* at t = 0.1", "raises": f"{what} raised KeyError: 'broken' at t = 0.1"}
    assert told.match(ended.get(value, f"{what} (gave .*1j|raised TypeError).* at t = 0.1"))
    assert isinstance(told.value.__cause__, KeyError) or value != "raises"
    done = told.value.solution
    assert done.metadata["status"] == "failed"
    assert 0.05 <= done.t[-1] <= 0.1001 and done.t[0] == 0.0
    assert done["crank.angle"][0] == pytest.approx(0.8)
    assert np.isfinite(done["crank.angle"]).all()


def interrupted(run: Callable[[], object], after: float = 0.5) -> jd.SimulationInterrupted:
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        run()
    except jd.SimulationInterrupted as error:
        caught = error.with_traceback(None)  # whose frames would hold the run
    else:
        pytest.fail("the run was not interrupted")
    timer.join()
    return caught


@pytest.mark.parametrize("way", [*WAYS, Way("recursive", {}, {"method": "rk4", "step": 1e-4})], ids=str)
def test_ctrl_c_carries_what_was_done(way: Way) -> None:
    s = linkage(damping=0.0)[0].compile(formulation=way.formulation, **way.compiled)
    first = start(s)
    s.simulate(first, 0.01, **way.run)  # compiles
    span = 1000.0 if "step" in way.run else 1e6
    error = interrupted(lambda: s.simulate(first, span, **way.run))
    done = error.solution
    assert isinstance(error, KeyboardInterrupt) and "interrupted at t = " in str(error)
    assert done.metadata["status"] == "interrupted"
    assert 0.0 < done.t[-1] < span and done["crank.angle"][0] == pytest.approx(0.8)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    short = s.simulate(first, 0.05, **way.run)
    k = int(np.searchsorted(done.t, 0.05 - 1e-12))
    if k < len(done.t):
        assert np.interp(0.05, done.t, done["crank.angle"]) == pytest.approx(short["crank.angle"][-1], abs=2e-3)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("where", ["run", "go"])
def test_ctrl_c_before_the_first_step_carries_the_start(way: Way, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    s = linkage()[0].compile(formulation=way.formulation, **way.compiled)
    first = start(s)

    def pressed(*args: Any) -> None:  # as while code is compiled
        os.kill(os.getpid(), signal.SIGINT)
        signal.sigtimedwait([], 1.0)

    if where == "run":
        monkeypatch.setattr(s, "run", pressed)
    else:
        monkeypatch.setattr("jourdain.analysis.runs.outcome.check_closed", pressed)
    with pytest.raises(jd.SimulationInterrupted, match="interrupted at t = 0 s before a step was kept") as told:
        s.simulate(first, 0.05, **way.run)
    done = told.value.solution
    monkeypatch.undo()
    assert done.metadata["status"] == "interrupted" and done.t.tolist() == [0.0]
    assert done["crank.angle"][0] == pytest.approx(0.8)
    further, plain = (s.simulate(x, 0.05, **way.run) for x in (done, first))
    assert np.array_equal(further["crank.angle"], plain["crank.angle"])


@pytest.mark.filterwarnings("ignore:model 'four-bar'")
@pytest.mark.parametrize("formulation", ["recursive", "cartesian", "directors"])
def test_ctrl_c_while_a_law_runs_in_python(formulation: str) -> None:
    calls: list[float] = []

    def law(state: jd.State) -> float:
        calls.append(state.t)
        if len(calls) == 50:
            os.kill(os.getpid(), signal.SIGINT)
        return 0.1

    model, _ = model_of("controller", "nan")
    options = {"inputs": {"motor": jd.Controller(law, 0.01)}}
    s = model.compile(formulation=formulation)
    more = {"step": 1e-3} if formulation == "directors" else {}
    with pytest.raises(jd.SimulationInterrupted) as told:
        s.simulate(start(s), 10.0, **options, **more)
    done = told.value.solution
    assert 0.4 < done.t[-1] < 1.0 and done["crank.angle"][0] == pytest.approx(0.8)


@pytest.mark.filterwarnings("ignore:model 'four-bar'")
@pytest.mark.parametrize("error", [StopIteration, SystemExit, GeneratorExit])
@pytest.mark.parametrize("formulation", ["recursive", "cartesian", "directors"])
@pytest.mark.parametrize("kind", ["callback", "controller"])
def test_errors_that_python_itself_takes_for_an_end_are_told(kind: str, formulation: str, error: type[BaseException]) -> None:
    # a context manager made of a generator lets StopIteration through, and SystemExit is no Exception
    def law(t: float) -> float:
        if t < 0.1:
            return 0.1
        raise error("enough")

    if kind == "callback":
        m, hinge = linkage()
        m.force(hinge, m.callback("motor", law, [m.time]))
        options: dict[str, Any] = {}
    else:
        m, options = four_bar(), {"inputs": {"motor": jd.Controller(lambda x: law(x.t), 0.05)}}
    s = m.compile(formulation=formulation)
    with pytest.raises(jd.SimulationError, match=rf"{kind} (of )?'motor' raised {error.__name__}: enough at t = 0\.1") as told:
        s.simulate(start(s), 0.3, **options, **({"step": 1e-3} if formulation == "directors" else {}))
    done = told.value.solution
    assert 0.05 <= done.t[-1] <= 0.1001 and np.isfinite(done["crank.angle"]).all()


COMMAND = """
import os, signal, sys, threading
from jourdain.cli import main
from jourdain.solvers.ode.drive import Drive
main(["simulate", "jourdain.library.mechanisms:double_pendulum", "-t", "0.1"])  # what is compiled once is compiled before the clock starts
signal.signal(signal.SIGINT, signal.default_int_handler)
usual = Drive.run
def run(self, progress):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    return usual(self, progress)
Drive.run = run
sys.exit(main(["simulate", "jourdain.library.mechanisms:double_pendulum", "--set", "shoulder.angle=2", "-t", "1e6", "--outputs", "100000", "-o", sys.argv[1]]))
"""


def test_the_command_writes_what_was_done(tmp_path: Path) -> None:
    table = tmp_path / "run.npz"
    done = subprocess.run([sys.executable, "-c", COMMAND, str(table)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 130, done.stderr[-500:]
    assert "interrupted at t = " in done.stderr and "what was done is kept" in done.stderr
    kept = load_solution(table)
    assert kept.metadata["status"] == "interrupted" and 0 < kept.t[-1] < 1e6


def test_a_long_interrupted_run_is_written_by_its_states(tmp_path: Path) -> None:
    # forces, reactions and energies of all its samples take longer than the run: Ctrl-C would seem to be ignored
    from jourdain.library.mechanisms import double_pendulum
    from jourdain.results.interrupted import SHORT, what_is_kept

    sol = double_pendulum().compile().simulate({"shoulder.angle": 2.0}, t=300.0)
    assert len(sol) > SHORT
    whole, said = what_is_kept(sol)
    assert set(whole.names) == {"shoulder.angle", "elbow.angle", "shoulder.angle_rate", "elbow.angle_rate"}
    assert np.array_equal(whole.t, sol.t) and np.array_equal(whole["elbow.angle"], sol["elbow.angle"]) and f"({len(sol)} samples)" in said
    some, said = what_is_kept(sol, -(-5 * len(sol) // 3))
    assert "at one in 3 of" in said and some.t[0] == sol.t[0] and some.t[-1] == sol.t[-1]
    assert np.array_equal(some["elbow.angle_rate"][:-1], sol["elbow.angle_rate"][::3][: len(some) - 1])
    short = sol.between(0.0, 1.0)
    assert what_is_kept(short) == (short, "what was done is kept")


def test_interrupted_analyses_keep_those_that_ended(tmp_path: Path) -> None:
    model = tmp_path / "swing.py"
    model.write_text(
        "from jourdain.library.mechanisms import double_pendulum\n"
        "def swing():\n"
        "    m = double_pendulum()\n"
        "    m.analyses['short'] = {'verb': 'simulate', 't': 0.1}\n"
        "    m.analyses['long'] = {'verb': 'simulate', 't': 1e6}\n"
        "    m.analyses['never'] = {'verb': 'simulate', 't': 1.0}\n"
        "    return m\n",
        encoding="utf-8",
    )
    words = (
        COMMAND.partition("sys.exit(")[0].replace("Timer(0.3", "Timer(0.5")
        + 'sys.exit(main(["run", sys.argv[1], "--set", "shoulder.angle=2", "-o", sys.argv[2]]))'
    )
    done = subprocess.run(
        [sys.executable, "-c", words, f"{model}:swing", str(tmp_path / "out")], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 130, done.stderr[-500:]
    assert "interrupted in analysis 'long'" in done.stderr and "ended before: short" in done.stderr
    assert load_solution(tmp_path / "out" / "short.npz").t[-1] == pytest.approx(0.1)
    assert load_solution(tmp_path / "out" / "long.npz").metadata["status"] == "interrupted"
    assert not (tmp_path / "out" / "never.npz").exists()
    # somebody waits: what ended has its plot and page, what was interrupted its table, and a line says how to draw it
    assert (tmp_path / "out" / "short.html").exists() and not (tmp_path / "out" / "long.html").exists()
    assert "jourdain view" in done.stdout and "matplotlib" not in done.stderr
