# SPDX-License-Identifier: MIT
"""gradwalk predict and gradwalk inspect."""

import csv
import json
import math
import os
import re
import struct

from cli import gradwalk, gradwalk_json
from training import FLOWERS, folder, header, refused, rows_of, run, save  # noqa: F401


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


def test_predictions_equal_the_networks_output_to_the_last_digit():
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
        "less.csv: needs the column 'width', which the model was trained with, got only size in line 1; add it, or rename a column")
    (folder / "wide.csv").write_text("1,2,3,4\n")
    assert "needs the model's 2 features, got 4 columns" in refused("predict", "m.safetensors", "wide.csv")


def test_labels_are_quoted_where_csv_needs_it(folder):
    names = ["a,b", 'say "x"', " padded ", "two\nlines", "größe", "1;2"]
    with open("names.csv", "w", newline="") as file:
        out = csv.writer(file, quoting=csv.QUOTE_ALL)
        for i in range(60):
            out.writerow([i % 6, (i % 6) ** 2, names[i % 6]])
    model = save("names.csv", "--steps", 400, "--header", "no", "--test-split", 0)
    assert model["labels"] == names
    assert [row["prediction"] for row in rows_of(run("predict", "m.safetensors", "names.csv", "--header", "no"))] == names * 10
    # Our own reader reads them back too: the predictions serve as labels of another model.
    text = run("predict", "m.safetensors", "names.csv", "--header", "no")
    (folder / "again.csv").write_text(text)
    assert save("again.csv", "--steps", 1, "--label", "prediction")["labels"] == names


def test_score_compares_the_predictions_with_the_labels(folder):
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
        "unknown.csv: needs a label that the model knows (a, b, c), got 'z' in line 2, column 3 (kind); correct it or delete the row")


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


def test_inspect_describes_a_model():
    save("flowers.csv", "--steps", 30, "--hidden", "4", "--seed", 5)
    text = run("inspect", "m.safetensors")
    assert text.startswith(
        "features    size, width\nclasses     a, b, c\ninputs      standardised\nloss        softmax\nparameters  27\n"
        "optimizer   adam, learning rate 0.01 (cosine schedule), 32 rows per step\ntrained     30 of 30 steps, seed 5, first loss ")
    assert re.search(r", first loss [\d.]+, last loss [\d.]+ \(with penalties\)\n\n"
                     r"layers, with the min, mean and max of their parameters:\nlayer +inputs +outputs +activation +min +mean +max\n", text)
    save("flowers.csv", "--steps", 5, "--l2", 0, to="free")
    assert re.search(r", last loss [\d.]+\n", run("inspect", "free"))
    assert [line.split()[:4] for line in text.splitlines()[-2:]] == [["0", "2", "4", "relu"], ["1", "4", "3", "linear"]]
    result = gradwalk_json("inspect", "m.safetensors", "--json")
    assert (result["features"], result["classes"]) == (["size", "width"], ["a", "b", "c"])
    assert (result["steps"], result["planned_steps"], result["seed"], result["parameters"]) == (30, 30, 5, 27)
    assert all(math.isfinite(layer["least"]) and layer["least"] <= layer["mean"] <= layer["most"] for layer in result["layers"])
