"""Parts of large deformation that touch: solids, beams and cables against the ground, rigid bodies and each other; energy, momenta, closed forms, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError, ModelError
from jourdain.systems.assembled.contacts import contact_force_channels

ST = jd.structures
G = 9.81
SOFT = jd.contact.linear(1e4)


def rubber(m: jd.Model, origin: Any = (0, 0, 0), name: str = "block") -> Any:
    """A block of 4 kg on its lower face, whose upper face is rigid and free."""
    part = ST.block((0.2, 0.2, 0.1), (1, 1, 2), ST.Material(1e6, 0.3, 1000.0), origin=origin)
    z = part.nodes[:, 2]
    part.interface("top", np.flatnonzero(z > z.max() - 1e-9).tolist())
    body = m.flexible_body(name, part)
    m.free(f"{name}.free", m.ground.frame(f"{name}.seat", tuple(part.interfaces["top"].position)), body.node("top"))
    body.add_skin(0.005, np.flatnonzero(z < z.min() + 1e-9).tolist())
    return body


def falling(kind: str, law: Any) -> jd.Model:
    m = jd.Model(kind, gravity=(0, 0, -G))
    section, soft = ST.circle(0.01), ST.Material(1e7, 0.3, 1000.0)
    if kind == "solid":
        body = rubber(m, (0, 0, 0.006))
    else:
        make = ST.beam if kind == "beam" else ST.cable
        seat = m.ground.frame("seat", (0, 0, 0.03))
        body = m.flexible_body("rod", make((0, 0, 0), (1, 0, 0), section, soft, elements=4), attach={"start": seat})
        body.add_skin(0.01, [1, 2, 3, 4])
    m.contact("floor", body, m.ground, law=law)
    return m


@pytest.mark.parametrize("kind", ["solid", "beam", "cable"])
def test_parts_on_a_floor_keep_energy_to_rounding(kind: str) -> None:
    s = falling(kind, SOFT).compile(formulation="directors")
    sol = s.simulate({}, t=0.2, step=4e-3)
    name = s.parts[0].name  # type: ignore[attr-defined]
    force = sol[f"floor.{name}.force"][:, 2]
    assert force.max() > 1.0 and force.min() >= 0.0
    assert np.ptp(sol["energy.total"]) < 1e-10 * np.abs(sol["energy.total"]).max()
    nodes = [n for n in sol.names if n.startswith(f"floor.{name}.") and n.count(".") == 3]
    np.testing.assert_allclose(sum(sol[n] for n in nodes), sol[f"floor.{name}.force"], atol=1e-12)


@pytest.mark.parametrize("kind", ["solid", "cable"])
def test_what_friction_and_damping_take_is_booked(kind: str) -> None:
    law = jd.contact.kelvin_voigt(1e4, 20.0, friction=jd.contact.regularised(0.4, 1e-2))
    sol = falling(kind, law).compile(formulation="directors").simulate({}, t=0.2, step=4e-3)
    books = sol["energy.total"] + sol["energy.dissipated"]
    assert sol["energy.dissipated"][-1] > 1e-5
    assert np.ptp(books) < 1e-10 * np.abs(books).max()


def test_momenta_of_a_solid_and_a_rigid_ball_that_strikes_it() -> None:
    """Nothing holds them: linear and angular momentum and energy stay."""
    m = jd.Model("strike", gravity=(0, 0, 0))
    block = rubber(m)
    ball = m.body("ball", shape=jd.sphere(0.06, density=3000.0))
    m.free("f", m.ground, ball)
    m.contact("hit", block, ball, law=SOFT)
    sol = m.compile(formulation="directors").simulate(
        {"f.x": 0.0, "f.y": 0.03, "f.z": -0.08, "f.z_rate": 2.0, "f.x_rate": 0.3}, t=0.06, step=2e-3
    )
    assert np.abs(sol["hit.ball.force"]).max() > 5.0
    np.testing.assert_allclose(sol["hit.ball.force"], -sol["hit.block.force"], atol=1e-10)
    for name in ("momentum.linear", "momentum.angular"):
        assert np.ptp(sol[name], axis=0).max() < 1e-10 * np.abs(sol[name]).max()
    assert np.ptp(sol["energy.total"]) < 1e-10 * sol["energy.total"].max()


def test_two_parts_touch_each_other() -> None:
    """A cable falls on a beam; nodes against nodes."""
    m = jd.Model("two", gravity=(0, 0, -G))
    section, soft = ST.circle(0.02), ST.Material(1e7, 0.3, 1000.0)
    a = m.flexible_body("a", ST.beam((0, 0, 0), (1, 0, 0), section, ST.Material(1e9, 0.3, 1000.0), elements=4), attach={"start": m.ground})
    seat = m.ground.frame("seat", (0.5, -0.5, 0.05))
    b = m.flexible_body("b", ST.cable((0, 0, 0), (0, 1, 0), ST.circle(0.01), soft, elements=4), attach={"start": seat})
    a.add_skin(0.02, [1, 2, 3])
    b.add_skin(0.02, [1, 2, 3])
    m.contact("c", a, b, law=SOFT)
    sol = m.compile(formulation="directors").simulate({}, t=0.2, step=4e-3)
    assert sol["c.a.force"][:, 2].min() < -1.0
    np.testing.assert_allclose(sol["c.a.force"], -sol["c.b.force"], atol=1e-10)
    assert np.ptp(sol["energy.total"]) < 1e-10 * np.abs(sol["energy.total"]).max()


def test_a_block_carries_its_weight() -> None:
    m = jd.Model("rests", gravity=(0, 0, -G))
    rubber(m, (0, 0, 0.0049))
    m.contact("floor", m.bodies["block"], m.ground, law=SOFT)
    system = m.compile(formulation="directors").assembled()
    found = system.equilibrium()
    touching = [i for i in system.instances if getattr(i.element, "contact", None)]
    force = contact_force_channels(touching, found.q[None], 0.0 * found.q[None])
    np.testing.assert_allclose(force["floor.block.force"].values[0], [0, 0, 4.0 * G], atol=1e-7)
    for node in (n for n in force if "node" in n):
        assert force[node].values[0, 2] == pytest.approx(G, rel=1e-6)


@pytest.mark.slow
def test_a_beam_laid_on_a_floor() -> None:
    """Clamped at a height h it is free over a = (72 EI h/q)^¼, and the clamp carries 2qa/3: the floor carries qL − 2qa/3, with order two in the nodes."""
    length, h, r, missed = 2.0, 0.02, 0.01, []
    section, material = ST.circle(r), ST.Material(2e9, 0.3, 4000.0)
    q = material.density * section.area * G
    floor = q * length - 2.0 * q * (72.0 * material.E * section.Iy * h / q) ** 0.25 / 3.0
    for n in (8, 16):
        m = jd.Model("laid", gravity=(0, 0, -G))
        rod = m.flexible_body(
            "rod",
            ST.beam((0, 0, 0), (length, 0, 0), section, material, elements=n),
            attach={"start": m.ground.frame("seat", (0, 0, h + r))},
        )
        rod.add_skin(r, list(range(1, n + 1)))
        m.contact("floor", rod, m.ground, law=jd.contact.linear(1e6))
        system = m.compile(formulation="directors").assembled()
        found = system.equilibrium(first=0.01)
        touching = [i for i in system.instances if getattr(i.element, "contact", None)]
        force = contact_force_channels(touching, found.q[None], 0.0 * found.q[None])["floor.rod.force"].values[0]
        missed.append(abs(force[2] / floor - 1.0))
    assert missed[1] < 4e-3 and missed[0] / missed[1] > 3.0


def test_bristles_hold_a_block_on_a_slope() -> None:
    """It sticks below the angle of friction: nothing creeps, nodes carry its weight together, and a run that goes on remembers their bristles."""
    a = 0.3
    m = jd.Model("slope", gravity=(G * np.sin(a), 0.0, -G * np.cos(a)))
    body = rubber(m, (0, 0, 0.0049))
    m.contact("floor", body, m.ground, law=jd.contact.kelvin_voigt(2e4, 100.0, friction=jd.contact.bristle(0.5, 5e4, 200.0)))
    s = m.compile(formulation="directors")
    whole = s.simulate({}, t=0.6, step=4e-3)
    np.testing.assert_allclose(whole["floor.block.force"][-1], [-4.0 * G * np.sin(a), 0.0, 4.0 * G * np.cos(a)], rtol=2e-3, atol=1e-6)
    foot = whole["block.0"][:, 0]
    assert 2e-5 < foot[-1] < 1e-4 and abs(foot[-1] - foot[-20]) < 1e-7
    books = whole["energy.total"] + whole["energy.dissipated"]
    assert np.ptp(books) < 1e-10 * np.abs(books).max()
    parts = s.simulate(s.simulate({}, t=0.4, step=4e-3), (0.4, 0.6), step=4e-3)
    np.testing.assert_allclose(parts["block.0"][-1], whole["block.0"][-1], atol=1e-13)


@pytest.mark.parametrize("law", [jd.contact.flores, jd.contact.lankarani_nikravesh])
def test_points_of_a_part_remember_how_fast_they_met(law: Any) -> None:
    sol = falling("solid", law(0.7, stiffness=2e4)).compile(formulation="directors").simulate({}, t=0.05, step=5e-4)
    met = [sol[n].max() for n in sol.names if n.startswith("floor.point") and n.endswith(".approach")]
    np.testing.assert_allclose(np.sort(met)[-4:], np.sqrt(2.0 * G * 1e-3), rtol=0.02)  # four nodes fall by 1 mm


def test_parts_share_the_memories_of_a_contact() -> None:
    """A cable rubs on a beam and a rigid rod: pairs of all sorts remember in the slots of one contact, and forces are opposite."""
    m = jd.Model("rubs", gravity=(0, 0, -G))
    stiff, soft = ST.Material(1e9, 0.3, 1000.0), ST.Material(1e7, 0.3, 1000.0)
    a = m.flexible_body("a", ST.beam((0, 0, 0), (1, 0, 0), ST.circle(0.02), stiff, elements=2), attach={"start": m.ground})
    b = m.flexible_body(
        "b", ST.cable((0, 0, 0), (0, 1, 0), ST.circle(0.01), soft, elements=4), attach={"start": m.ground.frame("seat", (0.5, -0.5, 0.045))}
    )
    rod = m.body("rod", shape=jd.sphere(0.05, density=1000.0))
    m.prismatic("push", m.ground.frame("rest", (0.5, 0.25, -0.04)), rod, axis="x")
    a.add_skin(0.02, [1, 2])
    b.add_skin(0.02, [1, 2, 3, 4])
    law = jd.contact.kelvin_voigt(1e4, 10.0, friction=jd.contact.bristle(0.5, 5e3, 5.0))
    m.contact("c", [a, rod], b, law=law)
    s = m.compile(formulation="directors")
    sol = s.simulate({"push.displacement_rate": 0.2}, t=0.2, step=4e-3)
    on_b = sol["c.b.force"]
    np.testing.assert_allclose(on_b, -sol["c.a.force"] - sol["c.rod.force"], atol=1e-9)
    assert np.abs(sol["c.a.force"]).max() > 0.1 and np.abs(sol["c.rod.force"][:, 0]).max() > 1e-2
    used = {tuple(sol[n][-1:]) for n in sol.names if n.startswith("c.point") and n.endswith(".pair")} - {(0.0,)}
    assert len(used) >= 2
    parts = s.simulate(s.simulate({"push.displacement_rate": 0.2}, t=0.1, step=4e-3), (0.1, 0.2), step=4e-3)
    np.testing.assert_allclose(parts["c.b.force"][-1], on_b[-1], atol=1e-6)


def test_messages() -> None:
    m = jd.Model("bad")
    body = rubber(m)
    with pytest.raises(ModelError, match="has no rotation"):
        body.add_collision(jd.box(0.1, 0.1, 0.1), node=0)
    m.contact("floor", body, m.ground, law=jd.contact.rigid())
    with pytest.raises(InputError, match=r"directors' with bodies that bend knows no rigid contacts.*let surfaces give way"):
        m.compile(formulation="directors")
    m = jd.Model("modes")
    body = rubber(m)
    m.contact("floor", body, m.ground, law=SOFT)
    with pytest.raises(InputError, match="has no rotation; use formulation 'directors'"):
        m.compile()
    m = jd.Model("capsules")
    rope = m.flexible_body(
        "rope", ST.cable((0, 0, 0), (1, 0, 0), ST.circle(0.01), ST.Material(1e7, 0.3, 1000.0), elements=4), attach={"start": m.ground}
    )
    rope.add_collision(jd.capsule(0.01, 0.1), node=2)
    m.contact("floor", rope, m.ground, law=SOFT)
    with pytest.raises(InputError, match=r"carries a sphere about itself and no capsule"):
        m.compile(formulation="directors").simulate({}, t=0.01, step=1e-3)
    m = jd.Model("seated")
    hub = m.body("hub", mass=1.0)
    m.free("f", m.ground, hub)
    rod = m.flexible_body(
        "rod", ST.beam((0, 0, 0), (1, 0, 0), ST.circle(0.01), ST.Material(1e7, 0.3, 1000.0), elements=4), attach={"start": hub}
    )
    rod.add_skin(0.01, [0, 1])
    m.contact("floor", rod, m.ground, law=SOFT)
    with pytest.raises(InputError, match=r"its node .* belongs to 'hub'"):
        m.compile(formulation="directors").simulate({}, t=0.01, step=1e-3)
