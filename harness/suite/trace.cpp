#include "harness/suite/trace.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <istream>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "harness/core/error.hpp"
#include "harness/suite/json_node.hpp"
#include "harness/suite/strict_json.hpp"

namespace mla::harness {

namespace {

constexpr std::int64_t kMostTokens = 100'000'000;
constexpr double kLatestMs = 1e15;

// Lines of a file with their numbers. Reads no more of a line than a real one can have.
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& path) : path_(path), stream_(path, std::ios::binary) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) throw UsageError("trace", path.string(), "it is a directory");
    if (!stream_) throw UsageError("trace", path.string(), "it does not exist or cannot be read");
  }

  // The next line that is not blank, without its line end; false at the end of the file.
  bool next(std::string_view& line) {
    do {
      if (!stream_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size())) && stream_.gcount() == 0) {
        return false;
      }
      ++number_;
      if (stream_.fail() && !stream_.eof()) {
        throw UsageError(place(), std::string_view(buffer_.data()),
                         fmt::format("a line has at most {} bytes", buffer_.size() - 2));
      }
      line = std::string_view(buffer_.data());
      if (number_ == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
      if (line.ends_with('\r')) line.remove_suffix(1);
    } while (line.empty());
    return true;
  }

  [[nodiscard]] std::string place() const { return fmt::format("{}:{}", path_.string(), number_); }

 private:
  std::filesystem::path path_;
  std::ifstream stream_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 20);
  std::size_t number_ = 0;
};

TraceRequest parse_mooncake(std::string_view line, const std::string& place) {
  const nlohmann::json document = parse_strict_json(line, place);
  const JsonNode row(document, place);
  return {row.at("timestamp").real(0, kLatestMs), row.at("input_length").integer(0, kMostTokens),
          row.at("output_length").integer(0, kMostTokens)};
}

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = line.find(separator);
    parts.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return parts;
    line.remove_prefix(end + 1);
  }
}

// Where the three columns stand in an Azure file.
struct AzureColumns {
  std::array<std::size_t, 3> index;  // TIMESTAMP, ContextTokens, GeneratedTokens
  std::size_t count;
};

constexpr std::array<std::string_view, 3> kAzureNames = {"TIMESTAMP", "ContextTokens", "GeneratedTokens"};

AzureColumns parse_azure_header(std::string_view line, const std::string& place) {
  const std::vector<std::string_view> names = split(line, ',');
  AzureColumns columns{{}, names.size()};
  for (std::size_t i = 0; i < kAzureNames.size(); ++i) {
    const auto found = std::find(names.begin(), names.end(), kAzureNames[i]);
    if (found == names.end()) throw UsageError(place, line, fmt::format("the column {} is needed", kAzureNames[i]));
    columns.index[i] = static_cast<std::size_t>(found - names.begin());
  }
  return columns;
}

// Reads a number of fixed width and the separator after it; false where the text is anything else.
bool take_digits(std::string_view& text, std::size_t width, char separator, int& value) {
  if (text.size() < width) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + width, value);
  if (error != std::errc{} || end != text.data() + width || text[0] == '-') return false;
  text.remove_prefix(width);
  if (separator == '\0') return true;
  if (text.empty() || text[0] != separator) return false;
  text.remove_prefix(1);
  return true;
}

// "2023-11-16 18:17:03.9799600", or with "+00:00" as the 2024 traces have it, in ms since 1970.
double parse_time(std::string_view text, const std::string& place) {
  const auto refuse = [&, whole = text] [[noreturn]] () {
    throw UsageError(place + ": TIMESTAMP", whole, "'YYYY-MM-DD hh:mm:ss.fraction', UTC, is needed");
  };
  if (text.ends_with("+00:00")) text.remove_suffix(6);
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  const bool read = take_digits(text, 4, '-', year) && take_digits(text, 2, '-', month) &&
                    take_digits(text, 2, ' ', day) && take_digits(text, 2, ':', hour) &&
                    take_digits(text, 2, ':', minute) && take_digits(text, 2, '\0', second);
  if (!read || hour > 23 || minute > 59 || second > 60) refuse();
  double fraction = 0;
  if (!text.empty()) {
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), fraction, std::chars_format::fixed);
    if (text[0] != '.' || error != std::errc{} || end != text.data() + text.size()) refuse();
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) refuse();
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  const double seconds = static_cast<double>(days) * 86400 + hour * 3600 + minute * 60 + second;
  return (seconds + fraction) * 1000;
}

std::int64_t parse_tokens(std::string_view column, std::string_view text, const std::string& place) {
  std::int64_t tokens = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tokens);
  if (error != std::errc{} || end != text.data() + text.size() || tokens < 0 || tokens > kMostTokens) {
    throw UsageError(fmt::format("{}: {}", place, column), text,
                     fmt::format("an integer from 0 to {} is needed", kMostTokens));
  }
  return tokens;
}

TraceRequest parse_azure(std::string_view line, const AzureColumns& columns, const std::string& place) {
  const std::vector<std::string_view> cells = split(line, ',');
  if (cells.size() != columns.count) {
    throw UsageError(place, line,
                     fmt::format("{} columns are needed as in the header, not {}", columns.count, cells.size()));
  }
  return {parse_time(cells[columns.index[0]], place), parse_tokens(kAzureNames[1], cells[columns.index[1]], place),
          parse_tokens(kAzureNames[2], cells[columns.index[2]], place)};
}

void order_by_arrival(std::vector<TraceRequest>& requests) {
  std::stable_sort(requests.begin(), requests.end(),
                   [](const auto& a, const auto& b) { return a.arrival_ms < b.arrival_ms; });
  const double first = requests.front().arrival_ms;
  for (TraceRequest& request : requests) request.arrival_ms -= first;
}

}  // namespace

std::vector<TraceRequest> read_trace(const std::filesystem::path& path, std::size_t max_requests) {
  LineReader lines(path);
  std::string_view line;
  if (!lines.next(line)) throw UsageError("trace", path.string(), "the file is empty");
  std::vector<TraceRequest> requests;
  if (line.front() == '{') {
    do {
      requests.push_back(parse_mooncake(line, lines.place()));
    } while (requests.size() < max_requests && lines.next(line));
  } else {
    if (line.find(kAzureNames[0]) == std::string_view::npos) {
      throw UsageError(lines.place(), line, "a Mooncake object per line, or an Azure header with TIMESTAMP is needed");
    }
    const AzureColumns columns = parse_azure_header(line, lines.place());
    while (requests.size() < max_requests && lines.next(line)) {
      requests.push_back(parse_azure(line, columns, lines.place()));
    }
    if (requests.empty()) throw UsageError("trace", path.string(), "it has a header and no requests");
  }
  order_by_arrival(requests);
  return requests;
}

}  // namespace mla::harness
