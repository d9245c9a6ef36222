#!/usr/bin/env python3
"""Compares every decision with those that TensorFlow's own auto_mixed_precision pass took for the same graphs.

  tf_decisions.py --tool build/tests/rewrite_batch [--profile NAME] [--show N]

tests/tf_cases/ holds 400 small ONNX models (tf_cases_dev.tar.xz) and expected.json. That has for each case and each of
six profiles
  low          the nodes all of whose float tensors became low; every other node keeps float32
  casts_down   the tensors with a Cast to the low type
  casts_up     the tensors with a Cast back (one Cast per tensor and type)
  const_casts  the initializers that are needed in the low type (a Cast or a converted copy is the same thing)
The rewrite runs with `--guards none`, the profile's lists, its type and its follow setting; names, not counts, must
agree. One process serves all.
"""

import argparse
import collections
import json
import os
import pathlib
import shutil
import sys
import tempfile

import onnx
from onnx import TensorProto

from judge import scopes, structure
from judge.tool import Tool

CASES = pathlib.Path(__file__).resolve().parents[2] / "tf_cases"


def decisions(before, after, dtype):
    """Returns what was decided, in terms of the original.

    Low nodes and constants are sets of names. Casts are lists of names, in which a repeated cast shows. 'other' has
    sentences.
    """
    low = structure.DTYPES[dtype]
    old_types, new_types = (scopes.typed_graphs(m)[0][2] for m in (before, after))
    names = {n.name for n in before.graph.node}
    survivors = {n.name: n for n in after.graph.node if n.name in names}
    constants = {t.name for t in before.graph.initializer}
    home = {v.name: v.name for v in before.graph.input}  # tensor of the rewritten model -> tensor of the original
    lows, narrowed, other = set(), set(), []
    for node in before.graph.node:
        now = survivors.get(node.name)
        if now is None:
            other.append(f"node {node.name} is gone")
            continue
        home.update(zip(now.output, node.output))
        became_low = lambda old, new: old and old_types.get(old) == TensorProto.FLOAT and new_types.get(new) == low
        inputs = [old for old, new in zip(node.input, now.input) if became_low(old, new)]
        if inputs or any(became_low(*pair) for pair in zip(node.output, now.output)):
            lows.add(node.name)
            narrowed.update(name for name in inputs if name in constants)
    casts = {"down": [], "up": []}
    constants_now = {t.name for t in after.graph.initializer}
    for node in after.graph.node:
        if node.name in names:
            continue
        if node.op_type != "Cast":
            other.append(f"new {node.op_type} {node.name}")
        elif node.input[0] in home:
            casts["down" if node.attribute[0].i == low else "up"].append(home[node.input[0]])
        elif node.input[0] not in constants_now:  # a constant's cast is counted through its reader
            other.append(f"cast {node.name} of a cast")
    return {"low": lows, "casts_down": casts["down"], "casts_up": casts["up"], "const_casts": narrowed, "other": other}


def disagreement(before, after, dtype, want):
    """Returns an empty text, or one line with what is extra and what is missing."""
    got, words = decisions(before, after, dtype), []
    for field in ("low", "casts_down", "casts_up", "const_casts"):
        extra, missing = sorted(set(got[field]) - set(want[field])), sorted(set(want[field]) - set(got[field]))
        if extra or missing or len(got[field]) != len(want[field]):
            words.append(f"{field}: extra {extra} missing {missing} ({len(got[field])} for {len(want[field])})")
    return "; ".join(words + got["other"])


def judge(tool, spec, files, folder, only, show):
    total, good, shown = collections.Counter(), collections.Counter(), 0
    for case, description in sorted(spec["cases"].items()):
        source = files[os.path.basename(description["file"])]
        before = onnx.load(source)
        for name, want in sorted(description["expect"].items()):
            if only and name != only:
                continue
            profile, out = spec["profiles"][name], os.path.join(folder, "out.onnx")
            lists = "tf-1.15" if profile["lists"].startswith("seed") else "tf-latest"
            arguments = [
                source,
                "-o",
                out,
                "--profile",
                lists,
                "--dtype",
                profile["dtype"],
                "--follow",
                "on" if profile["follow_allow"] else "off",
                "--guards",
                "none",
            ]
            pathlib.Path(out).unlink(missing_ok=True)
            answer, why = tool.run(arguments), ""
            if answer.exit or not os.path.exists(out):
                why = f"exit {answer.exit}: {answer.first_error()}"
            else:
                try:
                    after = onnx.load(out)
                    onnx.checker.check_model(after, full_check=True)
                    why = disagreement(before, after, profile["dtype"], want)
                except Exception as error:
                    why = f"{type(error).__name__}: {str(error)[:200]}"
            total[name] += 1
            good[name] += not why
            if why and shown < show:
                shown += 1
                print(f"{name} {case}: {why}")
    return total, good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--profile", help="only this one")
    parser.add_argument("--show", type=int, default=20)
    arguments = parser.parse_args()
    spec = json.loads((CASES / "expected.json").read_text())
    if arguments.profile and arguments.profile not in spec["profiles"]:
        parser.error(f"profiles: {', '.join(spec['profiles'])}")
    with tempfile.TemporaryDirectory() as folder, Tool(arguments.tool) as tool:
        shutil.unpack_archive(CASES / "tf_cases_dev.tar.xz", folder)
        files = {p.name: str(p) for p in pathlib.Path(folder).rglob("*.onnx")}
        total, good = judge(tool, spec, files, folder, arguments.profile, arguments.show)
    for name in sorted(total):
        print(f"{name}: {good[name]} of {total[name]} agree")
    passed, failed = sum(good.values()), sum(total.values()) - sum(good.values())
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
