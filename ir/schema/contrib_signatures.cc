#include "ir/schema/contrib_signatures.h"

namespace amp {
namespace {

// One signature each, continued on lines that begin with a blank.
constexpr absl::string_view kTable = R"(
# ---- matrix work: convolutions, products, attention
com.microsoft::FusedConv(X: T, W: T, B: T?, Z: T?) -> Y: T where T in {float, float16, double}
com.microsoft::NhwcConv(X: T, W: T, B: T?) -> Y: T where T in {float, float16, double}
com.microsoft::NhwcFusedConv(X: T, W: T, B: T?, Z: T?) -> Y: T where T in {float, float16}
com.microsoft::ConvTransposeWithDynamicPads(X: T, W: T, Pads: int64?, B: T?)
    -> Y: T where T in {float, float16, double}
com.microsoft::FusedGemm(A: T, B: T, C: T?) -> Y: T where T in {float, float16, double, int32, int64, uint32, uint64}
com.microsoft::FusedMatMul(A: T, B: T) -> Y: T where T in {float, float16, bfloat16, double}
com.microsoft::FusedMatMulActivation(A: T, B: T) -> Y: T where T in {float, float16, bfloat16, double}
com.microsoft::TransposeMatMul(A: T, B: T) -> Y: T where T in {float, float16, bfloat16, double}
com.microsoft::GemmFastGelu(X: T, W: T, bias: T?) -> Y: T where T in {float, float16, bfloat16}
com.microsoft::Attention(input: T, weights: T, bias: T?, mask_index: int32?, past: T?, attention_bias: T?,
    past_sequence_length: int32?) -> (output: T, present: T?) where T in {float, float16, bfloat16}
com.microsoft::MultiHeadAttention(query: T, key: T?, value: T?, bias: T?, key_padding_mask: int32?,
    attention_bias: T?, past_key: T?, past_value: T?, past_sequence_length: int32?, cache_indirection: int32?)
    -> (output: T, present_key: T?, present_value: T?, qk: T?) where T in {float, float16, bfloat16}
com.microsoft::DecoderAttention(query: T, key: T, q_weight: T, kv_weight: T, bias: T, key_padding_mask: bool?,
    key_cache: T?, value_cache: T?, static_kv: bool, use_past: bool, has_layer_state: bool,
    has_key_padding_mask: bool) -> (output: T, new_key_cache: T?, new_value_cache: T?) where T in {float, float16}
com.microsoft::DecoderMaskedSelfAttention(input: T, weights: T, bias: T, mask_index: int32?, past: T,
    attention_bias: T?, past_sequence_length: int32, beam_width: int32?, cache_indirection: int32?)
    -> (output: T, present: T) where T in {float, float16}
com.microsoft::DecoderMaskedMultiHeadAttention(query: T, key: T?, value: T?, mask_index: int32?, attention_bias: T?,
    past_key: T?, past_value: T?, past_sequence_length: int32?, beam_width: int32?, cache_indirection: int32?,
    bias: T?) -> (output: T, present_key: T?, present_value: T?, qk: T?) where T in {float, float16}
com.microsoft::PackedAttention(input: T, weights: T, bias: T, token_offset: int32, cumulative_sequence_length: int32,
    attention_bias: T?) -> output: T where T in {float, float16}
com.microsoft::PackedMultiHeadAttention(query: T, key: T?, value: T?, bias: T?, token_offset: int32,
    cumulative_sequence_length: int32, attention_bias: T?) -> output: T where T in {float, float16}
# A cache of floats has the type of the query; a quantised one has a type of its own.
com.microsoft::GroupQueryAttention(query: T, key: T?, value: T?, past_key: T?, past_value: T?, seqlens_k: int32,
    total_sequence_length: int32, cos_cache: T?, sin_cache: T?, position_ids: int64?, attention_bias: T?,
    head_sink: T?, k_scale: float?, v_scale: float?, q_norm_weight: T?, k_norm_weight: T?)
    -> (output: T, present_key: T?, present_value: T?, output_qk: T?) where T in {float, float16, bfloat16}
com.microsoft::GroupQueryAttention(query: T, key: T?, value: T?, past_key: T_CACHE?, past_value: T_CACHE?,
    seqlens_k: int32, total_sequence_length: int32, cos_cache: T?, sin_cache: T?, position_ids: int64?,
    attention_bias: T?, head_sink: T?, k_scale: float?, v_scale: float?, q_norm_weight: T?, k_norm_weight: T?)
    -> (output: T, present_key: T_CACHE?, present_value: T_CACHE?, output_qk: T?)
    where T in {float, float16, bfloat16}, T_CACHE in {float8e4m3fn, int8, uint8}
# No float32 form: the operator is there for models that are 16-bit already.
com.microsoft::PagedAttention(query: T, key: T?, value: T?, key_cache: T_CACHE, value_cache: T_CACHE?,
    cumulative_sequence_length: int32, past_seqlens: int32, block_table: int32, cos_cache: T?, sin_cache: T?,
    slot_mapping: int32?, head_sink: T?, q_norm_weight: T?, k_norm_weight: T?, k_scale: float?, v_scale: float?,
    attention_metadata: int32?)
    -> (output: T, key_cache_out: T_CACHE?, value_cache_out: T_CACHE?)
    where T in {float16, bfloat16}, T_CACHE in {float16, bfloat16, float8e4m3fn, int8, uint8}
com.microsoft::SparseAttention(query: T, key: T?, value: T?, past_key: T, past_value: T, block_row_indices: int32,
    block_col_indices: int32, total_sequence_length: int32, key_total_sequence_lengths: int32, cos_cache: T?,
    sin_cache: T?) -> (output: T, present_key: T, present_value: T) where T in {float, float16, bfloat16}
com.microsoft::LongformerAttention(input: T, weight: T, bias: T, mask: T, global_weight: T, global_bias: T,
    global: int32) -> output: T where T in {float, float16}
# Without a state to begin with, the state has the type of the query.
com.microsoft::LinearAttention(query: T, key: T, value: T, past_state: S, decay: T?, beta: T?)
    -> (output: T, present_state: S) where T in {float, float16, bfloat16}, S in {float, float16, bfloat16}
com.microsoft::LinearAttention(query: T, key: T, value: T, past_state: T?, decay: T?, beta: T?)
    -> (output: T, present_state: T) where T in {float, float16, bfloat16}
com.microsoft::MoE(input: T, router_probs: T, fc1_experts_weights: T, fc1_experts_bias: T?, fc2_experts_weights: T,
    fc2_experts_bias: T?, fc3_experts_weights: T?, fc3_experts_bias: T?)
    -> output: T where T in {float, float16, bfloat16}
# Zero points are packed bytes, or numbers of the scales' type.
com.microsoft::MatMulNBits(A: T1, B: uint8, scales: T1, zero_points: T1?, g_idx: int32?, bias: T1?)
    -> Y: T1 where T1 in {float, float16, bfloat16}
com.microsoft::MatMulNBits(A: T1, B: uint8, scales: T1, zero_points: uint8?, g_idx: int32?, bias: T1?)
    -> Y: T1 where T1 in {float, float16, bfloat16}
com.microsoft::MatMulBnb4(A: T1, B: uint8, absmax: T1) -> Y: T1 where T1 in {float, float16, bfloat16}

# ---- gradients, functions of this program's own: float32 inside, and so are those of weights
ai.amp::MatrixWeightGradient(a: T, b: T) -> dw: float where T in {float, float16, bfloat16}
ai.amp::ConvWeightGradient(x: T, g: T) -> dw: float where T in {float, float16, bfloat16}
ai.amp::AveragePoolGradient(g: T, share: float, shape: int64) -> dx: T where T in {float, float16, bfloat16}
ai.amp::MaxPoolGradient(x: T, g: T) -> dx: T where T in {float, float16, bfloat16}

# ---- arithmetic, activations, normalisation
com.microsoft::BiasAdd(X: T, bias: T, skip: T) -> Y: T where T in {float, float16}
com.microsoft::BiasGelu(A: T, B: T) -> C: T where T in {float, float16, bfloat16, double}
com.microsoft::FastGelu(X: T, bias: T?) -> Y: T where T in {float, float16, bfloat16, double}
com.microsoft::Gelu(X: T) -> Y: T where T in {float, float16, bfloat16, double}
com.microsoft::QuickGelu(X: T) -> Y: T where T in {float, float16, bfloat16, double}
com.microsoft::BiasSplitGelu(X: T, bias: T) -> Y: T where T in {float, float16}
com.microsoft::BiasDropout(data: T, bias: T, residual: T?, ratio: T1?, training_mode: bool?)
    -> (output: T, mask: bool?)
    where T in {float, float16, bfloat16, double}, T1 in {float, float16, bfloat16, double}
com.microsoft::BitmaskDropout(data: T, ratio: T1?, training_mode: bool?)
    -> (output: T, mask: uint32?)
    where T in {float, float16, bfloat16, double}, T1 in {float, float16, bfloat16, double}
com.microsoft::BitmaskBiasDropout(data: T, bias: T, residual: T?, ratio: T1?, training_mode: bool?)
    -> (output: T, mask: uint32?)
    where T in {float, float16, bfloat16, double}, T1 in {float, float16, bfloat16, double}
com.microsoft::SkipLayerNormalization(input: T, skip: T, gamma: T, beta: T?, bias: T?)
    -> (output: T, mean: float?, inv_std_var: float?, input_skip_bias_sum: T?) where T in {float, float16, bfloat16}
com.microsoft::SkipSimplifiedLayerNormalization(input: T, skip: T, gamma: T, bias: T?)
    -> (output: T, mean: float?, inv_std_var: float?, input_skip_bias_sum: T?) where T in {float, float16, bfloat16}
# Of ai.onnx in ONNX Runtime, although ONNX does not define it. The registry gives X a type of its own; here it is that
# of the scale and of Y, so that Y follows X. The statistics are float32 unless the stash type asks for double.
SimplifiedLayerNormalization(X: T, scale: T)
    -> (Y: T, inv_std_var: float?) where T in {float, float16, bfloat16, double}
com.microsoft::EmbedLayerNormalization(input_ids: int32, segment_ids: int32?, word_embedding: T,
    position_embedding: T, segment_embedding: T?, gamma: T, beta: T, mask: int32?, position_ids: int32?)
    -> (output: T, mask_index: int32?, embedding_sum: T?) where T in {float, float16}
com.microsoft::GroupNorm(X: T, gamma: M, beta: M) -> Y: T where T in {float, float16}, M in {float, float16}
com.microsoft::SkipGroupNorm(X: T, gamma: M, beta: M, skip: T, bias: T?)
    -> (Y: T, S: T?) where T in {float, float16}, M in {float, float16}
com.microsoft::GatedRMSNorm(X: T, scale: T, gate: T) -> Y: T where T in {float, float16, bfloat16}
com.microsoft::RelativePositionBias(bias_table: T, query_length: int64, key_length: int64)
    -> output: T where T in {float, float16}
com.microsoft::GatedRelativePositionBias(query_layer: T, query_bias: T, rel_pos: T, weight: T, bias: T, eco_a: T,
    token_offset: int32?) -> output: T where T in {float, float16}
com.microsoft::RotaryEmbedding(input: T, position_ids: int64, cos_cache: T, sin_cache: T)
    -> output: T where T in {float, float16, bfloat16}
com.microsoft::MRotaryEmbedding(input: T, position_ids: int64, cos_cache: T, sin_cache: T)
    -> output: T where T in {float, float16, bfloat16}
# No float32 form either.
com.microsoft::GemmaRotaryEmbedding(emb: float, q: float16, q_rot: float16, k: float16, k_rot: float16)
    -> (output1: float16, output2: float16)
com.microsoft::GatedAdd(X: T, Y: T, gate: T) -> output: T where T in {float, float16, bfloat16}
# The registry gives Y a type of its own; inference gives it that of X.
com.microsoft::GridSample(X: T, Grid: T) -> Y: T where T in {float, float16, double}

# ---- exponentials, transforms
com.microsoft::BiasSoftmax(data: T, bias: T) -> output: T where T in {float, float16, double}
com.microsoft::CDist(A: T, B: T) -> C: T where T in {float, double}
com.microsoft::Rfft(X: T) -> Y: T where T in {float, float16, double}
com.microsoft::Irfft(X: T) -> Y: T where T in {float, float16, double}
com.microsoft::Inverse(X: T) -> Y: T where T in {float, float16, double}
com.microsoft::ComplexMul(A: T, B: T) -> C: T where T in {float, float16, double}
com.microsoft::ComplexMulConj(A: T, B: T) -> C: T where T in {float, float16, double}

# ---- values that move
com.microsoft::ExpandDims(X: T, axis: int32)
    -> Y: T where T in {float, float16, double, integers, bool, string, complex}
com.microsoft::Pad(data: T, pads: int64, value: T?) -> output: T where T in {float, float16, double}
com.microsoft::Trilu(X: T, k: int64?) -> Y: T where T in {float, float16, bfloat16, double, integers, bool}
com.microsoft::GatherND(data: T, indices: Tind)
    -> output: T where T in {float, float16, double, integers, bool, string, complex}, Tind in {int32, int64}
com.microsoft::Unique(x: T)
    -> (y: T, idx: int64, counts: int64) where T in {float, float16, double, integers, bool, string, complex}
com.microsoft::UnfoldTensor(input: T)
    -> output: T where T in {float, float16, bfloat16, double, integers, bool, string, complex}
com.microsoft::TorchEmbedding(weight: T, indices: int64, padding_idx: int64?, scale_grad_by_freq: bool?)
    -> Y: T where T in {float, float16, bfloat16, double, integers}
com.microsoft::RemovePadding(input: T, sequence_token_count: int32)
    -> (output: T, token_offset: int32, cumulated_seq_len: int32, max_seq_len: int32) where T in {float, float16}
com.microsoft::RestorePadding(input: T, token_offset: int32) -> output: T where T in {float, float16}
)";

}  // namespace

std::vector<absl::string_view> ContribSignatures() {
  std::vector<absl::string_view> signatures;
  for (size_t begin = 0; begin < kTable.size();) {
    size_t end = kTable.find('\n', begin);
    while (end + 1 < kTable.size() && kTable[end + 1] == ' ') end = kTable.find('\n', end + 1);
    const absl::string_view text = kTable.substr(begin, end - begin);
    if (!text.empty() && text.front() != '#') signatures.push_back(text);
    begin = end + 1;
  }
  return signatures;
}

}  // namespace amp
