#include "reports/detail/validate.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "reports/detail/field.hpp"
#include "reports/detail/text.hpp"
#include "reports/error.hpp"
#include "reports/version.hpp"

namespace mla::reports {
namespace detail {
namespace {

/// Unknown members are errors up to the minor this code knows, and nothing to look at beyond it.
void only_known(const Field& object, int minor, std::initializer_list<std::string_view> members) {
  if (minor <= kReportMinor) {
    object.only(members);
  } else {
    object.object();
  }
}

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

void check_number_or_null(const Field& object, std::string_view key) {
  if (const auto number = object.find(key)) (void)number->at_least_zero();
}

/// An output value: a number, null where none was produced, or the name of what JSON cannot write.
void check_output_value(const Field& object, std::string_view key) {
  const auto value = object.nullable(key);
  if (!value) return;
  if (value->json().is_number()) {
    (void)value->number();
    return;
  }
  const auto* name = value->json().get_ptr<const std::string*>();
  if (name == nullptr || (*name != "nan" && *name != "inf" && *name != "-inf")) {
    value->refuse("must be a number, null, 'nan', 'inf' or '-inf'");
  }
}

void check_worst(const Field& worst, int minor) {
  only_known(worst, minor, {"tier", "index", "got", "ref", "ratio"});
  (void)worst.at("tier").nonempty();
  worst.at("index").object().each_member([](const std::string&, const Field& index) { (void)index.integer(-1); });
  check_output_value(worst, "got");
  check_output_value(worst, "ref");
  check_number_or_null(worst, "ratio");
}

void check_tier(const Field& tier) {
  const Field verdict = tier.at("verdict");
  const std::string& name = verdict.text();
  if (name != "passed" && name != "failed" && name != "skipped") {
    verdict.refuse("must be 'passed', 'failed' or 'skipped'");
  }
  check_number_or_null(tier, "max_ratio");
}

void check_tiers(const Field& tiers) {
  tiers.object().each_member([](const std::string&, const Field& tier) { check_tier(tier); });
}

void check_worst_list(const Field& owner, int minor) {
  if (const auto worst = owner.find("worst")) {
    worst->array().each([&](const Field& element) { check_worst(element, minor); });
  }
}

void check_distribution(const Field& field, int minor) {
  only_known(field, minor, {"tiers", "abs_max", "rel_l2", "worst"});
  check_tiers(field.at("tiers"));
  check_number_or_null(field, "abs_max");
  check_number_or_null(field, "rel_l2");
  check_worst_list(field, minor);
}

void check_probe(const Field& field, int minor) {
  only_known(field, minor, {"verdict", "max_ratio"});
  check_tier(field);
}

void check_signal(const Field& field, int minor) {
  only_known(field, minor, {"hard", "stat", "lse", "probes"});
  for (const char* tier : {"hard", "stat", "lse", "probes"}) check_number_or_null(field, tier);
}

void check_correctness(const Field& field, int minor) {
  only_known(field, minor,
             {"reference", "precision", "elements", "rows", "tiers", "nonfinite", "abs_max", "rel_l2", "distributions",
              "probes", "detectability", "worst"});
  (void)field.at("reference").nonempty();
  if (const auto precision = field.find("precision")) precision->object();
  (void)field.at("elements").integer(0);
  (void)field.at("rows").integer(0);
  check_tiers(field.at("tiers"));
  if (const auto nonfinite = field.find("nonfinite")) {
    only_known(*nonfinite, minor, {"got", "ref"});
    (void)nonfinite->at("got").integer(0);
    (void)nonfinite->at("ref").integer(0);
  }
  check_number_or_null(field, "abs_max");
  check_number_or_null(field, "rel_l2");
  const auto each_in = [&](std::string_view member, void (*check)(const Field&, int)) {
    if (const auto object = field.find(member)) {
      object->object().each_member([&](const std::string&, const Field& entry) { check(entry, minor); });
    }
  };
  each_in("distributions", check_distribution);
  each_in("probes", check_probe);
  each_in("detectability", check_signal);
  check_worst_list(field, minor);
}

void check_metamorphic(const Field& relation, int minor) {
  only_known(relation, minor, {"relation", "verdict", "message", "max_ratio", "bitwise"});
  (void)relation.at("relation").nonempty();
  const Field verdict = relation.at("verdict");
  const std::string& name = verdict.text();
  if (name != "passed" && name != "failed" && name != "skipped") {
    verdict.refuse("must be 'passed', 'failed' or 'skipped'");
  }
  (void)relation.at("message").text();
  check_number_or_null(relation, "max_ratio");
  if (const auto bitwise = relation.find("bitwise")) (void)bitwise->boolean();
}

void check_known_failure(const Field& field, int minor) {
  only_known(field, minor, {"reason", "source", "expires", "expired", "verdict"});
  for (const char* text : {"reason", "source", "expires", "verdict"}) (void)field.at(text).nonempty();
  (void)field.at("expired").boolean();
}

void read_findings(const Field& field, int minor, Case& result) {
  if (const auto locus = field.find("locus")) {
    only_known(*locus, minor, {"kind", "message"});
    result.locus = {locus->at("kind").nonempty(), locus->at("message").text()};
  }
  if (const auto relations = field.find("metamorphic")) {
    relations->array().each([&](const Field& relation) { check_metamorphic(relation, minor); });
  }
  if (const auto known = field.find("known_failure")) check_known_failure(*known, minor);
}

void check_safety(const Field& field, int minor) {
  only_known(field, minor, {"canary", "poison_left", "inputs_unchanged", "bitwise_repeats", "bitwise_equal"});
  if (const auto canary = field.find("canary")) (void)canary->nonempty();
  if (const auto poison = field.find("poison_left")) (void)poison->integer(0);
  if (const auto unchanged = field.find("inputs_unchanged")) (void)unchanged->boolean();
  if (const auto repeats = field.find("bitwise_repeats")) (void)repeats->integer(0);
  if (const auto equal = field.find("bitwise_equal")) (void)equal->boolean();
}

void read_samples(const Field& launches, Performance& performance) {
  launches.array(1).each([&](const Field& launch) {
    std::vector<double>& samples = performance.launch_samples_ns.emplace_back();
    samples.reserve(launch.array(1).json().size());
    launch.each([&](const Field& sample) { samples.push_back(sample.above_zero()); });
  });
}

/// The median must come from the samples beside it: whoever edits one by hand has to be told.
void check_median(const Field& median, const Performance& performance) {
  double low = performance.launch_samples_ns.front().front();
  double high = low;
  for (const auto& launch : performance.launch_samples_ns) {
    const auto [least, most] = std::minmax_element(launch.begin(), launch.end());
    low = std::min(low, *least);
    high = std::max(high, *most);
  }
  if (performance.median_ns < low || performance.median_ns > high) median.refuse("must lie within launch_samples_ns");
}

void read_interval(const Field& interval, Performance& performance) {
  interval.array(2, 2);
  const Json& bounds = interval.json();
  interval.each([](const Field& bound) { (void)bound.above_zero(); });
  performance.ci95_low_ns = bounds[0].get<double>();
  performance.ci95_high_ns = bounds[1].get<double>();
  if (performance.ci95_low_ns > performance.ci95_high_ns) interval.refuse("must be in ascending order");
}

CeilingShare read_share(const Field& field, int minor) {
  only_known(field, minor, {"bound", "name", "percent"});
  return {field.at("bound").nonempty(), field.at("name").nonempty(), field.at("percent").at_least_zero()};
}

Performance read_performance(const Field& field, int minor) {
  only_known(field, minor,
             {"timer", "cache", "launch_samples_ns", "median_ns", "ci95_ns", "bytes", "flops", "tb_per_s",
              "tflop_per_s", "ceiling", "stages_ns"});
  Performance performance;
  performance.timer = field.at("timer").nonempty();
  performance.cache = field.at("cache").nonempty();
  read_samples(field.at("launch_samples_ns"), performance);
  const Field median = field.at("median_ns");
  performance.median_ns = median.above_zero();
  check_median(median, performance);
  read_interval(field.at("ci95_ns"), performance);
  performance.bytes = field.at("bytes").at_least_zero();
  performance.flops = field.at("flops").at_least_zero();
  performance.tb_per_s = field.at("tb_per_s").at_least_zero();
  performance.tflop_per_s = field.at("tflop_per_s").at_least_zero();
  if (const auto ceiling = field.find("ceiling")) performance.ceiling = read_share(*ceiling, minor);
  if (const auto stages = field.find("stages_ns")) {
    stages->array().each([&](const Field& stage) {
      only_known(stage, minor, {"stage", "ns"});
      performance.stages.push_back({stage.at("stage").nonempty(), stage.at("ns").at_least_zero()});
    });
  }
  return performance;
}

std::vector<SuiteName> read_suites(const Field& field, int minor) {
  std::vector<SuiteName> suites;
  field.array().each([&](const Field& suite) {
    only_known(suite, minor, {"suite", "name", "source"});
    SuiteName& entry = suites.emplace_back();
    entry.suite = suite.at("suite").nonempty();
    if (const auto name = suite.find("name")) entry.name = name->text();
    if (const auto source = suite.find("source")) (void)source->text();
  });
  return suites;
}

Kernel read_kernel(const Field& field, int minor) {
  only_known(field, minor, {"name", "variant", "digest"});
  return {field.at("name").text(), field.at("variant").text(), field.at("digest").text()};
}

void check_axes(const Field& axes) {
  axes.object().each_member([](const std::string&, const Field& axis) {
    if (axis.json().is_structured()) axis.refuse("must be a string, a number, true, false or null");
    if (axis.json().is_number()) (void)axis.number();
  });
}

Verdict read_verdict(const Field& field) {
  const auto verdict = verdict_from(field.text());
  if (!verdict) field.refuse("must be one of the nine verdicts passed, failed, mistrusted, skipped, ...");
  return *verdict;
}

void read_reason(const Field& field, int minor, Case& report_case) {
  if (const auto reason = field.find("reason")) {
    only_known(*reason, minor, {"kind", "message"});
    report_case.reason = Reason{reason->at("kind").nonempty(), reason->at("message").text()};
    return;
  }
  if (report_case.verdict != Verdict::passed && report_case.verdict != Verdict::unexpected_pass) {
    field.at("verdict").refuse("needs a member 'reason' beside it with kind and message");
  }
}

void check_key(const Field& field, Case& report_case) {
  const Field key = field.at("key");
  report_case.key = key.nonempty();
  const std::string_view whole = report_case.key;
  const std::string& problem = report_case.problem;
  const std::string& provider = report_case.provider;
  if (whole.size() != problem.size() + 2 + provider.size() || !whole.starts_with(problem) ||
      whole.substr(problem.size(), 2) != " @" || !whole.ends_with(provider)) {
    key.refuse("must be the problem, ' @' and the provider of its case");
  }
}

Case read_case(const Field& field, int minor) {
  only_known(field, minor,
             {"key", "repro", "problem", "provider", "device", "suites", "kernel", "axes", "input_digest", "verdict",
              "reason", "locus", "metamorphic", "known_failure", "correctness", "safety", "performance", "elapsed_ms"});
  Case result;
  result.problem = field.at("problem").nonempty();
  result.provider = field.at("provider").nonempty();
  check_key(field, result);
  result.repro = field.at("repro").nonempty();
  result.device = field.at("device").nonempty();
  result.suites = read_suites(field.at("suites"), minor);
  if (const auto kernel = field.find("kernel")) result.kernel = read_kernel(*kernel, minor);
  check_axes(field.at("axes"));
  if (const auto digest = field.find("input_digest")) result.input_digest = digest->text();
  result.verdict = read_verdict(field.at("verdict"));
  read_reason(field, minor, result);
  read_findings(field, minor, result);
  if (const auto correctness = field.find("correctness")) check_correctness(*correctness, minor);
  if (const auto safety = field.find("safety")) check_safety(*safety, minor);
  if (const auto performance = field.find("performance")) {
    if (result.verdict != Verdict::passed) performance->refuse("only a passed case has a performance");
    result.performance = read_performance(*performance, minor);
  }
  if (const auto elapsed = field.find("elapsed_ms")) {
    elapsed->object().each_member([&](const std::string& stage, const Field& time) {
      result.elapsed_ms.emplace_back(stage, time.at_least_zero());
    });
  }
  return result;
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

Case parse_case(const Json& document, const Json& value, int minor) {
  return read_case(Field::within(document, value), minor);
}

}  // namespace detail

Report parse_report(Json document) {
  using detail::Field;
  Report report = detail::parse_header(document, detail::HeaderOf::report);
  const Field root(document);
  std::set<std::string_view> keys;
  const Field cases = root.at("cases").array();
  report.cases.reserve(cases.json().size());
  cases.each([&](const Field& field) {
    report.cases.push_back(detail::read_case(field, report.minor));
    const Case& added = report.cases.back();
    // Room was reserved, so no case moves and the views in `keys` stay good.
    if (!keys.insert(added.key).second) field.at("key").refuse("two cases of one report have this key");
    report.counts.add(added.verdict);
  });
  const Field summary = root.at("summary");
  detail::check_counts(summary, report.minor, report.counts);
  report.elapsed_s = summary.at("elapsed_s").at_least_zero();
  report.provider_ratios = detail::read_ratios(summary.at("provider_ratios"), report.minor);

  Json& parts = document["cases"];
  for (std::size_t i = 0; i < report.cases.size(); ++i) report.cases[i].json = std::move(parts[i]);
  return report;
}

}  // namespace mla::reports
