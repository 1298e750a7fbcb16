"""Kernels of the shipped libraries, read back from their specs."""

from __future__ import annotations

import pytest

from tuninglink.iree import Target
from tuninglink.kernels import KernelCall, shipped_kernels
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
