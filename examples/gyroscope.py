"""A heavy top on a ball joint: nutation by simulation, precession compared with the theory of the fast top.

python examples/gyroscope.py
"""

from math import pi
from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.model.shapes import cone, cylinder

MASS, ARM, SPIN_INERTIA, SPIN = 0.5, 0.05, 4e-4, 200.0


def top() -> jd.Model:
    """A symmetric body on a ball joint; orientation by precession, nutation and spin (Euler angles z, x, z)."""
    m = jd.Model("top")
    disk, stem = cylinder(0.05, 0.012, axis="z").at(0, 0, ARM), cylinder(0.005, 0.06, axis="z").at(0, 0, ARM + 0.03)
    tip = cone(0.001, 0.008, ARM, axis="z").at(0, 0, ARM / 2)
    mark = cylinder(0.008, 0.002, axis="z", colour="#efb118").at(0.035, 0, ARM + 0.006)
    body = m.body(
        "body", mass=MASS, com=(0, 0, ARM), inertia=(2.5e-4, 2.5e-4, SPIN_INERTIA), shape=[disk, stem, tip, mark], colour="#4269d0"
    )
    body.frame("end", (0, 0, ARM + 0.06))
    m.ground.shapes += [cone(0.012, 0.003, 0.09, axis="z").at(0, 0, -0.045), cylinder(0.045, 0.008, axis="z").at(0, 0, -0.094)]
    m.spherical("tip", m.ground, body, orientation="zxz")
    return m


if __name__ == "__main__":
    model = top()
    print(model)
    system = model.compile()
    precession, nutation, spin = system.coordinate_names
    rates = system.velocity_names
    sol = system.simulate({nutation: 60 * pi / 180, rates[2]: SPIN}, t=3.0, rtol=1e-10)

    seen = (sol[precession][-1] - sol[precession][0]) / sol.t[-1]
    fast_top = MASS * 9.81 * ARM / (SPIN_INERTIA * SPIN)
    print(f"mean precession {seen:.4f} rad/s; m g l/(C ω) of the fast top {fast_top:.4f} rad/s")
    energy = sol["energy.total"]
    print(f"energy drift {np.abs(energy - energy[0]).max():.1e} J")

    Path("out").mkdir(exist_ok=True)
    sol.between(0.0, 0.5).plot(precession, nutation, unit="deg", title="heavy top", file="out/gyroscope_plot.png")
    sol.save_picture("out/gyroscope.png", t=2.4, trace=["body.end"])
    sol.save_page("out/gyroscope.html", plots=[precession, nutation], trace=["body.end"])
    print("wrote out/gyroscope.png, out/gyroscope_plot.png and out/gyroscope.html")
