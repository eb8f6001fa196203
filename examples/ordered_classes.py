"""
Ordered classes
===============

Grades, stages and bins of a quantity have an order. ``scheme="ordered"`` trains one binary for each
cut between neighbouring classes, and learns how to combine their answers.
"""

# %%
# The target is the progression of diabetes, in five equal groups from least to most.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import polytomy as pt

X, progression = load_diabetes(return_X_y=True)
y = np.digitize(progression, np.quantile(progression, [0.2, 0.4, 0.6, 0.8]))
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

# %%
# The scheme has one partition per cut: the classes below it against the classes above it.
ordered = pt.PolytomyClassifier(SVC(), "ordered", random_state=0).fit(X_train, y_train)
print(ordered.scheme_)

# %%
# Compare scores that take the order into account: the ranked probability score, and the mean
# distance between the true and the predicted class. Lower is better.
models = {"ordered": ordered}
for scheme in "one-vs-one", "one-vs-rest":
    models[scheme] = pt.PolytomyClassifier(SVC(), scheme, random_state=0).fit(X_train, y_train)
for name, model in models.items():
    probabilities = model.predict_proba(X_test)
    ranked = pt.metrics.ranked_probability_score(y_test, probabilities)
    distance = pt.metrics.mean_absolute_rank_error(y_test, model.predict(X_test))
    print(f"{name:12} ranked probability score {ranked:.3f}   mean distance {distance:.2f}")

# %%
# Plot the probabilities of three patients.
chosen = np.argsort(ordered.predict_proba(X_test) @ np.arange(5))[[5, 55, 105]]
figure, all_axes = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True, layout="constrained")
for axes, row in zip(all_axes, chosen, strict=True):
    axes.bar(range(5), ordered.predict_proba(X_test[[row]])[0], color="C0")
    axes.axvline(y_test[row], color="C3", linestyle="--", label="true group")
    axes.set(xlabel="group", xticks=range(5))
all_axes[0].set_ylabel("probability")
all_axes[0].legend()
plt.show()
