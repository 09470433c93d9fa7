// SPDX-License-Identifier: MIT
/// @file replay.h
/// Recordings: the inputs of a run, recorded, saved to a file, and replayed.
///
///     static void fire(orr_world* world, void* data, size_t size) { … } // an input from outside
///
///     orr_call_register(world, "fire", fire, sizeof(Shot)); // its name in files, and its data
///     orr_record(world, recording, &(orr_record_desc){.hash_every = 60});
///     orr_post(world, fire, &(Shot){.angle = 0.5f}, sizeof(Shot)); // done in the next tick
///     orr_step(world, 600);
///     orr_record_end(world);
///     orr_recording_save(world, recording, "run.orr");
///
///     orr_recording_load(world, recording, "run.orr"); // on a world that was built the same way
///     orr_replay(world, recording, NULL, NULL);        // ORR_OK: all recorded hashes were equal
///
/// A recording has inputs and hashes, not the content of the world: the program builds the same
/// world again. This header records and replays lockstep (orr_step(), orr_update(),
/// orr_run_until()). Runs in real time are recorded and replayed by orr_realtime(); files, names
/// and the calls that inspect recordings are the same. Call all functions between ticks, on the
/// thread that drives the world. See docs/REPLAY.md.
#ifndef ORRERY_REPLAY_H
#define ORRERY_REPLAY_H

#include <orrery/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- recording ----------------------------------------------------------------------------------

/// Settings of orr_record().
typedef struct orr_record_desc {
    /// Records the world's hash after every `hash_every` ticks. Default 0: only at the beginning
    /// and at the end. After a tick with a hash, a change of the world that is not in the recording
    /// is detected: it is logged, and set in orr_recording_stats.changed.
    uint32_t hash_every;
    /// Appends to the recording, which must end at the world's current tick: after a replay, or
    /// after orr_recording_cut(). Appending to an empty recording is always allowed. Default: the
    /// recording is emptied first.
    bool append;
} orr_record_desc;

/// Begins to record all inputs of the world's ticks: posted calls, which pipeline ticks, every dt,
/// the actions of impure systems; and the hash of the world as it is now. Spectators are not
/// recorded. If the world travels back in time (history.h), the recording drops the ticks after
/// that tick and continues from there. The recording must stay alive until orr_record_end(), or
/// until the world is destroyed. If memory runs out, the recording ends with its last whole tick
/// (orr_recording_stats.full). `desc` may be NULL. Allocates.
/// @return ORR_ERR_STATE if the world or the recording is in use, or a tick is half done;
/// ORR_ERR_CONFLICT if the recording to append to does not end at the world's tick and hash;
/// ORR_ERR_TYPE if an impure system changes a type with strings, arrays or hooks; ORR_ERR_MEMORY.
/// On error the recording is unchanged.
ORR_API_REPLAY orr_result orr_record(orr_world* world, orr_recording* recording,
                                     const orr_record_desc* desc);
/// Ends the recording, with the hash of the world as it is now. Allocates.
/// @return ORR_ERR_STATE if the world is not recorded, or a tick is half done.
ORR_API_REPLAY orr_result orr_record_end(orr_world* world);
/// Drops all ticks after a tick of the world. The rest can be appended to. Lockstep only. After a
/// replay of the rest the time of the world is that at the beginning of the first dropped tick.
/// @return ORR_ERR_PAST if the recording does not have that tick; ORR_ERR_STATE if it is empty, in
/// use, or of a run in real time.
ORR_API_REPLAY orr_result orr_recording_cut(orr_recording* recording, uint64_t tick);

// ---- replay -------------------------------------------------------------------------------------

/// Settings of orr_replay().
typedef struct orr_replay_desc {
    /// Stops after this tick of the world, or at the end of the recording if that is earlier.
    /// Default 0: at the end. A tick before the world's current one is ORR_ERR_PAST.
    uint64_t until_tick;
    /// Speed relative to the world's time: 1 is as fast as time passed in the world, 2 is twice as
    /// fast. Default 0: as fast as possible. Negative, infinite or NaN is ORR_ERR_RANGE.
    double rate;
    bool no_verify; ///< Does not compare hashes, not even the first one. Default false.
    /// Called after each tick. It may read the world, not change, step or post to it. Return false
    /// to stop there. Default NULL.
    bool (*on_tick)(void* user, orr_world* world);
    void* user; ///< Passed to on_tick.
} orr_replay_desc;

/// Result of a replay.
typedef struct orr_replay_report {
    uint64_t ticks;    ///< Ticks that ran.
    uint64_t verified; ///< Hashes that were compared, including the first one.
    /// The first tick whose hash differs from the recorded one, and the last tick before it whose
    /// hash was equal (0 if none was compared, see `verified`). Both are 0 if no hash differs.
    uint64_t differs_tick, agreed_tick;
    uint64_t hash, hash_recorded; ///< The two hashes of the tick that differs.
} orr_replay_report;

/// Replays a recording of lockstep, on a world that is in the state of the recorded world: as it
/// was when the recording began, or after any tick of the recording. The replay starts at the
/// world's tick. Recorded calls are done again; impure systems are not called, their recorded
/// results are used. Spectators of this world run during the replay. orr_post() by calls and
/// systems is ignored during a replay, because the recording has these calls. After a replay with
/// `until_tick` the world can be stepped as usual. `desc` and `out` may be NULL. Allocates.
/// @return ORR_ERR_CONFLICT if the world differs from the recorded one, or a hash differs: the log
/// names the tick, and the world stays as that tick left it. ORR_ERR_CONFLICT also if an impure
/// system has recorded effects that it does not declare in this world, or if a recorded time is too
/// far from that of the world. ORR_ERR_PAST if the recording does not have the world's tick.
/// ORR_ERR_ABSENT if a call was not registered when the file was loaded. Errors of ticks as
/// orr_step(): calling again continues the tick.
ORR_API_REPLAY orr_result orr_replay(orr_world* world, const orr_recording* recording,
                                     const orr_replay_desc* desc, orr_replay_report* out);

// ---- files --------------------------------------------------------------------------------------

/// Writes a recording to a file, of lockstep or real time. The world supplies the names of types,
/// pipelines, systems and calls. The file is replaced after everything was written; on error an
/// existing file is unchanged (or was replaced completely, if only the sync of its folder failed).
/// Allocates.
/// @return ORR_ERR_NAME if a recorded call has no name (orr_call_register()); ORR_ERR_IO;
/// ORR_ERR_ARGUMENT if the path or the recording is empty; ORR_ERR_MEMORY.
ORR_API_REPLAY orr_result orr_recording_save(orr_world* world, const orr_recording* recording,
                                             const char* path);
/// Reads a recording from a file; the recording is emptied first. Calls are found by the names
/// registered in the world; a recording with other calls can be inspected, but not replayed. The
/// file may come from an untrusted source: all sizes and numbers in it are checked. A truncated
/// file of lockstep gives all ticks of its complete blocks, possibly none; this sets
/// orr_recording_stats.cut, and a warning in the log names the last tick. On error the recording is
/// empty, except after ORR_ERR_ARGUMENT and ORR_ERR_STATE, which leave it unchanged. Allocates.
/// @return ORR_ERR_FORMAT if the file is not a recording, or of another version; ORR_ERR_CORRUPT if
/// a block is damaged (the log has the byte offset), if it has impossible numbers, or if a file of
/// real time is truncated; ORR_ERR_CONFLICT if the data of a call has another size than the
/// registered one; ORR_ERR_ARGUMENT if the path is NULL; ORR_ERR_STATE if the recording is in use,
/// inside a system and in real time; ORR_ERR_IO; ORR_ERR_MEMORY.
ORR_API_REPLAY orr_result orr_recording_load(orr_world* world, orr_recording* recording,
                                             const char* path);

// ---- inspecting recordings ----------------------------------------------------------------------

/// One tick of a recording of lockstep. The strings are valid as long as the recording is
/// unchanged.
typedef struct orr_recorded_tick {
    uint64_t tick; ///< The world's tick.
    /// Name of the pipeline; "" if the recording was not loaded from a file.
    const char* pipeline;
    /// Number of the pipeline, from 0, not counting spectators.
    uint32_t pipeline_number;
    float dt; ///< Seconds.
    uint32_t call_first,
        call_count;      ///< Calls done before the tick: index of the first, and number.
    uint32_t input_size; ///< Bytes recorded of impure systems in this tick.
    bool hashed;         ///< True if a hash was recorded.
    uint64_t hash;       ///< Hash of the world after the tick.
} orr_recorded_tick;
/// Gets one tick of a recording. @return false if the recording does not have this tick of the
/// world.
ORR_API_REPLAY bool orr_recording_tick(const orr_recording* recording, uint64_t tick,
                                       orr_recorded_tick* out);

/// One posted call of a recording. Valid as long as the recording is unchanged.
typedef struct orr_recorded_call {
    const char* name; ///< Name of the call; "" if the recording was not loaded from a file.
    const void* data; ///< Copy of the data that was posted.
    uint32_t size;    ///< Bytes of data.
} orr_recorded_call;
/// Gets one call of a recording, of lockstep or real time. @return false if there is no such index.
ORR_API_REPLAY bool orr_recording_call(const orr_recording* recording, uint32_t index,
                                       orr_recorded_call* out);

/// Writes a summary: ticks, calls by name and, if it was loaded from a file, types, pipelines and
/// systems. Buffer and result as orr_value_print().
ORR_API_REPLAY size_t orr_recording_print(const orr_recording* recording, char* out,
                                          size_t out_size);

/// First difference of two recordings of lockstep.
typedef struct orr_recording_difference {
    bool differ; ///< False: no difference, as far as both recordings go.
    /// First tick that differs. If the recordings begin differently: the world's tick at the
    /// beginning.
    uint64_t tick;
    /// The difference as text: "the hash", "the calls before it", "the time of the tick" …; "" if
    /// there is none.
    const char* what;
    uint64_t hash_a, hash_b; ///< The hashes of that tick, if both recordings have one there.
} orr_recording_difference;
/// Compares inputs and hashes, tick by tick, as far as both recordings go. Calls are compared by
/// name, or by function if one of the recordings has no names.
/// @return ORR_ERR_STATE if one of them is not of lockstep.
ORR_API_REPLAY orr_result orr_recording_compare(const orr_recording* a, const orr_recording* b,
                                                orr_recording_difference* out);

// ---- desync: where two runs diverge -------------------------------------------------------------

/// First difference of two runs.
typedef struct orr_desync {
    bool looked; ///< False: orr_desync_find() was refused, and the other fields are not set.
    bool differ; ///< False: nothing that both runs recorded differs; the fields below are empty.
    /// First tick after which the worlds differ. If they differ at the beginning: the tick they
    /// begin with.
    uint64_t tick;
    uint64_t agreed_tick; ///< Last tick whose recorded hashes are equal.
    /// Pipeline whose tick differs; "" if the worlds differ at the beginning.
    char pipeline[ORR_NAME_MAX + 1];
    uint64_t pipeline_tick; ///< Number of that tick in the pipeline: `run->tick` of its systems.
    /// First system that behaved differently; "" if the difference arose before or between systems,
    /// see `when`.
    char system[ORR_NAME_MAX + 1];
    const char* when; ///< When in the tick, as text: "when it ran", "before systems ran: …".
    const char* what; ///< The difference: "a value", "an entity that only the first has" …
    uint32_t cluster, chunk; ///< Index of the cluster; number of the chunk within it.
    /// Component type, or type of a system's state or exports; "" if no type is concerned.
    char component[ORR_NAME_MAX + 1];
    orr_entity entity;     ///< The entity; null if none is concerned.
    char entity_text[128]; ///< Its name, if it has one, and its id: "dog (7v1)".
    char field[128]; ///< "place.x"; "[1].x" for the second instance; "" if no field is concerned.
    /// The two values as text, cut if longer. Taken after the tick; if calls caused the difference,
    /// before systems ran.
    char value_a[128], value_b[128];
    uint64_t hash_a, hash_b;   ///< Hashes of the worlds after the tick.
    uint64_t ticks_a, ticks_b; ///< Ticks that were run again to find the difference.
} orr_desync;

/// Finds where two recorded runs diverge. The recorded hashes show the last tick that agrees; from
/// there both worlds run tick by tick, and are compared after each system. The worlds are left
/// where they differ.
///
/// Each world must be at a tick of its recording. A world that is past the difference needs
/// remembered ticks to travel back (orr_history_set(); with .every = 256 at most 256 ticks of each
/// are run again); a world that was built anew, at the beginning of its recording, needs none.
/// Allocates.
/// @return ORR_ERR_ARGUMENT if both are the same world, or the recordings begin with different
/// ticks. ORR_ERR_PAST if a world is past the difference and has no earlier tick remembered.
/// ORR_ERR_CONFLICT if a world, run again, does not reach its own recorded hash: it depends on
/// something that is not recorded. ORR_ERR_STATE if a recording is not a finished recording of
/// lockstep, if a world is being recorded, or if a tick is half done. ORR_ERR_MEMORY.
ORR_API_REPLAY orr_result orr_desync_find(orr_world* a, const orr_recording* recording_a,
                                          orr_world* b, const orr_recording* recording_b,
                                          orr_desync* out);
/// Writes the result as one line of text. Buffer and result as orr_value_print().
ORR_API_REPLAY size_t orr_desync_print(const orr_desync* desync, char* out, size_t out_size);

#ifdef __cplusplus
}
#endif

#endif
