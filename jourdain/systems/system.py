"""The compiled system: what ``compile()`` returns, whatever the formulation, with every analysis as a verb."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from ..shown import in_notebook
from .compiled import Compiled
from .state import State
from .verbs import motion, verb

if TYPE_CHECKING:
    import numpy as np

    from ..analysis.assemble import AssembledState
    from ..analysis.continuation import Branch
    from ..analysis.design.criteria import Constraint, Criterion
    from ..analysis.equilibrium import Equilibrium
    from ..analysis.identification.fit import Fit
    from ..analysis.identification.inertia import Excitation, InertiaFit
    from ..analysis.inverse_dynamics import ActuatorForces, StaticForces
    from ..analysis.inverse_kinematics import Pose
    from ..analysis.kinematics import Motion
    from ..analysis.linearise import LinearSystem
    from ..analysis.mobility import Mobility
    from ..analysis.modal import FrequencyResponse, Modes, RootLocus
    from ..analysis.optimal.motion import OptimalMotion
    from ..analysis.periodic import PeriodicMotion
    from ..analysis.recover import ModalBalance, Recovered
    from ..analysis.sweep import Outputs, SweepResult
    from ..analysis.symbolic_linearise import SymbolicLinearSystem
    from ..analysis.velocity_transformation import VelocityTransformation
    from ..results.solution import Solution
    from ..results.store import Store
    from ..symbolic.expr import Expr
    from .assembled.from_model import JointElements
    from .inputs import Controller
    from .stepper import Stepper
    from .tree.closure import ClosureReport


class System(Compiled):
    """A model made executable, in any formulation: states, functions and parameters (:class:`.Compiled`), and what one can ask of them.

    Each verb is a file of :mod:`jourdain.analysis`.  States and results are in the joint coordinates of the model, whatever the
    coordinates in which a formulation computes.
    """

    # -- motion in time -------------------------------------------------------------------------------------------

    @motion
    def simulate(
        self,
        x0: State | Solution | Mapping[str, Any] | None = None,
        t: float | str | Sequence[float | str] | None = None,
        method: str | None = None,
        *,
        inputs: Mapping[str, float | Callable[..., Any] | tuple[Any, Any] | Controller] | None = None,
        parameters: Mapping[str, Any] | np.ndarray | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        step: float | str | None = None,
        max_step: float | str | None = None,
        max_steps: int | None = None,
        steps: Solution | Sequence[float] | np.ndarray | None = None,
        times: Any = None,
        outputs: int | None = None,
        dense: bool | None = None,
        progress: bool | None = None,
        reduction: str | None = None,
        independent: Sequence[str] | None = None,
        criterion: str | None = None,
        repartition: bool | int | None = None,
        rho: float | None = None,
        quasi_static: str | Sequence[str] | None = None,
        projection: bool | None = None,
        stabilisation: str | None = None,
        alpha: float | None = None,
        beta: float | None = None,
        gamma: float | None = None,
        penalty: float | None = None,
        tolerance: float | None = None,
        overlap: str | None = None,
        adaptive: bool | None = None,
        every: int | None = None,
        max_iterations: int | None = None,
        linear_solver: str | None = None,
        elements: JointElements | None = None,
        watch: Sequence[Expr | tuple[Expr, int]] | None = None,
        formulation: str | None = None,
    ) -> Solution:
        """Motion from a state over ``t`` seconds, or from t[0] to t[1], as a solution with named channels.

        Start and inputs, in every formulation:

        x0: a state, named values, the solution of an earlier run to go on from (as if it had never stopped; with the method and the options of that run unless
            ``method`` is named), or None for the model's own start: ``s.simulate(t=0.8)``.
        inputs: values of the model's inputs by name: numbers, functions of time, tables of time (``jd.table`` or (times, values)), or a
            sampled :class:`jourdain.Controller`.
        parameters: other values for this run, by name (``{"l": 0.7}``), or all of them in the order of ``parameter_vector``.

        Method and steps:

        method: "auto" by default, which is "dopri5" and takes turns with "radau" as stiffness comes and goes; "euler", "heun", "rk4", "bs32", "dop853", "adams", "semi-implicit-euler", "velocity-verlet"; stiff:
            "radau", "rosenbrock", with a fixed step and constant cost "rosenbrock2", "linearly-implicit-euler"; on the
            differential-algebraic equations of trees: "generalized-alpha", "hht", "newmark", "trapezoidal"; with contacts "moreau" and "nonsmooth-generalized-alpha" (need a step);
            in descriptors and semi-recursive systems "augmented-lagrangian"; in directors "energy-momentum" (default), "variational",
            "midpoint", "trapezoidal", "backward-euler", "newmark", "hht", "generalized-alpha".
        rtol, atol: relative and absolute error allowed in a step (1e-8, 1e-10; directors: 1e-5, 1e-7 with ``adaptive``).
        step: size (s) of fixed steps, or of the first one of methods that adapt it (directors: 0.01).
        max_step, max_steps: the largest step (s), so that no short pulse of an input is stepped over, and how many.
        steps: instants (s) to step to whatever the error, or a solution whose steps are taken again, so that runs with other parameters
            differ smoothly (not with "adams", "radau" and the schemes on differential-algebraic equations).

        watch: expressions of the model at whose zeros steps end, as they do at events, so that no step looks across a law that jumps there
            (trees with projected loops); (expression, 1) or (expression, -1) where they rise or fall only.

        Output:

        times: instants (s) to keep; outputs: that many equal ones; without both every step is kept.
        dense: keeps the method's interpolant for ``solution.at`` (default: when every step is kept).
        progress: shows a bar.

        What becomes of constraints (see the formulation's ``compile`` option of the same name, which sets the default):

        reduction: trees: "projected" (all coordinates, put back onto the constraints after each step), "reduced" (independent coordinates,
            loops closed by Newton), "closed" (loops in closed form as far as they have one); semi-recursive: "partition", "range-space",
            "null-space", "augmented-lagrangian"; directors: "none", "projection", "bodies", "joints".
        independent, criterion, repartition: "reduced": names of the coordinates to integrate, else how they are chosen ("pivoting",
            "projective") and whether they may change in flight (a number forces a change after so many steps).
        projection: range and null space: whether positions and velocities are put back onto the constraints after each step (True).
        stabilisation, alpha, beta: descriptors: "projection", "baumgarte" (adds −2αḣ − β²h to the accelerations of the constraints, α and β in
            1/s, equal by default) or "none".
        penalty: augmented Lagrangian: how many times stiffer than inertia over a step the constraints are (1e5).

        Coefficients and numerics of implicit schemes:

        rho: spectral radius at infinite frequency of generalised-α (0.8; 1: no numerical damping).
        quasi_static: modes of flexible bodies ("rod.mode3", "rod.*") that the steps need not resolve: they follow their loads, and what they vibrate is
            forgotten after a few steps (ρ = 0; "generalized-alpha", "hht", "newmark" of trees and descriptors).
        alpha, beta, gamma: of "hht" and "newmark" in directors.
        overlap: "push apart": bodies that overlap at the start are moved apart before the run, with any method; more than 500 free bodies and joints beyond rigid stops in the first step ("moreau").
        tolerance, max_iterations: of Newton's method in a step, or of contact laws (part of the largest velocity; "moreau"); adaptive: lets the steps follow their error; every: keeps every n-th step;
            linear_solver: "own" or "library"; elements: laws with an exact balance on hinges and sliders, by joint (directors).

        formulation: the older word for ``reduction`` of trees.

        A run that cannot go on raises :class:`SimulationError`; what was done is its ``solution``.  An option that the formulation or the
        method cannot honour is refused.
        """
        raise NotImplementedError

    @motion
    def stepper(
        self,
        x0: State | Solution | Mapping[str, Any] | None,
        step: float | str,
        method: str | None = None,
        *,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        others: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | np.ndarray | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        max_step: float | str | None = None,
        max_steps: int | None = None,
        reduction: str | None = None,
        independent: Sequence[str] | None = None,
        criterion: str | None = None,
        repartition: bool | int | None = None,
        rho: float | None = None,
        quasi_static: str | Sequence[str] | None = None,
        projection: bool | None = None,
        stabilisation: str | None = None,
        alpha: float | None = None,
        beta: float | None = None,
        gamma: float | None = None,
        tolerance: float | None = None,
        overlap: str | None = None,
        adaptive: bool | None = None,
        max_iterations: int | None = None,
        linear_solver: str | None = None,
        elements: JointElements | None = None,
    ) -> Stepper:
        """The system in motion, step by step: ``y = st.advance(u)`` goes on by ``step`` seconds with inputs u held, and gives outputs.

        For real time, co-simulation and control loops of one's own; see :class:`jourdain.Stepper`.

        x0: a state, named values, the end of a solution, or None.
        step: how far an advance goes (s), unless it says otherwise; the step of methods with a fixed one.
        method: "rk4" by default (directors: "energy-momentum"), or any of :meth:`simulate` but "augmented-lagrangian".  Of constant cost
            for stiff systems: "rosenbrock2" and "linearly-implicit-euler".  A method that adapts its steps takes those it needs.
        inputs: names of the inputs that each advance gives, in order (all by default); others: the others by name, as ``simulate`` takes
            them: numbers, functions or tables of time.
        outputs: names of scalar channels (the model's outputs by default).  Time, states, accelerations, inputs, energies and the model's
            outputs are read natively as far as the formulation can, other channels of a solution in Python.
        max_steps: how many steps of the method an advance may take (100 000).

        All further options are those of :meth:`simulate`.

        >>> from jourdain import library
        >>> s = library.pendulum().compile()
        >>> st = s.stepper({"hinge.angle": 0.1}, step=1e-3, outputs=["hinge.angle"])
        >>> here = st.save()
        >>> first = [st.advance()[0] for _ in range(5)]
        >>> st.restore(here)
        >>> first == [st.advance()[0] for _ in range(5)]
        True
        """
        raise NotImplementedError

    @verb
    def stream(
        self, path: Any, x0: Any = None, t: float | str | Sequence[float | str] | None = None, method: str | None = None, pieces: int = 20,
        names: Sequence[str] | None = None, **options: Any,
    ) -> Solution:  # fmt: skip
        """:meth:`simulate` in pieces that go on from each other, whose rows are added to a .h5 or .parquet file as they are made.

        See :func:`jourdain.analysis.stream.stream`.
        """
        from ..analysis.stream import stream

        return stream(self, path, x0, t, method, pieces=pieces, names=names, **options)

    @verb
    def sweep(
        self, x0: Any, t: float | Sequence[float], parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        initial: Sequence[Any] | None = None, inputs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None, outputs: Outputs = None,
        method: str | None = None, grid: bool = False, threads: int | None = None, progress: bool = True, store: Store | str | None = None,
        workers: Any = None, timeout: float | None = None, watch: Any = False, **options: Any,
    ) -> SweepResult:  # fmt: skip
        """Many simulations with other parameters, states or inputs; further options are those of :meth:`simulate`.

        See :func:`jourdain.analysis.sweep.sweep`.
        """
        from ..analysis.sweep import sweep

        options |= {"progress": progress, "store": store, "workers": workers, "timeout": timeout, "watch": watch}
        return sweep(self, x0, t, parameters, initial, inputs, outputs, method, grid, threads, **options)

    @verb
    def identify(
        self, data: Any, columns: Mapping[str, Any], unknowns: Sequence[str] | Mapping[str, Any], x0: Any = None, **options: Any
    ) -> Fit:
        """Unknown parameters, starts, offsets and gains from measurements; see :func:`jourdain.analysis.identification.identify.identify`."""
        from ..analysis.identification.identify import identify

        return identify(self, data, columns, unknowns, x0, **options)

    @verb
    def optimal_control(
        self, start: State | Mapping[str, Any] | None, end: Mapping[str, Any], t: Any, inputs: Mapping[str, Any], minimise: Criterion,
        subject_to: Mapping[str, Constraint] | None = None, bounds: Mapping[str, tuple[Any, Any]] | None = None, intervals: int = 40,
        jumps: bool = False, guess: Any = None, tolerance: float = 1e-6, refinements: int = 3, max_iterations: int = 1000,
        scheme: str = "hermite-simpson",
    ) -> OptimalMotion:  # fmt: skip
        """The motion from a start to an end that makes a criterion smallest, with the inputs that do it.

        See :func:`jourdain.analysis.optimal.optimal_control.optimal_control`.
        """
        from ..analysis.optimal.optimal_control import optimal_control

        return optimal_control(
            self.reference, start, end, t, inputs, minimise, subject_to, bounds, intervals, jumps, guess, tolerance, refinements, max_iterations, scheme
        )  # fmt: skip

    @verb
    def kinematics(
        self, times: Any, motion: Mapping[str, Any] | None = None, x0: State | Mapping[str, Any] | None = None,
        guess: Mapping[str, Any] | None = None,
    ) -> Motion:  # fmt: skip
        """Motion of a mechanism whose drivers are given, in joint coordinates; see :func:`jourdain.analysis.kinematics.kinematics`."""
        from ..analysis.kinematics import kinematics

        return kinematics(self.reference, times, motion, x0, guess)

    # -- positions ------------------------------------------------------------------------------------------------

    @verb
    def assemble(
        self, fixed: Mapping[str, Any] | State | None = None, guess: Mapping[str, Any] | State | None = None,
        velocities: Mapping[str, Any] | None = None, preferred: Sequence[str] = (), weights: Mapping[str, float] | None = None, t: float = 0.0,
        initial: Mapping[str, Any] | None = None, branch: int | None = None,
    ) -> AssembledState:  # fmt: skip
        """Closes the loops; see :func:`jourdain.analysis.assemble.assemble`."""
        from ..analysis.assemble import assemble

        return assemble(self.reference, fixed, guess, velocities, preferred, weights, t, initial, branch)

    @verb
    def quasi_static(self, state: Any = None, modes: str | Sequence[str] = "*", inputs: Mapping[str, float] | None = None) -> State:
        """The state with modes of flexible bodies where their loads hold them, so that nothing rings; see :mod:`jourdain.analysis.quasi_static`."""
        from ..analysis.quasi_static import quasi_static

        return quasi_static(self, state, modes, inputs)

    @verb
    def periodic(self, state: Any = None, period: Any = None, rtol: float = 1e-10, **options: Any) -> PeriodicMotion:
        """The start from which the motion repeats itself after a period; see :func:`jourdain.analysis.periodic.periodic`."""
        from ..analysis.periodic import periodic

        return periodic(self, state, period, rtol, **options)

    @verb
    def assembly_modes(self, fixed: Mapping[str, Any], tries: int = 60, seed: int = 0, t: float = 0.0) -> dict[str, State]:
        """The different ways to close the loops with the same fixed coordinates, by name."""
        from ..analysis.assemble import assembly_modes

        return assembly_modes(self.reference, fixed, tries, seed, t)

    @verb
    def mobility(self, state: State | None = None) -> Mobility:
        """Degrees of freedom, counted and by rank, redundant equations, singular positions; see :mod:`jourdain.analysis.mobility`."""
        from ..analysis.mobility import mobility

        return mobility(self.reference, state)

    @verb
    def closure_report(self, independent: Sequence[str] | None = None, state: State | None = None) -> ClosureReport:
        """How the loops are closed, in closed form or by Newton, and why; see :func:`jourdain.systems.tree.closure.closure_report`."""
        from .tree.closure import closure_report

        return closure_report(self.reference, independent, state)

    @verb
    def inverse_kinematics(
        self, targets: Mapping[str, Any], x0: State | Mapping[str, Any] | None = None, fixed: Mapping[str, Any] | None = None,
        limits: bool | Mapping[str, tuple[float, float]] = True, starts: int = 10, tolerance: float = 1e-9, seed: int = 0, iterations: int = 200,
    ) -> Pose:  # fmt: skip
        """Positions that bring frames to targets; see :func:`jourdain.analysis.inverse_kinematics.inverse_kinematics`."""
        from ..analysis.inverse_kinematics import inverse_kinematics

        return inverse_kinematics(self.reference, targets, x0, fixed, limits, starts, tolerance, seed, iterations)

    # -- forces and equilibrium -----------------------------------------------------------------------------------

    @verb
    def equilibrium(
        self, x0: State | Mapping[str, Any] | None = None, unknowns: Sequence[str] | None = None,
        exchange: Mapping[str, str] | None = None, equations: Mapping[str, Expr] | Sequence[Expr] | None = None, kind: str = "static",
        extra: Sequence[str] = (), inputs: Mapping[str, float] | None = None, accelerations: Mapping[str, Any] | None = None,
        steady: Sequence[str] | None = None, continuation: str | tuple[str, float] | None = "gravity", iterations: int = 80,
    ) -> Equilibrium:  # fmt: skip
        """Static or dynamic equilibrium near a state; see :func:`jourdain.analysis.equilibrium.equilibrium`."""
        from ..analysis.equilibrium import equilibrium

        return equilibrium(
            self, x0, unknowns, exchange, equations, kind, extra, inputs, accelerations, steady, continuation, iterations
        )  # fmt: skip

    @verb
    def equilibria(
        self, parameter: str, span: tuple[float, float], x0: State | Mapping[str, Any] | None = None, step: float | None = None,
        points: int = 400, exchange: Mapping[str, str] | None = None, equations: Mapping[str, Expr] | Sequence[Expr] | None = None,
        kind: str = "static", inputs: Mapping[str, float] | None = None, unknowns: Sequence[str] | None = None,
    ) -> Branch:  # fmt: skip
        """All equilibria on a curve over a parameter; see :func:`jourdain.analysis.continuation.equilibria`."""
        from ..analysis.continuation import equilibria

        return equilibria(self.reference, parameter, span, x0, step, points, exchange, equations, kind, inputs, unknowns)

    @verb
    def identify_inertia(self, motion: Any, forces: Any, consistent: bool = True, times: Any = None) -> InertiaFit:
        """Masses, centres and inertias from forces along a motion; see :func:`jourdain.analysis.identification.inertia.identify_inertia`."""
        from ..analysis.identification.inertia import identify_inertia

        return identify_inertia(self.reference, motion, forces, consistent, times)

    @verb
    def excitation(self, limits: Mapping[str, Any], period: float | str = 4.0, harmonics: int = 3, **options: Any) -> Excitation:
        """A motion that tells inertial parameters apart; see :func:`jourdain.analysis.identification.inertia.excitation`."""
        from ..analysis.identification.inertia import excitation

        return excitation(self.reference, limits, period, harmonics, **options)

    @verb
    def inverse_dynamics_along(
        self, motion: Any, actuators: Sequence[str] | None = None, times: Any = None, x0: Any = None,
        inputs: Mapping[str, float] | None = None,
    ) -> ActuatorForces:  # fmt: skip
        """Actuator forces for a motion; see :func:`jourdain.analysis.inverse_dynamics.inverse_dynamics_along`."""
        from ..analysis.inverse_dynamics import inverse_dynamics_along

        return inverse_dynamics_along(self, motion, actuators, times, x0, inputs)

    @verb
    def static_forces(
        self, state: State | Mapping[str, Any] | None = None, actuators: Sequence[str] | None = None,
        inputs: Mapping[str, float] | None = None,
    ) -> StaticForces:  # fmt: skip
        """Forces that hold a state at rest; see :func:`jourdain.analysis.inverse_dynamics.static_forces`."""
        from ..analysis.inverse_dynamics import static_forces

        return static_forces(self, state, actuators, inputs)

    @verb
    def recover(self, run: Solution | State, body: str, static: bool = True, group: int = 0) -> Recovered:
        """Section forces, strains or stresses of a flexible body along a solution or at a state; see :func:`jourdain.analysis.recover.recover`."""
        from ..analysis.recover import recover

        return recover(self, run, body, static, group)

    @verb
    def explore(
        self,
        parameters: Sequence[str] | Mapping[str, Any] | None = None,
        start: Any = None,
        t: Any = 5.0,
        *,
        height: int = 560,
        **options: Any,
    ) -> Any:
        """Sliders for parameters and start values: the motion, its diagrams, energy and eigenvalues follow.

        ``parameters`` are names, or names with ends: ``{"length": (0.2, 2), "hinge.angle": (-3, 3)}``; without them the first of the model.
        In a notebook it is a widget of that ``height`` (px), elsewhere a page in the browser from a server that stays open until it is
        closed.  Options are ``plots``, ``trace``, ``forces``, ``follow``, ``theme``, ``eigenvalues`` and those of :meth:`simulate`; see
        :class:`jourdain.view.explore.Explorer`.
        """
        from ..view.explore import Explorer, explore

        if in_notebook() and not {"port", "open_browser"} & options.keys():
            from ..notebook.sliders import sliders

            theme = options.pop("theme", "auto")
            return sliders(Explorer(self, parameters, start, t, **options), height, theme)
        return explore(self, parameters, start, t, **options)

    @verb
    def modal_balance(self, run: Solution | State, body: str) -> ModalBalance:
        """Whether all reactions at a flexible body fit its modes; see :func:`jourdain.analysis.recover.modal_balance`."""
        from ..analysis.recover import modal_balance

        return modal_balance(self, run, body)

    @verb
    def velocity_transformation(self, state: Any = None) -> VelocityTransformation:
        """S and R of ẋ = S q̇, q̇ = R ẋ between joint and Cartesian velocities; see :mod:`jourdain.analysis.velocity_transformation`."""
        from ..analysis.velocity_transformation import velocity_transformation

        return velocity_transformation(self, self.state(state))

    # -- small motions --------------------------------------------------------------------------------------------

    @verb
    def linearise(
        self, state: Any = None, inputs: Sequence[str] | None = None, outputs: Sequence[str] | Mapping[str, Expr] | None = None,
        u: Mapping[str, float] | None = None, preferred: Sequence[str] = (), contacts: Mapping[str, str] | None = None,
    ) -> LinearSystem:  # fmt: skip
        """A, B, C, D about a state or an equilibrium; see :func:`jourdain.analysis.linearise.linearise`."""
        from ..analysis.linearise import linearise

        return linearise(self, state, inputs, outputs, u, preferred, contacts)

    linearize = linearise

    @verb
    def symbolic_linearisation(
        self, at: Mapping[str, Any] | None = None, state: Any = None, preferred: Sequence[str] = (),
        outputs: Mapping[str, Expr] | None = None, motion: bool = False,
    ) -> SymbolicLinearSystem:  # fmt: skip
        """M, G, K … as expressions; see :func:`jourdain.analysis.symbolic_linearise.symbolic_linearisation`."""
        from ..analysis.symbolic_linearise import symbolic_linearisation

        return symbolic_linearisation(self.reference, at, state, preferred, outputs, motion)

    symbolic_linearization = symbolic_linearisation

    @overload
    def modal(
        self, state: Any = None, u: Mapping[str, float] | None = None, preferred: Sequence[str] = (), speeds: None = None,
        contacts: Mapping[str, str] | None = None,
    ) -> Modes: ...  # fmt: skip

    @overload
    def modal(
        self,
        state: Any = None,
        u: Mapping[str, float] | None = None,
        preferred: Sequence[str] = (),
        *,
        speeds: Mapping[str, Sequence[float]],
        contacts: Mapping[str, str] | None = None,
    ) -> RootLocus: ...

    @verb
    def modal(
        self, state: Any = None, u: Mapping[str, float] | None = None, preferred: Sequence[str] = (),
        speeds: Mapping[str, Sequence[float]] | None = None, contacts: Mapping[str, str] | None = None,
    ) -> Modes | RootLocus:  # fmt: skip
        """Eigenvalues and modes about a state or an equilibrium; see :func:`jourdain.analysis.modal.modal`.

        ``contacts={"floor": "sticking"}`` says what rigid contacts do that are closed in the state ("sticking", "sliding", "open").  With
        ``speeds={"shaft.angle_rate": (0, 50, 100)}`` eigenvalues over speeds of a steady motion (a Campbell diagram), see
        :func:`jourdain.analysis.modal.campbell`.
        """
        from ..analysis.modal import campbell, modal

        return modal(self, state, u, preferred, contacts) if speeds is None else campbell(self, speeds, state, u)

    @verb
    def frequency_response(
        self, input: str, output: str | Expr, frequencies: Any, state: Any = None, u: Mapping[str, float] | None = None,
        contacts: Mapping[str, str] | None = None,
    ) -> FrequencyResponse:  # fmt: skip
        """Response of an output to a harmonic input; see :func:`jourdain.analysis.modal.frequency_response`."""
        from ..analysis.modal import frequency_response

        return frequency_response(self, input, output, frequencies, state, u, contacts)

    @verb
    def root_locus(
        self, parameter: str, values: Any, state: Any = None, rebalance: bool = True, u: Mapping[str, float] | None = None,
        **options: Any,
    ) -> RootLocus:  # fmt: skip
        """Eigenvalues over a parameter; further options are those of :meth:`equilibrium`; see :func:`jourdain.analysis.modal.root_locus`."""
        from ..analysis.modal import root_locus

        return root_locus(self, parameter, values, state, rebalance, u, **options)


__all__ = ["System", "verb"]
