#!/usr/bin/env python3
"""Judges gradient rules: every case of gradient_cases.py against central differences, in float64.

  gradients.py --program build/tests/differentiate_models [--only TEXT] [--seed S]

A case is a few nodes with inputs x, w ... and results y ...; the loss is the sum of all results times random numbers.
Each case runs at several opsets, with known and with symbolic dimensions. For each:
  legal     the checker passes the result with full check and strict inference, functions inlined or not
  slope     along random directions, and for single elements, (loss(x + h) - loss(x - h)) / 2h is the gradient's product
            with the direction
  finite    where the case says so, at the points that it names: no NaN where the derivative is finite
  refused   where the case says so: the error names what it is expected to
A gradient has the type and shape of the value that it is of. The evaluator is ONNX's own. Where that is wrong
(in_runtime), it is onnxruntime with its kernels for float64.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

from judge.train import gradient_cases

NAMES = {
    np.dtype("float64"): "double",
    np.dtype("float32"): "float",
    np.dtype("int64"): "int64",
    np.dtype("bool"): "bool",
    np.dtype("int32"): "int32",
}


def session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


class Program:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.folder = tempfile.TemporaryDirectory()

    def differentiate(self, model, **request):
        source, target = (os.path.join(self.folder.name, name) for name in ("in.onnx", "out.onnx"))
        onnx.save(model, source)
        self.process.stdin.write(json.dumps({"model": source, "output": target, **request}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{request}: the program ended")
        answer = json.loads(line)
        return answer, None if "error" in answer else onnx.load(target)


def declared(name, array, symbolic):
    dims = [f"{name}{i}" if symbolic else str(d) for i, d in enumerate(array.shape)]
    return f"{NAMES[array.dtype]}[{','.join(dims)}] {name}" if dims else f"{NAMES[array.dtype]} {name}"


def forward_text(case, opset, symbolic, extra_inputs="", extra_nodes="", outputs=None):
    inputs = ", ".join(
        declared(n, a, symbolic and n not in case.constants) for n, a in case.inputs.items() if n not in case.constants
    )
    outputs = outputs or ", ".join(f"double {o}" for o in case.outputs)
    return (
        f'<ir_version: 10, opset_import: ["" : {opset}]> g ({inputs}{extra_inputs}) => ({outputs}) '
        f"{{ {case.body} {extra_nodes} }}"
    )


def parse(text, case):
    model = parser.parse_model(text)
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    for name in case.constants:
        model.graph.initializer.append(numpy_helper.from_array(case.inputs[name], name))
    return model


def loss_model(case, opset, symbolic, weights):
    """Makes a model of the case's nodes and the sum of its results times `weights`, which are initializers."""
    nodes, terms = "", []
    for output in case.outputs:
        nodes += f" m_{output} = Mul ({output}, r_{output}) s_{output} = ReduceSum <keepdims = 0> (m_{output}) "
        terms.append(f"s_{output}")
    nodes += f" loss = Sum ({', '.join(terms)})"
    model = parse(forward_text(case, opset, symbolic, "", nodes, "double loss"), case)
    model.graph.output[0].type.tensor_type.shape.SetInParent()
    for output, weight in zip(case.outputs, weights):
        model.graph.initializer.append(numpy_helper.from_array(weight, f"r_{output}"))
    return model


def fed(case):
    return {n: a for n, a in case.inputs.items() if n not in case.constants}


def with_graph_inputs(model, case):
    """Makes inputs of constants, so that they can be moved."""
    names = {i.name for i in model.graph.input}
    for tensor in model.graph.initializer:
        if tensor.name in case.of and tensor.name not in names:
            model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    return model


def check_legal(model):
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)


def slope_error(evaluate, inputs, of, gradient, numbers, step):
    """Returns the worst relative error over a few directions."""
    x, worst = inputs[of], 0.0
    directions = [numbers.standard_normal(x.shape) for _ in range(2)]
    for _ in range(min(4, x.size)):
        one = np.zeros(x.size)
        one[numbers.integers(x.size)] = 1
        directions.append(one.reshape(x.shape))
    for direction in directions:
        direction = direction.astype(x.dtype)
        above = evaluate({**inputs, of: x + step * direction})
        below = evaluate({**inputs, of: x - step * direction})
        expected, found = (above - below) / (2 * step), float(np.sum(gradient * direction))
        scale = max(1.0, abs(expected), float(np.sum(np.abs(gradient * direction))))
        error = abs(expected - found) / scale
        worst = max(worst, error if np.isfinite(error) else np.inf)
    return worst


def judge(program, case, opset, symbolic, numbers):
    """Returns what is wrong, as text; "" if all is well."""
    if case.refused:
        weights = [np.ones(1)] * len(case.outputs)
    else:
        results = ReferenceEvaluator(parse(forward_text(case, opset, False), case)).run(None, fed(case))
        weights = [numbers.standard_normal(np.shape(r)) for r in results]
    model = loss_model(case, opset, symbolic, weights)
    answer, made = program.differentiate(model, loss="loss", of=case.of)
    if case.refused:
        error = answer.get("error", "no error")
        return "" if case.refused in error else f"expected an error with '{case.refused}', found: {error}"
    if "error" in answer:
        return answer["error"]
    check_legal(made)
    evaluator = (session if case.in_runtime else ReferenceEvaluator)(with_graph_inputs(made, case))
    inputs = {**fed(case), **{n: case.inputs[n] for n in case.constants if n in case.of}}
    values = dict(
        zip([o.name for o in made.graph.output], evaluator.run(None, {**inputs, "seed": np.array(1, np.float32)}))
    )
    forward = (session if case.in_runtime else ReferenceEvaluator)(with_graph_inputs(model, case))
    evaluate = lambda at: float(forward.run(None, at)[0])
    for name, gradient_name in zip(case.of, answer["gradients"]):
        gradient = np.asarray(values[gradient_name])
        if gradient.shape != case.inputs[name].shape:
            return f"d{name}: expected shape {case.inputs[name].shape}, found {gradient.shape}"
        if gradient.dtype != case.inputs[name].dtype:
            return f"d{name}: expected type {case.inputs[name].dtype}, found {gradient.dtype}"
        if case.finite:
            if not np.isfinite(gradient).all():
                return f"d{name}: expected finite numbers, found {gradient}"
            continue
        error = slope_error(evaluate, inputs, name, gradient, numbers, case.step)
        if not error <= case.tolerance:
            return f"d{name}: relative error {error:.2e}, expected at most {case.tolerance:.0e}"
    return ""


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", required=True)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--seed", type=int, default=1)
    args = arguments.parse_args()
    program = Program(args.program)
    runs = failures = 0
    for case in gradient_cases.all_cases(args.seed):
        if args.only not in case.name:
            continue
        for opset in case.opsets:
            for symbolic in (False, True) if case.symbolic else (False,):
                runs += 1
                what = f"{case.name}, opset {opset}" + (", symbolic dimensions" if symbolic else "")
                try:
                    complaint = judge(program, case, opset, symbolic, np.random.default_rng(args.seed))
                except Exception as error:  # the library's own words
                    complaint = f"{type(error).__name__}: {str(error)[:600]}"
                if complaint:
                    failures += 1
                    print(f"FAILED {what}: {complaint}", flush=True)
    print(f"{runs} runs, {failures} failed")
    sys.exit(1 if failures or not runs else 0)


if __name__ == "__main__":
    main()
