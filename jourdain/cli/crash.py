"""``jourdain crash``: a collision of trains from a file, with its measures."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(verbs: Any) -> argparse.ArgumentParser:
    """Adds the verb ``crash`` to the subparsers of the command."""
    p: argparse.ArgumentParser = verbs.add_parser(
        "crash", help="collision of trains from a scenario file, with accelerations, crush and energy",
        description="Simulates a collision of trains on a line and tells its measures.",
        epilog="The file has tables [devices.NAME], [trains.NAME] and [scenario]; see the guide to crashes.",
    )  # fmt: skip
    p.add_argument("file", metavar="SCENARIO-FILE", help="scenario (.toml)")
    p.add_argument("--duration", metavar="T", help="how long to simulate, such as 0.8 or '800 ms' (default: the file's, or 0.8 s)")
    p.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="another value of a parameter, such as front.level1='1.8 MN'"
    )
    p.add_argument("-o", "--output", metavar="FILE", help="results (.h5, .csv …), a page (.html) or a picture of the device forces (.png)")
    p.add_argument("--debug", action="store_true", help="show where an error happened")
    p.set_defaults(run=run)
    return p


def run(options: argparse.Namespace) -> None:
    """``jourdain crash``."""
    from ..errors import InputError
    from ..library.crash.files import crash_scenario
    from ..library.crash.measures import crash_measures
    from ..model.values import number

    scenario = crash_scenario(options.file)
    system = scenario.model.compile()
    changes: dict[str, Any] = {}
    for item in options.set:
        name, equals, value = item.partition("=")
        if not equals:
            raise InputError(f"--set {item}: write NAME=VALUE")
        changes[name] = value
    if changes:
        system.set_parameters(**changes)
    duration = scenario.duration if options.duration is None else number(_plain(options.duration), "--duration", "s")
    sol = system.simulate(None, duration)
    print(f"{scenario.model.name}, {duration:g} s")
    print(crash_measures(sol, scenario.window, scenario.seat))
    if options.output:
        if options.output.endswith(".html"):
            sol.save_page(options.output)
        elif options.output.endswith((".png", ".pdf", ".svg")):
            forces = [n for n in sol.names if n.endswith(".force") and not n.endswith((".first.force", ".second.force"))]
            sol.plot(*forces, file=options.output)
        else:
            sol.save(options.output)
        print(f"written to {options.output}")


def _plain(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
