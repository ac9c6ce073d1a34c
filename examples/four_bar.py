"""A four-bar linkage: its two assembly modes, and the path of a point on the coupler.

python examples/four_bar.py
jourdain simulate examples/four_bar.py:four_bar -t 2 --set crank=60deg -o out/four_bar.csv
"""

from pathlib import Path

import jourdain as jd
from jourdain.results.plots import phase


def four_bar() -> jd.Model:
    """Crank, coupler and rocker between two bearings on the ground; it hangs in gravity, and the crank is driven."""
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
    print(sol)
    Path("out").mkdir(exist_ok=True)
    phase(sol, "tip.x", "tip.z", title="path of a point on the coupler", file="out/four_bar.png")
    print("wrote out/four_bar.png")
