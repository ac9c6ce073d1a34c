"""American spellings of the words of the package: ``color``, ``center``, ``minimize``, ``tires``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

#: Parts of words that are spelt in two ways, the package's own last.
_PAIRS = (("color", "colour"), ("center", "centre"), ("tire", "tyre"), ("iz", "is"), ("yze", "yse"))


def british(word: str, known: Collection[str]) -> str:
    """The word as the package spells it, if that is one of those known; else the word as it is.

    >>> british("minimize", ["minimise"]), british("size", ["length"])
    ('minimise', 'size')
    """
    if word in known:
        return word
    return next((own for a, b in _PAIRS if a in word and (own := word.replace(a, b)) in known), word)


def in_british(given: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Values by name, with names spelt as the package does where that makes them known and they are not given twice."""
    return {own if (own := british(name, known)) not in given else name: value for name, value in given.items()}


__all__ = ["british", "in_british"]
