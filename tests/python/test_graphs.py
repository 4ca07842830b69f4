# SPDX-License-Identifier: MIT
"""Compares random graphs with PyTorch: the value and gradient of every node, the order of nodes, and Hessians."""
import math
import random

import torch

from oracle import ask, numbers
from random_graphs import SIZES, RandomGraph
from torch_ops import TORCH

TOLERANCE = 1e-10  # relative to the largest deposit in a gradient, or to the value


def build_order(graph):
    """Returns the order of micrograd's build_topo, with None for constants."""
    steps = [line.split() for line in graph.lines]
    order, seen, stack = [], set(), [(len(steps) - 1, None)]
    while stack:
        node, rest = stack.pop()
        if rest is None:
            if node in seen:
                continue
            seen.add(node)
            rest = iter(steps[node][2:] if steps[node][0] != "leaf" else [])
        for word in rest:
            if word.startswith("="):
                order.append(None)
            elif int(word.rstrip("!")) not in seen:
                stack += [(node, rest), (int(word.rstrip("!")), None)]
                break
        else:
            order.append(node)
    return order


def compare(graph, lines):
    for i, (node, line, scale) in enumerate(zip(graph.nodes, lines, graph.scales())):
        data, grad = numbers(line)
        value = float(node.detach())
        assert abs(data - value) <= TOLERANCE * max(1, abs(value)), f"value of step {i}: {data}, PyTorch has {value}"
        want = float(node.grad)
        assert abs(grad - want) <= TOLERANCE * scale, f"gradient of step {i}: {grad}, PyTorch has {want}"


def test_random_graphs_equal_pytorch():
    rng = random.Random(20240)
    assert len(SIZES) == 1000 and max(SIZES) == 10_000
    for at in range(0, len(SIZES), 50):
        graphs = [RandomGraph(rng, size) for size in SIZES[at:at + 50]]
        commands = []
        for graph in graphs:
            root, seed = len(graph.nodes) - 1, rng.choice([1.0, 1.0, -2.5])
            graph.nodes[root].backward(torch.tensor(seed))
            commands += ["graph", *graph.lines, f"backward {root} {seed}", "read", f"order {root}"]
        lines = iter(ask(commands))
        for graph in graphs:
            compare(graph, [next(lines) for _ in graph.nodes])
            order = [None if word == "c" else int(word) for word in next(lines).split()]
            assert order == build_order(graph)


def hessian(graph):
    """Returns PyTorch's Hessian of the last step with respect to the leaves."""
    steps = [line.split() for line in graph.lines]
    leaves = [i for i, step in enumerate(steps) if step[0] == "leaf"]

    def value(word, nodes):
        return torch.tensor(float.fromhex(word[1:])) if word.startswith("=") else nodes[int(word.rstrip("!"))]

    def root(x):
        nodes = {leaf: x[k] for k, leaf in enumerate(leaves)}
        for i, (op, *words) in enumerate(steps):
            if op != "leaf":
                nodes[i] = TORCH[op](*(value(word, nodes) for word in words[1:]))
        return nodes[len(steps) - 1]

    at = torch.stack([graph.nodes[leaf].detach() for leaf in leaves])
    return torch.autograd.functional.hessian(root, at).tolist()


def test_hessians_of_random_functions_equal_pytorch():
    rng = random.Random(7)
    graphs = [RandomGraph(rng, rng.choice([8, 20, 60, 120]), leaves=rng.randint(1, 6)) for _ in range(60)]
    expected = [hessian(graph) for graph in graphs]
    lines = iter(ask([command for graph in graphs for command in ["graph", *graph.lines, "hessian"]]))
    curved = 0
    for graph, rows in zip(graphs, expected):
        largest = max(abs(x) for row in rows for x in row)
        curved += largest > 1e-3
        for row in rows:
            line = numbers(next(lines))
            if any(math.isnan(x) for row in rows for x in row):
                continue  # PyTorch multiplies zero by infinity, as in the second derivative of a power of 0
            for got, want in zip(line, row):
                assert abs(got - want) <= TOLERANCE * max(1, largest), f"{got}, PyTorch has {want}: {graph.lines}"
    assert curved >= 40, "too few functions with a Hessian worth comparing"
