"""Arches of dry stone: one stands, one a little thinner opens five hinges and falls; who carries whom is found by statics with friction.

python examples/arch.py
"""

import math
from pathlib import Path

import numpy as np

import jourdain as jd

STONES = 5  # in each half
STANDS, FALLS = 0.13, 0.085  # thickness in parts of the mean radius of 1 m; the least is 0.1075 for ever more stones (Milankovitch 1907)


def voussoir(k: int, thick: float) -> list[tuple[float, float]]:
    """Corners (x, z) of stone k, from the crown on."""
    a, b = (0.5 * math.pi * j / STONES for j in (k, k + 1))
    return [(r * math.sin(x), r * math.cos(x)) for r, x in ((1 - thick / 2, a), (1 + thick / 2, a), (1 + thick / 2, b), (1 - thick / 2, b))]


def arch(thick: float = STANDS) -> jd.Model:
    """Half a circle of stones on the floor, held by nothing but weight and friction."""
    m = jd.Model("arch")
    m.ground.shapes.append(jd.box(3.0, 1.0, 0.1, colour="#d8cfc0").at(0, 0, -0.05))
    for k in range(STONES):
        for side, sign in (("left", -1.0), ("right", 1.0)):
            profile = [(z, sign * x) for x, z in voussoir(k, thick)]
            colour = "#8c6f56" if (k + (sign > 0)) % 2 else "#a5886d"
            stone = m.body(f"{side}{k}", shape=jd.prism(profile, 0.3, density=2000.0, axis="y", colour=colour))
            m.free(f"free.{side}{k}", m.ground, stone)
    m.contact("joints", law=jd.contact.rigid(friction=0.8))
    return m


if __name__ == "__main__":
    Path("out").mkdir(exist_ok=True)
    found = arch(STANDS).compile().equilibrium({})
    weight = 2000.0 * 9.81 * 0.3 * 0.5 * math.pi * ((1 + STANDS / 2) ** 2 - (1 - STANDS / 2) ** 2)
    floor = [touch for touch in found.contacts if "ground" in (touch.body_a, touch.body_b)]
    thrust = sum(abs(touch.force[0]) for touch in floor) / 2
    print(f"thickness {STANDS:g}: it stands, {sum(abs(touch.force[2]) for touch in floor):.0f} N on the floor, thrust {thrust:.0f} N")
    print(f"its stones weigh {weight:.0f} N as a ring; as prisms {sum(abs(t.force[2]) for t in floor) / weight:.3f} of that")
    try:
        arch(FALLS).compile().equilibrium({})
    except jd.JourdainError as error:
        print(error)
    sol = arch(FALLS).compile().simulate({}, t=0.6, method="moreau", step=1e-3, tolerance=1e-6)
    print(
        f"thickness {FALLS:g}: after 0.6 s the crown is {1 - np.max([sol[f'free.{s}0.z'][-1] + 1 for s in ('left', 'right')]):.2f} m lower"
    )
    print(sol.contacts.summary())
    calm = arch(STANDS).compile().simulate({}, t=0.03, method="moreau", step=1e-3)
    print(
        f"the thick one moves by {max(np.abs(calm[n]).max() for n in calm.names if n.endswith(('.x', '.z')) and n.startswith('free')):.1e} m meanwhile"
    )
    calm.save_picture("out/arch.png", t=0.02, forces=["joints"])
    sol.plot("free.left0.z", "free.right0.z", "contacts.acting", file="out/arch_plot.png")
    sol.save_picture("out/arch_falls.png", t=0.45)
    sol.resample(200).save_page("out/arch.html", plots=["free.left0.z", "contacts.acting"])
    print("wrote out/arch.png, out/arch_plot.png and out/arch.html; out/arch_falls.png is the thin one")
