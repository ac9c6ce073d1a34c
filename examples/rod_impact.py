"""A ball strikes a rod: waves in microseconds, a tone for a second, the swing for as long as one likes; restitution is computed, not guessed.

python examples/rod_impact.py
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.model.shapes import box, cylinder, sphere
from jourdain.results.style import finish, house_style, new_figure

WIRES = 0.2  # m, of the suspension
BALL = jd.contact.ball(0.015, E=210e9, nu=0.3, density=7780.0)
MATERIAL = {"E": 71.08e9, "nu": 0.33, "density": 2710.0}
ROD = jd.contact.rod(1.0, 0.01, **MATERIAL)
#: The same rod on wires, with the damping of its material and of the air.
HUNG = jd.contact.rod(1.0, 0.01, **MATERIAL, viscosity=3.6914e-8, suspension=WIRES, drag=0.162)


def pendulums() -> jd.Model:
    """Ball and rod on wires, rigid: where they meet, velocities jump by the impulse with e(v) of the waves in the rod."""
    m = jd.Model("rod impact")
    e = jd.restitution(BALL, ROD, speed=0.3, model="waves").table(0.02, 1.0)
    m.ground.shapes += [box(1.3, 0.03, 0.02).at(0.4, 0, WIRES + 0.01)]
    wire = cylinder(0.0008, WIRES, anchor="start", colour="#555555")
    hung = [cylinder(0.01, 1.0, axis="x", anchor="start", colour="#4a7fb0"), wire.at(0.2, 0, 0), wire.at(0.8, 0, 0)]
    swing = [sphere(0.015, colour="#e4572e").at(-0.015, 0, -WIRES), wire.at(-0.015, 0, -WIRES)]
    one = m.revolute("ball", m.ground.at(0, 0, WIRES), m.body("ball", mass=BALL.mass, com=(0, 0, -WIRES), shape=swing), axis=(0, -1, 0))
    two = m.prismatic("rod", m.ground, m.body("rod", mass=ROD.mass, shape=hung), axis="x")
    m.joint_spring(two, stiffness=ROD.mass * 9.81 / WIRES, damping=HUNG.drag)
    lever = WIRES * jd.cos(one.position)
    approach = lever * one.velocity - two.velocity
    p = (1 + e(jd.maximum(approach, 1e-6))) * approach * BALL.mass * ROD.mass / (BALL.mass + ROD.mass)
    jump = {one.velocity: one.velocity - p / (BALL.mass * lever), two.velocity: two.velocity + p / ROD.mass}
    m.event("strike", WIRES * jd.sin(one.position) - two.position, direction=1, jump=jump)
    return m


def draw(impact: jd.contact.Restitution, run: jd.contact.AdaptiveRun, file: str) -> None:
    """Force and strains, the modes that are left, spectra of later and later windows, restitution over speed."""
    with house_style():
        figure = new_figure(11, 7)
        force, active, spectrum, speed = figure.subplots(2, 2).ravel()
        t = np.linspace(0, 1e-3, 4001)
        for x in (0.3, 0.6):
            force.plot(1e3 * t, 1e6 * impact.history.b.strain(x, t), label=f"strain at {x:g} m, µm/m")
        force.plot(1e3 * impact.history.time, impact.history.force / 20, "k", label="force / 20, N")
        force.set(xlabel="t, ms", xlim=(0, 1), ylim=(-42, 26), title="one pulse runs to and fro")
        later = np.geomspace(1e-5, 10, 2000)
        active.semilogx(later, run.active(later), drawstyle="steps-post")
        active.set(xlabel="t, s", ylabel="active modes N(t)", title=f"100 modes at contact, {run.phases[-1].begin:.2f} s later none")
        samples = run.sampled(1.0, 400e3)
        for begin in (0.0, 0.1, 0.4, 0.8):
            f, s = jd.contact.power_spectrum(*samples, begin=begin)
            spectrum.plot(f / 1e3, 10 * np.log10(s + 1e-20), label=f"from {begin:g} s")
        spectrum.set(xlabel="f, kHz", ylabel="velocity of the end, dB", ylim=(-160, -40), xlim=(0, 25), title="high tones die first")
        v = np.geomspace(0.05, 0.8, 60)
        speed.plot(v, impact.table(0.05, 0.8)(v), label="waves in the rod")
        speed.plot([0.3], [0.625], "o", label="published, near 0.3 m/s")
        speed.set(xlabel="v, m/s", ylabel="e", title="faster impacts leave more in waves")
        for axes, place in ((force, "lower right"), (spectrum, "upper right"), (speed, "upper right")):
            axes.legend(fontsize=8, loc=place)
        finish(figure, file, show=False)


if __name__ == "__main__":
    Path("out").mkdir(exist_ok=True)
    impact = jd.restitution(BALL, ROD, speed=0.3, model="waves")
    print(impact)
    run = jd.contact.strike(BALL, HUNG, speed=0.28, until=10.0, modes=100)
    print(
        f"10 s with {run.active(1e-4)} modes at contact and {run.active(0.2)} after 0.2 s: {run.work:.2g} steps of modes in {run.cpu:.2g} s"
    )
    draw(impact, run, "out/rod_impact_plot.png")

    plate = jd.contact.plate(0.2, 0.0051, E=72.55e9, density=2710.0, viscosity=1.5e-8)
    compact = jd.contact.cylinder(0.07368, 0.03648, E=70.5e9, density=2710.0, viscosity=1.5e-8)
    tone = jd.contact.rod(1.0, 0.01, **MATERIAL, viscosity=1.5e-8)
    for name, body, end in (("rod", tone, 1.0), ("plate", plate, (0.0, 0.0)), ("ball", compact, (0.0, 0.07368))):
        struck = jd.restitution(BALL, body, speed=0.3, cutoff=40e3, **({"modes": 16} if body is tone else {}))
        jd.contact.write_wav(f"out/{name}.wav", jd.contact.sound(struck.history.b, at=end, seconds=1.5))
        print(f"{name}: e = {struck.value:.4f}, {100 * struck.loss:.1f} % of the energy is left in vibration; out/{name}.wav")

    sol = pendulums().compile().simulate({"ball": "-35 deg"}, t=4.0, outputs=801)
    print(f"{sol.statistics['events']} impacts in {sol.t[-1]:g} s")
    sol.save_picture("out/rod_impact.png", t=0.0)
    sol.save_page("out/rod_impact.html", plots=["ball.angle", "rod.displacement"])
    print("wrote out/rod_impact.png, out/rod_impact_plot.png and out/rod_impact.html")
