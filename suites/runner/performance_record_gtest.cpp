#include "harness/runner/performance_record.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace mla::harness {
namespace {

std::vector<Ceiling> ceilings() {
  return {{"memory_read", "cpu", 10, "GB/s", ""},
          {"fma_f32", "cpu", 100, "GFLOP/s", ""},
          {"memory_read", "gpu", 1000, "GB/s", ""},
          {"matmul_bf16", "gpu", 10'000, "GFLOP/s", ""},
          {"matmul_fp8", "gpu", 20'000, "GFLOP/s", ""}};
}

nlohmann::ordered_json share(const Cost& cost, std::string_view device) {
  Measurement measurement;
  measurement.samples.samples_ns = {1000};
  measurement.samples.median_ns = 1000;
  measurement.device = device;
  return performance_json(measurement, cost, ceilings()).at("ceiling");
}

// GB/s are bytes a nanosecond.
TEST(PerformanceRecord, ShareIsOfTheNearerCeilingOfTheDevice) {
  const Cost much_memory{.bytes = 5000, .flops = 1000};
  EXPECT_EQ(share(much_memory, "cpu").at("name"), "memory_read");
  EXPECT_DOUBLE_EQ(share(much_memory, "cpu").at("percent").get<double>(), 50);
  EXPECT_DOUBLE_EQ(share(much_memory, "gpu").at("percent").get<double>(), 0.5);
  const Cost many_products{.bytes = 100, .flops = 4'000'000};
  EXPECT_EQ(share(many_products, "gpu").at("name"), "matmul_bf16");
  EXPECT_EQ(share(many_products, "gpu").at("bound"), "compute");
  EXPECT_DOUBLE_EQ(share(many_products, "gpu").at("percent").get<double>(), 40);
}

TEST(PerformanceRecord, ProductsOfTwoFp8OperandsAreHeldToTheRateOfFp8) {
  const Cost products{.bytes = 100, .flops = 4'000'000, .fp8_products = true};
  EXPECT_EQ(share(products, "gpu").at("name"), "matmul_fp8");
  EXPECT_DOUBLE_EQ(share(products, "gpu").at("percent").get<double>(), 20);
  EXPECT_EQ(share({.bytes = 100, .flops = 40'000, .fp8_products = true}, "cpu").at("name"), "fma_f32");
}

}  // namespace
}  // namespace mla::harness
