# cmake -DBUILD=<build tree> -DSOURCE=<source tree> -DWORK=<folder> -P check.cmake
# Installs into a folder, moves that folder, and builds and runs the example against it: nothing may point back.
function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE out RESULT_VARIABLE rc)
  if(NOT rc EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${rc}\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/prefix)

file(GLOB_RECURSE texts ${WORK}/prefix/*.cmake ${WORK}/prefix/*.h)
foreach(text IN LISTS texts)
  file(READ ${text} content)
  foreach(place IN ITEMS ${BUILD} ${SOURCE} ${WORK}/first)
    string(FIND "${content}" "${place}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${text} points to ${place}")
    endif()
  endforeach()
endforeach()

run(${WORK}/prefix/bin/amp-rewrite --version)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/example -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DCMAKE_BUILD_TYPE=Debug)
run(${CMAKE_COMMAND} --build ${WORK}/example)
run(${BUILD}/tools/make_demo ${SOURCE}/tools/demo/demo.onnxtxt ${WORK}/demo.onnx)
run(${WORK}/example/example ${WORK}/demo.onnx)
if(NOT out MATCHES "^Converted [1-9][0-9]* of [0-9]+ nodes to float16 with [1-9][0-9]* casts; .*; [0-9]+ nodes now\n$")
  message(FATAL_ERROR "the example says: ${out}")
endif()
