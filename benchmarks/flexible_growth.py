"""How flexible bodies grow: cost of an evaluation over the nodes of a mesh and over the links of an arm, large meshes beside SciPy, cold and cached starts.

Processor times, minima of repeated runs.

    python -m benchmarks.flexible_growth [nodes] [arms] [large] [start]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import jourdain as jd

st = jd.structures
MATERIAL = st.Material(2.1e9, 0.3, 1000.0)
MESHES = ((11, 2, 2), (36, 4, 4), (200, 6, 6), (2000, 6, 6))
LINKS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LARGE = (110, 16, 16)
#: Orders of elimination that SciPy offers, with the options that suit each.
SYMMETRIC = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
ORDERS: dict[str, dict[str, Any]] = {"MMD_AT_PLUS_A": SYMMETRIC, "COLAMD": {}}
SLIDER_CRANK = """
import time
import jourdain as jd
m = jd.Model("pendulum")
m.revolute("hinge", m.ground, m.body("bob", mass=2.0, com=(0, 0, -0.5)), axis="y")
m.compile().function("state_derivative")
loaded = time.process_time()
m = jd.Model("slider-crank", gravity=(0, 0, 0))
part = jd.structures.beam((0, 0, 0), (0.305, 0, 0), section=jd.structures.circle(0.0064), material=jd.structures.Material(2.0e11, 0.3, 7705.0), elements=10)
crank = m.body("crank", mass=0.0378, com=(0.076, 0, 0), inertia=(1.9e-7, 7.324e-5, 7.324e-5))
rod = m.flexible_body("rod", part, frame="pinned", modes=2, bending="y")
slider = m.body("slider", mass=0.0626, inertia=(4.18e-6,) * 3)
main = m.revolute("main", m.ground, crank, axis="z")
m.universal("pin", crank.at(0.152, 0, 0), rod.node("start"), axes=("z", "y"))
m.spherical("wrist", rod.node("end"), slider, cut=True)
m.prismatic("guide", m.ground, slider, axis="x")
m.drive(main, lambda t: 125.7 * t)
described = time.process_time()
s = m.compile()
s.function("state_derivative")
print(loaded, described - loaded, time.process_time() - described)
"""


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time of a call, s, and what it gives."""
    begin = time.process_time()
    found = run()
    return time.process_time() - begin, found


def alternately(calls: Sequence[Callable[[], Any]], repeat: int = 40, share: float = 2e-3) -> list[float]:
    """The shortest time of each call, s; they take turns, so that a busy machine is busy for all of them."""
    often = [max(1, int(share / max(seconds(call)[0], 1e-7))) for call in calls]
    best = [np.inf] * len(calls)
    for _ in range(repeat):
        for i, (call, n) in enumerate(zip(calls, often, strict=True)):
            begin = time.process_time()
            for _ in range(n):
                call()
            best[i] = min(best[i], (time.process_time() - begin) / n)
    return best


def evaluation(s: Any, name: str = "state_derivative") -> tuple[int, Callable[[], Any]]:
    """Operations of a function, and a call of it near the undeformed state."""
    f, rng = s.function(name), np.random.default_rng(0)
    q, v, a = (0.01 * rng.normal(size=s.nv) for _ in range(3))
    known = {"q": q, "v": v, "a": a, "t": np.zeros(1), "x": np.concatenate([1e-2 * q, v]), "u": np.zeros(s.nu)}
    given = tuple(known[n] for n in f.inputs)
    return f.signature.operations.flops, lambda: f(*given)


# --- nodes -------------------------------------------------------------------------------------------------------


def crooked_bar(cells: tuple[int, int, int]) -> st.Structure:
    """A bar without any symmetry: no integral over it vanishes, whatever the mesh."""
    block = st.block((0.5, 0.03, 0.02), cells, MATERIAL)
    x, y, z = block.nodes.T
    places = np.column_stack([x + 0.2 * y - 0.1 * z, y * (1 - 0.5 * x) + 0.1 * x**2, z * (1 - 0.3 * x) - 0.07 * x**2 + 0.1 * x * y])
    part = st.solid(places, block.elements[0].nodes, MATERIAL, name="bar")  # type: ignore[attr-defined]
    part.interface("left", block.sets["x-"])
    part.interface("right", block.sets["x+"])
    return part


def nodes() -> None:
    """A pendulum of 14 modes: one evaluation for meshes of 10² to 10⁵ nodes."""
    made = []
    for cells in MESHES:
        part = crooked_bar(cells)
        m = jd.Model("pendulum")
        bar = m.flexible_body("bar", part.craig_bampton(8))
        m.revolute("hinge", m.ground, bar.node("left"), axis="y")
        made.append((len(part.nodes), *evaluation(m.compile())))
    times = alternately([call for *_, call in made])
    print("evaluation over nodes, 14 modes: nodes, operations, µs, ratio")
    for (count, operations, _), found in zip(made, times, strict=True):
        print(f"{count:8d} {operations:7d} {1e6 * found:8.3f} {found / times[0]:6.3f}", flush=True)


# --- links -------------------------------------------------------------------------------------------------------


def arms() -> None:
    """Arms of 1 to 256 flexible links: one evaluation, and the exponent between neighbours and over all."""
    for name in ("inverse_dynamics", "state_derivative"):
        made = [(n, *evaluation(jd.library.flexible_arm(links=n, functions=1).compile(), name)) for n in LINKS]
        times = np.array(alternately([call for *_, call in made], repeat=25))
        slope = np.polyfit(np.log(LINKS), np.log(times), 1)[0]
        print(f"{name}: links, operations, µs, exponent; over all {slope:.3f}")
        steps = ["", *(f"{x:.2f}" for x in np.diff(np.log(times)) / np.diff(np.log(LINKS)))]
        for (n, operations, _), found, step in zip(made, times, steps, strict=True):
            print(f"{n:5d} {operations:8d} {1e6 * found:9.3f} {step}", flush=True)


# --- large meshes ------------------------------------------------------------------------------------------------


def large() -> None:
    """A mesh of some 10⁵ freedoms read and reduced to 20 modes and 12 static shapes, beside a factor and 20 modes of bare SciPy."""
    part = st.block((0.5, 0.06, 0.04), LARGE, MATERIAL, name="bar")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part.npz"
        part.save(path)
        reading, read = seconds(lambda: st.read(path))
    for name, where in (("left", "x-"), ("right", "x+")):
        read.interface(name, read.sets[where])
    reducing, body = seconds(lambda: read.craig_bampton(20))
    print(f"{len(part.dofs)} freedoms: read {reading:.1f} s, reduced to {body.modes} coordinates {reducing:.1f} s", flush=True)
    free = np.setdiff1d(np.arange(len(part.dofs)), part.dofs.of(np.concatenate([part.sets["x-"], part.sets["x+"]])))
    K, M = (sp.csc_matrix(sp.csc_matrix(A)[free][:, free]) for A in (part.K, part.M))
    for order, options in ORDERS.items():
        factoring, lu = seconds(lambda order=order, options=options: sla.splu(K, permc_spec=order, **options))  # type: ignore[misc]
        inverse = sla.LinearOperator(K.shape, matvec=lu.solve, dtype=float)
        solving, _ = seconds(lambda inverse=inverse: sla.eigsh(K, 20, M, sigma=0.0, OPinv=inverse))  # type: ignore[misc]
        ratio = (reading + reducing) / (factoring + solving)
        print(f"  SciPy, {order}: splu {factoring:.1f} s, eigsh {solving:.1f} s; ours / SciPy {ratio:.2f}", flush=True)


# --- start -------------------------------------------------------------------------------------------------------


def start() -> None:
    """The slider-crank with a flexible rod in fresh processes, with an empty cache and with its code kept."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "JOURDAIN_CACHE": folder,
            "PYTHONPYCACHEPREFIX": folder,
        }  # bytecode is kept, as in an installed package
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        found = [
            [float(x) for x in subprocess.run([sys.executable, "-c", SLIDER_CRANK], env=environment, capture_output=True, text=True, check=True).stdout.split()]
            for _ in range(6)
        ]  # fmt: skip
    for label, row in (("cold", found[0]), ("cached", list(np.min(found[1:], axis=0)))):
        print(
            f"slider-crank, {label}: modules and a first pendulum {1e3 * row[0]:.0f} ms, SciPy, description and reduction {1e3 * row[1]:.0f} ms, derive + compile {1e3 * row[2]:.0f} ms"
        )


PARTS = {"nodes": nodes, "arms": arms, "large": large, "start": start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    for name in parser.parse_args().parts or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
