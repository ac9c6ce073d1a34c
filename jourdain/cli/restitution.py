"""``jourdain restitution``: the coefficient of restitution of two elastic bodies, from the waves that an impact leaves in them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from ..contact.bodies import FastBody

#: Kinds of bodies, and the units of what describes them.
KINDS = ("ball", "rod", "beam", "plate", "disc", "cylinder")
UNITS = {
    "radius": "m", "length": "m", "thickness": "m", "end_radius": "m", "at": "m", "E": "Pa", "density": "kg/m^3", "viscosity": "s",
}  # fmt: skip
MODELS = ("modes", "waves", "finite elements", "rigid")


def add_parser(verbs: Any) -> argparse.ArgumentParser:
    """Adds the verb ``restitution`` to the subparsers of the command."""
    p: argparse.ArgumentParser = verbs.add_parser(
        "restitution", help="coefficient of restitution of two elastic bodies, from waves, modes or finite elements",
        description="Computes the coefficient of restitution of two elastic bodies from their impact on the fast scale.",
        epilog=f"A body is KIND:NAME=VALUE,… with KIND one of {', '.join(KINDS)}, such as ball:radius=15mm,E=210GPa,nu=0.3,density=7780 or "
        "rod:length=1,radius=10mm,E=70.5GPa,density=2710. nu is 0.33 unless given.",
    )  # fmt: skip
    p.add_argument("a", metavar="BODY", help="the body that comes")
    p.add_argument("b", metavar="BODY", help="the body that waits")
    p.add_argument("--speed", type=float, default=0.3, metavar="V", help="speed of approach in m/s (default: 0.3)")
    p.add_argument("--model", choices=MODELS, default="modes", help="fast model (default: modes)")
    p.add_argument("--modes", type=int, metavar="N", help="number of modes (default: all below 100 kHz; rods: 200)")
    p.add_argument("--contact", choices=("hertz", "penalty"), default="hertz", help="contact of finite elements (default: hertz)")
    p.add_argument("--hardening", type=float, default=1.0, metavar="FACTOR", help="multiplies Hertz's stiffness (default: 1)")
    p.add_argument("--table", metavar="LOW:HIGH", help="e over a range of speeds in m/s")
    p.add_argument("-o", "--output", metavar="FILE", help="history of the contact, or the table, as .csv")
    p.add_argument("--debug", action="store_true", help="show where an error happened")
    p.set_defaults(run=run)
    return p


def body(text: str) -> FastBody:
    """A body from the command line."""
    from .. import contact
    from ..model.units import quantity

    kind, _, rest = text.partition(":")
    if kind not in KINDS:
        raise InputError(f"body '{text}': kind '{kind}' is unknown; there are {', '.join(KINDS)}")
    given: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"body '{text}': '{part}' has no value; write NAME=VALUE")
        try:
            given[name] = value if name == "other_end" else quantity(value, expects=UNITS.get(name))
        except ValueError as error:
            raise InputError(f"body '{text}': {name}: {error}") from None
    try:
        found: FastBody = getattr(contact, kind)(**given)
    except TypeError as error:
        raise InputError(f"body '{text}': {str(error).partition(' ')[2]}") from None
    return found


def run(options: argparse.Namespace) -> None:
    """``jourdain restitution``."""
    from rich.console import Console
    from rich.table import Table

    from ..contact import restitution

    more = {} if options.modes is None else {"modes": options.modes}
    if options.contact != "hertz":
        more["contact"] = options.contact
    found = restitution(body(options.a), body(options.b), options.speed, options.model, hardening=options.hardening, **more)
    print(found)
    head, rows = (
        ("t, s", "force, N", "indentation, m"),
        zip(found.history.time, found.history.force, found.history.indentation, strict=True),
    )
    if options.table:
        low, _, high = options.table.partition(":")
        try:
            limits = float(low), float(high)
        except ValueError:
            raise InputError(f"--table {options.table}: write LOW:HIGH in m/s, such as 0.05:0.8") from None
        e = found.table(*limits)
        head, rows = ("v, m/s", "e", "impulse, N s", "duration, s"), list(e.rows())  # type: ignore[assignment]
        table = Table(*head)
        for row in rows:
            table.add_row(*(f"{x:.5g}" for x in row))
        Console().print(table)
    if options.output:
        lines = [",".join(h.replace(", ", " (") + ")" if ", " in h else h for h in head)]
        lines += [",".join(f"{float(x):.9g}" for x in row) for row in rows]
        from ..results.whole_file import write_whole

        write_whole(options.output, "\n".join(lines) + "\n")
        print(f"written to {options.output}")
