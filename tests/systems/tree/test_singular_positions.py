"""Runs through positions in which branches of the motion meet: each stays on its own, whatever the coordinates."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.library import mechanisms

#: θ at t = 10 s of the chain of two four-bars (benchmark A02, closed form)
THETA = 31.7505971869861


def linkage(a: float, b: float, c: float, d: float, gravity: float = 0.0) -> jd.Model:
    """Four bars: crank a, coupler b, rocker c, ground d."""
    m = jd.Model("linkage", gravity=(0, -gravity, 0))
    bars = [
        m.body(n, mass=10 * l, com=(l / 2, 0, 0), inertia=(0, 10 * l**3 / 12, 10 * l**3 / 12)) for n, l in (("a", a), ("b", b), ("c", c))
    ]
    m.revolute("A", m.ground, bars[0], axis="z")
    m.revolute("B", bars[0].at(a, 0, 0), bars[1], axis="z")
    m.revolute("D", m.ground.at(d, 0, 0), bars[2], axis="z")
    m.close("loop", bars[1].at(b, 0, 0), bars[2].at(c, 0, 0), "ball")
    return m


@cache
def parallelogram() -> tuple[Any, Any]:
    s = linkage(0.1, 0.3, 0.1, 0.3).compile()
    return s, s.assemble({"A": 0.3}, guess={"B": -0.3, "D": 0.3}, velocities={"A": 5.0})


@cache
def chain(n: int) -> tuple[Any, Any]:
    s = mechanisms.n_four_bar(n).compile()
    return s, s.assemble({"A0": 0.0}, velocities={"A0": -1.0})


def table(s: Any, sol: Any) -> np.ndarray:
    return np.column_stack([sol[n] for n in (*s.coordinate_names, *s.velocity_names)])


@pytest.mark.parametrize("formulation", ["projected", "reduced", "closed"])
@pytest.mark.parametrize(("method", "options"), [
    ("dopri5", {"rtol": 1e-8}), ("dop853", {"rtol": 1e-12, "atol": 1e-13}), ("adams", {"rtol": 1e-8}), ("rk4", {"step": 1e-3}),
])  # fmt: skip
def test_a_parallelogram_stays_one(formulation: str, method: str, options: dict[str, float]) -> None:
    """At 0 and π it could become an antiparallelogram; without gravity it turns at constant speed."""
    s, x = parallelogram()
    sol = s.simulate(x, 2.0, method, reduction=formulation, outputs=41, **options)
    turned = 0.3 + 5.0 * sol.t
    np.testing.assert_allclose(
        table(s, sol), np.column_stack([turned, -turned, turned, *([s * 5.0 + 0 * turned for s in (1, -1, 1)])]), atol=1e-6
    )
    assert sol.metadata["status"] == "finished" and np.ptp(sol["energy.total"]) < 1e-7 * sol["energy.total"][0]


@pytest.mark.parametrize("loops", ["reduced", "closed", "partition"])
@pytest.mark.parametrize(("tolerance", "error"), [(1e-8, 5e-6), (1e-12, 5e-9)])
def test_a_chain_of_two_passes_ten_singular_positions(loops: str, tolerance: float, error: float) -> None:
    s, x = chain(2)
    options: dict[str, Any] = {"method": "dop853" if tolerance < 1e-9 else "dopri5", "rtol": tolerance, "atol": 0.1 * tolerance}
    run = s.model.compile(formulation="semi-recursive") if loops == "partition" else s
    kind = {} if loops == "partition" else {"reduction": loops}
    sol = run.simulate(x, 10.0, outputs=11, max_steps=5000, **kind, **options)
    assert sol["A0.angle"][-1] == pytest.approx(-THETA, abs=error)
    assert np.ptp(sol["energy.total"]) < error * 35.835


@pytest.mark.parametrize("loops", ["range-space", "null-space"])
@pytest.mark.parametrize("n", [2, 7])
def test_multipliers_pass_singular_positions(loops: str, n: int) -> None:
    s, x = chain(n)
    run = s.model.compile(formulation="semi-recursive", reduction=loops)
    sol = run.simulate(x, 10.0, method="dop853", rtol=1e-12, atol=1e-13, outputs=11)
    expected = s.simulate(x, 10.0, "dop853", rtol=1e-11, atol=1e-12, reduction="reduced", outputs=11)
    np.testing.assert_allclose(table(s, sol), table(s, expected), atol=1e-7)
    assert np.ptp(sol["energy.total"]) < 1e-9 * sol["energy.total"][0]
    if n == 2:
        assert sol["A0.angle"][-1] == pytest.approx(-THETA, abs=5e-9)


ABSOLUTE = [
    ("natural", {}, 2e-9),
    ("cartesian", {}, 1e-8),
    *(("cartesian", {"reduction": r}, 1e-8) for r in ("kkt", "qr", "range-space", "gram-schmidt")),
]


@pytest.mark.parametrize(("formulation", "options", "error"), ABSOLUTE)
@pytest.mark.parametrize("tolerance", [1e-10, 1e-12])
def test_absolute_coordinates_pass_singular_positions(formulation: str, options: dict[str, Any], error: float, tolerance: float) -> None:
    """Places are rounded to 2e-16 m, and at a clearance of 1e-5 that turns velocities by 1e-6: energy is kept to 1e-10, not better."""
    s, x = chain(2)
    run = s.model.compile(formulation=formulation, **options)
    sol = run.simulate(x, 10.0, method="dop853", rtol=tolerance, atol=0.1 * tolerance, outputs=11)
    assert sol.metadata["status"] == "finished"
    assert sol["A0.angle"][-1] == pytest.approx(-THETA, abs=max(error, 200 * tolerance))
    assert np.ptp(sol["energy.total"]) < max(error, 200 * tolerance)


def test_a_chain_of_seven_with_all_defaults() -> None:
    s, x = chain(7)
    expected = table(s, s.simulate(x, 10.0, outputs=21))
    for system, options in ((s, {"reduction": "reduced"}), (s.model.compile(formulation="semi-recursive"), {})):
        np.testing.assert_allclose(table(s, system.simulate(x, 10.0, outputs=21, **options)), expected, atol=1e-4)


@pytest.mark.parametrize("formulation", ["reduced", "closed"])
@pytest.mark.parametrize(("lengths", "start", "speed", "tolerance", "method"), [
    # an antiparallelogram, a kite and a rhombus that lost energy or changed their branch
    ((0.26628, 0.43892, 0.26628, 0.43892), (1.4869, -2.6211, -2.6211), 7.68, 1e-8, "dopri5"),
    ((0.32494, 0.21205, 0.21205, 0.32494), (5.5686, 0.9229, -0.9229), 4.48, 1e-8, "dopri5"),
    ((0.36781, 0.36765, 0.36781, 0.36765), (3.2848, -3.1416, -3.1416), 6.88, 1e-8, "dop853"),
])  # fmt: skip
def test_energy_is_kept_where_branches_meet(
    formulation: str, lengths: tuple[float, ...], start: tuple[float, ...], speed: float, tolerance: float, method: str
) -> None:
    s = linkage(*lengths).compile()
    names = ("A", "B", "D")
    x = s.assemble({"A": start[0]}, guess=dict(zip(names, start, strict=True)), velocities={"A": speed})
    options: dict[str, Any] = {"rtol": tolerance, "atol": 0.1 * tolerance, "outputs": 31, "max_steps": 20000}
    sol = s.simulate(x, 3.0, method, reduction=formulation, **options)
    energy = sol["energy.total"]
    assert np.ptp(energy) < 1e-5 * energy[0]
    assert np.abs(s.function("constraints")(sol.t[:, None], table(s, sol)[:, :3])[0]).max() < 1e-9
    np.testing.assert_allclose(table(s, sol)[:, :3], table(s, s.simulate(x, 3.0, "dop853", rtol=1e-11, outputs=31))[:, :3], atol=2e-3)


@settings(max_examples=5, deadline=None)
@given(a=st.floats(0.1, 0.5), b=st.floats(0.1, 0.5), kite=st.booleans(), angle=st.floats(0.3, 2.8), speed=st.floats(3.0, 10.0))
def test_random_parallelograms_and_kites_keep_their_energy(a: float, b: float, kite: bool, angle: float, speed: float) -> None:
    s = linkage(*((a, b, b, a) if kite else (a, b, a, b))).compile()
    modes = s.assembly_modes({"A": angle}, tries=20)
    assume(modes)
    x = s.assemble({"A": angle}, guess=next(iter(modes.values())), velocities={"A": speed})
    sol = s.simulate(x, 2.0, reduction="reduced", outputs=21, max_steps=50000)
    assert np.ptp(sol["energy.total"]) < 1e-4 * sol["energy.total"][0]


def test_between_steps_and_restart() -> None:
    """Full states between steps, on passages as well, and a run that is taken up again."""
    s, x = chain(2)
    whole = s.simulate(x, 2.0, "dop853", rtol=1e-10, reduction="reduced")
    times = np.linspace(0.0, 2.0, 401)
    expected = s.simulate(x, 2.0, "dop853", rtol=1e-12, atol=1e-13, times=times)
    for name in ("A0.angle", "B1.angle", "A2.angle_rate"):
        np.testing.assert_allclose(whole.at(times)[name], expected[name], atol=1e-6)
    again = s.simulate(s.simulate(x, 0.7142, "dop853", rtol=1e-10, reduction="reduced"), (0.7142, 2.0), "dop853", reduction="reduced")
    assert again["A0.angle"][-1] == pytest.approx(expected["A0.angle"][-1], abs=1e-6)
