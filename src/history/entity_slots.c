// SPDX-License-Identifier: MIT
// The slots of an entity: images by slot, in the blobs of its orr_time_traveller. Each blob is a
// page:
//
//   page    number of slots, then per slot {slot, end of its image}, then the images
//
// A blob never changes; saving or emptying a slot makes a new blob of one page. In return a blob is
// shared by copies of the entity and by snapshots of the world, is hashed once, and is freed with
// its last user. Slots are distributed to pages in order, so a change costs one page, not all
// slots.
#include "history/entity_history.h"

#define SLOTS_ENTRY 16u   // Bytes per slot in the table of a page.
#define SLOTS_PAGE  4096u // A page of at most this many bytes is never split.

// ---- reading ------------------------------------------------------------------------------------

// Reads a page. False if the blob is not a page with at least one slot: a program may have written
// other bytes; the slots end there.
static bool slots_page(const orri_schema* schema, orr_array handle, orri_entity_slots_page* out)
{
    const orri_blob* blob = orri_blob_at(schema, (orr_string){handle.id, handle.generation});
    uint64_t count = 0;
    if (blob != NULL && blob->size >= sizeof count) {
        memcpy(&count, blob->data, sizeof count);
    }
    if (count == 0 || count > (blob->size - sizeof count) / SLOTS_ENTRY) {
        return false;
    }
    *out = (orri_entity_slots_page){blob->data, blob->size, (uint32_t)count};
    return true;
}

orri_entity_slots orri_entity_slots_in(const orri_schema* schema,
                                       const orr_time_traveller* traveller)
{
    orri_entity_slots slots = {0};
    while (
        slots.page_count < ORR_TRAVELLER_PAGES &&
        slots_page(schema, traveller->memory[slots.page_count], &slots.pages[slots.page_count])) {
        slots.count += slots.pages[slots.page_count].count;
        slots.size += slots.pages[slots.page_count].size;
        slots.page_count++;
    }
    return slots;
}

orri_entity_slots orri_entity_slots_of(const orr_world* world, orr_entity entity)
{
    orr_type type = orri_type_find(&world->schema, "orr_time_traveller");
    const uint8_t* value = NULL;
    const orr_component_id* ids;
    if (type.id == 0 || orri_decoded_current(world, entity, orri_type_at(&world->schema, type),
                                             &value, &ids) == 0) {
        return (orri_entity_slots){0};
    }
    return orri_entity_slots_in(&world->schema, (const orr_time_traveller*)(const void*)value);
}

// Finds the page of slot index `*i`, which becomes the index within the page.
static const orri_entity_slots_page* slots_locate(const orri_entity_slots* slots, uint32_t* i)
{
    ORR_ASSERT(*i < slots->count);
    const orri_entity_slots_page* page = slots->pages;
    while (*i >= page->count) {
        *i -= page->count;
        page++;
    }
    return page;
}

// A number of the table of a page: word 0 is the slot, word 1 the end of its image.
static uint64_t slots_word(const orri_entity_slots_page* page, uint32_t i, uint32_t word)
{
    uint64_t value;
    memcpy(&value, page->data + 8 + (size_t)i * SLOTS_ENTRY + word * 8, sizeof value);
    return value;
}

uint64_t orri_entity_slots_slot(const orri_entity_slots* slots, uint32_t i)
{
    const orri_entity_slots_page* page = slots_locate(slots, &i);
    return slots_word(page, i, 0);
}

orri_bytes_reader orri_entity_slots_image(const orri_entity_slots* slots, uint32_t i)
{
    const orri_entity_slots_page* page = slots_locate(slots, &i);
    // An image begins where the one before ends.
    uint64_t begin = i > 0 ? slots_word(page, i - 1, 1) : 8 + (uint64_t)page->count * SLOTS_ENTRY;
    uint64_t end = slots_word(page, i, 1);
    if (begin > end || end > page->size) {
        return (orri_bytes_reader){.failed = true};
    }
    return (orri_bytes_reader){.data = page->data + begin, .count = (size_t)(end - begin)};
}

uint32_t orri_entity_slots_find(const orri_entity_slots* slots, uint64_t slot, bool* found)
{
    uint32_t low = 0, high = slots->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (orri_entity_slots_slot(slots, middle) < slot) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *found = low < slots->count && orri_entity_slots_slot(slots, low) == slot;
    return low;
}

uint32_t orri_entity_slots_below(const orri_entity_slots* slots, double time)
{
    uint32_t low = 0, high = slots->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((double)orri_entity_slots_slot(slots, middle) <= time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// ---- saving and emptying a slot -----------------------------------------------------------------

// A page of the new state: slot indexes [first, last).
typedef struct slots_piece {
    uint32_t first, last;
    uint64_t size;
    orr_array old; // The blob, if the page is unchanged; null: the page must be written.
} slots_piece;

// A change of one slot.
typedef struct slots_change {
    const orri_entity_slots* old;
    const orri_bytes* image; // NULL: the slot is emptied.
    uint64_t slot;
    uint32_t at; // Its index, old and new.
    bool found;  // The slot was used before.
    slots_piece pieces[ORR_TRAVELLER_PAGES + 2];
    uint32_t piece_count;
} slots_change;

// The old index of the slot with new index `i`.
static uint32_t slots_before(const slots_change* c, uint32_t i)
{
    bool shifted = c->image != NULL ? i > c->at && !c->found : i >= c->at && c->found;
    return !shifted ? i : c->image != NULL ? i - 1 : i + 1;
}

static bool slots_is_new(const slots_change* c, uint32_t i)
{
    return c->image != NULL && i == c->at;
}

static orri_bytes_reader slots_bytes_at(const slots_change* c, uint32_t i)
{
    if (slots_is_new(c, i)) {
        return (orri_bytes_reader){.data = c->image->data, .count = c->image->count};
    }
    return orri_entity_slots_image(c->old, slots_before(c, i));
}

static uint64_t slots_piece_size(const slots_change* c, uint32_t first, uint32_t last)
{
    uint64_t size = 8;
    for (uint32_t i = first; i < last; i++) {
        size += SLOTS_ENTRY + slots_bytes_at(c, i).count;
    }
    return size;
}

// Lists the new pages: unchanged, except the page that contains the slot's index.
static void slots_lay_out(slots_change* c, const orr_time_traveller* value)
{
    uint32_t end = 0;
    int32_t grows = c->image != NULL ? !c->found : -(int32_t)c->found;
    bool placed = false;
    for (uint32_t p = 0; p < c->old->page_count; p++) {
        uint32_t first = end, count = c->old->pages[p].count;
        bool here = !placed && (c->at < first + count || p + 1 == c->old->page_count);
        end = first + count + (here ? (uint32_t)grows : 0);
        placed |= here;
        slots_piece piece = {first, end, c->old->pages[p].size, value->memory[p]};
        if (here) {
            piece.old = (orr_array){0};
            piece.size = slots_piece_size(c, first, end);
        }
        if (end > first) {
            c->pieces[c->piece_count++] = piece;
        }
    }
    if (!placed && c->image != NULL) {
        c->pieces[c->piece_count++] =
            (slots_piece){0, 1, slots_piece_size(c, 0, 1), (orr_array){0}};
    }
}

static void slots_insert(slots_change* c, uint32_t at, slots_piece piece)
{
    memmove(c->pieces + at + 1, c->pieces + at, (c->piece_count - at) * sizeof piece);
    c->pieces[at] = piece;
    c->piece_count++;
}

// Splits a page in the middle. The last page, if the new slot is its last, is split before that
// slot: slots are usually added in ascending order, and then full pages stay unchanged.
static void slots_cut(slots_change* c, uint32_t at)
{
    slots_piece* piece = &c->pieces[at];
    uint32_t cut = piece->last - 1;
    bool grows = slots_is_new(c, cut) && at + 1 == c->piece_count;
    for (uint64_t size = 8; !grows; cut--) {
        size += SLOTS_ENTRY + slots_bytes_at(c, cut).count;
        if (size * 2 >= piece->size || cut == piece->first + 1) {
            break;
        }
    }
    slots_piece rest = {cut, piece->last, slots_piece_size(c, cut, piece->last), (orr_array){0}};
    *piece =
        (slots_piece){piece->first, cut, slots_piece_size(c, piece->first, cut), (orr_array){0}};
    slots_insert(c, at + 1, rest);
}

// Joins the two neighbouring pages with the smallest sum of sizes.
static void slots_join(slots_change* c)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i + 1 < c->piece_count; i++) {
        if (c->pieces[i].size + c->pieces[i + 1].size <
            c->pieces[best].size + c->pieces[best + 1].size) {
            best = i;
        }
    }
    slots_piece* piece = &c->pieces[best];
    *piece =
        (slots_piece){piece->first, piece[1].last, piece->size + piece[1].size - 8, (orr_array){0}};
    c->piece_count--;
    memmove(piece + 1, piece + 2, (c->piece_count - best - 1) * sizeof *piece);
}

// Splits one page if it is too large, and joins two if there are too many.
static void slots_balance(slots_change* c)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < c->piece_count; i++) {
        all += c->pieces[i].size;
    }
    uint64_t most = all / (ORR_TRAVELLER_PAGES / 2);
    most = most > SLOTS_PAGE ? most : SLOTS_PAGE;
    for (uint32_t i = 0; i < c->piece_count; i++) {
        const slots_piece* piece = &c->pieces[i];
        if (piece->old.id == 0 && piece->size > most && piece->last - piece->first > 1) {
            slots_cut(c, i);
            break;
        }
    }
    if (c->piece_count > ORR_TRAVELLER_PAGES) {
        slots_join(c);
    }
    ORR_ASSERT(c->piece_count <= ORR_TRAVELLER_PAGES);
}

static bool slots_write(orr_world* world, const slots_change* c, const slots_piece* piece,
                        orr_array* out)
{
    orri_bytes bytes = {.env = &world->env};
    uint64_t end = 8 + (uint64_t)(piece->last - piece->first) * SLOTS_ENTRY;
    orri_bytes_put_word(&bytes, piece->last - piece->first);
    for (uint32_t i = piece->first; i < piece->last; i++) {
        end += slots_bytes_at(c, i).count;
        orri_bytes_put_word(&bytes, slots_is_new(c, i)
                                        ? c->slot
                                        : orri_entity_slots_slot(c->old, slots_before(c, i)));
        orri_bytes_put_word(&bytes, end);
    }
    for (uint32_t i = piece->first; i < piece->last; i++) {
        orri_bytes_reader part = slots_bytes_at(c, i);
        orri_bytes_put(&bytes, part.data, part.count);
    }
    orr_string blob = {0};
    bool made = false;
    if (bytes.failed) {
        (void)orri_refuse_memory(&world->env, "saving the state of an entity");
    } else {
        ORR_ASSERT(bytes.count == piece->size);
        made = orri_blob_make(&world->schema, bytes.data, bytes.count, 1, &blob);
    }
    ORRI_RELEASE(&world->env, ORR_MEMORY_SYSTEM, bytes.data, bytes.capacity);
    *out = (orr_array){blob.id, blob.generation};
    return made;
}

orr_result orri_entity_slots_put(orr_world* world, const orr_time_traveller* value, uint64_t slot,
                                 const orri_bytes* image, orr_time_traveller* out)
{
    orri_entity_slots old = orri_entity_slots_in(&world->schema, value);
    slots_change c = {.old = &old, .image = image, .slot = slot};
    c.at = orri_entity_slots_find(&old, slot, &c.found);
    slots_lay_out(&c, value);
    slots_balance(&c);
    *out = (orr_time_traveller){0};
    for (uint32_t i = 0; i < c.piece_count; i++) {
        out->memory[i] = c.pieces[i].old;
        if (c.pieces[i].old.id == 0 && !slots_write(world, &c, &c.pieces[i], &out->memory[i])) {
            return orri_env_result(&world->env);
        }
    }
    return ORR_OK;
}

// ---- as text ------------------------------------------------------------------------------------

#define SLOTS_SHOWN 8u // Slots printed; more are abbreviated.

void orri_entity_slots_words(const orri_type* type, const void* value, orri_text* out)
{
    orri_entity_slots slots = orri_entity_slots_in(type->schema, value);
    orri_text_add(out, "{slots: [");
    for (uint32_t i = 0; i < slots.count; i++) {
        bool shown = slots.count <= SLOTS_SHOWN || i < SLOTS_SHOWN - 1 || i == slots.count - 1;
        if (shown) {
            orri_text_add(out, "%s%llu", i > 0 ? ", " : "",
                          (unsigned long long)orri_entity_slots_slot(&slots, i));
        } else if (i == SLOTS_SHOWN - 1) {
            orri_text_add(out, ", …");
        }
    }
    orri_text_add(out, "], count: %u, bytes: %llu}", slots.count, (unsigned long long)slots.size);
}

void orri_entity_slots_near(const orri_entity_slots* slots, double place, orri_text* out)
{
    uint32_t at = orri_entity_slots_below(slots, place);
    unsigned long long below = at > 0 ? orri_entity_slots_slot(slots, at - 1) : 0;
    unsigned long long above = at < slots->count ? orri_entity_slots_slot(slots, at) : 0;
    if (slots->count == 0) {
        orri_text_add(out, "it has no used slots");
    } else if (at == 0) {
        orri_text_add(out, "its first slot is %llu", above);
    } else if (at == slots->count) {
        orri_text_add(out, "its last slot is %llu", below);
    } else {
        orri_text_add(out, "its nearest slots are %llu and %llu", below, above);
    }
}

#undef SLOTS_ENTRY
#undef SLOTS_PAGE
#undef SLOTS_SHOWN
