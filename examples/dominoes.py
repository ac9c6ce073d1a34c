"""A ball rolls into a row of dominoes: rigid contact with exact friction, all impacts of a step found together.

python examples/dominoes.py
"""

from pathlib import Path

import numpy as np

import jourdain as jd

COUNT, SPACING = 8, 0.025


def dominoes() -> jd.Model:
    """The table, the row, and the ball that rolls towards it."""
    m = jd.Model("dominoes")
    m.ground.shapes.append(jd.box(0.5, 0.16, 0.02, colour="#d8cfc0").at(0.09, 0.0, -0.01))
    for k in range(COUNT):
        piece = m.body(f"domino{k}", shape=jd.box(0.008, 0.024, 0.048, density=1100.0, colour="#2f4858"))
        m.free(f"free{k}", m.ground, piece)
        m.initial |= {f"free{k}.x": SPACING * k, f"free{k}.z": 0.024}
    m.free("roll", m.ground, m.body("ball", shape=jd.sphere(0.02, density=2500.0, colour="#e4572e")))
    m.initial |= {"roll.x": -0.06, "roll.z": 0.02, "roll.x_rate": 0.5}
    m.contact("touch", law=jd.contact.rigid(friction=0.3))
    return m


if __name__ == "__main__":
    sol = dominoes().compile().simulate({}, t=0.5, method="moreau", step=1e-3, tolerance=1e-6)
    passed = [sol.t[np.argmax(sol[f"free{k}.z"] < 0.022)] for k in (2, 6)]
    down = sum(sol[f"free{k}.z"][-1] < 0.02 for k in range(COUNT))
    print(f"{down} of {COUNT} dominoes are down; the wave runs at {4 * SPACING / (passed[1] - passed[0]):.2f} m/s")
    print(sol.contacts.summary())

    Path("out").mkdir(exist_ok=True)
    sol.plot("roll.x_rate", "free0.z", "contacts.acting", file="out/dominoes_plot.png")
    sol = sol.resample(250)
    sol.save_picture("out/dominoes.png", t=0.22)
    sol.save_page("out/dominoes.html", plots=["roll.x_rate", "contacts.acting"])
    print("wrote out/dominoes.png, out/dominoes_plot.png and out/dominoes.html")
