"""Kept machine code of kernels goes with every source that it is made of, and with no other."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jourdain.contact import marches
from jourdain.native import sources
from jourdain.native.kernel import Function, Kernel

HELPER = "from jourdain.native.kernel import jit\n\n\n@jit\ndef grown(x):\n    return {0} * x\n"
USER = "from helper import grown\nfrom numbers_of import SHIFT\n\nfrom jourdain.native.kernel import jit\n\n\n@jit\ndef f(x):\n    return grown(x) + SHIFT\n"


def written(folder: Path, factor: float, shift: float) -> None:
    """Three modules of a user's own; their dates lie before the process that reads them."""
    texts = {"helper": HELPER.format(factor), "numbers_of": f"SHIFT = {shift}\n", "user": USER}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
        os.utime(folder / f"{name}.py", (1e9, 1e9))


def answer(folder: Path) -> float:
    code = "from user import f; print(f(2.0))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), *sys.path)), "JOURDAIN_CACHE": str(folder / "cache")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return float(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout)


def test_code_follows_helpers_and_numbers_of_other_modules(tmp_path: Path) -> None:
    for factor, shift in ((3.0, 1.0), (4.0, 1.0), (4.0, 5.0), (3.0, 1.0)):
        written(tmp_path, factor, shift)
        assert answer(tmp_path) == 2.0 * factor + shift
    kept = len(list((tmp_path / "cache").rglob("*.o")))
    assert answer(tmp_path) == 7.0
    assert len(list((tmp_path / "cache").rglob("*.o"))) == kept  # found, not made again


def test_kernels_of_any_room_are_made_of_their_own_sources() -> None:
    kernels = [v for v in vars(marches).values() if isinstance(v, (Function, Kernel)) and v.__module__ == marches.__name__]
    assert kernels
    for k in kernels:
        reached = sources._reached(k.__module__)
        assert marches.__name__ in reached
        assert {"jourdain.native.kernel_writer", "jourdain.native.record"} <= reached
        assert not any(name.startswith("jourdain.systems") for name in reached)


def test_a_source_that_is_edited_meanwhile_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, 3.0, 1.0)
    monkeypatch.syspath_prepend(str(tmp_path))
    import helper  # type: ignore[import-not-found]

    assert sources.digest(helper.grown) is not None
    sources._content.cache_clear()
    os.utime(helper.__file__, None)
    assert sources.digest(helper.grown) is None
    sources._content.cache_clear()
    del sys.modules["helper"]
