#!/usr/bin/env python3
"""Frees a fixed batch with --dim and --train, and asks onnxruntime whether the numbers stay.

free_dimension.py --tool build/tests/rewrite_batch [--only NAME]

For five samples the freed model has to give, row by row, what the original gives for each.

small   models of a few nodes, of fixed batch 1: they are freed and equal, in float32 (every node excluded) and after a
        rewrite; or they are refused with exit code 4 and the name of the node that mixes samples
real    the models of $AMP_SHARED with a fixed first dimension of 1: those of FREED are freed, and equal; the others are
        refused, and a node is named
train   a step of training of the models of TRAINED takes a batch of 4 in onnxruntime
"""

import argparse
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from judge import rounding
from judge.inlining import inlined
from judge.shared_files import shared_folder
from judge.tool import Tool

SAMPLES = 5
EXACT = 1e-5
FREED = {"autoencoder1d_op20", "mnist_opset8", "squeezenet_fp16", "yolox_nano_3cls"}
TRAINED = {"autoencoder1d_op20": "mse", "mnist_opset8": "softmax-cross-entropy"}
RANDOM = np.random.default_rng(7)


def array(*shape):
    return RANDOM.normal(0, 0.4, shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


# name -> (shape of x, body, weights, opset, node that refuses or None)
SMALL = {
    "convolution": (
        [1, 3, 6, 6],
        "[c] a = Conv(x, w) [r] b = Relu(a) [p] p = GlobalAveragePool(b) [f] f = Flatten(p) [g] y = Gemm(f, v, k)",
        {"w": array(4, 3, 3, 3), "v": array(4, 5), "k": array(5)},
        17,
        None,
    ),
    "flat_by_reshape": (
        [1, 2, 3],
        "[f] f = Reshape(x, s) [m] y = MatMul(f, v)",
        {"s": ints(1, 6), "v": array(6, 2)},
        17,
        None,
    ),
    "flat_by_minus_one": (
        [1, 2, 3],
        "[f] f = Reshape(x, s) [m] y = MatMul(f, v)",
        {"s": ints(1, -1), "v": array(6, 2)},
        17,
        None,
    ),
    "leading_minus_one": (
        [1, 2, 3],
        "[f] f = Reshape(x, s) [m] y = MatMul(f, v)",
        {"s": ints(-1, 6), "v": array(6, 2)},
        17,
        None,
    ),
    "one_for_all": ([1, 4], "[a] a = Add(x, k) [m] y = Mul(a, u)", {"k": array(1, 4), "u": array(4)}, 17, None),
    "attention": (
        [1, 6, 8],
        "[q] q = MatMul(x, w) [h] h = Reshape(q, s) [t] t = Transpose<perm = [0, 2, 1, 3]>(h) "
        "[k] k = Transpose<perm = [0, 2, 3, 1]>(h) "
        "[qk] qk = MatMul(t, k) [p] p = Softmax<axis = -1>(qk) [o] o = MatMul(p, t) "
        "[b] b = Transpose<perm = [0, 2, 1, 3]>(o) [r] y = Reshape(b, e)",
        {"w": array(8, 8), "s": ints(1, 6, 2, 4), "e": ints(1, 6, 8)},
        17,
        None,
    ),
    "rows_of_all_samples": (
        [1, 6, 8],
        "[r] r = Reshape(x, s) [m] m = MatMul(r, w) [b] y = Reshape(m, e)",
        {"s": ints(6, 8), "w": array(8, 3), "e": ints(1, 6, 3)},
        17,
        None,
    ),
    "heads_behind_time": (
        [1, 5, 8],
        "[t] t = Transpose<perm = [1, 0, 2]>(x) [h] h = Reshape(t, s) [g] g = Transpose<perm = [1, 0, 2]>(h) "
        "[m] m = MatMul(g, w) "
        "[u] u = Transpose<perm = [1, 0, 2]>(m) [e] e = Reshape(u, z) [v] y = Transpose<perm = [1, 0, 2]>(e)",
        {"s": ints(5, 2, 4), "w": array(4, 4), "z": ints(5, 1, 8)},
        17,
        None,
    ),
    "recurrence": (
        [1, 5, 3],
        "[t] t = Transpose<perm = [1, 0, 2]>(x) [l] o, l1 = GRU<hidden_size = 2>(t, w, r, , , h) "
        "[s] s = Squeeze(o, one) [u] y = Transpose<perm = [1, 0, 2]>(s)",
        {"w": array(1, 6, 3), "r": array(1, 6, 2), "h": np.zeros((1, 1, 2), np.float32), "one": ints(1)},
        17,
        None,
    ),
    "expanded": (
        [1, 1, 4],
        "[e] e = Expand(x, s) [m] y = MatMul(e, w)",
        {"s": ints(1, 3, 4), "w": array(4, 2)},
        17,
        None,
    ),
    "old_softmax": ([1, 3, 4], "[m] m = MatMul(x, w) [s] y = Softmax<axis = 1>(m)", {"w": array(4, 4)}, 11, None),
    "einsum": ([1, 3, 4], '[e] y = Einsum<equation = "bij,jk->bik">(x, w)', {"w": array(4, 5)}, 17, None),
    "sum_of_all_samples": (
        [1, 4],
        "[s] s = ReduceSum<keepdims = 1>(x, a) [m] y = MatMul(s, w)",
        {"a": ints(0), "w": array(4, 2)},
        17,
        "s",
    ),
    "mean_of_everything": (
        [1, 4],
        "[s] s = ReduceMean<keepdims = 1>(x) [m] y = Add(s, w)",
        {"w": array(1, 2)},
        17,
        "s",
    ),
    "mixed_by_reshape": ([1, 6], "[t] t = Transpose(x) [mix] y = Reshape(t, s)", {"s": ints(2, 3)}, 17, "mix"),
    "gram": ([1, 4], "[t] t = Transpose(x) [gram] y = MatMul(t, x)", {}, 17, "gram"),
    "first_of_all": ([1, 4], "[first] y = Gather<axis = 0>(x, i)", {"i": np.array(0, np.int64)}, 17, "first"),
    "joined_with_one_row": ([1, 2, 4], "[join] y = Concat<axis = 1>(k, x)", {"k": array(1, 1, 4)}, 17, "join"),
    "old_softmax_of_all": ([1, 3, 4], "[soft] y = Softmax<axis = 0>(x)", {}, 11, "soft"),
}


def model(shape, body, weights, opset):
    made = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {opset}]> g (float{shape} x) => (float[] y) {{ {body} }}'.replace(
            "(float[] y)", "(float y)"
        )
    )
    made.graph.initializer.extend(numpy_helper.from_array(np.asarray(a), name) for name, a in weights.items())
    del made.graph.output[:]
    made.graph.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, None))
    made = onnx.shape_inference.infer_shapes(made, strict_mode=True)
    onnx.checker.check_model(made, full_check=True)
    return made


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def given_inputs(proto):
    constants = {t.name for t in proto.graph.initializer}
    return [v for v in proto.graph.input if v.name not in constants]


def fixed_places(proto):
    """Returns the names of the inputs with a 1 in front."""
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in given_inputs(proto)}
    return [name for name, shape in shapes.items() if shape and shape[0] == 1]


class Judge:
    def __init__(self, tool, folder):
        self.tool, self.folder, self.passed, self.failures = tool, pathlib.Path(folder), 0, []

    def expect(self, ok, what):
        if ok:
            self.passed += 1
        else:
            self.failures.append(what)
            print(f"FAIL {what}", flush=True)
        return ok

    def rows(self, label, original, freed, feeds, names, bound):
        """Compares the models row by row, for outputs whose first dimension is the samples'."""
        before, after = session(original), session(freed)
        halves = {v.name for v in before.get_inputs() if "float16" in v.type}
        feeds = [{k: v.astype(np.float16) if k in halves else v for k, v in f.items()} for f in feeds]
        together = {k: np.concatenate([f[k] for f in feeds]) if k in names else feeds[0][k] for k in feeds[0]}
        got = after.run(None, together)
        single = [before.run(None, f) for f in feeds]
        for i, output in enumerate(after.get_outputs()):
            wanted = np.concatenate([s[i] for s in single])
            fits = wanted.shape == got[i].shape
            error = (
                np.linalg.norm((wanted - got[i]).astype(np.float64))
                / max(np.linalg.norm(wanted.astype(np.float64)), 1e-30)
                if fits
                else np.inf
            )
            self.expect(
                fits and error <= bound,
                f"{label}: {output.name}: {got[i].shape} for {wanted.shape}, off by {error:.2g} ({bound})",
            )

    def small(self, name):
        shape, body, weights, opset, refusing = SMALL[name]
        path, out = self.folder / "in.onnx", self.folder / "out.onnx"
        onnx.save(model(shape, body, weights, opset), path)
        feeds = [{"x": array(*shape)} for _ in range(SAMPLES)]
        for flags, bound in (
            (["--deny-node", "*"], EXACT),
            (["--dtype", "float16"], 0.02),
            (["--dtype", "bfloat16"], None),
        ):
            label = f"{name} {' '.join(flags)}"
            out.unlink(missing_ok=True)
            answer = self.tool.run([path, "-o", out, "--dim", "x:0=batch", *flags])
            if refusing:
                named = answer.exit == 4 and f"node '{refusing}'" in answer.stderr and not out.exists()
                self.expect(
                    named, f"{label}: exit {answer.exit}: {answer.first_error()}; expected 4 and node '{refusing}'"
                )
                continue
            if not self.expect(answer.exit == 0, f"{label}: exit {answer.exit}: {answer.first_error()}"):
                continue
            freed = onnx.load(out)
            onnx.checker.check_model(freed, full_check=True)
            self.expect(
                freed.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch",
                f"{label}: the input's first dimension is not 'batch'",
            )
            if bound is not None:
                self.rows(label, path, out, feeds, {"x"}, bound)

    def real(self, path):
        proto = onnx.load(path)
        names = fixed_places(proto)
        if not names or path.stem == "cct2_training_graph":
            return
        out = self.folder / "out.onnx"
        out.unlink(missing_ok=True)
        dims = [flag for name in names for flag in ("--dim", f"{name}:0=batch")]
        answer = self.tool.run([path, "-o", out, *dims, "--deny-node", "*"])
        if path.stem not in FREED:
            self.expect(
                answer.exit == 4 and "node '" in answer.stderr,
                f"{path.stem}: exit {answer.exit}: {answer.first_error()}; expected 4 and a node",
            )
            print(f"{path.stem}: {answer.first_error()}", flush=True)
            return
        if not self.expect(answer.exit == 0, f"{path.stem}: exit {answer.exit}: {answer.first_error()}"):
            return
        feeds = [rounding.random_feeds(proto, seed=seed, dim=1) for seed in range(SAMPLES)]
        self.rows(path.stem, path, out, feeds, set(names), 2e-2 if path.stem == "squeezenet_fp16" else 1e-4)
        print(f"{path.stem}: free", flush=True)

    def train(self, path, loss):
        out = self.folder / "step.onnx"
        answer = self.tool.run(
            [path, "-o", out, "--train", "--loss", loss, "--policy", "mixed_float16", "--optimizer", "sgd"]
        )
        if not self.expect(answer.exit == 0, f"{path.stem} --train: exit {answer.exit}: {answer.first_error()}"):
            return
        self.expect(
            "'batch' now" in answer.stdout,
            f"{path.stem} --train: the last line does not say that the batch is free: {answer.stdout}",
        )
        step = onnx.load(out)
        step = inlined(step)
        onnx.save(step, out)
        feeds = {}
        for v in given_inputs(step):
            dims = [d.dim_value or 4 for d in v.type.tensor_type.shape.dim]
            feeds[v.name] = (
                np.zeros(dims, np.int64) if v.type.tensor_type.elem_type == TensorProto.INT64 else array(*dims)
            )
        self.expect(any(len(a) == 4 for a in feeds.values()), f"{path.stem} --train: no input takes 4 samples")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        made = onnxruntime.InferenceSession(str(out), options, providers=["CPUExecutionProvider"])
        defaults = {t.name for t in step.graph.initializer}
        results = dict(
            zip(
                [o.name for o in made.get_outputs()],
                made.run(None, {k: v for k, v in feeds.items() if k not in defaults}),
            )
        )
        loss_values = [v for k, v in results.items() if k.endswith("loss")]
        self.expect(
            loss_values and all(np.isfinite(v).all() for v in loss_values), f"{path.stem} --train: loss {loss_values}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Tool(arguments.tool) as tool:
        judge = Judge(tool, folder)
        for name in SMALL:
            if arguments.only in name:
                judge.small(name)
        models = sorted((shared_folder() / "models").glob("*.onnx"))
        if not models:
            print(f"SKIPPED: no models in {shared_folder() / 'models'} (set AMP_SHARED): only small models were judged")
        for path in models:
            if arguments.only not in path.stem:
                continue
            judge.real(path)
            if path.stem in TRAINED:
                judge.train(path, TRAINED[path.stem])
    print(f"{judge.passed} passed, {len(judge.failures)} failed")
    return 1 if judge.failures or not judge.passed else 0


if __name__ == "__main__":
    sys.exit(main())
