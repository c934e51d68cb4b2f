#include "reports/history/detail/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

namespace mla::reports::detail {

void Database::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void Database::fail(std::string_view doing) const {
  throw SqliteError(fmt::format("{}: {}", doing, sqlite3_errmsg(handle_.get())));
}

Database::Database(const std::filesystem::path& path) {
  sqlite3* handle = nullptr;
  const std::string name = path.empty() ? ":memory:" : path.string();
  const int result = sqlite3_open_v2(name.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  handle_.reset(handle);
  if (result != SQLITE_OK) fail(name);
  // Two commands may look at one directory at the same time.
  sqlite3_busy_timeout(handle, 10'000);
}

void Database::execute(const std::string& statements) {
  if (sqlite3_exec(handle_.get(), statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(statements);
}

std::int64_t Database::integer(const std::string& query) {
  Statement statement(*this, query);
  return statement.step() ? statement.integer(0) : 0;
}

std::int64_t Database::last_row() const {
  return sqlite3_last_insert_rowid(handle_.get());
}

Statement::Statement(Database& database, std::string_view sql) : database_(database) {
  sqlite3_stmt* handle = nullptr;
  const int result =
      sqlite3_prepare_v2(database.handle_.get(), sql.data(), static_cast<int>(sql.size()), &handle, nullptr);
  handle_.reset(handle);
  if (result != SQLITE_OK) database.fail(sql);
}

bool Statement::step() {
  const int result = sqlite3_step(handle_.get());
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) database_.fail(sqlite3_sql(handle_.get()));
  return false;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(handle_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), column));
  return text == nullptr ? std::string()
                         : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column)));
}

void Statement::reset() {
  sqlite3_reset(handle_.get());
}

void Statement::bind_one(int index, std::int64_t value) {
  if (sqlite3_bind_int64(handle_.get(), index, value) != SQLITE_OK) database_.fail("bind");
}

void Statement::bind_one(int index, double value) {
  if (sqlite3_bind_double(handle_.get(), index, value) != SQLITE_OK) database_.fail("bind");
}

void Statement::bind_one(int index, const std::string& value) {
  const auto bytes = static_cast<int>(value.size());
  if (sqlite3_bind_text(handle_.get(), index, value.data(), bytes, SQLITE_TRANSIENT) != SQLITE_OK) {
    database_.fail("bind");
  }
}

}  // namespace mla::reports::detail
