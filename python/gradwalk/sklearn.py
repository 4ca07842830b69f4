# SPDX-License-Identifier: MIT
"""Networks as scikit-learn has them, trained by compiled programs: MLPClassifier and MLPRegressor.

The loss of one row is written in Values and compiled once; a Trainer does the rest. Parameters have scikit-learn's names,
meanings and defaults. This module alone needs scikit-learn.

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
    from sklearn.utils.validation import validate_data as _validated  # from 1.6 on
except ImportError:

    def _validated(estimator: Any, *arguments: Any, **options: Any) -> Any:
        return estimator._validate_data(*arguments, **options)

from . import _core
from ._core import Value

__all__ = ["MLPClassifier", "MLPRegressor"]

_ACTIVATIONS: Dict[str, Callable[[Value], Value]] = {"identity": lambda x: x, "logistic": Value.sigmoid, "relu": Value.relu, "tanh": Value.tanh}
_RULES: Dict[str, Callable[[Any], Any]] = {
    "adam": lambda of: _core.Adam(of.learning_rate_init, of.beta_1, of.beta_2, of.epsilon),
    "sgd": lambda of: _core.SGD(of.learning_rate_init, of.momentum),
}


class _Network:
    """Layers of Values with these numbers, and the scores they give to a row; recorded once, compiled as often as wanted."""

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
        """coefs_ and intercepts_, as scikit-learn has them."""
        coefs = [numpy.array([[w.data for w in neuron] for neuron in neurons]).T for neurons, _ in self.layers]
        return coefs, [numpy.array([b.data for b in biases]) for _, biases in self.layers]

    def compile(self, outputs: Any, targets: Sequence[Value] = ()) -> _core.Program:
        return _core.compile(outputs, inputs=[*self.row, *targets], parameters=self.parameters(), **self.options)

    @cached_property
    def program(self) -> _core.Program:
        return self.compile(self.scores)


class _Perceptron(BaseEstimator):
    """What both have in common. A subclass has _columns (targets as numbers; known is what the first partial_fit settled), _outputs (how many
    scores) and _loss (of a row)."""

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
        """Learns these rows from the beginning: max_iter passes, or until n_iter_no_change of them lowered the loss by less than tol."""
        rows = self._rows(X, y, is_first=True)
        self._begin()
        self._make_trainer(rows)
        try:
            for _ in range(self.max_iter):
                self._one_pass(rows)
                if self._passes_in_vain > self.n_iter_no_change:
                    break
            else:
                warnings.warn(f"{type(self).__name__}: max_iter={self.max_iter} passes were not enough for the loss to settle", ConvergenceWarning)
        except KeyboardInterrupt:
            warnings.warn(f"{type(self).__name__}: interrupted after {self.n_iter_} passes; what was learned is kept")
        return self._finish()

    def _partial_fit(self, X: Any, y: Any, known: Any = None) -> Any:
        is_first = not hasattr(self, "coefs_")
        rows = self._rows(X, y, is_first, known)
        if is_first:
            self._begin()
        if not hasattr(self, "_trainer"):
            self._make_trainer(rows)
        self._one_pass(rows)
        return self._finish()

    def _rows(self, X: Any, y: Any, is_first: bool, known: Any = None) -> Any:
        """Features and targets side by side, as the program takes them."""
        self._check_parameters()
        X, y = _validated(self, X, y, reset=is_first, dtype=numpy.float64, multi_output=True, y_numeric=isinstance(self, RegressorMixin))
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        return numpy.column_stack([X, self._columns(y, known)])

    def _check_parameters(self) -> None:
        for name, choices in [("activation", _ACTIVATIONS), ("solver", _RULES)]:
            if getattr(self, name) not in choices:
                self._refuse(f"{name} to be one of {', '.join(choices)}", getattr(self, name), "choose one")
        for name, least in [("max_iter", 1), ("alpha", 0), ("tol", 0), ("n_iter_no_change", 1)]:
            if not getattr(self, name) >= least:
                self._refuse(f"{name} to be {least} or more", getattr(self, name), "give a larger one")
        if self.batch_size != "auto" and not self.batch_size >= 1:
            self._refuse("batch_size to be auto, or 1 or more", self.batch_size, "give a number of rows")
        if not all(size >= 1 for size in self._hidden_sizes()):
            self._refuse("hidden_layer_sizes to be 1 or more", self.hidden_layer_sizes, "leave out empty layers")

    def _refuse(self, rule: str, found: Any, advice: str) -> NoReturn:
        raise ValueError(f"{type(self).__name__}: needs {rule}, got {found}; {advice}")

    def _hidden_sizes(self) -> List[int]:
        return [int(size) for size in numpy.atleast_1d(self.hidden_layer_sizes)]

    def _begin(self) -> None:
        """Numbers by Glorot and Bengio's rule, as scikit-learn draws them."""
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
        """alpha's penalty is shared by the rows of a batch, as in scikit-learn; a batch is as large as in this first fit."""
        self._network = self._make_network()
        targets = [Value(0.0) for _ in range(rows.shape[1] - self.n_features_in_)]
        penalty = self.alpha / 2 / self._batch(rows) * _core.l2_penalty(self._network.weights())
        program = self._network.compile(self._loss(self._network.scores, targets) + penalty, targets)
        self._trainer = _core.Trainer(program, _RULES[self.solver](self))

    def _batch(self, rows: Any) -> int:
        return min(200 if self.batch_size == "auto" else self.batch_size, len(rows))

    def _one_pass(self, rows: Any) -> None:
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
            self._refuse("a loss that falls", "weights that are not finite", "scale X, or lower learning_rate_init")
        return self

    def _scores(self, X: Any) -> Any:
        check_is_fitted(self, "coefs_")
        X = _validated(self, X, reset=False, dtype=numpy.float64)
        if not hasattr(self, "_network"):
            self._network = self._make_network()
        return self._network.program.evaluate(X)

    def __getstate__(self) -> Dict[str, Any]:
        """Without what is compiled, which is made again from coefs_; the solver's memory of gradients goes with it."""
        return {name: value for name, value in super().__getstate__().items() if name not in ("_network", "_trainer")}


class MLPClassifier(ClassifierMixin, _Perceptron):
    """A network that learns classes by cross-entropy: scikit-learn's MLPClassifier, compiled.

    After fit: classes_, coefs_ and intercepts_ (a matrix and a vector a layer), n_iter_, loss_, best_loss_, loss_curve_,
    n_features_in_, feature_names_in_.
    """

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> "MLPClassifier":
        """One pass over these rows, from where it is; the first call is told all classes there will be."""
        known = getattr(self, "classes_", None)
        if known is None and classes is None:
            self._refuse("all classes at the first partial_fit", "none", "give classes=numpy.unique(y) of all there will be")
        if known is not None and classes is not None and not numpy.array_equal(known, numpy.unique(classes)):
            self._refuse(f"the classes of the first partial_fit, {known.tolist()}", numpy.unique(classes).tolist(), "leave them out from then on")
        return self._partial_fit(X, y, classes if known is None else known)

    def predict(self, X: Any) -> Any:
        """The likeliest class of each row."""
        scores = self._scores(X)
        return self.classes_[(scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, a row a row of X."""
        scores = self._scores(X)
        if scores.shape[1] > 1:
            return softmax(scores, axis=1)
        return numpy.column_stack([expit(-scores), expit(scores)])

    def predict_log_proba(self, X: Any) -> Any:
        return numpy.log(self.predict_proba(X))

    def _columns(self, y: Any, known: Any) -> Any:
        """The number of each row's class. If none are known, those of y are all there are."""
        check_classification_targets(y)
        if y.ndim > 1:
            self._refuse("one label a row", f"labels of shape {y.shape}", "train a classifier a column")
        classes = numpy.unique(y if known is None else known)
        if len(classes) < 2:
            self._refuse("at least two classes", f"one class, {classes.tolist()}", "give rows of others")
        if not numpy.isin(y, classes).all():
            self._refuse(f"labels of the classes {classes.tolist()}", numpy.setdiff1d(y, classes).tolist(), "name all at the first partial_fit")
        self.classes_ = classes
        return numpy.searchsorted(classes, y)

    def _outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _loss(self, scores: List[Value], targets: List[Value]) -> Value:
        if len(scores) == 1:
            return _core.binary_cross_entropy(scores[0], targets[0])
        return _core.softmax_cross_entropy(scores, targets[0])


class MLPRegressor(MultiOutputMixin, RegressorMixin, _Perceptron):
    """A network that learns numbers, one or several a row, by squares: scikit-learn's MLPRegressor, compiled.

    After fit: coefs_ and intercepts_ (a matrix and a vector a layer), n_iter_, loss_, best_loss_, loss_curve_, n_outputs_,
    n_features_in_, feature_names_in_.
    """

    def partial_fit(self, X: Any, y: Any) -> "MLPRegressor":
        """One pass over these rows, from where it is."""
        return self._partial_fit(X, y, getattr(self, "n_outputs_", None))

    def predict(self, X: Any) -> Any:
        """The numbers of each row; one alone is no column."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _columns(self, y: Any, known: Any) -> Any:
        columns = 1 if y.ndim == 1 else y.shape[1]
        if known not in (None, columns):
            self._refuse(f"{known} numbers a row, as at the first partial_fit", columns, "give as many")
        self.n_outputs_ = columns
        return y

    def _outputs(self) -> int:
        return self.n_outputs_

    def _loss(self, scores: List[Value], targets: List[Value]) -> Value:
        """Half the mean of the squares, as scikit-learn has it."""
        errors = [_core.mean_squared_error(score, target) for score, target in zip(scores, targets)]
        return sum(errors[1:], errors[0]) * (0.5 / len(errors))
