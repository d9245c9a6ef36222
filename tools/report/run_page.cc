#include "tools/report/run_page.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tools/report/embedded_page.h"

namespace amp {

std::string RunPage(const nlohmann::ordered_json& data) {
  using Json = nlohmann::ordered_json;
  const EmbeddedPage page = GetEmbeddedRunPage();
  // In ASCII, without a '<' that could end the element.
  const std::string text =
      absl::StrReplaceAll(data.dump(-1, ' ', true, Json::error_handler_t::replace), {{"<", "\\u003c"}});
  return absl::StrCat(page.before_data, text, page.behind_data);
}

}  // namespace amp
