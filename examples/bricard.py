"""Bricard's mechanism: six hinges in a loop that moves although counting says it cannot; one equation is redundant and named.

python examples/bricard.py
jourdain info examples/bricard.py:bricard
"""

from pathlib import Path

import jourdain as jd
from jourdain.library import bricard as library_bricard


def bricard() -> jd.Model:
    """Five bars of 1 m and six hinges with axes at right angles, from the library of mechanisms."""
    return library_bricard()


if __name__ == "__main__":
    model = bricard()
    print(model)
    system = model.compile()
    start = system.assemble({})
    print(start.report)
    sol = system.simulate(start, t=10.0, rtol=1e-9)
    energy = sol["energy.total"]
    print(f"energy drift {abs(energy - energy[0]).max():.1e} J of {sol['energy.kinetic'].max():.1f} J exchanged")

    Path("out").mkdir(exist_ok=True)
    sol.plot("P1.angle", "P3.angle", "P5.angle", "energy.kinetic", "energy.potential", unit="deg", file="out/bricard_plot.png")
    sol.save_picture("out/bricard.png", t=1.1, trace=["rod3"])
    sol.save_page("out/bricard.html", plots=["P1.angle", "energy.kinetic"], trace=["rod3"])
    print("wrote out/bricard.png, out/bricard_plot.png and out/bricard.html")
