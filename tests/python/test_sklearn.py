# SPDX-License-Identifier: MIT
"""Compares gradwalk train with default settings to scikit-learn's MLPClassifier of the same size, on the same splits."""

import csv
import warnings

import numpy
import pytest
import sklearn.datasets
from cli import gradwalk_json
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

SPLITS = 5


def write(path, data, rows):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        names = list(getattr(data, "feature_names", [f"x{i}" for i in range(data.data.shape[1])]))
        out.writerow([*names, "class"])
        for row in rows:
            out.writerow([*(repr(float(x)) for x in data.data[row]), data.target_names[data.target[row]]])


def theirs(data, train, test, seed):
    """Returns the better accuracy of scikit-learn, with or without standardised features."""
    accuracies = []
    for scaled in (False, True):
        network = MLPClassifier(hidden_layer_sizes=(16, 16), random_state=seed)
        model = make_pipeline(StandardScaler(), network) if scaled else network
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(data.data[train], data.target[train])
        accuracies.append(model.score(data.data[test], data.target[test]))
    return accuracies


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_defaults_are_as_good_as_scikit_learns(name, tmp_path):
    data = getattr(sklearn.datasets, f"load_{name}")()
    splitter = StratifiedShuffleSplit(n_splits=SPLITS, test_size=0.25, random_state=0)
    ours, others = [], []
    for seed, (train, test) in enumerate(splitter.split(data.data, data.target)):
        write(tmp_path / "train.csv", data, train)
        write(tmp_path / "test.csv", data, test)
        model = str(tmp_path / "model.safetensors")
        gradwalk_json("train", str(tmp_path / "train.csv"), "--test-split", "0", "--save", model, "--json")
        score = gradwalk_json("predict", model, str(tmp_path / "test.csv"), "--score", "--json")
        ours.append(score["accuracy"])
        others.append(theirs(data, train, test, seed))
    raw, scaled = numpy.mean(others, axis=0)
    print(f"{name}: ours {numpy.mean(ours):.4f}, theirs {raw:.4f}, with standardised features {scaled:.4f}")
    assert numpy.mean(ours) >= max(raw, scaled) - 0.02
