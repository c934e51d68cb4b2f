// A headless Chromium, driven over its debugging pipe, so that pages are tested as people use them.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "suites/reports/example_report.hpp"

namespace mla::suites {

class Browser {
 public:
  /// The program of a Chromium in PATH; none where there is none.
  [[nodiscard]] static std::optional<std::filesystem::path> program();

  /// Starts it. Throws std::runtime_error where it does not answer.
  explicit Browser(const std::filesystem::path& program);
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  /// Loads a file; returns when its scripts have run. `fragment` is what follows '#'. Complaints and requests start
  /// anew.
  void open(const std::filesystem::path& page, std::string_view fragment = "");
  /// Value of a JavaScript expression; a promise is awaited. Throws std::runtime_error with the text of an exception.
  [[nodiscard]] Json evaluate(const std::string& expression);
  /// The same until it is true, for what the page does later. False after a few seconds.
  [[nodiscard]] bool becomes_true(const std::string& expression);
  /// A key as the keyboard sends it: "ArrowDown", "Enter", "/".
  void press(const std::string& key);
  void type(const std::string& text);
  void size(int width, int height);
  void dark(bool on);
  void screenshot(const std::filesystem::path& png);

  /// Console errors and warnings, uncaught exceptions, refused requests.
  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }
  /// Addresses other than the page's own and data inside it.
  [[nodiscard]] const std::vector<std::string>& requests() const { return requests_; }

 private:
  Json call(const std::string& method, Json parameters = Json::object());
  /// The next message; throws after a minute of silence.
  Json receive();
  void note(const Json& event);

  TemporaryFolder profile_;
  pid_t process_ = -1;
  int to_ = -1;
  int from_ = -1;
  int calls_ = 0;
  std::string received_;
  std::string session_;
  std::string page_;
  bool loaded_ = false;
  std::vector<std::string> complaints_;
  std::vector<std::string> requests_;
};

}  // namespace mla::suites
