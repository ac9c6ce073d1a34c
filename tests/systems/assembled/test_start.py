"""The native start of runs against the interpreted equations at an instant, and what it must not depend on."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from benchmarks.conserving_hinges import ring
from jourdain.library.mechanisms import four_bar, n_four_bar, slider_crank
from jourdain.library.nonholonomic import chaplygin_sleigh


def driven() -> jd.Model:
    """A crank that is driven by a function of time, a filter state, a helical joint and a spring at a joint that is measured."""
    m = jd.Model("driven", gravity=(0, 0, -9.81))
    crank = m.body("crank", mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.02, 0.02))
    rod = m.body("rod", mass=0.5, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
    nut = m.body("nut", mass=0.2, inertia=(0.01, 0.01, 0.02))
    m.drive(m.revolute("crank", m.ground, crank, axis="y"), jd.sin(2.0 * m.time))
    hinge = m.revolute("rod", crank.at(0.2, 0, 0), rod, axis="y", stiffness=3.0, damping=0.2)
    m.helical("nut", m.ground.at(0, 1, 0), nut, axis="z", pitch=0.01)
    level = m.state("level", 0.5)
    m.rate(level, -2.0 * level + hinge.velocity + m.time)
    return m


SYSTEMS = {
    "four-bar": lambda: four_bar().compile(formulation="directors").assembled(),
    "slider-crank": lambda: slider_crank().compile(formulation="directors").assembled(),
    "six bars": lambda: n_four_bar(2).compile(formulation="directors").assembled(),
    "ring": lambda: ring(5),
    "driven": lambda: driven().compile(formulation="directors").assembled(),
    "sleigh": lambda: chaplygin_sleigh().compile(formulation="directors").assembled(),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_native_rows_are_those_of_the_interpreted_equations(name: str) -> None:
    """Φ, G and what is prescribed, at states near the initial one and at any rates and times."""
    s = SYSTEMS[name]().acting
    rng = np.random.default_rng(7)
    free = s.equations.free
    for _ in range(3):
        q, v, t = s.q0 + 0.1 * rng.normal(size=s.q0.size), rng.normal(size=s.q0.size), float(rng.uniform(0.0, 2.0))
        value, drift, entries = (x.copy() for x in s.start.at(q, v, t))
        expected = s.equations.at(q, np.zeros_like(v), t)  # its step begins a moment ago, along v
        G = np.zeros(s.start.rows.shape)
        G[s.start.rows.row, s.start.rows.column] = entries
        assert np.abs(G - expected.rows.toarray()[:, free]).max() < 1e-13
        assert np.abs(drift - expected.rate).max() < 1e-13
        assert np.abs(value - expected.value).max() < 1e-13


def test_first_order_rates_of_a_start_are_those_of_their_law() -> None:
    """ż = −2 z + φ̇ + t."""
    s = driven().compile(formulation="directors").assembled().acting
    place = {h.name: h.offset for h in s.handles}
    _, v = s.start.consistent(s.q0, s.v0, 0.0, "driven")
    assert v[place["state level"]] == pytest.approx(-2.0 * 0.5 + v[place["rod.angle"]], abs=1e-14)


def test_a_start_does_not_depend_on_runs_before_it() -> None:
    """Pivots of the start are those of the pattern, so that a kept system gives the bits of a new one."""
    model, states = four_bar(), ({"crank.angle": 0.4}, {"crank.angle": 1.3})

    def final(s: jd.System, at: dict[str, float]) -> bytes:
        return s.simulate(s.assemble(at, velocities={"crank.angle_rate": 1.0}), 0.05, step=0.01).final_state().x.tobytes()

    used = model.compile(formulation="directors")
    final(used, states[1])
    assert final(used, states[0]) == final(model.compile(formulation="directors"), states[0])


def test_positions_and_rates_beside_the_constraints_are_brought_onto_them() -> None:
    """Newton's method to rounding from 1e-7 away, rates to rounding, and no other motion is changed."""
    s = SYSTEMS["six bars"]().acting
    rng = np.random.default_rng(3)
    q, v = s.start.consistent(s.q0 + 1e-8 * rng.normal(size=s.q0.size), 1e-7 * rng.normal(size=s.q0.size), 0.0, "bars")
    now = s.equations.at(q, v, 0.0)
    assert np.abs(now.value).max() < 1e-15 * max(1.0, np.abs(q).max()) * 4
    assert np.abs(now.rows @ v + now.rate).max() < 1e-15
    assert np.abs(q - s.q0).max() < 1e-7


def test_a_start_far_from_the_constraints_is_refused_by_name() -> None:
    s = SYSTEMS["ring"]().acting
    with pytest.raises(jd.InputError, match=r"the initial position violates '.*' of element '.*' by"):
        s.start.consistent(s.q0 + 1e-3 * np.arange(s.q0.size), s.v0, 0.0, "ring")
    with pytest.raises(jd.InputError, match=r"the initial velocity violates '.*' of element"):
        s.start.consistent(s.q0, s.v0 + 1e-3 * np.arange(s.q0.size), 0.0, "ring")
