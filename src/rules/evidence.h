#pragma once
// Small helpers for rules: finding what a rule looks for in a Machine, and quoting it as evidence. Nothing here judges.

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/finding.h"
#include "model/machine.h"
#include "model/text_search.h"

namespace gpuvet {

// ---- kernel log ----------------------------------------------------------------------------------------------------

/// Events of the newest boot in the log, oldest first; of one kind ("nvrm", "pci") or of all. Empty too when no log was seen.
std::vector<const LogEvent*> current_events(const Machine& machine, std::string_view kind = {});

/// Events of the newest boot whose text has every one of `parts` (upper and lower case count as equal), oldest first.
std::vector<const LogEvent*> events_with(const Machine& machine, std::initializer_list<std::string_view> parts);
/// The first of them, or null.
const LogEvent* first_event_with(const Machine& machine, std::initializer_list<std::string_view> parts);

/// Takes away what the driver said before its module was loaded last ("NVRM: loading NVIDIA UNIX …"): a reload starts it anew.
void keep_since_last_load(const Machine& machine, std::vector<const LogEvent*>& events);

/// Xid events since the module was loaded last (in the newest boot), oldest first; or those with one of these numbers.
std::vector<const LogEvent*> xids_since_load(const Machine& machine);
std::vector<const LogEvent*> current_xids(const Machine& machine, std::span<const int> codes);
std::vector<const LogEvent*> current_xids(const Machine& machine, std::initializer_list<int> codes);

/// For every GPU its first Xid of this boot that speaks of the GPU itself, not of a program (48, 63, 64, 74, 79, 94, 95,
/// 119, 120, 140, 144 … 150), in the order of the log. Those of the next ten minutes on the same GPU are its aftermath and
/// left out; later ones count anew.
std::vector<const LogEvent*> leading_xids(const Machine& machine);

/// Does an event's `pci` ("0000:01:00", "0000:01:00.0") name the device at this address? Empty names nothing.
bool names_device(std::string_view event_pci, std::string_view address);

// ---- modules, packages, nodes, PCI ----------------------------------------------------------------------------------

/// The loaded module (name with underscores), or null: not loaded, or the list was not seen.
const LoadedModule* loaded_module(const Machine& machine, std::string_view name);
/// The list of loaded modules was seen and this one is not in it.
bool surely_not_loaded(const Machine& machine, std::string_view name);

/// An installed package (not one that only left its configuration) by its exact name, or null.
const Package* installed_package(const Machine& machine, std::string_view name);
/// Installed packages whose name starts with `prefix`.
std::vector<const Package*> installed_packages_with(const Machine& machine, std::string_view prefix);

/// What is known of a service ("nvidia-fabricmanager"), or null: not told, or services were not seen.
const Service* service(const Machine& machine, std::string_view name);

const DeviceNode* device_node(const Machine& machine, std::string_view path);
/// Nodes /dev/nvidia0, /dev/nvidia1, …
std::vector<const DeviceNode*> gpu_nodes(const Machine& machine);

const PciDevice* pci_device(const Machine& machine, std::string_view address);

/// Laptops and the like by the chassis number of DMI (8, 9, 10, 14, 31, 32); false when not seen.
bool is_portable(const Machine& machine);

/// "cut off: needs at least 1000 bytes, has 500" of a file that is.
std::string words_of_cut(const LibraryFile& file);

// ---- quoting -------------------------------------------------------------------------------------------------------

Origin quote(const LogEvent& event);
Origin quote(const PciDevice& device, std::string_view file, std::string text);  ///< /sys/bus/pci/devices/ADDRESS/FILE
Origin quote(const DeviceNode& node);                                            ///< "crw-rw---- 0:44 195,0"
Origin quote(const Package& package);
Origin quote(const LoadedModule& module);
/// Where a fact comes from, `text` when the origin has none of its own.
template <class T>
Origin quote(const Fact<T>& fact, std::string_view source, std::string text = {}) {
  Origin origin = fact.origin();
  if (origin.source.empty()) origin.source = source;
  if (origin.text.empty()) origin.text = std::move(text);
  return origin;
}
/// At most `limit` events, each quoted.
void quote_events(std::vector<Origin>& evidence, std::span<const LogEvent* const> events, std::size_t limit = 4);

Action make_action(std::string_view type, std::map<std::string, std::string> parameters = {});
/// The same as another way, instead of the steps before it.
Action or_action(std::string_view type, std::map<std::string, std::string> parameters = {});
/// Takes a line of modprobe.d back. A vendor's file returns with the next update: /etc/modprobe.d gets one of the same name
/// instead, which modprobe reads in its place (modprobe.d(5)).
Action undo_modprobe_line(const std::string& file, std::string line);

// ---- text ----------------------------------------------------------------------------------------------------------

std::string join(std::span<const std::string> items, std::string_view separator);

}  // namespace gpuvet
