# Writes a header with the digest of a provider's source text, so that two reports can tell whether its code changed.
# cmake -DNAMESPACE=<c++ namespace> -DFILES=<a;b> -DOUTPUT=<header> -P source_digest.cmake
set(digests "")
foreach(file IN LISTS FILES)
  file(SHA256 ${file} digest)
  string(APPEND digests ${digest})
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING ${digest} 0 16 digest)
file(WRITE ${OUTPUT} "#pragma once

#include <string_view>

namespace ${NAMESPACE} {

inline constexpr std::string_view kSourceDigest = \"${digest}\";

}  // namespace ${NAMESPACE}
")
