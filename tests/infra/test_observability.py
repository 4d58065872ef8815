"""What raises an alarm, whom it tells, and what the dashboard shows."""

from __future__ import annotations

import fnmatch
import json
import re

import pytest
from reading import ROOT

from bellwren.dead_letters import DEAD_LETTERS
from bellwren.records.metrics import JOB_METRICS


@pytest.fixture
def alarms(templates):
    return {
        alarm.properties["AlarmName"].removeprefix("bellwren-test-"): alarm.properties
        for alarm in templates.of_type("AWS::CloudWatch::Alarm")
    }


def dimensions(alarm):
    return {one["Name"]: one["Value"] for one in alarm["Dimensions"]}


def test_every_alarm_tells_the_address_and_says_what_to_do(alarms, templates):
    (topic,) = templates.of_type("AWS::SNS::Topic")
    (subscription,) = templates.of_type("AWS::SNS::Subscription")
    assert subscription.properties["Endpoint"] == "ops@example.org"
    for alarm in alarms.values():
        assert alarm["AlarmActions"] == alarm["OKActions"] == [f"<{topic.id}>"]
        assert len(alarm["AlarmDescription"]) > 40


def test_an_alarm_rests_while_nothing_runs(alarms):
    assert {alarm["TreatMissingData"] for alarm in alarms.values()} == {"notBreaching"}


def test_every_queue_that_should_be_empty_is_watched(alarms, templates):
    watched = {
        dimensions(alarm)["QueueName"]
        for alarm in alarms.values()
        if alarm["MetricName"] == "ApproximateNumberOfMessagesVisible"
    }
    dead_letters = {
        queue.properties["QueueName"]
        for queue in templates.of_type("AWS::SQS::Queue")
        if "RedrivePolicy" not in queue.properties
    }
    assert watched == dead_letters


def test_every_function_is_watched_for_errors_and_throttling(alarms, templates):
    functions = {
        function.properties["FunctionName"] for function in templates.of_type("AWS::Lambda::Function")
    }
    for metric in ("Errors", "Throttles"):
        watched = {
            dimensions(alarm)["FunctionName"] for alarm in alarms.values() if alarm["MetricName"] == metric
        }
        # An execution of a job that did not succeed fails by this one, which is no news: there is an alarm on that.
        assert watched == functions - ({"bellwren-test-conclude"} if metric == "Errors" else set())


def test_a_control_function_is_watched_for_coming_near_its_time_limit(alarms, templates):
    for name in ("prepare", "predict", "plan", "finish", "conclude", "collect", "train"):
        function = templates.named("AWS::Lambda::Function", "FunctionName", f"bellwren-test-{name}")
        alarm = alarms[f"{name}-slow"]
        assert alarm["ExtendedStatistic"] == "p99"
        assert 0 < alarm["Threshold"] < function.properties["Timeout"] * 1000


def test_jobs_and_rules_that_fail_are_watched(alarms):
    metrics = {(alarm["Namespace"], alarm["MetricName"]) for alarm in alarms.values()}
    assert metrics >= {
        ("AWS/States", "ExecutionsFailed"),
        ("AWS/States", "ExecutionsTimedOut"),
        ("AWS/States", "ExecutionThrottled"),
        ("AWS/Events", "FailedInvocations"),
    }
    rules = {dimensions(alarm)["RuleName"] for alarm in alarms.values() if alarm["Namespace"] == "AWS/Events"}
    assert rules == {f"bellwren-test-{rule}" for rule in ("spec-dropped", "job-ended", "record-landed")}


def test_damaged_records_and_forecasts_that_stay_wrong_are_watched(alarms):
    own = {
        alarm["MetricName"]: dimensions(alarm)
        for alarm in alarms.values()
        if alarm["Namespace"] == "Bellwren"
    }
    assert own == {"Quarantined": {"Stage": "test"}, "Drifted": {"Stage": "test"}}
    drifted = alarms["forecasts-drifted"]
    assert (drifted["Period"], drifted["EvaluationPeriods"]) == (86400, 2)


def test_no_alarm_uses_metric_mathematics_which_the_emulator_refuses(alarms):
    assert not [name for name, alarm in alarms.items() if "Metrics" in alarm]


def test_the_topic_refuses_plain_http_and_lets_the_accounts_alarms_in(templates):
    """A policy takes the place of the one that a topic is born with: without the second statement no alarm is heard."""
    (topic,), (policy,) = templates.of_type("AWS::SNS::Topic"), templates.of_type("AWS::SNS::TopicPolicy")
    statements = {one["Effect"]: one for one in policy.properties["PolicyDocument"]["Statement"]}
    assert statements["Deny"]["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert statements["Allow"] == {
        "Action": "sns:Publish",
        "Condition": {"StringEquals": {"aws:SourceAccount": "123456789012"}},
        "Effect": "Allow",
        "Principal": {"Service": "cloudwatch.amazonaws.com"},
        "Resource": f"<{topic.id}>",
        "Sid": "AlarmsOfThisAccount",
    }
    assert len(policy.properties["PolicyDocument"]["Statement"]) == 2


def widgets_of(templates):
    (dashboard,) = templates.of_type("AWS::CloudWatch::Dashboard")
    return json.loads(dashboard.properties["DashboardBody"].replace("<", "").replace(">", ""))["widgets"]


def test_the_dashboard_says_what_jobs_cost_and_how_good_their_forecasts_were(templates):
    own = {
        metric[1]
        for widget in widgets_of(templates)
        for metric in widget["properties"]["metrics"]
        if metric[0] == "Bellwren"
    }
    of_jobs = own - {"ForecastError", "Coverage95"}
    assert of_jobs < set(JOB_METRICS), "a graph of a metric that no job sends would stay empty"
    assert {"CostUsd", "Retries", "QueueS", "RunError", "RunWithin95"} <= of_jobs


def test_the_dashboard_shows_every_function(templates):
    widgets = widgets_of(templates)
    shown = json.dumps(widgets)
    for function in templates.of_type("AWS::Lambda::Function"):
        assert function.properties["FunctionName"] in shown
    assert len({(widget["x"], widget["y"]) for widget in widgets}) == len(widgets)


def test_every_alarm_has_an_entry_in_the_runbook_and_no_entry_is_about_none(alarms):
    """`bellwren doctor` and the messages of the alarms lead there by name."""
    headings = re.findall(r"^### (\S+)$", (ROOT / "docs" / "operate.md").read_text(), re.MULTILINE)
    entries = {
        name: [name]
        if name in headings
        else [heading for heading in headings if fnmatch.fnmatchcase(name, heading)]
        for name in alarms
    }
    assert not [name for name, found in entries.items() if len(found) != 1]
    assert {found for one in entries.values() for found in one} == set(headings)


def test_every_dead_letter_queue_is_described_where_the_doctor_looks(templates):
    names = {
        queue.properties["QueueName"].removeprefix("bellwren-test-")
        for queue in templates.of_type("AWS::SQS::Queue")
        if "RedrivePolicy" not in queue.properties
    }
    assert names == set(DEAD_LETTERS)
