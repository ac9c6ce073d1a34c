"""Billiards: a ball breaks the triangle, another runs on a parabola by side spin (massé); rebounds and friction of rigid balls.

python examples/billiards.py
"""

from pathlib import Path

import numpy as np

import jourdain as jd

R, LENGTH, WIDTH = 0.02625, 1.8, 0.9
COLOURS = ("#e0b040", "#2f5fa8", "#b03030", "#6a4a8c", "#d07020", "#2f7a4a", "#7a2f3a", "#222222", "#e0b040", "#2f5fa8")


def billiards() -> jd.Model:
    """The table with its cushions, the triangle of ten, the cue ball, and a ball for the massé."""
    m = jd.Model("billiards")
    m.ground.shapes.append(jd.box(LENGTH, WIDTH, 0.04, colour="#2e7d5b").at(0, 0, -0.02))
    for side in (-1, 1):
        m.ground.shapes.append(jd.box(LENGTH + 0.1, 0.05, 0.1, colour="#5b3a24").at(0, side * (0.5 * WIDTH + 0.025), 0.01))
        m.ground.shapes.append(jd.box(0.05, WIDTH, 0.1, colour="#5b3a24").at(side * (0.5 * LENGTH + 0.025), 0, 0.01))
    rows = [(row, place) for row in range(4) for place in range(row + 1)]
    for k, (row, place) in enumerate(rows):
        ball(m, f"ball{k + 1}", COLOURS[k], 0.35 + 1.7325 * R * row * 1.001, 2.002 * R * (place - 0.5 * row))
    ball(m, "cue", "#f4f0e4", -0.5, 0.004, 3.0)
    ball(m, "masse", "#f4f0e4", -0.7, -0.3, 1.0)
    m.initial |= {"masse.orientation.omega_x": -55.0, "masse.orientation.omega_y": -30.0}  # a stroke from above, beside the centre
    m.contact("touch", law=jd.contact.rigid(friction=0.15, restitution=0.9))
    return m


def ball(m: jd.Model, name: str, colour: str, x: float, y: float, speed: float = 0.0) -> None:
    """A ball of 162 g that lies on the cloth or rolls along x."""
    m.free(name, m.ground, m.body(name, shape=jd.sphere(R, density=2140.0, colour=colour)))
    m.initial |= {f"{name}.x": x, f"{name}.y": y, f"{name}.z": R, f"{name}.x_rate": speed, f"{name}.orientation.omega_y": speed / R}


if __name__ == "__main__":
    sol = billiards().compile().simulate({}, t=2.0, method="moreau", step=5e-4)
    early = sol.t < 0.35  # the massé: sliding friction of constant direction, so a parabola
    x, y = sol["masse.x"][early], sol["masse.y"][early]
    fit = np.polyfit(sol.t[early], np.c_[x, y], 2)
    bend = np.abs(np.c_[x, y] - np.array([np.polyval(fit[:, k], sol.t[early]) for k in (0, 1)]).T).max()
    moved = sum(np.hypot(np.ptp(sol[f"ball{k + 1}.x"]), np.ptp(sol[f"ball{k + 1}.y"])) > R for k in range(10))
    print(f"massé: acceleration {2 * fit[0, 0]:.3f}, {2 * fit[0, 1]:.3f} m/s², {1e6 * bend:.1f} µm off a parabola")
    print(f"{moved} of 10 balls have left their places; {sol['contacts.dissipated'][-1]:.3f} J are lost")

    Path("out").mkdir(exist_ok=True)
    sol.plot("cue.x_rate", "masse.y", "contacts.dissipated", file="out/billiards_plot.png")
    sol = sol.resample(400)
    sol.save_picture("out/billiards.png", t=1.0, trace=["cue", "masse"])
    sol.save_page("out/billiards.html", plots=["cue.x_rate", "masse.y"], trace=["cue", "masse"])
    print("wrote out/billiards.png, out/billiards_plot.png and out/billiards.html")
