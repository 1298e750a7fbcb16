"""Benchmarks for tests of the device's side: small functions that work on the buffer themselves."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from compilations import run_compiler

from tuninglink.devices import Bytes, buffer_length, initial_bytes, patterns
from tuninglink.programs import Access, Benchmark, Binding, BufferLayout

COUNT: Final = 64
"""The elements of either binding."""

LAYOUT: Final = BufferLayout(
    (
        Binding(Access.READ, "f32", (8, 8), 256, 4 * COUNT),
        Binding(Access.WRITE, "f32", (8, 8), 1024, 4 * COUNT),
    ),
    stride=2048,
    guard=256,
)


def make_inputs(layout: BufferLayout, sets: int = 1, seed: int = 0) -> Bytes:
    """Return the content of a benchmark's buffer before it runs, as the host computes it."""
    whole = initial_bytes(layout, patterns(layout, seed), 0, buffer_length(layout))
    first, guard = whole[: layout.stride], whole[layout.stride :]
    return np.concatenate([np.tile(first, sets), guard])


DOUBLE: Final = """
  %v = hal.buffer.load<%buffer : !hal.buffer>[%source] : f32
  %w = arith.addf %v, %v : f32
  hal.buffer.store<%buffer : !hal.buffer>[%result] value(%w : f32)"""
"""Writes twice the input."""

SLOW_DOUBLE: Final = """
  %v = hal.buffer.load<%buffer : !hal.buffer>[%source] : f32
  %x = scf.for %again = %c0 to %c40 step %c4 iter_args(%carried = %v) -> f32 {
    %read = hal.buffer.load<%buffer : !hal.buffer>[%source] : f32
    %mean = arith.maximumf %read, %carried : f32
    scf.yield %mean : f32
  }
  %w = arith.addf %x, %x : f32
  hal.buffer.store<%buffer : !hal.buffer>[%result] value(%w : f32)"""
"""Writes twice the input, and takes several times as long."""

VERY_SLOW_DOUBLE: Final = """
  %v = hal.buffer.load<%buffer : !hal.buffer>[%source] : f32
  %c100k = arith.constant 100000 : index
  %x = scf.for %again = %c0 to %c100k step %c4 iter_args(%carried = %v) -> f32 {
    %read = hal.buffer.load<%buffer : !hal.buffer>[%source] : f32
    %mean = arith.maximumf %read, %carried : f32
    scf.yield %mean : f32
  }
  %w = arith.addf %x, %x : f32
  hal.buffer.store<%buffer : !hal.buffer>[%result] value(%w : f32)"""
"""Writes twice the input, and takes a thousand times as long."""

WRONG: Final = """
  %v = hal.buffer.load<%buffer : !hal.buffer>[%source] : f32
  %third = arith.constant 3.0 : f32
  %w = arith.mulf %v, %third : f32
  hal.buffer.store<%buffer : !hal.buffer>[%result] value(%w : f32)"""
"""Writes three times the input."""

OVERRUN: Final = f"""{DOUBLE}
  %beyond = arith.addi %result, %c4 : index
  hal.buffer.store<%buffer : !hal.buffer>[%beyond] value(%w : f32)"""
"""Writes one element too many."""

READ_BEYOND: Final = """
  %v = hal.buffer.load<%buffer : !hal.buffer>[%source] : f32
  %beyond = arith.addi %source, %c4 : index
  %next = hal.buffer.load<%buffer : !hal.buffer>[%beyond] : f32
  %times = arith.constant 1.0e-30 : f32
  %nothing = arith.mulf %next, %times : f32
  %twice = arith.addf %v, %v : f32
  %w = arith.addf %twice, %nothing : f32
  hal.buffer.store<%buffer : !hal.buffer>[%result] value(%w : f32)"""
"""Reads one element too many, and multiplies it by nearly zero: the VM folds a product with zero."""

HANG: Final = """
  cf.br ^again
^again:
  %v = hal.buffer.load<%buffer : !hal.buffer>[%c0] : f32
  hal.buffer.store<%buffer : !hal.buffer>[%c0] value(%v : f32)
  cf.br ^again"""
"""Never ends."""

FAULT: Final = """
  %far = arith.constant 1000000000 : index
  %v = hal.buffer.load<%buffer : !hal.buffer>[%far] : f32
  hal.buffer.store<%buffer : !hal.buffer>[%c0] value(%v : f32)
  util.return %buffer : !hal.buffer"""
"""Is refused by the runtime."""


def benchmark(element: str) -> Benchmark:
    """Return a benchmark whose iterations run `element` for each element of the input."""
    return Benchmark(
        compiled(f"""
    scf.for %iteration = %zero to %batch step %one : i32 {{
      %set = arith.remui %iteration, %sets : i32
      %offset = arith.muli %set, %stride : i32
      %base = arith.index_cast %offset : i32 to index
      scf.for %at = %c0 to %bytes step %c4 {{
        %place = arith.addi %base, %at : index
        %source = arith.addi %place, %input : index
        %result = arith.addi %place, %output : index
        {element}
      }}
    }}
    util.return %buffer : !hal.buffer"""),
        "benchmark",
        LAYOUT,
    )


def straight(body: str) -> Benchmark:
    """Return a benchmark with this body, for any batch."""
    return Benchmark(compiled(body), "benchmark", LAYOUT)


@cache
def compiled(body: str) -> bytes:
    """Return the module of a function with this body."""
    source, result = LAYOUT.bindings
    text = f"""
util.func public @benchmark(%buffer: !hal.buffer, %sets: i32, %stride: i32, %batch: i32) -> !hal.buffer {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c40 = arith.constant 40 : index
  %bytes = arith.constant {source.byte_length} : index
  %input = arith.constant {source.offset} : index
  %output = arith.constant {result.offset} : index
  {body}
}}"""
    return compile_program(text, "--compile-mode=vm")


def compile_program(text: str, *flags: str) -> bytes:
    """Return the module that `iree-compile` makes of a program."""
    answer = run_compiler("iree-compile", (*flags, "-", "-o", "-"), text.encode())
    assert answer.code == 0, answer.errors.decode()
    return answer.output
