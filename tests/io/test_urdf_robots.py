"""The robots of example-robot-data: structure, masses and placements against Pinocchio."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from jourdain.io import read_urdf
from tests.io.robots import link_path, pinocchio_configuration, robot_files
from tests.reference import Pose, ReferenceTree

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.peers


def name(path: Path) -> str:
    return f"{path.parent.parent.name.removesuffix('_description')}-{path.stem}"


def test_the_collection_is_there() -> None:
    assert len(robot_files()) >= 60


@pytest.mark.parametrize("path", robot_files(), ids=name)
@pytest.mark.parametrize("merged", [True, False], ids=["merged", "kept"])
def test_structure_and_placements(path: Path, merged: bool, rng: np.random.Generator) -> None:
    ours = read_urdf(path, meshes=False, merge_fixed=merged)
    theirs = pin.buildModelFromUrdf(str(path))
    tree = ReferenceTree(ours)

    moving = {n for n, j in ours.joints.items() if j.motions}
    assert moving == set(theirs.names) - {"universe"}
    assert tree.total_mass == pytest.approx(sum(i.mass for i in theirs.inertias), rel=1e-13)
    for joint in ours.joints.values():
        if joint.limits != (None, None):
            j = theirs.joints[theirs.getJointId(joint.name)]
            assert joint.limits == (theirs.lowerPositionLimit[j.idx_q], theirs.upperPositionLimit[j.idx_q])

    q, _, _ = tree.random_state(rng)
    data = theirs.createData()
    q_pin = pinocchio_configuration(tree, theirs, q)
    pin.framesForwardKinematics(theirs, data, q_pin)
    poses = tree.kinematics(q).pose
    links = [(i, f.name) for i, f in enumerate(theirs.frames) if f.type == pin.FrameType.BODY]
    assert len(links) == sum(1 + len(b.frames) for b in ours.bodies.values())
    for i, link in links:
        frame = ours.frame(link_path(ours, link))
        pose = poses[frame.body.name] @ Pose(*tree._frame_numbers(frame))
        np.testing.assert_allclose(pose.p, data.oMf[i].translation, atol=1e-10)
        np.testing.assert_allclose(pose.R, data.oMf[i].rotation, atol=1e-10)
    if tree.total_mass > 0:
        first = sum(b.mass * data.oMi[i].act(b.lever) for i, b in enumerate(theirs.inertias) if b.mass > 0)
        np.testing.assert_allclose(tree.centre_of_mass(q), first / tree.total_mass, atol=1e-10)


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("stem", ["ur5_robot", "a1", "talos_reduced", "panda", "double_pendulum_continuous", "centauro"])
def test_inertias_through_the_mass_matrix(stem: str, base: str, rng: np.random.Generator) -> None:
    """M and φ of both programs: a wrong inertia of any link would show."""
    path = next(p for p in robot_files() if p.stem == stem)
    ours = read_urdf(path, base=base, meshes=False, mimic=False)
    root = (pin.JointModelFreeFlyer(),) if base == "free" else ()
    theirs = pin.buildModelFromUrdf(str(path), *root)
    tree = ReferenceTree(ours)
    q, v, a = tree.random_state(rng)
    data = theirs.createData()
    places = np.zeros(tree.nv, dtype=int)
    q_pin = np.zeros(theirs.nq)
    i = j = 0
    turn = np.eye(tree.nv)
    for c in tree.coordinates:
        joint_name = c.names[0].split(".orientation")[0].rsplit(".", 1)[0]
        joint = theirs.joints[theirs.getJointId("root_joint" if joint_name == "root" else joint_name)]
        if joint_name == "root":  # Pinocchio: position, quaternion scalar last, both velocities in child axes
            k = {"root.x": 0, "root.y": 1, "root.z": 2}.get(c.names[0], 3)
            q_pin[k : k + len(c.q)] = np.roll(q[i : i + 4], -1) if k == 3 else q[i]
            places[j : j + len(c.v)] = np.arange(k, k + len(c.v))
        else:
            x = q[i]
            q_pin[joint.idx_q : joint.idx_q + joint.nq] = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
            places[j] = joint.idx_v
        i, j = i + len(c.q), j + len(c.v)
    # v_pin = turn·v[order]; the linear velocity of a free base is along the child's axes there and the parent's here
    order = np.argsort(places)
    R = tree.kinematics(q).pose[ours.joints["root"].child.body.name].R
    if base == "free":
        turn[:3, :3] = R.T
    v_pin = turn @ v[order]
    M = pin.crba(theirs, data, q_pin)
    M = turn.T @ (np.triu(M) + np.triu(M, 1).T) @ turn
    scale = np.abs(M).max()
    np.testing.assert_allclose(tree.mass_matrix(q)[np.ix_(order, order)], M, atol=1e-11 * scale)
    a_pin = turn @ a[order]
    if base == "free":
        a_pin[:3] -= np.cross(v_pin[3:6], v_pin[:3])
    tau = turn.T @ pin.rnea(theirs, data, q_pin, v_pin, a_pin)
    np.testing.assert_allclose(tree.inverse_dynamics(q, v, a)[order], tau, atol=1e-11 * np.abs(tau).max())
