"""A quadruped from a URDF file trots: feet that touch by rigid contact with exact friction, joints held by sampled controllers.

python examples/quadruped.py
"""

import math
from pathlib import Path

import jourdain as jd

FILE = Path(__file__).parent / "data" / "quadruped.urdf"
LEGS = {"FR": 0.0, "RL": 0.0, "FL": math.pi, "RR": math.pi}  # diagonal legs move together
THIGH, CALF, STRIDE, LIFT, RATE = 0.8, -1.6, 0.16, 0.45, 2.0  # rad, rad, rad, rad, Hz
HEIGHT = 2 * 0.2 * math.cos(THIGH) + 0.02


def quadruped() -> jd.Model:
    """The robot of the file on a floor, with a torque as input of each joint."""
    m = jd.read_urdf(FILE, base="free")
    for leg in LEGS:
        for part in ("hip", "thigh", "calf"):
            m.force(m.joints[f"{leg}_{part}_joint"], m.input(f"{leg}_{part}", unit="N m"))
        m.initial |= {f"{leg}_thigh_joint": THIGH, f"{leg}_calf_joint": CALF}
    m.initial["root.z"] = HEIGHT
    m.contact("feet", m.shapes("*_foot"), m.ground, law=jd.contact.rigid(friction=0.8))
    return m


def gait(m: jd.Model, stride: float = STRIDE, lift: float = LIFT) -> dict[str, jd.Controller]:
    """Joints follow angles over the phase of their leg: 80 N m/rad, 2 N m s/rad, asked every 2 ms."""
    found = {}
    grow = jd.minimum(m.time, 1.0)
    for leg, offset in LEGS.items():
        phase = 2 * math.pi * RATE * m.time + offset
        targets = {
            "hip": 0.0,
            "thigh": THIGH + grow * stride * jd.sin(phase),
            "calf": CALF - grow * lift * jd.maximum(-jd.cos(phase), 0.0),
        }
        for part, target in targets.items():
            joint = m.joints[f"{leg}_{part}_joint"]
            found[f"{leg}_{part}"] = jd.Controller(80.0 * (target - joint.position) - 2.0 * joint.velocity, period=2e-3)
    return found


if __name__ == "__main__":
    m = quadruped()
    s = m.compile()
    weight = sum(float(b.mass) for b in m.bodies.values()) * 9.81
    stands = s.simulate({}, t=4.0, method="moreau", step=1e-3, inputs=gait(m, 0.0, 0.0))
    carried = sum(stands[f"feet.{b}.force"][-1, 2] for b in m.bodies if f"feet.{b}.force" in stands)
    print(f"standing: the feet carry {carried:.6f} N of {weight:.6f} N")
    sol = s.simulate({}, t=5.0, method="moreau", step=1e-3, inputs=gait(m))
    print(f"trotting: {sol['root.x'][-1]:.2f} m in 5 s, trunk between {sol['root.z'].min():.3f} and {sol['root.z'].max():.3f} m high")
    print(sol.contacts.summary())

    Path("out").mkdir(exist_ok=True)
    sol.plot("root.x", "root.z", "contacts.acting", file="out/quadruped_plot.png")
    sol = sol.resample(500)
    sol.save_picture("out/quadruped.png", t=2.3, forces=["feet"])
    sol.save_page("out/quadruped.html", plots=["root.x", "contacts.acting"], forces=["feet"])
    print("wrote out/quadruped.png, out/quadruped_plot.png and out/quadruped.html")
