// What cases change by when nothing changed, learnt from runs of one build.
#pragma once

#include "reports/compare.hpp"
#include "reports/margins.hpp"

namespace mla::reports {

/// Adds the changes of a comparison to `margins.floors`. Throws ReportError unless it compares two runs of one build on
/// one machine, the one whose floors these are. Cases that were not judged, and those of another kernel, are left out;
/// returns how many were added.
std::size_t add_floors(const Comparison& comparison, Margins& margins);

}  // namespace mla::reports
