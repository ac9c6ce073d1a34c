"""Design of a full-scale crash test on its surrogate (SAFETRAIN): published rows, and an optimum at the published bounds."""

from __future__ import annotations

import jourdain as jd

lib = jd.library

MASSES, LEVEL, SPEED = ("a.car1.mass", "b.car1.mass", "b.car2.mass"), "front.level1", "a.car1.displacement_rate"
ENERGIES = {"HE": jd.criteria.largest("front.energy"), "LE": jd.criteria.largest("b.coupler1.energy")}


def crash() -> jd.Analysis:
    honeycomb, tested = lib.crush_device(2.5e6, 3.0, 1e8, name="HE"), lib.crush_device(1.2e6, 3.0, 5e7, name="LE")
    m = lib.wagon_into_wagons(lib.train([50e3], front=honeycomb), lib.train([40e3, 45e3], couplers=tested), "45 km/h")
    return jd.Analysis(m.compile(), "simulate", {}, t=0.8)


def test_t6_and_t7_the_published_rows_and_the_optimum_at_their_bounds() -> None:
    """The deterministic row gives 3.00 and 1.41 MJ; the least HE with LE = 1.4 MJ lies at M_B = 70, M_C = 30, M_A = 60 t, L₁ = 3 MN and 53 … 54.2 km/h."""
    run = crash()
    row = dict(zip((*MASSES, SPEED, LEVEL), (70e3, 30e3, 59.5e3, 53.7 / 3.6, 3e6), strict=True))
    found = run.evaluate(ENERGIES, row)
    assert abs(found["HE"] - 3.0e6) < 0.03e6 and abs(found["LE"] - 1.41e6) < 0.02e6
    bounds = {MASSES[0]: (30e3, 70e3), MASSES[1]: (30e3, 50e3), MASSES[2]: (30e3, 60e3), SPEED: ("10 km/h", "72 km/h"), LEVEL: (1e6, 3e6)}
    best = jd.Problem(run, bounds, {"HE": ENERGIES["HE"]}, {"LE": ENERGIES["LE"].equals(1.4e6)}).optimise(tolerance=1e-8)
    assert best.feasible and best.criteria["HE"] <= 3e6 and ((best.constraints["LE"] - 1.4e6) / 1e6) ** 2 <= 2e-4
    assert best.values[MASSES[0]] >= 67.5e3 and best.values[MASSES[1]] <= 30.6e3 and best.values[MASSES[2]] >= 58.5e3
    assert best.values[LEVEL] >= 2.93e6 and 53.0 <= 3.6 * best.values[SPEED] <= 54.2
