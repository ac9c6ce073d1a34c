"""Structures that buckle in plastic hinges: T12 to T15 and T22 of the specification of crashworthiness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError, ModelError
from jourdain.library.crash.hinges import PHYSICAL, HollowSquare, weaker
from jourdain.library.crash.sbeam import LENGTHS, plane_beam

lib = jd.library
A, B = HollowSquare(0.0661, 0.2635), HollowSquare(0.0661, 0.404)
TIGHT = {"rtol": 1e-10, "atol": 1e-12}
#: H2, H3, H4 (0.1 mm) and mass (kg) of all rows of Tables 6 and 7.
MASSES = """
0661 0100 0788 12.333 | 0661 0100 0779 12.171 | 0661 0100 0816 12.849 | 0661 0100 0797 12.497
0669 0100 0724 11.343 | 0667 0100 0764 11.996 | 0661 0100 0790 12.369 | 0670 0101 0740 11.631
0661 0100 0775 12.099 | 0670 0101 0740 11.631 | 0661 0100 0809 12.718 | 0673 0101 0731 11.525
0661 0100 0794 12.442 | 0669 0100 0729 11.426 | 0669 0100 0721 11.293 | 0638 0100 0689 10.309
0638 0100 0689 10.309 | 0667 0100 0764 11.996 | 0661 0100 0764 11.905 | 0664 0100 0806 12.708
1402 1321 0980 64.4 | 1638 0253 1891 73.1 | 1623 0230 1944 74.6 | 1345 1232 1199 64.1
0893 1326 1187 56.3 | 0640 1317 0985 46.4 | 1586 0218 1944 73.2 | 1623 0230 1944 74.6
1651 0214 1923 74.6 | 0902 1294 1188 55.1 | 1586 0218 1944 73.2 | 1343 0257 0672 27.1
0925 1326 1188 57.0 | 0925 1326 1187 57.0 | 0661 1361 1979 82.7 | 0596 1365 1887 77.8
1409 1307 0973 63.8 | 0647 1231 1195 47.9 | 0756 1318 1041 49.6 | 1358 1231 1199 64.4
"""


def test_t12_free_body_keeps_its_momenta_and_its_spin() -> None:
    """A free member with a spin and a vibration, in a frame with mean axes: linear and angular momentum and energy stay."""
    m = jd.Model("free", gravity=(0, 0, 0))
    part = plane_beam(HollowSquare(0.005, 1.0), (0, 0), (1.0, 0.0))
    reduced = part.reduce(4)
    mixed = reduced.mass_matrix()[:6, 6:]
    assert np.abs(mixed[[0, 1, 5]]).max() < 1e-12, "no linear coupling of modes and frame"
    body = m.flexible_body("body", reduced, damping=0.0)
    m.sequence("float", m.ground, body, ["Tx", "Ty", "Rz"])
    s = m.compile()
    sol = s.simulate({"float.x_rate": 0.3, "float.rz_rate": 4.0, "body.mode1": 0.004, "body.mode2_rate": 0.1}, 1.0, **TIGHT)
    assert np.ptp(sol["energy.total"]) < 1e-8 * sol["energy.total"][0]
    assert np.ptp(sol["body.mode1"]) > 0.004
    names = ["float.x", "float.y", "float.rz", *(f"body.mode{i}" for i in range(1, 5))]
    q, v = (np.array([sol[n + end] for n in names]).T for end in ("", "_rate"))
    momenta = np.array([s.mass_matrix(x) @ u for x, u in zip(q[::50], v[::50], strict=True)])[:, :3]
    momenta[:, 2] += q[::50, 0] * momenta[:, 1] - q[::50, 1] * momenta[:, 0]  # linear, and angular about a point at rest
    assert np.ptp(momenta, axis=0).max() < 1e-8 * np.abs(momenta).max() and len(momenta) > 5
    assert np.ptp(sol["float.rz_rate"]) > 1e-6, "the frame's own speed is none of them"
    still = m.compile().simulate({"float.rz_rate": 2.0}, 1.0, **TIGHT)
    assert still["float.rz_rate"][-1] == pytest.approx(2.0, rel=1e-4) and np.ptp(still["energy.total"]) < 1e-8 * still["energy.total"][0]


def test_t12_rigid_limit_is_the_pendulum() -> None:
    def swing(E: float | None) -> Any:
        m = jd.Model("pendulum", gravity=(0, -9.81, 0))
        member = HollowSquare(0.05, 1.0, E=E or 2e11)
        body = m.flexible_body("rod", plane_beam(member, (0, 0), (1.0, 0.0)), modes=2, rigid=E is None)
        m.revolute("pin", m.ground, body.node("start"), axis="z")
        return m.compile().simulate({"pin.angle": 0.0}, 0.8, method="radau", rtol=1e-9, atol=1e-11, outputs=400)["pin.angle"]

    exact = swing(None)
    misses = [float(np.abs(swing(E) - exact).max()) for E in (1e10, 1e11, 1e12)]
    assert misses[2] < 1e-5 and misses[0] > 4 * misses[1] > 16 * misses[2], misses


def test_t13_free_frequencies() -> None:
    found = plane_beam(A, (0, 0), (A.length, 0)).frequencies(4) / (2 * np.pi)
    assert found == pytest.approx([6218.8, 10281.7, 17230.5, 22102.8], rel=1e-5)
    leaning = plane_beam(B, (0, 0), (B.length * 0.5, B.length * np.sqrt(0.75))).frequencies(3) / (2 * np.pi)
    assert leaning == pytest.approx([2645.5, 6706.0, 7329.9], rel=1e-5)
    for member, exact in ((A, [6212.1, 10022.5, 17123.8, 20045.0]), (B, [2642.6, 6537.0, 7284.5])):
        fine = plane_beam(member, (0, 0), (member.length, 0), elements=120).frequencies(len(exact)) / (2 * np.pi)
        assert fine == pytest.approx(exact, rel=1.2e-4)  # linear axial elements: (π n/N)²/24


def test_t14_moment_over_angle() -> None:
    """3EI/L up to M_P, then constant; back along the elastic slope, alike in both directions."""
    hinge = A.hinge
    assert hinge.moment == pytest.approx(30.485e3, rel=1e-4) and hinge.angle == pytest.approx(0.009577, rel=1e-4)
    assert HollowSquare(0.0661, 0.2635, mp_factor=PHYSICAL).hinge.moment == pytest.approx(15.242e3, rel=1e-4)
    assert hinge.stiffness == pytest.approx(3 * A.E * A.inertia / A.length, rel=1e-12)
    m = jd.Model("hinge", gravity=(0, 0, 0))
    pin = m.revolute("pin", m.ground, m.body("link", mass=1.0, inertia=(1, 1, 1)), axis="z")
    m.drive(pin, lambda t: 0.03 * jd.sin(t))
    hinge.act(m, "hinge", pin)
    sol = m.compile().simulate(t=2.5 * np.pi, max_step=0.01, **TIGHT)
    x, M = 0.03 * np.sin(sol.t), sol["hinge.moment"]
    first = sol.t < 0.5 * np.pi
    np.testing.assert_allclose(M[first], np.minimum(hinge.stiffness * x[first], hinge.moment), rtol=1e-9, atol=1e-6)
    assert M.min() == pytest.approx(-hinge.moment) and M.max() == pytest.approx(hinge.moment)
    travel = (0.03 - hinge.angle) + 2 * (0.06 - 2 * hinge.angle)  # beyond yield: a quarter, then there and back
    assert sol["hinge.turned"][-1] == pytest.approx(travel, rel=1e-8)
    assert sol["hinge.energy"][-1] == pytest.approx(hinge.moment * (travel + 0.5 * hinge.angle), rel=1e-8)


def test_t14_four_hinges_under_a_slow_load() -> None:
    """Virtual work of the whole chain: F dy = Σ M_P |dθ|, and all that the car loses is in the hinges."""
    m = lib.s_beam(H=0.03, speed=0.2, mass=5e5, modes=0, plate=0.5, damping=None)
    sol = m.compile().simulate(t=0.6)
    late = (sol.t > 0.3) & (sol.t < 0.55)
    force = -5e5 * sol["car.displacement_acc"][late] * sol["car.displacement_rate"][late]
    work = sum(sol[f"hinge{i}.moment"] * sol[f"hinge{i}.angle_rate"] for i in (1, 2, 3, 4))[late]
    assert np.median(np.abs(force / work - 1.0)) < 0.02
    plastic = [np.abs(sol[f"hinge{i}.moment"][late]).max() / HollowSquare(0.03, 0.2635).hinge.moment for i in (1, 2, 3, 4)]
    assert sum(p > 0.999 for p in plastic) >= 3


def test_t15_rayleigh_damping() -> None:
    """ζ = (α ω + β/ω)/2 in every mode, from the logarithmic decrement."""
    part = plane_beam(HollowSquare(0.02, 1.0), (0, 0), (1.0, 0.0))
    w = part.frequencies(3)
    given = lib.rayleigh((w[0], 0.01), (w[2], 0.02), cap=None)
    assert [0.5 * (given["stiffness"] * x + given["mass"] / x) for x in (w[0], w[2])] == pytest.approx([0.01, 0.02])
    m = jd.Model("ringing", gravity=(0, 0, 0))
    m.fixed(
        "hold", m.ground, m.flexible_body("body", part, modes=3, damping=given, kind="fixed", frame="tangent", at="start").node("start")
    )
    s = m.compile()
    held = s.model.bodies["body"].part.frequencies  # type: ignore[attr-defined]
    for i, omega in enumerate(held, 1):
        zeta = 0.5 * (given["stiffness"] * omega + given["mass"] / omega)
        period = 2 * np.pi / (omega * np.sqrt(1 - zeta**2))
        sol = s.simulate({f"body.mode{i}": 1e-3}, 4 * period, times=np.array([0.0, 1, 2, 3, 4]) * period, **TIGHT)
        decrement = np.log(sol[f"body.mode{i}"][1] / sol[f"body.mode{i}"][3]) / 2
        assert decrement / np.sqrt(4 * np.pi**2 + decrement**2) == pytest.approx(zeta, rel=1e-5)
    capped = lib.rayleigh((w[0], 0.01), (w[2], 0.02))
    assert capped["mass"] == 0.1 < given["mass"] and capped["stiffness"] == given["stiffness"]
    with pytest.raises(InputError, match="one of them negative"):
        lib.rayleigh((10.0, 0.001), (20.0, 0.5))


def test_t22_masses_of_the_tables() -> None:
    """All 40 rows to what they are printed with, 0.1 %; the model has the sum of its members."""
    rows = [row.split() for line in MASSES.strip().splitlines() for row in line.split("|")]
    assert len(rows) == 40
    for row in rows:
        H, kg = [1e-4 * float(x) for x in row[:3]], float(row[3])
        assert sum(HollowSquare(h, x).mass for h, x in zip(H, LENGTHS, strict=True)) == pytest.approx(kg, rel=1e-3)
    assert lib.s_beam(H).parameter_set["members.mass"].value == pytest.approx(kg, rel=1e-3)


def test_t22_geometry_energy_and_the_weaker_member() -> None:
    m = lib.s_beam(modes=0)
    s = m.compile()
    sol = s.simulate(t=1e-4)
    assert sol["distance"][0] == pytest.approx(0.8769, abs=1e-4)
    members = sol["members.mass"][0]
    assert members == pytest.approx(lib.s_beam().parameter_set["members.mass"].value, rel=1e-12)
    assert sol["energy.kinetic"][0] == pytest.approx(0.5 * (750.0 + members + 5.0) * (50 / 3.6) ** 2, rel=1e-9)
    assert pytest.approx(72.34e3, rel=1e-4) == 0.5 * 750.0 * (50 / 3.6) ** 2
    thin, thick = HollowSquare(0.03, LENGTHS[0]), HollowSquare(0.06, LENGTHS[1])
    assert weaker(thin, thick) == weaker(thick, thin) == thin.hinge
    one, other = lib.s_beam((0.05, 0.03, 0.06)), lib.s_beam((0.03, 0.05, 0.06))
    for swapped in (one, other):  # between bodies 2 and 3, whichever is thin
        assert swapped.parameter_set["hinge2.M_P"].value == pytest.approx(HollowSquare(0.03, 1.0).hinge.moment)


def test_t22_stiffer_members_deform_less_and_push_harder() -> None:
    found = []
    for H in (0.055, 0.065, 0.08):
        sol = lib.s_beam(H, modes=0, damping=None).compile().simulate(t=0.05)
        a = sol.at(np.linspace(0.0, 0.05, 2001))["car.displacement_acc"]
        found.append((sol["deformation"].max(), float(np.mean(a**2))))
        lost = sol["energy.kinetic"][0] - sol["energy.kinetic"][-1]
        taken = sum(sol[f"hinge{i}.energy"][-1] for i in (1, 2, 3, 4)) + sol["wall.energy"][-1]
        assert taken == pytest.approx(lost, rel=1e-5), "all that was lost is in the hinges and in the wall"
    deformation, vcsi = zip(*found, strict=True)
    assert deformation[0] > deformation[1] > deformation[2] and vcsi[0] < vcsi[1] < vcsi[2]


def test_t22_sides_of_rigid_members_are_parameters() -> None:
    """A system with other sides is the one that is made with them: masses, hinges and the weaker member follow."""
    s = lib.s_beam(0.08, modes=0).compile()
    for H in ((0.05, 0.03, 0.06), (0.03, 0.05, 0.06)):
        s.set_parameters(**{f"body{i}.H": h for i, h in enumerate(H, 2)})
        a, b = (x.simulate(None, 2e-3, rtol=1e-10, atol=1e-12) for x in (s, lib.s_beam(H, modes=0).compile()))
        for name in ("deformation", "hinge2.moment", "hinge3.energy", "members.mass", "clear2", "clear4"):
            assert a[name][-1] == pytest.approx(b[name][-1], rel=1e-9), name
        assert max(abs(a["hinge2.moment"])) == pytest.approx(HollowSquare(0.03, 1.0).hinge.moment, rel=1e-9)


def test_t22_front_of_deformation_and_acceleration() -> None:
    """Monotone, and every returned design keeps the geometric constraints, in a run of its own."""
    front = lib.s_beam_problem().pareto("nsga2", seed=1, mutation=(0.5, 20), progress=False, population=8, generations=2)
    y = front.values
    assert len(front) >= 3 and (np.diff(y[:, 0]) > 0).all() and (np.diff(y[:, 1]) < 0).all()
    for design in front:
        sol = lib.s_beam([design.values[f"body{i}.H"] for i in (2, 3, 4)], modes=0).compile().simulate(t=0.06)
        assert sol["distance"].min() > 0.3 - 1e-3 and sol["clear2"].min() > -1e-3 and sol["clear4"].min() > -1e-3
        assert sol["deformation"].max() == pytest.approx(0.8769 - sol["distance"].min(), abs=2e-4)
    with pytest.raises(InputError, match="least = 'cost'; choose one of deformation, mass"):
        lib.s_beam_problem("cost")


@pytest.mark.parametrize(
    ("formulation", "method", "options", "near"),
    [
        ("recursive", "dopri5", {}, 2e-4), ("recursive", "radau", {"rtol": 1e-7, "atol": 1e-9}, 2e-4), ("recursive", "dop853", {}, 2e-4),
        ("recursive", "generalized-alpha", {"step": 2e-5}, 2e-3), ("cartesian", None, {}, 2e-4),
    ],
)  # fmt: skip
def test_s_beam_in_every_way(formulation: str, method: str | None, options: dict[str, Any], near: float) -> None:
    """Also steps that end at an event after almost nothing: accelerations stay those of the motion."""
    sol = lib.s_beam(modes=0, damping=None).compile(formulation=formulation).simulate(None, 0.04, method, **options)
    reference = lib.s_beam(modes=0, damping=None).compile().simulate(None, 0.04, **TIGHT)
    assert sol["deformation"].max() == pytest.approx(reference["deformation"].max(), rel=near)
    assert np.abs(sol["car.displacement_acc"]).max() < 1.2 * np.abs(reference["car.displacement_acc"]).max()


def test_s_beam_that_bends() -> None:
    sol = lib.s_beam((0.0661, 0.03, 0.0788)).compile().simulate(None, 0.01, rtol=1e-7, atol=1e-9)
    assert sol["deformation"][-1] > 0.05 and sol["energy.total"][-1] < sol["energy.total"][0]
    assert max(np.abs(sol[f"body3.mode{i}"]).max() for i in (1, 2, 3, 4)) > 1e-5


def test_bad_beams_are_named() -> None:
    with pytest.raises(InputError, match="give one side, or three"):
        lib.s_beam((0.1, 0.1))
    with pytest.raises(InputError, match="H = -0.1 m must be positive"):
        lib.s_beam(-0.1)
    with pytest.raises(InputError, match="without speed there is no collision"):
        lib.s_beam(speed=0.0)


def test_s_beam_from_a_file(tmp_path, monkeypatch) -> None:
    """Members are matrices, which a model file keeps beside it; refused with the remedy until then, the same run afterwards."""
    monkeypatch.chdir(tmp_path)
    m = lib.s_beam((0.0661, 0.05, 0.0788))
    with pytest.raises(ModelError, match=r"part\.save\('body4\.npz'\)"):
        m.save("s_beam.toml")
    for name in ("body2", "body3", "body4"):
        m.bodies[name].part.part.save(f"{name}.npz")
    m.bodies["body2"].part.save("reduced.npz")  # a reduced part alone, whose points say in words whether they turn
    m.save("s_beam.toml")
    a, b = (x.compile().simulate(None, 0.001, rtol=1e-10, atol=1e-12) for x in (m, jd.load_model("s_beam.toml")))
    assert a["deformation"][-1] > 0.01
    # hinges are renewed at ends of steps: at this tolerance the run itself is good to some 1e-7, and another rounding takes other steps
    assert b["deformation"][-1] == pytest.approx(a["deformation"][-1], rel=1e-6)
