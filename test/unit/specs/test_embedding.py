"""Materializing: the embedded spec of each dispatch, and the number of links."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from elementwise_specs import marking
from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.errors import Diagnostic, Place, SpecError, TargetError
from tuninglink.matching import (
    LinkedDispatch,
    embed_specs,
    link_dispatches,
    materialization,
    materialization as pruning,
)
from tuninglink.mlir import DiagnosticSink, collect, names, place_of
from tuninglink.specs import (
    DefaultLibrary,
    Spec,
    carried_spec,
    embedded_bytes,
    load_embedded_spec,
    load_spec,
    spec_attribute,
)

GPU = """<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<
  arch = "gfx942", features = "", wgp = <compute = fp32, storage = b32, subgroup = none,
    subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024],
    max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536,
    max_workgroup_counts = [2147483647, 2147483647, 2147483647]>CHIP>}>"""
MI300X = GPU.replace("CHIP", ', chip = <wgp_count = 304, sku = "mi300x">')
MI308X = GPU.replace("CHIP", ', chip = <wgp_count = 80, sku = "mi308x">')
GFX942 = GPU.replace("CHIP", "")
CPU = '<"llvm-cpu", "embedded-elf-x86_64", {cpu = "znver4", target_triple = "x86_64-linux-gnu"}>'

BODY = """
      func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
        %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>],
            iterator_types = ["parallel"]} outs(%a : tensor<4xf32>) {
        ^bb0(%x: f32):
          %0 = arith.addf %x, %x : f32
          linalg.yield %0 : f32
        } -> tensor<4xf32>
        return %r : tensor<4xf32>
      }
"""


def executable(name: str, target: str, attributes: str = "") -> str:
    return f"""
hal.executable private @{name} {{
  hal.executable.variant public @variant target({target}) {{
    builtin.module {attributes} {{{BODY}    }}
  }}
}}
"""


def marked(name: str, operation: str = "linalg.generic") -> Spec:
    return load_spec(marking(name, operation))


def program(*executables: str) -> mlir.Operation:
    return mlir.Module.parse("\n".join(executables), mlir.Context()).operation


def materialize(
    root: mlir.Operation, *specs: Spec, library: DefaultLibrary | None = None
) -> tuple[LinkedDispatch, ...]:
    dispatches = link_dispatches(root, specs, library=library)
    embed_specs(dispatches, root.context)
    return dispatches


def carried(root: mlir.Operation) -> list[Spec | None]:
    return [
        load_embedded_spec(attribute, "a dispatch", module)
        if (attribute := module.attributes.get(names.EMBEDDED_SPEC)) is not None
        else None
        for module in collect(root, names.MODULE)
        if module != root
    ]


def marks(root: mlir.Operation) -> list[set[str]]:
    """Return the marks that the compiler leaves when it applies the embedded specs."""
    for module in collect(root, names.MODULE):
        if names.EMBEDDED_SPEC in module.attributes:
            pipeline = "builtin.module(iree-codegen-materialize-user-configs)"
            PassManager.parse(pipeline, root.context).run(module)
    wanted = {"user", "other", "default"}
    return [wanted & set(op.attributes.keys()) for op in collect(root, "linalg.generic")]


def test_without_specs_nothing_changes() -> None:
    root = program(executable("a", CPU), executable("b", MI300X))
    before = str(root)
    outcome = materialize(root)
    assert str(root) == before
    assert [(each.dispatch.name, str(each.dispatch.target), each.linked) for each in outcome] == [
        ("@a::@variant", "znver4", None),
        ("@b::@variant", "mi300x", None),
    ]


def test_the_default_spec_goes_to_the_targets_that_have_one() -> None:
    root = program(executable("a", CPU), executable("b", MI300X), executable("c", GFX942))
    outcome = materialize(root, library=DefaultLibrary())
    assert [spec and spec.name for spec in carried(root)] == [
        None,
        "tuninglink_default_gfx942",
        "tuninglink_default_gfx942",
    ]
    assert [each.linked is not None for each in outcome] == [False, True, True]


def test_the_users_specs_come_first_and_decide() -> None:
    root = program(executable("a", CPU))
    (outcome,) = materialize(root, marked("user"), marked("other"))
    assert outcome.linked
    assert [part.spec.name for part in outcome.linked.parts] == ["user", "other"]
    assert marks(root) == [{"user"}]


def test_specs_of_another_context_are_taken() -> None:
    root = program(executable("a", CPU))
    spec = marked("user")
    assert spec.module.context != root.context
    materialize(root, spec)
    assert marks(root) == [{"user"}]


def test_targets_get_the_default_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "znver4.mlir").write_text(marked("default").text())
    library = DefaultLibrary((tmp_path,))
    root = program(executable("a", CPU), executable("b", MI300X))
    materialize(root, marked("user", "linalg.fill"), library=library)
    first, second = carried(root)
    assert first
    assert second
    assert [entry.action for entry in first.entries] == ["mark", "mark_0"]
    assert [entry.action for entry in second.entries][1:] == [
        "configure_attention",
        "configure_attention",
        "configure",
    ]
    assert marks(root) == [{"default"}, set()]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Count the calls of what must not be called for each dispatch."""
    counter: Counter[str] = Counter()

    def count(module: ModuleType, name: str) -> None:
        original = getattr(module, name)

        def wrapper(*args: object, **kwargs: object) -> object:
            counter[name] += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(module, name, wrapper)

    count(pruning, "link_parts")
    count(materialization, "spec_attribute")
    count(materialization, "load_embedded_spec")
    return counter


def test_what_is_the_same_for_many_dispatches_is_linked_once(counted: Counter[str]) -> None:
    targets = [MI300X, MI308X, GFX942, CPU]
    root = program(*(executable(f"e{i}", targets[i % 4]) for i in range(40)))
    materialize(root, marked("user"), library=DefaultLibrary())
    assert counted == {"link_parts": 4, "spec_attribute": 4}
    attributes = {m.attributes.get(names.EMBEDDED_SPEC) for m in collect(root, names.MODULE)}
    assert len(attributes - {None}) == 2


def test_a_carried_spec_is_read_once(counted: Counter[str]) -> None:
    root = program(*(executable(f"e{i}", CPU) for i in range(10)))
    materialize(root, marked("user", "linalg.fill"))
    counted.clear()
    materialize(root, marked("other"))
    assert counted == {"link_parts": 1, "spec_attribute": 1, "load_embedded_spec": 1}


def test_a_carried_spec_stays_behind_the_given_ones_and_replaces_the_default() -> None:
    root = program(executable("a", MI300X))
    materialize(root, marked("default"))
    (outcome,) = materialize(root, marked("user", "linalg.fill"), library=DefaultLibrary())
    assert outcome.linked
    assert [part.spec.name for part in outcome.linked.parts] == ["user", "iree_linked_tuning_spec"]
    assert marks(root) == [{"default"}]

    root = program(executable("a", MI300X))
    materialize(root, marked("default"))
    materialize(root, marked("user"), library=DefaultLibrary())
    assert marks(root) == [{"user"}]


def test_materializing_twice_is_materializing_once() -> None:
    root = program(executable("a", MI300X), executable("b", CPU))
    materialize(root, library=DefaultLibrary())
    before = str(root)
    outcome = materialize(root, library=DefaultLibrary())
    assert str(root) == before
    assert [each.linked for each in outcome] == [None, None]


def test_a_spec_that_is_carried_further_out_counts() -> None:
    root = program(executable("a", CPU))
    outer = spec_attribute(marked("default").bytecode(), root.context)
    root.attributes[names.EMBEDDED_SPEC] = outer
    (module,) = (m for m in collect(root, names.MODULE) if m != root)
    assert carried_spec(module) == outer
    materialize(root, marked("user", "linalg.fill"))
    assert carried_spec(module) != outer
    assert marks(root) == [{"default"}]


def test_a_module_without_variants_is_one_dispatch() -> None:
    root = program(BODY)
    (outcome,) = materialize(root, marked("user"), library=DefaultLibrary())
    assert (outcome.dispatch.name, outcome.dispatch.target) == ("the module", None)
    assert marks(root) == [{"user"}]


def test_a_module_without_variants_may_say_what_its_target_is() -> None:
    function = BODY.replace(
        "-> tensor<4xf32> {",
        f"-> tensor<4xf32> attributes {{hal.executable.target = #hal.executable.target{GFX942}}} {{",
        1,
    )
    root = program(f"module @benchmark {{{function}}}")
    (outcome,) = materialize(root, library=DefaultLibrary())
    assert (outcome.dispatch.name, str(outcome.dispatch.target)) == ("@benchmark", "gfx942")
    assert names.EMBEDDED_SPEC in root.attributes


def test_warnings_of_linking_reach_the_caller() -> None:
    opaque = load_spec(
        b"""
module @opaque attributes {transform.with_named_sequence} {
  transform.named_sequence @main(%all: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %0 = transform.apply_registered_pass "canonicalize" to %all : (!transform.any_op) -> !transform.any_op
    transform.yield %0 : !transform.any_op
  }
}
"""
    )
    emitted: list[Diagnostic] = []
    root = program(executable("a", CPU))
    link_dispatches(
        root, [marked("user"), opaque], library=None, diagnostics=DiagnosticSink(emitted.append)
    )
    (warning,) = emitted
    assert "opaque spec 'opaque' may override what 'user' configured" in warning.message


def test_a_spec_is_no_program() -> None:
    spec = marked("user")
    with pytest.raises(SpecError, match="expected a program, found a tuning spec"):
        materialize(spec.module, spec)


def test_a_function_cannot_carry_a_spec() -> None:
    root = program(executable("a", CPU))
    (function,) = collect(root, "func.func")
    with pytest.raises(SpecError, match="cannot embed a tuning spec in 'func"):
        materialize(function, marked("user"))


@pytest.mark.parametrize("length", [1, 5, 100, 400])
def test_a_damaged_spec_is_told_with_its_dispatch_and_nothing_changes(length: int) -> None:
    root = program(executable("good", MI300X), executable("bad", CPU))
    damaged = spec_attribute(marked("user").bytecode()[:length], root.context)
    collect(root, names.MODULE)[2].attributes[names.EMBEDDED_SPEC] = damaged
    before = str(root)
    with pytest.raises(SpecError) as caught:
        materialize(root, marked("user"), library=DefaultLibrary())
    message = "the tuning spec that is embedded in @bad::@variant cannot be read: "
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message.startswith(message)
    assert diagnostic.place
    assert str(root) == before


@pytest.mark.parametrize("garbage", [b"ML\xefR\r\xff\xfe\x00\x80", b"\xff\xfe", b"\0\0", b"   "])
def test_garbage_is_refused(garbage: bytes) -> None:
    root = program(executable("a", CPU))
    attribute = spec_attribute(garbage, root.context)
    with pytest.raises(SpecError, match="embedded in here cannot be read"):
        load_embedded_spec(attribute, "here", root)


@pytest.mark.usefixtures("as_in_commands")
def test_every_truncation_is_refused() -> None:
    """Also where the compiler's message quotes bytes that are not text."""
    root = program(executable("a", CPU))
    whole = marked("user").bytecode()
    for length in range(1, len(whole)):
        attribute = spec_attribute(whole[:length], root.context)
        with pytest.raises(SpecError, match="embedded in here cannot be read"):
            load_embedded_spec(attribute, "here", root)


def test_names_that_are_no_text_are_refused() -> None:
    root = program(executable("a", CPU))
    attribute = spec_attribute(marked("user").bytecode().replace(b"mark", b"m\xffrk"), root.context)
    with pytest.raises(SpecError, match="embedded in here cannot be read: the bytecode is damaged"):
        load_embedded_spec(attribute, "here", root)


def test_file_names_that_are_no_text_are_read_as_well_as_can_be() -> None:
    damaged = marked("user").bytecode().replace(b"<memory>", b"<mem\xffry>")
    (entry,) = load_spec(damaged).entries
    assert entry.place
    assert entry.place.file == "<mem\N{REPLACEMENT CHARACTER}ry>"


@pytest.mark.parametrize("name", ["a.mlir", 'odd "name":3.mlir', "größe.mlir", "back\\slash"])
def test_file_names_are_read_as_they_are(name: str) -> None:
    with mlir.Context():
        place = place_of(mlir.Location.file(name, 3, 4))
    assert place == Place(name, 3, 4)


def test_an_embedded_program_is_no_spec() -> None:
    root = program(executable("a", CPU))
    attribute = spec_attribute(b"module {}", root.context)
    with pytest.raises(SpecError, match="embedded in here cannot be read: not a tuning spec"):
        load_embedded_spec(attribute, "here", root)


def test_a_target_of_another_kind() -> None:
    root = program('func.func private @f() attributes {hal.executable.target = "gfx942"}')
    with pytest.raises(TargetError) as caught:
        materialize(root, marked("user"))
    assert caught.value.diagnostics[0].place


@pytest.mark.parametrize("content", [b"\x05" * 7, b"\x07", bytes(range(256))])
def test_bytes_come_back_as_they_were(content: bytes) -> None:
    """One byte repeated makes a splat, and bytes above 127 are negative i8."""
    attribute = spec_attribute(content, mlir.Context())
    assert embedded_bytes(attribute) == content


@pytest.mark.parametrize(
    "text", ['"text"', "dense<0> : vector<4xi32>", "dense<0.0> : vector<4xf32>", "array<i8: 1>"]
)
def test_other_attributes_hold_no_bytes(text: str) -> None:
    with mlir.Context():
        assert embedded_bytes(mlir.Attribute.parse(text)) is None
