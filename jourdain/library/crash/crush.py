"""The crush device: steps of force with elastic slopes between them, unloading and reloading along an elastic line, traction, bottoming.

After J. P. Dias and M. S. Pereira (eq. 6 and its table), with the labels of its branches and the origins of its slopes put right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import InputError
from ...model.model import Model
from ...symbolic.expr import Expr
from ...symbolic.functions import where
from .device import Device, channels, factor_of, least, most, positive, row_of, with_work


@dataclass(frozen=True)
class Segment:
    """A piece of a virgin curve: f = f₀ + slope (d − start) over a length (None: without end).

    ``unloading`` is the stiffness of the line back from it.  In series the first part takes ``share`` of what is crushed here, and ``back`` of
    what comes back.
    """

    start: Any
    length: Any
    f0: Any
    slope: Any
    unloading: Any
    share: float = 1.0
    back: float = 1.0

    @property
    def flat(self) -> bool:
        """Whether it is a plateau."""
        return _zero(self.slope)

    def within(self, d: Any) -> Any:
        """How much of d lies within the piece."""
        x = most(d - self.start, 0.0)
        return x if self.length is None else least(x, self.length)


@dataclass(frozen=True, kw_only=True)
class StepCurve(Device):
    """A device by its virgin curve, a row of segments.

    Its state is D, the largest crush so far, and s, how far traction has stretched it: f = max(virgin(D) − k_u (D − d − s), −f_T) with
    D = max(d + s, D).  D and s are memories: they change when a step is accepted and never within an iteration or a rejected step.  Without
    ``stretch`` s stays 0: what traction pulls out comes back with the same force.
    """

    traction: Any = 0.0
    stretch: bool = False
    rate: Any = None
    name: str = "crush device"

    @property
    def segments(self) -> Sequence[Segment]:
        """Slopes and plateaus in turn; the last has no end."""
        raise NotImplementedError

    @property
    def length(self) -> Any:
        """Crush at the end of the last step (m)."""
        raise NotImplementedError

    @property
    def yields(self) -> float:
        """In series, the first part's share of what traction stretches."""
        return 1.0

    @property
    def breaks(self) -> tuple[float, ...]:
        """Where plateaus begin (m)."""
        return tuple(s.start for s in self.segments if s.flat)

    def virgin(self, d: Any) -> Any:
        """Force of first loading at a crush d ≥ 0 (N)."""
        return sum((s.slope * s.within(d) for s in self.segments if not s.flat), 0.0)

    def energy(self, d: Any, part: int = 0) -> Any:
        """Work of first loading up to a crush d ≥ 0 (J); in series perhaps that of the first or second part alone."""
        return sum((_of(part, s.share) * w * (s.f0 + 0.5 * s.slope * w) for s in self.segments for w in (s.within(d),)), 0.0)

    def unloading_stiffness(self, crushed: Any) -> Any:
        """Stiffness of the line on which the device unloads and reloads, by the largest crush."""
        return _by_segment(crushed, [(s.start, s.unloading) for s in self.segments])

    def force(self, d: Any, crushed: Any = 0.0, stretched: Any = 0.0) -> Any:
        """The law at rest: force at a crush d of a device that was crushed by ``crushed`` and stretched by ``stretched`` before."""
        return self._line(d, crushed, stretched)[0]

    def absorbed(self, d: Any, crushed: Any = 0.0, stretched: Any = 0.0, part: int = 0) -> Any:
        """Energy taken up so far, W = ∫ f dd: work of the virgin curve to D, less what the line gave back, and traction's work."""
        f, fu, k, D = self._line(d, crushed, stretched)
        back = _of(part, _by_segment(D, [(s.start, s.back) for s in self.segments])) if part else 1.0
        pulled = self.traction * (stretched + self._pulled(d, fu, k, D, stretched))
        return self.energy(D, part) - back * (fu * fu - f * f) / (2.0 * k) + _of(part, self.yields) * pulled

    def dissipated(self, d: Any, crushed: Any = 0.0, stretched: Any = 0.0) -> Any:
        """Energy that cannot come back: W − f²/(2 k_u)."""
        _, fu, k, D = self._line(d, crushed, stretched)
        return self.energy(D) - fu * fu / (2.0 * k) + self.traction * (stretched + self._pulled(d, fu, k, D, stretched))

    def _pulled(self, d: Any, fu: Any, k: Any, D: Any, stretched: Any) -> Any:
        """How far traction pulls beyond the elastic line (m)."""
        return 0.0 if _zero(self.traction) else most((-self.traction - fu) / k + D - d - stretched, 0.0)

    def _line(self, d: Any, crushed: Any, stretched: Any, rate: Any = None) -> tuple[Any, Any, Any, Any]:
        """Force, virgin force at D, stiffness of unloading and D.

        Every step of loading begins with d = D, where both branches have one force but not one derivative: the ``rate`` says which it is.
        """
        x = d + stretched
        D = most(x, crushed) if rate is None else where(rate > 0.0, where(x >= crushed, x, crushed), where(x > crushed, x, crushed))
        fu, k = self.virgin(D), self.unloading_stiffness(D)
        return most(fu - k * (D - x), -self.traction), fu, k, D

    def act(self, m: Model, name: str, crush: Any, rate: Any) -> Expr:
        """The law with its memories; an event at each turn makes the largest crush exact.  Its force."""
        holds = not _zero(self.traction)
        crushed = m.memory(f"{name}.crushed", 0.0, unit="m")
        stretched = m.memory(f"{name}.stretched", 0.0, unit="m") if holds and self.stretch else 0.0
        force, fu, k, D = self._line(crush, crushed, stretched, rate)
        m.update(crushed, D)
        if isinstance(stretched, Expr):
            m.update(stretched, stretched + self._pulled(crush, fu, k, D, stretched))
        m.event(f"{name}.turns", rate, direction=0 if isinstance(stretched, Expr) else -1)
        factor = factor_of(self.rate, self.name)
        if factor is None:
            state = crush, crushed, stretched
            channels(m, name, crush, force, self.absorbed(*state), self.dissipated(*state))
        else:
            force = where(force > 0.0, force * factor(rate), force)
            with_work(m, name, crush, rate, force)
        m.output(f"{name}.used", D / self.length, unit="1")
        return force


@dataclass(frozen=True, kw_only=True)
class CrushDevice(StepCurve):
    """Steps of force f₁ < f₂ < … that end at crushes d₁ < d₂ < …, joined by elastic slopes; made by :func:`crush_device`."""

    levels: tuple[Any, ...]
    ends: tuple[Any, ...]
    stiffness: tuple[Any, ...]
    bottoming: Any = None

    kind = "crush device"

    @property
    def segments(self) -> Sequence[Segment]:
        """Slopes and plateaus in turn.  A level or an end before its neighbour, as an optimiser may try, acts as that one."""
        found: list[Segment] = []
        f0: Any = 0.0
        x: Any = 0.0
        k = self.stiffness
        for i, (f, end) in enumerate(zip(self.levels, self.ends, strict=True)):
            rise = most(f - f0, 0.0) if i else f
            found.append(Segment(x, rise / k[i], f0, k[i], most(k[max(i - 1, 0)], k[i])))
            f0, x = f0 + rise, x + rise / k[i]
            last = i + 1 == len(self.levels) and self.bottoming is None
            found.append(Segment(x, None if last else most(end - x, 0.0), f0, 0.0, k[i]))
            x = most(end, x)
        if self.bottoming is not None:
            found.append(Segment(x, None, f0, self.bottoming, most(k[-1], self.bottoming)))
        return found

    @property
    def length(self) -> Any:
        """The last end."""
        return self.ends[-1]

    def declared(self, m: Model, name: str) -> CrushDevice:
        """Levels, ends, stiffness, traction and bottoming as parameters ``name.level1`` …"""

        def one(word: str, x: Any, unit: str) -> Expr:
            # energies of unloading divide by slopes
            return m.parameter(f"{name}.{word}", x, unit, (1e-3 * x if word.startswith("stiffness") else 0.0, None))

        def row(word: str, values: Sequence[Any], unit: str) -> tuple[Expr, ...]:
            return tuple(one(f"{word}{i}", x, unit) for i, x in enumerate(values, 1))

        same = all(k == self.stiffness[0] for k in self.stiffness)
        return replace(
            self, levels=row("level", self.levels, "N"), ends=row("end", self.ends, "m"),
            stiffness=(one("stiffness", self.stiffness[0], "N/m"),) * len(self.levels) if same else row("stiffness", self.stiffness, "N/m"),
            traction=one("traction", self.traction, "N") if self.traction else 0.0,
            bottoming=None if self.bottoming is None else one("bottoming", self.bottoming, "N/m"),
        )  # fmt: skip

    def __str__(self) -> str:
        steps = ", ".join(f"{f / 1e3:g} kN to {d:g} m" for f, d in zip(self.levels, self.ends, strict=True))
        after = "the last goes on" if self.bottoming is None else f"then {self.bottoming / 1e6:g} MN/m"
        return f"{self.name}: {steps}, {after}; slopes {self.stiffness[0] / 1e6:g} MN/m, traction {self.traction / 1e3:g} kN"


@dataclass(frozen=True, kw_only=True)
class SeriesDevice(StepCurve):
    """Two devices in a row under one force (see :func:`in_series`)."""

    first: StepCurve
    second: StepCurve
    merged: tuple[Segment, ...]

    kind = "devices in series"

    @property
    def segments(self) -> Sequence[Segment]:
        """The common curve."""
        return self.merged

    @property
    def length(self) -> Any:
        """That of both."""
        return self.first.length + self.second.length

    @property
    def yields(self) -> float:
        """The weaker one is stretched; two alike share it."""
        return 0.5 if self.first == self.second else float(self.first.traction <= self.second.traction)

    def declared(self, m: Model, name: str) -> SeriesDevice:
        """Parameters of the one device if both are alike; devices that differ stay numbers, since the order of their steps is in the equations."""
        if self.first != self.second:
            return self
        one = self.first.declared(m, name)
        assert isinstance(one, StepCurve)
        return _doubled(one)

    def crush_of(self, part: int, d: Any, crushed: Any = 0.0, stretched: Any = 0.0) -> Any:
        """How much of a common crush is that of the first or second part."""
        f, fu, k, D = self._line(d, crushed, stretched)
        back = _of(part, _by_segment(D, [(s.start, s.back) for s in self.segments]))
        return (
            sum((_of(part, s.share) * s.within(D) for s in self.segments), 0.0) - back * (fu - f) / k - _of(part, self.yields) * stretched
        )

    def act(self, m: Model, name: str, crush: Any, rate: Any) -> Expr:
        """The common law, with crush and energy of both parts as ``NAME.first.crush`` …"""
        force = super().act(m, name, crush, rate)
        if self.rate is None:
            state = crush, m.inputs[f"{name}.crushed"].symbol, m.inputs[f"{name}.stretched"].symbol if self.stretch else 0.0
            for part, word in ((1, "first"), (2, "second")):
                channels(m, f"{name}.{word}", self.crush_of(part, *state), force, self.absorbed(*state, part=part))
        return force


def crush_device(
    levels: Any, ends: Any, stiffness: Any, traction: Any = 0.0, bottoming: Any = None, rate: Any = None, stretch: bool = False,
    name: str = "crush device",
) -> CrushDevice:  # fmt: skip
    """A device that is crushed at steps of force, such as a honeycomb, a crush tube or the end of a car.

    levels: forces of the plateaus, rising (N). ends: crush at which each ends (m). stiffness: of the elastic slope that leads to each, one for
        all or one each (N/m); also that of unloading and reloading from it (a slope softer than the one before gives back more than that one did). Beyond the last end the plateau goes on, or ``bottoming`` (N/m) begins.
    traction: force at which it yields when pulled (N): that of a coupler. 0 is a contact that opens. ``stretch`` makes that yielding permanent: the
        curve moves with it, and pulling costs energy. Without it the way out and the way back have one force.
    rate: how a force grows with the rate of crush v > 0: c for 1 + c v, (v0, p) for 1 + (v/v0)^(1/p), or a function of v.

    >>> honeycomb = crush_device(levels=["1 MN", "2 MN", "3 MN"], ends=[0.2, 0.6, 1.2], stiffness="100 MN/m")
    >>> honeycomb.breaks, round(float(honeycomb.energy(1.2)))
    ((0.01, 0.21, 0.61), 2785000)
    """
    what = f"'{name}'"
    f = [positive(x, f"{what}: level {i}", "N", "a device without force crushes without end") for i, x in enumerate(row_of(levels), 1)]
    d = [positive(x, f"{what}: end {i}", "m", "give bottoming= or let the last plateau go on") for i, x in enumerate(row_of(ends), 1)]
    given = row_of(stiffness)
    k = [positive(x, f"{what}: stiffness", "N/m", "a slope leads up to its level") for x in given]
    k = k * len(f) if len(k) == 1 else k
    if not f or len(d) != len(f) or len(k) != len(f):
        raise InputError(f"{what}: {len(f)} levels need as many ends and one stiffness or as many; there are {len(d)} and {len(given)}")
    x = 0.0
    for i, (level, end) in enumerate(zip(f, d, strict=True)):
        before = f[i - 1] if i else 0.0
        if level <= before:
            raise InputError(
                f"{what}: level {i + 1} = {level:g} N is not above level {i} = {before:g} N: a step of negative stiffness; give rising levels"
            )
        start = x + (level - before) / k[i]
        if end <= start:
            raise InputError(
                f"{what}: plateau {i + 1} would end at {end:g} m, before it begins at {start:g} m; give ends in order or a larger stiffness"
            )
        x = end
    held = positive(traction, f"{what}: traction", "N", zero=True)
    bottom = None if bottoming is None else positive(bottoming, f"{what}: bottoming", "N/m", "the stiffness beyond the last end")
    factor_of(rate, what)
    return CrushDevice(
        levels=tuple(f),
        ends=tuple(d),
        stiffness=tuple(k),
        traction=held,
        bottoming=bottom,
        rate=rate,
        stretch=stretch and held > 0.0,
        name=name,
    )


def in_series(first: StepCurve, second: StepCurve, name: str | None = None) -> SeriesDevice:
    """Two devices under a common force, d = d₁ + d₂, as one: where fronts of two trains meet, or a coupler before a crush tube.

    Since both follow one force, their steps come in the order of their levels, slopes are springs in series, and the smaller traction
    counts.  Equal levels give way together, in proportion to their lengths.
    """
    for device in (first, second):
        if not isinstance(device, StepCurve):
            raise InputError(
                f"in_series takes crush devices; with a {getattr(device, 'kind', device)} put a mass between them (masses=[[…], …])"
            )
        if device.rate is not None:
            raise InputError(
                f"in_series: '{device.name}' depends on the rate of its own crush, which a common force does not tell; leave out rate="
            )
    if first == second:
        return replace(_doubled(first), name=name or first.name)
    held = min(first.traction, second.traction)
    merged = tuple(_merged(first.segments, second.segments))
    return SeriesDevice(
        first=first,
        second=second,
        merged=merged,
        traction=held,
        stretch=(first.stretch or second.stretch) and held > 0.0,
        name=name or f"{first.name} + {second.name}",
    )


def _doubled(one: StepCurve) -> SeriesDevice:
    """A device against its like: twice the lengths, half the stiffness."""
    merged = tuple(
        Segment(2.0 * s.start, None if s.length is None else 2.0 * s.length, s.f0, 0.5 * s.slope, 0.5 * s.unloading, 0.5, 0.5)
        for s in one.segments
    )  # fmt: skip
    return SeriesDevice(first=one, second=one, merged=merged, traction=one.traction, stretch=one.stretch, name=one.name)


def _merged(a: Sequence[Segment], b: Sequence[Segment]) -> list[Segment]:
    """The curve of two curves under one force: both rise together, and each plateau is walked when its force is reached."""
    found: list[Segment] = []
    rows = (list(a), list(b))
    at, left = [0, 0], [_rise(a[0]), _rise(b[0])]
    back = [a[0].unloading, b[0].unloading]
    f = x = 0.0

    def add(length: float | None, slope: float, share: float) -> None:
        nonlocal x, f
        soft = 1.0 / back[0] + 1.0 / back[1]
        found.append(Segment(x, length, f, slope, 1.0 / soft, share, 1.0 / back[0] / soft))
        if length is not None:
            x, f = x + length, f + slope * length

    def enter(part: int) -> None:
        at[part] += 1
        left[part] = _rise(rows[part][at[part]])

    while True:
        now = [rows[p][at[p]] for p in (0, 1)]
        flat = [p for p in (0, 1) if now[p].flat]
        if flat:
            lengths = [now[p].length if p in flat else 0.0 for p in (0, 1)]
            ends = [p for p in (0, 1) if lengths[p] is None]
            for p in ends or flat:
                back[p] = now[p].unloading
            if ends:
                add(None, 0.0, 0.5 if len(ends) == 2 else (1.0 if ends == [0] else 0.0))
                return found
            total = float(lengths[0]) + float(lengths[1])
            if total > 0.0:
                add(total, 0.0, float(lengths[0]) / total)
            for p in flat:
                enter(p)
            continue
        back = [s.unloading for s in now]
        soft = sum(1.0 / s.slope for s in now)
        rise = min(left)
        add(None if np.isinf(rise) else rise * soft, 1.0 / soft, 1.0 / now[0].slope / soft)
        if np.isinf(rise):
            return found
        done = [p for p in (0, 1) if left[p] <= rise * (1.0 + 1e-12)]
        left = [x - rise for x in left]
        for p in done:
            enter(p)


def _rise(s: Segment) -> float:
    return np.inf if s.length is None else float(s.slope * s.length)


def _by_segment(d: Any, values: Sequence[tuple[Any, Any]]) -> Any:
    """The value that belongs to the segment in which d lies, from rows (start, value)."""
    found: Any = values[0][1]
    before = found
    for start, new in values[1:]:
        if not (new is before or (not isinstance(new, Expr) and not isinstance(before, Expr) and new == before)):
            symbolic = any(isinstance(e, Expr) for e in (d, start, new, found))
            found = where(d > start, new, found) if symbolic else np.where(np.greater(d, start), new, found)
        before = new
    return found


def _of(part: int, share: Any) -> Any:
    """Share of the whole (0), of the first part (1) or of the second (2)."""
    return share if part == 1 else 1.0 - share if part else 1.0


def _zero(x: Any) -> bool:
    return not isinstance(x, Expr) and x == 0.0


__all__ = ["CrushDevice", "SeriesDevice", "StepCurve", "crush_device", "in_series"]
