"""Turn a job's document into stages: which operation, on which tasks, with which output."""

from __future__ import annotations

from typing import Any

from bellwren import layout
from bellwren.control import supersteps, training
from bellwren.control.sizing import item_tasks, partition_count
from bellwren.engine.stage import Output, Stage
from bellwren.framing import Index
from bellwren.store import Store, parse_uri

Document = dict[str, Any]

_ORDERS = {
    "map": ["map"],
    "map_reduce": ["map", "reduce"],
    "sort": ["sort", "merge"],
    "bsp": ["supersteps"],
    "parameter_server": ["train", "gather"],
}


def order(kind: str) -> list[str]:
    """The stages of a kind of job, in order."""
    return list(_ORDERS[kind])


def first_stage(
    job_id: str, spec: Document, profile: Document, *, workers: int, memory_mb: int, jobs: Store
) -> Stage:
    """The first stage, with its table of tasks written."""
    if spec["kind"] == "bsp":
        return _supersteps(job_id, spec, profile, workers=workers, memory_mb=memory_mb, jobs=jobs)
    if spec["kind"] == "parameter_server":
        shared = _shared(spec, profile, ("train",))
        return training.train_stage(
            job_id, spec, profile, shared, workers=workers, memory_mb=memory_mb, jobs=jobs
        )
    if spec["kind"] == "sort":
        from bellwren.control.sorting import sort_stage  # noqa: PLC0415  other jobs need none of it

        shared = _shared(spec, profile, ("key",))
        return sort_stage(job_id, spec, profile, shared, workers=workers, memory_mb=memory_mb, jobs=jobs)
    source, table, tasks = _cut(profile, workers, memory_mb)
    jobs.put_json(layout.tasks(job_id, "map"), table)
    shuffled = spec["kind"] == "map_reduce"
    return Stage(
        name="map",
        operation="shuffle" if shuffled else "map",
        tasks=tasks,
        input=source,
        partitions=partition_count(workers, profile["bytes"]) if shuffled else 0,
        output=None if shuffled else _output(job_id, spec, jobs.bucket),
        **_shared(spec, profile, ("map", "combine")),
    )


def _supersteps(
    job_id: str, spec: Document, profile: Document, *, workers: int, memory_mb: int, jobs: Store
) -> Stage:
    source, table, groups, options = supersteps.cut(profile, spec, workers, memory_mb)
    jobs.put_json(layout.tasks(job_id, "supersteps"), table)
    return Stage(
        name="supersteps",
        operation="supersteps",
        tasks=groups,
        input=source,
        output=_output(job_id, spec, jobs.bucket),
        supersteps=options,
        **_shared(spec, profile, ("step", "combine")),
    )


def next_stage(
    job_id: str, name: str, *, plan: Document, spec: Document, profile: Document, jobs: Store
) -> Stage:
    """The stage that follows ``plan["stage"]``."""
    before = plan["stages"][plan["stage"]]
    if name == "gather":
        return training.gather_stage(
            before, _output(job_id, spec, jobs.bucket), _shared(spec, profile, ("train",))
        )
    if name == "merge":
        from bellwren.control.sorting import merge_stage  # noqa: PLC0415  as above

        shared = _shared(spec, profile, ("key",))
        return merge_stage(job_id, before, _output(job_id, spec, jobs.bucket), shared, jobs)
    return Stage(
        name=name,
        operation="reduce",
        tasks=before["partitions"],
        input={"kind": "shuffle", "stage": before["name"], "tasks": before["tasks"]},
        output=_output(job_id, spec, jobs.bucket),
        **_shared(spec, profile, ("reduce",)),
    )


def results_uri(job_id: str, spec: Document, jobs_bucket: str) -> str:
    """Where the parts of the job's result lie."""
    output = _output(job_id, spec, jobs_bucket)
    return f"s3://{output.bucket}/{output.prefix}"


def _shared(spec: Document, profile: Document, roles: tuple[str, ...]) -> Document:
    functions = profile["functions"]
    return {
        "functions": {role: functions[role] for role in roles if functions.get(role)},
        "params": profile["params"],
        "env": spec["env"],
        "bundle": spec.get("bundle"),
        "retries": spec["retries"],
        "retry_on": tuple(spec["retry_on"]),
        "item_timeout_s": spec.get("item_timeout_s"),
    }


def _cut(profile: Document, workers: int, memory_mb: int) -> tuple[Document, Document, int]:
    """Description of the input, the table of tasks, and their number."""
    if "index" in profile:
        tasks = item_tasks(Index.from_dict(profile["index"]), workers)
        source = profile["source"]
        return source, {"items": tasks}, len(tasks)
    if "results" in profile:
        # A task is a part of the earlier job's result.
        parts = profile["parts"]
        return {"kind": "results", **profile["results"]}, {"parts": parts}, len(parts)
    from bellwren.control.records import cut_records  # noqa: PLC0415  jobs over items need none of it

    return cut_records(profile, workers, memory_mb)


def _output(job_id: str, spec: Document, jobs_bucket: str) -> Output:
    output = spec["output"]
    if output.get("uri"):
        bucket, prefix = parse_uri(output["uri"])
        return Output(
            bucket, prefix if prefix.endswith("/") or not prefix else prefix + "/", output["format"]
        )
    return Output(jobs_bucket, layout.results(job_id), output["format"])
