# cmake -DOUT=x.cc -DPAGE=page|runs "-DSCRIPTS=a.js;b.js" [-DDAGRE=dagre.min.js] -P embed.cmake
# in this folder writes page.html, which has a graph, or runs.html as raw string literals behind
# tools/report/embedded_page.h. The scripts are ES modules that stand in an order in which each uses only those before
# it: they are joined, without their import and export words.
cmake_policy(VERSION 3.25)
set(own "")
foreach(path IN LISTS SCRIPTS)
  file(READ "${path}" text)
  string(REGEX REPLACE "\nimport [^\n]*" "" text "\n${text}")
  string(REPLACE "\nexport " "\n" text "${text}")
  string(APPEND own "${text}")
endforeach()
set(script "")
set(licence "")
if(PAGE STREQUAL "page")
  file(READ dagre_licence.txt licence)
  if(DAGRE)
    file(READ "${DAGRE}" script)
  endif()
endif()
string(APPEND script "\n(() => {\n\"use strict\";\n${own}})();\n")
string(TOLOWER "${script}" lower)
foreach(mark "</script" "<!--")
  string(FIND "${lower}" "${mark}" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "a script of the report holds ${mark}, which an HTML page cannot")
  endif()
endforeach()

# The policy of the page names the hash of its script in base64.
string(SHA256 hex "${script}")
set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
set(hash "")
string(APPEND hex "00")  # 32 bytes are two thirds of a group short
foreach(at RANGE 0 60 6)
  string(SUBSTRING "${hex}" ${at} 6 group)
  foreach(shift 18 12 6 0)
    math(EXPR digit "(0x${group} >> ${shift}) & 63")
    string(SUBSTRING "${digits}" ${digit} 1 letter)
    string(APPEND hash "${letter}")
  endforeach()
endforeach()
string(REGEX REPLACE ".$" "=" hash "${hash}")

file(READ ${PAGE}.html page)
file(READ style.css style)
string(REPLACE "@HASH@" "${hash}" page "${page}")
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@LICENCE@" "${licence}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
string(FIND "${page}" "@DATA@" at)
string(SUBSTRING "${page}" 0 ${at} before)
math(EXPR at "${at} + 6")
string(SUBSTRING "${page}" ${at} -1 behind)
set(function GetEmbeddedPage)
if(PAGE STREQUAL "runs")
  set(function GetEmbeddedRunPage)
endif()
file(WRITE "${OUT}" "#include \"tools/report/embedded_page.h\"

namespace amp {
namespace {

constexpr absl::string_view kBefore = R\"amp_page(${before})amp_page\";
constexpr absl::string_view kBehind = R\"amp_page(${behind})amp_page\";

}  // namespace

EmbeddedPage ${function}() { return {kBefore, kBehind}; }

}  // namespace amp
")
