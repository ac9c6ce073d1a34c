"""A four-bar linkage: its assembly modes, which coordinate is best taken as independent, and the path of a coupler point.

python examples/four_bar.py
jourdain simulate examples/four_bar.py:four_bar -t 2 --set crank=60deg -o out/four_bar.csv
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.results.channel import Channel
from jourdain.systems.tree.partition import normal_criterion, projective_criterion


def four_bar() -> jd.Model:
    """Crank, coupler and rocker between two bearings on the ground; it stands in gravity, and the crank is driven."""
    m = jd.Model("four-bar")
    a, b, c, d = m.parameters(crank=0.1, coupler=0.3, rocker=0.25, ground=0.28)
    crank, coupler, rocker = (
        m.body(name, mass=2.0 * length, com=(length / 2, 0, 0), inertia=(0, length**3 / 6, length**3 / 6))
        for name, length in (("crank", a), ("coupler", b), ("rocker", c))
    )
    coupler.frame("tip", (b / 2, 0, 0.12))
    motor = m.revolute("motor", m.ground, crank, axis="y", damping=0.02)
    m.revolute("pin", crank.at(a, 0, 0), coupler, axis="y")
    m.revolute("bearing", m.ground.at(d, 0, 0), rocker, axis="y")
    m.revolute("closing", coupler.at(b, 0, 0), rocker.at(c, 0, 0), axis="y")
    m.force(motor, lambda angle, speed, t: 0.2 * (6.0 - speed), name="motor torque")
    tip = m.sensor("tip", coupler.frames["tip"])
    m.output("tip.x", tip.x, unit="m")
    m.output("tip.z", tip.z, unit="m")
    return m


if __name__ == "__main__":
    model = four_bar()
    print(model)
    system = model.compile()
    for name, state in system.assembly_modes({"motor.angle": 0.5}).items():
        print(f"{name}: rocker at {state['bearing.angle']:.4f} rad")

    start = system.assemble({"motor.angle": 0.5}, guess={"bearing.angle": -1.5})
    sol = system.simulate(start, t=3.0)

    # Projective criterion: cos²α of the angle between a coordinate's axis and the directions in which the loop can move.
    q = np.column_stack([sol[n] for n in system.coordinate_names])
    criterion, worst = [], 0.0
    for t, row in zip(sol.t, q, strict=True):
        J, M = system.function("constraints")([t], row)[1], system.mass_matrix(row)
        criterion.append(projective_criterion(J, M))
        worst = max(worst, float(np.abs(criterion[-1] + normal_criterion(J, M) - 1.0).max()))
    print(f"cos²α + cos²β = 1 to {worst:.1e}")
    cosines = {f"{n}.cos2": Channel(np.array(criterion)[:, i], "") for i, n in enumerate(system.coordinate_names)}
    for name, channel in cosines.items():
        print(f"{name}: {channel.values.min():.4f} … {channel.values.max():.4f}")
    sol = sol.with_channels(**cosines)

    Path("out").mkdir(exist_ok=True)
    sol.plot("motor.angle_rate", "bearing.angle_rate", *cosines, file="out/four_bar_plot.png")
    sol.save_picture("out/four_bar.png", trace=["coupler.tip"])
    sol.save_page("out/four_bar.html", plots=["motor.angle_rate", [*cosines]], trace=["coupler.tip"])
    print("wrote out/four_bar.png, out/four_bar_plot.png and out/four_bar.html")
