# SPDX-License-Identifier: MIT
"""gradwalk.sklearn passes scikit-learn's checks of estimators, and its models are as good as scikit-learn's."""

import copy
import pickle
import signal
import subprocess
import sys
import warnings

import numpy
import pytest
import scipy.sparse
import sklearn.neural_network
from sklearn.datasets import load_diabetes, load_digits, load_iris, make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from gradwalk.sklearn import MLPClassifier, MLPRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@parametrize_with_checks([MLPClassifier(), MLPRegressor()])
def test_the_estimators_pass_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X / 16, y, random_state=0, stratify=y)


def test_digits_are_classified_as_well_as_by_scikit_learn(digits):
    train_x, test_x, train_y, test_y = digits
    ours, theirs = (kind(random_state=1, max_iter=60).fit(train_x, train_y) for kind in (MLPClassifier, sklearn.neural_network.MLPClassifier))
    assert ours.score(test_x, test_y) > theirs.score(test_x, test_y) - 0.02
    assert ours.loss_curve_[-1] == pytest.approx(theirs.loss_curve_[-1], rel=0.1)


def test_the_first_passes_have_the_losses_of_scikit_learn(digits):
    """From the same initial parameters, with the same optimizer and without shuffling, the losses are the same."""
    X, y = digits[0][:400], digits[2][:400]
    for more in [{}, {"solver": "sgd", "nesterovs_momentum": False}, {"solver": "sgd", "learning_rate_init": 0.1}, {"solver": "sgd", "momentum": 0},
                 {"solver": "sgd", "learning_rate": "invscaling", "learning_rate_init": 1.0, "power_t": 0.3}]:
        settings = {"hidden_layer_sizes": (12, 7), "activation": "tanh", "shuffle": False, "random_state": 3, "max_iter": 8, "alpha": 0.1, **more}
        ours, theirs = MLPClassifier(**settings).fit(X, y), sklearn.neural_network.MLPClassifier(**settings).fit(X, y)
        assert ours.loss_curve_ == pytest.approx(theirs.loss_curve_, rel=1e-6)
        assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), rel=1e-4)


def test_an_adaptive_learning_rate_falls_and_ends_the_training(digits):
    X, y = digits[0][:200], digits[2][:200]
    settings = {"solver": "sgd", "learning_rate": "adaptive", "learning_rate_init": 0.5, "n_iter_no_change": 2, "tol": 1e-2, "max_iter": 400, "random_state": 0,
                "shuffle": False, "alpha": 0.01}
    ours, theirs = MLPClassifier(**settings).fit(X, y), sklearn.neural_network.MLPClassifier(**settings).fit(X, y)
    assert ours.n_iter_ == theirs.n_iter_ and ours._rate <= 1e-6 and ours.loss_ == pytest.approx(theirs.loss_, rel=1e-4)


def test_early_stopping_keeps_the_best_weights(digits):
    settings = {"early_stopping": True, "validation_fraction": 0.2, "n_iter_no_change": 3, "random_state": 0, "max_iter": 100, "shuffle": False, "hidden_layer_sizes": (20,),
                "batch_size": 359}  # three equal batches of the 1,077 rows that are left
    ours, theirs = MLPClassifier(**settings).fit(digits[0], digits[2]), sklearn.neural_network.MLPClassifier(**settings).fit(digits[0], digits[2])
    assert ours.validation_scores_[:10] == pytest.approx(theirs.validation_scores_[:10]) and ours.n_iter_ == pytest.approx(theirs.n_iter_, rel=0.2)
    assert ours.best_validation_score_ == max(ours.validation_scores_) and ours.best_loss_ is None
    assert ours.score(digits[1], digits[3]) == pytest.approx(theirs.score(digits[1], digits[3]), abs=0.03)
    X, y = load_diabetes(return_X_y=True)
    settings.update(max_iter=20, n_iter_no_change=30)
    ours, theirs = MLPRegressor(**settings).fit(X, y / 100), sklearn.neural_network.MLPRegressor(**settings).fit(X, y / 100)
    assert ours.validation_scores_ == pytest.approx(theirs.validation_scores_, abs=1e-3)
    with pytest.raises(ValueError, match="MLPClassifier: needs early_stopping=False for partial_fit, got True; use fit"):
        MLPClassifier(early_stopping=True).partial_fit(X, y > 100, classes=[False, True])
    with pytest.raises(ValueError, match="MLPClassifier: needs validation_fraction to be between 0 and 1, got 1.5; 0.1 is usual"):
        MLPClassifier(validation_fraction=1.5).fit(X, y > 100)


def test_lbfgs_finds_the_minimum_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    settings = {"solver": "lbfgs", "hidden_layer_sizes": (4,), "activation": "tanh", "alpha": 1.0, "random_state": 0, "max_iter": 2000, "tol": 1e-7}
    ours, theirs = MLPClassifier(**settings).fit(X, y), sklearn.neural_network.MLPClassifier(**settings, max_fun=100000).fit(X, y)
    assert ours.loss_ == pytest.approx(theirs.loss_, rel=1e-4) and ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-2)
    line = MLPRegressor(solver="lbfgs", hidden_layer_sizes=(3,), random_state=0, max_iter=500).fit(X, X @ [1.0, 2.0, 3.0, 4.0])
    assert line.score(X, X @ [1.0, 2.0, 3.0, 4.0]) > 0.999 and 0 < line.n_iter_ <= 500
    with pytest.warns(ConvergenceWarning, match="MLPClassifier: lbfgs has not converged: iteration limit after 2 iterations"):
        MLPClassifier(solver="lbfgs", max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match="MLPClassifier: needs solver adam or sgd for partial_fit, got lbfgs; choose one of them"):
        MLPClassifier(solver="lbfgs").partial_fit(X, y, classes=range(3))


def test_warm_start_continues_from_the_last_weights(digits):
    X, y = digits[0][:300], digits[2][:300]
    model = MLPClassifier(warm_start=True, max_iter=5, random_state=0).fit(X, y)
    first = model.loss_
    model.fit(X, y)
    assert model.loss_ < first and model.n_iter_ == len(model.loss_curve_) == 10
    with pytest.raises(ValueError, match=r"MLPClassifier: needs labels of the classes \[0, 1, 2, 3, 4, 5, 6, 7, 8, 9\], got \[10\]"):
        model.fit(X, y + 1)


def test_sparse_features_train_as_dense_ones(digits):
    X, y = digits[0][:200], digits[2][:200]
    for form in (scipy.sparse.csr_matrix, scipy.sparse.csc_matrix):
        sparse, dense = (MLPClassifier(max_iter=5, random_state=0).fit(x, y) for x in (form(X), X))
        assert sparse.loss_curve_ == pytest.approx(dense.loss_curve_, rel=1e-12) and sparse.predict_proba(form(X)) == pytest.approx(dense.predict_proba(X), rel=1e-9)


def test_several_labels_per_row_are_learned():
    X, Y = make_multilabel_classification(200, 10, n_classes=4, random_state=0)
    settings = {"max_iter": 30, "shuffle": False, "random_state": 0, "hidden_layer_sizes": (12,)}
    ours, theirs = MLPClassifier(**settings).fit(X, Y), sklearn.neural_network.MLPClassifier(**settings).fit(X, Y)
    assert ours.loss_curve_ == pytest.approx(theirs.loss_curve_, rel=1e-6) and (ours.predict(X) == theirs.predict(X)).all()
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), rel=1e-4) and ours.score(X, Y) == theirs.score(X, Y)
    assert MLPClassifier(**settings, early_stopping=True).fit(X, scipy.sparse.csr_matrix(Y)).predict(X).shape == Y.shape


def test_the_estimators_have_scikit_learns_attributes():
    X, y = load_iris(return_X_y=True)
    for ours, theirs, targets in [(MLPClassifier, sklearn.neural_network.MLPClassifier, y), (MLPClassifier, sklearn.neural_network.MLPClassifier, y > 0),
                                  (MLPRegressor, sklearn.neural_network.MLPRegressor, y)]:
        mine, reference = (kind(max_iter=2, random_state=0).fit(X, targets) for kind in (ours, theirs))
        names = [name for name in vars(reference) if name.endswith("_") and not name.startswith("_")]
        assert [name for name in names if not hasattr(mine, name)] == []
        for name in ("n_layers_", "n_outputs_", "out_activation_", "t_", "n_iter_", "n_features_in_"):
            assert getattr(mine, name) == getattr(reference, name), name
        assert set(reference.get_params()) <= set(mine.get_params())


def test_errors_name_the_estimator():
    with pytest.raises(TypeError, match=r"^MLPClassifier.__init__\(\) got an unexpected keyword argument 'rate'$"):
        MLPClassifier(rate=1)
    with pytest.raises(TypeError, match=r"^MLPRegressor.fit\(\) missing 1 required positional argument: 'y'$"):
        MLPRegressor().fit([[1.0]])


@pytest.mark.parametrize("columns", [1, 2])
def test_regression_is_as_good_as_scikit_learns(columns):
    X, y = load_diabetes(return_X_y=True)
    y = y / 100 if columns == 1 else numpy.column_stack([y / 100, -y / 50])
    settings = {"activation": "logistic", "shuffle": False, "random_state": 0, "max_iter": 10}
    ours, theirs = MLPRegressor(**settings).fit(X, y), sklearn.neural_network.MLPRegressor(**settings).fit(X, y)
    assert ours.predict(X) == pytest.approx(theirs.predict(X), rel=1e-3) and ours.predict(X).shape == y.shape
    assert ours.loss_curve_ == pytest.approx(theirs.loss_curve_, rel=1e-3)


def test_two_classes_of_text_are_classified():
    X, y = load_iris(return_X_y=True)
    names = numpy.array(["short", "long"])[(y > 0).astype(int)]
    model = make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=300, random_state=0)).fit(X, names)
    assert list(model.classes_) == ["long", "short"] and model.score(X, names) > 0.98
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(numpy.ones(len(X)))
    assert model.predict_log_proba(X) == pytest.approx(numpy.log(model.predict_proba(X)))


def test_partial_fit_continues_training(digits):
    X, y = digits[0][:300], digits[2][:300]
    model = MLPClassifier(random_state=0)
    with pytest.raises(ValueError, match="needs all classes at the first partial_fit, got none"):
        model.partial_fit(X, y)
    for _ in range(30):
        model.partial_fit(X, y, classes=range(10))
    assert model.n_iter_ == len(model.loss_curve_) == 30 and model.loss_curve_[-1] < model.loss_curve_[0] / 2
    whole = MLPClassifier(random_state=0, max_iter=30).fit(X, y)
    assert model.loss_curve_ == pytest.approx(whole.loss_curve_)
    with pytest.raises(ValueError, match=r"needs labels of the classes \[0, 1, 2, 3, 4, 5, 6, 7, 8, 9\], got \[10\]"):
        model.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="needs the classes of the first partial_fit"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="needs 1 targets per row, as in the first partial_fit, got 2; give 1"):
        MLPRegressor().partial_fit(X, y).partial_fit(X, numpy.column_stack([y, y]))


def test_copies_predict_the_same_and_can_be_trained(digits):
    X, y = digits[0][:200], digits[2][:200]
    model = MLPClassifier(random_state=0, max_iter=20).fit(X, y)
    for duplicate in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert duplicate.predict_proba(X) == pytest.approx(model.predict_proba(X), rel=1e-12)
        before = duplicate.loss_
        for _ in range(20):
            duplicate.partial_fit(X, y)
        assert duplicate.loss_ < before


def test_estimators_work_in_grid_searches_and_other_processes(digits):
    X, y = digits[0][:200], digits[2][:200]
    search = GridSearchCV(MLPClassifier(max_iter=30, random_state=0), {"hidden_layer_sizes": [(4,), (32,)]}, cv=2).fit(X, y)
    assert search.best_params_ == {"hidden_layer_sizes": (32,)}
    assert len(cross_val_score(MLPClassifier(max_iter=5), X, y, cv=2, n_jobs=2)) == 2


def test_float32_and_threads_train_too(digits):
    X, y = digits[0], digits[2]
    exact, short, shared = (MLPClassifier(random_state=0, max_iter=10, **more).fit(X, y) for more in ({}, {"precision": "float32"}, {"threads": 2}))
    assert short.loss_curve_ == pytest.approx(exact.loss_curve_, rel=1e-3)
    assert shared.loss_curve_ == exact.loss_curve_


def test_messages_name_the_parameter_and_the_remedy(capsys):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(NotFittedError):
        MLPClassifier().predict(X)
    for settings, message in [({"activation": "gelu"}, "MLPClassifier: needs activation to be one of identity, logistic, relu, tanh, got gelu; choose one of them"),
                              ({"solver": "newton"}, "MLPClassifier: needs solver to be one of lbfgs, adam, sgd, got newton; choose one of them"),
                              ({"hidden_layer_sizes": (3, 0)}, r"MLPClassifier: needs hidden_layer_sizes to be 1 or more, got \(3, 0\); remove the empty layers"),
                              ({"batch_size": 0}, "MLPClassifier: needs batch_size to be auto, or 1 or more, got 0; give a number of rows"),
                              ({"precision": "half"}, "compile: needs precision 'float64' or 'float32', got 'half'; choose one of them"),
                              ({"learning_rate_init": 1e300}, "MLPClassifier: needs finite weights, got inf or nan; scale X, or lower learning_rate_init")]:
        with pytest.raises(ValueError, match=message):
            MLPClassifier(**{"max_iter": 3, **settings}).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="MLPClassifier: the loss has not converged after max_iter=2 passes"):
        MLPClassifier(max_iter=2, verbose=True).fit(X, y)
    assert [line.split(",")[0] for line in capsys.readouterr().out.splitlines()] == ["pass 1", "pass 2"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert MLPClassifier(tol=10.0, random_state=0).fit(X, y).n_iter_ == 12


@pytest.mark.parametrize("y", [2.0, "cat", object()])
def test_targets_that_are_no_list_are_refused(y):
    message = f"^MLPClassifier: needs y as a list or an array, got {type(y).__name__}; give one label or number per row$"
    with pytest.raises(TypeError, match=message):
        MLPClassifier().fit([[1.0], [2.0]], y)


def test_only_gradwalk_sklearn_needs_scikit_learn():
    code = "import sys, gradwalk; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.fixture
def ctrl_c():
    """Handles Ctrl-C as in a terminal. A background process may have been started to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_keeps_the_trained_model(digits):
    class Interrupted(MLPClassifier):
        def _make_pass(self, rows):
            super()._make_pass(rows)
            if self.n_iter_ == 3:
                signal.raise_signal(signal.SIGINT)

    model = Interrupted(random_state=0)
    with pytest.warns(UserWarning, match="^Interrupted: interrupted after 3 passes; the model keeps what it has learned$"):
        model.fit(digits[0], digits[2])
    assert model.n_iter_ == 3 and model.predict(digits[1]).shape == digits[3].shape
