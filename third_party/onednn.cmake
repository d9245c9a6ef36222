# oneDNN for the CPU executor: the system's where it is 3.2 or newer, else two pinned wheels (library and headers).
option(AMP_BUNDLED_ONEDNN "Use the pinned oneDNN even where the system has one" OFF)
if(NOT AMP_BUNDLED_ONEDNN)
  find_package(dnnl 3.2 QUIET CONFIG)
endif()
if(TARGET DNNL::dnnl)
  set(AMP_ONEDNN_VERSION "${dnnl_VERSION}")
  message(STATUS "oneDNN ${dnnl_VERSION}: system")
  return()
endif()
amp_fetch(onednn_library onednn_cpu_gomp-2023.2.0-py2.py3-none-manylinux1_x86_64.whl onednn-cpu-gomp 2023.2.0
          2f22a54d6a890ed14bfa185d42a4be65d8b5b1df85dc1f0f3a9abe31620416fb)
amp_fetch(onednn_headers onednn_devel_cpu_gomp-2023.2.0-py2.py3-none-manylinux1_x86_64.whl onednn-devel-cpu-gomp
          2023.2.0 9763c69e8c907e119056bd52ad918ca84ac9ba939d130a99dfa95ccca3e5e284)
add_library(DNNL::dnnl SHARED IMPORTED GLOBAL)
set_target_properties(DNNL::dnnl PROPERTIES
  IMPORTED_LOCATION "${onednn_library}/onednn_cpu_gomp-2023.2.0.data/data/lib/libdnnl.so.3"
  IMPORTED_SONAME libdnnl.so.3
  INTERFACE_INCLUDE_DIRECTORIES "${onednn_headers}/onednn_devel_cpu_gomp-2023.2.0.data/data/include")
set(AMP_ONEDNN_FILES "${onednn_library}/onednn_cpu_gomp-2023.2.0.data/data/lib/libdnnl.so.3")
set_property(GLOBAL APPEND PROPERTY AMP_LICENCE_FOLDERS
  "${onednn_library}/onednn_cpu_gomp-2023.2.0.data/data/share/doc/onednn")
set(AMP_ONEDNN_VERSION 3.2.0)
message(STATUS "oneDNN 3.2.0: pinned wheel")
