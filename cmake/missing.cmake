# SPDX-License-Identifier: MIT
# Messages about missing libraries, with the package to install on each kind of system.

set(gradwalk_dependencies ${CMAKE_CURRENT_LIST_DIR}/dependencies.txt)

# gradwalk_install_commands(<result> <name>): the commands that install a library of dependencies.txt.
function(gradwalk_install_commands result name)
  file(STRINGS ${gradwalk_dependencies} row REGEX "^${name} +[|]")
  if(NOT row)
    message(FATAL_ERROR "gradwalk_install_commands: needs a name of cmake/dependencies.txt, got ${name}; add it there")
  endif()
  string(REGEX REPLACE " *[|] *" ";" cells "${row}")
  set(commands "apt-get install" "dnf install" "pacman -S" "brew install")
  set(lines "")
  foreach(i RANGE 3)
    math(EXPR column "${i} + 1")
    list(GET commands ${i} command)
    list(GET cells ${column} package)
    string(APPEND lines "\n    ${command} ${package}")
  endforeach()
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()

# gradwalk_missing(<part> <name> <option>...): stops, because a part of gradwalk needs a library that was not found. The
# options leave the part out.
function(gradwalk_missing part name)
  gradwalk_install_commands(commands ${name})
  list(TRANSFORM ARGN PREPEND -D)
  list(JOIN ARGN " " options)
  if(part MATCHES "s$|programs") # a plural
    set(needs need)
  else()
    set(needs needs)
  endif()
  message(FATAL_ERROR "${part}: ${needs} ${name}, found none; install it, or configure with ${options}:${commands}")
endfunction()

# gradwalk_find_pkg_config(<part> <option>...): finds pkg-config, or stops.
macro(gradwalk_find_pkg_config part)
  find_package(PkgConfig QUIET)
  if(NOT PkgConfig_FOUND)
    gradwalk_missing(${part} pkg-config ${ARGN})
  endif()
endmacro()
