// The data compiler: data/ (tables, rule records, action records) → C++ source. Incomplete data is refused with
// "path:line: message". A second mode checks that every rule has its scenarios.
//
//   compile_data DATA_DIR OUT_DIR
//   compile_data --check-scenarios DATA_DIR SCENARIO_DIR CASE_DIR

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "compile_data/generate.h"

namespace {

using compile_data::Problems;

int report(const Problems& problems) {
  for (const std::string& line : problems.lines()) std::cerr << line << "\n";
  return problems.none() ? 0 : 1;
}

// A file that did not change keeps its time, so that nothing is compiled again for a comment in another table.
bool write_if_changed(const std::string& path, const std::string& text) {
  std::ifstream old(path, std::ios::binary);
  if (old && std::string(std::istreambuf_iterator<char>(old), {}) == text) return true;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.flush();
  return out.good();
}

int generate(const std::string& data_dir, const std::string& out_dir) {
  Problems problems;
  std::vector<compile_data::CatalogueRow> catalogue;
  const std::string tables = generate_tables(data_dir, catalogue, problems);
  const std::string rules = generate_rule_records(data_dir, catalogue, problems);
  const std::string actions = generate_action_records(data_dir, problems);
  const std::string signatures = generate_signature_records(data_dir, problems);
  if (!problems.none()) return report(problems);
  std::error_code error;
  std::filesystem::create_directories(out_dir, error);
  const bool written = write_if_changed(out_dir + "/tables.cpp", tables) &&
                       write_if_changed(out_dir + "/rule_records.cpp", rules) &&
                       write_if_changed(out_dir + "/action_records.cpp", actions) &&
                       write_if_changed(out_dir + "/signature_records.cpp", signatures);
  if (!written) std::cerr << out_dir << ": cannot write\n";
  return written ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 2) return generate(arguments[0], arguments[1]);
  if (arguments.size() == 4 && arguments[0] == "--check-scenarios") {
    Problems problems;
    compile_data::check_scenarios(arguments[1], arguments[2], arguments[3], problems);
    return report(problems);
  }
  std::cerr << "usage: compile_data DATA_DIR OUT_DIR\n       compile_data --check-scenarios DATA_DIR SCENARIO_DIR CASE_DIR\n";
  return 2;
}
