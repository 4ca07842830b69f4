# SPDX-License-Identifier: MIT
# gradwalk_component(<name> <source>...): adds the library gradwalk::<name> (libgradwalk-<name>), and installs and exports
# it with its pkg-config file cmake/gradwalk-*.pc.in. The caller adds the dependencies of this component.
function(gradwalk_component name)
  set(target gradwalk_${name})
  add_library(${target} ${ARGN})
  add_library(gradwalk::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    OUTPUT_NAME gradwalk-${name}
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    DEFINE_SYMBOL ""
    POSITION_INDEPENDENT_CODE ON
    INSTALL_RPATH $ORIGIN # libgradwalk is in the same folder
    VERSION ${PROJECT_VERSION}
    SOVERSION ${gradwalk_soversion}
    UNITY_BUILD ${GRADWALK_UNITY}
    UNITY_BUILD_BATCH_SIZE 0) # all files of a component together
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC gradwalk PRIVATE $<BUILD_INTERFACE:gradwalk_warnings>)

  if(GRADWALK_INSTALL)
    file(RELATIVE_PATH gradwalk_pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/gradwalk-${name}.pc.in gradwalk-${name}.pc @ONLY)
    gradwalk_install_library(${target})
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gradwalk-${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
      COMPONENT development)
  endif()
endfunction()

# gradwalk_install_library(<target>): running a program needs only the library; building one also needs the rest.
function(gradwalk_install_library target)
  install(TARGETS ${target} EXPORT gradwalkTargets
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
    ARCHIVE COMPONENT development
    RUNTIME COMPONENT runtime)
endfunction()
