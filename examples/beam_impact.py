"""A ball strikes a beam in its middle: the beam swings back and meets it a second time within 1.4 ms; restitution, deflection and sound.

python examples/beam_impact.py
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.results.style import finish, house_style, new_figure

BALL = jd.contact.ball(0.015, E=210e9, nu=0.3, density=7780.0)
BEAM = jd.contact.beam(0.9765, 0.01, E=67.7e9, density=2696.0, viscosity=1.5e-8)
MIDDLE = 0.9765 / 2  # m, where it is struck


def swing() -> jd.Model:
    """A ball on a wire and the beam on two, rigid: where they touch, the law of impact has e(v) of the bending waves."""
    m = jd.Model("beam impact")
    table = jd.restitution(BALL, BEAM, speed=0.3, hardening=1.7).table(0.2, 0.4)
    m.ground.shapes += [jd.box(0.1, 1.1, 0.02).at(0, 0, 0.21)]
    wire = jd.cylinder(0.0008, 0.2, anchor="start", colour="#555555")
    ball = m.body("ball", mass=BALL.mass, com=(0, 0, -0.2), shape=[wire.at(0, 0, -0.2)])
    ball.add_collision(jd.sphere(0.015).at(0, 0, -0.2))
    ball.shapes.append(jd.sphere(0.015, colour="#e4572e").at(0, 0, -0.2))
    bar = m.body("beam", mass=BEAM.mass, shape=[wire.at(0, -0.4, 0), wire.at(0, 0.4, 0)])
    bar.shapes.append(jd.cylinder(0.01, 2 * MIDDLE, axis="y", colour="#4a7fb0"))
    bar.add_collision(jd.cylinder(0.01, 2 * MIDDLE, axis="y"))
    m.revolute("ball", m.ground.at(-0.025, 0, 0.2), ball, axis=(0, -1, 0))
    m.joint_spring(m.prismatic("beam", m.ground, bar, axis="x"), stiffness=BEAM.mass * 9.81 / 0.2)
    m.contact("strike", ball, bar, law=jd.contact.rigid(restitution=table))
    return m


def draw(impact: jd.contact.Restitution, speeds: np.ndarray, values: list[float], file: str) -> None:
    """Force and deflection over time, restitution over speed."""
    history = impact.history
    with house_style():
        figure = new_figure(11, 3.6)
        force, speed = figure.subplots(1, 2)
        t = np.linspace(0, 2.5e-3, 1001)
        force.plot(1e3 * history.time, history.force, label="contact force, N")
        force.plot(1e3 * t, 2e6 * history.b.displacement(MIDDLE, t), label="deflection of the middle, ½ µm")
        force.set(xlabel="t, ms", xlim=(0, 2.5), title="two impacts, one event")
        force.legend(fontsize=8)
        speed.plot(speeds, values, "o-")
        speed.set(xlabel="v, m/s", ylabel="e", title="it depends on when the beam comes back")
        finish(figure, file, show=False)


if __name__ == "__main__":
    Path("out").mkdir(exist_ok=True)
    impact = jd.restitution(BALL, BEAM, speed=0.3, hardening=1.7)
    print(impact)
    for touch in impact.contacts:
        print(f"from {1e3 * touch.begin:.3f} to {1e3 * touch.end:.3f} ms: {1e3 * touch.impulse:.3f} mN s")
    speeds = np.linspace(0.2, 0.45, 11)
    values = [jd.restitution(BALL, BEAM, speed=float(v), hardening=1.7).value for v in speeds]
    draw(impact, speeds, values, "out/beam_impact_plot.png")
    print(f"e between {min(values):.3f} and {max(values):.3f}; {100 * impact.loss:.0f} % of the energy is left in vibration")
    print("out/beam.wav is its sound")
    jd.contact.write_wav("out/beam.wav", jd.contact.sound(impact.history.b, at=MIDDLE, seconds=1.5))
    sol = swing().compile().simulate({"ball": "-13 deg"}, t=2.0, outputs=401)
    for strike in sol.contacts.impacts:
        print(f"{strike.t:.3f} s: {-strike.before:.3f} m/s, e = {-strike.after / strike.before:.3f}")
    sol.save_picture("out/beam_impact.png", t=0.0)
    sol.save_page("out/beam_impact.html", plots=["ball.angle", "beam.displacement"])
    print("wrote out/beam_impact.png, out/beam_impact_plot.png and out/beam_impact.html")
