"""Compiles the kernels of the package for the families of processors of this machine's architecture, to come with a wheel.

python tools/ship_kernels.py
"""

from __future__ import annotations

import pkgutil
import shutil
import sys
from importlib import import_module

import jourdain
from jourdain.native import shipped
from jourdain.native.kernel import Kernel, ship


def kernels() -> list[Kernel]:
    """All entry points of the package, where they are defined."""
    for module in pkgutil.walk_packages(jourdain.__path__, "jourdain."):
        if not module.name.endswith("__main__"):
            try:
                import_module(module.name)
            except ImportError as error:  # of an extra that is not installed
                print(f"{module.name}: left out, {error}")
    loaded = [m for name, m in sorted(sys.modules.items()) if name.startswith("jourdain.")]
    return [k for m in loaded for k in vars(m).values() if isinstance(k, Kernel) and k.__module__ == m.__name__]


def main() -> None:
    """Replaces what is there."""
    shutil.rmtree(shipped.FOLDER, ignore_errors=True)
    found = kernels()
    for family in shipped.families():
        total = sum(ship(k, family) for k in found)
        print(f"{family}: {len(found)} kernels, {total / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
