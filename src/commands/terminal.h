#pragma once
// What standard output is: a terminal or not, how wide, which language and characters.

#include "render/render.h"

namespace gpuvet {

bool output_is_terminal();
/// Columns of the terminal; 80 where there is none.
int terminal_width();
/// LC_ALL, LC_MESSAGES, LANG: "zh…" is Chinese.
Language language_of_locale();
/// The locale names characters other than UTF-8. No locale at all counts as UTF-8: containers and services seldom set one.
bool locale_is_ascii();
/// NO_COLOR (no-color.org) or TERM=dumb.
bool color_unwanted();

}  // namespace gpuvet
