"""A ring slides down an elastic cable and up again, with friction; energy and losses balance to rounding.

python examples/cable_and_ring.py
"""

from pathlib import Path

import numpy as np
from scipy.interpolate import CubicHermiteSpline

import jourdain as jd
from jourdain import elements as el


def washing_line(damping: float = 0.02) -> jd.AssembledSystem:
    """An elastic cable between two hooks 2 m apart, and a ring of 0.3 kg near one of them."""
    s = jd.AssembledSystem("washing line")
    g = (0, 0, -9.81)
    line = s.cable(
        "line",
        np.linspace((0, 0, 0), (2, 0, 0), 9),
        axial=150.0,
        bending=2e-3,
        mass_per_length=0.1,
        gravity=g,
        start="pinned",
        end="pinned",
    )
    ring = s.coordinates("ring", 12, el.DirectorBody.coordinates_of((0.2, 0, 0)))
    s.add(el.DirectorBody(), "ring.body", {"body": ring}, el.DirectorBody.numbers(0.3, (2e-4, 2e-4, 4e-4), gravity=g))
    s.slide("along", line, ring, at=0.2, friction=(el.Viscous(), {"damping": damping}))
    return s


if __name__ == "__main__":
    sol = washing_line().simulate(1.5, 0.005, reduction="bodies")
    books = sol["energy.total"] + sol["energy.dissipated"]
    print(f"the ring slides from {sol['along'][0]:.2f} m to {sol['along'].max():.2f} m along the cable, over {len(sol.events)} nodes")
    print(f"friction takes {1e3 * sol['energy.dissipated'][-1]:.1f} mJ; the balance is kept: {np.ptp(books) < 1e-10}")
    Path("out").mkdir(exist_ok=True)
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
    for k in range(0, len(sol.t), 50):
        nodes = np.array([sol[f"line.{i}"][k] for i in range(9)])
        curve = CubicHermiteSpline(0.25 * np.arange(9), nodes[:, :3], nodes[:, 3:])(np.linspace(0.0, 2.0, 100))
        shade = plt.cm.viridis(k / len(sol.t))  # type: ignore[attr-defined]
        ax.plot(curve[:, 0], curve[:, 2], color=shade, lw=1)
        ax.plot(*sol["ring.position"][k, [0, 2]], "o", color=shade, ms=7)
    ax.set_xlabel("x [m]")
    ax.set_ylabel("z [m]")
    ax.set_aspect("equal")
    figure.savefig("out/cable_and_ring.png", dpi=150)
    print("wrote out/cable_and_ring.png")
