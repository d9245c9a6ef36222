#!/usr/bin/env python3
"""Rewrites random valid graphs under random flags and judges what must hold for every model.

  random_graphs.py --tool build/tests/rewrite_batch [--scopes] [--seed S] [--graphs N] [--values N] [--only SEED]
                   [--keep DIR]

The graphs are flat ones of graph_generator.py. Under --scopes they are those of scope_generator.py, with bodies,
functions and sequences, and run in onnxruntime first.

Rules, one failure line each (with the seed that makes the graph again):
  generator    the generated graph itself is valid (else this test is wrong)
  exit         the rewrite succeeds
  structure    every rule of structure.py holds; onnxruntime with its default optimisations loads the result, and runs
               it in float16
  description  what the model says beside data and types stays (descriptions.py; a third of the graphs says something
               about everything)
  openvino     OpenVINO compiles every 16th result where it compiles the original
  twice        rewriting the result again gives the same bytes
  exclude-all  with --deny-node '*' the output is the input, byte for byte
  exclusion    a longer exclusion makes no node low that was not
  isomorphic   other names and another topological order give the same graph, in every scope
  external     weights in a file beside the model give the same graph
  values       with float32 in place of every low type, and no rounding, the result is the original's within 1e-6 (1e-5
               where the opset was raised); with every rounding, there is no new NaN / Inf, and the error is within
               min(8 D u, 0.02 | 0.1) on `smooth` graphs
`--values` graphs are run; the others are judged by form alone. The closing lines say how many nodes became low and
which operators appeared: a tool that converts nothing fails.
"""

import argparse
import collections
import dataclasses
import os
import pathlib
import random
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto

from judge import descriptions, isomorphism, rounding, runtimes, scopes, structure
from judge.generators import (
    function_generator,  # registers with scope_generator, as the last does
    graph_generator,
    scope_generator,
    sequence_generator,
)
from judge.scopes import sort
from judge.tool import Tool

ONNXRUNTIME_OPSET = 26
OPENVINO_EVERY = 16
LARGEST_FLOAT16 = 65504.0
MIN_LOW_SHARE = 0.1, 0.05  # of all nodes, and of those in bodies; far below what any profile gives on these graphs


@dataclasses.dataclass
class Failure:
    rule: str
    seed: int
    text: str
    flags: list


@dataclasses.dataclass
class Totals:
    graphs: int = 0
    nodes: int = 0
    low: int = 0
    low_inside: int = 0  # of them, in bodies
    replaced: int = 0  # BatchNormalizations
    values: int = 0
    operators: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    low_operators: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    worst: dict = dataclasses.field(default_factory=dict)


def random_flags(model, source):
    """Returns random choices for the flags of the rewrite.

    A quarter of the graphs gets a type and the plain defaults.
    """
    flags = ["--dtype", source.choice(["float16", "bfloat16"])]
    if source.random() < 0.25:
        return flags
    outputs = [v.name for v in model.graph.output]
    options = [
        ("--keep-io", ["all", "all", "none", ",".join(outputs[:1])]),
        ("--weights", ["convert", "convert", "cast"]),
        ("--profile", ["tf-1.15", "tf-latest"]),
        ("--level", ["default", "default", "default", "treat-infer-as-deny", "tensor-cores-only", "unsafe-force-all"]),
        ("--preserve", ["tensor", "tensor", "node"]),
        ("--follow", ["on", "off"]),
        ("--guards", ["none", "constants", "all"]),
        ("--opset", ["auto", "auto", "keep"]),
    ]
    if model.functions:
        options.append(("--functions", ["inline", "inline-all", "keep", "specialise"]))
    for name, choices in options:
        if source.random() < 0.5:
            flags += [name, source.choice(choices)]
    if source.random() < 0.15:
        flags += ["--freeze-initializers"]
    if source.random() < 0.3:
        flags += ["--deny-node", source.choice(["n1*", "*relu", "n[2-4]*", "*_matmul", "?3_*"])]
    return flags


def is_there(op_type, model):
    """Counts the nodes of this operator, in bodies and functions too."""
    return sum(
        n.op_type == op_type
        for g in [model.graph, *model.functions]
        for _, inner in scopes.all_graphs(g)
        for n in inner.node
    )


def flag(flags, name, default):
    return flags[flags.index(name) + 1] if name in flags else default


class Judge:
    def __init__(self, tool, folder, echo=True, keep=None, with_scopes=False):
        self.tool, self.folder, self.echo, self.keep, self.with_scopes = (
            tool,
            pathlib.Path(folder),
            echo,
            keep,
            with_scopes,
        )
        self.failures, self.totals = [], Totals()

    def fail(self, rule, seed, text, flags=()):
        self.failures.append(Failure(rule, seed, text, list(flags)))
        if self.echo and sum(f.rule == rule for f in self.failures) <= 12:
            print(f"FAIL {rule} seed {seed} {' '.join(flags)}: {text}", flush=True)
        if self.keep:
            os.makedirs(self.keep, exist_ok=True)
            onnx.save(self.model, os.path.join(self.keep, f"{rule}_{seed}.onnx"))

    def _generate(self, seed, smooth):
        """Makes a graph, or returns None after it noted a failure.

        Returns (model, the same sorted, inputs, whether its numbers are to be judged).
        """
        try:
            if self.with_scopes:
                model, feeds, has_extreme = scope_generator.generate(seed, smooth)
            else:
                model = graph_generator.generate(seed, smooth)
                feeds, has_extreme = rounding.random_feeds(model, seed), graph_generator.has_extreme_constant(model)
                feeds = (
                    {k: np.abs(v) + np.float32(0.5) if v.dtype.kind == "f" else v for k, v in feeds.items()}
                    if smooth
                    else feeds
                )
            if seed % 3 == 1:
                descriptions.decorate(descriptions.state_types(model) if seed % 2 else model)
            ordered = sort(onnx.ModelProto.FromString(model.SerializeToString()))
            onnx.checker.check_model(ordered, full_check=True)
            scopes.inferred(ordered)
            if self.with_scopes:
                rounding.run(ordered, feeds)
        except Exception as error:
            return self.fail("generator", seed, structure._short(error))
        return model, ordered, feeds, not has_extreme

    def rewrite(self, source, target, flags, seed):
        """Rewrites the file. Returns the bytes written, or None after it noted a failure."""
        target.unlink(missing_ok=True)
        answer = self.tool.run([source, "-o", target, *flags])
        if answer.exit or not target.exists():
            self.fail("exit", seed, f"{answer.exit}: {answer.first_error()}", flags)
            return None
        return target.read_bytes()

    def graph(self, seed, run_values):
        smooth = seed % 4 == 0
        source = random.Random(seed * 7919 + 1)
        if (made := self._generate(seed, smooth)) is None:
            return None
        self.model, ordered, feeds, has_numbers = made
        model = self.model
        path, out, again = (self.folder / name for name in ("in.onnx", "out.onnx", "again.onnx"))
        flags = random_flags(model, source)
        dtype = flag(flags, "--dtype", "float16")
        path.write_bytes(model.SerializeToString(deterministic=True))
        if is_there("BatchNormalization", model) or not has_numbers:
            self._replaced(path, out, again, ordered, flags, seed)
        flags += ["--keep-batch-norm", "--scale-weights=never"]  # the other rules compare node by node
        written = self.rewrite(path, out, flags, seed)
        if written is None:
            return None
        unchanged = written == path.read_bytes()  # an unsorted graph stays unsorted then
        result = ordered if unchanged else onnx.ModelProto.FromString(written)
        self.totals.graphs += 1
        self.totals.operators.update(
            n.op_type for g in [model.graph, *model.functions] for _, inner in scopes.all_graphs(g) for n in inner.node
        )
        can_load = scopes.opset(result) <= ONNXRUNTIME_OPSET
        found = structure.problems(
            ordered,
            result,
            dtype,
            flag(flags, "--keep-io", "all"),
            "--freeze-initializers" in flags,
            runtime=can_load,
            feeds=feeds,
        )
        for text in found[:3]:
            self.fail("structure", seed, text, flags)
        for text in descriptions.problems(ordered, result)[:3]:
            self.fail("description", seed, text, flags)
        if seed % OPENVINO_EVERY == 0:
            for text in runtimes.openvino_problems(ordered, result):
                self.fail("openvino", seed, text, flags)
        twice = self.rewrite(out, again, flags, seed)
        if twice is not None and twice != written:
            self.fail("twice", seed, self._where_different(written, twice), flags)
        lows = self._count(ordered, result, dtype)
        self._exclusion(path, again, ordered, result, lows, flags, seed, source)
        if seed % 2:
            self._isomorphic(ordered, result, path, again, flags, seed)
        if seed % 8 == 1:
            self._external(model, result, again, flags, seed)
        if run_values and has_numbers and scopes.opset(ordered) <= ONNXRUNTIME_OPSET and can_load:
            try:
                self._values(ordered, result, dtype, smooth, feeds, flags, seed)
            except Exception as error:
                self.fail("values", seed, structure._short(error), flags)
        return None

    def _replaced(self, path, out, again, model, flags, seed):
        """Judges the form of a rewrite that may fold BatchNormalizations and multiply weights.

        batch_norms.py and scaled_weights.py judge the numbers.
        """
        written = self.rewrite(path, out, flags, seed)
        if written is None:
            return
        twice = self.rewrite(out, again, flags, seed)
        if twice is not None and twice != written:
            self.fail("twice", seed, self._where_different(written, twice), flags)
        result = sort(onnx.load(out))
        for text in structure.checker_problems(model, result):
            self.fail("structure", seed, text, flags)
        self.totals.replaced += is_there("BatchNormalization", model) - is_there("BatchNormalization", result)

    def _count(self, model, result, dtype):
        lows = structure.low_nodes(model, result, dtype)
        nodes = {path: graph.node for path, graph in scopes.all_graphs(model.graph)}
        self.totals.nodes += sum(len(n) for n in nodes.values())
        self.totals.low += len(lows)
        self.totals.low_inside += sum(path != "" for path, _ in lows)
        if list(model.functions) == list(result.functions):
            self.totals.low_operators.update(nodes[path][i].op_type for path, i in lows)
        return lows

    @staticmethod
    def _where_different(first, second):
        a, b = onnx.ModelProto.FromString(first), onnx.ModelProto.FromString(second)
        if a == b:
            return "equal messages, other bytes"
        for i, (x, y) in enumerate(zip(a.graph.node, b.graph.node)):
            if x != y:
                return (
                    f"node {i}: {x.op_type} {x.name!r} {list(x.output)} became {y.op_type} {y.name!r} {list(y.output)}"
                )
        differ = [
            f.name for f in onnx.GraphProto.DESCRIPTOR.fields if getattr(a.graph, f.name) != getattr(b.graph, f.name)
        ]
        return f"graph fields {differ}; {len(a.graph.node)} and {len(b.graph.node)} nodes"

    def _exclusion(self, path, out, model, result, lows, flags, seed, source):
        excluded = self.rewrite(path, out, [*flags, "--deny-node", "*"], seed)
        if excluded is not None and excluded != path.read_bytes():
            self.fail("exclude-all", seed, self._where_different(path.read_bytes(), excluded), flags)
        names = [n.name for n in model.graph.node if n.name]
        if seed % 2 or not lows or not names:
            return
        few = [x for name in source.sample(names, min(2, len(names))) for x in ("--deny-node", name)]
        more = few + [x for name in source.sample(names, min(4, len(names))) for x in ("--deny-node", name)]
        results = [result]
        for exclusion in (few, more):
            if self.rewrite(path, out, [*flags, *exclusion], seed) is None:
                return
            results.append(onnx.load(out))
        before, *others = structure.low_nodes_of_each(model, results, flag(flags, "--dtype", "float16"))
        for exclusion, now in zip((few, more), others):
            if now - before:
                self.fail("exclusion", seed, f"{' '.join(exclusion)} makes {sorted(now - before)[:5]} low", flags)
            before = now

    def _isomorphic(self, model, result, path, out, flags, seed):
        if (
            "--deny-node" in flags
            or "," in flag(flags, "--keep-io", "all")
            or flag(flags, "--keep-io", "all") not in ("all", "none")
        ):
            return  # these flags name nodes and tensors
        other = isomorphism.renamed(model, seed)
        path = path.with_name("renamed.onnx")
        path.write_bytes(other.SerializeToString(deterministic=True))
        if self.rewrite(path, out, flags, seed) is None:
            return
        left, right = isomorphism.fingerprint(result), isomorphism.fingerprint(onnx.load(out))
        if left != right:
            gone, new = left[1] - right[1], right[1] - left[1]
            self.fail(
                "isomorphic",
                seed,
                f"{sum(gone.values())} of {sum(left[1].values())} nodes differ, "
                f"kinds {dict(collections.Counter(k[0] for k in (gone + new).elements()))}",
                flags,
            )

    def _external(self, model, result, out, flags, seed):
        path = self.folder / "split.onnx"
        for file in self.folder.glob("*.data"):
            file.unlink()
        copy = onnx.ModelProto.FromString(model.SerializeToString())
        onnx.save(copy, path, save_as_external_data=True, location="split.data", size_threshold=0)
        if self.rewrite(path, out, flags, seed) is None:
            return
        left, right = isomorphism.fingerprint(result), isomorphism.fingerprint(onnx.load(out))
        if left != right:
            self.fail(
                "external",
                seed,
                f"another graph: {dict(collections.Counter(k[0] for k in (left[1] - right[1]).elements()))}",
                flags,
            )

    def _values(self, model, result, dtype, smooth, feeds, flags, seed):
        reference = rounding.run_rounded(model, feeds, rounding=False)
        wide = rounding.widen(result)
        if wide.unknown:
            self.fail("values", seed, f"types unknown: {wide.unknown[:3]}", flags)
        plain = rounding.compare(reference, rounding.run_rounded(result, feeds, rounding=False))
        raised = scopes.opset(model) != scopes.opset(result)
        # onnxruntime takes another path for a weight behind a Cast (5.97e-8 seen), and integers may flip on it.
        inexact = plain.worst > (1e-5 if raised else 1e-6) or plain.wrong or plain.new_bad
        unequal = [] if raised or plain.worst else [name for name, share in plain.equal.items() if share < 1]
        if inexact or unequal:
            self.fail(
                "values",
                seed,
                f"without rounding {plain.worst:.3g} at {plain.where!r}, "
                f"{plain.new_bad} new NaN / Inf, {plain.wrong}, unequal {unequal}",
                flags,
            )
        self.totals.values += 1
        if not smooth:
            return
        own = rounding.run_rounded(model, feeds)
        rounded = rounding.compare(own, rounding.run_rounded(result, feeds))
        if rounded.new_bad and dtype == "float16" and rounding.largest_magnitude(model, feeds)[0] > LARGEST_FLOAT16:
            return  # the rounds of a loop multiplied values beyond float16
        limit = rounding.bound(result, structure.DTYPES[dtype])
        self.totals.worst[dtype] = max(self.totals.worst.get(dtype, 0), rounded.worst)
        if rounded.worst > limit or rounded.new_bad or rounded.wrong:
            self.fail(
                "values",
                seed,
                f"rounded {rounded.worst:.3g} at {rounded.where!r}, bound {limit:.3g}, "
                f"{rounded.new_bad} new NaN / Inf, {rounded.wrong}",
                flags,
            )


def run(tool, seed, graphs, values, echo=True, keep=None, only=None, with_scopes=False, least=MIN_LOW_SHARE):
    """Judges `graphs` graphs from `seed` on, and runs `values` of them. Returns the failures."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        judge = Judge(tool, folder, echo, keep, with_scopes)
        every = max(1, graphs // max(values, 1))
        for i in [only] if only is not None else range(seed, seed + graphs):
            judge.graph(i, only is not None or (i - seed) // 4 % every == 0)
    totals = judge.totals
    inside = with_scopes and totals.low_inside < least[1] * totals.nodes
    if (totals.low < least[0] * totals.nodes or inside) and only is None:
        judge.fail(
            "structure",
            seed,
            f"only {totals.low} of {totals.nodes} nodes became low, {totals.low_inside} of them in bodies: "
            "the tool converts next to nothing",
        )
    if echo:
        print(
            f"{totals.graphs} graphs, {totals.nodes} nodes of {len(totals.operators)} kinds, "
            f"{totals.low} low ({totals.low_inside} in bodies) of {len(totals.low_operators)} kinds, "
            f"{totals.replaced} BatchNormalizations replaced, {totals.values} run, "
            f"worst rounded error on smooth graphs { ({k: float(f'{v:.2g}') for k, v in totals.worst.items()}) }, "
            f"{tool.calls} rewrites"
        )
        print(runtimes.TOTALS)
        for rule, count in collections.Counter(f.rule for f in judge.failures).items():
            print(f"{rule}: {count} failures on {len({f.seed for f in judge.failures if f.rule == rule})} graphs")
        bad = len({f.seed for f in judge.failures})
        tried = 1 if only is not None else graphs
        print(f"{tried - bad} passed, {bad} failed")
    return judge.failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--graphs", type=int, default=2000)
    parser.add_argument("--values", type=int, default=400)
    parser.add_argument("--scopes", action="store_true", help="graphs with bodies, functions and sequences")
    parser.add_argument("--only", type=int, help="one graph, by its seed")
    parser.add_argument("--keep", help="save the graphs that fail here")
    arguments = parser.parse_args()
    start = time.time()
    print(f"seed {arguments.seed}")
    with Tool(arguments.tool) as tool:
        failures = run(
            tool,
            arguments.seed,
            arguments.graphs,
            arguments.values,
            keep=arguments.keep,
            only=arguments.only,
            with_scopes=arguments.scopes,
        )
    print(f"{time.time() - start:.0f} s", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
