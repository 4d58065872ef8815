"""Give a job a deadline: the forecast picks the cheapest scale-out that keeps it.

$ python -m examples.deadline
forecast for a deadline of 60 s, by the ...: ... workers of ... MB, ... s (95 % of runs: ... s), $...
it took ... s and would have cost $... on AWS; kept: True
"""

from __future__ import annotations

import bellwren
from examples.generated_text import text

DEADLINE_S = 60


def main() -> None:
    cloud = bellwren.connect()
    cloud.data_store.put("examples/text.txt", b"".join(text(2_000_000)))
    document = {
        "bellwren": 1,
        "algorithm": "wordcount",
        "input": {"lines": f"s3://{cloud.deployment.data_bucket}/examples/text.txt"},
        "deadline_s": DEADLINE_S,
    }

    forecast = cloud.forecast(document)  # nothing is started
    choice = forecast.choice
    print(
        f"forecast for a deadline of {DEADLINE_S} s, by the {forecast['source']}: {choice['workers']} workers of "
        f"{choice['memory_mb']} MB, {choice['runtime_s']:.1f} s (95 % of runs: {choice['runtime_p95_s']:.1f} s), "
        f"${choice['cost_usd']:.6f}"
    )

    job = cloud.submit(document)  # a job makes the same choice for itself
    job.result()
    took_s = job.record["runtime_s"]
    print(
        f"it took {took_s:.1f} s and would have cost ${job.cost_usd:.6f} on AWS; kept: {took_s < DEADLINE_S}"
    )


if __name__ == "__main__":
    main()
