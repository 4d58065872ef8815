"""PageRank from a document with no code, on a real graph and on small ones that have gone wrong elsewhere.

Reported faults: H01 is the graph "sink" (rank leaks without links), H02 "chain" (node 4 gets no message, and sends on).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.harness import Engine, Outcome

EDGES = {
    "chain": [(0, 1), (1, 2), (2, 3), (4, 3)],
    "sink": [(0, 1), (0, 2), (1, 2)],
    "loop": [(0, 0), (0, 1)],
}


def ranks(engine: Engine, text: bytes, workers: int = 2, **params: Any) -> tuple[dict[str, float], Outcome]:
    key = f"graphs/{len(text)}-{workers}.txt"
    engine.data.put(key, text)
    document = {
        "bellwren": 1,
        "algorithm": "pagerank",
        "input": {"lines": f"s3://{engine.buckets['data']}/{key}"},
        "workers": workers,
        "partitions": workers,
        "params": params,
    }
    outcome = engine.run(document)
    return {node: rank for part in outcome.result() for node, rank in part.items()}, outcome


def plain(edges: list[tuple[int, int]], rounds: int) -> dict[str, float]:
    """The same by the book, in one process."""
    nodes = sorted({node for edge in edges for node in edge})
    rank = dict.fromkeys(nodes, 1 / len(nodes))
    links = {node: {b for a, b in edges if a == node} for node in nodes}
    for _ in range(rounds):
        dangling = sum(rank[node] for node in nodes if not links[node])
        after = dict.fromkeys(nodes, 0.15 / len(nodes) + 0.85 * dangling / len(nodes))
        for node in nodes:
            for target in links[node]:
                after[target] += 0.85 * rank[node] / len(links[node])
        rank = after
    return {str(node): rank[node] for node in nodes}


@pytest.mark.parametrize("name", EDGES)
def test_ranks_are_those_of_the_textbook_and_their_sum_is_one(engine: Engine, name: str) -> None:
    text = "".join(f"{a}\t{b}\n" for a, b in EDGES[name] * 2).encode()
    found, _ = ranks(engine, text, iterations=40, tolerance=0)
    assert found == pytest.approx(plain(EDGES[name], 40), abs=1e-12)
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)


def test_rank_that_follows_no_link_goes_where_the_personalisation_says(engine: Engine) -> None:
    networkx = pytest.importorskip("networkx")
    edges = [(a, (a * 7 + b) % 30) for a in range(24) for b in range(1, 4)]
    text = "".join(f"{a} {b}\n" for a, b in edges).encode()
    weights = {"3": 2.0, "29": 1.0, "11": 0.0}
    found, _ = ranks(engine, text, workers=3, iterations=200, tolerance=1e-12, personalisation=weights)
    graph = networkx.DiGraph((str(a), str(b)) for a, b in edges)
    assert found == pytest.approx(
        networkx.pagerank(graph, tol=1e-13, max_iter=500, personalization=weights), abs=1e-9
    )
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)


def test_a_personalisation_that_names_no_node_of_the_graph_is_told(engine: Engine) -> None:
    with pytest.raises(AssertionError, match="personalisation names 'zebra', and no edge does"):
        ranks(engine, b"1 2\n2 1\n", personalisation={"1": 1, "zebra": 2})


def test_the_ranks_of_wiki_vote_are_the_known_ones(engine: Engine, shared_data: Path) -> None:
    expected = json.loads((shared_data / "answers.json").read_text())["graph/wiki-vote.txt"]
    found, outcome = ranks(engine, (shared_data / "graph" / "wiki-vote.txt").read_bytes(), workers=4)
    assert len(found) == expected["nodes"]
    assert sum(found.values()) == pytest.approx(1, abs=1e-9)
    top = sorted(found.items(), key=lambda one: -one[1])[:5]
    assert [int(node) for node, _ in top] == [node for node, _ in expected["pagerank_top5"]]
    assert [rank for _, rank in top] == pytest.approx(
        [rank for _, rank in expected["pagerank_top5"]], abs=1e-6
    )
    assert outcome.status["ended"] == "halted"
    changes = [
        one["aggregates"]["change"] for one in outcome.record["history"] if "change" in one["aggregates"]
    ]
    assert changes == sorted(changes, reverse=True)
    assert changes[-1] < 1e-8


def test_a_line_that_is_no_edge_is_named(engine: Engine) -> None:
    engine.data.put("graphs/bad.txt", b"1 2\n3\n")
    document = {
        "bellwren": 1,
        "algorithm": "pagerank",
        "input": {"lines": f"s3://{engine.buckets['data']}/graphs/bad.txt"},
    }
    outcome = engine.run(document)
    assert "an edge has two columns, source and target; found '3'" in outcome.status["error"]["message"]
