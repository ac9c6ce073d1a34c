"""Overriding: two cars run into a wall with ends 6 cm apart in height, and one climbs onto the other unless anti-climbers hold it.

python examples/overriding.py
"""

from pathlib import Path

import jourdain as jd


def overriding() -> jd.Model:
    """Cars on bogies, wheels that may leave the rail, side buffers; no anti-climbers."""
    return jd.library.spatial_train(cars=2, speed="40 km/h", lift=0.06, anti_climbers=False)


def held() -> jd.Model:
    """The same with anti-climbers."""
    return jd.library.spatial_train(cars=2, speed="40 km/h", lift=0.06, anti_climbers=True)


if __name__ == "__main__":
    options = {"rtol": 1e-5, "atol": 1e-7}
    other = held().compile().simulate(None, 1.0, **options)
    sol = overriding().compile().simulate(None, 1.0, **options)
    for word, run in (("without", sol), ("with", other)):
        print(f"{word} anti-climbers: ends move by {run['interface1.climb'].max():.2f} m, wheels rise by {run['car2.lifted'].max():.3f} m")

    Path("out").mkdir(exist_ok=True)
    sol.plot("interface1.climb", "car2.tail.left.force", "car2.lifted", file="out/overriding_plot.png")
    sol = sol.resample(200)
    sol.save_picture("out/overriding.png", t=0.5)
    sol.save_page("out/overriding.html", plots=["interface1.climb", "car2.nose.left.force"])
    print("wrote out/overriding.png, out/overriding_plot.png and out/overriding.html")
