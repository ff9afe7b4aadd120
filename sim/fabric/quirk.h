/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where reports of Macs contradict each other, or Apple's text: the one table of switches. Each is
 * off unless the scenario's `quirks` or `tbmesh run --quirk NAME[=VALUE]` names it. Values have no
 * default: they are of one report each, which the last column names. Where one acts is a sum: a
 * result says so when it is on elsewhere.
 */
#ifndef SIM_FABRIC_QUIRK_H
#define SIM_FABRIC_QUIRK_H

enum quirk_place {
    QUIRK_IN_SIM = 1,   /* `tbmesh sim` */
    QUIRK_IN_APPLE = 2, /* `tbmesh run` with profile `apple` ... */
    QUIRK_IN_VERBS = 4, /* ... and with `verbs` or `infiniband` */
    QUIRK_IN_RUN = 6,
    QUIRK_IN_DEVICES = 8, /* only by what devices there are and what they say of themselves */
};

/* X(identifier, name, "=VALUE" as in help or "", where it acts, what it does, who says so) */
#define QUIRK_LIST(X)                                                                              \
    X(LIMITS, "limits", "=QP/CQ/PD", QUIRK_IN_RUN | QUIRK_IN_DEVICES,                              \
      "a device grants and shows so many of each",                                                 \
      "3/6/6 on two M4 Max: adurham/exo, notes of 2026-08-21")                                     \
    X(TB4_DEVICES, "tb4-devices", "", QUIRK_IN_RUN | QUIRK_IN_DEVICES,                             \
      "Thunderbolt 4 ports have devices, whose ports are down for ever",                           \
      "exo-explore/exo PR 1813; ml-explore/mlx#4485")                                              \
    X(ETHERNET_PORT, "dead-port-beside-ethernet", "", QUIRK_IN_RUN | QUIRK_IN_DEVICES,             \
      "RDMA never comes up on ports that sources doubt", "exo-explore/exo PR 1543")                \
    X(BRIDGE_GID, "bridge-gid", "", QUIRK_IN_RUN | QUIRK_IN_DEVICES,                               \
      "an address on bridge0 makes GID 1 of its member ports",                                     \
      "RDMA with bridge0 up: hotwa/mlx-jaccl-cluster documentation")                               \
    X(DROP, "drop-unmatched", "", QUIRK_IN_SIM | QUIRK_IN_APPLE,                                   \
      "a send that meets no posted receive is lost",                                               \
      "adurham/exo, notes of 2026-08-21; UC on RoCE: antirez/ds4 PR 1024")                         \
    X(FAIL, "fail-unmatched", "", QUIRK_IN_APPLE,                                                  \
      "a send that meets no posted receive ends with status 12",                                   \
      "soft iWARP, where receives are late: zrlio/softiwarp#27")                                   \
    X(EARLY, "early-completion", "", QUIRK_IN_SIM | QUIRK_IN_RUN,                                  \
      "sends complete when they enter the queue", "hellas-ai/thunderbolt-ibverbs bench/results")   \
    X(WEDGE, "wedge", "=K", QUIRK_IN_RUN,                                                          \
      "after K failed RTRs every later one on that port fails the same way",                       \
      "tmc/gojaccl documentation; K is not published")                                             \
    X(IDLE_SLEEP, "idle-sleep", "=AFTER/WAKE", QUIRK_IN_RUN,                                       \
      "a cable without sends for AFTER takes WAKE to wake", "2s/3s: ThunderMLX v0.3.6")            \
    X(IDLE_STALE, "idle-stale", "=AFTER", QUIRK_IN_APPLE,                                          \
      "a queue pair without sends for AFTER carries nothing any more",                             \
      "23min: tmc/gojaccl docs/jaccld.md; a message a minute kept one for 2 h")                    \
    X(CRASH_ON_CUT, "crash-on-cut", "", QUIRK_IN_APPLE,                                            \
      "ibv_post_recv crashes once the port's cable was cut", "ml-explore/mlx#4192")                \
    X(REMOTE_ACCESS, "regions-need-remote-access", "", QUIRK_IN_APPLE,                             \
      "regions with LOCAL_WRITE alone are refused; part of --variant observed", "llama.cpp#26421") \
    X(RECV_AFTER_RTS, "receives-need-rts", "", QUIRK_IN_APPLE,                                     \
      "receives are refused before RTS; part of --variant observed", "llama.cpp#26421")            \
    X(ERR_PINS, "err-pins-regions", "", QUIRK_IN_APPLE,                                            \
      "no unmap while a queue pair is in ERR; part of --variant observed", "llama.cpp#27908")      \
    X(NO_BAD_WR, "no-bad-wr", "", QUIRK_IN_APPLE,                                                  \
      "a failing post does not say which request it was; part of --variant observed",              \
      "a mesh of M4 Pro and M5 Max, notes up to 2026-09-05")

enum quirk {
#define X(id, name, value, places, what, source) QUIRK_##id,
    QUIRK_LIST(X)
#undef X
    QUIRK_COUNT
};

#define QUIRK_BIT_OF(quirk) (1U << (quirk))
#define QUIRK_BIT(id)       QUIRK_BIT_OF(QUIRK_##id)

#endif
