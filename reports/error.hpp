// The one error of this folder: a report that cannot be used, and why.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace mla::reports {

/// A report, journal or comparison that must not be used. The message is one line whatever the file held: line breaks
/// and control characters of quoted values are replaced, and long values are shortened.
class ReportError : public std::runtime_error {
 public:
  explicit ReportError(std::string_view line);
};

}  // namespace mla::reports
