"""A single-cylinder engine: solids with density, a closed loop, gas force from a table, bearing forces along the motion.

python examples/slider_crank.py
jourdain info examples/slider_crank.py:engine
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.model.shapes import Shape, box, cylinder, prism, tube

STEEL, DARK = "#aab2bd", "#4a535e"


def half_ring(inner: float, outer: float, thickness: float, x: float, colour: str) -> Shape:
    """The rear half of a ring about the x axis: parts of a cylinder cut open."""
    angles = np.linspace(-0.1, np.pi + 0.1, 33)
    arc = [(np.sin(a), np.cos(a)) for a in angles]
    return prism(
        [(outer * y, outer * z) for y, z in arc] + [(inner * y, inner * z) for y, z in arc[::-1]], thickness, axis="x", colour=colour
    ).at(x, 0, 0)


def casing() -> list[Shape]:
    """A cylinder with cooling fins, its head and spark plug, cut open, on a base with a bearing block."""
    fins = [half_ring(0.036, 0.056, 0.003, x, STEEL) for x in np.arange(0.105, 0.2, 0.011)]
    liner, head = half_ring(0.0335, 0.039, 0.12, 0.145, "#c9ced6"), half_ring(0.004, 0.056, 0.012, 0.213, STEEL)
    plug = [cylinder(0.007, 0.03, axis="x", colour="#f2efe8").at(0.232, 0, 0), cylinder(0.004, 0.05, axis="x", colour=DARK).at(0.235, 0, 0)]
    block = [box(0.07, 0.03, 0.11, colour=STEEL).at(0, 0.075, -0.045), cylinder(0.035, 0.03, axis="y", colour=STEEL).at(0, 0.075, 0.01)]
    posts = [box(0.014, 0.07, 0.06, colour=DARK).at(x, 0.03, -0.075) for x in (0.105, 0.2)]
    return [*fins, liner, head, *plug, *block, *posts, box(0.36, 0.19, 0.014, colour=DARK).at(0.085, 0.02, -0.107)]


def engine() -> jd.Model:
    """Crank with flywheel, connecting rod and piston; one joint more than a tree can have closes the loop."""
    m = jd.Model("engine", gravity=(0, 0, -9.81))
    r, l = m.parameters(r=0.04, l=0.13)
    m.ground.shapes += casing()
    flywheel = tube(outer=0.085, inner=0.06, length=0.022, density=7800, axis="y").at(0, 0.035, 0)
    disk = cylinder(radius=0.06, length=0.008, density=7800, axis="y").at(0, 0.035, 0)
    web = box(r + 0.02, 0.012, 0.03, density=7800).at(r / 2, 0.014, 0)
    pin = cylinder(radius=0.009, length=0.034, density=7800, axis="y").at(r, 0.0, 0)
    crank = m.body("crank", shape=[flywheel, disk, web, pin], colour="#3b6fb6")
    crank.shapes += [
        cylinder(0.012, 0.11, axis="y", colour=STEEL).at(0, 0.06, 0),
        cylinder(0.022, 0.012, axis="y", colour=STEEL).at(0, 0.045, 0),
    ]
    eyes = [tube(outer=0.017, inner=0.009, length=0.014, density=7800, axis="y").at(x, 0, 0) for x in (0.0, l)]
    rod = m.body("rod", shape=[box(l - 0.034, 0.008, 0.016, density=7800).at(l / 2, 0, 0), *eyes], colour="#e3a72f")
    head = cylinder(radius=0.033, length=0.02, density=2700, axis="x").at(0.022, 0, 0)
    skirt = tube(outer=0.033, inner=0.028, length=0.04, density=2700, axis="x").at(-0.008, 0, 0)
    piston = m.body("piston", shape=[head, skirt], colour="#d9dde3")
    piston.shapes += [tube(0.0334, 0.03, 0.0025, axis="x", colour=DARK).at(x, 0, 0) for x in (0.012, 0.019, 0.026)]
    m.revolute("main", m.ground, crank, axis="y")
    m.revolute("pin", crank.at(r, 0, 0), rod, axis="y")
    m.revolute("wrist", rod.at(l, 0, 0), piston, axis="y")
    guide = m.prismatic("guide", m.ground, piston, axis="x")
    gas = jd.table([0.08, 0.10, 0.12, 0.14, 0.16, 0.17], [0.0, 50.0, 150.0, 350.0, 1000.0, 1800.0], name="gas")
    m.force(guide, lambda x, v, t: -gas(x), name="gas")
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
    shown = ("main.angle_rate", "guide.displacement", "main.reaction.x", "main.reaction.z")
    sol.plot(*shown, unit={"main.angle_rate": "rpm"}, file="out/slider_crank_plot.png")
    sol.save_picture("out/slider_crank.png", t=0.085, forces=["main"])
    sol.save_page("out/slider_crank.html", plots=["main.angle_rate", ["main.reaction.x", "main.reaction.z"]], forces=["main"])
    print("wrote out/slider_crank.png, out/slider_crank_plot.png and out/slider_crank.html")
