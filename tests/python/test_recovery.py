# SPDX-License-Identifier: MIT
"""gradwalk train --checkpoint-every: a run that is killed at any moment continues from its last checkpoint."""

import os
import random
import signal
import subprocess
import time

import pytest
from cli import PROGRAM, gradwalk, wait_for_file
from training import ENDLESS, folder, metadata, refused, run, save, temporary_files  # noqa: F401

RECOVERY = "gradwalk-recovery.safetensors"


def killed(*arguments, after, name):
    """Trains until `after` seconds after the file appears, then kills the process."""
    process = subprocess.Popen([PROGRAM, "train", *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_file(name)
    time.sleep(after)
    process.kill()
    process.wait()
    assert process.returncode == -signal.SIGKILL, "the run ended before it was killed"


@pytest.mark.parametrize("options, name", [((), RECOVERY), (("--save", "m.safetensors"), "m.safetensors")], ids=["unnamed", "named"])
def test_a_killed_run_resumes_identically_from_its_last_checkpoint(options, name):
    chance = random.Random(9)
    endless = ("flowers.csv", *ENDLESS, "--validation", 0.2, "--dropout", 0.1)
    for _ in range(6):
        killed(*endless, "--steps", 1000000, "--checkpoint-every", 50, *options, after=chance.uniform(0, 0.2), name=name)
        steps = metadata(name)["training"]["steps"]
        assert steps > 0 and steps % 50 == 0
        run("train", "--resume", name, "--steps", steps + 33, "-q")
        save(*endless, "--steps", steps + 33, to="straight")
        assert open(name, "rb").read() == open("straight", "rb").read()
        os.remove(name)


def test_a_finished_run_leaves_no_recovery_file():
    run("train", "moons", "--checkpoint-every", 10, "-q")
    assert not os.path.exists(RECOVERY)
    run("train", "moons", "--checkpoint-every", 10, "-q", "--save", "m")
    assert metadata("m")["training"]["steps"] == 100
    open(RECOVERY, "w").write("mine")
    run("train", "moons", "--checkpoint-every", 10, "-q")
    assert open(RECOVERY).read() == "mine" and not os.path.exists("gradwalk-recovery-2.safetensors")
    done = gradwalk("train", "moons", "--checkpoint-every", "10", "--stop-at", "55", "-q")
    assert "to continue: gradwalk train --resume gradwalk-recovery-2.safetensors" in done.stderr
    assert metadata("gradwalk-recovery-2.safetensors")["training"]["steps"] == 55


def test_a_diverging_run_leaves_its_last_checkpoint():
    said = refused("train", "moons", "--lr", 1e6, "--checkpoint-every", 1, "-q", "--save", "m")
    assert "needs a loss that is finite" in said or "needs a gradient that is finite" in said
    steps = metadata("m")["training"]["steps"]
    assert f"at step {steps + 1};" in said and not temporary_files()


def test_a_failed_checkpoint_is_printed_and_does_not_end_the_run(folder):  # noqa: F811
    os.mkdir("place")
    process = subprocess.Popen([PROGRAM, "train", "moons", "--steps", "300000", *ENDLESS, "--checkpoint-every", "1000", "--save", "place/m"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_file("place/m")
    os.rename("place", "gone")
    time.sleep(0.3)
    os.mkdir("place")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    error = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert error.startswith("place/m: needs a folder that takes a new file, got No such file or directory; check its name and its folder's\n")
    assert error.endswith("to continue: gradwalk train --resume place/m\n") and os.path.exists("place/m")
