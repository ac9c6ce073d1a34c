"""``jourdain cvt``: steady states of a push-belt variator, its fields and balances."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(verbs: Any) -> argparse.ArgumentParser:
    """Adds the verb ``cvt`` to the subparsers of the command."""
    p: argparse.ArgumentParser = verbs.add_parser(
        "cvt",
        help="steady states of a push-belt variator",
        description="Computes steady states of a push-belt variator and its contact forces.",
    )
    p.add_argument("--ratio", type=float, default=1.0, metavar="I", help="speed ratio, driving over driven (default: 1)")
    p.add_argument("--thrust", default="20 kN", metavar="Q", help="thrust of the driven pulley (default: 20 kN)")
    p.add_argument("--speed", default="2000 rpm", metavar="W", help="speed of the driving shaft (default: 2000 rpm)")
    p.add_argument(
        "--torque-ratio",
        type=float,
        nargs="+",
        default=[0.5],
        metavar="R",
        help="torque over the largest one, one or several (default: 0.5)",
    )
    p.add_argument(
        "--fields", nargs="+", default=["P", "T", "f_Pn", "gamma"], metavar="NAME", help="fields to draw (default: P T f_Pn gamma)"
    )
    p.add_argument("--plot", metavar="FILE", help="fields along the belt as a picture")
    p.add_argument("-o", "--output", metavar="FILE", help="fields of the last state as .csv")
    p.add_argument("--debug", action="store_true", help="show where an error happened")
    p.set_defaults(run=run)
    return p


def run(options: argparse.Namespace) -> None:
    """``jourdain cvt``."""
    from ..library import push_belt_variator
    from ..results.fields import plot_fields

    states = push_belt_variator(options.ratio, options.thrust).sweep(options.torque_ratio, options.speed)
    print("\n\n".join(state.summary() for state in states))
    if options.plot:
        plot_fields(
            [(s.fields, f"M/M* = {s.torque_ratio:.2f}") for s in states],
            options.fields,
            options.plot,
            f"push-belt variator, i = {options.ratio:g}",
        )
        print(f"wrote {options.plot}")
    if options.output:
        states[-1].fields.to_csv(options.output)
        print(f"wrote {options.output}")
