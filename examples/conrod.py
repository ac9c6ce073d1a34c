"""A connecting rod from CalculiX in an engine at 4000 turns a minute: frequencies, the load on its bearings, and stresses in colour.

The script writes the deck of the rod's mesh and lets CalculiX store its matrices; where ccx is not installed they are made here from the same deck.

python examples/conrod.py
jourdain info examples/conrod.py:engine
"""

import shutil
import subprocess
from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.model.shapes import box, cylinder

LENGTH, CRANK, SPEED = 0.14, 0.04, 4000 * 2 * np.pi / 60
AROUND, HALF = 24, 3  # cells around an eye, and cells of the shank to each side
DECK = """*MATERIAL, NAME=STEEL
*ELASTIC
2.1e11, 0.3
*DENSITY
7850
*SOLID SECTION, ELSET=EALL, MATERIAL=STEEL
*STEP
*FREQUENCY, SOLVER=MATRIXSTORAGE
10
*END STEP
"""


def mesh() -> tuple[np.ndarray, list[list[int]], dict[str, list[int]]]:
    """Nodes, hexahedra and the nodes of the two bores: two eyes of rings of cells, and a shank between them that is thinner at its middle."""
    points: list[tuple[float, float, float]] = []
    sheets: list[list[list[int]]] = []  # quadrilaterals by the numbers of their corners in one layer
    numbers: dict[tuple[float, float], int] = {}
    bores: dict[str, list[int]] = {"BIG": [], "SMALL": []}
    thick: list[float] = []

    def node(x: float, y: float, half: float) -> int:
        key = (round(x, 9), round(y, 9))
        if key not in numbers:
            numbers[key] = len(thick)
            points.append((x, y, 0.0))
            thick.append(half)
        return numbers[key]

    eyes = (("BIG", 0.0, 0.0, (0.023, 0.028, 0.033), 0.011), ("SMALL", LENGTH, np.pi, (0.010, 0.0135, 0.017), 0.011))
    rims = []
    for name, x, turn, radii, half in eyes:
        angle = turn + 2 * np.pi * np.arange(AROUND) / AROUND
        rings = [[node(x + r * np.cos(a), r * np.sin(a), half) for a in angle] for r in radii]
        bores[name] = rings[0]
        rims.append(rings[-1])
        for inner, outer in zip(rings, rings[1:], strict=False):
            sheets.append([[inner[i], outer[i], outer[(i + 1) % AROUND], inner[(i + 1) % AROUND]] for i in range(AROUND)])
    start = [points[rims[0][i]] for i in range(-HALF, HALF + 1)]
    end = [points[rims[1][-i]] for i in range(-HALF, HALF + 1)]
    rows = []
    for s in np.linspace(0.0, 1.0, 9):
        waist = 1.0 - 0.45 * np.sin(np.pi * s)
        rows.append([node((1 - s) * a[0] + s * b[0], ((1 - s) * a[1] + s * b[1]) * (waist if 0 < s < 1 else 1), 0.011 * waist) for a, b in zip(start, end, strict=True)])
    sheets.append([[a[i], b[i], b[i + 1], a[i + 1]] for a, b in zip(rows, rows[1:], strict=False) for i in range(2 * HALF)])
    flat, n = np.array(points), len(points)
    layers = [flat + np.outer(np.array(thick) * z, (0, 0, 1)) for z in (-1.0, 0.0, 1.0)]
    cells = [[*(c + k * n for c in q), *(c + (k + 1) * n for c in q)] for k in (0, 1) for sheet in sheets for q in sheet]
    return np.concatenate(layers), cells, {name: [i + k * n for k in range(3) for i in ring] for name, ring in bores.items()}


def conrod(folder: Path) -> jd.structures.Structure:
    """The rod, its matrices by CalculiX where it is there."""
    nodes, cells, bores = mesh()
    text = "*NODE, NSET=NALL\n" + "".join(f"{i + 1}, {x:.9g}, {y:.9g}, {z:.9g}\n" for i, (x, y, z) in enumerate(nodes))
    text += "*ELEMENT, TYPE=C3D8I, ELSET=EALL\n" + "".join(f"{k + 1}, {', '.join(str(i + 1) for i in c)}\n" for k, c in enumerate(cells))
    for name, ring in bores.items():
        text += f"*NSET, NSET={name}\n" + "".join(f"{i + 1},\n" for i in ring)
    (folder / "conrod.inp").write_text(text + DECK)
    by_calculix = shutil.which("ccx") is not None
    if by_calculix:
        subprocess.run(["ccx", "conrod"], cwd=folder, check=True, capture_output=True)
    part = jd.structures.read(folder / "conrod.inp", matrices=folder / "conrod" if by_calculix else None)
    part.interface("big", "BIG")
    part.interface("small", "SMALL")
    return part


def engine(folder: Path | None = None) -> jd.Model:
    """Crank at a constant speed, rod and piston."""
    import tempfile

    part = conrod(Path(tempfile.mkdtemp()) if folder is None else folder)
    m = jd.Model("engine", gravity=(0, 0, 0))
    crank = m.body("crank", mass=1.2, inertia=(2e-3, 2e-3, 2e-3))
    rod = m.flexible_body("rod", part.craig_bampton(modes=4), damping=0.01)
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
    Path("out").mkdir(exist_ok=True)
    system = engine(Path("out")).compile()
    rod = system.model.bodies["rod"].part
    print(rod.part)
    turn = 2 * np.pi / SPEED
    start = system.quasi_static(system.assemble())  # without ringing of modes above 1 kHz
    sol = system.simulate(start, t=turn, method="generalized-alpha", step=turn / 400)
    stress = system.recover(sol, "rod").von_mises
    print(f"first modes        {', '.join(f'{f / 2 / np.pi:.0f}' for f in rod.free_frequencies[:4])} Hz")
    print(f"load on the piston {np.linalg.norm(sol['small end.reaction'], axis=1).max() / 1e3:8.2f} kN")
    print(f"largest stress     {stress.max() / 1e6:8.1f} MPa at {np.rad2deg(SPEED * sol.t[stress.max(axis=1).argmax()]):.0f}° of the crank")

    sol.plot("main.drive_force", "small end.reaction", file="out/conrod_plot.png")
    sol.save_page("out/conrod.html", stress={"rod": "von mises"}, exaggerate=50)
    sol.save_picture("out/conrod.png", t=0.0, stress={"rod": "von mises"}, exaggerate=50)
    print("wrote out/conrod.png, out/conrod_plot.png and out/conrod.html")
