"""Spellings that are written out for entries: their number, for entries of which some are rare."""

from __future__ import annotations

import re

from problem_forms import BATCH_KN, TARGETS, convolution_entry, linear_entry, spec

from tuninglink.matching import derived_specs
from tuninglink.mlir import thread_context
from tuninglink.specs import load_spec

TARGET = TARGETS["gfx942"]
ENTRY = convolution_entry("conv", TARGET, image="1x1x1x32")
PIXEL = ENTRY.replace("[14, 16]", "[1, 1]").replace("[3, 3]", "[1, 1]")
"""A convolution of one pixel, which is a product of a row."""


def expanded(entry: str) -> int:
    content = spec(entry)
    return len(list(derived_specs(load_spec(content, name="forms", context=thread_context()))))


def test_a_batch_of_1_is_removed() -> None:
    configuration = re.sub(r"(reduction|subgroup|workgroup) = \[", r"\1 = [0, ", TARGET.linear)
    assert expanded(linear_entry("batched", BATCH_KN, TARGET, configuration)) == 1


def test_a_convolution_of_one_pixel_is_written_without_its_batch() -> None:
    assert PIXEL != ENTRY
    assert expanded(PIXEL) == 1


def test_nothing_is_derived_from_an_image_of_another_rank() -> None:
    assert expanded(ENTRY.replace("tensor<1x1x1x32xf16>", "tensor<1x32xf16>")) == 0


def test_nothing_is_derived_from_sizes_that_contradict_each_other() -> None:
    assert expanded(PIXEL.replace("tensor<1x1x1x32xf16>", "tensor<1x1x1x64xf16>")) == 0
