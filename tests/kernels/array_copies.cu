// SPDX-License-Identifier: Apache-2.0
// Boxes between arrays of every kind, device memory, pinned and pageable memory: cuMemcpy3D, 2D,
// the peer and asynchronous variants, and lines, all against a model of bytes.
#include <algorithm>
#include <ctime>
#include <vector>

#include "check_driver.h"

// Linear memory, or an array, with what it should hold: rows of `pitch` bytes, packed slices.
struct Place {
    const char *name;
    CUmemorytype type;
    unsigned char *memory = nullptr; // linear
    CUarray array = nullptr;
    size_t pitch, rows, slices, element;
    std::vector<unsigned char> bytes;
};

static Random dice(7);

static void fill(Place &place)
{
    for (auto &byte : place.bytes)
        byte = (unsigned char)dice.next();
}

static CUDA_MEMCPY3D whole(const Place &place)
{
    CUDA_MEMCPY3D copy = {};
    copy.WidthInBytes = place.pitch;
    copy.Height = place.rows;
    copy.Depth = place.slices;
    return copy;
}

static void upload(const Place &place)
{
    CUDA_MEMCPY3D copy = whole(place);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = place.bytes.data();
    copy.srcPitch = place.pitch;
    copy.srcHeight = place.rows;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = place.array;
    if (place.type == CU_MEMORYTYPE_ARRAY)
        CHECK_DRIVER(cuMemcpy3D(&copy));
    else if (place.type == CU_MEMORYTYPE_DEVICE)
        CHECK_DRIVER(
            cuMemcpyHtoD((CUdeviceptr)place.memory, place.bytes.data(), place.bytes.size()));
    else
        memcpy(place.memory, place.bytes.data(), place.bytes.size());
}

static void expect(const Place &place, const char *what)
{
    std::vector<unsigned char> got(place.bytes.size());
    CUDA_MEMCPY3D copy = whole(place);
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = got.data();
    copy.dstPitch = place.pitch;
    copy.dstHeight = place.rows;
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = place.array;
    if (place.type == CU_MEMORYTYPE_ARRAY)
        CHECK_DRIVER(cuMemcpy3D(&copy));
    else if (place.type == CU_MEMORYTYPE_DEVICE)
        CHECK_DRIVER(cuMemcpyDtoH(got.data(), (CUdeviceptr)place.memory, got.size()));
    else
        memcpy(got.data(), place.memory, got.size());
    for (size_t i = 0; i < got.size(); i++)
        if (got[i] != place.bytes[i])
            fail("%s: byte %zu of %s is %u, not %u", what, i, place.name, got[i], place.bytes[i]);
}

static Place linear(const char *name, CUmemorytype type, bool pinned, size_t element)
{
    Place place = {name, type};
    place.pitch = 41 * element + (pinned ? 64 : 0);
    place.rows = 37;
    place.slices = 9;
    place.element = element;
    place.bytes.resize(place.pitch * place.rows * place.slices);
    fill(place);
    void *host;
    CUdeviceptr device;
    if (type == CU_MEMORYTYPE_DEVICE) {
        CHECK_DRIVER(cuMemAlloc(&device, place.bytes.size()));
        place.memory = (unsigned char *)device;
    } else if (pinned) {
        CHECK_DRIVER(cuMemAllocHost(&host, place.bytes.size()));
        place.memory = (unsigned char *)host;
    } else {
        place.memory = (unsigned char *)malloc(place.bytes.size());
    }
    upload(place);
    return place;
}

static Place in_array(const char *name, CUarray array, size_t element)
{
    CUDA_ARRAY3D_DESCRIPTOR shape;
    CHECK_DRIVER(cuArray3DGetDescriptor(&shape, array));
    Place place = {name, CU_MEMORYTYPE_ARRAY};
    place.array = array;
    place.pitch = shape.Width * element;
    place.rows = shape.Height ? shape.Height : 1;
    place.slices = shape.Depth ? shape.Depth : 1;
    place.element = element;
    place.bytes.resize(place.pitch * place.rows * place.slices);
    fill(place);
    upload(place);
    return place;
}

static Place make_array(const char *name, size_t width, size_t height, size_t depth, unsigned flags,
                        unsigned channels)
{
    CUarray array;
    CUDA_ARRAY3D_DESCRIPTOR shape = {width, height, depth, CU_AD_FORMAT_FLOAT, channels, flags};
    CHECK_DRIVER(cuArray3DCreate(&array, &shape));
    return in_array(name, array, channels * 4);
}

// A box that fits at both ends, and its places.
struct Box {
    size_t width, rows, slices, from[3], to[3];
};

static size_t some(size_t most)
{
    return dice.below(4) == 0 ? most : 1 + dice.below((uint32_t)most);
}

static Box pick(const Place &from, const Place &to)
{
    size_t element = to.element;
    Box box;
    box.width = some(std::min(from.pitch, to.pitch) / element) * element;
    box.rows = some(std::min(from.rows, to.rows));
    box.slices = some(std::min(from.slices, to.slices));
    const Place *sides[] = {&from, &to};
    size_t *at[] = {box.from, box.to};
    for (int i = 0; i < 2; i++) {
        at[i][0] = dice.below((uint32_t)((sides[i]->pitch - box.width) / element + 1)) * element;
        at[i][1] = dice.below((uint32_t)(sides[i]->rows - box.rows + 1));
        at[i][2] = dice.below((uint32_t)(sides[i]->slices - box.slices + 1));
    }
    return box;
}

static void model(const Place &from, Place &to, const Box &box)
{
    std::vector<unsigned char> source = from.bytes; // they may be the same
    for (size_t z = 0; z < box.slices; z++)
        for (size_t y = 0; y < box.rows; y++) {
            size_t a = ((box.from[2] + z) * from.rows + box.from[1] + y) * from.pitch + box.from[0];
            size_t b = ((box.to[2] + z) * to.rows + box.to[1] + y) * to.pitch + box.to[0];
            memcpy(&to.bytes[b], &source[a], box.width);
        }
}

template <class Copy> static Copy described(const Place &from, const Place &to, const Box &box)
{
    Copy copy = {};
    copy.srcMemoryType = from.type;
    copy.srcHost = from.memory;
    copy.srcDevice = (CUdeviceptr)from.memory;
    copy.srcArray = from.array;
    copy.srcPitch = from.pitch;
    copy.srcXInBytes = box.from[0];
    copy.srcY = box.from[1];
    copy.dstMemoryType = to.type;
    copy.dstHost = to.memory;
    copy.dstDevice = (CUdeviceptr)to.memory;
    copy.dstArray = to.array;
    copy.dstPitch = to.pitch;
    copy.dstXInBytes = box.to[0];
    copy.dstY = box.to[1];
    copy.WidthInBytes = box.width;
    copy.Height = box.rows;
    return copy;
}

template <class Copy> static Copy described_3d(const Place &from, const Place &to, const Box &box)
{
    Copy copy = described<Copy>(from, to, box);
    copy.srcHeight = from.rows;
    copy.srcZ = box.from[2];
    copy.dstHeight = to.rows;
    copy.dstZ = box.to[2];
    copy.Depth = box.slices;
    return copy;
}

static void copy_once(const Place &from, Place &to, CUcontext context, CUstream stream)
{
    Box box = pick(from, to);
    unsigned way = dice.below(6);
    auto flat = described<CUDA_MEMCPY2D>(from, to, box);
    auto solid = described_3d<CUDA_MEMCPY3D>(from, to, box);
    auto peer = described_3d<CUDA_MEMCPY3D_PEER>(from, to, box);
    peer.srcContext = peer.dstContext = context;
    bool in_first = box.from[2] == 0 && box.to[2] == 0;
    if (in_first && way < 3)
        box.slices = 1;
    if (in_first && way == 0)
        CHECK_DRIVER(cuMemcpy2D(&flat));
    else if (in_first && way == 1)
        CHECK_DRIVER(cuMemcpy2DUnaligned(&flat));
    else if (in_first && way == 2)
        CHECK_DRIVER(cuMemcpy2DAsync(&flat, stream));
    else if (way == 3)
        CHECK_DRIVER(cuMemcpy3DPeer(&peer));
    else if (way == 4)
        CHECK_DRIVER(cuMemcpy3D(&solid));
    else if (way == 5)
        CHECK_DRIVER(cuMemcpy3DPeerAsync(&peer, stream));
    else
        CHECK_DRIVER(cuMemcpy3DAsync(&solid, stream));
    CHECK_DRIVER(cuStreamSynchronize(stream));
    CHECK_DRIVER(cuCtxSynchronize());
    model(from, to, box);
}

static void boxes(CUcontext context, CUstream stream)
{
    CUmipmappedArray mipmap;
    CUarray level;
    CUDA_ARRAY3D_DESCRIPTOR shape = {64, 48, 0, CU_AD_FORMAT_FLOAT, 1, 0};
    CHECK_DRIVER(cuMipmappedArrayCreate(&mipmap, &shape, 3));
    CHECK_DRIVER(cuMipmappedArrayGetLevel(&level, mipmap, 1));
    std::vector<Place> places = {
        linear("pageable memory", CU_MEMORYTYPE_HOST, false, 4),
        linear("pinned memory", CU_MEMORYTYPE_HOST, true, 4),
        linear("device memory", CU_MEMORYTYPE_DEVICE, false, 4),
        make_array("a line", 100, 0, 0, 0, 1),
        make_array("a plane", 33, 21, 0, 0, 1),
        make_array("a solid", 17, 9, 11, 0, 1),
        make_array("layered lines", 30, 0, 7, CUDA_ARRAY3D_LAYERED, 1),
        make_array("layered planes", 12, 13, 5, CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST,
                   1),
        make_array("a cube", 16, 16, 6, CUDA_ARRAY3D_CUBEMAP, 1),
        make_array("cubes", 8, 8, 12, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED, 1),
        in_array("a level", level, 4),
    };
    size_t before, total;
    CHECK_DRIVER(cuMemGetInfo(&before, &total));
    for (int turn = 0; turn < 3; turn++)
        for (auto &from : places)
            for (auto &to : places)
                if (&from != &to &&
                    (from.type == CU_MEMORYTYPE_ARRAY || to.type == CU_MEMORYTYPE_ARRAY)) {
                    copy_once(from, to, context, stream);
                    if (dice.below(3) == 0) // else later copies build on it
                        expect(to, from.name);
                }
    for (auto &place : places)
        expect(place, "in the end");
    for (auto &place : places) {
        if (place.type == CU_MEMORYTYPE_DEVICE)
            CHECK_DRIVER(cuMemFree((CUdeviceptr)place.memory));
        else if (place.array != nullptr && place.array != level)
            CHECK_DRIVER(cuArrayDestroy(place.array));
    }
    CHECK_DRIVER(cuMipmappedArrayDestroy(mipmap));
    CHECK_DRIVER(cuMemFreeHost(places[1].memory));
    free(places[0].memory);
}

// Rows of more than a chunk of the wire.
static void wide(CUstream stream)
{
    const size_t width = 131072, rows = 3, bytes = width * 16 * rows;
    CUarray array;
    CUDA_ARRAY_DESCRIPTOR shape = {width, rows, CU_AD_FORMAT_UNSIGNED_INT32, 4};
    CHECK_DRIVER(cuArrayCreate(&array, &shape));
    std::vector<unsigned> from(bytes / 4), to(bytes / 4);
    for (auto &word : from)
        word = dice.next();
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = from.data();
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.WidthInBytes = width * 16;
    copy.Height = rows;
    CHECK_DRIVER(cuMemcpy2DAsync(&copy, stream));
    CHECK_DRIVER(cuStreamSynchronize(stream));
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = to.data();
    CHECK_DRIVER(cuMemcpy2DAsync(&copy, stream));
    if (from != to)
        fail("wide rows come back otherwise");
    CHECK_DRIVER(cuArrayDestroy(array));
}

static void lines(CUstream stream)
{
    const size_t count = 500;
    CUarray one, two;
    CUdeviceptr device;
    CUDA_ARRAY_DESCRIPTOR shape = {count, 0, CU_AD_FORMAT_SIGNED_INT32, 1};
    CHECK_DRIVER(cuArrayCreate(&one, &shape));
    CHECK_DRIVER(cuArrayCreate(&two, &shape));
    CHECK_DRIVER(cuMemAlloc(&device, count * 4));
    std::vector<int> from(count), to(count, -1);
    for (size_t i = 0; i < count; i++)
        from[i] = (int)(i * i);
    CHECK_DRIVER(cuMemcpyHtoA(one, 0, from.data(), count * 4));
    CHECK_DRIVER(cuMemcpyAtoA(two, 40, one, 0, (count - 10) * 4));
    CHECK_DRIVER(cuMemcpyAtoD(device, two, 0, count * 4));
    CHECK_DRIVER(cuMemcpyDtoA(one, 400, device + 40, 800));
    CHECK_DRIVER(cuMemcpyAtoH(to.data(), one, 0, count * 4));
    for (size_t i = 0; i < count; i++)
        if (to[i] != (i >= 100 && i < 300 ? from[i - 100] : from[i]))
            fail("element %zu of the line is %d", i, to[i]);
    CHECK_DRIVER(cuMemcpyHtoAAsync(two, 0, from.data() + 1, (count - 1) * 4, stream));
    CHECK_DRIVER(cuMemcpyAtoHAsync(to.data(), two, 4, (count - 2) * 4, stream));
    CHECK_DRIVER(cuStreamSynchronize(stream));
    for (size_t i = 0; i + 2 < count; i++)
        if (to[i] != from[i + 2])
            fail("element %zu of the second line is %d", i, to[i]);
    EXPECT_DRIVER(cuMemcpyHtoA(one, 2, from.data(), 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemcpyAtoH(to.data(), one, 4, count * 4), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuArrayDestroy(one));
    CHECK_DRIVER(cuArrayDestroy(two));
    CHECK_DRIVER(cuMemFree(device));
}

static void CUDA_CB slow(void *)
{
    struct timespec time = {0, 30 * 1000 * 1000};
    nanosleep(&time, nullptr);
}

// An array is destroyed while copies wait that use it: they are done before. The source of a copy
// from the host may change as soon as the call has returned.
static void destroyed_under_work(CUstream stream)
{
    const size_t side = 100;
    void *pinned;
    CUDA_ARRAY_DESCRIPTOR shape = {side, side, CU_AD_FORMAT_UNSIGNED_INT8, 1};
    CHECK_DRIVER(cuMemAllocHost(&pinned, side * side));
    for (int turn = 0; turn < 5; turn++) {
        CUarray array;
        CHECK_DRIVER(cuArrayCreate(&array, &shape));
        std::vector<unsigned char> from(side * side, (unsigned char)(turn + 1));
        memset(pinned, 0, side * side);
        CHECK_DRIVER(cuLaunchHostFunc(stream, slow, nullptr));
        CUDA_MEMCPY2D copy = {};
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = from.data();
        copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.dstArray = array;
        copy.WidthInBytes = copy.Height = side;
        CHECK_DRIVER(cuMemcpy2DAsync(&copy, stream));
        memset(from.data(), 77, from.size());
        copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.srcArray = array;
        copy.dstMemoryType = CU_MEMORYTYPE_HOST;
        copy.dstHost = pinned;
        CHECK_DRIVER(cuMemcpy2DAsync(&copy, stream));
        CHECK_DRIVER(cuArrayDestroy(array));
        EXPECT_DRIVER(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
        CHECK_DRIVER(cuStreamSynchronize(stream));
        for (size_t i = 0; i < side * side; i++)
            if (((unsigned char *)pinned)[i] != turn + 1)
                fail("byte %zu is %u in turn %d", i, ((unsigned char *)pinned)[i], turn);
    }
    CHECK_DRIVER(cuMemFreeHost(pinned));
}

// Memory is used up by arrays, and free again afterwards.
static void used_up()
{
    size_t before, after, total;
    std::vector<CUarray> arrays;
    CUDA_ARRAY_DESCRIPTOR shape = {4096, 4096, CU_AD_FORMAT_FLOAT, 4};
    CHECK_DRIVER(cuMemGetInfo(&before, &total));
    CUresult result;
    CUarray array;
    while ((result = cuArrayCreate(&array, &shape)) == CUDA_SUCCESS)
        arrays.push_back(array);
    EXPECT_DRIVER(result, CUDA_ERROR_OUT_OF_MEMORY);
    if (arrays.size() != before / (4096ull * 4096 * 16))
        fail("%zu arrays of 256 MiB in %zu bytes", arrays.size(), before);
    CHECK_DRIVER(cuMemGetInfo(&after, &total));
    if (before - after != arrays.size() * 4096ull * 4096 * 16)
        fail("%zu bytes were free before, %zu are now", before, after);
    for (CUarray each : arrays)
        CHECK_DRIVER(cuArrayDestroy(each));
    CHECK_DRIVER(cuMemGetInfo(&after, &total));
    if (before != after)
        fail("%zu bytes were free before, %zu are in the end", before, after);
}

int main()
{
    CUdevice device;
    CUstream stream;
    CHECK_DRIVER(cuInit(0));
    CHECK_DRIVER(cuDeviceGet(&device, 0));
    CUcontext context = create_context(device);
    CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    used_up();
    boxes(context, stream);
    wide(stream);
    lines(stream);
    destroyed_under_work(stream);
    CHECK_DRIVER(cuStreamDestroy(stream));
    CHECK_DRIVER(cuCtxDestroy(context));
    return passed();
}
