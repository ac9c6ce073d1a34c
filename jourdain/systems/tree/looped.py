"""Dynamics of large trees as native loops over links: code is made for each sort of link, not for each link.

The same numbers as the straight-line code of `formalisms`, which is faster while it fits the cache; the loop takes over
where it does not, or where compiling would take too long.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, SolverError
from ...formalisms.tree import link_steps as ls
from ...formalisms.tree.link_arrays import LinkArrays, Sort
from ...formalisms.tree.tree import Tree
from ...model.model import Model
from ...native.function import Function, compile_function
from ...native.lanes import thread_count
from ...reals import reals
from ...solvers.native_function import NativeFunction

if TYPE_CHECKING:
    from .link_sweeps import Pointers, Program, Workspace

Array = NDArray[np.float64]

_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
#: Numbers of links times states that pay for one more thread.
_WORTH_A_THREAD = 5_000


@dataclass(frozen=True)
class _Recipe:
    """A function as sweeps over the links: (step, inwards, place written in the own row, in the parent's row)."""

    kernel: str
    inputs: tuple[str, ...]
    output: str
    row: int
    gravity: int
    sweeps: tuple[tuple[str, bool, int, int], ...]


_NEWTON = (("newton_outwards", False, ls.TURN, 0), ("newton_inwards", True, 0, ls.FORCE))
RECIPES = {
    "inverse_dynamics": _Recipe("newton_euler", ("q", "v", "a"), "phi", ls.NEWTON_ROW, ls.ACCELERATION, _NEWTON),
    "bias": _Recipe("newton_euler", ("q", "v"), "c", ls.NEWTON_ROW, ls.ACCELERATION, _NEWTON),
    "accelerations": _Recipe("articulated_body", ("q", "v", "tau"), "a", ls.ARTICULATED_ROW, ls.MOVE, (
        ("articulated_outwards", False, ls.TURN, 0),
        ("articulated_inwards", True, ls.STEP, ls.BODY),
        ("articulated_accelerations", False, ls.MOVE, 0),
        ("articulated_response", True, ls.STEP, ls.BODY + 21),
    )),
    "mass_matrix": _Recipe("composite_body", ("q",), "M", ls.COMPOSITE_ROW, -1, (
        ("composite_outwards", False, ls.TURN, 0),
        ("composite_inwards", True, ls.COLUMN, ls.COMPOSITE),
        ("composite_spread", False, 0, 0),
    )),
    "poses": _Recipe("poses", ("q",), "poses", ls.POSE_ROW, -1, (("pose_outwards", False, 0, 0),)),
}  # fmt: skip


@cache
def link_step(name: str, sort: Sort) -> Function:
    """Machine code of one step for one sort of link; it serves every model of the process."""
    return compile_function(ls.STEPS[name](sort))


def make_program(recipe: _Recipe, arrays: LinkArrays, still: bool = False, apart: bool = False) -> Program:
    """The numbers of the links, and which steps a kernel calls; bodies that nothing holds may be kept ``apart`` from sweeps."""
    from .link_sweeps import Header, Link, Program, Sweep, Table

    sorts = arrays.kinds
    steps: list[int] = []
    for step, *_ in recipe.sweeps:
        needed = step != "articulated_response" or arrays.header["followers"][0] > 0
        steps += [link_step(step, sort).address if needed else 0 for sort in sorts]
    loose = np.array(arrays.loose if apart else [], np.int64)
    swept = np.ones(len(arrays.links), bool)
    for k in range(4):
        swept[loose - k] = False
    return Program(
        held=np.flatnonzero(swept), loose=loose,
        header=Header.at(arrays.block), links=Table(Link, arrays.links.view(Link.dtype())), row=recipe.row, gravity=recipe.gravity, still=still,
        sorts=len(sorts), sweeps=Sweep.table([sweep[1:] for sweep in recipe.sweeps]), steps=np.array(steps, dtype=np.int64),
        sort=arrays.kind_of,
    )  # fmt: skip


class LoopedFunction:
    """One function of a looped tree; it is called like a compiled :class:`~jourdain.native.Function`.

    Inputs are given in the order of :attr:`inputs`, with leading batch dimensions if there are many states;
    ``wrenches`` (…, links, 6) are forces (N) and moments (N m) on the links in their own axes, about their origins.
    """

    def __init__(self, tree: LoopedTree, name: str) -> None:
        from .link_sweeps import compiled

        recipe, arrays = RECIPES[name], tree.arrays
        head, nv = arrays.header[0], tree.nv
        self.name = name
        self._links, self._names = int(head["links"]), arrays.names
        shapes: dict[str, tuple[int, ...]] = {"M": (nv, nv), "poses": (self._links, 12)}
        self.inputs = {n: tree.nq if n == "q" else nv for n in recipe.inputs}
        if arrays.prescribed:
            self.inputs["prescribed"] = len(arrays.prescribed)
        #: Inputs in the order of the pointers.
        self._slots = ("q", "v", (*recipe.inputs, "", "")[2], "prescribed", "wrenches")
        self.outputs = {recipe.output: shapes.get(recipe.output, (nv,))}
        #: The numbers of all links, and which steps to call.
        coupled = recipe.kernel == "articulated_body" and head["followers"] > 0
        self.program = make_program(recipe, arrays, name == "bias", name == "poses" or (name == "accelerations" and not coupled))
        self._sizes = recipe.row, self._links, int(head["motions"]), int(head["followers"])
        self._kernel = compiled("coupled_bodies" if coupled else recipe.kernel)
        #: Address of ``int32_t f(void *args)``; the arguments are `link_sweeps.Pointers`.
        self.address: int = self._kernel.address
        self._call = _PROTOTYPE(self.address)
        self._own = threading.local()

    @property
    def takes_wrenches(self) -> bool:
        """Whether forces on links enter."""
        return self.name not in ("mass_matrix", "poses")

    def workspace(self) -> Workspace:
        """Memory for one thread of calls by address."""
        from .link_sweeps import make_workspace

        return make_workspace(*self._sizes)

    def __call__(self, *arrays: Any, wrenches: Any = None, out: Any = None) -> Array:
        if len(arrays) != len(self.inputs):
            raise InputError(f"function '{self.name}' takes {len(self.inputs)} arrays ({', '.join(self.inputs)}), got {len(arrays)}")
        checked = {n: self._check(n, size, a) for (n, size), a in zip(self.inputs.items(), arrays, strict=True)}
        if wrenches is not None:
            checked["wrenches"] = self._check_wrenches(wrenches)
        single = all(a.ndim == 1 for a in checked.values())
        lead = () if single else np.broadcast_shapes(*(a.shape[:-1] for a in checked.values()))
        ((_, shape),) = self.outputs.items()
        result = self._result(lead + shape, out)
        buffer = result if result.flags.c_contiguous else np.empty(result.shape)
        if lead:
            self._run(checked, lead, buffer)
        else:
            self._report(self._call(self._own_arguments(checked, buffer)))
        if buffer is not result:
            result[...] = buffer
        return result

    def arguments(self, inputs: Mapping[str, Array], out: Array | None, workspace: Workspace) -> Pointers:
        """Pointers for a call by address; inputs or output left out are null."""
        from .link_sweeps import Pointers

        found = Pointers(program=self.program, work=workspace)
        found.words[: len(self._slots) + 1] = [*self._addresses(inputs), 0 if out is None else out.ctypes.data]
        return found

    def _addresses(self, inputs: Mapping[str, Array]) -> list[int]:
        """Where the inputs are, in the order of the pointers."""
        return [inputs[n].ctypes.data if n in inputs else 0 for n in self._slots]

    def _own_arguments(self, inputs: Mapping[str, Array], out: Array) -> int:
        """Where the pointers of this thread are, set for a call."""
        own = self._own
        if not hasattr(own, "pointers"):
            own.pointers = self.arguments({}, None, self._own_workspace())
            own.words, own.address = own.pointers.words[: len(self._slots) + 1], own.pointers.address
        own.words[:] = [*self._addresses(inputs), out.ctypes.data]
        place: int = own.address
        return place

    def _own_workspace(self) -> Workspace:
        """The memory of this thread."""
        if not hasattr(self._own, "memory"):
            self._own.memory = self.workspace()
        memory: Workspace = self._own.memory
        return memory

    def _check(self, name: str, size: int, value: Any) -> Array:
        if type(value) is np.ndarray and value.shape == (size,) and value.dtype == np.float64:
            if value.flags.c_contiguous and math.isfinite(value.sum()):
                return value
        what = f"function '{self.name}': input '{name}'"
        array = np.ascontiguousarray(reals(value, what))
        if array.shape[-1:] != (size,) or np.ndim(value) == 0:
            raise InputError(f"{what} must have {size} entries in its last dimension, got shape {np.shape(value)}")
        if not np.isfinite(array).all():
            where = np.unravel_index(int(np.flatnonzero(~np.isfinite(array.ravel()))[0]), array.shape)
            raise InputError(f"{what}[{', '.join(map(str, where))}] = {array[where]} is not finite")
        return array

    def _check_wrenches(self, wrenches: Any) -> Array:
        if not self.takes_wrenches:
            raise InputError(f"function '{self.name}' takes no wrenches")
        shape = np.shape(wrenches)
        if shape[-2:] != (self._links, 6):
            raise InputError(
                f"function '{self.name}': wrenches must have {self._links} rows (one a link) of 6 numbers "
                f"(force, moment), got shape {shape}"
            )
        return self._check("wrenches", 6 * self._links, np.reshape(wrenches, (*shape[:-2], -1)))

    def _result(self, shape: tuple[int, ...], out: Any) -> Array:
        if out is None:
            return np.empty(shape)
        if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != np.float64 or not out.flags.writeable:
            found = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
            name = next(iter(self.outputs))
            what = f"function '{self.name}': out for '{name}'"
            raise InputError(f"{what} must be a writeable float64 array of shape {shape}, got {found}")
        return out

    def _run(self, inputs: Mapping[str, Array], lead: tuple[int, ...], result: Array) -> None:
        """Runs all states of a batch, on several threads when there is enough work."""
        from .link_sweeps import run_batch

        n = int(np.prod(lead))
        if n == 0:
            return
        flat = {k: a if a.ndim == 1 else _spread(a, lead) for k, a in inputs.items()}
        steps = [8 * flat[k].shape[-1] if k in flat and flat[k].ndim > 1 else 0 for k in self._slots]
        strides = np.array([*steps, 8 * (result.size // n), 0, 0], dtype=np.int64)
        threads = min(thread_count(), n, max(1, n * self._links // _WORTH_A_THREAD))

        def part(i: int) -> int:
            args = self.arguments(flat, result, self._own_workspace())
            return int(run_batch(self.address, args.words, strides, n * i // threads, n * (i + 1) // threads))

        if threads == 1:
            failed = [part(0)]
        else:
            with ThreadPoolExecutor(threads) as pool:
                failed = list(pool.map(part, range(threads)))
        bad = [i for i in failed if i >= 0]
        if bad:
            where = ", ".join(map(str, np.unravel_index(bad[0], lead)))
            raise SolverError(f"function '{self.name}': state [{where}] has no finite accelerations; {_MASSLESS}")

    def _report(self, status: int) -> None:
        if status < 0:
            joint = self._names[-status - 1]
            raise SolverError(f"function '{self.name}': joint '{joint}' feels no inertia; {_MASSLESS}")

    def __repr__(self) -> str:
        inputs = ", ".join(f"{n}[{k}]" for n, k in self.inputs.items())
        outputs = ", ".join(f"{n}{list(s)}" for n, s in self.outputs.items())
        return f"<LoopedFunction {self.name}({inputs}) → {outputs}; {self._links} links>"


def _spread(a: Array, lead: tuple[int, ...]) -> Array:
    return np.ascontiguousarray(np.broadcast_to(a, lead + a.shape[-1:]))


_MASSLESS = "give the bodies it carries a mass or an inertia about its axis, or the joint a rotor inertia"


class LoopedTree:
    """The dynamics of a tree by loops over its elementary links, for systems too large for straight-line code.

    >>> m = Model("pendulum", gravity=(0, 0, -10))
    >>> hinge = m.revolute("hinge", m.ground, m.body("bob", mass=2.0, com=(0, 0, -0.5)), axis="y")
    >>> tree = LoopedTree(m)
    >>> tree.mass_matrix([0.0])
    array([[0.5]])
    >>> tree.accelerations([np.pi / 2], [0.0], [0.0]).round(12)
    array([-20.])
    """

    def __init__(self, model: Model | Tree, parameters: Mapping[str, float] | Sequence[float] | Array | None = None) -> None:
        tree = model if isinstance(model, Tree) else Tree(model, regroup=False, share=False)
        self.name = tree.model.name
        self.arrays = LinkArrays(tree)
        self._functions: dict[str, LoopedFunction] = {}
        self._motion: Function | None = None
        if parameters is not None:
            self.set_parameters(parameters)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_functions": {}, "_motion": None}

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return self.arrays.nq

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.arrays.nv

    @property
    def links(self) -> list[str]:
        """The joint behind which each link stands; a joint of several freedoms has several links."""
        return self.arrays.names

    def set_parameters(self, values: Mapping[str, float] | Sequence[float] | Array) -> None:
        """Gives parameters new values: all in order, or some by name (the others take the model's values)."""
        self.arrays.set_parameters(values)
        if self._motion is not None:
            self._motion.set_parameters(self.arrays.parameters)

    # -- functions ------------------------------------------------------------------------------------------------

    def function(self, name: str) -> LoopedFunction:
        """inverse_dynamics, bias, accelerations, mass_matrix or poses as a function of arrays."""
        if name not in self._functions:
            if name not in RECIPES:
                raise InputError(f"a looped tree has no function '{name}'; choose one of {', '.join(RECIPES)}")
            self._functions[name] = LoopedFunction(self, name)
        return self._functions[name]

    def inverse_dynamics(self, q: Any, v: Any, a: Any, t: Any = 0.0, wrenches: Any = None, out: Any = None) -> Array:
        """φ(q, v, a) = M a + c: generalised forces (N or N m) by recursive Newton–Euler."""
        return self.function("inverse_dynamics")(q, v, a, *self._prescribed(t), wrenches=wrenches, out=out)

    def bias(self, q: Any, v: Any, t: Any = 0.0, wrenches: Any = None, out: Any = None) -> Array:
        """c(q, v): the generalised forces at zero acceleration."""
        return self.function("bias")(q, v, *self._prescribed(t), wrenches=wrenches, out=out)

    def accelerations(self, q: Any, v: Any, tau: Any, t: Any = 0.0, wrenches: Any = None, out: Any = None) -> Array:
        """a = M⁻¹(τ − c) by articulated bodies, in order n."""
        return self.function("accelerations")(q, v, tau, *self._prescribed(t), wrenches=wrenches, out=out)

    def mass_matrix(self, q: Any, t: Any = 0.0, out: Any = None) -> Array:
        """M(q) by composite bodies, dense."""
        return self.function("mass_matrix")(q, *self._prescribed(t), out=out)

    def poses(self, q: Any, t: Any = 0.0) -> tuple[Array, Array]:
        """Rotation (link's to ground's axes) and position (m) of every link."""
        found = self.function("poses")(q, *self._prescribed(t))
        return found[..., :9].reshape(*found.shape[:-1], 3, 3), found[..., 9:]

    # -- prescribed motions ---------------------------------------------------------------------------------------

    @property
    def prescribed(self) -> Function | None:
        """θ, θ̇, θ̈ of every prescribed link as a compiled function of t, or None where nothing is prescribed."""
        if self._motion is None and self.arrays.prescribed:
            self._motion = compile_function(self.arrays.prescribed_function(), list(self.arrays.parameters))
        return self._motion

    def _prescribed(self, t: Any) -> tuple[Array, ...]:
        motion = self.prescribed
        return () if motion is None else (motion(np.asarray(t, dtype=float)[..., None]),)

    # -- machine code ---------------------------------------------------------------------------------------------

    def native(
        self,
        name: str = "state_derivative",
        tau: Any = None,
        forces: NativeFunction | None = None,
        wrenches: Any = None,
    ) -> NativeFunction:
        """A function by its address, with memory of its own: one for each thread that calls it.

        "state_derivative" is ẋ(t, x) of x = [q, v] as integrators take it, with constant forces ``tau`` or those that
        ``forces`` writes for (t, x). The other names have the arguments `link_sweeps.Pointers`, of which the caller sets inputs and output.
        """
        from .link_sweeps import Hook, StateDerivative, compiled

        f = self.function("accelerations" if name == "state_derivative" else name)
        memory = {"prescribed": np.zeros(max(1, len(self.arrays.prescribed)))}
        if wrenches is not None:
            memory["wrenches"] = f._check_wrenches(wrenches)
        if name != "state_derivative":
            return NativeFunction.of(f.address, f.arguments(memory, None, f.workspace()), f, memory)
        memory["tau"] = np.zeros(self.nv) if tau is None else f._check("tau", self.nv, tau).copy()
        hooks, keep, motion = [Hook(), Hook()], list[object](), self.prescribed
        if motion is not None:
            scratch = np.zeros_like(motion._workspace)
            arguments = motion.arguments(memory["prescribed"], memory["prescribed"], workspace=scratch)
            hooks[0], keep = Hook(function=motion.address, args=arguments), [motion, scratch]
        if forces is not None:
            words = np.zeros(max(3, forces.args.size), dtype=np.int64)
            words[: forces.args.size] = forces.args
            hooks[1], keep = Hook(function=forces.address, args=words), [*keep, forces]
        pointers = f.arguments(memory, None, f.workspace())
        args = StateDerivative(pointers=pointers, accelerations=f.address, motion=hooks[0], forces=hooks[1])
        return NativeFunction.of(compiled(name).address, args, f, memory, *keep)
