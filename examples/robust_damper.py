"""A damper for a car that may be empty or full: the best for the worst case, on soft and hard tyres, beside the best for one case.

python examples/robust_damper.py
"""

from pathlib import Path

import jourdain as jd


def quarter_car() -> jd.Model:
    """A body on a wheel on a tyre; the road rises by 5 cm."""
    m = jd.Model("quarter car", gravity=(0, 0, 0))  # heights are those above rest
    mass = m.parameter("load", 0.0, "kg", bounds=(0.0, 300.0)) + 250.0
    wheel = m.body("wheel", mass="35 kg", shape=jd.cylinder(0.3, 0.18, axis="y"), colour="#3d444d")
    body = m.body("body", mass=mass, shape=jd.box(0.9, 0.5, 0.16).at(0, 0, 0.08), colour="#4269d0")
    axle = m.prismatic("axle", m.ground, wheel, axis="z")
    m.prismatic("strut", wheel.frame("mount", (0, 0, 0.6)), body, axis="z")
    damper = m.parameter("damper", 1500.0, "N s/m", bounds=(300.0, 6000.0))
    m.spring("suspension", wheel, body, stiffness="18 kN/m", length=0.6, damping=damper)
    tyre, road = m.parameter("tyre", 180e3, "N/m"), 0.05
    m.force(axle, -tyre * (axle.position - road))
    m.sensor("seat", body)
    return m


if __name__ == "__main__":
    s = quarter_car().compile()
    step = jd.Analysis(s, "simulate", {}, t=3.0, rtol=1e-8)
    ride = {"ride": jd.criteria.rms("seat.acceleration.z")}
    cases = {"empty": {"load": 0}, "full": {"load": "300 kg"}, "soft tyres": {"tyre": "-25 %"}, "hard tyres": {"tyre": "+25 %"}}

    alone = jd.Problem(step, ["damper"], ride).optimise()
    mean = jd.Problem(jd.Scenarios(step, cases), ["damper"], ride).optimise()
    worst = jd.Problem(jd.Scenarios(step, cases, by="worst"), ["damper"], ride).optimise()
    print(worst)
    every = jd.Scenarios(step, cases)
    for name, best in (("for the empty car", alone), ("for the mean", mean), ("for the worst case", worst)):
        each = [step.evaluate(ride, every.values_in(c, best.values))["ride"] for c in cases]
        print(f"damper {name}: {best.values['damper']:7.1f} N s/m, ride {', '.join(f'{c} {x:.3f}' for c, x in zip(cases, each))} m/s²")

    Path("out").mkdir(exist_ok=True)
    sol = step.run(worst.values)
    sol.plot("seat.acceleration.z", file="out/robust_damper_plot.png")
    sol.save_picture("out/robust_damper.png", t=0.2)
    sol.save_page("out/robust_damper.html", plots=[["axle.displacement", "strut.displacement"]])
    print("wrote out/robust_damper.png, out/robust_damper_plot.png and out/robust_damper.html")
