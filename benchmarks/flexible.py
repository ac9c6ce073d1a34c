"""Mechanisms with bars of finite elements, reduced after Craig and Bampton, against Exudyn's floating frame of reduced order.

Both get the same matrices and the same shapes: blocks of hexahedra with a rigid interface at each end.  A pendulum hangs by one of them; in a slider-crank the bar is the
rod between a rigid crank and a slider; an arm has two bars one behind the other.  All start at rest, stretched along x, and fall.  Exudyn runs its
generalized-α method (ρ = 0.9, modified Newton, dense solver, one thread, the module without range checks); Jourdain the same method with the same
steps.  Errors are those of the tip against a run of the same program with steps 16 times as short.

    python -m benchmarks.flexible [--cases pendulum slider-crank arm] [--modes 8 24] [--steps 200 400]
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
CASES = ("pendulum", "slider-crank", "arm")
CRANK, CRANK_MASS, CRANK_INERTIA = 0.15, 0.3, (1e-4, 6e-4, 6e-4)
SLIDER_MASS, SLIDER_INERTIA = 0.2, (1e-4, 1e-4, 1e-4)
Y, Z = SIZE[1] / 2, SIZE[2] / 2


def structure() -> st.Structure:
    part = st.block(SIZE, CELLS, st.Material(2.1e9, 0.3, 1000.0), name="bar")
    part.interface("left", "x-")
    part.interface("right", "x+")
    return part


def best(run: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """The shortest of several processor times, s (both programs run in one thread), and the last result."""
    shortest, found = np.inf, None
    for _ in range(repeat):
        begin = time.process_time()
        found = run()
        shortest = min(shortest, time.process_time() - begin)
    return shortest, found


# --- Jourdain ----------------------------------------------------------------------------------------------------


class Ours:
    """A mechanism, compiled."""

    def __init__(self, case: str, modes: int) -> None:
        part = structure()
        self.tip = int(part.interfaces["right"].nodes[0])
        begin = time.perf_counter()
        m = jd.Model(case)
        body = m.flexible_body("bar", part.craig_bampton(modes))
        if case == "slider-crank":
            crank = m.body("crank", mass=CRANK_MASS, com=(CRANK / 2, 0, 0), inertia=CRANK_INERTIA)
            m.revolute("main", m.ground.at(0, Y, Z), crank, axis="y")
            m.revolute("pin", crank.at(CRANK, 0, 0), body.node("left"), axis="y")
            slider = m.body("slider", mass=SLIDER_MASS, inertia=SLIDER_INERTIA)
            m.prismatic("guide", m.ground.at(CRANK + SIZE[0], Y, Z), slider, axis="x")
            m.revolute("wrist", body.node("right"), slider, axis="y", cut=True)
        else:
            m.revolute("hinge", m.ground.at(0, Y, Z), body.node("left"), axis="y")
        if case == "arm":
            second = m.flexible_body("second", part.craig_bampton(modes))
            m.revolute("elbow", body.node("right"), second.node("left"), axis="y")
            body = second
        sensor = m.sensor("tip", body.node(self.tip))
        for k, name in enumerate("xyz"):
            m.output(name, sensor.position[k])
        self.system = m.compile()
        self.start = self.system.assemble() if case == "slider-crank" else self.system.state()
        self.run(method="generalized-alpha", step=END / 10)
        self.ready = time.perf_counter() - begin

    def run(self, **options: Any) -> np.ndarray:
        sol = self.system.simulate(self.start, t=END, **options)
        return np.array([sol[k][-1] for k in "xyz"])

    def stepped(self, steps: int) -> np.ndarray:
        return self.run(method="generalized-alpha", step=END / steps)


# --- Exudyn ------------------------------------------------------------------------------------------------------


class Exudyn:
    """The mechanism by ObjectFFRFreducedOrder; a run begins anew each time."""

    def __init__(self, case: str, modes: int) -> None:
        sys.exudynFast = True  # type: ignore[attr-defined]  # before the first import: the module without range checks
        import exudyn as exu
        import scipy.sparse as sp
        from exudyn import FEM
        from exudyn import itemInterface as items

        part = structure()
        begin = time.perf_counter()
        self.exu, self.items, self.container = exu, items, exu.SystemContainer()
        self.mbs = self.container.AddSystem()
        fem = FEM.FEMinterface()
        fem.nodes = {"Position": part.nodes.copy()}
        fem.massMatrix, fem.stiffnessMatrix = sp.csr_matrix(part.M), sp.csr_matrix(part.K)
        fem.elements = [{"Name": "block", "Hex8": []}]
        self.ends = {n: [int(i) for i in part.interfaces[n].nodes] for n in ("left", "right")}
        fem.ComputeHurtyCraigBamptonModes(list(self.ends.values()), nEigenModes=modes, computationMode=FEM.HCBstaticModeSelection.RBE2)
        self.reduced = FEM.ObjectFFRFreducedOrderInterface(fem)
        body = self._bar(CRANK if case == "slider-crank" else 0.0)
        if case == "slider-crank":
            self._slider_crank(body)
        else:
            self._hinge(self._fixed(0.0), self._end(body, "left"))
        if case == "arm":
            second = self._bar(SIZE[0])
            self._hinge(self._end(body, "right"), self._end(second, "left"))
            body = second
        position = exu.OutputVariableType.Position
        tip = self.ends["right"][0]
        self.sensor = self.mbs.AddSensor(
            items.SensorSuperElement(bodyNumber=body, meshNodeNumber=tip, outputVariableType=position, writeToFile=False)
        )
        self.mbs.Assemble()
        self.ready = time.perf_counter() - begin

    def _bar(self, x: float) -> Any:
        return self.reduced.AddObjectFFRFreducedOrder(self.mbs, positionRef=[x, 0, 0], gravity=[0, 0, -9.81])["oFFRFreducedOrder"]

    def _fixed(self, x: float) -> Any:
        ground = self.mbs.AddObject(self.items.ObjectGround(referencePosition=[x, Y, Z]))
        return self.mbs.AddMarker(self.items.MarkerBodyRigid(bodyNumber=ground))

    def _end(self, body: Any, name: str) -> Any:
        nodes = self.ends[name]
        weights = [1 / len(nodes)] * len(nodes)
        return self.mbs.AddMarker(
            self.items.MarkerSuperElementRigid(bodyNumber=body, meshNodeNumbers=np.array(nodes), weightingFactors=weights)
        )

    def _hinge(self, first: Any, second: Any, free: int = 4) -> None:
        """A joint that leaves one axis free: 4 the rotation about y, 0 the translation along x."""
        self.mbs.AddObject(self.items.GenericJoint(markerNumbers=[first, second], constrainedAxes=[int(k != free) for k in range(6)]))

    def _rigid(self, mass: float, inertia: Any, x: float) -> Any:
        node = self.mbs.AddNode(self.items.NodeRigidBodyEP(referenceCoordinates=[x, Y, Z, 1, 0, 0, 0]))
        body = self.mbs.AddObject(self.items.ObjectRigidBody(mass=mass, inertia=[*inertia, 0, 0, 0], nodeNumber=node))
        marker = self.mbs.AddMarker(self.items.MarkerBodyMass(bodyNumber=body))
        self.mbs.AddLoad(self.items.LoadMassProportional(markerNumber=marker, loadVector=[0, 0, -9.81]))
        return body

    def _at(self, body: Any, x: float) -> Any:
        return self.mbs.AddMarker(self.items.MarkerBodyRigid(bodyNumber=body, localPosition=[x, 0, 0]))

    def _slider_crank(self, rod: Any) -> None:
        crank = self._rigid(CRANK_MASS, CRANK_INERTIA, CRANK / 2)  # inertia about its centre of mass
        slider = self._rigid(SLIDER_MASS, SLIDER_INERTIA, CRANK + SIZE[0])
        self._hinge(self._fixed(0.0), self._at(crank, -CRANK / 2))
        self._hinge(self._at(crank, CRANK / 2), self._end(rod, "left"))
        self._hinge(self._fixed(CRANK + SIZE[0]), self._at(slider, 0.0), free=0)
        self._hinge(self._end(rod, "right"), self._at(slider, 0.0))

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
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--modes", type=int, nargs="+", default=[8, 24], help="modes with the interfaces held; 6 static shapes join them")
    parser.add_argument("--steps", type=int, nargs="+", default=[200, 400])
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    for case in given.cases:
        for modes in given.modes:
            compare(case, modes, given.steps, given.repeat)


def compare(case: str, modes: int, steps: list[int], repeat: int) -> None:
    """One mechanism with one number of modes in both programs."""
    ours, theirs = Ours(case, modes), Exudyn(case, modes)
    references = [program.stepped(REFINED * max(steps)) for program in (ours, theirs)]
    print(f"{case}, {modes + 6} modes a bar: first run ready in {ours.ready:.2f} s, Exudyn assembled in {theirs.ready:.2f} s")
    print(f"  tips at the end differ by {np.abs(references[0] - references[1]).max():.2e} m (floating frames differ in the second order)")
    for n in steps:
        found = [best(partial(program.stepped, n), repeat) for program in (ours, theirs)]
        errors = [np.abs(y - r).max() for (_, y), r in zip(found, references, strict=True)]
        (a, _), (b, _) = found
        print(
            f"  {n:5d} steps: {1e3 * a:8.2f} ms (error {errors[0]:.1e}), Exudyn {1e3 * b:8.2f} ms (error {errors[1]:.1e}): {b / a:.1f} ×",
            flush=True,
        )


if __name__ == "__main__":
    main()
