include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/durable)
set(config_file ${PROJECT_BINARY_DIR}/durableConfig.cmake)
set(config_version_file ${PROJECT_BINARY_DIR}/durableConfigVersion.cmake)
install(EXPORT durable NAMESPACE durable:: FILE durableTargets.cmake DESTINATION ${config_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/durableConfig.cmake.in ${config_file}
  INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${config_version_file} COMPATIBILITY SameMinorVersion)
install(FILES ${config_file} ${config_version_file} DESTINATION ${config_dir})
