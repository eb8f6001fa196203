"""polytomy's own model files.

A file is a zip archive (`archive.py`) of

====================  ==============================================================================
model.json            the description below, with the size and SHA-256 of every other member
scheme.control        the control text of the scheme; scheme-1.control, … of an ensemble
floats.npy            all floating-point numbers of the model, in one array (`number_arrays.py`)
integers.npy          all integers
out_of_fold.npy       out-of-fold scores in single precision, samples by binaries, if asked for
others.skops          estimators and calibrators that are not plain arrays, saved with skops
                      (`skops_objects.py`)
====================  ==============================================================================

and the description (`saving.py`) has the fields

====================  ==============================================================================
format, versions      the name and version of the format, and the versions of the packages
metadata              what the user gave to `save`
classes               the labels, with their type (`values.py`)
n_features            and feature_names, of the training data
parameters            the parameters of the classifier (`classifier_parameters.py`, `templates.py`)
composition           what each binary tells apart, and which binaries answer for the partitions of
                      each scheme; "places" are the arrangements (`composition_fields.py`)
pools                 support vectors, each stored once (`vector_pools.py`)
binaries              the trained binaries with their calibrators (`binaries.py`), and their
                      estimators (`estimator_writer.py`, `estimator_reader.py`)
final                 the final calibration and its out-of-fold score (`final_fields.py`)
out_of_fold           what belongs to the out-of-fold scores: rows, classes, weights and folds; also
                      the out-of-fold probabilities, if they are kept (`out_of_fold_fields.py`)
pipeline              the steps before the classifier, if it was saved inside a pipeline
n_schemes             the number of schemes of an ensemble
====================  ==============================================================================

Files with a final calibration have version 2 of the format, others version 1.

Arrays in the description are references into the two arrays of numbers. `loading.py` trusts none of
this: every size, type and index is checked before it is used.
"""
