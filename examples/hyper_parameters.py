"""Search hyper-parameters with scikit-learn: every fit of the grid runs on a worker.

$ python -m examples.hyper_parameters
best of 3: {'max_depth': 4}, accuracy 0.967
"""

from __future__ import annotations

import os

import joblib
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

import bellwren.joblib

GRID = {"max_depth": [1, 2, 4]}
# The workers of the local cloud import what this environment has; those on AWS are sent it.
REQUIREMENTS = [] if "AWS_ENDPOINT_URL" in os.environ else ["scikit-learn"]


def main() -> None:
    flowers, kinds = load_iris(return_X_y=True)
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), GRID, cv=5)

    bellwren.joblib.register()
    with joblib.parallel_config(backend="bellwren", n_jobs=-1, requirements=REQUIREMENTS):
        search.fit(flowers, kinds)

    tried = len(search.cv_results_["params"])
    print(f"best of {tried}: {search.best_params_}, accuracy {search.best_score_:.3f}")


if __name__ == "__main__":
    main()
