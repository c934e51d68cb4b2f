# Writes OUTPUT, a source file with the state of the git checkout in SOURCE_DIR, only when it changed: run at each
# build, so that a report names the commit that was built and not the one that was configured.
function(git result)
  execute_process(COMMAND git -C ${SOURCE_DIR} ${ARGN} OUTPUT_VARIABLE output ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(${result} "${output}" PARENT_SCOPE)
endfunction()

git(sha rev-parse HEAD)
git(branch rev-parse --abbrev-ref HEAD)
git(changes status --porcelain --untracked-files=no)
if(changes)
  set(dirty true)
else()
  set(dirty false)
endif()

file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "harness/core/build_info.hpp"

namespace mla::harness {

GitState git_state() { return {"@sha@", "@branch@", @dirty@}; }

}  // namespace mla::harness
]])
