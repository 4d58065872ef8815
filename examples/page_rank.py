"""Rank the pages of a small web (the one in Wikipedia's article on PageRank), with a built-in algorithm: no code.

$ python -m examples.page_rank
B 38.4 %
C 34.3 %
E  8.1 %
D  3.9 %
F  3.9 %
A  3.3 %
G  1.6 %
H  1.6 %
I  1.6 %
J  1.6 %
K  1.6 %
"""

from __future__ import annotations

import bellwren

# A links nowhere; B and C to each other; everybody else to B, some to others too.
EDGES = "B C, C B, D A, D B, E B, E D, E F, F B, F E, G B, G E, H B, H E, I B, I E, J E, K E"


def main() -> None:
    cloud = bellwren.connect()
    cloud.data_store.put("examples/web.txt", EDGES.replace(", ", "\n").encode())

    job = cloud.submit(
        {
            "bellwren": 1,
            "algorithm": "pagerank",
            "input": {"lines": f"s3://{cloud.deployment.data_bucket}/examples/web.txt"},
            "params": {"damping": 0.85, "iterations": 100},
        }
    )
    # Each partition of the graph gives the ranks of its own pages.
    ranks = {page: rank for part in job.result() for page, rank in part.items()}
    for page in sorted(ranks, key=lambda page: (-round(ranks[page], 6), page)):
        print(f"{page} {ranks[page]:>5.1%}".replace("%", " %"))


if __name__ == "__main__":
    main()
