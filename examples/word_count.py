"""Count the words of every object below a prefix, with functions of one's own.

$ python -m examples.word_count
the        9
it         8
of         8
was        8
we         4
"""

from __future__ import annotations

from collections.abc import Iterable

import bellwren

TEXTS = {
    "1.txt": "It was the best of times, it was the worst of times,\nit was the age of wisdom, it was the age of"
    " foolishness,\nit was the epoch of belief, it was the epoch of incredulity,\n",
    "2.txt": "it was the season of Light, it was the season of Darkness,\nwe had everything before us, we had"
    " nothing before us,\nwe were all going direct to Heaven, we were all going direct the other way\n",
}


def words(line: str) -> list[tuple[str, int]]:
    """A line's words, each counted once."""
    return [(word.strip(",").lower(), 1) for word in line.split()]


def total(word: str, counts: Iterable[int]) -> int:
    """How often a word occurs. It combines too: what one chunk counted travels as one number for each word."""
    return sum(counts)


def main() -> None:
    cloud = bellwren.connect()
    for name, text in TEXTS.items():
        cloud.data_store.put(f"examples/dickens/{name}", text.encode())

    books = bellwren.lines(f"s3://{cloud.deployment.data_bucket}/examples/dickens/")
    counts = cloud.map_reduce(words, books, total, combine=total).result()

    for word in sorted(counts, key=lambda word: (-counts[word], word))[:5]:
        print(f"{word:<8} {counts[word]:>3}")


if __name__ == "__main__":
    main()
