// The answer of every call that can refuse its arguments. No exceptions and no allocation, so that it can be used in
// code compiled for a device and across a C boundary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace mla {

enum class StatusCode : std::uint8_t {
  ok,
  null_pointer,
  bad_dtype,      // an element type, or a combination of them, outside the contract
  bad_value,      // outside its range
  bad_stride,     // too small for the row, or not a multiple of the vector loads' 16 bytes
  misaligned,     // an address that is not a multiple of 16 bytes
  too_small,      // a workspace below what the limits need
  exceeds_limit,  // larger than the limits the workspace was sized for
  unsupported,    // inside the contract, but not offered by this target
  runtime,        // the device runtime refused; `value` is its code
};

/// `argument`, `rule` and `name` point to string literals: they outlive every status.
struct [[nodiscard]] Status {
  StatusCode code = StatusCode::ok;
  const char* argument = "";
  const char* rule = "";
  std::int64_t value = 0;   // the value that broke the rule, where it is an integer
  std::int64_t index = -1;  // its position in an array argument, or -1
  double real = 0;          // the value where it is a real number
  bool has_real = false;
  const char* name = nullptr;  // the value where it is a word

  [[nodiscard]] constexpr bool ok() const { return code == StatusCode::ok; }

  [[nodiscard]] static constexpr Status refuse(StatusCode code, const char* argument, std::int64_t value,
                                               const char* rule, std::int64_t index = -1) {
    Status status;
    status.code = code;
    status.argument = argument;
    status.rule = rule;
    status.value = value;
    status.index = index;
    return status;
  }
  [[nodiscard]] static constexpr Status refuse_real(const char* argument, double value, const char* rule) {
    Status status;
    status.code = StatusCode::bad_value;
    status.argument = argument;
    status.rule = rule;
    status.real = value;
    status.has_real = true;
    return status;
  }
  [[nodiscard]] static constexpr Status refuse_name(StatusCode code, const char* argument, const char* name,
                                                    const char* rule) {
    Status status;
    status.code = code;
    status.argument = argument;
    status.rule = rule;
    status.name = name;
    return status;
  }
};

/// One line: argument, value and rule, as in "kv.page_size = 48: must be a power of two from 1 to 256"; "ok" where ok.
[[nodiscard]] std::string message(const Status& status);

/// The same without allocation: writes at most `capacity` bytes including the terminating zero, cut where longer.
void format_message(const Status& status, char* buffer, std::size_t capacity);

}  // namespace mla
