"""Makes random valid flat ONNX models.

`generate(seed, smooth)` returns a model of 8 to 40 nodes at one of the opsets 11, 13, 17, 22 and the newest. Over many
seeds the models have:
  - more than 80 kinds of operators, integer and boolean paths, casts to float16 and bfloat16 and back
  - shared weights, 0-d and empty tensors
  - initializers that are also inputs (IR 3: all of them; IR 4 on: some), and an initializer as an output
  - unnamed nodes, nodes that share a name, and nodes out of order
  - graph outputs that are read inside
  - skipped optional inputs and outputs
Weights are multiples of 1/8 up to 2. They are exact in both low types, so that narrowing them changes nothing. One
model in ten also has a constant that is not exact (`has_extreme_constant(model)`).
A `smooth` model has only operators on positive values that do not enlarge relative errors, so that a bound on the error
can be asked of it.

One invariant is not obvious: every operator function knows the shapes that it makes, so the generator runs no
inference. The judge checks the models before it uses them.
"""

import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
OPSETS = [11, 13, 17, 22, onnx.defs.onnx_opset_version()]
IR_OF_OPSET = {11: 6, 13: 7, 17: 8, 22: 10}
NUMPY = {F: np.float32, I: np.int64, B: np.bool_}
EXTREMES = [1e-12, 1e9, -3.4e38, 1e-7]


# Inputs that a node can do without and give the same shape and type.
DISPENSABLE = {
    "Clip": [1, 2],
    "Conv": [2],
    "DequantizeLinear": [2],
    "GRU": [3, 5],
    "Gemm": [2],
    "LSTM": [3, 5],
    "LayerNormalization": [2],
    "Pad": [2],
    "QuantizeLinear": [2],
    "RNN": [3, 5],
    "Slice": [3, 4],
}
ABSENT_INPUT, ABSENT_OUTPUT = 0.25, 0.5  # chances


def drop_inputs(op, inputs, source):
    """Leaves some dispensable inputs out; the last ones as empty names, or not at all."""
    kept = [
        "" if i in DISPENSABLE.get(op, ()) and source.random() < ABSENT_INPUT else name for i, name in enumerate(inputs)
    ]
    while kept and not kept[-1] and source.random() < 0.7:
        kept.pop()
    return kept


def drop_outputs(nodes, read, opset, source):
    """Leaves some optional outputs out that nobody reads; returns their names."""
    dropped = set()
    for node in nodes:
        if not onnx.defs.has(node.op_type, opset, node.domain):
            continue
        ports = onnx.defs.get_schema(node.op_type, opset, node.domain).outputs
        for i, name in enumerate(node.output):
            optional = i < len(ports) and ports[i].option == onnx.defs.OpSchema.FormalParameterOption.Optional
            if (
                optional
                and name
                and name not in read
                and source.random() < ABSENT_OUTPUT
                and sum(map(bool, node.output)) > 1
            ):
                dropped.add(name)
                node.output[i] = ""
        while node.output and not node.output[-1] and source.random() < 0.7:
            node.output.pop()
    return dropped


def has_extreme_constant(model):
    return any(t.name.startswith("extreme") for t in model.graph.initializer)


class Builder:
    def __init__(self, seed, smooth):
        self.random, self.smooth = random.Random(seed), smooth
        self.absence = random.Random(seed + 1_000_003)  # apart, so that a graph is the same but for what is absent
        self.opset = self.random.choice(OPSETS)
        self.values, self.nodes, self.inputs, self.constants = [], [], [], []
        self.twins = self.random.choice([0, 0, 1])  # nodes that share a name
        self.read, self.extreme = set(), self.random.random() < 0.1 and not smooth
        for shape in ([2, 3], [1, 2, 4, 4], *self.random.choices([[3, 4], [], [0, 3], [1], [2, 3, 4], [2, 3]], k=2)):
            self.input(F, [2, 3] if smooth and 0 in shape else shape)

    def chance(self, p):
        return self.random.random() < p

    def fresh(self, stem):
        return f"{stem}{len(self.values) + len(self.constants) + len(self.inputs)}"

    def input(self, dtype, shape):
        name = self.fresh("in")
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        self.values.append((name, dtype, list(shape)))
        return self.values[-1]

    def constant(self, array, stem="w"):
        name = self.fresh(stem)
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, shape):
        """A float initializer of this shape; sometimes one that exists already, shared."""
        for tensor in self.constants:
            if (
                tensor.data_type == F
                and list(tensor.dims) == list(shape)
                and self.chance(0.4)
                and not tensor.name.startswith("scale")
            ):
                return tensor.name
        if self.extreme and self.chance(0.3):
            return self.constant(np.full(shape, self.random.choice(EXTREMES), np.float32), "extreme")
        low = 1 if self.smooth else -16
        count = int(np.prod(shape))
        return self.constant(
            np.array([self.random.randint(low, 16) / 8 for _ in range(count)], np.float32).reshape(shape)
        )

    def ints(self, *numbers):
        return self.constant(np.array(numbers, np.int64), "k")

    def pick(self, dtype=F, rank=None, nonempty=True, shape=None):
        """(name, dtype, shape) of a value of that kind, made as a new input when there is none."""
        fits = [
            v
            for v in self.values
            if v[1] == dtype
            and (rank is None or len(v[2]) == rank)
            and not (nonempty and 0 in v[2])
            and (shape is None or v[2] == shape)
        ]
        if fits and (shape is None or self.chance(0.8)):
            # Late values twice as likely, so that chains grow; unread ones first, so that few nodes hang loose.
            loose = [v for v in fits if v[0] not in self.read]
            chosen = self.random.choice(loose if loose and self.chance(0.5) else fits + fits[-4:])
        elif shape is not None and dtype == F and self.chance(0.6):
            chosen = (self.weight(shape), F, list(shape))
        else:
            chosen = self.input(
                dtype,
                shape
                if shape is not None
                else {0: [], 1: [3], 2: [2, 3], 3: [2, 3, 4], 4: [1, 2, 4, 4]}[2 if rank is None else rank],
            )
        self.read.add(chosen[0])
        return chosen

    def node(self, op, inputs, outputs, **attributes):
        """Adds a node; `outputs` are (dtype, shape) or None for a skipped optional output. Returns the output names."""
        names = []
        for output in outputs:
            names.append("" if output is None else self.fresh("v"))
            if output is not None:
                self.values.append((names[-1], output[0], list(output[1])))
        label = f"n{len(self.nodes)}_{op.lower()}"
        label = self.random.choices([label, "", "twin"], [8, 2, self.twins])[0]
        self.nodes.append(helper.make_node(op, drop_inputs(op, inputs, self.absence), names, name=label, **attributes))
        return names


def unary(op, since=1, **attributes):
    def add(b):
        name, _, shape = b.pick(nonempty=b.chance(0.7))
        b.node(op, [name], [(F, shape)], **attributes)

    return since, add


def binary(op, since=1, constant=False, dtype=F, result=None, **attributes):
    def add(b):
        name, _, shape = b.pick(dtype, nonempty=b.chance(0.8))
        if dtype != F:
            other = b.pick(dtype, shape=shape)[0]
        else:
            other = (
                b.weight(shape if b.chance(0.5) else shape[-1:] if shape and shape[-1] else [])
                if constant or b.chance(0.5)
                else b.pick(F, shape=shape)[0]
            )
        inputs = [name, other] if constant or b.chance(0.7) or op == "PRelu" else [other, name]
        b.node(op, inputs, [(result or dtype, shape)], **attributes)

    return since, add


def variadic(op):
    def add(b):
        name, _, shape = b.pick(nonempty=False)
        others = [
            b.weight(shape) if b.chance(0.3) else b.pick(F, shape=shape)[0] for _ in range(b.random.randint(0, 2))
        ]
        b.node(op, [name, *others], [(F, shape)])

    return 1, add


def reduction(op, input_since):
    def add(b):
        name, _, shape = b.pick(rank=b.random.choice([2, 3, 4]))
        axis, keep = b.random.randrange(len(shape)), b.random.randint(0, 1)
        axis_stated = axis - len(shape) if b.chance(0.5) else axis
        result = [1 if i == axis else d for i, d in enumerate(shape) if keep or i != axis]
        if b.opset >= input_since:
            b.node(op, [name, b.ints(axis_stated)], [(F, result)], keepdims=keep)
        else:
            b.node(op, [name], [(F, result)], axes=[axis_stated], keepdims=keep)

    return 1, add


def operator(since=1):
    def mark(function):
        OPERATORS[function.__name__.rstrip("_")] = (since, function)
        return function

    return mark


OPERATORS = {
    op: unary(op)
    for op in (
        "Relu Tanh Sigmoid Abs Neg Exp Sqrt Reciprocal Erf Elu LeakyRelu Selu Softplus Softsign HardSigmoid "
        "Floor Ceil Round Sign Identity Sin Cos Log Atan"
    ).split()
}
OPERATORS |= {
    "HardSwish": unary("HardSwish", 14),
    "Mish": unary("Mish", 18),
    "Gelu": unary("Gelu", 20),
    "Celu": unary("Celu", 12),
    "ThresholdedRelu": unary("ThresholdedRelu", alpha=0.5),
    "Swish": unary("Swish", 24),
}
OPERATORS |= {op: binary(op) for op in "Add Sub Mul Div PRelu".split()} | {
    "Pow": binary("Pow", constant=True),
    "Mod": binary("Mod", fmod=1),
}
OPERATORS |= {op: binary(op, result=B) for op in "Greater Less Equal".split()} | {
    op: binary(op, 12, result=B) for op in "GreaterOrEqual LessOrEqual".split()
}
OPERATORS |= {op: binary(op, dtype=B) for op in "And Or Xor".split()}
OPERATORS |= {op: variadic(op) for op in "Max Min Sum Mean".split()}
OPERATORS |= {
    op: reduction(op, 18)
    for op in "ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSumExp".split()
} | {"ReduceSum": reduction("ReduceSum", 13)}


@operator()
def Softmax(b, op="Softmax"):
    name, _, shape = b.pick(rank=2)
    b.node(op, [name], [(F, shape)], axis=b.random.choice([-1, 1]))


@operator()
def LogSoftmax(b):
    Softmax(b, "LogSoftmax")


@operator()
def Hardmax(b):
    Softmax(b, "Hardmax")


@operator()
def LpNormalization(b):
    name, _, shape = b.pick(rank=2)
    b.node("LpNormalization", [name], [(F, shape)], axis=1, p=2)


@operator()
def CumSum(b):
    name, _, shape = b.pick(rank=2)
    b.node("CumSum", [name, b.constant(np.array(1, np.int64), "k")], [(F, shape)])


@operator()
def Not(b):
    name, _, shape = b.pick(B)
    b.node("Not", [name], [(B, shape)])


@operator()
def IsNaN(b):
    name, _, shape = b.pick()
    b.node("IsNaN", [name], [(B, shape)])


@operator()
def Where(b):
    name, _, shape = b.pick(nonempty=False)
    b.node("Where", [b.pick(B, shape=shape)[0], name, b.pick(F, shape=shape)[0]], [(F, shape)])


@operator()
def Clip(b):
    name, _, shape = b.pick(nonempty=b.chance(0.8))
    low, high = b.constant(np.float32(-1.5 if not b.smooth else 0.125), "limit"), b.constant(np.float32(1.5), "limit")
    b.node("Clip", b.random.choice([[name], [name, low], [name, "", high], [name, low, high]]), [(F, shape)])


@operator()
def UserCast(b):
    name, _, shape = b.pick()
    low = b.random.choice([TensorProto.FLOAT16, TensorProto.BFLOAT16] if b.opset >= 13 else [TensorProto.FLOAT16])
    narrow = b.node("Cast", [name], [(low, shape)], to=low)[0]
    b.node("Cast", [narrow], [(F, shape)], to=F)


@operator()
def LowIsland(b):
    name, _, shape = b.pick(rank=2)
    low = TensorProto.FLOAT16
    narrow = b.node("Cast", [name], [(low, shape)], to=low)[0]
    total = b.node("Add", [narrow, narrow], [(low, shape)])[0]
    b.node("Cast", [total], [(F, shape)], to=F)


@operator()
def IntToFloat(b):
    kind = b.random.choice([I, B])
    name, _, shape = b.pick(kind)
    b.node("Cast", [name], [(F, shape)], to=F)


@operator()
def FloatToInt(b):
    name, _, shape = b.pick()
    bounded = b.node(
        "Clip", [name, b.constant(np.float32(-4), "limit"), b.constant(np.float32(4), "limit")], [(F, shape)]
    )[0]
    safe = b.node("IsNaN", [bounded], [(B, shape)])[0]
    zero = b.constant(np.zeros(shape, np.float32), "zero")
    real = b.node("Where", [safe, zero, bounded], [(F, shape)])[0]
    b.node("Cast", [real], [(I, shape)], to=I)


@operator()
def AddInts(b):
    name, _, shape = b.pick(I)
    b.node("Add", [name, b.constant(np.array(1, np.int64), "k")], [(I, shape)])


@operator()
def Shape_(b):
    name, _, shape = b.pick(rank=b.random.choice([2, 4]), nonempty=False)
    b.node("Shape", [name], [(I, [len(shape)])])


@operator()
def Size(b):
    b.node("Size", [b.pick()[0]], [(I, [])])


@operator()
def ArgMax(b, op="ArgMax"):
    name, _, shape = b.pick(rank=2)
    b.node(op, [name], [(I, shape[:1])], axis=1, keepdims=0)


@operator()
def ArgMin(b):
    ArgMax(b, "ArgMin")


@operator()
def TopK(b):
    name, _, shape = b.pick(rank=2)
    outputs = [(F, [shape[0], 1]), (I, [shape[0], 1])]
    b.node("TopK", [name, b.ints(1)], outputs, axis=1)


@operator()
def Transpose(b):
    name, _, shape = b.pick(rank=b.random.choice([2, 3]), nonempty=False)
    order = list(range(len(shape)))
    b.random.shuffle(order)
    b.node("Transpose", [name], [(F, [shape[i] for i in order])], perm=order)


@operator()
def Reshape(b):
    name, _, shape = b.pick()
    result = [int(np.prod(shape))] if b.chance(0.3) else [1, int(np.prod(shape))]
    b.node("Reshape", [name, b.ints(*(result if b.chance(0.5) else [*result[:-1], -1]))], [(F, result)])


@operator()
def Flatten(b):
    name, _, shape = b.pick(rank=4)
    b.node("Flatten", [name], [(F, [shape[0], int(np.prod(shape[1:]))])], axis=1)


@operator()
def Unsqueeze(b):
    name, _, shape = b.pick(rank=b.random.choice([0, 1, 2, 3]))
    if b.opset >= 13:
        b.node("Unsqueeze", [name, b.ints(0)], [(F, [1, *shape])])
    else:
        b.node("Unsqueeze", [name], [(F, [1, *shape])], axes=[0])


@operator()
def Squeeze(b):
    name, _, shape = b.pick(rank=4)
    axes = [i for i, d in enumerate(shape) if d == 1][:1]
    if not axes:
        return
    result = [d for i, d in enumerate(shape) if i not in axes]
    if b.opset >= 13:
        b.node("Squeeze", [name, b.ints(*axes)], [(F, result)])
    else:
        b.node("Squeeze", [name], [(F, result)], axes=axes)


@operator()
def Concat(b):
    name, _, shape = b.pick(rank=2, nonempty=False)
    others = [b.pick(F, shape=shape)[0] for _ in range(b.random.randint(0, 2))]
    b.node("Concat", [name, *others], [(F, [shape[0] * (1 + len(others)), shape[1]])], axis=0)


@operator()
def Split(b):
    name, _, shape = b.pick(rank=2)
    if shape[1] < 2:
        return
    sizes = [1, shape[1] - 1]
    outputs = [(F, [shape[0], s]) for s in sizes]
    if b.opset >= 13:
        b.node("Split", [name, b.ints(*sizes)], outputs, axis=1)
    else:
        b.node("Split", [name], outputs, axis=1, split=sizes)


@operator()
def Slice(b):
    name, _, shape = b.pick(rank=2)
    inputs = [name, b.ints(0), b.ints(1), b.ints(0)]
    b.node("Slice", inputs if b.chance(0.5) else [*inputs, b.ints(1)], [(F, [1, shape[1]])])


@operator()
def Gather(b):
    name, _, shape = b.pick(rank=2)
    b.node("Gather", [name, b.ints(0, 0)], [(F, [2, shape[1]])], axis=0)


@operator()
def Embedding(b):
    b.node("Gather", [b.weight([4, 3]), b.ints(3, 1)], [(F, [2, 3])], axis=0)


@operator()
def GatherElements(b):
    name, _, shape = b.pick(rank=2)
    b.node("GatherElements", [name, b.constant(np.zeros(shape, np.int64), "k")], [(F, shape)], axis=0)


@operator()
def ScatterND(b):
    name, _, shape = b.pick(rank=2)
    update = b.pick(F, shape=[1, shape[1]])[0]
    b.node("ScatterND", [name, b.constant(np.array([[0]], np.int64), "k"), update], [(F, shape)])


@operator()
def Expand(b):
    name, _, shape = b.pick(rank=2)
    b.node("Expand", [name, b.ints(2, *shape)], [(F, [2, *shape])])


@operator()
def Tile(b):
    name, _, shape = b.pick(rank=2, nonempty=False)
    b.node("Tile", [name, b.ints(1, 2)], [(F, [shape[0], shape[1] * 2])])


@operator()
def Pad(b):
    name, _, shape = b.pick(rank=2)
    inputs = [name, b.ints(0, 1, 0, 0)]
    if b.chance(0.5):
        inputs.append(b.constant(np.float32(0.5), "limit"))
    b.node("Pad", inputs, [(F, [shape[0], shape[1] + 1])])


@operator(14)
def Trilu(b):
    name, _, shape = b.pick(rank=2)
    b.node("Trilu", [name], [(F, shape)])


@operator()
def DepthToSpace(b):
    name, _, shape = b.pick(rank=4)
    if shape[2] % 2 or shape[3] % 2:
        return
    deep = [shape[0], shape[1] * 4, shape[2] // 2, shape[3] // 2]
    middle = b.node("SpaceToDepth", [name], [(F, deep)], blocksize=2)[0]
    b.node("DepthToSpace", [middle], [(F, shape)], blocksize=2)


@operator()
def Constant(b):
    value = b.constant(np.array([0.5, 1.5, 1.0], np.float32))
    tensor = b.constants.pop()
    assert tensor.name == value
    tensor.name = ""
    if b.opset >= 12 and b.chance(0.5):
        b.node("Constant", [], [(F, [])], value_float=0.75)
    else:
        b.node("Constant", [], [(F, [3])], value=tensor)


@operator()
def ConstantOfShape(b):
    fill = {} if b.chance(0.3) and not b.smooth else {"value": numpy_helper.from_array(np.array([0.5], np.float32))}
    b.node("ConstantOfShape", [b.ints(2, 3)], [(F, [2, 3])], **fill)


@operator()
def OneHot(b):
    b.node("OneHot", [b.ints(0, 2), b.ints(3), b.constant(np.array([0, 1], np.float32))], [(F, [2, 3])])


@operator()
def MatMul(b):
    rank = b.random.choice([2, 2, 2, 3])
    name, _, shape = b.pick(rank=rank, nonempty=b.chance(0.8))
    if b.smooth or b.chance(0.6):
        b.node("MatMul", [name, b.weight([shape[-1], 3])], [(F, [*shape[:-1], 3])])
    else:
        b.node("MatMul", [name, b.pick(F, shape=[shape[-1], 2])[0]], [(F, [*shape[:-1], 2])])


@operator()
def Gemm(b):
    name, _, shape = b.pick(rank=2)
    inputs = [name, b.weight([3, shape[1]])]
    if b.chance(0.6):
        inputs.append(b.weight(b.random.choice([[3], [], [1, 3]])))
    b.node("Gemm", inputs, [(F, [shape[0], 3])], transB=1)


@operator(12)
def Einsum(b):
    name, _, shape = b.pick(rank=2)
    b.node("Einsum", [name, b.weight([shape[1], 2])], [(F, [shape[0], 2])], equation="ij,jk->ik")


@operator()
def Conv(b):
    name, _, shape = b.pick(rank=4)
    inputs = [name, b.weight([2, shape[1], 3, 3])]
    if b.chance(0.5):
        inputs.append(b.weight([2]))
    b.node("Conv", inputs, [(F, [shape[0], 2, *shape[2:]])], pads=[1, 1, 1, 1])


@operator()
def ConvTranspose(b):
    name, _, shape = b.pick(rank=4)
    b.node("ConvTranspose", [name, b.weight([shape[1], 2, 1, 1])], [(F, [shape[0], 2, *shape[2:]])])


def pool(op):
    def add(b):
        name, _, shape = b.pick(rank=4)
        b.node(op, [name], [(F, shape)], kernel_shape=[3, 3], pads=[1, 1, 1, 1])

    return 1, add


def global_pool(op):
    def add(b):
        name, _, shape = b.pick(rank=4)
        b.node(op, [name], [(F, [*shape[:2], 1, 1])])

    return 1, add


OPERATORS |= {op: pool(op) for op in ("AveragePool", "MaxPool")} | {
    op: global_pool(op) for op in ("GlobalAveragePool", "GlobalMaxPool")
}


@operator()
def BatchNormalization(b):
    name, _, shape = b.pick(rank=4)
    variance = b.constant(np.ones(shape[1], np.float32), "scale")
    b.node(
        "BatchNormalization",
        [name, b.weight([shape[1]]), b.weight([shape[1]]), b.weight([shape[1]]), variance],
        [(F, shape)],
    )


@operator()
def InstanceNormalization(b):
    name, _, shape = b.pick(rank=4)
    b.node("InstanceNormalization", [name, b.weight([shape[1]]), b.weight([shape[1]])], [(F, shape)])


@operator(17)
def LayerNormalization(b):
    name, _, shape = b.pick(rank=2)
    extra = [None, (F, [shape[0], 1])] if b.chance(0.2) else []
    b.node("LayerNormalization", [name, b.weight(shape[-1:])], [(F, shape), *extra], axis=-1)


@operator(21)
def GroupNormalization(b):
    name, _, shape = b.pick(rank=4)
    b.node("GroupNormalization", [name, b.weight([shape[1]]), b.weight([shape[1]])], [(F, shape)], num_groups=1)


@operator(23)
def RMSNormalization(b):
    name, _, shape = b.pick(rank=2)
    b.node("RMSNormalization", [name, b.weight(shape[-1:])], [(F, shape)], axis=-1)


@operator()
def LRN(b):
    name, _, shape = b.pick(rank=4)
    b.node("LRN", [name], [(F, shape)], size=3)


@operator()
def Dropout(b):
    name, _, shape = b.pick()
    b.node("Dropout", [name], [(F, shape)] + ([(B, shape)] if b.chance(0.3) else []))


@operator()
def Resize(b):
    name, _, shape = b.pick(rank=4)
    scales = b.constant(np.array([1, 1, 2, 2], np.float32), "scale")
    roi = "" if b.opset >= 13 else b.constant(np.array([], np.float32), "scale")
    big = [*shape[:2], shape[2] * 2, shape[3] * 2]
    if np.prod(big) <= 512:
        b.node(
            "Resize",
            [name, roi, scales],
            [(F, big)],
            mode=b.random.choice(["nearest", "linear"]),
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )


@operator()
def QuantizeDequantize(b):
    name, _, shape = b.pick()
    scale, zero = b.constant(np.float32(0.125), "scale"), b.constant(np.uint8(128), "k")
    quantized = b.node("QuantizeLinear", [name, scale, zero], [(TensorProto.UINT8, shape)])[0]
    b.node("DequantizeLinear", [quantized, scale, zero], [(F, shape)])


def recurrent(op, gates):
    def add(b):
        name, _, shape = b.pick(rank=3)
        steps, batch, size = shape
        hidden = 2
        inputs = [name, b.weight([1, gates * hidden, size]), b.weight([1, gates * hidden, hidden])]
        if b.chance(0.5):
            inputs += ["", "", b.pick(F, shape=[1, batch, hidden])[0]]
        last = (F, [1, batch, hidden])
        b.node(
            op, inputs, [(F, [steps, 1, batch, hidden]), last] if b.chance(0.5) else [None, last], hidden_size=hidden
        )

    return 1, add


OPERATORS |= {"LSTM": recurrent("LSTM", 4), "GRU": recurrent("GRU", 3), "RNN": recurrent("RNN", 1)}

HEAVY = ["MatMul", "Gemm", "Conv", "ConvTranspose", "LSTM", "GRU", "RNN", "Einsum"]
COMMON = [
    "Relu",
    "Add",
    "Mul",
    "Sub",
    "Transpose",
    "Concat",
    "Reshape",
    "Sigmoid",
    "Softmax",
    "Exp",
    "MaxPool",
    "Identity",
    "Max",
    "Tanh",
]
SMOOTH = [
    "MatMul",
    "MatMul",
    "Gemm",
    "Conv",
    "Relu",
    "Transpose",
    "Concat",
    "Flatten",
    "Max",
    "Min",
    "MaxPool",
    "AveragePool",
    "Identity",
    "Add",
    "Split",
    "Slice",
    "Tile",
    "GlobalMaxPool",
    "GlobalAveragePool",
    "Sqrt",
    "Softsign",
    "Reshape",
    "Sum",
]


def generate(seed, smooth=False):
    b = Builder(seed, smooth)
    usable = [op for op, (since, _) in OPERATORS.items() if since <= b.opset]
    size = b.random.randint(8, 40)
    while len(b.nodes) < size:
        if smooth:
            op = b.random.choice(SMOOTH)
        else:
            op = b.random.choice(b.random.choices([HEAVY, COMMON, usable], [3, 4, 4])[0])
        if OPERATORS[op][0] <= b.opset:
            OPERATORS[op][1](b)
    return _finish(b)


def _finish(b):
    absent = drop_outputs(b.nodes, b.read, b.opset, b.absence)
    b.values = [v for v in b.values if v[0] not in absent]
    outputs = [
        v for v in b.values if v[0] not in b.read and v[1] in (F, I, B) and v[0] not in {i.name for i in b.inputs}
    ]
    made = {name for n in b.nodes for name in n.output if name}
    outputs += [
        v
        for v in b.random.sample(b.values, min(3, len(b.values)))
        if v not in outputs and v[0] in made and v[1] in (F, I, B) and b.chance(0.5)
    ]
    if not b.smooth and len(outputs) > 3 and b.chance(0.5):
        outputs = b.random.sample(outputs, len(outputs) - 1)  # a node that nothing reads
    infos = [helper.make_tensor_value_info(*v) for v in outputs]
    ir = IR_OF_OPSET.get(b.opset, 13)
    inputs, as_inputs = list(b.inputs), []
    if b.opset == 11 and b.chance(0.5):
        ir, as_inputs = 3, b.constants
    elif b.chance(0.2):
        as_inputs = [t for t in b.constants if b.chance(0.2)]
    inputs += [helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in as_inputs]
    if b.constants and ir > 3 and b.chance(0.1):
        tensor = b.random.choice(b.constants)
        infos.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    graph = helper.make_graph(b.nodes, "random", inputs, infos, b.constants)
    if b.chance(0.15):
        _shuffle(graph, b.random)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", b.opset)], ir_version=ir, producer_name="graph_generator"
    )


def _shuffle(graph, source):
    """Any order, sorted or not: still a valid graph for the rewriter, though not for ONNX's checker."""
    nodes = [onnx.NodeProto.FromString(n.SerializeToString()) for n in graph.node]
    source.shuffle(nodes)
    del graph.node[:]
    graph.node.extend(nodes)
