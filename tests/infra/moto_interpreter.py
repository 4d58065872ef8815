"""A second opinion: the same state machine under moto's Step Functions engine, which comes from LocalStack's and was
compared with AWS by snapshots. It has the interface of `asl_interpreter.Interpreter`.

What it lacks, and so does not tell: it runs the children of a Distributed Map in this process, whatever their
``ExecutionType``, and tolerates every failure of them, whatever ``ToleratedFailurePercentage``; it starts
``MaxConcurrency`` threads whatever the number of items, so definitions for it have a small one. Retries and waits take
no time here.
"""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any
from unittest import mock

import boto3
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import state_task_service_aws_sdk
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.wait_function import WaitFunction
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser

_PATIENCE_S = 600.0  # a machine may be busy
_ENDPOINT = "https://states.eu-west-1.amazonaws.com"
_parsed = cache(AmazonStateLanguageParser.parse)
# A session keeps the files that botocore reads to make a client.
_session = cache(lambda: boto3.Session(aws_access_key_id="test", aws_secret_access_key="test"))
_ROLE = "arn:aws:iam::123456789012:role/jobs"


@dataclass
class MotoInterpreter:
    """One state machine; ``invoke`` and ``put_object`` stand for the services that it calls."""

    definition: dict[str, Any]
    invoke: Callable[[str, Any], Any]
    put_object: Callable[[Any], None]

    def run(self, input_: Any, name: str = "an-execution") -> SimpleNamespace:
        with self._services() as machines:
            created = machines.create_state_machine(
                name="jobs", definition=_readable(self.definition), roleArn=_ROLE
            )
            started = machines.start_execution(
                stateMachineArn=created["stateMachineArn"], name=name, input=json.dumps(input_)
            )
            until = time.monotonic() + _PATIENCE_S
            while True:
                found = machines.describe_execution(executionArn=started["executionArn"])
                if found["status"] != "RUNNING":
                    break
                assert time.monotonic() < until, "the execution goes on for ever"
                time.sleep(0.01)
            history = machines.get_execution_history(executionArn=started["executionArn"])["events"]
        return SimpleNamespace(
            status=found["status"],
            output=json.loads(found["output"]) if "output" in found else None,
            error=found.get("error", ""),
            # The service's own words behind those of the one who failed.
            cause=found.get("cause", "").partition(" (Service: ")[0],
            entered=[one["stateEnteredEventDetails"]["name"] for one in history if "Entered" in one["type"]],
        )

    @contextmanager
    def _services(self) -> Iterator[Any]:
        def client(*, service: str, **_: Any) -> Any:
            return SimpleNamespace(invoke=self._invoke, put_object=self._put_object)

        with ExitStack() as stack:
            for module in (lambda_eval_utils, state_task_service_aws_sdk):
                stack.enter_context(mock.patch.object(module, "boto_client_for", client))
            no_time = SimpleNamespace(sleep=lambda seconds: None)
            stack.enter_context(mock.patch.object(retrier_decl, "time", no_time))
            stack.enter_context(mock.patch.object(WaitFunction, "_wait_interval", return_value=None))
            # A state machine is read when it is made and again for each execution: a second of ANTLR each time.
            stack.enter_context(mock.patch.object(AmazonStateLanguageParser, "parse", _parsed))
            stack.enter_context(mock_aws(config={"stepfunctions": {"execute_state_machine": True}}))
            # Moto takes what goes to AWS; the environment's endpoint may be another emulator.
            yield _session().client("stepfunctions", region_name="eu-west-1", endpoint_url=_ENDPOINT)

    def _invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        try:
            answer = {"Payload": json.dumps(self.invoke(FunctionName, json.loads(Payload)))}
        except Exception as error:
            if getattr(error, "error", "").startswith("Lambda."):
                raise _as_the_service_says_it(error, "Invoke") from error
            # An exception of the function itself; it is an answer of the service.
            answer = {"FunctionError": "Unhandled", "Payload": _exception(error)}
        return {"StatusCode": 200, **answer, "Payload": io.BytesIO(answer["Payload"].encode())}

    def _put_object(self, **parameters: Any) -> dict[str, Any]:
        # Times are values of Python here, and text on AWS.
        body = json.loads(json.dumps(parameters["Body"], default=str))
        try:
            self.put_object({**parameters, "Body": body})
        except Exception as error:
            raise _as_the_service_says_it(error, "PutObject") from error
        return {"ETag": "an-etag"}


def _readable(definition: dict[str, Any]) -> str:
    """Moto's grammar knows percentages with a decimal point alone; AWS documents a number. And it fills in nothing."""
    percentage = '"ToleratedFailurePercentage": '
    text = json.dumps(definition).replace("${Partition}", "aws")
    return re.sub(rf"{percentage}(\d+)\b", rf"{percentage}\1.0", text)


def _as_the_service_says_it(error: Exception, action: str) -> ClientError:
    """An error with ``error`` and ``cause``, as `asl_interpreter` has them, in the form in which botocore raises it."""
    code = getattr(error, "error", type(error).__name__).removeprefix("Lambda.")
    said = {"Code": code, "Message": getattr(error, "cause", str(error))}
    answer: Any = {"Error": said, "ResponseMetadata": {"HTTPStatusCode": 500, "RequestId": "a-request"}}
    return ClientError(answer, action)


def _exception(error: Exception) -> str:
    """As Lambda's runtime writes it; ``cause`` may be that already."""
    cause = getattr(error, "cause", str(error))
    if cause.startswith("{"):
        return cause
    return json.dumps({"errorType": getattr(error, "error", type(error).__name__), "errorMessage": cause})
