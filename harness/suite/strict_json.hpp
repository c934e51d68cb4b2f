// Reads JSON as the standard defines it and refuses what lenient readers let pass.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace mla::harness {

/// What a file may cost before it is refused.
struct JsonLimits {
  std::size_t bytes = std::size_t{64} << 20;
  int depth = 32;  // nested arrays and objects
};

/// The whole file as bytes. Throws UsageError where it cannot be read or is larger than `bytes`.
[[nodiscard]] std::string read_file(const std::filesystem::path& path, std::size_t bytes);

/// Parses `text`; `file` is only named in errors. Throws UsageError, one line with the file and the byte offset or the
/// JSON pointer, on: malformed or truncated JSON, text that is no UTF-8, NaN or Infinity, numbers beyond double,
/// a key given twice in one object, nesting deeper than the limit.
[[nodiscard]] nlohmann::json parse_strict_json(std::string_view text, const std::string& file, JsonLimits limits = {});

/// `read_file` and `parse_strict_json` in one.
[[nodiscard]] nlohmann::json read_strict_json(const std::filesystem::path& path, JsonLimits limits = {});

}  // namespace mla::harness
