"""Automatic mixed precision for ONNX models.

    import amp_rewrite as amp

    result = amp.rewrite("model.onnx", dtype="float16", deny=["Softmax"])      # a path, bytes, or a ModelProto
    result.save("mixed.onnx")
    print(result.explain())                                                    # why each node is what it is

    session = amp.Session("mixed.onnx", threads=2)                             # as onnxruntime's
    outputs = session.run(None, {"x": x})
    amp.compare("model.onnx", "mixed.onnx", {"x": x})                          # how far apart they are

    step = amp.training_step("model.onnx", optimizer="adam", loss_scale="dynamic")
    trainer = amp.Trainer(step)
    for x, y in batches:
        print(trainer.step({"x": x, "labels": y}).loss)
    trainer.save_weights("trained.onnx")

Options are the flags of the programs, with _ for -. Errors are exceptions by kind, all of them AmpError; warnings are
AmpWarning. `amp_rewrite.compat` has the functions of other converters, `amp_rewrite.backend` a backend for the tests of
onnx.
"""

# Modules of Python that few calls need are imported in the functions that need them: they take memory and time.

from ._errors import (
    AmpError,
    AmpWarning,
    CancelledError,
    DeviceError,
    FileError,
    InternalError,
    LimitError,
    ModelError,
    OptionError,
    RefusedError,
    VerificationError,
)
from ._policy import Policy, check_compatibility
from ._rewrite import (
    RewriteResult,
    RewriteSummary,
    list_profiles,
    new_model,
    observe_ranges,
    print_lists,
    rewrite,
    rewrite_file,
    search,
    sensitivity,
    training_step,
)
from ._session import Comparison, OutputDifference, Session, ValueInfo, compare, verify
from ._trainer import Trainer, TrainStep

__version__ = "0.1.0"

__all__ = [
    "AmpError",
    "AmpWarning",
    "CancelledError",
    "Comparison",
    "DeviceError",
    "FileError",
    "InternalError",
    "LimitError",
    "ModelError",
    "OptionError",
    "OutputDifference",
    "Policy",
    "RefusedError",
    "RewriteResult",
    "RewriteSummary",
    "Session",
    "TrainStep",
    "Trainer",
    "ValueInfo",
    "VerificationError",
    "check_compatibility",
    "compare",
    "list_profiles",
    "new_model",
    "observe_ranges",
    "print_lists",
    "rewrite",
    "rewrite_file",
    "search",
    "sensitivity",
    "training_step",
    "verify",
]
