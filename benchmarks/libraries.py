"""Makes a library of specs from real models: tunes what frameworks export, and merges the specs.

On the machine with the device, after `models.py` or alone:

    python benchmarks/models.py --suite gpu --budget 3m --device cuda://0 --directory work --record figures \
        --tune=--database=work/trials.db -- --iree-hal-target-device=cuda --iree-cuda-target=sm_80
    python benchmarks/libraries.py tune --suite gpu --only bert vit llama whisper --budget 35s --device cuda://0 \
        --directory work --database work/trials.db --record specs -- \
        --iree-hal-target-device=cuda --iree-cuda-target=sm_80

The second command tunes each model at O0 and at O2, where the compiler gives operands another order. It exports only
models that are not in `work`, and repeats no trial that is in the database. It leaves a spec of some tens of KB for each
model and level in `specs`; these files, and `figures`, are all to carry back. Then, anywhere:

    python benchmarks/libraries.py merge models-h200 figures/*.mlir specs/*.mlir -o specs/library/models-h200.mlir

Of several entries with the same matcher, the one with the greatest lower bound of its speedup stays. Entries for one size
precede those for ranges. Entries that were tuned under flags other than a level are left out. Existing libraries are merged like any other spec: `library:NAME`. The command prints a table
of the entries for `docs/benchmarks.md`.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir
from model_figures import Model, StepError, run
from models import SUITES, export

from tuninglink.emission import Preparation
from tuninglink.mlir import DiagnosticSink, body, collect, names, rename_symbols
from tuninglink.passes.dedupe_sequences import deduplicate_sequences
from tuninglink.passes.drop_shadowed import drop_shadowed
from tuninglink.specs import (
    BINDING,
    FLAGS,
    Revision,
    Spec,
    SpecFiles,
    add_kernel_config,
    bind,
    binding_of,
    create,
    link_specs,
    pair_attributes,
    provenance_of,
    read_specs,
    yield_,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tuninglink.specs import Entry

LEVELS: Final = ("O0", "O2")
"""The levels of optimization, at which operands have different orders."""


_LEVEL: Final = "--iree-opt-level="
_DISPATCH: Final = re.compile(r"^match_.*_dispatch_\d+_")
"""The names of matchers that were tuned for a dispatch of a program."""

# --- Tuning ----------------------------------------------------------------------------------------------------


def tune(arguments: argparse.Namespace) -> None:
    """Tune each model at each level, and record the specs."""
    arguments.record.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.only:
            directory = (arguments.directory or Path(scratch)) / name
            try:
                _tune_model(name, directory, arguments)
            except StepError as failure:
                print(f"{name}: {failure}", flush=True)


def _tune_model(name: str, directory: Path, arguments: argparse.Namespace) -> None:
    program = directory / "program.mlirbc"
    model = Model(name, directory, arguments.device)
    if not program.exists():
        model = export(name, directory, arguments.suite, arguments.device)
    database = arguments.database or directory / "trials.db"
    for level in arguments.levels:
        spec, report = arguments.record / f"{name}.{level}.mlir", directory / f"report.{level}"
        run(
            *("tuninglink", "tune", model.program, "-o", spec, "--report", report),
            *("--budget", arguments.budget, "--device", arguments.device, "--database", database),
            *("--flag-sets", "none", "--no-model", *arguments.tune),
            *(f"--iree-opt-level={level}", *arguments.flags),
        )
        dispatches = json.loads((report / "report.json").read_text())["dispatches"]
        won = sum(dispatch["outcome"] == "won" for dispatch in dispatches)
        print(f"{name} at {level}: {won} of {len(dispatches)} dispatches won", flush=True)


# --- Merging ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tuned:
    """An entry with its figures.

    Attributes:
        spec: a spec that consists of the entry.
        provenance: its record of the tuning.
    """

    spec: Spec
    provenance: Mapping[str, Any]

    @property
    def is_exact(self) -> bool:
        """Whether it is for one size."""
        return "ranges" not in self.provenance

    @property
    def speedup(self) -> tuple[float, float]:
        """The interval of its speedup; (1, 1) where that is not known."""
        low, high = self.provenance.get("interval", (1.0, 1.0))
        return float(low), float(high)

    @property
    def row(self) -> str:
        """Its row in a table."""
        default, tuned = (self.provenance.get(key, math.nan) for key in ("default_us", "tuned_us"))
        low, high = self.speedup
        matcher = self.spec.entries[0].matcher.removeprefix("match_").replace("_", " ")
        return (
            f"| {matcher} | {default:.4g} | {tuned:.4g} | {default / tuned:.2f} "
            f"({low:.2f} to {high:.2f}) |"
        )


def entries_of(sources: Sequence[str]) -> list[Tuned]:
    """Return the entries of specs, in the order of precedence in a library."""
    sink = DiagnosticSink(print)
    entries = [
        _tuned(spec, position)
        for spec in SpecFiles(read_specs(sources, sink), upgrade=True, diagnostics=sink)
        for position in range(len(spec.entries))
    ]
    kept = [entry for entry in entries if FLAGS not in entry.provenance]
    return sorted(kept, key=lambda entry: (not entry.is_exact, -entry.speedup[0]))


def _tuned(spec: Spec, position: int) -> Tuned:
    """Return an entry; its provenance names no level, which is plain from the form that it matches."""
    provenance = provenance_of(spec.anatomy.table, spec.entries[position].matcher)
    flags = provenance.pop(FLAGS, None)
    if isinstance(flags, list) and (others := [flag for flag in flags if _LEVEL not in flag]):
        provenance[FLAGS] = others
    revision = Revision(spec)
    revision.set_provenance(position, provenance)
    entry = revision.finish([position])
    matcher = entry.entries[0].matcher
    rename_symbols(body(entry.module), {matcher: _DISPATCH.sub("match_", matcher)})
    return Tuned(Spec(entry.module, entry.source), provenance)


def merge(name: str, entries: Sequence[Tuned]) -> Spec:
    """Return a library with those of some entries that are reached.

    Args:
        name: its name.
        entries: the entries in order of precedence.
    """
    plain = [_with_entry_point(entry.spec, ()) for entry in entries]
    module = link_specs(plain).spec.module.clone().operation
    drop_shadowed(module)
    deduplicate_sequences(module)
    used = {value for entry in entries for value in _passes(entry.spec)}
    preparations = [each for each in Preparation if each.value in used]
    library = _with_entry_point(Spec(module, name), preparations)
    symbol = f"tuninglink_{name.replace('-', '_')}"
    with library.module.context:
        library.module.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(symbol)
    _bind_module(library)
    library.module.verify()
    return library


def _passes(spec: Spec) -> set[str]:
    """Return the names of the passes that a spec runs before its entries."""
    passes = collect(spec.module, names.RUN_REGISTERED)
    return {str(mlir.StringAttr(each.attributes["pass_name"]).value) for each in passes}


def _with_entry_point(spec: Spec, preparations: Sequence[Preparation]) -> Spec:
    """Return a copy of a matcher list that runs other passes before its entries."""
    module = spec.module.clone().operation
    copy = Spec(module, spec.source)
    pairs = copy.anatomy.pairs
    copy.anatomy.entry_points[0].sequence.erase()
    with module.context, mlir.Location.unknown():
        block = add_kernel_config(module, consumes=bool(pairs)).regions[0].blocks[0]
        (root,) = block.arguments
        with mlir.InsertionPoint(block):
            for preparation in preparations:
                pass_name = mlir.StringAttr.get(preparation.value)
                (root,) = create(names.RUN_REGISTERED, [root], [root.type], pass_name=pass_name)
            if pairs:
                lists = pair_attributes(pairs)
                (root,) = create(names.FOREACH_MATCH, [root], [root.type], **lists)
            yield_([root])
        if preparations and names.DEFAULT_ENTRY_POINT in module.attributes:
            del module.attributes[names.DEFAULT_ENTRY_POINT]
        elif not preparations:
            module.attributes[names.DEFAULT_ENTRY_POINT] = mlir.UnitAttr.get()
    return Spec(module, spec.source)


def _bind_module(library: Spec) -> None:
    """Move the binding of the entries to the module if they all have the same."""
    matchers = [matcher for entry in library.entries if (matcher := _matcher(entry)) is not None]
    bindings = {binding_of(matcher) for matcher in matchers}
    if len(bindings) == 1 and (binding := bindings.pop()) is not None:
        bind(library.module, binding)
        for matcher in matchers:
            del matcher.attributes[BINDING]


def _matcher(entry: Entry) -> mlir.Operation | None:
    return entry.anatomy.table.lookup(entry.matcher)


def header(name: str, library: Spec) -> str:
    """Return the comment at the head of a library."""
    origins = [provenance_of(library.anatomy.table, entry.matcher) for entry in library.entries]
    sources: dict[str, list[str]] = {}
    for key in ("device", "compiler", "date"):
        sources[key] = sorted({str(origin[key]) for origin in origins if key in origin})
    dates = " to ".join(dict.fromkeys((sources["date"][0], sources["date"][-1])))
    devices, compilers = ", ".join(sources["device"]), ", ".join(sources["compiler"])
    lines = (
        f"{name}: made by benchmarks/libraries.py from models as frameworks export them.",
        f"Measured on {devices} with IREE {compilers}, {dates}.",
        "Each entry states the times of the compiler's choice and of its own, and the interval of their ratio.",
    )
    return "".join(f"// {line}\n" for line in lines)


_ATTENTION: Final = re.compile(
    r"(?P<name>iree_linalg_ext\.(?:online_)?attention) <indexing_maps = (?P<maps>\[[^\]]*\])> "
    r"ins\((?P<inputs>[^:)]*) : (?P<input_types>[^)]*)\) "
    r"outs\((?P<outputs>[^:)]*) : (?P<output_types>[^)]*)\) \{"
    r"(?P<region>.*?)\n(?P<indent> *)\} -> (?P<results>[^\n]*)",
    re.DOTALL,
)


def portable(text: str) -> str:
    """Return a spec as the compiler prints it with attention ops in generic form, whose syntax all releases share."""
    return _ATTENTION.sub(
        r'"\g<name>"(\g<inputs>, \g<outputs>) <{indexing_maps = \g<maps>}> ({\g<region>\n\g<indent>}) : '
        r"(\g<input_types>, \g<output_types>) -> (\g<results>)",
        text,
    )


def table(entries: Sequence[Tuned]) -> Iterator[str]:
    """Yield a table of entries, those first that were slowest."""
    yield "| operation | compiler's choice, us | tuned, us | speedup |"
    yield "| --- | --- | --- | --- |"
    slowest = sorted(entries, key=lambda entry: -float(entry.provenance.get("default_us", 0)))
    yield from (entry.row for entry in slowest)
    ratios = [math.sqrt(math.prod(entry.speedup)) for entry in entries]
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        yield f"\ngeometric mean of {len(ratios)}: {mean:.2f}"


def write(arguments: argparse.Namespace) -> None:
    """Merge specs into a library, and print its table."""
    library = merge(arguments.name, entries_of(arguments.specs))
    arguments.output.write_text(f"{header(arguments.name, library)}\n{portable(library.text())}")
    print("\n".join(table(entries_of([str(arguments.output)]))))


def main() -> None:
    """Run the command that the arguments name."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    tuning = commands.add_parser("tune", help="tune models, and record the specs")
    tuning.add_argument("--suite", choices=sorted(SUITES), required=True)
    tuning.add_argument("--only", nargs="+", required=True, metavar="MODEL")
    tuning.add_argument("--levels", nargs="+", default=LEVELS, metavar="LEVEL")
    tuning.add_argument("--device", required=True)
    tuning.add_argument("--budget", default="1m", help="the time for a model at a level")
    tuning.add_argument("--directory", type=Path, help="has or gets the programs of the models")
    tuning.add_argument("--database", type=Path, help="has and gets the trials")
    tuning.add_argument("--record", type=Path, required=True, help="gets the specs")
    tuning.add_argument(
        "--tune", action="append", default=[], metavar="OPTION", help="an option of tuninglink tune"
    )
    tuning.add_argument("flags", nargs="*", help="flags of iree-compile, behind --")
    tuning.set_defaults(command=tune)
    merging = commands.add_parser("merge", help="merge specs into a library")
    merging.add_argument("name", help="the name of the library")
    merging.add_argument("specs", nargs="+", metavar="SPEC")
    merging.add_argument("-o", "--output", type=Path, required=True)
    merging.set_defaults(command=write)
    arguments = parser.parse_args()
    arguments.command(arguments)


if __name__ == "__main__":
    main()
