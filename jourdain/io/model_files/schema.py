"""What a model file may hold: every section, key and type, in one description by which files are checked and the JSON schema is made."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import structure_tables

FORMAT = "jourdain"
VERSION = 1

#: Most objects of one section.
MAX_ITEMS = 20_000
#: Options of analyses that are times.
TIMES = ("t", "step", "max_step", "times")
#: Verbs of analyses (see jourdain.io.model_files.analyses).
VERBS = (
    "simulate", "equilibrium", "equilibria", "modal", "linearise", "frequency_response", "root_locus", "kinematics", "static_forces",
    "assemble",
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """Keys that objects of one kind must and may have."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """Objects of one class by name: their keys with types and meanings."""

    one: str
    text: str
    keys: dict[str, tuple[str, str]]
    required: tuple[str, ...] = ()
    kinds: dict[str, Kind] = field(default_factory=dict)
    #: Type of the short form, where an object may be one value: its key and type.
    short: tuple[str, str] | None = None


#: Kinds of criteria (see jourdain.analysis.design.criteria).
CRITERIA: dict[str, Kind] = {
    **{kind: Kind(("expression",), ("constants",)) for kind in ("integral", "mean", "rms", "final", "smallest", "value")},
    "largest": Kind(("expression",), ("constants", "smooth")), "at": Kind(("expression", "t"), ("constants",)),
    "moving_average": Kind(("expression", "window"), ("constants",)), "sustained": Kind(("expression", "window"), ("constants",)), "cfc": Kind(("expression",), ("constants", "class")),
    "iso2631": Kind(("expression",), ("constants", "weighting")),
    "event_time": Kind(("event",), ("count",)), "end_time": Kind(()),
    "eigenvalue": Kind(("index",), ("part",)), "frequency": Kind(("index",)), "damping_ratio": Kind(("index",)),
}  # fmt: skip

_AXIS = ("axis", "x, y, z, -x, … or three components along the first frame's axes")
_LAW = "expression of coordinates, sensors, inputs, states, memories, unknowns, parameters and t"
_JOINT_COMMON = ("limits", "rotor_inertia", "gear_ratio", "damping", "friction", "stiffness", "rest", "cut", "mimic")


def _joint(required: tuple[str, ...] = (), *optional: str) -> Kind:
    return Kind(("parent", "child", *required), (*optional, *_JOINT_COMMON))


def _closure(*optional: str) -> Kind:
    return Kind(("a", "b"), optional)


#: What a closure with ROBOTRAN's equations says besides.
_ROBOTRAN = ("convention", "ignore")


BODY = {
    "mass": ("value", "mass in kg"),
    "com": ("vector", "centre of mass in m, in the body's frame"),
    "inertia": ("inertia", "three principal values, six entries (xx, yy, zz, xy, xz, yz) or the matrix, in kg m²"),
    "about": ("about", "the point the inertia refers to: com (default) or origin"),
    "axes": ("rotation", "rotation of the axes of the inertia from the body's"),
    "moment": ("vector", "first moment of mass in kg m, in place of com"),
    "masses": ("masses", "further masses: tables of mass, com, inertia, about, axes"),
    "shapes": ("shapes", "solids drawn on the body; those with a density add to its mass"),
    "collision": ("shapes", "shapes for contacts, in place of those that are drawn"),
    "collision_names": ("texts", "their names"),
    "collision_nodes": ("texts", "nodes of a flexible body that carry them"),
    "frames": ("frames", "named frames on the body"),
    "colour": ("text", "colour of the body, such as #3366cc"),
    "flexible": ("flexible", "the structure by which the body bends, and how it is reduced"),
}

GROUND = {key: entry for key, entry in BODY.items() if key != "flexible"}

SHAPES: dict[str, Kind] = {
    "box": Kind(("lx", "ly", "lz"), ("anchor",)),
    "cylinder": Kind(("radius", "length"), ("axis", "anchor")),
    "tube": Kind(("outer", "inner", "length"), ("axis", "anchor")),
    "sphere": Kind(("radius",)),
    "capsule": Kind(("radius", "length"), ("axis", "anchor")),
    "cone": Kind(("r1", "r2", "length"), ("axis", "anchor")),
    "torus": Kind(("ring_radius", "tube_radius"), ("axis",)),
    "ellipsoid": Kind(("a", "b", "c")),
    "plane": Kind((), ("axis", "extent")),
    "prism": Kind(("polygon", "length"), ("axis", "anchor")),
    "revolved": Kind(("profile",), ("axis",)),
    "union": Kind(("parts",)),
    "difference": Kind(("base", "tool")),
    "mesh": Kind((), ("file", "vertices", "faces", "scale", "repair", "display_only", "note")),
}
SHAPE_KEYS: dict[str, tuple[str, str]] = {
    **{
        n: ("value", "dimension in m")
        for n in ("lx", "ly", "lz", "radius", "length", "outer", "inner", "r1", "r2", "ring_radius", "tube_radius", "a", "b", "c", "extent")
    },
    "axis": ("text", "axis of the solid: x, y or z; of a plane also -x, -y or -z"),
    "anchor": ("text", "centre (default) or start"),
    "polygon": ("points2", "corners (x, y) in m"),
    "profile": ("points2", "corners (r, z) in m"),
    "parts": ("shapes", "the shapes united"),
    "base": ("shape", "the shape that is cut"),
    "tool": ("shape", "the shape cut out"),
    "file": ("file", "mesh file (STL, OBJ, PLY, GLB, DAE) in the model's folder"),
    "vertices": ("rows", "vertices of the mesh"),
    "faces": ("rows", "faces of the mesh, by numbers of vertices"),
    "scale": ("value", "factor from the mesh's unit to m"),
    "repair": ("bool", "close simple holes of the mesh"),
    "display_only": ("bool", "do not check the mesh; it has no mass"),
    "note": ("text", "why the mesh is not exact"),
    "density": ("value", "density in kg/m³"),
    "colour": ("text", "colour as #rrggbb or by a common name"),
    "massless": ("bool", "whether the shape is only drawn although it has a density"),
    "position": ("vector", "where the shape's own frame lies, in m"),
    "rotation": ("rotation", "rotation of the shape's own frame"),
}
SHAPE_COMMON = ("density", "colour", "massless", "position", "rotation")

SECTIONS: dict[str, Section] = {
    "parameters": Section("parameter", "named constants that may change without compiling again", {
        "value": ("quantity", "SI number, or text with a unit"),
        "unit": ("text", "SI unit"),
        "bounds": ("limits", "lower and upper bound; -inf and inf for none"),
        "description": ("text", "meaning"),
    }, ("value",), short=("value", "quantity")),
    "tables": Section("table", "look-up tables, called in expressions like functions", {
        "x": ("numbers", "breakpoints of the first variable"),
        "y": ("numbers", "values, or breakpoints of the second variable"),
        "z": ("rows", "values over x and y"),
        "kind": ("text", "spline (default) or linear"),
        "extrapolate": ("text", "hold (default) the end value, or extend the end piece"),
        "file": ("file", "CSV file of two columns in the model's folder"),
        "breaks": ("rows", "breakpoints of each variable, with coefficients"),
        "coefficients": ("nested", "polynomials of the pieces, lowest power first"),
    }),
    "expressions": Section("expression", "named expressions for use in others", {"expression": ("value", _LAW)}, ("expression",), short=("expression", "value")),
    "inputs": Section("input", "channels from outside", {
        "value": ("quantity", "value where none is given"), "unit": ("text", "unit"),
    }, short=("value", "quantity")),
    "states": Section("state", "states of differential equations of your own", {
        "initial": ("quantity", "initial value"), "rate": ("value", "its rate: " + _LAW), "unit": ("text", "unit"),
    }),
    "memories": Section("memory", "discrete variables, renewed when a step is accepted", {
        "initial": ("value", "value at the start of a run: a number, or an expression of parameters"),
        "update": ("value", "what it becomes at the end of each step: " + _LAW), "unit": ("text", "unit"),
    }),
    "unknowns": Section("unknown", "algebraic unknowns, found from their equations at every instant", {
        "guess": ("quantity", "where the search begins"), "equation": ("value", "what is zero: " + _LAW), "unit": ("text", "unit"),
    }),
    "structures": Section("structure", "elastic parts of flexible bodies", structure_tables.KEYS, ("kind",), {
        name: Kind(*keys) for name, keys in structure_tables.KINDS.items()
    }),
    "bodies": Section("body", "rigid and flexible bodies", BODY),
    "joints": Section("joint", "joints between a frame of the parent and one of the child", {
        "kind": ("text", "kind of joint"),
        "parent": ("frame", "frame the joint starts from"),
        "child": ("frame", "frame that moves"),
        "axis": _AXIS,
        "axes": ("axes", "two axes of a universal joint"),
        "pitch": ("value", "advance of a screw in a turn, in m"),
        "plane": ("text", "xy, xz or yz"),
        "orientation": ("text", "quaternion or three axes such as zxz"),
        "sequence": ("texts", "elementary motions such as Tx, Rz"),
        "limits": ("limits", "lower and upper limit; -inf and inf for none"),
        "rotor_inertia": ("value", "inertia of the rotor in kg m²; of ball and free joints the same for all their velocities"),
        "gear_ratio": ("value", "turns of the rotor for one of the joint"),
        "damping": ("value", "viscous damping of the drive"),
        "friction": ("value", "dry friction of the drive"),
        "stiffness": ("value", "stiffness of the drive"),
        "rest": ("value", "position where the stiffness gives no force"),
        "cut": ("bool", "true: the joint closes a loop; false: it is in the tree"),
        "mimic": ("mimic", "the joint followed: its name, or a table of joint, ratio, offset"),
    }, ("kind", "parent", "child"), {
        "fixed": _joint(), "revolute": _joint((), "axis"), "prismatic": _joint((), "axis"), "helical": _joint(("pitch",), "axis"),
        "cylindrical": _joint((), "axis"), "universal": _joint((), "axes"), "planar": _joint((), "plane"),
        "spherical": _joint((), "orientation"), "free": _joint((), "orientation"), "sequence": _joint(("sequence",)),
    }),
    "drives": Section("drive", "coordinates prescribed as functions of time", {"motion": ("value", "expression of t and parameters")}, ("motion",), short=("motion", "value")),
    "locks": Section("lock", "coordinates held at a value", {"position": ("value", "position in rad or m")}, ("position",), short=("position", "value")),
    "sensors": Section("sensor", "motion of frames, for use in expressions", {
        "frame": ("frame", "the frame whose motion is read"),
        "relative_to": ("frame", "the frame it is read in (default: ground)"),
    }, ("frame",)),
    "loads": Section("load", "forces and torques", {
        "kind": ("text", "kind of load"),
        "joint": ("text", "the joint it acts at"),
        "coordinate": ("text", "coordinate of a joint of several freedoms, such as x"),
        "force": ("force", "force or torque on the coordinate, or three components of the force"),
        "torque": ("vector", "components of the torque in N m"),
        "tension": ("value", "tension in N of self.length and self.rate, positive when it pulls: " + _LAW),
        "potential": ("value", "potential energy in J, for the energy balance"),
        "style": ("text", "how the link is drawn and named"),
        "along": ("axis", "the one axis of the frame `axes` along which two points of a link move: its length is then signed"),
        "points": ("points", "two or more frames"),
        "a": ("frame", "first frame"),
        "b": ("frame", "second frame"),
        "frame": ("frame", "frame at whose origin the force acts"),
        "axes": ("frame", "frame along whose axes the components (default: the world's) or the direction `along` are"),
        "reaction": ("frame", "frame that feels the opposite"),
        "stiffness": ("value6", "stiffness in N/m or N m/rad; six of a bushing"),
        "damping": ("value6", "damping in N s/m or N m s/rad; six of a bushing"),
        "length": ("value", "length without tension in m"),
        "preload": ("value", "tension at that length in N"),
        "rest": ("value", "position without force"),
        "coulomb": ("value", "dry friction"),
        "viscous": ("value", "viscous coefficient"),
        "static": ("value", "friction at rest"),
        "stribeck": ("value", "Stribeck velocity"),
        "smoothing": ("value", "velocity over which dry friction is smoothed"),
        "lower": ("value", "lower stop"),
        "upper": ("value", "upper stop"),
        "coefficient": ("value", "drag coefficient"),
        "area": ("value", "area in m²"),
        "density": ("value", "density of the air in kg/m³"),
        "wind": ("vector", "velocity of the air in m/s"),
        "friction": ("value", "coefficient of friction"),
        "radius": ("value", "radius of the sphere in m"),
        "height": ("value", "height of the ground in m, of self.x and self.y"),
    }, ("kind",), {
        "joint": Kind(("joint", "force"), ("coordinate", "potential")),
        "joint_spring": Kind(("joint",), ("stiffness", "rest", "damping", "force", "coordinate", "potential")),
        "friction": Kind(("joint", "coulomb"), ("viscous", "static", "stribeck", "smoothing")),
        "lugre": Kind(("joint", "coulomb", "static", "stribeck", "stiffness"), ("damping", "viscous")),
        "stop": Kind(("joint",), ("lower", "upper", "stiffness", "damping")),
        "link": Kind(("points", "tension"), ("potential", "style", "along", "axes")),
        "spring": Kind(("points",), ("stiffness", "length", "damping", "preload", "tension", "potential")),
        "damper": Kind(("points",), ("damping", "tension", "potential")),
        "rope": Kind(("points",), ("stiffness", "length", "damping", "tension", "potential")),
        "wrench": Kind(("frame",), ("force", "torque", "axes", "reaction", "potential")),
        "bushing": Kind(("a", "b", "stiffness"), ("damping",)),
        "drag": Kind(("frame", "coefficient"), ("area", "density", "wind")),
        "contact": Kind(("frame", "stiffness"), ("damping", "friction", "radius", "height", "smoothing")),
    }),
    "constraints": Section("constraint", "loop closures, transmissions and equations", {
        "kind": ("text", "kind of constraint"),
        "a": ("frame", "first frame"),
        "b": ("frame", "second frame"),
        "axis": _AXIS,
        "axes": ("axes", "two axes of a universal joint"),
        "length": ("value", "length of the rod or rope in m"),
        "mass": ("value", "mass of the rod in kg"),
        "centre": ("value", "place of the rod's centre of mass as a fraction of its length"),
        "inertia": ("value", "transverse moment of inertia of the rod about its centre of mass in kg m²"),
        "convention": ("text", "whose equations and multipliers a ball, body or rod has: jourdain or robotran"),
        "ignore": ("texts", "directions x, y, z of the common ancestor in which a ball or body of ROBOTRAN is not held"),
        "expression": ("value", "what is zero: " + _LAW),
        "first": ("text", "driving joint"),
        "second": ("text", "driven joint"),
        "ratio": ("value", "second = ratio·first + phase; of a rack the radius, of a screw the pitch in m a turn"),
        "phase": ("value", "offset of the driven joint"),
        "points": ("points", "points the rope runs over"),
    }, ("kind",), {
        **{k: _closure(*_ROBOTRAN) for k in ("ball", "body")}, "spherical": _closure(), "fixed": _closure(),
        "rod": Kind(("a", "b", "length"), ("mass", "centre", "inertia", "convention")),
        **{k: _closure("axis") for k in ("revolute", "prismatic", "cylindrical", "planar", "parallel")},
        "universal": _closure("axes"),
        "equation": Kind(("expression",)), "nonholonomic": Kind(("expression",)),
        "gear": Kind(("first", "second", "ratio"), ("phase",)), "rack": Kind(("first", "second", "ratio"), ("phase",)),
        "screw": Kind(("first", "second", "ratio")), "pulley": Kind(("points", "length")),
    }),
    "materials": Section("material", "elastic materials of surfaces", {
        "E": ("value", "Young's modulus in Pa"), "nu": ("value", "Poisson's ratio"), "density": ("value", "density in kg/m³"),
    }, ("E", "nu")),
    "contacts": Section("contact", "surfaces that may touch, and by which law", {
        "a": ("texts", "bodies of one side; every body with a shape where none is named"),
        "b": ("texts", "bodies of the other side; without it, those of a touch each other"),
        "law": ("text", "rigid, or of surfaces that give way linear, kelvin-voigt, hertz, hunt-crossley, lankarani-nikravesh, flores, own"),
        "friction": ("value", "coefficient of friction, 0 or more: a number, or an expression of parameters"),
        "restitution": ("value", "coefficient of restitution, 0 to 1; of rigid surfaces perhaps an expression of self.speed, at which they meet"),
        "impact": ("text", "law of impact of rigid surfaces: newton, poisson or stronge"),
        "cone": ("text", "cone of friction of rigid surfaces: exact or convex"),
        "along": ("axis", "axis of the bodies of side of along which friction of rigid surfaces acts: x, y, z, -x, … or three components"),
        "of": ("text", "side whose bodies have the axis along which friction of rigid surfaces acts: a or b"),
        "friction_across": ("value", "coefficient of friction at right angles to it"),
        "static_friction_across": ("value", "coefficient of friction at rest at right angles to it"),
        "stiffness": ("value", "K in N/m, of other exponents in N/m^exponent"),
        "exponent": ("value", "n of K δⁿ"),
        "damping": ("value", "of kelvin-voigt in N s/m, of hunt-crossley in s/m"),
        "material": ("materials", "instead of stiffness: a material by name or numbers, or one for each side"),
        "radius": ("value", "radius in m that stands for flat and sharp places"),
        "slowest": ("value", "speed in m/s as which slower approaches count"),
        "force": ("value", "normal force in N of a law of its own: of self.depth, self.rate, self.approach and parameters"),
        "friction_speed": ("value", "sliding speed in m/s below which friction grows linearly"),
        "static_friction": ("value", "coefficient of friction at rest"),
        "stribeck": ("value", "sliding speed in m/s over which it falls off"),
        "bristle_stiffness": ("value", "stiffness in N/m of bristles that hold without creeping"),
        "bristle_damping": ("value", "their damping in N s/m"),
        "rolling": ("value", "lever arm in m of the resistance against rolling"),
        "spinning": ("value", "lever arm in m of the resistance against spinning"),
        "turning": ("value", "rate of turning in rad/s below which these grow linearly"),
        "exclude": ("pairs", "pairs of bodies that do not touch"),
    }),
    "stops": Section("stop", "joints that cannot go on at their limits", {
        "restitution": ("value", "coefficient of restitution, 0 to 1; of rigid surfaces perhaps an expression of self.speed, at which they meet"), "impact": ("text", "law of impact: newton, poisson or stronge"),
    }),
    "ropes": Section("rope", "ropes of constant length that pull and never push", {
        "a": ("frame", "first end"), "b": ("frame", "second end"), "length": ("value", "length in m"),
        "restitution": ("value", "coefficient of restitution where they become taut, 0 to 1"),
        "impact": ("text", "law of impact: newton, poisson or stronge"),
    }, ("a", "b", "length")),
    "events": Section("event", "what happens when an expression crosses zero", {
        "guard": ("value", _LAW),
        "direction": ("integer", "1: rising, -1: falling, 0: both"),
        "terminal": ("bool", "whether the run ends there"),
        "jump": ("values", "new values of coordinates, velocities, states or memories, by name"),
        "release": ("texts", "joints and constraints that let go; the memory NAME.engaged tells whether they hold"),
        "engage": ("texts", "joints and constraints that hold from then on"),
    }, ("guard",)),
    "outputs": Section("output", "expressions kept in results", {
        "expression": ("value", _LAW), "unit": ("text", "unit"),
    }, ("expression",), short=("expression", "value")),
    "analyses": Section("analysis", "analyses to run", {"verb": ("text", ", ".join(VERBS))}, ("verb",)),
    "criteria": Section("criterion", "what designs are judged by", {
        "kind": ("text", ", ".join(CRITERIA)), "expression": ("text", _LAW), "t": ("quantity", "instant (s)"), "smooth": ("quantity", "power of a norm"),
        "event": ("text", "event of the model"), "count": ("integer", "the first time, or the count-th"), "window": ("quantity", "length of the window (s)"),
        "class": ("integer", "channel frequency class: 60, 180, 600 or 1000"), "weighting": ("text", "Wk or Wd"),
        "index": ("integer", "number of the mode"), "part": ("text", "real, imag or abs"), "constants": ("quantities", "constants of the expression by name"),
    }, ("kind",), CRITERIA),
    "problems": Section("problem", "design problems", {
        "analysis": ("text", "analysis that is run for each design"), "variables": ("variables", "names of parameters and initial values, or names with bounds"),
        "minimise": ("texts", "criteria"), "subject_to": ("bounds", 'criteria with bounds, such as {stroke = "<= 120 mm"}'),
        "weights": ("quantities", "weights of the criteria by name"),
    }, ("analysis", "variables", "minimise")),
}  # fmt: skip

INCLUDE: dict[str, tuple[str, str]] = {
    "file": ("file", "model file in the model's folder"),
    "prefix": ("text", "put before every name, with a dot"),
    "at": ("frame", "frame that stands for the sub-model's ground"),
    "mirror": ("text", "x, y or z: the axis along which the sub-model is mirrored"),
    "parameters": ("values", "values (or expressions) of the sub-model's parameters"),
    "variant": ("text", "variant of the sub-model"),
}
TOP: dict[str, tuple[str, str]] = {
    "format": ("text", "always jourdain"),
    "version": ("integer", f"version of the format: {VERSION}"),
    "name": ("text", "name of the model"),
    "gravity": ("vector", "acceleration of gravity in m/s² (default: 0, 0, -9.81)"),
    "notes": ("texts", "remarks"),
    "keep": ("texts", "channels to keep in results; all where none is named"),
    "unphysical": ("texts", "bodies whose mass properties no body can have, taken as they stand"),
    "guesses": ("texts", "initial values that only say where to begin when loops are closed"),
    "creation": ("creation", "order in which symbols were made; it fixes the order of operands and may be deleted"),
    "ground": ("ground", "shapes and frames of the ground"),
    "initial": ("quantities", "initial coordinates, velocities, states and memories by name"),
    "variant": ("variants", "changes by name: a table like the file's own, laid over it"),
    "include": ("includes", "sub-models"),
}


__all__ = [
    "BODY",
    "FORMAT",
    "GROUND",
    "INCLUDE",
    "MAX_ITEMS",
    "SECTIONS",
    "SHAPES",
    "SHAPE_COMMON",
    "SHAPE_KEYS",
    "TIMES",
    "TOP",
    "VERBS",
    "VERSION",
    "Kind",
    "Section",
]
