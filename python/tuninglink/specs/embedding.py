"""Specs that are embedded in a dispatch, where the compiler applies them, and dumping them.

The attribute `iree_codegen.tuning_spec_mlirbc` on the module of a dispatch holds a spec as bytecode. The compiler
reads it on every backend, at a fixed point of its pipeline.

A spec that many dispatches share is dumped to one file. Files are named after a target and their content, so dumping
the same specs again writes the same files. An index in the same directory maps dispatches to specs.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field, replace
from typing import Final, Literal, cast

from iree.compiler import ir as mlir

from tuninglink.errors import Severity, SpecError, TuninglinkError
from tuninglink.files import make_directory, write_file
from tuninglink.iree import ancestors, containers, dispatch_name, target_of
from tuninglink.mlir import error, names
from tuninglink.plain_data import HIDDEN, named, to_json
from tuninglink.specs.kernels import kernels_of
from tuninglink.specs.spec import Spec, load_spec


def spec_attribute(content: bytes, context: mlir.Context) -> mlir.Attribute:
    """Return the attribute that embeds a spec."""
    with context, mlir.Location.unknown():
        kind = mlir.VectorType.get([len(content)], mlir.IntegerType.get_signless(8))
        return mlir.DenseElementsAttr.get(memoryview(content), type=kind)


def carried_spec(module: mlir.Operation) -> mlir.Attribute | None:
    """Return the embedded spec that the compiler would apply to a dispatch, or None if there is no such spec.

    The spec is on the module itself or on the nearest enclosing operation that has a spec.
    """
    around = (op.attributes.get(names.EMBEDDED_SPEC) for op in (module, *ancestors(module)))
    return next(filter(None, around), None)


def load_embedded_spec(
    attribute: mlir.Attribute,
    dispatch: str,
    at: mlir.Operation,
    context: mlir.Context | None = None,
) -> Spec:
    """Load a spec from the attribute of the op `at` that embeds it, by default in the context of the attribute."""
    message = f"the tuning spec that is embedded in {dispatch} cannot be read"
    content = embedded_bytes(attribute)
    if content is None:
        requirement = f"'{names.EMBEDDED_SPEC}' must be a dense vector of i8"
        raise SpecError(error(f"{message}: {requirement}", at))
    name = f"<embedded in {dispatch}>"
    try:
        return load_spec(content, name=name, context=context or attribute.context)
    except SpecError as failure:
        first, *later = failure.diagnostics
        # Offsets into the bytes do not help users; locations recorded in the bytecode do.
        notes = [
            replace(cause, severity=Severity.NOTE)
            for cause in (first, *first.notes, *later)
            if cause.place is not None and cause.place.file != name
        ]
        raise SpecError(error(f"{message}: {first.message}", at, notes)) from None


def embedded_bytes(attribute: mlir.Attribute) -> bytes | None:
    """Return the bytecode that an attribute embeds, or None if the attribute is not a dense vector of bytes."""
    if not isinstance(attribute, mlir.DenseElementsAttr):
        return None
    kind = mlir.ShapedType(attribute.type).element_type
    if not isinstance(kind, mlir.IntegerType) or kind.width != 8:  # noqa: PLR2004 - a byte
        return None
    return bytes(memoryview(cast("bytes", attribute)))  # the stubs lack the buffer protocol


def check_can_hold_specs(root: mlir.Operation) -> None:
    """Check that specs can be embedded in an op."""
    if root.name not in (names.MODULE, names.EXECUTABLE, names.EXECUTABLE_VARIANT):
        holders = f"'{names.MODULE}', '{names.EXECUTABLE}' or '{names.EXECUTABLE_VARIANT}'"
        raise SpecError(error(f"cannot embed a tuning spec in '{root.name}': use {holders}", root))


INDEX: Final = "index.json"
"""The file that lists the spec of each dispatch."""

PROGRAM: Final = "preprocessing"
"""The place, in the index and in names of files, of the entries that replace ops before there are dispatches."""

_HASH_DIGITS: Final = 8

Format = Literal["mlir", "mlirbc"]
"""The format of specs, by the suffix of their files: text or bytecode."""


@dataclass(frozen=True)
class DumpedSpec:
    """A spec that is embedded in at least one dispatch.

    Attributes:
        sha256: the hash of the file's content, in hexadecimal.
        entries: the number of its entries.
        outline: the text in which kernels are words, not bytes; empty without kernels.
    """

    file: str
    name: str
    sha256: str
    entries: int
    content: bytes = field(metadata=HIDDEN)
    outline: bytes = field(default=b"", metadata=HIDDEN)


@dataclass(frozen=True)
class Use:
    """A dispatch with an embedded spec.

    Attributes:
        dispatch: its name; that of the phase for entries that replace ops of the whole program.
        target: the name of its target, None if unknown.
    """

    dispatch: str
    target: str | None
    file: str = field(metadata=named("spec"))


@dataclass(frozen=True)
class Dump:
    """The specs that are embedded in a program.

    Attributes:
        specs: the distinct specs, in the order of their first use.
        uses: the spec of each dispatch, in the order of the program.
    """

    version: Literal[1] = field(default=1, init=False)
    format: Format = field(metadata=HIDDEN)
    specs: tuple[DumpedSpec, ...]
    uses: tuple[Use, ...] = field(metadata=named("dispatches"))

    def write(self, directory: str | os.PathLike[str]) -> None:
        """Write one file for each spec, and the index as JSON last; create the directory if needed.

        Every file is written atomically, and the index only after all others.
        """
        place = make_directory(directory)
        for spec in self.specs:
            write_file(place / spec.file, spec.content)
        write_file(place / INDEX, to_json(self))

    def as_stream(self) -> bytes:
        """Return the specs concatenated; text can be split again at its `// -----` lines, and outlines kernels."""
        if self.format == "mlir":
            users: dict[str, list[str]] = {}
            for use in self.uses:
                users.setdefault(use.file, []).append(use.dispatch)
            parts = []
            for spec in self.specs:
                first, *more = users[spec.file]
                rest = f" and {len(more)} more" if more else ""
                parts.append(
                    f"// {spec.file}: {first}{rest}\n{(spec.outline or spec.content).decode()}"
                )
            return "// -----\n".join(parts).encode()
        if len(self.specs) > 1:
            message = (
                f"cannot write {len(self.specs)} specs as bytecode to one stream; "
                "dump them to a directory, or as text"
            )
            raise TuninglinkError(error(message))
        return b"".join(spec.content for spec in self.specs)


def collect_specs(root: mlir.Operation, format: Format = "mlir") -> Dump:  # noqa: A002 - the name of the option
    """Collect the specs on a module, executable or variant, and on those nested in it; replace entries first."""
    specs: dict[str, DumpedSpec] = {}
    uses: list[Use] = []
    files: dict[mlir.Attribute, str] = {}
    carriers = [(carrier, names.EMBEDDED_SPEC) for carrier in containers(root)]
    for carrier, key in ((root, names.REPLACE_SPEC), *carriers):
        attribute = carrier.attributes.get(key)
        if attribute is None:
            continue
        is_whole = key == names.REPLACE_SPEC
        dispatch = PROGRAM if is_whole else dispatch_name(carrier)
        target = None if is_whole else target_of(carrier)
        if attribute not in files:  # MLIR uniques attributes, so each distinct one is decoded once.
            spec = load_embedded_spec(attribute, dispatch, carrier)
            content = spec.text().encode() if format == "mlir" else spec.bytecode()
            sha256 = hashlib.sha256(content).hexdigest()
            if sha256 not in specs:
                name = PROGRAM if is_whole else target.name if target else "any"
                stem = re.sub(r"[^\w.+-]", "_", name)
                file = f"{stem}-{sha256[:_HASH_DIGITS]}.{format}"
                if any(file == dumped.file for dumped in specs.values()):
                    file = f"{stem}-{sha256}.{format}"
                # Keeping the entries would make a reference cycle with their spec, which could outlive its context.
                count = len(spec.anatomy.pairs) + len(spec.replace_entries)
                kernels = kernels_of(spec.replacing.module) if spec.replacing else ()
                words = "".join(f"// {kernel}\n" for kernel in kernels)
                outline = f"{words}{spec.outline()}".encode() if kernels else b""
                specs[sha256] = DumpedSpec(file, spec.name, sha256, count, content, outline)
            files[attribute] = specs[sha256].file
        uses.append(Use(dispatch, target.name if target else None, files[attribute]))
    return Dump(format, tuple(specs.values()), tuple(uses))
