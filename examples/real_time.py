"""A pendulum swung up by a motor too weak to lift it: a loop of one's own that looks ahead, goes back and takes the best torque.

python examples/real_time.py
jourdain equations examples/real_time.py:weak_motor
"""

import time
from itertools import product
from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.model.shapes import box, cylinder, sphere

STEP, HELD, AHEAD = 0.01, 20, 4  # s of a step; steps for which a torque is held; torques that are tried one after the other


def weak_motor() -> jd.Model:
    """A bob of 1 kg on a rod of 0.5 m; the motor at its hinge is the input (N m)."""
    m = jd.Model("weak motor")
    m.ground.shapes += [box(0.1, 0.02, 0.1).at(0, 0.06, 0), cylinder(0.03, 0.06, axis="y").at(0, 0.04, 0)]
    rod = [cylinder(0.01, 0.5, axis="z").at(0, 0, -0.25), sphere(0.06, colour="#ff725c").at(0, 0, -0.5)]
    bob = m.body("bob", mass=1.0, com=(0, 0, -0.5), inertia=(0.002, 0.002, 0.002), shape=rod, colour="#4269d0")
    hinge = m.revolute("hinge", m.ground, bob, axis="y", damping=0.02)
    m.force(hinge, m.input("torque", unit="N m"), name="motor")
    m.output("upright", 0.5 * 0.252 * hinge.velocity**2 - 4.905 * jd.cos(hinge.position) - 4.905, unit="J")
    return m


def best_torque(st: jd.Stepper) -> float:
    """The first of the torques whose sequence ends nearest to the energy of the upright position, found by trying all of them."""
    here, found = st.save(), []
    for sequence in product((-2.0, 0.0, 2.0), repeat=AHEAD):
        y = [st.advance([u], step=HELD * STEP) for u in sequence][-1]
        found.append((abs(y[0]), sequence[0]))
        st.restore(here)
    return min(found)[1]


if __name__ == "__main__":
    system = weak_motor().compile()
    st = system.stepper({}, step=STEP, inputs=["torque"], outputs=["upright", "hinge.angle"])
    torques, begun = [], time.perf_counter()
    while abs(st.y[0]) > 0.3 and st.t < 10.0:
        torques.append(best_torque(st))
        for _ in range(HELD):
            upright, angle = st.advance([torques[-1]])
    spent = time.perf_counter() - begun
    tried = len(torques) * 3**AHEAD * AHEAD * HELD
    print(
        f"{upright:+.2f} J from upright after {st.t:.1f} s, {np.degrees(angle):.0f} deg; {tried} steps tried, {st.t / spent:.0f} × real time"
    )

    # The same torques by a sampled controller give the same motion, as a solution to look at.
    given = iter(torques)
    sol = system.simulate({}, st.t, method="rk4", step=STEP, inputs={"torque": jd.Controller(lambda _: next(given), HELD * STEP)})
    print(f"simulate ends {abs(sol['hinge.angle'][-1] - angle):.0e} rad from the stepper")

    Path("out").mkdir(exist_ok=True)
    sol.plot("hinge.angle", "torque", "upright", unit="deg", file="out/real_time_plot.png")
    sol.save_picture("out/real_time.png", t=0.8 * st.t)
    sol.save_page("out/real_time.html", plots=["hinge.angle", "torque", "upright"])
    print("wrote out/real_time.png, out/real_time_plot.png and out/real_time.html")
