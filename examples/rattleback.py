"""A rattleback: spun one way it begins to rattle, stops, and spins the other way, because its mass lies askew.

python examples/rattleback.py
"""

import math
from pathlib import Path

import numpy as np

import jourdain as jd

SKEW = 0.2  # rad between the axes of inertia and those of the shape


def rattleback() -> jd.Model:
    """An ellipsoid on a table, its centre of mass below its centre, its inertia turned about the vertical."""
    m = jd.Model("rattleback")
    m.ground.shapes.append(jd.plane(extent=0.4))
    turn = np.array([[math.cos(SKEW), -math.sin(SKEW), 0], [math.sin(SKEW), math.cos(SKEW), 0], [0, 0, 1]])
    inertia = turn @ np.diag([4e-5, 3e-4, 3.1e-4]) @ turn.T
    stone = m.body("stone", mass=0.2, inertia=tuple(map(tuple, inertia)))
    stone.shapes.append(jd.ellipsoid(0.10, 0.03, 0.02, colour="#4a7fb0").at(0, 0, 0.01))
    m.free("free", m.ground, stone)
    m.contact("floor", law=jd.contact.rigid(friction=2.0))
    m.initial |= {"free.z": 0.01, "free.orientation.omega_x": 0.01, "free.orientation.omega_z": -5.0}
    return m


if __name__ == "__main__":
    sol = rattleback().compile().simulate({}, t=4.0, rtol=1e-8, atol=1e-10)
    spin = sol["free.orientation.omega_z"]
    print(f"spin {spin[0]:.2f} rad/s at first, {spin.max():.2f} rad/s later")
    rolled = sol.t > 0.1
    print(f"the energy of the rolling stone changes by {np.ptp(sol['energy.total'][rolled]):.1e} of {sol['energy.kinetic'][0]:.1e} J")

    Path("out").mkdir(exist_ok=True)
    sol.plot("free.orientation.omega_z", "free.z", "energy.kinetic", file="out/rattleback_plot.png")
    sol = sol.resample(600)
    sol.save_picture("out/rattleback.png", t=2.0)
    sol.save_page("out/rattleback.html", plots=["free.orientation.omega_z", "free.z"])
    print("wrote out/rattleback.png, out/rattleback_plot.png and out/rattleback.html")
