"""
Probabilities you can trust
===========================

Of all samples with a probability of 0.8, four in five should belong to the class. A final
calibration, on the folds that training uses anyway, brings every scheme close to that.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.svm import SVC

import polytomy as pt

X, y = make_classification(
    n_samples=4000, n_features=12, n_informative=8, n_classes=6, n_clusters_per_class=2,
    class_sep=1.2, random_state=0,
)  # fmt: skip
X_train, X_test, y_train, y_test = X[:1000], X[1000:], y[:1000], y[1000:]

# %%
# Compare two schemes before and after the final calibration. Points below the diagonal are
# overconfident, and points above it are underconfident. Vertical lines are confidence intervals.
figure, all_axes = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
for axes, scheme in zip(all_axes, ["one-vs-rest", "orthogonal"], strict=True):
    for final, label in (None, "before"), ("bias", "after"):
        model = pt.PolytomyClassifier(SVC(), scheme, final_calibration=final, random_state=0)
        probabilities = model.fit(X_train, y_train).predict_proba(X_test)
        loss = pt.metrics.log_loss(y_test, probabilities)
        print(f"{scheme:12} {label:7} log-loss {loss:.3f}")
        pt.plots.ReliabilityDisplay.from_predictions(y_test, probabilities, name=label, ax=axes)
    axes.set_title(scheme)
plt.show()

# %%
# Every fit estimates the scores on new samples, without extra cross-validation.
model = pt.PolytomyClassifier(SVC(), "one-vs-rest", random_state=0).fit(X_train, y_train)
expected = model.out_of_fold_score_
print(f"log-loss expected {expected['log_loss']:.3f}, ", end="")
print(f"found {pt.metrics.log_loss(y_test, model.predict_proba(X_test)):.3f}")

# %%
# Each binary has its own probabilities. This plot shows all binaries, least reliable first.
pt.plots.BinaryReliabilityDisplay.from_estimator(model, X_test, y_test)
plt.show()
