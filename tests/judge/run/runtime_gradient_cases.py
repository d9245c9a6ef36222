"""Gradients of ONNX Runtime's training graphs, one node each, for runtime_gradients.py.

Each case has the forward function in NumPy.
"""

import dataclasses
import math

import numpy as np
from onnx import TensorProto, helper

erf = np.vectorize(math.erf)


@dataclasses.dataclass
class Case:
    name: str
    function: object  # of the operands, in float64
    operands: list
    inputs: list  # of the node: "dy", "0" for operand 0, or an array; None: absent
    gradients: list  # by output: the operand that it is of; None: absent
    attributes: dict = dataclasses.field(default_factory=dict)
    operator: str = ""
    domain: str = "com.microsoft"
    fixed: dict = dataclasses.field(
        default_factory=dict
    )  # name -> what the forward operator has computed besides, of floats

    def __post_init__(self):
        self.operator = self.operator or self.name.split()[0]
        result = np.asarray(self.function(*self.operands))
        self.dy = np.random.default_rng(len(self.name)).uniform(-1, 1, result.shape)

    def _floats(self):
        return {"dy": self.dy, **{f"x{i}": operand for i, operand in enumerate(self.operands)}, **self.fixed}

    def feeds(self):
        return self._floats() | {
            f"in{i}": value for i, value in enumerate(self.inputs) if isinstance(value, np.ndarray)
        }

    def model(self, element):
        """Everything goes in as float64 and comes out so; the node computes in `element`."""
        names, nodes = [], []
        for i, value in enumerate(self.inputs):
            if value is None or isinstance(value, np.ndarray):
                names.append("" if value is None else f"in{i}")
                continue
            source = f"x{value}" if value.isdigit() else value
            nodes.append(helper.make_node("Cast", [source], [f"low{i}"], to=element))
            names.append(f"low{i}")
        outputs = ["" if port is None else f"g{i}" for i, port in enumerate(self.gradients)]
        nodes.append(helper.make_node(self.operator, names, outputs, domain=self.domain, **self.attributes))
        nodes += [
            helper.make_node("Cast", [f"g{i}"], [f"d{i}"], to=TensorProto.DOUBLE)
            for i, port in enumerate(self.gradients)
            if port is not None
        ]
        kinds = {
            "float64": TensorProto.DOUBLE,
            "int64": TensorProto.INT64,
            "bool": TensorProto.BOOL,
            "float32": TensorProto.FLOAT,
        }
        given = [
            helper.make_tensor_value_info(name, kinds[value.dtype.name], value.shape)
            for name, value in self.feeds().items()
        ]
        results = [
            helper.make_tensor_value_info(f"d{i}", TensorProto.DOUBLE, None)
            for i, port in enumerate(self.gradients)
            if port is not None
        ]
        known = [
            helper.make_tensor_value_info(f"g{i}", element, self.operands[port].shape)
            for i, port in enumerate(self.gradients)
            if port is not None
        ]
        graph = helper.make_graph(nodes, "g", given, results, value_info=known)
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8
        )


def r(*shape, low=-1.0):
    """Away from 0, where slopes change."""
    values = np.random.default_rng(sum((i + 2) * d for i, d in enumerate(shape))).uniform(low, 1, shape)
    return np.asarray(values + 0.05 * np.sign(values))


def gelu(x):
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def fast_gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axes):
    e = np.exp(x - x.max(axis=axes, keepdims=True))
    return e / e.sum(axis=axes, keepdims=True)


def activations():
    x = r(3, 4)
    yield Case("ReluGrad", lambda x: np.maximum(x, 0), [x], ["dy", "0"], [0])
    yield Case(
        "ReluGrad of its output", lambda x: np.maximum(x, 0), [x], ["dy", "y"], [0], fixed={"y": np.maximum(x, 0)}
    )
    yield Case("GeluGrad", gelu, [x], ["dy", "0"], [0])
    yield Case("FastGeluGrad", fast_gelu, [x], ["dy", "0"], [0])
    yield Case("QuickGeluGrad", lambda x: x * sigmoid(1.5 * x), [x], ["dy", "0"], [0], {"alpha": 1.5})
    yield Case("SigmoidGrad", sigmoid, [x], ["dy", "y"], [0], fixed={"y": sigmoid(x)})
    yield Case("TanhGrad", np.tanh, [x], ["dy", "y"], [0], fixed={"y": np.tanh(x)})
    yield Case(
        "LeakyReluGrad",
        lambda x: np.where(x > 0, x, 0.25 * x),
        [x],
        ["dy", "y"],
        [0],
        {"alpha": 0.25},
        fixed={"y": np.where(x > 0, x, 0.25 * x)},
    )
    yield Case("BiasGeluGrad_dX", lambda x: gelu(x + r(4)), [x], ["dy", "0", "b"], [0], fixed={"b": r(4)})
    yield Case("BiasFastGeluGrad_dX", lambda x: fast_gelu(x + r(4)), [x], ["dy", "0", "b"], [0], fixed={"b": r(4)})
    mask = np.random.default_rng(1).random((3, 4)) > 0.4
    yield Case(
        "DropoutGrad",
        lambda x: np.where(mask, x / 0.75, 0),
        [x],
        ["dy", mask, np.array(0.25, np.float32), np.array(True)],
        [0],
    )
    yield Case(
        "DropoutGrad that does not train",
        lambda x: x,
        [x],
        ["dy", mask, np.array(0.25, np.float32), np.array(False)],
        [0],
    )
    for shapes in ((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (2, 3, 4)), ((), (3, 4)):
        a, b = r(*shapes[0]), r(*shapes[1], low=0.5)
        yield Case(f"DivGrad {shapes}", np.divide, [a, b], ["dy", "0", "1"], [0, 1])


def softmaxes():
    x = r(2, 3, 4)
    for axis in (0, 1, 2, -1, -2):
        of = lambda x, axis=axis: softmax(x, (axis,))
        coerced = lambda x, axis=axis: softmax(x, tuple(range(axis % 3, 3)))
        yield Case(f"SoftmaxGrad_13 {axis}", of, [x], ["dy", "y"], [0], {"axis": axis}, fixed={"y": of(x)})
        yield Case(f"SoftmaxGrad {axis}", coerced, [x], ["dy", "y"], [0], {"axis": axis}, fixed={"y": coerced(x)})
        log, log_coerced = (lambda x, f=of: np.log(f(x))), (lambda x, f=coerced: np.log(f(x)))
        yield Case(f"LogSoftmaxGrad_13 {axis}", log, [x], ["dy", "y"], [0], {"axis": axis}, fixed={"y": log(x)})
        yield Case(
            f"LogSoftmaxGrad {axis}", log_coerced, [x], ["dy", "y"], [0], {"axis": axis}, fixed={"y": log_coerced(x)}
        )


def losses():
    for shape in ((4, 3), (2, 3, 5)):
        x, labels = r(*shape), np.random.default_rng(3).integers(0, 3, (shape[0], *shape[2:]))
        for reduction in ("mean", "sum", "none"):
            for weighted in (False, True):
                for ignored in (None, 1):
                    weights = r(3, low=0.2) if weighted else np.ones(3)
                    factors = np.where(labels == ignored, 0, weights[labels])

                    def loss(x, labels=labels, factors=factors, reduction=reduction):
                        picked = (
                            -np.take_along_axis(np.log(softmax(x, (1,))), np.expand_dims(labels, 1), 1).squeeze(1)
                            * factors
                        )
                        return (
                            picked
                            if reduction == "none"
                            else picked.sum()
                            if reduction == "sum"
                            else picked.sum() / factors.sum()
                        )

                    fixed = {"p": np.log(softmax(x, (1,)))} | ({"w": weights} if weighted else {})
                    inputs = ["dy", "p", labels] + (["w"] if weighted else [])
                    name = f"{shape} {reduction} weighted {weighted} ignored {ignored}"
                    attributes = {"reduction": reduction} | ({} if ignored is None else {"ignore_index": ignored})
                    yield Case(f"SoftmaxCrossEntropyLossGrad {name}", loss, [x], inputs, [0], attributes, fixed=fixed)
                    padded = inputs + ([] if weighted else [None]) + ([] if ignored is None else [np.array(ignored)])
                    yield Case(
                        f"SoftmaxCrossEntropyLossInternalGrad {name}",
                        loss,
                        [x],
                        padded,
                        [0],
                        {"reduction": reduction},
                        fixed=fixed,
                    )


def layers():
    for axis in (-1, 1):
        axes = (2,) if axis == -1 else (1, 2)
        x, scale, bias = r(2, 3, 4), r(*((4,) if axis == -1 else (3, 4))), r(*((4,) if axis == -1 else (3, 4)))
        inverse = lambda x, axes=axes: 1 / np.sqrt(x.var(axis=axes, keepdims=True) + 1e-5)
        norm = lambda x, s, b, axes=axes, inverse=inverse: (x - x.mean(axis=axes, keepdims=True)) * inverse(x) * s + b
        fixed = {"mean": x.mean(axis=axes, keepdims=True), "factor": inverse(x)}
        yield Case(
            f"LayerNormalizationGrad {axis}",
            norm,
            [x, scale, bias],
            ["dy", "0", "1", "mean", "factor"],
            [0, 1, 2],
            {"axis": axis},
            fixed=fixed,
        )
        yield Case(
            f"InvertibleLayerNormalizationGrad {axis}",
            norm,
            [x, scale, bias],
            ["dy", "y", "1", "2", "factor"],
            [0, 1, 2],
            {"axis": axis},
            fixed={"y": norm(x, scale, bias), "factor": inverse(x)},
        )
        root = lambda x, axes=axes: 1 / np.sqrt((x * x).mean(axis=axes, keepdims=True) + 1e-5)
        yield Case(
            f"SimplifiedLayerNormalizationGrad {axis}",
            lambda x, s, root=root: x * root(x) * s,
            [x, scale],
            ["dy", "0", "1", "factor"],
            [0, 1],
            {"axis": axis},
            fixed={"factor": root(x)},
        )
    x, scale, bias = r(3, 2, 2, 2), r(2), r(2)
    by_channel = lambda v: v.reshape(1, 2, 1, 1)
    inverse = lambda x: 1 / np.sqrt(x.var(axis=(0, 2, 3)) + 1e-5)
    norm = lambda x, s, b: (x - by_channel(x.mean(axis=(0, 2, 3)))) * by_channel(inverse(x) * s) + by_channel(b)
    yield Case(
        "BatchNormalizationGrad",
        norm,
        [x, scale, bias],
        ["dy", "0", "1", "mean", "factor"],
        [0, 1, 2],
        {"epsilon": 1e-5},
        fixed={"mean": x.mean(axis=(0, 2, 3)), "factor": inverse(x)},
    )


def convolve(x, w, b, stride, pad, dilation, group):
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    kernel = w.shape[2]
    reach = dilation * (kernel - 1) + 1
    height, width = (x.shape[2] - reach) // stride + 1, (x.shape[3] - reach) // stride + 1
    outs, ins = w.shape[0] // group, w.shape[1]
    y = np.zeros((x.shape[0], w.shape[0], height, width))
    for m in range(w.shape[0]):
        channels = x[:, m // outs * ins : (m // outs + 1) * ins]
        for i, j in np.ndindex(height, width):
            window = channels[
                :, :, i * stride : i * stride + reach : dilation, j * stride : j * stride + reach : dilation
            ]
            y[:, m, i, j] = (window * w[m]).sum(axis=(1, 2, 3)) + b[m]
    return y


def convolutions():
    for stride, pad, dilation, group in ((1, 0, 1, 1), (2, 1, 1, 1), (1, 1, 2, 2), (2, 0, 1, 2)):
        x, w, b = r(2, 2, 5, 5), r(4, 2 // group, 3, 3), r(4)
        attributes = {
            "strides": [stride] * 2,
            "pads": [pad] * 4,
            "dilations": [dilation] * 2,
            "group": group,
            "kernel_shape": [3, 3],
        }
        function = lambda x, w, b, a=(stride, pad, dilation, group): convolve(x, w, b, *a)
        yield Case(
            f"ConvGrad {stride} {pad} {dilation} {group}", function, [x, w, b], ["dy", "0", "1"], [0, 1, 2], attributes
        )
    yield Case(
        "ConvGrad of weights alone",
        lambda x, w, b: convolve(x, w, b, 1, 0, 1, 1),
        [r(1, 1, 4, 4), r(2, 1, 3, 3), r(2)],
        ["dy", "0", "1"],
        [None, 1],
        {"kernel_shape": [3, 3]},
    )
    x = r(1, 2, 4, 4)
    windows = lambda x: x.reshape(1, 2, 2, 2, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(1, 2, 2, 2, 4)
    places = windows(np.arange(32, dtype=np.float64).reshape(x.shape))
    indices = np.take_along_axis(places, windows(x).argmax(-1)[..., None], -1)[..., 0].astype(np.int64)
    yield Case(
        "MaxPoolGrad",
        lambda x: windows(x).max(-1),
        [x],
        ["dy", indices],
        [0],
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        domain="",
    )
    yield Case(
        "AveragePoolGrad",
        lambda x: windows(x).mean(-1),
        [x],
        ["dy"],
        [0],
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        domain="",
    )

    def padded(x, counts):
        sums, sizes = (convolve(v, np.ones((1, 1, 3, 3)), np.zeros(1), 1, 1, 1, 1) for v in (x, np.ones_like(x)))
        return sums / (9 if counts else sizes)

    for counts in (0, 1):
        attributes = {"kernel_shape": [3, 3], "pads": [1] * 4, "count_include_pad": counts}
        yield Case(
            f"AveragePoolGrad padded {counts}",
            lambda x, c=counts: padded(x, c),
            [r(1, 1, 4, 4)],
            ["dy"],
            [0],
            attributes,
            domain="",
        )


def moves():
    x = r(4, 3, 2)
    shape = np.array(x.shape)
    for axis in (0, 1, -1):
        indices = np.array([[1, 0, 1], [-1, 1, 0]])
        yield Case(
            f"GatherGrad {axis}",
            lambda x, a=axis, i=indices: np.take(x, i, axis=a),
            [x],
            [shape, indices, "dy"],
            [0],
            {"axis": axis},
        )
        picks = np.random.default_rng(2).integers(-2, 2, (2, 3, 2))
        yield Case(
            f"GatherElementsGrad {axis}",
            lambda x, a=axis, p=picks: np.take_along_axis(x[:2] if a else x, p, a),
            [x],
            ["dy", shape, picks],
            [0],
            {"axis": axis},
        )
    tuples = np.array([[0, 1], [3, 2], [0, 1]])
    yield Case("GatherNDGrad", lambda x: x[tuples[:, 0], tuples[:, 1]], [x], [shape, tuples, "dy"], [0])
    batched = np.array([[2], [0], [2], [1]])
    yield Case(
        "GatherNDGrad of a batch",
        lambda x: x[np.arange(4), batched[:, 0]],
        [x],
        [shape, batched, "dy"],
        [0],
        {"batch_dims": 1},
    )
    ints = lambda *values: np.array(values)
    yield Case("SliceGrad", lambda x: x[1:3, :, :1], [x], ["dy", shape, ints(1, 0), ints(3, 1), ints(0, 2)], [0])
    yield Case(
        "SliceGrad backwards",
        lambda x: x[::-2, 1:],
        [x],
        ["dy", shape, ints(-1, 1), ints(-99, 99), ints(0, -2), ints(-2, 1)],
        [0],
    )
    yield Case("SliceGrad without axes", lambda x: x[1:, :2], [x], ["dy", shape, ints(1, 0), ints(99, 2)], [0])


def cases():
    for family in (activations, softmaxes, losses, layers, convolutions, moves):
        yield from family()
