// Headers in the forms that releases of CUDA have: 8 and 9 with minor releases of gcc, 11 and later with major ones.
#include "collect/toolkit_host_config.h"

#include <gtest/gtest.h>

#include "collect/toolkit_condition.h"

namespace gpuvet {
namespace {

HostCompilerRange read(std::string_view text) { return read_host_config(text, "/c/include/crt/host_config.h"); }

constexpr auto modern = R"(#if defined(__CUDACC__)
#if defined(__CUDACC_RTC__)
#else /* __CUDACC_RTC__ */
/* check for host compilers */
#if !defined(__GNUC__) && !defined(_WIN32)
#error --- !!! UNSUPPORTED COMPILER !!! ---
#endif
#if defined(__ICC)
#error -- ICC is not supported
#endif
#if !__NV_NO_HOST_COMPILER_CHECK
#if defined(__GRCO_CLANG_COMPILER__)
#if (__GRCO_CLANG_COMPILER__ == 1) && ((__clang_major__ < 16) || (__clang_major__ > 20))
#error -- unsupported Grace clang version!
#endif
#endif
#if defined(__powerpc__)
#if defined(__ibmxl_vrm__) && !(__ibmxl_vrm__ >= 0x0d010000 && __ibmxl_vrm__ < 0x0d020000) && \
                              !(__ibmxl_vrm__ >= 0x10010000 && __ibmxl_vrm__ < 0x10020000)
#error -- unsupported xlC version!
#endif
#endif
#if defined(__GNUC__)
#if __GNUC__ > 15
#error -- unsupported GNU version! gcc versions later than 15 are not supported!
#endif
#if defined(__clang__) && !defined(__ibmxl_vrm__) && !defined(__HORIZON__)
#if (__clang_major__ >= 21) || (__clang_major__ < 3) || ((__clang_major__ == 3) &&  (__clang_minor__ < 3))
#error -- unsupported clang version!
#endif
#endif
#endif
#if defined(_WIN32)
#if _MSC_VER < 1920 || _MSC_VER >= 1950
#error -- unsupported Microsoft Visual Studio version!
#endif
#endif
#endif
#endif
#endif
)";

TEST(HostConfig, ModernHeader) {
  const auto range = read(modern);
  EXPECT_TRUE(range.gcc_max.is(15)) << range.gcc_max.why();
  EXPECT_TRUE(range.gcc_min.is_absent());
  EXPECT_TRUE(range.clang_max.is(20));
  EXPECT_TRUE(range.clang_min.is(3));
  EXPECT_EQ(range.gcc_max.origin().line, 25u);
}

TEST(HostConfig, MinorReleasesOfGcc) {
  const auto range =
      read("#if defined(__GNUC__)\n#if __GNUC__ > 5 || (__GNUC__ == 5 && __GNUC_MINOR__ > 3)\n#error no\n#endif\n#endif\n");
  EXPECT_TRUE(range.gcc_max.is(5));
}

TEST(HostConfig, LowestRelease) {
  const auto range = read("#if __GNUC__ < 6 || __GNUC__ > 12\n#error -- no\n#endif\n");
  EXPECT_TRUE(range.gcc_max.is(12));
  EXPECT_TRUE(range.gcc_min.is(6));
}

TEST(HostConfig, RemovedCheckIsNoLimit) {
  for (const auto* text :
       {"#if __GNUC__ > 13\n//#error -- unsupported\n#endif\n", "#if __GNUC__ > 13\n/* #error -- x */\n#endif\n", "", "int x;\n"})
    EXPECT_TRUE(read(text).gcc_max.is_absent()) << text;
}

TEST(HostConfig, UnknownConditionIsNotSeen) {
  const auto range = read("#if __has_include(<x.h>)\n#error -- no\n#endif\n");
  EXPECT_TRUE(range.gcc_max.is_not_seen());
  EXPECT_EQ(range.gcc_max.origin().line, 1u);
  EXPECT_TRUE(read("#if __GNUC__ >\n#error\n#endif\n").gcc_max.is_not_seen());
}

TEST(HostConfig, UnknownConditionThatDecidesNothing) {
  EXPECT_TRUE(read("#if defined(_WIN32)\n#if __has_include(<x.h>)\n#error\n#endif\n#endif\n#if __GNUC__ > 9\n#error\n#endif\n")
                  .gcc_max.is(9));
}

TEST(HostConfig, ElseBranches) {
  EXPECT_TRUE(read("#ifdef __clang__\n#elif __GNUC__ > 7\n#error\n#endif\n").gcc_max.is(7));
  EXPECT_TRUE(read("#ifdef __clang__\n#elif __GNUC__ > 7\n#error\n#endif\n").clang_max.is_absent());
  EXPECT_TRUE(read("#if __GNUC__ <= 7\n#else\n#error\n#endif\n").gcc_max.is(7));
}

TEST(HostConfig, RefusesEverything) { EXPECT_TRUE(read("#error never\n").gcc_max.is_not_seen()); }

TEST(HostConfig, DamagedHeaders) {
  EXPECT_TRUE(read("#endif\n#else\n#elif 1\n#if __GNUC__ > 3\n#error\n").gcc_max.is(3));
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "#if 1\n";
  read(deep + "#error\n");
  read("#if " + std::string(5000, '(') + "\n#error\n#endif\n");
}

Truth truth(std::string_view text) { return evaluate_condition(text, {{"A", 5}, {"B", 0}}); }

TEST(Condition, Operators) {
  EXPECT_EQ(truth("A == 5 && !B"), Truth::Yes);
  EXPECT_EQ(truth("A*100 + 3 >= 503 || nothing"), Truth::Yes);
  EXPECT_EQ(truth("defined A && defined(B) && !defined(C)"), Truth::Yes);
  EXPECT_EQ(truth("A - 5"), Truth::No);
  EXPECT_EQ(truth("A < 3 || A > 7"), Truth::No);
  EXPECT_EQ(truth("0x10 == 16L"), Truth::Yes);
}

TEST(Condition, Unknown) {
  EXPECT_EQ(truth("f(1, (2))"), Truth::Unknown);
  EXPECT_EQ(truth("f(1) && B"), Truth::No);
  EXPECT_EQ(truth("f(1) || A"), Truth::Yes);
  for (const auto* text : {"", "A ?", "A ? 1 : 2", "(A", "A B", "defined", "'x'", "A / 2", "9999999999999999999999"})
    EXPECT_EQ(truth(text), Truth::Unknown) << text;
}

TEST(MathDeclarations, WithAndWithoutSpecification) {
  const std::string old =
      "extern __DEVICE__ double                 sinpi(double x);\nextern __DEVICE__ float  cospif(float x);\n";
  EXPECT_TRUE(read_math_declarations(old, "/m.h", functions_of_glibc_2_41).is(false));
  const std::string fit =
      " * sinpi(double) doc\nextern __DEVICE__ double sinpi(double x) __NV_EXCEPTION_SPECIFIER;\nextern float cospif(float x) "
      "noexcept (true);\n";
  EXPECT_TRUE(read_math_declarations(fit, "/m.h", functions_of_glibc_2_41).is(true));
  EXPECT_EQ(read_math_declarations(fit, "/m.h", functions_of_glibc_2_41).origin().line, 2u);
  EXPECT_TRUE(read_math_declarations(fit + old, "/m.h", functions_of_glibc_2_41).is(false));
  EXPECT_TRUE(read_math_declarations("", "/m.h", functions_of_glibc_2_41).is_not_seen());
  EXPECT_TRUE(read_math_declarations("extern double sinpi(double", "/m.h", functions_of_glibc_2_41).is_known());
}

}  // namespace
}  // namespace gpuvet
