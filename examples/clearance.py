"""A pendulum whose pin rattles in a cavity: hard contacts in steps of 2 ms, and the energy stays within 1e-13 J.

python examples/clearance.py
"""

from math import sqrt
from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.model.shapes import Mesh, capsule, mesh, sphere
from jourdain.results.style import finish, house_style, new_figure
from jourdain.symbolic import exp, gradient, maximum

LENGTH, MASS, STIFFNESS, LOBE = 0.15, 0.3, 1e7, 1.1


def radius(y: np.ndarray) -> np.ndarray:
    """Radius of the peanut-shaped cavity at y, where exp(1 − (50 r)² − (50 y ± 1.1)²) of both lobes add up to 1 (in m)."""
    return np.sqrt(np.maximum(1.0 + np.log(np.exp(-((50 * y + LOBE) ** 2)) + np.exp(-((50 * y - LOBE) ** 2))), 0.0)) / 50


def shell() -> Mesh:
    """The far half of the cavity's wall, as triangles."""
    y, turn = np.linspace(-0.042, 0.042, 61), np.linspace(0.5 * np.pi, 1.5 * np.pi, 25)
    Y, T = np.meshgrid(y, turn, indexing="ij")
    corners = np.stack([radius(Y) * np.cos(T), Y, radius(Y) * np.sin(T)], axis=-1).reshape(-1, 3)
    i = (np.arange(60)[:, None] * 25 + np.arange(24)).ravel()
    faces = np.concatenate([np.stack([i, i + 1, i + 26], axis=1), np.stack([i, i + 26, i + 25], axis=1)])
    return mesh((corners, np.concatenate([faces, faces[:, ::-1]])), display_only=True, colour="#c9ced6")


def pendulum() -> jd.Model:
    """Two bars and a ball joint; the first hangs with its pin in a cavity of the ground (García Orden & Goicolea, case 7.1, shorter bars)."""
    m = jd.Model("pendulum in a cavity", gravity=(0, 0, -10))
    across = MASS * LENGTH**2 / 12
    bar = capsule(0.004, LENGTH, axis="z").at(0, 0, -LENGTH / 2)
    inertia = (across, across, MASS * 0.006**2 / 2)
    upper = m.body("upper", MASS, (0, 0, -LENGTH / 2), inertia, shape=[bar, sphere(0.006, colour="#e4572e")], colour="#4269d0")
    lower = m.body("lower", MASS, (0, 0, -LENGTH / 2), inertia, shape=bar, colour="#6cc5b0")
    m.free("pin", m.ground, upper)
    m.spherical("elbow", upper.at(0, 0, -LENGTH), lower)
    lower.frame("tip", (0, 0, -LENGTH))
    m.ground.shapes.append(shell())
    p = m.sensor("place", upper)
    outside = 1 - sum(exp(1 - (50 * p.x) ** 2 - (50 * p.y + side) ** 2 - (50 * p.z) ** 2) for side in (-LOBE, LOBE))
    energy = STIFFNESS / 5 * maximum(outside, 0.0) ** 5
    wall = m.load("wall", upper, force=[-g for g in gradient(energy, [p.x, p.y, p.z])])
    wall.potential = energy
    return m


if __name__ == "__main__":
    directors = pendulum().compile(formulation="directors")
    half = sqrt(0.5)
    level = {"pin.orientation.e0": half, "pin.orientation.e2": -half, "elbow.orientation.e0": half, "elbow.orientation.e1": half}
    sol = directors.simulate(level, t=5.0, step=0.002, tolerance=1e-14)
    energies = {"energy-momentum": (sol.t, sol["step.energy.total"])}
    for method, name in (("trapezoidal", "trapezoidal rule"), ("backward-euler", "backward Euler")):
        run = directors.assembled(level).simulate(5.0, 0.002, method)
        energies[name] = run.t, run["energy.total"]
    for name, (_, energy) in energies.items():
        print(f"{name:16s} energy 0 J at the start, {energy.min():.2g} … {energy.max():.2g} J later")

    Path("out").mkdir(exist_ok=True)
    with house_style():
        figure = new_figure(10.0, 4.0)
        path, books = figure.subplots(1, 2)
        y = np.linspace(-0.042, 0.042, 800)
        path.fill_between(1e3 * y, -1e3 * radius(y), 1e3 * radius(y), color="#eef0f4")
        path.plot(1e3 * sol["pin.y"], 1e3 * sol["pin.z"], linewidth=0.5)
        path.set(title="path of the pin in the cavity", xlabel="y [mm]", ylabel="z [mm]", aspect="equal")
        for name, (t, energy) in energies.items():
            books.plot(t, energy, label=name)
        books.set(title="total energy in steps of 2 ms", xlabel="time [s]", ylabel="energy [J]", ylim=(-1.2, 1.2))
        books.legend()
        finish(figure, "out/clearance_plot.png", False)
    sol.between(0.0, 1.2).save_picture("out/clearance.png", trace=["lower.tip", "upper"])
    sol.save_page("out/clearance.html", plots=[["pin.y", "pin.z"], "step.energy.total"], trace=["lower.tip", "upper"])
    print("wrote out/clearance.png, out/clearance_plot.png and out/clearance.html")
