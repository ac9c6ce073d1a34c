"""Contacts besides piles against peers: a stack, an arch and dominoes (MuJoCo; Drake and DART: ``contact_peers.py``), a quadruped (MuJoCo), surfaces that give way (Exudyn), batches on two cores.

python -m benchmarks.contact_machines [stack|arch|dominoes|stands|trots|penalty|batch …]

Processor time of one thread, the least of three runs, for a second of motion.  MuJoCo with its Newton solver and elliptic cones, contacts as hard as it runs
with stably (solref of two steps).  Errors: of the stack how far its top sinks, of the arch how far its stones go, of dominoes the instant at which the last falls against the same program at fine
steps (1/16 ms, MuJoCo 1/32 ms), of the quadruped how far its trunk is after a second from where the same program has it at steps of 1/64 ms.  Exudyn's spheres are mass points, ours bodies that
turn; both by velocity Verlet, the same stiffness, damping and step, no friction (where surfaces part ours do not pull, Exudyn's do until they are apart), and depths at the same instants.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import jourdain as jd

from .contact import least_time, places

HARD = 'solref="{solref} 1" solimp="0.99 0.999 1e-4"'
DATA = Path(__file__).parents[1] / "examples" / "data" / "quadruped.urdf"
LEGS = {"FR": 0.0, "RL": 0.0, "FL": math.pi, "RR": math.pi}
THIGH, CALF, HEIGHT, KP, KD = 0.8, -1.6, 2 * 0.2 * math.cos(0.8) + 0.02, 80.0, 2.0


def told(what: str, rows: dict[str, dict[str, float]]) -> None:
    """Prints rows."""
    for name, row in rows.items():
        print(f"{what:22} {name:24} " + "  ".join(f"{key} {x:.4g}" for key, x in row.items()), flush=True)


def boxes_of_mujoco(bodies: str, step: float, meshes: str = "", friction: float = 0.5) -> Any:
    """A model and its data: a plane and some bodies."""
    import mujoco as mj

    geom = HARD.format(solref=2 * step)
    model = mj.MjModel.from_xml_string(
        f'<mujoco><option timestep="{step}" cone="elliptic" solver="Newton" integrator="implicitfast"/><default><geom friction="{friction} 0 0" condim="3" {geom}/>'
        f'</default><asset>{meshes}</asset><worldbody><geom type="plane" size="9 9 1"/>{bodies}</worldbody></mujoco>'
    )
    return model, mj.MjData(model)


def run_of_mujoco(model: Any, data: Any, count: int) -> Callable[[], None]:
    """A run from the start."""
    import mujoco as mj

    def run() -> None:
        mj.mj_resetData(model, data)
        mj.mj_step(model, data, count)

    return run


def stack(n: int = 10, side: float = 0.1) -> None:
    """Boxes on each other, at rest from the start."""
    m, start = jd.Model("stack"), dict[str, float]()
    m.ground.shapes.append(jd.plane())
    for i in range(n):
        m.free(f"f{i}", m.ground, m.body(f"b{i}", shape=jd.box(side, side, side, density=1000.0)))
        start[f"f{i}.z"] = side * (i + 0.5)
    m.contact("all", law=jd.contact.rigid(friction=0.5))
    s, top, rows = m.compile(), side * (n - 0.5), dict[str, dict[str, float]]()
    for h in (2e-3, 1e-2):
        sol = s.simulate(start, 1.0, "moreau", step=h)
        used = least_time(lambda h=h: s.simulate(start, 1.0, "moreau", step=h, outputs=2))
        rows[f"Jourdain, {1e3 * h:g} ms"] = {"ms": 1e3 * used, "sinks, m": abs(float(sol[f"f{n - 1}.z"][-1]) - top)}
    half = f"{side / 2} " * 3
    bodies = "".join(
        f'<body pos="0 0 {side * (i + 0.5)}"><freejoint/><geom type="box" size="{half}" density="1000"/></body>' for i in range(n)
    )
    for h in (2e-3, 2.5e-4):
        model, data = boxes_of_mujoco(bodies, h)
        used = least_time(run_of_mujoco(model, data, round(1.0 / h)))
        rows[f"MuJoCo, {1e3 * h:g} ms"] = {"ms": 1e3 * used, "sinks, m": abs(float(data.qpos[7 * (n - 1) + 2]) - top)}
    told(f"stack of {n}", rows)


def arch(stones: int = 5, thick: float = 0.15, deep: float = 0.3, density: float = 2000.0) -> None:
    """Half a circle of dry stones on the floor, at rest from the start (mean radius 1 m): how far any of them goes within a second."""

    def corners(k: int, sign: float) -> list[tuple[float, float]]:
        a, b = (0.5 * math.pi * j / stones for j in (k, k + 1))
        inner, outer = 1.0 - thick / 2, 1.0 + thick / 2
        return [(sign * r * math.sin(x), r * math.cos(x)) for r, x in ((inner, a), (outer, a), (outer, b), (inner, b))]

    all_stones = [corners(k, sign) for k in range(stones) for sign in (-1.0, 1.0)]
    m = jd.Model("arch")
    m.ground.shapes.append(jd.plane())
    for i, profile in enumerate(all_stones):
        shape = jd.prism([(z, x) for x, z in profile], deep, density=density, axis="y")
        m.free(f"f{i}", m.ground, m.body(f"b{i}", shape=shape))
    m.contact("all", law=jd.contact.rigid(friction=0.8))
    s, rows = m.compile(), dict[str, dict[str, float]]()
    for h in (2e-3, 1e-2):
        sol = s.simulate({}, 1.0, "moreau", step=h)
        used = least_time(lambda h=h: s.simulate({}, 1.0, "moreau", step=h, outputs=2))
        ways = [float(np.linalg.norm([sol[f"f{i}.{c}"][-1] - sol[f"f{i}.{c}"][0] for c in "xyz"])) for i in range(len(all_stones))]
        rows[f"Jourdain, {1e3 * h:g} ms"] = {"ms": 1e3 * used, "goes, m": max(ways), "depth, mm": 1e3 * float(sol["contacts.depth"].max())}
    points = [" ".join(f"{x} {y} {z}" for x, z in profile for y in (-deep / 2, deep / 2)) for profile in all_stones]
    meshes = "".join(f'<mesh name="m{i}" vertex="{text}"/>' for i, text in enumerate(points))
    bodies = "".join(f'<body><freejoint/><geom type="mesh" mesh="m{i}" density="{density}"/></body>' for i in range(len(points)))
    for h in (2e-3, 2.5e-4):
        model, data = boxes_of_mujoco(bodies, h, meshes, 0.8)
        used = least_time(run_of_mujoco(model, data, round(1.0 / h)))
        ways = np.linalg.norm((data.qpos - model.qpos0).reshape(-1, 7)[:, :3], axis=1)
        rows[f"MuJoCo, {1e3 * h:g} ms"] = {"ms": 1e3 * used, "goes, m": float(ways.max())}
    told(f"arch of {len(all_stones)}", rows)


def dominoes(n: int = 20, spacing: float = 0.025, span: float = 0.9) -> None:
    """A row, the first piece pushed; when the last one falls."""
    size, speed = (0.008, 0.024, 0.048), 8.0
    m, start = jd.Model("dominoes"), {"f0.orientation.omega_y": speed, "f0.x_rate": 0.5 * size[2] * speed}
    m.ground.shapes.append(jd.plane())
    for i in range(n):
        m.free(f"f{i}", m.ground, m.body(f"b{i}", shape=jd.box(*size, density=1100.0)))
        start |= {f"f{i}.x": spacing * i, f"f{i}.z": 0.5 * size[2]}
    m.contact("all", law=jd.contact.rigid(friction=0.5))
    s, rows = m.compile(), dict[str, dict[str, float]]()
    fallen = lambda t, z: float(np.interp(-0.02, -np.minimum.accumulate(z), t))

    def ours(h: float) -> float:
        sol = s.simulate(start, span, "moreau", step=h, tolerance=1e-4)
        return fallen(sol.t, sol[f"f{n - 1}.z"])

    half = " ".join(str(x / 2) for x in size)
    bodies = "".join(
        f'<body pos="{spacing * i} 0 {size[2] / 2}"><freejoint/><geom type="box" size="{half}" density="1100"/></body>' for i in range(n)
    )

    def theirs(h: float) -> tuple[float, float]:
        import mujoco as mj

        model, data = boxes_of_mujoco(bodies, h)
        model.qpos0[:] = data.qpos
        z, count = [], round(span / h)

        def run() -> None:
            mj.mj_resetData(model, data)
            data.qvel[0], data.qvel[4] = 0.5 * size[2] * speed, speed
            mj.mj_step(model, data, count)

        used = least_time(run)
        mj.mj_resetData(model, data)
        data.qvel[0], data.qvel[4] = 0.5 * size[2] * speed, speed
        for _ in range(count):
            mj.mj_step(model, data)
            z.append(float(data.qpos[7 * (n - 1) + 2]))
        return used, fallen(h * np.arange(1, count + 1), np.array(z))

    fine, peer = ours(1e-3 / 16), theirs(1e-3 / 32)[1]
    for h in (2e-3, 1e-3, 5e-4):
        used = least_time(lambda h=h: s.simulate(start, span, "moreau", step=h, tolerance=1e-4, outputs=2))
        rows[f"Jourdain, {1e3 * h:g} ms"] = {"ms": 1e3 * used, "falls, s": ours(h), "error, s": abs(ours(h) - fine)}
    for h in (2e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4, 6.25e-5):
        used, at = theirs(h)
        rows[f"MuJoCo, {1e3 * h:g} ms"] = {"ms": 1e3 * used, "falls, s": at, "error, s": abs(at - peer)}
    told(f"{n} dominoes", rows)


def targets(leg: str, t: Any, trots: bool, sin: Any, cos: Any, largest: Any, least: Any) -> tuple[Any, Any, Any]:
    """Angles of hip, thigh and calf over time."""
    phase, grow = 4 * math.pi * t + LEGS[leg], least(t, 1.0) if trots else 0.0
    return 0.0, THIGH + 0.16 * grow * sin(phase), CALF - 0.45 * grow * largest(-cos(phase), 0.0)


def robot(trots: bool) -> jd.Model:
    """The robot of the examples, joints held by springs and dampers about moving angles."""
    m = jd.read_urdf(DATA, base="free")
    for leg in LEGS:
        for part, target in zip(("hip", "thigh", "calf"), targets(leg, m.time, trots, jd.sin, jd.cos, jd.maximum, jd.minimum), strict=True):
            joint = m.joints[f"{leg}_{part}_joint"]
            m.force(joint, KP * (target - joint.position) - KD * joint.velocity)
        m.initial |= {f"{leg}_thigh_joint": THIGH, f"{leg}_calf_joint": CALF}
    m.initial["root.z"] = HEIGHT
    m.contact("feet", m.shapes("*_foot"), m.ground, law=jd.contact.rigid(friction=0.8))
    return m


def quadruped(trots: bool) -> None:
    """The robot's place after a second, against the same program at steps of 1/64 ms."""
    s, rows = robot(trots).compile(), dict[str, dict[str, float]]()
    trunk = lambda h: np.array([s.simulate({}, 1.0, "moreau", step=h, outputs=2)[f"root.{c}"][-1] for c in "xyz"])
    fine = trunk(1e-3 / 64)
    for h in (2e-3, 1e-3, 5e-4):
        sol = s.simulate({}, 1.0, "moreau", step=h)
        used = least_time(lambda h=h: s.simulate({}, 1.0, "moreau", step=h, outputs=2))
        rows[f"Jourdain, {1e3 * h:g} ms"] = {
            "µs a step": 1e6 * used * h, "ms": 1e3 * used, "error, mm": 1e3 * float(np.linalg.norm(trunk(h) - fine)),
            "depth, mm": 1e3 * float(sol["contacts.depth"].max()), "residual, m/s": float(sol["contacts.residual"].max()),
        }  # fmt: skip
    runs = {h: _quadruped_of_mujoco(h, trots) for h in (2e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4, 6.25e-5, 1e-3 / 64)}
    for h in (2e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4, 6.25e-5):
        used, at, depth = runs[h]
        away = float(np.linalg.norm(at - runs[1e-3 / 64][1]))
        rows[f"MuJoCo, {1e3 * h:g} ms"] = {"µs a step": 1e6 * used * h, "ms": 1e3 * used, "error, mm": 1e3 * away, "depth, mm": 1e3 * depth}
    told("quadruped " + ("trots" if trots else "stands"), rows)


def _quadruped_of_mujoco(h: float, trots: bool) -> tuple[float, np.ndarray, float]:
    """Time for a second, the trunk's place after it, and the deepest penetration of all steps."""
    import mujoco as mj
    from mujoco import rollout

    spec = mj.MjSpec.from_file(str(DATA))
    spec.option.timestep, spec.option.cone = h, mj.mjtCone.mjCONE_ELLIPTIC
    spec.option.integrator, spec.option.solver = mj.mjtIntegrator.mjINT_IMPLICITFAST, mj.mjtSolver.mjSOL_NEWTON
    spec.compiler.fusestatic = False
    for geom in spec.geoms:
        foot = "foot" in geom.parent.name
        geom.contype, geom.conaffinity = int(foot), int(foot)
        geom.solref, geom.solimp, geom.friction, geom.condim = [2 * h, 1.0], [0.99, 0.999, 1e-4, 0.5, 2], [0.8, 0, 0], 3
    floor = spec.worldbody.add_geom(type=mj.mjtGeom.mjGEOM_PLANE, size=[9, 9, 1], friction=[0.8, 0, 0], condim=3)
    floor.solref, floor.solimp = [2 * h, 1.0], [0.99, 0.999, 1e-4, 0.5, 2]
    base = spec.worldbody.first_body()
    base.add_freejoint()
    base.pos = [0, 0, HEIGHT]
    names = [(leg, k, f"{leg}_{part}_joint") for leg in LEGS for k, part in enumerate(("hip", "thigh", "calf"))]
    for _, _, joint in names:
        act = spec.add_actuator(target=joint, trntype=mj.mjtTrn.mjTRN_JOINT, biastype=mj.mjtBias.mjBIAS_AFFINE)
        act.gainprm[0], act.biasprm[1], act.biasprm[2] = KP, -KP, -KD
    model = spec.compile()
    data: Any = mj.MjData(model)
    for _, k, joint in names:
        data.qpos[model.joint(joint).qposadr[0]] = (0.0, THIGH, CALF)[k]
    count = round(1.0 / h)
    t = h * np.arange(count)
    control = np.stack(
        [np.broadcast_to(targets(leg, t, trots, np.sin, np.cos, np.maximum, np.minimum)[k], count) for leg, k, _ in names], axis=1
    )
    size = mj.mj_stateSize(model, mj.mjtState.mjSTATE_FULLPHYSICS)
    start = np.zeros(size)
    mj.mj_getState(model, data, start, mj.mjtState.mjSTATE_FULLPHYSICS)
    used = least_time(lambda: rollout.rollout(model, data, initial_state=start[None], control=control[None]))
    state, _ = rollout.rollout(model, data, initial_state=start[None], control=control[None])
    mj.mj_setState(model, data, start, mj.mjtState.mjSTATE_FULLPHYSICS)
    deepest = 0.0
    for k in range(count):
        data.ctrl[:] = control[k]
        mj.mj_step(model, data)
        deepest = max(deepest, -float(data.contact.dist.min())) if data.ncon else deepest
    return used, state[0, -1, 1:4].copy(), deepest


def penalty(
    n: int = 300, spans: tuple[float, ...] = (0.1, 0.3, 0.5), step: float = 1e-4, stiffness: float = 1e5, damping: float = 50.0
) -> None:
    """Spheres that fall on a plate by surfaces that give way, without friction; depths where each span ends."""
    radius, at = 0.05, places(n)
    m, start = jd.Model("soft"), dict[str, float]()
    m.ground.shapes.append(jd.plane())
    for i, p in enumerate(at):
        m.free(f"f{i}", m.ground, m.body(f"b{i}", shape=jd.sphere(radius, density=1000.0)))
        start |= {f"f{i}.{c}": float(x) for c, x in zip("xyz", p, strict=True)}
    m.contact("all", law=jd.contact.kelvin_voigt(stiffness=stiffness, damping=damping))
    s = m.compile()
    s.simulate(start, 2 * step, "velocity-verlet", step=step)
    rows: dict[str, dict[str, float]] = {}
    for span in spans:
        used = least_time(lambda span=span: s.simulate(start, span, "velocity-verlet", step=step, outputs=2), 2)
        sol = s.simulate(start, span, "velocity-verlet", step=step, outputs=2)
        end = np.array([[sol[f"f{i}.{c}"][-1] for c in "xyz"] for i in range(n)])
        rows[f"Jourdain, {span:g} s"] = {"µs a step": 1e6 * used * step / span, **_depths(end, radius)}
        try:
            rows[f"Exudyn, {span:g} s"] = _soft_of_exudyn(at, radius, span, step, stiffness, damping)
        except ImportError:
            print("Exudyn is not installed")
    told(f"{n} soft spheres", rows)


def _depths(at: np.ndarray, radius: float) -> dict[str, float]:
    """How deep spheres are in the floor and in each other."""
    from scipy.spatial import cKDTree

    pairs = cKDTree(at).query_pairs(2 * radius, output_type="ndarray")
    near = np.linalg.norm(at[pairs[:, 0]] - at[pairs[:, 1]], axis=1)
    return {
        "in the floor, mm": 1e3 * max(0.0, radius - float(at[:, 2].min())),
        "in each other, mm": 1e3 * (2 * radius - float(near.min(initial=2 * radius))),
    }


def _soft_of_exudyn(at: np.ndarray, radius: float, span: float, step: float, stiffness: float, damping: float) -> dict[str, float]:
    """The same by mass points; a pair has the stiffness of two surfaces in series, and the sum of their dampings (as one sphere on the plate shows)."""
    import exudyn as exu
    from exudyn.itemInterface import LoadMassProportional, MarkerBodyMass, MarkerNodePosition, MassPoint, NodePoint
    from exudyn.utilities import MarkerBodyRigid, ObjectGround

    container = exu.SystemContainer()
    mbs = container.AddSystem()
    contact, mass = mbs.AddGeneralContact(), 1000.0 * 4.0 / 3.0 * math.pi * radius**3
    contact.SetFrictionPairings(np.zeros((1, 1)))
    side, top = float(np.abs(at[:, :2]).max()) + 0.5, float(at[:, 2].max()) + 0.3
    ground = mbs.AddMarker(MarkerBodyRigid(bodyNumber=mbs.AddObject(ObjectGround())))
    corners = [[-side, -side, 0.0], [side, -side, 0.0], [side, side, 0.0], [-side, side, 0.0]]
    contact.AddTrianglesRigidBodyBased(ground, 2 * stiffness, 0.5 * damping, 0, corners, [[0, 1, 2], [0, 2, 3]])
    nodes = []
    for p in at:
        node = mbs.AddNode(NodePoint(referenceCoordinates=list(p)))
        body = mbs.AddObject(MassPoint(physicsMass=mass, nodeNumber=node))
        mbs.AddLoad(LoadMassProportional(markerNumber=mbs.AddMarker(MarkerBodyMass(bodyNumber=body)), loadVector=[0, 0, -9.81]))
        contact.AddSphereWithMarker(mbs.AddMarker(MarkerNodePosition(nodeNumber=node)), radius, 2 * stiffness, 0.5 * damping, 0)
        nodes.append(node)
    cells = max(2, round(side / (2 * radius)))
    contact.SetSearchTreeCellSize([cells, cells, max(2, round(top / (4 * radius)))])
    contact.SetSearchTreeBox([-side, -side, -0.2], [side, side, top])
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = round(span / step), span
    settings.solutionSettings.writeSolutionToFile = settings.solutionSettings.sensorsWritePeriod = 0
    settings.timeIntegration.verboseMode = 0
    settings.parallel.numberOfThreads = 1
    begun = time.process_time()
    mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.VelocityVerlet)
    used = time.process_time() - begun
    end = np.array([mbs.GetNodeOutput(node, exu.OutputVariableType.Position) for node in nodes])
    return {"µs a step": 1e6 * used * step / span, **_depths(end, radius)}


def batch(runs: int = 1000) -> None:
    """Thrown boxes and trotting quadrupeds, each from another start, by one thread and by two."""
    m = jd.Model("thrown")
    m.ground.shapes.append(jd.plane())
    m.free("f", m.ground, m.body("b", shape=jd.box(0.1, 0.07, 0.06, density=700.0)))
    m.contact("all", law=jd.contact.rigid(friction=0.4, restitution=0.3))
    rng = np.random.default_rng(0)
    thrown = [{"f.z": 0.15, "f.x_rate": float(x), "f.orientation.omega_y": float(w)} for x, w in rng.uniform(-2, 2, (runs, 2))]
    robots = [{"root.z": HEIGHT + float(z), "root.x_rate": float(v)} for z, v in rng.uniform(0, 0.1, (runs, 2))]
    for what, model, starts, out in (("boxes", m, thrown, ["f.z"]), ("quadrupeds", robot(True), robots, ["root.x", "root.z"])):
        s, rows = model.compile(), dict[str, dict[str, float]]()
        for workers in (1, 2):
            options: dict[str, Any] = dict(t=0.5, method="moreau", step=1e-3, outputs=out, progress=False, threads=workers)
            s.sweep({}, initial=starts[:20], **options)
            took = []
            for _ in range(2):
                begun = time.perf_counter()
                s.sweep({}, initial=starts, **options)
                took.append(time.perf_counter() - begun)
            rows[f"{workers} threads"] = {"s": min(took), "of ideal": rows["1 threads"]["s"] / min(took) / 2 if rows else 1.0}
        told(f"{runs} {what}", rows)


ALL: dict[str, Callable[[], None]] = {
    "stack": stack, "arch": arch, "dominoes": dominoes, "stands": lambda: quadruped(False), "trots": lambda: quadruped(True), "penalty": penalty, "batch": batch,
}  # fmt: skip

if __name__ == "__main__":
    for word in sys.argv[1:] or ALL:
        ALL[word]()
