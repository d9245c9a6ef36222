# cmake -DBUILD=<build tree> -DSOURCE=<source tree> -DWORK=<folder> -P check.cmake
# Installs into a folder, moves that folder, and builds and runs the example against it: nothing may point back.
include(${CMAKE_CURRENT_LIST_DIR}/../run_and_check.cmake)

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
run(bash -c "source ${WORK}/prefix/share/bash-completion/completions/amp-rewrite && complete -p amp-rewrite")
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/example -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DCMAKE_BUILD_TYPE=Debug)
run(${CMAKE_COMMAND} --build ${WORK}/example)
check_example(${WORK}/example/example)
