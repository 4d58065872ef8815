"""Building blocks of a state machine in Amazon States Language (JSONPath), with the rules that every state keeps."""

from __future__ import annotations

from typing import Any

State = dict[str, Any]

PARTITION = "Partition"
"""Name that CloudFormation replaces by the partition: China and GovCloud refuse the services of ``aws``."""


def filled(name: str) -> str:
    """What CloudFormation replaces by the value of that name."""
    return f"${{{name}}}"


_INVOKE = f"arn:{filled(PARTITION)}:states:::lambda:invoke"
PUT_OBJECT = f"arn:{filled(PARTITION)}:states:::aws-sdk:s3:putObject"

# A function that dies at its own timeout reports so; the state waits a little longer to hear it.
_SLACK_S = 30

# Errors of the Lambda service, not of our function: asking again later is all that is needed. A job of many
# workers meets the account's concurrency limit, so this goes on for some minutes, with full jitter lest all
# come back at once.
RETRY_SERVICE = {
    "ErrorEquals": [
        "Lambda.TooManyRequestsException",
        "Lambda.ServiceException",
        "Lambda.AWSLambdaException",
        "Lambda.SdkClientException",
        "Lambda.ClientExecutionTimeoutException",
    ],
    "IntervalSeconds": 1,
    "BackoffRate": 2.0,
    "MaxDelaySeconds": 60,
    "MaxAttempts": 12,
    "JitterStrategy": "FULL",
}
# Handlers never raise for a user's fault, so whatever else fails is infrastructure and worth another try.
RETRY_ANY = {
    "ErrorEquals": ["States.ALL"],
    "IntervalSeconds": 1,
    "BackoffRate": 2.0,
    "MaxDelaySeconds": 20,
    "MaxAttempts": 3,
    "JitterStrategy": "FULL",
}


def task(function: str | None, timeout_s: int, payload: State, *, comment: str, **rest: Any) -> State:
    """A Lambda invocation; without a function's name, of the one that the state's input names."""
    target = (
        {"FunctionName.$": "$.worker_function"} if function is None else {"FunctionName": filled(function)}
    )
    return {
        "Type": "Task",
        "Comment": comment,
        "Resource": _INVOKE,
        "Parameters": {**target, "Payload": payload},
        "TimeoutSeconds": timeout_s + _SLACK_S,
        "Retry": [RETRY_SERVICE, RETRY_ANY],
        **rest,
    }


def catch(target: str, result_path: str) -> list[State]:
    """Go on at ``target`` after any error, which is put at ``result_path``."""
    return [{"ErrorEquals": ["States.ALL"], "ResultPath": result_path, "Next": target}]


def choice(variable: str, targets: dict[str, str], *, default: str) -> State:
    """Go where the text at ``variable`` says; anything unforeseen goes to ``default``."""
    choices = [
        {"Variable": variable, "StringEquals": value, "Next": target} for value, target in targets.items()
    ]
    return {"Type": "Choice", "Choices": choices, "Default": default}
