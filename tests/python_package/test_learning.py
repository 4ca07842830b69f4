# SPDX-License-Identifier: MIT
"""Losses and optimizers agree with PyTorch; modules can be subclassed; parameters can be saved and loaded."""

import math

import pytest

import gradwalk
from gradwalk import Value


@pytest.mark.torch
def test_losses_and_optimizers_agree_with_torch():
    import torch

    numbers = [0.3, -0.7, 1.1]
    for config, rule in [(gradwalk.SGD(lr=0.1, momentum=0.9), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)),
                         (gradwalk.Adam(lr=0.1), lambda p: torch.optim.Adam(p, 0.1)),
                         (gradwalk.AdamW(lr=0.1), lambda p: torch.optim.AdamW(p, 0.1))]:
        ours = [Value(n) for n in numbers]
        theirs = torch.tensor(numbers, dtype=torch.float64, requires_grad=True)
        optimizer, reference = gradwalk.Optimizer(ours, config), rule([theirs])
        for _ in range(5):
            optimizer.zero_grad()
            reference.zero_grad()
            loss = gradwalk.mean_squared_error([p.tanh() for p in ours], [1, 2, 3])
            expected = ((theirs.tanh() - torch.tensor([1.0, 2.0, 3.0])) ** 2).mean()
            assert loss.data == pytest.approx(expected.item(), rel=1e-9)
            loss.backward()
            expected.backward()
            optimizer.step()
            reference.step()
        assert [p.data for p in ours] == pytest.approx(theirs.tolist(), rel=1e-9)


def test_hinge_cross_entropies_and_penalties_are_right():
    assert gradwalk.hinge(Value(0.5), 1).data == 0.5
    assert gradwalk.binary_cross_entropy([Value(0.0)], [1]).data == pytest.approx(math.log(2))
    assert gradwalk.softmax_cross_entropy([Value(1.0), Value(1.0)], 0).data == pytest.approx(math.log(2))
    assert gradwalk.l2_penalty([Value(3.0), Value(4.0)]).data == 25
    with pytest.raises(ValueError, match="hinge"):
        gradwalk.hinge([Value(1.0)], [3])


def test_modules_can_be_subclassed():
    class Scaled(gradwalk.Module):
        def __init__(self):
            self.inner, self.scale = gradwalk.Neuron(1, nonlin=False), Value(2.0)

        def __call__(self, x):
            return self.inner(x) * self.scale

        def parameters(self):
            return self.inner.parameters() + [self.scale]

    model = Scaled()
    model([1.0]).backward()
    assert model.inner.b.grad == 2
    model.zero_grad()
    assert all(p.grad == 0 for p in model.parameters())


def test_save_and_load_restore_the_parameters(tmp_path):
    model = gradwalk.MLP(2, [8, 1])
    gradwalk.save(tmp_path / "model.safetensors", model)
    numbers = [p.data for p in model.parameters()]
    for p in model.parameters():
        p.data = 0
    gradwalk.load(tmp_path / "model.safetensors", model)
    assert [p.data for p in model.parameters()] == numbers
    with pytest.raises(ValueError, match="load: needs a file with 1 parameters, got 33; load it into a model of the same sizes"):
        gradwalk.load(tmp_path / "model.safetensors", [Value(0.0)])
