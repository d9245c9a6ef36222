#include "ir/operators/attribute_choices.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace amp {
namespace {

struct Choices {
  const char* operators;  // with a blank on both sides of each
  const char* attribute;
  const char* values;
};

constexpr Choices kChoices[] = {
    {" AveragePool Conv ConvInteger ConvTranspose DeformConv LpPool MaxPool QLinearConv ", "auto_pad",
     "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {" BitShift ", "direction", "LEFT RIGHT"},
    {" DepthToSpace ", "mode", "DCR CRD"},
    {" GRU LSTM RNN ", "direction", "forward reverse bidirectional"},
    {" Gelu ", "approximate", "none tanh"},
    {" GridSample ", "mode", "linear nearest cubic bilinear bicubic"},
    {" GridSample ", "padding_mode", "zeros border reflection"},
    {" ImageDecoder ", "pixel_format", "RGB BGR Grayscale"},
    {" NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss ", "reduction", "none mean sum"},
    {" Pad ", "mode", "constant reflect edge wrap"},
    {" Resize ", "coordinate_transformation_mode",
     "half_pixel half_pixel_symmetric pytorch_half_pixel align_corners asymmetric tf_crop_and_resize "
     "tf_half_pixel_for_nn"},
    {" Resize ", "keep_aspect_ratio_policy", "stretch not_larger not_smaller"},
    {" Resize ", "mode", "nearest linear cubic"},
    {" Resize ", "nearest_mode", "round_prefer_floor round_prefer_ceil floor ceil"},
    {" RoiAlign ", "coordinate_transformation_mode", "half_pixel output_half_pixel"},
    {" RoiAlign ", "mode", "avg max"},
    {" ScatterElements ScatterND ", "reduction", "none add mul max min"},
    {" StringNormalizer ", "case_change_action", "LOWER UPPER NONE"},
    {" TensorScatter ", "mode", "linear circular"},
    {" TfIdfVectorizer ", "mode", "TF IDF TFIDF"},
    {" Upsample ", "mode", "nearest linear bilinear"},
};

}  // namespace

std::vector<std::string> AttributeChoices(absl::string_view op_type, absl::string_view attribute) {
  const std::string name = absl::StrCat(" ", op_type, " ");
  for (const Choices& row : kChoices) {
    if (row.attribute == attribute && absl::StrContains(row.operators, name)) return absl::StrSplit(row.values, ' ');
  }
  return {};
}

}  // namespace amp
