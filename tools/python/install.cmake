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

# The licences of what is inside (third_party/NOTICES).
foreach(package IN ITEMS libabsl-dev libprotobuf-dev libre2-dev libcli11-dev nlohmann-json3-dev zlib1g-dev libzip-dev
    libxxhash-dev libboost-dev libgomp1 node-dagre-layout node-lodash)
  if(EXISTS /usr/share/doc/${package}/copyright)
    install(FILES /usr/share/doc/${package}/copyright DESTINATION amp_rewrite/licenses RENAME ${package}
      COMPONENT python)
  endif()
endforeach()
get_property(amp_onnx_licence GLOBAL PROPERTY AMP_ONNX_LICENCE)
install(FILES ${amp_onnx_licence} DESTINATION amp_rewrite/licenses RENAME onnx COMPONENT python)
get_property(amp_licence_folders GLOBAL PROPERTY AMP_LICENCE_FOLDERS)
install(DIRECTORY ${amp_licence_folders} DESTINATION amp_rewrite/licenses COMPONENT python)
