"""Object code that comes with the package: used where it fits the sources and the processor, else as if it were not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jourdain.native import engine, shipped
from jourdain.native.kernel import Kernel, ship
from jourdain.solvers.ode.start import first_step


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, and an empty folder of what comes with the package."""
    monkeypatch.setenv("JOURDAIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "objects")
    shipped.family.cache_clear()
    yield tmp_path / "objects"
    shipped.family.cache_clear()


def compiles(monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the kernel has to be compiled where nothing is kept."""
    made: list[str] = []
    compile = engine.optimised

    def counted(text: str, family: str | None = None) -> bytes:
        made.append(text)
        return compile(text, family)

    with monkeypatch.context() as patch:
        patch.setattr(engine, "optimised", counted)
        assert Kernel(first_step.source.python).address
    return bool(made)


def family_of_this_machine() -> str:
    found = shipped.family()
    if found is None:
        pytest.skip("this processor belongs to no family")
    return found


def test_nothing_is_compiled_where_object_code_fits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = ship(first_step, family_of_this_machine())
    assert [f.stat().st_size - 32 for f in folder.iterdir()] == [size]
    assert not compiles(monkeypatch)


def test_without_object_code_kernels_are_compiled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiles(monkeypatch)


@pytest.mark.parametrize("damage", ["cut", "changed", "renamed"])
def test_damaged_object_code_counts_as_absent(damage: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ship(first_step, family_of_this_machine())
    (file,) = folder.iterdir()
    data = file.read_bytes()
    if damage == "renamed":
        file.rename(file.with_name("0" * 64 + ".o"))
    else:
        file.write_bytes(data[:-5] if damage == "cut" else data[:100] + bytes([data[100] ^ 1]) + data[101:])
    assert compiles(monkeypatch)


def test_a_family_needs_all_its_features(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ship(first_step, family_of_this_machine())
    triple, cpu, _ = engine.host()
    monkeypatch.setattr(engine, "host", lambda: (triple, cpu, "+sse2,-avx2"))
    shipped.family.cache_clear()
    assert shipped.family() is None or not shipped.families()[shipped.family() or ""]
    assert shipped.find("kernel") is None


def test_the_best_family_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    names = list(shipped.FAMILIES["x86_64"])
    for name in names:
        has = ",".join(f"+{f}" for f in sorted(shipped.FAMILIES["x86_64"][name]))
        monkeypatch.setattr(engine, "host", lambda has=has: ("x86_64-unknown-linux-gnu", "some", has))
        shipped.family.cache_clear()
        assert shipped.family() == name
    shipped.family.cache_clear()
