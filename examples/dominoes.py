"""A ball rolls into a row of dominoes: rigid contact with friction, step by step."""

import numpy as np

import jourdain as jd

m = jd.Model("dominoes")
m.ground.shapes.append(jd.box(1.2, 0.4, 0.02, colour="#d8cfc0").at(0.3, 0.0, -0.01))

start = {}
for k in range(12):
    domino = m.body(f"domino{k}", shape=jd.box(0.008, 0.024, 0.048, density=1100.0))
    m.free(f"free{k}", m.ground, domino)
    start |= {f"free{k}.x": 0.025 * k, f"free{k}.z": 0.024}

ball = m.body("ball", shape=jd.sphere(0.012, density=7800.0))
m.free("roll", m.ground, ball)
start |= {"roll.x": -0.06, "roll.z": 0.012, "roll.x_rate": 0.5}

m.contact("touch", law=jd.contact.rigid(friction=0.3, restitution=0.2))

s = m.compile()
run = s.simulate(start, t=0.8, method="moreau", step=5e-4)

down = [k for k in range(12) if run[f"free{k}.z"][-1] < 0.02]
front = [run.t[np.argmax(run[f"free{k}.z"] < 0.022)] for k in (3, 8)]
print(f"{len(down)} of 12 dominoes are down; the wave runs at {5 * 0.025 / (front[1] - front[0]):.2f} m/s")
print(run.contacts.summary())
