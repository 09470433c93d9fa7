// SPDX-License-Identifier: MIT
// Rollback netcode, both ends of it in one program: two peers, each with a world of its own, exchange only what their players press, over a line
// that delays, reorders and loses packets. Neither waits for the other: who has not heard yet guesses that the other still presses what it
// pressed last, and when it turns out otherwise goes back to that tick and runs again. After 10,000 ticks both worlds had the same hash after
// every one of them. docs/ROLLBACK.md explains it.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>
#include <string.h>

enum {
    TICKS = 10000,
    DELAY = 2,   // ticks between pressing and acting, so that most packets come in time
    AHEAD = 30,  // how far a peer runs ahead of what it knows of the other before it waits
    LAG_MIN = 2, // ticks a packet is under way
    LAG_MAX = 9,
    LOSS = 15, // packets of 100 that never arrive
};

// ---- the game: what both worlds run -------------------------------------------------------------------------------------------

ORR_STRUCT(Position, (float, x), (float, y))
ORR_STRUCT(Velocity, (float, x), (float, y))
ORR_STRUCT(Pilot, (uint32_t, number), (uint32_t, keys), (uint32_t, reload), (uint32_t, hits))
ORR_STRUCT(Bullet, (uint32_t, owner), (uint32_t, ticks_left))

enum {
    KEY_LEFT = 1,
    KEY_RIGHT = 2,
    KEY_FIRE = 4
};

static void fly(orr_run* run)
{
    Pilot* pilot = orr_write(run, Pilot);
    Velocity* v = orr_write(run, Velocity);
    const Position* p = orr_read(run, Position);
    for (uint32_t i = 0; i < run->count; i++) {
        v[i].x += (float)((pilot[i].keys & KEY_RIGHT) != 0) -
                  (float)((pilot[i].keys & KEY_LEFT) != 0);
        v[i].x *= 0.9f;
        pilot[i].reload -= pilot[i].reload > 0;
        if ((pilot[i].keys & KEY_FIRE) != 0 && pilot[i].reload == 0) {
            pilot[i].reload = 6;
            float spread = (float)(orr_run_random(run, orr_iter_entity(run, i)) % 100) / 100 - 0.5f;
            orr_entity bullet = orr_send_create(run);
            orr_send_add(run, bullet, Position, {p[i].x, p[i].y});
            orr_send_add(run, bullet, Velocity, {spread, pilot[i].number == 0 ? 4 : -4});
            orr_send_add(run, bullet, Bullet, {pilot[i].number, 60});
        }
    }
}

static void move(orr_run* run)
{
    Position* p = orr_write(run, Position);
    const Velocity* v = orr_read(run, Velocity);
    for (uint32_t i = 0; i < run->count; i++) {
        p[i].x += v[i].x;
        p[i].y += v[i].y;
        p[i].x = p[i].x > 50 ? p[i].x - 100 : p[i].x < -50 ? p[i].x + 100 : p[i].x;
    }
}

static void hit(orr_run* run) // each bullet looks at both ships
{
    Bullet* bullet = orr_write(run, Bullet);
    const Position* p = orr_read(run, Position);
    const orr_entity* ships = orr_run_settings(run);
    for (uint32_t i = 0; i < run->count; i++) {
        orr_entity target = ships[1 - bullet[i].owner];
        const Position* at = orr_get(run->world, target, Position);
        float dx = p[i].x - at->x, dy = p[i].y - at->y;
        bool struck = dx * dx + dy * dy < 16;
        if (struck) {
            orr_transact(run, ORR_OP_ADD, target, Pilot, hits, 1);
        }
        if (struck || --bullet[i].ticks_left == 0) {
            orr_send_destroy(run, orr_iter_entity(run, i));
        }
    }
}

// ---- a peer -------------------------------------------------------------------------------------------------------------------

typedef struct peer {
    uint32_t number;
    orr_world* world;
    orr_entity ships[2];
    uint8_t keys[2][TICKS + AHEAD +
                    1];    // what each player pressed, or is thought to have pressed, by tick
    uint32_t known;        // ticks of the other's keys that have been heard of
    uint32_t acknowledged; // ticks of our keys that the other is known to have
    float lead;            // ticks we are ahead of what we hear of the other, smoothed
    float their_lead;      // what the other thinks it is ahead of us
    uint64_t hashes[TICKS + 1];
    uint32_t rollbacks, rerun, waited, longest;
} peer;

static void peer_begin(peer* me, uint32_t number)
{
    *me = (peer){.number = number, .known = DELAY, .acknowledged = DELAY};
    me->world = orr_world_create(&(orr_world_desc){.rate_hz = 60, .seed = 7});
    orr_type_of(me->world, ORR_TYPE(Bullet));
    orr_system_add(me->world, &(orr_system_desc){.name = "fly",
                                                 .query = "write Pilot, write Velocity, Position",
                                                 .run = fly,
                                                 .creates = "Position, Velocity, Bullet"});
    orr_system_add(
        me->world,
        &(orr_system_desc){.name = "move", .query = "write Position, Velocity", .run = move});
    orr_system_add(me->world, &(orr_system_desc){.name = "hit",
                                                 .query = "write Bullet, Position",
                                                 .by_id = "Position",
                                                 .transacts = "Pilot",
                                                 .destroys = "Bullet",
                                                 .settings = me->ships,
                                                 .run = hit});
    for (uint32_t i = 0; i < 2; i++) {
        me->ships[i] = orr_create(me->world);
        orr_set(me->world, me->ships[i], Position, {0, i == 0 ? -40 : 40});
        orr_set(me->world, me->ships[i], Velocity, {0, 0});
        orr_set(me->world, me->ships[i], Pilot, {.number = i});
    }
    // Each tick is remembered as it ends: what that costs is what the tick changed.
    orr_history_set(me->world, &(orr_history_desc){.recent = AHEAD + 1});
}

static void peer_tick(peer* me, uint32_t tick)
{
    for (uint32_t i = 0; i < 2; i++) {
        Pilot* pilot = orr_edit(me->world, me->ships[i], Pilot);
        pilot->keys = me->keys[i][tick];
    }
    orr_step(me->world, 1);
    me->hashes[tick] = orr_world_hash(me->world);
}

// The other's keys up to tick `last` are these. Goes back if it was thought otherwise.
static void peer_hear(peer* me, uint32_t first, uint32_t last, const uint8_t* keys)
{
    uint8_t* theirs = me->keys[1 - me->number];
    uint32_t now = (uint32_t)orr_world_tick(me->world), wrong = 0;
    for (uint32_t tick = me->known + 1; tick <= last; tick++) {
        uint8_t pressed = keys[tick - first];
        if (wrong == 0 && tick <= now && theirs[tick] != pressed) {
            wrong = tick;
        }
        theirs[tick] = pressed;
    }
    me->known = last > me->known ? last : me->known;
    for (uint32_t tick = me->known + 1; tick <= now; tick++) {
        wrong = wrong == 0 && theirs[tick] != theirs[me->known] ? tick : wrong;
        theirs[tick] = theirs[me->known]; // guessed anew
    }
    if (wrong != 0) {
        orr_time_travel(me->world, wrong - 1);
        for (uint32_t tick = wrong; tick <= now; tick++) {
            peer_tick(me, tick);
        }
        me->rollbacks++;
        me->rerun += now - wrong + 1;
        me->longest = now - wrong + 1 > me->longest ? now - wrong + 1 : me->longest;
    }
}

// ---- the line between them ----------------------------------------------------------------------------------------------------

typedef struct packet {
    uint32_t arrives, to;
    uint32_t first, last;  // ticks whose keys it has
    uint32_t acknowledges; // ticks of the receiver's keys that the sender has
    float lead;            // the sender's
    uint8_t keys[64];
} packet;

typedef struct line {
    packet packets[256];
    uint32_t count, lost, sent;
} line;

static uint32_t chance(uint32_t below) // the weather, the same in each run
{
    static uint64_t drawn;
    return (uint32_t)(orr_random(99, drawn++, 0, 0) % below);
}

// Everything the other may not have yet goes into every packet: so a lost one costs nothing but time.
static void line_send(line* between, peer* me, uint32_t now, uint32_t pressed)
{
    between->sent++;
    if (chance(100) < LOSS || between->count == 256) {
        between->lost++;
        return;
    }
    packet* p = &between->packets[between->count++];
    *p = (packet){.arrives = now + LAG_MIN + chance(LAG_MAX - LAG_MIN + 1),
                  .to = 1 - me->number,
                  .first = me->acknowledged + 1,
                  .last = pressed,
                  .acknowledges = me->known,
                  .lead = me->lead};
    if (p->last - p->first >= sizeof p->keys) {
        p->last = p->first + (uint32_t)sizeof p->keys - 1;
    }
    memcpy(p->keys, &me->keys[me->number][p->first], p->last - p->first + 1);
}

static void line_deliver(line* between, peer* peers, uint32_t now)
{
    for (uint32_t i = 0; i < between->count;) {
        packet p = between->packets[i];
        if (p.arrives > now) {
            i++;
            continue;
        }
        between->packets[i] = between->packets[--between->count];
        peer* me = &peers[p.to];
        me->acknowledged = p.acknowledges > me->acknowledged ? p.acknowledges : me->acknowledged;
        me->lead += ((float)orr_world_tick(me->world) + DELAY - (float)p.last - me->lead) / 16;
        me->their_lead = p.lead;
        if (p.first <= me->known + 1 && p.last > me->known) {
            peer_hear(me, p.first, p.last, p.keys);
        }
    }
}

// ---- both together ------------------------------------------------------------------------------------------------------------

// Who is ahead hears of everything later, and would go back for both. How long packets take is in what either sees of the other: not in the difference.
// Who is ahead waits for a tick, once a second at most: nobody notices.
static bool peer_early(const peer* me, uint32_t now)
{
    return now % 60 == 59 && me->lead - me->their_lead > 2;
}

static void peer_frame(peer* me, line* between, uint32_t now)
{
    uint32_t tick = (uint32_t)orr_world_tick(me->world) + 1;
    if (tick <= TICKS && tick <= me->known + AHEAD && !peer_early(me, now)) {
        uint8_t* mine = me->keys[me->number];
        uint8_t last = mine[tick + DELAY - 1];
        mine[tick + DELAY] = chance(8) == 0 ? (uint8_t)chance(8)
                                            : last; // what the player presses now
        uint8_t* theirs = me->keys[1 - me->number];
        if (tick > me->known) {
            theirs[tick] = theirs[me->known];
        }
        peer_tick(me, tick);
    } else if (tick <= TICKS) {
        me->waited++;
    }
    line_send(between, me, now, (uint32_t)orr_world_tick(me->world) + DELAY);
}

int main(void)
{
    static peer peers[2];
    static line between;
    peer_begin(&peers[0], 0);
    peer_begin(&peers[1], 1);
    uint32_t now = 0;
    for (; peers[0].known < TICKS || peers[1].known < TICKS || now < TICKS; now++) {
        line_deliver(&between, peers, now);
        peer_frame(&peers[0], &between, now);
        if (now >= 5) { // the other was started a little later
            peer_frame(&peers[1], &between, now);
        }
    }
    uint32_t agree = 0;
    while (agree < TICKS && peers[0].hashes[agree + 1] == peers[1].hashes[agree + 1]) {
        agree++;
    }
    for (uint32_t i = 0; i < 2; i++) {
        const peer* me = &peers[i];
        orr_history_stats stats;
        orr_history_stats_get(me->world, &stats);
        printf("peer %" PRIu32 ": went back %" PRIu32 " times, ran %" PRIu32
               " ticks again (at most %" PRIu32 "), waited %" PRIu32 ", was hit %" PRIu32
               " times\n",
               i, me->rollbacks, me->rerun, me->longest, me->waited,
               orr_get(me->world, me->ships[i], Pilot)->hits);
    }
    printf("%" PRIu32 " packets, %" PRIu32 " lost\n", between.sent, between.lost);
    printf("%s: the same hash after each of %" PRIu32 " ticks\n",
           agree == TICKS ? "agreed" : "DIFFERENT", agree);
    orr_world_destroy(peers[0].world);
    orr_world_destroy(peers[1].world);
    return agree == TICKS ? 0 : 1;
}
