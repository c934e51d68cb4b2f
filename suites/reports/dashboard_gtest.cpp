// The page as text: what it holds, that nothing of a report becomes code, that it asks for nothing. browser tests:
// page_gtest.cpp.
#include "reports/dashboard/dashboard.hpp"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/dashboard/columns.hpp"
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

/// Values of a column, unpacked.
std::vector<Json> column(const Json& rows, const std::string& name) {
  const Json& packed = rows["columns"][name];
  if (packed.is_array()) return packed.get<std::vector<Json>>();
  std::vector<Json> values;
  for (std::size_t i = 0; i < rows["rows"].get<std::size_t>(); ++i) {
    values.push_back(packed.contains("all") ? packed["all"] : packed["of"][packed["at"][i].get<std::size_t>()]);
  }
  return values;
}

std::string page_of(const Json& report) {
  return reports::dashboard_html(reports::parse_report(report));
}

TEST(Dashboard, HoldsEveryCaseWithItsNumbers) {
  const auto report = reports::parse_report(example_report());
  const Json data = data_of(reports::dashboard_html(report));
  const Json& cases = data["report"]["cases"];
  ASSERT_EQ(cases["rows"], report.cases.size());
  EXPECT_EQ(column(cases, "problem")[0], report.cases[0].problem);
  EXPECT_EQ(column(cases, "median_ns")[0], 811500.0);
  EXPECT_EQ(column(cases, "baseline")[0], "torch");
  EXPECT_EQ(column(cases, "sample_count")[0], 8);
  EXPECT_EQ(column(cases, "reason")[2][0], "hard_bound");
  EXPECT_EQ(column(cases["axes"], "kv_max")[4], 4096);
  EXPECT_EQ(data["report"]["counts"]["failed"], 1);
  EXPECT_TRUE(data["history"].is_null());
}

TEST(Dashboard, AsksTheNetworkForNothing) {
  const std::string html = page_of(example_report());
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  for (const char* request : {"src=\"http", "href=\"http", "@import", "fetch(", "XMLHttpRequest", "<link"}) {
    EXPECT_THAT(html, Not(HasSubstr(request)));
  }
  EXPECT_EQ(occurrences(html, "url("), occurrences(html, "url(data:"));
}

TEST(Dashboard, HostileNamesStayText) {
  const std::string hostile = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>@PAGE_JS@\"'&";
  Json entry = example_case("decode:b=1", "eigen", Verdict::failed);
  entry["suites"][0]["suite"] = hostile;
  entry["suites"][0]["name"] = hostile;
  entry["reason"]["message"] = hostile;
  Json document = example_report({entry});
  document["run"]["id"] = hostile;
  const std::string html = page_of(document);
  const std::string plain = page_of(example_report());
  // As many elements as without it, and the text itself comes back unharmed.
  for (const char* tag : {"<script", "</script", "<img", "<!--"}) {
    EXPECT_EQ(occurrences(html, tag), occurrences(plain, tag)) << tag;
  }
  EXPECT_THAT(html, HasSubstr("<title>MLA harness &lt;/script&gt;&lt;script&gt;alert(1)"));
  const Json cases = data_of(html)["report"]["cases"];
  EXPECT_EQ(column(cases, "name")[0], hostile);
  EXPECT_EQ(column(cases, "reason")[0][1], hostile);
}

TEST(Dashboard, KeepsASeedThatJavaScriptCouldNot) {
  Json document = example_report();
  document["run"]["seed"] = 18446744073709551615U;
  EXPECT_EQ(data_of(page_of(document))["report"]["run"]["seed"], "18446744073709551615");
}

TEST(Dashboard, NamesItsChartLibraryOrSaysWhyItHasNone) {
  EXPECT_NE(reports::dashboard_charts().empty(), reports::dashboard_charts_absent().empty());
  EXPECT_EQ(data_of(page_of(example_report()))["charts"], std::string(reports::dashboard_charts()));
}

TEST(Columns, PackAndUnpack) {
  reports::Columns columns;
  for (int i = 0; i < 12; ++i) {
    columns.row();
    columns.set("same", "x");
    columns.set("few", i % 3);
    columns.set("many", i);
    if (i % 2 == 1) columns.set("sparse", i % 4);
  }
  const Json packed = columns.take();
  EXPECT_EQ(packed["columns"]["same"], Json({{"all", "x"}}));
  EXPECT_TRUE(packed["columns"]["few"].contains("of"));
  EXPECT_TRUE(packed["columns"]["many"].is_array());
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(column(packed, "few")[i], i % 3);
    EXPECT_EQ(column(packed, "many")[i], i);
    EXPECT_EQ(column(packed, "sparse")[i], i % 2 == 1 ? Json(i % 4) : Json());
  }
}

TEST(Base64, AsInRfc4648) {
  const auto encoded = [](std::string_view text) {
    return reports::base64({reinterpret_cast<const unsigned char*>(text.data()), text.size()});
  };
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encoded("\xFF\xFE\xFD"), "//79");
}

}  // namespace
}  // namespace mla::suites
