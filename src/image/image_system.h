#pragma once
// A System whose files are those of an image that does not run: no live call answers, nothing leaves the tree.

#include <memory>

#include "image/image_archive.h"

namespace gpuvet {

std::unique_ptr<System> make_image_system(std::shared_ptr<const Image> image);

}  // namespace gpuvet
