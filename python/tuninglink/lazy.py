"""Packages that import a name of their public face when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_face(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Returns what a package needs as its `__getattr__`: whoever uses it pays only for what they use.

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
