"""Answers of a classifier for the samples of a report, judged by labels if there are any."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from polytomy.errors import ArgumentError
from polytomy.inputs.rows import take_rows
from polytomy.inputs.training_data import check_features
from polytomy.metrics import METRICS, JudgedSamples
from polytomy.metrics.metric import Additive
from polytomy.metrics.scores import HEADLINE, SUMMARY, check_bins, reliability_sums
from polytomy.model.composition import Composition
from polytomy.model.decisions import maximise_likelihood
from polytomy.model.explanations import group_columns
from polytomy.model.sets import ConformityRows
from polytomy.plots.fitted import find_class_indices
from polytomy.report.model_parts import (
    Samples,
    ScoreLine,
    draw_rows,
    standard_error,
)

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_BINS = check_bins(5)  # of the answers of partitions, which have few samples
_MOST_ANSWERS = 2**25  # of all partitions, in memory at a time
_MOST_CHOSEN = 10
_RARE = 1e-12  # weights must not sum to zero
_WEAK_SHIFT = 0.03  # a distance between class frequencies that does not matter
_N_DRAWS, _RARE_ALARM = 1000, 0.01  # simulated frequencies, and how often noise counts as a shift


class Priors(NamedTuple):
    """How frequent the classes are.

    Attributes
    ----------
    assumed : array of shape (n_classes,), the prior that the probabilities assume
    observed : their frequencies among the samples; None without labels
    estimated : the frequencies estimated without labels; None without probabilities
    n_samples : int
    n_training : number of training rows that `assumed` was counted on; infinite if it was given
    evidence : mean log-likelihood ratio of `estimated` to `assumed`, for each sample
    """

    assumed: Floats
    observed: Floats | None
    estimated: Floats | None
    n_samples: int
    n_training: float
    evidence: float

    @property
    def is_shifted(self) -> bool:
        """Whether the frequencies differ by more than noise, and enough to matter."""
        actual = self.estimated if self.observed is None else self.observed
        if actual is None or (distance := _distance(actual, self.assumed)) <= _WEAK_SHIFT:
            return False
        share = self.n_samples / self.n_training
        if self.observed is None:
            # Twice the log-likelihood ratio; the frequencies of training have errors too.
            statistic = 2 * self.n_samples * self.evidence / (1 + share)
            return bool(statistic > chi2.isf(_RARE_ALARM, len(actual) - 1))
        rng = np.random.default_rng(0)
        shared = (self.assumed + share * actual) / (1 + share)
        drawn = rng.multinomial(self.n_samples, shared, _N_DRAWS) / self.n_samples
        counted = self.assumed
        if np.isfinite(self.n_training):
            counted = rng.multinomial(int(self.n_training), shared, _N_DRAWS) / self.n_training
        return bool(np.mean(_distance(drawn, counted) >= distance) < _RARE_ALARM)


def _distance(one: Floats, other: Floats) -> Any:
    """Return the total variation distance, between zero and one."""
    return 0.5 * np.abs(one - other).sum(axis=-1)


class PartitionFacts(NamedTuple):
    """How a partition did on the samples of its classes; without labels, what is expected.

    Attributes
    ----------
    name : str
    sides : labels on each side
    columns : its columns in the bank
    n_samples : int
    error : share of the samples on the wrong side; without labels, what the answers expect
    wrong : samples on the wrong side, the most certain first
    chances : the probability that the partition gave to that side
    reliability : array of shape (n_bins, 3), as for `draw_reliability`; None without labels
    """

    name: str
    sides: tuple[tuple[Any, ...], ...]
    columns: list[int]
    n_samples: int = 0
    error: float = 0.0
    wrong: Indices = np.empty(0, dtype=np.intp)
    chances: Floats = np.empty(0)
    reliability: Floats | None = None


@dataclass(frozen=True, eq=False)
class JudgedModel:
    """A fitted classifier, its answers for samples, and the true classes if they are known.

    Attributes
    ----------
    samples : Samples
    composition : Composition of the classifier
    scores : array of shape (n_samples, n_classes), probabilities if the solver gives them
    unshifted : the same under the prior of training
    truth : array of shape (n_samples,), the class index of each label; None without labels
    predicted : array of shape (n_samples,)
        The class index of each prediction; the number of classes if there is no prediction.
    """

    samples: Samples
    composition: Composition
    scores: Floats
    unshifted: Floats
    truth: Indices | None
    predicted: Indices

    @classmethod
    def judge(cls, samples: Samples, y: Any) -> JudgedModel:
        """Return the answers of a classifier; `y` has the labels of all samples that were given."""
        classifier = samples.model
        # Kept, as by predict_set, because it takes a while.
        composition = classifier.composition_ = classifier.composition_.with_conformity()
        labels = composition.classes.tolist()
        if len(labels) < 2:
            raise ArgumentError("A classifier of a single class has nothing to report.")
        truth = None
        if y is not None:
            truth = find_class_indices(y, composition.classes, samples.n_given)[samples.rows]
        X, prior = check_features(classifier, samples.X), composition.prior
        unshifted = composition.with_prior(None).scores(X, classifier.n_jobs)
        scores = unshifted if prior is None else prior.apply(unshifted)
        index = {label: k for k, label in enumerate(labels)}
        answers = composition.labels(scores).tolist()
        predicted = np.array([index.get(label, len(labels)) for label in answers])
        return cls(samples, composition, scores, unshifted, truth, predicted)

    @property
    def n_samples(self) -> int:
        """Number of samples that are judged."""
        return len(self.scores)

    @property
    def classes(self) -> list[str]:
        """The labels as text and, last, what stands for no prediction."""
        return [*map(str, self.composition.classes.tolist()), "no prediction"]

    @cached_property
    def margins(self) -> Floats:
        """The best score of each sample minus the second best."""
        best = np.partition(self.scores, -2, axis=1)[:, -2:]
        return np.asarray(best[:, 1] - best[:, 0])

    @cached_property
    def predicted_scores(self) -> Floats:
        """The score of the predicted class of each sample; NaN where there is no prediction."""
        padded = np.column_stack([self.scores, np.full(self.n_samples, np.nan)])
        return np.asarray(padded[np.arange(self.n_samples), self.predicted])

    @cached_property
    def chosen(self) -> dict[str, Indices]:
        """The samples to look at: the least sure, and those that are wrong but sure."""
        order = np.argsort(self.margins, kind="stable")
        lists = {"Least sure": order[:_MOST_CHOSEN]}
        if self.truth is not None:
            # Errors that costs asked for are not errors of certainty.
            winners = self.composition.winners(self.scores)
            is_wrong = (self.predicted != self.truth) & (self.predicted == winners)
            lists["Wrong, the most certain first"] = order[is_wrong[order]][::-1][:_MOST_CHOSEN]
        return lists

    def judged(self, truth: Indices) -> JudgedSamples:
        """Return the samples for metrics. The prediction is the likeliest class at any cost."""
        is_known = self.composition.gives_probabilities
        return JudgedSamples(
            truth,
            self.scores,
            np.ones(self.n_samples),
            self.composition.classes.tolist(),
            self.composition.winners(self.scores),
            frozenset({"labels", *(["confidence", "probabilities"] if is_known else [])}),
        )

    def compare_with_training(self, truth: Indices) -> dict[str, ScoreLine]:
        """Return the scores on these samples, next to those that training had promised."""
        final, judged = self.composition.final, self.judged(truth)
        held_out, lines = self._judge_training(judged), {}
        for name in sorted(SUMMARY, key=HEADLINE.__ne__):
            metric = METRICS[name]
            # Only means over samples do not depend on how many samples there are.
            if not isinstance(metric.function, Additive) or not metric.can_judge(judged):
                continue
            assert metric.losses is not None
            value, losses = metric.function(judged), metric.losses(judged)
            error = noise = standard_error(losses)
            promised = np.nan if final is None else final.score.get(name, np.nan)
            if held_out is not None:
                if self.composition.prior is not None:
                    promised = metric.function(held_out)
                # If both are alike, so are their losses, and all of them tell how these vary.
                spread = np.append(losses, metric.losses(held_out)).std(ddof=1)
                n_held_out = held_out.weight.sum() ** 2 / (held_out.weight**2).sum()
                noise = float(spread * np.sqrt(1 / len(losses) + 1 / n_held_out))
            is_score = metric.larger_is_better
            lines[name] = ScoreLine(metric.title, value, error, promised, noise, is_score)
        return lines

    def _judge_training(self, judged: JudgedSamples) -> JudgedSamples | None:
        """Return the rows that training held out, with the prior of the classifier."""
        rows, prior = self._held_out, self.composition.prior
        if rows is None:
            return None
        truth, weight = rows.class_indices, rows.weight
        proba = rows.probabilities()
        if prior is not None:
            proba = prior.apply(proba)
            totals = np.bincount(truth, weight, proba.shape[1])
            weight = weight * prior.prior[truth] / totals[truth]
        predicted = proba.argmax(axis=1)
        return judged._replace(truth=truth, proba=proba, predicted=predicted, weight=weight)

    @property
    def _held_out(self) -> ConformityRows | None:
        final = self.composition.final
        return None if final is None else final.conformity

    def judge_partitions(self) -> tuple[list[PartitionFacts], int]:
        """Return how each partition did, and on how many samples."""
        composition, model = self.composition, self.samples.model
        rows = draw_rows(self.n_samples, max(1, _MOST_ANSWERS // len(composition.binaries)))
        X = composition.preprocess(check_features(model, take_rows(self.samples.X, rows)))
        # In the order of columns, each partition reads its own quickly.
        answers = np.asfortranarray(composition.bank.decisions(X, n_jobs=model.n_jobs))
        index = {label: k for k, label in enumerate(composition.classes.tolist())}
        found = []
        for group in group_columns(composition):
            facts = PartitionFacts(group.name, group.sides, group.columns)
            side_of = np.full(len(index), -1)
            for side, labels in enumerate(group.sides):
                side_of[[index[label] for label in labels]] = side
            chances = group.side_chances(answers)
            if self.truth is None:
                # A sample counts as far as it belongs to the classes of the partition.
                weight = np.ones(len(rows))
                if composition.gives_probabilities:
                    weight = np.maximum(self.scores[rows][:, side_of >= 0].sum(axis=1), _RARE)
                error = float(np.average(1 - chances.max(axis=1), weights=weight))
                found.append(facts._replace(n_samples=round(weight.sum()), error=error))
                continue
            own = np.flatnonzero(side_of[self.truth[rows]] >= 0)
            sides = side_of[self.truth[rows[own]]]
            chances = chances[own]
            (wrong,) = (chances.argmax(axis=1) != sides).nonzero()
            wrong = wrong[np.argsort(-chances[wrong].max(axis=1), kind="stable")]
            found.append(
                facts._replace(
                    n_samples=len(own),
                    error=len(wrong) / max(1, len(own)),
                    wrong=rows[own[wrong]],
                    chances=chances[wrong].max(axis=1),
                    reliability=tabulate_sides(sides, chances),
                )
            )
        return found, len(rows)

    def compare_priors(self) -> Priors | None:
        """Return how frequent the classes are; None if the frequencies of training are unknown."""
        assumed: Floats | None = getattr(self.samples.model, "prior_", None)
        if assumed is None:
            return None
        observed = estimated = None
        if self.truth is not None:
            observed = np.bincount(self.truth, minlength=len(assumed)) / self.n_samples
        evidence = 0.0
        if self.composition.gives_probabilities:
            estimated = maximise_likelihood(self.scores, assumed)
            ratio = np.divide(estimated, assumed, out=np.zeros_like(assumed), where=assumed > 0)
            evidence = float(np.log(np.maximum(self.scores @ ratio, _RARE)).mean())
        rows = None if self.composition.prior is not None else self._held_out
        n_training = np.inf if rows is None else len(rows.weight)
        return Priors(assumed, observed, estimated, self.n_samples, n_training, evidence)


def tabulate_sides(truth: Indices, chances: Floats) -> Floats:
    """Return the reliability of probabilities of two or more sides, of shape (n_bins, 3).

    Of two sides, it is that of the second; of more, all are pooled.
    """
    weight = np.ones(len(truth))
    judged = JudgedSamples(truth, chances, weight, range(chances.shape[1]), truth)
    sums = reliability_sums(judged, _BINS)
    return np.asarray((sums[1] if len(sums) == 2 else sums.sum(axis=0)).T)
