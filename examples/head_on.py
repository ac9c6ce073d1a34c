"""Two trains of three cars meet: what is crushed, what the cars feel, how hard passengers strike the seat in front.

python examples/head_on.py
"""

from pathlib import Path

import jourdain as jd

lib = jd.library


def head_on() -> jd.Model:
    """Low-energy devices between cars, high-energy devices at the fronts, 55 km/h between the trains."""
    LE = lib.crush_device(levels=["1 MN", "1.5 MN", "2 MN"], ends=[0.1, 0.3, 0.6], stiffness="100 MN/m", traction="1 MN", name="LE")
    HE = lib.crush_device(levels=["1.5 MN", "2 MN", "2.5 MN"], ends=[0.2, 0.6, 1.2], stiffness="100 MN/m", name="HE")
    train = lib.train(masses=["40 t", "45 t", "50 t"], couplers=LE, front=HE)
    return lib.head_on(train, train, speed="55 km/h")


if __name__ == "__main__":
    sol = head_on().compile().simulate(t=0.8)
    print(lib.crash_measures(sol))

    Path("out").mkdir(exist_ok=True)
    sol.plot("a.car1.displacement_rate", "a.car3.displacement_rate", "front.force", "a.coupler2.force", file="out/head_on_plot.png")
    sol = sol.resample(200)
    sol.save_picture("out/head_on.png", t=0.6)
    sol.save_page("out/head_on.html", plots=["front.force", "front.crush"])
    print("wrote out/head_on.png, out/head_on_plot.png and out/head_on.html")
