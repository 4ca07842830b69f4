# SPDX-License-Identifier: MIT
"""gradwalk train --resume: a run that was stopped, killed or finished continues as if it had never stopped."""

import json
import os
import random
import re
import signal
import struct
import subprocess
import time

import pytest
from cli import PROGRAM, gradwalk, gradwalk_json
from training import ENDLESS, FLOWERS, LONG, RECIPE, folder, header, interrupted, metadata, numbers, refused, run, save  # noqa: F401


@pytest.mark.parametrize("options", [
    ["moons"], ["flowers.csv"], ["circles", "--optimizer", "momentum", "--batch", "7"],
    ["spiral", "--optimizer", "adamw", "--clip", "1", "--warm-up", "60", "--samples", "60"],
    ["flowers.csv", "--optimizer", "rmsprop", "--activation", "elu", "--balance"],
    ["flowers.csv", "--label", "kind", "--test-split", "0.3", "--raw", "--loss", "mse", "--batch", "all", "--lr", "0.001"],
], ids=lambda options: options[0])
def test_a_resumed_run_saves_the_same_bytes_as_an_uninterrupted_one(options):
    save(*options, "--steps", 100, to="straight")
    save(*options, "--steps", 50, "--decay-steps", 40 if "--warm-up" in options else 100, to="half")
    first = open("half", "rb").read()
    run("train", "--resume", "half", "--steps", 100, "-q", "--save", "other")
    assert open("half", "rb").read() == first
    run("train", "--resume", "half", "--steps", 100, "-q")
    assert open("half", "rb").read() == open("other", "rb").read() == open("straight", "rb").read()


def rates(*arguments):
    return [float(rate) for rate in re.findall(r"lr ([\d.e-]+)$", run("train", *arguments), re.MULTILINE)]


def test_the_learning_rate_decays_over_the_requested_steps():
    for steps in (200, 4000):
        falling = rates("flowers.csv", "--steps", steps)
        assert falling[0] == 0.01 and falling == sorted(falling, reverse=True) and 0 < falling[-1] < 1e-6
        assert falling[len(falling) // 2] == pytest.approx(0.005, rel=0.02)
    short, long = (gradwalk_json("train", "spiral", "--steps", str(steps), "--json")["train"]["loss"] for steps in (1000, 2000))
    assert long != short
    assert refused("train", "flowers.csv", "--steps", 20, "--decay-steps", 10, status=2) == (
        "train: needs a learning rate above 0 until step 20, got a rate of 0 from step 10; give --final-lr-fraction, or a larger --decay-steps")
    assert rates("flowers.csv", "--steps", 20, "--decay-steps", 10, "--final-lr-fraction", 0.5)[-1] == 0.005


def test_steps_beyond_the_schedule_start_a_new_schedule():
    before = gradwalk_json("train", "spiral", "--steps", "500", "--save", "m.safetensors", "--json")["train"]["loss"]
    shown = run("train", "--resume", "m.safetensors", "--steps", 1500)
    assert "\nnew learning-rate schedule from step 501 on: cosine from 0.01 to 0 in 1000 steps\n" in shown
    assert float(re.search(r"\ntrain +300 +([\d.]+)", shown).group(1)) < before
    assert metadata("m.safetensors")["recipe"]["rate"] == {"kind": "cosine", "final": 0, "steps": 1000, "warm_up": 0, "begin": 500}
    shown = run("train", "--resume", "m.safetensors", "--steps", 1600, "--lr", 0.002)
    assert "\nnew learning-rate schedule from step 1501 on: cosine from 0.002 to 0 in 100 steps\n" in shown
    assert re.search(r"step 1501 of 1600 .* lr 0.002\n", shown)
    save("moons", *ENDLESS, "--steps", 10)
    assert "\nthe learning rate is 0.5 from step 11 on\n" in run("train", "--resume", "m.safetensors", "--steps", 20, "--lr", 0.5)


def test_a_new_schedule_stopped_anywhere_resumes_identically():
    chance = random.Random(3)
    save("flowers.csv", "--steps", 60, to="straight")
    run("train", "--resume", "straight", "--steps", 120, "-q", "--save", "beyond")
    for stop in chance.sample(range(1, 60), 20):
        done = gradwalk("train", "flowers.csv", "--steps", "60", "-q", "--save", "stopped", "--stop-at", str(stop))
        assert (done.returncode, done.stderr) == (
            0, f"stopped at step {stop} of 60; to continue: gradwalk train --resume stopped\n")
        run("train", "--resume", "stopped", "-q")
        assert open("stopped", "rb").read() == open("straight", "rb").read()
    for stop in chance.sample(range(61, 120), 3):
        done = gradwalk("train", "--resume", "straight", "--steps", "120", "-q", "--save", "stopped", "--stop-at", str(stop))
        assert done.returncode == 0 and f"stopped at step {stop} of 120" in done.stderr
        run("train", "--resume", "stopped", "-q")
        assert open("stopped", "rb").read() == open("beyond", "rb").read()


def test_the_resume_example_of_the_help_improves_the_loss(folder):
    example = re.search(r"train iris.csv --label species --save iris.safetensors\n +gradwalk (train --resume .*)", run("train", "--help"))
    (folder / "iris.csv").write_text(FLOWERS.replace("kind", "species"))
    run("train", "iris.csv", "--label", "species", "--save", "iris.safetensors", "-q")
    shown = run(*example.group(1).split())
    assert "new learning-rate schedule from step 2001 on: cosine from 0.01 to 0 in 3000 steps" in shown
    assert min(float(rate) for rate in re.findall(r"lr ([\d.e-]+)$", shown, re.MULTILINE)) > 0


@pytest.mark.parametrize("options", [["moons"], ["spiral", "--steps", "60"], ["flowers.csv", "--loss", "mse", "--steps", "60"]],
                         ids=lambda options: options[0])
def test_compiled_steps_equal_eager_steps_and_both_times_are_shown(options):
    assert re.search(r"\n\d+ steps in [\d.]+ m?s\n", run("train", *options))
    shown = run("train", *options, "--eager")
    assert re.search(r"\n\d+ steps in [\d.]+ m?s \(eager\); compiled: [\d.]+ m?s, [\d.]+ times as fast\n", shown), shown
    save(*options, to="compiled")
    save(*options, "--eager", to="eager")
    assert metadata("eager")["training"]["step"] == "eager"
    assert metadata("compiled")["training"]["step"].startswith("compiled, ")
    compiled, eager = numbers("compiled"), numbers("eager")
    for name in eager:
        assert compiled[name] == pytest.approx(eager[name], rel=1e-6, abs=1e-9), name
    report = json.loads(run("train", *options, "--eager", "--json"))
    assert report["step"] == "eager" and 0 < report["compiled_seconds"] and 0 < report["seconds"]


def test_the_result_does_not_depend_on_the_number_of_threads():
    for threads in 1, 2, 3:
        save("spiral", "--hidden", "300,300", "--batch", "256", "--samples", "1000", "--steps", 4, "--threads", threads, to=f"of{threads}")
    assert open("of1", "rb").read() == open("of2", "rb").read() == open("of3", "rb").read()


def test_resuming_with_another_kind_of_step_warns():
    kind = save("moons", "--steps", 10)["training"]["step"]
    before = open("m.safetensors", "rb").read()
    for options, environment, now in (["--eager"], {}, "eager"), ([], {"GRADWALK_INSTRUCTION_SET": "SCALAR"}, "compiled, SCALAR"):
        done = gradwalk("train", "--resume", "m.safetensors", "--steps", "12", "-q", "--save", "n", *options,
                        env={**os.environ, **environment})
        assert (done.returncode, done.stderr) == (0, f"the saved steps were {kind}, the new ones are {now}: they round differently\n")
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


def test_resuming_with_unsuitable_options_or_data_is_refused_and_changes_nothing(folder):
    save("flowers.csv", "--steps", 10)
    before = open("m.safetensors", "rb").read()
    resume = ("train", "--resume", "m.safetensors")
    for options, shown, expected in RECIPE:
        if options[0] not in ("--lr", "--patience"):
            assert refused(*resume, *options, status=2) == (
                "train: needs no hyperparameters but --lr and --patience with --resume, because the model has its own, "
                f"got {options[0]}; omit it")
    for options in (["--features", "size"], ["--drop", "size"], ["--missing", "drop"], ["--other"], ["--no-header"], ["--task", "regress"], ["--samples", 9], ["--noise", 1], ["--test-split", 0.5], ["--label", 1], ["--header", "no"], ["--separator", "tab"]):
        assert refused(*resume, *options, "--steps", 20, status=2) == (
            "train: needs no data options with --resume, because the model knows how its data was read, "
            f"got {options[0]}; omit it")
    for options, steps in ([], 10), (["--steps", 10], 10), (["--steps", 3], 3):
        assert refused(*resume, *options) == (
            f"train: needs more --steps than the 10 that the model has made, got {steps}; "
            "give the total number of steps, including those already made")
    other = "resume: needs the data that the model was trained on, got other data; give the same data, or train a new model"
    (folder / "flowers.csv").write_text(FLOWERS.replace("size", "siZe"))
    assert refused(*resume, "--steps", 20) == other
    (folder / "flowers.csv").write_text(FLOWERS.replace("\n", "0\n").replace("kind0", "kind"))
    assert refused(*resume, "--steps", 20) == other
    assert refused("train", "moons", *resume[1:], "--steps", 20) == other
    assert open("m.safetensors", "rb").read() == before


def test_a_model_without_a_training_run_predicts_but_cannot_be_resumed():
    save("moons", "--steps", 5)
    head, numbers = header("m.safetensors")
    del head["__metadata__"]["training"]
    text = json.dumps(head).encode()
    with open("bare", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + numbers)
    assert refused("train", "--resume", "bare") == "bare: needs a model that gradwalk train saved, got a model without a training run; train it anew"
    assert "trained" not in run("inspect", "bare")


@pytest.mark.parametrize("source", ["", "{}", "[" * 100000, '{"data":5}', json.dumps({
    "data": "moons", "samples": 1e300, "noise": -1, "test_split": -1, "seed": 1, "label": "", "header": "", "separator": ""})])
def test_a_damaged_data_description_is_refused(source):
    save("moons", "--steps", 5)
    head, numbers = header("m.safetensors")
    head["__metadata__"]["source"] = source
    text = json.dumps(head).encode()
    with open("m.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + numbers)
    assert refused("train", "--resume", "m.safetensors", "--steps", 9) == (
        "m.safetensors: needs a description of its training data, got none that can be read; "
        "the file is damaged or was written by another program: use a backup copy, or train again")


# ---- stopping ----


@pytest.mark.parametrize("options, name, word", [
    ([], "gradwalk-recovery.safetensors", "gradwalk-recovery.safetensors"),
    (["--save", "my model"], "my model", "'my model'"),
])
def test_control_c_saves_and_the_resumed_run_is_identical(options, name, word):
    status, out, error = interrupted(*LONG, *options)
    assert status == 130
    stopped = re.fullmatch(rf"stopped at step (\d+) of 1000000; to continue: gradwalk train --resume {word}\n", error)
    assert stopped and f"\nsaved {name}\n" in out
    steps = int(stopped.group(1))
    assert 1 <= steps < 100000 and f"trained     {steps} of 1000000 steps" in run("inspect", name)
    run("train", "--resume", name, "--steps", steps + 20, "-q")
    save("moons", *ENDLESS, "--steps", steps + 20, to="straight")
    assert open(name, "rb").read() == open("straight", "rb").read()


def test_sigterm_saves_too():
    status, _, error = interrupted(*LONG, by=signal.SIGTERM)
    assert status == 143 and "to continue: gradwalk train --resume gradwalk-recovery.safetensors" in error
    status, _, error = interrupted("--resume", "gradwalk-recovery.safetensors")
    assert status == 130 and "to continue: gradwalk train --resume gradwalk-recovery.safetensors" in error


def test_a_killed_save_leaves_the_old_model_or_the_new_one():
    chance = random.Random(5)
    loop = f"while true; do '{PROGRAM}' train moons --samples 8 --hidden 64 --steps 1 -q --seed $((n+=1)) --save m >&-; done"
    found = set()
    began = time.monotonic()
    run("train", "moons", "--samples", 8, "--hidden", 64, "--steps", 1, "-q", "--save", "first")
    usual = time.monotonic() - began  # duration of a run on this machine, so that the kills cover all of it
    for number in range(200):
        process = subprocess.Popen(["sh", "-c", f"n={number * 1000}; {loop}"], stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(chance.uniform(0.1, 3) * usual)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if os.path.exists("m"):
            found.add(json.loads(run("inspect", "m", "--json"))["seed"])
    assert len(found) > 20  # the kills came before, during and after the replacement of the file
    run("train", "moons", "--steps", 1, "-q", "--save", "m")
