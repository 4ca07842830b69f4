# SPDX-License-Identifier: MIT
"""The Python in docstrings, README.md, docs/python.md and docs/tutorial.md runs and prints what it says."""

import doctest
import inspect
import pathlib
import re
import types
import typing

import numpy
import pytest

import gradwalk
import gradwalk.micrograd
import gradwalk.sklearn
from gradwalk import Value

ROOT = pathlib.Path(__file__).resolve().parents[2]


MODULES = [gradwalk, gradwalk.nn, gradwalk.gpu, gradwalk.sklearn, gradwalk.micrograd]
WITHOUT_CONSTRUCTOR = ("Condition", "Program", "GradientCheck", "Minimum", "Fit", "Root")


def is_of(module, thing):
    """Whether a module defines a name or, if it is gradwalk itself, takes it from one of its own modules."""
    home = str(getattr(thing, "__module__", None) or "gradwalk")
    return home.split(".")[0] == "gradwalk" if module is gradwalk else home == module.__name__


def public(module):
    """Yields everything public with its name: the module, its functions and classes, and their methods and properties."""
    yield module.__name__, module
    for name, thing in list(vars(module).items()):
        if name.startswith("_") or name == "main" or not callable(thing) or not is_of(module, thing) or typing.get_origin(thing):
            continue
        yield name, thing
        if isinstance(thing, type):
            members = {key for base in thing.__mro__ if is_of(gradwalk, base) for key in vars(base) if not key.startswith("_")}
            yield from ((f"{name}.{key}", getattr(thing, key)) for key in sorted(members))


def gaps_of(module):
    """Returns what is missing: examples, and signatures of what can be called."""
    gaps = []
    for name, thing in public(module):
        if not examples_of(thing):
            gaps.append(f"{name}: no example")
        if callable(thing) and name not in WITHOUT_CONSTRUCTOR:
            try:
                inspect.signature(thing)
            except ValueError:
                gaps.append(f"{name}: no signature")
    return gaps


def examples_of(thing):
    return doctest.DocTestParser().get_examples(inspect.getdoc(thing) or "")


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_every_public_name_has_an_example_and_a_signature(module):
    assert gaps_of(module) == []


def test_a_name_without_an_example_is_noticed():
    module = types.ModuleType("gradwalk.more", ">>> 1 + 1\n2")
    module.Kind = type("Kind", (), {"__module__": "gradwalk.more", "__doc__": ">>> 1 + 1\n2", "method": lambda self: None, "_private": lambda self: None})
    module.described = type("described", (), {"__module__": "gradwalk.more", "__doc__": "Returns nothing."})
    assert gaps_of(module) == ["Kind.method: no example", "described: no example"]
    assert len(list(public(gradwalk))) > 300 and len(list(public(gradwalk.sklearn))) > 10


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_the_examples_in_docstrings_run(module, monkeypatch, tmp_path):
    page = tmp_path / "show.html"
    page.write_text(f"<!doctype html>{gradwalk._show._PLACE}")  # the lesson's page may not be built
    monkeypatch.setattr(gradwalk._show, "_PAGE", page)
    runner = doctest.DocTestRunner()
    for name, thing in public(module):
        runner.run(doctest.DocTest(examples_of(thing), {**vars(gradwalk), **vars(module)}, name, None, 0, inspect.getdoc(thing)))
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


@pytest.mark.parametrize("page", ["docs/emit-c.md", "docs/gpu.md"])
def test_the_python_of_a_guide_runs(page, capsys):
    names = {"gradwalk": gradwalk, "numpy": numpy, "Value": Value}
    for block in blocks(page, "python"):
        exec(block, names)
    assert ("double cost_gradient(" in capsys.readouterr().out) == (page == "docs/emit-c.md")


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
