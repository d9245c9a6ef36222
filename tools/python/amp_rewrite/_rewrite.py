"""Rewriting models to mixed precision."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import warnings
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

from . import _errors, _library, _models, _options, _samples

if TYPE_CHECKING:
    from typing import Unpack

    from ._option_types import RewriteOptions

PathLike = Union[str, "os.PathLike[str]"]
# Characters of a page that a notebook is to keep.
_LARGEST_IN_NOTEBOOK = 2_000_000
Progress = Union[bool, Callable[[str, int, int], Any], None]
Metric = Callable[[str], float]


class _Outcome:
    """The summary of a rewrite, and its report, which is made when it is asked for. `samples` has names for paths."""

    def __init__(self, summary: bytes, report: Optional[int], samples: _samples.SampleFiles) -> None:
        self._report = report
        self._samples = samples
        self.summary = json.loads(samples.named(summary.decode("utf-8", "replace")))
        self._texts: dict[tuple[Any, ...], str] = {}

    def text(self, name: str, *arguments: Any) -> str:
        """A text that a function of the library makes of the report."""
        key = (name, *arguments)
        if key not in self._texts:
            self._texts[key] = self._samples.named(_library.context().text(name, self._report, *arguments))
        return self._texts[key]

    def __getstate__(self) -> dict[str, Any]:
        for key in (("amp_report_json",), ("amp_report_html",), ("amp_report_text", 0), ("amp_report_text", 1)):
            self.text(*key)
        return {"summary": self.summary, "_report": None, "_samples": None, "_texts": self._texts}

    def __del__(self) -> None:
        if getattr(self, "_report", None):
            _library.library().amp_report_free(self._report)


class RewriteSummary:
    """The outcome of a rewrite.

    Attributes:
        changed: Whether anything was converted.
        line: The line that amp-rewrite prints: "Converted 41 of 57 nodes to float16 with 6 casts; ...".
        verification: "verified: largest relative error 0.0004 on made-up inputs", "not verified: why", or "".
        warnings: What is worth a look, a line each.
        advice: Flags that may help, a line each.
    """

    def __init__(self, outcome: _Outcome) -> None:
        summary = outcome.summary
        self._outcome = outcome
        self.changed: bool = summary["changed"]
        self.line: str = summary["line"]
        self.unchanged_because: str = summary["unchanged_because"]
        self.verification: str = summary["verification"]
        self.compatibility: str = summary["compatibility"]
        self.warnings: list[str] = summary["warnings"]
        self.advice: list[str] = summary["advice"]
        self.diff: str = summary["diff"]
        self.stages: str = summary["stages"]

    @functools.cached_property
    def report(self) -> dict[str, Any]:
        """The report as a dict; passes/README.md has its fields: "nodes", "casts", "weights", "totals", ..."""
        return dict(json.loads(self._outcome.text("amp_report_json")))

    def to_html(self) -> str:
        """The report as a page for a browser, which needs no other file: what --report FILE.html writes.

        rewrite_file does not count the exponents of weights for it, as that reads them once more. Its option
        report="page.html" does, and writes the whole page."""
        return self._outcome.text("amp_report_html")

    def explain(self, *, float32_only: bool = False) -> str:
        """The table that `amp-rewrite --explain` prints: of every node its class, type, and why.

        `float32_only`: of nodes that stay float32 alone, as --explain=float32."""
        return self._outcome.text("amp_report_text", int(float32_only))

    def __repr__(self) -> str:
        parts = [self.line or self.unchanged_because]
        if self.verification:
            parts.append(self.verification)
        return f"<{type(self).__name__}: {'; '.join(parts)}>"

    def _repr_html_(self) -> str:
        """In a notebook: what became low by operator, why each other node did not, and the page of to_html."""
        low: dict[str, int] = {}
        high: dict[tuple[str, str], list[str]] = {}
        for node in self.report["nodes"]:
            if node["low"]:
                low[node["operator"]] = low.get(node["operator"], 0) + 1
            else:
                high.setdefault((node["operator"], node["because"]), []).append(node["path"])
        import html

        escape = html.escape
        became = ", ".join(
            f"{escape(name)} × {count}" for name, count in sorted(low.items(), key=lambda item: -item[1])
        )
        rows = [
            "<tr>"
            + "".join(f"<td>{escape(cell)}</td>" for cell in (operator, str(len(paths)), paths[0], why))
            + "</tr>"
            for (operator, why), paths in high.items()
        ]
        head = "<tr><th>operator</th><th>nodes</th><th>first</th><th>why it stays float32</th></tr>"
        dtype = escape(str(self.report.get("dtype", "low")))
        return (
            f"<p>{escape(self.line)}; {escape(self.verification)}</p>"
            f"<p>{dtype}: {became or 'none'}</p><table>{head}{''.join(rows)}</table>{self._page_in_notebook()}"
        )

    def _page_in_notebook(self) -> str:
        """The page, folded, where it does not make the notebook large. Its scripts cannot reach the notebook."""
        import html

        page = self.to_html()
        if len(page) > _LARGEST_IN_NOTEBOOK:
            return "<p>The report is large: open what <code>to_html()</code> gives in a browser.</p>"
        return (
            '<details><summary>The whole report</summary><iframe sandbox="allow-scripts allow-downloads" '
            'title="amp-rewrite report" style="width:100%;height:720px;border:1px solid #8888" '
            f'srcdoc="{html.escape(page)}"></iframe></details>'
        )


class RewriteResult(RewriteSummary):
    """A rewritten model, and what the rewrite did.

    Attributes:
        model: The model, in the kind that was given: bytes for a path or bytes, an onnx.ModelProto or an onnx_ir.Model
            for such a one.
    """

    def __init__(self, data: bytes, given: _models.Given, outcome: _Outcome) -> None:
        super().__init__(outcome)
        self._data = data
        self._given = given
        self._model: Any = None
        self._has_own_forward = False  # of a step: what was given has all the weights that are trained

    @property
    def model(self) -> Any:
        if self._model is None:
            self._model = self._given.wrap(self._data)
        return self._model

    def save(self, path: PathLike, *, force: bool = False) -> None:
        """Writes the model, atomically.

        Raises:
            RefusedError: The path is the file that was rewritten, or, without `force`, a file that is no model.
            FileError: It cannot be written.
        """
        given = self._given.path
        data = self._data
        if self._model is not None:  # which the caller may have edited
            data = _models.Given(self._model).data or b""
        _library.context().call(
            "amp_save_model",
            _library.as_bytes(data),
            _library.path_bytes(path),
            None if given is None else _library.path_bytes(given),
            int(force),
        )


def _progress_call(progress: Progress) -> Optional[Callable[[str, int, int], Any]]:
    """A callable as it is; tqdm's bar for True."""
    if progress is None or progress is False:
        return None
    if progress is not True:
        if not callable(progress):
            raise TypeError(f"progress: expected a callable or a bool, found {type(progress).__name__}")
        return progress
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise ImportError("progress=True shows the bar of the package tqdm: pip install tqdm") from None

    bar = tqdm(total=None, leave=False)

    def tell(step: str, done: int, total: int) -> None:
        bar.set_description(step)
        bar.total = total or None
        bar.update(done - bar.n)

    return tell


def _files_of(options: dict[str, Any], files: _samples.SampleFiles) -> dict[str, Any]:
    """The options, with samples as paths."""
    if options.get("calibration") is not None:
        options = {**options, "calibration": files.paths(options["calibration"], "calibration")}
    verify = options.get("verify")
    if verify is not None and not isinstance(verify, (bool, str)):
        options = {**options, "verify": files.path(verify, "verify")}
    return options


def _take_metric(options: dict[str, Any]) -> Optional[Metric]:
    """Takes a metric that is a function out of the options; one that is a name stays."""
    return options.pop("metric") if callable(options.get("metric")) else None


def _warn(summary: RewriteSummary, stacklevel: int) -> None:
    for warning in summary.warnings:
        warnings.warn(warning, _errors.AmpWarning, stacklevel=stacklevel)


def _asks(
    call: Optional[Callable[[RewriteSummary], Any]], samples: _samples.SampleFiles
) -> Optional[Callable[[bytes, int], Any]]:
    if call is not None and not callable(call):
        raise TypeError(f"before_replacing: expected a callable, found {type(call).__name__}")
    return None if call is None else lambda summary, report: call(RewriteSummary(_Outcome(summary, report, samples)))


def _run(
    progress: Progress,
    samples: _samples.SampleFiles,
    call: Callable[[_library.Context, Any, Any], None],
    before_replacing: Optional[Callable[[RewriteSummary], Any]] = None,
    metric: Optional[Metric] = None,
) -> _Outcome:
    """Calls a function that gives a summary and a report."""
    context = _library.context()
    summary, report = ctypes.c_char_p(), ctypes.c_void_p()
    tell, ask = _progress_call(progress), _asks(before_replacing, samples)
    try:
        context.set_progress(tell)
        context.set_before_replacing(ask)
        context.set_metric(metric)
        call(context, ctypes.byref(summary), ctypes.byref(report))
        return _Outcome(summary.value or b"{}", report.value, samples)
    finally:
        context.set_progress(None)
        context.set_before_replacing(None)
        context.set_metric(None)
        context.library.amp_context_clear(context.pointer)


def rewrite(model: Any, *, progress: Progress = None, **options: Unpack[RewriteOptions]) -> RewriteResult:
    """Rewrites a model to mixed precision, in memory.

    Args:
        model: A path, bytes, an onnx.ModelProto or an onnx_ir.Model.
        progress: Called with (step, done, total); returns False to cancel. True shows tqdm's bar.
        **options: The flags of amp-rewrite, with _ for -: dtype="bfloat16", deny=["Softmax"],
            calibration=[{"x": x0}, "sample.npz"], verify={"x": x0}, keep_io="none", policy=Policy("mixed_float16").

    Returns:
        The model in the same kind, and a report.

    Raises:
        OptionError, ModelError, RefusedError, LimitError, FileError, VerificationError.
        TypeError: An option that there is none of.

    Example:
        >>> import amp_rewrite as amp
        >>> model = amp.new_model("mlp", [8, 16, 4])
        >>> result = amp.rewrite(model, dtype="float16")
        >>> result.changed, type(result.model).__name__
        (True, 'bytes')
        >>> amp.rewrite(model, denny=["Softmax"])
        Traceback (most recent call last):
        TypeError: rewrite() got an unexpected keyword argument 'denny'; did you mean 'deny'?
    """
    result = _rewrite(model, progress, dict(options), "rewrite")
    _warn(result, 3)
    return result


def _rewrite(model: Any, progress: Progress, options: dict[str, Any], function: str) -> RewriteResult:
    _options.check_names("rewrite", options, function)
    for name in ("in_place", "external_data", "dry_run", "force"):
        if options.get(name):
            raise _errors.OptionError(f"{name} is about files: use rewrite_file")
    metric = _take_metric(options)
    given = _models.Given(getattr(model, "model", model) if isinstance(model, RewriteResult) else model)
    with _samples.SampleFiles() as files:
        words = _options.to_json("rewrite", _files_of(options, files), function)
        if given.path is not None:
            return _rewrite_path(given, words, progress, files, metric)
        rewritten = _library.Bytes()
        data = given.data or b""
        copied = b""

        def call(context: _library.Context, *places: Any) -> None:
            nonlocal copied
            context.call("amp_rewrite", _library.as_bytes(data), words, ctypes.byref(rewritten), *places)
            copied = ctypes.string_at(rewritten.data, rewritten.size) if rewritten.size else b""

        outcome = _run(progress, files, call, metric=metric)
        return RewriteResult(copied, given, outcome)


def _rewrite_path(
    given: _models.Given,
    words: bytes,
    progress: Progress,
    samples: _samples.SampleFiles,
    metric: Optional[Metric],
) -> RewriteResult:
    """By way of a temporary file, so that weights in external data are found."""
    held = json.dumps({**json.loads(words), "external_data": "never"}).encode()
    import pathlib
    import tempfile

    with tempfile.TemporaryDirectory(prefix="amp_rewrite_") as folder:
        target = pathlib.Path(folder) / "model.onnx"

        def call(context: _library.Context, *places: Any) -> None:
            context.call(
                "amp_rewrite_file", _library.path_bytes(given.path), _library.path_bytes(target), held, *places
            )

        outcome = _run(progress, samples, call, metric=metric)
        data = target.read_bytes() if target.exists() else b""
    return RewriteResult(data, given, outcome)


def rewrite_file(
    source: PathLike,
    destination: Optional[PathLike] = None,
    *,
    progress: Progress = None,
    before_replacing: Optional[Callable[[RewriteSummary], Any]] = None,
    **options: Unpack[RewriteOptions],
) -> RewriteSummary:
    """Rewrites a file, of any size: weights in external data are streamed.

    Args:
        source: The model.
        destination: Where the result goes; not needed with dry_run=True or in_place=True.
        progress, **options: As for rewrite.
        before_replacing: Called with the RewriteSummary when all is decided and written under temporary names, in a dry
            run too. It returns False to cancel, and no file changes then.

    Raises:
        As rewrite. On failure the source and any earlier destination are as they were.
    """
    words = dict(options)
    _options.check_names("rewrite", words, "rewrite_file")
    source_bytes = _library.path_bytes(source, "source")
    target = None if destination is None else _library.path_bytes(destination, "destination")
    metric = _take_metric(words)
    with _samples.SampleFiles() as files:
        text = _options.to_json("rewrite", _files_of(words, files), "rewrite_file")

        def call(context: _library.Context, *places: Any) -> None:
            context.call("amp_rewrite_file", source_bytes, target, text, *places)

        summary = RewriteSummary(_run(progress, files, call, before_replacing, metric))
    _warn(summary, 3)
    return summary


def training_step(model: Any, *, progress: Progress = None, **options: Unpack[RewriteOptions]) -> RewriteResult:
    """Makes the graph of one training step of a forward model: loss, gradients, optimizer, loss scale.

    Args:
        model: As for rewrite.
        progress, **options: As for rewrite; of training: loss="mse", optimizer="adam", learning_rate=0.001,
            loss_scale="dynamic", trainable=["head/*"], freeze=[...], labels="y:onehot", accumulate=4, ...

    Returns:
        The step, for Trainer.

    Example:
        >>> import amp_rewrite as amp
        >>> step = amp.training_step(amp.new_model("mlp", [8, 16, 4]), optimizer="adam", dtype="bfloat16")
        >>> amp.Trainer(step).state_names()[:2]
        ['dense_1_weight', 'dense_1_bias']
    """
    if "train" in options:
        raise TypeError("training_step() got an unexpected keyword argument 'train'")
    result = _rewrite(model, progress, {"train": True, **options}, "training_step")
    result._has_own_forward = options.get("head") is None and not options.get("dims")
    _warn(result, 3)
    return result


def observe_ranges(model: PathLike, samples: Any, **options: Unpack[RewriteOptions]) -> dict[str, Any]:
    """Runs the float32 model on samples, and returns what its values were, as --ranges writes it.

    Args:
        model: A path.
        samples: A path of an .npz archive or a dict of arrays by the inputs' names, or a list of these.

    Returns:
        The content of ranges.json: write it to a file, and give that as ranges=.
    """
    if isinstance(samples, (list, tuple)) and not samples:
        raise ValueError("samples: expected samples, found none")
    import pathlib
    import tempfile

    with tempfile.TemporaryDirectory(prefix="amp_rewrite_") as folder:
        ranges = pathlib.Path(folder) / "ranges.json"
        words: Any = {"verify": "off", **options, "calibration": samples, "ranges": str(ranges), "dry_run": True}
        rewrite_file(model, **words)
        return dict(json.loads(ranges.read_text()))


def sensitivity(
    model: Any, samples: Any, *, progress: Progress = None, **options: Unpack[RewriteOptions]
) -> dict[str, Any]:
    """Which parts of a model lose the most in 16 bits: what `amp-rewrite --sensitivity` finds.

    Args:
        model: As for rewrite.
        samples: A path of an .npz archive or a dict of arrays by the inputs' names, or a list of these.
        progress, **options: As for rewrite; measure=3: the three worst parts are also run alone in 16 bits.

    Returns:
        "units", the largest error first, each with "unit", its heavy node, "nodes", "predicted_error", the relative L2
        error of the worst output where it alone is low, "measured_error" or None, "share" of the squared error, from
        0 to 1, "weight_bytes", "macs", "casts", "predicted_by" ("derivatives", or "gains", which know less); and
        "measured_error" with all of them low, "samples".

    Example:
        >>> import amp_rewrite as amp, numpy as np
        >>> model = amp.new_model("mlp", [8, 16, 4])
        >>> found = amp.sensitivity(model, {"x": np.ones((2, 8), "float32")})
        >>> len(found["units"])
        2
    """
    words: Any = {"verify": "off", **options, "calibration": samples, "sensitivity": True}
    return dict(_rewrite(model, progress, words, "sensitivity").report["sensitivity"])


def search(
    model: Any,
    samples: Any,
    *,
    progress: Progress = None,
    **options: Unpack[RewriteOptions],
) -> RewriteResult:
    """Keeps float32 what has to be for a model to stay accurate, at the largest saving: `amp-rewrite --search`.

    Args:
        model: As for rewrite.
        samples: A path of an .npz archive or a dict of arrays by the inputs' names, or a list of these.
        progress, **options: As for rewrite; of searches:
            metric: "rel-l2" (the default), "max-abs", "cosine", "kl" or "top1", an error of the outputs that stays
                within max_error=, or "sqnr", of which that is the least in dB. Or a function of the path of a model,
                which returns a number, the larger the better: it is asked 8 times, or budget_runs, at most, first of
                the model itself.
            max_drop: With a function: how much smaller its number may be than that of the model itself.
            budget_runs=20, holdout=0.25, search_log="log.json", search_list="keep.list", ...

    Returns:
        The model, and a report whose "search" has every choice that was run.

    Raises:
        VerificationError: No choice is within; the message has the best one, and the parts that harm most.
        As rewrite; what `metric` raises.

    Example:
        >>> import amp_rewrite as amp, numpy as np
        >>> model = amp.new_model("mlp", [8, 16, 4])
        >>> found = amp.search(model, {"x": np.ones((2, 8), "float32")}, metric=lambda path: 0.98, max_drop=0.001)
        >>> found.report["search"]["runs"]
        2
    """
    words: Any = {**options, "calibration": samples, "search": True}
    result = _rewrite(model, progress, words, "search")
    _warn(result, 3)
    return result


def print_lists(**options: Unpack[RewriteOptions]) -> str:
    """The operator lists in force for these options, as a list file, ready to be edited and given as lists=."""
    return _library.context().text("amp_print_lists", _options.to_json("rewrite", options, "print_lists"))


def list_profiles() -> str:
    """The profiles, a line each."""
    return _library.context().text("amp_list_profiles")


def new_model(kind: str, layers: Any = None, *, seed: int = 0, task: Optional[str] = None) -> bytes:
    """A fresh forward model with seeded Glorot-uniform weights, as `amp-train new` makes it.

    Args:
        kind: "mlp" or "cnn" (for MNIST: x float32[batch, 1, 28, 28]).
        layers: Of an mlp: sizes of inputs, hidden layers and outputs, as [784, 64, 10] or "784-64-10".
        seed: Of the weights.
        task: "classification", with a Softmax at the end, or "regression".
    """
    words = json.dumps({"seed": seed, "task": task}).encode()
    sizes = layers if layers is None or isinstance(layers, str) else "-".join(str(int(size)) for size in layers)
    place = _library.Bytes()
    context = _library.context()
    try:
        context.call(
            "amp_new_model",
            _library.text_bytes(kind, "kind"),
            None if sizes is None else _library.text_bytes(sizes, "layers"),
            words,
            ctypes.byref(place),
        )
        return ctypes.string_at(place.data, place.size)
    finally:
        context.library.amp_context_clear(context.pointer)
