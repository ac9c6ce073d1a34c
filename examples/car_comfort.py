"""A car in space designed for its driver: closed loops, tyres and a ramp under its left wheels, with exact gradients by dampers and bars.

python examples/car_comfort.py
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.library.car import build_car, rolling
from jourdain.library.road import bump
from jourdain.model.shapes import cylinder, prism, tube
from jourdain.view import Camera

SPEED, HEIGHT, START, LENGTH = 8.0, 0.06, 22.5, 1.2
#: Comfort of the driver, rolling of the body, and what tyre loads deviate from those at rest (safety).
CRITERIA = {
    "comfort": jd.criteria.rms("driver.acceleration.z"),
    "roll": jd.criteria.rms("chassis.rx_rate"),
    "safety": jd.criteria.rms("(FL.tyre.Fz + RL.tyre.Fz - FR.tyre.Fz - RR.tyre.Fz)/1[kN]"),
}
#: Left and right are alike: what is on the right follows what is on the left.
VARIABLES = {
    "FL.damping": ("500 N s/m", "5 kN s/m"), "FR.damping": "FL.damping", "RL.damping": ("500 N s/m", "5 kN s/m"), "RR.damping": "RL.damping",
    "front.bar": (0.0, 4e4), "rear.bar": (0.0, 4e4),
}  # fmt: skip


def car() -> jd.Model:
    """14 freedoms, 18 constraints, Magic-Formula tyres; a ramp on the left half of the road; a controller holds the speed."""
    built = build_car(road=bump(HEIGHT, START, LENGTH, lower=0.0), cruise=True)
    m = built.model
    m.sensor("driver", m.bodies["chassis"].at(-0.1, 0.35, 0.1))
    s = np.linspace(1.0, 0.0, 25)
    ramp = [(START + LENGTH * x, HEIGHT * np.sin(np.pi * x) ** 2) for x in s]
    m.ground.shapes.append(prism(ramp, 2.0, colour="#b9bec6").at(0, 1.0, 0).rotated("x", np.pi / 2))
    chassis = m.bodies["chassis"]
    chassis.colour = "#4269d0"
    hull = [(2.1, -0.22), (2.1, 0.15), (0.95, 0.35), (-1.95, 0.35), (-2.05, 0.1), (-1.95, -0.22)]
    cabin = [(0.95, 0.35), (0.4, 0.8), (-1.0, 0.84), (-1.6, 0.35)]
    for outline, width, colour in ((hull, 1.0, "#4269d0"), (cabin, 0.98, "#1d2833")):  # narrower than the track: suspensions can be seen
        chassis.shapes.append(prism([(z, x) for x, z in outline], width, axis="y", colour=colour))
    for corner in built.corners.values():
        corner.wheel.shapes += [
            tube(built.data.tyre_radius, 0.2, 0.19, axis="y", colour="#23282e"),
            cylinder(0.2, 0.05, axis="y", colour="#c8ccd2"),
        ]
    return m


if __name__ == "__main__":
    system = car().compile()
    system.set_parameters(**{"cruise.speed": SPEED})
    settled = system.simulate(system.assemble({}, velocities=rolling(SPEED)), t=2.5).final_state()  # dampers and bars do nothing at rest
    ramp = jd.Analysis(system, "simulate", settled, t=1.5, rtol=1e-6)
    g = ramp.gradient(CRITERIA, [name for name, bounds in VARIABLES.items() if not isinstance(bounds, str)])
    print(g)

    soft = jd.criteria.largest("abs(chassis.rx)") <= "3 deg"
    problem = jd.Problem(ramp, VARIABLES, CRITERIA, {"lean": soft})
    before = ramp.evaluate(CRITERIA)
    weights = {name: share / before[name] for name, share in (("comfort", 0.5), ("roll", 0.2), ("safety", 0.3))}
    best = problem.optimise(weights, tolerance=1e-5)
    print(best)
    for name, value in best.criteria.items():
        print(f"  {name}: {before[name]:8.4g} -> {value:8.4g}")

    old, new = ramp.run(), best.run()
    Path("out").mkdir(exist_ok=True)
    times = np.linspace(old.t[0], old.t[-1], 601)
    lifts = {f"driver {word}": (sol.at(times)["driver.acceleration"][:, 2], "m/s^2") for word, sol in (("before", old), ("after", new))}
    old.resample(times).with_channels(**lifts).plot("driver before", "driver after", file="out/car_comfort_plot.png")
    g.plot(file="out/car_comfort_elasticities.png")
    x = new.at(old.t[0] + 0.22)["chassis.x"]
    camera = Camera((x + 4.4, 5.2, 1.7), (x + 0.2, 0.0, 0.4), fov=32.0)
    new.save_picture("out/car_comfort.png", t=old.t[0] + 0.22, camera=camera, ground=0.0)
    new.save_page("out/car_comfort.html", plots=[["FL.tyre.Fz", "FR.tyre.Fz"], "chassis.rx"], follow="chassis", ground=0.0)
    print("wrote out/car_comfort.png, out/car_comfort_plot.png and out/car_comfort.html")
