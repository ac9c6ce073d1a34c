"""Tree dynamics against the peers at their best, on one thread: Pinocchio as header-only C++ for this machine, the C that CasADi writes from
Pinocchio's algorithms, and MuJoCo's functions in C, each called state after state without Python; ours as scalar code in a native loop and in batches of several
sizes.  Mechanisms written by hand in C are a peer of :mod:`benchmarks.mechanisms`.

It needs g++, gcc and Eigen (Debian's libeigen3-dev) and the extra 'peers'; compiling Pinocchio takes some minutes once.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dynamics import ROBOTS, urdf_path
from benchmarks.native_loop import loop

FUNCTIONS = ("inverse_dynamics", "mass_matrix", "forward_dynamics", "inverse_dynamics_derivatives")
SIZES = (16, 64, 256, 1024, 10_000)
STATES, ROUNDS = 1000, 60
HERE = Path(__file__).parent / "native"
BUILT = Path(os.environ.get("JOURDAIN_PEERS", Path.home() / ".cache" / "jourdain-peers"))
#: As Pinocchio's own build files set them.
DEFINED = (
    "BOOST_MPL_LIMIT_LIST_SIZE=30",
    "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "BOOST_FUSION_INVOKE_MAX_ARITY=12",
)


def least(f: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Processor time of one call, s: the least of several."""
    found = []
    for _ in range(rounds):
        begun = time.process_time()
        f()
        found.append(time.process_time() - begun)
    return min(found)


def made(target: Path, sources: list[Path], command: list[str]) -> Path:
    """A file compiled from others, unless it is newer than they are."""
    if not target.exists() or any(target.stat().st_mtime < s.stat().st_mtime for s in sources):
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(command, check=True)
    return target


def programs() -> tuple[Path, Path]:
    """Pinocchio in C++ for this machine, and the program that lets CasADi write C."""
    import casadi
    import pinocchio

    if not (shutil.which("g++") and shutil.which("gcc")):
        raise ImportError("g++ and gcc are not installed")
    prefix = next(p / "cmeel.prefix" for p in Path(pinocchio.__file__).parents if (p / "cmeel.prefix").is_dir())
    own = Path(casadi.__file__).parent
    common = ["g++", "-std=c++17", "-DNDEBUG", *(f"-D{d}" for d in DEFINED), f"-I{prefix}/include", "-I/usr/include/eigen3", "-c"]
    source, reader = HERE / "pinocchio_peer.cpp", HERE / "pinocchio_read.cpp"
    read, peer, writer = (BUILT / f"{name}.o" for name in ("read", "peer", "writer"))
    made(read, [reader], [*common, "-O0", str(reader), "-o", str(read)])
    made(peer, [source], [*common, "-O3", "-march=native", str(source), "-o", str(peer)])
    made(writer, [source], [*common, "-O0", "-DPEER_CASADI", f"-I{own}/include", str(source), "-o", str(writer)])
    # of functions that both have the linker takes the first: those compiled for speed
    paths = [f"-L{prefix}/lib", "-lboost_serialization", f"-Wl,-rpath,{prefix}/lib"]
    fast = made(BUILT / "fast", [peer, read], ["g++", str(peer), str(read), "-o", str(BUILT / "fast"), *paths])
    libraries = [f"-L{own}", "-lcasadi", f"-Wl,-rpath,{own}"]
    writes = made(BUILT / "writes", [writer, read], ["g++", str(writer), str(read), "-o", str(BUILT / "writes"), *paths, *libraries])
    return fast, writes


def saved_model(name: str) -> Path:
    """A robot as Pinocchio writes it."""
    import pinocchio as pin

    file, base = ROBOTS[name]
    path = str(urdf_path(file))
    model = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()) if base == "free" else pin.buildModelFromUrdf(path)
    folder = BUILT / name
    folder.mkdir(parents=True, exist_ok=True)
    model.saveToText(str(folder / "model.txt"))
    return folder / "model.txt"


def pinocchio_us(program: Path, model: Path) -> dict[str, float]:
    """µs a state of Pinocchio in C++."""
    printed = subprocess.run([program, "time", model, str(STATES), str(ROUNDS)], capture_output=True, text=True, check=True).stdout
    return {line.split()[0]: float(line.split()[1]) for line in printed.splitlines()}


def casadi_functions(program: Path, model: Path) -> dict[str, Any]:
    """The loops over CasADi's C, compiled for this machine."""
    folder = model.parent
    if not all((folder / f"{f}.c").exists() for f in FUNCTIONS):
        subprocess.run([program, "write", model, folder], check=True)
    found = {}
    for name in FUNCTIONS:
        sources = [folder / f"{name}.c", HERE / "casadi_loop.c"]
        command = [
            "gcc",
            "-O3",
            "-march=native",
            "-ffast-math",
            "-fPIC",
            "-shared",
            f"-DNAME={name}",
            *map(str, sources),
            "-o",
            str(folder / f"{name}.so"),
        ]
        found[name] = ctypes.CDLL(str(made(folder / f"{name}.so", sources, command))).loop
    return found


def casadi_us(functions: dict[str, Any], nq: int, nv: int, given: tuple[np.ndarray, np.ndarray, np.ndarray]) -> dict[str, float]:
    """µs a state of CasADi's C in a C loop."""
    sizes = {
        "inverse_dynamics": (nv, 1),
        "mass_matrix": (nv * nv, 1),
        "forward_dynamics": (nv, 1),
        "inverse_dynamics_derivatives": (2 * nv * nv, 2),
    }
    found = {}
    q, v, a = (x.ctypes.data_as(ctypes.c_void_p) for x in given)
    for name, f in functions.items():
        size, parts = sizes[name]
        out = np.zeros((STATES, size))
        numbers = [ctypes.c_longlong(x) for x in (STATES, nq, nv, size, parts)]
        at = out.ctypes.data_as(ctypes.c_void_p)
        found[name] = least(lambda f=f, n=numbers, at=at: f(n[0], q, n[1], v, a, n[2], at, n[3], n[4])) / STATES * 1e6
    return found


def ours_us(system: Any, name: str, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, float]:
    """µs a state of our function: scalar code in a native loop over as many states, and batches."""
    f = system.function(name)
    given = [q] if name == "mass_matrix" else [q, v, a]
    outs = [np.empty((len(q), *shape)) for shape in f.outputs.values()]
    sizes = np.array([x.shape[-1] for x in given] + [o[0].size for o in outs], dtype=np.int64)
    args = f.arguments(*given, *outs)
    found = {"scalar": least(lambda: loop(f.address, args.copy(), sizes, STATES)) / STATES * 1e6}
    for n in SIZES:
        few, out = [x[:n] for x in given], [o[:n] for o in outs]
        calls = max(1, 2000 // n)

        def run(f: Any = f, few: Any = few, out: Any = out, calls: int = calls) -> None:
            for _ in range(calls):
                f(*few, out=out[0] if len(out) == 1 else tuple(out))

        found[str(n)] = least(run) / (n * calls) * 1e6
    return found


def measure(name: str, fast: Path, writes: Path) -> dict[str, Any]:
    """All figures of one robot; the UR5's values are compared, too."""
    from jourdain.io import read_urdf

    file, base = ROBOTS[name]
    system = read_urdf(urdf_path(file), base=base, meshes=False).compile()
    rng = np.random.default_rng(0)
    q = np.ascontiguousarray(system.configuration.random(rng, SIZES[-1]))
    v, a = rng.normal(size=(SIZES[-1], system.nv)), rng.normal(size=(SIZES[-1], system.nv))
    model = saved_model(name)
    c_functions = casadi_functions(writes, model)
    if name == "ur5":
        out = np.zeros((1, system.nv))
        pointer = [x.ctypes.data_as(ctypes.c_void_p) for x in (q, v, a, out)]
        numbers = [ctypes.c_longlong(x) for x in (1, system.nq, system.nv, system.nv, 1)]
        c_functions["inverse_dynamics"](
            numbers[0], pointer[0], numbers[1], pointer[1], pointer[2], numbers[2], pointer[3], numbers[3], numbers[4]
        )
        np.testing.assert_allclose(out[0], system.function("inverse_dynamics")(q[0], v[0], a[0]), rtol=1e-9, atol=1e-9)
    from benchmarks.peers_mujoco_c import MuJoCo, ours_step_us

    mujoco = MuJoCo(name)
    first, second, third = pinocchio_us(fast, model), casadi_us(c_functions, system.nq, system.nv, (q, v, a)), mujoco.us()
    if name == "ur5":
        forces = np.zeros((STATES, system.nv))
        mujoco.run(0, STATES, mujoco.q, mujoco.v, mujoco.a, forces)
        np.testing.assert_allclose(forces, system.function("inverse_dynamics")(mujoco.q, mujoco.v, mujoco.a), atol=1e-11)
    figures = {f: {"pinocchio": first[f], "casadi": second[f], "mujoco": third.get(f), **ours_us(system, f, q, v, a)} for f in FUNCTIONS}
    return {"robot": name, "rollout": mujoco.rollout_us(), "step": ours_step_us(system)} | figures


def run(quick: bool = False) -> dict[str, Any]:
    """All robots; prints a table and returns the figures."""
    from rich.console import Console
    from rich.table import Table

    os.environ["JOURDAIN_THREADS"] = "1"
    fast, writes = programs()
    figures = {"robots": [measure(n, fast, writes) for n in (("ur5",) if quick else ROBOTS)]}
    del os.environ["JOURDAIN_THREADS"]
    table = Table(title="µs a state on one thread; in brackets the best peer's time over ours")
    for column in ("robot", "function", "Pinocchio C++", "CasADi's C", "MuJoCo C", "scalar", *(f"batch {n}" for n in SIZES)):
        table.add_column(column, justify="right")
    for r in figures["robots"]:
        for f in FUNCTIONS:
            d = r[f]
            best = min(d["pinocchio"], d["casadi"], d["mujoco"] or np.inf)
            ours = [f"{d[k]:.3f} ({best / d[k]:.2f})" for k in ("scalar", *map(str, SIZES))]
            table.add_row(r["robot"], f, f"{d['pinocchio']:.3f}", f"{d['casadi']:.3f}", f"{d['mujoco']:.3f}" if d["mujoco"] else "–", *ours)
    console = Console(width=190)
    console.print(table)
    for r in figures["robots"]:
        console.print(f"{r['robot']}: a step of Euler's method by mujoco.rollout {r['rollout']:.2f} µs, by simulate {r['step']:.2f} µs")
    return figures


if __name__ == "__main__":
    run()
