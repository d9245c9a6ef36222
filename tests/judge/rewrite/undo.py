#!/usr/bin/env python3
"""Rewrites models, takes the rewrite back with --policy float32, and compares with the original.

  undo.py --tool build/tests/rewrite_batch [--seed S] [--graphs N] [--only SEED] [--models]

The models are random graphs under random flags, a third of them with bodies and functions; a quarter of them is
rewritten twice, with different flags, before it is taken back. With --models they are the real models of
real_models.py.

Rules for each:
  exit        both runs succeed
  record      whatever was changed has a record
  fits        the record of a model that nobody edited fits it whole
  back        the result has the nodes (name, operator, attributes, inputs, outputs), inputs, outputs, weights and
              metadata of the original. Weights are equal, or equal to their own rounding where the rewrite converted
              them. The order of nodes is free. The rule holds where the opset stayed and no BatchNormalization was
              replaced (for those there is batch_norms.py)
  description where `back` holds, what the original says beside data and types is there too (descriptions.py; two fifths
              of the random ones say something about everything), except what value_info says about results of the
              model's own casts, which folding removes
  valid       the result passes the checker wherever the original does, and no node of it is typed by the low type that
              the original did not have
  optimised   onnxruntime with its default optimisations loads the rewritten model and the one that was taken back
              where it loads the original, and runs them in float16
  again       rewriting the result under the first flags gives the first rewrite, node for node, up to names
  once        taking back what was taken back changes nothing, byte for byte
"""

import argparse
import collections
import json
import os
import pathlib
import random
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto

from judge import descriptions, isomorphism, rounding, runtimes, structure
from judge.generators import graph_generator, scope_generator
from judge.naive_rewriter import sort
from judge.rewrite import random_graphs
from judge.rewrite.real_models import BROKEN
from judge.scopes import all_graphs, opset
from judge.shared_files import shared_folder
from judge.tool import Tool

TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def same_values(old, new, dtypes):
    """Tells whether `new` is `old`, or `old` rounded to some of the types (and bounds saturated)."""
    if old.data_type != new.data_type or list(old.dims) != list(new.dims):
        return False
    if old.data_type != TensorProto.FLOAT:
        return onnx.numpy_helper.to_array(old).tobytes() == onnx.numpy_helper.to_array(new).tobytes()
    a, b = onnx.numpy_helper.to_array(old), onnx.numpy_helper.to_array(new)
    candidates = [a]
    with np.errstate(over="ignore", invalid="ignore"):
        for dtype in dtypes:
            low = TYPES[dtype]
            limit = np.float32(ml_dtypes.finfo(low).max)
            for base in list(candidates):
                candidates += [
                    base.astype(low).astype(np.float32),
                    np.clip(base, -limit, limit).astype(low).astype(np.float32),
                ]
    return any(np.array_equal(c, b, equal_nan=True) for c in candidates)


def attribute_differs(old, new, dtypes):
    if old is None or new is None:
        return True
    if old.type == onnx.AttributeProto.TENSOR and new.type == onnx.AttributeProto.TENSOR:
        return not same_values(old.t, new.t, dtypes)
    if old.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS):
        return False  # the graphs are compared on their own
    return old.SerializeToString(deterministic=True) != new.SerializeToString(deterministic=True)


def is_declared(node, name, model):
    try:
        return name in onnx.defs.get_schema(node.op_type, opset(model), node.domain).attributes
    except onnx.defs.SchemaError:
        return True


def graph_differences(old, new, dtypes, model):
    def key(node):
        return node.domain, node.op_type, node.name, tuple(node.input), tuple(node.output)

    before, after = collections.Counter(map(key, old.node)), collections.Counter(map(key, new.node))
    for gone in (before - after).elements():
        yield f"missing {gone}"
    for extra in (after - before).elements():
        yield f"additional {extra}"
    by_key = {key(node): node for node in new.node}
    for node in old.node:
        other = by_key.get(key(node))
        if other is None:
            continue
        a, b = ({x.name: x for x in n.attribute} for n in (node, other))
        for name in a.keys() | b.keys():
            if name in a and name not in b and not is_declared(node, name, model):
                continue  # the rewrite removes an attribute that no checker takes
            if attribute_differs(a.get(name), b.get(name), dtypes):
                yield f"{node.op_type} {list(node.output)}: attribute {name}"
    a, b = ({t.name: t for t in g.initializer} for g in (old, new))
    for name in a.keys() ^ b.keys():
        yield f"weight {name} in one of them"
    for name in a.keys() & b.keys():
        if not same_values(a[name], b[name], dtypes):
            yield f"weight {name} differs"
    for what in ("input", "output"):
        for x, y in zip(getattr(old, what), getattr(new, what)):
            if x.name != y.name or x.type.tensor_type.elem_type != y.type.tensor_type.elem_type:
                yield f"{what} {x.name} became {y.name} {y.type}"
        if len(getattr(old, what)) != len(getattr(new, what)):
            yield f"another number of {what}s"


def differences(old, new, dtypes):
    olds, news = ([graph for _, graph in all_graphs(model.graph)] for model in (old, new))
    if len(olds) != len(news):
        yield f"{len(olds)} graphs became {len(news)}"
    for x, y in zip(olds, news):
        yield from graph_differences(x, y, dtypes, old)
    if list(old.metadata_props) != list(new.metadata_props):
        yield f"metadata {new.metadata_props}"


def low_type(flags):
    return random_graphs.flag(flags, "--policy", random_graphs.flag(flags, "--dtype", "float16")).removeprefix("mixed_")


def record_of(path):
    """Returns the record of the rewrite, or None where there is none."""
    return next((json.loads(p.value) for p in onnx.load(path).metadata_props if p.key == "amp.rewrite"), None)


def has_record(path):
    return record_of(path) is not None


class Judge:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, pathlib.Path(folder)
        self.failures, self.judged, self.compared, self.changed = [], 0, 0, 0

    def fail(self, rule, what, text, flags):
        self.failures.append(rule)
        if self.failures.count(rule) <= 12:
            print(f"FAIL {rule} {what} {' '.join(flags)}: {text}", flush=True)

    def run(self, source, target, flags, what):
        target.unlink(missing_ok=True)
        answer = self.tool.run([source, "-o", target, *flags])
        if answer.exit or not target.exists():
            self.fail("exit", what, f"{answer.exit}: {answer.first_error()}", flags)
            return None
        if "no longer fit" in answer.stderr:
            self.fail("fits", what, answer.stderr, flags)
        return target.read_bytes()

    def optimised(self, original, path, dtype, feeds, what, flags):
        for text in runtimes.problems(original, sort(onnx.load(path)), dtype, feeds):
            self.fail("optimised", what, text, flags)

    def judge(self, path, original, feeds, flags, more_flags, what, strict=True):
        low, lower, back, again = (self.folder / f"{name}.onnx" for name in ("low", "lower", "back", "again"))
        first = self.run(path, low, flags, what)
        if first is None:
            return
        self.judged += 1
        if first != path.read_bytes() and not has_record(low):
            self.fail("record", what, "none", flags)
            return
        self.changed += first != path.read_bytes()
        self.optimised(original, low, low_type(flags), feeds, what, flags)
        source, dtypes = low, [low_type(flags)]
        if more_flags:
            if self.run(low, lower, more_flags, what) is None:
                return
            if lower.read_bytes() != path.read_bytes() and not has_record(lower):
                self.fail("record", what, "none", more_flags)
                return
            source, dtypes = lower, dtypes + [low_type(more_flags)]
        is_replaced = "replaced" in (record_of(source) or {})
        undone = self.run(source, back, ["--policy", "float32"], what)
        if undone is None:
            return
        result = onnx.load(back)
        if (
            opset(result) == opset(original)
            and strict
            and not is_replaced
            and "--freeze-initializers" not in flags + more_flags
        ):
            self.compared += 1
            if undone == path.read_bytes():
                pass
            else:
                for text in list(differences(original, sort(result), dtypes))[:3]:
                    self.fail("back", what, text, flags + more_flags)
                # Casts of the original may be gone, and with them their entries in value_info.
                lost = [f"value_info {o} " for n in original.graph.node if n.op_type == "Cast" for o in n.output]
                said = [t for t in descriptions.problems(original, sort(result)) if not any(name in t for name in lost)]
                for text in said[:3]:
                    self.fail("description", what, text, flags + more_flags)
        self.optimised(original, back, "float16", feeds, what, flags)
        if structure._passes_checker(original):
            error = structure._checker(sort(result))
            if error:
                self.fail("valid", what, error, flags)
        once = self.run(back, again, ["--policy", "float32"], what)
        if once is not None and once != undone:
            self.fail("once", what, "a second time changes the file", flags)
        names = {"--deny-node"} & set(flags) or "," in random_graphs.flag(flags, "--keep-io", "all")
        if first != path.read_bytes() and not names and "--freeze-initializers" not in flags and not more_flags:
            rewritten = self.run(back, again, flags, what)
            if rewritten is None:
                return
            left, right = (isomorphism.fingerprint(onnx.ModelProto.FromString(b)) for b in (first, rewritten))
            if left != right:
                kinds = dict(
                    collections.Counter(k[0] for k in ((left[1] - right[1]) + (right[1] - left[1])).elements())
                )
                self.fail("again", what, f"differing nodes: {kinds}", flags)


def keeping_functions(flags):
    if "--functions" in flags:
        at = flags.index("--functions")
        flags = flags[:at] + flags[at + 2 :]
    return [*flags, "--functions", "keep"]


def inlining_functions(flags):
    """Makes the flags inline functions that they would specialise: those leave no record, and advice says so."""
    return ["inline" if word == "specialise" else word for word in flags]


def random_ones(judge, seeds):
    for seed in seeds:
        is_scoped = seed % 3 == 0
        model = scope_generator.generate(seed, False) if is_scoped else graph_generator.generate(seed, seed % 4 == 0)
        model, feeds = model[:2] if is_scoped else (model, rounding.random_feeds(model, seed))
        if seed % 5 < 2:
            descriptions.decorate(descriptions.state_types(model) if seed % 2 else model)
        source = random.Random(seed * 104729 + 5)
        flags = random_graphs.random_flags(model, source)
        if "--max-weight-error" not in flags:
            flags += ["--max-weight-error", "1"]
        more = random_graphs.random_flags(model, source) if seed % 4 == 3 else []
        inlines = len(model.functions) > 0 and seed % 2 == 0  # inlining is not taken back
        change = inlining_functions if inlines else keeping_functions
        # Scaled weights are judged by scaled_weights.py.
        flags, more = [*change(flags), "--scale-weights=never"], change(more) if more else []
        if seed % 2:
            flags += ["--keep-batch-norm"]
        path = judge.folder / "in.onnx"
        path.write_bytes(model.SerializeToString(deterministic=True))
        judge.judge(
            path,
            sort(onnx.ModelProto.FromString(model.SerializeToString())),
            feeds,
            flags,
            more,
            f"seed {seed}",
            strict=not inlines,
        )


def real_ones(judge):
    folder = shared_folder()
    paths = sorted((folder / "models").glob("*.onnx")) + sorted((folder / "conformance" / "light").glob("*.onnx"))
    if not paths:
        print(f"SKIPPED: no models in {folder}")
        sys.exit(77)
    for path in paths:
        original = sort(onnx.load(path))
        feeds = rounding.random_feeds(original, 1, dim=1)
        keep = ["--functions", "keep"] if original.functions else []
        for flags in (
            ["--dtype", "float16"],
            ["--dtype", "bfloat16", "--opset", "keep", "--keep-batch-norm"],
            ["--policy", "mixed_float16"],
            ["--policy", "bfloat16"],
        ):
            judge.judge(path, original, feeds, flags + keep, [], path.stem, strict=path.stem not in BROKEN)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--only", type=int)
    parser.add_argument("--models", action="store_true")
    arguments = parser.parse_args()
    with (
        Tool(arguments.tool) as tool,
        tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder,
    ):
        judge = Judge(tool, folder)
        if arguments.models:
            real_ones(judge)
        else:
            random_ones(
                judge,
                [arguments.only]
                if arguments.only is not None
                else range(arguments.seed, arguments.seed + arguments.graphs),
            )
    unrecorded = judge.failures.count("record")
    print(
        f"{judge.judged} judged, {judge.changed} of them rewritten, {unrecorded} without a record, "
        f"{judge.compared} compared with the original node by node; {len(judge.failures)} failures "
        f"{dict(collections.Counter(judge.failures))}"
    )
    if judge.judged and judge.changed < judge.judged / 2:
        print("too few were rewritten to prove anything")
        return 1
    print(runtimes.TOTALS)
    return 1 if judge.failures else 0


if __name__ == "__main__":
    sys.exit(main())
