# SPDX-License-Identifier: MIT
"""minimize() finds the coefficients of scikit-learn's logistic regression, for the same objective."""

import pathlib

import numpy
import oracle
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

SOLVE = str(pathlib.Path(oracle.PROGRAM).with_name("gradwalk_solve"))


def ours(x, y, penalty, method):
    rows = [f"{label} " + " ".join(float(number).hex() for number in row) for row, label in zip(x, y)]
    coefficients, ending = oracle.ask([f"logistic {method} {float(penalty).hex()} {len(rows)}", *rows], SOLVE)
    assert ending.startswith("converged on"), ending
    assert ending.endswith("(compiled)"), ending
    return oracle.numbers(coefficients)


def theirs(x, y, penalty):
    shrinking = {"C": 1 / penalty} if penalty else {"penalty": None}
    model = LogisticRegression(**shrinking, solver="newton-cholesky", tol=1e-9).fit(x, y)
    return [*model.coef_[0], *model.intercept_]


def breast_cancer():
    x, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(x), y


def versicolor_or_virginica():
    x, y = load_iris(return_X_y=True)
    return x[y > 0], y[y > 0] - 1


@pytest.mark.parametrize("method", ["bfgs", "lbfgs", "newton"])
@pytest.mark.parametrize("data, penalty", [(breast_cancer, 1.0), (breast_cancer, 0.01), (versicolor_or_virginica, 0.0)])
def test_logistic_regression_has_the_coefficients_of_scikit_learn(data, penalty, method):
    x, y = data()
    numpy.testing.assert_allclose(ours(x, y, penalty, method), theirs(x, y, penalty), rtol=1e-6, atol=1e-6)
