"""Stack frames of compiled code."""

from __future__ import annotations

from stack_programs import overflow_of, overflowing, report_frames
from tuning_programs import matmul

from tuninglink.workers import Pool


def test_code_that_overflows_the_stack_of_a_worker_is_known_once_it_is_compiled() -> None:
    programs = (overflowing(), matmul(64, 64, 64), overflowing())
    with Pool(1, report_frames) as pool:
        reasons = [pool.submit(overflow_of, each).result() for each in programs]
    expected = "its code takes 191 KiB of stack, and IREE's workers have 128 KiB"
    assert reasons == [expected, "", expected]
