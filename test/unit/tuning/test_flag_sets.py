"""The sets of compiler flags that are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tuninglink.errors import TuninglinkError
from tuninglink.tuning.flag_sets.sets import FlagSet, flag_sets

if TYPE_CHECKING:
    from pathlib import Path


def test_each_backend_has_a_list_and_none_turns_it_off() -> None:
    assert flag_sets("llvm-cpu", "", [])
    assert flag_sets("cuda", "", [])
    assert not flag_sets("vmvx", "", [])
    assert not flag_sets("llvm-cpu", "none", [])


def test_sets_with_a_flag_that_is_given_are_left_out() -> None:
    sets = flag_sets("llvm-cpu", "", ["--iree-opt-data-tiling=false"])
    assert sets
    assert all("--iree-opt-data-tiling" not in each.flags for each in sets)


def test_sets_for_attention_are_left_out_of_programs_without_one(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    names = {each.name for each in flag_sets("llvm-cpu", "", [])}
    path.write_text("%0 = torch.aten.scaled_dot_product_attention %q, %k, %v")
    assert {each.name for each in flag_sets("llvm-cpu", "", [], program=str(path))} == names
    path.write_text("%0 = linalg.matmul")
    without = {each.name for each in flag_sets("llvm-cpu", "", [], program=str(path))}
    assert names - without == {
        "attention as products",
        "attention as products, data tiling, im2col, unrolling",
    }
    path.write_text("")
    assert {each.name for each in flag_sets("llvm-cpu", "", [], program=str(path))} == names


def test_a_file_has_one_set_a_line(tmp_path: Path) -> None:
    path = tmp_path / "sets"
    path.write_text("# sets\nfast: --iree-opt-level=O3 --a  # both\n\n--b=1 --c\n")
    assert flag_sets("any", str(path), []) == [
        FlagSet("fast", ("--iree-opt-level=O3", "--a")),
        FlagSet("--b=1 --c", ("--b=1", "--c")),
    ]
    path.write_text("fast: --a\nslow -b\n")
    with pytest.raises(TuninglinkError, match=r"sets:2: not a set of flags"):
        flag_sets("any", str(path), [])
    with pytest.raises(TuninglinkError, match="cannot read"):
        flag_sets("any", str(tmp_path / "missing"), [])
