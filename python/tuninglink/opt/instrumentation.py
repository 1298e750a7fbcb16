"""What a run of a pipeline tells about itself: printed IR, times, statistics, verification."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from iree.compiler.passmanager import PassDisplayMode

if TYPE_CHECKING:
    from iree.compiler.passmanager import PassManager


@dataclass(frozen=True)
class Printing:
    """Which IR is printed to standard error, as the flags `--mlir-print-ir-*` say it.

    Attributes:
        before_all: print before each pass.
        after_all: print after each pass.
        before: print before the passes with these names.
        after: print after the passes with these names.
        module_scope: print the whole module, not only what the pass ran on.
        only_on_change: of what is to be printed after a pass, print only what the pass has changed.
        only_on_failure: print after each pass that fails, and after no other.
        tree_directory: print to files in a tree of folders instead.
    """

    before_all: bool = False
    after_all: bool = False
    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    module_scope: bool = False
    only_on_change: bool = False
    only_on_failure: bool = False
    tree_directory: str | None = None

    @property
    def is_selective(self) -> bool:
        """Whether some passes are singled out."""
        return bool(self.before or self.after)

    @property
    def is_on(self) -> bool:
        """Whether anything is printed at all."""
        return self.is_selective or self.before_all or self.after_all or self.only_on_failure

    def of(self, name: str) -> Printing:
        """Returns what is printed around the pass called `name`, as if it were the only one."""
        return Printing(
            before_all=self.before_all or name in self.before,
            after_all=self.after_all or name in self.after,
            module_scope=self.module_scope,
            only_on_change=self.only_on_change,
            only_on_failure=self.only_on_failure,
            tree_directory=self.tree_directory,
        )

    def apply(self, manager: PassManager) -> None:
        """Makes a pass manager print, whichever pass it runs."""
        if not self.is_on:
            return
        manager.enable_ir_printing(
            print_before_all=self.before_all,
            print_after_all=self.after_all or self.only_on_failure,
            print_module_scope=self.module_scope,
            print_after_change=self.only_on_change,
            print_after_failure=self.only_on_failure,
            tree_printing_dir_path=self.tree_directory,
        )


@dataclass(frozen=True)
class Instrumentation:
    """What a run tells about itself.

    Attributes:
        printing: which IR is printed.
        timing: whether to print a timing report in the end.
        statistics: whether to print the statistics of passes in the end, and how.
        verify_each: whether IR is verified after each pass.
    """

    printing: Printing = field(default_factory=Printing)
    timing: bool = False
    statistics: Literal["list", "pipeline"] | None = None
    verify_each: bool = True

    def apply(self, manager: PassManager) -> None:
        """Prepares a pass manager, except for printing around selected passes."""
        manager.enable_verifier(self.verify_each)
        if not self.printing.is_selective:
            self.printing.apply(manager)
        if self.statistics:
            manager.enable_statistics(PassDisplayMode[self.statistics.upper()])
        if self.timing:
            manager.enable_timing()
