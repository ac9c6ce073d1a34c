"""LLVM at work: text IR to object code, objects kept on disk by content, and loaded into the process."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import struct
import sys
import threading
from contextlib import suppress
from functools import cache
from typing import Any

from . import bounds
from .disk_cache import read_cache, write_cache
from .names import LIBRARY_ONE, LIBRARY_TWO

#: Held by whoever compiles: LLVM's modules share one context, and what is compiled once must not be compiled by two threads.
lock = threading.RLock()
if hasattr(os, "register_at_fork"):  # a child begins when nobody compiles: it would wait forever for a thread that it does not have

    def _release() -> None:
        with suppress(RuntimeError):  # not taken by a fork that waited for the import of this very module
            lock.release()

    os.register_at_fork(before=lock.acquire, after_in_parent=_release, after_in_child=_release)


@cache
def _llvm() -> Any:
    """llvmlite's binding with the native target and the C library's functions registered."""
    import llvmlite.binding as llvm

    with lock:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm.set_option(
            "", "-disable-post-ra"
        )  # a second scheduling takes half of LLVM's time on straight-line code and gains nothing measurable
        library = _math_library()
        for name in LIBRARY_ONE + LIBRARY_TWO + BLOCKS:
            llvm.add_symbol(f"jd_{name}", ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
        if bounds.checked():
            llvm.add_symbol("jd_out_of_bounds", bounds.end_of_program()[1])
    return llvm


def _math_library() -> ctypes.CDLL:
    if sys.platform == "win32":
        return ctypes.CDLL("ucrtbase")
    try:
        return ctypes.CDLL("libm.so.6")
    except OSError:  # no glibc; the search starts other programs, which takes longer than many a run
        from ctypes.util import find_library

        return ctypes.CDLL(find_library("m") or None)


@cache
def host() -> tuple[str, str, str]:
    """Triple, CPU name and CPU features that code is made for."""
    llvm = _llvm()
    with lock:
        return llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@cache
def lanes() -> int:
    """States handled side by side in one SIMD register on this CPU."""
    features = host()[2].split(",")
    if "+avx512f" in features:
        return 8
    return 4 if "+avx" in features else 2


@cache
def _machine(level: int = 2, family: str | None = None) -> Any:
    """What code is made for: this very processor, or a family of processors."""
    llvm = _llvm()
    triple, cpu, features = host()
    if family is not None:
        cpu, features = family, ""
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(cpu=cpu, features=features, opt=level, reloc="pic", codemodel="small")


#: What else decides how objects look, besides their text: raised when that changes.
_LAYOUT = "all calls by address, blocks by name, scheduled once"


def content_key(*parts: str | bytes) -> str:
    """Name of a cache entry: hash of the content, the CPU and the versions that produced it."""
    return _hash(*host(), ".".join(map(str, _llvm().llvm_version_info)), _LAYOUT, *parts)


def family_key(family: str, *parts: str | bytes) -> str:
    """Name of code that serves a family of processors, whichever version produced it."""
    return _hash(host()[0], family, _LAYOUT, *parts)


def _hash(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def kept_object(key: str) -> bytes | None:
    """Object code from the cache; what is not an object file counts as absent, because LLVM crashes on it."""
    found = read_cache(key, ".o")
    return found if found is not None and is_object(found) else None


def is_object(data: bytes) -> bool:
    """Whether bytes are an object file of this platform that is not cut short."""
    if sys.platform in ("win32", "darwin"):
        return len(data) > 20
    if len(data) < 64 or data[:5] != b"\x7fELF\x02":
        return False
    sections, (size, count) = int.from_bytes(data[40:48], "little"), (int.from_bytes(data[i : i + 2], "little") for i in (58, 60))
    return sections > 0 and sections + size * count <= len(data)  # LLVM writes this table last


def all_quick() -> bool:
    """Whether ``JOURDAIN_QUICK=1`` asks for quick compilation of every function of a model."""
    return os.environ.get("JOURDAIN_QUICK", "0") not in ("", "0")


def compile_ir(text: str, quick: bool = False) -> bytes:
    """Object code of IR text, from the cache when the same was compiled before.

    ``quick``: for code that is called now and then; LLVM takes a tenth of the time and the code runs at half the speed.
    """
    quick = quick or all_quick()
    key = content_key("object quick" if quick else "object", text)
    found = kept_object(key)
    if found is not None:
        return found
    with lock:
        data = _emitted(text, 0 if quick else 2)
    write_cache(key, ".o", data)
    return data


#: Functions on blocks of memory that quickly compiled code calls by name.
BLOCKS = ("memcpy", "memset")
#: Functions that LLVM calls on its own account (memset …) are called by their addresses, too.
_CALLS = '\n!llvm.module.flags = !{!1000000}\n!1000000 = !{i32 7, !"RtLibUseGOT", i32 1}\n'


def _module(text: str) -> Any:
    """A module whose calls to the outside read addresses from a table: stubs for calls are what :class:`Library` has no room for."""
    module = _llvm().parse_assembly(text + _CALLS)
    module.triple = host()[0]
    for function in module.functions:
        if function.is_declaration and not function.name.startswith("llvm."):
            function.add_function_attribute("nonlazybind")
    return module


def _with_named_blocks(text: str) -> str:
    """Without optimisation LLVM calls memcpy and memset by stubs, whatever it is told; so they are called like other functions."""
    text = re.sub(r"call void @llvm\.memcpy\.p0\.p0\.i64\((.*), i1 false\)", r"call ptr @jd_memcpy(\1)", text)
    text = re.sub(
        r"call void @llvm\.memset\.p0\.i64\((ptr [^,]*), i8 (\d+), (.*), i1 false\)", r"call ptr @jd_memset(\1, i32 \2, \3)", text
    )
    return text + "\ndeclare ptr @jd_memcpy(ptr, ptr, i64)\ndeclare ptr @jd_memset(ptr, i32, i64)\n"


def _emitted(text: str, level: int) -> bytes:
    # a function of its own, so that the module is gone before the lock is: all modules share one context of LLVM
    module = _module(text if level else _with_named_blocks(text))
    data: bytes = _machine(level).emit_object(module)
    return data


def optimised(text: str, family: str | None = None) -> bytes:
    """Object code of IR text after LLVM's passes: inlining, registers for variables, loops turned and vectorised."""
    with lock:
        return _optimised(text, _machine(2, family))


def _optimised(text: str, machine: Any) -> bytes:
    llvm = _llvm()
    module = _module(text)
    module.data_layout = str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_unrolling = False  # twice the code for no speed in the short loops of kernels
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    data: bytes = machine.emit_object(module)
    return data


def _needs_stubs(data: bytes) -> bool:
    """Whether an object calls functions of others by stubs (R_X86_64_PLT32), for which side by side there is no room."""
    if host()[0].split("-")[0] != "x86_64":
        return False
    first, (size, count) = int.from_bytes(data[40:48], "little"), (int.from_bytes(data[i : i + 2], "little") for i in (58, 60))
    sections = [struct.unpack_from("<4xI8x8xQQI", data, first + k * size) for k in range(count)]  # type, offset, length, link
    for kind, offset, length, link in sections:
        if kind == 4:  # relocations with addends: 24 bytes each, type and symbol in the second word
            symbols = sections[link][1]
            for place in range(offset + 8, offset + length, 24):
                if data[place] == 4:
                    symbol = symbols + 24 * int.from_bytes(data[place + 4 : place + 8], "little")
                    if data[symbol + 6 : symbol + 8] == b"\0\0":  # of no section of this object
                        return True
    return False


class Library:
    """Loaded object code; function addresses stay valid as long as this object lives."""

    def __init__(self, objects: list[bytes]) -> None:
        llvm = _llvm()
        with lock:
            empty = llvm.parse_assembly("")
            # code reaches its constants over 2 GB at most: llvmlite's memory manager lays all sections side by side
            side_by_side = True if sys.platform == "linux" and not any(map(_needs_stubs, objects)) else None
            self._engine = llvm.create_mcjit_compiler(empty, self._fresh_machine(llvm), use_lmm=side_by_side)
            for data in objects:
                self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
            self._engine.finalize_object()

    @staticmethod
    def _fresh_machine(llvm: Any) -> Any:
        # the execution engine takes ownership of its target machine
        return llvm.Target.from_triple(host()[0]).create_target_machine(reloc="pic", codemodel="small")

    def __del__(self, finalizing: Any = sys.is_finalizing) -> None:  # at the very end `sys` is gone
        engine = self.__dict__.pop("_engine", None)
        if engine is not None and not finalizing():
            with lock:
                engine.close()

    def address(self, name: str) -> int:
        """Address of a function."""
        with lock:
            found: int = self._engine.get_function_address(name)
        if not found:
            raise KeyError(f"compiled code has no function '{name}'")
        return found
