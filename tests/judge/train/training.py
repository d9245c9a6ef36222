#!/usr/bin/env python3
"""Judges step graphs that amp-rewrite --train makes.

training.py --tool build/tests/rewrite_batch --run build/tools/amp-run [--only PART]

The steps run in onnxruntime (functions inlined) and in this project's executor. The parts are:

scale       the loss scale's reference sequences, and all 4^8 sequences over {finite, inf, -inf, NaN} x intervals 1 to
            3, against a model of twenty lines
finite      the finite check sees inf, -inf and NaN anywhere, and no overflow of a sum
optimizers  every optimizer against NumPy in float64, with clipping, accumulation, and steps that are skipped, which
            change no bit
fixed       a fixed scale changes nothing that a power of two could; none inserts nothing
running     running statistics of a BatchNormalization, and those of a skipped step
images      convolutions with running statistics, and a head on a frozen backbone
wrapped     a loss scale for training graphs that are there: the same update, and none where a gradient is not finite
network     a classifier in float32, float16 and bfloat16: ten steps give the same weights here and there, and the loss
            falls
"""

import argparse
import itertools
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from judge.tool import Tool
from judge.train.step_runs import Stepper, Unrolled, forget_states, states_of

INF, NAN = np.float32(np.inf), np.float32(np.nan)
KINDS = {"T": np.float32(1), "+": INF, "-": -INF, "N": NAN, "F": INF}


class LossScale:
    """A model of a dynamic loss scale, in float32."""

    def __init__(self, initial=32768, interval=2000, growth=2, backoff=None, floor=1, cap=2.0**24):
        self.scale, self.good_steps, self.interval = np.float32(initial), 0, interval
        self.growth, self.backoff = np.float32(growth), np.float32(1 / growth if backoff is None else backoff)
        self.floor, self.cap = np.float32(floor), np.float32(cap)

    def step(self, finite):
        if not finite:
            self.scale, self.good_steps = max(self.scale * self.backoff, self.floor), 0
        elif self.good_steps + 1 >= self.interval:
            grown, self.good_steps = self.scale * self.growth, 0
            self.scale = grown if grown <= self.cap else self.scale
        else:
            self.good_steps += 1
        return self.scale


# The initial scale, interval, growth and cap; the gradients of each step by KINDS; the scale after each step.
SEQUENCES = [
    (1, 2, 2, None, "TTTTTT", [1, 2, 2, 4, 4, 8]),
    (256, 2, 2, 1024, "TTTTTT", [256, 512, 512, 1024, 1024, 1024]),
    (1024, 2, 2, None, "FFFFFF", [512, 256, 128, 64, 32, 16]),
    (16, 2, 2, None, "FFFFFF", [8, 4, 2, 1, 1, 1]),
    (1, 2, 2, None, "TTTFT", [1, 2, 2, 1, 1]),
    (1, 1, 2, None, "TTTFTT", [2, 4, 8, 4, 8, 16]),
    (1, 1, 2, None, "TFTFTFTFT", [2, 1, 2, 1, 2, 1, 2, 1, 2]),
    (32, 2, 2, None, "TFTFTFT", [32, 16, 16, 8, 8, 4, 4]),
    (4, 2, 3, None, "TTFTT", [4, 12, 4, 4, 12]),
    (4, 2, 2, None, "FTTTFTFTTTF", [2, 2, 4, 4, 2, 2, 1, 1, 2, 2, 1]),
]


def model_of(nodes, inputs, outputs, weights, opset=17):
    initializers = [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in weights.items()]
    infos = lambda ports: [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in ports.items()]
    graph = helper.make_graph(nodes, "g", infos(inputs), infos(outputs), initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def linear_model(shapes):
    """Makes a model whose loss is the sum over all of weights * x.

    The gradient of a weight is the input of its name, whatever the weights are.
    """
    numbers, nodes, weights = np.random.default_rng(7), [], {}
    for name, shape in shapes.items():
        weights[name] = numbers.standard_normal(shape)
        nodes.append(helper.make_node("Mul", [name, f"d{name}"], [f"p{name}"]))
        nodes.append(helper.make_node("ReduceSum", [f"p{name}"], [f"s{name}"], keepdims=0))
    nodes.append(helper.make_node("Sum", [f"s{name}" for name in shapes], ["loss"]))
    return model_of(nodes, {f"d{name}": shape for name, shape in shapes.items()}, {"loss": []}, weights)


def classifier(sizes):
    numbers, nodes, weights, value = np.random.default_rng(3), [], {}, "x"
    for layer, (inside, outside) in enumerate(zip(sizes, sizes[1:])):
        weights[f"w{layer}"] = numbers.standard_normal((inside, outside)) * np.sqrt(2 / inside)
        weights[f"b{layer}"] = np.zeros(outside)
        nodes.append(helper.make_node("Gemm", [value, f"w{layer}", f"b{layer}"], [f"a{layer}"], name=f"dense{layer}"))
        value = f"a{layer}"
        if layer + 2 < len(sizes):
            nodes.append(helper.make_node("Relu", [value], [f"r{layer}"]))
            value = f"r{layer}"
    nodes.append(helper.make_node("Softmax", [value], ["probabilities"], axis=-1))
    return model_of(nodes, {"x": ["N", sizes[0]]}, {"probabilities": ["N", sizes[-1]]}, weights)


def image_model():
    numbers = np.random.default_rng(4)
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "k0", "c0"], ["a"], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["a", "scale", "shift", "mean", "var"], ["n"]),
        node("Relu", ["n"], ["r"]),
        node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["p", "k1"], ["d"]),
        node("Relu", ["d"], ["features"]),
        node("GlobalAveragePool", ["features"], ["m"]),
        node("Flatten", ["m"], ["f"]),
        node("Gemm", ["f", "w", "b"], ["y"]),
    ]
    weights = {
        "k0": numbers.standard_normal((8, 2, 3, 3)) / 4,
        "c0": np.zeros(8),
        "scale": np.ones(8),
        "shift": np.zeros(8),
        "mean": np.zeros(8),
        "var": np.ones(8),
        "k1": numbers.standard_normal((16, 8, 3, 3)) / 8,
        "w": numbers.standard_normal((16, 4)) / 4,
        "b": np.zeros(4),
    }
    return model_of(nodes, {"x": ["N", 2, 10, 10]}, {"y": ["N", 4]}, weights)


class Keras:
    """One weight in float64."""

    def __init__(self, weight, name, rate, **constants):
        self.w, self.name, self.rate, self.c, self.t = weight.astype(np.float64), name, rate, constants, 0
        self.v, self.m = np.zeros_like(self.w), np.zeros_like(self.w)

    def step(self, g):
        c, rate = self.c, self.rate
        self.t += 1
        if self.name == "sgd":
            self.w = self.w - rate * g
        elif self.name == "momentum":
            self.v = c["momentum"] * self.v - rate * g
            self.w = self.w + (c["momentum"] * self.v - rate * g if c.get("nesterov") else self.v)
        elif self.name == "rmsprop":
            self.v = c["rho"] * self.v + (1 - c["rho"]) * g * g
            self.w = self.w - rate * g / np.sqrt(self.v + c["epsilon"])
        else:
            if self.name == "adamw":
                self.w = self.w - rate * c["decay"] * self.w
            self.m = self.m + (1 - c["beta1"]) * (g - self.m)
            self.v = self.v + (1 - c["beta2"]) * (g * g - self.v)
            corrected = rate * np.sqrt(1 - c["beta2"] ** self.t) / (1 - c["beta1"] ** self.t)
            self.w = self.w - corrected * self.m / (np.sqrt(self.v) + c["epsilon"])


OPTIMIZERS = [
    ("sgd", ["--optimizer", "sgd", "--learning-rate", "0.1"], {}, 0.1),
    ("momentum", ["--optimizer", "momentum", "--momentum", "0.8"], {"momentum": 0.8}, 0.01),
    ("momentum", ["--optimizer", "momentum", "--nesterov"], {"momentum": 0.9, "nesterov": True}, 0.01),
    ("rmsprop", [], {"rho": 0.9, "epsilon": 1e-7}, 0.001),
    (
        "rmsprop",
        ["--optimizer", "rmsprop", "--rho", "0.5", "--epsilon", "0.01", "--learning-rate", "0.05"],
        {"rho": 0.5, "epsilon": 0.01},
        0.05,
    ),
    ("adam", ["--optimizer", "adam"], {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-7}, 0.001),
    (
        "adam",
        ["--optimizer", "adam", "--beta1", "0.5", "--beta2", "0.75", "--epsilon", "0.001"],
        {"beta1": 0.5, "beta2": 0.75, "epsilon": 0.001},
        0.001,
    ),
    (
        "adamw",
        ["--optimizer", "adamw", "--weight-decay", "0.125"],
        {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-7, "decay": 0.125},
        0.001,
    ),
]
SHAPES = {"w": [3, 4], "b": [5]}


class Judge:
    def __init__(self, tool, run, folder):
        self.tool, self.program, self.folder = tool, run, pathlib.Path(folder)
        self.passed, self.failures = 0, []

    def expect(self, ok, what):
        if ok:
            self.passed += 1
        else:
            self.failures.append(what)
            print(f"FAIL {what}", file=sys.stderr)

    def make(self, model, *flags):
        source, made = self.folder / "forward.onnx", self.folder / "step.onnx"
        onnx.save(model, source)
        made.unlink(missing_ok=True)
        answer = self.tool.run([source, "-o", made, "--train", *flags])
        if answer.exit:
            raise RuntimeError(f"amp-rewrite {' '.join(map(str, flags))}: exit {answer.exit}: {answer.first_error()}")
        step = onnx.load(made)
        onnx.checker.check_model(step, full_check=True)
        return step

    def linear_step(self, shapes, *flags):
        return self.make(linear_model(shapes), "--loss", "graph:loss", "--policy", "float32", *flags)

    def both(self, step, feeds):
        """The outputs of every step, by each of the two runtimes."""
        stepper = Stepper(step)
        yield "onnxruntime", [stepper.run(each) for each in feeds]
        yield "amp-run", Unrolled(step, len(feeds)).run(self.program, self.folder, feeds)

    # ---- the loss scale

    def scale(self):
        for initial, interval, growth, cap, kinds, expected in SEQUENCES:
            flags = [
                "--loss-scale",
                "dynamic",
                "--loss-scale-initial",
                initial,
                "--loss-scale-interval",
                interval,
                "--loss-scale-growth",
                growth,
            ]
            step = self.linear_step(
                {"w": [2]}, *flags, *(["--loss-scale-max", cap] if cap else []), "--optimizer", "sgd"
            )
            feeds = [{"dw": np.array([1, KINDS[kind]], np.float32)} for kind in kinds]
            for runtime, results in self.both(step, feeds):
                found = [float(each["amp.loss_scale.next"]) for each in results]
                self.expect(
                    found == expected,
                    f"scale {kinds} from {initial}, interval {interval}, in {runtime}: {found}, expected {expected}",
                )
                finite = [bool(each["amp.all_finite"]) for each in results]
                self.expect(finite == [kind == "T" for kind in kinds], f"finite {kinds} in {runtime}: {finite}")
                counted = [int(each["amp.global_step.next"]) for each in results]
                self.expect(
                    counted == list(np.cumsum([kind == "T" for kind in kinds])),
                    f"steps {kinds} in {runtime}: {counted}",
                )
        for interval in (1, 2, 3):
            self.every_sequence(interval)

    def every_sequence(self, interval, length=8):
        """The step's own function, on a vector of all sequences at once: its operators work element by element."""
        step = self.linear_step(
            {"w": [2]},
            "--loss-scale",
            "dynamic",
            "--loss-scale-initial",
            4,
            "--loss-scale-interval",
            interval,
            "--loss-scale-max",
            64,
        )
        call = next(node for node in step.graph.node if node.op_type == "UpdateLossScale")
        sequences = np.array(list(itertools.product((1, np.inf, -np.inf, np.nan), repeat=length)), np.float32)
        count, nodes = len(sequences), []
        for at in range(length):
            nodes.append(helper.make_node("IsInf", [f"g{at}"], [f"inf{at}"]))
            nodes.append(helper.make_node("IsNaN", [f"g{at}"], [f"nan{at}"]))
            nodes.append(helper.make_node("Or", [f"inf{at}", f"nan{at}"], [f"bad{at}"]))
            nodes.append(helper.make_node("Not", [f"bad{at}"], [f"finite{at}"]))
            update = onnx.NodeProto()
            update.CopyFrom(call)
            update.name = f"update{at}"
            update.input[:] = [f"scale{at}", f"good{at}", f"finite{at}"]
            update.output[:] = [f"scale{at + 1}", f"good{at + 1}"]
            nodes.append(update)
        inputs = [helper.make_tensor_value_info(f"g{at}", TensorProto.FLOAT, [count]) for at in range(length)]
        inputs += [
            helper.make_tensor_value_info("scale0", TensorProto.FLOAT, [count]),
            helper.make_tensor_value_info("good0", TensorProto.INT64, [count]),
        ]
        outputs = [
            helper.make_tensor_value_info(f"scale{at}", TensorProto.FLOAT, [count]) for at in range(1, length + 1)
        ]
        outputs.append(helper.make_tensor_value_info(f"good{length}", TensorProto.INT64, [count]))
        model = onnx.ModelProto()
        model.CopyFrom(step)
        forget_states(model)
        model.graph.CopyFrom(helper.make_graph(nodes, "all", inputs, outputs))
        feeds = {f"g{at}": sequences[:, at] for at in range(length)}
        feeds.update(scale0=np.full(count, 4, np.float32), good0=np.zeros(count, np.int64))
        expected = np.empty((count, length + 1))
        for row, sequence in enumerate(np.isfinite(sequences)):
            machine = LossScale(4, interval, cap=64)
            expected[row, :length] = [machine.step(finite) for finite in sequence]
            expected[row, length] = machine.good_steps
        for runtime, found in self.both_of_model(model, feeds):
            columns = [found[f"scale{at}"] for at in range(1, length + 1)] + [found[f"good{length}"]]
            wrong = int((np.stack(columns, 1) != expected).any(1).sum())
            self.expect(wrong == 0, f"interval {interval} in {runtime}: {wrong} of {count} sequences differ")
        self.passed += count

    def both_of_model(self, model, feeds):
        inlined = onnx.inliner.inline_local_functions(model)
        import onnxruntime

        session = onnxruntime.InferenceSession(inlined.SerializeToString())
        names = [output.name for output in session.get_outputs()]
        yield "onnxruntime", dict(zip(names, session.run(names, feeds)))
        once = Unrolled.__new__(Unrolled)
        once.model, once.steps = model, 1
        renamed = onnx.ModelProto()
        renamed.CopyFrom(model)
        rename = lambda name: name + "@0"
        for node in renamed.graph.node:
            node.input[:], node.output[:] = map(rename, node.input), map(rename, node.output)
        for info in [*renamed.graph.input, *renamed.graph.output]:
            info.name = rename(info.name)
        once.model = renamed
        yield "amp-run", once.run(self.program, self.folder, [feeds])[0]

    # ---- what decides

    def finite(self):
        step = self.linear_step(SHAPES, "--loss-scale", "dynamic", "--optimizer", "sgd")
        feeds, expected = [], []
        good = lambda: {"dw": np.ones((3, 4), np.float32), "db": np.ones(5, np.float32)}
        for name, size in (("dw", 12), ("db", 5)):
            for value in (INF, -INF, NAN):
                for at in (0, size // 2, size - 1):
                    bad = good()
                    bad[name].reshape(-1)[at] = value
                    feeds.append(bad)
                    expected.append(False)
        both = good()
        both["dw"][0, 0], both["dw"][0, 1] = INF, -INF  # a sum that is NaN, and an IsInf of the sum that is false
        large = {
            "dw": np.full((3, 4), 1e33, np.float32),
            "db": np.full(5, 1e33, np.float32),
        }  # times the scale it is near the end
        feeds += [both, large, {"dw": np.zeros((3, 4), np.float32), "db": np.zeros(5, np.float32)}]
        expected += [False, True, True]
        # Small scales first, so that the large gradients fit.
        for runtime, results in self.both(step, feeds):
            found = [bool(each["amp.all_finite"]) for each in results]
            self.expect(found == expected, f"finite in {runtime}: {found}")
            self.expect(np.isfinite(results[-1]["w.next"]).all(), f"finite in {runtime}: weights are not")

    # ---- optimizers

    def gradients(self, steps, seed):
        numbers = np.random.default_rng(seed)
        return [
            {f"d{name}": numbers.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}
            for _ in range(steps)
        ]

    def reference(self, step, name, constants, rate):
        rounded = {
            key: float(np.float32(value)) if isinstance(value, float) else value for key, value in constants.items()
        }
        tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in step.graph.initializer}
        return {weight: Keras(tensors[weight], name, float(np.float32(rate)), **rounded) for weight in SHAPES}

    def compare(self, found, expected, what, tolerance=2e-6):
        for weight, keras in expected.items():
            error = np.abs(found[f"{weight}.next"] - keras.w).max() / np.abs(keras.w).max()
            self.expect(error <= tolerance, f"{what}: '{weight}' is {error:.1e} off, expected at most {tolerance:.0e}")

    def optimizers(self):
        for name, flags, constants, rate in OPTIMIZERS:
            what = f"{name} {' '.join(flags)}"
            step = self.linear_step(SHAPES, *flags)
            self.expect(
                any("all_finite" in output.name for output in step.graph.output),
                f"{what}: does not check gradients",
            )
            feeds = self.gradients(12, 1)
            for runtime, results in self.both(step, feeds):
                expected = self.reference(step, name, constants, rate)
                for each in feeds:
                    for weight, keras in expected.items():
                        keras.step(each[f"d{weight}"].astype(np.float64))
                self.compare(results[-1], expected, f"{what} in {runtime}")
            self.skipped(name, flags, constants, rate)
            self.accumulated(name, flags, constants, rate)
        self.clipped()
        self.rates()
        self.of_one_rank()

    def skipped(self, name, flags, constants, rate):
        """Steps that are not finite change nothing but the scale, and those after them go on from there."""
        step = self.linear_step(SHAPES, *flags, "--loss-scale", "dynamic")
        states, _ = states_of(step)
        feeds = self.gradients(10, 2)
        bad = {1: INF, 4: NAN, 5: -INF}
        for at, value in bad.items():
            feeds[at]["db"][3] = value
        for runtime, results in self.both(step, feeds):
            expected = self.reference(step, name, constants, rate)
            for at, each in enumerate(feeds):
                if at in bad:
                    for state in states:
                        if state["kind"] in ("scale",) or state["input"] == "amp.good_steps":
                            continue
                        same = results[at][state["output"]].tobytes() == results[at - 1][state["output"]].tobytes()
                        self.expect(same, f"{name} in {runtime}: a skipped step changes '{state['input']}'")
                    continue
                for weight, keras in expected.items():
                    keras.step(each[f"d{weight}"].astype(np.float64))
            self.compare(results[-1], expected, f"{name} with skipped steps in {runtime}")
            self.expect(
                int(results[-1]["amp.global_step.next"]) == 7, f"{name} in {runtime}: skipped steps are counted"
            )
        counting = self.linear_step(SHAPES, *flags, "--loss-scale", "dynamic", "--count-skipped-steps")
        for runtime, results in self.both(counting, feeds):
            self.expect(
                int(results[-1]["amp.global_step.next"]) == 10, f"{name} in {runtime}: skipped steps are not counted"
            )
            self.compare(results[-1], expected, f"{name} with counted skipped steps in {runtime}")

    def accumulated(self, name, flags, constants, rate):
        step = self.linear_step(SHAPES, *flags, "--accumulate", 3, "--loss-scale", "dynamic")
        feeds = self.gradients(8, 3)
        feeds[1]["dw"][0, 0] = NAN  # left out; steps 0, 2, 3 and 4, 5, 6 are updates
        for runtime, results in self.both(step, feeds):
            expected = self.reference(step, name, constants, rate)
            for group in ((0, 2, 3), (4, 5, 6)):
                for weight, keras in expected.items():
                    keras.step(np.mean([feeds[at][f"d{weight}"].astype(np.float64) for at in group], 0))
            self.compare(results[-1], expected, f"{name} --accumulate 3 in {runtime}")
            counted = [int(each["amp.global_step.next"]) for each in results]
            self.expect(counted == [0, 0, 0, 1, 1, 1, 2, 2], f"{name} --accumulate 3 in {runtime}: updates {counted}")
            left = [int(each["amp.accumulated_steps.next"]) for each in results]
            self.expect(left == [1, 1, 2, 0, 1, 2, 0, 1], f"{name} --accumulate 3 in {runtime}: accumulated {left}")

    def clipped(self):
        step = self.linear_step(
            SHAPES,
            "--optimizer",
            "sgd",
            "--clip-norm",
            "0.5",
            "--learning-rate",
            "1",
            "--loss-scale",
            "dynamic",
            "--loss-scale-initial",
            1,
        )
        feeds = self.gradients(3, 4)
        for each in feeds[1].values():
            each *= np.float32(1e-3)  # below the bound: as it is
        for each in feeds[2].values():
            each *= np.float32(1e30)  # whose squares are infinite
        feeds.append({name: np.zeros_like(value) for name, value in feeds[0].items()})
        for runtime, results in self.both(step, feeds):
            expected = self.reference(step, "sgd", {}, 1.0)
            for at, each in enumerate(feeds):
                norm = np.sqrt(sum((value.astype(np.float64) ** 2).sum() for value in each.values()))
                factor = min(1, 0.5 / norm) if norm else 1
                for weight, keras in expected.items():
                    keras.step(each[f"d{weight}"].astype(np.float64) * factor)
                self.compare(results[at], expected, f"--clip-norm, step {at}, in {runtime}")

    def of_one_rank(self):
        """A step for several ranks that one runs does what a plain step does, bit for bit."""
        flags = ("--optimizer", "adam", "--loss-scale", "dynamic", "--clip-norm", "0.5")
        plain, parallel = self.linear_step(SHAPES, *flags), self.linear_step(SHAPES, *flags, "--data-parallel")
        called = {node.op_type for node in parallel.graph.node}
        self.expect(
            {"StartMeanOverRanks", "MeanOverRanks", "TrueOnAllRanks"} <= called, "--data-parallel: nothing is averaged"
        )
        feeds = self.gradients(4, 6)
        feeds[2]["dw"][0, 0] = NAN
        for (runtime, expected), (_, results) in zip(self.both(plain, feeds), self.both(parallel, feeds)):
            for at, outputs in enumerate(expected):
                same = all(results[at][name].tobytes() == value.tobytes() for name, value in outputs.items())
                self.expect(
                    same, f"--data-parallel, one rank, step {at}, in {runtime}: another result than of a plain step"
                )

    def rates(self):
        step = self.linear_step(SHAPES, "--optimizer", "sgd")
        feeds = [
            {**each, "amp.learning_rate": np.array(rate, np.float32)}
            for each, rate in zip(self.gradients(2, 5), (0.5, 0.0))
        ]
        stepper = Stepper(step)
        before = stepper.values["w"]
        first = stepper.run(feeds[0])["w.next"]
        self.expect(np.allclose(first, before - 0.5 * feeds[0]["dw"], rtol=1e-6), "the learning rate is no input")
        self.expect((stepper.run(feeds[1])["w.next"] == first).all(), "a learning rate of 0 moves weights")

    def fixed(self):
        feeds = self.gradients(6, 6)
        plain = self.linear_step(SHAPES, "--optimizer", "rmsprop", "--no-finite-check")
        scaled = self.linear_step(SHAPES, "--optimizer", "rmsprop", "--loss-scale", "1024")
        expected = list(self.both(plain, feeds))
        for (runtime, without), (_, with_scale) in zip(expected, self.both(scaled, feeds)):
            same = all(
                with_scale[-1][name].tobytes() == value.tobytes()
                for name, value in without[-1].items()
                if name.endswith(".next")
            )
            self.expect(same, f"a fixed scale of 1024 changes bits in {runtime}")
        functions = {function.name for function in plain.functions}
        self.expect(functions == {"Rmsprop", "CountStep"}, f"--no-finite-check has the functions {functions}")
        checked = self.linear_step(SHAPES, "--optimizer", "rmsprop")
        feeds[2]["dw"][1, 1] = NAN
        for runtime, results in self.both(checked, feeds):
            self.expect(
                results[2]["w.next"].tobytes() == results[1]["w.next"].tobytes(),
                f"the finite check does not skip in {runtime}",
            )
            self.expect(
                not bool(results[2]["amp.all_finite"]) and "amp.loss_scale.next" not in results[2],
                f"the finite check in {runtime}",
            )

    # ---- whole models

    def network(self):
        numbers = np.random.default_rng(11)
        images, labels = numbers.standard_normal((64, 20)).astype(np.float32), numbers.integers(0, 10, 64)
        feeds = [{"x": images, "labels": labels}] * 10
        for optimizer, rate in (("rmsprop", 0.01), ("adam", 0.01), ("momentum", 0.1)):
            finals = {}
            for policy in ("float32", "mixed_float16", "mixed_bfloat16"):
                step = self.make(
                    classifier([20, 32, 32, 10]), "--policy", policy, "--optimizer", optimizer, "--learning-rate", rate
                )
                _, description = states_of(step)
                self.expect(
                    description["dtype"] == policy.replace("mixed_", ""), f"{policy}: dtype is {description['dtype']}"
                )
                self.check_types(step, policy)
                # onnxruntime has no products of bfloat16 on a CPU.
                runs = (
                    list(self.both(step, feeds))
                    if policy != "mixed_bfloat16"
                    else [("amp-run", Unrolled(step, 10).run(self.program, self.folder, feeds))]
                )
                for runtime, results in runs:
                    losses = [float(each["amp.loss"]) for each in results]
                    self.expect(losses[-1] < 0.6 * losses[0], f"{policy} {optimizer} in {runtime}: losses {losses}")
                    finals.setdefault(policy, []).append((losses[-1], results[-1]))
            for policy, runs in finals.items():
                tolerance = 1e-4 if policy == "float32" else 5e-2  # onnxruntime rounds less: it widens float16 on a CPU
                for _, result in runs[1:]:
                    for weight in ("w0", "b0", "w1", "w2"):
                        error = np.linalg.norm(
                            result[f"{weight}.next"] - runs[0][1][f"{weight}.next"]
                        ) / np.linalg.norm(result[f"{weight}.next"])
                        self.expect(
                            error <= tolerance,
                            f"{policy} {optimizer}: '{weight}' differs by {error:.1e} between runtimes",
                        )
            losses = [runs[-1][0] for runs in finals.values()]
            self.expect(max(losses) - min(losses) < 0.1 * max(losses) + 0.02, f"{optimizer}: losses by type {losses}")

    def images(self):
        """Trains convolutions with running statistics, in all three types, and a new head on a frozen backbone.

        The backbone gets no backward nodes.
        """
        numbers = np.random.default_rng(12)
        labels = numbers.integers(0, 4, 32)
        pictures = numbers.standard_normal((32, 2, 10, 10)).astype(np.float32) + labels[:, None, None, None].astype(
            np.float32
        )
        feeds = [{"x": pictures, "labels": labels}] * 12
        finals = []
        for policy in ("float32", "mixed_float16", "mixed_bfloat16"):
            step = self.make(image_model(), "--policy", policy, "--optimizer", "adam", "--learning-rate", "0.02")
            runs = (
                list(self.both(step, feeds))
                if policy == "float32"
                else [("amp-run", Unrolled(step, 12).run(self.program, self.folder, feeds))]
            )
            for runtime, results in runs:
                losses = [float(each["amp.loss"]) for each in results]
                self.expect(losses[-1] < 0.6 * losses[0], f"images, {policy} in {runtime}: losses {losses}")
                finals.append(losses[-1])
        self.expect(max(finals) - min(finals) < 0.1, f"images: losses by type {finals}")
        step = self.make(
            image_model(), "--policy", "float32", "--head", "features:dense=4", "--seed", 1, "--learning-rate", "0.05"
        )
        states = [state["input"] for state in states_of(step)[0] if state["kind"] == "weight"]
        self.expect(states == ["head.weight", "head.bias"], f"head: trains {states}")
        backward = [node.name for node in step.graph.node if node.name.startswith("gradient/")]
        self.expect(
            not any("Conv" in name or "MaxPool" in name or "Relu" in name for name in backward),
            f"head: backward nodes of the backbone: {backward}",
        )
        for runtime, results in self.both(step, feeds):
            losses = [float(each["amp.loss"]) for each in results]
            self.expect(losses[-1] < losses[0], f"head in {runtime}: losses {losses}")

    def check_types(self, step, policy):
        low = {"mixed_float16": TensorProto.FLOAT16, "mixed_bfloat16": TensorProto.BFLOAT16}.get(policy)
        for info in [*step.graph.input, *step.graph.output]:
            self.expect(
                info.type.tensor_type.elem_type not in (TensorProto.FLOAT16, TensorProto.BFLOAT16),
                f"{policy}: '{info.name}' is 16-bit",
            )
        if low is None:
            return
        weights = {state["input"] for state in states_of(step)[0] if state["kind"] == "weight"}
        casts = [node.input[0] for node in step.graph.node if node.op_type == "Cast" and node.input[0] in weights]
        self.expect(len(casts) == len(set(casts)), f"{policy}: a weight is cast twice: {casts}")
        self.expect({"w0", "w1", "w2"} <= set(casts), f"{policy}: products read float32 weights; cast are {casts}")

    def running(self):
        numbers = np.random.default_rng(5)
        nodes = [
            helper.make_node("Gemm", ["x", "w", "b"], ["a"]),
            helper.make_node("BatchNormalization", ["a", "scale", "shift", "mean", "var"], ["n"], momentum=0.75),
            helper.make_node("Relu", ["n"], ["r"]),
            helper.make_node("Gemm", ["r", "w2"], ["logits"]),
        ]
        weights = {
            "w": numbers.standard_normal((6, 8)),
            "b": np.zeros(8),
            "scale": np.ones(8),
            "shift": np.zeros(8),
            "mean": np.full(8, 0.5),
            "var": np.full(8, 2.0),
            "w2": numbers.standard_normal((8, 4)),
        }
        model = model_of(nodes, {"x": ["N", 6]}, {"logits": ["N", 4]}, weights, opset=15)
        step = self.make(model, "--policy", "float32", "--loss-scale", "dynamic")
        kinds = {state["input"]: state["kind"] for state in states_of(step)[0]}
        self.expect(kinds.get("mean") == "running" and kinds.get("var") == "running", f"running statistics: {kinds}")
        self.expect("mean.rms" not in kinds and kinds.get("scale") == "weight", f"running statistics: {kinds}")
        feeds = [
            {"x": numbers.standard_normal((16, 6)).astype(np.float32), "labels": numbers.integers(0, 4, 16)}
            for _ in range(3)
        ]
        feeds[1]["x"][3, 2] = INF
        for runtime, results in self.both(step, feeds):
            batch = feeds[0]["x"].astype(np.float64) @ np.float32(weights["w"])
            mean = 0.75 * 0.5 + 0.25 * batch.mean(0)
            variance = 0.75 * 2 + 0.25 * batch.var(0)
            self.expect(np.allclose(results[0]["mean.next"], mean, atol=1e-5), f"the running mean in {runtime}")
            self.expect(np.allclose(results[0]["var.next"], variance, atol=1e-5), f"the running variance in {runtime}")
            for name in ("mean", "var", "w", "scale", "w.rms"):
                self.expect(
                    results[1][f"{name}.next"].tobytes() == results[0][f"{name}.next"].tobytes(),
                    f"a skipped step changes '{name}' in {runtime}",
                )
            self.expect(
                (results[2]["mean.next"] != results[1]["mean.next"]).any(), f"the running mean stays in {runtime}"
            )

    # ---- training graphs that are there

    def wrapped(self):
        """Optimizers of ONNX's preview domain, which this project's executor runs: with a scale, and without."""
        preview = "ai.onnx.preview.training"
        forms = {
            "Momentum": (1, {"alpha": 0.5, "beta": 1.0, "mode": "standard", "norm_coefficient": 0.0}),
            "Adagrad": (1, {}),
            "Adam": (2, {}),
        }
        numbers = np.random.default_rng(9)
        for optimizer, (num_slots, attributes) in forms.items():
            slots = [f"slot{at}" for at in range(num_slots)]
            nodes = [
                helper.make_node("Mul", ["x", "loss_grad"], ["dw"]),
                helper.make_node(
                    optimizer,
                    ["rate", "count", "w", "dw", *slots],
                    ["w_new", *(f"{slot}_new" for slot in slots)],
                    domain=preview,
                    **attributes,
                ),
            ]
            dims = [4]
            ports = lambda names: [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name in names]
            inputs = [
                *ports(["x", *slots]),
                helper.make_tensor_value_info("rate", TensorProto.FLOAT, []),
                helper.make_tensor_value_info("count", TensorProto.INT64, []),
            ]
            initializers = [
                numpy_helper.from_array(numbers.standard_normal(4).astype(np.float32), "w"),
                numpy_helper.from_array(np.ones(1, np.float32), "loss_grad"),
            ]
            graph = helper.make_graph(
                nodes, "g", inputs, ports(["w_new", *(f"{slot}_new" for slot in slots)]), initializers
            )
            model = helper.make_model(
                graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(preview, 1)], ir_version=8
            )
            source, made = self.folder / "graph.onnx", self.folder / "wrapped.onnx"
            onnx.save(model, source)
            answer = self.tool.run(
                [source, "-o", made, "--loss-scale", "dynamic", "--loss-scale-initial", "1024", "--deny-node", "*"]
            )
            self.expect(answer.exit == 0, f"{optimizer}: exit {answer.exit}: {answer.first_error()}")
            if answer.exit:
                continue
            feeds = {
                "x": numbers.standard_normal(4).astype(np.float32),
                "rate": np.float32(0.1),
                "count": np.int64(3),
                **{slot: np.ones(4, np.float32) for slot in slots},
            }
            before, after = self.run_once(source, feeds), self.run_once(made, feeds)
            same = all(after[name].tobytes() == value.tobytes() for name, value in before.items())
            self.expect(same and bool(after["amp.all_finite"]), f"{optimizer}: a scale of 1024 changes the update")
            feeds["x"] = np.array([1, INF, 2, 3], np.float32)
            after = self.run_once(made, feeds)
            self.expect(
                after["w_new"].tobytes() == initializers[0].raw_data and float(after["amp.loss_scale.next"]) == 512,
                f"{optimizer}: a bad step is not skipped",
            )
            self.expect(
                all((after[f"{slot}_new"] == 1).all() for slot in slots), f"{optimizer}: a bad step changes slots"
            )

    def run_once(self, model, feeds):
        inputs, outputs = self.folder / "inputs.npz", self.folder / "outputs.npz"
        np.savez(inputs, **feeds)
        done = subprocess.run(
            [self.program, model, "--inputs", inputs, "--outputs", outputs], capture_output=True, text=True, timeout=60
        )
        if done.returncode:
            raise RuntimeError(f"amp-run: exit {done.returncode}: {done.stderr.strip()[-300:]}")
        return dict(np.load(outputs))


PARTS = ("scale", "finite", "optimizers", "fixed", "running", "network", "images", "wrapped")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--only", choices=PARTS)
    arguments = parser.parse_args()
    with Tool(arguments.tool) as tool, tempfile.TemporaryDirectory() as folder:
        judge = Judge(tool, arguments.run, folder)
        for part in [arguments.only] if arguments.only else PARTS:
            try:
                getattr(judge, part)()
            except Exception as error:  # of the tool, the runtime or a model that is not one
                judge.expect(False, f"{part}: {type(error).__name__}: {str(error)[:400]}")
    print(f"{judge.passed} checks passed, {len(judge.failures)} failed")
    return 1 if judge.failures else 0


if __name__ == "__main__":
    sys.exit(main())
