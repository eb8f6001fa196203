"""
Comparing schemes on your own data
==================================

You say which schemes to compare; ``trials.run`` splits the data, trains, predicts and computes the
scores. A table shows the means with their standard deviations.
"""

# %%
# A dataset is a pair of arrays: the samples and their labels.
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
# Compare three schemes of logistic regressions on five splits each, with and without a final
# calibration.
results = pt.trials.run(
    data,
    schemes=["one-vs-one", "one-vs-rest", "tree"],
    estimator=LogisticRegression(),
    repeats=5,
    folder=tempfile.mkdtemp(),  # an interrupted run resumes from its folder
)
print(pt.trials.table_to_markdown(results.table("log_loss")))

# %%
# All pairs use the same splits, so they can be compared split by split.
for comparison in results.compare("log_loss")[:4]:
    wins, losses = comparison.outcome.wins, comparison.outcome.losses
    print(f"{comparison.dataset}: {comparison.one} against {comparison.other}: {wins} to {losses}")

# %%
# Plot the means and standard deviations without a final calibration. Pairs are named by their
# scheme and their solver, which is that of the classifier: "auto".
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
pairs = [("one-vs-one", "auto"), ("one-vs-rest", "auto"), ("tree", "auto")]
for number, name in enumerate(data):
    cells = [results.cell("accuracy", name, pair) for pair in pairs]
    places = [k + 0.15 * number for k in range(len(pairs))]
    axes.errorbar(places, [c.mean for c in cells], [c.std for c in cells], fmt="o", label=name)
axes.set(xticks=range(len(pairs)), xticklabels=[scheme for scheme, _ in pairs], ylabel="accuracy")
axes.legend()
plt.show()
