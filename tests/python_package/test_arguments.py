# SPDX-License-Identifier: MIT
"""Hostile arguments raise documented exceptions in Python's words, and never crash: a run of fuzz_arguments.py."""

import os
import pathlib
import subprocess
import sys

FUZZER = pathlib.Path(__file__).with_name("fuzz_arguments.py")


def test_hostile_arguments_are_refused_in_pythons_words():
    length = ["--seconds", "600", "--seed", str(os.getpid())] if os.environ.get("GRADWALK_LONG") else ["--calls", "4000"]
    done = subprocess.run([sys.executable, str(FUZZER), *length], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
