"""A falling chain in large steps: the energy-consistent engine keeps the energy to rounding where other implicit methods gain or lose it.

python examples/energy_large_steps.py
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.model.shapes import capsule, sphere
from jourdain.results.plots import compare
from jourdain.results.style import finish

LINKS, LENGTH, MASS = 6, 0.2, 0.3
STEP = 0.04
COLOURS = ("#4269d0", "#6cc5b0", "#efb118", "#ff725c", "#a463f2", "#97bbf5")


def chain() -> jd.Model:
    """Six uniform links hinged one to the other; all angles are zero when the chain lies level."""
    m = jd.Model("chain")
    place: jd.Body | jd.Frame = m.ground
    across = MASS * LENGTH**2 / 12
    for k, colour in enumerate(COLOURS[:LINKS]):
        bar = capsule(0.018, LENGTH, axis="x").at(LENGTH / 2, 0, 0)
        link = m.body(f"link{k + 1}", MASS, com=(LENGTH / 2, 0, 0), inertia=(5e-5, across, across), shape=bar, colour=colour)
        m.revolute(f"hinge{k + 1}", place, link, axis="y")
        place = link.at(LENGTH, 0, 0)
    link.frame("tip", (LENGTH, 0, 0))
    m.ground.shapes.append(sphere(0.03))
    return m


if __name__ == "__main__":
    model = chain()
    directors = model.compile(formulation="directors")
    start = {"hinge1.angle": -0.6, "hinge2.angle": 0.3}
    labels = {"energy-momentum": "energy-momentum", "trapezoidal": "trapezoidal rule", "backward-euler": "backward Euler"}
    runs = [directors.simulate(start, t=8.0, step=STEP, method=method) for method in labels]
    for run, label in zip(runs, labels.values(), strict=True):
        energy = run["step.energy.total"]
        print(f"{label:16s} steps of {STEP:g} s: energy {energy[0]:.3f} J at the start, {energy.min():.3f} … {energy.max():.3f} J later")

    # Large steps conserve energy, small ones converge: the error of the chain's tip falls with the square of the step.
    exact = model.compile().simulate(start, t=1.0, rtol=1e-11).frame("link6.tip").position[-1]
    errors = [np.linalg.norm(directors.simulate(start, t=1.0, step=h).frame("link6.tip").position[-1] - exact) for h in (0.004, 0.002)]
    print(f"error of the tip after 1 s: {errors[0]:.1e} m at 4 ms, {errors[1]:.1e} m at 2 ms (ratio {errors[0] / errors[1]:.2f})")

    Path("out").mkdir(exist_ok=True)
    title = f"total energy of the chain in steps of {1000 * STEP:g} ms"
    figure = compare(runs, "step.energy.total", list(labels.values()), title=title)
    figure.axes[0].set(ylim=(-12, 20), ylabel="energy [J]")
    finish(figure, "out/energy_large_steps_plot.png", False)
    sol = directors.simulate(start, t=8.0, step=0.005)
    sol.between(0.0, 2.0).save_picture("out/energy_large_steps.png", t=1.4, trace=["link6.tip"])
    sol.save_page("out/energy_large_steps.html", plots=["step.energy.total", ["energy.kinetic", "energy.potential"]], trace=["link6.tip"])
    print("wrote out/energy_large_steps.png, out/energy_large_steps_plot.png and out/energy_large_steps.html")
