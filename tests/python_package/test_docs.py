# SPDX-License-Identifier: MIT
"""The Python in docstrings, README.md, docs/python.md and docs/tutorial.md runs and prints what it says."""

import doctest
import pathlib
import re

import numpy
import pytest

import gradwalk
import gradwalk.sklearn
from gradwalk import Value

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("module", [gradwalk, gradwalk.nn, gradwalk.sklearn, gradwalk._compile, gradwalk._derivatives, gradwalk._core], ids=lambda m: m.__name__)
def test_the_examples_in_docstrings_run(module):
    names = {**vars(gradwalk), **vars(module)}
    finder = doctest.DocTestFinder()
    objects = [module] + ([vars(module)[name] for name in dir(module) if not name.startswith("__")] if module is gradwalk._core else [])
    runner = doctest.DocTestRunner()
    for documented in objects:
        for test in finder.find(documented, name=getattr(documented, "__name__", "?"), module=False if module is gradwalk._core else None, globs=dict(names)):
            runner.run(test)
    assert runner.failures == 0 and runner.tries > 0


def blocks(path, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / path).read_text(), re.DOTALL)


def test_the_python_of_the_readme_prints_what_it_says(capsys):
    (block,) = blocks("README.md", "python")
    exec(block, {})
    assert capsys.readouterr().out.split() == re.findall(r"# ([-\d.]+)", block) == ["24.7041", "138.8338", "645.5773"]


def test_the_python_of_the_docs_runs():
    names = {"gradwalk": gradwalk, "numpy": numpy, "Value": Value}
    for block in blocks("docs/python.md", "python"):
        exec(block, names)
    x = Value(2.0)
    names["cube"](x).backward()
    assert x.grad == 12 and names["loss"] < 1


def without_durations(text):
    return re.sub(r"\b[0-9.]+ ms\b", "T ms", text)


def test_the_python_of_the_tutorial_prints_what_it_says(capsys):
    page = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "docs/tutorial.md").read_text(), re.MULTILINE | re.DOTALL)
    programs = [i for i, (language, _) in enumerate(page) if language == "python"]
    assert len(programs) == 6
    for i in programs:
        expected = next(text for language, text in page[i:] if language == "text")
        exec(page[i][1], {})
        assert without_durations(capsys.readouterr().out) == without_durations(expected)
