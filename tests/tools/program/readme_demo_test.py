"""Checks that amp-rewrite prints the example that README.md opens with.

    readme_demo_test.py AMP_REWRITE AMP_RUN MAKE_DEMO REPOSITORY

Every line of the example is a line of the real output, but for "..." and for how wide the columns are. `tools/dev demo`
ends with a run of both models; with the model of the example, that run says how far the two models are apart, how long
they take and how many bytes.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile


def words(line):
    return " ".join(line.split())


def last_command(repository):
    """Returns the arguments of the demo's last command, without the program's name."""
    demo = pathlib.Path(repository, "tools/dev").read_text().split("\ndemo() {")[1].split("\n}")[0]
    program, *flags = shlex.split(demo.splitlines()[-1].replace("$folder/", "").replace("$dtype", "float16"))
    assert program == "build/tools/amp-run", f"the demo does not end with a run of both models any more: {program}"
    return flags


def of_any_machine(line):
    """The line without what another machine may not say, or in other digits."""
    line = words(line).replace("; this machine computes no faster in float16", "")
    return re.sub(r"(; verified: largest relative error) [0-9.e-]+ on", r"\1 on", line)


def check_costs(printed):
    lines = printed.splitlines()
    assert any("relative L2 error" in line for line in lines), printed
    for model in ("MODEL", "OTHER"):
        costs = rf"{model}  median [0-9.e+-]+ ms, .*; activations [0-9.e+-]+ kB, weights [0-9.e+-]+ kB"
        assert any(re.fullmatch(costs, line) for line in lines), printed


def main():
    rewrite, run, make_demo, repository = map(os.path.abspath, sys.argv[1:5])
    example = pathlib.Path(repository, "README.md").read_text().split("```")[1].strip().splitlines()
    prompt, *command = shlex.split(example[0])
    assert prompt == "$" and command[0] == "amp-rewrite", (
        f"README.md does not open with the example any more: {example[0]}"
    )
    shown = [of_any_machine(line) for line in example[1:] if line != "..."]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([make_demo, f"{repository}/tools/demo/demo.onnxtxt", "demo.onnx"], cwd=folder, check=True)
        done = subprocess.run([rewrite, *command[1:]], cwd=folder, capture_output=True, text=True)
        both = subprocess.run([run, *last_command(repository)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert both.returncode == 0, both.stderr
    check_costs(both.stdout)
    printed = {of_any_machine(line) for line in (done.stdout + done.stderr).splitlines()}
    missing = [line for line in shown if line not in printed]
    assert len(shown) > 3 and not missing, "README.md shows what is not printed:\n" + "\n".join(missing)


main()
