"""A pendulum from its record: length and friction with their errors, and what the data cannot tell.

python examples/identify_pendulum.py
"""

from pathlib import Path

import numpy as np

import jourdain as jd


def pendulum() -> jd.Model:
    """A bob on a rod of unknown length with unknown friction."""
    m = jd.Model("pendulum")
    length = m.parameter("length", 0.8, "m", bounds=(0.1, 3.0))
    mass = m.parameter("mass", 1.0, "kg", bounds=(0.1, 5.0))
    damping = m.parameter("damping", 0.01, "N m s", bounds=(0.0, 1.0))
    hinge = m.revolute("hinge", m.ground, m.body("bob", mass=mass, com=(0, 0, -length)), axis="y")
    m.joint_spring(hinge, 0.0, damping=damping)
    return m


def record() -> dict[str, np.ndarray]:
    """What a bench gives, here a pendulum of 1.1 m with noise of 10 mrad; identify() takes a csv file as well."""
    s, t = pendulum().compile(), np.linspace(0.0, 8.0, 401)
    s.set_parameters(length=1.1, damping=0.06)
    angle = s.simulate({"hinge.angle": 1.2}, 8.0, times=t)["hinge.angle"]
    return {"t": t, "angle_rad": angle + 0.01 * np.random.default_rng(5).normal(size=t.size)}


if __name__ == "__main__":
    s, data = pendulum().compile(), record()
    unknowns = ["length", "damping", "hinge.angle"]
    fit = s.identify(data, {"angle_rad": "hinge.angle"}, unknowns, {"hinge.angle": 1.0}, shooting="multiple")
    print(fit)

    # the mass cannot be seen beside the friction: the motion depends on their ratio
    print(s.identify(data, {"angle_rad": "hinge.angle"}, [*unknowns, "mass"], {"hinge.angle": 1.2}))

    Path("out").mkdir(exist_ok=True)
    fit.plot(file="out/identify_pendulum_plot.png")
    fit.plot_ellipse("length", "damping", file="out/identify_pendulum_ellipse.png")
    fit.apply()
    swing = s.simulate({"hinge.angle": fit.values["hinge.angle"]}, 8.0)
    swing.save_picture("out/identify_pendulum.png", t=0.0)
    swing.save_page("out/identify_pendulum.html", plots=[["hinge.angle"]])
    print("wrote out/identify_pendulum.png, out/identify_pendulum_plot.png and out/identify_pendulum.html")
