# Installs the programs, the library with its headers and CMake package, and the licences. The package needs nothing of
# this tree or of the cache. The libraries that it is linked with are found on the user's machine, except ONNX, whose
# pinned headers and archives are installed too (third_party/onnx.cmake).
include(CMakePackageConfigHelpers)
set(amp_archives ${CMAKE_INSTALL_LIBDIR}/amp-rewrite)
set(amp_package ${CMAKE_INSTALL_LIBDIR}/cmake/amp-rewrite)

install(TARGETS amp-rewrite amp-run amp-train RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS amp amp_hardware amp_ir amp_lists amp_passes amp_runtime EXPORT amp-rewriteTargets
  ARCHIVE DESTINATION ${amp_archives})
install(TARGETS amp_onednn LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(AMP_WITH_CUDA)
  install(TARGETS amp_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(AMP_WITH_MPI)
  install(TARGETS amp_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(AMP_ONEDNN_FILES)  # the pinned library goes beside it; the system's is there
  install(FILES ${AMP_ONEDNN_FILES} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(FILES library/amp.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/amp-rewrite)
foreach(header ir/base/check.h ir/base/choices.h ir/base/convert.h ir/base/dtype.h ir/base/ids.h ir/base/limits.h
    ir/base/minifloat.h runtime/device_run/open_device.h runtime/device_run/use_device.h runtime/hardware/hardware.h
    runtime/kernel/element.h runtime/kernel/tensor.h runtime/parallel/rank_group.h
    runtime/plan/session_options.h runtime/run/run_options.h runtime/session.h tools/library/rewrite_options.h
    tools/library/trainer.h)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/amp-rewrite/${folder})
endforeach()
install(EXPORT amp-rewriteTargets NAMESPACE amp-rewrite:: DESTINATION ${amp_package})
configure_package_config_file(amp-rewriteConfig.cmake.in amp-rewriteConfig.cmake INSTALL_DESTINATION ${amp_package}
  PATH_VARS amp_archives)
write_basic_package_version_file(amp-rewriteConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/amp-rewriteConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/amp-rewriteConfigVersion.cmake DESTINATION ${amp_package})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/third_party/NOTICES
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
