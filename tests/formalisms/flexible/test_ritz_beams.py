"""Beams by Ritz functions (Martins, Sá da Costa and Ayala Botto): kinematics, frequencies at rest and in rotation, spin-up, patches, gauges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import jourdain as jd
from jourdain.structures.ritz import RitzBeam

st = jd.structures
STEEL, BLADE = st.Material(209e9, 0.3, 7850.0), st.rectangle(0.001, 0.02)


def link(order: int = 2, functions: int = 8, family: str = "polynomials", **options: object) -> st.ReducedStructure:
    return st.ritz_beam(0.5, BLADE, STEEL, bending=(functions, 0), functions=family, rotary=False, order=order, **options)  # type: ignore[arg-type]


def integrated(field: RitzBeam, e: np.ndarray, cells: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """End of the beam by R′ = R κ̃ and x′ = R k in small steps."""
    h = field.length / cells
    R, x = np.eye(3), np.zeros(3)
    for i in range(cells):
        X = (i + 0.5) * h
        K, k = np.zeros(3), np.array([1.0, 0.0, 0.0])
        for s, q in zip(field.shapes, e, strict=True):
            target, at, value = {
                "v2": (K, 2, s.dd), "v3": (K, 1, -s.dd), "alpha": (K, 0, s.d), "gamma2": (k, 1, s.d), "gamma3": (k, 2, s.d),
                "epsilon": (k, 0, s.d),
            }[s.what]  # fmt: skip
            target[at] += value(X) * q
        skew = np.array([[0, -K[2], K[1]], [K[2], 0, -K[0]], [-K[1], K[0], 0]])
        x = x + h * R @ expm(0.5 * h * skew) @ k
        R = R @ expm(h * skew)
    return x, R


def end_pose(body: st.ReducedStructure, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    p = body.points["end"]
    place, angles = p.position + p.phi_t @ e, p.phi_r @ e
    if p.psi_t is not None and p.psi_r is not None:
        place = place + 0.5 * np.einsum("aij,i,j->a", p.psi_t, e, e)
        angles = angles + 0.5 * np.einsum("aij,i,j->a", p.psi_r, e, e)
    return place, Rotation.from_euler("XYZ", angles).as_matrix()


@pytest.mark.parametrize(("order", "power"), [(1, 2), (2, 3)])
def test_10_6_order_of_the_kinematics(order: int, power: int) -> None:
    body = st.ritz_beam(1.0, st.rectangle(0.02, 0.03), STEEL, bending=2, torsion=2, shear=1, functions="polynomials", order=order)
    e = np.random.default_rng(0).normal(size=body.modes)
    missed = []
    for size in (0.1, 0.05):
        x, R = integrated(body.field, size * e)  # type: ignore[attr-defined]
        place, turn = end_pose(body, size * e)
        missed.append((np.abs(place - x).max(), np.abs(turn - R).max()))
    for a, b in zip(*missed, strict=True):
        assert np.log2(a / b) == pytest.approx(power, abs=0.2)


def test_10_6_circular_arc() -> None:
    body = st.ritz_beam(1.0, BLADE, STEEL, bending=(1, 0), functions="polynomials")
    K = 0.02
    place, _ = end_pose(body, np.array([K / 2]))  # v = K x²/2
    assert place[0] - 1.0 == pytest.approx(-(K**2) / 6, rel=1e-12)
    assert place[1] == pytest.approx((1 - np.cos(K)) / K, rel=1e-4)


def test_10_2_clamped_frequencies() -> None:
    np.testing.assert_allclose(link(functions=10).frequencies[:3], [20.9488, 131.2837, 367.5981], rtol=3e-6)
    np.testing.assert_allclose(link(functions=3, family="clamped-free").frequencies, [20.9488, 131.2837, 367.5981], rtol=3e-6)


def rotating(part: st.ReducedStructure, speed: float) -> jd.System:
    m = jd.Model("rotating link", gravity=(0, 0, 0))
    hub = m.body("hub", mass=1.0, inertia=(0.1, 0.1, 0.1))
    beam = m.flexible_body("link", part)
    joint = m.revolute("joint", m.ground, hub)
    m.fixed("clamp", hub.at(0.075, 0, 0), beam.node("start"))
    m.drive(joint, lambda t: speed * t)
    return m.compile()


@pytest.mark.parametrize(
    ("speed", "stiffened"),
    [
        (2.0, (20.98966, 131.38685, 367.71016)), (5.0, (21.20258, 131.92720, 368.29791)), (7.6, (21.52887, 132.76575, 369.21269)),
        (10.0, (21.93961, 133.83919, 370.38843)),
    ],
)  # fmt: skip
def test_10_3_frequencies_of_the_rotating_link(speed: float, stiffened: tuple[float, ...]) -> None:
    def frequencies(part: st.ReducedStructure) -> np.ndarray:
        return np.array([abs(m.eigenvalue) for m in rotating(part, speed).modal().modes][:3])

    np.testing.assert_allclose(frequencies(link(2)), stiffened, rtol=2e-6)
    at_rest = link(1).frequencies[:3]
    np.testing.assert_allclose(frequencies(link(1)), np.sqrt(at_rest**2 - speed**2), rtol=1e-9)
    np.testing.assert_allclose(frequencies(link(1, softening=False)), at_rest, rtol=1e-9)


def manoeuvre(options: dict) -> tuple[np.ndarray, np.ndarray]:
    """Times and deflection of the tip while the link is turned to 7.6 rad/s in 0.3 s, and after it."""
    T, speed = 0.3, 7.6
    m = jd.Model("manoeuvre", gravity=(0, 0, 0))
    hub = m.body("hub", mass=1.0, inertia=(0.1, 0.1, 0.1))
    beam = m.flexible_body("link", link(functions=3, family="clamped-free", **options))
    joint = m.revolute("joint", m.ground, hub)
    m.fixed("clamp", hub.at(0.075, 0, 0), beam.node("start"))
    m.drive(
        joint,
        lambda t: jd.where(t < T, speed / T * (t**2 / 2 + (T / (2 * np.pi)) ** 2 * (jd.cos(2 * np.pi * t / T) - 1)), speed * (t - T / 2)),
    )
    s = m.compile()
    sol = s.simulate(s.state(), t=1.5, rtol=1e-9)
    times = np.linspace(0, 1.5, 30001)
    return times, sum(sol.at(times)[f"link.y{i}"] for i in (1, 2, 3))


@pytest.mark.parametrize(
    ("options", "extreme", "residual"),
    [({"order": 2}, -0.13225, 0.1208), ({"order": 1, "softening": False}, -0.13484, 0.1245), ({"order": 1}, -0.14124, 0.1331)],
)
def test_10_18_driven_manoeuvre(options: dict, extreme: float, residual: float) -> None:
    times, tip = manoeuvre(options)
    assert tip[np.argmax(np.abs(tip))] == pytest.approx(extreme, abs=2e-5)
    assert np.abs(tip[times > 0.5]).max() == pytest.approx(residual, abs=1e-4)


def test_10_18_period_of_the_residual_vibration() -> None:
    """The quadratic model swings faster than the one whose frequencies are those at rest, by 2.7 % at 7.6 rad/s."""

    def period(options: dict) -> float:
        times, tip = manoeuvre(options)
        late, y = times[times > 0.35], tip[times > 0.35]
        y = np.convolve(y, np.ones(801) / 801, mode="same")[500:-500]  # 40 ms: without the higher modes
        zeros = late[500:-500][1:][(y[:-1] < 0) & (y[1:] >= 0)]
        return float(np.diff(zeros).mean())

    assert 1.0 - period({"order": 2}) / period({"order": 1, "softening": False}) == pytest.approx(0.027, abs=0.002)


def test_10_19_spin_up_beam() -> None:
    """L = 10 m, Ω = 6 rad/s in 15 s: the linear theory diverges, that of second order does not."""

    def tip(order: int, until: float) -> tuple[np.ndarray, np.ndarray]:
        s = jd.library.spin_up_beam(order, functions=3, rotary=False).compile()
        sol = s.simulate(s.state(), t=until, rtol=1e-8)
        return sol.t, sol["transverse"]

    t, y = tip(2, 20.0)
    k = np.argmin(y)
    assert y[k] == pytest.approx(-0.5744, rel=5e-3)
    assert t[k] == pytest.approx(6.76, abs=0.05)
    assert np.abs(y[t > 15.5]).max() < 6e-3
    _, wrong = tip(1, 15.0)
    assert np.abs(wrong).max() > 5.0


@pytest.mark.parametrize("order", [1, 2])
def test_10_9_energy_of_a_flexible_arm(order: int) -> None:
    s = jd.library.flexible_arm(links=2, order=order, functions=2, gravity=(0, -9.81, 0)).compile()
    sol = s.simulate(s.state({"elbow.angle": 0.7}, {"shoulder.angle_rate": 2.0}), t=0.4, rtol=1e-10, atol=1e-12)
    assert np.ptp(sol["energy.error"]) < 1e-8 * np.abs(sol["energy.total"]).max()


def test_10_10_stiff_limit_is_the_rigid_arm() -> None:
    """(M + K)⁻¹τ, a step of a stiff integrator, tends to the rigid arm's M⁻¹τ with an error ∝ 1/E."""
    missed = []
    for E in (209e12, 209e13):
        s = jd.library.flexible_arm(links=2, functions=1, material=st.Material(E, 0.3, 7850.0)).compile()
        M, names = s.mass_matrix(s.state({"elbow.angle": 0.7}).q), s.configuration.velocity_names
        rigid = [names.index(n) for n in ("shoulder.angle_rate", "elbow.angle_rate")]
        tau = np.zeros(s.nv)
        tau[rigid] = 1.0, -0.5
        K = np.diag([s.model.bodies[n.split(".")[0]].part.stiffness[0, 0] if "link" in n else 0.0 for n in names])
        bent = np.linalg.solve(M + K, tau)
        missed.append(np.abs(bent[rigid] - np.linalg.solve(M[np.ix_(rigid, rigid)], tau[rigid])).max())
    assert missed[0] / missed[1] == pytest.approx(10.0, rel=1e-3)


def test_10_16_sag_and_10_4_static_deflection() -> None:
    m = jd.Model("clamped", gravity=(0, -9.81, 0))
    beam = m.flexible_body("beam", st.ritz_beam(0.5, BLADE, STEEL, bending=(4, 0), functions="polynomials", rotary=False, order=1))
    m.fixed("clamp", m.ground, beam.node("start"))
    m.output("tip", m.sensor("tip", beam.node("end")).position[1])
    s = m.compile()
    e = s.equilibrium().state
    y = (
        s.function("outputs")(np.array([0.0]), e.x, np.zeros(0))
        if "u" in s.function("outputs").inputs
        else s.function("outputs")(np.array([0.0]), e.x)
    )
    assert float(np.ravel(y)[0]) == pytest.approx(-0.157 * 9.81 * 0.5**4 / (8 * 0.3483333333333), rel=1e-9)


def test_10_17_patches_bend_as_their_moment_says() -> None:
    def tip(faces: list[tuple[str, float]]) -> float:
        m = jd.Model("patch", gravity=(0, 0, 0))
        beam = m.flexible_body("beam", st.ritz_beam(0.5, BLADE, STEEL, bending=(14, 0), functions="polynomials", order=1))
        m.fixed("clamp", m.ground, beam.node("start"))
        for i, (face, volts) in enumerate(faces):
            m.piezo_patch(f"patch{i}", beam, span=(0.1, 0.2), face=face, voltage=volts, d31=-1.8e-10)
        m.output("tip", m.sensor("tip", beam.node("end")).position[1])
        s = m.compile()
        x = s.equilibrium().state.x
        return float(
            np.ravel(s.function("outputs")(np.array([0.0]), x, *(np.zeros(n) for n in list(s.function("outputs").inputs.values())[2:])))[0]
        )

    curvature = (0.0005 + 0.00025) * 0.02 * 6.3e10 * 1.8e-10 / 0.7 * 100.0 / 0.34833333
    assert tip([("y", 100.0)]) == pytest.approx(curvature * 0.1 * (0.5 - 0.15), rel=1e-6)  # it shrinks, so that the beam bends towards it
    assert tip([("y", -100.0)]) == pytest.approx(-curvature * 0.1 * (0.5 - 0.15), rel=1e-6)
    assert tip([("y", 100.0), ("-y", 100.0)]) == pytest.approx(0.0, abs=1e-12)
    assert tip([("y", 100.0), ("-y", -100.0)]) == pytest.approx(2 * curvature * 0.1 * (0.5 - 0.15), rel=1e-6)


def test_gauges_of_finite_elements_and_ritz_functions_agree() -> None:
    elements = st.beam((0, 0, 0), (0.5, 0, 0), BLADE, STEEL, elements=40).reduce(modes=3, frame="tangent", bending="y")
    ritz = link(functions=3, family="clamped-free")
    for x in (0.0, 0.11, 0.3):
        a, b = elements.curvature(x), ritz.curvature(x)
        np.testing.assert_allclose(np.abs(a / elements.points["end"].phi_t[1]), np.abs(b), rtol=5e-3, atol=0.02)


def test_wrong_patches_and_beams_are_told() -> None:
    m = jd.Model("wrong")
    beam = m.flexible_body("beam", link())
    with pytest.raises(jd.ModelError, match=r"span \(0\.4, 0\.6\) m is not within the beam 'beam' of 0\.5 m"):
        m.piezo_patch("patch", beam, span=(0.4, 0.6), voltage=1.0, d31=1e-10)
    with pytest.raises(jd.ModelError, match="is rigid; a patch bends a flexible one"):
        m.piezo_patch("patch", m.body("block", mass=1.0), span=(0, 0.1), voltage=1.0, d31=1e-10)
    with pytest.raises(jd.ModelError, match="flexible body 'beam'.*not on its axis"):
        beam.at(0.1, 0.2, 0.0)
    with pytest.raises(jd.InputError, match="order 3 is unknown"):
        link(3)
    with pytest.raises(jd.InputError, match="no functions are asked for"):
        st.ritz_beam(0.5, BLADE, STEEL, bending=0)


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian"])
def test_bodies_that_bend_too_far_for_a_linear_theory_are_named(formulation: str) -> None:
    m = jd.Model("soft")
    part = st.beam((0, 0, 0), (0.5, 0, 0), BLADE, STEEL, elements=8).reduce(modes=2, frame="tangent", bending="y")
    m.revolute("hinge", m.ground, m.flexible_body("beam", part).node("start"), axis="z")
    s = m.compile(formulation=formulation)
    with pytest.warns(
        RuntimeWarning, match=r"body 'beam': at t = 0 s it has a slope of 0\.\d+ rad, more than 0\.2 rad; a linear body is wrong there"
    ):
        s.simulate({"beam.mode1": 0.1}, t=0.01)


@pytest.mark.parametrize("options", [{"bending": (2, 0), "shear": (1, 0), "extension": 1}, {"bending": (1, 1), "torsion": 1}])
def test_displacements_of_nodes_are_of_second_order(options: dict) -> None:
    """Against exact kinematics they miss the third order of the amplitudes, in places and in turns."""
    second, exact = (jd.structures.ritz_beam(1.0, BLADE, STEEL, order=order, **options) for order in (2, "exact"))
    e = 0.05 * np.random.default_rng(2).normal(size=second.modes)
    missed = [np.abs(second.displacement(x) - exact.displacement(x)).max() for x in (e, 0.5 * e)]
    assert np.log2(missed[0] / missed[1]) == pytest.approx(3.0, abs=0.3)
