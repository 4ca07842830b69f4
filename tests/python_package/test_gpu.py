# SPDX-License-Identifier: MIT
"""gradwalk.gpu: Errors without a GPU, and everything else on a driver that runs kernels on the CPU (tests/fake_cuda.cpp).

The driver is chosen when a process starts, so the cases that need one are in gpu_cases.py, which runs in a process of its own.
On a machine with a GPU, `GRADWALK_GPU=1 python -m pytest tests/python_package/gpu_cases.py` runs them there.
"""

import os
import pathlib
import subprocess
import sys

import pytest

import gradwalk
from gradwalk import Value, gpu

TESTS = pathlib.Path(__file__).resolve().parents[1]


def has_driver():
    try:
        gpu.DeviceRows([[1.0]])
    except ValueError as error:
        return "libcuda" not in str(error)
    return True


@pytest.mark.skipif(has_driver(), reason="this machine has a driver")
def test_without_a_driver_the_error_names_what_was_tried():
    x = Value(1.0)
    wanted = "needs the driver of an NVIDIA GPU, got none: tried libcuda.so.1, libcuda.so; install the driver, or use compile() for the CPU"
    assert gpu.devices() == []
    for call, name in [(lambda: gpu.compile(x * x, inputs=[x]), "gpu.compile"), (lambda: gpu.DeviceRows([[1.0]]), "gpu.DeviceRows"),
                       (lambda: gradwalk.compile(x * x, inputs=[x], device="cuda"), "gpu.compile"),
                       (lambda: gradwalk.compile(lambda row: row[0], [[1.0], [2.0]], device="cuda:1"), "gpu.compile")]:
        with pytest.raises(ValueError) as raised:
            call()
        assert str(raised.value) == f"{name}: {wanted}"


def test_the_device_of_compile_is_checked():
    x = Value(1.0)
    for device, error in [("gpu", ValueError), ("cuda:x", ValueError), ("cuda:", ValueError), (0, TypeError), (None, TypeError)]:
        with pytest.raises(error, match=r"^compile: needs device 'cpu', 'cuda' or 'cuda:N', got .*; choose one of them$"):
            gradwalk.compile(x * x, inputs=[x], device=device)
    with pytest.raises(ValueError, match="^compile: needs threads=1 for a GPU, got 2; leave threads out$"):
        gradwalk.compile(x * x, inputs=[x], device="cuda", threads=2)
    with pytest.raises(ValueError, match="^compile: needs Values, or a function with sample rows, for a GPU, got a decorator; give the function and rows"):
        gradwalk.compile(device="cuda")
    assert gradwalk.compile(x * x, inputs=[x], device="cpu").run([[3.0]]) == 9


def test_programs_run_on_the_driver_of_the_tests(tmp_path):
    library = tmp_path / "libcuda.so.1"
    shim = f'-DSHIM="{TESTS / "cuda_shim.hpp"}"'
    subprocess.run(["g++", "-std=c++17", "-O1", "-fPIC", "-shared", shim, TESTS / "fake_cuda.cpp", "-o", library], check=True)
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])
    environment = {**os.environ, "LD_LIBRARY_PATH": paths, "GRADWALK_NVRTC": str(library), "GRADWALK_CACHE": str(tmp_path / "cache"), "GRADWALK_GPU": "fake", "FAKE_CUDA_BYTES": str(4 << 20)}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS / "python_package/gpu_cases.py"], capture_output=True,
                          text=True, env=environment)
    assert done.returncode == 0 and " passed" in done.stdout and "skipped" not in done.stdout, done.stdout + done.stderr
