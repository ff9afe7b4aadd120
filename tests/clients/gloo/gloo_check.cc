// SPDX-License-Identifier: Apache-2.0
//
// DOC: gloo_check
//
// All-reduces of gloo over its ibverbs transport, every value checked: gloo_check FOLDER [MOST],
// where ranks meet by files in FOLDER, and MOST is bytes, 1 MiB unless given. C++, since gloo is.
//
// gloo's own way to connect takes one device for all peers. A Mac has a device for each cable, so
// the pairs are made here, each on the device that the matrix (JACCL_IBV_DEVICES) names.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>
#include <gloo/transport/ibverbs/pair.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

namespace verbs = gloo::transport::ibverbs;

constexpr long kMost = 1L << 20;
constexpr std::chrono::milliseconds kCompletions{1};
constexpr int kGid = 1; // of the port's IPv4 address

// The devices of a row of the matrix, one for each rank: a JSON array of arrays whose cells are
// null, a name or a list of names, of which the first counts.
std::vector<std::string> ReadRow(const char *path, int rank)
{
    std::ifstream file(path);
    std::vector<std::string> cells;
    int depth = 0;
    int row = -1;
    char c;

    while (file.get(c)) {
        if (c == '[' && ++depth == 2)
            row++;
        if (c == ']')
            depth--;
        if (row != rank || depth < 2)
            continue;
        if (depth == 2 && (c == '[' || c == ','))
            cells.emplace_back();
        if (c == '"') {
            std::string name;

            std::getline(file, name, '"');
            if (cells.back().empty())
                cells.back() = name;
        }
    }
    return cells;
}

// Pairs of queue pairs, one for each peer on a device of its own.
class Pairs : public gloo::transport::Context
{
  public:
    Pairs(int rank, const std::vector<std::string> &devices)
        : Context(rank, static_cast<int>(devices.size())), devices_(devices)
    {
    }

    std::unique_ptr<gloo::transport::Pair> &createPair(int peer) override
    {
        auto device = verbs::CreateDevice(verbs::attr{devices_.at(peer), 1, kGid});

        pairs_.at(peer) = std::unique_ptr<gloo::transport::Pair>(
            new verbs::Pair(std::dynamic_pointer_cast<verbs::Device>(device), getTimeout()));
        return pairs_.at(peer);
    }

    std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void *, size_t) override
    {
        throw std::logic_error("gloo's ibverbs transport has no unbound buffers");
    }

  private:
    std::vector<std::string> devices_;
};

class Mesh : public gloo::Context
{
  public:
    Mesh(int rank, const std::vector<std::string> &devices)
        : Context(rank, static_cast<int>(devices.size()))
    {
        transportContext_ = std::make_shared<Pairs>(rank, devices);
    }

    void Connect(gloo::rendezvous::Store &store)
    {
        for (int peer = 0; peer < size; peer++) {
            if (peer != rank)
                store.set(Name(rank, peer), transportContext_->createPair(peer)->address().bytes());
        }
        for (int peer = 0; peer < size; peer++) {
            if (peer == rank)
                continue;
            store.wait({Name(peer, rank)});
            transportContext_->getPair(peer)->connect(store.get(Name(peer, rank)));
        }
    }

  private:
    static std::string Name(int from, int to)
    {
        return std::to_string(from) + "-" + std::to_string(to);
    }
};

int Value(int rank, long i)
{
    return static_cast<int>((rank * 31 + i * 7) & 0xffff);
}

// Three rounds in the same memory, as a training step does. Returns how many values are wrong.
template <typename Algorithm> long Check(const std::shared_ptr<gloo::Context> &mesh, long count)
{
    std::vector<int> data(static_cast<size_t>(count));
    Algorithm reduce(mesh, std::vector<int *>{data.data()}, static_cast<int>(count));
    long wrong = 0;

    for (int round = 0; round < 3; round++) {
        for (long i = 0; i < count; i++)
            data[static_cast<size_t>(i)] = Value(mesh->rank + round, i);
        reduce.run();
        for (long i = 0; i < count; i++) {
            int sum = 0;

            for (int rank = 0; rank < mesh->size; rank++)
                sum += Value(rank + round, i);
            wrong += data[static_cast<size_t>(i)] != sum;
        }
    }
    // Its last sends may not have completed yet, and a buffer that still expects a completion
    // ends the program when it is taken down.
    std::this_thread::sleep_for(kCompletions);
    return wrong;
}

int Run(const char *folder, long most)
{
    const char *rank_text = std::getenv("JACCL_RANK");
    const char *matrix = std::getenv("JACCL_IBV_DEVICES");
    int rank = rank_text ? std::atoi(rank_text) : 0;
    auto mesh = std::make_shared<Mesh>(rank, ReadRow(matrix ? matrix : "", rank));
    gloo::rendezvous::FileStore store(folder);
    long wrong = 0;
    int sizes = 0;

    mesh->Connect(store);
    for (long bytes = 4; bytes <= most; bytes *= 8, sizes++) {
        wrong += Check<gloo::AllreduceRing<int>>(mesh, bytes / 4);
        wrong += Check<gloo::AllreduceRingChunked<int>>(mesh, bytes / 4);
        wrong += Check<gloo::AllreduceHalvingDoubling<int>>(mesh, bytes / 4);
    }
    std::printf("rank %d of %d: %d sizes, %ld wrong\n", rank, mesh->size, sizes, wrong);
    return wrong != 0;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    try {
        return Run(argv[1], argc > 2 ? std::atol(argv[2]) : kMost);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "gloo_check: %s\n", e.what());
        return 1;
    }
}
