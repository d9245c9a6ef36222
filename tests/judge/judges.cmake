# Independent judges in Python (requirements.txt). `tools/dev` makes the environment and sets the variable.
set(JUDGE_DIR ${CMAKE_CURRENT_LIST_DIR})
set(AMP_TEST_PYTHON "" CACHE FILEPATH "Python with tests/judge/requirements.txt installed")
if(NOT AMP_TEST_PYTHON)
  message(WARNING "AMP_TEST_PYTHON is not set: the judge tests (numbers, structure, decisions, real models, random graphs) are LEFT OUT")
  return()
endif()

# amp_judge(<name> <timeout in seconds> <script> <argument>...): exit 77 counts as skipped.
function(amp_judge name timeout_s script)
  add_test(NAME "judge: ${name}" COMMAND ${AMP_TEST_PYTHON} ${JUDGE_DIR}/${script} ${ARGN})
  set_tests_properties("judge: ${name}" PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${timeout_s} LABELS judge)
endfunction()

amp_judge(rounding_self_test 60 rounding.py --self-test)
amp_judge(self_test 300 self_test.py)
set(tool --tool $<TARGET_FILE:rewrite_batch>)
amp_judge(tf_decisions 300 tf_decisions.py ${tool})
amp_judge(random_graphs 900 random_graphs.py ${tool})
amp_judge(real_models 1800 real_models.py ${tool})
amp_judge(complaints 300 complaints.py ${tool})
amp_judge(lossless 300 lossless.py --program $<TARGET_FILE:load_models>)
amp_judge(adapters 900 adapters.py $<TARGET_FILE:lift_opset>)
amp_judge(adapters_real_models 900 adapters.py $<TARGET_FILE:lift_opset> --models)
