"""The exceptions Jourdain raises: each names the object, the value and the remedy; and names that a user may have meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise


class JourdainError(Exception):
    """Base of every error that Jourdain raises on purpose."""


class ModelError(JourdainError, ValueError):
    """The model described is inconsistent: a bad value, a broken reference, an impossible topology."""


class InputError(JourdainError, ValueError):
    """An argument given to a function has the wrong shape, type, unit or value."""


class NumberError(ModelError, InputError):
    """What was given, for a model or to a function, is no number; whoever catches errors of either catches this one."""


class SolverError(JourdainError, RuntimeError):
    """A numerical method could not go on; the message says where, when and what to try."""


def short(value: object, most: int = 60) -> str:
    """A value as messages show it: one line, cut where it is long, and by its type where it cannot be written."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # of a user's own __repr__, or a whole number of more than 4300 digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= most else f"{text[: most - 1]}…"


#: Most names that are compared letter by letter.
MOST = 200


#: Words for what is called otherwise here.
OTHER_WORDS = {
    "velocity": "rate", "speed": "rate", "omega": "rate", "acceleration": "acc", "_dot": "_rate", "_ddot": "_acc", "_vel": "_rate",
    "position": "displacement", "rotation": "angle", "color": "colour", "center": "centre",
}  # fmt: skip


def nearest(name: str, known: Iterable[str], count: int = 3, cutoff: float = 0.6) -> list[str]:
    """The nearest of the known names, as :func:`difflib.get_close_matches` finds them, among those that share most pairs of letters.

    >>> nearest("hinge.angel", ["hinge.angle", "slide.x"])
    ['hinge.angle']
    """
    from difflib import get_close_matches

    name = name[:200]
    names = [n for n in known if isinstance(n, str)]
    meant = {name.replace(word, own) for word, own in OTHER_WORDS.items() if word in name} & {*names}
    if meant:
        return sorted(meant)
    if len(names) > MOST:
        wanted = Counter(pairwise(name))

        def shared(other: str) -> int:
            return (wanted & Counter(pairwise(other[:200]))).total()

        names = sorted(names, key=shared, reverse=True)[:MOST]
    return get_close_matches(name, names, count, cutoff)
