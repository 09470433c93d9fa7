// SPDX-License-Identifier: MIT
/// @file replay.h
/// Recordings of runs, in memory and in files; and doing the same again.
///
///     static void fire(orr_world* world, void* data) { … }          // an input: whatever enters the world from outside
///
///     orr_call_register(world, "fire", fire);                       // files know it by this name
///     orr_record(world, recording, &(orr_record_desc){.hash_every = 60});
///     orr_post(world, fire, &(Shot){.angle = 0.5f}, sizeof(Shot));  // done when the next tick begins, and recorded
///     orr_step(world, 600);
///     orr_record_end(world);
///     orr_recording_save(world, recording, "run.orr");
///
///     orr_recording_load(world, recording, "run.orr");              // on a world that was built in the same way
///     orr_replay(world, recording, NULL, NULL);                     // ORR_OK: every hash from where the world was on was the same
///
/// This is about lockstep (orr_step(), orr_update(), orr_run_until()). Runs in real time are recorded and replayed by orr_realtime(); files, names and
/// what looks into recordings are the same. All calls are for the thread that drives the world, between ticks. See docs/REPLAY.md.
#ifndef ORRERY_REPLAY_H
#define ORRERY_REPLAY_H

#include <orrery/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- recording ---------------------------------------------------------------------------------------------------

typedef struct orr_record_desc {
    /// Takes down the world's hash after every so many ticks. Default 0: only of the beginning and the end. Where there is a hash, it is found out when
    /// something changes the world before the next tick that is not in the recording: said in the log, and in the stats.
    uint32_t hash_every;
    /// Goes on with what is recorded already, which has to end where the world is: after a replay, or orr_recording_cut(). Default: it is
    /// emptied. An empty one can always be gone on with.
    bool append;
} orr_record_desc;

/// Takes down all that the world's ticks depend on from now on: posted calls, which pipeline ticks, every dt, what impure systems do; and the
/// hash of the world as it is now. Nothing of spectators. A world that goes back in time (history.h) records anew from there.
/// The recording stays where it is until orr_record_end(), or until the world is destroyed. When memory runs out it ends by itself. Allocates.
ORR_API orr_result orr_record(orr_world* world, orr_recording* recording,
                              const orr_record_desc* desc);
/// Ends it, with the hash of the world as it is now.
ORR_API orr_result orr_record_end(orr_world* world);
/// Drops what comes after a tick of the world: what is left ends there, and can be gone on with. Of lockstep only. ORR_ERR_PAST: it does not have that tick.
ORR_API orr_result orr_recording_cut(orr_recording* recording, uint64_t tick);

// ---- replay -----------------------------------------------------------------------------------------------------

typedef struct orr_replay_desc {
    /// Stops after this tick of the world, or at the end if that comes first. Default 0: at the end. Behind the world: ORR_ERR_PAST.
    uint64_t until_tick;
    /// 1: as fast as time went in the world, 2: twice as fast. Default 0: as fast as it goes. Below 0, infinite or no number: ORR_ERR_RANGE.
    double rate;
    bool no_verify; ///< Compares no hash, not even that of the beginning.
    /// Called after each tick, between ticks: to look, not to change, to step or to post. False: stops there.
    bool (*on_tick)(void* user, orr_world* world);
    void* user;
} orr_replay_desc;

/// What a replay found.
typedef struct orr_replay_report {
    uint64_t ticks;    ///< That ran.
    uint64_t verified; ///< Hashes that were compared, with that of the beginning.
    /// The first tick that has another hash than was recorded; and the last one before that was the same, 0 if none was compared (`verified`). Both 0: none differs.
    uint64_t differs_tick, agreed_tick;
    uint64_t hash, hash_recorded; ///< Of the tick that differs.
} orr_replay_report;

/// Runs what was recorded, on a world that is as that one was: when it began, or after any of its ticks, from which it goes on. The calls are done
/// again, impure systems are not called. Spectators of this world run beside it. With an `until_tick` the world goes on by itself afterwards, as it
/// likes. `out` may be NULL.
/// ORR_ERR_CONFLICT: the world is another, or a hash differs, said with the tick; the world stays as that tick left it. ORR_ERR_PAST: the world is at a
/// tick that is not in the recording. ORR_ERR_ABSENT: a call was not registered when the file was loaded. Refusals of ticks as orr_step(): calling again goes on.
/// The recording's own calls are all that is posted meanwhile: orr_post() of a call or a system is left out, since the recording has it.
ORR_API orr_result orr_replay(orr_world* world, const orr_recording* recording,
                              const orr_replay_desc* desc, orr_replay_report* out);

// ---- files ------------------------------------------------------------------------------------------------------

/// Writes a recording to a file, of lockstep or real time. The world gives names: of types, pipelines, systems and calls; a call without one is refused
/// (ORR_ERR_NAME). What was there is replaced when all has been written, and not at all otherwise: ORR_ERR_IO. Allocates.
ORR_API orr_result orr_recording_save(orr_world* world, const orr_recording* recording,
                                      const char* path);
/// Reads one (it is emptied first). Calls are found by the names that the world has registered; what it has not can be looked at, but not
/// replayed. The file may be from anywhere: ORR_ERR_FORMAT if it is no recording, or of another version; ORR_ERR_CORRUPT, with the place, if a
/// block is damaged. A file of lockstep that was cut off gives all ticks of its whole blocks, which may be none (orr_recording_stats.cut; a warning in the log says with
/// which tick it ends). Refused, it is empty. Allocates.
ORR_API orr_result orr_recording_load(orr_world* world, orr_recording* recording, const char* path);

// ---- looking into it --------------------------------------------------------------------------------------------------

/// A tick of a recording of lockstep.
typedef struct orr_recorded_tick {
    uint64_t tick;            ///< Of the world.
    const char* pipeline;     ///< "" if the recording does not say: it was not loaded from a file.
    uint32_t pipeline_number; ///< Among those that are no spectators, from 0.
    float dt;
    uint32_t call_first, call_count; ///< Done before it.
    uint32_t input_size;             ///< Bytes of what impure systems did in it.
    bool hashed;
    uint64_t hash; ///< Of the world after it.
} orr_recorded_tick;
/// False: it has no such tick (of the world).
ORR_API bool orr_recording_tick(const orr_recording* recording, uint64_t tick,
                                orr_recorded_tick* out);

typedef struct orr_recorded_call {
    const char* name; ///< "" if the recording does not say.
    const void* data;
    uint32_t size;
} orr_recorded_call;
/// Also of real time. False: it has no such call.
ORR_API bool orr_recording_call(const orr_recording* recording, uint32_t index,
                                orr_recorded_call* out);

/// Writes what it is of and what it has: ticks, calls by name, and as far as its file says types, pipelines and systems. As orr_value_print().
ORR_API size_t orr_recording_print(const orr_recording* recording, char* out, size_t out_size);

/// Where two recordings of lockstep begin to differ.
typedef struct orr_recording_difference {
    bool differ;
    uint64_t
        tick; ///< The first one that differs; the world's tick at the beginning if they begin differently.
    const char* what;        ///< "the hash", "a call", "dt" …; "" if none does.
    uint64_t hash_a, hash_b; ///< If both have one there.
} orr_recording_difference;
/// Compares inputs and hashes, tick by tick as far as both go; calls by name, or by function if a recording does not say.
ORR_API orr_result orr_recording_compare(const orr_recording* a, const orr_recording* b,
                                         orr_recording_difference* out);

// ---- where two runs part ------------------------------------------------------------------------------------------------

/// The first difference of two runs.
typedef struct orr_desync {
    bool looked; ///< False: orr_desync_find() was refused, and the rest says nothing.
    bool differ; ///< Otherwise nothing that both recorded does; the rest is empty.
    uint64_t
        tick; ///< The first one after which they differ; the one they begin with if they do from the beginning.
    uint64_t agreed_tick;            ///< The last one whose recorded hashes agree.
    char pipeline[ORR_NAME_MAX + 1]; ///< Whose tick that is; "" if they differ from the beginning,
    uint64_t pipeline_tick;          ///< and its number there: `run->tick` of its systems.
    char system
        [ORR_NAME_MAX +
         1]; ///< That did something else first; "": it was before, or between systems: see `when`.
    const char* when;        ///< "when it ran", "before systems ran: the calls" …
    const char* what;        ///< "a value", "an entity that only the first has" …
    uint32_t cluster, chunk; ///< Index of the cluster; number of the chunk within it.
    char component[ORR_NAME_MAX +
                   1]; ///< A type, or that of a system's state; "" if it is not about one.
    orr_entity entity;
    char entity_text[128]; ///< Its name, if it has one, and its id: "dog (7v1)".
    char field[128]; ///< "place.x"; "[1].x" of the second instance; "" if it is not about one.
    /// As text, cut if it is longer: after the tick, or, if calls made the difference, before systems ran.
    char value_a[128], value_b[128];
    uint64_t hash_a, hash_b;   ///< Of the worlds after the tick.
    uint64_t ticks_a, ticks_b; ///< That were run again to find it.
} orr_desync;

/// Finds where two runs part, of which there are recordings: on two worlds, each at a tick of its recording, and with memories of earlier ones if it is behind the
/// difference (orr_history_set(); with .every = 256 no more than 256 ticks of each are run again), or built anew, at its beginning. Recorded hashes tell between which ticks
/// it is; from there both run tick by tick and are looked at after each system. The worlds are left where they differ. Allocates. ORR_ERR_ARGUMENT: both are the same world.
/// ORR_ERR_PAST: a world is too far, and nothing is remembered. ORR_ERR_CONFLICT: a world, run again, does not come to its own recorded hash: it depends on
/// something that is not recorded, and then its recording is no help.
ORR_API orr_result orr_desync_find(orr_world* a, const orr_recording* recording_a, orr_world* b,
                                   const orr_recording* recording_b, orr_desync* out);
/// Writes it in words. As orr_value_print().
ORR_API size_t orr_desync_print(const orr_desync* desync, char* out, size_t out_size);

#ifdef __cplusplus
}
#endif

#endif
