/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: What the emulator's processes share
 *
 * A client is one joined process. It belongs to a rank (a Mac); client r * PROTO_RANK_CLIENTS + k
 * is the k-th process of rank r, in order of joining, so its number does not depend on which rank
 * was quicker. Its threads are actors; actor client * PROTO_CLIENT_ACTORS + k is its k-th thread,
 * in order of creation.
 *
 * Three kinds of memory, all anonymous files that the conductor makes and hands over when a client
 * joins (struct proto_welcome):
 *
 *   hub      one: lock, verdict, then the scheduler's block (verbs-shim/sched). With the inline
 *            driver every client maps it; with the conductor as driver no client does.
 *   segment  one a client: what was agreed, a channel for each actor, a ring of commands to the
 *            scheduler, a ring of events from it, counters. Its client writes it; so does the
 * driver. arena    one a client: bytes of messages on their way. Only its client writes it; the
 * others map it for reading.
 *
 * Nothing here is a pointer. Whoever reads a number that another process wrote checks it first:
 * proto.c. Times are picoseconds of virtual time (int64_t, INT64_MAX: never).
 */
#ifndef VERBS_SHIM_PROTO_PROTO_H
#define VERBS_SHIM_PROTO_PROTO_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PROTO_MAGIC   UINT32_C(0x68736d74) /* "tmsh" */
#define PROTO_VERSION 1U

#define PROTO_RANKS_MAX     16U
#define PROTO_RANK_CLIENTS  8U
#define PROTO_CLIENTS_MAX   (PROTO_RANKS_MAX * PROTO_RANK_CLIENTS)
#define PROTO_CLIENT_ACTORS 32U
#define PROTO_ACTORS_MAX    (PROTO_CLIENTS_MAX * PROTO_CLIENT_ACTORS)
#define PROTO_DEVICES_MAX   8U
#define PROTO_GIDS          3U
#define PROTO_NAME_BYTES    64U   /* of a device's name: IBV_SYSFS_NAME_MAX */
#define PROTO_CQS_MAX       4096U /* completion queues of a client, over its life */
#define PROTO_POLLED_MAX    64U   /* queues that an idle actor polls in turn at most */
#define PROTO_QUIET         128U /* empty polls in a row, and nothing else: it does not act by itself */
#define PROTO_COMMANDS      4096U
#define PROTO_EVENTS        8192U
#define PROTO_ARENA_BYTES   (UINT64_C(1) << 30)
#define PROTO_SLOT_ALIGN    64U
#define PROTO_NEVER         INT64_MAX
#define PROTO_TIME_MAX      (INT64_MAX / 8 * 7) /* of an actor: what it causes still has a time */

/* Environment of a rank. */
#define PROTO_ENV_SOCKET                                                                     \
    "TBMESH_SOCKET"                  /* name of the conductor's abstract socket, without '@' \
                                      */
#define PROTO_ENV_RANK "TBMESH_RANK" /* absent under mpirun: then the launcher's own variable */
#define PROTO_ENV_RUN  "TBMESH_RUN"  /* unique to the run: marks every process that belongs to it */

#define PROTO_ENV_TREE "TBMESH_TREE" /* files that stand for devices; the rank follows a '-' */
#define PROTO_ENV_CPUS "TBMESH_CPUS" /* processors of the run: for children of pinned ranks */

#define PROTO_ANY_CPU UINT32_MAX

enum proto_profile {
    PROTO_APPLE, /* UC, SEND/RECV, Apple TN3205 */
    PROTO_VERBS, /* everything that Linux programs expect */
};

/* Which side of the contradictions between Apple's text and what users saw. */
enum proto_variant {
    PROTO_OBSERVED,
    PROTO_TECHNOTE,
};

/* X(identifier, name in results): what a call costs its thread and how calls are counted. */
#define PROTO_CHARGE_LIST(X)    \
    X(POLL_EMPTY, "poll_empty") \
    X(POLL_ENTRY, "poll_entry") \
    X(POST_SEND, "post_send")   \
    X(POST_MORE, "post_more")   \
    X(POST_RECV, "post_recv")   \
    X(CLOCK, "clock")           \
    X(REG_MR, "reg_mr")         \
    X(REG_PAGE, "reg_page")     \
    X(OBJECT, "object")         \
    X(VERB, "verb")             \
    X(SOCKET, "socket")         \
    X(SYNC, "sync")

enum proto_charge {
#define X(id, name) PROTO_CHARGE_##id,
    PROTO_CHARGE_LIST(X)
#undef X
    PROTO_CHARGE_COUNT
};

/* X(identifier, name in results): what a thread waited for, as its program would see it. */
#define PROTO_WAIT_LIST(X)                                               \
    X(COMPLETION, "completion") /* empty polls, completion channels */   \
    X(THREAD, "thread")         /* locks, conditions, ends of threads */ \
    X(SLEEP, "sleep")                                                    \
    X(OUTSIDE, "outside") /* sockets, other processes */                 \
    X(MEMORY, "memory")   /* loops that read it: a peer's write, another thread */

enum proto_wait {
#define X(id, name) PROTO_WAIT_##id,
    PROTO_WAIT_LIST(X)
#undef X
    PROTO_WAIT_COUNT
};

/* Why a thread was parked. Scheduling: no result may show it. */
enum proto_park {
    PROTO_PARK_TURN,     /* its time reached the lease; it may act at this time */
    PROTO_PARK_IDLE,     /* polls empty queues over and over: moved on to the next completion */
    PROTO_PARK_CALL,     /* wants an answer that needs everybody's past */
    PROTO_PARK_WAIT,     /* until a key is woken or a deadline passes */
    PROTO_PARK_EXTERNAL, /* on a socket or another process */
    PROTO_PARK_SPIN,     /* reads memory over and over: until a peer changes it */
    PROTO_PARK_EXIT,     /* the thread is gone; raw[0] not 0: the process with it */
    PROTO_PARK_SAME,     /* as before: it only had to apply what was due */
    PROTO_PARK_QUIET,    /* as IDLE, but not to be moved: it polls on at this time */
    PROTO_PARK_COUNT
};

/* Why a parked thread got the turn. */
enum proto_resume {
    PROTO_RESUME_TURN,    /* go on at resume_vt */
    PROTO_RESUME_POLL,    /* idle: a completion is near, or nothing else can run: poll on */
    PROTO_RESUME_LOOK,    /* idle: there are events that it has not taken; the time stands */
    PROTO_RESUME_WOKEN,   /* wait: the key was woken */
    PROTO_RESUME_TIMEOUT, /* wait, external: the deadline has come */
    PROTO_RESUME_RETRY,   /* external: something happened outside, try again; the time stands */
    PROTO_RESUME_ANSWER,  /* call: reply_status and reply are filled */
    PROTO_RESUME_APPLY,   /* apply what is due by resume_vt, or before lease, and park as before */
};

enum proto_call {
    PROTO_CALL_QUERY_PORT, /* device -> reply[0] state (enum ibv_port_state) */
    PROTO_CALL_CREATE_QP,  /* struct proto_qp_request -> reply[0] queue pair, reply[1] qp_num */
    PROTO_CALL_CONNECT_QP, /* to RTR: struct proto_connect_request */
    PROTO_CALL_DESTROY_QP, /* queue pair */
    PROTO_CALL_FLUSH_QP,   /* queue pair, to ERR: what is posted completes with a flush error */
    PROTO_CALL_NEW_ACTOR,  /* a thread is about to start -> reply[0] its actor number */
    PROTO_CALL_DROP_ACTOR, /* ... and could not: raw[0] its number */
    PROTO_CALL_ORDER,      /* nothing: the answer itself says that everybody's past is over */
    PROTO_CALL_RESET_QP,   /* queue pair: all of it is forgotten, it may be connected anew */
    PROTO_CALL_LIMITED,    /* struct proto_limited_request: ENOMEM when there are no more */
    PROTO_CALL_FIND_GID,   /* device, dgid: struct proto_connect_request with `qp` as the device
                              -> reply[0] PROTO_PLACE of the port that has this GID */
    PROTO_CALL_OPEN_UD,    /* a UD queue pair takes datagrams: raw[0] queue pair, raw[1] Q key */
    PROTO_CALL_CREATE_SRQ, /* device -> reply[0] shared receive queue, named as a queue pair is */
    PROTO_CALL_LIMIT_SRQ,  /* raw[0] queue, raw[1] limit -> reply[0] 1: it holds fewer by now */
    PROTO_CALL_COUNT
};

/* Of what a device has only so many, whichever process of its Mac asks. Queue pairs are counted as
 * they are made. */
enum proto_limited {
    PROTO_LIMITED_MR,
    PROTO_LIMITED_CQ,
    PROTO_LIMITED_PD,
    PROTO_LIMITED_COUNT
};

struct proto_limited_request {
    uint32_t device;
    uint32_t what;    /* enum proto_limited */
    uint32_t is_back; /* 0: takes one; else gives one back */
};

/* A port of another Mac, as one number. */
#define PROTO_PLACE(rank, device) ((rank)*PROTO_DEVICES_MAX + (device))
#define PROTO_PLACE_RANK(place)   ((place) / PROTO_DEVICES_MAX)
#define PROTO_PLACE_DEVICE(place) ((place) % PROTO_DEVICES_MAX)
#define PROTO_LID(place)          ((place) + 1)
#define PROTO_PLACES              (PROTO_RANKS_MAX * PROTO_DEVICES_MAX)

/* Bytes in front of each datagram that is received: the global route header, also where the wire
 * has none (InfiniBand specification, volume 1, 11.4.1.2). */
#define PROTO_GRH_BYTES 40U

struct proto_qp_request {
    uint32_t device;
    uint32_t qp_type; /* enum ibv_qp_type */
    uint32_t send_cq, recv_cq;
    uint32_t send_wrs, recv_wrs; /* granted */
    uint32_t srq;                /* as CREATE_SRQ answered, + 1; 0: none */
};

struct proto_connect_request {
    uint32_t qp;
    uint32_t dest_qp_num;
    uint8_t dgid[16];
    uint32_t is_gid_checked; /* apple: a GID beyond the cable is ETIMEDOUT */
    uint32_t sgid_index;
    uint32_t dlid; /* not 0: names the port in place of dgid */
};

union proto_call_args {
    uint32_t device;
    uint32_t qp;
    struct proto_qp_request create;
    struct proto_connect_request connect;
    struct proto_limited_request limited;
    int64_t raw[8];
};

#define PROTO_QUESTION_BYTES 124U

/*
 * An actor's channel. The first line is written by whoever gives the turn, and only while the
 * actor is parked; the rest by the actor, and only while it has the turn. `turn` (release, acquire)
 * hands the whole channel over in both directions.
 */
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): lines go by who writes them
struct proto_chan {
    _Alignas(64) _Atomic uint32_t turn; /* futex word: 1, the actor runs; 0, it is parked */
    uint32_t resume;                    /* enum proto_resume */
    int64_t resume_vt;
    int64_t lease;        /* the actor may act while its time is below */
    int32_t reply_status; /* errno */
    uint32_t pad0;
    int64_t reply[4];

    _Alignas(64) _Atomic int64_t vt; /* released before the command that carries it */
    _Atomic uint32_t is_sleeping;    /* the actor is about to wait on `turn` in the kernel */
    uint32_t park;                   /* enum proto_park */
    int64_t first; /* idle, quiet, external: earliest completion it knows in `polled`; or never */
    int64_t grid;  /* idle: time of one round of polls */
    int64_t deadline; /* wait, external, spin; or never */
    uint64_t key;     /* wait */
    uint32_t call;    /* enum proto_call */
    uint32_t polled_count;
    uint32_t new_cqs;   /* external: queues from this number on count as in `polled` */
    uint32_t is_asleep; /* turn: its time is the end of a sleep */
    uint32_t has_loose; /* spin: threads outside the clock may write its memory, too */
    uint32_t is_again;  /* spin: it has only looked, and written nothing */
    _Alignas(64) union proto_call_args args;
    _Alignas(64) uint16_t polled[PROTO_POLLED_MAX]; /* idle, quiet, external: completion queues */
    int64_t since;  /* idle, quiet: end of the first poll of the row of empty ones */
    uint32_t polls; /* idle, quiet: those of the row that were really made */
    uint32_t acts;  /* calls other than polls so far, low bits */
    _Alignas(64) _Atomic uint32_t asks;  /* runs, and waits for a name server with the turn */
    char question[PROTO_QUESTION_BYTES]; /* getaddrinfo "host" */
};

enum proto_command_kind {
    PROTO_COMMAND_SEND = 1, /* opcodes below SEND/WRITE/READ/ATOMIC in `opcode` */
    PROTO_COMMAND_RECV,
    PROTO_COMMAND_CONSUMED,  /* the bytes of `peer`'s slot have been copied out */
    PROTO_COMMAND_WAKE,      /* wakes `count` waiters of `key` */
    PROTO_COMMAND_OUTSIDE,   /* something that externals may wait for has happened */
    PROTO_COMMAND_APPLIED,   /* PROTO_EVENT_APPLY `token` is done: `status` */
    PROTO_COMMAND_INTERRUPT, /* the client's actor `slot` waits and polls no longer than now */
};

enum proto_command_flag {
    PROTO_SIGNALED = 1,
    PROTO_HAS_IMM = 2,
    PROTO_SOLICITED = 4,
    PROTO_HAS_GRH = 8,    /* event: a datagram's; `length` counts the header */
    PROTO_SRQ_LIMIT = 16, /* event: took the shared receive queue below its limit */
    PROTO_FENCED = 32, /* command: not before reads and atomics that were posted earlier are over */
    PROTO_RESPONSE = 64, /* event APPLY: the bytes that the client's own read or atomic asked for */
};

/* Commands of a client, in order of time. */
struct proto_command {
    int64_t t;
    uint32_t actor;
    uint16_t kind;  /* enum proto_command_kind */
    uint16_t flags; /* enum proto_command_flag */
    uint32_t qp;    /* queue pair, as CREATE_QP answered; CONSUMED: client that owns the slot */
    uint32_t wqe;   /* the shim's number of the work request; comes back in the event. The program's
                       wr_id is often an address, so no trace may hold it. */
    uint64_t pad1;
    uint64_t length; /* bytes; WAKE: how many waiters, OUTSIDE: nothing */
    uint64_t slot; /* offset in an arena: SEND: in the sender's; CONSUMED: in qp's. WAKE: the key */
    uint64_t remote_addr; /* WRITE, READ, ATOMIC; UD: PROTO_PLACE of the destination */
    uint32_t rkey;        /* UD: Q key */
    uint32_t imm;
    uint32_t opcode; /* enum ibv_wr_opcode */
    uint32_t dest;   /* UD: queue pair number of the destination; RC: reads and atomics at a time */
    uint32_t token;  /* CONSUMED, APPLIED: as the event said */
    union {
        uint32_t patience_us; /* SEND, RC: until a peer that is gone is known to be; or never */
        uint32_t status;      /* APPLIED: enum ibv_wc_status; PROTO_WC_GONE: nobody answers */
    };
};

#define PROTO_PATIENCE_NEVER UINT32_MAX

enum proto_event_kind {
    PROTO_EVENT_COMPLETION = 1, /* into `cq` at `t`, which may lie in the future */
    PROTO_EVENT_SLOT_FREE,      /* the client's own slot may be used again */
    PROTO_EVENT_APPLY,          /* one-sided: bytes to write, or to read or change, at `t` */
};

/*
 * One-sided operations. What one asks for is done by a thread of the target's process, at `t`
 * exactly: by one that passes `t`, or by one that is parked and gets a turn for it
 * (PROTO_RESUME_APPLY). Each is answered by PROTO_COMMAND_APPLIED of that very time, in order of
 * time. A write's bytes lie in the requester's arena; a read's, and the old value of an atomic, in
 * the target's, `slot` of APPLIED, from where the requester gets them by an APPLY of its own. An
 * atomic's slot holds two numbers: what to compare with or to add, and what to swap in.
 */
#define PROTO_OPERANDS_BYTES UINT64_C(16)

/* Values of enum ibv_wr_opcode. */
#define PROTO_WR_WRITE     0U
#define PROTO_WR_WRITE_IMM 1U
#define PROTO_WR_SEND      2U
#define PROTO_WR_SEND_IMM  3U
#define PROTO_WR_READ      4U
#define PROTO_WR_CMP_SWP   5U
#define PROTO_WR_FETCH_ADD 6U

#define PROTO_NO_SLOT UINT64_MAX

/* Values of enum ibv_wc_status and enum ibv_wc_opcode that the scheduler itself needs. */
#define PROTO_WC_SUCCESS   0U
#define PROTO_WC_LOC_LEN   1U
#define PROTO_WC_FLUSHED   5U
#define PROTO_WC_REM_INV   9U
#define PROTO_WC_GONE      UINT32_MAX /* no status of a completion */
#define PROTO_WC_RETRY_EXC 12U
#define PROTO_WC_SEND      0U
#define PROTO_WC_RECV      128U

struct proto_event {
    int64_t t;
    uint16_t kind;  /* enum proto_event_kind */
    uint16_t flags; /* enum proto_command_flag */
    uint32_t cq;
    uint32_t qp; /* the client's own queue pair */
    uint32_t wqe;
    uint32_t status; /* enum ibv_wc_status */
    uint32_t opcode; /* enum ibv_wc_opcode */
    uint64_t length;
    uint64_t slot; /* in the arena of client `peer`; PROTO_NO_SLOT: no bytes */
    uint32_t peer;
    uint32_t imm;
    uint64_t remote_addr;
    uint32_t rkey;
    uint32_t src_qp; /* UD */
    uint32_t token;  /* names the slot in CONSUMED */
    uint32_t pad0;
};

/* Head and tail count entries since the start and wrap; an entry is at cursor % size. */
struct proto_cursors {
    _Alignas(64) _Atomic uint32_t head; /* the reader's */
    _Alignas(64) _Atomic uint32_t tail; /* the writer's */
};

enum proto_port_state { /* values of enum ibv_port_state */
    PROTO_PORT_DOWN = 1,
    PROTO_PORT_ACTIVE = 4,
};

/* A device as its host sees it; fixed for the run. */
struct proto_device {
    char name[PROTO_NAME_BYTES]; /* rdma_en2 */
    uint8_t guid[8];             /* network order */
    uint8_t gid[PROTO_GIDS][16];
    uint32_t
        gid_count; /* 2 without an IPv4 address on the port: then there is no GID 1 of that kind */
    uint32_t has_ipv4;
    uint64_t rate_bps;
    uint32_t cable;    /* of the scenario; UINT32_MAX: nothing plugged in */
    uint32_t has_rdma; /* both ends can: the port is active while the cable is whole */
    int64_t cut_at;    /* the cable is cut for the first time; or never */
};

/* Is it ::ffff:a.b.c.d, made of an IPv4 address? */
static inline bool proto_gid_is_ipv4(const uint8_t *gid)
{
    for (int i = 0; i < 10; i++) {
        if (gid[i] != 0)
            return false;
    }
    return gid[10] == 0xff && gid[11] == 0xff;
}

/* What a rank is told. Written by the conductor before the client may look. */
struct proto_agreed {
    uint32_t magic, version;
    uint32_t client, rank, rank_count;
    uint32_t profile;    /* enum proto_profile */
    uint32_t quirks;     /* QUIRK_BIT of each that is on, those of the variant included */
    uint32_t is_inline;  /* the parking actor drives the scheduler itself */
    uint32_t spin;       /* rounds that a parked actor waits awake before it sleeps */
    uint32_t cpu;        /* that all actors share, since one runs at a time; PROTO_ANY_CPU */
    uint32_t fold_after; /* empty polls in a row; 0: never fold */
    uint32_t max_qp, max_cq, max_pd, max_mr, max_wr, max_cqe; /* a device, what calls enforce */
    uint32_t devinfo_qp, devinfo_cq, devinfo_pd;              /* a device, what query_device says */
    uint32_t queue_frames_small, queue_frames_max; /* frames granted: for little, at most */
    uint32_t frame_bytes;
    uint32_t page_bytes;
    uint64_t max_message;
    int64_t charge[PROTO_CHARGE_COUNT];
    int64_t compute_permille; /* of the processor time between calls that is charged; 0: none */
    int64_t wire_ps_per_kib;  /* on the fastest cable: no send completes sooner after its post */
    int64_t receive_after;    /* no receive completes sooner after any post */
    int64_t side_latency;     /* side channel: from a send to the peer's knowing */
    int64_t epoch_ns;         /* CLOCK_REALTIME at virtual time zero */
    uint32_t device_count;
    uint32_t has_launcher; /* ranks talk to processes outside the run */
    uint32_t has_lids;     /* InfiniBand in place of Ethernet: PROTO_LID names a port */
    uint32_t pad0;
    struct proto_device device[PROTO_DEVICES_MAX];
    char host[64];
    char machine[64];
};

/* Of one actor, which alone writes it; read for the report only. `folded` and `handovers` depend on
 * scheduling, and so does the rest of calls[POLL_EMPTY]: its sum with `folded` does not. */
struct proto_stats {
    uint64_t calls[PROTO_CHARGE_COUNT];
    uint64_t waits[PROTO_WAIT_COUNT]; /* COMPLETION: on channels only */
    int64_t waited[PROTO_WAIT_COUNT]; /* virtual time, likewise */
    int64_t computed;                 /* virtual time charged for the program's own work */
    uint64_t folded;                  /* empty polls that were skipped */
    uint64_t hash; /* of (time, call, work request, length) of all that the actor saw */
    uint64_t handovers;
    uint32_t opened_device;
    uint32_t misfolds; /* jumps after which the program did something else than was expected */
};

/* With a launcher: what the client has asked processes outside the run, on sockets. */
struct proto_asked {
    _Alignas(64) _Atomic uint32_t open; /* sockets whose last bytes went out: an answer is owed */
    _Atomic uint32_t count;             /* of all questions so far */
};

struct proto_segment {
    struct proto_agreed agreed;
    struct proto_stats stats[PROTO_CLIENT_ACTORS];
    struct proto_asked asked;
    struct proto_cursors command_ring, event_ring;
    struct proto_chan chan[PROTO_CLIENT_ACTORS];
    _Alignas(64) struct proto_command commands[PROTO_COMMANDS];
    _Alignas(64) struct proto_event events[PROTO_EVENTS];
};

enum proto_verdict {
    PROTO_RUNNING = 0,
    PROTO_DEADLOCK,
    PROTO_BROKEN, /* the shared state makes no sense: a client damaged it */
};

/* Head of the hub; the scheduler's block follows at PROTO_HUB_BYTES. */
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): what several write has lines of its own
struct proto_hub {
    uint32_t magic, version;
    uint32_t rank_count;
    uint32_t client_count;              /* segments that exist: rank_count * PROTO_RANK_CLIENTS */
    _Alignas(64) _Atomic uint32_t lock; /* thread id of the owner, PROTO_LOCK_WAITERS or'ed in; 0 */
    _Alignas(64) _Atomic uint32_t conductor; /* futex word: counts calls for the conductor */
    _Atomic uint32_t verdict;                /* enum proto_verdict */
    _Alignas(64) _Atomic uint32_t progress;  /* counts hand-overs: the watcher's pulse */
};

#define PROTO_LOCK_WAITERS UINT32_C(0x80000000)
#define PROTO_HUB_BYTES    4096U

/* A client says hello on the abstract socket; the conductor checks its credentials. */
struct proto_hello {
    uint32_t magic, version;
    uint32_t rank;
    uint32_t pad0;
    char program[64];
};

/*
 * The answer. Descriptors follow it as SCM_RIGHTS in messages of at most PROTO_FDS_A_MESSAGE, in
 * this order: hub (inline only), segments (inline: all; else the client's own), arenas (all; the
 * client's own for writing, the others for reading only).
 */
struct proto_welcome {
    uint32_t magic, version;
    uint32_t status; /* errno; 0: welcome */
    uint32_t client;
    uint32_t client_count;
    uint32_t is_inline;
    uint32_t fd_count;
    uint32_t pad0;
    uint64_t hub_bytes;
    char why[128]; /* when status is not 0 */
};
/* Few, so that a process that may open only a few dozen files can take part. */
#define PROTO_FDS_A_MESSAGE 16U

/* What a client says on its socket once it has joined. End of file: the client is gone. */
enum proto_bell_why {
    PROTO_BELL_PARKED = 1, /* `actor` has parked (conductor as driver) */
    PROTO_BELL_OUTSIDE,    /* everybody waits, somebody for the outside: retry in a while */
    PROTO_BELL_VERDICT,    /* hub->verdict is set */
    PROTO_BELL_FINISHED,   /* no actor is left */
};

struct proto_bell {
    uint32_t why; /* enum proto_bell_why */
    uint32_t actor;
};

static_assert(sizeof(struct proto_command) == 80, "commands are copied as they are");
static_assert(sizeof(struct proto_event) == 80, "events are copied as they are");
static_assert(sizeof(struct proto_hub) <= PROTO_HUB_BYTES, "the scheduler's block follows");
static_assert(sizeof(union proto_call_args) == 64, "one line of cache");

#endif
