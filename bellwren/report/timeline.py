"""Who did what when: a lane for each worker of each stage, a bar for each task, as SVG.

A page must open at once whatever the job: beyond ``MOST_BARS`` bars, time is cut into ``SLICES`` and lanes are put
together, and a slice shows the most remarkable thing that happened in it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

LEGEND = {
    "failed": "items failed",
    "retried": "a runner was lost",
    "backup": "backup of a straggler",
    "retake": "taken up again",
    "steal": "stolen",
    "share": "shared",
    "home": "own task",
    "cold": "cold start",
    "alive": "worker alive",
}
"""What a bar can be, as the page says it; ``alive`` is an invocation itself, ``cold`` one that had to start."""
KINDS = tuple(LEGEND)
"""The most remarkable first."""
MOST_BARS = 3000
MOST_LANES = 100
SLICES = 250
_WIDTH, _LANE, _BAR = 1000, 18, 12


@dataclass(frozen=True)
class Bar:
    """A span of time in a lane."""

    lane: int
    kind: str
    start_s: float
    """From the job's first worker on."""
    end_s: float
    says: str


@dataclass(frozen=True)
class Timeline:
    """All bars of a job."""

    lanes: tuple[str, ...]
    bars: tuple[Bar, ...]
    end_s: float

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that there are, the most remarkable first."""
        found = {bar.kind for bar in self.bars}
        return tuple(kind for kind in KINDS if kind in found)


def timeline(stages: Mapping[str, Sequence[Mapping[str, Any]]]) -> Timeline:
    """Bars from the workers' reports by stage, stages in their order."""
    reports = [(stage, one) for stage, workers in stages.items() for one in workers]
    began = min((one["started_at"] for _, one in reports), default=0.0)
    numbers: dict[tuple[str, int], int] = {}
    bars: list[Bar] = []
    for stage, one in sorted(reports, key=lambda both: (list(stages).index(both[0]), both[1]["worker"])):
        lane = numbers.setdefault((stage, one["worker"]), len(numbers))
        says = f"{stage}, worker {one['worker']}, round {one['round']}"
        start, end = one["started_at"] - began, one["finished_at"] - began
        ended = f"; stopped: {one['stopped']}" if one["stopped"] else ""
        kind = "cold" if one["cold"] else "alive"
        start_kind = " (cold start)" if one["cold"] else ""
        bars.append(Bar(lane, kind, start, end, f"{says}: {end - start:.3f} s{start_kind}{ended}"))
        bars += [_bar(lane, stage, task, began) for task in one["tasks"]]
    end_s = max((bar.end_s for bar in bars), default=0.0)
    names = tuple(f"{stage} · worker {worker}" for stage, worker in numbers)
    return Timeline(names, tuple(bars), end_s)


def _bar(lane: int, stage: str, task: Mapping[str, Any], began: float) -> Bar:
    start = max(0.0, task["started_at"] - began)
    took = task["compute_s"] + task["commit_s"]
    facts = [
        f"{stage}, task {task['task']} ({task['how']}, {task['outcome']})",
        f"{task['items']} item(s), {task['failed']} failed, {task['lost_runners']} runner(s) lost",
        f"fetched in {task['fetch_s']:.3f} s, computed {task['compute_s']:.3f} s, committed {task['commit_s']:.3f} s",
    ]
    return Bar(lane, _kind(task), start, start + took, "\n".join(facts))


def _kind(task: Mapping[str, Any]) -> str:
    if task["failed"]:
        return "failed"
    if task["lost_runners"]:
        return "retried"
    return task["how"] if task["how"] in KINDS else "home"


def svg(line: Timeline) -> str:
    """The timeline as HTML of bounded size: names of the lanes, the bars as one SVG element, and an axis.

    The bars stretch to whatever width there is, so names and axis are text beside them, which does not.
    """
    if not line.bars:
        return "<p>No worker has reported.</p>"
    lanes, drawn = _whole(line) if len(line.bars) <= MOST_BARS else _sliced(line)
    height = _LANE * len(lanes)
    names = "".join(f'<span class="lane">{escape(name)}</span>' for name in lanes)
    return (
        f'<div class="timeline"><div class="lanes">{names}</div><div>'
        f'<svg viewBox="0 0 {_WIDTH} {height}" height="{height}" preserveAspectRatio="none" tabindex="0" role="img" '
        f'aria-label="Timeline of {len(line.lanes)} worker(s) over {line.end_s:.1f} seconds. Arrow keys go from bar '
        f'to bar." aria-describedby="detail">{"".join(drawn)}</svg>{_axis(line.end_s)}</div></div>'
        '<pre id="detail" aria-live="polite">Point at a bar, touch it, or go along them with the arrow keys.</pre>'
    )


def _whole(line: Timeline) -> tuple[Sequence[str], list[str]]:
    scale = _WIDTH / (line.end_s or 1.0)
    order = {kind: number for number, kind in enumerate(reversed(KINDS))}
    drawn = []
    for bar in sorted(line.bars, key=lambda bar: order[bar.kind]):
        x, width = (
            bar.start_s * scale,
            max(0.8, (bar.end_s - bar.start_s) * scale - 1),
        )  # a gap between neighbours
        y = bar.lane * _LANE + (_LANE - _BAR) / 2
        drawn.append(
            f'<rect class="bar {bar.kind}" x="{x:.1f}" y="{y:.0f}" width="{width:.1f}" height="{_BAR}">'
            f"<title>{escape(bar.says)}</title></rect>"
        )
    return line.lanes, drawn


def _sliced(line: Timeline) -> tuple[Sequence[str], list[str]]:
    each = -(-len(line.lanes) // MOST_LANES)
    names = [
        line.lanes[first]
        if each == 1
        else f"{line.lanes[first]} to {line.lanes[min(first + each, len(line.lanes)) - 1].rpartition(' ')[2]}"
        for first in range(0, len(line.lanes), each)
    ]
    rank = {kind: number for number, kind in enumerate(KINDS)}
    cells: dict[tuple[int, int], str] = {}
    for bar in line.bars:
        first, last = (
            min(SLICES - 1, int(at / (line.end_s or 1.0) * SLICES)) for at in (bar.start_s, bar.end_s)
        )
        for slice_ in range(first, last + 1):
            place = (bar.lane // each, slice_)
            if place not in cells or rank[bar.kind] < rank[cells[place]]:
                cells[place] = bar.kind
    counts = Counter((bar.lane // each, bar.kind) for bar in line.bars)
    paths: dict[tuple[int, str], list[str]] = defaultdict(list)
    step = _WIDTH // SLICES
    for (lane, slice_), kind in sorted(cells.items()):
        paths[lane, kind].append(f"M{slice_ * step} {lane * _LANE + 3}h{step}v{_BAR}h-{step}z")
    drawn = [
        f'<path class="bar {kind}" d="{"".join(pieces)}"><title>{escape(names[lane])}: '
        f"{LEGEND[kind]}, {counts[lane, kind]:,} in all</title></path>"
        for (lane, kind), pieces in paths.items()
    ]
    return names, drawn


def _axis(end_s: float) -> str:
    marks = "".join(
        f'<span style="left:{100 * at / (end_s or 1.0):.1f}%">{at:g} s</span>' for at in _round_times(end_s)
    )
    return f'<div class="axis">{marks}</div>'


def _round_times(end_s: float) -> list[float]:
    """Some five round numbers of seconds from 0 on."""
    if end_s <= 0:
        return [0.0]
    rough = end_s / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough)
    return [round(number * step, 9) for number in range(int(end_s / step) + 1)]
