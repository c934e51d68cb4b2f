#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "ci/isa/disassembly.hpp"
#include "ci/isa/mix.hpp"
#include "ci/isa/notes.hpp"
#include "ci/isa/report.hpp"

namespace mla::isa {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Recorded from suites/ci/data/isa/sample.hip.cpp.
std::string recorded(const std::string& name) {
  std::ifstream file(std::string(MLA_TEST_DATA) + "/isa/" + name);
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<ordered_json> sample(const std::string& target) {
  return describe(recorded("sample." + target + ".notes"), recorded("sample." + target + ".s"), "sample." + target);
}

Instruction of(std::string mnemonic, std::string operands = "") {
  return {.address = 0, .mnemonic = std::move(mnemonic), .operands = std::move(operands)};
}

// One instruction of 4 bytes a mnemonic; "name@N" branches to instruction N.
Code code_of(const std::vector<std::string>& mnemonics) {
  Code code{.symbol = "f", .instructions = {}};
  for (const std::string& text : mnemonics) {
    const auto at = text.find('@');
    Instruction i = of(text.substr(0, at));
    i.address = 4 * code.instructions.size();
    if (at != std::string::npos) i.target = 4 * std::stoul(text.substr(at + 1));
    code.instructions.push_back(i);
  }
  return code;
}

TEST(IsaNotes, ReadsEveryKernelsResources) {
  const Notes notes = parse_notes(recorded("sample.gfx950.notes"));
  EXPECT_EQ(notes.target, "gfx950");
  ASSERT_THAT(notes.kernels, SizeIs(2));
  EXPECT_EQ(notes.kernels[0].vgpr, 28);  // as -Rpass-analysis=kernel-resource-usage said of the same compilation
  EXPECT_EQ(notes.kernels[0].agpr, 4);
  EXPECT_EQ(notes.kernels[0].lds_bytes, 16384);
  EXPECT_EQ(notes.kernels[0].workgroup_size, 256);
  EXPECT_EQ(notes.kernels[0].scratch_bytes, 0);
  EXPECT_GE(notes.kernels[1].scratch_bytes, 256);  // int[64]
}

TEST(IsaNotes, NamesWhatIsMissing) {
  EXPECT_THAT([] { parse_notes("nothing"); }, ::testing::ThrowsMessage<Error>(HasSubstr("amdhsa.target")));
  std::string text = recorded("sample.gfx950.notes");
  text.replace(text.find(".sgpr_count"), 11, ".sgpr_other");
  EXPECT_THAT([&] { parse_notes(text); }, ::testing::ThrowsMessage<Error>(HasSubstr("sgpr_count")));
  text = recorded("sample.gfx950.notes");
  text.replace(text.find("16384"), 5, "many!");
  EXPECT_THAT([&] { parse_notes(text); }, ::testing::ThrowsMessage<Error>(HasSubstr("many!")));
}

TEST(IsaDisassembly, ReadsAddressesBranchesAndSymbols) {
  const std::vector<Code> codes = parse_disassembly(
      "0000000000000100 <f>:\n"
      "\ts_mov_b32 s3, 0                    // 000000000100: BE830080\n"
      "\tv_mfma_f32_16x16x32_bf16 a[0:3], v[10:13], v[14:17], a[0:3]// 000000000104: D3B58000 04021D0A\n"
      "\ts_cbranch_scc0 65533               // 00000000010C: BF84FFF2 <f+0x4>\n"
      "\ts_branch 65530                     // 000000000110: BF84FFF2 <f>\n"
      "\ts_nop 0                            // 000000000114: BF800000\n"
      "\n"
      "0000000000000200 <g>:\n"
      "\ts_endpgm                           // 000000000200: BF810000\n");
  ASSERT_THAT(codes, SizeIs(2));
  const auto& f = codes[0].instructions;
  ASSERT_THAT(f, SizeIs(4)) << "padding is not code";
  EXPECT_EQ(f[1].mnemonic, "v_mfma_f32_16x16x32_bf16");
  EXPECT_EQ(f[1].operands, "a[0:3], v[10:13], v[14:17], a[0:3]");
  EXPECT_EQ(f[2].target, 0x104U);
  EXPECT_EQ(f[3].target, 0x100U);
  EXPECT_EQ(codes[1].symbol, "g");
}

TEST(IsaDisassembly, RefusesALineWithoutAnAddress) {
  EXPECT_THROW(parse_disassembly("0000000000000100 <f>:\n\ts_endpgm\n"), Error);
}

TEST(IsaMix, KindsByUnit) {
  EXPECT_EQ(kind_of(of("v_mfma_f32_32x32x16_fp8_fp8")), Kind::matrix);
  EXPECT_EQ(kind_of(of("v_accvgpr_read_b32")), Kind::accumulator_move);
  EXPECT_EQ(kind_of(of("v_exp_f32_e32")), Kind::valu);
  EXPECT_EQ(kind_of(of("ds_read_b64_tr_b16")), Kind::lds);
  EXPECT_EQ(kind_of(of("global_load_dwordx4", "v[10:13], v4, s[4:5]")), Kind::global);
  EXPECT_EQ(kind_of(of("global_load_lds_dwordx4", "v[4:5], off")), Kind::global_to_lds);
  EXPECT_EQ(kind_of(of("buffer_load_dwordx4", "v4, s[4:7], 0 offen lds")), Kind::global_to_lds);
  EXPECT_EQ(kind_of(of("buffer_load_dwordx4", "v[0:3], v4, s[4:7], 0 offen")), Kind::global);
  EXPECT_EQ(kind_of(of("scratch_store_dwordx2")), Kind::scratch);
  EXPECT_EQ(kind_of(of("s_waitcnt", "vmcnt(0)")), Kind::wait);
  EXPECT_EQ(kind_of(of("s_barrier")), Kind::barrier);
  EXPECT_EQ(kind_of(of("s_cbranch_vccnz")), Kind::branch);
  EXPECT_EQ(kind_of(of("s_load_dwordx8")), Kind::salu);
  EXPECT_EQ(kind_of(of("s_nop")), Kind::nop);
}

TEST(IsaMix, MatrixFlopsByShape) {
  EXPECT_EQ(matrix_flops("v_mfma_f32_16x16x32_bf16"), 2 * 16 * 16 * 32);
  EXPECT_EQ(matrix_flops("v_mfma_f32_32x32x16_fp8_fp8"), 2 * 32 * 32 * 16);
  EXPECT_EQ(matrix_flops("v_mfma_f32_4x4x4_16b_bf16"), 2 * 4 * 4 * 4 * 16);
  EXPECT_EQ(matrix_flops("v_mfma_f64_16x16x4_f64"), 2 * 16 * 16 * 4);
  EXPECT_EQ(matrix_flops("v_mfma_scale_f32_16x16x128_f8f6f4"), 2 * 16 * 16 * 128);
  EXPECT_EQ(matrix_flops("v_add_f32_e32"), 0);
}

TEST(IsaMix, CountsEveryInstructionOnce) {
  for (const char* target : {"gfx942", "gfx950"}) {
    for (const Code& code : parse_disassembly(recorded(std::string("sample.") + target + ".s"))) {
      const Mix m = mix_of(code.instructions, 64);
      EXPECT_EQ(m.total, static_cast<int>(code.instructions.size()));
      EXPECT_EQ(m.total, m.matrix + m.lds + m.global + m.global_to_lds + m.scratch + m.wait + m.barrier + m.valu +
                             m.accumulator_move + m.salu + m.branch + m.nop);
    }
  }
}

TEST(IsaHotLoop, IsTheInnermostLoopWithTheMostMatrixInstructions) {
  const Code code = code_of({"s_nop",                                                         // 0
                             "s_barrier",                                                     // 1: outer loop
                             "v_mfma_f32_16x16x32_bf16", "ds_read_b128", "s_cbranch_scc0@2",  // 2..4: one product
                             "v_mfma_f32_16x16x32_bf16", "v_mfma_f32_16x16x32_bf16", "s_cbranch_scc0@5",  // 5..7: two
                             "ds_read_b128", "ds_read_b128", "ds_read_b128", "s_cbranch_scc1@8",          // 8..11: none
                             "s_branch@1", "s_endpgm"});
  const auto loop = hot_loop(code);
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->front().address, 4U * 5);
  EXPECT_EQ(loop->back().address, 4U * 7);
}

TEST(IsaHotLoop, ALoopInsideWithoutMatrixInstructionsDoesNotHideTheLoopAround) {
  const Code code = code_of({"v_mfma_f32_16x16x32_bf16", "ds_read_b128", "s_cbranch_scc0@1", "s_cbranch_scc1@0"});
  EXPECT_THAT(*hot_loop(code), SizeIs(4));
}

TEST(IsaHotLoop, WithoutMatrixInstructionsMemoryAccessesDecide) {
  const Code code = code_of({"s_barrier", "global_load_dwordx4", "s_cbranch_scc0@1", "v_add_f32_e32", "v_add_f32_e32",
                             "v_add_f32_e32", "s_cbranch_scc0@3", "s_branch@0"});
  EXPECT_EQ(hot_loop(code)->front().address, 4U);
}

TEST(IsaHotLoop, NoLoopNoHotLoop) {
  EXPECT_FALSE(hot_loop(code_of({"s_cbranch_scc0@2", "s_nop", "s_endpgm"})));
}

TEST(IsaReport, RecordedKernels) {
  const auto kernels = sample("gfx950");
  ASSERT_THAT(kernels, SizeIs(2));
  EXPECT_THAT(kernels[0].at("kernel").get<std::string>(), HasSubstr("tile_product("));
  const ordered_json& loop = kernels[0].at("hot_loop");
  EXPECT_EQ(loop.at("matrix"), 1);
  EXPECT_EQ(loop.at("lds"), 1);
  EXPECT_EQ(loop.at("barrier"), 0) << "the barriers stand in the loop around";
  EXPECT_EQ(loop.at("global_load_bytes"), 64 * 16);
  EXPECT_EQ(kernels[0].at("code").at("barrier"), 2);
  EXPECT_GT(kernels[1].at("code").at("scratch"), 0);
}

TEST(IsaReport, OccupancyAgreesWithTheCompilers) {
  // "Occupancy [waves/SIMD]" of -Rpass-analysis=kernel-resource-usage for the recorded kernels.
  EXPECT_EQ(sample("gfx942")[0].at("resources").at("waves_per_simd"), 4);  // 16 KB of 64 KB LDS a workgroup of 4 waves
  EXPECT_EQ(sample("gfx950")[0].at("resources").at("waves_per_simd"), 8);  // of 160 KB
  Resources r;
  r.vgpr = 256;
  r.agpr = 256;
  r.workgroup_size = 256;
  r.wavefront_size = 64;
  EXPECT_EQ(waves_per_simd(r, "gfx950"), 1);
  r.agpr = 0;
  EXPECT_EQ(waves_per_simd(r, "gfx950"), 2);
  EXPECT_THROW(waves_per_simd(r, "gfx1100"), Error);
}

TEST(IsaReport, TheLaunchAddsItsLdsAndName) {
  const json list = json::parse(R"([{"kernel": "mla::Plan", "name": "plan", "shared_bytes": 40960, "threads": 256}])");
  std::string notes = recorded("sample.gfx950.notes");
  std::string code = recorded("sample.gfx950.s");
  // The mangled name of void mla::runtime::entry<mla::Plan>(int), in place of a recorded kernel's.
  const std::string symbol = parse_notes(notes).kernels[0].symbol;
  const std::string entry = "_ZN3mla7runtime5entryINS_4PlanEEEvi";
  for (std::string* text : {&notes, &code}) {
    for (auto at = text->find(symbol); at != std::string::npos; at = text->find(symbol, at)) {
      text->replace(at, symbol.size(), entry);
    }
  }
  const auto kernels = describe(notes, code, "sample", parse_launches(list));
  EXPECT_EQ(kernels[0].at("name"), "plan");
  const ordered_json& resources = kernels[0].at("resources");
  EXPECT_EQ(resources.at("dynamic_lds_bytes"), 40960);
  EXPECT_EQ(resources.at("lds_bytes"), 40960 + 16384);
  EXPECT_EQ(resources.at("waves_per_simd"), 2) << "two workgroups of 4 waves in 160 KB, on 4 SIMDs";
  EXPECT_EQ(kernels[1].at("resources").at("dynamic_lds_bytes"), 0);
  EXPECT_EQ(kernels[1].at("name"), kernels[1].at("kernel"));
}

TEST(IsaReport, MalformedLaunchesAreErrors) {
  EXPECT_THROW(parse_launches(json::parse("{}")), Error);
  EXPECT_THROW(parse_launches(json::parse(R"([{"kernel": "k", "name": "n"}])")), Error);
  EXPECT_THROW(parse_launches(json::parse(R"([{"kernel": "k", "name": "n", "shared_bytes": "1"}])")), Error);
}

TEST(IsaReport, AKernelWithoutCodeIsAnError) {
  EXPECT_THROW(describe(recorded("sample.gfx950.notes"), "", "sample"), Error);
}

TEST(IsaBudget, OneLineAViolation) {
  const json budget = json::parse(R"({"rules": [
      {"kernel": ".*", "target": "gfx950", "max": {"resources.scratch_bytes": 0, "resources.vgpr": 28}},
      {"kernel": "tile_product.*", "target": "gfx950", "min": {"hot_loop.matrix": 2}}]})");
  EXPECT_THAT(
      violations(sample("gfx950"), budget),
      ElementsAre(::testing::AllOf(HasSubstr("private_array"), HasSubstr("resources.scratch_bytes is"),
                                   HasSubstr("budget max 0")),
                  ::testing::AllOf(HasSubstr("tile_product"), HasSubstr("hot_loop.matrix is 1, budget min 2"))));
}

TEST(IsaBudget, WithinBudgetSaysNothing) {
  const json budget = json::parse(
      R"({"rules": [{"kernel": "tile_product.*", "target": "gfx9.*", "max": {"resources.scratch_bytes": 0}}]})");
  EXPECT_THAT(violations(sample("gfx950"), budget), IsEmpty());
}

TEST(IsaBudget, ARuleThatMatchesNothingIsAViolation) {
  const json budget = json::parse(R"({"rules": [{"kernel": "renamed", "target": ".*", "max": {}}]})");
  EXPECT_THAT(violations(sample("gfx950"), budget), ElementsAre(HasSubstr("matches no kernel")));
}

TEST(IsaBudget, RulesForATargetThatWasNotCompiledWait) {
  const json budget = json::parse(R"({"rules": [{"kernel": "plan", "target": "gfx942", "max": {}}]})");
  EXPECT_THAT(violations(sample("gfx950"), budget), IsEmpty());
  EXPECT_THAT(violations(sample("gfx942"), budget), SizeIs(1));
}

TEST(IsaBudget, AViolationSaysWhy) {
  const json budget = json::parse(
      R"({"rules": [{"why": "one wave", "kernel": "tile.*", "target": ".*", "max": {"resources.vgpr": 1}}]})");
  EXPECT_THAT(violations(sample("gfx950"), budget), ElementsAre(HasSubstr("budget max 1 (one wave)")));
}

TEST(IsaBudget, TheReportCarriesTheTightestLimits) {
  auto kernels = sample("gfx950");
  attach_budget(kernels, json::parse(R"({"rules": [
      {"kernel": ".*", "target": "gfx950", "max": {"resources.vgpr": 64}, "min": {"resources.waves_per_simd": 1}},
      {"kernel": "tile.*", "target": ".*", "max": {"resources.vgpr": 32}, "min": {"resources.waves_per_simd": 2}},
      {"kernel": "tile.*", "target": "gfx942", "max": {"resources.vgpr": 1}}]})"));
  EXPECT_EQ(kernels[0].at("budget").at("max").at("resources.vgpr"), 32);
  EXPECT_EQ(kernels[0].at("budget").at("min").at("resources.waves_per_simd"), 2);
  EXPECT_EQ(kernels[1].at("budget").at("max").at("resources.vgpr"), 64);
}

TEST(IsaBudget, MalformedBudgetsAreErrors) {
  const auto check = [](const char* text) { return violations(sample("gfx950"), json::parse(text)); };
  EXPECT_THROW(check(R"({})"), Error);
  EXPECT_THROW(check(R"({"rules": [{"target": ".*"}]})"), Error);
  EXPECT_THROW(check(R"({"rules": [{"kernel": "(", "target": ".*"}]})"), Error);
  EXPECT_THROW(check(R"({"rules": [{"kernel": ".*", "target": ".*", "max": {"resources.vpgr": 1}}]})"), Error);
  EXPECT_THROW(check(R"({"rules": [{"kernel": ".*", "target": ".*", "max": {"resources.vgpr": "1"}}]})"), Error);
}

}  // namespace
}  // namespace mla::isa
