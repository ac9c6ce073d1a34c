"""A robot arm from URDF: the torques of its motors along a smooth motion, ten thousand states in one call.

python examples/robot_arm.py
jourdain info examples/robot_arm.py:arm
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.io import read_urdf
from jourdain.results.channel import Channel
from jourdain.results.solution import Solution

LINK = """<link name="{name}"><inertial><origin xyz="0 0 {com}"/><mass value="{mass}"/>
  <inertia ixx="{across}" iyy="{across}" izz="{along}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><origin xyz="0 0 {z}"/>
  <axis xyz="{axis}"/><limit lower="-3" upper="3" effort="100" velocity="3"/></joint>"""
URDF = "\n".join([
    '<robot name="arm"><link name="base"/>',
    LINK.format(name="column", com=0.1, mass=4.0, across=0.02, along=0.01),
    LINK.format(name="upper_arm", com=0.2, mass=3.0, across=0.04, along=0.004),
    LINK.format(name="forearm", com=0.15, mass=2.0, across=0.015, along=0.002),
    JOINT.format(name="waist", parent="base", child="column", z=0.1, axis="0 0 1"),
    JOINT.format(name="shoulder", parent="column", child="upper_arm", z=0.2, axis="0 1 0"),
    JOINT.format(name="elbow", parent="upper_arm", child="forearm", z=0.4, axis="0 1 0"),
    "</robot>",
])  # fmt: skip


def arm() -> jd.Model:
    """Three revolute joints: waist, shoulder, elbow."""
    return read_urdf(URDF)


if __name__ == "__main__":
    model = arm()
    print(model)
    system = model.compile()

    t = np.linspace(0.0, 2.0, 10_000)
    s = t / t[-1]
    course = (
        10 * s**3 - 15 * s**4 + 6 * s**5,
        (30 * s**2 - 60 * s**3 + 30 * s**4) / t[-1],
        (60 * s - 180 * s**2 + 120 * s**3) / t[-1] ** 2,
    )
    start, goal = np.array([-1.0, -0.6, 0.4]), np.array([1.2, 0.9, 1.1])
    q, v, a = (np.outer(c, goal - start) for c in course)
    tau = system.inverse_dynamics(start + q, v, a)
    print(f"{len(t)} states, largest torques {np.abs(tau).max(axis=0).round(2)} N m")
    back = system.forward_dynamics(start + q, v, tau)
    print(f"forward dynamics gives the accelerations back to {np.abs(back - a).max():.1e} rad/s²")

    channels = {f"{joint}.torque": Channel(tau[:, i], "N m") for i, joint in enumerate(("waist", "shoulder", "elbow"))}
    Path("out").mkdir(exist_ok=True)
    Solution(t, channels).plot(title="motor torques of a robot arm", file="out/robot_arm.png")
    print("wrote out/robot_arm.png")
