#pragma once
// Names of libraries: which file names are copies of one library, and which library a symbol belongs to by its name.

#include <string>
#include <string_view>
#include <vector>

#include "model/machine.h"

namespace gpuvet {

/// "libcudart" of "libcudart.so.12", of "libcudart-1b5bc9d0.so.12.4.99" and of "/x/libcudart.so"; a name without ".so" is empty.
std::string_view library_stem(std::string_view file_name);

/// The part behind the last slash.
std::string_view base_name(std::string_view path);

/// "/a/b/libc.so" → "/a/b"; empty: no slash.
std::string folder_of(std::string_view path);

/// Libraries, by stem, that define symbols that begin like this one; first the likeliest. Empty: nobody known.
std::vector<std::string_view> owners_of_symbol(std::string_view symbol);

/// "Python" for "PyObject_Call": the program that such a symbol comes from; empty: not known.
std::string_view host_of_symbol(std::string_view symbol);

/// Release of a library for people: what its bytes tell, else the version in the name of the real file ("6.0.30" of
/// libstdc++.so.6.0.30); empty: neither tells.
std::string release_of(const LibraryFile& file);

}  // namespace gpuvet
