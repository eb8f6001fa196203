"""All benchmarks of docs/performance.md: training, prediction, small data, and how they grow.

POLYTOMY_DATA=folder python -m benchmarks speed
"""

from __future__ import annotations

from benchmarks import growth, prediction, small, training


def main() -> None:
    training.main([])
    prediction.main([])
    small.main([])
    growth.main()


if __name__ == "__main__":
    main()
