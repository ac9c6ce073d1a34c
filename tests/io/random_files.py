"""Random model files of others, spread over folders: poses in every spelling, meshes, includes, attached models, replicas, keyframes, mimics."""

from __future__ import annotations

from pathlib import Path

import numpy as np

WEDGE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def numbers(values: object) -> str:
    return " ".join(f"{x:.9g}" for x in np.atleast_1d(np.asarray(values, dtype=float)))


class MjcfFiles:
    """One model of MuJoCo in several files below a folder."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.rng = folder, np.random.default_rng(seed)
        self.count = 0
        for place in ("model", "meshes", "model/parts/deep"):
            (folder / place).mkdir(parents=True, exist_ok=True)
        (folder / "meshes" / "wedge.obj").write_text(WEDGE, encoding="utf-8")
        inner = f"<mujoco><worldbody>{self.body(1, 'i')}</worldbody></mujoco>"
        (folder / "model/parts/deep/inner.xml").write_text(inner, encoding="utf-8")
        (folder / "model/parts/outer.xml").write_text('<mujoco><include file="deep/inner.xml"/></mujoco>', encoding="utf-8")
        part = f"<mujoco>{self.compiler()}{self.defaults()}<worldbody>{self.body(2, 'p', root='root')}</worldbody></mujoco>"
        (folder / "model/part.xml").write_text(part, encoding="utf-8")
        world = "".join(self.body(2, "m") for _ in range(int(self.rng.integers(1, 3)))) + self.attached() + self.replicated()
        self.path = folder / "model" / "model.xml"
        assets = (
            f'<asset><mesh name="w" file="../meshes/wedge.obj" scale="{numbers(self.rng.uniform(0.1, 0.4, 3))}"'
            f' refpos="{numbers(0.2 * self.rng.normal(size=3))}" refquat="{numbers(self.rng.normal(size=4))}"/>'
            '<model name="part" file="part.xml"/></asset>'
        )
        whole = f'{self.compiler()}{self.defaults()}{assets}<include file="parts/outer.xml"/><worldbody>{world}</worldbody>'
        self.path.write_text(f"<mujoco>{whole}</mujoco>", encoding="utf-8")
        self.whole = whole

    def add_keyframe(self, qpos: np.ndarray, qvel: np.ndarray) -> None:
        frame = f'<keyframe><key name="home" qpos="{" ".join(map(repr, qpos.tolist()))}" qvel="{" ".join(map(repr, qvel.tolist()))}"/></keyframe>'
        self.path.write_text(f"<mujoco>{self.whole}{frame}</mujoco>", encoding="utf-8")

    def compiler(self) -> str:
        angle, order = self.rng.choice(["radian", "degree"]), self.rng.choice(["xyz", "zyx", "XYZ", "zxz", "YZX"])
        return f'<compiler angle="{angle}" eulerseq="{order}" autolimits="true"/>'

    def defaults(self) -> str:
        density, armature = self.rng.uniform(200, 2000), self.rng.uniform(0, 0.3)
        return f'<default><geom density="{density:.6g}"/><default class="c"><joint armature="{armature:.6g}"/><geom mass="0.7"/></default></default>'

    def pose(self) -> str:
        rng, turn = self.rng, ""
        match int(rng.integers(6)):
            case 0:
                turn = f'quat="{numbers(rng.normal(size=4))}"'
            case 1:
                turn = f'euler="{numbers(rng.uniform(-1, 1, 3))}"'
            case 2:
                turn = f'axisangle="{numbers([*rng.normal(size=3), rng.uniform(-2, 2)])}"'
            case 3:
                turn = f'xyaxes="{numbers(rng.normal(size=6))}"'
            case 4:
                turn = f'zaxis="{numbers(rng.normal(size=3))}"'
        return f'pos="{numbers(0.5 * rng.normal(size=3))}" {turn}'

    def joints(self, top: bool) -> str:
        rng = self.rng
        kind = rng.choice(["hinge", "slide", "ball", "two", "none", "free" if top else "hinge"])
        if kind == "free":
            return "<freejoint/>"
        if kind == "none":
            return ""
        kinds = ["hinge", "slide"] if kind == "two" else [str(kind)]
        found = []
        for k in kinds:
            more = "" if k == "ball" else f'axis="{numbers(rng.normal(size=3))}" ref="{rng.choice([0.0, 0.3])}"'
            found.append(f'<joint type="{k}" pos="{numbers(0.2 * rng.normal(size=3))}" {more} armature="{rng.uniform(0, 0.2):.5g}"/>')
        return "".join(found)

    def geoms(self, mesh: bool) -> str:
        rng = self.rng
        kinds = ["sphere", "box", "capsule", "cylinder", "ellipsoid", "fromto", *(["mesh"] if mesh else [])]
        found = []
        for kind in rng.choice(kinds, size=int(rng.integers(1, 3))):
            size = numbers(rng.uniform(0.05, 0.3, 3))
            if kind == "mesh":
                found.append(f'<geom type="mesh" mesh="w" {self.pose()}/>')
            elif kind == "fromto":
                found.append(f'<geom type="capsule" size="0.1" fromto="{numbers(rng.normal(size=6))}"/>')
            else:
                weight = f'mass="{rng.uniform(0.1, 2):.5g}"' if rng.random() < 0.3 else ""
                found.append(f'<geom type="{kind}" size="{size}" {weight} {self.pose()}/>')
        return "".join(found)

    def body(self, depth: int, letter: str, root: str = "") -> str:
        self.count += 1
        name = root or f"{letter}{self.count}"
        own = f'<inertial mass="1.3" {self.pose()} diaginertia="0.3 0.25 0.2"/>' if self.rng.random() < 0.3 else ""
        inside = "".join(self.body(depth - 1, letter) for _ in range(int(self.rng.integers(0, 3)))) if depth else ""
        if inside and self.rng.random() < 0.5:
            inside = f"<frame {self.pose()}>{inside}</frame>"
        child = 'childclass="c"' if self.rng.random() < 0.3 else ""
        geoms = self.geoms(mesh=letter == "m")
        return f'<body name="{name}" {child} {self.pose()}>{own}{self.joints(letter == "m" and depth == 2)}{geoms}{inside}</body>'

    def attached(self) -> str:
        return f'<frame {self.pose()}><attach model="part" body="root" prefix="a_"/></frame>' if self.rng.random() < 0.6 else ""

    def replicated(self) -> str:
        if self.rng.random() < 0.4:
            return ""
        inner = f'<body {self.pose()}><joint axis="0 1 0"/>{self.geoms(False)}</body>'
        return f'<replicate count="{self.rng.integers(2, 4)}" offset="{numbers(self.rng.normal(size=3))}" euler="0.1 0.2 0.3">{inner}</replicate>'


def urdf_text(seed: int) -> str:
    """A random tree of links with mimics, fixed joints and inertials that are turned."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 8))
    links, joints, moving = [], [], []
    for k in range(count):
        A = rng.normal(size=(3, 3))
        J = A @ A.T + 0.1 * np.eye(3)
        J = J + np.trace(J) * np.eye(3)  # triangle inequalities
        entries = " ".join(
            f'{n}="{J[i, j]:.9g}"'
            for n, (i, j) in {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}.items()
        )
        turned = f'<origin xyz="{numbers(rng.normal(size=3))}" rpy="{numbers(rng.uniform(-3, 3, 3))}"/>'
        links.append(f'<link name="l{k}"><inertial>{turned}<mass value="{rng.uniform(0.1, 3):.6g}"/><inertia {entries}/></inertial></link>')
        if not k:
            continue
        kind = str(rng.choice(["revolute", "prismatic", "fixed", "revolute"]))
        origin = f'<origin xyz="{numbers(rng.normal(size=3))}" rpy="{numbers(rng.uniform(-3, 3, 3))}"/>'
        mimic = ""
        if kind != "fixed" and moving and rng.random() < 0.4:
            leader = moving[int(rng.integers(len(moving)))]
            mimic = f'<mimic joint="{leader}" multiplier="{rng.uniform(-2, 2):.5g}" offset="{rng.uniform(-1, 1):.5g}"/>'
        elif kind != "fixed":
            moving.append(f"j{k}")
        limit = '<limit lower="-2" upper="2" effort="1" velocity="1"/>' if kind != "fixed" else ""
        axis = f'<axis xyz="{numbers(rng.normal(size=3))}"/>'
        joints.append(
            f'<joint name="j{k}" type="{kind}"><parent link="l{int(rng.integers(k))}"/><child link="l{k}"/>{origin}{axis}{limit}{mimic}</joint>'
        )
    return f'<?xml version="1.0"?>\n<robot name="r{seed}">{"".join(links)}{"".join(joints)}</robot>'
