// SPDX-License-Identifier: MIT
// Whole files in and out, so that a crash, a full disk or a strange file costs nobody their data.
//
// Every refusal is an Error that opens with the file's name and says what to do. Needs POSIX and nothing else.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "gradwalk/export.hpp"

namespace gradwalk {

// The bytes of a regular file of at most so many. Anything else (a folder, a pipe, a device) is refused unread, and so
// is a file that grows or shrinks meanwhile.
GRADWALK_EXPORT std::string read_file(const std::string& path, std::size_t most);

// Puts these bytes in the place of the file, or leaves everything as it was: they are written beside it, to
// .gradwalk-<process>-<n>.tmp, and get its name once they are on the disk. A process killed on the way may leave that
// temporary file behind; it may be deleted. Permissions of an older file are kept; of a symbolic link, the target is
// written; other hard links to an older file keep the older bytes.
GRADWALK_EXPORT void write_beside(const std::string& path, std::string_view bytes);

}  // namespace gradwalk
