# SPDX-License-Identifier: MIT
# Libraries that a build uses by their headers alone: in a build for another system or processor, or with another standard
# library, where the installed libraries cannot be linked. Each option names the library's folder of headers.

foreach(row IN ITEMS "HIGHWAY hwy Highway" "FMT fmt {fmt}" "JSON nlohmann nlohmann-json" "CLI11 CLI CLI11")
  separate_arguments(row)
  list(GET row 0 name)
  list(GET row 1 folder)
  list(GET row 2 library)
  set(GRADWALK_${name}_HEADERS "" CACHE PATH "The folder ${folder}/ of ${library}'s headers, to use header-only; empty: use an installed one")
endforeach()

# gradwalk_headers_alone(<result> <folder>): a folder that holds a link to this folder of headers and nothing else. The
# headers beside it, as in /usr/include, may be for another processor or system.
function(gradwalk_headers_alone result folder)
  get_filename_component(name ${folder} NAME)
  set(place ${PROJECT_BINARY_DIR}/headers/${name})
  file(MAKE_DIRECTORY ${place})
  file(CREATE_LINK ${folder} ${place}/${name} SYMBOLIC)
  set(${result} ${place} PARENT_SCOPE)
endfunction()

# gradwalk_find_headers(<package> <target> <folder> [<definition>...]): the package as find_package would find it, or, if a
# folder of headers is given, a target of these headers alone.
macro(gradwalk_find_headers package target folder)
  if("${folder}" STREQUAL "")
    find_package(${package} QUIET)
  else()
    set(${package}_FOUND ON)
    if(NOT TARGET ${target})
      gradwalk_headers_alone(headers_alone ${folder})
      add_library(${target} INTERFACE IMPORTED GLOBAL)
      set_target_properties(${target} PROPERTIES
        INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${headers_alone} INTERFACE_INCLUDE_DIRECTORIES ${headers_alone} INTERFACE_COMPILE_DEFINITIONS "${ARGN}")
    endif()
  endif()
endmacro()
macro(gradwalk_find_fmt)
  gradwalk_find_headers(fmt fmt::fmt "${GRADWALK_FMT_HEADERS}" FMT_HEADER_ONLY)
endmacro()
macro(gradwalk_find_nlohmann_json)
  gradwalk_find_headers(nlohmann_json nlohmann_json::nlohmann_json "${GRADWALK_JSON_HEADERS}")
endmacro()
macro(gradwalk_find_CLI11)
  gradwalk_find_headers(CLI11 CLI11::CLI11 "${GRADWALK_CLI11_HEADERS}")
endmacro()
