#include "reports/dashboard/columns.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace mla::reports {
namespace {

Json packed(std::vector<Json> values) {
  std::unordered_map<std::string, std::size_t> place;
  Json distinct = Json::array();
  Json indices = Json::array();
  for (const Json& value : values) {
    const auto [at, added] = place.emplace(value.dump(-1, ' ', false, Json::error_handler_t::replace), distinct.size());
    if (added) distinct.push_back(value);
    indices.push_back(at->second);
  }
  if (distinct.size() == 1) return {{"all", distinct[0]}};
  if (2 * distinct.size() <= values.size()) return {{"of", std::move(distinct)}, {"at", std::move(indices)}};
  return Json(std::move(values));
}

}  // namespace

void Columns::set(std::string_view name, Json value) {
  auto column = std::find_if(columns_.begin(), columns_.end(), [&](const Column& known) { return known.name == name; });
  if (column == columns_.end()) column = columns_.insert(column, {std::string(name), {}});
  column->values.resize(rows_ - 1);
  column->values.push_back(std::move(value));
}

Json Columns::take() const {
  Json columns = Json::object();
  for (const Column& column : columns_) {
    std::vector<Json> values = column.values;
    values.resize(rows_);
    columns[column.name] = packed(std::move(values));
  }
  return {{"rows", rows_}, {"columns", std::move(columns)}};
}

std::string base64(std::span<const unsigned char> bytes) {
  static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8U | (k < count ? bytes[i + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k) text += k <= count ? digits[group >> (18 - 6 * k) & 63U] : '=';
  }
  return text;
}

}  // namespace mla::reports
