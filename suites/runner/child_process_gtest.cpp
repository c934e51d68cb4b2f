#include "harness/runner/child_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace mla::harness {
namespace {

using ::testing::HasSubstr;
using End = ChildResult::End;

const ChildLimits kGenerous{std::chrono::seconds(60), nullptr, true};

TEST(ChildProcess, ReturnsThePayload) {
  const ChildResult result = run_in_child([] { return std::string("answer"); }, kGenerous);
  EXPECT_EQ(result.end, End::finished);
  EXPECT_EQ(result.payload, "answer");
}

TEST(ChildProcess, EmptyAndLargePayloadsArrive) {
  EXPECT_EQ(run_in_child([] { return std::string(); }, kGenerous).end, End::finished);
  const std::string large(5 << 20, 'x');
  EXPECT_EQ(run_in_child([&] { return large; }, kGenerous).payload, large);
}

TEST(ChildProcess, AbortIsASignalWithItsLastWords) {
  const auto work = []() -> std::string {
    std::fputs("first line\nassertion `ok' failed\n", stderr);
    std::abort();
  };
  const ChildResult result = run_in_child(work, kGenerous);
  EXPECT_EQ(result.end, End::signalled);
  EXPECT_EQ(result.code, SIGABRT);
  EXPECT_EQ(result.last_words, "assertion `ok' failed");
  EXPECT_THAT(describe(result), HasSubstr("signal 6"));
}

TEST(ChildProcess, LeavingWithoutAPayloadIsNotFinishing) {
  const ChildResult result = run_in_child([]() -> std::string { std::_Exit(0); }, kGenerous);
  EXPECT_EQ(result.end, End::exited);
}

TEST(ChildProcess, AnEndlessLoopIsKilled) {
  const auto work = []() -> std::string {
    while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
  };
  const ChildResult result = run_in_child(work, {std::chrono::milliseconds(300), nullptr, true});
  EXPECT_EQ(result.end, End::timed_out);
}

TEST(ChildProcess, AnInterruptionIsNoticed) {
  const auto work = []() -> std::string {
    while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
  };
  const ChildResult result = run_in_child(work, {std::chrono::seconds(60), [] { return true; }, true});
  EXPECT_EQ(result.end, End::interrupted);
}

TEST(ChildProcess, WithoutIsolationRunsHere) {
  int here = 0;
  const auto work = [&] {
    here = 1;
    return std::string("x");
  };
  EXPECT_EQ(run_in_child(work, {{}, nullptr, false}).payload, "x");
  EXPECT_EQ(here, 1);
}

}  // namespace
}  // namespace mla::harness
