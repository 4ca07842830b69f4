# SPDX-License-Identifier: MIT
"""mpirun -n N gradwalk train: N processes train the same model as one. One of them prints, saves and reports errors."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest
from cli import PROGRAM, wait_for_file
from training import ENDLESS, folder, metadata, numbers, run, save, temporary_files  # noqa: F401

pytestmark = pytest.mark.skipif(
    shutil.which("mpirun") is None or not list(pathlib.Path(PROGRAM).parent.glob("src/mpi/libgradwalk-mpi.so*")),
    reason="no mpirun, or gradwalk was built without gradwalk::mpi")

ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def mpirun(processes, *arguments, program=PROGRAM, **options):
    """Runs the command line by mpirun on this machine. Open MPI 5 complains about networks it cannot use, so it may use none."""
    command = ["mpirun", "--oversubscribe", "-n", str(processes), str(program), "train", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **ROOT, "OMPI_MCA_btl": "^tcp"}, stdin=subprocess.DEVNULL, **options)


@pytest.fixture
def digits(folder):  # noqa: F811
    from sklearn.datasets import load_digits
    data = load_digits()
    lines = (",".join(f"{x:g}" for x in row) + f",d{label}\n" for row, label in zip(data.data, data.target))
    (folder / "digits.csv").write_text("".join(lines))


def test_two_and_four_processes_give_the_model_of_one(digits):
    options = ("digits.csv", "--hidden", 32, "--steps", 200)
    alone = json.loads(run("train", *options, "--json", "--save", "alone"))
    for processes in 2, 4:
        done = mpirun(processes, *options, "--json", "--save", "together")
        assert (done.returncode, done.stderr) == (0, "")
        result = json.loads(done.stdout)  # only one process prints
        for part in "train", "test":
            assert result[part]["loss"] == pytest.approx(alone[part]["loss"], abs=1e-9)
            assert result[part]["accuracy"] == alone[part]["accuracy"]
        single, several = numbers("alone"), numbers("together")
        assert several["history.loss"] == pytest.approx(single["history.loss"], abs=1e-9)
        assert several["layers.0.weight"] == pytest.approx(single["layers.0.weight"], abs=1e-8)
        assert not temporary_files()


def test_dropout_validation_and_resuming_do_not_depend_on_the_processes():
    options = ("flowers.csv", "--steps", 120, "--dropout", 0.2, "--validation", 0.2, "--hidden", "8")
    best = save(*options, to="alone")["training"]
    assert mpirun(3, *options, "-q", "--save", "straight").returncode == 0
    assert metadata("straight")["training"]["best_step"] == best["best_step"]
    assert numbers("straight")["layers.0.weight"] == pytest.approx(numbers("alone")["layers.0.weight"], abs=1e-8)
    done = mpirun(3, *options, "-q", "--save", "stopped", "--stop-at", 50)
    assert done.returncode == 0 and done.stderr == "stopped at step 50 of 120; to continue: gradwalk train --resume stopped\n"
    assert mpirun(3, "--resume", "stopped", "-q").returncode == 0
    assert open("stopped", "rb").read() == open("straight", "rb").read()


def test_one_process_prints_the_number_of_processes():
    done = mpirun(2, "moons", "--steps", 20)
    assert done.returncode == 0
    assert done.stdout.count("moons: 100 rows") == 1 and "\n2 processes share the rows of each step\n" in done.stdout
    assert mpirun(1, "moons", "--steps", 20, "-q").stdout == run("train", "moons", "--steps", 20, "-q")


def said_once(done, text):
    assert done.returncode == 1 or done.returncode == 2
    assert done.stderr.count(text) == 1, done.stderr
    return True


def test_an_error_is_printed_once():
    assert said_once(mpirun(3, "nowhere.csv"), "nowhere.csv: needs a file that can be read, got No such file or directory")
    assert said_once(mpirun(3, "moons", "--nonsense"), "--nonsense")
    assert said_once(mpirun(3, "moons", "--momentum", 0.5, "--optimizer", "adam"), "train: needs --momentum with sgd")
    assert said_once(mpirun(3, "moons", "--lr", 1e6), "train: needs a loss that is finite, got inf at step ")
    assert said_once(mpirun(2, "-"), "train: needs data that every process of mpirun can read, got standard input; save it to a file first")
    assert said_once(mpirun(2, "moons", "--save", "none/m"), "needs a folder that exists")


def test_a_missing_mpi_component_is_an_error_that_says_what_to_install(folder):  # noqa: F811
    data = pathlib.Path(PROGRAM).read_bytes()  # a copy gets a wrong path to the component
    assert b"/src/mpi" in data
    (folder / "copy").write_bytes(data.replace(b"/src/mpi", b"/src/mpx"))
    (folder / "copy").chmod(0o755)
    done = mpirun(2, "moons", program=folder / "copy")
    assert said_once(done, "train: needs gradwalk::mpi, for the 2 processes of mpirun, got none (libgradwalk-mpi.so")
    assert "; install libopenmpi-dev (tools/setup mpi) and build gradwalk with -DGRADWALK_MPI=ON" in done.stderr


def processes_of(mother):
    """Returns the ids of the gradwalk processes that mpirun has started, from /proc."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            status = (entry / "status").read_text() if entry.name.isdigit() else ""
        except OSError:
            continue
        if re.search(rf"^PPid:\t{mother}$", status, re.MULTILINE) and status.startswith("Name:\tgradwalk\n"):
            found.append(int(entry.name))
    return sorted(found)


def is_alive(process):
    try:
        return "\nState:\tZ" not in pathlib.Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def started(*arguments, name):
    command = ["mpirun", "--oversubscribe", "-n", "3", str(PROGRAM), "train", *map(str, arguments)]
    mother = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **ROOT}, stdin=subprocess.DEVNULL)
    wait_for_file(name)
    children = processes_of(mother.pid)
    assert len(children) == 3
    return mother, children


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_killed_process_ends_all_and_loses_only_the_steps_since_the_last_save(rank):
    mother, children = started("flowers.csv", "--steps", 1000000, *ENDLESS, "--checkpoint-every", 50, "--save", "m", name="m")
    time.sleep(0.1)
    os.kill(children[rank], signal.SIGKILL)
    mother.communicate(timeout=60)
    assert mother.returncode != 0
    deadline = time.monotonic() + 20
    while any(map(is_alive, children)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_alive, children))
    steps = metadata("m")["training"]["steps"]
    assert steps > 0 and steps % 50 == 0
    assert mpirun(3, "--resume", "m", "--steps", steps + 20, "-q").returncode == 0
    assert mpirun(3, "flowers.csv", *ENDLESS, "--steps", steps + 20, "-q", "--save", "straight").returncode == 0
    assert open("m", "rb").read() == open("straight", "rb").read()


def test_a_signal_to_one_process_stops_all_after_the_same_step_and_saves():
    mother, children = started("flowers.csv", "--steps", 1000000, *ENDLESS, "--checkpoint-every", 50, "--save", "m", name="m")
    os.kill(children[-1], signal.SIGINT)
    error = mother.communicate(timeout=60)[1]
    steps = int(re.search(r"stopped at step (\d+) of 1000000; to continue: gradwalk train --resume m\n", error).group(1))
    assert metadata("m")["training"]["steps"] == steps
