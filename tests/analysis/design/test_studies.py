"""Studies: fronts by workers of every kind have the same bits, and go on from a store."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain.analysis.design.front import Front
from jourdain.analysis.design.kept import Kept
from jourdain.analysis.design.space import Evaluated
from jourdain.library import plane_vehicle
from jourdain.results.store import Store

SCRIPT = """
import sys
import numpy as np
import jourdain as jd
from jourdain import criteria as cr

def problem(t=80.0):
    m = jd.Model("oscillator", gravity=(0, 0, 0))
    k = m.parameter("k", 1.0, "N/m", bounds=(0.3, 4.0))
    c = m.parameter("c", 1.5, "N s/m", bounds=(0.5, 3.0))
    joint = m.prismatic("x", m.ground, m.body("mass", mass=1.0), axis="x")
    m.joint_spring(joint, k, damping=c)
    swing = jd.Analysis(m.compile(), "simulate", {"x.displacement_rate": 1.0}, t=t, rtol=1e-9, atol=1e-11)
    return jd.Problem(swing, ["k", "c"], {"shake": cr.integral("x.displacement_acc^2"), "sway": cr.integral("x.displacement^2")})

def bits(front):
    return np.array([[*d.values.values(), *d.criteria.values(), d.kkt] for d in front]).tobytes()

if __name__ == "__main__":
    method, workers = sys.argv[3:5]
    front = problem(2000.0).pareto(method, points=9, samples=32, store=sys.argv[1], workers=int(workers) if workers.isdigit() else workers)
    open(sys.argv[2], "wb").write(bits(front))
"""
namespace: dict = {"__name__": "study"}
exec(textwrap.dedent(SCRIPT), namespace)
problem, bits = namespace["problem"], namespace["bits"]


@pytest.fixture(scope="module")
def serial() -> bytes:
    return bits(problem().pareto("nbi", points=6, samples=8))


@pytest.mark.parametrize("workers", [2, "processes:2"])
def test_a_front_has_the_same_bits(serial: bytes, workers, tmp_path: Path) -> None:
    assert bits(problem().pareto("nbi", points=6, samples=8, workers=workers)) == serial


def test_a_front_does_not_depend_on_what_was_derived_before(tmp_path: Path) -> None:
    """Of sums of products: gradients found first of other variables, in threads or in another process, and a front that goes on."""

    def vehicle() -> jd.Problem:
        bump = jd.Analysis(plane_vehicle(damper="cubic").compile(), "simulate", {}, t=0.6)
        comfort, travel = jd.criteria.integral("t^2*driver.acceleration.z^2"), jd.criteria.integral("(front.travel/0.08)^6")
        return jd.Problem(bump, ["d_F", "c_R"], {"comfort": comfort, "travel": travel})

    ask = {"points": 3, "samples": 2, "limit": 4}
    alone = bits(vehicle().pareto(**ask))
    other = vehicle()
    other.analysis.gradient(other.minimise, ["h_3", "d_R", "c_F"])
    assert bits(other.pareto(**ask, workers=2)) == alone
    assert bits(vehicle().pareto(**ask, workers="processes:2", store=tmp_path / "a.db")) == alone
    assert bits(vehicle().pareto(**ask, store=tmp_path / "a.db")) == alone


def test_a_front_has_the_ends_that_single_searches_find() -> None:
    """The plane vehicle's comfort has several local optima; a front knows the one next to the present design, too."""
    bump = jd.Analysis(plane_vehicle(damper="cubic").compile(), "simulate", {}, t=2.0)
    ask = {"comfort": jd.criteria.integral("t^2*driver.acceleration.z^2"), "travel": jd.criteria.integral("(front.travel/0.08)^6")}
    problem = jd.Problem(bump, ["d_F", "d_R"], ask)
    front = problem.pareto(points=2, samples=2)
    for name in ask:
        assert front.utopia[name] <= problem.optimise(weights={name: 1.0}).criteria[name] * (1.0 + 1e-9)


def test_a_design_is_found_again_as_it_was_asked_for(tmp_path: Path) -> None:
    """With derivatives or without: their runs are not the same to the last bit, and which came first must not matter."""
    kept = Kept(Store(tmp_path / "a.db"), "study", "name")
    x = np.array([0.25])
    kept.save([(Evaluated(x, np.array([1.0]), "", np.array([[2.0]])), True)])
    assert kept.find(x, slopes=False) is None
    kept.save([(Evaluated(x, np.array([1.0 + 1e-15]), ""), False)])
    assert kept.find(x, slopes=False).values[0] == 1.0 + 1e-15
    assert kept.find(x, slopes=True).values[0] == 1.0


def test_a_front_by_a_cluster(serial: bytes, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        assert bits(problem().pareto("nbi", points=6, samples=8, workers=cluster.scheduler_address, store=tmp_path / "a.db")) == serial


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    count: list[int] = []
    run = jd.Analysis.run
    monkeypatch.setattr(jd.Analysis, "run", lambda self, values=None: (count.append(1), run(self, values))[1])
    return count


@pytest.mark.parametrize(
    "ask", [lambda p, s: p.optimise({"shake": 1, "sway": 1}, store=s), lambda p, s: p.pareto("epsilon", points=4, samples=4, store=s)]
)
def test_what_is_kept_is_not_run_again(ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ask(problem(), tmp_path / "a.db")
    count = counted(monkeypatch)
    again = ask(problem(), str(tmp_path / "a.db"))
    assert not count
    assert str(first).splitlines()[1:] == str(again).splitlines()[1:]
    known = again[0] if isinstance(again, Front) else again
    assert known.problem.space.units == {"shake": "m^2/s^3", "sway": "m^2 s"}  # kept with the designs


def test_an_interrupted_optimisation_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, count = jd.Analysis.run, []

    def interrupted(self, values=None):
        count.append(1)
        if len(count) == 5:
            raise KeyboardInterrupt
        return run(self, values)

    monkeypatch.setattr(jd.Analysis, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        problem().optimise({"shake": 1, "sway": 1}, store=tmp_path / "a.db")
    before = len(count)
    best = problem().optimise({"shake": 1, "sway": 1}, store=tmp_path / "a.db")
    done = len(count) - before
    monkeypatch.undo()
    again = counted(monkeypatch)
    assert best.values == problem().optimise({"shake": 1, "sway": 1}).values
    assert len(again) == done + before - 1  # only the run that was cut short is done again


def test_another_problem_is_told_and_kept_apart(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    first = problem().optimise({"shake": 1, "sway": 1}, store=store)
    with pytest.warns(UserWarning, match="holds a study 'oscillator: shake, sway over k, c' that is not this one"):
        other = problem(3.0).optimise({"shake": 1, "sway": 1}, store=store)
    assert other.values != first.values
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert problem(3.0).optimise({"shake": 1, "sway": 1}, store=store).values == other.values
    assert {name for name, _ in jd.Store(store).studies().values()} == {"oscillator: shake, sway over k, c"}


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("method", "workers"), [("epsilon", "2"), pytest.param("nbi", "processes:2", marks=pytest.mark.slow)])
def test_a_killed_study_goes_on(method: str, workers: str, tmp_path: Path) -> None:
    script, store = tmp_path / "study.py", tmp_path / "a.db"
    script.write_text(textwrap.dedent(SCRIPT))

    def begun(where: Path, name: str) -> subprocess.Popen:
        return subprocess.Popen([sys.executable, str(script), str(where), str(tmp_path / name), method, workers])

    first, deadline = begun(store, "first"), time.monotonic() + 120
    while time.monotonic() < deadline and answers(store) < 40:
        time.sleep(0.02)
    first.kill()
    first.wait()
    assert answers(store) >= 40 and not (tmp_path / "first").exists()
    assert begun(store, "again").wait() == 0 and begun(tmp_path / "b.db", "whole").wait() == 0
    assert (tmp_path / "again").read_bytes() == (tmp_path / "whole").read_bytes()
    assert answers(store) == answers(tmp_path / "b.db")


def answers(path: Path) -> int:
    if not path.exists():
        return 0
    try:
        with jd.Store(path) as store:
            return sum(count for _, count in store.studies().values())
    except jd.JourdainError:
        return 0
