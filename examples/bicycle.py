"""A bicycle without a rider's hands: eigenvalues over the speed, and a push that it recovers from by itself.

python examples/bicycle.py
jourdain info examples/bicycle.py:bicycle
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.library.nonholonomic import BICYCLE, benchmark_bicycle
from jourdain.model.shapes import box, capsule, cylinder, sphere, torus
from jourdain.results.modal_plots import root_locus

W, C, R_REAR, R_FRONT = (BICYCLE[n] for n in ("w", "c", "rR", "rF"))


def bicycle() -> jd.Model:
    """The benchmark bicycle of the library (knife-edge wheels that roll without slip), with shapes to look at."""
    m = benchmark_bicycle()
    for name, r in (("rear", R_REAR), ("front", R_FRONT)):
        spokes = [box(2 * r - 0.03, 0.006, 0.01).rotated("y", angle) for angle in (0.0, np.pi / 3, 2 * np.pi / 3)]
        m.bodies[name].shapes += [torus(r - 0.015, 0.015, axis="y"), *spokes]
        m.bodies[name].colour = "#3d444d"
    frame, fork = m.bodies["frame"], m.bodies["fork"]
    frame.shapes += [bar((0, 0, R_REAR), (0.45, 0, 0.28)), bar((0.45, 0, 0.28), (0.3, 0, 0.85)), bar((0.3, 0, 0.75), (0.83, 0, 0.8))]
    frame.shapes += [bar((0, 0, R_REAR), (0.32, 0, 0.75)), bar((0.45, 0, 0.28), (0.82, 0, 0.75)), box(0.26, 0.13, 0.05).at(0.29, 0, 0.88)]
    frame.shapes += [capsule(0.1, 0.4, axis="z", colour="#efb118").at(0.33, 0, 1.2), sphere(0.11, colour="#e8c39e").at(0.36, 0, 1.62)]
    fork.shapes += [bar((-C, 0.05, R_FRONT), (-C - 0.14, 0.05, 0.78)), bar((-C, -0.05, R_FRONT), (-C - 0.14, -0.05, 0.78))]
    fork.shapes += [bar((-C - 0.13, 0, 0.7), (-C - 0.2, 0, 0.98)), cylinder(0.014, 0.5, axis="y").at(-C - 0.2, 0, 0.98)]
    frame.colour, fork.colour = "#4269d0", "#c94f4f"
    return m


def bar(a: tuple[float, float, float], b: tuple[float, float, float]) -> object:
    """A tube of the frame between two points in its plane."""
    d = np.subtract(b, a)
    middle = np.add(a, b) / 2
    return cylinder(0.018, float(np.linalg.norm(d)), axis="x").rotated("y", -np.arctan2(d[2], d[0])).at(*(float(x) for x in middle))


def rolling(system: jd.System, speed: float, roll: float = 0.0) -> jd.State:
    """The bicycle rolling straight ahead with a roll rate."""
    rates = {"frame.x_rate": speed, "frame.rx_rate": roll, "rear.angle_rate": speed / R_REAR, "front.angle_rate": speed / R_FRONT}
    return system.assemble({}, velocities=rates)


if __name__ == "__main__":
    system = bicycle().compile()
    speeds = np.linspace(0.5, 10.0, 39)
    values = []
    for speed in speeds:
        found = system.linearise(rolling(system, speed), inputs=[], outputs=[]).eigenvalues
        values.append(found[np.argsort(-np.abs(found))][:4])
    growth = np.array([row.real.max() for row in values])
    stable = speeds[growth < 0]
    print(f"stable by itself from {stable.min():.2f} to {stable.max():.2f} m/s")

    sol = system.simulate(rolling(system, 4.6, roll=0.5), t=6.0, times=np.linspace(0.0, 6.0, 601))
    Path("out").mkdir(exist_ok=True)
    root_locus(np.array(values), speeds, "speed [m/s]", title="bicycle", file="out/bicycle_locus.png")
    sol.plot("frame.rx", "steer.angle", unit="deg", title="bicycle at 4.6 m/s, pushed", file="out/bicycle_plot.png")
    sol.save_picture("out/bicycle.png", t=0.55, follow="frame", trace=["rear"])
    sol.save_page("out/bicycle.html", plots=["frame.rx", "steer.angle"], follow="frame", trace=["rear"])
    print("wrote out/bicycle.png, out/bicycle_plot.png and out/bicycle.html")
