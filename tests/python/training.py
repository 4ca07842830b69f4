# SPDX-License-Identifier: MIT
"""Shared by the tests of gradwalk train: a folder with a table, runs that succeed, fail or are stopped, and readers of model files."""

import csv
import io
import json
import os
import re
import signal
import struct
import subprocess
import time

import pytest
from cli import PROGRAM, gradwalk

FLOWERS = "size,width,kind\n" + "".join(
    f"{i % 10 + (5 if i % 3 == 0 else 0)},{i * 7 % 11 - (3 if i % 3 == 1 else 0)},{'abc'[i % 3]}\n" for i in range(60)
)

ENDLESS = ("--schedule", "constant", "--lr", "0.01")
LONG = ("moons", "--steps", "1000000", *ENDLESS)

# Each entry has an option with its value, a function that finds it in the model file, and what it finds there.
RECIPE = [
    (["--hidden", "3,4"], lambda m: m["recipe"]["hidden"], [3, 4]),
    (["--hidden", "none"], lambda m: m["sizes"], [2, 1]),
    (["--activation", "tanh"], lambda m: m["activation"], "tanh"),
    (["--activation", "gelu"], lambda m: m["activation"], "gelu_exact"),
    (["--activation", "gelu_tanh"], lambda m: m["activation"], "gelu"),
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
    (["--final-lr-fraction", "0.5"], lambda m: m["recipe"]["rate"]["final"], 0.5),
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


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flowers.csv").write_text(FLOWERS)
    return tmp_path


def run(*arguments, **options):
    """Runs a command that must succeed, and returns what it prints."""
    done = gradwalk(*map(str, arguments), **options)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def refused(*arguments, status=1, **options):
    """Runs a command that must fail without output, and returns its message."""
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
    """Returns the metadata of a model file, with JSON texts parsed."""
    texts = header(path)[0]["__metadata__"]
    return {
        key: json.loads(text) if key in ("recipe", "training", "source", "sizes", "features", "labels") else text
        for key, text in texts.items()
    }


def temporary_files():
    return [name for name in os.listdir() if name.endswith(".tmp")]


def start(*arguments):
    """Starts a training, and returns its process once it handles signals."""
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


def numbers(path):
    tensors, data = header(path)
    del tensors["__metadata__"]
    offsets = {name: tensor["data_offsets"] for name, tensor in tensors.items()}
    return {name: struct.unpack(f"<{(end - begin) // 8}d", data[begin:end]) for name, (begin, end) in offsets.items()}


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))
