#include "reports/detail/validate.hpp"

#include <set>
#include <string>

#include <fmt/format.h>

#include "reports/detail/field.hpp"
#include "reports/detail/read_case.hpp"
#include "reports/detail/text.hpp"
#include "reports/error.hpp"
#include "reports/version.hpp"

namespace mla::reports {
namespace detail {
namespace {

std::vector<std::string> texts(const Field& list) {
  std::vector<std::string> result;
  list.array().each([&](const Field& element) { result.push_back(element.text()); });
  return result;
}

/// "major.minor.patch", each at most four digits.
struct Version {
  int major = 0;
  int minor = 0;
};

Version parse_version(const Field& field) {
  int parts[3] = {};
  int part = 0;
  int digits = 0;
  for (const char c : field.text()) {
    if (c >= '0' && c <= '9' && digits < 4) {
      parts[part] = parts[part] * 10 + (c - '0');
      ++digits;
    } else if (c == '.' && digits > 0 && part < 2) {
      ++part;
      digits = 0;
    } else {
      field.refuse("must be a version major.minor.patch");
    }
  }
  if (part != 2 || digits == 0) field.refuse("must be a version major.minor.patch");
  return {parts[0], parts[1]};
}

/// The first thing checked. Returns the minor.
int check_schema(const Field& document, std::vector<std::string>& warnings) {
  const auto schema = document.json().is_object() ? document.json().find("schema") : document.json().end();
  if (!document.json().is_object() || schema == document.json().end() || !schema->is_object()) {
    throw ReportError(fmt::format("no {} (its member 'schema' is missing)", kReportSchema));
  }
  const Field field = document.at("schema");
  const std::string& name = field.at("name").text();
  if (name != kReportSchema) {
    throw ReportError(fmt::format("no {}: schema name '{}'", kReportSchema, shorten_middle(name, 60)));
  }
  const Version version = parse_version(field.at("version"));
  if (version.major != kReportMajor) {
    throw ReportError(fmt::format("schema version {}.{} cannot be read: this program reads major version {}",
                                  version.major, version.minor, kReportMajor));
  }
  only_known(field, version.minor, {"name", "version"});
  if (version.minor > kReportMinor) {
    warnings.push_back(fmt::format("schema version {}.{} is newer than {}.{}: fields added since are ignored",
                                   version.major, version.minor, kReportMajor, kReportMinor));
  }
  return version.minor;
}

/// RFC 3339 in UTC: "2026-12-01T01:02:03Z", seconds perhaps with a fraction.
const std::string& utc(const Field& field) {
  static constexpr std::string_view pattern = "dddd-dd-ddTdd:dd:dd";
  const std::string& text = field.text();
  bool good = text.size() > pattern.size() && text.back() == 'Z';
  for (std::size_t i = 0; good && i < pattern.size(); ++i) {
    good = pattern[i] == 'd' ? (text[i] >= '0' && text[i] <= '9') : text[i] == pattern[i];
  }
  if (good && text.size() > pattern.size() + 1) {
    const std::string_view fraction = std::string_view(text).substr(pattern.size(), text.size() - pattern.size() - 1);
    good = fraction.size() > 1 && fraction.front() == '.' &&
           fraction.find_first_not_of("0123456789", 1) == std::string_view::npos;
  }
  if (!good) field.refuse("must be a UTC time YYYY-MM-DDThh:mm:ssZ");
  return text;
}

void read_git(const Field& git, int minor, Run& run) {
  only_known(git, minor, {"sha", "branch", "dirty"});
  const Field sha = git.at("sha");
  run.git_sha = sha.text();
  const bool hex = run.git_sha.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!run.git_sha.empty() && (run.git_sha.size() != 40 || !hex)) {
    sha.refuse("must be 40 lower-case hexadecimal digits, or empty");
  }
  run.git_branch = git.at("branch").text();
  run.git_dirty = git.at("dirty").boolean();
}

void read_build(const Field& build, int minor, Run& run) {
  only_known(build, minor, {"compiler", "type", "flags", "targets"});
  run.compiler = build.at("compiler").text();
  run.build_type = build.at("type").text();
  run.build_flags = build.at("flags").text();
  run.targets = texts(build.at("targets"));
}

void read_shard(const Field& shard, int minor, Run& run) {
  only_known(shard, minor, {"index", "count"});
  run.shard_count = shard.at("count").integer(1);
  run.shard_index = shard.at("index").integer(1);
  if (run.shard_index > run.shard_count) {
    shard.at("index").refuse(fmt::format("must be at most the shard count {}", run.shard_count));
  }
}

Run read_run(const Field& field, int minor, HeaderOf kind) {
  only_known(field, minor,
             {"id", "started_utc", "ended_utc", "status", "argv", "version", "git", "build", "mode", "seed", "shard",
              "suites"});
  Run run;
  run.id = field.at("id").nonempty();
  run.started_utc = utc(field.at("started_utc"));
  if (const auto ended = field.find("ended_utc")) run.ended_utc = utc(*ended);
  if (kind == HeaderOf::report) {
    const Field status = field.at("status");
    run.complete = status.text() == "complete";
    if (!run.complete && status.text() != "interrupted") status.refuse("must be 'complete' or 'interrupted'");
  }
  run.argv = texts(field.at("argv"));
  run.version = field.at("version").nonempty();
  read_git(field.at("git"), minor, run);
  read_build(field.at("build"), minor, run);
  const Field mode = field.at("mode");
  run.mode = mode.text();
  if (run.mode != "C" && run.mode != "P" && run.mode != "CP") mode.refuse("must be 'C', 'P' or 'CP'");
  run.seed = field.at("seed").unsigned_integer();
  read_shard(field.at("shard"), minor, run);
  run.suites = texts(field.at("suites"));
  return run;
}

Environment read_environment(const Field& field, int minor) {
  only_known(field, minor, {"host", "os", "kernel", "cpu", "memory_bytes", "gpu", "libraries", "fingerprint"});
  Environment environment;
  environment.host = field.at("host").text();
  environment.os = field.at("os").text();
  (void)field.at("kernel").text();
  const Field cpu = field.at("cpu");
  only_known(cpu, minor, {"model", "cores", "llc_bytes", "isa"});
  environment.cpu_model = cpu.at("model").text();
  environment.cores = cpu.at("cores").integer(1);
  if (const auto cache = cpu.find("llc_bytes")) (void)cache->integer(0);
  if (const auto isa = cpu.find("isa")) (void)isa->text();
  if (const auto memory = field.find("memory_bytes")) (void)memory->integer(0);
  // What is worth knowing of a GPU differs by vendor and driver: only its name is fixed.
  if (const auto gpu = field.nullable("gpu")) environment.gpu_name = gpu->at("name").nonempty();
  field.at("libraries").object().each_member([](const std::string&, const Field& version) { (void)version.text(); });
  environment.fingerprint = field.at("fingerprint").nonempty();
  return environment;
}

Ceiling read_ceiling(const Field& field, int minor) {
  only_known(field, minor, {"name", "device", "value", "unit", "note"});
  Ceiling ceiling;
  ceiling.name = field.at("name").nonempty();
  ceiling.device = field.at("device").nonempty();
  if (const auto value = field.nullable("value")) ceiling.value = value->above_zero();
  ceiling.unit = field.at("unit").nonempty();
  if (const auto note = field.find("note")) ceiling.note = note->text();
  return ceiling;
}

void check_counts(const Field& summary, int minor, const Counts& counts) {
  const auto check = [&](std::string_view name, std::int64_t expected) {
    const Field field = summary.at(name);
    if (field.integer(0) != expected) field.refuse(fmt::format("the report holds {} such cases", expected));
  };
  only_known(summary, minor,
             {"total", "passed", "failed", "mistrusted", "skipped", "unimplemented", "crashed", "timeout",
              "known_failure", "unexpected_pass", "elapsed_s", "provider_ratios"});
  check("total", counts.total);
  for (const Verdict verdict : kVerdicts) check(name_of(verdict), counts.of(verdict));
}

std::vector<ProviderRatio> read_ratios(const Field& field, int minor) {
  std::vector<ProviderRatio> ratios;
  field.array().each([&](const Field& ratio) {
    only_known(ratio, minor, {"problem", "provider", "baseline", "speedup"});
    ratios.push_back({ratio.at("problem").nonempty(), ratio.at("provider").nonempty(), ratio.at("baseline").nonempty(),
                      ratio.at("speedup").above_zero()});
  });
  return ratios;
}

}  // namespace

Report parse_header(const Json& document, HeaderOf kind) {
  const Field root(document);
  Report report;
  report.minor = check_schema(root, report.warnings);
  if (kind == HeaderOf::report) {
    only_known(root, report.minor, {"schema", "run", "environment", "ceilings", "cases", "summary"});
  } else {
    only_known(root, report.minor, {"schema", "run", "environment", "ceilings"});
  }
  report.run = read_run(root.at("run"), report.minor, kind);
  report.environment = read_environment(root.at("environment"), report.minor);
  root.at("ceilings").array().each([&](const Field& ceiling) {
    report.ceilings.push_back(read_ceiling(ceiling, report.minor));
  });
  for (const char* member : {"schema", "run", "environment", "ceilings"}) {
    report.header[member] = document.at(member);
  }
  return report;
}

int parse_minor(const Json& document) {
  std::vector<std::string> ignored;
  return check_schema(Field(document), ignored);
}

void parse_summary(const Json& document, Report& report) {
  const Field summary = Field(document).at("summary");
  check_counts(summary, report.minor, report.counts);
  report.elapsed_s = summary.at("elapsed_s").at_least_zero();
  report.provider_ratios = read_ratios(summary.at("provider_ratios"), report.minor);
}

Case parse_case(const Json& document, const Json& value, int minor) {
  return CaseReader<Field>(minor).read(Field::within(document, value));
}

}  // namespace detail

Report parse_report(Json document) {
  using detail::Field;
  Report report = detail::parse_header(document, detail::HeaderOf::report);
  const Field root(document);
  const detail::CaseReader<Field> reader(report.minor);
  std::set<std::string_view> keys;
  const Field cases = root.at("cases").array();
  report.cases.reserve(cases.size());
  cases.each([&](const Field& field) {
    report.cases.push_back(reader.read(field));
    const Case& added = report.cases.back();
    // Room was reserved, so no case moves and the views in `keys` stay good.
    if (!keys.insert(added.key).second) field.at("key").refuse("two cases of one report have this key");
    report.counts.add(added.verdict);
  });
  detail::parse_summary(document, report);

  Json& parts = document["cases"];
  for (std::size_t i = 0; i < report.cases.size(); ++i) report.cases[i].json = std::move(parts[i]);
  return report;
}

}  // namespace mla::reports
