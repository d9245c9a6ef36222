# cmake -DOUT=x.cc "-DPATHS=a.list;b.list" -P embed.cmake
# writes the lists as raw string literals behind lists/embedded_lists.h.
set(rows "")
foreach(path IN LISTS PATHS)
  get_filename_component(name "${path}" NAME_WLE)
  file(READ "${path}" text)
  string(APPEND rows "    {\"${name}\", R\"amp_list(${text})amp_list\"},\n")
endforeach()
file(WRITE "${OUT}" "#include \"lists/embedded_lists.h\"

namespace amp {
namespace {

constexpr EmbeddedList kLists[] = {
${rows}};

}  // namespace

absl::Span<const EmbeddedList> EmbeddedLists() { return kLists; }

}  // namespace amp
")
