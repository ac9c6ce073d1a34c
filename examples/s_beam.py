"""The S-beam: between a car and a wall it folds in four plastic hinges, and its three members bend by their modes.

python examples/s_beam.py
"""

from pathlib import Path

import jourdain as jd


def s_beam() -> jd.Model:
    """Hollow squares of 66, 50 and 79 mm, half of a car of 1500 kg at 50 km/h."""
    return jd.library.s_beam(H=(0.0661, 0.05, 0.0788), speed="50 km/h")


if __name__ == "__main__":
    sol = s_beam().compile().simulate(None, 0.03, rtol=1e-6, atol=1e-8, outputs=301)
    taken = sum(sol[f"hinge{i}.energy"][-1] for i in (1, 2, 3, 4))
    print(
        f"{1e3 * sol['deformation'][-1]:.0f} mm shorter after 30 ms; {taken / 1e3:.1f} kJ in the hinges, of {sol['energy.kinetic'][0] / 1e3:.1f} kJ"
    )

    Path("out").mkdir(exist_ok=True)
    sol.plot("deformation", "car.displacement_rate", "hinge2.moment", "hinge3.moment", file="out/s_beam_plot.png")
    sol.save_picture("out/s_beam.png", t=0.015)
    sol.save_page("out/s_beam.html", plots=["deformation", "hinge3.moment"])
    print("wrote out/s_beam.png, out/s_beam_plot.png and out/s_beam.html")
