"""Pieces of a task: kept, read back, joined."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bellwren.engine.progressed import MAX_REPORTED_FAILURES, Progressed, chain

cuts = st.lists(st.integers(1, 99), unique=True, max_size=8).map(lambda inner: [0, *sorted(inner), 100])


def piece(start: int, stop: int, *, last: bool) -> Progressed:
    made = Progressed(start, stop, [f"<{start}-{stop}>".encode()], stop - start, complete=last)
    made.add_failures([{"index": start, "type": "E", "message": ""}])
    made.log.write(f"log {start}\n".encode())
    return made


@given(cuts, st.randoms(use_true_random=False), st.data())
def test_pieces_in_any_order_join_to_the_whole(edges: list[int], dice: object, data: st.DataObject) -> None:
    pieces = [piece(a, b, last=b == 100) for a, b in pairwise(edges)]
    shuffled = data.draw(st.permutations([Progressed.from_bytes(one.as_bytes()) for one in pieces]))
    whole, later = chain(shuffled)
    assert whole.complete
    assert not later
    assert b"".join(whole.parts) == b"".join(b"".join(one.parts) for one in pieces)
    assert (whole.count, whole.failed, whole.consumed) == (100, len(pieces), 100)
    assert whole.log.text() == b"".join(one.log.text() for one in pieces)


@given(cuts, st.data())
def test_a_missing_piece_leaves_a_gap_and_what_lies_behind_it(edges: list[int], data: st.DataObject) -> None:
    spans = list(pairwise(edges))
    gone = data.draw(st.integers(0, len(spans) - 1))
    pieces = [piece(a, b, last=b == 100) for number, (a, b) in enumerate(spans) if number != gone]
    whole, later = chain(pieces)
    assert not whole.complete
    assert whole.consumed == spans[gone][0]
    assert [one.start for one in later] == [a for a, _ in spans[gone + 1 :]]


def test_a_longer_piece_of_another_worker_serves_as_well() -> None:
    whole, _ = chain([piece(0, 4, last=False), piece(2, 9, last=False), piece(4, 100, last=True)])
    assert whole.complete
    assert b"".join(whole.parts) == b"<0-4><4-100>"


def test_a_shuffle_object_survives_the_round_trip() -> None:
    kept = Progressed(0, 7, count=7, shuffled=b"object")
    back, _ = chain([Progressed.from_bytes(kept.as_bytes())])
    assert (back.shuffled, back.consumed, back.complete) == (b"object", 7, False)


def test_failures_are_all_counted_but_not_all_reported() -> None:
    many = Progressed()
    many.add_failures({"index": x, "exception": "x"} for x in range(MAX_REPORTED_FAILURES + 50))
    assert many.failed == MAX_REPORTED_FAILURES + 50
    assert len(many.failures) == MAX_REPORTED_FAILURES
    assert [x for x, one in enumerate(many.failures) if "exception" in one] == [0]
