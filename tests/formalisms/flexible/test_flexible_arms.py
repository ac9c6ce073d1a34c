"""Flexible manipulators (Martins, Sá da Costa and Ayala Botto), one test a number of the specification: bodies, chains, control of the single link."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jourdain as jd
from jourdain.formalisms.equations import Equations
from jourdain.formalisms.tree.articulated_blocks import accelerations as articulated
from jourdain.formalisms.tree.mass_factor import accelerations_by_factor
from jourdain.formalisms.tree.newton_euler import inverse_dynamics
from jourdain.symbolic.graph import operations

st = jd.structures
STEEL, BLADE = st.Material(209e9, 0.3, 7850.0), st.rectangle(0.001, 0.02)
EI, MU, L, RADIUS = 209e9 * 0.02 * 0.001**3 / 12, 7850.0 * 2e-5, 0.5, 0.075


def beam(length: float = L, bending: object = (8, 0), **options: object) -> st.ReducedStructure:
    given = {"functions": "polynomials", "rotary": False, **options}
    return st.ritz_beam(length, BLADE, STEEL, bending=bending, **given)  # type: ignore[arg-type]


def readings(model: jd.Model, frame: jd.Frame) -> jd.System:
    """A system whose outputs are position, rotation, velocity and angular velocity of a frame."""
    s = model.sensor("frame", frame)
    for i in range(3):
        model.output(f"p{i}", s.position[i])
        model.output(f"v{i}", s.velocity[i])
        model.output(f"w{i}", s.angular_velocity[i])
        for j in range(3):
            model.output(f"R{i}{j}", s.rotation[i, j])
    return model.compile()


def read(s: jd.System, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
    y = dict(zip(s.model.outputs, s.function("outputs")(np.array([0.0]), np.concatenate([q, v]), np.zeros(s.nu)), strict=True))
    R = np.array([[y[f"R{i}{j}"] for j in range(3)] for i in range(3)])
    return {k: np.array([y[f"{k}{i}"] for i in range(3)]) for k in "pvw"} | {"R": R}


# --- bodies -------------------------------------------------------------------------------------------------------


def test_10_1_rigid_body_about_any_point() -> None:
    """Torque-free: energy and angular momentum stay, and the motion is that of the body with its frame at the centre of mass."""

    def free(com: np.ndarray) -> jd.System:
        m = jd.Model("free", gravity=(0, 0, 0))
        m.free("joint", m.ground, m.body("body", mass=1.3, com=com, inertia=(0.02, 0.05, 0.06)))
        return m.compile()

    c, w, v = np.array([0.2, -0.1, 0.3]), np.array([1.0, 4.0, -2.0]), np.array([0.3, 0.1, -0.2])
    names = [f"joint.{x}_rate" for x in "xyz"] + [f"joint.orientation.omega_{x}" for x in "xyz"]
    off, at = free(c), free(np.zeros(3))
    first = off.simulate(off.state({}, dict(zip(names, [*v, *w], strict=True))), t=2.0, rtol=1e-11, atol=1e-13)
    start = dict(zip([f"joint.{x}" for x in "xyz"], c, strict=True))
    second = at.simulate(at.state(start, dict(zip(names, [*(v + np.cross(w, c)), *w], strict=True))), t=2.0, rtol=1e-11, atol=1e-13)
    q, rates = (np.column_stack([first[n] for n in names]) for names in (off.coordinate_names, off.velocity_names))
    _, H, _ = off.function("momentum")(q, rates)
    assert np.ptp(first["energy.total"]) < 1e-9 * first["energy.total"][0]
    assert np.abs(H - H[0]).max() < 1e-9 * np.abs(H).max()
    R = first.frame("body").rotation[-1]
    np.testing.assert_allclose(first.frame("body").position[-1] + R @ c, second.frame("body").position[-1], atol=1e-9)
    np.testing.assert_allclose(R, second.frame("body").rotation[-1], atol=1e-9)


@pytest.mark.parametrize("slenderness", [20.0, 200.0])
def test_10_4_timoshenko(slenderness: float) -> None:
    """Static tip deflection F L³/3EI + F L/κGA, exact with a cubic and a linear function; frequencies tend to Euler's."""
    h = 1.0 / slenderness
    section = st.rectangle(h, 0.02)
    part = st.ritz_beam(1.0, section, STEEL, bending=(2, 0), shear=(1, 0), functions="polynomials", order=1)
    load = part.points["end"].phi_t[1]
    tip = load @ np.linalg.solve(part.stiffness, load)
    kGA = section.shear_y * STEEL.G * section.area
    assert tip == pytest.approx(1 / (3 * STEEL.E * section.Iz) + 1 / kGA, rel=1e-12)
    full = st.ritz_beam(1.0, section, STEEL, bending=(8, 0), shear=(8, 0), functions="polynomials", order=1)
    euler = 1.875104068711961**2 * np.sqrt(STEEL.E * section.Iz / (STEEL.density * section.area))
    lower = 1 - full.frequencies[0] / euler
    assert 0 < lower < 3.0 / slenderness**2 * 2


@pytest.mark.parametrize("section", [st.circle(0.01), st.rectangle(0.004, 0.02)], ids=["circle", "rectangle"])
def test_10_5_torsion(section: st.Section) -> None:
    """(2i − 1)π/2 √(GJ/ρI_p L²); the static angle T L/GJ is the series Σ 8/π²(2i − 1)², which sums to one."""
    part = st.ritz_beam(0.7, section, STEEL, bending=0, torsion=4)
    c = np.sqrt(STEEL.G * section.torsion / (STEEL.density * (section.Iy + section.Iz))) / 0.7
    np.testing.assert_allclose(part.frequencies, (2 * np.arange(1, 5) - 1) * np.pi / 2 * c, rtol=1e-10)
    m = jd.Model("twisted", gravity=(0, 0, 0))
    body = m.flexible_body("rod", part)
    m.fixed("clamp", m.ground, body.node("start"))
    m.load("torque", body.node("end"), torque=(2.0, 0, 0))
    e = m.compile().equilibrium().state
    turn = part.points["end"].phi_r[0] @ e.q
    assert turn == pytest.approx(
        2.0 * 0.7 / (STEEL.G * section.torsion) * sum(8 / (np.pi * (2 * i - 1)) ** 2 for i in range(1, 5)), rel=1e-9
    )


@pytest.mark.parametrize("order", [1, 2])
def test_10_7_velocities_are_rates_of_places(order: int) -> None:
    """J_T and J_R against central differences of u and R_e at large amplitudes, and Ω̃ = Ṙ Rᵀ."""
    part = st.ritz_beam(0.5, st.rectangle(0.01, 0.02), STEEL, bending=(2, 2), torsion=1, shear=(1, 1), functions="polynomials", order=order)
    m = jd.Model("bent", gravity=(0, 0, 0))
    body = m.flexible_body("beam", part)
    m.fixed("clamp", m.ground, body.node("start"))
    s = readings(m, body.node((0.35, 0, 0)))
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v, h = rng.uniform(-0.15, 0.15, s.nq), rng.uniform(-1, 1, s.nv), 1e-5
        here, ahead, behind = (read(s, q + k * h * v, v) for k in (0, 1, -1))
        np.testing.assert_allclose(here["v"], (ahead["p"] - behind["p"]) / (2 * h), atol=1e-9)
        W = (ahead["R"] - behind["R"]) / (2 * h) @ here["R"].T
        np.testing.assert_allclose(W, np.cross(np.eye(3), here["w"]), atol=1e-9)


def test_10_8_mass_matrix() -> None:
    """Symmetric and positive however far it is bent and twisted; undeformed, the rigid block is that of a rod: m, L/2, mL²/3 with the sections' own inertia."""
    part = st.ritz_beam(0.8, st.rectangle(0.01, 0.02), STEEL, bending=(2, 2), torsion=1)
    m = jd.Model("floating", gravity=(0, 0, 0))
    m.free("joint", m.ground, m.flexible_body("beam", part).node("start"))
    s = m.compile()
    rng = np.random.default_rng(2)
    for _ in range(5):
        q = s.state().q.copy()
        q[:3], q[7:] = rng.uniform(-1, 1, 3), rng.uniform(-0.3, 0.3, s.nq - 7)
        q[3:7] = (x := rng.normal(size=4)) / np.linalg.norm(x)
        M = s.mass_matrix(q)
        np.testing.assert_allclose(M, M.T, atol=1e-15)
        assert np.linalg.eigvalsh(M).min() > 0
        # T of points that move by the same field of second order
        x, w, phi, psi = part.field.cloud(st.rectangle(0.01, 0.02), STEEL, 2, True)  # type: ignore[attr-defined]
        rates = rng.normal(size=s.nv)
        e, de = q[7:], rates[6:]
        R = Rotation.from_quat(q[[4, 5, 6, 3]]).as_matrix()
        v, omega = R.T @ rates[:3], rates[3:6]
        moved, change = x + phi @ e + 0.5 * psi @ e @ e, phi @ de + psi @ e @ de
        speed = v + np.cross(omega, moved) + change
        assert 0.5 * rates @ M @ rates == pytest.approx(0.5 * w @ (speed**2).sum(axis=1), rel=1e-11)
    M = s.mass_matrix(s.state().q)
    mass = STEEL.density * 2e-4 * 0.8
    about_x, more = STEEL.density * 0.8 * 2e-4 * (0.01**2 + 0.02**2) / 12, STEEL.density * 0.8 * 2e-4 / 12 * np.array([0.02**2, 0.01**2])
    rod = np.diag([mass] * 3 + [about_x, *(mass * 0.64 / 3 + more)])
    rod[1, 5] = rod[5, 1] = mass * 0.4
    rod[2, 4] = rod[4, 2] = -mass * 0.4
    order = [s.velocity_names.index(n) for n in ([f"joint.{x}_rate" for x in "xyz"] + [f"joint.orientation.omega_{x}" for x in "xyz"])]
    np.testing.assert_allclose(M[np.ix_(order, order)], rod, atol=1e-12)


# --- chains -------------------------------------------------------------------------------------------------------


def mixed(blocks: int, rng: np.random.Generator) -> jd.Model:
    """A chain of rigid–flexible–rigid blocks with joints of 0, 1, 3 and 6 freedoms, weight, a tool and a patch; links hang by either end."""
    m = jd.Model("chain", gravity=(0.3, -9.81, 1.2))
    place: object = m.ground
    kinds = ["revolute", "fixed", "spherical", "free", "revolute"]
    for i in range(blocks):
        housing = m.body(f"housing{i}", mass=0.4, com=(0.01, 0, 0.02), inertia=(1e-3, 2e-3, 2e-3))
        kind = kinds[int(rng.integers(len(kinds)))] if i else "free"
        m.joint(kind, f"joint{i}", place, housing, **({"axis": "y"} if kind == "revolute" else {}))
        part = st.ritz_beam(0.5, st.rectangle(0.008, 0.02), STEEL, bending=(2, 1), torsion=1, order=1 + i % 2, name=f"link{i}")
        if i % 3 == 1:
            part = st.beam((0, 0, 0), (0.5, 0, 0), st.rectangle(0.008, 0.02), STEEL, elements=6, name=f"link{i}").reduce(
                3, frame="mean axes"
            )
        link = m.flexible_body(f"link{i}", part)
        ends = ("start", "end") if i % 2 else ("end", "start")
        m.fixed(f"clamp{i}", housing.at(0.03, 0, 0), link.node(ends[0]))
        place = link.node(ends[1])
    m.piezo_patch("patch", m.bodies["link0"], span=(0.1, 0.2), voltage=m.input("volts", 120.0), d31=-1.8e-10)
    m.load("tool", place, force=(3.0, -1.0, 2.0), torque=(0.1, 0.2, -0.3))
    return m


@pytest.mark.parametrize("blocks", [1, 2, 3, 5, 10])
def test_10_11_and_10_13_composite_and_articulated_bodies_agree(blocks: int) -> None:
    """CI (90), the factored mass matrix, and AB (93)–(96), in blocks; 10.13: inverse dynamics gives back the forces."""
    rng = np.random.default_rng(blocks)
    m = mixed(blocks, rng)
    eq = Equations(m)
    by_blocks = articulated(eq.tree, eq.joint_forces, eq.wrenches)
    by_factor = accelerations_by_factor(eq.tree, eq.joint_forces, eq.wrenches)
    known = dict(zip(eq.p, m.parameter_set.values(), strict=True)) | {eq.t: 0.3} | dict.fromkeys(eq.u, 120.0)
    for _ in range(2):
        for c in eq.tree.coordinates:
            size = 5e-2 if c.names[0].startswith("link") else 1.0
            q = rng.uniform(-size, size, len(c.q))
            known |= dict(zip(c.q, q / np.linalg.norm(q) if c.is_quaternion else q, strict=True))
            known |= dict(zip(c.v, rng.uniform(-1, 1, len(c.v)), strict=True))
        a, b = (np.array(jd.evaluate(x, known), dtype=float) for x in (by_blocks, by_factor))
        assert np.abs(a - b).max() < 1e-9 * np.abs(b).max()
        known |= dict(zip(eq.a, a, strict=True))
        needed = np.array(jd.evaluate(inverse_dynamics(eq.tree, eq.wrenches), known), dtype=float)
        given = np.array(jd.evaluate(eq.joint_forces, known), dtype=float)
        assert np.abs(needed - given).max() < 1e-9 * np.abs(given).max()


def test_10_13_inverse_dynamics_of_a_system_gives_back_accelerations() -> None:
    """Forces that an arm's given accelerations need, put in as torques and modal loads, cause these accelerations: M q̈ + h = τ."""
    s = jd.library.flexible_arm(links=2, functions=2, gravity=(0, -9.81, 0)).compile()
    rng = np.random.default_rng(8)
    for _ in range(3):
        q, v = 0.02 * rng.normal(size=s.nq), rng.normal(size=s.nv)
        q[[s.coordinate_names.index(n) for n in ("shoulder.angle", "elbow.angle")]] = rng.uniform(-2, 2, 2)
        x = s.state(dict(zip(s.coordinate_names, q, strict=True)), dict(zip(s.velocity_names, v, strict=True)))
        free, wanted = s.accelerations(x), rng.normal(size=s.nv)
        tau, given = (s.inverse_dynamics(x.q, x.v, a) for a in (wanted, free))
        np.testing.assert_allclose(
            given, s.function("loads")(x.q, x.v, np.zeros(s.nu)), atol=1e-9 * np.abs(given).max()
        )  # elasticity alone
        again = free + np.linalg.solve(s.mass_matrix(x.q), tau - given)
        np.testing.assert_allclose(again, wanted, rtol=1e-9, atol=1e-9 * np.abs(free).max())


def test_10_12_articulated_bodies_grow_with_the_number_of_blocks() -> None:
    """Operations, not seconds: linear by articulated bodies, with an exponent above 1.5 by the mass matrix; the first need fewer from two links on."""

    def counted(links: int, solve: Callable) -> int:
        eq = Equations(jd.library.flexible_arm(links=links, functions=2))
        return operations(solve(eq.tree, eq.joint_forces, eq.wrenches)).flops

    ab, ci = ([counted(n, solve) for n in (4, 8)] for solve in (articulated, accelerations_by_factor))
    assert 0.9 < np.log2(counted(32, articulated) / counted(16, articulated)) < 1.05
    assert np.log2(ci[1] / ci[0]) > 1.5
    assert ab[0] < ci[0] and counted(2, articulated) < counted(2, accelerations_by_factor)
    assert counted(1, articulated) > counted(1, accelerations_by_factor)
    chosen = {n: jd.library.flexible_arm(links=n, functions=2).describe() for n in (1, 2)}
    assert "Accelerations: factored mass matrix" in chosen[1] and "articulated bodies with the modes of a body as a block" in chosen[2]


def test_10_14_two_halves_are_the_whole() -> None:
    def frequencies(pieces: int) -> np.ndarray:
        m = jd.Model("pieces", gravity=(0, 0, 0))
        place = m.ground
        for i in range(pieces):
            link = m.flexible_body(f"piece{i}", beam(L / pieces, bending=(8 // pieces + 2, 0)))
            m.fixed(f"joint{i}", place, link.node("start"))
            place = link.node("end")
        return np.array([abs(mode.eigenvalue) for mode in m.compile().modal().modes[:3]])

    np.testing.assert_allclose(frequencies(1), np.array([20.9488, 131.2837, 367.5981]), rtol=2e-5)
    np.testing.assert_allclose(frequencies(2), frequencies(1), rtol=1e-5)


@pytest.mark.parametrize(
    ("hub", "roots"), [(1e-12, (3.92660231, 7.06858275)), (1e9, (1.87510407, 4.69409113))], ids=["pinned-free", "clamped-free"]
)  # fmt: skip
def test_10_15_limits_of_the_hub(hub: float, roots: tuple[float, float]) -> None:
    m = jd.Model("limit", gravity=(0, 0, 0))
    body = m.flexible_body("beam", beam(bending=(10, 0)))
    wheel = m.body("hub", mass=1.0, inertia=(hub, hub, hub))
    m.revolute("hinge", m.ground, wheel)
    m.fixed("clamp", wheel, body.node("start"))
    found = sorted(abs(mode.eigenvalue) for mode in m.compile().modal().modes if mode.kind == "oscillation")[:2]
    np.testing.assert_allclose(found, np.array(roots) ** 2 * np.sqrt(EI / MU) / L**2, rtol=1e-6)


def test_10_stand_alone_link_is_that_of_the_general_code() -> None:
    """M q̈ + [K + θ̇²(G − M)] q = −s θ̈ with s = ∫μ(r + x)ψ, G = ∫Pψ′ψ′ᵀ (section 3.8), for small q at random speeds."""
    n = 3
    legendre = [np.polynomial.Legendre.basis(i)(np.polynomial.Polynomial([-1.0, 2.0 / L])) for i in range(n)]
    psi = [np.polynomial.Polynomial([0.0, 0.0, 1.0 / L**2]) * p for p in legendre]
    x = np.polynomial.Polynomial([0.0, 1.0])
    integral = lambda f: float(f.integ()(L) - f.integ()(0.0))
    P = MU * (RADIUS * (L - x) + (L**2 - x**2) / 2)
    M = np.array([[integral(MU * a * b) for b in psi] for a in psi])
    K = np.array([[integral(EI * a.deriv(2) * b.deriv(2)) for b in psi] for a in psi])
    G = np.array([[integral(P * a.deriv() * b.deriv()) for b in psi] for a in psi])
    s_vector = np.array([integral(MU * (RADIUS + x) * a) for a in psi])
    model = jd.Model("link", gravity=(0, 0, 0))
    hub = model.body("hub", mass=1.0, inertia=(0.1, 0.1, 0.1))
    link = model.flexible_body("link", beam(bending=(n, 0)))
    joint = model.revolute("hinge", model.ground, hub)
    model.fixed("clamp", hub.at(RADIUS, 0, 0), link.node("start"))
    speed, gained = 6.3, 4.1
    model.drive(joint, lambda t: speed * t + gained * t**2 / 2)
    s = model.compile()
    rng = np.random.default_rng(3)
    for _ in range(3):
        q = 1e-7 * rng.uniform(-1, 1, n)
        state = s.state({f"link.y{i + 1}": q[i] for i in range(n)})
        found = s.accelerations(state)
        expected = np.linalg.solve(M, -s_vector * gained - (K + speed**2 * (G - M)) @ q)
        np.testing.assert_allclose(found[-n:], expected, rtol=1e-5)


#: The spin-up beam as a geometrically exact one, converged (benchmark B8): t, axial and transverse displacement of the tip.
EXACT = np.array([
    (2, -0.00060590150, -0.10238063219), (5, -0.01265463625, -0.46847618344), (7.4, -0.01792039143, -0.56159730579),
    (10, -0.00707233630, -0.36281451564), (12, -0.00080398727, -0.15090069709), (15, 0.00051398970, 0.00130362628),
    (18, 0.00051387305, -0.00206827741), (20, 0.00051453240, 0.00072658082),
])  # fmt: skip


def test_b8_spin_up_beam_to_the_difference_of_the_theories() -> None:
    """Order 2 with six functions is converged; what is left is theory: 0.5 mm of 0.57 m across, the stretch of 0.51 mm along."""
    found = {}
    for functions in (5, 6):
        sol = jd.library.spin_up_beam(2, functions).compile().simulate({}, t=20.0, rtol=1e-9, atol=1e-12, times=[0.0, *EXACT[:, 0]])
        found[functions] = np.column_stack([sol["axial"], sol["transverse"]])[1:]
    assert np.abs(found[6] - found[5]).max() < 4e-5
    along, across = np.abs(found[6] - EXACT[:, 1:]).max(axis=0)
    assert across < 4.8e-4
    assert along == pytest.approx(5.14e-4, abs=2e-6)  # tan(kL)/k − L, k² = μΩ²/EA: the inextensible beam does not have it


# --- control of the single link -----------------------------------------------------------------------------------


def controlled(
    strain: float, kp: float, kv: float, hub: float = 0.1, coulomb: float = 0.0, step: float = 0.4, damping: object = 0.002
) -> jd.Model:
    """The single link under (97), u = Kp (r − θ) − Kv θ̇ + Ks κ, κ = v″ at the root."""
    m = jd.library.ist_link(hub_inertia=hub, torque=False, damping=damping, rotary=False)
    shoulder, link = m.joints["shoulder"], m.bodies["link1"]
    gauge = link.gauge(at=0.0, curvature="z")
    m.pd(shoulder, step, kp, kv, feedback=m.parameter("Ks", strain) * gauge)
    if coulomb:
        m.friction(shoulder, coulomb, smoothing=0.002)
    m.output("tip_acceleration", m.accelerometer("tip_acc", link.node("end"), "y"))
    m.output("curvature", gauge)
    return m


def figures(strain: float, kp: float, kv: float) -> dict[str, float]:
    """Rise from 10 to 90 %, settling to 5 %, overshoot in % of the hub, tip acceleration at its end, after a step of 0.4 rad."""
    sol = controlled(strain, kp, kv, coulomb=0.4).compile().simulate({}, t=4.0, method="radau", rtol=1e-7, outputs=4001)
    y = sol["shoulder.angle"] / 0.4
    late = np.abs(sol["tip_acceleration"][sol.t > 3.5]).max()
    rise = sol.t[np.argmax(y > 0.9)] - sol.t[np.argmax(y > 0.1)]
    return {"rise": rise, "settling": sol.t[np.flatnonzero(np.abs(y - 1) > 0.05)[-1]], "overshoot": 100 * (y.max() - 1), "tip": late}


def test_10_20_and_10_21_step_responses() -> None:
    """The fitted plant: rise 0.098 s, settling 0.143 s, overshoot 2.2 %, 50 m/s² left; with strain feedback less than half of that."""
    plain = figures(0.0, 62.5, 3.80)
    assert plain["rise"] == pytest.approx(0.098, rel=0.1) and plain["settling"] == pytest.approx(0.143, rel=0.1)
    assert plain["overshoot"] == pytest.approx(2.2, abs=1.0) and 30 < plain["tip"] < 70
    helped = figures(0.5, 61.0, 3.81)
    assert helped["tip"] < plain["tip"] / 2 and helped["settling"] > plain["settling"]
    assert (helped["tip"], helped["overshoot"], helped["settling"]) == pytest.approx((24.0, 6.3, 0.31), rel=0.02)


def test_10_21_signs_and_the_root_locus_of_strain_feedback() -> None:
    """First flexible mode −1.84 ± 20.4i without, −4.10 ± 18.5i with +0.5 κ, +0.32 ± 21.0i with −0.5 κ (the printed sign)."""
    s = controlled(0.0, 18.3, 1.14, hub=0.03, damping=None).compile()
    locus = s.root_locus("Ks", [-0.5, 0.0, 0.5], rebalance=False)
    column = int(np.argmin(np.abs(locus.eigenvalues[1] - (-1.84 + 20.4j))))
    np.testing.assert_allclose(locus.eigenvalues[1, column], -1.84 + 20.4j, atol=0.05)
    np.testing.assert_allclose(locus.eigenvalues[2, column], -4.10 + 18.5j, atol=0.05)
    np.testing.assert_allclose(locus.eigenvalues[0, column], 0.32 + 21.0j, atol=0.05)
    assert locus.stable.tolist() == [False, True, True]


def test_10_21_strain_feedback_by_the_gain_of_a_loop() -> None:
    """The same locus with the loop closed about the linear system, u = −k y with k = −Ks."""
    m = jd.library.ist_link(hub_inertia=0.03, damping=None, rotary=False)
    m.pd(m.joints["shoulder"], 0.0, 18.3, 1.14)
    m.output("curvature", m.bodies["link1"].gauge(at=0.0))
    found = m.compile().linearise(outputs=["curvature"], inputs=["torque"]).root_locus("torque", "curvature", [0.5, 0.0, -0.5])
    built_in = controlled(0.0, 18.3, 1.14, hub=0.03, damping=None).compile().root_locus("Ks", [-0.5, 0.0, 0.5], rebalance=False)
    for a, b in zip(found.eigenvalues, built_in.eigenvalues, strict=True):
        assert np.abs(a[:, None] - b[None, :]).min(axis=1).max() < 1e-8


def test_10_22_a_hub_that_sticks_leaves_modal_damping_alone() -> None:
    """EI κ below the friction: the decay of the free vibration is that of the clamped link, ζω."""
    zeta = 0.005
    m = jd.library.ist_link(torque=False, damping=zeta, functions=1, rotary=False)
    shoulder, link = m.joints["shoulder"], m.bodies["link1"]
    m.pd(shoulder, 0.0, kp=62.5, kd=3.8)
    m.friction(shoulder, 0.4, smoothing=1e-5)
    m.output("couple", EI * link.gauge(at=0.0))
    sol = m.compile().simulate({"link1.y1": 0.03}, t=4.0, method="radau", rtol=1e-8, atol=1e-11, outputs=8001)
    assert 0.05 < np.abs(sol["couple"]).max() < 0.4
    assert np.abs(sol["shoulder.angle"]).max() < 1e-5, "the hub sticks"
    crests = [i for i in range(1, len(sol.t) - 1) if sol["link1.y1"][i - 1] < sol["link1.y1"][i] >= sol["link1.y1"][i + 1]]
    decay = -np.polyfit(sol.t[crests], np.log(sol["link1.y1"][crests]), 1)[0]
    assert decay == pytest.approx(zeta * 20.9488, rel=0.02)


def test_10_23_signs() -> None:
    """(61): a patch on the face y > 0 that expands bends away from it, κ < 0; (97): see 10.21; (96): see 10.11."""
    m = jd.Model("patch", gravity=(0, 0, 0))
    body = m.flexible_body("beam", beam(bending=(4, 0), order=1))
    m.fixed("clamp", m.ground, body.node("start"))
    m.piezo_patch("patch", body, span=(0.1, 0.2), face="y", voltage=100.0, d31=+1.8e-10)
    e = m.compile().equilibrium().state
    assert body.part.curvature(0.15) @ e.q < 0


def test_10_tip_accelerometer() -> None:
    """Transverse: (r + L) θ̈ + ψ(L)ᵀ q̈ for a straight link at rest, section 3.8."""
    s = controlled(0.0, 62.5, 3.8).compile()
    a = dict(zip(s.velocity_names, s.accelerations(s.state()), strict=True))
    expected = (RADIUS + L) * a["shoulder.angle_rate"] + sum(a[f"link1.y{i}_rate"] for i in (1, 2, 3))
    sol = s.simulate({}, t=1e-3)
    assert sol["tip_acceleration"][0] == pytest.approx(expected, rel=1e-9)


def test_end_effector_wrench_is_its_power() -> None:
    """Loads at the tip of an arm: generalised forces are those of virtual power, Q·v = F·v_tip + M·ω_tip (C6)."""
    m = jd.library.flexible_arm(links=2, functions=2, section=st.rectangle(0.004, 0.02))
    F, N = np.array([3.0, -2.0, 1.0]), np.array([0.4, 0.1, -0.3])
    tip = m.sensors["tip"].frame
    m.load("tool", tip, force=F, torque=N)
    s = readings(m, tip)
    free = jd.library.flexible_arm(links=2, functions=2, section=st.rectangle(0.004, 0.02)).compile()
    rng = np.random.default_rng(4)
    for _ in range(3):
        q, v = rng.uniform(-0.05, 0.05, s.nq), rng.uniform(-1, 1, s.nv)
        q[0] = 1.0
        found = read(s, q, v)
        Q, rest = (system.function("loads")(q, v, np.zeros(s.nu)) for system in (s, free))
        assert (Q - rest) @ v == pytest.approx(F @ found["v"] + N @ found["w"], rel=1e-10)


def test_floating_base_keeps_its_momentum() -> None:
    """An arm on a free base (C13): linear and angular momentum stay, whatever motors and elasticity do."""
    m = jd.Model("free flyer", gravity=(0, 0, 0))
    base = m.body("base", mass=3.0, inertia=(0.05, 0.05, 0.05))
    m.free("base", m.ground, base)
    place = base.at(0.1, 0, 0)
    for i in (1, 2):
        link = m.flexible_body(f"link{i}", st.ritz_beam(0.5, st.rectangle(0.003, 0.02), STEEL, bending=(2, 2), torsion=1, name=f"link{i}"))
        joint = m.revolute(f"joint{i}", place, link.node("start"), axis="z" if i == 1 else "y")
        m.pd(joint, lambda t, i=i: 0.3 * i * jd.sin(4.0 * t), 2.0, 0.1)
        place = link.node("end")
    s = m.compile()
    sol = s.simulate(s.state({}, {"base.orientation.omega_x": 0.5}), t=0.3, rtol=1e-10, atol=1e-12)
    q, v = (np.column_stack([sol[n] for n in names]) for names in (s.coordinate_names, s.velocity_names))
    P, H, _ = s.function("momentum")(q, v)
    assert np.abs(P - P[0]).max() < 1e-9 and np.abs(H - H[0]).max() < 1e-9
    assert np.abs(sol["energy.error"]).max() < 1e-7


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian"])
def test_cooperating_arms_close_a_loop(formulation: str) -> None:
    """Two arms that hold a bar: the loop stays closed and energy changes by what the motors supply."""
    m = jd.library.cooperating_arms(functions=1)
    s = m.compile(formulation=formulation)
    start = s.assemble(guess={"left.joint1": 2.2, "left.joint2": -1.6, "right.joint1": 0.9, "right.joint2": 1.6})
    sol = s.simulate(start, t=0.1, inputs={"left.torque1": 0.4, "right.torque1": lambda t: -0.3 * jd.cos(20 * t)}, rtol=1e-8, atol=1e-10)
    ends = [sol.frame("right.link2.end").position, sol.frame("bar").position + sol.frame("bar").rotation @ np.array([0.15, 0, 0])]
    assert np.abs(ends[0] - ends[1]).max() < 1e-7
    assert np.abs(sol["energy.error"]).max() < 1e-6
    assert np.abs(sol["left.link1.y1"]).max() > 1e-5
