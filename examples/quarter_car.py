"""A quarter car over a bump: springs between points, static equilibrium, response of the body to the road, and the run.

python examples/quarter_car.py
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.model.shapes import box, cylinder


def quarter_car() -> jd.Model:
    """A body on a spring and damper above a wheel on its tyre; the road's height is an input."""
    m = jd.Model("quarter car")
    k, c, kt = m.parameters(spring=18e3, damper=1200.0, tyre=180e3)
    road = m.input("road", unit="m")
    m.ground.shapes.append(box(1.6, 0.5, 0.02).at(0, 0, -0.02))
    rim = cylinder(0.18, 0.19, axis="y", colour="#c8ccd2")
    wheel = m.body("wheel", mass=40.0, shape=[cylinder(0.3, 0.18, axis="y"), rim], colour="#3d444d")
    body = m.body("body", mass=300.0, shape=box(0.9, 0.5, 0.16).at(0, 0, 0.08), colour="#4269d0")
    hop = m.prismatic("wheel", m.ground.at(0, 0, 0.3), wheel, axis="z")
    travel = m.prismatic("body", m.ground.at(0, 0, 0.9), body, axis="z")
    hub, low = wheel.at(-0.07, -0.16, 0), body.at(-0.07, -0.16, 0)
    m.spring("spring", hub, low, stiffness=k, length=0.763)
    m.damper("damper", wheel.at(0.07, -0.16, 0), body.at(0.07, -0.16, 0), c)
    load = kt * jd.maximum(road - hop.position, 0.0)
    m.force(hop, load, name="tyre")
    m.output("tyre load", load, unit="N")
    m.output("body height", travel.position, unit="m")
    return m


def bump(t: jd.Expr) -> jd.Expr:
    """A half sine of 8 cm height and 0.5 m length, met at 10 m/s after 0.2 s."""
    s = 10.0 * (t - 0.2)
    return jd.where(s > 0.0, jd.where(s < 0.5, 0.08 * jd.sin(np.pi * s / 0.5), 0.0), 0.0)


if __name__ == "__main__":
    system = quarter_car().compile()
    rest = system.equilibrium({"wheel": -0.02})
    print(rest)
    print(system.modal(rest))
    response = system.frequency_response("road", "body height", np.geomspace(0.2, 30.0, 400), rest)
    print(response)
    # Fixed steps: from rest a method that chooses its steps may make one that is longer than the bump.
    sol = system.simulate(rest.state, t=2.0, method="rk4", step=5e-4, inputs={"road": bump}, times=np.linspace(0.0, 2.0, 801))

    Path("out").mkdir(exist_ok=True)
    sol.plot("body height", "wheel.displacement", "road", "tyre load", file="out/quarter_car_plot.png")
    sol.save_picture("out/quarter_car.png", t=0.23)
    sol.save_page("out/quarter_car.html", plots=[["body height", "wheel.displacement"], "tyre load"])
    print("wrote out/quarter_car.png, out/quarter_car_plot.png and out/quarter_car.html")
