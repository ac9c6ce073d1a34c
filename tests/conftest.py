"""Settings and fixtures shared by all tests; caches stay in the ignored folder `.cache` of the repository."""

from __future__ import annotations

import os
import shutil
import signal
import sys
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


# Hundreds of tests start an interpreter of their own: none of them should translate the package's sources again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Set before numpy or jourdain are imported, and inherited by the processes that tests start.
os.environ.setdefault("JOURDAIN_CACHE", str(CACHE / "native"))
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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests in a browser, whose pictures the processor draws, take as long as a busy machine needs for them, and are begun again (told by -rR) up to twice."""
    more = [
        m
        for plugin, m in (("timeout", pytest.mark.timeout(1800)), ("rerunfailures", pytest.mark.flaky(reruns=2)))
        if config.pluginmanager.hasplugin(plugin)
    ]
    for item in items:
        if item.get_closest_marker("browser"):
            for mark in more:
                item.add_marker(mark)


#: Folders whose tests evaluate large functions of many models a few times each: most of their time is compilation, which may be quick.
#: All others run the code that users run.
QUICK = tuple(ROOT / "tests" / folder for folder in ("elements", "formalisms", "structures"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture of a test: whether its models are compiled quickly."""
    os.environ["JOURDAIN_QUICK"] = "1" if any(folder in item.path.parents for folder in QUICK) else "0"


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
