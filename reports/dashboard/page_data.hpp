// What the page's script reads, as JSON. reports/dashboard/script/model.js is its other half.
#pragma once

#include "reports/dashboard/dashboard.hpp"

namespace mla::reports {

/// Members report, comparison, history, view, charts; the second and third null where there are none.
[[nodiscard]] Json page_data(const Report& report, const DashboardParts& parts);

}  // namespace mla::reports
