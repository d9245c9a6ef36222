#!/usr/bin/env python3
"""Measures how fast other runtimes run the networks of gpu_times.sh, in turns with amp-run on the same machine.

    gpu_peers.py [--device cuda|cpu] [--small]    --device cpu and --small: to try this script

The other runtimes are PyTorch under autocast, as it is and compiled, and ONNX Runtime, as far as this Python can import
them. Two networks run in float16: ResNet-50 of 128 images, and BERT-large of 32 sequences of 512. Each peer has a row:
the median milliseconds there and of amp-run, and how many times as fast amp-run is. That ratio is a figure of
gpu_figures.sh, too.

Each peer runs in a process of its own, which may fail or take too long: the row says so, and the others go on.
make_gpu_models, amp-rewrite and amp-run are those on the PATH. PyTorch's networks are written out here with the same
layers.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

NETWORKS = {"resnet50": "resnet50_b128", "bert_large": "bert_large_b32"}
SMALL = {"resnet50": "resnet50_b1", "bert_large": "bert_large_b1"}
# Seconds that a peer may take: to compile takes the most.
PEERS = {"eager": 50, "compiled": 110, "onnxruntime": 60}
ROUNDS, WARM_UP = 20, 5


# ---- the networks in PyTorch ----------------------------------------------------------------------------------------


def resnet50(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, channels, width, stride):
            super().__init__()
            self.first = nn.Conv2d(channels, width, 1)
            self.second = nn.Conv2d(width, width, 3, stride, 1)
            self.third = nn.Conv2d(width, 4 * width, 1)
            keeps = channels == 4 * width
            self.shortcut = nn.Identity() if keeps else nn.Conv2d(channels, 4 * width, 1, stride)
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x):
            y = self.relu(self.second(self.relu(self.first(x))))
            return self.relu(self.third(y) + self.shortcut(x))

    layers = [nn.Conv2d(3, 64, 7, 2, 3), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    channels, width = 64, 64
    for blocks in (3, 4, 6, 3):
        for i in range(blocks):
            layers.append(Block(channels, width, 2 if i == 0 and width > 64 else 1))
            channels = 4 * width
        width *= 2
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def bert_large(torch):
    nn = torch.nn
    width, heads = 1024, 16

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.queries, self.keys, self.values, self.mixed = (nn.Linear(width, width) for _ in range(4))
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.first, self.second, self.gelu = nn.LayerNorm(width), nn.LayerNorm(width), nn.GELU()

        def forward(self, x):
            q, k, v = (
                each(x).view(*x.shape[:2], heads, width // heads).transpose(1, 2)
                for each in (self.queries, self.keys, self.values)
            )
            y = nn.functional.scaled_dot_product_attention(q, k, v)
            x = self.first(x + self.mixed(y.transpose(1, 2).reshape(x.shape)))
            return self.second(x + self.narrow(self.gelu(self.wide(x))))

    return nn.Sequential(nn.LayerNorm(width), *(Layer() for _ in range(24)))


def pytorch_run(device, network, batch, is_compiled):
    import torch

    torch.backends.cudnn.benchmark = True
    is_image = network == "resnet50"
    model = {"resnet50": resnet50, "bert_large": bert_large}[network](torch).eval().to(device)
    x = torch.randn((batch, 3, 224, 224) if is_image else (batch, 512, 1024), device=device)
    if is_image:  # as its guides have it for Tensor Cores
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    if is_compiled:
        model = torch.compile(model)
    low = torch.float16 if device == "cuda" else torch.bfloat16  # autocast on processors has no float16 everywhere

    def run():
        with torch.inference_mode(), torch.autocast(device, dtype=low):
            model(x)
        if device == "cuda":
            torch.cuda.synchronize()

    return run, f"PyTorch {torch.__version__}"


def onnxruntime_run(device, path):
    import numpy as np
    import onnxruntime

    provider = "CUDAExecutionProvider" if device == "cuda" else "CPUExecutionProvider"
    session = onnxruntime.InferenceSession(path, providers=[provider])
    if session.get_providers()[0] != provider:
        raise RuntimeError(f"ONNX Runtime {onnxruntime.__version__} does not start {provider}")
    given = session.get_inputs()[0]
    x = np.random.default_rng(0).standard_normal(given.shape).astype(np.float32)
    return lambda: session.run(None, {given.name: x}), f"ONNX Runtime {onnxruntime.__version__}"


def time_peer(args):
    """In a process of its own: prints JSON."""
    if args.peer == "onnxruntime":
        run, name = onnxruntime_run(args.device, args.model)
    else:
        run, name = pytorch_run(args.device, args.network, args.batch, args.peer == "compiled")
    rounds = 2 if args.small else ROUNDS
    times = []
    for i in range(rounds + (1 if args.small else WARM_UP)):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps({"ms": statistics.median(times[-rounds:]), "name": name}))


# ---- the table ------------------------------------------------------------------------------------------------------


def why_absent(peer, device):
    module = "onnxruntime" if peer == "onnxruntime" else "torch"
    if not importlib.util.find_spec(module):
        return f"not there: no module {module}"
    if peer == "onnxruntime" and device == "cuda":
        import onnxruntime

        if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
            return f"not there: ONNX Runtime {onnxruntime.__version__} is built without CUDA"
    return ""


def left():
    """Seconds until the check has to end."""
    return float(os.environ.get("deadline", time.time() + 3600)) - time.time()


def output_of(command, seconds):
    """(what it printed, or nothing; the last line of what it complained of)"""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=max(1, min(seconds, left()))
        )
    except subprocess.TimeoutExpired:
        return "", "took too long"
    if done.returncode == 0:
        return done.stdout, ""
    lines = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()
    return "", lines[-1][:150]


def time_of_ours(args, path):
    flags = (
        ["--warmup", "1", "--iterations", "2"]
        if args.small
        else ["--warmup", str(WARM_UP), "--iterations", str(ROUNDS)]
    )
    out, why = output_of(["amp-run", path, "--random-inputs", "--bench", "--json", "--device", args.device, *flags], 60)
    return (json.loads(out)["median_ms"], "") if out else (None, why)


def make_model(name, folder):
    path, low = folder / "model.onnx", folder / "low.onnx"
    for command in (["make_gpu_models", name, path], ["amp-rewrite", path, "-o", low, "--dtype", "float16"]):
        _, why = output_of(command, 60)
        if why:
            return None, why
    path.unlink()
    return low, ""


def compare_with(args, peer, network, model, batch):
    """A row of the table, and figures."""
    why = why_absent(peer, args.device)
    if why:
        return why
    command = [
        sys.executable,
        __file__,
        "--peer",
        peer,
        "--network",
        network,
        "--model",
        model,
        "--batch",
        str(batch),
        "--device",
        args.device,
        *(["--small"] if args.small else []),
    ]
    before, why = time_of_ours(args, model)
    out, why_peer = output_of(command, PEERS[peer])
    after, why_after = time_of_ours(args, model)
    why = why_peer or why or why_after
    if why:
        return f"FAILED: {why}"
    found, ours = json.loads(out.splitlines()[-1]), statistics.mean([before, after])
    print(f"figure {network}_{peer} {found['ms'] / ours:.3f}")
    return f"{found['ms']:9.3f} ms, amp-run {ours:9.3f} ms: {found['ms'] / ours:5.2f} x as fast ({found['name']})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--peer", choices=list(PEERS), help=argparse.SUPPRESS)
    parser.add_argument("--network", choices=list(NETWORKS), help=argparse.SUPPRESS)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        time_peer(args)
        return 0
    if all(why_absent(peer, args.device) for peer in PEERS):
        print("not there: neither PyTorch nor ONNX Runtime can be imported")
        return 0
    failed = 0
    for network, name in (SMALL if args.small else NETWORKS).items():
        with tempfile.TemporaryDirectory() as folder:
            model, why = make_model(name, pathlib.Path(folder))
            for peer in PEERS:
                row = (
                    compare_with(args, peer, network, model, int(name.rsplit("_b", 1)[1]))
                    if model
                    else f"FAILED: {why}"
                )
                failed += row.startswith("FAILED")
                print(f"{name:14} {peer:12} {row}", flush=True)
    print(
        "all peers that are there were timed" if failed == 0 else f"{failed} of the peers that are there were not timed"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
