"""Prediction sets from out-of-fold probabilities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.model.sets import (
    SCORES,
    choose_sets,
    collect_conformity,
    fill_dips,
)

LEVELS = np.array([0.8, 0.9, 0.95])


def draw_samples(random, n_samples, prior, noise=1.0):
    """Return class indices and the true probabilities of classes on a line, under this prior."""
    prior = np.asarray(prior)
    classes = random.choice(len(prior), n_samples, p=prior)
    places = classes + noise * random.normal(size=n_samples)
    return classes, posterior(places, prior, noise)


def posterior(places, prior, noise=1.0):
    """Return the probabilities of classes on a line."""
    joint = prior * np.exp(-((places[:, None] - np.arange(len(prior))) ** 2) / (2 * noise**2))
    return joint / joint.sum(axis=1, keepdims=True)


def even(n_classes):
    """Return equal frequencies."""
    return np.full(n_classes, 1 / n_classes)


def order_for(score, n_classes):
    """Return the order of the classes, if the score uses one."""
    return np.arange(n_classes) if score == "interval" else None


def covered(sets, truth):
    """Return whether the true class is in each set, for each level."""
    return sets[np.arange(len(truth)), truth]


def scores_by_definition(probabilities, score):
    """Return the scores of all classes, class by class."""
    found = np.empty(probabilities.shape)
    for i, row in enumerate(probabilities):
        for k, own in enumerate(row):
            likelier = [j for j, p in enumerate(row) if p > own or (p == own and j < k)]
            if score == "lac":
                found[i, k] = 1 - own
            elif score == "interval":  # the classes are in the order of their indices
                found[i, k] = 1 - min(max(row[: k + 1]), max(row[k:]))
            else:
                found[i, k] = row[likelier].sum()
            if score == "raps":
                found[i, k] += 0.02 * len(likelier)
    return found


@st.composite
def cases(draw):
    """Return rows, classes, weights and samples, with ties among the probabilities."""
    n_classes = draw(st.integers(2, 4))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    counts = random.integers(1, 9, (draw(st.integers(2, 12)), n_classes)).astype(float)
    rows = counts / counts.sum(axis=1, keepdims=True)
    weight = draw(st.sampled_from([np.ones(len(rows)), random.integers(1, 4, len(rows)) * 1.0]))
    samples = np.concatenate([rows[:2], random.dirichlet(np.ones(n_classes), 3)])
    return rows, random.integers(0, n_classes, len(rows)), weight, samples


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("per_class", [False, True])
@given(case=cases(), shifts=st.booleans())
def test_a_p_value_is_the_share_of_rows_that_are_at_least_as_strange(
    score, per_class, case, shifts
):
    rows, classes, weight, samples = case
    n_classes = rows.shape[1]
    frequencies = np.arange(1.0, n_classes + 1) / np.arange(1.0, n_classes + 1).sum()
    ratio = np.linspace(0.5, 2.0, n_classes) if shifts else None
    found = collect_conformity(rows, classes, weight).p_values(
        samples,
        score,
        frequencies,
        ratio,
        per_class=per_class,
        order=order_for(score, n_classes),
    )

    def shifted(probabilities):
        # What is stored has half precision, so equal scores are found among rounded numbers.
        rounded = np.exp(np.log(probabilities).astype(np.float16).astype(float))
        joint = rounded * (1 if ratio is None else ratio)
        return joint / joint.sum(axis=1, keepdims=True)

    of_rows = scores_by_definition(shifted(rows), score)[np.arange(len(rows)), classes]
    of_samples = scores_by_definition(shifted(samples), score)
    for k in range(n_classes):
        own = classes == k
        if per_class and not own.any():
            assert (found[:, k] == 1).all()
            continue
        totals = np.array([weight[classes == j].sum() for j in range(n_classes)])
        mass = weight if per_class else weight * frequencies[classes] / totals[classes]
        counted = own if per_class else np.ones(len(rows), dtype=bool)
        alone = (mass[own] ** 2).sum() / mass[own].sum() if own.any() else frequencies[k]
        for i in range(len(samples)):
            as_strange = counted & (of_rows >= of_samples[i, k] - 1e-6)
            expected = (mass[as_strange].sum() + alone) / (mass[counted].sum() + alone)
            assert found[i, k] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("per_class", [False, True])
def test_sets_contain_the_true_class_as_often_as_promised(score, per_class):
    random = np.random.default_rng(5)
    n_rows, n_samples, prior = 2000, 20_000, [0.5, 0.3, 0.15, 0.05]
    classes, proba = draw_samples(random, n_rows, prior)
    truth, samples = draw_samples(random, n_samples, prior)
    p_values = collect_conformity(proba, classes, np.ones(n_rows)).p_values(
        samples, score, np.array(prior), per_class=per_class, order=order_for(score, 4)
    )
    sets = choose_sets(p_values, samples.argmax(axis=1), LEVELS, allow_empty=True)
    groups = [truth == k for k in range(4)] if per_class else [truth >= 0]
    counts = [(classes == k).sum() for k in range(4)] if per_class else [n_rows]
    for group, n_known in zip(groups, counts, strict=True):
        error = np.sqrt(LEVELS * (1 - LEVELS) * (1 / n_known + 1 / group.sum()))
        rate = covered(sets, truth)[group].mean(axis=0)
        # "aps" and "raps" have no empty sets, so they are right at least as often as the winner.
        is_winner = samples.argmax(axis=1) == truth
        floor = 0.0 if score in ("lac", "interval") else is_winner[group].mean()
        assert (np.abs(rate - np.maximum(LEVELS, floor)) < 4 * error + 1 / n_known).all()


@pytest.mark.parametrize("score", SCORES)
def test_probabilities_that_are_wrong_cost_size_and_not_coverage(score):
    random = np.random.default_rng(6)
    prior = np.array([0.4, 0.3, 0.3])
    classes, proba = draw_samples(random, 2000, prior)
    truth, samples = draw_samples(random, 20_000, prior)
    frequencies = np.array(prior)
    sizes = []
    for distort in (lambda P: P, lambda P: np.roll(P, 1, axis=1) + 0.01):
        rows = collect_conformity(distort(proba), classes, np.ones(2000))
        p_values = rows.p_values(distort(samples), score, frequencies, order=order_for(score, 3))
        sets = choose_sets(p_values, samples.argmax(axis=1), LEVELS, allow_empty=True)
        rate = covered(sets, truth).mean(axis=0)
        assert (np.abs(rate - LEVELS) < 4 * np.sqrt(LEVELS * (1 - LEVELS) / 1800)).all()
        sizes.append(sets.sum(axis=1).mean(axis=0))
    assert (sizes[1] > sizes[0] + 0.1).all()


def test_sets_are_right_for_other_frequencies_of_the_classes():
    random = np.random.default_rng(7)
    before, after = np.array([0.8, 0.15, 0.05]), np.array([0.1, 0.2, 0.7])
    classes, proba = draw_samples(random, 6000, before)
    truth, shifted = draw_samples(random, 20_000, after)
    ratio = after / before
    samples = shifted / ratio
    samples /= samples.sum(axis=1, keepdims=True)
    rows = collect_conformity(proba, classes, np.ones(6000))
    # The effective number of rows under the new frequencies.
    weight = ratio[classes]
    error = np.sqrt(LEVELS * (1 - LEVELS) * (weight**2).sum()) / weight.sum()
    for score in SCORES:
        order = order_for(score, 3)
        p_values = rows.p_values(samples, score, after, ratio, order=order)
        sets = choose_sets(p_values, shifted.argmax(axis=1), LEVELS, allow_empty=True)
        assert (np.abs(covered(sets, truth).mean(axis=0) - LEVELS) < 4 * error).all()
        as_trained = rows.p_values(samples, score, before, order=order)
        missed = choose_sets(as_trained, samples.argmax(axis=1), LEVELS, allow_empty=True)
        assert (covered(missed, truth).mean(axis=0) < LEVELS - 4 * error).all()


@given(case=cases(), score=st.sampled_from(list(SCORES)), per_class=st.booleans())
def test_sets_have_the_winner_and_those_of_higher_levels_contain_those_of_lower_ones(
    case, score, per_class
):
    rows, classes, weight, samples = case
    p_values = collect_conformity(rows, classes, weight).p_values(
        samples,
        score,
        even(rows.shape[1]),
        per_class=per_class,
        order=order_for(score, rows.shape[1]),
    )
    levels = np.linspace(0.02, 0.98, 49)
    winners = samples.argmax(axis=1)
    sets = choose_sets(p_values, winners, levels, allow_empty=False)
    assert sets[np.arange(len(sets)), winners].all()
    assert (np.diff(sets.astype(int), axis=2) >= 0).all()
    plain = choose_sets(p_values, winners, levels, allow_empty=True)
    is_other = np.arange(rows.shape[1]) != winners[:, None]
    np.testing.assert_array_equal(sets[is_other], plain[is_other])


def has_gap(members):
    """Return whether a class outside a set lies between two classes of it."""
    inside = np.flatnonzero(members)
    return len(inside) > 0 and len(inside) != inside[-1] - inside[0] + 1


@given(
    case=cases(),
    seed=st.integers(0, 2**32 - 1),
    per_class=st.booleans(),
    shifts=st.booleans(),
    allow_empty=st.booleans(),
)
def test_sets_of_ordered_classes_are_intervals_that_grow_with_the_level(
    case, seed, per_class, shifts, allow_empty
):
    rows, classes, weight, samples = case
    n_classes = rows.shape[1]
    random = np.random.default_rng(seed)
    order = random.permutation(n_classes)
    ratio = random.uniform(0.2, 5.0, n_classes) if shifts else None
    frequencies = random.dirichlet(np.ones(n_classes))
    p_values = collect_conformity(rows, classes, weight).p_values(
        samples, "interval", frequencies, ratio, per_class=per_class, order=order
    )
    winners = random.integers(0, n_classes, len(samples))  # of any costs
    levels = np.linspace(0.02, 0.98, 25)
    sets = choose_sets(p_values, winners, levels, allow_empty=allow_empty, order=order)
    assert (np.diff(sets.astype(int), axis=2) >= 0).all()
    assert allow_empty or sets[np.arange(len(sets)), winners].all()
    plain = choose_sets(p_values, winners, levels, allow_empty=allow_empty)
    for i in range(len(samples)):
        for j in range(len(levels)):
            members = sets[i, order, j]
            assert not has_gap(members)
            # It is the smallest interval around the classes that must be in it.
            needed = np.flatnonzero(plain[i, order, j])
            assert np.flatnonzero(members).tolist() == (
                list(range(needed[0], needed[-1] + 1)) if len(needed) else []
            )


@given(case=cases(), seed=st.integers(0, 2**32 - 1))
def test_without_priors_and_costs_intervals_need_no_filling(case, seed):
    rows, classes, _, samples = case
    n_classes = rows.shape[1]
    order = np.random.default_rng(seed).permutation(n_classes)
    frequencies = np.bincount(classes, minlength=n_classes) / len(classes)
    p_values = collect_conformity(rows, classes, np.ones(len(rows))).p_values(
        samples, "interval", frequencies, order=order
    )
    has_rows = frequencies[order] > 0  # a class without rows is as likely as none
    levels = np.linspace(0.02, 0.98, 25)
    sets = choose_sets(p_values, samples.argmax(axis=1), levels, allow_empty=True)
    for i in range(len(samples)):
        for j in range(len(levels)):
            assert not has_gap(sets[i, order, j][has_rows])


@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=8), seed=st.integers(0, 2**32 - 1))
def test_filled_dips_are_the_smallest_values_with_one_peak(values, seed):
    row = np.array(values)
    random = np.random.default_rng(seed)
    order = random.permutation(len(row))[: random.integers(1, len(row) + 1)]
    found = fill_dips(row[None], order)[0]
    ordered = row[order]
    # The value of a class is the largest t at which it lies between two that are at least t.
    expected = [
        max(min(left, right) for left in ordered[: k + 1] for right in ordered[k:])
        for k in range(len(order))
    ]
    np.testing.assert_array_equal(found[order], expected)
    others = np.setdiff1d(np.arange(len(row)), order)
    np.testing.assert_array_equal(found[others], row[others])


def test_nine_rows_promise_nine_of_ten_and_not_more():
    # Of ten exchangeable scores, the tenth is the largest one time in ten.
    rows = np.column_stack([np.linspace(0.1, 0.9, 9), np.linspace(0.9, 0.1, 9)])
    found = collect_conformity(rows, np.zeros(9, dtype=np.intp), np.ones(9))
    p_values = found.p_values(np.array([[0.05, 0.95]]), "lac", np.array([1.0, 0.0]))
    assert p_values[0, 0] == pytest.approx(0.1)
    for level, is_inside in ((0.89, False), (0.9, False), (0.91, True)):
        sets = choose_sets(p_values, np.array([1]), np.array([level]), allow_empty=True)
        assert sets[0, 0, 0] == is_inside


def test_many_rows_are_kept_in_bounded_memory_and_rare_classes_whole():
    random = np.random.default_rng(8)
    n_rows, n_classes = 60_000, 30
    classes = np.where(random.random(n_rows) < 0.001, 7, random.integers(8, n_classes, n_rows))
    proba = random.dirichlet(np.ones(n_classes), n_rows)
    weight = random.random(n_rows) + 0.5
    kept = collect_conformity(proba, classes, weight)
    assert kept.log_proba.dtype == np.float16
    assert kept.log_proba.size <= 2**19
    counts, whole = (
        np.bincount(each, minlength=n_classes) for each in (kept.class_indices, classes)
    )
    assert counts[7] == whole[7]
    assert np.ptp(counts[8:]) == 0
    assert counts.sum() > 2**19 // n_classes - n_classes
    assert set(kept.weight) <= set(weight)
    again = collect_conformity(proba, classes, weight)
    np.testing.assert_array_equal(again.log_proba, kept.log_proba)


def test_many_classes_keep_a_thousand_rows():
    random = np.random.default_rng(9)
    proba = random.dirichlet(np.ones(3000), 1500)
    kept = collect_conformity(proba, random.integers(0, 3000, 1500), np.ones(1500))
    assert 0 < len(kept.weight) <= 1500
    assert len(np.unique(kept.class_indices)) == len(kept.weight)


def test_weights_of_any_scale_give_the_same_p_values():
    random = np.random.default_rng(10)
    classes, proba = draw_samples(random, 50, even(3))
    samples = random.dirichlet(np.ones(3), 20)
    weight = random.random(50) + 0.1
    for per_class in (False, True):
        found = [
            collect_conformity(proba, classes, factor * weight).p_values(
                samples, "aps", even(3), per_class=per_class
            )
            for factor in (1.0, 1e-6)
        ]
        np.testing.assert_allclose(found[0], found[1], atol=1e-12)
