"""
Newsgroups by their own hierarchy
=================================

The labels of the 20 newsgroups are paths: ``comp.sys.mac.hardware`` is below ``comp.sys``, which is
below ``comp``. One linear model at each node decides between its branches, and the probability of a
newsgroup is the product along its path. Is that better than one model for all newsgroups? And what
can you predict for a text that could be about a Mac or a PC?

The texts on this page are made up, so that it needs no download: their words depend on the names of
the newsgroups, and the results say nothing about the real texts.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfTransformer
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
# Counts of 400 words in each text, and the newsgroup of the text. For the real ones, use
# ``fetch_20newsgroups`` and ``CountVectorizer`` of scikit-learn.


random = np.random.default_rng(0)
parts = sorted({part for name in NEWSGROUPS for part in name.split(".")})
frequencies = {part: random.dirichlet(np.full(400, 0.05)) for part in parts}
common = random.dirichlet(np.ones(400))
y = random.choice(NEWSGROUPS, 1200)
own = [np.mean([frequencies[part] for part in label.split(".")], axis=0) for label in y]
counts = csr_matrix(random.multinomial(40, 0.75 * common + 0.25 * np.array(own)).astype(float))

counts_train, counts_test, y_train, y_test = train_test_split(
    counts, y, test_size=0.4, stratify=y, random_state=0
)
tfidf = TfidfTransformer(sublinear_tf=True)
X_train, X_test = tfidf.fit_transform(counts_train), tfidf.transform(counts_test)
print(f"{X_train.shape[0]} texts to train on, {X_train.shape[1]} words")

# %%
# The hierarchy
# -------------
# ``from_paths`` builds a scheme from the labels. A group with a single newsgroup has nothing to
# decide, so the newsgroup takes its place. (If the separator is ``/``, ``scheme="paths"`` does the
# same.)

hierarchy = pt.designs.from_paths(NEWSGROUPS, separator=".", name="newsgroups")
print(hierarchy)

# %%
# Direct or down the hierarchy?
# -----------------------------
# Train the same linear model once for all newsgroups and once at each node. The hierarchical F
# score counts all groups on the path of a newsgroup: confusing a Mac with a PC costs less than
# confusing it with a motorcycle. The final calibration is turned off here, because it would fit
# every model on several folds.
#
# On the real texts, the direct model is slightly better, even in the hierarchical score, because it
# sees all newsgroups at once. A hierarchy has other advantages: its parts can be trained and
# replaced one by one, each with its own estimator (``models={"comp": ...}``).


def fit_and_score(scheme):
    """Fit a classifier, print its scores, and return it."""
    model = LogisticRegression(C=30, max_iter=300)
    classifier = pt.PolytomyClassifier(model, scheme, final_calibration=None, random_state=0)
    classifier.fit(X_train, y_train)
    predicted, proba = classifier.predict(X_test), classifier.predict_proba(X_test)
    score = pt.metrics.hierarchical_score(y_test, predicted, hierarchy)
    print(
        f"{scheme.n_partitions:6} models  accuracy {np.mean(predicted == y_test):.3f}  "
        f"log-loss {pt.metrics.log_loss(y_test, proba, classifier.classes_):.3f}  "
        f"hierarchical F {score.f_score:.3f}"
    )
    return classifier


fit_and_score(pt.designs.direct(NEWSGROUPS))
classifier = fit_and_score(hierarchy)
fit_and_score(pt.designs.from_paths(NEWSGROUPS, separator=".", nodes="one-vs-one"))

# %%
# Predictions that stop when uncertain
# ------------------------------------
# ``predict_nodes`` descends only as long as the probability stays above a threshold. The higher the
# threshold, the more often the prediction is a group, and the more often it is correct. The direct
# model can do this too, if you pass the hierarchy: ``predict_nodes(X, hierarchy=hierarchy)``.

for threshold in (0.0, 0.5, 0.7, 0.9):
    nodes = classifier.predict_nodes(X_test, min_probability=threshold)
    score = pt.metrics.hierarchical_score(y_test, nodes, hierarchy)
    print(
        f"threshold {threshold:.1f}: {np.mean(np.isin(nodes, NEWSGROUPS)):4.0%} newsgroups, "
        f"precision {score.precision:.3f}, recall {score.recall:.3f}"
    )

# %%
# Where the errors occur
# ----------------------
# The number at each node is the fraction of its texts that go down the wrong branch. The number at
# each newsgroup is the fraction of its texts that are assigned to another newsgroup.

pt.plots.TreeDisplay.from_estimator(classifier, X_test, y_test, names=True)
plt.show()

# %%
# Which newsgroups are confused with each other? Newsgroups that are close in the hierarchy are
# next to each other in the matrix, and frames mark the groups.

pt.plots.ConfusionMatrixDisplay.from_estimator(classifier, X_test, y_test)
# sphinx_gallery_thumbnail_number = 2
plt.show()
