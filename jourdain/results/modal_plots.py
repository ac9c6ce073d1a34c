"""Pictures of eigenvalues and modes: tables of mode shapes, root loci, Campbell diagrams."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from jourdain.errors import InputError
from jourdain.results.channel import Array
from jourdain.results.style import COLOURS, INK, finish, house_style, line_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

File = str | os.PathLike[str] | None


def _damping(eigenvalues: Array) -> Array:
    size = np.abs(eigenvalues)
    return np.where(size > 0.0, 0.0 - eigenvalues.real / np.where(size > 0.0, size, 1.0), 0.0)


def _normalised(shapes: Array) -> Array:
    """Each column turned and scaled so that its largest entry is 1, which makes in-phase shapes real."""
    largest = shapes[np.argmax(np.abs(shapes), axis=0), np.arange(shapes.shape[1])]
    return shapes / np.where(largest == 0.0, 1.0, largest)


def mode_table(
    eigenvalues: ArrayLike,
    shapes: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    file: File = None,
    title: str = "Mode shapes",
    show: bool = False,
) -> Figure:
    """Modes as columns: frequency |λ|/2π (Hz), damping ratio −Re λ/|λ|, and the shapes with largest entry one.

    ``eigenvalues`` (m,) in 1/s, complex (or real angular frequencies ω, taken as λ = iω); ``shapes`` (n, m). The colour
    tells size and sign of the real part; where the phase is not 0° or 180° it is written below the size.
    """
    values = np.atleast_1d(np.asarray(eigenvalues))
    values = values if np.iscomplexobj(values) else 1j * values
    matrix = np.asarray(shapes)
    if matrix.ndim != 2 or matrix.shape[1] != values.size:
        raise InputError(f"mode_table: {values.size} eigenvalues but shapes of shape {matrix.shape}; give (n, m)")
    rows = list(names) if names is not None else [f"q{i + 1}" for i in range(matrix.shape[0])]
    if len(rows) != matrix.shape[0]:
        raise InputError(f"mode_table: {len(rows)} names for {matrix.shape[0]} coordinates; give one each")
    matrix = _normalised(matrix)
    with house_style():
        figure = new_figure(2.2 + 0.85 * values.size, 1.4 + 0.36 * len(rows), show)
        axes = figure.subplots()
        axes.imshow(matrix.real, cmap=_diverging(), vmin=-1.0, vmax=1.0, aspect="auto")
        for (i, j), x in np.ndenumerate(matrix):
            phase = np.degrees(np.angle(x))
            out_of_phase = abs(x) > 0.01 and min(abs(phase), 180.0 - abs(phase)) > 1.0
            text = f"{abs(x):.2f}\n∠{phase:.0f}°" if out_of_phase else f"{x.real:.2f}".replace("-0.00", "0.00")
            colour = "white" if abs(x.real) > 0.65 else INK
            axes.text(j, i, text, ha="center", va="center", fontsize=7 if out_of_phase else 8, color=colour)
        heads = [
            f"{k + 1}\n{abs(value) / (2 * np.pi):.4g} Hz\nζ = {100 * ratio:.3g} %"
            for k, (value, ratio) in enumerate(zip(values, _damping(values), strict=True))
        ]
        axes.set_xticks(range(values.size), heads, fontsize=8)
        axes.set_yticks(range(len(rows)), rows, fontsize=8)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.grid(False)
        axes.spines[:].set_visible(False)
        axes.set_title(title)
        return finish(figure, file, show)


def _diverging() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("jourdain", [COLOURS[1], "#FFFFFF", COLOURS[0]])


def root_locus(
    eigenvalues: ArrayLike,
    parameter: ArrayLike,
    label: str = "parameter",
    *,
    upper_half: bool = False,
    file: File = None,
    title: str = "Root locus",
    show: bool = False,
) -> Figure:
    """Eigenvalues (k, n) in 1/s in the complex plane, coloured by a parameter (k,); the unstable half is shaded."""
    values, steps = np.asarray(eigenvalues, complex), np.asarray(parameter, float)
    if values.ndim != 2 or steps.shape != values.shape[:1]:
        raise InputError(f"root_locus: eigenvalues {values.shape} and parameter {steps.shape} do not match; give (k, n) and (k,)")
    with house_style():
        figure = new_figure(6.8, 5.2, show)
        axes = figure.subplots()
        shown = values.ravel()
        colours = np.repeat(steps, values.shape[1])
        keep = np.isfinite(shown) & ((shown.imag >= 0.0) | (not upper_half))
        points = axes.scatter(shown.real[keep], shown.imag[keep], c=colours[keep], cmap="viridis", s=12, zorder=3)
        for index, marker in ((0, "x"), (-1, "s")):
            ends = values[index][(values[index].imag >= 0.0) | (not upper_half)]
            style: dict[str, Any] = {"marker": marker, "ms": 7, "ls": "", "zorder": 4, "mfc": "none", "mec": INK}
            axes.plot(ends.real, ends.imag, label=f"{label} = {steps[index]:g}", **style)
        low, high = axes.get_xlim()
        room = 0.04 * (high - low)
        low, high = min(low, 0.0) - room, max(high, 0.0) + room
        axes.axvspan(0.0, high, color="#D55E00", alpha=0.08, lw=0, zorder=0)
        axes.axvline(0.0, color=INK, lw=0.9)
        axes.axhline(0.0, color=INK, lw=0.6)
        axes.set_xlim(low, high)
        axes.set_xlabel("Re λ [1/s]")
        axes.set_ylabel("Im λ [rad/s]")
        axes.set_title(title)
        axes.legend(loc="best")
        figure.colorbar(points, ax=axes, label=label, pad=0.02).outline.set_visible(False)
        return finish(figure, file, show)


def campbell(
    speeds: ArrayLike,
    frequencies: ArrayLike,
    *,
    orders: Sequence[float] = (1.0,),
    speed_unit: str = "rpm",
    labels: Sequence[str] | None = None,
    file: File = None,
    title: str = "Campbell diagram",
    show: bool = False,
) -> Figure:
    """Natural frequencies (k, m) in Hz over rotor speeds (k,) in rad/s, with the lines order × speed.

    Crossings of a frequency with an order line, where resonance threatens, are marked.
    """
    from jourdain.model.units import convert

    omega, values = np.asarray(speeds, float), np.asarray(frequencies, float)
    if values.ndim != 2 or omega.shape != values.shape[:1]:
        raise InputError(f"campbell: speeds {omega.shape} and frequencies {values.shape}; give (k,) and (k, m)")
    shown = convert(omega, "rad/s", speed_unit)
    with house_style():
        figure = new_figure(7.2, 4.8, show)
        axes = figure.subplots()
        for mode in range(values.shape[1]):
            name = labels[mode] if labels is not None else f"mode {mode + 1}"
            axes.plot(shown, values[:, mode], label=name, **line_style(mode))
        for order in orders:
            line = order * omega / (2.0 * np.pi)
            axes.plot(shown, line, color="#8C8C8C", lw=1.0, ls=(0, (4, 3)), zorder=1)
            inside = np.flatnonzero(line <= 1.02 * np.nanmax(values))
            end = int(inside[np.argmax(np.abs(omega[inside]))]) if inside.size else 0
            axes.annotate(
                f"{order:g}×",
                (shown[end], line[end]),
                (6, -3),
                textcoords="offset points",
                color="#6E6E6E",
                fontsize=9,
                annotation_clip=False,
            )
            for mode in range(values.shape[1]):
                for x, y in crossings(shown, values[:, mode], line):
                    axes.plot(x, y, "o", mfc="white", mec=INK, ms=5, zorder=5)
        axes.set_ylim(0.0, 1.06 * float(np.nanmax(values)))
        axes.set_xlabel(f"speed [{speed_unit}]")
        axes.set_ylabel("frequency [Hz]")
        axes.set_title(title)
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0))
        return finish(figure, file, show)


def crossings(x: Array, first: Array, second: Array) -> list[tuple[float, float]]:
    """Points where two sampled curves cross, by straight lines between the samples.

    >>> crossings(np.array([0.0, 2.0]), np.array([1.0, 1.0]), np.array([0.0, 2.0]))
    [(1.0, 1.0)]
    """
    gap = first - second
    found = []
    for i in np.flatnonzero((gap[:-1] * gap[1:] < 0.0) | ((gap[:-1] == 0.0) & (gap[1:] != 0.0))):
        s = gap[i] / (gap[i] - gap[i + 1])
        found.append((float(x[i] + s * (x[i + 1] - x[i])), float(first[i] + s * (first[i + 1] - first[i]))))
    return found
