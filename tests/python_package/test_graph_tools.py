# SPDX-License-Identifier: MIT
"""Functions on a recorded graph: no_grad, find_nonfinite, recompute, drawings, walks and code."""

import pickle
import re

import gradwalk
import pytest
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


def test_pick_looks_up_lists_and_tables():
    values = [Value(float(i)) for i in range(6)]
    index = Value(4)
    picked = gradwalk.pick(values, index) * 3
    picked.backward()
    assert picked.data == 12 and [v.grad for v in values] == [0, 0, 0, 0, 3, 0] and index.grad == 0
    table = gradwalk.LookupTable(values, columns=2)
    assert len(table) == 3
    assert [v.data for v in gradwalk.pick_row(table, 1)] == [2, 3]
    assert gradwalk.pick(gradwalk.LookupTable(values), 5).data == 5
    index.data = 2
    gradwalk.recompute(picked)
    assert picked.data == 6


def test_pick_refuses_wrong_arguments():
    values = [Value(1.0), Value(2.0)]
    with pytest.raises(ValueError, match=re.escape("pick: needs a whole number from 0 to 1 as the index, got 2; check the index, and count from 0")):
        gradwalk.pick(values, 2)
    with pytest.raises(TypeError):
        gradwalk.pick(values, "0")
    with pytest.raises(TypeError):
        gradwalk.pick([1.0, 2.0], 0)
    with pytest.raises(TypeError):
        gradwalk.pick_row(values, 0)
    with pytest.raises(ValueError, match="pick_row"):
        gradwalk.pick(gradwalk.LookupTable(values, 2), 0)
    with pytest.raises(ValueError, match="a pick"):
        pickle.dumps(gradwalk.pick(values, 0))


def test_compiled_pick_is_an_embedding_as_in_pytorch():
    torch = pytest.importorskip("torch")
    numpy = pytest.importorskip("numpy")
    random = numpy.random.default_rng(1)
    weights = random.normal(size=(20, 3))
    rows = numpy.column_stack([random.integers(0, 20, 50), random.normal(size=50)])
    parameters = [Value(float(w)) for w in weights.ravel()]
    table = gradwalk.LookupTable(parameters, columns=3)

    def loss(row):
        a, b, c = gradwalk.pick_row(table, row[0])
        return (gradwalk.tanh(a * b) + c - row[1]) ** 2

    program = gradwalk.compile(loss, rows, parameters=parameters)
    value, gradient = program.gradients(rows)
    w = torch.tensor(weights, requires_grad=True)
    picked = torch.nn.functional.embedding(torch.tensor(rows[:, 0]).long(), w)
    total = ((torch.tanh(picked[:, 0] * picked[:, 1]) + picked[:, 2] - torch.tensor(rows[:, 1])) ** 2).sum()
    total.backward()
    assert value == pytest.approx(total.item())
    assert gradient == pytest.approx(w.grad.numpy().ravel())
    with pytest.raises(ValueError, match="got 20 in row 1"):
        program.run([[0, 1], [20, 1]])
