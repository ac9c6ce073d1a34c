"""Two checkouts of the package side by side, interleaved in one run: ``python -m benchmarks.side_by_side OLD NEW``.

Each figure is the least of several rounds in fresh processes, both in turn; the ratio new : old is what counts, because both see the same machine.
"Cold" rounds begin with an empty cache of machine code; bytecode is there in all of them, as in an installed package.  On a busy machine (load
average above 0.8) processor time is compared instead of wall time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

#: Rounds by kept machine code, and from an empty cache.
WARM, COLD = 5, 3

WORKER = r"""
import json, sys, time
clock = getattr(time, sys.argv[1])
begun = clock()
import jourdain as jd
found = {"import": clock() - begun}
import warnings
warnings.simplefilter("ignore")
import numpy as np
from jourdain import library


def best(f, rounds, inner=1):
    f()
    return min(timed(f, inner) for _ in range(rounds))


def timed(f, inner):
    t = clock()
    for _ in range(inner):
        f()
    return (clock() - t) / inner


begun = clock()
pendulum = library.pendulum().compile()
pendulum.simulate({"hinge.angle": 1.0}, 1.0)
found["pendulum, first second"] = clock() - begun
found["pendulum, a second"] = best(lambda: pendulum.simulate({"hinge.angle": 1.0}, 1.0), 10, 20)
begun = clock()
s = library.four_bar().compile()
x = s.assemble({"crank.angle": 0.9}, velocities={"crank.angle_rate": 3.0})
s.simulate(x, 1.0)
found["four-bar, first second"] = clock() - begun
found["four-bar, a second"] = best(lambda: s.simulate(x, 1.0), 10, 5)
found["four-bar, equal output"] = best(lambda: s.simulate(x, 1.0, outputs=100), 10, 5)
sol = s.simulate(x, 1.0)
found["four-bar, reactions read"] = best(lambda: s.simulate(x, 1.0)["crank.reaction"], 10, 3)
found["double pendulum, radau"] = best(lambda d=library.double_pendulum().compile(): d.simulate({"shoulder.angle": 1.0}, 1.0, "radau"), 5, 3)
c = library.four_bar().compile(formulation="cartesian")
found["four-bar, Cartesian, read"] = best(lambda: c.simulate(x, 0.5)["crank.angle"], 5, 2)
d = library.four_bar().compile(formulation="directors")
found["four-bar, directors, read"] = best(lambda: d.simulate(x, 0.5, step=0.01)["crank.angle"], 5, 2)
from jourdain.library.car import car as build_car
car = build_car().compile()
y = car.assemble({})
found["car, 0.2 s"] = best(lambda: car.simulate(y, 0.2), 5)
q = np.random.default_rng(0).normal(size=(2000, 2))
p = library.double_pendulum().compile()
found["inverse dynamics, 2000 states"] = best(lambda: p.inverse_dynamics(q, q, q), 20, 5)
q1 = q[0].copy()
found["inverse dynamics, one state"] = best(lambda: p.inverse_dynamics(q1, q1, q1), 20, 200)
begun = clock()
loops = library.n_four_bar(100).compile()
z = loops.assemble({"A0.angle": 0.3}, velocities={"A0.angle_rate": -1.0})
loops.simulate(z, 0.02)
found["100 coupled loops, first run"] = clock() - begun
found["100 coupled loops, assembly"] = best(lambda: loops.assemble({"A0.angle": 0.3}, velocities={"A0.angle_rate": -1.0}), 2)
found["100 coupled loops, 0.02 s"] = best(lambda: loops.simulate(z, 0.02), 5)
import resource
found["memory, MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
print(json.dumps(found))
"""


def measured(checkout: str, cache: str, bytecode: str, clock: str) -> dict[str, float]:
    """Figures of one process with a checkout."""
    environment = {**os.environ, "PYTHONPATH": checkout, "XDG_CACHE_HOME": cache, "PYTHONPYCACHEPREFIX": bytecode}
    for name in ("PYTHONDONTWRITEBYTECODE", "JOURDAIN_CACHE"):  # an installed package has its bytecode; a cache of each checkout's own
        environment.pop(name, None)
    done = subprocess.run([sys.executable, "-c", WORKER, clock], capture_output=True, text=True, env=environment, cwd=cache)
    if done.returncode:
        raise SystemExit(f"{checkout}: {done.stderr[-2000:]}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Prints the table."""
    if len(sys.argv) != 3:
        raise SystemExit("usage: python -m benchmarks.side_by_side OLD_CHECKOUT NEW_CHECKOUT")
    clock = "process_time" if os.getloadavg()[0] > 0.8 else "perf_counter"
    best: list[dict[str, float]] = [{}, {}]
    cold: list[dict[str, float]] = [{}, {}]
    with tempfile.TemporaryDirectory() as folder:
        # the first round makes bytecode, and the cache of the warm ones
        for round_ in range(1 + WARM + COLD):
            for i, checkout in enumerate(sys.argv[1:]):
                cache = os.path.join(folder, f"{i} {max(0, round_ - WARM)}")
                os.makedirs(cache, exist_ok=True)
                found = measured(checkout, cache, os.path.join(folder, f"bytecode {i}"), clock)
                kept = best if round_ <= WARM else cold
                if round_:
                    kept[i] = {k: min(x, kept[i].get(k, x)) for k, x in found.items()}
    print(f"{clock:34s} {'old':>10s} {'new':>10s} {'new/old':>8s}")
    for title, (old, new) in (("warm", best), ("cold", cold)):
        names = [n for n in old if n in new and (title == "warm" or "first" in n)]
        for name in names:
            unit, scale = ("MB", 1.0) if "MB" in name else ("ms", 1e3)
            print(f"{title} {name:29s} {scale * old[name]:9.3f} {scale * new[name]:9.3f} {unit} {new[name] / old[name]:7.2f}")


if __name__ == "__main__":
    main()
