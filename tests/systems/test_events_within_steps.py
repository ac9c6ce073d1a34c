"""Events that steps would pass over: what is thrown against a wall and falls back moves on a parabola, which any method takes in one step."""

from __future__ import annotations

import math
from typing import Any

import pytest

import jourdain as jd

G = 9.81
METHODS: list[dict[str, Any]] = [
    {}, *({"method": name, "rtol": rtol} for name in ("dopri5", "dop853", "radau", "rosenbrock", "adams") for rtol in (1e-4, 1e-8)),
    {"method": "rk4", "step": 0.25}, {"method": "generalized-alpha", "step": 0.002}, {"method": "semi-implicit-euler", "step": 5e-5},
]  # fmt: skip
FORMULATIONS = ["recursive", "semi-recursive", "cartesian", "natural", "directors"]


def between_walls(x: float, v: float, low: float, high: float, e: float, span: float) -> tuple[int, float]:
    """Impacts of a ball between two walls, and where it is at the end."""
    t, count = 0.0, 0
    while True:
        up = v * v - 2 * G * (high - x)
        rises = v > 0 and up > 0
        wall = high if rises else low
        tau = (v - math.sqrt(up)) / G if rises else (v + math.sqrt(v * v - 2 * G * (low - x))) / G
        if t + tau > span:
            tau = span - t
            return count, x + v * tau - 0.5 * G * tau * tau
        x, v, t, count = wall, -e * (v - G * tau), t + tau, count + 1


def thrown() -> jd.Model:
    m = jd.Model("thrown", gravity=(0, 0, -G))
    for i, (low, high) in enumerate(((-0.5, 0.6), (-0.8, 0.4))):
        z = m.prismatic(f"z{i}", m.ground, m.body(f"ball{i}", mass=1.0, inertia=(1, 1, 1)), axis="z")
        m.event(f"floor{i}", z.position - low, direction=-1, jump={z.velocity: -0.9 * z.velocity})
        m.event(f"ceiling{i}", z.position - high, direction=1, jump={z.velocity: -0.9 * z.velocity})
    return m


@pytest.mark.parametrize(
    ("formulation", "options"),
    [(f, o) for f in FORMULATIONS for o in METHODS if (f == "recursive" or "step" not in o) and (f != "directors" or not o)],
    ids=lambda x: x if isinstance(x, str) else "-".join(map(str, x.values())) or "default",
)
def test_no_wall_is_passed(formulation: str, options: dict[str, Any]) -> None:
    s = thrown().compile(formulation=formulation)
    own = {"step": 1e-3} if formulation == "directors" else options
    start = {"z0": 0.1, "z0.displacement_rate": 4.0, "z1": -0.3, "z1.displacement_rate": -5.0}
    sol = s.simulate(start, 1.7, **own)
    rough = 2e-2 if "step" in own and own.get("method") != "rk4" else 1e-6
    for i, (x, v, low, high) in enumerate(((0.1, 4.0, -0.5, 0.6), (-0.3, -5.0, -0.8, 0.4))):
        count, end = between_walls(x, v, low, high, 0.9, 1.7)
        assert sum(name in (f"floor{i}", f"ceiling{i}") for name in sol.events.names) == count
        assert sol[f"z{i}.displacement"][-1] == pytest.approx(end, abs=rough)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed loop"])
def test_guards_of_places_rates_and_accelerations_in_any_order(formulation: str, closed: bool) -> None:
    """x = cos t: guards of x, ẍ, ẋ and of time, some of which need accelerations, at their instants in closed form."""
    m = jd.Model("swings")
    block = m.body("block", mass=0.25 if closed else 1.0, inertia=(1, 1, 1))
    x = m.prismatic("x", m.ground, block, axis="x")
    m.force(x, -x.position)
    if closed:
        other = m.body("other", mass=0.75, inertia=(1, 1, 1))
        m.prismatic("y", m.ground.frame("beside", position=(1, 1, 0)), other, axis="x")
        m.rod("rod", block, other, length=math.sqrt(2))
    if formulation != "directors":
        m.event("accelerated", x.acceleration + 0.5, direction=1)
    m.event("middle", x.position, direction=-1)
    m.event("late", m.time - 2.5)
    if formulation != "directors":
        m.event("again", x.acceleration - 0.5, direction=1)
    m.event("turns", x.velocity, direction=1)
    own = {"step": 1e-3} if formulation == "directors" else {}
    sol = m.compile(formulation=formulation).simulate({"x": 1.0, "y": 1.0} if closed else {"x": 1.0}, 3.5, **own)
    expected = {"accelerated": math.pi / 3, "middle": math.pi / 2, "again": 2 * math.pi / 3, "late": 2.5, "turns": math.pi}
    if formulation == "directors":
        del expected["accelerated"], expected["again"]
    assert list(sol.events.names) == list(expected)
    assert [e.t for e in sol.events] == pytest.approx(list(expected.values()), abs=1e-5 if own else 1e-7)


@pytest.mark.parametrize("jump", [None, 0.9, -0.8], ids=["passes", "slower", "back"])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_events_next_to_the_end_of_a_step_happen_once(formulation: str, jump: float | None) -> None:
    """The rest of a step behind an event may be so short that a guard moves by rounding in it; that is no crossing."""
    h, start = 4e-3, {"crank.angle": 0.5, "crank.angle_rate": 3.0}
    options = {"step": h} if formulation == "directors" else {} if formulation == "semi-recursive" else {"method": "rk4", "step": h}
    m = jd.library.slider_crank()
    crank, there = m.joints["crank"], m.parameter("there", 2.0)
    m.event("there", crank.position - there, jump=None if jump is None else {crank.velocity: jump * crank.velocity})
    run = jd.Analysis(m.compile(formulation=formulation), "simulate", start, t=0.08, **options)
    free = run.run()
    for k in (4, 7, 10, 14):
        i = int(abs(free.t - k * h).argmin())
        for early in (1e-6, 8e-8, 2e-8):
            found = run.run({"there": float(free["crank.angle"][i] - early * free["crank.angle_rate"][i])})
            assert len(found.events) == 1, (k, early)


@pytest.mark.parametrize("method", ["dopri5", "radau", "rosenbrock", "adams", "auto"])
def test_a_law_that_jumps_at_an_event(method: str) -> None:
    """Where the law jumps the step begins on the surface itself: the first correction of an implicit step leads to the other side, and the second is no smaller."""
    m = jd.library.slider_crank()
    place = m.joints["piston"].position
    m.force(m.joints["crank"], jd.where(place > 0.15, 0.3, -0.2))
    m.event("there", place - 0.15)
    s = m.compile()
    start = s.assemble({"crank.angle": -0.9}, velocities={"crank.angle_rate": 6.0})
    wanted = s.simulate(start, 0.4, "dop853", rtol=1e-13, atol=1e-14)["crank.angle"][-1]
    for rtol in (1e-6, 1e-8, 1e-10):
        assert s.simulate(start, 0.4, method, rtol=rtol, atol=0.01 * rtol)["crank.angle"][-1] == pytest.approx(wanted, rel=100 * rtol)
