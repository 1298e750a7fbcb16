"""Imports that are deferred to the first use of a module."""

from __future__ import annotations

import builtins
import sys
from contextlib import contextmanager
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def lazy_imports(namespace: dict[str, object]) -> Iterator[None]:
    """Defer the imports of a package's face, which stand in a `with` block, to the first use of each name.

    A command imports only what it uses; type checkers and editors see ordinary imports. The namespace is the `globals()`
    of the package.
    """
    import_now = builtins.__import__

    def defer(name: str, importer: dict[str, object] | None = None, *rest: Any) -> object:
        return _Module(name) if importer is namespace else import_now(name, importer, *rest)

    with _loading:
        builtins.__import__ = defer  # type: ignore[assignment]
        try:
            yield
        finally:
            builtins.__import__ = import_now
    homes = {name: value for name, value in namespace.items() if isinstance(value, _Member)}
    for name in homes:
        del namespace[name]

    def get_attribute(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module '{namespace['__name__']}' has no attribute '{name}'")
        value: object = getattr(import_module(home.module), home.name)
        namespace[name] = value  # skips this function the next time
        return value

    namespace["__getattr__"] = get_attribute
    namespace["__all__"] = sorted(homes)
    namespace["__dir__"] = lambda: sorted({*namespace, *homes})


class _Member(NamedTuple):
    """A name of a module that is not imported yet."""

    module: str
    name: str


class _Module:
    """A module that is not imported yet, as an import statement receives it."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> _Member:
        return _Member(self._module, name)


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


_loading: Final[RLock] = RLock()
