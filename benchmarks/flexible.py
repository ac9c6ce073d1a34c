"""A pendulum of finite elements, reduced after Craig and Bampton, against Exudyn's floating frame of reduced order.

Both get the same matrices and the same shapes: a block of hexahedra with a rigid interface at each end, hung by a hinge at one of them under its weight.  Exudyn runs its
generalized-α method (ρ = 0.9, modified Newton, dense solver, one thread, the module without range checks); Jourdain the same method with the same
steps.  Errors are those of the tip against a run of the same program with steps 16 times as short.

    python -m benchmarks.flexible [--modes 8 24] [--steps 200 400]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import jourdain as jd

st = jd.structures
SIZE, CELLS, END = (0.5, 0.03, 0.02), (20, 2, 2), 0.2
REFINED = 16


def structure() -> st.Structure:
    part = st.block(SIZE, CELLS, st.Material(2.1e9, 0.3, 1000.0), name="bar")
    part.interface("left", "x-")
    part.interface("right", "x+")
    return part


def best(run: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """The shortest of several times, s, and the last result."""
    shortest, found = np.inf, None
    for _ in range(repeat):
        begin = time.perf_counter()
        found = run()
        shortest = min(shortest, time.perf_counter() - begin)
    return shortest, found


# --- Jourdain ----------------------------------------------------------------------------------------------------


class Ours:
    """The pendulum, compiled."""

    def __init__(self, modes: int) -> None:
        part = structure()
        self.tip = int(part.interfaces["right"].nodes[0])
        begin = time.perf_counter()
        m = jd.Model("pendulum")
        body = m.flexible_body("bar", part.craig_bampton(modes))
        m.revolute("hinge", m.ground.at(0, SIZE[1] / 2, SIZE[2] / 2), body.node("left"), axis="y")
        sensor = m.sensor("tip", body.node(self.tip))
        for k, name in enumerate("xyz"):
            m.output(name, sensor.position[k])
        self.system = m.compile()
        self.start = self.system.state()
        self.run(method="generalized-alpha", step=END / 10)
        self.ready = time.perf_counter() - begin

    def run(self, **options: Any) -> np.ndarray:
        sol = self.system.simulate(self.start, t=END, **options)
        return np.array([sol[k][-1] for k in "xyz"])

    def stepped(self, steps: int) -> np.ndarray:
        return self.run(method="generalized-alpha", step=END / steps)


# --- Exudyn ------------------------------------------------------------------------------------------------------


class Exudyn:
    """The pendulum by ObjectFFRFreducedOrder; a run begins anew each time."""

    def __init__(self, modes: int) -> None:
        sys.exudynFast = True  # type: ignore[attr-defined]  # before the first import: the module without range checks
        import exudyn as exu
        import scipy.sparse as sp
        from exudyn import FEM
        from exudyn import itemInterface as items

        part = structure()
        begin = time.perf_counter()
        fem = FEM.FEMinterface()
        fem.nodes = {"Position": part.nodes.copy()}
        fem.massMatrix, fem.stiffnessMatrix = sp.csr_matrix(part.M), sp.csr_matrix(part.K)
        fem.elements = [{"Name": "block", "Hex8": []}]
        left, right = ([int(i) for i in part.interfaces[n].nodes] for n in ("left", "right"))
        fem.ComputeHurtyCraigBamptonModes([left, right], nEigenModes=modes, computationMode=FEM.HCBstaticModeSelection.RBE2)
        reduced = FEM.ObjectFFRFreducedOrderInterface(fem)
        self.exu, self.container = exu, exu.SystemContainer()
        self.mbs = self.container.AddSystem()
        body = reduced.AddObjectFFRFreducedOrder(self.mbs, positionRef=[0, 0, 0], gravity=[0, 0, -9.81])["oFFRFreducedOrder"]
        ground = self.mbs.AddObject(items.ObjectGround(referencePosition=[0, SIZE[1] / 2, SIZE[2] / 2]))
        fixed = self.mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=ground))
        weights = [1 / len(left)] * len(left)
        held = self.mbs.AddMarker(items.MarkerSuperElementRigid(bodyNumber=body, meshNodeNumbers=np.array(left), weightingFactors=weights))
        self.mbs.AddObject(items.GenericJoint(markerNumbers=[fixed, held], constrainedAxes=[1, 1, 1, 1, 0, 1]))
        position = exu.OutputVariableType.Position
        self.sensor = self.mbs.AddSensor(
            items.SensorSuperElement(bodyNumber=body, meshNodeNumber=right[0], outputVariableType=position, writeToFile=False)
        )
        self.mbs.Assemble()
        self.ready = time.perf_counter() - begin

    def stepped(self, steps: int) -> np.ndarray:
        s = self.exu.SimulationSettings()
        s.solution.file.write, s.solution.sensors.active, s.solution.solverInformationFileName = False, False, ""
        s.parallel.numberOfThreads = 1
        s.linearSolver.solverType = self.exu.LinearSolverType.EXUdense
        t = s.timeIntegration
        t.endTime, t.numberOfSteps, t.verboseMode, t.stepInformation = END, steps, 0, 0
        t.generalizedAlpha.spectralRadius, t.newton.useModifiedNewton = 0.9, True
        self.mbs.SolveDynamic(s)
        return np.array(self.mbs.GetSensorValues(self.sensor))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--modes", type=int, nargs="+", default=[8, 24], help="modes with the interfaces held; 6 static shapes join them")
    parser.add_argument("--steps", type=int, nargs="+", default=[200, 400])
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    for modes in given.modes:
        ours, theirs = Ours(modes), Exudyn(modes)
        references = [program.stepped(REFINED * max(given.steps)) for program in (ours, theirs)]
        print(f"{modes + 6} modes: first run ready in {ours.ready:.2f} s, Exudyn assembled in {theirs.ready:.2f} s")
        print(
            f"  tips at the end differ by {np.abs(references[0] - references[1]).max():.2e} m (floating frames differ in the second order)"
        )
        for steps in given.steps:
            found = [best(partial(program.stepped, steps), given.repeat) for program in (ours, theirs)]
            errors = [np.abs(y - r).max() for (_, y), r in zip(found, references, strict=True)]
            (a, _), (b, _) = found
            print(
                f"  {steps:5d} steps: {1e3 * a:8.2f} ms (error {errors[0]:.1e}), Exudyn {1e3 * b:8.2f} ms (error {errors[1]:.1e}): {b / a:.1f} ×"
            )


if __name__ == "__main__":
    main()
