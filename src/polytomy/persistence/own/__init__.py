"""polytomy's own model files, complete: members, fields, arrays.

A file is a zip archive (`archive.py`) with the members

====================  ==============================================================================
model.json            the description: a JSON object with the fields below
scheme.control        the control text of the scheme; scheme-1.control, … of an ensemble;
                      one-vs-rest of more than 1000 classes is written as @one-vs-rest
floats.npy            all floating-point numbers of the model, in one array
integers.npy          all integers, in one array
out_of_fold.npy       out-of-fold scores in single precision, samples by binaries, on request
conformity.npy        logarithms of out-of-fold probabilities in half precision, rows by classes
others.skops          list of the objects that are not plain arrays, saved with skops; often missing
====================  ==============================================================================

**Arrays** are stored in the two arrays of numbers. The description has a reference to each
(`number_arrays.py`): ``{start, shape}``, for floats also ``type`` if it is "float32" and ``order``
if it is "columns". A sparse matrix is ``{sparse, values, columns, ends}``: its shape and the three
arrays of the CSR format. An object in others.skops is ``{kind: "other", number}``.

**Values** of parameters (`values.py`) are JSON, except ``{tuple}``, ``{dict}`` as a list of pairs
and ``{float}`` for infinities and NaN. Labels are ``{type, values}``, with a type of NumPy.

**The description** (`saving.py`)

====================  ==============================================================================
format                "polytomy model"; format_version increases when older versions cannot read it
versions              the versions of the packages that wrote the file
metadata              the dict that the user passed to `save`
members               for each other member its size in bytes and its sha256
classes               labels
n_features            and feature_names, of the training data
parameters            see below
composition           see below
pools                 matrices of support vectors, each vector once (`vector_pools.py`)
binaries              list, see below
sided_models          only if a partition has more than two sides: its models, see below
final                 the final calibration, see below
conformity            what belongs to conformity.npy, for prediction sets, see below
regression            only of a regressor: its bins and its intervals, see below
out_of_fold           only on request: what belongs to the out-of-fold scores, see below
reservoir             only on request: the rows that partial_fit holds out, see below
frequencies           of the classes in the training data: weighted by samples (data), and also by
                      class weights (model)
prior                 only if it was changed: the prior, and that of training
costs                 only if there are any: the matrix, reject_cost and reject_label
preprocessing         only with shared pre-processing: the names and types of the transformers that
                      all binaries share, and the steps, as estimators
pipeline              only if saved inside a pipeline: the names of all steps, and the steps before
                      the classifier, as estimators
n_schemes             only of an ensemble
====================  ==============================================================================

**parameters** (`classifier_parameters.py`)

====================  ==============================================================================
solver                and prediction_dtype, of the fitted classifier; is_solver_automatic if its
                      parameter is "auto"
cv, n_jobs,           values of parameters of the same names: also random_state, verbose,
memory_budget         class_weight, class_order, keep_out_of_fold, shared_preprocessing and
                      reservoir_size
scheme                only if it is text and not a file
estimator             a template (`templates.py`): ``{specification}``, ``{scaler, parameters}``,
                      ``{pipeline}`` as a list of names and templates, or an object in others.skops;
                      estimator_text instead if the user gave a specification
calibration           and final_calibration: a name, or ``{kind}`` of a calibrator
models                list of ``{name, estimator}`` or, for a model that is one of the binaries,
                      ``{name, binary}``
====================  ==============================================================================

**composition** (`composition_fields.py`): for each binary its name in the scheme (names), whether
that is a specification (specifications), its name in `models` (models), and its classes: sides has
the class indices of both sides of all binaries in a row, n_negative and n_positive the lengths of
the sides. These three are missing if the sides have more than 2^20 class indices and are those of
the scheme's partitions, in order. For each scheme, places has the binary of each partition
(columns) and whether its sides are swapped (is_swapped). tie_order is null, or the
order that decides between classes with equal scores.

**A binary** (`binaries.py`) has a name, the seconds of its training, a shortcoming as text, and an
output: "probability", "log-odds", "margin", "label" or "constant". If that is "constant", it has
only the constant. Others have an estimator, the classes of the estimator, the positive_index of the
+1 side among them, the columns of a precomputed kernel, and a calibrator: its kind ("none",
"sigmoid", "temperature", "isotonic", "provided" or "other"), with slope and intercept, with knots
and probabilities, or with the number of an object.

The output "side" belongs to one side of a partition with more than two. Such a binary has the
number of its model among sided_models, and the side.

**A sided model** (`sided_models.py`) has a name, n_sides, known_sides (those with training samples,
in the order of the estimator's classes), the estimator in others.skops, its labels and its output,
and slopes and intercepts if vector scaling turns its values into probabilities. In the composition,
wholes has the name and the classes of each such partition, and sides_of_wholes the partition and
the side of each of its binaries.

**An estimator** (`estimator_writer.py`, `estimator_reader.py`) has a kind:

====================  ==============================================================================
machine               kernel (its kind, gamma, degree and coef0), pool, rows of the pool,
                      coefficients, intercept
linear                coefficients, intercept, n_updates
scaler                type, parameters, n_features, n_samples, arrays by name
pipeline              steps, a list of ``{name, step}``
borders               borders and gradients, of libAGF
other                 number of the object in others.skops
====================  ==============================================================================

Machines and linear models of scikit-learn also have a specification, random_state and classes;
any estimator may have feature_names.

**final** (`final_fields.py`): the kind of the final calibration and its numbers: "bias" has scale,
floor and bias; "decoder" has weights as well; "provided" has the floor and the number of an object.
The score holds the out-of-fold log_loss, brier_score, accuracy and uncertainty_coefficient.

**out_of_fold** (`out_of_fold_fields.py`): the rows of the samples among the n_rows of the training
data, their class_indices, fold_of and weight; final_calibration, the option; the seed; and
keeps_probabilities, whether probabilities are kept, in which case they follow.

**reservoir** (`reservoir_fields.py`): its size and seed; for each class the number of rows so far,
n_of_class, and their weight, weight_of_class; the rows that are held, a matrix, with class_indices,
weight, keys (random numbers) and positions in the stream; n_rows, the length of the stream so far;
next_position, less than that while the stream is repeated; and starts_late, whether the binaries
were trained before the stream.

**conformity** (`decision_fields.py`): the class_indices and the weight of each row. There are at
most 32768 rows, a random choice if the training data has more.

**regression** (`regression_fields.py`): the parameters n_bins and statistic; lower and upper, the
range of the target; last_values, edges, bin_of and shares, the attributes of `TargetBins`; slope
and shift of the `CumulativeScaling`; intervals, if they can be corrected: distances, reached and
n_effective, the attributes of `IntervalCorrection`; and the out-of-fold score. All other fields are
those of its classifier, whose classes are the numbers of the bins.

Files with a regressor, a prior, costs or more than 1000 classes have format_version 4, others with
a sided model 3, others with a final calibration or shared pre-processing 2, and all others 1.

`loading.py` trusts none of this: every size, type and index is checked before it is used. Fields
that are null may be missing.
"""
