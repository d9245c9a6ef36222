# For check.cmake of install/ and subproject/: programs that must end well, and what the example must say.

# run(<command>...): sets `out` to what it printed.
function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE out RESULT_VARIABLE rc)
  if(NOT rc EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${rc}\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

# check_example(<program>): it rewrites the demo model. Uses BUILD, SOURCE and WORK.
function(check_example program)
  run(${BUILD}/tools/make_demo ${SOURCE}/tools/demo/demo.onnxtxt ${WORK}/demo.onnx)
  run(${program} ${WORK}/demo.onnx)
  set(summary "^Converted [1-9][0-9]* of [0-9]+ nodes to float16 with [1-9][0-9]* casts; .*; [0-9]+ nodes now\n$")
  if(NOT out MATCHES "${summary}")
    message(FATAL_ERROR "the example says: ${out}")
  endif()
endfunction()
