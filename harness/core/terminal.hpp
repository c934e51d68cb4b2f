// How wide and how capable standard output is.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

namespace mla::harness {

[[nodiscard]] inline bool stdout_is_terminal() {
  return isatty(STDOUT_FILENO) != 0;
}

/// Columns of the terminal; a width that suits a log where there is none.
[[nodiscard]] inline int terminal_columns() {
  constexpr int kLogColumns = 120;
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kLogColumns;
}

}  // namespace mla::harness
