"""Random model files of others, spread over folders: poses in every spelling, meshes, includes, attached models, replicas, keyframes, mimics,
springs and dampers, classes within classes, inertias of every kind, and sections that are noted and not read.
"""

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
        self.named: list[str] = []
        #: settings of the compiler that attached models must have, too
        self.common = ""
        if self.rng.random() < 0.3:
            self.common += f' boundmass="{self.rng.uniform(0.05, 1):.3g}" boundinertia="{self.rng.uniform(0.001, 0.05):.3g}"'
        if self.rng.random() < 0.3:
            self.common += ' inertiafromgeom="true"'
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
        whole = (
            f'{self.compiler()}{self.defaults()}{assets}<include file="parts/outer.xml"/><worldbody>{world}</worldbody>{self.sections()}'
        )
        self.path.write_text(f"<mujoco>{whole}</mujoco>", encoding="utf-8")
        self.whole = whole

    def add_keyframe(self, qpos: np.ndarray, qvel: np.ndarray) -> None:
        frame = f'<keyframe><key name="home" qpos="{" ".join(map(repr, qpos.tolist()))}" qvel="{" ".join(map(repr, qvel.tolist()))}"/></keyframe>'
        self.path.write_text(f"<mujoco>{self.whole}{frame}</mujoco>", encoding="utf-8")

    def compiler(self) -> str:
        angle, order = self.rng.choice(["radian", "degree"]), self.rng.choice(["xyz", "zyx", "XYZ", "zxz", "YZX"])
        return f'<compiler angle="{angle}" eulerseq="{order}" autolimits="true"{self.common}/>'

    def defaults(self) -> str:
        density, armature = self.rng.uniform(200, 2000), self.rng.uniform(0, 0.3)
        inner = (
            f'<default class="d"><joint damping="{self.rng.uniform(0, 2):.4g}" stiffness="0"/><geom density="700" type="box"/></default>'
        )
        return (
            f'<default><geom density="{density:.6g}"/><default class="c"><joint armature="{armature:.6g}" stiffness="{self.rng.uniform(0, 9):.4g}"/>'
            f'<geom mass="0.7"/>{inner}</default></default>'
        )

    def sections(self) -> str:
        """Sections that the mass matrix and the forces without controls do not feel."""
        hinges = self.named
        found = ""
        if hinges and self.rng.random() < 0.5:
            found += f'<tendon><fixed name="t"><joint joint="{hinges[0]}" coef="0.3"/></fixed></tendon>'
        if hinges and self.rng.random() < 0.5:
            found += f'<actuator><motor name="u" joint="{hinges[-1]}" gear="2"/><position name="p" joint="{hinges[0]}" kp="3" ctrlrange="-1 1"/></actuator>'
        if len(hinges) > 1 and self.rng.random() < 0.4:
            found += f'<equality><joint joint1="{hinges[0]}" joint2="{hinges[-1]}" polycoef="0 1 0 0 0"/></equality>'
        if hinges and self.rng.random() < 0.3:
            found += f'<sensor><jointpos joint="{hinges[0]}"/></sensor>'
        return found

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
            return f'<freejoint align="{rng.choice(["false", "auto"])}"/>'
        if kind == "none":
            return ""
        kinds = ["hinge", "slide"] if kind == "two" else [str(kind)]
        found = []
        for k in kinds:
            more = (
                ""
                if k == "ball"
                else f'axis="{numbers(rng.normal(size=3))}" ref="{rng.choice([0.0, 0.3])}" {self.law(top and k == "hinge")}'
            )
            found.append(f'<joint type="{k}" pos="{numbers(0.2 * rng.normal(size=3))}" {more} armature="{rng.uniform(0, 0.2):.5g}"/>')
        return "".join(found)

    def law(self, named: bool) -> str:
        """Springs, dampers, limits and a class of a joint of one freedom."""
        rng, found = self.rng, []
        if rng.random() < 0.4:
            found.append(f'stiffness="{rng.uniform(0, 20):.5g}" springref="{rng.uniform(-0.5, 0.5):.4g}"')
        elif rng.random() < 0.2:
            found.append(f'springdamper="{rng.uniform(0.1, 2):.4g} {rng.uniform(0.1, 2):.4g}"')
        if rng.random() < 0.4:
            found.append(f'damping="{rng.uniform(0, 3):.5g}"')
        if rng.random() < 0.3:
            found.append(f'range="-1 {rng.uniform(0, 2):.4g}"')
        if rng.random() < 0.3:
            found.append(f'class="{rng.choice(["c", "d"])}"')
        if named and "class=" not in "".join(found):
            self.named.append(f"hinge{len(self.named)}")
            found.append(f'name="{self.named[-1]}"')
        return " ".join(found)

    def inertial(self) -> str:
        """An inertia that is given: principal values, or a matrix."""
        A = self.rng.normal(size=(3, 3))
        J = A @ A.T
        J = J + np.trace(J) * np.eye(3)  # triangle inequalities
        if self.rng.random() < 0.5:
            position = numbers(0.5 * self.rng.normal(size=3))
            return (
                f'<inertial mass="1.3" pos="{position}" fullinertia="{numbers([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])}"/>'
            )
        return f'<inertial mass="1.3" {self.pose()} diaginertia="0.3 0.25 0.2"/>'

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
                weight += ' shellinertia="true"' if rng.random() < 0.15 else ""
                weight += f' class="{rng.choice(["c", "d"])}"' if rng.random() < 0.2 else ""
                found.append(f'<geom type="{kind}" size="{size}" {weight} {self.pose()}/>')
        return "".join(found)

    def body(self, depth: int, letter: str, root: str = "") -> str:
        self.count += 1
        name = root or f"{letter}{self.count}"
        own = self.inertial() if self.rng.random() < 0.3 else ""
        inside = "".join(self.body(depth - 1, letter) for _ in range(int(self.rng.integers(0, 3)))) if depth else ""
        if inside and self.rng.random() < 0.5:
            inside = f"<frame {self.pose()}>{inside}</frame>"
        child = f'childclass="{self.rng.choice(["c", "d"])}"' if self.rng.random() < 0.3 else ""
        geoms = self.geoms(mesh=letter == "m")
        return f'<body name="{name}" {child} {self.pose()}>{own}{self.joints(letter == "m" and depth == 2)}{geoms}{inside}</body>'

    def attached(self) -> str:
        return f'<frame {self.pose()}><attach model="part" body="root" prefix="a_"/></frame>' if self.rng.random() < 0.6 else ""

    def replicated(self) -> str:
        if self.rng.random() < 0.4:
            return ""
        inner = f'<body {self.pose()}><joint axis="0 1 0"/>{self.geoms(False)}</body>'
        return f'<replicate count="{self.rng.integers(2, 4)}" offset="{numbers(self.rng.normal(size=3))}" euler="0.1 0.2 0.3">{inner}</replicate>'


URDF_SHAPES = ('<box size="0.1 0.2 0.3"/>', '<sphere radius="0.1"/>', '<cylinder radius="0.1" length="0.4"/>')


def urdf_origin(rng: np.random.Generator) -> str:
    """A place with or without a turn, or none at all."""
    place, turn = f'xyz="{numbers(rng.normal(size=3))}"', f'rpy="{numbers(rng.uniform(-3, 3, 3))}"'
    return str(rng.choice(["", f"<origin {place}/>", f"<origin {turn}/>", *[f"<origin {place} {turn}/>"] * 3]))


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
        turned = urdf_origin(rng)
        looks = "".join(
            f"<{tag}>{urdf_origin(rng)}<geometry>{rng.choice(URDF_SHAPES)}</geometry></{tag}>"
            for tag in rng.choice(["visual", "collision"], size=int(rng.integers(0, 4)))
        )
        links.append(
            f'<link name="l{k}">{looks}<inertial>{turned}<mass value="{rng.uniform(0.1, 3):.6g}"/><inertia {entries}/></inertial></link>'
        )
        if not k:
            continue
        kind = str(rng.choice(["revolute", "prismatic", "fixed", "revolute", "continuous"]))
        origin = urdf_origin(rng)
        mimic = ""
        if kind not in ("fixed", "continuous") and moving and rng.random() < 0.4:
            leader = moving[int(rng.integers(len(moving)))]
            mimic = f'<mimic joint="{leader}" multiplier="{rng.uniform(-2, 2):.5g}" offset="{rng.uniform(-1, 1):.5g}"/>'
        elif kind not in ("fixed", "continuous"):
            moving.append(f"j{k}")
        limit = '<limit lower="-2" upper="2" effort="1" velocity="1"/>' if kind != "fixed" else ""
        axis = f'<axis xyz="{numbers(rng.normal(size=3))}"/>' if rng.random() < 0.9 else ""
        limit += f'<dynamics damping="{rng.uniform(0, 2):.4g}" friction="0"/>' if rng.random() < 0.3 else ""
        joints.append(
            f'<joint name="j{k}" type="{kind}"><parent link="l{int(rng.integers(k))}"/><child link="l{k}"/>{origin}{axis}{limit}{mimic}</joint>'
        )
    material = '<material name="m"><color rgba="0.2 0.3 0.4 1"/></material>' if rng.random() < 0.5 else ""
    return f'<?xml version="1.0"?>\n<robot name="r{seed}">{material}{"".join(links)}{"".join(joints)}</robot>'
