# SPDX-License-Identifier: MIT
"""From a Value to a number and back: formatting, casts, comparisons, choices, functions made of ops, and NumPy."""

import inspect
import math
import pickle
import subprocess
import sys

import numpy
import pytest

import gradwalk
from gradwalk import Condition, Value, select

ROWS = [[0.5, 1.0], [0.25, 2.0]]


def compiled(function, *parameters):
    return gradwalk.compile(function, ROWS, parameters=list(parameters) or [Value(2.0)])


# ---- from a Value to a number ----


def test_a_value_is_formatted_and_rounded_as_its_data():
    v = Value(3.14159)
    assert (f"{v:.3f}", "%.2f" % v, format(v, ">8.1f"), round(v, 2), round(v), v.item()) == ("3.142", "3.14", "     3.1", 3.14, 3, 3.14159)
    assert f"{v}" == str(v) == repr(v) == "Value(data=3.14159, grad=0)" and type(round(v, 2)) is float and type(round(v)) is int
    with pytest.raises(ValueError):
        f"{v:d}"


def test_float_and_int_give_the_data():
    v = Value(2.75)
    assert (float(v), int(v), int(Value(-2.75)), math.exp(Value(0.0))) == (2.75, 2, -2, 1.0)
    assert numpy.array([v, Value(1.0)], float).tolist() == [2.75, 1.0] and numpy.float32(v) == 2.75
    with pytest.raises(OverflowError):
        int(Value(math.inf))
    with pytest.raises(TypeError):
        range(v)


def test_a_value_is_no_number_where_its_graph_would_be_lost():
    with pytest.raises(TypeError, match="Value: needs a number, got gradwalk.Value; use its .data"):
        Value(Value(1.0))
    v = Value(1.0)
    with pytest.raises(TypeError, match="data: needs a number, got gradwalk.Value; use its .data"):
        v.data = Value(2.0)
    with pytest.raises(TypeError, match="custom: needs a number for result, got gradwalk.Value; use its .data"):
        gradwalk.custom(v, [v], [1.0])


@pytest.mark.parametrize("leave", [float, int, Value.item, math.exp, round, lambda v: "%.1f" % v, lambda v: numpy.array([v], float), Value.detach],
                         ids=["float", "int", "item", "math.exp", "round", "percent", "array", "detach"])
def test_a_number_that_leaves_a_recording_is_refused_as_detach_is(leave):
    def function(row):
        leave(row[0])
        return row[0] * row[1]

    with pytest.raises(ValueError, match=r"got the leaf with data 0\.5, which was detached, cast to a number or computed under no_grad\(\); "
                                         r"write stop\(x\) in place of x\.detach\(\)"):
        compiled(function)


def test_formatting_in_a_recording_is_for_people():
    printed = []

    def function(row):
        printed.append(f"{row[0]:.2f} {row[0]}")
        return row[0] * row[1]

    assert compiled(function).evaluate([[3.0, 2.0]]) == 6 and printed[0].startswith("0.50 Value(data=0.5")


# ---- comparisons ----


def test_a_comparison_is_a_condition_that_is_true_when_asked():
    a, b = Value(1.0), Value(2.0)
    holds = [a < b, a <= b, b > a, b >= a, a < 1.5, 1.5 < b, a == 1.0, 1 == a, a != 2, a <= numpy.float64(1)]
    assert all(type(c) is Condition and c for c in holds) and not any([a > b, a >= b, b < a, a == 2.0, a != 1.0])
    assert repr(a < b) == "Condition(True)" and str(a > b) == "False" and (a < b) == True and (a < b) == (b > a) != (a > b)  # noqa: E712
    assert int(a < b) == 1 and ["no", "yes"][a < b] == "yes" and hash(a < b) == hash(True) and len({a < b, True}) == 1
    with pytest.raises(TypeError, match="Condition: needs a comparison of Values, got a call; write a < b"):
        Condition()
    assert pytest.importorskip("copy").copy(a < b) is True


def test_select_of_a_comparison_chooses_again():
    a, b = Value(1.0), Value(5.0)
    chosen = select(a < b, a * 10, b * 10)
    assert chosen.data == 10
    a.data, b.data = 6, 2
    gradwalk.recompute(chosen)
    assert chosen.data == 20
    chosen.backward()
    assert (a.grad, b.grad) == (0, 10)
    assert select(a < b, 1.0, a).data == 6 and select(True, a, b) is a and select(False, a, 3).data == 3 and select(1 < 2, 3, 4) == 3
    with pytest.raises(TypeError, match="select: needs a Value or a number, got str"):
        select(a < b, "x", b)


@pytest.mark.parametrize("how, wanted", [(lambda a, b: a < b, [1, 0, 0]), (lambda a, b: a <= b, [1, 1, 0]), (lambda a, b: a > b, [0, 0, 1]),
                                         (lambda a, b: a >= b, [0, 1, 1]), (lambda a, b: a == 2.0, [0, 1, 0]), (lambda a, b: a != 2.0, [1, 0, 1]),
                                         (gradwalk.greater, [0, 0, 1]), (gradwalk.greater_equal, [0, 1, 1]), (gradwalk.less, [1, 0, 0]),
                                         (gradwalk.less_equal, [1, 1, 0]), (gradwalk.equal, [0, 1, 0]), (gradwalk.not_equal, [1, 0, 1]),
                                         (Value.greater, [0, 0, 1]), (Value.greater_equal, [0, 1, 1]),
                                         (lambda a, b: (a < b) & (b < 9), [1, 0, 0]), (lambda a, b: (a < b) | (a > b), [1, 0, 1]),
                                         (lambda a, b: (a < b) ^ True, [0, 1, 1]), (lambda a, b: ~(a < b), [0, 1, 1]),
                                         (lambda a, b: 1 - (a < b), [0, 1, 1]), (lambda a, b: (a < b) * 2.0 - 1, [1, -1, -1])])
def test_comparisons_and_their_arithmetic_are_recorded(how, wanted):
    a, b = Value(1.0), Value(2.0)
    condition = how(a, b)
    node = select(condition, 1.0, 0.0) if isinstance(condition, Condition) else condition
    got = []
    for number in (1.0, 2.0, 3.0):
        a.data = number
        gradwalk.recompute(node)
        got.append(node.data)
    assert got == wanted


def test_values_are_sorted_and_found_by_their_own_rules():
    values = [Value(float(i * 7 % 10)) for i in range(10)]
    assert [v.data for v in sorted(values)] == list(range(10)) and max(values).data == 9 and min(values).data == 0
    a, b = Value(2.0), Value(2.0)
    assert a in [b, a] and b not in [a] and [b, a].index(a) == 1 and {a: 1, b: 2}[a] == 1 and len({a, b}) == 2
    assert (a == b) is False and (a != b) is True and (a == None) is False and a != "2" and (a == [1]) is False  # noqa: E711


def test_truth_is_that_of_a_number():
    assert Value(2.0) and Value(math.nan) and not Value(0.0) and bool(Value(-1.0)) is True


@pytest.mark.parametrize("branch", [lambda v: v < 1, lambda v: v == 0.5, lambda v: v != 0.25, lambda v: v - 0.5, lambda v: gradwalk.isnan(v - 0.5 + v),
                                    lambda v: (v < 1) & (v < 2), lambda v: int(v < 1), lambda v: numpy.minimum(numpy.array([v]), 1)[0] is v],
                         ids=["less", "equal", "not_equal", "bool", "isnan", "and", "int", "numpy"])
def test_a_branch_in_a_recording_is_guarded(branch):
    """A program refuses a row that takes the other branch. Without the guard it would return a wrong number."""
    w = Value(2.0)

    def function(row):
        return w * row[1] if branch(row[0]) else -w * row[1]

    try:
        program = gradwalk.compile(function, [[0.5, 1.0], [0.5, 3.5]], parameters=[w])
    except ValueError:
        return
    for number in (0.25, 0.5, 0.75, 2.0, math.nan):
        wanted = function([Value(number), Value(3.5)]).data
        try:
            assert program.evaluate([[number, 3.5]]) == wanted
        except ValueError:
            pass  # refused, not wrong


def test_a_branch_on_equality_is_not_silently_wrong():
    w = Value(7.0)
    program = gradwalk.compile(lambda row: w if row[0] == 2.0 else -w, [[1.0], [1.5]], parameters=[w])
    assert program.evaluate([[3.0]]) == -7
    with pytest.raises(ValueError, match="needs rows on which every comparison comes out as it was recorded, got row 0"):
        program.evaluate([[2.0]])


# ---- functions made of ops ----


def test_functions_that_people_look_for():
    a = Value(3.0)
    assert (gradwalk.clip(a, 0, 2).data, gradwalk.clip(a, None, 5).data, gradwalk.clip(a, 4).data, gradwalk.clip(3.0, 0, 2)) == (2, 3, 4, 2)
    assert gradwalk.where(a > 2, a, 0.0).data == 3 and gradwalk.maximum(a, 5).data == 5 and gradwalk.minimum(a, 5.0).data == 3
    assert gradwalk.maximum(1, 2) == 2.0 and gradwalk.silu(Value(2.0)).data == pytest.approx(2 / (1 + math.exp(-2)))
    assert gradwalk.silu(2.0) == gradwalk.silu(Value(2.0)).data and gradwalk.sign(-3.0) == -1
    assert [gradwalk.leaky_relu(Value(x)).data for x in (-2.0, 0.0, 2.0)] == [-0.02, 0, 2]
    assert gradwalk.isnan(math.nan) is True and gradwalk.isinf(1) is False and gradwalk.isfinite(Value(1.0)) and not gradwalk.isinf(a)


def test_clip_passes_the_gradient_at_its_bounds_as_pytorch_does():
    slopes = []
    for x in (-0.5, 0.0, 0.5, 1.0, 1.5):
        v = Value(x)
        gradwalk.clip(v, 0, 1).backward()
        slopes.append(v.grad)
    assert slopes == [0, 1, 1, 1, 0]


def test_softmax_and_logsumexp_do_not_overflow_and_follow_their_inputs():
    scores = [Value(1000.0), Value(1001.0), Value(-1000.0)]
    p, total = gradwalk.softmax(scores), gradwalk.logsumexp(scores)
    assert sum(q.data for q in p) == pytest.approx(1) and total.data == pytest.approx(1001 + math.log1p(math.exp(-1)))
    total.backward()
    assert [v.grad for v in scores] == pytest.approx([q.data for q in p])
    scores[2].data = 2000.0
    gradwalk.recompute(total)
    assert total.data == pytest.approx(2000)
    assert gradwalk.logsumexp([-math.inf, Value(-math.inf)]).data == -math.inf and gradwalk.logsumexp([1.0, 1.0]) == 1 + math.log(2)
    array = gradwalk.softmax(numpy.array([Value(0.0), Value(0.0)]))
    assert isinstance(array, numpy.ndarray) and array[0].data == 0.5 and gradwalk.softmax(numpy.zeros(2)).dtype == float
    for wrong in ("ab", 3, None, Value(1.0), ["a"], [[1.0]], numpy.zeros((2, 2))):
        with pytest.raises(TypeError, match="needs a"):
            gradwalk.softmax(wrong)
    with pytest.raises(ValueError, match="logsumexp: needs at least one Value, got an empty list"):
        gradwalk.logsumexp([])


def test_remainder_and_floor_division_are_pythons():
    for x in (7.5, -7.5, 6.0, -6.0):
        for y in (2.0, -2.0, 2.5):
            assert ((Value(x) % y).data, (Value(x) // y).data, (x % Value(y)).data, (x // Value(y)).data) == (x % y, x // y, x % y, x // y)
    v = Value(7.5)
    (v % 2).backward()
    assert v.grad == 1


def test_no_grad_decorates():
    v = Value(2.0)

    @gradwalk.no_grad()
    def double(x, *, times=2):
        """Doubles."""
        return x * times

    @gradwalk.no_grad
    def square(x):
        return x * x

    assert (double(v, times=3).data, double(v).inputs, square(v).inputs) == (6, (), ()) and (v * 2).inputs != ()
    assert double.__name__ == "double" and double.__doc__ == "Doubles." and str(inspect.signature(double)) == "(x, *, times=2)"
    with pytest.raises(ZeroDivisionError):
        gradwalk.no_grad()(lambda: 1 / 0)()
    assert (v * 2).inputs != ()
    with pytest.raises(TypeError, match="no_grad: needs a function that returns, got one that yields"):
        @gradwalk.no_grad()
        def numbers():
            yield v
    with pytest.raises(TypeError, match="no_grad: needs a function to decorate, got int"):
        gradwalk.no_grad(3)


def test_no_grad_is_named_as_in_python():
    with gradwalk.no_grad():
        loss = Value(1.0) * 2
        with pytest.raises(ValueError, match=r"needs operations to be recorded, got a no_grad block; call it before or after the block"):
            gradwalk.gradient(lambda x: x[0], [1.0])
    with pytest.raises(ValueError, match=r"backward: needs a Value that was recorded, got a number made under no_grad\(\); compute it outside no_grad\(\)"):
        loss.backward()
    with pytest.raises(ValueError, match="no_grad: needs __enter__ before __exit__"):
        gradwalk.no_grad().__exit__(None, None, None)


# ---- NumPy ----

UNARY = "exp log sqrt tanh sin cos tan arcsin arccos arctan sinh cosh arcsinh arctanh log1p expm1 exp2 log2 log10 cbrt floor ceil trunc rint fabs absolute " \
        "square reciprocal sign negative positive degrees radians deg2rad rad2deg conjugate".split()
BINARY = "add subtract multiply divide true_divide power float_power arctan2 hypot maximum minimum fmax fmin fmod copysign remainder floor_divide logaddexp".split()
OF_ARRAYS = [name for name in UNARY if name not in ("positive",)] + [name for name in BINARY if name not in ("float_power", "copysign", "logaddexp")]


@pytest.mark.parametrize("name", UNARY + BINARY)
def test_a_function_of_numpy_of_a_value_is_recorded(name):
    ufunc = getattr(numpy, name)
    v, w = Value(0.3), Value(0.7)
    operands = [v, w][:ufunc.nin]
    result = ufunc(*operands)
    assert type(result) is Value and result.data == pytest.approx(ufunc(*[x.data for x in operands]), rel=1e-15)
    if name not in ("positive", "conjugate"):
        v.data, w.data = 0.9, 0.2
        gradwalk.recompute(result)
        assert result.data == pytest.approx(ufunc(*[x.data for x in operands]), rel=1e-15)
    if ufunc.nin == 2:
        assert ufunc(0.3, w).data == pytest.approx(ufunc(0.3, 0.2)) and ufunc(numpy.float64(0.3), w).data == pytest.approx(ufunc(0.3, 0.2))
        array = ufunc(numpy.array([0.3, 0.4]), w)
        assert array.dtype == object and array[1].data == pytest.approx(ufunc(0.4, 0.2)) and w in array[1].inputs + tuple(
            node for node in gradwalk.topological_order(array[1]))


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_a_function_of_numpy_of_an_array_of_values_works(name):
    ufunc = getattr(numpy, name)
    numbers = numpy.array([[0.3, 0.5], [0.25, 0.75]])
    values = numpy.array([[Value(x) for x in row] for row in numbers])
    result = ufunc(*[values, values.T][:ufunc.nin])
    wanted = ufunc(*[numbers, numbers.T][:ufunc.nin])
    assert result.shape == (2, 2) and [float(v) for v in result.flat] == pytest.approx(list(wanted.flat))


def test_rounding_and_clipping_by_numpy_are_recorded():
    for x in (-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999999999999994, 3.2, -3.7, 1e300):
        assert numpy.rint(Value(x)).data == numpy.rint(x) and math.copysign(1, numpy.rint(Value(x)).data) == math.copysign(1, numpy.rint(x))
    v = Value(2.345)
    for result in (numpy.clip(v, 0, 1), numpy.maximum(v, 3), numpy.where(v < 3, v * 2, 0.0), numpy.where(v > 3, 1.0, 2.0), numpy.sign(v)):
        assert type(result) is Value and result.inputs != ()
    clipped, larger = numpy.clip(v, 0, 1), numpy.maximum(v, 3)
    v.data = 0.5
    gradwalk.recompute(clipped)
    gradwalk.recompute(larger)
    assert (clipped.data, larger.data) == (0.5, 3)
    assert float(numpy.round(Value(2.345), 1)) == 2.3 and [float(x) for x in numpy.round(numpy.array([Value(2.5), Value(3.7)]))] == [2, 4]
    assert math.floor(Value(2.5)).data == 2 and math.ceil(Value(2.5)).data == 3 and math.trunc(Value(-2.5)).data == -2


def test_questions_of_numpy_are_answered():
    v = Value(1.0)
    assert type(numpy.isnan(v)) is Condition and not numpy.isnan(v) and numpy.isfinite(v) and not numpy.isinf(v)
    assert gradwalk.isnan(numpy.array([v, Value(math.nan)])).tolist() == [False, True]
    assert type(numpy.less(v, 2)) is Condition and numpy.equal(v, 1) and numpy.not_equal(v, 2.0) and numpy.float64(2) > v and numpy.float64(1) == v
    assert numpy.logical_and(v < 2, v > 0) and not numpy.logical_not(v < 2)
    array = numpy.array([Value(1.0), Value(5.0)])
    assert (array < 3).tolist() == [True, False] and (array < v + 2).tolist() == [True, False] and (v + 2 > array).tolist() == [True, False]
    assert array[array > 2][0].data == 5


def test_functions_of_numpy_that_would_leave_the_graph_are_refused_by_name():
    for name in ("nextafter", "spacing", "ldexp"):
        ufunc = getattr(numpy, name)
        with pytest.raises(TypeError, match=f"numpy.{name}: needs numbers, got a Value; use its .data"):
            ufunc(*[Value(1.0), 2][:ufunc.nin])


def test_complex_numbers_are_refused():
    for number in (1j, numpy.complex128(1j), numpy.complex64(1), numpy.clongdouble(1)):
        for wrong in (lambda: Value(1.0) * number, lambda: number * Value(1.0), lambda: Value(number), lambda: number**Value(1.0)):
            with pytest.raises(TypeError):
                wrong()


def test_values_and_numbers_of_numpy_do_arithmetic_in_both_orders():
    v = Value(3.0)
    for s in (numpy.float64(2), numpy.float32(2), numpy.int64(2), numpy.bool_(True)):
        n = float(s)
        for left, right in ((v, s), (s, v)):
            x, y = (3.0, n) if left is v else (n, 3.0)
            got = [left + right, left - right, left * right, left / right, left**right]
            assert [type(g) for g in got] == [Value] * 5 and [g.data for g in got] == [x + y, x - y, x * y, x / y, x**y]


def test_arrays_and_values_do_arithmetic_in_both_orders():
    v, numbers = Value(3.0), numpy.array([1.0, 2.0])
    values = numpy.array([Value(1.0), Value(2.0)])
    for array in (numbers, values):
        for result, wanted in ((array * v, [3, 6]), (v * array, [3, 6]), (array - v, [-2, -1]), (v - array, [2, 1]), (array / v, [1 / 3, 2 / 3]),
                               (v**array, [3, 9]), (array**v, [1, 8]), (v // array, [3, 1]), (v % array, [0, 1])):
            assert result.dtype == object and [x.data for x in result] == wanted
    values += v
    assert values[0].data == 4 and numpy.add.reduce(values).data == 9 and numpy.multiply.outer(v, numbers)[1].data == 6
    assert numpy.full(2, v)[1] is v and numpy.append(values, v)[2] is v and numpy.sum(v) is not None


def test_functions_of_gradwalk_take_arrays():
    values = numpy.array([Value(0.0), Value(1.0)])
    assert [x.data for x in gradwalk.exp(values)] == [1, math.e] and gradwalk.exp(numpy.zeros(2)).tolist() == [1, 1]
    assert [x.data for x in gradwalk.maximum(values, 0.5)] == [0.5, 1] and [x.data for x in gradwalk.max(0.5, values)] == [0.5, 1]
    chosen = gradwalk.where(gradwalk.less(values, 0.5), values * 10, 7.0)
    assert [x.data for x in chosen] == [0, 7]
    values[1].data = 0.25
    gradwalk.recompute(chosen[1])
    assert chosen[1].data == 2.5 and [x.data for x in gradwalk.clip(values, 0.1, 0.2)] == [0.1, 0.2]
    assert [x.data for x in gradwalk.leaky_relu(-values)] == [0, -0.0025]
    with pytest.raises(TypeError, match="exp: needs a Value or a number, got list; convert it to a float"):
        gradwalk.exp([1.0])


def test_a_point_arrives_in_its_own_form():
    def total(x):
        assert isinstance(x, numpy.ndarray) and x.dtype == object
        return (x**2).sum()

    at = numpy.array([[1.0, 2.0], [3.0, 4.0]])
    slopes = gradwalk.gradient(total, at)
    assert isinstance(slopes, numpy.ndarray) and slopes.tolist() == (2 * at).tolist()
    value, slopes = gradwalk.value_and_gradient(total, at[0])
    assert (value, slopes.tolist()) == (5, [2, 4]) and gradwalk.gradient(lambda x: x * x, 3) == 6.0
    assert gradwalk.jacobian(lambda x: x * x[0], at[0]).tolist() == [[2, 0], [2, 1]]
    assert gradwalk.hessian(total, at[0]).tolist() == [[2, 0], [0, 2]] and gradwalk.hessian(lambda x: x**3, 2.0) == 12
    assert gradwalk.gradient(lambda x: x[0] * x[1], (2, 3)) == [3, 2] and gradwalk.check_gradient(total, at)
    assert gradwalk.jacobian(lambda x: x, at).reshape(4, 4).tolist() == numpy.eye(4).tolist()


def test_numpy_stays_optional():
    code = """
        import sys
        sys.modules["numpy"] = None
        import gradwalk
        from gradwalk import Value
        a = Value(2.0)
        b = gradwalk.where(a < 3, gradwalk.clip(a, 0, 1), gradwalk.softmax([a, 1.0])[0])
        b.backward()
        assert gradwalk.gradient(lambda x: x[0] * x[1], [2.0, 3.0]) == [3, 2] and b.data == 1 and f"{a:.1f}" == "2.0"
        try:
            gradwalk.exp([1.0])
        except TypeError as error:
            assert "needs a Value or a number" in str(error)
    """
    subprocess.run([sys.executable, "-c", __import__("textwrap").dedent(code)], check=True)


# ---- names ----


def test_names_are_completed():
    assert {"tanh", "max", "clip", "where", "softmax", "greater"} <= set(dir(gradwalk)) and {"tanh", "max", "clip", "item", "arctan"} <= set(dir(Value(1.0)))
    assert str(inspect.signature(gradwalk.walk)) == "(root, *, rule='right', rate=0.1)" and str(inspect.signature(Value)) == "(data, _children=(), _op='', label='')"
    assert str(inspect.signature(gradwalk.tanh)) == "(x, /)" and str(inspect.signature(Value(1.0).max)) == "(y, /)"


# ---- errors ----


@pytest.mark.parametrize("call, message", [
    (lambda: gradwalk.walk("x"), "walk: needs a Value for root, got str; give a Value, as in Value(2.0)"),
    (lambda: gradwalk.walk(Value(1.0), "right"), "walk: needs at most 1 argument by position, got 2; call walk(root, *, rule='right', rate=0.1)"),
    (lambda: gradwalk.walk(), "walk: needs root, got no argument for it; call walk(root, *, rule='right', rate=0.1)"),
    (lambda: gradwalk.walk(Value(1.0), speed=1), "walk: needs only arguments that it has, got 'speed'; call walk(root, *, rule='right', rate=0.1)"),
    (lambda: gradwalk.walk(Value(1.0), root=Value(1.0)), "walk: needs root once, got it twice; call walk(root, *, rule='right', rate=0.1)"),
    (lambda: gradwalk.draw_dot(Value(1.0), digits="4"), "draw_dot: needs a whole number for digits, got str; give an int"),
    (lambda: gradwalk.draw_dot(Value(1.0), limit=-1), "draw_dot: needs a whole number of 0 or more for limit, got -1; give one in this range"),
    (lambda: gradwalk.draw_dot(Value(1.0), hide_constants="no"), "draw_dot: needs True or False for hide_constants, got str; give a bool"),
    (lambda: gradwalk.draw_svg(2.0), "draw_svg: needs a Value for root, got float; give a Value, as in Value(2.0)"),
    (lambda: gradwalk.parse(3), "parse: needs text for text, got int; give a str"),
    (lambda: gradwalk.gradient(3, [1.0]), "gradient: needs a function for f, got int; give a function"),
    (lambda: gradwalk.gradient(lambda x: x, "abc"), "gradient: needs a list of numbers for x, got str; give a list"),
    (lambda: gradwalk.gradient(lambda x: x[0], [[1.0]]), "gradient: needs a list of numbers for x, got list at index 0; give one list without lists in it"),
    (lambda: gradwalk.gradient(lambda x: "y", [1.0]), "gradient: needs a function that returns a Value, got one that returns str; return one Value"),
    (lambda: gradwalk.gradient(lambda x: None, [1.0]), "gradient: needs a function that returns a Value, got one that returns None; write return in it"),
    (lambda: gradwalk.gradient(lambda x: x, [1.0]), "gradient: needs a function that returns a Value, got one that returns list; return one Value"),
    (lambda: gradwalk.jacobian(lambda x: "ab", [1.0]), "jacobian: needs a function that returns Values, got one that returns str; return a Value or a list of Values"),
    (lambda: gradwalk.jacobian(lambda x: [x], [1.0]),
     "jacobian: needs a list of Values for the result of the function, got list at index 0; give one list without lists in it"),
    (lambda: gradwalk.derivatives(Value(1.0), [2.0]), "derivatives: needs a list of Values for inputs, got float at index 0; make it a Value, as in Value(2.0)"),
    (lambda: gradwalk.load("/nope", []), "[Errno 2] No such file or directory: '/nope'"),
    (lambda: gradwalk.save("/nope/model", []), "[Errno 2] No such file or directory: '/nope'"),
    (lambda: gradwalk.save("/tmp/model", [1.0]), "save: needs a model or a list of Values, got float in the list; give Values"),
])
def test_errors_are_the_engines(call, message):
    with pytest.raises((TypeError, ValueError, FileNotFoundError)) as raised:
        call()
    assert str(raised.value) == message


def test_the_base_of_bound_classes_makes_no_object():
    """pybind11 would end the process."""
    with pytest.raises(TypeError, match="gradwalk: needs a class of the package, got their common base; call one of them"):
        object.__reduce__(gradwalk.SGD())


@pytest.mark.parametrize("protocol", range(5))
def test_objects_without_a_state_are_not_pickled(protocol):
    check = gradwalk.check_gradient(lambda x: x, 1.0)
    with pytest.raises(TypeError, match="pickle: needs an object that can be stored, got GradientCheck; store what it was made of"):
        pickle.dumps(check, protocol)
    with pytest.raises(TypeError, match=r"Program.run: needs a Program that __init__ has made, got an empty one; compile\(\) makes one"):
        gradwalk.Program.__new__(gradwalk.Program).run()


def test_a_list_may_shrink_while_it_is_converted():
    """numpy.array() of such a list crashes, so fuzz_arguments.py has none."""
    class Shrinking:
        def __init__(self, items):
            self.items = items

        def __float__(self):
            self.items.clear()
            return 3.0

    items = []
    items.extend([Shrinking(items), 2.0, 3.0])
    assert gradwalk.gradient(lambda x: x[0] * len(x), items) == [1]
