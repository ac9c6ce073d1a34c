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
