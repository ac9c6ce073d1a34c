"""Runs that go on in other coordinates: what is sampled, counted and remembered does not notice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd


def three_cranks() -> jd.Model:
    """A bar on three parallel cranks, over-constrained, with a motor; all cranks lie in line at a quarter turn."""
    m = jd.Model("three cranks", gravity=(0, 0, -9.81))
    bar = m.body("bar", mass=1.0, com=(0.5, 0, 0), inertia=(0.02, 0.03, 0.025))
    for i in range(3):
        crank = m.body(f"crank{i}", mass=0.5, com=(0, 0, 0.1), inertia=(0.02, 0.03, 0.025))
        joint = m.revolute(f"crank{i}", m.ground.at(0.5 * i, 0, 0), crank, axis="y")
        if i == 0:
            m.revolute("bar", crank.at(0, 0, 0.3), bar, axis="y")
            m.force(joint, m.input("motor", 0.5))
        else:
            m.revolute(f"top{i}", bar.at(0.5 * i, 0, 0), crank.at(0, 0, 0.3), axis="y")
    return m


def start(s: jd.System) -> Any:
    guess = {"bar.angle": -0.3, "crank1.angle": 0.3, "crank2.angle": 0.3}
    return s.assemble({"crank0.angle": 0.3}, guess=guess, velocities={"crank0.angle_rate": 2.0})


WAYS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("recursive", {"reduction": "reduced"}, {}), ("recursive", {"reduction": "reduced"}, {"method": "radau"}),
    ("recursive", {"reduction": "closed"}, {}), ("semi-recursive", {}, {}), ("semi-recursive", {"reduction": "range-space"}, {}),
    ("semi-recursive", {"reduction": "null-space"}, {"method": "radau"}), ("cartesian", {}, {}), ("natural", {}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("formulation", "compiled", "run"), WAYS)
def test_a_controller_is_asked_at_its_instants_through_a_singular_position(formulation: str, compiled: Any, run: Any) -> None:
    """A law with a memory of its own, as a PI controller has one, would notice every further question."""
    options = {"rtol": 1e-9, "atol": 1e-11}
    asked: dict[str, list[float]] = {}

    def simulated(s: jd.System, name: str, **more: Any) -> Any:
        times = asked.setdefault(name, [])

        def law(x: Any) -> float:
            times.append(x.t)
            return float(0.3 * x["crank0.angle_rate"] + 0.1 * len(times))

        return s.simulate(start(s), 0.3, inputs={"motor": jd.Controller(law, 0.05)}, **options, **more)

    model = three_cranks()
    expected = simulated(model.compile(), "expected", method="dop853")
    found = simulated(model.compile(formulation=formulation, **compiled), "found", **run)
    assert expected["crank0.angle"][-1] > np.pi / 2, "the singular position is passed"
    assert asked["found"] == asked["expected"] == pytest.approx(0.05 * np.arange(6), abs=1e-12)
    assert found["crank0.angle"][-1] == pytest.approx(expected["crank0.angle"][-1], abs=1e-6)
    assert found["motor"][-1] == pytest.approx(expected["motor"][-1], abs=1e-5)
    assert found.statistics["events"] == expected.statistics["events"] == 0


def test_a_restart_asks_at_its_own_beginning() -> None:
    s, asked = three_cranks().compile(), list[float]()

    def law(x: Any) -> float:
        asked.append(x.t)
        return float(x["crank0.angle_rate"])

    inputs = {"motor": jd.Controller(law, 0.05)}
    s.simulate(s.simulate(start(s), 0.1, inputs=inputs), (0.1, 0.2), inputs=inputs)
    assert asked == pytest.approx([0.0, 0.05, 0.1, 0.15], abs=1e-12)


def screw() -> jd.Model:
    m = jd.Model("screw")
    nut = m.body("nut", mass=1.0, com=(0.02, 0, 0.01), inertia=(0.01, 0.012, 0.013))
    arm = m.body("arm", mass=0.4, com=(0.1, 0, 0), inertia=(0.002, 0.003, 0.003))
    m.helical("thread", m.ground, nut, pitch=0.15, axis="z", damping=0.01)
    m.revolute("arm", nut.at(0.1, 0, 0), arm, axis=(0, 1, 0.3))
    return m


@pytest.mark.parametrize("reduction", ["none", "bodies", "joints"])
def test_screws_go_on_from_any_state_in_directors(reduction: str) -> None:
    """The advance of a screw is a coordinate of its own, which begins with the turn from which a run begins."""
    s, d = screw().compile(), screw().compile(formulation="directors", reduction=reduction)
    x = s.state({"thread.angle": 0.2}, {"thread.angle_rate": 3.0})
    expected = s.simulate(x, 0.4, rtol=1e-10)
    first = d.simulate(x, 0.2, step=1e-3)
    names = ("thread.angle", "arm.angle")
    there = d.state({n: first[n][-1] for n in names}, {f"{n}_rate": first[f"{n}_rate"][-1] for n in names})
    for found in (d.simulate(first, (0.2, 0.4), step=1e-3), d.simulate(there, (0.2, 0.4), step=1e-3)):
        for name in names:
            assert found[name][-1] == pytest.approx(expected[name][-1], abs=2e-5)
