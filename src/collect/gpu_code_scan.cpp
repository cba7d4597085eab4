#include "collect/gpu_code_scan.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <new>
#include <set>
#include <thread>

#include "elf/cut_off.h"
#include "elf/gpu_code.h"

namespace gpuvet {
namespace {

constexpr std::size_t most_waiting = 4096;         ///< files that wait for a thread
constexpr std::size_t most_in_folder = 1'000'000;  ///< entries
constexpr std::size_t most_problems = 1000;

struct Job {
  std::uint64_t number = 0;  ///< in the order of the walk
  std::string path;
  bool named = false;  ///< by the user
};

struct Answer {
  std::uint64_t number = 0;
  std::vector<GpuCodeFile> files;
  std::vector<ScanProblem> problems;
  std::uint64_t read = 0;  ///< bytes; 0: rejected by its first ones
};

/// A bounded queue: the walk waits while the readers are behind.
class Queue {
 public:
  void push(Job job) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return jobs_.size() < most_waiting; });
    jobs_.push_back(std::move(job));
    work_.notify_one();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    work_.notify_all();
  }
  bool pop(Job& job) {
    std::unique_lock lock(mutex_);
    work_.wait(lock, [&] { return !jobs_.empty() || closed_; });
    if (jobs_.empty()) return false;
    job = std::move(jobs_.front());
    jobs_.pop_front();
    room_.notify_one();
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable work_, room_;
  std::deque<Job> jobs_;
  bool closed_ = false;
};

GpuCodeFile empty_record(const Job& job, std::uint64_t size) {
  GpuCodeFile file;
  file.path = file.real_path = job.path;
  file.size = static_cast<std::int64_t>(size);
  return file;
}

void read_archive(FileReader& reader, const Job& job, const ArchiveLimits& limits, Answer& answer) {
  const ArchiveOutcome outcome = read_gpu_code_archive(reader, job.path, limits, [&](GpuCodeFile file) {
    file.real_path = job.path;
    answer.files.push_back(std::move(file));
  });
  // In a tree, what begins like a zip and is none (or a damaged document) is nobody's concern.
  const bool matters = job.named || !answer.files.empty() || is_named_as_archive(job.path);
  if (!outcome.state.empty() && matters) answer.problems.push_back({job.path, outcome.problem});
  if ((!outcome.state.empty() && matters) || (job.named && answer.files.empty())) {
    GpuCodeFile record = empty_record(job, reader.size());
    record.state = outcome.state;
    record.problem = outcome.problem;
    answer.files.push_back(std::move(record));
  }
}

/// A library that broke off has lost its section table, and perhaps its GPU code. In a tree only what shows such code, or is
/// called a library, is worth a word: compilers' test data is full of damaged files.
void note_cut_off(FileReader& reader, const Job& job, GpuCodeFile& file) {
  const auto header = read_elf_header(reader);
  if (!header) return;
  const std::uint64_t whole = whole_size_if_cut({reader, *header, read_segments(reader, *header)});
  if (whole == 0) return;
  const bool is_library = job.path.ends_with(".so") || job.path.find(".so.") != std::string::npos;
  if (!job.named && !is_library && !shows_gpu_code(file)) return;
  file.state = "damaged";
  file.problem = "cut off: needs at least " + std::to_string(whole) + " bytes, has " + std::to_string(reader.size());
}

void read_file(FileReader& reader, const Job& job, Answer& answer) {
  GpuCodeFile file = read_gpu_code(reader);
  file.path = file.real_path = job.path;
  file.size = static_cast<std::int64_t>(reader.size());
  note_cut_off(reader, job, file);
  if (!file.state.empty() && file.state != "headers") answer.problems.push_back({job.path, file.problem});
  if (job.named || shows_gpu_code(file) || !file.state.empty()) answer.files.push_back(std::move(file));
}

void give_up(const Job& job, const std::string& why, Answer& answer) {
  answer.problems.push_back({job.path, why});
  if (!job.named) return;
  answer.files.push_back(empty_record(job, 0));
  answer.files.back().state = "unreadable";
  answer.files.back().problem = why;
}

void read_job(System& system, const Job& job, const GpuCodeScanOptions& options, Answer& answer) {
  auto reader = system.open(job.path);
  if (!reader) return give_up(job, reader.error().message, answer);
  const auto head = (*reader)->read_at(0, sniffed_bytes);
  if (!head) return give_up(job, head.error().message, answer);
  const FileSort sort = sort_of_file(*head, job.path);
  if (sort == FileSort::Nothing) {
    if (job.named) answer.files.push_back(empty_record(job, (*reader)->size()));
    return;
  }
  answer.read = (*reader)->size();
  if (sort == FileSort::Archive) {
    read_archive(**reader, job, options.archives, answer);
  } else {
    read_file(**reader, job, answer);
  }
}

Answer examine(System& system, const Job& job, const GpuCodeScanOptions& options) {
  Answer answer;
  answer.number = job.number;
  try {
    read_job(system, job, options, answer);
  } catch (const std::bad_alloc&) {  // must not leave a thread
    give_up(job, "not enough memory", answer);
  }
  return answer;
}

/// Goes through the trees in the order of names and hands out the files.
class TreeWalk {
 public:
  TreeWalk(System& system, const GpuCodeScanOptions& options, Queue& queue, GpuCodeScan& scan)
      : system_(system), options_(options), queue_(queue), scan_(scan) {}

  void start(const std::string& path) {
    const auto status = system_.status(path, true);
    if (!status) return problem(path, status.error().message, true);
    if (status->type == FileType::Directory) {
      folders_.push_back({path, 0});
      while (!folders_.empty() && !scan_.stopped) step();
      folders_.clear();
    } else if (status->type == FileType::Regular) {
      if (is_new(*status)) hand_out(path, true);
    } else {
      problem(path, "not a regular file", true);
    }
  }

 private:
  struct Folder {
    std::string path;
    int depth = 0;
  };

  void step() {
    const Folder folder = std::move(folders_.back());
    folders_.pop_back();
    const auto status = system_.status(folder.path, true);
    if (!status) return problem(folder.path, status.error().message);
    if (!is_new(*status)) return;
    if (folder.depth > options_.most_depth) return problem(folder.path, "folders lie too deep");
    const auto entries = system_.list(folder.path, most_in_folder);
    if (!entries) return problem(folder.path, entries.error().message);
    if (entries->size() >= most_in_folder) problem(folder.path, "too many entries; the first million was looked at");
    std::vector<Folder> below;
    for (const DirectoryEntry& entry : *entries) {
      const std::string path = (folder.path == "/" ? "" : folder.path) + "/" + entry.name;
      if (entry.type == FileType::Directory && !kernels_own(path)) below.push_back({path, folder.depth + 1});
      if (entry.type == FileType::Regular && !file(path)) return;
    }
    folders_.insert(folders_.end(), std::make_move_iterator(below.rbegin()), std::make_move_iterator(below.rend()));
  }

  /// A walk over "/" must not end in what the kernel makes up.
  bool kernels_own(const std::string& path) const { return path == "/proc" || path == "/sys" || path == "/dev"; }

  bool file(const std::string& path) {
    const auto status = system_.status(path, false);
    if (!status) return problem(path, status.error().message), true;
    if (status->type != FileType::Regular || status->size < 4 || !is_new(*status)) return true;
    return hand_out(path, false), !scan_.stopped;
  }

  bool is_new(const FileStatus& status) { return seen_.insert({status.device, status.inode}).second; }

  void hand_out(const std::string& path, bool named) {
    if (scan_.files_seen >= options_.most_files) {
      scan_.stopped = true;
      return;
    }
    ++scan_.files_seen;
    queue_.push({number_++, path, named});
  }

  void problem(const std::string& path, const std::string& why, bool named = false) {
    if (scan_.problems.size() < most_problems) scan_.problems.push_back({path, why});
    if (!named) return;
    GpuCodeFile record;
    record.path = record.real_path = path;
    record.state = "unreadable";
    record.problem = why;
    scan_.files.push_back(std::move(record));
  }

  System& system_;
  const GpuCodeScanOptions& options_;
  Queue& queue_;
  GpuCodeScan& scan_;
  std::vector<Folder> folders_;  ///< still to be listed, the next one last
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen_;
  std::uint64_t number_ = 0;
};

void merge(std::vector<Answer> answers, GpuCodeScan& scan) {
  std::sort(answers.begin(), answers.end(), [](const Answer& a, const Answer& b) { return a.number < b.number; });
  for (Answer& answer : answers) {
    scan.files.insert(scan.files.end(), std::make_move_iterator(answer.files.begin()),
                      std::make_move_iterator(answer.files.end()));
    for (ScanProblem& problem : answer.problems) {
      if (scan.problems.size() < most_problems) scan.problems.push_back(std::move(problem));
    }
  }
}

}  // namespace

GpuCodeScan scan_gpu_code(System& system, const std::vector<std::string>& paths, const GpuCodeScanOptions& options) {
  GpuCodeScan scan;
  Queue queue;
  std::mutex guard;  // of `answers` and of the sums in `scan` that the readers write
  std::vector<Answer> answers;
  const unsigned count = options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  // A single archive keeps all cores busy by itself; of many files each core has one.
  GpuCodeScanOptions own = options;
  if (paths.size() == 1 && !system.is_directory(paths.front())) own.archives.threads = std::min(count, 4U);
  const auto work = [&] {
    Job job;
    while (queue.pop(job)) {
      Answer answer = examine(system, job, own);
      if (answer.read == 0 && answer.files.empty() && answer.problems.empty()) continue;
      const std::lock_guard lock(guard);
      if (answer.read > 0) ++scan.files_read, scan.bytes_read += answer.read;
      if (!answer.files.empty() || !answer.problems.empty()) answers.push_back(std::move(answer));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::min(count, 64U); ++i) threads.emplace_back(work);
  TreeWalk walk(system, options, queue, scan);
  for (const std::string& path : paths) walk.start(path);
  queue.close();
  for (std::thread& thread : threads) thread.join();
  merge(std::move(answers), scan);
  return scan;
}

}  // namespace gpuvet
