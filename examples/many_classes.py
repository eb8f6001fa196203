"""
Many classes
============

A catalogue has hundreds of classes and few samples of each. One-vs-rest trains one binary per class
on all the data, which takes long; a tree of the classes takes one step per level.
"""

# %%
# Generate 120 products in 12 families. Products of the same family are similar.
import time
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import polytomy as pt

rng = np.random.default_rng(0)
families = np.repeat(rng.normal(scale=2.0, size=(12, 16)), 10, axis=0)
products = families + rng.normal(scale=0.9, size=(120, 16))
products = rng.permutation(products)  # their numbers are unrelated to the families
y = np.repeat(np.arange(120), 20)
X = products[y] + rng.normal(size=(2400, 16))
is_test = np.arange(2400) % 2 == 1
X_train, y_train, X_test, y_test = X[~is_test], y[~is_test], X[is_test], y[is_test]

# %%
# ``cluster-tree`` divides the classes by the distances between their means. With wide nodes, the
# paths are short.
schemes = {
    "one-vs-rest": "one-vs-rest",
    "binary tree": "cluster-tree",
    "12 branches": partial(pt.designs.cluster_tree, branches=12, nodes="one-vs-rest"),
}
models = {}
for name, scheme in schemes.items():
    start = time.perf_counter()
    models[name] = pt.PolytomyClassifier(LogisticRegression(), scheme, random_state=0)
    models[name].fit(X_train, y_train)
    seconds = time.perf_counter() - start
    n_models = models[name].scheme_.n_partitions
    accuracy = models[name].score(X_test, y_test)
    print(f"{name:12} {n_models:4} binaries  {seconds:.1f} s  accuracy {accuracy:.2f}")

# %%
# Use ``predict_top_k`` to get the most likely classes instead of all probabilities. How often is
# the correct class among the first k?
figure, axes = plt.subplots(figsize=(5, 3.4), layout="constrained")
for name, model in models.items():
    labels, _ = model.predict_top_k(X_test, 10)
    found = np.maximum.accumulate(labels == y_test[:, np.newaxis], axis=1).mean(axis=0)
    axes.plot(range(1, 11), found, marker="o", label=name)
axes.set(xlabel="k", ylabel="right class among the first k", xticks=range(1, 11))
axes.legend()
plt.show()

# %%
# The classes of the confusion matrix are in the order of the tree, so similar products are next to
# each other. Frames mark the nodes. Nearly all errors are inside the small frames.
pt.plots.ConfusionMatrixDisplay.from_estimator(models["12 branches"], X_test, y_test)
# sphinx_gallery_thumbnail_number = 2
plt.show()
