"""Closed forms: equal to textbook expressions as symbols, equal to the recursion as numbers, and readable."""

import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.errors import InputError
from jourdain.formalisms.equations import Equations
from jourdain.formalisms.explicit import explicit_equations, linearised
from jourdain.formalisms.tree.newton_euler import inverse_dynamics
from jourdain.formalisms.tree.tree import Tree
from jourdain.symbolic import cos, sin
from jourdain.symbolic.derivatives import jvp
from jourdain.symbolic.normal import equal
from tests.formalisms.strategies import error, matrix_of, random_state, random_trees, values, vector_of
from tests.reference import ReferenceTree

TIGHT = 1e-11
SMALL = ("revolute", "prismatic", "helical", "universal", "fixed")


def double_pendulum():
    m = jd.Model("double pendulum", gravity=(0, 0, -9.81))
    m1, m2, l1, l2 = m.parameters(m1=1.2, m2=0.7, l1=0.9, l2=0.6)
    upper, lower = m.body("upper", mass=m1, com=(0, 0, -l1)), m.body("lower", mass=m2, com=(0, 0, -l2))
    m.revolute("shoulder", m.ground, upper, axis="y")
    m.revolute("elbow", upper.at(0, 0, -l1), lower, axis="y")
    return m, (m1, m2, l1, l2)


def cart_pendulum():
    m = jd.Model("cart", gravity=(0, 0, -9.81))
    M, mass, l = m.parameters(M=2.0, m=0.5, l=0.8)
    cart, bob = m.body("cart", mass=M), m.body("bob", mass=mass, com=(0, 0, -l))
    m.prismatic("slide", m.ground, cart, axis="x")
    m.revolute("hinge", cart, bob, axis="-y")
    return m, (M, mass, l)


def spherical_pendulum():
    m = jd.Model("spherical pendulum", gravity=(0, 0, -9.81))
    mass, l = m.parameters(m=1.0, l=0.7)
    m.sequence("pivot", m.ground, m.body("bob", mass=mass, com=(0, 0, -l)), ["Rz", "Ry"])
    return m, (mass, l)


def top():
    m = jd.Model("top", gravity=(0, 0, -9.81))
    mass, l, A, C = m.parameters(m=1.0, l=0.3, A=0.5, C=0.2)
    body = m.body("top", mass=mass, com=(0, 0, l), inertia=(A, A, C), about="origin")
    m.spherical("tip", m.ground, body, orientation="zxz")
    return m, (mass, l, A, C)


def all_equal(found, expected):
    return all(equal(a, b) is True for a, b in zip(found, expected, strict=True))


# --- textbook ----------------------------------------------------------------------------------------------------


def test_double_pendulum_is_the_textbooks():
    m, (m1, m2, l1, l2) = double_pendulum()
    e = explicit_equations(m)
    (q1, q2), (v1, v2), g = e.q, e.v, -m.gravity.z
    coupling = m2 * l2**2 + m2 * l1 * l2 * cos(q2)
    M = [(m1 + m2) * l1**2 + m2 * l2**2 + 2 * m2 * l1 * l2 * cos(q2), coupling, coupling, m2 * l2**2]
    assert all_equal([x for row in e.mass for x in row], M)
    h = m2 * l1 * l2 * sin(q2)
    assert all_equal(e.coriolis, [-h * (2 * v1 * v2 + v2**2), h * v1**2])
    tip = m2 * g * l2 * sin(q1 + q2)
    assert all_equal(e.gravity, [(m1 + m2) * g * l1 * sin(q1) + tip, tip])
    assert all_equal([x for row in e.coriolis_matrix for x in row], [-h * v2, -h * (v1 + v2), h * v1, v1 * 0])


def test_double_pendulum_reads_well():
    m, _ = double_pendulum()
    assert str(explicit_equations(m)).splitlines() == [
        "(2*m2*l1*l2*cos(q2) + (m1 + m2)*l1^2 + m2*l2^2)*q1'' + (m2*l1*l2*cos(q2) + m2*l2^2)*q2'' "
        "- 2*m2*l1*l2*sin(q2)*q1'*q2' - m2*l1*l2*sin(q2)*q2'^2 + (m1 + m2)*g*l1*sin(q1) + m2*g*l2*sin(q1 + q2) = 0",
        "(m2*l1*l2*cos(q2) + m2*l2^2)*q1'' + m2*l2^2*q2'' + m2*l1*l2*sin(q2)*q1'^2 + m2*g*l2*sin(q1 + q2) = 0",
        "where q1 = shoulder.angle, q2 = elbow.angle, g = -gravity_z",
    ]


def test_cart_pendulum_is_the_textbooks():
    m, (M, mass, l) = cart_pendulum()
    e = explicit_equations(m, names={"slide.displacement": "x", "hinge.angle": "theta"})
    (_, theta), (_, rate) = e.q, e.v
    assert all_equal([x for row in e.mass for x in row], [M + mass, mass * l * cos(theta), mass * l * cos(theta), mass * l**2])
    assert all_equal(e.coriolis, [-mass * l * sin(theta) * rate**2, 0 * l])
    assert all_equal(e.gravity, [0 * l, -mass * m.gravity.z * l * sin(theta)])
    assert e.text().splitlines()[0] == "(M + m)*x'' + m*l*cos(theta)*theta'' - m*l*sin(theta)*theta'^2 = 0"
    assert r"(M + m) \ddot{x} + m l \cos(\theta) \ddot{\theta} - m l \sin(\theta) \dot{\theta}^{2} &= 0" in e.latex()


def test_two_link_arm_is_the_textbooks():
    """Craig, Introduction to Robotics: centres of mass at c, inertias about them."""
    m = jd.Model("arm", gravity=(0, -9.81, 0))
    m1, m2, l1, c1, c2, I1, I2 = m.parameters(m1=2.0, m2=1.0, l1=0.5, c1=0.2, c2=0.3, I1=0.04, I2=0.02)
    upper = m.body("upper", mass=m1, com=(c1, 0, 0), inertia=(0, 0, I1))
    lower = m.body("lower", mass=m2, com=(c2, 0, 0), inertia=(0, 0, I2))
    m.revolute("j1", m.ground, upper)
    m.revolute("j2", upper.at(l1, 0, 0), lower)
    e = explicit_equations(m)
    (q1, q2), (v1, v2), g = e.q, e.v, -m.gravity.y
    M12 = I2 + m2 * (c2**2 + l1 * c2 * cos(q2))
    M11 = I1 + I2 + m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * cos(q2))
    assert all_equal([x for row in e.mass for x in row], [M11, M12, M12, I2 + m2 * c2**2])
    h = m2 * l1 * c2 * sin(q2)
    assert all_equal(e.coriolis, [-h * v2**2 - 2 * h * v1 * v2, h * v1**2])
    tip = m2 * g * c2 * cos(q1 + q2)
    assert all_equal(e.gravity, [(m1 * c1 + m2 * l1) * g * cos(q1) + tip, tip])


def test_spherical_pendulum_is_the_textbooks():
    m, (mass, l) = spherical_pendulum()
    e = explicit_equations(m)
    (_, theta), (turn, rate) = e.q, e.v
    assert all_equal([x for row in e.mass for x in row], [mass * l**2 * sin(theta) ** 2, 0 * l, 0 * l, mass * l**2])
    swing = mass * l**2 * sin(theta) * cos(theta)
    assert all_equal(e.coriolis, [2 * swing * turn * rate, -swing * turn**2])
    assert "m*l^2*sin(q2)^2*q1''" in e.text()


def test_top_is_the_textbooks():
    """Heavy symmetric top in Euler's angles ψ, θ, φ."""
    m, (mass, l, A, C) = top()
    e = explicit_equations(m)
    (_, theta, _), (psi, nutation, spin) = e.q, e.v
    s, c = sin(theta), cos(theta)
    M = [A * s**2 + C * c**2, 0 * A, C * c, 0 * A, A, 0 * A, C * c, 0 * A, C]
    assert all_equal([x for row in e.mass for x in row], M)
    h = [
        2 * (A - C) * s * c * psi * nutation - C * s * nutation * spin,
        (C - A) * s * c * psi**2 + C * s * psi * spin,
        -C * s * psi * nutation,
    ]
    assert all_equal(e.coriolis, h)
    assert all_equal(e.gravity, [0 * A, mass * m.gravity.z * l * s, 0 * A])


def test_euler_equations_of_a_free_body():
    m = jd.Model("body", gravity=(0, 0, 0))
    A, B, C = m.parameters(A=1.0, B=2.0, C=2.5)
    m.spherical("pivot", m.ground, m.body("body", mass=1.0, inertia=(A, B, C)))
    e = explicit_equations(m)
    assert e.text().splitlines()[0] == "A*omega_x' - (B - C)*omega_y*omega_z = 0"
    with pytest.raises(InputError, match="need q' = v; choose an orientation sequence"):
        e.coriolis_matrix  # noqa: B018


def test_chain_of_parallel_joints_has_only_sums_of_consecutive_angles():
    m = jd.Model("chain")
    before = m.ground
    for i in range(4):
        mass, l = m.parameters(**{f"m{i}": 1.0, f"l{i}": 1.0})
        body = m.body(f"b{i}", mass=mass, com=(l, 0, 0))
        m.revolute(f"j{i}", before if i == 0 else before.at(l, 0, 0), body, axis="y")
        before = body
    e = explicit_equations(m)
    text = e.text()
    assert "cos(q3 + q4)" in text and "cos(q2 + q3 + q4)" in text
    assert " - q" not in text.replace("where", "") and "cos(q1)*cos" not in text


# --- numbers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("simplify", [True, False])
@settings(max_examples=10)
@given(model=random_trees(max_bodies=2, massless=False, joints=SMALL), seed=st.integers(0, 10**6))
def test_terms_equal_the_reference(model, seed, simplify):
    tree = Tree(model)
    q, v, a = random_state(tree, np.random.default_rng(seed))
    t = 0.4
    known = values(model, tree, q, v, a, t)
    reference = ReferenceTree(model)
    try:
        e = explicit_equations(model, simplify, largest=200)
    except InputError as refused:
        assert "fill pages" in str(refused)
        return
    M = reference.mass_matrix(q, t)
    assert error(matrix_of(e.mass, known), M) < TIGHT
    phi = reference.inverse_dynamics(q, v, a, t)
    assert error(vector_of(e.left, known), phi, float(np.abs(M).max() + 10.0)) < TIGHT
    weight = reference.bias(q, 0 * v, t) if not tree.prescribed else None
    if weight is not None:
        assert error(vector_of(e.gravity, known), weight, 1.0) < TIGHT


def test_coriolis_matrix_makes_the_rate_of_mass_skew(rng):
    m, _ = double_pendulum()
    e = explicit_equations(m)
    tree = Tree(m)
    q, v, a = random_state(tree, rng)
    known = values(m, tree, q, v, a)
    C = matrix_of(e.coriolis_matrix, known)
    rates = jvp([x for row in e.mass for x in row], dict(zip(e.q, e.v, strict=True)))
    S = vector_of(rates, known).reshape(2, 2) - 2 * C
    assert error(S, -S.T) < 1e-14 and np.abs(S).max() > 1e-3
    assert error(C @ v, vector_of(e.coriolis, known)) < 1e-14


def test_loads_and_constraints_stand_on_the_right():
    m = jd.Model("crank", gravity=(0, 0, 0))
    r, l, k = m.parameters(r=0.04, l=0.13, k=100.0)
    crank, rod = m.body("crank", mass=1.0, inertia=(1, 1, 1)), m.body("rod", mass=0.5)
    piston = m.body("piston", mass=0.4)
    m.revolute("main", m.ground, crank, axis="y", damping=0.1)
    m.revolute("pin", crank.at(r, 0, 0), rod, axis="y")
    m.prismatic("guide", m.ground, piston, axis="x", stiffness=k)
    m.revolute("wrist", rod.at(l, 0, 0), piston, axis="y")
    e = explicit_equations(m)
    assert all_equal([e.loads[0], e.loads[2]], [-0.1 * e.v[0], -k * e.q[2]])
    eq = Equations(m)
    assert all_equal(e.constraints, [row.expression for row in eq.rows])
    lines = e.text().splitlines()
    assert lines[2] == "0.4*q3'' = lambda_1 - k*q3"
    assert "lambda_1 of wrist[1]" in lines[-1]


# --- linear ------------------------------------------------------------------------------------------------------


def test_linear_double_pendulum():
    m, (m1, m2, l1, l2) = double_pendulum()
    linear = linearised(m)
    g = -m.gravity.z
    M12 = m2 * l2 * (l1 + l2)
    assert all_equal([x for row in linear.mass for x in row], [m1 * l1**2 + m2 * (l1 + l2) ** 2, M12, M12, m2 * l2**2])
    K = [g * (m1 * l1 + m2 * (l1 + l2)), m2 * g * l2, m2 * g * l2, m2 * g * l2]
    assert all_equal([x for row in linear.stiffness for x in row], K)
    assert all(x.is_zero for table in (linear.damping, linear.gyroscopic, linear.circulatory) for row in table for x in row)
    assert "K[1,2] = m2*g*l2" in str(linear)


def test_upright_is_a_right_angle_without_rounding():
    m, (_, mass, l) = cart_pendulum()
    linear = linearised(m, at={"hinge.angle": np.pi})
    assert all(f.is_zero for f in linear.force)
    assert equal(linear.stiffness[1][1], mass * m.gravity.z * l) is True
    assert equal(linear.mass[0][1], -mass * l) is True


def test_linear_about_motion_equals_complex_steps(rng):
    """D, G, K, N of the spinning top about a steady precession, against derivatives of the reference dynamics."""
    m, _ = top()
    at = {"tip.rx": 0.6, "tip.rz_rate": 1.1, "tip.rz2_rate": 9.0, "tip.rx_acc": 0.4}
    linear = linearised(m, at=at)
    known = dict(zip(m.parameter_set.symbols, m.parameter_set.values(), strict=True))
    q0, v0, a0 = np.array([0.0, 0.6, 0.0]), np.array([1.1, 0.0, 9.0]), np.array([0.0, 0.4, 0.0])
    eq = Equations(m)
    phi = inverse_dynamics(eq.tree)

    def slope(kind, j):
        q, v, a = (x.astype(complex) for x in (q0, v0, a0))
        (q if kind == "q" else v)[j] += 1e-30j
        return vector_of(phi, values(m, eq.tree, q, v, a)).imag / 1e-30

    K, D = (np.column_stack([slope(kind, j) for j in range(3)]) for kind in "qv")
    assert error(matrix_of(linear.stiffness, known) + matrix_of(linear.circulatory, known), K) < TIGHT
    assert error(matrix_of(linear.damping, known) + matrix_of(linear.gyroscopic, known), D) < TIGHT
    G = matrix_of(linear.gyroscopic, known)
    assert error(G, -G.T) < 1e-15 and np.abs(G).max() > 0.1
    assert error(vector_of(linear.force, known), ReferenceTree(m).inverse_dynamics(q0, v0, a0)) < TIGHT


# --- messages and typesetting ------------------------------------------------------------------------------------


def test_large_models_are_refused_with_the_way_out():
    m = jd.Model("robot")
    before = m.ground
    for i in range(6):
        body = m.body(f"b{i}", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1, 1, 1))
        m.revolute(f"j{i}", before.at(0.1, 0.2, 0.3), body, axis="zyx"[i % 3])
        before = body
    with pytest.raises(InputError, match=r"'robot' with 6 velocities needs \d+ additions.*raise largest="):
        explicit_equations(m)


def test_wrong_names_are_refused():
    m, _ = double_pendulum()
    with pytest.raises(InputError, match=r"no coordinate 'knee.angle'; there are shoulder.angle, elbow.angle"):
        explicit_equations(m, names={"knee.angle": "phi"})
    with pytest.raises(InputError, match=r"no coordinate 'knee.angle'"):
        linearised(m, at={"knee.angle": 0.1})
    wall = jd.Model("wall")
    wall.fixed("screw", wall.ground, wall.body("shelf", mass=1.0))
    with pytest.raises(InputError, match="'wall' has no free coordinate"):
        explicit_equations(wall)


def test_latex_breaks_long_equations_and_balances_braces():
    m, _ = double_pendulum()
    e = explicit_equations(m, names={"shoulder.angle": "theta1", "elbow.angle": "theta2"})
    for text in (e.latex(width=40), e.latex_matrices(), linearised(m).latex()):
        assert text.startswith("\\begin{align*}\n") and text.endswith("\n\\end{align*}")
        assert text.count("{") == text.count("}")
    assert r"\\" + "\n& \\quad - 2 m_{2}" in e.latex(width=40) and r"\ddot{\theta}_{1}" in e.latex()


def test_latex_compiles(tmp_path, tool):
    pdflatex = tool("pdflatex")
    m, _ = double_pendulum()
    e = explicit_equations(m)
    body = "\n".join((e.latex(), e.latex_matrices(), linearised(m).latex()))
    (tmp_path / "e.tex").write_text("\\documentclass{article}\\usepackage{amsmath}\\begin{document}" + body + "\\end{document}")
    done = subprocess.run([pdflatex, "-interaction=nonstopmode", "e.tex"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]


# --- the model in words ------------------------------------------------------------------------------------------


def test_description_of_a_mechanism_with_a_loop():
    m = jd.Model("engine")
    r = m.parameter("r", 0.04, unit="m", bounds=(0.0, None), description="crank radius")
    crank, rod, piston = m.body("crank", mass=1.0), m.body("rod", mass=0.5), m.body("piston", mass=0.4)
    m.revolute("main", m.ground, crank, axis="y")
    m.revolute("pin", crank.at(r, 0, 0), rod, axis="y")
    m.revolute("wrist", rod.at(0.13, 0, 0), piston, axis="y")
    m.prismatic("guide", m.ground, piston, axis="x")
    text = m.describe()
    assert text.startswith(str(m))
    assert "3 bodies, 4 joints, 1 loop: 3 positions, 3 velocities, 2 constraints, at least 1 degree of freedom." in text
    assert "Loops: the joint 'wrist' is cut and held by 2 constraints" in text
    (row,) = (line for line in text.splitlines() if line.startswith("  r "))
    assert row.split() == ["r", "0.04", "m", "crank", "radius,", "between", "0", "and", "∞"]


def test_description_names_the_formalism_that_is_used():
    def chain(n, **options):
        m = jd.Model("chain")
        before = m.ground
        for i in range(n):
            body = m.body(f"b{i}", mass=1.0, com=(0.5, 0, 0), inertia=(1, 1, 1))
            m.revolute(f"j{i}", before.at(1.0, 0, 0), body, axis="zyx"[i % 3], **options)
            before = body
        return m

    assert "factored mass matrix, because the tree is flat: a link has 2.0 freedoms" in chain(3).describe()
    assert "articulated bodies, because the tree is deep: a link has 10.5 freedoms" in chain(20).describe()
    assert "as straight-line code, because" in chain(3).describe()
    assert "as a loop over links, because about 66 000 operations are above 50 000" in chain(600).describe()
    screw = jd.Model("screw")
    screw.helical("nut", screw.ground, screw.body("nut", mass=1.0, inertia=(1, 1, 1)), pitch=0.01)
    assert "factored mass matrix, because the tree is flat: a link has 1.5 freedoms" in screw.describe()


def test_description_of_prescribed_and_shared_coordinates():
    m = jd.Model("gears")
    a, b, c = (m.body(n, mass=1.0, inertia=(1, 1, 1)) for n in "abc")
    lead = m.revolute("lead", m.ground, a)
    m.revolute("follow", m.ground, b, mimic=(lead, -2.0, 0.0))
    m.drive(m.revolute("motor", m.ground, c), lambda t: 3.0 * t)
    text = m.describe()
    assert "free; also moves follow" in text and "driven: 3*t" in text
    assert "'motor.angle' follows a function of time and has no equation of motion" in text


def test_thirds_are_written_as_thirds() -> None:
    m = jd.Model("rod")
    mass, l = m.parameters(m=1.0, l=0.8)
    m.revolute("hinge", m.ground, m.body("rod", mass=mass, com=(0, 0, -l / 2), inertia=(mass * l**2 / 12,) * 2 + (0,)), axis="y")
    s = m.compile()
    assert str(s.equations()).splitlines()[0] == "m*l^2*q1''/3 + 0.5*m*g*l*sin(q1) = 0"
    assert r"\frac{1}{3} m l^{2}" in s.equations("latex")
