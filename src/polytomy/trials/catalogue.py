"""The datasets of Mills's experiments: sizes, classes, SVM options and sources."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CATALOGUE", "DEFAULT_ESTIMATOR", "KnownDataset"]

# LIBSVM's defaults: C = 1 and gamma = 1 / n_features.
DEFAULT_ESTIMATOR = "svc gamma=auto"


class KnownDataset(NamedTuple):
    """A dataset as used in the experiments of Mills (2019).

    Attributes
    ----------
    name : str
    n_features : int
    classes : labels, in the order used by codes over ordered classes
    counts : number of samples of each class
    checksum : checksum of the features, see `polytomy.trials.datasets.compute_checksum`
    openml : ID of the dataset at openml.org; None if it is not there
    estimator : specification of the binary classifier
    """

    name: str
    n_features: int
    classes: tuple[str, ...]
    counts: tuple[int, ...]
    checksum: str
    openml: int | None
    estimator: str = DEFAULT_ESTIMATOR

    @property
    def n_samples(self) -> int:
        """Total number of samples."""
        return sum(self.counts)


# fmt: off
_LETTER = (789, 766, 736, 805, 768, 775, 773, 734, 755, 747, 739, 761, 792,
           783, 753, 803, 783, 758, 748, 796, 813, 764, 752, 787, 786, 734)
# fmt: on

CATALOGUE: dict[str, KnownDataset] = {
    known.name: known
    for known in (
        KnownDataset(
            "letter",
            16,
            tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
            _LETTER,
            "0f7b028ff742d214",
            6,
            "svc C=50 gamma=auto",
        ),
        KnownDataset(
            "pendigits",
            16,
            tuple("0123456789"),
            (1143, 1143, 1144, 1055, 1144, 1055, 1056, 1142, 1055, 1055),
            "b557a7775f897602",
            32,
            "svc C=50 gamma=0.01",
        ),
        KnownDataset(
            "usps",
            256,
            tuple("0123456789"),
            (1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821),
            "cb0183b920dd1b1a",
            41082,
        ),
        KnownDataset(
            "segment",
            19,
            ("BRICKFACE", "SKY", "FOLIAGE", "CEMENT", "WINDOW", "PATH", "GRASS"),
            (330,) * 7,
            "9a4a9688763ef3f6",
            36,
            "svc C=100 gamma=0.1",
        ),
        KnownDataset(
            "sat",
            36,
            (
                "RED SOIL",
                "COTTON CROP",
                "GREY SOIL",
                "DAMP GREY SOIL",
                "SOIL WITH VEGETATION STUBBLE",
                "VERY DAMP GREY SOIL",
            ),
            (1533, 703, 1358, 626, 707, 1508),
            "a21aeed0789e6ef4",
            182,
            "svc C=50 gamma=0.1",
        ),
        KnownDataset(
            "urban",
            147,
            (
                "tree",
                "grass",
                "soil",
                "concrete",
                "asphalt",
                "building",
                "car",
                "pool",
                "shadow",
            ),
            (106, 112, 34, 116, 59, 122, 36, 29, 61),
            "20ea2c3a4757fd93",
            None,
        ),
        KnownDataset(
            "shuttle",
            9,
            ("Rad Flow", "Fpv Close", "Fpv Open", "High", "Bypass", "Bpv Close", "Bpv Open"),
            (45586, 50, 171, 8903, 3267, 10, 13),
            "621fe6b1ab94c4b9",
            40685,
        ),
        KnownDataset(
            "humidity",
            7,
            tuple("01234567"),
            (1235, 738, 1004, 1101, 1075, 931, 843, 1673),
            "63003372cb8983bd",
            None,
            "svc C=50 gamma=auto",
        ),
    )
}
"""The datasets of the experiments by name, in the order of the tables."""
