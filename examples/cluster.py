"""
On a cluster
============

If no single machine can hold the data, ``DaskPolytomyClassifier`` trains the binaries where the
rows are. The model is the same as that of one process.
"""

# %%
# A cluster of two workers. To try it out, they are threads of this process; on a real cluster,
# ``Client`` has the address of the scheduler.
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client
from sklearn.datasets import load_digits

import polytomy as pt
from polytomy.dask import DaskPolytomyClassifier

client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None)

# %%
# The digits, in parts of 200 rows. They could be read from files, each by the worker that needs it.
X, y = load_digits(return_X_y=True)
X_train = da.from_array(X[:1200], chunks=(200, 64))
y_train = da.from_array(y[:1200], chunks=200)
X_test = da.from_array(X[1200:], chunks=(200, 64))
print(X_train)

# %%
# Each task receives the rows of the classes that it separates, and no others.
scheme = "root {low {few {0 1 2} some {3 4}} high {more {5 6 7} most {8 9}}}"
classifier = DaskPolytomyClassifier("svc gamma=0.001 C=10", scheme, client=client, random_state=0)
classifier.fit(X_train, y_train)
print(f"accuracy expected on new samples: {classifier.out_of_fold_score_['accuracy']:.3f}")

# %%
# Predictions are lazy: they are computed part by part, when they are asked for.
predicted = classifier.predict(X_test)
print(predicted)
pt.plots.ConfusionMatrixDisplay.from_predictions(y[1200:], predicted.compute(), hierarchy=scheme)
plt.show()

# %%
# ``to_local`` returns the model for a machine without a cluster. It can be saved, and all plots
# take it. Here are the error rates at the nodes.
local = classifier.to_local()
pt.plots.TreeDisplay.from_estimator(local, X[1200:], y[1200:], names=True)
plt.show()

# %%
# A fit in one process gives the same probabilities.
alone = pt.PolytomyClassifier("svc gamma=0.001 C=10", scheme, random_state=0, cv=5)
alone.fit(X[:1200], y[:1200])
difference = np.abs(alone.predict_proba(X[1200:]) - local.predict_proba(X[1200:])).max()
print(f"largest difference of a probability: {difference:.0e}")
client.close()
