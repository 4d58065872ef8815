from __future__ import annotations

import json

import pytest

from bellwren.learning.metrics import NAMESPACE, emitter


def test_a_metric_is_one_line_in_the_embedded_format_in_sum_and_by_algorithm(
    capsys: pytest.CaptureFixture[str],
) -> None:
    emitter("prod")({"Quarantined": 2}, "grep")
    (line,) = capsys.readouterr().err.splitlines()
    found = json.loads(line)
    (metrics,) = found["_aws"]["CloudWatchMetrics"]
    assert (metrics["Namespace"], metrics["Metrics"]) == (NAMESPACE, [{"Name": "Quarantined"}])
    assert (found["Stage"], found["Algorithm"], found["Quarantined"]) == ("prod", "grep", 2)
    assert all(name in found for dimensions in metrics["Dimensions"] for name in dimensions)
