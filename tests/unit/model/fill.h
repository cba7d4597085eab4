#pragma once
// Fills every field that model/fields.h lists: for round trips. A field that the lists forget is caught by counting members.

#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "model/fields.h"

namespace gpuvet {

/// Gives every field a value that is not its default and differs from all others.
class FillEverything {
 public:
  void operator()(const char*, auto& field) { fill(field); }

  void fill(std::string& v) { v = "text " + std::to_string(++count_) + " \"ä\\\n\x01\xff\xed\xa0\x80 \xf4\x8f\xbf\xbf"; }
  void fill(bool& v) { v = !v; }
  void fill(std::int64_t& v) { v = -++count_; }
  void fill(std::uint32_t& v) { v = 0xffffffff - static_cast<std::uint32_t>(++count_); }
  void fill(std::uint64_t& v) { v = ~std::uint64_t{0} - static_cast<std::uint64_t>(++count_); }
  void fill(double& v) { v = 0.1 * static_cast<double>(++count_); }
  void fill(std::map<std::string, std::string>& v) {
    for (int i = 0; i < 2; ++i) {
      std::string name, value;
      fill(name), fill(value);
      v[name] = value;
    }
  }
  template <class T>
  void fill(std::vector<T>& v) {
    v.resize(2);
    for (auto& item : v) fill(item);
  }
  template <class T>
  void fill(Fact<T>& v) {
    T value{};
    fill(value);
    Origin origin;
    fill(origin);
    v = Fact<T>::known(std::move(value), origin);
  }
  template <HasFields T>
  void fill(T& v) { visit_fields(v, std::ref(*this)); }

 private:
  std::int64_t count_ = 0;
};

/// Random values, absent and not-seen facts and odd bytes included.
class FillAtRandom {
 public:
  explicit FillAtRandom(std::uint32_t seed) : random_(seed) {}
  void operator()(const char*, auto& field) { fill(field); }

  void fill(std::string& v) {
    v.resize(below(12));
    for (char& c : v) c = static_cast<char>(below(3) == 0 ? below(256) : 'a' + below(26));
  }
  void fill(bool& v) { v = below(2) == 0; }
  void fill(std::int64_t& v) { v = static_cast<std::int64_t>(bits()); }
  void fill(std::uint32_t& v) { v = static_cast<std::uint32_t>(bits()); }
  void fill(std::uint64_t& v) { v = bits(); }
  void fill(double& v) { v = static_cast<double>(static_cast<std::int64_t>(bits())) / static_cast<double>(1 + below(1000000)); }
  void fill(std::map<std::string, std::string>& v) {
    for (std::uint64_t i = below(3); i > 0; --i) {
      std::string name, value;
      fill(name), fill(value);
      v[name] = value;
    }
  }
  template <class T>
  void fill(std::vector<T>& v) {
    v.resize(below(3));
    for (auto& item : v) fill(item);
  }
  template <class T>
  void fill(Fact<T>& v) {
    T value{};
    Origin origin;
    std::string why;
    fill(value), fill(why);
    if (below(2) == 0) fill(origin);
    switch (below(4)) {
      case 0: v = Fact<T>::absent(origin); break;
      case 1: v = Fact<T>::not_seen(why, origin); break;
      case 2: break;
      default: v = Fact<T>::known(std::move(value), origin);
    }
  }
  template <HasFields T>
  void fill(T& v) { visit_fields(v, std::ref(*this)); }

 private:
  std::uint64_t bits() { return random_(); }
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::mt19937_64 random_;
};

}  // namespace gpuvet
