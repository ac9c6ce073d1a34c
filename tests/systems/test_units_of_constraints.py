"""Units do not decide which constraints count: rows written in small ones, and machines of micrometres, move as others do."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import jourdain as jd

WAYS = {
    "recursive": {}, "semi-recursive": {"reduction": "range-space"}, "natural": {}, "cartesian": {}, "cartesian qr": {"reduction": "qr"},
    "cartesian svd": {"reduction": "svd"}, "cartesian kkt": {"reduction": "kkt"}, "cartesian penalty": {"reduction": "penalty"},
}  # fmt: skip


def compiled(model: jd.Model, way: str) -> jd.System:
    return model.compile(formulation=way.partition(" ")[0], **WAYS[way])


@pytest.mark.parametrize("unit", [1e-6, 1e-10, 1e6])
@pytest.mark.parametrize("way", WAYS)
def test_a_constraint_in_any_unit_holds_two_sliders_together(way: str, unit: float) -> None:
    """x = cos √(k/(m₁ + m₂)) t; the row of sliders stands beside rows of rotations with entries of one."""
    m = jd.Model("pair")
    a, b = (m.body(n, mass=mass, inertia=(0.1, 0.1, 0.1)) for n, mass in (("a", 1.0), ("b", 2.0)))
    one, other = m.prismatic("a", m.ground, a, axis="x", stiffness=5.0), m.prismatic("b", m.ground, b, axis="x")
    m.constraint("same", unit * (one.position - other.position))
    s = compiled(m, way)
    sol = s.simulate(s.reference.state({"a": 1.0, "b": 1.0}), 1.0)
    for name in "ab":
        assert sol[f"{name}.displacement"][-1] == pytest.approx(np.cos(np.sqrt(5 / 3)), abs=1e-7)
        assert sol[f"{name}.displacement_acc"][-1] == pytest.approx(-5 / 3 * np.cos(np.sqrt(5 / 3)), abs=1e-6)


@pytest.mark.parametrize("way", ["recursive", "cartesian"])
def test_a_constraint_as_small_as_rounding_is_told(way: str) -> None:
    m = jd.Model("pair")
    one, other = (m.prismatic(n, m.ground, m.body(n, mass=1.0, inertia=(0.1, 0.1, 0.1)), axis="x") for n in "ab")
    m.constraint("same", 1e-14 * (one.position - other.position))
    s = compiled(m, way)
    with pytest.warns(RuntimeWarning, match="constraint 'same' counts as none: its derivatives by velocities are 1e-14 at most"):
        s.simulate(s.reference.state(), 0.1)


def four_bar(size: float, unit: float = 1.0, twice: bool = False) -> jd.Model:
    """A four-bar with a slider on a rack, and its gravity, in proportion to its size."""
    m = jd.Model("four-bar", gravity=(0, 0, -9.81 * size))
    weight = m.parameter("weight", 1.5)

    def body(name: str, mass: object, length: float) -> jd.Body:
        inertia = tuple(x * size**2 * mass for x in (0.01, 0.1, 0.1))
        return m.body(name, mass=mass, com=(0.5 * length * size, 0, 0), inertia=inertia)

    crank, coupler, rocker, rack = body("crank", 1.0, 0.2), body("coupler", weight, 0.5), body("rocker", 1.2, 0.4), body("rack", 3.0, 0.1)
    first = m.revolute("crank", m.ground, crank, axis="-y", damping=0.01 * size**2)
    m.revolute("coupler", crank.at(0.2 * size, 0, 0), coupler, axis="-y")
    m.revolute("rocker", m.ground.at(0.5 * size, 0, 0), rocker, axis="-y")
    m.close("closing", coupler.at(0.5 * size, 0, 0), rocker.at(0.4 * size, 0, 0), "revolute", axis="-y")
    slider = m.prismatic("rack", m.ground, rack, axis="x", stiffness=20.0)
    for name in ("teeth", "more teeth")[: 1 + twice]:
        m.constraint(name, unit * (slider.position - 0.1 * size * first.position))
    return m


def start(s: jd.System, size: float) -> jd.State:
    return s.assemble({"crank.angle": 0.8}, guess={"coupler.angle": -0.5, "rocker.angle": 1.8}, velocities={"crank.angle_rate": 3.0})


@functools.cache
def expected() -> tuple[float, float, float, float]:
    return found(four_bar(1.0).compile(), 1.0, rtol=1e-10, atol=1e-12)


def found(s: jd.System, size: float, **options: object) -> tuple[float, float, float, float]:
    sol = s.simulate(start(s, size), 0.3, **options)
    force = np.linalg.norm(sol["coupler.reaction"][-1]) / size
    return sol["crank.angle"][-1], sol["crank.angle_acc"][-1], sol["rack.displacement"][-1] / size, force


@pytest.mark.parametrize(
    ("way", "size"),
    [(w, 1e-5 if w == "natural" else 1e-6) for w in WAYS],
)
def test_a_machine_of_micrometres_moves_as_one_of_metres(way: str, size: float) -> None:
    np.testing.assert_allclose(found(compiled(four_bar(size), way), size), expected(), rtol=1e-5)


@pytest.mark.parametrize("way", ["cartesian", "natural"])
def test_an_augmented_lagrangian_of_any_size(way: str) -> None:
    ends = [found(compiled(four_bar(size), way), size, method="augmented-lagrangian", step=1e-3)[:3] for size in (1.0, 1e-5)]
    np.testing.assert_allclose(*ends, rtol=1e-6)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_small_units_beside_redundant_rows(way: str, twice: bool) -> None:
    """The closing joint has two rows more than it needs, and the rack may be said twice."""
    s = compiled(four_bar(1.0, 1e-7, twice), way)
    np.testing.assert_allclose(found(s, 1.0), expected(), rtol=1e-5)
    assert s.dof(start(s, 1.0)) == 1


@pytest.mark.parametrize("method", ["radau", "rosenbrock"])
def test_stiff_methods_have_the_derivatives(method: str) -> None:
    """Rosenbrock's method loses its order where the Jacobian is wrong."""
    one, other = (four_bar(1.0, unit).compile() for unit in (1.0, 1e-7))
    runs = [s.simulate(start(s, 1.0), 0.3, method=method) for s in (one, other)]
    assert len(runs[0].t) == len(runs[1].t)
    assert runs[1]["crank.angle"] == pytest.approx(runs[0]["crank.angle"], abs=1e-9)


@pytest.mark.parametrize("method", ["forward", "adjoint"])
def test_gradients(method: str) -> None:
    both = []
    for unit in (1.0, 1e-7):
        s = four_bar(1.0, unit).compile()
        both.append(
            jd.Analysis(s, "simulate", start(s, 1.0), t=0.2)
            .gradient({"end": jd.criteria.final("crank.angle")}, ["weight"], method=method)
            .matrix
        )
    assert abs(both[0][0, 0]) > 1e-3
    np.testing.assert_allclose(both[1], both[0], rtol=1e-8)


@pytest.mark.parametrize("way", ["cartesian", "cartesian qr", "natural"])
def test_slender_bodies_that_turn(way: str) -> None:
    """The mass of a component of a quaternion depends on where the body has turned to: a bar has next to no inertia about its axis."""
    m = jd.Model("bars")
    bars = [m.body(n, mass=1.0, com=(0.2, 0, 0), inertia=(1e-9, 0.02, 0.02)) for n in "abc"]
    m.universal("one", m.ground, bars[0], axes=("y", "z"))
    m.universal("two", bars[0].at(0.4, 0, 0), bars[1], axes=("z", "y"))
    m.revolute("three", m.ground.at(0, 0.5, 0), bars[2], axis="x")
    m.rod("rod", bars[1].at(0.4, 0, 0), m.ground.at(0.6, 0.3, -0.2), float(np.linalg.norm([0.2, -0.3, 0.2])))
    reference, s = m.compile(), compiled(m, way)
    x = reference.assemble({}, velocities={})
    np.testing.assert_allclose(s.accelerations(s.reference.state(x)), reference.accelerations(x), atol=1e-6)
    ends = [c.simulate(c.reference.state(x) if c is s else x, 0.4)["one.angle1"][-1] for c in (s, reference)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-6)
