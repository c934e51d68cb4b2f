#include "reports/detail/strict_json.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "reports/detail/fast_json.hpp"
#include "reports/detail/text.hpp"
#include "reports/error.hpp"

namespace mla::reports::detail {
namespace {

/// Builds the document while parsing. nlohmann_json's own builder keeps the last of two equal members silently.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(std::size_t bytes) : bytes_(bytes) {}
  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { throw ReportError("binary values are no JSON"); }

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Json& object = *open_.back();
    if (object.size() >= kMaxMembers) {
      throw ReportError(fmt::format("{}: an object has at most {} members", pointer(), kMaxMembers));
    }
    const auto [member, inserted] = object.emplace(name, nullptr);
    if (!inserted) {
      throw ReportError(fmt::format("{}: member '{}' occurs twice", pointer(), shorten_middle(name, 60)));
    }
    member_ = &member.value();
    keys_.back() = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    const std::string_view what = error.what();
    // A text that was cut inside a string or a number is one too, whatever the parser makes of the rest of it.
    const bool at_end = position > bytes_ && !open_.empty();
    if (at_end || what.find("unexpected end of input") != std::string_view::npos) {
      throw ReportError(fmt::format("truncated: the JSON text ends at byte {} before it is complete", bytes_));
    }
    throw ReportError(fmt::format("not valid JSON at byte {}: {}", position, reason_of(what)));
  }

 private:
  /// nlohmann_json's message without its exception tag and position, which are given once already.
  static std::string reason_of(std::string_view what) {
    for (const std::string_view lead : {"] ", "parse error at ", ": "}) {
      if (const auto at = what.find(lead); at != std::string_view::npos && (lead != ": " || at < 40)) {
        what.remove_prefix(at + lead.size());
      }
    }
    return shorten_middle(what, 160);
  }

  [[nodiscard]] std::string pointer() const {
    std::string path;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      path += '/';
      path += open_[i]->is_array() ? std::to_string(open_[i]->size() - 1) : pointer_token(keys_[i]);
    }
    return path.empty() ? "/" : path;
  }

  /// Puts a value where the document expects the next one. Only ancestors of that place are in `open_`, and a container
  /// never moves while one of its descendants grows, so the pointers stay good.
  template <class Value>
  Json* place(Value&& value) {
    if (open_.empty()) {
      root_ = std::forward<Value>(value);
      return &root_;
    }
    if (open_.back()->is_array()) return &open_.back()->emplace_back(std::forward<Value>(value));
    *member_ = std::forward<Value>(value);
    return member_;
  }

  template <class Value>
  bool add(Value&& value) {
    place(std::forward<Value>(value));
    return true;
  }

  bool open(Json container) {
    if (open_.size() >= kMaxDepth) {
      throw ReportError(fmt::format("{}: nested deeper than {} levels", pointer(), kMaxDepth));
    }
    open_.push_back(place(std::move(container)));
    keys_.emplace_back();
    return true;
  }

  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  std::size_t bytes_;
  Json root_;
  Json* member_ = nullptr;         // value of the member named last
  std::vector<Json*> open_;        // containers around the current place, outermost first
  std::vector<std::string> keys_;  // for each of them the member named last, for messages
};

}  // namespace

std::string pointer_token(std::string_view key) {
  std::string token;
  for (const char c : key) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return token;
}

Json parse_strict(std::string_view text) {
  if (auto document = parse_fast(text)) return *std::move(document);
  Builder builder(text.size());
  Json::sax_parse(text.begin(), text.end(), &builder, nlohmann::detail::input_format_t::json, /*strict=*/true,
                  /*ignore_comments=*/false);
  return builder.take();
}

}  // namespace mla::reports::detail
