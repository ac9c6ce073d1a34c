"""A robot arm from URDF: torques of its motors along a smooth motion, ten thousand states in one call, and a reach by targets.

python examples/robot_arm.py
jourdain info examples/robot_arm.py:arm
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.io import read_urdf


def arm() -> jd.Model:
    """Waist, shoulder, elbow and wrist from a URDF file."""
    return read_urdf(Path(__file__).parent / "data" / "arm.urdf")


if __name__ == "__main__":
    model = arm()
    print(model)
    system = model.compile()

    # Inverse kinematics gives the ends of the motion, a quintic polynomial the way between them.
    start = system.inverse_kinematics({"hand": (0.45, -0.35, 0.25)}, {"shoulder": 0.6, "elbow": 0.8}).state.q
    goal = system.inverse_kinematics({"hand": (0.25, 0.45, 0.65)}, {"shoulder": 0.3, "elbow": 0.6}).state.q
    t = np.linspace(0.0, 2.0, 10_000)
    s = t / t[-1]
    course = (
        10 * s**3 - 15 * s**4 + 6 * s**5,
        (30 * s**2 - 60 * s**3 + 30 * s**4) / t[-1],
        (60 * s - 180 * s**2 + 120 * s**3) / t[-1] ** 2,
    )
    q, v, a = (np.outer(c, goal - start) for c in course)
    tau = system.inverse_dynamics(start + q, v, a)
    print(f"{len(t)} states, largest torques {np.abs(tau).max(axis=0).round(2)} N m")
    back = system.forward_dynamics(start + q, v, tau)
    print(f"forward dynamics gives the accelerations back to {np.abs(back - a).max():.1e} rad/s²")

    # The same through the analysis, which also serves mechanisms with loops.
    few = slice(None, None, 50)
    motion = {n: (start + q)[few, i] for i, n in enumerate(system.coordinate_names)}
    forces = system.inverse_dynamics_along(system.kinematics(t[few], motion))
    sol = forces.solution

    Path("out").mkdir(exist_ok=True)
    sol.plot("*.actuator", title="motor torques of a robot arm", file="out/robot_arm_plot.png")
    sol.save_picture("out/robot_arm.png", t=1.2, trace=["hand"])
    sol.save_page("out/robot_arm.html", plots=[sol.names("*.actuator")], trace=["hand"])
    print("wrote out/robot_arm.png, out/robot_arm_plot.png and out/robot_arm.html")
