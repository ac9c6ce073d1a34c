"""<attach> of MJCF: a body of another model, with the default classes, assets and compiler settings of that model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..xml_reader import MAX_ELEMENTS, Element, read_xml
from .replicate import expand_replicates
from .rules import Folder, Settings, drop_empty, expand_includes

#: Attributes that name something of the same model.
REFERENCES = ("name", "class", "childclass", "mesh", "material", "hfield", "body1", "body2", "geom1", "geom2")
#: Settings that act on all masses of a model together.
OF_ALL_MASSES = ("boundmass", "boundinertia", "balanceinertia", "settotalmass")


def expand_attachments(root: Element, path: Path | None, folder: Folder | None, settings: Settings) -> None:
    """Replaces every <attach> by a frame that holds the body it names, as MuJoCo does: names get its prefix, the body keeps its pose."""
    _Attachments(root, folder, settings, () if path is None else (path.resolve(),), [0]).expand()


class _Attachments:
    """The attached models of one model, each read once."""

    def __init__(self, root: Element, folder: Folder | None, settings: Settings, files: tuple[Path, ...], size: list[int]) -> None:
        self.root = root
        self.folder = folder
        self.settings = settings
        #: this model's file, after those of the models around it
        self.chain = files
        #: how many elements have been copied into all of them
        self.size = size
        self.files = {e.get("name") or Path(e.get("file") or "").stem: e for asset in root.all("asset") for e in asset.all("model")}
        self.known: dict[str, tuple[Element, Settings]] = {}

    def expand(self) -> None:
        for world in self.root.all("worldbody"):
            self._inside(world)

    def _inside(self, element: Element) -> None:
        for k, child in enumerate(element.children):
            if child.tag == "attach":
                element.children[k] = self._attached(child)
            else:
                self._inside(child)

    def _attached(self, element: Element) -> Element:
        if element.get("model") is None:
            raise element.error(
                "parts of this model itself are not attached to it; write them out, or save the compiled model (mj_saveLastXML) and read that"
            )
        name, prefix = element.required("model"), element.get("prefix") or ""
        model, settings = self._model(element, name)
        for setting in OF_ALL_MASSES:
            if getattr(settings, setting) != getattr(self.settings, setting):
                raise element.error(
                    f"the model '{name}' has another {setting} than the one around it; give both the same, or save the compiled model"
                )
        inside = self._content(element, model)
        self.size[0] += sum(map(_count, (model, *inside)))
        if self.size[0] > MAX_ELEMENTS:
            raise element.error(f"more than {MAX_ELEMENTS} elements are not read")
        self._take_along(model, prefix, settings)
        place = Element("frame", {"childclass": f"{prefix}main"}, element.source, element.line)
        place.children = [_copied(e, prefix, settings) for e in inside]
        return place

    def _content(self, element: Element, model: Element) -> list[Element]:
        """The body with its name, or all that stands in the world."""
        wanted, stack = element.get("body"), list(model.all("worldbody"))
        if wanted is None:
            return [e for world in stack for e in world.children]
        while stack:
            e = stack.pop()
            if e.tag == "body" and e.get("name") == wanted:
                return [e]
            stack += e.children
        raise element.error(f"the model '{element.get('model')}' has no body '{wanted}'")

    def _model(self, element: Element, name: str) -> tuple[Element, Settings]:
        """A model by its name among the assets, with all that it includes, repeats and attaches itself."""
        if name not in self.known:
            asset = self.files.get(name) or self._called(name)
            if asset is None:
                raise element.error(f"the model '{name}' is not among the assets; there are {', '.join(self.files) or 'none'}")
            if self.folder is None:
                raise asset.error("an attached model needs a model read from a file, not from text")
            file = self.folder.file(asset, asset.required("file"))
            if file in self.chain:
                raise asset.error(f"the model '{name}' attaches itself")
            tree, _ = read_xml(file, expected=("mujoco",))
            own = Folder(file.parent, self.folder.root)
            expand_includes(tree, file, own)
            drop_empty(tree)
            settings = Settings.of(tree)
            _Attachments(tree, own, settings, (*self.chain, file), self.size).expand()
            expand_replicates(tree, settings)
            _place_files(tree, file.parent, settings)
            self.known[name] = tree, settings
        return self.known[name]

    def _called(self, name: str) -> Element | None:
        """The asset without a name of its own whose file calls its model so."""
        for asset in self.files.values():
            if asset.get("name") is None and self.folder is not None:
                tree, _ = read_xml(self.folder.file(asset, asset.required("file")), expected=("mujoco",))
                if tree.get("model") == name:
                    return asset
        return None

    def _take_along(self, model: Element, prefix: str, settings: Settings) -> None:
        """Default classes, assets and other sections of an attached model under its prefix; options and keyframes are the outer model's own."""
        classes = Element("default", {"class": f"{prefix}main"}, model.source, model.line)
        for section in model.all("default"):
            if (section.get("class") or "main") == "main":
                classes.children += [_copied(e, prefix, settings) for e in section.children]
            else:
                classes.children.append(_copied(section, prefix, settings))
        self.root.children.append(classes)
        for section in model.children:
            if section.tag in ("asset", "contact", "tendon", "equality", "actuator", "sensor", "deformable"):
                taken = [e for e in section.children if e.tag != "model"]
                copies = [_copied(e, prefix, settings) for e in taken]
                for e in copies if section.tag == "asset" else ():
                    e.attributes.setdefault("class", f"{prefix}main")
                self.root.children.append(replace(section, children=copies))


def _count(element: Element) -> int:
    return 1 + sum(map(_count, element.children))


def _place_files(model: Element, home: Path, settings: Settings) -> None:
    """Files of an attached model are looked for from where it stands."""
    for asset in model.all("asset"):
        for e in asset.children:
            if e.tag != "model" and "file" in e.attributes:
                e.attributes["name"] = e.get("name") or Path(e.attributes["file"]).stem
                e.attributes["file"] = str((e.folder or home) / settings.meshdir / e.attributes["file"])


def _copied(element: Element, prefix: str, settings: Settings) -> Element:
    """A copy whose names have the prefix, read by the settings of its own model."""
    attributes = {n: f"{prefix}{x}" if n in REFERENCES else x for n, x in element.attributes.items()}
    own = settings if element.settings is None else element.settings
    return replace(element, attributes=attributes, settings=own, children=[_copied(e, prefix, settings) for e in element.children])


__all__ = ["expand_attachments"]
