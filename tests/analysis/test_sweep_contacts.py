"""Sweeps of runs with rigid contacts in native loops: the bits of single runs, and what these say of starts and laws."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.analysis.runs.rows import Finals, why_not_plain
from jourdain.analysis.sweep import _Simulations

RNG = np.random.default_rng(14)


def thrown() -> tuple[jd.Model, list[dict[str, float]]]:
    """A box on a floor."""
    m = jd.Model("thrown")
    m.ground.shapes.append(jd.plane())
    m.free("f", m.ground, m.body("b", shape=jd.box(0.1, 0.07, 0.06, density=700.0)))
    m.contact("all", law=jd.contact.rigid(friction=0.4, restitution=0.3))
    return m, [{"f.z": 0.15, "f.x_rate": x, "f.orientation.omega_y": w} for x, w in RNG.uniform(-2, 2, (12, 2)).tolist()]


def heap() -> tuple[jd.Model, list[dict[str, float]]]:
    """Spheres, a capsule and a cylinder that roll and spin against resistance; more contacts than there is room for at first."""
    m, places = jd.Model("heap"), RNG.uniform(-0.05, 0.05, (6, 4, 2)).tolist()
    m.ground.shapes.append(jd.plane())
    for i, shape in enumerate(
        [
            jd.sphere(0.05, density=900.0),
            jd.sphere(0.03, density=2000.0),
            jd.capsule(0.03, 0.1, density=800.0),
            jd.cylinder(0.04, 0.05, density=900.0),
        ]
    ):
        m.free(f"f{i}", m.ground, m.body(f"b{i}", shape=shape))
    m.contact("all", law=jd.contact.rigid(friction=0.5, rolling=1e-3, spinning=1e-3))
    return m, [{f"f{i}.{c}": x for i, p in enumerate(row) for c, x in (("x", p[0]), ("y", p[1]), ("z", 0.1 + 0.15 * i))} for row in places]


def hung() -> tuple[jd.Model, list[dict[str, float]]]:
    """A pendulum with dry friction between rigid stops, a bob on a rope, a floor that is driven up and down, and an event that jumps."""
    m = jd.Model("hung")
    hinge = m.revolute(
        "hinge", m.ground, m.body("bar", mass=1.0, com=(0, 0, -0.4), inertia=(0.02, 0.02, 0.01)), axis="y", limits=(-0.6, 0.4)
    )
    m.friction(hinge, coulomb=0.2, smoothing=0.0)
    m.stops(law=jd.contact.rigid(restitution=0.5))
    bob = m.body("bob", shape=jd.sphere(0.05, density=1000.0))
    m.free("bob_free", m.ground, bob)
    m.rope("rope", m.ground.frame("hook", (1.0, 0.0, 1.0)), bob, length=0.8, law=jd.contact.rigid(restitution=0.2))
    floor = m.body("floor", shape=jd.box(1.0, 1.0, 0.02, density=1000.0))
    m.drive(m.prismatic("lift", m.ground, floor, axis="z"), lambda t: 0.15 + 0.02 * jd.sin(9.0 * t))
    m.contact("all", law=jd.contact.rigid(friction=0.4))
    return m, [
        {"hinge": a, "bob_free.x": 1.0 + 0.2 * a, "bob_free.z": 0.4, "hinge.angle_rate": 3.0 * a}
        for a in RNG.uniform(-0.5, 0.39, 8).tolist()
    ]


def run_by_run(monkeypatch: pytest.MonkeyPatch, ask: Any) -> jd.SweepResult:
    """The same sweep without native loops."""
    with monkeypatch.context() as patched:
        patched.setattr(_Simulations, "many", lambda self, jobs: None)
        return ask()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("make", [thrown, heap, hung])
def test_rows_are_those_of_single_runs(monkeypatch: pytest.MonkeyPatch, make: Any, workers: int) -> None:
    m, starts = make()
    s = m.compile()
    ask = lambda: s.sweep({}, 0.7, initial=starts, method="moreau", step=1e-3, workers=workers, progress=False)
    one, in_loops = run_by_run(monkeypatch, ask), list[bool]()

    def after(loop: Finals, *given: Any) -> Any:
        found = Finals.__dict__["own_after"](loop, *given)
        in_loops.extend(found[1].tolist())
        return found

    monkeypatch.setattr(Finals, "own_after", Finals.after, raising=False)
    monkeypatch.setattr(Finals, "after", after)
    several = ask()
    assert several.alone == "" and several.done.all() and several.table.tobytes() == one.table.tobytes()
    assert all(in_loops) and (workers > 1 or len(in_loops) == len(starts))  # short parcels of several threads go without


def test_starts_that_overlap_are_refused_as_by_single_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    m, starts = thrown()
    starts[3] |= {"f.z": 0.02}
    starts[5] |= {"f.z": 0.03 - 2e-8}  # within what single runs allow
    s = m.compile()
    ask = lambda: s.sweep({}, 0.1, initial=starts, method="moreau", step=1e-3, workers=1, progress=False)
    several, one = ask(), run_by_run(monkeypatch, ask)
    assert (
        several.failures == one.failures
        and several.failures.keys() == {3}
        and "overlap at the start: 'ground' and 'b' by 0.01 m" in several.failures[3]
    )
    assert several.table.tobytes() == one.table.tobytes()


def test_laws_that_are_missed_are_told_by_the_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    m, starts = heap()
    s = m.compile()
    ask = lambda: s.sweep({}, 0.3, initial=starts, method="moreau", step=1e-3, tolerance=1e-12, max_iterations=1, workers=1, progress=False)
    with pytest.warns(RuntimeWarning, match="is missed by"):
        several = ask()
    with pytest.warns(RuntimeWarning, match="is missed by"):
        one = run_by_run(monkeypatch, ask)
    assert several.table.tobytes() == one.table.tobytes()


def test_why_runs_with_contacts_are_done_one_by_one() -> None:
    m, starts = thrown()
    m.parameter("unused", 1.0)
    s = m.compile()
    ask: dict[str, Any] = {"initial": starts[:2], "progress": False, "workers": 1, "step": 1e-3}
    assert s.sweep({}, 0.01, method="moreau", parameters={"unused": [1.0, 2.0]}, **ask).alone == "parameters that change contacts"
    assert "option 'overlap'" in s.sweep({}, 0.01, method="moreau", overlap="push apart", **ask).alone
    soft, _ = thrown()
    soft.contact("soft", law=jd.contact.kelvin_voigt(stiffness=1e5, damping=10.0))
    assert why_not_plain(soft.compile(), "moreau") == "contacts that give way"
    assert why_not_plain(s, "dopri5") == "contacts" and why_not_plain(s, "moreau") == ""


def limited(touching: bool) -> tuple[jd.Model, list[dict[str, float]]]:
    """A pendulum whose limits do not act; every third start goes beyond them on its way and comes back, and with contacts a ball beside it falls on the floor."""
    m = jd.Model("limited")
    m.revolute("hinge", m.ground, m.body("bar", mass=1.0, com=(0, 0, -0.4), inertia=(0.02, 0.02, 0.01)), axis="y", limits=(-0.5, 0.5))
    if touching:
        m.ground.shapes.append(jd.plane())
        m.free("free", m.ground, m.body("ball", shape=jd.sphere(0.05, density=1000.0)))
        m.initial["free.z"] = 0.1
        m.contact("all", law=jd.contact.rigid(friction=0.4))
    return m, [{"hinge": 0.1, "hinge.angle_rate": 3.5 if i % 3 == 0 else 0.3 + 0.01 * i} for i in range(9)]


@pytest.mark.parametrize("method", ["moreau", "dopri5"])
def test_limits_that_are_left_on_the_way_are_told_by_runs_alone(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    m, starts = limited(method == "moreau")
    s, in_loops = m.compile(), list[bool]()
    options: dict[str, Any] = {"method": "moreau", "step": 1e-3} if method == "moreau" else {"method": method}
    ask = lambda: s.sweep({}, 1.45, initial=starts, workers=1, progress=False, **options)
    with warnings.catch_warnings(record=True) as alone:
        warnings.simplefilter("always")
        one = run_by_run(monkeypatch, ask)
    own = Finals.after
    monkeypatch.setattr(Finals, "after", lambda loop, *given: (found := own(loop, *given), in_loops.extend(found[1].tolist()))[0])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        several = ask()
    assert several.alone == "" and several.table.tobytes() == one.table.tobytes()
    assert in_loops == [i % 3 != 0 for i in range(9)]
    assert (
        [str(w.message) for w in told] == [str(w.message) for w in alone] and len(told) == 3 and "leaves its limits" in str(told[0].message)
    )
    assert np.abs(one["hinge.angle"][::3]).max() < 0.5  # they are back at the end


def test_runs_of_more_steps_than_there_is_room_for_are_done_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    m, starts = limited(True)
    s = m.compile()
    monkeypatch.setattr("jourdain.analysis.runs.rows.MOST_STEPS", 100)
    for t in (0.05, 0.0915, 0.2):  # with room, with hardly any left, without
        ask = lambda t=t: s.sweep({}, t, initial=starts[1:3], method="moreau", step=1e-3, workers=1, progress=False)
        assert ask().table.tobytes() == run_by_run(monkeypatch, ask).table.tobytes()


def test_a_sweep_without_a_step_is_told() -> None:
    m, starts = thrown()
    failures = m.compile().sweep({}, 0.1, initial=starts[:2], method="moreau", workers=1, progress=False).failures
    assert len(failures) == 2 and "needs step= in seconds" in failures[0]
