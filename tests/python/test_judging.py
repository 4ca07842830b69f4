# SPDX-License-Identifier: MIT
"""gradwalk train with validation, early stopping, dropout and cross-validation."""

import json
import random
import re

import pytest
from cli import gradwalk, gradwalk_json
from test_columns import messy
from training import folder, metadata, refused, run, save  # noqa: F401


@pytest.fixture(autouse=True)
def noisy(folder):  # noqa: F811
    """Writes a table of two overlapping classes, on which a network soon overfits."""
    chance = random.Random(1)
    rows = [(chance.gauss(kind, 1), chance.gauss(0, 1), "ab"[kind]) for kind in (0, 1) for _ in range(60)]
    (folder / "noisy.csv").write_text("x,y,kind\n" + "".join(f"{x},{y},{kind}\n" for x, y, kind in rows))


EARLY = ("noisy.csv", "--hidden", "32,32", "--validation", "0.25", "--l2", "0")


def test_the_model_with_the_lowest_validation_loss_is_kept():
    shown = run("train", *EARLY, "--save", "m.safetensors")
    assert shown.startswith("noisy.csv: 96 rows, 24 of them for validation, 2 features, 2 classes\n")
    kept = int(re.search(r"\nkept the model of step (\d+), which has the lowest validation loss\n", shown).group(1))
    assert 0 < kept < 1000
    training = metadata("m.safetensors")["training"]
    assert training["best_step"] == kept and training["steps"] == 2000
    table = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if re.match(r"(train|validation|test) +\d", line)}
    assert [table[part][0] for part in ("train", "validation", "test")] == ["72", "24", "24"]
    assert float(table["validation"][1]) == pytest.approx(training["best_loss"], rel=1e-3)
    losses = [float(loss) for loss in re.findall(r"validation ([\d.e-]+) ", shown)]
    assert len(losses) >= 9 and min(losses) >= training["best_loss"] * 0.9999 and losses[-1] > 2 * training["best_loss"]
    # predict uses the same model: its loss over all rows is the weighted mean of the parts' losses.
    scored = gradwalk("predict", "m.safetensors", "noisy.csv", "--score")
    loss = float(re.search(r"loss ([\d.]+)", scored.stderr).group(1))
    parts = sum(int(rows) * float(loss) for rows, loss, _ in table.values()) / 120
    assert loss == pytest.approx(parts, rel=1e-3)
    last = gradwalk_json("train", *EARLY[:3], "--l2", "0", "--json")
    assert gradwalk_json("train", *EARLY, "--json")["test"]["loss"] < last["test"]["loss"]


def test_training_stops_early_without_improvement():
    patient = json.loads(run("train", *EARLY, "--json"))
    shown = run("train", *EARLY, "--patience", 150, "--save", "m.safetensors")
    ended = re.search(r"\nstopped early at step (\d+) of 2000: no lower validation loss for (\d+) steps\nkept the model of step (\d+), "
                      r"which has the lowest validation loss\n\1 steps in ", shown)
    steps, waited, kept = map(int, ended.groups())
    assert waited == 150 and steps == kept + 150 < 2000
    assert patient["kept_step"] >= kept
    assert metadata("m.safetensors")["training"]["steps"] == steps
    assert refused("train", "--resume", "m.safetensors") == (
        f"train: needs a run that has not stopped early, got a run that stopped at step {steps}, with the best model at step {kept}; "
        "give a larger --patience than 150")
    run("train", "--resume", "m.safetensors", "--patience", 100000, "-q")
    assert metadata("m.safetensors")["training"]["steps"] == 2000
    assert json.loads(run("train", *EARLY, "--patience", 150, "--json"))["kept_step"] == kept


def test_early_stopping_does_not_depend_on_interruptions():
    options = (*EARLY, "--patience", 150)
    steps = save(*options, to="straight")["training"]["steps"]
    for stop in random.Random(2).sample(range(1, steps), 5):
        gradwalk("train", *map(str, options), "-q", "--save", "stopped", "--stop-at", str(stop))
        run("train", "--resume", "stopped", "-q")
        assert open("stopped", "rb").read() == open("straight", "rb").read()


def test_patience_needs_validation_rows():
    save("noisy.csv", "--steps", 10)
    assert refused("train", "--resume", "m.safetensors", "--steps", 20, "--patience", 5) == (
        "train: needs validation rows for patience, got none; set validation, for example to 0.1")


def test_dropout_is_printed_and_a_saved_model_has_all_its_neurons():
    shown = run("train", "noisy.csv", "--dropout", 0.25, "--steps", 50, "--save", "m.safetensors")
    assert "softmax loss, dropout 0.25\n" in shown or "bce loss, dropout 0.25\n" in shown
    assert "32 rows per step, dropout 0.25\n" in run("inspect", "m.safetensors")
    first = run("predict", "m.safetensors", "noisy.csv")
    assert first == run("predict", "m.safetensors", "noisy.csv")
    assert refused("train", "noisy.csv", "--hidden", "none", "--dropout", 0.1) == (
        "train: needs hidden neurons for dropout, got none; add hidden layers, or leave out dropout")


def test_dropout_reduces_overfitting():
    options = ("noisy.csv", "--hidden", "32,32", "--l2", "0", "--json")
    without, with_it = gradwalk_json("train", *options), gradwalk_json("train", *options, "--dropout", "0.5")
    assert with_it["train"]["loss"] > 2 * without["train"]["loss"]
    assert with_it["test"]["loss"] < 0.7 * without["test"]["loss"]


def test_folds_test_each_row_once_and_print_mean_and_deviation(folder):  # noqa: F811
    result = gradwalk_json("train", "noisy.csv", "--folds", "5", "--steps", "200", "--json")
    accuracies = [fold["accuracy"] for fold in result["folds"]]
    assert [fold["rows"] for fold in result["folds"]] == [24] * 5
    assert result["mean"] == pytest.approx(sum(accuracies) / 5) and 0.5 < result["mean"] < 0.9
    assert result["deviation"] == pytest.approx((sum((accuracy - result["mean"]) ** 2 for accuracy in accuracies) / 5) ** 0.5)
    shown = run("train", "noisy.csv", "--folds", 5, "--steps", 200)
    assert shown.startswith("noisy.csv: 5 folds, each tested by a model trained on the other folds\n\nfold  rows ")
    assert shown.endswith(f"\nmean accuracy {100 * result['mean']:.1f}%, standard deviation {100 * result['deviation']:.1f}%\n")
    assert [line.split()[0] for line in run("train", "noisy.csv", "--folds", 3, "--steps", 20, "-q").splitlines()[:4]] == [
        "fold", "1", "2", "3"]
    (folder / "line.csv").write_text("".join(f"{i},{3 * i + 1}.5\n" for i in range(40)))
    assert re.search(r"\nmean R² 0\.9\d\d, standard deviation 0\.\d+\n", run("train", "line.csv", "--folds", 4, "--steps", 500))


def test_folds_keep_no_model():
    for options in (["--save", "m"], ["--resume", "m"], ["--checkpoint-every", 5], ["--stop-at", 5]):
        assert refused("train", "noisy.csv", "--folds", 5, *options, status=2) == (
            f"train: needs --folds without options for a saved model, because it keeps none, got {options[0]}; omit it")
    assert refused("train", "noisy.csv", "--folds", 5, "--plot", "m.svg", status=2) == (
        "train: needs --folds without --plot, because it keeps no model, got --plot; omit it")
    assert refused("train", "noisy.csv", "--folds", 5, "--test-split", 0.5, status=2) == (
        "train: needs --folds or --test-split, got both; omit one of them: --folds tests every row")
    assert refused("train", "noisy.csv", "--folds", 500) == (
        "folds: needs from 2 folds to one per row, 120, got 500; 5 or 10 are usual")


def test_a_run_with_all_features_resumes_identically_from_20_stops(folder):  # noqa: F811
    """The run has early stopping, dropout, text columns and filled gaps."""
    (folder / "rooms.csv").write_text(messy())
    options = ("rooms.csv", "--drop", "id", "--missing", "mean", "--other", "--validation", 0.2, "--patience", 250, "--dropout", 0.1,
               "--hidden", "12,8", "--lr", 0.02, "--steps", 3000)
    training = save(*options, to="straight")["training"]
    assert training["best_step"] + 250 == training["steps"] < 3000
    for stop in random.Random(20).sample(range(1, training["steps"]), 20):
        done = gradwalk("train", *map(str, options), "-q", "--save", "stopped", "--stop-at", str(stop))
        assert f"stopped at step {stop} of 3000" in done.stderr
        run("train", "--resume", "stopped", "-q")
        assert open("stopped", "rb").read() == open("straight", "rb").read(), stop


def test_the_plot_shows_the_confusion_matrix_and_the_test_accuracy():
    result = gradwalk_json("train", "noisy.csv", "--steps", "100", "--json", "--plot", "p.svg")
    drawn = open("p.svg").read()
    assert ">Test rows<" in drawn and ">predicted as<" in drawn
    for metrics in result["classes"]:
        for count in metrics["taken_for"]:
            assert f">{count}<" in drawn
    right = round(result["test"]["accuracy"] * 24)
    assert f"test: {right} of 24 right" in drawn
    run("train", "noisy.csv", "--steps", 100, "--test-split", 0, "--plot", "p.svg")
    assert ">predicted as<" not in open("p.svg").read()
