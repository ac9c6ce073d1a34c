"""Forks while other threads work: the child inherits the locks that they hold, without the threads, and would wait for them forever.

A fork waits for imports of other threads; locks of the package are free in the child, since nothing that they guard is half done in it: what
they guard is written at once, when it is whole.
"""

from __future__ import annotations

import importlib._bootstrap
import os
import sys
import threading
import time
from collections.abc import Iterator
from functools import cached_property
from typing import Any
from weakref import WeakSet

#: How long a fork waits for imports of other threads, s: one of them may itself wait for the thread that forks.
PATIENCE = 10.0
#: Locks that are free in a child.
_locks: WeakSet[Any] = WeakSet()


def lock() -> threading.RLock:  # type: ignore[valid-type]
    """A lock that is free in a child, whoever held it in the parent."""
    made = threading.RLock()
    _locks.add(made)
    return made


def _others_import() -> bool:
    me = threading.get_ident()
    locks = [found() for found in list(getattr(importlib._bootstrap, "_module_locks", {}).values())]
    return any(getattr(held, "owner", None) not in (None, me) for held in locks)


def _wait_for_imports() -> None:
    until = time.monotonic() + PATIENCE
    while _others_import() and time.monotonic() < until:
        time.sleep(1e-3)


def _locks_of_properties() -> Iterator[Any]:
    """Python 3.11 computes a cached property of all objects of a class under one lock."""
    package = __name__.partition(".")[0]
    modules = [m for n, m in list(sys.modules.items()) if n.partition(".")[0] == package]
    classes = {x for m in modules for x in vars(m).values() if isinstance(x, type) and x.__module__.startswith(package)}
    return (p.lock for c in classes for p in vars(c).values() if isinstance(p, cached_property))  # type: ignore[attr-defined]


def _free_locks() -> None:
    for held in [*_locks, *(_locks_of_properties() if sys.version_info < (3, 12) else ())]:
        held._at_fork_reinit()


def forks_do_no_harm() -> None:
    """Lets children begin when no other thread imports, with locks that nobody holds."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_wait_for_imports, after_in_child=_free_locks)


__all__ = ["forks_do_no_harm", "lock"]
