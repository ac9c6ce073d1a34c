"""Equilibrium and modes of assembled systems against closed forms and the tree engine."""

import numpy as np
import pytest
from scipy.linalg import eigvalsh_tridiagonal

import jourdain as jd
from jourdain.elements.carriers import Ground
from jourdain.elements.element import Composite, Element, Internal
from jourdain.elements.pairs import Revolute
from jourdain.elements.rigid import DirectorBody
from jourdain.systems.assembled.system import AssembledSystem
from tests.systems.assembled.assembled_models import LENGTH, Particle, chain, planar_pendulum


class Spring(Element):
    """A spring of rest length 1 from the origin with a dashpot across it, and a weight along −y."""

    blocks = {"p": 2}
    constants = {"stiffness": 1, "damping": 1, "weight": 1}

    def potential(self, s):
        r2 = s.p[0] * s.p[0] + s.p[1] * s.p[1]
        return [Composite(lambda x: 0.5 * s.stiffness * (jd.sqrt(x) - 1.0) ** 2, (r2,)), s.weight * s.p[1]]

    def internal(self, s):
        moved = [b - a for a, b in zip(s.at0.p, s.at1.p, strict=True)]
        work = s.damping / s.h * (moved[0] * moved[0] + moved[1] * moved[1])
        return Internal({("p", i): s.damping / s.h * moved[i] for i in range(2)}, dissipated=work)


def spring(damping=0.0):
    s = AssembledSystem("spring")
    p = s.coordinates("p", 2, (0.6, -0.9))
    s.add(Particle(), "mass", {"p": p}, {"mass": 2.0})
    s.add(Spring(), "spring", {"p": p}, {"stiffness": 100.0, "damping": damping, "weight": 20.0})
    return s


def test_equilibrium_and_modes_of_a_spring_pendulum():
    s = spring()
    found = s.equilibrium()
    assert found.q == pytest.approx([0.0, -1.2], abs=1e-9)
    assert found.imbalance < 1e-6
    # along the spring √(k/m), across it √(g/l) with the stretched length
    modes = s.modal(found.q)
    assert modes.frequencies * 2 * np.pi == pytest.approx([np.sqrt(20.0 / 2.0 / 1.2), np.sqrt(50.0)], rel=1e-7)
    assert modes.damping == pytest.approx([0.0, 0.0], abs=1e-9)


def test_damping_ratios():
    s = spring(damping=4.0)
    modes = s.modal(np.array([0.0, -1.2]))
    omega = np.array([np.sqrt(10.0 / 1.2), np.sqrt(50.0)])
    assert np.abs(modes.eigenvalues) == pytest.approx(omega, rel=1e-6)
    assert modes.damping == pytest.approx(4.0 / (2 * 2.0 * omega), rel=1e-6)


@pytest.mark.parametrize("reduction", ["none", "bodies"])
def test_double_pendulum_hangs_down_and_swings_like_the_tree(reduction):
    s = planar_pendulum(2, turns=0.0)
    found = s.equilibrium(reduction)
    assert found.q[12:14] == pytest.approx([0.0, -LENGTH], abs=1e-8)
    # −λ carries the weight of both rods
    assert found.multipliers["pin0.y"] == pytest.approx(-4.0 * 9.81, rel=1e-8)
    m = jd.Model("planar", gravity=(0, -9.81, 0))
    first, second = (m.body(n, mass=2.0, com=(0.4, 0, 0), inertia=(0.05, 0.05, 0.1)) for n in ("first", "second"))
    m.revolute("a", m.ground, first, axis="z")
    m.revolute("b", first.at(LENGTH, 0, 0), second, axis="z")
    system = m.compile()
    expected = sorted(system.modal(system.state({"a.angle": -np.pi / 2})).frequencies)
    assert s.modal(found.q).frequencies == pytest.approx(expected, rel=1e-7)


def test_spatial_chain_has_the_modes_of_its_swing():
    s = chain(1)
    found = s.equilibrium("bodies")
    modes = s.modal(found.q)
    assert modes.eigenvalues.size == 3
    # turning about the vertical is free, two swings remain
    assert modes.frequencies[0] == pytest.approx(0.0, abs=1e-4)
    assert np.all(modes.frequencies[1:] > 0.5)
    assert modes.shapes.shape == (24, 3)


class Bead(Element):
    """A point mass in a plane, with its weight along −y."""

    blocks = {"p": 2}
    constants = {"mass": 1, "gravity": 1}

    def mass(self, s):
        return {("p", i, "p", i): s.mass for i in range(2)}

    def potential(self, s):
        return [s.mass * s.gravity * s.p[1]]


class Link(Element):
    """A massless rigid link between two points."""

    blocks = {"a": 2, "b": 2}
    constants = {"length": 1}

    def constraints(self, s):
        x, y = s.b[0] - s.a[0], s.b[1] - s.a[1]
        return [("length", [0.5 * (x * x + y * y - s.length * s.length)])]


def beads(n, twice=False):
    """n beads on links of length 0.1 hanging down; ``twice`` gives every link two constraints that coincide."""
    s = AssembledSystem("beads")
    last = s.coordinates("ground", 2, 0.0, fixed=True)
    for i in range(n):
        p = s.coordinates(f"p{i}", 2, (0.0, -0.1 * (i + 1)))
        s.add(Bead(), f"bead{i}", {"p": p}, {"mass": 0.3, "gravity": 9.81})
        for k in range(2 if twice else 1):
            s.add(Link(), f"link{i}.{k}", {"a": last, "b": p}, {"length": 0.1})
        last = p
    return s


@pytest.mark.parametrize("twice", [False, True])
def test_hanging_string_of_beads_swings_at_the_zeros_of_a_laguerre_polynomial(twice):
    """ω² l/g are the zeros of L_N (Lagrange 1762; Levinson, J. Sound Vib. 49, 1976)."""
    n = 200
    modes = beads(n, twice).modal(count=12)
    zeros = eigvalsh_tridiagonal(2.0 * np.arange(n) + 1.0, np.arange(1.0, n))[:12]
    assert modes.frequencies == pytest.approx(np.sqrt(98.1 * zeros) / (2 * np.pi), rel=1e-7)
    assert np.all(modes.eigenvalues.imag > 0.0)
    assert np.abs(modes.damping).max() < 1e-12
    assert np.abs(modes.shapes[3::2]).max() < 1e-8 * np.abs(modes.shapes).max()  # all is across


class Damper(Element):
    """A spring and a dashpot between neighbours on a line."""

    blocks = {"a": 1, "b": 1}
    constants = {"stiffness": 1, "damping": 1}

    def potential(self, s):
        return [0.5 * s.stiffness * (s.b[0] - s.a[0]) ** 2]

    def internal(self, s):
        force = s.damping / s.h * (s.at1.b[0] - s.at0.b[0] - s.at1.a[0] + s.at0.a[0])
        return Internal({("b", 0): force, ("a", 0): -force}, dissipated=force * (s.at1.b[0] - s.at0.b[0] - s.at1.a[0] + s.at0.a[0]))


class Bob(Element):
    """A mass on a line."""

    blocks = {"x": 1}
    constants = {"mass": 1}

    def mass(self, s):
        return {("x", 0, "x", 0): s.mass}


def line(n, damping, held=True):
    s = AssembledSystem("line")
    last = s.coordinates("left", 1, 0.0, fixed=True) if held else None
    for i in range(n):
        x = s.coordinates(f"x{i}", 1, 0.0)
        s.add(Bob(), f"bob{i}", {"x": x}, {"mass": 0.5})
        if last is not None:
            s.add(Damper(), f"spring{i}", {"a": last, "b": x}, {"stiffness": 200.0, "damping": damping})
        last = x
    if held:
        s.add(Damper(), "end", {"a": last, "b": s.coordinates("right", 1, 0.0, fixed=True)}, {"stiffness": 200.0, "damping": damping})
    return s


@pytest.mark.parametrize("damping", [0.0, 0.4])
def test_string_of_masses_with_dashpots(damping):
    """λ² + s (c λ + k)/m = 0 with s = 4 sin²(π j / 2(N + 1))."""
    n, count = 400, 7
    modes = line(n, damping).modal(count=count)
    s = 4.0 * np.sin(np.pi * np.arange(1, count + 1) / (2 * (n + 1))) ** 2
    exact = np.array([r[np.argmax(r.imag)] for r in (np.roots([1.0, damping * x / 0.5, 200.0 * x / 0.5]) for x in s)])
    assert modes.eigenvalues.imag == pytest.approx(exact.imag, rel=1e-8)
    assert modes.eigenvalues.real == pytest.approx(exact.real, abs=1e-8)


def test_free_string_keeps_its_rigid_mode():
    modes = line(400, 0.0, held=False).modal(count=3)
    exact = np.sqrt(400.0) * 2.0 * np.sin(np.pi * np.arange(3) / 800.0) / (2 * np.pi)
    assert modes.frequencies == pytest.approx(exact, abs=1e-7)


@pytest.mark.parametrize("damping", [0.0, 0.4])
def test_sparse_modes_are_the_dense_ones(damping, monkeypatch):
    from jourdain.systems.assembled import statics as assembled_static

    monkeypatch.setattr(assembled_static, "DENSE_SIZE", 10)
    system = line(60, damping)
    sparse, dense = system.modal(count=10), system.modal()
    assert sparse.eigenvalues == pytest.approx(dense.eigenvalues[:10], rel=1e-8, abs=1e-8)
    for a, b in zip(sparse.shapes.T, dense.shapes.T, strict=False):
        assert abs(np.vdot(a, b)) == pytest.approx(np.linalg.norm(a) * np.linalg.norm(b), rel=1e-7)


def test_modes_of_a_long_pendulum_are_those_of_the_tree():
    n, count = 52, 8
    s = AssembledSystem("hanging")
    down = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    numbers = DirectorBody.numbers(2.0, (0.05, 0.06, 0.1), (0.4, 0.0, 0.0), (0.0, 0.0, -9.81))
    last = None
    m = jd.Model("hanging", gravity=(0, 0, -9.81))
    before = m.ground
    for i in range(n):
        q = DirectorBody.coordinates_of((0.0, 0.0, -LENGTH * i), down)
        body, pair = s.coordinates(f"b{i}", 12, q), Revolute() if last else Revolute(a=Ground())
        s.add(DirectorBody(), f"mass{i}", {"body": body}, numbers)
        axis = (1, 0, 0) if i % 2 else (0, 1, 0)
        blocks = {"a": last[0], "b": body} if last else {"b": body}
        s.add(pair, f"j{i}", blocks, pair.place((0, 0, -LENGTH * i), axis, last[1] if last else None, q))
        last = body, q
        rod = m.body(f"rod{i}", mass=2.0, com=(0, 0, -0.4), inertia=(0.1, 0.06, 0.05))
        m.revolute(f"r{i}", before.at(0, 0, -LENGTH) if i else m.ground, rod, axis="x" if i % 2 else "y")
        before = rod
    expected = sorted(m.compile().modal().frequencies)[:count]
    assert s.modal(count=count).frequencies == pytest.approx(expected, rel=1e-7)


def test_many_equal_modes_are_all_found():
    """Rods on balls turn freely about their axes: as many zero frequencies as rods, which one Lanczos run does not find."""
    n = 30
    s = chain(n)
    q = s.equilibrium("bodies").q
    modes = s.modal(q, count=n + 4)
    assert np.all(modes.frequencies[:n] < 1e-4)
    assert np.all(modes.frequencies[n:] > 0.05)


def test_questions_that_cannot_be_answered():
    with pytest.raises(jd.errors.InputError, match="count = 0"):
        spring().modal(count=0)
    with pytest.raises(jd.errors.InputError, match="give a small count"):
        line(3100, 0.0).modal()


class Maxwell(Element):
    """A spring to the ground, and beside it a spring in series with a dashpot: ż = (x − z)/τ."""

    blocks = {"x": 1, "z": 1}
    constants = {"stiffness": 1, "series": 1, "time": 1}
    first_order = ("z",)

    def potential(self, s):
        return [0.5 * s.stiffness * s.x[0] * s.x[0]]

    def external(self, s):
        return {("x", 0): s.series * (s.mid.z[0] - s.mid.x[0])}

    def rates(self, s):
        return {("z", 0): (s.mid.x[0] - s.mid.z[0]) / s.time}


def relaxing(n):
    """n bobs on a line, coupled, each on a Maxwell element of its own relaxation time."""
    s = line(n, 0.0, held=False)
    for i in range(n):
        z = s.coordinates(f"z{i}", 1, 0.0)
        s.add(Maxwell(), f"maxwell{i}", {"x": s.handles[i], "z": z}, {"stiffness": 30.0, "series": 80.0, "time": 0.05 + 0.01 * i})
    return s


def test_modes_with_states_of_first_order(monkeypatch):
    from jourdain.systems.assembled import statics as assembled_static

    exact = np.roots([0.5 * 0.05, 0.5, 110.0 * 0.05, 30.0])  # (m λ² + k + c)(τ λ + 1) = c
    found = relaxing(1).modal().eigenvalues
    assert sorted(found, key=lambda x: x.imag) == pytest.approx(sorted(exact[exact.imag >= 0.0], key=lambda x: x.imag), rel=1e-7)
    monkeypatch.setattr(assembled_static, "DENSE_SIZE", 10)
    system = relaxing(40)
    sparse, dense = system.modal(count=8), system.modal()
    assert dense.eigenvalues.size == 80  # a pair and a real eigenvalue for each bob
    assert sparse.eigenvalues == pytest.approx(dense.eigenvalues[:8], rel=1e-6)
