// SPDX-License-Identifier: MIT
// Reads and writes whole files. A crash, a full disk or an unexpected kind of file never destroys data.
//
// Each function throws an Error whose message begins with the name of the file. Needs only POSIX.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "gradwalk/export.hpp"

namespace gradwalk {

// Returns the bytes of a regular file that has at most `most` of them. Throws an Error for a larger file, for a file
// that changes its size meanwhile, and for a folder, a pipe or a device, none of which is read.
GRADWALK_EXPORT std::string read_file(const std::string& path, std::size_t most);

// Replaces the contents of a file by these bytes, or throws an Error and leaves the old contents. The bytes are first
// written to a temporary file in the same folder, .gradwalk-<process>-<n>.tmp, which is renamed when they are on the
// disk. A process that is killed meanwhile may leave the temporary file behind; it can be deleted.
// The permissions of an existing file are kept. A symbolic link stays, and its target is replaced. Other hard links to
// an existing file keep the old bytes.
GRADWALK_EXPORT void write_file(const std::string& path, std::string_view bytes);
// The old name of write_file().
[[deprecated("use write_file")]] inline void write_beside(const std::string& path, std::string_view bytes) {
  write_file(path, bytes);
}

}  // namespace gradwalk
