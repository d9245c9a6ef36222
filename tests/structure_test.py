#!/usr/bin/env python3
"""Fails when the source tree breaks the order of modules, a third-party fence or a rule about files.

    tests/structure_test.py [--root DIR]    check the tree
    tests/structure_test.py --self-test     plant one break of every rule in a small tree; each must be found
    tests/structure_test.py --sizes         print lines per folder and the longest files

Modules, one way only: ir -> passes, ir -> runtime, lists -> passes; tools and tests on top; passes and runtime never
know each other. Within a module, one way only too: FOLDERS. Third-party headers stay behind the folders of FENCES.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

MAY_INCLUDE = {
    "ir": {"ir"},
    "lists": {"lists", "ir"},
    "passes": {"passes", "lists", "ir"},
    "runtime": {"runtime", "ir"},
    "tools": {"tools", "passes", "lists", "runtime", "ir"},
    "tests": {"tests", "tools", "passes", "lists", "runtime", "ir"},
}
# Every folder of four modules that has sources, with the folders right below it. A folder may include itself, those
# folders and all that is below them, so nothing runs back up and nothing runs in a circle.
FOLDERS = {
    "ir/base": [],
    "ir/schema": ["ir/base"],
    "ir/file": ["ir/schema"],
    "ir/graph": ["ir/file"],
    "ir/operators": ["ir/graph"],
    "ir/patterns": ["ir/operators"],
    "ir/opset": ["ir/graph"],
    "ir/functions": ["ir/operators", "ir/opset"],
    "passes/classify": [],
    "passes/paint": ["passes/classify"],
    "passes/guard": ["passes/paint"],
    "passes/demand": ["passes/guard"],
    "passes/cast": ["passes/paint"],
    "passes/record": ["passes/cast"],
    "passes/report": ["passes/record"],
    "passes/train/gradient": [],
    "passes/train": ["passes/record", "passes/train/gradient"],
    "passes/decide": ["passes/demand", "passes/report", "passes/train"],
    "passes/undo": ["passes/decide"],
    "passes/sequence": ["passes/undo"],
    "runtime/hardware": [],
    "runtime/kernel": [],
    "runtime/parallel": ["runtime/hardware"],
    "runtime/forms": ["runtime/kernel"],
    "runtime/reference": ["runtime/forms"],
    "runtime/loops/raw": [],
    "runtime/loops": ["runtime/loops/raw", "runtime/parallel", "runtime/reference", "runtime/hardware"],
    "runtime/onednn": ["runtime/hardware", "runtime/kernel"],
    "runtime/cpu": ["runtime/loops", "runtime/onednn", "runtime/reference"],
    "runtime/device/raw": [],
    "runtime/device": ["runtime/device/raw", "runtime/loops"],
    "runtime/cuda": ["runtime/device/raw"],
    "runtime/plan": ["runtime/cpu"],
    "runtime/run": ["runtime/plan"],
    "runtime/device_run": ["runtime/device", "runtime/run"],
    "runtime/values": ["runtime/kernel"],
    "runtime": ["runtime/run"],
    "tools/report": [],
    "tools/library": ["tools/report"],
    "tools/program": ["tools/library"],
    "tools/data": ["tools/program"],
    "tools/rewrite": ["tools/program"],
    "tools/run": ["tools/data"],
    "tools/train": ["tools/data"],
    "tools/c": ["tools/rewrite", "tools/run", "tools/train"],
    "tools/python": [],
    "tools/demo": [],
}
MODULES_OF_FOLDERS = {"ir", "passes", "runtime", "tools"}
OPERATOR_TABLE = "ir/schema/operator_table.cc"  # the one place that says what operators do; passes ask for roles
OPERATOR_ROW = re.compile(r'^\s*\{(?:""|k\w+), "(\w+)"', re.M)
NAME_COMPARED = re.compile(r"op_type(\(\))?\s*[=!]=|[=!]=\s*[\w.>()-]*\bop_type\b")
WRITES_OPERATORS = "passes/train/"  # gradient rules and optimizers are facts about operators, found by name
MAX_BUILD_LINES = 20  # of their CMakeLists.txt
# The headers behind the door: how a complaint calls them, a pattern of their names, and one of the only places that may
# include them.
DOOR = (
    "a device",
    r"runtime/(device|cuda)/|runtime/device_run/(?!(open_device|use_device|device_rows)\.h)",
    r"runtime/(device|device_run|cuda)/|tools/program/tuning_file\.h$|tests/",
)
WITHOUT_DEVICE = (
    "runtime/device_run/without_device.cc"  # AMP_WITH_DEVICE=OFF: what the open headers of the door declare
)
OPEN_DOOR = [f"runtime/device_run/{name}.h" for name in ("open_device", "use_device", "device_rows")]
FENCES = [
    (
        "ONNX or protobuf",
        r"onnx/|onnx_pb\.h|onnx\.pb\.h|google/protobuf/",
        r"ir/|tests/|tools/library/(amp|rewrite_options)\.(h|cc)$",
    ),
    ("oneDNN", r"dnnl|oneapi/dnnl", r"runtime/onednn/"),
    ("MPI", r"mpi\.h|openmpi/", r"runtime/parallel/mpi_transport\.cc$"),
    ("CUDA, cuBLAS or cuDNN", r"cuda|cublas|cudnn|nvrtc|nv_", r"runtime/cuda/"),
    ("Catch2", r"catch2/|catch\.hpp", r"tests/"),
    ("CLI11", r"CLI/", r"tools/|tests/"),
    ("libzip", r"zip\.h", r"runtime/values/npz\.cc$"),
    ("Boost.Graph", r"boost/graph/", r"passes/paint/min_cut\.cc$"),
    ("Boost", r"boost/(?!graph/)", r"runtime/(random_inputs|reference/random_kernels)\.cc$"),
]
NEVER_IN_CU = r"absl/|google/protobuf/|onnx/"
TOP_LEVEL = {"CMakeLists.txt", "ir", "passes", "runtime", "lists", "tools", "tests", "third_party", "README.md"}
TOP_LEVEL_ALLOWED = {"CMakePresets.json", "LICENSE"}
DOT_FILES = {".ci", ".clang-format", ".clang-tidy", ".gitignore", ".ruff.toml"}
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "impl"}
MAX_DEPTH = 3  # folders, module included
SOURCES = {".h", ".cc", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def listed_files(root):
    """Paths below `root` that belong to the project, as git sees it where there is a repository."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    git = subprocess.run(command, capture_output=True, text=True) if (root / ".git").exists() else None
    if git and git.returncode == 0:
        names = [name for name in git.stdout.split("\0") if name and (root / name).exists()]
    else:
        names = [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()]
        names = [n for n in names if not n.startswith("build") and not n.startswith(".git/")]
    return sorted(set(names))


def with_all_below(folder):
    return {folder}.union(*(with_all_below(below) for below in FOLDERS[folder]))


def include_complaints(name, text):
    path = pathlib.PurePosixPath(name)
    module = path.parts[0]
    if path.suffix not in SOURCES or module not in MAY_INCLUDE:
        return
    folder = str(path.parent)
    if module in MODULES_OF_FOLDERS and folder not in FOLDERS:
        yield f"{name}: {folder} is no folder of sources; these are: {', '.join(FOLDERS)}"
    for match in INCLUDE.finditer(text):
        quote, header = match.groups()
        where = f"{name}:{text.count(chr(10), 0, match.start(2)) + 1}"
        target = header.split("/")[0]
        if target in MAY_INCLUDE:
            what, pattern, allowed = DOOR
            if re.match(pattern, header) and not re.match(allowed, name):
                yield (
                    f"{where}: {header}: the headers of {what} are behind runtime/device_run: only {allowed} may "
                    "include them"
                )
            if quote == "<":
                yield f"{where}: our own header {header} is included with <>"
            if target not in MAY_INCLUDE[module]:
                yield f"{where}: {module} must not include {target} ({header})"
            target_folder = str(pathlib.PurePosixPath(header).parent)
            if target == module and folder in FOLDERS and target_folder not in with_all_below(folder):
                yield f"{where}: {folder} must not include {target_folder} ({header})"
            continue
        if quote == '"' and "/" not in header and header != "amp.h":
            yield f"{where}: write the path from the root instead of {header}"
        for what, pattern, allowed in FENCES:
            if re.match(pattern, header) and not re.match(allowed, name):
                yield f"{where}: {header}: {what} headers are fenced into {allowed}"
        if path.suffix in {".cu", ".cuh"} and re.match(NEVER_IN_CU, header):
            yield f"{where}: {header} in device code"


def guard_complaints(name, text):
    if not name.endswith(".h"):
        return
    guard = "AMP_" + re.sub(r"[^A-Za-z0-9]", "_", name).upper() + "_"
    if f"#ifndef {guard}\n#define {guard}\n" not in text:
        yield f"{name}:1: the include guard must be {guard}"


def build_list_complaints(root, names):
    """A source that no CMakeLists.txt names is never compiled, and a test in it never runs."""
    for name in names:
        path = pathlib.PurePosixPath(name)
        if path.suffix not in {".cc", ".cu"} and not path.name.endswith("_test.py"):
            continue
        for folder in [path.parent, *path.parent.parents]:
            lists = root / folder / "CMakeLists.txt"
            if lists.exists():
                build_files = [lists, *(root / path.parent).glob("*.cmake")]
                text = "\n".join(file.read_text() for file in build_files)
                if not re.search(rf"(^|[\s(/]){re.escape(path.name)}\b", text, re.M):
                    yield f"{name}: not in {folder / 'CMakeLists.txt'}"
                break


def tree_complaints(names):
    top = {pathlib.PurePosixPath(n).parts[0] for n in names}
    for missing in sorted((TOP_LEVEL | DOT_FILES) - top):
        yield f"{missing}: missing at the top level"
    for extra in sorted(top - TOP_LEVEL - TOP_LEVEL_ALLOWED - DOT_FILES):
        yield f"{extra}: not allowed at the top level"
    for name in names:
        path = pathlib.PurePosixPath(name)
        if (
            path.parts[0] in {"ir", "passes", "runtime", "lists", "tools", "third_party"}
            and len(path.parts) > MAX_DEPTH + 1
        ):
            yield f"{name}: more than {MAX_DEPTH - 1} folder levels inside a module"
        if path.stem.lower() in VAGUE_NAMES or VAGUE_NAMES & set(re.split(r"[_\-]", path.stem.lower())[-1:]):
            yield f"{name}: a name that says nothing"


def text_complaints(name, text):
    if name == "tests/structure_test.py":
        return
    for match in re.finditer(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))", text):
        yield f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[1]} without an issue number: {match[1]}(#12)"
    is_build_file = re.search(r"(CMakeLists\.txt|\.cmake|CMakePresets\.json)$|^tools/dev$|^\.ci/", name)
    if is_build_file and re.search(r"\b(https?|ftp|git|ssh)://", text):
        yield f"{name}: an address in a build file; packages come from the distribution or through pip"
    is_of_folders = name.removesuffix("/CMakeLists.txt") in FOLDERS and name.endswith("/CMakeLists.txt")
    if is_of_folders and len(text.splitlines()) > MAX_BUILD_LINES:
        yield f"{name}: {len(text.splitlines())} lines, expected at most {MAX_BUILD_LINES}: cut the folder"
    if re.search(r"[ \t]$", text, re.M) and name.endswith((".py", ".cmake", ".txt", ".list", "tools/dev")):
        yield f"{name}: spaces at the end of a line"


def list_complaints(name, text):
    """Every row of an operator list says why. Operators and classes are checked against ONNX's schemas elsewhere."""
    if not (name.startswith("lists/") and name.endswith(".list")):
        return
    for number, line in enumerate(text.splitlines(), 1):
        fields = re.sub(r"(^|\s)#.*", "", line).replace("[", " [").split()
        fields = [f for f in fields if not f.startswith("[")]
        if (
            fields
            and fields[0] not in {"include", "follow", "placement"}
            and len(fields) < 3 + (fields[0] in {"node", "tensor"})
        ):
            yield f"{name}:{number}: a row without a reason"


def operator_complaints(name, text, operators):
    """Passes ask what an operator does, never what it is called."""
    if not name.startswith("passes/") or pathlib.PurePosixPath(name).suffix not in SOURCES:
        return
    if name.startswith(WRITES_OPERATORS):
        return
    for number, line in enumerate(text.splitlines(), 1):
        code = re.sub(r"//.*", "", line)
        for literal in re.findall(r'"([^"\\]*)"', code):
            if literal in operators:
                yield f"{name}:{number}: names the operator {literal}: ask for a role ({OPERATOR_TABLE})"
        if NAME_COMPARED.search(code):
            yield f"{name}:{number}: compares op_type: ask for a role ({OPERATOR_TABLE})"


def without_device_complaints(root, names):
    """Every function behind the door has a definition for builds without devices, which no test builds."""
    defined = (root / WITHOUT_DEVICE).read_text() if WITHOUT_DEVICE in names else ""
    for name in OPEN_DOOR:
        if name not in names:
            continue
        public = re.sub(r"//.*", "", (root / name).read_text()).split(" private:")[0]
        for function in sorted(set(re.findall(r"[\w>&*] (?:\w+::)?([A-Z]\w*)\(", public))):
            if not re.search(rf"\b{function}\(", defined):
                yield f"{name}: {function} has no definition in {WITHOUT_DEVICE}"


def complaints(root):
    names = listed_files(root)
    table = root / OPERATOR_TABLE
    operators = set(OPERATOR_ROW.findall(table.read_text())) if table.exists() else set()
    if not operators:
        yield f"{OPERATOR_TABLE}: found no row of an operator"
    yield from tree_complaints(names)
    yield from build_list_complaints(root, names)
    yield from without_device_complaints(root, names)
    for name in names:
        try:
            text = (root / name).read_text()
        except UnicodeDecodeError:
            continue  # test data
        for check in (include_complaints, guard_complaints, text_complaints, list_complaints):
            yield from check(name, text)
        yield from operator_complaints(name, text, operators)


def print_sizes(root):
    lines = {}
    for name in listed_files(root):
        path = pathlib.PurePosixPath(name)
        if path.suffix in SOURCES | {".py", ".sh", ".cmake"} or path.name in {"CMakeLists.txt", "dev", "run"}:
            lines[name] = len((root / name).read_text().splitlines())
    folders = {}
    for name, count in lines.items():
        folder = str(pathlib.PurePosixPath(name).parent)
        files, total = folders.get(folder, (0, 0))
        folders[folder] = (files + 1, total + count)
    print("lines  files  folder")
    for folder, (files, total) in sorted(folders.items()):
        print(f"{total:5}  {files:5}  {folder}")
    aims = [n for n in lines if lines[n] > (400 if not n.endswith(".h") else 120)]
    print("long files (aims: .cc 400, .h 120): " + (", ".join(f"{n} {lines[n]}" for n in sorted(aims)) or "none"))


def self_test():
    good = {
        name: ""
        for name in [
            "README.md",
            ".ci/run",
            ".clang-format",
            ".clang-tidy",
            ".ruff.toml",
            ".gitignore",
            "lists/a.list",
            "third_party/CMakeLists.txt",
            "tools/dev",
            "runtime/CMakeLists.txt",
        ]
    }
    good["CMakeLists.txt"] = ""
    for folder in ("ir/base", "ir/graph", "passes/sequence", "passes/paint", "passes/cast", "tests"):
        source = pathlib.PurePosixPath(folder).name + ".cc"
        good[f"{folder}/CMakeLists.txt"] = f"target_sources(amp PRIVATE {source})\n"
        good[f"{folder}/{source}"] = '#include <vector>\n#include "absl/strings/str_cat.h"\n#include "ir/base/a.h"\n'
    good["ir/schema/CMakeLists.txt"] = "target_sources(amp PRIVATE operator_table.cc)\n"
    good[OPERATOR_TABLE] = (
        'constexpr Operator kTable[] = {\n    {"", "Relu", kClear},\n    {kContrib, "FusedConv", kHeavy},\n};\n'
    )
    good["ir/base/a.h"] = "#ifndef AMP_IR_BASE_A_H_\n#define AMP_IR_BASE_A_H_\n#endif\n"
    good["ir/graph/graph.cc"] += '#include "onnx/onnx_pb.h"\n#include "ir/schema/a.h"\n'
    good["passes/cast/cast.cc"] += '#include "passes/classify/a.h"\n#include "ir/functions/a.h"\n'
    good["passes/sequence/sequence.cc"] += '#include "passes/guard/a.h"\n#include "passes/paint/a.h"\n'
    good["passes/sequence/sequence.cc"] += 'f("Relu moves on", Escaped(node.op_type()));  // "Relu"\n'
    good["ir/graph/graph.cc"] += 'bool b = node.op_type() == "Relu";\n'
    good["lists/a.list"] = "# words\ninclude b\nfollow on\nConv allow dense\nResize[mode=nearest] clear copies values\n"
    plants = {
        "ir includes passes": ("ir/graph/graph.cc", '#include "passes/paint/a.h"\n', "ir must not include passes"),
        "ir includes runtime": (
            "ir/graph/graph.cc",
            '#  include "runtime/hardware/a.h"\n',
            "ir must not include runtime",
        ),
        "passes include runtime": (
            "passes/sequence/sequence.cc",
            '#include "runtime/hardware/a.h"\n',
            "passes must not include runtime",
        ),
        "passes include tools": (
            "passes/sequence/sequence.cc",
            '#include "tools/library/amp.h"\n',
            "passes must not include tools",
        ),
        "runtime includes passes": (
            "runtime/hardware/r.h",
            '#include "passes/paint/a.h"\n',
            "runtime must not include passes",
        ),
        "base includes graph": ("ir/base/base.cc", '#include "ir/graph/a.h"\n', "ir/base must not include ir/graph"),
        "graph includes operators": (
            "ir/graph/graph.cc",
            '#include "ir/operators/a.h"\n',
            "ir/graph must not include ir/operators",
        ),
        "header includes upwards": ("ir/base/b.h", '#include "ir/schema/a.h"\n', "ir/base must not include ir/schema"),
        "opset includes its sibling": (
            "ir/opset/o.h",
            '#include "ir/operators/a.h"\n',
            "ir/opset must not include ir/operators",
        ),
        "cast includes guard": (
            "passes/cast/cast.cc",
            '#include "passes/guard/a.h"\n',
            "passes/cast must not include passes/guard",
        ),
        "paint includes cast": (
            "passes/paint/paint.cc",
            '#include "passes/cast/a.h"\n',
            "passes/paint must not include passes/cast",
        ),
        "cast includes the sequence": (
            "passes/cast/cast.cc",
            '#include "passes/sequence/rewrite_model.h"\n',
            "passes/cast must not include passes/sequence (",
        ),
        "include of no folder": ("ir/graph/graph.cc", '#include "ir/a.h"\n', "ir/graph must not include ir ("),
        "source beside the folders": ("ir/c.h", "int x;\n", "ir is no folder of sources"),
        "new folder": ("passes/other/t.h", "int x;\n", "passes/other is no folder of sources"),
        "long list of sources": ("ir/base/CMakeLists.txt", "#\n" * 20, "ir/base/CMakeLists.txt: 21 lines"),
        "ONNX outside ir": ("passes/sequence/sequence.cc", '#include "onnx/onnx_pb.h"\n', "ONNX or protobuf headers"),
        "ONNX with <>": ("passes/sequence/sequence.cc", "#include <onnx/defs/schema.h>\n", "ONNX or protobuf headers"),
        "protobuf outside ir": ("tools/main.h", '#include "google/protobuf/arena.h"\n', "ONNX or protobuf headers"),
        "oneDNN outside runtime/cpu": ("runtime/hardware/r.h", "#include <oneapi/dnnl/dnnl.hpp>\n", "oneDNN headers"),
        "CUDA outside runtime/cuda": (
            "runtime/cpu/r.h",
            "#include <cuda_runtime.h>\n",
            "CUDA, cuBLAS or cuDNN headers",
        ),
        "Catch2 outside tests": ("ir/graph/graph.cc", "#include <catch2/catch.hpp>\n", "Catch2 headers"),
        "Boost elsewhere": ("passes/paint/min_cut.h", "#include <boost/graph/adjacency_list.hpp>\n", "Boost.Graph"),
        "Abseil in device code": ("runtime/cuda/k.cuh", '#include "absl/status/status.h"\n', "in device code"),
        "a room of the device": (
            "tools/main.h",
            '#include "runtime/device_run/graph_replay.h"\n',
            "are behind runtime/device_run",
        ),
        "a function of builds with devices alone": (
            "runtime/device_run/use_device.h",
            "int Use(Accelerator& device);\n",
            "Use has no definition",
        ),
        "a device behind no door": (
            "tools/main.h",
            '#include "runtime/device/accelerator.h"\n',
            "are behind runtime/device_run",
        ),
        "path not from the root": ("ir/graph/graph.cc", '#include "a.h"\n', "write the path from the root"),
        "own header with <>": ("ir/graph/graph.cc", "#include <ir/base/a.h>\n", "with <>"),
        "wrong guard": ("ir/base/b.h", "#ifndef B_H\n#define B_H\n#endif\n", "include guard must be AMP_IR_BASE_B_H_"),
        "forgotten source": ("ir/base/c.cc", "int x;\n", "not in ir/base/CMakeLists.txt"),
        "folder at the top": ("docs/a.md", "", "docs: not allowed at the top level"),
        "file at the top": ("Makefile", "", "Makefile: not allowed at the top level"),
        "too deep": ("ir/a/b/c/d.h", "", "more than 2 folder levels"),
        "vague name": ("ir/graph/graph_utils.h", "", "a name that says nothing"),
        "to-do without a number": ("ir/base/base.cc", "// TODO: later\n", "TODO without an issue number"),
        "address in a build file": ("third_party/CMakeLists.txt", "fetch(https://example.org)\n", "an address"),
        "operator's name in a pass": ("passes/paint/paint.cc", 'spec.op_type = "Relu";\n', "names the operator Relu"),
        "runtime's operator in a pass": (
            "passes/sequence/sequence.cc",
            'IsOneOf(node, {"FusedConv"});\n',
            "passes/sequence/sequence.cc:7: names the operator FusedConv",
        ),
        "operator compared in a pass": (
            "passes/sequence/sequence.cc",
            "if (a.op_type() != b) c();\n",
            "compares op_type",
        ),
        "operator compared backwards": (
            "passes/sequence/sequence.cc",
            "if (kName == node(id).op_type()) c();\n",
            "compares op_type",
        ),
        "a table without operators": (OPERATOR_TABLE, None, "found no row of an operator"),
        "row without a reason": ("lists/a.list", "Relu clear\n", "lists/a.list:6: a row without a reason"),
        "condition without a reason": ("lists/a.list", "Resize[mode=cubic] deny # why\n", "a row without a reason"),
    }
    failures = 0
    for what, (name, text, expected) in {"nothing": ("ir/base/base.cc", "", None), **plants}.items():
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for file, content in good.items():
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                (root / file).write_text(
                    "" if file == name and text is None else content + (text if file == name else "")
                )
            if name not in good:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            found = list(complaints(root))
            ok = any(expected in f for f in found) if expected else not found
            failures += not ok
            print(f"{'ok    ' if ok else 'FAILED'} planted: {what}" + ("" if ok else f"; found {found}"))
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--sizes", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        sys.exit(1 if self_test() else 0)
    if args.sizes:
        print_sizes(args.root)
        return
    found = list(complaints(args.root))
    print(
        "\n".join(found)
        or f"{len(listed_files(args.root))} files: modules, fences, names and top level as they should be"
    )
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
