"""Crush devices: T1 to T4 and T21 of the specification of crashworthiness, devices in series, buffers, draft gears, contact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.errors import InputError
from jourdain.library.crash.buffers import rectangle_factor
from jourdain.library.crash.crush import CrushDevice, StepCurve
from jourdain.library.crash.device import Device

lib = jd.library
DEVICE = lib.crush_device(levels=["1 MN", "2 MN", "3 MN"], ends=[0.2, 0.6, 1.2], stiffness="100 MN/m")
TIGHT = {"rtol": 1e-10, "atol": 1e-12}
#: Every method and formulation that runs a mass against a device, with what it needs, and how near it comes.
WAYS: list[tuple[str, str | None, dict[str, Any], float]] = [
    *(("recursive", m, TIGHT, 1e-7) for m in ("dopri5", "dop853", "bs32", "adams", "radau")),
    ("recursive", "dopri5", {}, 1e-5), ("recursive", "rosenbrock", {"rtol": 1e-8, "atol": 1e-10}, 1e-5),
    ("recursive", "rk4", {"step": 1e-4}, 1e-5), ("recursive", "heun", {"step": 1e-4}, 1e-4), ("recursive", "velocity-verlet", {"step": 1e-4}, 1e-4),
    ("recursive", "euler", {"step": 2e-6}, 1e-4), ("recursive", "semi-implicit-euler", {"step": 2e-6}, 1e-4),
    ("recursive", "rosenbrock2", {"step": 1e-4}, 1e-4), ("recursive", "linearly-implicit-euler", {"step": 2e-6}, 1e-4),
    ("recursive", "generalized-alpha", {"step": 1e-4}, 1e-4), ("recursive", "generalized-alpha", {"rtol": 1e-8, "atol": 1e-10}, 1e-4),
    ("recursive", "hht", {"step": 1e-4}, 1e-4), ("recursive", "newmark", {"step": 2e-5}, 1e-4), ("recursive", "trapezoidal", {"step": 1e-4}, 1e-4),
    *(("semi-recursive", m, TIGHT, 1e-7) for m in ("dopri5", "radau")), ("cartesian", "dopri5", TIGHT, 1e-7), ("natural", "dopri5", TIGHT, 1e-7),
    ("cartesian", "generalized-alpha", {"step": 1e-4}, 1e-4), ("directors", None, {"step": 1e-4}, 1e-4),
    ("directors", "generalized-alpha", {"step": 1e-4}, 1e-4),
]  # fmt: skip


def striker(device: Device, mass: float = 50e3) -> jd.Model:
    """A mass on a track that meets a device on a rigid wall."""
    m = jd.Model("striker", gravity=(0, 0, 0))
    slide = m.prismatic("slide", m.ground, m.body("mass", mass=mass), axis="x")
    m.force(slide, -device.declared(m, "device").act(m, "device", slide.position, slide.velocity))
    return m


def driven(device: Device, path: Any, traction_kind: str = "") -> jd.Model:
    """A device whose crush is a given function of time."""
    m = jd.Model("driven", gravity=(0, 0, 0))
    m.prismatic("idle", m.ground, m.body("idle", mass=1.0), axis="x")
    x, v = path(m.time)
    force = device.act(m, "device", x, v)
    work = m.state("work", 0.0, unit="J")
    m.rate(work, force * v)
    return m


# -- the curve ---------------------------------------------------------------------------------------------------------


def test_t1_break_points_energy_and_unloading() -> None:
    assert DEVICE.breaks == pytest.approx((0.01, 0.21, 0.61), abs=1e-15)
    assert DEVICE.energy(1.2) == pytest.approx(2.785e6, rel=1e-14)
    assert DEVICE.force(0.48, 0.5) == pytest.approx(0.0, abs=1e-6)
    assert DEVICE.absorbed(0.5, 0.5) - DEVICE.absorbed(0.48, 0.5) == pytest.approx(0.020e6, rel=1e-12)
    assert DEVICE.force(0.5, 0.5) == DEVICE.virgin(0.5) == pytest.approx(2e6, rel=1e-15)
    d = np.linspace(0.0, 1.5, 150_001)
    assert np.abs(np.diff(DEVICE.virgin(d))).max() <= 1e8 * 1e-5 * (1 + 1e-9), "continuous everywhere"
    assert np.abs(np.diff(DEVICE.force(d, 0.7))).max() <= 1e8 * 1e-5 * (1 + 1e-9)
    numbers = np.concatenate(([0.0], np.cumsum(0.5 * (DEVICE.virgin(d)[1:] + DEVICE.virgin(d)[:-1]) * np.diff(d))))
    np.testing.assert_allclose(DEVICE.energy(d), numbers, atol=20.0)


def test_t1_traction_and_what_is_beyond_the_last_end() -> None:
    held = lib.crush_device([1e6, 2e6], [0.2, 0.6], 1e8, traction=4e5, bottoming=5e8)
    assert held.force(-0.003) == pytest.approx(-3e5) and held.force(-0.01) == -4e5
    assert held.force(0.7) == pytest.approx(2e6 + 0.1 * 5e8)
    assert held.force(0.69, 0.7) == pytest.approx(held.force(0.7) - 0.01 * 5e8), "the stop is elastic"
    assert DEVICE.force(5.0) == pytest.approx(3e6)
    assert DEVICE.force(-0.01) == 0.0


@pytest.mark.parametrize(("formulation", "method", "options", "near"), WAYS, ids=lambda x: str(x))
def test_t2_mass_into_a_device(formulation: str, method: str | None, options: dict[str, Any], near: float) -> None:
    """d_max = m v²/(2f) + f/(2k) and v_r = f/√(k m): 1.26 m and 0.89443 m/s."""
    m, v, f, k = 50e3, 10.0, 2e6, 1e8
    s = striker(lib.crush_device(f, 2.0, k), m).compile(formulation=formulation)
    sol = s.simulate({"slide.displacement_rate": v}, 0.5, method, **options)
    assert sol["device.crushed"][-1] == pytest.approx(m * v**2 / (2 * f) + f / (2 * k), rel=near)
    assert sol["slide.displacement_rate"][-1] == pytest.approx(-f / np.sqrt(k * m), rel=10 * near)
    assert sol["device.energy"][-1] == pytest.approx(0.5 * m * (v**2 - f**2 / (k * m)), rel=near)


@pytest.mark.parametrize(("formulation", "method", "options", "near"), WAYS, ids=lambda x: str(x))
def test_t3_energy_and_rejected_steps(formulation: str, method: str | None, options: dict[str, Any], near: float) -> None:
    """Through all three steps: what the mass lost is in the device, and the result is that of any other way of stepping."""
    s = striker(DEVICE).compile(formulation=formulation)
    sol = s.simulate({"slide.displacement_rate": 10.0}, 0.4, method, **options)
    lost = 0.5 * 50e3 * (100.0 - sol["slide.displacement_rate"] ** 2)
    assert np.abs(lost - sol["device.energy"]).max() < max(10 * near, 1e-6) * 2.5e6
    assert (np.diff(sol["device.dissipated"]) >= -1e-9 * 2.5e6).all()
    exact = (2.5e6 - 2.785e6 + 3e6 * 1.2) / 3e6  # 1 and 2 MN are passed, the rest is at 3 MN
    assert sol["device.crushed"][-1] == pytest.approx(exact, rel=near)


@pytest.mark.parametrize("method", ["dopri5", "dop853", "adams", "radau", "rk4", "generalized-alpha"])
@pytest.mark.parametrize("pattern", range(3))
def test_t3_any_pattern_of_steps(method: str, pattern: int) -> None:
    """Steps of any size, rejected at other corners each time, end alike: 1e-4."""
    s = striker(DEVICE).compile()
    rng = np.random.default_rng(pattern)
    start, exact = {"slide.displacement_rate": 10.0}, (2.5e6 - 2.785e6 + 3e6 * 1.2) / 3e6
    fixed = method in ("rk4", "generalized-alpha")
    options = {"step": float(rng.uniform(1e-4, 4e-4))} if fixed else {"rtol": 10.0 ** rng.uniform(-9, -6), "atol": 1e-9}
    sol = s.simulate(start, 0.4, method, **options)
    assert sol["device.crushed"][-1] == pytest.approx(exact, rel=1e-4)
    assert sol["slide.displacement_rate"][-1] == pytest.approx(-3e6 / np.sqrt(1e8 * 50e3), rel=2e-3 if fixed else 1e-4)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-0.05, 1.5), min_size=2, max_size=30), st.floats(0.0, 2e6), st.booleans(), st.floats(2e7, 5e8))
def test_t3_cyclic_loading_is_dissipative(path: list[float], traction: float, stretch: bool, k: float) -> None:
    """Any sequence of crushes: W in closed form is the integral of the force, and what is lost never comes back."""
    stretch = stretch or traction > 0.0
    device = lib.crush_device([1e6, 2e6, 3e6], [0.2, 0.6, 1.2], k, traction=traction, stretch=stretch, bottoming=2 * k)
    crushed = stretched = work = 0.0
    before, lost = 0.0, 0.0
    for there in path:
        d = np.linspace(before, there, 4001)
        work += float(np.trapezoid(device.force(d, crushed, stretched), d))  # a leg in one direction changes its state at the end
        D = max(there + stretched, crushed)
        k = float(device.unloading_stiffness(D))
        line = float(device.virgin(D)) - k * (D - there - stretched)
        stretched += max(-device.traction - line, 0.0) / k if stretch else 0.0
        crushed, before = D, there
        assert device.absorbed(before, crushed, stretched) == pytest.approx(work, abs=1e-3 * max(work, 1e6))
        now = float(device.dissipated(before, crushed, stretched))
        assert now >= lost - 1e-6
        lost = now


def test_t4_unloading_never_changes_the_later_curve() -> None:
    """Crush by a path with many returns, in a run: whenever it is on its virgin curve the force is that of first loading."""

    def path(t: Any) -> tuple[Any, Any]:
        return 0.6 * t + 0.05 * jd.sin(40.0 * t), 0.6 + 2.0 * jd.cos(40.0 * t)

    sol = driven(DEVICE, path).compile().simulate(t=2.0, max_step=2e-3, **TIGHT)
    crush, force, most = sol["device.crush"], sol["device.force"], sol["device.crushed"]
    on = crush >= most - 1e-12
    assert on.sum() > 100 and (~on).sum() > 100
    np.testing.assert_allclose(force[on], DEVICE.virgin(crush[on]), rtol=1e-9)
    np.testing.assert_allclose(force[~on], DEVICE.force(crush[~on], most[~on]), rtol=1e-9, atol=1e-3)
    after = np.append(np.diff(sol.t) > 0.0, True)  # an event has a row before it and one after it
    np.testing.assert_allclose(most[after], np.maximum.accumulate(np.maximum(crush, 0.0))[after], atol=1e-9)
    assert sol["work"][-1] == pytest.approx(sol["device.energy"][-1], rel=1e-6)


def test_a_stretched_coupler_moves_its_curve() -> None:
    device = lib.crush_device(1e6, 1.0, 1e8, traction=5e5, stretch=True)

    def path(t: Any) -> tuple[Any, Any]:
        return 0.1 * jd.sin(t), 0.1 * jd.cos(t)

    sol = driven(device, path).compile().simulate(t=2.5 * np.pi, max_step=5e-3)
    assert sol["device.stretched"][-1] == pytest.approx(0.2 - 1.5e6 / 1e8, rel=1e-6)
    assert sol["device.crushed"][-1] == pytest.approx(0.1 + 0.185, rel=1e-6)
    assert sol["work"][-1] == pytest.approx(sol["device.energy"][-1], rel=1e-5)
    assert (np.diff(sol["device.dissipated"]) >= -1.0).all()


def test_rate_factors() -> None:
    f, k, m, v = 2e6, 1e9, 50e3, 8.0
    c = 0.05
    sol = striker(lib.crush_device(f, 2.0, k, rate=c), m).compile().simulate({"slide.displacement_rate": v}, 0.3, **TIGHT)
    exact = m / (f * c) * (v - np.log(1 + c * v) / c)  # m v dv/dx = −f (1 + c v)
    assert sol["device.crush"].max() == pytest.approx(exact, rel=3e-3)
    assert sol["device.energy"][-1] == pytest.approx(0.5 * m * (v**2 - sol["slide.displacement_rate"][-1] ** 2), rel=1e-6)
    symonds = lib.crush_device(f, 2.0, k, rate=(50.0, 4.0))
    run = striker(symonds, m).compile().simulate({"slide.displacement_rate": v}, 0.3)
    assert run["device.force"].max() == pytest.approx(f * (1 + (v / 50.0) ** 0.25), rel=1e-2)
    assert run["device.crush"].max() < m * v**2 / (2 * f)


# -- in series ---------------------------------------------------------------------------------------------------------

devices = st.builds(
    lambda n, f, d, k, b: _device(n, f, d, k, b),
    st.integers(1, 4), st.lists(st.floats(1e5, 2e6), min_size=4, max_size=4), st.lists(st.floats(0.05, 0.5), min_size=4, max_size=4),
    st.lists(st.floats(2e7, 3e8), min_size=4, max_size=4), st.one_of(st.none(), st.floats(1e7, 1e9)),
)  # fmt: skip


def _device(n: int, f: list[float], d: list[float], k: list[float], bottom: float | None) -> CrushDevice:
    levels = np.cumsum(f[:n])
    rises = np.diff(np.concatenate(([0.0], levels))) / k[:n]
    return lib.crush_device(levels, np.cumsum(np.array(d[:n]) + rises), k[:n], bottoming=bottom)


@settings(max_examples=60, deadline=None)
@given(devices, devices, st.floats(0.01, 2.0), st.floats(0.0, 1.0))
def test_two_in_series_share_one_force(a: StepCurve, b: StepCurve, crushed: float, back: float) -> None:
    both = lib.in_series(a, b)
    d = np.linspace(1e-6, crushed, 201)
    da, db = both.crush_of(1, d), both.crush_of(2, d)
    np.testing.assert_allclose(da + db, d, atol=1e-12)
    if a != b:  # two alike on one plateau share it anyhow
        for part, x in ((a, da), (b, db)):
            np.testing.assert_allclose(part.virgin(x), both.virgin(d), rtol=1e-6)
    np.testing.assert_allclose(both.absorbed(d, part=1) + both.absorbed(d, part=2), both.absorbed(d), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(both.absorbed(d, part=1), a.energy(da), rtol=1e-6, atol=1e-3)
    now = crushed - back * float(both.virgin(crushed) / both.unloading_stiffness(crushed))  # on the way back: both on their own lines
    xa, xb = float(both.crush_of(1, now, crushed)), float(both.crush_of(2, now, crushed))
    f = float(both.force(now, crushed))
    assert xa + xb == pytest.approx(now, abs=1e-9)
    assert float(a.force(xa, da[-1])) == pytest.approx(f, rel=1e-5, abs=2.0)
    assert float(b.force(xb, db[-1])) == pytest.approx(f, rel=1e-5, abs=2.0)


def test_series_against_a_small_mass_between() -> None:
    a, b = lib.crush_device([1e6, 2.5e6], [0.3, 0.8], 1e8), lib.crush_device([1.5e6, 2e6], [0.2, 1.5], 6e7)
    one = striker(lib.in_series(a, b)).compile().simulate({"slide.displacement_rate": 8.0}, 0.4)
    m = jd.Model("two", gravity=(0, 0, 0))
    rear, node = (m.prismatic(n, m.ground, m.body(n, mass=x), axis="x") for n, x in (("rear", 50e3), ("node", 1.0)))
    fa = a.act(m, "a", rear.position - node.position, rear.velocity - node.velocity)
    fb = b.act(m, "b", node.position, node.velocity)
    m.force(rear, -fa)
    m.force(node, fa - fb - 400.0 * node.velocity)
    two = m.compile().simulate({"rear.displacement_rate": 8.0}, 0.4)
    for part, word in (("a", "first"), ("b", "second")):
        assert one[f"device.{word}.crush"].max() == pytest.approx(two[f"{part}.crush"].max(), rel=5e-3)
        assert one[f"device.{word}.energy"].max() == pytest.approx(two[f"{part}.energy"].max(), rel=5e-3)


# -- curves, buffers, contact ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_t21_a_noisy_curve_gives_its_steps_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = np.linspace(0.0, 1.2, 601)
    f = DEVICE.virgin(d) + 2e4 * rng.standard_normal(d.size)
    found = lib.steps_of_curve(d, f, 3, stiffness=1e8)
    assert found.levels == pytest.approx(DEVICE.levels, rel=0.01)
    assert found.ends[:2] == pytest.approx(DEVICE.ends[:2], abs=0.01)
    assert found.ends[2] == 1.2
    work = float(np.trapezoid(f, d))
    assert float(found.energy(1.2)) == pytest.approx(work, rel=1e-13), "energy is kept exactly"
    free = lib.steps_of_curve(d, DEVICE.virgin(d), 3)
    assert free.stiffness[0] == pytest.approx(1e8, rel=1e-6) and float(free.energy(1.2)) == pytest.approx(2.785e6, rel=1e-6)


def test_t21_dynamic_programming_finds_the_best_breaks() -> None:
    rng = np.random.default_rng(5)
    d = np.linspace(0.0, 1.0, 21)
    f = 1e6 * np.sort(rng.uniform(0.2, 2.0, 21))
    from itertools import combinations, pairwise

    from jourdain.library.crash.curves import _cuts

    fine = np.linspace(0.0, 1.0, 20001)
    values = np.interp(fine, d, f)

    def miss(cuts: tuple[int, ...]) -> float:
        total = 0.0
        for i, j in pairwise(cuts):
            on = (fine >= d[i]) & (fine <= d[j])
            total += float(np.trapezoid((values[on] - np.trapezoid(values[on], fine[on]) / (d[j] - d[i])) ** 2, fine[on]))
        return total

    best = min(((0, i, j, 20) for i, j in combinations(range(1, 20), 2)), key=miss)
    assert tuple(_cuts(d, f, 3)) == best


def test_hydraulic_buffer() -> None:
    c, m, v = 2e5, 20e3, 3.0
    s = striker(lib.hydraulic_buffer(c, 1.0, name="oil"), m).compile()
    sol = s.simulate({"slide.displacement_rate": v, "slide.displacement": 0.02}, 0.5, **TIGHT)
    x = sol["slide.displacement"]
    inside = x < 0.999
    np.testing.assert_allclose(
        sol["slide.displacement_rate"][inside], v * np.exp(-c / m * (x[inside] - 0.02)), rtol=1e-6
    )  # v dv/dx = −c v²/m
    spring = lib.hydraulic_buffer(c, 0.3, stiffness=1e6, preload=2e4, taper=1.0)
    run = striker(spring, m).compile().simulate({"slide.displacement_rate": v}, 1.5)
    assert -v < run["slide.displacement_rate"][-1] < -0.05 and (run["device.force"] >= 0.0).all()
    lost = 0.5 * m * (v**2 - run["slide.displacement_rate"][-1] ** 2)
    assert run["device.energy"][-1] == pytest.approx(lost, rel=1e-6)


def test_draft_gear_loses_what_friction_takes() -> None:
    k, k3, phi, A = 8e6, 2e9, 0.4, 0.06
    gear = lib.draft_gear(k, 0.1, hardening=k3, friction=phi, seat=1e-5)

    def path(t: Any) -> tuple[Any, Any]:
        return A * jd.sin(t), A * jd.cos(t)

    s = driven(gear, path).compile()
    sol = s.simulate(t=4 * np.pi, max_step=2e-3)
    g = 0.5 * k * A**2 + 0.25 * k3 * A**4
    area = sol.at(4 * np.pi)["work"] - sol.at(2 * np.pi)["work"]
    assert area == pytest.approx(2 * 2 * phi * g, rel=2e-3), "buff and draft, there and back"
    assert sol["device.force"].max() == pytest.approx((1 + phi) * (k * A + k3 * A**3), rel=1e-3)
    slack = lib.draft_gear(k, 0.1, slack=0.02)
    run = driven(slack, path).compile().simulate(t=0.1)
    assert (run["device.force"] == 0.0).all()


@pytest.mark.parametrize(("e", "comes"), [(0.5, 0.72524), (0.7, 0.79597), (0.8, 0.84710), (0.9, 0.91318), (0.95, 0.95351), (0.99, 0.99015)])
@pytest.mark.parametrize(("K", "n", "mass"), [(1e8, 1.5, 10.0), (3e6, 1.0, 2.0), (1e9, 2.0, 300.0)])
def test_t11_restitution_that_comes_out(e: float, comes: float, K: float, n: float, mass: float) -> None:
    s = striker(lib.contact_device(K, n, e), mass).compile()
    sol = s.simulate({"slide.displacement": -1e-3, "slide.displacement_rate": 2.0}, 0.3, **TIGHT)
    assert -sol["slide.displacement_rate"][-1] / 2.0 == pytest.approx(comes, abs=1e-5)


@pytest.mark.parametrize(
    ("formulation", "method"), [("recursive", "dopri5"), ("recursive", "radau"), ("cartesian", "dopri5"), ("natural", None)]
)
def test_t11_deepest_point(formulation: str, method: str | None) -> None:
    s = striker(lib.contact_device(1e8, 1.5, 0.9), 10.0).compile(formulation=formulation)
    sol = s.simulate({"slide.displacement_rate": 2.0, "slide.displacement": -1e-4}, 0.02, method, max_step=2e-6)
    assert sol["slide.displacement"].max() == pytest.approx(2.91064e-3, rel=1e-5)


@pytest.mark.parametrize("method", ["dopri5", "dop853", "radau", "adams"])
def test_t11_faces_that_touch_where_the_run_begins(method: str) -> None:
    """The speed of approach is that of the start, however long the first step is: with the speed at its end restitution was wrong by 1e-3."""
    sol = (
        striker(lib.contact_device(1e8, 1.5, 0.7), 10.0)
        .compile()
        .simulate({"slide.displacement_rate": 2.0}, 0.05, method, rtol=1e-9, atol=1e-11)
    )
    assert -sol["slide.displacement_rate"][-1] / 2.0 == pytest.approx(0.79597, abs=1e-5)


def test_t11_flat_faces() -> None:
    table = {1.0: 0.95, 1.5: 0.94, 2.0: 0.92, 3.0: 0.88, 5.0: 0.82, 10.0: 0.71}
    for ratio, m in table.items():
        assert rectangle_factor(ratio) == pytest.approx(m, abs=0.006) and rectangle_factor(1 / ratio) == pytest.approx(
            rectangle_factor(ratio)
        )
    E, nu = 2.1e11, 0.3
    assert lib.flat_contact_stiffness(0.05, 0.05, E, nu) == pytest.approx(0.1 / (rectangle_factor(1.0) * 2 * (1 - nu**2) / E), rel=1e-12)


# -- what cannot be ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"levels": [1e6, 2e6], "ends": [0.5, 0.2], "stiffness": 1e8}, r"plateau 2 would end at 0\.2 m, before it begins at 0\.51 m"),
        ({"levels": [2e6, 1e6], "ends": [0.2, 0.5], "stiffness": 1e8}, "level 2 = 1e\\+06 N is not above level 1 = 2e\\+06 N: a step of negative stiffness"),
        ({"levels": [1e6], "ends": [0.2], "stiffness": -1e8}, "stiffness = -1e\\+08 N/m must be positive"),
        ({"levels": [0.0], "ends": [0.2], "stiffness": 1e8}, "level 1 = 0 N must be positive; a device without force crushes without end"),
        ({"levels": [1e6], "ends": [float("inf")], "stiffness": 1e8}, "end 1: inf is not a finite number"),
        ({"levels": [float("nan")], "ends": [0.2], "stiffness": 1e8}, "level 1: nan is not a finite number"),
        ({"levels": [1e6, 2e6], "ends": [0.2], "stiffness": 1e8}, "2 levels need as many ends"),
        ({"levels": [1e6], "ends": [0.2], "stiffness": 1e8, "traction": -1.0}, "traction = -1 N must not be negative"),
        ({"levels": [1e6], "ends": [0.2], "stiffness": 1e8, "rate": (1.0,)}, "Cowper and Symonds"),
        ({"levels": ["1 m"], "ends": [0.2], "stiffness": 1e8}, "level 1"),
    ],
)  # fmt: skip
def test_bad_devices_are_named(given: dict[str, Any], told: str) -> None:
    with pytest.raises((InputError, jd.ModelError), match=told):
        lib.crush_device(**given, name="LE")


def test_other_bad_input() -> None:
    with pytest.raises(InputError, match="in_series takes crush devices; with a draft gear put a mass between them"):
        lib.in_series(DEVICE, lib.draft_gear(1e6, 0.1))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="depends on the rate of its own crush"):
        lib.in_series(DEVICE, lib.crush_device(1e6, 0.5, 1e8, rate=0.1))
    with pytest.raises(InputError, match=r"friction = 1\.2 would hold the gear"):
        lib.draft_gear(1e6, 0.1, friction=1.2)
    with pytest.raises(InputError, match=r"restitution = 1\.5 must lie between 0 and 1"):
        lib.contact_device(1e8, restitution=1.5)
    with pytest.raises(InputError, match="do not rise"):
        lib.steps_of_curve(np.linspace(0, 1, 50), 2e6 - 1e6 * np.linspace(0, 1, 50), 3, stiffness=1e8)
    with pytest.raises(InputError, match="crush must grow"):
        lib.steps_of_curve([0.0, 1.0, 0.5, 2.0, 3.0, 4.0, 5.0], [1.0] * 7, 3)


@pytest.mark.parametrize(("axis", "a"), [("", None), ("yz", None), (5, None), ("x", "ground")])
def test_a_device_between_what_is_no_frame_or_along_no_axis_is_refused(axis: Any, a: Any) -> None:
    m = jd.Model("x")
    b = m.body("b", mass=1.0, inertia=(1, 1, 1))
    m.prismatic("j", m.ground, b, axis="x")
    with pytest.raises(jd.JourdainError):
        DEVICE.between(m if a is None else 5, "d", m.ground, b, axis=axis)  # type: ignore[arg-type]
