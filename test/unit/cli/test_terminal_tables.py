"""Tables of plain characters look like all others."""

from __future__ import annotations

import io

from hypothesis import given, strategies as st

from tuninglink.cli.terminal import render_table

CELLS = st.text("ab <[/]>=.-")
COLUMNS = ("line", "matches", "entry")


@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=5), title=st.sampled_from(["", "t"]))
def test_a_special_character_changes_its_row_only(
    rows: list[tuple[str, str, str]], title: str
) -> None:
    plain = render_table(COLUMNS, [*rows, ("e", "", "")], title, io.StringIO())
    special = render_table(COLUMNS, [*rows, ("é", "", "")], title, io.StringIO())
    assert plain.splitlines()[:-1] == special.splitlines()[:-1]
