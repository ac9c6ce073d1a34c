"""Object code of kernels that comes with the package, so that a first run on a new machine need not compile them.

It is made for families of processors (``make kernels``) and named, as in the cache, by a digest of all that it was made of.  What is not there,
does not fit the sources or is not whole counts as absent; then the kernel is compiled for this very processor.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from . import engine
from .disk_cache import opened, sealed

FOLDER = Path(__file__).parent / "shipped_objects"
_SUFFIX = ".o"
_AVX2 = frozenset(("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"))
#: By architecture, the best first: families of processors as LLVM names them, and what a processor must have to belong to one.
FAMILIES: dict[str, dict[str, frozenset[str]]] = {
    "x86_64": {"x86-64-v4": _AVX2 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}, "x86-64-v3": _AVX2},
    "aarch64": {"generic": frozenset(("neon",))},
    "arm64": {"apple-m1": frozenset(("neon",))},
}


def families() -> dict[str, frozenset[str]]:
    """The families of this architecture."""
    return FAMILIES.get(engine.host()[0].split("-")[0], {})


@cache
def family() -> str | None:
    """The best family to which this processor belongs."""
    features = {f[1:] for f in engine.host()[2].split(",") if f.startswith("+")}
    return next((name for name, needed in families().items() if needed <= features), None)


def find(*parts: str | bytes) -> bytes | None:
    """Object code made of these parts, or None."""
    if not FOLDER.is_dir() or (mine := family()) is None:
        return None
    key = engine.family_key(mine, *parts)
    try:
        found = opened(key, _SUFFIX, (FOLDER / f"{key}{_SUFFIX}").read_bytes())
    except OSError:
        return None
    return found if found is not None and engine.is_object(found) else None


def put(family: str, data: bytes, *parts: str | bytes) -> None:
    """Adds object code made of these parts."""
    key = engine.family_key(family, *parts)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{key}{_SUFFIX}").write_bytes(sealed(key, _SUFFIX, data))
