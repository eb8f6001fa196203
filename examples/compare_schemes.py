"""
Comparing schemes on your own data
==================================

A protocol names what to compare; ``trials.run`` splits, trains, predicts and scores, and a table
has the means with their spread.
"""

# %%
# Any array of samples and labels is a dataset.
import tempfile

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

import polytomy as pt

X, y = load_wine(return_X_y=True)
X = scale(X)
data = {"wine": (X, y), "two features": (X[:, [0, 6]], y)}

# %%
# Three schemes of logistic regressions, five splits each, with and without a final calibration.
results = pt.trials.run(
    data,
    schemes=["one-vs-one", "one-vs-rest", "tree"],
    estimator=LogisticRegression(),
    repeats=5,
    folder=tempfile.mkdtemp(),  # a run that is stopped goes on with what is in its folder
)
print(pt.trials.table_to_markdown(results.table("log_loss")))

# %%
# Each split is the same for all pairs, so differences are compared split by split.
for comparison in results.compare("log_loss")[:4]:
    wins, losses = comparison.outcome.wins, comparison.outcome.losses
    print(f"{comparison.dataset}: {comparison.one} against {comparison.other}: {wins} to {losses}")

# %%
# The same as a picture: means and standard deviations.
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
pairs = [
    ("one-vs-one", "least-squares"),
    ("one-vs-rest", "least-squares"),
    ("tree", "least-squares"),
]
for number, name in enumerate(data):
    cells = [results.cell("accuracy", name, pair) for pair in pairs]
    places = [k + 0.15 * number for k in range(len(pairs))]
    axes.errorbar(places, [c.mean for c in cells], [c.std for c in cells], fmt="o", label=name)
axes.set(xticks=range(len(pairs)), xticklabels=[scheme for scheme, _ in pairs], ylabel="accuracy")
axes.legend()
plt.show()
