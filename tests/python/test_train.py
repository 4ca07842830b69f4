# SPDX-License-Identifier: MIT
"""gradwalk train, predict and inspect as their users meet them: every option, every refusal, and nothing ever lost."""

import csv
import io
import json
import math
import os
import random
import re
import resource
import signal
import struct
import subprocess
import tempfile
import time

import pytest
from cli import PROGRAM, gradwalk, gradwalk_json, on_terminal

FLOWERS = "size,width,kind\n" + "".join(
    f"{i % 10 + (5 if i % 3 == 0 else 0)},{i * 7 % 11 - (3 if i % 3 == 1 else 0)},{'abc'[i % 3]}\n" for i in range(60)
)

ENDLESS = ("--schedule", "constant", "--lr", "0.01")
LONG = ("moons", "--steps", "1000000", *ENDLESS)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flowers.csv").write_text(FLOWERS)
    return tmp_path


def run(*arguments, **options):
    """What a run that must succeed prints."""
    done = gradwalk(*map(str, arguments), **options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def refused(*arguments, status=1, **options):
    """What a run that must fail says, which is all it says."""
    done = gradwalk(*map(str, arguments), **options)
    assert (done.returncode, done.stdout) == (status, ""), done
    return done.stderr.removesuffix("Run with --help for more information.\n").rstrip("\n")


def save(*arguments, to="m.safetensors"):
    run("train", *arguments, "-q", "--save", to)
    return metadata(to)


def header(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + size]), data[8 + size:]


def metadata(path):
    """What a model's file says about it, JSON texts read."""
    texts = header(path)[0]["__metadata__"]
    return {
        key: json.loads(text) if key in ("recipe", "training", "source", "sizes", "features", "labels") else text
        for key, text in texts.items()
    }


def temporary_files():
    return [name for name in os.listdir() if name.endswith(".tmp")]


def start(*arguments):
    """A training that has begun, for its handler of signals is there."""
    process = subprocess.Popen([PROGRAM, "train", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        status = open(f"/proc/{process.pid}/status").read()
        if int(re.search(r"SigCgt:\s*(\w+)", status).group(1), 16) & 1 << signal.SIGINT - 1:
            time.sleep(0.1)
            return process
        time.sleep(0.005)
    pytest.fail("training did not begin")


def interrupted(*arguments, by=signal.SIGINT):
    process = start(*arguments)
    process.send_signal(by)
    out, error = process.communicate(timeout=60)
    return process.returncode, out, error


# ---- options and what they do ----

# Option, its value, and where in the file it shows.
RECIPE = [
    (["--hidden", "3,4"], lambda m: m["recipe"]["hidden"], [3, 4]),
    (["--hidden", "none"], lambda m: m["sizes"], [2, 1]),
    (["--activation", "tanh"], lambda m: m["activation"], "tanh"),
    (["--activation", "gelu"], lambda m: m["activation"], "gelu"),
    (["--activation", "leaky_relu"], lambda m: m["activation"], "leaky_relu"),
    (["--activation", "elu"], lambda m: m["activation"], "elu"),
    (["--activation", "softplus"], lambda m: m["activation"], "softplus"),
    (["--optimizer", "rmsprop"], lambda m: m["recipe"]["optimizer"]["kind"], "rmsprop"),
    (["--optimizer", "adagrad"], lambda m: m["recipe"]["optimizer"]["kind"], "adagrad"),
    (["--init", "xavier"], lambda m: m["recipe"]["init"], "xavier"),
    (["--loss", "mse"], lambda m: m["loss"], "mse"),
    (["--optimizer", "adam"], lambda m: m["recipe"]["optimizer"]["kind"], "adam"),
    (["--optimizer", "momentum"], lambda m: m["recipe"]["optimizer"]["momentum"], 0.9),
    (["--lr", "0.25"], lambda m: m["recipe"]["optimizer"]["lr"], 0.25),
    (["--schedule", "constant"], lambda m: m["recipe"]["rate"]["kind"], "constant"),
    (["--final-rate", "0.5"], lambda m: m["recipe"]["rate"]["final"], 0.5),
    (["--decay-steps", "7"], lambda m: m["recipe"]["rate"]["steps"], 7),
    (["--warm-up", "2"], lambda m: m["recipe"]["rate"]["warm_up"], 2),
    (["--momentum", "0.5"], lambda m: m["recipe"]["optimizer"]["momentum"], 0.5),
    (["--weight-decay", "0.5"], lambda m: m["recipe"]["optimizer"]["weight_decay"], 0.5),
    (["--batch", "10"], lambda m: m["recipe"]["batch"], 10),
    (["--l1", "0.5"], lambda m: m["recipe"]["l1"], 0.5),
    (["--l2", "0.5"], lambda m: m["recipe"]["l2"], 0.5),
    (["--clip", "0.125"], lambda m: m["recipe"]["clip"], 0.125),
    (["--dropout", "0.25"], lambda m: m["recipe"]["dropout"], 0.25),
    (["--validation", "0.25"], lambda m: m["recipe"]["validation"], 0.25),
    (["--patience", "50"], lambda m: (m["recipe"]["patience"], m["recipe"]["validation"]), (50, 0.1)),
    (["--seed", "18446744073709551615"], lambda m: m["recipe"]["seed"], 2**64 - 1),
]


@pytest.mark.parametrize("options, shown, expected", RECIPE, ids=["".join(one[0]) for one in RECIPE])
def test_an_option_of_the_recipe_changes_it_and_what_is_learned(options, shown, expected):
    usual = save("moons", "--steps", 3, to="usual")
    model = save("moons", "--steps", 3, *options)
    assert shown(model) == expected != shown(usual)
    assert header("m.safetensors")[1] != header("usual")[1]


def test_every_option_is_in_the_help_and_in_this_file():
    here = open(__file__).read()
    for command in ("train", "predict", "inspect"):
        text = run(command, "--help")
        assert "Example" in text
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text.split("Example")[0])) - {"--help"}
        assert len(options) >= {"train": 28, "predict": 6, "inspect": 1}[command]
        for option in options - {"--plot", "--color", "--all"}:  # --all is in test_columns.py
            assert f'"{option}' in here, option


def test_the_help_tells_the_defaults():
    text = run("train", "--help")
    moons, flowers, spiral = save("moons", "--steps", 1), save("flowers.csv", "--steps", 1), save("spiral", "--steps", 1)
    rules = {name: re.search(rf"^  {name} .*\[(.*)\]", text, re.MULTILINE).group(1) for name in (
        "--l2", "--init", "--schedule", "--decay-steps", "--seed", "--hidden", "--batch", "--final-rate")}
    assert rules["--l2"] == "0.003; numbers 0.01; made-up data 0.0001"
    assert [m["recipe"]["l2"] for m in (flowers, moons, spiral)] == [0.003, 0.0001, 0.0001]
    assert rules["--init"] == "he; moons uniform"
    assert [m["recipe"]["init"] for m in (flowers, moons)] == ["he", "uniform"]
    assert rules["--schedule"] == "cosine; moons linear"
    assert [m["recipe"]["rate"]["kind"] for m in (flowers, moons)] == ["cosine", "linear"]
    assert rules["--decay-steps"] == "as many as --steps"
    assert [m["recipe"]["rate"]["steps"] for m in (flowers, moons)] == [1, 1]
    assert save("flowers.csv")["recipe"]["rate"]["steps"] == 2000 and save("moons")["recipe"]["rate"]["steps"] == 100
    assert rules["--seed"] == "1337" and moons["recipe"]["seed"] == 1337
    assert rules["--hidden"] == "16,16" and moons["recipe"]["hidden"] == [16, 16]
    assert rules["--batch"] == "32; moons all" and [m["recipe"]["batch"] for m in (flowers, moons)] == [32, 0]
    assert rules["--final-rate"] == "0; moons 0.1"
    assert [m["recipe"]["rate"]["final"] for m in (flowers, moons)] == [0, 0.1]


def test_options_of_the_data():
    def rows(*options):
        result = gradwalk_json("train", *map(str, options), "--steps", "1", "--json")
        return result["train"]["rows"], result.get("test", {}).get("rows")

    assert rows("moons") == (100, None)
    assert rows("spiral") == (300, None)
    assert rows("circles", "--samples", 30) == (30, None)
    assert rows("moons", "--samples", 30, "--test-split", 0.5) == (15, 15)
    assert rows("flowers.csv") == (48, 12)
    assert rows("flowers.csv", "--test-split", 0) == (60, None)
    noisy, clean = (gradwalk_json("train", "moons", "--noise", noise, "--json")["train"]["loss"] for noise in ("2", "0"))
    assert noisy > 10 * clean


def test_options_of_the_csv(folder):
    assert save("flowers.csv", "--steps", 1)["labels"] == ["a", "b", "c"]
    assert save("flowers.csv", "--steps", 1)["features"] == ["size", "width"]
    (folder / "first.csv").write_text("".join(f"{'xy'[i % 2]};{i};{i * i}\n" for i in range(9)))
    for label in ("1", "-3"):
        model = save("first.csv", "--steps", 1, "--label", label)
        assert (model["features"], model["labels"]) == (["x1", "x2"], ["x", "y"])
    (folder / "named.csv").write_text("kind,a\nx,1\ny,2\nx,3\n")
    assert save("named.csv", "--steps", 1, "--label", "kind")["features"] == ["a"]
    (folder / "numbers.csv").write_text("1,2\n3,4\n5,2\n6,4\n")
    assert save("numbers.csv", "--steps", 1)["features"] == ["x1"]
    assert save("numbers.csv", "--steps", 1, "--header", "yes")["features"] == ["1"]
    (folder / "both.csv").write_text("1;2,a\n3;4,b\n5;6,a\n")
    assert save("both.csv", "--steps", 1, "--label", 1, "--test-split", 0)["features"] == ["x1=2,a", "x1=4,b", "x1=6,a"]
    assert "say --header yes or --no-header" in refused("train", "both.csv", "--separator", "comma")
    model = save("both.csv", "--steps", 1, "--separator", "comma", "--no-header", "--test-split", 0)
    assert (model["features"], model["labels"]) == (["x1=1;2", "x1=3;4", "x1=5;6"], ["a", "b"])


def test_raw_takes_features_as_they_are():
    assert "standardisation.mean" in header((save("flowers.csv", "--steps", 1), "m.safetensors")[1])[0]
    model = save("flowers.csv", "--steps", 1, "--raw")
    assert "standardisation.mean" not in header("m.safetensors")[0] and not model["recipe"]["standardise"]


def test_quiet_and_json_print_the_results_alone():
    text = run("train", "moons", "--steps", 20)
    assert text.startswith("moons: 100 rows, 2 features, 2 classes\nnetwork 2-16-16-1, 337 parameters, relu activation, hinge loss\n")
    quiet = run("train", "moons", "--steps", 20, "-q")
    assert re.fullmatch(r" +rows +loss +accuracy\ntrain +100 +[\d.]+ +[\d.]+%\n", quiet)
    assert run("train", "moons", "--steps", 20, "--quiet") == quiet
    result = json.loads(run("train", "moons", "--steps", 20, "--json", "--save", "m"))
    assert (result["steps"], result["parameters"], result["saved"]) == (20, 337, "m")


# ---- what is learned ----


def test_moons_are_learned():
    assert gradwalk_json("train", "moons", "--json")["train"]["accuracy"] == 1
    accuracies = [gradwalk_json("train", "moons", "--seed", str(seed), "--json")["train"]["accuracy"] for seed in range(1, 11)]
    assert sum(accuracy >= 0.99 for accuracy in accuracies) >= 9, accuracies


def test_classes_are_judged_one_by_one():
    shown = run("train", "flowers.csv")
    table = shown[shown.index("the rows kept for testing, by class:"):].splitlines()[1:5]
    assert table[0].split() == ["class", "rows", "precision", "recall", "F1", "taken", "for", "a", "b", "c"]
    result = gradwalk_json("train", "flowers.csv", "--json")
    for line, one in zip(table[1:], result["classes"]):
        cells = line.split()
        assert cells == [one["class"], str(one["rows"]), f"{one['precision']:.3f}", f"{one['recall']:.3f}", f"{one['f1']:.3f}",
                         *map(str, one["taken_for"])]
    right = sum(one["taken_for"][i] for i, one in enumerate(result["classes"]))
    assert right / 12 == pytest.approx(result["test"]["accuracy"])


def test_a_rare_class_that_is_balanced_is_found(folder):
    chance = random.Random(2)
    rows = [(chance.gauss(0, 1), chance.gauss(0, 1), "common") for _ in range(380)] + [
        (chance.gauss(1.5, 1), chance.gauss(1.5, 1), "rare") for _ in range(20)]
    (folder / "rare.csv").write_text("x,y,kind\n" + "".join(f"{x},{y},{kind}\n" for x, y, kind in rows))

    def recall(*options):
        classes = gradwalk_json("train", "rare.csv", "--test-split", "0", "--hidden", "none", "--json", *options)["classes"]
        return next(one["recall"] for one in classes if one["class"] == "rare")

    assert recall("--balance") > 0.7 > recall() + 0.2


# ---- bad values ----


@pytest.mark.parametrize("option, values", {
    "--hidden": ["", "0", "-1", "16,", ",16", "16,,16", "a", "1.5", "nan", "100001", "16;16", ",".join(["1"] * 51)],
    "--batch": ["", "0", "-1", "none", "1.5", "nan", "99999999999999999999"],
    "--lr": ["", "0", "-1", "nan", "inf", "fast", "1,5"],
    "--steps": ["", "0", "-1", "1.5", "nan", "1000000001", "99999999999999999999"],
    "--seed": ["", "-1", "1.5", "18446744073709551616", "x"],
    "--test-split": ["", "1", "0.95", "-0.1", "nan"],
    "--samples": ["", "1", "0", "-5", "2.5", "1000001", "nan"],
    "--noise": ["", "-1", "nan", "inf", "101"],
    "--final-rate": ["", "-0.1", "1.1", "nan"],
    "--decay-steps": ["", "0", "-1", "nan"],
    "--stop-at": ["", "0", "-1", "nan"],
    "--recover": ["", "0", "-1", "nan"],
    "--folds": ["", "1", "-1", "nan", "1001"],
    "--warm-up": ["", "-1", "nan"],
    "--momentum": ["", "-0.1", "1", "nan"],
    "--weight-decay": ["", "-1", "nan", "inf"],
    "--l1": ["", "-1", "nan", "inf"],
    "--l2": ["", "-1", "nan", "inf"],
    "--clip": ["", "-1", "nan", "inf"],
    "--dropout": ["", "-0.1", "1", "nan"],
    "--validation": ["", "-0.1", "0.95", "nan"],
    "--patience": ["", "0", "-1", "nan"],
    "--activation": ["", "gelu2", "RELU"],
    "--init": ["", "zero"],
    "--loss": ["", "l2"],
    "--optimizer": ["", "lion"],
    "--schedule": ["", "step"],
    "--task": ["", "guess"],
    "--missing": ["", "skip"],
    "--header": ["", "maybe"],
    "--separator": ["", "|"],
}.items(), ids=lambda one: one if isinstance(one, str) else "")
def test_a_bad_value_is_named_and_exits_2(option, values):
    for value in values:
        said = refused("train", "moons", option, value, "--save", "m", status=2)
        assert said.startswith(f"{option}: ") and value in said, said
        assert not os.path.exists("m")


def test_a_bad_number_says_which_are_good():
    assert refused("train", "moons", "--lr", 0, status=2) == "--lr: needs a number from 1e-12 to 1000000, got '0'"
    assert refused("train", "moons", "--steps", "x", status=2) == "--steps: needs a whole number from 1 to 1000000000, got 'x'"
    assert refused("train", "moons", "--hidden", "x", status=2) == (
        "--hidden: needs sizes of hidden layers, such as 16,16, or none, got 'x'; "
        "give at most 50 whole numbers from 1 to 100000 with commas between")
    assert refused("train", "moons", "--batch", "0", status=2) == (
        "--batch: needs rows a step, or all, got '0'; give a whole number from 1, or all")


def test_options_that_do_not_go_together_exit_2():
    assert refused("train", status=2) == (
        "train: needs data to learn from, got none; give moons, circles, spiral, a CSV file, or --resume MODEL")
    assert refused("train", "flowers.csv", "--samples", 5, status=2) == (
        "train: needs --samples and --noise with moons, circles or spiral only, got the file 'flowers.csv'; leave them out")
    assert refused("train", "moons", "--optimizer", "adam", "--momentum", 0.5, status=2) == (
        "train: needs --momentum with sgd, got another optimizer; add --optimizer sgd")
    assert refused("train", "moons", "--optimizer", "adam", "--weight-decay", 0.5, status=2) == (
        "train: needs --weight-decay with sgd or adamw, got another optimizer; add --optimizer adamw, or use --l2")
    assert refused("train", "moons", "--patience", 5, "--validation", 0, status=2) == (
        "train: needs rows kept for validation with --patience, got none; give more --validation, or leave it out")
    for arguments in (["train", "moons", "flowers.csv"], ["train", "moons", "--nonsense"], ["predict"], ["predict", "m"],
                      ["inspect"], ["inspect", "a", "b"]):
        assert refused(*arguments, status=2)


def test_a_network_too_large_to_train_is_refused_before_it_is_made():
    assert refused("train", "moons", "--hidden", "100000,100000") == (
        "train: needs a network of at most 10000000 parameters, got 10000400000; give smaller --hidden layers")


def test_a_loss_for_two_classes_is_refused_for_three():
    assert refused("train", "flowers.csv", "--loss", "hinge") == (
        "train: needs two classes for the loss hinge, got 3; use the loss softmax")


def test_training_that_diverges_says_so_and_saves_nothing():
    assert refused("train", "moons", "-q", "--lr", 1e6, "--save", "m").startswith("train: needs a loss that is finite, got inf at step ")
    assert not os.path.exists("m") and not temporary_files()


# ---- bad files ----


@pytest.mark.parametrize("text, says", [
    ("", "bad.csv: needs rows of numbers, got an empty text; add some"),
    ("a,b\n", "bad.csv: needs rows below its header, got none; add some, or say that it has no header if the first line is data"),
    ("1,2,x\n1,y\n", "bad.csv: needs 3 fields, as in line 1, got 2 in line 2; make rows equally long, and quote fields that hold a separator"),
    ("1,x\n2,x\n", "train: needs data with at least two classes, got 1; add rows of another class"),
    ("1,x\nz,y\n3,y\n", "bad.csv: needs a number, got 'z' in line 2, column 1; correct it or drop the row"),
    ("1,x\n", "split: needs at least two rows, got 1; give data that has two parts"),
], ids=["empty", "header alone", "ragged", "one class", "text", "one row"])
def test_a_bad_csv_is_refused(text, says, folder):
    (folder / "bad.csv").write_text(text)
    assert refused("train", "bad.csv", "--save", "m") == says
    assert not os.path.exists("m")


def test_a_wrong_label_column_is_refused():
    assert refused("train", "flowers.csv", "--label", "colour") == (
        "flowers.csv: needs a label column of its header (size, width, kind), got 'colour'; choose one of them")
    for number in (0, 4, -4):
        assert refused("train", "flowers.csv", "--label", number) == (
            f"flowers.csv: needs a label column from 1 to 3, or from -1 to -3 from the end, got {number}; choose one of them")


def test_files_that_cannot_be_read_are_named(folder):
    (folder / "m.csv").write_text(FLOWERS)
    save("moons", "--steps", 1)
    missing = ": needs a file that can be read, got No such file or directory; check its name and its folder's"
    for arguments in (["train", "gone"], ["train", "--resume", "gone"], ["inspect", "gone"], ["predict", "gone", "m.csv"],
                      ["predict", "m.safetensors", "gone"]):
        assert refused(*arguments) == "gone" + missing
    os.mkdir("place")
    for arguments in (["train", "place"], ["inspect", "place"], ["predict", "place", "m.csv"],
                      ["predict", "m.safetensors", "place"]):
        assert refused(*arguments) == (
            "place: needs a regular file, got a folder; name a file, or save what comes from there to one first")
    for arguments in (["train", "--resume", "m.csv"], ["inspect", "m.csv"], ["predict", "m.csv", "m.csv"]):
        assert refused(*arguments) == (
            "m.csv: needs a model that gradwalk train has saved, got a file that is no model; give one that is")
    assert (folder / "m.csv").read_text() == FLOWERS


def test_places_that_cannot_be_written_are_found_before_training(folder):
    assert refused("train", "moons", "--save", "none/m") == (
        f"train: needs a folder that is there, got '{folder}/none'; make it first, or save elsewhere")
    os.mkdir("place")
    assert refused("train", "moons", "--save", "place") == (
        "train: needs the name of a file, got the folder 'place'; give the name of a file in it")


def test_a_folder_without_permission_is_found_before_training():
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o555)
        as_nobody = {"user": 65534} if os.getuid() == 0 else {}  # root may write everywhere
        assert refused("train", "moons", "--save", f"{place}/m", cwd="/", **as_nobody) == (
            f"train: needs a folder that may be written, got '{place}'; check its permissions, or save elsewhere")


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_a_full_disk_loses_nothing(folder, monkeypatch):
    save("moons", "--steps", 2)
    before = open("m.safetensors", "rb").read()
    os.mkdir("rescue")
    monkeypatch.setenv("TMPDIR", str(folder / "rescue"))
    done = gradwalk("train", "--resume", "m.safetensors", "--steps", "20", "-q", preexec_fn=small_files)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"m.safetensors: needs room for \d+ bytes, got File too large; free some space, or choose another place\n", done.stderr)
    assert open("m.safetensors", "rb").read() == before
    assert not temporary_files() and not os.listdir("rescue")


def test_a_model_that_cannot_be_saved_is_saved_elsewhere(folder, monkeypatch):
    os.mkdir("rescue")
    os.mkdir("place")
    monkeypatch.setenv("TMPDIR", str(folder / "rescue"))
    process = start(*LONG, "--save", "place/m")
    os.rmdir("place")
    process.send_signal(signal.SIGINT)
    error = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    found = re.fullmatch(r"train: needs a place to save the model, got none \(place/m: needs a folder that takes a new file, got No such "
                         r"file or directory; check its name and its folder's\); it is in '(.*)': move it where you want it\n", error)
    assert "of 1000000 steps" in run("inspect", found.group(1))


# ---- going on ----


@pytest.mark.parametrize("options", [
    ["moons"], ["flowers.csv"], ["circles", "--optimizer", "momentum", "--batch", "7"],
    ["spiral", "--optimizer", "adamw", "--clip", "1", "--warm-up", "60", "--samples", "60"],
    ["flowers.csv", "--optimizer", "rmsprop", "--activation", "elu", "--balance"],
    ["flowers.csv", "--label", "kind", "--test-split", "0.3", "--raw", "--loss", "mse", "--batch", "all", "--lr", "0.001"],
], ids=lambda options: options[0])
def test_resuming_is_going_straight_through_byte_for_byte(options):
    save(*options, "--steps", 100, to="straight")
    save(*options, "--steps", 50, "--decay-steps", 40 if "--warm-up" in options else 100, to="half")
    first = open("half", "rb").read()
    run("train", "--resume", "half", "--steps", 100, "-q", "--save", "other")
    assert open("half", "rb").read() == first
    run("train", "--resume", "half", "--steps", 100, "-q")
    assert open("half", "rb").read() == open("other", "rb").read() == open("straight", "rb").read()


def rates(*arguments):
    return [float(rate) for rate in re.findall(r"rate ([\d.e-]+)$", run("train", *arguments), re.MULTILINE)]


def test_the_rate_falls_over_the_steps_asked_for():
    for steps in (200, 4000):
        falling = rates("flowers.csv", "--steps", steps)
        assert falling[0] == 0.01 and falling == sorted(falling, reverse=True) and 0 < falling[-1] < 1e-6
        assert falling[len(falling) // 2] == pytest.approx(0.005, rel=0.02)
    short, long = (gradwalk_json("train", "spiral", "--steps", str(steps), "--json")["train"]["loss"] for steps in (1000, 2000))
    assert long != short
    assert refused("train", "flowers.csv", "--steps", 20, "--decay-steps", 10, status=2) == (
        "train: needs a rate that is above 0 until step 20, got one that is 0 from step 10; give --final-rate, or more --decay-steps")
    assert rates("flowers.csv", "--steps", 20, "--decay-steps", 10, "--final-rate", 0.5)[-1] == 0.005


def test_a_finished_plan_that_is_gone_beyond_is_followed_by_another():
    before = gradwalk_json("train", "spiral", "--steps", "500", "--save", "m.safetensors", "--json")["train"]["loss"]
    shown = run("train", "--resume", "m.safetensors", "--steps", 1500)
    assert "\na new plan from step 501 on: in 1000 steps the rate falls from 0.01 to 0 (cosine)\n" in shown
    assert float(re.search(r"\ntrain +300 +([\d.]+)", shown).group(1)) < before
    assert metadata("m.safetensors")["recipe"]["rate"] == {"kind": "cosine", "final": 0, "steps": 1000, "warm_up": 0, "begin": 500}
    shown = run("train", "--resume", "m.safetensors", "--steps", 1600, "--lr", 0.002)
    assert "\na new plan from step 1501 on: in 100 steps the rate falls from 0.002 to 0 (cosine)\n" in shown
    assert re.search(r"step 1501 of 1600 .* rate 0.002\n", shown)
    save("moons", *ENDLESS, "--steps", 10)
    assert "\nfrom step 11 on the rate is 0.5\n" in run("train", "--resume", "m.safetensors", "--steps", 20, "--lr", 0.5)


def test_a_plan_stopped_anywhere_goes_on_byte_for_byte():
    chance = random.Random(3)
    save("flowers.csv", "--steps", 60, to="straight")
    run("train", "--resume", "straight", "--steps", 120, "-q", "--save", "beyond")
    for stop in chance.sample(range(1, 60), 20):
        done = gradwalk("train", "flowers.csv", "--steps", "60", "-q", "--save", "stopped", "--stop-at", str(stop))
        assert (done.returncode, done.stderr) == (
            0, f"stopped at step {stop} of 60; go on with: gradwalk train --resume stopped\n")
        run("train", "--resume", "stopped", "-q")
        assert open("stopped", "rb").read() == open("straight", "rb").read()
    for stop in chance.sample(range(61, 120), 3):
        done = gradwalk("train", "--resume", "straight", "--steps", "120", "-q", "--save", "stopped", "--stop-at", str(stop))
        assert done.returncode == 0 and f"stopped at step {stop} of 120" in done.stderr
        run("train", "--resume", "stopped", "-q")
        assert open("stopped", "rb").read() == open("beyond", "rb").read()


def test_the_example_of_the_help_goes_on_learning(folder):
    example = re.search(r"train iris.csv --label species --save iris.safetensors\n +gradwalk (train --resume .*)", run("train", "--help"))
    (folder / "iris.csv").write_text(FLOWERS.replace("kind", "species"))
    run("train", "iris.csv", "--label", "species", "--save", "iris.safetensors", "-q")
    shown = run(*example.group(1).split())
    assert "a new plan from step 2001 on: in 3000 steps the rate falls from 0.01 to 0" in shown
    assert min(float(rate) for rate in re.findall(r"rate ([\d.e-]+)$", shown, re.MULTILINE)) > 0


def numbers(path):
    tensors, data = header(path)
    del tensors["__metadata__"]
    offsets = {name: tensor["data_offsets"] for name, tensor in tensors.items()}
    return {name: struct.unpack(f"<{(end - begin) // 8}d", data[begin:end]) for name, (begin, end) in offsets.items()}


@pytest.mark.parametrize("options", [["moons"], ["spiral", "--steps", "60"], ["flowers.csv", "--loss", "mse", "--steps", "60"]],
                         ids=lambda options: options[0])
def test_compiled_steps_are_the_eager_ones_to_rounding_and_both_times_are_shown(options):
    assert re.search(r"\n\d+ steps in [\d.]+ m?s\n", run("train", *options))
    shown = run("train", *options, "--eager")
    assert re.search(r"\n\d+ steps in [\d.]+ m?s, eager; compiled [\d.]+ m?s, [\d.]+ times as fast\n", shown), shown
    save(*options, to="compiled")
    save(*options, "--eager", to="eager")
    assert metadata("eager")["training"]["step"] == "eager"
    assert metadata("compiled")["training"]["step"].startswith("compiled, ")
    compiled, eager = numbers("compiled"), numbers("eager")
    for name in eager:
        assert compiled[name] == pytest.approx(eager[name], rel=1e-6, abs=1e-9), name
    report = json.loads(run("train", *options, "--eager", "--json"))
    assert report["step"] == "eager" and 0 < report["compiled_seconds"] and 0 < report["seconds"]


def test_the_number_of_threads_changes_no_bit():
    for threads in 1, 2, 3:
        save("spiral", "--hidden", "300,300", "--batch", "256", "--samples", "1000", "--steps", 4, "--threads", threads, to=f"of{threads}")
    assert open("of1", "rb").read() == open("of2", "rb").read() == open("of3", "rb").read()


def test_going_on_with_steps_of_another_kind_says_so():
    kind = save("moons", "--steps", 10)["training"]["step"]
    before = open("m.safetensors", "rb").read()
    for options, environment, now in (["--eager"], {}, "eager"), ([], {"GRADWALK_INSTRUCTION_SET": "SCALAR"}, "compiled, SCALAR"):
        done = gradwalk("train", "--resume", "m.safetensors", "--steps", "12", "-q", "--save", "n", *options,
                        env={**os.environ, **environment})
        assert (done.returncode, done.stderr) == (0, f"the steps so far were {kind}; these are {now}, and round otherwise\n")
        assert metadata("n")["training"]["step"] == now
    assert open("m.safetensors", "rb").read() == before
    assert "needs an instruction set of this machine, got 'MMX'; give one of" in refused(
        "train", "moons", env={**os.environ, "GRADWALK_INSTRUCTION_SET": "MMX"})


def test_resuming_finds_data_from_another_folder_and_under_another_name(folder):
    save("flowers.csv", "--steps", 10, "--decay-steps", 20)
    save("flowers.csv", "--steps", 20, to="straight")
    os.mkdir("elsewhere")
    run("train", "--resume", folder / "m.safetensors", "--steps", 20, "-q", cwd=folder / "elsewhere")
    assert open("m.safetensors", "rb").read() == open("straight", "rb").read()
    os.rename("flowers.csv", "renamed.csv")
    assert "flowers.csv: needs a file that can be read" in refused("train", "--resume", "m.safetensors", "--steps", 30)
    run("train", "renamed.csv", "--resume", "m.safetensors", "--steps", 30, "-q")
    assert metadata("m.safetensors")["source"]["data"] == str(folder / "renamed.csv")


def test_resuming_with_what_does_not_fit_is_refused_and_changes_nothing(folder):
    save("flowers.csv", "--steps", 10)
    before = open("m.safetensors", "rb").read()
    resume = ("train", "--resume", "m.safetensors")
    for options, shown, expected in RECIPE:
        if options[0] not in ("--lr", "--patience"):
            assert refused(*resume, *options, status=2) == (
                "train: needs no recipe with --resume but --lr and --patience, for the model has its own, "
                f"got {options[0]}; leave it out")
    for options in (["--features", "size"], ["--drop", "size"], ["--missing", "drop"], ["--other"], ["--no-header"], ["--task", "regress"], ["--samples", 9], ["--noise", 1], ["--test-split", 0.5], ["--label", 1], ["--header", "no"], ["--separator", "tab"]):
        assert refused(*resume, *options, "--steps", 20, status=2) == (
            "train: needs no more than the data with --resume, for the model knows how it was read, "
            f"got {options[0]}; leave it out")
    for options, steps in ([], 10), (["--steps", 10], 10), (["--steps", 3], 3):
        assert refused(*resume, *options) == (
            f"train: needs more steps than the 10 the model has made, got {steps}; give --steps, which is the number in all")
    other = "resume: needs the data the model was trained on, got other data; give the same, or train anew"
    (folder / "flowers.csv").write_text(FLOWERS.replace("size", "siZe"))
    assert refused(*resume, "--steps", 20) == other
    (folder / "flowers.csv").write_text(FLOWERS.replace("\n", "0\n").replace("kind0", "kind"))
    assert refused(*resume, "--steps", 20) == other
    assert refused("train", "moons", *resume[1:], "--steps", 20) == other
    assert open("m.safetensors", "rb").read() == before


def test_a_model_without_its_training_is_used_but_not_resumed():
    save("moons", "--steps", 5)
    head, numbers = header("m.safetensors")
    del head["__metadata__"]["training"]
    text = json.dumps(head).encode()
    with open("bare", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + numbers)
    assert refused("train", "--resume", "bare") == "bare: needs a model saved by training, got one without its training; train it anew"
    assert "trained" not in run("inspect", "bare")


@pytest.mark.parametrize("source", ["", "{}", "[" * 100000, '{"data":5}', json.dumps({
    "data": "moons", "samples": 1e300, "noise": -1, "test_split": -1, "seed": 1, "label": "", "header": "", "separator": ""})])
def test_a_damaged_description_of_the_data_is_refused(source):
    save("moons", "--steps", 5)
    head, numbers = header("m.safetensors")
    head["__metadata__"]["source"] = source
    text = json.dumps(head).encode()
    with open("m.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + numbers)
    assert refused("train", "--resume", "m.safetensors", "--steps", 9) == (
        "m.safetensors: needs a description of the data it was trained on, got none that can be read; "
        "the file is damaged, or of another program: take a copy, or train again")


# ---- stopping ----


@pytest.mark.parametrize("options, name, word", [
    ([], "gradwalk-recovery.safetensors", "gradwalk-recovery.safetensors"),
    (["--save", "my model"], "my model", "'my model'"),
])
def test_control_c_saves_and_going_on_is_as_if_never_stopped(options, name, word):
    status, out, error = interrupted(*LONG, *options)
    assert status == 130
    stopped = re.fullmatch(rf"stopped at step (\d+) of 1000000; go on with: gradwalk train --resume {word}\n", error)
    assert stopped and f"\nsaved {name}\n" in out
    steps = int(stopped.group(1))
    assert 1 <= steps < 100000 and f"trained     {steps} of 1000000 steps" in run("inspect", name)
    run("train", "--resume", name, "--steps", steps + 20, "-q")
    save("moons", *ENDLESS, "--steps", steps + 20, to="straight")
    assert open(name, "rb").read() == open("straight", "rb").read()


def test_a_request_to_end_saves_too():
    status, _, error = interrupted(*LONG, by=signal.SIGTERM)
    assert status == 143 and "go on with: gradwalk train --resume gradwalk-recovery.safetensors" in error
    status, _, error = interrupted("--resume", "gradwalk-recovery.safetensors")
    assert status == 130 and "go on with: gradwalk train --resume gradwalk-recovery.safetensors" in error


def test_a_killed_save_leaves_the_old_model_or_the_new_one():
    chance = random.Random(5)
    loop = f"while true; do '{PROGRAM}' train moons --samples 8 --hidden 64 --steps 1 -q --seed $((n+=1)) --save m >&-; done"
    found = set()
    began = time.monotonic()
    run("train", "moons", "--samples", 8, "--hidden", 64, "--steps", 1, "-q", "--save", "first")
    usual = time.monotonic() - began  # of one run on this machine now, so that kills meet all of it
    for number in range(200):
        process = subprocess.Popen(["sh", "-c", f"n={number * 1000}; {loop}"], stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(chance.uniform(0.1, 3) * usual)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if os.path.exists("m"):
            found.add(json.loads(run("inspect", "m", "--json"))["seed"])
    assert len(found) > 20  # killed before, while and after the file was replaced
    run("train", "moons", "--steps", 1, "-q", "--save", "m")


# ---- progress ----


def test_progress_in_a_pipe_is_some_lines():
    lines = [line for line in run("train", "moons").splitlines() if line.startswith("step")]
    assert len(lines) == 11
    for line in lines:
        assert re.fullmatch(r"step +\d+ of 100  loss [\d.e-]+ *  penalty [\d.e-]+ *  accuracy +[\d.]+%  rate [\d.]+", line)
    assert lines[0].startswith("step   1 of 100") and lines[-1].startswith("step 100 of 100")
    assert lines[-1].endswith("rate 0.109")


def test_progress_on_a_terminal_is_a_bar():
    text, status = on_terminal("train", "moons", "--steps", "400")
    assert status == 0
    bars = [part for part in text.split("\r") if part.startswith("[")]
    assert len(bars) >= 2
    for bar in bars[:-1]:
        assert re.match(r"\[=* *\] \d+/400  loss [\d.e-]+ \+ [\d.e-]+  accuracy [\d.]+%  rate [\d.]+  [\d.]+ m?s left\x1b\[K", bar), bar
        assert len(bar.split("\x1b")[0]) < 80
    assert re.match(r"\[=+\] 400/400  loss [\d.e-]+ \+ [\d.e-]+  accuracy 100.0%  rate 0.102  in [\d.]+ m?s\x1b\[K", bars[-1])


def test_progress_in_a_narrow_terminal_fits():
    for columns in (1, 2, 20, 50):
        text, status = on_terminal("train", "moons", "--steps", "50", columns=columns)
        assert status == 0
        last = [part.split("\x1b")[0] for part in text.split("\r") if "\x1b[K" in part][-1]
        assert len(last) < columns


def test_control_c_and_divergence_on_a_terminal_leave_the_bar_on_its_line():
    text, status = on_terminal("train", *LONG, stop=b"left\x1b[K")
    assert status == 130 and "\x1b[K\r\n" in text.replace("^C", "") and "go on with: " in text
    text, status = on_terminal("train", "moons", "--lr", "1e6")
    assert status == 1 and "\x1b[K\r\ntrain: needs a loss that is finite" in text


# ---- predict and inspect ----


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_predictions_are_csv_with_a_probability_or_score():
    save("flowers.csv", "--steps", 300)
    rows = rows_of(run("predict", "m.safetensors", "flowers.csv"))
    assert len(rows) == 60 and list(rows[0]) == ["prediction", "probability"]
    assert all(row["prediction"] in "abc" and 1 / 3 <= float(row["probability"]) <= 1 for row in rows)
    save("moons", "--steps", 5)
    open("points.csv", "w").write("0,1\n1,-0.5\n")
    rows = rows_of(run("predict", "m.safetensors", "points.csv"))
    assert list(rows[0]) == ["prediction", "score"]
    assert [row["prediction"] for row in rows] == ["inner" if float(row["score"]) > 0 else "outer" for row in rows]


def test_predictions_are_the_networks_to_the_last_digit():
    save("moons", "--steps", 5, "--hidden", 3, "--activation", "relu")
    head, numbers = header("m.safetensors")

    def tensor(name):
        begin, end = head[name]["data_offsets"]
        return struct.unpack(f"<{(end - begin) // 8}d", numbers[begin:end])

    row = [0.3, -0.7]
    open("points.csv", "w").write("0.3,-0.7\n")
    for layer, inputs in ((0, 2), (1, 3)):
        weights, bias = tensor(f"layers.{layer}.weight"), tensor(f"layers.{layer}.bias")
        outputs = []
        for i, b in enumerate(bias):
            total = b
            for j in range(inputs):
                total = total + weights[i * inputs + j] * row[j]
            outputs.append(max(total, 0.0) if layer == 0 else total)
        row = outputs
    assert json.loads(run("predict", "m.safetensors", "points.csv", "--json"))["rows"][0]["score"] == row[0]
    assert rows_of(run("predict", "m.safetensors", "points.csv"))[0]["score"] == f"{row[0]:.6g}"


def test_columns_are_found_by_name_in_any_order_and_others_are_ignored(folder):
    save("flowers.csv", "--steps", 50)
    expected = run("predict", "m.safetensors", "flowers.csv")
    lines = [line.split(",") for line in FLOWERS.splitlines()]
    (folder / "other.csv").write_text("".join(f"{kind};{width};note;{size}\n" for size, width, kind in lines).replace("note", "remark", 1))
    assert run("predict", "m.safetensors", "other.csv") == expected
    (folder / "plain.csv").write_text("".join(f"{size}\t{width}\n" for size, width, _ in lines[1:]))
    assert run("predict", "m.safetensors", "plain.csv") == expected
    assert run("predict", "m.safetensors", "plain.csv", "--header", "no", "--separator", "tab") == expected
    (folder / "labelled.csv").write_text("".join(",".join(line) + "\n" for line in lines[1:]))
    assert run("predict", "m.safetensors", "labelled.csv") == expected
    (folder / "first.csv").write_text("".join(f"{kind},{size},{width}\n" for size, width, kind in lines[1:]))
    assert run("predict", "m.safetensors", "first.csv", "--label", 1) == expected
    (folder / "less.csv").write_text("size\n1\n")
    assert refused("predict", "m.safetensors", "less.csv") == (
        "less.csv: needs the column 'width', which the model has learned from, got only size in line 1; add it or rename one")
    (folder / "wide.csv").write_text("1,2,3,4\n")
    assert "needs the model's 2 features, got 4 columns" in refused("predict", "m.safetensors", "wide.csv")


def test_labels_that_need_quotes_have_them_and_read_back(folder):
    names = ["a,b", 'say "x"', " padded ", "two\nlines", "größe", "1;2"]
    with open("names.csv", "w", newline="") as file:
        out = csv.writer(file, quoting=csv.QUOTE_ALL)
        for i in range(60):
            out.writerow([i % 6, (i % 6) ** 2, names[i % 6]])
    model = save("names.csv", "--steps", 400, "--header", "no", "--test-split", 0)
    assert model["labels"] == names
    assert [row["prediction"] for row in rows_of(run("predict", "m.safetensors", "names.csv", "--header", "no"))] == names * 10
    # And with our own reader: predictions as labels of a model.
    text = run("predict", "m.safetensors", "names.csv", "--header", "no")
    (folder / "again.csv").write_text(text)
    assert save("again.csv", "--steps", 1, "--label", "prediction")["labels"] == names


def test_score_compares_with_the_file(folder):
    save("flowers.csv", "--steps", 300)
    done = gradwalk("predict", "m.safetensors", "flowers.csv", "--score")
    right = sum(row["prediction"] == line.split(",")[2] for row, line in zip(rows_of(done.stdout), FLOWERS.splitlines()[1:]))
    assert done.returncode == 0
    assert re.fullmatch(rf"accuracy {100 * right / 60:.1f}% \({right} of 60\), loss [\d.]+\n", done.stderr)
    assert done.stdout == run("predict", "m.safetensors", "flowers.csv")
    result = gradwalk_json("predict", "m.safetensors", "flowers.csv", "--score", "--json")
    assert result["accuracy"] == right / 60 and len(result["rows"]) == 60
    (folder / "unknown.csv").write_text("size,width,kind\n1,2,z\n")
    assert refused("predict", "m.safetensors", "unknown.csv", "--score") == (
        "unknown.csv: needs a label the model knows (a, b, c), got 'z' in line 2, column 3 (kind); correct it or drop the row")


def test_json_and_csv_agree_and_output_goes_to_a_file():
    save("flowers.csv", "--steps", 30)
    text = run("predict", "m.safetensors", "flowers.csv")
    result = gradwalk_json("predict", "m.safetensors", "flowers.csv", "--json")
    assert set(result) == {"rows"}
    assert [(row["prediction"], f"{row['probability']:.6g}") for row in result["rows"]] == [
        (row["prediction"], row["probability"]) for row in rows_of(text)]
    for option in ("-o", "--output"):
        assert run("predict", "m.safetensors", "flowers.csv", option, f"out{option}") == ""
        assert open(f"out{option}").read() == text
    assert refused("predict", "m.safetensors", "flowers.csv", "-o", "none/out") == (
        "none/out: needs a folder that takes a new file, got No such file or directory; check its name and its folder's")
    os.mkdir("place")
    assert refused("predict", "m.safetensors", "flowers.csv", "-o", "place") == (
        "place: needs a regular file or a new name, got a folder; choose another name")


def test_inspect_tells_what_a_model_is():
    save("flowers.csv", "--steps", 30, "--hidden", "4", "--seed", 5)
    text = run("inspect", "m.safetensors")
    assert text.startswith(
        "features    size, width\nclasses     a, b, c\ninputs      standardised\nloss        softmax\nparameters  27\n"
        "optimizer   adam, rate 0.01 cosine, 32 rows a step\ntrained     30 of 30 steps, seed 5, loss ")
    assert [line.split()[:4] for line in text.splitlines()[-2:]] == [["0", "2", "4", "relu"], ["1", "4", "3", "linear"]]
    result = gradwalk_json("inspect", "m.safetensors", "--json")
    assert (result["features"], result["classes"]) == (["size", "width"], ["a", "b", "c"])
    assert (result["steps"], result["planned_steps"], result["seed"], result["parameters"]) == (30, 30, 5, 27)
    assert all(math.isfinite(layer["least"]) and layer["least"] <= layer["mean"] <= layer["most"] for layer in result["layers"])
