"""Registered passes, and valid and invalid plug-ins."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import pytest

from tuninglink.errors import Diagnostic, Severity
from tuninglink.mlir import Pass, option
from tuninglink.opt import GROUP, PassRegistry, check_pass, options_of
from tuninglink.passes import PASSES


@dataclass(frozen=True)
class Own(Pass):
    """A shipped pass."""

    name: ClassVar[str] = "own"

    def apply(self, operation: Any, diagnostics: Any) -> None:
        pass


@dataclass(frozen=True)
class Foreign(Own):
    """A pass of a plug-in."""

    name: ClassVar[str] = "foreign"


@dataclass(frozen=True)
class Impostor(Own):
    """A pass with a name in use."""


LIST = [Foreign]


class NoDataclass(Own):
    """A pass without the decorator."""

    name: ClassVar[str] = "no-dataclass"


@dataclass(frozen=True)
class Abstract(Pass):
    """A pass without `apply`."""

    name: ClassVar[str] = "abstract"


@dataclass(frozen=True)
class Nameless(Pass):
    """A pass without a name."""

    def apply(self, operation: Any, diagnostics: Any) -> None:
        pass


@dataclass(frozen=True)
class OddOption(Own):
    """A pass with an option of an unsupported type."""

    name: ClassVar[str] = "odd-option"
    table: dict[str, str] = option(None, "a table")  # noqa: RUF009 - it is the point


@dataclass(frozen=True)
class NoDefault(Own):
    """A pass with a required option."""

    name: ClassVar[str] = "no-default"
    text: str


class Registry(PassRegistry):
    """A registry that records its warnings, with entry points named after the objects that they load."""

    def __init__(self, *attributes: str) -> None:
        self.warnings: list[Diagnostic] = []
        points = [
            EntryPoint(attribute, f"{__name__}:{attribute}", GROUP) for attribute in attributes
        ]
        super().__init__({"own": Own}, self.warnings.append, lambda: points)


def test_finds_passes_of_its_own_and_of_plug_ins() -> None:
    registry = Registry("LIST")
    assert registry.own == {"own": Own}
    assert registry.plugged_in == {"foreign": Foreign}
    assert list(registry.all().items()) == [("foreign", Foreign), ("own", Own)]
    assert registry.warnings == []


@pytest.mark.parametrize(
    ("attribute", "reason"),
    [
        ("not_there", "AttributeError: "),
        ("NoDataclass", "TypeError: NoDataclass is not a frozen dataclass"),
        ("Abstract", "TypeError: Abstract does not define 'apply'"),
        ("Nameless", "TypeError: Nameless has no name"),
        ("OddOption", "TypeError: option 'table' of 'odd-option' cannot be a dict[str, str]"),
        ("NoDefault", "TypeError: option 'text' of 'no-default' has no default"),
        ("GROUP", "TypeError: 't' is not a subclass of tuninglink.mlir.passes.Pass"),
        ("Impostor", "pass 'own' exists already"),
    ],
)
def test_skips_an_unusable_plug_in_with_a_warning(attribute: str, reason: str) -> None:
    registry = Registry(attribute, "Foreign")
    assert registry.plugged_in == {"foreign": Foreign}
    (warning,) = registry.warnings
    assert warning.severity is Severity.WARNING
    assert warning.message.startswith(
        f"skipping plug-in '{attribute}' ({__name__}:{attribute}), which cannot be used: {reason}"
    )


def test_looks_for_plug_ins_only_when_asked() -> None:
    def never() -> list[EntryPoint]:
        raise AssertionError

    registry = PassRegistry({"own": Own}, lambda _: None, never)
    assert registry.own == {"own": Own}


def test_every_shipped_pass_is_valid_and_in_order() -> None:
    for pass_type in PASSES.values():
        check_pass(pass_type)
        assert pass_type.name.startswith("tuninglink-")
        assert all(option.help for option in options_of(pass_type))
    assert [pass_type.name for pass_type in PASSES.values()] == list(PASSES) == sorted(PASSES)
