"""Forks while another thread imports: the child inherits the lock of that module, held by a thread that it does not have, and would wait for it forever."""

from __future__ import annotations

import importlib._bootstrap
import os
import threading
import time

#: How long a fork waits for imports of other threads, s: one of them may itself wait for the thread that forks.
PATIENCE = 10.0


def _others_import() -> bool:
    me = threading.get_ident()
    locks = [found() for found in list(getattr(importlib._bootstrap, "_module_locks", {}).values())]
    return any(getattr(held, "owner", None) not in (None, me) for held in locks)


def _wait_for_imports() -> None:
    until = time.monotonic() + PATIENCE
    while _others_import() and time.monotonic() < until:
        time.sleep(1e-3)


def fork_after_imports() -> None:
    """Lets children begin when no other thread imports."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_wait_for_imports)


__all__ = ["fork_after_imports"]
