"""All benchmarks in one command (``make bench``): prints tables and stores the figures as JSON.

python -m benchmarks.run [--quick] [NAME …]
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

#: Modules with a function ``run(quick) -> dict``.
BENCHMARKS = (
    "start", "stepper", "coman", "dynamics", "best_peers", "batches", "compile_time", "chain", "mechanisms", "turns", "car", "sweep", "gradients", "design", "semi_recursive", "conserving", "conserving_hinges",
    "conserving_small",
)  # fmt: skip
RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, str]:
    """What the figures depend on."""
    packages = ("jourdain", "numpy", "llvmlite", "pin", "mujoco", "exudyn")
    found = {"cpu": _cpu(), "python": platform.python_version(), "system": platform.system()}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _cpu() -> str:
    from jourdain.native.engine import host

    return host()[1]


def main() -> None:
    """Runs the benchmarks named (all by default) and writes ``results/NAME.json``."""
    parser = argparse.ArgumentParser(description="Benchmarks of Jourdain against its peers.")
    parser.add_argument("names", nargs="*", default=list(BENCHMARKS), help=f"some of {', '.join(BENCHMARKS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a first look")
    options = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    for name in options.names:
        start = time.perf_counter()
        try:
            figures: dict[str, Any] = import_module(f"benchmarks.{name}").run(options.quick)
        except ImportError as error:
            print(f"{name}: left out, {error} (pip install 'jourdain[peers]')")
            continue
        record = {"machine": machine(), "quick": options.quick, "seconds": time.perf_counter() - start, "figures": figures}
        (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1, default=float) + "\n")


if __name__ == "__main__":
    main()
