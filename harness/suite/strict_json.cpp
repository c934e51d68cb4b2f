#include "harness/suite/strict_json.hpp"

#include <fstream>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "harness/core/error.hpp"

namespace mla::harness {

namespace {

using nlohmann::json;

// Builds the document while it is read: the library's own builder keeps the last of two equal keys without a word.
class StrictBuilder : public nlohmann::json_sax<json> {
 public:
  StrictBuilder(const std::string& file, int depth) : file_(file), depth_(static_cast<std::size_t>(depth)) {}

  [[nodiscard]] json take() { return std::move(root_); }

  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override { return add(value) != nullptr; }
  bool string(string_t& value) override { return add(std::move(value)) != nullptr; }
  bool binary(binary_t& value) override { return add(std::move(value)) != nullptr; }

  bool start_object(std::size_t) override { return open(json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Open& object = open_.back();
    if (!object.keys.insert(name).second) {
      throw UsageError(fmt::format("{}: {}/", file_, pointer()), name, "the key is given twice in one object");
    }
    object.key = name;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    // The library's text starts with its own exception name in brackets, of no use to a reader.
    std::string reason = error.what();
    if (const std::size_t bracket = reason.find("] "); bracket != std::string::npos) reason.erase(0, bracket + 2);
    constexpr std::size_t kLongest = 160;
    if (reason.size() > kLongest) reason = reason.substr(0, kLongest) + "...";
    for (char& c : reason) {
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
    }
    throw UsageError(fmt::format("{}: byte {}: not strict JSON: {}", file_, position, reason));
  }

 private:
  struct Open {
    json* value;
    std::string key;
    std::set<std::string> keys;
  };

  template <class Value>
  json* add(Value&& value) {
    if (open_.empty()) {
      root_ = std::forward<Value>(value);
      return &root_;
    }
    Open& parent = open_.back();
    if (parent.value->is_array()) {
      parent.value->push_back(std::forward<Value>(value));
      return &parent.value->back();
    }
    json& slot = (*parent.value)[parent.key];
    slot = std::forward<Value>(value);
    return &slot;
  }

  bool open(json container) {
    if (open_.size() >= depth_) {
      throw UsageError(fmt::format("{}: {}: nested deeper than the {} levels allowed", file_,
                                   pointer().substr(0, 40) + "...", depth_));
    }
    json* value = add(std::move(container));
    open_.push_back({value, {}, {}});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  [[nodiscard]] std::string pointer() const {
    std::string text;
    for (std::size_t level = 0; level + 1 < open_.size(); ++level) {
      const Open& container = open_[level];
      text += container.value->is_array() ? fmt::format("/{}", container.value->size() - 1) : "/" + container.key;
    }
    return text;
  }

  const std::string& file_;
  std::size_t depth_;
  json root_;
  std::vector<Open> open_;
};

}  // namespace

std::string read_file(const std::filesystem::path& path, std::size_t bytes) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw UsageError("file", path.string(), "it is a directory");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw UsageError("file", path.string(), "it does not exist or cannot be read");
  std::string text;
  std::vector<char> block(std::size_t{1} << 16);
  // Read, not asked for its size: a pipe has none, and a file may grow.
  while (stream.read(block.data(), static_cast<std::streamsize>(block.size())) || stream.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > bytes) {
      throw UsageError("file", path.string(), fmt::format("it is larger than the {} bytes allowed", bytes));
    }
  }
  if (stream.bad()) throw UsageError("file", path.string(), "reading it failed");
  return text;
}

json parse_strict_json(std::string_view text, const std::string& file, JsonLimits limits) {
  if (text.size() > limits.bytes) {
    throw UsageError("file", file, fmt::format("it is larger than the {} bytes allowed", limits.bytes));
  }
  StrictBuilder builder(file, limits.depth);
  json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

json read_strict_json(const std::filesystem::path& path, JsonLimits limits) {
  return parse_strict_json(read_file(path, limits.bytes), path.string(), limits);
}

}  // namespace mla::harness
