#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Bugs planted into a copy of the source, one after the other: each must make at least one test fail. Lists which.
# A plant that no longer applies fails too, so that the list follows the source.
#
#     tools/check_planted.sh [NAME…]    # only the plants whose name contains NAME
source "$(dirname "$0")/common.sh"

temporary
compiler=${CC:-gcc}
flags="-std=c17 -O1 -ffp-contract=off -w -pthread"
tests=$(cmake_list tests/store/tests.cmake ORR_TESTS_STORE | tr ' ' '\n' | grep -v test_generation)
tests+=" tests/base/test_math_special.c tests/base/test_math_golden.c"
tests+=" $(cmake_list tests/model/tests.cmake ORR_TESTS_MODEL)"
tests+=" $(cmake_list tests/query/tests.cmake ORR_TESTS_QUERY | grep '\.c$')"
tests+=" $(cmake_list tests/message/tests.cmake ORR_TESTS_MESSAGE)"
tests+=" $(cmake_list tests/schedule/tests.cmake ORR_TESTS_SCHEDULE)"
shared="$(cmake_list tests/support/tests_support.cmake ORR_TEST_SUPPORT)"
shared+=" $(cmake_list tests/model/tests.cmake ORR_TEST_EXTRA_MODEL)"
shared+=" $(cmake_list tests/query/tests.cmake ORR_TEST_EXTRA_QUERY)"
shared+=" $(cmake_list tests/message/tests.cmake ORR_TEST_EXTRA_MESSAGE)"
shared+=" $(cmake_list tests/schedule/tests.cmake ORR_TEST_EXTRA_SCHEDULE)"
shared+=" $(cmake_list scenarios/scenarios.cmake ORR_SCENARIOS)"
library=
while read -r module; do
    library+=" $(cmake_list "src/$module/sources.cmake" "ORR_SOURCES_${module^^}")"
done <src/modules.txt

# Compiles files of a tree into objects of a folder, two at a time. A test includes inner headers, so it is
# compiled against the same tree.
compile() { # tree, folder, files…
    local tree=$1 folder=$2
    shift 2
    mkdir -p "$folder"
    printf '%s\n' "$@" | sort -u | (cd "$tree" && xargs -P2 -I{} sh -c '
        out=$1/$(echo "$2" | tr "/" "-").o
        exec '"$compiler $flags"' -Iinclude -Isrc -Itests -I. -c "$2" -o "$out"' sh "$folder" {})
}

# Runs all test programs; prints the names of failed tests. Programs that crash or hang have failed as a whole.
run_tests() { # folder with objects
    local folder=$1 source name log
    for source in $tests; do
        name=$(basename "$source" .c)
        log=$work/log
        # shellcheck disable=SC2086
        "$compiler" -pthread "$folder/$(echo "$source" | tr / -).o" $(objects "$folder" $shared $library) \
            -lm -o "$work/program" 2>"$log" || { cat "$log" >&2; exit 1; }
        if ! timeout 120 "$work/program" --seed 1 >"$log" 2>&1; then
            grep '^FAILED' "$log" | sed "s/^FAILED/$name:/" || true
            grep -q '^[0-9]* passed' "$log" || echo "$name: crashed or hung"
        fi
    done
}

objects() { # folder, files…
    local folder=$1 file
    shift
    for file in "$@"; do
        echo "$folder/$(echo "$file" | tr / -).o"
    done | sort -u
}

# ---- the plants: name, then pairs of file and sed expression -------------------------------------------

plants=()
plant() { plants+=("$(printf '%s\037' "$@")"); }

plant "swap-remove off by one" \
    src/store/mover.c 's/orri_row_relocate\(world, chunk, slot, last, last_slot\)/orri_row_relocate(world, chunk, slot, last, last_slot - (last_slot > 0))/'
plant "swap-remove off by one, on the short way" \
    src/store/world.h '/orri_row_close_gap/,/^}/s/last->columns\[c\]\.data \+ \(size_t\)last_slot/last->columns[c].data + (size_t)(last_slot - (last_slot > 0))/'
plant "missing generation bump" \
    src/store/index.c 's/\(orri_record\)\{generation \+ 1, free_first\}/(orri_record){generation, free_first}/'
plant "missing generation bump, on the short way" \
    src/store/world.h 's/\(orri_record\)\{generation \+ 1, world->index\.free_first\}/(orri_record){generation, world->index.free_first}/'
plant "frozen block written in place" \
    src/store/share.c 's/if \(!share_copy_live\(world, chunk, column\)\)/if (false \&\& !share_copy_live(world, chunk, column))/'
plant "history block not copied before the write" \
    src/store/share.c '/^bool orri_share_detach_column/,/^}/s/\} else if \(share_copy_out\(world, share\)\)/} else if (true || share_copy_out(world, share))/'
plant "held page of the index written in place" \
    src/store/share.c '/^bool orri_share_detach_page/,/^}/s/world->hot\.pages\[page\] = copy;/(void)copy;/'
plant "missing record fix of the moved row" \
    src/store/chunk.c '/^void orri_row_relocate/,/^}/s/orri_index_write\(world, index\)->place = .*;/(void)index;/'
plant "destruct forgotten on cluster delete" \
    src/store/cluster.c '/^static void cluster_kill_chunk/,/^}/s/orri_cells_destruct\(.*\);/(void)0;/'
plant "enable bit not moved" \
    src/store/chunk.c '/^void orri_row_relocate/,/^}/s/chunk_relocate_bits\(.*\);/(void)0;/'
plant "enable bit of a kept column lost between clusters" \
    src/store/mover.c '/^void orri_plan_move_bits/,/^}/s/mover_bits_column\(to, plan->kept/if (0) mover_bits_column(to, plan->kept/'
plant "padding hashed" \
    src/schema/layout.c 's/type->canonical_bytes = !info->has_padding \&\& /type->canonical_bytes = /'
plant "rollback forgotten in create_many" \
    src/store/entity.c '/^static orr_result entity_make_values/,/^}/s/while \(c-- > 0\)/while (false \&\& c-- > 0)/'
plant "hash of a block not renewed" \
    src/store/digest.c '/^static uint64_t digest_block/,/^}/s/cold->hash_version == entry->version/true/'
plant "tick of a write not stamped" \
    src/store/chunk.c '/^void orri_column_stamp_one/,/^}/s/chunk->columns\[column\]\.tick = world->tick;/(void)0;/'
plant "batch fills one gap too many" \
    src/store/batch.c '/^static void batch_fill_gaps/,/^}/s/if \(row < /if (row <= /'
plant "double in a batch not noticed" \
    src/store/batch.c '/^static orr_result batch_collect/,/^}/s/record->generation \|= ORRI_DEAD;/(void)0;/'
plant "owned handle not released" \
    src/schema/rows.c '/^void orri_rows_destruct/,/^}/s/orri_rows_release\(type, rows, count\);/(void)0;/'
plant "deleted cluster not seen to be stale" \
    src/store/cluster.c 's/slot->generation \+= was_visible;/(void)was_visible;/'
plant "reference to a dead entity accepted" \
    src/store/component.c '/^static orr_result component_check_value/,/^}/s/if \(rejected\.id != 0\)/if (false)/'
plant "type table not told of a grown block" \
    src/store/chunk.c '/^static bool chunk_grow/,/^}/s/orri_chunk_refresh\(chunk\);/(void)0;/'
plant "owned string that is gone accepted" \
    src/store/component.c 's/type->info\.has_owned && orri_value_owned_gone\(type, value, &field\)/false/'
plant "holders of index pages lost when the list grows" \
    src/store/index.c 's/index->metas\[i\]\.share->attached = &index->metas\[i\]\.share;/(void)0;/'
plant "far chunks forgotten when a table grows over them" \
    src/store/chunk.c '/^static bool chunk_table_grow/,/^}/s/chunk_table_catch_up\(world, table, old\);/(void)0;/'
plant "index pages of a refused creation kept" \
    src/store/entity.c 's/orri_index_trim\(world\);/(void)0;/'
plant "pinned values of the dead kept, on the short way" \
    src/store/world.h '/orri_index_kill_one/,/^}/s/world->pinned_live != 0/false/'
plant "pinned value ended before its listeners are told" \
    src/store/pool.c '/^static void pool_leave/,/^}/{s/orri_rows_destruct\(.*\);/(void)0;/;s/if \(world->listener\.pinned_changed/orri_rows_destruct(pool->type, orri_pool_at(pool, slot), 1);&/}'
plant "pinned slot given back with its enable bit off" \
    src/store/pool.c '/^static inline void pool_give_back/,/^}/s/orri_bit_set\(block->enabled, within, true\);/(void)0;/'
plant "pinned free slots not hashed" \
    src/store/pool_state.c 's/== ORRI_INDEX_NONE \? links\[done \+ i\] : 0/== ORRI_INDEX_NONE ? 0 : 0/'
plant "pinned values of a refused batch left behind" \
    src/store/pinned.c 's/while \(made-- > 0\)/while (false \&\& made-- > 0)/'
plant "pinned name kept in the look-up when its scope changes" \
    src/store/name.c '/^static void name_commit/,/^}/s/orri_name_leave\(world, slot1 - 1\);/(void)0;/'
plant "bytes past the last instance not cleared" \
    src/store/instance.c '/^static void instance_close_gap/,/^}/s/memset\(instance_value\(cell, last\).*;/(void)0;/'
plant "instance id 0 given after the wrap" \
    src/store/cell.c 's/while \(\*last == 0 \|\| /while (/'
plant "room not looked at before rows go to a smaller capacity" \
    src/store/cell.c '/^orr_result orri_cells_fit/,/^}/s/> room/> room + 1/'
plant "enable bits of instances stay when one before them goes" \
    src/store/instance.c '/^static void instance_close_gap/,/^}/s/cell->slot << shift\) \+ i \+ 1/cell->slot << shift) + i/'
plant "two clusters of a batch write to the same rows of their target" \
    src/store/batch.c 's/from->batch_base = to->row_count \+ to->batch_incoming;/from->batch_base = to->row_count;/'
plant "query text: words of a choice lost after its first member" \
    src/query/terms.c 's/own->first == NULL && shared != NULL \? shared : own/own/'
plant "query text: two choices with one number" \
    src/query/terms.c 's/while \(terms_group_used\(p, term->group\)\)/while (false \&\& terms_group_used(p, term->group))/'
plant "query text: printed without the word that resets a choice" \
    src/query/query_print.c 's/"read " : ""/"" : ""/'
plant "query text: caret one character to the left" \
    src/base/near.c 's/column - first \+ \(first > 0\)/column - first/'
plant "query explained by the wrong term" \
    src/query/explain.c 's/explain_term\(query, leaf, failed, cluster, out\)/explain_term(query, leaf, 0, cluster, out)/'
plant "reference not taken out when its value is overwritten" \
    src/store/relation.c '/^void orri_relation_set/,/^}/s/orri_link_cut\(element, index\);/(void)0;/'
plant "reference to a destroyed entity not cleared" \
    src/store/doom.c '/^static void doom_release/,/^}/s/bool clears = clear \|\| .*;/bool clears = clear;/'
plant "level of what dies together not in order" \
    src/store/doom.c 's/orri_entities_sort\(d->list \+ end, d->count - end\);/(void)0;/'
plant "second edge to a set shares the plan of the first" \
    src/store/plan.c 's/if \(plan != NULL \&\& plan->edge != 0\)/if (false)/'
plant "what a needed type needs forgotten" \
    src/store/needs.c '/^orr_result orri_needs_resolve/,/^}/s/i < list\.count/i < 1/'
plant "value of a bundle not counted" \
    src/store/items.c '/^static bool items_add_bundle/,/^}/s/orri_rows_retain\(.*\);/(void)0;/'
plant "match list not updated when a cluster appears" \
    src/query/listen.c '/^static bool listen_cluster_match/,/^}/s/!orri_entries_match\(query, cluster\)/false/'
plant "match list keeps a cluster that is gone" \
    src/query/entries.c '/^void orri_entries_drop/,/^}/s/entries_remove\(query, entry\);/(void)0;/'
plant "mask of enable bits off by one word" \
    src/query/match.c '/^static uint64_t match_bits_on/,/^}/s/return bits\[word\];/return bits[word - (word > 0)];/'
plant "subtractive term ignores enable bits" \
    src/query/match.c '/^static uint64_t match_rows_leaf/,/^}/s/rows \&= ~match_rows_presence\(.*\);/rows = 0;/'
plant "row of a multiple type counts as on by its first instance" \
    src/query/match.c '/^static uint64_t match_bits_on/,/^}/s/i < counts\[word \* 64 \+ row\]/i < 1/'
plant "working set not told of a removal" \
    src/store/pool.c '/^static void pool_leave/,/^}/s/world->listener\.pinned_changed\(world, pool, index\);/(void)0;/'
plant "working set keeps pointers to values it is not told of" \
    src/query/working.c '/^static bool working_keeps/,/^}/s/return false;/return query->fields[field].pinned;/'
plant "order not repaired when a chunk vanishes" \
    src/query/order.c 's/\*any = \*any \|\| chunks != order->chunk_count;/(void)chunks;/; s/any = !fresh \|\| order->entries_mark != query->changes/any = !fresh/'
plant "order not repaired when an instance is added" \
    src/query/order.c '/^static bool order_chunk_clean/,/^}/s/uint32_t c = chunk->cluster->type_count;/uint32_t c = chunk->column_count \/ 2;/'
plant "order repaired under an open loop" \
    src/query/order.c '/^static bool order_is_open/,/^}/s/return .*;/return false;/'
plant "ties of an order not by index" \
    src/query/order.c '/^static bool order_before/,/^}/s/: a->index < b->index/: a->index > b->index/'
plant "changed-since takes what was written before the mark" \
    src/query/iterate.c '/^static bool iterate_changed/,/^}/s/columns\[column\]\.version > it/columns[column].version >= it/'
plant "changed-since loses a whole cluster" \
    src/query/iterate.c '/^static bool iterate_cluster_changed/,/^}/s/\.version > it->each\.since/.version > it->each.since + 1/'
plant "list of runs kept when rows move" \
    src/query/list.c '/^void orri_lists_forget/,/^}/s/world->queries->structure\+\+;/(void)0;/'
plant "noted writes never stamped" \
    src/query/list.c '/^void orri_list_settle/,/^}/s/list_stamp\(.*\);/(void)tick, (void)version;/'
plant "group key not looked at when a cluster appears late" \
    src/query/entries.c '/^static bool entries_insert/,/^}/s/query->groups != NULL \|\| //'
plant "pairs once come twice where two queries overlap" \
    src/query/cross.c 's/if \(!cross->overlap \|\| !cross_mirrored\(cross\)\)/if (true)/'
plant "bulk change hands two clusters to one target" \
    src/query/bulk.c 's/ \&\& plan->to->batch_incoming == 0;/;/'
plant "capacity halved too early" \
    src/store/instance.c 's/\(cell\.count - 1\) \* 4 <= capacity/(cell.count - 1) * 2 <= capacity/'
plant "order of instances lost on removal" \
    src/store/instance.c '/^static void instance_close_gap/,/^}/s/for \(uint32_t i = gap; i < last; i\+\+\) \{/for (uint32_t i = gap; i < last; i = last) {/; /^static void instance_close_gap/,/^}/s/instance_value\(cell, i \+ 1\), 1/instance_value(cell, last), 1/; /^static void instance_close_gap/,/^}/s/cell->ids\[i \+ 1\]/cell->ids[last]/'
plant "name found after its entity is gone" \
    src/store/pool.c '/^static void pool_leave/,/^}/s/orri_name_leave\(world, slot\);/(void)0;/'
plant "clearing skips an element of an array" \
    src/store/doom.c '/^static void doom_release/,/^}/s/clears \&\& !doom_clear/clears \&\& e != 1 \&\& !doom_clear/'
plant "handed over chunks take the wrong column along" \
    src/store/relink.c '/^static int32_t relink_source_column/,/^}/s/return r->plan->kept\[i\]\.from;/return r->plan->kept[i].from + (to_column > to->type_count + 2) * -2;/'
plant "change set fills one gap too many" \
    src/store/shift.c '/^static void shift_fill/,/^}/s/row < cluster->row_count/row <= cluster->row_count/'
plant "links of a refused change set stay" \
    src/store/links.c '/^void orri_change_unlink/,/^}/s/if \(c->linked\)/if (false)/'
plant "change set takes what is needed" \
    src/store/aim.c '/^static bool aim_keep_needed/,/^}/s/dependent\.index1 == 0/true/'
plant "id that was skipped lost from the free list" \
    src/store/index_ahead.c '/^static void ahead_link/,/^}/s/\(record->generation & ORRI_DEAD\) != 0/false/'
plant "change set gives pinned values when its dead have lost theirs" \
    src/store/shift.c '/^void orri_change_make/,/^}/{s/orri_change_make_extras\(c\);/(void)0;/;s/shift_close\(c\);/shift_close(c);orri_change_make_extras(c);/}'
plant "refused bundle leaves its pinned values behind" \
    src/store/rest.c '/^static void rest_unmake\(/,/^}/s/rest_unmake_pinned\(rest, i, rest->rows\);/(void)0;/'
plant "message to a reader that selects only some of the rows" \
    src/message/tell_piece.c 's/\*same = \*same && orri_set_equal\(/*same = *same || orri_set_equal(/'
plant "what was told of the dead stays" \
    src/message/tell_dead.c 's/orri_bits_fill\(told->on\[r\]->members\.words, run->index, run->count, false\);/(void)0;/'
plant "text in a message not counted" \
    src/message/message_batch.c 's/orri_rows_retain\(batch->type, m->values, m->count\);/(void)0;/'
plant "pinned value that went not told" \
    src/message/tell_cells.c 's/\(old == ORRI_INDEX_NONE \|\| old == now \|\| cells_suspect_one\(tell, old, true\)\)/true/'

# Messages and systems.
plant "events sent during a run are skipped" \
    src/message/inbox.c '/^static void inbox_advance/,/^}/s/cursor->at = cursor->shown;/cursor->at = orri_event_end(queue);/'
plant "events dropped before the slowest has read them" \
    src/message/event.c '/^void orri_event_trim/,/^}/s/cursor->at < least \? cursor->at : least/cursor->at < least \&\& i > 0 ? cursor->at : least/'
plant "padding of events kept" \
    src/message/event.c '/^void orri_events_append/,/^}/s/orri_rows_clean\(queue->info, to, count\);/(void)0;/'
plant "switched on reader gets what was sent before" \
    src/message/inbox.c '/^void orri_inbox_enable/,/^}/s/cursor->at = orri_event_end\(queue\);/cursor->at = queue->base;/'
plant "half an event at the end of a trace" \
    src/schedule/trace.c '/^ORRI_COLD static void trace_fail/,/^}/s/trace->offset\);/trace->offset + trace->used \/ 2);/'
plant "journal forgets the newest when it is resized" \
    src/schedule/journal.c '/^static bool journal_resize/,/^}/s/journal_at\(journal, count - 1 - i\)/journal_at(journal, journal->count - 1 - i)/'
plant "order of sending lost between strips" \
    src/message/merge.c 's/: orri_strip_sequence\(strip, row\)\)/: row)/'
plant "second mention of an entity not seen" \
    src/message/marks.c 's/again = \(old & w->bits\) \| w->again/again = w->again/'
plant "changes do not wait for structure" \
    src/message/values.c 's/marks = w->lanes->marks_any \? w->lanes->seen : NULL/marks = NULL/'
plant "provisional id taken for one of another run" \
    src/message/net.c 's/found->lane == \(fresh \? lane : NULL\)/true/'
plant "stale id taken for its successor in a commit" \
    src/message/net.c 's/!there \|\| r\.strip->entities\[r\.row\]\.id != net->entity\.id/!there/'
plant "what a refused commit dropped is counted again" \
    src/message/commit.c 's/lane->note = \(orri_lane_note\)\{0\};//'
plant "commit point placed for required terms alone" \
    src/schedule/points.c '/^static bool points_names/,/^}/s/if \(leaf->terms\[i\]\.type\.index1 != 0/if (leaf->terms[i].kind == ORR_REQUIRED \&\& leaf->terms[i].type.index1 != 0/'
plant "system that was refused to go on runs again" \
    src/schedule/tick.c '/^static orr_result tick_go/,/^}/s/world->iterating = 1;/world->iterating = 1, schedule->phase = 0;/'
plant "tables of a system seen by those after it" \
    src/store/guard.c '/^void orri_guard_leave/,/^}/s/world->hot\.tables = world->tables;/(void)0;/'
plant "structure changed inside a system, where nothing would happen" \
    src/store/component.c 's/ORRI_EDGE_ADD\) && ORR_LIKELY\(world->guard == NULL\)/ORRI_EDGE_ADD)/'
plant "events sent by callbacks lost" \
    src/schedule/tick.c 's/schedule->renewed \? tick_called_back\(world\) : ORR_OK/ORR_OK/'
plant "half a tell handed out when the rest is refused" \
    src/message/tell.c '/^static void tell_end/,/^}/s/done \|\| tell->world->busy == NULL/true/'
plant "remainder of time forgotten" \
    src/schedule/tick.c 's/schedule->debt_ns %= interval_ns;/schedule->debt_ns = 0;/'
plant "large angle reduced by digits of pi one too far" \
    src/base/math_circle.c 's/- 1075 \+ 62;/- 1075 + 63;/'
plant "what is no number passes through exp" \
    src/base/math_power.c '/^ORRI_ASIDE static double power_end\(/,/^}/s/x != x \? orri_math_nan\(\)/x != x ? x/'
plant "odd power of a negative number taken for an even one" \
    src/base/math_power.c 's/\(y_bits & unit\) != 0 \? 1 : 2/(y_bits \& unit) != 0 ? 2 : 2/'
plant "digits of the logarithm's polynomial cut off" \
    src/base/math_power.c 's/0x1\.99999999a3b1ep-3/0x1.9999p-3/'

# ---- planting ------------------------------------------------------------------------------------------

# Applies one plant to a fresh copy of the source and compiles what changed.
apply() { # name, pairs…
    local name=$1 header='' changed=()
    shift
    rm -rf "$work/tree" "$work/objects"
    mkdir "$work/tree"
    cp -r src include tests scenarios "$work/tree"
    cp -r "$work/base" "$work/objects"
    while [ $# -gt 0 ]; do
        sed -i -E "$2" "$work/tree/$1"
        if cmp -s "$1" "$work/tree/$1"; then
            complain "$name: the plant no longer applies to $1"
            return 1
        fi
        case $1 in
        *.h) header=1 ;;
        *) changed+=("$1") ;;
        esac
        shift 2
    done
    if [ -n "$header" ]; then
        # shellcheck disable=SC2086
        compile "$work/tree" "$work/objects" $library $shared $tests
    else
        compile "$work/tree" "$work/objects" "${changed[@]}"
    fi || {
        complain "$name: does not compile"
        return 1
    }
}

wanted() {
    local name=$1 word
    shift
    for word in "$@"; do
        [[ $name != *"$word"* ]] || return 0
    done
    [ $# -eq 0 ]
}

# shellcheck disable=SC2086
compile . "$work/base" $library $shared $tests
sound=$(run_tests "$work/base")
if [ -n "$sound" ]; then
    printf '%s\n' "$sound"
    complain "without any plant, tests fail already"
    finish
fi

count=0
for entry in "${plants[@]}"; do
    IFS=$'\037' read -r -d '' -a words <<<"$entry" || true
    words[-1]=${words[-1]%$'\n'}
    [ -n "${words[-1]}" ] || unset 'words[-1]'
    wanted "${words[0]}" "$@" || continue
    apply "${words[@]}" || continue
    found=$(run_tests "$work/objects")
    if [ -z "$found" ]; then
        complain "${words[0]}: no test fails"
        continue
    fi
    count=$((count + 1))
    echo "${words[0]}: caught by $(wc -l <<<"$found") tests"
    sed 's/^/    /' <<<"$found" | head -n 6
done
finish "$count planted bugs, each caught"
