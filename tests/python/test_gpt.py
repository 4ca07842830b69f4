# SPDX-License-Identifier: MIT
"""Compares the GPT of the examples with a GPT of PyTorch tensors in float64, which sees all tokens at once behind a mask."""
import pytest
import torch
from torch.nn.functional import cross_entropy

from oracle import TRAINING, ask, numbers

VOCABULARY, CONTEXT, SIZE, HEADS, LAYERS = 27, 16, 16, 4, 2
NAMES = ["emma", "olivia", "al", "christopher", "maximilianalexandra"] * 6  # the last is longer than the context


def norm(x):
    return x / torch.sqrt((x * x).mean(dim=-1, keepdim=True) + 1e-5)


def heads(x):
    return x.reshape(len(x), HEADS, SIZE // HEADS).transpose(0, 1)


def attention(query, key, value):
    later = torch.ones(len(query), len(query)).triu(diagonal=1).bool()
    scores = heads(query) @ heads(key).transpose(1, 2) / (SIZE // HEADS) ** 0.5
    mixed = torch.softmax(scores.masked_fill(later, -torch.inf), dim=-1) @ heads(value)
    return mixed.transpose(0, 1).reshape(len(query), SIZE)


def loss(parameters, name):
    tokens = torch.tensor([26] + [ord(c) - ord("a") for c in name] + [26])
    inputs, targets = tokens[:-1][:CONTEXT], tokens[1:][:CONTEXT]
    tables = iter(parameters)
    x = norm(next(tables)[inputs] + next(tables)[: len(inputs)])
    for _ in range(LAYERS):
        query, key, value, output, up, down = (next(tables) for _ in range(6))
        h = norm(x)
        x = x + attention(h @ query.T, h @ key.T, h @ value.T) @ output.T
        x = x + torch.relu(norm(x) @ up.T) @ down.T
    return cross_entropy(x @ next(tables).T, targets)


def test_the_gpt_has_the_losses_of_pytorch():
    first, losses, last = (numbers(line) for line in ask(["gpt " + " ".join(NAMES)], TRAINING))
    square, wide, high = (SIZE, SIZE), (4 * SIZE, SIZE), (SIZE, 4 * SIZE)
    shapes = [(VOCABULARY, SIZE), (CONTEXT, SIZE)]
    for _ in range(LAYERS):
        shapes += [square, square, square, square, wide, high]
    shapes.append((VOCABULARY, SIZE))
    flat = torch.tensor(first, dtype=torch.float64)
    parts = torch.split(flat, [rows * columns for rows, columns in shapes])
    parameters = [part.reshape(shape).clone().requires_grad_() for part, shape in zip(parts, shapes)]
    adam = torch.optim.Adam(parameters, lr=0.01, betas=(0.85, 0.99))

    expected = []
    for name in NAMES:
        value = loss(parameters, name)
        expected.append(value.item())
        adam.zero_grad()
        value.backward()
        adam.step()

    assert losses == pytest.approx(expected, rel=1e-9)
    assert losses[-1] < 0.9 * losses[4]  # the same name later: the loss fell, so the agreement means something
    assert last == pytest.approx(torch.cat([p.detach().reshape(-1) for p in parameters]).tolist(), rel=1e-6, abs=1e-7)
