# The files of the wheel, by its component "python".
install(TARGETS amp_c_bundled amp_onednn LIBRARY DESTINATION amp_rewrite/lib COMPONENT python)
if(AMP_WITH_CUDA)
  install(TARGETS amp_cuda LIBRARY DESTINATION amp_rewrite/lib COMPONENT python)
endif()
install(TARGETS amp_programs RUNTIME DESTINATION amp_rewrite/bin COMPONENT python)
install(FILES ${AMP_ONEDNN_FILES} DESTINATION amp_rewrite/lib COMPONENT python)
install(FILES ${PROJECT_SOURCE_DIR}/tools/c/amp_c.h DESTINATION amp_rewrite/include COMPONENT python)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/third_party/NOTICES DESTINATION amp_rewrite
  COMPONENT python)
