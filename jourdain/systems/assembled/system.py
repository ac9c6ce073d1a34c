"""Assembled systems: coordinates and elements put together, simulated by conserving and other schemes.

Every element type is compiled once and run over its instances in native loops; the matrix of a step is sparse with a fixed pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from ...elements.discrete.schemes import Scheme, scheme
from ...elements.element import Element
from ...errors import InputError, ModelError
from ...reals import reals
from ...results.solution import Solution
from ...told import told
from ..run import SimulationError
from .instant import Equations
from .program import Handle, Instance, Program

if TYPE_CHECKING:
    from ...elements.solid import Solid
    from ...solvers.stepping.run import Run
    from .convergence import Convergence
    from .events import AssembledEvent, Guard, Moment
    from .flexible.cables import CableLine
    from .march import Held
    from .servo import ServoReport, ServoStart
    from .start import Start
    from .statics import AssembledModes, Equilibrium

REDUCTIONS = ("none", "projection", "bodies", "joints")
#: Sets of elements and constants whose equations are kept.
MOST_VARIANTS = 64


@told
class AssembledSystem:
    """A mechanical system put together from coordinates and elements.

    >>> from jourdain.elements.rigid import DirectorBody
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
        #: Constants of every instance by name.
        self.constants: list[dict[str, np.ndarray]] = []
        self._programs: dict[Any, Program] = {}
        self._equations: Equations | None = None
        self._start: Start | None = None
        #: Rows (instance, name) left out because they follow from others at the initial state; None while that is not known.
        self.dropped: frozenset[tuple[str, str]] | None = None
        #: Elements that wait for an event.
        self.inactive: set[str] = set()
        self.events: list[AssembledEvent] = []
        self._variants: dict[Any, AssembledSystem] = {}

    # -- building -----------------------------------------------------------------------------------------------------

    def coordinates(
        self, name: str, size: int, q0: Any, v0: Any = None, *, fixed: bool = False, unit: str = "", shape: Any = None
    ) -> Handle:
        """A block of coordinates with initial values and rates; ``fixed`` ones are prescribed and constant (a frame on the ground)."""
        if name in self._handle_names:
            raise ModelError(f"system '{self.name}': coordinates '{name}' exist already; choose another name")
        if not name or not isinstance(size, (int, np.integer)) or size < 1:
            raise ModelError(
                f"system '{self.name}': coordinates '{name}' of size {size!r} are none; give a name and a whole number of at least 1"
            )
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
            given = reals(values, f"'{name}': {what}")
            if given.ndim == 0 and size > 1 and given:  # 0 stands for all zeros; any other number alone is a slip
                raise ValueError
            x = np.array(np.broadcast_to(given, (size,)))
        except (TypeError, ValueError):
            raise ModelError(f"system '{self.name}', '{name}': {what} must hold {size} numbers, got {values!r}") from None
        if not np.all(np.isfinite(x)):
            raise ModelError(f"system '{self.name}', '{name}': {what} holds a number that is not finite: {x}")
        return x

    def add(
        self, element: Element, name: str, blocks: Mapping[str, Handle], constants: Mapping[str, Any] | None = None, *, active: bool = True
    ) -> Instance:
        """Attaches an element to coordinates, with its numbers; one that is not ``active`` waits until an event inserts it."""
        if name in self._instance_names:
            raise ModelError(f"system '{self.name}': element '{name}' exists already; choose another name")
        if not isinstance(element, Element):
            raise ModelError(f"system '{self.name}', '{name}': {element!r} is no element; give an instance such as DirectorBody()")
        if set(blocks) != set(element.blocks):
            raise ModelError(f"element '{name}' ({element.name}) is attached to {sorted(blocks)}; it needs {sorted(element.blocks)}")
        for b, h in blocks.items():
            if not isinstance(h, Handle):
                raise ModelError(f"element '{name}': block '{b}' is given {h!r}; give what coordinates(…) returned")
            if h.size != element.blocks[b] or h.number >= len(self.handles) or self.handles[h.number] is not h:
                raise ModelError(
                    f"element '{name}': block '{b}' needs {element.blocks[b]} coordinates of this system; '{h.name}' has {h.size}"
                    + ("" if h.size != element.blocks[b] else " but belongs to another system")
                )
        given = dict(constants or {})
        if set(given) != set(element.constants):
            raise ModelError(
                f"element '{name}' ({element.name}) is given {sorted(given)}; it needs the constants {sorted(element.constants)}"
            )
        numbers = {c: self._vector(given[c], size, name, c) for c, size in element.constants.items()}
        for c in set(element.not_negative) & set(numbers):
            if numbers[c].min() < 0.0:
                raise ModelError(f"element '{name}' ({element.name}): {c} = {numbers[c].min():g} is negative; give a positive number")
        flat = np.concatenate([numbers[c] for c in element.constants]) if element.constants else np.zeros(0)
        instance = Instance(element, name, dict(blocks), flat)
        self.instances.append(instance)
        self._instance_names.add(name)
        if not active:
            self.inactive.add(name)
        self.constants.append(numbers)
        self._changed()
        return instance

    def check_new(self, coordinates: Sequence[str], elements: Sequence[str]) -> None:
        """Refuses names that are taken."""
        for what, taken in (("coordinates", self._handle_names & set(coordinates)), ("element", self._instance_names & set(elements))):
            if taken:
                raise ModelError(f"system '{self.name}': {what} '{min(taken)}' exist already; choose another name")

    def add_blocks(self, names: Sequence[str], q: np.ndarray, v: np.ndarray, fixed: np.ndarray, unit: str) -> list[Handle]:
        """Blocks of equal size, one for each row of coordinates and rates; those who call see to it that names are new."""
        size, count = q.shape[1], len(self.handles)
        first = self.handles[-1].offset + self.handles[-1].size if self.handles else 0
        made = [
            Handle(n, first + k * size, size, held, unit, None, count + k)
            for k, (n, held) in enumerate(zip(names, fixed.tolist(), strict=True))
        ]
        self.handles += made
        self._handle_names.update(names)
        self._q += list(q)
        self._v += list(v)
        self._changed()
        return made

    def add_instances(
        self, element: Element, names: Sequence[str], blocks: Sequence[dict[str, Handle]], constants: Mapping[str, np.ndarray]
    ) -> None:
        """Elements of one type, with a row of constants for each; those who call see to it that all fit."""
        flat = np.column_stack([constants[c] for c in element.constants])
        parts = {c: np.ascontiguousarray(constants[c]) for c in element.constants}
        self.instances += [Instance(element, n, b, row) for n, b, row in zip(names, blocks, flat, strict=True)]
        self._instance_names.update(names)
        self.constants += [{c: x[k] for c, x in parts.items()} for k in range(len(names))]
        self._changed()

    def mesh(
        self, element: Solid, name: str, places: Any, cells: Any, *, velocities: Any = 0.0, fixed: Any = (), at: Any = None,
        attach: Sequence[tuple[Handle, Any]] = (), coupling: str = "null space", **numbers: Any,
    ) -> list[Any]:  # fmt: skip
        """Adds nodes ("name.0" …) at ``places`` (m) before deformation and solids ("name[0]" …) between those that each of ``cells`` lists.

        ``velocities`` (m/s) of the nodes, numbers of ``fixed`` nodes, places ``at`` which nodes start if they are deformed; ``numbers`` are
        density (kg/m³), gravity (m/s²), in the plane thickness (m), and constants of the law, for all or one row each.  ``attach`` fixes nodes
        to bodies: pairs of a body's coordinates and numbers of nodes.  By ``coupling`` "null space" such nodes have no coordinates, by
        "constraints" they have, and three rows each.  The blocks of the nodes are returned (of nodes on bodies their places there).

        >>> from jourdain.elements import Solid, hexahedron, lame
        >>> cube = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]
        >>> s = AssembledSystem("cube")
        >>> nodes = s.mesh(Solid(hexahedron()), "cube", cube, [range(8)], fixed=range(4), density=1e3, gravity=(0, 0, -9.81), **lame(1e5, 0.3))
        >>> sol = s.simulate(0.1, 0.01)
        >>> bool(np.ptp(sol["energy.total"]) < 1e-10)
        True
        """
        from .flexible.meshes import Mesh

        return Mesh(self, element, name, places, cells).add(velocities, fixed, at, attach, coupling, numbers)

    def beam(
        self, name: str, places: Any, *, stiffness: Any, inertia: Any, rotations: Any = None, up: Any = (0.0, 0.0, 1.0), order: int = 2,
        gravity: Any = 0.0, start: Handle | str | None = None, end: Handle | str | None = None, at: Any = None, velocities: Any = 0.0,
        omegas: Any = 0.0, **viscosity: Any,
    ) -> list[Handle]:  # fmt: skip
        """Adds a geometrically exact beam with nodes ("name.0" …) at ``places`` (m) before deformation; see :mod:`jourdain.elements.beam`.

        Directors (columns of ``rotations``) have the first along the beam; without them the third is towards ``up``.  ``stiffness`` (6 × 6, of N, Vy,
        Vz, T, My, Mz) and ``inertia`` (4 × 4, for a length) are those of a section (:func:`jourdain.elements.section_of`).  ``order`` 1 … 3 is that
        of the elements, of 2 … 4 nodes.  ``start`` and ``end`` are free, "clamped", or a body that holds the section there.  The beam may start elsewhere,
        ``at`` (places, rotations), with ``velocities`` and ``omegas`` of its nodes.  Viscosity: ``damping`` (6 × 6) of a dashpot, or ``branch`` (6 × 6)
        and ``relaxation`` (s) of a standard solid.  The blocks of the nodes are returned.

        >>> from jourdain.elements import section_of
        >>> from jourdain.structures import Material, rectangle
        >>> s, line = AssembledSystem("ruler"), np.linspace((0, 0, 0), (1, 0, 0), 9)
        >>> nodes = s.beam("ruler", line, **section_of(rectangle(0.05, 0.005), Material(1e8, 0.3, 1000.0)), start="clamped", gravity=(0, 0, -9.81))
        >>> sol = s.simulate(0.5, 0.01, reduction="bodies")
        >>> bool(np.ptp(sol["energy.total"]) < 1e-10)
        True
        """
        from .flexible.beams import BeamLine

        line = BeamLine(self, name, places, rotations, up, order)
        ends = {k: x for k, x in ((0, start), (len(line.X) - 1, end)) if x is not None}
        return line.add(stiffness, inertia, gravity, ends, at, velocities, omegas, viscosity)

    def planar_beam(
        self, name: str, places: Any, *, stiffness: Any, inertia: Any, angles: Any = None, order: int = 2, gravity: Any = 0.0,
        start: Handle | str | None = None, end: Handle | str | None = None, at: Any = None, velocities: Any = 0.0, omegas: Any = 0.0,
        **viscosity: Any,
    ) -> list[Handle]:  # fmt: skip
        """Adds a geometrically exact beam in the plane with nodes ("name.0" …) at ``places`` (m); see :mod:`jourdain.elements.planar_beam`.

        ``stiffness`` is EA, κGA, EI (or 3 × 3), ``inertia`` ρA, ρI of a length (:func:`jourdain.elements.planar_section_of`); ``angles`` (rad) of the sections are along
        the line unless given.  All else is as for :meth:`beam` (viscous matrices are 3 × 3, or their diagonals); bodies at the ends have their frame in the section.

        >>> s, line = AssembledSystem("ruler"), np.linspace((0, 0), (1, 0), 9)
        >>> nodes = s.planar_beam("ruler", line, stiffness=(1e5, 3e4, 0.2), inertia=(0.25, 5e-7), start="clamped", gravity=(0, -9.81))
        >>> sol = s.simulate(0.5, 0.01, reduction="bodies")
        >>> bool(np.ptp(sol["energy.total"]) < 1e-10)
        True
        """
        from .flexible.beams import PlanarLine

        line = PlanarLine(self, name, places, angles, order)
        ends = {k: x for k, x in ((0, start), (len(line.X) - 1, end)) if x is not None}
        return line.add(stiffness, inertia, gravity, ends, at, velocities, omegas, viscosity)

    def cable(
        self, name: str, places: Any, *, axial: float, mass_per_length: float, bending: float = 0.0, length: float | None = None, slopes: Any = None,
        gravity: Any = 0.0, start: str | None = None, end: str | None = None, velocities: Any = 0.0, viscosity: float = 0.0,
    ) -> CableLine:  # fmt: skip
        """Adds a thin cable with nodes ("name.0" … of place and slope) at even ``places`` (m), in space or in the plane; see :mod:`jourdain.elements.cable`.

        ``axial`` EA (N), ``bending`` EI (N m²), ``mass_per_length`` (kg/m), ``viscosity`` (N s) of a tension with the rate of strain.  ``length`` (m) before deformation is that of the
        line through the places unless given: a shorter one starts under tension.  A slack one starts on a curve with ``slopes``, such as :func:`jourdain.elements.catenary`.
        Ends are free, "pinned" or "clamped".  What is returned has the blocks of the nodes, and goes to :meth:`slide`.

        >>> s = AssembledSystem("washing line")
        >>> line = s.cable("line", np.linspace((0, 0), (2, 0), 9), axial=1e4, bending=1e-2, mass_per_length=0.1, gravity=(0, -9.81), start="pinned", end="pinned")
        >>> sol = s.simulate(0.2, 0.01)
        >>> bool(np.ptp(sol["energy.total"]) < 1e-10)
        True
        """
        from .flexible.cables import add_cable

        return add_cable(self, name, places, axial, bending, mass_per_length, length, slopes, gravity, start, end, velocities, viscosity)

    def slide(
        self,
        name: str,
        cable: CableLine,
        body: Handle,
        at: float,
        point: Any = None,
        friction: tuple[Element, Mapping[str, Any]] | None = None,
        coefficient: float = 0.0,
        speed: float = 1e-3,
    ) -> Handle:
        """Lets a point of a body (or a particle) slide along a cable from ``at`` (m along it); the coordinate "name" along the cable is returned.

        ``friction`` is an element of one coordinate with its constants that acts along the cable: (Viscous(), {"damping": 0.5}), Plastic, ViscousLaw.  ``coefficient`` is
        that of Coulomb's friction by the normal force, smooth below ``speed`` (m/s).  A run in which the point reaches an end of the cable ends with an error.
        """
        from .flexible.cables import add_slider

        return add_slider(
            self,
            name,
            cable,
            body,
            at,
            np.zeros(3 if body.size in (3, 12) else 2) if point is None else point,
            friction,
            coefficient,
            speed,
        )

    def copy(self) -> AssembledSystem:
        """A system with the same coordinates, elements and events, to which others can be added."""
        made = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, (list, dict, set)):
                setattr(made, name, copy(value))
        made._changed()
        return made

    def _changed(self) -> None:
        self._programs.clear()
        self._equations = self._start = None
        self.dropped = None
        self._variants.clear()

    def event(
        self, name: str, guard: Guard | str, blocks: Mapping[str, Handle] | None = None, direction: int = 0, terminal: bool = False,
        action: Callable[[Moment], None] | None = None,
    ) -> AssembledEvent:  # fmt: skip
        """Something that happens when a guard crosses zero (rising: +1, falling: −1, both: 0).

        ``guard(s)`` is an expression of the coordinates of some ``blocks`` (``s.block``), their rates (``s.velocity.block``) and the time
        (``s.t``); a text names a multiplier ("element.row", in the unit of its force).  ``terminal`` ends the run; ``action(moment)`` may
        remove and insert elements, change constants and velocities (see :class:`.Moment`).

        >>> from jourdain.elements.rigid import DirectorBody
        >>> s = AssembledSystem("fall")
        >>> ball = s.coordinates("ball", 12, DirectorBody.coordinates_of((0, 0, 1.0)))
        >>> _ = s.add(DirectorBody(), "inertia", {"body": ball}, DirectorBody.numbers(1.0, (0.1, 0.1, 0.1), gravity=(0, 0, -9.81)))
        >>> _ = s.event("floor", lambda s: s.ball[2], {"ball": ball}, terminal=True)
        >>> float(s.simulate(1.0, 0.1).t[-1].round(9)) == round((2 / 9.81) ** 0.5, 9)
        True
        """
        from .events import checked_event

        made = checked_event(self, name, guard, blocks, direction, terminal, action, self.events)
        self.events.append(made)
        return made

    def forget_events(self) -> None:
        """Takes all events away."""
        self.events.clear()

    def variant(self, inactive: frozenset[str], numbers: Mapping[str, Mapping[str, Any]]) -> AssembledSystem:
        """This system without some elements and with other constants of some; each is prepared once."""
        if not inactive and not numbers:
            return self
        changed = {n: {c: self._vector(x, np.size(x), n, c) for c, x in given.items()} for n, given in numbers.items()}
        key = (inactive, *sorted((n, c, x.tobytes()) for n, given in changed.items() for c, x in given.items()))
        if key not in self._variants:
            made = AssembledSystem(self.name)
            made.handles, made._handle_names = self.handles, self._handle_names
            for instance, own in zip(self.instances, self.constants, strict=True):
                if instance.name not in inactive:
                    made.add(instance.element, instance.name, instance.blocks, {**own, **changed.get(instance.name, {})})
            if len(self._variants) == MOST_VARIANTS:  # constants that change continuously would fill the memory
                del self._variants[next(iter(self._variants))]
            self._variants[key] = made
        found = self._variants[key]
        if found._q is not self._q:
            found._q, found._v, found.dropped = self._q, self._v, None
        return found

    @property
    def acting(self) -> AssembledSystem:
        """This system without the elements that wait for an event."""
        return self.variant(frozenset(self.inactive), {})

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
        self.dropped = None

    @property
    def equations(self) -> Equations:
        """The equations at an instant (mass, constraints, forces)."""
        if self._equations is None:
            self._equations = Equations(self.handles, self.instances)
        return self._equations

    @property
    def start(self) -> Start:
        """Where runs start: what constraints ask of positions and rates."""
        if self._start is None:
            from .start import Start

            self._start = Start(self.equations, self.tree_pairs)
        return self._start

    def consistent(self, t: float = 0.0) -> None:
        """Moves the initial state onto the constraints (it must be near them) and completes rates of massless coordinates."""
        self.set_state(*self.acting.start.consistent(self.q0, self.v0, t, self.name))

    def program(self, method: Scheme | str = "energy-momentum", reduction: str = "none", servo: str = "direct") -> Program:
        """Tables and code for a scheme, a reduction and a treatment of servo constraints."""
        chosen = method if isinstance(method, Scheme) else scheme(method)
        if reduction not in REDUCTIONS:
            raise InputError(f"system '{self.name}': reduction '{reduction}' is unknown; choose one of {', '.join(REDUCTIONS)}")
        if not self.instances:
            raise ModelError(f"system '{self.name}' has no elements; add some")
        dropped = self.dropped or frozenset()
        key = (chosen.evaluation, reduction, servo, dropped)
        if key not in self._programs:
            from .servo import projected_instances

            instances = projected_instances(self) if servo == "projected" else self.instances
            self._programs[key] = Program(self.handles, instances, chosen.evaluation, reduction, dropped)
        return self._programs[key]

    # -- running --------------------------------------------------------------------------------------------------------

    def simulate(
        self, end: float, step: float, method: str = "energy-momentum", reduction: str = "none", *, start: float = 0.0, tolerance: float = 1e-12,
        adaptive: bool = False, rtol: float | None = None, atol: float | None = None, every: int = 1, progress: bool = False, max_iterations: int = 20,
        linear_solver: str = "own", servo: str = "direct", held: Held | None = None, memory: Any = None, **coefficients: float,
    ) -> Solution:  # fmt: skip
        """Simulates from ``start`` to ``end`` (s) with steps of ``step`` (s; the largest one when ``adaptive``).

        Methods: "energy-momentum" (exact energy and momenta), "midpoint", "variational", "trapezoidal", "backward-euler", "newmark"
        (γ, β), "hht" (α), "generalized-alpha" (ρ∞), with ``coefficients`` gamma, beta, alpha, rho.  ``reduction`` "bodies" eliminates the
        internal constraints of bodies, "joints" also those of a spanning tree of the pairs (few unknowns, dense matrix); "projection" only
        projects the balances of bodies, which takes their multipliers away and keeps their constraints.
        ``tolerance`` bounds the last increment of Newton's method relative to the largest coordinate, ``rtol`` (1e-5) and ``atol`` (1e-7) the
        error of an adaptive step.  Every ``every``-th step is kept.
        ``linear_solver`` "own" factorises natively on a fixed pattern and turns to SciPy's SuperLU where that fails (counted in the statistics
        as "library_factorisations"); "library" uses SuperLU throughout, slowly, to check the one by the other.
        ``servo`` "projected" reduces the index of servo constraints whose inputs do not act on the outputs directly (cranes), with the methods
        "generalized-alpha", "newmark" and "backward-euler"; see :meth:`servo_report`.  ``held`` changes fixed coordinates on the way (inputs); ``memory`` is the ``restart`` of an earlier run's
        solution, to go on from as if it had never stopped.
        """
        from .march import March

        march = March(
            self, end, step, method, reduction, start=start, tolerance=tolerance, adaptive=adaptive, rtol=rtol, atol=atol, every=every,
            max_iterations=max_iterations, linear_solver=linear_solver, servo=servo, memory=memory, **coefficients,
        )  # fmt: skip
        found = march.go(progress, held)
        if held is None:
            march.leave()
        if found.wrong:
            raise SimulationError(found.wrong, found.solution) from found.cause
        return found.solution

    def new_run(
        self, chosen: Scheme, reduction: str, start: float, end: float, step: float, every: int, tolerance: float, iterations: int,
        servo: str = "direct",
    ) -> tuple[Run, Program]:  # fmt: skip
        """A run at its initial state, ready to march, and its program."""
        from .march import new_run

        return new_run(self, chosen, reduction, start, end, step, every, tolerance, iterations, servo)

    def servo_report(self, t: float = 0.0) -> ServoReport:
        """How servo constraints are realised at the initial state: rank, index, internal motion; see :class:`.ServoReport`."""
        from .servo import servo_report

        return servo_report(self.acting, t)

    def servo_start(self, t: float = 0.0) -> ServoStart:
        """The state nearest to the initial one that meets servo constraints with their hidden conditions; see :class:`.ServoStart`."""
        from .servo import servo_start

        return servo_start(self.acting, t)

    def tree_pairs(self) -> set[str]:
        """Names of the pairs of the spanning tree."""
        from .joints import spanning_tree

        return {self.instances[k].name for k in spanning_tree(self.handles, self.instances)[1]}

    def equilibrium(self, reduction: str = "none", **options: float) -> Equilibrium:
        """A stable equilibrium reached from the initial state by implicit relaxation; see :func:`.assembled_static.equilibrium`."""
        from .statics import equilibrium

        return equilibrium(self.acting, reduction, **options)  # type: ignore[arg-type]

    def convergence(
        self, end: float, steps: Sequence[float], channels: Sequence[str],
        methods: Mapping[str, Mapping[str, Any]] | Sequence[str] = ("energy-momentum",), exact: Mapping[str, Any] | None = None,
        reference: float | None = None, **options: Any,
    ) -> Convergence:  # fmt: skip
        """Relative errors of ``channels`` at ``end`` (s) over steps, for several methods (with their coefficients, if a mapping).

        The reference is ``exact`` (values by channel), or a run of the energy-momentum scheme with the step ``reference`` (a tenth of the
        smallest by default).  ``options`` go to :meth:`simulate`.  The result has ``errors``, ``orders`` and ``plot``.
        """
        from .convergence import convergence

        return convergence(self, end, steps, channels, methods, exact, reference, **options)

    def modal(self, q: np.ndarray | None = None, count: int | None = None) -> AssembledModes:
        """Modes of vibration about an equilibrium (default: the initial state)."""
        from .statics import modal

        return modal(self.acting, q, count)

    def inverse_dynamics(
        self, motions: Mapping[str, Any], end: float, step: float, method: str = "energy-momentum", start: float = 0.0, **options: Any
    ) -> Solution:
        """Forces on coordinates that follow motions, found together with the motion of all others (servo constraints).

        ``motions`` gives functions of time, tables (times, values) or numbers by coordinate: "name", or "name[2]" for an entry of a block.
        The solution is that of :meth:`simulate`, whose ``options`` are taken, with the forces (N, N m) as channels "name.actuator".
        """
        from .inverse_dynamics import inverse_dynamics

        return inverse_dynamics(self, motions, end, step, method, start, **options)

    def report(self, step: float, method: str = "energy-momentum", reduction: str = "none", **coefficients: float) -> dict[str, float]:
        """Unknowns, non-zeros of matrix and factors, and condition numbers (1-norm) of the matrix of the first step.

        ``condition`` is that of the scaled form in use, ``condition_unscaled`` that of the textbook's form with λ as unknowns and the
        balance of momentum multiplied by 2/h (Uhlar, eq. 3.23).
        """
        from .report import report

        return report(self.acting, step, scheme(method, **coefficients), reduction)
