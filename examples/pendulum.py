"""A pendulum: ten lines from the description to equations, motion, a plot and a page where it moves.

python examples/pendulum.py
jourdain equations examples/pendulum.py:pendulum
"""

from pathlib import Path

import jourdain as jd


def pendulum() -> jd.Model:
    """A point mass on a massless rod, with damping in the hinge."""
    m = jd.Model("pendulum")
    mass, l, d = m.parameters(m=1.0, l=0.5, d=0.05)
    bob = m.body("bob", mass=mass, com=(0, 0, -l))
    bob.frame("centre", (0, 0, -l))
    m.revolute("hinge", m.ground, bob, axis="y", damping=d)
    return m


if __name__ == "__main__":
    model = pendulum()
    print(model)
    system = model.compile()
    print(system.equations())
    sol = system.simulate({"hinge": "170 deg"}, t=20.0)
    print(sol)

    Path("out").mkdir(exist_ok=True)
    sol.plot("hinge.angle", "hinge.angle_rate", "energy.total", unit="deg", file="out/pendulum_plot.png")
    sol.save_picture("out/pendulum.png", t=3.2, trace=["bob.centre"])
    sol.save_page("out/pendulum.html", plots=["hinge.angle", "energy.total"], trace=["bob.centre"])
    print("wrote out/pendulum.png, out/pendulum_plot.png and out/pendulum.html")
