"""Steps that end at instants which nothing moves, from the first run on; factors of stages that serve their pulls."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import library
from jourdain.analysis.gradients.constrained_runs import Constrained
from jourdain.analysis.gradients.simulated import Simulated
from jourdain.systems.tree.system import TreeSystem

WRT = ["m", "c"]


def pushed(begins: Any = 0.3) -> jd.Model:
    """A mass against a damper that a force pushes from 0.3 s to 0.8 s."""
    m = jd.Model("pushed", gravity=(0, 0, 0))
    x = m.prismatic("x", m.ground, m.body("mass", mass=m.parameter("m", 2.0, "kg")), axis="x")
    begins = m.parameter("begins", 0.3, "s") if begins is None else begins
    m.force(x, jd.where(m.time > begins, 3.0, 0.0) - jd.where(m.time > 0.8, 3.0, 0.0) - m.parameter("c", 0.7, "N s/m") * x.velocity)
    return m


def closed(mass: float, c: float, T: float = 1.3, F: float = 3.0, first: float = 0.3, last: float = 0.8) -> float:
    """Its way: that of the impulse less what the speed at the end still has to go."""
    rest = lambda since: mass / c * (1.0 - np.exp(-c * (T - since) / mass))
    return F / c * ((T - first) - rest(first) - (T - last) + rest(last))


def test_forces_that_begin_and_end_at_given_instants() -> None:
    run = jd.Analysis(pushed().compile(), "simulate", {}, t=1.3, rtol=1e-11, atol=1e-13)
    wanted = [(closed(2.0 + h, 0.7) - closed(2.0 - h, 0.7)) / (2 * h) for h in [1e-5]] + [
        (closed(2.0, 0.7 + h) - closed(2.0, 0.7 - h)) / (2 * h) for h in [1e-5]
    ]
    for method in ("adjoint", "forward"):
        g = run.gradient({"way": jd.criteria.final("x.displacement")}, WRT, method=method)
        assert g.values["way"] == pytest.approx(closed(2.0, 0.7), rel=1e-9)
        assert g.matrix[0] == pytest.approx(wanted, rel=1e-8)
        assert sorted(s.t for s in g.switches) == pytest.approx([0.3, 0.8], abs=1e-12)


def test_one_run_is_enough_once_they_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second gradient takes one run; it has the bits of the first, and those of an analysis that nothing was asked before."""
    system, way, runs = pushed().compile(), {"way": jd.criteria.final("x.displacement")}, []
    plain = TreeSystem.simulate
    monkeypatch.setattr(TreeSystem, "simulate", lambda *a, **k: (runs.append(1), plain(*a, **k))[1])
    run, other = (jd.Analysis(system, "simulate", {}, t=1.3) for _ in range(2))
    found, counts = [], []
    for a, values in ((run, {}), (run, {}), (run, {"c": 0.9}), (run, {"c": 0.8}), (other, {"c": 0.8})):
        before = len(runs)
        found.append(a.gradient(way, WRT, method="adjoint", values=values))
        counts.append(len(runs) - before)
    assert counts[1] == counts[3] == 1
    assert np.array_equal(found[0].matrix, found[1].matrix)
    assert np.array_equal(found[3].matrix, found[4].matrix) and found[3].values == found[4].values


def test_an_instant_that_a_variable_moves() -> None:
    """Beside one that nothing moves: its slope is that of the impulse."""
    run = jd.Analysis(pushed(None).compile(), "simulate", {}, t=1.3, rtol=1e-11, atol=1e-13)
    for method, _ in itertools.product(("adjoint", "forward"), range(2)):
        g = run.gradient({"way": jd.criteria.final("x.displacement")}, ["begins"], method=method)
        assert g.matrix[0, 0] == pytest.approx((closed(2.0, 0.7, first=0.3 + 1e-5) - closed(2.0, 0.7, first=0.3 - 1e-5)) / 2e-5, rel=1e-8)


def driven_four_bar() -> jd.Analysis:
    m = library.four_bar()
    crank = m.joints["crank"]
    m.force(crank, jd.step(m.time, 0.1, 0.2) * m.parameter("torque", 0.4, "N m") - 0.02 * crank.velocity)
    return jd.Analysis(m.compile(), "simulate", {"crank.angle": 0.5, "crank.angle_rate": 3.0}, t=0.4)


def test_walks_back_need_no_pushes_where_nothing_moves() -> None:
    """Neither functions nor kernels of pushes are made for the adjoint gradient of a motion with bends at given instants."""
    run = driven_four_bar()
    walk = Simulated(run, {"e": jd.criteria.integral("crank.angle_rate^2")}, ["torque", "crank.angle"], {}, memory=1e9)
    assert sum(p.event is not None for p in walk.pieces) >= 2
    _, matrix = walk.adjoint()
    assert walk.run.record.push.function == walk.run.record.project_push.function == 0
    assert walk.run.record.pull.function != 0
    assert matrix == pytest.approx(walk.forward()[1], rel=1e-11)


def test_factors_of_stages_serve_their_pulls(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same gradient with them and with an elimination for each pull."""
    criteria = {
        "e": jd.criteria.integral("crank.angle_rate^2"),
        "r": jd.criteria.mean("crank.reaction.x^2"),
        "at": jd.criteria.at(0.217, "crank.angle"),
    }
    wrt = ["torque", "crank", "crank.angle", "crank.angle_rate"]
    found = driven_four_bar().gradient(criteria, wrt, method="adjoint").matrix
    monkeypatch.setattr(Constrained, "_kept_stages", lambda self: 0)
    assert found == pytest.approx(driven_four_bar().gradient(criteria, wrt, method="adjoint").matrix, rel=1e-12)
