"""Suspensions: counts, kinematics under different topologies, dynamics against numbers of an independent Cartesian model."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import jourdain as jd
from jourdain.library import suspensions as lib
from jourdain.systems.tree.projected import NativeSystem

TOPOLOGIES = [("massless", "ground"), ("massless", "frame"), ("removed", "ground"), ("bodies", "ground"), ("bodies", "frame")]


@cache
def five_link(rods: str = "removed", carried_by: str = "ground"):
    return lib.five_link_suspension(rods, carried_by).compile()


@cache
def front(kind: str, rods: str):
    return getattr(lib, f"{kind}_suspension")(rods).compile()


def rank(system, state) -> int:
    _, J = system.function("constraints")(np.array([0.0]), state.q)
    return int(np.linalg.matrix_rank(J, tol=1e-8))


def accelerations(system, state) -> dict[str, float]:
    native = NativeSystem(system)
    out = np.zeros(native.n)
    assert native.rhs(0.0, state.x, out) == 0
    return dict(zip(system.velocity_names, out[system.nq : system.nq + system.nv], strict=True))


@pytest.mark.parametrize(("rods", "coordinates", "constraints"), [("removed", 8, 5), ("massless", 8, 5), ("bodies", 18, 15)])
def test_five_link_counts(rods, coordinates, constraints):
    s = five_link(rods)
    state = s.assemble({"rear.float.z": 0.02})
    assert (s.nv, len(s.equations_of_motion.rows)) == (coordinates, constraints)
    assert rank(s, state) == constraints
    assert state.report.freedoms == 3


@pytest.mark.parametrize("kind", ["mcpherson", "double_wishbone"])
@pytest.mark.parametrize(("rods", "coordinates", "constraints"), [("removed", 7, 4), ("bodies", 9, 6)])
def test_front_suspension_counts(kind, rods, coordinates, constraints):
    s = front(kind, rods)
    state = s.assemble({})
    assert (s.nv, len(s.equations_of_motion.rows)) == (coordinates, constraints)
    assert rank(s, state) == constraints
    assert state.report.freedoms == 3


TABLE = np.array(
    [
        [-0.080, 6.4383, -9.7622, 1.3349, 0.7578],
        [-0.040, 2.4571, -2.4771, 0.9132, 0.2265],
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [0.040, -0.8747, -2.0380, -1.3984, -0.0865],
        [0.080, -0.1023, -8.5575, -3.3130, -0.1403],
    ]
)


@pytest.mark.parametrize(("rods", "carried_by"), TOPOLOGIES)
def test_five_link_kinematics_are_those_of_the_table(rods, carried_by):
    found = lib.curves(five_link(rods, carried_by), "rear", "rear.float.z", TABLE[:, 0], {"frame.displacement": 0.0})
    np.testing.assert_allclose(1e3 * found["x"], TABLE[:, 1], atol=6e-5)
    np.testing.assert_allclose(1e3 * (found["y"] - 0.74), TABLE[:, 2], atol=6e-5)
    np.testing.assert_allclose(np.degrees(found["camber"]), TABLE[:, 3], atol=6e-5)
    np.testing.assert_allclose(np.degrees(found["heading"]), TABLE[:, 4], atol=6e-5)


def test_five_link_kinematics_do_not_depend_on_the_topology():
    travel = np.linspace(-0.08, 0.08, 9)
    first, *others = (lib.curves(five_link(r, b), "rear", "rear.float.z", travel, {"frame.displacement": 0.0}) for r, b in TOPOLOGIES)
    for other in others:
        for column in first:
            np.testing.assert_allclose(other[column], first[column], atol=1e-10)


@pytest.mark.parametrize(("kind", "coordinate"), [("mcpherson", "front.arm.angle"), ("double_wishbone", "front.lower.angle")])
def test_front_kinematics_do_not_depend_on_the_topology(kind, coordinate):
    angles = np.linspace(-0.2, 0.2, 7)
    first, second = (lib.curves(front(kind, r), "front", coordinate, angles, {"frame.displacement": 0.0}) for r in ("removed", "bodies"))
    for column in first:
        np.testing.assert_allclose(second[column], first[column], atol=1e-10)
    assert np.all(np.diff(first["z"]) > 0)
    assert np.ptp(np.degrees(first["camber"])) < 5.0


@pytest.mark.parametrize("carried_by", ["ground", "frame"])
@pytest.mark.parametrize(
    ("rods", "expected"),
    [
        ("massless", (-14.063008239, -174.691241084, 4.255631073)),
        ("removed", (-13.489988864, -167.557476892, 4.551265103)),
        ("bodies", (-13.489988864, -167.557476892, 4.551265103)),
    ],
)
def test_five_link_accelerations(rods, carried_by, expected):
    """The printed digits, within what rounding the spring's free length to nine digits allows (about 1e-7)."""
    s = five_link(rods, carried_by)
    relative = carried_by == "frame"
    state = s.assemble(
        {"rear.spin.angle": 0.2, "rear.float.z": 0.05 if relative else 0.03, "frame.displacement": -0.02},
        velocities={"rear.spin.angle": 3.0, "rear.float.z": 0.5 if relative else 0.4, "frame.displacement": -0.1},
    )
    a = accelerations(s, state)
    z = a["rear.float.z_rate"] + (a["frame.displacement_rate"] if relative else 0.0)
    np.testing.assert_allclose([a["rear.spin.angle_rate"], z, a["frame.displacement_rate"]], expected, atol=2e-7)


@pytest.mark.parametrize("rods", ["removed", "bodies"])
def test_five_link_design_position_is_in_equilibrium(rods):
    e = five_link(rods).equilibrium()
    assert abs(e["rear.float.z"]) < 1e-7 and abs(e["frame.displacement"]) < 1e-7
    assert e.held == ["rear.spin.angle"]
    assert e.residual < 1e-8


@pytest.mark.parametrize("rods", ["removed", "bodies"])
def test_five_link_eigenvalues(rods):
    found = np.sort_complex(np.asarray(five_link(rods).equilibrium().eigenvalues, dtype=complex))
    expected = np.sort_complex(
        np.array([-1.5768489 + 6.8600394j, -1.5768489 - 6.8600394j, -21.4831693 + 76.5438122j, -21.4831693 - 76.5438122j, 0, 0])
    )
    np.testing.assert_allclose(found, expected, atol=5e-7)


def test_five_link_over_a_step_of_the_road():
    s = lib.five_link_suspension("bodies", road=lambda t: jd.where(t > 0.2, 0.05, 0.0)).compile()
    sol = s.simulate(s.assemble({}), 2.0, rtol=1e-8, atol=1e-10, times=[0.0, 0.3, 0.5, 1.0, 1.5, 2.0])
    np.testing.assert_allclose(sol["rear.float.z"][1:], [0.046214, 0.052954, 0.048602, 0.050637, 0.049737], atol=2e-6)
    np.testing.assert_allclose(sol["frame.displacement"][1:], [0.021763, 0.070989, 0.037560, 0.056453, 0.046938], atol=2e-6)


@pytest.mark.parametrize("kind", ["mcpherson", "double_wishbone"])
def test_front_suspensions_settle_where_equilibrium_says(kind):
    s = front(kind, "removed")
    e = s.equilibrium(s.assemble({}))
    assert e.residual < 1e-7
    weight = 9.81 * float(s.model.parameter_set.evaluate(s.model.mass))
    f = s.function("outputs")(np.array([0.0]), e.state.x, s.input_values())
    assert f[list(s.model.outputs).index("tyre.Fz")] == pytest.approx(weight, rel=1e-9)
    sol = s.simulate(s.assemble({}), 8.0, rtol=1e-7, times=[0.0, 8.0])
    assert sol["frame.displacement"][-1] == pytest.approx(e["frame.displacement"], abs=2e-4)


def test_energy_is_kept_without_damping_and_loops_stay_closed():
    s = lib.five_link_suspension("bodies").compile()
    s.set_parameters(**{"rear.damping": 0.0, "tyre_stiffness": 0.0})
    sol = s.simulate(s.assemble({"rear.float.z": 0.03}), 0.1, method="dop853", rtol=1e-10, atol=1e-12)
    e = sol["energy.total"]
    assert np.ptp(e) < 1e-8 * np.abs(e).max()
    q = np.column_stack([sol[n] for n in s.coordinate_names])
    assert np.abs(s.function("constraints")(sol.t[:, None], q)[0]).max() < 1e-12


def test_mirrored_corner_moves_as_the_mirror_image():
    def one(side: int):
        m = jd.Model("corner")
        frame = m.body("frame", mass=380.0)
        m.prismatic("frame", m.ground, frame, axis="z")
        corner = lib.add_five_link(m, "rear", lib.Placed(frame, (0, 0, 0)), side=lib.Side(side))
        lib.outputs(m, corner)
        s = m.compile()
        return lib.curves(s, "rear", "rear.float.z", [-0.05, 0.05], {"frame.displacement": 0.0}), corner

    (left, _), (right, _) = one(1), one(-1)
    np.testing.assert_allclose(right["camber"], -left["camber"], atol=1e-12)
    np.testing.assert_allclose(right["heading"], -left["heading"], atol=1e-12)
    np.testing.assert_allclose(right["y"], -left["y"], atol=1e-12)


def test_bad_choices_are_named():
    with pytest.raises(jd.ModelError, match="'welded' is unknown; use one of removed"):
        lib.five_link_suspension("welded")
    with pytest.raises(jd.ModelError, match=r"side is 1 .* got 0"):
        lib.Side(0)
    with pytest.raises(jd.ModelError, match="carried_by 'sky' is unknown"):
        lib.five_link_suspension(carried_by="sky")
