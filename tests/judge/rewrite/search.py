#!/usr/bin/env python3
"""Judges `--search` and `--sensitivity` on made-up and real models.

  search.py --tool build/tests/rewrite_batch [--only TEXT] [--table] [--baselines]

Made up: networks with a part whose error is planted have to keep it float32, and so have those with two such
parts. On small networks, every subset of the parts is rewritten and run: the choice that the search takes has at
least 0.85 of the most low parts that are possible in the median, and 0.7 on average.
Real: each model with its stored input, in both types, at 0.5, 0.25 and 0.1 of the error that everything low has.
No search takes more than 20 runs, and its choice has the error that it says where it is run again. The rank
correlation (Spearman) of predicted errors of parts alone with those of runs is at least 0.85 in the median, and 0.6
everywhere.
Samples that no search has seen: eight samples each, the stored ones and made-up networks' with noise; the choice is
within on eight others in at least 95 % of the searches.
A task: on MNIST's test images, a classifier whose first product is fragile. With --metric-command and a drop of 0.1 %
of the accuracy, the search keeps that one in float32, lowers others, and asks 8 times at most.
--baselines also runs, on the real models, the procedure of NNCF's quantize_with_accuracy_control (each part is raised
to float32 alone and ranked by what that takes off the error, then they are raised in that order until the model is
within; a run for each) and `--verify=fix` with the bound as its tolerance.
--table prints a line for each model. Without $AMP_SHARED or ../shared, real models are left out and the exit code
is 77.
"""

import argparse
import gzip
import itertools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx

from judge.rewrite.complaint_case import model
from judge.shared_files import shared_folder
from judge.tool import Tool

FRACTIONS = (0.5, 0.25, 0.1)
MOST_RUNS = 20
MOST_EVALUATIONS = 8  # of a number of the caller's own
MARGIN = 0.85  # of the error that a search aims at
MODELS = [
    "autoencoder1d_op20",
    "cct_2_opset20",
    "gtcrn_simple",
    "libtashkeel_float",
    "retinaface_mbnet025",
    "silero_vad_16k_op15",
    "silero_vad_v5_op16",
    "squeezenet_speechcmd",
    "stories260k_llama",
    "ultraface_RFB_320",
    "unet_sed_op18",
]


LINES_OF_ALL = ("task", "held out")


def ranks(values):
    order = np.argsort(values, kind="stable")
    places = np.empty(len(values))
    places[order] = np.arange(len(values))
    for value in set(values):
        same = [i for i, other in enumerate(values) if other == value]
        places[same] = np.mean(places[same])
    return places


def spearman(a, b):
    a, b = ranks(a), ranks(b)
    return float(np.corrcoef(a, b)[0, 1]) if len(a) > 2 and np.ptp(a) > 0 and np.ptp(b) > 0 else None


class Searcher:
    """Runs amp-rewrite on one model with its samples."""

    def __init__(self, tool, folder, path, samples, dtype):
        self.tool, self.folder, self.path, self.dtype = tool, pathlib.Path(folder), path, dtype
        self.samples = [word for sample in samples for word in ("--calibration", sample)]
        self.report = self.folder / "report.json"
        self.out = self.folder / "out.onnx"

    def run(self, *flags):
        words = [self.path, "--dtype", self.dtype, "--report", self.report, "--force", *self.samples, *flags]
        return self.tool.run(words)

    def sensitivity(self, measure=0):
        answer = self.run("--sensitivity", "--measure", measure, "--verify=off", "--dry-run")
        assert answer.exit == 0, answer.first_error()
        return json.loads(self.report.read_text())["sensitivity"]

    def search(self, max_error, *flags):
        """The report's part; None where nothing is within."""
        answer = self.run("-o", self.out, "--search", "--max-error", max_error, "--verify=off", *flags)
        if answer.exit == 7:
            return None
        assert answer.exit == 0, answer.first_error()
        return json.loads(self.report.read_text())["search"]

    def error_with(self, kept):
        """The error where these parts stay float32, and everything else is low."""
        flags = [word for part in kept for node in part["nodes"] for word in ("--deny-node", node)]
        answer = self.run(*flags, "--sensitivity", "--verify=off", "--dry-run")
        assert answer.exit == 0, answer.first_error()
        return json.loads(self.report.read_text())["sensitivity"]["measured_error"]

    def cost_with(self, kept):
        """Error and saved bytes where these parts stay float32 and all else is low: a search that is content."""
        flags = [word for part in kept for node in part["nodes"] for word in ("--deny-node", node)]
        answer = self.run("-o", self.out, "--search", "--max-error", 1e30, "--verify=off", *flags)
        assert answer.exit == 0, answer.first_error()
        found = json.loads(self.report.read_text())["search"]
        return (found["choices"][0]["error"], found["choices"][0]["saved_bytes"]) if found["choices"] else (0, 0)

    def fixed(self, max_error, all_low):
        """Saved bytes by --verify=fix; None where that fails."""
        answer = self.run("-o", self.out, "--verify=fix", "--tolerance", max_error)
        if answer.exit == 7:
            return None
        assert answer.exit == 0, answer.first_error()
        low = {node["path"] for node in json.loads(self.report.read_text())["nodes"] if node["low"]}
        return self.cost_with([{"nodes": sorted(all_low - low)}])[1]

    def low_nodes(self):
        answer = self.run("-o", self.out, "--verify=off")
        assert answer.exit == 0, answer.first_error()
        return {node["path"] for node in json.loads(self.report.read_text())["nodes"] if node["low"]}


def normal(seed, *shape, scale=1.0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def chain(seed, factors):
    """Products one behind the other; the result of each is multiplied on a way of its own into the sum."""
    lines, weights, total = [], {}, "x"
    for i, factor in enumerate(factors):
        lines.append(
            f"[m{i}] a{i} = MatMul(h{i - 1 if i else ''}, w{i}) [t{i}] h{i} = Tanh(a{i}) "
            f"[f{i}] b{i} = Mul(h{i}, k{i}) [s{i}] {'y' if i + 1 == len(factors) else f'r{i}'} = Add({total}, b{i})"
        )
        total = f"r{i}"
        weights[f"w{i}"] = normal(seed + i, 96, 96, scale=0.1)
        weights[f"k{i}"] = np.float32(factor)
    body = " ".join(lines).replace("MatMul(h, ", "MatMul(x, ")
    return model("float[4,96] x => float[4,96] y", body, weights)


def write_samples(folder, count, seed, shape=(4, 96)):
    paths = []
    for i in range(count):
        path = pathlib.Path(folder) / f"sample{i}.npz"
        np.savez(path, x=normal(1000 * seed + i, *shape))
        paths.append(path)
    return paths


def judge_planted(tool, faults):
    """A part a hundred times as loud as the others, alone and beside a second one."""
    for name, factors, expected in (
        ("one", [1, 1, 300, 1, 1, 1], {"m2"}),
        ("two", [1, 200, 1, 1, 200, 1], {"m1", "m4"}),
    ):
        for dtype in ("float16", "bfloat16"):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "in.onnx"
                onnx.save(chain(7, factors), path)
                searcher = Searcher(tool, folder, path, write_samples(folder, 8, 3), dtype)
                limit = 0.2 * searcher.sensitivity()["measured_error"]
                found = searcher.search(limit)
                kept = {part["part"] for part in found["float32"]} if found else None
                if kept is None or not expected <= kept:
                    faults.append(f"planted {name}, {dtype}: expected {sorted(expected)} float32, found {kept}")


def judge_subsets(tool, faults, table):
    """Against all subsets of the parts of small networks."""
    kept_shares = []
    for seed in range(4):
        factors = np.exp(np.random.default_rng(seed).normal(0, 1.5, 6)).tolist()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "in.onnx"
            onnx.save(chain(100 * seed, factors), path)
            searcher = Searcher(tool, folder, path, write_samples(folder, 3, seed), "float16")
            sensitivity = searcher.sensitivity()
            parts = [{"nodes": unit["nodes"], "part": unit["unit"]} for unit in sensitivity["units"]]
            errors = {}
            for size in range(len(parts) + 1):
                for kept in itertools.combinations(range(len(parts)), size):
                    if size < len(parts):
                        errors[frozenset(parts[i]["part"] for i in kept)] = searcher.error_with(
                            [parts[i] for i in kept]
                        )
            for fraction in FRACTIONS:
                limit = fraction * sensitivity["measured_error"]
                found = searcher.search(limit)
                within = [kept for kept, error in errors.items() if error <= MARGIN * limit]
                if not within:
                    continue
                fewest = min(len(kept) for kept in within)
                low_now = len(parts) - len(found["float32"]) if found else 0
                kept_shares.append(low_now / (len(parts) - fewest))
                table.append(f"subsets, seed {seed}, {fraction}: {low_now} of at best {len(parts) - fewest} parts low")
    median = statistics.median(kept_shares)
    table.append(f"subsets: parts low, by the most possible: median {median:.2f}, least {min(kept_shares):.2f}")
    if median < 0.85 or statistics.mean(kept_shares) < 0.7:
        faults.append(f"subsets: expected 0.85 of the best in the median and 0.7 on average, found {kept_shares}")


def searchers(tool, models, only):
    for name in MODELS:
        for dtype in ("float16", "bfloat16"):
            if only in name:
                with tempfile.TemporaryDirectory() as folder:
                    yield (
                        name,
                        dtype,
                        Searcher(tool, folder, models / f"{name}.onnx", [models / "refs" / f"{name}.npz"], dtype),
                    )


def nncf(searcher, parts, limits):
    """Saved bytes by limit, and runs."""
    all_error, _ = searcher.cost_with([])
    gains = [all_error - searcher.cost_with([part])[0] for part in parts]
    order = sorted(range(len(parts)), key=lambda i: -gains[i])
    costs = {}

    def raised(count):
        if count not in costs:
            costs[count] = searcher.cost_with([parts[i] for i in order[:count]])
        return costs[count]

    found = []
    for limit in limits:
        count = next(count for count in range(len(parts) + 1) if raised(count)[0] <= limit)
        found.append((raised(count)[1], 1 + len(parts) + count))
    return found


def judge_baselines(tool, models, only, table):
    saved = {name: {fraction: [] for fraction in FRACTIONS} for name in ("search", "NNCF", "--verify=fix")}
    runs = {"search": [], "NNCF": []}
    for name, dtype, searcher in searchers(tool, models, only):
        parts = searcher.sensitivity()["units"]
        all_error, all_bytes = searcher.cost_with([])
        if all_bytes <= 0:  # weights that callers may override are cast in the run
            continue
        all_low = searcher.low_nodes()
        limits = [fraction * all_error for fraction in FRACTIONS]
        line = f"{name}, {dtype}:"
        for fraction, limit, (kept, count) in zip(FRACTIONS, limits, nncf(searcher, parts, limits), strict=True):
            found = searcher.search(limit)
            mine = found["choices"][found["taken"]]["saved_bytes"] if found else 0
            fixed = searcher.fixed(limit, all_low) or 0
            # A float32 model is within, and saves nothing.
            shares = [max(0, bytes_) / all_bytes for bytes_ in (mine, kept, fixed)]
            for procedure, share in zip(saved, shares, strict=True):
                saved[procedure][fraction].append(share)
            runs["NNCF"].append(count)
            runs["search"].append(found["runs"] if found else MOST_RUNS)
            line += f" {fraction}: search {shares[0]:.2f}, NNCF {shares[1]:.2f} in {count} runs, fix"
            line += f" {shares[2]:.2f};"
        print(line, flush=True)  # it takes long
    for procedure, shares in saved.items():
        means = " / ".join(f"{statistics.mean(shares[fraction]):.2f}" for fraction in FRACTIONS)
        count = f", {statistics.median(runs[procedure])} runs in the median" if procedure in runs else ""
        table.append(f"{procedure}: bytes saved on average {means}{count}")


def judge_real(tool, models, only, faults, table):
    correlations, saved = [], {fraction: [] for fraction in FRACTIONS}
    for name, dtype, searcher in searchers(tool, models, only):
        sensitivity = searcher.sensitivity(measure=40)
        measured = [unit for unit in sensitivity["units"] if unit["measured_error"] is not None]
        correlation = spearman(
            [unit["predicted_error"] for unit in measured], [unit["measured_error"] for unit in measured]
        )
        if correlation is not None:
            correlations.append(correlation)
        line = f"{name}, {dtype}: {len(sensitivity['units'])} parts, Spearman {correlation or 0:.2f}"
        for fraction in FRACTIONS:
            limit = fraction * sensitivity["measured_error"]
            found = searcher.search(limit)
            share = 0
            if found:
                choice = found["choices"][found["taken"]]
                share = choice["saved_bytes"] / found["all_saved_bytes"]
                check = searcher.error_with(found["float32"])
                if found["runs"] > MOST_RUNS:
                    faults.append(f"{name}, {dtype}: {found['runs']} runs")
                if choice["error"] > limit or abs(check - choice["error"]) > 1e-6 * choice["error"]:
                    faults.append(f"{name}, {dtype}: error {choice['error']}, {check} of at most {limit}")
                line += f"; {fraction}: {share:.2f} saved in {found['runs']} runs"
            else:
                line += f"; {fraction}: none"
            saved[fraction].append(share)
        table.append(line)
    if not correlations:
        return
    median = statistics.median(correlations)
    means = ", ".join(f"{fraction}: {statistics.mean(saved[fraction]):.2f}" for fraction in FRACTIONS)
    table.append(f"real models: Spearman {median:.2f} in the median; bytes saved on average {means}")
    if min(correlations) < 0.6 or (median < 0.85 and not only):
        faults.append(
            f"Spearman: expected 0.85 in the median, 0.6 at least, found {median:.2f}, {min(correlations):.2f}"
        )


HELD_OUT_MODELS = MODELS[:3] + MODELS[5:6] + MODELS[7:9]
FEW = 8  # samples


def varied(folder, stored, seed, prefix):
    """Samples like a stored one: what is floating point is louder or quieter, with noise."""
    rng = np.random.default_rng(seed)
    with np.load(stored) as arrays:
        inputs = dict(arrays)
    paths = []
    for i in range(FEW):
        new = {}
        for name, array in inputs.items():
            is_float = array.dtype == np.float32 and array.size > 1
            noise = 0.2 * array.std() * rng.standard_normal(array.shape) if is_float else 0
            new[name] = (rng.uniform(0.6, 1.4) * array + noise).astype(np.float32) if is_float else array
        paths.append(pathlib.Path(folder) / f"{prefix}{i}.npz")
        np.savez(paths[-1], **new)
    return paths


def judge_held_out(tool, models, only, faults, table):
    """On samples that no search has seen."""
    within, beyond = 0, []

    def judge(name, path, folder, seen, others, dtype):
        nonlocal within
        searcher, after = (Searcher(tool, folder, path, samples, dtype) for samples in (seen, others))
        all_low = searcher.sensitivity()["measured_error"]
        for fraction in FRACTIONS:
            found = searcher.search(fraction * all_low)
            if not found:
                continue
            error = after.error_with(found["float32"]) / (fraction * all_low)
            within += error <= 1
            if error > 1:
                beyond.append(f"{name}, {dtype}, {fraction}: {error:.2f} of the bound")

    for dtype in ("float16", "bfloat16"):
        for seed in range(0 if only else 12):
            factors = np.exp(np.random.default_rng(seed).normal(0, 1.5, 6)).tolist()
            with tempfile.TemporaryDirectory() as folder:
                path, others = pathlib.Path(folder) / "in.onnx", pathlib.Path(folder) / "others"
                others.mkdir()
                onnx.save(chain(100 * seed, factors), path)
                seen, unseen = write_samples(folder, FEW, seed), write_samples(others, FEW, 50 + seed)
                judge(f"made up {seed}", path, folder, seen, unseen, dtype)
        for name in HELD_OUT_MODELS if models.is_dir() else ():
            if only not in name:
                continue
            with tempfile.TemporaryDirectory() as folder:
                stored = models / "refs" / f"{name}.npz"
                seen, unseen = (varied(folder, stored, seed, prefix) for seed, prefix in ((1, "seen"), (2, "other")))
                judge(name, models / f"{name}.onnx", folder, seen, unseen, dtype)
    table.extend(beyond)
    share = within / max(1, within + len(beyond))
    table.append(f"held out: {within} of {within + len(beyond)} choices are within on samples unseen")
    if share < 0.95 and not only:
        faults.append(f"held out: expected 0.95 within, found {share:.3f}: {beyond}")


def judge_end(tool, models, faults):
    """A search that did not end: of its choices one was within, but saved no more than the best."""
    name = "silero_vad_16k_op15"
    with tempfile.TemporaryDirectory() as folder:
        searcher = Searcher(tool, folder, models / f"{name}.onnx", [models / "refs" / f"{name}.npz"], "float16")
        found = searcher.search(0.0003)
        if found is None or found["choices"][found["taken"]]["error"] > 0.0003 or found["runs"] > MOST_RUNS:
            faults.append(f"{name} at 0.0003: expected a choice within, found {found}")


# onnxruntime computes float16 in float32 on a processor: here every rounding is applied.
EVALUATE = """
import sys
import numpy as np
import onnx
from judge import rounding
data = np.load(sys.argv[1])
logits = rounding.run_rounded(onnx.load(sys.argv[2]), {"x": data["x"]})["y"]
print("accuracy", float((logits.argmax(axis=1) == data["labels"]).mean()))
"""


def mnist(folder, part):
    with gzip.open(folder / f"{part}-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784).astype(np.float32) / 255
    with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz") as file:
        return images, np.frombuffer(file.read(), np.uint8, offset=8).astype(np.int64)


def fragile_classifier(images, labels):
    """Least squares. Each logit is the difference of two numbers that are a thousand times as large; layers beside it
    hardly matter."""
    ones = np.ones((len(images), 1), np.float32)
    inputs = np.concatenate([images, ones], axis=1).astype(np.float64)
    weights = np.linalg.solve(inputs.T @ inputs + 10 * np.eye(785), inputs.T @ np.eye(10)[labels])
    large = 1000 * np.random.default_rng(0).uniform(0.5, 1, (785, 10)) / 100
    first = np.concatenate([weights + large, large], axis=1).astype(np.float32)
    second = np.concatenate([np.eye(10), -np.eye(10)]).astype(np.float32)
    values = {"w": first[:784], "b": first[784], "v": second, "little": np.float32(1e-3)}
    values |= {"side0": normal(1, 784, 512, scale=0.05), "side1": normal(2, 512, 512, scale=0.05)}
    values["side2"] = normal(3, 512, 10, scale=0.05)
    body = (
        "[fragile] h = MatMul(x, w) hb = Add(h, b) [second] logits = MatMul(hb, v) "
        "[beside0] s0 = MatMul(x, side0) t0 = Tanh(s0) [beside1] s1 = MatMul(t0, side1) t1 = Tanh(s1) "
        "[beside2] s2 = MatMul(t1, side2) s = Mul(s2, little) y = Add(logits, s)"
    )
    return model("float[n,784] x => float[n,10] y", body, values)


def judge_task(tool, data, faults, table):
    largest_drop = 0.001
    images, labels = mnist(data, "train")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        path, script, test = folder / "in.onnx", folder / "eval.py", folder / "test.npz"
        onnx.save(fragile_classifier(images[:20000], labels[:20000]), path)
        np.savez(folder / "sample.npz", x=images[:256])
        images, labels = mnist(data, "t10k")
        np.savez(test, x=images, labels=labels)
        script.write_text(EVALUATE)
        searcher = Searcher(tool, folder, path, [folder / "sample.npz"], "float16")
        command = f"{sys.executable} {script} {test} {{model}}"
        flags = ["--search", "--metric-command", command, "--max-drop", largest_drop, "--verify=off"]
        answer = searcher.run("-o", searcher.out, *flags)
        if answer.exit != 0:
            faults.append(f"task: {answer.first_error()}")
            return
        found = json.loads(searcher.report.read_text())["search"]
        choice, kept = found["choices"][found["taken"]], [part["part"] for part in found["float32"]]
        everything_low = found["choices"][0]["error"]
        table.append(
            f"task: accuracy {found['baseline']:.4f}, all low {everything_low:.4f} less, found {choice['error']:.4f} "
            f"less; float32 {', '.join(kept)} of {found['parts']} parts; {found['runs']} evaluations"
        )
        after = subprocess.run([sys.executable, script, test, searcher.out], capture_output=True, text=True, check=True)
        drop = found["baseline"] - float(after.stdout.split()[-1])
        if everything_low <= 10 * largest_drop or drop > largest_drop or found["runs"] > MOST_EVALUATIONS:
            faults.append(f"task: {everything_low} all low, {drop} found, {found['runs']} evaluations")
        if "fragile" not in kept or {"beside0", "beside1", "beside2"} & set(kept):
            faults.append(f"task: expected fragile float32 and nothing beside it, found {kept}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tool", required=True)
    arguments.add_argument("--only", default="", help="real models whose name has this")
    arguments.add_argument("--table", action="store_true")
    arguments.add_argument("--baselines", action="store_true")
    chosen = arguments.parse_args()
    faults, table = [], []
    models = shared_folder() / "models"
    with Tool(chosen.tool, timeout_s=1200) as tool:
        if not chosen.only:
            judge_planted(tool, faults)
            judge_subsets(tool, faults, table)
        judge_held_out(tool, models, chosen.only, faults, table)
        if models.is_dir() and not chosen.only:
            judge_end(tool, models, faults)
            judge_task(tool, shared_folder() / "data" / "mnist", faults, table)
        if models.is_dir():
            judge_real(tool, models, chosen.only, faults, table)
        if models.is_dir() and chosen.baselines:
            judge_baselines(tool, models, chosen.only, table)
    in_short = [line for line in table if line.startswith(LINES_OF_ALL) or "median" in line]
    print("\n".join(table if chosen.table else in_short))
    for fault in faults:
        print("FAULT:", fault)
    print(f"search: {len(faults)} faults")
    if faults:
        return 1
    if not models.is_dir():
        print(f"REAL MODELS ARE LEFT OUT: {models} is not there")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
