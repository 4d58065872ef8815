from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.training import synthetic
from training.evaluate import MODELS, main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("records")
    runs = synthetic.runs(sizes=(2e9, 4e9, 8e9), rounds=(1.0, 5.0), repeats=2)
    rows = [
        f"{run.workers:g}\t{float(run.properties['bytes']) / 1e6:g}\t{run.properties['rounds']:g}\t{run.runtime_s:.3f}"
        for run in runs
    ]
    header = "instance_count\tdata_size_MB\titerations\tgross_runtime"
    (path / "made.tsv").write_text("\n".join([header, *rows]) + "\n")
    return path


def test_the_results_have_the_agreed_form_for_every_model(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    arguments = [
        "--records",
        str(folder),
        "--contexts",
        "2",
        "--seeds",
        "1",
        "--splits",
        "1",
        "--epochs",
        "3",
    ]
    assert main([*arguments, "--json", str(out), "--plot", str(tmp_path / "plots")]) == 0
    results = json.loads(out.read_text())
    assert list(results) == ["made"]
    assert set(results["made"]) == set(MODELS)
    for summary in results["made"].values():
        assert set(summary) <= {"interpolation", "extrapolation"}
        for by_runs in summary.values():
            assert all(set(cell) == {"mre", "mae", "coverage95", "width95"} for cell in by_runs.values())
    assert set(results["made"]["ours"]["extrapolation"]) >= {"0", "1"}
    assert "0" not in results["made"]["ernest"]["extrapolation"]
    assert (tmp_path / "plots" / "made.png").stat().st_size > 1000


def test_the_same_call_gives_the_same_numbers(folder: Path, tmp_path: Path) -> None:
    outs = []
    for name in ("a.json", "b.json"):
        arguments = ["--records", str(folder), "--contexts", "1", "--seeds", "1", "--models", "ours,ernest"]
        main([*arguments, "--splits", "1", "--json", str(tmp_path / name)])
        outs.append((tmp_path / name).read_text())
    assert outs[0] == outs[1]


def test_milliseconds_of_bell_are_read_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        f"{workers},{1000 * (20 + 400 / workers) + at}" for workers in (4, 8, 12, 16, 20) for at in range(3)
    ]
    (tmp_path / "job.spark.csv").write_text("\n".join(["Nodes,Runtime", *rows]) + "\n")
    out = tmp_path / "out.json"
    options = ["--models", "ours,ernest,floor", "--seeds", "1", "--splits", "1", "--json", str(out)]
    assert main(["--records", str(tmp_path), *options]) == 0
    ours = json.loads(out.read_text())["job.spark"]["ours"]
    assert max(cell["mae"] for kind in ours.values() for cell in kind.values()) < 120
    assert "Bell (milliseconds)" in capsys.readouterr().out


def test_what_is_missing_or_unknown_is_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--records", str(folder), "--algorithms", "nothing"]) == 2
    assert "nothing" in capsys.readouterr().err
    assert main(["--records", str(folder), "--models", "oracle"]) == 2
    assert "oracle" in capsys.readouterr().err
    (tmp_path / "odd.csv").write_text("cores,took\n1,2\n")
    assert main(["--records", str(tmp_path)]) == 2
    assert "schema and units are unknown" in capsys.readouterr().err


def test_nothing_to_evaluate_is_said_and_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.csv").write_text("Nodes,Runtime\n")
    assert main(["--records", str(tmp_path)]) == 2
    assert "no sound execution record" in capsys.readouterr().err
    (tmp_path / "one.csv").write_text("Nodes,Runtime\n4,100\n")
    assert main(["--records", str(tmp_path), "--models", "ernest,floor"]) == 1
    assert "too few contexts or scale-outs to test one" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", [("--seeds", "0"), ("--contexts", "-1"), ("--splits", "0"), ("--epochs", "x")]
)
def test_counts_that_cannot_be_are_refused(folder: Path, option: tuple[str, str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["--records", str(folder), *option])
    assert refused.value.code == 2
