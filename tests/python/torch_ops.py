# SPDX-License-Identifier: MIT
"""The PyTorch counterpart of each op of the table. Nothing else in the Python tests depends on single ops.

For ops that are not smooth inside their domain, KINKS returns the distance of the operands from the kink.
"""
import math

import torch

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


def without_slope(value, *operands):
    """Returns the value, with a derivative of 0 by each operand."""
    return torch.where(torch.zeros_like(value).bool(), sum(operands), value)


TORCH = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "pow": torch.pow,
    "max": torch.maximum,
    "min": torch.minimum,
    "atan2": torch.atan2,
    "hypot": torch.hypot,
    "less": lambda x, y: without_slope((x < y).double(), x, y),
    "less_equal": lambda x, y: without_slope((x <= y).double(), x, y),
    "equal": lambda x, y: without_slope((x == y).double(), x, y),
    "not_equal": lambda x, y: without_slope((x != y).double(), x, y),
    "stop": lambda x: without_slope(x.detach(), x),
    "neg": torch.neg,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "abs": torch.abs,
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": torch.tan,
    "asin": torch.asin,
    "acos": torch.acos,
    "atan": torch.atan,
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "log1p": torch.log1p,
    "expm1": torch.expm1,
    "erf": torch.erf,
    "softplus": lambda x: torch.nn.functional.softplus(x, threshold=700),  # the default threshold of 20 costs seven digits
    "exp2": torch.exp2,
    "log2": torch.log2,
    "log10": torch.log10,
    "cbrt": lambda x: torch.sign(x) * torch.abs(x) ** (1 / 3),  # PyTorch has no cbrt
    "asinh": torch.asinh,
    "acosh": torch.acosh,
    "atanh": torch.atanh,
    "erfc": torch.erfc,
    "gelu": torch.nn.functional.gelu,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "round": lambda x: torch.trunc(x + torch.copysign(torch.tensor(0.49999999999999994), x)),  # torch.round rounds half to even
    "trunc": torch.trunc,
    "fmod": torch.fmod,
    "copysign": torch.copysign,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "lgamma": torch.lgamma,
    "digamma": torch.digamma,
}


def to_nearest_integer(x):
    return abs(x - math.floor(x + 0.5)) if abs(x) < 1e15 else 0.0


# PyTorch's derivatives of these ops have about ten digits, so a graph with several of them cannot be compared.
IMPRECISE = {"lgamma", "digamma"}

# The derivative of these ops is 0, and PyTorch multiplies it by a derivative that may be infinite.
WITHOUT_SLOPE = {"less", "less_equal", "equal", "not_equal", "stop", "floor", "ceil", "round", "trunc"}

KINKS = {
    "relu": lambda x: abs(x),
    "abs": lambda x: abs(x),
    "max": lambda x, y: abs(x - y),
    "min": lambda x, y: abs(x - y),
    "hypot": lambda x, y: max(abs(x), abs(y)),
    "less": lambda x, y: abs(x - y),
    "less_equal": lambda x, y: abs(x - y),
    "equal": lambda x, y: abs(x - y),
    "not_equal": lambda x, y: abs(x - y),
    "stop": lambda x: 0,  # a kink everywhere, because its derivative is 0 and its value is not constant
    "fmax": lambda x, y: abs(x - y),
    "fmin": lambda x, y: abs(x - y),
    "copysign": lambda x, y: min(abs(x), abs(y)),
    "floor": to_nearest_integer,
    "ceil": to_nearest_integer,
    "trunc": to_nearest_integer,
    "round": lambda x: to_nearest_integer(x + 0.5),
    "fmod": lambda x, y: to_nearest_integer(x / y) * abs(y) / (1 + abs(x / y)) if y else 0.0,
    "cbrt": lambda x: abs(x),
    "div": lambda x, y: abs(y),
    "lgamma": lambda x: abs(x) if x > -0.5 else to_nearest_integer(x),
    "digamma": lambda x: abs(x) if x > -0.5 else to_nearest_integer(x),
    "atan2": lambda x, y: max(abs(x), y),  # the cut is x = 0, y < 0
}
