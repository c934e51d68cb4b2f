#include "reports/html.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suites/reports/example_report.hpp"

namespace mla::suites {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t occurrences(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

/// The page's data, as the page's own script reads it.
Json data_of(const std::string& html) {
  const std::string_view open = R"(<script type="application/json" id="data">)";
  const std::size_t begin = html.find(open) + open.size();
  return Json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

TEST(Html, HoldsEveryCaseWithItsNumbers) {
  const auto report = reports::parse_report(example_report());
  const Json data = data_of(reports::report_html(report));
  ASSERT_EQ(data["cases"].size(), report.cases.size());
  EXPECT_EQ(data["cases"][0]["key"], report.cases[0].key);
  EXPECT_EQ(data["cases"][0]["median_ns"], 811500.0);
  EXPECT_EQ(data["cases"][0]["speedup"]["baseline"], "torch");
  EXPECT_EQ(data["cases"][0]["samples"], 8);
  EXPECT_EQ(data["cases"][2]["reason"]["kind"], "hard_bound");
  EXPECT_EQ(data["counts"]["failed"], 1);
}

TEST(Html, AsksTheNetworkForNothing) {
  const std::string html = reports::report_html(reports::parse_report(example_report()));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  for (const char* request : {"src=\"http", "href=\"http", "url(", "@import", "fetch(", "XMLHttpRequest", "<link"}) {
    EXPECT_THAT(html, Not(HasSubstr(request)));
  }
}

TEST(Html, HostileNamesStayText) {
  const std::string hostile = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>@PAGE_JS@\"'&";
  Json entry = example_case("decode:b=1", "eigen", Verdict::failed);
  entry["suites"][0]["suite"] = hostile;
  entry["suites"][0]["name"] = hostile;
  entry["reason"]["message"] = hostile;
  Json document = example_report({entry});
  document["run"]["id"] = hostile;
  const std::string html = reports::report_html(reports::parse_report(document));
  const std::string plain = reports::report_html(reports::parse_report(example_report()));
  // As many elements as without it, and the text itself comes back unharmed.
  for (const char* tag : {"<script", "</script", "<img", "<!--"}) {
    EXPECT_EQ(occurrences(html, tag), occurrences(plain, tag)) << tag;
  }
  EXPECT_THAT(html, HasSubstr("<title>MLA harness &lt;/script&gt;&lt;script&gt;alert(1)"));
  EXPECT_EQ(data_of(html)["cases"][0]["name"], hostile);
  EXPECT_EQ(data_of(html)["cases"][0]["reason"]["message"], hostile);
}

TEST(Html, KeepsASeedThatJavaScriptCouldNot) {
  Json document = example_report();
  document["run"]["seed"] = 18446744073709551615U;
  EXPECT_EQ(data_of(reports::report_html(reports::parse_report(document)))["seed"], "18446744073709551615");
}

}  // namespace
}  // namespace mla::suites
