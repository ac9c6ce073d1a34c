"""Solids of large deformation: work and memory over their number, and against scikit-fem with SciPy.

python -m benchmarks.solids [slender] [cube] [scikit-fem] [--most N]

Cantilevers of St. Venant–Kirchhoff hexahedra fall from rest.  Times are processor times of a step, the start apart; memory is the largest of the process.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

import numpy as np

import jourdain as jd
from jourdain.elements import Solid, hexahedron, lame
from jourdain.systems.assembled.march import March

YOUNG, POISSON, DENSITY, GRAVITY = 1e6, 0.3, 1e3, 9.81
CORNERS = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
Block = tuple[tuple[int, int, int], tuple[float, float, float], float]


def slender(count: int) -> Block:
    """Cells, sizes (m) and step (s) of a bar of 2 × 2 cells in its section."""
    return (count // 4, 2, 2), (0.02 * (count // 4), 0.02, 0.02), 0.005


def cube(side: int) -> Block:
    """A cube of 0.1 m."""
    return (side, side, side), (0.1, 0.1, 0.1), 0.01


def system(cells: tuple[int, int, int], size: tuple[float, float, float]) -> jd.AssembledSystem:
    """The cantilever, held at x = 0."""
    _, ny, nz = cells
    lines = [np.linspace(0.0, length, n + 1) for n, length in zip(cells, size, strict=True)]
    places = np.stack(np.meshgrid(*lines, indexing="ij"), -1).reshape(-1, 3)
    i, j, k = (x.ravel() for x in np.meshgrid(*map(range, cells), indexing="ij"))
    table = np.stack([((i + a) * (ny + 1) + j + b) * (nz + 1) + k + c for a, b, c in CORNERS], -1)
    s, held = jd.AssembledSystem("cantilever"), np.flatnonzero(places[:, 0] == 0.0)
    s.mesh(Solid(hexahedron()), "bar", places, table, fixed=held, density=DENSITY, gravity=(0, 0, -GRAVITY), **lame(YOUNG, POISSON))
    return s


def stepped(block: Block, steps: int, tolerance: float = 1e-10) -> tuple[float, float, jd.Solution, int]:
    """Seconds to the first step, seconds a step, the solution, and the entries of the factors."""
    cells, size, h = block
    begun = time.process_time()
    march = March(system(cells, size), steps * h, h, tolerance=tolerance)
    start = time.process_time() - begun
    begun = time.process_time()
    found = march.go().solution
    lu = march.run.lu
    return start, (time.process_time() - begun) / steps, found, 0 if lu is None else lu.fill


def scaling(named: str, blocks: list[Block], steps: int) -> None:
    """A line for each size, and exponents between them."""
    stepped(slender(16), 2)
    last: tuple[int, float] | None = None
    for block in blocks:
        count = int(np.prod(block[0]))
        start, seconds, sol, fill = stepped(block, steps)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        exponent = "" if last is None else f", exponent {np.log(seconds / last[1]) / np.log(count / last[0]):.2f}"
        work = {k: sol.statistics[k] for k in ("iterations", "factorisations", "unknowns")}
        energy = np.ptp(sol["energy.total"]) / max(sol["energy.kinetic"].max(), 1e-300)
        print(
            f"{named} of {count}: start {start:.2f} s, a step {seconds * 1e3:.1f} ms{exponent}; {work}, factors {fill}, energy {energy:.0e} of the kinetic, at most {memory:.2f} GB",
            flush=True,
        )
        last = count, seconds


# -- the same by scikit-fem and SciPy -------------------------------------------------------------------------------------


def forms() -> tuple[Any, Any, Any, Any]:
    """Internal forces, tangent, mass and weight as scikit-fem wants them."""
    from skfem import BilinearForm, LinearForm

    law = lame(YOUNG, POISSON)
    one = np.eye(3).reshape(3, 3, 1, 1)
    strain = lambda F: 0.5 * (np.einsum("ki...,kj...->ij...", F, F) - one)
    stress = lambda E: law["lame"] * np.trace(E) * one + 2.0 * law["shear"] * E

    def inside(v: Any, w: Any) -> Any:
        F = w["u"].grad + one
        return np.einsum("ik...,kj...,ij...->...", F, stress(strain(F)), v.grad)

    def tangent(u: Any, v: Any, w: Any) -> Any:
        F, G = w["u"].grad + one, u.grad
        turned = np.einsum("ki...,kj...->ij...", F, G)
        change = np.einsum("ik...,kj...->ij...", G, stress(strain(F))) + np.einsum(
            "ik...,kj...->ij...", F, stress(0.5 * (turned + np.swapaxes(turned, 0, 1)))
        )
        return np.einsum("ij...,ij...->...", change, v.grad)

    mass = lambda u, v, w: DENSITY * np.einsum("i...,i...->...", u.value, v.value)
    return LinearForm(inside), BilinearForm(tangent), BilinearForm(mass), LinearForm(lambda v, w: -DENSITY * GRAVITY * v.value[2])


def newmark(block: Block, steps: int, modified: bool) -> tuple[float, np.ndarray, int]:
    """Seconds a step, displacements at the end (nodes, 3) and iterations: the trapezoidal rule, Newton's method with a tangent an iteration or (``modified``) a step."""
    from scipy.sparse.linalg import splu
    from skfem import Basis, ElementHex1, ElementVector, MeshHex, asm

    cells, size, h = block
    inside, tangent, mass, weight = forms()
    lines = [np.linspace(0.0, length, n + 1) for n, length in zip(cells, size, strict=True)]
    basis = Basis(MeshHex.init_tensor(*lines), ElementVector(ElementHex1()), intorder=3)
    M, f = asm(mass, basis).tocsc(), asm(weight, basis)
    free = np.setdiff1d(np.arange(basis.N), basis.get_dofs(lambda x: x[0] < 1e-9).flatten())
    factors = lambda A: splu(A[free][:, free].tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    u, v, a = np.zeros((3, basis.N))
    a[free] = factors(M).solve(f[free])
    begun, iterations = time.process_time(), 0
    for _ in range(steps):
        u1, lu = u + h * v + 0.5 * h * h * a, None
        while True:
            w = basis.interpolate(u1)
            a1 = 4.0 / h**2 * (u1 - u) - 4.0 / h * v - a
            r = (M @ a1 + asm(inside, basis, u=w) - f)[free]
            if lu is None or not modified:
                lu = factors(4.0 / h**2 * M + asm(tangent, basis, u=w))
            d = lu.solve(-r)
            u1[free] += d
            iterations += 1
            if np.abs(d).max() < 1e-8 * np.abs(u1 - u).max():
                break
        a1 = 4.0 / h**2 * (u1 - u) - 4.0 / h * v - a
        u, v, a = u1, v + 0.5 * h * (a + a1), a1
    return (time.process_time() - begun) / steps, np.stack([u[dofs] for dofs in basis.nodal_dofs], -1), iterations


def against_scikit_fem(blocks: dict[str, Block], steps: int) -> None:
    """Both with the same mesh and step, the quickest of some runs: their tips must agree as two rules of order 2 do.

    scikit-fem's iterations end when an increment is 1e-8 of the displacement of the step; ours when what is left is 2e-12 of it (energy is then kept to 3e-12).
    """
    stepped(slender(16), 2)
    for named, block in blocks.items():
        ours, sol = min(((x[1], x[2]) for x in (stepped(block, steps, 1e-8) for _ in range(4))), key=lambda x: x[0])
        names = [n for n in sol.names if n.startswith("bar.") and n[4:].isdigit()]
        sunk = min(float(sol[n][-1, 2] - sol[n][0, 2]) for n in names)
        for modified in (False, True):
            theirs, u, iterations = min((newmark(block, steps, modified) for _ in range(2)), key=lambda x: x[0])
            print(
                f"{named}: Jourdain {ours * 1e3:.1f} ms a step, scikit-fem {theirs * 1e3:.0f} ms ({iterations / steps:.1f} iterations, a tangent for each {'step' if modified else 'one'}): "
                f"{theirs / ours:.0f} ×; the tip sinks by {-sunk:.6g} and {-u[:, 2].min():.6g} m",
                flush=True,
            )


if __name__ == "__main__":
    words = [w for w in sys.argv[1:] if not w.startswith("-") and not w.isdigit()] or ["slender", "cube", "scikit-fem"]
    most = int(sys.argv[sys.argv.index("--most") + 1]) if "--most" in sys.argv else 10_000
    if "slender" in words:
        scaling("bar", [slender(n) for n in (100, 1000, 10_000, 100_000) if n <= most], 4)
    if "cube" in words:
        scaling("cube", [cube(n) for n in (5, 8, 10, 14) if n**3 <= most], 20)
    if "scikit-fem" in words:
        against_scikit_fem({"bar of 1000": slender(1000), "cube of 1000": cube(10)}, 6)
