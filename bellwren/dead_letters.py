"""The queues of a deployment in which nothing should lie: what it means when something does, and what to do."""

from __future__ import annotations

DEAD_LETTERS = {
    "undelivered-specs": "Dropped documents lie here that started no job: start the state machine with each",
    "unfinished-jobs": "Executions lie here whose last status was not written: invoke finish with each",
    "untrained-records": "News of records lies here that no training took: mend its cause, then `bellwren retrain`",
    "failed-trainings": "Ticks and trainings lie here that failed: the reason is in their log, and beside each",
}
"""Name of the queue after ``bellwren-<stage>-``, and the advice. docs/operate.md has a section on each."""
