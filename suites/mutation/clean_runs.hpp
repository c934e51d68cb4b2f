// Problems for kernels without a fault: what the checks must say nothing of.
#pragma once

#include <string>

namespace mla::mutation {

/// Word of run `run` >= 0: shapes, types and all nine distributions in all their combinations, each time with another
/// seed. Some shapes have the 32 rows from which on the slope is judged.
[[nodiscard]] std::string clean_word(int run);

}  // namespace mla::mutation
