// SPDX-License-Identifier: Apache-2.0
// A storm by another simulator: ns-3's BridgeNetDevice over its SimpleNetDevice and SimpleChannel.
//   ns3_bridge --edges 0-1,0-2,1-2 --queue 64 --rate 80Gb/s --latency 1us --bytes 1500 --until 2ms
// Node 0's bridge floods one broadcast frame at t = 0. TSV on stdout: a head, a row of totals, then
// a row for each direction of each cable in the order of --edges. Exit 2: bad usage.
//
// What is counted. hops: frames received by a bridge port, a latency after their last bit was sent,
// at times <= until. drops: frames that a full port refused, at times <= until. A port holds
// --queue frames besides the one that is being sent. At equal times ns-3 goes by the order in which
// events were made, so a frame that arrives as another ends finds the port still full if the
// latency is longer than a frame, and emptier by one if it is shorter. If they are equal the order
// of ports decides as well, which nobody should be held to: that is refused.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <getopt.h>
#include <iostream>
#include <ns3/bridge-net-device.h>
#include <ns3/data-rate.h>
#include <ns3/drop-tail-queue.h>
#include <ns3/mac48-address.h>
#include <ns3/node.h>
#include <ns3/nstime.h>
#include <ns3/packet.h>
#include <ns3/simple-channel.h>
#include <ns3/simple-net-device.h>
#include <ns3/simulator.h>
#include <ns3/uinteger.h>
#include <sstream>
#include <string>
#include <vector>

namespace
{

constexpr std::uint32_t most_nodes = 1024;
constexpr std::uint32_t most_bytes = 65535; // of a SimpleNetDevice
constexpr std::uint16_t arp = 0x0806;

struct edge {
    std::uint32_t a;
    std::uint32_t b;
};

struct options {
    std::vector<edge> edges;
    std::uint32_t queue = 64;
    ns3::DataRate rate{"80Gb/s"};
    ns3::Time latency;
    std::uint32_t bytes = 1500;
    ns3::Time until;
};

// One direction of a cable.
struct link {
    std::uint32_t from;
    std::uint32_t to;
    std::uint64_t hops = 0;
    std::uint64_t drops = 0;
};

[[noreturn]] void usage(const std::string &message)
{
    std::cerr << "ns3_bridge: " << message << "\n"
              << "usage: ns3_bridge --edges A-B,... --queue FRAMES --rate 80Gb/s --latency 1us "
                 "--bytes N --until 2ms\n";
    std::exit(2);
}

std::uint32_t number(const std::string &text, std::uint32_t most)
{
    if (text.empty() || text.size() > 9 ||
        text.find_first_not_of("0123456789") != std::string::npos) {
        usage("'" + text + "' is not a number");
    }
    const unsigned long value = std::stoul(text);
    if (value > most) {
        usage(text + " is more than " + std::to_string(most));
    }
    return static_cast<std::uint32_t>(value);
}

// ns-3 ends the program on a unit that it does not know, and takes a bare number for seconds.
ns3::Time duration(const std::string &text)
{
    const std::size_t digits = text.find_first_not_of("0123456789");
    const std::string unit = digits == std::string::npos ? "" : text.substr(digits);
    if (digits == 0 || digits > 9 ||
        (unit != "ps" && unit != "ns" && unit != "us" && unit != "ms")) {
        usage("'" + text + "' is not a time such as 20us");
    }
    return ns3::Time(text);
}

ns3::DataRate rate(const std::string &text)
{
    const std::size_t digits = text.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string::npos || digits > 6 ||
        (text.substr(digits) != "Gb/s" && text.substr(digits) != "Mb/s")) {
        usage("'" + text + "' is not a rate such as 80Gb/s");
    }
    return ns3::DataRate(text);
}

std::vector<edge> edge_list(const std::string &text)
{
    std::vector<edge> edges;
    std::stringstream stream(text);
    std::string word;
    while (std::getline(stream, word, ',')) {
        const std::size_t dash = word.find('-');
        if (dash == std::string::npos) {
            usage("'" + word + "' is not an edge such as 0-1");
        }
        const edge e = {number(word.substr(0, dash), most_nodes - 1),
                        number(word.substr(dash + 1), most_nodes - 1)};
        if (e.a == e.b) {
            usage("'" + word + "' goes from a node to itself");
        }
        edges.push_back(e);
    }
    return edges;
}

// Time to send one frame, in picoseconds; our engine counts in whole ones, so nothing else is fair.
ns3::Time sending_time(const options &o)
{
    const std::uint64_t scaled = o.bytes * UINT64_C(8) * UINT64_C(1000000000000);
    const std::uint64_t bit_rate = o.rate.GetBitRate();
    if (bit_rate == 0 || scaled % bit_rate != 0) {
        usage("a frame does not take a whole number of picoseconds");
    }
    const ns3::Time exact = ns3::PicoSeconds(scaled / bit_rate);
    if (o.rate.CalculateBytesTxTime(o.bytes) != exact) {
        usage("ns-3 rounds the time of a frame");
    }
    return exact;
}

void check(const options &o)
{
    if (o.edges.empty() || o.queue == 0 || o.bytes == 0 || o.until.IsZero()) {
        usage("--edges and --until are needed, and nothing but --latency may be 0");
    }
    if (sending_time(o) == o.latency) {
        usage("with a latency as long as a frame the counts depend on the order of ports");
    }
}

void take(options &o, int option, const std::string &value)
{
    switch (option) {
    case 'e':
        o.edges = edge_list(value);
        break;
    case 'q':
        o.queue = number(value, 1000000);
        break;
    case 'r':
        o.rate = rate(value);
        break;
    case 'l':
        o.latency = duration(value);
        break;
    case 'b':
        o.bytes = number(value, most_bytes);
        break;
    case 'u':
        o.until = duration(value);
        break;
    default:
        usage("an option is unknown or has no value");
    }
}

options parse(int argc, char **argv)
{
    static const struct option names[] = {{"edges", required_argument, nullptr, 'e'},
                                          {"queue", required_argument, nullptr, 'q'},
                                          {"rate", required_argument, nullptr, 'r'},
                                          {"latency", required_argument, nullptr, 'l'},
                                          {"bytes", required_argument, nullptr, 'b'},
                                          {"until", required_argument, nullptr, 'u'},
                                          {nullptr, 0, nullptr, 0}};
    options o;
    o.latency = ns3::MicroSeconds(1);
    opterr = 0;
    for (int c = 0; (c = getopt_long(argc, argv, "", names, nullptr)) != -1;) {
        take(o, c, optarg != nullptr ? optarg : "");
    }
    if (optind != argc) {
        usage(std::string("what is '") + argv[optind] + "'?");
    }
    check(o);
    return o;
}

void on_received(link *l, ns3::Ptr<ns3::NetDevice> /*port*/, ns3::Ptr<const ns3::Packet> /*frame*/,
                 std::uint16_t /*protocol*/, const ns3::Address & /*from*/,
                 const ns3::Address & /*to*/, ns3::NetDevice::PacketType /*type*/)
{
    l->hops++;
}

void on_dropped(link *l, ns3::Ptr<const ns3::Packet> /*frame*/)
{
    l->drops++;
}

class mesh
{
  public:
    explicit mesh(const options &o) : wanted(o)
    {
        for (const edge &e : o.edges) {
            add_cable(e);
        }
    }

    void run()
    {
        ns3::Simulator::ScheduleWithContext(0, ns3::Time(0), &mesh::inject, this);
        // A stop is an event that comes before all others of its time.
        ns3::Simulator::Stop(wanted.until + ns3::TimeStep(1));
        ns3::Simulator::Run();
        ns3::Simulator::Destroy();
    }

    void print() const
    {
        std::uint64_t hops = 0;
        std::uint64_t drops = 0;
        for (const link &l : links) {
            hops += l.hops;
            drops += l.drops;
        }
        std::cout << "from\tto\thops\tdrops\n";
        std::cout << "all\tall\t" << hops << "\t" << drops << "\n";
        for (const link &l : links) {
            std::cout << l.from << "\t" << l.to << "\t" << l.hops << "\t" << l.drops << "\n";
        }
    }

  private:
    void inject()
    {
        bridges.at(0)->Send(ns3::Create<ns3::Packet>(wanted.bytes),
                            ns3::Mac48Address::GetBroadcast(), arp);
    }

    void grow(std::uint32_t node)
    {
        while (nodes.size() <= node) {
            nodes.push_back(ns3::CreateObject<ns3::Node>());
            bridges.push_back(ns3::CreateObject<ns3::BridgeNetDevice>());
            nodes.back()->AddDevice(bridges.back());
        }
    }

    // A port of `out.from`, which sends on `out` and receives what comes on `in`.
    void add_port(const ns3::Ptr<ns3::SimpleChannel> &channel, link &out, link &in)
    {
        auto queue = ns3::CreateObject<ns3::DropTailQueue<ns3::Packet>>();
        queue->SetMaxSize(ns3::QueueSize(ns3::QueueSizeUnit::PACKETS, wanted.queue));
        queue->TraceConnectWithoutContext("Drop", ns3::MakeBoundCallback(&on_dropped, &out));

        auto port = ns3::CreateObject<ns3::SimpleNetDevice>();
        port->SetAttribute("PointToPointMode", ns3::BooleanValue(true));
        port->SetAttribute("DataRate", ns3::DataRateValue(wanted.rate));
        port->SetQueue(queue);
        port->SetAddress(ns3::Mac48Address::Allocate());
        port->SetChannel(channel);

        const ns3::Ptr<ns3::Node> &node = nodes.at(out.from);
        node->AddDevice(port);
        bridges.at(out.from)->AddBridgePort(port);
        node->RegisterProtocolHandler(ns3::MakeBoundCallback(&on_received, &in), 0, port, true);
    }

    void add_cable(const edge &e)
    {
        auto channel = ns3::CreateObject<ns3::SimpleChannel>();
        channel->SetAttribute("Delay", ns3::TimeValue(wanted.latency));
        grow(e.a);
        grow(e.b);
        links.push_back({e.a, e.b});
        link &forth = links.back();
        links.push_back({e.b, e.a});
        link &back = links.back();
        add_port(channel, forth, back);
        add_port(channel, back, forth);
    }

    const options &wanted;
    std::deque<link> links; // callbacks point into it
    std::vector<ns3::Ptr<ns3::Node>> nodes;
    std::vector<ns3::Ptr<ns3::BridgeNetDevice>> bridges;
};

} // namespace

int main(int argc, char **argv)
{
    ns3::Time::SetResolution(ns3::Time::PS);
    const options o = parse(argc, argv);
    mesh m(o);
    m.run();
    m.print();
    return 0;
}
