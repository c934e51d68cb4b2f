#include "mla/status.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace mla {

void format_message(const Status& status, char* buffer, std::size_t capacity) {
  if (status.ok()) {
    std::snprintf(buffer, capacity, "ok");
    return;
  }
  char position[32] = "";
  if (status.index >= 0) std::snprintf(position, sizeof position, "[%" PRId64 "]", status.index);
  char value[64] = "";
  if (status.name != nullptr) {
    std::snprintf(value, sizeof value, "%s", status.name);
  } else if (status.has_real) {
    std::snprintf(value, sizeof value, "%.9g", status.real);
  } else {
    std::snprintf(value, sizeof value, "%" PRId64, status.value);
  }
  std::snprintf(buffer, capacity, "%s%s = %s: %s", status.argument, position, value, status.rule);
}

std::string message(const Status& status) {
  char buffer[512];
  format_message(status, buffer, sizeof buffer);
  return buffer;
}

}  // namespace mla
