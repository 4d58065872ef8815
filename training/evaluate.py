"""Evaluate every model on execution records: ``python -m training.evaluate --records DIR --json FILE``.

Runs the protocol of `training.protocol` for each algorithm, prints mean relative and absolute errors beside the noise
floor, draws the curves, and writes ``{algorithm: {model: {"interpolation"|"extrapolation": {n: {"mre": %, "mae": s,
"coverage95": share, "width95": ratio}}}}}``. The same seed gives the same numbers.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from bellwren.errors import BellwrenError
from bellwren.records.execution import Execution
from bellwren.records.importing import Imported, read_folder
from training import tables
from training.bell import Bell
from training.bellamy.family import Bellamy, BellamyLocal
from training.bellamy.pretrain import Pretraining
from training.ernest import Ernest
from training.families import Adaptation, Family
from training.floor import NAME as FLOOR
from training.floor import floor_scores
from training.ours.family import Ours
from training.protocol import SPLITS, Fold, folds
from training.scores import Score, Summary, score, summarise

Say = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """What is evaluated, and how long."""

    models: tuple[str, ...]
    contexts: int | None = 7
    seeds: int = 3
    filtered: bool = False
    splits: int = SPLITS
    epochs: int = 800
    """Of Bellamy's pre-training."""


def families(options: Options) -> list[Family]:
    """The families asked for, in the order of the tables."""
    made: list[Family] = [
        Ernest(),
        Bell(),
        Bellamy(settings=Pretraining(epochs=options.epochs)),
        BellamyLocal(),
        Ours(),
    ]
    return [family for family in made if family.name in options.models]


MODELS = ("ernest", "bell", "bellamy", "bellamy-local", "ours", FLOOR)


def evaluate(executions: Sequence[Execution], options: Options, say: Say) -> dict[str, Summary]:
    """Errors of every model on one algorithm. A family gets the contexts of all seeds at once: some train side by
    side."""
    drawn = [
        fold
        for seed in range(options.seeds)
        for fold in folds(
            executions, contexts=options.contexts, seed=seed, filtered=options.filtered, splits=options.splits
        )
    ]
    scores: dict[str, list[Score]] = {}
    if FLOOR in options.models:
        scores[FLOOR] = [one for fold in drawn for task in fold.tasks for one in floor_scores(task)]
    for family in families(options):
        started = time.monotonic()
        scores[family.name] = evaluate_family(family, drawn, seed=0)
        say(f"  {family.name}: {len(drawn)} contexts, {time.monotonic() - started:.0f} s")
    return {name: summarise(scores[name]) for name in MODELS if scores.get(name)}


def evaluate_family(family: Family, drawn: Sequence[Fold], seed: int) -> list[Score]:
    """Fit on every fold's general data, adapt to every task, and score.

    Where a fold has no general data (a single context), only families that need none take part, and none without runs.
    """
    context_only = family.least_runs > 0
    usable = [fold for fold in drawn if fold.general or context_only or isinstance(family, Ours)]
    if not usable:
        return []
    if isinstance(family, Ours):
        return [one for fold in usable for one in _ours(family, fold, seed)]
    models = family.fit_many([fold.general for fold in usable], seed=seed)
    work = [
        (task, Adaptation(model, task.shown))
        for fold, model in zip(usable, models, strict=True)
        for task in fold.tasks
        if len(task.shown) >= family.least_runs
    ]
    adapted = family.adapt_many([adaptation for _, adaptation in work])
    return [one for (task, _), model in zip(work, adapted, strict=True) for one in score(task, model)]


def _ours(family: Ours, fold: Fold, seed: int) -> list[Score]:
    """Without general data, the runs shown are all that there is to learn from."""
    if fold.general:
        model = family.fit(fold.general, seed=seed)
        return [one for task in fold.tasks for one in score(task, model.adapt(task.shown))]
    out = []
    for task in fold.tasks:
        if task.shown:
            out += score(task, family.fit(task.shown, seed=seed).adapt(()))
    return out


def read(
    folder: Path, mapping: Path | None, algorithms: Sequence[str]
) -> tuple[Imported, dict[str, list[Execution]]]:
    """Runs of each algorithm. Raises ValueError for an algorithm that is not there."""
    imported = read_folder(folder, mapping)
    found: dict[str, list[Execution]] = {}
    for run in imported.executions:
        found.setdefault(run.algorithm, []).append(run)
    if not found:
        raise ValueError(f"no sound execution record in {folder}: {tables.sources(imported)}")
    missing = [name for name in algorithms if name not in found]
    if missing:
        raise ValueError(
            f"no records of {', '.join(missing)} in {folder}; there are {', '.join(sorted(found))}"
        )
    return imported, {name: found[name] for name in (algorithms or sorted(found))}


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point. Exit code 0 only if every algorithm was evaluated."""
    asked = _parser().parse_args(arguments)
    torch.set_num_threads(1)
    options = Options(
        models=tuple(asked.models.split(",")) if asked.models else MODELS,
        contexts=asked.contexts or None,
        seeds=asked.seeds,
        filtered=asked.filtered,
        splits=asked.splits,
        epochs=asked.epochs,
    )
    try:
        _check_models(options.models)
        imported, runs = read(
            asked.records, asked.mapping, asked.algorithms.split(",") if asked.algorithms else ()
        )
    except (BellwrenError, ValueError, OSError) as error:
        print(f"evaluate: {error}", file=sys.stderr)
        return 2
    print(tables.sources(imported))
    results: dict[str, dict[str, Summary]] = {}
    for algorithm, executions in runs.items():
        print(
            f"{algorithm}: {len(executions)} runs in {len({run.context for run in executions})} contexts",
            flush=True,
        )
        results[algorithm] = evaluate(executions, options, lambda line: print(line, flush=True))
        print(tables.table(algorithm, results[algorithm]), flush=True)
    if len(results) > 1:
        print(tables.means(results))
    if asked.json:
        asked.json.write_text(json.dumps(results, indent=1, allow_nan=False) + "\n", "utf-8")
    if asked.plot:
        for path in tables.draw(results, asked.plot):
            print(f"drawn: {path}")
    empty = [name for name, found in results.items() if not found]
    if empty:
        print(f"evaluate: too few contexts or scale-outs to test {', '.join(empty)}", file=sys.stderr)
    return 1 if empty else 0


def _check_models(names: Sequence[str]) -> None:
    unknown = sorted(set(names) - set(MODELS))
    if unknown:
        raise ValueError(f"no model named {', '.join(unknown)}; there are {', '.join(MODELS)}")


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 0")
    return int(text)


def _positive(text: str) -> int:
    if _count(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training.evaluate", description=__doc__)
    add = parser.add_argument
    add("--records", type=Path, required=True, help="folder of TSV or CSV tables, one for each algorithm")
    add(
        "--mapping",
        type=Path,
        help="JSON file that says what the columns mean (default: mapping.json in the folder)",
    )
    add("--algorithms", default="", help="only these, by comma")
    add("--contexts", type=_count, default=7, help="target contexts drawn for each seed; 0: all (default 7)")
    add("--seeds", type=_positive, default=3, help="how often contexts and runs are drawn (default 3)")
    add("--filtered", action="store_true", help="learn only from contexts of other size and parameters")
    add("--models", default="", help=f"only these, by comma, of {', '.join(MODELS)}")
    add("--splits", type=_positive, default=SPLITS, help="draws of the runs shown, for each context and n")
    add("--epochs", type=_positive, default=800, help="of Bellamy's pre-training (the paper: 2500)")
    add("--json", type=Path, help="write the results here")
    add("--plot", type=Path, help="draw the curves into this folder")
    return parser


if __name__ == "__main__":
    sys.exit(main())
