"""The hexapod machine tool: published and computed numbers, closed forms, and the 36 freedoms against six springs (tests T1 to T22)."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain.library.hexapod import Hexapod, hexapod_machine
from jourdain.library.hexapod.geometry import rotation_of

R = np.radians
MAPS = 3.134e6
#: The circle in the part of constant speed.
ANGLES = np.pi + 2.0 * np.pi * np.linspace(0.2, 0.8, 61)
CIRCLE = 0.1 * np.column_stack([np.cos(ANGLES), np.sin(ANGLES), np.zeros(61)])
#: Variant, angle, turn by torque (°/Nm) and displacement by torque and force (m/N): computed, published.
TABLE = [
    ("current", 0.0, 1.703e-2, 1.77e-2, 3.38e-6, 3.39e-6), ("I", 13.2, 7.30e-3, 7.45e-3, 1.48e-6, 1.52e-6), ("I", 68.2, 9.80e-4, 9.68e-4, 4.68e-7, 4.76e-7),
    ("I", 82.5, 9.13e-4, 9.00e-4, 4.77e-7, 4.96e-7), ("II", 82.5, 3.28e-2, 3.3e-2, None, None), ("III", 34.1, 1.824e-2, 1.81e-2, None, None),
]  # fmt: skip


def turn(h: Hexapod) -> float:
    return float(np.degrees(np.abs(h.deflection(CIRCLE, torque=(0, 0, 1000)).turn).mean()) / 1000)


@pytest.mark.parametrize("row", TABLE)
def test_flexibilities(row: tuple) -> None:
    """T7: within 0.5 % of what was computed for this geometry, and within 6 % of what was published."""
    h = Hexapod(row[0], R(row[1]))
    assert turn(h) == pytest.approx(row[2], rel=5e-3) and turn(h) == pytest.approx(row[3], rel=6e-2)
    if row[4]:
        moved = h.deflection(CIRCLE, force=(1000,) * 3, torque=(0, 0, 1000)).displacement
        away = np.linalg.norm(moved, axis=1).mean() / (1000 * np.sqrt(3))
        assert away == pytest.approx(row[4], rel=5e-3) and away == pytest.approx(row[5], rel=6e-2)


def test_large_turns_in_closed_form() -> None:
    """T = 6k (s − s₀) R Rb sin γ/s of the current design: 1000 Nm at 16.698°; small loads by C: 10, 100, 1000 Nm of variant I."""
    found = np.degrees(Hexapod().deflection(np.zeros(3), torque=(0, 0, 1000)).turn)
    assert found == pytest.approx(16.698, abs=1e-3)
    h, p = Hexapod("I", R(82.5)), np.array([0.1, 0, 0])
    assert h.compliance(p)[2, 2] == pytest.approx(1.59463e-5, rel=1e-5)
    for torque, expected in ((10, 1.59461e-5), (100, 1.59450e-5), (1000, 1.59360e-5)):
        assert h.deflection(p, torque=(0, 0, torque)).turn / torque == pytest.approx(expected, rel=1e-5)


def test_kinematics_there_and_back() -> None:
    """T4: 1e-12; the Jacobian against central differences 1e-8."""
    random = np.random.default_rng(1)
    h = Hexapod("I", R(82.5))
    for _ in range(10):
        p, turned = random.uniform(-0.1, 0.1, 3), rotation_of(random.uniform(-0.1, 0.1, 3))
        at, found = h.forward_kinematics(h.inverse_kinematics(p, turned))
        assert np.abs(at - p).max() < 1e-12 and np.abs(found - turned).max() < 1e-12
        J, e = h.jacobian(p, turned), 1e-6
        for i in range(3):
            axis = e * np.eye(3)[i]
            by_turn = (h.lengths(p, rotation_of(axis) @ turned) - h.lengths(p, rotation_of(-axis) @ turned)) / (2 * e)
            by_place = (h.lengths(p + axis, turned) - h.lengths(p - axis, turned)) / (2 * e)
            assert np.abs(J[:, i] - by_turn).max() < 1e-8 and np.abs(J[:, 3 + i] - by_place).max() < 1e-8


def test_published_compliance_and_traces() -> None:
    """T18, T19: the matrix (18) within 0.3 %; tr K_ff = 6k at any position; K = kJᵀJ against differences of the struts' forces."""
    h = Hexapod(k=MAPS)
    assert 1e6 / np.diag(h.stiffness(np.zeros(3)))[[0, 1, 3, 4, 5]] == pytest.approx([0.9739, 0.9739, 0.1772, 0.1772, 0.1330], rel=3e-3)
    assert h.compliance(np.zeros(3))[2, 2] == np.inf
    p = np.random.default_rng(2).uniform(-0.2, 0.2, (50, 3))
    assert np.abs(np.trace(h.stiffness(p)[:, 3:, 3:], axis1=1, axis2=2) / (6 * MAPS) - 1).max() < 1e-14
    one = Hexapod("I", R(70), k=MAPS)
    K, e = one.stiffness(p[0]), 1e-6
    rest = one.lengths(p[0])
    for j in range(6):
        held = []
        for side in (e, -e):
            way, spin = side * np.eye(6)[j, 3:], rotation_of(side * np.eye(6)[j, :3])
            a = (spin @ one.tool_joints.T).T
            d = p[0] + way + a - one.base_joints
            f = MAPS * (np.linalg.norm(d, axis=1) - rest)[:, None] * d / np.linalg.norm(d, axis=1)[:, None]
            held.append(np.concatenate([np.cross(a, f).sum(axis=0), f.sum(axis=0)]))
        assert np.abs((held[0] - held[1]) / (2 * e) - K[:, j]).max() < 1e-6 * np.abs(K).max()


def test_the_published_compliance_from_its_own_numbers() -> None:
    """T18: with k = 3.134e6 N/m, sin²ψ = 0.3998 and an arm of 0.33047 m the matrix (18) comes out to its four digits (0.9737 with 0.3305)."""
    tangent, R0, Rb = np.sqrt(0.3998 / 0.6002), 0.125, 0.735
    h = (0.33047 - R0 * np.sqrt(0.3998)) / np.sqrt(0.6002)
    K = Hexapod(k=MAPS, R=R0, Rb=Rb, h=h, dz=(Rb - R0) * tangent).stiffness(np.zeros(3))
    assert [round(1e6 / K[i, i], 4) for i in (0, 1, 3, 4, 5)] == [0.9739, 0.9739, 0.1772, 0.1772, 0.1330]
    assert np.abs(K - np.diag(np.diag(K))).max() < 1e-9 * np.abs(K).max() and abs(K[2, 2]) < 1e-9 * np.abs(K).max()


@pytest.mark.parametrize(
    ("variant", "zeta", "p", "expected"),
    [
        ("current", 0, (0, 0, 0), (0, 1.0289, 1.0289, 5.6418, 5.6418, 7.5205)), ("current", 0, (0.1, 0.1, 0.1), (0, 0.9731, 0.9813, 5.4033, 5.9288, 7.5501)),
        ("I", 82.5, (0, 0, 0), (0.2001, 0.7098, 0.7098, 5.9798, 6.4121, 6.4121)), ("I", 82.5, (0.2, 0, 0), (0.1695, 0.6706, 0.6775, 5.9309, 6.4014, 6.5562)),
        ("II", 82.5, (0.1, 0, 0), (0, 0.6192, 0.6841, 6.149, 6.1988, 6.7678)), ("II", 82.5, (0, 0, 0.1), (0.00779, 0.6504, 0.6504, 6.1305, 6.4948, 6.4948)),
        ("III", 34.1, (0.1, 0.05, 0), (1.09e-5, 0.9305, 1.0325, 5.0812, 6.1524, 7.6027)),
    ],
)  # fmt: skip
def test_principal_stiffnesses(variant: str, zeta: float, p: tuple, expected: tuple) -> None:
    """T20: to the digits; unchanged where the whole machine is turned."""
    h = Hexapod(variant, R(zeta), k=MAPS)
    assert h.principal(p) == pytest.approx(expected, abs=6e-5)
    if expected[0] > 1e-4:  # c* k* = 1
        assert np.linalg.eigvalsh(1e6 * h.compliance(p))[::-1] * h.principal(p) == pytest.approx(np.ones(6), rel=1e-9)
    c, s = np.cos(0.7), np.sin(0.7)
    assert h.with_values(theta=h.theta + 0.7).principal((c * p[0] - s * p[1], s * p[0] + c * p[1], p[2])) == pytest.approx(
        h.principal(p), abs=1e-9
    )


def test_couplings() -> None:
    """Columns of C for a torque about z: small in I, z in II, β in III."""
    columns = [("I", 82.5, (0.1, 0, 0), (0.0475, -0.0123, 5.190, -0.1466, 0.0035, 0.0008)), ("II", 82.5, (0.1, 0, 0.1), (0.812, -6.758, 129.50, 0.362, -0.532, -22.91))]  # fmt: skip
    for variant, zeta, p, expected in columns:
        assert 1e6 * Hexapod(variant, R(zeta), k=MAPS).compliance(p)[:, 2] == pytest.approx(expected, rel=2e-3, abs=1e-4)


def test_singular_surfaces() -> None:
    """T16, T17, T22: the current design everywhere, with its motion; I nowhere, II on z = 0, III on x = 0 and y = 0.756 z; domains 0, 1, 2, 4."""
    p = np.random.default_rng(3).uniform(-0.2, 0.2, (1000, 3))
    size, motion = Hexapod().freest(p)
    expected = np.column_stack([np.tile([0, 0, 1.0], (1000, 1)), 0.125 / 0.61 * np.cross(p, [0, 0, 1.0])])
    assert size.max() < 1e-12 and np.abs(motion * np.sign(motion[:, 2:3]) - expected).max() < 1e-9
    one, two, three = Hexapod("I", R(82.5)), Hexapod("II", R(82.5)), Hexapod("III", R(34.1))
    inside = p[np.linalg.norm(p, axis=1) <= 0.2]
    assert one.freest(inside)[0].min() > 0.15
    flat = p * [1, 1, 0]
    assert two.freest(flat)[0].max() < 1e-12 and two.freest(p[np.abs(p[:, 2]) > 0.02])[0].min() > 1e-4
    assert three.freest(p * [0, 1, 1])[0].max() < 1e-12
    z = p[:, 2]
    across = three.determinant(np.column_stack([np.full(1000, 0.1), 0.756 * z, z]))
    assert np.abs(across).max() < 1e-3 * np.abs(three.determinant(p)).max()
    assert [h.domains() for h in (Hexapod(), one, two, three)] == [0, 1, 2, 4]


def test_self_stress() -> None:
    """T21: equal tensions hold each other in the current design and in II, in none of I; their stiffness about the tool is 6 N R Rb/s₀."""
    for variant, zeta, count in (("current", 0, 1), ("I", 82.5, 0), ("II", 82.5, 1), ("III", 34.1, 1)):
        found = Hexapod(variant, R(zeta)).self_stress()
        assert len(found) == count
        if variant in ("current", "II"):
            assert np.abs(np.abs(found) - 1 / np.sqrt(6)).max() < 1e-12
    h, N = Hexapod(), 1e4
    s = h.lengths(np.zeros(3))[0]
    assert h.stiffness(np.zeros(3), tension=N)[2, 2] == pytest.approx(6 * N * h.R * h.Rb / s, rel=1e-12)
    held = []
    for turned in (1e-5, -1e-5):  # the same from moments of struts that are under this tension and follow their law
        a = (rotation_of(turned * np.eye(3)[2]) @ h.tool_joints.T).T
        d = a - h.base_joints
        length = np.linalg.norm(d, axis=1)[:, None]
        held.append(np.cross(a, (N + h.k * (length - s)) * d / length).sum(axis=0)[2])
    assert (held[0] - held[1]) / 2e-5 == pytest.approx(6 * N * h.R * h.Rb / s, rel=1e-5)
    moment = (Hexapod("I", 0.5).jacobian(np.zeros(3)).T @ np.full(6, N))[2]
    assert abs(moment) == pytest.approx(6 * N * h.R * h.Rb * np.sin(0.5) / Hexapod("I", 0.5).lengths(np.zeros(3))[0], rel=1e-12)


def test_workspace() -> None:
    """T15: the pivot's radius in closed form and by search; zero at 33.8°; joints turned with ζ leave the stroke alone."""
    small = {"R": 0.0983, "Rb": 0.585}
    for zeta in (13.2, 20.0, 28.0):
        h = Hexapod("I", R(zeta), **small)
        assert h.radius(stroke=9.0, rays=1800) == pytest.approx(h.pivot_radius(), abs=2e-6)
    assert Hexapod("I", R(13.2), **small).pivot_radius() == pytest.approx(0.2006, abs=1e-4)
    ends = [Hexapod("I", R(z), **small).pivot_radius() for z in (13.2, 33.8)]
    middle = [Hexapod("I", R(z), **small).pivot_radius() for z in np.linspace(13.2, 33.8, 9)]
    assert ends[1] < 1e-4 and np.abs(np.array(middle) - np.linspace(*ends, 9)).max() < 3e-3
    assert Hexapod("I", R(33.7), **small).pivot_radius() > 0 == Hexapod("I", R(33.9), **small).pivot_radius()
    turned = Hexapod("I", R(60)).radius(turned=True)
    assert turned == pytest.approx(Hexapod("I", R(60)).radius(pivot=np.pi), abs=1e-9) and turned > 0.2


def test_the_stiffest_angle_in_closed_form() -> None:
    """T11: K_γγ = 6k R²Rb² sin²ζ/s² is largest at cos ζ = (S − √(S² − P²))/P; SQP on the compliance finds it."""
    m = jd.Model("turning", gravity=(0, 0, 0))
    zeta = m.parameter("zeta", 1.0, "rad", (0.1, 1.57))
    h = Hexapod()
    S, P = h.R**2 + h.Rb**2 + h.dz**2, 2 * h.R * h.Rb
    joint = m.revolute("tool", m.ground, m.body("tool", inertia=(1, 1, 1), mass=1.0), axis="z")
    m.force(joint, m.parameter("torque", 1.0) - 6 * h.k * (P / 2) ** 2 * jd.sin(zeta) ** 2 / (S - P * jd.cos(zeta)) * joint.position)
    best = jd.Problem(jd.Analysis(m.compile(), "equilibrium", {}), ["zeta"], {"turn": cr.value("1e5*tool.angle")}).optimise()
    closed = np.arccos((S - np.sqrt(S**2 - P**2)) / P)
    assert best.values["zeta"] == pytest.approx(closed, abs=1e-6) and np.degrees(closed) == pytest.approx(83.35, abs=5e-3)


@pytest.fixture(scope="module")
def machine() -> jd.System:
    return hexapod_machine(Hexapod("I", R(82.5)), path="rest").compile()


def test_thirty_six_freedoms(machine: jd.System) -> None:
    """T1: f = 36, M positive definite, and accelerations of two formulations at random states."""
    assert machine.nv == 36
    other = hexapod_machine(Hexapod("I", R(82.5)), path="rest").compile(formulation="cartesian")
    random = np.random.default_rng(4)
    for k in range(100):
        q, v = random.uniform(-0.05, 0.05, 36), random.uniform(-0.5, 0.5, 36)
        assert np.linalg.eigvalsh(machine.mass_matrix(q)).min() > 0
        if k < 3:
            state = machine.state().with_values(q=q, v=v)
            names = {n: float(x) for n, x in zip((*machine.coordinate_names, *machine.velocity_names), (*q, *v), strict=True)}
            a, b = machine.accelerations(state), other.accelerations(other.state(names))
            assert np.abs(a - b).max() < 1e-10 * np.abs(a).max()


def test_energy_and_statics(machine: jd.System) -> None:
    """T2: without damping energy stays to 1e-8; T3: small loads as by C of six springs to 1e-4."""
    free = machine.copy()
    free.set_parameters(d=0.0)
    sol = free.simulate({"tool.x": 1e-3, "tool.rz": 2e-3}, t=1.0, method="dop853", rtol=1e-11, atol=1e-13)
    energy = sol["energy.total"]
    assert np.ptp(energy) < 1e-8 * energy[0]
    m = hexapod_machine(Hexapod("I", R(82.5)), path="rest")
    load = m.parameter("torque", 1.0)
    m.load("small", m.bodies["tool"], force=(5.0, -3.0, 2.0), torque=(0.1, -0.2, load))
    found = m.compile().equilibrium({}).state
    expected = Hexapod("I", R(82.5)).compliance(np.zeros(3)) @ [0.1, -0.2, 1.0, 5.0, -3.0, 2.0]
    at = np.array([found[f"tool.{n}"] for n in ("rx", "ry", "rz", "x", "y", "z")])
    assert np.abs(at - expected).max() < 1e-4 * np.abs(expected).max()


PSI = {
    "turn": cr.integral("where(t < 3, 0, abs(turn))/3"),
    "away": cr.integral("where(t < 3, 0, sqrt('away.x'^2 + 'away.y'^2 + 'away.z'^2))/3"),
}


def test_on_the_circle_and_its_gradients() -> None:
    """T7, T12: the dynamic run within 2 % of statics; adjoint = forward = differences."""
    s = hexapod_machine(Hexapod("I", R(82.5)), "springs", force=(1000.0,) * 3).compile()
    run = jd.Analysis(s, "simulate", {"tool.x": -0.1}, t=(2.0, 6.0), method="dopri5", max_step=4e-3, rtol=1e-5)
    g, f = (run.gradient(PSI, ["zeta", "k"], method=m) for m in ("adjoint", "forward"))
    assert np.abs(g.matrix / f.matrix - 1).max() < 1e-9
    run.gradient({"turn": cr.at(4.0, "turn"), "away": cr.mean("'away.x'^2 + 'away.y'^2 + 'away.z'^2")}, ["zeta", "k"]).check()
    angles = np.pi + 2.0 * np.pi * np.linspace(0.125, 0.875, 61)  # the second of run-up is an eighth of the circle
    circle = 0.1 * np.column_stack([np.cos(angles), np.sin(angles), np.zeros(61)])
    still = Hexapod("I", R(82.5)).deflection(circle, force=(1000,) * 3, torque=(0, 0, 1000))
    assert g.values["turn"] == pytest.approx(np.abs(still.turn).mean(), rel=2e-2)
    assert g.values["away"] == pytest.approx(np.linalg.norm(still.displacement, axis=1).mean(), rel=2e-2)


@pytest.mark.slow
def test_one_criterion_after_the_other() -> None:
    """T9: level 1 between 81.5° and 84°; level 2 with 50 % to spare ends at the least displacement, its constraint idle; with 2 % it is active and has a multiplier."""
    s = hexapod_machine(Hexapod("I", R(45)), "springs", force=(1000.0,) * 3).compile()
    run = jd.Analysis(s, "simulate", {"tool.x": -0.1}, t=(2.0, 6.0), method="dopri5", max_step=4e-3, rtol=1e-5)
    problem = jd.Problem(run, ["zeta"], PSI)
    turning, alone = (problem.optimise(weights=w, tolerance=1e-9) for w in ({"turn": 1.0, "away": 0.0}, {"turn": 0.0, "away": 1.0}))
    assert 81.5 < np.degrees(turning.values["zeta"]) < 84
    wide, narrow = (problem.optimise(form="lexicographic", order=["turn", "away"], slack=x, tolerance=1e-9) for x in (0.5, 0.02))
    assert abs(np.degrees(wide.values["zeta"] - alone.values["zeta"])) < 0.1 and not wide.active
    assert wide.criteria["turn"] < 1.2 * turning.criteria["turn"] and wide.criteria["away"] < turning.criteria["away"]
    assert len(narrow.active) == 1 and min(narrow.multipliers.values()) > 0
    assert narrow.criteria["turn"] == pytest.approx(1.02 * turning.criteria["turn"], rel=1e-4)


def test_the_least_displacement_at_rest() -> None:
    """ψ₂ over 0.2 to 0.8 of the circle is least at 62.2°; ψ₁ at 83.15°: the window decides, not the optimiser."""
    from scipy.optimize import minimize_scalar

    def away(angle: float) -> float:
        moved = Hexapod("I", R(angle)).deflection(CIRCLE, force=(1000,) * 3, torque=(0, 0, 1000), steps=2).displacement
        return float(np.linalg.norm(moved, axis=1).mean())

    assert minimize_scalar(away, bounds=(50, 80), method="bounded", options={"xatol": 0.02}).x == pytest.approx(62.2, abs=0.5)
    grid = np.array([82.15, 83.15, 84.15])
    turns = [turn(Hexapod("I", R(z))) for z in grid]
    assert turns[1] == min(turns) == pytest.approx(9.129e-4, rel=1e-3)


@pytest.mark.parametrize(
    ("variant", "rows"),
    [
        ("I", {55: 1.1876e-3, 68.2: 9.797e-4, 75: 9.319e-4, 90: 9.260e-4}),
        ("II", {0: 1.7029e-2, 30: 1.7854e-2, 60: 2.1711e-2, 90: 4.9022e-2}),
    ],
)
def test_turns_over_the_angle(variant: str, rows: dict[float, float]) -> None:
    """T10: of variant II the turn grows with the angle, so that its optimum is ζ = 0; of variant I it has its least at 83°."""
    found = [turn(Hexapod(variant, R(z))) for z in rows]
    assert found == pytest.approx(list(rows.values()), rel=1e-3)
    assert variant == "I" or found == sorted(found)


def test_the_optimum_of_variant_two_is_the_current_design() -> None:
    """T10: SQP on the turn of variant II under a torque begins at 45° and ends at ζ = 0, where the slope vanishes (less than 1°)."""
    m = hexapod_machine(Hexapod("II", R(45)), "springs", path="rest")
    m.load("torque", m.bodies["tool"], torque=(0.0, 0.0, 1000.0))
    still = jd.Analysis(m.compile(), "equilibrium", {"tool.rz": 0.3})
    best = jd.Problem(still, {"zeta": (0.0, float(R(90)))}, {"turn": cr.value("turn")}).optimise(tolerance=1e-12)
    assert np.degrees(best.values["zeta"]) < 1.0 and best.criteria["turn"] < 0.97 * still.evaluate({"turn": cr.value("turn")})["turn"]


def test_stiff_struts_follow_the_circle() -> None:
    """T6: without load and with struts ten thousand times stiffer the tool stays within a micrometre of its path."""
    s = hexapod_machine(Hexapod("I", R(82.5), k=1.02e10), "springs", torque=0.0).compile()
    s.set_parameters(d=2e6)
    sol = s.simulate({"tool.x": -0.1}, t=(2.0, 3.0), method="radau", rtol=1e-8, atol=1e-12)
    assert max(np.abs(sol[f"away.{a}"]).max() for a in "xyz") < 1e-6
