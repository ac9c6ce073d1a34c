"""method="auto": an explicit and an implicit method in turns, by the steps' own estimate."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import jourdain as jd
from jourdain.library import n_four_bar, stiff_governor


def damped(rate: float = 1e5) -> jd.Model:
    """A mass in honey, moved by an input; after some ten seconds the honey is gone."""
    m = jd.Model("honey", gravity=(0, 0, 0))
    rail = m.prismatic("rail", m.ground, m.body("a", mass=1.0), axis="x")
    push = m.input("push", 1.0, unit="N")
    m.force(rail, lambda x, v, t: (0.1 + 0.5 * rate * (1.0 - jd.tanh(5.0 * (t - 8.0)))) * (jd.sin(t) - v) + push)
    return m


WAYS = [{}, {"reduction": "projected"}, {"formulation": "cartesian"}, {"formulation": "natural"}, {"formulation": "semi-recursive"}]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_stiff_stretches_are_run_implicitly_and_others_explicitly(way: dict[str, str]) -> None:
    s = damped().compile(**way)
    start = {"rail.displacement_rate": 1.0}
    sol = s.simulate(start, t=40.0, method="auto", inputs={"push": lambda t: jd.cos(t)})
    turns = [(turn["method"], turn.get("left", "")) for turn in sol.metadata["turns"]]
    assert turns[:3] == [("dopri5", "stiff"), ("radau", "no longer stiff"), ("dopri5", "")]
    assert sol.metadata["turns"][2]["t"] > 8.0 and sol.metadata["method"] == "auto"
    assert sol.statistics["steps"] < 3000
    exact = s.simulate(start, t=40.0, method="radau", rtol=1e-10, atol=1e-12, inputs={"push": lambda t: jd.cos(t)})
    times = np.linspace(0.0, 40.0, 41)
    for name in ("rail.displacement", "rail.displacement_rate"):
        assert sol.at(times)[name] == pytest.approx(exact.at(times)[name], abs=2e-6)
    assert sol["energy.error"][-1] == pytest.approx(0.0, abs=1e-3 * np.abs(sol["energy.supplied"]).max())


def test_what_is_not_stiff_is_the_default_run() -> None:
    s = n_four_bar(1).compile()
    start = s.assemble({s.coordinate_names[0]: 1.0}, velocities={s.velocity_names[0]: 2.0})
    auto, plain = s.simulate(start, t=1.0, method="auto"), s.simulate(start, t=1.0)
    assert np.array_equal(auto.t, plain.t)
    assert all(np.array_equal(auto[n], plain[n]) for n in s.coordinate_names)


def test_the_same_bits_from_run_to_run_and_across_a_restart() -> None:
    s, start = (
        stiff_governor().compile(),
        {
            "slide": 0.5,
            "right": np.pi / 6,
            "left": np.pi / 6,
            "shaft.angle_rate": 2.0 * np.pi,
        },
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        one, two = (s.simulate(start, t=10.0, method="auto") for _ in range(2))
        half = s.simulate(start, t=5.0, method="auto")
        rest = s.simulate(half, t=5.0, method="auto")
        exact = s.simulate(start, t=10.0, method="radau", rtol=1e-11, atol=1e-13)
    assert len(one.metadata["turns"]) > 1
    assert np.array_equal(one.t, two.t)
    name = s.coordinate_names[0]
    assert np.array_equal(one[name], two[name])
    assert rest[name][-1] == pytest.approx(exact[name][-1], abs=1e-5)
    assert one[name][-1] == pytest.approx(exact[name][-1], abs=1e-5)


def test_controllers_memories_and_events_go_on_from_turn_to_turn() -> None:
    m = damped()
    rail = m.joints["rail"]
    m.memory("far", 0.0, lambda before: jd.maximum(before, rail.position))
    m.event("passed", rail.position - 1.0, direction=1)
    s = m.compile()
    asked: list[float] = []

    def law(state: jd.State) -> float:
        asked.append(state.t)
        return float(np.cos(state.t))

    sol = s.simulate({}, t=15.0, method="auto", inputs={"push": jd.Controller(law, period=0.01)})
    assert [turn["method"] for turn in sol.metadata["turns"]] == ["dopri5", "radau", "dopri5"]
    assert asked == pytest.approx(0.01 * np.arange(1500), abs=1e-9)
    assert sol["far"][-1] == pytest.approx(sol["rail.displacement"].max(), abs=1e-6)
    assert [e.name for e in sol.events][:1] == ["passed"]
    assert np.all(np.diff(sol["far"]) >= 0.0)


def test_where_there_are_no_turns_to_take_it_is_refused() -> None:
    with pytest.raises(jd.InputError, match=r"'auto' changes between 'dopri5' and 'radau', which the formulation 'directors' has not"):
        damped().compile(formulation="directors").simulate({}, t=1.0, method="auto")
    s = damped().compile()
    with pytest.raises(jd.InputError, match="steps= cannot be given with method='auto'"):
        s.simulate({}, t=1.0, method="auto", steps=[0.0, 1.0])
    with pytest.raises(jd.InputError, match="auto"):
        s.stepper({}, step=1e-3, method="auto")
