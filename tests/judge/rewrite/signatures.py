#!/usr/bin/env python3
"""Judges the built-in signatures: against onnxruntime's own schema registry, and by running a model of every operator.

  signatures.py --table ir/schema/contrib_signatures.cc --tool build/tests/rewrite_batch [--only OPERATOR]
  signatures.py --table ir/schema/contrib_signatures.cc --self-test     plants mistakes in the table; each must be found

The registry is compared in the names and order of the ports, in which are optional, in which share a type variable, and
in the types that each takes, bfloat16 included. A line may be stricter than the registry (tie two type variables, take
fewer types) only where STRICTER says why.
The models (contrib_models.py) have one node each, whose operator is allowed by flag, in both types. They are judged by
structure.py (for float16 that includes: onnxruntime loads the result where it loads the original) and by rounding.py.
Where the CPU provider has the kernel, onnxruntime itself runs the float16 model too. Operators without a float32 kernel
there are listed by name: for them onnxruntime's type inference is what passes, and no number is compared.
"""

import argparse
import collections
import pathlib
import re
import sys
import tempfile

import onnx

from judge import rounding, runtimes, scopes, structure
from judge.rewrite import contrib_models
from judge.scopes import port_types, runtime_schema
from judge.tool import Tool

GROUPS = {
    "integers": {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"},
    "complex": {"complex64", "complex128"},
}
# (operator, port): why a line ties it to another variable, takes fewer types there or demands what the registry leaves
# optional.
STRICTER = {
    ("MultiHeadAttention", "qk"): "the scores come in the type of the query",
    ("DecoderMaskedMultiHeadAttention", "qk"): "the scores come in the type of the query",
    ("GroupQueryAttention", "past_key"): "two lines: floats in the type of the query, or quantised",
    ("GroupQueryAttention", "past_value"): "two lines",
    ("GroupQueryAttention", "present_key"): "two lines",
    ("GroupQueryAttention", "present_value"): "two lines",
    ("MatMulNBits", "zero_points"): "two lines: packed bytes, or the type of the scales",
    ("LinearAttention", "past_state"): "two lines: the state has a type of its own, or there is none to begin with",
    ("LinearAttention", "present_state"): "two lines: inference gives a state that was not there the type of the query",
    ("SimplifiedLayerNormalization", "scale"): "Y follows X",
    ("SimplifiedLayerNormalization", "Y"): "Y follows X",
    ("SimplifiedLayerNormalization", "inv_std_var"): "double only for a stash type that asks for it",
    ("GridSample", "X"): "inference gives Y the type of X",
    ("GridSample", "Grid"): "inference gives Y the type of X",
    ("GridSample", "Y"): "inference gives Y the type of X",
}
# The CPU provider has no float32 kernel for these; some have one for other providers.
NO_CPU_KERNEL = {
    "BiasAdd",
    "BiasDropout",
    "BiasSoftmax",
    "BiasSplitGelu",
    "BitmaskBiasDropout",
    "BitmaskDropout",
    "ComplexMul",
    "ComplexMulConj",
    "DecoderAttention",
    "DecoderMaskedSelfAttention",
    "FusedMatMulActivation",
    "GatedRelativePositionBias",
    "GemmFastGelu",
    "GroupNorm",
    "Irfft",
    "LongformerAttention",
    "NhwcConv",
    "NhwcFusedConv",
    "PackedAttention",
    "PackedMultiHeadAttention",
    "RelativePositionBias",
    "RemovePadding",
    "RestorePadding",
    "Rfft",
    "SkipGroupNorm",
    "TorchEmbedding",
}
# These operators are loaded and not run, with the reason.
NOT_RUN = {"SparseAttention": "its kernel wants past and present in one buffer, which a plain session cannot give"}

# The CPU kernels of these refuse float16 when they run; the lists leave them float32 unless the device is cuda.
REFUSES_FLOAT16 = {"UnfoldTensor"}


# Functions that this project writes into models: no runtime has them, training.py runs them.
OWN_DOMAIN = "ai.amp"


def read_table(text):
    """Reads the signatures of the C++ source.

    Returns [(domain, operator, inputs, outputs)], with ports as (name, variable, presence, types).
    """
    table = re.search(r'R"\((.*?)\)"', text, re.S)[1]
    lines = []
    for line in table.splitlines():
        if line.startswith(" "):
            lines[-1] += line
        elif line and not line.startswith("#"):
            lines.append(line)
    rows = [_signature(" ".join(line.split())) for line in lines]
    return [row for row in rows if row[0] != OWN_DOMAIN]


def _signature(line):
    head, _, limits = line.partition(" where ")
    match = re.fullmatch(r"(?:([\w.]+)::)?(\w+)\((.*?)\) -> (.*)", head)
    domain, operator, inputs, outputs = match.groups()
    allowed = {}
    for name, types in re.findall(r"(\w+) in \{(.*?)\}", limits):
        allowed[name] = set().union(*(GROUPS.get(t, {t}) for t in types.split(", ")))

    def ports(text):
        found = []
        for port in filter(None, text.split(", ")):
            name, kind = port.split(": ")
            variable = kind.rstrip("?.")
            presence = "Optional" if kind.endswith("?") else "Variadic" if kind.endswith("...") else "Single"
            found.append((name, variable, presence, allowed.get(variable, {variable})))
        return found

    return domain or "", operator, ports(inputs), ports(outputs.strip("()"))


def registry_problems(table):
    """Returns one sentence for each difference from the registry."""
    found, used = [], set()
    by_operator = collections.defaultdict(list)
    for domain, operator, inputs, outputs in table:
        by_operator[domain, operator].append((inputs, outputs))
    for (domain, operator), lines in by_operator.items():
        schema = runtime_schema(domain, operator)
        if schema is None:
            found.append(f"{operator}: onnxruntime has no version 1 of it in '{domain}'")
            continue
        for inputs, outputs in lines:
            found += _port_problems(operator, [*inputs, None, *outputs], [*schema.inputs, None, *schema.outputs], used)
        found += _type_problems(operator, lines, schema, used)
    return found + [f"STRICTER is stale: {key}" for key in STRICTER.keys() - used]


def _port_problems(operator, ours, theirs, used):
    """Compares the ports of one line: names, order, presence, shared variables.

    `None` stands between inputs and outputs. `used` collects the entries of STRICTER that apply.
    """
    if [p and p[0] for p in ours] != [p and p.name for p in theirs]:
        return [f"{operator}: ports {[p and p[0] for p in ours]}, in the registry {[p and p.name for p in theirs]}"]
    found, our_variable, their_variable = [], {}, {}
    for (name, variable, presence, types), port in [pair for pair in zip(ours, theirs) if pair[0]]:
        registered = str(port.option).split(".")[-1]
        if (presence, registered) == ("Single", "Optional") and (operator, name) in STRICTER:
            used.add((operator, name))
        elif presence != registered:
            found.append(f"{operator}: {name} is {presence}, in the registry {port.option}")
        if our_variable.setdefault(port.typeStr, variable) != variable:
            found.append(
                f"{operator}: {name} is of {variable}, others of the registry's {port.typeStr} are of "
                f"{our_variable[port.typeStr]}"
            )
        if their_variable.setdefault(variable, port.typeStr) != port.typeStr and len(types) > 1:
            used.add((operator, name))
            if (operator, name) not in STRICTER:
                found.append(
                    f"{operator}: {name} shares {variable}, in the registry it is of {port.typeStr}, "
                    f"not of {their_variable[variable]}"
                )
    return found


def _type_problems(operator, lines, schema, used):
    """Compares the types that a port takes, over all lines of an operator."""
    found = []
    for i, port in enumerate([*schema.inputs, *schema.outputs]):
        taken = [[*inputs, *outputs][i][3] for inputs, outputs in lines if len(inputs) + len(outputs) > i]
        ours, theirs = set().union(*taken), port_types(schema, port)
        if ours - theirs:
            found.append(f"{operator}: {port.name} takes {sorted(ours - theirs)}, which the registry does not")
        if theirs - ours:
            used.add((operator, port.name))
            if (operator, port.name) not in STRICTER:
                found.append(f"{operator}: {port.name} does not take {sorted(theirs - ours)}, which the registry does")
    return found


def self_test(text):
    """Plants mistakes, each of which has to be found. Returns the exit status."""
    plants = {
        "a name": ("FusedConv(X: T", "FusedConv(x: T"),
        "the order": ("FusedMatMul(A: T, B: T)", "FusedMatMul(B: T, A: T)"),
        "a port too few": ("BiasGelu(A: T, B: T)", "BiasGelu(A: T)"),
        "optional": ("QuickGelu(X: T)", "QuickGelu(X: T?)"),
        "a type too many": (
            "BiasAdd(X: T, bias: T, skip: T) -> Y: T where T in {float, float16}",
            "BiasAdd(X: T, bias: T, skip: T) -> Y: T where T in {float, float16, bfloat16}",
        ),
        "a type too few": (
            "CDist(A: T, B: T) -> C: T where T in {float, double}",
            "CDist(A: T, B: T) -> C: T where T in {float}",
        ),
        "a variable of its own": (
            "GatedAdd(X: T, Y: T, gate: T) -> output: T where T in",
            "GatedAdd(X: T, Y: T, gate: U) -> output: T where U in {float, float16, bfloat16}, T in",
        ),
        "a variable shared": (
            "GroupNorm(X: T, gamma: M, beta: M) -> Y: T where T",
            "GroupNorm(X: T, gamma: T, beta: T) -> Y: T where T",
        ),
        "a fixed port": (
            "mean: float?, inv_std_var: float?, input_skip_bias_sum: T?) where T in {float, float16, bfloat16}",
            "mean: T?, inv_std_var: T?, input_skip_bias_sum: T?) where T in {float, float16, bfloat16}",
        ),
        "an operator that is not there": ("com.microsoft::Gelu(", "com.microsoft::Jelu("),
    }
    passed = failed = 0
    for what, (old, new) in plants.items():
        assert old in text, old
        found = registry_problems(read_table(text.replace(old, new, 1)))
        passed, failed = passed + bool(found), failed + (not found)
        print(f"{'ok  ' if found else 'FAIL'} {what}: {found[:1]}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


class ModelJudge:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, pathlib.Path(folder)
        self.problems, self.no_kernel, self.checks = [], set(), 0

    def expect(self, ok, sentence):
        self.checks += 1
        if not ok:
            self.problems.append(sentence)
        return bool(ok)

    def judge(self, case):
        original = case.model()
        source = self.folder / "in.onnx"
        onnx.save(original, source)
        error = structure.load_error(original)
        runs = error is None
        if not runs:
            self.no_kernel.add(case.operator)
            self.expect(
                "NOT_IMPLEMENTED" in error or "Could not find an implementation" in error,
                f"{case.operator}: the model is wrong: {error}",
            )
        for dtype in ("float16", "bfloat16"):
            self._judge_type(case, original, source, dtype, runs)

    def _judge_type(self, case, original, source, dtype, runs):
        who = f"{case.operator} {dtype}"
        target = self.folder / f"out.{dtype}.onnx"
        arguments = [source, "-o", target, "--dtype", dtype, "--opset", "keep", "--guards", "none"]
        answer = self.tool.run([*arguments, "--allow", case.label])
        if not self.expect(answer.exit == 0, f"{who}: exit {answer.exit}: {answer.first_error()}"):
            return print(f"{case.operator:32} {dtype:9} FAILED")
        self.expect(
            "has no signature" not in answer.stderr and "does not fit" not in answer.stderr, f"{who}: {answer.stderr}"
        )
        rewritten = onnx.load(target)
        schema = runtime_schema(case.domain, case.operator)
        may = any(
            {"float", dtype} <= port_types(schema, port) for port, name in zip(schema.inputs, case.inputs) if name
        )
        is_low = any(n.op_type == "Cast" for n in rewritten.graph.node)
        self.expect(
            is_low == may,
            f"{who}: {'low' if is_low else 'not low'}, although the registry {'allows' if may else 'forbids'} it",
        )
        for sentence in structure.problems(
            original, rewritten, dtype, runtime=runs, feeds=self._feeds(case, dtype) if runs else None
        ):
            self.expect(False, f"{who}: {sentence}")
        if not runs and dtype == "float16":
            error = structure.load_error(rewritten) or ""
            self.expect(
                "NOT_IMPLEMENTED" in error or "Could not find an implementation" in error,
                f"{who}: onnxruntime's type inference: {error}",
            )
        note = (
            self._numbers(case, original, rewritten, dtype, who)
            if runs and is_low
            else "no float32 kernel on the CPU provider"
            if not runs
            else "stays float32"
        )
        print(f"{case.operator:32} {dtype:9} {note}", flush=True)

    @staticmethod
    def _feeds(case, dtype):
        """Returns the inputs, or None where the CPU provider loads the model and refuses to run it."""
        return (
            None
            if case.operator in NOT_RUN or case.operator in REFUSES_FLOAT16 and dtype == "float16"
            else case.feeds()
        )

    def _numbers(self, case, original, rewritten, dtype, who):
        if case.operator in NOT_RUN:
            return f"loaded, not run: {NOT_RUN[case.operator]}"
        feeds = case.feeds()
        reference = rounding.run(original, feeds)
        limit = rounding.bound(rewritten, structure.DTYPES[dtype])
        wide = rounding.widen(rewritten)
        self.expect(not wide.unknown and wide.roundings, f"{who}: types unknown to the judge: {wide.unknown}")
        # Every tensor is shown: MoE's float32 kernel gives zeros where neither its inputs nor its output are outputs of
        # the graph.
        shown, _ = rounding.expose(wide.model, scopes.typed_graphs(wide.model, strict=False, guess=True)[0][2])
        rounded = rounding.compare(reference, rounding.run(shown, feeds))
        ok = self.expect(
            rounded.worst <= limit and not rounded.new_bad and not rounded.wrong,
            f"{who}: rounded {rounded} beyond {limit}",
        )
        note = f"rounded {rounded.worst:.1e}"
        if dtype == "float16" and case.operator in REFUSES_FLOAT16:
            try:
                rounding.run(rewritten, feeds)
                self.expect(False, f"{who}: REFUSES_FLOAT16 is stale")
            except Exception as error:
                ok = self.expect("Unsupported data type" in str(error), f"{who}: {error}") and ok
                note += ", float16 refused by the kernel"
        elif dtype == "float16":
            direct = rounding.compare(reference, rounding.run(rewritten, feeds))
            ok = (
                self.expect(
                    direct.worst <= limit and not direct.new_bad and not direct.wrong,
                    f"{who}: run {direct} beyond {limit}",
                )
                and ok
            )
            note += f", run {direct.worst:.1e}"
        return f"{note}, bound {limit:.1e}{'' if ok else ' OUTSIDE'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", required=True)
    parser.add_argument("--tool")
    parser.add_argument("--only")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    text = pathlib.Path(arguments.table).read_text()
    if arguments.self_test:
        return self_test(text)
    table = read_table(text)
    problems = registry_problems(table)
    print(
        f"{len(table)} lines of {len({row[:2] for row in table})} operators compared with onnxruntime's registry, "
        f"{len(problems)} differences"
    )
    checks = len(table)
    if arguments.tool:
        cases = [c for c in contrib_models.cases() if arguments.only in (None, c.operator)]
        covered = {(c.domain, c.operator) for c in cases} | contrib_models.NO_FLOAT32.keys()
        if not arguments.only:
            problems += [
                f"no model of {operator}" for domain, operator, *_ in table if (domain, operator) not in covered
            ]
        with Tool(arguments.tool) as tool, tempfile.TemporaryDirectory() as folder:
            judge = ModelJudge(tool, folder)
            for case in cases:
                judge.judge(case)
        problems, checks = problems + judge.problems, checks + judge.checks
        if not arguments.only and judge.no_kernel != NO_CPU_KERNEL:
            problems.append(f"NO_CPU_KERNEL is stale: {sorted(judge.no_kernel ^ NO_CPU_KERNEL)}")
        print(f"without a float32 kernel on the CPU provider, so without numbers: {', '.join(sorted(judge.no_kernel))}")
    for problem in problems:
        print(problem)
    print(runtimes.TOTALS)
    print(f"{checks - len(problems)} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
