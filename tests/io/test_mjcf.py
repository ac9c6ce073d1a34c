"""MJCF: mass matrix, bias and placements against MuJoCo; what the format says beyond that; bad files."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain import InputError, JourdainError, Model
from jourdain.io import read_mjcf
from jourdain.io.notes import LeftOut
from jourdain.systems.state import state_of
from tests.reference import ReferenceTree

MODELS = {
    "pendulum": """<mujoco><worldbody><body name="bob" pos="0.1 0.2 0.3"><joint name="hinge" axis="0 1 0"/>
        <geom size="0.1" pos="0 0 -1"/></body></worldbody></mujoco>""",
    "geoms": """<mujoco><compiler angle="radian"/><option gravity="0.3 -0.4 -9"/><worldbody>
        <body name="a" euler="0.1 0.2 0.3" pos="1 2 3"><joint name="j1" axis="1 2 3" pos="0.1 0.2 -0.1" armature="0.3"/>
          <geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0" quat="1 0.2 0.3 0.4" density="500"/>
          <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0.2 0.1" mass="2"/>
          <geom type="cylinder" size="0.05 0.2" zaxis="1 1 0"/>
          <geom type="ellipsoid" size="0.05 0.1 0.2" xyaxes="1 1 0 0 1 1"/>
          <geom type="box" size="0.05" fromto="0 0 1 0.3 0.2 0.1"/>
          <geom type="cylinder" size="0.04" fromto="0 0 1 0.3 0.2 0.1" axisangle="0 0 1 2"/>
          <geom type="ellipsoid" size="0.03" fromto="0 0 1 0.3 0.2 -0.1"/>
          <body name="b" pos="0 0 1" axisangle="1 1 0 0.7"><joint name="j2" type="slide" axis="0 1 1"/>
            <geom type="sphere" size="0.2"/><geom type="sphere" size="0.3" group="4" mass="0"/></body>
          <body name="welded" pos="0 1 1" quat="0 1 0 0"><geom size="0.1"/>
            <body name="c"><joint name="ball" type="ball" pos="0.1 0.1 0.1"/><geom size="0.1" pos="1 0 0"/></body>
          </body>
        </body></worldbody></mujoco>""",
    "several joints": """<mujoco><compiler eulerseq="ZYx"/><worldbody>
        <body name="a" euler="10 20 30"><joint name="x" type="slide" axis="1 0 0" ref="0.3"/>
          <joint name="h1" axis="0 1 0" pos="0 0 1" ref="40"/><joint axis="0 1 1" pos="0 1 0"/>
          <inertial pos="0.1 0.2 0.3" mass="2" diaginertia="1 2 2.5" euler="30 40 50"/>
          <body pos="0 0 1"><joint axis="1 0 0"/><joint type="ball" pos="0.2 0 0"/>
            <inertial pos="0 0 1" mass="1" fullinertia="2 3 4 0.1 0.2 0.3"/></body>
          <body pos="0 1 1"><joint/><geom size="1"/></body></body></worldbody></mujoco>""",
    "free": """<mujoco><worldbody>
        <body name="base" pos="0 0 1" euler="30 0 0"><freejoint/><geom type="box" size="1 2 3"/>
          <body name="leg" pos="1 0 0"><joint axis="0 1 0"/><geom type="capsule" size="0.1 0.5" pos="0 0 -0.5"/></body>
        </body>
        <body name="other" pos="3 3 3"><joint type="free" name="f2"/><geom size="1" pos="0.2 0.3 0"/></body>
        </worldbody></mujoco>""",
    "armatures": """<mujoco><default><joint armature="0.7"/></default><worldbody>
        <body name="base" pos="0 0 1" euler="30 0 0"><joint type="free"/><geom type="box" size="0.1 0.2 0.3" pos="0.1 0.2 0"/>
          <body name="arm" pos="1 0 0" euler="0 20 0"><joint type="ball" pos="0.1 0 0"/><geom type="capsule" size="0.1 0.5" pos="0 0 -0.5"/>
            <body name="hand" pos="0 0 -1"><joint axis="1 1 0" armature="0.2"/><joint type="ball" armature="0.4"/><geom size="0.1" pos="0.1 0.2 0"/></body>
          </body></body>
        <body name="top"><joint type="ball" pos="0 0 -0.2"/><geom size="0.2" pos="0.1 0 0"/></body></worldbody></mujoco>""",
    "defaults": """<mujoco><compiler inertiafromgeom="true" boundmass="0.5" boundinertia="0.2"/>
        <default><geom density="2000" quat="1 1 0 0"/><joint armature="0.1" axis="1 0 0"/>
          <default class="thin"><geom type="capsule" size="0.02 0.3"/><joint axis="0 1 0"/>
            <default class="heavy"><geom density="8000"/></default></default></default>
        <worldbody><geom type="plane" size="1 1 1"/>
        <body childclass="thin"><joint/><geom/><inertial pos="0 0 0" mass="9" diaginertia="9 9 9"/>
          <body pos="0 0 0.3"><joint/><geom class="heavy" euler="0 30 0"/>
            <frame pos="0 0 1" euler="0 90 0" childclass="heavy"><geom pos="1 0 0"/>
              <body pos="0 0.2 0"><joint pos="0 0 0.1"/><geom/></body></frame></body>
          <body><joint class="main"/><geom class="main" size="0.001"/></body></body></worldbody></mujoco>""",
    "total mass": """<mujoco><compiler settotalmass="12" balanceinertia="true" inertiagrouprange="0 1"/><worldbody>
        <body><joint axis="0 1 0"/><geom size="0.4" pos="0 0 1"/><geom size="0.7" pos="0 1 1" group="3"/>
        <body><joint axis="1 0 0"/><inertial pos="1 0 0" mass="2" diaginertia="1 1 3"/></body></body>
        </worldbody></mujoco>""",
    "mesh": """<mujoco><asset><mesh name="wedge" scale="0.5 1 2"
          vertex="0 0 0  1 0 0  0 1 0  0 0 1" face="0 2 1  0 1 3  0 3 2  1 2 3"/>
          <mesh name="hull" vertex="0 0 0  1 0 0  0 1 0  0 0 1  1 1 1"/>
          <mesh name="open" vertex="0 0 0  1 0 0  0 1 0  0 0 1  3 3 3" face="0 2 1  0 1 3  0 3 2  1 2 4"/>
          <mesh name="dent" inertia="exact" vertex="0 0 0  4 0 0  0 4 0  0 0 4  1 1 1"
            face="0 2 1  0 1 3  0 3 2  1 2 4  2 3 4  3 1 4"/>
          <mesh name="dented" vertex="0 0 0  4 0 0  0 4 0  0 0 4  0.5 0.5 0.5"
            face="0 2 1  0 1 3  0 3 2  1 2 4  2 3 4  3 1 4"/>
          <mesh name="filled" inertia="convex" vertex="0 0 0  4 0 0  0 4 0  0 0 4  0.5 0.5 0.5"
            face="0 2 1  0 1 3  0 3 2  1 2 4  2 3 4  3 1 4"/></asset>
        <worldbody><body><joint axis="0 1 0"/><geom type="mesh" mesh="wedge" pos="0.1 0 0" euler="10 20 30"/></body>
        <body><joint axis="0 1 1"/><geom type="mesh" mesh="hull" mass="3"/></body>
        <body><joint axis="0 1 1"/><geom type="mesh" mesh="open" quat="1 1 0 0"/></body>
        <body><joint axis="1 0 1"/><geom type="mesh" mesh="dent"/></body>
        <body><joint axis="1 0 1"/><geom type="mesh" mesh="dented" mass="2"/></body>
        <body><joint axis="1 0 1"/><geom type="mesh" mesh="filled"/></body></worldbody></mujoco>""",
    "height field": """<mujoco><asset><hfield name="hill" nrow="3" ncol="3" size="2 1 .3 .1" elevation="0 1 0 1 2 1 0 1 0"/></asset><worldbody>
        <body><joint axis="0 1 0"/><geom type="hfield" hfield="hill" pos=".1 0 .4" euler="0 10 20"/><geom size=".2" pos="0 .3 0"/>
        <body pos="0 0 1"><joint axis="1 0 0"/><geom type="hfield" hfield="hill" mass="3" pos="0 .2 0"/></body></body></worldbody></mujoco>""",
    "no gravity": """<mujoco><option><flag gravity="disable"/></option><worldbody><body><joint/><joint axis="1 0 0"/>
        <geom size="1" pos="1 2 3"/></body></worldbody></mujoco>""",
    "replicate": """<mujoco><default><default class="thin"><geom size="0.05"/></default></default><worldbody>
        <replicate count="11" offset="0.5 0 0.1" euler="10 0 30" sep="-"><body name="b" pos="1 0 0"><joint name="j" axis="0 1 0"/>
          <geom name="g" size="0.1" pos="0.3 0 0"/><replicate count="2" offset="0 0.2 0" childclass="thin">
            <replicate count="2" offset="1 0 0" sep="_"><geom/><site name="s" pos="0 0 1"/></replicate></replicate></body></replicate>
        </worldbody></mujoco>""",
    "shells": """<mujoco><asset><mesh name="m" vertex="0 0 0  1 0 0  0 1 0  0 0 1" inertia="shell" scale="2 3 4"/></asset><worldbody>
        <body><joint axis="0 1 0"/><geom size="0.2" shellinertia="true" pos="0.1 0 0"/></body>
        <body><joint axis="0 1 0"/><geom type="box" size="0.1 0.2 0.3" shellinertia="true" euler="10 20 30" density="10"/></body>
        <body><joint axis="1 1 0"/><geom type="cylinder" size="0.1 0.3" shellinertia="true" euler="10 20 30"/></body>
        <body><joint axis="1 1 0"/><geom type="capsule" size="0.1 0.3" shellinertia="true" euler="10 20 30"/></body>
        <body><joint axis="1 1 0"/><geom type="ellipsoid" size="0.1 0.2 0.3" shellinertia="true" euler="10 20 30"/></body>
        <body><joint axis="1 1 0"/><geom type="mesh" mesh="m" euler="10 20 30" density="2"/></body></worldbody></mujoco>""",
    "moved mesh": """<mujoco><asset>
          <mesh name="a" vertex="0 0 0  1 0 0  0 1 0  0 0 1" refpos="1 2 3" refquat="0.8 0.6 0 0" scale="2 3 4"/>
          <mesh name="b" vertex="0 0 0  1 0 0  0 1 0  0 0 1" refquat="0.5 0.5 0.5 0.5" scale="-1 1 1"/></asset>
        <worldbody><body><joint axis="0 1 0"/><geom type="mesh" mesh="a"/></body>
          <body><joint axis="0 1 1"/><geom type="mesh" mesh="b"/></body></worldbody></mujoco>""",
    "written oddly": """<mujoco><worldbody><body pos=""><frame pos="1 0 0" euler="0 90 0"><inertial pos="0 0 1" mass="2" diaginertia="1 2 2.5"/></frame>
        <joint axis="0 1 0" armature="" damping="" range=""/><geom type="box" size="1 1 1"/></body></worldbody></mujoco>""",
    "aligned": """<mujoco><compiler alignfree="true"/><default><joint armature="0.3"/></default><worldbody>
        <body pos="1 2 3" euler="10 20 30"><freejoint/><inertial pos=".1 .2 .3" quat="1 .2 .3 .4" mass="2" diaginertia="1 2.5 2"/>
          <geom size="0.1" pos="0.3 0 0"/><site name="s" pos="1 0 0" euler="0 40 0"/></body>
        <body pos="1 0 0" euler="50 0 0"><joint type="free"/><frame pos="0 1 0" euler="0 20 0">
          <inertial pos=".1 .2 .3" mass="2" diaginertia="1 2 2.5"/></frame><site name="t" pos="1 0 0"/></body>
        <body><freejoint align="false"/><inertial pos=".1 .2 .3" mass="2" diaginertia="1 2 2.5"/></body>
        <body><freejoint align="true"/><inertial pos=".1 .2 .3" mass="2" diaginertia="1 2 2.5"/><body><geom size="0.1"/></body></body>
        </worldbody></mujoco>""",
}  # fmt: skip
#: Models whose numbers MuJoCo holds in single precision, or finds by a thin layer.
ROUGH = ("mesh", "shells", "moved mesh")


def test_reading_needs_no_peer() -> None:
    model = read_mjcf(MODELS["several joints"])
    assert [n for n, j in model.joints.items() if j.motions][:2] == ["x", "h1"]
    assert ReferenceTree(model).nv == 8


def compare(model: Model, mj: object, rng: np.random.Generator, rtol: float = 1e-9) -> None:
    """M, φ and the poses of bodies and sites at a random state; our order of coordinates is MuJoCo's."""
    mujoco = pytest.importorskip("mujoco")
    tree = ReferenceTree(model)
    data = mujoco.MjData(mj)
    assert (tree.nq, tree.nv) == (mj.nq, mj.nv)  # type: ignore[attr-defined]
    q, v, a = tree.random_state(rng)
    data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
    mujoco.mj_forward(mj, data)
    data.qacc[:] = a
    M = np.zeros((tree.nv, tree.nv))
    mujoco.mj_fullM(mj, data, M) if _new_signature(mujoco) else mujoco.mj_fullM(mj, M, data.qM)
    np.testing.assert_allclose(tree.mass_matrix(q), M, atol=1e-12 * max(np.abs(M).max(initial=0.0), 1e-3), rtol=rtol)
    tau = np.zeros(tree.nv)
    mujoco.mj_rne(mj, data, 1, tau)
    tau += mj.dof_armature * a  # type: ignore[attr-defined]
    phi = tree.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(phi, tau, atol=1e-11 * max(np.abs(tau).max(initial=0.0), 1e-3), rtol=rtol)
    for i in range(1, mj.nbody):  # type: ignore[attr-defined]
        name = mujoco.mj_id2name(mj, mujoco.mjtObj.mjOBJ_BODY, i)
        if name:
            R, p = tree.frame_pose(name, q)
            np.testing.assert_allclose(p, data.xpos[i], atol=1e-12)
            np.testing.assert_allclose(R.ravel(), data.xmat[i], atol=1e-12)
    for i in range(mj.nsite):  # type: ignore[attr-defined]
        name = mujoco.mj_id2name(mj, mujoco.mjtObj.mjOBJ_SITE, i)
        path = next(f.path for b in model.all_bodies for f in b.frames.values() if f.name == name)
        R, p = tree.frame_pose(path, q)
        np.testing.assert_allclose(p, data.site_xpos[i], atol=1e-12)
        np.testing.assert_allclose(R.ravel(), data.site_xmat[i], atol=1e-12)


def _new_signature(mujoco: object) -> bool:
    return "qM" not in dir(mujoco.MjData)  # type: ignore[attr-defined]


@pytest.mark.peers
@pytest.mark.parametrize("name", MODELS)
def test_against_mujoco(name: str, rng: np.random.Generator) -> None:
    mujoco = pytest.importorskip("mujoco")
    # MuJoCo holds the vertices of meshes in single precision
    compare(read_mjcf(MODELS[name]), mujoco.MjModel.from_xml_string(MODELS[name]), rng, 1e-5 if name in ROUGH else 1e-9)


@pytest.mark.peers
def test_files_that_come_with_mujoco(rng: np.random.Generator) -> None:
    mujoco = pytest.importorskip("mujoco")
    spec = find_spec("mujoco")
    assert spec is not None and spec.origin is not None
    path = Path(spec.origin).parent / "testdata" / "model.xml"
    if not path.is_file():
        pytest.skip("this MuJoCo comes without its test model")
    compare(read_mjcf(path), mujoco.MjModel.from_xml_path(str(path)), rng, rtol=1e-6)


SITES = """<mujoco model="arm"><worldbody><site name="w" pos="1 2 3" euler="10 20 30"/>
  <body name="a"><joint name="j" axis="0 0 1" range="-90 45" damping="0.3" frictionloss="0.2" stiffness="5"
    springref="30"/>
  <geom size="1"/><site name="s" type="capsule" fromto="0 0 0 1 1 2" size="0.1"/>
  <frame pos="0 0 1" euler="90 0 0"><site name="t" pos="0 1 0"/></frame></body></worldbody></mujoco>"""


@pytest.mark.peers
def test_sites_are_frames(rng: np.random.Generator) -> None:
    mujoco = pytest.importorskip("mujoco")
    compare(read_mjcf(SITES), mujoco.MjModel.from_xml_string(SITES), rng)


def test_joint_constants() -> None:
    model = read_mjcf(SITES)
    joint = model.joints["j"]
    assert joint.limits == pytest.approx((-np.pi / 2, np.pi / 4))
    drive = joint.drive
    assert [float(x) for x in (drive.damping, drive.friction, drive.stiffness, drive.rest)] == pytest.approx([0.3, 0.2, 5, np.pi / 6])
    unlimited = read_mjcf(SITES.replace("<worldbody>", '<compiler autolimits="false"/><worldbody>'))
    assert unlimited.joints["j"].limits == (None, None)
    assert model.name == "arm"


def test_the_drawn_position_is_the_start() -> None:
    start = read_mjcf(MODELS["free"]).compile().state()
    assert start["base:free.z"] == 1.0 and start["f2.orientation.e0"] == 1.0
    assert start["base:free.orientation.e1"] == pytest.approx(np.sin(np.pi / 12), rel=1e-14)
    start = read_mjcf(MODELS["several joints"]).compile().state()
    assert start["x.displacement"] == 0.3 and start["h1.angle"] == pytest.approx(np.deg2rad(40), rel=1e-15)
    turned = read_mjcf(MODELS["free"].replace('euler="30 0 0"', 'quat="0 0 3 0"')).compile().state()
    np.testing.assert_array_equal(turned.q[3:7], [0, 0, 1, 0])  # half a turn: its scalar is zero


@pytest.mark.peers
@pytest.mark.parametrize("name", MODELS)
def test_the_start_is_mujocos(name: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    mj = mujoco.MjModel.from_xml_string(MODELS[name])
    start = state_of(read_mjcf(MODELS[name]).compile().simulate({}, 1e-9, outputs=2), 0)
    expected = np.array(mj.qpos0)
    for k in range(mj.njnt):  # a quaternion and its opposite are one rotation
        at, kind = mj.jnt_qposadr[k], mj.jnt_type[k]
        if kind <= 1:
            e = slice(at + 3, at + 7) if kind == 0 else slice(at, at + 4)
            expected[e] *= np.sign(expected[e] @ start.q[e])
    np.testing.assert_allclose(start.q, expected, atol=1e-15)
    assert not start.v.any()


KEYS = """<mujoco model="keys"><worldbody><body name="base" pos="0 0 1"><freejoint name="fly"/><geom size="0.2" pos="0.1 0 0"/>
    <body name="arm" pos="0.3 0 0"><joint name="turn" ref="20"/><geom size="0.1" pos="0.3 0 0"/>
      <body name="tip" pos="0.5 0 0"><joint name="ball" type="ball"/><geom size="0.1" pos="0.2 0 0"/></body></body></body></worldbody>
  <keyframe><key name="home" qpos="1 2 3  0 3 4 0  0.5  0 0 -2 0" qvel="0.1 0.2 0.3  -0.4 0.5 0.6  0.7  0.8 -0.9 1.0"/>
    <key qpos="0 0 0  1 0 0 0  0.1  1 0 0 0" time="2" ctrl=""/></keyframe></mujoco>"""


@pytest.mark.peers
def test_keyframes_are_mujocos() -> None:
    """Poses and velocities of all bodies in the state of a keyframe."""
    mujoco = pytest.importorskip("mujoco")
    mj = mujoco.MjModel.from_xml_string(KEYS)
    data = mujoco.MjData(mj)
    mujoco.mj_resetDataKeyframe(mj, data, 0)
    mujoco.mj_forward(mj, data)
    model = read_mjcf(KEYS, keyframe="home")
    tree, state = ReferenceTree(model), model.compile().state()
    twist = np.zeros(6)
    for i in range(1, mj.nbody):
        name = mujoco.mj_id2name(mj, mujoco.mjtObj.mjOBJ_BODY, i)
        R, p = tree.frame_pose(name, state.q)
        np.testing.assert_allclose(p, data.xpos[i], atol=1e-14)
        np.testing.assert_allclose(R.ravel(), data.xmat[i], atol=1e-14)
        mujoco.mj_objectVelocity(mj, data, mujoco.mjtObj.mjOBJ_XBODY, i, twist, 0)
        _, _, velocity, *_ = state.system.function("frame", path=name)(state.q, state.v, np.zeros(state.system.nv))
        np.testing.assert_allclose(velocity, [*twist[3:], *twist[:3]], atol=1e-13)


def test_axes_that_no_file_states_are_not_aligned_and_that_is_told() -> None:
    """MuJoCo finds principal axes of geoms by rotations of its own, whose order and signs no file tells."""
    body = '<body pos="1 0 0"><freejoint name="f"{}/><geom type="box" size="0.1 0.2 0.3" pos="1 0 0"/>{}</body>'
    file = "<mujoco><worldbody>{}</worldbody></mujoco>"
    with pytest.warns(LeftOut, match="joint 'f': align: its coordinates and keyframes are not moved"):
        model = read_mjcf(file.format(body.format(' align="true"', "")))
    assert model.initial["f.x"] == 1.0
    for align, inside in (("", ""), (' align="true"', '<body><geom size="0.1"/></body>')):
        assert not any("align" in note for note in read_mjcf(file.format(body.format(align, inside))).notes)


def test_keyframes_are_named_and_chosen() -> None:
    model = read_mjcf(KEYS)
    assert [k.name for k in model.imported["keyframes"]] == ["home", "key1"] and "home, key1" in model.notes[-1]
    assert model.initial["fly.z"] == 1.0
    assert read_mjcf(KEYS, keyframe="key1").notes[-1] == "time of keyframe 'key1' is not taken over"
    with pytest.raises(InputError, match="there is no keyframe 'hom'; the file has home, key1"):
        read_mjcf(KEYS, keyframe="hom")
    with pytest.raises(InputError, match=r'line 4.*qpos="1 2 3.*" has 13 numbers; 12 are needed'):
        read_mjcf(KEYS.replace("0.5  0 0 -2 0", "0.5  0.5 0 0 -2 0"), keyframe="home")
    again = jd.loads_model(jd.dumps_model(read_mjcf(KEYS, keyframe="home")))
    np.testing.assert_array_equal(again.compile().state().x, read_mjcf(KEYS, keyframe="home").compile().state().x)


def test_shapes_are_drawn_and_have_no_mass() -> None:
    model = read_mjcf(MODELS["geoms"])
    assert [s.kind for s in model.bodies["a"].shapes] == [
        "box",
        "capsule",
        "cylinder",
        "mesh",
        "box",
        "cylinder",
        "mesh",
    ]
    assert all(s.density is None for s in model.bodies["a"].shapes)
    assert not read_mjcf(MODELS["geoms"], shapes=False).bodies["a"].shapes


def test_included_files(tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text('<mujocoinclude><body name="p"><joint/><geom size="1"/></body></mujocoinclude>')
    main = tmp_path / "main.xml"
    main.write_text('<mujoco><worldbody><include file="part.xml"/></worldbody></mujoco>')
    assert list(read_mjcf(main).bodies) == ["p"]
    outside = tmp_path / "deep" / "main.xml"
    outside.parent.mkdir()
    outside.write_text('<mujoco><worldbody><include file="../part.xml"/></worldbody></mujoco>')
    with pytest.raises(InputError, match=r"main.xml, line 1.*not within the folder"):
        read_mjcf(outside)
    main.write_text('<mujoco><include file="main.xml"/></mujoco>')
    with pytest.raises(InputError, match="included twice"):
        read_mjcf(main)


def test_files_outside_the_folder_need_a_root(tmp_path: Path) -> None:
    """A model of a collection shares meshes and parts with its neighbours; a part includes files that stand beside it."""
    robot, shared = tmp_path / "robots" / "arm", tmp_path / "shared"
    robot.mkdir(parents=True)
    shared.mkdir()
    (shared / "tip.stl").write_bytes(tetrahedron())
    (shared / "hand.xml").write_text('<mujocoinclude><include file="finger.xml"/></mujocoinclude>')
    (shared / "finger.xml").write_text('<mujocoinclude><body name="f"><joint/><geom type="mesh" mesh="tip"/></body></mujocoinclude>')
    main = robot / "arm.xml"
    main.write_text(
        '<mujoco><asset><mesh file="../../shared/tip.stl"/></asset><worldbody><include file="../../shared/hand.xml"/></worldbody></mujoco>'
    )
    with pytest.raises(InputError, match=r"not within the folder of the model; name the folder around all files by root="):
        read_mjcf(main)
    with pytest.raises(InputError, match="does not stand in this folder"):
        read_mjcf(main, root=shared)
    model = read_mjcf(main, root=tmp_path)
    assert float(model.bodies["f"].mass) == pytest.approx(1000 / 6)
    (shared / "finger.xml").write_text(
        '<mujocoinclude><body><geom type="mesh" mesh="up"/></body><include file="../../../x.xml"/></mujocoinclude>'
    )
    with pytest.raises(InputError, match="'../../../x.xml' is not within the folder"):
        read_mjcf(main, root=tmp_path)


def tetrahedron() -> bytes:
    """A binary STL."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="<f4")
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    facets = b"".join(np.zeros(3, "<f4").tobytes() + corners[list(f)].tobytes() + bytes(2) for f in faces)
    return bytes(80) + np.array([4], "<u4").tobytes() + facets


def test_meshes_are_read_where_they_are_needed(tmp_path: Path) -> None:
    inertial = '<inertial pos="0 0 1" mass="2" diaginertia="1 1 1"/>'
    text = '<mujoco><asset><mesh name="m" file="m.stl"/></asset><worldbody><body name="b"><joint/>{}<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    file = tmp_path / "model.xml"
    file.write_text(text.format(""))
    for shapes in (True, False):
        with pytest.raises(InputError, match=r"m.stl.*its mass is needed: give the body an <inertial>, or read with missing='note'"):
            read_mjcf(file, shapes=shapes)
    with pytest.warns(LeftOut, match="geom in line 1 is left out, with its mass"):
        assert read_mjcf(file, missing="note").bodies["b"].mass == 0
    file.write_text(text.format(inertial))
    with pytest.warns(LeftOut, match="geom in line 1 is left out, its body has an <inertial>"):
        assert read_mjcf(file).bodies["b"].mass == 2
    with warnings.catch_warnings():  # nothing is drawn, so that nothing is missing
        warnings.simplefilter("error")
        assert read_mjcf(file, shapes=False).bodies["b"].mass == 2
    (tmp_path / "m.stl").write_bytes(tetrahedron())
    assert read_mjcf(file).bodies["b"].shapes and read_mjcf(file).bodies["b"].mass == 2
    with pytest.raises(InputError, match="missing = 'no' is unknown"):
        read_mjcf(file, missing="no")


LEFT_OUT = """<mujoco model="robot"><compiler alignfree="true"/><option density="1.2" timestep="0.01"><flag limit="disable"/></option>
  <worldbody><geom name="floor" type="plane" size="1 1 1"/><light/><camera name="c"/>
    <body name="b" pos="0 0 1" gravcomp="1"><freejoint align="false" name="fly"/><geom name="ball" size="0.1" fluidshape="ellipsoid"/>
      <body name="leg"><joint name="hip" range="-20 20" springdamper="1 1"/><geom size="0.1"/>
        <body name="foot"><joint name="ankle" type="ball" damping="1"/><geom size="0.1"/><novelty/></body></body></body></worldbody>
  <equality><connect name="loop" body1="b" body2="foot" anchor="0 0 0"/><joint joint1="hip"/></equality>
  <tendon><fixed name="string"><joint joint="hip" coef="1"/></fixed></tendon>
  <actuator><motor name="drive" joint="hip"/><position joint="hip"/></actuator><sensor><gyro name="imu" site="s"/></sensor>
  <contact><pair geom1="floor" geom2="ball"/><exclude body1="b" body2="foot"/></contact></mujoco>"""


def test_what_is_left_out_is_said_by_name() -> None:
    with pytest.warns(LeftOut, match="model 'robot'") as caught:
        model = read_mjcf(LEFT_OUT)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert sorted(model.notes) == sorted([
        "body 'b': its gravity compensation is not taken over",
        "joint 'ankle': damping of a ball joint is not taken over",
        "the section <equality> is not taken over: connect 'loop', joint 'hip'",
        "the section <tendon> is not taken over: fixed 'string'",
        "the section <actuator> is not taken over: motor 'drive', position 'hip'",
        "the section <sensor> is not taken over: gyro 'imu'",
        "the section <contact> is not taken over: pair 'floor', exclude 'b'",
        "contacts are not taken over; these geoms touch nothing here: floor, ball, one of body 'leg', one of body 'foot'",
        "limits are kept (joint.limits), but nothing stops a motion there unless m.stops() is used: hip",
        "<option> density: forces of the medium are not taken over",
        "<flag> limit: what it switches off acts here",
        "fluidshape of <geom> is not taken over: ball",
        "elements of bodies that are not taken over: novelty in line 5",
        "geoms that are not drawn: floor (plane)",
    ])  # fmt: skip


def test_nothing_left_out_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_mjcf(MODELS["pendulum"]).notes == []
        assert read_mjcf(MODELS["no gravity"]).notes == []


@pytest.mark.peers
@pytest.mark.parametrize("seed", range(12))
def test_geoms_that_may_touch_are_mujocos(seed: int) -> None:
    """Random trees with all geoms in one place: those in MuJoCo's contacts are those in the note."""
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    inside: list[str] = ["" for _ in range(count)]
    geoms = [f'<geom name="g{k}" size="0.1" contype="{rng.integers(0, 4)}" conaffinity="{rng.integers(0, 4)}"/>' for k in range(count)]
    for k in reversed(range(count)):
        joint = rng.choice(["", "<joint/>"])
        text = f'<body name="b{k}">{joint}{geoms[k]}{inside[k]}</body>'
        parent = int(rng.integers(-1, k)) if k else -1
        if parent < 0:
            inside.append(text)
        else:
            inside[parent] += text
    exclude = f'<contact><exclude body1="b0" body2="b{count - 1}"/></contact>' if rng.integers(2) and count > 2 else ""
    flags = '<option><flag contact="disable"/></option>' if seed == 3 else ""
    world = f'<geom name="w" size="0.1" conaffinity="{rng.integers(0, 4)}"/>{"".join(inside[count:])}'
    text = f"<mujoco>{flags}<worldbody>{world}</worldbody>{exclude}</mujoco>"
    mj = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(mj)
    mujoco.mj_forward(mj, data)
    names = [mujoco.mj_id2name(mj, mujoco.mjtObj.mjOBJ_GEOM, i) for i in range(mj.ngeom)]
    expected = {names[g] for contact in data.contact for g in contact.geom}
    (note,) = [n for n in read_mjcf(text).notes if n.startswith("contacts")] or ["here: "]
    assert set(note.split("here: ")[1].split(", ")) - {""} == expected


@pytest.mark.parametrize(
    "inside, words",
    [
        ("<body><joint axis='0 0 0'/><geom size='1'/></body>", "has no direction"),
        ("<body><joint type='screw'/><geom size='1'/></body>", "screw"),
        ("<body><geom type='box' size='1 1'/></body>", "box needs 3 positive numbers"),
        ("<body><geom type='pyramid' size='1 1'/></body>", "pyramid"),
        ("<body><geom size='1' class='none'/></body>", "default class 'none'"),
        ("<body euler='1 2 3' quat='1 0 0 0'/>", "several orientations"),
        ("<body quat='0 0 0 0'/>", "no direction"),
        ("<body pos='1 2'/>", "has 2 numbers; 3 are needed"),
        ("<body pos='1 2 nan'/>", "not a list of finite numbers"),
        ("<body><body><freejoint/></body></body>", "free joint must be alone"),
        ("<body name='a'/><body name='a'/>", "already"),
        ("<body><inertial pos='0 0 0' mass='-1'/></body>", "negative"),
        ("<body><composite/></body>", "generates bodies"),
        ("<body><geom type='mesh' mesh='m'/></body>", "not among the assets"),
        ("<body><geom type='sdf' mesh='m'/></body>", "its mass is needed"),
        ("<replicate count='0'><body/></replicate>", "count = 0 must be at least 1"),
        ("<replicate count='1e9'><body/></replicate>", "no more than 1000000 elements"),
    ],
)
def test_errors_name_element_and_line(inside: str, words: str) -> None:
    with pytest.raises(JourdainError, match="text, line 2: <") as caught:
        read_mjcf(f"<mujoco><worldbody>\n{inside}</worldbody></mujoco>")
    assert words in str(caught.value)


def test_many_unnamed_bodies_take_no_time_to_name() -> None:
    bodies = "<body><joint/></body>" * 4000
    assert len(read_mjcf(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>").bodies) == 4000


def test_pairs_are_contacts_of_their_own() -> None:
    """A ball that touches nothing by its mask but has a pair with a floor slides on it with the pair's friction."""
    text = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1"/>
      <body pos="0 0 0.1"><freejoint name="f"/><geom name="box" type="box" size="0.1 0.1 0.1" contype="2" conaffinity="0" friction="0.9"/></body>
      <body pos="2 0 0.1"><freejoint name="g"/><geom name="ghost" type="sphere" size="0.1" contype="0" conaffinity="0"/></body></worldbody>
      <contact><pair name="slide" geom1="box" geom2="floor" friction="0.25 0.25 0 0 0"/><pair geom1="ghost" geom2="floor"/></contact></mujoco>"""
    with pytest.warns(LeftOut):
        m = read_mjcf(text, contacts=True)
    assert any("ghost and floor" in n for n in m.notes)
    sol = m.compile().simulate({"f.x_rate": 1.0}, 0.1, method="moreau", step=1e-3)
    assert abs(sol["f.x_rate"][-1] - (1.0 - 0.25 * 9.81 * 0.1)) < 1e-3


SURFACES = """<mujoco><default><geom condim="4"/><default class="q"><pair condim="6"/></default></default><worldbody>
  <geom name="floor" type="plane" size="5 5 1" priority="PRIORITY" friction="0.4 0.01 0.001" condim="3"/>
  <body name="a" pos="0 0 0.1"><freejoint name="fa"/><geom name="a" size=".1" friction="0.9 0.004 0.0005" condim="6"/></body>
  <body name="b" pos="1 0 0.1"><freejoint name="fb"/><geom name="b" size=".1" friction="0.2 0.02 0.0007"/></body></worldbody>PAIRS</mujoco>"""


@pytest.mark.parametrize("priority", [0, 1])
def test_friction_of_contacts_is_that_of_mujoco(priority):
    """Sliding, spinning and rolling by condim and priority; of pairs by themselves and their defaults."""
    mujoco = pytest.importorskip("mujoco")
    pairs = """<contact><pair geom1="a" geom2="floor"/><pair geom1="b" geom2="floor" condim="1"/>
      <pair class="q" geom1="a" geom2="b" friction="0.3 0.3 0.1"/></contact>"""

    def numbers(law, dimension):
        found = [float(e) for e in (law.friction, law.spinning, law.rolling)]
        assert [x > 0 for x in found] == [dimension >= least for least in (3, 4, 6)]
        return found

    text = SURFACES.replace("PRIORITY", str(priority))
    with pytest.warns(LeftOut, match="bounds of their own"):
        read = read_mjcf(text.replace("PAIRS", ""), contacts=True)
    mj = mujoco.MjModel.from_xml_string(text.replace("PAIRS", ""))
    data = mujoco.MjData(mj)
    mujoco.mj_forward(mj, data)
    laws = {frozenset(s.body.name for s in (*c.a, *c.b)): c.law for c in read.contacts.values()}
    for contact in data.contact:
        law = laws[frozenset(mj.geom(g).name if mj.geom(g).name != "floor" else "ground" for g in contact.geom)]
        wanted = np.where(contact.dim >= np.array([3, 4, 6]), contact.friction[[0, 2, 3]], 0.0)
        np.testing.assert_allclose(numbers(law, contact.dim), wanted, rtol=1e-12)
    assert len(data.contact) == 2
    text = text.replace("PAIRS", pairs)
    with pytest.warns(LeftOut):
        read = read_mjcf(text, contacts=True)
    mj = mujoco.MjModel.from_xml_string(text)
    for k, name in enumerate(("pair a floor", "pair b floor", "pair a b")):
        wanted = np.where(mj.pair_dim[k] >= np.array([3, 4, 6]), mj.pair_friction[k][[0, 2, 3]], 0.0)
        np.testing.assert_allclose(numbers(read.contacts[name].law, mj.pair_dim[k]), wanted, rtol=1e-12)


def test_balls_of_mjcf_roll_to_rest():
    """By the couple ρ m g v̇ = −5/7 ρ g/r; without, it rolls on.  It stands without the couple."""
    text = """<mujoco><worldbody><geom type="plane" size="5 5 1"/><body name="a" pos="0 0 0.1"><freejoint name="f"/>
      <geom size=".1" friction="0.9 0.004 0.002" condim="CONDIM"/></body></worldbody></mujoco>"""
    for condim, slower in ((3, 0.0), (6, 5.0 / 7.0 * 0.002 / 0.1 * 9.81 * 0.5)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeftOut)
            m = read_mjcf(text.replace("CONDIM", str(condim)), contacts=True)
        s = m.compile()
        sol = s.simulate({"f.x_rate": 1.0, "f.orientation.omega_y": 10.0}, 0.5, method="moreau", step=1e-3)
        np.testing.assert_allclose(sol["f.x_rate"][-1], 1.0 - slower, atol=2e-4)
        s.equilibrium()
    with pytest.raises(InputError, match="condim is 2; it may be 1, 3, 4, 6"):
        read_mjcf(text.replace("CONDIM", "2"), contacts=True)


TENDONS = """<mujoco><default><tendon armature="0.7"/></default><worldbody>
  <body name="a"><joint name="j1" axis="0 1 0"/><geom size="0.1" pos="0.3 0 -0.2"/>
    <body name="b" pos="0 0 -1"><joint name="j2" type="slide" axis="1 0 0"/><geom size="0.1" pos="0 .1 -0.2"/>
      <body name="c" pos="1 1 0"><joint name="j3" axis="1 0 1"/><geom size="0.05" pos="0.3 0 -0.2"/></body></body></body>
  <body name="d" pos="3 0 0"><joint name="j4" axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/></body></worldbody>
  <tendon><fixed name="t"><joint joint="j1" coef="0.5"/><joint joint="j2" coef="-2"/><joint joint="j3" coef="1.5"/></fixed>
    <fixed name="u" armature="0.2"><joint joint="j1" coef="0.3"/><joint joint="j3" coef="-.8"/></fixed>MORE</tendon></mujoco>"""


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian", "natural"])
def test_armature_of_fixed_tendons_is_in_the_mass_matrix(formulation):
    mujoco = pytest.importorskip("mujoco")
    text = TENDONS.replace("MORE", "")
    mj = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(mj)
    rng = np.random.default_rng(1)
    data.qpos[:], data.qvel[:] = rng.normal(size=4), rng.normal(size=4)
    mujoco.mj_forward(mj, data)
    M = np.zeros((4, 4))
    mujoco.mj_fullM(mj, data, M) if _new_signature(mujoco) else mujoco.mj_fullM(mj, M, data.qM)
    s = read_mjcf(text).compile(formulation=formulation)
    start = dict(zip([*s.coordinate_names, *s.velocity_names], [*data.qpos, *data.qvel], strict=True))
    np.testing.assert_allclose(s.accelerations(start), np.linalg.solve(M, -data.qfrc_bias), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(s.reference.mass_matrix(data.qpos), M, atol=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_armature_of_other_tendons_is_noted_or_refused():
    apart = TENDONS.replace("MORE", '<fixed name="w" armature="2"><joint joint="j1" coef="1"/><joint joint="j4" coef="3"/></fixed>')
    model = read_mjcf(apart)
    assert any("tendon 'w' couples joints of different branches (j1, j4)" in note for note in model.notes)
    M, before = (m.compile().mass_matrix(np.zeros(4)) for m in (model, read_mjcf(TENDONS.replace("MORE", ""))))
    c = np.array([1.0, 0.0, 0.0, 3.0])
    np.testing.assert_allclose(M - before, 2.0 * np.outer(c, c), atol=1e-12)
    spatial = TENDONS.replace("MORE", '<spatial name="s"><site site="p"/></spatial>')
    with pytest.raises(InputError, match=r"the armature 0\.7 kg of a spatial tendon is not taken over.*missing='note'"):
        read_mjcf(spatial)
    assert any("spatial tendon 's'" in note for note in read_mjcf(spatial, missing="note").notes)
    with pytest.raises(InputError, match="there is no joint 'j9'"):
        read_mjcf(apart.replace('joint="j4"', 'joint="j9"'))


def test_geoms_that_viewers_hide_are_shapes_for_contacts() -> None:
    """Group 3 beside a geom that is drawn: it touches and weighs, and is not drawn; alone it is all there is to see."""
    text = """<mujoco><worldbody><body name="a"><freejoint/><geom name="skin" size="0.2" mass="0" contype="0" conaffinity="0" group="2"/>
      <geom name="sole" type="box" size="0.1 0.1 0.1" group="3"/></body>
      <body name="b" pos="1 0 0"><freejoint/><geom name="only" size="0.1" group="3"/></body></worldbody></mujoco>"""
    for contacts in (False, True):
        m = jd.read_mjcf(text, contacts=contacts)
        assert [s.kind for s in m.bodies["a"].shapes] == ["sphere"] and [s.kind for s in m.bodies["b"].shapes] == ["sphere"]
        assert [s.shape.kind for s in m.shapes("sole")] == ["box"]
        assert float(m.bodies["a"].mass) == pytest.approx(8.0)
