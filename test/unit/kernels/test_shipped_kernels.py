"""Kernels read back from specs: those of the shipped libraries, and the summary of those of a spec."""

from __future__ import annotations

import re

import pytest

from tuninglink.iree import Target
from tuninglink.kernels import KernelCall, kernels_summary, load_kernels, shipped_kernels
from tuninglink.replacing import spec
from tuninglink.specs import library_files, load_spec


def functions(content: str | bytes) -> set[str]:
    """Return the names of the functions of a spec, which have digests of what they do."""
    text = content if isinstance(content, bytes) else content.encode()
    return {entry.function for entry in load_spec(text).replace_entries}


def test_kernels_are_read_as_they_were_made() -> None:
    # Those of CLIP have scratch memory, that of ViT's attention reads a mask.
    kernels = shipped_kernels(Target.parse("h200"))
    made = spec([KernelCall(problem, kernel) for problem, kernel in kernels.items()])
    for name in ("clip_image", "vit"):
        (file,) = library_files(f"kernels-sm90a/{name}")
        assert functions(file.content) <= functions(made)


@pytest.mark.parametrize("target", ["a100", "mi300x", "x86_64"])
def test_other_machines_have_none(target: str) -> None:
    assert not shipped_kernels(Target.parse(target))


def test_a_summary_has_a_time_where_the_driver_loads_all_kernels() -> None:
    (file,) = library_files("kernels-sm90a/vit")
    text = file.content.decode()
    plain = kernels_summary(text, ["hip"])
    found = re.fullmatch(r"kernels: (\d+), (\d+) KiB", plain)
    assert found
    assert int(found[1]) == text.count(".visible .entry")
    assert 0.5 < int(found[2]) * 1024 / len(text) < 1
    # This machine may have the driver and the GPU.
    time = r"(; the driver compiles them in \d+\.\d s at first load)?"
    assert re.fullmatch(re.escape(plain) + time, kernels_summary(text, ["cuda://0"]))
    assert load_kernels([("add", b"no PTX")], 0) is None
    assert not kernels_summary("module {}")
