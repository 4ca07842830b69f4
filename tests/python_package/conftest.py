# SPDX-License-Identifier: MIT
"""Hypothesis keeps the examples that failed, to try them first next time: in build/, not in the source tree."""

import pathlib

from hypothesis.configuration import set_hypothesis_home_dir

set_hypothesis_home_dir(pathlib.Path(__file__).resolve().parents[2] / "build/hypothesis")
