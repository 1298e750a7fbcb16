"""Boxes of sizes: each measured combination has one, and together they leave out no size."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tuninglink.iree import UNBOUNDED, SizeRange, sizes_between
from tuninglink.programs import BufferLayout, SizedFunction, box_above, boxes_around

LAYOUT = BufferLayout((), 0, 0)


def functions(*sizes: tuple[int | None, ...]) -> list[SizedFunction]:
    return [SizedFunction(str(each), LAYOUT, loops=each) for each in sizes]


def test_ranges_end_between_sizes_and_one_stands_alone() -> None:
    boxes = boxes_around(functions((1, 96), (8, 96), (64, 96), (512, 96)), [0])
    assert [str(box[0]) for box in boxes] == ["1", "2..22", "23..181", "182.."]


def test_a_range_may_need_several_sizes() -> None:
    boxes = boxes_around(functions((1,), (2,), (8,), (64,)), [0], 2)
    assert [str(box[0]) for box in boxes] == ["1..2", "3..22", "23.."]


def test_a_single_size_has_all_sizes() -> None:
    assert boxes_around(functions((64,)), [0]) == [{0: SizeRange(1, UNBOUNDED)}]
    assert boxes_around(functions((1,)), [0]) == [{0: SizeRange(1, 1)}]


def test_combinations_have_boxes() -> None:
    boxes = boxes_around(functions((4, 7, 16), (4, 7, 64), (16, 7, 16)), [0, 2])
    assert [(str(box[0]), str(box[2])) for box in boxes] == [
        ("1..8", "1..32"),
        ("1..8", "33.."),
        ("9..", "1..32"),
    ]


def test_sizes_between_are_the_low_ends_of_ranges_and_their_middles() -> None:
    assert sizes_between([1, 8, 64, 512]) == [2, 4, 23, 38, 182, 305]
    assert sizes_between([64]) == [1, 8]
    assert sizes_between([1, 2]) == []


def test_a_box_begins_above_a_size_that_is_slow() -> None:
    timed = functions((2, 96), (4, 96), (8, 96))
    box = {0: SizeRange(2, 22)}
    assert box_above(box, timed[0], timed) == {0: SizeRange(4, 22)}
    assert box_above(box, timed[1], timed) == {0: SizeRange(8, 22)}


def test_an_unknown_size_has_no_boxes() -> None:
    assert boxes_around(functions((4,), (None,)), [0]) == []


@given(st.sets(st.integers(1, 4096), min_size=1, max_size=6), st.integers(1, 8192))
def test_one_box_holds_a_size(sizes: set[int], other: int) -> None:
    boxes = boxes_around(functions(*((size,) for size in sizes)), [0])
    for size in sizes:
        assert sum(size in box[0] for box in boxes) == 1
    assert sum(other in box[0] for box in boxes) == (0 if sizes == {1} and other > 1 else 1)


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        (SizeRange(3, 3), "3"),
        (SizeRange(2, 22), "2..22"),
        (SizeRange(16, UNBOUNDED, 16), "16.. by 16"),
    ],
)
def test_ranges_in_words(sizes: SizeRange, text: str) -> None:
    assert str(sizes) == text
