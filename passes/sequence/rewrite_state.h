// The state that the stages of a rewrite hand on (passes/sequence/rewrite_model.h).
#ifndef AMP_PASSES_SEQUENCE_REWRITE_STATE_H_
#define AMP_PASSES_SEQUENCE_REWRITE_STATE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/file/model_file.h"
#include "ir/functions/inline_functions.h"
#include "ir/graph/check_types.h"
#include "ir/graph/constant.h"
#include "ir/graph/graph.h"
#include "passes/cast/fold_casts.h"
#include "passes/cast/insert_casts.h"
#include "passes/cast/narrow_weights.h"
#include "passes/decide/decide_rewrite.h"
#include "passes/decide/release_io.h"
#include "passes/decide/replace_norms.h"
#include "passes/decide/rewrite_settings.h"
#include "passes/decide/scale_weights.h"
#include "passes/decide/survey_batch_norms.h"
#include "passes/record/record_rewrite.h"
#include "passes/report/diff_models.h"
#include "passes/report/write_report.h"
#include "passes/sequence/rewrite_model.h"

namespace amp {

struct RewriteState {
  RewriteState(LoadedFile& file, std::shared_ptr<const OpSignatures> signatures, const OpLists& lists,
               const RewriteSettings& settings)
      : file(file), signatures(std::move(signatures)), lists(lists), settings(settings) {}

  // given
  LoadedFile& file;
  std::shared_ptr<const OpSignatures> signatures;
  const OpLists& lists;
  const RewriteSettings& settings;

  // load
  bool message_edited = false;  // before the graph was made of it
  InlinedFunctions inlined;
  std::string removed_attributes;  // a sentence: a warning if anything is converted
  std::unique_ptr<Model> graph;
  std::string freed_line;  // which dimensions became symbolic; empty if none was to
  std::string step_line;   // what was made of a forward model; empty if that was not asked for
  // infer
  ModelListing before;
  std::vector<TypeFault> type_faults;  // of the input, and of what a lift makes of it
  std::string type_warning;
  ReleasedValues released;
  std::optional<ConstantSurvey> survey;
  // lift
  int opset_before = 0;
  std::vector<HeldNode> held;
  BatchNorms batch_norms;
  ReplacedNorms replaced;
  std::optional<Decision> decision;
  bool converts_nothing = false;  // the stages behind the decision have nothing to do
  // casts, weights, fold
  std::optional<CastPlan> plan;
  std::optional<ReaderNames> names;
  std::vector<InsertedCast> casts;
  std::optional<NarrowedWeights> narrowed;
  FoldedCasts folded;

  RewriteRecorder recorder;
  ReportWriter writer;
  RewriteOutcome outcome;

  Model& model() { return *graph; }
  // The nodes that are to become functions again; null if there are none.
  const InlineOrigins* origins() const { return inlined.origins.get(); }
};

}  // namespace amp

#endif  // AMP_PASSES_SEQUENCE_REWRITE_STATE_H_
