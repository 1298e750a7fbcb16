"""Sets with kernels: all of a program, all but one, and without those that lose in the whole program."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, ClassVar, cast

from contraction_programs import contraction
from iree.compiler import ir as mlir
from kernel_specs import PTX
from moved_attention import decomposed_program

from tuninglink.errors import Diagnostic
from tuninglink.forms import BroadcastMatmul, FoldedBatch, PaddedAttention, PaddedContraction
from tuninglink.iree import Target
from tuninglink.kernels import (
    GROUP,
    BuiltKernel,
    Candidate,
    KernelCall,
    KernelProblem,
    KernelProvider,
    ProductProblem,
    ScaledAttention,
    kernel_providers,
    problems_of,
    shipped_kernels,
)
from tuninglink.mlir import thread_context
from tuninglink.replacing import Attention, spec
from tuninglink.specs import load_spec
from tuninglink.tuning.deciding import ConfidenceInterval, TuneOptions
from tuninglink.tuning.flag_sets import (
    DEFAULT,
    ChosenKernel,
    CompiledSource,
    FlagSet,
    FlagsResult,
    KernelChoice,
    Listener,
    SetResult,
    choice,
)
from tuninglink.tuning.flag_sets.kernel_sets import KernelChooser, _Contest, make_kernel
from tuninglink.tuning.flag_sets.sets import forms_beside
from tuninglink.workers import finished

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest


HOPPER = Target.parse("h200")


def kernel(size: int, speedup: float, work: float) -> ChosenKernel:
    """Return a kernel, which is not run, for a product of some size."""
    built = BuiltKernel(f"add{size}", "sm_80", PTX.encode(), (1, 1, 1), 128, 0)
    return ChosenKernel(KernelCall(ProductProblem(contraction(size, 8, 24)), built), speedup, work)


SMALL, MEDIUM, LARGE, SLOW = (
    *(kernel(16, 4.0, 10), kernel(32, 2.0, 100), kernel(64, 2.0, 1000)),
    kernel(128, 1.01, 1000),
)


def names(flag_set: FlagSet) -> list[str]:
    """Return the kernels that a set has in its spec, in order."""
    replacing = load_spec(flag_set.forms.encode()).replacing
    assert replacing is not None
    return list(dict.fromkeys(entry.form.split("'")[1] for entry in replacing.entries))


def result(flag_set: FlagSet, speedup: float) -> SetResult:
    return SetResult(flag_set, speedup=ConfidenceInterval(speedup, speedup, speedup))


def test_sets_lack_one_of_the_kernels_that_gain_least() -> None:
    choice = KernelChoice((LARGE, SMALL, MEDIUM, SLOW), HOPPER)
    every, *without = choice.sets
    assert names(every) == ["add64", "add16", "add32", "add128"]
    assert every.name == f"4 kernels of {4 * len(PTX) / 1024:.3g} KiB"
    # Gains are shares of the work: 1 - 1 / speedup.
    left_out = [{*names(every)} - {*names(flag_set)} for flag_set in without]
    assert left_out == [{"add16"}, {"add128"}, {"add32"}]
    assert without[0].name.endswith(", without product_16x8x24_f16_f32 of 2 operands")
    assert not any(flag_set.is_default or flag_set.flags for flag_set in choice.sets)
    assert len(KernelChoice((LARGE,), HOPPER).sets) == 1
    assert not KernelChoice().sets


def test_entries_are_bound_to_the_machine_and_come_before_forms() -> None:
    forms = spec([kernel(256, 1.0, 1.0).call])
    (flag_set,) = KernelChoice((LARGE,), HOPPER, forms).sets
    assert names(flag_set) == ["add64", "add256"]
    assert 'tuninglink.targets = ["sm_90"]' in flag_set.forms
    assert str(mlir.StringAttr.get(PTX, thread_context())) in flag_set.forms


def test_forms_beside_attention_of_products_are_those_of_other_products() -> None:
    program = decomposed_program(2, 17, 3, 8, masked=False)
    module = mlir.Module.parse(program, thread_context()).operation
    (attention,) = problems_of(module)
    scores = contraction(6, 17, 17, 8, rhs="kn", name="linalg.batch_matmul")
    forms = [PaddedContraction(one, (("k", 32),)) for one in (scores, contraction(17, 17, 8))]
    assert forms_beside(forms, [attention]) == forms[1:]


def test_several_kernels_that_lose_are_left_out_together() -> None:
    choice = KernelChoice((LARGE, SMALL, MEDIUM, SLOW), HOPPER)
    every, small, slow, medium = choice.sets
    results = [result(every, 2.0), result(small, 2.1), result(slow, 2.2), result(medium, 1.5)]
    (refined,) = choice.refined(results)
    assert names(refined) == ["add64", "add32"]
    # One is left out by a set that was compared, and none if all gain.
    assert not choice.refined([*results[:2], result(slow, 1.9), results[3]])
    assert not choice.refined([result(every, 3.0), *results[1:]])


def test_forms_beside_kernels_are_those_of_other_ops() -> None:
    # A form of an op would be applied before a kernel that replaces a later op of the same graph.
    attention = Attention(
        ("amk", "ajk", "ajn", "", "amn"),
        ("f16", "f16", "f16", "f32", "f16"),
        "amnkj",
        (48, 197, 64, 64, 197),
    )
    other = attention.resized({"a": 12})
    padded, kept = (PaddedAttention(one, (("m", 224), ("j", 224))) for one in (attention, other))
    product = contraction(6, 33, 40, 72, name="linalg.batch_matmul")
    folded = FoldedBatch(BroadcastMatmul((2, 3), (33, 40, 72), product.types))
    apart = FoldedBatch(BroadcastMatmul((2, 3), (33, 40, 73), product.types))
    loose = PaddedContraction(contraction(33, 40, 71), (("k", 72),))
    kernels = [ScaledAttention(attention, 0.125), ProductProblem(product)]
    forms = [padded, kept, folded, apart, loose]
    assert forms_beside(forms, kernels) == [kept, apart, loose]
    assert forms_beside(forms, [ProductProblem(loose.problem)]) == [padded, kept, folded, apart]
    assert forms_beside(forms, []) == forms


class Failing(KernelProvider):
    """A provider that fails like a plug-in with a mistake."""

    name: ClassVar[str] = "failing"

    def candidates(self, problem: KernelProblem, architecture: str) -> Sequence[Candidate]:  # noqa: ARG002
        raise KeyError(architecture)

    def source(self, candidate: Candidate) -> str:
        raise NotImplementedError(candidate.name)

    def make(self, candidate: Candidate) -> BuiltKernel:  # noqa: ARG002
        raise ZeroDivisionError("no tiles")


class Lacking(Failing):
    """A provider without candidates."""

    name: ClassVar[str] = "lacking"
    asked: ClassVar[list[str]] = []

    def candidates(self, problem: KernelProblem, architecture: str) -> Sequence[Candidate]:  # noqa: ARG002
        self.asked.append(architecture)
        return ()


def test_a_provider_that_fails_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tuninglink.tuning.flag_sets.kernel_sets.kernel_providers", lambda _: [Failing(), Lacking()]
    )
    problem, seen = ProductProblem(contraction(16, 8, 24)), list[object]()
    with KernelChooser(TuneOptions(input="", flags=()), {problem: 1}, HOPPER, seen.append):
        assert Lacking.asked == ["sm_90a"]
    assert list(map(str, seen)) == [
        "warning: kernel provider 'failing' fails: KeyError: 'sm_90a'",
        "warning: no provider has kernels for this program on sm_90a",
    ]
    monkeypatch.setattr(
        "tuninglink.tuning.flag_sets.kernel_sets.kernel_providers", lambda: [Failing()]
    )
    made = make_kernel(Candidate("failing", problem, "sm_90a", ()))
    assert made == "kernel provider 'failing' fails: ZeroDivisionError: no tiles"


def test_a_plug_in_that_cannot_be_used_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "acme-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    points = ("a = acme:Missing", "b = json:JSONDecoder", "c = acme:Incomplete", "d = acme:Good")
    (metadata / "entry_points.txt").write_text("\n".join((f"[{GROUP}]", *points)))
    (tmp_path / "acme.py").write_text(
        "from tuninglink.kernels import KernelProvider\n"
        "class Incomplete(KernelProvider): pass\n"
        "class Good(KernelProvider):\n"
        "    name = 'good'\n"
        "    def candidates(self, *_): return ()\n"
        "    source = make = candidates\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    seen = list[Diagnostic]()
    problem = ProductProblem(contraction(16, 8, 24))
    options = TuneOptions(input="", flags=())
    with KernelChooser(options, {problem: 1}, Target.parse("x86_64"), seen.append):
        pass
    start = "warning: skipping the kernels of plug-in '{}' of package 'acme' ({}), which cannot be used: "
    assert [str(warning).partition("used: ")[0] + "used: " for warning in seen[:-1]] == [
        start.format("a", "acme:Missing"),
        start.format("b", "json:JSONDecoder"),
        start.format("c", "acme:Incomplete"),
    ]
    assert [note.message for note in seen[0].notes] == [
        "install what it needs, or uninstall the package"
    ]
    assert [provider.name for provider in kernel_providers()] == ["triton", "good"]


def test_problems_get_kernels_by_their_multiplications(monkeypatch: pytest.MonkeyPatch) -> None:
    # Attention multiplies for queries and keys, and for keys and values: not for all loops together.
    attention = ScaledAttention(
        Attention(
            ("amk", "ajk", "ajn", "", "amn"),
            ("f16", "f16", "f16", "f32", "f16"),
            "amnkj",
            (12, 384, 64, 64, 384),
        ),
        0.125,
    )
    product = ProductProblem(contraction(384, 768, 768))
    assert attention.work == 2 * 12 * 384 * 384 * 64
    assert product.work == 384 * 768 * 768 == attention.work
    asked = list[KernelProblem]()

    class Asked(Lacking):
        def candidates(self, problem: KernelProblem, architecture: str) -> Sequence[Candidate]:  # noqa: ARG002
            asked.append(problem)
            return ()

    monkeypatch.setattr(
        "tuninglink.tuning.flag_sets.kernel_sets.kernel_providers", lambda _: [Asked()]
    )
    small = ProductProblem(contraction(384, 768, 14))
    problems: dict[KernelProblem, int] = {small: 1, attention: 1, product: 2}
    with KernelChooser(TuneOptions(input="", flags=()), problems, HOPPER, lambda _: None):
        assert asked == [product, attention]


def test_forms_of_ops_without_kernels_are_in_the_sets_with_kernels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forms = spec([kernel(256, 1.0, 1.0).call])

    class Compiler:
        def kernel_problems(self) -> object:
            return HOPPER, {LARGE.call.problem: 1}

        def forms_beside(self, kernels: Sequence[KernelProblem]) -> str:
            assert kernels in ([], [LARGE.call.problem])
            return forms

        def submit(self, flag_set: FlagSet, *, is_urgent: bool) -> str:
            return f"{flag_set.name}, {is_urgent}"

    monkeypatch.setattr(choice, "_device", lambda *_: ExitStack())
    monkeypatch.setattr(KernelChooser, "choose", lambda *_: [LARGE])
    jobs: dict[FlagSet, Any] = {}
    made = choice._choose_kernels(
        cast("Any", Compiler()),
        TuneOptions(input="", flags=(), kernels=True),
        "cuda",
        Listener(),
        jobs=jobs,
        forms=(),
        seconds=1.0,
        load=lambda _: None,
    )
    (flag_set,) = made.sets
    assert names(flag_set) == ["add64", "add256"]
    assert jobs == {flag_set: f"{flag_set.name}, True"}


def test_sets_that_were_not_compared_lose_to_none() -> None:
    choice = KernelChoice((LARGE, SMALL, MEDIUM, SLOW), HOPPER)
    every, *others = choice.sets
    assert not choice.refined([SetResult(every), *(result(own, 1.5) for own in others)])


def test_the_first_kernels_of_all_problems_are_compared_before_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled = CompiledSource(b"", None, 1.0)
    sets = [FlagSet(name, ()) for name in ("first", "second", "third")]
    late, turns = Future[Any](), list[tuple[KernelProblem, list[str]]]()

    def begin(_: object, number: int, problem: KernelProblem, *__: object) -> _Contest:
        jobs = dict.fromkeys((DEFAULT, *sets), finished(compiled))
        # The heaviest problem has one kernel at first, and one that fails.
        jobs |= {sets[1]: late, sets[2]: finished("it fails")} if number == 0 else {}
        return _Contest(problem, TuneOptions(input="", flags=()), jobs)

    def compare(_: object, contest: _Contest, *__: object) -> None:
        own = contest.ready()
        turns.append((contest.problem, [flag_set.name for flag_set in own]))
        contest.turns += 1
        contest.result = FlagsResult((*contest.result.results, *map(SetResult, own)))
        if len(turns) == 4:
            late.set_result(compiled)

    monkeypatch.setattr(KernelChooser, "_begin", begin)
    monkeypatch.setattr(KernelChooser, "_compare", compare)
    problems = [one.call.problem for one in (LARGE, MEDIUM, SMALL)]
    work: dict[KernelProblem, int] = dict.fromkeys(problems, 1)
    seen = list[object]()
    with KernelChooser(TuneOptions(input="", flags=()), work, HOPPER, seen.append) as chooser:
        chooser._making = {problem: [cast("Any", None)] for problem in problems}
        assert chooser.choose(cast("Any", None), 600.0, lambda _: None) == []
    assert turns == [
        (problems[0], ["first"]),
        (problems[1], ["first", "second"]),
        (problems[2], ["first", "second"]),
        (problems[1], ["third"]),
        (problems[0], ["second"]),
        (problems[2], ["third"]),
    ]
    assert (
        f"remark: {problems[0]} of 2 operands: 3 kernels, 3 failed: it fails; none is faster"
        in str(seen[0])
    )


def test_shipped_kernels_come_first_and_stay_without_a_comparison(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = "tuninglink.tuning.flag_sets.kernel_sets.kernel_providers"
    monkeypatch.setattr(module, lambda _: [])
    monkeypatch.setattr(KernelChooser, "_begin", lambda _, __, problem, *___: unfinished(problem))
    problem, kernel = next(iter(shipped_kernels(HOPPER).items()))
    options, seen = TuneOptions(input="", flags=()), list[object]()
    with KernelChooser(options, {problem: 1}, HOPPER, seen.append) as chooser:
        (made,) = chooser._making[problem]
        assert made[1].result() == kernel
        (chosen,) = chooser.choose(cast("Any", None), 0.0, lambda _: None)
    assert chosen.call == KernelCall(problem, kernel)
    (remark,) = map(str, seen)
    assert (
        remark
        == f"remark: {problem} of {len(problem.taken)} operands: 0 kernels; none was compared"
    )


def unfinished(problem: KernelProblem) -> _Contest:
    return _Contest(problem, TuneOptions(input="", flags=()), {DEFAULT: Future[Any]()})
