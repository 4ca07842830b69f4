# SPDX-License-Identifier: MIT
"""gradwalk train and predict with real-world tables: text, missing fields, useless columns, standard input."""

import random
import re

import pytest
from cli import gradwalk, gradwalk_json
from training import folder, metadata, refused, rows_of, run  # noqa: F401


def messy(rows=120, seed=4):
    """Returns a table of rooms with a price. Every seventh size and every ninth colour is missing."""
    chance = random.Random(seed)
    lines = ["id,size,colour,floor,constant,price"]
    for i in range(rows):
        size, colour, floor = chance.uniform(10, 90), chance.choice(["red", "blue", "green"]), chance.choice(["up", "down"])
        price = 3 * size + {"red": 100, "blue": 0, "green": -50}[colour] + (20 if floor == "up" else 0)
        lines.append(f"r{i},{'' if i % 7 == 3 else round(size, 2)},{'NA' if i % 9 == 4 else colour},{floor},5,{price:.3f}")
    return "\n".join(lines) + "\n"


@pytest.fixture(autouse=True)
def table(folder):  # noqa: F811
    (folder / "rooms.csv").write_text(messy())
    return folder / "rooms.csv"


USE = ("rooms.csv", "--drop", "id", "--missing", "mean")


def test_train_accepts_a_messy_table_and_reports_dropped_rows_and_constant_columns():
    assert refused("train", "rooms.csv", "--missing", "mean") == (
        "rooms.csv: needs at most 100 different texts in a column, got 'r100' in line 102, column 1 (id); "
        "leave out the column")
    shown = run("train", *USE, "--save", "m")
    assert "rooms.csv: 96 rows, 7 features, regression of price" in shown
    assert "\nno use for training, because they never vary: constant\n" in shown
    features = metadata("m")["features"]
    assert features[0] == "size" and features[1:4] == [f"colour={colour}" for colour in colours()] and features[-1] == "constant"
    shown = run("train", "rooms.csv", "--features", "size,colour", "--missing", "drop", "--steps", 5)
    left_out = sum(1 for i in range(120) if i % 7 == 3 or i % 9 == 4)
    assert f"\ndropped {left_out} rows with missing values\n" in shown
    assert refused("train", "rooms.csv", "--drop", "id") == (
        "rooms.csv: needs a number, got an empty field in line 5, column 2 (size); fill it in, delete the row, or choose how to treat missing values (train --missing)")
    assert refused("train", "rooms.csv", "--features", "size", "--drop", "id", status=2) == (
        "train: needs --features or --drop, got both; omit one of them")
    result = gradwalk_json("train", *USE, "--json")
    assert result["test"]["r2"] > 0.8


def test_predict_applies_the_models_columns_to_new_tables(folder):
    run("train", *USE, "-q", "--save", "m")
    expected = run("predict", "m", "rooms.csv")
    lines = [line.split(",") for line in messy().splitlines()]
    (folder / "other.csv").write_text("\n".join(",".join([line[3], line[2], line[4], line[1]]) for line in lines) + "\n")
    assert run("predict", "m", "other.csv") == expected
    assert run("predict", "m", "-", stdin=messy()) == expected
    (folder / "new.csv").write_text("size,colour,floor,constant\n50,pink,up,5\n")
    assert refused("predict", "m", "new.csv") == (
        "new.csv: needs a text that the model was trained with (" + ", ".join(colours()) + "), got 'pink' in line 2, column 2 (colour); "
        "correct it, delete the row, or train with a category for other texts (train --other)")
    run("train", *USE, "-q", "--other", "--save", "m")
    assert len(rows_of(run("predict", "m", "new.csv"))) == 1
    assert re.search(r"^categories +colour: .*, and other$", run("inspect", "m"), re.MULTILINE)


def colours():
    seen = []
    for line in messy().splitlines()[1:]:
        colour = line.split(",")[2]
        if colour not in (*seen, "NA"):
            seen.append(colour)
    return seen


def test_a_resumed_run_on_a_messy_table_is_identical():
    run("train", *USE, "--other", "--steps", 60, "-q", "--save", "straight")
    for stop in random.Random(1).sample(range(1, 60), 6):
        assert gradwalk("train", *USE, "--other", "--steps", "60", "-q", "--save", "m", "--stop-at", str(stop)).returncode == 0
        run("train", "--resume", "m", "-q")
        assert open("m", "rb").read() == open("straight", "rb").read()


def test_train_and_predict_read_standard_input():
    text = "".join(f"{i},{i * i % 7},{'ab'[i % 2]}\n" for i in range(30))
    assert "-: 24 rows, 2 features, 2 classes" in run("train", "-", "--steps", 5, "--save", "m", stdin=text)
    run("train", "-", "--resume", "m", "--steps", 9, "-q", stdin=text)
    assert refused("train", "-", stdin="") == "standard input: needs rows, got an empty text; add some"


def test_an_ambiguous_first_line_is_an_error(folder):
    (folder / "texts.csv").write_text("colour,kind\nred,x\nblue,y\nred,x\nblue,y\n")
    assert refused("train", "texts.csv") == (
        "texts.csv: needs to know whether the first line is a header, got only texts in line 1; "
        "give --header yes or --no-header")
    options = ("texts.csv", "--steps", 2, "--test-split", 0)
    assert "4 rows, 2 features, 2 classes" in run("train", *options, "--header", "yes")
    assert "5 rows, 3 features, 3 classes" in run("train", *options, "--no-header")
    assert "4 rows, 2 features, 2 classes" in run("train", *options, "--label", "kind")


def test_a_column_of_huge_numbers_is_standardised(folder):
    (folder / "huge.csv").write_text("a,b,kind\n" + "".join(f"{(i % 2) * 1e300 - 5e299 * (i % 3)},{i},{'xy'[i % 2]}\n" for i in range(40)))
    assert gradwalk_json("train", "huge.csv", "--json")["train"]["accuracy"] > 0.8


def test_all_prints_the_probability_of_every_class():
    run("train", "flowers.csv", "-q", "--save", "m")
    rows = rows_of(run("predict", "m", "flowers.csv", "--probabilities"))
    assert list(rows[0]) == ["prediction", "probability", "p(a)", "p(b)", "p(c)"]
    for row in rows:
        shares = {name: float(row[f"p({name})"]) for name in "abc"}
        assert sum(shares.values()) == pytest.approx(1, abs=1e-4)
        assert max(shares, key=shares.get) == row["prediction"] and shares[row["prediction"]] == float(row["probability"])
    run("train", "moons", "--steps", 2, "-q", "--save", "m")
    open("points.csv", "w").write("0,1\n")
    assert refused("predict", "m", "points.csv", "--probabilities") == (
        "predict: needs a model trained with the loss softmax or bce for --probabilities, got loss hinge; omit --probabilities, or train with --loss softmax")
