# SPDX-License-Identifier: MIT
"""Calls every public function and method of gradwalk with hostile arguments, in a child process.

usage: fuzz_arguments.py [--calls N | --seconds S] [--seed N] [--only NAME]

A call may return, or raise an exception of a documented type (docs/python.md) with a message in Python's words; an
exception of a hostile argument itself may come out, too. Anything else is a failure, also a crash or a call that does not
end. The child writes down each call before it makes it, so the last one is known.
"""

import argparse
import decimal
import faulthandler
import fractions
import itertools
import operator
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import types
import warnings

FORBIDDEN = ("Unable to cast", "incompatible function arguments", "incompatible constructor arguments", "Invoked with", "C++", "pybind11", "std::", "basic_string",
             "bad_alloc", "St9", "SystemError")
DOCUMENTED = (TypeError, ValueError, OverflowError, OSError, MemoryError)
ENDLESS = 120  # seconds after which a call counts as one that does not end


class Hostile(Exception):
    """Raised by hostile arguments. It may come out of any call."""


class Slow(BaseException):
    """Raised by the alarm clock: a call that is merely long, such as a network with a million neurons."""


def raising(*names):
    def refuse(*_):
        raise Hostile("hostile")

    return type("Raising_" + "_".join(names), (), {name: refuse for name in names})()


def endless_list():
    items = [1.0]
    items.append(items)
    return items


def deep_list():
    items = [1.0]
    for _ in range(2000):
        items = [items]
    return items


def arguments(gradwalk, numpy):
    """Functions that make an argument each."""
    Value = gradwalk.Value

    class Own(Value):
        pass

    def under_no_grad():
        with gradwalk.no_grad():
            return Value(2.0) * 3

    def long_chain():
        v = Value(1.0)
        for _ in range(3000):
            v = v * 1.001
        return v

    def inner():
        root = (Value(1.0) + 2) * 3
        return root.inputs[0]

    plain = [None, True, False, 0, 1, -1, 2, 7, 3.5, -0.0, float("nan"), float("inf"), float("-inf"), 1e308, 5e-324, 10**30, -10**30, 2**31, 2**32, 2**63, 2**64,
             -2**63, 1j, "", "abc", "right", "python", "float64", "adam", "x" * 10_000, "\ud800", "a\0b", "a=2; a*a", b"bytes", bytearray(b"x"), (), (1, 2), (1.0,),
             range(3), slice(1), Ellipsis, NotImplemented, int, float, Value, Exception, print, len, gradwalk, object, fractions.Fraction(1, 3),
             decimal.Decimal("1.5"), "/nope/nope", ".", "file"]
    makers = [lambda x=x: x for x in plain]
    makers += [list, dict, set, object, endless_list, deep_list, lambda: Own(2.0), under_no_grad, long_chain, inner]
    makers += [lambda: [1.0, 2.0], lambda: [1, 2, 3], lambda: [[1.0, 2.0], [3.0, 4.0]], lambda: [[1.0], [2.0, 3.0]], lambda: [None], lambda: ["a"],
               lambda: [Value(1.0), Value(2.0)], lambda: [Value(1.0), 2.0], lambda: (Value(1.0),), lambda: {Value(1.0)}, lambda: {"a": 1}, lambda: {"steps": 1},
               lambda: [[Value(1.0)]], lambda: (x for x in (1.0, 2.0)), lambda: (Value(x) for x in (1.0, 2.0)), lambda: map(int, "1x"), lambda: iter([]),
               lambda: [float("nan")], lambda: [1e308, 1e308], lambda: [True, False], lambda: [10**400]]
    makers += [lambda: Value(2.0), lambda: Value(-3.0, label="b"), lambda: Value(1.0) * 2 + 3, lambda: Value(float("nan")), lambda: Value.__new__(Value),
               lambda: Value(0.0).log(), lambda: Value(1.0) < 2, lambda: Value(1.0) > 2, lambda: Value(8.0, (Value(2.0),), "cube")]
    makers += [lambda: numpy.array(1.0), lambda: numpy.zeros(0), lambda: numpy.arange(3.0), lambda: numpy.arange(3), lambda: numpy.zeros((2, 2)), lambda: numpy.zeros((2, 0)),
               lambda: numpy.zeros((1, 2, 3)), lambda: numpy.array([Value(1.0), Value(2.0)]), lambda: numpy.array([None, "a"], object), lambda: numpy.array(["a"]),
               lambda: numpy.array([1j]), lambda: numpy.float32(2), lambda: numpy.int8(3), lambda: numpy.bool_(True), lambda: numpy.float64("nan"),
               lambda: numpy.zeros(3, "f4"), lambda: numpy.zeros(6)[::2], lambda: numpy.zeros(2, [("a", float)]), lambda: numpy.array([[Value(1.0)], [Value(2.0)]]),
               lambda: numpy.datetime64("2020-01-01"), lambda: memoryview(b"abc"), lambda: numpy.ma.masked_array([1.0, 2.0], [True, False]), lambda: numpy.matrix([[1.0]])]
    makers += [lambda names=names: raising(*names) for names in (("__len__", "__getitem__"), ("__float__",), ("__index__",), ("__iter__",), ("__bool__",), ("__array__",),
                                                                ("__call__",), ("__repr__", "__str__"), ("__eq__", "__hash__"), ("__fspath__",), ("__float__", "__index__", "__len__", "__iter__"))]
    functions = [lambda *a: None, lambda *a: 1.0, lambda *a: "text", lambda *a: a, lambda *a: list(a), lambda *a: Value(2.0), lambda *a: [Value(1.0)], lambda *a: [[Value(1.0)]],
                 lambda x=None, *a: x, lambda x=None, *a: sum(x) if isinstance(x, list) else x, lambda x: x * x, lambda x: (x[0] * x[0]), lambda x: [x[0], x[0] * 2],
                 lambda x, y: x, lambda: 1, lambda x: float("nan"), lambda x: x[0] if x[0] < 1 else x[0] * 2, lambda x: float(x[0]), lambda x: x[0].detach(), lambda x: numpy.sum(x),
                 lambda x: numpy.array(x), raising("__call__"), operator.itemgetter(0)]
    makers += [lambda f=f: f for f in functions]
    makers += [lambda: gradwalk.nn.MLP(2, [3, 1]), lambda: gradwalk.nn.Neuron(2), lambda: gradwalk.SGD(), lambda: gradwalk.Adam(lr=0.1), lambda: a_program(gradwalk),
               lambda: gradwalk.SGD.__new__(gradwalk.SGD), lambda: gradwalk.Program.__new__(gradwalk.Program), lambda: gradwalk.no_grad()]
    return makers


def a_program(gradwalk):
    w = gradwalk.Value(2.0)
    return gradwalk.compile(lambda row: w * row[0], [[1.0], [2.0]], parameters=[w])


def instances(gradwalk):
    """For each class, a function that makes an object."""
    w = gradwalk.Value(2.0)
    made = {
        "Value": lambda: gradwalk.Value(2.0) * 3, "Condition": lambda: gradwalk.Value(2.0) < 3, "no_grad": gradwalk.no_grad,
        "GradientCheck": lambda: gradwalk.check_gradient(lambda x: x[0], [1.0]), "Program": lambda: a_program(gradwalk),
        "Trainer": lambda: gradwalk.Trainer(a_program(gradwalk), gradwalk.SGD()), "Optimizer": lambda: gradwalk.Optimizer([w], gradwalk.SGD()),
        "Minimum": lambda: gradwalk.minimize(lambda x: x[0] * x[0], [1.0]), "Fit": lambda: gradwalk.fit(lambda p: [p[0] - 1], [0.0]),
        "Root": lambda: gradwalk.root(lambda x: x - 1, 0.0), "MLP": lambda: gradwalk.MLP(2, [2, 1]), "Layer": lambda: gradwalk.Layer(2, 2),
        "Neuron": lambda: gradwalk.Neuron(2), "Module": gradwalk.Module, "CSource": lambda: gradwalk.emit_c(w * 2),
        "CudaSource": lambda: gradwalk.emit_cuda(w * 2, inputs=[w]), "Device": lambda: gradwalk.gpu.Device(0, "", "sm_90", 1),
        "MLPClassifier": lambda: gradwalk.sklearn.MLPClassifier((2,), max_iter=2), "MLPRegressor": lambda: gradwalk.sklearn.MLPRegressor((2,), max_iter=2),
    }
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad"):
        made[name] = getattr(gradwalk, name)
    return made


OPERATORS = ("add sub mul truediv floordiv mod pow lt le eq ne gt ge neg pos abs and_ or_ xor invert contains getitem iadd imul index truth not_ "
             "length_hint concat matmul lshift").split()
DUNDERS = ("__init__", "__setstate__", "__format__", "__round__", "__array_ufunc__", "__array_function__", "__call__", "__enter__", "__exit__", "__reduce__", "__getattribute__", "__setattr__")


def targets(gradwalk):
    """(name, function that makes the callable) of everything public."""
    found = []
    classes = {}
    for module in (gradwalk, gradwalk.nn, gradwalk.gpu, gradwalk.sklearn):
        for name in dir(module):
            thing = getattr(module, name)
            if name.startswith("_") or isinstance(thing, types.ModuleType) or not callable(thing) or not str(getattr(thing, "__module__", "gradwalk")).startswith("gradwalk"):
                continue
            found.append((name, lambda thing=thing: thing))
            if isinstance(thing, type):
                classes.setdefault(name, thing)  # gpu.Program needs a GPU
    makers = instances(gradwalk)
    for name, cls in classes.items():
        members = [key for key in dir(cls) if not key.startswith("_") or key in DUNDERS or key in ("_backward", "_op", "_prev")]
        for key in members:
            if name in makers:
                found.append((f"{name}.{key}", lambda make=makers[name], key=key: getattr(make(), key)))
                found.append((f"{name}.{key} = ", lambda make=makers[name], key=key: lambda *a, **k: setattr(make(), key, *a[:1] or (None,))))
                found.append((f"del {name}.{key}", lambda make=makers[name], key=key: lambda *a, **k: delattr(make(), key)))
            found.append((f"{name}.{key} of any", lambda cls=cls, key=key: getattr(cls, key)))
            found.append((f"{name}.{key} of an empty one", lambda cls=cls, key=key: getattr(cls.__new__(cls), key)))
    for name in OPERATORS:
        for cls in ("Value", "Condition"):
            found.append((f"{cls} {name}", lambda name=name, make=makers[cls]: lambda *a, **k: getattr(operator, name)(make(), *a)))
            found.append((f"any {name} {cls}", lambda name=name, make=makers[cls]: lambda *a, **k: getattr(operator, name)(*a[:1], make())))
    return found


def message_is_fine(text):
    return not any(word in text for word in FORBIDDEN)


def is_of_argument(error, given):
    """Whether a hostile argument raised the exception: a lambda of this file, or a function such as itemgetter(0) that was given."""
    frame = error.__traceback__
    while frame.tb_next is not None:
        frame = frame.tb_next
    code = frame.tb_frame.f_code
    is_argument = code.co_filename == __file__ and getattr(code, "co_qualname", "arguments").startswith("arguments")
    is_argument = is_argument or "/numpy/ma/" in code.co_filename  # a masked array does its own arithmetic
    return is_argument or (isinstance(error, LookupError) and any(isinstance(x, operator.itemgetter) for x in given))


def is_allowed(error, name, given):
    if isinstance(error, (Hostile, Slow, *DOCUMENTED)) or is_of_argument(error, given):
        return True
    if isinstance(error, AttributeError):  # of Python itself: a name that is not there, or cannot be set
        return name.startswith("del ") or name.endswith((" = ", "__getattribute__", "__setattr__", " of any", " of an empty one"))
    if isinstance(error, LookupError):  # of a list that is indexed by a Condition
        return "getitem" in name
    return isinstance(error, RuntimeError) and (str(error).startswith(("show: needs", "draw: needs")) or isinstance(error, RecursionError))


def short(thing):
    try:
        text = repr(thing)
    except BaseException:
        text = f"<{type(thing).__name__}>"
    return text if len(text) < 120 else text[:117] + "..."


KEYWORDS = ["root", "x", "f", "inputs", "parameters", "rows", "digits", "limit", "seed", "nonsense", "out", "label", "threads", "mean", "lr"]


def call(number, name, make, choose, makers, log):
    """Makes one call. Returns the exception if it is not an allowed one, or ''."""
    named = {}
    given = []
    try:
        signal.alarm(5)
        given = [choose.choice(makers)() for _ in range(choose.choice((0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 7)))]
        named = {choose.choice(KEYWORDS): choose.choice(makers)()} if choose.random() < 0.15 else {}
        shown = ", ".join([*map(short, given), *(f"{key}={short(value)}" for key, value in named.items())])
        print(f"call {number} {name}({shown})".encode("ascii", "replace").decode(), file=log, flush=True)
        result = make()(*given, **named)
        short(result)
    except BaseException as error:  # noqa: BLE001 (the point of this program)
        signal.alarm(0)
        text = short_text(error)
        return "" if is_allowed(error, name, [*given, *named.values()]) and message_is_fine(text) else f"{type(error).__name__}: {text}"
    finally:
        signal.alarm(0)
    return ""


def child(options):
    import numpy

    import gradwalk
    import gradwalk.sklearn

    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    log = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # gradwalk and print() may write

    def ring(*_):
        raise Slow

    signal.signal(signal.SIGALRM, ring)
    numpy.seterr(all="ignore")
    warnings.simplefilter("ignore")
    choose = random.Random(options.seed)
    makers = arguments(gradwalk, numpy)
    every = [(name, make) for name, make in targets(gradwalk) if options.only in name and not any(skip in name for skip in options.skip)]
    order = itertools.cycle(choose.sample(every, len(every)))
    end = time.monotonic() + options.seconds if options.seconds else None
    made = 0
    while (made < options.calls) if end is None else (time.monotonic() < end):
        name, make = next(order)
        made += 1
        try:
            failure = call(made, name, make, choose, makers, log)
        except Slow:
            failure = ""
        if failure:
            print(f"FAILED {name}: {failure}", file=log, flush=True)
        while True:  # no_grad.__enter__ was among the calls
            try:
                gradwalk._core._end_no_grad()
            except ValueError:
                break
    print(f"made {made} calls of {len(every)} names", file=log, flush=True)


def short_text(error):
    try:
        return str(error).encode("ascii", "replace").decode()[:2000]
    except BaseException:
        return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("--child", action="store_true")
    options = parser.parse_args()
    if options.child:
        return child(options)
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--child", *sys.argv[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
                                   text=True, start_new_session=True)
        return watch(process)


def watch(process):
    failures, last = {}, ""
    signal.signal(signal.SIGALRM, lambda *_: process.kill())
    signal.alarm(ENDLESS)
    for line in process.stdout:
        signal.alarm(ENDLESS)
        if line.startswith("FAILED"):
            failures.setdefault(line.strip(), last)
        elif line.startswith("made"):
            print(line.strip())
        else:
            last = line.strip()
    signal.alarm(0)
    errors = process.stderr.read()
    status = process.wait()
    for failure, call in failures.items():
        print(f"{failure}\n    in {call}")
    if status != 0:
        print(f"the child ended with {status} in {last}\n{errors[-6000:]}")
    return 1 if failures or status != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
