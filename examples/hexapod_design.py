"""A machine tool on six struts, designed: where it is singular, how stiff it is, and which joint angle is best, one criterion after the other.

python examples/hexapod_design.py
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.library import Hexapod, hexapod_machine, hexapod_map

#: Mean turn (rad) and mean displacement (m) of the tool while it runs round the circle at constant speed, from 3 to 6 s.
CRITERIA = {
    "turn": jd.criteria.integral("where(t < 3, 0, sqrt(turn^2 + 1e-12))/3"),
    "away": jd.criteria.integral("where(t < 3, 0, sqrt('away.x'^2 + 'away.y'^2 + 'away.z'^2 + 1e-16))/3"),
}


def machine() -> jd.Model:
    """Variant I under a torque of 1000 Nm and a force of 1 kN along each axis; its joint angle zeta is the design."""
    return hexapod_machine(Hexapod("I", np.radians(45.0)), "springs", force=(1000.0,) * 3)


if __name__ == "__main__":
    for variant, angle in (("current", 0.0), ("I", 82.5), ("II", 82.5), ("III", 34.1)):
        h = Hexapod(variant, np.radians(angle), k=3.134e6)
        print(
            f"{variant:>8} at {angle:4.1f}°: {h.domains()} domains, {len(h.self_stress())} self-stress, least k* on z = 0.1 m {hexapod_map(h, at=0.1).values.min():.4f}, reach {1e3 * h.radius():.0f} mm"
        )

    round_trip = jd.Analysis(machine().compile(), "simulate", {"tool.x": -0.1}, t=(2.0, 6.0), method="dopri5", max_step=4e-3, rtol=1e-5)
    problem = jd.Problem(round_trip, variables=["zeta"], minimise=CRITERIA)
    first = problem.optimise(weights={"turn": 1.0, "away": 0.0}, tolerance=1e-8)
    best = problem.optimise(form="lexicographic", order=["turn", "away"], slack=0.5, tolerance=1e-8)
    for name, found in (("turn alone", first), ("then away, turn within 50 %", best)):
        c = found.criteria
        print(
            f"{name}: zeta {np.degrees(found.values['zeta']):.2f}°, turn {np.degrees(c['turn']):.4f}°, away {1e3 * c['away']:.4f} mm, active: {', '.join(found.active) or 'none'}"
        )

    Path("out").mkdir(exist_ok=True)
    hexapod_map(Hexapod("III", np.radians(34.1)), of="determinant", points=201).plot("out/hexapod_design_plot.png")
    sol = hexapod_machine(Hexapod("I", best.values["zeta"]), force=(1000.0,) * 3).compile().simulate({}, t=4.0, outputs=200)
    sol.save_picture("out/hexapod_design.png", t=3.0)
    sol.save_page("out/hexapod_design.html", plots=[["turn"], ["away.x", "away.y", "away.z"]])
    print("wrote out/hexapod_design.png, out/hexapod_design_plot.png and out/hexapod_design.html")
