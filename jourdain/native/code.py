"""Machine code of a symbolic function, with its signature, as bytes that caches and pickles keep."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..symbolic.function import SymbolicFunction
from ..symbolic.graph import Operations
from . import engine, fastcall
from .names import entry_name, is_parameters


@dataclass(frozen=True)
class Signature:
    """What is known of a compiled function without its equations."""

    name: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, tuple[int, ...]], ...]
    parameters: tuple[str, ...]
    constants: int
    workspace: int
    operations: Operations
    prepare_operations: Operations

    def to_json(self) -> str:
        """The signature as text."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Signature:
        """The signature from text."""
        d = json.loads(text)
        d["inputs"] = tuple((n, s) for n, s in d["inputs"])
        d["outputs"] = tuple((n, tuple(s)) for n, s in d["outputs"])
        d["parameters"] = tuple(d["parameters"])
        d["operations"] = Operations(**d["operations"])
        d["prepare_operations"] = Operations(**d["prepare_operations"])
        return Signature(**d)


@dataclass(frozen=True)
class Code:
    """A signature with IR text (compressed) and the object code made from it on this CPU."""

    signature: Signature
    ir: bytes
    object_code: bytes

    def to_bytes(self) -> bytes:
        """One block of bytes for the disk cache."""
        head = self.signature.to_json().encode()
        return b"".join(len(b).to_bytes(8, "little") + b for b in (head, self.ir, self.object_code))

    @staticmethod
    def from_bytes(data: bytes) -> Code:
        """The code from a block of bytes; a ValueError if it is none."""
        parts = []
        while data:
            n = int.from_bytes(data[:8], "little")
            parts.append(data[8 : 8 + n])
            if len(parts[-1]) != n:
                raise ValueError("the code is cut short")
            data = data[8 + n :]
        head, ir, object_code = parts
        if not all(map(engine.is_object, stages(object_code))):
            raise ValueError("the code holds no object file")
        return Code(Signature.from_json(head.decode()), ir, object_code)


def generate(f: SymbolicFunction, quick: bool = False) -> Code:
    """Compiles a symbolic function (or finds it in the cache); ``quick`` as in :func:`.engine.compile_ir`."""
    if not f.outputs:
        raise InputError(f"function '{f.name}' has no outputs; give it at least one Result")
    from .ir import main_ir, prepare_ir

    main, prepare = main_ir(f), prepare_ir(f)
    inputs = tuple((a.name, len(a.symbols)) for a in f.inputs if not is_parameters(a.symbols))
    outputs = tuple((r.name, tuple(r.shape)) for r in f.outputs)
    parameters = tuple(s.name for a in f.inputs if is_parameters(a.symbols) for s in a.symbols)
    signature = Signature(
        f.name, inputs, outputs, parameters, main.constants, max(main.workspace, prepare.workspace),
        f.operations(), f.prepare_operations(),
    )  # fmt: skip
    head, *tail = _split_declarations(main.text)
    text = head + fastcall.wrapper_ir(entry_name(f.name), [n for _, n in inputs], [s for _, s in outputs]) + "".join(tail)
    blob = zlib.compress(b"\0".join((text.encode(), prepare.text.encode())), 1)
    return Code(signature, blob, link_stages(text, prepare.text, quick))


#: Functions that native loops never call: of one state now and then, and of many in their SIMD variant.
OCCASIONAL = frozenset({"sparse_terms", "bodies", "transmitted", "reactions", "reaction_slopes", "drive_forces"})


def cached_code(key: tuple[str, ...], derive: Callable[[], SymbolicFunction]) -> Code:
    """Code kept under a key of the caller's (a model's fingerprint and a function's name): derived only when absent."""
    name = engine.content_key("function quick" if engine.all_quick() else "function", _source_key(), *key)
    data = engine.read_cache(name, ".jdf")
    if data is not None:
        try:
            return Code.from_bytes(data)
        except (ValueError, TypeError, KeyError, RecursionError):  # malformed: as good as absent
            pass
    f = derive()
    code = generate(f, quick=f.name in OCCASIONAL)
    engine.write_cache(name, ".jdf", code.to_bytes())
    return code


def cached_array(key: tuple[str, ...], derive: Callable[[], np.ndarray]) -> np.ndarray:
    """Whole numbers kept under a key of the caller's as code is (where entries of sparse matrices stand): derived only when absent."""
    name = engine.content_key("array with size", _source_key(), *key)
    data = engine.read_cache(name, ".jda")
    if data is not None and len(data) % 8 == 0:
        size, *kept = np.split(np.frombuffer(data, dtype=np.int64), [1])
        if size.tolist() == [len(kept[0])]:
            return kept[0].copy()  # an array of its own, like one derived
    found = np.asarray(derive(), dtype=np.int64)
    engine.write_cache(name, ".jda", np.int64(found.size).tobytes() + found.tobytes())
    return found


@cache
def _source_key() -> str:
    """Changes with any source file that takes part in deriving or compiling."""
    root = Path(__file__).parent.parent
    parts = []
    for room in ("symbolic", "model", "formalisms", "elements", "native"):
        for file in sorted((root / room).rglob("*.py")):
            status = file.stat()
            parts.append(f"{file.relative_to(root)} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(parts)


def _split_declarations(text: str) -> tuple[str, str]:
    at = text.index("declare double @jd_exp")
    return text[:at], text[at:]


def link_stages(main: str, prepare: str, quick: bool = False) -> bytes:
    """Object code of both stages as one block: length, main, prepare."""
    first, second = engine.compile_ir(main, quick), engine.compile_ir(prepare, quick)
    return len(first).to_bytes(8, "little") + first + second


def stages(block: bytes) -> list[bytes]:
    n = int.from_bytes(block[:8], "little")
    return [block[8 : 8 + n], block[8 + n :]]
