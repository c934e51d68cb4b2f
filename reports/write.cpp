#include "reports/write.hpp"

#include <cerrno>
#include <cmath>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "reports/detail/descriptor.hpp"
#include "reports/detail/field.hpp"
#include "reports/error.hpp"

namespace mla::reports {
namespace {

/// The first number that is not finite, or null.
const Json* find_nonfinite(const Json& value) {
  if (value.is_number_float()) return std::isfinite(value.get<double>()) ? nullptr : &value;
  if (!value.is_structured()) return nullptr;
  for (const Json& element : value) {
    if (const Json* found = find_nonfinite(element)) return found;
  }
  return nullptr;
}

}  // namespace

std::string dump_strict(const Json& document, int indent) {
  if (const Json* bad = find_nonfinite(document)) {
    throw ReportError(fmt::format("{} = {}: JSON has no such number; write null or its name as a string",
                                  detail::Field::within(document, *bad).pointer(), bad->get<double>()));
  }
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

void write_file(const std::filesystem::path& name, std::string_view contents) {
  std::error_code error;
  if (name.has_parent_path()) std::filesystem::create_directories(name.parent_path(), error);
  // A link keeps pointing at its file, and a device or pipe (/dev/stdout) is written to, never replaced by a file.
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(name, error);
  const std::filesystem::path& path = error ? name : resolved;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
    detail::Descriptor(path, O_WRONLY).write(contents);
    return;
  }
  // The process id keeps two runs that write the same path from mixing their bytes.
  const std::filesystem::path temporary = fmt::format("{}.{}.tmp", path.string(), ::getpid());
  try {
    detail::Descriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    file.write(contents);
    file.sync();
  } catch (const ReportError&) {
    std::filesystem::remove(temporary, error);
    throw;
  }
  std::filesystem::rename(temporary, path, error);
  if (error) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw ReportError(fmt::format("{}: {}", path.string(), error.message()));
  }
}

void write_report(const std::filesystem::path& path, const Json& report) {
  const std::string text = dump_strict(report, 1);
  try {
    (void)parse_report(report);
  } catch (const ReportError& error) {
    throw ReportError(fmt::format("{}: not written: {}", path.string(), error.what()));
  }
  write_file(path, text + "\n");
}

}  // namespace mla::reports
