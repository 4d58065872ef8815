"""The state machine that runs one job, in Amazon States Language (JSONPath).

A plain document and a pure function: what stands here is what runs, and tests and other interpreters read it
without CDK. ``${Name}`` is filled in by CloudFormation with the names in `SUBSTITUTIONS`.

The rules that it keeps: state is a handful of scalars (the job, the choice, the next step), never the user's
data; the scale-out is the number of items of the Distributed Map; every task has a time limit, a retry that
knows throttling, and a catch that leads through Finish, so that no way out leaves a job without its
``status.json``. Only Conclude is not caught: its failure is the end of an unsuccessful job, and where a redrive begins.
"""

from __future__ import annotations

from bellwren import layout
from infra import asl, sizes
from infra.asl import State
from infra.settings import Settings

PREPARE = "PrepareFunctionArn"
PREDICT = "PredictFunctionArn"
PLAN = "PlanFunctionArn"
FINISH = "FinishFunctionArn"
CONCLUDE = "ConcludeFunctionArn"
JOBS_BUCKET = "JobsBucket"
SUBSTITUTIONS = (PREPARE, PREDICT, PLAN, FINISH, CONCLUDE, JOBS_BUCKET, asl.PARTITION)

_EXECUTION = {
    "input.$": "$$.Execution.Input",
    "execution.$": "$$.Execution.Id",
    "name.$": "$$.Execution.Name",
}
# The whole of it, because the count of redrives in it is not known everywhere.
_REDRIVABLE = {"execution.$": "$$.Execution"}
# What Prepare and Conclude answer is the job. From there on the state is ours alone: the input, which may be 256 KB, is
# left behind.
_ONLY_THE_JOB = {"job.$": "$.Payload", "plan": None, "error": None}


def job_definition(settings: Settings) -> State:
    """The whole definition for one deployment."""
    return {
        "Comment": "One Bellwren job: Prepare, Forecast, then Plan says what comes next until Finish",
        "StartAt": "Prepare",
        "TimeoutSeconds": settings.job_timeout_s,
        "States": {
            **_preparing(),
            **_planning(),
            "Map": _round("Map", settings),
            "Reduce": _round("Reduce", settings),
            "Bsp": _round("Bsp", settings),
            **_finishing(),
        },
    }


def _preparing() -> dict[str, State]:
    prepare = asl.task(
        PREPARE,
        sizes.PREPARE.timeout_s,
        _REDRIVABLE,
        comment="Claims the job, checks its document, measures its input",
        ResultSelector=_ONLY_THE_JOB,
        Catch=asl.catch("PrepareFailed", "$"),
        Next="Prepared",
    )
    forecast = asl.task(
        PREDICT,
        sizes.PREDICT.timeout_s,
        {"job_id.$": "$.job.job_id"},
        comment="Chooses workers and memory. A job runs without a forecast too, at the stated default",
        # The forecast lies in storage, where Plan finds it. A path into the answer would end the job wherever the
        # function is of another version: no catch catches a path that leads nowhere.
        ResultPath=None,
        # A job that waits for a forecast is worse off than one without.
        Retry=[{**asl.RETRY_ANY, "MaxAttempts": 1}],
        Catch=asl.catch("Plan", "$.forecast_error"),
        Next="Plan",
    )
    return {
        "Prepare": prepare,
        "PrepareFailed": {
            "Type": "Pass",
            "Comment": "Whatever the input was, the state now has the form that Finish reads",
            "Parameters": {"job": {"job_id": None}, "error.$": "$"},
            "Next": "Finish",
        },
        "Prepared": asl.choice(
            "$.job.action",
            {
                "RUN": "Forecast",
                "WAIT": "WaitForInput",
                "REJECTED": "Rejected",
                "DUPLICATE": "Duplicate",
                "FAIL": "Finish",
            },
            default="UnexpectedAnswer",
        ),
        "WaitForInput": {
            "Type": "Wait",
            "Comment": "The input is the result of a job that runs; Prepare looks again, ever less often",
            "SecondsPath": "$.job.wait_s",
            "Next": "Prepare",
        },
        "Rejected": {
            "Type": "Fail",
            "Error": "Bellwren.Rejected",
            "CausePath": _says("The document of job {} is wrong; every fault of it is in {}"),
        },
        "Duplicate": {
            "Type": "Succeed",
            "Comment": "Another execution has claimed this job",
            "OutputPath": "$.job",
        },
        "Forecast": forecast,
    }


def _planning() -> dict[str, State]:
    plan = asl.task(
        PLAN,
        sizes.PLAN.timeout_s,
        # The last answer goes in again, so that a retried Plan can tell which round it follows.
        {"job.$": "$.job", "plan.$": "$.plan"},
        comment="Looks at what lies in storage and says what comes next",
        ResultSelector={
            field + ".$": f"$.Payload.{field}"
            for field in ("next", "stage", "round", "workers", "worker_function")
        },
        ResultPath="$.plan",
        Catch=asl.catch("Finish", "$.error"),
        Next="Planned",
    )
    return {
        "Plan": plan,
        "Planned": asl.choice(
            "$.plan.next",
            {"MAP": "Map", "REDUCE": "Reduce", "BSP": "Bsp", "FINISH": "Finish"},
            default="UnexpectedAnswer",
        ),
        "UnexpectedAnswer": {
            "Type": "Pass",
            "Comment": "The function and this state machine are of different versions",
            "Result": {
                "Error": "Bellwren.UnexpectedAnswer",
                "Cause": "Prepare or Plan gave an answer that is not known here: deploy both from one version",
            },
            "ResultPath": "$.error",
            "Next": "Finish",
        },
    }


def _round(name: str, settings: Settings) -> State:
    """One round of workers over one stage of the job. Plan sees in storage what they left undone."""
    # Names of states are unique in the whole state machine, those within maps included, or AWS refuses it.
    run_worker, worker_lost = f"Run{name}Worker", f"{name}WorkerLost"
    run = asl.task(
        None,
        settings.worker_timeout_s,
        {key + ".$": f"$.{key}" for key in ("job_id", "stage", "round", "worker")},
        comment="Runs tasks of the stage until none is left or its time is up",
        # A worker's result lies in storage. What it returns is dropped, so the map's own result is N times
        # "{}".
        OutputPath=None,
        Catch=asl.catch(worker_lost, "$"),
        End=True,
    )
    return {
        "Type": "Map",
        "Comment": "The scale-out of the job is the number of items: small integers, never data",
        "Label": name,
        "ItemsPath": "$.plan.workers",
        "ItemSelector": {
            "job_id.$": "$.job.job_id",
            "stage.$": "$.plan.stage",
            "round.$": "$.plan.round",
            "worker_function.$": "$.plan.worker_function",
            "worker.$": "$$.Map.Item.Value",
        },
        "MaxConcurrency": settings.max_workers,
        "ToleratedFailurePercentage": 100,
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
            "StartAt": run_worker,
            "States": {
                run_worker: run,
                worker_lost: {"Type": "Fail", "ErrorPath": "$.Error", "CausePath": "$.Cause"},
            },
        },
        "ResultPath": None,
        "Catch": asl.catch("Finish", "$.error"),
        "Next": "Plan",
    }


def _finishing() -> dict[str, State]:
    finish = asl.task(
        FINISH,
        sizes.FINISH.timeout_s,
        {"job_id.$": "$.job.job_id", "error.$": "$.error", **_EXECUTION},
        comment="Writes the final status, the execution record and the report",
        ResultSelector={"status.$": "$.Payload.status"},
        ResultPath="$.finish",
        Catch=asl.catch("FinishLost", "$.finish_error"),
        Next="Finished",
    )
    return {
        "Finish": finish,
        "Finished": asl.choice("$.finish.status", {"SUCCEEDED": "Succeeded"}, default="JobPrepared"),
        "Succeeded": {"Type": "Succeed", "OutputPath": "$.job"},
        "JobPrepared": _job_known(then="Conclude", otherwise="PrepareLost"),
        "PrepareLost": {
            "Type": "Fail",
            "Comment": "Prepare's own error, since there is no job that it could be found with",
            "ErrorPath": "$.error.Error",
            "CausePath": "$.error.Cause",
        },
        "Conclude": _conclude(),
        "FinishLost": _job_known(then="WriteStatus", otherwise="FinishFailed"),
        "WriteStatus": _last_resort(),
        "FinishFailed": {
            "Type": "Fail",
            "Error": "Bellwren.FinishFailed",
            "Cause": "Finish itself failed: its log says why",
        },
    }


def _conclude() -> State:
    """Fail the execution, by a task, since a redrive of a Fail state only fails again: the task runs again instead."""
    return asl.task(
        CONCLUDE,
        sizes.CONCLUDE.timeout_s,
        {"job_id.$": "$.job.job_id", **_REDRIVABLE},
        comment="The job did not succeed: fails the execution. Redriven, goes on with what is missing of the job",
        ResultSelector=_ONLY_THE_JOB,
        Retry=[asl.RETRY_SERVICE],
        Next="Prepared",
    )


def _job_known(*, then: str, otherwise: str) -> State:
    """Whether Prepare came as far as to give the job an id."""
    known = {"Variable": "$.job.job_id", "IsString": True, "Next": then}
    return {"Type": "Choice", "Choices": [known], "Default": otherwise}


def _last_resort() -> State:
    """The final status in its shortest form, written by Step Functions itself since Finish cannot."""
    return {
        "Type": "Task",
        "Comment": "Finish failed: the job gets its final status all the same",
        "Resource": asl.PUT_OBJECT,
        "Parameters": {
            "Bucket": asl.filled(JOBS_BUCKET),
            "Key.$": f"States.Format('{layout.status('{}')}', $.job.job_id)",
            "ContentType": "application/json",
            "Body": {
                "job_id.$": "$.job.job_id",
                "status": "FAILED",
                "kind.$": "$.job.kind",
                "algorithm.$": "$.job.algorithm",
                "started_at.$": "$$.Execution.StartTime",
                "finished_at.$": "$$.State.EnteredTime",
                "failures": [],
                "error": {"type.$": "$.finish_error.Error", "message.$": "$.finish_error.Cause"},
            },
        },
        "TimeoutSeconds": 60,
        "Retry": [asl.RETRY_ANY],
        "Catch": asl.catch("FinishFailed", "$.write_error"),
        "ResultPath": None,
        "Next": "Conclude",
    }


def _says(sentence: str) -> str:
    """A cause with the job's id and where its status lies."""
    where = layout.status("{}")
    return f"States.Format('{sentence.format('{}', where)}', $.job.job_id, $.job.job_id)"
