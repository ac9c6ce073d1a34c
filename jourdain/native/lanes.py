"""Functions of several states side by side in SIMD registers: whole batches, and lanes for native loops."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Collection
from math import prod
from typing import Any

import numpy as np

from ..errors import InputError
from ..symbolic.function import SymbolicFunction
from . import engine
from .names import entry_name, is_parameters


def address_of(array: np.ndarray) -> int:
    """Where an array begins in memory (``array.ctypes.data`` in less time)."""
    found: int = array.__array_interface__["data"][0]
    return found


class Batch:
    """The SIMD variant of a function with its driver over blocks of states.

    ``prepared`` is the IR of the prepare stage that the function's constants come from.  The equations may have been derived anew since (the
    code found in the cache); they are the same, but may want their constants in another order, and then have a prepare stage of their own.
    """

    def __init__(self, f: SymbolicFunction, prepared: str) -> None:
        from . import rowcall
        from .batch import batch_ir
        from .ir import main_ir, prepare_ir

        self.lanes = engine.lanes()
        stage = prepare_ir(f)
        self._own: tuple[engine.Library, Any, int, int] | None = None
        if stage.text != prepared:
            library = engine.Library([engine.compile_ir(stage.text)])
            call = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(library.address(entry_name(f.name) + "_prepare"))
            self._own = library, call, stage.constants, stage.workspace
        module = main_ir(f, self.lanes)
        sizes = [len(a.symbols) for a in f.inputs if not is_parameters(a.symbols)]
        shapes = [tuple(r.shape) for r in f.outputs]
        self.operations = f.operations().flops
        rows = rowcall.rows_ir(entry_name(f.name), sizes, shapes, self.operations)
        self._library = engine.Library([engine.compile_ir(module.text + batch_ir(f, self.lanes) + rows)])
        pointer, integer = ctypes.c_void_p, ctypes.c_int64
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, integer, integer, pointer, pointer)
        self._run = prototype(self._library.address(entry_name(f.name) + "_batch"))
        self._rows = self._library.address(entry_name(f.name) + "_rows")
        self.scratch = (sum(sizes) + sum(map(prod, shapes)) + module.workspace) * self.lanes
        self.arrays = len(sizes) + len(shapes)
        self._constants = np.full(max(1, module.constants), np.nan)

    def constants(self, parameters: np.ndarray, known: np.ndarray) -> np.ndarray:
        """The constants as this variant wants them, from parameters; ``known`` are those of the function."""
        if self._own is None:
            return known.copy()
        _, call, size, scratch = self._own
        arrays = [np.array(parameters), np.zeros(max(1, size)), np.zeros(max(1, scratch))]
        args = np.array([a.ctypes.data for a in arrays], dtype=np.uintp)
        call(args.ctypes.data)
        return arrays[1]

    def renew(self, parameters: np.ndarray, known: np.ndarray) -> None:
        """The constants of the built-in follow the parameters."""
        found = self.constants(parameters, known)
        self._constants[: found.size] = found[: self._constants.size]

    def builtin(self, name: str, careful: Callable[..., Any]) -> Callable[..., Any]:
        """Calls of moderate size without Python; ``careful`` takes the others."""
        from . import rowcall

        memory, scratch, inner = self._memory()
        return rowcall.rows_builtin(self._rows, name, self._constants, (memory, scratch, inner), careful, self._library)

    def _memory(self) -> tuple[np.ndarray, int, int]:
        """States in lanes, aligned to 64 bytes, behind the pointers of the inner call: the array and both addresses."""
        memory = np.empty(self.scratch + self.arrays + 10)
        inner = address_of(memory)
        return memory, -(-(inner + 8 * (self.arrays + 2)) // 64) * 64, inner

    def run(self, arrays: list[np.ndarray], strides: list[int], n: int, constants: np.ndarray, threads: int | None = None) -> None:
        """Runs n states, on several threads when there is enough work."""
        words = np.array([*map(address_of, arrays), address_of(constants), *strides], dtype=np.int64)
        args, steps = address_of(words), address_of(words) + 8 * (len(arrays) + 1)

        def part(first: int, last: int) -> None:
            memory, scratch, inner = self._memory()
            self._run(args, steps, first, last, scratch, inner)
            del memory

        if threads is None:
            threads = min(n * self.operations // 2_000_000, thread_count()) if n * self.operations >= 4_000_000 else 1
        if threads == 1:
            part(0, n)
        else:
            blocks = -(-n // self.lanes)
            bounds = [min(n, self.lanes * (blocks * i // threads)) for i in range(threads + 1)]
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(part, bounds[:-1], bounds[1:]))


class Lanes:
    """The SIMD variant of a function for native loops: ``address`` takes arrays that hold ``lanes`` states side by side, each array aligned to a vector, and constants common
    to all of them; inputs of the names in ``common`` are the same for all, and given once."""

    def __init__(self, f: SymbolicFunction, lanes: int = 0, common: Collection[str] = ()) -> None:
        from .ir import main_ir

        lanes = lanes or engine.lanes()
        module = main_ir(f, lanes, common)
        self._library = engine.Library([engine.compile_ir(module.text)])
        self.address = self._library.address(entry_name(f.name))
        self.workspace = module.workspace * lanes


def aligned(size: int) -> np.ndarray:
    """Zeros that begin where a SIMD vector may."""
    memory = np.zeros(size + 8)
    first = -address_of(memory) % 64 // 8
    return memory[first : first + size]


def thread_count() -> int:
    """Threads used for batches: ``JOURDAIN_THREADS`` or the cores available."""
    chosen = os.environ.get("JOURDAIN_THREADS")
    if chosen:
        if not chosen.strip().isdecimal():
            raise InputError(f"JOURDAIN_THREADS = '{chosen}' is not a number of threads; give 1, 2, …")
        return max(1, int(chosen))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
