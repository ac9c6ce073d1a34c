"""Drawings as SVG in the text's own colour, so that they are legible in light and dark themes: trees of bodies, courses, eigenvalues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from jourdain.model.constraints import Closure
from jourdain.model.topology import Branch, spanning_tree
from jourdain.notebook.pieces import number
from jourdain.results.style import COLOURS

if TYPE_CHECKING:
    from jourdain.model.model import Model

#: Size of a letter, a box and the gaps between boxes, px.
LETTER, HEIGHT, ROW, GAP = 6.6, 24.0, 38.0, 26.0
#: Bodies beyond which a tree is told in words.
MOST_BODIES = 60
_FONT = 'font-family="system-ui, sans-serif" font-size="12" fill="currentColor"'
#: Values of a course that differ by less than this share of the largest of its unit are rounding errors.
NOISE = 1e-12
_POINTS = 240


def svg(width: float, height: float, inside: str, title: str) -> str:
    """A drawing of that size, px, that shrinks with its cell."""
    box = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} style="max-width:100%;height:auto" role="img" aria-label="{escape(title)}">{inside}</svg>'


def tree(model: Model) -> str:
    """Bodies from the ground to the right, each with the joint that carries it; what closes loops as dashed arcs."""
    topology = spanning_tree(model)
    children: dict[str, list[Branch]] = {}
    for branch in topology.branches:
        parent = branch.joint.child.body if branch.reverse else branch.joint.parent.body
        children.setdefault(parent.name, []).append(branch)
    places: dict[str, tuple[float, float, float]] = {}  # left, middle, width of each box
    drawn: list[str] = []
    lowest = _place(model.ground.name, model.ground.name, 8.0, 0.0, children, places)
    for branch in topology.branches:
        parent = branch.joint.child.body if branch.reverse else branch.joint.parent.body
        drawn.append(_edge(places[parent.name], places[branch.body.name], branch))
    for name, (left, y, width) in places.items():
        soft = ' fill-opacity=".18"' if name == model.ground.name else ' fill-opacity=".06"'
        box = f'x="{left:.1f}" y="{y - HEIGHT / 2:.1f}" width="{width:.1f}" height="{HEIGHT:.0f}" rx="5"'
        drawn.append(f'<rect {box} fill="currentColor"{soft} stroke="currentColor" stroke-opacity=".45"/>')
        drawn.append(f'<text x="{left + width / 2:.1f}" y="{y + 4:.1f}" text-anchor="middle" {_FONT}>{escape(name)}</text>')
    right = max(left + width for left, _, width in places.values()) + 8.0
    ends = [(j.name, j.kind, j.parent.body.name, j.child.body.name) for j in topology.cuts]
    ends += [(c.name, c.kind, c.a.body.name, c.b.body.name) for c in model.constraints.values() if isinstance(c, Closure)]
    for k, (name, kind, a, b) in enumerate(ends):
        arc, reach = _arc(places[a], places[b], right + 14.0 * k, f"{name}: {kind}", COLOURS[k % len(COLOURS)])
        drawn.append(arc)
        right = max(right, reach - 14.0 * k)
    return svg(right + 14.0 * len(ends) + 4.0, lowest + 4.0, "".join(drawn), f"tree of {model.name}")


def _place(
    root: str, title: str, left: float, top: float, children: Mapping[str, list[Branch]], places: dict[str, tuple[float, float, float]]
) -> float:
    """Boxes of a body and of all that it carries; the lower edge.  Walked without recursion: chains may be long."""
    width = len(title) * LETTER + 18.0
    order = [(root, left, width)]
    for name, x, wide in order:
        for branch in children.get(name, ()):
            order.append((branch.body.name, x + wide + len(_label(branch)) * 5.6 + GAP, len(branch.body.name) * LETTER + 18.0))
    rows: dict[str, float] = {}
    bottom = top + ROW / 2
    stack = [root]
    while stack:  # leaves take rows one after the other
        name = stack.pop()
        own = children.get(name, [])
        if not own:
            rows[name] = bottom
            bottom += ROW
        stack += [b.body.name for b in reversed(own)]
    for name, _, _ in reversed(order):
        own = children.get(name, [])
        if own:
            rows[name] = 0.5 * (rows[own[0].body.name] + rows[own[-1].body.name])
    for name, x, wide in order:
        places[name] = (x, rows[name], wide)
    return bottom - ROW / 2 + HEIGHT / 2


def _label(branch: Branch) -> str:
    return f"{branch.joint.name} · {branch.joint.kind}"


def _edge(parent: tuple[float, float, float], child: tuple[float, float, float], branch: Branch) -> str:
    x0, x1 = parent[0] + parent[2], child[0]
    bend = x0 + 9.0
    line = f'<path d="M{x0:.1f},{parent[1]:.1f} H{bend:.1f} V{child[1]:.1f} H{x1:.1f}" fill="none" stroke="currentColor" stroke-opacity=".45"/>'
    words = f'<text x="{bend + 5:.1f}" y="{child[1] - 4:.1f}" {_FONT.replace("12", "10.5")} opacity=".8">{escape(_label(branch))}</text>'
    return line + words


def _arc(a: tuple[float, float, float], b: tuple[float, float, float], right: float, label: str, colour: str) -> tuple[str, float]:
    """What closes a loop, around the right of all boxes, and how far its words reach."""
    (x0, y0), (x1, y1) = ((p[0] + p[2], p[1]) for p in (a, b))
    y0, y1 = (y0 + 5.0, y1 + 5.0) if y0 != y1 else (y0 - 5.0, y1 + 5.0)
    line = f'<path d="M{x0:.1f},{y0:.1f} H{right:.1f} V{y1:.1f} H{x1:.1f}" fill="none" stroke="{colour}" stroke-dasharray="5 3" stroke-width="1.4"/>'
    words = f'<text x="{right + 4:.1f}" y="{0.5 * (y0 + y1) + 4:.1f}" {_FONT.replace("12", "10.5")}>{escape(label)}</text>'
    return line + words, right + 8.0 + len(label) * 5.8


def course(
    t: np.ndarray, values: np.ndarray, title: str, unit: str, colour: str, scale: float = 0.0, size: tuple[float, float] = (230.0, 96.0)
) -> str:
    """One quantity over time with its least and largest value; ``scale`` is the size below whose rounding errors nothing is drawn."""
    width, height = size
    t, x = _thinned(np.asarray(t, dtype=float), np.asarray(values, dtype=float))
    shown = np.isfinite(x)
    low, high = (float(f(x[shown])) for f in (np.min, np.max)) if shown.any() else (0.0, 0.0)
    low, high = (0.0 if abs(y) <= NOISE * max(scale, abs(low), abs(high)) else y for y in (low, high))
    if high - low <= NOISE * max(scale, abs(low), abs(high)):
        low = high = 0.5 * (low + high)
    left, right, top, bottom = 6.0, width - 6.0, 20.0, height - 14.0
    span, reach = (float(t[-1] - t[0]) if len(t) else 0.0) or 1.0, high - low
    px = left + (right - left) * (t - (t[0] if len(t) else 0.0)) / span
    py = bottom - (bottom - top) * (x - low) / reach if reach else np.full(len(x), 0.5 * (top + bottom))
    points = " ".join(f"{u:.1f},{v:.1f}" for u, v in zip(px[shown], py[shown], strict=True))
    small = _FONT.replace("12", "10")
    told = f"{number(low, 4)}" if low == high else f"{number(low, 4)} … {number(high, 4)}"
    head = f'<text x="{left}" y="13" {small} font-weight="bold">{escape(title)}</text>'
    head += f'<text x="{right}" y="13" text-anchor="end" {small} opacity=".75">{escape(f"{told} {unit}".rstrip())}</text>'
    line = f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.4" stroke-linejoin="round"/>'
    foot = f'<path d="M{left},{bottom + 2} H{right}" stroke="currentColor" stroke-opacity=".3"/>'
    if len(t):
        foot += f'<text x="{left}" y="{height - 2}" {small} opacity=".6">{number(float(t[0]), 4)}</text>'
        foot += f'<text x="{right}" y="{height - 2}" text-anchor="end" {small} opacity=".6">{number(float(t[-1]), 4)} s</text>'
    return svg(width, height, head + foot + line, f"{title} over time")


def _thinned(t: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most some hundred points that keep the least and the largest value of every stretch."""
    if len(t) <= 2 * _POINTS:
        return t, x
    edges = np.linspace(0, len(t), _POINTS + 1).astype(int)
    kept = {0, len(t) - 1}
    for a, b in pairwise(edges):
        part = np.where(np.isfinite(x[a:b]), x[a:b], 0.0)
        kept |= {a + int(np.argmin(part)), a + int(np.argmax(part))}
    rows = np.array(sorted(kept))
    return t[rows], x[rows]


def plane(values: np.ndarray, growing: np.ndarray) -> str:
    """Eigenvalues in the complex plane, those that grow in another colour."""
    z = np.asarray(values, dtype=complex)
    if not len(z):
        return ""
    width, height, edge = 230.0, 170.0, 26.0
    most = float(np.abs(z).max()) or 1.0
    reach = [max(float(np.abs(part).max()), 1e-3 * most) * 1.12 for part in (z.real, z.imag)]
    middle = (width / 2, height / 2)
    small = _FONT.replace("12", "10")
    drawn = [f'<path d="M6,{middle[1]} H{width - 6} M{middle[0]},6 V{height - 6}" stroke="currentColor" stroke-opacity=".35"/>']
    for x, grows in zip(z, growing, strict=True):
        px = middle[0] + (middle[0] - edge) * x.real / reach[0]
        py = middle[1] - (middle[1] - 14.0) * x.imag / reach[1]
        cross = f"M{px - 4:.1f},{py - 4:.1f} l8,8 m0,-8 l-8,8"
        drawn.append(f'<path d="{cross}" stroke="{COLOURS[1] if grows else COLOURS[0]}" stroke-width="1.7"/>')
    drawn.append(f'<text x="{width - 6}" y="{middle[1] - 5}" text-anchor="end" {small} opacity=".7">Re {number(reach[0], 3)} 1/s</text>')
    drawn.append(f'<text x="{middle[0] + 5}" y="13" {small} opacity=".7">Im {number(reach[1], 3)} 1/s</text>')
    return svg(width, height, "".join(drawn), "eigenvalues")


def dots(xy: np.ndarray, names: Sequence[str], marked: int | None) -> str:
    """Points of two criteria against each other, one of them marked."""
    width, height, edge = 260.0, 180.0, 34.0
    low, high = xy.min(axis=0), xy.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    px = edge + (width - 1.5 * edge) * (xy[:, 0] - low[0]) / span[0]
    py = height - edge - (height - 1.5 * edge) * (xy[:, 1] - low[1]) / span[1]
    small = _FONT.replace("12", "10")
    drawn = [
        f'<path d="M{edge - 6},{edge / 2 - 6} V{height - edge + 6} H{width - 6}" fill="none" stroke="currentColor" stroke-opacity=".35"/>'
    ]
    for i, (x, y) in enumerate(zip(px, py, strict=True)):
        look = f'r="5" fill="{COLOURS[1]}"' if i == marked else f'r="3" fill="{COLOURS[0]}"'
        drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" {look}/>')
    drawn.append(
        f'<text x="{width - 6}" y="{height - 8}" text-anchor="end" {small}>{escape(names[0])} {number(float(low[0]), 3)} … {number(float(high[0]), 3)}</text>'
    )
    drawn.append(f'<text x="{edge}" y="11" {small}>{escape(names[1])} {number(float(low[1]), 3)} … {number(float(high[1]), 3)}</text>')
    return svg(width, height, "".join(drawn), f"{names[1]} over {names[0]}")
