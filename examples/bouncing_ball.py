"""A ball thrown over a floor with a wall: impacts are events, found to rounding, that change velocities.

python examples/bouncing_ball.py
"""

from pathlib import Path

import jourdain as jd
from jourdain.model.shapes import box, sphere


def ball() -> jd.Model:
    """A ball in a vertical plane; floor and wall reflect it with Newton's restitution, the floor also slows its flight a little."""
    m = jd.Model("bouncing ball")
    e, wall = m.parameter("restitution", 0.85), m.parameter("wall", 2.0, unit="m")
    m.ground.shapes += [box(2.7, 1.0, 0.04).at(0.65, 0, -0.12), box(0.04, 1.0, 1.2).at(2.12, 0, 0.5)]
    body = m.body("ball", mass=0.1, shape=sphere(0.1, colour="#e4572e"))
    flight = m.sequence("flight", m.ground, body, ["Tx", "Tz"])
    x, z = flight.coordinates
    m.event("floor", z.q[0], direction=-1, jump={z.v[0]: -e * z.v[0], x.v[0]: 0.95 * x.v[0]})
    m.event("wall", x.q[0] - wall, direction=1, jump={x.v[0]: -e * x.v[0]})
    return m


if __name__ == "__main__":
    system = ball().compile()
    sol = system.simulate({"flight.z": 1.2, "flight.x_rate": 1.6}, t=3.5, outputs=None, rtol=1e-10)
    print(f"{sol.statistics['events']} impacts in {sol.t[-1]:g} s, the ball never below {sol['flight.z'].min():.1e} m")

    Path("out").mkdir(exist_ok=True)
    sol.plot("flight.z", "flight.z_rate", "energy.total", file="out/bouncing_ball_plot.png")
    sol = sol.resample(600)
    sol.save_picture("out/bouncing_ball.png", trace=["ball"])
    sol.save_page("out/bouncing_ball.html", plots=["flight.z", "energy.total"], trace=["ball"])
    print("wrote out/bouncing_ball.png, out/bouncing_ball_plot.png and out/bouncing_ball.html")
