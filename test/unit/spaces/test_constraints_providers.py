"""The registry of providers, and what becomes of their answers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import pytest
from configured_programs import configured, only_dispatch
from iree.compiler import ir as mlir

from tuninglink.iree import OpKind, Role
from tuninglink.mlir import collect, thread_context
from tuninglink.solver import UndecidedError, Verdict
from tuninglink.spaces import (
    AllowedValues,
    ProviderRegistry,
    verify_configuration,
)
from tuninglink.spaces.gpu import GpuProvider
from tuninglink.spaces.model import (
    ConstraintSetBuilder,
    IntegerKnob,
    MismatchError,
    Provider,
    Space,
    read_configuration,
    read_workload,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tuninglink.errors import Diagnostic
    from tuninglink.spaces.model import Configuration, ConstraintSet, Workload

PIPELINE = "#iree_cpu.pipeline<DoubleTilingExpert>"


class OneKnobSpace(Space):
    """A space in which the subgroup size of a configuration must be a given number."""

    def __init__(self, dispatch: Workload, wanted: int) -> None:
        builder = ConstraintSetBuilder()
        size = builder.knob(IntegerKnob("subgroup_size"))
        builder.require(size == wanted, "subgroup_size == {}", wanted, provenance="the test")
        self.constraints = builder.build(dispatch.problem, PIPELINE, "the test")

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        info = configuration.translation_info
        assert info is not None
        if info.subgroup_size == 13:
            raise MismatchError("'subgroup_size' is 13")
        return {"subgroup_size": info.subgroup_size}

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        raise NotImplementedError


class CpuProvider(Provider):
    """Knows contractions in one pipeline."""

    name: ClassVar[str] = "cpu"
    pipelines: ClassVar[frozenset[str] | None] = frozenset({PIPELINE})
    kinds: ClassVar[frozenset[OpKind] | None] = frozenset({OpKind.CONTRACTION})
    wanted: ClassVar[int] = 0

    def spaces(self, dispatch: Workload, pipeline: str) -> Sequence[Space]:
        assert pipeline == PIPELINE
        return [OneKnobSpace(dispatch, self.wanted)]


class FailingProvider(CpuProvider):
    """Raises an unexpected error."""

    name: ClassVar[str] = "failing"

    def spaces(self, dispatch: Workload, pipeline: str) -> Sequence[Space]:
        raise KeyError(pipeline, dispatch)


class EntryPoint:
    """The entry point of a plug-in."""

    dist = None

    def __init__(self, name: str, loaded: object) -> None:
        self.name = name
        self.value = f"{name}:provider"
        self._loaded = loaded

    def load(self) -> object:
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded


def registry(*plug_ins: EntryPoint, warnings: list[Diagnostic] | None = None) -> ProviderRegistry:
    said: list[Diagnostic] = [] if warnings is None else warnings
    return ProviderRegistry(said.append, own=[], entry_points=lambda: plug_ins)


def cpu_dispatch() -> Workload:
    return only_dispatch(configured("matmul", "cpu"))


def test_broken_plug_ins_are_named_and_skipped() -> None:
    warnings: list[Diagnostic] = []
    known = registry(
        EntryPoint("b-missing", ImportError("no such module")),
        EntryPoint("c-other", dict),
        EntryPoint("a-good", [CpuProvider]),
        EntryPoint("d-nothing", 17),
        warnings=warnings,
    )
    assert [each.name for each in known.all()] == ["cpu"]
    assert [each.message.partition("'")[2].partition("'")[0] for each in warnings] == [
        "b-missing",
        "c-other",
        "d-nothing",
    ]
    assert "ImportError: no such module" in warnings[0].message
    assert "is not a subclass of tuninglink.spaces.Provider" in warnings[1].message


def test_a_provider_is_asked_about_what_it_knows() -> None:
    dispatch = cpu_dispatch()
    known = registry(EntryPoint("cpu", CpuProvider))
    assert len(known.spaces(dispatch, PIPELINE)) == 1
    with pytest.raises(UndecidedError, match="no constraints are known for contraction 64x96x128"):
        known.spaces(dispatch, "#iree_cpu.pipeline<Other>")


def test_a_provider_that_fails_is_named_and_does_not_spoil_the_others() -> None:
    dispatch = cpu_dispatch()
    with pytest.raises(UndecidedError, match="provider 'failing' failed: KeyError"):
        registry(EntryPoint("failing", FailingProvider)).spaces(dispatch, PIPELINE)
    warnings: list[Diagnostic] = []
    both = registry(
        EntryPoint("failing", FailingProvider), EntryPoint("cpu", CpuProvider), warnings=warnings
    )
    for _ in range(2):
        assert len(both.spaces(dispatch, PIPELINE)) == 1
    assert [each.message.partition(":")[0] for each in warnings] == ["provider 'failing' failed"]


def test_spaces_before_a_failure_are_kept() -> None:
    class Interrupted(CpuProvider):
        def spaces(self, dispatch: Workload, pipeline: str) -> Sequence[Space]:
            def made() -> Iterator[Space]:
                yield OneKnobSpace(dispatch, 0)
                raise KeyError(pipeline)

            return made()  # type: ignore[return-value] # as a plug-in may do

    warnings: list[Diagnostic] = []
    known = registry(EntryPoint("i", Interrupted), warnings=warnings)
    assert len(known.spaces(cpu_dispatch(), PIPELINE)) == 1
    assert len(warnings) == 1


@pytest.mark.parametrize(("wanted", "verdict"), [(0, Verdict.PROVEN), (64, Verdict.REFUTED)])
def test_what_a_provider_says_is_the_verdict(wanted: int, verdict: Verdict) -> None:
    class Wanting(CpuProvider):
        pass

    Wanting.wanted = wanted
    dispatch = cpu_dispatch()
    configuration = read_configuration(dispatch.root, dispatch.function)
    assert configuration is not None

    class Proposing(OneKnobSpace):
        def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
            assert assignment == {"subgroup_size": 64}
            return dispatch.root.attributes["lowering_config"]

    Wanting.spaces = lambda _, dispatch, __: [Proposing(dispatch, wanted)]  # type: ignore[method-assign]
    answer = verify_configuration(dispatch, configuration, registry(EntryPoint("w", Wanting)))
    assert answer.verdict is verdict
    if verdict is Verdict.REFUTED:
        assert [str(each) for each in answer.violations] == [
            "subgroup_size == 64 [subgroup_size = 0]"
        ]
        assert answer.proposal is not None
        assert answer.proposal.changes == (("subgroup_size", 0, 64),)
        assert answer.proposal.is_proven


class OtherFormSpace(Space):
    """A space of configurations of another form, whose constraints must not be requested."""

    @property
    def provider(self) -> str:
        return "the lazy one"

    @property
    def constraints(self) -> ConstraintSet:  # type: ignore[override] # as a space may have it
        raise AssertionError("the configuration is of another form")

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        raise MismatchError(f"it is for {configuration.pipeline}")

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        raise NotImplementedError


def test_the_constraints_on_other_forms_are_not_written_down() -> None:
    class Lazy(CpuProvider):
        pass

    Lazy.spaces = lambda *_: [OtherFormSpace()]  # type: ignore[method-assign]
    dispatch = cpu_dispatch()
    configuration = read_configuration(dispatch.root, dispatch.function)
    assert configuration is not None
    answer = verify_configuration(dispatch, configuration, registry(EntryPoint("l", Lazy)))
    assert answer.verdict is Verdict.NOT_DECIDED
    expected = (
        f"the lazy one's constraints cover configurations of another form: it is for {PIPELINE}"
    )
    assert answer.reason == expected


def test_problems_are_read_from_operations() -> None:
    matmul = only_dispatch(configured("matmul", "gfx942")).problem
    assert (str(matmul), matmul.kind) == ("contraction 64x96x128 f16xf16xf32", OpKind.CONTRACTION)
    assert [each.role for each in matmul.dimensions] == [Role.M, Role.N, Role.K]
    convolution = only_dispatch(configured("convolution", "gfx942")).problem
    assert convolution.kind is OpKind.CONVOLUTION
    assert [(each.role, each.size) for each in convolution.dimensions] == [
        (Role.OUTPUT_IMAGE, 8),
        (Role.OUTPUT_IMAGE, 8),
        (Role.OUTPUT_CHANNEL, 32),
        (Role.FILTER, 3),
        (Role.FILTER, 3),
        (Role.INPUT_CHANNEL, 32),
    ]
    attention = only_dispatch(configured("attention", "gfx942")).problem
    assert attention.kind is OpKind.ATTENTION
    assert [(each.role, each.size) for each in attention.dimensions] == [
        (Role.BATCH, 2),
        (Role.M, 64),
        (Role.N, 64),
        (Role.K1, 64),
        (Role.K2, 128),
    ]


class FailingSpace(OneKnobSpace):
    """A space that fails at one question."""

    def __init__(self, dispatch: Workload, failing: str) -> None:
        super().__init__(dispatch, 0)
        self._failing = failing

    def __getattribute__(self, name: str) -> object:
        if not name.startswith("_") and name == self._failing:
            raise KeyError(name)
        return super().__getattribute__(name)


@pytest.mark.parametrize("failing", ["assignment", "constraints", "check", "provider"])
def test_an_exception_of_a_space_is_an_answer(failing: str) -> None:
    class Failing(CpuProvider):
        pass

    Failing.spaces = lambda _, dispatch, __: [FailingSpace(dispatch, failing)]  # type: ignore[method-assign]
    dispatch, warnings = cpu_dispatch(), []
    configuration = read_configuration(dispatch.root, dispatch.function)
    assert configuration is not None
    providers = registry(EntryPoint("f", Failing), warnings=warnings)
    answer = verify_configuration(dispatch, configuration, providers)
    allowed = AllowedValues(dispatch, configuration, providers)
    assert answer.verdict is Verdict.NOT_DECIDED or failing in ("provider", "constraints")
    assert allowed.by_place or allowed.reason
    assert any(f"provider 'cpu' failed: KeyError: '{failing}'" in str(each) for each in warnings)


def test_each_thread_sees_that_a_configuration_computes_wrong_results() -> None:
    target = (
        '#hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "sm_80", '
        'features = "", wgp = <compute = fp32|int32, storage = b32, subgroup = shuffle|arithmetic, dot = none, mma = [], '
        "subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, "
        "max_workgroup_memory_bytes = 166912, max_workgroup_counts = [2147483647, 65535, 65535]>>}>"
    )
    program = f"""
func.func @main(%lhs: tensor<8x256xf32>, %rhs: tensor<256x256xf32>, %init: tensor<8x256xf32>) -> tensor<8x256xf32>
    attributes {{hal.executable.target = {target}, translation_info = #iree_codegen.translation_info<
      pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 32>}} {{
  %result = linalg.matmul {{lowering_config = #iree_gpu.lowering_config<{{lane_basis = [[1, 32, 1], [0, 1, 2]],
      partial_reduction = [0, 0, 8], subgroup_basis = [[1, 1, 2], [0, 1, 2]], thread = [0, 0, 4], workgroup = [1, 32, 0]}}>}}
      ins(%lhs, %rhs : tensor<8x256xf32>, tensor<256x256xf32>) outs(%init : tensor<8x256xf32>) -> tensor<8x256xf32>
  return %result : tensor<8x256xf32>
}}"""

    def reason() -> str:
        module = mlir.Module.parse(program, thread_context()).operation
        (root,) = collect(module, "linalg.matmul")
        function = module.regions[0].blocks[0].operations[0].operation
        configuration = read_configuration(root, function)
        assert configuration is not None
        workload = replace(read_workload(root, function), family="sm_80")
        providers = ProviderRegistry(pytest.fail, [GpuProvider()], tuple)
        return verify_configuration(workload, configuration, providers).miscompilation

    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        reasons = {first.submit(reason).result(), second.submit(reason).result()}
    (text,) = reasons
    assert text.startswith("subgroup_basis[2] must not be more than lane_basis[2] (2 <= 1)")
