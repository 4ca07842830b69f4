# SPDX-License-Identifier: MIT
"""The command line: what it prints, to which stream, and its exit status."""

import json
import re
import subprocess

import pytest
from cli import PROGRAM, gradwalk, gradwalk_json


def test_eval_prints_an_aligned_table():
    run = gradwalk("eval", "a=2; b=-3; c=10; e=a+b; f=e*c")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == (
        "name  data  grad\n"
        "a        2    10\n"
        "b       -3    10\n"
        "c       10    -1\n"
        "e       -1    10\n"
        "f      -10     1\n"
    )


def test_eval_json_has_all_digits_and_writes_nan_and_infinity_as_strings():
    nodes = json.loads(gradwalk("eval", "--json", "a=0.1; b=1/0*a; c=a-a; c/0").stdout)["nodes"]
    assert [node["name"] for node in nodes] == ["a", "b", "c", "(root)"]
    assert nodes[0]["data"] == 0.1
    assert nodes[1]["data"] == "inf"
    assert nodes[3]["data"] == "nan"


@pytest.mark.parametrize("source", ["argument", "file", "stdin"])
def test_eval_reads_arguments_files_and_standard_input(source, tmp_path):
    text = "x = 3\ny = x**2\n"
    path = tmp_path / "an expression.txt"
    path.write_text(text)
    run = {
        "argument": lambda: gradwalk("eval", text),
        "file": lambda: gradwalk("eval", "--file", str(path)),
        "stdin": lambda: gradwalk("eval", "-", stdin=text),
    }[source]()
    assert run.stdout == "name  data  grad\nx        3     6\ny        9     1\n"


def test_digits_sets_the_number_of_significant_digits():
    assert "0.333" in gradwalk("eval", "--digits", "3", "a=1/3; a").stdout.split()
    assert gradwalk("eval", "--digits", "99", "1").returncode == 2


def test_an_invalid_expression_is_shown_with_a_caret_and_exits_1():
    run = gradwalk("eval", "a=2; b=a+")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == (
        "expression: needs a number, a name or '(', got the end; write one here\n  a=2; b=a+\n           ^\n"
    )


def test_a_missing_file_and_a_missing_expression_say_what_to_do():
    run = gradwalk("eval", "--file", "/nowhere/at all")
    assert run.returncode == 1
    assert run.stderr == (
        "gradwalk: needs a file that can be read, got '/nowhere/at all' (No such file or directory); check its name\n"
    )
    assert "needs an expression, got none" in gradwalk("eval").stderr


def test_an_invalid_command_line_exits_2_and_help_exits_0():
    assert gradwalk().returncode == 2
    assert gradwalk("nonsense").returncode == 2
    assert gradwalk("eval", "--nonsense", "1").returncode == 2
    assert "Examples:" in gradwalk("eval", "--help").stdout
    assert gradwalk("--help").returncode == 0
    assert gradwalk("--version").stdout.startswith("gradwalk 0.")


TWICE = "a=2; a=a*3; b=a+a"


def test_every_command_uses_the_same_names_for_a_name_assigned_twice():
    assert gradwalk("eval", TWICE).stdout == (
        "name  data  grad\n"
        "a        2     6\n"
        "a#2      6     2\n"
        "b       12     1\n"
    )
    assert gradwalk("walk", TWICE).stdout.endswith("a        2     6\na#2      6     2\nb       12     1\n")
    assert gradwalk("explain", TWICE, "a").stdout.startswith("a.grad = 6, the sum of 1 deposit:\n")
    assert gradwalk("explain", TWICE, "a#2").stdout.startswith("a#2.grad = 2, the sum of 2 deposits:\n")
    drawn = gradwalk("draw", TWICE).stdout
    assert "<td>a</td>" in drawn and "<td>a#2</td>" in drawn
    assert gradwalk("explain", "a=2; b=a; c=b*b", "b").stdout.startswith("a.grad = 4")
    assert gradwalk("eval", "a=1; a=2; b=a*a").stdout == "name  data  grad\na        2     4\nb        4     1\n"


def said(*arguments):
    run = gradwalk(*arguments)
    assert (run.returncode, run.stdout) == (2, "")
    return run.stderr


def test_an_unknown_word_suggests_the_nearest_known_word():
    assert said("evla", "1") == "gradwalk: needs a command, got 'evla'; did you mean eval?\n"
    assert said("xyzzy") == "gradwalk: needs a command, got 'xyzzy'; gradwalk --help lists them\n"
    assert said() == "gradwalk: needs a command, got none; gradwalk --help lists them\n"
    assert said("eval", "--digist", "3", "1") == "eval: needs an option that it has, got '--digist'; did you mean --digits?\n"
    assert said("train", "moons", "--hiden", "3") == "train: needs an option that it has, got '--hiden'; did you mean --hidden?\n"
    assert said("train", "moons", "--hiden=3") == "train: needs an option that it has, got '--hiden'; did you mean --hidden?\n"
    assert said("train", "moons", "--valid", "0.2") == "train: needs an option that it has, got '--valid'; did you mean --validation?\n"
    assert said("train", "moons", "--frobnicate") == (
        "train: needs an option that it has, got '--frobnicate'; gradwalk train --help lists them\n")
    assert said("eval", "a=1", "b=2") == "eval: needs no more arguments, got 'b=2'; quote an expression that has spaces, or remove the argument\n"


def test_a_renamed_option_still_works_under_its_old_name_and_names_the_new_one(tmp_path):
    def same(command, old, new, *arguments, values=()):
        before, now = (gradwalk(command, *arguments, name, *values, cwd=tmp_path) for name in (old, new))
        assert (now.returncode, now.stderr) == (0, "") and now.stdout
        assert (before.returncode, before.stdout) == (0, now.stdout)
        assert before.stderr == f"{command}: {old} is deprecated; use {new}\n"
        if values:
            joined = gradwalk(command, *arguments, f"{old}={values[0]}", cwd=tmp_path)
            assert (joined.stdout, joined.stderr) == (now.stdout, before.stderr)
        assert old not in gradwalk(command, "--help").stdout.split()
        completed = re.split(r"(?m)^    [a-z]+\)$", gradwalk("completion", "bash").stdout.split(f"\n    {command})\n")[1])[0]
        assert new in (words := re.findall(r"--[a-z-]+", completed)) and old not in words

    (tmp_path / "points.csv").write_text("x,kind\n1,a\n2,b\n3,a\n4,b\n")
    train = ("points.csv", "--test-split", "0", "--steps", "5", "-q", "--save", "m")
    same("train", "--final-rate", "--final-lr-fraction", *train, values=["0.5"])
    same("train", "--recover", "--checkpoint-every", *train, values=["2"])
    same("predict", "--all", "--probabilities", "m", "points.csv")
    same("walk", "--rate", "--lr", "--broken", "no-zeroing", "a=3; a*a", values=["0.25"])
    same("walk", "--most-visits", "--max-visits", "--broken", "recursion", "a=3; b=a*a; b*b", values=["3"])
    same("draw", "--digits", "--decimals", "a=1/3; a", values=["2"])
    assert "deprecated" not in gradwalk("walk", "--", "--rate").stderr  # here it is an expression
    assert gradwalk("eval", "--digits", "3", "1").stderr == ""


def test_eval_names_the_first_node_that_is_not_finite():
    run = gradwalk("eval", "a=-1; b=log(a); c=b*2")
    assert (run.returncode, run.stdout) == (0, "name  data  grad\na       -1    -2\nb      nan     2\nc      nan     1\n")
    assert run.stderr == "'b' is nan: log(a=-1); log needs x > 0\n"
    run = gradwalk("eval", "log(-1)")
    assert (run.stdout, run.stderr) == ("name    data  grad\n(root)   nan     1\n", "a node is nan: log(-1); log needs x > 0\n")
    assert "nan" in gradwalk("eval", "a=0; b=1/a; c=b-b").stdout and "-nan" not in gradwalk("eval", "a=0; b=1/a; c=b-b").stdout


def test_expressions_accept_greek_names_subscripts_and_constants():
    assert gradwalk("eval", "α=2; β₁=3; x₂=α*β₁").stdout == (
        "name  data  grad\n"
        "α        2     3\n"
        "β₁       3     2\n"
        "x₂       6     1\n"
    )
    assert "6.28319" in gradwalk("eval", "2*pi").stdout and "2.71828" in gradwalk("eval", "e").stdout
    assert "β₁" in gradwalk("draw", "β₁=3; β₁*2").stdout


def test_a_file_that_is_no_model_is_not_called_damaged(tmp_path):
    for text in ("", "1,2,3\n4,5,6\n", "a=2; b=a*a\n" * 100):
        (tmp_path / "file").write_text(text)
        for command in (["inspect", "file"], ["predict", "file", "file"], ["train", "--resume", "file"]):
            run = subprocess.run([PROGRAM, *command], cwd=tmp_path, capture_output=True, text=True, timeout=60)
            assert (run.returncode, run.stderr) == (
                1, "file: needs a model saved by gradwalk train, got a file of another kind; give a model file\n")


def test_ops_lists_the_table():
    text = gradwalk("ops").stdout
    assert "r = tanh(x)" in text and "dx = 1 - r * r" in text and "where x > 0" in text
    ops = {op["name"]: op for op in json.loads(gradwalk("ops", "--json").stdout)["ops"]}
    assert ops["div"] == {
        "name": "div", "symbol": "/", "operands": 2, "domain": "y != 0", "value": "x / y", "dx": "1 / y", "dy": "-r / y",
    }


def test_unwritable_output_is_an_error():
    with open("/dev/full", "w") as full:
        run = subprocess.run([PROGRAM, "ops"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert run.returncode == 1
    assert run.stderr == (
        "gradwalk: needs an output it can write to, got No space left on device; free some space, or write to another file\n")


def test_compile_shows_each_pass_and_refuses_inputs_that_are_no_leaves():
    expression = "x=1; y=2; w=3; b=0; relu(w*x + b - y)"
    shown = gradwalk_json("compile", expression, "--inputs", "x,y", "--json")
    assert shown["inputs"] == ["x", "y"] and shown["parameters"] == ["w", "b"]
    assert list(shown["passes"]) == ["record", "simplify", "differentiate", "lift", "schedule"]
    assert "relu" in shown["passes"]["record"] and shown["instructions"] == 2
    layers = "x=1; y=2; a=1; b=2; c=3; d=4; relu(a*x+b*y) * relu(c*x+d*y)"
    assert gradwalk_json("compile", layers, "--inputs", "x,y", "--json")["layers"] == ["2 x 2"]
    for name in "z", "f":
        done = gradwalk("compile", "x=1; f=x*x", "--inputs", name)
        assert (done.returncode, done.stdout) == (1, "")
        assert f"needs --inputs that are names of leaves in the expression, got '{name}'; name the numbers that differ" in done.stderr


def c_program(source, folder):
    """Compiles a C file without warnings and returns the program's name."""
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run(["gcc", *flags, str(source), "-o", str(folder / "program"), "-lm"], check=True, timeout=60)
    return str(folder / "program")


def test_compile_writes_an_expression_as_c(tmp_path):
    source = tmp_path / "neuron.c"
    expression = "x=1; y=2; w=3; b=0; (w*x + b - y)**2"
    done = gradwalk("compile", expression, "--inputs", "x,y", "--emit", str(source), "--hessian", "--main", "--float")
    assert (done.returncode, done.stdout) == (0, f"wrote {source}\n")
    printed = subprocess.run([c_program(source, tmp_path)], capture_output=True, text=True, check=True, timeout=60).stdout
    assert printed.splitlines() == ["value = 1", "gradient[0] = 2", "gradient[1] = 2", "input_gradient[0] = 6", "input_gradient[1] = -2"]
    for name, message in ((tmp_path / "missing" / "a.c", "needs a folder that takes a new file"), (tmp_path / "a.txt", "ends in .c")):
        done = gradwalk("compile", "x=1; x*x", "--emit", str(name))
        assert done.returncode == 1 and message in done.stderr and not name.exists()
    assert gradwalk("compile", "x=1; x*x", "--float").returncode == 2


def test_emit_writes_a_model_as_c_that_predicts_the_same(tmp_path):
    model, source, rows = tmp_path / "m.safetensors", tmp_path / "m.c", tmp_path / "rows.csv"
    assert gradwalk("train", "moons", "--steps", "30", "--save", str(model)).returncode == 0
    done = gradwalk("emit", str(model), "-o", str(source), "--train-step", "--main")
    assert (done.returncode, done.stdout) == (0, f"wrote {source}: 337 parameters\n")
    points = [(0.1 * i, 0.5 - 0.07 * i) for i in range(-10, 20)]
    rows.write_text("x0,x1\n" + "".join(f"{x},{y}\n" for x, y in points))
    predicted = gradwalk("predict", str(model), str(rows))
    assert predicted.returncode == 0, predicted.stderr
    text = "".join(f"{x},{y}\n" for x, y in points)
    printed = subprocess.run([c_program(source, tmp_path)], input=text, capture_output=True, text=True, check=True, timeout=60).stdout
    assert printed.splitlines() == [line.split(",")[0] for line in predicted.stdout.splitlines()[1:]]
    assert gradwalk("emit", str(source), "-o", str(tmp_path / "x.c")).returncode == 1
    assert "needs -o with the name of a C file" in gradwalk("emit", str(model), "-o", str(tmp_path / "x")).stderr
