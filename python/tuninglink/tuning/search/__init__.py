"""Searches, which choose the next candidates, by name: built-in ones, and those of plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from threading import Thread
from typing import Final

from tuninglink.errors import TuninglinkError, UsageError, did_you_mean
from tuninglink.mlir.diagnostics import error, note
from tuninglink.tuning.search.base import (
    NeighborSearch,
    RandomSearch,
    Search,
    lacking_scikit_learn,
    load_trees,
)

__all__ = [
    "DEFAULT_SEARCH",
    "GROUP",
    "Search",
    "begin_loading",
    "check_search",
    "lacking_scikit_learn",
    "search_named",
    "search_names",
]

GROUP: Final = "tuninglink.search"
"""The entry-point group under which a plug-in registers a search: a subclass of `Search`."""

DEFAULT_SEARCH: Final = "model"


def search_names() -> list[str]:
    """Return the names of all searches, the default first."""
    return [
        DEFAULT_SEARCH,
        *sorted({*_own(), *(plug_in.name for plug_in in _plug_ins())} - {DEFAULT_SEARCH}),
    ]


def search_named(name: str) -> type[Search]:
    """Return a search.

    Raises:
        TuninglinkError: the name is unknown, or its plug-in cannot be used.
    """
    own = _own().get(name)
    if own is not None:
        return own()
    result = [plug_in for plug_in in _plug_ins() if plug_in.name == name]
    if not result:
        available = note(f"known: {', '.join(search_names())}")
        hint = did_you_mean(name, search_names())
        raise UsageError(error(f"there is no search '{name}'{hint}", notes=[available]))
    return _loaded(result[0])


def check_search(name: str) -> None:
    """Check that a search exists, without loading the libraries of built-in searches.

    Raises:
        TuninglinkError: see `search_named`.
    """
    if name != DEFAULT_SEARCH:
        search_named(name)
    else:
        _check_trees()


_FEW_TRIALS: Final = 8
"""A search of this number of trials ends before it has a model."""


def begin_loading(name: str, trials: int | None) -> None:
    """Load the libraries of a search in another thread, while the calling thread waits for the compiler.

    Args:
        name: the name, which `check_search` accepted.
        trials: the limit on the candidates of a dispatch; None for no limit.
    """
    if name == DEFAULT_SEARCH and (trials is None or trials > _FEW_TRIALS):
        Thread(target=_load_ahead, daemon=True).start()


def _load_ahead() -> None:
    with suppress(TuninglinkError):  # The search reports it when it needs the trees.
        load_trees()


def _own() -> dict[str, Callable[[], type[Search]]]:
    return {
        "model": _model_search,
        "random": lambda: RandomSearch,
        "neighbors": lambda: NeighborSearch,
    }


def _model_search() -> type[Search]:
    _check_trees()
    from tuninglink.tuning.search.model import ModelSearch  # noqa: PLC0415 - imports NumPy

    return ModelSearch


def _check_trees() -> None:
    if find_spec("sklearn") is None:
        raise lacking_scikit_learn("the search 'model'", "there is no module 'sklearn'")


def _plug_ins() -> Iterable[EntryPoint]:
    return sorted(entry_points(group=GROUP), key=lambda plug_in: plug_in.name)


def _loaded(entry_point: EntryPoint) -> type[Search]:
    try:
        loaded = entry_point.load()
    except Exception as failure:  # noqa: BLE001 - whatever a stranger's code does wrong
        message = f"plug-in '{entry_point.name}' ({entry_point.value}) cannot be loaded: {failure}"
        raise TuninglinkError(error(message)) from None
    if not (isinstance(loaded, type) and issubclass(loaded, Search)):
        expected = f"{Search.__module__}.{Search.__qualname__}"
        message = (
            f"plug-in '{entry_point.name}' ({entry_point.value}) is not a subclass of {expected}"
        )
        raise TuninglinkError(error(message))
    return loaded
