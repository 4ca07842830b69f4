# SPDX-License-Identifier: MIT
"""Hypothesis stores failed examples, to try them first next time. They go to build/, not to the source tree."""

import pathlib

from hypothesis.configuration import set_hypothesis_home_dir

set_hypothesis_home_dir(pathlib.Path(__file__).resolve().parents[2] / "build/hypothesis")
