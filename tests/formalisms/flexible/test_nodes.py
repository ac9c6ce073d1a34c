"""Nodes of flexible bodies that have no name, bodies of second order seen from elsewhere, and nodes that cannot hold what is asked of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jourdain as jd

st = jd.structures
STEEL, SECTION, BLADE = st.Material(2.1e11, 0.3, 7800.0), st.rectangle(0.01, 0.02), st.rectangle(0.001, 0.02)


def beam(named: int | None = None, elements: int = 16) -> st.Structure:
    part = st.beam((0, 0, 0), (1, 0, 0), SECTION, STEEL, elements=elements)
    if named is not None:
        part.names["held"] = named
    return part


def pushed(part: st.ReducedStructure, node: str | int, force: float) -> float:
    """The lowest frequency of a beam, clamped at its start, with a force along it at a node."""
    m = jd.Model("column", gravity=(0, 0, 0))
    body = m.flexible_body("beam", part)
    m.fixed("clamp", m.ground, body.node("start"))
    m.load("push", body.node(node), force=(-force, 0, 0))
    return float(min(abs(k.eigenvalue) for k in m.compile().modal().modes))


def test_a_node_without_a_name_shortens_as_one_with_a_name() -> None:
    force = 0.4 * np.pi**2 * STEEL.E * SECTION.Iz / 4
    options = {"modes": 4, "frame": "tangent", "at": "start", "bending": "y"}
    named, plain = (beam(n).reduce(**options).stiffened() for n in (11, None))  # type: ignore[arg-type]
    expected = pushed(named, "held", force)
    assert expected < 0.95 * pushed(beam().reduce(**options), 11, force)  # type: ignore[arg-type]
    assert pushed(plain, 11, force) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(plain.point((11 / 16, 0, 0)).psi_t, named.points["held"].psi_t, rtol=1e-9, atol=1e-12)


def test_terms_of_second_order_are_not_counted_twice() -> None:
    part = beam().reduce(3, frame="tangent").stiffened()
    with pytest.raises(jd.InputError, match="beam: it has terms of second order already"):
        part.stiffened()
    ritz = st.ritz_beam(0.5, BLADE, STEEL, bending=(2, 0))
    m = jd.Model("twice")
    with pytest.raises(jd.InputError, match="beam: its places are those of a beam by Ritz functions; orders 2 and .exact. have stiffening"):
        m.flexible_body("blade", ritz, stiffening=True)
    with pytest.raises(jd.InputError, match="Ritz functions.*tangent at its start.*hang it by any of its points"):
        m.flexible_body("blade", ritz, frame="mean axes")


def test_stiffening_is_kept_where_a_body_is_seen_from_another_frame() -> None:
    """The speed of a blade raises its frequency alike, whichever frame it is described in."""
    part = st.beam((0, 0, 0), (0.5, 0, 0), BLADE, STEEL, elements=20).reduce(modes=6, frame="tangent", bending="y")
    found = []
    for stiff in (part, part.stiffened()):
        for frame in (None, "pinned"):
            m = jd.Model("blade", gravity=(0, 0, 0))
            hub = m.body("hub", mass=1.0, inertia=(0.1,) * 3)
            blade = m.flexible_body("blade", stiff, frame=frame)
            joint = m.revolute("joint", m.ground, hub)
            m.fixed("clamp", hub.at(0.1, 0, 0), blade.node("start"))
            m.drive(joint, lambda t: 10.0 * t)
            found.append(min(abs(k.eigenvalue) for k in m.compile().modal().modes))
    soft, soft_too, stiff, stiff_too = found
    assert stiff_too == pytest.approx(stiff, rel=2e-4)
    assert stiff > 1.05 * soft and abs(soft_too / soft - 1) > 0.05  # the linear theory depends on the frame where the body turns fast


def test_terms_of_second_order_are_kept_in_files(tmp_path: Path) -> None:
    for body in (beam().reduce(3, frame="tangent").stiffened(), st.ritz_beam(0.5, BLADE, STEEL, bending=(2, 1))):
        body.save(tmp_path / "body.npz")
        again = st.read_reduced(tmp_path / "body.npz")
        np.testing.assert_array_equal(again.s2, body.s2)
        assert (again.M1 is None) == (body.M1 is None)
        for name, point in body.points.items():
            for key in ("psi_t", "psi_r"):
                first, second = getattr(point, key), getattr(again.points[name], key)
                assert (first is None) == (second is None) and (first is None or np.array_equal(first, second))
        with pytest.raises(jd.InputError, match="no elements"):
            again.point(3)


def solid() -> st.Structure:
    bar = st.block((0.3, 0.03, 0.02), (6, 1, 1), st.STEEL, name="bar")
    bar.interface("left", "x-")
    bar.interface("right", "x+")
    return bar


@pytest.mark.parametrize("kind", ["fixed", "revolute", "prismatic", "cylindrical", "universal", "planar"])
def test_bare_nodes_of_solids_hold_no_orientation(kind: str) -> None:
    m = jd.Model("solid")
    bar, block = m.flexible_body("bar", solid(), modes=2), m.body("block", mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(jd.ModelError, match=r"'holder': node 5 of flexible body 'bar' has no rotation.*part\.interface\("):
        m.joint(kind, "holder", bar.node(5), block)
    with pytest.raises(jd.ModelError, match=r"'holder': node 5 of flexible body 'bar' has no rotation"):
        m.close("holder", block, bar.node(5), kind)
    m.joint(kind, "held", bar.node("left"), block)


def test_bare_nodes_take_what_asks_for_their_place_alone() -> None:
    m = jd.Model("solid")
    bar, block = m.flexible_body("bar", solid(), modes=2), m.body("block", mass=1.0, inertia=(1, 1, 1))
    other, third = (m.body(n, mass=1.0, inertia=(1, 1, 1)) for n in ("other", "third"))
    m.spherical("ball", bar.node(5), block)
    m.close("tie", bar.node(6), block.at(0.1, 0, 0), "rod", length=0.2)
    m.sequence("slot", other, bar.node(7), ["Tx", "Rx", "Ry", "Rz"])  # the slot's direction is the other body's
    with pytest.raises(jd.ModelError, match="'groove': node 7 of flexible body 'bar' has no rotation"):
        m.sequence("groove", bar.node(7), third, ["Tx", "Rx", "Ry", "Rz"])
    with pytest.raises(jd.ModelError, match="point on 'bar.node 7': node 7 of flexible body 'bar' has no rotation"):
        bar.node(7).at(0.1, 0, 0)
    with pytest.raises(jd.ModelError, match="load 'twist': node 7 of flexible body 'bar' has no rotation"):
        m.load("twist", bar.node(7), torque=(0, 0, 1.0))
    m.load("push", bar.node(7), force=(0, 0, 1.0))
    with pytest.raises(jd.ModelError, match="'mount': node 7 of flexible body 'bar' has no rotation"):
        m.bushing("mount", bar.node(7), m.ground, stiffness=(1.0,) * 6)
    rigid = jd.Model("rigid").flexible_body("bar", solid(), rigid=True)
    rigid.model.fixed("clamp", rigid.model.ground, rigid.node(5))


@pytest.mark.parametrize("place", [5, (0.3125, 0, 0)])
def test_section_forces_with_loads_at_nodes_without_a_name(place: int | tuple[float, float, float]) -> None:
    """A clamped beam with a force across it carries F (x − a) up to where the force acts, and nothing beyond."""
    m = jd.Model("console", gravity=(0, 0, 0))
    body = m.flexible_body("beam", beam().reduce(2, frame="tangent", bending="y"))
    m.fixed("clamp", m.ground, body.node("start"))
    m.load("push", body.node(place), force=(0, 30.0, 0))
    s = m.compile()
    forces = s.recover(s.equilibrium().state, "beam")
    x = np.arange(16) / 16
    np.testing.assert_allclose(forces["Mz@start"][0], 30.0 * np.maximum(5 / 16 - x, 0.0), atol=1e-8)


def test_section_forces_of_ritz_beams_with_loads_between_nodes() -> None:
    m = jd.Model("console", gravity=(0, 0, 0))
    body = m.flexible_body("beam", st.ritz_beam(1.0, SECTION, STEEL, bending=(3, 0), order=1, functions="polynomials"))
    m.fixed("clamp", m.ground, body.node("start"))
    m.load("push", body.node((0.4321, 0, 0)), force=(0, 30.0, 0), torque=(0, 0, 2.0))
    m.load("pull", body.node((0.43210001, 0, 0)), force=(100.0, 0, 0))
    assert len(body.used_nodes) == 3
    s = m.compile()
    forces = s.recover(s.equilibrium().state, "beam")
    x = np.arange(16) / 16
    inner = np.flatnonzero((x < 0.37) | (x > 0.43))  # the loaded element has its load at its ends
    np.testing.assert_allclose(forces["Mz@start"][0][inner], np.where(x < 0.43, 30.0 * (0.4321 - x) + 2.0, 0.0)[inner], atol=2e-4)
    np.testing.assert_allclose(forces["N@start"][0][inner], np.where(x < 0.43, 100.0, 0.0)[inner], atol=2e-4)
