"""Word count: counting a whole text at once is counting its lines."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.algorithms import wordcount
from bellwren.algorithms.functions import load_builtin

texts = st.lists(st.sampled_from(["a", "B", "longer", "\n", " ", "\r\n", "é", "-", "1"]), max_size=60).map(
    "".join
)


@given(texts, st.integers(1, 9), st.booleans())
def test_a_text_counted_in_pieces_of_any_size_has_the_words_of_its_lines(
    text: str, size: int, lower: bool
) -> None:
    functions = load_builtin("wordcount", {"lower": lower})
    assert functions.map is not None
    assert functions.count_text is not None
    expected: Counter[str] = Counter()
    for line in text.split("\n"):
        expected.update(dict(functions.map(line)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wordcount, "_PIECE_BYTES", size)
        assert functions.count_text(text.encode()) == expected
