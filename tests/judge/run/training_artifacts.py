"""Training graphs as ONNX Runtime's artifacts lay them out, small and made by hand, for runtime_gradients.py.

NumPy computes their gradients. Weights and the buffers that gradients are added to are inputs. The gradient of the loss
begins as the initializer `loss_grad`, 1. Every weight's gradient goes into an InPlaceAccumulatorV2. Its second output,
which the artifacts leave out, shows the sum here.
"""

import dataclasses

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from judge.run.runtime_gradient_cases import convolve, gelu, softmax

KINDS = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "bool": TensorProto.BOOL}


@dataclasses.dataclass
class Artifact:
    name: str
    model: object
    feeds: dict
    gradients: dict  # output -> value
    has_loss: bool = True

    def bad_feeds(self):
        """Returns feeds with an input that is not finite."""
        bad = {name: value.copy() for name, value in self.feeds.items()}
        bad["x"].flat[0] = np.inf
        return bad


class Graph:
    def __init__(self):
        self.nodes, self.feeds, self.constants, self.outputs = [], {}, {"loss_grad": np.ones((), np.float32)}, []

    def __call__(self, operator, inputs, outputs, domain="", **attributes):
        self.nodes.append(
            helper.make_node(
                operator, inputs, outputs, name=f"{operator}_{len(self.nodes)}", domain=domain, **attributes
            )
        )

    def microsoft(self, operator, inputs, outputs, **attributes):
        self(operator, inputs, outputs, "com.microsoft", **attributes)

    def accumulate(self, weight):
        gradient = f"{weight}_grad"
        self.feeds[f"{gradient}.buffer"] = np.zeros_like(self.feeds[weight])
        self.microsoft(
            "InPlaceAccumulatorV2",
            [f"{gradient}.buffer", gradient, "lazy_reset_grad"],
            [f"{gradient}.out", f"{gradient}.sum"],
        )
        self.outputs += [(f"{gradient}.out", TensorProto.BOOL), (f"{gradient}.sum", TensorProto.FLOAT)]

    def artifact(self, name, gradients, loss=True):
        if loss:
            self.outputs.insert(0, ("loss", TensorProto.FLOAT))
            self.feeds["lazy_reset_grad"] = np.array([True])
        given = [
            helper.make_tensor_value_info(key, KINDS[value.dtype.name], value.shape)
            for key, value in self.feeds.items()
        ]
        results = [helper.make_tensor_value_info(key, kind, None) for key, kind in self.outputs]
        constants = [numpy_helper.from_array(value, key) for key, value in self.constants.items()]
        graph = helper.make_graph(self.nodes, name, given, results, constants, value_info=self.known())
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 15), helper.make_opsetid("com.microsoft", 1)], ir_version=8
        )
        return Artifact(
            name, model, self.feeds, {key: np.asarray(value, np.float64) for key, value in gradients.items()}, loss
        )

    def known(self):
        """A pool's gradient takes its shape from here; the artifacts state all shapes."""
        return [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in getattr(self, "shapes", {}).items()
        ]


def numbers(*shape):
    return np.random.default_rng(sum((i + 3) * d for i, d in enumerate(shape))).uniform(-1, 1, shape).astype(np.float32)


def cross_entropy(g, logits, labels):
    """Adds the loss and the gradient of the logits; returns nothing."""
    g("SoftmaxCrossEntropyLoss", [logits, labels], ["loss", "log_prob"], reduction="mean")
    g.microsoft("SoftmaxCrossEntropyLossGrad", ["loss_grad", "log_prob", labels], [f"{logits}_grad"], reduction="mean")


def logits_gradient(logits, labels):
    d = softmax(logits, (1,))
    d[np.arange(len(labels)), labels] -= 1
    return d / len(labels)


def mlp():
    g = Graph()
    g.feeds = {
        "x": numbers(4, 6),
        "labels": np.array([0, 2, 1, 2]),
        "w1": numbers(5, 6),
        "b1": numbers(5),
        "w2": numbers(3, 5),
        "b2": numbers(3),
    }
    g("Gemm", ["x", "w1", "b1"], ["h"], transB=1)
    g("Relu", ["h"], ["a"])
    g("Gemm", ["a", "w2", "b2"], ["z"], transB=1)
    cross_entropy(g, "z", "labels")
    g("Gemm", ["z_grad", "a"], ["w2_grad"], transA=1)
    g("ReduceSum", ["z_grad", "rows"], ["b2_grad"], keepdims=0)
    g("Gemm", ["z_grad", "w2"], ["a_grad"])
    g.microsoft("ReluGrad", ["a_grad", "a"], ["h_grad"])
    g("Gemm", ["h_grad", "x"], ["w1_grad"], transA=1)
    g("ReduceSum", ["h_grad", "rows"], ["b1_grad"], keepdims=0)
    g.constants["rows"] = np.array([0])
    for weight in ("w1", "b1", "w2", "b2"):
        g.accumulate(weight)
    f = {key: value.astype(np.float64) for key, value in g.feeds.items()}
    h = f["x"] @ f["w1"].T + f["b1"]
    a = np.maximum(h, 0)
    dz = logits_gradient(a @ f["w2"].T + f["b2"], g.feeds["labels"])
    dh = (dz @ f["w2"]) * (h > 0)
    return g.artifact(
        "dense",
        {"w1_grad.sum": dh.T @ f["x"], "b1_grad.sum": dh.sum(0), "w2_grad.sum": dz.T @ a, "b2_grad.sum": dz.sum(0)},
    )


def pool(x):
    """Returns the largest element of each 2 x 2 window, and a mask of where it was."""
    n, c, height, width = x.shape
    windows = x.reshape(n, c, height // 2, 2, width // 2, 2)
    largest = windows.max(axis=(3, 5), keepdims=True)
    return largest.squeeze((3, 5)), (windows == largest).reshape(x.shape)


def convolution():
    g = Graph()
    g.feeds = {
        "x": numbers(2, 1, 6, 6),
        "labels": np.array([1, 0]),
        "k": numbers(3, 1, 3, 3),
        "c": numbers(3),
        "w": numbers(12, 2),
        "b": numbers(2),
    }
    g.shapes = {"r_grad": (2, 3, 4, 4)}
    g("Conv", ["x", "k", "c"], ["h"], kernel_shape=[3, 3])
    g("Relu", ["h"], ["r"])
    g("MaxPool", ["r"], ["p", "places"], kernel_shape=[2, 2], strides=[2, 2])
    g("Flatten", ["p"], ["f"])
    g("Gemm", ["f", "w", "b"], ["z"])
    cross_entropy(g, "z", "labels")
    g("Gemm", ["f", "z_grad"], ["w_grad"], transA=1)
    g("ReduceSum", ["z_grad", "rows"], ["b_grad"], keepdims=0)
    g("Gemm", ["z_grad", "w"], ["f_grad"], transB=1)
    g("Shape", ["p"], ["p_shape"])
    g("Reshape", ["f_grad", "p_shape"], ["p_grad"])
    g("MaxPoolGrad", ["p_grad", "places"], ["r_grad"], kernel_shape=[2, 2], strides=[2, 2])
    g.microsoft("ReluGrad", ["r_grad", "r"], ["h_grad"])
    g.microsoft("ConvGrad", ["h_grad", "x", "k"], ["", "k_grad", "c_grad"], kernel_shape=[3, 3])
    g.constants["rows"] = np.array([0])
    for weight in ("k", "c", "w", "b"):
        g.accumulate(weight)
    f = {key: value.astype(np.float64) for key, value in g.feeds.items()}
    h = convolve(f["x"], f["k"], f["c"], 1, 0, 1, 1)
    p, was = pool(np.maximum(h, 0))
    flat = p.reshape(2, 12)
    dz = logits_gradient(flat @ f["w"] + f["b"], g.feeds["labels"])
    dp = (dz @ f["w"].T).reshape(p.shape)
    dh = dp.repeat(2, 2).repeat(2, 3) * was * (h > 0)
    dk = np.zeros_like(f["k"])
    for i, j in np.ndindex(3, 3):
        dk[:, 0, i, j] = (dh * f["x"][:, :, i : i + 4, j : j + 4]).sum(axis=(0, 2, 3))
    return g.artifact(
        "images",
        {"k_grad.sum": dk, "c_grad.sum": dh.sum(axis=(0, 2, 3)), "w_grad.sum": flat.T @ dz, "b_grad.sum": dz.sum(0)},
    )


def language():
    """Makes a graph of a table, a norm, a Gelu as ONNX Runtime fuses it, and a scale by what was kept."""
    g = Graph()
    g.feeds = {
        "ids": np.array([[1, 4, 1], [0, 2, 2]]),
        "labels": np.array([[2, 0, 1], [1, 1, 3]]),
        "x": numbers(2, 3, 6),
        "table": numbers(5, 6),
        "scale": numbers(6),
        "shift": numbers(6),
        "w": numbers(6, 4),
    }
    g("Gather", ["table", "ids"], ["e"])
    g("Add", ["e", "x"], ["s"])
    g("LayerNormalization", ["s", "scale", "shift"], ["n", "mean", "factor"], axis=-1)
    g.microsoft("Gelu", ["n"], ["a"])
    g("MatMul", ["a", "w"], ["y"])
    g.microsoft("Scale", ["y", "half"], ["u"])
    g("Reshape", ["u", "logits_shape"], ["z"])
    g("Reshape", ["labels", "labels_shape"], ["flat_labels"])
    cross_entropy(g, "z", "flat_labels")
    g("Reshape", ["z_grad", "y_shape"], ["u_grad"])
    g.microsoft("Scale", ["u_grad", "half"], ["y_grad"])
    g.microsoft("FusedMatMul", ["a", "y_grad"], ["w_grads"], transA=1)
    g.microsoft("ReduceSumTraining", ["w_grads", "rows"], ["w_grad"], keepdims=0)
    g.microsoft("FusedMatMul", ["y_grad", "w"], ["a_grad"], transB=1)
    g.microsoft("GeluGrad", ["a_grad", "n"], ["n_grad"])
    g.microsoft(
        "LayerNormalizationGrad",
        ["n_grad", "s", "scale", "mean", "factor"],
        ["s_grad", "scale_grad", "shift_grad"],
        axis=-1,
    )
    g("Shape", ["table"], ["table_shape"])
    g.microsoft("GatherGrad", ["table_shape", "ids", "s_grad"], ["table_grad"], axis=0)
    g.constants |= {
        "half": np.array(0.5, np.float32),
        "rows": np.array([0]),
        "logits_shape": np.array([6, 4]),
        "labels_shape": np.array([6]),
        "y_shape": np.array([2, 3, 4]),
    }
    for weight in ("table", "scale", "shift", "w"):
        g.accumulate(weight)
    f = {key: value.astype(np.float64) for key, value in g.feeds.items()}
    s = f["table"][g.feeds["ids"]] + f["x"]
    deviation = np.sqrt(s.var(-1, keepdims=True) + 1e-5)
    normal = (s - s.mean(-1, keepdims=True)) / deviation
    n = normal * f["scale"] + f["shift"]
    a = gelu(n)
    dz = logits_gradient(0.5 * (a @ f["w"]).reshape(6, 4), g.feeds["labels"].ravel()).reshape(2, 3, 4) * 0.5
    da = dz @ f["w"].T
    slope = gelu(n) / n + n * np.exp(-0.5 * n * n) / np.sqrt(2 * np.pi)
    dn = da * slope
    d = dn * f["scale"]
    ds = (d - d.mean(-1, keepdims=True) - normal * (d * normal).mean(-1, keepdims=True)) / deviation
    table = np.zeros_like(f["table"])
    np.add.at(table, g.feeds["ids"], ds)
    return g.artifact(
        "language",
        {
            "table_grad.sum": table,
            "scale_grad.sum": (dn * normal).sum((0, 1)),
            "shift_grad.sum": dn.sum((0, 1)),
            "w_grad.sum": np.einsum("bsi,bso->io", a, dz),
        },
    )


def parts():
    """Slices, parts that are joined and taken apart, a quotient, Dropout with its mask."""
    g = Graph()
    mask = np.array([[True, False, True], [True, True, False]])
    g.feeds = {
        "x": numbers(2, 4),
        "labels": np.array([1, 0]),
        "w": numbers(4, 4),
        "v": numbers(2, 3),
        "d": numbers(3) + 2,
        "mask": mask,
    }
    g("MatMul", ["x", "w"], ["h"])
    g("Slice", ["h", "one", "four", "one"], ["s"])
    g.microsoft("ConcatTraining", ["s", "v"], ["j", "lengths"], axis=1)
    g("Slice", ["j", "zero", "three", "one"], ["left"])
    g("Slice", ["j", "three", "six", "one"], ["right"])
    g("Add", ["left", "right"], ["sum"])
    g("Div", ["sum", "d"], ["q"])
    g("Where", ["mask", "q", "nothing"], ["kept"])
    g("Mul", ["kept", "two"], ["z"])
    cross_entropy(g, "z", "labels")
    g.microsoft("DropoutGrad", ["z_grad", "mask", "ratio"], ["q_grad"])
    g.microsoft("DivGrad", ["q_grad", "sum", "d"], ["sum_grad", "d_grad"])
    g("Concat", ["sum_grad", "sum_grad"], ["j_grad"], axis=1)
    g.microsoft("SplitTraining", ["j_grad", "lengths"], ["s_grad", "v_grad"], axis=1)
    g("Shape", ["h"], ["h_shape"])
    g.microsoft("SliceGrad", ["s_grad", "h_shape", "one", "four", "one"], ["h_grad"])
    g("Gemm", ["x", "h_grad"], ["w_grad"], transA=1)
    g.constants |= {
        name: np.array([value]) for name, value in (("zero", 0), ("one", 1), ("three", 3), ("four", 4), ("six", 6))
    }
    g.constants |= {
        "nothing": np.zeros((), np.float32),
        "two": np.array(2, np.float32),
        "ratio": np.array(0.5, np.float32),
    }
    for weight in ("w", "v", "d"):
        g.accumulate(weight)
    f = {key: value.astype(np.float64) for key, value in g.feeds.items()}
    total = (f["x"] @ f["w"])[:, 1:] + f["v"]
    dz = logits_gradient(2 * np.where(mask, total / f["d"], 0), g.feeds["labels"])
    dq = np.where(mask, 2 * dz, 0)
    dh = np.concatenate([np.zeros((2, 1)), dq / f["d"]], axis=1)
    return g.artifact(
        "parts",
        {"w_grad.sum": f["x"].T @ dh, "v_grad.sum": dq / f["d"], "d_grad.sum": (-dq * total / f["d"] ** 2).sum(0)},
    )


def optimizer():
    """The artifacts' fourth file: AdamW on clipped gradients. It has no loss, and so gets no loss scale."""
    g = Graph()
    names = ("w", "b")
    shapes = {"w": (3, 2), "b": (2,)}
    g.feeds = {
        f"{name}{suffix}": numbers(*shapes[name], len(suffix) + 1)[..., 0]
        for name in names
        for suffix in ("", "_grad", "_first", "_second.")
    }
    g.feeds = {name: np.abs(value) if "second" in name else value for name, value in g.feeds.items()}
    g.feeds |= {"rate": np.array([0.1], np.float32), "step": np.array([3])}
    for key, suffix in (("weights", ""), ("gradients", "_grad"), ("first", "_first"), ("second", "_second.")):
        g("SequenceConstruct", [f"{name}{suffix}" for name in names], [key])
    g.microsoft("InplaceClipGradNorm", ["gradients"], ["clipped"], max_norm=0.5, norm_type="fro")
    g.microsoft(
        "AdamWOptimizer",
        ["rate", "step", "weights", "clipped", "first", "second"],
        ["done", "new", "new_first", "new_second"],
        adam_mode=0,
        correct_bias=1,
        weight_decay=0.01,
    )
    g.constants = {"place0": np.array(0), "place1": np.array(1)}
    for i, name in enumerate(names):
        g("SequenceAt", ["new", f"place{i}"], [f"{name}_new"])
        g.outputs.append((f"{name}_new", TensorProto.FLOAT))
    f = {key: value.astype(np.float64) for key, value in g.feeds.items()}
    norm = np.sqrt(sum((f[f"{name}_grad"] ** 2).sum() for name in names))
    factor, expected = min(1, 0.5 / (norm + 1e-6)), {}
    for name in names:
        d = f[f"{name}_grad"] * factor
        first, second = 0.9 * f[f"{name}_first"] + 0.1 * d, 0.999 * f[f"{name}_second."] + 0.001 * d * d
        decayed = f[name] * (1 - 0.1 * 0.01)
        expected[f"{name}_new"] = decayed - 0.1 * (first / (1 - 0.9**3)) / (np.sqrt(second / (1 - 0.999**3)) + 1e-8)
    return g.artifact("optimizer", expected, loss=False)


def artifacts():
    for make in (mlp, convolution, language, parts, optimizer):
        yield make()
