"""Finding the item that takes its worker down: pure rules."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bellwren.engine.trail import Note, block_width


def lives_until_found(culprit: int, positions: int, retries: int) -> tuple[int, Note]:
    """Play worker after worker, each dying at the culprit, until the notes leave it out."""
    note, lives = Note(round=0), 0
    while note.losses.get(culprit, 0) <= retries:
        lives += 1
        note = Note.from_json(note.as_json())
        note.judge()
        if note.losses.get(culprit, 0) > retries:
            break
        position, width = 0, 0
        while position < positions:
            width = block_width(position, width, 0.0, note.suspect)
            note.start, note.stop = position, position + width
            if position <= culprit < position + width:
                break
            position += width
        assert lives < 100
    return lives, note


@given(
    st.integers(0, 100_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n + 1))), st.integers(0, 3)
)
def test_the_culprit_is_found_and_nobody_else_is_blamed(where: tuple[int, int], retries: int) -> None:
    culprit, positions = where
    lives, note = lives_until_found(culprit, positions, retries)
    assert set(note.losses) == {culprit}
    # One that finds a block of at most 2^17, eighths of it, one life for each try, and the last that leaves it out.
    assert lives <= 6 + retries + 2


@given(
    st.integers(0, 1000),
    st.integers(0, 500),
    st.floats(0, 10),
    st.none() | st.tuples(st.integers(0, 1000), st.integers(1, 500)),
)
def test_a_block_is_never_empty_and_never_mixes_suspects_with_others(
    position: int, last: int, took_s: float, suspect: tuple[int, int] | None
) -> None:
    among = (suspect[0], suspect[0] + suspect[1]) if suspect else None
    width = block_width(position, last, took_s, among)
    assert width >= 1
    if among:
        inside = [among[0] <= one < among[1] for one in (position, position + width - 1)]
        assert inside[0] == inside[1]


def test_slow_positions_are_noted_one_by_one() -> None:
    width = 64
    for _ in range(10):
        width = block_width(0, width, 1.0, None)
    assert width == 1


def test_an_orderly_end_blames_nobody() -> None:
    note = Note(round=0, losses={3: 1})
    note.judge()
    assert note == Note(round=0, losses={3: 1})
