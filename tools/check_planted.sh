#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Mutation test. Plants bugs into a copy of the source, one at a time. At least one test must fail for each planted
# bug; the script lists the failing tests. A plant whose sed expression no longer changes its file is an error.
#
#     tools/check_planted.sh [NAME…]    # only the plants whose title contains NAME
#     tools/check_planted.sh --apply    # only check that every plant still changes its files (takes seconds)
source "$(dirname "$0")/common.sh"

temporary
compiler=${CC:-gcc}
jobs=${ORR_JOBS:-$(nproc)}
flags="-std=c17 -O1 -ffp-contract=off -fPIC -fno-semantic-interposition -w -pthread"
# The test files of every module that run anywhere. Excluded: C++ tests, test_recording_tool (needs a program of the
# build) and files marked ORR_TEST_ALONE. Of the modules base and below only the files that plants need.
tests= shared="$(cmake_list tests/support/tests_support.cmake ORR_TEST_SUPPORT)"
while read -r module; do
    case $module in
    platform | schema) continue ;;
    base) only='math_special|math_golden|sync_model|controlled' ;;
    *) only='.' ;;
    esac
    for source in $(cmake_list "tests/$module/tests.cmake" "ORR_TESTS_${module^^}" | grep '\.c$' | grep -v test_recording_tool | grep -E "$only"); do
        grep -q ORR_TEST_ALONE "$source" || tests+=" $source"
    done
    shared+=" $(cmake_list "tests/$module/tests.cmake" "ORR_TEST_EXTRA_${module^^}")"
done < <(cat src/modules.txt; echo model)
shared+=" $(cmake_list scenarios/scenarios.cmake ORR_SCENARIOS)"
library=
while read -r module; do
    library+=" $(cmake_list "src/$module/sources.cmake" "ORR_SOURCES_${module^^}")"
done <src/modules.txt

# Compiles files of a tree into objects of a folder. Tests include internal headers, so they are compiled against the
# same tree.
compile() { # tree, folder, jobs, files…
    local tree=$1 folder=$2 jobs=$3
    shift 3
    mkdir -p "$folder"
    printf '%s\n' "$@" | sort -u | (cd "$tree" && xargs -P"$jobs" -I{} sh -c '
        out=$1/$(echo "$2" | tr "/" "-").o
        rm -f "$out" # It may be a hard link.
        exec '"$compiler $flags"' -Iinclude -Isrc -Itests -I. -c "$2" -o "$out"' sh "$folder" {})
}

# The library is linked once for all test programs, so that a plant costs one small link.
link_library() { # folder with objects
    rm -f "$1/libplanted.so"
    # shellcheck disable=SC2046,SC2086
    "$compiler" -pthread -shared -Wl,-Bsymbolic,-soname,libplanted.so $(objects "$1" $library) -o "$1/libplanted.so"
}

link_tests() { # folder with objects, jobs
    # shellcheck disable=SC2086
    printf '%s\n' $tests | xargs -P"$2" -I{} sh -c '
        folder=$1 source=$2
        shift 2
        rm -f "$folder/$(basename "$source" .c)"
        exec '"$compiler"' -pthread "$folder/$(echo "$source" | tr / -).o" "$@" -Wl,-rpath,"\$ORIGIN" \
            "$folder/libplanted.so" -lm -o "$folder/$(basename "$source" .c)"' \
        sh "$1" {} $(objects "$1" $shared)
}

# Runs one test program and prints the names of the failed tests. A program that crashes or hangs fails as a whole.
run_test() { # folder with programs, name, seconds
    local folder=$1 name=$2 log=$1/$2.log
    if ! (cd "$folder" && timeout "$3" "./$name" --seed 1) >"$log" 2>&1 </dev/null; then
        grep '^FAILED' "$log" | sed "s/^FAILED/$name:/" || true
        grep -q '^[0-9]* passed' "$log" || echo "$name: crashed or hung"
        grep -oE '^  schedule [0-9]+( of seed [0-9]+)?' "$log" | sed 's/^  /found in /' || true # By a model.
    fi
}

objects() { # folder, files…
    local folder=$1 file
    shift
    for file in "$@"; do
        echo "$folder/$(echo "$file" | tr / -).o"
    done | sort -u
}

# ---- the plants: title, then pairs of file and sed expression -------------------------------------------

plants=()
plant() { plants+=("$(printf '%s\037' "$@")"); }

plant "swap-remove off by one" \
    src/store/table/row.c 's/orri_row_relocate\(world, chunk, slot, last, last_slot\)/orri_row_relocate(world, chunk, slot, last, last_slot - (last_slot > 0))/'
plant "swap-remove off by one, fast path" \
    src/store/world/world.h '/orri_row_close_gap/,/^}/s/copy_words\(chunk, slot, last, last_slot\)/copy_words(chunk, slot, last, last_slot - (last_slot > 0))/'
plant "parked chunk without enable bits taken back" \
    src/store/table/chunk.c '/^ORRI_COLD bool orri_cluster_add_bits/,/^}/s/    orri_parked_release\(world, cluster\);//'
plant "parked chunk not stamped" \
    src/store/world/world.h 's/ \|\| cluster->parked->stamp != world->epoch//'
plant "parked chunk with shares" \
    src/store/table/parked.c 's/chunk->share_count != 0 \|\| cluster->has_bits/cluster->has_bits/'
plant "value set without a stamp, fast path" \
    src/store/api/component.c '/^static inline bool component_set_near/,/^}/s/version != orri_epoch\(world\)/version == UINT64_MAX/'
plant "component added in an open iteration, fast path" \
    src/store/api/component.c '/^static inline bool component_edge_near/,/^}/s/!orri_world_open\(world\)/false/'
plant "missing generation bump" \
    src/store/table/entity_index.c 's/\(orri_record\)\{generation \+ 1, free_first\}/(orri_record){generation, free_first}/'
plant "static desc taken for another one with the same place" \
    include/orrery/store.h 's/ORR_LIKELY\(entry->desc == static_desc\)/ORR_LIKELY(entry->desc != NULL)/'
plant "preset forgotten when a row moves by words" \
    src/store/table/transition.c 's/type->trivial && type->zero_preset/type->trivial/'
plant "links forgotten when a row moves by words" \
    src/store/table/transition.c 's/ && !transition->indexed;/;/'
plant "enable bits of a row that moves by words not set" \
    src/store/table/row.c 's/transition->words && !to->has_bits/transition->words/'
plant "padding of a value kept when a row moves by words" \
    src/store/table/transition.c 's/ && !type->info\.has_padding//'
plant "value read from the world after its block has moved" \
    src/store/table/row.c 's/value != NULL \? kept : NULL/value/'
plant "referrers of a destroyed entity not looked for, short path" \
    src/store/world/world.h 's/\(world->relations\.count \| world->pinned\.live\) == 0/world->pinned.live == 0/'
plant "structure changed in real time, or before readers are notified of a travel" \
    src/store/world/world.h '/^static inline bool orri_world_open/,/^}/s/world->running\.access == NULL && //'
plant "entity created in an unstamped page of the index" \
    src/store/world/world.h '/^static inline orr_entity orri_index_give_ready/,/^}/s/!orri_index_fresh\(world, number\)/false/'
plant "preset of an entity created by the short path is zero" \
    src/store/api/entity.c 's/preset != NULL \? preset : orri_zeros/orri_zeros/'
plant "deleted cluster stays on the list of parked chunks" \
    src/store/table/parked.c '/^void orri_parked_release\(/,/^}/s/if \(cluster->parked_listed\) \{/if (chunk != NULL) {/'
plant "table of static descs changed without orr_type_of" \
    src/schema/type.c 's/\*schema->shown = \*table;/schema->shown->entries = table->entries;/'
plant "run of recycled ids not checked to its end" \
    src/store/table/entity_index.c '/^static inline bool index_give_run/,/^}/s/int32_t i = 0; i < INDEX_RUN;/int32_t i = 0; i < INDEX_RUN - 1;/'
plant "generations not checked when many values are copied" \
    src/store/api/component.c '/^static inline uint32_t component_copy_near/,/^}/s/record->generation != orri_id_generation\(entities\[i\]\)/false/'
plant "pinned value removed by the short path still counts" \
    src/store/pool/pool.h '/^static inline bool orri_pool_remove_quick/,/^}/s/pool->live--;/(void)0;/'
plant "missing generation bump, fast path" \
    src/store/world/world.h 's/\(orri_record\)\{generation \+ 1, world->index\.free_first\}/(orri_record){generation, world->index.free_first}/'
plant "frozen block written in place" \
    src/store/cow/share.c 's/^        return share_copy_live\(world, chunk, column\);/        share_unhook(share);/'
plant "history block not copied before the write" \
    src/store/cow/share.c '/^bool orri_share_detach_column/,/^}/s/\} else if \(share_copy_out\(world, share\)\)/} else if (true || share_copy_out(world, share))/'
plant "shared page of the entity index written in place" \
    src/store/cow/share.c '/^bool orri_share_detach_page/,/^}/s/world->hot\.pages\[page\] = copy;/(void)copy;/'
plant "record of the moved row not updated" \
    src/store/table/chunk.c '/^void orri_row_relocate/,/^}/s/orri_index_write\(world, index\)->place = .*;/(void)index;/'
plant "destructors skipped when a cluster is deleted" \
    src/store/table/cluster.c '/^static void cluster_kill_chunk/,/^}/s/orri_cells_destruct\(.*\);/(void)0;/'
plant "enable bit not moved" \
    src/store/table/chunk.c '/^void orri_row_relocate/,/^}/s/chunk_relocate_bits\(.*\);/(void)0;/'
plant "enable bit of a kept column lost between clusters" \
    src/store/table/row.c '/^void orri_transition_move_bits/,/^}/s/row_bits_column\(to, transition->kept/if (0) row_bits_column(to, transition->kept/'
plant "padding hashed" \
    src/schema/layout.c 's/type->canonical_bytes = !info->has_padding \&\& /type->canonical_bytes = /'
plant "create_many does not roll back after a failure" \
    src/store/api/entity.c '/^static orr_result entity_make_values/,/^}/s/while \(c-- > 0\)/while (false \&\& c-- > 0)/'
plant "hash of a written block not recomputed" \
    src/store/api/world_hash.c '/^static uint64_t world_hash_block/,/^}/s/cold->hash_version == entry->version/true/'
plant "tick of a write not stamped" \
    src/store/table/chunk.c '/^void orri_column_stamp_one/,/^}/s/chunk->columns\[column\]\.tick = orri_tick_now\(world\);/(void)0;/'
plant "batch fills one gap too many" \
    src/store/change/execute.c '/^static void execute_fill\(/,/^}/s/if \(row < /if (row <= /'
plant "duplicate in a batch not detected" \
    src/store/change/route.c '/^static orr_result route_find_places/,/^}/s/record->generation \|= ORRI_DEAD;/(void)0;/'
plant "duplicate in a short list not detected" \
    src/store/change/route.c '/^static bool route_repeats/,/^}/s/repeats = repeats \|\| .*;/(void)0;/'
plant "batch prepares whole chunks for a snapshot" \
    src/store/change/route.c '/^static bool route_prepare_chunk/,/^}/s/orri_chunk_prepare_rows\(c->world, chunk, orri_place_slot\(places\[i\]\), 1\)/orri_chunk_prepare(c->world, chunk)/'
plant "two declarations of one name are compared by their layout alone" \
    src/schema/type.c 's/orri_declaration_same\(type, build/orri_layout_same(type, build/'
plant "value with presets is zero" \
    src/store/api/world.c '/^void\* orr_type_preset/,/^}/s/orr_value_default\(&found->info, out\);/memset(out, 0, found->info.size);/'
plant "owned handle not released" \
    src/schema/rows.c '/^void orri_rows_destruct/,/^}/s/orri_rows_release\(type, rows, count\);/(void)0;/'
plant "handle of a deleted cluster not recognised as stale" \
    src/store/table/cluster.c 's/slot->generation \+= was_visible;/(void)was_visible;/'
plant "reference to a dead entity accepted" \
    src/store/api/component.c '/^ORRI_NOINLINE static orr_result component_check_value/,/^}/s/if \(rejected\.id != 0\)/if (false)/'
plant "type table not updated after a block grows" \
    src/store/table/chunk.c '/^ORRI_COLD static bool chunk_grow/,/^}/s/orri_chunk_refresh\(chunk\);/(void)0;/'
plant "released owned string accepted" \
    src/store/api/component.c 's/type->info\.has_owned && orri_value_owned_gone\(type, value, &field\)/false/'
plant "shares of index pages lost when the page list grows" \
    src/store/table/entity_index.c 's/index->metas\[i\]\.share->attached = &index->metas\[i\]\.share;/(void)0;/'
plant "distant chunks lost when a table grows over them" \
    src/store/table/chunk.c '/^ORRI_COLD static bool chunk_table_grow/,/^}/s/chunk_table_catch_up\(world, table, old\);/(void)0;/'
plant "index pages of a refused creation kept" \
    src/store/api/entity.c 's/orri_index_trim\(world\);/(void)0;/'
plant "pinned values of a destroyed entity kept, fast path" \
    src/store/world/world.h 's/\(world->relations\.count \| world->pinned\.live\) == 0/world->relations.count == 0/'
plant "pinned value destructed before its listener is notified" \
    src/store/pool/pool.c '/^static void pool_leave/,/^}/{s/orri_rows_destruct\(.*\);/(void)0;/;s/if \(world->listener\.pinned_changed/orri_rows_destruct(pool->type, orri_pool_at(pool, slot), 1);&/}'
plant "freed pinned slot keeps a cleared enable bit" \
    src/store/pool/pool.h '/^static inline void orri_pool_give_back/,/^}/s/orri_bit_set\(block->enabled, within, true\);/(void)0;/'
plant "pinned free slots not hashed" \
    src/store/pool/pool_state.c 's/== ORRI_INDEX_NONE \? links\[done \+ i\] : 0/== ORRI_INDEX_NONE ? 0 : 0/'
plant "pinned values of a refused batch not removed" \
    src/store/change/sparse.c '/^static void sparse_unmake_pinned/,/^}/s/made < fill->made/false \&\& &/'
plant "pinned name kept in the name index when its scope changes" \
    src/store/relation/entity_name.c '/^static void name_commit/,/^}/s/orri_name_leave\(world, slot1 - 1\);/(void)0;/'
plant "bytes past the last instance not cleared" \
    src/store/api/instance.c '/^static void instance_close_gap/,/^}/s/memset\(instance_value\(cell, last\).*;/(void)0;/'
plant "instance id 0 assigned after the counter wraps" \
    src/store/table/cell.c 's/while \(\*last == 0 \|\| /while (/'
plant "capacity not checked before rows move to a smaller capacity class" \
    src/store/table/cell.c '/^orr_result orri_cells_fit/,/^}/s/> room/> room + 1/'
plant "enable bits of instances not shifted when an earlier instance is removed" \
    src/store/api/instance.c '/^static void instance_close_gap/,/^}/s/cell->slot << shift\) \+ i \+ 1/cell->slot << shift) + i/'
plant "two clusters of a batch write to the same rows of their target" \
    src/store/change/route.c '/^static orr_result route_count/,/^}/s/ \+ route->to->batch_incoming;/;/'
plant "query text: words of a choice lost after its first member" \
    src/query/terms.c 's/own->first == NULL && shared != NULL \? shared : own/own/'
plant "query text: two choices share one group number" \
    src/query/terms.c 's/while \(terms_group_used\(p, term->group\)\)/while (false \&\& terms_group_used(p, term->group))/'
plant "query text: printed without the word that resets a choice" \
    src/query/query_print.c 's/"read " : ""/"" : ""/'
plant "query text: caret one character to the left" \
    src/base/near.c 's/column - first \+ \(first > 0\)/column - first/'
plant "query explained by the wrong term" \
    src/query/explain.c 's/explain_term\(query, leaf, failed, cluster, out\)/explain_term(query, leaf, 0, cluster, out)/'
plant "reference link not removed when its value is overwritten" \
    src/store/relation/link.c '/^void orri_relation_set/,/^}/s/link_remove\(element, link\);/(void)0;/'
plant "reference not linked when a row moves" \
    src/store/table/row.c '/^ORRI_NOINLINE static orr_result row_fill/,/^}/s/orri_relation_moved\(world, transition, row, index\);/(void)0;/'
plant "reference to a destroyed entity not cleared" \
    src/store/relation/cascade.c '/^static void cascade_release/,/^}/s/bool clears = clear \|\| .*;/bool clears = clear;/'
plant "cascaded entities of one level not sorted" \
    src/store/relation/cascade.c 's/orri_entities_sort\(cascade->list \+ end, cascade->count - end\);/(void)0;/'
plant "second edge to a set shares the transition of the first" \
    src/store/table/transition.c 's/if \(transition != NULL \&\& transition->edge != 0\)/if (false)/'
plant "required types of a required type ignored" \
    src/store/table/required_types.c '/^orr_result orri_required_types_resolve/,/^}/s/i < list\.count/i < 1/'
plant "owned values of a bundle not retained" \
    src/store/api/bundle_parse.c '/^static bool bundle_parse_add_bundle/,/^}/s/orri_rows_retain\(.*\);/(void)0;/'
plant "match list not updated when a cluster appears" \
    src/query/listen.c '/^static bool listen_cluster_match/,/^}/s/!orri_entries_match\(query, cluster\)/false/'
plant "match list keeps a deleted cluster" \
    src/query/entries.c '/^void orri_entries_drop/,/^}/s/entries_remove\(query, entry\);/(void)0;/'
plant "mask of enable bits off by one word" \
    src/query/match.c '/^static uint64_t match_bits_on/,/^}/s/return bits\[word\];/return bits[word - (word > 0)];/'
plant "subtractive term ignores enable bits" \
    src/query/match.c '/^static uint64_t match_rows_leaf/,/^}/s/rows \&= ~match_rows_presence\(.*\);/rows = 0;/'
plant "row of a multiple type counts as enabled by its first instance only" \
    src/query/match.c '/^static uint64_t match_bits_on/,/^}/s/i < counts\[word \* 64 \+ row\]/i < 1/'
plant "pinned set not updated after a removal" \
    src/store/pool/pool.c '/^static void pool_leave/,/^}/s/world->listener\.pinned_changed\(world, pool, index\);/(void)0;/'
plant "pinned set keeps pointers to values it is not notified of" \
    src/query/pinned_matches.c '/^static bool pinned_matches_keeps/,/^}/s/return false;/return query->fields[field].pinned;/'
plant "hint to make a term a write term that is one" \
    src/query/columns.c 's/access == ORR_WRITE && orri_type_written_by_set\(info\)/access == ORR_WRITE \&\& info == NULL/'
plant "order not repaired when a chunk is removed" \
    src/query/order.c 's/any = any \|\| chunks != order->chunk_count;/(void)chunks;/; s/!fresh \|\| order->entries_mark != query->changes/!fresh/'
plant "memory of an order reserved for the rows it has, not for those it may get" \
    src/query/order.c '/^bool orri_order_reserve/,/^}/s/order_grow\(query, order_rows\(query\)\)/order_grow(query, order->count)/; /^bool orri_order_refresh/,/^}/s/if \(!orri_order_reserve\(query\)\) \{/if (!orri_order_reserve(query) || !order_grow(query, order_rows(query))) {/'
plant "order not repaired when an instance is added" \
    src/query/order.c '/^static bool order_chunk_clean/,/^}/s/uint32_t c = chunk->cluster->type_count;/uint32_t c = chunk->column_count \/ 2;/'
plant "order repaired under an open loop" \
    src/query/order.c '/^static bool order_is_open/,/^}/s/return .*;/return false;/'
plant "ties of an order not broken by index" \
    src/query/order.c '/^static bool order_before/,/^}/s/: a->index < b->index/: a->index > b->index/'
plant "changed-since reports blocks written before the mark" \
    src/query/iterate.c '/^static inline bool iterate_newer/,/^}/s/\.version > since/.version >= since/'
plant "changed-since misses a whole cluster" \
    src/query/iterate.c '/^static bool iterate_cluster_changed/,/^}/s/\.version > it->each\.since/.version > it->each.since + 1/'
plant "changed enable bits not noticed by a scan of many chunks" \
    src/query/iterate.c '/^static uint32_t iterate_stamps/,/^}/s/if \(count > 0 \&\& cluster->has_bits\)/if (false)/'
plant "cached list of runs kept when rows move" \
    src/query/run_cache.c '/^void orri_run_caches_forget/,/^}/s/world->queries->structure\+\+;/(void)0;/'
plant "run cache has the first chunk of a cluster only" \
    src/query/run_cache.c '/^static inline bool run_cache_add_entry/,/^}/s/cluster->row_count <= ORR_CHUNK_CAPACITY/true/'
plant "deferred write stamps never applied" \
    src/query/run_cache.c '/^void orri_run_cache_settle/,/^}/s/run_cache_stamp\(.*\);/(void)tick, (void)version;/'
plant "group key not computed when a cluster appears late" \
    src/query/entries.c '/^static bool entries_insert/,/^}/s/query->groups != NULL \|\| //'
plant "unordered pairs visited twice where two queries overlap" \
    src/query/pairs.c 's/if \(!cross->overlap \|\| !pairs_mirrored\(cross\)\)/if (true)/'
plant "bulk change relinks two clusters into one target" \
    src/query/bulk.c 's/transition->to->batch_incoming == 0;/true;/'
plant "capacity halved too early" \
    src/store/api/instance.c 's/\(cell\.count - 1\) \* 4 <= capacity/(cell.count - 1) * 2 <= capacity/'
plant "order of instances lost on removal" \
    src/store/api/instance.c '/^static void instance_close_gap/,/^}/s/for \(uint32_t i = gap; i < last; i\+\+\) \{/for (uint32_t i = gap; i < last; i = last) {/; /^static void instance_close_gap/,/^}/s/instance_value\(cell, i \+ 1\), 1/instance_value(cell, last), 1/; /^static void instance_close_gap/,/^}/s/cell->ids\[i \+ 1\]/cell->ids[last]/'
plant "name still found after its entity is destroyed" \
    src/store/pool/pool.c '/^static void pool_leave/,/^}/s/orri_name_leave\(world, slot\);/(void)0;/'
plant "clearing references skips an element of an array" \
    src/store/relation/cascade.c '/^static void cascade_release/,/^}/s/clears \&\& !cascade_clear/clears \&\& e != 1 \&\& !cascade_clear/'
plant "chunk transfer copies the wrong column" \
    src/store/change/chunk_transfer.c '/^static int32_t transfer_source_column/,/^}/s/return t->transition->kept\[i\]\.from;/return t->transition->kept[i].from + (to_column > to->type_count + 2) * -2;/'
plant "change set fills one gap too many" \
    src/store/change/execute.c '/^static void execute_fill/,/^}/s/row < cluster->row_count/row <= cluster->row_count/'
plant "links of a refused change set kept" \
    src/store/change/links.c '/^void orri_change_unlink/,/^}/s/if \(c->linked\)/if (false)/'
plant "change set removes a required type" \
    src/store/change/target.c '/^static bool target_keep_needed/,/^}/s/dependent\.id == 0/true/'
plant "samples stay when ids are taken from the middle of the free list" \
    src/store/change/free_samples.c '/^void orri_free_samples_remove/,/^}/s/sample\.depth -= removed;/(void)0;/'
plant "samples of withheld ids stay" \
    src/store/change/id_withhold.c 's/    orri_free_samples_cut\(world\);/    (void)0;/'
plant "sample trusted without its generation" \
    src/store/change/free_samples.c '/^static bool free_samples_valid/,/^}/s/record->generation == sample->generation/true/'
plant "samples survive a travel" \
    src/store/snapshot/restore.c 's/    index->sample_count = 0;.*/    (void)0;/'
plant "creation prepares the whole free list" \
    src/message/commit/commit.c 's/if \(!withholds && merge->creates && !desc\.ids_in_order\)/if (false)/'
plant "runs of ids unlinked from the first to the last" \
    src/store/change/id_reserve.c '/^static void id_reserve_runs_unlink/,/^}/s/&request->runs\[r\]/\&request->runs[request->run_count - 1 - r]/'
plant "skipped id lost from the free list" \
    src/store/change/id_reserve.c '/^static void id_reserve_link/,/^}/s/\(record->generation & ORRI_DEAD\) != 0/false/'
plant "change set adds pinned values after its destroyed entities released theirs" \
    src/store/change/execute.c '/^void orri_change_execute/,/^}/{s/orri_change_execute_sparse\(c\);/(void)0;/;s/execute_close\(c\);/execute_close(c);orri_change_execute_sparse(c);/}'
plant "pinned values of a refused bundle not removed" \
    src/store/change/sparse.c '/^static void sparse_unmake_pinned\(/,/^}/s/orri_pool_unmake\(.*\);/(void)orri_pool_cursor_next(fill->pool, \&cursor);/'
plant "bundle gives all entities the further instances of the first" \
    src/store/change/sparse.c '/^static void sparse_put_instances\(/,/^}/s/i < group->count/i < 1/'
plant "refused hook leaves further instances of a bundle" \
    src/store/change/sparse.c '/^static orr_result sparse_stage_instances_of\(/,/^}/s/orri_rows_destruct\(type, values, i\);/(void)0;/'
plant "message sent to a reader that matches only some of the rows" \
    src/message/deliver/runs.c 's/\*same = \*same && orri_set_equal/*same = *same || orri_set_equal/'
plant "baseline keeps the rows of destroyed entities" \
    src/message/deliver/diff_destroyed.c 's/orri_bits_fill\(baseline->on\[r\]->members\.words, run->index, run->count, false\);/(void)0;/'
plant "string in a message not retained" \
    src/message/deliver/message_batch.c 's/orri_rows_retain\(made->type, m->values, m->count\);/(void)0;/'
plant "removed pinned value not reported" \
    src/message/deliver/diff_instances.c 's/\(old == ORRI_INDEX_NONE \|\| old == now \|\| diff_instances_suspect_one\(diff, old, gained\)\)/true/'

# Messages and systems.
plant "events sent during a run are skipped" \
    src/message/event/event_cursor.c '/^static void event_cursor_advance/,/^}/s/cursor->at = cursor->shown;/cursor->at = orri_event_end(queue);/'
plant "events dropped before the slowest reader has read them" \
    src/message/event/event.c '/^void orri_event_trim/,/^}/s/cursor->at < least \? cursor->at : least/cursor->at < least \&\& i > 0 ? cursor->at : least/'
plant "padding of events not cleared" \
    src/message/event/event.c '/^void orri_events_append/,/^}/s/orri_rows_clean\(queue->info, to, count\);/(void)0;/'
plant "enabled reader receives events sent before it was enabled" \
    src/message/event/event_cursor.c '/^void orri_event_cursors_enable/,/^}/s/cursor->at = orri_event_end\(queue\);/cursor->at = queue->base;/'
plant "trace file ends with half an event" \
    src/schedule/report/trace.c '/^ORRI_COLD static void trace_fail/,/^}/s/trace->offset\);/trace->offset + trace->used \/ 2);/'
plant "journal drops the newest entries when it is resized" \
    src/schedule/report/journal.c '/^static bool journal_resize/,/^}/s/journal_at\(journal, count - 1 - i\)/journal_at(journal, journal->count - 1 - i)/'
plant "order of sending lost between command arrays" \
    src/message/commit/merge.c 's/: orri_command_array_sequence\(array, row\)\)/: row)/'
plant "second command on an entity not detected" \
    src/message/commit/pending.c 's/again = \(old & w->bits\) \| w->again/again = w->again/'
plant "value changes do not wait for structural changes" \
    src/message/commit/values.c 's/marks = w->command_buffers->marks_any \? w->command_buffers->seen : NULL/marks = NULL/'
plant "sent instance gets another id than its sender has" \
    src/message/commit/merge_group.c 's/\.new_id = fresh \? instance->id : 0/.new_id = 0/'
plant "two runs get the same ids of sent instances" \
    src/message/send/command_ids.c '/^void orri_command_ids_reserve_instances/,/^}/s/command_buffers->instances_reserved \+= commands->instance_max;/(void)0;/'
plant "ids of sent instances not restored by a travel" \
    src/store/snapshot/restore.c 's/world->instance_sent = snapshot->instance_sent;/(void)0;/'
plant "id of a sent instance that an instance of the entity has" \
    src/message/send/command_ids.c '/^static bool command_ids_taken/,/^}/s/return count > 0;/return false;/'
plant "ids of a refused commit mistaken for the next free ids" \
    src/store/change/change_set.c 's/c->desc->ids_in_order && orri_index_nth\(c->world, &cursor, 0\)\.id == ids\[0\]\.id/c->desc->ids_in_order/'
plant "free ids treated as one sequence" \
    src/store/change/id_reserve.c '/^static uint32_t id_reserve_run/,/^}/s/ && \*next == first \+ offset//'
plant "records treated as one sequence because their ids are" \
    src/message/commit/merge.c '/^static inline bool merge_sequence/,/^}/s/differs == 0 && others == 0/differs == 0/'
plant "removed types do not free room in the type limit" \
    src/store/change/target.c 's/t->types_limit = ORR_CLUSTER_TYPES_MAX \+ target_removable\(t->group\)/t->types_limit = ORR_CLUSTER_TYPES_MAX/'
plant "removed instances do not free capacity" \
    src/store/change/target.c 's/tally->count - target_tally_removing\(t, tally\) >= tally->capacity/true/'
plant "stale id mistaken for its successor in a commit" \
    src/message/commit/merge_entity.c 's/!there \|\| r\.array->entities\[r\.row\]\.id != change->entity\.id/!there/'
plant "drops of a refused commit counted twice" \
    src/message/commit/commit.c 's/commands->note = \(orri_command_buffer_note\)\{0\};//'
plant "commit point placed for required terms only" \
    src/schedule/plan/plan.c '/^static bool plan_names/,/^}/s/if \(leaf->terms\[i\]\.type\.id != 0/if (leaf->terms[i].kind == ORR_REQUIRED \&\& leaf->terms[i].type.id != 0/'
plant "tick that was refused runs its finished systems again" \
    src/schedule/tick/tick.c '/^static orr_result tick_continue/,/^}/s/world->loops.iterating = 1;/world->loops.iterating = 1, pipe->phase = 0;/'
plant "restricted tables of a system stay visible to later systems" \
    src/store/world/access.c '/^void orri_access_leave/,/^}/s/world->hot\.tables = world->tables.list;/(void)0;/'
plant "structural change inside a system not refused when it would be a no-op" \
    src/store/api/component.c 's/ORRI_EDGE_ADD\) && ORR_LIKELY\(!orri_access_checked\(world\)\)/ORRI_EDGE_ADD)/'
plant "events sent by callbacks lost" \
    src/schedule/tick/tick.c 's/pipe->replanned \? tick_callback_values\(pipe\) : ORR_OK/ORR_OK/'
plant "section of values ends where the set of readers changes" \
    src/message/deliver/diff_values.c 's/^    diff_values_readers\(s, record, cluster\);/&\n    (void)diff_values_flush(s);/'
plant "messages of several senders delivered in the order of other readers" \
    src/message/deliver/runs.c 's/if \(classes > 1\)/if (classes > 1000)/'
plant "cause of entering taken from the query of another reader" \
    src/message/deliver/diff_rows.c 's/run->cause == ORR_CAUSE_COMPONENT && others > 0/false/'
plant "partial diff delivered when the rest is refused" \
    src/message/deliver/diff.c '/^static void diff_end/,/^}/s/done \|\| diff->world->context->busy == NULL/true/'
plant "travel adds entities before it removes those with the same index" \
    src/message/deliver/diff.c 's/uint32_t k = travels \? \(n \+ ORR_ENTITY_REMOVED\) % ORRI_KINDS : n;/uint32_t k = n; (void)travels;/'
plant "remainder of time discarded" \
    src/schedule/tick/step.c 's/schedule->time_ns = now_ns > schedule->time_ns \? now_ns : schedule->time_ns;/(void)now_ns;/'
plant "dependency matches a system whose name has the same prefix" \
    src/schedule/plan/order.c '/^static bool system_order_equal/,/^}/s/orri_scan_equals\(name, size, own\)/strncmp(own, name, size) == 0/'
plant "question mark parsed as part of a name" \
    src/schedule/plan/order.c 's/        size -= found;/        (void)0;/'
plant "destroys matches enabled entities only" \
    src/schedule/system/resolve.c 's/\.entities = ORR_EITHER/.entities = ORR_ENABLED/'
plant "refused by-id resolutions accumulate" \
    src/schedule/system/resolve.c '/^static void resolve_by_value/,/^}/s/system->sent_count = 0;/(void)0;/'
plant "creates_max of a system ignored" \
    src/schedule/system/resolve.c 's/system->rights\.creates_max = system->creates_max;/(void)0;/'
plant "last by-id tag ignored" \
    src/schedule/plan/plan.c 's/i < reader->access\.by_id_tag_count; i/i + 1 < reader->access.by_id_tag_count; i/'
plant "sent values wait for a structural change of an earlier group" \
    src/schedule/plan/plan.c 's/if \(system->structural \&\& !orri_effects_any\(effects, ORRI_STEP_STRUCTURAL, from\)\)/if (system->structural)/'
plant "plan compares each system with all earlier ones" \
    src/schedule/plan/plan.c 's/if \(needed \&\& plan_find_need/if (plan_find_need/'
plant "group of atomic sections is not split before a plain writer" \
    src/schedule/plan/delivery_deps.c '/^static bool delivery_deps_type_any/,/^}/s/\(orri_effects_any\(effects, ORRI_STEP_BEYOND, from\)/(false/'
plant "printed plan forgets readers before an atomic section" \
    src/schedule/report/waits.c '/^static uint32_t waits_type_set/,/^}/s/mine == theirs/mine == theirs || mine == ORRI_TOUCH_ATOMIC/'
plant "printed plan forgets atomic sections of which an indirect system is notified" \
    src/schedule/report/waits.c '/^static void waits_message/,/^}/s/atomics1 != 0 \?/false ?/'
plant "printed plan: node of a set does not get the members that entered since" \
    src/schedule/report/report.c 's/set->joined1 != set->last1/set->join == 0/'
plant "commit points ignore references that a destroy clears" \
    src/schedule/plan/plan.c '/^static bool plan_destroys_pending/,/^}/s/plan_cascades\(effects->world, reader, ORR_ON_DESTROY_CLEAR\)/false/'
plant "commit points consider the first sixty-four types only" \
    src/schedule/plan/plan.c '/^static orr_type plan_named/,/^}/s/uint32_t index = w \* 64 \+ /uint32_t index = /'
plant "plan says that a system without a query selects what is destroyed" \
    src/schedule/plan/plan.c '/^static bool plan_selects_destroyed/,/^}/s/return leaf->term_count > 0 \&\&/return leaf->term_count + 1 > 0 \&\&/'
plant "full access check inspects the first chunk only" \
    src/schedule/system/audit.c 's/copied = !values \|\| walk/copied = !values || walk.block.number > 0 || walk/'
plant "full access check reports the writes of another system" \
    src/schedule/system/audit.c '/^orri_audit_watch\* orri_audit_begin/,/^}/s/watch->epoch = orri_epoch_next\(world\);/watch->epoch = world->epoch;/'
plant "system sees its own writes as changed" \
    src/schedule/tick/call.c 's/ORR_LIKELY\(!world->realtime\) \? orri_epoch_end\(world\)/ORR_LIKELY(!world->realtime) ? world->epoch - 2/'
plant "iteration left by a system stays valid" \
    src/schedule/tick/call.c '/^static void call_leave/,/^}/s/world->loops.era\+\+;/(void)0;/'
plant "forgotten tick in the first half stays in the list" \
    src/history/history.c '/^static void history_remove/,/^}/s/history->memories \+= count;/(void)0;/'
plant "restored cluster does not take its gap in the lists of its types" \
    src/store/table/cluster.c '/^static void cluster_index_enter/,/^}/s/table->gap_count--;/(void)0;/'
plant "deleted clusters move the lists of their types each time" \
    src/store/table/cluster.c 's/if \(table->gap_count > CLUSTER_GAPS_MIN \&\& table->gap_count > table->cluster_count \/ 2\) \{/if (true) {/'
plant "bundle is lost when the table of names grows" \
    src/store/api/bundle.c '/^static bool bundle_grow_table/,/^}/s/i < bundles->count; i/i + 1 < bundles->count; i/'
plant "stale handle resolves to another system" \
    src/schedule/system/system.c '/^void orri_system_drop/,/^}/s/schedule->generations\[slot\]\+\+;/(void)0;/'
plant "hash omits whether a system was started" \
    src/schedule/system/system.c '/^static uint64_t system_hash/,/^}/s/\(uint64_t\)system->started << 2 \|/0 |/'
plant "group keeps the enable state of removed systems" \
    src/schedule/system/system.c '/^static bool system_group_on/,/^}/s/other->removed \|\| //'
plant "group is forgotten when its first system is freed" \
    src/schedule/system/system_names.c '/^static void system_names_leave_group/,/^}/s/\*link = next;/*link = system->group_chain;/'
plant "adding a system compares it with all others" \
    src/schedule/system/spectator.c 's/if \(!spectator_events_cross\(world, system\)\) \{/if (false) {/'
plant "only the first import is searched" \
    src/schedule/system/state.c '/^const void\* orr_run_import/,/^}/s/i < system->import_count; i/i < 1 \&\& i < system->import_count; i/'
plant "partial results combined in completion order" \
    src/schedule/tick/call.c 's/!orri_reduce_reserve\(world, system\)/(orr_value_default(\&system->exports.type->info, system->exports.data), !orri_reduce_reserve(world, system))/;s/orri_reduce_end\(system, .*\);/for (uint32_t u = first; u < (system->in_units ? last : 1); u++) { system->desc.combine(system->exports.data, orri_reduce_partial(system, u)); }/'
plant "partial results start from the previous tick" \
    src/schedule/tick/reduce.c '/^void orri_reduce_begin/,/^}/s/orr_value_default\(.*\);/(void)system, (void)unit;/'
plant "importer starts before all partial results are combined" \
    src/schedule/tick/parallel.c 's/ \&\&\n *system->import_count == 0;/;/;s/system->import_count == 0;/true;/'
plant "reader and writer of a type do not conflict" \
    src/schedule/plan/conflict.c 's/\(a == b \&\& \(a == ORRI_TOUCH_READS \|\| a == ORRI_TOUCH_ATOMIC\)\)/(a == ORRI_TOUCH_READS || b == ORRI_TOUCH_READS)/'
plant "shuffled order violates the plan" \
    src/schedule/tick/shuffle.c 's/s->waits\[s->edges\[e\]\.to\]\+\+;/(void)0;/'
plant "shuffled order: systems wait for no join" \
    src/schedule/tick/shuffle.c '/^static void shuffle_connect/,/^}/s/s->waits\[s->edges\[e\]\.to\]\+\+;/s->waits[s->edges[e].to] += s->edges[e].from < s->steps;/'
plant "pairs of a run visited from both sides" \
    src/query/pairs.c '/^orr_cross\* orr_cross_run/,/^}/s/cross->overlap = pairs == ORR_PAIRS_ONCE \&\& allowed/cross->overlap = false \&\& allowed/'
plant "state created without its presets" \
    src/schedule/system/state.c '/^bool orri_system_state_make/,/^}/s/orr_value_default\(.*\);/(void)0;/'
plant "system that never started is destroyed" \
    src/schedule/tick/tick.c '/^static void tick_life_end/,/^}/s/system->removed \&\& system->created/system->removed/' \
    src/schedule/tick/call.c 's/ \&\& \*called != begins;/;/'
plant "hook runs a tick inside a tick" \
    src/schedule/tick/tick.c '/^orr_result orri_tick/,/^}/s/schedule->inside = pipe->world->running.in_tick = true;/(void)0;/'
plant "system loops over a sorted query that is refused memory" \
    src/schedule/tick/group.c '/^static inline bool group_refreshes/,/^}/s/return unchecked \|\| \(realtime \?/return unchecked \&\& (realtime ?/'
plant "values written by id reported one tick late" \
    src/schedule/tick/group.c 's/= changed \|\| system->writes_by_id \? GROUP_DIFF_ALL/= changed ? GROUP_DIFF_ALL/'
plant "mean time divides by all ticks instead of the timed ticks" \
    src/schedule/report/report.c '/^size_t orr_stats_print/,/^}/s/1000\.0 \/ \(double\)stats\.timed_ticks/1000.0 \/ (double)stats.ticks/'
plant "report rebuilds the plan while a tick runs" \
    src/schedule/report/report.c 's/idle \&\& orri_plan_make/orri_plan_make/'
plant "journal of an entity shows entries of earlier entities with its index" \
    src/schedule/report/journal.c 's/entry->entity\.id != entity\.id/(uint32_t)entry->entity.id != (uint32_t)entity.id/'
plant "starting a journal sends messages to other readers" \
    src/schedule/report/journal.c '/^static bool journal_begin/,/^}/s/if \(alone \&\& /if (/'
plant "last tag of .by_id not allowed" \
    src/store/world/access.c '/^bool orri_access_tags_slow/,/^}/s/i < access->by_id_tag_count; i/i + 1 < access->by_id_tag_count; i/'
plant "write allowed with read access only" \
    src/store/world/access.c '/^bool orri_access_writes_slow/,/^}/s/by_id_write/by_id_read/'
plant "violation of send rights not counted" \
    src/message/send/rights.c '/^static orr_result rights_refuse/,/^}/s/rights->counts\.violations\+\+;/(void)0;/'
plant "reader of a choice receives messages of all types" \
    src/schedule/system/resolve.c '/^static orr_result resolve_query/,/^}/s/terms\.items\[i\]\.kind != ORR_ANY;/true;/'
plant "event limit reached one event too early" \
    src/message/event/event.c '/^bool orri_events_reserve/,/^}/s/> queue->limit/>= queue->limit/'
plant "events kept for a disabled system" \
    src/message/event/event.c '/^void orri_event_trim/,/^}/s/least = cursor->set->on \&\& cursor->at < least/least = cursor->at < least/'
plant "second read of the events in a run shows more events" \
    src/message/event/event_cursor.c '/^const void\* orr_events_type/,/^}/s/if \(!cursor->asked\)/if (true)/'
plant "released string detected in the first row only" \
    src/message/send/send.c '/^static orr_result send_check_value/,/^}/s/type->info\.has_owned \&\& i < count;/type->info.has_owned \&\& i < 1;/'
plant "single creation appended to a bulk creation" \
    src/message/send/send.c '/^static inline bool send_current/,/^}/s/ \&\& !array->bulk;/;/'
plant "bulk creation continues in another cluster" \
    src/message/send/send_many.c '/^static bool send_many_continues/,/^}/s/bool same = cluster\.id == m->cluster->index \+ 1;/bool same = true;/'
plant "strings of refused creations not released" \
    src/message/send/send_many.c '/^static orr_result send_many_values/,/^}/s/while \(--i > 0\)/while (--i > 1)/'
plant "bulk creations kept for the next run" \
    src/message/send/command_buffer.c '/^static void buffer_empty/,/^}/s/commands->text_count = commands->bulk_first1 = commands->bulk_count = 0;/commands->text_count = 0;/'
plant "instance ids lost when a command array grows" \
    src/message/send/command_buffer.c '/^static void buffer_move_rows/,/^}/s/memcpy\(array->ids, old->ids, .*\);/(void)0;/'
plant "events of the callbacks of a second system lost" \
    src/message/send/command_buffer.c '/^void orri_command_buffers_release/,/^}/s/command_buffers->unseen == NULL/false/'
plant "creations beyond creates_max not counted" \
    src/message/send/send.c '/^orr_result orri_refuse_ids/,/^}/s/commands->rights->counts\.violations\+\+;/(void)0;/'
plant "second buffer gets the later ids of the first" \
    src/message/send/provisional_ids.c 's/provisional_map map = \{ids \+ at,/provisional_map map = {ids,/'
plant "provisional ids stay in the values that are sent" \
    src/message/send/provisional_ids.c 's/\} else if \(array->stride > 0 && array->info != NULL\) \{/} else if (false) {/'
plant "provisional ids stay in transactions" \
    src/message/send/provisional_ids.c 's/    orri_posts_entity_map\(commands, provisional_ids_find, map\);/    (void)0;/'
plant "provisional ids do not depend on the tick" \
    src/message/send/provisional_ids.c 's/orri_hash_word\(commands->world->tick, /orri_hash_word(0, /'
plant "later ids of a pipeline withheld twice" \
    src/message/send/command_ids.c '/^void orri_command_ids_forget\(/,/^}/s/i < 2; i\+\+/i < 1; i++/'
plant "shared blocks copied in the phase that must not fail" \
    src/message/commit/values.c '/^static bool values_prepare\(/,/^}/s/w->world->cow.live > 0 \&\& row < array->count/false \&\& row < array->count/'
plant "changed value of a type with references not reported" \
    src/message/commit/values.c '/^static bool values_write_one/,/^}/s/w->changed = true;/(void)0;/'
plant "sender lost when memory is refused" \
    src/message/commit/commit.c 's/commit_sources_reserve\(world, command_buffers\) \&\& commit_merge/(commit_sources_reserve(world, command_buffers) || (command_buffers->sender_count = 0, true)) \&\& commit_merge/'
plant "queue of a reader overflows when it is exactly full" \
    src/message/deliver/reader.c '/^void orri_reader_deliver/,/^}/s/count > reader->queue_max - reader->queued/count >= reader->queue_max - reader->queued/'
plant "reader that overflowed starts twice" \
    src/message/deliver/reader.c '/^void orri_reader_enable/,/^}/s/reader->lost = false;/(void)0;/'
plant "cluster mistaken for an earlier cluster with its index" \
    src/message/deliver/baseline.c '/^orri_baseline_cluster\* orri_baseline_cluster_of/,/^}/s/baseline->clusters\[cluster->index\]\.sequence != cluster->sequence/baseline->clusters[cluster->index].shape == NULL/'
plant "enable commands of several groups mixed up" \
    src/store/change/change_set.c '/^static bool change_set_alloc/,/^}/s/c->work\[g\]\.enable_first = c->enable_count;/(void)0;/'
plant "clusters of a refused change set kept" \
    src/store/change/change_set.c '/^static void change_set_abandon/,/^}/s/orri_cluster_undo\(world, c->created\[i\]\);/(void)0;/'
plant "values of a shared column written in place" \
    src/store/change/route.c '/^static bool route_prepare_chunk/,/^}/s/!orri_rows_prepare\(c->world, chunk, column \& ~ORRI_GIVEN_HAS,/(false) \&\& !orri_rows_prepare(c->world, chunk, column \& ~ORRI_GIVEN_HAS,/'
plant "old value of a change set not destructed" \
    src/store/change/stage.c '/^void orri_change_overwrite/,/^}/s/orri_rows_destruct\(type, data, run\);/(void)0;/'
plant "staged values counted before they are copied" \
    src/store/change/stage.c '/^static bool stage_one_copy/,/^}/s/copies->count \+= made;/copies->count += 1;/'
plant "existing pinned value not reset to its preset" \
    src/store/change/sparse.c '/^static void sparse_set_pinned/,/^}/s/orri_value_preset\(pool->type, place, pool->size\);/(void)0;/'
plant "one pinned value of a refused change set kept" \
    src/store/change/sparse.c '/^static void sparse_unmake_pinned/,/^}/s/made < fill->made; made\+\+/made + 1 < fill->made; made++/'
plant "destroyed row does not stamp its block" \
    src/store/change/execute.c '/^static void execute_destroy\(/,/^}/s/orri_chunk_stamp_rows\(c->world, chunk\);/(void)0;/'
plant "padding of a value set in a new column not cleared" \
    src/store/change/execute.c '/^static void execute_set_new/,/^}/s/if \(entry->type->info\.has_padding\)/if (false)/'
plant "id cursor does not move backwards" \
    src/store/change/id_reserve.c '/^orr_entity orri_index_nth/,/^}/s/ \|\| cursor->position > position//'
plant "cascaded entities stay marked" \
    src/store/change/links.c '/^static orr_result links_cascade/,/^}/s/orri_cascade_unmark\(.*\);/(void)0;/'
plant "capacity of a kept instance lost" \
    src/store/change/target.c '/^static void target_unremove/,/^}/s/tally->capacity = tally->capacity_last;/(void)0;/'
plant "null entity accepted, fast path" \
    src/message/send/send.c '/^static inline bool send_continues/,/^}/s/ \&\& entity\.id != 0\);/);/'
plant "event cursors of a refused resolution released twice" \
    src/schedule/system/resolve.c '/^void orri_system_unresolve/,/^}/s/system->event_cursors = NULL;/(void)0;/'
plant "disabled instances reported by position" \
    src/message/deliver/baseline_values.c '/^static void baseline_cell_keep_off/,/^}/s/while \(k < cell->count \&\& cell->ids\[k\] != now->ids\[i\]\)/while (k < i \&\& k < cell->count)/'
plant "removed component reported as disabled when it is added again" \
    src/message/deliver/baseline_values.c '/^void orri_baseline_drop/,/^}/s/orri_bitset_put\(\&type->off, index, false\);/(void)0;/'
plant "enabled reported as disabled" \
    src/message/deliver/diff_enabled.c 's/\&s->values\[!states\[k\]\.off\]/\&s->values[0]/'
plant "enable bits of the last pinned type not reported" \
    src/message/deliver/diff_enabled.c '/^static bool diff_enabled_next/,/^}/s/while \(\*number <= type_count/while (*number < type_count/'
plant "value reported but not stored in the baseline" \
    src/message/deliver/diff_values.c '/^static bool diff_values_flush/,/^}/s/        orri_baseline_put\(/        if (i > 0) orri_baseline_put(/'
plant "value of an entity compared with that of its successor" \
    src/message/deliver/diff_values.c '/^static bool diff_values_row/,/^}/s/head->generation != orri_record_at\(s->diff->world, index\)->generation/false/'
plant "sent values taken for the only writes although a system wrote in place" \
    src/message/deliver/diff.c 's/world->written <= baseline->quiet_mark \&\&/true \&\&/'
plant "writes that are not noted forgotten when sent values are written" \
    src/message/commit/values.c 's/^        world->written = written;/        world->written = 0;/'
plant "columns of a chunk trusted after a snapshot although they were written" \
    src/store/snapshot/snapshot.c 's/cluster->columns\[c\]\.version > node->epoch \|\|/false ||/'
plant "dirty rows trusted although other rows were written before and not reported" \
    src/message/deliver/dirty_rows.c 's/dirty->before <= seen/true/'
plant "dirty rows trusted although another system wrote the block since" \
    src/message/deliver/dirty_rows.c 's/dirty->version == chunk->columns\[column\]\.version/true/'
plant "sparse row joined with rows of other readers" \
    src/message/deliver/diff_sparse.c '/^static orri_run\* diff_sparse_joined/,/^}/s/orri_set_equal\(.*\);/true;/'
plant "sparse row reported but not stored in the baseline" \
    src/message/deliver/diff_sparse.c '/^void orri_sparse_rows_put/,/^}/s/uint32_t i = 0, count/uint32_t i = 1, count/'
plant "dirty row marked in the wrong word" \
    src/message/deliver/baseline.h 's/dirty->words \|= 1u << slot \/ 64;/dirty->words |= 1u;/'
plant "dirty row marked before pending writes are stamped" \
    src/message/commit/values.c '/^static void values_write_array/,/^}/s/orri_world_settle\(world\);/(void)0;/'
plant "neighbours that moved taken for one run although they came from several clusters" \
    src/message/deliver/diff_rows.c '/^static uint32_t diff_rows_count_heads/,/^}/s/heads\[n\]\.shape1 == shape1/true/'
plant "neighbours that moved taken for one run although a reader knew only some" \
    src/message/deliver/diff_rows.c '/^static uint32_t diff_rows_count_bits/,/^}/s/return n < most \? n : most;/return most;/'
plant "neighbouring noted rows taken for neighbouring entities" \
    src/message/deliver/diff_values.c '/^static bool diff_values_dirty/,/^}/s/count = diff_values_sequence\(ids \+ slot, count\);/(void)ids;/'
plant "reader that was disabled still counted" \
    src/message/deliver/reader.c 's/messages->readers = baseline->on_count;/messages->readers += reader->on;/'
plant "message taken for one of any type that the world knows" \
    src/message/deliver/receive.c 's/return known->id == message->type\.id;/return true;/'
plant "structure of a buffer with several kinds of commands overlooked" \
    src/message/commit/pending.c '/^static bool pending_has_structure/,/^}/s/for \(uint32_t i = 0;/for (uint32_t i = 1;/'
plant "list of a merge grown without its first part" \
    src/message/commit/merge.c '/^static bool merge_grow/,/^}/s/memcpy\(to, from, \*capacity \* size\);/(void)0;/'
plant "commit point at which nothing waits keeps reserved ids" \
    src/message/commit/commit.c '/^bool orri_commit_nothing/,/^}/s/commit_reset\(world, command_buffers\);/(void)0;/'
plant "command array of the last tick keeps its place in the order of commands" \
    src/message/send/command_buffer.c '/^static void buffer_array_renew/,/^}/s/array->order_index = order_index;/(void)order_index;/'
plant "counter of bytes set instead of added to while there is one thread" \
    src/base/mem.c 's/atomic_store_explicit\(counter, before \+ more,/atomic_store_explicit(counter, more,/'
plant "entity that left a query stays a member" \
    src/message/deliver/diff_rows.c '/^static void diff_rows_keep_members/,/^}/s/for \(uint64_t left = before \^ after;/for (uint64_t left = ~before \& after;/'
plant "lost component stays in the baseline" \
    src/message/deliver/diff_rows.c '/^static void diff_rows_keep_lost/,/^}/s/orri_baseline_drop\(.*\);/(void)0;/'
plant "destruction reported to a reader that did not know the entity" \
    src/message/deliver/diff_destroyed.c '/^static bool diff_destroyed_members/,/^}/s/count > 1 \&\& !orri_bits_all\(members->words, index, count\)/false/'
plant "write after a diff treated as already reported" \
    src/message/deliver/diff.c 's/^    orri_epoch_end\(diff->world\); /    \/\/ /'

# Worker pool: found by the model of module jobs.
plant "worker: lost wake-up, status not checked again before sleeping" \
    src/jobs/sleep.c '/^static void sleep_now/,/^}/s/if \(\(\(orri_jobs_load\(jobs, \&jobs->status\) \^ seen\) \& mask\) == 0\)/if (true)/'
plant "worker: unit claimed twice, range taken by load and store" \
    src/jobs/graph.c '/^static bool graph_take/,/^}/s/if \(orri_jobs_compare_swap\(local->jobs, \&queue->range, \&range, graph_pack\(end, last\)\)\)/ORRI_SCHED_POINT(local->jobs->platform, ORR_SCHED_STORE, \&queue->range); atomic_store(\&queue->range, graph_pack(end, last));/'
plant "worker: late worker enters a plan that is rebuilt, entry not counted" \
    src/jobs/sleep.c 's/status \+ ORRI_STATUS_INSIDE\)/status)/; s/ : 0\) - ORRI_STATUS_INSIDE;/ : 0);/' \
    src/jobs/watchdog.c 's/\&jobs->status, ORRI_STATUS_INSIDE\)/\&jobs->status, 0)/'
# The executor: the same bugs and those that only the executor can have, found by its model. The model's own rules do
# not describe the effects. The effect is a tick that never ends or a different hash.
#   The worker sees no work, the caller publishes work and checks for sleepers, then the worker announces sleep and
#   sleeps: orr_step() waits forever when the remaining work is the last.
plant "executor: lost wake-up" \
    src/jobs/sleep.c '/^static void sleep_now/,/^}/s/if \(\(\(orri_jobs_load\(jobs, \&jobs->status\) \^ seen\) \& mask\) == 0\)/if (true)/'
#   Owner and thief take the same units: rows are written twice and concurrently.
plant "executor: range claimed twice" \
    src/jobs/graph.c '/^static bool graph_take/,/^}/s/if \(orri_jobs_compare_swap\(local->jobs, \&queue->range, \&range, graph_pack\(end, last\)\)\)/ORRI_SCHED_POINT(local->jobs->platform, ORR_SCHED_STORE, \&queue->range); atomic_store(\&queue->range, graph_pack(end, last));/'
#   The caller does not wait for workers that are inside. A late worker that has yet to check whether a node is used up
#   takes the node with the same number of the next plan. That node is never run and the tick never ends. Planted once
#   with the model's own check for late workers, once without it.
plant "executor: plan rebuilt under a late worker" \
    src/jobs/graph.c '/^static void graph_end/,/^}/s/while \(\(status \& ORRI_STATUS_INSIDE_MASK\) != 0\)/while (false)/'
plant "executor: plan rebuilt under a late worker, detected by its effects" \
    src/jobs/graph.c '/^static void graph_end/,/^}/s/while \(\(status \& ORRI_STATUS_INSIDE_MASK\) != 0\)/while (false)/' \
    tests/schedule/tick/test_parallel_model.c 's/controlled_check\(room == NULL \|\|/controlled_check(true || room == NULL ||/'
#   The caller continues when it finds no more work: units still running write after the commit point that reported and
#   hashed their values.
plant "executor: commit point executed before the last unit ends" \
    src/jobs/graph.c '/^static void graph_end/,/^}/s/while \(\(status \& ORRI_STATUS_INSIDE_MASK\) != 0\)/while (false)/;/^static void graph_run_caller/,/^}/s/status = known \? orri_jobs_wait\(.*/status = true ? 0/' \
    tests/schedule/tick/test_parallel_model.c 's/controlled_check\(room == NULL \|\|/controlled_check(true || room == NULL ||/'
#   Two systems that had no cluster in common write the same rows concurrently.
plant "executor: conflicts not recomputed when a cluster appears" \
    src/schedule/plan/conflict_graph.c 's/graph->found \&\& graph->clusters == world->clusters.sequence/graph->found/'
#   A system begins before a system it depends on, because an indirect dependency was assumed.
plant "executor: order between two systems lost" \
    src/schedule/plan/conflict_graph.c '/^static bool conflict_graph_find_step/,/^}/s/mine\[w\] \|= theirs\[w\]/mine[w] |= theirs[w] | 1/'
plant "large group: writer does not wait for systems that read by id" \
    src/schedule/plan/conflict_sets.c 's/conflict_sets_wait_type\(s, CONFLICT_READS_ANY, type\)/(void)0/'
plant "large group: a join does not take the place of its systems" \
    src/schedule/plan/conflict_sets.c 's/^    conflict_sets_push\(s, set, join\);/    (void)join;/'
plant "order: system after a large group without systems in its pipeline is never placed" \
    src/schedule/plan/order.c '/^static orr_result system_order_sort/,/^}/s/if \(s->waiting\[i\] == 0\) \{ \/\/.*/if (false) {/'
plant "registered functions are lost when their table grows" \
    src/schedule/record/call_registry.c '/^static bool call_registry_reserve/,/^}/s/i < schedule->named_count; i\+\+/i + 1 < schedule->named_count; i++/'
plant "undeclared read by id allowed when another system declares it" \
    src/schedule/tick/parallel.c 's/orri_group_enter\(world, due == 1 \? only : NULL\)/orri_group_enter(world, only)/'
plant "read by id sees all tables while systems run in parallel" \
    src/store/api/component.c '/^static inline const orr_hot_table\* component_table_here/,/^}/s/here->tables\[index\]/world->tables.list[index]/'
# Locks between pipelines: found by their model.
#   The holder checks, has to wait, is woken before it sleeps, and is granted the lock afterwards.
plant "lock: lost wake-up, woken before the word is cleared" \
    src/lock/lock.c '/^bool orri_lock_wake_granted/,/^}/{s/^        atomic_store\(word, 0\);/        (void)0;/;s/platform->thread_wake\(platform->user, word, 1\);/platform->thread_wake(platform->user, word, 1); ORRI_SCHED_POINT(platform, ORR_SCHED_STORE, word); atomic_store(word, 0);/}'
plant "lock: upgrade does not block new readers" \
    src/lock/lock.c '/^static bool lock_request/,/^}/s/orri_lock_readers_stop\(locks, holder, true\);/(void)0;/'
plant "lock: set acquired in two steps" \
    src/lock/lock.c '/^static void lock_grant_set/,/^}/s/^        uint64_t\* word = /        if (i == 1) { orri_locks_leave(locks); orri_locks_enter(locks); }\n&/'
plant "lock: release grants only one waiter" \
    src/lock/lock.c '/^orri_lock_holder\* orri_lock_grant_waiting/,/^}/s/^            continue;/            return granted;/'
plant "lock: read granted during an exclusive lock" \
    src/lock/lock.c 's/\[ORRI_LOCK_READ\] = ORRI_LOCK_ANY\(ORRI_LOCK_EXCLUSIVE\) \|/[ORRI_LOCK_READ] =/'
plant "lock: read locks kept during the upgrade" \
    src/lock/lock.c '/^void orri_lock_reads_end/,/^}/s/lock_release\(holder, true\)/holder->reads_ended = true/'
plant "lock: readers overtake although the blocker of the waiter has released" \
    src/lock/overtake.c '/^static void lock_overtake_update/,/^}/s/h->blocker = lock_overtake_blocker\(locks, h\);/(void)0;/'
plant "lock: holder that released and acquired again still counts as blocker" \
    src/lock/overtake.c 's/lock_overtake_holds\(h\) && h->granted_at <= holder->enqueued_at/lock_overtake_holds(h)/'
plant "lock: writers overtake, too" \
    src/lock/lock.c 's/\[ORRI_LOCK_EXCLUSIVE\] = LOCK_BOTH\(/[ORRI_LOCK_EXCLUSIVE] = (/'
plant "lock: inclusive request overtakes a waiting reader" \
    src/lock/lock.c 's/\[ORRI_LOCK_INCLUSIVE\] = LOCK_BOTH\(LOCK_BIT\(ORRI_LOCK_MODES\) - 1\)/[ORRI_LOCK_INCLUSIVE] = LOCK_BOTH(LOCK_READ_CONFLICTS | LOCK_BIT(ORRI_LOCK_INCLUSIVE))/'
plant "long-running request overtakes a waiter blocked by a short holder" \
    src/lock/overtake.c 's/^        lock_overtake_measure\(locks, holder\);/        (void)0;/'
plant "waiter overtaken by a conflicting request" \
    src/lock/lock.c '/^orri_lock_holder\* orri_lock_grant_waiting/,/^}/s/orri_lock_claim\(locks, holder, round\);/(void)0;/'
plant "early upgrade request blocks readers that the log lets pass" \
    src/lock/lock.c '/^static bool lock_request/,/^}/s/if \(locks->follow == NULL \|\| holder->unlogged\) \{/if (true) {/'
plant "upgrades missing from the log" \
    src/lock/lock.c '/^static void lock_grant\(/,/^}/s/if \(locks->log != NULL\)/if (locks->log != NULL \&\& !upgrade)/'
# Threads, and the controlled scheduler that tests them.
plant "mutex: thread that slept takes the mutex without the waiters flag" \
    src/base/sync.c '/^void orri_mutex_lock/,/^}/{s/for \(;;\)/for (uint32_t take = 2;; take = 1)/;s/word, 2, memory_order_acquire\) == 0/word, 2, memory_order_acquire) == 0 \&\& (atomic_store(\&mutex->word, take), true)/}'
plant "schedules: no choice in the last round of a spin" \
    tests/support/controlled_choose.c '/^void controlled_choose_learn/,/^}/s/if \(slot->out_at/if (true || slot->out_at/'
plant "schedules: two spinning threads starve a third" \
    tests/support/controlled.c 's/me->behind \|= me->could_run.*;/(void)0;/'
plant "send: only the first value of a kind and type is checked for its range" \
    src/message/send/command_buffer.c '/^static orri_command_array\* buffer_array_make/,/^}/s/ && !info->has_range//'
plant "send: presets after the first are sent without the right to add" \
    src/message/send/send.c '/^static orr_result send_add_slow/,/^}/s/array->fast_append = array->fast_append && !array->created_only;/(void)0;/'
plant "transactions: last slice of a range applied first" \
    src/message/transaction/ranges.c '/^static void ranges_apply/,/^}/s/ranges_(first|end)\(t, slice,/ranges_\1(t, t->slice_count - 1 - slice,/g'
plant "transactions: posts without effect stay in their range" \
    src/message/transaction/ranges.c '/^static void ranges_apply/,/^}/s/t->skips\[range\]/false/'
plant "transactions: blocks not stamped when a range is applied at once" \
    src/message/transaction/ranges.c '/^static void ranges_stamp/,/^}/s/orri_column_mark\(t->world, t->world->chunks.list\[block\], \(uint32_t\)column\)/t->world->chunks.list[block]->columns[column].data/'
plant "transactions: waiting posts of command buffers applied in reverse order" \
    src/message/transaction/transaction.c '/^void orri_posts_close/,/^}/{s/if \(shared->posted_last != NULL\)/if (false)/;s/posts->next = NULL;/posts->next = shared->posted;/;s/shared->posted_last = posts;/shared->posted_last = shared->posted_last != NULL ? shared->posted_last : posts;/}'
plant "transactions: applied without waiting for structural changes of the entity" \
    src/message/transaction/ranges.c 's/return ORRI_PLACE_WAITS;/(void)0;/'
plant "transactions: no commit point before a reader of the type" \
    src/schedule/plan/delivery_deps.c '/^static bool delivery_deps_transacts/,/^}/s/for \(uint32_t i = 0; first->transacts/for (uint32_t i = 0; false \&\& first->transacts/'
plant "transactions: verb of the first run of a stream used for all" \
    src/message/transaction/stream.c '/^bool orri_post_walk_next/,/^}/s/stream->runs\[walk->run\]\.verb/stream->runs[0].verb/'
plant "transactions: minimum of signed numbers compared as unsigned" \
    src/message/transaction/op.c 's/orri_sign_extend\(now, size\) < orri_sign_extend\(old, size\)/now < old/'
plant "atomic sections: stripe mutex not locked" \
    src/message/transaction/atomic_section.c '/^static void atomic_section_locked/,/^}/s/orri_mutex_(un)?lock\(.*\);/(void)0;/'
plant "atomic sections: stripe depends on the caller" \
    src/message/transaction/atomic_section.c 's/orri_id_index\(target\)\);/orri_id_index(target) + (uint64_t)(uintptr_t)\&sections);/'
plant "atomic sections: nested section accepted" \
    src/message/transaction/atomic_section.c '/^orr_result orr_atomic/,/^}/s/section_now\.world != NULL/false/'
plant "atomic sections: block not stamped with the tick" \
    src/message/transaction/atomic_section.c '/^static bool atomic_section_own/,/^}/s/entry->tick = orri_tick_now\(world\);/(void)0;/'
plant "atomic sections: system treated as touching its own rows only" \
    src/schedule/tick/parallel.c '/^static bool parallel_own_rows/,/^}/s/!system->atomic \&\&/true \&\&/'
plant "atomic sections: system runs concurrently with a reader of the type" \
    src/schedule/plan/conflict.c 's/touch == ORRI_TOUCH_NONE \? ORRI_TOUCH_ATOMIC : ORRI_TOUCH_WRITES/touch == ORRI_TOUCH_NONE ? ORRI_TOUCH_ATOMIC : touch/'
plant "writes by id of an unread type: changes of other types reported under its name" \
    src/schedule/plan/delivery_deps.c 's/\(written\.id != 0 \|\| beyond_query\)/(written.id != 0 || first->sends_changes)/'
plant "large angle reduced with digits of pi one position too far" \
    src/base/math/circle.c 's/- 1075 \+ 62;/- 1075 + 63;/'
plant "NaN passes through exp unchanged" \
    src/base/math/power.c '/^ORRI_NOINLINE static double power_end\(/,/^}/s/x != x \? orri_math_nan\(\)/x != x ? x/'
plant "odd power of a negative number treated as even" \
    src/base/math/power.c 's/\(y_bits & unit\) != 0 \? 1 : 2/(y_bits \& unit) != 0 ? 2 : 2/'
plant "coefficient of the logarithm's polynomial truncated" \
    src/base/math/power.c 's/0x1\.99999999a3b1ep-3/0x1.9999p-3/'
plant "idle workers spin far too long" \
    src/jobs/sleep.c '/^static bool sleep_spin/,/^}/s/i < jobs->spins \+ SLEEP_YIELDS;/i < (jobs->spins + SLEEP_YIELDS) * 64;/'
plant "idle workers wake up without a request" \
    src/jobs/sleep.c '/^static void sleep_now/,/^}/s/uint64_t timeout_ns = orri_jobs_watchdog_period_ns\(jobs\);/uint64_t timeout_ns = 1000000;/'
plant "conflicts recomputed in every tick" \
    src/schedule/plan/conflict_graph.c 's/graph->found \&\& graph->clusters == world->clusters.sequence/false/'
plant "conflicts of the previous plan kept for other systems" \
    src/schedule/plan/plan.c 's/result != ORR_OK \|\| !pipe->steps_same \|\| pipe->step_count != pipe->step_count_before/false/'
plant "pipeline: a type is written by two pipelines" \
    src/schedule/system/type_owner.c 's/owner != NULL \&\& owner->pipe != ask->system->pipe/owner != NULL \&\& false/'
plant "pipeline: of several due pipelines the last registered runs first" \
    src/schedule/tick/step.c 's/pipelines\[i\]->due_ns < next->due_ns/pipelines[i]->due_ns <= next->due_ns/'
plant "pipeline: changes of a type owned by another pipeline applied at once" \
    src/schedule/tick/tick.c 's/early, \&pipe->foreign,/early, NULL,/'
plant "pipeline: due times accumulate rounded intervals" \
    src/schedule/system/pipeline.c 's/double ns = \(double\)count \* 1e9 \/ pipe->rate_hz;/double ns = (double)(count * pipe->interval_ns);/'
plant "pipeline: events not kept for a pipeline that has not ticked" \
    src/schedule/tick/tick.c 's/^    tick_life_subscribe\(pipe\);/(void)0;/'
plant "real time: call posted during the start is kept for lockstep" \
    src/realtime/posted_calls.c 's/bool runs = schedule->realtime != NULL;/bool runs = false;/'
plant "real time: events not kept for a pipeline that has not ticked" \
    src/schedule/tick/tick.c 's/^            tick_life_subscribe\(pipe\);/(void)0;/'
plant "time scale: recovers in one step" \
    src/schedule/tick/time_scale.c 's/target < more \? target : more/target/'
plant "time scale: catches up without limit" \
    src/schedule/tick/time_scale.c 's/time_ns >= next \+ interval_ns/false/'
plant "importer ordered before its exporter" \
    src/schedule/plan/conflict.c 's/conflict_imports\(second, first\) \|\|/false ||/'
plant "watchdog does not see a caller that works alone" \
    src/schedule/tick/group.c 's/bool watched = orri_parallel_watch\(pipe, true\),/bool watched = false,/'
plant "watchdog names the first system of a batch" \
    src/schedule/tick/parallel.c '/orri_jobs_report\(a->jobs, worker, system->handle/d'
plant "asynchronous call accepted after its worker pool is gone" \
    src/jobs/external.c 's/if \(external_arg\(slot, word\) != arg\)/if (arg == NULL)/'
plant "asynchronous call beyond the requested count accepted" \
    src/jobs/external.c 's/\*requested = external_pending\(word\) > 0;/*requested = true;/'
plant "worker: call on the program's threads leaves although the next run has begun" \
    src/jobs/external.c 's/if \(\(\(word \^ \*seen\) \& EXTERNAL_RUNS_MASK\) != 0\)/if (false)/'
plant "missing memory for workers reported in every tick" \
    src/schedule/tick/parallel.c 's/if \(schedule->workers_refused == 0\)/if (true)/'
plant "systems with conflicting reads and writes overlap" \
    src/schedule/plan/conflict.c 's/\|\| conflict_of_values\(world, first, second\);/|| (false \&\& conflict_of_values(world, first, second));/'
plant "transient values hashed" \
    src/store/pool/pool_state.c 's/ && !pool->type->info\.transient\) \{/) {/'
plant "tick of a spectator runs a diff" \
    src/schedule/tick/tick.c 's/return !pipe->spectator \|\| \(/return true || (/'
plant "tick of a spectator counts as a tick of the world" \
    src/schedule/tick/tick.c 's/if \(pipe->spectator\) \{/if (false) {/'
plant "events waiting for a spectator hashed" \
    src/message/event/event.c 's/cursor->set->on && !cursor->set->spectator;/cursor->set->on;/'
plant "spectator that reads no events fills the queue for all" \
    src/message/event/event.c 's/bool others = event_drop_spectators\(world, queue\);/bool others = true;/'
plant "slow spectator extends the time step limit" \
    src/schedule/tick/step.c 's/ && !schedule->pipelines\[i\]->spectator//'
plant "simulation system sees transient entities" \
    src/store/table/transient.c 's/ && \(access == NULL \|\| access->spectator\);/;/'
plant "transient entities match every query" \
    src/query/match.c 's/if \(ORR_UNLIKELY\(cluster->transient\) && /if (false \&\& /'
plant "spectator does not record the transient entities it created" \
    src/message/send/transient_send.c 's/transients->records\[transients->count\+\+\] = record;/transients->records[0] = record;/'
plant "ids of a refused commit stay reserved" \
    src/message/commit/commit.c 's/^        orri_command_ids_retake\(merge\);/        (void)0;/'
plant "transactions applied before the structural changes they were posted with" \
    src/message/transaction/apply.c '/^static bool apply_ready/,/^}/s/posts->ready/true/'
plant "new reader receives values newer than the baseline" \
    src/message/deliver/message_batch.c 's/orri_run_from_baseline\(diff, run, column->type\)/false/'
plant "messages not taken are queued last" \
    src/message/deliver/reader.c 's/    last->next = reader->first;/    last->next = NULL;/'
plant "published: value of a destroyed entity shown for its successor" \
    src/store/publish/remap.c 's/return orri_id_make\(index, orri_record_at\(world, index\)->generation\);/return orri_id_make(index, 1);/'
plant "published: publishing does not start an epoch" \
    src/store/publish/publish.c 's/^    orri_epoch_end\(publisher->world\);//'
plant "published: pending edition not remapped" \
    src/store/publish/remap.c 's/bool built = type->pending == NULL \|\| remap_build_edition\(publisher, type, type->pending\);/bool built = true;/'
plant "published: read by id bypasses the view" \
    src/store/api/component.c 's/^        if \(has\) \{/        if (has \&\& published == NULL) {/'
plant "published: changed-since of a view uses the live version" \
    src/query/iterate.c 's/if \(iterate_published\(it, type\)\) \{/if (false) {/'
plant "published: live columns of a view not updated after a move" \
    src/store/cow/share.c 's/orri_publish_moved_column\(world->publisher, chunk, column\);/(void)0;/'
plant "published: instances matched by position instead of id" \
    src/store/publish/instances.c 's/if \(past->ids\[i\] == id\) \{/if (id != 0) {/'
plant "published: instances added without a row move not noticed" \
    src/store/publish/remap.c 's/ORR_UNLIKELY\(publisher->cells\) && /false \&\& /'
plant "published: new owner of a slot gets the value of the old owner" \
    src/store/publish/pinned.c 's/old->owners->entities\[s\]\.id == owners->entities\[s\]\.id/old->owners->counts[s] != 0/'
plant "published: pinned set points into an earlier edition" \
    src/query/pinned_matches.c 's/\} else if \(ORR_UNLIKELY\(addresses_change\)\) \{/} else if (false) {/'
plant "published: pinned values of a system's query are live" \
    src/schedule/tick/call.c '/^static bool call_refresh/,/^}/s/orri_this_thread\.view = system->pipe->driven->view;/(void)0;/'
plant "real time: paused world catches up" \
    src/realtime/thread.c 's/ && \(!rt->clock\.paused \|\| pipe->due_ns <= rt->step_ns\)//'
plant "real time: unpausing from a system wakes no thread" \
    src/realtime/thread.c '/^void orri_realtime_clock_advance/,/^}/s/orri_realtime_wake_all\(rt\);.*$//'
plant "real time: calls posted during the last calls are accepted" \
    src/realtime/realtime.c 's/rt->posts_closed = true;/rt->posts_closed = false;/'
plant "real time: threads of a replay wait for each other forever" \
    src/realtime/turn.c 's/return rt->replaying > 0 && /return false \&\& /' \
    src/realtime/thread.c 's/^            \(void\)orri_replay_abandon\(rt\);//'
plant "real time: long wait counts only a quarter of a second" \
    src/realtime/thread.c 's/until == UINT64_MAX \|\| until < max \? until : max/until + 0 * max/'
plant "real time: clock jump counts in full" \
    src/schedule/tick/time_scale.c 's/passed = passed < clock->jump_max_ns \? passed : clock->jump_max_ns;//'
plant "zero-copy: reader that runs before the overwrite sees stale bytes" \
    src/realtime/turn.c 's/bool overwrites_all = !looked && /bool overwrites_all = /'
plant "zero-copy: disabled rows lost" \
    src/realtime/turn.c 's/orri_entry_match\(system->query, entry\) == ORRI_MATCH_ALL/true/'
plant "zero-copy: system that needs old values gets a block without them" \
    src/store/publish/zero_copy.c 's/        memcpy\(item.block, share->data, share->size\);//'
plant "zero-copy: block of two editions reused when one is released" \
    src/store/publish/zero_copy.c 's/share->refs == 1 && //'
plant "zero-copy: refused group leaves blocks without values" \
    src/realtime/turn.c 's/orri_reclaim_end\(pipe->run->rt->publisher, result == ORR_OK\)/orri_reclaim_end(pipe->run->rt->publisher, true)/'
plant "real time: commit locks structure for reading only" \
    src/realtime/turn.c 's/orri_lock_set_structure\(pipe, ORRI_LOCK_EXCLUSIVE\);/orri_lock_set_structure(pipe, ORRI_LOCK_READ);/'
plant "history: commit does not log rows that leave" \
    src/store/change/route.c 's/if \(!orri_chunk_prepare_rows\(c->world, chunk, orri_place_slot\(places\[i\]\), 1\)\) \{/if (chunk == NULL) {/'
plant "history: commit does not log rows that fill gaps" \
    src/store/change/route.c 's/!orri_chunk_prepare_rows\(world, chunk, slot, 1\) \|\|/false ||/'
plant "real time: concurrent commit touches clusters outside its commit scope" \
    src/store/change/route.c 's/!orri_commit_scope_touch\(c->world, cluster\) \|\|/false ||/'
plant "real time: concurrent commit creates clusters" \
    src/store/world/commit_scope.c '/^bool orri_commit_scope_registry_slow/,/^}/s/commit_scope->recording/commit_scope != NULL/'
plant "real time: system restricted to its rows does not lock their clusters" \
    src/realtime/lock_sets.c 's/lock_sets_cluster\(pipe, cluster->index, ORRI_LOCK_READ\)/true/'
plant "real time: concurrent commit does not lock the clusters it changes" \
    src/realtime/lock_sets.c 's/!orri_commit_scope_has\(scope, c\) \|\| lock_sets_cluster\(pipe, c, ORRI_LOCK_EXCLUSIVE\)/true/'
plant "real time: memory replaced by a concurrent commit freed while systems use it" \
    src/store/world/commit_scope.c 's/if \(!world->realtime\) \{/if (true) {/'
plant "real time: live types read without a lock" \
    src/realtime/lock_sets.c 's/return touch == ORRI_TOUCH_READS \? ORRI_LOCK_READ : LOCK_SETS_NONE;/return LOCK_SETS_NONE;/'
plant "real time: view pinned in the first tick only" \
    src/realtime/turn.c 's/return run->driven\.view != NULL \? /return run->driven.view != NULL \&\& pipe->tick == 0 ? /'
plant "real time: a spectator that begins late waits for the next structural change" \
    src/schedule/tick/tick.c 's/\(pipe->world->realtime && tick_reader_fresh\(pipe\)/(false \&\& pipe->world->realtime/'
plant "real time: a reader whose queue overflowed waits for the next structural change" \
    src/schedule/tick/tick.c 's/^( +)tick_reader_fresh\(pipe\),/\1false,/'
plant "real time: changes between two runs are not reported" \
    src/realtime/realtime.c 's/orri_any_tick_half_done\(rt->schedule\) \? ORR_OK/true ? ORR_OK/'
plant "real time: a recorded run takes free locks without a new turn" \
    src/realtime/turn.c 's/bool counts = rt->record != NULL \|\| rt->replay != NULL;/bool counts = false;/'
plant "real time: every lock takes a new turn" \
    src/realtime/turn.c 's/bool counts = rt->record != NULL \|\| rt->replay != NULL;/bool counts = true;/'
plant "lock: a sleeping holder is not woken" \
    src/lock/lock.c 's/atomic_exchange\(word, 0\) == 2;/atomic_exchange(word, 0) == 3;/'
plant "real time: messages delivered to a system while it runs" \
    src/realtime/turn.c 's/^        orri_reader_take\(system->rights\.reader\);//'
plant "real time: lock set lacks clusters created while waiting" \
    src/realtime/turn.c 's/if \(ORR_UNLIKELY\(clusters != world->clusters.sequence\)\) \{/if (false) {/'
plant "real time: sync points that request sync points starve other pipelines" \
    src/realtime/thread.c 's/ && \(rt->sync_held \|\| !\(due && pipe->run->sync_seen < rt->sync_count\)\)//'
plant "real time: posted calls that post again starve the first pipeline" \
    src/realtime/thread.c 's/^        waits = thread_due\(rt, pipe\);//'
plant "real time: journal does not take its messages" \
    src/schedule/report/journal.c 's/^        orri_reader_take\(journal->reader\);//'
plant "real time: other threads allowed in during a sync point" \
    src/store/world/access.h 's/orri_this_thread\.world == world && orri_this_thread\.at_sync_point/world->realtime/'
plant "real time: loops over an order stay open after they are left" \
    src/realtime/turn.c 's/loops\.era \+= run->set\[0\]\.mode == ORRI_LOCK_EXCLUSIVE;/loops.era += 0;/'
plant "real time: call changes structure inside its own loop" \
    src/store/world/refuse.c 's/orri_this_thread\.loops == 0 &&/true \&\&/'
plant "real time: systems with a shared pointer overlap" \
    src/realtime/lock_sets.c 's/uint32_t numbers1\[2\] = \{system->user_lock1,/uint32_t numbers1[2] = {0,/'
plant "real time: pipeline that waited for the display ticks during a pause" \
    src/realtime/thread.c '/^static void thread_run_live/,/^}/s/waited = true;/waited = true; thread_begin_tick(rt, pipe);/'
plant "real time: replay does not use the recorded dts" \
    src/realtime/thread.c 's/rt->replay->dts\[rt->dt_at\+\+\]/pipe->interval/'
plant "recording: blocks written by an impure system omitted" \
    src/schedule/record/impure.c 's/return impure_get_values\(system, in\);/return true;/'
plant "recording: grants to spectators included" \
    src/lock/lock.c '/^static void lock_grant\(/,/^}/s/if \(ORR_UNLIKELY\(holder->unlogged\)\) \{/if (false) {/'
plant "history: travel does not restore the tick" \
    src/store/snapshot/restore.c 's/    world->tick = snapshot->tick;//'
plant "history: ids created later stay on the free list" \
    src/store/snapshot/restore.c 's/    index->free_first = snapshot->free_first;//'
plant "history: restored blocks not shared again" \
    src/store/snapshot/restore.c 's/chunk->columns\[column\]\.share == share && orri_share_clean\(share\)/chunk->columns[column].share != NULL/'
plant "row log: rows are written without being logged" \
    src/store/table/chunk.c '/^bool orri_rows_prepare/,/^}/s/orri_row_log_add\(world, share, slot, count\)/orri_row_log_add(world, share, slot, 0)/'
plant "row log: a row is logged each time it is written" \
    src/store/cow/row_log.c '/^bool orri_row_log_add/,/^}/s/if \(orri_bit_get\(share->marks, row\)\)/if (false)/'
plant "row log: the log of a released share is not merged" \
    src/store/cow/row_log.c 's/share->log != NULL \&\& !row_log_merge\(world, leaning, share->log\)/false/'
plant "row log: after a rewind the base has the rows of the leaning share" \
    src/store/cow/row_log.c 's/        row_log_swap\(live, value, log->row_size\);/        memcpy(live, value, log->row_size);/'
plant "row log: the stamp of a shared block grants the right to write" \
    src/store/table/chunk.c '/^void orri_column_stamp_one/,/^}/s/\.version = orri_version_now\(.*\);/.version = epoch;/'
plant "row log: records are written without being logged" \
    src/store/table/entity_index.c 's/orri_row_log_add\(world, share, index \& ORRI_PAGE_MASK, 1\)/orri_row_log_add(world, share, index \& ORRI_PAGE_MASK, 0)/'
plant "row log: a share that leans on a lost one is not lost" \
    src/store/cow/share.c 's/^    orri_row_log_lose\(world, share\);//'
plant "row log: a frozen share is rewound" \
    src/store/cow/row_log.c 's/if \(attached->kind == ORRI_SHARE_FROZEN\)/if (false)/'
plant "row log: page that is removed restored as a page of another timeline" \
    src/store/snapshot/restore.c 's/p = snapshot->page_count; p < world->index\.page_count/p = snapshot->page_count; false/'
plant "history: travel does not restore ticks of blocks" \
    src/store/snapshot/restore.c 's/    chunk->columns\[c\].tick = tick;//'
plant "history: names not rebuilt" \
    src/store/snapshot/restore.c 's/        orri_names_rebuild\(world\);//'
plant "history: links not rebuilt" \
    src/store/snapshot/restore.c 's/        orri_relations_rebuild\(world\);//'
plant "history: node considered equal regardless of its ticks" \
    src/store/snapshot/snapshot.c 's/node->tick == column->tick .. memory/memory/'
plant "blocks: instance counts taken for instance ids" \
    src/store/snapshot/blocks.c 's/\(column - types\) % 2 != 0/(column - types) % 2 == 0/'
plant "blocks: the walk over a snapshot leaves out pools" \
    src/store/snapshot/blocks.c 's/return found .. blocks_next_node_pool\(walk\);/return found;/'
plant "history: abandoned timeline stays remembered" \
    src/history/retention.c 's/orri_history_find\(history, world->tick \+ 1\)/history->memory_count/'
plant "history: fast-forward ignores that the world was changed" \
    src/history/travel.c 's/\(orri_snapshot_same\(world, memory->store\) \|\|/(true ||/'
plant "history: the window keeps one tick less" \
    src/history/retention.c 's/world->tick - rules->recent : 0/world->tick - rules->recent + 1 : 0/'
plant "history: window forgets ticks remembered by a call" \
    src/history/retention.c 's/memory->automatic \&\& !retention_first/!retention_first/'
plant "history: queues not restored" \
    src/message/past/past.c 's/    past_refill\(world, past\);//'
plant "history: waiting events not restored" \
    src/message/past/past.c 's/    orri_events_restore\(world, past->events\);//'
plant "history: real time does not detach from the abandoned timeline" \
    src/schedule/tick/tick.c '/ORR_ASSERT\(!ended\);/,/return;/s/hook\(world\);/(void)0;/'
plant "history: window requests no sync point" \
    src/realtime/thread.c 's/rt->world->tick_hooks.sync_wanted\(rt->world\)/false/'
plant "history: sync point does not move the window" \
    src/realtime/posted_calls.c 's/world->tick_hooks.synced\(world\);/(void)0;/'
plant "history: last tick of a run not remembered" \
    src/realtime/realtime.c 's/rt->world->tick_hooks.synced\(rt->world\);/(void)0;/'
plant "history: older ticks kept by tick number instead of distance" \
    src/history/retention.c 's/\(at == 0 \|\| history->memories\[at - 1\]\.tick \/ every < tick \/ every\)/tick % every == 0/'
plant "history: window requests a sync point in every tick" \
    src/history/retention.c 's/% interval == 0/% interval < interval/'
plant "fast-forward: waiting pipeline begins a tick during a sync point" \
    src/realtime/thread.c 's/\(rt->sync_held \|\| /(false || /'
plant "fast-forward: ticks at a sync point consume turns of the replay" \
    src/realtime/turn.c 's/orri_pipeline_replays\(pipe\) \&\& !rt->fast_forwards\) \{/orri_pipeline_replays(pipe)) {/'
plant "fast-forward: ticks at a sync point recorded as turns" \
    src/realtime/turn.c 's/if \(!rt->fast_forwards\) \{/if (true) {/'
plant "travel: spectator waits until its old due time" \
    src/history/schedule_past.c 's/if \(!pipe->spectator \|\| due > past->time_ns\) \{/if (!pipe->spectator) {/'
plant "travel: pipelines keep their old due times" \
    src/history/schedule_past.c 's/pipe->due_ns = known \? was\.due_ns : /pipe->due_ns = known ? due : /'
plant "travel: clock not set back" \
    src/realtime/history_detach.c 's/rt->clock\.time_ns = rt->ended_ns = /rt->ended_ns = /'
plant "fast-forward: spectators tick, too" \
    src/realtime/fast_forward.c 's/!pipe->spectator \&\& pipe->due_ns < next/pipe->due_ns < next/'
plant "fast-forward: plans not rebuilt on the way" \
    src/realtime/fast_forward.c 's/\(wanted \|\| orri_realtime_stale\(rt\)\)/wanted/'
plant "fast-forward: clock not restarted" \
    src/realtime/fast_forward.c 's/    orri_realtime_clock_restart\(rt\);//'
plant "fast-forward: starts with another time than its replay" \
    src/realtime/fast_forward.c 's/rt->schedule->time_ns = orri_realtime_time_remembered\(rt->schedule\);/(void)0;/'
plant "fast-forward: failed tick does not end the run" \
    src/realtime/fast_forward.c 's/orri_realtime_fail\(rt, result\);/(void)0;/'
plant "fast-forward: end of a run waits for itself" \
    src/realtime/realtime.c 's/if \(rt->running == 0\) \{/if (false) {/'
plant "fast-forward: calls that are left do not run at a sync point" \
    src/realtime/realtime.c 's/realtime_posts_close\(rt\) \&\& /realtime_posts_close(rt) \&\& false \&\& /'
plant "fast-forward: reserved ids not released" \
    src/realtime/fast_forward.c 's/    orri_realtime_release_ids\(rt\);//'
plant "spectator: its tick notifies readers of the simulation that have just begun" \
    src/schedule/tick/tick.c 's/!orri_state_readers_fresh\(pipe->world\)/true/'
plant "fast-forward: skipped time counts as delay of spectators" \
    src/realtime/fast_forward.c 's/orri_pipeline_clock_restart\(pipe\);/(void)0;/'
plant "fast-forward: thread that starts late resumes a tick of the sync point" \
    src/realtime/thread.c 's/if \(pipe->run->resumes\) \{/if (pipe->stage != ORRI_STAGE_DONE) {/'
plant "history: replay applies a budget of its own" \
    src/realtime/realtime_log.c '/^bool orri_replay_budget/,/^}/s/if \(rt == NULL \|\| /if (true || rt == NULL || /'
plant "history: disabled window leaves a tick" \
    src/history/retention.c 's/while \(!retention_on\(desc\) \&\& /while (false \&\& /'
plant "replay: paced replay does not wait" \
    src/realtime/thread.c 's/if \(rt->desc\.paced\) \{/if (false) {/'
plant "history: memories reported while systems run" \
    src/history/history.c 's/bool hidden = orri_between_sync_points\(world\);/bool hidden = false;/'
plant "desync: posted transactions not compared" \
    src/replay/desync.c 's/return orri_posts_hash\(commands->posts, hash\);/return hash;/'
plant "desync: sent names not compared" \
    src/replay/desync.c 's/if \(commands->text_count > 0\)/if (false)/'
plant "desync: sender of a posted function not named" \
    src/replay/desync.c 's/messages->called = desync_called;/(void)messages;/'
plant "single entity: no way back once memory was refused" \
    src/history/entity_history.c '/^static orr_result entity_history_ahead/,/^}/s/entity_history_put_back\(here, &kept\);/if (env->refusals == 0) { entity_history_put_back(here, \&kept); }/'
plant "recording: impure system runs in one unit after a replay" \
    src/schedule/tick/call.c '/^ORRI_COLD void orri_system_call_back\(/,/^\}/s/system->in_units = in_units;/(void)in_units;/'
plant "desync: only the first instance compared" \
    src/replay/world_diff.c 's/count = \*a\.counts < \*b\.counts \? \*a\.counts : \*b\.counts;/count = 1;/'
plant "recording: data of a call is loaded with any size" \
    src/replay/file_read.c 's/if \(!orri_named_accepts\(named, size\)\) \{/if (false) {/'
plant "recording: clocks of real time are loaded with any due time" \
    src/replay/file_check.c '/^static const char\* file_check_clocks/,/^}/s/!orri_recorded_due_possible\(clock->due_ns, clock->time_ns, longest\)/false/'
plant "recording: times far from those of the world are replayed in lockstep" \
    src/replay/replay.c 's/if \(log->begun \&\& !replay_times_possible\(run, entry, pipe\)\)/if (false)/'
plant "replay does not continue the tick of a spectator" \
    src/replay/replay.c 's/if \(half != NULL \&\& half->spectator\)/if (false)/'
plant "recording: times far from those of the world are replayed in real time" \
    src/realtime/realtime_log.c 's/if \(!orri_recorded_time_possible\(rt->world, clock->time_ns\) \|\|/if (false \&\&/'
plant "recording: data of a call is replayed with any size" \
    src/schedule/record/compat.c 's/if \(!orri_named_accepts\(named, recorded->size\)\) \{/if (false) {/'
plant "recording: impure system sends commands that it does not declare" \
    src/message/send/command_codec.c 's/!command_codec_declared\(commands, kind, info, created_only \|\| own\)/false/'
plant "recording: impure system writes values that it does not declare" \
    src/schedule/record/impure.c 's/ \|\| !impure_writes\(system, \(uint32_t\)\(type1 - 1\)\)//'
plant "recording: argument of a function is read as a number" \
    src/message/send/command_codec.c 's/\(in_bytes \|\| \(function == 0 \&\& size <= sizeof\(uint64_t\)\)\)/true/'
plant "recording: continues although memory was refused" \
    src/realtime/realtime_log.c '/^void orri_realtime_log_check_memory/,/^}/s/rt->record->refused = true;/(void)0;/'

plant "forgotten memory of the current tick is not kept as the base" \
    src/history/history.c 's/bool base = memory->tick == world->tick \&\& /bool base = false \&\& /'
plant "first refusal of a system by time instead of unit" \
    src/message/send/rights.c 's/ \|\| unit < rights->refused_unit\)/)/'
plant "refusals of systems not returned" \
    src/schedule/tick/tick.c 's/^    tick_keep_refused\(world, pipe->refused, pipe->refused_system, pipe->refused_text\);/    (void)0;/'
plant "text of a refusal is not kept" \
    src/message/send/rights.c 's/orri_text_add\(&out, "%s", text\);/(void)text;/'
plant "null type of a system is called undeclared" \
    src/store/world/access.c 's/if \(type.id == 0 \&\& access_declares\(world\)\)/if (false)/'
plant "empty recording is replayed in real time" \
    src/realtime/realtime.c 's/desc->replay->turn_count == 0 \&\& /false \&\& /'
plant "drops of sent changes not returned" \
    src/message/send/rights.c 's/ORR_OK \? rights->refused : dropped;/ORR_OK ? rights->refused : ORR_OK;/'
plant "pinned values that came or went are reported before structure is compared" \
    src/message/deliver/diff_instances.c 's/s->diff->values_only \&\& \(now == NULL/false \&\& (now == NULL/'
plant "sets of readers count as current after a refusal" \
    src/message/deliver/baseline_values.c 's/^    baseline->stale = true;/    (void)0;/'
plant "reader outside of the state does not get removed entities again" \
    src/message/past/baseline_restore.c 's/baseline->on\[r\]->fresh = baseline->on\[r\]->fresh \|\| knows;/(void)0;/'
plant "bytes of hooked types are zeroed as padding" \
    src/schema/rows.c 's/if \(!type->info\.has_hooks\)/if (true)/'
plant "limit of one interval applied to the sum of a clock" \
    src/schedule/system/pipeline.c 's/ns < \(double\)left/ns < 1e18/'
plant "end of the clock not reported" \
    src/schedule/tick/step.c 's/if \(orri_pipeline_clock_ended\(pipe\) \&\& /if (false \&\& /'

# ---- planting ------------------------------------------------------------------------------------------

# Applies one plant to a fresh copy of the source, compiles what changed and links. Source and objects are hard links: sed,
# compile and link_… replace files, they never write into them.
apply() { # folder, pairs…
    local folder=$1 header='' outside='' changed=()
    shift
    mkdir -p "$folder/tree"
    cp -rl "$work/tree/." "$folder/tree"
    cp -rl "$work/base" "$folder/objects"
    while [ $# -gt 0 ]; do
        sed -i -E "$2" "$folder/tree/$1"
        if cmp -s "$1" "$folder/tree/$1"; then
            echo "the plant no longer applies to $1"
            return 1
        fi
        case $1 in
        *.h) header=1 outside=1 ;;
        src/*) changed+=("$1") ;;
        *) changed+=("$1") outside=1 ;; # Part of the test programs, not of the library.
        esac
        shift 2
    done
    if [ -n "$header" ]; then
        # shellcheck disable=SC2086
        compile "$folder/tree" "$folder/objects" 1 $library $shared $tests
    else
        compile "$folder/tree" "$folder/objects" 1 "${changed[@]}"
    fi && link_library "$folder/objects" && { [ -z "$outside" ] || link_tests "$folder/objects" 1; } || {
        echo "does not compile"
        return 1
    }
}

# tools/planted.txt has lines "program title": the test program that caught a plant in an earlier run. It is tried first,
# which saves most of the time; a plant that is missing there, or that another program catches, costs only time. A complete
# run writes the current list to build/planted.txt.
caught_list=tools/planted.txt

# The test programs in the order in which they run for a file: the program that caught the plant before, the test of the
# same name, tests of the same module, the rest; fast tests first. The second column is the time limit in seconds.
in_order() { # file, title
    local module noun before
    module=$(cut -d/ -f2 <<<"$1") noun=$(basename "$1")
    noun=${noun%.*}
    before=
    if [ -f "$caught_list" ]; then
        before=$(awk -v title="$2" '{ program = $1; sub(/^[^ ]* /, ""); if ($0 == title && !n++) print program }' "$caught_list")
    fi
    awk -v module="$module" -v name="test_$noun" -v before="$before" '{
        print ($2 == before ? -1 : $2 == name ? 0 : $1 == module ? 1 : 2), $3, $2, int($3 / 50) + 10
    }' "$work/times" | sort -k1,1n -k2,2n | cut -d' ' -f3,4
}

# Runs one plant and writes its result. Stops at the first program that fails.
try() { # folder, name, pairs…
    local folder=$1 name=$2 file=$3 program='' tried='' seconds found='' wrong
    shift 2
    mkdir -p "$folder"
    if ! wrong=$(apply "$folder" "$@" 2>&1); then
        echo "WRONG $name: $wrong"
    else
        while read -r program seconds; do
            case $name in # These must be found by a model; with real threads they may show or hang.
            worker:*) [ "$program" = test_jobs_model ] || continue ;;
            executor:*) [ "$program" = test_parallel_model ] || continue ;;
            lock:*) [ "$program" = test_lock_model ] || continue ;;
            esac
            tried=1
            found=$(run_test "$folder/objects" "$program" "$seconds")
            [ -z "$found" ] || break
        done < <(in_order "$file" "$name")
        if [ -z "$tried" ]; then
            echo "WRONG $name: no test was run"
        elif [ -z "$found" ]; then
            echo "WRONG $name: no test fails"
        else
            echo "$name: caught"
            echo "$program $name" >"$folder.caught"
            sed 's/^/    /' <<<"$found" | head -n 6
        fi
    fi >"$folder.said"
    rm -rf "$folder"
}

wanted() {
    local name=$1 word
    shift
    for word in "$@"; do
        [[ $name != *"$word"* ]] || return 0
    done
    [ $# -eq 0 ]
}

if [ "${1:-}" = --apply ]; then
    for entry in "${plants[@]}"; do
        IFS=$'\037' read -r -d '' -a words <<<"$entry" || true
        words[-1]=${words[-1]%$'\n'}
        [ -n "${words[-1]}" ] || unset 'words[-1]'
        for ((i = 1; i < ${#words[@]}; i += 2)); do
            if [ ! -f "${words[i]}" ]; then
                complain "${words[0]}: there is no file ${words[i]}"
            elif sed -E "${words[i + 1]}" "${words[i]}" | cmp -s - "${words[i]}"; then
                complain "${words[0]}: no longer applies to ${words[i]}"
            fi
        done
    done
    finish "${#plants[@]} plants apply"
    exit
fi

mkdir -p "$work/tree"
cp -r src include tests scenarios "$work/tree"

# Without a plant all tests must pass. This run also measures the time of each program in milliseconds.
now_ms() { printf '%s' "$((${EPOCHREALTIME//[.,]/} / 1000))"; }
sound() { # source of a test program
    local start name
    start=$(now_ms) name=$(basename "$1" .c)
    run_test "$work/base" "$name" 600
    echo "$(cut -d/ -f2 <<<"$1") $name $(($(now_ms) - start))" >"$work/base/$name.time"
}
export -f sound run_test now_ms
export work

# shellcheck disable=SC2086
compile . "$work/base" "$jobs" $library $shared $tests
link_library "$work/base"
link_tests "$work/base" "$jobs"
# shellcheck disable=SC2086
failing=$(printf '%s\n' $tests | xargs -P"$jobs" -I{} bash -c 'sound {}')
if [ -n "$failing" ]; then
    printf '%s\n' "$failing"
    complain "without any plant, tests fail already"
    finish
fi
cat "$work"/base/*.time >"$work/times"
rm -f "$work"/base/*.time "$work"/base/*.log # Logs of plants must not be hard links of these.

# Runs several plants in parallel and prints their results in the order of the list.
said() { # number
    if grep -q '^WRONG' "$work/plant$1.said"; then
        complain "$(sed 's/^WRONG //' "$work/plant$1.said")"
    else
        cat "$work/plant$1.said"
        count=$((count + 1))
    fi
}
begun=0 printed=0 count=0
for entry in "${plants[@]}"; do
    IFS=$'\037' read -r -d '' -a words <<<"$entry" || true
    words[-1]=${words[-1]%$'\n'}
    [ -n "${words[-1]}" ] || unset 'words[-1]'
    wanted "${words[0]}" "$@" || continue
    if [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; then
        wait -n || true
    fi
    try "$work/plant$begun" "${words[@]}" &
    begun=$((begun + 1))
    while [ "$printed" -lt "$begun" ] && [ -f "$work/plant$printed.said" ] && [ ! -d "$work/plant$printed" ]; do
        said "$printed"
        printed=$((printed + 1))
    done
done
wait
while [ "$printed" -lt "$begun" ]; do
    said "$printed"
    printed=$((printed + 1))
done
if [ $# -eq 0 ] && [ "$begun" -gt 0 ]; then
    mkdir -p build
    for ((i = 0; i < begun; i++)); do
        cat "$work/plant$i.caught" 2>/dev/null || true
    done >build/planted.txt
fi
finish "$count planted bugs, each caught"
