"""The registered passes: those of Tuninglink and those of plug-ins; and lookup by name, also among the compiler's."""

from __future__ import annotations

import dataclasses
import inspect
import re
import subprocess
from ctypes import CFUNCTYPE, Structure, c_int8, c_void_p
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    NamedTuple,
    get_args,
    get_origin,
    get_type_hints,
)

from iree.compiler import _mlir_libs, ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.compiler import PrintedText, StringRef, call, object_at, pointer_of
from tuninglink.errors import Diagnostic, PipelineError, Place, Severity, did_you_mean
from tuninglink.llvm_flags import read_boolean
from tuninglink.mlir import Pass, error, note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from importlib.metadata import EntryPoint


GROUP = "tuninglink.passes"
"""The entry-point group under which a plug-in registers a pass, or a list of passes."""


@dataclass
class PassRegistry:
    """A registry of passes by name, which imports passes on demand.

    The passes of plug-ins are by default those of all installed packages. `warn` receives warnings about unusable ones.
    """

    own: Mapping[str, type[Pass]]
    warn: Callable[[Diagnostic], None]
    entry_points: Callable[[], Iterable[EntryPoint]] | None = None

    @cached_property
    def plugged_in(self) -> dict[str, type[Pass]]:
        """The passes of plug-ins, by name.

        A plug-in that cannot be loaded, or whose pass is invalid, is skipped with a warning.
        """
        from tuninglink.specs import plug_ins  # noqa: PLC0415 - most passes need no specs

        entry_points = self.entry_points() if self.entry_points else plug_ins(GROUP)
        plugged: dict[str, type[Pass]] = {}
        for entry_point in sorted(entry_points, key=lambda plugin: plugin.name):
            reasons: list[str] = []
            pass_types: list[type[Pass]] = []
            try:
                loaded = entry_point.load()
                pass_types += [loaded] if isinstance(loaded, type) else list(loaded)
                for pass_type in pass_types:
                    check_pass(pass_type)
            except Exception as failure:  # noqa: BLE001 - foreign code may raise anything
                reasons.append(f"{type(failure).__name__}: {failure}")
                pass_types.clear()
            for pass_type in pass_types:
                if pass_type.name in self.own or pass_type.name in plugged:
                    reasons.append(f"pass '{pass_type.name}' exists already")
                else:
                    plugged[pass_type.name] = pass_type
            package = f" of package '{entry_point.dist.name}'" if entry_point.dist else ""
            for reason in reasons:
                message = (
                    f"skipping plug-in '{entry_point.name}'{package} ({entry_point.value}), "
                    f"which cannot be used: {reason}"
                )
                self.warn(Diagnostic(Severity.WARNING, message))
        return plugged

    def all(self) -> dict[str, type[Pass]]:
        """Return all passes by name, in alphabetical order."""
        return dict(sorted({**self.plugged_in, **self.own}.items()))


def check_pass(pass_type: object) -> None:
    """Check that `pass_type` is a pass that can be constructed with its default options.

    Raises:
        TypeError: `pass_type` is not a pass, or cannot be constructed. The message is the reason.
    """
    if not (isinstance(pass_type, type) and issubclass(pass_type, Pass)):
        raise TypeError(f"{pass_type!r} is not a subclass of {Pass.__module__}.{Pass.__qualname__}")
    if not isinstance(getattr(pass_type, "name", None), str):
        raise TypeError(f"{pass_type.__qualname__} has no name")
    # `@dataclass` stores its parameters on the decorated class, not on derived ones.
    parameters = pass_type.__dict__.get("__dataclass_params__")
    if parameters is None or not parameters.frozen or not dataclasses.is_dataclass(pass_type):
        raise TypeError(f"{pass_type.__qualname__} is not a frozen dataclass")
    if inspect.isabstract(pass_type):
        raise TypeError(f"{pass_type.__qualname__} does not define 'apply'")
    options_of(pass_type)


OWN_PREFIX = "tuninglink-"
"""The prefix of names that are looked up among Tuninglink's passes first."""


@dataclass(frozen=True)
class PassLookup:
    """A lookup of passes among the compiler's and those written in Python."""

    compiler: CompilerPasses
    registry: PassRegistry

    def python_pass(self, name: str) -> type[Pass] | None:
        """Return the pass called `name` if it is written in Python, or None."""
        # The compiler's pass has precedence over one of a plug-in, so that a plug-in cannot change a pipeline of the
        # compiler. Plug-ins are searched last.
        if name.startswith(OWN_PREFIX) and name in self.registry.own:
            return self.registry.own[name]
        if self.compiler.knows(name):
            return None
        return self.registry.own.get(name) or self.registry.plugged_in.get(name)

    def check(self, name: str, place: Place | None = None, prefix: str = "") -> None:
        """Check that a pass or a pipeline called `name`, written at `place`, exists."""
        if self.python_pass(name) or self.compiler.knows(name):
            return
        suggestion = did_you_mean(name, chain(self.registry.all(), pass_names()))
        raise PipelineError(error(f"{prefix}'{name}' {UNKNOWN}{suggestion}", place))


# --- The compiler's passes, by name: their existence, their parts, and their restrictions --------

PASSES_HEADING = "Compiler passes to run"
_PASS = re.compile(r"^ {6}--([\w.-]+)", re.MULTILINE)
_FLAG = re.compile(r"^ {2}--?([\w.-]+)(\[?=)?", re.MULTILINE)


EXECUTABLE: Final = str(Path(_mlir_libs.__file__).parent / "iree-opt")
"""The compiler's `iree-opt` binary, without the wrapper script."""


@cache
def help_text(*, hidden: bool = False) -> str:
    """Return the output of `iree-opt --help`, or of `--help-hidden` if `hidden`."""
    command = [EXECUTABLE, "--help-hidden" if hidden else "--help"]
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


@dataclass(frozen=True)
class CompilerPasses:
    """Queries to the compiler about its passes.

    A named pipeline of the compiler consists of passes. The process ends if a pipeline is added where its passes cannot
    run, so pipelines are expanded before use.
    """

    context: mlir.Context
    known: dict[str, bool] = dataclasses.field(default_factory=dict)

    def knows(self, name: str) -> bool:
        """Return whether a pass or a pipeline called `name` exists."""
        if name not in self.known:
            self.known[name] = UNKNOWN not in self._failure(ANY, name)
        return self.known[name]

    def expand(self, element: Element) -> tuple[Element | OpPipeline, ...]:
        """Return the parts of a pipeline, or the pass itself."""
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

    def restriction(self, parts: Iterable[Element | OpPipeline], anchor: str) -> str | None:
        """Return the op that the first of `parts` unable to run on `anchor` is restricted to."""
        # Nested passes were placed by the author of the pipeline.
        for part in parts if anchor != ANY else ():
            if isinstance(part, Element):
                restricted = _RESTRICTED.search(self._failure(anchor, str(part)))
                if restricted:
                    return restricted[1]
        return None

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
        """Return the options of a pass that the compiler prints, with their defaults."""
        match parse_pipeline(self._printed(Element(name))).children:
            case (Element(name=printed, options=text),) if printed == name:
                return dict(split_options(text))
        return {}

    def _printed(self, element: Element) -> str:
        """Return a pass or a pipeline as the compiler prints it, with the defaults of its options."""
        if element.name in UNPRINTABLE:
            return f"{ANY}({element})"
        return str(PassManager.parse(f"{ANY}({element})", self.context))

    def _failure(self, anchor: str, text: str) -> str:
        try:
            PassManager.parse(f"{anchor}({text})", self.context)
        except ValueError as failure:
            return str(failure)
        return ""


_Destroy = CFUNCTYPE(None, c_void_p)
_Initialize = CFUNCTYPE(c_int8, c_void_p, c_void_p)
_Clone = CFUNCTYPE(c_void_p, c_void_p)
_Run = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)


class _Callbacks(Structure):
    """The functions of a pass: `MlirExternalPassCallbacks`."""

    _fields_ = (
        ("construct", _Destroy),
        ("destruct", _Destroy),
        ("initialize", _Initialize),
        ("clone", _Clone),
        ("run", _Run),
    )


class Passes(NamedTuple):
    """A list of passes for operations of one kind, inside a pass manager that keeps strings and functions alive."""

    handle: int
    kept: list[object]

    def nest(self, anchor: str) -> Passes:
        """Append a list of passes for `anchor` inside each operation."""
        name = self._string(anchor)
        nested = call("mlirOpPassManagerGetNestedUnder", self.handle, name, result=c_void_p)
        return Passes(nested, self.kept)

    def add_native(self, text: str) -> None:
        """Append passes of the compiler. The message of a `ValueError` is the compiler's own text."""
        message = PrintedText()
        arguments = (self.handle, self._string(text), message.callback, None)
        if not call("mlirOpPassManagerAddPipeline", *arguments, result=c_int8):
            raise ValueError(str(message))

    def add_python(
        self, title: str, text: str, anchor: str, run: Callable[[mlir.Operation], bool]
    ) -> None:
        """Append a pass that calls a function."""

        def called(operation: int, external_pass: int, _: object) -> None:
            if not run(object_at(mlir.Operation, operation)):
                call("mlirExternalPassSignalFailure", external_pass)

        # The structure keeps its functions alive. A pass has no state and may be its own clone.
        clone = _Clone(lambda data: data)
        callbacks = _Callbacks(_Destroy(), _Destroy(), _Initialize(), clone, _Run(called))
        self.kept.append(callbacks)
        # The compiler does not copy the name of the anchor.
        strings = map(self._string, (title, text, "", anchor))
        type_id = call("mlirTypeIDAllocatorAllocateTypeID", _TYPE_IDS, result=c_void_p)
        arguments = (type_id, *strings, 0, None, callbacks, None)
        external_pass = call("mlirCreateExternalPass", *arguments, result=c_void_p)
        call("mlirOpPassManagerAddOwnedPass", self.handle, external_pass)

    def _string(self, text: str) -> StringRef:
        self.kept.append(data := text.encode())
        return StringRef.of(data)


class NativePassManager:
    """A pass manager."""

    def __init__(self, anchor: str, context: mlir.Context) -> None:
        self.bindings = PassManager(anchor, context)
        pointer = pointer_of(self.bindings)
        handle = call("mlirPassManagerGetAsOpPassManager", pointer, result=c_void_p)
        self.passes = Passes(handle, [])

    def run(self, operation: mlir.Operation) -> bool:
        """Run all passes and return whether they succeeded. Handlers of the context receive diagnostics."""
        # Python's global lock is released during the run, so that an interrupt need not wait for the compiler.
        arguments = (pointer_of(self.bindings), pointer_of(operation))
        return bool(call("mlirPassManagerRunOnOp", *arguments, result=c_int8))


_TYPE_IDS: Final[int] = call("mlirTypeIDAllocatorCreate", result=c_void_p)


# --- Options of passes, declared by dataclass fields, in MLIR's syntax ---------------------------

_QUOTES = "'\""


@dataclass(frozen=True)
class Option:
    """An option of a pass."""

    name: str
    field: str
    type: type
    is_list: bool
    choices: tuple[str, ...]
    default: Any
    help: str

    @property
    def value_name(self) -> str:
        word = "string" if self.type is str else self.type.__name__
        value = "|".join(self.choices) or f"<{word}>"
        return f"{value},..." if self.is_list else value

    def parse(self, text: str) -> Any:
        """Parse a value; that of a list is `a,b`, `{a,b}` or `{'a, b',c}`."""
        texts = [_unwrap(text, _QUOTES + "{")]
        if self.is_list:
            inner = _unwrap(text.strip(), "{")
            parts = _split(inner, ",") if inner.strip() else []
            texts = [_unwrap(part.strip(), _QUOTES) for part in parts]
        values: list[Any] = []
        for single in texts:
            if self.choices and single not in self.choices:
                raise ValueError(f"expected one of {', '.join(self.choices)}")
            try:
                if self.type is bool:
                    values.append(read_boolean(single))
                else:
                    values.append(int(single, 0) if self.type is int else self.type(single))
            except ValueError as failure:
                kinds = {int: "expected an integer", float: "expected a number"}
                raise ValueError(kinds.get(self.type, str(failure))) from None
        return tuple(values) if self.is_list else values[0]

    def print(self, value: Any) -> str:
        texts: list[str] = []
        for single in value if self.is_list else (value,):
            text = str(single).lower() if isinstance(single, bool) else str(single)
            if not text or any(mark.isspace() or mark in ",={}[]()'\"" for mark in text):
                quote = '"' if "'" in text else "'"
                text = f"{quote}{text}{quote}"
            texts.append(text)
        return "{" + ",".join(texts) + "}" if self.is_list else texts[0]


@cache
def options_of(pass_type: type[Pass]) -> tuple[Option, ...]:
    """Return the options of a pass in the order of declaration. A field without a default is a `TypeError`."""
    hints = get_type_hints(pass_type)
    options = []
    for field in dataclasses.fields(pass_type):
        hint = hints[field.name]
        declared, choices, is_list = hint, (), get_origin(hint) is tuple
        if is_list:
            hint, *rest = get_args(hint)
            hint = hint if rest == [...] else None
        if get_origin(hint) is Literal:
            choices, hint = get_args(hint), str
        if hint not in (bool, int, float, str):
            raise TypeError(f"option '{field.name}' of '{pass_type.name}' cannot be a {declared}")
        if field.default is dataclasses.MISSING:
            raise TypeError(f"option '{field.name}' of '{pass_type.name}' has no default")
        name = field.metadata.get("name") or field.name.replace("_", "-")
        text = field.metadata.get("help", "")
        options.append(Option(name, field.name, hint, is_list, choices, field.default, text))
    return tuple(options)


def make_pass(pass_type: type[Pass], text: str) -> Pass:
    """Return a pass with the options in `text`, as in `name=value flag list={a,b} quoted='x y'`."""
    options = {option.name: option for option in options_of(pass_type)}
    values: dict[str, Any] = {}
    for name, value in split_options(text):
        option = options.get(name)
        if option is None:
            message = f"'{pass_type.name}' has no option '{name}'{did_you_mean(name, options)}"
            listed = f"its options are: {', '.join(options)}" if options else "it has no options"
            raise PipelineError(error(message, notes=[note(listed)]))
        try:
            parsed = option.parse(value)
        except ValueError as failure:
            message = (
                f"invalid value '{value}' for option '{name}' of '{pass_type.name}': {failure}"
            )
            raise PipelineError(error(message)) from None
        previous = values.get(option.field, ())
        values[option.field] = (*previous, *parsed) if option.is_list else parsed
    return pass_type(**values)


def print_pass(pass_: Pass) -> str:
    """Return the text of a pass in a pipeline, with all options in MLIR's syntax."""
    options = options_of(type(pass_))
    if not options:
        return pass_.name
    values = (f"{option.name}={option.print(getattr(pass_, option.field))}" for option in options)
    return f"{pass_.name}{{{' '.join(values)}}}"


def split_options(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and values from the text of options. A name without a value has an empty one."""
    for part in _split(text, None):
        name, _, value = part.partition("=")
        yield name, value


def opens_quote(text: str, index: int) -> bool:
    """Return whether a quoted value starts at `index`. Some apostrophes are not quotes."""
    return text[index] in _QUOTES and (index == 0 or text[index - 1] in "=,{ \t\n")


def _split(text: str, separator: str | None) -> list[str]:
    """Split at `separator`, or at white space, outside of quotes and braces."""
    parts: list[str] = []
    start, depth, quote = 0, 0, ""
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif opens_quote(text, index):
            quote = character
        elif character in "{[(":
            depth += 1
        elif character in "}])":
            depth -= 1
        elif depth == 0 and (character.isspace() if separator is None else character == separator):
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [part for part in parts if part] if separator is None else parts


def _unwrap(text: str, openings: str) -> str:
    """Remove quotes or braces around `text`, if they are among `openings`."""
    closing = {"{": "}"}.get(text[:1], text[:1])
    if len(text) > 1 and text[0] in openings and text[-1] == closing:
        return text[1:-1]
    return text


# --- Textual pass pipelines and their trees: `builtin.module(a,func.func(b{option=1}))` ----------

PIPELINE_SOURCE = "<pass-pipeline>"
"""The name of a pipeline's text in diagnostics."""

ANY = "any"
"""The anchor of passes for any operation."""


@dataclass(frozen=True)
class Element:
    """A pass, or a named pipeline of the compiler, with the text of its options."""

    name: str
    options: str = ""
    place: Place | None = None

    def __str__(self) -> str:
        return f"{self.name}{{{self.options}}}" if self.options else self.name


@dataclass(frozen=True)
class OpPipeline:
    """Passes that run one after the other on each operation called `anchor` directly inside another."""

    anchor: str
    children: tuple[Element | OpPipeline, ...]
    place: Place | None = None

    def __str__(self) -> str:
        return f"{self.anchor}({','.join(map(str, self.children))})"


def parse_pipeline(text: str) -> OpPipeline:
    """Parse a pipeline, which is wrapped in a single anchor, into a tree. Unknown names are allowed."""
    # The nests that are open at the offset: the children so far, and the name and where it and the list start.
    nests: list[tuple[list[Element | OpPipeline], str, int, int]] = [([], "", 0, 0)]
    offset, is_open = 0, True
    while is_open:
        # 1. Read the name of a pass with its options, or of an operation.
        children = nests[-1][0]
        match = _NAME.match(text, offset)
        assert match
        name, start, offset = match[1].strip(), match.start(1), match.end()
        if text.startswith("(", offset):
            if not name:
                raise _failure(text, start, "expected the name of an operation before '('")
            nests.append(([], name, start, offset))
            offset += 1
            continue
        options = ""
        if text.startswith("{", offset):
            end = _options_end(text, offset)
            if end < 0:
                message = "missing closing '}' while processing pass options"
                raise _failure(text, start, message)
            options, offset = text[offset + 1 : end - 1].strip(), _end_of_element(text, end)
        if name:
            children.append(Element(name, options, _place(text, start)))
        elif options:
            raise _failure(text, start, "expected the name of a pass before its options")
        elif children or text.startswith(",", offset):
            raise _failure(text, offset, "expected the name of a pass or of an operation")
        # 2. Close the nests that end here.
        while not text.startswith(",", offset):
            children, name, start, opening = nests.pop()
            if not nests:
                is_open = False
                break
            if not text.startswith(")", offset):
                raise _failure(text, opening, "expected ')' to close this nested pipeline")
            offset = _end_of_element(text, offset + 1)
            nests[-1][0].append(OpPipeline(name, tuple(children), _place(text, start)))
        offset += is_open  # the comma
    if offset < len(text):
        message = "encountered extra closing ')' creating unbalanced parentheses"
        raise _failure(text, offset, message)
    match children:
        case [OpPipeline() as root]:
            return root
    message = (
        "expected pass pipeline to be wrapped with the anchor operation type, e.g. "
        "'builtin.module(...)'"
    )
    raise _failure(text, 0, message)


def leaves(nest: OpPipeline) -> list[Element]:
    """Return all elements in `nest`, at any depth, in order."""
    elements: list[Element] = []
    for child in nest.children:
        elements += leaves(child) if isinstance(child, OpPipeline) else [child]
    return elements


_NAME = re.compile(r"\s*([^,{()]*)")


def _options_end(text: str, opening: int) -> int:
    """Return the end of options in braces, which may contain quotes and nested braces; -1 if no brace closes them."""
    offset, depth = opening, 0
    while offset < len(text):
        character = text[offset]
        offset += 1
        if opens_quote(text, offset - 1):
            closing = text.find(character, offset)
            offset = closing + 1 if closing >= 0 else offset
        elif character in "{}":
            depth += 1 if character == "{" else -1
            if depth == 0:
                return offset
    return -1


def _end_of_element(text: str, offset: int) -> int:
    """Return the offset of what follows an element after white space: a comma, a closing parenthesis, or the end."""
    offset = len(text) - len(text[offset:].lstrip())
    if offset < len(text) and text[offset] not in ",)":
        raise _failure(text, offset, "expected ',' after parsing pipeline")
    return offset


def _failure(text: str, offset: int, message: str) -> PipelineError:
    return PipelineError(error(message, _place(text, offset)))


def _place(text: str, offset: int) -> Place:
    line = text.count("\n", 0, offset)
    column = offset - (text.rfind("\n", 0, offset) + 1)
    return Place(PIPELINE_SOURCE, line + 1, column + 1)
