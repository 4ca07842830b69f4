# SPDX-License-Identifier: MIT
"""Functions on a recorded graph: no_grad, find_nonfinite, recompute, drawings, walks and code."""

import gradwalk
from gradwalk import Value


def test_no_grad_find_nonfinite_and_recompute_work_on_a_graph():
    a = Value(0.0, label="a")
    node, message = gradwalk.find_nonfinite(a.log() + 1)
    assert node._op == "log" and "a=0" in message and gradwalk.find_nonfinite(a + 1) is None
    with gradwalk.no_grad():
        assert (a + 1)._prev == set()
    assert (a + 1)._prev != set()
    b = a * a + 1
    a.data = 3
    gradwalk.recompute(b)
    assert b.data == 10


def test_draw_walk_and_explain_describe_a_graph():
    a = Value(2.0, label="a")
    root = a * a + 1
    assert gradwalk.draw_dot(root).startswith("digraph") and "<svg" in gradwalk.draw_svg(root)
    assert root._repr_svg_().replace(' style="max-width: 100%; height: auto"', "") == gradwalk.draw_svg(root, limit=100)
    assert gradwalk.draw_png(root)[:4] == b"\x89PNG"
    assert gradwalk.walk(root)["steps"] and gradwalk.explain(root, a)["grad"] == 4
    long = a
    for _ in range(1000):
        long = long + 1
    assert "more nodes" in long._repr_svg_()


def test_generated_code_prints_the_gradients(capsys):
    a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    root = (a * b + 10).tanh() / b.exp()
    root.backward()
    exec(gradwalk.to_code(root), {})
    assert capsys.readouterr().out == f"a: {a.grad}\nb: {b.grad}\n"
