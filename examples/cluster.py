"""
On a cluster
============

If the data does not fit on a single machine, ``DaskPolytomyClassifier`` trains the binaries where
the rows are. The resulting model is the same as in one process.
"""

# %%
# Start a cluster of two workers. Here they are threads of this process; for a real cluster, pass
# the address of its scheduler to ``Client``.
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client
from sklearn.datasets import load_digits

import polytomy as pt
from polytomy.dask import DaskPolytomyClassifier

client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None)

# %%
# Split the digits into parts of 200 rows. The parts could also be read from files, each by the
# worker that needs it.
X, y = load_digits(return_X_y=True)
X_train = da.from_array(X[:1200], chunks=(200, 64))
y_train = da.from_array(y[:1200], chunks=200)
X_test = da.from_array(X[1200:], chunks=(200, 64))
print(X_train)

# %%
# Each task receives only the rows of the classes that it separates.
scheme = "root {low {few {0 1 2} some {3 4}} high {more {5 6 7} most {8 9}}}"
classifier = DaskPolytomyClassifier("svc gamma=0.001 C=10", scheme, client=client, random_state=0)
classifier.fit(X_train, y_train)
print(f"accuracy expected on new samples: {classifier.out_of_fold_score_['accuracy']:.3f}")

# %%
# Predictions are lazy: they are computed part by part, when they are needed.
predicted = classifier.predict(X_test)
print(predicted)
pt.plots.ConfusionMatrixDisplay.from_predictions(y[1200:], predicted.compute(), hierarchy=scheme)
plt.show()

# %%
# ``to_local`` returns a model that does not need a cluster. You can save it and use it with all
# plots. This plot shows the error rates at the nodes.
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
