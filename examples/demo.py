"""The main job, end to end: deploy on the local cloud, drop a job document into S3, watch it become word counts; and
what is learned from it.

make demo
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from bellwren import Cloud, Job, connect, local
from examples import learning_demo
from examples.generated_text import text

TEXT_BYTES = 20_000_000
OBJECTS = 4
PREFIX = "demo/text/"
DOCUMENT = "specs/demo word count.json"


def main() -> None:
    """Run the demonstration."""
    began = time.monotonic()
    say("The local cloud: an AWS emulator on this machine, and a real `cdk deploy` onto it")
    place = local.start(report=lambda what: print(f"  {what} ...", file=sys.stderr))
    cloud = connect("local")
    print(f"  running at {place.endpoint}, stage {place.stage!r} ({time.monotonic() - began:.1f} s)")

    say(
        f"The input: {TEXT_BYTES // 1_000_000} MB of generated text in s3://{cloud.deployment.data_bucket}/{PREFIX}"
    )
    upload_text(cloud)

    document = {
        "bellwren": 1,
        "name": "demo word count",
        "algorithm": "wordcount",
        "input": {"lines": f"s3://{cloud.deployment.data_bucket}/{PREFIX}"},
        "workers": 2,
    }
    say(f"The job: this document, dropped at s3://{cloud.deployment.jobs_bucket}/{DOCUMENT}")
    print("  " + json.dumps(document, indent=1).replace("\n", "\n  "))
    job = drop(cloud, document)
    job.wait()
    counts = job.result()

    say("The result")
    for word, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:10]:
        print(f"  {word:<8} {count:>9,}")
    print(f"  {sum(counts.values()):,} words, {len(counts):,} different")
    say("What it took")
    for line in account(job):
        print("  " + line)
    learn(cloud)
    say("Where everything lies")
    for line in places(cloud, job):
        print("  " + line)
    say("What to try next")
    for line in further(job):
        print("  " + line)
    print(
        f"\n{time.monotonic() - began:.1f} s in all. `bellwren local stop` ends the local cloud; it keeps its data."
    )


def say(title: str) -> None:
    """A heading."""
    print(f"\n{title}", flush=True)


def learn(cloud: Cloud) -> None:
    """Show the learning loop: runs, records, a training, and forecasts that know better."""
    algorithm = f"demo-{time.time():.0f}"  # of its own, so that each demonstration begins with nothing
    say("The learning loop: every run writes a record; records become the model that forecasts the next run")
    print(
        f"  running a function that takes {learning_demo.ANSWER_S} s for an item, which nobody knows yet, at "
        f"{len(learning_demo.RUNS)} sizes and scale-outs; its label is {algorithm!r} ...",
        flush=True,
    )
    learned = learning_demo.learn(cloud, algorithm)
    records = f"s3://{cloud.deployment.records_bucket}/records/{algorithm}/"
    print(f"  records landed in {records}, and their events in a queue")
    print("  the tick, which the scheduler makes every hour and `bellwren retrain` now, trained on them:")
    if learned.outcome:
        print(f"    {learned.outcome['outcome']}: {learned.outcome['reason']}")
    else:
        print(f"    it is under way still; see later with `bellwren models show {algorithm}`")
    print("  runs that no model had seen, as they were expected before the training and after it:")
    for line in learning_demo.plot(learned):
        print(f"    {line}")
    print(
        f"  forecast error, mean of {len(learned.runs)} runs: {learned.error('before'):.0%} before (nothing was known: "
        f"the stated default), {learned.error('after'):.0%} after ({learned.source})"
    )
    print(f"  more with: .venv/bin/bellwren models show {algorithm} --local")


def upload_text(cloud: Cloud) -> None:
    """Put the text into the data bucket, unless an earlier run has done so."""
    there = sum(entry.size for entry in cloud.data_store.list(PREFIX))
    if there >= TEXT_BYTES:
        print("  is there from an earlier run")
        return
    for number in range(OBJECTS):
        cloud.data_store.put(f"{PREFIX}{number}.txt", b"".join(text(TEXT_BYTES // OBJECTS, seed=number)))
    print(f"  uploaded as {OBJECTS} objects")


def drop(cloud: Cloud, document: dict[str, Any]) -> Job:
    """Put the document into the jobs bucket and wait until S3's event has started its job.

    No client of Bellwren is needed for this: any tool that can put an object will do.
    """
    pointer = "submitted/" + DOCUMENT.removeprefix("specs/")
    before = cloud.jobs_store.find_json(pointer)
    cloud.jobs_store.put_json(DOCUMENT, document)
    for _ in range(600):
        found = cloud.jobs_store.find_json(pointer)
        if found and found != before:
            print(f"  became job {found['job_id']}")
            return cloud.job(found["job_id"])
        time.sleep(0.1)
    raise SystemExit("no job was started within a minute; `bellwren local status` shows where the log is")


def account(job: Job) -> list[str]:
    """Forecast beside actual, and the cost that the job would have had on AWS."""
    record, forecast = job.record or {}, job.forecast or {}
    choice = forecast.get("choice", {})
    expected = choice.get("runtime_s")
    lines = [
        f"forecast: {forecast.get('reason')}",
        f"expected: {expected:.1f} s" if expected else "expected: no runtime, since there is no model yet",
        f"actual:   {record['runtime_s']:.1f} s with {record['workers']} workers of {record['memory_mb']} MB "
        f"({record['compute_s']:.1f} s in their stages)",
        f"cost:     {record['cost_usd']:.6f} USD on AWS, of which",
    ]
    lines += [f"          {name:<16} {usd:.6f}" for name, usd in record["cost"].items() if usd]
    return lines


def places(cloud: Cloud, job: Job) -> list[str]:
    """Where the job's documents and results are."""
    prefix = f"s3://{cloud.deployment.jobs_bucket}/jobs/{job.id}/"
    return [
        f"status    {prefix}status.json",
        f"plan      {prefix}plan.json",
        f"results   {job.status()['results_uri']}",
        f"record    s3://{cloud.deployment.records_bucket}/records/wordcount/",
    ]


def further(job: Job) -> list[str]:
    """Commands and lines that work now."""
    return [
        'eval "$(.venv/bin/bellwren local env)"   # then any AWS client, and these, reach the local cloud:',
        f".venv/bin/bellwren status {job.id}",
        f".venv/bin/bellwren result {job.id} --json | head -c 200",
        '.venv/bin/python -c "import bellwren; print(bellwren.connect().map(lambda x: x * x, range(10)).result())"',
    ]


if __name__ == "__main__":
    main()
