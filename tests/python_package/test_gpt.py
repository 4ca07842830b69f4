# SPDX-License-Identifier: MIT
"""A GPT of scalars has the same losses with gradwalk's Value, eager and compiled, as with a pure-Python Value (bench/python)."""

import os
import pathlib
import sys

import pytest

import gradwalk

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/python"))
import gpt  # noqa: E402
import reference  # noqa: E402


def test_a_gpt_has_the_losses_of_pure_python():
    eager, compiled, theirs = gpt.Training(gradwalk.Value), gpt.CompiledTraining(), gpt.Training(reference.Value)
    for _ in range(200 if "GRADWALK_LONG" in os.environ else 5):
        loss = theirs.step()
        assert eager.step() == pytest.approx(loss, abs=1e-6) and compiled.step() == pytest.approx(loss, abs=1e-6)
