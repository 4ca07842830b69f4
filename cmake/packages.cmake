# SPDX-License-Identifier: MIT
# Debian packages by cpack, one per install component: the libraries, their headers, and the command line with its
# manual, completions and the lesson. tools/package makes them; dpkg-shlibdeps finds their dependencies.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME gradwalk)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The gradwalk team <gradwalk@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL runtime development tools)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
  ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/src/compile ${PROJECT_BINARY_DIR}/src/draw ${PROJECT_BINARY_DIR}/src/solve
  ${PROJECT_BINARY_DIR}/src/train)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libgradwalk${gradwalk_soversion})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "libgradwalk and its components compile, draw, solve and train")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libgradwalk-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libgradwalk${gradwalk_soversion} (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers, CMake package and pkg-config files of gradwalk")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME gradwalk)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libgradwalk${gradwalk_soversion} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "fonts-dejavu-core")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "The command line gradwalk: walk the backward pass, train, and the lesson")
include(CPack)
