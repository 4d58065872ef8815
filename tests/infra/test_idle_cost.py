"""What docs/cost.md says of an idle deployment, worked out from its template and the price list."""

from __future__ import annotations

import re

from reading import ROOT

from bellwren.cost import billed_gb_s, prices
from bellwren.records.metrics import JOB_METRICS

HOURS = 730


def table():
    """Quantity and USD of each line of the page's table of idle cost."""
    page = (ROOT / "docs" / "cost.md").read_text().partition("while nothing runs")[2]
    rows = re.findall(r"^\| ([a-zA-Z]+)[^|]*\| ([\d,]+) \| ([\d.]+) \|$", page, re.MULTILINE)
    return {name: (int(quantity), float(usd)) for name, quantity, usd in rows}


def test_the_idle_cost_on_the_page_is_that_of_the_template(variant):
    smallest, price = variant("smallest"), prices()
    (schedule,) = smallest.of_type("AWS::Scheduler::Schedule")
    assert schedule.properties["ScheduleExpression"] == "rate(1 hour)"
    collect = smallest.named("AWS::Lambda::Function", "FunctionName", "bellwren-dev-collect")
    tick = (
        price.schedule
        + price.lambda_request
        + billed_gb_s(collect.properties["MemorySize"], 0.1) * price.lambda_gb_s_arm64
        + 2 * price.sqs_request
    )
    alarms = len(smallest.of_type("AWS::CloudWatch::Alarm"))
    dashboards = len(smallest.of_type("AWS::CloudWatch::Dashboard"))
    assert table() == {
        "alarms": (alarms, round(alarms * price.alarm_month, 2)),
        "dashboard": (dashboards, dashboards * price.dashboard_month),
        "ticks": (HOURS, round(HOURS * tick, 4)),
        "KMS": (1, price.key_month),
    }


def test_nothing_is_provisioned(variant):
    """What would cost by the hour whether or not a job runs."""
    by_the_hour = ("AWS::EC2::", "AWS::ECS::", "AWS::RDS::", "AWS::DynamoDB::", "AWS::ElastiCache::")
    for name in ("smallest", "full", "key"):
        for resource in variant(name).all():
            assert not resource.type.startswith(by_the_hour)
            assert "ProvisionedConcurrencyConfig" not in resource.properties


def test_the_page_counts_the_metrics_of_a_job():
    assert len(JOB_METRICS) == 11
    assert "eleven names for jobs" in (ROOT / "docs" / "cost.md").read_text().replace("\n", " ")
