"""Joint reactions against free-body equations; driving forces against a tree in which the coordinates are free."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.errors import InputError
from jourdain.formalisms.tree.reactions import driving_forces, joint_reactions
from jourdain.formalisms.tree.tree import Tree
from tests.formalisms.strategies import error, random_state, random_trees, values, vector_of
from tests.reference import ReferenceTree, force_cross

TIGHT = 1e-11


def needed_wrenches(model, reference, q, v, a, t):
    """For each body the wrench (n_O, f) about the world's origin that its motion against gravity needs."""
    s = reference.kinematics(q, v, a, t)
    weight = np.concatenate([np.zeros(3), reference.gravity])
    found = {}
    for name in model.bodies:
        I, V = reference.spatial_inertia(name, s.pose[name]), s.twist[name]
        found[name] = I @ (s.acceleration[name] - weight) + force_cross(V) @ I @ V
    return found


def about_origin(point, force, torque):
    return np.concatenate([torque + np.cross(point, force), force])


def numbers(reaction, known):
    return vector_of([*reaction.force], known), vector_of([*reaction.torque], known)


@settings(max_examples=25)
@given(random_trees(), st.integers(0, 10**6))
def test_free_body_equations(model, seed):
    """Joint wrenches, outside forces and weight give every body the motion it has."""
    tree = Tree(model)
    rng = np.random.default_rng(seed)
    q, v, a = random_state(tree, rng)
    t = 0.3
    reference = ReferenceTree(model)
    known = values(model, tree, q, v, a, t)
    loaded = list(model.bodies)[-1]
    push = (rng.normal(size=3), rng.normal(size=3))
    balance = needed_wrenches(model, reference, q, v, a, t)
    size = max(float(np.abs(w).max()) for w in balance.values())
    balance[loaded] = balance[loaded] - about_origin(reference.frame_pose(loaded, q, t)[1], *push)
    reactions = joint_reactions(model, external={loaded: push})
    assert list(reactions) == list(model.joints)
    for name, joint in model.joints.items():
        wrench = about_origin(reference.frame_pose(joint.child, q, t)[1], *numbers(reactions[name], known))
        for body, sign in ((joint.child.body.name, 1.0), (joint.parent.body.name, -1.0)):
            if body in balance:
                balance[body] = balance[body] - sign * wrench
    for wrench in balance.values():
        assert float(np.abs(wrench).max()) < TIGHT * max(size, 10.0) * len(model.bodies)


@settings(max_examples=20)
@given(random_trees(), st.integers(0, 10**6))
def test_axes_of_parent_and_child(model, seed):
    tree = Tree(model)
    q, v, a = random_state(tree, np.random.default_rng(seed))
    t = 0.3
    reference = ReferenceTree(model)
    known = values(model, tree, q, v, a, t)
    world = joint_reactions(model)
    for side in ("parent", "child"):
        turned = joint_reactions(model, axes=side)
        for name, joint in model.joints.items():
            R, _ = reference.frame_pose(getattr(joint, side), q, t)
            for found, expected in zip(numbers(turned[name], known), numbers(world[name], known), strict=True):
                assert error(R @ found, expected, 1.0) < TIGHT


@settings(max_examples=20)
@given(
    random_trees(mimic=False, rotors=False, prescribed=False, joints=("revolute", "prismatic", "fixed")),
    st.integers(0, 10**6),
)
def test_component_along_the_axis_is_the_joint_force(model, seed):
    tree = Tree(model)
    q, v, a = random_state(tree, np.random.default_rng(seed))
    reference = ReferenceTree(model)
    known = values(model, tree, q, v, a)
    phi = dict(zip((c.names[0] for c in reference.coordinates), reference.inverse_dynamics(q, v, a), strict=True))
    size = float(np.abs(list(phi.values())).max())
    for axes in ("parent", "child"):
        for name, reaction in joint_reactions(model, axes=axes).items():
            for motion in model.joints[name].motions:  # the axis has the same components on both sides
                transmitted = numbers(reaction, known)[motion.kind == "R"]
                axis = reference._numbers(list(motion.axis))
                assert error(transmitted @ axis, phi[motion.coordinate.names[0]], size) < TIGHT


@settings(max_examples=25)
@given(random_trees(), st.integers(0, 10**6))
def test_driving_forces_are_those_of_the_freed_coordinates(model, seed):
    tree = Tree(model)
    q, v, a = random_state(tree, np.random.default_rng(seed))
    t = 0.6
    found = driving_forces(model)
    assert list(found) == [c.names[0] for c in tree.prescribed]
    numbers_found = vector_of(list(found.values()), values(model, tree, q, v, a, t))
    state = {c.names[0]: (x, y, z) for c, x, y, z in _blocks(tree, q, v, a)}
    reference = ReferenceTree(model)
    for c in tree.prescribed:
        state[c.names[0]] = tuple(np.array([x]) for x in reference._prescribed(c, t))
    for c in tree.prescribed:
        c.motion, c.nature = None, "free"
    freed = ReferenceTree(model)
    q, v, a = (np.concatenate([state[c.names[0]][i] for c in freed.coordinates]) for i in range(3))
    phi = freed.inverse_dynamics(q, v, a)
    place = np.cumsum([0] + [len(c.v) for c in freed.coordinates])
    at = {c.names[0]: phi[i] for c, i in zip(freed.coordinates, place, strict=False)}
    assert error(numbers_found, [at[name] for name in found], float(np.abs(phi).max())) < TIGHT


def _blocks(tree, q, v, a):
    i = j = 0
    for c in tree.coordinates:
        yield c, q[i : i + len(c.q)], v[j : j + len(c.v)], a[j : j + len(c.v)]
        i, j = i + len(c.q), j + len(c.v)


def test_pendulum_pin_force_in_closed_form():
    """The pin carries m (g cos θ + l θ̇²) along the rod and m (g sin θ + l θ̈) across it."""
    m = jd.Model("pendulum", gravity=(0, 0, -9.81))
    bob = m.body("bob", mass=2.0, com=(0, 0, -0.5))
    hinge = m.revolute("hinge", m.ground, bob, axis="-y")
    reaction = joint_reactions(m, axes="child")["hinge"]
    angle, rate, acc = 0.7, -1.3, 2.1
    tree = Tree(m)
    known = values(m, tree, np.array([angle]), np.array([rate]), np.array([acc]))
    assert hinge.position is tree.q[0]
    force = vector_of([*reaction.force], known)
    expected = [2.0 * (9.81 * np.sin(angle) + 0.5 * acc), 0.0, 2.0 * (9.81 * np.cos(angle) + 0.5 * rate**2)]
    assert error(force, expected) < 1e-14


def test_sign_does_not_depend_on_which_end_is_nearer_to_the_ground(rng):
    """A table standing on the ground: the ground pushes up on it, however the joint is declared."""
    for reverse in (False, True):
        m = jd.Model("table", gravity=(0, 0, -10.0))
        table = m.body("table", mass=3.0, com=(0.2, 0, 0))
        if reverse:
            m.fixed("foot", table, m.ground)
        else:
            m.fixed("foot", m.ground, table)
        force, torque = numbers(joint_reactions(m)["foot"], dict(zip(m.parameter_set.symbols, m.parameter_set.values(), strict=True)))
        sign = -1.0 if reverse else 1.0
        assert force == pytest.approx([0, 0, sign * 30.0])
        assert torque == pytest.approx([0, -sign * 6.0, 0])


def test_errors_name_the_remedy():
    m = jd.Model("pendulum")
    m.revolute("hinge", m.ground, m.body("bob", mass=1.0))
    with pytest.raises(InputError, match="axes 'joint' of reactions are unknown; use 'world'"):
        joint_reactions(m, axes="joint")
    with pytest.raises(InputError, match=r"external force on 'bab'.*the bodies are bob"):
        joint_reactions(m, external={"bab": ((0, 0, 1), (0, 0, 0))})


def test_loads_of_the_model_reach_the_joints(rng):
    """A spring between points, a force in body axes and one on a body fixed to another, against free-body equations."""
    m = jd.Model("loaded", gravity=(0, 0, -9.81))
    upper = m.body("upper", mass=2.0, com=(0.3, 0, 0), inertia=(0.1, 0.2, 0.3))
    lower = m.body("lower", mass=1.0, com=(0.2, 0.1, 0), inertia=(0.1, 0.1, 0.1))
    tool = m.body("tool", mass=0.5, com=(0, 0, 0.1), inertia=(0.01, 0.01, 0.01))
    shoulder = m.revolute("shoulder", m.ground, upper, axis="y")
    m.revolute("elbow", upper.at(0.8, 0, 0), lower, axis="y")
    m.fixed("flange", lower.at(0.5, 0, 0, rotation=("x", 0.4)), tool)
    m.spring("spring", m.ground.at(1.0, 0.2, 1.0), tool.at(0, 0, 0.2), stiffness=50.0, length=0.3)
    m.load("push", tool.at(0.1, 0, 0), force=(1.0, 2.0, 3.0), torque=(0.1, 0.2, 0.3))
    m.joint_spring(shoulder, stiffness=7.0)
    tree = Tree(m)
    q, v, a = random_state(tree, rng)
    reference = ReferenceTree(m)
    known = values(m, tree, q, v, a)
    balance = needed_wrenches(m, reference, q, v, a, 0.0)
    R, at = reference.frame_pose(tool, q)
    end, push = at + R @ [0, 0, 0.2], at + R @ [0.1, 0, 0]
    pull = np.array([1.0, 0.2, 1.0]) - end
    length = np.linalg.norm(pull)
    balance["tool"] -= about_origin(end, 50.0 * (length - 0.3) * pull / length, np.zeros(3))
    balance["tool"] -= about_origin(push, np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3]))
    for name, reaction in joint_reactions(m).items():
        joint = m.joints[name]
        wrench = about_origin(reference.frame_pose(joint.child, q)[1], *numbers(reaction, known))
        balance[joint.child.body.name] -= wrench
        if not joint.parent.body.is_ground:
            balance[joint.parent.body.name] += wrench
    assert max(np.abs(w).max() for w in balance.values()) < 1e-12
