# SPDX-License-Identifier: MIT
"""MLPClassifier and MLPRegressor with the interface of scikit-learn, trained by compiled programs.

The loss of one row is written in Values and compiled once, and a Trainer makes the steps. Parameters have the names,
meanings and defaults of scikit-learn. Only this module needs scikit-learn.

>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
>>> model = MLPClassifier(hidden_layer_sizes=(16,), learning_rate_init=0.01, max_iter=1000, random_state=0).fit(X, y)
>>> model.score(X, y) > 0.95
True
"""

import warnings
from functools import cached_property
from typing import Any, Callable, Dict, List, NoReturn, Sequence, Tuple

import numpy
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

try:
    from sklearn.utils.validation import validate_data as _validated  # since scikit-learn 1.6
except ImportError:

    def _validated(estimator: Any, *arguments: Any, **options: Any) -> Any:
        return estimator._validate_data(*arguments, **options)

from . import _core
from ._core import Value

__all__ = ["MLPClassifier", "MLPRegressor"]

_ACTIVATIONS: Dict[str, Callable[[Value], Value]] = {"identity": lambda x: x, "logistic": Value.sigmoid, "relu": Value.relu, "tanh": Value.tanh}
_OPTIMIZERS: Dict[str, Callable[[Any], Any]] = {
    "adam": lambda model: _core.Adam(model.learning_rate_init, model.beta_1, model.beta_2, model.epsilon),
    "sgd": lambda model: _core.SGD(model.learning_rate_init, model.momentum),
}


class _Network:
    """Layers of Values with the given coefficients, and the recorded scores of a row, from which programs are compiled."""

    def __init__(self, coefs: Sequence[Any], intercepts: Sequence[Any], activation: str, **options: Any) -> None:
        self.layers = [([[Value(w) for w in neuron] for neuron in coef.T.tolist()], [Value(b) for b in intercept.tolist()])
                       for coef, intercept in zip(coefs, intercepts)]
        self.options = options
        self.row = [Value(0.0) for _ in coefs[0]]
        self.scores = self._layer(0, self.row)
        for k in range(1, len(self.layers)):
            self.scores = self._layer(k, [_ACTIVATIONS[activation](score) for score in self.scores])

    def _layer(self, k: int, x: List[Value]) -> List[Value]:
        return [sum((wi * xi for wi, xi in zip(w, x)), b) for w, b in zip(*self.layers[k])]

    def weights(self) -> List[Value]:
        return [w for neurons, _ in self.layers for neuron in neurons for w in neuron]

    def parameters(self) -> List[Value]:
        return [p for neurons, biases in self.layers for w, b in zip(neurons, biases) for p in w + [b]]

    def numbers(self) -> Tuple[List[Any], List[Any]]:
        """Returns coefs_ and intercepts_ in the layout of scikit-learn."""
        coefs = [numpy.array([[w.data for w in neuron] for neuron in neurons]).T for neurons, _ in self.layers]
        return coefs, [numpy.array([b.data for b in biases]) for _, biases in self.layers]

    def compile(self, outputs: Any, targets: Sequence[Value] = ()) -> _core.Program:
        return _core.compile(outputs, inputs=[*self.row, *targets], parameters=self.parameters(), **self.options)

    @cached_property
    def program(self) -> _core.Program:
        return self.compile(self.scores)


class _Perceptron(BaseEstimator):
    """The common part of MLPClassifier and MLPRegressor.

    A subclass defines _columns(), which returns the targets as numbers (its argument known has the classes or columns of
    the first partial_fit), _outputs(), the number of scores, and _loss(), the loss of a row.
    """

    def __init__(self, hidden_layer_sizes=(100,), activation="relu", *, solver="adam", alpha=0.0001, batch_size="auto", learning_rate_init=0.001,
                 max_iter=200, shuffle=True, random_state=None, tol=1e-4, verbose=False, momentum=0.9, beta_1=0.9, beta_2=0.999, epsilon=1e-8,
                 n_iter_no_change=10, precision="float64", threads=1):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate_init = learning_rate_init
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose
        self.momentum = momentum
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.n_iter_no_change = n_iter_no_change
        self.precision = precision
        self.threads = threads

    def fit(self, X: Any, y: Any) -> Any:
        """Trains from the beginning: max_iter passes, or until the loss improves by less than tol in n_iter_no_change passes."""
        rows = self._rows(X, y, is_first=True)
        self._begin()
        self._make_trainer(rows)
        try:
            for _ in range(self.max_iter):
                self._make_pass(rows)
                if self._passes_in_vain > self.n_iter_no_change:
                    break
            else:
                warnings.warn(f"{type(self).__name__}: the loss has not converged after max_iter={self.max_iter} passes", ConvergenceWarning)
        except KeyboardInterrupt:
            warnings.warn(f"{type(self).__name__}: interrupted after {self.n_iter_} passes; the model keeps what it has learned")
        return self._finish()

    def _partial_fit(self, X: Any, y: Any, known: Any = None) -> Any:
        is_first = not hasattr(self, "coefs_")
        rows = self._rows(X, y, is_first, known)
        if is_first:
            self._begin()
        if not hasattr(self, "_trainer"):
            self._make_trainer(rows)
        self._make_pass(rows)
        return self._finish()

    def _rows(self, X: Any, y: Any, is_first: bool, known: Any = None) -> Any:
        """Returns features and targets side by side, as the program takes them."""
        self._check_parameters()
        X, y = _validated(self, X, y, reset=is_first, dtype=numpy.float64, multi_output=True, y_numeric=isinstance(self, RegressorMixin))
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        return numpy.column_stack([X, self._columns(y, known)])

    def _check_parameters(self) -> None:
        for name, choices in [("activation", _ACTIVATIONS), ("solver", _OPTIMIZERS)]:
            if getattr(self, name) not in choices:
                self._refuse(f"{name} to be one of {', '.join(choices)}", getattr(self, name), "choose one of them")
        for name, least in [("max_iter", 1), ("alpha", 0), ("tol", 0), ("n_iter_no_change", 1)]:
            if not getattr(self, name) >= least:
                self._refuse(f"{name} to be {least} or more", getattr(self, name), "give a larger number")
        if self.batch_size != "auto" and not self.batch_size >= 1:
            self._refuse("batch_size to be auto, or 1 or more", self.batch_size, "give a number of rows")
        if not all(size >= 1 for size in self._hidden_sizes()):
            self._refuse("hidden_layer_sizes to be 1 or more", self.hidden_layer_sizes, "remove the empty layers")

    def _refuse(self, rule: str, found: Any, advice: str) -> NoReturn:
        raise ValueError(f"{type(self).__name__}: needs {rule}, got {found}; {advice}")

    def _hidden_sizes(self) -> List[int]:
        return [int(size) for size in numpy.atleast_1d(self.hidden_layer_sizes)]

    def _begin(self) -> None:
        """Draws the initial parameters by Glorot and Bengio's rule, as scikit-learn does."""
        self._random = check_random_state(self.random_state)
        sizes = [self.n_features_in_, *self._hidden_sizes(), self._outputs()]
        self.coefs_, self.intercepts_ = [], []
        for fan_in, fan_out in zip(sizes, sizes[1:]):
            bound = ((2.0 if self.activation == "logistic" else 6.0) / (fan_in + fan_out)) ** 0.5
            self.coefs_.append(self._random.uniform(-bound, bound, (fan_in, fan_out)))
            self.intercepts_.append(self._random.uniform(-bound, bound, fan_out))
        self.loss_curve_: List[float] = []
        self.n_iter_, self.best_loss_, self._passes_in_vain = 0, numpy.inf, 0

    def _make_network(self) -> _Network:
        return _Network(self.coefs_, self.intercepts_, self.activation, precision=self.precision, threads=self.threads)

    def _make_trainer(self, rows: Any) -> None:
        """Compiles the loss of a row. As in scikit-learn, the penalty of alpha is divided by the size of a batch."""
        self._network = self._make_network()
        targets = [Value(0.0) for _ in range(rows.shape[1] - self.n_features_in_)]
        penalty = self.alpha / 2 / self._batch(rows) * _core.l2_penalty(self._network.weights())
        program = self._network.compile(self._loss(self._network.scores, targets) + penalty, targets)
        self._trainer = _core.Trainer(program, _OPTIMIZERS[self.solver](self))

    def _batch(self, rows: Any) -> int:
        return min(200 if self.batch_size == "auto" else self.batch_size, len(rows))

    def _make_pass(self, rows: Any) -> None:
        if self.shuffle:
            rows = rows[self._random.permutation(len(rows))]
        size = self._batch(rows)
        batches = [rows[start:start + size] for start in range(0, len(rows), size)]
        self.loss_ = sum(self._trainer.step(batch, mean=True) * len(batch) for batch in batches) / len(rows)
        self.loss_curve_.append(self.loss_)
        self.n_iter_ += 1
        if self.verbose:
            print(f"pass {self.n_iter_}, loss {self.loss_:.8f}")
        self._passes_in_vain = self._passes_in_vain + 1 if self.loss_ > self.best_loss_ - self.tol else 0
        self.best_loss_ = min(self.best_loss_, self.loss_)

    def _finish(self) -> Any:
        self._trainer.write_back()
        self.coefs_, self.intercepts_ = self._network.numbers()
        if not all(numpy.isfinite(numbers).all() for numbers in self.coefs_ + self.intercepts_):
            self._refuse("finite weights", "inf or nan", "scale X, or lower learning_rate_init")
        return self

    def _scores(self, X: Any) -> Any:
        check_is_fitted(self, "coefs_")
        X = _validated(self, X, reset=False, dtype=numpy.float64)
        if not hasattr(self, "_network"):
            self._network = self._make_network()
        return self._network.program.evaluate(X)

    def __getstate__(self) -> Dict[str, Any]:
        """Leaves out the compiled programs, which are made again from coefs_. The state of the optimizer is lost."""
        return {name: value for name, value in super().__getstate__().items() if name not in ("_network", "_trainer")}


class MLPClassifier(ClassifierMixin, _Perceptron):
    """A classifier with cross-entropy loss: scikit-learn's MLPClassifier, trained by a compiled program.

    After fit it has classes_, coefs_ and intercepts_ (one matrix and one vector per layer), n_iter_, loss_, best_loss_,
    loss_curve_, n_features_in_ and feature_names_in_.
    """

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> "MLPClassifier":
        """Makes one more pass over the given rows. The first call needs the list of all classes."""
        known = getattr(self, "classes_", None)
        if known is None and classes is None:
            self._refuse("all classes at the first partial_fit", "none", "give classes=numpy.unique(y), with y of all rows")
        if known is not None and classes is not None and not numpy.array_equal(known, numpy.unique(classes)):
            self._refuse(f"the classes of the first partial_fit, {known.tolist()}", numpy.unique(classes).tolist(), "omit classes after the first call")
        return self._partial_fit(X, y, classes if known is None else known)

    def predict(self, X: Any) -> Any:
        """Returns the most probable class of each row."""
        scores = self._scores(X)
        return self.classes_[(scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Any:
        """Returns the probability of each class, one row per row of X."""
        scores = self._scores(X)
        if scores.shape[1] > 1:
            return softmax(scores, axis=1)
        return numpy.column_stack([expit(-scores), expit(scores)])

    def predict_log_proba(self, X: Any) -> Any:
        """Returns the logarithm of predict_proba(X)."""
        return numpy.log(self.predict_proba(X))

    def _columns(self, y: Any, known: Any) -> Any:
        """Returns the index of each row's class. If no classes are known, y has them all."""
        check_classification_targets(y)
        if y.ndim > 1:
            self._refuse("one label per row", f"labels of shape {y.shape}", "train one classifier per column")
        classes = numpy.unique(y if known is None else known)
        if len(classes) < 2:
            self._refuse("at least two classes", f"one class, {classes.tolist()}", "add rows of another class")
        if not numpy.isin(y, classes).all():
            self._refuse(f"labels of the classes {classes.tolist()}", numpy.setdiff1d(y, classes).tolist(), "give all classes to the first partial_fit")
        self.classes_ = classes
        return numpy.searchsorted(classes, y)

    def _outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _loss(self, scores: List[Value], targets: List[Value]) -> Value:
        if len(scores) == 1:
            return _core.binary_cross_entropy(scores[0], targets[0])
        return _core.softmax_cross_entropy(scores, targets[0])


class MLPRegressor(MultiOutputMixin, RegressorMixin, _Perceptron):
    """A regressor with squared error, for one or several numbers per row: scikit-learn's MLPRegressor, trained by a compiled program.

    After fit it has coefs_ and intercepts_ (one matrix and one vector per layer), n_iter_, loss_, best_loss_, loss_curve_,
    n_outputs_, n_features_in_ and feature_names_in_.
    """

    def partial_fit(self, X: Any, y: Any) -> "MLPRegressor":
        """Makes one more pass over the given rows."""
        return self._partial_fit(X, y, getattr(self, "n_outputs_", None))

    def predict(self, X: Any) -> Any:
        """Returns the predictions: one number per row, or an array with one column per output."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _columns(self, y: Any, known: Any) -> Any:
        columns = 1 if y.ndim == 1 else y.shape[1]
        if known not in (None, columns):
            self._refuse(f"{known} targets per row, as in the first partial_fit", columns, f"give {known}")
        self.n_outputs_ = columns
        return y

    def _outputs(self) -> int:
        return self.n_outputs_

    def _loss(self, scores: List[Value], targets: List[Value]) -> Value:
        """Returns half the mean of the squared errors, as in scikit-learn."""
        errors = [_core.mean_squared_error(score, target) for score, target in zip(scores, targets)]
        return sum(errors[1:], errors[0]) * (0.5 / len(errors))
