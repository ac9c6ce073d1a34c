"""The armature of tendons: the kinetic energy ½ a L̇² of a length L = Σ cᵢ qᵢ.

A flywheel without mass and with the inertia a is turned by the joints of a fixed tendon, one after the other, each by cᵢ: its angle is L.
So the mass matrix has a cᵢcⱼ, in every formulation.  (MuJoCo leaves out those entries whose joints are on different branches.)
"""

from __future__ import annotations

from dataclasses import replace

from ...errors import InputError
from ...model import Model
from ...model.joints import Joint
from ..xml_reader import Element
from .rules import Defaults, overlay


def add_armatures(model: Model, root: Element, defaults: Defaults, missing: str) -> list[str]:
    """Gives fixed tendons their armature; returns what must be said. One of a spatial tendon is refused, or noted where ``missing`` says so."""
    said = []
    for tendon in (t for section in root.all("tendon") for t in section.children):
        tendon = _with_defaults(tendon, defaults)
        armature = tendon.number("armature", 0.0)
        if armature < 0.0:
            raise tendon.error(f"the armature {armature:g} kg is negative")
        if not armature:
            continue
        name = tendon.get("name") or tendon.place
        if tendon.tag == "fixed":
            said += _add_flywheel(model, tendon, name, armature)
        elif missing == "note":
            said.append(f"the armature of the spatial tendon '{name}' is not in the mass matrix")
        else:
            raise tendon.error(
                f"the armature {armature:g} kg of a spatial tendon is not taken over, and the masses would be wrong without it; "
                "set it to 0, or leave it out with missing='note'"
            )
    return said


def _with_defaults(tendon: Element, defaults: Defaults) -> Element:
    """A tendon with the attributes of its class, which are written as <tendon>."""
    given = replace(tendon, tag="tendon")
    return replace(tendon, attributes=overlay(defaults.apply(given, None).attributes, tendon.attributes))


def _add_flywheel(model: Model, tendon: Element, name: str, armature: float) -> list[str]:
    pulled = [(_joint(model, e), e.number("coef")) for e in tendon.all("joint")]
    pulled = [(joint, c) for joint, c in pulled if c]
    if not pulled:
        return []
    before = model.ground
    for k, (joint, coefficient) in enumerate(pulled):
        last = k == len(pulled) - 1
        wheel = model.body(f"tendon:{name}:{joint.name}", inertia=(armature, armature, armature) if last else None)
        model.revolute(f"tendon:{name}:{joint.name}", before, wheel, axis="z", mimic=(joint, coefficient))
        before = wheel
    names = [joint.name for joint, _ in pulled]
    if _on_one_path(model, [joint for joint, _ in pulled]):
        return []
    return [f"the armature of tendon '{name}' couples joints of different branches ({', '.join(names)}); MuJoCo leaves these couplings out"]


def _joint(model: Model, element: Element) -> Joint:
    name = element.required("joint")
    if name not in model.joints:
        raise element.error(f"there is no joint '{name}'")
    if len(model.joints[name].coordinates) != 1:
        raise InputError(f"{element.place}: joint '{name}' has several freedoms; a fixed tendon needs hinges and slides")
    return model.joints[name]


def _on_one_path(model: Model, joints: list[Joint]) -> bool:
    """Whether one of the joints carries all others in turn."""
    parent = {j.child.body.name: j.parent.body.name for j in model.joints.values()}

    def path(joint: Joint) -> set[str]:
        body, found = joint.child.body.name, set()
        while body in parent:
            found.add(body)
            body = parent[body]
        return found

    outermost = max((path(j) for j in joints), key=len)
    return all(j.child.body.name in outermost for j in joints)


__all__ = ["add_armatures"]
