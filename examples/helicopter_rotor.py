"""A helicopter rotor: four elastic blades on a hub as nonlinear solids whose energy is exact, and by a few modes; then with soft blades.

python examples/helicopter_rotor.py
jourdain info examples/helicopter_rotor.py:rotor
"""

from pathlib import Path

import numpy as np

import jourdain as jd


def rotor(stiffness: float = 1.0) -> jd.Model:
    """Blades of 10 × 2 × 1 hexahedra; the torque rises and falls within three seconds."""
    return jd.library.helicopter_rotor(cells=(10, 2, 1), stiffness=stiffness)


def solids(model: jd.Model) -> jd.Solution:
    """Six seconds with blades as nonlinear solids, in large steps."""
    return model.compile(formulation="directors", reduction="bodies").simulate({}, t=6.0, step=0.02)


def picture(model: jd.Model, sol: jd.Solution, times: list[float], file: str) -> None:
    """Draws the blades from above at some times, coloured by how far nodes have left a rigid blade."""
    import matplotlib.pyplot as plt
    from matplotlib.collections import PolyCollection

    part = model.bodies["blade1"].part.part
    upper = part.elements[0].nodes[:, 4:]
    figure, axes = plt.subplots(1, len(times), figsize=(3.6 * len(times), 3.6), layout="constrained")
    for ax, t in zip(axes, times, strict=True):
        k = int(np.searchsorted(sol.t, t))
        R = sol["hub.rotation"][k]
        for blade in range(4):
            c, s = np.cos(blade * np.pi / 2), np.sin(blade * np.pi / 2)
            places = part.nodes @ (R @ [[c, -s, 0], [s, c, 0], [0, 0, 1]]).T  # of a rigid blade; nodes on the hub stay there
            far = np.zeros(len(places))
            for i, name in ((i, f"blade{blade + 1}.{i}") for i in range(len(places))):
                if name in sol:
                    far[i], places[i] = np.linalg.norm(sol[name][k] - places[i]), sol[name][k]
            shown = PolyCollection(places[upper][:, :, :2], array=far[upper].mean(axis=1), cmap="viridis", edgecolors="k", linewidths=0.2)
            shown.set_clim(0.0, 6.0)
            ax.add_collection(shown)
        corners = np.array([(1.5, 1.5, 0), (-1.5, 1.5, 0), (-1.5, -1.5, 0), (1.5, -1.5, 0)]) @ R.T
        ax.add_patch(plt.Polygon(corners[:, :2], color="0.6"))
        ax.set(xlim=(-12, 12), ylim=(-12, 12), aspect="equal", title=f"t = {t:g} s", xlabel="x (m)")
    figure.colorbar(shown, ax=list(axes), label="distance from a rigid blade (m)", shrink=0.9)
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    model = rotor()
    sol, modes = solids(model), model.compile().simulate({}, t=6.0, outputs=301)
    late = sol.t >= 3.0
    print(f"angular momentum after the torque: {sol['momentum.angular'][-1, 2]:.1f} kg m²/s, its impulse 30000")
    print(f"energy afterwards {sol['energy.total'][-1]:.3f} J, constant to rounding: {np.ptp(sol['energy.total'][late]) < 1e-9}")
    print(f"angle after 6 s: {sol['mast.angle'][-1]:.3f} rad as solids, {modes['mast.angle'][-1]:.3f} rad by modes")
    soft = rotor(0.1)
    bent = solids(soft)
    print(f"blades ten times softer: {bent['mast.angle'][-1]:.3f} rad, energy constant: {np.ptp(bent['energy.total'][late]) < 1e-9}")

    Path("out").mkdir(exist_ok=True)
    bent.plot("energy.total", "energy.supplied", "energy.potential", file="out/helicopter_rotor_plot.png")
    picture(soft, bent, [0.0, 1.6, 2.4, 3.2], "out/helicopter_rotor.png")
    modes.save_page("out/helicopter_rotor.html")
    print("wrote out/helicopter_rotor.png, out/helicopter_rotor_plot.png and out/helicopter_rotor.html")
