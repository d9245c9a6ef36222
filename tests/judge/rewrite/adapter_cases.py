"""The small models of adapters.py: one per operator, source version and choice of attributes."""

import dataclasses

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

RNG = np.random.default_rng(20)
F, I64 = TensorProto.FLOAT, TensorProto.INT64
KERNEL = 1e-6  # ONNX Runtime has another kernel for the newer version, which sums in another order
IR_OF_OPSET = ((21, 10), (19, 9), (15, 8), (12, 7), (11, 6), (10, 5), (9, 4))


@dataclasses.dataclass
class Case:
    name: str
    op: str
    model: onnx.ModelProto
    feeds: dict
    tolerance: float = 0
    reach: int | None = None  # the opset beyond which the model must not be lifted
    why: str = ""
    wanted: list | None = None  # the results by the text of the old form, where nothing runs it
    unsettled: int | None = None  # a target that must be refused although higher ones are reached
    is_checked: bool = True  # ONNX's checker takes the old form


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def info(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def ir_version(opset):
    return next((ir for first, ir in IR_OF_OPSET if opset >= first), 3)


def graph_model(graph, opset):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version(opset))
    if model.ir_version < 4:  # there, every initializer is an input too
        listed = {i.name for i in graph.input}
        model.graph.input.extend(
            helper.make_tensor_value_info(t.name, t.data_type, t.dims)
            for t in graph.initializer
            if t.name not in listed
        )
    return model


def run(model, arrays):
    """Returns the outputs of a run, or the first input for every output where nothing runs the model.

    Some forms only have to be refused, and need no results.
    """
    options = ort.SessionOptions()
    options.log_severity_level = 4
    for run in (
        lambda: ort.InferenceSession(model.SerializeToString(), options).run(None, arrays),
        lambda: ReferenceEvaluator(model).run(None, arrays),
    ):
        try:
            return run()
        except Exception:  # no kernel: the next one, or the values that are returned below
            continue
    return [next(iter(arrays.values()))] * len(model.graph.output)


def declare_outputs(model, arrays, ran):
    """Gives the outputs their inferred types.

    Where inference knows no rank, the types come from `ran` or from a run, with symbolic dimensions.
    """
    inferred = {o.name: o.type for o in onnx.shape_inference.infer_shapes(model).graph.output}
    for i, output in enumerate(model.graph.output):
        output.type.CopyFrom(inferred[output.name])
        tensor = output.type.tensor_type
        if tensor.elem_type and tensor.HasField("shape"):
            continue
        if ran is None:
            ran = run(model, arrays)
        tensor.elem_type = helper.np_dtype_to_tensor_dtype(ran[i].dtype)
        tensor.shape.CopyFrom(info("", F, [f"o{i}_{k}" for k in range(ran[i].ndim)]).type.tensor_type.shape)


def one(
    name,
    op,
    opset,
    inputs,
    *,
    outputs=1,
    constants=(),
    shapes="static",
    unread=(),
    tolerance=0,
    reach=None,
    why="",
    wanted=None,
    unsettled=None,
    is_checked=True,
    **attributes,
):
    """A model of one node. `inputs` are arrays (None: absent); those whose index is in `constants` are initializers.

    shapes: "static", "symbolic", or "unknown": no rank is known of the node's first input. `unread` outputs are the
    node's but not the model's.
    """
    names, values, initializers, feeds, nodes = [], [], [], {}, []
    for i, array in enumerate(inputs):
        names.append("" if array is None else f"x{i}")
        if array is None:
            continue
        if i in constants:
            initializers.append(numpy_helper.from_array(array, f"x{i}"))
            continue
        shape = [f"d{i}_{k}" for k in range(array.ndim)] if shapes == "symbolic" else array.shape
        values.append(info(f"x{i}", helper.np_dtype_to_tensor_dtype(array.dtype), shape))
        feeds[f"x{i}"] = array
    if shapes == "unknown":
        values.append(info("shape", I64, ["n"]))
        feeds["shape"] = np.array(inputs[0].shape)
        nodes.append(helper.make_node("Reshape", [names[0], "shape"], ["u0"]))
        names[0] = "u0"
    outs = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else list(outputs)
    nodes.append(helper.make_node(op, names, outs, name="node", **attributes))
    declared = [onnx.ValueInfoProto(name=o) for i, o in enumerate(outs) if o and i not in unread]
    model = graph_model(helper.make_graph(nodes, "g", values, declared, initializers), opset)
    wanted = None if wanted is None else [np.asarray(w) for w in wanted]
    declare_outputs(model, feeds, wanted)
    return Case(f"{op}-{opset} {name}", op, model, feeds, tolerance, reach, why, wanted, unsettled, is_checked)


def element_wise():
    positive = np.abs(f32(2, 3)) + 0.5
    for op in (
        "Abs",
        "Ceil",
        "Cos",
        "Elu",
        "Exp",
        "Floor",
        "HardSigmoid",
        "Identity",
        "LeakyRelu",
        "Log",
        "Neg",
        "Not",
        "Reciprocal",
        "Relu",
        "Selu",
        "Sigmoid",
        "Sin",
        "Softplus",
        "Softsign",
        "Sqrt",
        "Tan",
        "Tanh",
        "Acos",
        "Asin",
        "Atan",
    ):
        x = np.array([True, False]) if op == "Not" else np.tanh(positive) if op in ("Acos", "Asin") else positive
        yield one("types only", op, 7, [x])
    for op, opset in (
        ("Sinh", 9),
        ("Cosh", 9),
        ("Asinh", 9),
        ("Atanh", 9),
        ("Acosh", 9),
        ("Sign", 9),
        ("Erf", 9),
        ("IsNaN", 9),
        ("IsInf", 10),
        ("Round", 11),
        ("ThresholdedRelu", 10),
        ("HardSwish", 14),
        ("Mish", 18),
        ("Shrink", 9),
        ("Det", 11),
        ("NonZero", 9),
        ("Celu", 12),
    ):
        x = (
            f32(3, 3)
            if op == "Det"
            else np.tanh(positive)
            if op == "Atanh"
            else positive + 1
            if op == "Acosh"
            else positive
        )
        yield one("types only", op, opset, [x])
    for op in ("Add", "Sub", "Mul", "Div", "Pow", "Sum", "Max", "Min", "Mean", "Less", "Greater", "PRelu"):
        opset = 8 if op in ("Sum", "Max", "Min", "Mean") else 9 if op in ("Less", "Greater") else 7
        yield one("broadcast", op, opset, [np.abs(f32(2, 1, 3)) + 1, f32(2, 3)[:1]])
    for op in ("Max", "Min", "Sum", "Mean"):
        yield one("before broadcasting", op, 7, [f32(2, 3), f32(2, 3), f32(2, 3)])
    yield one("int32", "Equal", 7, [np.arange(4, dtype=np.int32), np.ones(4, np.int32)])
    yield one("bool", "And", 7, [np.array([True, False]), np.array([True, True])])
    yield one("fmod", "Mod", 10, [f32(4), np.abs(f32(4)) + 1], fmod=1)
    yield one("all ties", "Round", 11, [np.array([0.5, 1.5, -0.5, 2.5, -2.5], np.float32)])
    yield one("where", "Where", 9, [np.array([True, False, True]), f32(3), f32(3)])
    yield one("int64 is refused", "Erf", 9, [np.arange(3)], reach=12, why="does not take its types")


def layers():
    x4, w = f32(1, 4, 6, 6), f32(4, 4, 3, 3)
    yield one("bias pads", "Conv", 7, [x4, w, f32(4)], constants=(1, 2), pads=[1, 1, 1, 1])
    yield one("auto_pad", "Conv", 11, [x4, w], constants=(1,), auto_pad="SAME_UPPER", strides=[2, 2])
    yield one("strides", "ConvTranspose", 7, [x4, w], constants=(1,), strides=[2, 2], output_padding=[1, 1])
    for opset in (7, 9, 11):
        yield one("bias", "Gemm", opset, [f32(2, 3), f32(3, 4), f32(4)], constants=(1, 2), alpha=0.5)
    yield one("no bias", "Gemm", 11, [f32(2, 3), f32(4, 3)], transB=1)
    yield one("batched", "MatMul", 7, [f32(2, 3, 4), f32(4, 5)])
    yield one("equation", "Einsum", 12, [f32(2, 3), f32(3, 4)], equation="ij,jk->ik")
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        yield one("types only", op, 7, [x4])
    yield one("p 1", "LpPool", 7, [x4], kernel_shape=[2, 2], p=1)
    yield one("p 2 pads", "LpPool", 11, [x4], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    for include in (0, 1):
        yield one(
            f"pads include {include}",
            "AveragePool",
            7,
            [x4],
            tolerance=KERNEL,
            kernel_shape=[3, 3],
            pads=[1, 1, 1, 1],
            count_include_pad=include,
            strides=[2, 2],
        )
        yield one(
            f"ceil include {include}",
            "AveragePool",
            10,
            [f32(1, 2, 7, 8)],
            tolerance=KERNEL,
            kernel_shape=[3, 3],
            pads=[1, 1, 1, 1],
            count_include_pad=include,
            strides=[2, 2],
            ceil_mode=1,
        )
    yield one(
        "same", "AveragePool", 11, [x4], tolerance=KERNEL, kernel_shape=[3, 3], auto_pad="SAME_LOWER", strides=[2, 2]
    )
    yield one("plain", "MaxPool", 7, [x4], kernel_shape=[2, 2], strides=[2, 2])
    yield one("indices", "MaxPool", 8, [x4], kernel_shape=[2, 2], strides=[2, 2], outputs=2)
    yield one("ceil", "MaxPool", 10, [f32(1, 2, 7, 8)], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    ceil = {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}
    for op, opset, pads in (
        ("MaxPool", 11, [1, 1, 1, 1]),
        ("AveragePool", 11, [1, 1, 1, 1]),
        ("LpPool", 18, [1, 1, 1, 1]),
    ):
        yield one(
            "ceil, no window starts in the padding", op, opset, [f32(1, 2, 6, 6)], pads=pads, tolerance=KERNEL, **ceil
        )
        yield one(
            "ceil, a window starts in the padding",
            op,
            opset,
            [f32(1, 2, 5, 5)],
            pads=[1, 1, 1, 1],
            reach=21,
            why="window may start in the padding",
            **ceil,
        )
        yield one(
            "ceil, a window might",
            op,
            opset,
            [f32(1, 2, 6, 6)],
            pads=[1, 1, 1, 1],
            shapes="symbolic",
            reach=21,
            why="window may start in the padding",
            **ceil,
        )
        yield one(
            "ceil, no window ever",
            op,
            opset,
            [f32(1, 2, 6, 6)],
            pads=[1, 1, 1, 1],
            shapes="symbolic",
            kernel_shape=[3, 3],
            strides=[2, 2],
            ceil_mode=1,
            tolerance=KERNEL,
        )
    norm = [x4, f32(4), f32(4), f32(4), np.abs(f32(4)) + 0.1]
    for opset in (7, 8, 9, 14):
        yield one("inference", "BatchNormalization", opset, norm, constants=(1, 2, 3, 4), epsilon=1e-3)
    yield one("spatial 1", "BatchNormalization", 7, norm, constants=(1, 2, 3, 4), spatial=1)
    for shape in ([2, 3], [2, 3, 4], [2, 3, 4, 5], [0, 3, 4]):
        statistics = [f32(*shape[1:]) for _ in range(3)] + [np.abs(f32(*shape[1:])) + 0.1]
        for shapes in ("static", "symbolic", "unknown"):
            constants = () if shapes == "static" else (1, 2, 3, 4)
            yield one(
                f"statistics per element {shape}, {shapes}",
                "BatchNormalization",
                7,
                [f32(*shape)] + statistics,
                spatial=0,
                shapes=shapes,
                constants=constants,
                epsilon=1e-3,
            )
        yield one(
            f"shape of statistics is not known {shape}",
            "BatchNormalization",
            7,
            [f32(*shape)] + statistics,
            spatial=0,
            shapes="symbolic",
            reach=8,
            why="shape of its statistics per element",
        )
    yield one(
        "training per element is refused",
        "BatchNormalization",
        7,
        [f32(2, 3)] + [f32(3)] * 4,
        spatial=0,
        outputs=5,
        reach=8,
        why="training form with statistics per element",
    )
    for opset in (7, 8, 9, 13):
        yield one(
            "training", "BatchNormalization", opset, norm, outputs=5, unread=(3, 4), momentum=0.7, tolerance=KERNEL
        )
        yield one(
            "training, constants",
            "BatchNormalization",
            opset,
            norm,
            outputs=5,
            unread=(1, 2, 3, 4),
            constants=(1, 2, 3, 4),
            epsilon=1e-2,
            tolerance=KERNEL,
        )
        yield one(
            "saved statistics are refused",
            "BatchNormalization",
            opset,
            norm,
            outputs=5,
            reach=13,
            why="saved statistics are read",
        )
    yield one("training", "BatchNormalization", 14, norm, outputs=3, training_mode=1)
    yield from group_normalization()
    yield from transposed_convolutions()
    yield one("types only", "InstanceNormalization", 7, [x4, f32(4), f32(4)])
    yield one("size 3", "LRN", 7, [x4], size=3)
    yield one("axis 1", "LpNormalization", 7, [x4], axis=1)
    yield one("default axes", "MeanVarianceNormalization", 9, [x4])
    yield one("axes", "MeanVarianceNormalization", 9, [x4], axes=[2, 3])
    yield one("both outputs", "LayerNormalization", 17, [f32(2, 3, 4), f32(4), f32(4)], outputs=3)
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        weights = [f32(1, gates * 5, 3), f32(1, gates * 5, 5)]
        yield one("plain", op, 7, [f32(4, 2, 3)] + weights, constants=(1, 2), hidden_size=5, outputs=2)
        yield one(
            "lengths",
            op,
            7,
            [f32(4, 2, 3)] + weights + [f32(1, gates * 10), np.array([3, 4], np.int32)],
            constants=(1, 2, 3),
            hidden_size=5,
            outputs=["y0", "y1"],
        )
    for opset in (7, 10):
        yield one("default", "Dropout", opset, [x4])
        yield one("ratio", "Dropout", opset, [x4], ratio=0.25)
    yield one("unspecified mask is refused", "Dropout", 10, [x4], ratio=0.25, outputs=2, reach=11, why="mask")
    yield one("mask", "Dropout", 12, [x4], outputs=2)
    yield one("ratio input", "Dropout", 12, [x4, np.array(0.3, np.float32)])
    yield one("used mask is refused", "Dropout", 7, [x4], outputs=2, reach=9, why="mask")
    heads = [f32(1, 2, 3, 4) for _ in range(3)]
    yield one("causal", "Attention", 23, heads, is_causal=1)
    yield one("mask, past", "Attention", 23, heads + [f32(3, 5), f32(1, 2, 2, 4), f32(1, 2, 2, 4)], outputs=3)
    yield one("lengths", "Attention", 24, heads + [None, None, None, np.array([2])])
    labels = np.array([1, 0, 2])
    yield one("mean", "SoftmaxCrossEntropyLoss", 12, [f32(3, 4), labels])
    yield one("log", "SoftmaxCrossEntropyLoss", 12, [f32(3, 4), labels], outputs=2, reduction="none")
    yield one("weights", "NegativeLogLikelihoodLoss", 12, [f32(3, 4), labels, np.abs(f32(4))])


def group_normalization():
    """Makes cases of version 18, which is deprecated in its own opset: the checker refuses it, runtimes take it."""
    for shape, groups in (([2, 6, 3], 2), ([2, 6, 3, 4], 3), ([1, 4, 2], 1), ([2, 4, 5, 3], 4)):
        inputs = [f32(*shape), f32(groups), f32(groups)]
        for shapes in ("static", "symbolic", "unknown"):
            for constants in ((), (1, 2)):
                yield one(
                    f"{groups} groups of {shape}, {shapes}",
                    "GroupNormalization",
                    18,
                    inputs,
                    num_groups=groups,
                    shapes=shapes,
                    constants=constants,
                    epsilon=1e-3,
                    tolerance=1e-5,
                    is_checked=False,
                )
    for kind in (np.float16, np.float64):
        inputs = [f32(*shape).astype(kind) for shape in ([2, 4, 3], [2], [2])]
        yield one(
            f"{kind.__name__}",
            "GroupNormalization",
            18,
            inputs,
            num_groups=2,
            is_checked=False,
            tolerance=2e-2 if kind == np.float16 else 1e-12,
        )
    yield one(
        "groups that do not divide",
        "GroupNormalization",
        18,
        [f32(1, 5, 2), f32(2), f32(2)],
        num_groups=2,
        reach=20,
        why="groups do not divide",
        is_checked=False,
    )


def transposed_convolutions():
    """Makes output shapes that imply odd padding.

    The texts of versions 1 and 11 differ in where that padding goes; the results must not.
    """
    x, w = f32(1, 2, 4, 5), f32(2, 3, 3, 3)
    for output_shape in ([9, 11], [8, 10], [8, 11]):
        for auto_pad in (None, "NOTSET", "SAME_UPPER", "SAME_LOWER"):
            extra = {} if auto_pad is None else {"auto_pad": auto_pad}
            yield one(
                f"output shape {output_shape} {auto_pad}",
                "ConvTranspose",
                7,
                [x, w],
                constants=(1,),
                strides=[2, 2],
                output_shape=output_shape,
                **extra,
            )
    yield one(
        "output shape, dilations",
        "ConvTranspose",
        7,
        [x, w],
        constants=(1,),
        strides=[2, 3],
        dilations=[2, 1],
        output_padding=[1, 0],
        kernel_shape=[3, 3],
        output_shape=[10, 12],
    )
    yield one(
        "output shape, one axis", "ConvTranspose", 10, [f32(1, 2, 4), f32(2, 3, 2)], strides=[2], output_shape=[7]
    )


def attributes_to_inputs():
    x = f32(2, 1, 3, 1)
    for opset in (7, 11, 12):
        yield one("all", "Squeeze", opset, [x])
        yield one("axes", "Squeeze", opset, [x], axes=[1, 3])
        yield one("axes", "Unsqueeze", opset, [f32(2, 3)], axes=[0, 3])
        yield one("default", "Split", opset, [f32(4, 3)], outputs=2)
        yield one("sizes", "Split", opset, [f32(3, 4)], outputs=2, axis=1, split=[1, 3])
    yield one("negative axes", "Squeeze", 11, [x], axes=[-1])
    yield one("negative axes", "Unsqueeze", 11, [f32(2, 3)], axes=[-1, 1])
    yield one("negative axis", "Split", 11, [f32(3, 4)], outputs=2, axis=-1)
    yield one("input", "Split", 13, [f32(4, 3), np.array([1, 3])], outputs=2, constants=(1,))
    yield one("one output", "Split", 13, [f32(4, 3)], outputs=1)
    for op in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"):
        op, data = "Reduce" + op, np.abs(f32(2, 3, 4)) + 0.1
        for opset in (7, 11, 13):
            if op == "ReduceSum" and opset == 13:
                yield one("axes input", op, 13, [data, np.array([1])], constants=(1,))
                yield one("no axes, no reduction", op, 13, [data], noop_with_empty_axes=1)
                continue
            yield one("all", op, opset, [data])
            yield one("all, pruned", op, opset, [data], keepdims=0)
            yield one("axes", op, opset, [data], axes=[0, 2])
            yield one("axes pruned, unknown rank", op, opset, [data], axes=[1], keepdims=0, shapes="unknown")
        yield one("negative axis", op, 11, [data], axes=[-1], keepdims=0)
    for opset in (7, 10):
        yield one("no bounds", "Clip", opset, [np.array([-np.inf, -3, 0, 3, np.inf], np.float32)])
        yield one("both bounds", "Clip", opset, [f32(4, 4)], min=-0.5, max=0.5)
        yield one("lower only", "Clip", opset, [f32(4, 4)], min=0.0)
        yield one("upper only", "Clip", opset, [f32(4, 4)], max=0.25)
    yield one("float64 is bounded by float32", "Clip", 10, [np.array([-1e300, 1e300, 2.0])])
    yield one("float16 bounds", "Clip", 10, [f32(4, 4).astype(np.float16)], min=-0.3, max=0.3)
    yield one("bound inputs", "Clip", 11, [f32(4), None, np.array(0.1, np.float32)])
    for mode in ("constant", "reflect", "edge"):
        for opset in (7, 10):
            yield one(mode, "Pad", opset, [f32(1, 2, 3, 4)], mode=mode, pads=[0, 0, 1, 2, 0, 0, 2, 1])
            yield one(
                mode + " value", "Pad", opset, [f32(1, 2, 3, 4)], mode=mode, value=1.5, pads=[0, 0, 1, 2, 0, 0, 2, 1]
            )
        yield one(mode + " inputs", "Pad", 11, [f32(2, 4), np.array([0, 1, 0, 2])], mode=mode)
    yield one("negative pads", "Pad", 10, [f32(4, 4)], pads=[-1, 0, 0, -1])
    yield one("float16 value", "Pad", 10, [f32(2, 2).astype(np.float16)], pads=[1, 0, 0, 1], value=0.1)
    yield one("float64 value", "Pad", 10, [f32(2, 2).astype(np.float64)], pads=[1, 0, 0, 1], value=0.1)
    for opset in (7, 9):
        yield one("axes", "Slice", opset, [f32(4, 5, 6)], axes=[0, 2], starts=[1, -3], ends=[3, 1000])
        yield one("no axes", "Slice", opset, [f32(4, 5, 6)], starts=[1, 0, 2], ends=[3, 5, -1])
        yield one("fewer starts than dimensions", "Slice", opset, [f32(4, 5, 6)], starts=[1], ends=[3])
        yield one("unknown rank", "Slice", opset, [f32(4, 5)], axes=[1], starts=[0], ends=[2], shapes="unknown")
    yield one("steps", "Slice", 10, [f32(6, 6), np.array([5]), np.array([0]), np.array([1]), np.array([-2])])
    for opset in (7, 9):
        yield one("k 3", "TopK", opset, [f32(3, 6)], outputs=2, k=3)
        yield one("axis 0", "TopK", opset, [f32(6, 3)], outputs=2, k=2, axis=0)
    yield one("k input", "TopK", 10, [f32(3, 6), np.array([2])], outputs=2, constants=(1,))
    for axis in (None, 0, 1, 2):
        extra = {} if axis is None else {"axis": axis}
        yield one(f"axis {axis}", "DFT", 17, [f32(2, 3, 4, 2)], tolerance=0, **extra)
    yield one("length", "DFT", 17, [f32(2, 8, 1), np.array(5)], axis=1)
    yield one("length, onesided", "DFT", 17, [f32(2, 8, 1)], onesided=1)


def softmax():
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        for opset in (7, 11, 12):
            yield one("default", op, opset, [f32(3, 4)])
            yield one("default of three dimensions", op, opset, [f32(2, 3, 4)])
            for axis in (0, 1, 2):
                yield one(f"axis {axis}", op, opset, [f32(2, 3, 4)], axis=axis)
            yield one("symbolic", op, opset, [f32(2, 3, 4)], axis=1, shapes="symbolic", unsettled=13)
            yield one("symbolic matrix", op, opset, [f32(2, 3)], axis=0, shapes="symbolic", unsettled=13)
            yield one("unknown rank", op, opset, [f32(2, 3, 4)], axis=2, shapes="unknown", unsettled=13)
            yield one("one long dimension", op, opset, [f32(2, 5, 1, 1)], axis=1)
            yield one("two long dimensions", op, opset, [f32(2, 5, 1, 3)], axis=1)
            yield one("no long dimension", op, opset, [f32(2, 1, 1)], axis=1)
        for axis in (-1, -2, -3):
            yield one(f"axis {axis}", op, 11, [f32(2, 3, 4)], axis=axis)
            yield one(
                f"axis {axis}, unknown rank",
                op,
                12,
                [f32(2, 3, 4)],
                axis=axis,
                shapes="unknown",
                unsettled=None if axis == -1 else 13,
            )
        for shape in ([0, 3, 4], [2, 0, 4], [2, 3, 0], [0, 3, 0], [0, 0, 0], [2, 0]):
            for axis in range(len(shape)):
                for shapes in ("static", "symbolic", "unknown"):
                    settled = shapes == "static" or (shapes == "symbolic" and axis == len(shape) - 1)
                    settled |= shapes == "symbolic" and len(shape) == 2 and axis == 1
                    yield one(
                        f"no elements in {shape}, axis {axis}, {shapes}",
                        op,
                        11,
                        [f32(*shape)],
                        axis=axis,
                        shapes=shapes,
                        unsettled=None if settled else 13,
                    )
        yield one("ties", op, 9, [np.array([[1, 2, 2], [3, 3, 1]], np.float32)])
        yield one("new form", op, 13, [f32(2, 3, 4)], axis=1)


def resizes():
    image = np.arange(1, 13, dtype=np.float32).reshape(1, 1, 3, 4)
    for scales in ([1, 1, 2, 2], [1, 1, 1.5, 2.5], [1, 1, 1, 3]):
        for mode in ("nearest", "linear"):
            array = np.array(scales, np.float32)
            yield one(f"{mode} {scales}", "Upsample", 7, [image], mode=mode, scales=[float(s) for s in scales])
            yield one(f"{mode} {scales}", "Upsample", 9, [image, array], mode=mode, constants=(1,))
            yield one(f"{mode} {scales}, run-time scales", "Upsample", 9, [image, array], mode=mode)
    for scales in ([1, 1, 2, 2], [1, 1, 0.6, 0.6], [1, 1, 0.5, 2], [1, 1, 3, 0.4], [1, 1, 1, 1], [1, 1, 1.3, 2.7]):
        for mode in ("nearest", "linear"):
            array = np.array(scales, np.float32)
            yield one(f"{mode} {scales}", "Resize", 10, [image, array], mode=mode, constants=(1,))
            yield one(f"{mode} {scales}, run-time scales", "Resize", 10, [image, array], mode=mode)
    none = np.zeros(0, np.float32)
    for opset in (11, 12):
        yield one("scales", "Resize", opset, [image, none, np.array([1, 1, 2, 2], np.float32)], constants=(1, 2))
        yield one("sizes", "Resize", opset, [image, none, none, np.array([1, 1, 5, 7])], constants=(1, 2, 3))
        yield one(
            "run-time sizes",
            "Resize",
            opset,
            [image, none, none, np.array([1, 1, 5, 7])],
            constants=(1, 2),
            mode="linear",
        )
        yield one(
            "cubic",
            "Resize",
            opset,
            [image, none, np.array([1, 1, 2, 2], np.float32)],
            constants=(1, 2),
            mode="cubic",
            coordinate_transformation_mode="align_corners",
        )
        yield one(
            "crop",
            "Resize",
            opset,
            [image, np.array([0, 0, 0.2, 0.2, 1, 1, 0.8, 0.9], np.float32), none, np.array([1, 1, 3, 3])],
            constants=(1, 2, 3),
            mode="linear",
            coordinate_transformation_mode="tf_crop_and_resize",
        )
    big = np.arange(1 * 1 * 37 * 53, dtype=np.float32).reshape(1, 1, 37, 53)
    for data in (image, big):
        for scales in ([2, 2], [1.5, 2.5], [0.6, 0.28], [3, 1], [1.2, 0.8], [0.36, 7.2], [0.25, 0.5], [0.75, 1.25]):
            yield one(
                f"tf_half_pixel_for_nn, floor {data.shape} {scales}",
                "Resize",
                11,
                [data, none, np.array([1, 1] + scales, np.float32)],
                constants=(1, 2),
                nearest_mode="floor",
                coordinate_transformation_mode="tf_half_pixel_for_nn",
            )
    for name, scales, extra in (
        ("between two pixels", [0.6, 0.3], {"constants": (1, 2)}),
        ("run-time scales", [2, 2], {}),
        ("unknown extents", [1.5, 1.5], {"constants": (1, 2), "shapes": "symbolic"}),
    ):
        yield one(
            f"tf_half_pixel_for_nn, {name}, is refused",
            "Resize",
            11,
            [big, none, np.array([1, 1] + scales, np.float32)],
            nearest_mode="floor",
            coordinate_transformation_mode="tf_half_pixel_for_nn",
            reach=12,
            why="edge between two pixels",
            **extra,
        )
    yield one(
        "tf_half_pixel_for_nn, whole scales, symbolic",
        "Resize",
        11,
        [big, none, np.array([1, 1, 3, 2], np.float32)],
        constants=(1, 2),
        nearest_mode="floor",
        coordinate_transformation_mode="tf_half_pixel_for_nn",
        shapes="symbolic",
    )
    for mode in ("round_prefer_floor", "ceil"):
        yield one(
            f"tf_half_pixel_for_nn, {mode} is refused",
            "Resize",
            11,
            [image, none, np.array([1, 1, 2, 2], np.float32)],
            constants=(1, 2),
            nearest_mode=mode,
            coordinate_transformation_mode="tf_half_pixel_for_nn",
            reach=12,
            why="tf_half_pixel_for_nn",
        )
    yield one(
        "tf_half_pixel_for_nn, linear is refused",
        "Resize",
        11,
        [image, none, np.array([1, 1, 2, 2], np.float32)],
        constants=(1, 2),
        mode="linear",
        nearest_mode="floor",
        coordinate_transformation_mode="tf_half_pixel_for_nn",
        reach=12,
        why="tf_half_pixel_for_nn",
    )
    yield one("no roi", "Resize", 13, [image, None, np.array([1, 1, 2, 2], np.float32)])
    yield one(
        "pytorch",
        "Resize",
        13,
        [image, None, None, np.array([1, 1, 5, 2])],
        constants=(3,),
        mode="linear",
        coordinate_transformation_mode="pytorch_half_pixel",
    )
    grid = np.tanh(f32(1, 3, 3, 2))
    for mode in (None, "bilinear", "nearest", "bicubic"):
        yield one(f"{mode}", "GridSample", 16, [f32(1, 2, 4, 4), grid], **({} if mode is None else {"mode": mode}))
    rois = np.array([[0, 0, 3, 3], [1, 1, 4, 5]], np.float32)
    for mode in ("avg", "max"):
        yield one(
            mode,
            "RoiAlign",
            10,
            [f32(1, 2, 6, 6), rois, np.zeros(2, np.int64)],
            mode=mode,
            output_height=2,
            output_width=2,
            sampling_ratio=2,
        )


def moves():
    x = f32(2, 3, 4)
    for opset in (7, 11, 12):
        for op in ("ArgMax", "ArgMin"):
            yield one("default", op, opset, [x])
            yield one("ties", op, opset, [np.array([[1, 1, 0, 0]], np.float32)], axis=1, keepdims=0)
    yield one("axis 2", "Concat", 7, [x, x], axis=2)
    yield one("negative axis", "Concat", 11, [x, x], axis=-1)
    for opset in (7, 9, 11):
        yield one("to int32", "Cast", opset, [x], to=TensorProto.INT32)
    yield one("to float16", "Cast", 13, [x], to=TensorProto.FLOAT16)
    yield one("like", "CastLike", 15, [x, np.zeros(1, np.float16)])
    yield one("perm", "Transpose", 7, [x], perm=[2, 0, 1])
    yield one("axis 2", "Flatten", 7, [x], axis=2)
    yield one("axis 0", "Flatten", 9, [x], axis=0)
    yield one("zero and minus one", "Reshape", 7, [x, np.array([0, -1])], constants=(1,))
    yield one("zero", "Reshape", 13, [x, np.array([0, 12])])
    for opset in (7, 13):
        yield one("all", "Shape", opset, [x])
        yield one("all", "Size", opset, [x])
    yield one("two dims", "Expand", 8, [f32(3, 1), np.array([2, 1, 4])])
    yield one("repeats", "Tile", 7, [x, np.array([1, 2, 1])])
    yield one("axis 1", "Gather", 7, [x, np.array([[0, 2]])], axis=1)
    yield one("negative index", "Gather", 11, [x, np.array([-1])], axis=1)
    yield one("axis 1", "GatherElements", 11, [f32(2, 3), np.array([[0], [2]])], axis=1)
    for opset in (11, 12):
        yield one("pairs", "GatherND", opset, [x, np.array([[0, 1], [1, 2]])])
    yield one("axis 1", "Scatter", 9, [f32(2, 3), np.array([[0], [2]]), f32(2, 1)], axis=1)
    yield one("default axis", "Scatter", 10, [f32(2, 3), np.array([[0, 1, 1]]), f32(1, 3)])
    for opset in (11, 13, 16):
        yield one("axis 1", "ScatterElements", opset, [f32(2, 3), np.array([[0], [2]]), f32(2, 1)], axis=1)
        yield one("rows", "ScatterND", opset, [f32(4, 2), np.array([[1], [3]]), f32(2, 2)])
    yield one("default mode", "DepthToSpace", 7, [f32(1, 4, 2, 2)], blocksize=2)
    yield one("column first", "DepthToSpace", 11, [f32(1, 4, 2, 2)], blocksize=2, mode="CRD")
    yield one("blocks", "SpaceToDepth", 7, [f32(1, 1, 4, 4)], blocksize=2)
    yield one("axis 1", "CumSum", 11, [x, np.array(1, np.int32)])
    yield one("default", "OneHot", 9, [np.array([0, 2]), np.array(3), np.array([0, 1], np.float32)], constants=(1,))
    yield one("k", "EyeLike", 9, [f32(3, 3)], k=1)
    yield one("axis 0", "Compress", 9, [x, np.array([False, True])], axis=0)
    yield one("sequence", "ReverseSequence", 10, [f32(4, 2), np.array([2, 4])])
    yield one("three", "Range", 11, [np.array(0.0, np.float32), np.array(3.0, np.float32), np.array(1.0, np.float32)])
    yield one("upper", "Trilu", 14, [f32(3, 3)])
    yield one("sorted", "Unique", 11, [np.array([2, 1, 1], np.float32)])
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 5, 1, 6]]], np.float32)
    yield one(
        "boxes",
        "NonMaxSuppression",
        10,
        [boxes, np.array([[[0.9, 0.8, 0.7]]], np.float32), np.array([3]), np.array([0.5], np.float32)],
    )
    yield one("int8", "BitShift", 11, [np.array([1, 2], np.uint8), np.array([1, 3], np.uint8)], direction="LEFT")
    tensor = helper.make_tensor("v", F, [2], [1.5, 2.5])
    for opset in (7, 9, 11, 12, 13):
        yield one("tensor", "Constant", opset, [], value=tensor)
    yield one("floats", "Constant", 12, [], value_floats=[1.5, 2.5])
    for opset in (9, 20):
        yield one("default value", "ConstantOfShape", opset, [np.array([2, 3])])
        yield one(
            "int64 value", "ConstantOfShape", opset, [np.array([2, 3])], value=helper.make_tensor("v", I64, [1], [7])
        )


def quantized():
    scale, zero = np.array(0.1, np.float32), np.array(3, np.uint8)
    scales, zeros = np.array([0.1, 0.2, 0.3], np.float32), np.array([1, 2, 3], np.uint8)
    q = np.arange(12, dtype=np.uint8).reshape(4, 3)
    for opset in (10, 13, 19, 21):
        yield one("per tensor", "QuantizeLinear", opset, [f32(4, 3), scale, zero], constants=(1, 2))
        yield one("no zero point", "QuantizeLinear", opset, [f32(4, 3), scale], constants=(1,))
        yield one("per tensor", "DequantizeLinear", opset, [q, scale, zero], constants=(1, 2))
        yield one("no zero point", "DequantizeLinear", opset, [q, scale])
    yield one("one scale of a list", "DequantizeLinear", 10, [q, scale.reshape(1), zero.reshape(1)], constants=(1, 2))
    yield one(
        "one scale of a list", "QuantizeLinear", 10, [f32(4, 3), scale.reshape(1), zero.reshape(1)], constants=(1, 2)
    )
    for opset in (13, 19):
        yield one("per axis", "QuantizeLinear", opset, [f32(4, 3), scales, zeros], constants=(1, 2), axis=1)
        yield one("per axis", "DequantizeLinear", opset, [q, scales, zeros], constants=(1, 2), axis=-1)
    yield one("matrices", "QLinearMatMul", 10, [q, scale, zero, q.T.copy(), scale, zero, scale, zero])
    yield one("dynamic", "DynamicQuantizeLinear", 11, [f32(4, 3)], outputs=3)


def bodies():
    """Makes changes inside bodies, to captured values, and to values that are a body's or the model's output."""
    then = helper.make_graph(
        [helper.make_node("Unsqueeze", ["x"], ["t"], axes=[0]), helper.make_node("Softmax", ["t"], ["a"], axis=1)],
        "then",
        [],
        [info("a", F, [1, 2, 3])],
    )
    other = helper.make_graph(
        [helper.make_node("Clip", ["x"], ["c"], min=0.0), helper.make_node("Unsqueeze", ["c"], ["b"], axes=[0])],
        "else",
        [],
        [info("b", F, [1, 2, 3])],
    )
    for value in (True, False):
        graph = helper.make_graph(
            [helper.make_node("If", ["c0"], ["y"], then_branch=then, else_branch=other)],
            "g",
            [info("c0", TensorProto.BOOL, []), info("x", F, [2, 3])],
            [info("y", F, [1, 2, 3])],
        )
        yield Case(f"If-10 {value}", "If", graph_model(graph, 10), {"c0": np.array(value), "x": f32(2, 3)})
        yield Case(f"If-7 {value}", "If", graph_model(graph, 9), {"c0": np.array(value), "x": f32(2, 3)})
    body = helper.make_graph(
        [
            helper.make_node("Softmax", ["s"], ["s_out"], axis=0),
            helper.make_node("ReduceMean", ["s_out"], ["m"], axes=[0]),
            helper.make_node("Squeeze", ["w"], ["w1"], axes=[0]),
            helper.make_node("Add", ["m", "w1"], ["scan"]),
            helper.make_node("Identity", ["going"], ["going_out"]),
        ],
        "body",
        [info("i", I64, []), info("going", TensorProto.BOOL, []), info("s", F, [2, 3])],
        [info("going_out", TensorProto.BOOL, []), info("s_out", F, [2, 3]), info("scan", F, [1, 3])],
    )
    for opset in (8, 11, 12):
        graph = helper.make_graph(
            [helper.make_node("Loop", ["n", "on", "x"], ["y", "z"], body=body)],
            "g",
            [info("x", F, [2, 3]), info("w", F, [1, 1, 3])],
            [info("y", F, [2, 3]), info("z", F, [2, 1, 3])],
            [numpy_helper.from_array(np.array(2), "n"), numpy_helper.from_array(np.array(True), "on")],
        )
        yield Case(
            f"Loop-{opset} captures",
            "Loop",
            graph_model(graph, opset),
            {"x": f32(2, 3), "w": f32(1, 1, 3)},
            unsettled=13,  # no inference knows what shape a loop's state keeps
        )
    body = helper.make_graph(
        [
            helper.make_node("Add", ["s", "e"], ["t"]),
            helper.make_node("TopK", ["t"], ["v", "k"], k=1),
            helper.make_node("Slice", ["t"], ["o"], starts=[1], ends=[3]),
            helper.make_node("Identity", ["t"], ["s_out"]),
        ],
        "body",
        [info("s", F, [3]), info("e", F, [3])],
        [info("s_out", F, [3]), info("o", F, [2]), info("k", I64, [1])],
    )
    graph = helper.make_graph(
        [helper.make_node("Scan", ["s0", "xs"], ["y", "z", "k0"], body=body, num_scan_inputs=1)],
        "g",
        [info("s0", F, [3]), info("xs", F, [4, 3])],
        [info("y", F, [3]), info("z", F, [4, 2]), info("k0", I64, [4, 1])],
    )
    yield Case("Scan-9 attributes inside", "Scan", graph_model(graph, 9), {"s0": f32(3), "xs": f32(4, 3)})
    yield from batched_scans()


def batched_scans():
    """Makes Scans of version 8, which run over a batch: bodies capture values, nest, and carry several states."""
    inner = helper.make_graph(
        [helper.make_node("Add", ["p", "q"], ["p_out"]), helper.make_node("Mul", ["p_out", "w"], ["r"])],
        "inner",
        [info("p", F, []), info("q", F, [])],
        [info("p_out", F, []), info("r", F, [3])],
    )
    nodes = [
        helper.make_node("Add", ["s", "e"], ["s_out"]),
        helper.make_node("Mul", ["s_out", "w"], ["o"]),
        helper.make_node("TopK", ["o"], ["v", "k"], k=1),
        helper.make_node("Sum", ["t", "e2"], ["t_out"]),
    ]
    body = helper.make_graph(
        nodes,
        "body",
        [info(n, F, [3]) for n in ("s", "t", "e", "e2")],
        [info("s_out", F, [3]), info("t_out", F, [3]), info("o", F, [3]), info("k", I64, [1])],
    )
    for batch, length in ((1, 4), (3, 4), (3, 1), (2, 5)):
        for directions in (None, [0, 1], [1, 1]):
            for symbolic in (False, True):
                extra = {} if directions is None else {"directions": directions}
                scan = helper.make_node(
                    "Scan", ["", "s0", "t0", "xs", "zs"], ["y", "u", "z", "k0"], body=body, num_scan_inputs=2, **extra
                )
                b, n = ("B", "N") if symbolic else (batch, length)
                graph = helper.make_graph(
                    [scan],
                    "g",
                    [
                        info("s0", F, [b, 3]),
                        info("t0", F, [b, 3]),
                        info("xs", F, [b, n, 3]),
                        info("zs", F, [b, n, 3]),
                        info("w", F, [3]),
                    ],
                    [info("y", F, [b, 3]), info("u", F, [b, 3]), info("z", F, [b, n, 3]), info("k0", I64, [b, n, 1])],
                )
                feeds = {
                    "s0": f32(batch, 3),
                    "t0": f32(batch, 3),
                    "xs": f32(batch, length, 3),
                    "zs": f32(batch, length, 3),
                    "w": f32(3),
                }
                yield Case(f"Scan-8 {batch} of {length} {directions} {symbolic}", "Scan", graph_model(graph, 8), feeds)
    body = helper.make_graph(
        [helper.make_node("Scan", ["", "s", "e"], ["s_out", "o"], body=inner, num_scan_inputs=1)],
        "body",
        [info("s", F, [2]), info("e", F, [2, 5])],
        [info("s_out", F, [2]), info("o", F, [2, 5, 3])],
    )
    graph = helper.make_graph(
        [helper.make_node("Scan", ["", "s0", "xs"], ["y", "z"], body=body, num_scan_inputs=1)],
        "g",
        [info("s0", F, [3, 2]), info("xs", F, [3, 4, 2, 5]), info("w", F, [3])],
        [info("y", F, [3, 2]), info("z", F, [3, 4, 2, 5, 3])],
    )
    yield Case("Scan-8 nested", "Scan", graph_model(graph, 8), {"s0": f32(3, 2), "xs": f32(3, 4, 2, 5), "w": f32(3)})
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "e"], ["s_out"])],
        "body",
        [info("s", F, [3]), info("e", F, [3])],
        [info("s_out", F, [3])],
    )
    graph = helper.make_graph(
        [helper.make_node("Scan", ["n", "s0", "xs"], ["y"], body=body, num_scan_inputs=1)],
        "g",
        [info("n", I64, [1]), info("s0", F, [1, 3]), info("xs", F, [1, 4, 3])],
        [info("y", F, [1, 3])],
    )
    yield Case("Scan-8 with lengths is refused", "Scan", graph_model(graph, 8), {}, reach=8, why="different lengths")


def optionals():
    graph = helper.make_graph(
        [
            helper.make_node("Optional", ["x"], ["o"]),
            helper.make_node("OptionalHasElement", ["o"], ["has"]),
            helper.make_node("OptionalGetElement", ["o"], ["y"]),
        ],
        "g",
        [info("x", F, [2])],
        [info("has", TensorProto.BOOL, []), info("y", F, [2])],
    )
    for op in ("OptionalHasElement", "OptionalGetElement"):
        yield Case(f"{op}-15", op, graph_model(graph, 15), {"x": f32(2)})


def whole_models():
    """Makes models with names that are taken, values that are read twice, and other corners.

    Some of the models must stay as they are.
    """
    nodes = [
        helper.make_node("Softmax", ["x"], ["y"], axis=1),
        helper.make_node("Relu", ["y"], ["y_2d"]),
        helper.make_node("Softmax", ["y"], ["y_shape"], axis=0),
        helper.make_node("Squeeze", ["w"], ["y_axes"], axes=[0]),
        helper.make_node("Squeeze", ["y_axes"], ["y_axes_1"], axes=[0]),
    ]
    outputs = [
        info("y", F, [2, 3, 4]),
        info("y_2d", F, [2, 3, 4]),
        info("y_shape", F, [2, 3, 4]),
        info("y_axes_1", F, [5]),
    ]
    graph = helper.make_graph(nodes, "g", [info("x", F, [2, 3, 4]), info("w", F, [1, 1, 5])], outputs)
    yield Case("clash of names", "Softmax", graph_model(graph, 11), {"x": f32(2, 3, 4), "w": f32(1, 1, 5)})
    graph = helper.make_graph(
        [helper.make_node("Softmax", ["x"], ["y"], axis=1)],
        "g",
        [info("x", F, [2, 3, 4])],
        [
            info("y", F, [2, 3, 4]),
        ],
        value_info=[],
    )
    graph.node.append(helper.make_node("Identity", ["y"], ["z"]))
    graph.output.append(info("z", F, [2, 3, 4]))
    graph.value_info.append(info("unrelated", F, [1]))
    model = graph_model(graph, 12)
    del model.graph.value_info[:]
    yield Case("output with a reader", "Softmax", model, {"x": f32(2, 3, 4)})
    graph = helper.make_graph([helper.make_node("Affine", ["x"], ["y"])], "g", [info("x", F, [2])], [info("y", F, [2])])
    unknown = one("x", "Relu", 7, [f32(2)]).model
    unknown.graph.node.append(helper.make_node("Affine", ["y0"], ["z"], domain="other"))
    unknown.opset_import.append(helper.make_opsetid("other", 1))
    double = one("twice", "Squeeze", 11, [f32(1, 3)], axes=[0]).model
    double.opset_import.append(helper.make_opsetid("ai.onnx", 12))
    yield Case("two imports are refused", "Squeeze", double, {}, reach=11, why="several versions")
    function = helper.make_function(
        "local",
        "Half",
        ["a"],
        ["b"],
        [helper.make_node("Squeeze", ["a"], ["b"], axes=[0])],
        [helper.make_opsetid("", 11)],
    )
    graph = helper.make_graph(
        [helper.make_node("Half", ["x"], ["y"], domain="local")], "g", [info("x", F, [1, 3])], [info("y", F, [3])]
    )
    model = helper.make_model(
        graph,
        functions=[function],
        ir_version=8,
        opset_imports=[helper.make_opsetid("", 11), helper.make_opsetid("local", 1)],
    )
    yield Case("function is refused", "Squeeze", model, {}, reach=12, why="function Half")


def all_cases():
    for family in (
        element_wise,
        layers,
        attributes_to_inputs,
        softmax,
        resizes,
        moves,
        quantized,
        bodies,
        optionals,
        whole_models,
    ):
        yield from family()
