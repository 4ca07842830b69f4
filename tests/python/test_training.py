# SPDX-License-Identifier: MIT
"""Training has the losses of PyTorch in float64 for 100 steps, from the same rows, initial parameters and optimizer."""
import pytest
import torch

from oracle import TRAINING, ask, numbers

LOSSES = {
    "mse": lambda out, labels: torch.nn.functional.mse_loss(out[:, 0], labels.double() * 2 - 1),
    "hinge": lambda out, labels: torch.relu(1 - (labels.double() * 2 - 1) * out[:, 0]).mean(),
    "bce": lambda out, labels: torch.nn.functional.binary_cross_entropy_with_logits(out[:, 0], labels.double()),
    "softmax": torch.nn.functional.cross_entropy,
}
ACTIVATIONS = {"mse": torch.relu, "hinge": torch.relu, "bce": torch.tanh, "softmax": torch.sigmoid}
RULES = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=0.02),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.02, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.05),
}


def layers(flat, sizes):
    """Splits a flat list of parameters into matrices and biases. Each neuron has its weights, then its bias."""
    made = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        count = outputs * (inputs + 1)
        table, flat = flat[:count].reshape(outputs, inputs + 1), flat[count:]
        made.append((table[:, :-1].clone().requires_grad_(), table[:, -1].clone().requires_grad_()))
    assert len(flat) == 0
    return made


def flatten(model):
    return torch.cat([torch.cat([w, b[:, None]], dim=1).reshape(-1) for w, b in model]).detach()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("loss", LOSSES)
def test_training_has_the_losses_of_pytorch(loss, rule):
    x, labels, first, losses, last = ask([f"train {loss} {rule}"], TRAINING)
    x = torch.tensor(numbers(x), dtype=torch.float64).reshape(-1, 2)
    labels = torch.tensor([int(word) for word in labels.split()])
    model = layers(torch.tensor(numbers(first), dtype=torch.float64), [2, 8, 8, 3 if loss == "softmax" else 1])
    optimizer = RULES[rule]([tensor for layer in model for tensor in layer])

    expected = []
    for _ in range(100):
        out = x
        for number, (w, b) in enumerate(model):
            out = out @ w.T + b
            if number + 1 < len(model):
                out = ACTIVATIONS[loss](out)
        value = LOSSES[loss](out, labels)
        expected.append(value.item())
        optimizer.zero_grad()
        value.backward()
        optimizer.step()

    losses = numbers(losses)
    assert len(losses) == 100
    assert losses == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert losses[-1] < 0.99 * losses[0]  # the loss fell, so the agreement means something
    assert numbers(last) == pytest.approx(flatten(model).tolist(), rel=1e-7, abs=1e-7)
