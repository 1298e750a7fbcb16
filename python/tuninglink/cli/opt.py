"""`tuninglink-opt`: the drop-in for `iree-opt` that also knows the passes registered in Python."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.errors import TuninglinkError
from tuninglink.ir.diagnostics import Diagnostic, DiagnosticSink, from_mlir
from tuninglink.passes import PASSES


def _text(diagnostic: Diagnostic) -> str:
    return "\n".join([str(diagnostic), *(str(note) for note in diagnostic.notes)])


def _options(pass_type: type, text: str) -> dict[str, object]:
    values: dict[str, object] = {}
    fields = {field.name: field for field in dataclasses.fields(pass_type)}
    for part in text.split():
        name, _, value = part.partition("=")
        field = fields[name.replace("-", "_")]
        default = field.default
        if isinstance(default, bool):
            values[field.name] = value != "false"
        elif isinstance(default, tuple):
            values[field.name] = tuple(value.strip("{}").split(","))
        else:
            values[field.name] = type(default)(value)
    return values


def _split(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for character in text:
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
    return [*parts, current] if current else parts


def _run(text: str, operation: mlir.Operation, sink: DiagnosticSink) -> None:
    registry = {each.name: each for each in PASSES}
    if (
        "(" in text
        and not "{" in text.partition("(")[0]
        and text.partition("(")[0] not in registry
        and not text.startswith(operation.name + "(")
    ):
        PassManager.parse(f"{operation.name}({text})", operation.context).run(operation)
        return
    if text.startswith(operation.name + "("):
        for each in _split(text[len(operation.name) + 1 : -1]):
            _run(each, operation, sink)
        return
    name, _, options = text.partition("{")
    if name in registry:
        registry[name](**_options(registry[name], options.removesuffix("}"))).apply(operation, sink)
        operation.verify()
        return
    PassManager.parse(f"{operation.name}({text})", operation.context).run(operation)


def main() -> int:
    """A first version, soon to be replaced."""
    sink = DiagnosticSink(lambda diagnostic: print(_text(diagnostic), file=sys.stderr))  # noqa: T201
    passes: list[str] = []
    path, output = "-", "-"
    arguments = iter(sys.argv[1:])
    for argument in arguments:
        if argument.startswith("--pass-pipeline="):
            passes += _split(argument.split("=", 1)[1].strip()[len("builtin.module(") : -1])
        elif argument == "-o":
            output = next(arguments)
        elif argument.startswith("--") and argument not in (
            "--split-input-file",
            "--verify-diagnostics",
        ):
            name, _, options = argument[2:].partition("=")
            passes.append(f"{name}{{{options}}}" if options else name)
        elif not argument.startswith("--"):
            path = argument
    source = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    chunks = [source]
    if "--split-input-file" in sys.argv:
        chunks = source.split(b"// -----")
    printed = []
    for chunk in chunks:
        with mlir.Context() as context:
            context.attach_diagnostic_handler(
                lambda diagnostic: sink.emit(from_mlir(diagnostic)) or True
            )
            try:
                module = mlir.Module.parse(chunk)
                for each in passes:
                    _run(each, module.operation, sink)
                printed.append(str(module))
            except TuninglinkError as failure:
                for diagnostic in failure.diagnostics:
                    sink.emit(diagnostic)
            except mlir.MLIRError as failure:
                for diagnostic in failure.error_diagnostics:
                    sink.emit(from_mlir(diagnostic))
    text = "\n// -----\n".join(printed)
    if output == "-":
        sys.stdout.write(text)
    else:
        Path(output).write_text(text)
    return 1 if sink.error_count else 0


if __name__ == "__main__":
    sys.exit(main())
