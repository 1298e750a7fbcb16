"""What became of the specs of a compilation, as diagnostics: notes on its errors, warnings and remarks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tuninglink.mlir.diagnostics import Diagnostic, Severity, note
from tuninglink.specs.applicability import Applicability
from tuninglink.specs.bindings import binding_of
from tuninglink.specs.entry_settings import settings_of
from tuninglink.specs.provenance import FLAGS, provenance_of
from tuninglink.specs.structure import SpecKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tuninglink.compiler.tracing import Applied
    from tuninglink.iree.targets import Target
    from tuninglink.mlir.diagnostics import Place
    from tuninglink.specs.library import DefaultLibrary, DefaultSpecFile
    from tuninglink.specs.spec import Spec

_MOST_READ: Final = 1_000
"""Up to how many entries of a spec are read for the flags that they were tuned under."""


@dataclass(frozen=True)
class SpecOutcomes:
    """What became of the specs of a compilation.

    Attributes:
        given: the user's specs, in order of precedence.
        from_project: how many of them, the last ones, a project file names.
        automatic: the positions of those that nothing asks for by name.
        library: where the default spec of each target was looked up; None for nowhere.
        applied: what took effect.
        targets: the targets of the program.
        traceable: the positions of the specs that leave a trace wherever they configure.
        skipped: the positions of the specs that were left out of dispatches that fail with them.
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
        """Return the errors of a compilation, the first one of each dispatch with what configured the dispatch.

        Two entries that configure one dispatch exclude each other, and a configuration may be one that the
        backend does not take: the compiler only knows the place in the program.

        Args:
            errors: the errors.
            failing: the names of dispatches that fail because of specs, where the errors have no place.
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
            failing: the first error of each of them by name.
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
        """Yield a warning for each given spec that configured nothing, or less than it matched.

        Args:
            why: what kept all specs from being applied; by default nothing did.
            is_explained: whether somebody looks at what becomes of each dispatch anyway.
        """
        if not why and not self.targets:
            why = "there is no dispatch to configure"
        for position, spec in enumerate(self.given):
            applied = [each for each in self.applied if each.position == position]
            kept = [each for each in applied if each.is_own is False]
            if kept:
                yield _kept(spec, kept)
            elif position in self.automatic or position in self.skipped:
                continue
            elif not applied and (why or self._would_have_told(position, spec)):
                other_target = "" if why else self._is_for_others(spec)
                if other_target and position >= len(self.given) - self.from_project:
                    continue
                known = why or other_target or self._why_it_sets_nothing(spec)
                reason = known or _never_matched(len(spec.anatomy.pairs))
                remedy = (
                    ""
                    if known or is_explained
                    else "'tuninglink explain' says of each dispatch why"
                )
                yield _warning(f"spec '{spec.source}' configured nothing: {reason}", remedy=remedy)

    def flag_warnings(self, flags: Sequence[str]) -> Iterator[Diagnostic]:
        """Yield a warning for each given spec that was tuned under flags that the compilation does not have."""
        for spec in self.given:
            if spec.kind is SpecKind.OPAQUE or len(spec.anatomy.pairs) > _MOST_READ:
                continue
            missing: dict[str, None] = {}
            for matcher, _ in spec.anatomy.pairs:
                tuned_under = provenance_of(spec.anatomy.table, matcher).get(FLAGS)
                if isinstance(tuned_under, list):
                    missing.update(dict.fromkeys(each for each in tuned_under if each not in flags))
            if missing:
                message = f"spec '{spec.source}' was tuned under other flags: {' '.join(missing)}"
                remedy = (
                    "give them too, as in @FILE.flags, which 'tuninglink tune' writes with a spec"
                )
                yield _warning(message, remedy=remedy)

    def remarks(self) -> Iterator[Diagnostic]:
        """Yield remarks on derived entries, on entries for like targets, and on the default specs that took effect."""
        derived = [each for each in self.applied if each.derivation and each.is_own is not False]
        if derived:
            yield _derived_remark(derived)
        like = [each for each in self.applied if each.like_target and each.is_own is not False]
        if like:
            yield _like_remark(like)
        result: dict[DefaultSpecFile, list[Applied]] = {}
        for each in self.applied:
            if each.position < len(self.given) or each.is_own is False:
                continue
            file = self.library.find(each.target) if self.library and each.target else None
            if file is not None and file.path == each.spec:  # Else it was carried by the program.
                result.setdefault(file, []).append(each)
        for file, applied in result.items():
            yield _remark(file, applied)

    def _is_for_others(self, spec: Spec) -> str:
        """Return why a spec is for none of the program's targets; nothing if it is for one."""
        result = (
            ", ".join(sorted(str(target) for target in self.targets if target)) or "no known target"
        )
        binding = binding_of(spec.module)
        if all(Applicability(spec, each).is_bound_elsewhere for each in self.targets):
            return f"it is bound to {', '.join(binding or ()) or 'no target'}, the program is for {result}"
        if all(Applicability(spec, each).is_empty for each in self.targets):
            return f"none of its entries is for {result}"
        return ""

    @staticmethod
    def _why_it_sets_nothing(spec: Spec) -> str:
        entries = map(spec.anatomy.entry, range(len(spec.anatomy.pairs)))
        if not any(settings_of(spec, entry) != {} for entry in entries):
            return "its actions set no configuration"
        return ""

    def _would_have_told(self, position: int, spec: Spec) -> bool:
        """Whether a spec that has left no tag has configured nothing; an opaque one can do so untraced."""
        return position in self.traceable or spec.kind is SpecKind.MATCHER_LIST


def _with_causes(failure: Diagnostic, applied: Sequence[Applied]) -> Diagnostic:
    """Return an error with notes on what configured the dispatch that it is in, if something did."""
    return replace(failure, notes=(*failure.notes, *_causes(applied))) if applied else failure


def _causes(applied: Sequence[Applied]) -> Iterator[Diagnostic]:
    """Yield notes on what configured a dispatch that does not compile, each at its entry, and the remedy."""
    for each in applied:
        entry = f"entry '{each.entry.matcher}' of " if each.entry else ""
        at = f" at {each.place}" if each.place else ""
        message = f"{entry}'{each.spec}' configured {each.operation}{at} in {each.dispatch}"
        yield note(message, each.entry.place if each.entry else None)
    for target in {str(each.target): None for each in applied if each.target}:
        check = f"tuninglink check SPEC --target {target} --compile"
        skip = "'--skip-failing-entries' compiles the dispatch without specs"
        yield note(f"'{check}' says what is wrong with a configuration; {skip}")


def _kept(spec: Spec, kept: Sequence[Applied]) -> Diagnostic:
    first = kept[0]
    more = f" and {len(kept) - 1} more" if len(kept) > 1 else ""
    return _warning(
        f"spec '{spec.source}' matched in {first.dispatch}{more}, which kept another configuration",
        first.place,
        "a dispatch that is configured already stays so; "
        "'tuninglink-opt --tuninglink-strip-configs' strips it",
    )


def _warning(message: str, place: Place | None = None, remedy: str = "") -> Diagnostic:
    return Diagnostic(Severity.WARNING, message, place, (note(remedy),) if remedy else ())


def _never_matched(entries: int) -> str:
    if entries == 1:
        return "its entry was never the first to match"
    return f"none of its {entries:,} entries was ever the first to match"


def _remark(file: DefaultSpecFile, applied: Sequence[Applied]) -> Diagnostic:
    """Return a remark on a default spec: which of its entries configured how many operations."""
    first = applied[0]
    counts = Counter(
        f"entry '{each.entry.matcher}'" if each.entry else "an entry" for each in applied
    )
    notes = [note(f"{what} configured {_operations(count)}") for what, count in counts.items()]
    message = (
        f"the default spec for {first.target} configured {_operations(len(applied))}; "
        "'--no-default-specs' leaves it out"
    )
    notes.append(note(f"the spec is '{file.path}'"))
    return Diagnostic(Severity.REMARK, message, None, tuple(notes))


def _derived_remark(applied: Sequence[Applied]) -> Diagnostic:
    """Return a remark on derived entries: from which entries they were derived, and what was changed."""
    counts = Counter(f"entry of '{each.spec}' derived {each.derivation}" for each in applied)
    notes = [note(f"{what}: {_operations(count)}") for what, count in counts.items()]
    message = (
        f"entries derived for other forms of their problems configured {_operations(len(applied))}; "
        "'--no-derived-entries' leaves them out"
    )
    return Diagnostic(Severity.REMARK, message, None, tuple(notes))


def _like_remark(applied: Sequence[Applied]) -> Diagnostic:
    """Return a remark on entries for other targets: which, and what decides whether they are fast here."""
    counts = Counter(
        f"entry '{each.entry.matcher}' of '{each.spec}' is for {each.like_target}"
        for each in applied
        if each.entry
    )
    notes = [note(f"{what}: {_operations(count)}") for what, count in counts.items()]
    notes.append(note("'tuninglink retune' measures which of them are faster here"))
    message = (
        f"entries for targets like {applied[0].target} configured {_operations(len(applied))}; "
        "their times were measured elsewhere"
    )
    return Diagnostic(Severity.REMARK, message, None, tuple(notes))


def _operations(count: int) -> str:
    return "1 operation" if count == 1 else f"{count:,} operations"
