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
file(GLOB built RELATIVE ${BUILD} ${BUILD}/lib*/libamp_*.so)
foreach(plugin IN LISTS built)
  if(NOT EXISTS ${WORK}/prefix/${plugin})
    message(FATAL_ERROR "${plugin} is not installed")
  endif()
endforeach()
run(bash -c "source ${WORK}/prefix/share/bash-completion/completions/amp-rewrite && complete -p amp-rewrite")
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/example -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DCMAKE_BUILD_TYPE=Debug)
run(${CMAKE_COMMAND} --build ${WORK}/example)
check_example(${WORK}/example/example)

set(train ${WORK}/train)
file(MAKE_DIRECTORY ${train})
run(${WORK}/prefix/bin/amp-train new mlp 2-32-2 -o ${train}/forward.onnx)
run(${WORK}/prefix/bin/amp-rewrite ${train}/forward.onnx -o ${train}/step.onnx --train --loss softmax-cross-entropy
  --optimizer adam --learning-rate 0.01 --policy mixed_float16)
run(${WORK}/example/train_example ${train}/step.onnx ${train}/forward.onnx ${train}/trained.onnx)
run(${WORK}/prefix/bin/amp-run ${train}/trained.onnx --random-inputs)
