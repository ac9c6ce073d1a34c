"""Settings and fixtures shared by all tests; caches stay in the ignored folder `.cache` of the repository."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    import numpy as np

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"

# The names under which an external program may be installed, where its own name is not the only one.
ALIASES = {
    "chromium": ("chromium", "chromium-browser", "google-chrome", "chrome"),
    "octave": ("octave-cli", "octave"),
    "gcc": ("gcc", "cc", "clang"),
}


def source_fingerprint() -> str:
    """Hash of every Python file of the package."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "jourdain").rglob("*.py")):
        digest.update(str(path.relative_to(ROOT)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# Set before numpy, numba or jourdain are imported, and inherited by the processes that tests start.
# Jourdain's object cache is keyed by content and may live on. Numba's notices a change in the file of a kernel but not
# in the files of the functions it calls, so a change anywhere in the package starts a new folder.
os.environ.setdefault("JOURDAIN_CACHE", str(CACHE / "native"))
os.environ.setdefault("NUMBA_CACHE_DIR", str(CACHE / "numba" / source_fingerprint()))
os.environ.setdefault("MPLCONFIGDIR", str(CACHE / "matplotlib"))
os.environ.setdefault("MPLBACKEND", "Agg")
# The test processes already share the cores among them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

hypothesis.settings.register_profile(
    "default",
    deadline=None,
    max_examples=30,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile("ci", parent=hypothesis.settings.get_profile("default"), derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_configure(config: pytest.Config) -> None:
    """Drop numba caches of older sources, once for a run and not in its worker processes."""
    if hasattr(config, "workerinput"):
        return
    folders = sorted((CACHE / "numba").glob("*"), key=lambda folder: folder.stat().st_mtime)
    for folder in folders[:-3]:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A random generator whose seed depends on the name of the test alone."""
    import numpy as np

    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(scope="session")
def tool() -> Callable[[str], str]:
    """`tool("gfortran")` is the path of an external program; the test is skipped where it is missing."""

    def find(name: str) -> str:
        for candidate in ALIASES.get(name, (name,)):
            path = shutil.which(candidate)
            if path is not None:
                return path
        pytest.skip(f"external program {name!r} is not installed (tools/install_test_tools.sh installs it on Debian)")

    return find


@pytest.fixture(autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """A suite started in the background of a shell inherits an ignored SIGINT; tests that send one need Python's handler."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before if before is not None else signal.default_int_handler)
