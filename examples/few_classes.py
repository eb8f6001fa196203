"""
A model that takes ten classes
==============================

Many models of tables, such as TabPFN, take at most ten classes. ``scheme="limited"`` divides more
classes among several of them.
"""

# %%
# A stand-in for such a model: it keeps its training data, and refuses more than ten classes.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier

import polytomy as pt


class TenClasses(ClassifierMixin, BaseEstimator):
    """A classifier of at most ten classes."""

    max_classes = 10

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        """Keep the classes, and train on them."""
        self.classes_ = np.unique(y)
        if len(self.classes_) > self.max_classes:
            raise ValueError(f"{len(self.classes_)} classes are more than {self.max_classes}.")
        self.model_ = ExtraTreesClassifier(10, random_state=self.random_state).fit(X, y)
        return self

    def predict_proba(self, X):
        """Return the probabilities of the classes."""
        return self.model_.predict_proba(X)


# %%
# The sum of two handwritten digits has 19 values.
images, digits = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
first, second = rng.integers(len(digits), size=(2, 2000))
X = np.hstack([images[first], images[second]])
y = digits[first] + digits[second]
X_train, y_train, X_test, y_test = X[:1200], y[:1200], X[1200:], y[1200:]

# %%
# Alone, the model refuses. The message says what to do.
try:
    pt.PolytomyClassifier(TenClasses(), scheme="direct").fit(X_train, y_train)
except ValueError as error:
    print(error)

# %%
# The model states its limit, so ``max_sides=10`` need not be given. How many models will be fitted?
classifier = pt.PolytomyClassifier(TenClasses(), scheme="limited", random_state=0)
print(pt.plan(classifier, X_train, y_train))

# %%
# Several designs are compared by their out-of-fold log-loss, and the best one is kept.
classifier.fit(X_train, y_train)
print(classifier.composition_)
print(f"accuracy {classifier.score(X_test, y_test):.2f}")

# %%
# Sums that differ by little are confused most.
figure, axes = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
probabilities = classifier.predict_proba(X_test)
means = np.array([probabilities[y_test == label].mean(axis=0) for label in classifier.classes_])
axes.imshow(np.sqrt(means), cmap="Blues")
axes.set(xlabel="predicted sum", ylabel="sum", title="Mean probabilities")
plt.show()
