#!/usr/bin/env python3
"""Refuses comments that do not begin with a subject, and lines of comments, CMake and Python that are too long.

comments_test.py [PATH...]    all files of the tree, or the named ones and those of the named folders
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_COLUMNS = 120
# A sentence that begins so names its subject late, or never.
RIDDLE = re.compile(r"(Of|Those|The same|What|That of|That which)\b")
CPP = {".cc", ".h", ".cu", ".cuh"}
HASH = {".cmake", ".py", ".sh", ".toml"}


def comments(name, text):
    """(line number, first line) of each comment: a run of lines without code, or the end of a line of code."""
    mark = "//" if pathlib.Path(name).suffix in CPP else "#"
    behind_code = re.compile(r"\S.*\s{2}" + mark + r" ([^\"']*)$")
    was_comment = False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith(mark):
            words = stripped.lstrip(mark).strip()
            if not was_comment and words:
                yield number, words
            was_comment = bool(words)  # an empty line of a comment begins a paragraph
            continue
        was_comment = False
        if found := behind_code.match(line):
            yield number, found[1]
    if name.endswith(".py"):
        for found in re.finditer(r'^\s*(?:r|f)?"""(\w.*)', text, re.MULTILINE):
            yield text.count("\n", 0, found.start()) + 1, found[1]


def complaints(name, text):
    for number, words in comments(name, text):
        if found := RIDDLE.match(words):
            yield f"{name}:{number}: a comment begins with '{found[0]}': begin with a subject: {words}"
    is_cpp = pathlib.Path(name).suffix in CPP
    for number, line in enumerate(text.splitlines(), 1):
        is_long = len(line) > MAX_COLUMNS
        if is_long and (not is_cpp or line.lstrip().startswith("//")) and "http" not in line:
            yield f"{name}:{number}: {len(line)} columns, expected at most {MAX_COLUMNS}"


def is_checked(name):
    path = pathlib.Path(name)
    return path.suffix in CPP | HASH or path.name in {"CMakeLists.txt", "dev", "run"}


def listed_files():
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [name for name in names if is_checked(name) and (ROOT / name).is_file()]


def self_test():
    cases = {
        ("a.cc", "// Of the inputs, the first.\nint a;\n"): 1,
        ("a.cc", "// The first input.\n// Of the others, none.\nint a;\n"): 0,
        ("a.cc", "// The first input.\n//\n// What follows.\nint a;\n"): 1,
        ("a.cc", "int a;  // Those of b\n"): 1,
        ("a.cc", "// " + "x" * 120 + "\n"): 1,
        ("a.py", '"""What it does."""\n'): 1,
        ("a.py", "a = 1  # The same as b\n"): 1,
        ("a.py", "a = '" + "x" * 120 + "'\n"): 1,
        ("a.cmake", "# Office hours\nset(a b)\n"): 0,
    }
    for (name, text), expected in cases.items():
        found = list(complaints(name, text))
        if len(found) != expected:
            sys.exit(f"self test: {name}: {text!r}: found {found}, expected {expected}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="files and folders, from the root of the tree")
    paths = tuple(parser.parse_args().paths)
    names = [name for name in listed_files() if not paths or name in paths or name.startswith(paths)]
    self_test()
    found = [line for name in names for line in complaints(name, (ROOT / name).read_text(errors="replace"))]
    print("\n".join(found))
    print(f"{len(names)} files, {len(found)} complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
