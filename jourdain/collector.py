"""Python's cyclic collector kept from walking over what is being made and stays."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: Objects of one derivation that are worth putting aside, and how many may be before the collector walks over all once more: what of them has become garbage,
#: with the machine code and the arrays that belong to it, waits until then.
LARGE, MOST = 100_000, 2_000_000


class _Aside:
    """How many objects were put aside since the last collection of all, and which that was."""

    objects = collections = 0


@contextmanager
def no_collection() -> Iterator[None]:
    """Derivation makes many small objects that all stay: the cyclic collector would only walk over them, again and again."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            _put_aside()
            gc.enable()


def _put_aside() -> None:
    """Moves young objects to the oldest generation at once, as if the collector had walked over them twice; objects that others have frozen stay so."""
    young = gc.get_count()[0]
    if young < LARGE:
        return
    collections = gc.get_stats()[-1]["collections"]
    if collections != _Aside.collections:
        _Aside.objects, _Aside.collections = 0, collections
    _Aside.objects += young
    if _Aside.objects <= MOST and gc.get_freeze_count() == 0:
        gc.freeze()
        gc.unfreeze()


__all__ = ["no_collection"]
