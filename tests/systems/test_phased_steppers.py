"""Steppers and given steps where joints let go and bodies are caught, in every formulation and method that steps."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from tests.systems.test_phases import WAYS, carts, thrower

OUTPUTS = ["pivot.angle", "pivot.angle_rate", "stone.x", "stone.z", "hand.reaction.z"]


def options(way: str) -> dict[str, Any]:
    """Method and tolerances of a way; without a method, and tolerances given, that of the default run."""
    settings = WAYS[way][1]
    own = {n: x for n, x in settings.items() if n in ("method", "rtol", "atol")}
    return {"method": "dopri5", **own} if "rtol" in own else own


def opened(way: str, step: float = 0.01) -> tuple[Any, Any]:
    """A system and a stepper of the arm that throws, with the options of a way."""
    compiled, settings, _ = WAYS[way]
    s = thrower().compile(**compiled)
    start = s.assemble({"pivot.angle": 0.2}, velocities={"pivot.angle_rate": -9.0})
    own = options(way)
    return s, s.stepper(start, step=settings.get("step", step), inputs=["torque"], outputs=OUTPUTS, **own)


@pytest.mark.parametrize("way", [w for w in WAYS if w != "closed"])
def test_a_stone_is_thrown_step_by_step(way: str) -> None:
    s, st = opened(way)
    settings = WAYS[way][1]
    sol = s.simulate(st.state, t=0.4, inputs={"torque": -3.0}, times=[0.0, 0.4], **settings)
    events = []
    for _ in range(round(0.4 / st.step)):
        y = st.advance([-3.0])
        events += st.events
    (expected,) = sol.events
    ((when, name),) = events
    assert name == "let go" and st.ended is None
    tolerance = max(1e-7, WAYS[way][2])
    assert when == pytest.approx(expected.t, abs=tolerance)
    assert st.t == pytest.approx(0.4, abs=1e-12)
    assert y == pytest.approx(
        [sol["pivot.angle"][-1], sol["pivot.angle_rate"][-1], sol["stone.x"][-1], sol["stone.z"][-1], 0.0], abs=20 * tolerance
    )


def test_going_back_over_an_event_gives_the_same_bits_here_and_in_another_process() -> None:
    s, st = opened("recursive")
    tokens, rows = [], []
    for _ in range(40):
        tokens.append(st.save())
        rows.append(st.advance([-3.0]))
    assert any(row[-1] == 0.0 for row in rows) and any(abs(row[-1]) > 1.0 for row in rows)
    for k in (0, 5, 30):
        st.restore(tokens[k])
        assert np.array_equal([st.advance([-3.0]) for _ in range(k, 40)], rows[k:])
        _, other = opened("recursive")
        other.restore(pickle.loads(pickle.dumps(tokens[k])))
        assert np.array_equal([other.advance([-3.0]) for _ in range(k, 40)], rows[k:])


@pytest.mark.parametrize("way", WAYS)
def test_carts_couple_and_part_step_by_step(way: str) -> None:
    compiled, settings, tolerance = WAYS[way]
    s = carts().compile(**compiled)
    own = options(way)
    start = {"rb.displacement": 2.0, "ra.displacement_rate": 2.0}
    st = s.stepper(start, step=settings.get("step", 0.5), outputs=["ra.displacement", "rb.displacement_rate"], **own)
    seen = []
    for _ in range(round(4.0 / st.step)):
        y = st.advance()
        seen += [name for _, name in st.events]
    assert seen == ["couple", "part"]
    sol = s.simulate(start, t=4.0, **settings)
    assert y == pytest.approx([sol["ra.displacement"][-1], sol["rb.displacement_rate"][-1]], abs=20 * max(1e-7, tolerance))


@pytest.mark.parametrize("way", ["recursive", "semi-recursive", "cartesian", "natural", "dop853", "rk4"])
def test_given_steps_go_through_phases(way: str) -> None:
    compiled, settings, _ = WAYS[way]
    s = carts().compile(**compiled)
    start = {"rb.displacement": 2.0, "ra.displacement_rate": 2.0}
    method = {"method": settings["method"]} if "method" in settings else {}
    first = s.simulate(start, t=4.0, **method, **({"step": 1e-2} if way == "rk4" else {}))
    again = s.simulate(start, t=4.0, steps=first, **method)
    assert [e.name for e in again.events] == ["couple", "part"]
    assert set(np.round(first.t, 12)) == set(np.round(again.t, 12))
    for name in ("ra.displacement", "rb.displacement", "ra.displacement_rate"):
        assert again[name][-1] == pytest.approx(first[name][-1], abs=1e-9)


def test_outputs_that_no_phase_has_and_native_callers_are_refused() -> None:
    s = thrower().compile()
    start = s.assemble({"pivot.angle": 0.2})
    with pytest.raises(jd.InputError, match="hand.raction"):
        s.stepper(start, step=0.01, outputs=["hand.raction.z"])
    gone = {"pivot.angle": 0.2, "hand.engaged": 0.0}
    with pytest.raises(jd.InputError, match="hand.raction"):
        s.stepper(gone, step=0.01, outputs=["hand.raction.z"])
    st = s.stepper(gone, step=0.01, outputs=["hand.reaction.z"])
    assert st.advance().tolist() == [0.0]
    with pytest.raises(jd.InputError, match="stepped from Python"):
        _ = st.address
