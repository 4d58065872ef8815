"""What each function may do with storage, in one place: the least that its work needs.

The user's own functions run in processes of the worker, so what the worker may do is what everyone may do who
can submit a job. No role here may write a key that starts a job (``specs/``), so no job can start another.
"""

from __future__ import annotations

from aws_cdk import aws_iam as iam

from bellwren import layout
from infra import access
from infra.stage import Stage

Statements = list[iam.PolicyStatement]

_JOBS = f"{layout.JOBS}*"
_WORK = f"{layout.WORK}*"
_SPECS = f"{layout.SPECS}*"
_SUBMITTED = f"{layout.SUBMITTED}*"
_CODE = f"{layout.CODE}*"


def _inputs(stage: Stage) -> Statements:
    return access.read_inputs([stage.names.bucket("data"), *stage.settings.input_buckets])


def prepare(stage: Stage) -> Statements:
    """Reads documents, sees that the code is there, claims jobs, measures inputs, lays down the items."""
    jobs = stage.names.bucket("jobs")
    return [
        access.read(jobs, _SPECS, _JOBS, _WORK, _CODE),
        access.write(jobs, _JOBS, _WORK, _SUBMITTED),
        access.look_up(jobs),
        *_inputs(stage),
    ]


def predict(stage: Stage) -> Statements:
    """Reads a job, which is there, and the models, of which there may be none; writes the forecast."""
    jobs, models = stage.names.bucket("jobs"), stage.names.bucket("models")
    return [
        access.read(jobs, _JOBS),
        access.write(jobs, layout.forecast("*")),
        access.read(models, f"{layout.MODELS}*"),
        access.look_up(models),
    ]


def collect(stage: Stage) -> Statements:
    """Lists records, and notes which messages each training is to answer."""
    records, models = stage.names.bucket("records"), stage.names.bucket("models")
    return [
        access.look_up(records, models),
        access.read(models, layout.learning("*")),
        access.write(models, layout.learning("*"), f"{layout.BATCHES}*"),
        access.invoke(stage.names.function_arn(stage.names.of("train"))),
    ]


def train(stage: Stage) -> Statements:
    """Reads records, moves damaged ones out of the way, lays down models and moves the one in service."""
    records, models = stage.names.bucket("records"), stage.names.bucket("models")
    return [
        access.look_up(records, models),
        access.read(records, f"{layout.RECORDS}*"),
        access.erase(records, f"{layout.RECORDS}*"),
        access.write(records, f"{layout.QUARANTINE}*"),
        access.read(models, f"{layout.MODELS}*", f"{layout.BATCHES}*"),
        access.write(models, f"{layout.MODELS}*"),
    ]


def plan(stage: Stage) -> Statements:
    """Looks at what lies in storage, cuts the input, writes the plan and the progress, clears what is done with."""
    jobs = stage.names.bucket("jobs")
    return [
        access.read(jobs, _JOBS, _WORK),
        access.write(jobs, _JOBS, _WORK),
        access.erase(jobs, _WORK),
        access.look_up(jobs),
        *_inputs(stage),
    ]


def worker(stage: Stage) -> Statements:
    """Reads inputs, runs the user's code, writes results, what was printed, and working keys.

    It may not write a job's documents: no status, plan or record is at the mercy of the user's code.
    """
    jobs, data = stage.names.bucket("jobs"), stage.names.bucket("data")
    return [
        access.read(jobs, _JOBS, _WORK, _CODE),
        access.write(jobs, f"{layout.results('*')}*", f"{layout.logs('*')}*", _WORK),
        access.erase(jobs, _WORK),
        access.look_up(jobs),
        access.write(data, "*"),
        *_inputs(stage),
    ]


def conclude(stage: Stage) -> Statements:
    """Takes an unsuccessful job up again: reads what there is of it, sets its plan back, lays down pieces of tasks."""
    jobs, data = stage.names.bucket("jobs"), stage.names.bucket("data")
    return [
        access.read(jobs, _JOBS, _WORK),
        access.write(jobs, _JOBS, _WORK),
        access.look_up(jobs, data),
        access.read(data, "*"),
    ]


def finish(stage: Stage) -> Statements:
    """Reads the results that it counts, writes the last status, the record and the report, clears working keys."""
    jobs, data, records = (
        stage.names.bucket("jobs"),
        stage.names.bucket("data"),
        stage.names.bucket("records"),
    )
    return [
        access.read(jobs, _JOBS, _WORK),
        access.write(jobs, _JOBS),
        access.erase(jobs, _WORK, f"{layout.errors('*')}*"),
        access.look_up(jobs, data),
        access.read(data, "*"),
        access.write(records, f"{layout.RECORDS}*"),
    ]
