"""Modes of small motions about an equilibrium or a steady motion, frequency response and root locus.

λ v = A v with A of the linear system (Robotran manual, §5.4 and App. B): ω₀ = |λ|, ν₀ = ω₀/2π, ζ = −Re λ/|λ|, damped
circular frequency Im λ.  A pair of conjugate eigenvalues is one mode.  Shapes are scaled so that the largest component is 1
with phase 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SolverError, short
from ..reals import reals
from ..shown import Shown
from ..symbolic.expr import Expr
from .eigen import growing, spectrum
from .equations.residual import temporary_parameters
from .linearise import LinearSystem
from .tables import File, write_columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..systems.system import System


@dataclass(frozen=True)
class Mode:
    """One mode: its eigenvalue (1/s, the one with positive imaginary part of a pair) and shape."""

    number: int
    eigenvalue: complex
    #: full displacement (nv components, along the velocities), complex, largest component 1
    shape: np.ndarray = field(repr=False)
    #: the eigenvector in the states of the linear system, same scale as ``shape``
    vector: np.ndarray = field(repr=False)
    #: "rigid", "oscillation", "decay" or "growth"
    kind: str
    grows: bool = False

    @property
    def circular_frequency(self) -> float:
        """ω₀ = |λ|, rad/s."""
        return abs(self.eigenvalue)

    @property
    def frequency(self) -> float:
        """ν₀ = |λ|/2π, Hz."""
        return abs(self.eigenvalue) / (2 * np.pi)

    @property
    def damped_frequency(self) -> float:
        """Im λ/2π, Hz."""
        return float(self.eigenvalue.imag) / (2 * np.pi)

    @property
    def damping_ratio(self) -> float:
        """ζ = −Re λ/|λ|: 1 for a motion that only decays, negative for one that grows, 0 for a rigid mode."""
        return 0.0 if self.kind == "rigid" else float(-self.eigenvalue.real / abs(self.eigenvalue))

    @property
    def modulus(self) -> np.ndarray:
        """Size of each component."""
        return np.abs(self.shape)

    @property
    def phase(self) -> np.ndarray:
        """Phase of each component, rad (0 where the component is nil)."""
        return np.where(np.abs(self.shape) > 1e-9, np.angle(self.shape), 0.0)

    @property
    def stable(self) -> bool:
        """Whether the motion does not grow."""
        return not self.grows


#: Most pictures of one period.
MOST_PHASES = 100_000


@dataclass(frozen=True)
class Modes(Shown):
    """All modes about a state, slow to fast (rigid ones first)."""

    linear: LinearSystem = field(repr=False)
    modes: list[Mode]

    @property
    def system(self) -> System:
        """The system."""
        return self.linear.system

    @property
    def eigenvalues(self) -> np.ndarray:
        """One eigenvalue for each mode, 1/s."""
        return np.array([m.eigenvalue for m in self.modes])

    @property
    def frequencies(self) -> np.ndarray:
        """Undamped frequencies ν₀ of the oscillating modes, Hz."""
        return np.array([m.frequency for m in self.modes if m.kind == "oscillation"])

    @property
    def rigid(self) -> list[Mode]:
        """Modes with zero eigenvalue."""
        return [m for m in self.modes if m.kind == "rigid"]

    @property
    def unstable(self) -> list[Mode]:
        """Modes that grow."""
        return [m for m in self.modes if not m.stable]

    @property
    def names(self) -> list[str]:
        """Names of the components of shapes."""
        return [n.removesuffix("_rate") for n in self.system.velocity_names]

    def __len__(self) -> int:
        return len(self.modes)

    def __getitem__(self, index: int) -> Mode:
        return self.modes[index]

    def table(self) -> list[dict[str, Any]]:
        """A row for each mode: number, kind, eigenvalue, ν₀, damped frequency, ζ."""
        return [
            {
                "mode": m.number,
                "kind": m.kind,
                "eigenvalue": m.eigenvalue,
                "frequency": m.frequency,
                "damped_frequency": m.damped_frequency,
                "damping_ratio": m.damping_ratio,
                "stable": m.stable,
            }
            for m in self.modes
        ]

    def __str__(self) -> str:
        lines = [f"modes of {self.system.model.name}: {len(self.modes)}, {len(self.rigid)} rigid, {len(self.unstable)} unstable"]
        lines.append(f"{'mode':>4} {'eigenvalue [1/s]':>26} {'ν₀ [Hz]':>11} {'ν [Hz]':>11} {'ζ [%]':>9}  largest components (size, phase)")
        for m in self.modes:
            λ = m.eigenvalue if abs(m.eigenvalue.real) > 1e-12 * abs(m.eigenvalue) else 1j * m.eigenvalue.imag
            value = f"{λ.real:.5g}" if λ.imag == 0 else f"{λ.real:.5g} ± {λ.imag:.5g}i"
            note = "" if m.stable else "  UNSTABLE"
            if m.kind == "rigid":
                numbers = f"{'rigid':>26} {0.0:>11.5g} {0.0:>11.5g} {'–':>9}"
            else:
                numbers = f"{value:>26} {m.frequency:>11.5g} {m.damped_frequency:>11.5g} {100 * (m.damping_ratio if λ.real else 0.0):>9.4g}"
            lines.append(f"{m.number:>4} {numbers}  {self._largest(m)}{note}")
        return "\n".join(lines)

    def _largest(self, m: Mode, count: int = 3) -> str:
        sizes, names = m.modulus, self.names
        if not len(sizes) or sizes.max() == 0:
            k = int(np.argmax(np.abs(m.vector)))
            return f"{self.linear.states[k]}"
        order = [i for i in np.argsort(-sizes, kind="stable")[:count] if sizes[i] > 1e-6]
        return ", ".join(f"{names[i]} ({sizes[i]:.3g}, {round(np.degrees(m.phase[i])):d}°)" for i in order)

    def save(self, path: File) -> None:
        """Eigenvalues and shapes as CSV, a row for each mode."""
        rows = self.table()
        columns: dict[str, Any] = {k: [r[k] for r in rows] for k in rows[0]} if rows else {}
        columns |= {n: [m.shape[j] for m in self.modes] for j, n in enumerate(self.names)}
        write_columns(path, columns)

    def scene(self, stress: Any = None) -> Any:
        """The modes as a scene for the viewer; ``stress`` colours flexible bodies, as that of ``solution.scene``."""
        from ..view import scene_of_modes

        return scene_of_modes(self, stress)

    def save_page(self, path: File, stress: Any = None, **options: Any) -> None:
        """Writes one self-contained page that shows the modes moving."""
        from ..view import save_page

        save_page(self.scene(stress), Path(path), **options)

    def save_picture(self, path: File, mode: int = 1, stress: Any = None, **options: Any) -> None:
        """Writes a picture of a mode, counted from 1 among those that move bodies, at its largest amplitude."""
        from ..view import save_picture

        save_picture(self.scene(stress), Path(path), mode=mode, **options)

    def motion(self, number: int, amplitude: float = 0.1, phases: int = 48) -> np.ndarray:
        """Configurations q (phases, nq) over one period of a mode for animation; loops closed to first order."""
        if isinstance(number, bool) or number not in range(1, len(self.modes) + 1):
            raise InputError(
                f"modes of '{self.system.model.name}': there is no mode {short(number)}; they are counted from 1 to {len(self.modes)}"
            )
        if isinstance(phases, bool) or not isinstance(phases, int | np.integer) or not 0 < phases <= MOST_PHASES:
            raise InputError(
                f"modes of '{self.system.model.name}': phases = {short(phases)} must be a whole number from 1 to {MOST_PHASES}"
            )
        m = self.modes[number - 1]
        turns = np.exp(2j * np.pi * np.arange(phases) / phases)
        steps = amplitude * np.real(turns[:, None] * m.shape)
        return self.system.configuration.integrate(self.linear.state.q, steps)

    def plot(self, file: File | None = None, show: bool = False) -> Figure:
        """Shapes of all modes as a table of colours."""
        from ..results.modal_plots import mode_table

        shapes = np.column_stack([m.shape for m in self.modes])
        return mode_table(self.eigenvalues.astype(complex), shapes, self.names, file=file, show=show)


def modal(
    system: System, state: Any = None, u: Mapping[str, float] | None = None, preferred: Sequence[str] = (),
    contacts: Mapping[str, str] | None = None,
) -> Modes:  # fmt: skip
    """Modes about an equilibrium, a steady motion or any state; ``contacts`` says what rigid ones do.

    >>> import jourdain as jd
    >>> m = jd.Model("mass on a spring", gravity=(0, 0, 0))
    >>> slide = m.prismatic("slide", m.ground, m.body("mass", mass=2.0), axis="x")
    >>> spring = m.joint_spring(slide, stiffness=8.0)
    >>> modes = m.compile().modal()
    >>> round(modes[0].circular_frequency, 12)
    2.0
    """
    linear = system.linearise(state, inputs=[], outputs=[], u=u, preferred=preferred, **_given(contacts))
    return modes_of(linear)


def _given(contacts: Mapping[str, str] | None) -> dict[str, Any]:
    """The option as formulations with rigid contacts take it."""
    return {} if contacts is None else {"contacts": contacts}


def modes_of(linear: LinearSystem) -> Modes:
    """Modes of a linear system."""
    found = spectrum(linear.A, linear.dof, len(linear.M))
    grows = growing(found.values)
    listed: list[tuple[complex, np.ndarray, str, bool]] = []
    for k, value in enumerate(found.values):
        vector = found.vectors[:, k]
        if value.imag > 1e-10 * abs(value):
            listed.append((complex(value), vector, "oscillation", bool(grows[k])))
        elif abs(value.imag) <= 1e-10 * abs(value):
            kind = "decay" if value.real < 0 else "growth"
            listed.append((complex(value.real), vector, kind, bool(grows[k])))
    listed.sort(key=lambda item: (round(abs(item[0]), 12), item[0].imag, item[0].real))
    rigid = [(0j, v.astype(complex), "rigid", False) for v in _simplest(found.null.T)]
    modes = [Mode(i + 1, value, *_shaped(linear, vector), kind, grow) for i, (value, vector, kind, grow) in enumerate([*rigid, *listed])]
    return Modes(linear, modes)


def _simplest(basis: np.ndarray) -> np.ndarray:
    """A basis of the same space with unit entries at pivots, so that x, y and yaw come out one by one."""
    B = basis.copy()
    for i in range(len(B)):
        block = np.abs(B[i:])
        r, c = (int(x) for x in np.unravel_index(int(np.argmax(block)), block.shape))
        B[[i, i + r]] = B[[i + r, i]]
        B[i] /= B[i, c]
        for k in range(len(B)):
            if k != i:
                B[k] -= B[k, c] * B[i]
    B[np.abs(B) < 1e-12] = 0.0
    return B


def _shaped(linear: LinearSystem, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Full shape with largest component 1 and phase 0, and the eigenvector in the same scale."""
    shape = linear.Zq @ vector[: linear.dof]
    sizes = np.abs(shape)
    if len(shape) and sizes.max() > 1e-9 * np.abs(vector).max():
        # the first of components that are equal up to round-off, so that signs do not depend on noise
        pivot = shape[int(np.flatnonzero(sizes > sizes.max() * (1 - 1e-9))[0])]
    else:
        shape = np.zeros_like(shape)
        pivot = vector[int(np.argmax(np.abs(vector)))]
    return shape / pivot, vector / pivot


# --- frequency response ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FrequencyResponse(Shown):
    """Complex amplitude of an output for an input of amplitude 1 at frequencies in Hz."""

    frequencies: np.ndarray
    values: np.ndarray
    input: str
    output: str
    #: The linear system that answers.
    linear: LinearSystem | None = field(default=None, repr=False)

    @property
    def magnitude(self) -> np.ndarray:
        """Amplitude ratio."""
        return np.abs(self.values)

    @property
    def phase(self) -> np.ndarray:
        """Phase without jumps, rad."""
        return np.unwrap(np.angle(self.values))

    def save(self, path: File) -> None:
        """Frequency (Hz) and complex response as CSV."""
        write_columns(path, {"frequency": self.frequencies, "response": self.values})

    def __str__(self) -> str:
        k = int(np.argmax(self.magnitude))
        return f"response of {self.output} to {self.input}: peak {self.magnitude[k]:.5g} at {self.frequencies[k]:.5g} Hz"

    def plot(self, file: File | None = None, show: bool = False) -> Figure:
        """Bode plot: magnitude and phase over frequency."""
        from ..results.style import finish, house_style, new_figure

        with house_style():
            figure = new_figure(7.0, 5.4, show)
            upper, lower = figure.subplots(2, 1, sharex=True)
            upper.loglog(self.frequencies, self.magnitude)
            lower.semilogx(self.frequencies, np.degrees(self.phase))
            upper.set_ylabel(f"|{self.output} / {self.input}|")
            lower.set_ylabel("phase [°]")
            lower.set_xlabel("frequency [Hz]")
            return finish(figure, file, show)


def frequency_response(
    system: System,
    input: str,
    output: str | Expr,
    frequencies: Any,
    state: Any = None,
    u: Mapping[str, float] | None = None,
    contacts: Mapping[str, str] | None = None,
) -> FrequencyResponse:
    """Response of an output (a name or an expression) to a harmonic input about a state."""
    outputs: Any = {"output": output} if isinstance(output, Expr) else [output]
    linear = system.linearise(state, inputs=[input], outputs=outputs, u=u, **_given(contacts))
    f = np.atleast_1d(reals(frequencies, "frequency_response: frequencies"))
    if f.ndim != 1 or not f.size:
        raise InputError(f"frequency_response: frequencies = {frequencies!r} are no list of frequencies in Hz")
    try:
        values = linear.response(f)[:, 0, 0]
    except np.linalg.LinAlgError:
        raise SolverError(
            f"frequency_response: a frequency meets an undamped mode of '{system.model.name}' exactly; shift it a little"
        ) from None
    return FrequencyResponse(f, values, input, linear.outputs[0], linear)


# --- root locus --------------------------------------------------------------------------------------------------


#: Values of the parameter and modes of a locus that are written, at most.
LISTED = 12


@dataclass(frozen=True)
class RootLocus(Shown):
    """Eigenvalues (k, n) in 1/s over values (k,) of a parameter; a column follows one eigenvalue."""

    parameter: str
    values: np.ndarray
    eigenvalues: np.ndarray

    @property
    def stable(self) -> np.ndarray:
        """Whether no eigenvalue grows, for each value."""
        return np.array([not growing(row).any() for row in self.eigenvalues])

    @property
    def limits(self) -> list[float]:
        """Values of the parameter at which stability changes, by linear interpolation of the largest real part."""
        growth = self.eigenvalues.real.max(axis=1)
        found = []
        for i in np.flatnonzero(self.stable[:-1] != self.stable[1:]):
            a, b = growth[i], growth[i + 1]
            s = float(np.clip(-a / (b - a), 0.0, 1.0)) if b != a else 0.5
            found.append(float(self.values[i] + s * (self.values[i + 1] - self.values[i])))
        return found

    def save(self, path: File) -> None:
        """Parameter and eigenvalues as CSV."""
        columns = {f"eigenvalue{k + 1}": self.eigenvalues[:, k] for k in range(self.eigenvalues.shape[1])}
        write_columns(path, {self.parameter: self.values, **columns})

    def __str__(self) -> str:
        edges = ", ".join(f"{x:.5g}" for x in self.limits)
        told = f"stability changes at {edges}" if edges else f"{'stable' if self.stable.all() else 'unstable'} throughout"
        lines = [f"root locus over {self.parameter} = {self.values[0]:g} … {self.values[-1]:g}: {told}"]
        swinging = np.flatnonzero(np.abs(self.eigenvalues.imag).max(axis=0) > 0.0)
        swinging = np.array([k for k in swinging if self.eigenvalues[:, k].imag.sum() > 0.0], dtype=int)[:LISTED]
        damped = any(abs(x.real) > 1e-9 * abs(x) for x in self.eigenvalues[:, swinging].ravel())
        if len(swinging):
            lines.append(f"{self.parameter:>12s}  frequencies in Hz{' (damping ratio in %)' if damped else ''}")
        shown = np.unique(np.linspace(0, len(self.values) - 1, min(LISTED, len(self.values))).astype(int))
        for i in shown if len(swinging) else ():
            row = [(abs(x) / (2 * np.pi), -100.0 * x.real / max(abs(x), 1e-300)) for x in self.eigenvalues[i, swinging]]
            lines.append(f"{self.values[i]:12.5g}  " + "  ".join(f"{f:10.5g}{f' ({d:.3g})' if damped else ''}" for f, d in row))
        return "\n".join(lines)

    def plot(self, file: File | None = None, show: bool = False) -> Figure:
        """Eigenvalues in the complex plane, coloured by the parameter."""
        from ..results.modal_plots import root_locus as picture

        return picture(self.eigenvalues, self.values, self.parameter, file=file, show=show)


def root_locus(
    system: System,
    parameter: str,
    values: Any,
    state: Any = None,
    rebalance: bool = True,
    u: Mapping[str, float] | None = None,
    **options: Any,
) -> RootLocus:
    """Eigenvalues over values of a parameter or an input.

    With ``rebalance`` the equilibrium is found anew for each value, from the one before (further ``options`` are those of
    :func:`~jourdain.analysis.equilibrium.equilibrium`); without, the state is kept.
    """
    grid = np.atleast_1d(reals(values, f"root locus: values of '{parameter}'"))
    inputs = dict(u or {})
    is_input = parameter in system.model.inputs
    system.check_inputs([parameter] if is_input else [])
    if not is_input and parameter not in system.model.parameter_set:
        raise InputError(f"root_locus: '{parameter}' is neither a parameter nor an input of '{system.model.name}'")
    rows: list[np.ndarray] = []
    with temporary_parameters(system):
        for x in grid.tolist():
            if is_input:
                inputs[parameter] = x
            else:
                system.set_parameters(**{parameter: x})
            if rebalance:
                state = system.equilibrium(state, inputs=inputs, **options)
            found = system.linearise(state, inputs=[], outputs=[], u=inputs).eigenvalues
            rows.append(matched(rows[-1], found) if rows else found[np.lexsort((found.real, found.imag))])
    return RootLocus(parameter, grid, np.array(rows))


def campbell(
    system: System, speeds: Mapping[str, Sequence[float]], state: Any = None, u: Mapping[str, float] | None = None, **options: Any
) -> RootLocus:
    """Eigenvalues about steady motions with given speeds (a Campbell diagram): velocities or inputs by name with as many values each.

    An input is a speed where loads follow it, as those of a rotating frame follow its spin.

    For each speed the steady motion is found anew from the one before (further ``options`` are those of
    :func:`~jourdain.analysis.equilibrium.equilibrium` of the kind "dynamic"): what bends or stretches by the motion has done so.
    """
    if not speeds:
        raise InputError("modal: speeds= is empty; give a velocity and its values, such as {'shoulder.angle_rate': (0, 5, 10)}")
    columns = {name: np.atleast_1d(reals(values, f"modal: speeds of '{name}'")) for name, values in speeds.items()}
    lengths = {len(v) for v in columns.values()}
    if len(lengths) != 1:
        raise InputError(f"modal: speeds= has {', '.join(f'{len(v)} values of {n!r}' for n, v in columns.items())}; give as many of each")
    given = [name for name in columns if name in system.model.inputs]
    system.check_inputs(given)
    for name in columns.keys() - given:
        system.configuration.index(name, [*system.velocity_names, *system.model.inputs], "velocity or input")
    rows: list[np.ndarray] = []
    place = state
    for k in range(lengths.pop()):
        speed = {n: float(v[k]) for n, v in columns.items()}
        acting = {**(u or {}), **{n: speed.pop(n) for n in given}}
        start = _with_speeds(system, place, speed)
        place = system.equilibrium(start, kind="dynamic", inputs=acting, **options).state
        found = system.linearise(place, inputs=[], outputs=[], u=acting).eigenvalues
        rows.append(matched(rows[-1], found) if rows else found[np.lexsort((found.real, found.imag))])
    first = next(iter(columns))
    return RootLocus(first, columns[first], np.array(rows))


def _with_speeds(system: System, state: Any, speeds: Mapping[str, float]) -> Any:
    """A state (the model's own by default) with some velocities set, loops closed."""
    from ..systems.state import State

    at = state.state if hasattr(state, "state") else state
    positions = dict(zip(system.configuration.position_names, at.q.tolist(), strict=True)) if isinstance(at, State) else dict(at or {})
    if system.equations_of_motion.rows:
        return system.assemble(positions, velocities=speeds)
    return system.state(positions, speeds)


def matched(before: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Eigenvalues in the order of those before, nearest to nearest."""
    from scipy.optimize import linear_sum_assignment

    if len(before) != len(found):
        raise SolverError("root_locus: the number of states changes along the way; use fewer values of the parameter")
    _, order = linear_sum_assignment(np.abs(before[:, None] - found[None, :]))
    return np.asarray(found[order])
