"""Imports that wait until something of a module is used."""

from __future__ import annotations

import sys
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_face(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return what a package needs as its `__getattr__`: whoever uses it pays only for what they use.

    Args:
        package: the name of the package.
        homes: for each public name the module that defines it, relative to `tuninglink`.
    """

    def get_attribute(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value: object = getattr(import_module(f"tuninglink.{home}"), name)
        setattr(import_module(package), name, value)  # It is asked for only once.
        return value

    return get_attribute


def load_on_use(name: str) -> None:
    """Make importing a top-level module cost nothing until one of its attributes is read.

    `importlib.util.LazyLoader` is of no help: an import statement reads `__spec__`, which makes it load.
    """
    sys.modules.setdefault(name, _Stub(name))


class _Stub(ModuleType):
    """Stands in for a module that is not loaded yet, and takes its attributes from it."""

    def __getattr__(self, attribute: str) -> object:
        with _loading:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
                import_module(self.__name__)
        return getattr(import_module(self.__name__), attribute)


_loading: Final = RLock()
