"""One front, wherever its runs are done: in this process, in others, or on a cluster; killed midway, the same call goes on.

python examples/cluster.py
python examples/cluster.py tcp://ADDRESS:8786  # of a Dask scheduler
"""

import sys
from pathlib import Path

import jourdain as jd
from jourdain.library import plane_vehicle

CRITERIA = {
    "comfort": jd.criteria.integral("t^2*driver.acceleration.z^2"),
    "travel": jd.criteria.integral("(front.travel/s)^6 + (rear.travel/s)^6", s=0.08),
}


def vehicle() -> jd.Model:
    """The plane vehicle over its bump, with linear dampers."""
    return plane_vehicle(damper="linear")


if __name__ == "__main__":
    # a cluster is a word: "processes", "processes:4", or the address that `dask scheduler` prints
    where = next((a for a in sys.argv[1:] if a.startswith("tcp://")), 2)
    bump = jd.Analysis(vehicle().compile(), "simulate", {}, t=3.0)
    problem = jd.Problem(bump, ["d_F", "d_R"], CRITERIA)
    Path("out").mkdir(exist_ok=True)
    store = Path("out/cluster.db")

    # every design is committed when it is done: stop this with Ctrl-C, or kill a worker, and call it again
    front = problem.pareto(method="nsga2", population=16, generations=6, seed=1, workers=where, store=store, progress=False)
    again = problem.pareto(method="nsga2", population=16, generations=6, seed=1, store=store, progress=False)
    same = [d.values for d in front] == [d.values for d in again]
    print(f"{len(front)} designs by workers = {where}; the same to the last bit from the store: {same}")
    print(front.knee)

    front.plot(file="out/cluster_plot.png")
    sol = bump.run(front.knee.values)
    sol.save_picture("out/cluster.png", t=0.12)
    sol.save_page("out/cluster.html", plots=[["body.z", "seat.displacement"]])
    print("wrote out/cluster.png, out/cluster_plot.png and out/cluster.html")
