# SPDX-License-Identifier: MIT
"""gradwalk train --device, on a driver that runs kernels on the CPU (tests/fake_cuda.cpp)."""

import json
import os
import subprocess

import pytest

from cli import ROOT, gradwalk, gradwalk_json


def has_gpu_component():
    return "gradwalk::gpu" not in gradwalk("train", "moons", "--steps", "1", "--device", "cuda").stderr


pytestmark = pytest.mark.skipif(not has_gpu_component(), reason="built without gradwalk::gpu")


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """The environment of a program that uses the driver of the tests."""
    folder = tmp_path_factory.mktemp("driver")
    library = folder / "libcuda.so.1"
    shim = f'-DSHIM="{ROOT / "tests/cuda_shim.hpp"}"'
    subprocess.run(["g++", "-std=c++17", "-O1", "-fPIC", "-shared", shim, ROOT / "tests/fake_cuda.cpp", "-o", library], check=True)
    return {**os.environ, "LD_LIBRARY_PATH": str(folder), "GRADWALK_NVRTC": str(library), "GRADWALK_CACHE": str(folder / "cache")}


@pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="this machine has a GPU")
def test_without_a_gpu_nothing_is_written(tmp_path):
    done = gradwalk("train", "moons", "--device", "cuda", "--save", "m", "--plot", "m.svg", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "train: needs an NVIDIA GPU and its driver for --device cuda, got none; check the output of nvidia-smi, or omit --device\n"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("options", [["moons", "--hidden", "6"], ["moons", "--hidden", "64,64"], ["spiral", "--hidden", "4", "--batch", "64", "--validation", "0.2"],
                                     ["spiral", "--hidden", "4", "--batch", "all", "--optimizer", "adamw", "--balance"]], ids=lambda options: options[0])
def test_a_device_trains_the_same_model(driver, options):
    options = ["train", *options, "--steps", "6", "--json"]
    done = gradwalk(*options, "--device", "cuda", env=driver)
    assert (done.returncode, done.stderr) == (0, "")
    found, wanted = json.loads(done.stdout), gradwalk_json(*options, "--device", "cpu")
    assert found["step"] == "GPU, float32" and wanted["step"].startswith("compiled, ")
    for part in "train", "validation":
        assert (part in found) == (part in wanted)
        if part in found:
            assert found[part]["loss"] == pytest.approx(wanted[part]["loss"], rel=1e-5)


@pytest.mark.parametrize("options", [["moons", "--hidden", "6"], ["spiral", "--hidden", "4", "--batch", "48", "--validation", "0.2", "--optimizer", "adamw", "--clip", "0.5", "--l1", "0.01"]],
                         ids=lambda options: options[0])
def test_a_run_on_a_device_is_resumed(driver, tmp_path, options):
    def train(*options):
        done = gradwalk("train", *options, "--device", "cuda:1", "-q", env=driver, cwd=tmp_path)
        assert done.returncode == 0 and "round differently" not in done.stderr, done.stderr

    train(*options, "--steps", "16", "--save", "whole")
    train(*options, "--steps", "16", "--save", "part", "--stop-at", "7", "--checkpoint-every", "2")
    train("--resume", "part")
    assert (tmp_path / "part").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_device_reports_the_steps_of_the_processor(driver):
    options = ["train", "moons", "--hidden", "4", "--steps", "20", "--batch", "32", "--l2", "0.1", "--validation", "0.3"]
    done, wanted = gradwalk(*options, "--device", "cuda", env=driver), gradwalk(*options)
    assert done.returncode == 0 and done.stderr == ""
    assert [line for line in done.stdout.splitlines() if line.startswith("step ")] == [line for line in wanted.stdout.splitlines() if line.startswith("step ")]
    assert "penalty" in done.stdout and "validation" in done.stdout


def test_a_step_that_is_not_finite_is_refused(driver):
    options = ["train", "moons", "--loss", "mse", "--optimizer", "sgd", "--lr", "1e6", "--steps", "20"]
    done, wanted = gradwalk(*options, "--device", "cuda", env=driver), gradwalk(*options)
    assert done.returncode == wanted.returncode == 1
    assert done.stderr.startswith("train: needs a loss that is finite, got ") and "lower the learning rate" in done.stderr


def test_options_that_a_device_does_not_support_are_named(driver):
    for options, status, message in [
            (["--device", "gpu"], 2, "--device: needs cpu, cuda or cuda:N, got 'gpu'\n"),
            (["--device", "cuda:9"], 1, "train: needs an NVIDIA GPU and its driver for --device cuda:9, got 2 of them, numbered from 0; check the output of nvidia-smi, or omit --device\n"),
            (["--device", "cuda", "--dropout", "0.5"], 2, "train: needs a recipe without --dropout for --device cuda, got --dropout 0.5; omit one of them\n"),
            (["--device", "cuda", "--folds", "3", "--dropout", "0.5"], 2, "train: needs a recipe without --dropout for --device cuda, got --dropout 0.5; omit one of them\n"),
            (["--device", "cuda", "--eager"], 2, "train: needs --device cuda without --eager, got --eager; omit one of them\n")]:
        done = gradwalk("train", "moons", *options, env=driver)
        assert (done.returncode, done.stdout) == (status, "") and done.stderr.startswith(message), done.stderr
