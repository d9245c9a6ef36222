"""Classifiers, regressors and what is ahead of them, as scikit-learn's converter writes them.

There are trees, linear models, support vectors, scalers and encoders. MODELS maps a name to a function that gives
(model, inputs). Samples lie on thresholds, too, and some are NaN where a tree states what becomes of NaN.

Some forms are missing here, because onnxruntime 1.31 has its own way with them:
  - votes for both of two classes: its label is 1, whatever the labels; converters give the second class's share alone,
    for class 0
  - base values beside votes for class 1 of two: it leaves them out
  - LOGISTIC behind a single score of a regressor: it leaves LOGISTIC out
  - PROBIT: it has an approximation to three digits
  - a NaN among a LabelEncoder's keys before version 4: it never finds the NaN
  - one scale beside several offsets: it refuses them
"""

import functools

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, DOUBLE, INT64, STRING = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.STRING
SAMPLES, FEATURES = 40, 5
NAMES = {2: ["no", "yes"], 3: ["setosa", "versicolor", "virginica"], 4: ["b", "d", "a", "c"]}
MODELS = {}


def add(name, build, *arguments, **named):
    assert name not in MODELS, name
    MODELS[name] = functools.partial(build, *arguments, **named)


def ml(op_type, inputs, outputs, **attributes):
    return helper.make_node(op_type, inputs, outputs, domain="ai.onnx.ml", **attributes)


def model(nodes, inputs, outputs, initializers=None, ml_version=3):
    values = lambda described: [
        helper.make_tensor_value_info(name, kind, shape) if shape is not None else helper.make_value_info(name, kind)
        for name, kind, shape in described
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        values(inputs),
        values(outputs),
        [numpy_helper.from_array(a, n) for n, a in (initializers or {}).items()],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", ml_version)], ir_version=8
    )


def samples(seed=0, features=FEATURES, dtype=np.float32):
    """Makes samples that are rounded to quarters, so that thresholds are met."""
    return (np.round(np.random.default_rng(seed).normal(0, 2, (SAMPLES, features)) * 4) / 4).astype(dtype)


def labels_of(count, strings, name="classlabels_ints"):
    return {"classlabels_strings": NAMES[count]} if strings else {name: [10 * i - 5 for i in range(count)]}


def classifier(node, count, strings, zip_map, feeds, front=(), initializers=None, scores=None, ml_version=3):
    """`node` gives label and scores. With a ZipMap as by default: probabilities are maps."""
    kind = STRING if strings else INT64
    nodes, outputs = [*front, node], [("label", kind, [None]), ("scores", FLOAT, [None, scores or count])]
    if zip_map:
        key = labels_of(count, strings, "classlabels_int64s")
        nodes.append(ml("ZipMap", ["scores"], ["probabilities"], **key))
        outputs[1] = (
            "probabilities",
            helper.make_sequence_type_proto(helper.make_map_type_proto(kind, helper.make_tensor_type_proto(FLOAT, []))),
            None,
        )
    inputs = [(name, helper.np_dtype_to_tensor_dtype(a.dtype), [None, *a.shape[1:]]) for name, a in feeds.items()]
    return model(nodes, inputs, outputs, initializers, ml_version), feeds


def trees(seed, count, depth=3, outputs=1, leaf=None, prefix="class", mode="BRANCH_LEQ", missing=False):
    """Makes the attributes of full trees; `leaf(random)` gives [(id, weight)...] of a leaf."""
    random = np.random.default_rng(seed)
    nodes = {
        key: []
        for key in (
            "treeids",
            "nodeids",
            "featureids",
            "modes",
            "values",
            "truenodeids",
            "falsenodeids",
            "missing_value_tracks_true",
            "hitrates",
        )
    }
    votes = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
    inner = 2**depth - 1
    for tree in range(count):
        for i in range(2 * inner + 1):
            is_leaf = i >= inner
            row = (
                tree,
                i,
                0 if is_leaf else int(random.integers(FEATURES)),
                "LEAF" if is_leaf else mode,
                0.0 if is_leaf else float(np.round(random.normal() * 4) / 4),
                0 if is_leaf else 2 * i + 1,
                0 if is_leaf else 2 * i + 2,
                int(missing and random.random() < 0.5),
                1.0,
            )
            for key, entry in zip(nodes, row, strict=True):
                nodes[key].append(entry)
            for target, weight in leaf(random) if is_leaf else ():
                for key, entry in zip(votes, (tree, i, target, weight), strict=True):
                    votes[key].append(entry)
    return {
        **{f"nodes_{key}": entries for key, entries in nodes.items()},
        **{f"{prefix}_{key}": entries for key, entries in votes.items()},
    }


def shares(count, trees_count):
    """Makes a forest's leaf: the share of every class in it.

    Of two classes only the second one's share is written, as the first one's.
    """
    if count == 2:
        return lambda random: [(0, float(np.float32(random.random() / trees_count)))]
    return lambda random: list(
        enumerate(map(float, (random.dirichlet(np.ones(count)) / trees_count).astype(np.float32)))
    )


def tree_classifier(
    count,
    strings=False,
    zip_map=True,
    missing=False,
    leaf=None,
    transform="NONE",
    dtype=np.float32,
    mode="BRANCH_LEQ",
    **base,
):
    x = samples(dtype=dtype)
    if missing:
        x[::3, 1] = np.nan
    node = ml(
        "TreeEnsembleClassifier",
        ["x"],
        ["label", "scores"],
        post_transform=transform,
        **trees(count, 6, leaf=leaf or shares(count, 6), missing=missing, mode=mode),
        **labels_of(count, strings, "classlabels_int64s"),
        **base,
    )
    return classifier(node, count, strings, zip_map, {"x": x})


def boosted(class_of_leaf):
    """Gradient boosting with two classes: one score, of either sign."""
    return lambda random: [(class_of_leaf, float(np.float32(random.normal())))]


def regressor(op_type, x, targets, attributes, ml_version=3):
    return model(
        [ml(op_type, ["x"], ["y"], **attributes)],
        [("x", helper.np_dtype_to_tensor_dtype(x.dtype), [None, FEATURES])],
        [("y", FLOAT, [None, targets])],
        ml_version=ml_version,
    ), {"x": x}


def tree_regressor(aggregate, targets=1, base=()):
    leaf = lambda random: [(t, float(np.float32(random.normal()))) for t in range(targets)]
    attributes = {"n_targets": targets, "aggregate_function": aggregate, **trees(7, 5, prefix="target", leaf=leaf)}
    return regressor(
        "TreeEnsembleRegressor", samples(1), targets, {**attributes, **({"base_values": list(base)} if base else {})}
    )


def new_tree_ensemble(aggregate, dtype):
    """TreeEnsemble of opset 5: one tree of comparisons of every kind, one with a set."""
    tensor = lambda name, array: numpy_helper.from_array(np.asarray(array), name)
    attributes = dict(
        n_targets=2,
        aggregate_function=aggregate,
        post_transform=0,
        tree_roots=[0, 3],
        nodes_modes=tensor("m", np.array([0, 1, 3, 2, 6], np.uint8)),
        nodes_featureids=[0, 1, 2, 3, 4],
        nodes_splits=tensor("s", np.array([0.25, -0.5, 0, 0.5, 0], dtype)),
        nodes_truenodeids=[1, 0, 2, 4, 6],
        nodes_trueleafs=[0, 1, 1, 0, 1],
        nodes_falsenodeids=[2, 1, 3, 5, 4],
        nodes_falseleafs=[0, 1, 1, 1, 1],
        membership_values=tensor("v", np.array([0, 1, 1.5, np.nan], dtype)),
        leaf_targetids=[0, 1, 0, 1, 0, 1, 0],
        leaf_weights=tensor("w", np.arange(1, 8).astype(dtype) / 4),
    )
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    made = model(
        [ml("TreeEnsemble", ["x"], ["y"], **attributes)],
        [("x", kind, [None, FEATURES])],
        [("y", kind, [None, 2])],
        ml_version=5,
    )
    return made, {"x": samples(2, dtype=dtype)}


def weights(seed, *shape):
    return [float(w) for w in np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32).ravel()]


def linear_classifier(count, strings, zip_map, transform, rows=None, norm=None, dtype=np.float32):
    """Behind a Scaler, as pipelines have it; a Normalizer behind it makes probabilities of several logistic scores."""
    x = samples(3, dtype=dtype)
    rows = rows or count
    front = [ml("Scaler", ["x"], ["scaled"], offset=weights(4, FEATURES), scale=[abs(w) for w in weights(5, FEATURES)])]
    node = ml(
        "LinearClassifier",
        ["scaled"],
        ["label", "raw" if norm else "scores"],
        coefficients=weights(6, rows, FEATURES),
        intercepts=weights(7, rows),
        post_transform=transform,
        multi_class=int(count > 2),
        **labels_of(count, strings),
    )
    made, feeds = classifier(node, count, strings, zip_map, {"x": x}, front)
    if norm:
        made.graph.node.insert(2, ml("Normalizer", ["raw"], ["scores"], norm=norm))
    return made, feeds


def support_vectors(
    count, kernel, probabilities, strings=False, zip_map=False, transform="NONE", dtype=np.float32, positive=False
):
    per_class = [3, 4, 2, 5][:count]
    total, pairs = sum(per_class), count * (count - 1) // 2
    coefficients = weights(9, count - 1, total)
    attributes = dict(
        kernel_type=kernel,
        kernel_params=[0.2, 0.5, 3.0],
        vectors_per_class=per_class,
        support_vectors=weights(8, total, FEATURES),
        coefficients=[abs(c) for c in coefficients] if positive else coefficients,
        rho=weights(10, pairs),
        post_transform=transform,
        **labels_of(count, strings),
    )
    if probabilities:
        attributes |= dict(prob_a=[-abs(w) for w in weights(11, pairs)], prob_b=weights(12, pairs))
    node = ml("SVMClassifier", ["x"], ["label", "scores"], **attributes)
    return classifier(
        node,
        count,
        strings,
        zip_map,
        {"x": samples(4, dtype=dtype)},
        scores=None if probabilities or count == 2 else pairs,
    )


def support_vector_regressor(kernel, one_class=0):
    attributes = dict(
        kernel_type=kernel,
        kernel_params=[0.2, 0.5, 3.0],
        n_supports=6,
        support_vectors=weights(13, 6, FEATURES),
        coefficients=weights(14, 6),
        rho=weights(15, 1),
        one_class=one_class,
    )
    return regressor("SVMRegressor", samples(5), 1, attributes)


def encoded(keys, values, x, default):
    """Makes a LabelEncoder: a value that is no key gets the default."""
    words = lambda prefix, listed: {
        f"{prefix}_"
        f"{'strings' if isinstance(listed[0], str) else 'int64s' if isinstance(listed[0], int) else 'floats'}": listed
    }
    kind = lambda listed: STRING if isinstance(listed[0], str) else INT64 if isinstance(listed[0], int) else FLOAT
    node = ml("LabelEncoder", ["x"], ["y"], **words("keys", keys), **words("values", values), **default)
    return model([node], [("x", kind(keys), [None, 2])], [("y", kind(values), [None, 2])], ml_version=4), {"x": x}


def column_transformer():
    """Makes a classifier whose features are numbers, imputed and scaled, beside words, one-hot."""
    words = np.array([[["red", "green", "blue", "pink"][i % 4]] for i in range(SAMPLES)], object)
    numbers = samples(6, 3)
    numbers[::4, 0] = np.nan
    front = [
        ml("Imputer", ["x"], ["whole"], imputed_value_floats=[0.5, -1.0, 2.0], replaced_value_float=float("nan")),
        ml("Scaler", ["whole"], ["scaled"], offset=weights(20, 3), scale=[0.5, 2.0, 1.0]),
        ml("OneHotEncoder", ["color"], ["hot3"], cats_strings=["red", "green", "blue"], zeros=1),
        helper.make_node("Reshape", ["hot3", "flat"], ["hot"]),
        ml("FeatureVectorizer", ["scaled", "hot"], ["features"], inputdimensions=[3, 3]),
    ]
    node = ml(
        "LinearClassifier",
        ["features"],
        ["label", "scores"],
        coefficients=weights(21, 3, 6),
        intercepts=weights(22, 3),
        post_transform="SOFTMAX",
        **labels_of(3, True),
    )
    return classifier(node, 3, True, True, {"x": numbers, "color": words}, front, {"flat": np.array([-1, 3])})


for strings in (False, True):
    kind = "strings" if strings else "integers"
    for count in (2, 3, 4):
        add(f"forest, {count} classes, {kind}", tree_classifier, count, strings)
        add(
            f"support vectors, {count} classes, {kind}, with probabilities",
            support_vectors,
            count,
            "RBF",
            True,
            strings,
            zip_map=True,
        )
    add(f"logistic regression, 2 classes, {kind}", linear_classifier, 2, strings, True, "LOGISTIC")
    add(f"logistic regression, 3 classes, {kind}", linear_classifier, 3, strings, True, "SOFTMAX")
add("forest that knows missing values", tree_classifier, 3, missing=True, zip_map=False)
add("forest of doubles", tree_classifier, 3, dtype=np.float64)
add("forest of integers", tree_classifier, 3, dtype=np.int64)
for mode in ("BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"):
    add(f"forest, {mode}", tree_classifier, 3, mode=mode, zip_map=False)
for voted in (0, 1):
    for transform in ("NONE", "LOGISTIC"):
        add(
            f"boosting, two classes, class {voted}, {transform}",
            tree_classifier,
            2,
            leaf=boosted(voted),
            transform=transform,
            **({} if voted else {"base_values": [0.25]}),
        )
add(
    "boosting, three classes, SOFTMAX",
    tree_classifier,
    3,
    leaf=lambda random: [(int(random.integers(3)), float(np.float32(random.normal())))],
    transform="SOFTMAX",
    base_values=[0.5, -0.25, 0.0],
)
for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
    add(f"forest regressor, {aggregate}", tree_regressor, aggregate)
    add(f"forest regressor, {aggregate}, 3 targets", tree_regressor, aggregate, 3, base=(1.0, -2.0, 0.5))
add("boosted regressor", tree_regressor, "SUM", base=(0.5,))
for aggregate in range(4):
    add(f"tree ensemble 5, aggregate {aggregate}", new_tree_ensemble, aggregate, np.float32)
add("tree ensemble 5, doubles", new_tree_ensemble, 1, np.float64)
add("linear classifier, one row for two classes", linear_classifier, 2, True, True, "LOGISTIC", rows=1)
add("linear classifier, one row, no transform", linear_classifier, 2, False, False, "NONE", rows=1)
add("linear classifier, one against the rest", linear_classifier, 3, False, True, "LOGISTIC", norm="L1")
add("linear classifier of doubles", linear_classifier, 3, True, True, "SOFTMAX", dtype=np.float64)
add("linear classifier of integers", linear_classifier, 3, True, False, "SOFTMAX_ZERO", dtype=np.int64)
for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
    for count in (2, 3, 4):
        add(f"support vectors, {kernel}, {count} classes", support_vectors, count, kernel, False)
    add(f"support vectors, {kernel}, regression", support_vector_regressor, kernel)
for transform in ("LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
    for count in (2, 3):
        add(f"support vectors, {count} classes, {transform}", support_vectors, count, "RBF", False, transform=transform)
add("support vectors, positive coefficients", support_vectors, 2, "RBF", False, positive=True)
add("support vectors of integers", support_vectors, 3, "RBF", False, dtype=np.int64)
add("support vectors, one class", support_vector_regressor, "RBF", 1)
for norm in ("MAX", "L1", "L2"):
    add(
        f"normalizer, {norm}",
        lambda norm: (
            model(
                [ml("Normalizer", ["x"], ["y"], norm=norm)],
                [("x", FLOAT, [None, FEATURES])],
                [("y", FLOAT, [None, FEATURES])],
            ),
            {"x": samples(8)},
        ),
        norm,
    )
add(
    "label encoder, words to numbers",
    encoded,
    ["a", "b", "c"],
    [3, 1, 2],
    np.array([["a", "c"], ["x", "b"]], object),
    {"default_int64": -7},
)
add(
    "label encoder, numbers to words",
    encoded,
    [3, 1, 2],
    ["a", "b", "c"],
    np.array([[1, 2], [3, 9]]),
    {"default_string": "none"},
)
add(
    "label encoder, floats to floats",
    encoded,
    [0.5, float("nan"), 2.0],
    [1.5, 2.5, 3.5],
    np.array([[0.5, np.nan], [2, 4]], np.float32),
    {"default_float": -1.0},
)
add("column transformer", column_transformer)
