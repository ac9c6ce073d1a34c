"""A mode of vibration as a motion of one period, so that pictures, movies and the ray tracer show it like any other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jourdain.errors import InputError
from jourdain.view.camera import Extent, extent
from jourdain.view.rotation import Array, product, quaternion_from_vector
from jourdain.view.scene import Body, Mode, Run, Scene, Track
from jourdain.view.scenes.surface import Surface

#: Share of the model's size by which the most mobile part moves, and the largest turn in rad.
SHARE, LARGEST_TURN = 0.08, 0.6
#: Seconds a period takes in a movie: slow enough to be seen, whatever the frequency.
PERIOD = 1.5
#: Samples of a period.
SAMPLES = 60


def natural_amplitude(mode: Mode, space: Extent, scene: Scene | None = None) -> float:
    """The amplitude that moves the most mobile part by 8 % of the model (and turns none by more than 0.6 rad)."""
    parts = [(np.asarray(d), np.asarray(r)) for d, r in mode.displacements.values()]
    bent = [float(np.abs(surface.shapes @ np.abs(np.asarray(mode.amplitudes[body.name]))).max()) for body, surface in _bending(mode, scene)]
    shift = max((float(np.linalg.norm(d)) for d, _ in parts), default=0.0)
    shift = max([shift, *bent])
    turn = max((float(np.linalg.norm(r)) for _, r in parts), default=0.0)
    reach = max(shift, 0.25 * space.model_size * turn)
    amplitude = SHARE * space.model_size / reach if reach else 1.0
    return min(amplitude, LARGEST_TURN / turn) if turn else amplitude


def vibration(
    scene: Scene, mode: int = 1, amplitude: float | None = None, *, scale: float = 1.0, period: float = PERIOD, periods: int = 1,
    ghost: bool = True,
) -> Scene:  # fmt: skip
    """The scene with periods of a mode (counted from 1) as its motion, and the rest position as a ghost.

    At time t the phase is 2π t / ``period``.  ``amplitude`` is that of the mode's shape; by default the most mobile part moves by 8 %
    of the model's size, times ``scale``.

    >>> from jourdain.view.scene import Body
    >>> sway = Mode("sway", {"mast": ((1, 0, 0), (0, 0, 0))})
    >>> shown = vibration(Scene("mast", bodies=[Body("mast")], modes=[sway]), 1, amplitude=0.2)
    >>> shown.pose("mast", 0.75)[0]
    array([-0.2,  0. ,  0. ])
    """
    if not 1 <= mode <= len(scene.modes):
        raise InputError(f"scene '{scene.name}': there is no mode {mode}; it has {len(scene.modes)}, counted from 1")
    chosen = scene.modes[mode - 1]
    size = scale * natural_amplitude(chosen, extent(scene), scene) if amplitude is None else amplitude
    samples = SAMPLES * periods + 1
    times = np.linspace(0.0, periods * period, samples)
    turned = np.exp(2j * np.pi * times / period)[:, None]
    tracks, still = {}, {}
    for body in scene.bodies:
        p, q = np.asarray(body.position), np.asarray(body.quaternion)
        shift, turn = (np.asarray(part) for part in chosen.displacements.get(body.name, (np.zeros(3), np.zeros(3))))
        tracks[body.name] = Track(p + size * np.real(turned * shift), _turned(size * np.real(turned * turn), q))
        still[body.name] = Track(np.tile(p, (samples, 1)), np.tile(q, (samples, 1)))
    rest = {body.name: np.tile(body.rest, (samples, 1)) for body in scene.bodies if body.surface is not None}
    bent = dict(rest)
    for body, surface in _bending(chosen, scene):
        change = size * np.real(turned * np.asarray(chosen.amplitudes[body.name]))
        bent[body.name] = rest[body.name][:, : surface.amplitudes] + change
    runs = [Run(times, tracks, chosen.name, amplitudes=dict(bent))]
    runs += [Run(times, still, "at rest", amplitudes=dict(rest))] if ghost else []
    return replace(scene, name=f"{scene.name}, mode {chosen.name}", runs=runs, modes=[], plots=[], exaggeration=1.0)


def _bending(mode: Mode, scene: Scene | None) -> list[tuple[Body, Surface]]:
    """Bodies that bend in a mode, with their surfaces."""
    return [(b, b.surface) for b in (scene.bodies if scene else ()) if b.surface is not None and b.name in mode.amplitudes]


def _turned(vectors: Array, q: Array) -> Array:
    """Orientation ``q`` turned by rotation vectors in world components."""
    return np.array([product(quaternion_from_vector(v), q) for v in vectors])
