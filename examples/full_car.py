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
from jourdain.model.shapes import Shape, box, cylinder, prism, tube
from jourdain.view import Camera

SPEED, HEIGHT, START, LENGTH = 8.0, 0.08, 24.0, 1.0
PAINT, GLASS, TRIM, LAMP = "#b3262e", "#2a3440", "#3a424c", "#fff3c4"


def side_view(points: list[tuple[float, float]], width: float, colour: str) -> Shape:
    """A part of the body by its outline seen from the side (x forward, z up), as wide as said."""
    return prism([(z, x) for x, z in points], width, axis="y", colour=colour)


def coachwork() -> list[Shape]:
    """Hull with wheel arches, windows, roof, pillars and lamps, relative to the chassis (0.5 m above the road)."""

    def arch(x: float) -> list[tuple[float, float]]:
        return [(x - 0.4 * np.cos(a), -0.2 + 0.4 * np.sin(a)) for a in np.linspace(-0.15, pi + 0.15, 21)]

    nose = [(2.04, -0.26), (2.14, -0.12), (2.13, 0.12), (2.0, 0.31), (1.0, 0.46)]
    tail = [(-1.5, 0.46), (-2.0, 0.42), (-2.1, 0.2), (-2.05, -0.26)]
    hull = side_view([*arch(-1.35), *arch(1.35), *nose, *tail], 1.62, PAINT)
    cabin = side_view([(1.0, 0.43), (0.32, 0.86), (-0.9, 0.9), (-1.6, 0.44)], 1.4, GLASS)
    roof = side_view([(0.42, 0.84), (0.3, 0.91), (-0.9, 0.95), (-1.1, 0.89), (-0.9, 0.89), (0.3, 0.85)], 1.43, PAINT)
    posts = (
        [(1.0, 0.44), (0.4, 0.86), (0.3, 0.86), (0.9, 0.44)], [(-0.28, 0.4), (-0.3, 0.9), (-0.38, 0.9), (-0.38, 0.4)],
        [(-1.25, 0.4), (-0.85, 0.9), (-1.0, 0.9), (-1.65, 0.44)],
    )  # fmt: skip
    pillars = [side_view(post, 0.06, PAINT).at(0, y, 0) for post in posts for y in (-0.69, 0.69)]
    lamps = [box(0.06, 0.3, 0.11, colour=LAMP).at(2.11, y, 0.07) for y in (-0.6, 0.6)]
    lamps += [box(0.06, 0.3, 0.1, colour="#7c1016").at(-2.07, y, 0.26) for y in (-0.6, 0.6)]
    bumpers = [box(0.1, 1.5, 0.1, colour=TRIM).at(x, 0, -0.17) for x in (-2.04, 2.1)]
    return [hull, cabin, roof, *pillars, *lamps, *bumpers]


def wheel() -> list[Shape]:
    """A tyre on a rim with five spokes."""
    spokes = [box(0.06, 0.13, 0.36, colour="#c8ccd2").rotated("y", k * pi / 5) for k in range(5)]
    return [tube(0.31, 0.2, 0.2, axis="y", colour="#23282e"), tube(0.205, 0.18, 0.17, axis="y", colour="#c8ccd2"), *spokes,
            cylinder(0.05, 0.15, axis="y", colour="#c8ccd2")]  # fmt: skip


def full_car() -> jd.Model:
    """14 freedoms, 26 bodies of which 12 are rods; a controller of the drive holds the speed."""
    car = build_car(road=bump(HEIGHT, START, LENGTH), cruise=True)
    m = car.model
    hump = [(START + LENGTH * s, HEIGHT * sin(pi * s) ** 2) for s in np.linspace(1.0, 0.0, 25)]
    m.ground.shapes.append(prism(hump, 4.0, colour="#b9bec6").rotated("x", pi / 2))
    for corner in car.corners.values():
        corner.wheel.shapes += wheel()
    m.bodies["chassis"].shapes += coachwork()
    for body in m.bodies.values():
        body.colour = "#69737f"
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
    x = sol.at(2.92)["chassis.x"]
    camera = Camera((x + 4.6, -5.6, 1.9), (x + 0.25, 0.0, 0.5), fov=30.0)
    sol.save_picture("out/full_car.png", t=2.92, camera=camera, trace=["FR.wheel"], ground=0.0)
    sol.save_page("out/full_car.html", plots=["chassis.z", ["FL.tyre.Fz", "RL.tyre.Fz"]], follow="chassis", trace=["FR.wheel"], ground=0.0)
    print("wrote out/full_car.png, out/full_car_plot.png and out/full_car.html")
