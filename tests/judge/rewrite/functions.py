#!/usr/bin/env python3
"""Judges random models with model-local functions.

  functions.py --tool build/tests/rewrite_batch --inliner build/tests/inline_model [--models N] [--seed S] [--only SEED]

Functions are nested, have attributes, overloads, bodies and optional ports, and are called in bodies and at several
types.

Rules, one failure line each:
  generator   the model passes ONNX's checker and strict inference (else this test is wrong)
  inlined     the tool's inliner alone gives the same nodes, names and values as inlining.py, a valid model, and the
              original's results, bit for bit
  inline      every rule of structure.py holds; no function is left; float16 results are near the original's
  keep        every rule of structure.py holds against the model as it is; the functions keep their bytes
  specialise  every rule of structure.py holds once the result is inlined by inlining.py; the result is valid, and its
              results are those of `inline`, bit for bit
  optimised   onnxruntime with its default optimisations loads the results of all modes where it loads the model, and
              runs those in float16
  twice       rewriting a result again gives the same bytes, in every mode, with rules for functions and calls too
  excluded    with --deny-node '*' the output is the input, byte for byte
The closing line says how many calls and functions there were, and how many functions were shared by several calls: a
judge that saw none fails.
"""

import argparse
import collections
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.reference
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from judge import runtimes, scopes, structure
from judge.inlining import inlined
from judge.tool import Tool

N = 4  # every tensor is [N, N]
TOLERANCE = 0.05


def rules(seed, model):
    """Returns flags that address functions and calls, for one model of three."""
    source = random.Random(seed)
    flags = []
    if source.random() < 0.67:
        return flags
    names = sorted({(f.domain, f.name) for f in model.functions})
    for domain, name in source.sample(names, min(len(names), source.randint(0, 2))):
        flags += [source.choice(["--deny", "--deny", "--allow", "--infer", "--clear"]), f"{domain}::{name}"]
    calls = [n.name for n in model.graph.node if n.name and (n.domain, n.op_type) in names]
    for call in source.sample(calls, min(len(calls), source.randint(0, 2))):
        flags += [source.choice(["--deny-node", "--allow-node"]), call]
    return flags


class Generator:
    """Chooses functions and a graph that calls them; some are overloads where the IR version knows those."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.functions = []  # (FunctionProto, number of inputs, optional ones, number of outputs, attributes)
        self.counter = 0

    def name(self, prefix="v"):
        self.counter += 1
        return f"{prefix}{self.counter}"

    def label(self):
        return self.name("n") if self.random.random() < 0.6 else ""

    def node(self, op, inputs, outputs, **attributes):
        return helper.make_node(op, inputs, outputs, self.label(), **attributes)

    def scale(self, made, value, like):
        constant, cast, result = self.name(), self.name(), self.name()
        kind = self.random.choice(["value_float", "value_floats", "value"])
        value = {
            "value_float": value,
            "value_floats": [value] * N,
            "value": numpy_helper.from_array(np.full((N,), value, np.float32)),
        }[kind]
        made.append(self.node("Constant", [], [constant], **{kind: value}))
        made.append(self.node("CastLike", [constant, like], [cast]))
        made.append(self.node("Mul", [like, cast], [result]))
        return result

    def call(self, made, values, function):
        proto, inputs, optional, outputs, attributes = function
        given = [self.random.choice(values) for _ in range(inputs)]
        for i in range(inputs - optional, inputs):
            if self.random.random() < 0.5:
                given[i] = ""
        produced = [self.name() if i == 0 or self.random.random() < 0.7 else "" for i in range(outputs)]
        node = helper.make_node(proto.name, given, produced, self.label(), domain=proto.domain)
        if proto.overload:
            node.overload = proto.overload
        for name, choices, required in attributes:
            if required or self.random.random() < 0.6:
                node.attribute.append(helper.make_attribute(name, self.random.choice(choices)))
        made.append(node)
        return [v for v in produced if v]

    def step(self, made, values, attributes=(), condition=None, depth=0):
        """Appends nodes that compute something from `values`. Returns the new values."""
        r, pick = self.random, lambda: self.random.choice(values)
        kinds = ["unary", "unary", "binary", "matmul", "matmul", "scale", "softmax"]
        kinds += ["call"] * 3 if self.functions else []
        kinds += ["if", "loop"] if condition and depth < 2 else []
        kinds += ["reference"] * 2 if attributes else []
        kind, out = r.choice(kinds), self.name()
        if kind == "unary":
            made.append(self.node(r.choice(["Relu", "Tanh", "Sigmoid", "Neg", "Identity"]), [pick()], [out]))
        elif kind == "binary":
            made.append(self.node(r.choice(["Add", "Sub", "Mul"]), [pick(), pick()], [self.name()]))
            made.append(self.node("Tanh", [made[-1].output[0]], [out]))
        elif kind == "matmul":
            made.append(self.node("MatMul", [pick(), pick()], [self.name()]))
            out = self.scale(made, 0.25, made[-1].output[0])
        elif kind == "scale":
            out = self.scale(made, r.choice([0.5, 1.5]), pick())
        elif kind == "softmax":
            made.append(self.node("Softmax", [pick()], [out], axis=-1))
        elif kind == "reference":
            return self.reference(made, values, r.choice(attributes))
        elif kind == "call":
            return self.call(made, values, r.choice(self.functions))
        elif kind == "if":
            bodies = {}
            for branch in ("then_branch", "else_branch"):
                inner, inside = [], list(values)
                for _ in range(r.randint(1, 3)):
                    inside += self.step(inner, inside, attributes, condition, depth + 1)
                if inside[-1] in values:
                    inner.append(self.node("Identity", [inside[-1]], [self.name()]))
                    inside.append(inner[-1].output[0])
                bodies[branch] = helper.make_graph(inner, self.name("g"), [], [self.untyped(inside[-1])])
            made.append(self.node("If", [condition], [out], **bodies))
        elif kind == "loop":
            count, state, inner = self.name(), self.name(), []
            made.append(self.node("Constant", [], [count], value=numpy_helper.from_array(np.array(2, np.int64))))
            inside = [*values, state]
            for _ in range(r.randint(1, 2)):
                inside += self.step(inner, inside, attributes, condition, depth + 1)
            step, go, went, result = self.name(), self.name(), self.name(), self.name()
            inner.append(self.node("Identity", [go], [went]))
            inner.append(self.node("Tanh", [inside[-1]], [result]))
            ports = [
                helper.make_tensor_value_info(step, TensorProto.INT64, []),
                helper.make_tensor_value_info(go, TensorProto.BOOL, []),
                self.untyped(state),
            ]
            body = helper.make_graph(
                inner,
                self.name("g"),
                ports,
                [helper.make_tensor_value_info(went, TensorProto.BOOL, []), self.untyped(result)],
            )
            made.append(self.node("Loop", [count, "", pick()], [out], body=body))
        return [out]

    @staticmethod
    def untyped(name):
        info = onnx.ValueInfoProto()
        info.name = name
        return info

    def reference(self, made, values, attribute):
        name, choices, _ = attribute
        out = self.name()
        if isinstance(choices[0], float):
            node = self.node("Gemm", [self.random.choice(values), self.random.choice(values)], [self.name()])
            self.refer(node, "alpha", name, onnx.AttributeProto.FLOAT)
            made.append(node)
            made.append(self.node("Tanh", [node.output[0]], [out]))
        else:
            node = self.node("Softmax", [self.random.choice(values)], [out])
            self.refer(node, "axis", name, onnx.AttributeProto.INT)
            made.append(node)
        return [out]

    @staticmethod
    def refer(node, attribute, to, kind):
        made = node.attribute.add()
        made.name, made.ref_attr_name, made.type = attribute, to, kind

    def function(self, ir):
        r = self.random
        inputs = [self.name("a") for _ in range(r.randint(1, 3))]
        bias = self.name("opt") if r.random() < 0.3 else None
        attributes = []
        if r.random() < 0.4:
            attributes.append((self.name("alpha"), [0.25, 0.5], r.random() < 0.5))
        if r.random() < 0.3:
            attributes.append((self.name("axis"), [0, 1], r.random() < 0.5))
        made, values, condition = [], list(inputs), None
        if r.random() < 0.5:  # a condition of its own: bodies inside functions
            total, zero, like, condition = self.name(), self.name(), self.name(), self.name()
            made += [
                self.node("ReduceSum", [inputs[0]], [total], keepdims=0),
                self.node("Constant", [], [zero], value_float=0.0),
                self.node("CastLike", [zero, total], [like]),
                self.node("Greater", [total, like], [condition]),
            ]
        if bias:
            out = self.name()
            made.append(self.node("Gemm", [inputs[0], inputs[-1], bias], [out], alpha=0.25))
            values.append(out)
        for _ in range(r.randint(1, 4)):
            values += self.step(made, values, attributes, condition)
        computed = [v for v in values if v not in inputs]
        outputs = [computed[-1]]
        if r.random() < 0.4:
            outputs.append(r.choice(computed))
        if r.random() < 0.15:
            outputs.append(inputs[0])
        domain, name, overload = r.choice(["local", "other.domain"]), self.name("F"), ""
        if ir >= 10 and self.functions and r.random() < 0.4:
            first = r.choice(self.functions)[0]
            domain, name, overload = first.domain, first.name, self.name("o")
        required = [a for a, _, must in attributes if must]
        defaults = [
            helper.make_attribute(a, choices[0]) for a, choices, must in attributes if not must and r.random() < 0.6
        ]
        proto = helper.make_function(
            domain,
            name,
            inputs + ([bias] if bias else []),
            list(dict.fromkeys(outputs)),
            made,
            [helper.make_opsetid("", 17), helper.make_opsetid("local", 1), helper.make_opsetid("other.domain", 1)],
            required + [a for a, _, must in attributes if not must and a not in {d.name for d in defaults}],
            defaults,
            overload=overload or None,
        )
        self.functions.append((proto, len(inputs) + bool(bias), int(bool(bias)), len(proto.output), attributes))

    def model(self):
        r = self.random
        ir = r.choice([8, 10])
        for _ in range(r.randint(1, 5)):
            self.function(ir)
        made, values = [], ["x", "z", "w"]
        for _ in range(r.randint(2, 6)):
            values += self.step(made, values, (), "c")
        values += self.call(made, values, r.choice(self.functions))
        doubles = []
        if r.random() < 0.3:
            doubles = self.call(made, ["d"], r.choice(self.functions))
        wanted = [values[-1], *([r.choice(values[3:])] if len(values) > 4 else [])]
        outputs = [
            helper.make_tensor_value_info(v, TensorProto.FLOAT, [N, N])
            for v in dict.fromkeys(v for v in wanted if v not in ("x", "z", "w"))
        ]
        outputs += [helper.make_tensor_value_info(v, TensorProto.DOUBLE, [N, N]) for v in doubles[:1]]
        weights = [
            numpy_helper.from_array(np.random.default_rng(self.counter).uniform(-1, 1, (N, N)).astype(np.float32), "w")
        ]
        inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [N, N]) for n in "xz"] + [
            helper.make_tensor_value_info("d", TensorProto.DOUBLE, [N, N]),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        ]
        graph = helper.make_graph(made, "g", inputs, outputs, weights)
        return helper.make_model(
            graph,
            functions=[f[0] for f in self.functions],
            ir_version=ir,
            opset_imports=[
                helper.make_opsetid("", 17),
                helper.make_opsetid("local", 1),
                helper.make_opsetid("other.domain", 1),
            ],
        )


class Inliner:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, source, target):
        self.process.stdin.write(f"{source} {target}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split(" ", 1)


def feeds_of(model, condition):
    """Returns the same values for every model, in the types that its inputs want."""
    rng, feeds = np.random.default_rng(1), {}
    values = {
        "x": rng.uniform(-1, 1, (N, N)),
        "z": rng.uniform(-1, 1, (N, N)),
        "d": rng.uniform(-1, 1, (N, N)),
        "c": np.array(condition),
    }
    for info in model.graph.input:
        feeds[info.name] = values[info.name].astype(helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type))
    return feeds


def run_in_onnxruntime(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [y for c in (True, False) for y in session.run(None, feeds_of(model, c))]


def run_in_reference(model):
    return [y for c in (True, False) for y in onnx.reference.ReferenceEvaluator(model).run(None, feeds_of(model, c))]


def same(a, b):
    return len(a) == len(b) and all(x.dtype == y.dtype and x.tobytes() == y.tobytes() for x, y in zip(a, b))


def near(a, b):
    return all(
        np.all(np.isfinite(y) == np.isfinite(x)) and np.linalg.norm(x - y) <= TOLERANCE * (np.linalg.norm(x) + 1)
        for x, y in zip(a, b)
    )


class Judge:
    def __init__(self, tool, inliner, folder):
        self.tool, self.inliner, self.folder = tool, inliner, pathlib.Path(folder)
        self.totals = collections.Counter()
        self.failures = []

    def expect(self, holds, rule, seed, text):
        self.totals["passed" if holds else "failed"] += 1
        if not holds:
            print(f"FAIL {rule} seed {seed}: {text}"[:600], flush=True)
        return holds

    def judge(self, seed):
        model = Generator(seed).model()
        try:
            onnx.checker.check_model(model, full_check=True)
            onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        except Exception as error:
            return self.expect(False, "generator", seed, " ".join(str(error).split()))
        run, expected = self._runner(model)
        source = self.folder / "in.onnx"
        source.write_bytes(model.SerializeToString())
        self._inlined(seed, model, source, run, expected)
        for dtype in structure.DTYPES:
            flags = [*rules(seed, model), "--dtype", dtype, "--keep-io", random.Random(seed).choice(["all", "none"])]
            results = {
                mode: self._rewritten(seed, mode, source, [*flags, "--functions", mode])
                for mode in ("inline", "keep", "specialise")
            }
            self._modes(seed, model, dtype, flags, results, run, expected)
        return None

    def _runner(self, model):
        """Finds what can run the model. Returns (function that runs it, its results), or (None, None).

        onnxruntime comes first, which has no functions that give an input back; then ONNX's evaluator, which has no
        absent attributes; then onnxruntime on what inlining.py makes of the model.
        """
        flat = lambda m: run_in_onnxruntime(inlined(m))
        for name, runner in (("onnxruntime", run_in_onnxruntime), ("reference", run_in_reference), ("flat", flat)):
            try:
                with np.errstate(all="ignore"):
                    expected = runner(model)
                self.totals[name] += 1
                return runner, expected
            except Exception:
                continue
        self.totals["not run"] += 1
        return None, None

    def _inlined(self, seed, model, source, run, expected):
        target = self.folder / "inlined.onnx"
        answer = self.inliner.run(source, target)
        if not self.expect(answer[0] == "ok", "inlined", seed, " ".join(answer)):
            return
        self.totals["calls"] += int(answer[1])
        self.totals["functions"] += len(model.functions)
        made, other = onnx.load(target), inlined(model)
        text = [onnx.printer.to_text(m.graph) for m in (made, other)]
        self.expect(text[0] == text[1], "inlined", seed, "not what inlining.py makes of it")
        self.expect(not made.functions, "inlined", seed, "functions are left")
        try:
            onnx.checker.check_model(made, full_check=True)
            self.expect(run is None or same(run(made), expected), "inlined", seed, "other results")
        except Exception as error:
            self.expect(False, "inlined", seed, " ".join(str(error).split()))

    def _rewritten(self, seed, mode, source, flags):
        out, again = self.folder / f"{mode}.onnx", self.folder / "again.onnx"
        for path in (out, again):
            path.unlink(missing_ok=True)
        answer = self.tool.run([source, "-o", out, *flags])
        if not self.expect(not answer.exit, mode, seed, f"exit {answer.exit}: {answer.first_error()} {flags}"):
            return None
        self.tool.run([out, "-o", again, *flags])
        self.expect(again.exists() and again.read_bytes() == out.read_bytes(), "twice", seed, f"{flags}")
        if "--allow-node" not in flags:  # a name comes before '*'
            self.tool.run([source, "-o", again, *flags, "--deny-node", "*"])
            self.expect(again.read_bytes() == source.read_bytes(), "excluded", seed, f"{flags}")
        return onnx.load(out)

    def _modes(self, seed, model, dtype, flags, results, run, expected):
        keep_io, unchanged = flags[-1], model.SerializeToString()
        flat, kept, special = results["inline"], results["keep"], results["specialise"]
        base = inlined(model)
        feeds = feeds_of(model, True)
        for mode, result in (("keep", kept), ("specialise", special)):
            refused = runtimes.problems(model, result, dtype, feeds) if result is not None else []
            self.expect(not refused, "optimised", seed, f"{dtype} {mode}: {refused[:1]}")
        if flat is not None and flat.SerializeToString() != unchanged:
            self.totals["changed"] += 1
            found = structure.problems(base, flat, dtype, keep_io, feeds=feeds)
            self.expect(not found, "inline", seed, f"{dtype}: {'; '.join(found[:3])}")
            self.expect(not flat.functions, "inline", seed, "functions are left")
        if kept is not None:
            functions = {f.SerializeToString() for f in model.functions}
            self.expect(
                {f.SerializeToString() for f in kept.functions} == functions,
                "keep",
                seed,
                "functions are not as they were",
            )
        if special is None or flat is None or special.SerializeToString() == unchanged:
            self.expect(
                special is None or flat is None or flat.SerializeToString() == unchanged,
                "specialise",
                seed,
                "unchanged, but inline converts something",
            )
            return
        try:
            onnx.checker.check_model(special, full_check=True)
            onnx.shape_inference.infer_shapes(special, check_type=True, strict_mode=True)
        except Exception as error:
            self.expect(False, "specialise", seed, f"{dtype}: {' '.join(str(error).split())}")
        found = structure.problems(base, inlined(special), dtype, keep_io, runtime=False)
        # A cast of a call's result sits right after the call, and one more stands inside where the function reads the
        # value in both types.
        by_design = re.compile(r"right after the producer|is cast to \w+ twice|is read in branches alone|_to_\w+ does$")
        found = [f for f in found if not by_design.search(f)]
        self.expect(not found, "specialise", seed, f"{dtype}: {'; '.join(found[:3])}")
        calls = collections.Counter((n.domain, n.op_type) for _, g in scopes.all_graphs(special.graph) for n in g.node)
        self.totals["specialised"] += sum("_low" in f.name for f in special.functions)
        self.totals["shared"] += sum(calls[f.domain, f.name] > 1 for f in special.functions)
        if dtype == "float16" and run is not None:
            try:
                self.expect(same(run(special), run(flat)), "specialise", seed, "other results than inline")
                if keep_io == "all":
                    self.expect(near(expected, run(flat)), "inline", seed, "float16 results far from the original's")
            except Exception as error:
                self.expect(False, "specialise", seed, " ".join(str(error).split()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--inliner", required=True)
    parser.add_argument("--models", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    arguments = parser.parse_args()
    seeds = [arguments.only] if arguments.only is not None else range(arguments.seed, arguments.seed + arguments.models)
    with Tool(arguments.tool) as tool, tempfile.TemporaryDirectory() as folder:
        judge = Judge(tool, Inliner(arguments.inliner), folder)
        for seed in seeds:
            judge.judge(seed)
        t = judge.totals
        print(
            f"{t['functions']} functions, {t['calls']} calls inlined, {t['changed']} rewrites changed something, "
            f"{t['specialised']} specialised functions, {t['shared']} shared; "
            f"run by onnxruntime {t['onnxruntime']}, by ONNX's evaluator {t['reference']}, "
            f"inlined by inlining.py {t['flat']}, by none {t['not run']}"
        )
        if arguments.only is None:
            judge.expect(
                min(t["calls"], t["changed"], t["specialised"], t["shared"], t["onnxruntime"]) > 0,
                "totals",
                0,
                "the judge saw nothing",
            )
        print(runtimes.TOTALS)
        print(f"{t['passed']} passed, {t['failed']} failed")
        return 1 if t["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
