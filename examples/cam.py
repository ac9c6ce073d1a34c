"""A cam and its follower: above a speed that the spring decides the follower flies, and comes back with a blow.

python examples/cam.py
"""

import math
from pathlib import Path

import numpy as np

import jourdain as jd

MASS, LIFT, RADIUS, STIFFNESS, PRELOAD = 0.2, 0.01, 0.03, 2000.0, 10.0


def cam(speed: float = 200.0) -> jd.Model:
    """An eccentric disc turns at a given speed (rad/s) below a flat follower that a spring presses onto it."""
    m = jd.Model("cam")
    disc = m.body("cam", mass=1.0, inertia=(0.001, 0.001, 0.001))
    disc.shapes.append(jd.cylinder(RADIUS, 0.02, axis="y", colour="#d9893b").at(0, 0, LIFT))
    m.drive(m.revolute("shaft", m.ground, disc, axis="y"), lambda t: speed * t)
    follower = m.body("follower", mass=MASS)
    follower.shapes += [
        jd.box(0.06, 0.03, 0.008, colour="#4a7fb0").at(0, 0, 0.004),
        jd.cylinder(0.006, 0.08, colour="#4a7fb0").at(0, 0, 0.048),
    ]
    guide = m.prismatic("guide", m.ground, follower, axis="z")
    m.joint_spring(guide, stiffness=STIFFNESS, rest=RADIUS - LIFT - PRELOAD / STIFFNESS)
    m.contact("face", disc, [m.shapes("follower")[0]], law=jd.contact.rigid(restitution=0.3))
    return m


def lift_off() -> float:
    """Speed (rad/s) at which the force vanishes at the top: m (g + e ω²(−1)) + F(top) = 0."""
    return math.sqrt((9.81 + (PRELOAD + 2.0 * LIFT * STIFFNESS) / MASS) / LIFT)


if __name__ == "__main__":
    print(f"lift-off at {lift_off():.3f} rad/s")
    runs = {}
    for share in (0.999, 1.3):
        speed = share * lift_off()
        sol = cam(speed).compile().simulate({"guide": RADIUS + LIFT}, t=8 * math.pi / speed, rtol=1e-9, atol=1e-12)
        runs[share] = sol
        on = np.sum(np.diff(sol.t) * (sol["contacts.acting"][:-1] > 0)) / sol.t[-1]
        print(f"{share:g} of it: on the cam for {100 * on:.1f} % of the time, {len(sol.contacts.impacts)} blows")

    Path("out").mkdir(exist_ok=True)
    sol = runs[1.3]
    sol.plot("guide.displacement", "face.follower.force", "energy.kinetic", file="out/cam_plot.png")
    sol.save_picture("out/cam.png", t=0.03, forces=["face"])
    sol.save_page("out/cam.html", plots=["guide.displacement", "face.follower.force"], forces=["face"])
    print("wrote out/cam.png, out/cam_plot.png and out/cam.html")
