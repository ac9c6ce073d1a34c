"""Rods with mass: exact inertia in every function of the tree, against energies, bodies on universal joints and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.formalisms.tree.composite_body import mass_matrix
from jourdain.formalisms.tree.coriolis import coriolis_matrix, gravity_vector
from jourdain.formalisms.tree.derivatives import inverse_dynamics_derivatives
from jourdain.formalisms.tree.energy import kinetic_energy, potential_energy
from jourdain.formalisms.tree.kinematics import Kinematics
from jourdain.formalisms.tree.momentum import centroidal_momentum_matrix, momentum, momentum_rate
from jourdain.formalisms.tree.newton_euler import inverse_dynamics
from jourdain.formalisms.tree.rods import rods_with_mass
from jourdain.formalisms.tree.tree import Tree
from jourdain.library import suspensions
from jourdain.model.fingerprint import fingerprint
from tests.formalisms.strategies import error, matrix_of, random_state, random_trees, retract, values, vector_of

seeds = st.integers(0, 10**6)
T = 0.7
OPTIONS = [{}, {"centre": 0.3}, {"centre": 0.6, "inertia": 0.2}]


def with_rods(model, seed):
    """The model with one to three rods between random points of random bodies (their lengths do not matter to the tree)."""
    rng = np.random.default_rng(seed)
    bodies = model.all_bodies
    for i in range(int(rng.integers(1, 4))):
        a, b = rng.choice(len(bodies), 2, replace=False)
        ends = [bodies[k].at(*rng.uniform(-0.5, 0.5, 3)) for k in (a, b)]
        model.rod(f"rod{i}", *ends, length=1.1, mass=float(rng.uniform(0.3, 2.0)), **OPTIONS[i % 3])
        if i == 0 and rng.random() < 0.5:  # several rods between the same bodies
            for j in range(3):
                ends = [bodies[k].at(*rng.uniform(-0.5, 0.5, 3)) for k in (a, b)]
                model.rod(f"more{j}", *ends, length=0.9, mass=0.7)
    return model


def at(model, tree, seed):
    q, v, a = random_state(tree, np.random.default_rng(seed))
    return q, v, a, values(model, tree, q, v, a, T)


@settings(max_examples=40)
@given(random_trees(max_bodies=5), seeds)
def test_mass_matrix_is_the_hessian_of_the_energy(model, seed):
    with_rods(model, seed)
    tree = Tree(model)
    _, _, _, known = at(model, tree, seed)
    momenta = jd.symbolic.derivatives.jacobian([kinetic_energy(Kinematics(tree))], tree.v)[0]
    expected = matrix_of(jd.symbolic.derivatives.jacobian(momenta, tree.v), known)
    assert error(matrix_of(mass_matrix(tree), known), expected) < 1e-12


@settings(max_examples=40)
@given(random_trees(max_bodies=5), seeds)
def test_bias_is_what_the_rods_ends_ask_for(model, seed):
    """Against the tree without rods and Jᵀ M^r (J̇v + J a − g) of every rod."""
    plain = matrix_free = Tree(model)
    before = inverse_dynamics(matrix_free)
    with_rods(model, seed)
    tree = Tree(model)
    _, _, _, known = at(model, tree, seed)
    expected = vector_of(before, known)
    k = Kinematics(plain)
    g = np.array([float(e) for e in jd.evaluate(list(model.gravity), known)])
    for rod in rods_with_mass(model):
        J = [matrix_of([list(c) for c in k.jacobian(f)[0]], known) for f in (rod.a, rod.b)]
        r = [vector_of(list(k.acceleration(f)), known) - g for f in (rod.a, rod.b)]
        x, y, z = (float(e) for e in jd.evaluate([rod.inertia.at_a, rod.inertia.coupling, rod.inertia.at_b], known))
        expected = expected + J[0] @ (x * r[0] + y * r[1]) + J[1] @ (y * r[0] + z * r[1])
    assert error(vector_of(inverse_dynamics(tree), known), expected) < 1e-11


@settings(max_examples=20)
@given(random_trees(max_bodies=4, prescribed=False), seeds)
def test_derivatives_coriolis_gravity_and_momentum_include_rods(model, seed):
    with_rods(model, seed)
    tree = Tree(model)
    q, v, a, known = at(model, tree, seed)
    phi = inverse_dynamics(tree)
    dq, dv, M = inverse_dynamics_derivatives(tree)
    h = 1e-30
    moved = [values(model, tree, retract(tree, q, 1j * h * e), v, a, T) for e in np.eye(tree.nv)]
    expected = np.column_stack([vector_of(phi, m).imag / h for m in moved])
    assert error(matrix_of(dq, known), expected) < 1e-10
    C, gravity = matrix_of(coriolis_matrix(tree), known), vector_of(gravity_vector(tree), known)
    assert error(C @ v + gravity, vector_of(inverse_dynamics(tree, acceleration=False), known)) < 1e-11
    flow = values(model, tree, retract(tree, q, 1j * h * v), v, a, T)
    rate = matrix_of(mass_matrix(tree), flow).imag / h
    skew = rate - 2 * C
    assert np.abs(skew + skew.T).max() < 1e-10 * max(1.0, np.abs(rate).max())
    slope = np.array([vector_of([potential_energy(Kinematics(tree))], m)[0].imag / h for m in moved])
    assert error(gravity, slope, 1.0) < 1e-11
    k = Kinematics(tree)
    p, _ = momentum(k)
    A = matrix_of(centroidal_momentum_matrix(k), known)
    assert error(A[:3] @ v, vector_of(list(p), known), 1.0) < 1e-11
    force, moment = momentum_rate(k)
    along = values(model, tree, retract(tree, q, 1j * h * v), v + 1j * h * a, a, T)
    p, L = momentum(k)
    assert error(vector_of([*force, *moment], known), vector_of([*p, *L], along).imag / h, 1.0) < 1e-10


# --- the same rod as a body --------------------------------------------------------------------------------------


def crank_and_rocker(rod: str, **options):
    """The RSSR four-bar of test system S4 with its coupler as a rod or as a body."""
    m = jd.Model("RSSR")
    crank = m.body("crank", mass=0.5, com=(0.05, 0, 0), inertia=(0, 0.5 * 0.1**2 / 12, 0.5 * 0.1**2 / 12))
    rocker = m.body("rocker", mass=1.2, com=(0, 0, 0.15), inertia=(1.2 * 0.3**2 / 12, 1.2 * 0.3**2 / 12, 0))
    m.revolute("crank", m.ground, crank, axis="z")
    m.revolute("rocker", m.ground.at(0.35, 0.25, 0), rocker, axis="x")
    a, b = crank.at(0.1, 0, 0), rocker.at(0, 0, 0.3)
    if rod == "rod":
        m.rod("coupler", a, b, 0.52, **options)
        return m
    centre, mass = options.get("centre", 0.5), options["mass"]
    inertia = options.get("inertia", mass * 0.52**2 / 12)
    bar = m.body("coupler", mass=mass, com=(0.52 * centre, 0, 0), inertia=(0, inertia, inertia))
    m.universal("inner", a, bar, axes=("z", "y"))
    m.close("coupler", bar.at(0.52, 0, 0), b, "ball")
    return m


def accelerations(system, state):
    from jourdain.systems.outputs.reactions import constrained_accelerations

    return constrained_accelerations(system, np.array([0.0]), state.x[None], system.input_values()[None])[0][0]


@pytest.mark.parametrize("options", [{"mass": 0.9}, {"mass": 0.9, "centre": 0.35}, {"mass": 0.9, "centre": 0.6, "inertia": 0.03}])
def test_a_rod_moves_and_pulls_as_the_same_rod_kept_as_a_body(options):
    found = []
    for kind in ("rod", "body"):
        s = crank_and_rocker(kind, **options).compile()
        guess = {"rocker.angle": -0.4} | ({"inner.angle1": 0.6, "inner.angle2": -0.5} if kind == "body" else {})
        state = s.assemble({"crank.angle": 0.3}, guess=guess, velocities={"crank.angle": 4.0})
        sol = s.simulate(state, 0.05, rtol=1e-10, atol=1e-12, times=[0.0, 0.05])
        forces = {n: sol[f"{n}.reaction"][-1] for n in ("crank", "rocker", "coupler")}
        found.append((accelerations(s, state)[:2], sol["crank.angle"][-1], sol["energy.total"], forces))
    (a, x, e, f), (b, y, d, g) = found
    np.testing.assert_allclose(a, b, rtol=1e-11)
    assert x == pytest.approx(y, abs=1e-9)
    np.testing.assert_allclose(e, d, rtol=1e-9)
    for name in f:
        np.testing.assert_allclose(f[name], g[name], atol=1e-6 * np.abs(g[name]).max())


@pytest.mark.parametrize(("mass", "crank", "rocker"), [(0.9, 21.527318127, -13.803093993), (None, 25.459889624, -15.838857682)])
def test_accelerations_of_the_rssr(mass, crank, rocker):
    s = crank_and_rocker("rod", mass=mass).compile()
    state = s.assemble({"crank.angle": 0.0}, guess={"rocker.angle": -0.4}, velocities={"crank.angle": 12.0})
    assert state["rocker.angle"] == pytest.approx(-0.378291530164, abs=1e-12)
    assert state["rocker.angle_rate"] == pytest.approx(-6.212007662381, abs=1e-11)
    np.testing.assert_allclose(accelerations(s, state), [crank, rocker], atol=1e-9)
    if mass:
        assert s.energy(state.q, state.v) == pytest.approx([1.863285934721, 4.734953017173 - 1.863285934721], abs=1e-11)


@pytest.mark.parametrize(("mass", "expected"), [(3.0, -12.085402176012), (None, None)])
@pytest.mark.parametrize("rate", [0.0, 1.7])
def test_parallelogram(mass, expected, rate):
    """θ̈ = −(m_c + m_k) g sin θ/((m_c + ⅔ m_k) a): the coupler does not turn, its whole mass moves with the cranks' ends."""
    a, mk, mc = 0.5, 1.0, mass or 0.0
    m = jd.Model("parallelogram")
    bars = [m.body(f"crank{i}", mass=mk, com=(0, 0, -a / 2), inertia=(mk * a**2 / 12, mk * a**2 / 12, 0)) for i in (1, 2)]
    for i, bar in enumerate(bars, 1):
        m.revolute(f"crank{i}", m.ground.at(0.8 * (i - 1), 0, 0), bar, axis="-y")
    m.rod("coupler", bars[0].at(0, 0, -a), bars[1].at(0, 0, -a), 0.8, mass=mass)
    s = m.compile()
    state = s.assemble({"crank1.angle": 0.6}, guess={"crank2.angle": 0.6}, velocities={"crank1.angle": rate})
    closed = -(mc + mk) * 9.81 * np.sin(0.6) / ((mc + 2 * mk / 3) * a)
    np.testing.assert_allclose(accelerations(s, state), closed, rtol=1e-11)
    if expected:
        assert closed == pytest.approx(expected, abs=1e-11)


def test_removed_rods_are_the_same_mechanics_as_rods_kept_as_bodies():
    independent = ("rear.spin.angle", "rear.float.z", "frame.displacement")
    given, rates = dict(zip(independent, (0.2, 0.03, -0.02), strict=True)), dict(zip(independent, (3.0, 0.4, -0.1), strict=True))
    found = {}
    for rods in suspensions.RODS:
        s = suspensions.five_link_suspension(rods).compile()
        a = dict(zip(s.velocity_names, accelerations(s, s.assemble(given, velocities=rates)), strict=True))
        found[rods] = [a[f"{n}_rate"] for n in independent]
    np.testing.assert_allclose(found["removed"], found["bodies"], rtol=1e-10)
    # printed lengths of the rods are rounded to 1e-9 m
    np.testing.assert_allclose(found["removed"], [-13.489988864, -167.557476892, 4.551265103], rtol=3e-9)
    np.testing.assert_allclose(found["massless"], [-14.063008239, -174.691241084, 4.255631073], rtol=3e-9)


# --- the model ---------------------------------------------------------------------------------------------------


def test_fingerprint_file_and_copy_hold_the_mass(tmp_path):
    plain, heavy, other = (crank_and_rocker("rod", **o) for o in ({}, {"mass": 0.9}, {"mass": 0.9, "centre": 0.4}))
    assert len({fingerprint(m) for m in (plain, heavy, other)}) == 3
    other.save(tmp_path / "rod.toml")
    again = jd.load_model(tmp_path / "rod.toml")
    assert [float(e) for e in (again.constraints["coupler"].inertia.at_a, again.constraints["coupler"].inertia.coupling)] == pytest.approx(
        [0.9 * (1 - 0.8 + 1 / 12 + 0.16), 0.9 * (0.4 - 1 / 12 - 0.16)]
    )
    whole = jd.Model("two")
    whole.include(other, "left")
    assert float(whole.constraints["left.coupler"].inertia.mass) == pytest.approx(0.9)


def test_bad_rods_are_refused():
    m = jd.Model("bad")
    a, b = m.body("a", mass=1.0), m.body("b", mass=1.0)
    with pytest.raises(jd.ModelError, match="closure 'r': the rod's mass -1 kg is negative"):
        m.rod("r", a, b, 1.0, mass=-1.0)
    with pytest.raises(jd.ModelError, match="needs its mass="):
        m.rod("r", a, b, 1.0, centre=0.3)
    with pytest.raises(jd.ModelError, match="centre of mass at 1.5 of the length lies beyond"):
        m.rod("r", a, b, 1.0, mass=1.0, centre=1.5)
    with pytest.raises(jd.ModelError, match="only a rod has a mass"):
        m.close("r", a, b, "ball", mass=1.0)
    heavy = crank_and_rocker("rod", mass=0.9).compile()
    with pytest.raises(jd.InputError, match="the mass of rod 'coupler' is no parameter of a body"):
        heavy.function("regressor")
