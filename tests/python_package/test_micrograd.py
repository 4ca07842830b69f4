# SPDX-License-Identifier: MIT
"""Programs written for micrograd run unmodified under `python -m gradwalk.micrograd`, each in its own process."""

import subprocess
import sys
import textwrap

import pytest

OPERATORS = """
from micrograd.engine import Value

a = Value(-4.0)
b = Value(2.0)
c = a + b
d = a * b + b**3
c += c + 1
c += 1 + c + (-a)
d += d * 2 + (b + a).relu()
d += 3 * d + (b - a).relu()
e = c - d
f = e**2
g = f / 2.0
g += 10.0 / f
print(f'{g.data:.4f}')
g.backward()
print(f'{a.grad:.4f}')
print(f'{b.grad:.4f}')
"""

MOONS = """
import random
from micrograd.engine import Value
from micrograd.nn import MLP, Module
from gradwalk import make_moons

random.seed(1337)
X, y = make_moons(100, 0.1, 1337)
y = y * 2 - 1
model = MLP(2, [16, 16, 1])

def loss():
    inputs = [list(map(Value, row)) for row in X]
    scores = list(map(model, inputs))
    losses = [(1 + -yi * score).relu() for yi, score in zip(y, scores)]
    data_loss = sum(losses) * (1.0 / len(losses))
    total = data_loss + 1e-4 * sum((p * p for p in model.parameters()))
    right = [(yi > 0) == (score.data > 0) for yi, score in zip(y, scores)]
    return total, sum(right) / len(right)

for k in range(30):
    total, accuracy = loss()
    model.zero_grad()
    total.backward()
    for p in model.parameters():
        p.data -= (1.0 - 0.9 * k / 30) * p.grad
assert isinstance(model, Module) and str(model).startswith('MLP of [Layer of [ReLUNeuron(2)')
print(accuracy > 0.85, total.data < 0.5)
"""

TRACE = """
from micrograd.engine import Value
from micrograd import nn

def trace(root):
    nodes, edges = set(), set()
    def build(v):
        if v not in nodes:
            nodes.add(v)
            for child in v._prev:
                edges.add((child, v))
                build(child)
    build(root)
    return nodes, edges

x = [Value(1.0), Value(-2.0)]
n = nn.Neuron(2)
y = n(x)
nodes, edges = trace(y)
names = {str(id(v)) for v in nodes}
print(len(nodes), len(edges), len(names), sorted(v._op for v in nodes if v._op))
print(all(v in nodes for v in n.parameters() + x))
"""

KEPT = """
import os, random
from micrograd import nn
from micrograd.engine import Value

def resident():
    with open('/proc/self/statm') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')

model, best = nn.MLP(2, [4, 1]), None
for k in range(10_000):
    loss = (model([Value(random.random()), 0.5]) - 1.0) ** 2
    model.zero_grad()
    loss.backward()
    for p in model.parameters():
        p.data -= 0.01 * p.grad
    if best is None or loss.data < best.data:
        best = loss
    if k == 2000:
        before = resident()
print(resident() - before < 4 << 20)
"""


def run(tmp_path, program, *arguments):
    script = tmp_path / "script.py"
    script.write_text(program)
    command = [sys.executable, "-m", "gradwalk.micrograd", str(script), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    return result.stdout.split("\n")[:-1]


@pytest.mark.parametrize("program, printed", [
    (OPERATORS, ["24.7041", "138.8338", "645.5773"]),
    (MOONS, ["True True"]),
    (TRACE, ["10 9 10 ['*', '*', '+', '+', 'ReLU']", "True"]),
    (KEPT, ["True"]),
    ("import sys; print(sys.argv[1:], __name__)", ["['a', 'b'] __main__"]),
], ids=["operators", "moons", "trace", "kept", "arguments"])
def test_a_micrograd_program_runs_unmodified(tmp_path, program, printed):
    assert run(tmp_path, program, *(["a", "b"] if "argv" in program else [])) == printed


def test_the_micrograd_modules_exist_only_after_the_import():
    code = """
        import importlib.util
        assert importlib.util.find_spec("micrograd") is None
        import gradwalk.micrograd
        import micrograd, micrograd.nn
        from micrograd.engine import Value
        import gradwalk
        assert Value is gradwalk.Value and micrograd.nn.Value is Value and micrograd.engine.Value is Value
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


def test_micrograd_imported_before_is_an_error(tmp_path):
    (tmp_path / "micrograd.py").write_text("")
    code = "import micrograd, gradwalk.micrograd"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert "ImportError: gradwalk.micrograd: needs to be imported before micrograd, found micrograd imported; import gradwalk.micrograd first" in result.stderr
