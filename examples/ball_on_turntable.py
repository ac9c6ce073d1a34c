"""A ball on a turntable: it rolls in a circle at two sevenths of the table's speed, and is never thrown off.

python examples/ball_on_turntable.py
"""

from math import cos, pi, sin
from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.model.shapes import cylinder, sphere
from jourdain.results.style import finish, house_style, new_figure

RADIUS, START, SPEED, TURN = 0.2, 0.7, 0.14, 1.0
SLOW = 2 / 7 * TURN


def path(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The circle on which a homogeneous ball rolls, whatever its size and wherever it starts."""
    r = SPEED / SLOW
    return START - r + r * np.cos(SLOW * t), r * np.sin(SLOW * t)


def ball_on_turntable() -> jd.Model:
    """A homogeneous ball rolls without slip on a table driven at 1 rad/s."""
    m = jd.Model("ball on a turntable")
    marks = [cylinder(0.03, 0.004, axis="z", colour="#efb118").at(0.9 * cos(k * pi / 4), 0.9 * sin(k * pi / 4), -0.01) for k in range(8)]
    table = m.body(
        "table", mass=5.0, inertia=(1.0, 1.0, 2.0), shape=[cylinder(1.0, 0.04, axis="z").at(0, 0, -0.03), *marks], colour="#c9ced6"
    )
    stripes = [sphere(RADIUS, colour="#e4572e"), cylinder(RADIUS * 1.004, 0.03, axis="x", colour="#ffffff")]
    ball = m.body("ball", mass=1.0, inertia=(0.4 * RADIUS**2,) * 3, shape=stripes)
    m.drive(m.revolute("bearing", m.ground.at(0, 0, -0.1), table.at(0, 0, -0.1), axis="z"), lambda t: TURN * t)
    m.free("roll", m.ground, ball)
    place, under = m.sensor("ball", ball), m.sensor("table", table)
    v, w = place.velocity, place.angular_velocity
    m.constraint("contact", place.z - RADIUS)
    m.nonholonomic("slip.x", v.x - RADIUS * w.y + under.angular_velocity.z * place.y)
    m.nonholonomic("slip.y", v.y + RADIUS * w.x - under.angular_velocity.z * place.x)
    return m


if __name__ == "__main__":
    model = ball_on_turntable()
    print(model)
    start = {"roll.x": START, "roll.z": RADIUS, "roll.y_rate": SPEED, "roll.orientation.omega_x": (TURN * START - SPEED) / RADIUS}
    directors, round_trip = model.compile(formulation="directors"), 2 * pi / SLOW
    runs = {h: directors.simulate(start, t=round_trip, step=h) for h in (0.1, 0.05, 0.025)}
    for h, run in runs.items():
        exact = path(run.t)
        error = np.hypot(run["roll.x"] - exact[0], run["roll.y"] - exact[1]).max()
        books = run["step.energy.total"] - run["step.energy.supplied"]
        print(f"steps of {h:g} s: {error:.4f} m from the circle at most, energy balance to {np.ptp(books):.0e} J")
    smooth = model.compile().simulate(start, t=round_trip, rtol=1e-9)
    print(
        f"tree engine: {np.hypot(smooth['roll.x'] - path(smooth.t)[0], smooth['roll.y'] - path(smooth.t)[1]).max():.0e} m from the circle"
    )

    Path("out").mkdir(exist_ok=True)
    with house_style():
        figure = new_figure(9.0, 4.2)
        world, table = figure.subplots(1, 2)
        t = np.linspace(0.0, 2 * round_trip, 1200)
        x, y = path(t)
        world.plot(x, y, label="exact")
        world.plot(runs[0.1]["roll.x"][::8], runs[0.1]["roll.y"][::8], "o", markersize=4, label="every eighth step of 0.1 s")
        world.set(title="path seen from the room", xlabel="x [m]", ylabel="y [m]", aspect="equal")
        world.legend(loc="center")
        c, s = np.cos(TURN * t), np.sin(TURN * t)
        table.plot(c * x + s * y, c * y - s * x)
        table.set(title="path drawn on the table", xlabel="x [m]", ylabel="y [m]", aspect="equal")
        finish(figure, "out/ball_on_turntable_plot.png", False)
    sol = smooth.resample(500)
    sol.save_picture("out/ball_on_turntable.png", t=0.7 * round_trip, trace=["ball"])
    sol.save_page("out/ball_on_turntable.html", plots=[["roll.x", "roll.y"], "roll.orientation.omega_z"], trace=["ball"])
    print("wrote out/ball_on_turntable.png, out/ball_on_turntable_plot.png and out/ball_on_turntable.html")
