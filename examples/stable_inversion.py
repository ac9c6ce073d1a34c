"""The tip of an elastic arm follows a course exactly: the motor has to act before the tip moves, and after it has arrived.

python examples/stable_inversion.py
jourdain info examples/stable_inversion.py:elastic_arm
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.elements import point_to_point
from jourdain.results.style import house_style, line_style, new_figure
from jourdain.structures import Material, beam, rectangle


def elastic_arm() -> jd.Model:
    """A hub with a motor that carries a thin beam of a metre, in a horizontal plane."""
    m = jd.Model("elastic arm", gravity=(0, 0, 0))
    hub = m.body("hub", 0.5, inertia=(0.02, 0.02, 0.02), shape=jd.cylinder(0.06, 0.1), colour="#3d444d")
    m.force(m.revolute("motor", m.ground, hub, axis="z"), m.input("torque", unit="N*m"))
    strip = beam((0, 0, 0), (1, 0, 0), rectangle(0.007, 0.05), Material(2e9, 0.3, 1200.0), elements=4)
    rod = m.flexible_body("rod", strip, attach={"start": hub}, modes=3, colour="#c9a227")
    m.sensor("tip", rod.node("end"))
    return m


if __name__ == "__main__":
    m = elastic_arm()
    course = point_to_point(m.time, 0.0, 0.8, 0.0, 1.2)
    tip = m.sensors["tip"].position
    off = tip.y * jd.cos(course) - tip.x * jd.sin(course)  # the tip stays on the ray that turns by the course
    system = m.compile(formulation="directors")
    sol = system.track({"torque": off}, {}, t=0.8, step=0.02, inversion="stable")
    told = sol.metadata["inversion"]
    growing = min(x for x, _ in told["internal"] if x > 1.0)
    print(
        f"internal motions run away by {growing:.0f} 1/s and faster; the arm is minimum-phase up to {told['minimum_phase']:.2f} of the way to its tip"
    )
    print(f"the motor acts {1e3 * told['before']:.0f} ms before the tip moves and {1e3 * told['after']:.0f} ms after it has arrived")
    print(f"run forward with these torques the tip misses its course by {1e3 * told['output_error']:.2f} mm at most")

    Path("out").mkdir(exist_ok=True)
    with house_style():
        figure = new_figure(7, 5)
        above, below = figure.subplots(2, 1, sharex=True)
        angle = np.arctan2(sol["rod.end.position"][:, 1], sol["rod.end.position"][:, 0])
        above.plot(sol.t, sol["motor.angle"], label="hub", **line_style(0))
        above.plot(sol.t, angle, label="tip", **line_style(1))
        above.set_ylabel("angle [rad]")
        above.legend()
        below.plot(sol.t, sol["torque"], **line_style(2))
        below.set(xlabel="time [s]", ylabel="torque [N m]")
        for axes in (above, below):
            axes.axvspan(sol.t[0], 0.0, color="#eceff1", zorder=0)
            axes.axvspan(0.8, sol.t[-1], color="#eceff1", zorder=0)
        figure.savefig("out/stable_inversion_plot.png", dpi=150)
    sol.save_picture("out/stable_inversion.png", t=0.3, stress="stress")
    sol.save_page("out/stable_inversion.html", plots=["torque"], stress="stress")
    print("wrote out/stable_inversion.png, out/stable_inversion_plot.png and out/stable_inversion.html")
