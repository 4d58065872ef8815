"""scikit-learn and any other program that uses joblib run on a deployment."""

from __future__ import annotations

from typing import Any

import pytest

from bellwren import Cloud, SpecError

joblib = pytest.importorskip("joblib")
sklearn = pytest.importorskip("sklearn")


@pytest.fixture(autouse=True)
def backend() -> None:
    import bellwren.joblib

    bellwren.joblib.register()


def test_a_grid_search_runs_on_it_and_finds_what_it_finds_here(cloud: Cloud) -> None:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import GridSearchCV
    from sklearn.naive_bayes import GaussianNB

    X, y = load_digits(return_X_y=True)  # noqa: N806  the names of the field
    search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3, 0.1]}, cv=2, n_jobs=-1)
    here = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3, 0.1]}, cv=2).fit(X, y)
    uploaded = sum(entry.size for entry in cloud.jobs_store.list("code/"))
    with joblib.parallel_config(backend="bellwren", n_jobs=-1, workers=1, cloud=cloud):
        search.fit(X, y)
    assert search.best_params_ == here.best_params_
    assert list(search.cv_results_["mean_test_score"]) == list(here.cv_results_["mean_test_score"])
    # The data went once, and not with each of the six fits.
    uploaded = sum(entry.size for entry in cloud.jobs_store.list("code/")) - uploaded
    assert X.nbytes < uploaded < 2 * X.nbytes


def test_parallel_gives_results_in_order_and_the_exception_of_a_task(cloud: Cloud) -> None:
    def halve(x: int) -> float:
        if x == 13:
            raise LookupError(f"not {x}")
        return x / 2

    with joblib.parallel_config(backend="bellwren", n_jobs=6, workers=1, cloud=cloud):
        assert joblib.Parallel()(joblib.delayed(halve)(x) for x in range(6)) == [x / 2 for x in range(6)]
        with pytest.raises(LookupError, match="not 13"):
            joblib.Parallel()(joblib.delayed(halve)(x) for x in (12, 13))


def test_wrong_options_are_named_when_the_backend_is_chosen(cloud: Cloud) -> None:
    with (
        pytest.raises(SpecError, match="did you mean 'retries'"),
        joblib.parallel_config(backend="bellwren", n_jobs=2, cloud=cloud, retrys=3),
    ):
        pass


def test_the_number_of_jobs_is_that_of_the_deployments_workers(cloud: Any) -> None:
    from bellwren.joblib import Backend

    most = cloud.deployment.max_workers
    backend = Backend(cloud=cloud)
    assert [backend.effective_n_jobs(n) for n in (None, 1, 3, -1, -2, 10**6)] == [
        1,
        1,
        3,
        most,
        most - 1,
        most,
    ]
    assert Backend(cloud=cloud, workers=4).effective_n_jobs(-1) == 4
    # What joblib takes for one job it runs in this process.
    assert [Backend(cloud=cloud, workers=1).effective_n_jobs(n) for n in (-1, 3, 1)] == [2, 2, 1]
    with pytest.raises(ValueError, match="n_jobs == 0"):
        backend.effective_n_jobs(0)
