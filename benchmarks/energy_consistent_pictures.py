"""Figures of the energy-consistent engine for docs/validation.md: the sources' figures made again, with their numbers marked.

python -m benchmarks.energy_consistent_pictures
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from benchmarks.energy_consistent import LETTERS, TIGHT  # noqa: E402
from jourdain.analysis.simulate import SimulationError  # noqa: E402
from jourdain.library import conserving, conserving_loops, manipulators  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
SCHEMES: dict[str, dict[str, float]] = {"energy-momentum": {}, "newmark": {}, "hht": {"alpha": -0.1}, "variational": {}}
LABELS = {"energy-momentum": "energy-momentum", "newmark": "Newmark", "hht": "HHT", "variational": "variational"}
Panel = Callable[[Any], None]


def _named(panel: Any, title: str, x: str, y: str, legend: str | None = "best", **more: Any) -> None:
    panel.set(title=title, xlabel=x, ylabel=y, **more)
    if legend:
        panel.legend(loc=legend)


# E1: four integrators ---------------------------------------------------------------------------------------------------------


def convergence(panel: Any) -> None:
    """Relative error of the second mass after 5 s over the step (thesis Fig. 2.5)."""
    steps = np.array([0.005, 0.004, 0.0025, 0.002, 0.00125, 0.001, 0.0005])
    study = conserving.dumbbell().convergence(5.0, steps, ["second"], SCHEMES, {"second": (-0.49186374, 0.93470565)})
    for method, errors in study.errors.items():
        panel.loglog(study.steps, errors, "o-", markersize=3, label=LABELS[method])
    panel.loglog(steps, 300.0 * steps**2, "k:", linewidth=1.0, label="∝ h²")
    panel.set_xticks([5e-4, 1e-3, 2e-3, 5e-3], ["0.0005", "0.001", "0.002", "0.005"])
    panel.set_xticks([], minor=True)
    _named(panel, "E1 error after 5 s", "h, s", "relative error", "lower right", ylim=(3e-7, 0.05))


def dumbbell_energy(panel: Any) -> None:
    """Total energy at h = 0.01 s; the energy-momentum scheme at h = 0.1 s."""
    for method, options in SCHEMES.items():
        h = 0.1 if method == "energy-momentum" else 0.01
        sol = conserving.dumbbell().simulate(5.0, h, method=method, **options)
        panel.plot(sol.t, sol["energy.total"], label=f"{LABELS[method]}, h = {h:g} s")
    _named(panel, "E1 energy", "t, s", "energy, J", "lower right", ylim=(8.56, 8.85))


def dumbbell_momentum(panel: Any) -> None:
    for method, options in SCHEMES.items():
        h = 0.1 if method == "energy-momentum" else 0.01
        sol = conserving.dumbbell().simulate(5.0, h, method=method, **options)
        panel.plot(sol.t, sol["momentum.angular"][:, 2], label=f"{LABELS[method]}, h = {h:g} s")
    _named(panel, "E1 angular momentum", "t, s", "L, kg m²/s", "upper left", ylim=(-5.002, -4.97))


def dumbbell_paths(panel: Any) -> None:
    """Paths of both masses, and where they are at t = 0, 1, 1.5, 2.6, 3.5 and 5 s (h = 0.01 s)."""
    sol = conserving.dumbbell().simulate(5.0, 0.01)
    for name in ("first", "second"):
        panel.plot(*sol[name].T, linewidth=0.8)
    for k, t in enumerate((0.0, 1.0, 1.5, 2.6, 3.5, 5.0)):
        a, b = (sol[n][round(t / 0.01)] for n in ("first", "second"))
        panel.plot([a[0], b[0]], [a[1], b[1]], "o-", color=f"C{(k + 2) % 7}", markersize=4, linewidth=1.0, label=f"{t:g} s")
    _named(panel, "E1 paths and snapshots", "x, m", "y, m", "center left", aspect="equal", xlim=(-1.6, 0.9))


# E2, E3: augmented coordinates ------------------------------------------------------------------------------------------------


def motor_angle(panel: Any) -> None:
    for h in (0.1, 0.05, 0.01):
        sol = conserving.pair_with_motor().simulate(2.0, h)
        panel.plot(sol.t, sol["angle"], "." if h > 0.02 else "-", markersize=4, label=f"h = {h:g} s")
    _named(panel, "E2 pair with motor, joint angle", "t, s", "Θ, rad")


def screw_branches(panel: Any) -> None:
    """Both angle constraints at the thesis' step; where the printed one would take its mirror branch the step is divided."""
    robust, printed = (conserving.screw_pair(form=form).simulate(1.0, 0.02) for form in ("robust", "thesis"))
    panel.plot(robust.t, robust["angle"], label="robust constraint")
    panel.plot(printed.t, printed["angle"], "--", label="printed constraint")
    divided = printed["newton.steps"] > 1
    panel.plot(printed.t[divided], printed["angle"][divided], "ko", label="step on the mirror branch refused")
    for k in range(6):
        panel.axhline((0.75 + k) * math.pi, color="0.8", linewidth=0.8, zorder=0)
    _named(panel, "E3 screw pair (grey: 3π/4 + kπ)", "t, s", "Θ, rad", "upper left", ylim=(-1, 30))


def conditions(panel: Any) -> None:
    """Condition numbers of the screw pair's step (thesis Table 5.3)."""
    s, steps = conserving.screw_pair(), 0.02 / np.array([1.0, 4.0, 16.0, 64.0, 200.0])
    for reduction, key, label in (
        ("none", "condition_unscaled", "all constraints, as printed"), ("none", "condition", "all constraints, as solved"),
        ("joints", "condition", "joint coordinates"),
    ):  # fmt: skip
        panel.loglog(steps, [s.report(h, reduction=reduction)[key] for h in steps], "o-", markersize=3, label=label)
    _named(panel, "E3 screw pair, condition number", "h, s", "condition (1-norm)", "upper right", ylim=(1e2, 1e28))


# E4, E5, E12: loops -----------------------------------------------------------------------------------------------------------


def manipulator_energy(panel: Any) -> None:
    sol = manipulators.planar_manipulator(0.05).simulate(2.0, 0.01)
    panel.plot(sol.t, sol["energy.total"], label="energy")
    panel.plot(sol.t, 1e12 * sol["momentum.angular"][:, 2], label="10¹² L₃, kg m²/s")
    _named(panel, "E4 3-RRR, torques × 0.05", "t, s", "energy, J")


def telescope_angles(panel: Any) -> None:
    sol = manipulators.radio_telescope(math.pi).simulate(4.0, 0.01)
    panel.plot(sol.t, sol["platform.angle"], label="azimuth")
    panel.plot(sol.t, sol["spindle.angle"], label="spindle")
    lift = np.arctan2(sol["dish.rotation"][:, 2, 0], np.hypot(sol["dish.rotation"][:, 0, 0], sol["dish.rotation"][:, 1, 0]))
    panel.plot(sol.t, lift, label="dish")
    _named(panel, "E5 radio telescope, half stroke", "t, s", "angle, rad")


def telescope_inputs(panel: Any) -> None:
    sol = manipulators.radio_telescope(math.pi).simulate(4.0, 0.01)
    mid = sol.t[1:] - 0.005
    panel.plot(mid, -sol["drive.platform.input"][1:], label="azimuth")
    panel.plot(mid, -sol["drive.spindle.input"][1:], label="spindle")
    _named(panel, "E5 radio telescope, torques", "t, s", "torque, N m", "lower left")


def telescope_invariants(panel: Any) -> None:
    """Energy and L₃ between 2 and 3 s, where nothing but the turning platform moves."""
    for stroke, label in ((2.0 * math.pi, "full"), (math.pi, "half")):
        sol = manipulators.radio_telescope(stroke).simulate(4.0, 0.01)
        panel.plot(sol.t, sol["energy.total"], label=f"H, {label} stroke, J")
        panel.plot(sol.t, sol["momentum.angular"][:, 2], "--", label=f"L₃, {label} stroke, kg m²/s")
    panel.axvspan(2.0, 3.0, color="0.92")
    _named(panel, "E5 cruise (grey), h = 0.01 s", "t, s", "H, J;  L₃, kg m²/s", "upper left", ylim=(-300, 11500))


def eight_path(panel: Any) -> None:
    sol = conserving_loops.rpr_manipulator().simulate(2.99, 0.01)
    for name in ("platform", "base"):
        panel.plot(*(1e3 * (sol[f"{name}.position"] - sol[f"{name}.position"][0])).T, label=name)
    _named(panel, "E12 figure eight", "x, mm", "y, mm", "upper right", aspect="equal", ylim=(-60, 90))


def eight_torques(panel: Any) -> None:
    for friction, label in ((True, "with friction"), (False, "without")):
        sol = conserving_loops.rpr_manipulator(friction).simulate(2.99, 0.01)
        panel.plot(sol.t[1:] - 0.005, -sol["servo.input.1"][1:], label=label)
    _named(panel, "E12 torque of the first joint", "t, s", "torque, N m", "upper left", ylim=(-80, 110))


# E6 … E11: dissipation ------------------------------------------------------------------------------------------------------------


def phase_portraits(panel: Any) -> None:
    for make, name, end in (
        (conserving.damped_oscillator, "E6 oscillator", 10.0),
        (conserving.viscoelastic_oscillator, "E8 oscillator", 10.0),
    ):
        sol = make().simulate(end, 0.02)
        panel.plot(sol["x"], sol["x.rate"], linewidth=1.0, label=name)
    _named(panel, "E6 and E8, phase portraits", "q, m", "velocity, m/s", "upper left", ylim=(-3.3, 4.5))


def solid_balance(panel: Any) -> None:
    sol = conserving.viscoelastic_oscillator().simulate(10.0, 0.02)
    panel.plot(sol.t, sol["energy.total"], label="energy H")
    panel.plot(sol.t, sol["energy.dissipated"], label="dissipated $A_D$")
    panel.plot(sol.t, sol["energy.total"] + sol["energy.dissipated"], label="sum")
    _named(panel, "E8 viscoelastic oscillator", "t, s", "energy, J", "upper left", ylim=(-25, 48))


def residuals(panel: Any) -> None:
    """Defect of the energy balance of every step against Newton's tolerance."""
    runs = (
        ("E7", conserving.pendulum_with_viscous_joint, 0.02),
        ("E8", conserving.viscoelastic_oscillator, 0.02),
        ("E10", conserving.friction_oscillator, 0.02),
    )
    for name, make, h in runs:
        sol = make().simulate(10.0, h)
        panel.semilogy(sol.t[1:], np.maximum(np.abs(sol["energy.residual"][1:]), 1e-18), ".", markersize=2, label=name)
    panel.axhline(1e-12, color="k", linestyle=":", label="tolerance of Newton's method")
    _named(panel, "E7, E8, E10 energy balance", "t, s", "defect of a step, J", "upper right", ylim=(1e-19, 1e-7))


def plastic_joint(panel: Any) -> None:
    for damping, label, rest in ((0.0, "spring", -0.388), (150.0, "spring and dashpot", -0.3933)):
        sol = conserving.pendulum_with_plastic_joint(damping).simulate(5.0, 0.02)
        (line,) = panel.plot(sol.t, sol["angle"], label=label)
        panel.axhline(rest, color=line.get_color(), linestyle=":", label=f"published {rest:g}".replace("-", "−"))
    _named(panel, "E9 plastic joint", "t, s", "angle, rad", "upper right", xlim=(0.5, 2.5), ylim=(-0.425, -0.345))


def hysteresis(panel: Any) -> None:
    """Force of the friction element over its displacement, from the balance of the mass."""
    sol = conserving.friction_oscillator().simulate(6.0, 0.005)
    load = np.interp(sol.t[1:] - 0.0025, (0.0, 1.0, 2.0, 10.0), (0.0, 300.0, 0.0, 0.0))
    force = load - 100.0 * np.diff(sol["x.rate"]) / np.diff(sol.t)
    panel.plot(0.5 * (sol["x"][1:] + sol["x"][:-1]), force, linewidth=1.0)
    _named(panel, "E10 friction element", "q, m", "force, N", None, xlim=(-0.15, 2.3), ylim=(-130, 130))


def absorber(panel: Any) -> None:
    for road, label in ((None, "dropped"), (conserving_loops.RandomRoad(), "on a random road")):
        sol = conserving_loops.double_wishbone(road).simulate(5.0, 0.02)
        panel.plot(sol.t[1:] - 0.01, conserving_loops.absorber_force(sol)[1:], label=label)
    _named(panel, "E11 force of the absorber", "t, s", "force, N", "upper right", ylim=(-120, 700))


# E13, E14: rolling ------------------------------------------------------------------------------------------------------------------


def plate(panel: Any) -> None:
    panel.plot(*conserving.plate_path(np.linspace(0.0, 11.0, 400)).T, "k-", linewidth=1.0, label="exact")
    for form, h in (("momentum", 0.2), ("midpoint", 0.05)):
        sol = conserving.ball_on_plate(form).simulate(11.0, h)
        panel.plot(*sol["ball.position"][:, :2].T, ".", markersize=4, label=f"{form}, h = {h:g} s")
    _named(panel, "E13 ball on a turning plate", "x, m", "y, m", "center", aspect="equal")


def letters(panel: Any) -> None:
    sol = conserving.two_wheeled_robot(*LETTERS).simulate(22.0, 0.01)
    x, y, _ = 0.5 * (sol["left.position"] + sol["right.position"]).T
    panel.plot(-y, x)
    _named(panel, "E14 path of the robot", "−y, m", "x, m", None, aspect="equal")


def wheels(panel: Any) -> None:
    sol = conserving.two_wheeled_robot(*LETTERS).simulate(22.0, 0.01)
    for name, label in (("left.spin", "left wheel"), ("right.spin", "right wheel"), ("yaw", "heading")):
        panel.plot(sol.t, sol[name], label=label)
    _named(panel, "E14 angles of the robot", "t, s", "angle, rad", "upper left")


# clearances -------------------------------------------------------------------------------------------------------------------------


def blob(panel: Any) -> None:
    sol = conserving.cavity_pendulum().simulate(5.0, 1e-3, tolerance=TIGHT)
    panel.plot(1e3 * sol["O"][:, 1], 1e3 * sol["O"][:, 2], linewidth=0.6)
    y, z = np.meshgrid(np.linspace(-48, 48, 200), np.linspace(-26, 26, 120))
    phi = 1.0 - sum(np.exp(1.0 - (0.05 * y + d) ** 2 - (0.05 * z) ** 2) for d in (1.1, -1.1))
    panel.contour(y, z, phi, [0.0], colors="k", linewidths=1.0)
    _named(panel, "7.1 point in the blob", "y, mm", "z, mm", None, aspect="equal")


def cavity_energies(panel: Any) -> None:
    runs = (
        ("energy-momentum", 1e-3, "conserving, 1 ms"),
        ("trapezoidal", 1e-3, "trapezoidal, 1 ms"),
        ("backward-euler", 3e-3, "backward Euler, 3 ms"),
    )
    for method, h, label in runs:
        try:
            sol = conserving.cavity_pendulum().simulate(5.0, h, method=method)
        except SimulationError as failure:
            sol = failure.solution
        panel.plot(sol.t, sol["energy.total"], label=label)
    _named(panel, "7.1 total energy", "t, s", "energy, J", "lower left", ylim=(-20, 20), xlim=(0, 5))


def free_end(panel: Any) -> None:
    """Path of the free end in the first 3 s, with and without play."""
    for clearance, label in ((False, "ideal joints"), (True, "cavities")):
        sol = conserving.cavity_pendulum(clearance=clearance).simulate(3.0, 1e-3, tolerance=TIGHT)
        panel.plot(sol["B"][:, 0], sol["B"][:, 2], linewidth=1.0, label=label)
    _named(panel, "7.1 free end, 3 s", "x, m", "z, m", "upper right", aspect="equal", ylim=(-2.2, 1.4))


def prism_centre(panel: Any) -> None:
    for play, label in ((None, "perfect joint"), (0.2, "play of 0.2 rad")):
        sol = conserving.prism_pendulum(play).simulate(3.0, 4e-3, tolerance=1e-14)
        centre = 0.5 * (sol["A"] + sol["B"])
        panel.plot(centre[:, 0], centre[:, 2], linewidth=1.0, label=label)
    _named(panel, "7.2 end bar's centre, 3 s", "x, m", "z, m", "upper right", aspect="equal", ylim=(-1.6, 0.9))


def prism_play(panel: Any) -> None:
    sol = conserving.prism_pendulum().simulate(5.0, 4e-3, tolerance=1e-14)
    panel.plot(sol.t, sol["joint.misalignment"], linewidth=0.8)
    panel.axhline(0.2, color="k", linestyle=":")
    _named(panel, "7.2 angle of the axes (dotted: play)", "t, s", "angle, rad", None)


FIGURES: dict[str, tuple[tuple[int, int], Sequence[Panel]]] = {
    "energy-consistent-dumbbell.png": ((1, 4), (convergence, dumbbell_energy, dumbbell_momentum, dumbbell_paths)),
    "energy-consistent-loops.png": (
        (2, 4),
        (motor_angle, screw_branches, conditions, manipulator_energy, telescope_angles, telescope_inputs, telescope_invariants, eight_path),
    ),
    "energy-consistent-dissipation.png": (
        (2, 4), (phase_portraits, solid_balance, residuals, hysteresis, plastic_joint, absorber, eight_torques, plate),
    ),
    "energy-consistent-clearance.png": ((2, 4), (blob, cavity_energies, free_end, prism_centre, prism_play, letters, wheels)),
}  # fmt: skip


def pictures(names: Sequence[str] = ()) -> None:
    """Draws all figures, or some by file name."""
    from jourdain.results.style import finish, house_style, new_figure

    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, ((rows, columns), panels) in FIGURES.items():
        if names and name not in names:
            continue
        with house_style():
            figure = new_figure(3.6 * columns, 3.0 * rows)
            axes = np.atleast_1d(figure.subplots(rows, columns)).ravel()
            for axis, draw in zip(axes, panels, strict=False):
                draw(axis)
            for axis in axes[len(panels) :]:
                axis.set_axis_off()
            finish(figure, PICTURES / name, False)


if __name__ == "__main__":
    pictures(sys.argv[1:])
