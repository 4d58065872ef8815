"""What docs/scale.md says of a sort of 1 TB is what the code's own sizes and prices give."""

from __future__ import annotations

from pathlib import Path

from benchmarks.scale_model import VARIANTS, estimate, table

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "scale.md"


def test_the_table_of_the_document_is_the_models() -> None:
    assert table() in DOCUMENT.read_text("utf-8")


def test_requests_are_a_read_for_each_run_and_partition_and_little_more() -> None:
    for assumed in VARIANTS.values():
        found = estimate(assumed)
        pairs = found.runs * found.partitions
        assert pairs <= found.gets <= 1.1 * pairs
        assert found.puts <= 4 * (found.runs + found.partitions) + 8 * assumed.workers
