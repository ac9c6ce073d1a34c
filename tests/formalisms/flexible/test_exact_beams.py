"""Beams by Ritz functions with exact kinematics: order 2 in the small, closed forms in the large, every formulation, energy, a geometrically exact beam."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

import jourdain as jd

from .test_ritz_beams import BLADE, STEEL, integrated

st = jd.structures
SQUARE = st.rectangle(0.02, 0.03)
SORTS = {"plane": {"bending": (2, 0), "shear": (1, 0), "extension": 1}, "space": {"bending": (1, 1), "torsion": 1}}


def beam(order: int | str = "exact", **options: object) -> st.ReducedStructure:
    return st.ritz_beam(1.0, SQUARE, STEEL, order=order, **options)  # type: ignore[arg-type]


def amplitudes(part: st.ReducedStructure, size: float, seed: int = 0) -> np.ndarray:
    return size * np.random.default_rng(seed).normal(size=part.modes) / np.arange(1, part.modes + 1)


@pytest.mark.parametrize("options", [{"bending": (3, 0)}, {"bending": 2, "torsion": 2, "shear": 1, "extension": 1}])
def test_10_6_places_and_turns_are_those_of_the_differential_equations(options: dict) -> None:
    part = beam(**options)
    e = amplitudes(part, 0.3)
    coarse, fine = (integrated(part.field, e, n) for n in (200, 400))  # type: ignore[attr-defined]
    x, R = ((4.0 * b - a) / 3.0 for a, b in zip(coarse, fine, strict=True))
    reach = part.points["end"].reach
    found = part.fields.place(reach, e)  # type: ignore[union-attr]
    np.testing.assert_allclose(found[0], x, atol=3e-7)
    np.testing.assert_allclose(found[1], R, atol=3e-7)
    np.testing.assert_allclose(found[1] @ found[1].T, np.eye(3), atol=1e-14)


def test_10_7_slopes_against_differences() -> None:
    part = beam(bending=2, torsion=1, shear=1)
    e, h = amplitudes(part, 0.3), 1e-6
    reach, fields = part.points["end"].reach, part.fields
    _, R, by, turns = fields.place(reach, e)  # type: ignore[union-attr]
    for i, d in enumerate(np.eye(part.modes)):
        (xa, Ra, *_), (xb, Rb, *_) = (fields.place(reach, e + s * h * d) for s in (-1, 1))  # type: ignore[union-attr]
        np.testing.assert_allclose(by[:, i], (xb - xa) / (2 * h), atol=1e-8)
        W = (Rb - Ra) / (2 * h) @ R.T
        np.testing.assert_allclose(turns[:, i], [W[2, 1], W[0, 2], W[1, 0]], atol=1e-8)


@pytest.mark.parametrize("sort", SORTS)
def test_small_amplitudes_are_those_of_second_order(sort: str) -> None:
    """Places differ in the third order of the amplitudes."""
    second, exact = beam(2, **SORTS[sort]), beam(**SORTS[sort])
    missed = []
    for size in (0.02, 0.01):
        e, p = amplitudes(exact, size), second.points["end"]
        place = p.position + p.phi_t @ e + 0.5 * np.einsum("aij,i,j->a", p.psi_t, e, e)
        missed.append(np.abs(exact.fields.place(exact.points["end"].reach, e)[0] - place).max())  # type: ignore[union-attr]
    assert np.log2(missed[0] / missed[1]) == pytest.approx(3.0, abs=0.25)
    np.testing.assert_allclose(exact.mass_matrix(), second.mass_matrix(), atol=1e-7 * exact.mass)


def hung(sort: str, node: str) -> jd.Model:
    """A beam that flies, held in a free joint at one of its nodes, with a body on a hinge at another, and gravity."""
    m = jd.Model("beam", gravity=(0, 0, -9.81))
    link = m.flexible_body("beam", beam(stations=6, **SORTS[sort]))
    m.free("joint", m.ground, link.node(node))
    tip = m.body("tip", mass=1.0, inertia=(0.1, 0.2, 0.3))
    m.revolute("hinge", link.node("end" if node != "end" else (0.5, 0, 0)), tip.at(0.1, 0, 0), axis="z")
    return m


def start(s: jd.System, size: float = 0.2) -> jd.State:
    rng = np.random.default_rng(3)
    q = {n: size * rng.normal() for n in s.coordinate_names if n.startswith(("beam.", "hinge"))}
    v = {n: rng.normal() for n in s.velocity_names}
    return s.state(q, v)


@pytest.mark.parametrize("node", ["start", "end"])
@pytest.mark.parametrize("sort", SORTS)
def test_every_formulation_gives_the_same(sort: str, node: str) -> None:
    """Accelerations by recursion, semi-recursion and Cartesian coordinates, and a mass matrix that is symmetric and positive at large amplitudes."""
    m = hung(sort, node)
    s = m.compile()
    x = start(s)
    expected = s.accelerations(x)
    for formulation in ("semi-recursive", "cartesian"):
        np.testing.assert_allclose(
            m.compile(formulation=formulation).accelerations(x), expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max()
        )
    M = s.mass_matrix(x.q)
    np.testing.assert_allclose(M, M.T, atol=1e-14 * np.abs(M).max())
    assert np.linalg.eigvalsh(M).min() > 0.0
    for formulation in ("natural",):
        with pytest.raises(jd.JourdainError, match="flexible|beam"):
            m.compile(formulation=formulation)


def test_mass_matrix_is_that_of_the_structure() -> None:
    m = jd.Model("free", gravity=(0, 0, 0))
    link = m.flexible_body("beam", beam(**SORTS["space"]))
    m.free("joint", m.ground, link)
    s = m.compile()
    e = amplitudes(link.part, 0.4)
    M = s.mass_matrix(s.state({c.names[0]: float(x) for c, x in zip(link.modes, e, strict=True)}).q)
    np.testing.assert_allclose(M, link.part.mass_matrix(e), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("sort", SORTS)
def test_10_9_energy_and_momentum_of_a_beam_that_flies(sort: str) -> None:
    m = jd.Model("free", gravity=(0, 0, 0))
    link = m.flexible_body(
        "beam", st.ritz_beam(1.0, BLADE, STEEL, order="exact", stations=6, **({**SORTS[sort], "shear": 0, "extension": 0}))
    )
    m.free("joint", m.ground, link.node("end"))
    s = m.compile()
    q = {c.names[0]: 0.3 / (i + 1) ** 2 for i, c in enumerate(link.modes)}
    sol = s.simulate(
        s.state(q, {"joint.orientation.omega_z": 2.0, "joint.orientation.omega_x": 1.0}), t=0.05, rtol=1e-12, atol=1e-13, method="dop853"
    )
    assert np.ptp(sol["energy.error"]) < 1e-9 * np.abs(sol["energy.total"]).max()
    q, v = (np.column_stack([sol[n] for n in names]) for names in (s.coordinate_names, s.velocity_names))
    P, H, _ = s.function("momentum")(q, v)
    assert np.ptp(P, axis=0).max() < 1e-8 * np.abs(P).max()
    assert np.ptp(H, axis=0).max() < 1e-8 * np.abs(H).max()


def cantilever(part: st.ReducedStructure, **load: object) -> jd.System:
    m = jd.Model("cantilever", gravity=(0, 0, 0))
    link = m.flexible_body("beam", part)
    m.fixed("clamp", m.ground, link.node("start"))
    m.load("load", link.node("end"), **load)  # type: ignore[arg-type]
    return m.compile()


def tip_of(s: jd.System) -> np.ndarray:
    """Where the tip is in equilibrium."""
    y = s.equilibrium(s.state()).state
    part = s.model.bodies["beam"].part  # type: ignore[attr-defined]
    return np.asarray(part.fields.place(part.points["end"].reach, y.q)[0])


@pytest.mark.parametrize("bending", [(1, 0), (0, 1)])
@pytest.mark.parametrize("turns", [0.25, 2.0])
def test_roll_up(bending: tuple[int, int], turns: float) -> None:
    """A couple 2πn EI/L bends a beam into n whole circles, with one function."""
    section = st.rectangle(0.01, 0.01)
    part = st.ritz_beam(1.0, section, STEEL, bending=bending, functions="polynomials", order="exact", stations=24)
    axis = 2 if bending[0] else 1
    couple = [0.0, 0.0, 0.0]
    couple[axis] = 2 * np.pi * turns * STEEL.E * section.Iz
    s = cantilever(part, torque=tuple(couple))
    phi = 2 * np.pi * turns
    found = tip_of(s)
    radius = 1.0 / phi
    expected = [radius * np.sin(phi), 0.0, 0.0]
    expected[1 if axis == 2 else 2] = (1.0 if axis == 2 else -1.0) * radius * (1 - np.cos(phi))
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("load", [1.0, 5.0])
def test_elastica(load: float) -> None:
    """A force F = load EI/L² across the tip of a cantilever (Bisshopp and Drucker 1945)."""
    part = st.ritz_beam(1.0, BLADE, STEEL, bending=(6, 0), functions="polynomials", order="exact", rotary=False, stations=12)
    s = cantilever(part, force=(0, load * STEEL.E * BLADE.Iz, 0))
    found = tip_of(s)
    root = np.sqrt(load)

    def modulus(p: float) -> float:
        return float(ellipk(p * p) - ellipkinc(np.arcsin(1 / (p * np.sqrt(2.0))), p * p) - root)

    p = brentq(modulus, np.sqrt(0.5) * (1 + 1e-15), 1 - 1e-15, xtol=1e-15)
    theta = np.arcsin(1 / (p * np.sqrt(2.0)))
    across = 1 - 2 / root * (ellipe(p * p) - ellipeinc(theta, p * p))
    along = np.sqrt(2 * (2 * p * p - 1)) / root
    np.testing.assert_allclose(found[:2], [along, across], atol=2e-7)


def test_b8_spin_up_beam_with_stretch_and_shear() -> None:
    """The spin-up beam as a geometrically exact one; order 2 misses 4.7e-4 m."""
    s = jd.library.spin_up_beam("exact", functions=4, shear=2, extension=2).compile()
    sol = s.simulate({}, t=7.4, rtol=1e-9, atol=1e-12, times=[0.0, 2.0, 5.0, 7.4], method="radau")
    np.testing.assert_allclose(sol["axial"][1:], [-0.00060590150, -0.01265463625, -0.01792039143], atol=4e-7)
    np.testing.assert_allclose(sol["transverse"][1:], [-0.10238063219, -0.46847618344, -0.56159730579], atol=6e-6)


def pushed(part: st.Structure | st.ReducedStructure, soft: st.Material, section: st.Section) -> jd.Model:
    """A clamped beam with a body at its end, which a force pushes across until the tip has moved by half the length."""
    m = jd.Model("pushed", gravity=(0, 0, 0))
    beam = m.flexible_body("beam", part)
    m.fixed("clamp", m.ground, beam.node("start"))
    tip = m.body("tip", mass=0.05, inertia=(1e-4,) * 3)
    m.fixed("weld", beam.node("end"), tip)
    m.load("push", tip.origin, force=(0, 3.0 * soft.E * section.Iz * jd.sin(np.pi * m.time / 0.4) ** 2, 0))
    return m


def test_runs_are_those_of_beams_by_directors() -> None:
    """The same motion by curvatures in a tree and by geometrically exact finite elements, which are another theory of the same beam (with section directors
    that keep their lengths by constraints) and converge to it with the square of their length."""
    soft, section = st.Material(5e7, 0.3, 1100.0), st.rectangle(0.02, 0.03)
    ritz = st.ritz_beam(1.0, section, soft, bending=(5, 0), shear=(2, 0), extension=2, order="exact", functions="polynomials")
    times = np.array([0.0, 0.1, 0.2, 0.3, 0.4])
    expected = pushed(ritz, soft, section).compile().simulate({}, t=0.4, method="radau", rtol=1e-8, times=times).frame("tip").position
    assert expected[-1, 1] > 0.44 and expected[-1, 0] < 0.88
    missed = []
    for elements in (4, 8, 16):
        part = st.beam((0, 0, 0), (1.0, 0, 0), section, soft, elements=elements, theory="timoshenko")
        sol = pushed(part, soft, section).compile(formulation="directors").simulate({}, t=0.4, step=1e-3)
        missed.append(np.abs(sol.at(times)["tip.position"] - expected).max())
    assert missed[2] < 3e-5 and missed[0] / missed[1] > 3.0 and missed[1] > missed[2]


@pytest.mark.parametrize("sort", SORTS)
def test_runs_of_every_formulation_agree(sort: str) -> None:
    m = hung(sort, "start")
    s = m.compile()
    x = start(s, 0.05)
    expected = s.simulate(x, t=0.003, rtol=1e-9, atol=1e-12).final_state()
    for formulation in ("semi-recursive", "cartesian"):
        sol = m.compile(formulation=formulation).simulate(x, t=0.003, rtol=1e-9, atol=1e-12)
        found = sol.final_state()
        np.testing.assert_allclose(found.q, expected.q, atol=1e-7 * max(1.0, np.abs(expected.q).max()))
    for formulation in ("natural", "directors"):
        with pytest.raises(jd.JourdainError, match="beam"):
            m.compile(formulation=formulation).simulate(x, t=0.01)


def test_patches_add_their_mass() -> None:
    """A patch on a beam of exact kinematics has the mass and stiffness that it has on one of second order, undeformed."""
    patch = [st.Patch((0.1, 0.4), pair=True)]
    exact, second = (st.with_patches(beam(order, bending=(2, 0)), patch) for order in ("exact", 2))
    np.testing.assert_allclose(exact.mass_matrix(), second.mass_matrix(), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(exact.stiffness, second.stiffness)


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(jd.InputError, match="order 'exact' is no set of matrices; keep it in a model file"):
        beam(bending=(1, 0)).save(tmp_path / "beam.npz")
    s = cantilever(beam(bending=(1, 0), stations=4), force=(0, 1, 0))
    with pytest.raises(jd.InputError, match="recover: 'beam' is a beam of order 'exact'.*static=False"):
        s.recover(s.state(), "beam")
    assert s.recover(s.state(), "beam", static=False).values.shape[0] == 1
    with pytest.raises(jd.InputError, match="order 3 is unknown; 1, 2 and 'exact'"):
        beam(3, bending=(1, 0))
    with pytest.raises(jd.InputError, match="stations = 5; order='exact' takes"):
        beam(2, bending=(1, 0), stations=5)
    with pytest.raises(jd.InputError, match="softening=False is of order 1"):
        beam(bending=(1, 0), softening=False)
