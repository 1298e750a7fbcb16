"""Reports of a pipeline's run: printed IR, times, statistics, verification."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from iree.compiler.passmanager import PassDisplayMode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from iree.compiler.passmanager import PassManager


@dataclass(frozen=True)
class Instrumentation:
    """The reports of a run on standard error.

    Attributes:
        before_all: print IR before each pass.
        after_all: print IR after each pass.
        before: print IR before the passes in these comma-separated lists of names.
        after: print IR after the passes in these lists.
        module_scope: print the whole module, not only the pass's operation.
        only_on_change: after a pass, print IR only if the pass changed it.
        only_on_failure: print IR only after failed passes.
        tree_directory: print to files in a tree of directories instead.
        timing: whether to print a timing report at the end.
        statistics: whether to print the statistics of passes at the end.
        statistics_display: the format of the statistics: `list` or `pipeline`.
        verify_each: whether to verify IR after each pass.
    """

    before_all: bool = False
    after_all: bool = False
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    module_scope: bool = False
    only_on_change: bool = False
    only_on_failure: bool = False
    tree_directory: str | None = None
    timing: bool = False
    statistics: bool = False
    statistics_display: str = "pipeline"
    verify_each: bool = True

    @property
    def is_selective(self) -> bool:
        """Whether IR is printed around selected passes."""
        return bool(self.before or self.after)

    @property
    def prints(self) -> bool:
        """Whether any IR is printed."""
        return self.is_selective or self.before_all or self.after_all or self.only_on_failure

    def around(self, name: str) -> Instrumentation:
        """Return the instrumentation of a pass manager with only the pass called `name`."""
        return replace(
            self,
            before_all=self.before_all or name in split_names(self.before),
            after_all=self.after_all or name in split_names(self.after),
            before=(),
            after=(),
            timing=False,
            statistics=False,
        )

    def apply(self, manager: PassManager) -> None:
        """Configure a pass manager, except for printing around selected passes."""
        manager.enable_verifier(self.verify_each)
        if self.prints and not self.is_selective:
            manager.enable_ir_printing(
                print_before_all=self.before_all,
                print_after_all=self.after_all or self.only_on_failure,
                print_module_scope=self.module_scope,
                print_after_change=self.only_on_change,
                print_after_failure=self.only_on_failure,
                tree_printing_dir_path=self.tree_directory,
            )
        if self.statistics:
            manager.enable_statistics(PassDisplayMode[self.statistics_display.upper()])
        if self.timing:
            manager.enable_timing()


def split_names(lists: Iterable[str]) -> set[str]:
    """Return the names in comma-separated lists."""
    return {name for list_ in lists for name in list_.split(",")}
