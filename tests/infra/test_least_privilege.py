"""Who may do what. An addition to a role fails here first, and has to be argued for."""

from __future__ import annotations

import pytest

from bellwren import layout

# Actions for which AWS knows no narrower resource, each with where that is said.
ANY_RESOURCE = {
    # Service authorization reference, AWS X-Ray: no resource types for these actions.
    "xray:PutTraceSegments",
    "xray:PutTelemetryRecords",
    "xray:GetSamplingRules",
    "xray:GetSamplingTargets",
    # Step Functions developer guide, "Logging using CloudWatch Logs": the delivery API acts on the account.
    "logs:CreateLogDelivery",
    "logs:GetLogDelivery",
    "logs:UpdateLogDelivery",
    "logs:DeleteLogDelivery",
    "logs:ListLogDeliveries",
    "logs:PutResourcePolicy",
    "logs:DescribeResourcePolicies",
    "logs:DescribeLogGroups",
}
JOBS = "arn:aws:s3:::bellwren-test-jobs-123456789012-eu-west-1"
DATA = "arn:aws:s3:::bellwren-test-data-123456789012-eu-west-1"
RECORDS = "arn:aws:s3:::bellwren-test-records-123456789012-eu-west-1"
MODELS = "arn:aws:s3:::bellwren-test-models-123456789012-eu-west-1"
BOOKS = "arn:aws:s3:::books"
WRITING = {"s3:PutObject", "s3:DeleteObject"}


def listed(value):
    return value if isinstance(value, list) else [value]


@pytest.fixture
def grants(templates):
    """Every (role, action, resource) that the policies allow, the role by the path of its construct."""
    paths = {
        f"<{role.id}>": role.raw["Metadata"]["aws:cdk:path"].split("/")[-3]
        for role in templates.of_type("AWS::IAM::Role")
    }
    found = set()
    for policy in templates.of_type("AWS::IAM::Policy"):
        for statement in policy.properties["PolicyDocument"]["Statement"]:
            assert statement["Effect"] == "Allow"
            assert not {"NotAction", "NotResource"} & set(statement)
            for role in policy.properties["Roles"]:
                for action in listed(statement["Action"]):
                    for resource in listed(statement["Resource"]):
                        found.add((paths[role], action, resource))
    return found


def may(grants, role, *actions):
    return {(action, resource) for who, action, resource in grants if who == role and action in actions}


def test_no_policy_is_written_anywhere_but_in_a_policy_of_one_role(templates):
    for role in templates.of_type("AWS::IAM::Role"):
        assert "ManagedPolicyArns" not in role.properties
        assert "Policies" not in role.properties
    assert not templates.of_type("AWS::IAM::ManagedPolicy")
    for policy in templates.of_type("AWS::IAM::Policy"):
        assert len(policy.properties["Roles"]) == 1


def test_every_role_is_trusted_to_one_service_alone(templates):
    trusted = {}
    for role in templates.of_type("AWS::IAM::Role"):
        (statement,) = role.properties["AssumeRolePolicyDocument"]["Statement"]
        assert statement["Action"] == "sts:AssumeRole"
        service = statement["Principal"]["Service"]
        # Lambda alone documents no condition against another account's use of a role (the confused deputy).
        own_account = {"StringEquals": {"aws:SourceAccount": "123456789012"}}
        assert statement.get("Condition") == (None if service == "lambda.amazonaws.com" else own_account)
        trusted[role.raw["Metadata"]["aws:cdk:path"].split("/")[-3]] = service
    functions = dict.fromkeys(
        (
            "Prepare",
            "Predict",
            "Plan",
            "Finish",
            "Conclude",
            "Collect",
            "Train",
            "Worker-1024",
            "Worker-2048",
        ),
        "lambda.amazonaws.com",
    )
    assert trusted == {
        **functions,
        "Jobs": "states.amazonaws.com",
        "SpecDropped": "events.amazonaws.com",
        "Learning": "scheduler.amazonaws.com",
    }


def test_no_action_has_a_wildcard(grants):
    assert not [grant for grant in grants if "*" in grant[1]]


def test_no_resource_is_everything_but_where_aws_knows_no_other(grants):
    assert {action for _, action, resource in grants if resource == "*"} == ANY_RESOURCE


def test_no_arn_leaves_service_account_or_bucket_open(grants):
    for _, _, resource in grants - {grant for grant in grants if grant[2] == "*"}:
        if resource.startswith("arn:"):
            service_to_account = resource.split(":")[:5]
            assert "*" not in "".join(service_to_account)
            assert "*" not in resource.split(":", 5)[5].split("/")[0]


def test_no_role_may_write_what_starts_a_job(grants):
    """A recursion guard: whatever a job does, it drops no document into ``specs/``."""
    for _, action, resource in grants:
        if action in WRITING and resource.startswith(JOBS):
            prefix = resource.removeprefix(f"{JOBS}/")
            assert prefix.split("/")[0] in ("jobs", "work", "submitted")


def test_a_job_cannot_start_another_nor_call_any_function(grants):
    callers = {(role, action) for role, action, _ in grants if action.startswith(("states:", "lambda:"))}
    assert callers == {
        ("Jobs", "lambda:InvokeFunction"),
        ("Jobs", "states:StartExecution"),
        ("Jobs", "states:DescribeExecution"),
        ("Jobs", "states:StopExecution"),
        ("Jobs", "states:RedriveExecution"),
        ("SpecDropped", "states:StartExecution"),
        ("Learning", "lambda:InvokeFunction"),
        ("Collect", "lambda:InvokeFunction"),
    }


def test_the_users_code_reaches_jobs_data_and_the_given_buckets_and_no_other(grants):
    reached = {
        resource.split("/")[0]
        for role, action, resource in grants
        if role == "Worker-1024" and action[:3] == "s3:"
    }
    assert reached == {JOBS, DATA, BOOKS}
    assert may(grants, "Worker-1024", *WRITING) <= {
        ("s3:PutObject", f"{JOBS}/jobs/*/results/*"),
        ("s3:PutObject", f"{JOBS}/jobs/*/logs/*"),
        ("s3:PutObject", f"{JOBS}/{layout.WORK}*"),
        ("s3:PutObject", f"{DATA}/*"),
        ("s3:DeleteObject", f"{JOBS}/{layout.WORK}*"),
    }


def test_keys_of_jobs_are_deleted_by_who_clears_up_and_no_result_of_a_job_ever(grants):
    deleting = {
        (role, resource.removeprefix(f"{JOBS}/"))
        for role, action, resource in grants
        if action == "s3:DeleteObject" and resource.startswith(JOBS)
    }
    assert deleting == {
        ("Plan", "work/*"),
        ("Worker-1024", "work/*"),
        ("Worker-2048", "work/*"),
        ("Finish", "work/*"),
        ("Finish", "jobs/*/errors/*"),
    }


def test_a_bucket_given_to_read_is_never_written(grants):
    assert {action for _, action, resource in grants if resource.startswith(BOOKS)} == {
        "s3:GetObject",
        "s3:ListBucket",
    }


def test_records_are_written_by_finish_and_taken_away_by_the_training_that_puts_them_aside(grants):
    writing = {
        (role, action, resource.removeprefix(f"{RECORDS}/"))
        for role, action, resource in grants
        if resource.startswith(RECORDS) and action in WRITING
    }
    assert writing == {
        ("Finish", "s3:PutObject", "records/*"),
        ("Train", "s3:PutObject", "quarantine/*"),
        ("Train", "s3:DeleteObject", "records/*"),
    }


def test_models_are_made_by_training_alone_and_deleted_by_nobody(grants):
    writing = {
        (role, action, resource.removeprefix(f"{MODELS}/"))
        for role, action, resource in grants
        if resource.startswith(MODELS) and action in WRITING
    }
    assert writing == {
        ("Train", "s3:PutObject", "models/*"),
        ("Collect", "s3:PutObject", "models/*/learning.json"),
        ("Collect", "s3:PutObject", "batches/*"),
    }


def test_the_tick_calls_training_and_nothing_else_and_is_called_by_the_schedule_alone(grants, templates):
    train = "arn:aws:lambda:eu-west-1:123456789012:function:bellwren-test-train"
    collect = templates.named("AWS::Lambda::Function", "FunctionName", "bellwren-test-collect")
    assert may(grants, "Collect", "lambda:InvokeFunction") == {("lambda:InvokeFunction", train)}
    assert may(grants, "Learning", "lambda:InvokeFunction") == {
        ("lambda:InvokeFunction", f"<{collect.id}.Arn>")
    }


def test_the_state_machine_calls_the_functions_of_its_stage_and_writes_one_kind_of_object(grants, templates):
    ids = {
        function.properties["FunctionName"]: f"<{function.id}.Arn>"
        for function in templates.of_type("AWS::Lambda::Function", "compute")
    }
    predict = "arn:aws:lambda:eu-west-1:123456789012:function:bellwren-test-predict"
    assert {resource for _, resource in may(grants, "Jobs", "lambda:InvokeFunction")} == {
        *ids.values(),
        predict,
    }
    machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:bellwren-test-jobs"
    assert may(grants, "Jobs", "states:StartExecution") == {("states:StartExecution", machine)}
    assert may(grants, "Jobs", "s3:PutObject") == {("s3:PutObject", f"{JOBS}/jobs/*/status.json")}


def test_each_function_writes_its_own_log(grants, templates):
    for role, action, resource in grants:
        if action in ("logs:CreateLogStream", "logs:PutLogEvents"):
            (log,) = [
                log for log in templates.of_type("AWS::Logs::LogGroup") if resource == f"<{log.id}.Arn>"
            ]
            assert log.properties["LogGroupName"] == f"/aws/lambda/bellwren-test-{role.lower()}"


def test_nobody_puts_news_of_records_into_the_queue_but_the_event_rule(grants, templates):
    (queue,) = [one for one in templates.of_type("AWS::SQS::Queue") if "RedrivePolicy" in one.properties]
    of_news = {(role, action) for role, action, resource in grants if resource == f"<{queue.id}.Arn>"}
    assert of_news == {
        ("Collect", "sqs:ReceiveMessage"),
        ("Collect", "sqs:DeleteMessage"),
        ("Collect", "sqs:GetQueueAttributes"),
        ("Train", "sqs:DeleteMessage"),
        ("Train", "sqs:ChangeMessageVisibility"),
    }
    sending = {role for role, action, _ in grants if action == "sqs:SendMessage"}
    assert sending == {"Finish", "Collect", "Train", "Learning"}


def test_no_environment_variable_holds_a_secret(templates):
    for function in templates.of_type("AWS::Lambda::Function"):
        for name in function.properties["Environment"]["Variables"]:
            assert not any(word in name for word in ("SECRET", "PASSWORD", "TOKEN", "KEY"))
