#include "mla/status.hpp"

#include "mla/plan.hpp"

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

Status status_of(const PlanHeader& header) {
  const auto refuse = [&](const char* argument, const char* rule) {
    Status status = Status::refuse_name(StatusCode::bad_value, argument, "(in device memory)", rule);
    status.index = header.error_request;
    return status;
  };
  switch (header.error) {
    case PlanError::none: return {};
    case PlanError::batch: return refuse("batch", "must be from 0 to the limits' max_batch");
    case PlanError::query:
      return refuse("q_len", "must be from 0 to the limits' max_q_len, all together within max_total_q");
    case PlanError::kv_length:
      return refuse("kv_len", "must be from 0 to 2^30, the last page holding from 1 to page_size tokens");
  }
  return refuse("header", "is not of a plan");
}

}  // namespace mla
