# SPDX-License-Identifier: MIT
"""gradwalk train, predict and inspect for regression, and a comparison with scikit-learn's MLPRegressor."""

import csv
import math
import re
import warnings

import numpy
import pytest
import sklearn.datasets
from cli import gradwalk, gradwalk_json
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score
from sklearn.model_selection import ShuffleSplit
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler
from training import folder, metadata, refused, run  # noqa: F401


def write(path, x, y, names=None):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow([*(names or [f"x{i}" for i in range(x.shape[1])]), "target"])
        for row, target in zip(x, y):
            out.writerow([*map(repr, map(float, row)), repr(float(target))])


def wave(rows=80):
    x = numpy.linspace(-3, 3, rows).reshape(-1, 1)
    return x, 40 + 10 * numpy.sin(x[:, 0])


def test_a_numeric_target_is_regressed_and_the_output_says_so():
    write("wave.csv", *wave())
    lines = run("train", "wave.csv", "--save", "m").splitlines()
    assert re.fullmatch(r"wave.csv: 64 rows, 1 feature, regression of target \(3\d\.\d+ to (49\.\d+|50)\)", lines[0]), lines[0]
    assert "mse loss" in lines[1]
    steps = [line for line in lines if line.startswith("step")]
    assert all(re.search(r"loss [\d.e-]+ +penalty [\d.e-]+ +R² -?[\d.]+ +lr", line) for line in steps)
    table = lines[next(i for i, line in enumerate(lines) if "RMSE" in line):]
    assert table[0].split() == ["rows", "loss", "RMSE", "MAE", "R²"]
    assert table[1].split()[0] == "train" and table[2].split()[0] == "test"
    assert float(table[2].split()[-1]) > 0.95
    text = run("inspect", "m")
    assert re.search(r"^target +target, mean 4\d[.\d]*, standard deviation [67][.\d]*$", text, re.MULTILINE) and "classes" not in text
    target = gradwalk_json("inspect", "m", "--json")["target"]
    assert target["name"] == "target" and 35 < target["mean"] < 45


def test_task_selects_classification_or_regression():
    open("few.csv", "w").write("a,n\n" + "".join(f"{i},{i % 5}\n" for i in range(40)))
    assert "5 classes" in run("train", "few.csv", "--steps", 5)
    assert "regression of n (0 to 4)" in run("train", "few.csv", "--steps", 5, "--task", "regress", "--save", "m")
    assert metadata("m")["task"] == "regression" and metadata("m")["source"]["task"] == "regress"
    run("train", "--resume", "m", "--steps", 9, "-q")
    write("wave.csv", *wave(30))
    assert "30 classes" in run("train", "wave.csv", "--steps", 5, "--task", "classify", "--test-split", 0)
    assert refused("train", "wave.csv", "--task", "guess", status=2).startswith("--task: ")
    assert refused("train", "wave.csv", "--loss", "softmax") == (
        "train: needs a loss for numbers, got softmax; use the loss mse, mae or huber")
    assert refused("train", "few.csv", "--loss", "huber") == (
        "train: needs a loss for classes, got huber; use the loss softmax, bce, hinge or mse")
    open("text.csv", "w").write("a,n\n1,red\n2,blue\n3,red\n")
    assert refused("train", "text.csv", "--task", "regress") == (
        "text.csv: needs a number, got 'red' in line 2, column 2 (n); correct it or delete the row")


@pytest.mark.parametrize("loss", ["mse", "mae", "huber"])
def test_regression_predictions_and_metrics_equal_sklearns(loss):
    x, y = wave()
    write("wave.csv", x, y)
    result = gradwalk_json("train", "wave.csv", "--loss", loss, "--l2", "0", "--lr", "0.01", "--test-split", "0", "--save", "m", "--json")
    text = run("predict", "m", "wave.csv")
    assert text.splitlines()[0] == "prediction"
    exact = [row["prediction"] for row in gradwalk_json("predict", "m", "wave.csv", "--json")["rows"]]
    assert [f"{number:.6g}" for number in exact] == text.split()[1:]
    assert result["train"]["r2"] == pytest.approx(r2_score(y, exact)) and result["train"]["r2"] > 0.99
    assert result["train"]["rmse"] == pytest.approx(math.sqrt(mean_squared_error(y, exact)))
    assert result["train"]["mae"] == pytest.approx(mean_absolute_error(y, exact))
    scored = gradwalk("predict", "m", "wave.csv", "--score")
    assert re.fullmatch(r"R² [\d.]+, RMSE [\d.]+, MAE [\d.]+, loss [\d.e-]+\n", scored.stderr)
    assert gradwalk_json("predict", "m", "wave.csv", "--score", "--json")["r2"] == pytest.approx(result["train"]["r2"])


def test_a_resumed_regression_is_identical():
    write("wave.csv", *wave())
    run("train", "wave.csv", "--steps", 60, "-q", "--save", "straight")
    for stop in (1, 17, 59):
        assert gradwalk("train", "wave.csv", "--steps", "60", "-q", "--save", "m", "--stop-at", str(stop)).returncode == 0
        run("train", "--resume", "m", "-q")
        assert open("m", "rb").read() == open("straight", "rb").read()


def test_the_plot_of_a_regression_shows_residuals_and_the_fitted_curve(folder):
    write("wave.csv", *wave())
    run("train", "wave.csv", "--steps", 50, "-q", "--plot", "fit.svg")
    svg = (folder / "fit.svg").read_text()
    assert "Fitted curve" in svg and "Residuals" in svg and "predicted target" in svg
    assert re.search(r"50 steps, R² -?[\d.]+, RMSE [\d.]+; test: R² -?[\d.]+, RMSE", svg)
    x = numpy.random.default_rng(1).normal(size=(50, 3))
    write("three.csv", x, x.sum(axis=1))
    run("train", "three.csv", "--steps", 50, "-q", "--plot", "fit.png")
    run("train", "three.csv", "--steps", 50, "-q", "--plot", "fit.svg")
    svg = (folder / "fit.svg").read_text()
    assert "Fitted curve" not in svg and "Residuals" in svg


def test_a_constant_target_is_refused():
    open("same.csv", "w").write("a,n\n1,2.5\n2,2.5\n3,2.5\n4,2.5\n")
    assert refused("train", "same.csv") == (
        "train: needs targets that differ, got 2.5 in every row; add rows, or choose another column")


DATA = {
    "diabetes": lambda: sklearn.datasets.load_diabetes(return_X_y=True),
    "make_regression": lambda: sklearn.datasets.make_regression(n_samples=400, n_features=10, noise=10, random_state=0),
    "make_friedman1": lambda: sklearn.datasets.make_friedman1(n_samples=400, noise=1, random_state=0),
}


@pytest.mark.parametrize("name", DATA)
def test_defaults_are_as_good_as_scikit_learns(name):
    x, y = DATA[name]()
    ours, theirs = [], []
    for seed, (train, test) in enumerate(ShuffleSplit(n_splits=5, test_size=0.25, random_state=2026).split(x)):
        write("train.csv", x[train], y[train])
        write("test.csv", x[test], y[test])
        gradwalk_json("train", "train.csv", "--test-split", "0", "--save", "m", "--json")
        ours.append(gradwalk_json("predict", "m", "test.csv", "--score", "--json")["r2"])
        # scikit-learn trains the same network for 2,000 steps of 32 rows, on standardised features and targets.
        scale, scale_y = StandardScaler().fit(x[train]), StandardScaler().fit(y[train].reshape(-1, 1))
        epochs = max(1, round(2000 / math.ceil(len(train) / 32)))
        network = MLPRegressor(hidden_layer_sizes=(16, 16), batch_size=32, max_iter=epochs, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            network.fit(scale.transform(x[train]), scale_y.transform(y[train].reshape(-1, 1)).ravel())
        guess = scale_y.inverse_transform(network.predict(scale.transform(x[test])).reshape(-1, 1)).ravel()
        theirs.append(r2_score(y[test], guess))
    print(f"{name}: ours {numpy.mean(ours):.4f}, theirs {numpy.mean(theirs):.4f}")
    assert numpy.mean(ours) >= numpy.mean(theirs) - 0.02
