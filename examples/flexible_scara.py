"""A flexible SCARA moves fast and stops: its links ring on, unless the command is shaped to their first frequency.

python examples/flexible_scara.py
jourdain info examples/flexible_scara.py:scara
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.model.shapes import box, cylinder
from jourdain.results.plots import compare

TIME = 0.2  # of the unshaped move, s
TARGET = {"shoulder": 1.0, "elbow": -0.8}  # rad


def scara(shaper: jd.InputShaper | None = None) -> jd.Model:
    """The arm of the library with position-controlled joints that follow a smooth command, shaped or not."""
    m = jd.library.flexible_scara()
    for name, angle in TARGET.items():
        command = lambda t, angle=angle: jd.step(t, 0.0, TIME, 0.0, angle)
        m.drive(m.joints[name], command if shaper is None else shaper(command))
    m.lock(m.joints["lift"])
    tip, there = m.sensors["tip"], sum(TARGET.values())
    m.output("across", jd.cos(there) * tip.y - jd.sin(there) * tip.x, unit="m")  # along the arc of the second link's end
    m.ground.shapes.append(cylinder(0.07, 0.25, colour="#3d444d").at(0, 0, -0.155))
    for hub in ("hub1", "hub2"):
        m.bodies[hub].shapes.append(cylinder(0.035, 0.07, colour="#6d7680"))
    m.bodies["quill"].shapes += [
        cylinder(0.012, 0.26, colour="#efb118").at(0, 0, -0.07),
        box(0.06, 0.06, 0.04, colour="#a463f2").at(0, 0, -0.2),
    ]
    return m


if __name__ == "__main__":
    arm = scara().compile()
    mode = next(mode for mode in arm.modal(arm.state().with_values(t=1.0)) if mode.kind == "oscillation")
    print(f"first mode of the stopped arm: {mode.frequency:.2f} Hz, damping {100 * mode.damping_ratio:.2f} %")

    runs = {}
    for kind in ("no", "ZV", "EI"):
        shaper = None if kind == "no" else jd.input_shaper(kind, mode.frequency, mode.damping_ratio)
        system = arm if shaper is None else scara(shaper).compile()
        later = 0.0 if shaper is None else shaper.duration
        left = []
        for payload in (0.5, 0.65):
            system.set_parameters(payload=payload)
            sol = system.simulate(system.equilibrium().state, t=0.7, outputs=700)
            left.append(1e3 * np.ptp(sol["across"][sol.t > TIME + later]))
            runs.setdefault(f"{kind} shaper", sol)
        print(
            f"{kind:>2} shaper: {1e3 * later:3.0f} ms longer, {left[0]:6.3f} mm left from crest to trough, {left[1]:6.3f} mm with 30 % more load"
        )

    Path("out").mkdir(exist_ok=True)
    figure = compare(list(runs.values()), "across", list(runs), unit="mm", title="tip of a flexible SCARA")
    figure.axes[0].set(xlim=(0.14, 0.7), ylim=(272, 300))
    figure.savefig("out/flexible_scara_plot.png")
    runs["EI shaper"].save_picture("out/flexible_scara.png", t=0.2)
    runs["EI shaper"].save_page("out/flexible_scara.html")
    print("wrote out/flexible_scara.png, out/flexible_scara_plot.png and out/flexible_scara.html")
