"""The cases of gradients.py: nodes as ONNX's text, and the points at which their gradients are compared."""

import dataclasses

import numpy as np

OPSETS = (13, 18, 22)
IN_FLOAT32 = {"step": 3e-3, "tolerance": 1e-3}  # what the evaluator, or the operator, does in float32


@dataclasses.dataclass
class Case:
    name: str
    body: str
    inputs: dict
    outputs: tuple = ("y",)
    of: tuple = ()  # all inputs of a float type
    constants: tuple = ()  # inputs that are initializers
    opsets: tuple = OPSETS
    symbolic: bool = True  # symbolic dimensions too
    finite: bool = False  # the derivative is not compared, but is finite
    in_runtime: bool = (
        False  # run by onnxruntime: the evaluator takes old opsets for new ones, and counts places in pools wrongly
    )
    refused: str = ""  # part of the error
    step: float = 1e-5  # of the central differences
    tolerance: float = 2e-6

    def __post_init__(self):
        self.of = list(self.of or [n for n, a in self.inputs.items() if a.dtype == np.float64])


class Points:
    """Random operands. Away from the steps and corners of what they are for."""

    def __init__(self, seed):
        self.numbers = np.random.default_rng(seed)

    def normal(self, *shape):
        return self.numbers.standard_normal(shape)

    def positive(self, *shape):
        return self.numbers.uniform(0.5, 2.0, shape)

    def within(self, low, high, *shape):
        return self.numbers.uniform(low, high, shape)

    def apart(self, *shape):
        """Different numbers, none near zero nor near one another."""
        size = int(np.prod(shape))
        return ((self.numbers.permutation(size) - size / 2 + 0.3) * (4.0 / max(size, 8))).reshape(shape)


def activations(p):
    for op in (
        "Elu",
        "HardSigmoid",
        "LeakyRelu",
        "Relu",
        "Selu",
        "Sigmoid",
        "Softplus",
        "Softsign",
        "Tanh",
        "ThresholdedRelu",
    ):
        yield Case(op, f"y = {op} (x)", {"x": p.apart(3, 5)})
    yield Case("Erf", "y = Erf (x)", {"x": p.apart(3, 5)}, **IN_FLOAT32)
    for alpha in ("", "<alpha = 2.0>"):
        yield Case(
            f"Celu {alpha}",
            f"a = Cast <to = 1> (x) b = Celu {alpha} (a) y = Cast <to = 11> (b)",
            {"x": p.apart(3, 5)},
            **IN_FLOAT32,
        )
    yield Case("Elu alpha", "y = Elu <alpha = 0.3> (x)", {"x": p.apart(3, 5)})
    yield Case("HardSigmoid alpha", "y = HardSigmoid <alpha = 0.4, beta = 0.6> (x)", {"x": p.apart(3, 5)})
    yield Case("LeakyRelu alpha", "y = LeakyRelu <alpha = 0.3> (x)", {"x": p.apart(3, 5)})
    yield Case("Selu constants", "y = Selu <alpha = 1.2, gamma = 0.9> (x)", {"x": p.apart(3, 5)})
    yield Case("ThresholdedRelu alpha", "y = ThresholdedRelu <alpha = 0.2> (x)", {"x": p.apart(3, 5)})
    yield Case("HardSwish", "y = HardSwish (x)", {"x": 3 * p.apart(3, 5)}, opsets=(14, 22))
    yield Case("Mish", "y = Mish (x)", {"x": p.apart(3, 5)}, opsets=(18, 22))
    yield Case("Gelu", "y = Gelu (x)", {"x": p.apart(3, 5)}, opsets=(20,), **IN_FLOAT32)
    yield Case("Gelu tanh", 'y = Gelu <approximate = "tanh"> (x)', {"x": p.apart(3, 5)}, opsets=(20,))
    yield Case("Swish", "y = Swish <alpha = 1.5> (x)", {"x": p.apart(3, 5)}, opsets=(24,))
    yield Case("PRelu", "y = PRelu (x, s)", {"x": p.apart(2, 3, 4), "s": p.normal(3, 1)})
    yield Case("PRelu scalar", "y = PRelu (x, s)", {"x": p.apart(2, 3), "s": p.normal(1)})
    yield Case("Clip", "y = Clip (x, l, h)", {"x": p.apart(3, 5), "l": np.array(-0.77), "h": np.array(0.91)})
    yield Case("Clip below", "y = Clip (x, l)", {"x": p.apart(3, 5), "l": np.array(-0.77)}, of=("x",))
    yield Case("Clip above", "y = Clip (x, , h)", {"x": p.apart(3, 5), "h": np.array(0.77)}, of=("x",))
    yield Case("Clip of nothing", "y = Clip (x)", {"x": p.apart(3, 5)})


def arithmetic(p):
    for op in ("Add", "Sub", "Mul", "Div"):
        for a, b in (((3, 4), (3, 4)), ((3, 4), (4,)), ((2, 1, 4), (3, 1)), ((), (2, 3)), ((3, 1), (1, 4))):
            yield Case(f"{op} {list(a)} {list(b)}", f"y = {op} (x, w)", {"x": p.normal(*a), "w": p.positive(*b)})
    yield Case("Mul of itself", "y = Mul (x, x)", {"x": p.normal(3, 4)})
    yield Case(
        "one value, many readers",
        "a = Tanh (x) b = Mul (a, x) c = Add (a, b) d = Sub (c, a) y = Mul (d, a)",
        {"x": p.normal(3, 4)},
    )
    for op in ("Abs", "Neg", "Exp", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Atan", "Asinh"):
        yield Case(op, f"y = {op} (x)", {"x": p.apart(3, 3) / 3})
    for op in ("Log", "Sqrt", "Reciprocal"):
        yield Case(op, f"y = {op} (x)", {"x": p.positive(3, 4)})
    for op in ("Asin", "Acos", "Atanh"):
        yield Case(op, f"y = {op} (x)", {"x": p.within(-0.8, 0.8, 3, 4)})
    yield Case("Acosh", "y = Acosh (x)", {"x": p.within(1.5, 3, 3, 4)})
    for op in ("Max", "Min", "Sum", "Mean"):
        yield Case(
            f"{op} of three", f"y = {op} (x, v, w)", {"x": p.normal(2, 3), "v": p.normal(3), "w": p.normal(2, 1)}
        )
        yield Case(f"{op} of one", f"y = {op} (x)", {"x": p.normal(2, 3)})
    yield Case("Pow", "y = Pow (x, e)", {"x": p.positive(3, 4), "e": p.normal(4)})
    yield Case("Pow by a whole number's type", "e = Constant <value_int = 3> () y = Pow (x, e)", {"x": p.normal(3, 4)})
    for exponent in (0, 1, 2, 3, -1, 0.5):
        e = {"x": p.positive(3, 4), "e": np.array(float(exponent))}
        yield Case(f"Pow by {exponent}", "y = Pow (x, e)", e, of=("x",), constants=("e",))
    for exponent in (0, 1, 2, 3):
        zero = {"x": np.array([0.0, 1.0, -2.0]), "e": np.array(float(exponent))}
        yield Case(f"Pow by {exponent} at base 0", "y = Pow (x, e)", zero, of=("x",), constants=("e",), finite=True)
        yield Case(f"Pow by {exponent} at base 0, exponent no constant", "y = Pow (x, e)", zero, of=("x",), finite=True)
    yield Case(
        "Pow at base 0, of the exponent",
        "y = Pow (x, e)",
        {"x": np.array([0.0, 1.0]), "e": np.array([0.5, 2.0])},
        of=("e",),
        finite=True,
    )
    yield Case("Where", "c = Greater (x, w) y = Where (c, x, w)", {"x": p.normal(2, 3), "w": p.normal(3)})
    yield Case(
        "Cast there and back",
        "a = Cast <to = 1> (x) b = Cast <to = 11> (a) y = Mul (b, b)",
        {"x": p.normal(3)},
        **IN_FLOAT32,
    )
    yield Case("CastLike", "y = CastLike (x, w)", {"x": p.normal(3), "w": p.normal(1)}, of=("x",), opsets=(15, 22))
    yield Case(
        "only through a step", "a = Floor (x) y = Mul (a, a)", {"x": p.normal(3)}, refused="does not depend on 'x'"
    )
    yield Case("a step beside", "a = Floor (x) y = Mul (a, x)", {"x": p.apart(3) + 0.11})


def matrices(p):
    for a, b in (
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (6, 3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((3,), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((3,), (5, 3, 4)),
        ((5, 2, 3), (3,)),
        ((5, 6, 2, 3), (3, 4)),
        ((1, 2, 3), (5, 3, 4)),
    ):
        yield Case(f"MatMul {list(a)} {list(b)}", "y = MatMul (x, w)", {"x": p.normal(*a), "w": p.normal(*b)})
    for ta in (0, 1):
        for tb in (0, 1):
            a, b = ((3, 2) if ta else (2, 3)), ((4, 3) if tb else (3, 4))
            for c in ((4,), (2, 4), (2, 1), ()):
                yield Case(
                    f"Gemm transA {ta} transB {tb} C {list(c)}",
                    f"y = Gemm <alpha = 0.5, beta = 2.0, transA = {ta}, transB = {tb}> (x, w, c)",
                    {"x": p.normal(*a), "w": p.normal(*b), "c": p.normal(*c)},
                )
    yield Case("Gemm without C", "y = Gemm (x, w)", {"x": p.normal(2, 3), "w": p.normal(3, 4)})


def einsums(p):
    for equation, shapes in (
        ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))),
        ("ij,jk", ((2, 3), (3, 4))),
        ("bhqd,bhkd->bhqk", ((1, 2, 3, 4), (1, 2, 5, 4))),
        ("ij->i", ((2, 3),)),
        ("ij,kj->", ((2, 3), (4, 3))),
        ("i,j,k->ijk", ((2,), (3,), (4,))),
    ):
        names = "xvw"[: len(shapes)]
        yield Case(
            f"Einsum {equation}",
            f'y = Einsum <equation = "{equation}"> ({", ".join(names)})',
            {n: p.normal(*s) for n, s in zip(names, shapes)},
        )
    yield Case(
        "Einsum of a diagonal", 'y = Einsum <equation = "ii->i"> (x)', {"x": p.normal(3, 3)}, refused="an index twice"
    )


def losses(p):
    labels = np.array([1, 0, 3, 2])
    weights = {"c": p.positive(4)}
    for reduction in ("mean", "sum", "none"):
        for name, weight, attributes in (
            ("", {}, ""),
            (", weights", weights, ""),
            (", ignore_index", weights, ", ignore_index = 3"),
        ):
            inputs = {"x": p.normal(4, 4), "t": labels, **weight}
            for op in ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"):
                yield Case(
                    f"{op} {reduction}{name}",
                    f'y = {op} <reduction = "{reduction}"{attributes}> ({", ".join(inputs)})',
                    inputs,
                    of=("x",),
                )
    images = {"x": p.normal(2, 4, 3), "t": np.array([[1, 0, 3], [2, 2, 0]])}
    yield Case("SoftmaxCrossEntropyLoss of positions", "y = SoftmaxCrossEntropyLoss (x, t)", images, of=("x",))


def reductions(p):
    for op in (
        "ReduceSum",
        "ReduceMean",
        "ReduceL1",
        "ReduceL2",
        "ReduceSumSquare",
        "ReduceLogSumExp",
        "ReduceMax",
        "ReduceMin",
        "ReduceLogSum",
    ):
        x = {"x": p.positive(2, 3, 4) if op == "ReduceLogSum" else p.apart(2, 3, 4)}
        yield Case(f"{op} of all", f"y = {op} (x)", x)
        yield Case(f"{op} of all, no axis kept", f"y = {op} <keepdims = 0> (x)", x)
        for axes in ("1", "0, -1"):
            for keep in (0, 1):
                old, new = (13,), (18, 22)
                if op == "ReduceSum":
                    old, new = (), (13, 18, 22)
                if old:
                    yield Case(
                        f"{op} of {axes}, keepdims {keep}",
                        f"y = {op} <axes = [{axes}], keepdims = {keep}> (x)",
                        x,
                        opsets=old,
                    )
                yield Case(
                    f"{op} of {axes}, keepdims {keep}",
                    f"a = Constant <value_ints = [{axes}]> () y = {op} <keepdims = {keep}> (x, a)",
                    x,
                    opsets=new,
                )
    yield Case(
        "ReduceSum of no axis",
        "a = Constant <value = int64[0] {}> () y = ReduceSum <noop_with_empty_axes = 1> (x, a)",
        {"x": p.normal(2, 3)},
        symbolic=False,
    )
    yield Case("ReduceL2 of zeros", "y = ReduceL2 (x)", {"x": np.zeros((2, 2))}, finite=True)
    for exclusive in (0, 1):
        for reverse in (0, 1):
            yield Case(
                f"CumSum exclusive {exclusive} reverse {reverse}",
                f"a = Constant <value_int = 1> () y = CumSum <exclusive = {exclusive}, reverse = {reverse}> (x, a)",
                {"x": p.normal(2, 4)},
            )


def shapes(p):
    x = {"x": p.normal(2, 3, 4)}
    yield Case("Identity", "y = Identity (x)", x)
    yield Case("Reshape", "s = Constant <value_ints = [4, -1]> () y = Reshape (x, s)", x)
    yield Case("Flatten", "y = Flatten <axis = 2> (x)", x)
    yield Case("Transpose", "y = Transpose (x)", x)
    yield Case("Transpose perm", "y = Transpose <perm = [1, 2, 0]> (x)", x)
    yield Case("Squeeze", "a = Constant <value_ints = [1]> () y = Squeeze (x, a)", {"x": p.normal(2, 1, 4)})
    yield Case("Unsqueeze", "a = Constant <value_ints = [0, -1]> () y = Unsqueeze (x, a)", x)
    yield Case("Expand", "s = Constant <value_ints = [2, 5, 4]> () y = Expand (x, s)", {"x": p.normal(5, 1)})
    yield Case("shapes on the way", "s = Shape (x) y = Reshape (x, s)", x)


def softmaxes(p):
    for op in ("Softmax", "LogSoftmax"):
        for axis in (-1, 0, 1):
            yield Case(f"{op} axis {axis}", f"y = {op} <axis = {axis}> (x)", {"x": p.normal(2, 3, 4)})
            yield Case(
                f"{op} axis {axis} of an old opset",
                f"y = {op} <axis = {axis}> (x)",
                {"x": p.normal(2, 3, 4)},
                opsets=(11,),
                symbolic=False,
                in_runtime=True,
            )
        yield Case(f"{op} without axis", f"y = {op} (x)", {"x": p.normal(2, 3)})
        yield Case(
            f"{op} without axis of an old opset",
            f"y = {op} (x)",
            {"x": p.normal(2, 3, 4)},
            opsets=(11,),
            symbolic=False,
            in_runtime=True,
        )


def more_shapes(p):
    yield Case(
        "Concat", "y = Concat <axis = 1> (x, v, w)", {"x": p.normal(2, 3), "v": p.normal(2, 1), "w": p.normal(2, 4)}
    )
    yield Case(
        "Concat, last axis, two of three asked for",
        "y = Concat <axis = -1> (x, v, w)",
        {"x": p.normal(2, 3), "v": p.normal(2, 1), "w": p.normal(2, 4)},
        of=("x", "w"),
    )
    yield Case("Concat of one", "y = Concat <axis = 0> (x)", {"x": p.normal(2, 3)})
    split = "s = Constant <value_ints = [1, 3, 2]> () "
    yield Case("Split", split + "y, z, v = Split <axis = 1> (x, s)", {"x": p.normal(2, 6)}, outputs=("y", "z", "v"))
    yield Case(
        "Split, a part is not read",
        split + "y, z, v = Split <axis = -1> (x, s)",
        {"x": p.normal(2, 6)},
        outputs=("y", "v"),
    )
    yield Case("Split in two", "y, z = Split <axis = 1> (x)", {"x": p.normal(2, 6)}, outputs=("y", "z"), opsets=(13,))
    yield Case("Tile", "r = Constant <value_ints = [2, 1, 3]> () y = Tile (x, r)", {"x": p.normal(2, 3, 2)})
    for mode in ("DCR", "CRD"):
        yield Case(
            f"DepthToSpace {mode}",
            f'y = DepthToSpace <blocksize = 2, mode = "{mode}"> (x)',
            {"x": p.normal(2, 12, 2, 3)},
        )
    yield Case("SpaceToDepth", "y = SpaceToDepth <blocksize = 2> (x)", {"x": p.normal(2, 3, 4, 6)})
    for upper in (0, 1):
        yield Case(
            f"Trilu upper {upper}",
            f"k = Constant <value_int = 1> () y = Trilu <upper = {upper}> (x, k)",
            {"x": p.normal(2, 3, 4)},
            opsets=(14, 22),
        )
    yield Case("Dropout that does not train", "y = Dropout (x)", {"x": p.normal(3, 4)})


def slices(p):
    def parts(**values):
        return " ".join(f"{n} = Constant <value_ints = {list(v)}> ()" for n, v in values.items()) + " "

    x = {"x": p.normal(4, 5, 3)}
    yield Case("Slice", parts(b=[1, 0], e=[3, -1], a=[0, 1]) + "y = Slice (x, b, e, a)", x)
    yield Case("Slice without axes", parts(b=[1, -3], e=[9, 4]) + "y = Slice (x, b, e)", x)
    yield Case("Slice with steps", parts(b=[0, 4], e=[9, -9], a=[0, 1], s=[2, -1]) + "y = Slice (x, b, e, a, s)", x)
    yield Case(
        "Slice by sizes",
        parts(a=[0], z=[0])
        + "h = Shape (x) e = Slice (h, z, a) b = Constant <value_ints = [1]> () o = Constant <value_ints = [0]> () "
        "f = Constant <value_ints = [3]> () y = Slice (x, b, f, o)",
        x,
    )
    yield Case("Pad", parts(q=[1, 0, 2, 0, 3, 1]) + "y = Pad (x, q)", x)
    yield Case("Pad of axes", parts(q=[1, 2], a=[-1]) + "y = Pad (x, q, , a)", x, opsets=(18, 22))
    for mode in ("reflect", "edge"):
        yield Case(f"Pad {mode}", parts(q=[1, 0, 2, 0, 2, 1]) + f'y = Pad <mode = "{mode}"> (x, q)', x, opsets=(16, 22))


def indices(p):
    i = np.array([[1, 0], [3, 1]])
    for axis in (0, 1, -1):
        yield Case(
            f"Gather axis {axis}",
            f"y = Gather <axis = {axis}> (x, i)",
            {"x": p.normal(4, 5, 4), "i": i},
            opsets=(16, 22),
        )
    yield Case(
        "Gather of one",
        "i = Constant <value_int = -2> () y = Gather <axis = 1> (x, i)",
        {"x": p.normal(4, 5)},
        opsets=(13, 22),
    )
    yield Case(
        "Gather, negative and repeated",
        "y = Gather (x, i)",
        {"x": p.normal(4, 3), "i": np.array([0, -1, 0, 3])},
        opsets=(16, 22),
    )
    yield Case("GatherElements", "y = GatherElements <axis = 1> (x, i)", {"x": p.normal(2, 4), "i": i}, opsets=(16, 22))
    yield Case(
        "GatherND",
        "y = GatherND (x, i)",
        {"x": p.normal(4, 3, 2), "i": np.array([[1, 0], [3, 1], [1, 0]])},
        opsets=(16, 22),
    )
    places = np.array([[1, 0], [3, 1]])
    yield Case(
        "ScatterElements",
        "y = ScatterElements <axis = 1> (x, i, u)",
        {"x": p.normal(2, 4), "i": places, "u": p.normal(2, 2)},
        opsets=(13, 16, 22),
    )
    yield Case(
        "ScatterElements add",
        'y = ScatterElements <axis = 1, reduction = "add"> (x, i, u)',
        {"x": p.normal(2, 4), "i": places, "u": p.normal(2, 2)},
        opsets=(16, 22),
    )
    yield Case(
        "ScatterND",
        "y = ScatterND (x, i, u)",
        {"x": p.normal(4, 3), "i": np.array([[1], [3]]), "u": p.normal(2, 3)},
        opsets=(13, 16, 22),
    )
    yield Case("TopK", "k = Constant <value_ints = [2]> () y, z = TopK <axis = 1> (x, k)", {"x": p.apart(3, 5)})
    for transformation in ("asymmetric", "half_pixel"):
        yield Case(
            f"Resize nearest {transformation}",
            "s = Constant <value_floats = [1.0, 1.0, 2.0, 1.5]> () "
            f'y = Resize <mode = "nearest", coordinate_transformation_mode = "{transformation}"> (x, , s)',
            {"x": p.normal(1, 2, 3, 4)},
            opsets=(16, 18),
        )
    yield Case(
        "Resize linear",
        's = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> () y = Resize <mode = "linear"> (x, , s)',
        {"x": p.normal(1, 2, 3, 4)},
        refused="mode 'linear'",
    )


def convolutions(p):
    forms = {
        "": ((2, 3, 5, 6), (4, 3, 3, 2), ""),
        "1 axis": ((2, 3, 7), (4, 3, 3), ""),
        "3 axes": ((1, 2, 4, 3, 5), (3, 2, 2, 1, 3), ""),
        "strides": ((2, 3, 7, 6), (4, 3, 3, 2), "strides = [2, 3]"),
        "strides and pads": ((2, 3, 7, 6), (4, 3, 3, 2), "strides = [2, 2], pads = [1, 0, 2, 1]"),
        "dilations": ((2, 3, 7, 6), (4, 3, 3, 2), "dilations = [2, 3], pads = [2, 1, 0, 3]"),
        "SAME_UPPER": ((2, 3, 6, 5), (4, 3, 3, 2), 'auto_pad = "SAME_UPPER", strides = [2, 2]'),
        "SAME_LOWER": ((2, 3, 6, 5), (4, 3, 3, 2), 'auto_pad = "SAME_LOWER"'),
        "VALID": ((2, 3, 6, 5), (4, 3, 3, 2), 'auto_pad = "VALID", strides = [2, 2]'),
    }
    for name, (x, w, attributes) in forms.items():
        shown = f"<{attributes}>" if attributes else ""
        values = {"x": p.normal(*x), "w": p.normal(*w), "b": p.normal(w[0])}
        yield Case(
            f"Conv {name}",
            f"y = Conv {shown} (x, w, b)",
            values,
            constants=("w", "b"),
            opsets=(13, 22),
            symbolic=name != "SAME_UPPER",
        )
    yield Case(
        "Conv without a bias, of the weights alone",
        "y = Conv (x, w)",
        {"x": p.normal(2, 3, 5, 5), "w": p.normal(4, 3, 3, 3)},
        of=("w",),
        constants=("w",),
        opsets=(13,),
    )
    forms = {
        "": ((2, 3, 4, 5), (3, 4, 3, 2), ""),
        "strides": ((2, 3, 4, 5), (3, 4, 3, 2), "strides = [2, 3]"),
        "strides, pads, output_padding": (
            (2, 3, 4, 5),
            (3, 4, 3, 2),
            "strides = [2, 3], pads = [1, 0, 1, 1], output_padding = [1, 2]",
        ),
        "dilations": ((2, 3, 4, 5), (3, 4, 3, 2), "dilations = [2, 1]"),
    }  # groups: gradient_models.py, for the evaluator fails at them
    for name, (x, w, attributes) in forms.items():
        shown = f"<{attributes}>" if attributes else ""
        values = {"x": p.normal(*x), "w": p.normal(*w), "b": p.normal(w[1])}
        yield Case(
            f"ConvTranspose {name}",
            f"y = ConvTranspose {shown} (x, w, b)",
            values,
            constants=("w", "b"),
            opsets=(13, 22),
        )


def pools(p):
    x = {"x": p.apart(2, 3, 7, 6)}
    forms = {
        "": "kernel_shape = [2, 3]",
        "strides": "kernel_shape = [3, 2], strides = [2, 2]",
        "pads": "kernel_shape = [3, 3], strides = [2, 1], pads = [1, 1, 0, 1]",
        "SAME_UPPER": 'kernel_shape = [3, 2], strides = [2, 2], auto_pad = "SAME_UPPER"',
    }
    for name, attributes in forms.items():
        yield Case(
            f"MaxPool {name}",
            f"y = MaxPool <{attributes}> (x)",
            x,
            opsets=(13, 16, 22),
            symbolic=name != "SAME_UPPER",
            in_runtime=True,
        )
        yield Case(
            f"AveragePool {name}",
            f"y = AveragePool <{attributes}> (x)",
            x,
            opsets=(13, 19, 22),
            symbolic=name != "SAME_UPPER",
        )
    for include in (0, 1):
        for pads in ("", ", pads = [1, 1, 1, 1]"):
            for opset in (13, 19, 22):
                yield Case(
                    f"AveragePool ceil_mode, count_include_pad {include}{pads}",
                    "y = AveragePool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1, "
                    f"count_include_pad = {include}{pads}> (x)",
                    x,
                    opsets=(opset,),
                    symbolic=False,
                )
        yield Case(
            f"AveragePool pads, count_include_pad {include}",
            f"y = AveragePool <kernel_shape = [3, 2], strides = [2, 2], count_include_pad = {include}, "
            "pads = [1, 0, 1, 1]> (x)",
            x,
        )
    yield Case(
        "AveragePool dilations", "y = AveragePool <kernel_shape = [2, 2], dilations = [2, 3]> (x)", x, opsets=(19, 22)
    )
    yield Case(
        "MaxPool ceil_mode",
        "y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x)",
        x,
        opsets=(16, 22),
    )
    yield Case("MaxPool dilations", "y = MaxPool <kernel_shape = [2, 2], dilations = [2, 3]> (x)", x, opsets=(16, 22))
    for op in ("GlobalAveragePool", "GlobalMaxPool"):
        yield Case(op, f"y = {op} (x)", x)
    huge = "kernel_shape = [262144, 262144], pads = [262144, 262144, 262144, 262144]"
    yield Case(
        "AveragePool with a window of 2^36 elements",
        f"y = AveragePool <{huge}> (x)",
        x,
        symbolic=False,
        refused="its window has more than",
        opsets=(13,),
    )


def norms(p):
    c = {"x": p.normal(4, 3, 5), "s": p.positive(3), "b": p.normal(3)}
    stats = {"m": p.normal(3), "v": p.positive(3)}
    yield Case(
        "BatchNormalization frozen",
        "y = BatchNormalization <epsilon = 0.01> (x, s, b, m, v)",
        {**c, **stats},
        in_runtime=True,
    )
    for shape in ((4, 3), (4, 3, 5), (4, 3, 2, 5)):
        values = {"x": p.normal(*shape), "s": p.positive(3), "b": p.normal(3), **stats}
        yield Case(
            f"BatchNormalization that trains {list(shape)}",
            "y, rm, rv = BatchNormalization <epsilon = 0.01, training_mode = 1> (x, s, b, m, v)",
            values,
            of=("x", "s", "b"),
            opsets=(14, 15, 22),
        )
    for axis in (-1, 1, 0):
        shape = (4, 3, 5)[axis:] if axis else (4, 3, 5)
        yield Case(
            f"LayerNormalization axis {axis}",
            f"y = LayerNormalization <axis = {axis}, epsilon = 0.01> (x, s, b)",
            {"x": p.normal(4, 3, 5), "s": p.positive(*shape), "b": p.normal(*shape)},
            constants=("s", "b"),
            opsets=(17, 22),
            **IN_FLOAT32,
        )
        yield Case(
            f"RMSNormalization axis {axis}",
            f"y = RMSNormalization <axis = {axis}, epsilon = 0.01> (x, s)",
            {"x": p.normal(4, 3, 5), "s": p.positive(*shape)},
            constants=("s",),
            opsets=(23,),
            **IN_FLOAT32,
        )
    yield Case(
        "LayerNormalization without a shift",
        "y = LayerNormalization (x, s)",
        {"x": p.normal(4, 5), "s": p.positive(5)},
        opsets=(17,),
        **IN_FLOAT32,
    )
    yield Case("InstanceNormalization", "y = InstanceNormalization <epsilon = 0.01> (x, s, b)", c)
    g = {"x": p.normal(2, 4, 3), "s": p.positive(4), "b": p.normal(4)}
    yield Case(
        "GroupNormalization, through its body",
        "y = GroupNormalization <num_groups = 2, epsilon = 0.01> (x, s, b)",
        g,
        opsets=(21, 22),
        **IN_FLOAT32,
    )
    yield Case(
        "MeanVarianceNormalization, through its body",
        "a = Cast <to = 1> (x) b = MeanVarianceNormalization <axes = [0, 2]> (a) y = Cast <to = 11> (b)",
        {"x": p.normal(4, 3, 5)},
        opsets=(13, 18),
        **IN_FLOAT32,
    )


def attentions(p):
    q = {"q": p.normal(2, 2, 3, 4), "k": p.normal(2, 2, 5, 4), "v": p.normal(2, 2, 5, 4)}
    yield Case("Attention, through its body", "y = Attention (q, k, v)", q, opsets=(23,), symbolic=False, **IN_FLOAT32)
    yield Case(
        "Attention that is causal, through its body",
        "y = Attention <is_causal = 1> (q, k, v)",
        q,
        opsets=(23,),
        symbolic=False,
        **IN_FLOAT32,
    )
    flat = {"q": p.normal(2, 3, 8), "k": p.normal(2, 5, 8), "v": p.normal(2, 5, 8)}
    yield Case(
        "Attention of two heads, through its body",
        "y = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v)",
        flat,
        opsets=(23,),
        symbolic=False,
        **IN_FLOAT32,
    )


def refusals(p):
    yield Case(
        "no rule",
        "a = Relu (x) b = Det (a) y = Neg (b)",
        {"x": p.normal(2, 2)},
        refused="no gradient rule for this operator; the way to it: the loss 'loss'",
    )
    yield Case(
        "control flow",
        "c = Constant <value = bool {1}> () y = If (c) <then_branch = t () => (double[2] u) { u = Neg (x) }, "
        "else_branch = e () => (double[2] v) "
        "{ v = Abs (x) }>",
        {"x": p.normal(2)},
        refused="no gradient goes through control flow",
        symbolic=False,
    )
    yield Case("not on the way", "y = Neg (x)", {"x": p.normal(2), "w": p.normal(2)}, refused="does not depend on 'w'")


FAMILIES = (
    activations,
    arithmetic,
    matrices,
    einsums,
    losses,
    reductions,
    shapes,
    more_shapes,
    slices,
    indices,
    softmaxes,
    convolutions,
    pools,
    norms,
    attentions,
    refusals,
)


def all_cases(seed):
    for family in FAMILIES:
        yield from family(Points(seed))
