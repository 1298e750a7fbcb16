"""The outcomes of specs in a compilation, as diagnostics: notes on errors, warnings and remarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.errors import counted
from tuninglink.iree.dynamic_sizes import RANGES
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import Diagnostic, Place, Severity, note
from tuninglink.mlir.walk import body, collect
from tuninglink.specs.applicability import Applicability
from tuninglink.specs.bindings import binding_of
from tuninglink.specs.entry_settings import (
    CONFIGURATIONS,
    FLAGS,
    IN_ONE,
    provenance_of,
    settings_of,
)
from tuninglink.specs.side_effects import only_reads
from tuninglink.specs.structure import SpecKind

if TYPE_CHECKING:
    from tuninglink.compiler.tracing import Applied
    from tuninglink.iree.targets import Target
    from tuninglink.specs.default_library import DefaultLibrary, DefaultSpecFile
    from tuninglink.specs.spec import Spec

_MOST_READ: Final = 1_000
"""The number of entries of a spec up to which they are read for the flags of their tuning."""


@dataclass(frozen=True)
class SpecOutcomes:
    """The outcomes of the specs of a compilation.

    Attributes:
        given: the user's specs, in order of precedence.
        from_project: the number of specs from a project file, which come last.
        automatic: the positions of specs that the user did not name.
        library: the library of default specs, or None.
        applied: the configured operations.
        targets: the targets of the program.
        traceable: the positions of the specs that tag every configured operation.
        skipped: the positions of the specs that were omitted from dispatches that fail with them.
    """

    given: Sequence[Spec]
    from_project: int
    automatic: Collection[int]
    library: DefaultLibrary | None
    applied: Sequence[Applied]
    targets: Collection[Target | None]
    traceable: Collection[int]
    skipped: Collection[int] = ()

    def explain(
        self, errors: Sequence[Diagnostic], failing: Collection[str] = ()
    ) -> tuple[Diagnostic, ...]:
        """Return the errors of a compilation with notes on the entries that configured the failing dispatches.

        Two entries may be incompatible in one dispatch, or the backend may reject a configuration. The compiler reports
        only the location in the program.

        Args:
            errors: the errors.
            failing: the names of dispatches that fail because of specs, in case the errors have no place.
        """
        explained: list[Diagnostic] = []
        named: set[str] = set()
        for failure in errors:
            at = {a.dispatch for a in self.applied if failure.place and a.place == failure.place}
            causes = [a for a in self.applied if a.dispatch in at - named]
            named |= at
            explained.append(_with_causes(failure, causes))
        if not named and explained:
            causes = [applied for applied in self.applied if applied.dispatch in failing]
            explained[0] = _with_causes(explained[0], causes)
        return tuple(explained)

    def skips(self, failing: Mapping[str, Diagnostic]) -> Iterator[Diagnostic]:
        """Yield a warning for each dispatch that is compiled without specs because it fails with them.

        Args:
            failing: the first error of each such dispatch, by name.
        """
        for dispatch, failure in failing.items():
            applieds = [applied for applied in self.applied if applied.dispatch == dispatch]
            entries = [f"entry '{applied.entry.matcher}'" for applied in applieds if applied.entry]
            names = " and ".join(dict.fromkeys(entries)) or "the spec"
            place = next((applied.entry.place for applied in applieds if applied.entry), None)
            message = f"{names} is skipped in {dispatch}, which does not compile with it"
            yield Diagnostic(
                Severity.WARNING, message, place, (note(failure.message, failure.place),)
            )

    def warnings(self, why: str = "", *, is_explained: bool = False) -> Iterator[Diagnostic]:
        """Yield a warning for each spec that configured nothing, or fewer operations than it matched.

        Args:
            why: the reason why no specs were applied; empty if they were applied.
            is_explained: whether the command explains each dispatch anyway.
        """
        if not why and not self.targets:
            why = "there is no dispatch to configure"
        for position, spec in enumerate(self.given):
            applied = [operation for operation in self.applied if operation.position == position]
            ignored = [operation for operation in applied if operation.ignored]
            if ignored:
                yield from _ignored(spec, ignored)
            elif position in self.automatic or position in self.skipped:
                continue
            elif not applied and (why or self._would_have_told(position, spec)):
                if not why and _has_ranges(spec):
                    continue  # it gives ranges of sizes code of their own, with the compiler's configurations
                other_target = "" if why else self._is_for_others(spec)
                if other_target and position >= len(self.given) - self.from_project:
                    continue
                cause = why or other_target or self._why_it_sets_nothing(spec)
                reason = cause or _never_matched(len(spec.anatomy.pairs))
                remedy = (
                    ""
                    if cause or is_explained
                    else "'tuninglink explain' gives the reason for each dispatch"
                )
                yield _warning(f"spec '{spec.source}' configured nothing: {reason}", remedy=remedy)

    def flag_warnings(self, flags: Sequence[str]) -> Iterator[Diagnostic]:
        """Yield a warning for each spec that was tuned under flags that the compilation lacks."""
        for spec in self.given:
            if spec.kind is SpecKind.OPAQUE or len(spec.anatomy.pairs) > _MOST_READ:
                continue
            missing: dict[str, None] = {}
            for matcher, _ in spec.anatomy.pairs:
                tuned_under = provenance_of(spec.anatomy.table, matcher).get(FLAGS)
                if isinstance(tuned_under, list):
                    missing.update(dict.fromkeys(flag for flag in tuned_under if flag not in flags))
            if missing:
                message = f"spec '{spec.source}' was tuned under other flags: {' '.join(missing)}"
                remedy = "add them, for example as @FILE.flags, which 'tuninglink tune' writes with a spec"
                yield _warning(message, remedy=remedy)

    def remarks(self) -> Iterator[Diagnostic]:
        """Yield remarks on derived entries, entries for similar targets, and default specs that took effect."""
        derived = [item for item in self.applied if item.derivation and item.is_own is not False]
        if derived:
            yield _derived_remark(derived)
        like = [item for item in self.applied if item.like_target and item.is_own is not False]
        if like:
            yield _like_remark(like)
        by_file: dict[DefaultSpecFile, list[Applied]] = {}
        for item in self.applied:
            if item.position < len(self.given) or item.is_own is False:
                continue
            file = self.library.find(item.target) if self.library and item.target else None
            if (
                file is not None and file.path == item.spec
            ):  # Otherwise the program contained the spec.
                by_file.setdefault(file, []).append(item)
        for file, applied in by_file.items():
            yield _remark(file, applied)

    def _is_for_others(self, spec: Spec) -> str:
        """Return the reason why a spec applies to none of the program's targets; empty if it applies to one."""
        target_names = (
            ", ".join(sorted(str(target) for target in self.targets if target)) or "no known target"
        )
        binding = binding_of(spec.module)
        if all(Applicability(spec, target).is_bound_elsewhere for target in self.targets):
            return f"it is bound to {', '.join(binding or ()) or 'no target'}, the program is for {target_names}"
        if all(Applicability(spec, target).is_empty for target in self.targets):
            return f"none of its entries is for {target_names}"
        return ""

    @staticmethod
    def _why_it_sets_nothing(spec: Spec) -> str:
        if not spec.anatomy.pairs and _only_reads(spec):
            return "its entry points set no configuration"
        entries = map(spec.anatomy.entry, range(len(spec.anatomy.pairs)))
        if not any(settings_of(spec, entry) != {} for entry in entries):
            return "its actions set no configuration"
        return ""

    def _would_have_told(self, position: int, spec: Spec) -> bool:
        """Return whether missing tags prove that a spec configured nothing; an opaque spec may not leave tags."""
        is_list = spec.kind is SpecKind.MATCHER_LIST
        return is_list or position in self.traceable or _only_reads(spec)


def _only_reads(spec: Spec) -> bool:
    """Return whether no sequence that a spec runs changes a program or sets a configuration."""
    anatomy = spec.anatomy
    runs = anatomy.table.run_by(*(entry_point.path for entry_point in anatomy.entry_points))
    return all(_is_harmless(operation) for _, run in runs for operation in body(run))


def _is_harmless(operation: mlir.Operation) -> bool:
    if operation.name == names.ANNOTATE:
        return mlir.StringAttr(operation.attributes["name"]).value not in CONFIGURATIONS
    return operation.name in (names.INCLUDE, names.FOREACH_MATCH) or only_reads(operation)


def _has_ranges(spec: Spec) -> bool:
    """Return whether an entry of a spec has specialization ranges."""
    return any(
        RANGES in sequence.attributes for sequence in collect(spec.module, names.NAMED_SEQUENCE)
    )


def _with_causes(failure: Diagnostic, applied: Sequence[Applied]) -> Diagnostic:
    """Return an error with notes on the entries that configured its dispatch."""
    return replace(failure, notes=(*failure.notes, *_causes(applied))) if applied else failure


def _causes(applied: Sequence[Applied]) -> Iterator[Diagnostic]:
    """Yield notes on the entries that configured a dispatch that does not compile, and the remedy."""
    for item in applied:
        entry = f"entry '{item.entry.matcher}' of " if item.entry else ""
        at = f" at {item.place}" if item.place else ""
        message = f"{entry}'{item.spec}' configured {item.operation}{at} in {item.dispatch}"
        yield note(message, item.entry.place if item.entry else None)
        if item.ignored and not item.is_kept:
            yield note(f"{item.ignored}; {IN_ONE}")
    for target in {str(item.target): None for item in applied if item.target}:
        check = f"tuninglink check SPEC --target {target} --compile"
        skip = "'--skip-failing-entries' compiles the dispatch without specs"
        yield note(f"'{check}' checks the configuration; {skip}")


def _ignored(spec: Spec, ignored: Sequence[Applied]) -> Iterator[Diagnostic]:
    """Yield a warning for each reason why code generation ignores configurations of a spec."""
    by_reason: dict[str, list[Applied]] = {}
    for item in ignored:
        by_reason.setdefault(item.ignored, []).append(item)
    for reason, items in by_reason.items():
        first = items[0]
        more = f" and {len(items) - 1} more" if len(items) > 1 else ""
        if first.is_kept:
            what = "which kept another configuration"
            remedy = (
                "an existing configuration of a dispatch is kept; "
                "'tuninglink-opt --tuninglink-strip-configs' removes it"
            )
        else:
            what, remedy = f"without effect: {reason}", IN_ONE
        message = f"spec '{spec.source}' matched in {first.dispatch}{more}, {what}"
        yield _warning(message, first.place, remedy)


def _warning(message: str, place: Place | None = None, remedy: str = "") -> Diagnostic:
    return Diagnostic(Severity.WARNING, message, place, (note(remedy),) if remedy else ())


def _never_matched(entries: int) -> str:
    if entries == 1:
        return "its entry was never the first to match"
    return f"none of its {entries:,} entries was ever the first to match"


def _remark(file: DefaultSpecFile, applied: Sequence[Applied]) -> Diagnostic:
    """Return a remark on a default spec with the number of operations that each entry configured."""
    first = applied[0]
    counts = Counter(
        f"entry '{item.entry.matcher}'" if item.entry else "an entry" for item in applied
    )
    notes = [
        note(f"{what} configured {counted(count, 'operation')}") for what, count in counts.items()
    ]
    message = (
        f"the default spec for {first.target} configured {counted(len(applied), 'operation')}; "
        "'--no-default-specs' leaves it out"
    )
    notes.append(note(f"the spec is '{file.path}'"))
    return Diagnostic(Severity.REMARK, message, None, tuple(notes))


def _derived_remark(applied: Sequence[Applied]) -> Diagnostic:
    """Return a remark on derived entries with their origins and changes."""
    counts = Counter(f"entry of '{item.spec}' derived {item.derivation}" for item in applied)
    notes = [note(f"{what}: {counted(count, 'operation')}") for what, count in counts.items()]
    message = (
        f"entries derived for other forms of their problems configured {counted(len(applied), 'operation')}; "
        "'--no-derived-entries' leaves them out"
    )
    return Diagnostic(Severity.REMARK, message, None, tuple(notes))


def _like_remark(applied: Sequence[Applied]) -> Diagnostic:
    """Return a remark on entries for other targets."""
    counts = Counter(
        (f"entry '{item.entry.matcher}' of " if item.entry else "")
        + f"'{item.spec}' is for {item.like_target}"
        for item in applied
    )
    notes = [note(f"{what}: {counted(count, 'operation')}") for what, count in counts.items()]
    notes.append(note("'tuninglink retune' measures which of them are faster here"))
    message = (
        f"entries for targets like {applied[0].target} configured {counted(len(applied), 'operation')}; "
        "their times were measured elsewhere"
    )
    return Diagnostic(Severity.REMARK, message, None, tuple(notes))
