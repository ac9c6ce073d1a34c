"""Nets of bars in the plane that grow: scissors, ladders, tensegrity nets and conveyor chains, against Exudyn at equal error.

python -m benchmarks.nets [--quick]

A net is bars, pins and springs.  Ours is integrated in joint angles, with many loops in natural coordinates, too (loops closed by sparse elimination), and by directors with
energy–momentum steps; Exudyn's bodies are planar, its solvers generalised-α and the trapezoidal rule of index 2 with full and modified
Newton, and explicit methods where there are no pins.  Errors are those of the bars' centres at the end.  Times are processor times of whole
calls of ``simulate`` and of Exudyn's time loop on one thread, the least of several in turn.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MASS, GRAVITY = 1.0, 9.81
Point = tuple[float, float]


@dataclass
class Net:
    """Bars by their end points, pins (bar or −1 for the ground, bar, place) and springs (bar, place, bar, place, stiffness, damping, length)."""

    name: str
    end: float
    bars: list[tuple[Point, Point]] = field(default_factory=list)
    pins: list[tuple[int, int, Point]] = field(default_factory=list)
    springs: list[tuple[int, Point, int, Point, float, float, float]] = field(default_factory=list)

    def bar(self, a: Point, b: Point) -> int:
        """A bar between two points; its number."""
        self.bars.append((a, b))
        return len(self.bars) - 1

    def centre(self, i: int) -> np.ndarray:
        """The middle of a bar, or the origin for the ground."""
        return np.mean(self.bars[i], axis=0) if i >= 0 else np.zeros(2)

    def inertia(self, i: int) -> float:
        """Moment of inertia of a bar about its middle."""
        (x0, y0), (x1, y1) = self.bars[i]
        return float(MASS * ((x1 - x0) ** 2 + (y1 - y0) ** 2) / 12.0)


def scissors(n: int) -> Net:
    """n pairs of crossed bars, the first held at its lower corner and swinging about it while the tongs open."""
    net, before = Net(f"scissors, {n} pairs", 0.5), None
    for i in range(n):
        rising, falling = net.bar((i, 0.0), (i + 1, 0.6)), net.bar((i, 0.6), (i + 1, 0.0))
        net.pins.append((rising, falling, (i + 0.5, 0.3)))
        net.pins.append((-1, rising, (0.0, 0.0)) if before is None else (before[1], rising, (i, 0.0)))
        if before is not None:
            net.pins.append((before[0], falling, (i, 0.6)))
        before = rising, falling
    return net


def ladder(n: int) -> Net:
    """A ladder of hinged bars with n rungs that hangs askew from two pins: every cell can shear."""
    net, slant = Net(f"ladder, {n} rungs", 0.5), np.array([0.3, -1.0]) / np.hypot(0.3, 1.0)
    left = [-1, -1]
    for i in range(n):
        ends = [tuple(np.array([x, 0.0]) + k * slant) for k in (i, i + 1) for x in (0.0, 1.0)]
        sides = [net.bar(ends[0], ends[2]), net.bar(ends[1], ends[3])]
        net.pins += [(left[k], sides[k], ends[k]) for k in range(2)]
        rung = net.bar(ends[2], ends[3])
        net.pins += [(sides[0], rung, ends[2]), (sides[1], rung, ends[3])]
        left = sides
    return net


def conveyor(n: int) -> Net:
    """A closed chain of n links, laid as over two wheels and held at one joint, that falls and swings."""
    net, radius = Net(f"conveyor chain, {n} links", 0.5), 1.0
    quarter = n // 4
    turn = [(radius * np.sin(a), radius * np.cos(a)) for a in np.linspace(0.0, np.pi, n // 2 - quarter + 1)]
    step = np.hypot(turn[1][0] - turn[0][0], turn[1][1] - turn[0][1])
    length = quarter * step
    right = [(length + x, y) for x, y in turn]
    corners = [*right, *((length - k * step, -radius) for k in range(1, quarter)), *((-x, -y) for x, y in turn)]
    corners += [(k * step, radius) for k in range(1, quarter)]
    links = [net.bar(corners[k], corners[(k + 1) % len(corners)]) for k in range(len(corners))]
    net.pins = [(-1, links[0], corners[0])] + [(links[k - 1], links[k], corners[k]) for k in range(1, len(links))]
    net.pins.append((links[-1], links[0], corners[0]))
    return net


def tensegrity(n: int) -> Net:
    """n × n cells of two crossed bars that touch nothing, held by tight springs between the bars' ends and to the ground at the rim's upper row."""
    net, k, c = Net(f"tensegrity net, {n} × {n} cells", 0.5), 2000.0, 2.0
    ends: dict[tuple[int, int, int], tuple[int, Point]] = {}
    for i in range(n):
        for j in range(n):
            x, y = 1.2 * i, -1.2 * j
            corners = [(x, y), (x + 1.0, y), (x + 1.0, y - 1.0), (x, y - 1.0)]
            one, two = net.bar(corners[0], corners[2]), net.bar(corners[1], corners[3])
            for m, (bar, place) in enumerate(zip((one, two, one, two), corners, strict=True)):
                ends[i, j, m] = bar, place

    def tie(a: tuple[int, Point], b: tuple[int, Point]) -> None:
        net.springs.append((*a, *b, k, c, 0.95 * float(np.hypot(a[1][0] - b[1][0], a[1][1] - b[1][1]))))

    for (i, j, m), end in ends.items():
        tie(end, ends[i, j, (m + 1) % 4])
        if i + 1 < n and m in (1, 2):
            tie(end, ends[i + 1, j, 3 - 2 * (m == 1) - (m == 1)])
        if j + 1 < n and m in (2, 3):
            tie(end, ends[i, j + 1, 1 if m == 2 else 0])
        if j == 0 and m in (0, 1):
            tie(end, (-1, (end[1][0], end[1][1] + 0.4)))
    return net


NETS: dict[str, tuple[Callable[[int], Net], tuple[int, ...]]] = {
    "scissors": (scissors, (4, 16, 64)), "ladder": (ladder, (4, 16, 64, 200)), "conveyor": (conveyor, (16, 64, 200)), "tensegrity": (tensegrity, (2, 4, 8)),
}  # fmt: skip


# -- Jourdain ---------------------------------------------------------------------------------------------------------


def model_of(net: Net) -> tuple[Any, list[tuple[int, int, Point]]]:
    """The net as a model, its tree walked level by level; tree joints as (parent, bar, place)."""
    import jourdain as jd

    m = jd.Model(net.name, gravity=(0, -GRAVITY, 0))
    bodies = {-1: m.ground, **{i: m.body(f"b{i}", mass=MASS, inertia=[net.inertia(i)] * 3) for i in range(len(net.bars))}}

    def at(i: int, place: Point) -> Any:
        x, y = np.array(place) - net.centre(i)
        return bodies[i].at(float(x), float(y), 0.0)

    joints, reached, waiting = [], {-1}, list(net.pins)
    while waiting:
        ready = [p for p in waiting if (p[0] in reached) != (p[1] in reached)]
        for a, b, place in ready:
            if (a in reached) == (b in reached):
                continue
            parent, child = (a, b) if a in reached else (b, a)
            m.revolute(f"j{child}", at(parent, place), at(child, place), axis="z")
            joints.append((parent, child, place))
            reached.add(child)
            waiting.remove((a, b, place))
        if not ready:
            break
    for k, (a, b, place) in enumerate(waiting):
        m.close(f"loop{k}", at(a, place), at(b, place), "ball")
    for i in range(len(net.bars)):
        if i not in reached:
            m.planar(f"j{i}", m.ground, bodies[i])
    for k, (a, p, b, r, stiffness, damping, length) in enumerate(net.springs):
        m.spring(f"s{k}", at(a, p), at(b, r), stiffness=stiffness, damping=damping, length=length)
    return m, joints


def start_of(system: Any, net: Net, joints: list[Any]) -> Any:
    """At rest where the net is drawn: hinges at zero, loose bars in their places."""
    hinged = {child for _, child, _ in joints}
    names = [n for n in system.coordinate_names if n.split(".")[0] in {f"j{i}" for i in range(len(net.bars)) if i not in hinged}]
    loose = {n: float(net.centre(int(n.split(".")[0][1:]))["xy".index(n[-1])]) for n in names if n.endswith((".x", ".y"))}
    return system.state(loose)


def centres(net: Net, joints: list[Any], sol: Any) -> np.ndarray:
    """Places of the bars' centres at the end of a solution, found from joint coordinates along the tree."""
    place: dict[int, tuple[np.ndarray, float]] = {-1: (np.zeros(2), 0.0)}

    def turned(angle: float, v: np.ndarray) -> np.ndarray:
        c, s = np.cos(angle), np.sin(angle)
        return np.array([c * v[0] - s * v[1], s * v[0] + c * v[1]])

    for parent, child, pin in joints:
        (origin, angle), own = place[parent], np.array(pin)
        there, here = own - net.centre(parent), own - net.centre(child)
        new = angle + float(sol[f"j{child}.angle"][-1])
        place[child] = origin + turned(angle, there) - turned(new, here), new
    for i in range(len(net.bars)):
        if i not in place:
            place[i] = np.array([float(sol[f"j{i}.{c}"][-1]) for c in "xy"]), 0.0
    return np.array([place[i][0] for i in range(len(net.bars))])


# -- Exudyn -----------------------------------------------------------------------------------------------------------


def exudyn_of(net: Net) -> Any:
    """The net in Exudyn: planar bodies, revolute joints, springs."""
    from benchmarks import peers_exudyn as x

    p = x.Planar(GRAVITY)
    bodies = {-1: p.ground, **{i: p.body(MASS, net.inertia(i), net.centre(i)) for i in range(len(net.bars))}}
    for a, b, place in net.pins:
        p.pin(bodies[a], bodies[b], place)
    for a, here, b, there, stiffness, damping, length in net.springs:
        markers = [p.marker(bodies[a], here), p.marker(bodies[b], there)]
        p.mbs.AddObject(
            x.items.ObjectConnectorSpringDamper(markerNumbers=markers, referenceLength=length, stiffness=stiffness, damping=damping)
        )
    start = np.array([net.centre(i) for i in range(len(net.bars))])

    def read(q: np.ndarray, v: np.ndarray) -> Any:
        return start + q[:, :2]

    return p.finish(net.end, read, "EXUdense" if len(net.bars) < 12 else "EigenSparse")


# -- measuring --------------------------------------------------------------------------------------------------------


@dataclass
class Way:
    """One way to compute a net: its time (s), the least of several, and its error (m)."""

    tool: str
    label: str
    loop: Callable[[], Any]
    read: Callable[[Any], np.ndarray]
    time: float = np.inf
    error: float = np.nan
    drift: float = np.nan


def _timed(way: Way) -> Any:
    begun = time.process_time()
    found = way.loop()
    way.time = min(way.time, time.process_time() - begun)
    return found


def ours(net: Net, large: bool) -> tuple[list[Way], Callable[[], tuple[np.ndarray, str]]]:
    """Our ways, and a reference: coordinates of joints or bodies at rtol 1e-11, of large nets directors at fine steps, extrapolated."""

    m, joints = model_of(net)
    found: list[Way] = []
    read = lambda sol: centres(net, joints, sol)
    directors = m.compile(formulation="directors")
    at_rest = start_of(directors, net, joints)
    for steps in (25, 50, 100, 200, 400, 800):
        loop = lambda steps=steps: directors.simulate(at_rest, net.end, step=net.end / steps, outputs=2)
        found.append(Way("Jourdain", f"directors, {steps} steps", loop, read))
    if large:
        return found, lambda: (_extrapolated(directors, at_rest, net, read), "directors, extrapolated")
    systems = {"joint angles": m.compile()}
    if len(net.pins) > len(net.bars) > 100:  # loops beside loops
        systems["natural coordinates"] = m.compile(formulation="natural")
    start = start_of(systems["joint angles"], net, joints)
    for words, system in systems.items():
        for method in ("dopri5", "dop853"):
            for rtol in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8):
                loop = lambda system=system, method=method, rtol=rtol: system.simulate(start, net.end, method, rtol=rtol, outputs=2)
                found.append(Way("Jourdain", f"{words}, {method} {rtol:g}", loop, read))
    # the last of them: natural coordinates lose fewer digits along many loops
    return found, lambda: (read(system.simulate(start, net.end, "dop853", rtol=1e-11, atol=1e-12, outputs=2)), f"{words}, rtol 1e-11")


def _extrapolated(system: Any, start: Any, net: Net, read: Callable[[Any], np.ndarray]) -> np.ndarray:
    """Order 2: the error of half the step is a quarter."""
    coarse, fine = (read(system.simulate(start, net.end, step=net.end / steps, outputs=2)) for steps in (800, 1600))
    return fine + (fine - coarse) / 3.0


def peers(net: Net) -> list[Way]:
    """Exudyn's ways."""
    found: list[Way] = []
    explicit = ("RK44", "DOPRI5") if not net.pins else ()
    for method in ("GeneralizedAlpha", "TrapezoidalIndex2", *explicit):
        # with more bars the modified method is always the faster, and full Newton takes minutes
        for modified in ((False, True) if len(net.bars) <= 12 else (True,)) if method not in explicit else (False,):
            # explicit pairs have tolerances, all others steps
            settings = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8) if method == "DOPRI5" else (25, 50, 100, 200, 400, 800, 1600)
            found += [_peer(net, method, modified, setting) for setting in settings]
    return found


def _peer(net: Net, method: str, modified: bool, setting: float) -> Way:
    exudyn = exudyn_of(net)
    settings = exudyn.settings(method, setting)
    settings.timeIntegration.newton.useModifiedNewton = modified
    exudyn.settings = lambda *_: settings
    initial = [np.array(f()) for f in (exudyn.mbs.systemData.GetODE2Coordinates, exudyn.mbs.systemData.GetODE2Coordinates_t)]
    loop, final = exudyn.prepare(method, setting)

    def whole() -> Any:
        data = exudyn.mbs.systemData
        data.SetODE2Coordinates(initial[0])
        data.SetODE2Coordinates_t(initial[1])
        loop()
        return final()

    how = f"{setting} steps" if setting >= 1 else f"tolerance {setting:g}"
    return Way("Exudyn", f"{method}{', modified Newton' if modified else ''}, {how}", whole, lambda found: found)


def measured(name: str, n: int, again: int = 3, longest: float = 5.0) -> dict[str, Any]:
    """The ways of a net with errors and times, and at each error the best of either tool."""
    net = NETS[name][0](n)
    mine, reference = ours(net, len(net.bars) > 300)
    expected, how = reference()
    good = []
    skipped: set[str] = set()
    for way in [*mine, *peers(net)]:
        family = way.label.rsplit(",", 1)[0]
        if family in skipped:
            continue
        try:
            found = _timed(way)
        except Exception as failure:  # a step too long for Newton's method is a result
            print(f"    {way.tool} {way.label}: {str(failure).splitlines()[0][:100]}")
            continue
        way.error = float(np.abs(way.read(found) - expected).max())
        if way.tool == "Jourdain":
            energy = found["energy.total"]
            way.drift = float(np.ptp(energy)) if not net.springs else np.nan
        if way.time > longest:
            skipped.add(family)
        if np.isfinite(way.error):
            good.append(way)
    for _ in range(again - 1):
        for way in good:
            if way.time < 2.0:
                _timed(way)
    rows = []
    for target in (1e-2, 1e-3, 1e-4, 1e-5):
        best = {
            tool: min((w for w in good if w.tool == tool and w.error <= target), key=lambda w: w.time, default=None)
            for tool in ("Jourdain", "Exudyn")
        }
        if best["Jourdain"] is not None:
            rows.append({"net": net.name, "bars": len(net.bars), "error": target, "reference": how, **{t: (w.time, w.label, w.error, w.drift) if w else None for t, w in best.items()}})  # fmt: skip
    return {"name": net.name, "rows": rows}


def table(found: list[dict[str, Any]]) -> str:
    """The figures as Markdown."""
    lines = ["| net | bars | error, m | Jourdain, ms | Exudyn, ms | ratio |", "| --- | --- | --- | --- | --- | --- |"]
    for case in found:
        for row in case["rows"]:
            (mine, label, _, _), peer = row["Jourdain"], row["Exudyn"]
            theirs = f"{1e3 * peer[0]:.3g} {peer[1]} | **{peer[0] / mine:.1f}×**" if peer else "not reached | –"
            lines.append(f"| {row['net']} | {row['bars']} | {row['error']:g} | {1e3 * mine:.3g} {label} | {theirs} |")
    return "\n".join(lines)


def run(quick: bool = False) -> list[dict[str, Any]]:
    """All nets, printed."""
    found = []
    for name, (_, sizes) in NETS.items():
        for n in sizes[: 1 if quick else None]:
            found.append(measured(name, n))
            print(table(found[-1:]), flush=True)
    return found


if __name__ == "__main__":
    run("--quick" in sys.argv)
