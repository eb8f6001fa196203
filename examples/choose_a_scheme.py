"""
Choosing a scheme
=================

Which partitions suit the data? ``SchemeSearchCV`` compares candidates on the same folds. A
partition that several candidates need is trained only once.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import polytomy as pt

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=500, random_state=0)

candidates = ["one-vs-one", "one-vs-rest", "empirical-tree", "orthogonal", "decoc"]
search = pt.SchemeSearchCV(SVC(), candidates, scoring="log_loss", cv=3, random_state=0)
search.fit(X_train, y_train)
print("best:", search.best_candidate_.name)

# %%
# The plot shows the scores on the folds against the training time. No other candidate is both
# better and faster than those on the line.
pt.plots.ParetoDisplay.from_estimator(search)
plt.show()

# %%
# The fitted search is a classifier: the best candidate, trained on all rows.
loss = pt.metrics.log_loss(y_test, search.predict_proba(X_test))
print(f"log-loss on test samples {loss:.3f}, accuracy {search.score(X_test, y_test):.3f}")

# %%
# The empirical tree groups similar digits. Trained on all rows, it shows at which nodes the errors
# occur.
tree = pt.PolytomyClassifier(SVC(), "empirical-tree", random_state=0).fit(X_train, y_train)
pt.plots.TreeDisplay.from_estimator(tree, X_test, y_test)
# sphinx_gallery_thumbnail_number = 2
plt.show()
