"""Runs between guard pages: native code stays inside every array it is given, and the pages notice when it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.native.guard_pages import SIDES, available

pytestmark = pytest.mark.skipif(not available(), reason="pages are forbidden by Linux's calls")

#: A kernel and a generated function given an array that is one number too short, at its end or at its beginning.
TOO_SHORT = """
import sys
import numpy as np
import tests.native.guard_pages
from jourdain.native.kernel import jit
from tests.native.builder import compiled, positions

@jit
def total(a, first, last):
    found = 0.0
    for i in range(first, last):
        found += a[i]
    return found

what, short = sys.argv[1], int(sys.argv[2])
a = np.ones(5)
if what == "kernel":
    first, last = (-short, 5) if sys.argv[3] == "begin" else (0, 5 + short)
    print(total(a, first, last))
else:
    x = positions(6)
    f = compiled({"q": x}, {"y": [x[0] + x[5]]}, "ends")
    given, found = np.ones(6 - short), np.zeros(1)
    args = f.arguments(given, found)
    if sys.argv[3] == "begin":
        args[0] -= 8 * short
    f._call(args.ctypes.data)
    print("ran")
"""


def run(side: str, *words: str, timeout: float = 900.0) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"JOURDAIN_GUARD": side, "PYTHONPATH": str(ROOT), "PYTHONFAULTHANDLER": "1"}
    return subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=timeout)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("what", ["kernel", "function"])
def test_one_number_too_few_is_a_fault(what: str, side: str, tmp_path: Path) -> None:
    program = tmp_path / "too_short.py"  # kernels are read from files
    program.write_text(TOO_SHORT)
    right, wrong = (run(side, str(program), what, short, side) for short in ("0", "1"))
    assert right.returncode == 0 and right.stdout.strip() in ("5.0", "ran"), right.stderr[-800:]
    assert wrong.returncode < 0 and "Segmentation fault" in wrong.stderr


#: A run of every formulation and method; single calls, batches and threads of compiled functions.  `make attack` runs many more.
RUNS = ("tests/systems/test_every_way.py", "tests/native/test_calls.py")


@pytest.mark.parametrize(("side", "chosen"), [("end", "plain or test_calls"), pytest.param("begin", "plain", marks=pytest.mark.slow)])
def test_every_way_stays_inside(side: str, chosen: str) -> None:
    done = run(side, "-m", "pytest", "-p", "tests.native.guard_pages", "-q", "-x", "-k", chosen, *RUNS)
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
