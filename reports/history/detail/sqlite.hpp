// The few calls of SQLite that the index needs, with their failures as exceptions and their resources owned.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace mla::reports::detail {

class SqliteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Database {
 public:
  /// Opens or creates the file; an empty path is a database in memory. Throws SqliteError.
  explicit Database(const std::filesystem::path& path);

  /// Runs statements without results.
  void execute(const std::string& statements);
  [[nodiscard]] std::int64_t integer(const std::string& query);
  [[nodiscard]] std::int64_t last_row() const;

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* database) const;
  };
  [[noreturn]] void fail(std::string_view doing) const;

  std::unique_ptr<sqlite3, Close> handle_;
};

/// A compiled statement. The database must outlive it.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);

  /// Sets the parameters from the first on, and starts anew.
  template <class... Values>
  Statement& bind(const Values&... values) {
    reset();
    int index = 0;
    (bind_one(++index, values), ...);
    return *this;
  }
  /// Goes to the next row; false after the last.
  bool step();
  /// For statements without rows.
  void run() {
    while (step()) {
    }
  }

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void reset();
  void bind_one(int index, std::int64_t value);
  void bind_one(int index, bool value) { bind_one(index, std::int64_t{value}); }
  void bind_one(int index, double value);
  void bind_one(int index, const std::string& value);

  Database& database_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

}  // namespace mla::reports::detail
