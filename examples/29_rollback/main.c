// SPDX-License-Identifier: MIT
// Rollback netcode, with both peers in one program. Each peer has a world of its own. The peers
// exchange only the keys of their players, over a connection that delays, reorders and loses
// packets. Neither waits for the other: a peer predicts that the other still presses the last known
// keys. When a prediction was wrong, the peer goes back to that tick and runs again. Both worlds
// have the same hash after each of 10,000 ticks. docs/ROLLBACK.md explains the method.
#include <inttypes.h>
#include <orrery/orrery.h>
#include <stdio.h>
#include <string.h>

enum {
    TICKS = 10000,
    DELAY = 2,   // ticks from a key press to its effect: most packets arrive in that time
    AHEAD = 30,  // most ticks a peer runs ahead of the last known keys of the other
    LAG_MIN = 2, // ticks a packet takes
    LAG_MAX = 9,
    LOSS = 15, // packets of 100 that never arrive
};

// ---- the game, run by both worlds ---------------------------------------------------------------

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
            orr_rng rng = orr_run_rng(run, orr_iter_entity(run, i));
            float spread = (float)(orr_rng_next(&rng) % 100) / 100 - 0.5f;
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

static void hit(orr_run* run) // tests each bullet against the other player's ship
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

// ---- a peer -------------------------------------------------------------------------------------

typedef struct peer {
    uint32_t number;
    orr_world* world;
    orr_entity ships[2];
    uint8_t keys[2][TICKS + AHEAD + 1]; // known or predicted keys, by player and tick
    uint32_t known;                     // last tick whose keys were received from the other
    uint32_t acknowledged;              // last tick whose keys the other has received
    float lead;                         // ticks ahead of the last received keys, smoothed
    float their_lead;                   // the same, as estimated by the other
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
    // Each tick is remembered when it ends. The cost is proportional to what the tick changed.
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

// Receives keys of the other up to tick `last`. Goes back to the first wrong prediction.
static void peer_receive(peer* me, uint32_t first, uint32_t last, const uint8_t* keys)
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
        theirs[tick] = theirs[me->known]; // new prediction
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

// ---- the connection -----------------------------------------------------------------------------

typedef struct packet {
    uint32_t arrives, to;
    uint32_t first, last;  // ticks whose keys it contains
    uint32_t acknowledges; // last tick of the receiver's keys that the sender has
    float lead;            // of the sender
    uint8_t keys[64];
} packet;

typedef struct line {
    packet packets[256];
    uint32_t count, lost, sent;
} line;

static uint32_t chance(uint32_t below) // random numbers, the same in each run
{
    static uint64_t drawn;
    return (uint32_t)(orr_random(99, drawn++, 0, 0) % below);
}

// Every packet contains all keys not yet acknowledged, so a lost packet costs only time.
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
            peer_receive(me, p.first, p.last, p.keys);
        }
    }
}

// ---- both peers ---------------------------------------------------------------------------------

// The peer that is ahead receives all keys later and would do nearly all the rollbacks. Both leads
// contain the packet delay; their difference does not. The peer that is ahead skips a tick, at most
// one per second, which players do not notice.
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
        // The player presses new keys now and then.
        mine[tick + DELAY] = chance(8) == 0 ? (uint8_t)chance(8) : last;
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
        if (now >= 5) { // the other peer starts five ticks later
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
