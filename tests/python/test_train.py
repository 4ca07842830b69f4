# SPDX-License-Identifier: MIT
"""gradwalk train: every option, every refusal, and the progress."""

import json
import os
import pathlib
import random
import re
import resource
import signal
import tempfile

import pytest
from cli import gradwalk, gradwalk_json, on_terminal
from training import FLOWERS, LONG, RECIPE, folder, header, refused, run, save, start, temporary_files  # noqa: F401


# ---- options and what they do ----


@pytest.mark.parametrize("options, shown, expected", RECIPE, ids=["".join(entry[0]) for entry in RECIPE])
def test_every_hyperparameter_changes_the_recipe_and_the_model(options, shown, expected):
    usual = save("moons", "--steps", 3, to="usual")
    model = save("moons", "--steps", 3, *options)
    assert shown(model) == expected != shown(usual)
    assert header("m.safetensors")[1] != header("usual")[1]


def test_every_option_is_in_the_help_and_tested():
    here = "".join(pathlib.Path(__file__).with_name(name).read_text() for name in ("training.py", "test_train.py", "test_going_on.py", "test_predict.py", "test_device.py"))
    for command in ("train", "predict", "inspect"):
        text = run(command, "--help")
        assert "Example" in text
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text.split("Example")[0])) - {"--help"}
        assert len(options) >= {"train": 28, "predict": 6, "inspect": 1}[command]
        for option in options - {"--plot", "--color", "--probabilities"}:  # --probabilities is in test_columns.py
            assert f'"{option}' in here, option


def test_help_fits_80_columns():
    commands = re.findall(r"^  ([a-z]+) ", run("--help").split("Commands:")[1], re.MULTILINE)
    assert len(commands) > 8
    for command in ([], *([name] for name in commands)):
        assert max(map(len, run(*command, "--help").splitlines())) <= 80, command


def test_the_help_states_the_defaults():
    text = run("train", "--help")
    moons, flowers, spiral = save("moons", "--steps", 1), save("flowers.csv", "--steps", 1), save("spiral", "--steps", 1)

    def default(option):
        entry = re.search(rf"^  {option} .*\n(?: {{26}}.*\n)*", text, re.MULTILINE)[0]
        return re.search(r" \[default: (.*)\]$", " ".join(entry.split()))[1]

    assert default("--l2") == "0.003; regression: 0.01; synthetic data: 0.0001"
    assert [m["recipe"]["l2"] for m in (flowers, moons, spiral)] == [0.003, 0.0001, 0.0001]
    assert default("--init") == "he; moons: uniform"
    assert [m["recipe"]["init"] for m in (flowers, moons)] == ["he", "uniform"]
    assert default("--schedule") == "cosine; moons: linear"
    assert [m["recipe"]["rate"]["kind"] for m in (flowers, moons)] == ["cosine", "linear"]
    assert default("--decay-steps") == "all steps after the warm-up"
    assert [m["recipe"]["rate"]["steps"] for m in (flowers, moons)] == [1, 1]
    assert save("flowers.csv")["recipe"]["rate"]["steps"] == 2000 and save("moons")["recipe"]["rate"]["steps"] == 100
    assert default("--seed") == "1337" and moons["recipe"]["seed"] == 1337
    assert default("--hidden") == "16,16" and moons["recipe"]["hidden"] == [16, 16]
    assert default("--batch") == "32; moons: all" and [m["recipe"]["batch"] for m in (flowers, moons)] == [32, 0]
    assert default("--final-lr-fraction") == "0; moons: 0.1"
    assert [m["recipe"]["rate"]["final"] for m in (flowers, moons)] == [0, 0.1]


def test_options_of_the_data_change_the_data():
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


def test_options_of_the_csv_reader_change_what_is_read(folder):
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
    assert "give --header yes or --no-header" in refused("train", "both.csv", "--separator", "comma")
    model = save("both.csv", "--steps", 1, "--separator", "comma", "--no-header", "--test-split", 0)
    assert (model["features"], model["labels"]) == (["x1=1;2", "x1=3;4", "x1=5;6"], ["a", "b"])


def test_raw_does_not_standardise_the_features():
    assert "standardisation.mean" in header((save("flowers.csv", "--steps", 1), "m.safetensors")[1])[0]
    model = save("flowers.csv", "--steps", 1, "--raw")
    assert "standardisation.mean" not in header("m.safetensors")[0] and not model["recipe"]["standardise"]


def test_quiet_and_json_print_only_the_results():
    text = run("train", "moons", "--steps", 20)
    assert text.startswith("moons: 100 rows, 2 features, 2 classes\nnetwork 2-16-16-1, 337 parameters, relu activation, hinge loss\n")
    quiet = run("train", "moons", "--steps", 20, "-q")
    assert re.fullmatch(r" +rows +loss +accuracy\ntrain +100 +[\d.]+ +[\d.]+%\n", quiet)
    assert run("train", "moons", "--steps", 20, "--quiet") == quiet
    result = json.loads(run("train", "moons", "--steps", 20, "--json", "--save", "m"))
    assert (result["steps"], result["parameters"], result["saved"]) == (20, 337, "m")


# ---- trained models ----


def test_moons_are_learned():
    assert gradwalk_json("train", "moons", "--json")["train"]["accuracy"] == 1
    accuracies = [gradwalk_json("train", "moons", "--seed", str(seed), "--json")["train"]["accuracy"] for seed in range(1, 11)]
    assert sum(accuracy >= 0.99 for accuracy in accuracies) >= 9, accuracies


def test_metrics_of_each_class_are_printed():
    shown = run("train", "flowers.csv")
    table = shown[shown.index("test rows by class:"):].splitlines()[1:5]
    assert table[0].split() == ["class", "rows", "precision", "recall", "F1", "predicted", "as", "a", "b", "c"]
    result = gradwalk_json("train", "flowers.csv", "--json")
    for line, metrics in zip(table[1:], result["classes"]):
        cells = line.split()
        assert cells == [metrics["class"], str(metrics["rows"]), f"{metrics['precision']:.3f}", f"{metrics['recall']:.3f}",
                         f"{metrics['f1']:.3f}", *map(str, metrics["taken_for"])]
    right = sum(metrics["taken_for"][i] for i, metrics in enumerate(result["classes"]))
    assert right / 12 == pytest.approx(result["test"]["accuracy"])


def test_balance_helps_to_find_a_rare_class(folder):
    chance = random.Random(2)
    rows = [(chance.gauss(0, 1), chance.gauss(0, 1), "common") for _ in range(380)] + [
        (chance.gauss(1.5, 1), chance.gauss(1.5, 1), "rare") for _ in range(20)]
    (folder / "rare.csv").write_text("x,y,kind\n" + "".join(f"{x},{y},{kind}\n" for x, y, kind in rows))

    def recall(*options):
        classes = gradwalk_json("train", "rare.csv", "--test-split", "0", "--hidden", "none", "--json", *options)["classes"]
        return next(metrics["recall"] for metrics in classes if metrics["class"] == "rare")

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
    "--final-lr-fraction": ["", "-0.1", "1.1", "nan"],
    "--decay-steps": ["", "0", "-1", "nan"],
    "--stop-at": ["", "0", "-1", "nan"],
    "--checkpoint-every": ["", "0", "-1", "nan"],
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
}.items(), ids=lambda value: value if isinstance(value, str) else "")
def test_an_invalid_value_is_named_and_exits_2(option, values):
    for value in values:
        said = refused("train", "moons", option, value, "--save", "m", status=2)
        assert said.startswith(f"{option}: ") and value in said, said
        assert not os.path.exists("m")


def test_an_out_of_range_number_is_refused_with_the_range():
    assert refused("train", "moons", "--lr", 0, status=2) == "--lr: needs a number from 1e-12 to 1000000, got '0'"
    assert refused("train", "moons", "--steps", "x", status=2) == "--steps: needs a whole number from 1 to 1000000000, got 'x'"
    assert refused("train", "moons", "--hidden", "x", status=2) == (
        "--hidden: needs sizes of hidden layers, such as 16,16, or none, got 'x'; "
        "give at most 50 whole numbers from 1 to 100000, separated by commas")
    assert refused("train", "moons", "--batch", "0", status=2) == (
        "--batch: needs a number of rows per step, or all, got '0'; give a whole number from 1 up, or all")


def test_incompatible_options_exit_2():
    assert refused("train", status=2) == (
        "train: needs training data, got none; give moons, circles, spiral, a CSV file, or --resume MODEL")
    assert refused("train", "flowers.csv", "--samples", 5, status=2) == (
        "train: needs --samples and --noise with moons, circles or spiral only, got the file 'flowers.csv'; omit them")
    assert refused("train", "moons", "--optimizer", "adam", "--momentum", 0.5, status=2) == (
        "train: needs --momentum with sgd, got another optimizer; add --optimizer sgd")
    assert refused("train", "moons", "--optimizer", "adam", "--weight-decay", 0.5, status=2) == (
        "train: needs --weight-decay with sgd or adamw, got another optimizer; add --optimizer adamw, or use --l2")
    assert refused("train", "moons", "--patience", 5, "--validation", 0, status=2) == (
        "train: needs validation rows for --patience, got --validation 0; give a larger --validation, or omit it")
    for arguments in (["train", "moons", "flowers.csv"], ["train", "moons", "--nonsense"], ["predict"], ["predict", "m"],
                      ["inspect"], ["inspect", "a", "b"]):
        assert refused(*arguments, status=2)


def test_a_network_too_large_to_train_is_refused_before_it_is_made():
    assert refused("train", "moons", "--hidden", "100000,100000") == (
        "train: needs a network of at most 10000000 parameters, got 10000400000; give smaller --hidden layers")


def test_a_loss_for_two_classes_is_refused_for_three():
    assert refused("train", "flowers.csv", "--loss", "hinge") == (
        "train: needs two classes for the loss hinge, got 3; use the loss softmax")


def test_diverging_training_is_an_error_and_saves_nothing():
    assert refused("train", "moons", "-q", "--lr", 1e6, "--save", "m").startswith("train: needs a loss that is finite, got inf at step ")
    assert not os.path.exists("m") and not temporary_files()


# ---- bad files ----


@pytest.mark.parametrize("text, says", [
    ("", "bad.csv: needs rows, got an empty text; add some"),
    ("a,b\n", "bad.csv: needs rows below its header, got none; add some, or say that there is no header if the first line is data"),
    ("1,2,x\n1,y\n", "bad.csv: needs 3 fields, as in line 1, got 2 in line 2; make all rows equally long, and quote fields that contain a separator"),
    ("1,x\n2,x\n", "train: needs data with at least two classes, got 1; add rows of another class"),
    ("1,x\nz,y\n3,y\n", "bad.csv: needs a number, got 'z' in line 2, column 1; correct it or delete the row"),
    ("1,x\n", "split: needs at least two rows, got 1; add rows"),
], ids=["empty", "header alone", "ragged", "one class", "text", "one row"])
def test_an_invalid_csv_is_refused(text, says, folder):
    (folder / "bad.csv").write_text(text)
    assert refused("train", "bad.csv", "--save", "m") == says
    assert not os.path.exists("m")


def test_a_wrong_label_column_is_refused():
    assert refused("train", "flowers.csv", "--label", "colour") == (
        "flowers.csv: needs the name of a column in its header (size, width, kind) as the label, got 'colour'; choose one of them")
    for number in (0, 4, -4):
        assert refused("train", "flowers.csv", "--label", number) == (
            f"flowers.csv: needs a label column from 1 to 3, or from -1 to -3 from the end, got {number}; choose one of them")


def test_unreadable_files_are_named(folder):
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
            "m.csv: needs a model saved by gradwalk train, got a file of another kind; give a model file")
    assert (folder / "m.csv").read_text() == FLOWERS


def test_unwritable_files_are_refused_before_training(folder):
    assert refused("train", "moons", "--save", "none/m") == (
        f"train: needs a folder that exists, got '{folder}/none'; create it first, or save elsewhere")
    os.mkdir("place")
    assert refused("train", "moons", "--save", "place") == (
        "train: needs the name of a file, got the folder 'place'; give the name of a file in it")


def test_a_folder_without_write_permission_is_refused_before_training():
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o555)
        as_nobody = {"user": 65534} if os.getuid() == 0 else {}  # root may write everywhere
        assert refused("train", "moons", "--save", f"{place}/m", cwd="/", **as_nobody) == (
            f"train: needs a folder it may write to, got '{place}'; check its permissions, or save elsewhere")


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_a_full_disk_does_not_lose_the_model(folder, monkeypatch):
    save("moons", "--steps", 2)
    before = open("m.safetensors", "rb").read()
    os.mkdir("rescue")
    monkeypatch.setenv("TMPDIR", str(folder / "rescue"))
    done = gradwalk("train", "--resume", "m.safetensors", "--steps", "20", "-q", preexec_fn=small_files)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"m.safetensors: needs space for \d+ bytes, got File too large; free some space, or choose another place\n", done.stderr)
    assert open("m.safetensors", "rb").read() == before
    assert not temporary_files() and not os.listdir("rescue")


def test_a_model_is_saved_elsewhere_if_its_file_cannot_be_written(folder, monkeypatch):
    os.mkdir("rescue")
    os.mkdir("place")
    monkeypatch.setenv("TMPDIR", str(folder / "rescue"))
    process = start(*LONG, "--save", "place/m")
    os.rmdir("place")
    process.send_signal(signal.SIGINT)
    error = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    found = re.fullmatch(r"train: needs a file it can save the model to, got none \(place/m: needs a folder that takes a new file, got No such "
                         r"file or directory; check its name and its folder's\); the model is in '(.*)': move it where you want it\n", error)
    assert "of 1000000 steps" in run("inspect", found.group(1))


# ---- progress ----


def test_progress_in_a_pipe_is_a_few_lines():
    lines = [line for line in run("train", "moons").splitlines() if line.startswith("step")]
    assert len(lines) == 11
    for line in lines:
        assert re.fullmatch(r"step +\d+ of 100  loss [\d.e-]+ *  penalty [\d.e-]+ *  accuracy +[\d.]+%  lr [\d.]+", line)
    assert lines[0].startswith("step   1 of 100") and lines[-1].startswith("step 100 of 100")
    assert lines[-1].endswith("lr 0.109")


def test_progress_on_a_terminal_is_a_bar():
    text, status = on_terminal("train", "moons", "--steps", "400")
    assert status == 0
    bars = [part for part in text.split("\r") if part.startswith("[")]
    assert len(bars) >= 2
    for bar in bars[:-1]:
        assert re.match(r"\[=* *\] \d+/400  loss [\d.e-]+ \+ [\d.e-]+  accuracy [\d.]+%  lr [\d.]+  [\d.]+ m?s left\x1b\[K", bar), bar
        assert len(bar.split("\x1b")[0]) < 80
    assert re.match(r"\[=+\] 400/400  loss [\d.e-]+ \+ [\d.e-]+  accuracy 100.0%  lr 0.102  in [\d.]+ m?s\x1b\[K", bars[-1])


def test_the_progress_bar_fits_a_narrow_terminal():
    for columns in (1, 2, 20, 50):
        text, status = on_terminal("train", "moons", "--steps", "50", columns=columns)
        assert status == 0
        last = [part.split("\x1b")[0] for part in text.split("\r") if "\x1b[K" in part][-1]
        assert len(last) < columns


def test_the_progress_bar_leaves_out_whole_fields():
    field = r"\d+/300|loss [\d.e-]+( \+ [\d.e-]+)?|validation [\d.e-]+|accuracy [\d.]+%|lr [\d.e-]+|(in )?[\d.]+ m?s( left)?"
    for columns in (16, 30, 50, 80, 130):
        text, status = on_terminal("train", "flowers.csv", "--steps", "300", "--validation", "0.2", columns=columns)
        assert status == 0
        lines = [part.split("\x1b")[0] for part in text.split("\r") if "\x1b[K" in part]
        for line in lines:
            fields = re.sub(r"^\[=* *\]", "", line).strip().split("  ")
            assert len(line) < columns and all(re.fullmatch(field, one) for one in fields), line
        last = lines[-1]
        assert "300/300" in last
        assert ("loss" in last, "validation" in last, "accuracy" in last) == (columns >= 30, columns >= 50, columns >= 80), last
        assert ("lr" in last and " + " in last) == (columns >= 130), last


def test_control_c_and_divergence_on_a_terminal_leave_the_bar_on_its_line():
    text, status = on_terminal("train", *LONG, stop=b"left\x1b[K")
    assert status == 130 and "\x1b[K\r\n" in text.replace("^C", "") and "to continue: " in text
    text, status = on_terminal("train", "moons", "--lr", "1e6")
    assert status == 1 and "\x1b[K\r\ntrain: needs a loss that is finite" in text
