// A fake driver: the functions of CUDA's driver and runtime that CuPy needs, on the fake device.
//
// It is loaded in place of libcuda.so.1. CuPy's wheel contains the runtime; when CuPy is loaded, the
// functions below replace those of the runtime: see `tests/support/interpreted_gpu.py`.
#include <dlfcn.h>
#include <malloc.h>

#include <mutex>
#include <utility>

#include "device.h"

// The names and numbers of CUDA 12, as far as they are used here.

enum { VERSION = 12090 };
enum Status {
    SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_PTX = 218,
    NOT_FOUND = 500, NOT_READY = 600, LAUNCH_FAILURE = 719,
};
enum Attribute { THREADS = 1, GRID = 5, SHARED_BYTES = 8, WARP_SIZE = 10, PROCESSORS = 16, MAJOR = 75 };
enum Place { UNREGISTERED, ON_HOST, ON_DEVICE };

struct PlaceFacts { int place, device; const void *device_pointer, *host_pointer; };
struct DeviceFacts {
    char name[256], ids[32];
    u64 memory, shared;
    int registers, warp;
    u64 pitch;
    int threads, block[3], grid[3], clock;
    u64 constants;
    int major, minor;
    u64 alignments[2];
    int overlap, processors;
    char others[640];
};
static_assert(sizeof(DeviceFacts) == 1032);

namespace {

// Memory of the interpreter is reused, not returned to the system after each launch.
const int is_kept = mallopt(M_MMAP_THRESHOLD, 1 << 30) + mallopt(M_TRIM_THRESHOLD, 1 << 30);

// Never destroyed: threads may still call the driver while the process ends.
Device& device = *new Device;
std::mutex& lock = *new std::mutex;

using Guard = std::lock_guard<std::mutex>;  // one call at a time

struct Module { std::map<string, Kernel> kernels; };
struct Function { const Kernel* kernel; string name; };
struct Event { std::shared_ptr<Operation> operation; };

std::map<u64, u64> pinned;  // pages of the host that copies read and write late

thread_local Status last_error = SUCCESS;

Status status(Status code = SUCCESS) {
    if (code == SUCCESS && !device.finding.empty()) code = LAUNCH_FAILURE;
    if (code != SUCCESS && code != NOT_READY) last_error = code;
    return code;
}

const char* described(int code) {
    static const std::map<int, string> texts{
        {SUCCESS, "no error"}, {INVALID_VALUE, "invalid argument"}, {OUT_OF_MEMORY, "out of memory"},
        {INVALID_DEVICE, "invalid device ordinal"}, {NOT_FOUND, "named symbol not found"},
    };
    thread_local string text;
    auto found = texts.find(code);
    text = found == texts.end() ? "finding: " + device.finding : found->second;
    return text.c_str();
}

Stream* stream_of(void* handle) {
    if (u64(handle) <= 1) return device.default_stream();
    if (u64(handle) == 2) {  // one for each thread
        thread_local Stream* own = device.add_stream(true);
        return own;
    }
    return static_cast<Stream*>(handle);
}

bool is_pinned(const void* place) {
    auto after = pinned.upper_bound(u64(place));
    return after != pinned.begin() && u64(place) < std::prev(after)->first + std::prev(after)->second;
}

Status copy(void* to, const void* from, u64 bytes, Stream* stream, bool is_asynchronous) {
    if (!bytes) return status();
    const bool to_device = device.is_device(u64(to)), from_device = device.is_device(u64(from));
    if (!to_device && !from_device) {
        std::memcpy(to, from, bytes);
        return status();
    }
    const char* name = to_device ? from_device ? "copy" : "copy to the device" : "copy to the host";
    std::vector<u8> staged;
    if (!from_device && !is_pinned(from)) {
        auto begin = static_cast<const u8*>(from);
        staged.assign(begin, begin + bytes);
    }
    if (to_device && from_device) ++device.counts.copies_within;
    else if (to_device) ++device.counts.copies_in, device.counts.bytes_in += bytes;
    else ++device.counts.copies_out, device.counts.bytes_out += bytes, device.counts.largest_out = std::max(device.counts.largest_out, bytes);
    const auto operation = device.enqueue(
        stream, name, [=, known = device.arrays, staged = std::move(staged)](Operation& self) {
            u8* read = from_device ? device.use(self, known, u64(from), bytes, true, false) : nullptr;
            u8* written = to_device ? device.use(self, known, u64(to), bytes, false, true) : nullptr;
            std::memmove(to, staged.empty() ? from : staged.data(), bytes);
            if (written && read) std::memmove(written, read, bytes);
            else if (written) std::memset(written, 1, bytes);
        });
    const bool waits = to_device ? !from_device && !is_asynchronous : !is_asynchronous || !is_pinned(to);
    if (waits) device.wait(operation);
    return status();
}

Status fill(void* to, int value, u64 bytes, Stream* stream) {
    if (!bytes) return status();
    ++device.counts.sets;
    device.enqueue(stream, "memset", [=, known = device.arrays](Operation& self) {
        if (u8* written = device.use(self, known, u64(to), bytes, false, true)) std::memset(written, 1, bytes);
        std::memset(to, value, bytes);
    });
    return status();
}

void interpret(const Function& function, u32 blocks, u32 threads, const std::vector<u8>& parameters, const Arrays& known, Operation& self) {
    Random& random = device.random;
    Checks checks = device.checks;
    if (checks == Checks::all && function.kernel->has_barriers) checks = Checks::values;
    const bool is_weak = checks != Checks::none && random.below(2);
    const bool is_of_cupy = function.name.rfind("cupy_", 0) == 0;  // it may scatter one value
    Memory memory(known, checks, is_weak, is_of_cupy, random);
    device.counts.instructions += Machine({*function.kernel, blocks, threads, parameters.data()}, memory, random).run();
    Traffic& total = device.traffic[function.name];
    total.launches += 1, total.bytes += memory.traffic.bytes;
    total.random += memory.traffic.random, total.hot += memory.traffic.hot;
    for (auto& region : memory.regions) {
        device.touch(self, region.read.begin, region.read.end, false);
        device.touch(self, region.written.begin, region.written.end, true);
    }
}

void check_written(const u8* written, u64 bytes) {
    if (written && std::find(written, written + bytes, 0) != written + bytes) throw Finding("read of uninitialised memory");
}

template <class T>
void sort_values(void* values, u64 count) {
    auto begin = static_cast<T*>(values);
    std::stable_sort(begin, begin + count, [](T a, T b) { return a < b || (b != b && a == a); });
}

template <class T>
void sort_places(u64* places, const void* values, u64 count) {
    auto value = static_cast<const T*>(values);
    std::iota(places, places + count, u64(0));
    std::stable_sort(places, places + count, [=](u64 i, u64 j) {
        return value[i] < value[j] || (value[j] != value[j] && value[i] == value[i]);
    });
}

// Call a function with a null pointer to a dtype's type; the dtype is "u4", "f8" and so on.
template <class F>
void with_type(const string& dtype, F function) {
    if (dtype == "b1" || dtype == "u1") function((u8*)0);
    else if (dtype == "u2") function((std::uint16_t*)0);
    else if (dtype == "u4") function((u32*)0);
    else if (dtype == "u8") function((u64*)0);
    else if (dtype == "i1") function((std::int8_t*)0);
    else if (dtype == "i2") function((std::int16_t*)0);
    else if (dtype == "i4") function((std::int32_t*)0);
    else if (dtype == "i8") function((i64*)0);
    else if (dtype == "f2") function((_Float16*)0);
    else if (dtype == "f4") function((float*)0);
    else if (dtype == "f8") function((double*)0);
    else throw Finding("a sort of " + dtype);
}

}  // namespace

extern "C" {

// What the tests control and count.

void fake_start(u64 seed, int is_late, int checks, int is_pooled) {
    Guard guard(lock);
    device.finish();
    device.random.state = seed * 0x9E3779B97F4A7C15ULL + 1;
    for (int i = 0; i < 8; ++i) device.random();
    device.is_late = is_late, device.checks = Checks(checks), device.is_pooled = is_pooled;
}

// Return the counts since the last call.
void fake_counts(Counts* counts) {
    Guard guard(lock);
    device.finish();
    *counts = std::exchange(device.counts, {});
}

// Write a line for each kernel since the last call: its name, launches, and sums of `Traffic`.
void fake_traffic(char* text, u64 size) {
    Guard guard(lock);
    device.finish();
    string lines;
    for (auto& [name, all] : std::exchange(device.traffic, {})) {
        lines += name;
        for (u64 each : {all.launches, all.bytes, all.random, all.hot}) lines += ' ' + std::to_string(each);
        lines += '\n';
    }
    std::strncpy(text, lines.c_str(), size - 1);
}

void fake_memory(u64 free, i64 failure) {
    Guard guard(lock);
    device.capacity = device.used + free, device.failure = failure;
}

void fake_array(u64 address, u64 bytes) {
    Guard guard(lock);
    device.announce(address, bytes);
}

// Write the first finding, and forget it.
void fake_finding(char* message, u64 size) {
    Guard guard(lock);
    device.finish();
    std::strncpy(message, device.finding.c_str(), size - 1);
    device.finding.clear();
}

void fake_sort(u64 values, u64 count, const char* dtype, void* stream) {
    Guard guard(lock);
    ++device.counts.sorts;
    device.enqueue(stream_of(stream), "sort", [=, known = device.arrays, dtype = string(dtype)](Operation& self) {
        with_type(dtype, [&](auto* type) {
            check_written(device.use(self, known, values, count * sizeof(*type), true, true), count * sizeof(*type));
            sort_values<std::remove_pointer_t<decltype(type)>>((void*)values, count);
        });
    });
}

void fake_argsort(u64 places, u64 values, u64 count, const char* dtype, void* stream) {
    Guard guard(lock);
    ++device.counts.sorts;
    device.enqueue(stream_of(stream), "argsort", [=, known = device.arrays, dtype = string(dtype)](Operation& self) {
        with_type(dtype, [&](auto* type) {
            check_written(device.use(self, known, values, count * sizeof(*type), true, false), count * sizeof(*type));
            if (u8* written = device.use(self, known, places, count * 8, false, true)) std::memset(written, 1, count * 8);
            sort_places<std::remove_pointer_t<decltype(type)>>((u64*)places, (void*)values, count);
        });
    });
}

// The runtime.

Status cudaDriverGetVersion(int* version) { *version = VERSION; return SUCCESS; }
Status cudaRuntimeGetVersion(int* version) { *version = VERSION; return SUCCESS; }
Status cudaGetDevice(int* which) { *which = 0; return SUCCESS; }
Status cudaGetDeviceCount(int* count) { *count = 1; return SUCCESS; }
Status cudaSetDevice(int which) { return status(which ? INVALID_DEVICE : SUCCESS); }
Status cudaPeekAtLastError() { return last_error; }
Status cudaGetLastError() { return std::exchange(last_error, SUCCESS); }

const char* cudaGetErrorString(int code) { return described(code); }
const char* cudaGetErrorName(int code) { return code == OUT_OF_MEMORY ? "cudaErrorMemoryAllocation" : "cudaError"; }

Status cudaGetDeviceProperties_v2(DeviceFacts* facts, int) {
    std::memset(facts, 0, sizeof *facts);
    std::strcpy(facts->name, "interpreter of PTX");
    facts->memory = device.capacity, facts->shared = 49152, facts->warp = WARP, facts->threads = 1024;
    facts->grid[0] = 0x7fffffff, facts->major = 8, facts->processors = 4;
    return SUCCESS;
}

Status cudaDeviceGetAttribute(int* value, int which, int) {
    static const std::map<int, int> values{
        {THREADS, 1024}, {GRID, 0x7fffffff}, {SHARED_BYTES, 49152}, {WARP_SIZE, WARP}, {PROCESSORS, 4}, {MAJOR, 8},
    };
    auto found = values.find(which);
    *value = found == values.end() ? 0 : found->second;
    return SUCCESS;
}

Status cudaMalloc(void** place, size_t bytes) {
    Guard guard(lock);
    *place = reinterpret_cast<void*>(device.allocate(bytes));
    return status(*place ? SUCCESS : OUT_OF_MEMORY);
}

Status cudaFree(void* place) {
    Guard guard(lock);
    return status(!place || device.release(u64(place)) ? SUCCESS : INVALID_VALUE);
}

Status cudaMemGetInfo(size_t* free, size_t* total) {
    Guard guard(lock);
    *free = device.capacity - std::min(device.capacity, device.used), *total = device.capacity;
    return status();
}

Status cudaHostAlloc(void** place, size_t bytes, unsigned) {
    Guard guard(lock);
    *place = std::malloc(std::max<size_t>(1, bytes));
    pinned[u64(*place)] = bytes;
    return status();
}

Status cudaFreeHost(void* place) {
    Guard guard(lock);
    device.synchronise();
    pinned.erase(u64(place));
    std::free(place);
    return status();
}

Status cudaPointerGetAttributes(PlaceFacts* facts, const void* place) {
    Guard guard(lock);
    std::memset(facts, 0, sizeof *facts);
    const bool is_device = device.is_device(u64(place));
    facts->place = is_device ? ON_DEVICE : is_pinned(place) ? ON_HOST : UNREGISTERED;
    (is_device ? facts->device_pointer : facts->host_pointer) = place;
    return status();
}

Status cudaMemcpy(void* to, const void* from, size_t bytes, int) {
    Guard guard(lock);
    return copy(to, from, bytes, device.default_stream(), false);
}

Status cudaMemcpyAsync(void* to, const void* from, size_t bytes, int, void* stream) {
    Guard guard(lock);
    return copy(to, from, bytes, stream_of(stream), true);
}

Status cudaMemset(void* to, int value, size_t bytes) {
    Guard guard(lock);
    return fill(to, value, bytes, device.default_stream());
}

Status cudaMemsetAsync(void* to, int value, size_t bytes, void* stream) {
    Guard guard(lock);
    return fill(to, value, bytes, stream_of(stream));
}

Status cudaDeviceSynchronize() {
    Guard guard(lock);
    device.synchronise();
    return status();
}

Status cudaStreamCreateWithFlags(void** stream, unsigned flags) {
    Guard guard(lock);
    *stream = device.add_stream(!(flags & 1));
    return status();
}

Status cudaStreamCreate(void** stream) { return cudaStreamCreateWithFlags(stream, 0); }

Status cudaStreamCreateWithPriority(void** stream, unsigned flags, int) {
    return cudaStreamCreateWithFlags(stream, flags);
}

Status cudaStreamDestroy(void*) { return SUCCESS; }  // its work goes on

Status cudaStreamSynchronize(void* stream) {
    Guard guard(lock);
    device.wait(stream_of(stream)->last);
    return status();
}

Status cudaStreamQuery(void* stream) {
    Guard guard(lock);
    auto last = stream_of(stream)->last;
    if (last && !last->is_done && device.random.below(2)) return status(NOT_READY);
    device.learn(last);
    return status();
}

Status cudaStreamIsCapturing(void*, int* is_capturing) {
    *is_capturing = 0;
    return SUCCESS;
}

Status cudaStreamWaitEvent(void* stream, void* event, unsigned) {
    Guard guard(lock);
    device.order(stream_of(stream), static_cast<Event*>(event)->operation);
    return status();
}

Status cudaEventCreateWithFlags(void** event, unsigned) {
    *event = new Event;
    return SUCCESS;
}

Status cudaEventCreate(void** event) { return cudaEventCreateWithFlags(event, 0); }

Status cudaEventDestroy(void* event) {
    Guard guard(lock);
    delete static_cast<Event*>(event);
    return SUCCESS;
}

Status cudaEventRecord(void* event, void* stream) {
    Guard guard(lock);
    static_cast<Event*>(event)->operation = device.enqueue(stream_of(stream), "event", [](Operation&) {});
    return status();
}

Status cudaEventSynchronize(void* event) {
    Guard guard(lock);
    device.wait(static_cast<Event*>(event)->operation);
    return status();
}

Status cudaEventQuery(void* event) {
    Guard guard(lock);
    auto operation = static_cast<Event*>(event)->operation;
    if (operation && !operation->is_done && device.random.below(2)) return status(NOT_READY);
    device.learn(operation);
    return status();
}

Status cudaEventElapsedTime(float* time, void*, void*) { *time = 0; return SUCCESS; }

// The driver.

Status cuInit(unsigned) { return SUCCESS; }
Status cuDriverGetVersion(int* version) { *version = VERSION; return SUCCESS; }
Status cuCtxGetCurrent(void** context) { *context = &device; return SUCCESS; }
Status cuCtxSetCurrent(void*) { return SUCCESS; }
Status cuCtxGetDevice(int* which) { *which = 0; return SUCCESS; }

Status cuDeviceGetCount(int* count) { *count = 1; return SUCCESS; }
Status cuDeviceGet(int* handle, int) { *handle = 0; return SUCCESS; }
Status cuDevicePrimaryCtxRetain(void** context, int) { *context = &device; return SUCCESS; }
Status cuDevicePrimaryCtxRelease_v2(int) { return SUCCESS; }
Status cuDeviceGetAttribute(int* value, int, int) { *value = 0; return SUCCESS; }
Status cuStreamGetFlags(void*, unsigned* flags) { *flags = 0; return SUCCESS; }
Status cuStreamGetPriority(void*, int* priority) { *priority = 0; return SUCCESS; }

Status cuStreamGetCtx(void*, void** context) { return cuCtxGetCurrent(context); }

Status cuGetErrorName(int, const char** name) { *name = "CUDA_ERROR"; return SUCCESS; }
Status cuGetErrorString(int code, const char** text) { *text = described(code); return SUCCESS; }

Status cuModuleLoadData(void** module, const void* image) {
    Guard guard(lock);
    try {
        *module = new Module{Parser(static_cast<const char*>(image)).kernels()};
        return SUCCESS;
    } catch (const Finding& found) {
        device.finding = found.what();
        return INVALID_PTX;
    }
}

Status cuLibraryLoadData(void** module, const void* image, void*, void*, unsigned, void*, void*, unsigned) { return cuModuleLoadData(module, image); }
Status cuLibraryUnload(void*) { return SUCCESS; }
Status cuModuleUnload(void*) { return SUCCESS; }  // a late launch may still need it

Status cuModuleGetFunction(void** function, void* module, const char* name) {
    Guard guard(lock);
    auto& kernels = static_cast<Module*>(module)->kernels;
    auto found = kernels.find(name);
    if (found == kernels.end()) return NOT_FOUND;
    *function = new Function{&found->second, name};
    return SUCCESS;
}

Status cuLibraryGetKernel(void** function, void* module, const char* name) { return cuModuleGetFunction(function, module, name); }
Status cuFuncGetAttribute(int* value, int which, void*) {
    *value = which ? 0 : 1024 /* the threads of a block */;
    return SUCCESS;
}

Status cuLaunchKernel(
    void* function, unsigned blocks, unsigned blocks_y, unsigned blocks_z, unsigned threads,
    unsigned threads_y, unsigned threads_z, unsigned, void* stream, void** parameters, void**
) {
    Guard guard(lock);
    const Function& called = *static_cast<Function*>(function);
    if (u64(blocks_y) * blocks_z * threads_y * threads_z != 1) return INVALID_VALUE;
    if (!blocks || !threads || threads > 1024) return INVALID_VALUE;
    std::vector<u8> given(called.kernel->parameter_bytes + 1);
    for (std::size_t i = 0; i < called.kernel->parameters.size(); ++i) {
        const Parameter& each = called.kernel->parameters[i];
        std::memcpy(&given[each.offset], parameters[i], each.bytes);
    }
    ++device.counts.launches;
    device.enqueue(stream_of(stream), called.name, [=, &called, given = std::move(given), known = device.arrays](Operation& self) {
        interpret(called, blocks, threads, given, known, self);
    });
    return device.finding.empty() ? SUCCESS : LAUNCH_FAILURE;
}

struct LaunchConfig { unsigned blocks[3], threads[3], shared_bytes; void* stream; /* attributes follow */ };

Status cuLaunchKernelEx(const LaunchConfig* how, void* function, void** parameters, void** extra) {
    const auto& [blocks, threads, shared_bytes, stream] = *how;
    return cuLaunchKernel(
        function, blocks[0], blocks[1], blocks[2], threads[0], threads[1], threads[2], shared_bytes, stream, parameters, extra
    );
}

Status cuGetExportTable(const void**, const void*) { return NOT_FOUND; }

// Return a function of this library; one that it lacks is an error of the driver.
Status cuGetProcAddress_v2(const char* name, void** place, int, u64, int* is_missing) {
    static void* self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    *place = self ? dlsym(self, name) : nullptr;
    if (is_missing) *is_missing = !*place;
    return *place ? SUCCESS : NOT_FOUND;
}

}  // extern "C"
