# ONNX 1.23.2 from its pinned source archive: built once as a separate CMake run, cached, then found as a package.
# Never add_subdirectory: ONNX's options, warnings and targets would leak into ours.
set(onnx_version 1.23.2)
set(onnx_sha 008cb0467b2bbee41448acc7da8b6f4e704624cb0d327a2d5adafc7ce19bc5b8)
amp_fetch(onnx_source onnx-${onnx_version}.tar.gz onnx ${onnx_version} ${onnx_sha})

set_property(GLOBAL PROPERTY AMP_ONNX_LICENCE "${onnx_source}/onnx-${onnx_version}/LICENSE")

set(onnx_flags "-O2 -g0 -DNDEBUG -fvisibility-inlines-hidden")
set(onnx_recipe 1)
string(CONCAT onnx_inputs "${onnx_sha}|${CMAKE_CXX_COMPILER_ID}|${CMAKE_CXX_COMPILER_VERSION}|${Protobuf_VERSION}|"
  "${onnx_flags}|${onnx_recipe}")
string(SHA256 onnx_key "${onnx_inputs}")
string(SUBSTRING "${onnx_key}" 0 12 onnx_key)
set(onnx_dir "${AMP_DEPS_DIR}/build/onnx-${onnx_version}-${onnx_key}")

function(amp_build_onnx)
  file(MAKE_DIRECTORY "${AMP_DEPS_DIR}/build")
  file(LOCK "${onnx_dir}.lock" GUARD FUNCTION)
  if(EXISTS "${onnx_dir}/.complete")
    return()
  endif()
  message(STATUS "Building ONNX ${onnx_version} once into ${onnx_dir} (two to four minutes)")
  # ONNX asks for CMake 3.26; configure and build work unchanged with Debian 12's 3.25.
  set(lists "${onnx_source}/onnx-${onnx_version}/CMakeLists.txt")
  file(READ "${lists}" text)
  string(REPLACE "cmake_minimum_required(VERSION 3.26)" "cmake_minimum_required(VERSION 3.25)" text "${text}")
  file(WRITE "${lists}" "${text}")
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  foreach(step IN ITEMS configure build)
    if(step STREQUAL configure)
      set(command "${CMAKE_COMMAND}" -S "${onnx_source}/onnx-${onnx_version}" -B "${onnx_dir}.work"
          -G "${CMAKE_GENERATOR}" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=${onnx_flags}"
          -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
          "-DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}" -DCMAKE_CXX_STANDARD=20
          -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DONNX_ML=ON -DONNX_BUILD_PYTHON=OFF -DONNX_BUILD_TESTS=OFF
          -DONNX_USE_PROTOBUF_SHARED_LIBS=ON -DONNX_USE_UNITY_BUILD=ON -DBUILD_SHARED_LIBS=OFF
          "-DCMAKE_INSTALL_PREFIX=${onnx_dir}")
    else()
      set(command "${CMAKE_COMMAND}" --build "${onnx_dir}.work" --parallel ${cores} --target install)
    endif()
    execute_process(COMMAND ${command} RESULT_VARIABLE rc
                    OUTPUT_FILE "${onnx_dir}.${step}.log" ERROR_FILE "${onnx_dir}.${step}.log")
    if(NOT rc EQUAL 0)
      message(FATAL_ERROR "ONNX: ${step} failed (${rc}); see ${onnx_dir}.${step}.log")
    endif()
  endforeach()
  file(REMOVE_RECURSE "${onnx_dir}.work")
  file(TOUCH "${onnx_dir}/.complete")
endfunction()

if(NOT EXISTS "${onnx_dir}/.complete")
  amp_build_onnx()
endif()
# ONNX is installed beside our archives, out of the way of an ONNX that the system has. tools/amp-rewriteConfig.cmake.in
# finds it.
if(AMP_INSTALL)
  install(DIRECTORY "${onnx_dir}/include" "${onnx_dir}/lib" DESTINATION ${CMAKE_INSTALL_LIBDIR}/amp-rewrite/onnx
    FILES_MATCHING PATTERN "*.h" PATTERN "*.a" PATTERN "*.cmake" PATTERN "CMakeFiles" EXCLUDE)
endif()
find_package(ONNX ${onnx_version} REQUIRED CONFIG PATHS "${onnx_dir}" NO_DEFAULT_PATH)
