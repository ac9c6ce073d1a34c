"""Exports of models with flexible bodies: structures travel as constants, and other languages give the numbers of native code."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.io.export import export_source, export_standalone, exported_function
from tests.io.flexible_models import arm, slider_crank

FUNCTIONS = {
    "slider-crank": [
        "mass_matrix",
        "bias",
        "inverse_dynamics",
        "energy",
        "poses",
        "reactions",
        "descriptor",
        "constraints",
        "frame:rod.end",
    ],
    "arm": ["mass_matrix", "bias", "inverse_dynamics", "energy", "poses", "state_derivative", "frame:link.middle"],
}
BUILD: dict[str, Callable[[], jd.Model]] = {"slider-crank": slider_crank, "arm": arm}


def inputs_of(system: jd.System, function: Any, rng: np.random.Generator) -> list[np.ndarray]:
    """Numbers for every argument of a function, at a random state."""
    given = {"q": rng.uniform(-0.3, 0.3, system.nq), "v": rng.uniform(-5, 5, system.nv), "a": rng.uniform(-5, 5, system.nv)}
    given |= {
        "t": np.array([0.003]),
        "z": np.zeros(system.nz),
        "u": system.input_values(),
        "x": rng.uniform(-0.3, 0.3, system.nq + system.nv),
    }
    given |= {"lam": rng.uniform(-5, 5, len(system.equations_of_motion.rows))}
    return [given[a.name] if a.name in given else rng.uniform(-5, 5, len(a.symbols)) for a in function.inputs if a.name != "p"]


def native_of(system: jd.System, name: str) -> Any:
    head, _, path = name.partition(":")
    return system.function(head, path=path) if path else system.function(name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_exported_c_gives_the_numbers_of_native_code(
    name: str, tmp_path: Path, tool: Callable[[str], str], rng: np.random.Generator
) -> None:
    system = BUILD[name]().compile()
    written = export_source(system, "c", FUNCTIONS[name], tmp_path)
    sources = [str(p) for p in written if p.suffix == ".c"]
    flags = ["-std=c99", "-pedantic", "-Wall", "-Werror", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
    done = subprocess.run(
        [tool("gcc"), *flags, *sources, "-o", str(tmp_path / "lib.so"), "-lm"], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    library = ctypes.CDLL(str(tmp_path / "lib.so"))
    own = np.array(list(system.parameters.values()))
    for which in FUNCTIONS[name]:
        f, native = exported_function(system, which), native_of(system, which)
        parameters = [s.name for a in f.inputs if a.name == "p" for s in a.symbols]
        assert parameters in ([], list(system.parameters))
        for _ in range(5):
            x = inputs_of(system, f, rng)
            y = [np.full(len(r.expressions), np.nan) for r in f.outputs]
            arrays = [*x, *([own] if parameters else []), *y]
            library[f.name](*(a.ctypes.data_as(ctypes.c_void_p) for a in arrays))
            expected = native(*x)
            for one, two in zip(y, [expected] if len(y) == 1 else expected, strict=True):
                assert np.abs(one - np.ravel(two)).max() <= 1e-14 * max(1.0, float(np.abs(two).max()))


def test_exported_python_gives_the_numbers_of_native_code(tmp_path: Path, rng: np.random.Generator) -> None:
    system = slider_crank().compile()
    (path,) = export_source(system, "python", ["descriptor"], tmp_path)
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    f = exported_function(system, "descriptor")
    x = inputs_of(system, f, rng)
    for one, two in zip(scope["descriptor"](*x), system.function("descriptor")(*x), strict=True):
        assert np.abs(np.ravel(one) - np.ravel(two)).max() <= 1e-14 * max(1.0, float(np.abs(two).max(initial=0.0)))


def test_exported_matlab_gives_the_numbers_of_native_code(tmp_path: Path, tool: Callable[[str], str], rng: np.random.Generator) -> None:
    system = slider_crank().compile()
    octave = tool("octave")
    export_source(system, "matlab", ["mass_matrix"], tmp_path)
    q = rng.uniform(-0.3, 0.3, system.nq)
    call = f"M = mass_matrix([{' '.join(map(repr, q.tolist()))}]); printf('%.17g ', M');"
    done = subprocess.run([octave, "--no-gui", "--quiet", "--eval", call], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    found = np.array(done.stdout.split(), dtype=float).reshape(system.nv, system.nv)
    M = system.mass_matrix(q)
    assert np.abs(found - M).max() <= 1e-14 * max(1.0, np.abs(M).max())


@pytest.mark.parametrize("name", BUILD)
def test_standalone_programs_run_as_the_solver_does(name: str, tmp_path: Path, tool: Callable[[str], str]) -> None:
    system = BUILD[name]().compile()
    start = system.assemble() if system.equations_of_motion.rows else system.state({"hinge": 0.3})
    t, step = (0.002, 2e-6) if name == "slider-crank" else (0.02, 2e-5)
    source = export_standalone(system, tmp_path / "program.c", start, t=t, step=step)
    program = tmp_path / "program"
    subprocess.run([tool("gcc"), "-O1", str(source), "-o", str(program), "-lm"], check=True, timeout=240)
    printed = subprocess.run([str(program)], capture_output=True, text=True, timeout=240, check=True).stdout
    heading, *rows = printed.splitlines()
    names, found = heading.split(","), np.loadtxt(rows, delimiter=",")
    sol = system.simulate(start, t, method="rk4", step=step)
    expected = np.column_stack([sol.t, *(sol[n] for n in names[1:-1]), sol["energy.total"]])
    for column, (one, two) in enumerate(zip(found.T, expected.T, strict=True)):
        assert np.abs(one - two).max() <= 1e-10 * max(1.0, np.abs(two).max()), names[column]
