"""Pictures and movies of a scene, taken by a headless Chromium, or plainly by Matplotlib where there is none."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from jourdain.errors import InputError
from jourdain.model.units import quantity
from jourdain.progress import counted
from jourdain.results.whole_file import make_whole, write_whole
from jourdain.view.chromium import find_chromium
from jourdain.view.darkroom import kept_browser
from jourdain.view.page import packed_json
from jourdain.view.plain import draw_plain
from jourdain.view.scene import Camera, Scene
from jourdain.view.still import still_camera
from jourdain.view.vibration import PERIOD, vibration

SIZE = (1280, 720)
_NO_ROOM = "FFmpeg could not write the whole of it; is there room?"
_told: set[str] = set()


def save_picture(
    scene: Scene,
    path: str | Path,
    t: float | None = None,
    camera: Camera | None = None,
    size: tuple[int, int] = SIZE,
    theme: str = "light",
    mode: int | None = None,
) -> Path:
    """Write the scene at time t in s (default: the start) as a .png or .jpg picture of the given size in px.

    The camera is that of the whole motion, or of this instant and the traces so far where the motion goes much further.
    ``mode`` (counted from 1) shows a mode of vibration at its largest amplitude, the rest position as a ghost.
    """
    scene = scene if mode is None else vibration(scene, mode)
    target = Path(path)
    kind = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg"}.get(target.suffix.lower())
    if kind is None:
        raise InputError(f"picture '{target.name}': write .png or .jpg")
    when = _start(scene) if t is None else _instant(scene, t, target.name)
    if camera is None and mode is None:
        scene = replace(scene, camera=still_camera(scene, when, size[0] / size[1]) or scene.camera)
    with _photographer(scene, camera, size, theme) as photograph:
        return write_whole(target, photograph(when, kind))


def _instant(scene: Scene, t: Any, name: str) -> float:
    """A time of the run, perhaps written with its unit."""
    found = quantity(t, "s")
    times = np.concatenate([np.asarray(r.times, dtype=float) for r in scene.runs]) if scene.runs else np.zeros(0)
    if times.size and not times.min() - 1e-9 <= found <= times.max() + 1e-9:
        raise InputError(f"picture '{name}': t = {found:g} s is outside the run, which goes from {times.min():g} to {times.max():g} s")
    return found


def save_movie(
    scene: Scene,
    path: str | Path,
    *,
    fps: float = 30.0,
    speed: float = 1.0,
    start: float | None = None,
    end: float | None = None,
    camera: Camera | None = None,
    size: tuple[int, int] = SIZE,
    theme: str = "light",
    mode: int | None = None,
    progress: bool = True,
) -> Path:
    """Write the motion as .mp4 (needs the package imageio-ffmpeg) or .gif, at `speed` times real time.

    ``mode`` (counted from 1) shows two periods of a mode of vibration, slowed down to 1.5 s each.  On a terminal and in a notebook a bar tells
    how many frames are taken.
    """
    if mode is not None:
        scene, end = vibration(scene, mode, periods=2), 2 * PERIOD - speed / fps if end is None else end
    target = Path(path)
    times = _frame_times(scene, fps, speed, start, end)
    suffix = target.suffix.lower()
    if suffix not in (".mp4", ".gif"):
        raise InputError(f"movie '{target.name}': write .mp4 or .gif")
    even = (size[0] // 2 * 2, size[1] // 2 * 2)
    with _photographer(scene, camera, even, theme) as photograph, counted(f"frames of {target.name}", len(times), wanted=progress) as tick:

        def taken() -> Iterator[bytes]:
            for t in times:
                yield photograph(float(t), "png" if suffix == ".gif" else "jpeg")
                tick()

        frames = taken()
        if suffix == ".gif":
            return make_whole(target, lambda file: _write_gif(file, frames, fps))
        return make_whole(target, lambda file: _write_mp4(file, frames, fps, even))


def _start(scene: Scene) -> float:
    times = np.asarray(scene.runs[0].times) if scene.runs else np.zeros(1)
    return float(times[0]) if times.size else 0.0


def _frame_times(scene: Scene, fps: float, speed: float, start: float | None, end: float | None) -> np.ndarray:
    if not scene.runs or np.asarray(scene.runs[0].times).size == 0:
        raise InputError(f"movie: scene '{scene.name}' has no run; give it one, or save a picture")
    if not (fps > 0 and speed > 0):
        raise InputError(f"movie: fps {fps:g} and speed {speed:g} must be positive")
    first = _start(scene) if start is None else start
    last = max(float(np.asarray(run.times)[-1]) for run in scene.runs) if end is None else end
    return np.arange(first, last + 1e-9 * max(abs(last), 1.0), speed / fps)


@contextmanager
def _photographer(scene: Scene, camera: Camera | None, size: tuple[int, int], theme: str) -> Iterator[Any]:
    """A function (time, "png" or "jpeg") → picture file, by Chromium if there is one."""
    if find_chromium() is None:
        if "chromium" not in _told:
            _told.add("chromium")
            warnings.warn("no Chromium found: pictures are drawn plainly by Matplotlib", stacklevel=4)
        yield lambda t, kind: draw_plain(scene, t, camera, size, kind, theme)
        return
    with kept_browser(size) as browser:
        packed = packed_json(scene)
        browser.evaluate(f"jourdain.exchange({json.dumps(packed['scene'])}, {json.dumps(packed['tracks'])}, {json.dumps(theme)})")
        browser.evaluate("jourdain.picture()")
        if camera is not None:
            position, target = (np.asarray(v).tolist() for v in (camera.position, camera.target))
            browser.evaluate(f"jourdain.camera({position}, {target}, {camera.fov}) && 0")

        def photograph(t: float, kind: str) -> bytes:
            browser.evaluate(f"jourdain.photograph({t!r})")
            return browser.screenshot(kind)

        yield photograph


def _write_gif(file: Path, frames: Iterator[bytes], fps: float) -> None:
    try:
        from PIL import Image
    except ImportError as missing:
        raise InputError("movie: .gif needs the package pillow") from missing
    pictures = [Image.open(io.BytesIO(frame)).convert("RGB").quantize(256, kmeans=1) for frame in frames]
    pictures[0].save(file, save_all=True, append_images=pictures[1:], duration=round(1000 / fps), loop=0)


def _write_mp4(file: Path, frames: Iterator[bytes], fps: float, size: tuple[int, int]) -> None:
    try:
        import imageio_ffmpeg
        from PIL import Image
    except ImportError as missing:
        raise InputError("movie: .mp4 needs the packages imageio-ffmpeg and pillow") from missing
    writer = imageio_ffmpeg.write_frames(str(file), size, fps=fps, quality=8, macro_block_size=2)
    writer.send(None)
    try:
        for frame in frames:
            picture = Image.open(io.BytesIO(frame)).convert("RGB").resize(size)
            writer.send(np.ascontiguousarray(np.asarray(picture)))
    except OSError as error:  # with all that FFmpeg has said, a page of it
        raise OSError(_NO_ROOM) from error
    finally:
        writer.close()
    try:
        imageio_ffmpeg.count_frames_and_secs(str(file))
    except RuntimeError as error:  # FFmpeg says nothing where the end of its file has no room
        raise OSError(_NO_ROOM) from error
