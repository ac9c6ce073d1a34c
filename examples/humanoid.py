"""A humanoid from URDF with a free base: it drops onto its feet, lands on contacts and is held by springs in its joints.

python examples/humanoid.py
jourdain info examples/data/humanoid.urdf --base free
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.io import read_urdf

POSE = {"left_shoulder": -0.5, "right_shoulder": 0.3, "left_elbow": -1.2, "right_elbow": -0.6}


def humanoid() -> jd.Model:
    """Pelvis, trunk, head, arms and legs: 20 freedoms; corners of the feet touch the floor."""
    m = read_urdf(Path(__file__).parent / "data" / "humanoid.urdf", base="free")
    k, d = m.parameters(joint_stiffness=400.0, joint_damping=25.0)
    for name, joint in m.joints.items():
        if joint.kind == "revolute":
            m.joint_spring(joint, k, rest=POSE.get(name, 0.0), damping=d)
    for side in ("left", "right"):
        for i, (x, y) in enumerate(((0.14, 0.04), (0.14, -0.04), (-0.06, 0.04), (-0.06, -0.04))):
            name, corner = f"{side} sole {i + 1}", m.bodies[f"{side}_foot"].at(x, y, -0.05)
            contact = m.ground_contact(name, corner, 3e4, damping=0.4, friction=0.8, smoothing=0.02)
            m.output(f"{name}.load", contact.force.z, unit="N")
    return m


if __name__ == "__main__":
    model = humanoid()
    print(model)
    system = model.compile()
    base = next(n for n in system.coordinate_names if n.endswith(".z"))
    sol = system.simulate({base: 1.02, **POSE}, t=2.0, rtol=1e-5, atol=1e-6)
    print(f"{system.nv} velocities; pelvis from {sol[base][0]:.3f} m to {sol[base][-1]:.3f} m")
    load = sum(sol[f"{side} sole {i}.load"][-1] for side in ("left", "right") for i in range(1, 5))
    mass = sum(model.parameter_set.evaluate([b.mass for b in model.bodies.values()]))
    print(f"load on the soles {load:.1f} N, weight {9.81 * mass:.1f} N")

    Path("out").mkdir(exist_ok=True)
    sol.plot(base, "left_knee.angle", "right_elbow.angle", "left_shoulder.angle", file="out/humanoid_plot.png")
    sol = sol.resample(np.linspace(0.0, sol.t[-1], 241))
    sol.save_picture("out/humanoid.png")
    sol.save_page("out/humanoid.html", plots=[base, "left_knee.angle"])
    print("wrote out/humanoid.png, out/humanoid_plot.png and out/humanoid.html")
