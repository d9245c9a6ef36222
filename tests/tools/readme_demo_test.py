"""The example that README.md opens with is what amp-rewrite prints: readme_demo_test.py AMP_REWRITE MAKE_DEMO REPOSITORY

Every line of it is a line of the real output, but for "..." and for how wide the columns are.
"""
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile


def words(line):
    return " ".join(line.split())


def main():
    rewrite, make_demo, repository = map(os.path.abspath, sys.argv[1:4])
    example = pathlib.Path(repository, "README.md").read_text().split("```")[1].strip().splitlines()
    prompt, *command = shlex.split(example[0])
    assert prompt == "$" and command[0] == "amp-rewrite", f"README.md does not open with the example any more: {example[0]}"
    shown = [words(line) for line in example[1:] if line != "..."]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([make_demo, f"{repository}/tools/demo/demo.onnxtxt", "demo.onnx"], cwd=folder, check=True)
        done = subprocess.run([rewrite, *command[1:]], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = {words(line) for line in (done.stdout + done.stderr).splitlines()}
    missing = [line for line in shown if line not in printed]
    assert len(shown) > 3 and not missing, "README.md shows what is not printed:\n" + "\n".join(missing)


main()
