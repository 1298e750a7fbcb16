"""`tuninglink-opt` on a tiny file against `iree-opt`: what starting costs.

The first row only parses and prints; the others run a pass of the compiler, and one written in Python.
`iree-opt` is the command that the compiler's wheel installs, which starts Python as well.
"""

from __future__ import annotations

from measure import compare, describe_machine, parse_runs, report, scratch, tool

TINY = """func.func @f(%a: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %sum = arith.addi %a, %zero : i32
  return %sum : i32
}
"""
ROWS = (
    ("parse and print", [], []),
    ("--canonicalize", ["--canonicalize"], ["--canonicalize"]),
    (
        "--tuninglink-strip-configs against --iree-codegen-strip-compilation-info",
        ["--tuninglink-strip-configs"],
        ["--iree-codegen-strip-compilation-info"],
    ),
)


def main() -> None:
    """Run the benchmark."""
    runs = max(parse_runs(__doc__ or ""), 11)
    describe_machine()
    with scratch() as folder:
        path = folder / "tiny.mlir"
        path.write_text(TINY)
        for what, ours, theirs in ROWS:
            figures = compare(
                [tool("tuninglink-opt"), str(path), *ours],
                [tool("iree-opt"), str(path), *theirs],
                runs,
            )
            report(what, *figures)


if __name__ == "__main__":
    main()
