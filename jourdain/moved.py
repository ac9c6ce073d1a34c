"""Modules of version 0.1 under their older names: they are found where they stand now, with a note, for one version."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

#: Old room, new room, and modules as "old" or "old:new".
_ROOMS = (
    ("analysis", "systems", "state configuration callbacks formulations diagnose"),
    ("analysis", "systems.outputs", "reactions energy_balance"),
    ("analysis", "systems.tree", "system native_system:projected independent reduced closed:closed_form closure partition redundancy semi_recursive"),
    ("solvers", "systems.tree", "looped_tree:looped link_sweeps"),
    ("analysis", "systems.descriptor", "descriptor_system:system natural index3"),
    ("analysis", "systems.assembled", "assembled_system:system assembled_program:program directors augmented_lagrangian director_assembly:from_model"),
    ("analysis", "analysis", "servo_tracking:track symbolic_linear:symbolic_linearise"),
    ("formalisms", "formalisms.tree", "kinematics newton_euler composite_body articulated_body mass_factor coriolis derivatives momentum energy "
     "power regressor reactions rods acceleration_loads link_arrays link_steps"),
    ("formalisms", "formalisms.loops", "loop_closure closure_rates closed_form trig_polynomial elimination basic_constraints"),
    ("formalisms", "formalisms.coordinates", "absolute cartesian natural directors descriptor semi_recursive"),
    ("solvers", "solvers.linear", "dense sparse_lu library_lu fronts redundant"),
    ("solvers", "solvers.constraints", "constrained:elimination reductions reduced repartition nearby pose_reader"),
    ("solvers", "solvers.ode", "march events trajectory method"),
    ("solvers", "solvers.ode.methods", "runge_kutta tableaus adams rosenbrock radau symplectic generalized_alpha"),
    ("io", "io.mbs", "mbs_connect:connect mbs_data:data mbs_notes:notes mbs_writer:writer"),
    ("model", "model.contact", "contacts contact_laws:laws contact_methods:methods contact_loads:loads penalty_laws"),
    ("model", "model.elastic", "bending curved deformation flexible flexible_methods:methods"),
    ("systems", "systems.outputs", "solution channels reactions energy_balance driven_books readings happened frames touch_table contact_pairs"),
    ("systems.tree", "systems.tree.contact", "contact_events:events contact_instant:instant contact_numbers:numbers contact_rows:rows contact_shares:shares contact_table:table contacts framed_contacts:framed moreau nonsmooth_alpha:alpha loose_bodies"),
    ("analysis", "analysis.equations", "residual balance by_elements closed_states start_values drivers"),
    ("analysis", "analysis.design", "planned problem criteria"),
    ("io", "io.model_files", "analyses contact_tables creation_order every_error expression_language expression_writer json_schema load_tables model_document:document model_file model_names:names model_operations:operations model_origin:origin model_reader:reader model_writer:writer placement problems run_folder schema schema_types shape_tables structure_numbers structure_tables toml_source toml_writer"),
    ("structures", "structures.parts", "beams solids trusses elements sections geometric patches dofs points ordering"),
    ("solvers.ode", "solvers.ode.methods", "adams alpha_records generalized_alpha linearly_implicit plain_rk4 radau rosenbrock runge_kutta symplectic tableaus"),
    ("view", "view.scenes", "from_assembled from_parts from_solution from_structure contact_arrows curved_shape default_shapes telescopes static_share surface"),
    ("elements", "elements.discrete", "discrete_gradient divided_difference mean_value null_space schemes stepping"),
)  # fmt: skip


def new_name(name: str) -> str | None:
    """Where a module of an older name stands now."""
    if name == "jourdain.formalisms.elements" or name.startswith("jourdain.formalisms.elements."):
        return name.replace("formalisms.elements", "elements", 1)
    head, _, last = name.rpartition(".")
    for old, new, modules in _ROOMS:
        if head == f"jourdain.{old}":
            for module in modules.split():
                before, _, after = module.partition(":")
                if before == last:
                    return f"jourdain.{new}.{after or before}"
    return None


class _Found:  # no subclass of importlib.abc.Loader, whose module costs a tenth of the time of `import jourdain`
    def __init__(self, name: str) -> None:
        self.name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        warnings.warn(f"module '{spec.name}' is now '{self.name}'", DeprecationWarning, stacklevel=2)
        module = import_module(self.name)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module was executed under its own name, and keeps it."""
        module.__spec__ = self.spec


class _Finder:
    """Finds modules whose older names begin so."""

    def __init__(self, beginning: str) -> None:
        self.beginning = beginning

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        found = new_name(name) if name.startswith(self.beginning) else None
        return None if found is None else ModuleSpec(name, _Found(found))  # type: ignore[arg-type]


def install() -> None:
    """Asks here last, when a module is not found where it is looked for; elements first, because they would be found twice."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder("jourdain.formalisms.elements"))
        sys.meta_path.append(_Finder("jourdain."))
