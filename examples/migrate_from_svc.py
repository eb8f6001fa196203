"""
Migrating from SVC with probability=True
========================================

scikit-learn has deprecated ``SVC(probability=True)``. This example replaces it with polytomy: the
SVMs are the same, and the probabilities are better and reproducible.
"""

# %%
# This is the old model. scikit-learn warns that the parameter will be removed.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import polytomy as pt

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=400, random_state=0)

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)
    before = SVC(probability=True, random_state=0).fit(X_train, y_train)

# %%
# This is the new model. One-vs-one is the default scheme.
after = pt.PolytomyClassifier(SVC(), random_state=0).fit(X_train, y_train)

# %%
# The SVMs are the same: their decision values differ only by rounding.
pairs = SVC(decision_function_shape="ovo").fit(X_train, y_train)
ours = np.column_stack([binary.scores(X_test) for binary in after.binaries_])
difference = np.abs(ours + pairs.decision_function(X_test)).max()
print(f"largest difference of a decision value: {difference:.0e}")

# %%
# The probabilities differ. A lower log-loss is better.
for name, model in ("SVC(probability=True)", before), ("PolytomyClassifier(SVC())", after):
    loss = pt.metrics.log_loss(y_test, model.predict_proba(X_test))
    print(f"{name:28} log-loss {loss:.3f}   accuracy {model.score(X_test, y_test):.3f}")

# %%
# SVC predicts by voting, so ``predict`` can contradict ``predict_proba``. polytomy never does.
for name, model in ("SVC", before), ("polytomy", after):
    winners = model.classes_[model.predict_proba(X_test).argmax(axis=1)]
    print(f"{name:10} contradictions: {np.sum(winners != model.predict(X_test))}")

# %%
# Of the samples with a probability of 0.8, are four in five predicted correctly? Points above the
# diagonal are underconfident.
figure, axes = plt.subplots(figsize=(6, 4.4), layout="constrained")
for name, model in ("SVC(probability=True)", before), ("PolytomyClassifier(SVC())", after):
    pt.plots.ReliabilityDisplay.from_estimator(model, X_test, y_test, name=name, ax=axes)
plt.show()
