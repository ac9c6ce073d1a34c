"""The modules that take part in three journeys through the package: a closed loop, the same in directors, a robot.

A module takes part when a Python function of its file is called, whatever it does (``sys.setprofile``; what runs as machine code is not seen,
and importing does not count: all modules are imported before).  Code caches are warm, the process is fresh: ``python -m benchmarks.journeys``.
"""

from __future__ import annotations

import pkgutil
import sys
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import jourdain as jd

T = TypeVar("T")
ROOT = str(Path(jd.__file__).parent) + "/"


def modules_of(go: Callable[[], T]) -> tuple[T, list[str]]:
    """What a function gives, and the modules of the package (as "room/module") that took part."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            seen.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        found = go()
    finally:
        sys.setprofile(before)
    return found, sorted(name.removeprefix(ROOT).removesuffix(".py") for name in seen)


def closed_loop() -> dict[str, list[str]]:
    """A slider-crank in joint coordinates."""
    s, compiling = modules_of(lambda: jd.library.slider_crank().compile())
    start = s.assemble({"crank.angle": 0.3})
    _, first = modules_of(lambda: s.simulate(start, 0.1))
    _, later = modules_of(lambda: s.simulate(start, 0.1))
    return {"compile": compiling, "first simulate": first, "next simulate": later}


def directors() -> dict[str, list[str]]:
    """A slider-crank in directors."""
    s, compiling = modules_of(lambda: jd.library.slider_crank().compile(formulation="directors"))
    start = s.assemble({"crank.angle": 0.3})
    _, first = modules_of(lambda: s.simulate(start, 0.1, step=0.01))
    sol, later = modules_of(lambda: s.simulate(start, 0.1, step=0.01))
    _, read = modules_of(lambda: sol["crank.angle"])
    return {"compile": compiling, "first simulate": first, "next simulate": later, "first channel": read}


def robot() -> dict[str, list[str]]:
    """An arm."""
    s, compiling = modules_of(lambda: jd.library.double_pendulum().compile())
    x = s.state({})
    _, first = modules_of(lambda: s.inverse_dynamics(x.q, x.v, x.v))
    _, later = modules_of(lambda: s.inverse_dynamics(x.q, x.v, x.v))
    return {"compile": compiling, "inverse dynamics": first, "again": later}


def import_all() -> None:
    """Imports every module of the package that can be imported here."""
    for module in pkgutil.walk_packages([ROOT], "jourdain."):
        if not module.name.endswith("__main__"):
            try:
                import_module(module.name)
            except ImportError:  # of a package that is not installed
                continue


def main() -> None:
    """Prints the journeys."""
    import_all()
    for journey in (closed_loop, directors, robot):
        print(journey.__name__)
        for part, modules in journey().items():
            rooms = Counter(m.partition("/")[0] for m in modules)
            print(f"  {part:17s} {len(modules):3d}   " + ", ".join(f"{room} {n}" for room, n in sorted(rooms.items())))


if __name__ == "__main__":
    main()
