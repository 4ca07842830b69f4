# SPDX-License-Identifier: MIT
"""gradwalk.Value in Python: operators, identity, copies, custom ops, memory, threads and processes."""

import copy
import fractions
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
import weakref

import numpy
import pytest

import gradwalk
from gradwalk import Value


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cube(self):
    """A custom op in micrograd's style."""
    out = Value(self.data**3, (self,), "cube")

    def _backward():
        self.grad += 3 * self.data**2 * out.grad

    out._backward = _backward
    return out


def test_operators_take_numbers_on_both_sides():
    a = Value(4.0)
    got = [a + 1, 1 + a, a - 1, 1 - a, a * 3, 3 * a, a / 2, 2 / a, a**2, 2**a, -a, +a, abs(-a)]
    assert [v.data for v in got] == [5, 5, 3, -3, 12, 12, 2, 0.5, 16, 16, -4, 4, 4]


@pytest.mark.parametrize("two", [2, 2.0, numpy.float64(2), numpy.float32(2), numpy.int64(2), numpy.int8(2), fractions.Fraction(2)])
def test_any_scalar_is_a_number(two):
    a = Value(3.0)
    assert [v.data for v in (a + two, two + a, a * two, two * a, a - two, two - a, a / two, a**two)] == [5, 5, 6, 6, 1, -1, 1.5, 9]
    assert Value(two).data == 2 and type(two * a) is Value


def test_booleans_are_numbers():
    assert (Value(3.0) + True).data == 4 and (Value(3.0) - numpy.bool_(True)).data == 2


@pytest.mark.parametrize("thing", ["2", None, [1], 1j])
def test_an_operand_that_is_no_number_is_refused(thing):
    with pytest.raises(TypeError):
        Value(1.0) * thing
    with pytest.raises(TypeError, match="Value: needs a number, got"):
        Value(thing)


def test_numpy_arrays_of_values_do_arithmetic():
    a = numpy.array([Value(1.0), Value(2.0), Value(3.0)])
    total = a.sum() + a.dot(a) + a @ a + (2 * a + a * Value(2.0)).sum() + numpy.exp(a).sum()
    total.backward()
    assert [v.grad for v in a] == pytest.approx([5 + 4 * v.data + numpy.exp(v.data) for v in a])


def test_every_op_is_a_method_and_a_function():
    for name in gradwalk._core._op_names:
        function, a, b = getattr(gradwalk, name), Value(0.25), Value(0.5)
        try:
            by_method, by_function, number = getattr(a, name)(), function(a), function(0.25)
        except TypeError:
            by_method, by_function, number = getattr(a, name)(b), function(a, b), function(0.25, 0.5)
            assert function(0.25, b).data == function(a, 0.5).data == number
        numpy.testing.assert_equal([by_method.data, by_function.data], [number, number], name)  # NaN equals NaN here


def test_equality_is_identity():
    a, b = Value(2.0), Value(2.0)
    c = a * b
    assert a != b and a == a and len({a, b, a}) == 2
    assert c._prev == {a, b} and all(x is y for x, y in zip(c.inputs, (a, b)))
    assert (a * a).inputs == (a, a) and (a * a)._prev == {a}


def test_a_node_has_one_object_while_it_lives():
    root = (Value(2.0) + 1) * 3
    inner = root.inputs[0]
    assert root.inputs[0] is inner and inner in root._prev
    inner.mark = 1
    assert root.inputs[0].mark == 1


def test_ops_are_named_as_in_micrograd():
    a, b = Value(2.0), Value(3.0)
    assert [v._op for v in (a, a + b, a * b, a**2, a**-1, a**0.5, a.relu(), a.tanh(), a - b, a / b, -a, a**b)] == [
        "", "+", "*", "**2", "**-1", "**0.5", "ReLU", "tanh", "-", "/", "neg", "**"]
    assert (a**3)._prev == {a} and {v.data for v in (a + 1)._prev} == {1.0, 2.0}


def test_comparisons_compare_the_data():
    a, b = Value(1.0), Value(2.0)
    assert a < b and a <= b and b > a and b >= a and a < 1.5 and 1.5 < b and not a > b


def test_data_grad_and_label_can_be_set():
    a = Value(1.0, label="a")
    a.data, a.grad = 5, numpy.float32(2)
    assert (a.data, a.grad, a.label) == (5.0, 2.0, "a")
    a.label = "ä"
    assert a.label == "ä"
    with pytest.raises(TypeError, match="data: needs a number, got str; convert it to a float"):
        a.data = "1"
    with pytest.raises(AttributeError):
        a.inputs = ()


def test_errors_have_the_engines_text():
    with gradwalk.no_grad():
        loss = Value(1.0) * 2
    with pytest.raises(ValueError, match="no_grad"):
        loss.backward()


def test_backward_of_a_node_makes_one_step():
    a, b = Value(2.0), Value(-3.0)
    o = a * b
    o.grad = 1.0
    o._backward()
    assert (a.grad, b.grad) == (-3.0, 2.0)


def test_a_custom_op_is_called_in_its_turn():
    x = Value(2.0)
    y = cube(x)
    z = y * y + cube(y)
    z.backward()
    assert (y._op, y._prev) == ("cube", {x})
    assert x.grad == pytest.approx((2 * 8 + 3 * 64) * 12)


def test_a_custom_op_can_be_added_as_a_method(monkeypatch):
    monkeypatch.setattr(Value, "cube", cube, raising=False)
    x = Value(2.0)
    x.cube().backward()
    assert x.grad == 12


def test_a_custom_op_under_no_grad_is_a_leaf():
    with gradwalk.no_grad():
        assert cube(Value(2.0)).data == 8 and cube(Value(2.0))._prev == set()


def test_an_exception_in_a_custom_op_is_propagated():
    x = Value(1.0)
    out = Value(1.0, (x,), "bad")

    def fail():
        raise KeyError("mine")

    out._backward = fail
    with pytest.raises(KeyError, match="mine"):
        (out * 2).backward()
    (x * 3).backward()
    assert x.grad == 3


def test_backward_can_be_set_only_on_nodes_made_with_children():
    with pytest.raises(ValueError, match="_backward: needs a node made by Value"):
        (Value(1.0) * 2)._backward = lambda: None
    with pytest.raises(TypeError, match="children that are Values, got int"):
        Value(1.0, (1,), "+")


def test_functions_of_custom_ops_are_freed():
    class Mark:
        pass

    mark = Mark()
    gone = weakref.ref(mark)

    def op(x):
        out = Value(x.data, (x,), "op")
        held = mark

        def _backward():
            x.grad += out.grad + 0 * len([held])

        out._backward = _backward
        return out

    x = Value(1.0)
    y = op(x) * 2
    y.backward()
    assert x.grad == 2
    del y, mark, op
    (Value(1.0) * 2).backward()
    gc.collect()
    assert gone() is None


def test_subclasses_keep_their_type_and_attributes():
    class Parameter(Value):
        def __init__(self, data, name):
            super().__init__(data, label=name)
            self.name = name

    p = Parameter(3.0, "w")
    q = p * p
    q.backward()
    assert type(q) is Value and q.inputs[0] is p and (p.name, p.label, p.grad) == ("w", "w", 6.0)
    again = pickle.loads(pickle.dumps(Value(1.0)))
    assert type(again) is Value

    class Loud(Value):
        def __add__(self, other):
            return ("added", super().__add__(other).data)

    assert Loud(1.0) + 2 == ("added", 3.0) and (Loud(1.0) * 2).data == 2 and isinstance(Loud(1.0), Value)
    kept = [Parameter(float(i), str(i)) for i in range(100)]
    gone = weakref.ref(kept[0])
    sum(kept, Value(0.0)).backward()
    assert all(p.grad == 1 for p in kept)
    del kept, p, q
    gc.collect()
    assert gone() is None


def test_the_garbage_collector_finds_cycles_through_attributes():
    a = Value(1.0)
    a.itself = a
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None


def test_plain_values_are_not_tracked_by_the_garbage_collector():
    kept = [Value(float(i)) for i in range(1000)]
    assert not any(gc.is_tracked(v) for v in kept)


@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_pickle_and_deepcopy_keep_the_whole_graph(again):
    a, b = Value(2.0, label="a"), Value(3.0)
    root = gradwalk.select(a.less(b), (a * b + 1).tanh() ** 2, b) / a
    root.label = "root"
    root.backward()
    a2, root2 = again([a, root])
    assert (root2.data, root2.grad, root2.label, a2.label, a2.grad) == (root.data, 1.0, "root", "a", a.grad)
    a2.grad = 0
    root2.backward()
    assert a2.grad == a.grad and a2 is not a


def test_a_graph_of_a_million_nodes_runs_backward_and_is_pickled():
    x = Value(0.0)
    v = x
    for _ in range(1_000_000):
        v = v + 1
    v.backward()
    assert (v.data, x.grad) == (1_000_000, 1)
    again = pickle.loads(pickle.dumps(v))
    assert again.data == 1_000_000
    assert copy.deepcopy(again).data == 1_000_000


def test_a_graph_with_a_custom_node_cannot_be_pickled():
    with pytest.raises(ValueError, match="the custom node 'cube'"):
        pickle.dumps(cube(Value(1.0)))


def test_operations_do_not_change_reference_counts():
    a, b = Value(1.0), Value(2.0)
    for _ in range(10):
        before = sys.getrefcount(a), sys.getrefcount(Value), sys.getrefcount(None)
        c = (a + b) * a - 2
        c.backward()
        c.inputs, c._prev, c._op, repr(c), c < a
        del c
        after = sys.getrefcount(a), sys.getrefcount(Value), sys.getrefcount(None)
    assert before[:2] == after[:2] and abs(before[2] - after[2]) < 10


def test_memory_stays_flat_over_many_graphs():
    w = Value(0.5)

    def graphs(n):
        for _ in range(n):
            out = (w * 2.0 + 1).tanh() * w
            out.backward()
            w.grad = 0

    graphs(50_000)
    before = resident()
    graphs(int(os.environ.get("GRADWALK_LONG", 0)) * 1_000_000 or 200_000)
    assert resident() - before < 4 << 20


def everything_once():
    """Builds a graph and calls most functions of the extension once."""
    a, b = Value(1.5, label="a"), Value(-0.5)
    c = (a * b + gradwalk.tanh(a) / 2).max(b) + cube(a)
    c.backward()
    c.inputs, c._prev, c._op, repr(c), gradwalk.topological_order(c), gradwalk.walk(a * b), gradwalk.explain(a * b, a)
    copy.deepcopy(a * b).tag = "an attribute"
    gradwalk.gradient(lambda x: x[0] * x[1], [1.0, 2.0])
    gradwalk.compile(lambda row: row[0] * a, [[1.0], [2.0]], parameters=[a]).run([[3.0]])
    for wrong in (lambda: a + "text", lambda: Value(None), lambda: gradwalk.parse("a=")):
        with pytest.raises((TypeError, ValueError)):
            wrong()


def test_no_objects_leak():
    """A leak grows in every round. Objects that merely replace older, uncounted ones grow less and less."""
    sizes = []
    tracemalloc.start()
    try:
        for _ in range(16):
            for _ in range(50):
                everything_once()
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert min(after - before for before, after in zip(sizes, sizes[1:])) < 50 * 48  # one leaked object per round would be more


def test_threads_share_one_tape():
    shared, results = Value(0.5), []

    def work():
        s = Value(1.0)
        for _ in range(2000):
            s = s * 0.999 + shared * 0.001
        s.backward()
        results.append(s.data)

    threads = [threading.Thread(target=work) for _ in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(set(results)) == 1 and len(results) == 8
    assert shared.grad == pytest.approx(8 * (1 - 0.999**2000))


def test_a_value_outlives_the_thread_that_made_it():
    results = []
    thread = threading.Thread(target=lambda: results.append(Value(2.0) * 3))
    thread.start()
    thread.join()
    results[0].backward()
    assert results[0].inputs[0].grad == 3


def child(connection, value):
    value.backward()
    connection.send((value.data, value))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_values_work_in_other_processes(method):
    context = multiprocessing.get_context(method)
    here, there = context.Pipe()
    process = context.Process(target=child, args=(there, Value(2.0) * 3))
    process.start()
    data, value = here.recv()
    process.join()
    assert (process.exitcode, data, value.data, value.inputs[0].grad) == (0, 6.0, 6.0, 3.0)


def slope_at(x):
    v = Value(x)
    program = gradwalk.compile((v * v).tanh(), parameters=[v])
    program.run()
    return v.grad, (Value(x) ** 2).tanh().data


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_values_work_in_process_pools(method):
    points = [i / 10 for i in range(20)]
    kept = Value(3.0) * 2
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(slope_at, points) == [slope_at(x) for x in points]
    kept.backward()
    assert kept.inputs[0].grad == 2


def test_fork_works_while_threads_compute():
    stop = threading.Event()

    def work():
        while not stop.is_set():
            (Value(2.0) * 3 + 1).backward()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            child_id = os.fork()
            if child_id == 0:
                a = Value(2.0)
                (a * a).backward()
                os._exit(0 if a.grad == 4 else 1)
            assert os.waitpid(child_id, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.torch
@pytest.mark.parametrize("first", ["numpy", "torch", "gradwalk"])
def test_modules_can_be_imported_in_any_order(first):
    code = f"import {first}, gradwalk, numpy, torch; v = gradwalk.Value(2.0); (v * v).backward(); assert v.grad == 4"
    subprocess.run([sys.executable, "-c", code], check=True)
