"""Trains that meet head-on: what must be crushed so that passengers feel less, as a front of designs by evolution.

python examples/train_front.py
"""

from pathlib import Path

import jourdain as jd

lib = jd.library


def head_on() -> jd.Model:
    """Half of a head-on crash at 55 km/h: three cars against a wall, low-energy devices between them, a high-energy device at the front."""
    low = lib.crush_device(levels=["1 MN", "1.5 MN"], ends=[0.3, 0.6], stiffness="100 MN/m", name="low")
    high = lib.crush_device(levels=["1.5 MN", "2.5 MN"], ends=[0.6, 1.2], stiffness="100 MN/m", name="high")
    train = lib.train(masses=["40 t", "45 t", "50 t"], couplers=low, front=high)
    return lib.barrier(train, speed="27.5 km/h")


if __name__ == "__main__":
    m = head_on()
    crash = jd.Analysis(m.compile(), "simulate", {}, t=0.5)
    levels = {
        "front.level1": ("0.8 MN", "3 MN"),
        "front.level2": ("1.5 MN", "4 MN"),
        "coupler.level1": ("0.6 MN", "2 MN"),
        "coupler.level2": ("1 MN", "3 MN"),
    }
    measured = {
        "deceleration": jd.criteria.moving_average("abs(car2.displacement_acc)", "30 ms"),
        "crush": jd.criteria.largest("front.crush + coupler1.crush + coupler2.crush"),
    }
    problem = jd.Problem(crash, levels, measured)
    front = problem.pareto("nsga2", population=16, generations=6, seed=1, progress=False)
    print(front)
    best = front.knee
    print(best)

    sol = best.run()
    Path("out").mkdir(exist_ok=True)
    front.plot(file="out/train_front_plot.png")
    sol = sol.resample(200)
    sol.save_picture("out/train_front.png", t=0.4)
    sol.save_page("out/train_front.html", plots=["front.force", "coupler1.force"])
    print("wrote out/train_front.png, out/train_front_plot.png and out/train_front.html")
