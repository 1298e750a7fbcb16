"""The default library: its specs, and the order of lookups."""

import threading
from pathlib import Path

import pytest
from iree.compiler import ir as mlir
from places import ROOT

from tuninglink.errors import SpecError, TargetError, TuninglinkError
from tuninglink.iree import Target
from tuninglink.specs import DefaultLibrary, default_spec, load_spec, provenance_of, shipped

SOURCES = ROOT / "specs" / "default"

SPEC = """
module @NAME attributes {transform.with_named_sequence} {
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @act(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "seen" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @main(%all: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %all @match -> @act : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}
"""


def put(directory: Path, *names: str) -> Path:
    directory.mkdir(exist_ok=True)
    for name in names:
        text = SPEC.replace("NAME", f"{directory.name}_{name.replace('-', '_')}")
        (directory / f"{name}.mlir").write_text(text)
    return directory


def test_every_default_spec_of_the_sources_is_shipped() -> None:
    sources = sorted(SOURCES.glob("*.mlir"))
    specs = shipped()
    assert [target.name for target in specs] == [source.stem for source in sources]
    for spec, source in zip(specs.values(), sources, strict=True):
        assert Path(spec.source).stem == source.stem
        assert spec.text() == load_spec(source).text()


def test_every_shipped_entry_says_where_it_comes_from() -> None:
    for spec in shipped().values():
        table = spec.anatomy.table
        assert spec.entries
        assert all(provenance_of(table, entry.matcher)["source"] for entry in spec.entries)


def test_entries_without_origin(tmp_path: Path) -> None:
    spec = default_spec("sm_80", directories=[put(tmp_path / "own", "sm_80")])
    assert spec
    assert [(entry.matcher, entry.action) for entry in spec.entries] == [("match", "act")]


@pytest.mark.parametrize("name", ["mi300x", "mi308x", "mi325x", "mi300a", "gfx942", "cdna3"])
def test_gfx942_serves_all_its_skus(name: str) -> None:
    spec = default_spec(name)
    assert spec
    assert spec.name == "tuninglink_default_gfx942"
    assert spec is default_spec(Target.parse("gfx942"))


@pytest.mark.parametrize("name", ["mi250", "gfx950", "sm_80", "znver4", "vulkan-mi300x", "vmvx"])
def test_other_targets_have_no_default_spec(name: str) -> None:
    assert default_spec(name) is None


def test_the_specific_comes_before_the_general(tmp_path: Path) -> None:
    own = put(tmp_path / "own", "cdna3")

    def chosen() -> str | None:
        spec = default_spec("mi300x", directories=[own])
        return spec and spec.name

    assert chosen() == "own_cdna3"
    put(own, "gfx942")
    assert chosen() == "own_gfx942"
    put(own, "mi300x")
    assert chosen() == "own_mi300x"
    put(own, "mi308x")
    assert chosen() == "own_mi300x"


def test_directories_come_first_and_in_order(tmp_path: Path) -> None:
    first, second = put(tmp_path / "first", "sm_80"), put(tmp_path / "second", "a100", "gfx942")

    def chosen(target: str) -> str | None:
        spec = default_spec(target, directories=[first, str(second)])
        return spec and spec.name

    assert chosen("a100") == "first_sm_80"
    assert chosen("mi300x") == "second_gfx942"
    assert chosen("sm_90") is None


def test_bytecode_is_found_and_the_text_beside_it_preferred(tmp_path: Path) -> None:
    own = put(tmp_path / "own", "sm_80")
    load_spec(own / "sm_80.mlir")
    (own / "ampere.mlirbc").write_bytes(load_spec(own / "sm_80.mlir").bytecode())
    found = DefaultLibrary((own,)).find(Target.parse("sm_86"))
    assert found
    assert found.name == str(own / "ampere.mlirbc")
    put(own, "ampere")
    spec = default_spec("sm_86", directories=[own])
    assert spec
    assert spec.source == str(own / "ampere.mlir")


def test_without_the_shipped_specs(tmp_path: Path) -> None:
    own = put(tmp_path / "own", "sm_80")
    library = DefaultLibrary((own,), shipped=False)
    assert library.find(Target.parse("gfx942")) is None
    assert library.find(Target.parse("sm_80"))


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    own = put(tmp_path / "own", "sm_80")
    before = default_spec("sm_80", directories=[own])
    (own / "sm_80.mlir").write_text(SPEC.replace("NAME", "changed"))
    after = default_spec("sm_80", directories=[own])
    assert before
    assert after
    assert (before.name, after.name) == ("own_sm_80", "changed")


def test_a_context_of_the_callers() -> None:
    context = mlir.Context()
    spec = default_spec("gfx942", context=context)
    assert spec
    assert spec.module.context == context
    assert spec is not default_spec("gfx942", context=context)


def test_threads_share_no_spec() -> None:
    specs = []
    thread = threading.Thread(target=lambda: specs.append(default_spec("gfx942")))
    thread.start()
    thread.join()
    here = default_spec("gfx942")
    assert here
    assert specs[0].module.context != here.module.context
    assert specs[0].text() == here.text()


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda _: None, "does not exist"),
        (lambda path: path.write_text(""), "is not a directory"),
    ],
)
def test_a_directory_that_is_none(make, problem: str, tmp_path: Path) -> None:  # noqa: ANN001
    place = tmp_path / "specs"
    make(place)
    with pytest.raises(TuninglinkError) as caught:
        default_spec("gfx942", directories=[place])
    message = f"the directory of default specs '{place}' {problem}"
    assert caught.value.diagnostics[0].message == message


def test_a_file_that_is_no_spec(tmp_path: Path) -> None:
    (tmp_path / "gfx942.mlir").write_text("module {}")
    with pytest.raises(SpecError) as caught:
        default_spec("gfx942", directories=[tmp_path])
    assert "not a tuning spec" in caught.value.diagnostics[0].message
    place = caught.value.diagnostics[0].place
    assert place
    assert place.file == str(tmp_path / "gfx942.mlir")


def test_an_unknown_target() -> None:
    with pytest.raises(TargetError, match="unknown target 'gfx9'"):
        default_spec("gfx9")
