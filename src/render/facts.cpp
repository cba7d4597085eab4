#include "render/facts.h"

#include "model/fields.h"
#include "render/messages.h"
#include "render/report.h"
#include "render/terminal_text.h"

namespace gpuvet {
namespace {

/// Lines "kernel_driver.version = 550.120   (/proc/driver/nvidia/version:1)"; what nobody looked for is left out.
class FactLines {
 public:
  FactLines(std::string& out, const RenderOptions& options) : out_(out), options_(options) {}

  void walk(const std::string& v) {
    if (!v.empty()) line(printable(v), nullptr);
  }
  void walk(bool v) { line(v ? "yes" : "no", nullptr); }
  void walk(double v) {
    if (v >= 0) line(std::to_string(v), nullptr);
  }
  template <class Integer>
  requires std::is_integral_v<Integer>
  void walk(Integer v) { line(number(v), nullptr); }
  void walk(const Origin& v) {
    if (!v.source.empty()) line(printable(v.text), &v);
  }
  void walk(const std::map<std::string, std::string>& v) {
    for (const auto& entry : v) inside("." + printable(entry.first), [&] { line(printable(entry.second), nullptr); });
  }
  template <class T>
  void walk(const std::vector<T>& v) {
    for (std::size_t i = 0; i < v.size(); ++i) inside("[" + std::to_string(i) + "]", [&] { walk(v[i]); });
  }
  template <class T>
  void walk(const Fact<T>& v) {
    if (v.is_absent()) return line("absent", &v.origin());
    if (v.is_not_seen()) {
      if (!v.why().empty()) line("not seen: " + printable(v.why()), &v.origin());
      return;
    }
    fact_origin_ = &v.origin();
    walk(*v.get());
    fact_origin_ = nullptr;
  }
  template <HasFields T>
  void walk(const T& v) {
    visit_fields(v, [&](const char* name, const auto& field) {
      inside(std::string(place_.empty() ? "" : ".") + name, [&] { walk(field); });
    });
  }

 private:
  template <class Integer>
  std::string number(Integer v) {
    const bool hex = place_.ends_with("vendor") || place_.ends_with(".device") || place_.ends_with("subsystem_device") ||
                     place_.ends_with("class_code") || place_.ends_with("flags") || place_.ends_with(".start") ||
                     place_.ends_with("acs_control");
    if (!hex || v < 0) return std::to_string(v);
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (auto rest = static_cast<std::uint64_t>(v); rest != 0 || text.empty(); rest >>= 4)
      text.insert(text.begin(), digits[rest & 15U]);
    return "0x" + text;
  }
  template <class Function>
  void inside(const std::string& step, Function function) {
    const std::size_t length = place_.size();
    place_ += step;
    function();
    place_.resize(length);
  }
  void line(const std::string& value, const Origin* origin) {
    if (origin == nullptr) origin = fact_origin_;
    out_ += "  " + place_ + " = " + value;
    if (origin != nullptr && !origin->source.empty())
      out_ += "  " + styled("(" + origin_place(*origin) + ")", Style::Dim, options_.color);
    out_ += '\n';
  }

  std::string& out_;
  const RenderOptions& options_;
  std::string place_;
  const Origin* fact_origin_ = nullptr;
};

}  // namespace

std::string render_facts(const Machine& machine, const RenderOptions& options) {
  std::string out;
  FactLines(out, options).walk(machine);
  return out;
}

}  // namespace gpuvet
