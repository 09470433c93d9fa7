// SPDX-License-Identifier: MIT
// Locks between pipelines. Inside a pipeline the plan is the lock; between pipelines there is one table per world. What a
// resource stands for only its owner knows (the registry, the index, the structure of a cluster, a type in a cluster): here it
// is a number. A holder, one per pipeline, takes a whole set at once or waits and has nothing of it, so there is no order in
// which two could wait for each other. docs/LOCKS.md shows what overlaps; invariants L1 to L6 in README.md.
//
// One step of a pipeline, and the structural step that may follow it:
//
//     orri_lock_take(holder, system, set, count);   // All of it. Direct systems read and write, indirect ones look.
//     orri_lock_reads_end(holder);                  // What was only read may be written by others from here on.
//     orri_lock_upgrade(holder);                    // Inclusive becomes exclusive, without a gap. Values are written.
//     orri_lock_release(holder);
//     orri_lock_take(holder, system, structure, n); // Holds nothing else: registry, index, clusters; all exclusive.
//     orri_lock_release(holder);
//
// A holder belongs to one thread at a time; different holders may be used at the same time. Calls that say "quiet" are for
// moments in which no holder has, or waits for, anything.
#ifndef ORRI_LOCK_LOCK_H
#define ORRI_LOCK_LOCK_H

#include "base/env.h"

typedef struct orri_locks orri_locks;
typedef struct orri_lock_holder orri_lock_holder;

// What may be held together on one resource (+):
//
//                      read  inclusive  exclusive  read within  write within
//     read              +        +          .           +            .
//     inclusive         +        .          .           +            .
//     exclusive         .        .          .           .            .
//     read within       +        +          .           +            +
//     write within      .        .          .           +            +
//
// The last two are for a resource that stands for many others, so that a set of thousands is one entry: who takes some of them
// takes it "within" too, who takes all of them takes it alone. (The registry may stand for the structure of all clusters.)
typedef enum orri_lock_mode {
    ORRI_LOCK_READ,
    ORRI_LOCK_INCLUSIVE, // Others may read, nobody else writes. Of LIVE resources only.
    ORRI_LOCK_EXCLUSIVE,
    ORRI_LOCK_READ_WITHIN,
    ORRI_LOCK_WRITE_WITHIN,
    ORRI_LOCK_MODES
} orri_lock_mode;

// Who upgrades holds no read lock on a resource that another might upgrade, or two would wait for each other. What is never held
// inclusively is never waited for by an upgrade, so reads of it are kept.
typedef enum orri_lock_kind {
    ORRI_LOCK_PLAIN, // Never inclusive: registry, index, structure.
    ORRI_LOCK_LIVE,  // May be held inclusively and upgraded: values. Never "within".
} orri_lock_kind;

// A set is an array of these, each resource once, by number. It stays the caller's, and stays as it is until it is released.
typedef struct orri_lock {
    uint32_t resource;
    uint32_t mode; // orri_lock_mode
} orri_lock;

// ---- table and holders ------------------------------------------------------------------------------------------------

// NULL if memory is refused. Allocates.
orri_locks* orri_locks_create(orri_env* env);
// With all holders. Quiet.
void orri_locks_destroy(orri_locks* locks);
// More resources, numbered on from what there is; while others hold and wait, too. Never fewer. Allocates.
ORR_NODISCARD orr_result orri_locks_add(orri_locks* locks, uint32_t count, orri_lock_kind kind,
                                        uint32_t* out_first);
uint32_t orri_locks_count(orri_locks* locks);
// `number` names it in traces and logs; no other holder may have it. Quiet. Allocates.
ORR_NODISCARD orr_result orri_lock_holder_create(orri_locks* locks, uint32_t number,
                                                 orri_lock_holder** out);
// It holds nothing. Quiet.
void orri_lock_holder_destroy(orri_lock_holder* holder);
// The invariants; ORR_ERR_CORRUPT. From any thread.
ORR_NODISCARD orr_result orri_locks_validate(orri_locks* locks);

// ---- taking -------------------------------------------------------------------------------------------------------------

// Takes the whole set, waiting for it if need be: behind everybody who waits for something that conflicts, past all others; what it only
// reads is no reason to stand behind one that waits for somebody who was there before it. The holder has nothing: adding to
// what is held is an assertion and has no effect. `who` is for the trace.
void orri_lock_take(orri_lock_holder* holder, uint32_t who, const orri_lock* set, uint32_t count);
// Drops its read locks on LIVE resources.
void orri_lock_reads_end(orri_lock_holder* holder);
// Makes exclusive what it holds inclusively; waits until those who read it are gone, and lets no more of them in. It holds no read
// lock on a LIVE resource (an assertion). Nothing if it holds nothing inclusively.
void orri_lock_upgrade(orri_lock_holder* holder);
void orri_lock_release(orri_lock_holder* holder);

// The same in two parts: true if it has it. If not it is in line, and must wait before anything else.
bool orri_lock_ask(orri_lock_holder* holder, uint32_t who, const orri_lock* set, uint32_t count);
bool orri_lock_upgrade_ask(orri_lock_holder* holder);
// True if what was asked for has been granted since. Waits for nothing.
bool orri_lock_ready(orri_lock_holder* holder);
void orri_lock_wait(orri_lock_holder* holder);

// ---- statistics ---------------------------------------------------------------------------------------------------------

typedef struct orri_lock_stats {
    uint64_t takes, upgrades; // Granted.
    uint64_t waits;           // Those of them that were not granted at once.
    uint64_t
        waited_ns; // From asking to going on, of all waits; the clock is read only while somebody waits.
    uint64_t longest_ns;
    uint32_t
        longest_resource; // The first that could not be had when the longest wait began; ORRI_LOCK_TURN: none,
                          // it was not its turn in a log.
} orri_lock_stats;

#define ORRI_LOCK_TURN UINT32_MAX

// From any thread; while the holder is at work, numbers may be of two moments.
void orri_lock_stats_get(const orri_lock_holder* holder, orri_lock_stats* out);
void orri_lock_stats_reset(orri_lock_holder* holder); // By the holder's thread.

// ---- trace --------------------------------------------------------------------------------------------------------------

typedef enum orri_lock_event {
    ORRI_LOCK_PLANNED, // Granted by the plan of a pipeline: no lock.
    ORRI_LOCK_TAKEN,
    ORRI_LOCK_UPGRADED, // `mode` is exclusive now.
    ORRI_LOCK_RELEASED, // Also reads that were let go.
} orri_lock_event;

typedef struct orri_lock_record {
    uint64_t sequence; // From 1, through all holders: the order of grants.
    uint32_t holder, who, resource;
    uint16_t mode, event;
} orri_lock_record;

// Keeps the last `capacity` records of each holder; 0 (as it begins): none. What was kept before is dropped. Refused: as it
// was. Quiet. Allocates.
ORR_NODISCARD orr_result orri_locks_trace(orri_locks* locks, uint32_t capacity);
// Records without locking, if there is a trace: what a plan grants, and when that ends (PLANNED, RELEASED).
void orri_lock_note(orri_lock_holder* holder, uint32_t who, const orri_lock* set, uint32_t count,
                    orri_lock_event event);
// The records kept, by sequence; returns how many there are, writes at most `capacity`. Quiet.
uint32_t orri_locks_trace_read(orri_locks* locks, orri_lock_record* out, uint32_t capacity);

// What appends the name of a number to a text (orri_text_add); NULL: "holder 1", "who 2", "resource 3".
struct orri_text;
typedef struct orri_lock_names {
    void* user;
    void (*holder)(void* user, uint32_t number, struct orri_text* out);
    void (*who)(void* user, uint32_t number, struct orri_text* out);
    void (*resource)(void* user, uint32_t number, struct orri_text* out);
} orri_lock_names;

// A line per record, as snprintf writes: returns the length it has or would have. `names` may be NULL. Quiet.
size_t orri_locks_trace_print(orri_locks* locks, const orri_lock_names* names, char* buffer,
                              size_t size);
const char* orri_lock_mode_name(orri_lock_mode mode);

// ---- the order of grants, recorded and followed ---------------------------------------------------------------------------

// Whose turn it was: of each take and each upgrade that was granted, holder number << 1 | it was an upgrade. Begins all-zero,
// or with `most` set; freed by orri_lock_log_free.
typedef struct orri_lock_log {
    uint32_t* grants;
    uint32_t count, capacity;
    uint32_t most; // Entries; 0: as many as there is memory for.
} orri_lock_log;

// It is in no log. While one is followed it is let in beside those whose order that is, and never before one of them that waits for the same. To be
// said before it asks for anything.
void orri_lock_holder_aside(orri_lock_holder* holder);
// True while such a holder has something. From any thread.
bool orri_locks_beside(const orri_locks* locks);

// Appends grants to the log from now on. Quiet. Grants allocate then; running out ends the recording, nothing else.
void orri_locks_record(orri_locks* locks, orri_lock_log* log);
// ORR_ERR_MEMORY or ORR_ERR_CAPACITY if it had to end before: the log is then a true beginning. Quiet.
ORR_NODISCARD orr_result orri_locks_record_end(orri_locks* locks);
// From now on grants are made in the order of the log, whoever came first; who is not next waits. At its end all is as before. If
// a holder whose turn it is asks for an upgrade where a take stands, or the other way round, following ends there. Quiet.
void orri_locks_follow(orri_locks* locks, const orri_lock_log* log);
// Grants followed so far. From any thread.
uint32_t orri_locks_followed(orri_locks* locks);
// Ends it; who waited for its turn is let in as if there had been no log. ORR_ERR_CONFLICT if it ended by itself as above,
// ORR_ERR_STATE if the log goes on. From any thread.
ORR_NODISCARD orr_result orri_locks_follow_end(orri_locks* locks);
// The same where it may go on: nothing is said of that.
void orri_locks_follow_leave(orri_locks* locks);
void orri_lock_log_free(orri_env* env, orri_lock_log* log);

#endif
