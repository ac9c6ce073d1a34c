"""Compiled functions with named inputs and outputs: one state, many states, or by address from native loops."""

from __future__ import annotations

import ctypes
import weakref
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from ..errors import InputError
from ..reals import reals
from ..symbolic.function import SymbolicFunction
from ..symbolic.graph import Operations
from . import engine, fastcall
from .code import Code, Signature, generate, link_stages, stages
from .lanes import Batch, address_of
from .names import entry_name

_FLOAT64 = np.dtype(np.float64)


@cache
def _register_python() -> None:
    with engine.lock:
        for name, address in fastcall.python_symbols().items():
            engine._llvm().add_symbol(name, address)


class Function:
    """A compiled function: call it with one state or with leading batch dimensions.

    Inputs are given in the order of :attr:`inputs`; ``out=`` takes the result array (or a tuple, one for each output)
    and makes the call free of allocation.  Parameters are set by :meth:`set_parameters`, not passed at each call.
    An input that shares memory with an output is copied first.
    """

    # The call itself is a slot that holds the instance's built-in: no Python frame between the caller and the code.
    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]

    def __init__(
        self,
        code: Code,
        parameters: Mapping[str, float] | Sequence[float] | np.ndarray | None = None,
        symbolic: Callable[[], SymbolicFunction] | None = None,
    ) -> None:
        _register_python()
        self._code = code
        self._provider = symbolic
        self.signature = code.signature
        s = self.signature
        self._library = engine.Library(stages(code.object_code))
        #: Address of ``int32_t f(void **args)``, args = inputs, outputs, constants, workspace.
        entry = entry_name(s.name)
        self.address = self._library.address(entry)
        #: The same for callers that give the same memory each time and leave it alone: zeros of matrices are not written again.
        self.kept_address = self._library.address(entry + "_kept")
        self.constants = np.full(max(1, s.constants), np.nan)
        self._workspace = np.zeros(max(1, s.workspace))
        # the interpreter's lock is held: one workspace serves all threads
        self._prepare = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(self._library.address(entry + "_prepare"))
        self._own = np.array([0, address_of(self.constants), address_of(self._workspace)], dtype=np.uintp)
        self._own_address = address_of(self._own)
        self._call = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(self.address)
        self._batch: Batch | None = None
        self._single = len(s.outputs) == 1
        self._fast: Callable[..., Any] = _unusual
        self.__call__ = _careful_call(weakref.ref(self))
        self.parameters = np.full(len(s.parameters), np.nan)
        if parameters is not None or not s.parameters:
            self.set_parameters(parameters if parameters is not None else ())

    def _enable_fast(self) -> None:
        """Calls take the short way from now on: parameters have values."""
        if self._fast is _unusual and fastcall.available():
            entry = entry_name(self.name)
            self._careful_call = self.__call__
            self._context = context = fastcall.context(self.constants, self._workspace, self.__call__, self._library)
            self._fast = fastcall.builtin(self._library.address(entry + "_fast"), self.name, context)
            self.__call__ = fastcall.builtin(self._library.address(entry + "_call"), self.name, context, keywords=True)

    # -- parameters -----------------------------------------------------------------------------------------------

    def set_parameters(self, values: Mapping[str, float] | Sequence[float] | np.ndarray) -> None:
        """Gives the parameters values and runs the prepare stage."""
        names = self.signature.parameters
        if isinstance(values, Mapping):
            missing = [n for n in names if n not in values]
            if missing:
                raise InputError(f"function '{self.name}': no value for the parameter(s) {', '.join(missing[:6])}")
            values = [values[n] for n in names]
        if type(values) is np.ndarray and values.dtype is _FLOAT64:
            p = values.copy()  # studies give arrays that a system has looked at, many times
        else:
            p = _real_array(values, f"function '{self.name}': the parameters", copy=True)
        if p.shape != (len(names),):
            raise InputError(f"function '{self.name}' has {len(names)} parameters, got an array of shape {np.shape(values)}")
        if not np.isfinite(p).all():
            bad = np.flatnonzero(~np.isfinite(p))
            raise InputError(f"function '{self.name}': parameter '{names[bad[0]]}' = {p[bad[0]]} is not finite")
        self._own[0] = address_of(p)
        self._prepare(self._own_address)
        self.parameters = p
        if self._batch is not None:
            self._batch.renew(p, self.constants)
        self._enable_fast()

    @property
    def prepare_address(self) -> int:
        """The address of ``int32_t f(void **args)`` of the prepare stage, args = parameters, constants, workspace."""
        return self._library.address(entry_name(self.signature.name) + "_prepare")

    def prepare_into(self, p: np.ndarray, constants: np.ndarray, workspace: np.ndarray) -> None:
        """Constants for parameters ``p`` written to an array of the caller (for sweeps); float64, contiguous arrays."""
        s = self.signature
        given = (("p", p, len(s.parameters)), ("constants", constants, s.constants), ("workspace", workspace, s.workspace))
        for name, array, size in given:
            if not isinstance(array, np.ndarray) or array.dtype != np.float64 or not array.flags.c_contiguous or array.size < size:
                raise InputError(f"function '{self.name}': {name} must be a contiguous float64 array of at least {size} numbers")
        args = np.array([address_of(p), address_of(constants), address_of(workspace)], dtype=np.uintp)
        self._prepare(address_of(args))

    # -- calls ----------------------------------------------------------------------------------------------------

    def into(self, *arrays: np.ndarray) -> None:
        """The shortest call: inputs, then output arrays, nothing returned."""
        if self._fast(*arrays) is not None:
            n = len(self.signature.inputs)
            out = arrays[n:]
            self._careful(arrays[:n], out[0] if self._single and len(out) == 1 else out)

    def _careful(self, arrays: Sequence[Any], out: Any) -> Any:
        """Converts, checks and explains; takes the batch way when an input has leading dimensions."""
        if out is None and (found := self._plain_batch(arrays)) is not None:
            return found
        s = self.signature
        if len(arrays) != len(s.inputs):
            expected = ", ".join(n for n, _ in s.inputs)
            raise InputError(f"function '{self.name}' takes {len(s.inputs)} arrays ({expected}), got {len(arrays)}")
        if s.parameters and np.isnan(self.parameters).any():
            raise InputError(f"function '{self.name}': set its parameters first with set_parameters(...)")
        checked = [self._check_input(name, size, a) for (name, size), a in zip(s.inputs, arrays, strict=True)]
        try:
            lead = np.broadcast_shapes(*(a.shape[:-1] for a in checked))
        except ValueError:
            shapes = ", ".join(f"{name} {a.shape}" for (name, _), a in zip(s.inputs, checked, strict=True))
            raise InputError(f"function '{self.name}': the leading dimensions of the inputs do not fit together: {shapes}") from None
        results = self._results(lead, out)
        if out is not None:
            checked = [a.copy() if any(np.may_share_memory(a, r) for r in results) else a for a in checked]
        if int(np.prod(lead)) == 1:  # whatever its dimensions, one state needs no SIMD variant
            self._run_one(checked, results)
        else:
            self._run_batch(checked, lead, results)
        return results[0] if self._single else tuple(results)

    def _plain_batch(self, arrays: Sequence[Any]) -> Any:
        """The results where inputs are as most batches give them: states in the rows of a table (two at least), or one common to all."""
        s, n = self.signature, 0
        if len(arrays) != len(s.inputs) or self._fast is _unusual:
            return None
        strides = []
        for (_, size), a in zip(s.inputs, arrays, strict=True):
            if a.__class__ is not np.ndarray or a.dtype is not _FLOAT64 or not a.flags.aligned:
                return None
            if a.shape == (size,):
                strides.append(0)
            elif a.ndim == 2 and a.shape == (n or max(len(a), 2), size) and a.strides[0] % 8 == 0 <= a.strides[0]:
                n = len(a)
                strides.append(a.strides[0] // 8)
            else:
                return None
            if size > 1 and a.strides[-1] != 8:
                return None
            if np.count_nonzero(np.isfinite(a)) != a.size:
                return None
        if not n:
            return None
        results = [np.empty((n, *shape)) for _, shape in s.outputs]
        strides += [prod(shape) for _, shape in s.outputs]
        self.batch.run([*arrays, *results], strides, n, self.batch.constants(self.parameters, self.constants))
        return results[0] if self._single else tuple(results)

    def _check_input(self, name: str, size: int, value: Any) -> np.ndarray:
        array = _real_array(value, f"function '{self.name}': input '{name}'")
        if array.shape[-1] != size:
            raise InputError(
                f"function '{self.name}': input '{name}' must have {size} entries in its last dimension, got shape {np.shape(value)}"
            )
        bad = np.flatnonzero(~np.isfinite(array.ravel()))
        if len(bad):
            where = np.unravel_index(bad[0], array.shape)
            raise InputError(f"function '{self.name}': input '{name}'[{', '.join(map(str, where))}] = {array[where]} is not finite")
        return array

    def _results(self, lead: tuple[int, ...], out: Any) -> list[np.ndarray]:
        shapes = [lead + shape for _, shape in self.signature.outputs]
        if out is None:
            return [np.empty(shape) for shape in shapes]
        given = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(given) != len(shapes):
            raise InputError(f"function '{self.name}' has {len(shapes)} outputs, out= holds {len(given)}")
        for (name, _), shape, r in zip(self.signature.outputs, shapes, given, strict=True):
            if not isinstance(r, np.ndarray) or r.shape != shape or r.dtype != np.float64 or not r.flags.writeable:
                found = f"{r.dtype} of shape {r.shape}" if isinstance(r, np.ndarray) else type(r).__name__
                raise InputError(
                    f"function '{self.name}': out for '{name}' must be a writeable float64 array of shape {shape}, got {found}"
                )
        for i, r in enumerate(given):
            if any(np.may_share_memory(r, other) for other in given[:i]):
                raise InputError(f"function '{self.name}': the arrays of out= overlap; give each output its own")
        return given

    def _run_one(self, inputs: list[np.ndarray], results: list[np.ndarray]) -> None:
        arrays = [np.ascontiguousarray(a) for a in inputs]
        buffers = [r if r.flags.c_contiguous else np.empty(r.shape) for r in results]
        pointers = [a.ctypes.data for a in arrays + buffers] + [self.constants.ctypes.data, self._workspace.ctypes.data]
        args = np.array(pointers, dtype=np.uintp)
        self._call(args.ctypes.data)
        for r, b in zip(results, buffers, strict=True):
            if r is not b:
                r[...] = b

    def _run_batch(self, inputs: list[np.ndarray], lead: tuple[int, ...], results: list[np.ndarray]) -> None:
        n = int(np.prod(lead))
        if n == 0:
            return
        arrays, strides = [], []
        for a in inputs:
            common = a.ndim == 1
            flat = a if common else np.ascontiguousarray(np.broadcast_to(a, lead + a.shape[-1:])).reshape(n, a.shape[-1])
            arrays.append(flat)
            strides.append(0 if common else flat.shape[-1])
        buffers = [r if r.flags.c_contiguous else np.empty(r.shape) for r in results]
        strides += [int(np.prod(shape)) for _, shape in self.signature.outputs]
        self.batch.run(arrays + buffers, strides, n, self.batch.constants(self.parameters, self.constants))
        for r, b in zip(results, buffers, strict=True):
            if r is not b:
                r[...] = b

    @property
    def batch(self) -> Batch:
        """The SIMD variant, compiled when first asked for."""
        if self._batch is None:
            self._batch = Batch(self.symbolic, self._texts[1])
            self._batch.renew(self.parameters, self.constants)
            if self._fast is not _unusual:
                fastcall.hand_on(self._context, self._batch.builtin(self.name, self._careful_call))
        return self._batch

    # -- information ----------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.signature.name

    @property
    def inputs(self) -> dict[str, int]:
        """Names of the inputs and their sizes."""
        return dict(self.signature.inputs)

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Names of the outputs and their shapes."""
        return dict(self.signature.outputs)

    @property
    def operations(self) -> Operations:
        """Operations of one call (the prepare stage apart)."""
        return self.signature.operations

    @property
    def symbolic(self) -> SymbolicFunction:
        """The equations behind the code."""
        if self._provider is None:
            raise InputError(f"function '{self.name}' was loaded without its equations; derive it from the model again")
        return self._provider()

    @property
    def ir(self) -> str:
        """LLVM IR of the function."""
        return self._texts[0]

    @property
    def _texts(self) -> list[str]:
        """IR of the function and of its prepare stage."""
        return [t.decode() for t in zlib.decompress(self._code.ir).split(b"\0")]

    def source(self, language: str = "c") -> str:
        """Source code in another language (c, python, matlab, julia, fortran, jax, latex)."""
        from ..symbolic.printers import print_function

        return print_function(self.symbolic, language)

    def arguments(self, *arrays: np.ndarray, workspace: np.ndarray | None = None) -> np.ndarray:
        """Pointer array for a native call: inputs and outputs given, constants and a workspace appended."""
        work = self._workspace if workspace is None else workspace
        return np.array([a.ctypes.data for a in arrays] + [self.constants.ctypes.data, work.ctypes.data], dtype=np.uintp)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{n}[{k}]" for n, k in self.signature.inputs)
        outputs = ", ".join(f"{n}{list(s)}" for n, s in self.signature.outputs)
        return f"<Function {self.name}({inputs}) → {outputs}; {self.operations}>"

    def __reduce__(self) -> Any:
        p = None if np.isnan(self.parameters).any() else self.parameters
        symbolic = None
        if self._provider is not None:
            symbolic = self._provider()
        return _restore, (self.signature.to_json(), self._code.ir, p, symbolic)


def _unusual(*arrays: Any) -> Any:
    """Stands for the built-in where there is none."""
    return NotImplemented


def _careful_call(reference: weakref.ref[Function]) -> Callable[..., Any]:
    """The call with every check; it holds the function weakly, or the function would hold itself."""

    def call(*arrays: Any, out: Any = None) -> Any:
        function = reference()
        if function is None:
            raise InputError("this compiled function was deleted; keep the Function object, not its __call__")
        return function._careful(arrays, out)

    return call


def _real_array(value: Any, what: str, copy: bool = False) -> np.ndarray:
    """A contiguous float64 array from anything that holds real numbers; at least one-dimensional."""
    if arrays := [n for n in ("q", "v") if hasattr(value, n)]:
        raise InputError(f"{what}: an array of numbers is needed, got a {type(value).__name__}; its arrays are .{' and .'.join(arrays)}")
    result = np.ascontiguousarray(reals(value, what))
    return result.copy() if copy and result is value else result


def _restore(signature: str, ir: bytes, parameters: Any, symbolic: SymbolicFunction | None) -> Function:
    main, prepare = (t.decode() for t in zlib.decompress(ir).split(b"\0"))
    code = Code(Signature.from_json(signature), ir, link_stages(main, prepare))
    return Function(code, parameters, None if symbolic is None else lambda: symbolic)


def compile_function(f: SymbolicFunction, parameters: Mapping[str, float] | Sequence[float] | np.ndarray | None = None) -> Function:
    """Machine code for a symbolic function.

    >>> from jourdain.symbolic import symbols, sin
    >>> from jourdain.symbolic.function import Argument, Result, SymbolicFunction
    >>> x, = symbols("x", "position")
    >>> f = compile_function(SymbolicFunction("f", (Argument("q", (x,)),), (Result("y", (sin(x),), (1,)),)))
    >>> f([0.5])
    array([0.47942554])
    """
    return Function(generate(f), parameters, lambda: f)
