#!/usr/bin/env python3
"""Rewrites models that nest as deep as the limits allow, and functions that call functions.

  deep_models.py --tool build/tools/amp-rewrite

Little stack and little memory must be enough. Each case is run with the stack that a shell gives and with
`ulimit -s 128`. Failures are one line each:
  stack     bodies, types and calls as deep as the largest limits let them be: exit 0
  memory    functions that call the next one twice take at most 1.5 times the memory of the same nodes without functions
            (--functions inline; 1.75 times with specialise, which remembers where every node came from)
"""

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto, helper

IMPORTS = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
LEVELS = 15  # of functions that call the next one twice
SMALL_STACK = 128 << 10


def model(nodes, functions=(), outputs=("y",)):
    tensor = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 4])
    graph = helper.make_graph(
        nodes,
        "g",
        [tensor("x"), helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
        [tensor(name) for name in outputs],
    )
    return helper.make_model(graph, opset_imports=IMPORTS, functions=functions, ir_version=8)


def nested_bodies(depth):
    """`depth` graphs within each other, the main graph included; a matrix product in the innermost one."""
    node = helper.make_node("MatMul", ["x", "x"], [f"v{depth}"])
    for level in reversed(range(1, depth)):
        inner = helper.make_graph([node], "body", [], [helper.make_empty_tensor_value_info(f"v{level + 1}")])
        other = helper.make_graph(
            [helper.make_node("Neg", ["x"], [f"n{level}"])],
            "other",
            [],
            [helper.make_empty_tensor_value_info(f"n{level}")],
        )
        node = helper.make_node("If", ["c"], [f"v{level}"], then_branch=inner, else_branch=other)
    return model([node], outputs=["v1"])


def nested_types(depth):
    """A value whose type is a sequence of sequences; two messages for each of them."""
    value = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    for _ in range(depth):
        value = helper.make_sequence_type_proto(value)
    made = model([helper.make_node("MatMul", ["x", "x"], ["y"])])
    made.graph.value_info.append(helper.make_value_info("y_list", value))
    return made


def chain_of_calls(depth):
    """f1 calls f2, which calls f3 ..."""
    functions = [
        helper.make_function("my", f"f{depth}", ["a"], ["b"], [helper.make_node("MatMul", ["a", "a"], ["b"])], IMPORTS)
    ]
    for level in range(1, depth):
        functions.append(
            helper.make_function(
                "my",
                f"f{level}",
                ["a"],
                ["b"],
                [helper.make_node(f"f{level + 1}", ["a"], ["b"], domain="my", name="c")],
                IMPORTS,
            )
        )
    return model([helper.make_node("f1", ["x"], ["y"], domain="my", name="c")], functions)


def doubling(levels):
    functions = [
        helper.make_function(
            "my", "f0", ["a"], ["b"], [helper.make_node("MatMul", ["a", "a"], ["b"], name="mm")], IMPORTS
        )
    ]
    for level in range(1, levels + 1):
        callee = f"f{level - 1}"
        functions.append(
            helper.make_function(
                "my",
                f"f{level}",
                ["a"],
                ["b"],
                [
                    helper.make_node(callee, ["a"], ["c"], domain="my"),
                    helper.make_node(callee, ["c"], ["b"], domain="my"),
                ],
                IMPORTS,
            )
        )
    return model([helper.make_node(f"f{levels}", ["x"], ["y"], domain="my")], functions)


def doubled(levels):
    """The nodes of doubling(levels), called as inlining calls them."""
    nodes = []

    def call(label, level, a, b):
        if level == 0:
            nodes.append(helper.make_node("MatMul", [a, a], [b], name=f"{label}/mm"))
            return
        call(f"{label}/f{level - 1}#0", level - 1, a, f"{label}/c")
        call(f"{label}/f{level - 1}#1", level - 1, f"{label}/c", b)

    call(f"f{levels}#0", levels, "x", "y")
    return model(nodes)


class Failures(list):
    def add(self, rule, case, found):
        self.append(f"{rule} {case}: {found}")


def run(tool, path, flags, stack=None):
    """Exit code, stderr, and the largest memory in KiB."""

    def limit_stack():
        if stack is not None:
            resource.setrlimit(resource.RLIMIT_STACK, (stack, stack))

    out = path.with_suffix(".out.onnx")
    child = subprocess.Popen(
        [tool, path, "-o", out, *flags],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=limit_stack,
        text=True,
    )
    error = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, error.strip(), usage.ru_maxrss


def check_stack(tool, folder, failures):
    cases = {
        "bodies": (nested_bodies(33), ["--max-graph-depth", "33"]),
        "types": (nested_types(47), []),
        "calls": (chain_of_calls(400), ["--max-call-depth", "400"]),
        "calls, specialise": (chain_of_calls(400), ["--max-call-depth", "400", "--functions", "specialise"]),
    }
    for case, (made, flags) in cases.items():
        path = folder / "deep.onnx"
        onnx.save(made, path)
        for stack in (None, SMALL_STACK):
            code, error, _ = run(tool, path, flags, stack)
            if code != 0:
                failures.add("stack", f"{case}, stack {stack}", f"expected exit code 0, found {code}: {error}")
    return 2 * len(cases)


def check_memory(tool, folder, failures):
    nested, flat = folder / "nested.onnx", folder / "flat.onnx"
    onnx.save(doubling(LEVELS), nested)
    onnx.save(doubled(LEVELS), flat)
    unverified = ["--verify=off"]  # whether it verifies by itself depends on the load
    code, error, plain = run(tool, flat, unverified)
    if code != 0:
        failures.add("memory", "flat", error)
    for functions, most in (("inline", 1.5), ("specialise", 1.75)):
        code, error, peak = run(tool, nested, ["--functions", functions, *unverified])
        print(f"memory: {functions} {peak} KiB, the same nodes without functions {plain} KiB")
        if code != 0 or peak > most * plain:
            failures.add("memory", functions, f"expected at most {most} x {plain} KiB, found {peak}; {code} {error}")
    return 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    arguments = parser.parse_args()
    failures = Failures()
    with tempfile.TemporaryDirectory() as folder:
        checks = check_stack(arguments.tool, pathlib.Path(folder), failures)
        checks += check_memory(arguments.tool, pathlib.Path(folder), failures)
    for failure in failures:
        print(failure)
    print(f"{checks} checks, {len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
