# Protobuf, Abseil, RE2 and libzip inside of what we link, with hidden symbols: for the wheel of tools/python, which
# runs beside other copies of them in one process. Debian's archives are no position-independent code, so its source
# packages are built once, into the cache. They are of the versions whose headers the rest was compiled with.
#
#   amp_link_bundled(<target> <library of ours>...)    links the archives of these, and all that is bundled
option(AMP_BUNDLED_DEPENDENCIES "Build what the wheel of tools/python holds: needs Debian's source packages" OFF)
if(NOT AMP_BUNDLED_DEPENDENCIES)
  return()
endif()
execute_process(COMMAND dpkg-query -W -f "\${source:Package} \${source:Version}\n" libprotobuf-dev libabsl-dev
  libre2-dev libzip-dev RESULT_VARIABLE rc OUTPUT_VARIABLE versions)
if(NOT rc EQUAL 0)
  message(FATAL_ERROR "AMP_BUNDLED_DEPENDENCIES builds Debian's source packages; expected Debian, found no dpkg-query")
endif()
set(bundled_flags "-O2 -g0 -DNDEBUG -fvisibility=hidden -fvisibility-inlines-hidden")
string(SHA256 bundled_key "${versions}|${CMAKE_CXX_COMPILER_VERSION}|${bundled_flags}|1")
string(SUBSTRING "${bundled_key}" 0 12 bundled_key)
set(bundled_dir "${AMP_DEPS_DIR}/build/bundled-${bundled_key}")

# Builds one source package below ${bundled_dir}. `folder`: where its CMakeLists.txt is.
function(amp_build_bundled package folder)
  file(MAKE_DIRECTORY "${bundled_dir}/${package}.build")
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  set(log "${bundled_dir}/${package}.log")
  set(configure "${CMAKE_COMMAND}" -S "${bundled_dir}/${package}/${folder}" -B "${bundled_dir}/${package}.build"
    -G "${CMAKE_GENERATOR}" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=${bundled_flags}"
    "-DCMAKE_C_FLAGS_RELEASE=-O2 -g0 -DNDEBUG -fvisibility=hidden" -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
    "-DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}"
    "-DCMAKE_C_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}" -DCMAKE_CXX_STANDARD=17
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DCMAKE_INSTALL_LIBDIR=lib
    "-DCMAKE_INSTALL_PREFIX=${bundled_dir}" ${ARGN})
  execute_process(COMMAND ${configure} RESULT_VARIABLE rc OUTPUT_FILE "${log}" ERROR_FILE "${log}")
  if(rc EQUAL 0)
    execute_process(COMMAND "${CMAKE_COMMAND}" --build "${bundled_dir}/${package}.build" --parallel ${cores}
      --target install RESULT_VARIABLE rc OUTPUT_FILE "${log}" ERROR_FILE "${log}")
  endif()
  if(NOT rc EQUAL 0)
    message(FATAL_ERROR "${package}: building failed (${rc}); see ${log}")
  endif()
  file(REMOVE_RECURSE "${bundled_dir}/${package}.build" "${bundled_dir}/${package}")
endfunction()

function(amp_build_all_bundled)
  file(MAKE_DIRECTORY "${AMP_DEPS_DIR}/build")
  file(LOCK "${bundled_dir}.lock" GUARD FUNCTION)
  if(EXISTS "${bundled_dir}/.complete")
    return()
  endif()
  message(STATUS "Building Abseil, protobuf, RE2 and libzip once into ${bundled_dir} (three to six minutes)")
  file(MAKE_DIRECTORY "${bundled_dir}")
  set(log "${bundled_dir}/sources.log")
  execute_process(COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/debian_sources.sh ${bundled_dir} abseil protobuf re2 libzip
    RESULT_VARIABLE rc OUTPUT_FILE "${log}" ERROR_FILE "${log}")
  if(NOT rc EQUAL 0)
    message(FATAL_ERROR "Debian's source packages cannot be had (${rc}); see ${log}")
  endif()
  amp_build_bundled(abseil . -DABSL_PROPAGATE_CXX_STD=ON)
  amp_build_bundled(protobuf . -Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_BUILD_PROTOC_BINARIES=OFF
    -Dprotobuf_BUILD_LIBPROTOC=OFF -Dprotobuf_WITH_ZLIB=OFF)
  # Debian makes these of its unicode-data.
  execute_process(COMMAND make REBUILD_TABLES=1 re2/perl_groups.cc re2/unicode_groups.cc re2/unicode_casefold.cc
    WORKING_DIRECTORY "${bundled_dir}/re2" RESULT_VARIABLE rc OUTPUT_FILE "${log}" ERROR_FILE "${log}")
  if(NOT rc EQUAL 0)
    message(FATAL_ERROR "RE2's tables cannot be made (${rc}); see ${log}")
  endif()
  amp_build_bundled(re2 . -DRE2_BUILD_TESTING=OFF)
  amp_build_bundled(libzip . -DENABLE_COMMONCRYPTO=OFF -DENABLE_GNUTLS=OFF -DENABLE_MBEDTLS=OFF -DENABLE_OPENSSL=OFF
    -DENABLE_WINDOWS_CRYPTO=OFF -DENABLE_BZIP2=OFF -DENABLE_LZMA=OFF -DENABLE_ZSTD=OFF -DBUILD_TOOLS=OFF
    -DBUILD_REGRESS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_DOC=OFF)
  file(TOUCH "${bundled_dir}/.complete")
endfunction()
if(NOT EXISTS "${bundled_dir}/.complete")
  amp_build_all_bundled()
endif()
file(GLOB bundled_archives ${bundled_dir}/lib/*.a)
set(bundled_archives ${onnx_dir}/lib/libonnx.a ${onnx_dir}/lib/libonnx_proto.a ${bundled_archives})
set_property(GLOBAL PROPERTY AMP_BUNDLED_ARCHIVES "${bundled_archives}")

function(amp_link_bundled target)
  get_property(archives GLOBAL PROPERTY AMP_BUNDLED_ARCHIVES)
  foreach(library IN LISTS ARGN)
    list(PREPEND archives $<TARGET_FILE:${library}>)
  endforeach()
  add_dependencies(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE -Wl,--start-group ${archives} -Wl,--end-group ZLIB::ZLIB ${CMAKE_DL_LIBS}
    Threads::Threads)
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL -Wl,--no-undefined -s)
endfunction()
