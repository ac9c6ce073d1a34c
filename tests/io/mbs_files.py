"""Small ROBOTRAN files made for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Triple = tuple[float, float, float]

#: The kinds of loops of :func:`loop_file`, with how many rows each has.
LOOPS = {"ball": 3, "ball without y": 2, "rod": 1, "body": 6, "body without x, z": 4}


def triple(tag: str, xyz: Triple) -> str:
    """Three coordinates in an element."""
    x, y, z = xyz
    return f"<{tag}><coordinates><x>{x!r}</x><y>{y!r}</y><z>{z!r}</z></coordinates></{tag}>"


def point(name: str, xyz: Triple, inside: str = "") -> str:
    """A point of a body or the base."""
    return triple("point", xyz).replace("<point>", f"<point><pointname>{name}</pointname>").replace("</point>", f"{inside}</point>")


def joint(name: str, kind: str, nature: str = "independent", q0: float = 0.0, v0: float = 0.0) -> str:
    """An elementary joint."""
    start = f"<initialvalue><q>{q0!r}</q><qd>{v0!r}</qd></initialvalue>" if q0 or v0 else ""
    return f"<joint><jointname>{name}</jointname><type>{kind}</type><nature>{nature}</nature>{start}</joint>"


def body(name: str, at: tuple[str, str], joints: Iterable[str], points: Iterable[str] = (), mass: float = 1.0, inside: str = "") -> str:
    """A body on the point ``at`` of its parent."""
    return (
        f"<body><bodyname>{name}</bodyname><parent><bodyname>{at[0]}</bodyname><pointname>{at[1]}</pointname></parent>{''.join(joints)}"
        f"<mass>{mass!r}</mass>{triple('com', (0.1 * mass, -0.05, 0.2))}"
        f"<inertia><Ixx>0.11</Ixx><Iyy>0.13</Iyy><Izz>0.12</Izz><Ixz>0.01</Ixz></inertia>{''.join(points)}{inside}</body>"
    )


def between(tag: str, name: str, first: tuple[str, str], second: tuple[str, str], inside: str = "") -> str:
    """A cut or link between two points."""
    ends = "".join(
        f"<endpoint{i}><bodyname>{b}</bodyname><pointname>{p}</pointname></endpoint{i}>" for i, (b, p) in enumerate((first, second), 1)
    )
    return f"<{tag}><name>{name}</name>{ends}{inside}</{tag}>"


def mbs(name: str, points: Sequence[str], bodies: Sequence[str], cuts: str = "", links: str = "", rest: str = "") -> str:
    """A whole file."""
    return (
        f"<mbsDescR7><mbsname>{name}</mbsname><base>{triple('gravity', (0.0, 0.0, -9.81))}{''.join(points)}</base>"
        f"<bodytree>{''.join(bodies)}</bodytree><cuts>{cuts}</cuts><links>{links}</links>{rest}</mbsDescR7>"
    )


def loop_file(kind: str) -> str:
    """A hull that moves, a turret locked on it at an angle, and two chains on the turret closed by a cut; closed at q = 0."""
    tip: Triple = (0.7, 0.4, 1.1)
    left = [("R1", (0.2, 0.1, 0.3)), ("R2", (0.3, -0.2, 0.2)), ("R3", (0.1, 0.2, 0.1))]
    right = [("R2", (-0.2, 0.5, 0.1)), ("R3", (0.4, 0.1, -0.2)), ("R1", (0.2, 0.2, 0.4)), ("R2", (0.1, 0.3, 0.2))]
    if not kind.startswith("body"):
        left, right = left[:2], right[:3]
    bodies = [
        body(
            "hull", ("base", "origin"), [joint("lift", "T3"), joint("roll", "R1"), joint("yaw", "R3")], [point("top", (0.1, 0.2, 0.3))], 3.0
        ),
        body("turret", ("hull", "top"), [joint("aim", "R2", "driven", 0.4)], [point("l1", left[0][1]), point("r1", right[0][1])], 2.0),
    ]
    for side, chain in (("l", left), ("r", right)):
        before, reached = "turret", [0.0, 0.0, 0.0]
        for i, (turn, at) in enumerate(chain):
            reached = [r + a for r, a in zip(reached, at, strict=True)]
            here = f"{side}{i + 1}"
            last = i == len(chain) - 1
            offset = (0.05, -0.1, 0.15) if kind == "rod" and side == "r" else (0.0, 0.0, 0.0)
            end = tuple(t - r + o for t, r, o in zip(tip, reached, offset, strict=True))
            following = [point("tip", end)] if last else [point(f"{side}{i + 2}", chain[i + 1][1])]  # type: ignore[arg-type]
            bodies.append(body(here, (before, here), [joint(f"q{here}", turn)], following, 1.0 + 0.1 * i))
            before = here
    tag = {"rod": "rod", "ball": "ball", "body": "solid"}[kind.split()[0]]
    ignored = "".join(f"<{c}/>" for c in "xyz" if f" {c}" in kind)
    inside = "<length>0.1870828693386971</length>" if kind == "rod" else f"<ignore>{ignored}</ignore>" if ignored else ""
    return mbs("loop", [], bodies, between(tag, "cut", (f"l{len(left)}", "tip"), (f"r{len(right)}", "tip"), inside))
