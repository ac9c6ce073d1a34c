"""What a ROBOTRAN project says and the model read from its file does not hold, by name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ...model.model import Model
from ..xml_reader import Element

_PLACE = {"bodyname", "pointname"}
_ENDS = {"name", "endpoint1", "endpoint2", "graphics"}
#: Children that are read, or that belong to the picture alone, by the tag of their parent.
READ: dict[str, set[str]] = {
    "mbsDescR7": {"mbsname", "mbsyspad_version", "base", "bodytree", "cuts", "links", "user_models", "user_variables", "x3D", "graphics"},
    "base": {"gravity", "point", "graphics", "baseBodyName"},
    "gravity": {"coordinates"}, "com": {"coordinates"}, "coordinates": {"x", "y", "z"},
    "bodytree": {"body", "graphics"},
    "body": {"bodyname", "parent", "joint", "mass", "com", "inertia", "point", "graphics"},
    "joint": {"jointname", "type", "nature", "initialvalue", "actuated", "graphics"},
    "initialvalue": {"q", "qd", "qdd"},
    "inertia": {"Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz"},
    "point": {"pointname", "coordinates", "sensor", "extforce", "graphics"}, "sensor": {"graphics"}, "extforce": {"graphics"},
    "parent": _PLACE, "endpoint1": _PLACE, "endpoint2": _PLACE,
    "cuts": {"ball", "rod", "solid", "graphics"},
    "ball": _ENDS | {"ignore"}, "solid": _ENDS | {"ignore"}, "rod": _ENDS | {"length"}, "ignore": {"x", "y", "z"},
    "links": {"link", "link3D", "graphics"}, "link": _ENDS, "link3D": _ENDS,
    "user_models": {"user_model"}, "user_model": {"name", "parameter"},
    "parameter": {"name", "type", "value", "structure", "header", "lutfile"},
    "user_variables": {"user_variable"}, "user_variable": {"varname", "type", "size"},
}  # fmt: skip
_NAMES = ("name", "bodyname", "jointname", "pointname", "varname")

#: Programs of a project of which its model file says nothing, and what they write.
PROGRAMS = {
    "user_cons_hJ": "constraints, without which the model has more freedoms (add them with model.constraint)",
    "user_JointForces": "forces in joints (add them with model.force)",
    "user_Derivative": "rates of user states (add them with model.state and model.rate)",
}
_FOLDERS = ("userfctR", "userFctR", "userFct")
_SUFFIXES = (".py", ".c", ".cc", ".cpp", ".m")
_LARGEST = 2_000_000
#: What the templates of these programs hold besides comments.
_TEMPLATE = re.compile(
    r"""^\s*(\#include.*|\#ifdef.*|\#endif.*|import\s.*|from\s.*|def\s.*|void\s.*|double\s*\*?\s*user_.*|function\s.*|global\s.*|return\b.*|pass|end
    |[{}\s;:]*|(q|qd|qdd|Nuc|Njoint|h|Jac|Qq|jdqd)\s*=\s*(mbs_data\.\w+|zeros\(.*\));?)\s*$""",
    re.VERBOSE,
)
#: The head of a program, over as many lines as it takes.
_HEAD = re.compile(r"\b(def|void)\s+user_\w+\s*\([^)]*\)")


def unread(root: Element) -> list[str]:
    """Elements that are not read, one line for each kind of them."""
    found: dict[str, list[str]] = {}
    stack = [root]
    while stack:
        element = stack.pop()
        for child in reversed(element.children):
            if child.tag == "graphics" and element.tag not in ("base", "body") and _is_drawn(child):
                found.setdefault("x3D_shapes", []).append(" ".join(["of", element.tag, *_quoted(element)]))
            elif child.tag in READ.get(element.tag, ()):
                stack.append(child)
            elif element.tag in READ and not _empty(child):
                owner = ["of", element.tag, *_quoted(element)] if element is not root else []
                found.setdefault(child.tag, []).append(" ".join([*_quoted(child), *owner]))
    notes = {tag: ", ".join(filter(None, names)) for tag, names in sorted(found.items())}
    return [f"the element <{tag}> is not read" + (f": {names}" if names else "") for tag, names in notes.items()]


def _is_drawn(graphics: Element) -> bool:
    """Whether there are shapes in it; only those of bodies and the base are read."""
    return any(shapes.children for x3D in graphics.all("x3D") for shapes in x3D.all("x3D_shapes"))


def _empty(element: Element) -> bool:
    """Whether a table of symbols or the like holds nothing."""
    return bool(element.children) and not element.attributes and all(_empty(e) or not (e.children or e.content()) for e in element.children)


def _quoted(element: Element) -> list[str]:
    """The name of an element, if it has one."""
    inside = (e.content() for tag in _NAMES if (e := element.first(tag)) is not None)
    name = element.get("name") or next(inside, "")
    return [repr(name)] if name else []


def left_out(model: Model, path: Path | None) -> list[str]:
    """What stands in programs (laws that are inputs here, motions that are held, programs beside the file) and what is a record only."""
    imported = model.imported
    joints = imported["joints"]
    held = [j for j in joints if j.nature == "driven" and model.joints[j.name].coordinates[0].motion is not None]
    states = [f"{m.name}.{p.name}" for m in imported["user_models"] for p in m.parameters if p.kind == "state"]
    found: dict[str, Iterable[str]] = {
        "forces of links are programs in ROBOTRAN; here they are inputs, zero until given": [x.name for x in imported["links"]],
        "external forces are programs in ROBOTRAN; here they are inputs, zero until given": [x.name for x in imported["forces"]],
        "driven joints are held at their initial values; give their motions with model.drive": [j.name for j in held],
        "initial velocities and accelerations of driven joints are not taken over": [j.name for j in held if j.v0 or j.a0],
        "initial accelerations are not taken over, they follow from the forces": [j.name for j in joints if j.a0 and j not in held],
        "user states are not taken over; declare them with model.state and model.rate": states,
        "user models are records in model.imported alone": [m.name for m in imported["user_models"]],
        "user variables are records in model.imported alone": [v.name for v in imported["user_variables"]],
        "drawings are records in model.imported alone and are not shown; bodies": [d.body for d in imported["drawings"]],
    }
    notes = [f"{what}: {', '.join(map(repr, dict.fromkeys(names)))}" for what, names in found.items() if names]
    return notes + [f"the program {name} is not read: {PROGRAMS[name.rsplit('.', 1)[0]]}" for name in _written(path)]


def _written(path: Path | None) -> list[str]:
    """Names of the user's programs beside a model file (``project/dataR/model.mbs``) that hold more than their template."""
    if path is None:
        return []
    folders = [path.resolve().parent.parent / name for name in _FOLDERS]
    files = [folder / f"{name}{suffix}" for folder in folders for name in PROGRAMS for suffix in _SUFFIXES]
    return list(dict.fromkeys(f.name for f in files if f.is_file() and f.stat().st_size <= _LARGEST and _has_code(f)))


def _has_code(file: Path) -> bool:
    text = file.read_text(encoding="utf-8", errors="replace")
    if file.suffix == ".py":
        text = re.sub(r'""".*?"""|\'\'\'.*?\'\'\'', "", text, flags=re.DOTALL)
        lines = [line.split("#")[0] for line in text.splitlines()]
    elif file.suffix == ".m":
        lines = [line.split("%")[0] for line in text.splitlines()]
    else:
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        lines = [line.split("//")[0] for line in text.splitlines()]
    lines = _HEAD.sub("", "\n".join(lines)).splitlines()
    return any(line.strip() and not _TEMPLATE.match(line) for line in lines)


__all__ = ["PROGRAMS", "READ", "left_out", "unread"]
