"""A pole swings up on its cart with the least effort: optimal control by collocation, simulated back to itself.

python examples/swing_up.py
"""

from pathlib import Path

import numpy as np

import jourdain as jd


def cart() -> jd.Model:
    """A cart on a rail, pushed by a force, with a pole that hangs from it."""
    m = jd.Model("cart with pole")
    body = m.body("cart", mass="1 kg")
    rod = m.body("rod", mass="0.3 kg", com=(0, 0, -0.5), inertia=(0.02, 0.02, 0.0))
    rail = m.prismatic("rail", m.ground, body, axis="x")
    m.revolute("pole", body, rod, axis="y")
    m.force(rail, m.input("force", 0.0, "N"))
    return m


if __name__ == "__main__":
    s = cart().compile()
    up = {"rail.displacement": 0, "rail.displacement_rate": 0, "pole.angle": "180 deg", "pole.angle_rate": 0}
    effort = jd.criteria.integral("force^2")
    plan = s.optimal_control({}, up, t=(1, 3), inputs={"force": (-12, 12)}, minimise=effort, bounds={"rail.displacement": (-1, 1)})
    print(plan)

    swing = plan.simulate(rtol=1e-9)
    print(f"simulated with these forces the pole ends at {np.degrees(swing['pole.angle'][-1]):.4f} deg")

    Path("out").mkdir(exist_ok=True)
    plan.plot(file="out/swing_up_plot.png")
    swing.save_picture("out/swing_up.png", t=2.6)
    swing.save_page("out/swing_up.html", plots=[["pole.angle", "rail.displacement"]])
    print("wrote out/swing_up.png, out/swing_up_plot.png and out/swing_up.html")
