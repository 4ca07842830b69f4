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

import types
import warnings
from functools import cached_property
from typing import Any, Callable, Dict, List, NoReturn, Sequence, Tuple

import numpy
from scipy.sparse import issparse
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

try:
    from sklearn.utils.validation import validate_data as _validated  # since scikit-learn 1.6
except ImportError:

    def _validated(estimator: Any, *arguments: Any, **options: Any) -> Any:
        return estimator._validate_data(*arguments, **options)

from . import _compile, _core
from ._core import Value

__all__ = ["MLPClassifier", "MLPRegressor"]

_ACTIVATIONS: Dict[str, Callable[[Value], Value]] = {"identity": lambda x: x, "logistic": Value.sigmoid, "relu": Value.relu, "tanh": Value.tanh}
_OPTIMIZERS: Dict[str, Callable[[Any], Any]] = {
    "adam": lambda model: _core.Adam(model.learning_rate_init, model.beta_1, model.beta_2, model.epsilon),
    "sgd": lambda model: _core.SGD(model.learning_rate_init),  # _Momentum has the velocity
}
_CHOICES = {"activation": list(_ACTIVATIONS), "solver": ["lbfgs", *_OPTIMIZERS], "learning_rate": ["constant", "invscaling", "adaptive"]}


class _Momentum:
    """The momentum of scikit-learn, whose velocity includes the learning rate. A Trainer calls it before each update."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.velocity: Any = 0.0

    def __call__(self, gradient: Any) -> None:
        rate, momentum = self.model._rate, self.model.momentum
        if rate == 0:
            return
        step = -rate * gradient
        self.velocity = momentum * self.velocity + step
        gradient[:] = (momentum * self.velocity + step if self.model.nesterovs_momentum else self.velocity) / -rate


class _Rows:
    """Features and targets, as the program takes them side by side. Sparse features become dense batch by batch."""

    def __init__(self, X: Any, targets: Any) -> None:
        self.features, self.targets = X.shape[1], targets.reshape(len(targets), -1)
        self.X = X if issparse(X) else numpy.column_stack([X, self.targets])

    def __len__(self) -> int:
        return len(self.targets)

    def batch(self, rows: Any) -> Any:
        return numpy.column_stack([self.X[rows].toarray(), self.targets[rows]]) if issparse(self.X) else self.X[rows]


class _Network:
    """Layers of Values with the given coefficients, and the recorded scores of a row, from which programs are compiled."""

    def __init__(self, coefs: Sequence[Any], intercepts: Sequence[Any], activation: str, **options: Any) -> None:
        self.layers = [([[Value(w) for w in neuron] for neuron in coef.T.tolist()], [Value(b) for b in intercept.tolist()])
                       for coef, intercept in zip(coefs, intercepts)]
        self.activation, self.options = activation, options
        self.row = [Value(0.0) for _ in coefs[0]]
        self.scores = self.scores_of(self.row)

    def scores_of(self, row: List[Value]) -> List[Value]:
        scores = self._layer(0, row)
        for k in range(1, len(self.layers)):
            scores = self._layer(k, [_ACTIVATIONS[self.activation](score) for score in scores])
        return scores

    def set_parameters(self, parameters: Sequence[Value]) -> None:
        """Replaces the parameters, which are in the order of parameters()."""
        following = iter(parameters)
        self.layers = [list(zip(*[([next(following) for _ in w], next(following)) for w in neurons])) for neurons, _ in self.layers]  # type: ignore[misc]

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
        return _compile.compile(outputs, inputs=[*self.row, *targets], parameters=self.parameters(), **self.options)

    @cached_property
    def program(self) -> _core.Program:
        return self.compile(self.scores)


class _Perceptron(BaseEstimator):
    """The common part of MLPClassifier and MLPRegressor.

    A subclass defines _columns(), which returns the targets as numbers (its argument known has the classes or columns of
    the first partial_fit), _loss(), the loss of a row, and _score(), which early_stopping compares.
    """

    n_iter_: int  # the number of passes
    _passes_in_vain: int  # since the loss or the score was last better

    def __init__(self, hidden_layer_sizes=(100,), activation="relu", *, solver="adam", alpha=0.0001, batch_size="auto", learning_rate="constant",
                 learning_rate_init=0.001, power_t=0.5, max_iter=200, shuffle=True, random_state=None, tol=1e-4, verbose=False, warm_start=False, momentum=0.9,
                 nesterovs_momentum=True, early_stopping=False, validation_fraction=0.1, beta_1=0.9, beta_2=0.999, epsilon=1e-8, n_iter_no_change=10,
                 max_fun=15000, precision="float64", threads=1):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.power_t = power_t
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose
        self.warm_start = warm_start
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.n_iter_no_change = n_iter_no_change
        self.max_fun = max_fun
        self.precision = precision
        self.threads = threads

    def fit(self, X: Any, y: Any) -> Any:
        """Trains from the beginning, or with warm_start from the weights of the last fit: max_iter passes, or until the loss
        improves by less than tol in n_iter_no_change passes. With early_stopping, the score on held-out rows counts instead.

        >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
        >>> MLPRegressor((8,), "tanh", solver="lbfgs", random_state=0).fit(X, y).predict(X).round().astype(int).tolist()
        [0, 1, 1, 0]
        """
        continues = self.warm_start and hasattr(self, "coefs_")
        X, y = self._validated_rows(X, y, not continues)
        columns = self._columns(y, self._known() if continues else None)
        held_out = None
        if not continues:
            self._begin()
        if self.solver == "lbfgs":
            return self._fit_by_lbfgs(_Rows(X, columns))
        if self.early_stopping:
            X, held_out_x, columns, held_out_columns = self._split(X, columns)
            held_out = held_out_x, held_out_columns
        rows = _Rows(X, columns)
        self._make_trainer(rows)
        try:
            for _ in range(self.max_iter):
                self._make_pass(rows)
                self._judge(held_out)
                if self._passes_in_vain > self.n_iter_no_change and self._is_done():
                    break
            else:
                warnings.warn(f"{type(self).__name__}: the loss has not converged after max_iter={self.max_iter} passes", ConvergenceWarning)
        except KeyboardInterrupt:
            warnings.warn(f"{type(self).__name__}: interrupted after {self.n_iter_} passes; the model keeps what it has learned")
        self._finish()
        if self.early_stopping and self._best is not None:
            self.coefs_, self.intercepts_ = self._best
            self._network = self._make_network()
        return self

    def _partial_fit(self, X: Any, y: Any, known: Any = None) -> Any:
        if self.solver == "lbfgs":
            self._refuse("solver adam or sgd for partial_fit", "lbfgs", "choose one of them")
        if self.early_stopping:
            self._refuse("early_stopping=False for partial_fit", "True", "use fit, or keep rows for validation yourself")
        is_first = not hasattr(self, "coefs_")
        X, y = self._validated_rows(X, y, is_first)
        rows = _Rows(X, self._columns(y, known))
        if is_first:
            self._begin()
        if not hasattr(self, "_trainer"):
            self._make_trainer(rows)
        self._make_pass(rows)
        self._judge(None)
        return self._finish()

    def _validated_rows(self, X: Any, y: Any, is_first: bool) -> Tuple[Any, Any]:
        self._check_parameters()
        if isinstance(y, (str, bytes)) or not (y is None or hasattr(y, "__len__") or hasattr(y, "__array__")):
            raise TypeError(f"{type(self).__name__}: needs y as a list or an array, got {type(y).__name__}; give one label or number per row")
        X, y = _validated(self, X, y, reset=is_first, dtype=numpy.float64, accept_sparse=["csr", "csc"], multi_output=True,
                          y_numeric=isinstance(self, RegressorMixin))
        y = y.toarray() if issparse(y) else y
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        return X.tocsr() if issparse(X) else X, y

    def _split(self, X: Any, columns: Any) -> Tuple[Any, Any, Any, Any]:
        """Holds out validation_fraction of the rows; of two classes the same share each, as in scikit-learn."""
        stratified = columns if isinstance(self, ClassifierMixin) and self.n_outputs_ == 1 else None
        split = train_test_split(X, columns, random_state=self._random, test_size=self.validation_fraction, stratify=stratified)
        if split[1].shape[0] < 2:
            self._refuse("at least two rows for validation", split[1].shape[0], "increase validation_fraction, or give more rows")
        return split

    def _check_parameters(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                self._refuse(f"{name} to be one of {', '.join(choices)}", getattr(self, name), "choose one of them")
        for name, least in [("max_iter", 1), ("alpha", 0), ("tol", 0), ("n_iter_no_change", 1)]:
            if not getattr(self, name) >= least:
                self._refuse(f"{name} to be {least} or more", getattr(self, name), "give a larger number")
        if not 0 < self.validation_fraction < 1:
            self._refuse("validation_fraction to be between 0 and 1", self.validation_fraction, "0.1 is usual")
        if self.batch_size != "auto" and not self.batch_size >= 1:
            self._refuse("batch_size to be auto, or 1 or more", self.batch_size, "give a number of rows")
        if not all(size >= 1 for size in self._hidden_sizes()):
            self._refuse("hidden_layer_sizes to be 1 or more", self.hidden_layer_sizes, "remove the empty layers")
        if self.solver == "lbfgs" and self.precision != "float64":
            self._refuse("precision float64 for solver lbfgs", self.precision, "choose adam or sgd for float32")

    def _refuse(self, rule: str, found: Any, advice: str) -> NoReturn:
        raise ValueError(f"{type(self).__name__}: needs {rule}, got {found}; {advice}")

    def _hidden_sizes(self) -> List[int]:
        return [int(size) for size in numpy.atleast_1d(self.hidden_layer_sizes)]

    def _begin(self) -> None:
        """Draws the initial parameters by Glorot and Bengio's rule, as scikit-learn does."""
        self._random = check_random_state(self.random_state)
        sizes = [self.n_features_in_, *self._hidden_sizes(), self.n_outputs_]
        self.n_layers_ = len(sizes)
        self.coefs_, self.intercepts_ = [], []
        for fan_in, fan_out in zip(sizes, sizes[1:]):
            bound = ((2.0 if self.activation == "logistic" else 6.0) / (fan_in + fan_out)) ** 0.5
            self.coefs_.append(self._random.uniform(-bound, bound, (fan_in, fan_out)))
            self.intercepts_.append(self._random.uniform(-bound, bound, fan_out))
        self.loss_curve_: List[float] = []
        self.n_iter_, self.t_, self._passes_in_vain = 0, 0, 0
        self.best_loss_: Any = None if self.early_stopping else numpy.inf
        self.validation_scores_: Any = [] if self.early_stopping else None
        self.best_validation_score_: Any = -numpy.inf if self.early_stopping else None
        self._best: Any = None

    def _make_network(self) -> _Network:
        return _Network(self.coefs_, self.intercepts_, self.activation, precision=self.precision, threads=self.threads)

    def _make_trainer(self, rows: _Rows) -> None:
        """Compiles the loss of a row. As in scikit-learn, the penalty of alpha is divided by the size of a batch."""
        self._network = self._make_network()
        targets = [Value(0.0) for _ in range(rows.targets.shape[1])]
        penalty = self.alpha / 2 / self._batch(rows) * _core.l2_penalty(self._network.weights())
        program = self._network.compile(self._loss(self._network.scores, targets) + penalty, targets)
        self._rate = self.learning_rate_init
        follows_rate = self.solver == "sgd" and self.learning_rate != "constant"
        self._trainer = _core.Trainer(program, _OPTIMIZERS[self.solver](self), (lambda _: self._rate) if follows_rate else None)
        self._trainer.__enter__()  # _finish() writes back
        if self.solver == "sgd" and self.momentum != 0:
            self._trainer.before_update(_Momentum(self))
        self._passes_in_vain = 0

    def _fit_by_lbfgs(self, rows: _Rows) -> Any:
        """Minimizes the mean loss of all rows, with the penalty, by the package's own solver."""
        network = self._network = self._make_network()
        start = [p.data for p in network.parameters()]
        count = len(rows)

        def loss(parameters: List[Value], row: List[Value]) -> Value:
            network.set_parameters(parameters)
            penalty = self.alpha / 2 / count * _core.l2_penalty(network.weights())
            return (self._loss(network.scores_of(row[:rows.features]), row[rows.features:]) + penalty) / count

        found = _core.minimize(loss, rows.batch(slice(None)).tolist(), start, iterations=self.max_iter, gradient_tolerance=self.tol)
        network.set_parameters([Value(number) for number in found.x])
        self.coefs_, self.intercepts_ = network.numbers()
        self._network = self._make_network()
        self.n_iter_, self.loss_ = found.nit, found.fun
        self._check_weights()
        if not found.converged:
            warnings.warn(f"{type(self).__name__}: lbfgs has not converged: {found.message}", ConvergenceWarning)
        return self

    def _batch(self, rows: _Rows) -> int:
        return min(200 if self.batch_size == "auto" else self.batch_size, len(rows))

    def _make_pass(self, rows: _Rows) -> None:
        order = self._random.permutation(len(rows)) if self.shuffle else numpy.arange(len(rows))
        size = self._batch(rows)
        batches = [rows.batch(order[start:start + size]) for start in range(0, len(rows), size)]
        self.loss_ = sum(self._trainer.step(batch, mean=True) * len(batch) for batch in batches) / len(rows)
        self.loss_curve_.append(self.loss_)
        self.n_iter_ += 1
        self.t_ += len(rows)
        if self.learning_rate == "invscaling":
            self._rate = self.learning_rate_init / (self.t_ + 1) ** self.power_t
        if self.verbose:
            print(f"pass {self.n_iter_}, loss {self.loss_:.8f}")

    def _judge(self, held_out: Any) -> None:
        """Counts the passes without an improvement of the loss, or of the score on the rows that were held out."""
        if held_out is None:
            self._passes_in_vain = self._passes_in_vain + 1 if self.loss_ > self.best_loss_ - self.tol else 0
            self.best_loss_ = min(self.best_loss_, self.loss_)
            return
        self._trainer.write_back()
        score = self._score(held_out[0], held_out[1])
        self.validation_scores_.append(score)
        if self.verbose:
            print(f"validation score {score:.6f}")
        self._passes_in_vain = self._passes_in_vain + 1 if score < self.best_validation_score_ + self.tol else 0
        if score > self.best_validation_score_:
            self.best_validation_score_, self._best = score, self._network.numbers()

    def _is_done(self) -> bool:
        """Lowers an adaptive learning rate once the loss no longer improves; True if it cannot be lowered further."""
        if self.solver != "sgd" or self.learning_rate != "adaptive" or self._rate <= 1e-6:
            return True
        self._rate /= 5
        self._passes_in_vain = 0
        return False

    def _finish(self) -> Any:
        self._trainer.write_back()
        self.coefs_, self.intercepts_ = self._network.numbers()
        self._check_weights()
        return self

    def _check_weights(self) -> None:
        if not all(numpy.isfinite(numbers).all() for numbers in self.coefs_ + self.intercepts_):
            self._refuse("finite weights", "inf or nan", "scale X, or lower learning_rate_init")

    def _scores(self, X: Any) -> Any:
        check_is_fitted(self, "coefs_")
        return self._scores_of(_validated(self, X, reset=False, dtype=numpy.float64, accept_sparse=["csr", "csc"]))

    def _scores_of(self, X: Any) -> Any:
        if not hasattr(self, "_network"):
            self._network = self._make_network()
        if not issparse(X):
            return self._network.program.evaluate(X)
        X, size = X.tocsr(), 1024
        return numpy.concatenate([self._network.program.evaluate(X[start:start + size].toarray()) for start in range(0, X.shape[0], size)])

    def _emit(self, precision: str, options: Dict[str, Any]) -> Any:
        """Returns the estimator as C: the name, the file and the header, for gradwalk.emit_c()."""
        check_is_fitted(self, "coefs_")
        labels = [str(label) for label in self.classes_] if isinstance(self, ClassifierMixin) else []
        if self.n_outputs_ not in (1, len(labels)) or getattr(self, "_is_multilabel", False):
            raise ValueError(f"emit_c: needs a model of one label or number per row, got {self.n_outputs_} of them; train one model for each")
        network = self._make_network()
        activation = {"identity": "linear", "logistic": "sigmoid"}.get(self.activation, self.activation)
        model = ([self.n_features_in_, *self._hidden_sizes(), self.n_outputs_], activation, [p.data for p in network.parameters()],
                 [str(name) for name in getattr(self, "feature_names_in_", [])])
        if labels:
            return _core._emit_classifier(*model, labels, precision, options)
        return _core._emit_regressor(*model, precision, options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> Dict[str, Any]:
        """Leaves out the compiled programs, which are made again from coefs_. The state of the optimizer is lost."""
        return {name: value for name, value in super().__getstate__().items() if name not in ("_network", "_trainer")}


def _under_its_name(estimator: Any) -> Any:
    """Gives the class its own __init__ and fit, so that errors about their arguments name the class."""
    for name in ("__init__", "fit"):
        shared = getattr(_Perceptron, name)
        own = types.FunctionType(shared.__code__, shared.__globals__, name, shared.__defaults__, shared.__closure__)
        own.__kwdefaults__, own.__annotations__ = shared.__kwdefaults__, shared.__annotations__
        own.__doc__ = shared.__doc__ and shared.__doc__.replace("MLPRegressor", estimator.__name__)
        own.__qualname__ = f"{estimator.__name__}.{name}"
        own.__module__ = __name__
        setattr(estimator, name, own)
    return estimator


@_under_its_name
class MLPClassifier(ClassifierMixin, _Perceptron):
    """A classifier with cross-entropy loss: scikit-learn's MLPClassifier, trained by a compiled program.

    y has one label per row, or, for several labels per row, one column of 0 and 1 per label. After fit it has classes_,
    coefs_ and intercepts_ (one matrix and one vector per layer), n_iter_, t_, loss_, best_loss_, loss_curve_, n_layers_,
    n_outputs_, out_activation_, n_features_in_ and feature_names_in_, and with early_stopping validation_scores_ and
    best_validation_score_.

    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "other", "other", "same"]
    >>> model = MLPClassifier((8,), "tanh", solver="lbfgs", random_state=0).fit(X, y)
    >>> model.predict([[1, 0]]).tolist(), model.score(X, y)
    (['other'], 1.0)
    """

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> "MLPClassifier":
        """Makes one more pass over the given rows. The first call needs the list of all classes.

        >>> model = MLPClassifier().partial_fit([[0.0], [1.0]], ["cat", "dog"], classes=["cat", "cow", "dog"])
        >>> model.partial_fit([[2.0], [0.5]], ["cow", "cat"]).n_iter_
        2
        """
        known = getattr(self, "classes_", None)
        if known is None and classes is None:
            self._refuse("all classes at the first partial_fit", "none", "give classes=numpy.unique(y), with y of all rows")
        if known is not None and classes is not None and not numpy.array_equal(known, numpy.unique(classes)):
            self._refuse(f"the classes of the first partial_fit, {known.tolist()}", numpy.unique(classes).tolist(), "omit classes after the first call")
        return self._partial_fit(X, y, classes if known is None else known)

    def predict(self, X: Any) -> Any:
        """Returns the most probable class of each row, or a column of 0 and 1 per label.

        >>> model = MLPClassifier((4,), solver="lbfgs", random_state=0).fit([[0], [1], [8], [9]], ["low", "low", "high", "high"])
        >>> model.predict([[2], [7]]).tolist()
        ['low', 'high']
        """
        return self._labels(self._scores(X))

    def predict_proba(self, X: Any) -> Any:
        """Returns the probability of each class, one row per row of X. The order is that of classes_.

        >>> model = MLPClassifier((4,), solver="lbfgs", random_state=0).fit([[0], [1], [8], [9]], ["low", "low", "high", "high"])
        >>> model.classes_.tolist(), model.predict_proba([[2], [7]]).round().tolist()
        (['high', 'low'], [[0.0, 1.0], [1.0, 0.0]])
        """
        scores = self._scores(X)
        if self._is_multilabel:
            return expit(scores)
        if scores.shape[1] > 1:
            return softmax(scores, axis=1)
        return numpy.column_stack([expit(-scores), expit(scores)])

    def predict_log_proba(self, X: Any) -> Any:
        """Returns the logarithm of predict_proba(X).

        >>> model = MLPClassifier((4,), solver="lbfgs", random_state=0).fit([[0], [1], [8], [9]], ["low", "low", "high", "high"])
        >>> (model.predict_log_proba([[2]]) == numpy.log(model.predict_proba([[2]]))).tolist()
        [[True, True]]
        """
        return numpy.log(self.predict_proba(X))

    def _columns(self, y: Any, known: Any) -> Any:
        """Returns the index of each row's class, or the columns of several labels. If no classes are known, y has them all."""
        check_classification_targets(y)
        self._is_multilabel = y.ndim > 1
        if self._is_multilabel:
            if type_of_target(y) != "multilabel-indicator":
                self._refuse("one label per row, or columns of 0 and 1", f"labels of shape {y.shape}", "train one classifier per column")
            if known is not None and len(known) != y.shape[1]:
                self._refuse(f"{len(known)} labels per row, as in the first fit", y.shape[1], f"give {len(known)}")
            self.classes_ = numpy.arange(y.shape[1])
            self.n_outputs_, self.out_activation_ = y.shape[1], "logistic"
            return y.astype(float)
        classes = numpy.unique(y if known is None else known)
        if len(classes) < 2:
            self._refuse("at least two classes", f"one class, {classes.tolist()}", "add rows of another class")
        if not numpy.isin(y, classes).all():
            self._refuse(f"labels of the classes {classes.tolist()}", numpy.setdiff1d(y, classes).tolist(), "give all classes to the first partial_fit")
        self.classes_ = classes
        self.n_outputs_, self.out_activation_ = (1, "logistic") if len(classes) == 2 else (len(classes), "softmax")
        return numpy.searchsorted(classes, y)

    def _known(self) -> Any:
        return self.classes_

    def _labels(self, scores: Any) -> Any:
        if self._is_multilabel:
            return (scores > 0).astype(int)
        return self.classes_[(scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)]

    def _score(self, X: Any, columns: Any) -> float:
        return accuracy_score(columns if self._is_multilabel else self.classes_[columns], self._labels(self._scores_of(X)))

    def _loss(self, scores: List[Value], targets: List[Value]) -> Value:
        if self._is_multilabel or len(scores) == 1:
            losses = [_core.binary_cross_entropy(score, target) for score, target in zip(scores, targets)]
            return sum(losses[1:], losses[0])
        return _core.softmax_cross_entropy(scores, targets[0])

    def _more_tags(self) -> Dict[str, Any]:
        return {"multilabel": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@_under_its_name
class MLPRegressor(MultiOutputMixin, RegressorMixin, _Perceptron):
    """A regressor with squared error, for one or several numbers per row: scikit-learn's MLPRegressor, trained by a compiled program.

    After fit it has coefs_ and intercepts_ (one matrix and one vector per layer), n_iter_, t_, loss_, best_loss_,
    loss_curve_, n_layers_, n_outputs_, out_activation_, n_features_in_ and feature_names_in_, and with early_stopping
    validation_scores_ and best_validation_score_.

    >>> X = [[k / 10] for k in range(11)]
    >>> model = MLPRegressor((8,), solver="lbfgs", random_state=0).fit(X, [x ** 2 for x, in X])
    >>> model.score(X, [x ** 2 for x, in X]) > 0.99
    True
    """

    def partial_fit(self, X: Any, y: Any) -> "MLPRegressor":
        """Makes one more pass over the given rows.

        >>> MLPRegressor().partial_fit([[0.0], [1.0]], [0.0, 1.0]).partial_fit([[2.0]], [4.0]).n_iter_
        2
        """
        return self._partial_fit(X, y, getattr(self, "n_outputs_", None))

    def predict(self, X: Any) -> Any:
        """Returns the predictions: one number per row, or an array with one column per output.

        >>> model = MLPRegressor(activation="identity", solver="lbfgs", alpha=0, random_state=0).fit([[0], [1], [2]], [1, 3, 5])
        >>> model.predict([[3], [4]]).round(2).tolist()
        [7.0, 9.0]
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _columns(self, y: Any, known: Any) -> Any:
        columns = 1 if y.ndim == 1 else y.shape[1]
        if known not in (None, columns):
            self._refuse(f"{known} targets per row, as in the first partial_fit", columns, f"give {known}")
        self.n_outputs_, self.out_activation_ = columns, "identity"
        return y

    def _known(self) -> Any:
        return self.n_outputs_

    def _score(self, X: Any, columns: Any) -> float:
        return r2_score(columns, self._scores_of(X).reshape(columns.shape))

    def _loss(self, scores: List[Value], targets: List[Value]) -> Value:
        """Returns half the mean of the squared errors, as in scikit-learn."""
        errors = [_core.mean_squared_error(score, target) for score, target in zip(scores, targets)]
        return sum(errors[1:], errors[0]) * (0.5 / len(errors))
