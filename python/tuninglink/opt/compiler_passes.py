"""The compiler's passes, by name: their existence, their parts, and their restrictions."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

from iree.compiler import _mlir_libs
from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.errors import PipelineError
from tuninglink.mlir.diagnostics import Diagnostic, error, note
from tuninglink.opt.options import split_options
from tuninglink.opt.pipeline import ANY, Element, OpPipeline, parse_pipeline

PASSES_HEADING = "Compiler passes to run"
_PASS = re.compile(r"^ {6}--([\w.-]+)", re.MULTILINE)
_FLAG = re.compile(r"^ {2}--?([\w.-]+)(\[?=)?", re.MULTILINE)


def executable() -> str:
    """Return the path of the compiler's `iree-opt` binary, without the wrapper script."""
    return str(Path(_mlir_libs.__file__).parent / "iree-opt")


@functools.cache
def help_text(*, hidden: bool = False) -> str:
    """Return the output of `iree-opt --help`, or of `--help-hidden` if `hidden`."""
    command = [executable(), "--help-hidden" if hidden else "--help"]
    finished = subprocess.run(command, check=True, capture_output=True, timeout=120)  # noqa: S603 - the wheel's own
    return finished.stdout.decode(errors="replace")


def pass_names() -> list[str]:
    """Return the names of the compiler's passes and pipelines, in the order of its help."""
    _, _, passes = help_text().partition(PASSES_HEADING)
    return list(dict.fromkeys(_PASS.findall(passes)))


def flags_with_value() -> dict[str, bool]:
    """Return the compiler's flags other than passes, and whether each requires a value."""
    return {name: value == "=" for name, value in _FLAG.findall(help_text(hidden=True))}


UNPRINTABLE = frozenset({"iree-llvmcpu-tile"})
"""Passes whose default options cannot be printed: they were never set, and the compiler may crash."""

UNKNOWN = "does not refer to a registered pass or pass pipeline"
_TARGET_BACKENDS = "target-registry="
"""The option of all passes that use target backends."""

_RESTRICTED = re.compile(r"restricted to '([^']*)'")
_NO_SUCH_OPTION = re.compile(r"no such option (\S+)")


class CompilerPasses:
    """Queries of the compiler about its passes.

    A named pipeline of the compiler consists of passes. Adding one where its passes cannot run ends the process, so it
    is expanded before it is used.
    """

    def __init__(self, context: mlir.Context) -> None:
        self._context = context
        self._known: dict[str, bool] = {}

    def knows(self, name: str) -> bool:
        """Return whether a pass or a pipeline called `name` exists."""
        exists = self._known.get(name)
        if exists is None:
            exists = self._known[name] = UNKNOWN not in (self._failure(ANY, name) or "")
        return exists

    def expand(self, element: Element) -> tuple[Element | OpPipeline, ...]:
        """Return the parts of a pipeline, or the pass itself.

        Raises:
            PipelineError: the options are invalid.
        """
        try:
            children = parse_pipeline(self._printed(element)).children
        except ValueError as failure:
            raise PipelineError(self.explain(element, str(failure))) from None
        match children:
            case (Element(name=element.name),):
                return (element,)
        return children

    def needs_target_backends(self, element: Element) -> bool:
        """Return whether a pass, or one in a pipeline, uses the target backends of the process."""
        try:
            return _TARGET_BACKENDS in self._printed(element)
        except ValueError:
            return False  # The error is reported when the pass is used.

    def restriction(self, element: Element, anchor: str) -> str | None:
        """Return the operation that a pass is restricted to, if it cannot run on `anchor`."""
        restricted = _RESTRICTED.search(self._failure(anchor, str(element)) or "")
        return restricted[1] if restricted else None

    def explain(self, element: Element, failure: str) -> Diagnostic:
        """Return the compiler's message about invalid options as a diagnostic."""
        lines = [line for line in failure.splitlines() if line]
        message = lines[0] if lines else f"failed to add '{element}'"
        notes = [note(line) for line in lines[1:]]
        if _NO_SUCH_OPTION.search(message):
            options = self.options(element.name)
            notes.append(
                note(f"its options are: {', '.join(options)}" if options else "it has no options")
            )
        return error(message, element.place, notes)

    def options(self, name: str) -> dict[str, str]:
        """Return the options of a pass with their defaults, as far as the compiler prints them."""
        match parse_pipeline(self._printed(Element(name))).children:
            case (Element(name=printed, options=text),) if printed == name:
                return dict(split_options(text))
        return {}

    def _printed(self, element: Element) -> str:
        """Return a pass or a pipeline as the compiler prints it, with the defaults of its options.

        Raises:
            ValueError: the options are invalid.
        """
        if element.name in UNPRINTABLE:
            return f"{ANY}({element})"
        return str(PassManager.parse(f"{ANY}({element})", self._context))

    def _failure(self, anchor: str, text: str) -> str | None:
        try:
            PassManager.parse(f"{anchor}({text})", self._context)
        except ValueError as failure:
            return str(failure)
        return None
