"""
ONNX in production
==================

A trained classifier is exported as one ONNX graph that includes the binaries, the calibration and
the solver. It runs wherever ONNX Runtime does, without Python's scientific stack.
"""

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import polytomy as pt

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=800, random_state=0)
classifier = pt.PolytomyClassifier(SVC(), "one-vs-rest", random_state=0).fit(X_train, y_train)

# %%
# Export the classifier, and load the graph as a service would.
model = pt.to_onnx(classifier)
session = onnxruntime.InferenceSession(model.SerializeToString())
print(f"{len(model.SerializeToString()) / 1e3:.0f} kB")

# %%
# The labels and probabilities are those of the classifier.
name = session.get_inputs()[0].name
labels, probabilities = session.run(None, {name: X_test.astype(np.float32)})
difference = np.abs(probabilities - classifier.predict_proba(X_test)).max()
print(f"same labels: {np.mean(labels == classifier.predict(X_test)):.0%}, ", end="")
print(f"largest difference of a probability: {difference:.0e}")

# %%
# How long does a request take?
sizes, seconds = [1, 10, 100, 900], {"polytomy": [], "ONNX Runtime": []}
for size in sizes:
    batch = X_test[:size].astype(np.float32)
    for who, answer in (
        ("polytomy", lambda batch=batch: classifier.predict_proba(batch)),
        ("ONNX Runtime", lambda batch=batch: session.run(None, {name: batch})),
    ):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            answer()
            times.append(time.perf_counter() - start)
        seconds[who].append(min(times))
figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
for who, times in seconds.items():
    axes.loglog(sizes, np.array(times) * 1e3, marker="o", label=who)
axes.set(xlabel="samples in a request", ylabel="milliseconds")
axes.legend()
plt.show()
