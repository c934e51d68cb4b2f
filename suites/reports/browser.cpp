#include "suites/reports/browser.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

namespace mla::suites {
namespace {

constexpr int kSilenceMs = 60'000;

std::string decoded(const std::string& base64) {
  std::string bytes;
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : base64) {
    static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t digit = digits.find(c);
    if (digit == std::string_view::npos) break;
    group = group << 6U | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(group >> static_cast<unsigned>(bits) & 255U);
    }
  }
  return bytes;
}

/// In the child: the browser reads commands from descriptor 3 and answers on 4.
[[noreturn]] void become(const std::filesystem::path& program, const std::string& profile, int commands, int answers) {
  ::setpgid(0, 0);
  // Moved away first: either may be 3 or 4 itself.
  const int in = ::fcntl(commands, F_DUPFD, 10);
  const int out = ::fcntl(answers, F_DUPFD, 10);
  ::dup2(in, 3);
  ::dup2(out, 4);
  const int silent = ::open("/dev/null", O_RDWR);
  for (const int descriptor : {0, 1, 2}) ::dup2(silent, descriptor);
  const std::string directory = "--user-data-dir=" + profile;
  // The pages are the tests' own, so that no sandbox is needed: it would refuse to start as root or in a container.
  ::execl(program.c_str(), program.c_str(), "--headless=new", "--remote-debugging-pipe", "--no-sandbox",
          "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
          "--disable-background-networking", "--force-color-profile=srgb", directory.c_str(), "about:blank", nullptr);
  ::_exit(127);
}

}  // namespace

std::optional<std::filesystem::path> Browser::program() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
      const std::filesystem::path candidate = std::filesystem::path(folder) / name;
      if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    }
  }
  return std::nullopt;
}

Browser::Browser(const std::filesystem::path& program) {
  std::array<int, 2> commands{};
  std::array<int, 2> answers{};
  if (::pipe2(commands.data(), O_CLOEXEC) != 0 || ::pipe2(answers.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe");
  }
  const std::string profile = (profile_ / "profile").string();
  process_ = ::fork();
  if (process_ == 0) become(program, profile, commands[0], answers[1]);
  ::close(commands[0]);
  ::close(answers[1]);
  to_ = commands[1];
  from_ = answers[0];
  const Json target = call("Target.createTarget", {{"url", "about:blank"}});
  session_ = call("Target.attachToTarget", {{"targetId", target["targetId"]}, {"flatten", true}})["sessionId"];
  for (const char* domain : {"Page", "Runtime", "Log", "Network"}) call(fmt::format("{}.enable", domain));
  size(1440, 900);
}

Browser::~Browser() {
  ::close(to_);
  ::close(from_);
  // Its renderers are in its group.
  ::kill(-process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

Json Browser::receive() {
  std::size_t end = 0;
  while ((end = received_.find('\0')) == std::string::npos) {
    pollfd ready{from_, POLLIN, 0};
    std::array<char, 65536> buffer{};
    if (::poll(&ready, 1, kSilenceMs) <= 0) throw std::runtime_error("the browser does not answer");
    const ssize_t count = ::read(from_, buffer.data(), buffer.size());
    if (count <= 0) throw std::runtime_error("the browser has ended");
    received_.append(buffer.data(), static_cast<std::size_t>(count));
  }
  Json message = Json::parse(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(end));
  received_.erase(0, end + 1);
  return message;
}

void Browser::note(const Json& event) {
  const std::string method = event.value("method", "");
  const Json parameters = event.value("params", Json::object());
  if (method == "Page.loadEventFired") loaded_ = true;
  if (method == "Runtime.exceptionThrown") complaints_.push_back(parameters["exceptionDetails"].dump());
  if (method == "Log.entryAdded") complaints_.push_back(parameters["entry"]["text"]);
  if (method == "Runtime.consoleAPICalled" && (parameters["type"] == "error" || parameters["type"] == "warning")) {
    complaints_.push_back(parameters["args"].dump());
  }
  if (method == "Network.requestWillBeSent") {
    const std::string url = parameters["request"]["url"];
    if (!url.starts_with("data:") && url.substr(0, url.find('#')) != page_) requests_.push_back(url);
  }
}

Json Browser::call(const std::string& method, Json parameters) {
  Json command = {{"id", ++calls_}, {"method", method}, {"params", std::move(parameters)}};
  if (!session_.empty()) command["sessionId"] = session_;
  const std::string text = command.dump() + '\0';
  if (::write(to_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("the browser takes no commands");
  }
  for (;;) {
    Json message = receive();
    if (!message.contains("id")) {
      note(message);
    } else if (message["id"] == calls_) {
      if (message.contains("error")) throw std::runtime_error(fmt::format("{}: {}", method, message["error"].dump()));
      return message["result"];
    }
  }
}

void Browser::open(const std::filesystem::path& page, std::string_view fragment) {
  // A page that differs in its fragment alone would not load again.
  call("Page.navigate", {{"url", "about:blank"}});
  page_ = "file://" + page.string();
  complaints_.clear();
  requests_.clear();
  loaded_ = false;
  call("Page.navigate", {{"url", fmt::format("{}{}{}", page_, fragment.empty() ? "" : "#", fragment)}});
  while (!loaded_ || evaluate("location.href.startsWith('file:') && document.readyState") != "complete") {
    if (!loaded_) note(receive());
  }
}

Json Browser::evaluate(const std::string& expression) {
  const Json result =
      call("Runtime.evaluate",
           {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}, {"userGesture", true}});
  if (result.contains("exceptionDetails")) throw std::runtime_error(result["exceptionDetails"].dump());
  return result["result"].value("value", Json());
}

bool Browser::becomes_true(const std::string& expression) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    if (evaluate(fmt::format("Boolean({})", expression)) == true) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  return false;
}

void Browser::press(const std::string& key) {
  Json down = {{"type", "keyDown"}, {"key", key}, {"code", key}};
  if (key.size() == 1) down["text"] = key;
  if (key == "Enter") down["text"] = "\r";
  call("Input.dispatchKeyEvent", down);
  call("Input.dispatchKeyEvent", {{"type", "keyUp"}, {"key", key}, {"code", key}});
}

void Browser::type(const std::string& text) {
  call("Input.insertText", {{"text", text}});
}

void Browser::size(int width, int height) {
  call("Emulation.setDeviceMetricsOverride",
       {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", false}});
}

void Browser::dark(bool on) {
  call("Emulation.setEmulatedMedia",
       {{"features", Json::array({{{"name", "prefers-color-scheme"}, {"value", on ? "dark" : "light"}}})}});
}

void Browser::screenshot(const std::filesystem::path& png) {
  put(png, decoded(call("Page.captureScreenshot", {{"format", "png"}})["data"]));
}

}  // namespace mla::suites
