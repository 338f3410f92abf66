// SPDX-License-Identifier: Apache-2.0
// To whom does an address belong? Asked for memory of every kind, at the edges of each piece: its
// first and last byte, one before, one past, and after it is gone. An answer about the bytes beside
// a piece may be about a neighbour, and never about the piece; a call that goes over an edge is
// refused.
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "check_driver.h"

__device__ int variable[100];
__device__ int beside[100];
__managed__ int both[300];

struct Piece {
    std::string what;
    CUdeviceptr start;
    size_t bytes;
    CUmemorytype type;
    bool freed; // by cuMemFree of its start
};

struct Answer {
    bool known;
    CUdeviceptr start;
    size_t bytes;
    CUmemorytype type;
};

// The answers about the address, by all calls that give one.
static Answer answer_of(const char *what, CUdeviceptr at)
{
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                   CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MAPPED};
    CUdeviceptr start = 5, base = 5, one = 5;
    size_t bytes = 5, size = 5;
    unsigned type = 5, mapped = 5;
    void *to[] = {&start, &bytes, &type, &mapped};
    CHECK_DRIVER(cuPointerGetAttributes(4, which, to, at));
    CUresult alone = cuPointerGetAttribute(&one, which[0], at);
    CUresult range = cuMemGetAddressRange(&base, &size, at);
    if (alone != (mapped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE) ||
        range != (mapped ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND))
        fail("%s: %llx is %s, and alone %d, as a range %d", what, at, mapped ? "known" : "unknown",
             (int)alone, (int)range);
    if (mapped && (one != start || base != start || size != bytes))
        fail("%s: %llx is in %llx + %zu, alone %llx, as a range %llx + %zu", what, at, start, bytes,
             one, base, size);
    if (mapped && at - start >= bytes)
        fail("%s: %llx is said to be in %llx + %zu", what, at, start, bytes);
    return {mapped != 0, start, bytes, (CUmemorytype)type};
}

static void expect_inside(const Piece &p)
{
    for (size_t offset : {(size_t)0, (size_t)1, p.bytes / 2, p.bytes - 1}) {
        Answer a = answer_of(p.what.c_str(), p.start + offset);
        if (!a.known || a.start != p.start || a.bytes != p.bytes || a.type != p.type)
            fail("%s, %llx + %zu: its byte %zu is %s, %llx + %zu, type %d", p.what.c_str(), p.start,
                 p.bytes, offset, a.known ? "known" : "unknown", a.start, a.bytes, (int)a.type);
    }
}

// Nobody knows it, or it is another's, which has no byte of the piece.
static void expect_beside(const Piece &p, CUdeviceptr at)
{
    Answer a = answer_of(p.what.c_str(), at);
    if (a.known && a.start < p.start + p.bytes && p.start < a.start + a.bytes)
        fail("%s, %llx + %zu: %llx beside it is in %llx + %zu, which overlaps", p.what.c_str(),
             p.start, p.bytes, at, a.start, a.bytes);
}

static void expect_refused(const Piece &p, CUresult result, const char *how)
{
    if (result != CUDA_ERROR_INVALID_VALUE)
        fail("%s: %s: %d, not %d", p.what.c_str(), how, (int)result, CUDA_ERROR_INVALID_VALUE);
}

// Frees that name no beginning of memory free nothing.
static void expect_no_frees(const Piece &p)
{
    expect_refused(p, cuMemFree(p.start + 1), "freeing its second byte");
    expect_refused(p, cuMemFree(p.start + p.bytes - 1), "freeing its last byte");
    expect_refused(p, cuMemFree(p.start - 1), "freeing what comes before it");
    if (answer_of(p.what.c_str(), p.start + p.bytes).start != p.start + p.bytes) // a neighbour's
        expect_refused(p, cuMemFree(p.start + p.bytes), "freeing what comes behind it");
    if (!p.freed)
        expect_refused(p, cuMemFree(p.start), "freeing it so");
}

static void expect_copies(const Piece &p, CUdeviceptr other)
{
    std::vector<unsigned char> bytes(p.bytes + 2, 7);
    unsigned char *host = bytes.data();
    CHECK_DRIVER(cuMemcpyHtoD(p.start, host, p.bytes));
    CHECK_DRIVER(cuMemcpyHtoD(p.start + p.bytes - 1, host, 1));
    memset(host, 0, bytes.size());
    CHECK_DRIVER(cuMemcpyDtoH(host, p.start, p.bytes));
    if (host[0] != 7 || host[p.bytes - 1] != 7 || host[p.bytes] != 0)
        fail("%s: its bytes have not come back", p.what.c_str());
    CHECK_DRIVER(cuMemsetD8(p.start, 9, p.bytes));
    CHECK_DRIVER(cuMemcpy((CUdeviceptr)host, p.start + p.bytes - 1, 1));
    CHECK_DRIVER(cuMemcpyDtoD(other, p.start, p.bytes < 512 ? p.bytes : 512));
    if (host[0] != 9)
        fail("%s: its last byte is %d", p.what.c_str(), host[0]);

    const CUdeviceptr before = p.start - 1, last = p.start + p.bytes - 1, past = p.start + p.bytes;
    expect_refused(p, cuMemcpyHtoD(p.start, host, p.bytes + 1), "a copy to it over its end");
    expect_refused(p, cuMemcpyDtoH(host, p.start, p.bytes + 1), "a copy from it over its end");
    expect_refused(p, cuMemcpyDtoH(host, last, 2), "a copy of its last byte and the next");
    expect_refused(p, cuMemcpyHtoD(before, host, 2), "a copy over its beginning");
    expect_refused(p, cuMemcpyDtoH(host, before, p.bytes + 2), "a copy over both of its ends");
    expect_refused(p, cuMemsetD8(p.start, 3, p.bytes + 1), "a fill over its end");
    expect_refused(p, cuMemcpyDtoD(last, other, 2), "a copy of a device over its end");
    expect_refused(p, cuMemcpyDtoD(other, before, 2), "a copy of a device over its beginning");
    CHECK_DRIVER(cuMemcpyDtoH(host, past, 0)); // nothing is nowhere
    CHECK_DRIVER(cuMemcpyDtoH(host, p.start, p.bytes));
    if (host[0] != 9 || host[p.bytes - 1] != 9)
        fail("%s: a refused call has written", p.what.c_str());
}

static void expect_edges(const Piece &p)
{
    expect_inside(p);
    expect_beside(p, p.start - 1);
    for (size_t far = 0; far <= 4096; far += 512) { // what a page may hold besides
        expect_beside(p, p.start - 1 - far);
        expect_beside(p, p.start + p.bytes + far);
    }
    expect_no_frees(p);
    expect_inside(p);
    printf("%s: %zu bytes\n", p.what.c_str(), p.bytes);
}

static void expect_gone(const Piece &p)
{
    for (CUdeviceptr at : {p.start, p.start + p.bytes - 1}) {
        Answer a = answer_of(p.what.c_str(), at);
        if (a.known)
            fail("%s: it is gone, and %llx is in %llx + %zu", p.what.c_str(), at, a.start, a.bytes);
    }
    expect_refused(p, cuMemFree(p.start), "freeing what is gone");
}

static CUdeviceptr other; // a piece of device memory to copy from and to

static void device_kind(const Piece &p)
{
    expect_edges(p);
    expect_copies(p, other);
    expect_inside(p);
}

// ---- memory of cuMemAlloc: three neighbours, and large ones

static void allocations()
{
    const size_t sizes[] = {1000, 512, 2, (5 << 20) + 5, (64 << 20) + 1, 777};
    std::vector<Piece> pieces;
    for (size_t bytes : sizes) {
        CUdeviceptr at;
        CHECK_DRIVER(cuMemAlloc(&at, bytes));
        pieces.push_back({"allocation", at, bytes, CU_MEMORYTYPE_DEVICE, true});
    }
    for (const Piece &p : pieces)
        device_kind(p);
    for (size_t i = 1; i < pieces.size(); i += 2) { // every other one goes, its neighbours stay
        CHECK_DRIVER(cuMemFree(pieces[i].start));
        expect_gone(pieces[i]);
        expect_inside(pieces[i - 1]);
    }
    for (size_t i = 0; i < pieces.size(); i += 2) {
        CHECK_DRIVER(cuMemFree(pieces[i].start));
        expect_gone(pieces[i]);
    }
}

static void pools()
{
    Piece p[3];
    for (int i = 0; i < 3; i++) {
        p[i] = {"memory of a pool", 0, 900, CU_MEMORYTYPE_DEVICE, true};
        CHECK_DRIVER(cuMemAllocAsync(&p[i].start, p[i].bytes, nullptr));
    }
    CHECK_DRIVER(cuStreamSynchronize(nullptr));
    for (const Piece &one : p)
        device_kind(one);
    CHECK_DRIVER(cuMemFree(p[1].start));
    expect_gone(p[1]);
    expect_inside(p[0]);
    expect_inside(p[2]);
    CHECK_DRIVER(cuMemFreeAsync(p[0].start, nullptr));
    CHECK_DRIVER(cuMemFree(p[2].start));
    expect_gone(p[0]);
    expect_gone(p[2]);
}

// ---- reserved address space: nothing, a mapping, two side by side, nothing

static void mappings()
{
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAccessDesc access = {};
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    size_t unit;
    CUdeviceptr space;
    CUmemGenericAllocationHandle memory[2];
    CHECK_DRIVER(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK_DRIVER(cuMemAddressReserve(&space, 4 * unit, 0, 0, 0));
    Piece empty = {"a reserved space", space, 4 * unit, CU_MEMORYTYPE_DEVICE, false};
    expect_gone(empty);
    Piece p[2];
    for (int i = 0; i < 2; i++) {
        p[i] = {"mapping", space + (1 + i) * unit, unit, CU_MEMORYTYPE_DEVICE, false};
        CHECK_DRIVER(cuMemCreate(&memory[i], unit, &prop, 0));
    }
    CHECK_DRIVER(cuMemMap(p[0].start, unit, 0, memory[0], 0));
    expect_refused(p[0], cuMemMap(p[0].start, unit, 0, memory[1], 0), "a mapping over it");
    CHECK_DRIVER(cuMemSetAccess(p[0].start, unit, &access, 1));
    device_kind(p[0]);
    CHECK_DRIVER(cuMemMap(p[1].start, unit, 0, memory[1], 0));
    CHECK_DRIVER(cuMemSetAccess(p[1].start, unit, &access, 1));
    for (const Piece &one : p)
        expect_edges(one);
    CHECK_DRIVER(cuMemsetD8(p[0].start, 1, 2 * unit)); // side by side they are one
    expect_refused(p[1], cuMemsetD8(p[1].start, 1, unit + 1), "a fill over both");
    expect_refused(p[0], cuMemUnmap(p[0].start, unit + 1), "unmapping a bit more");
    expect_refused(p[0], cuMemUnmap(p[0].start, 3 * unit), "unmapping more than there is");
    expect_refused(p[0], cuMemAddressFree(space, 4 * unit), "freeing its space");
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuMemUnmap(p[0].start, unit));
    expect_gone(p[0]);
    expect_inside(p[1]);
    CHECK_DRIVER(cuMemUnmap(p[1].start, unit));
    expect_gone(p[1]);
    expect_refused(empty, cuMemAddressFree(space, unit), "freeing a part of it");
    CHECK_DRIVER(cuMemAddressFree(space, 4 * unit));
    CHECK_DRIVER(cuMemRelease(memory[0]));
    CHECK_DRIVER(cuMemRelease(memory[1]));
}

static void graphs()
{
    const size_t bytes = 3 << 20;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node;
    CUDA_MEM_ALLOC_NODE_PARAMS wanted = {};
    wanted.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    wanted.bytesize = bytes;
    CHECK_DRIVER(cuGraphCreate(&graph, 0));
    CHECK_DRIVER(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &wanted));
    CHECK_DRIVER(cuGraphInstantiate(&exec, graph, 0));
    CHECK_DRIVER(cuGraphLaunch(exec, nullptr));
    CHECK_DRIVER(cuStreamSynchronize(nullptr));
    Piece p = {"memory of a graph", wanted.dptr, bytes, CU_MEMORYTYPE_DEVICE, true};
    for (CUdeviceptr at : {p.start, p.start + bytes - 1})
        if (!answer_of("memory of a graph", at).known)
            fail("memory of a graph: %llx is unknown", at);
    CHECK_DRIVER(cuMemsetD8(p.start, 1, bytes));
    expect_refused(p, cuMemFree(p.start + 1), "freeing its second byte");
    expect_refused(p, cuMemFree(p.start + bytes - 1), "freeing its last byte");
    expect_refused(p, cuMemFree(p.start - 1), "freeing what comes before it");
    CHECK_DRIVER(cuMemFree(p.start));
    expect_refused(p, cuMemFree(p.start), "freeing it twice");
    CHECK_DRIVER(cuGraphExecDestroy(exec));
    CHECK_DRIVER(cuGraphDestroy(graph));
    printf("memory of a graph: %zu bytes\n", bytes);
}

static void variables()
{
    void *at[3];
    CHECK(cudaGetSymbolAddress(&at[0], variable));
    CHECK(cudaGetSymbolAddress(&at[1], beside));
    CHECK(cudaGetSymbolAddress(&at[2], both));
    Piece p[] = {
        {"a variable", (CUdeviceptr)at[0], sizeof variable, CU_MEMORYTYPE_DEVICE, false},
        {"another", (CUdeviceptr)at[1], sizeof beside, CU_MEMORYTYPE_DEVICE, false},
        {"a managed variable", (CUdeviceptr)at[2], sizeof both, CU_MEMORYTYPE_DEVICE, false}};
    for (const Piece &one : p)
        expect_edges(one);
    device_kind(p[0]);
}

static void managed()
{
    for (size_t bytes : {(size_t)100, (size_t)5000, (size_t)(3 << 20) + 1}) {
        Piece p = {"managed memory", 0, bytes, CU_MEMORYTYPE_DEVICE, true};
        CHECK_DRIVER(cuMemAllocManaged(&p.start, bytes, CU_MEM_ATTACH_GLOBAL));
        ((char *)p.start)[0] = 1;
        device_kind(p);
        ((char *)p.start)[bytes - 1] = 1;
        CHECK_DRIVER(cuMemFree(p.start));
        expect_gone(p);
    }
}

// ---- memory of the host

static void pinned()
{
    for (unsigned flags : {0u, (unsigned)CU_MEMHOSTALLOC_DEVICEMAP}) {
        for (size_t bytes : {(size_t)1000, (size_t)(3 << 20) + 1}) {
            void *memory;
            CUdeviceptr device;
            unsigned said;
            CHECK_DRIVER(cuMemHostAlloc(&memory, bytes, flags));
            Piece p = {flags ? "mapped memory" : "pinned memory", (CUdeviceptr)memory, bytes,
                       CU_MEMORYTYPE_HOST, false};
            expect_edges(p);
            CHECK_DRIVER(cuMemHostGetDevicePointer(&device, (char *)memory + bytes - 1, 0));
            expect_edges(p); // also when a device has it
            expect_refused(p, cuMemHostGetFlags(&said, (char *)memory + bytes), "flags behind");
            expect_refused(p, cuMemFreeHost((char *)memory + 1), "freeing its second byte");
            CHECK_DRIVER(cuMemFreeHost(memory));
            expect_gone(p);
        }
    }
    char *memory = (char *)aligned_alloc(4096, 1 << 20);
    Piece p[2] = {{"registered memory", (CUdeviceptr)memory + 64, 5000, CU_MEMORYTYPE_HOST, false},
                  {"what is registered behind", (CUdeviceptr)memory + 5064, 3000,
                   CU_MEMORYTYPE_HOST, false}};
    for (const Piece &one : p)
        CHECK_DRIVER(cuMemHostRegister((void *)one.start, one.bytes, 0));
    for (const Piece &one : p)
        expect_edges(one);
    CHECK_DRIVER(cuMemHostUnregister((void *)p[0].start));
    expect_gone(p[0]);
    expect_edges(p[1]);
    CHECK_DRIVER(cuMemHostUnregister((void *)p[1].start));
    expect_gone(p[1]);
    Piece plain = {"plain memory", (CUdeviceptr)memory, 1 << 20, CU_MEMORYTYPE_HOST, false};
    expect_gone(plain);
    free(memory);
}

// ---- memory of another process, which is the child

struct Child {
    pid_t pid;
    int handle, end; // pipes
};

static const size_t imported_bytes = (3 << 20) + 7;

static void export_and_wait(int to, int until)
{
    CUipcMemHandle handle;
    void *memory;
    char byte;
    CHECK(cudaMalloc(&memory, imported_bytes));
    CHECK_DRIVER(cuIpcGetMemHandle(&handle, (CUdeviceptr)memory));
    if (write(to, &handle, sizeof handle) != sizeof handle)
        fail("the parent is gone");
    (void)!read(until, &byte, 1);
    _exit(0);
}

static Child child_start()
{
    int handle[2], end[2];
    if (pipe(handle) != 0 || pipe(end) != 0)
        fail("no pipes");
    pid_t pid = fork(); // before the first CUDA call
    if (pid == 0) {
        close(end[1]);
        export_and_wait(handle[1], end[0]);
    }
    close(handle[1]);
    close(end[0]);
    return {pid, handle[0], end[1]};
}

static void imported(const Child &child)
{
    CUipcMemHandle handle;
    int status;
    Piece p = {"imported memory", 0, imported_bytes, CU_MEMORYTYPE_DEVICE, false};
    if (read(child.handle, &handle, sizeof handle) != sizeof handle)
        fail("the child exports nothing");
    CHECK_DRIVER(cuIpcOpenMemHandle(&p.start, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    device_kind(p);
    expect_refused(p, cuIpcCloseMemHandle(p.start + 1), "closing its second byte");
    expect_refused(p, cuIpcCloseMemHandle(p.start - 1), "closing what comes before it");
    expect_refused(p, cuIpcCloseMemHandle(p.start + p.bytes), "closing what comes behind it");
    CHECK_DRIVER(cuIpcCloseMemHandle(p.start));
    expect_gone(p);
    close(child.end);
    if (waitpid(child.pid, &status, 0) != child.pid || status != 0)
        fail("the child ends with %d", status);
}

int main()
{
    Child child = child_start();
    CHECK(cudaFree(nullptr));
    CHECK_DRIVER(cuMemAlloc(&other, 512));
    allocations();
    pools();
    mappings();
    graphs();
    variables();
    managed();
    pinned();
    imported(child);
    allocations(); // again, among all that was there
    CHECK_DRIVER(cuMemFree(other));
    return passed();
}
