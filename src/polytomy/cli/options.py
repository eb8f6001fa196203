"""Options of the commands, in groups that travel together.

A group is a frozen dataclass whose fields are options. A field has the name of the library's
parameter that it sets, so a message about a parameter can name the option (see `app.show_option`).
`expand_options` turns a function of groups into a command for Typer.

Names that an option accepts are read from their registry, and defaults from the constructor, only
when they are needed: nothing heavy is imported, and what users register is accepted too.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from functools import cache, wraps
from pathlib import Path
from pkgutil import resolve_name
from types import NoneType
from typing import Annotated, Any, Self, TypeVar, dataclass_transform, get_args, get_type_hints

import typer

from polytomy.errors import ArgumentError
from polytomy.inputs.arguments import did_you_mean

DATA = "Data"
DECISIONS = "Decisions"
RUNNING = "Running"
# Keys of the metadata of fields.
_OPTION, _TYPED = "option", "typed"
_METAVARS = {bool: None, float: "NUMBER", int: "N", Path: "FILE"}

T = TypeVar("T")


# -- names and defaults that are read when they are needed -----------------------------------------


@dataclass(frozen=True)
class Names:
    """Names that an option accepts.

    Parameters
    ----------
    registries : places of dicts or lists of names, such as "polytomy.solvers:METHODS"
    before, after : other names that the option accepts
    where : property of the members of a registry that are accepted; default: all

    Examples
    --------
    >>> list(Names(["polytomy.designs:LABEL_DESIGNS"], before=["auto"]))
    ['auto', 'paths']
    """

    registries: Sequence[str] = ()
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    where: str = ""

    def __iter__(self) -> Iterator[str]:
        return iter(self.summaries())

    def summaries(self) -> dict[str, str]:
        """Return the names with their one-line descriptions, which may be empty."""
        known = dict.fromkeys(self.before, "")
        for registry in map(resolve_name, self.registries):
            members = registry if isinstance(registry, Mapping) else dict.fromkeys(registry)
            known |= {
                name: getattr(each, "summary", "")
                for name, each in members.items()
                if not self.where or getattr(each, self.where)
            }
        return known | dict.fromkeys(self.after, "")


_DESIGNS = ["polytomy.designs:DESIGNS", "polytomy.designs:LABEL_DESIGNS"]
_DATA_DESIGNS = ["polytomy.designs:DATA_DESIGNS"]

#: What the help of an option can list, as "{solvers}".
NAMES = {
    "calibrations": Names(["polytomy.calibration:CALIBRATORS"], before=["auto"], after=["none"]),
    "class_weights": Names(["polytomy.inputs.arguments:CLASS_WEIGHTS"]),
    "data_designs": Names(_DATA_DESIGNS),
    "datasets": Names(["polytomy.trials:BUNDLED", "polytomy.trials:CATALOGUE"]),
    "designs": Names(_DESIGNS),
    "distances": Names(["polytomy.distances:DISTANCES"]),
    "final_calibrations": Names(
        ["polytomy.calibration:FINAL_CALIBRATIONS"], before=["auto"], after=["none"]
    ),
    "formats": Names(["polytomy.datasets:FORMATS"]),
    "missing": Names(before=["refuse", "nan"]),
    "methods": Names(["polytomy.solvers:METHODS"]),
    "precisions": Names(["polytomy.inputs.arguments:PRECISIONS"]),
    "scales": Names(before=["standard", "minmax", "none"]),
    "schemes": Names([*_DESIGNS, *_DATA_DESIGNS]),
    "scores": Names(["polytomy.metrics:METRICS"], where="needs_only_predictions"),
    "set_scores": Names(["polytomy.model.sets:SCORES"], before=["auto"]),
    "solvers": Names(["polytomy.solvers:METHODS"], before=["auto"]),
    "validations": Names(["polytomy.inputs.arguments:VALIDATIONS"], after=["none"]),
    "zero_based": Names(before=["auto", "yes", "no"]),
}


def default_of(place: str, parameter: str) -> Any:
    """Return the default of a parameter of a function, of a constructor or of a dataclass.

    It is read from the source: to import scikit-learn takes longer than all else that a help does.

    Examples
    --------
    >>> default_of("classifier:PolytomyClassifier", "solver")
    'auto'
    """
    module, _, path = place.partition(":")
    node = _parse_module(module)
    for name in path.split("."):
        node = _find_definition(node, name)
    node = _find_definition(node, "__init__") or node
    if isinstance(node, ast.ClassDef):
        fields_of_class: list[Any] = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        own = {each.target.id: each.value for each in fields_of_class}
    else:
        arguments = node.args
        names = [each.arg for each in [*arguments.args, *arguments.kwonlyargs]]
        defaults = [*arguments.defaults, *arguments.kw_defaults]
        own = dict(zip(reversed(names), reversed(defaults), strict=False))
    return ast.literal_eval(own[parameter])


def _find_definition(node: Any, name: str) -> Any:
    return next((each for each in node.body if getattr(each, "name", None) == name), None)


@cache
def _parse_module(module: str) -> Any:
    file = Path(__file__).parents[1] / f"{module.replace('.', '/')}.py"
    return ast.parse(file.read_text(encoding="utf-8"))


def join_choices(choices: Iterable[str]) -> str:
    """Return choices as text: a, b or c."""
    *names, last = choices
    return f"{', '.join(names)} or {last}"


def check_choice(option: str, value: str, allowed: Iterable[str]) -> None:
    """Raise ArgumentError if the value of an option is not allowed."""
    if value not in allowed:
        raise ArgumentError(
            f'{option} must be {join_choices(allowed)}; got "{value}".'
            + did_you_mean(value, allowed)
        )


def complete(
    *keys: str, is_list: bool = False, before: Sequence[str] = (), files: str = ""
) -> Callable[[str], list[tuple[str, str]]]:
    """Return a function for Typer that completes names. If none fits, the shell offers files.

    Parameters
    ----------
    *keys : keys of NAMES
    is_list : whether several names can be typed, separated by commas
    before : other names, before these
    files : pattern of files in the working directory that can be typed too

    Examples
    --------
    >>> complete("scales", is_list=True)("none,m")
    [('none,minmax', '')]
    """

    def find(incomplete: str) -> list[tuple[str, str]]:
        typed, comma, last = incomplete.rpartition(",") if is_list else ("", "", incomplete)
        known = dict.fromkeys(before, "")
        for key in keys:
            known |= NAMES[key].summaries()
        known |= dict.fromkeys(sorted(map(str, Path().glob(files))), "") if files else {}
        return [
            (f"{typed}{comma}{name}", summary)
            for name, summary in known.items()
            if name.startswith(last)
        ]

    return find


def option(
    *declarations: str,
    default: Any = None,
    metavar: str | None = None,
    help: str,
    panel: str | None = None,
    names: str = "",
    is_checked: bool = False,
    sets: str = "",
    **more: Any,
) -> Any:
    """Return an option: a field of a group, or the default of a parameter of a command.

    Parameters
    ----------
    *declarations : what to type, such as "--output" and "-o"; default: from the field's name
    default : value if it is not given; MISSING if it must be given
    metavar, help, panel : how the help shows it; in the text, a key of NAMES in braces stands for
        the names. By default, the type gives the metavar, and the group the panel.
    names : key of NAMES whose names it accepts, for completion
    is_checked : whether other names are refused here, and not by the library
    sets : function or class whose parameter it sets, such as "classifier:PolytomyClassifier"
    **more : further arguments of `typer.Option`
    """

    def check(context: typer.Context, parameter: typer.CallbackParam, value: Any) -> Any:
        if is_checked and value is not None:
            check_choice(parameter.opts[0], value, NAMES[names])
        return value

    check.sets = sets  # type: ignore[attr-defined]
    if names:
        more.setdefault("autocompletion", complete(names))
    more.setdefault("callback", check)
    made = typer.Option(*declarations, metavar=metavar, help=help, rich_help_panel=panel, **more)
    return field(default=default, metadata={_OPTION: made, _TYPED: declarations})


def find_place(parameter: Any) -> str:
    """Return the function or class whose parameter an option of a command sets; "" if none."""
    callback = getattr(parameter, "callback", None)
    return getattr(inspect.unwrap(callback), "sets", "") if callback else ""


def find_default(parameter: Any) -> Any:
    """Return the default of a parameter of a command: its own, or that of what it sets."""
    place = find_place(parameter)
    return default_of(place, parameter.name) if place else parameter.default


def fill_in_names(text: str) -> str:
    """Return the text of a help with names in place of the keys of NAMES.

    Examples
    --------
    >>> fill_in_names("Scaling: {scales}.")
    'Scaling: standard, minmax or none.'
    """
    return re.sub(r"\{(\w+)\}", lambda found: join_choices(NAMES[found[1]]), text)


def flag(declaration: str, help: str, panel: str | None = None, default: Any = False) -> Any:
    """Return an option without a value."""
    made = typer.Option(declaration, help=help, rich_help_panel=panel)
    return field(default=default, metadata={_OPTION: made, _TYPED: [declaration]})


# -- groups ----------------------------------------------------------------------------------------


@dataclass_transform(frozen_default=True, kw_only_default=True)
def group(panel: str | None = None) -> Callable[[type[T]], type[T]]:
    """Return a decorator of groups, whose options are in this panel of the help."""

    def decorate(class_: type[T]) -> type[T]:
        for name in class_.__annotations__:
            made = vars(class_)[name].metadata[_OPTION]
            made.rich_help_panel = made.rich_help_panel or panel
        return dataclass(frozen=True, kw_only=True)(class_)

    return decorate


def given(group: Any, **parsers: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the options of a group that the user gave, by the names of their fields.

    Parameters
    ----------
    group : dataclass of options; None and False stand for options that are not given
    **parsers : functions from the text of an option to its value
    """
    values = {each.name: getattr(group, each.name) for each in fields(group)}
    return {
        name: parsers[name](value) if name in parsers else value
        for name, value in values.items()
        if value is not None and value is not False
    }


def name_given(*groups: Any) -> list[str]:
    """Return the options of groups that the user gave, as they are typed.

    Examples
    --------
    >>> name_given(ClusterOptions(n_jobs=2, dask="local"), SetOptions(per_class=True))
    ['--jobs', '--dask', '--per-class']
    """
    return [
        next(iter(each.metadata[_TYPED]), f"--{each.name.replace('_', '-')}")
        for group in groups
        for each in fields(group)
        if getattr(group, each.name) != each.default
    ]


def refuse_options(names: Sequence[str], why: str) -> None:
    """Raise ArgumentError with the first of these options, if there are any."""
    if names:
        raise ArgumentError(f"{names[0]} {why}")


def parse_none(text: str) -> str | None:
    """Return the name that an option gives; None for "none"."""
    return None if text == "none" else text


def _make_parameter(name: str, hint: Any, default: Any) -> inspect.Parameter:
    """Return a parameter for Typer; its default may be an option."""
    if isinstance(default, Field):
        made = default.metadata[_OPTION]
        (type_, *_) = [each for each in get_args(hint) if each is not NoneType] or [hint]
        made.metavar = made.metavar or _METAVARS.get(type_, "NAME")
        hint = Annotated[hint, made]
        default = inspect.Parameter.empty if default.default is MISSING else default.default
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=hint)


def expand_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command for Typer: each group among the parameters becomes its options.

    Examples
    --------
    >>> def warm_up(cluster: ClusterOptions) -> None: print(cluster.n_jobs)
    >>> command = expand_options(warm_up)
    >>> list(inspect.signature(command).parameters)
    ['n_jobs', 'dask']
    >>> command(n_jobs=2, dask=None)
    2
    """
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    hints = get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters.values():
        hint = hints[parameter.name]
        if is_dataclass(hint):
            groups[parameter.name] = hint
            types = get_type_hints(hint)
            parameters += [
                _make_parameter(each.name, types[each.name], each) for each in fields(hint)
            ]
        else:
            parameters.append(_make_parameter(parameter.name, hint, parameter.default))

    @wraps(function)
    def command(**values: Any) -> None:
        made = {
            name: group(**{each.name: values.pop(each.name) for each in fields(group)})
            for name, group in groups.items()
        }
        function(**values, **made)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


# -- options of several commands -------------------------------------------------------------------

DataFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, LIBSVM, libAGF, Parquet or npz file, or a folder of Parquet files; "
        "text formats may be gzipped; - reads standard input.",
    ),
]
OptionalDataFile = Annotated[
    str | None, typer.Argument(metavar="[DATA]", help="Data file, as for train.")
]
ModelFile = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="Model written by train, LIBSVM model, or control file that names trained binaries.",
    ),
]
AS_JSON = flag("--json", "Print JSON.")


CLASS_ORDER = option(
    metavar="LABELS",
    help="Class labels from first to last, for adjacent, chain and tree: a,b,c or a file with one "
    "label per line.",
)
MAX_SIDES = option(
    min=2,
    help='Largest number of classes that the estimator takes, for "limited" and other designs.',
)


def final_calibration(sets: str) -> Any:
    """Return the option --final-calibration of a constructor."""
    return option(
        names="final_calibrations",
        is_checked=True,
        sets=sets,
        help="Calibration of the class probabilities: {final_calibrations}.",
    )


def _check_jobs(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("0 is too few; use 1 or more, or -1 for all cores")
    return jobs


JOBS = option(
    "--jobs",
    "-j",
    callback=_check_jobs,
    metavar="N",
    help="Number of parallel jobs; -1 for all cores.",
    panel=RUNNING,
)
SEED = option(
    "--seed", default=0, min=0, max=2**32 - 1, metavar="N", help="Random seed.", panel=RUNNING
)


@group(DATA)
class FileOptions:
    """How to read a data file."""

    format: str | None = option(
        names="formats", help="File format: {formats}; detected by default."
    )
    header: bool | None = flag(
        "--header/--no-header",
        "Whether the first line names the columns; detected by default.",
        default=None,
    )
    zero_based: str = option(
        metavar="auto|yes|no",
        names="zero_based",
        is_checked=True,
        help="Whether feature indices in LIBSVM data start at 0; auto: if index 0 occurs.",
        default="auto",
    )

    def reading(self) -> dict[str, Any]:
        """Return the arguments of the functions that read data."""
        zero_based = {"auto": "auto", "yes": True, "no": False}[self.zero_based]
        return {"format": self.format, "header": self.header, "zero_based": zero_based}


@group(DATA)
class DataOptions(FileOptions):
    """How to read samples and their labels."""

    target: str = option(
        metavar="COLUMN", help="Label column: its name or position; -1 is the last.", default="-1"
    )

    @property
    def column(self) -> str | int:
        """The label column: an integer is a position, other text a name."""
        return parse_integer(self.target)

    def reading(self) -> dict[str, Any]:
        """Return the arguments of the functions that read data."""
        return {**super().reading(), "target": self.column}


@group(DATA)
class ColumnOptions(DataOptions):
    """How to read samples with text columns and missing values."""

    one_hot: bool = flag("--one-hot", "One-hot encode text columns.")
    missing: str | None = option(
        metavar="refuse|nan",
        names="missing",
        is_checked=True,
        help="What to do with missing values: refuse them, or pass them on as NaN; default: nan if "
        "the estimator accepts it.",
    )

    def reading(self) -> dict[str, Any]:
        """Return the arguments of the functions that read data."""
        categories = "one-hot" if self.one_hot else "refuse"
        missing = self.missing or "refuse"
        return {**super().reading(), "categories": categories, "missing": missing}

    def for_estimator(self, estimator: Any) -> Self:
        """Return the options; missing values are read as NaN if the estimator accepts it."""
        from polytomy.learners.preparation import accepts_missing

        default = "nan" if accepts_missing(estimator) else "refuse"
        return replace(self, missing=self.missing or default)


@group(DATA)
class FeatureOptions(ColumnOptions):
    """How to read samples and prepare their features."""

    scale: str = option(
        names="scales",
        is_checked=True,
        help="Scaling of the features: {scales}.",
        default="standard",
    )


@group()
class LoadOptions:
    """How to load a model."""

    n_features: int | None = option(
        "--features", min=1, help="Number of features, for LIBSVM models.", panel=DATA
    )
    trusted: list[str] | None = option(
        "--trust", metavar="TYPE", help="Type to trust when loading (repeatable)."
    )

    def loading(self) -> dict[str, Any]:
        """Return the arguments of the functions that load models."""
        return {"trusted": tuple(self.trusted or ()), "n_features": self.n_features}


@group(DATA)
class ModelDataOptions(LoadOptions, FileOptions):
    """How to load a model and read data for it."""

    target: str | None = option(
        metavar="COLUMN", help="Label column; by default that of training. `predict` ignores it."
    )

    @property
    def column(self) -> str | int | None:
        """The label column; None if it is not given."""
        return None if self.target is None else parse_integer(self.target)


@group(RUNNING)
class ClusterOptions:
    """Where to run."""

    n_jobs: int | None = JOBS
    dask: str | None = option(
        metavar="ADDRESS|local",
        help="Train on the Dask cluster at this address, or on all cores of this machine; DATA "
        "is a folder of files with the same columns.",
    )


@group(DECISIONS)
class SetOptions:
    """Prediction sets."""

    confidence_level: list[float] | None = option(
        "--set",
        metavar="LEVEL",
        help="Also print a set of classes that contains the true one with this probability, "
        "such as 0.9 (repeatable).",
    )
    score: str | None = option(
        "--set-score",
        names="set_scores",
        is_checked=True,
        sets="model.answering:AnsweringMixin.predict_set",
        help="Score of the sets: {set_scores}.",
    )
    per_class: bool = flag(
        "--per-class", "Reach the probability of --set in each class, not only on average."
    )


def parse_integer(text: str) -> str | int:
    """Return the integer that a text spells, or else the text."""
    try:
        return int(text)
    except ValueError:
        return text
