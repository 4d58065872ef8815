from __future__ import annotations

import numpy as np
import pytest
import torch

from bellwren.forecasting.features import Choices
from tests.training import synthetic
from training.bellamy.family import Bellamy, BellamyLocal
from training.bellamy.finetune import STRATEGIES, finetune, rate_at, unfreezes_at
from training.bellamy.network import Stack
from training.bellamy.pretrain import Pretrained, Pretraining, pretrain

torch.set_num_threads(1)
RUNS = synthetic.runs(sizes=(2e9, 4e9, 8e9), rounds=(1.0, 5.0), repeats=2)


@pytest.fixture(scope="module")
def model() -> Pretrained:
    return pretrain([RUNS], Pretraining(epochs=60), seed=0)[0]


def test_one_model_has_the_1177_parameters_of_the_paper() -> None:
    stack = Stack(1, torch.Generator().manual_seed(0))
    assert sum(parameter.numel() for parameter in stack.parameters()) == 1177


def test_pretraining_learns_the_scale_of_the_runtimes(model: Pretrained) -> None:
    assert model.deviation < 0.5


def test_the_same_seed_gives_the_same_model_whatever_was_drawn_before() -> None:
    weights = []
    for before in (1, 2):
        torch.manual_seed(before)
        found = pretrain([RUNS], Pretraining(epochs=3), seed=0)[0]
        weights.append(found.stack.get_parameter("z1_weight"))
    assert torch.equal(*weights)


def test_a_model_of_a_stack_does_not_touch_its_neighbours() -> None:
    few = [RUNS[:3], RUNS[24:27]]
    together = finetune([None, None], few, "local", epochs=30)
    bias = [together[at].stack.get_parameter("z2_bias")[at].item() for at in (0, 1)]
    swapped = finetune([None, None], [few[0], few[0]], "local", epochs=30)
    assert swapped[0].stack.get_parameter("z2_bias")[0].item() == pytest.approx(bias[0], abs=1e-6)
    assert bias[0] != bias[1]


def changed(model: Pretrained, strategy: str) -> set[str]:
    tuned = finetune([model], [RUNS[:3]], strategy, epochs=80)[0]  # type: ignore[arg-type]
    return {
        name.split("_")[0]
        for name, parameter in tuned.stack.named_parameters()
        if not torch.equal(parameter[0], model.stack.get_parameter(name)[model.at])
    }


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_strategy_fits_the_runs_that_it_is_shown(model: Pretrained, strategy: str) -> None:
    general = Bellamy(strategy=strategy, settings=Pretraining(epochs=5), epochs=400)  # type: ignore[arg-type]
    family = BellamyLocal(epochs=400) if strategy == "local" else general
    shown = [run for run in RUNS if run.context == RUNS[0].context][::2]
    adapted = family.fit(RUNS).adapt(shown)
    said = adapted.predict(shown[0].properties, Choices.of(shown))
    error = np.abs(said.median_s - np.array([run.runtime_s for run in shown]))
    assert error.mean() < 8.0


def test_reset_draws_z_anew_and_encoder_and_decoder_stay_frozen(model: Pretrained) -> None:
    for strategy in ("partial-unfreeze", "full-unfreeze", "partial-reset", "full-reset"):
        assert not {"g1", "g2", "h1", "h2"} & changed(model, strategy)
    assert {"z1", "z2"} <= changed(model, "partial-reset")
    assert {"f1", "f2", "z1", "z2"} <= changed(model, "full-reset")


def test_the_schedule_is_that_of_the_paper() -> None:
    assert rate_at(0) == pytest.approx(0.001)
    assert rate_at(10) == pytest.approx(0.01)
    assert rate_at(30) == pytest.approx(0.001)
    assert rate_at(50) == pytest.approx(0.01)
    assert unfreezes_at(1, "partial-unfreeze") == float("inf")
    assert [unfreezes_at(n, "partial-unfreeze") for n in (2, 3, 4)] == [30, 60, 120]
    assert unfreezes_at(3, "full-unfreeze") == 0


def test_no_answer_is_negative() -> None:
    adapted = BellamyLocal(epochs=5).fit([]).adapt(RUNS[:1])
    said = adapted.predict(RUNS[0].properties, Choices.grid([(1, 4000), (1000, 4000)]))
    assert np.all(said.low_s > 0)
