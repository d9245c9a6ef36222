#!/usr/bin/env python3
"""Refuses pages that are too long, links that lead nowhere, and paragraphs and cells that nobody can skim.

pages_test.py                check the pages of the tree
pages_test.py --self-test    plant one break of every rule; each must be found
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The most lines of each page.
PAGES = {
    "README.md": 150,
    "ir/README.md": 150,
    "lists/README.md": 100,
    "passes/README.md": 200,
    "runtime/README.md": 200,
    "tests/README.md": 170,
    "tests/bench/README.md": 200,
    "tools/README.md": 200,
    "tools/python/README.md": 150,
    "tools/train/README.md": 200,
}
MAX_PARAGRAPH_WORDS = 80
MAX_CELL_WORDS = 30


def paragraphs(text):
    """(line number, words) of each run of lines of prose; an item of a list is a paragraph."""
    words, begin, in_code = [], 0, False
    for number, line in enumerate(text.splitlines() + [""], 1):
        if line.startswith("```"):
            in_code = not in_code
        is_prose = bool(line.strip()) and not in_code and not line.startswith(("```", "    ", "|", "#"))
        if words and (not is_prose or re.match(r"(- |\d+\. )", line)):
            yield begin, len(words)
            words = []
        if is_prose:
            begin = begin if words else number
            words += line.split()


def anchors(text):
    """The anchors that code hosts make of the headings."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(root, name, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("http"):
            continue
        path, _, anchor = target.partition("#")
        file = (root / name).parent / path if path else root / name
        if not file.exists() or (anchor and anchor not in anchors(file.read_text())):
            yield target


def complaints(root):
    for name, most in PAGES.items():
        if not (root / name).is_file():
            yield f"{name}: is missing"
            continue
        text = (root / name).read_text()
        lines = text.splitlines()
        if len(lines) > most:
            yield f"{name}: {len(lines)} lines, expected at most {most}"
        for target in broken_links(root, name, text):
            yield f"{name}: the link {target} leads nowhere"
        for number, count in paragraphs(text):
            if count > MAX_PARAGRAPH_WORDS:
                yield f"{name}:{number}: a paragraph of {count} words, expected at most {MAX_PARAGRAPH_WORDS}"
        for number, line in enumerate(lines, 1):
            if line.startswith("|") and max(len(cell.split()) for cell in line.split("|")) > MAX_CELL_WORDS:
                yield f"{name}:{number}: a cell of more than {MAX_CELL_WORDS} words"


def self_test():
    import tempfile

    breaks = {
        "a long page": ("ir/README.md", "a\n\n" * 76, "lines, expected"),
        "a link to no file": ("README.md", "[a](none.md)\n", "leads nowhere"),
        "a link to no heading": ("README.md", "# A b\n[a](#a-c)\n", "leads nowhere"),
        "a long paragraph": ("README.md", "word " * 81 + "\n", "a paragraph of 81"),
        "a long cell": ("README.md", "| " + "word " * 31 + "|\n", "a cell of more"),
        "no page": ("lists/README.md", None, "is missing"),
    }
    good = {"README.md": "# A b\n[a](#a-b) [i](ir/README.md)\n- " + "word " * 79 + "\n- word\n"}
    is_right = True
    for title, (name, text, expected) in {"nothing": (None, "", ""), **breaks}.items():
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for page in PAGES:
                (root / page).parent.mkdir(parents=True, exist_ok=True)
                content = text if page == name else good.get(page, "# Page\n")
                if content is not None:
                    (root / page).write_text(content)
            found = list(complaints(root))
        is_found = len(found) == 1 and expected in found[0] if expected else not found
        print(f"{'ok    ' if is_found else 'FAILED'} planted: {title}{'' if is_found else f': {found}'}")
        is_right = is_right and is_found
    return 0 if is_right else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true")
    if parser.parse_args().self_test:
        return self_test()
    found = list(complaints(ROOT))
    print("\n".join(found))
    print(f"{len(PAGES)} pages, {len(found)} complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
