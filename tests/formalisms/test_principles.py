"""Every principle leads to the same equations: as symbols for textbook systems, as numbers for random ones; and they print."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.cli import main
from jourdain.errors import InputError
from jourdain.formalisms.principles import PRINCIPLES, derive, least_constraint, quadratic_program
from jourdain.formalisms.tree.tree import Tree
from jourdain.library.course import course_slider_crank, crank_at
from jourdain.library.mechanisms import andrews, double_pendulum, four_bar, heavy_top, rssr
from jourdain.library.nonholonomic import chaplygin_sleigh, rolling_disk
from jourdain.symbolic import cos, sin
from jourdain.symbolic.normal import equal
from jourdain.symbolic.sympy_bridge import to_sympy
from jourdain.systems.outputs.reactions import constrained_accelerations
from tests.formalisms.strategies import error, random_state, random_trees
from tests.reference import ReferenceTree

TIGHT = 1e-12


def sleigh_speeds(m):
    x, y, heading = m.joints["sleigh"].coordinates
    angle = heading.q[0]
    return {"speed": cos(angle) * x.v[0] + sin(angle) * y.v[0], "turn": heading.v[0]}


def disk_speeds(m):
    place, spin = m.joints["disk"], m.joints["spin"]
    heading, lean = place.coordinate("rz"), place.coordinate("rx")
    tilt = lean.q[0]
    return {"omega1": lean.v[0], "omega2": heading.v[0] * sin(tilt), "omega3": heading.v[0] * cos(tilt) + spin.velocity}


# --- the same equations as symbols ---------------------------------------------------------------------------------


@pytest.mark.parametrize("principle", [p for p in PRINCIPLES if p != "lagrange"])
@pytest.mark.parametrize(
    "system", ["double pendulum", "sleigh", "sleigh, quasi-velocities", "disk", "disk, quasi-velocities", "top", "slider-crank"]
)
def test_same_equations_as_lagrange(system, principle):
    quasi = None
    if system == "double pendulum":
        m = double_pendulum()
    elif system == "top":
        m = heavy_top(orientation="zxz")
    elif system == "slider-crank":
        m = course_slider_crank()
    else:
        m = chaplygin_sleigh() if "sleigh" in system else rolling_disk()
        if "quasi" in system:
            quasi = sleigh_speeds(m) if "sleigh" in system else disk_speeds(m)
    found, expected = derive(m, principle, quasi), derive(m, "lagrange", quasi)
    assert [equal(a, b) for a, b in zip(found.residuals, expected.residuals, strict=True)] == [True] * len(expected.residuals)


def test_a_wrong_term_is_noticed():
    m = double_pendulum()
    found, expected = derive(m, "gauss").residuals, derive(m, "lagrange").residuals
    assert equal(found[0] + 1e-6 * m.joints["elbow"].velocity, expected[0]) is False


@pytest.mark.parametrize(("principle", "system"), [("gauss", "double pendulum"), ("gibbs-appell", "sleigh"), ("kane", "sleigh")])
def test_difference_simplifies_to_zero_in_sympy(principle, system):
    """The same proof by another algebra."""
    sympy = pytest.importorskip("sympy")
    m = double_pendulum() if system == "double pendulum" else chaplygin_sleigh()
    quasi = sleigh_speeds(m) if system == "sleigh" else None
    for a, b in zip(derive(m, principle, quasi).residuals, derive(m, "lagrange", quasi).residuals, strict=True):
        assert sympy.simplify(sympy.nsimplify(to_sympy(a - b), rational=True)) == 0


def test_sleigh_is_the_textbooks():
    """m(v̇ − a ω²) = 0 and (I + m a²) ω̇ + m a v ω = 0 (Chaplygin)."""
    m = chaplygin_sleigh()
    d = derive(m, "jourdain", sleigh_speeds(m))
    mass, inertia, a = (m.parameter_set[n].symbol for n in ("mass", "inertia", "distance"))
    (v, w), (v_dot, w_dot) = d.speeds.u, d.speeds.u_dot
    assert equal(d.equations[0], mass * (v_dot - a * w**2)) is True
    assert equal(d.equations[1], (inertia + mass * a**2) * w_dot + mass * a * v * w) is True


def test_rolling_disk_is_the_textbooks():
    """With A = m r²/4: 5A ω̇₁ + 6A ω₂ω₃ − A ω₂² cot θ + m g r cos θ = 0, ω̇₂ + ω₁ω₂ cot θ − 2 ω₁ω₃ = 0, 3 ω̇₃ − 2 ω₁ω₂ = 0."""
    m = rolling_disk()
    tilt = m.joints["disk"].coordinate("rx").q[0]
    d = derive(m, "gibbs-appell", disk_speeds(m), positive=[sin(tilt)])
    M, r = (m.parameter_set[n].symbol for n in ("mass", "radius"))
    (w1, w2, w3), (d1, d2, d3) = d.speeds.u, d.speeds.u_dot
    A, cot = M * r**2 / 4, cos(tilt) / sin(tilt)
    assert equal(d.equations[0], 5 * A * d1 + 6 * A * w2 * w3 - A * w2**2 * cot - M * m.gravity.z * r * cos(tilt)) is True
    assert equal(d.equations[1], A * (d2 + w1 * w2 * cot - 2 * w1 * w3)) is True
    assert equal(d.equations[2], 2 * A * (3 * d3 - 2 * w1 * w2)) is True


# --- the same accelerations as numbers -----------------------------------------------------------------------------


@settings(max_examples=12)
@given(random_trees(max_bodies=3), st.integers(0, 10**6))
def test_random_trees(model, seed):
    """All principles give the accelerations of an independent calculation with spatial vectors."""
    tree = Tree(model)
    q, v, _ = random_state(tree, np.random.default_rng(seed))
    t = 0.4
    expected = ReferenceTree(model).forward_dynamics(q, v, np.zeros(tree.nv), t)
    quaternions = any(c.is_quaternion for c in tree.coordinates)
    for principle in PRINCIPLES:
        if principle == "lagrange" and quaternions:
            continue
        assert error(derive(model, principle).accelerations(q, v, t), expected, 1.0) < 2e-11 * len(q), principle


def loaded_four_bar():
    m = four_bar()
    m.spring("spring", m.bodies["coupler"].at(0.4, 0.1, 0), m.ground.at(0.2, 0.9, 0), stiffness=30.0, length=0.5, damping=2.0)
    m.force(m.joints["crank"], m.input("torque", 1.5), name="drive")
    m.force(m.joints["rocker"], lambda x, v, t: -0.3 * v, name="brake")
    m.load("wind", m.bodies["rocker"].at(0.3, 0, 0), force=(0.4, 0.2, 0))
    return m


def mechanisms():
    return {
        "four-bar with loads": (loaded_four_bar(), {"crank": 0.7}, {"coupler": 0.3, "rocker": 1.4}),
        "slider-crank": (course_slider_crank(), {"crank": 1.0}, {"coupler": -1.0, "slider": 0.4}),
        "RSSR": (rssr(), {"crank": 0.4}, {"rocker": 0.5}),
        "sleigh": (chaplygin_sleigh(), {"sleigh.angle": 0.4}, {}),
        "disk": (rolling_disk(), {"disk.rx": 1.1, "disk.rz": 0.3}, {"disk.z": 0.08}),
        "squeezer": (andrews(), {"beta": -0.06}, {"gamma": 0.46, "Phi": 0.22, "delta": 0.49, "Omega": -0.22, "epsilon": 1.23}),
    }


@pytest.mark.parametrize("which", list(mechanisms()))
def test_mechanisms(which):
    """Loops, loads and rolling: accelerations of every principle equal those of the compiled constrained system."""
    m, fixed, guess = mechanisms()[which]
    s = m.compile()
    start = s.assemble(fixed, guess=guess)
    rng = np.random.default_rng(3)
    J = s.function("descriptor")([0.0], start.x, s.input_values())[2]
    v = rng.normal(size=s.nv)
    v -= np.linalg.pinv(J) @ (J @ v)
    x = np.concatenate([start.q, v])
    expected, lam = constrained_accelerations(s, np.zeros(1), x[None], s.input_values()[None])
    for principle in PRINCIPLES:
        assert error(derive(m, principle).accelerations(start.q, v), expected[0]) < TIGHT, principle
    forces = [found for name, found in derive(m, "lagrange").solve(start.q, v).items() if name.startswith("lambda")]
    assert error(forces, lam[0]) < 1e-11


def test_constraints_that_depend_on_time():
    """A pendulum whose cart is moved by a constraint x = A sin Ω t: v = B u + b(t), and the force of the constraint."""
    m = jd.Model("moving_pivot", gravity=(0, -9.81, 0))
    slide = m.prismatic("slide", m.ground, m.body("cart", mass=2.0), axis="x")
    hinge = m.revolute("hinge", m.bodies["cart"], m.body("bob", mass=0.5, com=(0, -0.8, 0)), axis="z")
    m.constraint("shaker", slide.position - 0.1 * sin(3.0 * m.time))
    t, angle, rate = 0.37, 0.6, 1.3
    x, v, a = 0.1 * np.sin(3 * t), 0.3 * np.cos(3 * t), -0.9 * np.sin(3 * t)
    turning = -(9.81 * np.sin(angle) + a * np.cos(angle)) / 0.8
    force = 2.5 * a + 0.5 * 0.8 * (turning * np.cos(angle) - rate**2 * np.sin(angle))
    for principle in PRINCIPLES:
        d = derive(m, principle)
        assert d.speeds.names == ["hinge.angle_rate"]
        assert error(d.accelerations([x, angle], [v, rate], t), [a, turning]) < TIGHT, principle
    assert derive(m, "lagrange").solve([x, angle], [v, rate], t)["lambda_shaker"] == pytest.approx(force, rel=1e-12)
    assert hinge.name in derive(m, "virtual-work").text()


@pytest.mark.parametrize("which", ["four-bar with loads", "slider-crank", "squeezer"])
def test_reactions_of_free_bodies(which):
    """Reactions solved from the free bodies' equations are those that the recursion finds from accelerations and multipliers."""
    m, fixed, guess = mechanisms()[which]
    s = m.compile()
    start = s.assemble(fixed, guess=guess)
    found = derive(m, "newton-euler").solve(start.q, start.v)
    expected = {name: np.concatenate(pair) for name, pair in s.reactions(start).items()}
    size = max(np.abs(w).max() for w in expected.values())
    for branch in m.topology.branches:
        joint = branch.joint.name
        wrench = [found[f"{letter}_{joint}_{x}"] for letter in "FL" for x in "xyz"]
        assert error(wrench, expected[joint], size) < 1e-11, joint


def test_quasi_velocities_do_not_change_the_motion():
    m = rolling_disk()
    s = m.compile()
    start = s.assemble({"disk.rx": 1.2}, guess={"disk.z": 0.09}, velocities={"spin.angle_rate": 3.0, "disk.rz_rate": 0.5})
    a = derive(m, "kane").accelerations(start.q, start.v)
    assert error(derive(m, "kane", disk_speeds(m)).accelerations(start.q, start.v), a) < TIGHT
    chosen = derive(m, "kane", ["disk.rz_rate", "disk.rx_rate", "disk.x_rate"])
    assert error(chosen.accelerations(start.q, start.v), a) < TIGHT


# --- Gauss ---------------------------------------------------------------------------------------------------------


def test_least_constraint_with_redundant_rows():
    """Duplicated constraints change nothing; the result meets them and is a minimum."""
    m, fixed, guess = mechanisms()["slider-crank"]
    start = m.compile().assemble(fixed, guess=guess, velocities={"crank.angle_rate": 2.0})
    d = derive(m, "gauss")
    M, f, J, gamma = quadratic_program(d, start.q, start.v)
    once = least_constraint(M, f, J, gamma)
    assert error(least_constraint(M, f, np.vstack([J, 3.0 * J[:1]]), np.append(gamma, 3.0 * gamma[0])), once) < TIGHT
    assert error(d.accelerations(start.q, start.v), once) < TIGHT
    assert np.abs(J @ once - gamma).max() < 1e-11 * np.abs(gamma).max()
    allowed = np.linalg.svd(J)[2][len(J) :].T
    assert np.abs(allowed.T @ (M @ once - f)).max() < 1e-12


def test_particle_on_a_sphere():
    """λ of (r·r − R²)/(2R) = 0 is the outward force −m(v² + g·r)/R."""
    m = jd.Model("particle", gravity=(0, 0, -9.81))
    mass, R = m.parameters(m=0.7, R=1.3)
    joint = m.sequence("at", m.ground, m.body("particle", mass=mass), ["Tx", "Ty", "Tz"])
    x, y, z = (c.q[0] for c in joint.coordinates)
    m.constraint("sphere", (x * x + y * y + z * z - R**2) / (2 * R))
    r = 1.3 * np.array([0.36, 0.48, 0.8])
    v = np.cross(r, [0.3, -0.5, 1.1])
    found = derive(m, "lagrange").solve(r, v)
    force = -0.7 * (v @ v + np.array([0, 0, -9.81]) @ r) / 1.3
    assert found["lambda_sphere"] == pytest.approx(force, rel=1e-13)
    expected = np.array([0, 0, -9.81]) + force / 0.7 * r / 1.3
    for principle in PRINCIPLES:
        assert error(derive(m, principle).accelerations(r, v), expected) < TIGHT, principle


def test_a_body_that_lifts_off_is_a_quadratic_program():
    """With a one-sided floor the minimum of Gauss's measure is free fall or rest, whichever constrains less."""
    M, f = np.eye(1) * 2.0, np.array([-2.0 * 9.81])
    held, free = least_constraint(M, f, np.eye(1), np.zeros(1)), least_constraint(M, f, np.zeros((0, 1)), np.zeros(0))
    assert held[0] == 0.0
    assert free[0] == pytest.approx(-9.81)


# --- what is printed -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("principle", list(PRINCIPLES))
def test_prints(principle):
    m = double_pendulum()
    d = derive(m, principle)
    text = d.text()
    assert text == str(d)
    for word in ("double pendulum", "shoulder''", "m1", "upper", "g = -gravity_y"):
        assert word in text
    latex = d.latex()
    assert latex.count(r"\begin{align*}") == latex.count(r"\end{align*}") > 0
    for line in latex.splitlines():
        assert line.count("{") == line.count("}"), line
    assert not re.search(r"(?<!\\)_(?![{^\w])", latex)
    assert d.markdown().count("$$") % 2 == 0
    assert d._repr_markdown_() == d.markdown()


@pytest.mark.parametrize("principle", list(PRINCIPLES))
def test_page_holds_mathematics(principle):
    pytest.importorskip("latex2mathml")
    page = derive(chaplygin_sleigh(), principle).html()
    assert page.count("<math") > 2
    assert "bigl" not in page


def test_lines_are_not_too_long():
    text = derive(course_slider_crank(), "newton-euler").text()
    assert max(map(len, text.splitlines())) < 160


def test_names_of_the_user():
    text = derive(double_pendulum(), "lagrange", names={"shoulder.angle": "theta1", "elbow.angle": "theta2"}).text()
    assert "theta1''" in text
    assert "shoulder''" not in text


def test_names_taken_already_are_written_in_full():
    text = derive(four_bar(), "jourdain").text()
    assert "crank_angle''" in text


def test_redundant_constraints_are_named():
    m = course_slider_crank()
    crank, coupler, slider = (m.joints[n].position for n in ("crank", "coupler", "slider"))
    m.constraint("again", slider - 0.152 * cos(crank) - 0.305 * cos(crank + coupler))
    d = derive(m, "lagrange")
    assert d.speeds.redundant == ["again"]
    assert "Redundant, without multiplier of their own: again" in d.text()
    start = crank_at(m.compile(), 1.0, 2.0)
    plain = derive(course_slider_crank(), "lagrange").accelerations(start.q, start.v)
    for principle in PRINCIPLES:
        assert error(derive(m, principle).accelerations(start.q, start.v), plain) < 1e-11


def test_command(capsys):
    assert main(["derive", "jourdain.library.mechanisms:double_pendulum", "--principle", "gauss"]) == 0
    assert "Gauss's principle of least constraint" in capsys.readouterr().out
    assert main(["derive", "jourdain.library.nonholonomic:chaplygin_sleigh", "--latex"]) == 0
    assert r"\begin{align*}" in capsys.readouterr().out


# --- errors --------------------------------------------------------------------------------------------------------


def test_errors_name_the_remedy():
    m = double_pendulum()
    with pytest.raises(InputError, match="'newton' is unknown; use one of newton-euler"):
        derive(m, "newton")
    with pytest.raises(InputError, match="orientation sequence such as 'zxz'"):
        derive(heavy_top(), "lagrange")
    with pytest.raises(InputError, match="give 2 quasi-velocities, not 1"):
        derive(m, "kane", ["shoulder.angle_rate"])
    with pytest.raises(InputError, match="not linear in the velocities"):
        derive(m, "kane", {"a": m.joints["shoulder"].velocity ** 2, "b": m.joints["elbow"].velocity})
    with pytest.raises(InputError, match="do not determine the velocities"):
        derive(m, "kane", {"a": m.joints["elbow"].velocity, "b": 2 * m.joints["elbow"].velocity})
    with pytest.raises(InputError, match="there is no velocity 'knee'"):
        derive(m, "kane", ["knee", "elbow"])
    with pytest.raises(InputError, match="neither a Model nor a compiled system"):
        derive("pendulum")
    nothing = jd.Model("nothing")
    nothing.body("block", mass=1.0)
    nothing.joint("fixed", "weld", nothing.ground, nothing.bodies["block"])
    with pytest.raises(InputError, match="has no free coordinate"):
        derive(nothing)


def test_singular_choice_is_reported():
    """The slider's velocity determines nothing when crank and coupler stand in line."""
    m = course_slider_crank()
    d = derive(m, "kane", ["slider.displacement_rate"])
    with pytest.raises(InputError, match="the independent velocities slider.displacement_rate do not determine the others"):
        d.accelerations([0.0, 0.0, 0.457], [1.0, -1.5, 0.0])


def test_compiled_system_is_taken_too():
    m = double_pendulum()
    assert derive(m.compile(), "kane").title == derive(m, "kane").title
