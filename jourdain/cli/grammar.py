"""The grammar of the command: verbs, options, how their texts are read."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any

from .crash import add_parser as add_crash_parser
from .cvt import add_parser as add_cvt_parser
from .design import add_parsers as add_design_parsers
from .model import add_parser as add_model_parser
from .parts import DURATION
from .restitution import add_parser as add_restitution_parser
from .store import add_parser as add_store_parser
from .structure import add_parser as add_structure_parser
from .verbs import compare, demo, derive, equations, export, info, run, simulate
from .view import explore, plot, view

PRINCIPLES = ("newton-euler", "virtual-work", "lagrange", "gauss", "jourdain", "gibbs-appell", "kane")
FORMULATIONS = ("recursive", "semi-recursive", "cartesian", "natural", "directors")
LANGUAGES = ("c", "python", "matlab", "julia", "fortran", "rust", "jax", "latex")

#: A negative number with a unit or an exponent; plain ones argparse takes for values by itself.
_NEGATIVE_QUANTITY = re.compile(r"-(?!\d+$|\d*\.\d+$)\.?\d")


def _as_given(value: Any) -> Any:
    return value[1:] if isinstance(value, str) and _NEGATIVE_QUANTITY.match(value[1:]) and value[0] == " " else value


class Parser(argparse.ArgumentParser):
    """A parser that takes a negative quantity, such as -5rpm or -0.5e3N, for a value, as argparse takes a negative number; verbs have it, too."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's own, to which a word that begins with a space is no option."""
        given = sys.argv[1:] if args is None else args
        read, rest = super().parse_known_args([f" {a}" if _NEGATIVE_QUANTITY.match(a) else a for a in given], namespace)
        for name, value in vars(read).items():
            setattr(read, name, [_as_given(v) for v in value] if isinstance(value, list) else _as_given(value))
        return read, [_as_given(a) for a in rest]


def build_parser() -> argparse.ArgumentParser:
    """The grammar of the command."""
    from .. import __version__

    parser = Parser(
        prog="jourdain", description="Multibody dynamics: equations, source code and motion of a model.",
        epilog="MODEL is a .toml model file, a .urdf, .xml (MJCF) or .mbs file, or your own Python as file.py:name or package.module:name, "
        "where name is a Model or a function that returns one.",
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"jourdain {__version__}")
    parser.set_defaults(run=None, debug=False, interrupted=False)
    verbs = parser.add_subparsers(title="verbs", metavar="VERB")

    verb(verbs, "info", info, "the tree, coordinates, parameters, formalisms and operation counts")

    p = verb(verbs, "equations", equations, "the equations of motion, in closed form where that is readable")
    p.add_argument("--latex", action="store_true", help="as LaTeX instead of text")
    p.add_argument("--recursive", action="store_true", help="the recursive form also for a small model")

    p = verb(verbs, "derive", derive, "the equations of motion step by step, from one of the principles of dynamics")
    p.add_argument("--principle", choices=PRINCIPLES, default="lagrange", help="the principle to start from (default: lagrange)")
    p.add_argument("--latex", action="store_true", help="as LaTeX instead of text")
    p.add_argument("--markdown", action="store_true", help="as Markdown instead of text")

    p = verb(verbs, "compare", compare, "all formulations of the model side by side: size, cost, agreement, drift")
    add_start(p, DURATION)
    p.add_argument("-o", "--output", metavar="FILE", help="also as bars (.png .svg .pdf)")

    p = verb(verbs, "export", export, "source code of the model's functions")
    p.add_argument("--to", choices=LANGUAGES, default="c", help="language (default: c)")
    p.add_argument("--functions", metavar="NAMES", help="names separated by commas (default: dynamics, energy, reactions …)")
    p.add_argument("-o", "--output", metavar="FOLDER", help="folder, or file of --standalone (default: MODEL-LANGUAGE)")
    p.add_argument("--standalone", action="store_true", help="one C program that simulates the model")
    add_start(p, DURATION)
    p.add_argument("--step", type=seconds, default=1e-3, metavar="S", help="step of --standalone in s (default: 0.001)")

    p = verb(verbs, "simulate", simulate, "motion from a start, as a summary, tables, plots and pages")
    add_start(p, 0.0, f"as long as the model's own simulation, else {DURATION:g} s")
    add_method(p)
    p.add_argument(
        "-o", "--output", action="append", default=[], metavar="FILE",
        help="table (.npz .csv .parquet .h5 .mat), plot (.png .svg .pdf) or 3-D page (.html); may be repeated",
    )  # fmt: skip

    p = verb(verbs, "run", run, "the analyses a model names, or a motion (-t), kept in a folder as tables, plots and pages")
    p.add_argument("analyses", metavar="ANALYSIS", nargs="*", help="analyses of the model (default: all)")
    add_start(p, 0.0, "the analyses of the model")
    add_method(p)
    p.add_argument("-o", "--output", default="run", metavar="RUN", help="folder (default: run)")

    add_design_parsers(verbs, verb)

    p = verb(verbs, "view", view, "a model, or the motion of a run, in the browser")
    add_start(p, 0.0)
    add_method(p)
    p.add_argument("--model", dest="model_of_run", metavar="MODEL", help="the model that a table of results belongs to")
    p.add_argument("--trace", action="append", default=[], metavar="FRAME", help="draw the path of a frame; may be repeated")
    p.add_argument("--forces", action="append", default=[], metavar="JOINT", help="draw the reaction of a joint; may be repeated")
    p.add_argument("--plot", action="append", default=[], metavar="CHANNEL", help="a diagram beside the motion; may be repeated")
    p.add_argument("--stress", metavar="FIELD", help="colour flexible bodies: 'von mises', displacement, strain, Mz …, or BODY=FIELD, …")
    p.add_argument("--exaggerate", type=float, default=1.0, metavar="TIMES", help="deform flexible bodies so many times more")
    p.add_argument("--follow", metavar="BODY", help="the body the camera follows")
    p.add_argument("--live", action="store_true", help="show the motion of -t while it is computed, in real time")
    p.add_argument("--mode", type=int, metavar="N", help="modes about the equilibrium near the start; N is shown in pictures and movies")
    p.add_argument(
        "-o", "--output", metavar="FILE", help="write a page (.html), picture (.png .jpg), movie (.mp4 .gif) or POV-Ray scene (.pov)"
    )
    p.add_argument("--at", type=float, metavar="S", help="time of a picture in s (default: the start)")
    p.add_argument("--speed", type=positive, default=1.0, help="speed of a movie (default: 1, real time)")
    p.add_argument("--size", type=picture_size, default=(1280, 720), metavar="WxH", help="size of a picture or movie (default: 1280x720)")

    p = verb(verbs, "explore", explore, "sliders for parameters and start values in the browser: motion, energy and eigenvalues follow")
    p.add_argument("names", metavar="NAME", nargs="*", help="parameters and start values (default: the first of the model)")
    add_start(p, 5.0)
    add_method(p)
    p.add_argument("--trace", action="append", default=[], metavar="FRAME", help="draw the path of a frame; may be repeated")
    p.add_argument("--plot", action="append", default=[], metavar="CHANNEL", help="a diagram beside the motion; may be repeated")
    p.add_argument("--port", type=int, default=0, help="port on this machine (default: a free one)")

    p = verbs.add_parser("plot", help="channels of a run over time", description="Channels of a run over time.")
    p.add_argument("run_file", metavar="RUN", help="table of results, or folder of `jourdain run`")
    p.add_argument("channels", metavar="CHANNEL", nargs="+", help="names or patterns such as 'crank.*'")
    p.add_argument("--unit", help="unit of the channels that it fits, such as deg")
    p.add_argument("-o", "--output", default="plot.png", metavar="FILE", help=".png, .svg or .pdf (default: plot.png)")
    p.add_argument("--debug", action="store_true", help="show where an error happened")
    p.set_defaults(run=plot)

    add_model_parser(verbs)
    add_store_parser(verbs)
    add_structure_parser(verbs)
    add_cvt_parser(verbs)
    add_restitution_parser(verbs)
    add_crash_parser(verbs)
    p = verbs.add_parser("demo", help="derive, compile and simulate an engine, and draw it")
    p.add_argument("-o", "--output", default="out", metavar="FOLDER", help="folder of the pictures (default: out)")
    p.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    p.set_defaults(run=demo)
    return parser


def verb(verbs: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    """A verb on a model with the options all of them share."""
    p: argparse.ArgumentParser = verbs.add_parser(
        name,
        aliases=[american] if (american := name.replace("ise", "ize")) != name else [],
        help=text,
        description=text[0].upper() + text[1:] + ".",
    )
    p.add_argument("model", metavar="MODEL", help="file or Python name of the model")
    p.add_argument("--base", choices=("free", "fixed"), help="URDF: does the root link fly? (default: fixed)")
    p.add_argument("--root", metavar="FOLDER", help="MJCF: the folder around all files of the model, where names lead out of its own")
    p.add_argument(
        "--missing", choices=("refuse", "note"), help="MJCF: geoms that cannot be read but whose mass is needed (default: refuse)"
    )
    p.add_argument("--parameters", choices=("symbolic", "numbers"), help=".mbs: masses and lengths (default: numbers)")
    p.add_argument("--variant", metavar="NAME", help="model file: the variant to lay over it")
    p.add_argument("--debug", action="store_true", help="show where an error happened")
    p.set_defaults(run=run)
    return p


def add_method(p: argparse.ArgumentParser) -> None:
    """Options that say how a motion is integrated."""
    p.add_argument("--formulation", choices=FORMULATIONS, default="recursive", help="formulation of a motion (default: recursive)")
    p.add_argument("--method", help="method of integration (default: auto, dopri5 and where it is stiff radau; directors: energy-momentum)")
    p.add_argument("--step", type=seconds, default=None, metavar="S", help="fixed or first step in s (directors: 0.01)")
    p.add_argument("--rtol", type=positive, help="relative tolerance of a step (default: 1e-8; directors: steps of one size)")
    p.add_argument(
        "--overlap", choices=("push apart",), help="what becomes of bodies that overlap at the start (default: refused, or told)"
    )
    p.add_argument("--outputs", type=int, default=None, metavar="N", help="that many equally spaced rows (default: all steps)")


def add_start(p: argparse.ArgumentParser, duration: float, without: str = "the model at rest") -> None:
    """Options that say where a motion begins and how long it lasts."""
    default = f"{duration:g}" if duration else without
    p.add_argument("-t", "--time", type=seconds, default=duration, metavar="S", help=f"duration in s (default: {default})")
    p.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE",
        help="initial coordinate, velocity or state, parameter or input, such as hinge=30deg; may be repeated",
    )  # fmt: skip


def positive(text: str) -> float:
    """A positive number from the command line."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return value


def seconds(text: str) -> float:
    """A positive time from the command line, in s or with its unit: 0.5, "500 ms", 2min."""
    from ..model.units import UnitError, quantity

    try:
        value = quantity(text, "s")
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return positive(str(value))


def picture_size(text: str) -> tuple[int, int]:
    """Width and height from "1280x720"."""
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal() and 16 <= int(width) <= 8192 and 16 <= int(height) <= 8192):
        raise argparse.ArgumentTypeError(f"{text} is not a size in pixels such as 1280x720")
    return int(width), int(height)
