"""
Prediction sets
===============

If a wrong prediction is worse than several possible ones, predict a set of classes that contains
the true class with a given probability. ``predict_set`` needs no additional data: it uses the
out-of-fold probabilities from training.
"""

# %%
# Add noise to the digits, so that some are ambiguous.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import polytomy as pt

X, y = load_digits(return_X_y=True)
X = X + np.random.default_rng(0).normal(scale=5, size=X.shape)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=500, random_state=0)
classifier = pt.PolytomyClassifier(SVC(), "one-vs-one", random_state=0).fit(X_train, y_train)
print(f"accuracy {classifier.score(X_test, y_test):.2f}")

# %%
# Predict sets that miss the true digit one time in twenty.
sets = classifier.predict_set(X_test, 0.95)
print(f"the true digit is in {pt.metrics.set_coverage(y_test, sets):.1%} of the sets,", end=" ")
print(f"which have {pt.metrics.mean_set_size(sets):.2f} digits on average")

# %%
# Clear digits have sets of one class; ambiguous digits have larger sets.
sizes = sets.sum(axis=1)
chosen = [np.flatnonzero(sizes == size)[k] for size in (1, 2, 3) for k in (0, 1)]
figure, all_axes = plt.subplots(1, 6, figsize=(9, 2.1), layout="constrained")
for axes, row in zip(all_axes, chosen, strict=True):
    axes.imshow(X_test[row].reshape(8, 8), cmap="gray_r")
    found = ", ".join(map(str, classifier.classes_[sets[row]]))
    axes.set_title(f"{{{found}}}\ntruth: {y_test[row]}", fontsize=10)
    axes.set_axis_off()
plt.show()

# %%
# The actual coverage stays close to the confidence level, and is never below the accuracy. A higher
# level makes the sets larger.
levels = np.linspace(0.8, 0.99, 20)
# sphinx_gallery_thumbnail_number = 2
several = classifier.predict_set(X_test, levels)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
left.plot(levels, pt.metrics.set_coverage(y_test, several), marker="o", label="found")
left.plot(levels, levels, color="gray", linestyle="--", label="promised")
left.set(xlabel="confidence level", ylabel="sets with the true digit")
left.legend()
right.plot(levels, pt.metrics.mean_set_size(several), marker="o")
right.set(xlabel="confidence level", ylabel="digits in a set")
plt.show()
