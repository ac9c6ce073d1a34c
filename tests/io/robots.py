"""Where the example robots are, and how a configuration of ours reads in Pinocchio."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tests.reference import ReferenceTree

#: Files of the collection that hold no robot at all.
EMPTY = {"ur3.urdf"}


def robot_folder() -> Path | None:
    """The folder of the PyPI package example-robot-data, None where it is not installed."""
    spec = find_spec("cmeel")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent.parent / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
    return folder if folder.is_dir() else None


def robot_files() -> list[Path]:
    """All URDF files of the package that hold a robot."""
    folder = robot_folder()
    return [] if folder is None else sorted(f for f in folder.rglob("*.urdf") if f.name not in EMPTY)


def pinocchio_configuration(tree: ReferenceTree, model: Any, q: np.ndarray) -> np.ndarray:
    """Pinocchio's q for ours; its continuous joints are a cosine and a sine, followers have a place of their own."""
    result = np.zeros(model.nq)
    for branch in tree.branches:
        for motion in branch.joint.motions:
            place = tree._of_coordinate(motion.coordinate, q, "q")
            assert place is not None
            ratio, offset = tree._lines[id(motion)]
            value = ratio * place[1][0] + offset
            joint = model.joints[model.getJointId(branch.joint.name)]
            result[joint.idx_q : joint.idx_q + joint.nq] = [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]
    return result


def link_path(model: Any, link: str) -> str:
    """The path of a link, which is a body or a frame on one."""
    if link in model.bodies:
        return link
    if link == "ground" and "ground_link" in model.bodies:
        return "ground_link"
    return next(f.path for b in model.bodies.values() for f in b.frames.values() if f.name == link)
