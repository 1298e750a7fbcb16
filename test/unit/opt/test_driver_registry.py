"""Passes known by name, plug-ins that work and plug-ins that do not."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import pytest

from tuninglink.mlir.diagnostics import Diagnostic, Severity
from tuninglink.mlir.passes import Pass, option
from tuninglink.opt.options import options_of
from tuninglink.opt.pass_registry import GROUP, PassRegistry, check_pass
from tuninglink.passes import PASSES


@dataclass(frozen=True)
class Own(Pass):
    """Comes with the program."""

    name: ClassVar[str] = "own"

    def apply(self, operation: Any, diagnostics: Any) -> None:
        pass


@dataclass(frozen=True)
class Foreign(Own):
    """Comes from a plug-in."""

    name: ClassVar[str] = "foreign"


@dataclass(frozen=True)
class Impostor(Own):
    """Wants a name that is taken."""


LIST = [Foreign]


class NoDataclass(Own):
    """Lacks the decorator."""

    name: ClassVar[str] = "no-dataclass"


@dataclass(frozen=True)
class Abstract(Pass):
    """Does nothing."""

    name: ClassVar[str] = "abstract"


@dataclass(frozen=True)
class Nameless(Pass):
    """Has no name."""

    def apply(self, operation: Any, diagnostics: Any) -> None:
        pass


@dataclass(frozen=True)
class OddOption(Own):
    """Has an option of a type that options do not have."""

    name: ClassVar[str] = "odd-option"
    table: dict[str, str] = option(None, "a table")  # noqa: RUF009 - it is the point


@dataclass(frozen=True)
class NoDefault(Own):
    """Cannot be made without options."""

    name: ClassVar[str] = "no-default"
    text: str


class Registry(PassRegistry):
    """Remembers its warnings; has entry points by name of what they load."""

    def __init__(self, *attributes: str) -> None:
        self.warnings: list[Diagnostic] = []
        points = [EntryPoint(each, f"{__name__}:{each}", GROUP) for each in attributes]
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
def test_skips_a_plug_in_that_cannot_be_used_and_says_so(attribute: str, reason: str) -> None:
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


def test_every_pass_that_is_shipped_can_be_used_and_is_in_order() -> None:
    for each in PASSES.values():
        check_pass(each)
        assert each.name.startswith("tuninglink-")
        assert all(option.help for option in options_of(each))
    assert [each.name for each in PASSES.values()] == list(PASSES) == sorted(PASSES)
