"""Laws of groups of dichotomies, and of training them on the rows they need."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from polytomy import designs
from polytomy.dask.cluster import pass_on
from polytomy.dask.fit_steps import (
    TaskOptions,
    classes_of,
    divide_into_groups,
    train_group,
    train_groups,
)
from polytomy.dask.grouping import RowBlock
from polytomy.inputs.rows import group_rows
from polytomy.learners.workload import TrainingListener, TrainingOptions
from polytomy.model.fitting import fit_binaries, plan_training


def dichotomies_of(scheme, estimator):
    return plan_training([scheme], np.array(scheme.classes), estimator).dichotomies


@pytest.mark.parametrize(
    ("scheme", "estimator", "class_sizes", "expected"),
    [
        # Pairs of large classes are trained alone.
        (designs.one_vs_one(range(3)), LogisticRegression(), [5000] * 3, [[0], [1], [2]]),
        # Small ones together, until they have 8192 samples.
        (designs.one_vs_one(range(4)), LogisticRegression(), [2000] * 4, [[0, 1], [2, 3], [4, 5]]),
        (designs.one_vs_one(range(4)), SVC(), [500] * 4, [[0, 1, 2, 3, 4, 5]]),
        # Problems with all rows are grouped, four at a time or more if they are small.
        (designs.one_vs_rest(range(6)), SVC(), [20] * 6, [[0, 1, 2, 3, 4, 5]]),
        (
            designs.one_vs_rest(range(6)),
            SVC(),
            [1500] * 6,
            [[0, 1, 2, 3], [4, 5]],
        ),
        (designs.one_vs_rest(range(3)), SVC(), [10**5] * 3, [[0], [1], [2]]),
    ],
)
def test_groups_have_enough_to_do_and_not_too_much(scheme, estimator, class_sizes, expected):
    dichotomies = dichotomies_of(scheme, estimator)
    assert divide_into_groups(dichotomies, class_sizes) == expected


def test_the_sides_of_a_partition_stay_together():
    dichotomies = dichotomies_of(designs.direct(range(4)), LogisticRegression())
    assert divide_into_groups(dichotomies, [10**6] * 4) == [[0, 1, 2, 3]]


def test_a_pair_needs_only_the_rows_of_its_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    X = rng.normal(size=(60, 2)) + y[:, np.newaxis]
    dichotomies = dichotomies_of(designs.one_vs_one(range(3)), SVC(gamma=1.0))
    options = TrainingOptions(random_state=0, calibration=None)
    expected = fit_binaries(dichotomies, X, options.of_labels(y), seeds=[1, 2, 3]).binaries
    blocks = [
        RowBlock(X[rows], rows.astype(np.int64), np.full(len(rows), k))
        for k, rows in enumerate(group_rows(y, 3))
    ]
    found = []
    for dichotomy, seed in zip(dichotomies, [1, 2, 3], strict=True):
        own = [blocks[k] for k in classes_of([dichotomy])]
        (trained,), _ = train_group([dichotomy], [seed], TaskOptions(3, options), own)
        assert trained.scores is None
        found.append(trained.binary)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.decisions(X), other.decisions(X), rtol=0, atol=1e-12)


def test_vectors_of_several_tasks_are_there_once(cluster_client):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 10)
    X = rng.normal(size=(30, 2))
    dichotomies = dichotomies_of(designs.one_vs_one(range(3)), SVC(gamma=1.0, C=1e-3))
    options = TaskOptions(3, TrainingOptions(calibration=None))
    blocks = [RowBlock(X[y == k], np.flatnonzero(y == k), y[y == k]) for k in range(3)]
    futures = dict(enumerate(cluster_client.map(pass_on, blocks)))
    trained = train_groups(
        *(cluster_client, dichotomies, [[0], [1], [2]], [0, 0, 0], options, futures, None),
        TrainingListener(),
    )
    machines = [each.binary.estimator for each in trained]
    # With so small a C every sample is a support vector.
    assert {id(machine.pool) for machine in machines} == {id(machines[0].pool)}
    assert machines[0].pool.vectors.shape == (30, 2)


def test_classes_without_weight_give_a_constant_binary():
    (dichotomy,) = dichotomies_of(designs.one_vs_one(range(2)), LogisticRegression())
    block = RowBlock(np.ones((2, 1)), np.arange(2), np.array([0, 1]), np.zeros(2))
    (trained,), _ = train_group([dichotomy], [0], TaskOptions(2, TrainingOptions()), [block])
    assert trained.binary.decisions(np.ones((3, 1))).tolist() == [0.0, 0.0, 0.0]
