"""Data in, data through, on a real deployment: the examples of the docs, and documents with no Python client."""

from __future__ import annotations

import doctest
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

import bellwren
from bellwren import Cloud
from tests.e2e import jobs
from tests.e2e.test_jobs import unique

DOCS = Path(bellwren.__file__).parent.parent / "docs"


def test_the_examples_of_the_docs_give_what_they_say(cloud: Cloud) -> None:
    text = (DOCS / "data.md").read_text("utf-8")
    # A fence would pass for the end of what an example prints.
    examples = "\n".join("" if line.startswith("```") else line for line in text.splitlines())
    for entry in cloud.data_store.list("guide/"):
        cloud.data_store.delete([entry.key])
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    found = doctest.DocTestParser().get_doctest(examples, {}, "docs/data.md", None, 0)
    result = doctest.DocTestRunner(optionflags=flags).run(found)
    assert result.attempted > 20
    assert result.failed == 0


CODE = """
def city(record):
    if isinstance(record, dict):
        record = record["city"]
    if isinstance(record, tuple):
        record = record[1]
    if isinstance(record, bytes):
        record = record.decode()
    yield record.strip(), 1

def total(city, counts):
    return sum(counts)
"""
CITIES = ["Oslo", "Bergen", "Oslo", "Tromso", "Oslo"]


def inputs(cloud: Cloud, folder: str) -> dict[str, dict[str, Any]]:
    """The cities as every kind of input, as a document names it."""
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    table = io.BytesIO()
    parquet.write_table(arrow.table({"n": range(5), "city": CITIES}), table, row_group_size=2)
    files = {
        "lines": "\n".join(CITIES).encode(),
        "gz": gzip.compress("\n".join(CITIES).encode()),
        "csv": b"n,city\n" + b"".join(b'%d,"%s"\n' % (n, city.encode()) for n, city in enumerate(CITIES)),
        "parquet": table.getvalue(),
        "blocks": b"".join(city.encode().ljust(8) for city in CITIES),
        **{f"objects/{n}": city.encode() for n, city in enumerate(CITIES)},
    }
    for name, data in files.items():
        cloud.data_store.put(f"{folder}/{name}", data)
    uri = f"s3://{cloud.deployment.data_bucket}/{folder}"
    return {
        "lines": {"lines": f"{uri}/lines", "chunk": 6},
        "gz": {"lines": f"{uri}/gz"},
        "csv": {"csv": f"{uri}/csv", "chunk": 10},
        "parquet": {"parquet": f"{uri}/parquet", "chunk": 1, "columns": ["city"]},
        "blocks": {"blocks": f"{uri}/blocks", "chunk": 8},
        "objects": {"objects": f"{uri}/objects/"},
    }


def test_documents_group_every_kind_of_input_alike(deployment: Any, cloud: Cloud) -> None:
    """All at once, each with a zip of code and no client."""
    document = {
        "bellwren": 1,
        "kind": "map_reduce",
        "code": jobs.upload_code(cloud, cities=CODE),
        "map": "cities:city",
        "reduce": "cities:total",
        "combine": "cities:total",
        "workers": 1,
    }
    sources = inputs(cloud, unique("cities"))
    names = {kind: unique(kind) for kind in sources}
    for kind, name in names.items():
        jobs.start(deployment, {"spec": {**document, "input": sources[kind]}}, name)
    for kind, name in names.items():
        assert jobs.ended(cloud, name)["status"] == "SUCCEEDED", kind
        found = {line["key"]: line["value"] for line in jobs.lines_of(cloud.job(name))}
        assert found == {"Oslo": 3, "Bergen": 1, "Tromso": 1}, kind


def test_a_dropped_document_sorts_records_and_another_checks_them(deployment: Any, cloud: Cloud) -> None:
    folder, bucket = unique("records"), cloud.deployment.data_bucket
    records = [b"%02d-%07d" % (n * 37 % 50, n) for n in range(2_000)]
    cloud.data_store.put(f"{folder}/in/a", b"".join(records[:500]))
    cloud.data_store.put(f"{folder}/in/b", b"".join(records[500:]))
    params = {"record_bytes": 10, "key_bytes": 2}
    sort = {
        "bellwren": 1,
        "algorithm": "sort",
        "input": {"blocks": f"s3://{bucket}/{folder}/in/", "chunk": 10},
        "params": params,
        "output": {"uri": f"s3://{bucket}/{folder}/out/"},
        "workers": 2,
    }
    jobs.drop(deployment, f"specs/{folder}.json", json.dumps(sort).encode())
    status = jobs.ended(cloud, jobs.became(cloud, f"specs/{folder}.json"))
    assert status["status"] == "SUCCEEDED", status["error"]
    parts = [cloud.data_store.get(entry.key) for entry in cloud.data_store.list(f"{folder}/out/")]
    assert b"".join(parts) == b"".join(sorted(records, key=lambda record: record[:2]))
    valsort = {"bellwren": 1, "algorithm": "valsort", "params": params, "workers": 1}
    before, after = (
        cloud.submit(
            {**valsort, "input": {"blocks": f"s3://{bucket}/{folder}/{place}/", "chunk": 10}}, progress=False
        ).result()["valsort"]
        for place in ("in", "out")
    )
    assert (before["sorted"], after["sorted"]) == (False, True)
    assert (before["records"], before["checksum"]) == (after["records"], after["checksum"])
    assert after["duplicates"] == 1_950
