"""The reference problems: model, start, and what to compare with the stored solutions in tests/data/benchmarks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from jourdain import library
from jourdain.model.model import Model

DATA = Path(__file__).resolve().parent.parent / "tests" / "data" / "benchmarks"
Columns = Mapping[str, np.ndarray]


@cache
def reference(name: str) -> dict[str, np.ndarray]:
    """Columns of a stored solution by name."""
    content = json.loads((DATA / f"{name}.json").read_text())
    rows = np.array([[float(x) for x in row] for row in content["rows"]])
    return dict(zip(content["columns"], rows.T, strict=True))


@dataclass(frozen=True)
class Problem:
    """A problem with a known solution; ``measure`` gives columns of the reference from a solution."""

    name: str
    title: str
    data: str
    model: Callable[[], Model]
    start: Callable[[Any], Any]
    measure: Callable[[Any], Columns]
    #: time up to which the solution is compared strictly (all of the reference if None)
    until: float | None = None
    methods: tuple[str, ...] = ("dopri5", "dop853", "adams")
    #: quantity whose drift is reported: a channel, or a function of the solution
    energy: str | Callable[[Any], np.ndarray] | None = "energy.total"
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def system(self) -> Any:
        """The compiled model."""
        return self.model().compile()

    @property
    def times(self) -> np.ndarray:
        """Times of the reference."""
        t = reference(self.data)["t"]
        return t if self.until is None else t[t <= self.until + 1e-12]

    def run(self, method: str = "dop853", rtol: float = 1e-10, **options: Any) -> Any:
        """The solution at the reference's times."""
        t = self.times
        given = {"atol": rtol * 1e-2, "times": t, **self.options, **options}
        return self.system.simulate(self.start(self.system), (t[0], t[-1]), method=method, rtol=rtol, **given)

    def errors(self, sol: Any) -> dict[str, float]:
        """Largest error of each column over all times, relative to the column's largest value."""
        expected = reference(self.data)
        n = len(self.times)
        return {
            name: float(np.abs(values - expected[name][:n]).max() / np.abs(expected[name][:n]).max())
            for name, values in self.measure(sol).items()
        }

    def error(self, sol: Any) -> float:
        """The largest of all errors."""
        return max(self.errors(sol).values())

    def drift(self, sol: Any) -> float:
        """Largest change of the energy (J), not a number where it is not conserved."""
        if self.energy is None:
            return float("nan")
        e = sol[self.energy] if isinstance(self.energy, str) else self.energy(sol)
        return float(np.abs(e - e[0]).max())


def residuals(sol: Any) -> tuple[float, float]:
    """Largest position and velocity residual of the constraints along a solution."""
    system = sol.system
    if not system.equations_of_motion.rows:
        return 0.0, 0.0
    q = np.column_stack([sol[n] for n in system.coordinate_names])
    v = np.column_stack([sol[n] for n in system.velocity_names])
    t = sol.t[:, None]
    h = system.function("constraints")(t, q)[0] if system.equations_of_motion.holonomic else np.zeros((1, 1))
    f = system.function("constraint_velocities")
    w = f(t, q, v, *(np.zeros(n) for n in list(f.inputs.values())[3:]))[0]
    return float(np.abs(h).max()), float(np.abs(w).max())


# -- what is compared -------------------------------------------------------------------------------------------------


def _path(sol: Any, frame: str, names: str) -> dict[str, np.ndarray]:
    """Position and velocity columns of a frame; ``names`` such as "x y vx vy"."""
    motion = sol.frame(frame)
    columns = np.hstack([motion.position, motion.velocity])
    return {name: columns[:, 3 * ("v" in name.rsplit("_")[-1]) + "xyz".index(name[-1])] for name in names.split()}


def _four_bar_start(system: Any) -> Any:
    uprights = [n for n in system.model.joints if n.startswith("A")]
    return system.assemble(dict.fromkeys(uprights, 0.0), velocities=dict.fromkeys(uprights, -1.0))


def _four_bar_columns(sol: Any) -> Columns:
    theta = {"theta": -sol["A0.angle"], "theta_dot": -sol["A0.angle_rate"]}
    return _path(sol, "upright0.end", "B0_x B0_y B0_vx B0_vy") | theta


ANDREWS_START = {
    "beta": -0.0617138900142764496, "gamma": 0.455279819163070380, "Phi": 0.222668390165885885, "delta": 0.487364979543842550,
    "Omega": -0.222668390165885885, "epsilon": 1.23054744454982119,
}  # fmt: skip
ANDREWS_ANGLES = ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")


def _andrews_columns(sol: Any) -> Columns:
    angles = {n: sol[f"{n}.angle"] for n in ANDREWS_ANGLES}
    return angles | {f"d_{n}": sol[f"{n}.angle_rate"] for n in ANDREWS_ANGLES}


GOVERNOR_START = {
    "slide": 0.5, "right": np.pi / 6, "left": np.pi / 6, "shaft.angle_rate": 2.0 * np.pi,
}  # fmt: skip


def _governor_columns(sol: Any) -> Columns:
    names = {
        "s": "slide.displacement", "ds": "slide.displacement_rate", "beta": "right.angle", "dbeta": "right.angle_rate",
        "phi": "shaft.angle", "omega": "shaft.angle_rate", "spring_force": "right force",
    }  # fmt: skip
    return {column: sol[name] for column, name in names.items()}


def _top_start(system: Any) -> Any:
    half = np.pi / 6
    orientation = {"pivot.orientation.e0": np.cos(half), "pivot.orientation.e1": np.sin(half)}
    rates = dict(zip((f"pivot.orientation.omega_{c}" for c in "xyz"), (1.0, 2.0 * np.sin(np.pi / 3), 200.0), strict=True))
    return system.state(orientation, rates)


def _top_columns(sol: Any) -> Columns:
    e3 = sol.frame("top").rotation[:, :, 2]
    columns = {f"e3_{c}": e3[:, i] for i, c in enumerate("xyz")}
    return columns | {f"w{i + 1}_body": sol[f"pivot.orientation.omega_{c}"] for i, c in enumerate("xyz")}


def _double_pendulum_columns(sol: Any) -> Columns:
    upper, lower = sol["shoulder.angle"], sol["elbow.angle"]
    d_upper, d_lower = sol["shoulder.angle_rate"], sol["elbow.angle_rate"]
    return {"phi1": upper, "phi2": upper + lower, "dphi1": d_upper, "dphi2": d_upper + d_lower}


def _free_body_columns(sol: Any) -> Columns:
    rates = {f"w{i + 1}": sol[f"float.orientation.omega_{c}"] for i, c in enumerate("xyz")}
    return rates | {f"q{i}": sol[f"float.orientation.e{i}"] for i in range(4)}


def _sleigh_columns(sol: Any) -> Columns:
    return {
        "x_blade": sol["sleigh.x"], "y_blade": sol["sleigh.y"], "theta": sol["sleigh.angle"], "v": sol["v"],
        "omega": sol["sleigh.angle_rate"],
    }  # fmt: skip


def disk_start(system: Any, lean: float = np.radians(80), lean_rate: float = 0.2, turn: float = 1.0, omega3: float = -8.0) -> Any:
    """A rolling disk above the origin: inclination, its rate, heading rate and ω₃."""
    rates = {"disk.rx": lean_rate, "disk.rz": turn, "spin": omega3 - turn * np.cos(lean)}
    return system.assemble({"disk.x": 0.0, "disk.y": 0.0, "disk.rz": 0.0, "disk.rx": lean, "spin": 0.0}, velocities=rates)


def _disk_columns(sol: Any) -> Columns:
    return {
        "x_centre": sol["disk.x"], "y_centre": sol["disk.y"], "theta": sol["disk.rx"], "theta_dot": sol["disk.rx_rate"],
        "omega2": sol["omega2"], "omega3": sol["omega3"], "heading": sol["disk.rz"],
    }  # fmt: skip


def _oscillator_columns(sol: Any) -> Columns:
    return {f"{n}_exact": sol[n] for n in ("u2", "u3", "v2", "v3", "R")}


def _spring_pendulum_columns(sol: Any) -> Columns:
    names = {"x": "mass.x", "y": "mass.y", "vx": "mass.x_rate", "vy": "mass.y_rate", "spring_force": "spring_force"}
    return {column: sol[name] for column, name in names.items()}


def _quarter_car_columns(sol: Any) -> Columns:
    hub, travel = "wheel.displacement", "suspension.displacement"
    rates = {"dz_u": sol[f"{hub}_rate"], "dz_s": sol[f"{hub}_rate"] + sol[f"{travel}_rate"]}
    acceleration = {"ddz_s": sol[f"{hub}_acc"] + sol[f"{travel}_acc"]}
    return {n: sol[n] for n in ("z_s", "z_u", "tyre_force")} | rates | acceleration


def _half_car_columns(sol: Any) -> Columns:
    names = {"z": "body.z", "theta": "body.ry", "u1": "wheel1.displacement", "u2": "wheel2.displacement"}
    return {n: sol[c] for n, c in names.items()} | {f"d{n}": sol[f"{c}_rate"] for n, c in names.items()}


EVERY: tuple[Problem, ...] = (
    Problem(
        "A01", "simple pendulum", "A01_simple_pendulum", library.pendulum, lambda s: {"hinge.angle": -np.pi / 2},
        lambda sol: _path(sol, "bob.mass", "x y vx vy"),
    ),
    Problem("A02-2", "2 four-bars, singular positions", "A02_n_four_bar_N2", library.n_four_bar, _four_bar_start, _four_bar_columns),
    Problem(
        "A02-40", "40 four-bars, singular positions", "A02_n_four_bar_N40", lambda: library.n_four_bar(40), _four_bar_start,
        _four_bar_columns,
    ),
    Problem(
        "A03", "Andrews' squeezer", "A03_andrews", library.andrews, lambda s: s.assemble({"Theta": 0.0}, guess=ANDREWS_START),
        _andrews_columns, energy=lambda sol: sol["energy.total"] - 0.033 * sol["beta.angle"],
    ),
    Problem(
        "A04", "Bricard, over-constrained", "A04_bricard", library.bricard, lambda s: s.assemble(),
        lambda sol: _path(sol, "rod2.end", "P3_x P3_y P3_z P3_vx P3_vy P3_vz"),
    ),
    Problem(
        "A05", "stiff flyball governor", "A05_flyball_governor", library.stiff_governor, lambda s: GOVERNOR_START, _governor_columns,
        energy=None, methods=("radau", "rosenbrock", "dop853"),
    ),
    Problem("B2", "heavy top", "B02_heavy_top", library.heavy_top, _top_start, _top_columns),
    Problem(
        "B3", "double pendulum (to 5 s)", "B03_double_pendulum", library.double_pendulum, lambda s: {"shoulder.angle": np.pi / 2},
        _double_pendulum_columns, until=5.0,
    ),
    Problem(
        "B4", "free body, unstable axis", "B04_free_body", library.free_body,
        lambda s: s.state({}, {f"float.orientation.omega_{c}": w for c, w in zip("xyz", (0.01, 5.0, 0.02), strict=True)}),
        _free_body_columns,
    ),
    Problem(
        "B5s", "Chaplygin sleigh", "B05_chaplygin_sleigh", library.chaplygin_sleigh,
        lambda s: s.assemble({}, velocities={"sleigh.x": -1.0, "sleigh.angle": 0.1}), _sleigh_columns,
    ),
    Problem("B5d", "rolling disk", "B05_rolling_disk", library.rolling_disk, disk_start, _disk_columns),
    Problem(
        "B6", "bouncing ball (to 3.9 s)", "B06_bouncing_ball", library.bouncing_ball, lambda s: {"height": 1.0},
        lambda sol: {"y": sol["height.displacement"], "v": sol["height.displacement_rate"]}, until=3.9, energy=None,
    ),
    Problem(
        "B10o", "stiff oscillator, exact motion", "B10_stiff_oscillator", library.bathe_oscillator,
        lambda s: {"stiff.displacement_rate": -1.2}, _oscillator_columns, energy=None, methods=("dopri5", "dop853", "radau"),
    ),
    Problem(
        "B10p", "stiff spring pendulum", "B10_stiff_pendulum", library.spring_pendulum, lambda s: {"mass.x": 1.0},
        _spring_pendulum_columns, methods=("dopri5", "dop853", "adams", "radau"),
    ),
    Problem("B11q", "quarter car over a bump", "B11_quarter_car", library.quarter_car, lambda s: None, _quarter_car_columns, energy=None),
    Problem("B11h", "half car over a bump", "B11_half_car", library.half_car, lambda s: None, _half_car_columns, energy=None),
)  # fmt: skip

PROBLEMS: dict[str, Problem] = {p.name: p for p in EVERY}
