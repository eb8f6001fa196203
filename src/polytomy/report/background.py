"""The last sections: schemes, problems, protocol, versions and seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polytomy.report.markup import Child, Markup, tag
from polytomy.report.parts import definition_list, details, section
from polytomy.trials import Results

__all__ = ["problems_section", "protocol_section", "schemes_section"]

# Longer control texts are truncated.
_MOST_CHARACTERS = 60_000


def schemes_section(results: Results) -> Markup | None:
    """Return the control text of every scheme on every dataset."""
    texts: dict[str, dict[str, dict[str, list[int]]]] = {}
    for record in sorted(results.records, key=lambda each: int(each["repeat"])):
        for configuration, text in record.get("schemes", {}).items():
            if text:
                of_dataset = texts.setdefault(configuration, {}).setdefault(record["dataset"], {})
                of_dataset.setdefault(text, []).append(record["repeat"])
    if not texts:
        return None
    note = (
        "The control text of every scheme used in the trials. A scheme that is random or built "
        "from the training samples may differ from trial to trial."
    )
    folded = [
        details(
            tag("b", configuration),
            [
                details(_trials_label(name, repeats, len(found)), _control_text(text))
                for name in results.datasets
                if name in by_dataset
                for found in [by_dataset[name]]
                for text, repeats in found.items()
            ],
        )
        for configuration, by_dataset in texts.items()
    ]
    return section("schemes", "Schemes", tag("p", note), folded)


def _trials_label(dataset: str, repeats: Sequence[int], n_texts: int) -> str:
    if n_texts == 1:
        return dataset
    numbers = ", ".join(str(repeat + 1) for repeat in repeats)
    return f"{dataset}, trial{'s' if len(repeats) > 1 else ''} {numbers}"


def _control_text(text: str) -> list[Markup]:
    shown = [tag("pre", text[:_MOST_CHARACTERS], tabindex="0")]
    if len(text) > _MOST_CHARACTERS:
        note = (
            f"Only the first {_MOST_CHARACTERS:,} of {len(text):,} characters are shown. The files "
            "of the trials have the full text."
        )
        shown.append(tag("p", note, class_="note"))
    return shown


def problems_section(results: Results) -> Markup | None:
    """Return the pairs that could not be run, and warnings; None if there are neither."""
    warned: dict[str, dict[str, None]] = {}
    for record in results.records:
        for text in record.get("warnings", ()):
            warned.setdefault(text, {})[record["dataset"]] = None
    problems = results.problems()
    if not problems and not warned:
        return None
    return section(
        "problems",
        "Problems and warnings",
        [tag("h3", "Pairs that could not be run"), _problem_list(problems)] if problems else None,
        [tag("h3", "Warnings"), _problem_list(warned)] if warned else None,
    )


def _problem_list(problems: Mapping[str, Iterable[str]]) -> Markup:
    return tag(
        "ul",
        [
            tag("li", tag("p", problem), tag("p", "; ".join(places), class_="note"))
            for problem, places in problems.items()
        ],
        class_="problems",
    )


def protocol_section(results: Results) -> Markup:
    """Return the settings, machine, versions, seeds and data of the trials."""
    manifest = results.manifest or {}
    protocol = manifest.get("protocol", {})
    items: list[tuple[Child, Child]] = []
    if protocol:
        test, calibration = protocol.get("test", 0), protocol.get("calibration")
        items += [
            ("held out for testing", f"{test:.0%} of each class"),
            ("features", "standardised on the training samples"),
            ("calibration", f"{calibration}, {protocol.get('folds')} folds"),
            ("seed", protocol.get("seed")),
        ]
    items += [
        (name, manifest[key])
        for name, key in (("Python", "python"), ("system", "system"), ("processors", "processors"))
        if key in manifest
    ]
    items += list(_jobs_and_threads(results).items())
    return section(
        "protocol",
        "Protocol",
        definition_list(items),
        _custom_pairs(protocol.get("pairs", ())),
        tag("h3", "Versions") if _versions_by_package(results) else None,
        definition_list(_versions_by_package(results).items()),
        details("Seeds of the trials", _seeds(results)) if _has_seeds(results) else None,
        details("Checksums of the data", _fingerprints(results)) if results.facts else None,
    )


def _custom_pairs(pairs: Sequence[Mapping[str, Any]]) -> Markup | None:
    """Return the schemes and solvers of pairs that are not named after them."""
    own = [
        (f"{each['configuration']}, {each['method']}",
         [tag("code", each["scheme"]), " solved by ", tag("code", each["solver"]),
          _final_calibration(each)])
        for each in pairs
        if (each["scheme"], each["solver"]) != (each["configuration"], each["method"])
    ]  # fmt: skip
    return (
        details("Schemes and solvers by name", definition_list(own, "facts long")) if own else None
    )


def _final_calibration(pair: Mapping[str, Any]) -> Child:
    name = pair.get("final_calibration")
    return [", final calibration ", tag("code", name)] if name else None


def _versions_by_package(results: Results) -> dict[str, str]:
    """Return the versions of each package; they may change when a run is continued."""
    found: dict[str, dict[str, None]] = {}
    about = [results.manifest or {}, *results.records]
    for each in about:
        for package, version in each.get("versions", {}).items():
            found.setdefault(package, {})[version] = None
    return {package: ", ".join(versions) for package, versions in found.items()}


def _jobs_and_threads(results: Results) -> dict[str, str]:
    """Return the numbers of jobs and threads, which may differ from trial to trial."""
    jobs: dict[str, None] = {}
    threads: dict[str, None] = {}
    for record in results.records:
        jobs[str(record.get("n_jobs") or 1)] = None
        for name, value in record.get("threads", {}).items():
            threads[f"{name}={value}"] = None
    found = {"jobs": ", ".join(jobs)} if jobs else {}
    return found | ({"threads": ", ".join(threads)} if threads else {})


def _has_seeds(results: Results) -> bool:
    return any("seed" in record for record in results.records)


def _seeds(results: Results) -> Markup:
    in_order = sorted(results.records, key=lambda each: int(each["repeat"]))
    lines = [
        (
            dataset,
            ", ".join(
                str(record.get("seed")) for record in in_order if record["dataset"] == dataset
            ),
        )
        for dataset in results.datasets
    ]
    return definition_list(lines, "facts long")


def _fingerprints(results: Results) -> Markup:
    facts = results.facts or {}
    lines = [
        (name, tag("code", facts[name].get("fingerprint", "")))
        for name in results.datasets
        if name in facts
    ]
    return definition_list(lines, "facts long")
