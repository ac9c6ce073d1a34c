"""Laws that only Python can evaluate: called at every evaluation of the right-hand side, and therefore slow."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SolverError, short
from ..reals import reals
from ..solvers.native_function import NativeFunction

if TYPE_CHECKING:
    from ..model.loads import Callback
    from ..solvers.ode.trajectory import Trajectory
    from .tree.projected import NativeSystem
    from .tree.system import TreeSystem

_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


class CallbackError(SolverError):
    """A callback or controller raised an error or gave something that is not a finite number."""


class Named:
    """An error of a user's function says whose it is and when it came.

    No generator: what `contextmanager` makes of one lets a StopIteration through.
    """

    def __init__(self, what: str, t: float) -> None:
        self.what, self.t = what, t

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        if isinstance(error, (Exception, SystemExit, GeneratorExit)) and not isinstance(error, CallbackError):
            raise CallbackError(f"{self.what} raised {type(error).__name__}: {error} at t = {self.t:.9g} s") from error


def ended(native: NativeSystem, trajectory: Trajectory) -> Trajectory:
    """The trajectory; one that a callback has ended says so, and so does one for which no code could be compiled."""
    error = native.error
    if error is None:
        return trajectory
    status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
    return replace(trajectory, status=status, message=str(error), cause=error)


class Callbacks:
    """The callbacks of a model around a native right-hand side: they set their inputs before it is called.

    ``size`` and ``full`` are given where that side is a function of fewer numbers than the full state: how many, and the full state.
    """

    def __init__(
        self,
        native: NativeSystem,
        rhs: NativeFunction,
        size: int | None = None,
        full: Callable[[float, np.ndarray], np.ndarray] | None = None,
    ) -> None:
        self.native = native
        self._size, self._full = native.n if size is None else size, full
        self.error: BaseException | None = None
        model = native.system.model
        self.items = list(model.callbacks.values())
        names = list(model.inputs)
        self.places = [[names.index(n) for n in item.inputs] for item in self.items]
        self.functions = [native._function("callback_arguments", callback=item.name) for item in self.items]
        warnings.warn(
            f"model '{model.name}': {', '.join(repr(i.name) for i in self.items)} run in Python at every evaluation, "
            "which is far slower than laws written with jourdain's functions",
            stacklevel=4,
        )
        self._inner = _PROTOTYPE(rhs.address)
        self._args = np.zeros(max(3, rhs.args.size), dtype=np.uintp)
        self._args[: rhs.args.size] = rhs.args
        self._outer = _PROTOTYPE(self._call)
        address = ctypes.cast(self._outer, ctypes.c_void_p).value or 0
        self.rhs = NativeFunction(address, np.zeros(3, dtype=np.uintp), (self, rhs))

    def _call(self, pointer: int) -> int:
        try:
            slots = (ctypes.c_uint64 * 3).from_address(pointer)
            t = ctypes.c_double.from_address(slots[0]).value
            x = np.ctypeslib.as_array((ctypes.c_double * self._size).from_address(slots[1]))
            self.update(t, x if self._full is None else self._full(t, x), self.native.u)
            self._args[:3] = slots
            return int(self._inner(self._args.ctypes.data))
        except BaseException as error:  # nothing may escape into native code; simulate raises it again
            self.error = error
            return -1

    def update(self, t: float, x: np.ndarray, u: np.ndarray) -> None:
        """Evaluates all callbacks at a state and writes their values into the inputs."""
        nu = self.native.system.nu
        for item, places, f in zip(self.items, self.places, self.functions, strict=True):
            arguments = f(np.array([t]), x, u[:nu])
            u[places] = called(item, t, arguments.tolist())


def call(system: TreeSystem, t: np.ndarray, x: np.ndarray, u: np.ndarray, gone: bool = False) -> None:
    """Writes what callbacks give at times and states (in rows) into rows of inputs; with ``gone`` one that gives no value leaves NaN."""
    names = list(system.model.inputs)
    for item in system.model.callbacks.values():
        f, places = system.function("callback_arguments", callback=item.name), [names.index(n) for n in item.inputs]
        for now, state, row in zip(t, x, u, strict=True):
            try:
                row[places] = called(item, float(now), f(np.array([now]), state, row[: system.nu]).tolist())
            except CallbackError:
                if not gone:
                    raise
                row[places] = np.nan


def called(item: Callback, t: float, arguments: list[float]) -> np.ndarray:
    """The values that a callback gives, if they are finite real numbers, one for each of its inputs."""
    what = f"callback '{item.name}'"
    with Named(what, t):
        given = item.function(*arguments)
    single = len(item.inputs) == 1 and not np.ndim(given)
    return finite([given] if single else given, what, t, len(item.inputs))


def finite(given: Any, what: str, t: float, count: int = 1) -> np.ndarray:
    """What a function of the user gave at a time, if that is so many finite real numbers."""
    wrong = f"{what} gave {short(given)} at t = {t:.9g} s; it must give {count} finite number(s)"
    try:
        values = reals(given, what).ravel()
    except InputError as error:
        raise CallbackError(wrong) from error
    if values.shape != (count,) or not np.isfinite(values).all():
        raise CallbackError(wrong)
    return values
