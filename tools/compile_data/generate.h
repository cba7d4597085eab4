#pragma once
// The parts of compile_data: each reads one kind of data, adds problems, and returns C++ source.

#include <string>
#include <string_view>
#include <vector>

#include "compile_data/problems.h"

namespace compile_data {

/// One row of data/catalogue.tsv: what a rule record is checked against.
struct CatalogueRow {
  std::string slug, layer, severity;
};

std::string generate_tables(const std::string& data_dir, std::vector<CatalogueRow>& catalogue, Problems& problems);
std::string generate_rule_records(const std::string& data_dir, const std::vector<CatalogueRow>& catalogue, Problems& problems);
std::string generate_signature_records(const std::string& data_dir, Problems& problems);
std::string generate_action_records(const std::string& data_dir, Problems& problems);

/// Every rule record has scenarios (or texts, for kinds that only texts show) where it fires and near misses, and every scenario
/// folder has a record.
void check_scenarios(const std::string& data_dir, const std::string& scenario_dir, const std::string& case_dir,
                     Problems& problems);

/// Paths of the files of a folder that end in `extension`, sorted; a missing folder has none.
std::vector<std::string> files_in(const std::string& folder, std::string_view extension);
/// C++ string literal of a text, one source line a line of text.
std::string literal(std::string_view text);

}  // namespace compile_data
