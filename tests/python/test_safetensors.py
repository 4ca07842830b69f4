# SPDX-License-Identifier: MIT
"""Compares model files with an independent reader and writer, written from the description of the format.

GRADWALK_SAFETENSORS names the program that reads and writes them with the library (tests/oracle/safetensors.cpp).
"""

import json
import os
import pathlib
import struct
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("GRADWALK_SAFETENSORS", ROOT / "build/release/tests/oracle/gradwalk_safetensors")
TYPES = {"F64": "<f8", "F32": "<f4"}


def load(path):
    """Returns a dict of arrays by name, and the metadata."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    assert raw[8:9] == b"{" and (8 + length) % 8 == 0
    header = json.loads(raw[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    data, end, arrays = raw[8 + length :], 0, {}
    for name, entry in header.items():
        begin, stop = entry["data_offsets"]
        assert begin == end, "a hole or an overlap"
        arrays[name] = np.frombuffer(data[begin:stop], TYPES[entry["dtype"]]).reshape(entry["shape"])
        end = stop
    assert end == len(data)
    return arrays, metadata


def save(path, arrays, metadata=None, padding=0):
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, array in arrays.items():
        dtype = next(key for key, value in TYPES.items() if np.dtype(value) == array.dtype)
        offsets = [len(data), len(data) + array.nbytes]
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": offsets}
        data += array.tobytes()
    text = json.dumps(header).encode() + b" " * padding
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def copy(source, target):
    return subprocess.run([PROGRAM, source, target], capture_output=True, text=True, timeout=60)


def bits(array):
    return array.astype("<f8").view("<u8").tolist()


@pytest.mark.parametrize("dtype", ["<f8", "<f4"])
def test_python_and_the_library_read_each_others_files_bit_by_bit(dtype, tmp_path):
    random = np.random.default_rng(3)
    arrays = {
        "layer.0.weight": random.normal(size=(16, 2)).astype(dtype),
        "layer.0.bias": np.array([0.0, -0.0, np.inf, -np.inf, 1e-40, 5e-324], dtype),
        "a scalar": np.array(np.pi, dtype),
        "nothing": np.zeros((0, 3), dtype),
        "näme \"\\ \n": np.ones((1, 1, 1), dtype),
    }
    metadata = {"random": "18446744073709551615", "ключ": "значение \u0001"}
    save(tmp_path / "python", arrays, metadata, padding=3)
    run = copy(tmp_path / "python", tmp_path / "gradwalk")
    assert (run.returncode, run.stderr) == (0, "")
    read, read_metadata = load(tmp_path / "gradwalk")
    assert read_metadata == metadata
    assert list(read) == list(arrays)
    for name, array in arrays.items():
        assert read[name].dtype == np.dtype("<f8")
        assert read[name].shape == array.shape
        assert bits(read[name].reshape(-1)) == bits(array.reshape(-1))


def test_the_library_writes_what_it_read_with_the_same_bytes(tmp_path):
    save(tmp_path / "python", {"w": np.arange(6.0).reshape(2, 3)})
    assert copy(tmp_path / "python", tmp_path / "one").stdout == "w 2 3 0x0p+0 0x1p+0 0x1p+1 0x1.8p+1 0x1p+2 0x1.4p+2\n"
    copy(tmp_path / "one", tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_truncated_file_is_refused_by_name(tmp_path):
    path = tmp_path / "python"
    save(path, {"w": np.arange(6.0)})
    path.write_bytes(path.read_bytes()[:-1])
    run = copy(path, tmp_path / "out")
    assert run.returncode == 1
    assert run.stderr == (
        f"{path}: needs tensors that fill the 47 bytes after the header, got 48; "
        "the file is damaged or not a safetensors file: use a copy, or save it again\n"
    )
    assert not (tmp_path / "out").exists()
