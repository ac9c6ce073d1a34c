"""Time to import, and from a fresh process to the first simulated second of a pendulum and of a closed loop, cold and cached."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_IMPORT = "import time; t = time.perf_counter(); import jourdain; print(time.perf_counter() - t)"
_PENDULUM = """
import time
start = time.perf_counter()
import jourdain as jd
m = jd.Model("pendulum")
bob = m.body("bob", mass=2.0, com=(0, 0, -0.5))
m.revolute("hinge", m.ground, bob, axis="y")
m.compile().simulate({"hinge": 1.0}, 1.0, method="rk4", step=1e-3)
print(time.perf_counter() - start)
"""
_LOOP = """
import time
start = time.perf_counter()
import jourdain as jd
from jourdain.library.mechanisms import four_bar
s = four_bar().compile()
s.simulate(s.assemble({"crank.angle": 1.0}), 1.0)
print(time.perf_counter() - start)
"""


def _seconds(code: str, **environment: str) -> float:
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return float(done.stdout)


def run(quick: bool = False) -> dict[str, Any]:
    """Prints and returns the times, s."""
    import jourdain

    folder = tempfile.mkdtemp()
    caches = {"JOURDAIN_CACHE": folder}
    figures = {
        "import_s": min(_seconds(_IMPORT) for _ in range(5)),
        "first_second_cold_s": _seconds(_PENDULUM, **caches),
        "first_second_cached_s": min(_seconds(_PENDULUM, **caches) for _ in range(5)),
        "first_loop_cold_s": _seconds(_LOOP, **caches),
        "first_loop_cached_s": min(_seconds(_LOOP, **caches) for _ in range(5)),
    }
    shutil.rmtree(folder)
    print(f"import jourdain ({Path(jourdain.__file__).parent.name}): {figures['import_s']:.3f} s (target < 0.3)")
    print(f"fresh process to the first simulated second: {figures['first_second_cold_s']:.2f} s cold (target < 3), "
          f"{figures['first_second_cached_s']:.2f} s cached (target < 1)")  # fmt: skip
    print(f"the same of a four-bar linkage: {figures['first_loop_cold_s']:.2f} s cold, {figures['first_loop_cached_s']:.2f} s cached")
    return figures


if __name__ == "__main__":
    run()
