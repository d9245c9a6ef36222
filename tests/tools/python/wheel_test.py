"""Tests a wheel: what it holds, that it works where nothing else is installed, and the package's own tests on it.

wheel_test.py WHEEL [--cache FOLDER] [--quick]

Every Python from 3.9 on that is found gets an empty environment with the wheel and numpy alone, on a PATH without
compilers. This Python also gets the packages of requirements.txt, and runs the tests of the package and mypy --strict.
`--cache`: where that environment is kept. `--quick`: leave it out.
"""

import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
MOST_BYTES = 40_000_000
# Libraries that every Linux has; others have to be inside.
OF_SYSTEM = re.compile(r"(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+|libz|ld-linux-x86-64)\.so")
SMOKE = """
import sys, time
start = time.perf_counter()
import amp_rewrite as amp
took = 1000 * (time.perf_counter() - start)
assert took < 400, took
import numpy as np
model = amp.new_model("mlp", [8, 16, 4])
result = amp.rewrite(model)
assert result.changed and "verified" in result.verification, result
x = np.ones((2, 8), np.float32)
session = amp.Session(result.model)
[y] = session.run(None, {"x": x})
assert abs(y.sum() - 2) < 0.01
assert amp.compare(model, result.model, {"x": x}).agree
trainer = amp.Trainer(amp.training_step(model, dtype="float16"))
assert trainer.step({"x": x, "labels": [0, 1]}).finite
result.save(sys.argv[1])
print(f"Python {sys.version.split()[0]}: imported in {took:.0f} ms, rewrote, ran and trained")
"""


def pythons():
    """Python programs from 3.9 on, one for each version."""
    found = {}
    folders = [pathlib.Path(folder) for folder in os.environ["PATH"].split(":")]
    folders += sorted(pathlib.Path.home().glob(".pyenv/versions/*/bin"))
    for folder in folders:
        for minor in range(9, 20):
            path = folder / f"python3.{minor}"
            if minor in found or not path.exists() or "shims" in str(folder):
                continue
            works = subprocess.run([path, "-c", "import venv, ensurepip, ssl"], capture_output=True).returncode == 0
            if works:
                found[minor] = path
    return [found[minor] for minor in sorted(found)]


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def check_files(wheel):
    """Names, sizes and symbols."""
    size = wheel.stat().st_size
    assert size <= MOST_BYTES, f"{size} bytes, expected at most {MOST_BYTES}"
    assert re.search(r"-py3-none-manylinux_2_36_x86_64\.whl$", wheel.name), wheel.name
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        inside = {path.name for path in pathlib.Path(folder).rglob("*.so*")}
        for path in [*pathlib.Path(folder).rglob("*.so*"), *pathlib.Path(folder).glob("amp_rewrite/bin/*")]:
            needed = run("readelf", "-d", path, capture_output=True, text=True).stdout
            for name in re.findall(r"\(NEEDED\).*\[(.*)\]", needed):
                assert name in inside or OF_SYSTEM.match(name), f"{path.name} needs {name}"
        library = pathlib.Path(folder) / "amp_rewrite" / "lib" / "libamp_c.so"
        symbols = run("nm", "-D", "--defined-only", library, capture_output=True, text=True).stdout.splitlines()
        strange = [line for line in symbols if not line.split()[-1].startswith("amp_")]
        assert symbols and not strange, strange
        for name in (
            "LICENSE",
            "NOTICES",
            "py.typed",
            "include/amp_c.h",
            "lib/libdnnl.so.3",
            "licenses/onednn/LICENSE",
        ):
            assert (pathlib.Path(folder) / "amp_rewrite" / name).exists(), name
    print(f"{wheel.name}: {size / 1e6:.1f} MB; exports {len(symbols)} functions, all of them amp_...")


def check_installed(python, wheel):
    """An empty environment, and nothing to compile with."""
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-m", "venv", f"{folder}/env")
        run(f"{folder}/env/bin/python", "-m", "pip", "-q", "--disable-pip-version-check", "install", wheel)
        environment = {"PATH": f"{folder}/env/bin", "HOME": folder}
        run(f"{folder}/env/bin/python", "-W", "error", "-c", SMOKE, f"{folder}/m.onnx", env=environment, cwd=folder)
        for program in ("amp-rewrite", "amp-run", "amp-train"):
            said = run(f"{folder}/env/bin/{program}", "--version", env=environment, capture_output=True, text=True)
            assert said.stdout.startswith(program), said.stdout
        wrong = subprocess.run([f"{folder}/env/bin/amp-rewrite", "--nope"], env=environment, capture_output=True)
        assert wrong.returncode == 2, wrong
        ran = run(
            f"{folder}/env/bin/amp-run", f"{folder}/m.onnx", "--random-inputs", env=environment, capture_output=True
        )
        assert b"oneDNN" not in ran.stderr, ran.stderr  # it would say that it is missing


def check_package(wheel, cache):
    """The package's tests on the wheel, and its types."""
    requirements = HERE / "requirements.txt"
    key = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:12]
    environment = cache / f"python-wheel-{key}"
    python = environment / "bin" / "python"
    if not (environment / ".complete").exists():
        shutil.rmtree(environment, ignore_errors=True)
        run(sys.executable, "-m", "venv", environment)
        pip = [python, "-m", "pip", "-q", "--disable-pip-version-check", "install", "--only-binary", ":all:"]
        run(*pip, "-r", requirements)
        run(*pip, "--no-deps", "nvidia-modelopt==0.47.0")  # its sources alone, for signatures: it needs PyTorch
        (environment / ".complete").touch()
    run(python, "-m", "pip", "-q", "--disable-pip-version-check", "install", "--force-reinstall", "--no-deps", wheel)
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "AMP_REWRITE_LIBRARY")}
    variables["PATH"] = f"{environment / 'bin'}:{variables['PATH']}"
    of_checks = ("wheel_test.py", "clients_test.py")  # which are run by themselves
    for script in sorted(HERE.glob("*_test.py")):
        if script.name not in of_checks:
            run(python, "-W", "ignore", script, env=variables)
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-m", "mypy", "--strict", "-p", "amp_rewrite", env=variables, cwd=folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path.home() / ".cache" / "amp-rewrite")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    wheel = arguments.wheel.resolve()
    check_files(wheel)
    for python in pythons():
        check_installed(python, wheel)
    if not arguments.quick:
        check_package(wheel, arguments.cache)
    print(f"{wheel.name}: all is well")


if __name__ == "__main__":
    main()
