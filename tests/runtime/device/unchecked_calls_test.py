#!/usr/bin/env python3
"""Refuses calls of CUDA and its libraries whose status nobody looks at: no such call is a statement of its own.

    tests/runtime/device/unchecked_calls_test.py ROOT

Every such call gives a status. Code that lets it go on purpose says so: static_cast<void>(cudaFree(memory)). A launch,
`kernel<<<...>>>(...)`, is followed by cudaGetLastError at once. The calls of cuDNN's front end that build, check and
execute graphs give a status, too.
"""

import pathlib
import re
import sys

CALL = re.compile(
    r"^\s*(?:\w+(?:\.|->))?((?:cuda|cublas|cudnn|cu)[A-Z]\w*)\(|^\s*(?:library_?->|functions\.)(\w+)\("
    r"|^\s*(?:graph_?\.|properties->)"
    r"(validate|build\w*|create_\w+|check_support|execute\w*|deserialize|serialize|get_\w+)\("
)
LAUNCH = re.compile(r"<<<.*>>>\(")


def statements(text):
    """(line number, text) of what begins behind a ; { } or the ) of an if."""
    begins = True
    for number, line in enumerate(text.splitlines(), 1):
        code = re.sub(r"//.*", "", line).strip()
        if begins and code:
            yield number, re.sub(r"^(?:\} )?(?:else )?(?:if \(.*?\) )?(?=\w)", "", code)
        if code:
            begins = code[-1] in ";{}:" or code.endswith(")") and re.match(r"(if|for|while)\b", code) is not None


def complaints(name, text):
    for number, code in statements(text):
        match = CALL.match(code)
        if match:
            yield f"{name}:{number}: nobody looks at what {match[1] or match[2] or match[3]} gives"
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if LAUNCH.search(line) and "cudaGetLastError" not in "".join(lines[number : number + 1]):
            yield f"{name}:{number}: a launch without cudaGetLastError behind it"


def self_test():
    planted = {
        "void F() {\n  cudaFree(memory);\n}\n": True,
        "void F() {\n  if (a) cudaFree(memory);\n}\n": True,
        "void F() {\n  library_->destroy(handle);\n}\n": True,
        "void F() {\n  cudnnDestroy(handle);\n}\n": True,
        "void F() {\n  functions.destroy(handle);\n}\n": True,
        "void F() {\n  graph.build_plans(policy);\n}\n": True,
        "void F() {\n  graph_.execute(handle, pointers, workspace);\n}\n": True,
        "void F() {\n  graph.deselect_numeric_notes({note});\n}\n": False,
        "int F() {\n  return graph.check_support();\n}\n": False,
        "void F() {\n  K<<<1, 2>>>(x);\n  return 0;\n}\n": True,
        "int F() {\n  K<<<1, 2>>>(x);\n  return cudaGetLastError();\n}\n": False,
        "int F() {\n  static_cast<void>(cudaFree(memory));\n  return cudaFree(memory);\n}\n": False,
        "int F() {\n  const int error =\n      cudaFree(memory);\n  return error;\n}\n": False,
    }
    return [text for text, is_wrong in planted.items() if bool(list(complaints("planted", text))) != is_wrong]


def main():
    missed = self_test()
    for text in missed:
        print(f"judged wrongly:\n{text}")
    files = sorted(
        p
        for p in (pathlib.Path(sys.argv[1]) / "runtime" / "cuda").iterdir()
        if p.suffix in {".cc", ".cu", ".cuh", ".h"}
    )
    found = [complaint for file in files for complaint in complaints(file.name, file.read_text())]
    print("\n".join(found) or f"{len(files)} files: every status is looked at")
    sys.exit(1 if found or missed or not files else 0)


if __name__ == "__main__":
    main()
