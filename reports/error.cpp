#include "reports/error.hpp"

#include "reports/detail/text.hpp"

namespace mla::reports {

ReportError::ReportError(std::string_view line) : std::runtime_error(detail::one_line(line)) {}

}  // namespace mla::reports
