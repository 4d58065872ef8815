from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
import torch

from bellwren.forecasting.card import Card, ModelError
from bellwren.forecasting.features import Choices
from bellwren.forecasting.model import RuntimeModel
from tests.training import synthetic
from training.bell import Bell
from training.bellamy.family import Bellamy, BellamyLocal
from training.bellamy.pretrain import Pretraining
from training.ernest import Ernest
from training.export import BATCHES, BOUND, Published, export, largest_gap
from training.families import Family
from training.ours.family import Ours
from training.publish import exportable

torch.set_num_threads(1)
RUNS = synthetic.runs(sizes=(2e9, 4e9, 8e9), rounds=(1.0, 5.0), repeats=2)
FAMILIES = [Ours(), Ernest(), Bell(), Bellamy(settings=Pretraining(epochs=4)), BellamyLocal(epochs=20)]


@pytest.fixture(scope="module")
def published() -> Published:
    return export(exportable(Ours(), RUNS))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_family_becomes_one_file_that_agrees_with_its_model_at_every_batch(family: Family) -> None:
    trained = exportable(family, RUNS)
    made = export(trained)
    assert {0, 1, 2, 7, 300} == set(BATCHES)
    assert made.card.gap <= BOUND == 1e-5
    assert largest_gap(trained, RuntimeModel(made.model, made.card)) <= BOUND
    model = onnx.load_from_string(made.model)
    assert not any(part.external_data for part in model.graph.initializer)
    said = RuntimeModel.load(made.model, json.dumps(made.card.as_dict())).outlook(
        RUNS[0].properties, Choices.grid([(2, 4000), (8, 4000)]), RUNS[:1]
    )
    assert np.all(said.prediction.low_s > 0)
    assert np.all(np.isfinite(said.prediction.high_s))


def test_sizes_in_bytes_keep_their_last_digits(published: Published) -> None:
    served = RuntimeModel(published.model, published.card)
    sizes = (15_000_000_000.0, 15_000_000_700.0)
    medians = [
        served.outlook({**RUNS[0].properties, "bytes": size}, Choices.grid([(4, 4000)])).prediction.median_s[
            0
        ]
        for size in sizes
    ]
    assert medians[0] != medians[1]
    assert medians[0] == pytest.approx(medians[1], rel=1e-6)


def test_a_card_survives_json(published: Published) -> None:
    text = json.dumps(published.card.as_dict(), allow_nan=False)
    assert Card.from_dict(json.loads(text)) == published.card


def test_a_file_that_is_not_the_cards_is_refused(published: Published) -> None:
    with pytest.raises(ModelError, match="checksum"):
        RuntimeModel(published.model[:-1] + b"x", published.card)


def test_a_corrupt_file_is_refused_even_with_the_right_checksum(published: Published) -> None:
    from bellwren.forecasting.card import digest

    for broken in (b"", b"not a model", published.model[: len(published.model) // 2]):
        card = Card(**{**vars(published.card), "sha256": digest(broken)})
        with pytest.raises(ModelError, match="cannot be loaded"):
            RuntimeModel(broken, card)


def test_a_damaged_card_is_refused(published: Published) -> None:
    for card in ("{", "[]", "null", json.dumps({"bellwren_card": 1}), json.dumps({"bellwren_card": 99})):
        with pytest.raises(ModelError, match=r"card\.json"):
            RuntimeModel.load(published.model, card)


def test_an_export_that_differs_from_its_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from training import export as module

    monkeypatch.setattr(module, "largest_gap", lambda *_: 1e-3)
    with pytest.raises(ModelError, match="off by"):
        export(exportable(Ernest(), RUNS))


def test_scale_outs_of_zero_and_below_are_refused_and_far_ones_flagged(published: Published) -> None:
    served = RuntimeModel(published.model, published.card)
    for workers in (0, -3, float("nan")):
        with pytest.raises(ValueError, match="above 0"):
            served.outlook(RUNS[0].properties, Choices.grid([(workers, 4000)]))
    said = served.outlook(RUNS[0].properties, Choices.grid([(2, 4000), (1000, 4000)]))
    assert said.extrapolated == (False, True)


def test_unseen_categories_and_new_missing_and_far_properties_are_named(published: Published) -> None:
    served = RuntimeModel(published.model, published.card)
    said = served.outlook({"bytes": 1e15, "dataset": "images", "brand_new": 1.0}, Choices.grid([(4, 4000)]))
    text = " ".join(said.flags)
    assert all(name in text for name in ("images", "brand_new", "rounds is missing", "bytes=1e+15"))
    assert not said.context_known
    assert np.isfinite(said.prediction.high_s[0])
