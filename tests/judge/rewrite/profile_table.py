"""A table of the default profile against TensorFlow's, over models.

It shows what is low, what casts and activations move, and how exact the results are. Bytes are those of a run on the
models' own inputs (costs.py). The rows `fewest casts` state the smallest number of casts that the default's classes and
guards allow.
"""

import dataclasses
import json
import statistics

import onnx

from judge import rounding, structure
from judge.rewrite import costs

ROWS = {
    "default": [],
    "tf-1.15": ["--profile", "tf-1.15"],
    "tf-latest": ["--profile", "tf-latest"],
    "fewest casts": ["--placement", "fewest-casts"],
}
RIVALS = ("tf-1.15", "tf-latest")


@dataclasses.dataclass
class Entry:
    model: str
    low: int
    heavy: int
    heavy_low: int
    costs: costs.Costs  # casts and their bytes are those beyond the original's
    activation_share: float  # of the original's bytes
    weight_share: float
    grew: bool
    error: float  # divided by the bound


class ProfileTable:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.entries = {}  # (type, row) -> entries

    def add(self, subject, dtype):
        """Rewrites the model once per row. Returns what failed, or an empty text."""
        base = costs.costs(subject.model, subject.feeds)
        for row, flags in ROWS.items():
            out, report = self.folder / "row.onnx", self.folder / "row.json"
            answer = self.tool.run([subject.path, "-o", out, "--report", report, "--dtype", dtype, *flags])
            if answer.exit:
                return f"{subject.name} {dtype} {row}: exit {answer.exit}: {answer.first_error()}"
            self.entries.setdefault((dtype, row), []).append(
                self._entry(subject, dtype, onnx.load(out), json.loads(report.read_text()), base, out)
            )
        return ""

    def _entry(self, subject, dtype, rewritten, facts, base, out):
        got, nodes = costs.costs(rewritten, subject.feeds), facts["nodes"]
        difference = rounding.compare(subject.reference, rounding.run_rounded(rewritten, subject.feeds))
        bound = max(rounding.bound(rewritten, structure.DTYPES[dtype]), 1e-5)
        return Entry(
            model=subject.name,
            low=sum(n["low"] for n in nodes),
            heavy=sum(n["heavy"] for n in nodes),
            heavy_low=sum(n["heavy"] and n["low"] for n in nodes),
            costs=costs.Costs(
                got.casts - base.casts, got.cast_bytes - base.cast_bytes, got.activation_bytes, got.weight_bytes
            ),
            activation_share=got.activation_bytes / max(base.activation_bytes, 1),
            weight_share=got.weight_bytes / max(base.weight_bytes, 1),
            grew=out.stat().st_size > subject.path.stat().st_size,
            error=float("inf") if difference.new_bad or difference.wrong else difference.worst / bound,
        )

    def totals(self, dtype, row):
        found = self.entries[dtype, row]
        return {
            "low": sum(e.low for e in found),
            "heavy": sum(e.heavy_low for e in found),
            "casts": sum(e.costs.casts for e in found),
            "cast MB": sum(e.costs.cast_bytes for e in found) / 1e6,
            "act. MB": sum(e.costs.activation_bytes for e in found) / 1e6,
            "act. share": statistics.median(e.activation_share for e in found),
            "weight share": statistics.median(e.weight_share for e in found),
            "error": max(e.error for e in found),
        }

    def show(self):
        if not self.entries:
            return
        print(
            f"\nprofiles over {len(next(iter(self.entries.values())))} models; shares: "
            "median of a model's bytes over those in float32; error: largest over its bound"
        )
        print(
            f"{'type':9} {'profile':13} {'low':>5} {'heavy':>9} {'casts':>6} {'cast MB':>8} {'act. MB':>8} "
            f"{'act. share':>10} {'weight share':>12} {'error':>6}  files that grew"
        )
        for (dtype, row), found in self.entries.items():
            t = self.totals(dtype, row)
            heavy = f"{t['heavy']}/{sum(e.heavy for e in found)}"
            grew = ", ".join(e.model for e in found if e.grew) or "none"
            print(
                f"{dtype:9} {row:13} {t['low']:5} {heavy:>9} {t['casts']:6} {t['cast MB']:8.1f} {t['act. MB']:8.1f} "
                f"{t['act. share']:10.3f} {t['weight share']:12.3f} {t['error']:6.2f}  {grew}"
            )

    def problems(self):
        """Returns where the default is worse than one of TensorFlow's profiles, or wrong, in sentences."""
        found = []
        for dtype in sorted({dtype for dtype, _ in self.entries}):
            ours = self.totals(dtype, "default")
            for rival in RIVALS:
                theirs = self.totals(dtype, rival)
                found += [
                    f"{dtype}: {rival} has {theirs[key]} {key}, the default {ours[key]}"
                    for key in ("low", "heavy")
                    if theirs[key] > ours[key]
                ]
                found += [
                    f"{dtype}: {rival} has {theirs[key]:.3f} {key}, the default {ours[key]:.3f}"
                    for key in ("cast MB", "act. MB", "act. share")
                    if theirs[key] < ours[key]
                ]
            if ours["error"] > 1:
                found.append(f"{dtype}: the default's largest error is {ours['error']:.2f} times its bound")
        return found
