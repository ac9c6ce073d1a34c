"""A disk that is full: a clear error, the older file kept, and no half of a new one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")

PROGRAM = """
import resource, signal, sys
import numpy as np
from jourdain.results import Solution, load_solution
from jourdain.results.channel import Channel
path = sys.argv[1]
rng = np.random.default_rng(0)
def solution(n):
    t = np.linspace(0.0, 1.0, n)
    return Solution(t, {f"c{i}": Channel(rng.normal(size=n), "m") for i in range(4)}, {"model": "noise"})
solution(3).save(path)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    solution(200_000).save(path)
except Exception as error:
    print(type(error).__name__, error)
print(len(load_solution(path)))
"""


@pytest.mark.parametrize("suffix", [".h5", ".npz", ".parquet", ".csv", ".mat"])
def test_an_error_and_the_older_file(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("h5py")
    path = tmp_path / f"run{suffix}"
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-800:]
    told, left = done.stdout.strip().splitlines()
    assert told.startswith("ResultFileError file ") and "could not be written" in told and told.endswith("what was there is kept")
    assert left == "3" and [p.name for p in tmp_path.iterdir()] == [path.name]
