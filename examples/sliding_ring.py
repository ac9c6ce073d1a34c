"""A ring slides down a slack cable and back: a cable by absolute nodal coordinates, its energy exact with and without friction.

python examples/sliding_ring.py
jourdain info examples/sliding_ring.py:washing_line
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.model.shapes import torus
from jourdain.results.style import house_style, line_style, new_figure
from jourdain.structures import Material, cable, circle

SPAN = 4.0


def washing_line(friction: float = 0.0) -> jd.Model:
    """A rubber cable between two posts, the second a little lower, and a ring of 400 g on it."""
    m = jd.Model("washing line")
    rubber = Material(5e6, 0.45, 1100.0)
    end = (SPAN, 0.0, -0.15)
    rope = m.flexible_body("rope", cable((0, 0, 0), end, circle(0.02), rubber, elements=16), modes=3, colour="#4269d0")
    m.spherical("high", m.ground, rope.node("start"))
    m.spherical("low", m.ground.at(*end), rope.node("end"))
    ring = m.body("ring", 0.4, inertia=(2e-4, 2e-4, 4e-4), shape=torus(0.06, 0.015, axis="x"), colour="#e4572e")
    m.free("ring", m.ground, ring)
    share = 0.15
    m.initial |= {"ring.x": share * end[0], "ring.z": share * end[2]}
    rope.slide("way", ring, at=share * np.hypot(SPAN, 0.15), friction=friction)
    return m


if __name__ == "__main__":
    runs = {}
    for name, friction in (("smooth", 0.0), ("dry friction", 0.4)):
        sol = washing_line(friction).compile(formulation="directors").simulate({}, t=4.0, step=0.01)
        kept = np.ptp(sol["energy.total"] + sol["energy.dissipated"])
        print(f"{name}: the ring gets {sol['way'].max():.2f} m along the cable; energy kept to 1e-10 J: {kept < 1e-10}")
        runs[name] = sol

    Path("out").mkdir(exist_ok=True)
    with house_style():
        figure = new_figure(10, 3.6)
        left, right = figure.subplots(1, 2)
        for number, (name, sol) in enumerate(runs.items()):
            left.plot(sol.t, sol["way"], label=name, **line_style(number))
            right.plot(sol.t, sol["energy.total"] - sol["energy.total"][0], label=name, **line_style(number))
        left.set(xlabel="time [s]", ylabel="way along the cable [m]")
        right.set(xlabel="time [s]", ylabel="change of energy [J]")
        left.legend()
        figure.savefig("out/sliding_ring_plot.png", dpi=150)
    smooth = runs["smooth"]
    smooth.save_picture("out/sliding_ring.png", t=1.2, stress="stress", trace=["ring"])
    smooth.save_page("out/sliding_ring.html", plots=["way"], stress="stress", trace=["ring"])
    print("wrote out/sliding_ring.png, out/sliding_ring_plot.png and out/sliding_ring.html")
