"""The double pendulum: closed-form equations as text and LaTeX, the same equations as C, and two runs that part ways.

python examples/double_pendulum.py
jourdain equations examples/double_pendulum.py:double_pendulum --latex
jourdain export examples/double_pendulum.py:double_pendulum --standalone --set upper=2 -o out
"""

from pathlib import Path

import jourdain as jd
from jourdain.formalisms.explicit import explicit_equations
from jourdain.results.plots import compare
from jourdain.view import save_page, save_picture, scene_of


def double_pendulum() -> jd.Model:
    """Two point masses on massless rods."""
    m = jd.Model("double pendulum")
    m1, m2, l1, l2 = m.parameters(m1=1.0, m2=1.0, l1=0.5, l2=0.5)
    first = m.body("first", mass=m1, com=(0, 0, -l1))
    second = m.body("second", mass=m2, com=(0, 0, -l2))
    second.frame("mass", (0, 0, -l2))
    m.revolute("upper", m.ground, first, axis="y")
    m.revolute("lower", first.at(0, 0, -l1), second, axis="y")
    return m


if __name__ == "__main__":
    model = double_pendulum()
    equations = explicit_equations(model, names={"upper.angle": "alpha", "lower.angle": "beta"})
    print(equations)
    print(equations.latex())

    system = model.compile()
    f = system.function("forward_dynamics")
    print(f"accelerations: {f.operations}")
    print(f.source("c"))

    runs = [system.simulate({"upper": 2.0 + offset}, t=15.0, rtol=1e-11) for offset in (0.0, 1e-8)]
    energy = runs[0]["energy.total"]
    print(f"energy drift {abs(energy - energy[0]).max():.1e} J")

    Path("out").mkdir(exist_ok=True)
    title = "two starts that differ by 1e-8 rad"
    compare(runs, "lower.angle", ["2 rad", "2 rad + 1e-8"], title=title, file="out/double_pendulum_plot.png")
    last = scene_of([run.between(10.0, 15.0) for run in runs], plots=["lower.angle"], trace=["second.mass"])
    save_picture(last, "out/double_pendulum.png", t=14.0)
    save_page(last, "out/double_pendulum.html")
    print("wrote out/double_pendulum.png, out/double_pendulum_plot.png and out/double_pendulum.html")
