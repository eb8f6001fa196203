"""
A control file from scratch
===========================

A few lines of text say which partitions to train and how to combine them.
"""

# %%
# The wine data has wines of three growers. The first binary separates grower 0 from the others;
# the second separates the other two.
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
# Instead of a name, you can specify the model to train: here a linear decision boundary at the
# root, and a curved one below.
scheme = pt.parse('"svc kernel=linear" {0 "svc C=10" {1 2}}')
X, y = load_wine(return_X_y=True)
model = make_pipeline(StandardScaler(), pt.PolytomyClassifier(scheme=scheme, random_state=0))
print(f"accuracy {cross_val_score(model, X, y).mean():.3f}")

# %%
# A code has several partitions of the same classes. The numbers are the branches on each side of a
# partition.
code = pt.parse("a 0 / 1 2; b 1 / 0 2; c 2 / 0 1; {0 1 2}")
pt.plots.code(code)
plt.show()

# %%
# Codes and trees can be mixed: here one branch of the code at the root is a tree.
mixed = pt.parse("a 0 / 1 2; b 1 / 0 2; c 2 / 0 1; {0 1 pair {2 3}}")
print(mixed.draw())
pt.plots.tree(mixed, names=True)
plt.show()

# %%
# Errors show their position.
try:
    pt.parse("first {0 second {1 0}}")
except pt.ControlError as error:
    print(error)

# %%
# The text of a standard design is a good starting point.
print(pt.designs.one_vs_rest(["red", "green", "blue"]))
print(pt.PolytomyClassifier(make_pipeline(StandardScaler(), SVC()), code).fit(X, y).scheme_)
