"""Small datasets, and a command that runs trials on them."""

import json

import numpy as np

__all__ = ["LINE", "write_datasets"]

LINE = "trials --repeats 2 --estimator gaussian-nb --schemes one-vs-one,tree:greedy -o out"


def write_datasets(folder):
    """Write two small datasets into a new folder, and return it."""
    folder.mkdir()
    for seed, name in enumerate(("land", "sea")):
        random = np.random.default_rng(seed)
        lines = [
            f"{random.normal() + k % 3:.6f},{random.normal():.6f},{'abc'[k % 3]}" for k in range(36)
        ]
        (folder / f"{name}.csv").write_text("\n".join(["x,y,label", *lines, ""]))
    orders = {name: ["a", "b", "c"] for name in ("land", "sea")}
    (folder / "class_order.json").write_text(json.dumps(orders))
    return folder
