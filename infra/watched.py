"""What is watched of a deployment: the metrics, and where a value means that someone should look."""

from __future__ import annotations

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch

from bellwren.dead_letters import DEAD_LETTERS
from bellwren.learning import metrics
from infra import sizes
from infra.naming import Names
from infra.stage import Stage

_FIVE_MINUTES = cdk.Duration.minutes(5)
_DAY = cdk.Duration.days(1)
_CONTROL = {
    "prepare": sizes.PREPARE,
    "predict": sizes.PREDICT,
    "plan": sizes.PLAN,
    "finish": sizes.FINISH,
    "conclude": sizes.CONCLUDE,
    "collect": sizes.COLLECT,
    "train": sizes.TRAIN,
}
_FAILS_ON_PURPOSE = ("conclude",)
"""An execution of a job that did not succeed fails by this function's error; `jobs-failed` is its alarm."""
_SLOW = 0.8  # of the time limit


@dataclass(frozen=True)
class Watch:
    """One alarm: rings while the metric is above the threshold."""

    name: str
    what_it_means: str
    """Meaning and first step, for whoever gets the message."""
    metric: cloudwatch.Metric
    threshold: float = 0
    periods: int = 1


def alarms(stage: Stage) -> list[Watch]:
    """Every alarm of a deployment."""
    return [*_of_jobs(stage.names), *_of_events(stage.names), *_of_functions(stage), *_of_learning(stage)]


def _of_jobs(names: Names) -> list[Watch]:
    return [
        Watch(
            "jobs-failed",
            "A job failed: its status.json and report.html say why. The user's own code, or ours",
            _job_metric(names, "ExecutionsFailed"),
        ),
        Watch(
            "jobs-timed-out",
            "A job ran longer than job_timeout_s allows and was ended",
            _job_metric(names, "ExecutionsTimedOut"),
        ),
        Watch(
            "jobs-throttled",
            "Step Functions holds jobs back: the account's state transition quota is used up",
            _job_metric(names, "ExecutionThrottled"),
            periods=3,
        ),
    ]


def _of_events(names: Names) -> list[Watch]:
    rules = ("spec-dropped", "job-ended", "record-landed")
    return [
        *(
            Watch(
                queue, meaning, _queue_metric(names, queue, "ApproximateNumberOfMessagesVisible", "Maximum")
            )
            for queue, meaning in DEAD_LETTERS.items()
        ),
        *(
            Watch(
                f"{rule}-undelivered",
                "EventBridge could not reach the rule's target: look at its permissions and throttling",
                _rule_metric(names, rule, "FailedInvocations"),
            )
            for rule in rules
        ),
    ]


def _of_learning(stage: Stage) -> list[Watch]:
    return [
        Watch(
            "records-quarantined",
            "Damaged records were put aside: `bellwren records list --quarantine` shows them with the reasons",
            _own_metric(stage, "Quarantined", "Sum"),
        ),
        Watch(
            "forecasts-drifted",
            "Forecasts left their band on two days although models are retrained: `bellwren models show` says which",
            # Only trainings send it, so it is looked at by the day: most five minutes have no value.
            _own_metric(stage, "Drifted", "Maximum", period=_DAY),
            periods=2,
        ),
    ]


def _of_functions(stage: Stage) -> list[Watch]:
    names = stage.names
    watches = []
    for name in _function_names(stage):
        if name not in _FAILS_ON_PURPOSE:
            meaning = "The function failed, which no user's code can make it do: read its log"
            watches.append(Watch(f"{name}-errors", meaning, _function_metric(names, name, "Errors")))
        meaning = "For 15 minutes invocations found no concurrency: lower max_workers or raise the quota"
        throttles = _function_metric(names, name, "Throttles")
        watches.append(Watch(f"{name}-throttled", meaning, throttles, periods=3))
    for name, size in _CONTROL.items():
        watches.append(
            Watch(
                f"{name}-slow",
                f"The function comes near its limit of {size.timeout_s} s: a job is very large",
                _function_metric(names, name, "Duration", "p99"),
                threshold=_SLOW * size.timeout_s * 1000,
            )
        )
    return watches


def dashboard(stage: Stage) -> list[dict[str, list[cloudwatch.IMetric]]]:
    """Rows of graphs, each a title and its metrics: is it healthy, what does it cost, how good are the forecasts."""
    names, functions = stage.names, _function_names(stage)
    executions = (
        "ExecutionsStarted",
        "ExecutionsSucceeded",
        "ExecutionsFailed",
        "ExecutionsAborted",
        "ExecutionsTimedOut",
    )

    def of_functions(metric: str, statistic: str = "Sum") -> list[cloudwatch.IMetric]:
        return [_function_metric(names, name, metric, statistic, label=name) for name in functions]

    return [
        {
            "Jobs": [_job_metric(names, metric) for metric in executions],
            "Time of a job": [_job_metric(names, "ExecutionTime", statistic) for statistic in ("p50", "p95")],
            "Lying in dead-letter queues": [
                _queue_metric(names, queue, "ApproximateNumberOfMessagesVisible", "Maximum", label=queue)
                for queue in DEAD_LETTERS
            ],
        },
        {
            "Invocations": of_functions("Invocations"),
            "At once": of_functions("ConcurrentExecutions", "Maximum"),
        },
        {"Errors": of_functions("Errors"), "Throttles": of_functions("Throttles")},
        {"Duration, p95": of_functions("Duration", "p95")},
        {
            "Cost of the jobs that ended, USD": [_own_metric(stage, "CostUsd", "Sum")],
            "Cost of a job, USD": [
                _own_metric(stage, "CostUsd", statistic) for statistic in ("p50", "Maximum")
            ],
            "Workers' GB-seconds": [_own_metric(stage, "BilledGbS", "Sum")],
        },
        {
            "Workers lost and tried again": [
                _own_metric(stage, name, "Sum") for name in ("Retries", "LostRunners")
            ],
            "Seconds that workers waited to start": [_own_metric(stage, "QueueS", "Maximum")],
            "Cold starts": [_own_metric(stage, "ColdStarts", "Sum")],
        },
        {
            "Runs beside their forecast, relative error": [
                _own_metric(stage, "RunError", statistic) for statistic in ("p50", "p95")
            ],
            "Share of runs within their 95 % quantile, each as it ends": [
                _own_metric(stage, "RunWithin95", "Average")
            ],
        },
        {
            "Forecast error, relative": [
                _own_metric(stage, "ForecastError", statistic) for statistic in ("Average", "Maximum")
            ],
            "Share of runs within their 95 % quantile": [_own_metric(stage, "Coverage95", "Average")],
            "New records waiting": [
                _queue_metric(names, "new-records", "ApproximateNumberOfMessagesVisible", "Maximum")
            ],
        },
    ]


def _function_names(stage: Stage) -> list[str]:
    return [*_CONTROL, *(f"worker-{memory_mb}" for memory_mb in stage.settings.worker_memory_mb)]


def _job_metric(names: Names, metric: str, statistic: str = "Sum") -> cloudwatch.Metric:
    return _metric("AWS/States", metric, statistic, {"StateMachineArn": names.state_machine_arn()})


def _queue_metric(
    names: Names, queue: str, metric: str, statistic: str, label: str | None = None
) -> cloudwatch.Metric:
    return _metric("AWS/SQS", metric, statistic, {"QueueName": names.of(queue)}, label)


def _own_metric(
    stage: Stage, metric: str, statistic: str, period: cdk.Duration | None = None
) -> cloudwatch.Metric:
    found = _metric(metrics.NAMESPACE, metric, statistic, {"Stage": stage.settings.stage})
    return found.with_(period=period) if period else found


def _rule_metric(names: Names, rule: str, metric: str) -> cloudwatch.Metric:
    return _metric("AWS/Events", metric, "Sum", {"RuleName": names.of(rule)})


def _function_metric(
    names: Names, function: str, metric: str, statistic: str = "Sum", label: str | None = None
) -> cloudwatch.Metric:
    return _metric("AWS/Lambda", metric, statistic, {"FunctionName": names.of(function)}, label)


def _metric(
    namespace: str, metric: str, statistic: str, dimensions: dict[str, str], label: str | None = None
) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=metric,
        statistic=statistic,
        dimensions_map=dimensions,
        period=_FIVE_MINUTES,
        label=label,
    )
