"""What one hears and measures after an impact: spectra of windows, damping from a record, sound as WAV (spec 05, C13, C14, C30)."""

from __future__ import annotations

import io
import wave
from dataclasses import dataclass
from math import pi
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, short
from ..reals import reals
from ..structures.parts.dofs import Array
from .bodies import GRAVITY, FastBody, Rod
from .impact import Motion
from .modes import ModalMotion

if TYPE_CHECKING:
    from .coefficient import Restitution

#: Samples a second of a WAV file, and how many times more are computed before the low-pass filter.
RATE, OVERSAMPLING = 44_100, 8


def evenly_sampled(t: ArrayLike, y: ArrayLike, name: str) -> tuple[Array, Array, float]:
    """Times, values and the step of a record at equal steps."""
    time, value = np.asarray(t, float), np.asarray(y, float)
    if time.ndim != 1 or time.shape != value.shape or len(time) < 8:
        raise InputError(f"{name}: a record of {time.shape} times and {value.shape} values; both must be rows of at least 8 numbers")
    steps = np.diff(time)
    if not (np.isfinite(value).all() and (steps > 0).all() and np.ptp(steps) < 1e-6 * steps.mean()):
        raise InputError(f"{name}: the record must be finite and at equal time steps; resample it")
    return time, value, float(steps.mean())


def power_spectrum(t: ArrayLike, y: ArrayLike, begin: float | None = None, window: float = 0.04) -> tuple[Array, Array]:
    """Frequencies (Hz) and one-sided power spectral density (unit of y² × s) of a window of a record, tapered as by Hann.

    The integral of the density is the mean square of y in the window, in the mean over its phase.  Resolution is 1/`window`.
    """
    time, value, step = evenly_sampled(t, y, "power_spectrum")
    start = time[0] if begin is None else begin
    count = round(window / step)
    first = int(np.searchsorted(time, start - 0.5 * step))
    if count < 8 or first + count > len(time):
        raise InputError(
            f"power_spectrum: the window from {start:g} s to {start + window:g} s is not within the record up to {time[-1]:g} s"
        )
    taper = 0.5 - 0.5 * np.cos(2 * pi * np.arange(count) / count)
    part = value[first : first + count]
    spectrum = np.fft.rfft(taper * (part - part.mean()))
    density = np.abs(spectrum) ** 2 * step / (taper**2).sum()
    density[1 : -1 if count % 2 == 0 else None] *= 2
    return np.asarray(np.fft.rfftfreq(count, step), float), np.asarray(density, float)


@dataclass(frozen=True)
class Damping:
    """What a record tells: decay rate of the first mode (1/s) and viscosity η (s), decay rate of the swing (1/s) and drag d₁ (N s/m)."""

    mode_rate: float
    viscosity: float
    swing_rate: float
    drag: float


def identify_damping(t: ArrayLike, velocity: ArrayLike, rod: Rod, begin: float = 0.0) -> Damping:
    """η and d₁ of a suspended rod from the velocity of its end (C14).

    The first mode is demodulated at f₁ = c/2L: the logarithm of its amplitude falls by μ₁ = ½ η ω₁².  The slow rest is the swing
    e^{−σt} (a cos ωt + b sin ωt), ω² = g/l − σ², fitted by least squares, with σ = d₁/2m.
    """
    from scipy.optimize import least_squares

    if rod.suspension is None:
        raise InputError("identify_damping: the rod has no suspension; give the length of its wires, suspension= in m")
    time, value, step = evenly_sampled(t, velocity, "identify_damping")
    time, value = time[time >= begin], value[time >= begin]
    omega = pi * rod.speed_of_sound / rod.length
    if step > pi / omega:
        raise InputError(
            f"identify_damping: steps of {step:g} s do not show the first mode at {omega / 2 / pi:.0f} Hz; sample at least four times faster"
        )
    periods = round(0.02 * omega / (2 * pi))
    length = round(periods * 2 * pi / omega / step)
    blocks = len(value) // length
    if blocks < 20:
        raise InputError(
            f"identify_damping: a record of {time[-1] - time[0]:g} s is too short; at least {20 * length * step:.2g} s after the begin are needed"
        )
    shaped = value[: blocks * length].reshape(blocks, length)
    taper = 0.5 - 0.5 * np.cos(2 * pi * (np.arange(length) + 0.5) / length)
    centre = time[0] + (np.arange(blocks) + 0.5) * length * step - 0.5 * step
    carrier = np.exp(-1j * omega * time[: blocks * length]).reshape(blocks, length)
    tone = np.abs(((shaped - shaped.mean(axis=1, keepdims=True)) * carrier * taper).sum(axis=1))
    clear = tone > 1e-3 * tone[0]
    clear[np.argmin(clear) if not clear.all() else blocks :] = False
    if clear.sum() < 3:
        raise InputError("identify_damping: the first mode is gone before it can be followed; begin earlier")
    mu = -float(np.polyfit(centre[clear], np.log(tone[clear]), 1, w=tone[clear])[0])
    slow = (shaped * taper).sum(axis=1) / taper.sum()
    square = GRAVITY / rod.suspension

    def swing(x: Array) -> Array:
        sigma, a, b = x
        turn = np.sqrt(square - sigma**2)
        return np.exp(-sigma * centre) * (a * np.cos(turn * centre) + b * np.sin(turn * centre))

    fit = least_squares(
        lambda x: swing(x) - slow, [0.01 * np.sqrt(square), np.abs(slow).max(), 0.0], x_scale=[0.1, 0.01, 0.01], xtol=1e-14, ftol=1e-14
    )
    sigma = float(fit.x[0])
    return Damping(mu, 2 * mu / omega**2, sigma, 2 * rod.mass * sigma)


def sound(motion: Motion, at: Any = 0.0, seconds: float = 1.0, rate: int = RATE) -> Array:
    """The acceleration of a place (m/s²) as a microphone nearby would follow it: low-passed below half the rate, `rate` samples a second."""
    from scipy.signal import firwin, oaconvolve

    if not (seconds > 0 and rate >= 8000):
        raise InputError(f"sound: seconds = {seconds:g} must be positive and rate = {rate} at least 8000 samples a second")
    fine = rate * OVERSAMPLING
    count = int(seconds * fine)
    if isinstance(motion, ModalMotion):
        velocity = motion.sampled_velocity(at, fine, count)
    else:
        velocity = np.asarray(motion.velocity(at, np.arange(count) / fine))
    taps = firwin(64 * OVERSAMPLING + 1, 0.45 * rate, fs=fine)
    smooth = oaconvolve(np.diff(velocity, prepend=velocity[0]) * fine, taps, mode="same")
    return np.asarray(smooth[::OVERSAMPLING])


def write_wav(path: str | Path, signal: ArrayLike, rate: int = RATE, loudest: float = 0.9) -> None:
    """Writes a signal as 16-bit WAV, scaled such that its largest value is `loudest` of full scale."""
    y = reals(signal, "write_wav: the signal")
    if isinstance(rate, bool) or not isinstance(rate, int | np.integer) or not 0 < rate < 2**31:
        raise InputError(f"write_wav: rate = {short(rate)} must be a whole number of samples in a second")
    if y.ndim != 1 or not len(y) or not np.isfinite(y).all():
        raise InputError(f"write_wav: the signal must be a row of finite numbers, not of shape {y.shape}")
    size = float(np.abs(y).max())
    data = (y * (loudest * 32767 / size if size else 0.0)).round().astype("<i2")
    from ..results.whole_file import write_whole

    image = io.BytesIO()
    with wave.open(image, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(data.tobytes())
    write_whole(path, image.getvalue())


def ringing(struck: Restitution, body: FastBody) -> tuple[Array, Array]:
    """Frequencies (Hz) of the modes of the body that was struck, and their velocity amplitudes at the point of contact (m/s), strongest first."""
    motion = struck.history.a if body is struck.pair.a else struck.history.b
    if not isinstance(motion, ModalMotion):
        raise InputError(f"ringing: model='{struck.settings.model}' has no modes; take model='modes'")
    _, q, v = motion.end
    omega = np.sqrt(motion.square[1:])
    size = np.abs(motion.modal.struck) * np.hypot(v[1:], omega * q[1:])
    order = np.argsort(-size)
    return omega[order] / (2 * pi), size[order]
