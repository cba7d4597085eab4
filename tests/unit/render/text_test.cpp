#include <gtest/gtest.h>

#include <algorithm>

#include <algorithm>

#include "render/distribution.h"
#include "render/messages.h"
#include "render/render.h"
#include "render/terminal_text.h"
#include "sample.h"

namespace gpuvet {
namespace {

TEST(TerminalText, Widths) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("驱动"), 4);
  EXPECT_EQ(display_width("e\xcc\x81"), 1);
  EXPECT_EQ(display_width("，"), 2);
  EXPECT_EQ(display_width("\xff"), 1);
}

TEST(TerminalText, PrintableHasNoRawControls) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable("a\nb\tc\r"), "a\\x0ab c\\x0d");
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\xc2\x9b" "31m"), "\\xc2\\x9b31m");           // C1 CSI
  EXPECT_EQ(printable("\xe2\x80\xae" "x"), "\\xe2\\x80\\xaex");       // right-to-left override
  EXPECT_EQ(printable("é驱"), "é驱");
}

TEST(TerminalText, WrapsAtBlanksAndBetweenChinese) {
  EXPECT_EQ(wrap("one two three", 8), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("驱动程序已经加载", 8), (std::vector<std::string>{"驱动程序", "已经加载"}));
  // A full stop does not begin a line.
  EXPECT_EQ(wrap("驱动程序。", 8), (std::vector<std::string>{"驱动程", "序。"}));
  EXPECT_EQ(wrap("averyveryverylongword x", 8), (std::vector<std::string>{"averyveryverylongword", "x"}));
  EXPECT_EQ(wrap("", 8), (std::vector<std::string>{""}));
}

TEST(TerminalText, AsciiOnly) { EXPECT_EQ(ascii_only("✓ a – “b”…é"), "+ a - \"b\"...\\u{e9}"); }

TEST(Placeholders, FilledOnceAndOnlyWhenKnown) {
  EXPECT_EQ(fill_placeholders("a {x} {y}", {{"x", "{y}"}, {"y", "2"}}), "a {y} 2");
  EXPECT_EQ(fill_placeholders("{z} {", {}), "{z} {");
  EXPECT_TRUE(has_placeholder("apt install {kernel}"));
  EXPECT_FALSE(has_placeholder("awk '{print $1}' ${HOME}"));
}

std::string text_of(const Diagnosis& d, RenderOptions options = {}) { return render_text(d, sample_machine(), Knowledge(), options); }

TEST(RenderText, LinesKeepTheWidthCommandsStayWhole) {
  for (const Language language : {Language::English, Language::Chinese}) {
    for (int width = 40; width <= 120; width += 7) {
      RenderOptions options;
      options.width = width;
      options.language = language;
      const std::string text = text_of(broken_diagnosis(), options);
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        const std::string line = text.substr(at, end - at);
        const bool command = line.starts_with("       ");
        if (!command && line.find("/proc/") == std::string::npos) {
          EXPECT_LE(display_width(line), width) << line;
        }
        at = end + 1;
      }
    }
  }
}

TEST(RenderText, NoEscapesWithoutColourAndNoForeignOnesEver) {
  Diagnosis d = broken_diagnosis();
  d.findings[0].evidence[0].text = "\x1b]0;owned\x07";
  d.findings[0].parameters["kernel"] = "\x1b[2J";
  d.chain[0].detail = "\x1b[31m";
  d.not_seen[0].why = "\x1b[5m";
  EXPECT_EQ(text_of(d).find('\x1b'), std::string::npos);
  EXPECT_EQ(render_markdown(d, sample_machine(), Knowledge(), {}).find('\x1b'), std::string::npos);
}

TEST(RenderText, AsciiWhenAsked) {
  RenderOptions options;
  options.ascii = true;
  for (const char c : text_of(broken_diagnosis(), options)) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
}

TEST(RenderAction, CommandsOfThisDistribution) {
  Machine m = sample_machine();
  const Action action{"install-kernel-headers", {{"kernel", "6.8.0-49-generic"}, {"debian_headers", "linux-headers-6.8.0-49-generic"}}};
  const RenderedAction rendered = render_action(action, m, Language::English);
  ASSERT_FALSE(rendered.commands.empty());
  const auto names_it = [](const std::string& command) { return command.find("linux-headers-6.8.0-49-generic") != std::string::npos; };
  EXPECT_TRUE(std::any_of(rendered.commands.begin(), rendered.commands.end(), names_it));
  m.user.uid = Fact<std::int64_t>::known(0);
  for (const std::string& command : render_action(action, m, Language::English).commands) EXPECT_EQ(command.find("sudo "), std::string::npos);
}

TEST(RenderAction, ForeignParametersCannotEndAWord) {
  const Action action{"install-kernel-headers", {{"debian_headers", "x; rm -rf ~ $(id) `id`"}}};
  for (const std::string& command : render_action(action, sample_machine(), Language::English).commands) {
    if (command.find("rm -rf") != std::string::npos) {
      EXPECT_NE(command.find("'x; rm -rf ~ $(id) `id`'"), std::string::npos) << command;
    }
  }
}

Machine on(const char* id, const char* like, const char* version) {
  Machine m = sample_machine();
  m.os.id = Fact<std::string>::known(id);
  m.os.id_like = Fact<std::string>::known(like);
  m.os.version_id = Fact<std::string>::known(version);
  return m;
}
Machine with_packages(Machine m, std::initializer_list<std::pair<const char*, const char*>> packages) {
  std::vector<Package> list;
  for (const auto& [name, version] : packages) {
    Package p;
    p.name = name, p.version = version, p.status = "installed";
    list.push_back(p);
  }
  m.packages.installed = Fact<std::vector<Package>>::known(list);
  return m;
}

TEST(Distribution, KeysFromTheClosestToTheWidest) {
  EXPECT_EQ(distribution_keys(on("rocky", "rhel centos fedora", "9.4")), (std::vector<std::string>{"rocky", "rhel", "centos", "fedora"}));
  EXPECT_EQ(distribution_keys(on("opensuse-leap", "suse opensuse", "15.6")).at(1), "suse");
  EXPECT_EQ(distribution_keys(on("ubuntu", "", "22.04")), (std::vector<std::string>{"ubuntu", "debian"}));
}

TEST(Distribution, DriverPackages) {
  EXPECT_EQ(driver_installation(on("ubuntu", "debian", "22.04"), 580, "open").packages, "nvidia-driver-580-open");
  EXPECT_EQ(driver_installation(on("ubuntu", "debian", "22.04"), 470, "proprietary").packages, "nvidia-driver-470");
  EXPECT_EQ(driver_installation(with_packages(on("ubuntu", "debian", "22.04"), {{"nvidia-driver-550-server", "550.120-0ubuntu0.22.04.1"}}), 580, "").packages,
            "nvidia-driver-580-server");
  EXPECT_EQ(driver_installation(on("debian", "", "12"), 535, "proprietary").packages, "nvidia-driver");
  EXPECT_EQ(driver_installation(on("arch", "", ""), 590, "open").packages, "nvidia-open nvidia-utils");
  EXPECT_NE(driver_installation(on("arch", "", ""), 580, "proprietary").install.find("nvidia-580xx-dkms"), std::string::npos);
  EXPECT_EQ(driver_installation(on("fedora", "", "41"), 470, "proprietary").packages, "akmod-nvidia-470xx xorg-x11-drv-nvidia-470xx-cuda");
  const DriverInstallation rocky = driver_installation(on("rocky", "rhel centos fedora", "9.4"), 580, "open");
  EXPECT_EQ(rocky.packages, "nvidia-open");
  EXPECT_EQ(rocky.setup.back(), "sudo dnf module enable nvidia-driver:580-open");
  EXPECT_EQ(driver_installation(on("opensuse-leap", "suse opensuse", "15.6"), 550, "open").packages,
            "nvidia-open-driver-G06-signed-kmp-default nvidia-compute-utils-G06 nvidia-video-G06");
}

TEST(Distribution, RpmFusionsModuleIsBuiltBeforeTheReboot) {
  const Action action{"install-driver-branch", {{"branch", "580"}, {"flavor", "proprietary"}}};
  EXPECT_EQ(render_action(action, on("fedora", "", "42"), Language::English).commands.back(), "sudo akmods --force");
  const Action rhel{"install-driver", {{"flavor", "open"}}};
  EXPECT_EQ(render_action(rhel, on("rocky", "rhel centos fedora", "10.0"), Language::English).commands.back(), "sudo dnf install nvidia-open");
}

TEST(Distribution, StepsOfADriverInstallation) {
  const auto has = [](const RenderedAction& rendered, std::string_view command) {
    return std::any_of(rendered.commands.begin(), rendered.commands.end(), [&](const std::string& one) { return one == command; });
  };
  const Action legacy{"install-driver", {{"branch", "580"}, {"flavor", "proprietary"}}};
  const RenderedAction rocky = render_action(legacy, on("rocky", "rhel centos fedora", "9.4"), Language::English);
  EXPECT_TRUE(has(rocky, "sudo dnf module enable nvidia-driver:580-dkms"));
  EXPECT_TRUE(has(rocky, "sudo dnf install cuda-drivers"));
  // Nothing is known for this one: no command is better than a wrong one.
  const RenderedAction rocky10 = render_action(legacy, on("rocky", "rhel centos fedora", "10.0"), Language::English);
  EXPECT_FALSE(has(rocky10, "sudo dnf install cuda-drivers"));
  EXPECT_NE(rocky10.text.find("docs.nvidia.com"), std::string::npos);
}

TEST(Distribution, UnknownSaysWhereToLook) {
  const DriverInstallation unknown = driver_installation(on("void", "", ""), 580, "open");
  EXPECT_FALSE(unknown.known());
  EXPECT_FALSE(unknown.where.empty());
}

}  // namespace
}  // namespace gpuvet
