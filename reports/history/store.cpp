#include "reports/history/store.hpp"

#include <algorithm>
#include <deque>
#include <future>
#include <optional>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "reports/error.hpp"
#include "reports/history/accepted.hpp"
#include "reports/history/detail/sqlite.hpp"
#include "reports/load.hpp"

namespace mla::reports {
namespace {

namespace fs = std::filesystem;
using detail::Database;
using detail::SqliteError;
using detail::Statement;

/// Of the tables below and of what is written into them.
constexpr std::int64_t kIndexVersion = 1;

constexpr const char* kTables = R"(
CREATE TABLE report(id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, bytes INTEGER NOT NULL, changed INTEGER NOT NULL,
                    refused TEXT NOT NULL);
CREATE TABLE run(report INTEGER PRIMARY KEY, id TEXT, started_utc TEXT, fingerprint TEXT, host TEXT, device TEXT,
                 git_sha TEXT, git_branch TEXT, git_dirty INTEGER, complete INTEGER, counts TEXT);
CREATE TABLE test_case(id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, problem TEXT, provider TEXT, name TEXT);
CREATE TABLE point(report INTEGER, test_case INTEGER, verdict INTEGER, median_ns REAL, ci95_low_ns REAL, ci95_high_ns REAL,
                   PRIMARY KEY(report, test_case)) WITHOUT ROWID;
)";

/// What tells a file from another one of its name without reading it.
struct Stamp {
  std::int64_t bytes = 0;
  std::int64_t changed = 0;

  friend bool operator==(const Stamp&, const Stamp&) = default;
};

/// Paths below the directory, sorted: the index does not depend on the order in which the file system lists them.
std::vector<std::pair<fs::path, Stamp>> files_of(const fs::path& directory) {
  std::error_code error;
  fs::recursive_directory_iterator entries(directory, fs::directory_options::skip_permission_denied, error);
  if (error) throw ReportError(fmt::format("{}: {}", directory.string(), error.message()));
  std::vector<std::pair<fs::path, Stamp>> files;
  for (const fs::directory_entry& entry : entries) {
    if (entry.path().extension() != ".json" || entry.path().filename() == kAcceptedFile) continue;
    if (!entry.is_regular_file(error)) continue;
    const auto changed = entry.last_write_time(error).time_since_epoch().count();
    files.emplace_back(entry.path(), Stamp{static_cast<std::int64_t>(entry.file_size(error)), changed});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return files;
}

/// What the index keeps of one file.
struct Extract {
  std::string refused;  // why it is no report; empty where it is one
  HistoryRun run;
  struct Point {
    std::string key;
    std::string problem;
    std::string provider;
    std::string name;
    HistoryPoint point;
  };
  std::vector<Point> points;
};

Extract extract(const fs::path& path) {
  try {
    const Report report = load_report(path, CaseJson::drop);
    Extract result{.refused = {}, .run = history_run(path.string(), report), .points = {}};
    for (const Case& entry : report.cases) {
      result.points.push_back({entry.key, entry.problem, entry.provider, entry.short_name(), history_point(entry)});
    }
    return result;
  } catch (const ReportError& error) {
    // The message begins with the path, which the index keeps apart.
    return {.refused = std::string(error.what()).substr(path.string().size() + 2), .run = {}, .points = {}};
  }
}

std::string counts_text(const Counts& counts) {
  std::string text;
  for (const std::int64_t count : counts.by_verdict) text += fmt::format("{} ", count);
  return text;
}

Counts counts_from(const std::string& text) {
  Counts counts;
  std::size_t at = 0;
  for (std::int64_t& count : counts.by_verdict) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    for (; at < end; ++at) count = 10 * count + (text[at] - '0');
    counts.total += count;
    ++at;
  }
  return counts;
}

/// The database of one directory.
class Index {
 public:
  explicit Index(const fs::path& file) : database_(file) {
    database_.execute("PRAGMA synchronous=OFF");  // what a power cut damages is made anew
    const std::int64_t version = database_.integer("PRAGMA user_version");
    if (version == kIndexVersion) return;
    if (version != 0) throw SqliteError("written by another version");
    database_.execute("BEGIN IMMEDIATE");
    // Another process may have made them since the version was read.
    if (database_.integer("PRAGMA user_version") == 0) {
      database_.execute(kTables);
      database_.execute(fmt::format("PRAGMA user_version={}", kIndexVersion));
    }
    database_.execute("COMMIT");
  }

  IndexWork refresh(const fs::path& directory, const std::function<void(std::size_t, std::size_t)>& progress) {
    IndexWork work;
    const auto files = files_of(directory);
    std::unordered_map<std::string, std::pair<std::int64_t, Stamp>> known;
    Statement select(database_, "SELECT id, path, bytes, changed FROM report");
    while (select.step()) {
      known.emplace(select.text(1), std::pair{select.integer(0), Stamp{select.integer(2), select.integer(3)}});
    }
    std::vector<std::pair<fs::path, Stamp>> fresh;
    for (const auto& [path, stamp] : files) {
      const auto at = known.find(fs::relative(path, directory).string());
      const bool same = at != known.end() && at->second.second == stamp;
      work.kept += same ? 1 : 0;
      if (!same) fresh.emplace_back(path, stamp);
      if (same) known.erase(at);
    }
    // What is left is gone or has changed; a changed one is read again below.
    if (!known.empty()) {
      database_.execute("BEGIN IMMEDIATE");
      for (const auto& [path, entry] : known) remove(entry.first);
      database_.execute("COMMIT");
    }
    work.read = fresh.size();
    work.removed = known.size();
    read(directory, fresh, progress);
    return work;
  }

  void add_to(HistoryBuilder& builder, const fs::path& directory) {
    std::unordered_map<std::int64_t, std::size_t> number;
    Statement cases(database_, "SELECT id, key, problem, provider, name FROM test_case");
    while (cases.step()) {
      number[cases.integer(0)] = builder.case_number(cases.text(1), cases.text(2), cases.text(3), cases.text(4));
    }
    Statement refused(database_, "SELECT path, refused FROM report WHERE refused <> '' ORDER BY path");
    while (refused.step()) builder.skip((directory / refused.text(0)).string() + ": " + refused.text(1));
    Statement runs(
        database_,
        "SELECT report.id, path, run.id, started_utc, fingerprint, host, device, git_sha, git_branch, git_dirty, "
        "complete, counts FROM report JOIN run ON run.report = report.id ORDER BY path");
    Statement points(database_,
                     "SELECT test_case, verdict, median_ns, ci95_low_ns, ci95_high_ns FROM point WHERE report = ?");
    while (runs.step()) {
      std::vector<HistoryBuilder::Case> list;
      points.bind(runs.integer(0));
      while (points.step()) {
        list.emplace_back(number.at(points.integer(0)),
                          HistoryPoint{static_cast<Verdict>(points.integer(1)), static_cast<float>(points.real(2)),
                                       static_cast<float>(points.real(3)), static_cast<float>(points.real(4))});
      }
      builder.add({.path = (directory / runs.text(1)).string(),
                   .id = runs.text(2),
                   .started_utc = runs.text(3),
                   .fingerprint = runs.text(4),
                   .host = runs.text(5),
                   .device = runs.text(6),
                   .git_sha = runs.text(7),
                   .git_branch = runs.text(8),
                   .git_dirty = runs.integer(9) != 0,
                   .complete = runs.integer(10) != 0,
                   .counts = counts_from(runs.text(11))},
                  std::move(list));
    }
  }

 private:
  /// Parsing takes the time: it runs on all cores, a few files ahead of the database.
  void read(const fs::path& directory, const std::vector<std::pair<fs::path, Stamp>>& files,
            const std::function<void(std::size_t, std::size_t)>& progress) {
    static constexpr std::size_t kReportsAtOnce = 8;  // one with its document takes some ten times its file in memory
    const std::size_t ahead = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kReportsAtOnce);
    std::deque<std::future<Extract>> pending;
    std::size_t next = 0;
    for (std::size_t done = 0; done < files.size(); ++done) {
      for (; next < files.size() && pending.size() < ahead; ++next) {
        pending.push_back(std::async(std::launch::async, extract, files[next].first));
      }
      const Extract extracted = pending.front().get();
      pending.pop_front();
      // One transaction a report: interrupted, the index keeps what was read.
      database_.execute("BEGIN IMMEDIATE");
      write(fs::relative(files[done].first, directory).string(), files[done].second, extracted);
      database_.execute("COMMIT");
      if (progress) progress(done + 1, files.size());
    }
  }

  void write(const std::string& path, const Stamp& stamp, const Extract& extracted) {
    // Another process may have come first.
    Statement old(database_, "SELECT id FROM report WHERE path = ?");
    old.bind(path);
    if (old.step()) remove(old.integer(0));
    Statement(database_, "INSERT INTO report(path, bytes, changed, refused) VALUES(?, ?, ?, ?)")
        .bind(path, stamp.bytes, stamp.changed, extracted.refused)
        .run();
    if (!extracted.refused.empty()) return;
    const std::int64_t id = database_.last_row();
    const HistoryRun& run = extracted.run;
    Statement(database_, "INSERT INTO run VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(id, run.id, run.started_utc, run.fingerprint, run.host, run.device, run.git_sha, run.git_branch,
              run.git_dirty, run.complete, counts_text(run.counts))
        .run();
    Statement add_point(database_, "INSERT INTO point VALUES(?, ?, ?, ?, ?, ?)");
    for (const Extract::Point& entry : extracted.points) {
      add_point
          .bind(id, case_id(entry), static_cast<std::int64_t>(*entry.point.verdict),
                static_cast<double>(entry.point.median_ns), static_cast<double>(entry.point.ci95_low_ns),
                static_cast<double>(entry.point.ci95_high_ns))
          .run();
    }
  }

  std::int64_t case_id(const Extract::Point& entry) {
    if (const auto known = case_ids_.find(entry.key); known != case_ids_.end()) return known->second;
    Statement(database_, "INSERT OR IGNORE INTO test_case(key, problem, provider, name) VALUES(?, ?, ?, ?)")
        .bind(entry.key, entry.problem, entry.provider, entry.name)
        .run();
    Statement select(database_, "SELECT id FROM test_case WHERE key = ?");
    select.bind(entry.key).step();
    return case_ids_[entry.key] = select.integer(0);
  }

  void remove(std::int64_t report) {
    for (const char* table : {"point WHERE report", "run WHERE report", "report WHERE id"}) {
      Statement(database_, fmt::format("DELETE FROM {} = ?", table)).bind(report).run();
    }
  }

  Database database_;
  std::unordered_map<std::string, std::int64_t> case_ids_;
};

IndexWork index_directory(HistoryBuilder& builder, const fs::path& directory, const fs::path& file,
                          const std::function<void(std::size_t, std::size_t)>& progress) {
  Index index(file);
  const IndexWork work = index.refresh(directory, progress);
  // Only a whole directory counts: a damaged index may fail half-way.
  HistoryBuilder whole = builder;
  index.add_to(whole, directory);
  builder = std::move(whole);
  return work;
}

}  // namespace

IndexWork add_directory(HistoryBuilder& builder, const fs::path& directory,
                        const std::function<void(std::size_t, std::size_t)>& progress) {
  const fs::path file = directory / kIndexFile;
  for (const bool again : {false, true}) {
    // A second failure is not the old index's fault: a directory that cannot be written, or a full disk.
    try {
      if (again) fs::remove(file);
      return index_directory(builder, directory, file, progress);
    } catch (const SqliteError&) {
    } catch (const fs::filesystem_error&) {
    }
  }
  IndexWork work = index_directory(builder, directory, {}, progress);
  work.written = false;
  return work;
}

}  // namespace mla::reports
