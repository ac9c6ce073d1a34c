"""Watt's flyball governor: steady rotation as a dynamic equilibrium, its angle over the speed, stability, and a run up to speed.

python examples/governor.py
jourdain info examples/governor.py:governor
"""

from math import acos
from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.model.shapes import box, cylinder, sphere, tube
from jourdain.results.style import finish, house_style, new_figure

BALL, SLEEVE, ARM, GRAVITY = 1.0, 2.0, 0.2, 9.81


def governor() -> jd.Model:
    """Two balls on arms, links of the same length down to a sleeve on the shaft; the links are massless rods that close loops."""
    m = jd.Model("governor", gravity=(0, 0, -GRAVITY))
    ball, sleeve, l, k, d = m.parameters(ball=BALL, sleeve=SLEEVE, arm=ARM, stiffness=0.0, damping=8.0)
    m.ground.shapes += [cylinder(0.1, 0.02, axis="z").at(0, 0, -0.48), cylinder(0.03, 0.05, axis="z").at(0, 0, -0.45)]
    post = [cylinder(0.008, 0.5, axis="z").at(0, 0, -0.19), box(0.05, 0.03, 0.02)]
    shaft = m.body("shaft", mass=1.0, inertia=(0.01, 0.01, 0.005), shape=post, colour="#7d8797")
    collar = m.body("sleeve", mass=sleeve, inertia=(1e-3, 1e-3, 1e-3), shape=tube(0.028, 0.009, 0.04, axis="z"), colour="#4269d0")
    turn = m.revolute("shaft", m.ground, shaft, axis="z")
    slide = m.prismatic("sleeve", shaft, collar, axis="z")
    m.joint_spring(slide, k, rest=-2 * l, damping=d, name="spring")
    for side, axis in (("right", "-y"), ("left", "y")):
        fly = m.body(f"{side} ball", mass=ball, com=(0, 0, -l), shape=[sphere(0.032).at(0, 0, -l), box(0.01, 0.01, l).at(0, 0, -l / 2)],
                     colour="#efb118")  # fmt: skip
        m.revolute(side, shaft, fly, axis=axis)
        m.rod(f"link {side}", fly.at(0, 0, -l), collar, l)
    m.force(turn, m.input("torque", unit="N m"), name="drive")
    return m


if __name__ == "__main__":
    system = governor().compile()

    # At the speed Ω without spring: cos α = (m + M) g/(m Ω² l).
    speeds, angles = np.linspace(13.0, 30.0, 18), []
    guess = 0.3
    for speed in speeds:
        start = system.assemble({"left": guess, "right": guess}, guess={"sleeve": -0.38}, velocities={"shaft.angle_rate": speed})
        found = system.equilibrium(start, kind="dynamic", steady=["shaft.angle_rate"])
        guess = found["left.angle"]
        angles.append(guess)
    theory = [acos((BALL + SLEEVE) * GRAVITY / (BALL * w**2 * ARM)) for w in speeds]
    print(found)
    print(f"angle against (m + M) g/(m Ω² l) of the textbook: largest difference {np.abs(np.subtract(angles, theory)).max():.1e} rad")

    start = system.assemble({"left": 0.35, "right": 0.35}, guess={"sleeve": -0.37}, velocities={"shaft.angle_rate": 13.0})
    sol = system.simulate(start, t=6.0, inputs={"torque": lambda t: jd.where(t < 3.0, 0.5, 0.0)})

    Path("out").mkdir(exist_ok=True)
    with house_style():
        figure = new_figure(7.0, 4.2, show=False)
        axes = figure.subplots()
        axes.plot(speeds * 30 / np.pi, np.degrees(theory), label="closed form")
        axes.plot(speeds * 30 / np.pi, np.degrees(angles), "o", label="equilibrium")
        axes.set_xlabel("speed [rpm]")
        axes.set_ylabel("angle of the arms [°]")
        axes.legend()
        finish(figure, "out/governor_plot.png", show=False)
    sol.save_picture("out/governor.png")
    sol.save_page("out/governor.html", plots=["shaft.angle_rate", ["left.angle", "right.angle"]])
    print("wrote out/governor.png, out/governor_plot.png and out/governor.html")
