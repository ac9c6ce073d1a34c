"""``jourdain structure``: look at finite-element parts, their modes, and reduce them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from ..structures import Structure

KINDS = ("free-free", "fixed", "craig-bampton", "guyan", "attachment")
FRAMES = ("mean axes", "tangent", "pinned", "nodal-fixed", "principal axes")


def add_parser(verbs: Any) -> argparse.ArgumentParser:
    """Adds the verb ``structure`` with its operations to the subparsers of the command."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "structure", help="finite-element parts: what they are, their modes, their reduction",
        description="Works on elastic parts in files.",
        epilog="FILE is .npz (of Structure.save), .inp (CalculiX, Abaqus; with --matrices the .sti, .mas and .dof of a run) or the stiffness "
        "matrix as .mtx with --matrices M.mtx and --nodes. POINT is the name of a node, interface or set, or the number of a node.",
    )  # fmt: skip
    parser.add_argument("--debug", action="store_true", help="show where an error happened")
    parser.set_defaults(run=lambda options: parser.print_help())
    operations = parser.add_subparsers(title="operations", metavar="OPERATION")
    _operation(operations, "info", info, "nodes, mass, inertia, first frequencies, and what is wrong with a part")
    p = _operation(operations, "modes", modes, "natural frequencies, free in space or with points held")
    p.add_argument("-n", "--modes", type=int, default=10, metavar="N", help="number of modes (default: 10)")
    p.add_argument("--fixed", action="append", default=[], metavar="POINT", help="hold a point; may be repeated")
    p = _operation(operations, "reduce", reduce, "a body of few coordinates in a floating frame, as .npz")
    p.add_argument("-n", "--modes", type=int, metavar="N", help="number of natural modes")
    p.add_argument("--frame", choices=FRAMES, default="mean axes", help="floating frame (default: mean axes)")
    p.add_argument("--at", action="append", default=[], metavar="POINT", help="points of a nodal frame, in order")
    p.add_argument("--kind", choices=KINDS, help="sort of shapes (default: free-free; with a nodal frame: fixed)")
    p.add_argument("--fixed", action="append", default=[], metavar="POINT", help="points held by --kind fixed or guyan")
    p.add_argument("--damping", type=float, metavar="RATIO", help="damping ratio of all modes")
    p.add_argument("-o", "--output", required=True, metavar="FILE", help="file to write (.npz)")
    return parser


def _operation(operations: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    p: argparse.ArgumentParser = operations.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    p.add_argument("file", metavar="FILE", help="part")
    p.add_argument("--matrices", metavar="JOB", help=".inp: run whose .sti, .mas, .dof to take; .mtx: mass matrix")
    p.add_argument("--nodes", metavar="FILE", help=".mtx: positions of the nodes (.csv, .txt, .npy)")
    p.add_argument("--units", choices=("m", "mm"), help=".inp: metres (SI), or millimetres and tonnes")
    p.add_argument(
        "--interface",
        action="append",
        default=[],
        metavar="NAME=SET[:average]",
        help="make an interface of a set or node, rigid or averaged; may be repeated",
    )
    p.add_argument("--debug", action="store_true", help="show where an error happened")
    p.set_defaults(run=run)
    return p


def load(options: argparse.Namespace) -> Structure:
    """The part that the options name, with its interfaces."""
    from ..structures import read

    part = read(options.file, matrices=options.matrices, nodes=options.nodes, units=options.units)
    for text in options.interface:
        name, equals, rest = text.partition("=")
        nodes, _, kind = rest.partition(":")
        if not (name and equals and nodes):
            raise InputError(f"--interface {text}: write NAME=SET or NAME=SET:average")
        part.interface(name, point(nodes), kind=kind or "rigid")
    return part


def point(text: str) -> str | int:
    return int(text) if text.isascii() and text.isdigit() else text


def info(options: argparse.Namespace) -> None:
    print(load(options))


def modes(options: argparse.Namespace) -> None:
    """A table of frequencies."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    part = load(options)
    if options.fixed:
        found = part.fixed_frequencies([point(p) for p in options.fixed], options.modes)
    else:
        found = part.frequencies(options.modes)
    table = Table(
        "mode", "Hz", "rad/s", title=f"{part.name}, {'held at ' + ', '.join(options.fixed) if options.fixed else 'free in space'}"
    )
    for k, omega in enumerate(found, 1):
        table.add_row(str(k), f"{omega / (2 * np.pi):.6g}", f"{omega:.6g}")
    Console().print(table)


def reduce(options: argparse.Namespace) -> None:
    output = Path(options.output)
    if output.suffix != ".npz":
        raise InputError(f"{output}: a reduced part is written as .npz")
    at: Any = [point(p) for p in options.at] or None
    if at and options.frame == "tangent":
        at = at[0]
    body = load(options).reduce(
        options.modes, options.frame, options.kind, at=at, fixed=[point(p) for p in options.fixed] or None, damping=options.damping
    )
    body.save(output)
    print(body)
    print(f"written to {output}")
