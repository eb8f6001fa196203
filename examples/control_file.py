"""
A control file from scratch
===========================

A few lines of text say which partitions are trained and how they go together.
"""

# %%
# Wines of three growers. First one question, whether it is grower 0; then the other two are told
# apart.
import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import polytomy as pt

scheme = pt.parse("first {0 second {1 2}}")
print(scheme.draw())

# %%
# A name can be a specification of the model to train: here a straight border at the root, and a
# curved one below.
scheme = pt.parse('"svc kernel=linear" {0 "svc C=10" {1 2}}')
X, y = load_wine(return_X_y=True)
model = make_pipeline(StandardScaler(), pt.PolytomyClassifier(scheme=scheme, random_state=0))
print(f"accuracy {cross_val_score(model, X, y).mean():.3f}")

# %%
# A code asks several questions about all classes at once. Numbers are the branches on each side
# of a partition.
code = pt.parse("a 0 / 1 2; b 1 / 0 2; c 2 / 0 1; {0 1 2}")
pt.plots.code(code)
plt.show()

# %%
# The two can be mixed: a code at the root whose branches are trees.
mixed = pt.parse("a 0 / 1 2; b 1 / 0 2; c 2 / 0 1; {0 1 pair {2 3}}")
print(mixed.draw())
pt.plots.tree(mixed, names=True)
plt.show()

# %%
# Errors show their place.
try:
    pt.parse("first {0 second {1 0}}")
except pt.ControlError as error:
    print(error)

# %%
# Texts of the standard designs are a good start.
print(pt.designs.one_vs_rest(["red", "green", "blue"]))
print(pt.PolytomyClassifier(make_pipeline(StandardScaler(), SVC()), code).fit(X, y).scheme_)
