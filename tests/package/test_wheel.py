"""The built wheel holds what it should and runs in an environment with nothing but its declared dependencies."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HEAVY = {"llvmlite", "scipy", "matplotlib", "pandas", "xarray", "pyarrow", "h5py", "sympy", "trimesh", "PIL"}


def run(*command: str | Path, **options: object) -> str:
    """Standard output of a command; its error output in the message when it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=240, **options)
    assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this source tree."""
    pytest.importorskip("hatchling", reason="the build backend hatchling is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    (built,) = folder.glob("*.whl")
    return built


def requirement_closure(names: list[str]) -> set[str]:
    """Canonical names of the distributions that the given requirements need here, directly or not."""
    pending, closure = [Requirement(name) for name in names], set()
    while pending:
        requirement = pending.pop()
        name = canonicalize_name(requirement.name)
        extras = requirement.extras or {""}
        if name in closure or not (requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras)):
            continue
        closure.add(name)
        pending += [Requirement(line) for line in importlib.metadata.requires(name) or []]
    return closure


def link_distribution(name: str, site_packages: Path) -> None:
    """Make an installed distribution visible in another environment without copying or downloading it."""
    distribution = importlib.metadata.distribution(name)
    tops = {file.parts[0] for file in distribution.files or [] if file.parts[0] != ".."}
    for top in tops - {"__pycache__"}:
        target = site_packages / top
        if not target.exists():
            target.symlink_to(Path(str(distribution.locate_file(top))))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program folder of a fresh environment: the wheel and its declared dependencies, no more."""
    if os.name == "nt":
        pytest.skip("linking distributions into an environment needs symbolic links")
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    site_packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    for name in requirement_closure(PROJECT["dependencies"]):
        link_distribution(name, site_packages)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--no-index", wheel)
    return folder / "bin"


def isolated() -> dict[str, str]:
    """The environment variables of this process without those that change where Python looks for modules."""
    return {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}


def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    metadata_folder = f"jourdain-{PROJECT['version']}.dist-info"
    assert {Path(name).parts[0] for name in names} == {"jourdain", metadata_folder}
    assert not [name for name in names if "__pycache__" in name or "/tests/" in name]
    assert {"jourdain/__init__.py", "jourdain/cli/grammar.py", "jourdain/demo.py", "jourdain/py.typed"} <= names
    assert f"{metadata_folder}/licenses/LICENSE" in names


def test_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    files = [path for path in (ROOT / "jourdain").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert {path.relative_to(ROOT).as_posix() for path in files} <= names


def test_metadata(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    folder = f"jourdain-{PROJECT['version']}.dist-info"
    metadata = Parser().parsestr(archive.read(f"{folder}/METADATA").decode())
    assert metadata["Name"] == "jourdain"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert set(metadata.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    assert "jourdain = jourdain.cli:main" in archive.read(f"{folder}/entry_points.txt").decode()


def test_installs_and_runs_in_an_empty_environment(environment: Path, tmp_path: Path) -> None:
    program = "import jourdain; print(jourdain.__file__); print(jourdain.__version__)"
    place, version = run(environment / "python", "-c", program, cwd=tmp_path, env=isolated()).split()
    assert Path(place).is_relative_to(environment.parent)
    assert version == PROJECT["version"]
    assert "usage" in run(environment / "jourdain", "--help", cwd=tmp_path, env=isolated()).lower()


def test_environment_hides_what_is_not_declared(environment: Path, tmp_path: Path) -> None:
    program = "import importlib.util as u; print([n for n in ('pytest', 'sympy', 'pinocchio') if u.find_spec(n)])"
    assert run(environment / "python", "-c", program, cwd=tmp_path, env=isolated()).strip() == "[]"


def test_import_loads_no_heavy_package() -> None:
    program = "import sys; before = set(sys.modules); import jourdain; print(*{name.split('.')[0] for name in set(sys.modules) - before})"
    loaded = set(run(sys.executable, "-c", program, cwd=ROOT).split())
    assert "jourdain" in loaded
    assert not loaded & HEAVY


def top_level_imports(body: list[ast.stmt]) -> Iterator[str]:
    """Packages that a module imports when it is itself imported (not inside functions, `try` or type checking)."""
    for statement in body:
        if isinstance(statement, ast.Import):
            yield from (alias.name.split(".")[0] for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0 and statement.module:
            yield statement.module.split(".")[0]
        elif isinstance(statement, ast.ClassDef):
            yield from top_level_imports(statement.body)
        elif isinstance(statement, ast.If) and not re.search("TYPE_CHECKING|__main__", ast.unparse(statement.test)):
            yield from top_level_imports(statement.body + statement.orelse)


def test_modules_import_only_declared_dependencies() -> None:
    declared = {re.split(r"[^\w-]", line)[0] for line in PROJECT["dependencies"]}
    allowed = declared | set(sys.stdlib_module_names) | {"jourdain"}
    foreign = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / "jourdain").rglob("*.py")
        for name in top_level_imports(ast.parse(path.read_text(encoding="utf-8")).body)
        if name not in allowed
    }
    assert not foreign, f"import these inside the functions that use them: {sorted(foreign)}"
