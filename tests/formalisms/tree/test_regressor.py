"""Regressor: linear in the inertial parameters, and the combinations of them that motion can tell apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.errors import InputError
from jourdain.formalisms.tree.newton_euler import inverse_dynamics
from jourdain.formalisms.tree.regressor import ParameterTree, base_parameters, grouped_parameters, regressor, sampled, standard_parameters
from jourdain.formalisms.tree.tree import Tree
from jourdain.symbolic.derivatives import jacobian
from tests.formalisms.strategies import error, matrix_of, random_state, random_trees, values, vector_of
from tests.reference import ReferenceTree

TIGHT = 1e-11


@settings(max_examples=25)
@given(random_trees(), st.integers(0, 10**6))
def test_regressor_times_parameters_is_inverse_dynamics(model, seed):
    tree = Tree(model, regroup=False)
    rng = np.random.default_rng(seed)
    q, v, a = random_state(tree, rng)
    changed = {p.name: p.value * rng.uniform(0.9, 1.2) for p in model.parameter_set}
    known = values(model, tree, q, v, a, 0.4, changed)
    Y = matrix_of(regressor(tree), known)
    standard = standard_parameters(model)
    pi = vector_of(list(standard.values()), known)
    assert Y.shape == (tree.nv, len(standard))
    phi = ReferenceTree(model, changed).inverse_dynamics(q, v, a, 0.4)
    assert error(Y @ pi, phi, float(np.abs(Y * pi).max())) < TIGHT


@settings(max_examples=15)
@given(random_trees(max_bodies=4), st.integers(0, 10**6))
def test_columns_are_the_derivatives_by_each_parameter(model, seed):
    tree = ParameterTree(model, regroup=True)
    q, v, a = random_state(tree, np.random.default_rng(seed))
    known = values(model, tree, q, v, a, 0.4) | dict.fromkeys(tree.symbols.values(), 1.0)
    derivative = matrix_of(jacobian(inverse_dynamics(tree), list(tree.symbols.values())), known)
    Y = matrix_of(regressor(Tree(model)), known)[:, : derivative.shape[1]]
    assert error(derivative, Y) < TIGHT


@settings(max_examples=12)
@given(random_trees(max_bodies=4), st.integers(0, 10**6))
def test_base_parameters_determine_the_forces(model, seed):
    """φ = Y_leading β, with independent columns."""
    tree = Tree(model)
    base = base_parameters(model)
    Y = sampled(tree, regressor(tree), None, 60, seed + 1)
    phi = Y @ base.standard
    assert error(Y[:, list(base.leading)] @ base.values, phi, float(np.abs(Y * base.standard).max())) < 1e-10
    norms = np.linalg.norm(Y, axis=0)
    rank = np.linalg.matrix_rank(Y[:, norms > 1e-9] / norms[norms > 1e-9], tol=1e-9)
    assert base.count == rank
    assert sorted((*base.leading, *base.grouped, *base.absent)) == list(range(len(base.names)))
    assert len(grouped_parameters(model)) + sum(n.endswith(".rotor") for n in base.names) >= base.count


def planar_arm(gravity=(0, -9.81, 0)):
    m = jd.Model("arm", gravity=gravity)
    upper = m.body("upper", mass=2.0, com=(0.2, 0.01, 0.0), inertia=(0.01, 0.03, 0.04))
    lower = m.body("lower", mass=1.0, com=(0.15, 0.0, 0.02), inertia=(0.01, 0.02, 0.03))
    m.revolute("shoulder", m.ground, upper)
    m.revolute("elbow", upper.at(0.5, 0, 0), lower)
    return m


def test_planar_arm_has_the_known_groups():
    """Izz₁ + l²m₂, mcx₁ + l m₂, mcy₁, Izz₂, mcx₂, mcy₂ (Khalil and Dombre)."""
    base = base_parameters(planar_arm())
    groups = {base.relation(k) for k in range(base.count)}
    assert groups == {
        "upper.Izz + 0.25*lower.m", "upper.mcx + 0.5*lower.m", "upper.mcy", "lower.Izz", "lower.mcx", "lower.mcy",
    }  # fmt: skip
    text = str(base)
    assert text.startswith("6 base parameters of 20 standard ones (1 grouped, 13 without influence)")
    assert "upper.mcx + 0.5*lower.m" in text


def test_planar_arm_without_gravity_loses_what_only_weight_shows():
    base = base_parameters(planar_arm(gravity=(0, 0, 0)))
    assert {base.relation(k) for k in range(base.count)} == {
        "upper.Izz + 0.25*lower.m",
        "lower.Izz",
        "lower.mcx",
        "lower.mcy",
    }


def test_closed_form_groups_agree_with_the_numerical_ones():
    model = planar_arm()
    grouped = grouped_parameters(model)
    base = base_parameters(model)
    assert len(grouped) == base.count
    pi = dict(zip(base.names, base.standard, strict=True))
    tree_values = {s: pi[s.name] for e in grouped.values() for s in jd.symbolic.free_symbols([e])}
    found = sorted(float(jd.evaluate(e, tree_values)) for e in grouped.values())
    assert found == pytest.approx(sorted(base.values), rel=1e-9)


def elbow_arm():
    """Six revolute joints of an elbow manipulator with a spherical wrist; axes z y y x y x."""
    m = jd.Model("six")
    before, places = m.ground, [(0, 0, 0), (0.1, 0, 0.3), (0, 0, 0.6), (0.5, 0, 0), (0, 0, 0), (0, 0, 0)]
    for i, (axis, place) in enumerate(zip("zyyxyx", places, strict=True)):
        body = m.body(f"l{i + 1}", mass=1.0 + i, com=(0.1, 0.05, 0.02 * i), inertia=(0.1, 0.11, 0.12, 0.01, 0.005, 0.002))
        m.revolute(f"j{i + 1}", before.at(*place), body, axis=axis)
        before = body
    return m


def test_six_axis_arm_has_as_many_base_parameters_as_in_the_literature():
    """36, as for the PUMA 560, which has the same arrangement of axes (Gautier and Khalil 1990)."""
    model = elbow_arm()
    base = base_parameters(model)
    tree = Tree(model)
    Y = sampled(tree, regressor(tree), None, 60, 5)
    assert base.count == np.linalg.matrix_rank(Y) == 36


def test_parameter_names_and_rotors():
    m = jd.Model("drive")
    hinge = m.revolute("hinge", m.ground, m.body("wheel", mass=1.0, inertia=(1, 1, 1)), rotor_inertia=0.01, gear_ratio=5.0)
    standard = standard_parameters(m)
    assert list(standard)[:2] == ["wheel.m", "wheel.mcx"] and list(standard)[-1] == "hinge.angle.rotor"
    assert float(standard["hinge.angle.rotor"]) == 0.25
    assert regressor(Tree(m))[0][-1] is hinge.acceleration
    groups = base_parameters(m)
    assert "wheel.Izz + hinge.angle.rotor" in [groups.relation(k) for k in range(groups.count)]


def test_nothing_to_identify():
    m = jd.Model("wall")
    m.fixed("screw", m.ground, m.body("shelf", mass=1.0))
    with pytest.raises(InputError, match="'wall' has no free coordinate"):
        base_parameters(m)
