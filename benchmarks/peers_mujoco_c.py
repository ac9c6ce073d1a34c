"""Tree dynamics by MuJoCo's functions in C, and its rollouts, for :mod:`benchmarks.best_peers`."""

from __future__ import annotations

import ctypes
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from benchmarks.best_peers import BUILT, HERE, STATES, least, made
from benchmarks.dynamics import ROBOTS, urdf_path

#: As the C program numbers them.
WHAT = {"inverse_dynamics": 0, "mass_matrix": 1, "forward_dynamics": 2}
STEP = 1e-3


def model(name: str) -> Any:
    """A robot without shapes, actuators, contacts and constraints."""
    import mujoco

    file, base = ROBOTS[name]
    root = ElementTree.parse(urdf_path(file)).getroot()
    for link in root.iter("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    for tag in ("gazebo", "transmission", "mujoco"):
        for element in root.findall(tag):
            root.remove(element)
    children = {j.find("child").get("link") for j in root.findall("joint")}  # type: ignore[union-attr]
    (first,) = (link.get("name", "") for link in root.findall("link") if link.get("name") not in children)
    if base == "free":
        ElementTree.SubElement(root, "link", name="outside")
        joint = ElementTree.SubElement(root, "joint", name="float", type="floating")
        ElementTree.SubElement(joint, "parent", link="outside")
        ElementTree.SubElement(joint, "child", link=first)
    settings = ElementTree.SubElement(root, "mujoco")
    ElementTree.SubElement(settings, "compiler", balanceinertia="true", fusestatic="true", strippath="true")
    made_of = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))
    made_of.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    made_of.dof_damping[:] = made_of.dof_frictionloss[:] = made_of.dof_armature[:] = 0.0
    made_of.opt.timestep = STEP
    return made_of


def library() -> Any:
    """The loop over MuJoCo's functions."""
    import mujoco

    home = Path(mujoco.__file__).parent
    (shared,) = home.glob("libmujoco.so*")
    target, source = BUILT / "mujoco_loop.so", HERE / "mujoco_loop.c"
    command = [
        "gcc",
        "-O3",
        "-march=native",
        "-fPIC",
        "-shared",
        f"-I{home}/include",
        str(source),
        str(shared),
        f"-Wl,-rpath,{home}",
        "-o",
        str(target),
    ]
    return ctypes.CDLL(str(made(target, [source], command)))


class MuJoCo:
    """A robot with random states of MuJoCo's own order."""

    def __init__(self, name: str) -> None:
        import mujoco

        self.m = model(name)
        self.d = mujoco.MjData(self.m)
        rng = np.random.default_rng(0)
        self.q, self.v, self.a = (
            rng.uniform(-1, 1, (STATES, self.m.nq)),
            rng.normal(size=(STATES, self.m.nv)),
            rng.normal(size=(STATES, self.m.nv)),
        )
        if ROBOTS[name][1] == "free":
            self.q[:, 3:7] /= np.linalg.norm(self.q[:, 3:7], axis=1)[:, None]
        self._loop = library().loop

    def run(self, what: int, n: int, q: np.ndarray, v: np.ndarray, a: np.ndarray, out: np.ndarray) -> None:
        """The function on n states, or n steps."""
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (q, v, a, out)]
        self._loop(ctypes.c_void_p(self.m._address), ctypes.c_void_p(self.d._address), ctypes.c_int(what), ctypes.c_longlong(n), *pointers)

    def us(self) -> dict[str, float]:
        """µs a state of each function."""
        out = np.zeros((STATES, self.m.nv * self.m.nv))
        return {f: least(lambda k=k: self.run(k, STATES, self.q, self.v, self.a, out), 30) / STATES * 1e6 for f, k in WHAT.items()}

    def rollout_us(self, states: int = 16, steps: int = 200) -> float:
        """µs a step of ``mujoco.rollout`` on one thread (Euler's method)."""
        import mujoco
        from mujoco import rollout

        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        begin = np.zeros((states, mujoco.mj_stateSize(self.m, kind)))
        for i in range(states):
            self.d.qpos[:], self.d.qvel[:] = self.q[i], 0.1 * self.v[i]
            mujoco.mj_getState(self.m, self.d, begin[i], kind)
        return least(lambda: rollout.rollout(self.m, [self.d], begin, nstep=steps), 8) / (states * steps) * 1e6


def ours_step_us(system: Any, steps: int = 400) -> float:
    """µs a step of Euler's method in one of our runs."""
    rng = np.random.default_rng(0)
    start = system.state().with_values(v=0.1 * rng.normal(size=system.nv))
    run = lambda n: least(lambda: system.simulate(start, n * STEP, method="euler", step=STEP, dense=False), 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Euler's method is as inexact as it is
        run(1)
        return (run(steps) - run(1)) / (steps - 1) * 1e6
