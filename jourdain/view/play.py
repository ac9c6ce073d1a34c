"""Live view with a hand in it: bodies are pulled with the mouse, inputs moved by sliders, time stopped and stepped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jourdain.errors import InputError
from jourdain.model.elastic.flexible import FlexibleBody
from jourdain.model.pulled import SHARED, can_be_pulled, pull_input, pull_values, pulled, shape_inputs
from jourdain.model.units import quantity
from jourdain.systems.formulations import formulate
from jourdain.view.live import ENDED, joined, send
from jourdain.view.scenes.default_shapes import Numbers
from jourdain.view.scenes.from_solution import scene_of
from jourdain.view.server import Server, serve

if TYPE_CHECKING:
    from jourdain.results.solution import Solution
    from jourdain.systems.system import System

#: Seconds between two pictures.
FRAME = 1 / 30
#: The spring of the mouse: a body alone swings at a turn a second on it, well damped; a light one feels a twentieth of the whole mass.
FREQUENCY, RATIO, SHARE = 2.0 * np.pi, 0.7, 0.05
BUTTONS = [
    {"name": "pause", "text": "pause / go on", "title": "time stands still, or goes on"},
    {"name": "step", "text": "step", "title": "one step on, then time stands still"},
    {"name": "end", "text": "end", "title": "the run ends here; the page stays"},
]


class Hand:
    """What the page does to a run: inputs as they stand, and whether time goes on."""

    def __init__(self, system: System, sliders: Sequence[Mapping[str, Any]], pull: bool) -> None:
        model = system.model
        self._inputs = {s["name"]: (s["low"], s["high"]) for s in sliders}
        self.values: dict[str, float] = {s["name"]: s["value"] for s in sliders}
        number = Numbers(model, system.parameters)
        bodies = can_be_pulled(model, _bends(system)) if pull else []
        self._masses = {b.name: float(number(b.mass)) for b in bodies}
        self._still = dict.fromkeys([*SHARED, *shape_inputs(model, _bends(system)), *map(pull_input, self._masses)], 0.0) if pull else {}
        self._bending = {b.name: b.part for b in bodies if isinstance(b, FlexibleBody)}
        self.values |= self._still
        self._news = threading.Condition()
        self.paused = self.ended = False
        self._steps = 0
        self.t = 0.0

    def hear(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Does what the page asks for; the answer says how things stand."""
        with self._news:
            if "values" in question:
                self._move(question["values"])
            command = question.get("command")
            if command == "pull":
                self._pull(question)
            elif command == "let go":
                self.values |= self._still
            elif command == "pause":
                self.paused = not self.paused
            elif command == "step":
                self.paused, self._steps = True, self._steps + 1
            elif command == "end":
                self.ended = True
            elif command is not None:
                raise InputError(f"live view: there is no command {command!r}; there are pull, let go, pause, step and end")
            self._news.notify_all()
            return {"note": f"stands still at {self.t:.3f} s" if self.paused else ""}

    def _move(self, given: Any) -> None:
        if not isinstance(given, Mapping) or not given.keys() <= self._inputs.keys():
            raise InputError(f"live view: {given!r} are no inputs; there are {', '.join(self._inputs) or 'none'}")
        for name, x in given.items():
            low, high = self._inputs[name]
            self.values[name] = float(np.clip(_finite(x, name), low, high))

    def _pull(self, question: Mapping[str, Any]) -> None:
        body = question.get("body")
        if body not in self._masses:
            raise InputError(f"live view: the body {body!r} cannot be pulled; there are {', '.join(self._masses) or 'none'}")
        point, target = (_place(question.get(n), n) for n in ("point", "target"))
        mass = max(self._masses[body], SHARE * sum(self._masses.values()))
        stiffness = mass * FREQUENCY**2
        shape: Any = ()
        if body in self._bending:
            point, shape = self._vertex(body, question.get("vertex"))
        self.values |= self._still | pull_values(body, point, target, stiffness, 2.0 * RATIO * mass * FREQUENCY, shape)

    def _vertex(self, body: str, vertex: Any) -> tuple[list[float], Any]:
        """Where a vertex of a body that bends is undeformed, and how its modes move it."""
        from jourdain.view.scenes.from_structure import surface_of

        part = self._bending[body]
        surface = surface_of(part)
        if isinstance(vertex, bool) or not isinstance(vertex, int) or not 0 <= vertex < len(surface.vertices):
            raise InputError(
                f"live view: vertex = {vertex!r} is none of the {len(surface.vertices)} of the body '{body}', by which it is held"
            )
        return surface.vertices[vertex].tolist(), surface.shapes[vertex, :, : part.modes]

    def wait(self) -> bool:
        """Waits while time stands still; False when the run is to end."""
        with self._news:
            self._news.wait_for(lambda: self.ended or not self.paused or self._steps > 0)
            self._steps = max(self._steps - 1, 0) if self.paused else 0
            return not self.ended

    def end(self) -> None:
        """Ends the run."""
        with self._news:
            self.ended = True
            self._news.notify_all()


def play(
    system: System, x0: Any = None, t: Any = 60.0, method: str | None = None, *, inputs: Sequence[str] | Mapping[str, Any] = (),
    pull: bool = True, plots: Sequence[Any] = (), trace: Sequence[str] = (), forces: Sequence[str] = (),
    stress: Mapping[str, str] | str | None = None, exaggerate: float = 1.0, pace: float = 1.0, open_browser: bool = True, on_start: Callable[[Server], None] | None = None, **options: Any,
) -> tuple[Solution, Server]:  # fmt: skip
    """Simulates in real time (``pace`` times as fast) and shows the motion; returns the solution and the server, which stays open.

    On the page a body is pulled with the mouse by a spring, time is stopped and stepped, and ``inputs`` (names, or names with the ends of
    their sliders) are moved.  The run ends after ``t`` seconds or with the page's button.  ``plots``, ``trace``, ``forces``, ``stress`` and
    ``exaggerate`` are those of the view, other ``options`` those of ``system.simulate``.  The solution belongs to the model with the spring, ``solution.system``.
    """
    for name in ("times", "outputs", "inputs", "steps"):
        if options.get(name) is not None:
            raise InputError(f"play: the page is fed piece by piece; leave out {name}=")
    duration = quantity(t, "s")
    if not duration > 0 or not pace > 0:
        raise InputError(f"play: the duration {duration} s and the pace {pace} must be positive")
    sliders = [_slider(system, n, inputs[n] if isinstance(inputs, Mapping) else None) for n in inputs]
    own = _with_springs(system) if pull else system
    hand = Hand(system, sliders, pull)
    start = x0 if x0 is None or isinstance(x0, Mapping) else _named(system, x0)
    pieces = [own.simulate(start, FRAME * pace, method, inputs=dict(hand.values), **options)]
    first = float(pieces[0].t[0])
    shown: dict[str, Any] = {
        "plots": plots,
        "trace": trace,
        "forces": forces,
        "stress": stress,
        "exaggerate": exaggerate,
        "fine": 0,
        "pieces": True,
    }
    controls = {"title": "live", "way": "http", "sliders": sliders, "buttons": BUTTONS, "pull": pull}
    server = serve(scene_of(pieces[0], **shown), open_browser, live=True, controls=controls, answer=hand.hear)
    try:
        if on_start is not None:
            on_start(server)
        clock = time.perf_counter()
        while (left := first + duration - float(pieces[-1].t[-1])) > 1e-9 * duration and pieces[-1].metadata.get("status") != ENDED:
            if not hand.wait():
                break
            pieces.append(own.simulate(pieces[-1], min(FRAME * pace, left), method, inputs=dict(hand.values), **options))
            hand.t = float(pieces[-1].t[-1])
            send(server, scene_of(pieces[-1], **shown))
            clock = max(clock + FRAME, time.perf_counter() - FRAME)  # a late picture is not made up for
            time.sleep(max(0.0, clock - time.perf_counter()))
    except BaseException:
        server.close()
        raise
    server.finish()
    return joined(pieces), server


def _with_springs(system: System) -> System:
    """The system with a spring at every body, in the same formulation and with the same parameters."""
    made = formulate(pulled(system.model, _bends(system)), system.formulation)
    made.set_parameters(**system.parameters)
    return made


def _bends(system: System) -> bool:
    """Whether bodies that bend do so by modes: parts of large deformation have none."""
    return not getattr(system, "parts", ())


def _named(system: System, state: Any) -> dict[str, float]:
    """A state by names, which the model with springs shares."""
    state = system.state(getattr(state, "state", state))
    return {n: state[n] for n in (*system.coordinate_names, *system.velocity_names, *system.model.states)}


def _slider(system: System, name: str, ends: Any) -> dict[str, Any]:
    model = system.model
    if name not in model.outer_inputs:
        raise InputError(f"play: '{model.name}' has no input '{name}'; it has {', '.join(model.outer_inputs) or 'none'}")
    item = model.inputs[name]
    reach = 2.0 * abs(item.value) or 1.0
    low, high = (quantity(x, item.unit or None) if isinstance(x, str) else float(x) for x in (ends or (-reach, reach)))
    if not low < high:
        raise InputError(f"play: the slider of '{name}' goes from {low:g} to {high:g}; its second end must be above the first")
    return {"name": name, "unit": item.unit, "low": low, "high": high, "value": float(np.clip(item.value, low, high))}


def _finite(x: Any, what: str) -> float:
    if isinstance(x, bool) or not isinstance(x, (int, float)) or not np.isfinite(x):
        raise InputError(f"live view: {what} = {x!r} is no finite number")
    return float(x)


def _place(x: Any, what: str) -> list[float]:
    if not isinstance(x, Sequence) or isinstance(x, str) or len(x) != 3:
        raise InputError(f"live view: {what} = {x!r} is no place; give three numbers")
    return [_finite(c, what) for c in x]


__all__ = ["Hand", "play"]
