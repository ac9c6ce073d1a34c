"""Modes of a tower of four floors: frequencies, damping, shapes as a table, and every mode moving on a page.

python examples/modes.py
"""

from pathlib import Path

import jourdain as jd
from jourdain.model.shapes import box
from jourdain.view import save_page, save_picture, scene_of_modes

FLOORS, HEIGHT = 4, 0.5


def tower() -> jd.Model:
    """Floors that slide sideways and twist on elastic columns; the uppermost is heavier on one side."""
    m = jd.Model("tower", gravity=(0, 0, 0))
    k, kt, d = m.parameters(stiffness=4e4, twist=6e3, damping=60.0)
    m.ground.shapes.append(box(1.0, 0.8, 0.06).at(0, 0, -0.03))
    below: jd.Body = m.ground
    for i in range(1, FLOORS + 1):
        floor = m.body(f"floor{i}", mass=50.0, com=(0.08 if i == FLOORS else 0.0, 0, 0), inertia=(1.5, 2.7, 4.2), shape=box(0.8, 0.6, 0.05))
        for j, (x, y) in enumerate(((-0.36, -0.26), (-0.36, 0.26), (0.36, -0.26), (0.36, 0.26))):
            m.link(f"column{i}.{j}", below.at(x, y, 0), floor.at(x, y, 0), law=0.0, kind="rod")
        storey = m.sequence(f"storey{i}", below.at(0, 0, HEIGHT), floor, ["Tx", "Ty", "Rz"])
        for c, stiffness in zip(storey.coordinates, (k, 1.6 * k, kt), strict=True):
            damping = d if c.unit == "m" else 0.1 * d
            m.force(storey, -stiffness * c.q[0] - damping * c.v[0], coordinate=c.names[0].rsplit(".", 1)[1])
        below = floor
    return m


if __name__ == "__main__":
    system = tower().compile()
    modes = system.modal()
    print(modes)

    Path("out").mkdir(exist_ok=True)
    modes.plot(file="out/modes_plot.png")
    scene = scene_of_modes(modes)
    save_page(scene, "out/modes.html")
    sol = system.simulate(dict(zip(system.coordinate_names, 0.12 * modes[1].shape.real, strict=True)), t=2.0)
    save_picture(sol.scene(), "out/modes.png", t=0.0)
    print("wrote out/modes.png, out/modes_plot.png and out/modes.html")
