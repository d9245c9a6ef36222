"""The types of options, for type checkers. Made by make_option_types.py of the flags of the programs."""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping, Sequence, TypedDict, Union

Path = Union[str, "os.PathLike[str]"]
Sample = Union[str, "os.PathLike[str]", Mapping[str, Any]]


class RewriteOptions(TypedDict, total=False):
    """Options of rewrite: the flags of the programs, with _ for -."""

    accumulate: int
    allow: Union[str, Sequence[str]]
    allow_node: Union[str, Sequence[str]]
    annotate: bool
    beta1: float
    beta2: float
    budget_runs: int
    calibration: Union[Sample, Sequence[Sample]]
    clear: Union[str, Sequence[str]]
    clip_norm: float
    count_skipped_steps: bool
    data_parallel: bool
    deny: Union[str, Sequence[str]]
    deny_node: Union[str, Sequence[str]]
    deny_tensor: Union[str, Sequence[str]]
    diff: bool
    dim: Mapping[str, Union[int, str]]
    dims: Mapping[str, Union[int, str]]
    dry_run: bool
    dtype: Any
    epsilon: float
    explain: Union[bool, str]
    external_data: str
    finite_check: bool
    follow: Union[bool, str]
    force: bool
    free_dims: Mapping[str, Union[int, str]]
    freeze: Union[str, Sequence[str]]
    freeze_initializers: bool
    functions: str
    gradient: Union[str, Sequence[str]]
    gradients: Union[str, Sequence[str]]
    guards: str
    head: str
    holdout: float
    in_place: bool
    infer: Union[str, Sequence[str]]
    keep_batch_norm: bool
    keep_decomposed: bool
    keep_io: Union[bool, str, Sequence[str]]
    labels: str
    learning_rate: float
    level: str
    limits: Mapping[str, int]
    lists: Union[Path, Sequence[Path]]
    logits: str
    loss: str
    loss_scale: Union[str, float]
    loss_scale_backoff: float
    loss_scale_function: Any
    loss_scale_growth: float
    loss_scale_initial: float
    loss_scale_interval: int
    loss_scale_max: float
    loss_scale_min: float
    max_call_depth: int
    max_drop: float
    max_elements: int
    max_error: float
    max_functions: int
    max_graph_depth: int
    max_initializers: int
    max_inlined_bytes: int
    max_inlined_nodes: int
    max_model_bytes: int
    max_nesting: int
    max_nodes: int
    max_objects: int
    max_rank: int
    max_weight_error: float
    measure: int
    metric: Union[str, Callable[[str], float]]
    metric_command: str
    metric_timeout: int
    momentum: float
    nesterov: bool
    no_finite_check: bool
    node_data: Path
    op_signature: Union[str, Sequence[str]]
    op_signatures: Union[str, Sequence[str]]
    opset: Union[str, int]
    optimizer: str
    pareto: Path
    placement: str
    policy: Any
    preserve: str
    print_after: Union[str, Sequence[str]]
    profile: str
    ranges: Path
    report: Path
    rho: float
    scale_weights: Union[bool, str]
    search: bool
    search_list: Path
    search_log: Path
    seed: int
    sensitivity: Union[bool, str]
    stop_after: str
    strict: bool
    target: str
    tolerance: float
    train: bool
    trainable: Union[str, Sequence[str]]
    verify: Union[bool, Sample]
    weight_decay: float
    weights: str


class SessionOptions(TypedDict, total=False):
    """Options of session: the flags of the programs, with _ for -."""

    allow_bf16_compute: bool
    allow_bfloat16: bool
    allow_tf32: bool
    autotune: Path
    device: str
    flush_subnormals: bool
    fold_batch_norms: bool
    fold_constants: bool
    fuse_attention: bool
    fuse_chains: bool
    fuse_epilogues: bool
    fuse_norms: bool
    fuse_training: bool
    limits: Mapping[str, int]
    max_call_depth: int
    max_elements: int
    max_functions: int
    max_graph_depth: int
    max_initializers: int
    max_inlined_bytes: int
    max_inlined_nodes: int
    max_loop_iterations: int
    max_model_bytes: int
    max_nesting: int
    max_nodes: int
    max_objects: int
    max_rank: int
    no_fuse: Union[bool, str, Sequence[str]]
    no_replay: bool
    replay: bool
    seed: int
    strict: bool
    threads: int
