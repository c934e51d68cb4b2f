// The dashboard in a browser, used as people use it.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/compare.hpp"
#include "reports/dashboard/dashboard.hpp"
#include "reports/history/history.hpp"
#include "reports/history/trend.hpp"
#include "suites/reports/browser.hpp"
#include "suites/reports/example_report.hpp"

namespace mla::suites {
namespace {

using reports::History;
using ::testing::IsEmpty;

constexpr const char* kViews[] = {"overview", "cases", "trends", "compare", "machine"};

/// A report of `count` cases of two providers, one of each verdict among them.
Json report_of(int count, double faster = 1) {
  std::vector<Json> cases;
  for (int i = 0; i < count; ++i) {
    const bool eigen = i % 2 == 0;
    const int b = 1 + i / 2;
    const double ns = 1e5 * (1 + i % 37) * (i % 5 == 0 ? faster : 1);
    Json entry = timed_case(fmt::format("decode:b={},kv={}", b, 512 << (b % 6)), eigen ? "eigen" : "torch",
                            example_performance(ns, 6));
    entry["suites"][0]["name"] = fmt::format("model-{}/b={}", b % 7, b);
    entry["axes"]["b"] = b;
    entry["axes"]["kv_max"] = 512 << (b % 6);
    cases.push_back(std::move(entry));
  }
  for (const Verdict verdict : reports::kVerdicts) {
    if (verdict != Verdict::passed)
      cases.push_back(
          example_case(fmt::format("decode:h={},b=3,kv=8192+1+17", cases.size() % 128 + 1), "eigen", verdict));
  }
  return example_report(cases);
}

/// `runs` nights of the cases of `report`; every seventh case is 6 % slower from three quarters on.
History history_of(const reports::Report& report, std::size_t runs) {
  std::mt19937 random(11);
  std::normal_distribution<float> noise(0, 0.006F);
  History history;
  auto& group = history.groups.emplace_back();
  group.fingerprint = report.environment.fingerprint;
  for (std::size_t run = 0; run < runs; ++run) {
    group.runs.push_back(
        {.path = fmt::format("{}.json", run),
         .id = fmt::format("night-{}", run),
         .started_utc = fmt::format("20{:02}-{:02}-{:02}T01:02:03Z", 23 + run / 336, 1 + run / 28 % 12, 1 + run % 28),
         .fingerprint = group.fingerprint,
         .host = "node7",
         .device = "AMD EPYC",
         .git_sha = fmt::format("{:040x}", 0x1234567 * (run + 1)),
         .git_branch = "main",
         .git_dirty = false,
         .complete = true,
         .counts = report.counts});
  }
  int number = 0;
  for (const auto& entry : report.cases) {
    auto& added = group.cases.emplace_back();
    added.key = entry.key;
    added.problem = entry.problem;
    added.provider = entry.provider;
    added.name = entry.short_name();
    const float level = entry.performance ? static_cast<float>(entry.performance->median_ns) : 0;
    for (std::size_t run = 0; run < runs; ++run) {
      const bool slow = number % 7 == 3 && run >= runs * 3 / 4;
      const float ns = level * (slow ? 1.06F : 1.0F) * std::exp(noise(random));
      added.points.push_back({entry.verdict, ns, 0.996F * ns, 1.004F * ns});
    }
    added.trend = reports::trend_of(added.points, 0.02);
    ++number;
  }
  return history;
}

class Page : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto program = Browser::program();
    // The reason is part of the test's contract: a machine without a browser shows a skip, never a pass.
    if (!program) GTEST_SKIP() << "no_browser: neither chromium nor google-chrome is in PATH";
    browser_ = std::make_unique<Browser>(*program);
  }

  std::filesystem::path write(const std::string& html) {
    put(folder_ / "page.html", html);
    return folder_ / "page.html";
  }
  std::filesystem::path write_full(std::size_t runs = 40) {
    const auto report = reports::parse_report(report_of(60, 0.9));
    const auto base = reports::parse_report(report_of(60));
    const History history = history_of(report, runs);
    const auto comparison = reports::compare(base, report, {.base_name = "base.json", .next_name = "new.json"});
    return write(reports::dashboard_html(report, {.comparison = &comparison, .history = &history}));
  }
  void expect_no_complaint(const std::string& where) {
    EXPECT_THAT(browser_->complaints(), IsEmpty()) << where;
    EXPECT_THAT(browser_->requests(), IsEmpty()) << where;
  }
  /// Every view as a picture, where someone asked for them.
  void keep_pictures(const std::string& colours) {
    const char* directory = std::getenv("MLA_SCREENSHOTS");
    if (directory == nullptr) return;
    std::filesystem::create_directories(directory);
    for (const char* view : kViews) {
      browser_->open(folder_ / "page.html", view);
      (void)settles("document.fonts.status === 'loaded'");
      browser_->screenshot(std::filesystem::path(directory) / fmt::format("{}-{}.png", view, colours));
    }
  }
  Json ask(const std::string& expression) { return browser_->evaluate(expression); }
  bool settles(const std::string& expression) { return browser_->becomes_true(expression); }

  TemporaryFolder folder_;
  std::unique_ptr<Browser> browser_;
};

std::string visible(const std::string& selector) {
  return fmt::format("[...document.querySelectorAll('{}')].filter(node => node.checkVisibility())", selector);
}

TEST_F(Page, EveryViewShowsWithoutComplaintAndWithoutARequest) {
  const auto page = write_full();
  for (const bool dark : {false, true}) {
    browser_->dark(dark);
    for (const char* view : kViews) {
      browser_->open(page, view);
      EXPECT_EQ(ask("document.querySelectorAll('[role=tabpanel]:not([hidden])').length"), 1) << view;
      EXPECT_EQ(ask("document.querySelector('[role=tab][aria-selected=true]').id"), fmt::format("tab-{}", view));
      EXPECT_GT(ask(fmt::format("document.getElementById('view-{}').innerText.length", view)), 200) << view;
      expect_no_complaint(view);
    }
    keep_pictures(dark ? "dark" : "light");
    const Json background = ask("getComputedStyle(document.body).backgroundColor");
    EXPECT_EQ(background, dark ? "rgb(11, 14, 19)" : "rgb(244, 246, 249)");
  }
}

TEST_F(Page, ChartsAreDrawnWhereTheBuildHasThem) {
  browser_->open(write_full());
  if (reports::dashboard_charts().empty()) {
    EXPECT_TRUE(settles("document.body.innerText.includes('without the chart library')"));
    EXPECT_EQ(ask("document.querySelectorAll('.uplot').length"), 0);
    return;
  }
  EXPECT_TRUE(settles("document.querySelectorAll('#view-overview .uplot canvas').length === 2"));
  // Something of each provider's colour is on the canvas.
  EXPECT_TRUE(settles(R"([...document.querySelectorAll('#view-overview .uplot canvas')].every(canvas => {
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let inked = 0;
    for (let i = 3; i < pixels.length; i += 4) inked += pixels[i] > 0 ? 1 : 0;
    return inked > 1000;
  }))"));
  browser_->open(write_full(), "trends");
  EXPECT_TRUE(settles("document.querySelectorAll('#view-trends .trend .uplot').length === 1"));
}

TEST_F(Page, FilterAndSortWork) {
  browser_->open(write_full(), "cases");
  const std::string rows = visible("#cases-table tbody tr.opens");
  EXPECT_EQ(ask("document.querySelector('#view-cases .count').textContent"), "68 of 68");
  ask("document.querySelector('#view-cases input[type=search]').focus()");
  browser_->type("torch model-3");
  EXPECT_TRUE(settles(rows + ".length > 0 && " + rows +
                      ".every(row => /torch/.test(row.innerText) && /model-3/.test(row.innerText))"));
  EXPECT_EQ(ask("document.querySelector('#view-cases .count').textContent"), "4 of 68");
  ask("(box => { box.value = ''; box.dispatchEvent(new Event('input', {bubbles: true})) "
      "})(document.querySelector('#view-cases input[type=search]'))");
  ask("(box => { box.value = 'not right'; box.dispatchEvent(new Event('input', {bubbles: true})) "
      "})(document.querySelector('#view-cases select'))");
  EXPECT_EQ(ask("document.querySelector('#view-cases .count').textContent"), "5 of 68");
  // The address says what is shown and brings it back.
  EXPECT_EQ(ask("location.hash"), "#cases?Verdict=not+right");
  browser_->open(folder_ / "page.html", "cases?Verdict=not+right");
  EXPECT_EQ(ask("document.querySelector('#view-cases .count').textContent"), "5 of 68");

  browser_->open(folder_ / "page.html", "cases");
  const std::string heads =
      "[...document.querySelectorAll('#cases-table th button')].find(button => button.textContent === 'Median')";
  const std::string medians =
      "[...document.querySelectorAll('#cases-table tbody tr.opens')].slice(0, 8).map(row => "
      "parseFloat(row.cells[3].innerText) * (/ms/.test(row.cells[3].innerText) ? 1000 : 1))";
  ask(heads + ".click()");
  EXPECT_EQ(ask(heads + ".closest('th').getAttribute('aria-sort')"), "descending");
  EXPECT_EQ(ask("(list => list.every((value, i) => i === 0 || value <= list[i - 1]))(" + medians + ")"), true);
  ask(heads + ".click()");
  EXPECT_EQ(ask("(list => list.every((value, i) => i === 0 || value >= list[i - 1]))(" + medians + ")"), true);
  expect_no_complaint("filter and sort");
}

TEST_F(Page, CopiesTheProblemWordAndTheCommand) {
  const auto report = reports::parse_report(report_of(4));
  browser_->open(write(reports::dashboard_html(report)));
  const auto wrong = std::find_if(report.cases.begin(), report.cases.end(),
                                  [](const auto& entry) { return reports::is_wrong(entry.verdict); });
  ask("window.copied = []; Object.defineProperty(navigator, 'clipboard', {value: {writeText: async text => { "
      "copied.push(text) }}})");
  ask("document.querySelectorAll('.failure')[0].querySelectorAll('.copy').forEach(button => button.click())");
  EXPECT_TRUE(settles("copied.length === 2"));
  EXPECT_EQ(ask("copied[0]"), wrong->problem);
  EXPECT_EQ(ask("copied[1]"), wrong->repro);
  EXPECT_TRUE(settles("document.querySelector('.failure .copy').textContent === 'Copied'"));
  // Every case that is not right has its card, with the words of the report.
  EXPECT_EQ(ask("document.querySelectorAll('.failure').length"), 5);
  EXPECT_EQ(ask("document.querySelectorAll('.failure .command code')[0].textContent"), wrong->problem);
  expect_no_complaint("copy");
}

TEST_F(Page, TheKeyboardReachesEverything) {
  browser_->open(write_full(), "overview");
  ask("document.getElementById('tab-overview').focus()");
  browser_->press("ArrowRight");
  EXPECT_EQ(ask("document.activeElement.id"), "tab-cases");
  EXPECT_EQ(ask("document.getElementById('view-cases').hidden"), false);
  ask("document.activeElement.blur()");
  browser_->press("/");
  EXPECT_EQ(ask("document.activeElement.type"), "search");
  EXPECT_EQ(ask("document.activeElement.value"), "");

  ask("document.querySelector('#cases-table tbody tr[tabindex=\"0\"]').focus()");
  browser_->press("ArrowDown");
  browser_->press("ArrowDown");
  EXPECT_EQ(ask("document.activeElement.getAttribute('aria-rowindex')"), "4");
  browser_->press("End");
  EXPECT_EQ(ask("document.activeElement.getAttribute('aria-rowindex')"), "69");
  browser_->press("Home");
  const Json name = ask("document.activeElement.querySelector('.name span').textContent");
  browser_->press("Enter");
  EXPECT_EQ(ask("document.getElementById('detail').hidden"), false);
  EXPECT_EQ(ask("document.getElementById('detail-title').textContent"), name);
  EXPECT_EQ(ask("document.activeElement.id"), "detail");
  browser_->press("Escape");
  EXPECT_EQ(ask("document.getElementById('detail').hidden"), true);
  EXPECT_EQ(ask("document.activeElement.getAttribute('aria-rowindex')"), "2");
  expect_no_complaint("keyboard");
}

TEST_F(Page, EverythingHasANameAndEnoughContrast) {
  const auto page = write_full();
  for (const char* view : kViews) {
    browser_->open(page, view);
    EXPECT_EQ(ask(visible("button, input, select, [role=img], [role=region]") +
                  ".filter(node => !(node.getAttribute('aria-label') || node.textContent.trim())).map(node => "
                  "node.outerHTML).slice(0, 3)"),
              Json::array())
        << view;
    EXPECT_EQ(ask("(ids => ids.filter((id, i) => ids.indexOf(id) !== "
                  "i))([...document.querySelectorAll('[id]')].map(node => node.id))"),
              Json::array());
  }
  // WCAG 2.1 AA asks for 4.5 between text and what it stands on.
  const std::string contrast = R"(((text, ground) => {
    const channels = name => { const probe = document.createElement('i'); probe.style.color = `var(--${name})`; document.body.append(probe);
      const list = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number); probe.remove(); return list; };
    const luminance = name => channels(name).map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
      .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const [a, b] = [luminance(text), luminance(ground)].sort((p, q) => q - p);
    return (a + 0.05) / (b + 0.05);
  }))";
  for (const bool dark : {false, true}) {
    browser_->dark(dark);
    for (const auto& [text, ground] : std::vector<std::pair<std::string, std::string>>{{"ink", "page"},
                                                                                       {"ink", "card"},
                                                                                       {"soft", "page"},
                                                                                       {"soft", "card"},
                                                                                       {"soft", "quiet-fill"},
                                                                                       {"good", "card"},
                                                                                       {"bad", "card"},
                                                                                       {"warn", "card"},
                                                                                       {"good", "good-fill"},
                                                                                       {"bad", "bad-fill"},
                                                                                       {"warn", "warn-fill"},
                                                                                       {"ink", "hover"}}) {
      EXPECT_GE(ask(fmt::format("{}('{}', '{}')", contrast, text, ground)), 4.5)
          << text << " on " << ground << (dark ? ", dark" : ", light");
    }
  }
}

TEST_F(Page, ClocksAreDrawnWhereADriverToldThemAndMissedWhereNot) {
  Json document = report_of(20);
  document["schema"]["version"] = "1.2.0";  // the first that has clocks
  browser_->open(write(reports::dashboard_html(reports::parse_report(document))), "machine");
  EXPECT_EQ(ask("document.querySelector('#clocks p').textContent"),
            "No driver told clocks, power or temperature while these cases were measured.");
  EXPECT_EQ(ask("document.querySelectorAll('#clocks svg').length"), 0);

  const Json warm = {{"sm_mhz", 1980}, {"power_w", 310.5}, {"temperature_c", 41}, {"throttle", Json::array()}};
  Json held = warm;
  held["sm_mhz"] = 1755;
  held["throttle"] = {"power_cap"};
  int told = 0;
  for (Json& entry : document["cases"]) {
    if (!entry["performance"].is_object() || ++told > 10) continue;
    entry["performance"]["clocks"] = {{"source", "nvml"}, {"start", warm}, {"end", told == 3 ? held : warm}};
  }
  browser_->open(write(reports::dashboard_html(reports::parse_report(document))), "machine");
  EXPECT_EQ(ask("document.querySelector('#clocks p').textContent"),
            "Told by nvml for 10 of 20 measured cases; something held the clock down in 1, drawn in red.");
  // Clock, power and temperature; nothing was told of the memory clock.
  EXPECT_EQ(ask("[...document.querySelectorAll('#clocks figcaption')].map(node => node.textContent)"),
            Json::array({"Clock, MHz", "Power, W", "Temperature, \u00b0C"}));
  EXPECT_EQ(ask("document.querySelectorAll('#clocks svg')[0].querySelectorAll('circle').length"), 10);
  EXPECT_EQ(ask("[...document.querySelectorAll('#clocks svg')[0].querySelectorAll('circle')].map(node => "
                "node.getAttribute('fill')).indexOf('var(--bad)')"),
            2);
  // The dot is where the clock ended: below all others.
  EXPECT_EQ(ask("(dots => dots.every((dot, i) => i === 2 || dot < dots[2]))([...document.querySelectorAll('#clocks "
                "svg')[0].querySelectorAll('circle')].map(node => Number(node.getAttribute('cy'))))"),
            true);
  EXPECT_EQ(ask("document.querySelectorAll('#clocks-table tbody tr')[2].innerText.replace(/\\s+/g, ' ').match(/1980 "
                ".*MHz/)[0]"),
            "1980 \u2192 1755 MHz");
  expect_no_complaint("clocks");
  if (const char* directory = std::getenv("MLA_SCREENSHOTS")) {
    std::filesystem::create_directories(directory);
    ask("document.getElementById('clocks').scrollIntoView()");
    browser_->screenshot(std::filesystem::path(directory) / "clocks.png");
  }
}

TEST_F(Page, ForestPlotsEveryRatio) {
  browser_->open(write_full(), "compare");
  EXPECT_EQ(ask("document.querySelector('#view-compare .count').textContent"), "68 of 68");
  // The changed cases stand first; the place of each estimate follows from its ratio.
  EXPECT_EQ(ask("[...document.querySelectorAll('#compare-table .forest.improved')].length > 3"), true);
  EXPECT_EQ(ask(R"([...document.querySelectorAll('#compare-table .forest.improved')].every(node =>
    parseFloat(node.querySelector('.estimate').style.left) < parseFloat(node.querySelector('.zero').style.left)))"),
            true);
  EXPECT_EQ(ask(R"([...document.querySelectorAll('#compare-table .forest[role=img]')].every(node => {
    const left = parseFloat(node.querySelector('.whisker').style.left), right = 100 - parseFloat(node.querySelector('.whisker').style.right);
    const estimate = parseFloat(node.querySelector('.estimate').style.left);
    return left <= estimate + 1e-6 && estimate <= right + 1e-6;
  }))"),
            true);
  ask("[...document.querySelectorAll('#view-compare .chip')].find(chip => /improved/.test(chip.textContent)).click()");
  EXPECT_EQ(ask("document.querySelector('#view-compare .count').textContent"), "12 of 68");
  expect_no_complaint("compare");
}

TEST_F(Page, TrendsShowWhatChangedFirst) {
  browser_->open(write_full(120), "trends");
  EXPECT_TRUE(settles("document.querySelector('#view-trends .trend h2')"));
  const std::string step = ask("document.querySelector('#trends-table tbody tr.opens .badge').textContent");
  EXPECT_THAT(step, ::testing::MatchesRegex("\\+(5[.][5-9]|6[.][0-5]) %"));
  EXPECT_TRUE(settles("/Lasting changes/.test(document.querySelector('#view-trends .trend').innerText)"));
  EXPECT_EQ(ask("document.querySelectorAll('#view-trends .trend table tbody tr').length"), 1);
  ask("[...document.querySelectorAll('#view-trends .segments button')].find(button => button.textContent === 'By "
      "date').click()");
  EXPECT_EQ(ask("document.querySelector('#view-trends .segments [aria-pressed=true]').textContent"), "By date");
  expect_no_complaint("trends");
}

TEST_F(Page, HostileTextRunsNothing) {
  const std::string hostile =
      "</script><img src=x onerror=\"window.owned=1\"><svg onload=\"window.owned=1\">${window.owned=1}";
  Json entry = example_case("decode:b=1", "eigen", Verdict::failed);
  entry["reason"]["message"] = hostile;
  entry["suites"][0]["name"] = hostile;
  entry["suites"][0]["suite"] = hostile;
  entry["kernel"] = {{"name", hostile}, {"variant", hostile}, {"digest", hostile}};
  entry["axes"][hostile] = hostile;
  entry["repro"] = hostile;
  Json document = example_report({entry, example_case("decode:b=2", "eigen")});
  document["environment"]["host"] = hostile;
  document["run"]["argv"] = {hostile};
  document["run"]["git"]["branch"] = hostile;
  const auto page = write(reports::dashboard_html(reports::parse_report(document)));
  for (const char* view : kViews) {
    browser_->open(page, view);
    ask("(row => row && row.click())(document.querySelector('tr.opens'))");
    EXPECT_EQ(ask("typeof window.owned"), "undefined") << view;
    EXPECT_EQ(ask("document.querySelectorAll('img').length"), 0) << view;
    expect_no_complaint(view);
  }
}

// A thousand nights of five hundred cases: the page must stay a page.
TEST_F(Page, AThousandReportsOfFiveHundredCases) {
  const auto report = reports::parse_report(report_of(492));
  const History history = history_of(report, 1000);
  const auto page = write(reports::dashboard_html(report, {.comparison = nullptr, .history = &history}));
  EXPECT_LT(std::filesystem::file_size(page), 8U << 20U);
  for (const char* view : {"overview", "cases", "trends"}) {
    browser_->open(page, view);
    // What is not in sight does not exist.
    EXPECT_LT(ask("document.querySelectorAll('tr').length"), 60) << view;
    EXPECT_LT(ask("document.querySelectorAll('canvas').length"), 60) << view;
    expect_no_complaint(view);
  }
  EXPECT_EQ(ask("document.querySelector('#view-trends .count').textContent"), "500 of 500");
  ask("document.querySelector('#trends-table').scrollTop = 1e6");
  EXPECT_TRUE(settles("document.querySelector('#trends-table tr[aria-rowindex=\"501\"]')"));
  EXPECT_LT(ask("document.querySelectorAll('#trends-table tr').length"), 60);
  ask("document.querySelector('#view-trends input[type=search]').focus()");
  browser_->type("model-3 torch");
  EXPECT_TRUE(settles("document.querySelectorAll('#trends-table tr.opens').length > 0"));
  const Json ms = ask(
      R"((() => { const from = performance.now(); const box = document.querySelector('#view-trends input[type=search]');
    box.value = 'eigen'; box.dispatchEvent(new Event('input', {bubbles: true})); return performance.now() - from; })())");
  RecordProperty("filter_ms", ms.dump());
  RecordProperty("page_bytes", std::to_string(std::filesystem::file_size(page)));
}

}  // namespace
}  // namespace mla::suites
