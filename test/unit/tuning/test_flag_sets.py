"""The sets of compiler flags that are tried."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tuninglink.errors import TuninglinkError
from tuninglink.plain_data import plain
from tuninglink.tuning.flag_sets import CHANNELS_LAST, GROUP, FlagSet, flag_sets, read_flag_sets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def test_each_backend_has_a_list_and_none_turns_it_off() -> None:
    assert flag_sets("llvm-cpu", "", [])
    assert flag_sets("cuda", "", [])
    assert "tensor microkernels" in [flag_set.name for flag_set in flag_sets("rocm", "", [])]
    assert not flag_sets("vmvx", "", [])
    assert not flag_sets("llvm-cpu", "none", [])


def test_flags_for_dispatches_are_not_flags_for_their_code() -> None:
    early = "--iree-opt-data-tiling", "--iree-global-opt-use-im2col-for-convs", *CHANNELS_LAST.flags
    code = "--iree-llvmcpu-loop-unrolling=true"
    assert FlagSet("set", (*early, code, "--my-flag")).late_flags(["llvm-cpu"]) == (
        code,
        "--my-flag",
    )
    level = FlagSet("O2", ("--iree-opt-level=O2",))
    assert level.late_flags(["llvm-cpu"]) == level.flags
    assert not level.late_flags(["cuda"])


def test_sets_with_a_flag_that_is_given_are_left_out() -> None:
    sets = flag_sets("llvm-cpu", "", ["--iree-opt-data-tiling=false"])
    assert sets
    assert all("--iree-opt-data-tiling" not in each.flags for each in sets)


ATTENTION = {
    "attention as products",
    "attention as products, data tiling, im2col, unrolling",
}
CONVOLUTION = {"channels last, data tiling, unrolling", "channels last, unrolling"}


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("torch.aten.scaled_dot_product_attention; torch.aten.convolution", set()),
        ("torch.aten.scaled_dot_product_attention", CONVOLUTION),
        ('torch.operator "onnx.Conv"', ATTENTION),
        ("linalg.matmul", ATTENTION | CONVOLUTION),
        ("", set()),
    ],
)
def test_sets_that_cannot_apply_are_left_out(tmp_path: Path, text: str, missing: set[str]) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(text)
    names = {flag_set.name for flag_set in flag_sets("llvm-cpu", "", [])}
    applicable = {flag_set.name for flag_set in flag_sets("llvm-cpu", "", [], program=str(path))}
    assert names - applicable == missing


def test_a_file_has_one_set_a_line(tmp_path: Path) -> None:
    path = tmp_path / "sets"
    path.write_text("# sets\nfast: --iree-opt-level=O3 --a  # both\n\n--b=1 --c\n")
    assert flag_sets("any", str(path), []) == [
        FlagSet("fast", ("--iree-opt-level=O3", "--a")),
        FlagSet("--b=1 --c", ("--b=1", "--c")),
    ]
    path.write_text(
        "# first: the fast ones\nfast: --a  # since: 3.13\n--b  # why: c\nmy: set: '--c=d e'\n"
    )
    assert flag_sets("any", str(path), []) == [
        FlagSet("fast", ("--a",)),
        FlagSet("--b", ("--b",)),
        FlagSet("my: set", ("--c=d e",)),
    ]
    path.write_text("fast: --a\nslow -b\n")
    with pytest.raises(TuninglinkError, match=r"sets:2: not a set of flags"):
        flag_sets("any", str(path), [])
    with pytest.raises(TuninglinkError, match="cannot read"):
        flag_sets("any", str(tmp_path / "missing"), [])


def install(directory: Path, body: str) -> None:
    """Install a plug-in whose sets are those of a function."""
    (directory / "more_sets.py").write_text(
        f"from tuninglink.tuning.flag_sets import FlagSet\ndef sets(backend):\n    {body}\n"
    )
    metadata = directory / "more_sets-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: more-sets\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\nmore = more_sets:sets\n")


@pytest.fixture
def plug_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("more_sets", None)


def test_a_plug_in_adds_sets_for_a_backend(plug_ins: Path) -> None:
    install(plug_ins, "return [FlagSet('mine', ('--iree-mine',))] if backend == 'vmvx' else []")
    assert flag_sets("vmvx", "", ()) == [FlagSet("mine", ("--iree-mine",))]
    assert "mine" not in {flag_set.name for flag_set in flag_sets("llvm-cpu", "", ())}


def test_a_plug_in_that_fails_is_an_error_with_its_name(plug_ins: Path) -> None:
    install(plug_ins, "raise KeyError('no table')")
    with pytest.raises(TuninglinkError, match="plug-in 'more' cannot be used"):
        flag_sets("vmvx", "", ())


def test_a_line_with_an_open_quotation_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "sets"
    path.write_text('name: "--iree-opt-level=O2\n')
    with pytest.raises(TuninglinkError, match="sets:1: not a set of flags"):
        read_flag_sets(path)


def test_reports_name_no_file_of_forms() -> None:
    formed = FlagSet("padded", ("--iree-opt-data-tiling",), forms="module {}")
    assert plain(formed) == {"name": "padded", "flags": ["--iree-opt-data-tiling"]}
    assert plain(CHANNELS_LAST)["flags"] == list(CHANNELS_LAST.flags)
