"""Bodies of which only the inertia about the axis of their turning is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd

WAYS = ["recursive", "semi-recursive", "cartesian", "natural", "directors"]


def double_pendulum(inertia: Any) -> jd.Model:
    """Two bars in a plane."""
    m = jd.Model("double pendulum", gravity=(0, -9.81, 0))
    i = m.parameter("I", 0.02, unit="kg m²")
    a, b = (m.body(n, mass=1.0, com=(0.3, 0.02, 0), inertia=inertia(i)) for n in "ab")
    m.revolute("pa", m.ground, a, axis="z")
    m.revolute("pb", a.at(0.6, 0, 0), b, axis="z")
    return m


@pytest.mark.parametrize("way", WAYS)
def test_one_value_is_enough_in_a_plane(way: str) -> None:
    options = {"step": 1e-3} if way == "directors" else {"rtol": 1e-10, "atol": 1e-12}
    one, three = (double_pendulum(f).compile(formulation=way) for f in (lambda i: (0, 0, i), lambda i: (0.5 * i, 0.5 * i, i)))
    runs = [s.simulate({"pa.angle": 0.4}, t=1.0, **options) for s in (one, three)]
    for name in ("pa.angle", "pb.angle", "pb.angle_rate"):
        assert runs[0][name] == pytest.approx(runs[1][name], abs=1e-12)
    assert runs[0]["pa.reaction"] == pytest.approx(runs[1]["pa.reaction"], abs=1e-9)
    assert runs[0]["energy.kinetic"] == pytest.approx(runs[1]["energy.kinetic"], abs=1e-12)


@pytest.mark.parametrize("way", ["recursive", "cartesian"])
def test_other_planes_sliders_and_files(way: str, tmp_path: Path) -> None:
    for axis, inertia in (("x", (0.02, 0, 0)), ("y", (0, 0.02, 0))):
        m = jd.Model("swing")
        cart = m.body("cart", mass=1.0, inertia=inertia)
        bob = m.body("bob", mass=2.0, com=(0.0, 0.0, -0.4), inertia=inertia)
        m.prismatic("rail", m.ground, cart, axis="y" if axis == "x" else "x")
        m.revolute("hinge", cart, bob, axis=axis)
        s = m.compile(formulation=way)
        m.save(tmp_path / "swing.toml")
        again = jd.load_model(tmp_path / "swing.toml").compile(formulation=way)
        assert again.mass_matrix([0.1, 0.3]) == pytest.approx(s.mass_matrix([0.1, 0.3]), abs=1e-15)
        assert s.mass_matrix([0.0, 0.0])[1, 1] == pytest.approx(0.02 + 2.0 * 0.16)


def test_parameters_change_it() -> None:
    s = double_pendulum(lambda i: (0, 0, i)).compile()
    before = s.mass_matrix([0.0, 0.0])
    s.set_parameters(I=0.05)
    assert s.mass_matrix([0.0, 0.0]) - before == pytest.approx(np.array([[0.06, 0.03], [0.03, 0.03]]))


def test_bodies_that_turn_otherwise_are_refused_with_the_remedy() -> None:
    m = jd.Model("spatial")
    m.free("float", m.ground, m.body("plate", mass=1.0, inertia=(0, 0, 0.1)))
    with pytest.raises(jd.ModelError, match=r"which this one is not: give the other two, too, as those of a plate: 0.05, 0.05"):
        m.compile()
    m = jd.Model("skew")
    m.revolute("hinge", m.ground, m.body("plate", mass=1.0, inertia=(0, 0, 0.1)), axis="x")
    with pytest.raises(jd.ModelError, match="triangle inequality"):
        m.compile()
    m = jd.Model("two axes")
    arm, hand = m.body("arm", mass=1.0, inertia=(0, 0, 0.1)), m.body("hand", mass=1.0, inertia=(0, 0, 0.1))
    m.revolute("z", m.ground, arm, axis="z")
    m.revolute("x", arm, hand, axis="x")
    with pytest.raises(jd.ModelError, match="body 'hand'"):
        m.compile()
