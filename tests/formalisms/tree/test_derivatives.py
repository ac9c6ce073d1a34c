"""Derivatives of the dynamics against complex step and the graph; the Coriolis matrix by its properties."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.errors import InputError
from jourdain.formalisms.tree.composite_body import mass_matrix
from jourdain.formalisms.tree.coriolis import christoffel, coriolis_matrix, gravity_vector
from jourdain.formalisms.tree.derivatives import (
    along_velocities,
    forward_dynamics_derivatives,
    graph_derivatives,
    inverse_dynamics_derivatives,
    mass_matrix_inverse,
    parameter_derivatives,
    recursive_derivatives,
)
from jourdain.formalisms.tree.mass_factor import accelerations_by_factor
from jourdain.formalisms.tree.newton_euler import inverse_dynamics
from jourdain.formalisms.tree.tree import Tree
from jourdain.io import read_urdf
from jourdain.symbolic import gradient, jacobian, operations, symbols
from jourdain.symbolic.function import Argument, Result, SymbolicFunction
from tests.formalisms.strategies import error, matrix_of, random_state, random_trees, retract, values, vector_of

STEP = 1e-30
ROBOT_FOLDER = "cmeel.prefix/share/example-robot-data/robots"
seeds = st.integers(0, 10**6)


def complex_step(function, n):
    """∂f/∂x along n directions, f given complex displacements as columns."""
    return function(1j * STEP * np.eye(n)).imag / STEP


def state_of(tree, seed):
    return *random_state(tree, np.random.default_rng(seed)), 0.7


@settings(max_examples=40)
@given(random_trees(max_bodies=5), seeds, st.booleans(), st.booleans())
def test_recursive_derivatives_equal_complex_step(model, seed, regroup, share):
    tree = Tree(model, regroup, share)
    q, v, a, t = state_of(tree, seed)
    phi = inverse_dynamics(tree)
    dq, dv, M = (matrix_of(table, values(model, tree, q, v, a, t)) for table in recursive_derivatives(tree))

    def at(q, v, a):
        return vector_of(phi, values(model, tree, q, v, a, t))

    assert error(dq, complex_step(lambda d: at(retract(tree, q, d), v, a), tree.nv), 1.0) < 1e-12
    assert error(dv, complex_step(lambda d: at(q, v[:, None] + d, a), tree.nv), 1.0) < 1e-12
    assert error(M, complex_step(lambda d: at(q, v, a[:, None] + d), tree.nv)) < 1e-12


@settings(max_examples=15)
@given(random_trees(max_bodies=4), seeds)
def test_recursive_derivatives_equal_those_of_the_graph(model, seed):
    tree = Tree(model)
    known = values(model, tree, *state_of(tree, seed))
    for ours, graph in zip(recursive_derivatives(tree), graph_derivatives(tree), strict=True):
        assert error(matrix_of(ours, known), matrix_of(graph, known), 1.0) < 1e-12


@settings(max_examples=15)
@given(random_trees(max_bodies=4), seeds)
def test_forward_dynamics_derivatives_equal_complex_step(model, seed):
    tree = Tree(model)
    q, v, a, t = state_of(tree, seed)
    tau = symbols([f"tau{i}" for i in range(tree.nv)], "input")
    forces = np.random.default_rng(seed + 1).normal(size=tree.nv)
    motion = accelerations_by_factor(tree, tau)

    def at(q, v, forces):
        return vector_of(motion, values(model, tree, q, v, a, t) | dict(zip(tau, forces, strict=True)))

    known = values(model, tree, q, v, a, t) | dict(zip(tau, forces, strict=True))
    dq, dv, dtau = (matrix_of(table, known) for table in forward_dynamics_derivatives(tree, tau))
    assert error(dq, complex_step(lambda d: at(retract(tree, q, d), v, forces), tree.nv), 1.0) < 1e-10
    assert error(dv, complex_step(lambda d: at(q, v[:, None] + d, forces), tree.nv), 1.0) < 1e-10
    assert error(dtau, complex_step(lambda d: at(q, v, forces[:, None] + d), tree.nv)) < 1e-11


@settings(max_examples=15)
@given(random_trees(max_bodies=5), seeds)
def test_mass_matrix_inverse(model, seed):
    tree = Tree(model)
    known = values(model, tree, *state_of(tree, seed))
    M, inverse = matrix_of(mass_matrix(tree), known), matrix_of(mass_matrix_inverse(tree), known)
    assert error(M @ inverse, np.eye(tree.nv)) < 1e-11
    assert np.array_equal(inverse, inverse.T)


@settings(max_examples=25)
@given(random_trees(max_bodies=5, prescribed=False), seeds)
def test_coriolis_matrix_and_gravity_add_up_to_the_bias(model, seed):
    tree = Tree(model)
    q, v, a, t = state_of(tree, seed)
    known = values(model, tree, q, v, a, t)
    bias = vector_of(inverse_dynamics(tree, acceleration=False), known)
    at_rest = vector_of(inverse_dynamics(tree, acceleration=False), values(model, tree, q, 0 * v, a, t))
    C, g = matrix_of(coriolis_matrix(tree), known), vector_of(gravity_vector(tree), known)
    assert error(g, at_rest, 1.0) < 1e-12
    assert error(C @ v + g, bias, 1.0) < 1e-12


@settings(max_examples=25)
@given(random_trees(max_bodies=5), seeds)
def test_rate_of_mass_matrix_less_twice_coriolis_is_skew(model, seed):
    """Ṁ along the motion, that of driven joints included, by complex step in time."""
    tree = Tree(model)
    q, v, a, t = state_of(tree, seed)
    C = matrix_of(coriolis_matrix(tree), values(model, tree, q, v, a, t))
    later = values(model, tree, retract(tree, q, 1j * STEP * v), v, a, t + 1j * STEP)
    rate = matrix_of(mass_matrix(tree), later).imag / STEP
    skew = rate - 2.0 * C
    assert error(skew, -skew.T, max(1.0, float(np.abs(rate).max()))) < 1e-12


@settings(max_examples=10)
@given(random_trees(3, ("revolute", "prismatic", "helical", "universal", "spherical zxz"), prescribed=False), seeds)
def test_coriolis_matrix_is_that_of_the_christoffel_symbols(model, seed):
    tree = Tree(model)
    q, v, a, t = state_of(tree, seed)
    known = values(model, tree, q, v, a, t)
    n = tree.nv
    gamma = matrix_of([row for block in christoffel(tree) for row in block], known).reshape(n, n, n)
    assert np.array_equal(gamma, gamma.transpose(0, 2, 1))
    assert error(matrix_of(coriolis_matrix(tree), known), gamma @ v, 1.0) < 1e-12


@settings(max_examples=20)
@given(random_trees(max_bodies=3), seeds, st.sampled_from([1, 3, 1000]), st.booleans())
def test_parameter_derivatives_equal_complex_step(model, seed, most, one_output):
    tree = Tree(model)
    known = values(model, tree, *state_of(tree, seed))
    phi = inverse_dynamics(tree)[: 1 if one_output else None]
    parameters = model.parameter_set.symbols[:most]
    found = matrix_of(parameter_derivatives(phi, parameters), known)
    p = np.array([known[s] for s in parameters])

    def at(step):
        return vector_of(phi, known | dict(zip(parameters, p[:, None] + step, strict=True)))

    assert error(found, complex_step(at, len(p)), 1.0) < 1e-12


def many_parameters() -> jd.Model:
    """A chain of three bodies in which every number is a parameter: more parameters than prepared constants."""
    m = jd.Model("parameters")
    before = m.ground
    for i in range(3):
        names = ["m", "cx", "cy", "cz", "xx", "yy", "zz", "xy", "xz", "yz", "dx", "dy", "dz"]
        p = m.parameters(**{f"{n}{i}": 0.3 + 0.1 * k + 0.05 * i for k, n in enumerate(names)})
        body = m.body(f"b{i}")
        body.add_mass(p[0], p[1:4], [5.0 * x for x in p[4:7]] + [0.1 * x for x in p[7:10]])
        m.revolute(f"j{i}", before.at(*p[10:]), body, axis="xyz"[i])
        before = body
    return m


def test_derivatives_by_parameters_take_the_cheapest_way(rng):
    """Here from prepared constants; a factor that depends on parameters alone is no operation of a call."""
    m = many_parameters()
    tree = Tree(m)
    q, v, a = random_state(tree, rng)
    phi, parameters = inverse_dynamics(tree), m.parameter_set.symbols
    table = parameter_derivatives(phi, parameters)
    known = values(m, tree, q, v, a)
    p = np.array([known[s] for s in parameters])
    moved = known | dict(zip(parameters, p[:, None] + 1j * STEP * np.eye(len(p)), strict=True))
    assert error(matrix_of(table, known), vector_of(phi, moved).imag / STEP) < 1e-12
    arguments = (Argument("q", tree.q), Argument("v", tree.v), Argument("a", tree.a), Argument("p", parameters))

    def calls(rows):
        flat = tuple(e for row in rows for e in row)
        return SymbolicFunction("f", arguments, (Result("f", flat, (len(flat),)),)).operations().flops

    assert calls(table) < calls(jacobian(phi, parameters))
    assert calls(table) <= calls([gradient(f, parameters) for f in phi])


def chain(n: int, planar: bool = False) -> jd.Model:
    m = jd.Model("chain")
    before = m.ground
    for i in range(n):
        body = m.body(f"b{i}", mass=1.0 + 0.1 * i, com=(0.2, 0.0, 0.1), inertia=(0.1, 0.2, 0.25, 0.01, 0.02, 0.03))
        m.revolute(f"j{i}", before.at(0.5, 0.0, 0.0), body, axis="y" if planar else "xyz"[i % 3])
        before = body
    return m


def cost(tables) -> int:
    return operations([e for table in tables for row in table for e in row]).flops


def test_the_smaller_form_is_chosen():
    for model in (chain(3), chain(6), chain(4, planar=True), chain(12)):
        tree = Tree(model)
        recursive, graph = cost(recursive_derivatives(tree)), cost(graph_derivatives(tree))
        assert cost(inverse_dynamics_derivatives(tree)) == min(recursive, graph)
        assert cost(inverse_dynamics_derivatives(tree, "graph")) == graph
        assert cost(inverse_dynamics_derivatives(tree, "recursive")) == recursive


def test_operations_grow_with_the_number_of_pairs():
    """A chain of n joints has n²/2 pairs; the graph's derivatives of the same chain need more than the recursion."""
    costs = {n: cost(recursive_derivatives(Tree(chain(n)))) for n in (8, 16, 32)}
    assert costs[16] < 4.0 * costs[8] and costs[32] < 4.0 * costs[16]
    assert costs[16] < 0.6 * cost(graph_derivatives(Tree(chain(16))))


def test_unknown_method_and_quaternions_are_named():
    m = jd.Model("top")
    m.spherical("ball", m.ground, m.body("top", mass=1.0, inertia=(1, 1, 1)))
    tree = Tree(m)
    with pytest.raises(InputError, match="method 'numeric' is unknown"):
        inverse_dynamics_derivatives(tree, "numeric")
    with pytest.raises(InputError, match=r"coordinate 'ball\.orientation' is a quaternion"):
        christoffel(tree)


def test_along_velocities_is_the_directional_derivative(rng):
    m = jd.Model("free body")
    m.free("free", m.ground, m.body("b", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1, 2, 2.5)))
    tree = Tree(m)
    q, v, a = random_state(tree, rng)
    outputs = [q0 * q1 + jd.sin(q0) for q0, q1 in zip(tree.q, tree.q[1:], strict=False)]
    found = matrix_of(along_velocities(tree, outputs), values(m, tree, q, v, a))
    expected = complex_step(lambda d: vector_of(outputs, values(m, tree, retract(tree, q, d), v, a)), tree.nv)
    assert error(found, expected) < 1e-14


ROBOTS = ("ur_description/urdf/ur5_robot.urdf", "a1_description/urdf/a1.urdf", "talos_data/robots/talos_reduced.urdf")


@pytest.mark.peers
@pytest.mark.parametrize("path", ROBOTS)
def test_derivatives_equal_those_of_pinocchio(path, rng):
    """∂φ/∂q, ∂φ/∂v, M and M⁻¹ of robots on a fixed base, joint by joint."""
    pin = pytest.importorskip("pinocchio")
    folder = next((p for root in sys.path for p in Path(root).glob(ROBOT_FOLDER)), None)
    if folder is None:
        pytest.skip("the robots of example-robot-data are not installed")
    peer = pin.buildModelFromUrdf(str(folder / path))
    model = read_urdf(folder / path)
    tree = Tree(model)
    order = [peer.joints[peer.getJointId(c.names[0].rpartition(".")[0])].idx_v for c in tree.coordinates]
    assert sorted(order) == list(range(peer.nv))
    q, v, a = rng.normal(size=(3, peer.nv))
    data = peer.createData()
    pin.computeRNEADerivatives(peer, data, q, v, a)
    known = values(model, tree, q[order], v[order], a[order])
    dq, dv, M = (matrix_of(table, known) for table in inverse_dynamics_derivatives(tree))
    assert error(dq, data.dtau_dq[np.ix_(order, order)]) < 1e-11
    assert error(dv, data.dtau_dv[np.ix_(order, order)]) < 1e-11
    expected = pin.computeMinverse(peer, peer.createData(), q)
    expected = np.triu(expected) + np.triu(expected, 1).T
    inverse = matrix_of(mass_matrix_inverse(tree), known)
    assert error(inverse, expected[np.ix_(order, order)]) < 1e-10
    assert error(M @ inverse, np.eye(tree.nv)) < 1e-10
