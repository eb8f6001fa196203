"""
A distribution instead of a number
==================================

A regressor predicts one number. How far off may it be? ``PolytomyRegressor`` divides the target
into ordered bins, trains a scheme of binary classifiers on them, and returns a whole distribution
for each sample: its mean, quantiles, intervals, and the probability of a limit being exceeded. Here
it predicts the progression of diabetes after one year.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import polytomy as pt

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
machine = make_pipeline(StandardScaler(), SVC())
regressor = pt.PolytomyRegressor(machine, shared_preprocessing=True, random_state=0)
regressor.fit(X_train, y_train)
print(f"mean absolute error {np.mean(np.abs(regressor.predict(X_test) - y_test)):.1f}")

# %%
# Intervals
# ---------
# An interval at 80 % contains the true value for about 80 % of new samples. Its width depends on
# the sample: some patients are easier to predict than others.

intervals = regressor.predict_interval(X_test, 0.8)
lower, upper = intervals[:, 0], intervals[:, 1]
is_inside = (lower <= y_test) & (y_test <= upper)
print(f"{is_inside.mean():.0%} of the true values are inside")
print(f"widths from {(upper - lower).min():.0f} to {(upper - lower).max():.0f}")

# %%
# Sorted by the middle of the interval, with the true values as points:

order = np.argsort(lower + upper)
places = np.arange(len(order))
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.vlines(places, lower[order], upper[order], color="0.75", label="80 % interval")
for inside, colour in ((True, "tab:blue"), (False, "tab:red")):
    chosen = is_inside[order] == inside
    label = "true value inside" if inside else "true value outside"
    ax.plot(places[chosen], y_test[order][chosen], ".", color=colour, label=label)
ax.set(xlabel="patients", ylabel="progression", xticks=[])
ax.legend()
plt.show()

# %%
# The whole distribution
# ----------------------
# Quantiles describe it. The three patients are those with the lowest, the median and the highest
# prediction.

ranks = np.argsort(regressor.predict(X_test))
chosen = ranks[[0, len(ranks) // 2, -1]]
levels = np.linspace(0.02, 0.98, 49)
quantiles = regressor.predict_quantiles(X_test[chosen], levels)
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for row, true_value in zip(quantiles, y_test[chosen], strict=True):
    (line,) = ax.plot(row, levels)
    ax.axvline(true_value, color=line.get_color(), linestyle=":")
ax.set(xlabel="progression (dotted: the true value)", ylabel="probability of a smaller value")
plt.show()
