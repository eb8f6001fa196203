import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from polytomy.calibration.final import BiasMap, OutOfFoldAnswers, fit_final
from polytomy.calibration.pooling import PoolMap, fit_pool, weigh_members
from polytomy.errors import ModelFileError
from polytomy.states import State


@st.composite
def pools(draw, least_members=1):
    """Answers of members that know the classes of the same samples more or less well."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_classes, n_samples = draw(st.integers(2, 4)), draw(st.integers(40, 120))
    classes = np.arange(n_samples) % n_classes
    weight = rng.uniform(0.5, 2.0, n_samples) if draw(st.booleans()) else np.ones(n_samples)
    same = classes, weight, np.arange(n_samples) % 5
    members = []
    for _ in range(draw(st.integers(least_members, 5))):
        logits = rng.normal(size=(n_samples, n_classes)) * rng.uniform(0, 3)
        logits[np.arange(n_samples), classes] += rng.uniform(-1, 3)
        members.append(OutOfFoldAnswers(softmax(logits, axis=1), np.empty((n_samples, 0)), *same))
    return members


def logarithms(members):
    return np.log([each.probabilities for each in members])


def loss(x, members):
    """The negative log-likelihood of weights, with the prior of one sample."""
    answers, n_members = members[0], len(members)
    logits = np.tensordot(x, logarithms(members), 1)
    own = log_softmax(logits, axis=1)[np.arange(len(logits)), answers.class_indices]
    return ((x - 1 / n_members) ** 2).sum() / 2 - answers.weight @ own


def pairs(members):
    return [(each.probabilities, each.decisions) for each in members]


@settings(max_examples=15)
@given(pools())
def test_weights_reach_the_minimum_and_are_not_negative(members):
    weights = weigh_members(logarithms(members), members[0])
    at = np.full(len(members), 1 / len(members))
    best = minimize(
        loss,
        at,
        (members,),
        "SLSQP",
        bounds=[(0, None)] * len(members),
        options={"ftol": 1e-13, "maxiter": 500},
    )
    assert (weights >= 0).all()
    assert loss(weights, members) <= best.fun + 1e-7
    np.testing.assert_allclose(weights, best.x, atol=1e-3)


@settings(max_examples=10)
@given(pools())
def test_rows_sum_to_one(members):
    fit = fit_pool("bias", members)
    assert fit.probabilities.shape == members[0].probabilities.shape
    for proba in (fit.probabilities, fit.map.apply(pairs(members))):
        assert (proba >= 0).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)


@settings(max_examples=10)
@given(pools(), st.integers(1, 4))
def test_equal_members_give_their_probabilities_up_to_one_scale(members, n_members):
    fit = fit_pool("bias", members[:1] * n_members)
    np.testing.assert_allclose(fit.map.weights, fit.map.weights[0], rtol=1e-6, atol=1e-9)
    own = fit_final("bias", members[0]).map.apply(*pairs(members)[0])
    logits = fit.map.weights.sum() * np.log(own + fit.map.floor)
    np.testing.assert_allclose(
        fit.map.apply(pairs(members[:1] * n_members)), softmax(logits, axis=1), atol=1e-12
    )


@settings(max_examples=10)
@given(pools(least_members=2))
def test_the_order_of_the_members_does_not_matter(members):
    fit, reverse = fit_pool("bias", members), fit_pool("bias", members[::-1])
    np.testing.assert_allclose(fit.map.weights, reverse.map.weights[::-1], atol=1e-4)
    np.testing.assert_allclose(
        fit.map.apply(pairs(members)), reverse.map.apply(pairs(members[::-1])), atol=1e-5
    )


def test_a_member_that_knows_nothing_gets_no_weight():
    rng = np.random.default_rng(0)
    classes = np.arange(600) % 3
    same = np.empty((600, 0)), classes, np.ones(600), np.arange(600) % 5
    logits = rng.normal(size=(600, 3)) + 2 * np.eye(3)[classes]
    good = OutOfFoldAnswers(softmax(logits, axis=1), *same)
    useless = OutOfFoldAnswers(softmax(rng.normal(size=(600, 3)), axis=1), *same)
    weights = weigh_members(logarithms([useless, good]), good)
    assert weights[0] < 0.1
    # Of two normal distributions, 2 apart, the log-odds are twice the difference.
    assert weights[1] == pytest.approx(2.0, abs=0.2)


def test_with_few_samples_all_members_have_the_same_weight():
    rng = np.random.default_rng(0)
    classes = np.arange(27) % 3
    same = np.empty((27, 0)), classes, np.ones(27), np.arange(27) % 3
    members = [OutOfFoldAnswers(rng.dirichlet(np.ones(3), 27), *same) for _ in range(4)]
    assert fit_pool("auto", members).map.weights.tolist() == [0.25] * 4


MEMBER = BiasMap(1.0, 0.1, np.zeros(3))
POOL = PoolMap([MEMBER, MEMBER], np.array([0.5, 0.5]))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("members", [MEMBER, 3], "it.members is not a kind of final calibration"),
        ("members", [MEMBER], "it.members is not two or more final calibrations"),
        ("members", [MEMBER, POOL], "it.members is not two or more final calibrations"),
        ("weights", np.array([0.5]), "it.weights is not an array of floats of shape \\(2,\\)"),
        ("weights", np.array([0.5, -0.1]), "it.weights is not an array of numbers from 0"),
        ("weights", np.array([0.5, np.nan]), "it.weights is not an array of numbers from 0"),
        ("floor", 0.0, "it.floor is not a number from"),
    ],
)
def test_a_wrong_state_is_refused(name, value, message):
    state = {"members": POOL.members, "weights": POOL.weights, "floor": POOL.floor, name: value}
    with pytest.raises(ModelFileError, match=message):
        PoolMap.from_state(State(state, "it"))
