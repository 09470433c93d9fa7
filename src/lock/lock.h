// SPDX-License-Identifier: MIT
// Locks between pipelines that run in real time. Inside a pipeline the plan decides what may
// overlap; between pipelines one lock table per world does. A resource is a number; its meaning is
// known to the owner of the table only (the registry, the index, the structure of a cluster, a type
// in a cluster). A holder, one per pipeline, is granted a whole set at once, or waits and holds
// nothing of it, so there is no order in which two holders could wait for each other.
// docs/LOCKS.md shows what overlaps. The invariants are in README.md.
//
// One step of a pipeline, and the structural step that may follow it:
//
//     orri_lock_take(holder, system, set, count);   // The whole set. Systems run.
//     orri_lock_reads_end(holder);                  // Other holders may write what was only read.
//     orri_lock_upgrade(holder);                    // Inclusive becomes exclusive, without a gap.
//     orri_lock_release(holder);                    // After the values were written.
//     orri_lock_take(holder, system, structure, n); // Registry, index, clusters; all exclusive.
//     orri_lock_release(holder);                    // After the structural changes.
//
// A holder belongs to one thread at a time; different holders may be used at the same time. "Quiet"
// means: call only while no holder holds or waits for anything.
#ifndef ORRI_LOCK_LOCK_H
#define ORRI_LOCK_LOCK_H

#include "base/env.h"

typedef struct orri_locks orri_locks;
typedef struct orri_lock_holder orri_lock_holder;

// Which modes may be held on one resource at the same time (+):
//
//                      read  inclusive  exclusive  read within  write within
//     read              +        +          .           +            .
//     inclusive         +        .          .           +            .
//     exclusive         .        .          .           .            .
//     read within       +        +          .           +            +
//     write within      .        .          .           +            +
//
// The last two modes are for a resource that stands for many others, so that a set of thousands is
// one entry: a holder of some of these takes the resource "within" as well; a holder of all of them
// takes only the resource. (The registry may stand for the structure of all clusters.)
typedef enum orri_lock_mode {
    ORRI_LOCK_READ,         // Other holders may read.
    ORRI_LOCK_INCLUSIVE,    // Other holders may read, none may write. For LIVE resources only.
    ORRI_LOCK_EXCLUSIVE,    // No other holder reads or writes.
    ORRI_LOCK_READ_WITHIN,  // Reads some of the resources that this one stands for.
    ORRI_LOCK_WRITE_WITHIN, // Writes some of the resources that this one stands for.
    ORRI_LOCK_MODES         // Number of modes.
} orri_lock_mode;

// A holder releases its reads of LIVE resources before it upgrades; otherwise two upgraders could
// wait for each other. A PLAIN resource is never held inclusively, so no upgrade waits for it, and
// reads of it are kept.
typedef enum orri_lock_kind {
    ORRI_LOCK_PLAIN, // Never inclusive: registry, index, structure.
    ORRI_LOCK_LIVE,  // May be held inclusively and upgraded: values. Never "within".
} orri_lock_kind;

// A set is an array of locks, sorted by resource, each resource once. The array belongs to the
// caller and must not change until the set is released.
typedef struct orri_lock {
    uint32_t resource;
    uint32_t mode; // orri_lock_mode
} orri_lock;

// ---- table and holders --------------------------------------------------------------------------

// Returns NULL if memory is refused. Allocates.
orri_locks* orri_locks_create(orri_env* env);
// Destroys all holders too. Quiet.
void orri_locks_destroy(orri_locks* locks);
// Adds resources, numbered after the existing ones; also while holders hold and wait. Resources are
// never removed. Allocates.
ORR_NODISCARD orr_result orri_locks_add(orri_locks* locks, uint32_t count, orri_lock_kind kind,
                                        uint32_t* out_first);
uint32_t orri_locks_count(orri_locks* locks);
// `number` names the holder in traces and logs; each holder has its own. Quiet. Allocates.
ORR_NODISCARD orr_result orri_lock_holder_create(orri_locks* locks, uint32_t number,
                                                 orri_lock_holder** out);
// The holder must hold nothing. Quiet.
void orri_lock_holder_destroy(orri_lock_holder* holder);
// Checks invariants L1 to L3; ORR_ERR_CORRUPT if one is violated. From any thread.
ORR_NODISCARD orr_result orri_locks_validate(orri_locks* locks);

// ---- taking -------------------------------------------------------------------------------------

// Takes the whole set and waits if necessary: behind every waiter that it conflicts with, ahead of
// all others. A set may overtake a waiter in resources that it only reads, while that waiter waits
// for a holder that was there before it. The holder must hold nothing: a second take is an
// assertion and has no effect. `requester` is a number for the trace.
void orri_lock_take(orri_lock_holder* holder, uint32_t requester, const orri_lock* set,
                    uint32_t count);
// Releases the holder's read locks on LIVE resources.
void orri_lock_reads_end(orri_lock_holder* holder);
// Makes the holder's inclusive locks exclusive: waits until their readers have released, and admits
// no new readers. The holder must hold no read lock on a LIVE resource (an assertion). Does nothing
// if the holder has no inclusive lock.
void orri_lock_upgrade(orri_lock_holder* holder);
void orri_lock_release(orri_lock_holder* holder);

// Take and upgrade in two parts. True: granted. False: the request is in the queue, and the next
// call for this holder must be orri_lock_ready() or orri_lock_wait().
bool orri_lock_ask(orri_lock_holder* holder, uint32_t requester, const orri_lock* set,
                   uint32_t count);
bool orri_lock_upgrade_ask(orri_lock_holder* holder);
// True if the queued request has been granted. Does not wait.
bool orri_lock_ready(orri_lock_holder* holder);
// Waits until the queued request is granted.
void orri_lock_wait(orri_lock_holder* holder);

// ---- statistics ---------------------------------------------------------------------------------

typedef struct orri_lock_stats {
    uint64_t takes, upgrades; // Granted.
    uint64_t waits;           // Those of them that were not granted at once.
    // Total time from request to return, of all waits. The clock is read only while a request
    // waits.
    uint64_t waited_ns;
    uint64_t longest_ns; // The longest wait.
    // The first resource that was missing when the longest wait began. ORRI_LOCK_TURN: none; the
    // request waited for its turn in a followed log.
    uint32_t longest_resource;
} orri_lock_stats;

#define ORRI_LOCK_TURN UINT32_MAX

// From any thread; while the holder works, the numbers may be of different moments.
void orri_lock_stats_get(const orri_lock_holder* holder, orri_lock_stats* out);
void orri_lock_stats_reset(orri_lock_holder* holder); // By the holder's thread.

// ---- trace --------------------------------------------------------------------------------------

typedef enum orri_lock_event {
    ORRI_LOCK_PLANNED,  // Granted by the plan of a pipeline, without a lock.
    ORRI_LOCK_TAKEN,    // Granted by the table.
    ORRI_LOCK_UPGRADED, // `mode` is exclusive now.
    ORRI_LOCK_RELEASED, // Released; also by orri_lock_reads_end().
} orri_lock_event;

typedef struct orri_lock_record {
    uint64_t sequence;          // From 1, over all holders: the order of events.
    uint32_t holder, requester; // Number of the holder; number given with the request.
    uint32_t resource;
    uint16_t mode, event; // orri_lock_mode, orri_lock_event
} orri_lock_record;

// Keeps the last `capacity` records of each holder; 0, the default, keeps none. Drops the records
// kept so far. If memory is refused nothing changes. Quiet. Allocates.
ORR_NODISCARD orr_result orri_locks_trace(orri_locks* locks, uint32_t capacity);
// Records events without locking anything, if there is a trace: what a plan grants and when that
// ends (PLANNED, RELEASED).
void orri_lock_note(orri_lock_holder* holder, uint32_t requester, const orri_lock* set,
                    uint32_t count, orri_lock_event event);
// Reads the kept records by sequence. Returns their number and writes at most `capacity`. Quiet.
uint32_t orri_locks_trace_read(orri_locks* locks, orri_lock_record* out, uint32_t capacity);

// Callbacks that append the name of a number to a text (orri_text_add). A NULL callback prints
// "holder 1", "requester 2", "resource 3".
struct orri_text;
typedef struct orri_lock_names {
    void* user; // Passed to the callbacks.
    void (*holder)(void* user, uint32_t number, struct orri_text* out);
    void (*requester)(void* user, uint32_t number, struct orri_text* out);
    void (*resource)(void* user, uint32_t number, struct orri_text* out);
} orri_lock_names;

// Prints one line per record. Like snprintf: returns the length of the whole text. `names` may be
// NULL. Quiet.
size_t orri_locks_trace_print(orri_locks* locks, const orri_lock_names* names, char* buffer,
                              size_t size);
const char* orri_lock_mode_name(orri_lock_mode mode);

// ---- the order of grants, recorded and followed -------------------------------------------------

// The order of grants: for each granted take and upgrade, holder number << 1 | (1 for an upgrade).
// Initialise to zero, or with `most` set. Freed by orri_lock_log_free().
typedef struct orri_lock_log {
    uint32_t* grants;
    uint32_t count, capacity;
    uint32_t most; // Most entries; 0: limited by memory only.
} orri_lock_log;

// Excludes the holder from logs: its grants are not recorded. While a log is followed, the holder
// is granted its sets independently of the log, but never ahead of a logged holder that waits for
// the same. Call before the holder's first request.
void orri_lock_holder_set_unlogged(orri_lock_holder* holder);
// True while an excluded holder holds a set. From any thread.
bool orri_locks_unlogged_active(const orri_locks* locks);

// Appends grants to the log from now on. Quiet. Grants then allocate; when memory or `most` runs
// out, only the recording ends.
void orri_locks_record(orri_locks* locks, orri_lock_log* log);
// Ends recording. ORR_ERR_MEMORY or ORR_ERR_CAPACITY if it ended early: the log then holds a
// correct beginning. Quiet.
ORR_NODISCARD orr_result orri_locks_record_end(orri_locks* locks);
// From now on requests are granted in the order of the log, whichever came first. At the end of the
// log granting returns to normal. If the next holder of the log asks for an upgrade where the log
// has a take, or the other way round, following ends there. Quiet.
void orri_locks_follow(orri_locks* locks, const orri_lock_log* log);
// Number of grants followed so far. From any thread.
uint32_t orri_locks_followed(orri_locks* locks);
// Ends following; waiting holders are then granted as if there had been no log. ORR_ERR_CONFLICT if
// following ended by itself as above, ORR_ERR_STATE if the log has more grants. From any thread.
ORR_NODISCARD orr_result orri_locks_follow_end(orri_locks* locks);
// As orri_locks_follow_end(), where a log with more grants is no error. A conflict is reported.
void orri_locks_follow_leave(orri_locks* locks);
void orri_lock_log_free(orri_env* env, orri_lock_log* log);

#endif
