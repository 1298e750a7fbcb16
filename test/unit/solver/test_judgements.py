"""Judgements of assignments."""

from __future__ import annotations

import sys
import threading

from tuninglink.solver import Judgements, unknown


def test_threads_that_name_the_unknowns_in_different_orders_get_the_same_verdict() -> None:
    x, y = unknown("x"), unknown("y")
    values = {"x": 1, "y": 2}
    terms = [(x < y).term, *((x + place <= y + place).term for place in range(30))]
    found = []

    def judge(judgements: Judgements, names: str, start: threading.Barrier) -> None:
        start.wait()
        found.extend(judgements.judge({name: values[name] for name in names}) for _ in range(3))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            judgements, start = Judgements(terms), threading.Barrier(4)
            # The next judgement compiles the terms.
            found.extend(judgements.judge(values) for _ in range(8))
            threads = [
                threading.Thread(target=judge, args=(judgements, names, start))
                for names in ("xy", "yx", "xy", "yx")
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(found) == 20 * (8 + 4 * 3)
    assert all(each == ([], []) for each in found)
