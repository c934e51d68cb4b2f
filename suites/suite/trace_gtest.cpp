#include "harness/suite/trace.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/core/error.hpp"
#include "harness/suite/trace_quantiles.hpp"
#include "harness/suite/trace_suite.hpp"
#include "suites/suite/temporary_file.hpp"

namespace mla::harness {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

const std::string kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n";

std::vector<TraceRequest> read(const std::string& text, std::size_t most = 1000) {
  const TemporaryFile file(text, ".trace");
  return read_trace(file.path(), most);
}

TEST(ReadTrace, TakesMooncakeAsPublished) {
  EXPECT_THAT(read("{\"timestamp\": 27482, \"input_length\": 6955, \"output_length\": 52, \"hash_ids\": [46, 47]}\n"
                   "{\"timestamp\": 30535, \"input_length\": 6472, \"output_length\": 26, \"hash_ids\": []}\n"),
              ElementsAre(TraceRequest{0, 6955, 52}, TraceRequest{3053, 6472, 26}));
}

TEST(ReadTrace, TakesAzure2023AsPublished) {
  const auto requests = read(kHeader + "2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 18:15:50.9951690,396,109\r\n");
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[1].input_tokens, 396);
  EXPECT_EQ(requests[1].output_tokens, 109);
  EXPECT_NEAR(requests[1].arrival_ms, 4314.579, 0.01);
}

TEST(ReadTrace, TakesAzure2024AsPublished) {
  const auto requests =
      read("TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 23:59:59.5+00:00,1,2\n2024-05-11 00:00:00+00:00,3,4");
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_NEAR(requests[1].arrival_ms, 500, 0.01);
}

TEST(ReadTrace, FindsColumnsByNameBehindAByteOrderMark) {
  EXPECT_THAT(read("\xef\xbb\xbfGeneratedTokens,Model,TIMESTAMP,ContextTokens\n5,m,2023-01-01 00:00:00,7\n\n"),
              ElementsAre(TraceRequest{0, 7, 5}));
}

TEST(ReadTrace, OrdersByArrivalAndStopsWhereTold) {
  const std::string text =
      kHeader + "2023-01-01 00:00:02,2,1\n2023-01-01 00:00:01,1,1\n2023-01-01 00:00:01,9,1\nnonsense\n";
  EXPECT_THAT(read(text, 3), ElementsAre(TraceRequest{0, 1, 1}, TraceRequest{0, 9, 1}, TraceRequest{1000, 2, 1}));
}

struct BadTrace {
  const char* what;
  std::string text;
  const char* message;
};

class MalformedTrace : public testing::TestWithParam<BadTrace> {};

TEST_P(MalformedTrace, IsRefusedWithItsLine) {
  const TemporaryFile file(GetParam().text, ".trace");
  try {
    (void)read_trace(file.path());
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr(file.path().string()), HasSubstr(GetParam().message), Not(HasSubstr("\n"))));
  }
}

std::string mooncake(const std::string& fields) {
  return "{\"timestamp\":0,\"input_length\":1,\"output_length\":1}\n{" + fields + "}";
}
std::string azure(const std::string& row) {
  return kHeader + "2023-11-16 18:15:46.6,374,44\n" + row + "\n";
}

INSTANTIATE_TEST_SUITE_P(
    Table, MalformedTrace,
    testing::Values(
        BadTrace{"empty", "", "the file is empty"}, BadTrace{"blank", "\n\n", "the file is empty"},
        BadTrace{"binary", std::string("\x7f\x45\x4c\x46\0\0", 6), ":1 = "},
        BadTrace{"other_csv", "a,b,c\n1,2,3\n", ":1 = 'a,b,c': a Mooncake object"},
        BadTrace{"header_only", kHeader, "a header and no requests"},
        BadTrace{"missing_column", "TIMESTAMP,ContextTokens\n", ":1 = 'TIMESTAMP,ContextTokens': the column Gen"},
        BadTrace{"short_row", azure("2023-11-16 18:15:46.6,374"), ":3 = '2023-11-16 18:15:46.6,374': 3 columns"},
        BadTrace{"bad_date", azure("2023-13-16 18:15:46,1,1"), ":3: TIMESTAMP = '2023-13-16 18:15:46'"},
        BadTrace{"bad_day", azure("2023-02-30 18:15:46,1,1"), ":3: TIMESTAMP = "},
        BadTrace{"bad_hour", azure("2023-11-16 24:15:46,1,1"), ":3: TIMESTAMP = "},
        BadTrace{"signed_month", azure("2023--1-16 18:15:46,1,1"), ":3: TIMESTAMP = "},
        BadTrace{"text_after_time", azure("2023-11-16 18:15:46.1x,1,1"), ":3: TIMESTAMP = "},
        BadTrace{"negative_tokens", azure("2023-11-16 18:15:46,-1,1"), ":3: ContextTokens = '-1'"},
        BadTrace{"fraction_of_tokens", azure("2023-11-16 18:15:46,1,1.5"), ":3: GeneratedTokens = '1.5'"},
        BadTrace{"tokens_overflow", azure("2023-11-16 18:15:46,99999999999999999999,1"), ":3: ContextTokens = "},
        BadTrace{"no_tokens", azure("2023-11-16 18:15:46,,1"), ":3: ContextTokens = ''"},
        BadTrace{"truncated_object", mooncake("\"timestamp\": 1").substr(0, 60), ":2: byte "},
        BadTrace{"missing_key", mooncake("\"timestamp\":1,\"input_length\":1"), ":2: (root) = 'object of 2'"},
        BadTrace{"length_is_string", mooncake("\"timestamp\":1,\"input_length\":\"1\",\"output_length\":1"),
                 ":2: /input_length = '1': an integer"},
        BadTrace{"negative_time", mooncake("\"timestamp\":-1,\"input_length\":1,\"output_length\":1"),
                 ":2: /timestamp"},
        BadTrace{"array_line", "{\"timestamp\":0,\"input_length\":1,\"output_length\":1}\n[1]", ":2: (root)"},
        BadTrace{"endless_line", std::string(3u << 20, '{'), ":1 = "},
        BadTrace{"endless_second_line", azure(std::string(3u << 20, '1')), ":3 = "}),
    [](const auto& one) { return one.param.what; });

TEST(ReadTrace, RefusesWhatIsNoFile) {
  EXPECT_THROW((void)read_trace("/nonexistent"), UsageError);
  EXPECT_THROW((void)read_trace("/"), UsageError);
}

// Input and output linked: long inputs have short outputs.
std::vector<TraceRequest> linked(std::size_t count) {
  std::vector<TraceRequest> requests(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto input = static_cast<std::int64_t>(1 + i * 7919 % count);
    requests[i] = {static_cast<double>(i) * 250, input, input > static_cast<std::int64_t>(count / 2) ? 5 : 500};
  }
  return requests;
}

TEST(Quantiles, KeepRangeRateAndJointDistribution) {
  const TraceQuantiles table = derive_quantiles(linked(2000));
  EXPECT_EQ(table.input.size(), 65u);
  EXPECT_EQ(table.output.size(), 64u);
  EXPECT_EQ(table.input.front(), 1);
  EXPECT_EQ(table.input.back(), 2000);
  EXPECT_DOUBLE_EQ(table.requests_per_second, 4);
  const std::vector<TraceRequest> drawn = sample_requests(table, 4000, 1);
  double total = 0;
  for (const TraceRequest& request : drawn) {
    EXPECT_GE(request.input_tokens, 1);
    EXPECT_LE(request.input_tokens, 2000);
    total += static_cast<double>(request.input_tokens);
    // Bins are 31 long: a draw within one of the middle may interpolate between the two.
    if (request.input_tokens < 960) {
      EXPECT_EQ(request.output_tokens, 500);
    } else if (request.input_tokens > 1040) {
      EXPECT_EQ(request.output_tokens, 5);
    }
  }
  // Uniform on 1..2000: the mean of 4000 has a standard deviation of 9; a seed is fixed, so this cannot flicker.
  EXPECT_NEAR(total / 4000, 1000, 50);
  EXPECT_NEAR(drawn.back().arrival_ms, 1e6, 5e4);
  EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end(), [](auto& a, auto& b) { return a.arrival_ms < b.arrival_ms; }));
}

TEST(Quantiles, DrawARequestByItsIndexAlone) {
  const TraceQuantiles table = derive_quantiles(linked(500));
  const std::vector<TraceRequest> many = sample_requests(table, 300, 9);
  const std::vector<TraceRequest> few = sample_requests(table, 100, 9);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  EXPECT_NE(few, sample_requests(table, 100, 10));
}

TEST(Quantiles, SurviveTheirFile) {
  TraceQuantiles table = derive_quantiles(linked(500));
  table.name = "n";
  table.source = "s";
  table.licence = "l";
  const TemporaryFile file(nlohmann::json{{"traces", {to_json(table)}}}.dump());
  EXPECT_THAT(load_trace_quantiles(file.path()), ElementsAre(table));
}

TEST(Quantiles, RefuseTooFewRequests) {
  EXPECT_THROW((void)derive_quantiles(linked(10)), UsageError);
}

TEST(TraceSuite, KnowsThePublishedTraces) {
  EXPECT_THAT(builtin_traces(), IsSupersetOf({"mooncake-conversation", "azure-2023-conversation", "azure-2023-code"}));
}

std::vector<std::string> words(const Suite& suite) {
  std::vector<std::string> list;
  for (const SuiteCase& one : suite.cases) list.push_back(one.problem.word());
  return list;
}

TEST(TraceSuite, IsDeterministicAndDependsOnItsSeed) {
  TraceOptions options;
  const Suite suite = make_trace_suite("mooncake-conversation", options);
  EXPECT_EQ(suite.cases.size(), 4u);
  EXPECT_EQ(words(suite), words(make_trace_suite("mooncake-conversation", options)));
  options.seed = 1;
  EXPECT_NE(words(suite), words(make_trace_suite("mooncake-conversation", options)));
}

TEST(TraceSuite, LoadRisesWithTheQuantileWithinItsLimits) {
  TraceOptions options;
  options.batching.max_batch = 24;
  options.batching.max_context = 4096;
  options.snapshots = {0, 0.25, 0.5, 0.75, 1};
  options.base = {{"page", "16"}, {"dtype", "fp8"}};
  options.model = "kimi-k2";
  std::int64_t before = 0;
  for (const SuiteCase& one : make_trace_suite("azure-2023-conversation", options).cases) {
    one.problem.visit([&](const DecodeProblem& problem) {
      EXPECT_LE(problem.batch(), 24);
      EXPECT_EQ(problem.fields().heads, 8);
      EXPECT_EQ(problem.fields().page_size, 16);
      EXPECT_GE(problem.total_kv(), before);
      before = problem.total_kv();
      for (int request = 0; request < problem.batch(); ++request) EXPECT_LE(problem.kv_len(request), 4096);
    });
  }
  EXPECT_GT(before, 24 * 200);
}

TEST(TraceSuite, ReadsAFile) {
  const TemporaryFile file(
      "{\"timestamp\":0,\"input_length\":40,\"output_length\":2}\n"
      "{\"timestamp\":0,\"input_length\":60,\"output_length\":1}\n",
      ".jsonl");
  TraceOptions options;
  options.snapshots = {0, 1, 1};
  EXPECT_THAT(words(make_trace_suite(file.path().string(), options)),
              ElementsAre("decode:kv=42", "decode:b=2,kv=41+61"));
}

TEST(TraceSuite, RefusesBadRequests) {
  const auto make = [](const std::string& source, const TraceOptions& options) {
    return make_trace_suite(source, options);
  };
  TraceOptions none;
  none.snapshots = {};
  TraceOptions beyond;
  beyond.snapshots = {1.1};
  TraceOptions field;
  field.base = {{"kv", "5"}};
  TraceOptions model;
  model.model = "other";
  EXPECT_THROW((void)make("mooncake", {}), UsageError);
  EXPECT_THROW((void)make("./nonexistent.jsonl", {}), UsageError);
  EXPECT_THROW((void)make("azure-2023-code", none), UsageError);
  EXPECT_THROW((void)make("azure-2023-code", beyond), UsageError);
  EXPECT_THROW((void)make("azure-2023-code", field), UsageError);
  EXPECT_THROW((void)make("azure-2023-code", model), UsageError);
}

}  // namespace
}  // namespace mla::harness
