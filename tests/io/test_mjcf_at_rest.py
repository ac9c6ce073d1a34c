"""Springs, dampers and rotors that MuJoCo computes of the drawn position, against MuJoCo."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import jourdain as jd

mujoco = pytest.importorskip("mujoco")

TEXT = """
<mujoco>
  <compiler angle="degree"/>
  <worldbody>
    <body name="a" pos="0.1 0.2 1" euler="10 20 30">
      <joint name="lift" type="slide" axis="0 0.6 0.8" springdamper="0.4 0.7" springref="0.1"/>
      <joint name="hip" axis="1 2 -0.5" pos="0.03 0.02 0.1" ref="15" springdamper="0.2 1.3" armature="0.05" springref="20"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0.2" euler="0 30 0"/>
      <body name="b" pos="0 0.1 0.5" euler="0 0 40">
        <frame pos="0.02 0 0" euler="30 0 0"><joint name="knee" axis="0 1 0" springdamper="0.3 0.9"/></frame>
        <geom type="capsule" size="0.05 0.2"/>
        <body name="c" pos="0.3 0 0"><joint name="toe" axis="0 0 1" springdamper="0.05 1" stiffness="7"/><geom size="0.07"/></body>
      </body>
    </body>
    <body name="d" pos="1 0 1"><joint name="ball" type="ball" pos="0 0 0.1" armature="0.3"/><geom type="box" size="0.1 0.05 0.2" pos="0.1 0 0"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope="module")
def both() -> tuple[object, jd.Model]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = jd.read_mjcf(TEXT, name="m")
    return mujoco.MjModel.from_xml_string(TEXT), ours


def test_springs_and_dampers_follow_from_the_inertia_at_rest(both: tuple[object, jd.Model]) -> None:
    theirs, ours = both
    for name in ("lift", "hip", "knee", "toe"):
        j = mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_JOINT, name)
        drive = ours.joints[name].drive
        stiffness, damping = np.ravel(theirs.jnt_stiffness[j])[0], np.ravel(theirs.dof_damping[theirs.jnt_dofadr[j]])[0]
        assert float(drive.stiffness) == pytest.approx(stiffness, rel=1e-9)
        assert float(drive.damping) == pytest.approx(damping, rel=1e-9)
        if stiffness:
            assert float(drive.rest) == pytest.approx(theirs.qpos_spring[theirs.jnt_qposadr[j]], abs=1e-12)


def test_a_rotor_of_a_ball_joint_on_the_world_is_carried(both: tuple[object, jd.Model]) -> None:
    theirs, ours = both
    s = ours.compile(check=False)
    rng = np.random.default_rng(3)
    data = mujoco.MjData(theirs)
    mujoco.mj_integratePos(theirs, data.qpos, 0.4 * rng.normal(size=theirs.nv), 1.0)
    data.qvel[:] = rng.normal(size=theirs.nv)
    mujoco.mj_forward(theirs, data)
    start = s.state(
        dict(zip(s.coordinate_names, data.qpos.tolist(), strict=True)), dict(zip(s.velocity_names, data.qvel.tolist(), strict=True))
    )
    a = s.accelerations(start)
    assert a == pytest.approx(data.qacc, rel=1e-7, abs=1e-7)
