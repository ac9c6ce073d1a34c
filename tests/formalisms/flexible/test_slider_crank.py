"""Inverse dynamics of a slider-crank with a flexible rod (Lee et al.): drive torque and all reactions against an independent computation."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import jourdain as jd

LENGTH, DIAMETER, SPEED, CRANK = 0.305, 0.0064, 125.7, 0.152
AREA = np.pi * DIAMETER**2 / 4

#: Crank angle (deg): torque (N m), force on the rod at the crank and at the slider (N), amplitude of the first mode (mm).
TABLE = {
    0: (0.0, -452.0802, 0.0, 225.2708, 0.0, 0.0),
    15: (21.96241, -420.6580, 36.8716, 211.8490, -39.2557, 0.54488),
    30: (30.85277, -355.8138, 28.9505, 172.7269, -92.8971, 2.51639),
    45: (28.94477, -255.7269, 13.5763, 111.9858, -102.6823, 3.16291),
    60: (12.50603, -102.5414, -13.0538, 38.3957, -50.2053, 1.82522),
    90: (-19.23553, 126.5495, -136.2372, -86.4228, 26.0734, 1.82024),
    120: (-21.52806, 235.9372, -125.3912, -111.9491, 70.4322, -0.22590),
    135: (-11.92479, 218.7676, -107.8189, -100.6339, 32.4677, 0.71804),
    180: (-0.68512, 208.6366, 4.5074, -75.4189, 5.1566, -0.26845),
    225: (10.99723, 215.9505, 113.6318, -100.6339, -26.3740, -1.05514),
    270: (19.53664, 128.5305, 134.7333, -86.4228, -27.9209, -1.71211),
    315: (-29.14192, -250.5182, -20.6193, 111.9858, 93.4297, -2.68831),
}
RIGID = {
    15: (20.74980, -427.4606, 26.7897, 211.8490, -50.2862), 60: (12.60766, -106.9720, -19.3907, 38.3957, -59.2300),
    90: (-21.06838, 138.6078, -130.1740, -86.4228, 39.3907), 135: (-13.07020, 225.5935, -103.9879, -100.6339, 39.7944),
    180: (0.0, 211.7426, 0.0, -75.4189, 0.0),
}  # fmt: skip


def slider_crank(
    cut: str = "wrist", E: float = 2.0e11, rigid: bool = False, torque: object = None, elements: int = 10, planes: str | None = "y"
) -> jd.Model:
    """The mechanism, driven at constant speed or by a torque."""
    st = jd.structures
    m = jd.Model("slider-crank", gravity=(0, 0, 0))
    beam = st.beam((0, 0, 0), (LENGTH, 0, 0), st.circle(DIAMETER), st.Material(E, 0.3, 0.0756 / (AREA * LENGTH)), elements=elements)
    part = beam.reduce(modes=2 if planes else 4, frame="pinned", bending=planes)
    inertia = 5853.3e-7 + 0.0756 * (LENGTH / 2) ** 2  # the table's, which is not quite that of a slender rod
    part = dataclasses.replace(part, J0=np.diag([part.J0[0, 0], inertia, inertia]))
    crank = m.body("crank", mass=0.0378, com=(0.076, 0, 0), inertia=(1.9e-7, 7.324e-5, 7.324e-5))
    rod = m.flexible_body("rod", part, rigid=rigid)
    slider = m.body("slider", mass=0.0626, inertia=(4.18e-6,) * 3)
    main = m.revolute("main", m.ground, crank)
    m.universal("pin", crank.at(CRANK, 0, 0), rod.node("start"), axes=("z", "y"), cut=cut == "pin" or None)
    m.spherical("wrist", rod.node("end"), slider, orientation="quaternion" if cut == "wrist" else "zyx", cut=cut == "wrist" or None)
    m.prismatic("guide", m.ground, slider, axis="x")
    if torque is None:
        m.drive(main, lambda t: SPEED * t)
    else:
        m.torque(main, torque(m.time) if callable(torque) else torque)
    return m


def row(sol: jd.Solution, angle: float) -> np.ndarray:
    at = sol.at(np.deg2rad(angle) / SPEED)
    mode = [] if "rod.mode1" not in sol.names else [1e3 * at["rod.mode1"]]
    return np.array([at["main.drive_force"], *at["pin.reaction"][:2], *-at["wrist.reaction"][:2], *mode])


@pytest.mark.parametrize(
    ("formulation", "cut"), [("recursive", "wrist"), ("recursive", "pin"), ("semi-recursive", "wrist"), ("cartesian", "wrist")]
)
def test_17_T4_T10_T12_table_of_torque_and_reactions(formulation: str, cut: str) -> None:
    """With 40 elements, whose frequencies are 3e-8 and 4e-7 above those of the continuum, to the digits of the table."""
    s = slider_crank(cut, elements=40).compile(formulation=formulation)
    sol = s.simulate(s.assemble(), t=0.05, rtol=1e-11, atol=1e-14)
    assert sol.metadata["status"] == "finished"
    for angle, expected in TABLE.items():
        np.testing.assert_allclose(row(sol, angle), expected, rtol=1e-5, atol=2e-4)
    assert np.abs(sol["pin.reaction"][:, 2]).max() < 1e-9  # nothing out of the plane
    assert np.abs(sol["pin.angle2"] if "pin.angle2" in sol.names else np.zeros(1)).max() < 1e-9
    assert sol["main.drive_force"].max() == pytest.approx(31.45480, abs=1e-4)
    assert np.abs(sol["rod.mode1"]).max() == pytest.approx(3.26430e-3, rel=1e-5)


def test_17_T10_modes_out_of_the_plane_stay_at_rest() -> None:
    """Two modes in each plane: the numbers are those of the plane, the others nothing."""
    s = slider_crank(planes=None).compile()
    sol = s.simulate(s.assemble(), t=0.03, rtol=1e-10, atol=1e-13)
    plane = slider_crank().compile()
    expected = plane.simulate(plane.assemble(), t=0.03, rtol=1e-10, atol=1e-13)
    start = s.model.bodies["rod"].part.points["start"].phi_r  # type: ignore[attr-defined]
    out = [k for k in range(4) if abs(start[1, k]) > abs(start[2, k])]
    assert len(out) == 2
    for k in out:
        assert np.abs(sol[f"rod.mode{k + 1}"]).max() < 1e-12
    for angle in (15, 60, 135, 180):
        np.testing.assert_allclose(row(sol, angle)[:5], row(expected, angle)[:5], rtol=1e-7, atol=1e-6)


def test_17_T14_rigid_rod() -> None:
    """The part without its modes is the rigid rod of the table."""
    s = slider_crank(rigid=True).compile()
    sol = s.simulate(s.assemble(), t=0.03)
    for angle, expected in RIGID.items():
        np.testing.assert_allclose(row(sol, angle), expected, atol=6e-5)
    closed = 0.0626 * SPEED**2 * CRANK * (1 + CRANK / LENGTH)
    assert row(sol, 0.0)[[0, 2, 4]] == pytest.approx(0.0, abs=1e-8)
    assert row(sol, 0.0)[3] == pytest.approx(closed, rel=1e-9)


def test_17_T14_a_rod_that_hardly_bends_is_the_rigid_one() -> None:
    rigid, stiff = (slider_crank(rigid=rigid, E=2.0e18).compile() for rigid in (True, False))
    expected = rigid.simulate(rigid.assemble(), t=0.02)
    sol = stiff.simulate(stiff.assemble(), t=0.02, method="radau", rtol=1e-8)
    for angle in (0, 15, 90):
        np.testing.assert_allclose(row(sol, angle)[:5], row(expected, angle), atol=0.03, rtol=1e-4)


def test_17_T7_power_of_the_drive_is_the_rate_of_energy() -> None:
    s = slider_crank().compile()
    sol = s.simulate(s.assemble(), t=0.046, rtol=1e-11, atol=1e-14)
    for t, work in ((0.01, 24.86283873), (0.02, 2.82989059), (0.045, 13.41613676)):
        total = sol.at(t)["energy.kinetic"] + sol.at(t)["energy.potential"] - sol["energy.kinetic"][0]
        assert total == pytest.approx(work, rel=4e-4)
    assert np.ptp(sol["energy.error"]) < 1e-9


def test_17_T9_the_torque_fed_forward_moves_the_slider_as_driven() -> None:
    driven = slider_crank().compile()
    reference = driven.simulate(driven.assemble(), t=0.05, rtol=1e-11, atol=1e-14)
    errors = []
    for step in (5e-4, 2.5e-4):
        times = np.arange(0.0, 0.05 + step, step)
        torques = reference.at(np.minimum(times, 0.05))["main.drive_force"]
        m = slider_crank(torque=lambda t, x=times, y=torques: jd.table(x, y, kind="linear")(t))
        s = m.compile()
        start = s.assemble({"main": 0.0}, velocities={"main.angle_rate": SPEED})
        run = s.simulate(start, t=0.05, rtol=1e-9, atol=1e-12)
        errors.append(np.abs(run.at(reference.t)["guide.displacement"] - reference["guide.displacement"]).max())
    assert errors[0] == pytest.approx(2.7e-4, rel=0.25)
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.25)


def test_17_T11_stiffer_rods_bend_less_in_proportion() -> None:
    peaks = []
    for E in (2.0e13, 2.0e14):
        s = slider_crank(E=E).compile()
        sol = s.simulate(s.assemble(), t=0.01, method="radau", rtol=1e-7)
        peaks.append(np.abs(sol["rod.mode1"]).max())
    assert peaks[0] / peaks[1] == pytest.approx(10.0, rel=0.05)


def test_17_T13_momentum_of_a_free_rod() -> None:
    st = jd.structures
    m = jd.Model("free rod", gravity=(0, 0, 0))
    rod = m.flexible_body(
        "rod", st.beam((0, 0, 0), (1, 0, 0), st.rectangle(0.01, 0.02), st.Material(7e9, 0.3, 1000.0), elements=6), modes=4
    )
    m.free("base", m.ground, rod)
    s = m.compile()
    rng = np.random.default_rng(3)
    x = s.state({"rod.mode1": 0.05, "rod.mode3": -0.03}, dict(zip(s.configuration.velocity_names, rng.normal(size=s.nv), strict=True)))
    sol = s.simulate(x, t=0.3, rtol=1e-11, atol=1e-13)
    f = s.function("momentum")
    first, last = (f(p.q, p.v) for p in (x, sol.final_state()))
    for a, b in zip(first, last, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-9)
    assert np.ptp(sol["energy.total"]) < 1e-8 * sol["energy.total"][0]


def test_a_reduced_part_is_seen_from_another_frame_with_the_same_motion() -> None:
    st = jd.structures
    part = st.beam((0, 0, 0), (1, 0, 0), st.rectangle(0.01, 0.02), st.Material(7e9, 0.3, 1000.0), elements=6).reduce(modes=3, bending="z")
    ends = []
    for frame in (None, "tangent", "pinned"):
        m = jd.Model("pendulum")
        rod = m.flexible_body("rod", part, frame=frame)
        m.revolute("hinge", m.ground, rod.node("start"), axis="y")
        m.output("tip", m.sensor("tip", rod.node("end")).position[2])
        s = m.compile()
        ends.append(s.simulate({"hinge": 0.1}, t=0.2, rtol=1e-10)["tip"][-1])
    # frames differ in what a linear theory neglects: the square of a deflection
    assert np.ptp(ends) < 1e-6


@pytest.mark.parametrize("frame", ["mean axes", "tangent", "pinned"])
def test_17_T2_accelerations_are_those_of_cartesian_coordinates(frame: str) -> None:
    """An open chain with a flexible body: joint and modal accelerations against the Cartesian equations with all joints as constraints."""
    st = jd.structures
    m = jd.Model("open chain", gravity=(1.0, -9.81, 2.0))
    part = st.beam((0, 0, 0), (LENGTH, 0, 0), st.circle(DIAMETER), st.Material(2.0e11, 0.3, 7705.0), elements=6)
    crank = m.body("crank", mass=0.04, com=(0.076, 0.01, 0), inertia=(1e-5, 7e-5, 8e-5))
    rod = m.flexible_body("rod", part, frame=frame, modes=3, damping=0.01)
    tip = m.body("tip", mass=0.06, com=(0.01, 0.02, 0.0), inertia=(4e-6, 5e-6, 6e-6))
    m.revolute("main", m.ground, crank, axis="z")
    m.universal("pin", crank.at(CRANK, 0, 0), rod.node("start"), axes=("z", "y"))
    m.revolute("wrist", rod.node("end"), tip, axis="y")
    one, other = m.compile(), m.compile(formulation="cartesian")
    rng = np.random.default_rng(6)
    for _ in range(3):
        q = [rng.uniform(-1, 1) * (1e-3 if ".mode" in n else 1.0) for n in one.coordinate_names]
        v = [rng.normal() * (0.1 if ".mode" in n else 3.0) for n in one.velocity_names]
        x = one.state(dict(zip(one.coordinate_names, q, strict=True)), dict(zip(one.velocity_names, v, strict=True)))
        a, b = one.accelerations(x), other.accelerations(x)
        assert np.abs(a - b).max() < 1e-9 * np.abs(a).max()
        for name, (force, torque) in one.reactions(x).items():  # T5: by recursion and by multipliers
            np.testing.assert_allclose(other.reactions(x)[name][0], force, rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(other.reactions(x)[name][1], torque, rtol=1e-8, atol=1e-8)


def test_17_T6_base_reactions_are_the_rate_of_momentum() -> None:
    """Forces of ground, guide and drive = d/dt of linear momentum, their moments about the crank's axis = d/dt of angular momentum."""
    s = slider_crank().compile()
    sol = s.simulate(s.assemble(), t=0.03, rtol=1e-12, atol=1e-15)
    h = 2e-6

    def momentum(t: float) -> np.ndarray:
        """Linear and angular momentum about the origin, from the motion of all mass."""
        at = sol.at(t)
        x = s.state({n: at[n] for n in s.coordinate_names}, {n: at[n] for n in s.velocity_names}).with_values(t=t)
        f = s.function("momentum")
        known = {"t": np.array([t]), "q": x.q, "v": x.v, "z": x.z, "u": s.input_values()}
        return np.concatenate([np.ravel(part) for part in f(*(known[n] for n in f.inputs))])[:6]

    for t in (0.004, 0.0113, 0.021):
        rate = (momentum(t + h) - momentum(t - h)) / (2 * h)
        at = sol.at(t)
        force = at["main.reaction"] + at["guide.reaction"]
        slider = np.array([at["guide.displacement"], 0.0, 0.0])
        moment = at["main.reaction_torque"] + at["guide.reaction_torque"] + np.cross(slider, at["guide.reaction"])
        np.testing.assert_allclose(rate[:3], force, atol=2e-5 * np.abs(force).max())
        np.testing.assert_allclose(rate[3:6], moment, atol=5e-5 * max(1.0, np.abs(moment).max()))


def test_adaptive_generalised_alpha_follows_the_driven_rod() -> None:
    """Its error estimate is not led by rounding: at 1e-5 … 1e-7 steps fell below rounding, now they converge to radau's motion."""
    from tests.io.flexible_models import slider_crank

    s = slider_crank().compile()
    start = s.assemble()
    expected = s.simulate(start, t=0.02, rtol=1e-10, atol=1e-13, method="radau")["rod.mode1"][-1]
    for tol in (1e-5, 1e-6, 1e-7):
        found = s.simulate(start, t=0.02, rtol=tol, method="generalized-alpha")["rod.mode1"][-1]
        assert found == pytest.approx(expected, abs=1e-3 * tol)  # a third of the tolerance: amplitudes are up to 3 mm
