"""Kernels compiled with bounds checks: leaving a view ends the program with the place in the source, and the package's kernels never do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jourdain.native import bounds
from tests.conftest import ROOT

PROGRAM = """
import sys
import numpy as np
from jourdain.native.kernel import jit

@jit
def entry(a, i):
    return a[i]

@jit
def put(a, i):
    a[i] = 1.0

@jit
def part(a, first, last):
    return a[first:last].size

@jit
def cell(m, i, j):
    return m[i, j]

a, m = np.ones(5), np.ones((2, 3))
assert (entry(a, 4), part(a, 2, 5), part(a, 5, 5), cell(m, 1, 2), put(a, 0)) == (1.0, 3, 0, 1.0, None)
eval(sys.argv[1])
print("ran")
"""

WRONG = {
    "entry(a, 5)": "kernel entry: index 5 of a view of 5", "entry(a, -1)": "kernel entry: index -1 of a view of 5",
    "put(a, 5)": "kernel put: index 5 of a view of 5", "part(a, 3, 2)": "kernel part: slice 3:2 of a view of 5",
    "part(a, 2, 6)": "kernel part: slice 2:6 of a view of 5", "cell(m, 2, 0)": "kernel cell: index 2 of a view of 2",
    "cell(m, 0, 3)": "kernel cell: index 3 of a view of 3",
}  # fmt: skip


def run(*words: str, checks: str = "1") -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"JOURDAIN_BOUNDS": checks, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)


@pytest.mark.skipif(os.name != "posix", reason="how a program ends")
@pytest.mark.parametrize("wrong", WRONG)
def test_leaving_a_view_ends_the_program_by_name(wrong: str, tmp_path: Path) -> None:
    program = tmp_path / "kernels.py"
    program.write_text(PROGRAM)
    done = run(str(program), wrong)
    assert done.returncode < 0 and "kernels.py:" in done.stderr and WRONG[wrong] in done.stderr


def test_without_the_option_nothing_is_checked(tmp_path: Path) -> None:
    program = tmp_path / "kernels.py"
    program.write_text(PROGRAM)
    done = run(str(program), "part(a, 2, 6)", checks="0")
    assert done.stdout == "ran\n"


def test_offsets_of_generated_code_are_compared_with_the_sizes_of_arrays() -> None:
    bounds.check_offsets("f", {0: 3, 1: 1}, [(0, 2), (1, 0)])
    with pytest.raises(IndexError, match="function 'f': offset 3 of argument 0, which has 3 numbers"):
        bounds.check_offsets("f", {0: 3}, [(0, 3)])


def test_kernels_of_runs_stay_inside_their_views() -> None:
    """A run of the tree's default, of radau and of the energy-consistent engine; `make attack` runs many more."""
    matrix = "tests/systems/test_every_way.py::test_same_numbers_or_a_refusal"
    ways = [f"{matrix}[{way}-plain]" for way in ("recursive", "recursive radau", "cartesian", "directors")]
    done = run("-m", "pytest", "-q", "-x", *ways, "tests/native/test_record.py")
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
