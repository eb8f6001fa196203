"""
Many classes
============

A catalogue has hundreds of classes, and few samples of each. One binary against the rest for every
class takes long; a tree of the classes takes a step for each level.
"""

# %%
# 120 products in 12 families: products of a family are alike.
import time
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import polytomy as pt

rng = np.random.default_rng(0)
families = np.repeat(rng.normal(scale=2.0, size=(12, 16)), 10, axis=0)
products = families + rng.normal(scale=0.9, size=(120, 16))
products = rng.permutation(products)  # their numbers say nothing about the families
y = np.repeat(np.arange(120), 20)
X = products[y] + rng.normal(size=(2400, 16))
is_test = np.arange(2400) % 2 == 1
X_train, y_train, X_test, y_test = X[~is_test], y[~is_test], X[is_test], y[is_test]

# %%
# ``cluster-tree`` divides the classes by the distances of their means. With wide nodes, paths are
# short.
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
# Ask for the likeliest classes, and not for the probabilities of all. How often is the right one
# among the first k?
figure, axes = plt.subplots(figsize=(5, 3.4), layout="constrained")
for name, model in models.items():
    labels, _ = model.predict_top_k(X_test, 10)
    found = np.maximum.accumulate(labels == y_test[:, np.newaxis], axis=1).mean(axis=0)
    axes.plot(range(1, 11), found, marker="o", label=name)
axes.set(xlabel="k", ylabel="right class among the first k", xticks=range(1, 11))
axes.legend()
plt.show()

# %%
# The matrix of confusions has the order of the tree, so that alike products are neighbours. Frames
# show the nodes. Nearly all errors stay inside of the small ones.
pt.plots.ConfusionMatrixDisplay.from_estimator(models["12 branches"], X_test, y_test)
# sphinx_gallery_thumbnail_number = 2
plt.show()
