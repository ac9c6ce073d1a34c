"""A flexible arm: two links that bend, a step of the shoulder's torque, the strain at the root, and frequencies that rise with the speed.

python examples/flexible_arm.py
jourdain info examples/flexible_arm.py:arm
"""

from pathlib import Path

import numpy as np

import jourdain as jd


def arm() -> jd.Model:
    """Two links of spring steel by beams of second order, with a strain gauge at the root of the first."""
    m = jd.library.flexible_arm(links=2, order=2, functions=3, damping=0.005)
    m.output("strain", 0.0005 * m.bodies["link1"].gauge(at=0.0, curvature="z"))
    return m


if __name__ == "__main__":
    system = arm().compile()
    sol = system.simulate({}, t=3.0, inputs={"torque1": lambda t: jd.where(t < 0.5, 0.2, jd.where(t < 1.0, -0.2, 0.0))}, outputs=600)
    print(f"largest strain at the root {1e6 * abs(sol['strain']).max():.0f} µm/m")
    diagram = system.modal(speeds={"shoulder.angle_rate": (0, 2, 5, 7.6, 10)})
    for speed, row in zip(diagram.values, np.sort(abs(diagram.eigenvalues.imag), axis=1)[:, 4:9:2] / (2 * np.pi), strict=True):
        print(f"at {speed:4.1f} rad/s: {', '.join(f'{x:.2f}' for x in row)} Hz")

    Path("out").mkdir(exist_ok=True)
    sol.plot("shoulder.angle", "elbow.angle", "strain", file="out/flexible_arm_plot.png")
    sol.save_page("out/flexible_arm.html")
    sol.save_picture("out/flexible_arm.png", t=0.5)
    print("wrote out/flexible_arm.png, out/flexible_arm_plot.png and out/flexible_arm.html")
