"""A slider-crank engine: a closed loop, a gas force from a table, bearing forces along the motion.

python examples/slider_crank.py
jourdain info examples/slider_crank.py:engine
"""

from pathlib import Path

import jourdain as jd
from jourdain.model.shapes import box, cylinder


def engine() -> jd.Model:
    """Crank with flywheel, connecting rod and piston; one joint more than a tree can have closes the loop."""
    m = jd.Model("engine", gravity=(0, 0, -9.81))
    r, l = m.parameters(r=0.04, l=0.13)
    crank = m.body("crank", shape=cylinder(radius=0.09, length=0.02, density=7800, axis="y"))
    rod = m.body("rod", shape=box(l, 0.012, 0.02, density=7800, anchor="start"))
    piston = m.body("piston", mass=0.4)
    m.revolute("main", m.ground, crank, axis="y")
    m.revolute("pin", crank.at(r, 0, 0), rod, axis="y")
    m.revolute("wrist", rod.at(l, 0, 0), piston, axis="y")
    guide = m.prismatic("guide", m.ground, piston, axis="x")
    gas = jd.table([0.08, 0.10, 0.12, 0.14, 0.16, 0.17], [0.0, 50.0, 150.0, 350.0, 1000.0, 1800.0], name="gas")
    m.force(guide, lambda x, v, t: -gas(x))
    return m


if __name__ == "__main__":
    model = engine()
    print(model)
    system = model.compile()
    print(system.equations())

    start = system.assemble({"main.angle": 0.3}, velocities={"main.angle_rate": "600 rpm"})
    print(start.report)
    sol = system.simulate(start, t=0.4)
    print(f"largest force in the main bearing: {abs(sol['main.reaction']).max():.0f} N")
    Path("out").mkdir(exist_ok=True)
    sol.plot("main.angle_rate", "guide.displacement", "main.reaction.x", "main.reaction.z", file="out/slider_crank.png")
    print("wrote out/slider_crank.png")
