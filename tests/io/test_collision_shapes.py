"""Collision shapes of URDF and geoms of MJCF as shapes that can touch; files keep them."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import ModelError

LEG = """<robot name="leg">
<link name="base"><inertial><mass value="2"/><inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><geometry><box size="0.3 0.2 0.1"/></geometry></visual><collision><geometry><box size="0.3 0.2 0.1"/></geometry></collision></link>
<link name="shin"><inertial><origin xyz="0 0 -0.1"/><mass value="0.5"/><inertia ixx="0.002" iyy="0.002" izz="0.0002" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><geometry><cylinder radius="0.01" length="0.2"/></geometry></visual></link>
<link name="left_foot"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="0 0 0.01"/><geometry><sphere radius="0.03"/></geometry></collision></link>
<joint name="knee" type="revolute"><parent link="base"/><child link="shin"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="10"/></joint>
<joint name="ankle" type="fixed"><parent link="shin"/><child link="left_foot"/><origin xyz="0 0 -0.2"/></joint></robot>"""


def quietly(read, *args, **options):  # type: ignore[no-untyped-def]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read(*args, **options)


@pytest.mark.parametrize("law", ["rigid", "penalty"])
def test_collision_shapes_of_a_robot_touch_the_floor(law: str, tmp_path: Path) -> None:
    m = quietly(jd.read_urdf, LEG, base="free")
    assert any("touch nothing until m.contact" in n and "left_foot" in n for n in m.notes)
    (foot,) = m.shapes("*_foot")
    assert foot.name == "left_foot"
    assert foot.shape.kind == "sphere"
    given = (
        jd.contact.rigid(friction=0.8)
        if law == "rigid"
        else jd.contact.hunt_crossley(stiffness=1e5, exponent=1.0, damping=1.0, friction=0.8)
    )
    m.contact("feet", m.shapes("*_foot"), m.ground, law=given)
    m.joint_spring(m.joints["knee"], 500.0, damping=5.0)
    run = {"method": "moreau", "step": 1e-3} if law == "rigid" else {}
    z = next(n for n in m.compile().coordinate_names if n.endswith(".z"))
    sol = m.compile().simulate({z: 0.25}, 0.1, **run)
    channel = next(n for n in sol.names if n.startswith("feet.") and n.endswith(".force"))
    assert sol[channel][:, 2].max() > 0.5 * 2.6 * 9.81


def test_files_keep_collision_shapes_and_their_names(tmp_path: Path) -> None:
    m = quietly(jd.read_urdf, LEG, base="free")
    m.save(tmp_path / "leg.toml")
    again = jd.load_model(tmp_path / "leg.toml")
    for name, body in m.bodies.items():
        assert again.bodies[name].collision_names == body.collision_names
        assert [s.kind for s in again.bodies[name].collision] == [s.kind for s in body.collision]
        np.testing.assert_allclose(
            [np.array(s.placement.position, float) for s in again.bodies[name].collision],
            [np.array(s.placement.position, float) for s in body.collision],
        )
    with pytest.raises(ModelError, match="no body with shapes fits 'left_feet'; did you mean left_foot"):
        m.shapes("left_feet")


BLOCKS = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 .1"/>
<body name="a" pos="0 0 .1"><freejoint name="fa"/><geom name="cube" type="box" size=".1 .1 .1" friction="0.4"/></body>
<body name="b" pos="0 0 .3"><freejoint name="fb"/><geom type="ellipsoid" size=".1 .1 .1" contype="1" conaffinity="0" friction="0.7"/>
  <geom type="sphere" size=".3" contype="0" conaffinity="0" mass="0"/></body>
<body name="c" pos="3 0 .3"><freejoint name="fc"/><geom type="capsule" size=".1 .1" contype="0" conaffinity="2"/></body>
</worldbody><contact><exclude body1="b" body2="c"/></contact></mujoco>"""


def test_geoms_touch_by_the_rules_of_mujoco() -> None:
    m = quietly(jd.read_mjcf, BLOCKS, contacts=True)
    laws = {c.name: float(c.law.friction) for c in m.contacts.values()}
    assert laws == {"contacts 0.4 0.7": 0.7, "contacts 0.4 1": 1.0, "contacts 0.7 1": 1.0, "contacts 1 1": 1.0}
    assert len(m.bodies["b"].collision) == 1
    assert m.ground.collision[0].kind == "plane"
    assert {"a", "c"} in [set(p) for c in m.contacts.values() for p in c.exclude]  # masks 1/1 and 0/2 do not agree
    sol = m.compile().simulate(None, 0.5, method="moreau", step=1e-3)
    weight = 9.81 * float(m.bodies["a"].mass + m.bodies["b"].mass)
    total = sum(sol[n][-1, 2] for n in sol.names if n.endswith(".a.force"))
    np.testing.assert_allclose(total, weight - 9.81 * float(m.bodies["b"].mass), rtol=1e-5)  # the floor less what stands on it
    z = next(n for n in sol.names if n.startswith("fc") and n.endswith(".z"))
    assert sol[z][-1] < -0.5  # c meets nobody
    assert any("contacts are not taken over" in n for n in quietly(jd.read_mjcf, BLOCKS).notes)


def test_collision_shapes_are_drawn_where_meshes_cannot_be_read(tmp_path: Path) -> None:
    inertial = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
    solid = "<collision><geometry><box size='0.3 0.2 0.1'/></geometry></collision>"
    visuals = {"unread": "<mesh filename='trunk.dae'/>", "seen": "<sphere radius='0.1'/>"}
    for name, form in visuals.items():
        file = tmp_path / f"{name}.urdf"
        file.write_text(f"<robot name='r'><link name='trunk'>{inertial}<visual><geometry>{form}</geometry></visual>{solid}</link></robot>")
        m = jd.read_urdf(file, base="free")
        assert [s.kind for s in m.bodies["trunk"].shapes] == (["box"] if name == "unread" else ["sphere"])
        assert [s.shape.kind for s in m.shapes("trunk")] == ["box"]
