"""Says whether runtimes take a rewritten model as users load it.

The runtimes are onnxruntime with its default optimisations, and OpenVINO.

    problems = runtimes.problems(original, rewritten, "float16", feeds)
    problems = runtimes.openvino_problems(original, rewritten)

onnxruntime loads the model, and runs it where there are feeds. OpenVINO compiles it.

Both functions judge only what the original does too. Everything happens in a process of its own, started once: an
optimiser that crashes is an answer. A bfloat16 model is let off where the CPU provider has no kernel, which is nearly
everywhere; any other refusal counts.
One thing is not obvious: the original is looked at only after the rewritten model was refused, which is rare.
"""

import collections
import dataclasses
import multiprocessing

from judge import rounding

TIMEOUT_S = 300
INVALID = ("Type Error", "INVALID_GRAPH", "bound to different types")  # what no kernel could help
NO_KERNEL = ("NOT_IMPLEMENTED", "Could not find an implementation")

# Faults of onnxruntime: a text of the message, the optimiser without which the model is taken (None: no optimiser is to
# blame), and why.
KNOWN_FAULTS = (
    (
        "_inlfunc_SequenceMap",
        None,
        (
            "a function operator without a float16 kernel cannot be inlined into the body of SequenceMap, "
            "a function itself"
        ),
    ),
    (
        "crashed",
        "NchwcTransformer",
        (
            "the layout optimiser dies of a float16 Transpose of the first axis ahead of a product by constants "
            "(guards off)"
        ),
    ),
    (
        "Argument type mismatch when adding edge",
        "CommonSubexpressionElimination",
        "merges recurrent nodes with absent outputs, which share one nameless value of the first one's type",
    ),
)


@dataclasses.dataclass
class Totals:
    """Counts of what was judged, over all calls in this process."""

    loaded: int = 0
    run: int = 0
    refused: int = 0  # as the original is
    no_kernel: int = 0  # for bfloat16
    known: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    compiled: int = 0
    not_compiled: int = 0  # OpenVINO refuses the original too

    def __str__(self):
        known = "".join(f", {count} known ({fault})" for fault, count in self.known.items())
        openvino = (
            f"; OpenVINO: {self.compiled} compiled, {self.not_compiled} whose original it refuses"
            if self.compiled + self.not_compiled
            else ""
        )
        return (
            f"onnxruntime with optimisations: {self.loaded} loaded, {self.run} of them run, "
            f"{self.refused} refused as the original is, {self.no_kernel} without bfloat16 kernels{known}{openvino}"
        )


TOTALS = Totals()


def problems(original, rewritten, dtype, feeds=None):
    """Returns sentences where onnxruntime takes the original but not the rewritten model.

    It takes a model that loads with its default optimisations and, for float16 with feeds, runs.
    """
    feeds = feeds if dtype == "float16" else None
    error = _ask("optimised", rewritten, feeds)
    if error is None:
        TOTALS.loaded += 1
        TOTALS.run += feeds is not None
        return []
    if dtype == "bfloat16" and _has_no_kernel(rewritten, error):
        TOTALS.no_kernel += 1
        return []
    if _ask("optimised", original, feeds) is not None:
        TOTALS.refused += 1
        return []
    if fault := _known_fault(rewritten, error, feeds):
        TOTALS.known[fault] += 1
        return []
    return [
        f"optimised: onnxruntime with its default optimisations takes the original, not the rewritten model: {error}"
    ]


def default_session_error(model):
    """Returns what onnxruntime says, or dies of, as it loads the model with its default optimisations.

    Returns None if the model loads.
    """
    return _ask("optimised", model)


def _has_no_kernel(model, error):
    """Says whether no optimisation is to blame for the error.

    Either a kernel is missing, or the same is said without optimisations.
    """
    if any(text in error for text in NO_KERNEL):
        return True
    return not any(text in error for text in INVALID) and _ask("plain", model) == error


def _known_fault(model, error, feeds):
    for text, optimiser, why in KNOWN_FAULTS:
        if text in error and optimiser is None:
            return why
        if text in error:
            remaining = _ask(f"without {optimiser}", model, feeds)
            if remaining is None or any(text in remaining for text in NO_KERNEL):
                return why
    return None


def openvino_problems(original, rewritten):
    """Returns sentences where OpenVINO compiles the original but not the rewritten model."""
    error = _ask("openvino", rewritten)
    if error is None:
        TOTALS.compiled += 1
        return []
    if _ask("openvino", original) is not None:
        TOTALS.not_compiled += 1
        return []
    return [f"openvino: compiles the original, not the rewritten model: {error}"]


class _Worker:
    """A process that answers one question after the other, and is started again when it dies."""

    def __init__(self):
        self.process = None

    def ask(self, *question):
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, other = context.Pipe()
            self.process = context.Process(target=_answer_all, args=(other,), daemon=True)
            self.process.start()
            other.close()
            self._await_start()
        try:
            self.pipe.send(question)
            if self.pipe.poll(TIMEOUT_S):
                return self.pipe.recv()
            self.process.kill()
        except (EOFError, OSError):
            pass
        self.process.join()
        code, self.process = self.process.exitcode, None
        return f"crashed: exit code {code}"

    def _await_start(self):
        """Waits until the process is ready, or raises an error.

        A process that does not come up would refuse originals too, and so let everything pass.
        """
        try:
            if self.pipe.poll(TIMEOUT_S) and self.pipe.recv() == "ready":
                return
        except (EOFError, OSError):
            pass
        raise RuntimeError("the process that loads models does not start: nothing can be judged")


_WORKER = _Worker()


def _ask(what, model, feeds=None):
    """Returns None, or what went wrong."""
    return _WORKER.ask(what, rounding.with_unique_names(model).SerializeToString(), feeds)


def _answer_all(pipe):
    import onnxruntime  # noqa: F401 (one that is not installed stops the judge here)
    import openvino  # noqa: F401

    pipe.send("ready")
    while True:
        try:
            what, model, feeds = pipe.recv()
        except EOFError:
            return
        try:
            _compile(model) if what == "openvino" else _run(what, model, feeds)
            answer = None
        except Exception as error:
            answer = " ".join(str(error).split()).split("detailed log: ")[-1][:500]  # OpenVINO comes to the point late
        pipe.send(answer)


def _run(how, model, feeds):
    """Runs the model with default optimisations, under "plain" with none, under "without X" with all but one."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if how == "plain":
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    disabled = [how.removeprefix("without ")] if how.startswith("without ") else None
    session = onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"], disabled_optimizers=disabled
    )
    if feeds is not None:
        rounding.run_session(session, feeds)


def _compile(model):
    import openvino  # noqa: F401

    core = openvino.Core()
    core.compile_model(core.read_model(model, b""), "CPU")
