# SPDX-License-Identifier: MIT
# An overlay port. It builds the sources around it:
#   vcpkg install "gradwalk[compile,solve,train]" --overlay-ports=packaging/vcpkg

get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    compile GRADWALK_COMPILE
    draw GRADWALK_DRAW
    solve GRADWALK_SOLVE
    train GRADWALK_TRAIN)

vcpkg_find_acquire_program(PKGCONFIG)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${FEATURE_OPTIONS}
    -DGRADWALK_TESTS=OFF
    -DGRADWALK_WERROR=OFF
    "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}"
  MAYBE_UNUSED_VARIABLES
    PKG_CONFIG_EXECUTABLE)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/gradwalk)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
