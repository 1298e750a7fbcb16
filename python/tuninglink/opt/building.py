"""Conversion of the tree of a pipeline to passes of a pass manager, and reports of its run.

The reports are printed IR, times, statistics and verification.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from iree.compiler.passmanager import PassDisplayMode, PassManager

from tuninglink.errors import PipelineError
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error, note
from tuninglink.opt.compiler_passes import NativePassManager, Passes
from tuninglink.opt.options import make_pass, print_pass
from tuninglink.opt.pipeline import ANY, Element, OpPipeline, leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from iree.compiler import ir as mlir

    from tuninglink.mlir.passes import Pass
    from tuninglink.opt.pass_registry import PassLookup


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


class PipelineBuilder:
    """A builder of pass managers from pipelines.

    Args:
        context: the context of the operations.
        lookup: the lookup of passes.
        instrumentation: the reports of the run.
        run: runs a pass written in Python and returns whether it succeeded. It must not raise.
        warn: receives warnings about unsupported requests.
        nest_implicitly: whether a top-level pass that runs on other operations is nested (as for passes given as
            flags) instead of rejected.
    """

    def __init__(
        self,
        context: mlir.Context,
        lookup: PassLookup,
        instrumentation: Instrumentation,
        run: Callable[[Pass, mlir.Operation], bool],
        warn: Callable[[Diagnostic], None],
        *,
        nest_implicitly: bool,
    ) -> None:
        self._context = context
        self._lookup = lookup
        self._instrumentation = instrumentation
        self._run = run
        self._warn = warn
        self._nest_implicitly = nest_implicitly
        self._print_selected = instrumentation.is_selective

    def build(self, pipeline: OpPipeline) -> NativePassManager:
        """Return a pass manager that runs `pipeline`.

        Raises:
            PipelineError: a pass or an option does not exist, or a pass is misplaced.
        """
        for leaf in leaves(pipeline):
            self._lookup.check(leaf.name, leaf.place)
        if self._instrumentation.prints or self._runs_python_below(pipeline):
            # Python's handles on IR are for one thread, and output of several threads would be interleaved.
            self._context.enable_multithreading(False)  # noqa: FBT003
        manager = NativePassManager(pipeline.anchor, self._context)
        self._instrumentation.apply(manager.bindings)
        self._add_children(manager.passes, pipeline, nest_implicitly=self._nest_implicitly)
        return manager

    def _runs_python_below(self, pipeline: OpPipeline) -> bool:
        """Return whether a pass written in Python runs on operations other than the outermost."""
        nests = [child for child in pipeline.children if isinstance(child, OpPipeline)]
        below = (self._lookup.python_pass(leaf.name) for nest in nests for leaf in leaves(nest))
        passes = map(self._lookup.python_pass, (leaf.name for leaf in leaves(pipeline)))
        return any(below) or any(
            pass_ and pass_.anchor not in (None, pipeline.anchor) for pass_ in passes
        )

    def _add_children(
        self, passes: Passes, nest: OpPipeline, *, nest_implicitly: bool = False
    ) -> None:
        for child in nest.children:
            if isinstance(child, OpPipeline):
                self._add_children(passes.nest(child.anchor), child)
                continue
            python_pass = self._lookup.python_pass(child.name)
            if python_pass is None:
                parts = self._lookup.compiler.expand(child)
                title, required = child.name, self._restriction(parts, nest.anchor)
            else:
                parts, title, required = (child,), python_pass.__name__, python_pass.anchor
            misplaced = required is not None and nest.anchor not in (required, ANY)
            if misplaced and not nest_implicitly:
                raise PipelineError(_misplaced(child, title, required or ANY, nest.anchor))
            expanded = OpPipeline(nest.anchor, parts)
            if parts != (child,) and (misplaced or self._is_expanded(child, expanded)):
                self._add_children(passes, expanded, nest_implicitly=misplaced)
                continue
            target = passes.nest(required) if misplaced and required else passes
            self._add_element(target, child, python_pass)

    def _is_expanded(self, pipeline: Element, expanded: OpPipeline) -> bool:
        """Return whether to expand a pipeline in order to print IR around some of its passes."""
        if not self._print_selected:
            return False
        unnamed = [
            leaf.name for leaf in leaves(expanded) if not self._lookup.compiler.knows(leaf.name)
        ]
        if unnamed:
            message = (
                f"passes inside '{pipeline.name}' are not printed: it cannot be expanded, since "
                f"'{unnamed[0]}' has no name for textual pipelines"
            )
            self._warn(Diagnostic(Severity.WARNING, message, pipeline.place))
        return not unnamed

    def _restriction(self, parts: tuple[Element | OpPipeline, ...], anchor: str) -> str | None:
        """Return the op that the first of `parts` unable to run on `anchor` is restricted to."""
        if anchor == ANY:
            return None
        # Nested passes were placed by the author of the pipeline.
        top = (part for part in parts if isinstance(part, Element))
        restrictions = (self._lookup.compiler.restriction(part, anchor) for part in top)
        return next(filter(None, restrictions), None)

    def _add_element(
        self, passes: Passes, element: Element, python_pass: type[Pass] | None
    ) -> None:
        pass_ = _make(python_pass, element) if python_pass else None
        if self._print_selected:
            self._add_printed(passes, element, pass_)
        elif pass_:
            self._add_pass(passes, pass_)
        else:
            self._add_native(passes, element)

    def _add_native(self, passes: Passes, element: Element) -> None:
        try:
            passes.add_native(str(element))
        except ValueError as failure:
            raise PipelineError(self._lookup.compiler.explain(element, str(failure))) from None

    def _add_pass(self, passes: Passes, pass_: Pass) -> None:
        passes.add_python(
            type(pass_).__name__,
            print_pass(pass_),
            pass_.anchor or "",
            lambda operation: self._run(pass_, operation),
        )

    def _add_printed(self, passes: Passes, element: Element, pass_: Pass | None) -> None:
        """Add a pass inside a separate pass manager, the only way to print IR around one pass."""
        managers: dict[str, NativePassManager] = {}

        def run(operation: mlir.Operation) -> bool:
            manager = managers.get(operation.name)
            if manager is None:
                manager = NativePassManager(operation.name, self._context)
                managers[operation.name] = manager
                self._instrumentation.around(element.name).apply(manager.bindings)
                if pass_:
                    self._add_pass(manager.passes, pass_)
                else:
                    self._add_native(manager.passes, element)
            return manager.run(operation)

        anchor = pass_.anchor or "" if pass_ else ""
        passes.add_python(element.name, str(element), anchor, run)


def _make(pass_type: type[Pass], element: Element) -> Pass:
    try:
        return make_pass(pass_type, element.options)
    except PipelineError as failure:
        diagnostic = failure.diagnostics[0]
        placed = error(diagnostic.message, element.place, diagnostic.notes)
        raise PipelineError(placed) from None


def _misplaced(element: Element, title: str, required: str, anchor: str) -> Diagnostic:
    message = (
        f"Can't add pass '{title}' restricted to '{required}' on a PassManager intended to run on "
        f"'{anchor}', did you intend to nest?"
    )
    remedy = f"nest it in '{required}': {required}({element})"
    return error(message, element.place, [note(remedy)])
