"""A connecting rod from CalculiX in an engine at 4000 rpm: frequencies, the load on its bearings, and stresses in colour.

CalculiX stores the matrices of the deck beside it; where ccx is not installed they are made here from the same mesh.

python examples/conrod.py
jourdain info examples/conrod.py:engine
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.model.shapes import box, cylinder

DECK = (
    Path(__file__).parent / "data" / "conrod.inp"
)  # two eyes and a shank of C3D8I, node sets BIG and SMALL, *FREQUENCY, SOLVER=MATRIXSTORAGE
CRANK, SPEED = 0.04, 4000 * 2 * np.pi / 60


def conrod() -> jd.structures.Structure:
    """The rod, its matrices by CalculiX where it is there."""
    with tempfile.TemporaryDirectory() as folder:
        deck = Path(shutil.copy(DECK, folder))
        by_calculix = shutil.which("ccx") is not None
        if by_calculix:
            subprocess.run(["ccx", "conrod"], cwd=folder, check=True, capture_output=True)
        part = jd.structures.read(deck, matrices="conrod" if by_calculix else None)
    part.interface("big", "BIG")
    part.interface("small", "SMALL")
    return part


def engine() -> jd.Model:
    """Crank at a constant speed, rod and piston."""
    m = jd.Model("engine", gravity=(0, 0, 0))
    crank = m.body("crank", mass=1.2, inertia=(2e-3, 2e-3, 2e-3))
    rod = m.flexible_body("rod", conrod().craig_bampton(modes=4), damping=0.01)
    piston = m.body("piston", mass=0.35, inertia=(2e-4,) * 3)
    main = m.revolute("main", m.ground, crank, axis="z")
    m.revolute("big end", crank.at(CRANK, 0, 0), rod.node("big"), axis="z")
    m.spherical("small end", rod.node("small"), piston, cut=True)
    m.prismatic("bore", m.ground, piston, axis="x")
    m.drive(main, lambda t: SPEED * t)
    crank.shapes += [cylinder(0.02, 0.05, colour="#6d7680"), box(0.075, 0.035, 0.008, colour="#6d7680").at(0.02, 0, -0.02)]
    piston.shapes.append(cylinder(0.035, 0.05, axis="x", colour="#aab2bd").at(0.02, 0, 0))
    return m


if __name__ == "__main__":
    system = engine().compile()
    rod = system.model.bodies["rod"].part
    print(rod.part)
    turn = 2 * np.pi / SPEED
    start = system.quasi_static(system.assemble())  # without ringing of modes above 1 kHz
    sol = system.simulate(start, t=turn, method="generalized-alpha", step=turn / 400)
    stress = system.recover(sol, "rod").von_mises
    print(f"first modes        {', '.join(f'{f / 2 / np.pi:.0f}' for f in rod.free_frequencies[:4])} Hz")
    print(f"load on the piston {np.linalg.norm(sol['small end.reaction'], axis=1).max() / 1e3:8.2f} kN")
    print(f"largest stress     {stress.max() / 1e6:8.1f} MPa at {np.rad2deg(SPEED * sol.t[stress.max(axis=1).argmax()]):.0f}° of the crank")

    Path("out").mkdir(exist_ok=True)
    sol.plot("main.drive_force", "small end.reaction", file="out/conrod_plot.png")
    sol.save_page("out/conrod.html", stress={"rod": "von mises"}, exaggerate=50)
    sol.save_picture("out/conrod.png", t=0.0, stress={"rod": "von mises"}, exaggerate=50)
    print("wrote out/conrod.png, out/conrod_plot.png and out/conrod.html")
