"""What ``assemble`` takes besides numbers of joints: whole quaternions and the user's states."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain.library import four_bar


@pytest.mark.parametrize(
    "way", [{}, {"formulation": "cartesian"}, {"formulation": "semi-recursive"}, {"formulation": "directors"}], ids=str
)
def test_whole_quaternions_are_held_and_states_taken(way: dict[str, str]) -> None:
    m = jd.Model("hanging")
    a, b = (m.body(n, mass=1.0, inertia=(0.1, 0.2, 0.25)) for n in "ab")
    m.free("free", m.ground, a)
    m.revolute("hinge", a.at(1, 0, 0), b, axis="y")
    m.spherical("cut", m.ground.at(2, 0, 0.1), b.at(1, 0, 0), cut=True)
    if way.get("formulation") != "directors":
        m.rate(m.state("z", 1.0), 0.0)
    s = m.compile(**way)
    q = np.array([0.8, 0.6, 0.0, 0.0])
    given = {f"free.orientation.e{k}": x for k, x in enumerate(q)}
    found = s.assemble(given | ({"z": 2.5} if m.states else {}))
    places = [s.coordinate_names.index(n) for n in given]
    assert found.q[places] == pytest.approx(q, abs=1e-12)
    assert not m.states or found.z == pytest.approx([2.5])
    with pytest.raises(jd.InputError, match="give all four of them"):
        s.assemble({"free.orientation.e0": 1.0})


@pytest.mark.parametrize("verb", ["assemble", "assembly_modes", "state"])
def test_times_may_be_written_with_units(verb: str) -> None:
    s = four_bar().compile()
    fixed = {"crank.angle": 0.4}
    found = getattr(s, verb)(fixed, t="500 ms")
    for state in found.values() if isinstance(found, dict) else [found]:
        assert state.t == 0.5
    with pytest.raises(jd.InputError, match="t: quantity '5 kg' should be in 's'"):
        getattr(s, verb)(fixed, t="5 kg")


def test_positions_of_freedoms_that_nothing_holds_are_not_listed() -> None:
    """How many are open is the mobility less what is held; holding what is told leaves single positions."""
    m = jd.Model("loop with an arm")
    bars = [m.body(n, mass=1.0, inertia=(0.1, 0.2, 0.25)) for n in "abc"]
    m.revolute("A", m.ground, bars[0], axis="y")
    m.revolute("B", bars[0].at(0.3, 0, 0), bars[1], axis="y")
    m.revolute("C", bars[1].at(0.9, 0, 0), bars[2], axis="y")
    m.revolute("D", bars[2].at(0.7, 0, 0), m.ground.at(1.0, 0, 0), axis="y")
    m.spherical("ball", bars[1].at(0.4, 0, 0), m.body("arm", mass=1.0, inertia=(0.1, 0.2, 0.25)))
    s = m.compile()
    with pytest.raises(jd.InputError, match=r"with nothing held, 4 freedoms are open.*ball.orientation.e0 … e3"):
        s.assembly_modes({}, tries=5)
    with pytest.raises(jd.InputError, match=r"with 'A' held, 3 freedoms are open.*; hold ball.orientation.e0 … e3, too"):
        s.assembly_modes({"A": 0.4}, tries=5)
    turned = dict(zip((f"ball.orientation.e{k}" for k in range(4)), (0.8, 0.0, 0.6, 0.0), strict=True))
    with pytest.raises(jd.InputError, match=r"e3' held, 1 freedom is open, .*; hold '\w\.angle', too"):
        s.assembly_modes(turned, tries=5)
    found = s.assembly_modes({"A": 0.4} | turned)
    assert len(found) == 2 and all(state["ball.orientation.e2"] == 0.6 for state in found.values())
