"""The looped form against the straight-line form, the independent reference, and itself on long chains."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.errors import InputError, SolverError
from jourdain.formalisms.tree.composite_body import mass_matrix
from jourdain.formalisms.tree.newton_euler import inverse_dynamics
from jourdain.formalisms.tree.tree import Tree
from jourdain.model import Model
from jourdain.native import compile_function
from jourdain.solvers.native_function import NativeFunction
from jourdain.symbolic.function import Argument, Result, SymbolicFunction
from jourdain.systems.tree.looped import LoopedTree
from tests.formalisms.strategies import error, matrix_of, random_state, random_trees, values, vector_of
from tests.reference import ReferenceTree

Array = np.ndarray


def chain(n: int, spherical_every: int = 0) -> Model:
    """n bodies, each hung on the one before by a hinge about x or y (or now and then by a ball joint)."""
    m = Model("chain")
    length, mass = m.parameters(length=0.1, mass=0.2)
    before: Any = m.ground
    for i in range(n):
        body = m.body(f"b{i}", mass=mass, com=(0, 0, -length / 2), inertia=(1e-3, 2e-3, 1e-3))
        if spherical_every and i % spherical_every == 0:
            m.spherical(f"j{i}", before, body)
        else:
            m.revolute(f"j{i}", before, body, axis="xy"[i % 2])
        before = body.at(0, 0, -length)
    return m


def state(tree: LoopedTree, rng: np.random.Generator, *lead: int) -> tuple[Array, Array, Array]:
    """Random q (unit quaternions), v and a."""
    q = [np.zeros((*lead, 0))]
    for c in tree.arrays.coordinates:
        x = rng.normal(size=(*lead, len(c.q)))
        q.append(x / np.linalg.norm(x, axis=-1, keepdims=True) if c.is_quaternion else x)
    return np.concatenate(q, -1), rng.normal(size=(*lead, tree.nv)), rng.normal(size=(*lead, tree.nv))


@given(random_trees(), st.integers(0, 1000))
@settings(max_examples=6)
def test_random_trees_agree_with_the_expressions_and_the_reference(model: Model, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = Tree(model)
    looped, reference = LoopedTree(model), ReferenceTree(model)
    q, v, a = random_state(tree, rng)
    t = 0.4
    known = values(model, tree, q, v, a, t)
    phi, M = looped.inverse_dynamics(q, v, a, t), looped.mass_matrix(q, t)
    assert error(phi, vector_of(inverse_dynamics(tree), known)) < 1e-11
    assert error(M, matrix_of(mass_matrix(tree), known)) < 1e-11
    assert error(phi, reference.inverse_dynamics(q, v, a, t)) < 1e-11
    assert error(M, reference.mass_matrix(q, t)) < 1e-11
    assert error(looped.bias(q, v, t), reference.bias(q, v, t)) < 1e-11
    # a(φ(a)) = a, with what the conditioning of M leaves of eleven digits
    assert error(looped.accelerations(q, v, phi, t), a) < 1e-13 * max(100.0, np.linalg.cond(M))


@given(random_trees(max_bodies=4, prescribed=False), st.integers(0, 1000))
@settings(max_examples=4)
def test_parameters_change_without_a_new_tree(model: Model, seed: int) -> None:
    rng = np.random.default_rng(seed)
    changes = {p.name: p.value * rng.uniform(1.0, 1.2) for p in model.parameter_set}
    looped, reference = LoopedTree(model), ReferenceTree(model, changes)
    q, v, a = reference.random_state(rng)
    looped.set_parameters(changes)
    assert error(looped.inverse_dynamics(q, v, a), reference.inverse_dynamics(q, v, a)) < 1e-11
    looped.set_parameters({})
    assert error(looped.inverse_dynamics(q, v, a), ReferenceTree(model).inverse_dynamics(q, v, a)) < 1e-11


def rich_model() -> Model:
    """A flying base with a driven hinge, a screw, a slider that follows it, a rotor and a ball joint."""
    m = Model("rich")
    base = m.body("base", mass=3.0, com=(0.1, 0, 0.05), inertia=(0.3, 0.2, 0.4, 0.01, 0.0, 0.02))
    m.free("fly", m.ground, base)
    arm = m.body("arm", mass=1.0, com=(0.2, 0, 0), inertia=(0.02, 0.05, 0.04))
    m.drive(m.revolute("swing", base.at(0.3, 0, 0), arm, axis=(1, 2, 0)), lambda t: 0.4 * jd.sin(2 * t))
    nut = m.body("nut", mass=0.7, com=(0, 0.1, 0), inertia=(0.01, 0.02, 0.015))
    m.helical("screw", arm.at(0.4, 0, 0, rotation=("y", 0.3)), nut, pitch=0.2)
    tool = m.body("tool", mass=0.5, com=(0, 0, 0.1), inertia=(0.01, 0.01, 0.005))
    lead = m.revolute("turn", base.at(-0.3, 0, 0), tool, axis="-y", rotor_inertia=2e-3, gear_ratio=7.0)
    tip = m.body("tip", mass=0.3, com=(0.05, 0, 0), inertia=(0.01, 0.01, 0.01))
    m.prismatic("slide", tool.at(0, 0, 0.2), tip, axis="z", mimic=(lead, 0.25, 0.1))
    bob = m.body("bob", mass=0.4, com=(0, 0, -0.2), inertia=(0.003, 0.003, 0.001))
    m.spherical("ball", tip.at(0, 0, 0.1), bob)
    return m


def test_straight_line_machine_code_gives_the_same(rng: np.random.Generator) -> None:
    m = rich_model()
    tree = Tree(m)
    p = m.parameter_set
    names = (("t", (m.time,)), ("q", tree.q), ("v", tree.v), ("a", tree.a), ("p", p.symbols))
    inputs = tuple(Argument(n, s) for n, s in names)
    M = mass_matrix(tree)
    outputs = (
        Result("phi", tuple(inverse_dynamics(tree)), (tree.nv,)),
        Result("M", tuple(e for row in M for e in row), (tree.nv, tree.nv)),
    )
    compiled = compile_function(SymbolicFunction("straight", inputs, outputs), p.values())
    looped = LoopedTree(m)
    q, v, a = state(looped, rng, 20)
    t = rng.uniform(0, 3, size=20)
    phi, matrices = compiled(t[:, None], q, v, a)
    assert error(looped.inverse_dynamics(q, v, a, t), phi) < 1e-12
    assert error(looped.mass_matrix(q, t), matrices) < 1e-12
    found = looped.accelerations(q, v, phi, t)
    assert error(found, a) < 1e-11


@pytest.mark.parametrize("n", [100, 1000, 10_000])
def test_long_chains_are_consistent(n: int, rng: np.random.Generator) -> None:
    looped = LoopedTree(chain(n, spherical_every=7))
    q, v, _ = state(looped, rng)
    v *= 0.1
    tau = rng.normal(size=looped.nv)
    back = looped.inverse_dynamics(q, v, looped.accelerations(q, v, tau))
    # forces inside the chain are up to its weight or the largest inertial force, far above τ
    inside = np.abs(looped.bias(q, v)).max() + np.abs(tau).max()
    assert error(back, tau, scale=inside) < 1e-11


def test_wrenches_act_in_the_axes_of_links(rng: np.random.Generator) -> None:
    m = chain(5)
    looped, reference = LoopedTree(m), ReferenceTree(m)
    q, v, a = state(looped, rng)
    rotation, position = looped.poses(q)
    world = rng.normal(size=(5, 2, 3))
    local = np.einsum("lji,lkj->lki", rotation, world).reshape(5, 6)
    expected = reference.inverse_dynamics(q, v, a, wrenches={f"b{i}": tuple(world[i]) for i in range(5)})
    assert error(looped.inverse_dynamics(q, v, a, wrenches=local), expected) < 1e-12
    assert error(looped.accelerations(q, v, expected, wrenches=local), a) < 1e-9
    for i in range(5):
        R, p = reference.frame_pose(f"b{i}", q)
        assert error(rotation[i], R) < 1e-14
        assert error(position[i], p, 1.0) < 1e-14


def test_batches_equal_single_states(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOURDAIN_THREADS", "3")
    looped = LoopedTree(chain(300, spherical_every=5))
    q, v, a = state(looped, rng, 4, 5)
    wrenches = rng.normal(size=(5, len(looped.links), 6))
    batch = looped.inverse_dynamics(q, v, a[0, 0], wrenches=wrenches)
    assert batch.shape == (4, 5, looped.nv)
    for i, j in ((0, 0), (2, 3), (3, 4)):
        single = looped.inverse_dynamics(q[i, j], v[i, j], a[0, 0], wrenches=wrenches[j])
        np.testing.assert_array_equal(batch[i, j], single)
    out = np.empty((5, 4, looped.nv)).swapaxes(0, 1)
    assert looped.accelerations(q, v, a, out=out) is out
    np.testing.assert_array_equal(out[1, 2], looped.accelerations(q[1, 2], v[1, 2], a[1, 2]))
    assert looped.bias(q[:0], v[:0]).shape == (0, 5, looped.nv)


def damper(looped: LoopedTree) -> NativeFunction:
    """τ = 3 cos t − 0.5 v as a compiled function of (t, x)."""
    from jourdain.symbolic import cos, symbols

    t, x = symbols("t", "time"), symbols([f"x{i}" for i in range(looped.nq + looped.nv)], "state")
    tau = tuple(3 * cos(t[0]) - 0.5 * e for e in x[looped.nq :])
    inputs = (Argument("t", tuple(t)), Argument("x", tuple(x)))
    f = compile_function(SymbolicFunction("damper", inputs, (Result("tau", tau, (len(tau),)),)))
    nothing = np.zeros(1)
    return NativeFunction(f.address, f.arguments(nothing, nothing, nothing), (f, nothing))


def test_state_derivative_by_address(rng: np.random.Generator) -> None:
    m = rich_model()
    looped, reference = LoopedTree(m), ReferenceTree(m)
    q, v, tau = state(looped, rng)
    x, rate = np.concatenate([q, v]), np.empty(looped.nq + looped.nv)
    for t, native, force in (
        (0.3, looped.native(tau=tau), tau),
        (0.9, looped.native(forces=damper(looped)), 3 * np.cos(0.9) - 0.5 * v),
    ):
        assert native(t, x, rate) == 0
        assert error(rate[: looped.nq], reference.position_rate(q, v)) < 1e-14
        assert error(rate[looped.nq :], reference.forward_dynamics(q, v, force, t)) < 1e-10


def test_an_integrator_takes_it(rng: np.random.Generator) -> None:
    from jourdain.solvers import integrate

    m = chain(4, spherical_every=3)
    looped, reference = LoopedTree(m), ReferenceTree(m)
    q, v, _ = state(looped, rng)
    found = integrate(looped.native(), (0.0, 0.2), np.concatenate([q, v]), rtol=1e-10, atol=1e-10)
    q1, v1 = found.x[-1][: looped.nq], found.x[-1][looped.nq :]
    before = reference.kinetic_energy(q, v) + reference.potential_energy(q)
    assert abs(reference.kinetic_energy(q1, v1) + reference.potential_energy(q1) - before) < 1e-7
    assert np.abs(q1 - q).max() > 1e-2


def test_every_function_by_address(rng: np.random.Generator) -> None:
    import ctypes

    looped = LoopedTree(chain(6))
    q, v, a = state(looped, rng)
    for name, third in (("inverse_dynamics", a), ("accelerations", a), ("bias", a), ("mass_matrix", a)):
        native = looped.native(name)
        f = looped.function(name)
        out = np.empty(next(iter(f.outputs.values())))
        args = native.args.copy()
        args[[0, 1, 2, 5]] = q.ctypes.data, v.ctypes.data, third.ctypes.data, out.ctypes.data
        assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(native.address)(args.ctypes.data) == 0
        np.testing.assert_array_equal(out, f(*(q, v, third)[: len(f.inputs)]))


def test_errors_name_the_input_and_the_remedy() -> None:
    looped = LoopedTree(chain(3))
    three = np.zeros(3)
    with pytest.raises(InputError, match=r"'bias': input 'v' must have 3 entries in its last .*, got shape \(2,\)"):
        looped.bias(three, np.zeros(2))
    with pytest.raises(InputError, match=r"input 'q'\[1\] = nan is not finite"):
        looped.bias([0.0, np.nan, 0.0], three)
    with pytest.raises(InputError, match=r"input 'q' = .* are no real numbers \(it is complex\)"):
        looped.mass_matrix(three + 1j)
    with pytest.raises(InputError, match="'inverse_dynamics' takes 3 arrays"):
        looped.function("inverse_dynamics")(three, three)
    with pytest.raises(InputError, match=r"out for 'c' must be a writeable float64 array of shape \(3,\), got float32"):
        looped.bias(three, three, out=np.zeros(3, np.float32))
    with pytest.raises(InputError, match=r"wrenches must have 3 rows \(one a link\) of 6 numbers"):
        looped.bias(three, three, wrenches=np.zeros((2, 6)))
    with pytest.raises(InputError, match="has no function 'jacobian'; choose one of inverse_dynamics"):
        looped.function("jacobian")
    with pytest.raises(InputError, match="did you mean length"):
        looped.set_parameters({"lenght": 1.0})
    with pytest.raises(InputError, match=r"has 3 parameters, got an array of shape \(2,\)"):
        looped.set_parameters([1.0, 2.0])
    with pytest.raises(InputError, match="parameter 'mass' = inf is not finite"):
        looped.set_parameters([-9.81, 0.1, np.inf])


def test_a_joint_without_inertia_is_named() -> None:
    m = Model("massless")
    arm = m.body("arm", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.revolute("shoulder", m.ground, arm, axis="z")
    m.revolute("wrist", arm, m.body("hand"), axis="x")
    looped = LoopedTree(m)
    with pytest.raises(SolverError, match="joint 'wrist' feels no inertia"):
        looped.accelerations([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    with pytest.raises(SolverError, match=r"state \[0\]"):
        looped.accelerations(np.zeros((3, 2)), np.zeros(2), np.zeros(2))
    ball = Model("ball")
    ball.spherical("socket", ball.ground, ball.body("point", mass=1.0, com=(0.1, 0.2, 0.3)))
    with pytest.raises(SolverError, match="joint 'socket' feels no inertia"):
        LoopedTree(ball).accelerations([1, 0, 0, 0], [0, 0, 0], [0, 0, 0])


def test_it_pickles(rng: np.random.Generator) -> None:
    looped = LoopedTree(rich_model(), {"gravity_z": -5.0})
    q, v, a = state(looped, rng)
    expected = looped.inverse_dynamics(q, v, a, 0.7)
    copy = pickle.loads(pickle.dumps(looped))
    np.testing.assert_array_equal(copy.inverse_dynamics(q, v, a, 0.7), expected)


def test_bodies_that_nothing_holds_are_seen_as_such() -> None:
    """In closed form instead of four links: the same accelerations, poses and response to wrenches as the expressions and Newton–Euler."""
    rng = np.random.default_rng(3)
    m = Model("loose")
    for i in range(3):
        b = m.body(f"b{i}", mass=1.0 + i, com=(0.1, 0.2 * i, -0.05), inertia=(0.3, 0.4, 0.5, 0.01, 0.02, -0.03))
        m.free(f"f{i}", m.ground, b)
        if i == 1:
            m.revolute("held", b.at(0.1, 0, 0), m.body("tip", mass=0.5, com=(0, 0, -0.3)), axis="y")
    s, tree = m.compile(form="straight"), LoopedTree(m)
    assert tree.arrays.loose == [3, 12]
    q = s.configuration.normalise(s.state().q + 0.3 * rng.normal(size=s.nq))
    v, tau, wrenches = rng.normal(size=s.nv), rng.normal(size=s.nv), rng.normal(size=(len(tree.links), 6))
    np.testing.assert_allclose(tree.accelerations(q, v, tau), s.tree_accelerations(q, v, tau), atol=1e-12)
    a = tree.accelerations(q, v, tau, wrenches=wrenches)
    np.testing.assert_allclose(tree.inverse_dynamics(q, v, a, wrenches=wrenches), tau, atol=1e-12)
    swept = LoopedTree(m)
    swept.arrays.loose = []
    for x, y in zip(tree.poses(q), swept.poses(q), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-15)
