// SPDX-License-Identifier: MIT
// The limits. Each is the plainest known loop that does the work and keeps ids checkable.
#include "raw_limit.h"
#include <string.h>

// ---- loops over columns -------------------------------------------------------------------------

RAW_LIMIT void raw_move_1(Position* p, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        p[i].x += 1.0f;
        p[i].y += 1.0f;
    }
}

RAW_LIMIT void raw_move_2(Position* restrict p, const Velocity* restrict v, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        p[i].x += v[i].x;
        p[i].y += v[i].y;
    }
}

RAW_LIMIT void raw_move_5(Position* restrict p, Velocity* restrict v,
                          const Acceleration* restrict a, Health* restrict h, Data* restrict d,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        v[i].x += a[i].x;
        v[i].y += a[i].y;
        p[i].x += v[i].x;
        p[i].y += v[i].y;
        h[i].value += 0.5f;
        d[i].count += 1;
        d[i].sum += 0.25;
    }
}

RAW_LIMIT void raw_frame_move(Position* restrict p, const Velocity* restrict v, float dt,
                              uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        p[i].x += v[i].x * dt;
        p[i].y += v[i].y * dt;
    }
}

RAW_LIMIT void raw_frame_data(Data* d, float dt, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        d[i].count += 1;
        d[i].sum += 0.0001 * (double)dt;
    }
}

RAW_LIMIT void raw_frame_steer(Velocity* restrict v, const Data* restrict d,
                               const Position* restrict p, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bool turn = (d[i].count & 7) == 0;
        v[i].x = turn ? v[i].x - p[i].x * 0.001f : v[i].x;
        v[i].y = turn ? v[i].y - p[i].y * 0.001f : v[i].y;
    }
}

RAW_LIMIT void raw_frame_life(Life* life, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bool dead = life[i].hp <= 0;
        life[i].hp = dead ? life[i].most : life[i].hp;
        life[i].status = dead ? 2 : life[i].hp < life[i].most ? 1 : 0;
    }
}

RAW_LIMIT void raw_frame_harm(Life* restrict life, const Harm* restrict harm, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        int32_t damage = harm[i].attack - harm[i].defence;
        life[i].hp -= damage > 0 ? damage : 0;
    }
}

RAW_LIMIT void raw_frame_sprite(Sprite* restrict sprite, const Life* restrict life, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sprite[i].glyph = '@' + life[i].status;
    }
}

RAW_LIMIT void raw_frame_draw(uint32_t* restrict picture, const Position* restrict p,
                              const Sprite* restrict sprite, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t cell = (uint32_t)(int32_t)p[i].x & (RAW_PICTURE - 1);
        picture[cell] += sprite[i].glyph;
    }
}

RAW_LIMIT uint32_t raw_near(Position a, const Position* b, uint32_t count)
{
    uint32_t near = 0;
    for (uint32_t i = 0; i < count; i++) {
        float x = b[i].x - a.x, y = b[i].y - a.y;
        near += x * x + y * y < 1.0f;
    }
    return near;
}

RAW_LIMIT uint32_t raw_match(const raw_signature* signatures, uint32_t count, raw_signature wanted,
                             uint32_t* restrict out)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        if ((signatures[i].words[0] & wanted.words[0]) == wanted.words[0] &&
            (signatures[i].words[1] & wanted.words[1]) == wanted.words[1]) {
            out[found++] = i;
        }
    }
    return found;
}

RAW_LIMIT uint32_t raw_newer(const uint64_t* versions, uint32_t count, uint64_t since)
{
    uint32_t newer = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (versions[i] > since) {
            newer++;
        }
    }
    return newer;
}

RAW_LIMIT float raw_sum_4(const Spot* spots, uint32_t count, float sum)
{
    for (uint32_t i = 0; i < count; i++) {
        float mine = 0;
        for (uint32_t k = 0; k < 4; k++) {
            mine += spots[(size_t)i * 4 + k].x;
        }
        sum += mine;
    }
    return sum;
}

RAW_LIMIT void raw_move_spans(const raw_span* spans, uint32_t span_count)
{
    for (uint32_t s = 0; s < span_count; s++) {
        Position* p = spans[s].positions;
        uint32_t count = spans[s].count;
        for (uint32_t i = 0; i < count; i++) {
            p[i].x += 1.0f;
            p[i].y += 1.0f;
        }
    }
}

// ---- creating and destroying --------------------------------------------------------------------

RAW_LIMIT void raw_create_empty(raw_record* restrict records, uint64_t* restrict ids,
                                uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        records[i] = (raw_record){i, 1};
        ids[i] = raw_id(i, 1);
    }
}

RAW_LIMIT void raw_create_2(raw_store* raw, uint64_t* restrict ids, uint32_t count)
{
    raw_record* restrict records = raw->records;
    Position* restrict p = raw->tables[0].positions;
    Velocity* restrict v = raw->tables[0].velocities;
    for (uint32_t i = 0; i < count; i++) {
        records[i] = (raw_record){i, 1};
        ids[i] = raw_id(i, 1);
        p[i] = (Position){(float)i, 1.0f};
        v[i] = (Velocity){1.0f, 2.0f};
    }
    raw->tables[0].count = count;
}

RAW_LIMIT void raw_create_2_bulk(raw_store* raw, const raw_record* records, const Position* p,
                                 const Velocity* v, const uint64_t* ids, uint64_t* out,
                                 uint32_t count)
{
    memcpy(raw->tables[0].positions, p, sizeof *p * count);
    memcpy(raw->tables[0].velocities, v, sizeof *v * count);
    memcpy(raw->records, records, sizeof *records * count);
    memcpy(out, ids, sizeof *ids * count);
    raw->tables[0].count = count;
}

RAW_LIMIT uint32_t raw_destroy(raw_store* raw, const uint64_t* ids, uint32_t count)
{
    raw_record* records = raw->records;
    raw_table t = raw->tables[0]; // A copy, so that counts and pointers stay in registers.
    uint32_t free = raw->free, before = t.count;
    for (uint32_t i = 0; i < count; i++) {
        raw_record* record = &records[(uint32_t)ids[i]];
        if (!raw_alive(record, ids[i])) {
            continue;
        }
        uint32_t row = record->row;
        uint32_t last = --t.count;
        t.positions[row] = t.positions[last];
        t.velocities[row] = t.velocities[last];
        uint32_t owner = t.owners[last];
        t.owners[row] = owner;
        records[owner].row = row;
        *record = (raw_record){free, record->generation + 1};
        free = (uint32_t)ids[i];
    }
    raw->free = free;
    raw->tables[0].count = t.count;
    return before - t.count;
}

RAW_LIMIT void raw_free_records(raw_store* raw)
{
    raw_record* restrict records = raw->records;
    const uint32_t* restrict owners = raw->tables[0].owners;
    uint32_t free = raw->free, count = raw->tables[0].count;
    for (uint32_t i = 0; i < count; i++) {
        raw_record* record = &records[owners[i]];
        *record = (raw_record){free, record->generation + 1};
        free = owners[i];
    }
    raw->free = free;
    raw->tables[0].count = 0;
}

// ---- changing -----------------------------------------------------------------------------------

RAW_LIMIT uint32_t raw_add(raw_store* raw, const uint64_t* ids, uint32_t count)
{
    raw_record* records = raw->records;
    raw_table from = raw->tables[0], to = raw->tables[1];
    for (uint32_t i = 0; i < count; i++) {
        raw_record* record = &records[(uint32_t)ids[i]];
        if (!raw_alive(record, ids[i]) || (record->row & RAW_TABLE_BIT) != 0) {
            continue;
        }
        to.healths[to.count] = (Health){0};
        raw_row_move(records, &from, &to, record->row, 0, RAW_TABLE_BIT);
    }
    uint32_t done = to.count - raw->tables[1].count;
    raw->tables[0].count = from.count;
    raw->tables[1].count = to.count;
    return done;
}

RAW_LIMIT uint32_t raw_add_noted(raw_store* raw, const uint64_t* ids, uint64_t* restrict noted,
                                 Health* restrict values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        noted[i] = ids[i];
        values[i] = (Health){(float)i};
    }
    raw_record* records = raw->records;
    raw_table from = raw->tables[0], to = raw->tables[1];
    for (uint32_t i = 0; i < count; i++) {
        raw_record* record = &records[(uint32_t)noted[i]];
        if (!raw_alive(record, noted[i]) || (record->row & RAW_TABLE_BIT) != 0) {
            continue;
        }
        to.healths[to.count] = values[i];
        raw_row_move(records, &from, &to, record->row, 0, RAW_TABLE_BIT);
    }
    uint32_t done = to.count - raw->tables[1].count;
    raw->tables[0].count = from.count;
    raw->tables[1].count = to.count;
    return done;
}

// One pass of a radix sort by `bits` bits of the index, starting at bit `shift`. `counts` holds the
// number of items of each digit.
static void raw_radix_pass(raw_note* restrict to, const raw_note* restrict from, uint32_t count,
                           uint32_t* counts, uint32_t shift, uint32_t bits)
{
    uint32_t at = 0, mask = (1u << bits) - 1;
    for (uint32_t d = 0; d <= mask; d++) {
        uint32_t n = counts[d];
        counts[d] = at;
        at += n;
    }
    for (uint32_t i = 0; i < count; i++) {
        to[counts[(uint32_t)from[i].id >> shift & mask]++] = from[i];
    }
}

RAW_LIMIT uint32_t raw_transact(raw_store* raw, const uint64_t* targets, const float* amounts,
                                uint32_t count, raw_note* restrict notes, raw_note* restrict sorted,
                                uint32_t bits)
{
    static uint32_t low[1 << 16], high[1 << 16];
    uint32_t half = (bits + 1) / 2, mask = (1u << half) - 1;
    for (uint32_t d = 0; d <= mask; d++) {
        low[d] = high[d] = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        notes[i] = (raw_note){targets[i], amounts[i]};
        low[(uint32_t)targets[i] & mask]++;
        high[(uint32_t)targets[i] >> half & mask]++;
    }
    raw_radix_pass(sorted, notes, count, low, 0, half);
    raw_radix_pass(notes, sorted, count, high, half, half);
    const raw_record* records = raw->records;
    Position* positions = raw->tables[0].positions;
    uint32_t done = 0;
    for (uint32_t i = 0; i < count; i++) {
        const raw_record* record = &records[(uint32_t)notes[i].id];
        if (raw_alive(record, notes[i].id)) {
            positions[record->row].x += notes[i].amount;
            done++;
        }
    }
    return done;
}

RAW_LIMIT uint32_t raw_remove(raw_store* raw, const uint64_t* ids, uint32_t count)
{
    raw_record* records = raw->records;
    raw_table from = raw->tables[1], to = raw->tables[0];
    for (uint32_t i = 0; i < count; i++) {
        raw_record* record = &records[(uint32_t)ids[i]];
        if (!raw_alive(record, ids[i]) || (record->row & RAW_TABLE_BIT) == 0) {
            continue;
        }
        uint32_t row = record->row & ~RAW_TABLE_BIT;
        from.healths[row] = from.healths[from.count - 1];
        raw_row_move(records, &from, &to, row, RAW_TABLE_BIT, 0);
    }
    uint32_t done = to.count - raw->tables[0].count;
    raw->tables[1].count = from.count;
    raw->tables[0].count = to.count;
    return done;
}

RAW_LIMIT uint32_t raw_sparse_add(raw_store* raw, const uint64_t* ids, uint32_t count)
{
    const raw_record* records = raw->records;
    uint32_t *sparse = raw->sparse, *owners = raw->dense_owners, dense = raw->dense_count;
    Anchor* values = raw->dense_values;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = (uint32_t)ids[i];
        if (raw_alive(&records[index], ids[i]) && sparse[index] == RAW_NONE) {
            sparse[index] = dense;
            owners[dense] = index;
            values[dense] = (Anchor){0};
            dense++;
        }
    }
    uint32_t done = dense - raw->dense_count;
    raw->dense_count = dense;
    return done;
}

RAW_LIMIT uint32_t raw_sparse_remove(raw_store* raw, const uint64_t* ids, uint32_t count)
{
    const raw_record* records = raw->records;
    uint32_t *sparse = raw->sparse, *owners = raw->dense_owners, dense = raw->dense_count;
    Anchor* values = raw->dense_values;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = (uint32_t)ids[i];
        if (raw_alive(&records[index], ids[i]) && sparse[index] != RAW_NONE) {
            uint32_t at = sparse[index], last = --dense;
            values[at] = values[last];
            owners[at] = owners[last];
            sparse[owners[at]] = at;
            sparse[index] = RAW_NONE;
        }
    }
    uint32_t done = raw->dense_count - dense;
    raw->dense_count = dense;
    return done;
}

RAW_LIMIT uint32_t raw_toggle(raw_store* raw, const uint64_t* ids, uint32_t count, bool on)
{
    const raw_record* records = raw->records;
    uint64_t* bits = raw->bits;
    uint32_t done = 0;
    for (uint32_t i = 0; i < count; i++) {
        const raw_record* record = &records[(uint32_t)ids[i]];
        if (!raw_alive(record, ids[i])) {
            continue;
        }
        uint64_t bit = (uint64_t)1 << (record->row & 63);
        uint64_t* word = &bits[record->row >> 6];
        *word = on ? *word | bit : *word & ~bit;
        done++;
    }
    return done;
}

RAW_LIMIT uint32_t raw_apply_spots(const raw_record* records, const uint64_t* ids,
                                   const Spot3* restrict values, uint32_t count,
                                   Spot3* restrict column)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < count; i++) {
        const raw_record* record = &records[(uint32_t)ids[i]];
        if (raw_alive(record, ids[i])) {
            column[record->row] = values[i];
            done++;
        }
    }
    return done;
}

RAW_LIMIT uint32_t raw_apply_turns(const raw_record* records, const uint64_t* ids,
                                   const Turn* restrict values, uint32_t count,
                                   Turn* restrict column)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < count; i++) {
        const raw_record* record = &records[(uint32_t)ids[i]];
        if (raw_alive(record, ids[i])) {
            column[record->row] = values[i];
            done++;
        }
    }
    return done;
}

RAW_LIMIT void raw_copy_columns(const raw_table* from, raw_table* to, uint32_t count)
{
    memcpy(to->positions, from->positions, sizeof *to->positions * count);
    memcpy(to->velocities, from->velocities, sizeof *to->velocities * count);
}

// ---- access by id -------------------------------------------------------------------------------

RAW_LIMIT float raw_get(const raw_store* raw, const uint64_t* ids, uint32_t count)
{
    const raw_record* records = raw->records;
    const Position* p = raw->tables[0].positions;
    float sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const raw_record* record = &records[(uint32_t)ids[i]];
        if (raw_alive(record, ids[i])) {
            sum += p[record->row].x;
        }
    }
    return sum;
}

RAW_LIMIT float raw_sparse_get(const raw_store* raw, const uint64_t* ids, uint32_t count)
{
    const raw_record* records = raw->records;
    const uint32_t* sparse = raw->sparse;
    const Anchor* values = raw->dense_values;
    float sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = (uint32_t)ids[i];
        if (raw_alive(&records[index], ids[i]) && sparse[index] != RAW_NONE) {
            sum += values[sparse[index]].value;
        }
    }
    return sum;
}

RAW_LIMIT uint32_t raw_set(raw_store* raw, const uint64_t* ids, const Position* values,
                           uint32_t count)
{
    const raw_record* records = raw->records;
    Position* p = raw->tables[0].positions;
    uint32_t done = 0;
    for (uint32_t i = 0; i < count; i++) {
        const raw_record* record = &records[(uint32_t)ids[i]];
        if (raw_alive(record, ids[i])) {
            p[record->row] = values[i];
            done++;
        }
    }
    return done;
}

// ---- not timed ----------------------------------------------------------------------------------

void raw_fill(raw_store* raw, const Position* p, const Velocity* v, uint64_t* ids, uint32_t count)
{
    raw_table* t = &raw->tables[0];
    for (uint32_t i = 0; i < count; i++) {
        raw->records[i] = (raw_record){i, 1};
        t->owners[i] = i;
        t->positions[i] = p[i];
        t->velocities[i] = v[i];
        ids[i] = raw_id(i, 1);
    }
    t->count = count;
    raw->tables[1].count = 0;
    raw->free = RAW_NONE;
}

uint64_t raw_digest(const Position* p, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &p[i], sizeof bits);
        bits *= 0x9E3779B97F4A7C15u;
        sum += (bits ^ bits >> 32) * 0xD6E8FEB86659FD93u; // A sum does not depend on the order.
    }
    return sum;
}

uint64_t raw_store_digest(const raw_store* raw)
{
    return raw_digest(raw->tables[0].positions, raw->tables[0].count) +
           raw_digest(raw->tables[1].positions, raw->tables[1].count);
}
