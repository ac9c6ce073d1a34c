"""A channel: the samples of one named quantity over time, with its unit; computed on first use if need be."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jourdain.errors import InputError, JourdainError, nearest
from jourdain.model.units import convert, unit

Array = NDArray[Any]
Index = tuple[int, ...]
_KINDS = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_}
_FORBIDDEN = frozenset('/\\[]"')


class UnknownChannelError(JourdainError, KeyError):
    """A channel, frame or component of that name is not in the solution; the message lists the nearest names."""

    def __str__(self) -> str:
        return str(self.args[0])


#: How others call the motion of a joint, and how its channels end here.
_OTHER_MOTIONS = {
    "position": "", "pos": "", "q": "", "velocity": "_rate", "vel": "_rate", "speed": "_rate", "omega": "_rate", "v": "_rate", "qd": "_rate",
    "acceleration": "_acc", "acc": "_acc", "a": "_acc", "alpha": "_acc", "qdd": "_acc",
}  # fmt: skip


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownChannelError:
    """The error for a name that is not there, with the nearest of the ``known`` names."""
    names = sorted(known)
    folded = {candidate.lower(): candidate for candidate in names}
    near = [folded[match] for match in nearest(str(name).lower(), folded, 5, 0.4)]
    joint, _, what = str(name).partition(".")  # a joint's name, or its motion by another word
    own = [n for n in names if n.rpartition(".")[0] == joint and n.rpartition(".")[2] not in ("reaction", "reaction_torque")]
    if not what or what.lower() in _OTHER_MOTIONS:
        ends = _OTHER_MOTIONS.get(what.lower(), "")
        near = list(
            dict.fromkeys(
                [
                    n
                    for n in own
                    if (n.endswith(("_rate", "_acc")) and n.endswith(ends or "-")) or (not ends and not n.endswith(("_rate", "_acc")))
                ]
                + near
            )
        )[:5]
    if near:
        hint = f"did you mean {', '.join(map(repr, near))}?"
    else:
        shown = ", ".join(map(repr, names[:8])) or "none"
        hint = f"known are {shown}{' …' if len(names) > 8 else ''}"
    return UnknownChannelError(f"{kind} {name!r} is not in the solution; {hint}")


@lru_cache(1 << 14)
def check_name(name: str) -> str:
    """The name itself if it can name a channel: a path of printable parts joined by dots, e.g. "rod.com.x"."""
    good = isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable() and name == name.strip()
    if not good or _FORBIDDEN & set(name) or not all(name.split(".")):
        raise InputError(
            f"channel name {name!r} is not a path such as 'rod.com.x': parts joined by dots, printable, without / \\ [ ] and quotes"
        )
    if name == "t":
        raise InputError("channel name 't' is taken by the time of the solution; choose another name")
    return name


class Channel:
    """Samples of one quantity: ``values`` of shape (nt,) or (nt, k, …), a unit and a description.

    ``values`` may be a function of no argument: it is called on first access and its result kept.  A ``remark`` is added to the description
    (nothing when it is empty) where it takes the values to know it, and a ``notice`` is told what is read; both are functions of the index of
    the component meant, () for the whole.

    >>> Channel([0.0, 1.5], "m", "stroke").to("mm")
    array([   0., 1500.])
    """

    __slots__ = ("_compute", "_known", "_length", "_notice", "_remark", "_values", "brief", "unit")

    def __init__(
        self, values: Any, unit: str = "", description: str = "", remark: Callable[[Index], str] | None = None,
        notice: Callable[[Index], None] | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(unit, str) or not isinstance(description, str):
            raise InputError(f"channel unit {unit!r} and description {description!r} must be text")
        self.unit = unit
        #: The description without the remark.
        self.brief = description
        self._remark = remark
        self._notice = notice
        self._length: int | None = None
        self._known = False
        self._compute: Callable[[], Any] = values if callable(values) else _nothing
        self._values: Array | None = None if callable(values) else _frozen(values)

    @classmethod
    def column(cls, table: Array, i: int, unit: str = "", description: str = "") -> Channel:
        """A column of a table that does not change any more; its samples are there, and copied out when they are read."""
        found = cls(lambda: table[:, i], unit, description)
        found._known, found._length = True, len(table)
        return found

    @property
    def description(self) -> str:
        """What the samples are, with the remark."""
        if self._remark is not None:
            self.brief, self._remark = "; ".join(filter(None, (self.brief, self._remark(())))), None
        return self.brief

    @property
    def computed(self) -> bool:
        """Whether the values are there already (False: they will be computed on first access)."""
        return self._values is not None or self._known

    @property
    def values(self) -> Array:
        """The samples, read-only, of type float, int or bool."""
        self.read()
        return self.samples

    def read(self, index: Index = ()) -> None:
        """Tells that the component at ``index`` is read, or all of them."""
        if self._notice is not None:
            self._notice(index)

    def component(self, index: Index) -> Channel:
        """The component at ``index`` as a channel."""
        self.read(index)
        remark = self._remark
        return Channel(part(self.samples, index), self.unit, self.brief, None if remark is None else lambda _: remark(index))

    @property
    def samples(self) -> Array:
        """The values, without telling that they are read."""
        if self._values is None:
            values = _frozen(self._compute())
            if self._length is not None:
                self._check(values, self._length)
            self._values, self._compute = values, _nothing  # lets go of what the function held
        return self._values

    def within(self, way: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Channel:
        """This channel; what it is still to compute is computed as ``way`` makes it."""
        if not self.computed:
            self._compute = way(self._compute)
        self._remark = None if self._remark is None else way(self._remark)
        self._notice = None if self._notice is None else way(self._notice)
        return self

    def like(self, values: Any) -> Channel:
        """A channel of the same quantity with other samples."""
        return Channel(values, self.unit, self.brief, self._remark, self._notice)

    def to(self, target: str) -> Array:
        """The samples in another unit of the same dimension, read-only."""
        converted = convert(self.values, self.unit, target)
        return converted if converted is self.values else _frozen(converted)

    def expect(self, length: int) -> None:
        """Declare the number of samples; checked now, or when a lazy channel is computed."""
        if self._known and self._length != length:
            self._check(self.samples, length)
        self._length = length
        if self._values is not None:
            self._check(self._values, length)

    def _check(self, values: Array, length: int) -> None:
        if values.shape[0] != length:
            raise InputError(f"a channel has {values.shape[0]} samples, the solution {length} times; give one a time")

    def factor_to(self, target: str) -> float:
        """The factor by which values in this channel's unit are multiplied to be in ``target`` (1 if unit-less)."""
        if not self.unit:
            return 1.0
        unit(self.unit)
        return convert(1.0, self.unit, target)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Channel, (self.samples, self.unit, self.description))

    def __repr__(self) -> str:
        body = f"shape {self.samples.shape}" if self.computed else "not computed yet"
        return f"Channel({body}, unit={self.unit!r}, description={self.brief!r})"


def _nothing() -> Array:
    return np.zeros(0)


def _frozen(values: Any) -> Array:
    array = np.asarray(values)
    if array.dtype.kind not in _KINDS:
        raise InputError(f"channel values of type {array.dtype} are not real numbers; give float, int or bool samples")
    if array.ndim == 0:
        raise InputError(f"channel value {array!r} is a single number; give one sample for each time")
    frozen: Array = np.ascontiguousarray(array, _KINDS[array.dtype.kind]).view()
    frozen.flags.writeable = False
    return frozen


def as_channel(name: str, given: Any) -> Channel:
    """A :class:`Channel` from what a user may give: a Channel, (values, unit, description), an array or a function."""
    if isinstance(given, Channel):
        return given
    try:
        described = isinstance(given, tuple) and len(given) > 1 and isinstance(given[1], str)
        return Channel(*given) if described else Channel(given)
    except InputError as error:
        raise InputError(f"channel {name!r}: {error}") from None


def component_names(name: str, shape: tuple[int, ...]) -> list[str]:
    """Names of the scalar components of a channel: "p[0]", "p[1]" … or "R[0,0]" …; the name itself for a scalar.

    >>> component_names("rod.force", (3,))
    ['rod.force[0]', 'rod.force[1]', 'rod.force[2]']
    """
    if not shape:
        return [name]
    return [f"{name}[{','.join(map(str, index))}]" for index in np.ndindex(*shape)]


def part(values: Array, index: tuple[int, ...]) -> Array:
    """The component at ``index`` of every sample, the samples themselves for ()."""
    key: Any = (slice(None), *index)
    component: Array = values[key]
    return component
