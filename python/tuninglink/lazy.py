"""Imports that are deferred to the first use of a module."""

from __future__ import annotations

import sys
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_getattr(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return a `__getattr__` for a package that imports only the modules that are used.

    Args:
        package: the name of the package.
        homes: the module of each public name, relative to `tuninglink`.
    """

    def get_attribute(name: str) -> object:
        home = homes.get(name)
        if home is None:
            message = f"module '{package}' has no attribute '{name}'"
            raise AttributeError(message, name=name, obj=sys.modules[package])
        value: object = getattr(import_module(f"tuninglink.{home}"), name)
        setattr(import_module(package), name, value)  # skips this function the next time
        return value

    return get_attribute


def load_on_use(name: str) -> None:
    """Defer the import of a top-level module until one of its attributes is read.

    `importlib.util.LazyLoader` is not suitable: an import statement reads `__spec__`, which triggers the import.
    """
    sys.modules.setdefault(name, _Stub(name))


class _Stub(ModuleType):
    """A placeholder for a module, which imports it when an attribute is read."""

    def __getattr__(self, attribute: str) -> object:
        with _loading:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
                import_module(self.__name__)
        return getattr(import_module(self.__name__), attribute)


_loading: Final = RLock()
