#include "elf/symbol_index.h"

#include <algorithm>

#include "elf/symbol_entries.h"
#include "elf/symbol_hash.h"
#include "elf/window_reader.h"

namespace gpuvet {
namespace {

constexpr std::uint64_t max_bytes = std::uint64_t{256} << 20;
constexpr std::uint64_t max_symbols = std::uint64_t{1} << 20;
constexpr std::uint64_t max_gap = std::uint64_t{16} << 10;  ///< tables this close are read at once
constexpr unsigned max_chain = 4096;

struct Table {
  std::uint64_t offset = 0, size = 0;
  std::string_view bytes;
};

}  // namespace

struct SymbolIndex::Tables {
  bool wide = true, big_endian = false;
  std::vector<std::unique_ptr<char[]>> pieces;  ///< own the bytes of the views
  Table gnu_hash, hash, symbols, strings, indices;
  SymbolVersions versions;

  ByteView view(const Table& table) const { return {table.bytes, big_endian}; }
  std::uint64_t entry() const { return wide ? 24 : 16; }
  std::uint64_t count() const { return symbols.bytes.size() / entry(); }

  bool read(FileReader& file);
  void read_pieces(FileReader& file, const std::vector<Table*>& tables);
  std::uint64_t first_hashed() const;
  bool is(std::uint64_t index, std::string_view name, std::string_view version) const;
  bool by_gnu_hash(std::uint32_t hash_value, std::string_view name, std::string_view version) const;
  bool by_hash(std::string_view name, std::string_view version) const;
};

bool SymbolIndex::Tables::read(FileReader& file) {
  std::vector<Table*> tables{&gnu_hash, &hash, &symbols, &strings, &indices};
  std::erase_if(tables, [](const Table* t) { return t->size == 0; });
  std::ranges::sort(tables, {}, [](const Table* t) { return t->offset; });
  std::uint64_t total = 0;
  for (auto* table : tables) {
    table->size = table->offset < file.size() ? std::min(table->size, file.size() - table->offset) : 0;
    total += table->size;
  }
  if (total > max_bytes) return false;
  if (const auto all = file.bytes(); !all.empty()) {  // only what is asked for is ever touched
    for (auto* table : tables) table->bytes = ByteView{all}.slice(table->offset, table->size);
  } else {
    read_pieces(file, tables);
  }
  // Up to the last NUL, so that no search for the end of a name runs on in vain.
  strings.bytes = strings.bytes.substr(0, strings.bytes.rfind('\0') + 1);
  return true;
}

/// Linkers lay these tables side by side: mostly one read is enough. `tables` are in the order of their places.
void SymbolIndex::Tables::read_pieces(FileReader& file, const std::vector<Table*>& tables) {
  pieces.reserve(tables.size());
  for (auto first = tables.begin(); first != tables.end();) {
    auto end = (*first)->offset + (*first)->size;
    auto next = first + 1;
    for (; next != tables.end() && (*next)->offset <= end + max_gap; ++next) end = std::max(end, (*next)->offset + (*next)->size);
    const auto start = (*first)->offset;
    const auto length = static_cast<std::size_t>(end - start);
    char* const to = pieces.emplace_back(std::make_unique_for_overwrite<char[]>(length)).get();
    const std::string_view bytes(to, file.read_into(start, to, length).value_or(0));
    for (; first != next; ++first) (*first)->bytes = ByteView{bytes}.slice((*first)->offset - start, (*first)->size);
  }
}

/// Undefined symbols stand before it. Where nothing is hashed GNU ld writes 1: then all of the table is to be looked at.
std::uint64_t SymbolIndex::Tables::first_hashed() const {
  const auto v = view(gnu_hash);
  const std::uint64_t buckets = v.u32(0), first = v.u32(4), bloom_words = v.u32(8);
  const std::uint64_t table = 16 + bloom_words * (wide ? 8 : 4);
  bool hashed = false;
  for (std::uint64_t i = 0; i < buckets && !hashed && v.has(table + 4 * i, 4); ++i) hashed = v.u32(table + 4 * i) != 0;
  return hashed ? std::min(first, count()) : count();
}

bool SymbolIndex::Tables::is(std::uint64_t index, std::string_view name, std::string_view version) const {
  if (index >= count()) return false;
  const auto v = view(symbols);
  const std::uint64_t at = index * entry(), name_at = v.u32(at);
  const ByteView text{strings.bytes};
  if (text.slice(name_at, name.size()) != name || !text.has(name_at + name.size(), 1) || text.u8(name_at + name.size()) != 0)
    return false;
  const auto symbol = parse_symbol(v, at, wide, {});
  if (!symbol || !symbol->defined) return false;
  if (version.empty()) return true;
  DynamicSymbol with_version;
  set_symbol_version(with_version, view(indices).u16(index * 2), versions);
  return with_version.version.empty() || with_version.version == version;
}

bool SymbolIndex::Tables::by_gnu_hash(std::uint32_t hash_value, std::string_view name, std::string_view version) const {
  const auto v = view(gnu_hash);
  const std::uint32_t buckets = v.u32(0), first = v.u32(4), bloom_words = v.u32(8), shift = v.u32(12) & 31;
  if (buckets == 0 || bloom_words == 0) return false;
  const std::uint64_t word = wide ? 8 : 4;
  const std::uint32_t bits = wide ? 64 : 32;
  const auto filter_at = 16 + (hash_value / bits % bloom_words) * word;
  const std::uint64_t filter = wide ? v.u64(filter_at) : v.u32(filter_at);
  if ((filter >> (hash_value % bits) & filter >> ((hash_value >> shift) % bits) & 1) == 0) return false;
  const auto bucket_table = 16 + bloom_words * word;
  std::uint64_t index = v.u32(bucket_table + std::uint64_t{4} * (hash_value % buckets));
  if (index < first) return false;
  const auto chains = bucket_table + std::uint64_t{4} * buckets;
  for (unsigned step = 0; step < max_chain; ++step, ++index) {
    const auto link = v.u32(chains + 4 * (index - first));
    if ((link | 1) == (hash_value | 1) && is(index, name, version)) return true;
    if (link & 1) break;
  }
  return false;
}

bool SymbolIndex::Tables::by_hash(std::string_view name, std::string_view version) const {
  const auto v = view(hash);
  const std::uint64_t buckets = v.u32(0);
  if (buckets == 0) return false;
  std::uint64_t index = v.u32(8 + 4 * (sysv_symbol_hash(name) % buckets));
  for (unsigned step = 0; step < max_chain && index != 0; ++step) {
    if (is(index, name, version)) return true;
    index = v.u32(8 + 4 * (buckets + index));
  }
  return false;
}

SymbolIndex::SymbolIndex(std::unique_ptr<Tables> tables) : tables_(std::move(tables)) {}
SymbolIndex::SymbolIndex(SymbolIndex&&) noexcept = default;
SymbolIndex& SymbolIndex::operator=(SymbolIndex&&) noexcept = default;
SymbolIndex::~SymbolIndex() = default;

tl::expected<SymbolIndex, std::string> SymbolIndex::read(FileReader& file) {
  WindowReader windows(file);
  const auto header = read_elf_header(windows);
  if (!header) return failure(header.error());
  const ElfFile elf{windows, *header, read_segments(windows, *header)};
  const auto dynamic = read_dynamic_section(elf);
  if (!dynamic) return failure("no dynamic section");
  if (dynamic->symbols == 0 || dynamic->strings == 0) return SymbolIndex(std::make_unique<Tables>());  // it has none
  if (dynamic->gnu_hash == 0 && dynamic->hash == 0) return failure("no hash table");
  const auto count = symbol_count(elf, *dynamic);
  if (count > max_symbols) return failure("the symbol table is too large");
  auto tables = std::make_unique<Tables>();
  tables->wide = header->wide;
  tables->big_endian = header->big_endian;
  if (dynamic->gnu_hash != 0) {
    const auto head = elf.read(dynamic->gnu_hash, 16);
    const auto v = header->view(head);
    const auto fixed = 16 + std::uint64_t{v.u32(8)} * header->word() + std::uint64_t{v.u32(0)} * 4;
    tables->gnu_hash = {dynamic->gnu_hash, fixed + 4 * (count - std::min<std::uint64_t>(v.u32(4), count)), {}};
  } else {
    const auto head = elf.read(dynamic->hash, 8);
    const auto v = header->view(head);
    tables->hash = {dynamic->hash, 8 + 4 * (std::uint64_t{v.u32(0)} + v.u32(4)), {}};
  }
  tables->symbols = {dynamic->symbols, count * symbol_size(elf), {}};
  tables->strings = {dynamic->strings, dynamic->strings_size, {}};
  if (dynamic->symbol_versions != 0) tables->indices = {dynamic->symbol_versions, count * 2, {}};
  if (!tables->read(file)) return failure("the symbol table is too large");
  tables->versions = read_symbol_versions(elf, *dynamic, {tables->strings.bytes});
  return SymbolIndex(std::move(tables));
}

std::vector<DynamicSymbol> SymbolIndex::undefined() const {
  const Tables& t = *tables_;
  std::vector<DynamicSymbol> found;
  const auto end = t.gnu_hash.size != 0 ? t.first_hashed() : t.count();
  std::size_t length = 0;
  for (std::uint64_t i = 1; i < end; ++i) {
    auto symbol = parse_symbol(t.view(t.symbols), i * t.entry(), t.wide, {t.strings.bytes});
    if (!symbol || symbol->defined) continue;
    length += symbol->name.size();
    if (length / 8 > t.strings.bytes.size()) break;  // names that overlap so much are no linker's
    set_symbol_version(*symbol, t.view(t.indices).u16(i * 2), t.versions);
    found.push_back(*symbol);
  }
  return found;
}

bool SymbolIndex::defines(std::string_view name, std::string_view version) const {
  return defines(name, version, gnu_symbol_hash(name));
}

bool SymbolIndex::defines(std::string_view name, std::string_view version, std::uint32_t hash) const {
  return tables_->gnu_hash.size != 0 ? tables_->by_gnu_hash(hash, name, version) : tables_->by_hash(name, version);
}

}  // namespace gpuvet
