// The outcome of --search: every choice that was run, and the one that was taken.
#ifndef AMP_PASSES_REPORT_SEARCH_REPORT_H_
#define AMP_PASSES_REPORT_SEARCH_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace amp {

class JsonText;

// A part of the model that stays float32 in a choice.
struct KeptPart {
  std::string name;
  std::vector<std::string> nodes;
  double share = 0;  // of the squared error that is predicted where all parts are low, from 0 to 1
};

struct VerifiedChoice {
  std::vector<std::string> float32;  // the names of the parts that stay float32
  double error = 0;                  // by the metric, on the samples that were searched on: of the worst output
  std::optional<double> held_out;    // the same on the others, where it was run on them
  bool is_converted = false;         // anything is low
  double saved_bytes = 0;            // that a run moves less than in float32
  bool is_on_front = false;          // no choice that was run saves more at a smaller error
};

// The name of a metric that is the caller's own.
inline constexpr char kOwnMetric[] = "own";

struct SearchReport {
  std::string metric = "rel-l2";   // the name in --metric; kOwnMetric: errors are how much the caller's number drops
  std::optional<double> baseline;  // that number of the original
  double max_error = 0;
  int64_t samples = 0, held_out_samples = 0;
  int64_t runs = 0;  // of candidates, on all samples of one kind
  int64_t num_parts = 0;
  double all_saved_bytes = 0;           // where all parts are low
  std::vector<VerifiedChoice> choices;  // in the order in which they were run
  size_t taken = 0;                     // its index
  std::vector<KeptPart> kept;           // by the choice that was taken; the largest share first

  std::vector<std::string> guarded;  // nodes that a guard keeps float32 beside these
  int64_t not_run = 0;               // parts that no sample has run: they stay float32

  // REQUIRES: there are choices. There are none where nothing was converted.
  const VerifiedChoice& choice() const { return choices[taken]; }
};

// "search: 3 of 26 parts stay float32: error 0.00081 of at most 0.001, 0.00084 on 2 samples held out; 91 % of the bytes
// that all low saves; 12 runs"; of the caller's own number "drop 0.001 of at most 0.002 from 0.981".
std::string SearchLine(const SearchReport& report);
// A list file (lists/README.md) of the nodes that stay float32 by the choice or by guards. What is low around them may
// be other than in the model that the search wrote, as guards and lists spread in different ways.
std::string SearchList(const SearchReport& report);
// A line with a bar for each choice on the front, for a terminal; "" where there are fewer than two.
//
//   saved    error  float32
//   100 %   0.0131        0  ########################################
//    81 %  0.00391        7  ################################          taken
std::string SearchFront(const SearchReport& report);
// A line per choice below a line of names.
std::string SearchCsv(const SearchReport& report);
// The object under the key "search".
void AddSearch(JsonText& json, const SearchReport& report);

}  // namespace amp

#endif  // AMP_PASSES_REPORT_SEARCH_REPORT_H_
