"""Size of the equations of the 29-joint humanoid CoMan with all parameters kept symbolic, against ROBOTRAN's figures."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import Any

#: Additions and multiplications of the code that ROBOTRAN generated for this model, and the times it printed (2014).
ROBOTRAN = {"inverse_dynamics": (4106, 0.090), "mass_and_bias": (17414, 0.420)}
TARGETS = {"inverse_dynamics": 3300, "mass_and_bias": 6000}
MODEL = Path(__file__).parent.parent / "tests" / "data" / "robotran" / "coman_robotran.mbs"


def run(quick: bool = False) -> dict[str, Any]:
    """Counts of operations and the time to derive both functions in pure Python, s."""
    from jourdain.formalisms.equations import Equations
    from jourdain.formalisms.functions.registry import derive
    from jourdain.io import read_mbs

    model = read_mbs(MODEL, parameters="symbolic", driven="free")
    figures: dict[str, Any] = {"parameters": len(model.parameter_set)}
    times = []
    for _ in range(3 if quick else 9):
        model = read_mbs(MODEL, parameters="symbolic", driven="free")
        gc.collect()
        gc.disable()
        start = time.perf_counter()
        eq = Equations(model)
        functions = {name: derive(eq, name) for name in TARGETS}
        times.append(time.perf_counter() - start)
        gc.enable()
    figures["derive_s"] = min(times)
    for name, f in functions.items():
        count, prepare = f.operations(), f.prepare_operations()
        figures[name] = {"operations": count.flops, "prepare": prepare.flops, "target": TARGETS[name], "robotran": ROBOTRAN[name][0]}
        print(f"CoMan {name}: {count.flops} + and × (target ≤ {TARGETS[name]}, ROBOTRAN {ROBOTRAN[name][0]}); prepare {prepare.flops}")
    print(f"CoMan: both derived in {figures['derive_s'] * 1e3:.0f} ms of pure Python (target ≤ 60 ms, ROBOTRAN printed 510 ms)")
    return figures


if __name__ == "__main__":
    run()
