#pragma once
// What standard output is: a terminal or not, how wide, which language and characters.

#include "render/render.h"

namespace gpuvet {

bool input_is_terminal();
bool output_is_terminal();
/// Columns of the terminal; where there is none, COLUMNS or 80.
int terminal_width();
/// The same of standard error.
bool error_is_terminal();
int error_width();
/// LC_ALL, LC_MESSAGES, LANG: "zh…" is Chinese.
Language language_of_locale();
/// The locale names characters other than UTF-8. No locale at all counts as UTF-8: containers and services seldom set one.
bool locale_is_ascii();
/// NO_COLOR (no-color.org) or TERM=dumb.
bool color_unwanted();

}  // namespace gpuvet
