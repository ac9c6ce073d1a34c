"""Modes against closed forms: chains of masses, rotors, dampers, controllers; responses and root loci."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from tests.analysis.mechanisms import FOUR_BAR_GUESS, GRAVITY, central_differences, four_bar, pendulum, reduced_rates


def chain(n: int, mass: float = 2.0, stiffness: float = 50.0, damping: float = 0.0, fixed: bool = True):
    """Masses in a row on springs, the first one tied to the ground if fixed."""
    m = jd.Model("chain", gravity=(0, 0, 0))
    slides = []
    for i in range(n):
        slides.append(m.prismatic(f"x{i}", m.ground.at(float(i), 0, 0), m.body(f"m{i}", mass=mass), axis="x"))
    if fixed:
        m.joint_spring(slides[0], stiffness, damping=damping)
    for i, (a, b) in enumerate(pairwise(slides)):
        stretch, rate = b.position - a.position, b.velocity - a.velocity
        m.force(a, stiffness * stretch + damping * rate, name=f"right{i}")
        m.force(b, -stiffness * stretch - damping * rate, name=f"left{i}")
    return m.compile()


@pytest.mark.parametrize("n", [1, 2, 3, 8, 20])
def test_fixed_free_chain(n):
    modes = chain(n).modal()
    k = np.arange(1, n + 1)
    expected = 2 * np.sqrt(50.0 / 2.0) * np.sin((2 * k - 1) * np.pi / (2 * (2 * n + 1)))
    np.testing.assert_allclose([m.circular_frequency for m in modes.modes], expected, rtol=1e-11)
    for j, m in enumerate(modes.modes):
        shape = np.sin(np.arange(1, n + 1) * (2 * j + 1) * np.pi / (2 * n + 1))
        expected_shape = shape / shape[np.argmax(np.abs(shape) > np.abs(shape).max() * (1 - 1e-9))]
        np.testing.assert_allclose(m.shape, expected_shape, atol=1e-8)
        assert abs(m.damping_ratio) < 1e-9 and m.kind == "oscillation"


def test_free_chain_has_a_rigid_mode():
    modes = chain(4, fixed=False).modal()
    assert len(modes) == 4 and len(modes.rigid) == 1
    np.testing.assert_allclose(modes.rigid[0].shape, np.ones(4), atol=1e-12)
    k = np.arange(1, 4)
    np.testing.assert_allclose([m.circular_frequency for m in modes.modes[1:]], 10.0 * np.sin(k * np.pi / 8), rtol=1e-10)
    assert "rigid" in str(modes)
    assert not modes.unstable


def test_damped_and_unstable_oscillator():
    for damping, zeta in ((2.0, 0.1), (30.0, None), (-2.0, -0.1)):
        s = chain(1, damping=damping)
        modes = s.modal()
        roots = np.roots([2.0, damping, 50.0])
        if zeta is None:
            np.testing.assert_allclose(sorted(m.eigenvalue.real for m in modes.modes), sorted(roots.real), rtol=1e-12)
            assert {m.kind for m in modes.modes} == {"decay"} and modes[0].damping_ratio == 1.0
        else:
            assert modes[0].damping_ratio == pytest.approx(zeta, rel=1e-12)
            assert modes[0].damped_frequency == pytest.approx(abs(roots[0].imag) / (2 * np.pi), rel=1e-12)
            assert bool(modes.unstable) == (damping < 0)
            assert ("UNSTABLE" in str(modes)) == (damping < 0)
            assert modes.table()[0]["frequency"] == pytest.approx(5.0 / (2 * np.pi), rel=1e-12)


def test_slow_modes_of_a_stiff_system_are_not_rigid():
    """Free mass (rigid), slow oscillator (0.2 rad/s) and a very stiff one (1e7 1/s) side by side."""
    m = jd.Model("stiff", gravity=(0, 0, 0))
    for name, mass, k, c in (("free", 1.0, 0.0, 0.0), ("slow", 1.0, 0.04, 0.0), ("stiff", 1e-3, 1e6, 1e4)):
        m.joint_spring(m.prismatic(name, m.ground, m.body(name, mass=mass), axis="x"), k, damping=c)
    modes = m.compile().modal()
    assert len(modes.rigid) == 1 and not modes.unstable
    np.testing.assert_allclose(modes.rigid[0].shape, [1, 0, 0], atol=1e-12)
    assert modes[1].eigenvalue == pytest.approx(0.2j, rel=1e-9)
    roots = np.sort(np.roots([1e-3, 1e4, 1e6]))
    np.testing.assert_allclose([modes[2].eigenvalue.real, modes[3].eigenvalue.real], roots[::-1], rtol=1e-6)


def test_modes_of_a_chain_of_rigid_and_elastic_motion_are_eigenvectors():
    linear = chain(5, damping=0.7, fixed=False).linearise()
    modes = chain(5, damping=0.7, fixed=False).modal()
    for m in modes.modes:
        np.testing.assert_allclose(linear.A @ m.vector, m.eigenvalue * m.vector, atol=1e-10 * max(1.0, np.abs(m.vector).max()))
    assert len(linear.eigenvalues) == 10 and np.sum(linear.eigenvalues == 0) == 2


def rotor(speed: float):
    """A symmetric disk on a turning shaft in springs about its two diameters (a Stodola–Green rotor)."""
    m = jd.Model("rotor", gravity=(0, 0, 0))
    omega = m.parameter("omega", speed)
    frame = m.body("frame", mass=0.0)
    disk = m.body("disk", mass=1.0, inertia=(0.3, 0.3, 0.5))
    tilt = m.universal("tilt", m.ground, frame, axes=("x", "y"))
    for c in ("angle1", "angle2"):
        m.force(tilt, lambda x, v, t: -40.0 * x, coordinate=c)
    m.drive(m.revolute("spin", frame, disk, axis="z"), lambda t: omega * t)
    return m.compile(check=False)


@pytest.mark.parametrize("speed", [0.0, 5.0, 60.0])
def test_gyroscopic_splitting(speed):
    modes = rotor(speed).modal()
    half = 0.5 * 0.5 * speed / 0.3
    expected = sorted([np.sqrt(half**2 + 40.0 / 0.3) - half, np.sqrt(half**2 + 40.0 / 0.3) + half])
    np.testing.assert_allclose([m.circular_frequency for m in modes.modes], expected, rtol=1e-10)
    if speed:
        for m in modes.modes:  # whirling: both tilts of the same size, a quarter of a turn apart
            np.testing.assert_allclose(m.modulus, [1.0, 1.0], rtol=1e-9)
            assert abs(abs(m.phase[1]) - np.pi / 2) < 1e-9
        assert np.sign(modes[0].phase[1]) == -np.sign(modes[1].phase[1]), "one whirls forwards, the other backwards"


def test_rotor_as_a_freely_spinning_body():
    """The same frequencies when the spin is a free coordinate in steady motion, with the spin itself rigid."""
    m = jd.Model("free rotor", gravity=(0, 0, 0))
    disk = m.body("disk", mass=1.0, inertia=(0.3, 0.3, 0.5))
    j = m.sequence("tilt", m.ground, disk, ["Rx", "Ry", "Rz"])
    names = [c.names[0].split(".", 1)[1] for c in j.coordinates]
    for c in names[:2]:
        m.force(j, lambda x, v, t: -40.0 * x, coordinate=c)
    s = m.compile()
    e = s.equilibrium({s.velocity_names[2]: 60.0}, kind="dynamic")
    assert e.held == [s.coordinate_names[2]]
    modes = s.modal(e)
    half = 0.5 * 0.5 * 60.0 / 0.3
    expected = [np.sqrt(half**2 + 40.0 / 0.3) - half, np.sqrt(half**2 + 40.0 / 0.3) + half]
    np.testing.assert_allclose([m.circular_frequency for m in modes.modes if m.kind == "oscillation"], expected, rtol=1e-9)
    assert len(modes.rigid) == 1


def test_spinning_top_in_quaternions():
    """A sleeping top: stable above ω² = 4 m g l A / C², the closed form of its two whirls."""
    A, C, mgl = 0.2, 0.1, 1.0 * GRAVITY * 0.5
    m = jd.Model("top")
    # inertia about the tip: A = I + m l²
    m.spherical("tip", m.ground, m.body("top", mass=1.0, com=(0, 0, 0.5), inertia=(0.2, 0.2, C), about="origin"))
    s = m.compile(check=False)
    critical = np.sqrt(4 * mgl * A) / C
    for speed in (0.9 * critical, 1.1 * critical):
        state = s.state({}, velocities={s.velocity_names[2]: speed})
        modes = s.modal(state)
        # A φ̈ − i(C − …)ω φ̇ − m g l φ = 0 in space axes; in body axes frequencies are shifted by the speed
        roots = np.roots([A, -1j * C * speed, -mgl]) - 1j * speed
        found = np.concatenate([[x.eigenvalue, np.conj(x.eigenvalue)] for x in modes.modes if x.kind == "oscillation"])
        for r in roots:
            assert np.abs(found - r).min() < 1e-8 * abs(r)
        assert bool(modes.unstable) == (speed < critical)


def test_four_bar_modes_do_not_depend_on_the_partition():
    s = four_bar()
    e = s.equilibrium(s.assemble({"A.angle": 0.8}, guess=FOUR_BAR_GUESS))
    reference = s.modal(e)
    for name in ("A", "B", "C"):
        modes = s.modal(e, preferred=[name])
        assert modes[0].eigenvalue == pytest.approx(reference[0].eigenvalue, rel=1e-9)
        np.testing.assert_allclose(modes[0].shape, reference[0].shape, atol=1e-9)
    rates = reduced_rates(s, e.linear, e.state.x, 0.0)
    np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(central_differences(rates, 2))), np.sort_complex(e.eigenvalues), rtol=1e-6)
    moving = reference.motion(1, amplitude=1e-4)
    h = [np.abs(s.function("constraints")(np.zeros(1), q)[0]).max() for q in moving]
    assert max(h) < 1e-7


def test_pid_pendulum():
    kp, ki, kd, l, mass = 40.0, 15.0, 6.0, 0.8, 1.3
    m, hinge = pendulum(l, mass)
    e = m.state("integral")
    m.rate(e, np.pi - hinge.position)
    m.force(hinge, lambda x, v, t: kp * (np.pi - x) + ki * e - kd * v)
    modes = m.compile().modal({"hinge": np.pi})
    inertia = mass * l**2
    closed = np.array([[0, 1, 0], [(mass * GRAVITY * l - kp) / inertia, -kd / inertia, ki / inertia], [-1, 0, 0]])
    expected = np.linalg.eigvals(closed)
    found = [x for v in modes.modes for x in ([v.eigenvalue, np.conj(v.eigenvalue)] if v.kind == "oscillation" else [v.eigenvalue])]
    np.testing.assert_allclose(np.sort_complex(np.array(found)), np.sort_complex(expected), rtol=1e-10)


def test_frequency_response_of_two_masses():
    m = jd.Model("absorber", gravity=(0, 0, 0))
    a = m.prismatic("a", m.ground, m.body("a", mass=2.0), axis="x")
    b = m.prismatic("b", m.ground, m.body("b", mass=0.5), axis="x")
    f = m.input("f")
    m.joint_spring(a, 100.0, damping=1.0)
    m.force(a, 20.0 * (b.position - a.position) + f, name="fa")
    m.force(b, -20.0 * (b.position - a.position), name="fb")
    s = m.compile()
    nu = np.linspace(0.2, 3.0, 7)
    response = s.frequency_response("f", "a.displacement", nu)
    w = 2 * np.pi * nu
    expected = [np.linalg.solve(np.array([[120 - 2 * x**2 + 1j * x, -20], [-20, 20 - 0.5 * x**2]]), [1, 0])[0] for x in w]
    np.testing.assert_allclose(response.values, expected, rtol=1e-11)
    tuned = np.sqrt(20.0 / 0.5) / (2 * np.pi)  # the absorber stops the first mass
    assert s.frequency_response("f", "a.displacement", [tuned]).magnitude[0] < 1e-15
    assert "peak" in str(response)


def test_root_locus_finds_the_loss_of_stability():
    """An inverted pendulum on a torsion spring: stable for k > m g l; equilibrium found again at every value."""
    m, hinge = pendulum(0.5, 2.0)
    k = m.parameter("k", 20.0)
    m.force(hinge, lambda x, v, t: -k * (x - np.pi) - 0.1 * v)
    s = m.compile()
    locus = s.root_locus("k", np.linspace(5.0, 15.0, 41), {"hinge": np.pi})
    assert locus.limits == pytest.approx([2.0 * GRAVITY * 0.5], abs=0.25)
    assert s.parameters["k"] == 20.0
    inertia = 0.5
    for value, row in zip(locus.values, locus.eigenvalues, strict=True):
        np.testing.assert_allclose(np.sort_complex(row), np.sort_complex(np.roots([inertia, 0.1, value - GRAVITY])), rtol=1e-8, atol=1e-8)
    with pytest.raises(jd.InputError, match="neither a parameter nor an input"):
        s.root_locus("nothing", [1.0])


def test_plots(tmp_path):
    m, hinge = pendulum()
    k, f = m.parameter("k", 5.0), m.input("f")
    m.force(hinge, lambda x, v, t: f - k * x - 0.3 * v)
    s = m.compile()
    s.modal().plot(file=tmp_path / "modes.png")
    s.root_locus("k", np.linspace(1.0, 9.0, 5)).plot(file=tmp_path / "locus.png")
    s.frequency_response("f", "hinge", np.geomspace(0.1, 10.0, 50)).plot(file=tmp_path / "response.png")
    assert all((tmp_path / f"{n}.png").stat().st_size > 1000 for n in ("modes", "locus", "response"))


def test_saved_tables(tmp_path):
    m, hinge = pendulum()
    k, f = m.parameter("k", 5.0), m.input("f")
    m.force(hinge, lambda x, v, t: f - k * x - 0.3 * v)
    s = m.compile()
    modes, locus = s.modal(), s.root_locus("k", [1.0, 2.0])
    modes.save(tmp_path / "modes.csv")
    locus.save(tmp_path / "locus.csv")
    s.frequency_response("f", "hinge", [1.0, 2.0]).save(tmp_path / "response.csv")
    head, row = (tmp_path / "modes.csv").read_text(encoding="utf-8").splitlines()
    values = dict(zip(head.split(","), row.split(","), strict=True))
    assert float(values["eigenvalue.im"]) == modes[0].eigenvalue.imag and float(values["hinge.angle.re"]) == 1.0
    table = np.loadtxt(tmp_path / "locus.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(table[:, 0], [1.0, 2.0])
    np.testing.assert_allclose(table[1, 1] + 1j * table[1, 2], locus.eigenvalues[1, 0])


@pytest.mark.parametrize("formulation", ["recursive", "cartesian"])
def test_a_campbell_diagram_over_an_input(formulation: str) -> None:
    """A mass on springs in a rotating frame, its spin an input: ω₀ ± Ω (Coriolis and centrifugal force in closed form)."""
    m = jd.Model("rotating frame", gravity=(0, 0, 0))
    carriage, mass = m.body("carriage", mass=0.0), m.body("mass", mass=2.0)
    x, y = m.prismatic("x", m.ground, carriage, axis="x"), m.prismatic("y", carriage, mass, axis="y")
    spin = m.input("spin", 0.0)
    m.force(x, -50.0 * x.position + 2.0 * spin * (spin * x.position + 2.0 * y.velocity))
    m.force(y, -50.0 * y.position + 2.0 * spin * (spin * y.position - 2.0 * x.velocity))
    s, spins = m.compile(formulation=formulation), np.array([0.0, 1.0, 2.5, 4.0])
    diagram = s.modal(speeds={"spin": spins})
    found = np.sort(np.abs(diagram.eigenvalues.imag), axis=1)[:, ::2]
    np.testing.assert_allclose(found, np.column_stack([5.0 - spins, 5.0 + spins]), atol=1e-6)
    assert diagram.parameter == "spin"
    with pytest.raises(jd.InputError, match="there is no velocity or input 'spinn'; did you mean spin"):
        s.modal(speeds={"spinn": (0.0, 1.0)})


def test_stiff_modes_do_not_hide_slow_ones() -> None:
    """Frequencies of 1 rad/s, 10⁷ rad/s and a rigid motion in one system: none is lost, none grows."""
    m = jd.Model("stiff", gravity=(0, 0, 0))
    for name, stiffness in (("slow", 1.0), ("fast", 1e14), ("free", 0.0)):
        joint = m.prismatic(name, m.ground, m.body(f"{name} body", mass=1.0), axis="x")
        if stiffness:
            m.joint_spring(joint, stiffness=stiffness)
    found = m.compile().modal()
    assert len(found.rigid) == 1 and not found.unstable
    assert [abs(x.eigenvalue) for x in found if x.kind == "oscillation"] == pytest.approx([1.0, 1e7], rel=1e-9)


@pytest.mark.parametrize(
    ("asked", "told"),
    [((0,), "counted from 1 to"), ((-1,), "counted from 1 to"), ((99,), "counted from 1 to"), ((1, 0.1, 10**11), "phases = ")],
)
def test_motions_of_modes_that_are_not_there_are_refused(asked: tuple[Any, ...], told: str) -> None:
    s = jd.library.double_pendulum().compile()
    with pytest.raises(jd.InputError, match=told):
        s.modal(s.equilibrium().state).motion(*asked)
