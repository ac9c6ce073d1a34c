"""Newton's cradle: impacts one after the other, each found to rounding, so that the energy goes from end to end.

python examples/cradle.py
"""

from pathlib import Path

import numpy as np

import jourdain as jd

BALLS, R, LENGTH = 5, 0.02, 0.25


def cradle() -> jd.Model:
    """Steel balls on rods, a hair apart."""
    m = jd.Model("cradle")
    m.ground.shapes.append(jd.box(0.3, 0.02, 0.01, colour="#555b66").at(0.5 * 2.0 * R * (BALLS - 1), 0, 0.005))
    for k in range(BALLS):
        rod = jd.cylinder(0.001, LENGTH, density=7800.0, colour="#888888").at(0, 0, -0.5 * LENGTH)
        ball = m.body(f"ball{k}", shape=[jd.sphere(R, density=7800.0, colour="#b8bcc4").at(0, 0, -LENGTH), rod])
        m.revolute(f"hinge{k}", m.ground.at((2.0 * R + 2e-6) * k, 0, 0), ball, axis="y")
    steel = [m.shapes(f"ball{k}")[0] for k in range(BALLS)]
    m.contact("touch", steel, law=jd.contact.rigid(restitution=1.0))
    return m


if __name__ == "__main__":
    system = cradle().compile()
    one = system.simulate({"hinge0": "40 deg"}, t=3.0, rtol=1e-10, atol=1e-12)
    two = system.simulate({"hinge0": "40 deg", "hinge1": "40 deg"}, t=1.5, rtol=1e-10, atol=1e-12)
    print(f"{len({i.t for i in one.contacts.impacts})} impacts in 3 s; the energy changes by {np.ptp(one['energy.total']):.1e} J")
    print(
        f"one ball up to {np.degrees(-one[f'hinge{BALLS - 1}.angle'].min()):.3f}°, two to {np.degrees(-two[f'hinge{BALLS - 2}.angle'].min()):.3f}°"
    )

    Path("out").mkdir(exist_ok=True)
    one.plot("hinge0.angle", f"hinge{BALLS - 1}.angle", "energy.kinetic", file="out/cradle_plot.png")
    shown = one.resample(400)
    shown.save_picture("out/cradle.png", t=0.0)
    shown.save_page("out/cradle.html", plots=["hinge0.angle", f"hinge{BALLS - 1}.angle"])
    print("wrote out/cradle.png, out/cradle_plot.png and out/cradle.html")
