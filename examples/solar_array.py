"""A satellite turns with two arrays of flexible solar panels: what its wheel does in one go rings on, what is shaped to the first mode does not.

python examples/solar_array.py
jourdain info examples/solar_array.py:satellite
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.model.shapes import box, cylinder
from jourdain.results.plots import compare

TIME, ANGLE, PANELS, WIDTH = 20.0, np.deg2rad(30.0), 3, 1.6  # of the turn (s, rad); panels a wing, each a square (m)
CARBON = jd.structures.Material(7.0e10, 0.3, 1600.0)


def panel(name: str) -> jd.structures.Structure:
    """A frame of thin tubes with cross bars, held in the middle of two of its sides."""
    y = WIDTH / 2 * np.linspace(-1, 1, 5)
    nodes = [(x, b, 0.0) for x in np.linspace(0, WIDTH, 5) for b in y]
    members = [(5 * i + j, 5 * i + j + 1) for i in range(5) for j in range(4)] + [
        (5 * i + j, 5 * i + j + 5) for i in range(4) for j in range(5)
    ]
    part = jd.structures.framework(nodes, members, jd.structures.circle(0.02, 0.0185), CARBON, name=name)
    for node in range(25):  # cells and glass
        part = part.with_mass(node, 0.12)
    part.names |= {"inner": 2, "outer": 22}
    return part


def satellite(shaper: jd.InputShaper | None = None) -> jd.Model:
    """A hub that is free in space, with two wings; a wheel turns it by the angle command(t)."""
    m = jd.Model("solar array", gravity=(0, 0, 0))
    hub = m.body("hub", mass=180.0, inertia=(40.0, 50.0, 60.0))
    body = m.revolute("attitude", m.ground, hub, axis="y")
    for side, turn in (("left", np.pi), ("right", 0.0)):
        place = hub.at(0.5 * np.cos(turn), 0, 0, rotation=("z", turn))
        for i in range(PANELS):
            wing = m.flexible_body(f"{side}{i + 1}", panel(f"{side}{i + 1}"), frame="tangent", at="inner", modes=3, damping=0.003)
            hinge = m.revolute(f"{side} hinge {i + 1}", place, wing.node("inner"), axis="y")
            m.joint_spring(hinge, stiffness=60.0, damping=0.2)
            place = wing.node("outer").at(0.05, 0, 0)
        m.sensor(f"{side} tip", wing.node("outer"))
    command = lambda t: jd.step(t, 0.0, TIME, 0.0, ANGLE)
    m.drive(body, command if shaper is None else shaper(command))
    tip, there = m.sensors["right tip"], ANGLE
    m.output("tip", np.sin(there) * tip.x + np.cos(there) * tip.z, unit="m")  # across the array when the turn is done
    hub.shapes += [box(1.0, 1.0, 1.2, colour="#c9a227"), cylinder(0.3, 0.15, colour="#d9dde2").at(0, 0, 0.67)]
    return m


if __name__ == "__main__":
    plain = satellite().compile()
    first = next(mode for mode in plain.modal(plain.state().with_values(t=2 * TIME)) if mode.kind == "oscillation")
    print(f"first mode of the arrays: {first.frequency:.4f} Hz")
    shaped = satellite(jd.input_shaper("ZVD", frequency=first.frequency, damping=first.damping_ratio)).compile()
    runs = {name: s.simulate({}, t=3 * TIME, rtol=1e-7) for name, s in (("one go", plain), ("shaped", shaped))}
    for name, sol in runs.items():
        late = sol["tip"][sol.t > 1.8 * TIME]
        print(
            f"{name:8s} tip rings by {1e3 * np.ptp(late) / 2:7.3f} mm, wheel torque up to {np.abs(sol['attitude.drive_force']).max():.3f} N m"
        )

    Path("out").mkdir(exist_ok=True)
    compare(list(runs.values()), "tip", labels=list(runs), file="out/solar_array_plot.png")
    sol = runs["one go"].resample(301)
    sol.save_page("out/solar_array.html", stress="displacement", exaggerate=5, fine=0)
    sol.save_picture("out/solar_array.png", t=TIME / 3, stress="displacement", exaggerate=5, fine=0)
    print("wrote out/solar_array.png, out/solar_array_plot.png and out/solar_array.html")
