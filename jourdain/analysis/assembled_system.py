"""Assembled systems: coordinates and elements put together, simulated by conserving and other schemes.

Every element type is compiled once and run over its instances in native loops; the matrix of a step is sparse with a fixed pattern.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, ModelError, SolverError
from ..formalisms.elements.element import Element
from ..formalisms.elements.schemes import Scheme, scheme
from ..results.channel import Channel
from ..results.solution import Solution
from .assembled_audit import audit, failed
from .assembled_program import Handle, Instance, Program
from .assembled_state import Equations

if TYPE_CHECKING:
    from .assembled_static import AssembledModes, Equilibrium

REDUCTIONS = ("none", "bodies", "joints")


class AssembledSystem:
    """A mechanical system put together from coordinates and elements.

    >>> from jourdain.formalisms.elements.rigid import DirectorBody
    >>> s = AssembledSystem("top")
    >>> body = s.coordinates("top", 12, DirectorBody.coordinates_of(), DirectorBody.rates_of(DirectorBody.coordinates_of(), omega=(1, 2, 3)))
    >>> _ = s.add(DirectorBody(), "inertia", {"body": body}, DirectorBody.numbers(1.0, (1.0, 2.0, 2.5)))
    >>> sol = s.simulate(end=1.0, step=0.1)
    >>> bool(abs(sol["energy.total"] - sol["energy.total"][0]).max() < 1e-12)
    True
    """

    def __init__(self, name: str = "system") -> None:
        self.name = name
        self.handles: list[Handle] = []
        self.instances: list[Instance] = []
        self._handle_names: set[str] = set()
        self._instance_names: set[str] = set()
        self._q: list[np.ndarray] = []
        self._v: list[np.ndarray] = []
        self._numbers: list[dict[str, np.ndarray]] = []
        self._programs: dict[Any, Program] = {}
        self._equations: Equations | None = None
        self._dropped: frozenset[tuple[str, str]] | None = None

    # -- building -----------------------------------------------------------------------------------------------------

    def coordinates(
        self, name: str, size: int, q0: Any, v0: Any = None, *, fixed: bool = False, unit: str = "", shape: Any = None
    ) -> Handle:
        """A block of coordinates with initial values and rates; ``fixed`` ones are prescribed and constant (a frame on the ground)."""
        if name in self._handle_names:
            raise ModelError(f"system '{self.name}': coordinates '{name}' exist already; choose another name")
        q, v = self._vector(q0, size, name, "q0"), self._vector(0.0 if v0 is None else v0, size, name, "v0")
        if fixed and np.any(v):
            raise ModelError(f"system '{self.name}': fixed coordinates '{name}' cannot move; leave out v0")
        offset = self.handles[-1].offset + self.handles[-1].size if self.handles else 0
        handle = Handle(name, offset, size, fixed, unit, shape, len(self.handles))
        self._handle_names.add(name)
        self.handles.append(handle)
        self._q.append(q)
        self._v.append(v)
        self._changed()
        return handle

    def _vector(self, values: Any, size: int, name: str, what: str) -> np.ndarray:
        try:
            x = np.array(np.broadcast_to(np.asarray(values, float), (size,)))
        except (TypeError, ValueError):
            raise ModelError(f"system '{self.name}', '{name}': {what} must hold {size} numbers, got {values!r}") from None
        if not np.all(np.isfinite(x)):
            raise ModelError(f"system '{self.name}', '{name}': {what} holds a number that is not finite: {x}")
        return x

    def add(self, element: Element, name: str, blocks: Mapping[str, Handle], constants: Mapping[str, Any] | None = None) -> Instance:
        """Attaches an element to coordinates, with its numbers."""
        if name in self._instance_names:
            raise ModelError(f"system '{self.name}': element '{name}' exists already; choose another name")
        if set(blocks) != set(element.blocks):
            raise ModelError(f"element '{name}' ({element.name}) is attached to {sorted(blocks)}; it needs {sorted(element.blocks)}")
        for b, h in blocks.items():
            if h.size != element.blocks[b] or h.number >= len(self.handles) or self.handles[h.number] is not h:
                raise ModelError(
                    f"element '{name}': block '{b}' needs {element.blocks[b]} coordinates of this system, '{h.name}' has {h.size}"
                )
        given = dict(constants or {})
        if set(given) != set(element.constants):
            raise ModelError(
                f"element '{name}' ({element.name}) is given {sorted(given)}; it needs the constants {sorted(element.constants)}"
            )
        numbers = {c: self._vector(given[c], size, name, c) for c, size in element.constants.items()}
        flat = np.concatenate([numbers[c] for c in element.constants]) if element.constants else np.zeros(0)
        instance = Instance(element, name, dict(blocks), flat)
        self.instances.append(instance)
        self._instance_names.add(name)
        self._numbers.append(numbers)
        self._changed()
        return instance

    def _changed(self) -> None:
        self._programs.clear()
        self._equations = None
        self._dropped = None

    # -- state ---------------------------------------------------------------------------------------------------------

    @property
    def q0(self) -> np.ndarray:
        """Initial coordinates."""
        return np.concatenate(self._q) if self._q else np.zeros(0)

    @property
    def v0(self) -> np.ndarray:
        """Initial rates."""
        return np.concatenate(self._v) if self._v else np.zeros(0)

    def set_state(self, q: Any, v: Any) -> None:
        """New initial coordinates and rates, in the order of the handles."""
        size = sum(h.size for h in self.handles)
        q, v = self._vector(q, size, "state", "q"), self._vector(v, size, "state", "v")
        self._q = [q[h.offset : h.offset + h.size] for h in self.handles]
        self._v = [v[h.offset : h.offset + h.size] for h in self.handles]

    @property
    def equations(self) -> Equations:
        """The equations at an instant (mass, constraints, forces)."""
        if self._equations is None:
            self._equations = Equations(self.handles, self.instances)
        return self._equations

    def consistent(self, t: float = 0.0) -> None:
        """Moves the initial state onto the constraints (it must be near them) and completes rates of massless coordinates."""
        self.set_state(*self.equations.consistent(self.q0, self.v0, t, self.name))

    def program(self, method: Scheme | str = "energy-momentum", reduction: str = "none") -> Program:
        """Tables and code for a scheme and a reduction."""
        chosen = method if isinstance(method, Scheme) else scheme(method)
        if reduction not in REDUCTIONS:
            raise InputError(f"system '{self.name}': reduction '{reduction}' is unknown; choose one of {', '.join(REDUCTIONS)}")
        if not self.instances:
            raise ModelError(f"system '{self.name}' has no elements; add some")
        key = (chosen.evaluation, reduction)
        if key not in self._programs:
            self._programs[key] = Program(self.handles, self.instances, chosen.evaluation, reduction, self._dropped or frozenset())
        return self._programs[key]

    # -- running --------------------------------------------------------------------------------------------------------

    def simulate(
        self, end: float, step: float, method: str = "energy-momentum", reduction: str = "none", *, start: float = 0.0, tolerance: float = 1e-12,
        adaptive: bool = False, rtol: float = 1e-5, atol: float = 1e-7, every: int = 1, progress: bool = False, max_iterations: int = 20,
        **coefficients: float,
    ) -> Solution:  # fmt: skip
        """Simulates from ``start`` to ``end`` (s) with steps of ``step`` (s; the largest one when ``adaptive``).

        Methods: "energy-momentum" (exact energy and momenta), "midpoint", "variational", "trapezoidal", "backward-euler", "newmark"
        (γ, β), "hht" (α), "generalized-alpha" (ρ∞), with ``coefficients`` gamma, beta, alpha, rho.  ``reduction`` "bodies" eliminates the
        internal constraints of bodies, "joints" also those of a spanning tree of the pairs (few unknowns, dense matrix).
        ``tolerance`` bounds the last increment of Newton's method relative to the largest coordinate.  Every ``every``-th step is kept.
        """
        from ..solvers import assembled_plan as am

        begun = time.perf_counter()
        chosen = scheme(method, **coefficients)
        run, program = self._run(chosen, reduction, start, end, step, every, tolerance, max_iterations)
        if adaptive:
            run.set_adaptive(rtol, atol, 0.01 * step)
        run.begin()
        rows, reason = run.march(progress)
        t, q, v, lam, book = rows.joined()
        if len(t) > 1:
            lam[0] = lam[1]  # multipliers are means over a step; the first row shows those of the first step
        about = {"model": self.name, "method": method, "reduction": reduction, "step": step, "tolerance": tolerance,
                 "status": "finished" if reason == am.FINISHED else "failed" if reason else "interrupted"}  # fmt: skip
        statistics = run.statistics(time.perf_counter() - begun)
        audited = audit(self.instances, q)
        channels = lambda: _channels(self, program, q, v, lam, book) | {n: Channel(a, "", "must vanish") for n, a in audited.items()}
        solution = Solution(t, channels, about, statistics, self)
        wrong = self._failure(run, program) if reason == am.FAILED else failed(audited, t)
        if wrong:
            from .simulate import SimulationError

            raise SimulationError(wrong if reason == am.FAILED else f"simulate '{self.name}': {wrong}", solution)
        return solution

    def _run(
        self, chosen: Scheme, reduction: str, start: float, end: float, step: float, every: int, tolerance: float, iterations: int
    ) -> Any:
        from ..solvers.assembled_run import Run
        from ..solvers.sparse_lu import SingularMatrix, joined_groups, order

        if not (step > 0.0 and end > start):
            raise InputError(f"system '{self.name}': step {step:g} s and span {start:g} … {end:g} s must be positive")
        if every < 1 or tolerance <= 0.0:
            raise InputError(f"system '{self.name}': every = {every} and tolerance = {tolerance:g} must be positive")
        q, v = self.equations.consistent(self.q0, self.v0, start, self.name)
        if self._dropped is None:
            self._dropped = self.equations.redundant(q, v, start, self._tree_pairs)
            self._programs.clear()
        program = self.program(chosen, reduction)
        z = program.initial_history(q, self._numbers)
        pattern = (program.starts, program.indices)
        columns = order(*pattern, joined_groups(*pattern, np.array(program.unknown_group), program.coordinate_unknowns))
        run = Run(program.plan(), pattern, columns, chosen.coefficients, q, v, z, tolerance, iterations)
        run.set_time(start, end, step, every)
        if chosen.has_acceleration:
            from ..solvers import assembled_plan as am

            run.vec[am.A0] = run.vec[am.D0] = self.equations.accelerations(q, v, start)[0]
        if reduction == "joints":
            self._use_joints(run, program, chosen)
            return run, program
        run.matrix()
        try:
            run.analyse()
        except SingularMatrix as error:
            raise SolverError(
                f"system '{self.name}': the equations do not determine '{program.unknown_names[error.column]}'; "
                "is it free of mass and of forces, or constrained twice?"
            ) from None
        return run, program

    def _tree_pairs(self) -> set[str]:
        """Names of the pairs of the spanning tree."""
        from .assembled_joints import spanning_tree

        return {self.instances[k].name for k in spanning_tree(self.handles, self.instances)[1]}

    def _use_joints(self, run: Any, program: Program, chosen: Scheme) -> None:
        from .assembled_joints import JointSpace

        if chosen.evaluation not in ("discrete", "midpoint"):
            raise InputError(
                f"system '{self.name}': reduction 'joints' belongs to the methods 'energy-momentum' and 'midpoint', not to '{chosen.name}'; "
                "use reduction 'bodies'"
            )
        JointSpace(program).attach(run)

    def equilibrium(self, reduction: str = "none", **options: float) -> Equilibrium:
        """A stable equilibrium reached from the initial state by implicit relaxation; see :func:`.assembled_static.equilibrium`."""
        from .assembled_static import equilibrium

        return equilibrium(self, reduction, **options)  # type: ignore[arg-type]

    def modal(self, q: np.ndarray | None = None, count: int | None = None) -> AssembledModes:
        """Modes of vibration about an equilibrium (default: the initial state)."""
        from .assembled_static import modal

        return modal(self, q, count)

    def _failure(self, run: Any, program: Program) -> str:
        from ..solvers import assembled_plan as am

        r = np.abs(run.r) * (1.0 if run.lu is None else run.lu.row_scale)
        k = int(np.argmax(np.where(np.isfinite(r), r, np.inf)))
        return (
            f"simulate '{self.name}': Newton's method does not converge at t = {run.clock[am.T]:.9g} s, even with a step of {run.clock[am.H]:.3g} s; "
            f"the worst equation belongs to '{program.unknown_names[k]}' (residual {run.r[k]:.3g}); try a smaller step or look at the laws there"
        )

    def report(self, step: float, method: str = "energy-momentum", reduction: str = "none", **coefficients: float) -> dict[str, float]:
        """Unknowns, non-zeros of matrix and factors, and condition numbers (1-norm) of the matrix of the first step.

        ``condition`` is that of the scaled form in use, ``condition_unscaled`` that of the textbook's form with λ as unknowns and the
        balance of momentum multiplied by 2/h (Uhlar, eq. 3.23).
        """
        from scipy.sparse import csc_matrix, diags

        from ..solvers import assembled_plan as am

        run, program = self._run(scheme(method, **coefficients), reduction, 0.0, step, step, 1, 1e-12, 20)
        if run.joints is not None:
            return run.joints.report(run, step)
        n, k = program.unknowns, program.coordinate_unknowns
        K = csc_matrix((run.values, program.indices, program.starts), shape=(n, n))
        left, right = np.ones(n), np.ones(n)
        left[:k], right[k:] = 2.0 / step, run.scheme[am.KAPPA]
        textbook = csc_matrix(diags(left) @ K @ diags(right))
        return {
            "unknowns": n, "coordinates": k, "multipliers": n - k, "nonzeros": int(run.values.size), "fill": run.lu.fill,
            "condition": _condition(K), "condition_unscaled": _condition(textbook),
        }  # fmt: skip


def _condition(K: Any) -> float:
    """‖K‖₁ ‖K⁻¹‖₁: exact for small matrices, estimated for large ones."""
    from scipy.sparse.linalg import LinearOperator, onenormest, splu

    if K.shape[0] <= 400:
        return float(np.linalg.cond(K.toarray(), 1))
    lu = splu(K)
    inverse = LinearOperator(K.shape, matvec=lu.solve, rmatvec=lambda b: lu.solve(b, trans="T"))
    return float(onenormest(K) * onenormest(inverse))


_ENERGIES = ("kinetic", "potential", "internal", "dissipated", "supplied")


def _channels(
    system: AssembledSystem, program: Program, q: np.ndarray, v: np.ndarray, lam: np.ndarray, book: np.ndarray
) -> dict[str, Channel]:
    """Named channels of a run."""
    from ..solvers import assembled_plan as am

    channels: dict[str, Channel] = {}
    kinds = {
        h.name: i.element.name for i in system.instances if i.element.reduction is not None for h in (i.blocks[i.element.reduction.block],)
    }
    for h in system.handles:
        part = slice(h.offset, h.offset + h.size)
        channels |= _motion(h, kinds.get(h.name, ""), q[:, part], v[:, part])
    for i, name in enumerate(program.multiplier_names):
        channels[name] = Channel(lam[:, i], "", "multiplier, mean over the step before")
    for i, name in enumerate(_ENERGIES):
        channels[f"energy.{name}"] = Channel(book[:, i], "J", f"{name} energy")
    channels["energy.total"] = Channel(book[:, am.TOTAL], "J", "kinetic, potential and internal energy")
    channels["energy.residual"] = Channel(book[:, am.BALANCE], "J", "largest defect of the energy balance of a step since the row before")
    channels["momentum.linear"] = Channel(book[:, 5:8], "kg*m/s", "linear momentum")
    channels["momentum.angular"] = Channel(book[:, 8:11], "kg*m^2/s", "angular momentum about the origin")
    channels["constraints.violation"] = Channel(book[:, am.VIOLATION], "", "largest violation of a constraint since the row before")
    channels["newton.iterations"] = Channel(book[:, am.ITERATED].astype(np.int64), "", "iterations since the row before")
    channels["newton.steps"] = Channel(book[:, am.USED].astype(np.int64), "", "steps since the row before")
    return channels


def _motion(h: Handle, kind: str, q: np.ndarray, v: np.ndarray) -> dict[str, Channel]:
    """Channels of a block of coordinates: those of a frame for directors, the numbers themselves otherwise."""
    if kind == "DirectorBody" or (h.size == 12 and h.fixed):
        directors, rates = q[:, 3:].reshape(-1, 3, 3), v[:, 3:].reshape(-1, 3, 3)
        return {
            f"{h.name}.position": Channel(q[:, :3], "m", "origin"), f"{h.name}.rotation": Channel(directors.swapaxes(1, 2).copy(), "", "directors as columns"),
            f"{h.name}.velocity": Channel(v[:, :3], "m/s", "velocity of the origin"),
            f"{h.name}.angular_velocity": Channel(0.5 * np.cross(directors, rates).sum(axis=1), "rad/s", "angular velocity"),
        }  # fmt: skip
    if kind == "PlanarBody":
        omega = 0.5 * (q[:, 2] * v[:, 3] - q[:, 3] * v[:, 2] + q[:, 4] * v[:, 5] - q[:, 5] * v[:, 4])
        return {
            f"{h.name}.position": Channel(q[:, :2], "m", "origin"), f"{h.name}.velocity": Channel(v[:, :2], "m/s", "velocity of the origin"),
            f"{h.name}.angle": Channel(np.unwrap(np.arctan2(q[:, 3], q[:, 2])), "rad", "angle"),
            f"{h.name}.angular_velocity": Channel(omega, "rad/s", "angular velocity"),
        }  # fmt: skip
    rate = {"m": "m/s", "rad": "rad/s"}.get(h.unit, "")
    values, rates = (q[:, 0], v[:, 0]) if h.size == 1 else (q, v)
    return {h.name: Channel(values, h.unit, "coordinates"), f"{h.name}.rate": Channel(rates, rate, "rates")}


def joined(parts: Sequence[Solution]) -> Solution:
    """Runs one after the other as one solution (for systems whose constraints change at events)."""
    names = [n for n in parts[0].names if all(n in p for p in parts)]
    t = np.concatenate([p.t for p in parts])
    return Solution(t, {n: Channel(np.concatenate([p[n] for p in parts]), parts[0].channel(n).unit) for n in names}, parts[-1].metadata)
