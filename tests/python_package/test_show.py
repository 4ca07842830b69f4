# SPDX-License-Identifier: MIT
"""show() puts a graph into the lesson's page. test_notebooks.py tests the page in a browser."""

import html
import json
import pathlib
import re

import pytest

import gradwalk
from gradwalk import Value

BUILT = pathlib.Path(__file__).resolve().parents[2] / "web/dist/show.html"


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Replaces the lesson's page, which may not be built, by a small one."""
    path = tmp_path / "show.html"
    path.write_text('<script type="application/json" id="given">"GRADWALK_GRAPH"</script>', encoding="utf-8")
    monkeypatch.setattr(gradwalk._show, "_PAGE", path)


def given(shown):
    return json.loads(re.search(r'id="given">(.*)</script>', shown.page)[1])


def test_the_page_contains_the_graph(page):
    a = Value(2.0, label="</script>&\"'")
    shown = gradwalk.show(a * a, rule="overwrite", step=3)
    assert given(shown) == {"graph": json.loads(gradwalk._core._graph_json(a * a)), "rule": "overwrite", "step": 3}
    assert "</script>&" not in shown.page and given(shown)["graph"]["nodes"][0]["label"] == "</script>&\"'"
    assert given(gradwalk.show(a))["rule"] == "right" and "step" not in given(gradwalk.show(a))


def test_a_notebook_shows_the_page_in_a_frame(page, tmp_path):
    shown = gradwalk.show(Value(1.0) + 2)
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', shown._repr_html_())[1]) == shown.page
    shown.save(tmp_path / "walk.html")
    assert (tmp_path / "walk.html").read_text(encoding="utf-8") == shown.page


def test_show_reports_a_missing_page_and_an_unknown_rule(page, monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="upside down"):
        gradwalk.show(Value(1.0), rule="upside down")
    monkeypatch.setattr(gradwalk._show, "_PAGE", tmp_path / "none.html")
    with pytest.raises(RuntimeError, match="^show: needs the lesson's page, found none in the package; run tools/build-lesson in gradwalk's sources, "
                                           "then pip install . again$"):
        gradwalk.show(Value(1.0))


@pytest.mark.skipif(not BUILT.exists(), reason="the lesson is not built; run tools/build-lesson")
def test_the_package_contains_the_built_page():
    assert gradwalk._show._PAGE.read_text(encoding="utf-8") == BUILT.read_text(encoding="utf-8")
    assert BUILT.read_text(encoding="utf-8").count(gradwalk._show._PLACE) == 1
