"""A full car over a speed hump: McPherson front and five-link rear suspensions with closed loops, tyres on a road given as a function.

python examples/full_car.py
jourdain info examples/full_car.py:full_car
"""

from math import pi, sin
from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.library.car import build_car, rolling
from jourdain.library.road import bump
from jourdain.model.shapes import box, cylinder, prism

SPEED, HEIGHT, START, LENGTH = 8.0, 0.08, 24.0, 1.0
PROFILE = [(-2.0, -0.2), (2.05, -0.2), (2.05, 0.1), (1.75, 0.25), (0.95, 0.33), (0.25, 0.75), (-1.1, 0.75), (-1.75, 0.35), (-2.05, 0.3)]


def full_car() -> jd.Model:
    """14 freedoms, 26 bodies of which 12 are rods; a controller of the drive holds the speed."""
    car = build_car(road=bump(HEIGHT, START, LENGTH), cruise=True)
    m = car.model
    hump = [(START + LENGTH * s, HEIGHT * sin(pi * s) ** 2) for s in np.linspace(1.0, 0.0, 25)]
    m.ground.shapes.append(prism(hump, 4.0, colour="#b9bec6").rotated("x", pi / 2))
    for corner in car.corners.values():
        rim = [box(0.4, 0.205, 0.05, colour="#c8ccd2"), box(0.05, 0.205, 0.4, colour="#c8ccd2")]
        corner.wheel.shapes += [cylinder(0.31, 0.2, axis="y"), *rim]
        corner.wheel.colour = "#3d444d"
    side = prism(PROFILE, 0.06).rotated("x", pi / 2)
    plates = [side.at(0, y, 0.05) for y in (-0.55, 0.55)]
    m.bodies["chassis"].shapes += [*plates, box(3.6, 1.0, 0.06).at(0, 0, -0.12), box(1.3, 1.1, 0.05).at(-0.42, 0, 0.8)]
    m.bodies["chassis"].colour = "#c94f4f"
    return m


if __name__ == "__main__":
    system = full_car().compile()
    system.set_parameters(**{"cruise.speed": SPEED})
    print(system)
    start = system.assemble({}, velocities=rolling(SPEED))
    print(start.report)
    sol = system.simulate(start, t=5.0, rtol=1e-5, atol=1e-7, times=np.linspace(0.0, 5.0, 1001))
    sol = sol.between(2.5, 5.0)  # it has settled on its springs by then
    loads = [sol[f"{corner}.tyre.Fz"] for corner in ("FL", "RL")]
    print(f"tyre loads from {min(x.min() for x in loads):.0f} to {max(x.max() for x in loads):.0f} N")

    Path("out").mkdir(exist_ok=True)
    sol.plot("chassis.z", "chassis.ry", "FL.tyre.Fz", "RL.tyre.Fz", file="out/full_car_plot.png")
    sol.save_picture("out/full_car.png", t=2.9, follow="chassis", trace=["FR.wheel"], ground=0.0)
    sol.save_page("out/full_car.html", plots=["chassis.z", ["FL.tyre.Fz", "RL.tyre.Fz"]], follow="chassis", trace=["FR.wheel"], ground=0.0)
    print("wrote out/full_car.png, out/full_car_plot.png and out/full_car.html")
