"""Loads of known kinds are written as what they are, with their constants, and give the same equations again."""

from __future__ import annotations

from pathlib import Path

import jourdain as jd
from jourdain.model.fingerprint import fingerprint


def all_kinds() -> jd.Model:
    m = jd.Model("loads")
    k = m.parameter("k", 3.0)
    arm = m.body("arm", mass=2.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
    car = m.body("car", mass=5.0)
    hinge = m.revolute("hinge", m.ground, arm, axis="y", limits=(-1.0, 2.0))
    m.free("float", m.ground, car)
    m.friction(hinge, coulomb=0.1, name="dry")
    m.friction(hinge, coulomb=0.1, viscous=k, static=0.3, name="sticky")
    m.lugre(hinge, 0.1, 0.2, 0.01, 1e4, viscous=0.3, name="bristles")
    m.stop(hinge, stiffness=2 * k, name="stop")
    m.stop(hinge, upper="100 deg", damping=2.0, name="end")
    m.bushing("mount", arm.at(0.4, 0, 0), car, (1, 2, k, 4, 5, 6), (0, 0, 0, 0.1, 0.1, 0.1))
    m.ground_contact("floor", car.at(0, 0, -0.2), stiffness=1e4, damping=0.2, friction=0.5, radius=0.1, height=0.05)
    m.drag("air", car, coefficient=0.3, area=2.0, wind=(1, 0, 0))
    return m


def test_every_kind_is_written_by_name() -> None:
    m = all_kinds()
    text = jd.dumps_model(m)
    for kind in ("friction", "lugre", "stop", "bushing", "contact", "drag"):
        assert f'kind = "{kind}"' in text
    for inside in ("wrench", "tanh", ".sensor", "bristles.bristle"):
        assert inside not in text
    again = jd.loads_model(text)
    assert fingerprint(again) == fingerprint(m) and jd.dumps_model(again) == text


def test_a_flattened_copy_keeps_them_too() -> None:
    again = jd.loads_model(jd.dumps_model(all_kinds()))
    again.imported.clear()
    assert jd.dumps_model(again) == jd.dumps_model(all_kinds())


def test_an_uneven_ground_is_written_as_a_law() -> None:
    m = jd.Model("hill")
    ball = m.body("ball", mass=1.0)
    m.free("float", m.ground, ball)
    m.ground_contact("hill", ball, stiffness=1e4, height=lambda x, y: 0.1 * jd.sin(x))
    text = jd.dumps_model(m)
    assert 'kind = "wrench"' in text and fingerprint(jd.loads_model(text)) == fingerprint(m)


def test_a_law_whose_factors_of_one_had_units_is_kept(tmp_path: Path) -> None:
    m = jd.Model("motor with n K = 1 N m/A")
    hinge = m.revolute("hinge", m.ground, m.body("arm", mass=1.0, com=(0, 0, -1)), axis="y")
    m.motor(hinge, 4.0, constant=0.2, resistance=1.5, inductance=0.1, ratio=5.0)
    m.save(tmp_path / "motor.toml")
    state = {"hinge": 0.3, "hinge.motor.current": 0.7}
    again, before = (x.compile() for x in (jd.load_model(tmp_path / "motor.toml"), m))
    assert again.accelerations(again.state(state)).tolist() == before.accelerations(before.state(state)).tolist()
