"""
Newsgroups by their own hierarchy
=================================

The labels of the 20 newsgroups are paths: ``comp.sys.mac.hardware`` is below ``comp.sys``, which is
below ``comp``. One linear model at each node decides between its branches, and the probability of a
newsgroup is the product along its path. Is that better than one model for all newsgroups? And what
can be said of a text that does not tell a Mac from a PC?

Run it with a file of word counts in svmlight format, whose labels are the numbers of the newsgroups
in alphabetical order::

    python examples/newsgroups_hierarchy.py newsgroups20.svmlight.gz

or set ``POLYTOMY_NEWSGROUPS`` to the file. With the word ``fetch`` in its place, scikit-learn
downloads the texts. Without either, as on this page, the texts are made up: their words follow the
names of the newsgroups, and the figures say nothing about the real ones.
"""

from __future__ import annotations

import os
import sys
import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import fetch_20newsgroups, load_svmlight_file
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import polytomy as pt

NEWSGROUPS = [
    "alt.atheism",
    "comp.graphics",
    "comp.os.ms-windows.misc",
    "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware",
    "comp.windows.x",
    "misc.forsale",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "rec.sport.hockey",
    "sci.crypt",
    "sci.electronics",
    "sci.med",
    "sci.space",
    "soc.religion.christian",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.politics.misc",
    "talk.religion.misc",
]

# %%
# The data
# --------
# Word counts and the name of the newsgroup of each text.


def make_up_counts(n_texts: int = 1200) -> tuple[csr_matrix, np.ndarray]:
    """Return counts of words that each part of a newsgroup's name makes more frequent."""
    random = np.random.default_rng(0)
    parts = sorted({part for name in NEWSGROUPS for part in name.split(".")})
    frequencies = {part: random.dirichlet(np.full(400, 0.05)) for part in parts}
    common = random.dirichlet(np.ones(400))
    labels = random.choice(NEWSGROUPS, n_texts)
    counts = []
    for label in labels:
        own = np.mean([frequencies[part] for part in label.split(".")], axis=0)
        counts.append(random.multinomial(40, 0.75 * common + 0.25 * own))
    return csr_matrix(np.array(counts, dtype=float)), labels


def load_counts(source: str) -> tuple[csr_matrix, np.ndarray]:
    """Return word counts and labels: made up, from scikit-learn, or from a file."""
    if source in ("", "generated"):
        return make_up_counts()
    if source == "fetch":
        texts = fetch_20newsgroups(subset="all", remove=("headers", "footers", "quotes"))
        counts = CountVectorizer(min_df=3, stop_words="english").fit_transform(texts.data)
        return counts.astype(float), np.array(texts.target_names)[texts.target]
    counts, numbers = load_svmlight_file(source)
    return counts, np.array(NEWSGROUPS)[numbers.astype(int)]


given = [*sys.argv[1:], os.environ.get("POLYTOMY_NEWSGROUPS", "")]
counts, y = load_counts(given[0])
counts_train, counts_test, y_train, y_test = train_test_split(
    counts, y, test_size=0.4, stratify=y, random_state=0
)
tfidf = TfidfTransformer(sublinear_tf=True)
X_train, X_test = tfidf.fit_transform(counts_train), tfidf.transform(counts_test)
print(f"{X_train.shape[0]} texts to train on, {X_train.shape[1]} words")

# %%
# The hierarchy
# -------------
# ``from_paths`` makes a scheme of the labels. A group with a single newsgroup decides nothing, so
# the newsgroup takes its place. (If the separator is ``/``, ``scheme="paths"`` does the same.)

hierarchy = pt.designs.from_paths(NEWSGROUPS, separator=".", name="newsgroups")
print(hierarchy)

# %%
# Direct or down the hierarchy?
# -----------------------------
# The same linear model, once for all newsgroups and once at each node. The hierarchical F score
# counts all groups on the path of a newsgroup: taking a Mac for a PC costs less than taking it for
# a motorcycle. The final calibration is off here, because it would fit every model on several
# folds.
#
# On the real texts the direct model is a little better, also by the hierarchical score: it sees all
# newsgroups at once. The hierarchy is for other reasons: its parts can be trained and replaced one
# by one, each with an estimator of its own (``models={"comp": ...}``).


def fit_and_score(scheme: pt.Scheme) -> pt.PolytomyClassifier:
    """Fit a classifier, print its scores, and return it."""
    model = LogisticRegression(C=30, max_iter=300)
    classifier = pt.PolytomyClassifier(model, scheme, final_calibration=None, random_state=0)
    started = time.perf_counter()
    classifier.fit(X_train, y_train)
    seconds = time.perf_counter() - started
    predicted, proba = classifier.predict(X_test), classifier.predict_proba(X_test)
    score = pt.metrics.hierarchical_score(y_test, predicted, hierarchy)
    print(
        f"{scheme.n_partitions:6} models  accuracy {np.mean(predicted == y_test):.3f}  "
        f"log-loss {pt.metrics.log_loss(y_test, proba, classifier.classes_):.3f}  "
        f"hierarchical F {score.f_score:.3f}  {seconds:.1f} s"
    )
    return classifier


fit_and_score(pt.designs.direct(NEWSGROUPS))
classifier = fit_and_score(hierarchy)
fit_and_score(pt.designs.from_paths(NEWSGROUPS, separator=".", nodes="one-vs-one"))

# %%
# Answers that stop where it gets unsure
# --------------------------------------
# ``predict_nodes`` goes down only as far as the probability stays above a threshold. The higher the
# threshold, the more often the answer is a group; it is right more often, too. The direct model can
# do that as well, if it is told the hierarchy: ``predict_nodes(X, hierarchy=hierarchy)``.

for threshold in (0.0, 0.5, 0.7, 0.9):
    nodes = classifier.predict_nodes(X_test, min_probability=threshold)
    score = pt.metrics.hierarchical_score(y_test, nodes, hierarchy)
    print(
        f"threshold {threshold:.1f}: {np.mean(np.isin(nodes, NEWSGROUPS)):4.0%} newsgroups, "
        f"precision {score.precision:.3f}, recall {score.recall:.3f}"
    )

# %%
# Where the mistakes are made
# ---------------------------
# At each node: the share of its texts that go down the wrong branch. At each newsgroup: the share
# of its texts that end elsewhere.

pt.plots.TreeDisplay.from_estimator(classifier, X_test, y_test, names=True)
plt.show()

# %%
# Which newsgroups are taken for which? Neighbours in the hierarchy are neighbours in the matrix,
# and frames show the groups.

pt.plots.ConfusionMatrixDisplay.from_estimator(classifier, X_test, y_test)
# sphinx_gallery_thumbnail_number = 2
plt.show()
