# SPDX-License-Identifier: MIT
"""gradwalk walk and gradwalk explain: what they print, their JSON, and hostile input."""

import math
import re
import resource
import time

import pytest
from cli import PRESETS, gradwalk, gradwalk_json

DIAMOND = "a=2; b=a+1; c=3*a; d=b*c"
DEEP = "x=2; a=x*x; b=a+1; c=3*a; d=b*c"


def by_name(nodes):
    return {node["name"]: node for node in nodes}


@pytest.mark.parametrize("text, values, gradients", PRESETS)
@pytest.mark.parametrize("command", ["eval", "walk"])
def test_presets_have_the_numbers_of_the_lesson(command, text, values, gradients):
    answer = gradwalk_json(command, "--json", text)
    nodes = by_name(answer["nodes"] if command == "eval" else answer["steps"][-1]["nodes"])
    for name, value in values.items():
        assert nodes[name]["data"] == pytest.approx(value, abs=1e-12)
    for name, gradient in gradients.items():
        assert nodes[name]["grad"] == pytest.approx(gradient, abs=1e-12)


def test_walk_json_has_every_step():
    walk = gradwalk_json("walk", "--json", "a=2; b=-3; c=10; e=a+b; f=e*c")
    assert (walk["format"], walk["version"], walk["rule"]) == ("gradwalk-walk", 1, "right")
    names = [node["name"] for node in walk["nodes"]]
    steps = walk["steps"]
    assert [(step["kind"], names[step["node"]]) for step in steps[:-1]] == [
        ("forward", "e"), ("forward", "f"), ("seed", "f"),
        ("visit", "f"), ("visit", "c"), ("visit", "e"), ("visit", "b"), ("visit", "a"),
    ]
    assert steps[0]["operands"] == [2, -3] and steps[0]["data"] == -1
    first = steps[3]["deposits"][0]
    assert first == {
        "from": names.index("f"), "to": names.index("e"), "operand": 0, "formula": "y", "local": 10, "amount": 10,
        "before": 0, "after": 10, "late": False,
    }


def test_replaying_the_steps_gives_the_final_gradients():
    for rule in ["right", "overwrite", "recursion", "no-visited", "forward", "twice", "no-zeroing"]:
        arguments = [] if rule == "right" else ["--broken", rule]
        walk = gradwalk_json("walk", "--json", *arguments, "a=2; b=3; c=a*b; d=c+a; e=d**2")
        data = [node["data"] if not node["operands"] else None for node in walk["nodes"]]
        grad = [0] * len(data)
        for step in walk["steps"][:-1]:
            if step["kind"] == "forward":
                data[step["node"]], grad[step["node"]] = step["data"], 0
            elif step["kind"] == "seed":
                grad[step["node"]] = step["after"]
            elif step["kind"] == "update":
                data[step["node"]] = step["after"]
            for deposit in step.get("deposits", []):
                assert grad[deposit["to"]] == deposit["before"]
                grad[deposit["to"]] = deposit["after"]
        end = walk["steps"][-1]["nodes"]
        assert [node["data"] for node in end] == data
        assert [node["grad"] for node in end] == grad


@pytest.mark.parametrize(
    "rule, text, leaf, wrong, right",
    [
        ("overwrite", "a=3; a*a", "a", 3, 6),
        ("overwrite", "a=3; a+a", "a", 1, 2),
        ("recursion", DEEP, "x", 156, 108),
        ("no-visited", DEEP, "x", 168, 108),
        ("forward", DIAMOND, "a", 0, 15),
        ("twice", "a=2; b=3; (a*b+a)**2", "a", 240, 128),
        ("twice", "a=2; b=3; (a*b+a)**2", "b", 128, 64),
    ],
)
def test_broken_rules_give_the_known_wrong_gradients(rule, text, leaf, wrong, right):
    walk = gradwalk_json("walk", "--json", "--broken", rule, text)
    leaf = [node["name"] for node in walk["nodes"]].index(leaf)
    assert walk["outcomes"][leaf]["grad"] == wrong
    assert walk["outcomes"][leaf]["right_grad"] == right
    assert walk["parting"] is not None


def test_walk_marks_the_first_error():
    text = gradwalk("walk", "--broken", "overwrite", "a=3; a*a").stdout
    assert "a.grad = (a*a).grad * a = 1 * 3 = 3; 3 -> 3  <- the first error" in text
    assert text.endswith(
        "The first error is at step 3: a had 3, which the next deposit replaced: 3 instead of 6.\n"
    )
    assert gradwalk("walk", "--broken", "overwrite", "a=3; -a").stdout.endswith("Every gradient is right.\n")


def test_orders_counts_the_results_of_all_orders():
    tally = gradwalk_json("walk", "--orders", "--json", DEEP)
    assert {result["grads"][0]: result["orders"] for result in tally["results"]} == {108: 10, 60: 10, 48: 10, 0: 90}
    assert gradwalk("walk", "--orders", DIAMOND).stdout.splitlines()[1] == "8 of 24      15  d,c,b,a  right"


def test_a_given_order_reports_lost_deposits():
    text = gradwalk("walk", "--order", "b,d,c,a", DIAMOND).stdout
    assert "\nb was visited before the deposit from d arrived: 6 lost (missing at the leaves: 6 at a)\n" in text
    run = gradwalk("walk", "--order", "b,d,c", DIAMOND)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == "walk: needs every node in the order, got none for 'a'; add it to the order\n"


def test_sort_shows_stack_and_list_at_each_step():
    sort = gradwalk_json("walk", "--sort", "--json", DIAMOND)
    names = [node["name"] for node in sort["nodes"]]
    assert [f"{step['action']} {names[step['node']]}" for step in sort["steps"]] == [
        "enter d", "enter b", "enter a", "finish a", "finish b", "enter c", "skip a", "finish c", "finish d",
    ]
    assert "7  skip a, already visited  d c    a b\n" in gradwalk("walk", "--sort", DIAMOND).stdout


def test_incompatible_options_are_refused():
    for arguments in (["--order", "a", "--broken", "twice"], ["--sort", "--orders"], ["--json", "--interactive"]):
        assert gradwalk("walk", *arguments, "a=1").returncode == 2
    run = gradwalk("walk", "--broken", "nonsense", "a=1")
    assert run.returncode == 2 and "overwrite" in run.stderr
    run = gradwalk("walk", "--interactive", "a=1")
    assert run.returncode == 1
    assert run.stderr == (
        "walk --interactive: needs a terminal, got a pipe or a file; omit --interactive to print the steps\n"
    )


def test_colours_are_used_on_terminals_and_on_request():
    assert "\033[" not in gradwalk("walk", DIAMOND).stdout
    assert "\033[" in gradwalk("walk", "--color", "always", DIAMOND).stdout
    plain = re.sub("\033\\[[0-9]*m", "", gradwalk("walk", "--color", "always", DIAMOND).stdout)
    assert plain == gradwalk("walk", DIAMOND).stdout


def test_explain_lists_deposits_and_paths():
    assert gradwalk("explain", DIAMOND, "a").stdout == (
        "a.grad = 15, the sum of 2 deposits:\n"
        "  9  from c = 3 * a  c.grad * 3 = 3 * 3\n"
        "  6  from b = a + 1  b.grad * 1 = 6 * 1\n"
        "\n"
        "and the sum of 2 paths from d:\n"
        "  9  d -> c -> a  3 * 3\n"
        "  6  d -> b -> a  6 * 1\n"
    )
    assert gradwalk("explain", DIAMOND, "d").stdout == "d.grad = 1, the seed: it is the root, where backward() starts.\n"
    run = gradwalk("explain", DIAMOND, "q")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == "explain: needs a name below the root, got 'q'; choose one of: a, b, c, d\n"
    assert gradwalk("explain", DIAMOND).returncode == 2


def test_explain_counts_2_to_the_64_paths_quickly():
    start = time.monotonic()
    answer = gradwalk_json("explain", "--json", "a=1; b=a;" + "b=b+b;" * 64, "a")
    assert time.monotonic() - start < 1
    assert answer["path_count"] == str(2**64)
    assert len(answer["paths"]) == 10
    assert "a" == answer["nodes"][answer["node"]]["name"]


def test_explain_reads_from_a_file_and_from_standard_input(tmp_path):
    path = tmp_path / "graph.txt"
    path.write_text(DIAMOND)
    expected = gradwalk("explain", DIAMOND, "a").stdout
    assert gradwalk("explain", "--file", str(path), "a").stdout == expected
    assert gradwalk("explain", "-", "a", stdin=DIAMOND).stdout == expected
    assert gradwalk("explain", "--file", str(path), "a", "b").returncode == 2


HOSTILE = {
    "parentheses": "(" * 1_000_000,
    "signs": "-" * 1_000_000,
    "doublings": "a=1;" + "a=a+a;" * 166_000,
    "an unknown name": "q" * 1_000_000,
}


def seconds_of_children():
    """The processor time of all child processes, which does not depend on how busy the machine is."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("command", [["eval"], ["walk"], ["walk", "--json"], ["explain"], ["draw", "-o", "-"]])
def test_a_megabyte_of_input_is_answered_quickly(what, command, tmp_path):
    path = tmp_path / "hostile.txt"
    path.write_text(HOSTILE[what])
    least = math.inf
    for _ in range(3):  # takes the minimum, because the core may be shared
        before = seconds_of_children()
        run = gradwalk(*command, "--file", str(path), *(["a"] if command == ["explain"] else []))
        least = min(least, seconds_of_children() - before)
        if least < 1:
            break
    assert least < 1
    if run.returncode == 0:
        warning = "'a' is inf: " if command == ["eval"] else ""
        assert run.stderr.startswith(warning) if warning else run.stderr == ""
    else:
        assert run.returncode == 1 and len(run.stderr) < 500 and ": needs " in run.stderr


def test_film_writes_an_animated_picture(tmp_path):
    path = tmp_path / "walk.webp"
    for arguments in [[], ["--broken", "overwrite"], ["--order", "b,d,c,a"]]:
        run = gradwalk("walk", *arguments, "--film", path, DIAMOND)
        assert run.stdout == f"wrote {path} (8 steps)\n"
        film = path.read_bytes()
        assert film[:4] == b"RIFF" and film[8:16] == b"WEBPVP8X" and film.count(b"ANMF") > 50
    assert [file.name for file in tmp_path.iterdir()] == ["walk.webp"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--film", "walk.gif"], "walk: needs a --film file that ends in .webp, got 'walk.gif'; rename it"),
        (["--film", "walk.webp", "--json"], "--json excludes --film"),
        (["--speed", "2"], "--speed requires --film"),
    ],
)
def test_invalid_film_options_are_refused(arguments, message):
    run = gradwalk("walk", *arguments, DIAMOND)
    assert run.returncode != 0 and run.stdout == "" and message in run.stderr
