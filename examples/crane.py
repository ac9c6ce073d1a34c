"""A tower crane that sets its load down without swing: the drives' forces for a prescribed course of the load, and a run driven by them.

python examples/crane.py
jourdain info examples/crane.py:crane
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.elements.servo import polynomial9
from jourdain.model.shapes import box, cylinder, sphere
from jourdain.results.style import finish, house_style, new_figure
from jourdain.symbolic.vectors import Vector

HEIGHT, JIB, DURATION = 8.0, 7.0, 6.0
DRIVES = {"slewing torque": "N m", "trolley force": "N", "rope tension": "N"}


def crane() -> jd.Model:
    """A jib that turns on a mast, a trolley on it and a load on a rope: five freedoms, three drives."""
    m = jd.Model("tower crane")
    m.ground.shapes += [box(0.5, 0.5, HEIGHT - 0.4).at(0, 0, HEIGHT / 2 - 0.2), box(2.4, 2.4, 0.3).at(0, 0, 0.15)]
    steel = [box(JIB + 3, 0.3, 0.3).at(JIB / 2 - 1.5, 0, 0), box(1.0, 0.8, 0.9).at(-2.6, 0, -0.3), box(0.9, 0.7, 0.8).at(0, 0, -0.1)]
    jib = m.body("jib", 900.0, inertia=(200.0, 4000.0, 4000.0), shape=steel, colour="#efb118")
    trolley = m.body("trolley", 40.0, inertia=(3.0, 3.0, 3.0), shape=box(0.5, 0.6, 0.2).at(0, 0, -0.25), colour="#4269d0")
    load = m.body(
        "load", 300.0, inertia=(20.0, 20.0, 20.0), shape=[cylinder(0.4, 0.7, axis="z").at(0, 0, -0.45), sphere(0.12)], colour="#ff725c"
    )
    turn = m.revolute("slewing", m.ground.at(0, 0, HEIGHT), jib, axis="z")
    travel = m.prismatic("travel", jib, trolley, axis="x")
    m.sequence("place", m.ground, load, ["Tx", "Ty", "Tz"])
    torque, force, tension = (m.input(name, unit=unit) for name, unit in DRIVES.items())
    m.force(turn, torque, name="slewing drive")
    m.force(travel, force, name="trolley drive")
    m.link("rope", trolley.at(0, 0, -0.3), load, law=lambda length, speed, t: tension)
    m.sensor("hook", load)
    return m


def course(t: jd.Expr) -> Vector:
    """Place of the load: from rest to rest in six seconds, a third of a turn, inwards and up."""
    s = polynomial9(t / DURATION)
    angle, radius = 2.2 * s, 6.0 - 2.5 * s
    return Vector(radius * jd.cos(angle), radius * jd.sin(angle), 1.5 + 3.0 * s)


if __name__ == "__main__":
    model = crane()
    start = {"travel": 6.0, "place.x": 6.0, "place.z": 1.5}

    # The drives do not act on the load's place directly: the equations have index 5, and the engine projects them.
    directors = model.compile(formulation="directors")
    errors = model.sensors["hook"].position - course(model.time)
    sol = directors.track(dict(zip(DRIVES, errors, strict=True)), start, t=DURATION, step=0.02)
    for name, unit in DRIVES.items():
        print(f"{name:15s} {sol[name].min():8.0f} … {sol[name].max():6.0f} {unit}")

    # Driven by these forces alone, another formulation of the crane brings the load to its goal, where it hangs at rest.
    signals = {name: (sol.t, sol[name]) for name in DRIVES}
    run = model.compile().simulate(start, t=DURATION, inputs=signals, rtol=1e-8)
    place = np.array([run[f"place.{c}"][-1] for c in "xyz"])
    goal = np.array([float(jd.evaluate(c, {model.time: DURATION})) for c in course(model.time)])
    speed = np.linalg.norm([run[f"place.{c}_rate"][-1] for c in "xyz"])
    print(
        f"driven by them the load ends {1000 * np.linalg.norm(place - goal):.1f} mm from its goal, with a speed of {1000 * speed:.1f} mm/s"
    )

    Path("out").mkdir(exist_ok=True)
    with house_style():
        figure = new_figure(7.0, 6.0, show=False)
        for axes, (name, unit) in zip(figure.subplots(3, 1, sharex=True), DRIVES.items(), strict=True):
            axes.plot(sol.t, sol[name])
            axes.set_ylabel(f"{name}\n[{unit}]")
        axes.set_xlabel("time [s]")
        figure.align_ylabels()
        finish(figure, "out/crane_plot.png", show=False)
    sol.save_picture("out/crane.png", t=3.4, trace=["load"])
    sol.save_page("out/crane.html", plots=[[n] for n in DRIVES], trace=["load"])
    print("wrote out/crane.png, out/crane_plot.png and out/crane.html")
