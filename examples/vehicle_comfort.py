"""A car over a bump, designed for its driver: exact gradients of comfort, safety and travel, and a suspension that is better.

python examples/vehicle_comfort.py
"""

from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import jourdain as jd
from jourdain.library import plane_vehicle

DESIGN = ["d_F", "d_R", "c_F", "c_R", "h_3", "d_A"]
#: Riding comfort, safety and suspension travel (W. Schiehlen, Symbolic Computations in Multibody Systems, eqs. 40 to 42).
CRITERIA = {
    "comfort": jd.criteria.integral("t^2*driver.acceleration.z^2"),
    "safety": jd.criteria.integral("front.tyre^2 + rear.tyre^2"),
    "travel": jd.criteria.integral("(front.travel/s)^6 + (rear.travel/s)^6", s=0.08),
}
WEIGHTS = np.array([0.6, 0.2, 0.2])


def vehicle() -> jd.Model:
    """The plane vehicle with cubic dampers and a little of the active element."""
    return plane_vehicle(damper="cubic", active=100.0)


if __name__ == "__main__":
    model = vehicle()
    bump = jd.Analysis(model.compile(), "simulate", {}, t=4.0)
    g = bump.gradient(CRITERIA, DESIGN)
    print(g)
    g.check()

    # the weighted sum (46) of the three, each by its first value, in variables of size one; the active element stays as it is
    passive = DESIGN[:4]
    first, size = np.array(list(g.values.values())), np.array([g.variables[n] for n in passive])

    def judged(y: np.ndarray) -> tuple[float, np.ndarray]:
        found = bump.gradient(CRITERIA, passive, values=dict(zip(passive, y * size)))
        weights = WEIGHTS / first
        return float(weights @ list(found.values.values())), weights @ found.matrix * size

    bounds = [tuple(b / s for b in model.parameter_set[n].bounds) for n, s in zip(passive, size)]
    best = minimize(judged, np.ones(4), jac=True, method="SLSQP", bounds=bounds, options={"maxiter": 30})
    design = dict(zip(passive, best.x * size))
    better = bump.evaluate(CRITERIA, design)
    print(f"{best.nit} iterations, {best.nfev} gradients")
    for name, value in design.items():
        print(f"  {name}: {g.variables[name]:9.5g} -> {value:9.5g} {model.parameter_set[name].unit}")
    for name, value in better.items():
        print(f"  {name}: {g.values[name]:9.5g} -> {value:9.5g}")

    before, after = bump.run(), bump.run(design)
    Path("out").mkdir(exist_ok=True)
    times = np.linspace(0.0, 4.0, 801)
    sol = before.resample(times).with_channels(
        **{
            "driver before": (before.at(times)["driver.acceleration"][:, 2], "m/s^2"),
            "driver after": (after.at(times)["driver.acceleration"][:, 2], "m/s^2"),
        }
    )
    sol.plot("driver before", "driver after", file="out/vehicle_comfort_plot.png")
    g.plot(file="out/vehicle_comfort_elasticities.png")
    before.save_picture("out/vehicle_comfort.png", t=0.12)
    before.save_page("out/vehicle_comfort.html", plots=[["front.travel", "rear.travel"]])
    print("wrote out/vehicle_comfort.png, out/vehicle_comfort_plot.png and out/vehicle_comfort.html")
