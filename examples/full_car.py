"""A full car with McPherson front and five-link rear suspensions, tyres and closed loops: a double lane change at 72 km/h.

python examples/full_car.py
jourdain info examples/full_car.py:full_car
"""

from math import pi
from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.library.car import build_car, rolling
from jourdain.model.shapes import box, cylinder, prism

SPEED = 20.0
PROFILE = [(-2.0, -0.2), (2.05, -0.2), (2.05, 0.1), (1.75, 0.25), (0.95, 0.33), (0.25, 0.75), (-1.1, 0.75), (-1.75, 0.35), (-2.05, 0.3)]


def full_car() -> jd.Model:
    """14 freedoms, 26 bodies; the rack is driven through two swerves, a controller of the drive holds the speed."""
    car = build_car(steering=swerve, cruise=True)
    m = car.model
    for corner in car.corners.values():
        corner.wheel.shapes += [cylinder(0.318, 0.2, axis="y"), box(0.4, 0.205, 0.05, colour="#c8ccd2"), box(0.05, 0.205, 0.4, colour="#c8ccd2")]
        corner.wheel.colour = "#3d444d"
    side = prism(PROFILE, 0.06).rotated("x", pi / 2)
    plates = [side.at(0, y, 0.05) for y in (-0.55, 0.55)]
    rails = [box(3.6, 1.0, 0.06).at(0, 0, -0.12), box(1.3, 1.1, 0.05).at(-0.42, 0, 0.8)]
    m.bodies["chassis"].shapes += [*plates, *rails]
    m.bodies["chassis"].colour = "#c94f4f"
    return m


def swerve(t: jd.Expr) -> jd.Expr:
    """Displacement of the rack (m): a sine to the left and back, then the opposite."""
    first = jd.where(t > 0.5, jd.where(t < 2.5, jd.sin(pi * (t - 0.5)), 0.0), 0.0)
    second = jd.where(t > 3.0, jd.where(t < 5.0, jd.sin(pi * (t - 3.0)), 0.0), 0.0)
    return 0.012 * (first - second)


if __name__ == "__main__":
    model = full_car()
    system = model.compile()
    print(system)
    start = system.assemble({}, velocities=rolling(SPEED))
    print(start.report)
    sol = system.simulate(start, t=6.0, rtol=1e-5, atol=1e-7, times=np.linspace(0.0, 6.0, 601))
    where = sol.frame("chassis").position
    print(f"after {sol.t[-1]:g} s: {where[-1, 0]:.1f} m ahead, largest shift {where[:, 1].max():.2f} m to the left")

    Path("out").mkdir(exist_ok=True)
    sol.plot("chassis.y", "chassis.rx", "chassis.rz", "speed", file="out/full_car_plot.png")
    options = {"follow": "chassis", "trace": ["FL.wheel", "RR.wheel"]}
    sol.save_picture("out/full_car.png", t=1.7, **options)
    sol.save_page("out/full_car.html", plots=[["chassis.rx", "chassis.rz"], "speed"], **options)
    print("wrote out/full_car.png, out/full_car_plot.png and out/full_car.html")
