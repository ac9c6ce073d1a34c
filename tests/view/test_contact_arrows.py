"""Contact forces in scenes: arrows where bodies touch, whom a body touches."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError

G = 9.81


@pytest.fixture(scope="module")
def stack() -> jd.Solution:
    m = jd.Model("stack")
    m.ground.shapes.append(jd.plane())
    for k in range(2):
        m.free(f"f{k}", m.ground, m.body(f"b{k}", shape=jd.box(0.2, 0.2, 0.1, density=500.0)))
        m.initial[f"f{k}.z"] = 0.05 + 0.1 * k
    m.contact("touch", law=jd.contact.rigid(friction=0.5))
    return m.compile().simulate({}, 0.1, "moreau", step=2e-3)


def test_arrows_stand_where_bodies_touch_and_carry_what_is_above(stack: jd.Solution) -> None:
    scene = stack.scene(forces=["touch"])
    weight = 0.2 * 0.2 * 0.1 * 500.0 * G
    total = {0.0: 0.0, 0.1: 0.0}
    for arrow in scene.arrows:
        place, force = (np.asarray(x)[-1] for x in scene.runs[0].arrows[arrow.name])
        height = round(float(place[2]), 6)
        assert abs(abs(place[0]) - 0.1) < 1e-9
        total[height] += abs(force[2])
    np.testing.assert_allclose([total[0.0], total[0.1]], [2 * weight, weight], rtol=1e-6)
    assert {b.name: b.info.get("touches") for b in scene.bodies} == {"ground": "b0", "b0": "b1, ground", "b1": "b0"}


def test_runs_that_have_not_kept_every_step_show_net_forces_on_bodies(stack: jd.Solution) -> None:
    assert stack.system is not None
    scene = stack.system.simulate({}, 0.1, "moreau", step=2e-3, outputs=5).scene(forces=["touch"])
    assert [a.name for a in scene.arrows] == ["touch: on b0", "touch: on b1"]
    _, force = scene.runs[0].arrows["touch: on b1"]
    np.testing.assert_allclose(np.asarray(force)[-1], [0, 0, 0.2 * 0.2 * 0.1 * 500.0 * G], atol=1e-6)


def test_resampled_runs_still_know_where_bodies_touch(stack: jd.Solution) -> None:
    again = stack.resample(7)
    assert [str(c) for c in again.contacts.at(0.05)] == [str(c) for c in stack.contacts.at(0.05)]
    assert len(again.scene(forces=["touch"]).arrows) == 8


def test_runs_with_events_have_arrows_too(stack: jd.Solution) -> None:
    assert stack.system is not None
    sol = stack.system.simulate({}, 0.05)
    assert len(sol.scene(forces=["touch"]).arrows) == len(stack.scene(forces=["touch"]).arrows) == 8


def test_impacts_leave_other_forces_to_be_seen() -> None:
    m = jd.Model("drop")
    m.ground.shapes.append(jd.plane())
    m.free("f", m.ground, m.body("b", shape=jd.sphere(0.05, density=1000.0)))
    m.contact("floor", law=jd.contact.rigid())
    sol = m.compile().simulate({"f.z": 0.1}, 0.5, "moreau", step=1e-3)
    scene = sol.scene(forces=["floor"])
    (arrow,) = scene.arrows
    lengths = np.linalg.norm(np.asarray(scene.runs[0].arrows[arrow.name][1]), axis=1)
    weight = float(m.bodies["b"].mass) * G
    assert lengths.max() < 3.1 * weight
    assert abs(lengths[-1] - weight) < 1e-6


def test_a_name_that_is_neither_joint_nor_contact(stack: jd.Solution) -> None:
    with pytest.raises(InputError, match=r"no joint or contact 'tuch'.*f0, f1, touch"):
        stack.scene(forces=["tuch"])


def test_a_picture_looks_for_contacts_at_its_instant_alone(stack: jd.Solution, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    table = type(stack.contacts)
    at = table.at
    monkeypatch.setattr(table, "at", lambda self, t: asked.append(t) or at(self, t))
    scene = stack.scene(forces=["touch"], at="60 ms")
    assert asked == [0.06]
    assert len(scene.arrows) == 8
    force = sum(np.asarray(scene.runs[0].arrows[a.name][1])[30, 2] for a in scene.arrows if a.bodies == ("b0", "ground"))
    np.testing.assert_allclose(force, 2 * 0.2 * 0.2 * 0.1 * 500.0 * G, rtol=1e-6)


def test_contacts_without_an_arrow_are_told() -> None:
    """240 points of a contact have arrows; 70 cubes on a floor have 280."""
    m = jd.Model("many")
    m.ground.shapes.append(jd.plane())
    for k in range(70):
        m.free(f"f{k}", m.ground, m.body(f"b{k}", shape=jd.box(0.1, 0.1, 0.1, density=1000.0)))
        m.initial |= {f"f{k}.x": 0.15 * (k % 10), f"f{k}.y": 0.15 * (k // 10), f"f{k}.z": 0.05}
    m.contact("floor", law=jd.contact.rigid())
    sol = m.compile().simulate({}, 0.01, "moreau", step=5e-3)
    with pytest.warns(RuntimeWarning, match="contact 'floor': 240 of 280 points of contact have an arrow"):
        scene = sol.scene(forces=["floor"])
    assert len(scene.arrows) == 240
    told = {a.bodies[0] for a in scene.arrows if a.bodies} | {a for a, _ in scene.unseen}
    assert told == {f"b{k}" for k in range(70)}  # under the mouse
